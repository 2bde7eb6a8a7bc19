"""Where carets go: by characters, words, lines and pages, and with the mouse."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

# Of sublime.PointClassification: starts and ends of words and of punctuation, and empty lines.
_WORD_STARTS, _WORD_ENDS, _EMPTY_LINE = 1 | 4, 2 | 8, 256
Step = Callable[[int], int]


def move(editor: Any, view: Any, by: str, forward: bool, extend: bool) -> None:
    """Raises NotImplementedError for units that this editor does not know."""
    if by in ("lines", "pages"):
        room = view.screen()
        rows = max(1, int(room.height // room.font.line)) if by == "pages" else 1
        _move_rows(view, rows, forward, extend)
    else:
        step = _step(editor, view, by, forward)
        jumps = by == "characters" and not extend
        view.select([_moved(pair, step, forward, extend, jumps) for pair in view.selection])
    if view.selection:
        view.scroll_to(view.selection[-1 if forward else 0][1])


def _step(editor: Any, view: Any, by: str, forward: bool) -> Step:
    if by == "characters":
        return lambda point: point + (1 if forward else -1)
    classes = {"words": _WORD_STARTS, "word_ends": _WORD_ENDS}.get(by)
    if classes is None:
        raise NotImplementedError("move by %s" % by)
    wanted, api = classes | _EMPTY_LINE, editor.api.View(view.id)
    return lambda point: int(api.find_by_class(point, forward, wanted))


def _moved(
    pair: Tuple[int, int], step: Step, forward: bool, extend: bool, jumps: bool
) -> Tuple[int, int]:
    """`jumps`: from selected text to its end, instead of a step on."""
    a, b = pair
    target = (max(pair) if forward else min(pair)) if jumps and a != b else step(b)
    return (a if extend else target, target)


def _move_rows(view: Any, rows: int, forward: bool, extend: bool) -> None:
    """Up or down as the rows are seen: each caret comes back to its column after shorter rows."""
    columns: Dict[Tuple[int, int], float] = {}
    for a, b in view.selection:
        x = view.columns.get((a, b), view.layout().place(b)[0])
        target = b
        for _ in range(rows):
            target = _row_on(view.layout(), target, x, forward)
        columns[a if extend else target, target] = x
    view.select(list(columns))
    view.columns = columns


def _row_on(layout: Any, point: int, x: float, forward: bool) -> int:
    """The point one line above or below; before the first and after the last the text's ends."""
    y = layout.place(point)[1]
    if not forward:
        return int(layout.point(x, y - 1)) if y > 0 else 0
    row = layout.row_at(y)
    below = y + layout.font.line
    if below >= layout.bottom_of_text(row):
        # Phantoms stand in between.
        below = layout.top(row + 1)
    return int(layout.point(x, below)) if below < layout.height() else len(layout.text)


def drag_select(
    editor: Any,
    view: Any,
    point: int,
    by: str,
    extend: bool,
    additive: bool,
) -> None:
    """What a press of the mouse selects. Raises NotImplementedError for columns."""
    api = editor.api.View(view.id)
    kinds: Dict[str, Callable[[int], Any]] = {"words": api.word, "lines": api.full_line}
    if by and by not in kinds:
        raise NotImplementedError("drag_select by %s" % by)
    found = kinds[by](point) if by else None
    pair = (found.begin(), found.end()) if found is not None else (point, point)
    if extend and view.selection:
        start = view.selection[-1][0]
        pair = (start, max(pair) if point >= start else min(pair))
        view.select(view.selection[:-1] + [pair])
    else:
        view.select((list(view.selection) if additive else []) + [pair])


def joined_rows(view: Any) -> List[Tuple[int, int]]:
    """Begin and end of what `join_lines` replaces by a blank, the last first: each line break in
    or after a selection, with the blanks around it."""
    text, found = view.text, set()
    for pair in view.selection:
        first, last = (text.rowcol(point)[0] for point in (min(pair), max(pair)))
        for row in range(first, max(first + 1, last)):
            if row + 1 < text.row_count():
                found.add(row)
    spans = []
    for row in sorted(found, reverse=True):
        begin, end = text.row_span(row)
        after, last_point = text.row_span(row + 1)
        line, following = text.slice(begin, end), text.slice(after, last_point)
        lead = len(following) - len(following.lstrip(" \t"))
        spans.append((begin + len(line.rstrip(" \t")), after + lead))
    return spans
