"""The links at failures, and what they do: one function for each action. UI thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Callable

import sublime

from ...base import background
from ...ide import cli_settings, clis
from ...ide.cli_settings import CannotChange, SettingsChange
from ...ide.clis import Cli
from ...ide.companion import Companion
from ...ide.doctor import checks
from ...ide.doctor.checks import Failed
from ...ide.doctor.report import Facts
from ...ide.questions import DiscoveryRepair
from .. import panels, settings, sharing_settings, stories
from ..stories import run_in_thread
from . import page

# The labels of the links, by their actions.
LABELS = {
    checks.INSTALL: "Copy the command",
    checks.USE_PROGRAM: "Use it",
    checks.LOG_IN: "Get an API key",
    checks.ENABLE: "Enable",
    checks.RESTART: "Restart",
    checks.ADD_FOLDER: "Add folder",
    checks.WRITE_AGAIN: "Write it again",
    checks.SWEEP: "Remove it",
    checks.RUN_CLI: "Run {}",
}
# The user has to end the CLI that runs.
RUN_ANOTHER = "Run another {}"
NOT_REMOVED = (
    "{} is not a file of Gemini Companion, or is in use. Inspect it, and remove it yourself."
)


def remedy_link(failed: Failed, facts: Facts) -> str:
    """The link that repairs the failure; empty if no click can do that. `facts` are those of the
    CLI that fails."""
    label = LABELS.get(failed.action, "")
    if failed.action == checks.RUN_CLI:
        if not facts.is_started:
            return ""
        label = (label if facts.process is None else RUN_ANOTHER).format(facts.name)
    if not label:
        return ""
    arguments = {"action": failed.action, "argument": failed.argument, "cli": facts.cli.id}
    return page.command_link("gemini_companion_remedy", arguments, label)


class Remedies:
    """`on_change` is called when something was done."""

    def __init__(
        self, companion: Companion, tell: Callable[[str], None], on_change: Callable[[], None]
    ) -> None:
        self._companion = companion
        self._tell = tell
        self._on_change = on_change

    async def apply_remedy(
        self, window: sublime.Window, action: str, argument: str, cli: str
    ) -> None:
        """Do the action for the CLI of that id; an unknown action does nothing."""
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
            self._use_program(argument)
        elif action == checks.ENABLE:
            await self._enable_in_settings(window, clis.by_id(cli), argument)
        elif action == checks.ADD_FOLDER:
            # The path is the CLI's own.
            folder = sharing_settings.path_maps(window).to_local(argument)
            is_there = await run_in_thread(partial(os.path.isdir, folder))
            _add_folder(window, folder, is_there)
        elif action in (checks.WRITE_AGAIN, checks.SWEEP):
            is_removed = await self._companion.ask(DiscoveryRepair(window.id(), argument))
            if argument and not is_removed:
                self._tell(NOT_REMOVED.format(argument))
            self._on_change()

    def _use_program(self, program: str) -> None:
        stored = sublime.load_settings(settings.FILE)
        stored.set("cli_command", [program, *settings.current_settings().cli_command[1:]])
        sublime.save_settings(settings.FILE)
        self._on_change()

    async def _enable_in_settings(self, window: sublime.Window, cli: Cli, path: str) -> None:
        """Show what would be written to the CLI's settings file at the path, ask, and write it."""
        try:
            plan = await background.start_work(partial(cli_settings.enabling_change, cli, path))
        except CannotChange as error:
            self._tell(str(error))
            return
        if not plan.lines:
            self._tell(f"{cli.name} connects to editors already.")
            self._on_change()
            return
        backup = "the old file is kept beside it"
        where = plan.path if plan.path == plan.target else f"{plan.path}, which is {plan.target}"
        details = [*plan.lines, f"in {where}", backup if plan.before is not None else "a new file"]
        items = [
            sublime.QuickPanelItem("Write it", details),
            sublime.QuickPanelItem("Leave it", "nothing is written"),
        ]
        if await panels.ask_choice(window, items, f"Let {cli.name} connect to editors?") != 0:
            return
        self._tell(await run_in_thread(partial(_apply_change, cli, plan)) or stories.FAILED)
        self._on_change()


def _apply_change(cli: Cli, change: SettingsChange) -> str:
    """Runs in a thread; gives the sentence for the user."""
    try:
        backup = cli_settings.apply_change(change)
    except CannotChange as error:
        return str(error)
    beside = f" The old file is kept as {os.path.basename(backup)}." if backup else ""
    return f"{cli.name} connects to editors now; restart it if it runs.{beside}"


def _add_folder(window: sublime.Window, folder: str, is_there: bool | None) -> None:
    """Add the folder to the window's project; if it does not exist, let the user choose one."""
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
