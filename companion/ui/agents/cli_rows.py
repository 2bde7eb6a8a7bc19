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
from ..review import queue
from ..review.record import waiting_record
from ..terminals import cli_terminals
from .agent_row import AgentRow
from .cli_progress import CliProgress, terminals_of

NOT_CONNECTED = ", not connected"
NO_FOLDER, IN_TERMINAL = "no folder", "in a terminal"
NO_TERMINAL = "{} proposes nothing now, and no Terminus terminal of its window shows it."


class CliRows:
    """`show` goes to a diff; `tell` shows a sentence; `progress` knows how far they have come."""

    name = "CLIs in terminals"

    def __init__(
        self,
        companion: Companion,
        show: Callable[[sublime.View], None],
        tell: Callable[[str], None],
        progress: CliProgress,
    ) -> None:
        self._companion = companion
        self._show = show
        self._tell = tell
        self._progress = progress

    async def agent_rows(self, window: sublime.Window) -> Sequence[AgentRow]:
        """The CLIs of all windows. Raises Unanswered."""
        clis = await self._companion.ask(ConnectedClis())
        self._progress.update_clis(clis)
        self._progress.look_at_terminals()
        return [self._cli_row(cli) for cli in clis]

    def _cli_row(self, cli: ConnectedCli) -> AgentRow:
        live = cli.live
        name = f"{cli.name} {cli.version}".rstrip()
        folders = ", ".join(os.path.basename(each) or each for each in cli.folders)
        waiting = (f"{cli.waiting} waiting",) if cli.waiting else ()
        return AgentRow(
            self._progress.state_of(cli),
            name if cli.session_id else f"{cli.name}{NOT_CONNECTED}",
            partial(self._show_cli, cli),
            live_words.subject_words(live) if live is not None else "",
            live.since if live is not None else cli.since,
            (IN_TERMINAL, folders or NO_FOLDER, *waiting),
            (live.prompt,) if live is not None and live.prompt else (),
        )

    async def _show_cli(self, cli: ConnectedCli, window: sublime.Window) -> bool:
        """Go to its next waiting diff, or else to its terminal."""
        self._progress.note_seen(cli)
        for view in queue.waiting_diffs():
            record = waiting_record(view)
            if cli.session_id and record is not None and record.session_id == cli.session_id:
                self._show(view)
                return False
        found = terminals_of(cli)
        if found:
            cli_terminals.show_terminal(found[0])
        else:
            self._tell(NO_TERMINAL.format(cli.name))
        return False
