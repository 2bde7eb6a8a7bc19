"""What an editor tells its companion, one frozen value for each event; knows no thread.

To add one: a class here that says what becomes of it, and a line where the editor observes it.
`window_id` is the editor's number of a window. An event of a window that is closed by now, or of
a view or diff that is not known, does nothing.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Awaitable, Callable, Generic, Mapping, Sequence, TypeVar

from ..base.background import in_thread
from ..base.log import logger
from . import discovery, file_content
from .clis import Cli
from .connected_clis import ConnectedCli, connected_clis
from .context import ContextStore, OpenFile, SharedContext
from .file_content import PATIENCE, Original, Stamp, Stamps
from .status import Status
from .window_settings import WindowSettings

if TYPE_CHECKING:
    # At run time these two would bring in what is asked for rarely and costs half a megabyte.
    from .doctor.gathering import Question
    from .doctor.report import Examination

    # And these aiohttp, whose import may hold up no thread of the editor.
    from .windows import Windows
    from .workspace import Workspace

T = TypeVar("T")
D = TypeVar("D")


# Seconds in which a machine has to be examined: processes are listed, ports and programs are asked.
EXAMINATION = 20.0
NOT_DONE = 'The edit could not be undone; "Gemini Companion: Show Log" says why.'
LATE = "The disk does not answer; check in the file whether the edit was undone."


async def _done(work: Awaitable[D], instead: D) -> D:
    """The boundary of work for the editor: a failure is logged, and `instead` comes of it."""
    try:
        return await work
    except Exception:
        logger.exception("work for the editor failed")
        return instead


class Event(ABC):
    """Made on any thread; applied on the companion's loop, in the order of the posts."""

    @abstractmethod
    def apply(self, windows: Windows) -> None: ...


@dataclass(frozen=True)
class _WindowEvent(Event):
    """Something that happened in one window."""

    window_id: int

    def apply(self, windows: Windows) -> None:
        workspace = windows.of(self.window_id)
        if workspace is not None:
            self.apply_to(workspace)

    @abstractmethod
    def apply_to(self, workspace: Workspace) -> None: ...


@dataclass(frozen=True)
class _FileEvent(_WindowEvent):
    """Something that changes the context of one window."""

    file: OpenFile

    def apply_to(self, workspace: Workspace) -> None:
        self.change(workspace.context)
        workspace.updates.changed()

    @abstractmethod
    def change(self, context: ContextStore) -> None: ...


@dataclass(frozen=True)
class WindowsChanged(Event):
    """These windows exist, each with its folders (absolute paths); all others are closed. New ones
    have these settings from the first moment, the defaults where they are not named."""

    windows: Mapping[int, tuple[str, ...]]
    settings: Mapping[int, WindowSettings] = field(default_factory=dict)

    def apply(self, windows: Windows) -> None:
        windows.set_windows(self.windows, self.settings)


@dataclass(frozen=True)
class WindowSettingsChanged(_WindowEvent):
    """The user has set something else for a window that is open."""

    settings: WindowSettings

    def apply_to(self, workspace: Workspace) -> None:
        workspace.context.sharing = self.settings.sharing
        workspace.map_paths(self.settings.path_maps)
        workspace.updates.trust(self.settings.is_trusted)
        workspace.updates.tell_now()
        workspace.diffs.offer(self.settings.diffs)


class FileAdded(_FileEvent):
    """A tab has the file; nobody needs to have looked at it."""

    def change(self, context: ContextStore) -> None:
        context.add(self.file)


class FileFocused(_FileEvent):
    """The user looks at the file now."""

    def change(self, context: ContextStore) -> None:
        context.focus(self.file)


class SelectionChanged(_FileEvent):
    """Cursor, selection or path of an open file are others now."""

    def change(self, context: ContextStore) -> None:
        context.select(self.file)


@dataclass(frozen=True)
class FileClosed(Event):
    """The view is closed, or is in no window any more but `still_in`."""

    view_id: int
    still_in: int | None = None

    def apply(self, windows: Windows) -> None:
        for workspace in windows:
            if workspace.window_id != self.still_in:
                workspace.context.close(self.view_id)
                workspace.updates.changed()


