"""The rows of CLIs in terminals: those that are connected, and those that are known by their hooks
alone. UI thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Callable, Sequence

import sublime

from ...ide import live_words
from ...ide.companion import Companion
from ...ide.questions import ConnectedCli, ConnectedClis
from .. import application
from ..review import queue
from ..review.record import waiting_record
from ..terminals import cli_terminals
from .agent_row import AgentRow, RowState

NOT_CONNECTED = ", not connected"
NO_FOLDER, IN_TERMINAL = "no folder", "in a terminal"
NO_TERMINAL = "{} proposes nothing now, and no Terminus terminal of its window shows it."


class CliRows:
    """`show` goes to a diff; `tell` shows a sentence."""

    name = "CLIs in terminals"

    def __init__(
        self,
        companion: Companion,
        show: Callable[[sublime.View], None],
        tell: Callable[[str], None],
    ) -> None:
        self._companion = companion
        self._show = show
        self._tell = tell
        # The ends of turns that the user has seen: the CLI's session, and the time.
        self._seen: set[tuple[object, float]] = set()

    async def agent_rows(self, window: sublime.Window) -> Sequence[AgentRow]:
        """The CLIs of all windows. Raises Unanswered."""
        clis = await self._companion.ask(ConnectedClis())
        ends = {_end_of(cli) for cli in clis}
        self._seen &= ends
        for cli in clis:
            if any(map(cli_terminals.is_in_sight, _terminals_of(cli))):
                self._seen.add(_end_of(cli))
        return [self._cli_row(cli) for cli in clis]

    def _cli_row(self, cli: ConnectedCli) -> AgentRow:
        live = cli.live
        name = f"{cli.name} {cli.version}".rstrip()
        folders = ", ".join(os.path.basename(each) or each for each in cli.folders)
        waiting = (f"{cli.waiting} waiting",) if cli.waiting else ()
        return AgentRow(
            self._state_of(cli),
            name if cli.session_id else f"{cli.name}{NOT_CONNECTED}",
            partial(self._show_cli, cli),
            live_words.subject_words(live) if live is not None else "",
            live.since if live is not None else cli.since,
            (IN_TERMINAL, folders or NO_FOLDER, *waiting),
            (live.prompt,) if live is not None and live.prompt else (),
        )

    def _state_of(self, cli: ConnectedCli) -> RowState:
        activity = cli.live.activity if cli.live is not None else live_words.Activity.IDLE
        if cli.waiting or activity is live_words.Activity.ASKS:
            return RowState.ASKS
        if activity is live_words.Activity.WORKING:
            return RowState.WORKS
        is_done = activity is live_words.Activity.DONE
        return RowState.DONE if is_done and _end_of(cli) not in self._seen else RowState.IDLE

    async def _show_cli(self, cli: ConnectedCli, window: sublime.Window) -> bool:
        """Go to its next waiting diff, or else to its terminal."""
        self._seen.add(_end_of(cli))
        for view in queue.waiting_diffs():
            record = waiting_record(view)
            if cli.session_id and record is not None and record.session_id == cli.session_id:
                self._show(view)
                return False
        found = _terminals_of(cli)
        if found:
            cli_terminals.show_terminal(found[0])
        else:
            self._tell(NO_TERMINAL.format(cli.name))
        return False


def _end_of(cli: ConnectedCli) -> tuple[object, float]:
    """Since when the CLI does what it does now."""
    live = cli.live
    return (live.cli_session, live.since) if live is not None else (cli.session_id, cli.since)


def _terminals_of(cli: ConnectedCli) -> Sequence[sublime.View]:
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
