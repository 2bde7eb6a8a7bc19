"""What a tab of a chat holds when the package comes to it: transcript, unsent text, and what was
typed before anybody looked. Knows no view.

The editor restores tabs before the package is there, and the user can type anywhere in them then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable

from ...base.text_digest import text_digest
from .drawn import signature_of
from .unsent import text_difference, written_into


@dataclass(frozen=True)
class TypedAbove:
    """Text in a transcript of which some was typed: what, is known with the transcript. It was
    followed by `below`, the line and the unsent text, if these could not be found in it."""

    text: str
    below: str
    # The composer's text at first; what was typed since belongs behind the words from above.
    unsent: str

    def add_to(self, unsent: str, transcript: str) -> str:
        """This unsent text with what is not of the transcript."""
        words = written_into(transcript + self.below, self.text)
        at = len(self.unsent) if unsent.startswith(self.unsent) else len(unsent)
        return _join_texts(unsent[:at], words) + unsent[at:]


@dataclass(frozen=True)
class SeenUnsent:
    """What the package leaves with a tab of the unsent text that it has seen there: its digest, and
    when that was, in seconds since the epoch."""

    digest: str
    at: float

    @property
    def signature(self) -> str:
        return f"{self.digest} {self.at!r}"

    @classmethod
    def of_signature(cls, value: object) -> SeenUnsent | None:
        """None if the package never left one. Those of earlier releases have no time."""
        if not isinstance(value, str) or not value:
            return None
        digest, _, at = value.partition(" ")
        try:
            return cls(digest, float(at or 0.0))
        except ValueError:
            return cls(digest, 0.0)


@dataclass(frozen=True)
class RestoredChat:
    """`transcript` is what stands above the composer, `unsent` the composer's text. `is_typed_in`
    if the user has typed above the composer; that is in `unsent`, or still in `typed_above`."""

    transcript: str
    unsent: str
    is_typed_in: bool = False
    typed_above: TypedAbove | None = None


def read_restored(
    text: str,
    line: str,
    carets: Iterable[int],
    draft: str | None,
    draft_at: float,
    seen: SeenUnsent | None,
    signature: object,
) -> RestoredChat:
    """Divide the text of a tab at the line. The draft was typed at `draft_at`, in seconds since the
    epoch. `seen` and the signature, of the transcript, are those that the package has left with the
    tab; None if it never did."""
    transcript, below = _divide_text(text, line, seen.digest if seen is not None else "")
    unsent = draft or "" if below is None else restored_text(below, draft, draft_at, seen)
    if not isinstance(signature, str) or (
        below is not None and signature_of(transcript) == signature
    ):
        return RestoredChat(transcript, unsent)
    if below is not None:
        for caret in carets:
            start = caret - (len(transcript) - _signature_size(signature))
            rest = transcript[: max(start, 0)] + transcript[caret:]
            if 0 <= start < caret and signature_of(rest) == signature:
                return RestoredChat(rest, _join_texts(unsent, transcript[start:caret]), True)
    typed = TypedAbove(transcript, "" if below is not None else line + unsent, unsent)
    return RestoredChat(transcript, unsent, True, typed)


def _divide_text(text: str, line: str, unsent_digest: str) -> tuple[str, str | None]:
    """What is above the line and what is below it; None if it is not there as a whole. An answer
    can have the same characters within a line, so one counts only where all below it is known."""
    at = ("\n" + text).find("\n" + line)
    if at >= 0:
        return text[:at], text[at + len(line) :]
    above, found, below = text.rpartition(line)
    if found and text_digest(below) == unsent_digest:
        return above, below
    return text, None


def restored_text(in_view: str, draft: str | None, draft_at: float, seen: SeenUnsent | None) -> str:
    """The unsent text of a restored view: the newer one of what the editor restores, which may be
    older after a crash, and of the draft. What was typed into the view since it was `seen`, before
    anybody looked again, stays, beside the draft if that has not all of it."""
    if draft is None or draft == in_view:
        return in_view
    if seen is None:
        return draft
    # The draft is written a moment after the text was seen.
    if seen.at > draft_at or seen.digest == text_digest(draft):
        return in_view
    if seen.digest == text_digest(in_view):
        return draft
    if draft in in_view or _has_all_of(in_view, draft):
        return in_view
    return draft if in_view in draft or _has_all_of(draft, in_view) else f"{draft}\n{in_view}"


def _has_all_of(text: str, other: str) -> bool:
    """Whether it is the other text with something put in at one place."""
    change = text_difference(other, text)
    return change is None or not change.removed


def _signature_size(signature: str) -> int:
    size = signature.partition(" ")[0]
    return int(size) if size.isdecimal() else 0


def _join_texts(unsent: str, words: str) -> str:
    is_apart = not (unsent and words) or unsent.endswith("\n")
    return unsent + words if is_apart else f"{unsent}\n{words}"
