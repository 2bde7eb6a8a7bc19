"""The endpoints of all windows of the editor on one loop, from their start to their end. Knows no
thread."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from functools import partial
from typing import Callable, Iterator, Mapping

from ..base.background import in_thread
from ..base.file_content import Stamps
from ..base.log import logger
from . import discovery
from .claude.claude_server import ClaudeServer
from .decisions import OPEN
from .editor import Editor
from .reach import LOOPBACK, Reach
from .saved_state import SavedWorkspace
from .saving import Saving
from .status import Status
from .status_updates import Environments, StatusUpdates
from .unclaimed import Unclaimed
from .window_settings import DEFAULTS, WindowSettings
from .window_trees import TreeFolders
from .workspace import Workspace

# Seconds between two readings of the clock, and the seconds by which it must be ahead to show that
# the computer slept.
TICK = 5.0
SLEPT = 5.0
# What sentences about the saved state are about.
SAVING = "saving"


class Windows:
    """`workspaces` has one for each window, by the window's id.

    `on_environments` is that of StatusUpdates. `state_path` is the file for the state that is saved
    over a restart; None keeps nothing. `stamps` are those of files that the editor asks for.
    `saving` says whether the present state is saved. `claude` is the way of Claude Code to all of
    them.
    """

    def __init__(
        self,
        editor: Editor,
        pid: int,
        on_environments: Callable[[Environments], None],
        state_path: str | None = None,
        reach: Reach = LOOPBACK,
    ) -> None:
        self._editor = editor
        self._pid = pid
        self._reach = reach
        self.stamps = Stamps()
        tell, withdraw = (
            partial(editor.show_message, about=SAVING),
            partial(editor.withdraw_message, SAVING),
        )
        self.saving = Saving(state_path, self._saved_picture, tell, withdraw)
        self._unclaimed = Unclaimed()
        self._is_ending = False
        self.workspaces: dict[int, Workspace] = {}
        self._tasks: dict[Workspace, asyncio.Task[None]] = {}
        self.claude = ClaudeServer(lambda: self, editor, pid, self._note_change)
        self._state_path = state_path
        self._updates = StatusUpdates(
            editor, self, self.statuses, on_environments, self.claude.environment
        )
        self._stopped = asyncio.Event()

    async def run(self, on_ready: Callable[[], None]) -> None:
        """Serve until `stop`; `on_ready` is called when events may be posted."""
        await in_thread(partial(discovery.sweep_files, self._pid, self._reach.folder))
        self._unclaimed = Unclaimed(await self.saving.begin())
        await self.claude.begin(self._state_path if self.saving.is_on else None)
        watch = asyncio.ensure_future(self._watch_changes())
        try:
            on_ready()
            await self._stopped.wait()
        finally:
            watch.cancel()
            await self._close_all()

    async def _watch_changes(self) -> None:
        """Check from time to time for changes that nobody reports: the computer sleeps, and timers,
        ours and those of a CLI, may or may not run meanwhile; files in temp folders are removed."""
        while True:
            before = time.time()
            await asyncio.sleep(TICK)
            slept = time.time() - before > TICK + SLEPT
            self.saving.try_again()
            await self._take_over()
            self.claude.look_after()
            for workspace in self:
                if slept:
                    workspace.sessions.woke_up()
                await self._check_workspace(workspace)
            # Some changes come only with time, such as a text that nobody wrote.
            self._updates.update_now()

    async def _take_over(self) -> None:
        """Take over the state of another editor that has kept the folder until now. The boundary of
        attempts: after a failed one there is another."""
        try:
            found = await self.saving.take_over()
            for saved in found:
                self._unclaimed.add(saved)
            if found:
                self._hand_over()
                self._note_change()
        except Exception:
            logger.exception("the saved state of another editor could not be taken over")

    async def _check_workspace(self, workspace: Workspace) -> None:
        """The boundary of checks: after a failed one there is another."""
        try:
            await workspace.check_for_changes()
        except Exception:
            logger.exception("a window could not be checked")

    async def _close_all(self) -> None:
        """Close all windows. The next run takes over what is saved, so nothing is rejected."""
        self._is_ending = True
        try:
            for workspace in self:
                workspace.close(reject=not self.saving.is_on)
            if self._tasks:
                await asyncio.wait(list(self._tasks.values()))
            for workspace in self:
                workspace.delivery.hand_on()
            await self.claude.stop()
        finally:
            # Otherwise the next companion would find the folder in use.
            await self.saving.finish()
        self.workspaces = {}
        self._updates.stop()

    def stop(self) -> None:
        self._stopped.set()

    def __iter__(self) -> Iterator[Workspace]:
        return iter(list(self.workspaces.values()))

    def set_windows(
        self,
        windows: Mapping[int, tuple[str, ...]],
        settings: Mapping[int, WindowSettings] | None = None,
        trees: Mapping[int, tuple[TreeFolders, ...]] | None = None,
    ) -> None:
        """Keep one workspace for each of these windows, with its folders, and close all others.
        `settings` are those of new windows; a window that is not in them gets the defaults. `trees`
        are the work trees that belong to a window."""
        for window_id in set(self.workspaces) - set(windows):
            self._close_workspace(self.workspaces.pop(window_id))
        for window_id, folders in windows.items():
            if window_id not in self.workspaces:
                mine = (settings or {}).get(window_id, DEFAULTS)
                self._open_workspace(window_id, folders, mine, set(windows))
            self.workspaces[window_id].change_folders(folders, (trees or {}).get(window_id, ()))
        for workspace in self:
            # A window without a server gets another attempt.
            if workspace not in self._tasks:
                self._serve_workspace(workspace)
        self._hand_over()
        self._updates.update_now()
        self.claude.check_windows()

    def _open_workspace(
        self,
        window_id: int,
        folders: tuple[str, ...],
        settings: WindowSettings,
        others: set[int],
    ) -> None:
        workspace = Workspace(
            window_id,
            folders,
            self._editor,
            settings,
            self._note_change,
            partial(_asking_sessions, self),
            self._reach,
        )
        workspace.hooks.live.changes.subscribe(self._updates.update_soon)
        saved = self._unclaimed.claim_window(window_id, folders, others)
        if saved is not None:
            workspace.restore(saved)
        self.workspaces[window_id] = workspace

    def _close_workspace(self, workspace: Workspace) -> None:
        self._forget_problem(workspace)
        workspace.close()
        if workspace not in self._tasks:
            self._workspace_closed(workspace)

    def _workspace_closed(self, workspace: Workspace) -> None:
        """Its window is closed and its streams have ended. What is not finished waits for the next
        window with these folders."""
        if workspace.has_decisions:
            self._unclaimed.add(workspace.saved_workspace(time.time()))
            # At the end all that is left is saved as it is.
            if not self._is_ending:
                self._hand_over()
                self._note_change()

    def _hand_over(self) -> None:
        """A window whose folders differ a little from before gets the decisions on its files. Texts
        that come back go to any window."""
        for workspace in self:
            folders = workspace.advertisement.all_folders
            workspace.adopt_entries(self._unclaimed.decisions_within(folders))
        for workspace in self:
            workspace.adopt_entries(self._unclaimed.texts_that_come_back())
            workspace.words.adopt_words(self._unclaimed.take_words())

    def _serve_workspace(self, workspace: Workspace) -> None:
        self._forget_problem(workspace)
        task = asyncio.ensure_future(workspace.run(self._pid))
        self._tasks[workspace] = task
        task.add_done_callback(partial(self._server_ended, workspace))

    def _forget_problem(self, workspace: Workspace) -> None:
        """The window is tried again, or is closed."""
        if workspace.problem:
            self._editor.withdraw_message(_server_of(workspace))
        workspace.problem = ""

    def _server_ended(self, workspace: Workspace, task: asyncio.Task[None]) -> None:
        del self._tasks[workspace]
        if self.workspaces.get(workspace.window_id) is not workspace:
            self._workspace_closed(workspace)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("a window's server ended", exc_info=error)
            workspace.problem = f"No server could be started ({error})."
        if error is not None and self.workspaces.get(workspace.window_id) is workspace:
            self._editor.show_message(
                f"No CLI can connect: no server could be started ({error}). Run"
                ' "Gemini Companion: Restart Companion" from the command palette.',
                about=_server_of(workspace),
            )
        self._updates.update_now()

    def _note_change(self) -> None:
        """A workspace has another port, or something else has changed that must be saved."""
        self._updates.update_soon()
        self.saving.save_soon()

    def _saved_picture(self) -> list[SavedWorkspace]:
        """The state of all windows to be saved, including those that are closing."""
        now, closing = time.time(), [each for each in self._tasks if each not in set(self)]
        all_now = [*self, *(each for each in closing if each.has_decisions)]
        return [
            each.saved_workspace(now) for each in all_now if not each.is_blank
        ] + self._unclaimed.all()

    def statuses(self) -> tuple[Status, ...]:
        """The statuses of all windows."""
        return tuple(replace(each.status(), unsaved=self.saving.problem) for each in self)


def _server_of(workspace: Workspace) -> str:
    """What a sentence about the window's server is about."""
    return f"server {workspace.window_id}"


def _asking_sessions(windows: Windows, path: str) -> set[str]:
    """The sessions whose proposals for the path wait for the user in any book."""
    books = [workspace.book for workspace in windows]
    found = {
        book[number].session_id for book in books for number in book.numbers_in(OPEN, path=path)
    }
    return found | windows._unclaimed.asking_sessions(path)
