"""What a person sees of the diffs that wait: read from the editor, and from nothing behind it.

The package is known here by what it shows: a setting that marks the right views of diffs, the
phantoms at their head and between their lines, the regions that it draws, and the links that name a
diff.
"""

from __future__ import annotations

import json
import re
from typing import Any, List, NamedTuple, Optional, Tuple

from headless import clicks
from headless.html_text import page, plain

from .sides import Numbers

STAMP, PATH = "gemini_companion_diff", "gemini_companion_diff_path"
RECORD, ORIGINAL = "gemini_companion_diff_record", "gemini_companion_diff_original"
HEAD = "gemini_companion_diff"
# Of a tab with the changes of several files.
SHEET = "gemini_companion_changes"
NUMBER = "gemini_companion_line_number"
CHARACTERS = "gemini_companion_characters"
_BETWEEN = re.compile('<div class="gemini-companion-(change|comment)"[^>]*>(.*?)</div>')

Regions = Tuple[Tuple[int, int], ...]


class Proposal(NamedTuple):
    """A diff as it stands in the editor now. `id` is what its links name; `said` are the lines at
    its head, and `links` the links there; `titles` are those of both tabs, the left one's empty
    where there is none; `old` is None where nothing is compared. `caret` is a row, from 0; `beside`
    are a row and what is written at its right edge; `numbers` are those of lines that are not their
    place in the text, of both sides, by row."""

    view: int
    id: str
    path: str
    said: Tuple[str, ...]
    links: Tuple[str, ...]
    titles: Tuple[str, str]
    old: Optional[str]
    new: str
    caret: int
    old_marks: Regions
    new_marks: Regions
    beside: Tuple[Tuple[int, str], ...]
    numbers: Tuple[Numbers, Numbers]


def waiting_views(editor: Any) -> List[Any]:
    """The right views of all diffs that wait; on the UI thread."""
    return [view for view in editor.all_views() if view.settings.get(STAMP) is True]


def count_hidden(editor: Any) -> int:
    """How many diffs wait without tabs; on the UI thread."""
    stamped = [view for view in editor.views.values() if view.settings.get(STAMP) is True]
    return len(stamped) - len(waiting_views(editor))


def views_on_top(window: Any) -> List[int]:
    """The views that the groups of the window show, by their ids; on the UI thread."""
    shown = [group.active for group in window.groups]
    return [sheet.view.id for sheet in shown if sheet is not None and sheet.view is not None]


def shown_only(view: Any) -> Optional[Tuple[str, str]]:
    """Name and text of a tab that is no file and not to be saved, such as a difference; None for
    every other one."""
    if view is None or not view.buffer.scratch or view.buffer.file_name:
        return None
    if not view.buffer.name or is_of_diff(view):
        return None
    return view.title(), view.text.characters


def is_of_diff(view: Any) -> bool:
    return any(view.settings.get(key) for key in (RECORD, ORIGINAL))


def read_proposal(editor: Any, view: Any) -> Proposal:
    """On the UI thread."""
    heads = [phantom for phantom in view.phantoms if phantom.key == HEAD]
    said = tuple(line for head in heads for line in plain(head.content))
    at_head = [link for head in heads for link in clicks.in_html(head.content)]
    old = view.buffer.reference
    left = _left_view(view)
    return Proposal(
        view.id,
        next(filter(None, (_href_id(link.href) for link in at_head)), ""),
        str(view.settings.get(PATH)),
        said,
        tuple(link.text for link in at_head),
        (left.title() if left is not None else "", view.title()),
        old,
        view.text.characters,
        view.text.rowcol(view.selection[0][1])[0] if view.selection else 0,
        _marked_regions(left, CHARACTERS) if left is not None else (),
        _marked_regions(view, CHARACTERS),
        _notes_between(view),
        (_line_numbers(left or view), _line_numbers(view)),
    )


def rows_of_change(view: Any, first: int, last: int) -> Tuple[int, int]:
    """The region of rows as a person selects them upwards: the caret stays in the first one."""
    end = view.text.point(last, 0) if last < view.text.row_count() else len(view.text)
    return max(end, view.text.point(first, 0)), view.text.point(first, 0)


def _href_id(href: str) -> str:
    _name, _, arguments = href.partition(" ")
    try:
        found = json.loads(arguments)
    except ValueError:
        return ""
    return str(found.get("id", "")) if isinstance(found, dict) else ""


def _left_view(right: Any) -> Optional[Any]:
    """The view of the file, beside the proposal; None where one view has both."""
    for view in right.window.views() if right.window is not None else []:
        record = view.settings.get(ORIGINAL)
        if isinstance(record, dict) and record.get("proposal_id") == right.id:
            return view
    return None


def _marked_regions(view: Any, key: str) -> Regions:
    marks = view.marks.get(key)
    regions = marks.regions if marks is not None else []
    return tuple(sorted((min(a, b), max(a, b)) for a, b in regions))


def _line_numbers(view: Any) -> Numbers:
    """Where the gutter has no line numbers, those that stand before the lines."""
    if view.settings.get("line_numbers", True):
        return None
    there = [phantom for phantom in view.phantoms if phantom.key == NUMBER]
    return {
        view.text.rowcol(min(phantom.region))[0]: "".join(page(phantom.content)).strip()
        for phantom in there
    }


def _notes_between(view: Any) -> Tuple[Tuple[int, str], ...]:
    """What stands between the lines: above a change, whether it was seen; below lines, a comment.
    Here each stands beside a line."""
    old, new = view.buffer.reference or "", view.text.characters
    # Above the first line there is no place.
    first = 0 if old.partition("\n")[:2] != new.partition("\n")[:2] else 1
    found = []
    for phantom in view.phantoms:
        row = view.text.rowcol(min(phantom.region))[0]
        below = min(row + 1, view.text.row_count() - 1) if row else first
        for kind, content in _BETWEEN.findall(phantom.content):
            words = " ".join(plain(content, with_links=False))
            if words:
                found.append((below if kind == "change" else row, "[%s]" % words))
    return tuple(found)
