"""A desktop notice when a proposal waits and Sublime Text is not in front. UI thread only.

Sublime Text has no event for that. When another program gets the keyboard, a view of Sublime loses
it and no other view gets it (docs/sublime.md 4.1). With its own menus and dialogs it is the same.
"""

from __future__ import annotations

import html
import os
import subprocess
from functools import partial
from typing import Mapping

import sublime

from ..base.child_processes import NO_WINDOW
from ..base.log import logger
from ..base.shown_text import shown_line
from ..ide import live_words
from ..ide.clis import CliSession
from ..ide.editor import Status
from . import settings
from .stories import Stories, run_in_thread

TITLE = "Gemini Companion"
# Seconds for the program that shows the notice.
PATIENCE = 10.0
# The texts are in the environment, so that nothing in them can become a command.
TITLE_VARIABLE, TEXT_VARIABLE = "GEMINI_COMPANION_TITLE", "GEMINI_COMPANION_TEXT"
# Since version 1709 Windows shows notices only under the name of a program with an entry for that
# in the Start menu. Every machine has Windows PowerShell there.
SENDER = r"{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\WindowsPowerShell\v1.0\powershell.exe"
# The commands by Sublime's name of the platform; {title} and {text} are filled in.
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "linux": ("notify-send", "--app-name=Sublime Text", "--", "{title}", "{text}"),
    "osx": (
        "osascript", "-e", "on run argv",
        "-e", "display notification (item 2 of argv) with title (item 1 of argv)",
        "-e", "end run", "{title}", "{text}",
    ),
    "windows": (
        "powershell", "-NoProfile", "-NonInteractive", "-Command",
        "$m = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications,"
        " ContentType = WindowsRuntime];"
        " $x = $m::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02);"
        " $t = $x.GetElementsByTagName('text');"
        f" [void]$t.Item(0).AppendChild($x.CreateTextNode($env:{TITLE_VARIABLE}));"
        f" [void]$t.Item(1).AppendChild($x.CreateTextNode($env:{TEXT_VARIABLE}));"
        " $n = New-Object Windows.UI.Notifications.ToastNotification $x;"
        f" $m::CreateToastNotifier('{SENDER}').Show($n)",
    ),
}  # fmt: skip


class Notices:
    """The notices of all windows."""

    def __init__(self, stories: Stories) -> None:
        self._stories = stories
        # Until an event says otherwise, the user sits before the editor.
        self._is_in_front = True
        # The questions that were shown: the CLI's session, and since when it asks.
        self._asked: set[tuple[CliSession, float]] = set()

    def note_activated(self) -> None:
        self._is_in_front = True

    def note_deactivated(self) -> None:
        self._is_in_front = False

    def show_notice(self, window: sublime.Window, sentence: str) -> None:
        """Show the sentence on the desktop, if that is wanted and nobody sees the window."""
        if settings.current_settings(window).desktop_notices and not self._is_in_front:
            work = partial(_run_command, sublime.platform(), shown_line(sentence))
            self._stories.begin(run_in_thread(work))

    def show_questions(self, statuses: tuple[Status, ...]) -> None:
        """Show what CLIs ask in their terminals, each question once."""
        asked = {}
        for status in statuses:
            for live in status.live:
                if live.activity is live_words.Activity.ASKS and not live.is_in_editor:
                    asked[live.cli_session, live.since] = status.window_id, live
        for key in set(asked) - self._asked:
            window_id, live = asked[key]
            window = sublime.Window(window_id)
            if window.is_valid():
                self.show_notice(window, live_words.question_sentence(live))
        self._asked = set(asked)


def notice_command(platform: str, text: str) -> list[str]:
    """The command that shows the text on this platform."""
    # Desktops of Linux read the text as markup.
    shown = html.escape(text, quote=False) if platform == "linux" else text
    values = {"{title}": TITLE, "{text}": shown}
    return [values.get(word, word) for word in COMMANDS[platform]]


def _run_command(platform: str, text: str) -> None:
    """Show the notice; runs in a thread."""
    try:
        subprocess.run(
            notice_command(platform, text),
            env={**os.environ, TITLE_VARIABLE: TITLE, TEXT_VARIABLE: text},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            creationflags=NO_WINDOW,
        )
    except (OSError, subprocess.SubprocessError) as error:
        logger.warning("a notice could not be shown: %s", error)
