"""One window's endpoint: its file, its context, its diffs and where decisions go."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from dataclasses import replace
from string import ascii_lowercase
from typing import Any, Callable, Mapping, TypeVar
from unittest import mock

from GeminiCompanion.companion.base import private_files
from GeminiCompanion.companion.base.large_json import TruncatedString
from GeminiCompanion.companion.ide import disk_check
from GeminiCompanion.companion.ide.clis import CLIS, GEMINI_CLI
from GeminiCompanion.companion.ide.context_updates import LONGEST_WAIT
from GeminiCompanion.companion.ide.decisions import OPEN, TOLD
from GeminiCompanion.companion.ide.diffs import MAX_OPEN_DIFFS, MAX_PATH, MAX_WINDOW_DIFFS
from GeminiCompanion.companion.ide.disk_check import CHECKED_AFTER
from GeminiCompanion.companion.ide.editor import EditorError, Proposal
from GeminiCompanion.companion.ide.events import WindowSettingsChanged
from GeminiCompanion.companion.ide.hooks import edit_makers, hook_desk, unasked_edits
from GeminiCompanion.companion.ide.session import Session
from GeminiCompanion.companion.ide.sharing import EXCLUDED, OUTSIDE, Sharing
from GeminiCompanion.companion.ide.window_settings import WindowSettings
from GeminiCompanion.companion.ide.window_trees import TreeFolders
from GeminiCompanion.companion.ide.workspace import Workspace

from ..support import Client, FakeEditor, begun, patched, until, untold
from ..tables import rows
from .window import ACCEPTED_TEXTS, PATH, PID, VERSION, WINDOW, Served, WithoutServer, path_of

T = TypeVar("T")

CONFLICT = "<<<<<<< proposal\ntheirs\n=======\nmine\n>>>>>>> your changes\n"
ACCEPTED = {"filePath": PATH, "content": "mine\n"}


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


@rows("""
    a new stream is told of the open files at once
        file a has the focus | c connects | c was shown a
    without files it is told of an empty list
        c connects | c was shown -
    every stream of a session begins with the context
        c connects; a moment passes | c returns | c was shown -, -
    an update follows fifty milliseconds after the last change
        c connects; file a has the focus; 0.04 s pass; file b has the focus; 0.04 s pass
        | c was shown - | 0.011 s pass | c was shown -, b+a
    a burst of changes is one update
        c connects | files a to z have the focus; 1 s pass | c was shown -, z
    what changes nothing sends nothing
        file a has the focus; c connects
        | something changed; 1 s pass; something changed; 1 s pass | c was shown a
    a change that is undone in time sends nothing
        c connects; file a has the focus; DEBOUNCE / 2 s pass | file a is closed; 1 s pass
        | c was shown -
    when the last file closes the list is empty
        file a has the focus; c connects | file a is closed; 1 s pass | c was shown a, -
    a change that still waits is told to a new stream and to the others once
        c connects; a moment passes | file a has the focus; d connects; 1 s pass
        | c was shown -, a; d was shown a
    what may be told no more is taken back without waiting for other changes
        c connects; file a has the focus; 1 s pass; file b has the focus
        | the user pauses the sharing | c was shown -, a, - | 1 s pass | c was shown -, a, -
    trust is left out unless somebody says it
        c connects
        | the window is trusted; the window is not trusted; nobody says whether it is trusted
        | the states that c got are {'openFiles': []}, {'openFiles': [], 'isTrusted': True},
        {'openFiles': [], 'isTrusted': False}, {'openFiles': []}
    the state of the window changes with a CLI that comes and one that stays away
        each change is looked at | c connects | the clients at the last change were Gemini CLI
        | c leaves; ABSENT + 1 s pass | the clients at the last change were nothing
