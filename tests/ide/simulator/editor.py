"""A scripted editor: windows, diffs, tabs, sessions that survive a crash, and the way to the core.

It does what the adapter in `companion/ui` does, without a view: who takes a diff has decided it.
"""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from companion.base.loop_thread import HANDOVER
from companion.ide import events
from companion.ide.context import OpenFile
from companion.ide.editor import YOURS, ClosedDiff, Editor, EditorError, Proposal, UnaskedEdit
from companion.ide.questions import TextWithdrawal, UnwrittenTexts
from companion.ide.status import Status
from companion.ide.window_settings import WindowSettings
from companion.ide.windows import Windows

from . import disk
from .hooks import Watch

if TYPE_CHECKING:
    from .world import World

T = TypeVar("T")

# Seconds without an edit, and since the first one, after which a text is told to the core.
AT_REST, AT_MOST = 0.5, 2.0
# Seconds between looks at windows and folders.
POLL = 1.0


@dataclass
class Diff:
    """What the editor keeps in a view and its settings. `proposed` is the text of the CLI, None
    where nobody knows it any more; `kept` the text that was told last; `told` what is remembered
    should the view vanish."""

    window_id: int
    session_id: str
    path: str
    text: str
    proposed: str | None
    kept: str = ""
    is_restored: bool = False
    is_open: bool = True
    told: str | None = None
    first_edit: float = 0.0
    edits: int = 0
    number: int = 0
    is_orphaned: bool = False

    @property
    def is_edited(self) -> bool:
        return self.text != self.proposed


@dataclass
class Window:
    id: int
    folders: tuple[str, ...]
    diffs: list[Diff] = field(default_factory=list)


class Port(Editor):
    """The outbound port of one companion; it ends with its process."""

    def __init__(self, scene: Scene, companion: Companion) -> None:
        self._scene = scene
        self._companion = companion
        self._world = scene.world
        self.edit_watch = Watch(self._world, self)

    async def on_ui_thread(self, work: Callable[[], T]) -> T:
        loop = self._world.loop
        future: asyncio.Future[Any] = loop.create_future()

        def settle(error: Exception | None, value: Any) -> None:
            if not future.done():
                future.set_exception(error) if error is not None else future.set_result(value)

        def run() -> None:
            if future.done() or self._scene.is_gone:
                return
            error: Exception | None = None
            value = None
            try:
                value = work()
            except EditorError as failure:
                error = failure
            self._companion.cross(partial(settle, error, value))

        loop.call_later(self._world.delay(), run)
        result: T = await future
        return result

    async def open_diff(self, window_id: int, proposal: Proposal) -> None:
        if self._world.faults.happens("the editor fails"):
            raise EditorError("The editor failed.")
        await self.on_ui_thread(lambda: self._scene.open_diff(window_id, proposal))

    async def close_diff(
        self, window_id: int, session_id: str, path: str, decided: bool = True
    ) -> ClosedDiff | None:
        return await self.on_ui_thread(
            lambda: self._scene.close_diff(window_id, session_id, path, decided)
        )

    async def restore_text(
        self, window_id: int, session_id: str, path: str, saved: str | None
    ) -> str | None:
        return await self.on_ui_thread(
            lambda: self._scene.restore_text(window_id, session_id, path, saved)
        )

    def set_orphaned(self, window_id: int, session_id: str, orphaned: bool) -> None:
        self._scene.set_orphaned(window_id, session_id, orphaned)

    async def return_text(self, window_id: int, path: str, text: str, remark: str = YOURS) -> None:
        self._world.note("return_text {} {!r}", path, text)
        self._world.count("returned")
        await self.on_ui_thread(lambda: self._scene.return_text(text))

    def show_status(self, statuses: tuple[Status, ...]) -> None:
        pass

    def gather_edit(self, window_id: int, edit: UnaskedEdit) -> None:
        self._world.ledger.hooks.gathered(window_id, edit)

    def show_message(self, sentence: str, about: str = "") -> None:
        self._world.note("told: {}", sentence)
        self._world.ledger.sentences.said(self._companion.process, sentence)

    def withdraw_message(self, about: str) -> None:
        self._world.note("withdrawn: {}", about)


