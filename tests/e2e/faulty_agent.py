"""An agent that goes wrong as it is told.

    python faulty_agent.py FILE

FILE has a word for what happens before a message: "mute" (does not answer `initialize`), "idle"
(answers that alone), "dies", "babbles" (writes something else); empty for an agent that works. A
message says what happens with it: "die", "hang", "garbage", "long line", "flood", "calls", "huge",
"ask", "cwd".
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any, Callable

PIECES, CALLS = 30_000, 1_000
MEGABYTE = 1 << 20
# Longer than any line may be.
LONG = 65 * MEGABYTE
OPTIONS = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]


class FaultyAgent:
    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.words: dict[str, Callable[[], None]] = {
            "die": self.die,
            "hang": self.hang,
            "garbage": self.garbage,
            "long line": self.long_line,
            "flood": self.flood,
            "calls": self.calls,
            "huge": self.huge,
            "ask": self.ask,
            "cwd": lambda: self.say(os.getcwd()),
        }

    def run(self) -> None:
        if self.fault == "dies":
            sys.exit("no library of mine is there")
        if self.fault == "babbles":
            for _ in range(200):
                print("usage: something else", flush=True)
        if self.fault == "mute":
            self.hang()
        for line in sys.stdin:
            message = json.loads(line)
            if "method" in message and "id" in message:
                self.answer(message["id"], message["method"], message["params"])

    def answer(self, id: int, method: str, params: Any) -> None:
        results: dict[str, Any] = {
            "initialize": {"protocolVersion": 1, "agentCapabilities": {}},
            "session/new": {"sessionId": "a-session"},
            "session/prompt": {"stopReason": "end_turn"},
        }
        if method == "session/new" and self.fault == "idle":
            self.hang()
        if method == "session/prompt":
            text = "".join(block.get("text", "") for block in params["prompt"]).strip()
            self.words.get(text.split("\n")[-1], lambda: self.say("Here I am."))()
        self.send(id=id, result=results[method])

    def die(self) -> None:
        self.say("Half an answer")
        os.kill(os.getpid(), signal.SIGKILL)

    def hang(self) -> None:
        """Not even the end of its input ends it."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            signal.pause()

    def garbage(self) -> None:
        for line in ("\x00\xff\x1b[2J", '{"jsonrpc": "2.0", "method": 5}', "{}[[[", "null"):
            sys.stdout.buffer.write(line.encode("latin-1") + b"\n")
        self.update(sessionUpdate="agent_message_chunk", content=[1, 2])
        self.update(sessionUpdate="tool_call", toolCallId={"a": []}, title=7)
        self.update(sessionUpdate="no such update")
        self.say("Behind the garbage.")

    def long_line(self) -> None:
        self.say("Before the line.")
        sys.stdout.write("x" * LONG)
        sys.stdout.flush()
        self.hang()

    def flood(self) -> None:
        for number in range(PIECES):
            self.say(f"piece {number}\n")

    def huge(self) -> None:
        for _ in range(100):
            self.say("line of some text\n" * (MEGABYTE // 18))
        self.say("The end of it.")

    def calls(self) -> None:
        for number in range(CALLS):
            id, text = f"c{number}", f"output {number}\n" * 50
            content = [{"type": "content", "content": {"type": "text", "text": text}}]
            self.update(sessionUpdate="tool_call", toolCallId=id, title=f"Call {number}")
            self.update(
                sessionUpdate="tool_call_update", toolCallId=id, status="completed", content=content
            )
        self.say("All done.")

    def ask(self) -> None:
        call = {"toolCallId": "1", "title": "May I?", "kind": "execute"}
        params = {"sessionId": "a-session", "toolCall": call, "options": OPTIONS}
        self.send(id=1000, method="session/request_permission", params=params)
        self.hang()

    def say(self, text: str) -> None:
        content = {"type": "text", "text": text}
        self.update(sessionUpdate="agent_message_chunk", content=content)

    def update(self, **update: Any) -> None:
        self.send(method="session/update", params={"sessionId": "a-session", "update": update})

    @staticmethod
    def send(**message: Any) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        FaultyAgent(file.read().strip()).run()
