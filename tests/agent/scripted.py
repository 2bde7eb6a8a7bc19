"""An agent of a few lines that speaks the Agent Client Protocol as Gemini CLI does, and says what a
test has planned; `contract` holds it to what the real CLIs do.

    script = Script(folder)
    launch = Launch(COMMAND, script.variables)          # where a CLI would be started
    script.plan("hello", "Hi.")                         # to a message with this in it
    script.plan("write", "Done.", (path, content))      # a call of write_file before it

It asks before each write and writes through the client, keeps its list of projects, and loads the
recordings that are written for Gemini CLI.
"""

from __future__ import annotations

import glob
import json
import os
import queue
import sys
import threading
import uuid
from typing import Any, Mapping

COMMAND = (sys.executable, os.path.abspath(__file__))
VARIABLE = "SCRIPTED_AGENT"
VERSION = "1.2.3"
NOTHING_PLANNED = "Nothing to do."
OPTIONS = [
    {"optionId": "proceed_always", "name": "Allow all", "kind": "allow_always"},
    {"optionId": "proceed_once", "name": "Allow", "kind": "allow_once"},
    {"optionId": "cancel", "name": "Reject", "kind": "reject_once"},
]
MODES = [{"id": id, "name": id} for id in ("default", "plan")]
MODELS = [{"modelId": id, "name": id} for id in ("one", "two")]


