"""A tab of text that is no file, as a person at a terminal sees it: its rows, with what is folded
and what phantoms say, and where the caret is."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from headless import clicks, html_text

from . import proposals
from .sides import count_columns, make_printable, wrap_text

FOLD = "…"
# The setting of a tab that is a chat.
CHAT = "gemini_companion_is_chat"
# The part of a tab that is in sight where another one is shown, or something above it.
NOWHERE = (0, 0)
# By a part of the scope that colours a row.
SIGNS = {"inserted": "+", "deleted": "-"}
# Of a list of completions.
MOST_OFFERS = 6
# Of the same character, so many that their number says nothing.
RULE = 20


class Tab(NamedTuple):
    """`text` is shown with FOLD for what is folded. `notes` are the rows of it, from 0, below which
    a phantom stands, and what that says. `caret` is a point of `text`, None where there is none;
    `is_at_end` whether that is its end; `top` the row to which it was scrolled, and `scrolled` how
    often; `folds` what FOLD stands for. `links` are those of the phantoms; `offers` what completes
    the word at the caret; `signs` the rows that are coloured as added or as deleted. It `is_sheet`
    if it has the changes of several files. `seen` is where the row that was the first one in sight
    stands now, None where none was."""

    title: str
    text: str
    notes: Tuple[Tuple[int, str], ...]
    caret: Optional[int]
    is_at_end: bool
    top: int
    scrolled: int
    folds: Tuple[Tuple[int, int], ...]
    links: Tuple[clicks.Link, ...]
    offers: Tuple[str, ...]
    signs: Mapping[int, str]
    is_sheet: bool = False
    seen: Optional[int] = None


class Lines(NamedTuple):
    """A tab in lines of the terminal; `caret` are its line and its column, from 0; `places` which
    part of the tab's text each line has, and `rows` the first line of each row."""

    lines: List[str]
    caret: Optional[Tuple[int, int]]
    places: List[Tuple[int, int]]
    rows: List[int]


def list_views(editor: Any) -> List[Any]:
    """The views of all tabs with text that are not of a diff. On the UI thread."""
    views = [view for window in editor.windows for view in window.views()]
    return [view for view in views if not proposals.is_of_diff(view)]


def tab_name(view: Any) -> str:
    """The tab's name, with a word where its text is in no file."""
    buffer = view.buffer
    is_nowhere = not buffer.file_name and len(view.text) > 0
    is_unsaved = not buffer.scratch and (buffer.is_dirty() or is_nowhere)
    return str(view.title()) + (" (not saved)" if is_unsaved else "")


def tab_row(view: Any) -> List[str]:
    """What a list says of the tab."""
    return [tab_name(view), *([view.buffer.file_name] if view.buffer.file_name else [])]


def read_tab(view: Any, is_wanted: bool) -> Optional[Tab]:
    """The tab of a view; None where it is a file, or to be saved, unless it is wanted. On the UI
    thread."""
    shown = proposals.shown_only(view)
    if shown is None and is_wanted and not proposals.is_of_diff(view):
        shown = tab_name(view), view.text.characters
    if shown is None:
        return None
    title, text = shown
    folds = _join_folds(view.folds)
    caret = view.selection[-1][1] if view.selection else None
    notes = []
    for phantom in view.phantoms:
        at = _folded_place(min(phantom.region), folds)
        for words in html_text.plain(phantom.content, in_brackets=True):
            notes.append((at, words))
    folded = _fold_text(text, folds)
    completing = view.completing
    offers = completing.fitting() if completing is not None else []
    return Tab(
        title,
        folded,
        tuple(
            (folded.count("\n", 0, at), words)
            for at, words in sorted(notes, key=lambda note: note[0])
        ),
        _folded_place(caret, folds) if caret is not None else None,
        caret == len(text),
        folded.count("\n", 0, _folded_place(view.text.point(_top_row(view), 0), folds)),
        view.scrolled,
        tuple(folds),
        tuple(link for link in clicks.links(view) if link.where == "phantom"),
        tuple(offer.trigger for offer in offers[:MOST_OFFERS]),
        _row_signs(view, folded, folds),
        bool(view.settings.get(proposals.SHEET)),
        _seen_row(view, folded, folds),
    )


def _top_row(view: Any) -> int:
    return int(view.layout().row_at(view.viewport[1])) if view.scrolled else 0


def _seen_row(view: Any, folded: str, folds: List[Tuple[int, int]]) -> Optional[int]:
    if view.seen is None or view.seen == NOWHERE:
        return None
    return folded.count("\n", 0, _folded_place(view.seen[0], folds))


