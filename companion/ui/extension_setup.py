"""Installs and removes the extension of the CLIs for the user. UI thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Callable, Mapping

import sublime

from .. import __version__ as VERSION
from ..base.log import logger
from ..ide.clis import CONNECTING_CLIS, Cli
from ..ide.hooks import extension
from ..ide.hooks.extension import Installed, NotChanged
from . import panels, stories
from .stories import run_in_thread

INSTALLED = "{} has the extension now. If the CLI runs, restart it to load the extension."
# No home of a CLI was there before.
AHEAD = "No {} has run here yet. Once one does, version {} or newer, it has the extension."
OFF = '{} has the extension, but it is switched off there: run "{}".'
REMOVED = "{} no longer has the extension. If the CLI runs, restart it to unload the extension."
NONE = "No CLI has the extension."
HERE, OTHER, NOT_HERE = "installed", "installed, version {}", "not installed"

# The CLIs that load one.
_EXTENDED = [cli for cli in CONNECTING_CLIS if cli.extension is not None]

Found = Mapping[Cli, Installed]


class ExtensionSetup:
    """`on_change` is called when something was done."""

    def __init__(self, tell: Callable[[str], None], on_change: Callable[[], None]) -> None:
        self._tell = tell
        self._on_change = on_change

    async def install_extension(self, window: sublime.Window) -> None:
        """Install it for the CLI that the user chooses among those with a home here."""
        found = await run_in_thread(_find_installed) or {}
        cli = await _choose_cli(window, found, "Install the extension for which CLI?")
        if cli is not None:
            folder = next(iter(window.folders()), "")
            await self._do_work(
                partial(_install_for, cli, found[cli].path, folder, extension_program(cli))
            )

    async def remove_extension(self, window: sublime.Window) -> None:
        """Remove it from the CLI that the user chooses among those that have it."""
        found = {
            cli: at
            for cli, at in (await run_in_thread(_find_installed) or {}).items()
            if at.is_there
        }
        if not found:
            self._tell(NONE)
            return
        cli = await _choose_cli(window, found, "Remove the extension of which CLI?")
        if cli is not None:
            await self._do_work(partial(_remove_for, cli, found[cli].path))

    async def renew_extensions(self) -> None:
        """Replace extensions that an older package has installed."""
        programs = {cli: extension_program(cli) for cli in _EXTENDED}
        await run_in_thread(partial(_renew_all, programs))

    async def _do_work(self, work: Callable[[], str]) -> None:
        self._tell(await run_in_thread(work) or stories.FAILED)
        self._on_change()


def extension_program(cli: Cli) -> bytes:
    """The program that the CLI runs at its events."""
    package, form = __name__.partition(".")[0], cli.extension
    name = form.program if form is not None else ""
    return sublime.load_binary_resource(f"Packages/{package}/extension/{name}")


async def _choose_cli(window: sublime.Window, found: Found, question: str) -> Cli | None:
    clis = list(found)
    if len(clis) == 1:
        return clis[0]
    items = [[cli.name, f"{_installed_state(found[cli])}: {found[cli].path}"] for cli in clis]
    number = await panels.ask_choice(window, items, question)
    return clis[number] if number >= 0 else None


def _installed_state(at: Installed) -> str:
    if not at.version:
        return NOT_HERE
    return HERE if at.version == VERSION else OTHER.format(at.version)


def _find_installed() -> Found:
    """The CLIs with a home here, and always Gemini CLI; runs in a thread."""
    home = os.path.expanduser("~")
    paths = {cli: extension.extension_folder(cli, os.environ, home) for cli in _EXTENDED}
    wanted = [cli for cli, path in paths.items() if _has_home(path)] or list(paths)[:1]
    return {cli: extension.installed_at(cli, paths[cli]) for cli in wanted}


def _has_home(path: str) -> bool:
    return os.path.isdir(os.path.dirname(os.path.dirname(path)))


def _install_for(cli: Cli, path: str, folder: str, data: bytes) -> str:
    """Runs in a thread; gives the sentence for the user, who works in the folder."""
    is_ahead = not _has_home(path)
    try:
        extension.install_extension(cli, path, data)
    except NotChanged as error:
        return str(error)
    if not extension.installed_at(cli, path, folder).is_enabled:
        return OFF.format(cli.name, extension.enabling_command(cli))
    if is_ahead and cli.extension is not None:
        return AHEAD.format(cli.name, ".".join(map(str, cli.extension.since)))
    return INSTALLED.format(cli.name)


def _remove_for(cli: Cli, path: str) -> str:
    """Runs in a thread; gives the sentence for the user."""
    try:
        extension.remove_extension(cli, path)
    except NotChanged as error:
        return str(error)
    return REMOVED.format(cli.name)


def _renew_all(programs: Mapping[Cli, bytes]) -> None:
    """Runs in a thread. What cannot be renewed still works, and the doctor shows its version."""
    for cli, at in _find_installed().items():
        try:
            extension.renew_extension(cli, at.path, programs[cli])
        except NotChanged as error:
            logger.warning("the extension of %s was not renewed: %s", cli.name, error)
