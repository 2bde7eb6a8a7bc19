"""What the API costs beside the CLI alone: the same messages to both, in turns.

The CLI is driven by as little as there can be: lines written to its input and read from its
output. Server and CLI are real, each in a process of its own; the model is the tests', on this
machine, so what remains is the time that both need for themselves.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any, Dict, Iterator, List, Tuple

from companion.agent.agents.gemini_cli import GeminiCli
from companion.agent.credentials import API_KEY, Credentials

from . import peers
from .table import (
    Aim,
    Row,
    format_rows,
    format_spread,
    median_row,
    millisecond_row,
    missing_row,
    quantile,
)

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESTS = os.path.join(ROOT, "tests", "e2e")
sys.path.insert(0, TESTS)

from model_server import ModelServer  # noqa: E402

MODEL = "gemini-2.5-flash"
KEY = "the-key"
TURNS, OPENAI_TURNS = 100, 30
# Turns before those that count.
WARM = 3
ROUNDS = 5
# Pieces of the long answer, and conversations that are opened to weigh them.
PIECES, CONVERSATIONS = 2000, 20
PATIENCE = 60
# Turns over which the server's memory is watched, from the first count on to the second.
SETTLED, LAST = 50, 200
# Conversations that are talked with at once, the processes of the CLI that they are spread over,
# and how often.
AT_ONCE, SPREADS, TALKS = 30, (1, 4), 3
# Starts of the CLI until its first event, alone and behind the server.
STARTS = 3
WARM_AIM = Aim(2.0, False, "<= 2 ms")
COLD_AIM = Aim(1.2, False, "<= 1.2")
OPENAI_AIM = Aim(2.0, False, "<= 2")
# Allocators give back and take pages; a leak of one event a turn would be more.
FLAT_AIM = Aim(2.0, False, "<= 2 MiB")
# Seconds to the first event of a turn and to its end, and how many there were.
Timing = Tuple[float, float, int]


class Cli:
    """The CLI over its agent protocol, with one session."""

    def __init__(self, folder: str, workspace: str, model: ModelServer) -> None:
        cli = GeminiCli(os.path.join(folder, "home"), False)
        who = Credentials(API_KEY, KEY)
        cli.prepare_files(who, {})
        variables = {"GOOGLE_GEMINI_BASE_URL": model.url, "NO_PROXY": "127.0.0.1"}
        self.process = subprocess.Popen(
            [*cli.program.find_command(TESTS), *cli.program_arguments(MODEL)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=workspace,
            env=cli.process_environment(who, variables),
        )
        self._id = 0
        files = {"readTextFile": False, "writeTextFile": False}
        self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {"fs": files}})
        self.ask("authenticate", {"methodId": "gemini-api-key", "_meta": {"api-key": KEY}})
        self._session = self.ask("session/new", {"cwd": workspace, "mcpServers": []})["sessionId"]

    def ask(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        """The result, once all that comes before it has come. Raises RuntimeError."""
        for message in self._read_answers(method, params):
            if "result" in message:
                result: Dict[str, Any] = message["result"]
                return result
        raise RuntimeError(f"the CLI did not answer {method}")

    def turn(self, text: str) -> Timing:
        began = time.perf_counter()
        first, count = 0.0, 0
        prompt = [{"type": "text", "text": text}]
        params = {"sessionId": self._session, "prompt": prompt}
        for message in self._read_answers("session/prompt", params):
            # Told at the begin of a turn, and not by the model.
            if message.get("method") == "session/update" and "_chunk" in json.dumps(message):
                count += 1
                first = first or time.perf_counter() - began
        return first, time.perf_counter() - began, count

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)

    def _read_answers(self, method: str, params: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
        """What it says up to the answer. Raises RuntimeError."""
        self._id += 1
        message = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("the CLI has no pipes")
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if not line.startswith(b'{"jsonrpc"'):
                continue
            told = json.loads(line)
            if "error" in told:
                raise RuntimeError(f"the CLI answers {told['error']}")
            yield told
            if told.get("id") == self._id:
                return
        raise RuntimeError(f"the CLI ended without an answer to {method}")


class Api:
    """The server as its users start it, and one client that keeps its connection."""

    def __init__(self, folder: str, workspace: str, model: ModelServer, processes: int = 1) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "companion.api", "--cli", TESTS, "--model", MODEL]
            + ["--state", os.path.join(folder, "state"), "--workspace", workspace]
            + ["--port", "0", "--gemini-url", model.url, "--agents", str(processes)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        lines = self.process.stdout
        told = "".join(lines.readline() for _ in range(3)) if lines is not None else ""
        found = re.search(r"http://127\.0\.0\.1:(\d+)", told)
        if found is None:
            raise RuntimeError("the server did not start")
        with open(os.path.join(folder, "state", "token"), encoding="ascii") as file:
            token = file.read().strip()
        self._port = int(found[1])
        self._http = self._open_connection()
        self._headers = {
            "Authorization": "Bearer " + token,
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
        }
        self.post("/auth/config", {"authType": "gemini-api-key", "apiKey": KEY})

    def post(self, path: str, body: Dict[str, Any]) -> Dict[str, Any]:
        """Raises RuntimeError for anything but success."""
        answer: Dict[str, Any] = json.load(self._send_request("POST", path, body))
        if not answer["success"]:
            raise RuntimeError(f"{path}: {answer['message']}")
        return answer

    def agents(self) -> List[int]:
        """The process ids of the server's CLI."""
        told = json.load(self._send_request("GET", "/agents", None))["agents"][0]
        return [int(process["pid"]) for process in told["processes"]]

    def begin(self, _number: int) -> str:
        """A conversation, on a connection of its own."""
        return str(self._post_alone("/sessions", {})["sessionId"])

    def talk(self, session: str) -> float:
        """Seconds to the end of a turn, on a connection of its own."""
        began = time.perf_counter()
        self._post_alone("/chat", {"message": "hello", "sessionId": session})
        return time.perf_counter() - began

    def turn(self, text: str, is_new: bool = False) -> Timing:
        """Over a stream of events."""
        began = time.perf_counter()
        first, count = 0.0, 0
        body = {"message": text, "stream": True, "newSession": is_new}
        for line in self._send_request("POST", "/chat", body):
            if line.startswith(b'data: {"type":"content"') and b'"isPartial":true' in line:
                count += 1
                first = first or time.perf_counter() - began
        return first, time.perf_counter() - began, count

    def whole(self, text: str) -> float:
        """Seconds of a turn that is answered as one object."""
        began = time.perf_counter()
        self.post("/chat", {"message": text})
        return time.perf_counter() - began

    def completion(self, messages: List[Dict[str, str]]) -> Tuple[float, str]:
        """Seconds of an answer for a client of OpenAI's API, and the answer. Raises
        RuntimeError."""
        began = time.perf_counter()
        body = {"model": "gemini", "messages": messages}
        answer: Dict[str, Any] = json.load(self._send_request("POST", "/v1/chat/completions", body))
        if "choices" not in answer:
            raise RuntimeError(f"/v1: {answer['error']['message']}")
        return time.perf_counter() - began, str(answer["choices"][0]["message"]["content"])

    def stop(self) -> None:
        self._http.close()
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE)

    def _post_alone(self, path: str, body: Dict[str, Any]) -> Dict[str, Any]:
        with closing(self._open_connection()) as connection:
            connection.request("POST", path, json.dumps(body), self._headers)
            answer: Dict[str, Any] = json.load(connection.getresponse())
        if not answer["success"]:
            raise RuntimeError(f"{path}: {answer['message']}")
        return answer

    def _open_connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)

    def _send_request(self, method: str, path: str, body: Any) -> http.client.HTTPResponse:
        data = None if body is None else json.dumps(body)
        self._http.request(method, path, data, self._headers)
        return self._http.getresponse()