@dataclass(frozen=True)
class DiffsRestored(_WindowEvent):
    """The window was opened with these diffs, by session and path, and no others."""

    diffs: Sequence[tuple[str, str]]

    def apply_to(self, workspace: Workspace) -> None:
        workspace.restored_diffs.reconcile(self.diffs)


@dataclass(frozen=True)
class _DiffEvent(_WindowEvent):
    """`session_id` and `path` are those of the Proposal."""

    session_id: str
    path: str


@dataclass(frozen=True)
class DiffEdited(_DiffEvent):
    """The user changed the proposal to this text (`\\n` line ends) and has not decided yet."""

    text: str

    def apply_to(self, workspace: Workspace) -> None:
        workspace.diffs.edited(self.session_id, self.path, self.text)


@dataclass(frozen=True)
class DiffAccepted(_DiffEvent):
    """The user accepted the proposal as it stood then (`\\n` line ends); an empty text has the CLI
    write its own. `before` is the digest of the file's bytes at that moment, empty where there was
    no file, None where nobody knows (`file_content`)."""

    text: str
    before: str | None = None

    def apply_to(self, workspace: Workspace) -> None:
        workspace.diffs.accept(self.session_id, self.path, self.text, self.before)


class DiffRejected(_DiffEvent):
    """The user wants the file to stay as it is."""

    def apply_to(self, workspace: Workspace) -> None:
        workspace.diffs.reject(self.session_id, self.path)


@dataclass(frozen=True)
class StatusAsked(Event):
    """`reply` is called on the companion's thread, with the state of every window."""

    reply: Callable[[tuple[Status, ...]], None]

    def apply(self, windows: Windows) -> None:
        self.reply(windows.statuses())


@dataclass(frozen=True)
class SavingAwaited(Event):
    """`reply` is called on the companion's thread once the folder of the saved state is this
    editor's; never, where another editor keeps it."""

    reply: Callable[[], None]

    def apply(self, windows: Windows) -> None:
        windows.saving.once_on(self.reply)


@dataclass(frozen=True)
class ClisAsked(Event):
    """`reply` is called on the companion's thread, with the connected CLIs of all windows."""

    reply: Callable[[tuple[ConnectedCli, ...]], None]

    def apply(self, windows: Windows) -> None:
        self.reply(tuple(each for workspace in windows for each in connected_clis(workspace)))


@dataclass(frozen=True)
class ExaminationAsked(Event):
    """`reply` is called on the companion's thread with the way of each CLI to the window, as
    `doctor.gathering` finds them; with none where that fails. `command` has the words that start
    the CLI, `environment` and `home` are the user's."""

    window_id: int
    cli: Cli
    command: tuple[str, ...]
    environment: Mapping[str, str]
    home: str
    reply: Callable[[tuple[Examination, ...]], None]

    def apply(self, windows: Windows) -> None:
        workspace = windows.of(self.window_id)
        others = (each for each in windows if each is not workspace)
        folders = tuple(folder for each in others for folder in each.advertisement.remote_folders)
        if workspace is None:
            # One that is that new, or gone: whoever asked is not to wait for ever.
            self.reply(())
        else:
            asyncio.ensure_future(self._examine(self._question(workspace, folders)))

    def _question(self, workspace: Workspace, elsewhere: tuple[str, ...]) -> Question:
        from .doctor.facts import Window
        from .doctor.gathering import Question

        status, told = workspace.status(), workspace.advertisement
        publication = workspace.publication
        window = Window(
            told.pid,
            status.port,
            told.remote_folders,
            status.discovery_paths,
            status.connected,
            workspace.since,
            workspace.problem,
            dict(publication.unwritten) if publication is not None else {},
            frozenset(it.stream.peer for it in workspace.sessions if it.stream is not None),
            told.path_maps.separator,
            told.path_maps.unmapped(told.folders),
            dict(workspace.connected_before),
        )
        return Question(
            self.cli,
            window,
            self.command,
            self.environment,
            self.home,
            told.token,
            elsewhere,
            told.folders,
            told.path_maps,
            workspace.reach.folder,
        )

    async def _examine(self, question: Question) -> None:
        from .doctor import gathering

        work = partial(gathering.examine, question)
        self.reply(await _done(in_thread(work, EXAMINATION), ()))


