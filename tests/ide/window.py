"""A window without a server as tests play with it: CLIs by their names, in the test's own time.

What is decided is on `PATH`, unless another file is named, and a text is a word. In the steps of a
table `accepted mine` and `rejected` are what a CLI heard, several joined by `and`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from typing import Any, AsyncIterator, Callable
from unittest import mock

from GeminiCompanion.companion.ide import delivery
from GeminiCompanion.companion.ide.clis import CONNECTING_CLIS, GEMINI_CLI
from GeminiCompanion.companion.ide.context import OpenFile
from GeminiCompanion.companion.ide.context_updates import DEBOUNCE
from GeminiCompanion.companion.ide.decisions import Entry
from GeminiCompanion.companion.ide.editor import EditorError
from GeminiCompanion.companion.ide.session import ABSENT, READ, Session, StreamEnded
from GeminiCompanion.companion.ide.sessions import NOTICED
from GeminiCompanion.companion.ide.silence import GRACE
from GeminiCompanion.companion.ide.workspace import Workspace

from ..support import (
    PATIENCE,
    Background,
    Client,
    Clock,
    FakeEditor,
    InLoop,
    discovery_files,
    patched,
    temp_folder,
)
from ..tables import word

ACCEPTED_TEXTS = "GeminiCompanion.companion.ide.accepted_texts"
WINDOW = 7
VERSION = "2025-06-18"
PID = 2**30
PATH = os.path.abspath(os.path.join(os.sep, "project", "a.py"))
# In seconds, by the names that tables have for them.
SPANS = {"ABSENT": ABSENT, "GRACE": GRACE, "NOTICED": NOTICED, "READ": READ}
SPANS.update(SETTLED=delivery.SETTLED, DEBOUNCE=DEBOUNCE)


class Reader:
    """A CLI that reads its stream: `messages` are those that came, `last_id` is the id of the last,
    `ended` whether the stream ended."""

    def __init__(self, session: Session, last_event_id: int | None = None) -> None:
        self.messages: list[Any] = []
        self.ended, self.last_id = False, 0
        self._stream = session.attach_stream(last_event_id)
        self._task = asyncio.ensure_future(self._read())

    def contexts(self) -> list[list[str]]:
        """The names of the open files in each context that came."""
        return [
            [os.path.basename(file["path"]) for file in params["workspaceState"]["openFiles"]]
            for params in self.received("ide/contextUpdate")
        ]

    def received(self, method: str) -> list[Any]:
        return [message["params"] for message in self.messages if message["method"] == method]

    async def _read(self) -> None:
        try:
            while True:
                event = await self._stream.next(3600)
                if event is not None:
                    self.last_id = event.id
                    method, params = event.value.notification()
                    self.messages.append({"method": method, "params": params})
        except StreamEnded:
            self.ended = True


def decisions(messages: list[Any]) -> str:
    """What was heard, in the words of the tables."""
    found = []
    for message in messages:
        if message["method"] in ("ide/diffAccepted", "ide/diffRejected"):
            params = dict(message["params"])
            path, text = params.pop("filePath"), params.pop("content", None)
            heard = ["rejected" if text is None else f"accepted {text or 'nothing'}"]
            heard += [] if path == PATH else [f"for {os.path.basename(path)}"]
            is_as_told = not params and (text is None) == (message["method"] == "ide/diffRejected")
            found.append(" ".join(heard) if is_as_told else repr(message))
    return " and ".join(found) or "nothing"


def path_of(name: str | None) -> str:
    return PATH if name is None else os.path.join(os.path.dirname(PATH), name)


def text_of(word: str | None) -> str:
    return "" if word == "nothing" else word or "theirs"


class FilesTestCase(InLoop):
    """`self.temp` is the temp folder; `self.file` makes a file there."""

    def setUp(self) -> None:
        self.temp = temp_folder(self)
        self.editor = FakeEditor()

    def file(self, view_id: int, name: str, **more: Any) -> OpenFile:
        path = os.path.join(self.temp, name)
        open(path, "w").close()
        return OpenFile(view_id, path, **more)


class Served(FilesTestCase):
    """The workspace with its server, seen from outside. `self.folder` has the discovery files."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = os.path.join(self.temp, "gemini", "ide")

    def serve(self, *folders: str) -> None:
        self.background = Background(lambda: self.serving(folders))
        self.addCleanup(self.background.stop)
        self.background.start()

    @contextlib.asynccontextmanager
    async def serving(self, folders: tuple[str, ...]) -> AsyncIterator[None]:
        opened = asyncio.Event()
        self.workspace = Workspace(WINDOW, folders, self.editor, on_change=opened.set)
        running = asyncio.ensure_future(self.workspace.run(PID))
        await asyncio.wait_for(opened.wait(), PATIENCE)
        try:
            yield
        finally:
            self.workspace.close()
            await running

    def files(self) -> list[Any]:
        """What each discovery file says."""
        return list(discovery_files(self.folder).values())

    def client(self) -> Client:
        (file,) = self.files()
        client = Client(file["port"], file["authToken"])
        client.initialize()
        return client


