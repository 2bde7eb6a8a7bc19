"""The agent as other programs use it: chat, decide, log in, look. Knows no HTTP and no editor."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, AsyncIterator, Mapping, Sequence

from ..base import jsonrpc, private_files
from ..base.log import logger
from . import events, failure, outcomes, prompt
from .acp import Client, Listener
from .auth import GOOGLE, AuthStatus, Credentials, Store
from .conversation import Conversation, Models, SessionInfo
from .failure import AgentError
from .home import Home
from .login import GoogleLogin, Login
from .runner import Launch, Runner
from .turn import Limits, Turn

# Conversations that are remembered; the agent holds about three megabytes for each.
MAX_CONVERSATIONS = 100
# Bytes of the agent's memory, and how long nobody may have talked with it, for it to be ended:
# it gives no memory back, and a new start makes it forget.
LARGE, IDLE = 600 << 20, timedelta(minutes=30)
# Seconds in which a cancelled turn ends its commands, with some to spare.
ENDING = 2.0


@dataclass(frozen=True)
class Options:
    """`state` is a folder of ours (made where it is missing, its parent has to be there) for
    credentials and the agent's home. `fallback` counts until somebody configures, clears or logs
    out. `trusts_workspaces` says whether the CLI may take a workspace's own settings for its own.
    """

    launch: Launch
    state: str
    trusts_workspaces: bool = False
    fallback: Credentials | None = None
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Info:
    """Version and process id of the CLI; None while it does not run. `starts` counts its starts."""

    version: str | None
    pid: int | None
    starts: int

    @property
    def is_running(self) -> bool:
        return self.pid is not None


class Agent(Listener):
    """Made and used inside of one running loop; ended with `stop`.

    Whatever cannot be raises AgentError, whose `code` is one of those in `failure`. The process is
    started when it is first needed, and again after it died.
    """

    def __init__(self, options: Options) -> None:
        private_files.make_folder(options.state)
        self._options = options
        self._home = Home(os.path.join(options.state, "home"), options.trusts_workspaces)
        self._store = Store(options.state)
        self._credentials = self._store.load() or options.fallback
        self._runner = Runner(options.launch, self._home, self)
        # Held by who changes who the user is; what is in memory and on disk stays the same so.
        self._changing = asyncio.Lock()
        self._login: GoogleLogin | None = None
        self._is_refused = self._is_verified = False
        # In the order of their last use.
        self._conversations: dict[str, Conversation] = {}

    # The process.

    def info(self) -> Info:
        """Never starts it."""
        client = self._runner.running
        if client is None:
            return Info(None, None, self._runner.starts)
        return Info(client.version, client.process.pid, self._runner.starts)

    async def prepare(self) -> None:
        """Start it now, so that the first message need not wait for it."""
        await self._client()

    async def stop(self) -> None:
        """Cancel what runs and end the process, within about eight seconds."""
        await self.end_turns()
        await self._abandon_login()
        await self._runner.stop()

    async def end_turns(self) -> None:
        """Cancel all turns and wait for their ends, for two seconds at most: upon a cancellation
        the CLI ends the commands of its tools, which it leaves behind when it is just ended."""
        turns = [it.turn for it in self._conversations.values() if it.turn is not None]
        ends = [asyncio.ensure_future(_end_of(turn)) for turn in turns if not turn.is_over]
        self.cancel()
        if ends:
            _done, late = await asyncio.wait(ends, timeout=ENDING)
            for each in late:
                each.cancel()

    # Chat.

    async def chat(
        self,
        workspace: str,
        message: str,
        files: Sequence[str] = (),
        session_id: str | None = None,
        new_session: bool = False,
        asks: bool = True,
    ) -> Turn:
        """Say something; what comes of it are the turn's events.

        It goes to the conversation `session_id`; without, to the newest one of the workspace (an
        absolute path of a folder), or a new one. `files` are paths to be read along. Where nobody
        can decide on tools, `asks` is False, and those that need it are rejected.

        Codes: VALIDATION_ERROR, FILE_NOT_FOUND, SESSION_NOT_FOUND, SESSION_BUSY, AUTH_NOT_SET,
        AUTH_REQUIRED, CLIENT_NOT_INITIALIZED and those of the agent itself.
        """
        conversation = self._find(workspace, session_id, new_session)
        parts = prompt.parts(message, files, conversation.workspace)
        conversation.reserve()
        try:
            await self._connect(conversation)
            return conversation.begin(parts, self._options.limits, asks, self._learn)
        finally:
            conversation.release()

    def turn(self, turn_id: str) -> Turn | None:
        """The running or last turn of a conversation, by its id."""
        turns = (conversation.turn for conversation in self._conversations.values())
        return next((turn for turn in turns if turn is not None and turn.id == turn_id), None)

    def confirm(self, call_id: str, outcome: str, session_id: str | None = None) -> None:
        """Decide on a call that waits. The first decision counts.

        Codes: VALIDATION_ERROR for an outcome that there is not; TOOL_CALL_NOT_FOUND;
        TOOL_INVALID_OUTCOME for one that this call does not allow, and it goes on waiting.
        """
        if outcome not in outcomes.OUTCOMES:
            expected = ", ".join(outcomes.OUTCOMES)
            raise AgentError(
                failure.VALIDATION_ERROR, f"Expected one of {expected}; got {outcome!r}."
            )
        asking = [
            each.turn
            for each in self._conversations.values()
            if each.turn is not None
            and session_id in (None, each.id)
            and any(_call_id(event) == call_id for event in each.turn.confirmations)
        ]
        if len(asking) != 1:
            raise failure.no_call(call_id)
        asking[0].confirm(call_id, outcome)

    def confirmations(self) -> tuple[events.Event, ...]:
        """The events of all calls that wait for a decision."""
        turns = (each.turn for each in self._conversations.values() if each.turn is not None)
        return tuple(event for turn in turns for event in turn.confirmations)

    def cancel(self, session_id: str | None = None) -> int:
        """End the turn of a conversation, or all turns; how many there were. A message that waits
        for the agent's start counts, and is not said any more.

        Code: SESSION_NOT_FOUND.
        """
        wanted = list(self._conversations.values())
        if session_id is not None:
            wanted = [self._known(session_id)]
        busy = [each for each in wanted if each.is_busy]
        for conversation in busy:
            conversation.cancel()
        return len(busy)

    # Conversations and models.

    def sessions(self) -> tuple[SessionInfo, ...]:
        """All conversations, the last used one last."""
        return tuple(conversation.info for conversation in self._conversations.values())

    async def new_session(self, workspace: str) -> SessionInfo:
        """Begin a conversation; the workspace's next message goes there."""
        conversation = self._find(workspace, None, True)
        await self._connect(conversation)
        return conversation.info

    async def models(self, workspace: str, session_id: str | None = None) -> Models:
        """What the agent offers for the conversation."""
        conversation = self._find(workspace, session_id, False)
        await self._connect(conversation)
        return conversation.models

    async def set_model(self, model: str, workspace: str, session_id: str | None = None) -> Models:
        """Choose for the conversation's next turns.

        Codes: VALIDATION_ERROR for a model that the agent does not offer; SESSION_BUSY while a
        turn runs.
        """
        conversation = self._find(workspace, session_id, False)
        await self._connect(conversation)
        await conversation.set_model(model)
        return conversation.models

    # Credentials.

    def auth_status(self) -> AuthStatus:
        credentials = self._credentials
        if credentials is None:
            return AuthStatus(False, None, False, False, None, False)
        is_google = credentials.kind == GOOGLE
        return AuthStatus(
            not self._is_refused and (self._home.has_google_login or not is_google),
            credentials.kind,
            bool(credentials.api_key),
            credentials.has_google_cloud,
            self._home.google_account if is_google else None,
            self._is_verified,
        )

    async def configure(self, credentials: Credentials) -> None:
        """Use these from now on, after a restart too. All conversations begin anew.

        Codes: VALIDATION_ERROR; SESSION_BUSY while a turn runs; AUTH_CONFIG_FAILED.
        """
        credentials.check()
        self._refuse_if_busy()
        async with self._without_login():
            self._refuse_if_busy()
            try:
                self._store.save(credentials)
            except OSError as error:
                raise AgentError(
                    failure.AUTH_CONFIG_FAILED, f"The credentials cannot be kept: {error.strerror}."
                ) from error
            await self._use(credentials)

    async def begin_login(self) -> Login | None:
        """Log in with Google: where to go for a code; None where somebody is logged in already.
        While a login waits for its code this is the same one.

        Codes: VALIDATION_ERROR where another kind is configured; SESSION_BUSY; OAUTH_INIT_FAILED;
        CLIENT_NOT_INITIALIZED.
        """
        async with self._changing:
            credentials = self._credentials
            if credentials is None or credentials.kind != GOOGLE:
                raise AgentError(
                    failure.VALIDATION_ERROR, f"Configure the kind of login {GOOGLE!r} first."
                )
            self._refuse_if_busy()
            if self._login is not None and not self._login.is_over:
                return self._login.place
            self._login = GoogleLogin(self._runner, credentials)
            login = await self._login.begin()
            if login is None and self._is_refused:
                await self._use(credentials)
            return login

    async def finish_login(self, code: str) -> None:
        """The code that Google showed the user.

        Codes: VALIDATION_ERROR where no login waits or the text is no code; AUTH_REQUIRED where
        Google refuses it (`details` then is the next place to go, or empty); NETWORK_ERROR.
        """
        async with self._changing:
            if self._login is None or self._login.is_over:
                raise AgentError(failure.VALIDATION_ERROR, "No login waits for a code.")
            await self._login.finish(code)
            await self._use(self._credentials)

    async def clear(self) -> None:
        """Forget kind, key and project; a login with Google stays for when it is chosen again."""
        async with self._without_login():
            await self._forget()

    async def logout(self) -> None:
        """Forget everything about who the user is."""
        async with self._without_login():
            await self._forget()
            self._home.forget_google_login()

    # What the agent says.

    def update(self, session: str, update: Mapping[str, Any]) -> None:
        turn = self._turn_of(session)
        if turn is not None:
            turn.update(update)

    def permission(self, session: str, request: jsonrpc.Id, params: Mapping[str, Any]) -> None:
        turn = self._turn_of(session)
        if turn is not None:
            turn.permission(request, params)
        elif self._runner.running is not None:
            # Nobody began what this asks for, so nobody can want it.
            self._runner.running.answer(request, {"outcome": {"outcome": "cancelled"}})

    def noise(self, text: str) -> None:
        self._runner.hear(text)

    def ended(self) -> None:
        logger.info("the Gemini CLI ended")

    def _turn_of(self, session: str) -> Turn | None:
        for conversation in self._conversations.values():
            turn = conversation.turn
            if conversation.session == session and turn is not None and not turn.is_over:
                return turn
        return None

    async def _client(self) -> Client:
        if self._credentials is None:
            raise AgentError(failure.AUTH_NOT_SET, "No credentials are configured.")
        await self._recycle()
        return await self._runner.client(self._credentials)

    async def _recycle(self) -> None:
        """End a process that became large and that nobody has talked with for long."""
        conversations = self._conversations.values()
        if any(each.turn is not None and not each.turn.is_over for each in conversations):
            return
        newest = max((each.last_used for each in conversations), default=None)
        if newest is None or datetime.now(timezone.utc) - newest < IDLE:
            return
        if self._runner.memory > LARGE:
            logger.info("the Gemini CLI became large and is started anew")
            await self._runner.stop()

    async def _connect(self, conversation: Conversation) -> None:
        """See to a session of the conversation, whose turn may be running."""
        self._remember(conversation)
        try:
            await conversation.connect(await self._client())
        except AgentError as error:
            self._is_refused |= error.code == failure.AUTH_REQUIRED
            raise
        finally:
            if conversation.session is None:
                self._conversations.pop(conversation.id, None)
        # Somebody else's attempt may have failed before.
        self._conversations.setdefault(conversation.id, conversation)

    @asynccontextmanager
    async def _without_login(self) -> AsyncIterator[None]:
        """Alone with who the user is, and no login under way, whose code would come to another."""
        # Now, for who begins one has the lock until the CLI says where to go.
        await self._abandon_login()
        async with self._changing:
            await self._abandon_login()
            yield

    async def _abandon_login(self) -> None:
        if self._login is not None:
            await self._login.abandon()

    async def _forget(self) -> None:
        # The file first: ending the process takes seconds, in which we may be ended ourselves.
        self._store.clear()
        await self._use(None)

    async def _use(self, credentials: Credentials | None) -> None:
        """Begin anew with other credentials: old sessions of the agent would keep the old ones."""
        self._credentials = credentials
        self._is_refused = self._is_verified = False
        self.cancel()
        await self._runner.stop()

    def _learn(self, last: events.Body) -> None:
        """From how a turn ends, what the credentials are worth."""
        if isinstance(last, events.Error):
            self._is_refused |= last.code == failure.AUTH_REQUIRED
        elif isinstance(last, events.Complete) and last.success:
            self._is_refused, self._is_verified = False, True

    def _refuse_if_busy(self) -> None:
        if any(each.is_busy for each in self._conversations.values()):
            raise AgentError(failure.SESSION_BUSY, "A message is being answered; cancel it first.")

    def _known(self, session_id: str) -> Conversation:
        try:
            return self._conversations[session_id]
        except KeyError:
            raise AgentError(
                failure.SESSION_NOT_FOUND, f"There is no conversation {session_id}."
            ) from None

    def _find(self, workspace: str, session_id: str | None, new: bool) -> Conversation:
        if session_id is not None and not new:
            return self._known(session_id)
        if not os.path.isabs(workspace) or not os.path.isdir(workspace):
            raise AgentError(
                failure.VALIDATION_ERROR,
                f"Expected the absolute path of a folder as workspace; got {workspace!r}.",
            )
        real = os.path.realpath(workspace)
        known = [each for each in self._conversations.values() if each.workspace == real]
        if known and not new:
            return known[-1]
        return Conversation(real, self._home.settings_folder, self._options.trusts_workspaces)

    def _remember(self, conversation: Conversation) -> None:
        """As the one that was used last."""
        self._conversations.pop(conversation.id, None)
        self._conversations[conversation.id] = conversation
        for each in list(self._conversations.values())[:-MAX_CONVERSATIONS]:
            if not each.is_busy:
                del self._conversations[each.id]


async def _end_of(turn: Turn) -> None:
    async for _event in turn.events():
        pass


def _call_id(event: events.Event) -> str:
    return event.body.call_id if isinstance(event.body, events.ToolConfirmation) else ""
