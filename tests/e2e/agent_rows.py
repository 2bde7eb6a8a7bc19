"""The agents of the matrices and of test_agent_contract, one row each: how it is started against a
model of this machine, what its tools are called, and what it does in its own way.

A row's model is asked and answered by its own API. Nothing of a row reaches further than this
machine: what does not go to the model goes to a proxy, which lets nothing through.
"""

from __future__ import annotations

import json
import os
import socket
import socketserver
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Mapping, Sequence

from agent_case import HERE, KEY
from agent_case import MODEL as GEMINI_MODEL
from any_model_server import MODEL as ANY_MODEL
from any_model_server import TOKENS, AnyModelServer
from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent.credentials import ANTHROPIC, OPENAI, Credentials
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.agent.supported import CLIS
from model_server import ModelServer, call, serve

# A model of which Codex knows what tools it is to get.
CODEX_MODEL = "gpt-6.1-sol"
# What makes Qwen Code offer its tool for plans, and do without a program that npm would have to
# unpack.
QWEN_SETTINGS = {"tools": {"useRipgrep": False, "todoWrite": {"enabled": True}}}
# The agents that need a newer Node than the one in PATH may be, and that one.
NEWEST = os.path.join(HERE, "newest_agents")
NODE = os.path.join(HERE, "node_modules", ".bin", "node")
# What makes the newest Claude Code offer its tools for plans.
WITH_TASKS = {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}
# An image of one pixel.
DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
Call = Mapping[str, Any]


def task(kind: str, words: str) -> dict[str, str]:
    return {"subagent_type": kind, "description": "Look around", "prompt": words}


class Proxy(socketserver.ThreadingTCPServer):
    """Keeps whom it was asked for, and connects nobody."""

    daemon_threads = True

    def __init__(self) -> None:
        self.hosts: list[str] = []
        super().__init__(("127.0.0.1", 0), self._answer)
        serve(self)

    def _answer(self, connection: socket.socket, *_given: Any) -> None:
        words = connection.recv(4096).split()
        self.hosts.extend(word.decode("latin-1") for word in words[1:2])

    @property
    def variables(self) -> Mapping[str, str]:
        names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
        url = f"http://127.0.0.1:{self.server_address[1]}"
        own = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1")
        return {**dict.fromkeys(names, url), **own}


@dataclass(frozen=True)
class Agent:
    """`id` is its name in options, `folder` has its package below node_modules. `settings` and
    `variables` are its own. `key` is what it is given for the model at a URL. `write`, `edit`,
    `run` and `plan` are calls of its tools: a file with a text; one text in the place of another,
    after a call that reads the file; a command that it asks about; and a plan with one step.
    `unasking` is a mode in which it writes unasked. `tokens` are what the model counts for each
    request, `asks` the begin of the only hosts that it asks for beside the model. Whether it
    `sees_skills` of the user, and `tells_output` of a command while that runs. `asks_editor` is a
    call of the editor's tool `open_files`, where the agent has it in a folder that is not trusted.
    `mode` is the one in which its conversations begin, and `writes_as` what its calls that write
    are named by it. Whether its model `reads_tabs`, with what is not saved; it
    `begins_before_it_asks`, as it tells its calls; it `tells_pieces` of a file for an edit, not all
    of it; and it `keeps_commands` that last longer until it ends itself. Whether a session
    `takes_folders` beside its own, whether a fork of it `remembers_in_fork`, and whether its turn
    is `steered` by messages. `look` is a call that reads an image for the model, which
    a chat `shows` so (a pattern), `delegate` one that has a subagent do what some words say. A
    subagent of it can be stopped alone (`stops_subagents`). It is asked for the
    `protocol_version`."""

    id: str
    key: Callable[[str], Credentials]
    write: Callable[[str, str], Call]
    edit: Callable[[str, str, str], Sequence[Call]]
    run: Callable[[str], Call]
    plan: Call
    folder: str = os.path.join(HERE, "agents")
    settings: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    unasking: str = ""
    asks: str = ""
    sees_skills: bool = False
    tells_output: bool = False
    asks_editor: Call | None = None
    mode: str = "default"
    writes_as: str = "write_file"
    reads_tabs: bool = False
    begins_before_it_asks: bool = False
    tells_pieces: bool = False
    keeps_commands: bool = False
    takes_folders: bool = False
    remembers_in_fork: bool = True
    steered: bool = False
    shows: str = ""
    look: Callable[[str], Call] = lambda path: call("read_file", file_path=path)
    delegate: Callable[[str], Call] = lambda words: call("task", **task("general", words))
    stops_subagents: bool = False
    protocol_version: int = 1
    server: Callable[[], Any] = AnyModelServer
    tokens: tuple[int, int] = TOKENS

    @property
    def name(self) -> str:
        return CLIS[self.id].program.name

    @property
    def version(self) -> str:
        """The one that its folder names."""
        with open(os.path.join(self.folder, "package.json"), encoding="utf-8") as file:
            return str(json.load(file)["dependencies"][CLIS[self.id].program.package])

    @property
    def setup(self) -> str:
        """What installs it."""
        if self.folder == NEWEST:
            return "make setup-node setup-agents"
        return "make setup" if self.folder == HERE else "make setup-agents"

    def login(self, url: str) -> dict[str, str]:
        """The key as the API takes it."""
        key = self.key(url)
        told = {"apiKey": key.api_key, "baseUrl": key.base_url, "model": key.model}
        given = {name: value for name, value in told.items() if value}
        return {"agent": self.id, "authType": key.kind, **given}

    def command(self) -> tuple[str, ...]:
        """Raises AgentError where it is not installed."""
        found = CLIS[self.id].program.find_command(self.folder)
        if self.folder != NEWEST:
            return found
        if not os.path.exists(NODE):
            raise AgentError(failure.CLIENT_NOT_INITIALIZED, "Node 22 is not installed.")
        return (NODE, *found[1:])

    def launch(self, url: str, proxy: Mapping[str, str], command: tuple[str, ...] = ()) -> Launch:
        """`proxy` are the variables for it; `command` is its own where none is given. Raises
        AgentError where it is not installed."""
        variables = {**proxy, **self.variables}
        if self.server is ModelServer:
            variables["GOOGLE_GEMINI_BASE_URL"] = url
        return Launch(
            command or self.command(),
            variables,
            self.settings,
            self.model,
            agent=self.id,
            fallback=self.key(url),
            protocol_version=self.protocol_version,
        )


