"""The text in a composer, with an undo of its own. Knows no view.

The view's undo would also take back what the agent has written (docs/adr/0028).
"""

from __future__ import annotations

from dataclasses import dataclass

from ...base.changes import changes_between, common_ends, rows_of

# The most steps of undo, and the most characters in them.
STEPS = 1000
CHARACTERS = 4 * 1024 * 1024


@dataclass(frozen=True)
class ComposerChange:
    """`inserted` stands at `at` in the place of `removed`."""

    at: int
    removed: str
    inserted: str

    @property
    def size(self) -> int:
        return len(self.removed) + len(self.inserted)


class Unsent:
    """`text` is what the composer has."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self._done: list[ComposerChange] = []
        self._undone: list[ComposerChange] = []
        # Whether the next character belongs to the last step.
        self._is_typing = False

    def record_edit(self, text: str) -> None:
        """The user or a plugin has changed the text to this one."""
        change = text_difference(self.text, text)
        if change is None:
            return
        self.text = text
        self._undone.clear()
        last = self._done[-1] if self._done and self._is_typing else None
        joined = _join_changes(last, change) if last is not None else None
        if joined is not None:
            self._done[-1] = joined
        else:
            self._done.append(change)
        self._is_typing = True
        self._forget_oldest()

    def undo(self) -> ComposerChange | None:
        """Take the last step back; gives what that changes in the text, None if nothing is left."""
        self._is_typing = False
        if not self._done:
            return None
        done = self._done.pop()
        self._undone.append(done)
        return self._apply_change(ComposerChange(done.at, done.inserted, done.removed))

    def redo(self) -> ComposerChange | None:
        self._is_typing = False
        if not self._undone:
            return None
        done = self._undone.pop()
        self._done.append(done)
        return self._apply_change(done)

    def _apply_change(self, change: ComposerChange) -> ComposerChange:
        end = change.at + len(change.removed)
        self.text = self.text[: change.at] + change.inserted + self.text[end:]
        return change

    def _forget_oldest(self) -> None:
        """The oldest steps go; the last one always stays."""
        del self._done[:-STEPS]
        while len(self._done) > 1 and sum(step.size for step in self._done) > CHARACTERS:
            del self._done[0]


def text_difference(old: str, new: str) -> ComposerChange | None:
    """What makes the new text of the old one, as one change; None if nothing does."""
    if old == new:
        return None
    before, behind = common_ends(old, new)
    return ComposerChange(before, old[before : len(old) - behind], new[before : len(new) - behind])


def unsent_in(text: str, transcript: str, line: str, known: str) -> str:
    """The unsent text in a view with this text, which should be the transcript, the line that ends
    it, and the unsent text that is known. What was written into the transcript goes behind the rest
    of the unsent text."""
    if text.startswith(transcript + line):
        return text[len(transcript + line) :]
    above, found, below = text.partition(line)
    if found and line not in below + known and (not above or above.endswith("\n")):
        return below + written_into(transcript, above)
    # What is missing of the unsent text went together with something of the transcript.
    return known + written_into(transcript + line + known, text)


def written_into(old: str, new: str) -> str:
    """What the new text has in addition to the old one, row by row: also what took the place of
    something."""
    change = text_difference(old, new)
    if change is None or not change.removed:
        return change.inserted if change is not None else ""
    before, after = rows_of(change.removed), rows_of(change.inserted)
    found = []
    for part in changes_between(before, after):
        gone, came = before[part.old_start : part.old_end], after[part.new_start : part.new_end]
        # As many rows as before: something was written in each of them.
        if len(gone) != len(came):
            gone, came = ["".join(gone)], ["".join(came)]
        for pair in zip(gone, came):
            written = text_difference(*pair)
            found.append(written.inserted if written is not None else "")
    return "".join(found)


def _join_changes(last: ComposerChange, change: ComposerChange) -> ComposerChange | None:
    """A word that is being typed, or characters that are deleted one by one, are one step."""
    if len(change.inserted) == 1 and not (change.removed or last.removed):
        is_next = change.at == last.at + len(last.inserted)
        begins_word = last.inserted[-1:].isspace() and not change.inserted.isspace()
        if is_next and not begins_word and "\n" not in change.inserted:
            return ComposerChange(last.at, "", last.inserted + change.inserted)
    if len(change.removed) == 1 and not (change.inserted or last.inserted):
        if change.at + 1 == last.at:
            return ComposerChange(change.at, change.removed + last.removed, "")
    return None
