"""One editor window's endpoint: its port, token, file, context and sessions; knows no view.

The loop owns all of it. Everything of one window is apart from every other.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Awaitable, Callable, Iterable, TypeVar

from ..base.jsonrpc import encode_notification
from ..base.large_json import TruncatedString
from ..base.log import logger
from .context import ContextStore
from .discovery import Advertisement, Publication
from .editor import Editor, EditorError, Proposal
from .mcp import Desk
from .saved_state import SavedWorkspace
from .sessions import Session, Sessions, path_of
from .status import Status
from .transport import Endpoint
from .unwritten import Accepted, Unwritten

T = TypeVar("T")

# Seconds from the last change to the update (the specification's): a burst of typing is one.
DEBOUNCE = 0.05
UNWRITTEN = (
    'Gemini CLI has not written {}; your text is kept. See "Gemini Companion: Show Kept Decisions".'
)
AWAY = "Gemini CLI is away; your decision is kept, and goes to it when it is back."
KEPT = AWAY + ' See "Gemini Companion: Show Kept Decisions".'
CROWDED = 'The oldest of the texts in "Gemini Companion: Show Kept Decisions" is not kept any more.'
# Seconds after which the real CLI has long written what was accepted; whoever changes the file
# again comes later.
WRITTEN = 1.0
# Characters of a path that any system can have.
MAX_PATH = 32768
# Diffs that one CLI may have open; the real one waits for each decision (contract B1.7).
MAX_OPEN_DIFFS = 64
# Diffs of one window, those of CLIs that are gone included.
MAX_WINDOW_DIFFS = 256


@dataclass(frozen=True)
class Undelivered:
    """A decision whose session is gone. Its CLI, should it come back, is one of the sessions that
    were opened after `since` others."""

    message: bytes
    since: int = 0


class Workspace(Desk):
    """What the CLIs of one window share. `folders` are absolute paths; `is_trusted` None leaves
    that member out of the context (contract B4.38)."""

    def __init__(
        self,
        window_id: int,
        folders: tuple[str, ...],
        editor: Editor,
        is_trusted: bool | None = None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.window_id = window_id
        self.context = ContextStore()
        self.sessions = Sessions(self._session_ended, self._session_absent)
        self.advertisement = Advertisement(0, 0, secrets.token_urlsafe(32), folders)
        self.publication: Publication | None = None
        self._editor = editor
        self._is_trusted = is_trusted
        self._on_change = on_change
        self._wanted_port = 0
        self._rejects = True
        self._closed = asyncio.Event()
        self._update: asyncio.TimerHandle | None = None
        self._last_update = b""
        self._undelivered: list[Undelivered] = []
        # Sessions that ended with diffs on which the user has not decided yet.
        self._orphans: dict[str, Session] = {}
        self._unwritten = Unwritten()
        # What the editor is asked for at the moment, and the order within each session.
        self._under_way: set[asyncio.Future[Any]] = set()
        self._turns: dict[str, asyncio.Lock] = {}

    def restore(self, saved: SavedWorkspace) -> None:
        """Be the endpoint of before, for CLIs that still know it: same port where it can be had,
        same token, same sessions. To be called before `run`."""
        self.advertisement = replace(self.advertisement, token=saved.token)
        self._wanted_port = saved.port
        for session in saved.sessions:
            self.sessions.restore(session)
        self.take(saved.undelivered, saved.unwritten, len(saved.sessions))

    def take(
        self,
        undelivered: Iterable[str],
        unwritten: Iterable[tuple[str, str, float]],
        since: int = 0,
    ) -> None:
        """Have what another endpoint kept."""
        for message in undelivered:
            self._undelivered.append(Undelivered(message.encode("ascii"), since))
        for path, text, at in unwritten:
            self._unwritten.add(Accepted(path, text, at))

    def saved(self, now: float) -> SavedWorkspace:
        """`now` is in seconds since the epoch."""
        return SavedWorkspace(
            self.advertisement.folders,
            self.advertisement.port or self._wanted_port,
            self.advertisement.token,
            tuple(session.saved() for session in self._with_diffs()),
            tuple(it.message.decode("ascii") for it in self._undelivered),
            now,
            tuple((it.path, it.text, it.at) for it in self._unwritten.all()),
            self.window_id,
        )

    async def run(self, pid: int) -> None:
        """Serve until `close`. Raises OSError.

        `pid` is the editor's process. The discovery file never outlives the socket.
        """
        async with AsyncExitStack() as stack:
            port = await self._listen(stack)
            stack.callback(self._forget_port)
            self.advertisement = replace(self.advertisement, pid=pid, port=port)
            self._publish()
            stack.callback(self._leave)
            self._on_change()
            await self._closed.wait()

    async def _listen(self, stack: AsyncExitStack) -> int:
        if self._wanted_port:
            with suppress(OSError):
                listening = self._endpoint().listening(self._wanted_port)
                return await stack.enter_async_context(listening)
            # Somebody else has it now, to whom the CLIs of before show their token: it must open
            # nothing any more. They have to be enabled anew.
            self.advertisement = replace(self.advertisement, token=secrets.token_urlsafe(32))
        return await stack.enter_async_context(self._endpoint().listening(0))

    def _endpoint(self) -> Endpoint:
        token = self.advertisement.token
        return Endpoint(token, self.sessions, self, on_stream=self._stream_began)

    def _forget_port(self) -> None:
        self._wanted_port = self.advertisement.port
        self.advertisement = replace(self.advertisement, port=0)

    def close(self, reject: bool = True) -> None:
        """Stop serving; diffs without a decision are rejected, unless somebody takes over."""
        self._rejects = reject
        self._closed.set()
        for task in list(self._under_way):
            task.cancel()

    def change_folders(self, folders: tuple[str, ...]) -> None:
        advertisement = self.advertisement
        if folders != advertisement.folders:
            self.advertisement = replace(advertisement, folders=folders)
            if advertisement.port:
                self._publish()

    def trust(self, is_trusted: bool | None) -> None:
        self._is_trusted = is_trusted
        self.context_changed()

    def environment(self) -> dict[str, str]:
        """The variables by which a terminal of this window leads the CLI here (contract B5.46)."""
        return {
            "GEMINI_CLI_IDE_SERVER_PORT": str(self.advertisement.port),
            "GEMINI_CLI_IDE_WORKSPACE_PATH": self.advertisement.workspace_path,
            "GEMINI_CLI_IDE_AUTH_TOKEN": self.advertisement.token,
            "GEMINI_CLI_IDE_PID": str(self.advertisement.pid),
        }

    def context_changed(self) -> None:
        """Send the context DEBOUNCE seconds after the last of these calls."""
        if self._update is not None:
            self._update.cancel()
        self._update = asyncio.get_running_loop().call_later(DEBOUNCE, self._send_context)

    def reconcile(self, diffs: Iterable[tuple[str, str]]) -> None:
        """The editor has these diffs, with the texts of its own last session. What a session of
        before still waits for is shown again, as the user had it last; or rejected, where nobody
        knows that any more."""
        known = set(diffs)
        for session_id in {id for id, _ in known if self.sessions.find(id) is None}:
            self._editor.set_orphaned(self.window_id, session_id, True)
        for session in self._with_diffs():
            for path in list(session.awaiting):
                if (session.id, path) in known:
                    saved = session.proposals.get(path)
                    asyncio.ensure_future(self._catch_up(session, path, saved))
                elif path in session.proposals:
                    asyncio.ensure_future(self._show_again(session, path))
                else:
                    self.reject(session.id, path)

    async def _catch_up(self, session: Session, path: str, saved: str | None) -> None:
        work = partial(self._editor.restore_text, self.window_id, session.id, path, saved)
        try:
            text = await self._in_turn(session, work)
        except EditorError as error:
            logger.warning("a diff could not be compared with what was kept: %s", error)
            return
        if text is not None:
            self.edited(session.id, path, text)

    async def _show_again(self, session: Session, path: str) -> None:
        # Nobody is gone for good yet: no other diff has to make way.
        all_ids = frozenset(each.id for each in self._with_diffs())
        text = session.proposals[path]
        proposal = Proposal(session.id, path, text, all_ids, may_be_edited=True)
        work = partial(self._open_diff, session, proposal, known=True)
        try:
            await self._in_turn(session, work)
        except EditorError as error:
            logger.warning("a diff could not be shown again: %s", error)
            self.reject(session.id, path)
        if session.stream is None:
            self._session_absent(session)

    def edited(self, session_id: str, path: str, text: str) -> None:
        """The user changed the proposal: this is what has to outlive the editor."""
        session = self.sessions.find(session_id) or self._orphans.get(session_id)
        known = session is not None and path in session.awaiting
        if session is not None and known and session.proposals.get(path) != text:
            session.proposals[path] = text
            self._on_change()

    def _with_diffs(self) -> list[Session]:
        """All sessions, and those that ended with diffs undecided."""
        return [*self.sessions, *self._orphans.values()]

    @property
    def has_undelivered(self) -> bool:
        undelivered = any(session.undelivered() for session in self.sessions)
        return bool(undelivered or self._undelivered or self._unwritten.all())

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing that could be saved: it never served, nor took over."""
        never = not self.advertisement.port and not self._wanted_port
        return never and not self.has_undelivered

    async def open_diff(self, session: Session, path: str, content: str) -> None:
        if len(path) > MAX_PATH:
            raise EditorError(f"Expected a path of at most {MAX_PATH} characters.")
        if len(session.awaiting) >= MAX_OPEN_DIFFS and path not in session.awaiting:
            raise EditorError(f"Expected a decision on the {MAX_OPEN_DIFFS} open diffs first.")
        if sum(len(it.awaiting) for it in self._with_diffs()) >= MAX_WINDOW_DIFFS:
            raise EditorError("Expected a decision on some of the window's open diffs first.")
        # What was decided on an earlier proposal, and never told, would decide on this one.
        session.forget(path)
        known = path in session.awaiting
        session.awaiting.add(path)
        live = frozenset(each.id for each in self.sessions if not self.sessions.is_absent(each))
        proposal = Proposal(
            session.id, path, content, live, not isinstance(content, TruncatedString)
        )
        await self._in_turn(session, partial(self._open_diff, session, proposal, known))

    async def close_diff(self, session: Session, path: str, decided: bool = True) -> str | None:
        if path not in session.awaiting:
            told = [text_of(message) for message in session.forget(path)]
            if told:
                # The CLI asks because it was not told.
                self._on_change()
                return told[-1]
            # It may have opened the diff as another session, before it lost its connection.
            absent = [it for it in self._with_diffs() if path in it.awaiting and self._is_gone(it)]
            if not absent:
                return None
            session = absent[-1]
        return await self._in_turn(session, partial(self._close_diff, session, path, decided))

    def _is_gone(self, session: Session) -> bool:
        return session.id in self._orphans or self.sessions.is_absent(session)

    async def _open_diff(self, session: Session, proposal: Proposal, known: bool) -> None:
        """Open a diff; those for the path whose session does not live make way for it. `known`
        says that one was open before."""
        path = proposal.path
        try:
            await self._editor.open_diff(self.window_id, proposal)
        except EditorError:
            # Where there was one, it is open still.
            if not known:
                session.awaiting.discard(path)
            raise
        session.proposals.pop(path, None)
        if proposal.is_whole:
            session.proposals[path] = proposal.content
        for other in self._with_diffs():
            is_live = other is session or other.id in proposal.live_sessions
            if not is_live and path in other.awaiting:
                self.reject(other.id, path)
        self._on_change()

    async def _close_diff(self, session: Session, path: str, decided: bool) -> str | None:
        session.awaiting.discard(path)
        session.proposals.pop(path, None)
        self._on_change()
        closed = await self._editor.close_diff(self.window_id, session.id, path, decided)
        return closed.text if closed is not None else None

    async def _in_turn(self, session: Session, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work after what the session asked for before, and to its end even where the
        client leaves meanwhile: half a diff must not stay behind."""

        async def take_turn() -> T:
            async with self._turns.setdefault(session.id, asyncio.Lock()):
                return await work()

        task = asyncio.ensure_future(take_turn())
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        # Where the client left, nobody else asks how it ended.
        task.add_done_callback(lambda it: it.cancelled() or it.exception())
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise EditorError("The editor's companion stops.") from None
            raise

    def accept(self, session_id: str, path: str, text: str) -> None:
        """The user accepted; `text` is the proposal as edited, with `\\n` line ends."""
        self._look_soon()
        if text and self._unwritten.add(Accepted(path, text, time.time())):
            self._editor.tell(CROWDED)
        self._decide(session_id, path, _accepted(path, text))

    def reject(self, session_id: str, path: str) -> None:
        self._decide(session_id, path, _rejected(path))

    def withdraw(self, path: str, text: str) -> bool:
        """Turn an accepted proposal that still waits for its CLI into a rejection: it must not be
        written any more. Forget one that its CLI did not write. False where it is neither."""
        old, new = _accepted(path, text), _rejected(path)
        away = [session for session in self.sessions if session.stream is None]
        waited = [session.replace(old, new) for session in away]
        waited += [it.message == old for it in self._undelivered]
        if not any(waited):
            return self._unwritten.withdraw(path, text)
        self._undelivered = [
            replace(it, message=new) if it.message == old else it for it in self._undelivered
        ]
        self._unwritten.forget(path, text)
        self._on_change()
        return True

    def status(self) -> Status:
        return Status(
            self.window_id,
            self.advertisement.port,
            self.advertisement.folders,
            self.publication.paths if self.publication is not None else (),
            sum(session.stream is not None for session in self.sessions),
            sum(len(session.awaiting) for session in self._with_diffs()),
            len(self.kept()),
        )

    def kept(self) -> tuple[tuple[str, str], ...]:
        """Path and text of each accepted proposal that no CLI could be told of yet, or that none
        has written."""
        texts = self._untold() + [(it.path, it.text) for it in self._unwritten.due()]
        return tuple(dict.fromkeys(texts))

    def _untold(self) -> list[tuple[str, str]]:
        away = [each for each in self.sessions if each.stream is None]
        messages = [it for each in away for it in each.undelivered()]
        messages += [it.message for it in self._undelivered]
        texts = [(path_of(message), text_of(message)) for message in messages]
        return [(path, text) for path, text in texts if text]

    async def look_after(self) -> None:
        """To be called now and then: the discovery files are to be there, and accepted texts are to
        be on disk."""
        await self._look()
        if self.publication is not None:
            problem = self.publication.problem
            self.publication.renew()
            if self.publication.problem != problem:
                self._tell_problem()

    async def _look(self) -> None:
        had = self._unwritten.all()
        idle = set(await self._unwritten.look())
        for path in idle - {path for path, _ in self._untold()} if idle else idle:
            self._editor.tell(UNWRITTEN.format(os.path.basename(path)))
        if self._unwritten.all() != had:
            self._on_change()

    def _look_soon(self) -> None:
        """At what was written before the next text is, and at that before somebody changes it."""
        loop = asyncio.get_running_loop()
        for seconds in (0, WRITTEN):
            loop.call_later(seconds, lambda: asyncio.ensure_future(self._look()))

    def _publish(self) -> None:
        if self.publication is None:
            self.publication = Publication(self.advertisement)
        else:
            self.publication.change_folders(self.advertisement.folders)
        self._tell_problem()

    def _tell_problem(self) -> None:
        """The terminals' variables lead to the port all the same."""
        if self.publication is not None and self.publication.problem:
            logger.error("%s", self.publication.problem)
            self._editor.tell(self.publication.problem)

    def _unpublish(self) -> None:
        if self.publication is not None:
            self.publication.remove()
            self.publication = None

    def _leave(self) -> None:
        self._unpublish()
        if self._update is not None:
            self._update.cancel()
        for session in self.sessions if self._rejects else []:
            for path in list(session.awaiting):
                self.reject(session.id, path)

    def _send_context(self) -> None:
        update = self._context()
        if update != self._last_update:
            self._last_update = update
            self.sessions.broadcast(update)

    def _context(self) -> bytes:
        state: dict[str, Any] = {"openFiles": self.context.open_files()}
        if self._is_trusted is not None:
            state["isTrusted"] = self._is_trusted
        return encode_notification("ide/contextUpdate", {"workspaceState": state})

    def _stream_began(self, session: Session) -> None:
        """Tell a new stream the present context (contract B3.27) and what nobody took so far."""
        update = self._context()
        if update == self._last_update:
            session.send(update, passing=True)
        else:
            self._last_update = update
            self.sessions.broadcast(update)
        if session.awaiting:
            self._editor.set_orphaned(self.window_id, session.id, False)
        # A CLI that lost its connection comes back as another session (contract B1.11).
        self.sessions.end_absent()
        kept, self._undelivered = self._undelivered, []
        for each in kept:
            self._keep(each)

    def _decide(self, session_id: str, path: str, message: bytes) -> None:
        session = self.sessions.find(session_id)
        if session is None:
            self._keep(Undelivered(message, self._decide_orphan(session_id, path)))
        else:
            session.awaiting.discard(path)
            session.proposals.pop(path, None)
            session.send(message, path=path)
            if session.stream is None:
                self._tell_away(message)
        self._on_change()

    def _decide_orphan(self, session_id: str, path: str) -> int:
        """Since when its CLI may be back."""
        session = self._orphans.get(session_id)
        if session is None:
            return 0
        session.awaiting.discard(path)
        session.proposals.pop(path, None)
        if not session.awaiting:
            del self._orphans[session_id]
        return session.left

    def _session_absent(self, session: Session) -> None:
        if session.awaiting:
            self._editor.set_orphaned(self.window_id, session.id, True)
        later = [it for it in self.sessions if it.stream is not None and it.opened > session.left]
        if later and self.sessions.is_absent(session):
            # It did not come back to its stream, and one of these may be its CLI.
            self.sessions.end(session.id)

    def _session_ended(self, session: Session) -> None:
        self._turns.pop(session.id, None)
        self._session_absent(session)
        if session.awaiting and not self._closed.is_set():
            self._orphans[session.id] = session
        for message in session.drop():
            self._keep(Undelivered(message, session.left))

    def _keep(self, kept: Undelivered) -> None:
        """A decision whose CLI is gone goes to the newest one that came after, or waits for it.

        Never to one that waits for a decision on the same path itself: it would take it for that.
        """
        path = path_of(kept.message)
        back = [
            it
            for it in self.sessions
            if it.stream is not None and it.opened > kept.since and path not in it.awaiting
        ]
        if back and not self._closed.is_set():
            back[-1].send(kept.message, path=path)
        elif kept not in self._undelivered:
            self._undelivered.append(kept)
            self._tell_away(kept.message)
        self._on_change()

    def _tell_away(self, message: bytes) -> None:
        # Where the window closes there is nobody to tell.
        if not self._closed.is_set():
            self._editor.tell(KEPT if text_of(message) else AWAY)


def _accepted(path: str, text: str) -> bytes:
    return encode_notification("ide/diffAccepted", {"filePath": path, "content": text})


def _rejected(path: str) -> bytes:
    return encode_notification("ide/diffRejected", {"filePath": path})


def text_of(message: bytes) -> str | None:
    """The text of a decision; None of a rejection."""
    text: str | None = json.loads(message)["params"].get("content")
    return text
