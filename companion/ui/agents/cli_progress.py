"""How far the CLIs in terminals have come: who asks, who works, whose turn is over and was not
seen. UI thread only."""

from __future__ import annotations

import time
from typing import Callable, Sequence, Tuple

import sublime

from ...ide import live_words
from ...ide.live_words import Activity
from ...ide.questions import ConnectedCli
from .. import application
from ..terminals import cli_terminals
from .agent_row import RowState

# What a CLI does, and since when: its session, and the time in seconds since the epoch.
_Since = Tuple[object, float]


class CliProgress:
    """`clock` gives the seconds since the epoch."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._clis: Sequence[ConnectedCli] = ()
        # The ends of turns that the user has seen; and, of each, whether a terminal of ours shows
        # it. Of all other terminals nobody knows what is seen in them.
        self._seen: set[_Since] = set()
        self._is_shown: dict[_Since, bool] = {}

    def update_clis(self, clis: Sequence[ConnectedCli]) -> None:
        """These are the CLIs of all windows now."""
        self._clis = clis
        ends = {_since(cli): cli for cli in clis if _activity(cli) is Activity.DONE}
        self._seen &= ends.keys()
        known = self._is_shown
        self._is_shown = {
            end: known[end] if end in known else bool(terminals_of(cli))
            for end, cli in ends.items()
        }

    def look_at_terminals(self) -> None:
        """What is in sight now was seen; to be called about once a second."""
        for cli in self._clis:
            if _activity(cli) is Activity.DONE and _since(cli) not in self._seen:
                window = application.window_of(cli.window_id)
                if window.is_valid() and cli_terminals.is_one_in_sight(window, cli.command):
                    self.note_seen(cli)

    def note_seen(self, cli: ConnectedCli) -> None:
        """The user has gone to it."""
        self._seen.add(_since(cli))

    def state_of(self, cli: ConnectedCli) -> RowState:
        activity = _activity(cli)
        if cli.waiting or activity is Activity.ASKS:
            return RowState.ASKS
        if activity is Activity.WORKING:
            return RowState.WORKS
        end = _since(cli)
        if activity is not Activity.DONE or end in self._seen:
            return RowState.IDLE
        is_news = self._is_shown.get(end) or self._clock() - end[1] < live_words.DONE_SHOWN
        return RowState.DONE if is_news else RowState.IDLE

    def all_states(self) -> Sequence[RowState]:
        """Those of all windows."""
        return tuple(map(self.state_of, self._clis))


def terminals_of(cli: ConnectedCli) -> Sequence[sublime.View]:
    """The terminals of its window that name the CLI; if none does, all that run one."""
    window = application.window_of(cli.window_id)
    if not window.is_valid():
        return ()
    found = [
        view
        for view in cli_terminals.open_terminals(window)
        if cli_terminals.runs_cli(window, view)
    ]
    return [view for view in found if cli_terminals.names_cli(view, cli.command)] or found


def _activity(cli: ConnectedCli) -> Activity:
    return cli.live.activity if cli.live is not None else Activity.IDLE


def _since(cli: ConnectedCli) -> _Since:
    live = cli.live
    return (live.cli_session, live.since) if live is not None else (cli.session_id, cli.since)