def measure() -> Iterator[Row]:
    """Raises OSError, RuntimeError where CLI or server cannot be started or fail."""
    if not os.path.isdir(os.path.join(TESTS, "node_modules")):
        raise RuntimeError("the CLI is not installed: make setup")
    with ModelServer() as model:
        model.will_play("hello", ["Hello."])
        yield from _warm_rows(model)
        yield from _cold_rows(model)
        for processes in SPREADS:
            yield from _many_rows(model, processes)


def _warm_rows(model: ModelServer) -> Iterator[Row]:
    with start_both(model) as (direct, api):
        # No two alike, for the CLI ends a model that repeats itself.
        words = random.Random(1)
        model.will_play("long", [f"{words.getrandbits(40):x} " for _ in range(PIECES)])
        for _ in range(WARM):
            direct.turn("hello")
            api.turn("hello")
        yield from _turn_rows(direct, api)
        yield from _openai_rows(api)
        yield from _rate_rows(direct, api)
        yield from _memory_rows(api)


@contextmanager
def start_both(model: ModelServer) -> Iterator[Tuple[Cli, Api]]:
    with tempfile.TemporaryDirectory() as folder:
        workspaces = [os.path.join(folder, name) for name in ("alone", "served")]
        for each in workspaces:
            os.mkdir(each)
        direct = Cli(folder, workspaces[0], model)
        try:
            api = Api(folder, workspaces[1], model)
            try:
                yield direct, api
            finally:
                api.stop()
        finally:
            direct.stop()


