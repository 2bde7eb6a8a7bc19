"""What the links beside failures do: one function for each action; UI thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Callable

import sublime

from ..ide import cli_settings, clis
from ..ide.cli_settings import CannotChange, Change
from ..ide.clis import Cli
from ..ide.doctor import checks
from ..ide.events import DiscoveryRepaired, Event, WorkAsked
from ..ide.service import Companion
from . import panels, queues, settings, sharing

NOT_REMOVED = (
    "{} is not a file of Gemini Companion, or is in use. Look at it, and remove it yourself."
)


class Remedies:
    """`changed` is called when something was done."""

    def __init__(
        self, companion: Companion, tell: Callable[[str], None], changed: Callable[[], None]
    ) -> None:
        self._companion = companion
        self._tell = tell
        self._changed = changed

    def apply(self, window: sublime.Window, action: str, argument: str, cli: str) -> None:
        """Do it, for the CLI of that id; an action that is not known does nothing."""
        simple = {
            checks.RUN_CLI: "gemini_companion_run_cli",
            checks.RESTART: "gemini_companion_restart_companion",
        }
        if action in simple:
            window.run_command(simple[action])
        elif action == checks.LOG_IN:
            window.run_command("open_url", {"url": checks.API_KEYS})
        elif action == checks.INSTALL:
            sublime.set_clipboard(argument)
            self._tell("The command is on the clipboard. Run it in a terminal.")
        elif action == checks.USE_PROGRAM:
            self._use(argument)
        elif action == checks.ENABLE:
            self._enable(window, clis.by_id(cli), argument)
        elif action == checks.ADD_FOLDER:
            # The CLI's own name of it.
            folder = sharing.path_maps(window).to_local(argument)
            self._work(partial(os.path.isdir, folder), partial(_add_folder, window, folder))
        elif action in (checks.WRITE_AGAIN, checks.SWEEP):
            self._post(self._repaired(window, argument))

    def _repaired(self, window: sublime.Window, dead: str) -> DiscoveryRepaired:
        def show(is_removed: bool) -> None:
            if dead and not is_removed:
                self._tell(NOT_REMOVED.format(dead))
            self._changed()

        def reply(is_removed: bool) -> None:
            """On the companion's thread."""
            queues.on_ui_thread(partial(show, is_removed))

        return DiscoveryRepaired(window.id(), dead, reply)

    def _use(self, program: str) -> None:
        stored = sublime.load_settings(settings.FILE)
        stored.set("cli_command", [program, *settings.of().cli_command[1:]])
        sublime.save_settings(settings.FILE)
        self._changed()

    def _enable(self, window: sublime.Window, cli: Cli, path: str) -> None:
        """Ask with what would be written to the CLI's settings file at the path, and write it."""

        def plan() -> Change | str:
            try:
                return cli_settings.enabling(cli, path)
            except CannotChange as error:
                return str(error)

        self._work(plan, partial(self._ask, window, cli))

    def _ask(self, window: sublime.Window, cli: Cli, plan: Change | str | None) -> None:
        if not isinstance(plan, Change):
            self._tell(plan or 'That failed; "Gemini Companion: Show Log" tells more.')
            return
        if not plan.lines:
            self._tell(f"{cli.name} connects to editors already.")
            self._changed()
            return
        backup = "the file of before stands beside it then"
        where = plan.path if plan.path == plan.target else f"{plan.path}, which is {plan.target}"
        details = [*plan.lines, f"in {where}", backup if plan.before is not None else "a new file"]
        items = [
            sublime.QuickPanelItem("Write it", details),
            sublime.QuickPanelItem("Leave it", "nothing is written"),
        ]

        def answer(index: int) -> None:
            if index == 0:
                self._work(partial(_apply, cli, plan), self._tell_outcome)

        panels.choose(window, items, answer, f"Let {cli.name} connect to editors?")

    def _tell_outcome(self, sentence: str | None) -> None:
        self._tell(sentence or 'That failed; "Gemini Companion: Show Log" tells more.')
        self._changed()

    def _work(self, work: Callable[[], object], then: Callable[..., None]) -> None:
        """Disks may be slow: do it in a thread, and go on here."""

        def reply(outcome: object) -> None:
            queues.on_ui_thread(partial(then, outcome))

        self._post(WorkAsked(work, reply))

    def _post(self, event: Event) -> None:
        """Where the companion has ended, nobody does it: say what has to be mended first."""
        if self._companion.problem:
            self._tell(self._companion.problem)
        else:
            self._companion.post(event)


def _apply(cli: Cli, change: Change) -> str:
    """In a thread; gives what to tell."""
    try:
        backup = cli_settings.apply(change)
    except CannotChange as error:
        return str(error)
    beside = f" The file of before is {os.path.basename(backup)}." if backup else ""
    return f"{cli.name} connects to editors now; start it anew if it runs.{beside}"


def _add_folder(window: sublime.Window, folder: str, is_there: bool | None) -> None:
    """Add it to the window's project; where it is not there, let the user choose."""
    if not window.is_valid():
        return
    if not is_there:
        window.run_command("prompt_add_folder")
        return
    data: Any = window.project_data()
    data = data if isinstance(data, dict) else {}
    folders = data.get("folders")
    known = folders if isinstance(folders, list) else []
    window.set_project_data({**data, "folders": [*known, {"path": folder}]})
