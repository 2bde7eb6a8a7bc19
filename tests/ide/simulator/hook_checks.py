"""What must be true of hooks whatever happens, and the record by which it is seen."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterable, Mapping

from companion.ide.extension_forms import GEMINI_EXTENSION, Moment
from companion.ide.hooks.extension import LIMIT, LIMITS

if TYPE_CHECKING:
    from companion.ide.editor import UnaskedEdit

    from .cli import Cli
    from .hooks import Extension
    from .network import Endpoint, Wire
    from .world import World

# The folder that is added to windows and taken out again.
MORE = "/home/ann/more"


@dataclass
class Made:
    """A text that a CLI has written without asking, over another; by a command, if it has one.
    Unless it `is_sure`, a hook of the CLI was still at work: it has not waited for the answer."""

    path: str
    before: str
    command: str
    is_sure: bool


@dataclass
class Note:
    """Words of the user that were taken for a CLI, and when an answer with them went out."""

    at: float
    process: int
    told: list[float] = field(default_factory=list)


def limit(event: str) -> float:
    """Seconds that the program of the extension waits for the answer."""
    moment = GEMINI_EXTENSION.moments.get(event, Moment.ASKS)
    return LIMITS.get(moment, LIMIT) / 1000


class HookLedger:
    def __init__(self, world: World) -> None:
        self.world = world
        self._made: dict[str, Made] = {}
        self._gathered: dict[str, tuple[int, UnaskedEdit]] = {}
        # When each text was shown first.
        self._shown_at: dict[str, float] = {}
        self._shown: Counter[str] = Counter()
        self._notes: dict[str, Note] = {}
        # What was undone, by path, and how often a model was told so.
        self._undone: Counter[str] = Counter()
        # By path, when a CLI was told of it.
        self._told_undone: dict[str, list[float]] = {}
        # Endpoints that have answered before a command ran, and when they knew of a question.
        self._before: set[tuple[Endpoint, str]] = set()
        self._asked: dict[tuple[Endpoint, str], float] = {}
        # By the companion's process and the CLI's: hooks at work; those heard of while they ran.
        self._at_work: Counter[tuple[int, int]] = Counter()
        self._heard: set[tuple[int, int]] = set()
        self._count = 0

    def next(self) -> int:
        self._count += 1
        return self._count

    def _violate(self, what: str, detail: str) -> None:
        self.world.ledger.violate(what, detail)

    # ----- what happens

    def _is_at_work(self, cli: int) -> bool:
        work, dead = self._at_work.items(), self.world.loop.dead
        return any(count for (process, each), count in work if each == cli and process not in dead)

    def is_busy(self, cli: Any) -> bool:
        """Whether a tool of the CLI runs, or a hook behind it that the CLI no longer waits for."""
        return bool(cli.extension and cli.extension.is_busy) or self._is_at_work(cli.process)

    def ended(self, endpoint: Endpoint, process: int) -> None:
        self._at_work[endpoint.process, process] -= 1

    def arrived(self, endpoint: Endpoint, process: int) -> None:
        self._at_work[endpoint.process, process] += 1
        if any(cli.process == process and not cli.is_dead for cli in self.world.clis):
            self._heard.add((endpoint.process, process))

    def made(self, extension: Extension, before: str, command: str = "") -> str:
        """A CLI writes a text of its own; gives it."""
        text = f"unasked {self.next()} of {extension.cli}\n"
        is_sure = not self._is_at_work(extension.cli.process)
        self._made[text] = Made(extension.path, before, command, is_sure)
        self.world.note("{} writes {!r} without asking", extension.cli, text)
        self.world.count("by a command" if command else "unasked")
        return text

    def gathered(self, window_id: int, edit: UnaskedEdit) -> None:
        """The editor gets an edit that was made without asking."""
        text, made = edit.after.text, self._made.get(edit.after.text)
        self.world.note("edit gathered: {!r} over {!r}", text, edit.before.text)
        self.world.count("gathered")
        self._shown[text] += 1
        self._shown_at.setdefault(text, self.world.loop.now)
        self._gathered[text] = window_id, edit
        if not self.world.shows:
            self._violate("shown though switched off", repr(text))
        elif made is None:
            self.world.count("shown though asked")
        elif not made.is_sure:
            self.world.count("not waited for")
        elif made.before in self.world.ledger.origin:
            # A command of another CLI may have begun before the edit that was asked about.
            self.world.count("over an asked edit")
        elif self._shown[text] > 1:
            self._violate("an edit shown twice", repr(text))
        elif not self._is_before(edit.before.text, made):
            self._violate("another text before", f"{edit.before.text!r}; it was {made.before!r}")

    def _is_before(self, text: str, made: Made) -> bool:
        """One of whose end nobody heard is shown with the next."""
        older = self._made.get(made.before)
        is_with_older = older is not None and not self._shown[made.before]
        return text == made.before or (is_with_older and self._is_before(text, older))

    def late(self, event: str) -> None:
        self._violate("a hook waits", event)

    def taken(self, text: str, process: int) -> None:
        self._notes[text] = Note(self.world.loop.now, process)
        self.world.count("noted")

    def has_words_for(self, process: int) -> bool:
        return any(note.process == process and not note.told for note in self._notes.values())

    def answered(self, wire: Wire, body: Mapping[str, Any], answer: Any, begin: Begin) -> None:
        """A hook's answer goes out, unless the connection has ended."""
        told, process = body["input"], body["pid"]
        event = told["hook_event_name"]
        self.world.count("hooks")
        self.world.note("hook {} of process {}: {}", event, process, answer)
        if answer.get("decision") == "ask":
            self._asks(wire.endpoint, process, begin)
        context = answer.get("hookSpecificOutput", {}).get("additionalContext", "")
        self._hears(wire, process, context)
        is_slow = self.world.ledger.counts["disk is slow"] != begin.slow
        command = told.get("tool_input", {}).get("command", "")
        if event == "Notification":
            self._asked[wire.endpoint, told["details"]["newContent"]] = self.world.loop.now
        if event == "BeforeTool" and command and not is_slow and not wire.is_cut:
            self._before.add((wire.endpoint, command))
        if event == "AfterTool" and self.world.shows and not is_slow:
            self._ends(wire, told, command, begin.at)

    def _asks(self, endpoint: Endpoint, process: int, begin: Begin) -> None:
        self.world.count("made to ask")
        if not begin.is_connected and not endpoint.has_stream_of(process):
            self._violate("asked without a connection", f"process {process}")

    def _hears(self, wire: Wire, process: int, context: str) -> None:
        if wire.is_cut:
            return
        lines = context.split("\n")
        for text, note in self._notes.items():
            if text in lines:
                self.world.count("notes told")
                if process != note.process:
                    self._violate("a note told to another CLI", text)
                if note.told and not self.world.ledger.is_excused(note.told[-1]):
                    self._violate("a note told twice", text)
                note.told.append(self.world.loop.now)
        for path, undone in self._undone.items():
            count = sum(path in line and "undone" in line for line in lines)
            told = self._told_undone.setdefault(path, [])
            told += [self.world.loop.now] * count
            sure = [at for at in told if not self.world.ledger.is_excused(at)]
            if count and len(sure) > undone:
                self._violate("told twice of an undone edit", path)

    def _ends(self, wire: Wire, told: Mapping[str, Any], command: str, at: float) -> None:
        """Each edit that the window has heard of is there by now."""
        shown = told["tool_response"]["returnDisplay"]
        texts = [shown["newContent"]] if isinstance(shown, dict) else []
        if (wire.endpoint, command) in self._before:
            texts = [text for text, made in self._made.items() if made.command == command]
        for text in texts:
            proposal, made = self.world.ledger.origin.get(text), self._made.get(text)
            asked = self._asked.get((wire.endpoint, proposal.text), at) if proposal else at
            # A command of another CLI may have shown it, which began before the edit.
            if asked < at <= self._shown_at.get(text, 0.0):
                self._violate("an asked edit is shown", repr(text))
            if made and self._is_due(made, text) and not self._shown[text]:
                self._violate("an edit not shown", f"{text!r} by {command or 'write_file'}")

    def _is_due(self, made: Made, text: str) -> bool:
        # Of the folder that comes and goes, no file is open.
        is_open = not (made.command and made.path.startswith(MORE))
        return made.is_sure and is_open and self.world.disk.text(made.path) == text

    def taken_back(self, text: str) -> tuple[int, UnaskedEdit] | None:
        """An edit whose text still is in its file, and its window: the user undoes it."""
        found = self._gathered.pop(text, None)
        if found is not None:
            self._undone[found[1].path] += 1
            self.world.count("taken back")
        return found

    # ----- what must be true in the end

    def check_live(self) -> None:
        """A CLI that has ended is not at work. One whose last hook is the first that arrives may
        run on another system, as far as anybody can know."""
        companion = self.world.scene.companion
        dead = {cli.process for cli in self.world.clis if cli.is_dead}
        if companion is None or companion.windows is None:
            return
        for workspace in companion.windows:
            for live in workspace.status().live:
                if live.pid in dead and (companion.process, live.pid) in self._heard:
                    self._violate("alive after its end", f"process {live.pid}: {live.activity}")

    def check_told(self, clis: Iterable[Cli]) -> None:
        """No words wait for these CLIs, which have just been prompted, and whose hooks a window
        hears."""
        window_of = self.world.environment_for
        lives = {cli.process for cli in clis if not cli.is_dead and window_of(cli.folder)}
        self._check_notes("a note waits after a prompt", lives)

    def check_notes(self) -> None:
        """Each was told, or given back."""
        self._check_notes("a note lost", {note.process for note in self._notes.values()})

    def _check_notes(self, what: str, processes: set[int]) -> None:
        for text, note in self._notes.items():
            if note.told or text in self.world.scene.tabs or note.process not in processes:
                continue
            if self.world.ledger.is_excused(note.at):
                self.world.count("excused")
            else:
                self._violate(what, f"{text}, taken at {note.at - 1000:.3f} s")


@dataclass(frozen=True)
class Begin:
    """When a hook arrived: the time, how often the disk had been slow, and whether its CLI had a
    stream with the window."""

    at: float
    slow: int
    is_connected: bool