def _turn_rows(direct: Cli, api: Api) -> Iterator[Row]:
    alone, served, whole, busy = [], [], [], 0.0
    for _ in range(TURNS):
        alone.append(direct.turn("hello"))
        before = peers.busy_seconds(api.process.pid)
        served.append(api.turn("hello"))
        busy += peers.busy_seconds(api.process.pid) - before
        whole.append(1e3 * api.whole("hello"))
    for name, at in ("to the first event", 0), ("to the end", 1):
        those = [[1e3 * turn[at] for turn in turns] for turns in (alone, served)]
        yield median_row(f"a turn {name}: CLI alone", those[0], " ms", 1)
        yield median_row(f"a turn {name}: API, as SSE", those[1], " ms", 1)
        more = [late - early for early, late in zip(*those)]
        yield median_row(f"a turn {name}: what the API adds", more, " ms", 1)
        # Other work on the machine only ever adds, and to both.
        alone_at, served_at = (quantile(values, 10) for values in those)
        least, aim = served_at - alone_at, None if at else WARM_AIM
        detail = f"{alone_at:,.1f} and {served_at:,.1f} ms"
        yield Row("  the same of the quickest tenth", least, f"{least:,.1f} ms", detail, aim)
    yield median_row("a turn as one answer: API", whole, " ms", 1)
    each = busy / TURNS
    yield millisecond_row("a turn: the server's own time of a processor", each, "mean")


def _openai_rows(api: Api) -> Iterator[Row]:
    """Requests of /v1 beside the same of /chat, by turns."""
    chat, next_ones, single = [], [], []
    told: List[Dict[str, str]] = []
    for number in range(OPENAI_TURNS + 1):
        told.append({"role": "user", "content": "hello"})
        seconds, answer = api.completion(told)
        told.append({"role": "assistant", "content": answer})
        # The first one opens the conversation.
        if number:
            next_ones.append(1e3 * seconds)
            chat.append(1e3 * api.whole("hello"))
            single.append(1e3 * api.completion([{"role": "user", "content": "hello"}])[0])
    yield median_row("/v1: a conversation's next message", next_ones, " ms", 1)
    yield median_row("/v1: a message of its own", single, " ms", 1)
    ratios = [one / other for one, other in zip(next_ones, chat)]
    yield median_row("  the next message in times of /chat", ratios, "", 2, OPENAI_AIM)


def _rate_rows(direct: Cli, api: Api) -> Iterator[Row]:
    """Pieces per second, from the first one on."""
    longs = [direct.turn("long") for _ in range(ROUNDS)]
    yield _rate_row("pieces of an answer: CLI alone", longs)
    before = peers.busy_seconds(api.process.pid)
    longs = [api.turn("long") for _ in range(ROUNDS)]
    busy = peers.busy_seconds(api.process.pid) - before
    yield _rate_row("pieces of an answer: API, as SSE", longs)
    if busy:
        most = sum(count for _, _, count in longs) / busy
        yield Row("  what a processor's time of the server is good for", most, f"{most:,.0f}/s")


def _rate_row(name: str, turns: List[Timing]) -> Row:
    rates = [count / (end - first) for first, end, count in turns]
    least = min(count for _, _, count in turns)
    middle = statistics.median(rates)
    detail = f"{format_spread(rates, '/s')}; {least:,} of {PIECES:,} came"
    return Row(name, middle, f"{middle:,.0f}/s", detail)


