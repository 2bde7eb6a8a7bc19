"""A stand-in for models behind other APIs than Gemini's, on this machine: OpenAI's chat completions
and responses, and Anthropic's messages.

    with AnyModelServer() as model:
        model.will_play("look", ["Well. ", call("read", path=path)], ["Done."])
        model.will_play("slowly", ["one ", Gate(), "two"])

The words of a reply are those of `model_server`: a text is a piece of the answer, `call` a call of
a tool, `Gate` a halt. Requests without tools are those that an agent makes on the side; they get an
answer that means nothing and use up no reply. Every answer says that it took TOKENS.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections import deque
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, Iterable, Iterator, NamedTuple, Sequence

from model_server import AT_GATE, NOTHING_PLANNED, PATIENCE, Gate, serve

MODEL = "local"
# Of each request and of its answer.
TOKENS = (1000, 7)
SIDE_ANSWER = ("{}",)
USER, ASSISTANT, TOOL = "user", "assistant", "tool"
Json = Dict[str, Any]
Reply = Sequence[Any]


class Said(NamedTuple):
    """One message of a request: whose it is (USER, ASSISTANT, TOOL or another), and all that can be
    read in it."""

    by: str
    text: str


class Api:
    """How a model is asked and answers. `path` ends the paths of its requests."""

    path = ""

    @staticmethod
    def tools(request: Json) -> Iterable[Json]:
        return request.get("tools", ())


class Chat(Api):
    """OpenAI's chat completions. In one piece they are asked for on the side only, and have no
    calls."""

    path = "/chat/completions"

    @staticmethod
    def messages(request: Json) -> Iterator[Said]:
        for message in request["messages"]:
            yield Said(message["role"], _text(message.get("content")))

    @staticmethod
    def stream(request: Json, reply: Reply) -> Iterator[bytes]:
        head = {
            "id": _id(), "object": "chat.completion.chunk", "created": 0,
            "model": request["model"],
        }  # fmt: skip
        if not request.get("stream"):
            text = "".join(step for step in _steps(reply) if isinstance(step, str))
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            yield json.dumps({**head, "object": "chat.completion", "choices": [choice]}).encode()
            return
        reason, calls = "stop", 0
        for step in _steps(reply):
            if isinstance(step, str):
                delta: Json = {"role": "assistant", "content": step}
            else:
                function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
                told = {"index": calls, "id": _id(), "type": "function", "function": function}
                delta = {"role": "assistant", "tool_calls": [told]}
                reason, calls = "tool_calls", calls + 1
            yield _event({**head, "choices": [{"index": 0, "delta": delta}]})
        end = {"index": 0, "delta": {}, "finish_reason": reason}
        yield _event({**head, "choices": [end]})
        given, got = TOKENS
        usage = {"prompt_tokens": given, "completion_tokens": got, "total_tokens": given + got}
        yield _event({**head, "choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"


class Responses(Api):
    """OpenAI's responses. A tool that takes text instead of JSON gets its argument `input`."""

    path = "/responses"

    @staticmethod
    def messages(request: Json) -> Iterator[Said]:
        for item in request["input"]:
            is_result = item["type"].endswith("_output")
            by = item.get("role", TOOL if is_result else ASSISTANT)
            yield Said(by, _text(item.get("content", item.get("output"))))

    @staticmethod
    def tools(request: Json) -> Iterator[Json]:
        """Some stand among the messages, in groups."""
        rows = [*request.get("tools", ())]
        rows += [tool for item in request["input"] for tool in item.get("tools", ())]
        for row in rows:
            if row["type"] == "namespace":
                yield from ({**tool, "namespace": row["name"]} for tool in row["tools"])
            else:
                yield row

    @staticmethod
    def stream(request: Json, reply: Reply) -> Iterator[bytes]:
        answer: Json = {"id": _id(), "object": "response", "model": request["model"]}
        tools = [*Responses.tools(request)]
        texts = [tool["name"] for tool in tools if tool["type"] == "custom"]
        spaces = {tool["name"]: tool["namespace"] for tool in tools if "namespace" in tool}
        yield _named({"type": "response.created", "response": answer})
        for number, step in enumerate(_steps(reply)):
            item: Json = {"id": _id(), "status": "completed"}
            place = {"item_id": item["id"], "output_index": number}
            if isinstance(step, str):
                part = {"type": "output_text", "text": step, "annotations": []}
                item.update(type="message", role="assistant", content=[part])
                begun = {**item, "status": "in_progress", "content": []}
                yield _named({"type": "response.output_item.added", **place, "item": begun})
                delta = {**place, "content_index": 0, "delta": step}
                yield _named({"type": "response.output_text.delta", **delta})
            elif step.tool in texts:
                item.update(type="custom_tool_call", call_id=_id(), name=step.tool)
                item.update(input=step.arguments["input"])
            else:
                item.update(type="function_call", call_id=_id(), name=step.tool)
                if step.tool in spaces:
                    item.update(namespace=spaces[step.tool])
                item.update(arguments=json.dumps(step.arguments))
            yield _named({"type": "response.output_item.done", **place, "item": item})
        given, got = TOKENS
        usage = {
            "input_tokens": given, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": got, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": given + got,
        }  # fmt: skip
        answer.update(status="completed", usage=usage)
        yield _named({"type": "response.completed", "response": answer})


