"""The outbound port: what the companion asks of an editor, in editor words; knows no editor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from .status import Status


class EditorError(Exception):
    """The editor cannot do it; the text is a sentence for the user of the CLI."""


class Proposal(NamedTuple):
    """A file as the CLI would have it.

    `session_id` is the MCP session that asked; `path` is the editor's, by the window's path maps
    and otherwise as it was sent. `content` has `\\n` line ends.
    `live_sessions` are those whose CLI is there: a diff of any other waits for nobody. Where it
    `is_whole`, `content` is the proposed text, of up to 64 MiB, else its beginning, which is not to
    be edited; it `may_be_edited` where it is shown again as the user had it. `client` names the CLI
    to the user; `opened_at` is in seconds since the epoch.
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
    """A diff that was closed for its CLI: `text` as the user left it, with `\\n` line ends, None
    where the view held only a part of the CLI's own text; `is_edited` says whether the user
    may have changed it.
    """

    text: str | None
    is_edited: bool


class Editor(ABC):
    """Awaited on the companion's loop; the editor does the work wherever its own rules demand."""

    @abstractmethod
    async def open_diff(self, window_id: int, proposal: Proposal) -> None:
        """Show the proposal beside the file; returns as soon as it can be seen.

        Replaces a diff that the same session, or one that is gone, has open for the same path.
        Raises EditorError.
        """

    @abstractmethod
    async def close_diff(
        self, window_id: int, session_id: str, path: str, decided: bool = True
    ) -> ClosedDiff | None:
        """Close the session's diff for the path and give its text as the user left it.

        None where no such diff is open. No decision follows. Unless the user has `decided` in the
        CLI, a text that they edited stays with them as a tab. Raises EditorError.
        """

    @abstractmethod
    async def restore_text(
        self, window_id: int, session_id: str, path: str, saved: str | None
    ) -> str | None:
        """The diff came back with the editor, and `saved` was kept of it, None where nothing was:
        show the newer of the two, and give it.

        None where no such diff is open, or its text is not whole. Raises EditorError.
        """

    @abstractmethod
    def set_orphaned(self, window_id: int, session_id: str, orphaned: bool) -> None:
        """Show whether the session's diffs wait for a CLI that is there; returns at once, from any
        thread."""

    @abstractmethod
    def show_status(self, statuses: tuple[Status, ...]) -> None:
        """Show the state of all windows, which is another one now; returns at once, from any
        thread."""

    @abstractmethod
    async def return_text(self, window_id: int, path: str, text: str) -> None:
        """Give the user a text of theirs that reached no file, as an unsaved tab named after the
        path: in the window, or in another one where that is gone; returns once it is there.

        Raises EditorError, also where there is no window.
        """

    @abstractmethod
    def tell(self, sentence: str) -> None:
        """Show the sentence where the user looks; returns at once, from any thread."""
