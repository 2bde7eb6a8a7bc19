"""What a change of a work tree makes of the user's own file: the three-way merge of what the file
was at the beginning, what it is in the tree, and what the user has. Knows no disk and no view."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Sequence

from ..base.changes import changes_between, rows_of
from ..base.file_content import Original, of_bytes
from ..base.merge import merge_texts
from .inside import ABSENT, FILE, FILES, LINK, PROGRAM, REPOSITORY, TreeContent

# A description of a file's encoding, as `Original.traits` have it, and how Python writes that.
ENCODINGS = {
    "UTF-16": {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"},
    "UTF-32": {b"\xff\xfe\x00\x00": "utf-32-le", b"\x00\x00\xfe\xff": "utf-32-be"},
}
NO_FILE = Original("", exists=False)
# A row, with whatever ends it.
ROW = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")

RUNS, RUNS_NOT = "It can be run as a program now.", "It cannot be run as a program any more."
GOES = "Accept removes the file."
EMPTY = "A new file without a line."
LINE_ENDS = "Its line ends or its encoding change, and no line."
BINARY = "Binary: {} bytes, and {} bytes before."
IS_LINK = "A link to {}."
WAS_LINK = "It was a link to {}."
NO_LINK = "The link to {} is gone."
IS_REPOSITORY = "A repository of its own: nothing of it is taken over here."
IS_OTHER = "It is no file there, so nothing is taken over: a folder, a pipe, a device, or its path."
IN_PLACE = "In your files there is a folder, or what is no file, in its place."
OWN_LINK = "In your files there is a link in its place."
BOTH = "You have changed it too, and it is no text: Accept asks which one you want."
OWN_STAYS = "You have changed it too, and it is no text: nothing is taken over."


@dataclass(frozen=True)
class MergedChange:
    """`own` is the user's file, with what its tab has unsaved. `text` is what it becomes, with
    marks where there are `conflicts`; None if that is no text. `mode` is what it becomes as a file.

    Of what is no text, `whole` is what takes the place of the user's; None if nothing may. `exact`
    are the bytes for just this text, if the user's file was as at the beginning; else None, and
    they are made like those of the user's file. `note` says in a sentence what no line shows."""

    own: Original
    text: str | None
    conflicts: int = 0
    mode: str = FILE
    whole: TreeContent | None = None
    exact: bytes | None = None
    note: str = ""
    # Whether the file is gone in the tree.
    is_removal: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether the user has all of it."""
        return self.text == self.own.text and not self.note


def merge_change(
    left: TreeContent, right: TreeContent, own: TreeContent, unsaved: str | None = None
) -> MergedChange:
    """What becomes of the user's file `own`, if its tab has that `unsaved` text, None for none."""
    sides = [_original_of(content) for content in (left, right, own)]
    if any(side is None or side.note for side in sides):
        return _merge_whole(left, right, own, unsaved)
    old, new, mine = (side or NO_FILE for side in sides)
    if unsaved is not None:
        mine = replace(mine, text=unsaved)
    mode = _merge_modes(left, right, own)
    note = _mode_note(own.mode, mode) if right.is_file else ""
    is_untouched = mine.text == old.text and mine.exists == old.exists
    if is_untouched:
        exact = right.data if mine.traits == old.traits or not mine.exists else None
        if not right.is_file:
            note = GOES
        elif not (mine.exists or new.text):
            note = f"{EMPTY} {note}".rstrip()
        elif exact is not None and new.text == mine.text and new.digest != mine.digest:
            note = " ".join(filter(None, [note, LINE_ENDS if mine.exists else ""]))
        return MergedChange(
            mine, new.text, mode=mode, exact=exact, note=note, is_removal=not right.is_file
        )
    merged = merge_texts(old.text, new.text, mine.text)
    count = len(merged.conflicts)
    if not right.is_file and not merged.text and mine.exists:
        note = GOES
    return MergedChange(mine, merged.text, count, mode, note=note, is_removal=not right.is_file)


