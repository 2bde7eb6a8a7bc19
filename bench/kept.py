"""Conversations that a server has kept: how long its list, a search and its start take with ten
thousand of them, beside the same with a hundred, and the memory that they cost.

The server is a process of its own, and no CLI runs. Each round asks both servers in turn.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, Iterator, List, Tuple
from urllib.parse import quote

from .table import Aim, Row, format_rows, median_row, millisecond_row

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MANY, FEW = 10_000, 100
ROUNDS, SEARCHES, STARTS = 30, 3, 3
PAGE = 50
# Turns of a conversation, pieces of an answer, and words of a piece; about 18 KB of a file.
TURNS, PIECES, WORDS = (1, 1, 2, 3, 5, 8), (3, 40), (3, 15)
PATIENCE = 60
BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
NOBODY_SAID = "zzqqzzqq"
PAGE_AIM = Aim(200.0, False, "<= 200 ms")
MEMORY_AIM = Aim(30.0, False, "<= 30 MiB")


class Kept:
    """A server on the conversations in `folder`, and one client."""

    def __init__(self, folder: str) -> None:
        began = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.serve_api", "0", folder],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        told = self._process.stdout.readline() if self._process.stdout is not None else ""
        if not told:
            raise RuntimeError("the server did not start")
        port, self._token, _read_only = told.split()
        self._http = http.client.HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE)
        self.page()
        # Seconds from the start of the process to its first page.
        self.first_page = time.perf_counter() - began

    def page(self, query: str = "") -> Dict[str, Any]:
        told: Dict[str, Any] = json.loads(self.get(f"/sessions?limit={PAGE}{query}"))
        return told

    def get(self, path: str, **headers: str) -> bytes:
        asked = {"Authorization": f"Bearer {self._token}", **headers}
        self._http.request("GET", path, headers=asked)
        response = self._http.getresponse()
        data = response.read()
        if response.status != 200:
            raise RuntimeError(f"{path}: {data!r}")
        return data

    def search(self, words: str) -> int:
        """All pages of it; how many have the words."""
        found, cursor = 0, ""
        while True:
            told = self.page(f"&q={quote(words)}{cursor}")
            found += len(told["sessions"])
            if "nextCursor" not in told:
                return found
            cursor = f"&cursor={quote(told['nextCursor'])}"

    def memory(self) -> float:
        """Mebibytes, once all is read; 0 where the system does not tell."""
        self.get("/sessions?limit=1&q=" + NOBODY_SAID)
        try:
            with open(f"/proc/{self._process.pid}/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
        except FileNotFoundError:
            return 0.0

    def stop(self) -> None:
        self._http.close()
        self._process.communicate(timeout=PATIENCE)


def make_conversations(folder: str, count: int) -> None:
    """Write as many conversations into a server's folder, one used after the other."""
    kept = os.path.join(folder, "state", "agent", "conversations")
    os.makedirs(kept, mode=0o700)
    chance = random.Random(count)
    words = [
        "".join(chance.choices("abcdefghijklmno", k=chance.randint(2, 9))) for _ in range(5000)
    ]
    for number in range(count):
        at = BEGIN + timedelta(minutes=number)
        path = os.path.join(kept, f"{number:032x}.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(_make_lines(f"{number:032x}", at, chance, words))
        os.utime(path, (at.timestamp(), at.timestamp()))


def _make_lines(id: str, at: datetime, chance: random.Random, words: List[str]) -> Iterator[str]:
    time_ = at.isoformat()
    head = {"type": "conversation", "version": 1, "id": id, "workspace": "/work", "created": time_}
    yield _encode_line(head)
    yield _encode_line({"type": "change", "session": id, "agent": "gemini", "owned": "yes"})
    for turn in range(chance.choice(TURNS)):
        said = {"type": "message", "turn": f"{turn:032x}", "time": time_, "files": []}
        yield _encode_line({**said, "text": _make_text(chance, words), "attachments": []})
        event = {"type": "event", "turn": f"{turn:032x}", "number": 1, "time": time_}
        for _ in range(chance.randint(*PIECES)):
            body = {"type": "content", "text": _make_text(chance, words) + " ", "is_partial": True}
            yield _encode_line({**event, "body": body})
        usage = {"input_tokens": 1200, "output_tokens": 300, "by_model": {"a-model": [1200, 300]}}
        yield _encode_line(
            {**event, "body": {"type": "complete", "reason": "end_turn", "usage": usage}}
        )


def _encode_line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def _make_text(chance: random.Random, words: List[str]) -> str:
    return " ".join(chance.choices(words, k=chance.randint(*WORDS)))


def measure() -> Iterator[Row]:
    """Raises OSError, RuntimeError where a server cannot be started or fails."""
    with tempfile.TemporaryDirectory() as folder:
        folders = {count: os.path.join(folder, str(count)) for count in (FEW, MANY)}
        for count in folders:
            make_conversations(folders[count], count)
        yield from _start_rows(folders)
        with ExitStack() as stopping:
            servers = {}
            for count in folders:
                servers[count] = Kept(folders[count])
                stopping.callback(servers[count].stop)
            yield from _list_rows(servers)
            yield from _search_rows(servers[MANY], folders[MANY])


def _start_rows(folders: Dict[int, str]) -> Iterator[Row]:
    anew = _measure_start(folders[MANY])[0]
    rounds = [(_measure_start(folders[FEW]), _measure_start(folders[MANY])) for _ in range(STARTS)]
    pages = [many[0] - few[0] for few, many in rounds]
    name = f"{MANY:,} kept conversations: start to the first page, more than {FEW}"
    detail = f"without the list of an earlier start {1e3 * (anew - rounds[0][0][0]):,.0f} ms"
    yield millisecond_row(name, statistics.median(pages), detail, PAGE_AIM)
    memory = [many[1] - few[1] for few, many in rounds]
    yield median_row("  memory, more than that", memory, " MiB", 1, MEMORY_AIM)


def _measure_start(folder: str) -> Tuple[float, float]:
    server = Kept(folder)
    try:
        return server.first_page, server.memory()
    finally:
        server.stop()


def _list_rows(servers: Dict[int, Kept]) -> Iterator[Row]:
    times: Dict[int, List[float]] = {count: [] for count in servers}
    for _ in range(ROUNDS):
        for count, server in servers.items():
            began = time.perf_counter()
            server.page()
            times[count].append(time.perf_counter() - began)
    ratios = [many / few for few, many in zip(times[FEW], times[MANY])]
    detail = f"{statistics.median(ratios):.1f} times that of {FEW}"
    yield millisecond_row(f"  a page of {PAGE}", statistics.median(times[MANY]), detail, PAGE_AIM)
    plain = len(servers[MANY].get(f"/sessions?limit={PAGE}"))
    small = len(servers[MANY].get(f"/sessions?limit={PAGE}", **{"Accept-Encoding": "gzip"}))
    yield Row(
        "  its bytes in gzip", small / plain, f"{small / plain:.2f}", f"{small:,} of {plain:,}"
    )


def _search_rows(server: Kept, folder: str) -> Iterator[Row]:
    kept = os.path.join(folder, "state", "agent", "conversations")
    searched, ratios = [], []
    for _ in range(SEARCHES):
        began = time.perf_counter()
        size = 0
        for entry in os.scandir(kept):
            with open(entry.path, "rb") as file:
                size += len(file.read())
        read = time.perf_counter() - began
        began = time.perf_counter()
        server.search(NOBODY_SAID)
        searched.append(time.perf_counter() - began)
        ratios.append(searched[-1] / read)
    detail = f"{statistics.median(ratios):.1f} times reading the {size / 1e6:,.0f} MB"
    yield millisecond_row("  a search that finds nothing", statistics.median(searched), detail)


if __name__ == "__main__":
    print(format_rows(list(measure())))
