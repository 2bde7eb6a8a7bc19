"""Room for diffs in a window: two groups below the user's own, and back again; UI thread only.

The user's groups keep their numbers and their sheets, only their height shrinks: so nothing has to
be moved, and the layout comes back by taking the two cells away (docs/adr/0009).
"""

from __future__ import annotations

from typing import Any, Dict

import sublime

# Window settings: the layout before the first diff, and the one that was made for it.
BEFORE = "gemini_companion_layout_before"
DURING = "gemini_companion_layout_during"

# The part of the window's height that the user's own groups keep.
USERS_SHARE = 0.4

Layout = Dict[str, Any]


def make_room(window: sublime.Window) -> tuple[int, int]:
    """The numbers of the left and the right group for diffs, made where they are not there yet."""
    settings, now = window.settings(), _layout(window)
    if settings.get(DURING) != now:
        during = with_room(now)
        settings.set(BEFORE, now)
        settings.set(DURING, during)
        window.set_layout(during)  # type: ignore[arg-type]
    return window.num_groups() - 2, window.num_groups() - 1


def take_room_back(window: sublime.Window) -> None:
    """Restore the layout, unless the user changed it meanwhile: then it is his."""
    settings = window.settings()
    before = settings.get(BEFORE)
    if isinstance(before, dict) and settings.get(DURING) == _layout(window):
        window.set_layout(before)  # type: ignore[arg-type]
    settings.erase(BEFORE)
    settings.erase(DURING)


def with_room(layout: Layout) -> Layout:
    """The layout with two cells side by side below all others.

    >>> with_room({"cols": [0.0, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1]]})["cells"]
    [[0, 0, 2, 1], [0, 1, 1, 2], [1, 1, 2, 2]]
    """
    cols = sorted(set(layout["cols"]) | {0.5})
    rows = [_rounded(row * USERS_SHARE) for row in layout["rows"]] + [1.0]
    column = [cols.index(col) for col in layout["cols"]]
    cells = [[column[x1], y1, column[x2], y2] for x1, y1, x2, y2 in layout["cells"]]
    middle, right, top, bottom = cols.index(0.5), len(cols) - 1, len(rows) - 2, len(rows) - 1
    cells += [[0, top, middle, bottom], [middle, top, right, bottom]]
    return {"cols": cols, "rows": rows, "cells": cells}


def _layout(window: sublime.Window) -> Layout:
    """The window's layout in a form that survives the way into settings and back unchanged."""
    layout = window.layout()
    return {
        "cols": [_rounded(col) for col in layout["cols"]],
        "rows": [_rounded(row) for row in layout["rows"]],
        "cells": [list(cell) for cell in layout["cells"]],
    }


def _rounded(share: float) -> float:
    return round(float(share), 6)
