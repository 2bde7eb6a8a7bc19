"""The API's server as an editor holds it: one thread and the way onto it; knows no editor.

Every method of `Service` may be called from any thread and does not block (but for `quit`, for a
moment). What is handed over is frozen.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, Mapping, Sequence

from ..agent import cli
from ..agent.auth import from_environment
from ..agent.failure import AgentError
from ..agent.runner import Launch
from ..base import import_errors
from ..base.log import logger
from ..base.private_files import NotPrivate

if TYPE_CHECKING:
    from .server import Server

# Seconds for which an editor that quits waits for the commands of a turn to be ended.
QUITTING = 1.0
NO_NODE = (
    "Gemini CLI needs Node.js 20 or newer, which was not found. Install it, restart Sublime Text"
    " and start the server again."
)
NO_CLI = (
    'Gemini CLI was not found as "{}". Install it with "npm install -g @google/gemini-cli", or'
    ' write its full path as "cli_command" in the settings.'
)
NO_FOLDER = "{} is no folder any more. Open the folder of your project and start the server again."
NO_PORT = (
    'Port {} cannot be had: {}. End the program that has it, or choose another as "api_port" in the'
    " settings."
)
NO_STATE = "{} cannot be used: {}. Set that right and start the server again."
STOPPED = (
    'The API server stopped working; run "Gemini Companion: Show Log" from the command palette to'
    ' see why, and "Gemini Companion: Start API Server" to go on.'
)


class Refused(Exception):
    """The server cannot be started as it was wanted; the text is a sentence for the user."""


@dataclass(frozen=True)
class Wish:
    """What is to be served. `folder` keeps token and credentials; `roots` are absolute paths, the
    first of them the workspace; `port` 0 means any. `command` are the words that start the CLI in a
    terminal. `page` gives the web page's files by name, on the service's thread."""

    folder: str
    roots: Sequence[str]
    port: int
    command: Sequence[str]
    page: Callable[[], Mapping[str, bytes]]


@dataclass(frozen=True)
class Serving:
    """A server that listens. Whoever has the token can use it: not for the log."""

    url: str
    token: str
    token_file: str
    workspace: str


class Service:
    """One server, started once. `serving` is what it listens at, None before and after; `problem`
    why it ended by itself, a sentence for the user. Both are replaced and never changed."""

    def __init__(self, wish: Wish, told: Callable[[], None]) -> None:
        """`told` is called on the thread of the service, once it listens and once it has ended."""
        self.serving: Serving | None = None
        self.problem = ""
        self._wish = wish
        self._told = told
        self._thread = threading.Thread(target=self._run, name="GeminiCompanion API", daemon=True)
        self._is_over = self._is_quitting = False
        # Who stops clears the first and then looks for the second; the loop sets the second and
        # then looks at the first: so no stop is missed, and nobody needs a lock.
        self._is_wanted = True
        self._wake: Callable[[], None] | None = None
        self._server: Server | None = None

    def start(self) -> None:
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """From the start until everything has ended."""
        return self._thread.ident is not None and not self._is_over

    @property
    def is_stopping(self) -> bool:
        return self.is_running and not self._is_wanted

    def stop(self) -> None:
        """End turns, CLI, sockets and thread, within about eight seconds."""
        self._is_wanted = False
        wake = self._wake
        if wake is not None:
            # The loop may close in this very moment.
            with suppress(RuntimeError):
                wake()

    def quit(self) -> None:
        """The same where the process is about to end, and nobody can be told any more: turns get a
        moment, and the CLI none."""
        server = self._server
        pid = server.agent.info().pid if server is not None else None
        self._told = _nobody
        self._is_quitting = True
        self.stop()
        if self._thread.is_alive():
            self._thread.join(QUITTING)
        _kill(pid)

    def _run(self) -> None:
        """The boundary of the thread: what gets here and is no refusal is our bug."""
        try:
            asyncio.run(self._serve())
        except (Refused, NotPrivate) as error:
            self._end(str(error))
        except Exception as error:
            self._end(import_errors.sentence(error) or STOPPED, error)
        finally:
            self.serving = self._server = self._wake = None
            self._is_over = True
            self._told()

    def _end(self, problem: str, error: Exception | None = None) -> None:
        self.problem = problem
        if problem == STOPPED:
            logger.error("the API server failed", exc_info=error)
        else:
            logger.warning("%s", problem)

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        unwanted = asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(unwanted.set)

        self._wake = wake
        if not self._is_wanted:
            return
        server = await self._started()
        self._server = server
        try:
            workspace = self._wish.roots[0]
            self.serving = Serving(server.url, server.token, server.token_file, workspace)
            logger.info("the API server listens at %s, for %s", server.url, workspace)
            self._told()
            await unwanted.wait()
        finally:
            self.serving = None
            if self._is_quitting:
                await server.agent.end_turns()
                _kill(server.agent.info().pid)
            await server.stop()
            logger.info("the API server has ended")

    async def _started(self) -> Server:
        """Raises Refused, NotPrivate, ImportError."""
        # Here, and not at the top: it brings in aiohttp, whose import would hold up the editor's
        # thread for as long as some keystrokes take.
        from .server import Server, Settings, options
        from .website import TYPES

        wish = self._wish
        if not os.path.isdir(wish.roots[0]):
            raise Refused(NO_FOLDER.format(wish.roots[0]))
        roots = [os.path.realpath(root) for root in wish.roots if os.path.isdir(root)]
        launch = Launch(find(wish.command))
        agent = options(wish.folder, launch, fallback=from_environment(os.environ))
        page = {name: it for name, it in wish.page().items() if os.path.splitext(name)[1] in TYPES}
        server = Server(Settings(agent, roots, wish.port, page=page), wish.folder)
        try:
            await server.start()
        except OSError as error:
            # What a socket cannot do has no file's name with it.
            if error.filename is None:
                raise Refused(NO_PORT.format(wish.port, error.strerror)) from error
            raise Refused(NO_STATE.format(error.filename, error.strerror)) from error
        return server


def find(command: Sequence[str]) -> tuple[str, ...]:
    """Node and the CLI's program, by the words that start it in a terminal; its options do not
    count. Raises Refused."""
    if shutil.which("node") is None:
        raise Refused(NO_NODE)
    for word in command:
        path = shutil.which(word) or word
        # Anything else would be looked for in a current directory that is nobody's.
        if os.path.isabs(path):
            with suppress(AgentError):
                return cli.find(path)
    raise Refused(NO_CLI.format(" ".join(command)))


def _kill(pid: int | None) -> None:
    """End the group of the CLI at once. On Windows it ends with its input, and so with us."""
    if pid is not None and sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def _nobody() -> None:
    """Is told when the editor is gone."""
