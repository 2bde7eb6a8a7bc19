"""An agent that speaks the protocol and nothing else.

    python plain_agent.py [--login] [--version-2] [--resume | --load]

With --login it opens no session before `authenticate`.

A message "write PATH" makes it write a file unasked. To all others it says which methods it was
asked, in order, and the parameters of `authenticate`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

AUTH_REQUIRED = {"code": -32000, "message": "Authentication required"}
METHODS = [{"id": "api-key", "name": "API Key"}, {"id": "other", "name": "Another way"}]


class PlainAgent:
    def __init__(self, options: list[str]) -> None:
        self.options = options
        self.heard: list[str] = []
        self.is_known = "--login" not in options
        self.authentication: Any = None

    def run(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "id" in message and "method" in message:
                self.heard.append(message["method"])
                answer = self.answer(message["method"], message["params"])
                self.send(id=message["id"], **answer)

    def answer(self, method: str, params: Any) -> dict[str, Any]:
        if method == "initialize":
            return {"result": self.initialized()}
        if method == "authenticate":
            self.is_known, self.authentication = True, params
            return {"result": {}}
        if method in ("session/new", "session/load", "session/resume"):
            if not self.is_known:
                return {"error": AUTH_REQUIRED}
            return {"result": {"sessionId": "a-session"} if method == "session/new" else {}}
        if method == "session/prompt":
            self.prompted(params)
            return {"result": {"stopReason": "end_turn"}}
        return {"error": {"code": -32601, "message": "Method not found"}}

    def initialized(self) -> dict[str, Any]:
        version = 2 if "--version-2" in self.options else 1
        resumes: dict[str, Any] = {"resume": {}} if "--resume" in self.options else {}
        return {
            "protocolVersion": version,
            "agentCapabilities": {
                "loadSession": "--load" in self.options, "sessionCapabilities": resumes,
            },
            "authMethods": METHODS,
        }  # fmt: skip

    def prompted(self, params: Any) -> None:
        text = "".join(block.get("text", "") for block in params["prompt"]).strip()
        if text.startswith("write "):
            self.write(text[len("write ") :])
        told = [*self.heard, json.dumps(self.authentication), text, os.environ.get("SHOWN", "")]
        content = {"type": "text", "text": "\n".join(told)}
        self.update(sessionUpdate="agent_message_chunk", content=content)

    def write(self, path: str) -> None:
        diff = {"type": "diff", "path": path, "oldText": None, "newText": "hers\n"}
        call = {"toolCallId": "1", "title": "Write", "kind": "edit", "content": [diff]}
        self.update(sessionUpdate="tool_call", status="in_progress", **call)
        with open(path, "w", encoding="utf-8") as file:
            file.write("hers\n")
        self.update(sessionUpdate="tool_call_update", toolCallId="1", status="completed")

    def update(self, **update: Any) -> None:
        self.send(method="session/update", params={"sessionId": "a-session", "update": update})

    @staticmethod
    def send(**message: Any) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


if __name__ == "__main__":
    PlainAgent(sys.argv[1:]).run()
