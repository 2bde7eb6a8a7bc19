"""What the views of a diff remember, in their settings. Only this module writes and reads it.

Only settings survive both a reload of the package and Sublime's restart, which restores tabs with
text and settings, under other ids (docs/sublime.md 5.7). The stamp on the right view makes it a
diff. Whoever erases the stamp has claimed the decision, exactly once (docs/adr/0003).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Iterable, Mapping, Sequence, TypeVar

import sublime

from ...ide.clis import name_of

# Public, for key bindings: the stamp, and the editor's path of the file.
STAMP = "gemini_companion_diff"
PATH = "gemini_companion_diff_path"
# Private: the record on the right view, and the record on the left one.
RECORD = "gemini_companion_diff_record"
ORIGINAL = "gemini_companion_diff_original"
# Also on the right view, but apart from the record, which is read at every keystroke: the keys of
# the changes that the user has seen, and the user's comments on lines.
SEEN = "gemini_companion_diff_seen"
COMMENTS = "gemini_companion_diff_comments"
# The digests of its texts before something was taken over by itself, which is no step of the user.
TAKEN_OVER = "gemini_companion_diff_taken_over"


@dataclass(frozen=True)
class DiffRecord:
    """A diff, as its right view has it. Digests are those of `text_digest`.

    `id` is unique and stays the same over restarts. `view_id` and `original_id` are its right and
    its left view, since the editor's last start. `window_id` is the window whose CLI asked,
    wherever the tab is dragged to.
    """

    id: str
    session_id: str
    path: str
    window_id: int
    view_id: int
    original_id: int
    # The CLI's own text; empty if only a text is known that the user may have edited.
    proposed_digest: str
    # The text that was saved last, in case the editor crashes.
    saved_digest: str
    # The file on disk as the left side shows it, `Original.digest`.
    file_digest: str = ""
    was_empty: bool = False
    # Whether the view has the whole proposal, and whether it is compared with the left side.
    is_whole: bool = True
    is_compared: bool = False
    # For a proposal whose view has only the changed parts: whether changes are dropped, or
    # something was merged into it.
    has_drops: bool = False
    # Whether the user's changes were merged into it, with marks of conflicts.
    has_conflicts: bool = False
    # Whether its CLI is gone.
    is_orphaned: bool = False
    # Whether the editor restored it, so that its text may be older than the saved one.
    is_restored: bool = False
    # A description of the original for the user: "on disk, CRLF".
    original_state: str = ""
    # The name of the CLI for the user; and when it asked, in seconds since the epoch, 0 if unknown.
    client: str = ""
    opened_at: float = 0.0
    # As in Origin.
    edit_id: str = ""
    chat: str = ""
    call: str = ""
    is_returned: bool = False
    unsaved_digest: str = ""
    tree: str = ""
    tree_path: str = ""
    tree_digest: str = ""
    # The text that was left when all changes had been dropped; empty if that never was.
    dropped_digest: str = ""
    # Whether it waits without tabs: its right view is hidden, and there is no left one.
    is_unopened: bool = False

    @property
    def origin(self) -> Origin:
        return Origin(**{each.name: getattr(self, each.name) for each in fields(Origin)})

    @property
    def proposer(self) -> str:
        """The name of the CLI or agent, for a sentence."""
        return name_of(self.client)


@dataclass(frozen=True)
class Origin:
    """Where a diff comes from, if it is not the proposal of a CLI's session.

    `edit_id` is that of an edit that a CLI made without asking: the file is written, and no CLI
    waits. `chat` is the conversation whose agent asks for the edit, with this `call`; if the agent
    has seen unsaved changes of the user, `unsaved_digest` is the digest of the file with them. A
    proposal that `is_returned` was rejected, and the user has taken that back; or the editor ended
    before the chat's turn did: nobody waits.

    `tree` is the id of the work tree in which an agent has changed the file `tree_path`, another
    one than the user's if it was renamed; `tree_digest` is the digest of that file there, empty if
    it is gone.
    """

    edit_id: str = ""
    chat: str = ""
    call: str = ""
    is_returned: bool = False
    unsaved_digest: str = ""
    tree: str = ""
    tree_path: str = ""
    tree_digest: str = ""


# That of a proposal of a CLI's session.
OF_SESSION = Origin()


@dataclass(frozen=True)
class OriginalRecord:
    """The left side of the diff `id`, whose right view is `proposal_id`."""

    id: str
    proposal_id: int


@dataclass(frozen=True)
class Comment:
    """The user's comment on the rows `first` to `last` of the proposal, both counted from 0."""

    first: int
    last: int
    text: str


