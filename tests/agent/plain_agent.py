"""An agent that speaks the protocol and nothing else.

    python plain_agent.py [--login | --login-later | --wrong-key] [--no-ways]
        [--version NUMBER [--strict]] [--resume | --load] [--list] [--is VERSION]
        [--mode MODE [--refuses MODE]]

With --login it opens no session before `authenticate`; with --login-later it answers no message;
with --wrong-key it says that the model refuses its key. With --no-ways it names no way to log in.
With --list it lists its SESSIONS, two on a page; where it loads one of them it repeats what was
SAID, and one without a title is never opened.

It has --version 1 of the protocol, or another one; with --strict it refuses to be asked for others.

With --is it says that it has this version. With --mode its sessions begin in this one; it takes
others, but not the one of --refuses.

A message "write PATH" makes it write a file unasked. To all others it says which methods it was
asked, in order, and the parameters of `authenticate`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

AUTH_REQUIRED = {"code": -32000, "message": "Authentication required"}
WRONG_KEY = {"code": 400, "message": "API key not valid."}
# Their titles by their ids, the oldest first; all of one minute, but for the last.
SESSIONS = {"elsewhere": "Another folder", "first": "The word", "bare": "", "last": "Last one"}
SAID: tuple[dict[str, Any], ...] = (
    {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "The word is "}},
    {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "plum."}},
    {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "A fruit."}},
    {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "ls", "kind": "execute"},
    {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "1",
        "status": "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": "file.txt"}}],
    },
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "I see"}},
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "."}},
    {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "And now?"}},
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Now."}},
)
METHODS = [{"id": "api-key", "name": "API Key"}, {"id": "other", "name": "Another way"}]


def in_2(update: dict[str, Any]) -> dict[str, Any]:
    """As version 2 of the protocol has it."""
    kind = update["sessionUpdate"]
    if kind == "tool_call":
        return {**update, "sessionUpdate": "tool_call_update"}
    return {**update, "messageId": kind} if kind.endswith("_chunk") else update


class PlainAgent:
    def __init__(self, options: list[str]) -> None:
        self.options = options
        self.heard: list[str] = []
        self.is_known = "--login" not in options
        self.authentication: Any = None
        self.mode = self.given("--mode")
        self.version = int(self.given("--version") or 1)
        self.request: Any = None

    def given(self, option: str) -> str:
        """The word behind the option; "" if there is none."""
        at = self.options.index(option) if option in self.options else -1
        return self.options[at + 1] if at >= 0 else ""

    def run(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "id" in message and "method" in message:
                self.heard.append(message["method"])
                self.request = message["id"]
                answer = self.answer(message["method"], message["params"])
                if answer:
                    self.send(id=message["id"], **answer)
            elif message.get("method") == "session/cancel":
                self.state("idle", stopReason="cancelled")

    def answer(self, method: str, params: Any) -> dict[str, Any]:
        if method == "initialize":
            if params["protocolVersion"] != self.version and "--strict" in self.options:
                return {"error": {"code": -32602, "message": "Unsupported version"}}
            return {"result": self.initialized()}
        if method == "authenticate":
            self.is_known, self.authentication = True, params
            return {"result": {}}
        if method in ("session/new", "session/load", "session/resume"):
            if not self.is_known:
                return {"error": AUTH_REQUIRED}
            return self.opened(method, params)
        if method == "session/list" and "--list" in self.options:
            return {"result": self.listed(params)}
        if method == "session/set_mode" and self.mode:
            return self.changed(params["modeId"])
        if method == "session/prompt" and "--login-later" in self.options:
            return {"error": AUTH_REQUIRED}
        if method == "session/prompt" and "--wrong-key" in self.options:
            return {"error": WRONG_KEY}
        if method == "session/prompt" and self.version == 2:
            self.prompted_in_2(params)
            return {}
        if method == "session/prompt":
            self.prompted(params)
            return {"result": {"stopReason": "end_turn"}}
        return {"error": {"code": -32601, "message": "Method not found"}}

    def opened(self, method: str, params: Any) -> dict[str, Any]:
        names = [self.mode, "default", "read-only"]
        modes = {
            "availableModes": [{"id": name, "name": name} for name in names],
            "currentModeId": names[0],
        }
        told = {"modes": modes} if self.mode else {}
        if method == "session/new":
            return {"result": {"sessionId": "a-session", **told}}
        if SESSIONS.get(params["sessionId"]) == "":
            return {"error": {"code": -32603, "message": "It cannot be read"}}
        repeats = method == "session/load" or params.get("replayFrom") == {"type": "start"}
        if repeats and params["sessionId"] in SESSIONS:
            for each in SAID if self.version == 1 else map(in_2, SAID):
                self.update(params["sessionId"], **each)
        return {"result": told}

    def changed(self, mode: str) -> dict[str, Any]:
        if mode == self.given("--refuses"):
            return {"error": {"code": -32602, "message": f"{mode} is not available"}}
        self.mode = mode
        return {"result": {}}

    @staticmethod
    def listed(params: Any) -> dict[str, Any]:
        start = int(params.get("cursor") or 0)
        page = [
            {
                "sessionId": id,
                "cwd": params["cwd"] if id != "elsewhere" else os.path.dirname(params["cwd"]),
                **({"title": title} if title else {}),
                "updatedAt": f"2026-01-02T03:0{number // 3}:00.000Z",
            }
            for number, (id, title) in enumerate(SESSIONS.items())
        ][start : start + 2]
        more = {"nextCursor": str(start + 2)} if start + 2 < len(SESSIONS) else {}
        return {"sessions": [*page, {"title": "no id"}], **more}

    def initialized(self) -> dict[str, Any]:
        if self.version == 2:
            info = {"name": "plain", "version": self.given("--is")}
            return {"protocolVersion": 2, "info": info, "capabilities": {"session": {}}}
        can: dict[str, Any] = {
            name: {} for name in ("resume", "list") if f"--{name}" in self.options
        }
        return {
            "protocolVersion": self.version,
            "agentCapabilities": {
                "loadSession": "--load" in self.options, "sessionCapabilities": can,
            },
            "authMethods": [] if "--no-ways" in self.options else METHODS,
            "agentInfo": {"name": "plain", "version": self.given("--is")},
        }  # fmt: skip

    def prompted_in_2(self, params: Any) -> None:
        """An idle state of before, then the turn."""
        self.state("idle")
        self.update(sessionUpdate="user_message", messageId="1", content=params["prompt"])
        self.send(id=self.request, result={"messageId": "1"})
        self.state("running")
        text = params["prompt"][-1]["text"]
        if text == "die":
            os._exit(1)
        self.prompted(params)
        if text == "wait":
            return
        self.state("idle", stopReason="end_turn")

    def state(self, state: str, **more: Any) -> None:
        self.update(sessionUpdate="state_update", state=state, **more)

    def prompted(self, params: Any) -> None:
        text = "".join(block.get("text", "") for block in params["prompt"]).strip()
        if text.startswith("write "):
            self.write(text[len("write ") :])
        told = [*self.heard, json.dumps(self.authentication), text, os.environ.get("SHOWN", "")]
        content = {"type": "text", "text": "\n".join(told)}
        chunk = {"sessionUpdate": "agent_message_chunk", "messageId": "2", "content": content}
        self.update(params["sessionId"], **chunk)

    def write(self, path: str) -> None:
        diff: dict[str, Any] = {"path": path, "oldText": None, "newText": "hers\n"}
        if self.version == 2:
            text = f"diff --git a{path} b{path}\n--- /dev/null\n+++ b{path}\n@@ -0,0 +1 @@\n+hers\n"
            patch = {"format": "git_patch", "text": text}
            diff = {"changes": [{"operation": "add", "path": path}], "patch": patch}
        call: dict[str, Any] = {
            "toolCallId": "1",
            "title": "Write",
            "kind": "edit",
            "content": [{"type": "diff", **diff}],
        }
        kind = "tool_call" if self.version == 1 else "tool_call_update"
        self.update(sessionUpdate=kind, status="in_progress", **call)
        with open(path, "w", encoding="utf-8") as file:
            file.write("hers\n")
        self.update(sessionUpdate="tool_call_update", toolCallId="1", status="completed")

    def update(self, session: str = "a-session", **update: Any) -> None:
        self.send(method="session/update", params={"sessionId": session, "update": update})

    @staticmethod
    def send(**message: Any) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


if __name__ == "__main__":
    PlainAgent(sys.argv[1:]).run()