""")
class Context(WithoutServer):
    async def trust(self, is_trusted: bool | None) -> None:
        self.workspace.updates.set_trust(is_trusted)
        await self.clock.advance(1)

    def close_file(self, number: int) -> None:
        self.workspace.context.close_file(number)
        self.workspace.updates.schedule_update()

    def states(self, name: str) -> list[Any]:
        (reader,) = self.readers[name]
        return [message["workspaceState"] for message in reader.received("ide/contextUpdate")]

    def look_at_clients(self) -> None:
        self.clients = tuple(client.name for client in self.workspace.status().clients)

    words = {
        "file ([ab]) has the focus": lambda t, name: t.focus(ord(name), name),
        "files a to z have the focus": lambda t: [t.focus(1, letter) for letter in ascii_lowercase],
        "file ([ab]) is closed": lambda t, name: t.close_file(ord(name)),
        "something changed": lambda t: t.workspace.updates.schedule_update(),
        "the user pauses the sharing": lambda t: WindowSettingsChanged(
            1, WindowSettings(sharing=Sharing(paused=True))
        ).apply_to(t.workspace),
        "the window is trusted": lambda t: t.trust(True),
        "the window is not trusted": lambda t: t.trust(False),
        "nobody says whether it is trusted": lambda t: t.trust(None),
        "each change is looked at": lambda t: setattr(t.workspace, "_on_change", t.look_at_clients),
    }
    seen = {
        "the states that (.) got are": lambda t, name: t.states(name),
        "the clients at the last change were": lambda t: t.clients,
    }

    async def test_changes_without_a_pause_hold_an_update_up_for_a_quarter_of_a_second(
        self,
    ) -> None:
        _, reader = self.connect()
        await self.clock.advance(0)
        for number in range(60):
            self.focus(1, str(number))
            await self.clock.advance(0.01)
        sent = len(reader.contexts()) - 1
        self.assertIn(sent - int(0.6 / LONGEST_WAIT), (0, 1))


@rows("""
    an accepted diff is told with path and text to the one who asked
        c connects; d connects; c proposes; d proposes | c is accepted as mine
        | c heard accepted mine; d heard nothing
    a rejected diff is told with its path alone
        c connects & proposes | c is rejected | c heard rejected
    closing gives the text and no notification
        c connects & proposes
        | c closes its diff and gets theirs & closes its diff and gets no text; 1 s pass
        | c heard nothing; proposals that wait: 0
    closing touches no diff of another session
        c connects; d connects; c proposes | d closes its diff and gets no text
        | the diffs are theirs of c
    the editor is told whether the user has decided in the client
        c connects & proposes | c closes its diff and gets theirs
        | the diffs left undecided are nothing
        | c proposes & closes its diff undecided and gets theirs
        | the diffs left undecided are /project/a.py
    what the editor cannot show is not waited for
        c connects; the editor refuses: It is a folder | c is refused, for It is a folder
        | proposals that wait: 0
    one CLI cannot open diffs without end
        c connects & proposes as often as it may
        | c is refused, for 128 open diffs & proposes again for 0; d connects & proposes
        | the diff of c for 0 is again | c is rejected for 1 & proposes | open diffs of c: 128
    many CLIs one after another cannot either
        CLIs that leave propose as often as they may; c connects
        | c is refused one.more, for open | proposals that wait: 256
    a diff whose session ended outlives a restart with its text
        c connects & proposes & leaves; GRACE + 1 s pass; c is edited to mine
        | the companion crashes; the editor comes back with nothing | the diffs are mine of c
    of a diff that came back the text that the editor gives is kept
        c connects & proposes & is edited to mine; the editor has tabs of c
        | the companion crashes; the editor comes back with c
        | the editor was given mine; the book holds open tabs
    a decision waits for a CLI whose stream comes back
        c connects & proposes & leaves | c is accepted as mine & returns
        | c heard accepted mine; the user heard 1 sentence
    a decision for a CLI that is gone is kept for the next and the user is told
        c connects & proposes & leaves; GRACE + 1 s pass | c is accepted as mine
        | the user heard 1 sentence of Show Changes | d connects; e connects
        | d heard accepted mine; e heard nothing
    the user is told where a stream breaks off right after it took a text
        c connects & proposes & is rejected; a moment passes | c leaves
        | the user heard 0 sentences; what counts as unwritten is 0
        | d connects & proposes & is accepted as mine; a moment passes
        | what counts as unwritten is 0 | d leaves
        | the user heard 1 sentence of Show Changes; what counts as unwritten is 1
    a decision that no stream took outlives its session
        c connects & proposes & leaves & is accepted as mine | GRACE + 1 s pass
        | open sessions: 0 | d connects | d heard accepted mine
    it goes to the CLI that is there where the one that asked is gone
        c connects & proposes & is gone; d connects; e connects | c is accepted as mine
        | e heard accepted mine; d heard nothing; the user heard 0 sentences
    a rejection goes to each that may be the one that asked
        b connects; c connects & proposes & is gone; d connects; e connects | c is rejected
        | d heard rejected; e heard rejected; b heard nothing; the book holds nothing
    nothing is passed on while a proposal for the path is open
        c connects & proposes & is gone; d connects & proposes
        | tab is accepted as mine; SETTLED + 1 s pass | d heard nothing
        | d closes its diff and gets theirs; SETTLED / 2 s pass | d heard nothing
    decisions that differ are passed on to nobody
        x is accepted as one; y is accepted as two | c connects; 1 s pass
        | c heard nothing; unwritten are one, two
    a session that ends with its stream open passes nothing on
        c connects; d connects; c proposes & is accepted as mine | c ends
        | the stream of c has ended: yes | c leaves | c heard accepted mine; d heard nothing
    a text that its CLI did not write outlives a restart
        c connects & is accepted as mine; told texts are due at once | the companion crashes
        | unwritten are mine
    a diff whose CLI is gone is shown as an orphan until the CLI is back
        c connects & proposes & leaves | ABSENT - 1 s pass | away is c: nothing | 2 s pass
        | away is c: yes | c returns | away is c: no
    a diff of which nobody knows is an orphan
        the editor comes back with unknown | away is unknown: yes
    a CLI without diffs leaves no orphans
        c connects & leaves | GRACE + 1 s pass | away is c: nothing
    a kept text that is withdrawn becomes a rejection
        c connects & proposes & leaves & is accepted as mine; 1 s pass | unwritten are mine
        | mine is withdrawn | unwritten are nothing | d connects; GRACE + 1 s pass
        | d heard rejected
    a kept text of one that is gone is withdrawn, too
        c connects & proposes & leaves & is accepted as mine; GRACE + 1 s pass
        | unwritten are mine | mine is withdrawn | unwritten are nothing
        | d connects; GRACE + 1 s pass | d heard rejected
    a text withdrawn is withdrawn from all and takes no other with it
        c connects & proposes & leaves & is accepted as one; d connects & proposes & leaves & is
        accepted as two; e connects & proposes & leaves & is accepted as one
        | unwritten are one, two | one is withdrawn
        | unwritten are two; the texts of the book are two
    one that comes back at once as another session is told in seconds
        c connects & proposes & leaves & is accepted as mine | d connects | d heard nothing
        | ABSENT + 1 s pass | d heard accepted mine
    a CLI that was there all along is not told of what another asked
        c connects; d connects; c proposes; NOTICED s pass; c leaves; GRACE + 1 s pass
        | c is accepted as mine; e connects | d heard nothing; e heard accepted mine
    what was never told decides on no later proposal
        c connects & proposes & leaves & is accepted as mine | c proposes & returns
        | c heard nothing; the book holds told mine, open theirs
    a CLI that closes what was accepted is given the text
        c connects & proposes & leaves & is accepted as mine
        | c closes its diff and gets mine & returns | c heard nothing
    a CLI that is back as another session closes its diff
        c connects & proposes; d connects
        | d closes its diff and gets no text; c leaves; GRACE + 1 s pass; d closes its diff and
        gets theirs
        | the diffs are nothing
    two that are away do not pile up rejections
        c opens a session; d opens a session; ABSENT + 1 s pass | c and d propose by turns
        | at most two decisions wait for c and d: yes
    one that is away is not taken for one of another kind that came later
        c connects & proposes & leaves; d connects as claude; e connects as qwen
        | ABSENT + 1 s pass; f connects as qwen | open sessions: 4
        | c is accepted as mine & returns | c heard accepted mine; f heard nothing
    a CLI of another kind closes no diff of one that is gone
        c connects & proposes & is gone; d connects as claude; e connects as qwen
        | d closes its diff and gets no text; e closes its diff and gets no text
        | the diffs are theirs of c
    a CLI between two streams keeps its diff
        c connects & proposes & leaves | d connects & proposes
        | the diffs are theirs of c, theirs of d; decisions that wait for c: 0
    what went out as the stream broke is told to the CLI that is back
        c connects & proposes & is rejected; a moment passes; READ / 2 s pass
        | c leaves; GRACE + 1 s pass; d connects | c heard rejected; d heard rejected
    what went out some time before the stream broke is told to no other
        c connects & proposes & is rejected; a moment passes; READ * 2 s pass
        | c leaves; GRACE + 1 s pass; d connects | c heard rejected; d heard nothing
    an acceptance without a text that went out then is told again too
        c connects & proposes & is accepted as nothing; a moment passes
        | c leaves; GRACE + 1 s pass; d connects | d heard accepted nothing
    an editor that lost a diff costs none of its text
        c connects & proposes & is edited to mine; the editor has lost its diffs
        | c closes its diff and gets mine | the book holds told mine that comes back
    a diff that was decided before the editor came back is closed
        c connects; the editor has theirs of c; the editor has theirs of unknown
        | the editor comes back with c, unknown
        | the diffs are theirs of unknown; c heard rejected
    of a rejection that waits no kept text is promised
        c connects & proposes & leaves | c is rejected
        | the user heard 1 sentence of your decision waits; a list is promised: no
    a text that was delivered cannot be withdrawn
        c connects & proposes & is accepted as mine; a moment passes | mine is not withdrawn
