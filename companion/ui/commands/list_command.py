"""The command that opens one of the lists of commands."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import sublime_plugin

from ..host import NOT_RUNNING, host
from .table import LISTS, ROWS, Row, name_of

NOTHING = 'Nothing of "{}" can be done now.'


class GeminiCompanionListCommand(sublime_plugin.WindowCommand):
    """Let the user choose one of the commands of a list that can be done now; a single one is done
    at once. `list` is one of LISTS."""

    def is_enabled(self, list: str = "") -> bool:
        return bool(self._possible_rows(list))

    def is_visible(self, list: str = "") -> bool:
        return bool(self._possible_rows(list))

    def run(self, list: str = "") -> None:
        rows = self._possible_rows(list)
        if len(rows) == 1:
            self._run_row(rows[0])
        elif rows and host.running is not None:
            host.running.stories.begin(self._choose_row(list, rows), self.window)
        else:
            caption = LISTS.get(list, list)
            host.tell_user(NOT_RUNNING if host.running is None else NOTHING.format(caption))

    async def _choose_row(self, list: str, rows: tuple[Row, ...]) -> None:
        from .. import panels

        number = await panels.ask_choice(self.window, [row.caption for row in rows], LISTS[list])
        if number >= 0:
            self._run_row(rows[number])

    def _run_row(self, row: Row) -> None:
        self.window.run_command(name_of(row.command), dict(row.arguments))

    def _possible_rows(self, list: str) -> tuple[Row, ...]:
        return tuple(row for row in ROWS if row.list == list and self._is_possible(row))

    def _is_possible(self, row: Row) -> bool:
        if not issubclass(row.command, sublime_plugin.WindowCommand):
            return False
        return is_offered(row.command(self.window), row.arguments)


def is_offered(command: sublime_plugin.Command, arguments: Mapping[str, Any]) -> bool:
    """Whether palette and menus offer the command with these arguments now."""
    return all(
        _ask_method(method, arguments) for method in (command.is_enabled, command.is_visible)
    )


def _ask_method(method: Callable[..., bool], arguments: Mapping[str, Any]) -> bool:
    # The editor asks so as well: what counts for all arguments takes none.
    try:
        return method(**arguments)
    except TypeError:
        return method()
