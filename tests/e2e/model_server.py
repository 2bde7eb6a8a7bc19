"""A stand-in for the Gemini API on this machine: says what the test wants, keeps what was asked.

    with ModelServer() as model:
        model.will_call("write_file", {"file_path": path, "content": "..."}, closing="Done.")
        ...                             # the user's next prompt gets the call, its result "Done."
        model.wait_for_prompt("please")

The CLI also asks on the side (which model to route to, and the like). Such requests have no tools
or want JSON back; they get an answer that means nothing and use up no call.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
# One object that satisfies every side question of the CLI.
SIDE_ANSWER = {
    "reasoning": "none",
    "complexity_reasoning": "none",
    "complexity_score": 1,
    "model_choice": "flash",
    "next_speaker": "user",
}


class ModelServer:
    def __init__(self) -> None:
        # Every request as (path, body); all state here belongs to whoever holds the condition.
        self._requests: list[tuple[str, dict[str, Any]]] = []
        self._calls: deque[tuple[dict[str, Any], str]] = deque()
        self._closing = ""
        self._asked = threading.Condition()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                answer = server._answer(self.path, json.loads(self.rfile.read(length)))
                body, kind = json.dumps(answer).encode(), "application/json"
                if "alt=sse" in self.path:
                    body, kind = b"data: " + body + b"\r\n\r\n", "text/event-stream"
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> ModelServer:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def will_call(self, tool: str, arguments: dict[str, str], closing: str) -> None:
        """The user's next prompt makes the model call the tool, then say closing."""
        with self._asked:
            self._calls.append(({"functionCall": {"name": tool, "args": arguments}}, closing))

    def wait_for_prompt(self, text: str, timeout: float = 30) -> str:
        """What the newest main turn with this text in its last message said there."""
        with self._asked:
            asked = self._asked.wait_for(lambda: any(text in it for it in self.prompts()), timeout)
            prompts = self.prompts()
        if not asked:
            raise TimeoutError(f"no prompt with {text!r} among {prompts!r}")
        return next(prompt for prompt in reversed(prompts) if text in prompt)

    def prompts(self) -> list[str]:
        """The last message of each main turn: texts as they are, results of tools as JSON."""
        with self._asked:
            turns = [request for path, request in self._requests if _is_main(path, request)]
        return ["\n".join(map(_text, turn["contents"][-1]["parts"])) for turn in turns]

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
            return _candidate({"text": "Nothing to do."})


def _is_main(path: str, request: dict[str, Any]) -> bool:
    wanted = request.get("generationConfig", {}).get("responseMimeType")
    return "enerateContent" in path and bool(request.get("tools")) and wanted is None


def _text(part: dict[str, Any]) -> str:
    return str(part["text"]) if "text" in part else json.dumps(part, ensure_ascii=False)


def _candidate(part: dict[str, Any]) -> dict[str, Any]:
    content = {"role": "model", "parts": [part]}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": USAGE}
