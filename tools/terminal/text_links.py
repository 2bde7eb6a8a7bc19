"""Links that a chat has in its own text, and a click on one."""

from __future__ import annotations

import functools
import re
from typing import Any, List

from headless.clicks import Link

# The keys of regions that are links.
IN_TEXT = re.compile(r"gemini_companion_chat_\d+_(link|button)\Z")


def has_any(view: Any) -> bool:
    """On the UI thread."""
    return any(marks.regions for key, marks in view.marks.items() if IN_TEXT.match(key))


def of_view(view: Any) -> List[Link]:
    """The links that a chat marks in its own text, the last one first. `on_navigate` clicks on
    it. On the UI thread."""
    found = []
    for key, marks in view.marks.items():
        for region in marks.regions if IN_TEXT.match(key) else ():
            begin, end = min(region), max(region)
            press = functools.partial(_press_link, view, begin)
            found.append(Link("", view.text.slice(begin, end), "text", begin, press))
    return sorted(found, key=lambda link: -link.point)


def _press_link(view: Any, point: int, _href: str) -> None:
    x, y = view.window.editor.api.View(view.id).text_to_window(point)
    arguments = {"event": {"button": 1, "x": x, "y": y}}
    view.window.editor.commands.run(view.window, "drag_select", arguments)
