"""Room for diffs in a window: groups of their own beside the user's, and back. UI thread only.

The user's groups keep their numbers and their sheets and only become smaller. So nothing has to be
moved, and the layout is restored by removing the last cells (docs/adr/0009).
"""

from __future__ import annotations

from typing import Any, Dict

import sublime

from ..settings import DIFF_LAYOUTS

BELOW, COLUMNS, INLINE = DIFF_LAYOUTS
# Window settings: the cells before the first diff, the cells made for it, and the kind.
BEFORE = "gemini_companion_cells_before"
DURING = "gemini_companion_cells_during"
KIND = "gemini_companion_diff_layout"

# The part of the window's height, or width, that the user's own groups keep.
USERS_SHARE = 0.4

Layout = Dict[str, Any]


def make_room(window: sublime.Window, kind: str = BELOW) -> tuple[int, int]:
    """The numbers of the left and the right group for diffs; creates missing groups. Both numbers
    are the same if one view has both texts."""
    settings, now = window.settings(), _plain_layout(window)
    if settings.get(DURING) != now["cells"]:
        during = with_room(now, kind)
        settings.set(BEFORE, now["cells"])
        settings.set(DURING, during["cells"])
        settings.set(KIND, kind)
        window.set_layout(during)  # type: ignore[arg-type]
    last = window.num_groups() - 1
    return last if settings.get(KIND) == INLINE else last - 1, last


def take_room_back(window: sublime.Window) -> None:
    """Restore the layout, but keep dividers that the user moved. A layout whose cells have changed
    is the user's own and stays."""
    settings, now = window.settings(), _plain_layout(window)
    before = settings.get(BEFORE)
    if isinstance(before, list) and settings.get(DURING) == now["cells"]:
        kind = str(settings.get(KIND))
        window.set_layout(without_room(now, before, kind))  # type: ignore[arg-type]
    for name in (BEFORE, DURING, KIND):
        settings.erase(name)


def with_room(layout: Layout, kind: str = BELOW) -> Layout:
    """The layout with the cells for diffs after all others.

    >>> with_room({"cols": [0.0, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1]]})["cells"]
    [[0, 0, 2, 1], [0, 1, 1, 2], [1, 1, 2, 2]]
    """
    if kind == COLUMNS:
        return _with_columns(layout)
    if kind == INLINE:
        rows = _shrink_edges(layout["rows"]) + [1.0]
        cell = [0, len(rows) - 2, len(layout["cols"]) - 1, len(rows) - 1]
        return {"cols": layout["cols"], "rows": rows, "cells": layout["cells"] + [cell]}
    # One more column, even if there is one in the middle, so that it can be recognised later.
    middle = sum(1 for col in layout["cols"] if col <= 0.5)
    cols = layout["cols"][:middle] + [0.5] + layout["cols"][middle:]
    rows = _shrink_edges(layout["rows"]) + [1.0]
    column = [at if at < middle else at + 1 for at in range(len(layout["cols"]))]
    cells = [[column[x1], y1, column[x2], y2] for x1, y1, x2, y2 in layout["cells"]]
    right, top, bottom = len(cols) - 1, len(rows) - 2, len(rows) - 1
    cells += [[0, top, middle, bottom], [middle, top, right, bottom]]
    return {"cols": cols, "rows": rows, "cells": cells}


def _with_columns(layout: Layout) -> Layout:
    cols = _shrink_edges(layout["cols"]) + [(USERS_SHARE + 1.0) / 2, 1.0]
    last, bottom = len(cols) - 1, len(layout["rows"]) - 1
    cells = [[last - 2, 0, last - 1, bottom], [last - 1, 0, last, bottom]]
    return {"cols": cols, "rows": layout["rows"], "cells": layout["cells"] + cells}


def _shrink_edges(edges: list[float]) -> list[float]:
    return [edge * USERS_SHARE for edge in edges]


def without_room(layout: Layout, before: list[Any], kind: str = BELOW) -> Layout:
    """The layout without the cells that `with_room` added to a layout with the cells `before`. The
    rows and columns of the others stay as they are now."""
    cols, rows = layout["cols"], layout["rows"]
    if kind == COLUMNS:
        return {"cols": _grow_edges(cols[:-2]), "rows": rows, "cells": before}
    if kind == BELOW:
        middle = layout["cells"][-1][0]
        cols = cols[:middle] + cols[middle + 1 :]
    return {"cols": cols, "rows": _grow_edges(rows[:-1]), "cells": before}


def _grow_edges(edges: list[float]) -> list[float]:
    return [edge / edges[-1] for edge in edges]


def _plain_layout(window: sublime.Window) -> Layout:
    """The window's layout, with cells as lists of whole numbers, which settings keep unchanged."""
    layout = window.layout()
    return {
        "cols": list(layout["cols"]),
        "rows": list(layout["rows"]),
        "cells": [[int(edge) for edge in cell] for cell in layout["cells"]],
    }