@dataclass(frozen=True)
class DiscoveryRepaired(_WindowEvent):
    """The user wants the window's discovery files written anew, and the one at the path `dead`
    removed, of an editor that is gone; empty for none. `reply` is called on the companion's thread,
    with whether that was removed."""

    dead: str
    reply: Callable[[bool], None]

    def apply_to(self, workspace: Workspace) -> None:
        if workspace.publication is not None:
            workspace.publication.write_again()
        asyncio.ensure_future(self._remove())

    async def _remove(self) -> None:
        self.reply(await _done(in_thread(partial(discovery.remove_dead, self.dead)), False))


@dataclass(frozen=True)
class SharedContextAsked(_WindowEvent):
    """`reply` is called on the companion's thread, with what the CLIs of the window are told."""

    reply: Callable[[SharedContext], None]

    def apply_to(self, workspace: Workspace) -> None:
        self.reply(workspace.updates.shared())


@dataclass(frozen=True)
class UnwrittenAsked(Event):
    """`reply` is called on the companion's thread, with path and text of each accepted proposal of
    the window that no CLI could be told of yet, or that none has written."""

    window_id: int
    reply: Callable[[tuple[tuple[str, str], ...]], None]

    def apply(self, windows: Windows) -> None:
        workspace = windows.of(self.window_id)
        self.reply(workspace.delivery.unwritten() if workspace is not None else ())


@dataclass(frozen=True)
class TextWithdrawn(Event):
    """The user takes back an accepted text: no CLI is told of it any more. `reply` is called on the
    companion's thread with whether it still waited."""

    window_id: int
    path: str
    text: str
    reply: Callable[[bool], None]

    def apply(self, windows: Windows) -> None:
        workspace = windows.of(self.window_id)
        self.reply(workspace is not None and workspace.delivery.withdraw(self.path, self.text))


@dataclass(frozen=True)
class WorkAsked(Event, Generic[T]):
    """`reply` is called on the companion's thread with what `work` gives on one of its own, None
    where it fails."""

    work: Callable[[], T]
    reply: Callable[[T | None], None]

    def apply(self, windows: Windows) -> None:
        # The thread that works holds the task for as long as it runs.
        asyncio.ensure_future(self._do())

    async def _do(self) -> None:
        self.reply(await _done(in_thread(self.work), None))


@dataclass(frozen=True)
class StampsAsked(Event):
    """`reply` is called on the companion's thread with the stamps of the files at these paths,
    without those that do not answer soon."""

    paths: Sequence[str]
    reply: Callable[[Mapping[str, Stamp]], None]

    def apply(self, windows: Windows) -> None:
        asyncio.ensure_future(self._look(windows.stamps))

    async def _look(self, stamps: Stamps) -> None:
        self.reply(await _done(stamps.of(self.paths), {}))


@dataclass(frozen=True)
class FilePutBack(Event):
    """The user undoes an accepted edit: see `file_content.put_back`, what it gives goes to `reply`,
    on the companion's thread."""

    path: str
    before: Original
    after: str
    reply: Callable[[str, Original | None], None]

    def apply(self, windows: Windows) -> None:
        asyncio.ensure_future(self._put_back())

    async def _put_back(self) -> None:
        work = partial(file_content.put_back, self.path, self.before, self.after)
        failed: tuple[str, Original | None] = (NOT_DONE, None)
        try:
            done = await asyncio.wait_for(_done(in_thread(work), failed), PATIENCE)
        except asyncio.TimeoutError:
            done = (LATE, None)
        self.reply(*done)


@dataclass(frozen=True)
class FileAsked(Event):
    """`reply` is called on the companion's thread, with what stands on disk at the absolute path;
    never, where the companion stops meanwhile."""

    path: str
    reply: Callable[[Original], None]

    def apply(self, windows: Windows) -> None:
        reading = asyncio.ensure_future(file_content.in_time(file_content.read_or_note, self.path))
        reading.add_done_callback(self._answer)

    def _answer(self, reading: asyncio.Future[Original]) -> None:
        if not reading.cancelled():
            self.reply(reading.result())
