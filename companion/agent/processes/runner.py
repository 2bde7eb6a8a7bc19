"""One process of the agent: started when it is needed, authenticated, watched, ended."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Callable, Mapping

from ...base import private_files
from ...base.background import in_thread
from ...base.log import logger
from ..acp import protocol_version
from ..acp.acp_client import AcpClient, Listener, LogIn, take_log_line
from ..acp.process import AgentProcess
from ..acp.protocol_version import Offers
from ..agents.cli import AgentCli
from ..agents.program import FoundCommand
from ..credentials import GOOGLE, OWN, Credentials, home_of
from ..failure import (
    ACCESS_DENIED,
    AUTH_CONFIG_FAILED,
    AUTH_REQUIRED,
    CLIENT_NOT_INITIALIZED,
    STREAM_ERROR,
    AgentError,
    is_refused_login,
)
from ..sentence import Words, sentence
from ..supported import USUAL
from ..turn.terminal_process import runs_as_shown
from .home_lock import HomeLock

NO_LOGIN = sentence(
    "{cli} asks for a login of its own, and offers: {methods}. Log in with it in a terminal, and"
    " send the message again."
)
NO_WAYS = sentence(
    "{cli} asks for a login of its own. Log in with it in a terminal, and send the message again."
)
NO_OWN_LOGIN = sentence(
    '{cli} has no login in your terminal yet: run "{command}" there, and send the message again.'
)
REFUSED_LOGIN = sentence(
    'The login that {cli} has in your terminal was refused: "{said}" Run "{command}" there to'
    " change it, and send the message again."
)
# Seconds for the start, which takes two, and for the credentials, which take none.
STARTING, AUTHENTICATING = 60.0, 60.0


@dataclass(frozen=True)
class Launch:
    """How the agent is started. `environment` and `settings` are the operator's own additions:
    variables of the process, members of the CLI's settings.json. `env` are the variables that its
    user has for it; one whose value is None is taken away. `args` are the user's own arguments for
    it, behind all of ours: a "--" among them would hide those that follow. `own_login` says whether
    it has its user's own login, whatever somebody chose; None leaves that to them. `model` is that
    of new sessions. `agent` is the CLI's id. `processes` is the number of its processes that may
    run. `fallback` counts until somebody configures, clears or logs out. `look` finds the command
    anew for each process, in place of `command`; it may block, and raises AgentError.
    `protocol_version` is the one of the protocol that it is asked for. `is_users` says that it is
    the agent of the user of this computer: where nobody chose, it has their own login."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    agent: str = USUAL
    processes: int = 1
    fallback: Credentials | None = None
    look: Callable[[], FoundCommand] | None = None
    env: Mapping[str, str | None] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    own_login: bool | None = None
    protocol_version: int = protocol_version.USUAL
    is_users: bool = False

    def find_command(self) -> FoundCommand:
        """The command. Raises AgentError."""
        return FoundCommand(self.command) if self.look is None else self.look()