def visible_part(tab: Tab, found: Lines, first: int, count: int) -> Tuple[int, int]:
    """The part of the view's text that stands in these lines."""
    shown = found.places[first : first + count] or [(0, 0)]
    begin, end = shown[0][0], shown[-1][1]
    return _unfolded_point(begin, tab.folds), _unfolded_point(end, tab.folds)


def tell_seen(editor: Any, id: Optional[int], part: Tuple[int, int]) -> None:
    """Packages ask what is in sight of a tab: this part of one, nothing of the others. On the UI
    thread."""
    for view in list(editor.views.values()):
        if view.id == id:
            view.seen = part
        elif view.seen is not None or view.settings.get(CHAT):
            view.seen = NOWHERE


def _row_signs(view: Any, folded: str, folds: List[Tuple[int, int]]) -> Mapping[int, str]:
    found: Dict[int, str] = {}
    for marks in list(view.marks.values()):
        sign = next((SIGNS[scope] for scope in SIGNS if scope in marks.scope.split(".")), "")
        for region in marks.regions if sign else ():
            begin, end = (_folded_place(point, folds) for point in (min(region), max(region)))
            if begin and folded[begin - 1] != "\n":
                # Only a word of the row.
                continue
            first = folded.count("\n", 0, begin)
            last = first + folded.count("\n", begin, max(begin, end - 1))
            found.update(dict.fromkeys(range(first, last + 1), sign))
    return found


def tab_lines(tab: Tab, width: int) -> Lines:
    """All lines of the tab, the title first."""
    found = Lines([tab.title], None, [(0, 0)], [])
    notes = list(tab.notes)
    at_row = tab.text.count("\n", 0, tab.caret) if tab.caret is not None else -1
    begin = 0
    for number, row in enumerate(tab.text.split("\n")):
        head = tab.signs.get(number, " ") + " " if tab.signs else ""
        found.rows.append(len(found.lines))
        if number == at_row and tab.caret is not None:
            before = tab.text[begin : tab.caret]
            hard = _cut_chunks(head + make_printable(row), width)
            line, column = divmod(count_columns(head + make_printable(before)), width)
            found = found._replace(caret=(len(found.lines) + line, column))
            _add_row(found, hard + [""] * (line + 1 - len(hard)), begin, len(row))
        elif _is_rule(row):
            _add_row(found, [make_printable(row)[:width]], begin, len(row))
        else:
            _add_row(found, wrap_text(head + row, width) or [""], begin, len(row))
        begin += len(row)
        while notes and notes[0][0] == number:
            _add_row(found, wrap_text("  " + notes.pop(0)[1], width), begin, 0)
        begin += 1
    return found


def _is_rule(row: str) -> bool:
    """Whether it only separates others; the rest of it needs no line."""
    return len(row) > RULE and len(set(row[1:])) == 1 and not row[-1].isalnum()


def _add_row(found: Lines, shown: List[str], begin: int, size: int) -> None:
    """A row of this size, in lines."""
    found.lines.extend(shown)
    ends = [begin + size * at // len(shown) for at in range(len(shown) + 1)]
    found.places.extend(zip(ends, ends[1:]))


def _cut_chunks(text: str, width: int) -> List[str]:
    """The text in lines of this many columns, wherever that cuts it."""
    found, used = [""], 0
    for character in text:
        size = count_columns(character)
        if used + size > width:
            found.append("")
            used = 0
        found[-1] += character
        used += size
    return found


def _join_folds(folds: Any) -> List[Tuple[int, int]]:
    found: List[Tuple[int, int]] = []
    for begin, end in sorted((min(fold), max(fold)) for fold in folds):
        if end > begin and (not found or begin >= found[-1][1]):
            found.append((begin, end))
    return found


def _fold_text(text: str, folds: List[Tuple[int, int]]) -> str:
    pieces, at = [], 0
    for begin, end in folds:
        pieces += [text[at:begin], FOLD]
        at = end
    return "".join([*pieces, text[at:]])


def _folded_place(point: int, folds: List[Tuple[int, int]]) -> int:
    """Where a point of the text stands among what is shown."""
    gone = 0
    for begin, end in folds:
        if point <= begin:
            break
        gone += min(point, end) - begin - (len(FOLD) if point >= end else 0)
    return point - gone


def _unfolded_point(place: int, folds: Sequence[Tuple[int, int]]) -> int:
    """The point of the text that stands at this place of what is shown; behind a fold, where one is
    there."""
    hidden = 0
    for begin, end in folds:
        if place <= begin - hidden:
            break
        hidden += end - begin - len(FOLD)
    return place + hidden