R = TypeVar("R", DiffRecord, OriginalRecord, Comment)


def waiting_record(view: sublime.View) -> DiffRecord | None:
    """The record of a diff that waits for a decision; None for every other view. A clone has the
    record as well, but the record names another view."""
    if not view.is_valid() or view.settings().get(STAMP) is not True:
        return None
    record = read_record(view)
    return record if record is not None and record.view_id == view.id() else None


def is_diff(view: sublime.View) -> bool:
    return waiting_record(view) is not None


def read_record(view: sublime.View) -> DiffRecord | None:
    """The record of a right view, even if it is decided or has another id; None if there is none,
    or a damaged one."""
    return _parse_stored(view.settings().get(RECORD), DiffRecord)


def read_original(view: sublime.View) -> OriginalRecord | None:
    """The record of a left view; None if there is none, or a damaged one."""
    return _parse_stored(view.settings().get(ORIGINAL), OriginalRecord)


def write_record(view: sublime.View, record: DiffRecord) -> None:
    view.settings().set(RECORD, asdict(record))
    view.settings().set(PATH, record.path)


def write_original(view: sublime.View, record: OriginalRecord) -> None:
    view.settings().set(ORIGINAL, asdict(record))


def update_record(view: sublime.View, record: DiffRecord, **changes: Any) -> DiffRecord:
    """Write the record with these changes, and give it."""
    changed = replace(record, **changes)
    write_record(view, changed)
    return changed


def record_from(stored: Any) -> DiffRecord | None:
    """The record of which `asdict` gave this; None if it is damaged."""
    return _parse_stored(stored, DiffRecord)


def comments_from(stored: Any) -> list[Comment]:
    """The comments of which `asdict` gave these; without damaged ones."""
    found = [_parse_stored(each, Comment) for each in _as_list(stored)]
    return [each for each in found if each is not None]


def seen_changes(view: sublime.View) -> frozenset[str]:
    """The keys of the changes that the user has seen and wants."""
    return frozenset(key for key in _as_list(view.settings().get(SEEN)) if isinstance(key, str))


def add_seen(view: sublime.View, key: str) -> None:
    set_seen(view, seen_changes(view) | {key})


def set_seen(view: sublime.View, keys: Iterable[str]) -> None:
    view.settings().set(SEEN, sorted(keys))


def stored_comments(view: sublime.View) -> list[Comment]:
    """The comments of a right view at the rows that were written; without damaged ones."""
    return comments_from(view.settings().get(COMMENTS))


def write_comments(view: sublime.View, found: Iterable[Comment]) -> None:
    view.settings().set(COMMENTS, [asdict(each) for each in found])


def texts_taken_over(view: sublime.View) -> frozenset[str]:
    """The digests of the texts before what was taken over by itself."""
    stored = _as_list(view.settings().get(TAKEN_OVER))
    return frozenset(digest for digest in stored if isinstance(digest, str))


def note_taken_over(view: sublime.View, digest: str) -> None:
    """The text of that digest becomes another one by itself."""
    view.settings().set(TAKEN_OVER, sorted(texts_taken_over(view) | {digest}))


def stamp_view(view: sublime.View) -> None:
    """The view is a diff from now on."""
    view.settings().set(STAMP, True)


def erase_stamp(view: sublime.View) -> None:
    view.settings().erase(STAMP)


def erase_record(view: sublime.View) -> None:
    """Make it a view like any other."""
    for name in (STAMP, PATH, RECORD, ORIGINAL, SEEN, COMMENTS, TAKEN_OVER):
        view.settings().erase(name)


def _as_list(stored: Any) -> Sequence[Any]:
    return stored if isinstance(stored, (list, tuple)) else ()


def _parse_stored(stored: Any, kind: type[R]) -> R | None:
    types = _TYPES[kind]
    if not isinstance(stored, Mapping):
        return None
    # Other versions may have written more members, or fewer.
    values = {name: stored[name] for name in types if name in stored}
    for name, value in values.items():
        # Sublime may give a float without a fraction as a whole number.
        if type(value) is not types[name] and (type(value), types[name]) != (int, float):
            return None
    try:
        return kind(**values)
    except TypeError:
        # A member without a default is missing.
        return None


def _field_types(kind: type[Any]) -> dict[str, type]:
    known = {"str": str, "int": int, "bool": bool, "float": float}
    return {field.name: known[str(field.type)] for field in fields(kind)}


# Used thousands of times.
_TYPES = {kind: _field_types(kind) for kind in (DiffRecord, OriginalRecord, Comment)}
