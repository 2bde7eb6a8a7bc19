"""The present activity of CLIs in words for the user. Pure."""

from __future__ import annotations

import os
import time
from typing import Iterable, NamedTuple

from ..base.shown_text import shown_line
from .clis import short_label
from .extension_forms import ToolKind
from .live_clis import Activity as Activity
from .live_clis import LiveCli

# Seconds for which the status bar shows that a turn has ended.
DONE_SHOWN = 60.0
# Characters of a prompt and of a command in a line.
LINE = 120


class LiveState(NamedTuple):
    """What the status bar says of the CLIs that do the same; `names` have one comma between two."""

    activity: Activity
    names: str

    @property
    def words(self) -> str:
        is_one = self.activity is not Activity.ASKS or "," not in self.names
        return self.activity.value if is_one else "ask"


def most_urgent_state(live: Iterable[LiveCli], now: float) -> LiveState | None:
    """The state for the status bar: a question comes before all else. None if there is nothing to
    say. `now` is in seconds since the epoch."""
    known = list(live)
    shown = (
        [cli for cli in known if cli.activity is Activity.ASKS and not cli.is_in_editor],
        [cli for cli in known if cli.activity is Activity.WORKING],
        [cli for cli in known if cli.activity is Activity.DONE and now - cli.since < DONE_SHOWN],
    )
    for group in shown:
        if group:
            names = dict.fromkeys(short_label(cli.name) for cli in group)
            return LiveState(group[0].activity, ", ".join(sorted(names)))
    return None


def cli_lines(live: LiveCli | None) -> list[str]:
    """A CLI's lines in a list: the activity, since when, and what the user asked for."""
    if live is None:
        return []
    since = time.strftime("%H:%M", time.localtime(live.since))
    words = {
        Activity.IDLE: "idle",
        Activity.WORKING: "working",
        Activity.ASKS: "asks you",
        Activity.DONE: "done",
    }[live.activity]
    found = [f"{words} since {since}{_subject_words(live)}"]
    return found + ([_cut_line(live.prompt)] if live.prompt else [])


def question_sentence(live: LiveCli) -> str:
    """The CLI's question, as a sentence for a notice."""
    return f"{live.name} asks you{_subject_words(live)}."


def _subject_words(live: LiveCli) -> str:
    if not live.subject:
        return ""
    is_command = live.kind is ToolKind.SHELL
    return ": " + _cut_line(
        live.subject if is_command else f"edit {os.path.basename(live.subject)}"
    )


def _cut_line(text: str) -> str:
    line = shown_line(text)
    return line if len(line) <= LINE else line[:LINE] + "..."
