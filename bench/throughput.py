"""Requests per second of the companion, of the npm SDK's server and of a bare handler."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from dataclasses import replace
from typing import Callable, Dict, Iterator, List

from . import peers
from .load import Count, run_apart
from .peers import DIALOGUES, Peer
from .table import Aim, Row, median_row, missing_row

ROUNDS = 5
# Seconds of load on one server in one round, and before the first: V8 compiles what is hot.
SECONDS = 0.6
WARM_UP = 1.5

SDK_AIM = Aim(4.0, True, "at least 4")
LIST_AIM = Aim(4.5, True, "at least 4.5")
BARE_AIMS = {
    "tools/list": Aim(0.9, True, "at least 0.9"),
    "closeDiff, none open": Aim(0.85, True, "at least 0.85"),
    "openDiff + closeDiff": Aim(0.65, True, "at least 0.65"),
}
PURE_AIMS = {
    "tools/list": Aim(2.5, True, "at least 2.5"),
    "closeDiff, none open": Aim(2.0, True, "at least 2"),
}
OURS, SDK, SDK_JSON, BARE = "companion", "SDK server", "SDK server, JSON bodies", "bare aiohttp"
PURE = "companion in Python alone"

Load = Callable[[str, float], Count]


def measure() -> Iterator[Row]:
    """The rows, as soon as each dialogue is measured."""
    with ExitStack() as stack:
        loads = _start_loads(stack)
        if SDK not in loads:
            yield missing_row(
                "against the SDK server", "needs node and bench/sdk_server/node_modules"
            )
        for dialogue in DIALOGUES:
            counts = _measure_counts(dialogue, loads)
            yield from _make_rows(dialogue, counts)
            yield from _served_rows(dialogue, counts)


def _start_loads(stack: ExitStack) -> Dict[str, Load]:
    ours = stack.enter_context(peers.start_companion())
    loads: Dict[str, Load] = {OURS: _load_mcp(ours)}
    loads[PURE] = _load_mcp(stack.enter_context(peers.start_companion(is_pure=True)))
    if shutil.which("node") and os.path.isdir(os.path.join(peers.SDK_SERVER, "node_modules")):
        loads[SDK] = _load_mcp(stack.enter_context(peers.start_sdk()))
        loads[SDK_JSON] = _load_mcp(stack.enter_context(peers.start_sdk("--json")))
    sizes = {dialogue: _answer_size(ours, dialogue) for dialogue in DIALOGUES}
    bare = stack.enter_context(peers.start_bare(sorted(set(sizes.values())), ours))
    loads[BARE] = _load_bare(bare, sizes)
    return loads


def _answer_size(ours: Peer, dialogue: str) -> int:
    """Bytes of one answer of ours, the mean where a dialogue has several."""
    bodies = [ours.ask(message)[1] for message in DIALOGUES[dialogue][0]]
    return sum(map(len, bodies)) // len(bodies)


def _load_mcp(peer: Peer) -> Load:
    return lambda dialogue, seconds: _run_load(peer, peer.scripts(dialogue), seconds)


def _run_load(peer: Peer, scripts: List[List[bytes]], seconds: float) -> Count:
    before = peers.busy_seconds(peer.pid)
    count = run_apart(peer.port, scripts, seconds)
    return replace(count, served=peers.busy_seconds(peer.pid) - before)


def _load_bare(peer: Peer, sizes: Dict[str, int]) -> Load:
    def load(dialogue: str, seconds: float) -> Count:
        path = b"POST /%d " % sizes[dialogue]
        scripts = [
            [request.replace(b"POST /mcp ", path) for request in script]
            for script in peer.scripts(dialogue)
        ]
        return _run_load(peer, scripts, seconds)

    return load


def _measure_counts(dialogue: str, loads: Dict[str, Load]) -> Dict[str, List[Count]]:
    """What each server answered, one count a round. Every round visits all servers, so that
    whatever else the machine does meets them alike. Raises RuntimeError for a wrong answer."""
    counts: Dict[str, List[Count]] = {name: [] for name in loads}
    for load in loads.values():
        load(dialogue, WARM_UP)
    for _ in range(ROUNDS):
        for name, load in loads.items():
            count = load(dialogue, SECONDS)
            if count.failures:
                raise RuntimeError(f"{dialogue}: {name} failed {count.failures} requests")
            if count.busy > 0.8:
                raise RuntimeError(f"{dialogue}: the load generator was the bottleneck")
            counts[name].append(count)
    return counts


def _make_rows(dialogue: str, counts: Dict[str, List[Count]]) -> Iterator[Row]:
    rates = {name: [each.rate for each in some] for name, some in counts.items()}
    for name, values in rates.items():
        yield median_row(f"{dialogue}: {name}", values, "/s")
    ours = rates[OURS]
    for name, aim in ((SDK, SDK_AIM), (SDK_JSON, None), (BARE, BARE_AIMS[dialogue])):
        if name in rates:
            if name == SDK and dialogue == "tools/list":
                aim = LIST_AIM
            ratios = [mine / theirs for mine, theirs in zip(ours, rates[name])]
            yield median_row(f"{dialogue}: companion / {name}", ratios, "", 2, aim)
    if SDK in rates:
        ratios = [mine / theirs for mine, theirs in zip(rates[PURE], rates[SDK])]
        aim = PURE_AIMS.get(dialogue)
        yield median_row(f"{dialogue}: {PURE} / {SDK}", ratios, "", 2, aim)


def _served_rows(dialogue: str, counts: Dict[str, List[Count]]) -> Iterator[Row]:
    """The ratios by the time that the servers had a processor; without an aim, for they say
    nothing of who waits."""
    for mine, theirs in ((OURS, SDK), (OURS, BARE), (PURE, SDK)):
        some = [
            our.served_rate / their.served_rate
            for our, their in zip(counts[mine], counts.get(theirs, ()))
            if our.served and their.served
        ]
        if some:
            name = f"{dialogue}: {mine} / {theirs}, by processor time"
            yield median_row(name, some, "", 2)
