"""The diffs of one window after a restart: makes the editor and the book agree."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Awaitable, Callable, Iterable

from ..base.log import logger
from .clis import by_id
from .decisions import DECIDED, OPEN, TOLD, Book
from .diffs import Diffs
from .disk_check import DiskCheck
from .editor import Editor, EditorError, Proposal
from .sessions import Sessions


class RestoredDiffs:
    """Compares the editor's diffs with the book; `diffs` handles the user's decisions meanwhile."""

    def __init__(
        self,
        window_id: int,
        editor: Editor,
        book: Book,
        sessions: Sessions,
        diffs: Diffs,
        disk: DiskCheck,
    ) -> None:
        self._window_id = window_id
        self._editor = editor
        self._book = book
        self._sessions = sessions
        self._diffs = diffs
        self._disk = disk

    def reconcile(self, present: Iterable[tuple[str, str]]) -> None:
        """The editor has restored these diffs (session and path) with the texts of its own last
        session. Open proposals of the book are shown again as the user last had them. A proposal
        is rejected if the editor has lost it and the book does not have its text."""
        present = set(present)
        for session_id, path in present:
            if self._sessions.find_session(session_id) is None:
                self._editor.set_orphaned(self._window_id, session_id, True)
            if not self._book.numbers_in(OPEN, session_id, path):
                self._begin_restore(session_id, partial(self._settle_unknown, session_id, path))
        for number in self._book.numbers_in(OPEN):
            entry = self._book[number]
            if (entry.session_id, entry.path) in present:
                self._begin_restore(entry.session_id, partial(self._catch_up, number, entry.text))
            elif entry.text is not None:
                self._begin_restore(entry.session_id, partial(self._show_again, number))
            else:
                self._diffs.reject(entry.session_id, entry.path)

    def _begin_restore(self, session_id: str, work: Callable[[], Awaitable[None]]) -> None:
        asyncio.ensure_future(self._restore_diff(session_id, work))

    async def _restore_diff(self, session_id: str, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await self._diffs.run_in_order(session_id, work)
        except EditorError:
            # The error's sentence may contain the file's path, which must not be in a log.
            logger.warning("a diff could not be restored: the editor does not show its file")

    async def _settle_unknown(self, session_id: str, path: str) -> None:
        """The editor restored a diff that the book does not have, or that is decided there. If its
        CLI is not known, the user decides."""
        is_decided = self._book.numbers_in(DECIDED, session_id, path) or self._book.numbers_in(
            TOLD, session_id, path
        )
        if is_decided or self._sessions.find_session(session_id) is not None:
            await self._editor.close_diff(self._window_id, session_id, path, decided=False)
            if not is_decided:
                self._diffs.reject(session_id, path)
        elif not self._book.numbers_in(OPEN, session_id, path):
            text = await self._editor.restore_text(self._window_id, session_id, path, None)
            if text is not None and not self._book.numbers_in(OPEN, session_id, path):
                sent_path = self._diffs.path_maps.to_remote(path)
                self._book.open(session_id, path, None, sent_path=sent_path)
                # From now on it survives the next restart like every other diff.
                self._diffs.note_edit(session_id, path, text)

    async def _catch_up(self, number: int, saved: str | None) -> None:
        if self._book.is_open(number):
            entry = self._book[number]
            text = await self._editor.restore_text(
                self._window_id, entry.session_id, entry.path, saved
            )
            if text is not None:
                self._diffs.note_edit(entry.session_id, entry.path, text)

    async def _show_again(self, number: int) -> None:
        if not self._book.is_open(number):
            return
        entry = self._book[number]
        # No CLI counts as gone yet, so no other diff has to make way.
        all_ids = frozenset(self._book[number].session_id for number in self._book.numbers_in(OPEN))
        proposal = Proposal(
            entry.session_id,
            entry.path,
            entry.text or "",
            all_ids,
            may_be_edited=entry.is_edited,
            client=by_id(entry.cli).name if entry.cli else "",
            opened_at=entry.opened_at,
        )
        try:
            await self._editor.open_diff(self._window_id, proposal)
        except EditorError:
            self._give_up(number)
            raise
        session = self._sessions.find_session(entry.session_id)
        if session is None or session.stream is None:
            self._diffs.mark_orphaned(entry.session_id, orphaned=True)

    def _give_up(self, number: int) -> None:
        """The proposal cannot be shown, so nobody can decide on it."""
        if self._book.is_open(number):
            entry = self._book[number]
            copy = self._book.copy_edited(number)
            if copy is not None:
                self._disk.watch_text(copy)
            self._diffs.reject(entry.session_id, entry.path)
