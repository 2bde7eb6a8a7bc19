"""The open diffs of one window: the work of the tools and the user's decisions, in order.

The views belong to the editor. What the protocol needs of them is in the book.
"""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import Any, Awaitable, Callable, Tuple, TypeVar

from ..base.digest import LARGE
from ..base.large_json import TruncatedString
from ..base.merge import has_marks
from ..base.path_maps import NO_MAPS
from ..base.signal import ValueSignal
from .clis import by_id
from .decisions import DECIDED, OPEN, Book
from .delivery import Delivery
from .disk_check import DiskCheck
from .editor import ClosedDiff, Editor, EditorError, Proposal
from .mcp import Desk, ToolsChanged
from .session import Session
from .sessions import Sessions
from .stateless import is_asker

T = TypeVar("T")

# The most characters of a path on any system.
MAX_PATH = 32768
# The most open diffs of one CLI; Gemini CLI waits for each decision (docs/protocol.md 1.7).
MAX_OPEN_DIFFS = 128
# The most open diffs of one window, including those of CLIs that are gone.
MAX_WINDOW_DIFFS = 256
NOT_KEPT = (
    "The proposed text of {} was too large to be kept over the restart. {} may still ask in its"
    " terminal: accept it there."
)


class Diffs(Desk):
    """`on_change` is called whenever the book has changed. The book and the editor have the
    editor's paths; `path_maps` give the paths by which the CLIs know the files."""

    def __init__(
        self,
        window_id: int,
        editor: Editor,
        book: Book,
        sessions: Sessions,
        delivery: Delivery,
        disk: DiskCheck,
        on_change: Callable[[], None],
    ) -> None:
        self._window_id = window_id
        self._editor = editor
        self._book = book
        self._sessions = sessions
        self._delivery = delivery
        self._disk = disk
        self._on_change = on_change
        # The tasks that wait for the editor at the moment.
        self._under_way: set[asyncio.Task[Any] | None] = set()
        self._is_stopped = False
        # The user has decided: the id of the MCP session, and whether they accepted.
        self.decisions = ValueSignal[Tuple[str, bool]]()
        self.offers_diffs = True
        self.path_maps = NO_MAPS

    def offer_diffs(self, wanted: bool) -> None:
        """Whether CLIs may show their edits here from now on."""
        if self.offers_diffs != wanted:
            self.offers_diffs = wanted
            self._sessions.broadcast(ToolsChanged(), to_named=False)
            self._sessions.subscriptions.tools_changed(ToolsChanged())

    def stop(self) -> None:
        """Ask the editor for nothing more."""
        self._is_stopped = True
        for task in filter(None, list(self._under_way)):
            task.cancel()

    def local_path(self, path: str) -> str:
        # A waiting proposal keeps its path, even if the maps have changed since. Otherwise the maps
        # decide.
        return self._book.path_waiting_as(path) or self.path_maps.to_local(path)

    async def open_diff(
        self, session: Session, path: str, content: str, sent_path: str = ""
    ) -> None:
        self._check_limits(session, path, sent_path)
        self._delivery.supersede_decisions(session, path)
        if not self.offers_diffs and not self._book.numbers_in(OPEN, path=path):
            # The CLI read the list of tools before they were withdrawn. It asks in its terminal as
            # well; an error would end its edit (docs/protocol.md 1.6).
            return
        is_whole = not isinstance(content, TruncatedString)
        # The book gets it before the editor is asked, because the user may decide before the editor
        # answers. A large proposal cannot be edited, so there is nothing to save of it; but a CLI
        # that writes empty texts does not write its own proposal for one.
        is_to_last = len(content) <= LARGE or session.cli.has_empty_text
        text = content if is_whole and is_to_last else None
        number = self._book.open(session.id, path, text, session.client, session.cli.id, sent_path)
        proposal = Proposal(
            session.id,
            path,
            content,
            self._sessions.connected_ids(),
            is_whole,
            client=self._sessions.session_label(session),
            opened_at=self._book[number].opened_at,
        )
        # If nothing else is under way, its turn comes at once.
        may_wait = bool(self._under_way)
        try:
            await self.run_in_order(
                session.id, partial(self._open_proposal, session, number, proposal, may_wait)
            )
        except EditorError as error:
            # The sentence goes to the CLI and may contain the file's path.
            raise EditorError(str(error).replace(path, sent_path or path)) from error

    def _check_limits(self, session: Session, path: str, sent_path: str) -> None:
        if max(len(path), len(sent_path)) > MAX_PATH:
            raise EditorError(f"Expected a path of at most {MAX_PATH} characters.")
        own = self._book.numbers_in(OPEN, session.id)
        if len(own) >= MAX_OPEN_DIFFS and not self._book.numbers_in(OPEN, session.id, path):
            raise EditorError(f"Expected a decision on the {MAX_OPEN_DIFFS} open diffs first.")
        if len(self._book.numbers_in(OPEN)) >= MAX_WINDOW_DIFFS:
            raise EditorError("Expected a decision on some of the window's open diffs first.")

    async def _open_proposal(
        self, session: Session, number: int, proposal: Proposal, may_have_waited: bool
    ) -> None:
        """Open a diff. It replaces an older one of the session for the path, and those whose
        session has ended."""
        if may_have_waited:
            self._delivery.supersede_decisions(session, proposal.path)
        older = [
            earlier
            for earlier in self._book.numbers_in(OPEN, session.id, proposal.path)
            if earlier < number
        ]
        try:
            await self._editor.open_diff(self._window_id, proposal)
        except (EditorError, asyncio.CancelledError):
            # If there was an older diff, it is still open.
            if self._book.is_open(number):
                self._book.forget(number)
            raise
        if all(map(self._book.is_open, older)):
            for earlier in older:
                self._book.forget(earlier)
        else:
            await self._close_needless(number)
        for other in self._book.numbers_in(OPEN, path=proposal.path):
            owner = self._book[other].session_id
            if owner != session.id and owner not in proposal.live_sessions:
                self.reject(owner, proposal.path)
        self._on_change()

    async def _close_needless(self, number: int) -> None:
        """The user decided on an older proposal while this one was being opened. The CLI takes that
        decision for this one, so this diff is closed."""
        if self._book.is_open(number):
            entry = self._book[number]
            closed = await self._editor.close_diff(self._window_id, entry.session_id, entry.path)
            if self._book.is_open(number):
                self._settle_closed(number, closed, decided=True)

    async def close_diff(self, session: Session, path: str, decided: bool = True) -> str | None:
        number = self._to_close(session, path)
        if number is None:
            # The user has decided and the CLI was not told, or there is no diff.
            return self._delivery.hand_out(session, path)
        work = partial(self._close_proposal, session, number, path, decided)
        return await self.run_in_order(self._book[number].session_id, work)

    def _to_close(self, session: Session, path: str) -> int | None:
        """The session's open diff for the path. If it has none, that of a session of such a CLI
        which is gone: it may have opened it before it lost its connection. None if several
        sessions have the path open or decided, because nobody knows which of them it was."""
        own = self._book.numbers_in(OPEN, session.id, path)
        if own:
            return own[-1]
        is_decided = self._book.numbers_in(DECIDED, session.id, path)
        if is_decided or self._delivery.is_settling(path):
            return None
        if session.is_named or not session.cli.keeps_edits:
            # It would have come back under its own name, or asks for nothing from before.
            return None
        others = [
            number
            for number in self._book.numbers_in(OPEN, path=path)
            if self._book[number].cli in ("", session.cli.id)
        ]
        if not others:
            return None
        owners = {
            self._book[number].session_id
            for number in others + self._book.numbers_in(DECIDED, path=path)
        }
        return others[-1] if len(owners) == 1 and self._is_gone(others[-1]) else None

    def _is_gone(self, number: int) -> bool:
        """Whether its CLI may have come back as another session."""
        owner = self._book[number].session_id
        session = self._sessions.find_session(owner)
        return not is_asker(owner) and (session is None or self._sessions.is_absent(session))

    async def _close_proposal(
        self, session: Session, number: int, path: str, decided: bool
    ) -> str | None:
        if self._book.is_open(number):
            owner = self._book[number].session_id
            closed = await self._editor.close_diff(self._window_id, owner, path, decided)
            if self._book.is_open(number):
                return self._settle_closed(number, closed, decided)
        # The user decided first.
        return self._delivery.hand_out(session, path)

    def _settle_closed(self, number: int, closed: ClosedDiff | None, decided: bool) -> str | None:
        """The text of a closed diff. The CLI has to write what the user typed; if it does not, the
        text comes back. So does one with marks of a conflict, which no file may get: a CLI that is
        given no text writes its own."""
        entry = self._book[number]
        is_lost = closed is None
        if closed is None:
            # The editor has lost the tab, or has not restored it yet; the book has its text.
            closed = ClosedDiff(entry.text, entry.is_edited)
        if closed.text and closed.is_edited and (decided or is_lost):
            self._book.hand_over(number, closed.text)
            self._disk.watch_text(number)
        else:
            self._book.forget(number)
        self._delivery.note_settled(entry.path)
        self._on_change()
        has_conflicts = closed.is_edited and has_marks(closed.text or "")
        return None if has_conflicts else closed.text

    async def run_in_order(self, session_id: str, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work in the caller's task, after everything that the session asked for before.
        Only `stop` cancels it, even if the client leaves, so that no diff stays half open."""
        task = asyncio.current_task()
        self._under_way.add(task)
        try:
            lock = self._sessions.work_lock(session_id)
            await lock.acquire()
            try:
                return await work()
            finally:
                lock.release()
        except asyncio.CancelledError:
            if self._is_stopped:
                raise EditorError("The editor's companion stops.") from None
            raise
        finally:
            self._under_way.discard(task)

    def decide(
        self,
        session_id: str,
        path: str,
        text: str | None,
        before: str | None = None,
        is_as_proposed: bool = False,
    ) -> None:
        """The user accepted; `text` is the proposal as edited, with `\n` line ends. Or they
        rejected it (None). `before` is as in Entry, `is_as_proposed` as in DiffAccepted."""
        if text is not None:
            # As long as this text is not written, the one before it can still be seen on disk.
            self._disk.check_soon()
        # If a newer proposal is about to be opened, it is not the one that the user saw.
        known = self._book.numbers_in(OPEN, session_id, path)
        if not known:
            sent_path = self.path_maps.to_remote(path)
            known = [self._book.open(session_id, path, None, sent_path=sent_path)]
        number = known[0]
        if is_as_proposed:
            entry = self._book[number]
            text = self._book.content_of(number)
            if entry.text is None and by_id(entry.cli).has_empty_text:
                name = os.path.basename(path)
                self._editor.repeat_message(NOT_KEPT.format(name, by_id(entry.cli).name))
        self._book.decide(number, text, before)
        self._delivery.send_decision(number)
        self.decisions.emit((session_id, text is not None))

    def reject(self, session_id: str, path: str) -> None:
        self.decide(session_id, path, None)

    def reject_all(self) -> None:
        """The window is closed, and its tabs with it."""
        for number in self._book.reject_open():
            self._delivery.send_decision(number)

    def note_edit(self, session_id: str, path: str, text: str) -> None:
        """The user changed the proposal: this is the text to keep over a restart."""
        known = self._book.numbers_in(OPEN, session_id, path)
        if known and self._book.edit(known[0], text):
            self._on_change()

    def mark_orphaned(self, session_id: str, orphaned: bool) -> None:
        """Show whether the CLI of the session's diffs is connected."""
        if self._book.numbers_in(OPEN, session_id):
            self._editor.set_orphaned(self._window_id, session_id, orphaned)
