"""An edit of a file: proposed to the user, accepted by them, or made by a CLI without asking."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Container, Protocol, Sequence

from ..base.file_content import Original
from ..base.path_patterns import is_within

# The days after which an edit is forgotten, and the days by which a clock may have been set back.
MAX_AGE, MAX_AHEAD = 7, 36525
NOT_KNOWN = "Only part of the new text is known; the edit cannot be undone here."
TOO_LARGE = "The edit is too large to be remembered; it cannot be undone here."
NOT_KEPT = "Its texts are not kept any more; the edit cannot be undone here."


class FileRules(Protocol):
    """The user's rules for the files of a window."""

    def excludes(self, path: str, folders: Sequence[str]) -> bool:
        """Whether nothing of the file may be told or kept. `folders` are the window's."""


class EditState(Enum):
    """What has become of an edit. One that is undone, or rejected, is none any more."""

    # It waits for the user; or it was rejected before, and waits again, for nobody else.
    ASKED = "asked"
    RETURNED = "returned"
    # It was made without asking, and the user has not looked at it.
    WRITTEN = "written"
    # The user wants it.
    KEPT = "kept"
    # They want it, and it is not in its file.
    UNWRITTEN = "unwritten"


@dataclass(frozen=True)
class Edit:
    """`before` is the file before the edit. `after` is the accepted text with `\\n` line ends, None
    if not all of it is known. `client` names the CLI; `at` is in seconds since the epoch, 0
    if that is not known.

    `window_id` is the window whose CLI proposed the edit, 0 if that was in an earlier run of the
    editor. `folders` are the folders of that window. `rules` say whether the texts may be saved.

    Of an edit that waits for the user, the views that show it have the texts, and `id` is theirs.

    An edit that is a removal has left no file.

    `turn` is the id of the CLI's turn in which it made the edit without asking, and `prompt` what
    the user had asked for; empty if the user accepted the edit, or has to decide on it."""

    window_id: int
    path: str
    before: Original
    after: str | None
    client: str
    at: float
    folders: tuple[str, ...] = ()
    rules: FileRules | None = None
    turn: str = ""
    prompt: str = ""
    state: EditState = EditState.KEPT
    is_removal: bool = False
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def is_accepted(self) -> bool:
        """Whether the user was asked, and accepted it."""
        return not self.turn and self.state in (EditState.KEPT, EditState.UNWRITTEN)

    @property
    def size(self) -> int:
        return len(self.before.data or b"") + len(self.before.text) + len(self.after or "")

    @property
    def problem(self) -> str:
        """Why the edit can be neither shown nor undone; empty if it can."""
        if self.before.note:
            return self.before.note
        return NOT_KNOWN if self.after is None else ""

    def without_texts(self, why: str) -> Edit:
        """This edit with a sentence in place of its texts. If they are NOT_KEPT, there is nothing
        to look at any more."""
        before = replace(self.before, text="", data=None, note=why)
        state = EditState.KEPT if why == NOT_KEPT else self.state
        return replace(self, before=before, after=None, state=state)

    @property
    def is_recent(self) -> bool:
        """False also for an impossible time. A time in the future is possible: the clock may have
        been set back."""
        return -MAX_AHEAD < (time.time() - self.at) / (24 * 60 * 60) < MAX_AGE

    def is_of(self, window_id: int, folders: Sequence[str], gone: Container[int] = (0,)) -> bool:
        """Whether the window's CLI proposed the edit. If the window that it came from is in `gone`,
        whether this window may be that one again."""
        if self.window_id not in gone:
            return self.window_id == window_id
        return self.folders == tuple(folders) or is_within(self.path, tuple(folders))
