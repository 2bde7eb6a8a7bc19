"""A tab of text that is no file, as a person at a terminal sees it: its rows, with what is folded
and what phantoms say, and where the caret is."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from . import clicks, proposals
from .sides import columns, printable, wrapped

FOLD = "…"
# By a part of the scope that colours a row.
SIGNS = {"inserted": "+", "deleted": "-"}
# Of a list of completions.
MOST_OFFERS = 6


class Tab(NamedTuple):
    """`text` is shown with FOLD for what is folded. `notes` are the rows of it, from 0, below which
    a phantom stands, and what that says. `caret` is a point of `text`, None where there is none;
    `is_at_end` whether that is its end. `links` are those of the phantoms; `offers` what completes
    the word at the caret; `signs` the rows that are coloured as added or as deleted."""

    title: str
    text: str
    notes: Tuple[Tuple[int, str], ...]
    caret: Optional[int]
    is_at_end: bool
    links: Tuple[clicks.Link, ...]
    offers: Tuple[str, ...]
    signs: Mapping[int, str]


class Lines(NamedTuple):
    """A tab in lines of the terminal; `caret` are its line and its column, from 0."""

    lines: List[str]
    caret: Optional[Tuple[int, int]]


def read(view: Any) -> Optional[Tab]:
    """The tab of a view; None where it is a file, or to be saved. On the UI thread."""
    shown = proposals.shown_only(view)
    if shown is None:
        return None
    title, text = shown
    folds = _disjoint(view.folds)
    caret = view.selection[-1][1] if view.selection else None
    notes = []
    for phantom in view.phantoms:
        words = " ".join(proposals.plain(phantom.content))
        linked = ["[%s]" % it.text for it in clicks.in_html(phantom.content)]
        said = " ".join(proposals.plain(phantom.content, with_links=False)) if linked else words
        at = _place(min(phantom.region), folds)
        notes.append((at, " ".join(filter(None, (said, *linked)))))
    folded = _folded(text, folds)
    completing = view.completing
    offers = completing.fitting() if completing is not None else []
    return Tab(
        title,
        folded,
        tuple((folded.count("\n", 0, at), words) for at, words in sorted(notes) if words),
        _place(caret, folds) if caret is not None else None,
        caret == len(text),
        tuple(it for it in clicks.links(view) if it.where == "phantom"),
        tuple(it.trigger for it in offers[:MOST_OFFERS]),
        _signs(view, folded, folds),
    )


def _signs(view: Any, folded: str, folds: List[Tuple[int, int]]) -> Mapping[int, str]:
    found: Dict[int, str] = {}
    for marks in list(view.marks.values()):
        sign = next((SIGNS[it] for it in SIGNS if it in marks.scope.split(".")), "")
        for region in marks.regions if sign else ():
            begin, end = (_place(it, folds) for it in (min(region), max(region)))
            if begin and folded[begin - 1] != "\n":
                # Only a word of the row.
                continue
            first = folded.count("\n", 0, begin)
            last = first + folded.count("\n", begin, max(begin, end - 1))
            found.update(dict.fromkeys(range(first, last + 1), sign))
    return found


def lines(tab: Tab, width: int) -> Lines:
    """All lines of the tab, the title first."""
    rows, found = tab.text.split("\n"), [tab.title]
    notes = list(tab.notes)
    at_row = tab.text.count("\n", 0, tab.caret) if tab.caret is not None else -1
    caret = None
    for number, row in enumerate(rows):
        head = tab.signs.get(number, " ") + " " if tab.signs else ""
        if number == at_row and tab.caret is not None:
            before = tab.text[: tab.caret].rpartition("\n")[2]
            caret = len(found), columns(head + printable(before))
            hard = _chunks(head + printable(row), width)
            caret = (caret[0] + caret[1] // width, caret[1] % width)
            found += hard + [""] * (caret[0] - len(found) - len(hard) + 1)
        else:
            found += wrapped(head + row, width)
        while notes and notes[0][0] == number:
            found += wrapped("  " + notes.pop(0)[1], width)
    return Lines(found, caret)


def _chunks(text: str, width: int) -> List[str]:
    """The text in lines of this many columns, wherever that cuts it."""
    found, used = [""], 0
    for character in text:
        size = columns(character)
        if used + size > width:
            found.append("")
            used = 0
        found[-1] += character
        used += size
    return found


def _disjoint(folds: Any) -> List[Tuple[int, int]]:
    found: List[Tuple[int, int]] = []
    for begin, end in sorted((min(it), max(it)) for it in folds):
        if end > begin and (not found or begin >= found[-1][1]):
            found.append((begin, end))
    return found


def _folded(text: str, folds: List[Tuple[int, int]]) -> str:
    pieces, at = [], 0
    for begin, end in folds:
        pieces += [text[at:begin], FOLD]
        at = end
    return "".join([*pieces, text[at:]])


def _place(point: int, folds: List[Tuple[int, int]]) -> int:
    """Where a point of the text stands among what is shown."""
    gone = 0
    for begin, end in folds:
        if point <= begin:
            break
        gone += min(point, end) - begin - (len(FOLD) if point >= end else 0)
    return point - gone
