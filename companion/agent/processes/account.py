"""The user's account with a CLI's model: configured, logged in, logged out; one change at a
time."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import AsyncIterator

from ...base.background import in_thread
from .. import failure
from .. import turn_events as events
from ..agents.cli import AgentCli
from ..agents.cli_home import forget_keys
from ..conversations.turns import Turns
from ..credentials import (
    GOOGLE,
    OURS,
    AuthStatus,
    Credentials,
    Store,
    UsedLogin,
    home_of,
)
from ..failure import AgentError
from ..sentence import sentence
from .login import GoogleLogin, Login
from .login_choice import LoginChoice
from .pools import Pools
from .runner import Launch

REFUSALS = (failure.AUTH_REQUIRED, failure.ACCESS_DENIED)
NO_LOGIN = AuthStatus(False, None, False, False, None, False)


class Account:
    """A change is refused while one of the CLI's conversations is busy."""

    def __init__(
        self, store: Store, choice: LoginChoice, cli: AgentCli, pool: Pools, turns: Turns
    ) -> None:
        self._store = store
        self._choice = choice
        self._cli = cli
        self._pool = pool
        self._turns = turns
        # Held by who changes who the user is; what is in memory and on disk stays the same so.
        self._changing = asyncio.Lock()
        # Ends the processes that have another login.
        self._leaving: asyncio.Future[None] | None = None
        self._login: GoogleLogin | None = None
        self._is_refused = self._is_verified = False
        # The homes whose credentials were refused, and those of which the model gives no more; what
        # was begun there goes on elsewhere, of the latter once somebody has chosen.
        self._refused_homes: set[str] = set()
        self._exhausted_homes: set[str] = set()

    @property
    def credentials(self) -> Credentials:
        """The credentials in use. Raises AgentError, code AUTH_NOT_SET."""
        return self._choice.get_used()

    def used_login(self, home: str = "") -> UsedLogin:
        """The login of what is begun now, or of what was begun in that home."""
        return self._choice.login_in("" if home in self._refused_homes else home)

    def renew_launch(self, launch: Launch) -> None:
        """The next process gets what counts then. One that has, or has not, the user's own login,
        as is no longer wanted, ends unless it is busy."""
        before, was_own = self._choice.used, self._choice.is_own
        self._choice.renew_launch(launch)
        if self._choice.used == before:
            return
        self._is_refused = self._is_verified = False
        if self._choice.is_own != was_own:
            self._leaving = asyncio.ensure_future(self._leave_processes())

    async def _leave_processes(self) -> None:
        with suppress(AgentError):
            self._turns.refuse_if_busy(self._cli.id)
            await self._pool.stop()

    def credentials_in(self, home: str, runs: bool = False) -> Credentials | None:
        """The credentials for a conversation that was begun in that home; None if it has to change
        to another one, which one whose turn `runs` cannot."""
        is_refused = home in self._refused_homes and not runs
        return None if is_refused else self._choice.for_home(home)

    def forget_refusals(self) -> None:
        """The user has logged in somewhere else."""
        self._refused_homes.clear()
        self._exhausted_homes.clear()

    async def refresh_credentials(self, home: str = "") -> None:
        """Use what another server with the same folder has configured, if there is nothing here
        that counts, or nothing for that home."""
        if self._leaving is not None:
            # A session that is opened meanwhile would end with the process.
            await asyncio.wait([self._leaving])
        choice = self._choice
        if home == OURS and choice.is_own and choice.for_home(home) is None:
            choice.learn_key(await in_thread(self._store.load_key))
        if choice.is_own_by_setting or (choice.used is not None and not self._is_refused):
            return
        async with self._changing:
            found = await in_thread(self._store.load)
            if found in (None, choice.kept):
                return
            if choice.used is not None:
                # Whoever else asks waits: a process that they start now would end as well.
                await self._pool.stop()
            choice.choose(found)
            self._is_refused = self._is_verified = False

    def is_for_clients(self, home: str) -> bool:
        """Whether clients of the API may use what counts in that home."""
        return self._choice.is_for_clients(home)

    def check_for_clients(self, home: str = "") -> None:
        """Raises AgentError, code AUTH_NOT_SET, if clients of the API may not use the login, or
        that of a chat that was begun in this home."""
        self._choice.check_for_clients(home)

    def client_status(self) -> AuthStatus:
        """What a client is told."""
        return self.auth_status() if self._choice.is_for_clients() else NO_LOGIN

    def auth_status(self) -> AuthStatus:
        credentials = self._choice.used
        if credentials is None:
            return NO_LOGIN
        is_google = credentials.kind == GOOGLE
        return AuthStatus(
            not self._is_refused and (self._cli.login.is_there or not is_google),
            credentials.kind,
            bool(credentials.api_key),
            credentials.has_google_cloud,
            self._cli.login.account if is_google else None,
            self._is_verified,
        )

    async def configure_credentials(self, credentials: Credentials) -> None:
        """Use these credentials from now on, also after a restart. What was begun in the home of
        the CLI that they are for goes on with them, in a new session.

        Codes: VALIDATION_ERROR; SESSION_BUSY while a turn runs; AUTH_CONFIG_FAILED.
        """
        self._cli.check_credentials(credentials)
        self._choice.check_choice(credentials)
        self._turns.refuse_if_busy(self._cli.id)
        async with self._without_login():
            self._turns.refuse_if_busy(self._cli.id)
            try:
                self._store.save(credentials)
            except OSError as error:
                raise AgentError(
                    failure.AUTH_CONFIG_FAILED,
                    sentence(
                        "The credentials cannot be saved: {reason}.", reason=error.strerror or error
                    ),
                ) from error
            await self._use_credentials(credentials)

    async def begin_login(self) -> Login | None:
        """Begin a login with Google: gives where to get a code; None if somebody is already logged
        in. While a login waits for its code, it is the same one.

        Codes: VALIDATION_ERROR if another kind is configured; SESSION_BUSY; OAUTH_INIT_FAILED;
        CLIENT_NOT_INITIALIZED.
        """
        if not self._cli.login.is_offered:
            told = sentence("{cli} has no login with Google.", cli=self._cli.name)
            raise AgentError(failure.VALIDATION_ERROR, told)
        async with self._changing:
            credentials = self._choice.used
            if credentials is None or credentials.kind != GOOGLE:
                raise AgentError(
                    failure.VALIDATION_ERROR,
                    sentence("Configure the kind of login {kind} first.", kind=repr(GOOGLE)),
                )
            self._turns.refuse_if_busy(self._cli.id)
            if self._login is not None and not self._login.is_over:
                return self._login.current_login
            self._login = GoogleLogin(self._pool, self._cli, credentials)
            login = await self._login.begin_login()
            if login is None and self._is_refused:
                await self._use_credentials(credentials)
            return login

    async def finish_login(self, code: str) -> None:
        """Finish the login with the code that Google showed the user.

        Codes: VALIDATION_ERROR if no login waits or the text is not a code; AUTH_REQUIRED if
        Google refuses it (`details` is then the next address, or empty); NETWORK_ERROR.
        """
        async with self._changing:
            if self._login is None or self._login.is_over:
                raise AgentError(failure.VALIDATION_ERROR, sentence("No login waits for a code."))
            await self._login.finish_login(code)
            await self._use_credentials(self._choice.kept)

    async def abandon_login(self) -> None:
        """End a login that waits for a code, if there is one."""
        if self._login is not None:
            await self._login.abandon()

    async def clear_credentials(self) -> None:
        """Forget kind, key and project. A login with Google is kept, in case it is chosen again.
        Code VALIDATION_ERROR if the user's own login is to be used in any case."""
        self._choice.check_choice(None)
        async with self._without_login():
            await self._forget_credentials()

    async def logout(self) -> None:
        """Forget the whole account. Code VALIDATION_ERROR as for `clear_credentials`."""
        self._choice.check_choice(None)
        async with self._without_login():
            await self._forget_credentials()
            self._cli.login.forget()

    def learn_from_turn(self, last: events.Body, home: str = "") -> None:
        """Learn from the end of a turn in that home whether the credentials are valid."""
        if isinstance(last, events.Error):
            self.learn_error(last.code, home)
        elif isinstance(last, events.Complete) and last.success:
            self._exhausted_homes.discard(home)
            if self._is_used_in(home):
                self._is_refused, self._is_verified = False, True

    def learn_error(self, code: str, home: str = "") -> None:
        """Learn from the code of an agent's error in that home whether the credentials are valid.
        Those of another home than is used are not tried again."""
        if code in (*REFUSALS, failure.QUOTA_EXCEEDED):
            self._exhausted_homes.add(home)
        if code in REFUSALS and self._is_used_in(home):
            self._is_refused, self._is_verified = True, False
        elif code in REFUSALS:
            self._refused_homes.add(home)

    def _is_used_in(self, home: str) -> bool:
        used = self._choice.used
        return not home or used is None or home_of(used) == home

    @asynccontextmanager
    async def _without_login(self) -> AsyncIterator[None]:
        """Holds the account alone, with no login waiting: its code would belong to another
        account."""
        # Outside the lock, because a login that begins holds it until the CLI gives the address.
        await self.abandon_login()
        async with self._changing:
            await self.abandon_login()
            yield

    async def _forget_credentials(self) -> None:
        # The file first: it takes seconds to end the process, and we may be ended meanwhile.
        self._store.clear()
        forget_keys(self._cli.folder, self._cli.key_files)
        await self._use_credentials(None)

    async def _use_credentials(self, credentials: Credentials | None) -> None:
        self._choice.choose(credentials)
        self._is_refused = self._is_verified = False
        # Whoever chooses because the other one gives nothing more wants to go on with this.
        self._refused_homes, self._exhausted_homes = self._exhausted_homes, set()
        if credentials is not None:
            self._refused_homes.discard(home_of(credentials))
        # Old sessions of the agent would keep the old credentials of that home.
        self._turns.cancel_those_of(self._cli.id)
        await self._pool.stop("" if credentials is None else home_of(credentials))
