"""The outbound port: what the companion asks of an editor, in editor words. Knows no editor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from ..base.file_content import Original
from .code_queries import Findings, Query, Selection
from .status import ConnectedClient as ConnectedClient
from .status import Status as Status

# In brackets behind the name of a file: the tab has a text of the user's for it.
YOURS = "your edits"
UNKNOWN = "This editor knows nothing of code."


class EditorError(Exception):
    """The editor cannot do it; the text is a sentence for the user of the CLI."""


class Proposal(NamedTuple):
    """A file as the CLI wants to write it.

    `session_id` is the MCP session that asked. `path` is the editor's path: translated by the
    window's path maps, otherwise as it was sent. `content` has `\\n` line ends. If it `is_whole`,
    `content` is the proposed text, of up to 64 MiB; otherwise it is the beginning, which must not
    be edited. It `may_be_edited` if it is shown again as the user had it. `live_sessions` are the
    sessions whose CLI is connected; a diff of any other session waits for nobody. `client` names
    the CLI to the user. `opened_at` is in seconds since the epoch.
    """

    session_id: str
    path: str
    content: str
    live_sessions: frozenset[str] = frozenset()
    is_whole: bool = True
    may_be_edited: bool = False
    client: str = ""
    opened_at: float = 0.0


class ClosedDiff(NamedTuple):
    """A diff that was closed for its CLI. `text` is as the user left it, with `\\n` line ends; None
    if the view held only a part of the CLI's own text. `is_edited` says whether the user may have
    changed it.
    """

    text: str | None
    is_edited: bool


class UnaskedEdit(NamedTuple):
    """A file as a CLI has written it without asking: as the disk had it before and after the tool.

    `path` is the editor's. `client` names the CLI. `turn` is an id, the same for all edits between
    two prompts of the user; `prompt` is the first of them, empty if it is not known. `at` is in
    seconds since the epoch.
    """

    path: str
    before: Original
    after: Original
    client: str
    turn: str
    prompt: str
    at: float


class CodeKnowledge:
    """What the companion asks of an editor about code; such an editor overrides all of it. Awaited
    on the companion's loop."""

    async def look_up(self, window_id: int, query: Query) -> Findings:
        """What the editor knows of the code, of all files, shared with CLIs or not. Raises
        EditorError."""
        raise EditorError(UNKNOWN)

    async def selection(self, window_id: int, view_id: int) -> Selection:
        """What is selected in the view of a file. Raises EditorError, also if the view is gone."""
        raise EditorError(UNKNOWN)

    async def unsaved_files(self, window_id: int) -> frozenset[str]:
        """The files of the window whose text differs from the disk. Raises EditorError."""
        raise EditorError(UNKNOWN)

    async def show_line(self, window_id: int, path: str, line: int) -> bool:
        """Open the file at the line for the user, who continues to type where they do; tells
        whether they see it. If it would cover that place, it is a tab behind. Raises EditorError.
        """
        raise EditorError(UNKNOWN)


class NewDiagnostics(NamedTuple):
    """Problems in a file that were not there before a CLI wrote it: a line for each, with its place
    counted from 1. Unless it `is_final`, the tools of the editor have not reported yet."""

    is_final: bool
    lines: tuple[str, ...] = ()


class EditWatch:
    """What the companion asks of an editor about a file that a CLI writes; one whose tools find no
    problems leaves it as it is. Awaited on the companion's loop."""

    async def watch_edit(self, window_id: int, path: str) -> bool:
        """A CLI is about to write the file. False if no tool of the editor looks at it. Raises
        EditorError."""
        return False

    async def new_diagnostics(self, window_id: int, path: str, is_last: bool) -> NewDiagnostics:
        """What is new in the file since then; if it `is_last`, as far as it is known now. Raises
        EditorError."""
        return NewDiagnostics(is_final=True)


class Editor(ABC):
    """Awaited on the companion's loop. The editor does the work on whichever thread it needs.
    `code` answers questions about code, `edit_watch` those about a file that a CLI writes."""

    code = CodeKnowledge()
    edit_watch = EditWatch()

    @abstractmethod
    async def open_diff(self, window_id: int, proposal: Proposal) -> None:
        """Show the proposal beside the file; returns once it is visible.

        Replaces a diff for the same path of the same session or of one that is gone. Raises
        EditorError.
        """

    @abstractmethod
    async def close_diff(
        self, window_id: int, session_id: str, path: str, decided: bool = True
    ) -> ClosedDiff | None:
        """Close the session's diff for the path, and give its text as the user left it.

        None if there is no such diff. No decision follows. Unless the user has `decided` in the
        CLI, a text that they edited stays open as a tab. Raises EditorError.
        """

    @abstractmethod
    async def restore_text(
        self, window_id: int, session_id: str, path: str, saved: str | None
    ) -> str | None:
        """The editor restored the diff; `saved` is the text that the companion kept, None if it
        kept none. Show the newer of the two texts, and give it.

        None if there is no such diff, or if its text is not complete. Raises EditorError.
        """

    @abstractmethod
    def set_orphaned(self, window_id: int, session_id: str, orphaned: bool) -> None:
        """Show whether the CLI of the session's diffs is connected. Returns at once, from any
        thread."""

    @abstractmethod
    def show_status(self, statuses: tuple[Status, ...]) -> None:
        """Show the state of all windows, which has changed. Returns at once, from any thread."""

    @abstractmethod
    def gather_edit(self, window_id: int, edit: UnaskedEdit) -> None:
        """A CLI of the window made the edit without asking; the user can look at it later. Returns
        at once, from any thread."""

    @abstractmethod
    async def return_text(self, window_id: int, path: str, text: str, remark: str = YOURS) -> None:
        """Give the user a text of theirs that reached no file, as an unsaved tab named after the
        path, with the remark in brackets. It opens in the window, or in another one if that is
        gone. Returns once it is there.

        Raises EditorError, also if there is no window.
        """

    @abstractmethod
    def show_message(self, sentence: str, about: str = "") -> None:
        """Show the sentence until the user has seen it, or what it is `about` is over. Returns at
        once, from any thread."""

    @abstractmethod
    def withdraw_message(self, about: str) -> None:
        """What was told about this is not true any more. Returns at once, from any thread."""

    def repeat_message(self, sentence: str) -> None:
        """Show for a moment what the state of a window says as long as it is true; an editor that
        shows no state does as `show_message`. Returns at once, from any thread."""
        self.show_message(sentence)
