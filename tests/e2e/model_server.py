"""A stand-in for the Gemini API on this machine: says what the test wants, keeps what was asked.

    with ModelServer() as model:
        model.will_call("write_file", {"file_path": path, "content": "..."}, closing="Done.")
        ...                             # the user's next prompt gets the call, its result "Done."
        model.wait_for_prompt("please")

For more than that, `will_play(words, *replies)` answers a prompt with these words in it, and what
the CLI asks because of it, one reply after the other:

    model.will_play("look", [thought("Looking", "..."), call("glob", pattern="*")], ["Done."])
    gate = Gate()                       # holds a reply up until the test opens it
    model.will_play("slowly", ["one ", gate, "two"])
    model.will_play("fail", Failure(429, "..."))
    model.will_play("break", ["half a sen", BREAK])

The CLI also asks on the side (which model to route to, and the like). Such requests have no tools
or want JSON back; they get an answer that means nothing and use up no call.
"""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from typing import Any, Sequence, Union

# Begins what Gemini CLI says of the session, in a part of its own.
CONTEXT = "<session_context>"
# What the model says where a test has planned nothing.
NOTHING_PLANNED = "Nothing to do."
USAGE = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
# One object that satisfies every side question of the CLI.
SIDE_ANSWER = {
    "reasoning": "none",
    "complexity_reasoning": "none",
    "complexity_score": 1,
    "model_choice": "flash",
    "next_speaker": "user",
}


# Seconds for a prompt that is sure to come, on a busy machine.
PATIENCE = 240.0
# Seconds that a reply waits at a gate, should a test never open it.
AT_GATE = 240


def serve(server: BaseServer) -> None:
    """Serve in a thread of its own, until its `shutdown`, which so takes a moment and no more."""
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()


