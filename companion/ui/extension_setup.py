"""Installs and removes the extension of the CLIs for the user. UI thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Callable, Mapping

import sublime

from .. import __version__ as VERSION
from ..base.log import logger
from ..ide.clis import CLIS, Cli
from ..ide.hooks import extension
from ..ide.hooks.extension import NAME, Installed, NotChanged
from . import panels, stories
from .stories import computed

INSTALLED = "{} has the extension now. If the CLI runs, restart it to load the extension."
# No home of a CLI was there before.
AHEAD = "No {} has run here yet. Once one does, version {} or newer, it has the extension."
OFF = '{} has the extension, but it is switched off there: run "{} extensions enable {}".'
REMOVED = "{} no longer has the extension. If the CLI runs, restart it to unload the extension."
NONE = "No CLI has the extension."
HERE, OTHER, NOT_HERE = "installed", "installed, version {}", "not installed"

Found = Mapping[Cli, Installed]


class ExtensionSetup:
    """`changed` is called when something was done."""

    def __init__(self, tell: Callable[[str], None], changed: Callable[[], None]) -> None:
        self._tell = tell
        self._changed = changed

    async def install(self, window: sublime.Window) -> None:
        """Install it for the CLI that the user chooses among those with a home here."""
        found = await computed(_found) or {}
        cli = await _chosen(window, found, "Install the extension for which CLI?")
        if cli is not None:
            folder = next(iter(window.folders()), "")
            await self._do(partial(_install, cli, found[cli].path, folder, program()))

    async def remove(self, window: sublime.Window) -> None:
        """Remove it from the CLI that the user chooses among those that have it."""
        found = {cli: at for cli, at in (await computed(_found) or {}).items() if at.is_there}
        if not found:
            self._tell(NONE)
            return
        cli = await _chosen(window, found, "Remove the extension of which CLI?")
        if cli is not None:
            await self._do(partial(_remove, cli, found[cli].path))

    async def renew(self) -> None:
        """Replace extensions that an older package has installed."""
        await computed(partial(_renew, program()))

    async def _do(self, work: Callable[[], str]) -> None:
        self._tell(await computed(work) or stories.FAILED)
        self._changed()


def program() -> bytes:
    """The program that the CLIs run at their events."""
    package = __name__.partition(".")[0]
    return sublime.load_binary_resource(f"Packages/{package}/extension/companion.cjs")


async def _chosen(window: sublime.Window, found: Found, question: str) -> Cli | None:
    clis = list(found)
    if len(clis) == 1:
        return clis[0]
    items = [[cli.name, f"{_state(found[cli])}: {found[cli].path}"] for cli in clis]
    number = await panels.choice(window, items, question)
    return clis[number] if number >= 0 else None


def _state(at: Installed) -> str:
    if not at.version:
        return NOT_HERE
    return HERE if at.version == VERSION else OTHER.format(at.version)


def _found() -> Found:
    """The CLIs with a home here, and always Gemini CLI; runs in a thread."""
    home = os.path.expanduser("~")
    paths = {
        cli: extension.extension_folder(cli, os.environ, home)
        for cli in CLIS
        if cli.extension is not None
    }
    wanted = [cli for cli, path in paths.items() if _has_home(path)] or list(paths)[:1]
    return {cli: extension.installed_at(cli, paths[cli]) for cli in wanted}


def _has_home(path: str) -> bool:
    return os.path.isdir(os.path.dirname(os.path.dirname(path)))


def _install(cli: Cli, path: str, folder: str, data: bytes) -> str:
    """Runs in a thread; gives the sentence for the user, who works in the folder."""
    is_ahead = not _has_home(path)
    try:
        extension.install_extension(cli, path, data)
    except NotChanged as error:
        return str(error)
    if not extension.installed_at(cli, path, folder).is_enabled:
        return OFF.format(cli.name, cli.command, NAME)
    if is_ahead and cli.extension is not None:
        return AHEAD.format(cli.name, ".".join(map(str, cli.extension.since)))
    return INSTALLED.format(cli.name)


def _remove(cli: Cli, path: str) -> str:
    """Runs in a thread; gives the sentence for the user."""
    try:
        extension.remove_extension(cli, path)
    except NotChanged as error:
        return str(error)
    return REMOVED.format(cli.name)


def _renew(data: bytes) -> None:
    """Runs in a thread. What cannot be renewed still works, and the doctor shows its version."""
    for cli, at in _found().items():
        try:
            extension.renew_extension(cli, at.path, data)
        except NotChanged as error:
            logger.warning("the extension of %s was not renewed: %s", cli.name, error)