""")
class Decisions(WithoutServer):
    async def propose(self, session: Session, path: str = PATH, text: str = "theirs\n") -> None:
        await self.workspace.diffs.open_diff(session, path, text)

    async def propose_often(self, name: str) -> None:
        for number in range(MAX_OPEN_DIFFS):
            await self.proposes(name, None, str(number))

    async def many_propose(self) -> None:
        for number in range(MAX_WINDOW_DIFFS // MAX_OPEN_DIFFS):
            self.opens("gone")
            for each in range(MAX_OPEN_DIFFS):
                await self.propose(self.by_name["gone"], f"/{number}/{each}")
            self.end("gone")

    async def propose_by_turns(self) -> None:
        for _ in range(20):
            await self.proposes("c")
            await self.proposes("d")

    words = {
        "(c) proposes as often as it may": propose_often,
        "CLIs that leave propose as often as they may": many_propose,
        "c and d propose by turns": propose_by_turns,
    }
    seen = {
        "the diffs left undecided are": lambda t: t.editor.left,
        r"the diff of c for (\d) is": lambda t, name: t.editor.diffs[
            WINDOW, t.id_of("c"), path_of(name)
        ],
        "open diffs of c:": lambda t: len(t.workspace.book.numbers_in(OPEN, t.id_of("c"))),
        "the editor was given": lambda t: list(t.editor.saved.values()),
        "open sessions:": lambda t: len(t.workspace.sessions),
        r"the stream of (\w) has ended:": lambda t, name: t.readers[name][-1].ended,
        "the texts of the book are": lambda t: [
            proposal.text
            for proposal in t.workspace.saved_workspace(0.0).proposals
            if proposal.text
        ],
        "at most two decisions wait for c and d:": lambda t: (
            sum(len(untold(t.by_name[name])) for name in "cd") <= 2
        ),
        "decisions that wait for c:": lambda t: len(untold(t.by_name["c"])),
        "a list is promised:": lambda t: "Show Changes" in t.editor.told[0],
    }

    async def test_a_proposal_reaches_the_editor_of_this_window_as_it_was_sent(self) -> None:
        session, _ = self.connect()
        path = PATH + "/../ü//b."
        await self.propose(session, path)
        self.assertEqual(self.editor.diffs, {(WINDOW, session.id, path): "theirs\n"})

    async def test_a_cli_that_leaves_while_the_editor_opens_leaves_no_half_diff(self) -> None:
        class SlowEditor(FakeEditor):
            async def open_diff(self, window_id: int, proposal: Proposal) -> None:
                await released.wait()
                await super().open_diff(window_id, proposal)

        released = asyncio.Event()
        self.editor = SlowEditor()
        await self.begin()
        session, reader = self.connect()
        asking = asyncio.shield(self.propose(session))
        await self.clock.advance(0)
        asking.cancel()
        await self.clock.advance(0)
        self.assertTrue(asking.cancelled())
        released.set()
        await self.clock.advance(0)
        self.assertEqual(self.workspace.status().waiting, 1)
        self.assertEqual(len(self.editor.diffs), 1)
        self.workspace.diffs.decide(session.id, PATH, "mine\n")
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [ACCEPTED])

    async def test_a_text_that_its_cli_did_not_write_is_given_back(self) -> None:
        path = self.file(1, "a.py").path
        session, reader = self.connect()
        await self.propose(session, path)
        with mock.patch(ACCEPTED_TEXTS + ".PATIENCE", -1):
            self.workspace.diffs.decide(session.id, path, "mine\n")
            await self.clock.advance(0)
            self.assertEqual(len(reader.received("ide/diffAccepted")), 1)
            self.assertEqual(
                [unwritten[:2] for unwritten in self.workspace.accepted.unwritten_texts()],
                [(path, "mine\n")],
            )
            # Nobody has looked yet whether it is in its file.
            self.assertFalse(self.workspace.status().unwritten[0].is_missing)
            (entry,) = self.workspace.saved_workspace(time.time()).proposals
            self.assertEqual((entry.path, entry.text, entry.state), (path, "mine\n", TOLD))
            write(path, "mine\n")
            await self.workspace.check_for_changes()
            self.assertEqual(self.workspace.accepted.unwritten_texts(), ())

    async def test_a_diff_that_fails_after_its_cli_left_waits_for_nobody(self) -> None:
        session, _ = self.connect()
        shown = asyncio.get_running_loop().create_future()
        with mock.patch.object(self.editor, "open_diff", lambda *_: shown):
            opening = asyncio.ensure_future(self.workspace.diffs.open_diff(session, PATH, "text\n"))
            asking = asyncio.shield(opening)
            await self.clock.advance(0)
            asking.cancel()
            await self.clock.advance(0)
            shown.set_exception(EditorError("no"))
            with self.assertRaises(EditorError):
                await opening
        self.assertEqual(self.workspace.book.numbers_in(OPEN), [])

    async def test_a_decision_that_goes_out_at_this_moment_is_not_handed_out_again(self) -> None:
        session = self.workspace.sessions.open_session(VERSION)
        await self.propose(session)
        self.workspace.diffs.decide(session.id, PATH, "mine\n")
        stream = session.attach_stream(None)
        event = await stream.next(1)
        self.assertEqual(event and event.value.notification()[1], ACCEPTED)
        self.assertIsNone(await self.workspace.diffs.close_diff(session, PATH))
        # The write fails: it was not told, and is told by the next stream.
        self.leave(session)
        reader = self.read(session)
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [ACCEPTED])
        self.assertIsNone(await self.workspace.diffs.close_diff(session, PATH))

    async def test_a_decision_on_a_proposal_that_is_just_replaced_closes_the_newer_one(
        self,
    ) -> None:
        session, reader = self.connect()
        await self.propose(session)
        real = self.editor.open_diff

        async def decide_first(window_id: int, proposal: Proposal) -> None:
            self.workspace.diffs.decide(session.id, PATH, "mine\n")
            await real(window_id, proposal)

        with mock.patch.object(self.editor, "open_diff", decide_first):
            await self.propose(session, text="newer\n")
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [ACCEPTED])
        self.assertEqual((self.editor.diffs, self.workspace.status().waiting), ({}, 0))

    async def test_a_text_that_is_on_disk_is_seen_before_the_next_one_is_written(self) -> None:
        path = self.file(1, "a.py").path
        session, _ = self.connect()
        self.workspace.diffs.decide(session.id, path, "one\n")
        await self.clock.advance(0)
        write(path, "one\n")
        self.workspace.diffs.decide(session.id, path, "two\n")
        await until(lambda: [entry.text for entry in self.workspace.book.entries()] == ["two\n"])

    async def test_each_proposal_has_its_moment_and_the_name_of_its_cli(self) -> None:
        session = self.workspace.sessions.open_session(VERSION, "a CLI 1.0")
        before = time.time()
        await self.propose(session)
        (entry,) = self.workspace.book.entries()
        self.assertEqual(entry.client, "a CLI 1.0")
        self.assertTrue(before <= entry.opened_at <= time.time())

    async def test_a_path_that_no_system_could_have_is_refused(self) -> None:
        session, _ = self.connect()
        with self.assertRaisesRegex(EditorError, "at most"):
            await self.propose(session, "/" + "x" * MAX_PATH)

    async def test_a_proposal_that_is_not_whole_is_said_to_be_so_and_not_kept(self) -> None:
        session, _ = self.connect()
        shown: list[Proposal] = []

        async def show(window_id: int, proposal: Proposal) -> None:
            shown.append(proposal)

        with mock.patch.object(self.editor, "open_diff", show):
            await self.workspace.diffs.open_diff(session, PATH, "whole")
            await self.workspace.diffs.open_diff(session, PATH, TruncatedString("part"))
        self.assertEqual([proposal.is_whole for proposal in shown], [True, False])
        (entry,) = self.workspace.saved_workspace(time.time()).proposals
        self.assertIsNone(entry.text)


@rows("""
    it comes back where the CLI does not write it
        the user types mine; the CLI closes the diff
        | unwritten are nothing; mine comes back; kept are nothing
    it does not where the CLI writes it
        the user types mine; the CLI closes the diff | the CLI writes mine; the looks are over
        | what came back is nothing; kept are nothing
    where nothing was typed nothing comes back
        the CLI closes the diff | kept are nothing
    where nothing was typed and the tab stays nothing comes back
        the CLI closes the diff undecided | kept are nothing
    where the tab stays nothing comes back
        the user types mine | the CLI closes the diff undecided | kept are nothing
    it comes back after a restart in the same seconds
        the user types mine; the CLI closes the diff | the companion restarts | mine comes back
    a CLI that leaves before the answer loses none of it
        the user types mine | the CLI closes the diff and leaves | mine comes back
    a text with marks of a conflict comes back and is given to nobody
        a merge leaves a conflict | the CLI closes the diff and gets nothing
        | the conflict comes back
    nor is one of a tab that the editor has lost
        a merge leaves a conflict; the editor loses the tab
        | the CLI closes the diff and gets nothing | the conflict comes back
    an older text of the path stays while a newer proposal is open
        the user types mine; the CLI closes the diff | the CLI proposes newer
        | kept are mine, newer; mine comes back; proposals that wait: 1
