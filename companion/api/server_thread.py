"""The API's server in an editor, on a thread of its own. Knows no editor.

Every method of `Service` may be called from any thread and does not block (`quit` blocks for a
moment). The values it gives are frozen.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Callable, Mapping, Sequence

from ..agent.agents.gemini_cli import GeminiCli
from ..agent.processes.runner import Launch
from ..agent.wording.failure import AgentError
from ..base.child_processes import end_tree
from ..base.log import logger
from ..base.loop_thread import LoopThread, State
from ..base.private_files import NotPrivate
from . import state_folder
from .launches import launch_of

if TYPE_CHECKING:
    from .server import Server

# When the editor quits, it waits at most this many seconds until the commands of turns have ended.
QUITTING = 1.0
NO_NODE = (
    "Gemini CLI needs Node.js 20 or newer, which was not found. Install it, restart Sublime Text"
    " and start the server again."
)
NO_CLI = (
    'Gemini CLI was not found as "{}". Install it with "npm install -g @google/gemini-cli", or'
    ' write its full path as "cli_command" in the settings.'
)
NO_AGENT = '{} Install it, or change "{}" in "api_agents" in the settings.'
NO_FOLDER = "{} no longer exists. Open the folder of your project and start the server again."
NO_PORT = (
    'Port {} cannot be used: {}. End the program that uses it, or set another "api_port" in the'
    " settings."
)
NO_STATE = "{} cannot be used: {}. Fix that and start the server again."
STOPPED = (
    'The API server stopped working; run "Gemini Companion: Show Log" from the command palette to'
    ' see why, and "Gemini Companion: Start API Server" to start it again.'
)


class Refused(Exception):
    """The server cannot start with these options; the text is a sentence for the user."""


@dataclass(frozen=True)
class ServiceOptions:
    """What to serve. `folder` keeps token and credentials; `roots` are absolute paths, the first
    one is the workspace; `port` 0 means any. `command` has the words that start the CLI in a
    terminal. `agents` are ids or commands of what to offer, the first one is the usual one; without
    any, that is the CLI of `command`. `page` is called on the service's thread, and gives the web
    page's files by name."""

    folder: str
    roots: Sequence[str]
    port: int
    command: Sequence[str]
    page: Callable[[], Mapping[str, bytes]]
    agents: Sequence[str] = ()


@dataclass(frozen=True)
class Serving:
    """A server that listens. Whoever has the token can use the server, so never log it."""

    url: str
    token: str
    token_file: str
    workspace: str


class Ending(Enum):
    """How a server ends: STOP waits until everything has ended. QUIT comes before the end of the
    whole process: turns get a moment, and the CLI is killed."""

    STOP = "stop"
    QUIT = "quit"


class Service:
    """One server, started once. `serving` says where it listens, None before and after; `problem`
    says why it ended by itself, as a sentence for the user. Both are replaced, never changed."""

    def __init__(self, options: ServiceOptions, told: Callable[[], None]) -> None:
        """`told` is called on the service's thread when the server listens, and when it has
        ended."""
        self.serving: Serving | None = None
        self._options = options
        self._told = told
        self._refusal = ""
        self._server: Server | None = None
        self._thread: LoopThread[asyncio.Future[Ending]] = LoopThread(
            "GeminiCompanion API", self._serve, STOPPED, self._over
        )

    def start(self) -> None:
        self._thread.start()

    @property
    def problem(self) -> str:
        return self._refusal or self._thread.problem

    @property
    def is_running(self) -> bool:
        """True from the start until everything has ended."""
        return State.RUNNING <= self._thread.state < State.OVER

    @property
    def is_stopping(self) -> bool:
        return self._thread.state is State.STOPPING

    def stop(self) -> None:
        """End turns, CLI, sockets and thread, within about eight seconds."""
        self._end(Ending.STOP)

    def quit(self) -> None:
        """The same before the end of the process, when nobody can be told any more: turns get a
        moment, and the CLI is killed."""
        server = self._server
        pids = _pids(server) if server is not None else []
        self._told = _nobody
        self._end(Ending.QUIT, QUITTING)
        _kill(pids)

    def _end(self, how: Ending, join: float = 0.0) -> None:
        self._thread.stop(lambda end: None if end.done() else end.set_result(how), join)

    def _over(self) -> None:
        self.serving = self._server = None
        self._told()

    async def _serve(self, ready: Callable[[asyncio.Future[Ending]], None]) -> None:
        end: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        ready(end)
        if end.done():
            return
        try:
            server = await self._started()
        except (Refused, NotPrivate) as error:
            self._refusal = str(error)
            logger.warning("%s", error)
            return
        self._server = server
        try:
            workspace = self._options.roots[0]
            self.serving = Serving(server.url, server.token, server.token_file, workspace)
            logger.info("the API server listens at %s, for %s", server.url, workspace)
            self._told()
            if await end is Ending.QUIT:
                await server.agent.turns.end()
                _kill(_pids(server))
        finally:
            self.serving = None
            await server.stop()
            logger.info("the API server has ended")

    async def _started(self) -> Server:
        """Raises Refused, NotPrivate, ImportError."""
        # Imported here because aiohttp's import would block the editor's thread for as long as some
        # keystrokes take.
        from .files.page_files import TYPES
        from .server import Server, Settings, options

        wanted = self._options
        if not os.path.isdir(wanted.roots[0]):
            raise Refused(NO_FOLDER.format(wanted.roots[0]))
        roots = [os.path.realpath(root) for root in wanted.roots if os.path.isdir(root)]
        launch, *others = launches(wanted)
        cache = state_folder.index_folder(os.environ, wanted.folder, roots)
        agent = options(wanted.folder, launch, others=tuple(others), cache=cache)
        page = {
            name: it for name, it in wanted.page().items() if os.path.splitext(name)[1] in TYPES
        }
        server = Server(Settings(agent, roots, wanted.port, page=page), wanted.folder)
        try:
            await server.start()
        except OSError as error:
            # An error of a socket names no file.
            if error.filename is None:
                raise Refused(NO_PORT.format(wanted.port, error.strerror)) from error
            raise Refused(NO_STATE.format(error.filename, error.strerror)) from error
        return server


def launches(wanted: ServiceOptions) -> list[Launch]:
    """How the CLIs are started. Raises Refused."""
    usual = [GeminiCli.id]
    found = []
    for named in dict.fromkeys(wanted.agents or usual):
        if named == GeminiCli.id:
            command = find(wanted.command)
            found.append(Launch(command, fallback=GeminiCli.from_environment(os.environ)))
            continue
        try:
            found.append(launch_of(named))
        except AgentError as error:
            raise Refused(NO_AGENT.format(error, named)) from error
    return found


def find(command: Sequence[str]) -> tuple[str, ...]:
    """The paths of Node and of the CLI's program, found by the words that start it in a terminal;
    options among the words are ignored. Raises Refused."""
    if shutil.which("node") is None:
        raise Refused(NO_NODE)
    for word in command:
        path = shutil.which(word) or word
        # A relative path would be looked up in the current directory, which nobody chose.
        if os.path.isabs(path):
            with suppress(AgentError):
                return GeminiCli.program.find(path)
    raise Refused(NO_CLI.format(" ".join(command)))


def _pids(server: Server) -> list[int]:
    return [process.pid for process in server.agent.backends.processes]


def _kill(pids: Sequence[int]) -> None:
    """Kill the CLI and the commands of its turns. On Windows the CLI ends when its input closes, as
    this process ends; a CLI that hangs stays."""
    if sys.platform != "win32":
        end_tree(*pids)


def _nobody() -> None:
    """Takes the place of `told` when the editor is gone."""
