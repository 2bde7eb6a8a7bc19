"""Links that a chat has in its own text, and a click on one."""

from __future__ import annotations

import re
from typing import Any, Iterator, List, Optional

from headless.clicks import Link

# Of a link, where it stands.
TEXT = "text"

# The keys of regions that are links.
IN_TEXT = re.compile(r"gemini_companion_chat_\d+_(link|button)\Z")


def has_any(view: Any) -> bool:
    """On the UI thread."""
    return any(marks.regions for key, marks in view.marks.items() if IN_TEXT.match(key))


def of_view(view: Any) -> List[Link]:
    """The links that a chat marks in its own text, the last one first; `href` is the key of its
    regions. On the UI thread."""
    return sorted(_find_links(view), key=lambda link: -link.point)


def press_link(editor: Any, view: Any, link: Link) -> bool:
    """Press Enter on the link, and leave the caret where the person writes; False if it is not
    there any more. On the UI thread."""
    point = _present_point(view, link)
    if point is None:
        return False
    size = len(view.text)
    # The text above them may change with that.
    from_end = [(size - a, size - b) for a, b in view.selection]
    editor.select(view, [(point, point)])
    editor.commands.run_text(view, "insert", {"characters": "\n"})
    # What follows the link waits in the same line.
    editor.queues.ui.post(lambda: _return_carets(editor, view, from_end))
    return True


def _find_links(view: Any) -> Iterator[Link]:
    for key, marks in view.marks.items():
        for region in marks.regions if IN_TEXT.match(key) else ():
            begin, end = min(region), max(region)
            yield Link(key, view.text.slice(begin, end), TEXT, begin, None)


def _present_point(view: Any, link: Link) -> Optional[int]:
    """What stands above it may have changed since it was listed."""
    same = [each for each in _find_links(view) if each[:2] == link[:2]]
    if link in same:
        return int(link.point)
    return int(same[0].point) if len(same) == 1 else None


def _return_carets(editor: Any, view: Any, from_end: Any) -> None:
    if not view.closed:
        size = len(view.text)
        editor.select(view, [(max(0, size - a), max(0, size - b)) for a, b in from_end])
