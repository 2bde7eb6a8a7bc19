"""A login with Google by a code: the CLI gives an address, and a person brings back the code.

It has a process of its own, because while the CLI waits for a code it takes every line for one
(docs/gemini-cli-acp.md 7.42).
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from .. import elicitation, failure
from ..acp import messages
from ..acp.acp_client import AcpClient, Listener
from ..acp.terminal_messages import TerminalRequest
from ..agents.cli import AgentCli
from ..credentials import Credentials
from ..elicitation import ElicitationRequest
from ..failure import AUTH_REQUIRED, NETWORK_ERROR, OAUTH_INIT_FAILED, VALIDATION_ERROR, AgentError
from ..sentence import sentence
from .pools import Pools

# Seconds that the CLI waits for the code.
LIFETIME = 300.0
# Seconds until the CLI gives the address, and until Google answers to a code.
SHOWING, EXCHANGING = 60.0, 60.0
URL = re.compile(r"https://accounts\.google\.com/[!-~]+")
# The most characters of a code; Google's have fewer than a hundred.
MAX_CODE = 2000
# The CLI's log says with this why a code was refused.
FAILED = "Failed to authenticate with authorization code:"
ABANDONED = sentence("The login was cancelled.")


@dataclass(frozen=True)
class Login:
    """The address for the user, and until when (UTC) the code is accepted."""

    url: str
    expires: datetime


class GoogleLogin(Listener):
    """One login with Google, from `begin_login` until it `is_over`."""

    def __init__(self, pool: Pools, cli: AgentCli, credentials: Credentials) -> None:
        self._pool = pool
        self._cli = cli
        self._credentials = credentials
        self._is_abandoned = False
        self._connecting: asyncio.Future[AcpClient] | None = None
        self._client: AcpClient | None = None
        self._request: asyncio.Future[None] | None = None
        self._shown = asyncio.Event()
        self._url = ""
        # Why the last code was refused, in the CLI's words.
        self._failure = ""
        self._timer: asyncio.TimerHandle | None = None
        self._expires = datetime.now(timezone.utc)

    @property
    def is_over(self) -> bool:
        return self._client is None or self._request is None or self._request.done()

    @property
    def current_login(self) -> Login:
        """The present address; a wrong code leads to another one."""
        return Login(self._url, self._expires)

    async def begin_login(self) -> Login | None:
        """Gives the address; None if the existing login is still valid. Raises AgentError."""
        client = self._client = await self._connect_client()
        asked = self._cli.authentication_request(self._credentials, client.auth_methods)
        if asked is None:
            told = sentence("{cli} has no login with Google.", cli=self._cli.name)
            raise AgentError(OAUTH_INIT_FAILED, told)
        self._request = asyncio.ensure_future(client.request(asked))
        # Whoever brings the code gets the result; an error without a code need not be reported.
        self._request.add_done_callback(lambda request: request.cancelled() or request.exception())
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(LIFETIME, lambda: asyncio.ensure_future(self.abandon()))
        self._expires = datetime.now(timezone.utc) + timedelta(seconds=LIFETIME)
        if not await self._wait_for_answer(SHOWING):
            await self.abandon()
            raise AgentError(
                OAUTH_INIT_FAILED, sentence("The Gemini CLI did not say where to log in.")
            )
        if self._request.done():
            await self._check_answer(OAUTH_INIT_FAILED)
            return None
        return self.current_login

    async def finish_login(self, code: str) -> None:
        """Send the code. Raises AgentError; AUTH_REQUIRED if Google refuses it, with the next
        address in `details` as long as another code may be tried."""
        code = code.strip()
        # A line feed would end the line, and the rest would count as the protocol.
        if not code or not code.isprintable() or len(code) > MAX_CODE:
            raise AgentError(
                VALIDATION_ERROR, sentence("Expected the code that Google showed, in one line.")
            )
        if self.is_over or self._client is None:
            raise AgentError(
                VALIDATION_ERROR, sentence("No login waits for a code; begin one first.")
            )
        self._shown.clear()
        self._failure = ""
        self._client.type_line(code)
        if not await self._wait_for_answer(EXCHANGING):
            await self.abandon()
            raise AgentError(NETWORK_ERROR, sentence("Google did not answer."))
        if not self.is_over and failure.is_network(self._failure):
            raise AgentError(NETWORK_ERROR, sentence("Google cannot be reached."), self._failure)
        if not self.is_over:
            raise AgentError(AUTH_REQUIRED, sentence("Google did not accept the code."), self._url)
        await self._check_answer(AUTH_REQUIRED)

    async def abandon(self) -> None:
        """End the login, even while it begins. Does nothing if it has ended."""
        self._is_abandoned = True
        if self._connecting is not None and not self._connecting.done():
            self._connecting.cancel()
            await asyncio.wait({self._connecting})
        client, self._client = self._client, None
        if self._timer is not None:
            self._timer.cancel()
        if client is not None:
            await client.kill()

    def take_update(self, session: str, update: messages.SessionUpdate) -> None:
        """There is no session."""

    def take_permission_request(self, request: messages.PermissionRequest) -> None:
        """There is no session."""

    def take_elicitation_request(self, request: ElicitationRequest) -> None:
        """Nobody would see the question."""
        if self._client is not None:
            self._client.answer_request(
                request.id, elicitation.elicitation_result(elicitation.CANCEL)
            )

    def take_withdrawal(self, withdrawal: messages.Withdrawal) -> None:
        """Nothing waits."""

    def read_file(self, request: messages.ReadTextFile) -> None:
        """There is no session."""

    def write_file(self, request: messages.WriteTextFile) -> None:
        """There is no session."""

    def take_terminal_request(self, request: TerminalRequest) -> None:
        """It was not offered."""

    def take_noise(self, text: str) -> None:
        found = URL.search(text)
        if found:
            self._url = found.group()
            self._shown.set()

    def take_log_text(self, text: str) -> None:
        if text.startswith(FAILED):
            self._failure = text[len(FAILED) :].strip()

    def take_process_end(self) -> None:
        """The request fails, which reports it."""

    async def _connect_client(self) -> AcpClient:
        connecting = self._connecting = asyncio.ensure_future(
            self._pool.connect_apart(self._credentials, self)
        )
        try:
            client = await connecting
        except asyncio.CancelledError:
            if not self._is_abandoned:
                raise
            raise AgentError(OAUTH_INIT_FAILED, ABANDONED) from None
        if self._is_abandoned:
            await client.kill()
            raise AgentError(OAUTH_INIT_FAILED, ABANDONED)
        return client

    async def _wait_for_answer(self, seconds: float) -> bool:
        """Wait for an address or an answer; gives whether one came."""
        if self._request is None:
            return False
        shown = asyncio.ensure_future(self._shown.wait())
        awaited: set[asyncio.Future[Any]] = {self._request, shown}
        done, _ = await asyncio.wait(awaited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        shown.cancel()
        return bool(done)

    async def _check_answer(self, code: str) -> None:
        """The CLI has answered. Raises AgentError if it refused."""
        error = self._request.exception() if self._request is not None else None
        if self._is_abandoned:
            raise AgentError(code, ABANDONED)
        await self.abandon()
        if isinstance(error, AgentError):
            raise AgentError(code, error.message, error.details) from error