class Gate(threading.Event):
    """Stands in a reply where it is to stop until the test calls `set`; `reached` says it did."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()


@dataclass(frozen=True)
class Failure:
    """A reply that is an error of the API. `message` is the body where it is JSON already."""

    status: int
    message: str
    name: str = ""


# In a reply: the connection breaks here.
BREAK = object()
# A text (one chunk), a part of the API's content, a whole chunk (with "candidates"), Gate, BREAK.
Reply = Union[Sequence[Any], Failure]


def thought(subject: str, description: str) -> dict[str, Any]:
    return {"text": f"**{subject}** {description}", "thought": True}


def call(tool: str, id: str = "", **arguments: Any) -> dict[str, Any]:
    return {"functionCall": {"name": tool, "args": arguments, **({"id": id} if id else {})}}


def wants(title: str, id: str = "wanted") -> dict[str, Any]:
    """Only the scripted agent does that: it asks whether a command may run, and goes on."""
    return {"wants": {"toolCallId": id, "title": title}}


class ModelServer:
    def __init__(self) -> None:
        # Every request as (path, body); all state here belongs to whoever holds the condition.
        self._requests: list[tuple[str, dict[str, Any]]] = []
        self._calls: deque[tuple[dict[str, Any], str]] = deque()
        self._closing = ""
        self._plays: dict[str, deque[Reply]] = {}
        # The API keys that came, in their order.
        self.keys: list[str] = []
        # Each with what it asked, as JSON.
        self.asked_with: list[tuple[str, str]] = []
        self._asked = threading.Condition()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                request = json.loads(self.rfile.read(length))
                server.keys.append(self.headers.get("x-goog-api-key", ""))
                server.asked_with.append((server.keys[-1], json.dumps(request)))
                reply = server._play(self.path, request)
                if reply is not None:
                    # A turn that was cancelled reads no further.
                    with suppress(BrokenPipeError, ConnectionResetError):
                        self.play(reply)
                    return
                answer = server._answer(self.path, request)
                body, kind = json.dumps(answer).encode(), "application/json"
                if "alt=sse" in self.path:
                    body, kind = b"data: " + body + b"\r\n\r\n", "text/event-stream"
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def play(self, reply: Reply) -> None:
                self.close_connection = True
                if isinstance(reply, Failure):
                    self.fail(reply)
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for number, step in enumerate(reply, 1):
                    if isinstance(step, Gate):
                        step.reached.set()
                        step.wait(AT_GATE)
                    elif step is BREAK:
                        return
                    else:
                        chunk = _chunk(step, is_last=number == len(reply))
                        self.write(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n")
                self.write(b"")

            def write(self, data: bytes) -> None:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
                self.wfile.flush()

            def fail(self, failure: Failure) -> None:
                error = {
                    "code": failure.status, "message": failure.message, "status": failure.name
                }  # fmt: skip
                body = json.dumps({"error": error}).encode()
                self.send_response(failure.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> ModelServer:
        serve(self._http)
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def will_call(self, tool: str, arguments: dict[str, str], closing: str) -> None:
        """The user's next prompt makes the model call the tool, then say closing."""
        with self._asked:
            self._calls.append(({"functionCall": {"name": tool, "args": arguments}}, closing))

    def will_play(self, text: str, *replies: Reply) -> None:
        """A prompt with these words gets the first reply, what follows from it the others; whoever
        asks more often gets the last one again. Among several plays that fit, the one with most
        letters is meant, and then the newest."""
        with self._asked:
            self._plays.pop(text, None)
            self._plays[text] = deque(replies)

    def wait_for_prompt(self, text: str, timeout: float = PATIENCE) -> str:
        """What the newest main turn with this text in its last message said there."""
        with self._asked:
            asked = self._asked.wait_for(
                lambda: any(text in prompt for prompt in self.prompts()), timeout
            )
            prompts = self.prompts()
        if not asked:
            raise TimeoutError(f"no prompt with {text!r} among {prompts!r}")
        return next(prompt for prompt in reversed(prompts) if text in prompt)

    def prompts(self) -> list[str]:
        """The last message of each main turn: texts as they are, results of tools as JSON, without
        what Gemini CLI says of the session before the first one."""
        found = [map(_text, request["contents"][-1]["parts"]) for request in self.main_turns()]
        return [
            "\n".join(text for text in texts if not text.startswith(CONTEXT)) for texts in found
        ]

    def main_turns(self) -> list[dict[str, Any]]:
        """The bodies of the requests for answers, in their order."""
        with self._asked:
            return [request for path, request in self._requests if _is_main(path, request)]

    def received(self) -> str:
        """All that any request had in it, as JSON."""
        with self._asked:
            return json.dumps(self._requests)

    def last_request(self) -> dict[str, Any]:
        """The body of the newest main turn."""
        with self._asked:
            return next(body for path, body in reversed(self._requests) if _is_main(path, body))

    def told(self) -> list[str]:
        """All messages that came with the newest main turn."""
        contents = self.last_request()["contents"]
        return ["\n".join(map(_text, each["parts"])) for each in contents]

    def _play(self, path: str, request: dict[str, Any]) -> Reply | None:
        """The reply to the newest words of the user, if one was ordered."""
        if not _is_main(path, request):
            return None
        said = [
            each for each in request["contents"] if any("text" in part for part in each["parts"])
        ]
        newest = next(each for each in reversed(said) if each.get("role") == "user")
        words = "\n".join(map(_text, newest["parts"]))
        with self._asked:
            fitting = [text for text in reversed(list(self._plays)) if _has(words, text)]
            if not fitting:
                return None
            self._requests.append((path, request))
            self._asked.notify_all()
            replies = self._plays[max(fitting, key=len)]
            return replies.popleft() if len(replies) > 1 else replies[0]

    def _answer(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        with self._asked:
            self._requests.append((path, request))
            self._asked.notify_all()
            if ":countTokens" in path:
                return {"totalTokens": 1}
            if not _is_main(path, request):
                return _candidate({"text": json.dumps(SIDE_ANSWER)})
            if any("functionResponse" in part for part in request["contents"][-1]["parts"]):
                return _candidate({"text": self._closing})
            if self._calls:
                call, self._closing = self._calls.popleft()
                return _candidate(call)
            return _candidate({"text": NOTHING_PLANNED})


def _is_main(path: str, request: dict[str, Any]) -> bool:
    wanted = request.get("generationConfig", {}).get("responseMimeType")
    return "enerateContent" in path and bool(request.get("tools")) and wanted is None


def _has(prompt: str, words: str) -> bool:
    """Whether the words stand in the prompt, not as a part of longer ones: the CLI may put
    sentences of its own beside what the user said. No words at all stand in every prompt."""
    return not words or bool(re.search(rf"(?<!\w){re.escape(words)}(?!\w)", prompt))


def _text(part: dict[str, Any]) -> str:
    return str(part["text"]) if "text" in part else json.dumps(part, ensure_ascii=False)


def _chunk(step: Any, is_last: bool) -> dict[str, Any]:
    if isinstance(step, dict) and "candidates" in step:
        return step
    chunk = _candidate({"text": step} if isinstance(step, str) else step)
    if not is_last:
        del chunk["candidates"][0]["finishReason"]
    return chunk


def _candidate(part: dict[str, Any]) -> dict[str, Any]:
    content = {"role": "model", "parts": [part]}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": USAGE}
