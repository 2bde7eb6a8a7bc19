"""Comments on lines of proposals, shown below the lines. UI thread only.

The right view remembers them (`record`). Regions move them along while the user types.
"""

from __future__ import annotations

from typing import Iterable, Iterator, Sequence, Tuple

import sublime

from ...base.comparison import Comparison
from .. import sharing_settings, texts
from ..prompt.references import NoReference, file_reference, line_range, remote_reference
from ..wrapping import wrap_text
from .between import ShownComment
from .marks import comment_key, erase_comments
from .open_diffs import home_of, path_of
from .record import Comment, stored_comments, waiting_record, write_comments
from .review import Review

# The row above a comment, its first row, and the row below that.
Rows = Tuple[str, str, str]
# Added at both ends of a text in which rows are searched, so that each row has a line end before it
# and after it, and so have the rows above and below.
MARGIN = "\n\n"


def comments_of(right: sublime.View) -> list[Comment]:
    """The comments of a diff, each with the present rows of its lines."""
    return [
        _moved_comment(right, number, each) for number, each in enumerate(stored_comments(right))
    ]


def shown_comments(right: sublime.View, comparison: Comparison | None) -> list[ShownComment]:
    """The comments as they are shown below their last lines."""
    rows = [(each.last, each.text) for each in comments_of(right)]
    beside = comparison.old_row_beside if comparison is not None else lambda row: row
    return [ShownComment(row, beside(row), wrap_text(right, text)) for row, text in rows]


def add_comment(right: sublime.View, comment: Comment) -> None:
    write_comments(right, [*comments_of(right), comment])
    mark_comments(right)


def save_comments(right: sublime.View) -> None:
    """Remember the present rows of the comments."""
    found = comments_of(right)
    if found != stored_comments(right):
        write_comments(right, found)


def mark_comments(right: sublime.View) -> None:
    """Mark the lines of all comments, at the remembered rows. The words are drawn with the
    review."""
    erase_comments(right)
    for number, each in enumerate(stored_comments(right)):
        start = right.text_point(each.first, 0)
        end = right.line(right.text_point(each.last, 0)).end()
        right.add_regions(
            comment_key(number),
            [sublime.Region(start, end)],
            "region.yellowish",
            "dot",
            sublime.DRAW_NO_FILL | sublime.DRAW_NO_OUTLINE,
        )


def replace_text(right: sublime.View, text: str) -> None:
    """Put another text into a view that shows parts of a proposal. Each comment goes to the row
    with the same text as its first row had."""
    before = _with_rows(right)
    texts.replace_view_text(right, text)
    placed = _place_comments(right, before)
    write_comments(right, (at or _comment_at(0, each) for (each, _rows), at in zip(before, placed)))
    mark_comments(right)


def carry_over(olders: Iterable[sublime.View], right: sublime.View) -> str:
    """Move the comments of older proposals for the same file to the same lines of a newer one.
    Gives the comments without such a line, as a text."""
    before = [each for older in olders for each in _with_rows(older)]
    if not before:
        return ""
    placed = _place_comments(right, before)
    write_comments(right, [*comments_of(right), *(at for at in placed if at is not None)])
    mark_comments(right)
    gone = [
        f'{_prompt_name(right)}, "{rows[1].strip()}": {each.text}'
        for (each, rows), at in zip(before, placed)
        if at is None
    ]
    return "\n".join(gone)


def _with_rows(right: sublime.View) -> list[tuple[Comment, Rows]]:
    """The comments, each with the row above it, its first row, and the row below that."""
    last = right.rowcol(right.size())[0]

    def read_row(row: int) -> str:
        return right.substr(right.line(right.text_point(row, 0))) if 0 <= row <= last else ""

    return [
        (each, (read_row(each.first - 1), read_row(each.first), read_row(each.first + 1)))
        for each in comments_of(right)
    ]


