"""Puts the virtual time, disk and network under the modules of the core, and runs seeds."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import time
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any, Callable, Iterator
from unittest import mock

from companion.base import background
from companion.base.log import logger
from companion.ide import context, discovery, system_processes, windows  # noqa: F401 (loads all of the core)
from companion.ide.claude import lock_file, plugin_folder
from companion.ide.hooks import open_questions

from ...virtual_loop import VirtualTime
from .claude_network import ClaudeEndpoint, LockFile
from .disk import Lock, VirtualOs
from .network import Endpoint
from .world import World

# The modules below the core that ask the system, too.
BASE = (
    "companion.base.file_content",
    "companion.base.private_files",
    "companion.base.file_replace",
    "companion.base.regular_file",
)


class _Publication:
    """Stands in for the discovery files: how a CLI finds a server is tested elsewhere."""

    def __init__(self, advertisement: Any, extra: str, tell: Any, withdraw: Any) -> None:
        self.advertisement = advertisement
        self.paths: tuple[str, ...] = ()
        self.problem = ""

    def change_advertisement(self, advertisement: Any) -> None:
        pass

    def renew(self) -> None:
        pass

    def remove(self) -> None:
        pass


class _Log(logging.Handler):
    """An error with a traceback is a bug of the core."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.world: World | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and self.world is not None:
            self.world.ledger.violate(
                "the core failed", f"{record.getMessage()}: {record.exc_info[1]!r}"
            )


class Harness:
    """`run` one seed after the other, inside of `installed`."""

    def __init__(self) -> None:
        self.world: World = World(0)
        self.world.loop.end()
        self._time = VirtualTime()
        self._log = _Log()

    def run(self, seed: int, trace: bool = False) -> World:
        world = self.world = World(seed, trace)
        self._time.loop = world.loop
        self._log.world = world
        Endpoint.world = ClaudeEndpoint.world = LockFile.world = world
        world.run()
        return world

    @contextmanager
    def installed(self) -> Iterator[None]:
        """The core's modules see the present world as long as the block runs."""
        os_here = VirtualOs(lambda: self.world.disk, self._pid, self._runs)
        stand_ins: dict[str, Callable[[Any], Any]] = {
            "time": lambda genuine: self._time if genuine is time else genuine,
            "os": lambda genuine: os_here if genuine is os else genuine,
            "in_thread": lambda genuine: (
                self._in_thread if genuine is background.in_thread else genuine
            ),
            "FolderLock": lambda _genuine: partial(
                Lock, lambda: self.world.disk, lambda: self.world.loop.dead
            ),
            "Endpoint": lambda _genuine: Endpoint,
            "Publication": lambda _genuine: _Publication,
            "ClaudeEndpoint": lambda _genuine: ClaudeEndpoint,
            "LockFile": lambda _genuine: LockFile,
            "uuid": lambda _genuine: SimpleNamespace(
                uuid4=lambda: SimpleNamespace(hex=self._token(16))
            ),
            "secrets": lambda _genuine: SimpleNamespace(
                token_urlsafe=self._token, token_hex=self._token
            ),
        }
        here = (context._now_in_milliseconds, os_here.path.isfile, str)
        patches: list[Any] = [
            mock.patch.object(discovery, "sweep_files", lambda pid, extra: []),
            mock.patch.object(lock_file, "lock_folders", self._lock_folders),
            mock.patch.object(lock_file, "sweep_locks", list),
            # It has no pipes: its hooks are those of other CLIs.
            mock.patch.object(plugin_folder, "has_pipes", bool),
            mock.patch.object(
                system_processes, "ports_to", lambda *of: self.world.network.ports_to(*of)
            ),
            mock.patch.object(context.ContextStore.__init__, "__defaults__", here),
            mock.patch.object(open_questions, "groups_of_commands", lambda pid: frozenset()),
        ]
        for name, module in list(sys.modules.items()):
            if name.startswith("companion.ide.") or name in BASE:
                for attribute, stand_in in stand_ins.items():
                    if hasattr(module, attribute):
                        new = stand_in(getattr(module, attribute))
                        patches.append(mock.patch.object(module, attribute, new))
                if hasattr(module, "os"):
                    patches.append(
                        mock.patch.object(module, "open", os_here.open_file, create=True)
                    )
        for patch in patches:
            patch.start()
        handlers, logger.handlers = logger.handlers, [self._log]
        logger.propagate = False
        gc.freeze()
        try:
            yield
        finally:
            logger.handlers, logger.propagate = handlers, True
            for patch in reversed(patches):
                patch.stop()

    def _pid(self) -> int:
        companion = self.world.scene.companion
        return companion.pid if companion is not None else 1

    def _runs(self, pid: int) -> bool:
        return any(cli.process == pid and not cli.is_dead for cli in self.world.every_cli)

    def _lock_folders(self) -> list[str]:
        """Where nobody has the CLI, there is no server for it."""
        return ["/home/ann/.claude/ide"] if self.world.has_claude else []

    def _token(self, size: int = 16) -> str:
        return f"{self.world.random.getrandbits(8 * size):0{2 * size}x}"

    async def _in_thread(self, work: Callable[[], Any], seconds: float | None = None) -> Any:
        return await asyncio.wait_for(self.world.loop.in_thread(work), seconds)