class Messages(Api):
    """Anthropic's messages, without those of the system."""

    path = "/messages"

    @staticmethod
    def messages(request: Json) -> Iterator[Said]:
        for message in request["messages"]:
            # Words of Claude Code's own, which also follow results: nobody has said them.
            if message["role"] == "system":
                continue
            content = message["content"]
            parts = [] if isinstance(content, str) else content
            results = [part for part in parts if part["type"] == "tool_result"]
            if results:
                yield Said(TOOL, _text(results))
                content = [part for part in parts if part not in results and not _is_reminder(part)]
            if content:
                yield Said(message["role"], _text(content))

    @staticmethod
    def stream(request: Json, reply: Reply) -> Iterator[bytes]:
        given, got = TOKENS
        message = {
            "id": _id(), "type": "message", "role": "assistant", "model": request["model"],
            "content": [], "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": given, "output_tokens": 0},
        }  # fmt: skip
        yield _named({"type": "message_start", "message": message})
        reason = "end_turn"
        for number, step in enumerate(_steps(reply)):
            if isinstance(step, str):
                block: Json = {"type": "text", "text": ""}
                delta = {"type": "text_delta", "text": step}
            else:
                block = {"type": "tool_use", "id": _id(), "name": step.tool, "input": {}}
                told = json.dumps(step.arguments)
                delta = {"type": "input_json_delta", "partial_json": told}
                reason = "tool_use"
            at = {"index": number}
            yield _named({"type": "content_block_start", **at, "content_block": block})
            yield _named({"type": "content_block_delta", **at, "delta": delta})
            yield _named({"type": "content_block_stop", **at})
        end = {"stop_reason": reason, "stop_sequence": None}
        yield _named({"type": "message_delta", "delta": end, "usage": {"output_tokens": got}})
        yield _named({"type": "message_stop"})


APIS = (Chat, Responses, Messages)


