"""A row of *Show Changes*, whatever kind of edit it is about. UI thread only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Coroutine, Protocol, Sequence

import sublime


@dataclass(frozen=True)
class EditRow:
    """`act` is what choosing the row does. `view` is the right view of a diff that is shown as long
    as the row is highlighted."""

    item: sublime.QuickPanelItem
    act: Callable[[], Coroutine[Any, Any, None]]
    view: sublime.View | None = None


class ListedEdits(Protocol):
    """The edits of one kind."""

    # The list's caption if it has no other kind, and what is told if there are none.
    caption: str
    nothing: str

    async def edit_rows(self, window: sublime.Window) -> Sequence[EditRow]:
        """The edits of the window, in the order of the list."""
