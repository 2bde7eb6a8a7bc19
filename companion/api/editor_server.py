"""The API's server on the engine of an editor. Knows no editor.

Every method of `Service` may be called from any thread and does not block. The values it gives are
frozen.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, Mapping, Sequence

from ..agent.agent import Agent, Launch, Options
from ..agent.engine import NO_STATE, Engine, Unavailable, User
from ..agent.failure import AgentError
from ..agent.open_files import NO_EDITOR, OpenFiles
from ..base.background import in_thread
from ..base.log import logger
from ..base.private_files import NotPrivate
from . import state_folder

if TYPE_CHECKING:
    from .server import Server

NO_FOLDER = "{} no longer exists. Open the folder of your project and start the server again."
NO_PORT = (
    'Port {} cannot be used: {}. End the program that uses it, or set another "api_port" in the'
    " settings."
)
STOPPED = (
    'The API server stopped working; run "Gemini Companion: Show Log" from the command palette to'
    ' see why, and "Gemini Companion: Start API Server" to start it again.'
)


@dataclass(frozen=True)
class ServiceOptions:
    """What to serve. `folder` keeps the token; it is that of the engine's agent. `roots` are
    absolute paths, the first one is the workspace; `port` 0 means any. `page` is called on the
    engine's thread, and gives the web page's files by name. The server `shows_chats` if its clients
    may know of the conversations of the editor's chat."""

    folder: str
    roots: Sequence[str]
    port: int
    page: Callable[[], Mapping[str, bytes]]
    shows_chats: bool = False


@dataclass(frozen=True)
class Serving:
    """A server that listens. Whoever has the token can use the server, so never log it."""

    url: str
    token: str
    token_file: str
    workspace: str


class Service(User):
    """One server, started once. `serving` says where it listens, None before and after; `problem`
    says why it ended by itself, as a sentence for the user. Both are replaced, never changed."""

    sorry = STOPPED

    def __init__(
        self, engine: Engine, options: ServiceOptions, on_change: Callable[[], None]
    ) -> None:
        """`on_change` is called on the engine's thread when the server listens, and when it has
        ended."""
        self.serving: Serving | None = None
        self.problem = ""
        self._engine = engine
        self._options = options
        self._on_change = on_change
        # Each is set once, by one thread.
        self._is_started = self._is_stopping = self._is_over = False
        # Belongs to the engine's loop.
        self._stopping: asyncio.Event | None = None

    def start(self) -> None:
        self._is_started = True
        self._engine.add_user(self)

    @property
    def is_running(self) -> bool:
        """True from the start until everything has ended."""
        return self._is_started and not self._is_over

    @property
    def is_stopping(self) -> bool:
        return self._is_stopping and self.is_running

    def stop(self) -> None:
        """End the turns of its clients, and its sockets, within about eight seconds."""
        self._is_stopping = True
        self._engine.post_call(self._wake_server)

    async def use_agent(self, agent: Agent) -> None:
        self._stopping = asyncio.Event()
        if self._is_stopping:
            return
        server = await self._start_server(agent)
        try:
            workspace = self._options.roots[0]
            self.serving = Serving(server.url, server.token, server.token_file, workspace)
            logger.info("the API server listens at %s, for %s", server.url, workspace)
            self._on_change()
            await self._stopping.wait()
        finally:
            self.serving = None
            await server.stop()
            logger.info("the API server has ended")

    def report_end(self, problem: str) -> None:
        self.problem = problem
        self._is_over = True
        self._on_change()

    def _wake_server(self) -> None:
        if self._stopping is not None:
            self._stopping.set()

    async def _start_server(self, agent: Agent) -> Server:
        """Raises Unavailable, ImportError."""
        # Imported here because aiohttp's import would block the editor's thread for as long as some
        # keystrokes take.
        from .files.page_files import TYPES
        from .server import Server, ServerSettings

        wanted = self._options
        if not os.path.isdir(wanted.roots[0]):
            raise Unavailable(NO_FOLDER.format(wanted.roots[0]))
        roots = [os.path.realpath(root) for root in wanted.roots if os.path.isdir(root)]
        page = {
            name: content
            for name, content in wanted.page().items()
            if os.path.splitext(name)[1] in TYPES
        }
        settings = ServerSettings(
            agent, roots, wanted.port, page=page, shows_chats=wanted.shows_chats
        )
        server = Server(settings, wanted.folder)
        try:
            # A client that names no agent means this one.
            await in_thread(agent.backends[None].launch.find_command)
            await server.start()
        except (AgentError, NotPrivate) as error:
            raise Unavailable(str(error)) from error
        except OSError as error:
            # An error of a socket names no file.
            if error.filename is None:
                raise Unavailable(NO_PORT.format(wanted.port, error.strerror)) from error
            raise Unavailable(NO_STATE.format(error.filename, error.strerror)) from error
        return server


def engine_options(
    folder: str,
    launches: Sequence[Launch],
    trusted: Sequence[str] = (),
    open_files: OpenFiles = NO_EDITOR,
) -> Options:
    """The options of an editor's agent, which has the state of `python -m companion.api`: token and
    login stay the same for the user's other programs, whoever starts the server. `trusted`
    are absolute paths of folders, `open_files` those of the editor. The limits of time are for
    turns of the API's clients that no tab shows. Raises OSError, NotPrivate."""
    state_folder.prepare_folder(folder)
    launch, *others = launches
    cache = state_folder.index_folder(os.environ, folder, ())
    more = {"cache": cache, "trusted_folders": tuple(trusted), "open_files": open_files}
    return state_folder.agent_options(folder, launch, others=tuple(others), **more)
