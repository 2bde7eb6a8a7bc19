"""What a restored sheet shows before the package draws it, with what the user has typed meanwhile.
UI thread only.

The editor brings the text back before the package is there, and the files' reviews come later
still. A digest in the view says whether something was typed; that waits for the same changes. What
the heading of a file says may be another by then: its agent may have ended with the editor.
"""

from __future__ import annotations

import time
from typing import Sequence

import sublime

from ...base.change_sheet import Part, Section, Sheet
from ...base.sheet_typing import typed_edits
from ...base.text_digest import digest_of_parts, text_digest
from .. import texts

# In the settings of the view: the digest of what the package has drawn below the head.
SIGNATURE = "gemini_companion_changes_drawn"
# And the headings of the files in it.
HEADINGS = "gemini_companion_changes_headings"
# Rows of the head.
HEAD = 2
# Seconds that the files' changes may take to be what they were.
PATIENCE = 5.0


class EarlierText:
    """The earlier text of one view, which nobody has drawn yet."""

    def __init__(self, view: sublime.View) -> None:
        self._signature = view.settings().get(SIGNATURE)
        stored = view.settings().get(HEADINGS)
        self._headings = [str(each) for each in stored] if isinstance(stored, list) else []
        self._deadline = time.monotonic() + PATIENCE

    def typed_text(self, view: sublime.View) -> str | None:
        """What stands below the head, if the user has typed in it; else None."""
        text = _below_head(texts.text_of(view))
        is_typed = self._signature and text_digest(text) != self._signature
        return text if is_typed else None

    def fits_sections(self, sections: Sequence[Section]) -> bool:
        """Whether these are the changes among which it was typed, whatever their headings say."""
        if self._signature is None:
            return False
        files = sections[1:]
        drawn = [section.text for section in files]
        if len(files) == len(self._headings):
            # With the headings that it had then.
            drawn = [
                heading + section.text[len(section.rows[0]) :]
                for heading, section in zip(self._headings, files)
            ]
        return digest_of_parts(drawn) == self._signature

    def parts_toward(self, view: sublime.View, sheet: Sheet) -> list[Part] | None:
        """What makes the head and the headings those of the sheet; None if its changes are not the
        ones among which it was typed, or not all that was typed can be passed on to them."""
        if not self.fits_sections(sheet.sections):
            return None
        text, head = texts.text_of(view), sheet.text[: sheet.points[1]]
        known = self._headings
        if any(f"\n{text}".count(f"\n{each}") != known.count(each) for each in known):
            # A line of a file reads like a heading, or the user has changed one.
            return None
        parts: list[Part] = [(0, view.text_point(HEAD, 0), head)]
        at = parts[0][1]
        for heading, section in zip(self._headings, sheet.sections[1:]):
            begin = f"\n{text}".index(f"\n{heading}", at)
            at = begin + len(heading)
            parts += [(begin, at, section.rows[0])] if heading != section.rows[0] else []
        if self.typed_text(view) is not None:
            for start, end, new in reversed(parts):
                text = text[:start] + new + text[end:]
            if typed_edits(sheet, text, None).sheet.text != text:
                return None
        return parts

    def may_begin(
        self,
        view: sublime.View,
        sections: Sequence[Section],
        is_restoring: bool,
        is_complete: bool,
    ) -> bool:
        """Whether what stands there need not wait: for the changes among which it stood, unless
        their files are known to be complete and nothing was typed; or, if it `is_restoring`, for
        reviews that may get a newer text yet."""
        is_late = time.monotonic() > self._deadline
        is_over = self._signature is None or (is_complete and self.typed_text(view) is None)
        return is_late or ((is_over or self.fits_sections(sections)) and not is_restoring)


def write_signature(view: sublime.View, sections: Sequence[Section]) -> None:
    """The view shows these."""
    files = sections[1:]
    view.settings().set(SIGNATURE, digest_of_parts(section.text for section in files))
    view.settings().set(HEADINGS, [section.rows[0] for section in files])


def erase_signature(view: sublime.View) -> None:
    """What stands in the view is drawn anew: until that is over, nothing there was typed."""
    view.settings().erase(SIGNATURE)


def _below_head(text: str) -> str:
    return "".join(text.splitlines(keepends=True)[HEAD:])
