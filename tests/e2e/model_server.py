"""A stand-in for the Gemini API on this machine: says what the test wants, keeps what was asked.

    with ModelServer() as model:
        model.will_call("write_file", file_path=path, content="...")   # the next turn's tool call
        ...
        model.prompts()     # the text of every request of a main turn

The CLI also asks on the side (which model to route to, and the like); such requests have no tools
and get an answer that means nothing.
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
        self.requests: list[dict[str, Any]] = []
        self._calls: deque[dict[str, Any]] = deque()
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

    def __exit__(self, *error: Any) -> None:
        self._http.shutdown()
        self._http.server_close()

    def will_call(self, tool: str, **arguments: Any) -> None:
        """The next prompt of the user makes the model call this tool."""
        self._calls.append({"functionCall": {"name": tool, "args": arguments}})

    def wait_for_prompt(self, text: str, timeout: float = 30) -> str:
        """The first prompt with this text in it, as soon as it is there."""
        with self._asked:
            asked = self._asked.wait_for(lambda: any(text in it for it in self.prompts()), timeout)
        if not asked:
            raise TimeoutError(f"no prompt with {text!r} among {self.prompts()!r}")
        return next(prompt for prompt in self.prompts() if text in prompt)

    def prompts(self) -> list[str]:
        """All text that the main turns sent, one entry a request."""
        return [
            "\n".join(
                part.get("text", "") for content in request["contents"] for part in content["parts"]
            )
            for request in self.requests
        ]

    def _answer(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        if ":countTokens" in path:
            return {"totalTokens": 1}
        if request.get("generationConfig", {}).get("responseMimeType") == "application/json":
            return _candidate({"text": json.dumps(SIDE_ANSWER)})
        if not request.get("tools"):
            return _candidate({"text": "Nothing."})
        with self._asked:
            self.requests.append(request)
            self._asked.notify_all()
        last = request["contents"][-1]["parts"]
        if self._calls and not any("functionResponse" in part for part in last):
            return _candidate(self._calls.popleft())
        return _candidate({"text": f"The end of turn {len(self.requests)}."})


def _candidate(part: dict[str, Any]) -> dict[str, Any]:
    content = {"role": "model", "parts": [part]}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": USAGE}