""")
class HandedOver(WithoutServer):
    """What closeDiff gave to the CLI, of a diff that the user has typed into or not."""

    async def begin(self) -> None:
        await super().begin()
        # The test's own time would not wait for a thread.
        patched(self, mock.patch.object(disk_check, "in_thread", _at_once))
        self.path = self.file(1, "a.py").path
        self.session, _ = self.connect()
        await self.propose("theirs")

    async def propose(self, text: str) -> None:
        await self.workspace.diffs.open_diff(self.session, self.path, text)

    def type_into(self, text: str = "mine") -> None:
        self.editor.diffs[WINDOW, self.session.id, self.path] = text
        self.editor.edited.add((WINDOW, self.path))

    async def close(self, undecided: str | None = None) -> None:
        await self.workspace.diffs.close_diff(self.session, self.path, not undecided)

    async def get_nothing(self) -> None:
        self.assertIsNone(await self.workspace.diffs.close_diff(self.session, self.path))

    def lose_tab(self) -> None:
        """What is in it was saved before."""
        text = self.editor.diffs.pop((WINDOW, self.session.id, self.path))
        self.workspace.diffs.note_edit(self.session.id, self.path, text or "")

    async def close_and_leave(self) -> None:
        asking = await begun(asyncio.shield(self.close()))
        asking.cancel()
        await self.wait()
        self.assertTrue(asking.cancelled())

    async def wait(self) -> None:
        """Let the looks at the disk pass."""
        for seconds in (0.0, *CHECKED_AFTER):
            await self.clock.advance(seconds)

    async def comes_back(self, text: str = "mine") -> None:
        await self.wait()
        await until(lambda: self.editor.returned)
        self.assertEqual(self.editor.returned, [(WINDOW, self.path, text)])

    words = {
        r"the CLI proposes (\w+)": propose,
        "the user types mine": type_into,
        "the CLI closes the diff( undecided)?": close,
        "the CLI closes the diff and leaves": close_and_leave,
        "a merge leaves a conflict": lambda t: t.type_into(CONFLICT),
        "the editor loses the tab": lose_tab,
        "the CLI closes the diff and gets nothing": get_nothing,
        "the conflict comes back": lambda t: t.comes_back(CONFLICT),
        "the CLI writes mine": lambda t: write(t.path, "mine"),
        "the looks are over": wait,
        "mine comes back": comes_back,
    }
    seen = {
        "what came back is": lambda t: t.editor.returned,
        "kept are": lambda t: [entry.text for entry in t.workspace.book.entries()],
    }


async def _at_once(work: Callable[[], T], seconds: float = 0.0) -> T:
    return work()


def discovery_files(folder: str) -> list[str]:
    """Without the keys of hooks, which stand beside them."""
    return [name for name in os.listdir(folder) if name.endswith(".json")]


class UndoneEdit(WithoutServer):
    """CLIs of one kind, each with its process and a session of its own. The first has made an edit
    without asking."""

    async def begin(self) -> None:
        await super().begin()
        for module in (hook_desk, disk_check, unasked_edits, edit_makers):
            patched(self, mock.patch.object(module, "in_thread", _at_once))
        self.running = {1, 2}
        patched(self, mock.patch.object(private_files, "is_running", self.running.__contains__))
        self.namespace = ""
        self.path = os.path.join(self.temp, "a.py")

    async def edit(self) -> None:
        tool = {"tool_name": "write_file", "tool_input": {"file_path": self.path}}
        await self.hook(1, "BeforeAgent", prompt="do")
        await self.hook(1, "BeforeTool", **tool)
        write(self.path, "new")
        await self.hook(1, "AfterTool", **tool, tool_response={})

    def undo(self) -> None:
        (edit,) = self.editor.unasked
        self.workspace.unasked.taken_back(edit.turn, edit.client, edit.path, True)

    def start_again(self, **without: Any) -> None:
        saved = replace(self.workspace.saved_workspace(time.time()), **without)
        self.workspace = Workspace(WINDOW, (), self.editor)
        self.workspace.restore(saved)

    async def hook(self, pid: int, name: str, **told: Any) -> Mapping[str, Any]:
        told.update(hook_event_name=name, session_id=str(pid))
        body = {"pid": pid, "pid_namespace": self.namespace, "input": told}
        return await self.workspace.hooks.answer_hook(GEMINI_CLI, body)

    async def prompt(self, pid: int) -> str:
        """What its model hears."""
        answer = await self.hook(pid, "BeforeAgent", prompt="do")
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    @property
    def sentence(self) -> str:
        return unasked_edits.UNDONE.format(self.path)

    async def test_the_next_cli_hears_what_was_undone_of_one_that_was_killed(self) -> None:
        await self.edit()
        self.undo()
        await self.workspace.check_for_changes()
        self.assertEqual(await self.prompt(2), "")
        self.running.remove(1)
        await self.workspace.check_for_changes()
        self.assertEqual(await self.prompt(2), self.sentence)
        self.assertEqual(await self.prompt(2), "")

    async def test_after_restarts_only_the_cli_that_made_the_edit_hears_that_it_was_undone(
        self,
    ) -> None:
        await self.edit()
        self.start_again()
        self.start_again()
        self.undo()
        await self.workspace.check_for_changes()
        self.assertEqual(await self.prompt(2), "")
        self.assertEqual(await self.prompt(1), self.sentence)

    async def test_what_was_undone_before_a_restart_and_not_heard_yet_is_heard_after_it(
        self,
    ) -> None:
        await self.edit()
        self.undo()
        self.start_again()
        self.start_again()
        await self.workspace.check_for_changes()
        self.assertEqual(await self.prompt(2), "")
        self.assertEqual(await self.prompt(1), self.sentence)
        self.start_again()
        self.assertEqual(await self.prompt(1), "")

    async def test_after_a_restart_the_next_cli_hears_it_once_the_one_that_made_the_edit_has_ended(
        self,
    ) -> None:
        await self.edit()
        self.start_again()
        self.undo()
        self.running.remove(1)
        await self.workspace.check_for_changes()
        self.assertEqual(await self.prompt(2), self.sentence)

    async def test_after_a_restart_a_cli_of_another_system_is_waited_for_a_while(self) -> None:
        self.namespace = "another"
        await self.edit()
        self.start_again()
        self.undo()
        await self.workspace.check_for_changes()
        self.assertEqual(await self.prompt(2), "")
        late = time.time() + hook_desk.SILENT + 1
        with mock.patch.object(time, "time", lambda: late):
            await self.workspace.check_for_changes()
        self.assertEqual(await self.prompt(2), self.sentence)

    async def test_after_a_restart_a_process_of_that_number_is_waited_for_a_day(self) -> None:
        """It may be another one by then."""
        await self.edit()
        self.start_again()
        self.undo()
        late = time.time() + edit_makers.RUNS + 1
        with mock.patch.object(time, "time", lambda: late):
            await self.workspace.check_for_changes()
        self.assertEqual(await self.prompt(2), self.sentence)

    async def test_one_that_ended_before_the_restart_is_not_waited_for(self) -> None:
        await self.edit()
        await self.hook(1, "SessionEnd")
        self.start_again()
        self.undo()
        self.assertEqual(await self.prompt(2), self.sentence)

    async def test_where_an_older_release_saved_the_state_any_cli_of_the_kind_hears_it(
        self,
    ) -> None:
        await self.edit()
        self.start_again(turns=())
        self.undo()
        self.assertEqual(await self.prompt(2), self.sentence)


class DiscoveryFile(Served):
    def test_it_leads_to_the_server(self) -> None:
        self.serve("/one", "/two")
        (file,) = self.files()
        self.assertEqual(file["workspacePath"], os.pathsep.join(["/one", "/two"]))
        self.assertEqual(
            discovery_files(self.folder), [f"gemini-ide-server-{PID}-{file['port']}.json"]
        )
        self.assertEqual(self.client().call("ping")["result"], {})

    def test_the_variables_of_terminals_say_the_same(self) -> None:
        self.serve("/one", "/two")
        (file,) = self.files()
        environment = self.workspace.advertisement.environment()
        self.assertEqual(
            {name: environment[name] for name in environment if name.startswith("GEMINI_")},
            {
                "GEMINI_CLI_IDE_SERVER_PORT": str(file["port"]),
                "GEMINI_CLI_IDE_WORKSPACE_PATH": file["workspacePath"],
                "GEMINI_CLI_IDE_AUTH_TOKEN": file["authToken"],
                "GEMINI_CLI_IDE_PID": str(PID),
            },
        )

    def test_the_variables_of_terminals_lead_every_cli_here(self) -> None:
        self.serve("/one", "/two")
        environment = self.workspace.advertisement.environment()
        for cli in CLIS:
            self.assertEqual(environment[cli.variables.port], environment[CLIS[0].variables.port])

    def test_every_window_has_a_token_of_its_own_that_nobody_can_guess(self) -> None:
        async def token() -> str:
            return Workspace(WINDOW, (), self.editor).advertisement.token

        tokens = [asyncio.run(token()) for _ in range(3)]
        self.assertEqual(len(set(tokens)), 3)
        # 32 bytes in base64.
        self.assertTrue(all(len(token) >= 43 for token in tokens))

    def test_other_folders_are_written_and_at_no_moment_is_there_no_file(self) -> None:
        self.serve("/one")
        (before,) = self.files()
        removed: list[str] = []
        system_unlink = os.unlink

        def watched_unlink(path: str) -> None:
            removed.append(path)
            system_unlink(path)

        with mock.patch.object(os, "unlink", watched_unlink):
            self.background.call(self.workspace.change_folders, ("/two",))
        self.assertEqual(self.files(), [{**before, "workspacePath": "/two"}])
        self.assertEqual(removed, [])
        environment = self.workspace.advertisement.environment()
        self.assertEqual(environment["GEMINI_CLI_IDE_WORKSPACE_PATH"], "/two")

    def test_it_names_work_trees_that_no_terminal_of_the_window_is_told_of(self) -> None:
        """A CLI in a work tree finds the window; Gemini CLI may write into all that its variables
        name."""
        self.serve("/one")
        self.background.call(
            self.workspace.change_folders, ("/one",), (TreeFolders(("/trees/a",)),)
        )
        [file] = self.files()
        self.assertEqual(file["workspacePath"], os.pathsep.join(["/one", "/trees/a"]))
        told = self.workspace.advertisement.environment()
        self.assertEqual(told["GEMINI_CLI_IDE_WORKSPACE_PATH"], "/one")
        self.assertEqual(self.workspace.saved_workspace(0.0).folders, ("/one",))

    def test_a_file_in_a_work_tree_is_shared_as_one_of_the_project(self) -> None:
        self.serve("/one")
        sharing = Sharing(exclude=("/secrets/",), only_project_files=True)
        self.background.call(
            self.workspace.change_folders, ("/one",), (TreeFolders(("/trees/a",)),)
        )
        self.workspace.context.sharing = sharing
        gate = self.workspace.context.gate()
        reasons = [
            sharing.reason_to_hide(path, gate.folders)
            for path in ("/trees/a/x.py", "/trees/a/secrets/x", "/trees/b/x.py")
        ]
        self.assertEqual(reasons, ["", EXCLUDED, OUTSIDE])

    def test_it_comes_after_the_socket_and_goes_before_it(self) -> None:
        answered: list[bool] = []
        system_replace, system_unlink = os.replace, os.unlink

        def probe(path: str) -> None:
            port = int(path.rsplit("-", 1)[1][: -len(".json")])
            with socket.socket() as connection:
                connection.settimeout(5)
                answered.append(connection.connect_ex(("127.0.0.1", port)) == 0)

        def watched_replace(source: str, target: str) -> None:
            if target.endswith(".json"):
                probe(target)
            system_replace(source, target)

        def watched_unlink(path: str) -> None:
            if path.endswith(".json"):
                probe(path)
            system_unlink(path)

        with mock.patch.object(os, "replace", watched_replace):
            with mock.patch.object(os, "unlink", watched_unlink):
                self.serve()
                self.background.stop()
        self.assertEqual(answered, [True, True])
        self.assertEqual(discovery_files(self.folder), [])

    def test_where_it_cannot_be_written_the_user_is_told_and_the_server_serves(self) -> None:
        open(os.path.join(self.temp, "gemini"), "w").close()
        self.serve("/one")
        self.assertEqual(len(self.editor.told), 1)
        self.assertIn("should be a folder", self.editor.told[0])
        self.assertEqual(self.workspace.status().discovery_paths, ())
        environment = self.workspace.advertisement.environment()
        port, token = (
            environment["GEMINI_CLI_IDE_" + name] for name in ("SERVER_PORT", "AUTH_TOKEN")
        )
        client = Client(int(port), token)
        client.initialize()
        self.assertEqual(client.call("ping")["result"], {})

    def test_the_next_change_of_folders_tries_again(self) -> None:
        obstacle = os.path.join(self.temp, "gemini")
        open(obstacle, "w").close()
        self.serve("/one")
        os.unlink(obstacle)
        self.background.call(self.workspace.change_folders, ("/two",))
        self.assertEqual(self.files()[0]["workspacePath"], "/two")
        self.assertEqual(len(self.workspace.status().discovery_paths), 1)

    def test_a_change_that_cannot_be_written_leaves_no_file_with_the_old_folders(self) -> None:
        self.serve("/one")
        (name,) = discovery_files(self.folder)
        full = OSError(28, "No space left on device")
        with mock.patch.object(os, "replace", side_effect=full):
            self.background.call(self.workspace.change_folders, ("/two",))
        self.assertEqual(discovery_files(self.folder), [])
        self.assertIn("No space left on device", self.editor.told[0])


class TheWholeWay(Served):
    def test_a_proposal_goes_to_the_editor_and_the_decision_comes_back(self) -> None:
        self.serve()
        client = self.client()
        with client.stream() as stream:
            context = stream.next()
            self.assertEqual(context and context.message["method"], "ide/contextUpdate")
            result = client.tool("openDiff", filePath=PATH, newContent="theirs\n")
            self.assertEqual(result, {"content": []})
            self.background.call(self.workspace.diffs.decide, client.session_id, PATH, "mine\n")
            event = stream.next()
            self.assertEqual(
                event.message,
                {"jsonrpc": "2.0", "method": "ide/diffAccepted", "params": ACCEPTED},
            )

    def test_text_that_is_no_valid_unicode_comes_back_as_it_is(self) -> None:
        self.serve()
        client = self.client()
        with client.stream() as stream:
            stream.next()
            decide = self.workspace.diffs.decide
            self.background.call(decide, client.session_id, PATH, "half \ud83d")
            event = stream.next()
            self.assertEqual(event.message["params"]["content"], "half \ud83d")

    def test_the_status_says_what_is_going_on(self) -> None:
        self.serve("/one")
        client = self.client()
        with client.stream() as stream:
            stream.next()
            client.tool("openDiff", filePath=PATH, newContent="")
            status = self.background.call(self.workspace.status)
        self.assertEqual((status.window_id, status.port), (WINDOW, client.port))
        self.assertEqual((status.folders, status.connected, status.waiting), (("/one",), 1, 1))
        self.assertEqual([os.path.dirname(path) for path in status.discovery_paths], [self.folder])


class TheEnd(Served):
    def test_open_diffs_are_rejected_and_the_stream_ends_in_good_order(self) -> None:
        self.serve()
        client = self.client()
        with client.stream() as stream:
            stream.next()
            client.tool("openDiff", filePath=PATH, newContent="")
            self.background.stop()
            event = stream.next()
            self.assertEqual(event.message["method"], "ide/diffRejected")
            self.assertTrue(stream.ended())
        self.assertEqual(self.editor.told, [])

    def test_nobody_is_told_that_a_decision_waits_for_what_will_not_come(self) -> None:
        self.serve()
        client = self.client()
        client.tool("openDiff", filePath=PATH, newContent="")
        self.background.stop()
        self.assertEqual(self.editor.told, [])

    def test_the_diffs_of_one_cli_are_not_rejected_to_another(self) -> None:
        self.serve()
        away, client = self.client(), self.client()
        away.tool("openDiff", filePath=PATH, newContent="")
        with client.stream() as stream:
            stream.next()
            self.background.stop()
            self.assertTrue(stream.ended())