class Runner:
    """All methods are called on one loop. `launch` counts for the next process. `listener` gets
    what the agent sends. `opening` is held while a session is opened, in any process with the same
    home."""

    def __init__(
        self, launch: Launch, cli: AgentCli, listener: Listener, opening: HomeLock
    ) -> None:
        self.starts = 0
        self.launch = launch
        self._cli = cli
        self._listener = listener
        self._opening = opening
        self._client: AcpClient | None = None
        self._lock = asyncio.Lock()
        self._starting: asyncio.Future[AcpClient] | None = None
        self._wants_login = asyncio.Event()

    @property
    def running_client(self) -> AcpClient | None:
        """The client of the process that runs, if one does."""
        client = self._client
        return client if client is not None and client.is_running else None

    async def authenticated_client(self, credentials: Credentials) -> AcpClient:
        """An authenticated client; starts the process if none runs. Raises AgentError, also if
        `stop` comes while it starts."""
        async with self._lock:
            running = self.running_client
            if running is not None:
                return running
            starting = self._starting = asyncio.ensure_future(self._start_client(credentials))
            try:
                await asyncio.wait([starting])
            finally:
                self._starting = None
                # Nobody waits for it any more; or it is done.
                starting.cancel()
                await asyncio.wait([starting])
            if starting.cancelled():
                told = sentence("{cli} was ended while it started.", cli=self._cli.name)
                raise AgentError(CLIENT_NOT_INITIALIZED, told)
            return starting.result()

    async def _start_client(self, credentials: Credentials) -> AcpClient:
        if credentials.kind == GOOGLE and not self._cli.login.is_there:
            told = sentence("Nobody has logged in with Google yet.")
            raise AgentError(AUTH_REQUIRED, told)
        log_in = partial(self._authenticate_client, credentials=credentials)
        is_own = credentials.kind == OWN
        is_first = self._cli.authenticates_first and not is_own
        client = await self.connect_client(
            credentials, self._listener, None if is_first else log_in
        )
        try:
            if is_first:
                await log_in(client)
            self._client = client
        finally:
            if self._client is not client:
                await client.kill()
        return client

    async def connect_client(
        self, credentials: Credentials, listener: Listener, log_in: LogIn | None = None
    ) -> AcpClient:
        """A new process that is not authenticated yet. Raises AgentError."""
        self._wants_login.clear()
        process = await self._start_process(credentials, partial(take_log_line, listener))
        self.starts += 1
        home = home_of(credentials)
        is_own = credentials.kind == OWN
        advise = partial(self._login_advice, credentials) if is_own else None
        client = AcpClient(process, listener, self._cli.name, self._opening, log_in, home, advise)
        try:
            await self._initialize_client(client, credentials)
        except AgentError as error:
            await client.kill()
            wrote = "\n".join([*client.lines.strays.shown, process.last_errors]).strip()
            code = AUTH_REQUIRED if error.code == AUTH_REQUIRED else CLIENT_NOT_INITIALIZED
            raise AgentError(code, error.message, wrote or error.details) from error
        except asyncio.CancelledError:
            await client.kill()
            raise
        name, pid = self._cli.name, process.pid
        logger.info("%s %s runs as process %d", name, client.version, pid)
        return client

    def take_noise(self, noise: str) -> None:
        """A line outside the protocol; the CLI may be asking for a login."""
        if self._cli.login.is_asked_for(noise):
            self._wants_login.set()

    async def stop(self) -> None:
        """End the process, if one runs or starts."""
        if self._starting is not None:
            self._starting.cancel()
        async with self._lock:
            client, self._client = self._client, None
            if client is not None:
                await client.stop()

    @property
    def name(self) -> str:
        """The CLI's name."""
        return self._cli.name

    @property
    def memory(self) -> int:
        """Bytes of memory of the process; 0 if this machine does not tell."""
        if sys.platform == "win32":
            return 0
        client = self.running_client
        if client is None:
            return 0
        try:
            with open(f"/proc/{client.process.pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError, AttributeError):
            return 0

    async def _start_process(
        self, credentials: Credentials, takes_error: Callable[[str], bool]
    ) -> AgentProcess:
        """Raises AgentError if it cannot be started."""
        launch, cli = self.launch, self._cli
        if launch.model:
            credentials = replace(credentials, model=launch.model)
        is_known = launch.look is None
        found = launch.find_command() if is_known else await in_thread(launch.find_command)
        try:
            cli.prepare_files(credentials, launch.settings)
            env = {**({"PATH": found.path} if found.path else {}), **launch.env}
            environment = cli.process_environment(credentials, launch.environment, env)
            own = cli.own_arguments() if credentials.kind == OWN else ()
            ours = (*cli.program_arguments(launch.model), *own)
            command = (*found.words, *ours, *launch.args)
            folder = cli.process_folder(credentials)
            return await AgentProcess.start(command, environment, folder, takes_error)
        except private_files.NotPrivate as error:
            told = sentence("Other users can read the folder of {cli}.", cli=cli.name)
            raise AgentError(CLIENT_NOT_INITIALIZED, told, str(error)) from error
        except OSError as error:
            reason = error.strerror or error
            told = sentence("{cli} cannot be started: {reason}.", cli=cli.name, reason=reason)
            raise AgentError(CLIENT_NOT_INITIALIZED, told) from error

    @property
    def _offers(self) -> Offers:
        cli, is_editor = self._cli, self._cli.open_files.are_there
        return Offers(
            cli.asks_to_write,
            cli.asks_to_write and is_editor,
            cli.has_sign_ins and is_editor,
            cli.uses_terminals and is_editor and runs_as_shown(),
        )

    async def _initialize_client(self, client: AcpClient, credentials: Credentials) -> None:
        """Raises AgentError; AUTH_REQUIRED if the CLI waits for its user to log in, and for nothing
        else before."""
        is_own, version = credentials.kind == OWN, self.launch.protocol_version
        told = asyncio.ensure_future(client.initialize(STARTING, self._offers, version))
        asking = asyncio.ensure_future(self._wants_login.wait())
        try:
            await asyncio.wait(
                {told, asking} if is_own else {told}, return_when=asyncio.FIRST_COMPLETED
            )
            if not told.done():
                raise AgentError(AUTH_REQUIRED, self._no_login(client, credentials))
            told.result()
        finally:
            asking.cancel()
            told.cancel()

    async def _authenticate_client(self, client: AcpClient, credentials: Credentials) -> None:
        self._wants_login.clear()
        is_own = credentials.kind == OWN
        methods = client.auth_methods
        asked = None if is_own else self._cli.authentication_request(credentials, methods)
        if asked is None:
            raise AgentError(AUTH_REQUIRED, self._no_login(client, credentials))
        request = asyncio.ensure_future(client.request(asked, AUTHENTICATING))
        asking = asyncio.ensure_future(self._wants_login.wait())
        try:
            await asyncio.wait({request, asking}, return_when=asyncio.FIRST_COMPLETED)
            if not request.done():
                raise AgentError(AUTH_REQUIRED, sentence("The login with Google has expired."))
            request.result()
        except AgentError as error:
            code = error.code if error.code == STREAM_ERROR else AUTH_CONFIG_FAILED
            code = error.code if error.code in (AUTH_REQUIRED, ACCESS_DENIED) else code
            raise AgentError(code, error.message, error.details) from error
        finally:
            asking.cancel()
            request.cancel()

    def _login_advice(
        self, credentials: Credentials, client: AcpClient, error: AgentError
    ) -> Words:
        """What the user can do after this error, for whom we cannot log in."""
        cli = self._cli
        if cli.own_login and is_refused_login(f"{error}\n{error.details}"):
            said = str(error)
            return REFUSED_LOGIN.with_values(cli=cli.name, said=said, command=cli.own_login)
        return self._no_login(client, credentials)

    def _no_login(self, client: AcpClient, credentials: Credentials) -> Words:
        """What the user can do, for whom we cannot log in."""
        cli = self._cli
        if credentials.kind == OWN and cli.own_login:
            return NO_OWN_LOGIN.with_values(cli=cli.name, command=cli.own_login)
        names = ", ".join(method.name or method.id for method in client.auth_methods)
        told = NO_LOGIN if names else NO_WAYS
        return told.with_values(cli=cli.name, methods=names)
