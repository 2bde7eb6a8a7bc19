"""Commands of the editor: run by their names, or chosen in the palette."""

from __future__ import annotations

from typing import Any, Callable, List

from .messages import Messages


class Commands:
    def __init__(self, editor: Any) -> None:
        self._editor = editor

    def run(self, command: str, arguments: Any = None) -> None:
        """In the window that has the keyboard."""
        window = self._editor.active_window
        if window is not None:
            self._editor.ui(self._editor.commands.run_window, window, command, arguments)


class Palette:
    """`chosen` is called with the name of a command before that runs."""

    def __init__(self, editor: Any, messages: Messages, chosen: Callable[[str], None]) -> None:
        self._editor = editor
        self._messages = messages
        self._chosen = chosen

    def show(self, words: List[str]) -> None:
        """The commands that can be run now and have all these words in their captions; a single
        one is run. On the UI thread."""
        window = self._editor.active_window
        if window is None:
            return
        found = self._find_commands(window, words)

        def chosen(index: int) -> None:
            if index >= 0:
                # What it asks would be closed with the list.
                self._editor.queues.ui.post(lambda: self._run_chosen(window, found[index]))

        if not found:
            self._messages.say("No command that can be run now has these words.")
        elif len(found) == 1:
            chosen(0)
        else:
            captions = [command["caption"] for command in found]
            window.ask(captions, "command_palette:input", {"on_select": chosen})

    def _find_commands(self, window: Any, words: List[str]) -> List[Any]:
        commands = self._editor.commands
        found = [
            command
            for command in self._editor.packages.palette()
            if all(word in command["caption"].lower() for word in words)
            and commands.is_enabled(window, command["command"], command.get("args"))
            and commands.is_visible(window, command["command"], command.get("args"))
        ]
        # A whole caption means that command, though others begin with it.
        whole = [
            command
            for command in found
            if command["caption"].lower().split(": ")[-1].split() == words
        ]
        return whole or found

    def _run_chosen(self, window: Any, entry: Any) -> None:
        """On the UI thread. Of a window that it opens, such as that of settings, the files are
        named: here they are edited in another program."""
        before = list(self._editor.windows)
        self._chosen(entry["command"])
        self._editor.commands.choose(window, entry["command"], entry.get("args"))
        for fresh in [each for each in self._editor.windows if each not in before]:
            for view in fresh.views():
                kind = "To be looked at" if view.buffer.read_only else "To be edited"
                self._messages.say("%s: %s" % (kind, view.buffer.file_name))
            self._editor.close_window(fresh)