def _place_comments(
    right: sublime.View, before: Sequence[tuple[Comment, Rows]]
) -> list[Comment | None]:
    """The new place of each comment: the row with the same text; among several, the one whose
    neighbours are the same as well, or else the nearest. None if there is no such row."""
    text = f"{MARGIN}{texts.text_of(right)}{MARGIN}" if before else ""
    return [_nearest_place(right, text, each, own) for each, own in before]


def _nearest_place(right: sublime.View, text: str, comment: Comment, own: Rows) -> Comment | None:
    """`text` is that of the view, with a margin at both ends."""
    if f"\n{own[1]}\n" not in text:
        return None
    middle = right.text_point(comment.first, 0)
    # The more neighbours are the same, the better; with the index of the row among them.
    for ways in (((own, 1),), ((own[:2], 1), (own[1:], 0)), ((own[1:2], 0),)):
        points = (point for rows, at in ways for point in _points_around(text, middle, rows, at))
        found = [right.rowcol(point)[0] for point in points]
        if found:
            return _comment_at(min(found, key=lambda row: (abs(row - comment.first), row)), comment)
    return None


def _points_around(text: str, middle: int, rows: Sequence[str], at: int) -> Iterator[int]:
    """The points nearest to `middle`, before it and from it on, where these rows begin; the row
    `at` of them is the searched one. Uses the search of strings, because a loop over the rows of a
    large text would block the UI thread."""
    wanted = "\n".join(("", *rows, ""))
    offset = len(MARGIN) - len("\n".join(("", *rows[:at], "")))
    # Only the row above the first and the row below the last are in a margin.
    first, end = max(offset, 0), len(text) - 2 * len(MARGIN) + offset + len(wanted)
    here = max(middle + offset, first)
    before = text.rfind(wanted, first, here + len(wanted) - 1)
    after = text.find(wanted, here, end)
    yield from (found - offset for found in (before, after) if found >= 0)


def _comment_at(first: int, comment: Comment) -> Comment:
    return Comment(first, first + comment.last - comment.first, comment.text)


def _moved_comment(right: sublime.View, number: int, comment: Comment) -> Comment:
    regions = right.get_regions(comment_key(number))
    if not regions:
        return comment
    begin, end = regions[0].begin(), regions[0].end()
    if begin == end == right.size() and right.rowcol(end)[0] == comment.last:
        # It is on the empty last row.
        return comment
    last = _last_row(right, end)
    return Comment(min(right.rowcol(begin)[0], last), last, comment.text)


def _last_row(right: sublime.View, end: int) -> int:
    """The row of the end of a comment's region. Where other rows take the place of the last one,
    the editor moves the end behind them, to a row that has no comment."""
    row, column = right.rowcol(end)
    is_behind = column == 0 and (right.line(end).size() > 0 or end == right.size())
    return row - 1 if row > 0 and is_behind else row


def comment_words(right: sublime.View, review: Review | None, note: str = "") -> str:
    """The note, and the comments with lines in the form of the CLI's prompt; empty if there are
    none."""
    found = comments_of(right)
    path = _prompt_name(right) if found else ""
    places = ((lines_of(right, review, each), each.text) for each in found)
    parts = [f"{path}#{place}: {text}" if place else f"{path}: {text}" for place, text in places]
    return "\n".join([*([note.strip()] if note.strip() else []), *parts])


def lines_of(right: sublime.View, review: Review | None, comment: Comment) -> str:
    """The lines in the file; empty if the view shows parts of it and the lines are not known."""
    digest = review.digest if review is not None else None
    if review is not None and digest is not None:
        side = (review.comparison or digest.shown).new
        return line_range(side.number(comment.first), side.number(comment.last))
    record = waiting_record(right)
    if record is not None and record.is_compared and not record.is_whole:
        return ""
    return line_range(comment.first, comment.last)


def _prompt_name(right: sublime.View) -> str:
    """The diff's file in the form of the CLI's prompt."""
    window, path = home_of(right), path_of(right)
    try:
        if window is None:
            return file_reference(path, [])
        return remote_reference(path, window.folders(), sharing_settings.path_maps(window))
    except NoReference:
        return path
