"""A CLI that speaks the Agent Client Protocol as Gemini CLI does, in a tenth of its time: it asks
the model at GOOGLE_GEMINI_BASE_URL, runs the tools that the tests use, keeps a list of its projects
and the recordings of its sessions, and loads those. `test_agent_contract` and `test_agent_turns`
hold it to what Gemini CLI does.

    Launch(COMMAND, {"GOOGLE_GEMINI_BASE_URL": model.url})     # where a CLI would be started
    find(folder)                                               # where a path to one is wanted

Source: docs/gemini-cli-acp.md.
"""

from __future__ import annotations

import datetime
import glob
import http.client
import itertools
import json
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import traceback
import uuid
from contextlib import suppress
from typing import Any, Callable, Iterator, Mapping
from urllib.parse import urlsplit

# Without the site's packages, which it does not need.
COMMAND = (sys.executable, "-I", "-S", os.path.abspath(__file__))
VERSION = "0.1.2"
# Its own folder, in the home that it was given.
OWN = os.path.join(os.environ.get("GEMINI_CLI_HOME", ""), ".gemini")
LOGIN, ACCOUNTS = (os.path.join(OWN, f"{name}.json") for name in ("oauth_creds", "google_accounts"))
EMAIL, CODE = "somebody@example.com", "4/right"
ONCE = {"optionId": "proceed_once", "name": "Allow", "kind": "allow_once"}
NO = {"optionId": "cancel", "name": "Reject", "kind": "reject_once"}
ALWAYS = {"optionId": "proceed_always", "name": "Allow for this session", "kind": "allow_always"}
MODES = [{"id": id, "name": id} for id in ("default", "autoEdit", "yolo", "plan")]
MODELS = [{"modelId": id, "name": id} for id in ("auto", "gemini-2.5-pro", "gemini-3-flash")]
COMMANDS = (
    "memory",
    "memory show",
    "memory list",
    "extensions",
    "init",
    "restore",
    "about",
    "help",
)
# Commands that run without a question (5.36): those that only look.
LOOKS = re.compile(r"(echo|ls|cat|pwd)( [\w.-]+)*")
# Seconds until the model is asked once more, and how often it is asked.
BACKOFF, ATTEMPTS = 0.2, 3