class Script:
    """What is said to which message; the newest that fits counts."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "script.json")
        self.variables = {VARIABLE: self._path}
        self._plans: list[Any] = []
        self.plan(NOTHING_PLANNED, NOTHING_PLANNED)

    def plan(self, words: str, closing: str, write: tuple[str, str] | None = None) -> None:
        self._plans.append([words, closing, write])
        with open(self._path + ".new", "w", encoding="utf-8") as file:
            json.dump(self._plans, file)
        os.replace(self._path + ".new", self._path)


class ScriptedAgent:
    """Each prompt is answered by a thread of its own, for its questions come back as lines."""

    def __init__(self) -> None:
        self._writing = threading.Lock()
        self._folders: dict[str, str] = {}
        self._cancelled: set[str] = set()
        self._answers: dict[int, queue.Queue[Mapping[str, Any]]] = {}
        self._calls = 0

    def run(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            params = message.get("params", {})
            if "method" not in message:
                self._answers[message["id"]].put(message)
            elif message["method"] == "session/cancel":
                self._cancelled.add(params["sessionId"])
            elif message["method"] == "session/prompt":
                work = threading.Thread(target=self._prompt, args=(message["id"], params))
                work.daemon = True
                work.start()
            else:
                self._answer(message["id"], message["method"], params)

    def _answer(self, id: int, method: str, params: Mapping[str, Any]) -> None:
        name = method.replace("session/", "session_")
        work = getattr(self, "_do_" + name, None)
        if work is None:
            self._send(id=id, error={"code": -32601, "message": "Method not found"})
            return
        self._send(id=id, result=work(params))
        if name == "session_load":
            self._repeat(params["sessionId"])

    def _do_initialize(self, params: Mapping[str, Any]) -> Any:
        return {
            "protocolVersion": 1,
            "agentInfo": {"name": "scripted", "version": VERSION},
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "embeddedContext": True},
                "mcpCapabilities": {"http": True},
            },
        }

    def _do_authenticate(self, params: Mapping[str, Any]) -> Any:
        return {}

    def _do_session_set_mode(self, params: Mapping[str, Any]) -> Any:
        return {}

    def _do_session_set_model(self, params: Mapping[str, Any]) -> Any:
        return {}

    def _do_session_new(self, params: Mapping[str, Any]) -> Any:
        return self._open(str(uuid.uuid4()), params["cwd"])

    def _do_session_load(self, params: Mapping[str, Any]) -> Any:
        return self._open(params["sessionId"], params["cwd"])

    def _open(self, session: str, folder: str) -> Any:
        self._folders[session] = folder
        path = os.path.join(self._own, "projects.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"projects": {folder: "project"}}, file)
        return {
            "sessionId": session,
            "modes": {"availableModes": MODES, "currentModeId": "default"},
            "models": {"availableModels": MODELS, "currentModelId": "one"},
        }

    @property
    def _own(self) -> str:
        return os.path.join(os.environ["GEMINI_CLI_HOME"], ".gemini")

    def _repeat(self, session: str) -> None:
        """All that the recording says."""
        name = f"session-*-{session[:8]}.jsonl"
        (path,) = glob.glob(os.path.join(self._own, "tmp", "*", "chats", name))
        with open(path, encoding="utf-8") as file:
            messages = [json.loads(line) for line in file][1:]
        for message in messages:
            kind = "user_message_chunk" if message["type"] == "user" else "agent_message_chunk"
            if message["content"].strip():
                self._say(session, message["content"], kind)
            for call in message.get("toolCalls", ()):
                call = {"toolCallId": call["id"], "status": "completed", "title": call["name"]}
                self._update(session, sessionUpdate="tool_call", **call)

    def _prompt(self, id: int, params: Mapping[str, Any]) -> None:
        session = params["sessionId"]
        self._cancelled.discard(session)
        said = "".join(str(block.get("text", "")) for block in params["prompt"])
        with open(os.environ[VARIABLE], encoding="utf-8") as file:
            plans = json.load(file)
        fitting = [plan for plan in plans if plan[0] in said]
        _words, closing, write = fitting[-1] if fitting else plans[0]
        if write is not None:
            self._write(session, *write)
        if session in self._cancelled:
            self._send(id=id, result={"stopReason": "cancelled"})
            return
        self._say(session, closing, "agent_message_chunk")
        counted = {"token_count": {"input_tokens": 3, "output_tokens": 2}, "model_usage": []}
        self._send(id=id, result={"stopReason": "end_turn", "_meta": {"quota": counted}})

    def _write(self, session: str, path: str, content: str) -> None:
        self._calls += 1
        diff = {"type": "diff", "path": path, "oldText": "", "newText": content}
        call = {
            "toolCallId": f"write_file__call_{self._calls}",
            "title": f"Writing to {os.path.basename(path)}",
            "kind": "edit",
            "content": [diff],
            "locations": [{"path": path}],
        }
        asked = {"sessionId": session, "toolCall": {**call, "status": "pending"}}
        answer = self._ask("session/request_permission", {**asked, "options": OPTIONS})
        outcome = answer["result"]["outcome"]
        if outcome["outcome"] == "cancelled":
            # The notification comes after this.
            self._cancelled.add(session)
        if not outcome.get("optionId", "cancel").startswith("proceed"):
            # Of a tool that may not run the CLI says no more.
            return
        written = {"sessionId": session, "path": path, "content": content}
        answer = self._ask("fs/write_text_file", written)
        if "error" in answer:
            told = {"type": "text", "text": f"Error writing to file: {answer['error']}"}
            call["content"] = [{"type": "content", "content": told}]
        status = "failed" if "error" in answer else "completed"
        self._update(session, sessionUpdate="tool_call_update", **{**call, "status": status})

    def _ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        id = len(self._answers) + 1000
        self._answers[id] = queue.Queue()
        self._send(id=id, method=method, params=params)
        return self._answers[id].get()

    def _say(self, session: str, text: str, kind: str) -> None:
        self._update(session, sessionUpdate=kind, content={"type": "text", "text": text})

    def _update(self, session: str, **update: Any) -> None:
        self._send(method="session/update", params={"sessionId": session, "update": update})

    def _send(self, **message: Any) -> None:
        with self._writing:
            # As the CLI begins its lines.
            print(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")), flush=True)


if __name__ == "__main__":
    ScriptedAgent().run()