class AnyModelServer:
    def __init__(self) -> None:
        # All state belongs to whoever holds the condition.
        self._plays: dict[str, deque[Reply]] = {}
        self._requests: list[tuple[Any, Json]] = []
        # The keys of the requests, as they came.
        self.keys: list[str] = []
        # Each with what it asked, as JSON.
        self.asked_with: list[tuple[str, str]] = []
        # The paths of requests that belong to no API.
        self.strays: list[str] = []
        self._asked = threading.Condition()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                path = self.path.partition("?")[0]
                api = next((api for api in APIS if path.endswith(api.path)), None)
                if api is None:
                    self.refuse()
                    return
                request = json.loads(data)
                bearer = self.headers.get("Authorization", "").partition(" ")[2]
                server.keys.append(self.headers.get("x-api-key") or bearer)
                server.asked_with.append((server.keys[-1], json.dumps(request)))
                reply = server._reply(api, request)
                self.close_connection = True
                self.send_response(200)
                kind = "text/event-stream" if request.get("stream") else "application/json"
                self.send_header("Content-Type", kind)
                self.send_header("Connection", "close")
                self.end_headers()
                # A turn that was cancelled reads no further.
                with suppress(BrokenPipeError, ConnectionResetError):
                    for chunk in api.stream(request, reply):
                        self.wfile.write(chunk)
                        self.wfile.flush()

            def refuse(self) -> None:
                server.strays.append(f"{self.command} {self.path}")
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_HEAD = refuse

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> AnyModelServer:
        serve(self._http)
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def will_play(self, text: str, *replies: Reply) -> None:
        """A prompt with these words gets the first reply, what follows from it the others, once
        each. Among several plays that fit, the newest is meant."""
        with self._asked:
            self._plays.pop(text, None)
            self._plays[text] = deque(replies)

    def wait_for_prompt(self, text: str, timeout: float = PATIENCE) -> str:
        """All that the newest turn with this text said since the model spoke last."""
        with self._asked:
            self._asked.wait_for(lambda: any(text in prompt for prompt in self.prompts()), timeout)
            found = next((prompt for prompt in reversed(self.prompts()) if text in prompt), None)
        if found is None:
            raise TimeoutError(f"no prompt with {text!r} among {self.prompts()!r}")
        return found

    def prompts(self) -> list[str]:
        """What each main turn added to the conversation."""
        with self._asked:
            turns = [list(api.messages(request)) for api, request in self._requests]
        return ["\n".join(message.text for message in _since_the_model(said)) for said in turns]

    def told(self) -> list[str]:
        """All messages that came with the newest main turn."""
        with self._asked:
            api, request = self._requests[-1]
        return [said.text for said in api.messages(request)]

    def last_request(self) -> Json:
        """The body of the newest main turn."""
        with self._asked:
            return self._requests[-1][1]

    def _reply(self, api: Any, request: Json) -> Reply:
        if not any(api.tools(request)):
            return SIDE_ANSWER
        said = list(api.messages(request))
        # After a result goes on what was begun; else only what is new counts.
        if said[-1].by != TOOL:
            said = _since_the_model(said)
        with self._asked:
            self._requests.append((api, request))
            self._asked.notify_all()
            for text in (message.text for message in reversed(said) if message.by == USER):
                fitting = [words for words in self._plays if words in text]
                if fitting:
                    meant = fitting[-1]
                    reply = self._plays[meant].popleft()
                    if not self._plays[meant]:
                        del self._plays[meant]
                    return reply
            return (NOTHING_PLANNED,)


class Call(NamedTuple):
    tool: str
    arguments: Json


def _steps(reply: Reply) -> Iterator[Any]:
    """The texts and calls of a reply; halts at its gates."""
    for step in reply:
        if isinstance(step, Gate):
            step.reached.set()
            step.wait(AT_GATE)
        elif isinstance(step, str):
            yield step
        else:
            yield Call(step["functionCall"]["name"], step["functionCall"]["args"])


def _text(content: Any) -> str:
    """All that can be read in a content: a text, or parts with texts and contents."""
    if isinstance(content, dict):
        return _text(content.get("text", content.get("content")))
    if isinstance(content, list):
        return "\n".join(map(_text, content))
    return str(content or "")


def _is_reminder(part: Json) -> bool:
    """Whether it is what Claude Code adds to results."""
    return str(part.get("text", "")).startswith("<system-reminder>")


def _since_the_model(said: list[Said]) -> list[Said]:
    spoken = [number for number, turn in enumerate(said) if turn.by == ASSISTANT]
    return said[spoken[-1] + 1 :] if spoken else said


def _id() -> str:
    return uuid.uuid4().hex


def _event(told: Json) -> bytes:
    return b"data: " + json.dumps(told).encode() + b"\n\n"


def _named(told: Json) -> bytes:
    return f"event: {told['type']}\n".encode() + _event(told)