def _memory_rows(api: Api) -> Iterator[Row]:
    """The memory in mebibytes; of the conversations, what each one more takes."""
    yield from _flat_rows(api)
    named = (("the server", api.process.pid), ("its CLI", api.agents()[0]))
    before = [read_memory(pid) for _, pid in named]
    if not all(before):
        yield missing_row("memory of server and CLI", "this system does not tell it")
        return
    for _ in range(CONVERSATIONS):
        session = api.post("/sessions", {})["sessionId"]
        api.post("/chat", {"message": "hello", "sessionId": session})
    for (name, pid), was in zip(named, before):
        now = read_memory(pid)
        yield Row(f"memory of {name}", was, f"{was:,.0f} MiB", "after these turns")
        each = (now - was) / CONVERSATIONS
        detail = f"{CONVERSATIONS} of them, one turn each: {now:,.0f} MiB"
        yield Row("  with each conversation", each, f"{each:,.2f} MiB", detail)


def _flat_rows(api: Api) -> Iterator[Row]:
    """The memory of the server, over many turns of one conversation."""
    held = []
    for number in range(1, LAST + 1):
        api.turn("hello")
        if number in (SETTLED, LAST):
            held.append(read_memory(api.process.pid))
    name = f"the server's memory, turn {SETTLED} to {LAST}"
    if not all(held):
        yield missing_row(name, "this system does not tell it")
        return
    more = held[1] - held[0]
    detail = f"{held[0]:,.1f} to {held[1]:,.1f} MiB"
    yield Row(name, more, f"{more:,.2f} MiB", detail, FLAT_AIM)


def _cold_rows(model: ModelServer) -> Iterator[Row]:
    """The seconds from nothing to the first event, by turns."""
    alone, served = [], []
    with tempfile.TemporaryDirectory() as folder:
        workspaces = [os.path.join(folder, name) for name in ("alone", "served")]
        for each in workspaces:
            os.mkdir(each)
        api = Api(folder, workspaces[1], model)
        try:
            for _ in range(STARTS):
                began = time.perf_counter()
                direct = Cli(folder, workspaces[0], model)
                ready = time.perf_counter() - began
                alone.append(ready + direct.turn("hello")[0])
                direct.stop()
                served.append(api.turn("hello", True)[0])
                kill_cli(api)
        finally:
            api.stop()
    yield median_row("a cold start to the first event: CLI alone", alone, " s", 2)
    yield median_row("a cold start to the first event: API", served, " s", 2)
    ratios = [late / early for early, late in zip(alone, served)]
    yield median_row("  in times of the CLI alone", ratios, "", 2, COLD_AIM)


def kill_cli(api: Api) -> None:
    """The CLI, not the server, which notices it."""
    for pid in api.agents():
        os.kill(pid, signal.SIGKILL)
    ends = time.monotonic() + PATIENCE
    while api.agents():
        if time.monotonic() > ends:
            raise TimeoutError("a CLI that was killed is there still")
        time.sleep(0.01)


def _many_rows(model: ModelServer, processes: int) -> Iterator[Row]:
    """Conversations that are all begun at once, and all talked with at once."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = os.path.join(folder, "served")
        os.mkdir(workspace)
        api = Api(folder, workspace, model, processes)
        try:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                began = time.perf_counter()
                sessions = list(pool.map(api.begin, range(AT_ONCE)))
                begun = time.perf_counter() - began
                whole, each = [], []
                for _ in range(TALKS):
                    began = time.perf_counter()
                    each += [1e3 * seconds for seconds in pool.map(api.talk, sessions)]
                    whole.append(1e3 * (time.perf_counter() - began))
            memory = sum(map(read_memory, api.agents()))
        finally:
            api.stop()
    name = f"{AT_ONCE} conversations, {processes} of the CLI"
    yield Row(f"{name}: begun", begun, f"{begun:,.1f} s", "with the start")
    yield median_row(f"{name}: a turn of all at once", whole, " ms")
    yield median_row("  one of these turns", each, " ms")
    yield Row("  memory of the CLI", memory, f"{memory:,.0f} MiB")


def read_memory(pid: int) -> float:
    """Mebibytes that the process holds; 0 where the system does not tell."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    except FileNotFoundError:
        return 0.0


if __name__ == "__main__":
    print(format_rows(list(measure())))
