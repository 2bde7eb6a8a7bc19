"""Keeps in the view of a sheet which turns of chats it shows, and brings them back after a restart
of the editor. UI thread only."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Callable, Coroutine, Mapping, Sequence

import sublime

from ...base.answer import Unanswered
from ...edits.edit import Edit
from ...edits.turn_edits import ShownTurn, TurnEdits
from ..stories import Stories
from .change_sheets import ChangeSheets

# In the settings of the view: the turns, each with its agent and the files that are not decided.
TURNS = "gemini_companion_changes_turns"
LOST = "What a turn has changed cannot be shown again: {}"

Fetch = Callable[[sublime.Window, ShownTurn], Coroutine[Any, Any, Sequence[Edit]]]


class ShownTurns:
    """The turns that the sheets of one companion show. `fetch` gives the edits of a turn, or raises
    Unanswered; `come_back` is called when some have come back."""

    def __init__(
        self,
        edits: TurnEdits,
        sheets: ChangeSheets,
        fetch: Fetch,
        stories: Stories,
        tell: Callable[[str], None],
        come_back: Callable[[], None],
    ) -> None:
        self._edits = edits
        self._sheets = sheets
        self._fetch = fetch
        self._stories = stories
        self._tell = tell
        self._come_back = come_back
        edits.changes.subscribe(self.note_in_sheets)
        sheets.adoptions.subscribe(self.restore_turns)

    def note_in_sheets(self) -> None:
        """There are other edits."""
        for view in self._sheets.all_views():
            self._note_turns(view)

    def restore_turns(self, view: sublime.View) -> None:
        """The sheet was opened just now, or before a restart."""
        window = view.window()
        if window is None:
            return
        there = {shown.turn for shown in self._edits.shown_turns(window.id())}
        missing = [shown for shown in _stored_turns(view) if shown.turn not in there]
        self._edits.await_turns(window.id(), missing)
        self._note_turns(view)
        for shown in missing:
            self._stories.begin(self._bring_back(window, shown), window)

    async def _bring_back(self, window: sublime.Window, shown: ShownTurn) -> None:
        found: Sequence[Edit] = ()
        try:
            found = await self._fetch(window, shown)
        except Unanswered as error:
            self._tell(LOST.format(error))
        # A story that is cut leaves it in the view for the next start.
        self._edits.show_awaited(window.id(), shown, found)
        self._come_back()

    def _note_turns(self, view: sublime.View) -> None:
        window = view.window()
        if window is not None:
            values = [asdict(shown) for shown in self._edits.shown_turns(window.id())]
            if values or view.settings().has(TURNS):
                view.settings().set(TURNS, values)


def _stored_turns(view: sublime.View) -> list[ShownTurn]:
    """The turns that the view has kept, without damaged ones."""
    stored = view.settings().get(TURNS)
    found = (_parse_turn(value) for value in (stored if isinstance(stored, (list, tuple)) else ()))
    return [shown for shown in found if shown is not None]


def _parse_turn(stored: Any) -> ShownTurn | None:
    values = stored if isinstance(stored, Mapping) else {}
    turn, client, paths = (values.get(key) for key in ("turn", "client", "paths"))
    texts = [turn, client, *(paths if isinstance(paths, (list, tuple)) else [None])]
    if not all(isinstance(text, str) for text in texts):
        return None
    return ShownTurn(texts[0], texts[1], tuple(texts[2:]))
