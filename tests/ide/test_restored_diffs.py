"""The diffs of a window after a restart: nothing that the user typed is lost between the two."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.ide.disk_check import LOOKS

from ..support import until
from ..tables import rows, word
from .window import PATH, WithoutServer


@rows("""
    a diff of which nobody knows is in the book from then on
        given the editor has tabs of unknown
        when  the editor comes back with unknown
        then  nothing had been saved of it; the book holds open tabs
        when  unknown is edited to mine
        then  the book holds open mine; it counts as edited
    a diff that was decided before the restart is closed and not rejected
        given c connects; c leaves; c proposes; c is accepted as mine
        when  the companion restarts; the editor comes back with c
        then  the diffs are none; the book holds decided mine
    a diff that is shown again says whether its CLI is there
        given c connects; c proposes; the companion restarts; c returns
        when  the editor has lost its diffs; the editor comes back with nothing
        then  the diffs are theirs of c; c is said to be here
        when  the companion restarts
        and   the editor has lost its diffs; the editor comes back with nothing
        then  the diffs are theirs of c; c is said to be away
        when  the companion restarts; c ends; the marks are wiped off
        and   the editor has lost its diffs; the editor comes back with nothing
        then  the diffs are theirs of c; c is said to be away
    what was typed into a diff that cannot be shown again comes back
        given c connects; c proposes; c is edited to mine; the companion restarts
        when  the editor cannot show it
        then  mine comes back; the book holds decided no text
    a text that a broken stream may not have brought waits after a restart
        given c connects; a moment passes; c proposes; c is accepted as mine; a moment passes
        when  c leaves; the companion restarts; c returns with 1 events unread
        then  c heard accepted mine and accepted mine
    a text that was read before the restart is not told again
        given c connects; a moment passes; c proposes; c is accepted as mine; a moment passes
        when  c leaves; the companion restarts; c returns with 0 events unread
        then  c heard accepted mine
    a rejection that a broken stream may not have brought waits after a restart
        given c connects; a moment passes; c proposes; c is rejected; a moment passes
        when  c leaves; the companion restarts; c returns with 1 events unread
        then  c heard rejected and rejected
    a rejection that was read before the restart is not told again
        given c connects; a moment passes; c proposes; c is rejected; a moment passes
        when  c leaves; the companion restarts; c returns with 0 events unread
        then  c heard rejected
    a text that went out in order goes to no other session
        given a text went out in order just before the end
        when  GRACE + 1 s pass; d connects; SETTLED + 1 s pass; told texts are due at once
        then  d heard nothing; unwritten are mine; the user heard 0 sentences
    a text that may be read can be withdrawn after a restart
        given a text went out in order just before the end; told texts are due at once
        when  mine is withdrawn; c returns as if it had not read it
        then  c heard rejected; the book holds nothing
    a text that was read can be withdrawn after a restart
        given a text went out in order just before the end; told texts are due at once
        when  mine is withdrawn; c returns as if it had read it
        then  c heard nothing; the book holds nothing
    a text that may be read is not told after the next proposal
        given a text went out in order just before the end
        when  c proposes newer
        then  no decision is in a queue
        when  c returns as if it had not read it
        then  c heard nothing
    a text that may be read waits over two restarts
        given a text went out in order just before the end; the companion restarts
        when  c returns as if it had not read it
        then  c heard accepted mine
    who came back before a restart is told after it
        given c connects; c proposes; c leaves; ABSENT + 1 s pass; d connects
        when  the companion restarts; d returns; c is accepted as mine; SETTLED + 1 s pass
        then  c is unknown; d heard accepted mine
""")
class RestoredDiffs(WithoutServer):
    @word("nothing had been saved of it")
    def nothing_saved(self) -> None:
        self.assertEqual(self.editor.saved, {PATH: None})

    @word("it counts as edited")
    def is_edited(self) -> None:
        self.assertEqual([it.is_edited for it in self.workspace.book.entries()], [True])

    @word("the marks are wiped off")
    def nobody_away(self) -> None:
        self.editor.orphaned.clear()

    @word("the editor cannot show it")
    async def cannot_show(self) -> None:
        self.editor.refusal = f"{PATH} is a folder"
        with self.assertLogs("GeminiCompanion", "WARNING") as logs:
            await self.reconcile("nothing")
        self.assertNotIn(PATH, "".join(logs.output))

    @word("mine comes back")
    async def comes_back(self) -> None:
        await self.clock.advance(LOOKS[-1] + 1)
        await until(lambda: self.editor.returned)
        self.gave_back("mine")

    @word("a text went out in order just before the end")
    async def accept_and_restart(self) -> None:
        """The stream ends in good order; `self.event_id` is that of the text."""
        self.connects("c")
        await self.clock.advance(0)
        await self.proposes("c")
        self.accept("c", "mine")
        await self.clock.advance(0)
        self.workspace.close(reject=False)
        session = self.by_name["c"]
        session.lose_stream(in_order=True)
        self.workspace.delivery.hand_on()
        self.event_id = session.saved().last_id
        self.begin_anew()
        self.readers.clear()

    @word("c returns as if it had( not)? read it")
    def returns_then(self, not_read: str | None) -> None:
        last = self.event_id - bool(not_read)
        self.readers["c"] = [self.read(self.by_name["c"], last)]

    @word("no decision is in a queue")
    def no_queue(self) -> None:
        self.assertEqual([it.event_id for it in self.workspace.book.entries()], [0, 0])

    @word("c is unknown")
    def is_unknown(self) -> None:
        self.assertIsNone(self.workspace.sessions.find(self.id_of("c")))


if __name__ == "__main__":
    unittest.main()