def find(folder: str, model_url: str = "", real: str = "") -> str:
    """A path for `--cli`; `folder` has to stand first in PATH, for a CLI is started by the first
    `node` there. With the path of a `real` CLI, that is started, led to the model."""
    node, program = os.path.join(folder, "node"), os.path.join(folder, "gemini.js")
    words = " ".join(f"'{word}'" for word in COMMAND)
    led = f"export GOOGLE_GEMINI_BASE_URL='{model_url}'\n" if model_url else ""
    run = f"shift\nexec {words}" if not real else f"exec '{shutil.which('node')}'"
    with open(node, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\n{led}{run} "$@"\n')
    os.chmod(node, 0o755)
    open(program, "w").close()
    return real or program


class Failure(Exception):
    """An error as the protocol tells it."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Cancelled(Exception):
    """The turn was."""


class ToolError(Exception):
    """What the model is told of a call that failed."""


class Model:
    """One turn's requests to the model; `stop` breaks off the one that runs."""

    def __init__(self, key: str, name: str, cancelled: threading.Event) -> None:
        self._key, self._name, self._cancelled = key, name, cancelled
        self._socket: socket.socket | None = None
        self.tokens = [0, 0]

    def stop(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def ask(self, contents: list[Any]) -> Iterator[Mapping[str, Any]]:
        """The parts of the answer as they come. Raises Failure, Cancelled."""
        response = self._send(contents)
        count: Mapping[str, int] = {}
        try:
            for line in _lines(response):
                if line.startswith(b"data: "):
                    chunk = json.loads(line[6:])
                    count = chunk.get("usageMetadata", count)
                    yield from chunk["candidates"][0].get("content", {}).get("parts", ())
        except (OSError, http.client.HTTPException) as error:
            self.check()
            raise Failure(500, "terminated") from error
        self.check()
        self.tokens[0] += count.get("promptTokenCount", 0)
        self.tokens[1] += count.get("candidatesTokenCount", 0)

    def check(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled

    def _send(self, contents: list[Any]) -> http.client.HTTPResponse:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                response = self._try(contents)
            except (OSError, http.client.HTTPException) as error:
                failure, note = Failure(500, f"exception TypeError: fetch failed {error}"), ""
            else:
                if response.status == 200:
                    return response
                failure, note = _refused(response), f" with status {response.status}"
                if response.status not in (429, 503):
                    raise failure
            self.check()
            if attempt < ATTEMPTS:
                _log(f"Attempt {attempt} failed{note}. Retrying with backoff... Error: {failure}")
                self._cancelled.wait(BACKOFF)
                self.check()
        raise failure

    def _try(self, contents: list[Any]) -> http.client.HTTPResponse:
        place = urlsplit(os.environ["GOOGLE_GEMINI_BASE_URL"])
        connection = http.client.HTTPConnection(place.hostname or "", place.port)
        connection.connect()
        self._socket = connection.sock
        self.check()
        body = {"contents": contents, "tools": [{"functionDeclarations": []}]}
        headers = {"Content-Type": "application/json", "x-goog-api-key": self._key}
        path = f"/v1beta/models/{self._name}:streamGenerateContent?alt=sse"
        connection.request("POST", path, json.dumps(body), headers)
        return connection.getresponse()


def _lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Its own `readline` takes an answer that broke off for a whole one."""
    rest = b""
    while True:
        data = response.read1(1 << 16)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from lines


def _refused(response: http.client.HTTPResponse) -> Failure:
    error = json.loads(response.read())
    if response.status == 404:
        return Failure(500, error["error"]["message"])
    return Failure(response.status, json.dumps(error, separators=(",", ":")))


def _log(text: str) -> None:
    """As the CLI writes its log."""
    print(f"[{_now()}] [WARN] {text}", file=sys.stderr, flush=True)


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Recording:
    """The file of one session, in the folder of its project."""

    def __init__(self, session: str, folder: str) -> None:
        self._session, self._path = session, ""
        self._folder = os.path.join(OWN, "tmp", _project(folder), "chats")

    def read(self) -> list[Any]:
        """The messages of one that is there. Raises Failure."""
        found = glob.glob(os.path.join(glob.escape(self._folder), f"*-{self._session[:8]}.jsonl"))
        if not found:
            raise Failure(-32603, "No previous sessions found")
        with open(found[0], encoding="utf-8") as file:
            return [json.loads(line) for line in file][1:]

    def add(self, call: Mapping[str, Any]) -> None:
        if not self._path:
            name = f"session-{_now()[:16].replace(':', '-')}-{self._session[:8]}.jsonl"
            self._path = os.path.join(self._folder, name)
            os.makedirs(self._folder, exist_ok=True)
            self._write({"sessionId": self._session, "projectHash": "-"})
        calls = [{**call, "timestamp": _now()}]
        self._write({"id": str(uuid.uuid4()), "type": "gemini", "content": "", "toolCalls": calls})

    def _write(self, line: Mapping[str, Any]) -> None:
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _project(folder: str) -> str:
    """The name of the folder's project, noted with the others."""
    path = os.path.join(OWN, "projects.json")
    known: dict[str, str] = {}
    with suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
        known = json.load(file)["projects"]
    if folder not in known:
        known[folder] = f"project-{len(known)}"
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({"projects": known}, file)
        os.replace(path + ".new", path)
    return known[folder]


class Tool:
    """One call. `told` is what the protocol tells of it, `needs` the arguments without which it
    cannot run. Raises ToolError where it cannot begin."""

    kind = "search"
    needs: tuple[str, ...] = ("dir_path",)
    asks = False

    def __init__(self, turn: Turn, args: Mapping[str, Any]) -> None:
        self.turn, self.args = turn, args
        for name in self.needs:
            if name not in args:
                raise ToolError(f"params must have required property '{name}'")
        self.path = self.absolute(args.get("file_path") or args.get("dir_path") or ".")
        self.told: dict[str, Any] = {"title": str(args[self.needs[0]]), "locations": []}

    def absolute(self, path: str) -> str:
        return os.path.realpath(os.path.join(self.turn.session.folder, path))

    @property
    def content(self) -> list[Any]:
        """What is shown before it runs."""
        return []

    def run(self) -> str:
        """What the model gets. Raises ToolError, Cancelled."""
        return "\n".join([f"Directory listing for {self.path}:", *sorted(os.listdir(self.path))])

    def shown(self, output: str) -> list[Any]:
        """What is shown of the output."""
        return self.content


class Glob(Tool):
    needs = ("pattern",)

    def run(self) -> str:
        return "\n".join(glob.glob(os.path.join(glob.escape(self.path), self.args["pattern"])))


class ReadFile(Tool):
    kind = "read"
    needs: tuple[str, ...] = ("file_path",)

    def __init__(self, turn: Turn, args: Mapping[str, Any]) -> None:
        super().__init__(turn, args)
        self.told["locations"] = [{"path": self.path}]

    def run(self) -> str:
        try:
            with open(self.path, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            raise ToolError(f"File not found: {self.path}") from None


class WriteFile(ReadFile):
    """Line ends are plain in what is shown and the file's own in what is written."""

    kind = "edit"
    needs: tuple[str, ...] = ("file_path", "content")
    asks = True

    def __init__(self, turn: Turn, args: Mapping[str, Any]) -> None:
        super().__init__(turn, args)
        self.told["title"] = self.title()
        old, new, _end = self.texts()
        self._diff = {"type": "diff", "path": self.path, "oldText": old, "newText": new}

    def title(self) -> str:
        return "Writing to " + os.path.relpath(self.path, self.turn.session.folder)

    def texts(self) -> tuple[str, str, str]:
        """The file as it is and as it is to be, and its line end."""
        old = self._old()
        end = "\r\n" if "\r\n" in old else "\n"
        old = old.replace("\r\n", "\n")
        return old, self.changed(old), end

    def _old(self) -> str:
        """Through the client where that offers to read."""
        session = self.turn.session
        if session.agent.reads and self.path.startswith(os.path.join(session.folder, "")):
            asked = {"path": self.path, "sessionId": session.id}
            answer = session.agent.ask("fs/read_text_file", asked)
            if "error" in answer and "ENOENT" not in str(answer["error"]):
                raise ToolError(f"Error checking existing file: {answer['error']}")
            return "" if "error" in answer else str(answer["result"]["content"])
        with suppress(FileNotFoundError), open(self.path, encoding="utf-8", newline="") as file:
            return file.read()
        return ""

    def changed(self, old: str) -> str:
        return str(self.args["content"]).replace("\r\n", "\n")

    @property
    def content(self) -> list[Any]:
        return [self._diff]

    def run(self) -> str:
        _old, new, end = self.texts()
        new = new.replace("\n", end)
        session = self.turn.session
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        if not self.path.startswith(os.path.join(session.folder, "")):
            with open(self.path, "w", encoding="utf-8", newline="") as file:
                file.write(new)
        else:
            written = {"path": self.path, "content": new, "sessionId": session.id}
            answer = session.agent.ask("fs/write_text_file", written)
            if "error" in answer:
                raise ToolError(f"Error writing to file: {answer['error']}")
        return f"Successfully created and wrote to new file: {self.path}."


class Replace(WriteFile):
    needs = ("file_path", "old_string", "new_string")

    def title(self) -> str:
        name = os.path.relpath(self.path, self.turn.session.folder)
        return f"{name}: {self.args['old_string']} => {self.args['new_string']}"

    def changed(self, old: str) -> str:
        return old.replace(self.args["old_string"], self.args["new_string"])


class Shell(Tool):
    """Each command has a group of its own, and ends with its turn."""

    kind, needs = "execute", ("command",)

    @property
    def asks(self) -> bool:  # type: ignore[override]
        return not LOOKS.fullmatch(self.args["command"])

    @property
    def content(self) -> list[Any]:
        folder = self.args.get("dir_path")
        note = f"[in {folder}]" if folder else f"[current working directory {os.getcwd()}]"
        purpose = self.args.get("description")
        return _text(note + (f" ({purpose})" if purpose else ""))

    def run(self) -> str:
        command = ("bash", "-c", self.args["command"])
        process = subprocess.Popen(
            command,
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.turn.stops.append(lambda: _kill(process.pid))
        self.turn.stop_if_cancelled()
        self._output = process.communicate()[0].decode("utf-8", "replace").strip()
        if self.turn.cancelled.is_set():
            raise Cancelled
        return f"Output: {self._output or '(empty)'}\nExit Code: {process.returncode}"

    def shown(self, output: str) -> list[Any]:
        return _text(self._output)


TOOLS: Mapping[str, type[Tool]] = {
    "list_directory": Tool,
    "glob": Glob,
    "read_file": ReadFile,
    "write_file": WriteFile,
    "replace": Replace,
    "run_shell_command": Shell,
}


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _text(text: str) -> list[Any]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


class Session:
    def __init__(self, agent: ScriptedAgent, id: str, folder: str) -> None:
        self.agent, self.id, self.folder = agent, id, folder
        self.model, self.mode = agent.model, "default"
        self.options: list[Any] = []
        self.contents: list[Any] = []
        self.recording = Recording(id, folder)
        self.turn: Turn | None = None

    def update(self, event: str, /, **more: Any) -> None:
        told = {"sessionId": self.id, "update": {"sessionUpdate": event, **more}}
        self.agent.send(method="session/update", params=told)

    def say(self, text: str, kind: str = "agent_message_chunk") -> None:
        self.update(kind, content={"type": "text", "text": text})

    def offers(self) -> Mapping[str, Any]:
        return {
            "modes": {"availableModes": MODES, "currentModeId": self.mode},
            "models": {"availableModels": MODELS, "currentModelId": self.model},
        }

    def tell_commands(self) -> None:
        offered = [{"name": name, "description": f"What {name} does."} for name in COMMANDS]
        self.update("available_commands_update", availableCommands=offered)

    def load(self, messages: list[Any]) -> None:
        """Take up what was said, and repeat it."""
        for message in messages:
            is_user = message["type"] == "user"
            if message["content"].strip():
                self.say(message["content"], f"{'user' if is_user else 'agent'}_message_chunk")
            calls = message.get("toolCalls", ())
            for call in calls:
                told = {"toolCallId": call["id"], "status": "completed", "title": call["name"]}
                self.update("tool_call", **told)
            said = [{"text": message["content"]}] if message["content"] else []
            called = [
                {"functionCall": {"name": call["name"], "args": call["args"]}} for call in calls
            ]
            role = "user" if is_user else "model"
            self.contents.append({"role": role, "parts": [*said, *called]})
            if calls:
                results = [part for call in calls for part in call["result"]]
                self.contents.append({"role": "user", "parts": results})


class Turn:
    """From a message to its last word. `stops` are called where it is cancelled."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.cancelled = threading.Event()
        self.model = Model(session.agent.key, session.model, self.cancelled)
        self.stops: list[Callable[[], None]] = [self.model.stop]
        # Those that wait for the answers to what the turn does not wait for.
        self._waiting: list[threading.Thread] = []

    def cancel(self) -> None:
        self.cancelled.set()
        self.stop_if_cancelled()

    def stop_if_cancelled(self) -> None:
        if self.cancelled.is_set():
            for stop in self.stops:
                stop()

    def run(self, blocks: list[Any]) -> Mapping[str, Any]:
        """The result of the prompt. Raises Failure."""
        said = str(blocks[0].get("text", ""))
        try:
            if said.startswith("/") and said[1:].strip() in COMMANDS:
                self.session.say(f"Version: {VERSION}")
            else:
                self._talk(blocks)
        except Cancelled:
            return {"stopReason": "cancelled"}
        given, got = self.model.tokens
        count = {"input_tokens": given, "output_tokens": got}
        by_model = [{"model": self.session.model, "token_count": count}] if got else []
        quota = {"token_count": count, "model_usage": by_model}
        return {"stopReason": "end_turn", "_meta": {"quota": quota}}

    def _talk(self, blocks: list[Any]) -> None:
        contents = self.session.contents
        contents.append({"role": "user", "parts": list(self._parts(blocks))})
        while True:
            parts = []
            for part in self.model.ask(contents):
                parts.append(part)
                self._say(part)
            contents.append(
                {"role": "model", "parts": [part for part in parts if "thought" not in part]}
            )
            calls = [part["functionCall"] for part in parts if "functionCall" in part]
            if not calls:
                for each in self._waiting:
                    each.join()
                return
            results = [self._call(call, at) for at, call in enumerate(calls)]
            contents.append({"role": "user", "parts": results})

    def _parts(self, blocks: list[Any]) -> Iterator[Mapping[str, Any]]:
        """The message as the model gets it. Beside files, images are dropped (11.67)."""
        has_files = any(block["type"] in ("resource", "resource_link") for block in blocks)
        for block in blocks:
            if block["type"] == "text":
                yield {"text": block["text"]}
            elif block["type"] == "resource_link":
                yield {"text": self._linked(block["uri"][len("file://") :])}
            elif block["type"] == "image" and not has_files:
                yield {"inlineData": {"mimeType": block["mimeType"], "data": block["data"]}}
            elif block["type"] == "resource":
                told = block["resource"]
                data = {"mimeType": told["mimeType"], "data": told.get("blob")}
                yield {"text": told["text"]} if "text" in told else {"inlineData": data}

    def _linked(self, path: str) -> str:
        if not os.path.realpath(path).startswith(os.path.join(self.session.folder, "")):
            asked = {
                "toolCallId": f"resolve-prompt-{path}-{uuid.uuid4()}",
                "status": "pending",
                "title": f"Allow access to absolute path: {path}",
                "content": _text(f"The Agent needs access to read an attached file: {path}"),
                "locations": [],
                "kind": "read",
            }
            if not self._may(asked, [ONCE, NO]):
                return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return f"Content from {path}:\n{file.read()}"

    def _say(self, part: Mapping[str, Any]) -> None:
        if "tells" in part:
            self._tell(part["tells"])
        elif "asks" in part:
            asked = {"sessionId": self.session.id, **part["asks"]}
            answer = self.session.agent.ask("elicitation/create", asked)
            self.session.say(json.dumps(answer.get("result", answer)))
        elif "wants" in part:
            wanting = threading.Thread(target=self._want, args=(part["wants"],), daemon=True)
            self._waiting.append(wanting)
            wanting.start()
        elif part.get("thought"):
            subject, _, rest = part["text"][2:].partition("**")
            self.session.say(f"**{subject}**\n{rest.strip()}", "agent_thought_chunk")
        elif "text" in part:
            self.session.say(part["text"])

    def _tell(self, told: dict[str, Any]) -> None:
        """What Gemini CLI never tells, and other agents do: an update as it stands in the
        protocol."""
        self.session.options = told.get("configOptions", self.session.options)
        self.session.update(told.pop("sessionUpdate"), **told)

    def _want(self, call: Mapping[str, Any]) -> None:
        """Ask for the user's word while the turn goes on, as Gemini CLI never does, and say what
        came of it. Nothing is run."""
        told = {"kind": "execute", "status": "pending", "content": [], **call}
        try:
            may = self._may(told)
        except Cancelled:
            self.session.say(f"{call['title']}: cancelled. ")
            return
        self.session.say(f"{call['title']}: {'allowed' if may else 'rejected'}. ")
        self.session.update("tool_call_update", **{**told, "status": "completed"})

    def _call(self, call: Mapping[str, Any], number: int) -> Mapping[str, Any]:
        """The result, for the model."""
        name, args = call["name"], call["args"]
        id = call.get("id") or f"{name}_{_now()}_{number}"
        told = {"toolCallId": f"{name}__{id}", "kind": "other"}
        try:
            response = {"output": self._run(name, args, told)}
        except ToolError as error:
            response = {"error": str(error)}
        result = {"functionResponse": {"id": id, "name": name, "response": response}}
        if "status" in told:
            # One that was not rejected.
            record = {"id": told["toolCallId"], "name": name, "args": args, "result": [result]}
            status = "error" if "error" in response else "success"
            self.session.recording.add({**record, "status": status})
            self.session.update("tool_call_update", **told)
        return result

    def _run(self, name: str, args: Mapping[str, Any], told: dict[str, Any]) -> str:
        """What came of it; `told` becomes what the protocol tells of that. Raises ToolError."""
        if name not in TOOLS:
            raise ToolError(f"Tool {name!r} not found.")
        try:
            told["kind"] = TOOLS[name].kind
            tool = TOOLS[name](self, args)
            told.update(tool.told)
            if not tool.asks or (tool.kind == "edit" and self.session.mode == "autoEdit"):
                begun = {**told, "status": "in_progress", "content": tool.content}
                self.session.update("tool_call", **begun)
            elif not self._may({**told, "status": "pending", "content": tool.content}):
                raise ToolError("[Operation Cancelled] Reason: User denied execution.")
            told["status"] = "completed"
            output = tool.run()
            told["content"] = tool.shown(output)
            return output
        except ToolError as error:
            if "status" in told or "title" not in told:
                told.update(status="failed", content=_text(str(error)))
            raise
        except Cancelled:
            told.update(status="completed", content=_text("Command cancelled by user."))
            self.session.update("tool_call_update", **told)
            raise

    def _may(self, call: Mapping[str, Any], options: Any = (ALWAYS, ONCE, NO)) -> bool:
        """Ask for the user's word. Raises Cancelled."""
        asked = {"sessionId": self.session.id, "options": options, "toolCall": call}
        outcome = self.session.agent.ask("session/request_permission", asked)["result"]["outcome"]
        if outcome["outcome"] == "cancelled":
            raise Cancelled
        return str(outcome["optionId"]).startswith("proceed")


class Login:
    """With Google by a code, CODE, which comes as a line; the second wrong one ends it (7)."""

    def __init__(self, agent: ScriptedAgent, id: int) -> None:
        self.is_over = False
        self._agent, self._id = agent, id
        self._wrong = 0
        self._show()

    def _show(self) -> None:
        print("https://accounts.google.com/o/oauth2/v2/auth?client_id=scripted", flush=True)

    def take(self, code: str) -> None:
        if code == CODE:
            self.is_over = True
            for path, told in (LOGIN, {}), (ACCOUNTS, {"active": EMAIL}):
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(told, file)
            self._agent.send(id=self._id, result={})
            return
        self._wrong += 1
        self.is_over = self._wrong == 2
        if self.is_over:
            error = {"code": -32000, "message": "Failed to authenticate with user code."}
            self._agent.send(id=self._id, error=error)
        else:
            _log("Failed to authenticate with authorization code: invalid_grant")
            self._show()


class ScriptedAgent:
    """Each prompt is answered by a thread of its own, for its questions come back as lines."""

    def __init__(self, model: str) -> None:
        self.model, self.key = model, ""
        self._login: Login | None = None
        self._writing = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._ids = itertools.count()
        self._answers: dict[int, queue.Queue[Mapping[str, Any]]] = {}

    def run(self) -> None:
        for line in sys.stdin:
            if self._login is not None and not self._login.is_over:
                self._login.take(line.strip())
                continue
            message = json.loads(line)
            params = message.get("params", {})
            if "method" not in message:
                self._answers[message["id"]].put(message)
            elif message["method"] == "session/cancel":
                turn = self._sessions[params["sessionId"]].turn
                if turn is not None:
                    turn.cancel()
            elif message["method"] == "session/prompt":
                self._begin(message["id"], params)
            else:
                self._answer(message["id"], message["method"], params)

    def send(self, **message: Any) -> None:
        with self._writing:
            # As the CLI begins its lines.
            print(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")), flush=True)

    def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        id = next(self._ids)
        self._answers[id] = queue.Queue()
        self.send(id=id, method=method, params=params)
        return self._answers[id].get()

    def _begin(self, id: int, params: Mapping[str, Any]) -> None:
        session = self._sessions[params["sessionId"]]
        turn = session.turn = Turn(session)

        def work() -> None:
            try:
                self.send(id=id, result=turn.run(params["prompt"]))
            except Failure as failure:
                self.send(id=id, error={"code": failure.code, "message": str(failure)})
            except BaseException:
                # A bug of ours: nobody waits for the end of a turn that has none.
                traceback.print_exc()
                os._exit(1)

        threading.Thread(target=work, daemon=True).start()

    def _answer(self, id: int, method: str, params: Mapping[str, Any]) -> None:
        work = getattr(self, "_do_" + method.replace("/", "_"), None)
        if work is None:
            self.send(id=id, error={"code": -32601, "message": "Method not found"})
            return
        try:
            after = work(id, params)
        except Failure as failure:
            self.send(id=id, error={"code": failure.code, "message": str(failure)})
            return
        if after is None:
            self.send(id=id, result={})

    def _do_initialize(self, id: int, params: Mapping[str, Any]) -> bool:
        capabilities = {
            "loadSession": True,
            "promptCapabilities": {"image": True, "embeddedContext": True},
            "mcpCapabilities": {"http": True},
        }
        offered = params.get("clientCapabilities", {}).get("fs", {})
        self.reads = offered.get("readTextFile") is True
        info = {"name": "scripted", "version": VERSION}
        told = {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": capabilities}
        self.send(id=id, result=told)
        return True

    def _do_authenticate(self, id: int, params: Mapping[str, Any]) -> bool | None:
        if params["methodId"] == "oauth-personal" and not os.path.exists(LOGIN):
            self._login = Login(self, id)
            return True
        self.key = params.get("_meta", {}).get("api-key") or os.environ.get("GOOGLE_API_KEY", "")
        return None

    def _do_session_set_mode(self, id: int, params: Mapping[str, Any]) -> None:
        mode, session = params["modeId"], self._sessions[params["sessionId"]]
        if mode in ("autoEdit", "yolo") and "GEMINI_CLI_TRUST_WORKSPACE" not in os.environ:
            raise Failure(-32603, "Cannot enable privileged approval modes in an untrusted folder.")
        session.mode = mode
        session.say(f"[MODE_UPDATE] {mode}\n")

    def _do_session_set_config_option(self, id: int, params: Mapping[str, Any]) -> bool:
        options = self._sessions[params["sessionId"]].options
        for each in options:
            if each["id"] == params["configId"]:
                each["currentValue"] = params["value"]
        self.send(id=id, result={"configOptions": options})
        return True

    def _do_session_set_model(self, id: int, params: Mapping[str, Any]) -> None:
        self._sessions[params["sessionId"]].model = params["modelId"]

    def _do_session_new(self, id: int, params: Mapping[str, Any]) -> bool:
        session = self._open(str(uuid.uuid4()), params["cwd"])
        self.send(id=id, result={"sessionId": session.id, **session.offers()})
        session.tell_commands()
        return True

    def _do_session_load(self, id: int, params: Mapping[str, Any]) -> bool:
        session = self._open(params["sessionId"], params["cwd"])
        messages = session.recording.read()
        self.send(id=id, result=session.offers())
        session.tell_commands()
        session.load(messages)
        return True

    def _open(self, id: str, folder: str) -> Session:
        session = self._sessions[id] = Session(self, id, folder)
        return session


if __name__ == "__main__":
    at = sys.argv.index("--model") + 1 if "--model" in sys.argv else 0
    ScriptedAgent(sys.argv[at] if at else "auto").run()
