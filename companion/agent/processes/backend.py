"""One CLI as the engine offers it: its home, its processes, and the user's account."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Iterator, Mapping, Sequence

from ...base import private_files
from ...base.background import in_thread
from ..acp.messages import authenticate_request
from ..agents.cli import AgentCli
from ..agents.command_agent import ID, CommandAgent
from ..agents.program import is_there
from ..auth_method import BY_AGENT, BY_PROGRAM, IN_TERMINAL, AuthMethod
from ..conversations.conversation import Conversation
from ..conversations.homes import find_home
from ..conversations.turns import Turns
from ..credentials import Credentials, Store, UsedLogin
from ..failure import AGENT_NOT_FOUND, AgentError
from ..open_files import NO_EDITOR, OpenFiles
from ..sentence import sentence
from ..supported import CLIS, USUAL
from .account import Account
from .login_choice import LoginChoice
from .pool import ProcessInfo
from .pools import Pools
from .runner import Launch


@dataclass(frozen=True)
class AgentInfo:
    """A CLI that is offered. `processes` are the running ones; `starts` counts all that ever ran.
    `tested` is the newest version that tests run, empty if nobody has tested it.
    `has_google_login` says whether it can log in with Google. `is_usual` says that it is used if
    none is named."""

    id: str
    name: str
    is_usual: bool
    auth_kinds: tuple[str, ...]
    has_google_login: bool
    is_authenticated: bool
    limit: int
    starts: int
    processes: tuple[ProcessInfo, ...]
    tested: str


class Clis(Mapping[str, AgentCli]):
    """The CLIs that conversations may be held with, by their ids: those of the rows, and for each
    other id an agent of which only its command is known. `state` is the engine's folder,
    `open_files` are those of the editor."""

    def __init__(self, state: str, trusted: bool, open_files: OpenFiles = NO_EDITOR) -> None:
        self._state = state
        self._trusted = trusted
        self._open_files = open_files
        self._folders: tuple[str, ...] = ()
        self._made: dict[str, AgentCli] = {}

    def trust_folders(self, folders: Sequence[str]) -> None:
        """Their workspaces in these folders (absolute paths) may be trusted from now on."""
        self._folders = tuple(folders)
        for each in self._made.values():
            each.trusted_folders = self._folders

    def __getitem__(self, id: str) -> AgentCli:
        if id not in self._made:
            if not ID.fullmatch(id):
                raise KeyError(id)
            home = os.path.join(_state_folder(self._state, id), "home")
            row = CLIS.get(id)
            made = (
                CommandAgent(home, self._trusted, id) if row is None else row(home, self._trusted)
            )
            made.trusted_folders = self._folders
            made.open_files = self._open_files
            self._made[id] = made
        return self._made[id]

    def __iter__(self) -> Iterator[str]:
        return iter(CLIS)

    def __len__(self) -> int:
        return len(CLIS)


class Backend:
    """`launch` says how its next process is started. `state` is the engine's folder, which
    exists."""

    def __init__(self, launch: Launch, cli: AgentCli, state: str, turns: Turns) -> None:
        folder = _state_folder(state, cli.id)
        private_files.make_folder(folder)
        self.cli = cli
        self._turns = turns
        self.pool = Pools(launch, cli, folder)
        store = Store(folder, cli.check_credentials)
        choice = LoginChoice(cli, launch, store.load(), store.load_key())
        self.account = Account(store, choice, cli, self.pool, turns)
        self.launch = launch

    async def can_start(self) -> bool:
        """Whether a process runs, or its program exists and can be started. The search for it may
        take seconds."""
        if self.pool.running_processes:
            return True
        launch = self.launch
        with suppress(AgentError):
            return await in_thread(lambda: is_there(launch.find_command().words))
        return False

    async def credentials_for(self, conversation: Conversation) -> Credentials:
        """The credentials with which a conversation goes on: those of the home in which it was
        begun, if there are any, else those in use. Raises AgentError as `current_credentials`."""
        state = conversation.record.state
        home = state.home or await in_thread(partial(find_home, self.cli, state.session))
        await self.account.refresh_credentials(home)
        turn = conversation.turn
        runs = turn is not None and not turn.is_over
        # What a client has begun with the own login is given on to what it may use.
        may_stay = home and (runs or state.in_chat or self.account.is_for_clients(home))
        kept = self.account.credentials_in(home, runs) if may_stay else None
        return kept or await self.current_credentials()

    async def current_credentials(self) -> Credentials:
        """The credentials in use. Raises AgentError; if there are none, of a program that is looked
        for and not found first: nobody logs in to what is not installed."""
        try:
            return self.account.credentials
        except AgentError:
            await in_thread(self.launch.find_command)
            raise

    def renew_launch(self, launch: Launch) -> None:
        """The next processes are started in this way."""
        self.launch = launch
        self.pool.renew_launch(launch)
        self.account.renew_launch(launch)

    @property
    def sign_ins(self) -> tuple[AuthMethod, ...]:
        """The ways to log in that the agent tells while it runs, as far as they can be gone."""
        told = self.pool.auth_methods if self.cli.has_sign_ins else ()
        return tuple(each for each in told if each.kind in (BY_AGENT, IN_TERMINAL, BY_PROGRAM))

    async def sign_in(self, method: str) -> None:
        """Have the agent log its user in by this way of its own; it may lead them to a browser, and
        takes as long as they do. Raises AgentError."""
        async with self.pool.first_client(self.account.credentials) as client:
            await client.request(authenticate_request(method))
        self.account.forget_refusals()

    async def forget_process(self) -> None:
        """Start the agent anew for the next session, as its user logs in elsewhere. Raises
        AgentError, code SESSION_BUSY while one of its turns runs."""
        self._turns.refuse_if_busy(self.cli.id)
        self.account.forget_refusals()
        await self.pool.stop()

    async def stop(self) -> None:
        """End a login and all processes, within about six seconds."""
        self.pool.stop_watching()
        await self.account.abandon_login()
        await self.pool.stop()

    def agent_info(self, is_usual: bool) -> AgentInfo:
        """Never starts a process."""
        return AgentInfo(
            self.cli.id,
            self.cli.name,
            is_usual,
            self.cli.kinds,
            self.cli.login.is_offered,
            self.account.client_status().is_authenticated,
            self.launch.processes,
            self.pool.starts,
            self.pool.running_processes,
            self.cli.tested.newest,
        )


def _state_folder(state: str, id: str) -> str:
    """Gemini CLI's files are in the engine's folder itself, where they were before there were other
    CLIs."""
    return state if id == USUAL else os.path.join(state, id)


class Backends:
    """The CLIs that are offered, the usual one first; `usual` is its id."""

    def __init__(
        self,
        launches: Sequence[Launch],
        clis: Mapping[str, AgentCli],
        state: str,
        turns: Turns,
    ) -> None:
        self._clis, self._state, self._turns = clis, state, turns
        self._by_id: dict[str, Backend] = {}
        self.offer_launches(launches)

    def offer_launches(self, launches: Sequence[Launch]) -> None:
        """Offer these CLIs, too, from now on, the usual one first. One that is offered already is
        started in this way from its next process on."""
        for each in launches:
            known = self._by_id.get(each.agent)
            if known is None:
                cli = self._clis[each.agent]
                self._by_id[each.agent] = Backend(each, cli, self._state, self._turns)
            else:
                known.renew_launch(each)
        self.usual = launches[0].agent

    def __iter__(self) -> Iterator[Backend]:
        return iter(self._by_id.values())

    def __getitem__(self, agent: str | None) -> Backend:
        """The CLI with this id, the usual one for None. Raises AgentError, code AGENT_NOT_FOUND."""
        found = self._by_id.get(agent or self.usual)
        if found is None:
            told = sentence(
                "This server does not offer the agent {got}; it offers {offered}.",
                got=repr(agent),
                offered=", ".join(self._by_id),
            )
            raise AgentError(AGENT_NOT_FOUND, told)
        return found

    def used_login(self, agent: str, home: str = "") -> UsedLogin:
        """The login of the CLI with this id, for what is begun now or was begun in that home; none
        if it is not offered."""
        found = self._by_id.get(agent)
        return UsedLogin() if found is None else found.account.used_login(home)

    def backend_for(self, kind: str) -> Backend:
        """The first CLI for credentials of this kind. Raises AgentError, code AGENT_NOT_FOUND."""
        found = next((backend for backend in self if kind in backend.cli.kinds), None)
        # Otherwise one that is not offered; the error then names it.
        return found or self[next((id for id, cli in CLIS.items() if kind in cli.kinds), kind)]

    def leave_conversation(self, conversation: Conversation) -> None:
        """The conversation is not used any more."""
        for backend in self:
            backend.pool.leave_conversation(conversation)

    def end_start(self, conversation: Conversation) -> None:
        """The user waits no longer for the agent's session of this conversation: a process that
        does not open it is ended, unless a turn runs in it."""
        place = self[conversation.cli.id].pool.place_of(conversation)
        others = (other for other in place if other is not conversation)
        if conversation.session.is_opening and not any(other.is_busy for other in others):
            if place.runner.running_client is not None:
                place.runner.running_client.give_up()

    def agent_infos(self) -> tuple[AgentInfo, ...]:
        """Starts no process."""
        return tuple(backend.agent_info(backend.cli.id == self.usual) for backend in self)

    @property
    def processes(self) -> tuple[ProcessInfo, ...]:
        """All running processes."""
        return tuple(each for backend in self for each in backend.pool.running_processes)

    async def can_start(self) -> bool:
        """Whether each CLI runs, or its program exists and can be started. Those that are looked
        for when they are needed may be missing, but for the usual one."""
        needed = [
            backend
            for backend in self
            if backend.launch.look is None or backend.cli.id == self.usual
        ]
        for backend in needed:
            if not await backend.can_start():
                return False
        return True