def openai(url: str, model: str = ANY_MODEL) -> Credentials:
    return Credentials(OPENAI, "a-key", base_url=url + "/v1", model=model)


def patch(path: str, text: str) -> Call:
    """Codex writes with a program of its model's."""
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    change = f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"
    return in_code("apply_patch", change)


def update(path: str, old: str, new: str) -> Sequence[Call]:
    change = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n"
    return [in_code("apply_patch", change)]


def outside_of_sandbox(line: str) -> Call:
    """Codex asks about no other commands: they can change nothing."""
    asked = {"sandbox_permissions": "require_escalated", "justification": "It writes."}
    return in_code("exec_command", {"cmd": line, **asked})


def in_code(tool: str, given: Any) -> Call:
    return call("exec", input=f"text(await tools.{tool}({json.dumps(given)}))")


STEP = "first step"
ROWS = (
    Agent(
        "gemini",
        lambda url: KEY,
        lambda path, text: call("write_file", file_path=path, content=text),
        lambda path, old, new: (
            call("read_file", file_path=path),
            call("replace", file_path=path, instruction="", old_string=old, new_string=new),
        ),
        lambda line: call("run_shell_command", command=line),
        call("write_todos", todos=[{"description": STEP, "status": "pending"}]),
        folder=HERE,
        model=GEMINI_MODEL,
        server=ModelServer,
        tokens=(1, 1),
        delegate=lambda words: call("invoke_agent", agent_name="generalist", prompt=words),
    ),
    Agent(
        "qwen",
        openai,
        lambda path, text: call("write_file", file_path=path, content=text),
        lambda path, old, new: (
            call("read_file", file_path=path),
            call("edit", file_path=path, old_string=old, new_string=new),
        ),
        lambda line: call("run_shell_command", command=line, is_background=False),
        call("todo_write", todos=[{"id": "1", "content": STEP, "status": "pending"}]),
        folder=HERE,
        settings=QWEN_SETTINGS,
        sees_skills=True,
        reads_tabs=True,
        remembers_in_fork=False,
        delegate=lambda words: call(
            "agent", **task("general-purpose", words), run_in_background=False
        ),
    ),
    Agent(
        "claude",
        lambda url: Credentials(ANTHROPIC, "a-key", base_url=url),
        lambda path, text: call("Write", file_path=path, content=text),
        lambda path, old, new: (
            call("Read", file_path=path),
            call("Edit", file_path=path, old_string=old, new_string=new),
        ),
        lambda line: call("Bash", command=line, description="Run it"),
        call("TaskCreate", subject=STEP, description=STEP),
        unasking="acceptEdits",
        writes_as="Write",
        tells_pieces=True,
        takes_folders=True,
        look=lambda path: call("Read", file_path=path),
        shows="image  1 × 1, 70 bytes",
        delegate=lambda words: call(
            "Task", **task("general-purpose", words), run_in_background=False
        ),
    ),
    Agent(
        "opencode",
        openai,
        lambda path, text: call("write", filePath=path, content=text),
        lambda path, old, new: (
            call("read", filePath=path),
            call("edit", filePath=path, oldString=old, newString=new),
        ),
        lambda line: call("bash", command=line, description="Run it"),
        call("todowrite", todos=[{"content": STEP, "status": "pending", "priority": "high"}]),
        asks="registry.",
        mode="build",
        writes_as="edit",
        begins_before_it_asks=True,
        tells_output=True,
        asks_editor=call("editor_open_files"),
        look=lambda path: call("read", filePath=path),
        shows="image  1 × 1, 70 bytes",
    ),
    Agent(
        "codex",
        lambda url: openai(url, CODEX_MODEL),
        patch,
        update,
        outside_of_sandbox,
        in_code("update_plan", {"plan": [{"step": STEP, "status": "pending"}]}),
        unasking="agent",
        mode="read-only",
        writes_as="edit",
        begins_before_it_asks=True,
        sees_skills=True,
        keeps_commands=True,
        takes_folders=True,
        look=lambda path: in_code("view_image", {"path": path}),
        shows=r"/.*/dot\.png",
        delegate=lambda words: call("spawn_agent", task_name="look", message=words),
        steered=True,
        asks_editor=in_code("mcp__editor__open_files", {}),
    ),
)
AGENTS = {row.id: row for row in ROWS}
# The same in its newest version.
NEWEST_CLAUDE = replace(
    AGENTS["claude"], folder=NEWEST, variables=WITH_TASKS, steered=True, stops_subagents=True
)
# In version 2 of the protocol. Claude Code takes no messages into a turn then.
CLAUDE_IN_2 = replace(NEWEST_CLAUDE, protocol_version=2, steered=False)
CODEX_IN_2 = replace(AGENTS["codex"], protocol_version=2)