def encode_text(text: str, own: TreeContent) -> bytes:
    """The bytes of the text in the form of the user's file: its encoding, and the line ends that
    its rows have; new rows get those of the most. Raises UnicodeEncodeError if the encoding lacks a
    character."""
    present = _original_of(own) or NO_FILE
    mark, encoding = _encoding_of(present, own.data)
    ends = [trait for trait in present.traits if trait in ("CRLF", "CR", "mixed line ends")]
    if ends:
        text = _with_line_ends(text, own.data[len(mark) :].decode(encoding))
    return mark + text.encode(encoding)


def _original_of(content: TreeContent) -> Original | None:
    """None for what is no file."""
    if content.mode == ABSENT:
        return NO_FILE
    return of_bytes(content.data) if content.is_file else None


def _merge_modes(left: TreeContent, right: TreeContent, own: TreeContent) -> str:
    if not own.is_file or own.mode == left.mode:
        return right.mode if right.is_file else own.mode
    return own.mode


def _mode_note(before: str, after: str) -> str:
    if before not in FILES or before == after:
        return RUNS if after == PROGRAM and before not in FILES else ""
    return RUNS if after == PROGRAM else RUNS_NOT


def _merge_whole(
    left: TreeContent, right: TreeContent, own: TreeContent, unsaved: str | None
) -> MergedChange:
    mine = _original_of(own) or Original("", exists=True)
    note = _whole_note(left, right, own)
    can_be = right.is_file or right.mode in (LINK, ABSENT)
    # The user's settings may have given a file other line ends than git has.
    is_untouched = unsaved is None and (own == left or own.mode == left.mode == ABSENT)
    if can_be and not is_untouched and own.mode in (ABSENT, *FILES):
        said = BOTH if right.is_file and unsaved is None else OWN_STAYS
        note = f"{note} {said}".lstrip()
    whole = right if can_be and is_untouched else None
    is_removal = right.mode == ABSENT
    return MergedChange(mine, None, mode=right.mode, whole=whole, note=note, is_removal=is_removal)


def _whole_note(left: TreeContent, right: TreeContent, own: TreeContent) -> str:
    if REPOSITORY in (left.mode, right.mode):
        return IS_REPOSITORY
    if own.mode not in (left.mode, ABSENT, *FILES):
        return OWN_LINK if own.mode == LINK else IN_PLACE
    if right.mode == LINK:
        return IS_LINK.format(_target_words(right))
    if left.mode == LINK:
        said = WAS_LINK if right.is_file else NO_LINK
        return said.format(_target_words(left))
    if right.mode == ABSENT:
        return GOES
    if not right.is_file:
        return IS_OTHER
    return BINARY.format(f"{len(right.data):,}", f"{len(left.data):,}")


def _target_words(content: TreeContent) -> str:
    return content.data.decode("utf-8", "backslashreplace")


def _encoding_of(present: Original, data: bytes) -> tuple[bytes, str]:
    """The byte order mark that no text has, and the name of the encoding."""
    for trait in present.traits:
        for mark, name in ENCODINGS.get(trait, {}).items():
            if data.startswith(mark):
                return mark, name
        if trait.startswith("an encoding"):
            return b"", "latin-1"
    return b"", "utf-8"


def _with_line_ends(text: str, like: str) -> str:
    """The text, its rows with the line ends that those of `like` have."""
    theirs = ROW.findall(like)
    plain = [row.rstrip("\r\n") + ("\n" if row[-1:] in "\r\n" else "") for row in theirs]
    ends = [row[len(row.rstrip("\r\n")) :] for row in theirs]
    usual = max(("\r\n", "\n", "\r"), key=ends.count)
    rows, at = rows_of(text), 0
    found: list[str] = []
    for change in changes_between(plain, rows):
        found += theirs[at : change.old_start]
        found += _ended(rows[change.new_start : change.new_end], usual)
        at = change.old_end
    return "".join(found + theirs[at:])


def _ended(rows: Sequence[str], end: str) -> list[str]:
    return [row[:-1] + end if row.endswith("\n") else row for row in rows]