class Scene:
    """The editor. `companion` is the process of the core that runs now, None where none does."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.windows: dict[int, Window] = {}
        self.tabs: list[str] = []
        self.companion: Companion | None = None
        # The whole editor is down.
        self.is_gone = False
        self.session: dict[int, Window] = {}
        self._told: dict[int, tuple[str, ...]] = {}
        self._next_window = 1
        self._next_diff = 1
        self._waiting: list[str] = []

    # ----- the life of the editor

    def start(self) -> None:
        self.is_gone = False
        self._told = {}
        self.companion = Companion(self.world, self)
        self.look_at_windows()

    def stop_companion(self) -> None:
        """As an upgrade of the package or a restart of the companion does."""
        for diff in self.diffs():
            self._keep(diff)
            diff.told = None
        companion, self.companion = self.companion, None
        if companion is not None:
            companion.stop()

    def quit(self) -> None:
        """The editor ends in order: all that is in its tabs is there the next time."""
        self.save_session()
        if self.companion is not None:
            self.companion.stop()
        self.is_gone = True

    def crash(self) -> None:
        self.is_gone = True

    def restart(self) -> None:
        """Come back with what the last session file knows."""
        ids = {}
        renamed = self.world.random.random() < 0.3
        self.windows = copy.deepcopy(self.session)
        for old in list(self.windows):
            if renamed:
                ids[old] = self._next_window
                self._next_window += 1
                self.windows[ids[old]] = self.windows.pop(old)
                self.windows[ids[old]].id = ids[old]
        self.start()

    def save_session(self) -> None:
        self.session = copy.deepcopy(self.windows)

    def is_served_by(self, process: int) -> bool:
        """Whether that companion runs and nobody has asked it to stop."""
        companion = None if self.is_gone else self.companion
        return companion is not None and companion.process == process

    # ----- windows

    def open_window(self, folders: tuple[str, ...]) -> Window:
        window = Window(self._next_window, folders)
        self._next_window += 1
        self.windows[window.id] = window
        for text in self._waiting:
            self.open_tab(text)
        self._waiting = []
        return window

    def close_window(self, window_id: int, with_events: bool) -> None:
        window = self.windows[window_id]
        if with_events:
            for diff in list(window.diffs):
                self.decide(diff, "close")
        del self.windows[window_id]
        for diff in window.diffs:
            diff.is_open = False
            if not with_events:
                self.world.ledger.origin[diff.text].vanished.append(self.world.loop.now)
            if not with_events and diff.told is not None:
                # The editor said nothing; what was kept of it is found at the next look.
                self.world.loop.later(0, POLL, self.open_tab, diff.told)

    def look_at_windows(self) -> None:
        windows = {window.id: window.folders for window in self.windows.values()}
        companion = self.companion
        if companion is None or self.is_gone or windows == self._told:
            return
        new = set(windows) - set(self._told)
        self._told = windows
        settings = WindowSettings(shows_unasked=self.world.shows, asks_for_edits=self.world.asks)
        companion.post(events.WindowsChanged(windows, dict.fromkeys(windows, settings)))
        for window_id in sorted(new):
            companion.post(events.DiffsRestored(window_id, self._adopt(self.windows[window_id])))
            for number in range(1, 7):
                # The files that CLIs write without asking are open.
                path = f"{self.windows[window_id].folders[0]}/own{number}"
                companion.post(events.FileAdded(window_id, OpenFile(window_id * 10 + number, path)))

    def _adopt(self, window: Window) -> list[tuple[str, str]]:
        for diff in window.diffs:
            diff.is_restored = True
            diff.window_id = window.id
        return [(diff.session_id, diff.path) for diff in window.diffs]

    def open_tab(self, text: str) -> None:
        """The user has the text now, and the editor keeps it."""
        if self.windows:
            self.tabs.append(text)
        else:
            self._waiting.append(text)

    def return_text(self, text: str) -> None:
        if not self.windows:
            raise EditorError("The editor has no window.")
        self.open_tab(text)

    # ----- what the core asks for

    def diffs(self) -> list[Diff]:
        return [diff for window in self.windows.values() for diff in window.diffs]

    def open_diff(self, window_id: int, proposal: Proposal) -> None:
        window = self.windows.get(window_id)
        if window is None:
            raise EditorError("The editor's window is closed.")
        for older in list(window.diffs):
            is_gone = older.session_id not in proposal.live_sessions
            if older.path == proposal.path and (older.session_id == proposal.session_id or is_gone):
                self.world.ledger.claude.replaced(older)
                self._put_away(self._take(older))
        proposed = None if proposal.may_be_edited else proposal.content
        diff = Diff(
            window_id,
            proposal.session_id,
            proposal.path,
            proposal.content,
            proposed,
            kept=proposal.content,
            number=self._next_diff,
        )
        self._next_diff += 1
        window.diffs.append(diff)
        asked = self.world.ledger.origin[proposal.content]
        asked.shown = min(asked.shown, self.world.loop.now)
        self.world.note("diff {} opened in window {}: {!r}", diff.number, window_id, diff.text)

    def _find(self, window_id: int, session_id: str, path: str) -> Diff | None:
        window = self.windows.get(window_id)
        for diff in window.diffs if window is not None else []:
            if diff.session_id == session_id and diff.path == path:
                return diff
        return None

    def close_diff(
        self, window_id: int, session_id: str, path: str, decided: bool
    ) -> ClosedDiff | None:
        diff = self._find(window_id, session_id, path)
        if diff is None:
            return None
        self.world.ledger.claude.closed(diff)
        self._take(diff)
        self.world.note("diff {} closed for its CLI: {!r}", diff.number, diff.text)
        if not decided:
            self._put_away(diff)
        elif self.world.random.random() < 0.7:
            self.world.say(diff, None)
        return ClosedDiff(diff.text, diff.is_edited)

    def restore_text(
        self, window_id: int, session_id: str, path: str, saved: str | None
    ) -> str | None:
        diff = self._find(window_id, session_id, path)
        if diff is None:
            return None
        diff.is_restored = False
        if saved is not None and saved != diff.text and diff.kept != saved:
            # One undo brings back what the tab had.
            self.world.ledger.undoable.add(diff.text)
            diff.text = saved
        diff.kept = diff.text
        if diff.is_edited:
            diff.told = diff.text
        return diff.text

    def set_orphaned(self, window_id: int, session_id: str, orphaned: bool) -> None:
        for diff in self.windows[window_id].diffs if window_id in self.windows else ():
            if diff.session_id == session_id:
                diff.is_orphaned = orphaned

    # ----- what the user does

    def _take(self, diff: Diff) -> Diff:
        diff.is_open = False
        diff.told = None
        for window in self.windows.values():
            with suppress(ValueError):
                window.diffs.remove(diff)
        return diff

    def _put_away(self, diff: Diff) -> None:
        if diff.is_edited:
            self.open_tab(diff.text)
            self.world.note("diff {} put away as a tab: {!r}", diff.number, diff.text)

    def type(self, diff: Diff, text: str) -> None:
        diff.text = text
        diff.edits += 1
        edits, loop = diff.edits, self.world.loop
        if not diff.first_edit:
            diff.first_edit = loop.now

        def keep() -> None:
            is_late = loop.now - diff.first_edit >= AT_MOST - AT_REST
            if diff.first_edit and diff.is_open and (is_late or diff.edits == edits):
                diff.first_edit = 0.0
                self._keep(diff)

        loop.later(0, AT_REST, keep)

    def _keep(self, diff: Diff) -> None:
        companion = self.companion
        if companion is None or self.is_gone or not self._is_here(diff):
            return
        if diff.is_edited:
            diff.told = diff.text
        if not diff.is_restored:
            diff.kept = diff.text
            where = (diff.window_id, diff.session_id, diff.path)
            companion.post(events.DiffEdited(*where, diff.text))

    def _is_here(self, diff: Diff) -> bool:
        return any(diff is each for each in self.diffs())

    def decide(self, diff: Diff, how: str) -> None:
        """`how` is accept, reject or close (the tab)."""
        companion = self.companion
        if companion is None or self.is_gone or not self._is_here(diff):
            if how == "close" and not self.is_gone and self._is_here(diff):
                self._put_away(self._take(diff))
            return
        self._take(diff)
        where = (diff.window_id, diff.session_id, diff.path)
        self.world.ledger.decided(diff, how == "accept")
        if how == "accept":
            before = self.world.disk.digest(diff.path)
            companion.post(events.DiffAccepted(*where, diff.text, before))
        else:
            companion.post(events.DiffRejected(*where))
            self._put_away(diff)


class Companion:
    """One run of the core, as the adapter holds it."""

    def __init__(self, world: World, scene: Scene) -> None:
        self.world = world
        self.process = world.new_process()
        self.pid = self.process
        self.windows: Windows | None = None
        self._queue: deque[tuple[str, Callable[[Windows], Any]]] = deque()
        self.is_ready = False
        # When the last of what crossed from the editor's thread arrives.
        self._crossed = 0.0
        before = world.companions[-1] if world.companions else None
        world.companions.append(self)
        self._scene = scene
        world.note("companion {} starts", self.process)
        self.task = world.loop.start(self.process, self._run(before))

    @property
    def is_dead(self) -> bool:
        return self.process in self.world.loop.dead

    async def _run(self, before: Companion | None) -> None:
        loop = self.world.loop
        end = loop.now + HANDOVER
        while before is not None and not before.is_over and loop.now < end:
            await asyncio.sleep(0.02)
        port = Port(self._scene, self)
        self.windows = Windows(port, self.process, self._set_environments, disk.STATE)
        await self.windows.run(on_ready=self._ready)
        if self.windows.saving.problem:
            # What could not be saved went with it; the next one tells the user so.
            self.world.ledger.kills.append(loop.now)
        self.world.note("companion {} ended", self.process)

    @property
    def is_over(self) -> bool:
        return self.is_dead or self.task.done()

    def _set_environments(self, environments: Any) -> None:
        if not self.is_over:
            self.world.environments = environments

    def _ready(self) -> None:
        self.is_ready = True
        self._drain()

    def post(self, event: events.Event) -> None:
        """Crossing A: in order, at once or a little later."""
        self.call(type(event).__name__, event.apply)

    def stop(self) -> None:
        self.world.ledger.sentences.stops()
        self.call("stop", lambda windows: windows.stop())

    def undelivered(self, window_id: int) -> tuple[tuple[str, str], ...]:
        """Path and text of what the user finds kept."""
        if self.windows is None or self.is_over:
            return ()
        return tuple(
            unwritten[:2] for unwritten in UnwrittenTexts(window_id).find_answer(self.windows)
        )

    def withdraw(self, window_id: int, path: str, text: str) -> bool:
        if self.windows is None or self.is_over:
            return False
        return TextWithdrawal(window_id, path, text).find_answer(self.windows)

    def call(self, name: str, call: Callable[[Windows], Any]) -> None:
        self._queue.append((name, call))
        if self.is_ready:
            self.cross(self._drain)

    def cross(self, work: Callable[[], None]) -> None:
        """Do it on the loop, after all that came from the editor's thread before."""
        loop = self.world.loop
        self._crossed = max(loop.now + self.world.delay(), self._crossed + 1e-7)
        loop.later(self.process, self._crossed - loop.now, work)

    def _drain(self) -> None:
        for _ in range(len(self._queue)):
            name, call = self._queue.popleft()
            self.world.note("{}", name)
            try:
                call(self.windows)  # type: ignore[arg-type]
            except Exception as error:
                self.world.ledger.violate("an event could not be taken in", f"{name}: {error!r}")
