"""Room for diffs in a window: two groups below the user's own, and back again; UI thread only.

The user's groups keep their numbers and their sheets, only their height shrinks: so nothing has to
be moved, and the layout comes back by taking the two cells away (docs/adr/0009).
"""

from __future__ import annotations

from typing import Any, Dict

import sublime

# Window settings: the cells before the first diff, and those that were made for it.
BEFORE = "gemini_companion_cells_before"
DURING = "gemini_companion_cells_during"

# The part of the window's height that the user's own groups keep.
USERS_SHARE = 0.4

Layout = Dict[str, Any]


def make_room(window: sublime.Window) -> tuple[int, int]:
    """The numbers of the left and the right group for diffs, made where they are not there yet."""
    settings, now = window.settings(), _layout(window)
    if settings.get(DURING) != now["cells"]:
        during = with_room(now)
        settings.set(BEFORE, now["cells"])
        settings.set(DURING, during["cells"])
        window.set_layout(during)  # type: ignore[arg-type]
    return window.num_groups() - 2, window.num_groups() - 1


def take_room_back(window: sublime.Window) -> None:
    """Restore the layout, dividers included that the user moved; one that has other cells now is
    theirs, and stays."""
    settings, now = window.settings(), _layout(window)
    before = settings.get(BEFORE)
    if isinstance(before, list) and settings.get(DURING) == now["cells"]:
        window.set_layout(without_room(now, before))  # type: ignore[arg-type]
    settings.erase(BEFORE)
    settings.erase(DURING)


def with_room(layout: Layout) -> Layout:
    """The layout with two cells side by side below all others.

    >>> with_room({"cols": [0.0, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1]]})["cells"]
    [[0, 0, 2, 1], [0, 1, 1, 2], [1, 1, 2, 2]]
    """
    # One column more, even where there is one in the middle: so it can be told apart later.
    middle = sum(1 for col in layout["cols"] if col <= 0.5)
    cols = layout["cols"][:middle] + [0.5] + layout["cols"][middle:]
    rows = [row * USERS_SHARE for row in layout["rows"]] + [1.0]
    column = [at if at < middle else at + 1 for at in range(len(layout["cols"]))]
    cells = [[column[x1], y1, column[x2], y2] for x1, y1, x2, y2 in layout["cells"]]
    right, top, bottom = len(cols) - 1, len(rows) - 2, len(rows) - 1
    cells += [[0, top, middle, bottom], [middle, top, right, bottom]]
    return {"cols": cols, "rows": rows, "cells": cells}


def without_room(layout: Layout, before: list[Any]) -> Layout:
    """The layout without its last two cells, as `with_room` made it of one with the cells `before`;
    rows and columns as they are now."""
    middle = layout["cells"][-1][0]
    height = layout["rows"][-2]
    cols = layout["cols"][:middle] + layout["cols"][middle + 1 :]
    rows = [row / height for row in layout["rows"][:-1]]
    return {"cols": cols, "rows": rows, "cells": before}


def _layout(window: sublime.Window) -> Layout:
    """The window's layout, its cells as lists of whole numbers, which settings keep as they are."""
    layout = window.layout()
    return {
        "cols": list(layout["cols"]),
        "rows": list(layout["rows"]),
        "cells": [[int(edge) for edge in cell] for cell in layout["cells"]],
    }
