"""Comments on lines of proposals, beside which they stand; UI thread only.

The right view remembers them (`record`). Regions carry them along while the user types.
"""

from __future__ import annotations

import html

import sublime

from .. import texts
from ..prompt.references import NoReference, lines, reference
from .lookup import path_of
from .marks import comment_key, erase_comments
from .record import Comment, comments, waiting, write_comments
from .review import Review


def of(right: sublime.View) -> list[Comment]:
    """The comments of a diff, each at the rows where its lines stand now."""
    return [_moved(right, number, each) for number, each in enumerate(comments(right))]


def add(right: sublime.View, comment: Comment) -> None:
    write_comments(right, [*of(right), comment])
    show(right)


def save(right: sublime.View) -> None:
    """Remember where the comments stand now."""
    found = of(right)
    if found != comments(right):
        write_comments(right, found)


def show(right: sublime.View) -> None:
    """Show all of them, where they were when they were remembered."""
    erase_comments(right)
    for number, each in enumerate(comments(right)):
        start = right.text_point(each.first, 0)
        end = right.line(right.text_point(each.last, 0)).end()
        right.add_regions(
            comment_key(number),
            [sublime.Region(start, end)],
            "region.yellowish",
            "dot",
            sublime.DRAW_NO_FILL | sublime.DRAW_NO_OUTLINE,
            [html.escape(each.text)],
            "",
        )


def replace_text(right: sublime.View, text: str) -> None:
    """Put another text into a view that shows parts of a proposal. Each comment goes to the nearest
    row that reads as the first of its own did."""
    before = [
        (each, right.substr(right.line(right.text_point(each.first, 0)))) for each in of(right)
    ]
    texts.replace(right, text)
    rows: dict[str, list[int]] = {}
    for row, line in enumerate(text.split("\n")) if before else ():
        rows.setdefault(line, []).append(row)
    found = []
    for each, line in before:
        first = min(rows.get(line, [0]), key=lambda row: abs(row - each.first))
        found.append(Comment(first, first + each.last - each.first, each.text))
    write_comments(right, found)
    show(right)


def _moved(right: sublime.View, number: int, comment: Comment) -> Comment:
    regions = right.get_regions(comment_key(number))
    if not regions:
        return comment
    first, last = (right.rowcol(point)[0] for point in (regions[0].begin(), regions[0].end()))
    return Comment(first, last, comment.text)


def words(right: sublime.View, review: Review | None, note: str = "") -> str:
    """The note, and the comments as the CLI's prompt refers to lines; empty where there is
    nothing to be said."""
    found = of(right)
    path = _name(right) if found else ""
    parts = [f"{path}{_lines_of(right, review, each)}: {each.text}" for each in found]
    return "\n".join([*([note.strip()] if note.strip() else []), *parts])


def _lines_of(right: sublime.View, review: Review | None, comment: Comment) -> str:
    """Behind the path; empty where the view has parts of the text, and nobody knows which."""
    digest = review.digest if review is not None else None
    if review is not None and digest is not None:
        shown = review.comparison or digest.shown
        first, last = (digest.new_row(shown, row) for row in (comment.first, comment.last))
        return f"#{lines(first, last)}"
    record = waiting(right)
    if record is not None and record.is_compared and not record.is_whole:
        return ""
    return f"#{lines(comment.first, comment.last)}"


def _name(right: sublime.View) -> str:
    """The diff's file, as the CLI's prompt names it."""
    window, path = right.window(), path_of(right)
    try:
        return reference(path, window.folders() if window is not None else [])
    except NoReference:
        return path
