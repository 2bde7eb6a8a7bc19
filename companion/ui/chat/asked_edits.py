"""The edits of one call that asks for permission: how their reviews show them, and what the user
wants of each. UI thread only, unless a function says otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Iterator, Sequence, Tuple

import sublime

from ...agent.edited_file import edited_text, plain_text
from ...agent.turn_events import Diff
from ...base.file_content import Original
from ...base.text_digest import text_digest
from ...chat.question import ChatQuestion
from .. import texts
from ..review.open_diffs import undecided_diffs
from ..review.record import DiffRecord, update_record, waiting_record

# A conversation and one of its calls.
Key = Tuple[str, str]


@dataclass(frozen=True)
class Shown:
    """A file as its review shows it: all of its text, before and as proposed. `is_unsaved` says
    that `before` is not on disk, but in the file's tab; the review shows what is on disk."""

    before: str
    proposed: str
    is_unsaved: bool = False

    @property
    def unsaved_digest(self) -> str:
        return text_digest(self.before) if self.is_unsaved else ""


@dataclass
class AskedCall:
    """A call that asks for permission. `shown` and `decided` are by the paths of its edits: how
    each is shown, and the text that the user wants, None for none."""

    window: sublime.Window
    question: ChatQuestion
    client: str
    shown: dict[str, Shown] = field(default_factory=dict)
    decided: dict[str, str | None] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    # The paths of edits whose reviews were in front.
    seen: set[str] = field(default_factory=set)
    # The ids of the reviews that were accepted with a text of the user.
    typed: set[str] = field(default_factory=set)
    # Whether the user has allowed in the chat what the call does beside its edits.
    is_allowed: bool = False
    # Whether the answer is on its way to the agent.
    is_sent: bool = False

    @property
    def by_path(self) -> dict[str, list[Diff]]:
        """Its edits; a file can have several, one after the other."""
        found: dict[str, list[Diff]] = {}
        for diff in self.question.diffs:
            found.setdefault(diff.path, []).append(diff)
        return found

    @property
    def paths_to_open(self) -> list[str]:
        """The files whose reviews are still to open."""
        if not self.question.has_reviews:
            return []
        return [path for path in self.by_path if path not in self.shown]

    @property
    def is_decided(self) -> bool:
        return len(self.decided) == len(self.by_path)

    @property
    def is_enough(self) -> bool:
        """Whether these decisions can be told to the agent. A review does not show what else the
        call does, so that is allowed in the chat alone."""
        is_refused = not any(self.wanted_edits)
        return self.is_decided and (self.question.is_edit or self.is_allowed or is_refused)

    @property
    def wanted_edits(self) -> Iterator[Diff]:
        """The edits that are accepted, as the user wants them."""
        for path, text in self.decided.items():
            if text is not None:
                yield Diff(path, self.shown[path].before, text)

    @property
    def changed_edits(self) -> list[Diff]:
        """The wanted edits that the user has changed."""
        return [
            edit for edit in self.wanted_edits if edit.new_text != self.shown[edit.path].proposed
        ]


def open_reviews(are_kept: bool = False) -> Iterator[tuple[sublime.View, DiffRecord]]:
    """All open reviews of chats whose agent waits, with their records; or those that were kept when
    the editor ended before their turns did."""
    for window in sublime.windows():
        for view, record in list(undecided_diffs(window)):
            if record.chat and record.is_returned == are_kept:
                yield view, record


def keep_review(view: sublime.View, record: DiffRecord) -> None:
    """No agent waits for the edit any more, and the user can accept it all the same. Unsaved
    changes of theirs that it was made of are not saved with it."""
    update_record(view, record, is_returned=True, unsaved_digest="", is_restored=False)


def key_of(record: DiffRecord) -> Key:
    return record.chat, record.call


def go_to_review(chat: str, call: str, path: str, show: Callable[[sublime.View], None]) -> bool:
    """Call `show` with the review of an edit; False if it has none."""
    for view, record in (*open_reviews(), *open_reviews(are_kept=True)):
        if (*key_of(record), record.path) == (chat, call, path):
            show(view)
            return True
    return False


def is_special(view: sublime.View) -> bool:
    """Whether the user has typed, or dropped a change, or has unsaved changes in the file."""
    record = waiting_record(view)
    if record is None or texts.unsaved_view(record.path) is not None:
        return record is not None
    is_typed = record.is_whole and text_digest(texts.text_of(view)) != record.proposed_digest
    return is_typed or record.has_drops


def shown_file(
    edits: Sequence[Diff], present: Original, unsaved: str | None = None
) -> tuple[Original, Shown]:
    """The file, and how the edits are shown: within the file, also with what is `unsaved` in its
    tab, if the agent has seen that; where it has seen another file, the edits alone. Runs in a
    thread."""
    if unsaved is not None and len(edits) == 1 and plain_text(edits[0].old_text) == unsaved:
        return present, Shown(unsaved, plain_text(edits[0].new_text), is_unsaved=True)
    found = None if present.note else present.text
    for diff in edits:
        found = None if found is None else edited_text(found, diff, diff.new_text)
    if found is not None:
        return present, Shown(present.text, found)
    before, after = (
        "\n".join(texts) for texts in zip(*((edit.old_text, edit.new_text) for edit in edits))
    )
    return Original(before, bool(before)), Shown(before, after)
