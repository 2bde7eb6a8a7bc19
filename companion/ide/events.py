"""What an editor reports to its companion, one frozen class for each event. Knows no thread.

To add an event: a class here that applies it, and a line where the editor observes it. `window_id`
is the editor's number of a window. An event has no effect if its window is closed by now, or if its
view or diff is not known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Mapping, Sequence

# What events hold, for whoever makes them.
from .context import MAX_SELECTION_UNITS as MAX_SELECTION_UNITS
from .context import TRUNCATED as TRUNCATED
from .context import Cursor as Cursor
from .context import OpenFile as OpenFile
from .window_settings import WindowSettings as WindowSettings
from .window_trees import TreeFolders as TreeFolders

if TYPE_CHECKING:
    # At run time these would import aiohttp, which takes too long for any thread of the editor.
    from .windows import Windows
    from .workspace import Workspace


class Event(ABC):
    """Created on any thread; applied on the companion's loop, in the order of the posts."""

    @abstractmethod
    def apply(self, windows: Windows) -> None: ...


@dataclass(frozen=True)
class _WindowEvent(Event):
    """Something that happened in one window."""

    window_id: int

    def apply(self, windows: Windows) -> None:
        workspace = windows.workspaces.get(self.window_id)
        if workspace is not None:
            self.apply_to(workspace)

    @abstractmethod
    def apply_to(self, workspace: Workspace) -> None: ...


@dataclass(frozen=True)
class WindowsChanged(Event):
    """The windows that exist, each with its folders (absolute paths); all others are closed. New
    windows start with these settings, or with the defaults if they are not in `settings`. `trees`
    are the work trees that belong to a window."""

    windows: Mapping[int, tuple[str, ...]]
    settings: Mapping[int, WindowSettings] = field(default_factory=dict)
    trees: Mapping[int, tuple[TreeFolders, ...]] = field(default_factory=dict)

    def apply(self, windows: Windows) -> None:
        windows.set_windows(self.windows, self.settings, self.trees)


@dataclass(frozen=True)
class WindowSettingsChanged(_WindowEvent):
    """The user has changed the settings of an open window."""

    settings: WindowSettings

    def apply(self, windows: Windows) -> None:
        super().apply(windows)
        windows.claude.check_windows()

    def apply_to(self, workspace: Workspace) -> None:
        workspace.admits_claude = self.settings.claude_code
        workspace.context.sharing = self.settings.sharing
        workspace.map_paths(self.settings.path_maps)
        workspace.updates.set_trust(self.settings.is_trusted)
        workspace.updates.tell_now()
        workspace.diffs.offer_diffs(self.settings.diffs)
        workspace.unasked.shows = self.settings.shows_unasked
        workspace.unasked.asks = self.settings.asks_for_edits
        workspace.edit_diagnostics.is_on = self.settings.diagnostics_after_edits


@dataclass(frozen=True)
class FileAdded(_WindowEvent):
    """A tab has the file; the user may not have looked at it yet."""

    file: OpenFile

    def apply_to(self, workspace: Workspace) -> None:
        workspace.context.add_file(self.file)
        workspace.updates.schedule_update()


@dataclass(frozen=True)
class FileFocused(_WindowEvent):
    """The user has moved to the file."""

    file: OpenFile

    def apply_to(self, workspace: Workspace) -> None:
        workspace.context.focus_file(self.file)
        workspace.updates.schedule_update()


@dataclass(frozen=True)
class SelectionChanged(_WindowEvent):
    """The cursor, the selection or the path of an open file has changed."""

    file: OpenFile

    def apply_to(self, workspace: Workspace) -> None:
        workspace.context.update_selection(self.file)
        workspace.updates.schedule_update()


@dataclass(frozen=True)
class FileClosed(Event):
    """The view is closed, or has left every window except `still_in`."""

    view_id: int
    still_in: int | None = None

    def apply(self, windows: Windows) -> None:
        for workspace in windows:
            if workspace.window_id != self.still_in:
                workspace.context.close_file(self.view_id)
                workspace.updates.schedule_update()


@dataclass(frozen=True)
class DiffsRestored(_WindowEvent):
    """The window was opened with exactly these diffs, by session and path."""

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
        workspace.diffs.note_edit(self.session_id, self.path, self.text)


@dataclass(frozen=True)
class DiffAccepted(_DiffEvent):
    """The user accepted the proposal with this text (`\\n` line ends). With an empty text most
    CLIs write their own. `before` is the digest of the file's bytes at that moment, empty if there
    was no file, None if it is not known (`file_content`). If it `is_as_proposed`, `text` is empty
    because the editor does not have all of the proposal."""

    text: str
    before: str | None = None
    is_as_proposed: bool = False

    def apply_to(self, workspace: Workspace) -> None:
        workspace.diffs.decide(
            self.session_id, self.path, self.text, self.before, self.is_as_proposed
        )


class DiffRejected(_DiffEvent):
    """The user wants the file to stay as it is."""

    def apply_to(self, workspace: Workspace) -> None:
        workspace.diffs.reject(self.session_id, self.path)


@dataclass(frozen=True)
class EditTakenBack(_WindowEvent):
    """The user has undone an edit that a CLI made without asking; if not `is_whole`, only a part of
    it. `turn` and `client` are those of the UnaskedEdit."""

    turn: str
    client: str
    path: str
    is_whole: bool

    def apply_to(self, workspace: Workspace) -> None:
        workspace.unasked.taken_back(self.turn, self.client, self.path, self.is_whole)
