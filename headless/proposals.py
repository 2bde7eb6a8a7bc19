"""What a person sees of the diffs that wait: read from the editor, and from nothing behind it.

The package is known here by what it shows: a setting that marks the right views of diffs, the
phantom at their head, the regions that it draws, and the links that name a diff.
"""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any, List, NamedTuple, Optional, Tuple

from . import clicks

STAMP, PATH = "gemini_companion_diff", "gemini_companion_diff_path"
RECORD, ORIGINAL = "gemini_companion_diff_record", "gemini_companion_diff_original"
HEAD, LINKS = "gemini_companion_diff", "gemini_companion_change"
CHARACTERS, COMMENT = "gemini_companion_characters", "gemini_companion_comment_"

NO_BREAK = "\u00a0"
BLOCKS = ("br", "div", "p", "h1", "h2", "h3")
Regions = Tuple[Tuple[int, int], ...]


class Proposal(NamedTuple):
    """A diff as it stands in the editor now. `id` is what its links name; `said` are the lines at
    its head, and `links` the links there; `old` is None where nothing is compared. `caret` is a
    row, from 0; `beside` are a row and what is written at its right edge."""

    view: int
    id: str
    path: str
    said: Tuple[str, ...]
    links: Tuple[str, ...]
    old: Optional[str]
    new: str
    caret: int
    old_marks: Regions
    new_marks: Regions
    beside: Tuple[Tuple[int, str], ...]


def waiting(editor: Any) -> List[Any]:
    """The right views of all diffs that wait; on the UI thread."""
    return [view for view in editor.all_views() if view.settings.get(STAMP) is True]


def shown_only(view: Any) -> Optional[Tuple[str, str]]:
    """Name and text of a tab that is no file and not to be saved, such as a difference; None for
    every other one."""
    if view is None or not view.buffer.scratch or view.buffer.file_name:
        return None
    if not view.buffer.name or any(view.settings.get(key) for key in (RECORD, ORIGINAL)):
        return None
    return view.title(), view.text.characters


def read(editor: Any, view: Any) -> Proposal:
    """On the UI thread."""
    heads = [it for it in view.phantoms if it.key == HEAD]
    said = tuple(line for head in heads for line in plain(head.content))
    at_head = [link for link in clicks.links(view) if link.where == "phantom"]
    old = view.buffer.reference
    left = _left(editor, view, old)
    return Proposal(
        view.id,
        next(filter(None, (_id(link.href) for link in at_head)), ""),
        str(view.settings.get(PATH)),
        said,
        tuple(link.text for link in at_head),
        old,
        view.text.characters,
        view.text.rowcol(view.selection[0][1])[0] if view.selection else 0,
        _marks(left, CHARACTERS) if left is not None else (),
        _marks(view, CHARACTERS),
        _beside(view),
    )


def rows_of_change(view: Any, first: int, last: int) -> Tuple[int, int]:
    """The region of rows as a person selects them upwards: the caret stays in the first one."""
    end = view.text.point(last, 0) if last < view.text.row_count() else len(view.text)
    return max(end, view.text.point(first, 0)), view.text.point(first, 0)


def plain(content: str, with_links: bool = True) -> List[str]:
    """The lines of a phantom, without the links before their words, or without any."""
    return [line.lstrip() for line in page(content, with_links)]


def page(content: str, with_links: bool = True) -> List[str]:
    """The same of a tab, with the indents that it has."""
    reader = _Plain(with_links)
    reader.feed(content)
    reader.close()
    return [_spaced(line) for line in "".join(reader.found).split("\n") if line.strip()]


def _spaced(line: str) -> str:
    indent = len(line) - len(line.lstrip(NO_BREAK))
    return " " * indent + " ".join(line.split())


class _Plain(HTMLParser):
    def __init__(self, with_links: bool) -> None:
        super().__init__(convert_charrefs=True)
        self._with_links = with_links
        self.found: List[str] = []
        self._in_link = False
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._in_link = self._in_link or tag == "a"
        self._in_style = tag == "style"
        if tag in BLOCKS:
            self.found.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_style:
            return
        line = "".join(self.found).rpartition("\n")[2]
        if not self._in_link or (self._with_links and line.strip()):
            self.found.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False
        if tag == "a":
            self._in_link = False
        if tag in BLOCKS:
            self.found.append("\n")


def _id(href: str) -> str:
    _name, _, arguments = href.partition(" ")
    try:
        found = json.loads(arguments)
    except ValueError:
        return ""
    return str(found.get("id", "")) if isinstance(found, dict) else ""


def _left(editor: Any, right: Any, old: Optional[str]) -> Optional[Any]:
    """The view that has the text on disk, beside the proposal."""
    if old is None or right.window is None:
        return None
    there = [it for it in right.window.views() if it is not right and it.buffer.read_only]
    return next((it for it in there if it.text.characters == old), None)


def _marks(view: Any, key: str) -> Regions:
    marks = view.marks.get(key)
    regions = marks.regions if marks is not None else []
    return tuple(sorted((min(a, b), max(a, b)) for a, b in regions))


def _beside(view: Any) -> Tuple[Tuple[int, str], ...]:
    """What stands at the right edge: of a change, whether it was seen; of lines, a comment."""
    found = []
    for key in [key for key in view.marks if key == LINKS or key.startswith(COMMENT)]:
        marks = view.marks[key]
        for region, content in zip(marks.regions, marks.annotations):
            words = " ".join(plain(content, with_links=False))
            found.append((view.text.rowcol(min(region))[0], "[%s]" % words))
    return tuple(found)
