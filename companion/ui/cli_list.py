"""A list of the connected CLIs. UI thread only."""

from __future__ import annotations

import os
import time
from typing import Callable

import sublime

from ..ide import live_words
from ..ide.companion import Companion
from ..ide.questions import ConnectedCli, ConnectedClis
from . import application, panels
from .review import queue
from .review.record import waiting_record
from .terminals import cli_terminals

NONE = 'No CLI is connected. "Gemini Companion: Run CLI" starts one.'
NOT_CONNECTED = ", not connected"
NO_TERMINAL = "{} proposes nothing now, and no Terminus terminal of its window shows it."


async def choose_cli(
    companion: Companion,
    window: sublime.Window,
    show: Callable[[sublime.View], None],
    tell: Callable[[str], None],
) -> None:
    """Let the user choose a CLI; then `show` its next waiting diff, or else go to its terminal."""
    clis = await companion.ask(ConnectedClis())
    if not clis:
        tell(NONE)
        return
    number = await panels.ask_choice(window, [_cli_item(cli) for cli in clis], "Connected CLIs")
    if number >= 0:
        _show_cli(clis[number], show, tell)


def _cli_item(cli: ConnectedCli) -> sublime.QuickPanelItem:
    folders = ", ".join(map(os.path.basename, cli.folders)) or "no folder"
    since = time.strftime("%H:%M", time.localtime(cli.since))
    return sublime.QuickPanelItem(
        f"{cli.name} {cli.version}".rstrip() if cli.session_id else f"{cli.name}{NOT_CONNECTED}",
        [f"{folders}, since {since}", *live_words.cli_lines(cli.live)],
        f"{cli.waiting} waiting" if cli.waiting else "",
    )


def _show_cli(
    cli: ConnectedCli, show: Callable[[sublime.View], None], tell: Callable[[str], None]
) -> None:
    for view in queue.waiting_diffs():
        record = waiting_record(view)
        if record is not None and record.session_id == cli.session_id:
            show(view)
            return
    window = application.window_of(cli.window_id)
    found = [
        view
        for view in cli_terminals.open_terminals(window)
        if cli_terminals.runs_cli(window, view)
    ]
    if found:
        own = [view for view in found if cli_terminals.names_cli(view, cli.command)]
        cli_terminals.show_terminal((own or found)[0])
    else:
        tell(NO_TERMINAL.format(cli.name))
