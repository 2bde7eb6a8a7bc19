"""A row of *Agents*, whatever it is about, and who provides such rows. UI thread only.

To list something else: a class with `agent_rows`, and its row in `parts/agent_parts`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Callable, Coroutine, Iterable, NamedTuple, Protocol, Sequence

import sublime

from ...chat.amounts import one_line, shorten_text

# Code points of a title, and of a line below it.
MAX_TITLE, MAX_LINE = 120, 160
BETWEEN = " · "


class RowState(IntEnum):
    """In the order of the list. ASKS: it waits for an answer of the user. DONE: its turn is over,
    and the user has not seen that yet."""

    ASKS = 0
    DONE = 1
    WORKS = 2
    IDLE = 3


class StateCounts(NamedTuple):
    """How many agents are in each state, without the idle ones."""

    asks: int = 0
    done: int = 0
    works: int = 0

    @property
    def words(self) -> str:
        """2 ask, 1 done, 1 works; empty if there are none."""
        told = (
            (self.asks, "asks" if self.asks == 1 else "ask"),
            (self.done, "done"),
            (self.works, "works" if self.works == 1 else "work"),
        )
        return ", ".join(f"{count} {word}" for count, word in told if count)


def count_states(states: Iterable[RowState]) -> StateCounts:
    found = list(states)
    return StateCounts(
        *(found.count(state) for state in (RowState.ASKS, RowState.DONE, RowState.WORKS))
    )


class _StateMark(NamedTuple):
    """What rows in a state are marked with."""

    word: str
    kind: tuple[sublime.KindId, str, str]


MARKS = {
    RowState.ASKS: _StateMark("asks", (sublime.KIND_ID_COLOR_YELLOWISH, "?", "asks")),
    RowState.DONE: _StateMark("done", (sublime.KIND_ID_COLOR_GREENISH, "✓", "done")),
    RowState.WORKS: _StateMark("works", (sublime.KIND_ID_COLOR_BLUISH, "…", "works")),
    RowState.IDLE: _StateMark("idle", (sublime.KIND_ID_AMBIGUOUS, "", "")),
}


@dataclass(frozen=True)
class AgentRow:
    """An agent, or a place where one works. `doing` is what it does or asks, `since` the time of
    its state in seconds since the epoch; empty and 0 if that is not known. `facts` are a few words
    each: who it is, where, what it changed, what it cost. `about` are further lines. Texts may have
    any characters. `act` is what choosing the row in a window does; it gives whether the list is
    shown again. Of several rows with one `key` the first provider's is shown. It `is_place` if it
    is no agent. It `is_vague` if nothing is known of its agent yet: the title and the facts of
    another provider's row with its key count then."""

    state: RowState
    title: str
    act: Callable[[sublime.Window], Coroutine[Any, Any, bool]]
    doing: str = ""
    since: float = 0.0
    facts: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    key: str = ""
    is_place: bool = False
    is_vague: bool = False

    @property
    def order(self) -> tuple[int, float]:
        """Who has waited longest comes first; of the idle ones, who was used last."""
        is_idle = self.state is RowState.IDLE
        return self.state, -self.since if is_idle else self.since


class AgentRows(Protocol):
    """Provides rows of one kind. `name` says what they are about, in the middle of a sentence."""

    name: str

    async def agent_rows(self, window: sublime.Window) -> Sequence[AgentRow]:
        """All of all windows that ask or work; of the idle ones those that belong to this window.
        In any order. Raises Unanswered."""


def row_item(row: AgentRow) -> sublime.QuickPanelItem:
    """The row in the panel."""
    mark, is_idle = MARKS[row.state], row.state is RowState.IDLE
    # Another state stands beside the title, and a place has none.
    state = mark.word if is_idle and not row.is_place else ""
    doing = " ".join(filter(None, (state, _since_words(row.since))))
    lines = (": ".join(filter(None, (doing, row.doing))), BETWEEN.join(row.facts), *row.about)
    details = [_short_line(line, MAX_LINE) for line in lines if line]
    annotation = "" if is_idle else mark.word
    return sublime.QuickPanelItem(_short_line(row.title, MAX_TITLE), details, annotation, mark.kind)


def _short_line(text: str, most: int) -> str:
    # An agent's own text may be very long.
    return shorten_text(one_line(text[: 10 * most]), most)


def _since_words(since: float) -> str:
    """Empty if it is not known."""
    if not since:
        return ""
    then, now = time.localtime(since), time.localtime()
    is_today = then[:3] == now[:3]
    return "since " + time.strftime("%H:%M" if is_today else "%a %d %b %Y %H:%M", then)
