"""The diffs of a window after a restart: nothing that the user typed is lost between the two."""

from __future__ import annotations

from GeminiCompanion.companion.ide.disk_check import CHECKED_AFTER

from ..support import until
from ..tables import rows, word
from .window import PATH, WINDOW, WithoutServer


@rows("""
    a diff of which nobody knows is in the book from then on
        the editor has tabs of unknown | the editor comes back with unknown
        | what the editor was given of the file is nothing; the book holds open tabs
        | unknown is edited to mine | the book holds open mine; edited are yes
    a diff that was decided before the restart is closed and not rejected
        c connects & leaves & proposes & is accepted as mine
        | the companion restarts; the editor comes back with c
        | the diffs are nothing; the book holds decided mine
    a diff that is shown again says whether its CLI is there
        c connects & proposes; the companion restarts; c returns
        | the editor has lost its diffs; the editor comes back with nothing
        | the diffs are theirs of c; away is c: no
        | the companion restarts; the editor has lost its diffs; the editor comes back with
        nothing
        | the diffs are theirs of c; away is c: yes
        | the companion restarts; c ends; the marks are wiped off; the editor has lost its
        diffs; the editor comes back with nothing
        | the diffs are theirs of c; away is c: yes
    what was typed into a diff that cannot be shown again comes back
        c connects & proposes & is edited to mine; the companion restarts
        | the editor cannot show it | mine comes back; the book holds decided no text
    a text that a broken stream may not have brought waits after a restart
        c connects; a moment passes; c proposes & is accepted as mine; a moment passes
        | c leaves; the companion restarts; c returns with 1 events unread
        | c heard accepted mine and accepted mine
    a text that was read before the restart is not told again
        c connects; a moment passes; c proposes & is accepted as mine; a moment passes
        | c leaves; the companion restarts; c returns with 0 events unread
        | c heard accepted mine
    a rejection that a broken stream may not have brought waits after a restart
        c connects; a moment passes; c proposes & is rejected; a moment passes
        | c leaves; the companion restarts; c returns with 1 events unread
        | c heard rejected and rejected
    a rejection that was read before the restart is not told again
        c connects; a moment passes; c proposes & is rejected; a moment passes
        | c leaves; the companion restarts; c returns with 0 events unread | c heard rejected
    a text that went out in order goes to no other session
        a text went out in order just before the end
        | GRACE + 1 s pass; d connects; SETTLED + 1 s pass; told texts are due at once
        | d heard nothing; unwritten are mine; the user heard 0 sentences
    a text that may be read can be withdrawn after a restart
        a text went out in order just before the end; told texts are due at once
        | mine is withdrawn; c returns as if it had not read it
        | c heard rejected; the book holds nothing
    a text that was read can be withdrawn after a restart
        a text went out in order just before the end; told texts are due at once
        | mine is withdrawn; c returns as if it had read it
        | c heard nothing; the book holds nothing
    a text that may be read is not told after the next proposal
        a text went out in order just before the end | c proposes newer | the events are 0, 0
        | c returns as if it had not read it | c heard nothing
    a text that may be read waits over two restarts
        a text went out in order just before the end; the companion restarts
        | c returns as if it had not read it | c heard accepted mine
    who came back before a restart is told after it
        c connects & proposes & leaves; ABSENT + 1 s pass; d connects
        | the companion restarts; d returns; c is accepted as mine; SETTLED + 1 s pass
        | c is known: no; d heard accepted mine
    a decision for one that does not come back goes to no CLI that was there before the restart
        c connects & proposes; d connects; NOTICED s pass | the companion restarts; d returns
        | c is rejected; GRACE + SETTLED + 1 s pass | d heard nothing; e connects | e heard rejected
    nor does it where all streams end with the companion
        c connects & proposes; d connects; NOTICED s pass
        | all streams end and the companion restarts; d returns
        | c is rejected; GRACE + SETTLED + 1 s pass | d heard nothing; e connects | e heard rejected
    nor does it after two restarts
        c connects & proposes; d connects; NOTICED s pass; the companion restarts
        | the companion restarts; d returns
        | c is rejected; GRACE + SETTLED + 1 s pass | d heard nothing; e connects | e heard rejected
""")
class RestoredDiffs(WithoutServer):
    @word("the editor cannot show it")
    async def cannot_show(self) -> None:
        self.editor.refusal = f"{PATH} is a folder"
        with self.assertLogs("GeminiCompanion", "WARNING") as logs:
            await self.reconcile("nothing")
        self.assertNotIn(PATH, "".join(logs.output))
        # It can open a tab all the same.
        self.editor.refusal = ""

    @word("mine comes back")
    async def comes_back(self) -> None:
        await self.clock.advance(CHECKED_AFTER[-1] + 1)
        await until(lambda: self.editor.returned)
        self.assertEqual(self.editor.returned, [(WINDOW, PATH, "mine")])

    @word("a text went out in order just before the end")
    async def accept_and_restart(self) -> None:
        """The stream ends in good order; `self.event_id` is that of the text."""
        self.opens("c")
        self.returns("c")
        await self.clock.advance(0)
        await self.proposes("c")
        self.accept("c", "mine")
        await self.clock.advance(0)
        self.workspace.close(reject=False)
        session = self.by_name["c"]
        session.lose_stream(in_order=True)
        self.workspace.delivery.hand_on()
        self.event_id = session.saved_session().last_id
        self.begin_anew()
        self.readers.clear()

    @word("all streams end and the companion restarts")
    def end_and_restart(self) -> None:
        self.workspace.close(reject=False)
        self.workspace.sessions.end_all()
        for session in self.by_name.values():
            self.leave(session)
        self.workspace.delivery.hand_on()
        self.begin_anew()

    @word("c returns as if it had( not)? read it")
    def returns_then(self, not_read: str | None) -> None:
        last = self.event_id - bool(not_read)
        self.readers["c"] = [self.read(self.by_name["c"], last)]

    words = {"the marks are wiped off": lambda t: t.editor.orphaned.clear()}
    seen = {
        "what the editor was given of the file is": lambda t: t.editor.saved[PATH],
        "edited are": lambda t: [entry.is_edited for entry in t.workspace.book.entries()],
        "the events are": lambda t: [entry.event_id for entry in t.workspace.book.entries()],
        "c is known:": lambda t: t.workspace.sessions.find_session(t.id_of("c")) is not None,
    }
