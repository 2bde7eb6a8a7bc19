"""What answers the hooks of Claude Code's plugin: the pipes in its home, and which of the editor's
windows a report is for. The companion's loop owns it.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Iterable

from ...base import private_files
from ...base.log import logger
from ..clis import CLAUDE_CODE
from ..hook_events import BadHook, HookEvent
from ..hooks import hook_desk
from ..session import Session
from ..workspace import Workspace
from . import plugin_folder
from .claude_connection import ClaudeConnection
from .plugin_calls import NOT_HERE, NOTHING, PluginCall, PluginCalls
from .window_choice import latest_window, window_of_file, windows_within

NOT_HEARD = "The plugin of Claude Code is not heard: "


class PluginServer:
    """`workspaces` are the present windows, `connections` the CLIs that are connected to the
    editor. `problem` says why no hook is heard, empty if they are, or if there is no server."""

    def __init__(
        self,
        workspaces: Callable[[], Iterable[Workspace]],
        connections: Callable[[], Iterable[ClaudeConnection]],
    ) -> None:
        self._workspaces = workspaces
        self._connections = connections
        self._calls: PluginCalls | None = None
        self._path = ""
        self.problem = ""

    async def show(self) -> None:
        """Make the folder if it is missing, and listen there."""
        path = next(iter(plugin_folder.hook_folders()), "")
        if path and not self._is_heard_in(path):
            await self._stop()
            self._listen_in(path)

    def must_show(self) -> bool:
        """Whether the folder is missing."""
        path = next(iter(plugin_folder.hook_folders()), "")
        return path != "" and not self._is_heard_in(path)

    async def remove(self) -> None:
        """Whoever waits gets an answer."""
        await self._stop()
        self.problem = ""

    def _is_heard_in(self, path: str) -> bool:
        return path == self._path and plugin_folder.is_whole(path)

    async def _stop(self) -> None:
        calls, self._calls = self._calls, None
        path, self._path = self._path, ""
        if calls is not None:
            await calls.stop()
            plugin_folder.remove_hook_folder(path)

    def _listen_in(self, path: str) -> None:
        problem = ""
        try:
            plugin_folder.make_hook_folder(path)
            calls = PluginCalls(path, self._answer_report)
            calls.start()
            self._calls, self._path = calls, path
        except private_files.NotPrivate as error:
            problem = f"{NOT_HEARD}{error}"
        except OSError as error:
            plugin_folder.remove_hook_folder(path)
            problem = f"{NOT_HEARD}{path} could not be made ({error.strerror})."
        if problem and problem != self.problem:
            logger.error("%s", problem)
        self.problem = problem

    async def _answer_report(
        self, call: PluginCall, report: Any, is_there: Callable[[], bool]
    ) -> bytes:
        body = {"input": report, "pid": call.pid, "version": call.version}
        try:
            event = hook_desk.read_event(CLAUDE_CODE, body)
        except BadHook as error:
            logger.warning("a hook of Claude Code reports something else: %s", error)
            return NOTHING
        if event is None:
            return NOTHING
        connection = next((each for each in self._connections() if each.pid == event.pid), None)
        if connection is None and call.only_connected:
            return NOT_HERE
        seat = connection.home_session() if connection is not None else None
        workspace, session = seat if seat is not None else (self._window_within(event), None)
        if workspace is None:
            return NOT_HERE
        return await self._answer_event(workspace, session, event, is_there)

    async def _answer_event(
        self,
        workspace: Workspace,
        session: Session | None,
        event: HookEvent,
        is_there: Callable[[], bool],
    ) -> bytes:
        for other in self._workspaces():
            if other is not workspace:
                # It may have been there until now.
                other.hooks.forget_moved(event)
        answer = await workspace.hooks.answer_event(event, session, is_there)
        return json.dumps(answer).encode("ascii")

    def _window_within(self, event: HookEvent) -> Workspace | None:
        """The window for a CLI that is not connected; None if none has anything of its folder, or
        if that window does not admit it."""
        every = list(self._workspaces())
        owner = window_of_file(every, event.folder)
        if owner is not None:
            return owner if owner.admits_claude else None
        admitted = [each for each in every if each.admits_claude]
        return latest_window(windows_within(admitted, event.folder))