class WithoutServer(FilesTestCase):
    """The workspace alone, in the test's own loop and time. `begin` comes first."""

    async def begin(self) -> None:
        self.clock = Clock()
        self.workspace = Workspace(WINDOW, (), self.editor)
        self.by_name: dict[str, Session] = {}
        self.readers: dict[str, list[Reader]] = {}

    async def begins(self, part: str) -> None:
        """What is due has happened before anything is looked at."""
        if part == "then":
            await self.clock.advance(0)

    def connect(self) -> tuple[Session, Reader]:
        """What the transport does when a CLI connects and opens its stream."""
        session = self.workspace.sessions.open_session(VERSION)
        return session, self.read(session)

    def read(self, session: Session, last_event_id: int | None = None) -> Reader:
        reader = Reader(session, last_event_id)
        self.workspace._stream_began(session)
        return reader

    def leave(self, session: Session) -> None:
        if session.stream is not None:
            self.workspace.sessions.detach_stream(session, session.stream)

    def focus(self, view_id: int, name: str) -> None:
        self.workspace.context.focus_file(self.file(view_id, name))
        self.workspace.updates.schedule_update()

    def begin_anew(self) -> None:
        """Another companion takes over what this one has saved."""
        saved = self.workspace.saved_workspace(time.time())
        self.workspace = Workspace(WINDOW, (), self.editor)
        self.workspace.restore(saved)
        for name, session in self.by_name.items():
            self.by_name[name] = self.workspace.sessions.find_session(session.id) or session

    def name_of(self, id: str) -> str:
        return next((name for name, session in self.by_name.items() if session.id == id), id)

    def id_of(self, name: str) -> str:
        """That of a session; of one that nobody knows it is the name itself."""
        return self.by_name[name].id if name in self.by_name else name

    @word(r"(\w+) opens a session(?: as (\w+))?")
    def opens(self, name: str, kind: str | None = None) -> None:
        cli = next((each for each in CONNECTING_CLIS if each.id == kind), GEMINI_CLI)
        self.by_name[name] = self.workspace.sessions.open_session(VERSION, cli=cli)

    @word(r"(\w+) returns(?: with (-?\d+) events unread)?")
    def returns(self, name: str, unread: str | None = None) -> None:
        """It says what it has read; or nothing."""
        known = self.readers.setdefault(name, [])
        last = None if unread is None else max(reader.last_id for reader in known) - int(unread)
        known.append(self.read(self.by_name[name], last))

    @word(r"(\w+) proposes(?: (\w+))?(?: for (\S+))?")
    async def proposes(self, name: str, text: str | None = None, file: str | None = None) -> None:
        await self.workspace.diffs.open_diff(self.by_name[name], path_of(file), text_of(text))

    @word(r"(\w+) is refused(?: (\S+))?, for (.+)")
    async def is_refused(self, name: str, file: str | None, reason: str) -> None:
        with self.assertRaisesRegex(EditorError, reason):
            await self.proposes(name, None, file)

    @word(r"(\w+) closes its diff( undecided)? and gets (no text|\w+)")
    async def closes(self, name: str, undecided: str | None, text: str) -> None:
        given = self.workspace.diffs.close_diff(self.by_name[name], PATH, not undecided)
        self.assertEqual(await given, None if text == "no text" else text)

    @word(r"the editor comes back with (.+)")
    async def reconcile(self, names: str) -> None:
        shown = [] if names == "nothing" else names.split(", ")
        self.workspace.restored_diffs.reconcile([(self.id_of(name), PATH) for name in shown])
        await self.clock.advance(0)

    @word("the companion (restarts|crashes)")
    def restart(self, how: str) -> None:
        if how == "restarts":
            self.workspace.close(reject=False)
            self.workspace.delivery.hand_on()
        self.begin_anew()

    @word("told texts are due at once")
    def be_impatient(self) -> None:
        patched(self, mock.patch(ACCEPTED_TEXTS + ".PATIENCE", -1))

    @word(r"([A-Z0-9. +/*-]+) s pass")
    async def pass_by(self, span: str) -> None:
        await self.clock.advance(eval(span, dict(SPANS)))

    def end(self, name: str) -> None:
        self.workspace.sessions.end_session(self.by_name[name].id)

    def accept(self, name: str, text: str, file: str | None = None) -> None:
        self.workspace.diffs.decide(self.id_of(name), path_of(file), text_of(text))

    words: dict[str, Callable[..., Any]] = {
        r"(\w+) connects(?: as (\w+))?": lambda t, name, kind: (
            t.opens(name, kind),
            t.returns(name),
        ),
        r"(\w+) leaves": lambda t, name: t.leave(t.by_name[name]),
        r"(\w+) ends": end,
        r"(\w+) is gone": lambda t, name: (t.leave(t.by_name[name]), t.end(name)),
        # It goes away, and does not come back to its session.
        r"(\w+) is lost": lambda t, name: (
            t.leave(t.by_name[name]),
            t.clock.advance(ABSENT + 1),
        )[1],
        r"(\w+) is accepted as (\w+)(?: for (\S+))?": accept,
        r"(\w+) is rejected(?: for (\S+))?": lambda t, name, file: t.workspace.diffs.reject(
            t.id_of(name), path_of(file)
        ),
        r"(\w+) is edited to (\w+)": lambda t, name, text: t.workspace.diffs.note_edit(
            t.id_of(name), PATH, text
        ),
        r"(\w+) is( not)? withdrawn": lambda t, text, isnt: t.assertEqual(
            t.workspace.accepted.withdraw_text(PATH, text), not isnt
        ),
        r"the editor has (\w+) of (\w+)": lambda t, text, name: t.editor.diffs.update(
            {(WINDOW, t.id_of(name), PATH): text}
        ),
        "the editor has lost its diffs": lambda t: t.editor.diffs.clear(),
        "the editor refuses: (.+)": lambda t, reason: setattr(t.editor, "refusal", reason),
        "all are looked after": lambda t: t.workspace.check_for_changes(),
        "a moment passes": lambda t: t.clock.advance(0),
        r"the user heard (\d) sentences?(?: of (.+))?": lambda t, count, part: t.assertEqual(
            [part in sentence if part else True for sentence in t.editor.told], [True] * int(count)
        ),
    }
    seen: dict[str, Callable[..., Any]] = {
        # Decisions.
        r"(\w+) heard": lambda t, name: decisions(
            [message for reader in t.readers[name] for message in reader.messages]
        ),
        # The open files of each context, several with a +; `-` for none.
        r"(\w+) was shown": lambda t, name: [
            "+".join(paths) or "-" for reader in t.readers[name] for paths in reader.contexts()
        ],
        "the book holds": lambda t: list(map(entry_words, t.workspace.book.entries())),
        "unwritten are": lambda t: [
            unwritten.text if unwritten.path == PATH else unwritten.path
            for unwritten in t.workspace.accepted.unwritten_texts()
        ],
        "what counts as unwritten is": lambda t: sum(
            unwritten.is_missing for unwritten in t.workspace.unwritten_texts()
        ),
        # Each as text of CLI, in the order in which they came.
        "the diffs are": lambda t: [
            f"{text} of {t.name_of(id)}" + ("" if path == PATH else f" for {path}")
            for (_, id, path), text in t.editor.diffs.items()
        ],
        "proposals that wait:": lambda t: t.workspace.status().waiting,
        r"away is (\w+):": lambda t, name: t.editor.orphaned.get((WINDOW, t.id_of(name))),
    }


def entry_words(entry: Entry) -> str:
    """`told mine`, and what else is special of it."""
    text = {None: "no text", "": "nothing"}.get(entry.text, entry.text)
    more = re.sub(r"^(?!$)", " for ", "" if entry.path == PATH else os.path.basename(entry.path))
    return f"{entry.state} {text}{' that comes back' if entry.comes_back else ''}{more}"
