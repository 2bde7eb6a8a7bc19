"""A stand-in for a model behind OpenAI's API on this machine: calls the tools that the test wants.

    with OpenAIServer() as model:
        model.will_call("change it", "Done.", ("read_file", {...}), ("write_file", {...}))
        ...                             # the prompt with these words gets one call after the other
        model.wait_for_prompt("please")

It answers `POST .../chat/completions`, in one piece or as a stream. Requests without tools are
those that a CLI makes on the side; they get an answer that means nothing and use up no call.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Deque, Dict

from model_server import NOTHING_PLANNED

MODEL = "local"
# What the model says in a turn, one message after the other.
Turn = Deque[Dict[str, Any]]
# Seconds for a prompt that is sure to come, on a busy machine.
PATIENCE = 120.0
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


class OpenAIServer:
    def __init__(self) -> None:
        # All state belongs to whoever holds the condition.
        self._requests: list[dict[str, Any]] = []
        self._turns: dict[str, Turn] = {}
        self._turn: Turn = deque()
        self._asked = threading.Condition()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                message = server._answer(request)
                if request.get("stream"):
                    body, kind = _stream(message), "text/event-stream"
                else:
                    body, kind = _whole(message), "application/json"
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> OpenAIServer:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def will_call(self, words: str, closing: str, *calls: tuple[str, dict[str, Any]]) -> None:
        """The next prompt with these words makes the model call these tools, then say closing."""
        with self._asked:
            turn = [_call(*each) for each in calls]
            self._turns[words] = deque([*turn, {"content": closing}])

    def wait_for_prompt(self, text: str, timeout: float = PATIENCE) -> str:
        """All that the newest turn with this text said since the model spoke last."""
        with self._asked:
            self._asked.wait_for(lambda: any(text in it for it in self.prompts()), timeout)
            prompts = self.prompts()
        found = next((it for it in reversed(prompts) if text in it), None)
        if found is None:
            raise TimeoutError(f"no prompt with {text!r} among {prompts!r}")
        return found

    def prompts(self) -> list[str]:
        """What each main turn added to the conversation, one message after another."""
        with self._asked:
            turns = [request["messages"] for request in self._requests if request.get("tools")]
        return ["\n".join(map(_text, _since_the_model(messages))) for messages in turns]

    def told(self) -> list[str]:
        """All messages that came with the newest main turn."""
        with self._asked:
            turns = [request["messages"] for request in self._requests if request.get("tools")]
        return [_text(message) for message in turns[-1]]

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._asked:
            self._requests.append(request)
            self._asked.notify_all()
            if not request.get("tools"):
                return {"content": "{}"}
            last = request["messages"][-1]
            if last["role"] != "tool":
                words = next((words for words in self._turns if words in _text(last)), "")
                self._turn = self._turns.pop(words, deque())
            return self._turn.popleft() if self._turn else {"content": NOTHING_PLANNED}


def _call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    call = {"index": 0, "id": f"call-{uuid.uuid4()}", "type": "function", "function": function}
    return {"content": None, "tool_calls": [call]}


def _since_the_model(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    spoken = [index for index, it in enumerate(messages) if it["role"] == "assistant"]
    return messages[spoken[-1] + 1 :] if spoken else messages


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content)


def _choice(message: dict[str, Any], member: str) -> dict[str, Any]:
    reason = "tool_calls" if "tool_calls" in message else "stop"
    return {
        "index": 0, member: {"role": "assistant", **message}, "finish_reason": reason
    }  # fmt: skip


def _whole(message: dict[str, Any]) -> bytes:
    answer = _answer_of("chat.completion", [_choice(message, "message")], usage=USAGE)
    return json.dumps(answer).encode()


def _stream(message: dict[str, Any]) -> bytes:
    kind = "chat.completion.chunk"
    chunks = [
        _answer_of(kind, [_choice(message, "delta")]),
        _answer_of(kind, [], usage=USAGE),
    ]
    lines = [json.dumps(chunk) for chunk in chunks] + ["[DONE]"]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def _answer_of(kind: str, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    head = {"id": "answer", "object": kind, "created": 0, "model": MODEL}
    return {**head, "choices": choices, **more}
