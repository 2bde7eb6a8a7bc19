"""The way of Claude Code to the editor: its server, the lock file that leads there, and the pipes
for its hooks, for as long as a window admits it."""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import suppress
from functools import partial
from typing import Awaitable, Callable, Iterable, Mapping

from ...base.background import in_thread
from ...base.log import logger
from ..clis import CLAUDE_CODE
from ..editor import Editor
from ..workspace import Workspace
from . import lock_file, plugin_folder
from .claude_connection import ClaudeConnection
from .claude_endpoint import ClaudeEndpoint
from .lock_file import Lock, LockFile
from .plugin_server import PluginServer
from .saved_address import Address, load_address, save_address

# What sentences about it are about.
ABOUT, NO_SERVER_ABOUT = "claude code", "claude code server"
# Seconds after which the address is saved again: it is void a while after that.
SAVE_AGAIN = 3600.0
NO_SERVER = "Claude Code cannot connect: no server could be started ({})."


class ClaudeServer:
    """`workspaces` are the present windows. `pid` is the editor's process. `on_change` is called
    when the port has changed. `state_path` is the file beside which the address is kept, None if it
    is not."""

    def __init__(
        self,
        workspaces: Callable[[], Iterable[Workspace]],
        editor: Editor,
        pid: int,
        on_change: Callable[[], None],
    ) -> None:
        self._workspaces = workspaces
        self._editor = editor
        self._pid = pid
        self._on_change = on_change
        self._state_path: str | None = None
        self._lock_file = LockFile(
            partial(editor.show_message, about=ABOUT), partial(editor.withdraw_message, ABOUT)
        )
        self._endpoint: ClaudeEndpoint | None = None
        self.plugin = PluginServer(workspaces, self._connections)
        self._address: Address | None = None
        # When the address was last saved, by the monotonic clock, and the task that does.
        self._saved_at = 0.0
        self._saving: asyncio.Task[None] | None = None
        # The windows that were last known to admit it.
        self._shown: list[Workspace] = []
        # The one task that starts and stops the server, and whether it has to look again.
        self._task: asyncio.Task[None] | None = None
        self._must_check = False
        self._problem = ""
        self._is_ending = False
        self._is_ready = False

    async def begin(self, state_path: str | None) -> None:
        """Take up the address from before a restart. `state_path` is None if another editor keeps
        its own there."""
        self._state_path = state_path
        if lock_file.lock_folders():
            await in_thread(lock_file.sweep_locks)
            await in_thread(plugin_folder.sweep_hook_folders)
        self._is_ready = True
        self.check_windows()

    def check_windows(self) -> None:
        """Windows, their folders or their settings have changed."""
        self._must_check = True
        if self._is_ready and not self._is_ending and self._task is None:
            self._task = asyncio.ensure_future(self._adapt())
            self._task.add_done_callback(self._adapted)

    def look_after(self) -> None:
        """Call this from time to time."""
        self._lock_file.renew()
        if self._endpoint is not None and time.monotonic() - self._saved_at > SAVE_AGAIN:
            self._saving = asyncio.ensure_future(self._save_address())
        is_served = self._endpoint is not None
        if self.plugin.must_show() if is_served else lock_file.lock_folders():
            self.check_windows()

    async def stop(self) -> None:
        """The companion ends; the next one takes over the port."""
        self._is_ending = True
        if self._task is not None:
            with suppress(OSError):
                await self._task
        await self._end(comes_back=True)

    def environment(self, workspace: Workspace) -> Mapping[str, str]:
        """The variables that lead a CLI in a terminal of the window here; none without a server, or
        if the window does not admit it."""
        port = self.port if workspace.admits_claude else 0
        return CLAUDE_CODE.environment(port, "", "", 0) if port else {}

    @property
    def port(self) -> int:
        """0 if there is no server."""
        return self._address.port if self._endpoint is not None and self._address else 0

    @property
    def problem(self) -> str:
        """Why no CLI can find the editor, or connect; empty if nothing is known."""
        return self._problem or self._lock_file.problem

    @property
    def lock_paths(self) -> tuple[str, ...]:
        return self._lock_file.paths

    def connections_in(self, workspace: Workspace) -> list[ClaudeConnection]:
        """The CLIs whose window it is."""
        return [each for each in self._connections() if each.is_at_home_in(workspace)]

    def _connections(self) -> list[ClaudeConnection]:
        return self._endpoint.connections() if self._endpoint is not None else []

    def _admitted(self) -> list[Workspace]:
        return [each for each in self._workspaces() if each.admits_claude]

    async def _adapt(self) -> None:
        while self._must_check and not self._is_ending:
            self._must_check = False
            # The last window may make room for another one.
            has_windows, is_admitted = any(True for _ in self._workspaces()), bool(self._admitted())
            if has_windows and not is_admitted:
                await self._end(comes_back=False)
            elif is_admitted and self._endpoint is None and lock_file.lock_folders():
                # For somebody without the CLI there is no server.
                await self._start()
            self._show()
            if self._endpoint is not None:
                await self.plugin.show()

    def _adapted(self, task: asyncio.Task[None]) -> None:
        self._task = None
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("the server for Claude Code ended", exc_info=error)
            self._report(NO_SERVER.format(error))
        elif self._must_check:
            self.check_windows()

    def _report(self, problem: str) -> None:
        """Why there is no server, empty if there is one."""
        if self._problem:
            self._editor.withdraw_message(NO_SERVER_ABOUT)
        if problem:
            self._editor.show_message(problem, about=NO_SERVER_ABOUT)
        self._problem = problem

    def _show(self) -> None:
        """Bring the lock file and the connections up to date."""
        if self._endpoint is None or self._address is None:
            return
        admitted = self._admitted()
        if admitted != self._shown:
            # The terminals of the others get no variables.
            self._shown = admitted
            self._on_change()
        folders = [folder for each in admitted for folder in each.advertisement.remote_folders]
        distinct = tuple(dict.fromkeys(folders))
        self._lock_file.show(Lock(self._pid, self._address.port, self._address.token, distinct))
        for connection in self._endpoint.connections():
            connection.check_windows()

    async def _start(self) -> None:
        """Serve on the port from before, or on another one with another token: whoever has the
        port by now gets the old one from the CLIs. Raises OSError."""
        if self._address is None and self._state_path is not None:
            self._address = await in_thread(partial(load_address, self._state_path))
        kept = self._address
        if kept is not None:
            with suppress(OSError):
                await self._listen(kept)
                return
        await self._listen(Address(0, secrets.token_urlsafe(32)))

    async def _listen(self, wanted: Address) -> None:
        endpoint = ClaudeEndpoint(wanted.token, self._connect)
        port = await endpoint.start(wanted.port)
        self._endpoint, self._address = endpoint, Address(port, wanted.token)
        await self._save_address()
        self._report("")
        self._on_change()

    async def _save_address(self) -> None:
        """Its age counts from the last time."""
        self._saved_at = time.monotonic()
        if self._state_path is not None and self._address is not None:
            await in_thread(partial(save_address, self._state_path, self._address))

    async def _end(self, comes_back: bool) -> None:
        self._lock_file.remove()
        await self.plugin.remove()
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            if self._saving is not None:
                await self._saving
            await self._save_address()
            await endpoint.stop(comes_back, self._state_path is not None)
            if not comes_back:
                self._on_change()

    def _connect(self, send: Callable[[bytes], Awaitable[None]]) -> ClaudeConnection:
        return ClaudeConnection(send, self._workspaces, self._editor.code)
