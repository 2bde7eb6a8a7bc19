"""The commands that put words into the prompt of a CLI."""

from __future__ import annotations

from functools import partial
from typing import Any, Sequence

import sublime
import sublime_plugin

from ..host import NOT_RUNNING, host

NO_WORDS = '"gemini_companion_prompt" has to be given a "text" of some words, and was given {!r}.'


def send_words(window: sublime.Window, text: str, name: str) -> None:
    """`text` may contain variables; `name` is the name of the text for the user."""
    from ...base.answer import Unanswered
    from ...ide.questions import MentionInClaude
    from .. import sharing_settings
    from ..prompt.sending import PromptWords, Sending

    running = host.running
    if running is None:
        host.tell_user(NOT_RUNNING)
        return
    composing = running.chat.actions.composing
    place, is_excluded = (
        partial(composing.destination_in, window),
        sharing_settings.exclusion_rule(window),
    )

    async def mention(path: str, rows: Sequence[tuple[int, int]]) -> bool:
        try:
            return await running.companion.ask(MentionInClaude(window.id(), path, tuple(rows)))
        except Unanswered:
            return False

    sending = Sending(window, is_excluded, host.tell_user, place, mention)
    running.stories.begin(
        sending.send_words(PromptWords(text, name), composing.texts.last_text_in(window)), window
    )


class GeminiCompanionSendSelectionCommand(sublime_plugin.WindowCommand):
    """Send the selected text, or else the line of the cursor."""

    def run(self) -> None:
        send_words(self.window, "$selection\n", "the selection")


class GeminiCompanionSendReferenceCommand(sublime_plugin.WindowCommand):
    """Send the names of the file and the selected lines: @path#L10-20."""

    def run(self) -> None:
        send_words(self.window, "$reference ", "the reference")


class GeminiCompanionSendFileCommand(sublime_plugin.WindowCommand):
    """Send the name of the file; the CLI then reads it."""

    def run(self) -> None:
        send_words(self.window, "$file ", "the file")


class GeminiCompanionSendOpenFilesCommand(sublime_plugin.WindowCommand):
    """Send the names of all files that have a tab in the window."""

    def run(self) -> None:
        send_words(self.window, "$open_files ", "the open files")


class GeminiCompanionSendDiagnosticsCommand(sublime_plugin.WindowCommand):
    """Send what LSP and SublimeLinter have found in the file, or in the selected lines."""

    def run(self) -> None:
        send_words(self.window, "$diagnostics\n", "the diagnostics")


class GeminiCompanionSendBuildResultsCommand(sublime_plugin.WindowCommand):
    """Send the output of the last build."""

    def run(self) -> None:
        send_words(self.window, "$build_results\n", "the build results")


class GeminiCompanionPromptCommand(sublime_plugin.WindowCommand):
    """Send words of the user's own, with variables."""

    def run(self, text: Any = None) -> None:
        if isinstance(text, str) and text.strip():
            send_words(self.window, text, "your prompt")
        else:
            host.tell_user(NO_WORDS.format(text))
