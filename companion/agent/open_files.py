"""The outbound port to an editor: files that are open in it with changes that are not on disk, and
what the user's settings say about files and calls. The API's own program has no editor, and uses
this class as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

from ..base.agent_rules import NO_RULES, AgentRules


class Withheld(Exception):
    """The user shares this file with no agent."""


class NeedsUser(Exception):
    """Nothing was written: the file has unsaved changes that the user did not decide on."""


class NotSaved(Exception):
    """The text is in the file's tab, and could not be saved."""


@dataclass(frozen=True)
class Saved:
    """The text of a tab before a write, and what it was saved with; line ends are `\\n`."""

    before: str
    text: str


class OpenFiles:
    """Awaited on the engine's loop. Paths are absolute. `are_there` says whether agents are to read
    through it."""

    are_there = False

    async def unsaved_text(self, path: str) -> str | None:
        """The text of the file's tab, with `\\n` line ends, if that has unsaved changes. Raises
        Withheld, also for a file that is not open."""
        return None

    async def save_text(self, path: str, text: str) -> Saved | None:
        """Put the text into the file's tab, as an edit that can be undone, and save it; None if no
        tab has unsaved changes. Raises NeedsUser, NotSaved."""
        return None

    async def open_paths(self, folders: Sequence[str]) -> tuple[str, ...]:
        """The files in these folders that are open, without those that the user's rules exclude.
        Raises NotSaved if that cannot be told."""
        return ()

    async def excludes_file(self, path: str) -> bool:
        """Whether the user's rules exclude the file, so that nothing of it is kept either."""
        return False

    async def agent_rules(self) -> AgentRules:
        """The user's rules about calls of agents, as they are now."""
        return NO_RULES

    async def asks_before_edits(self, folder: str) -> bool:
        """Whether agents that work in the folder have to ask before each edit, in every mode."""
        return False


NO_EDITOR = OpenFiles()
