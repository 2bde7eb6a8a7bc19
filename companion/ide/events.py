"""What an editor tells its companion, one frozen value for each event; knows no thread.

To add one: a class here that says what becomes of it, and a line where the editor observes it.
`window_id` is the editor's number of a window. An event of a window that is closed by now, or of
a view or diff that is not known, does nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Mapping, Sequence

from .context import ContextStore, OpenFile
from .window_settings import WindowSettings

if TYPE_CHECKING:
    # At run time these would bring in aiohttp, whose import may hold up no thread of the editor.
    from .windows import Windows
    from .workspace import Workspace


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
