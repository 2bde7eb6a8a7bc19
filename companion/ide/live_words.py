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
    for activity in (Activity.ASKS, Activity.WORKING, Activity.DONE):
        group = [cli for cli in known if shown_activity(cli, now) is activity]
        if group:
            names = dict.fromkeys(short_label(cli.name) for cli in group)
            return LiveState(activity, ", ".join(sorted(names)))
    return None


def shown_activity(live: LiveCli, now: float) -> Activity:
    """What the status bar counts it as: a question that the editor has as well is an edit that
    waits, and after a while an end is no news any more."""
    is_in_editor = live.activity is Activity.ASKS and live.is_in_editor
    is_old = live.activity is Activity.DONE and now - live.since >= DONE_SHOWN
    return Activity.IDLE if is_in_editor or is_old else live.activity


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
    subject = subject_words(live)
    found = [f"{words} since {since}" + (f": {subject}" if subject else "")]
    return found + ([_cut_line(live.prompt)] if live.prompt else [])


def question_sentence(live: LiveCli) -> str:
    """The CLI's question, as a sentence for a notice."""
    subject = subject_words(live)
    return f"{live.name} asks you" + (f": {subject}." if subject else ".")


def subject_words(live: LiveCli) -> str:
    """What it does or asks about: a command, or the file of an edit; empty if that is not known."""
    if not live.subject:
        return ""
    is_command = live.kind is ToolKind.SHELL
    return _cut_line(live.subject if is_command else f"edit {os.path.basename(live.subject)}")


def _cut_line(text: str) -> str:
    line = shown_line(text)
    return line if len(line) <= LINE else line[:LINE] + "..."
