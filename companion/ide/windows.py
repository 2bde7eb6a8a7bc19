"""The endpoints of all the editor's windows on one loop, from first to last; knows no thread."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Callable, Iterable, Iterator, Mapping

from ..base.background import in_thread
from ..base.log import logger
from . import discovery, saved_state
from .editor import Editor
from .saved_state import SavedWorkspace
from .workspace import Workspace

# Seconds from a change to the saved state: some changes come together.
SAVE_DELAY = 0.2
# Seconds between looks at the clock, and the seconds by which it has to be ahead to say that the
# computer slept.
TICK = 5.0
SLEPT = 5.0

Environments = Mapping[int, Mapping[str, str]]


class Windows:
    """One workspace for each window, by the window's id.

    `on_environments` is given the variables for the terminals of every window, whenever they are
    others; the mapping is never changed afterwards. `state_path` is where to keep what outlives
    this run; None keeps nothing.
    """

    def __init__(
        self,
        editor: Editor,
        pid: int,
        on_environments: Callable[[Environments], None],
        state_path: str | None = None,
    ) -> None:
        self._editor = editor
        self._pid = pid
        self._on_environments = on_environments
        self._state_path = state_path
        self._saved: list[SavedWorkspace] = []
        self._save_timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Future[str] | None = None
        # What the file holds, as far as it could be written.
        self._written: list[SavedWorkspace] = []
        self._problem = ""
        self._is_ending = False
        self._is_trusted: bool | None = None
        self._workspaces: dict[int, Workspace] = {}
        self._tasks: dict[Workspace, asyncio.Task[None]] = {}
        self._stopped = asyncio.Event()

    async def run(self, on_ready: Callable[[], None]) -> None:
        """Serve until `stop`; `on_ready` is called when windows may be told."""
        await in_thread(partial(discovery.sweep, self._pid))
        if self._state_path is not None:
            self._saved, problem = await in_thread(partial(saved_state.load, self._state_path))
            if problem:
                logger.error("%s", problem)
                self._editor.tell(problem)
        watch = asyncio.ensure_future(self._watch())
        try:
            on_ready()
            await self._stopped.wait()
        finally:
            watch.cancel()
            await self._end()

    async def _watch(self) -> None:
        """Look now and then at what happens without a word to us: the computer sleeps, and timers,
        ours and those of a CLI, may or may not go on meanwhile; files in temp folders vanish."""
        while True:
            before = time.time()
            await asyncio.sleep(TICK)
            slept = time.time() - before > TICK + SLEPT
            if self._problem:
                self._changed()
            for workspace in list(self._workspaces.values()):
                if slept:
                    workspace.sessions.woke_up()
                await self._look_after(workspace)

    async def _look_after(self, workspace: Workspace) -> None:
        """The boundary of looks: one that fails is not the last."""
        try:
            await workspace.look_after()
        except Exception:
            logger.exception("a window could not be looked after")

    async def _end(self) -> None:
        """Close all; what the next run takes over is saved, and then nothing has to be rejected."""
        workspaces, self._workspaces = self._workspaces, {}
        keep = self._all_saved(workspaces.values())
        self._is_ending = True
        for workspace in workspaces.values():
            workspace.close(reject=self._state_path is None)
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()))
        if self._save_timer is not None:
            self._save_timer.cancel()
        if self._saving is not None:
            await self._saving
        # The editor waits for this end: what is saved already is not written again.
        if self._state_path is not None and not saved_state.is_same(keep, self._written):
            self._tell_problem(saved_state.save(self._state_path, keep))
        self._on_environments({})

    def stop(self) -> None:
        self._stopped.set()

    def set_windows(self, windows: Mapping[int, tuple[str, ...]]) -> None:
        for window_id in set(self._workspaces) - set(windows):
            self._workspaces.pop(window_id).close()
        for window_id, folders in windows.items():
            if window_id in self._workspaces:
                self._workspaces[window_id].change_folders(folders)
            else:
                self._open(window_id, folders, set(windows))
        for workspace in self._workspaces.values():
            # One without a server is tried again.
            if workspace not in self._tasks:
                self._serve(workspace)
            self._hand_over(workspace)
        self._refresh()

    def set_trusted(self, is_trusted: bool | None) -> None:
        self._is_trusted = is_trusted
        for workspace in self._workspaces.values():
            workspace.trust(is_trusted)

    def of(self, window_id: int) -> Workspace | None:
        """The window's workspace; None where it is closed, or was never told."""
        return self._workspaces.get(window_id)

    def __iter__(self) -> Iterator[Workspace]:
        return iter(list(self._workspaces.values()))

    def _open(self, window_id: int, folders: tuple[str, ...], others: set[int]) -> None:
        workspace = Workspace(window_id, folders, self._editor, self._is_trusted, self._changed)
        saved = self._saved_for(window_id, folders, others)
        if saved is not None:
            self._saved.remove(saved)
            workspace.restore(saved)
        self._workspaces[window_id] = workspace

    def _saved_for(
        self, window_id: int, folders: tuple[str, ...], others: set[int]
    ) -> SavedWorkspace | None:
        """Of several windows with the same folders each gets its own, where the editor still knows
        them by their numbers."""
        fitting = [each for each in self._saved if each.folders == folders]
        own = [each for each in fitting if each.window_id == window_id]
        free = [each for each in fitting if each.window_id not in others]
        return next(iter(own + free + fitting), None)

    def _hand_over(self, workspace: Workspace) -> None:
        """A window whose folders are not quite those of before has what was kept of its files."""
        for saved in [each for each in self._saved if each.has_texts]:
            left, texts = saved.split(workspace.advertisement.folders)
            if texts.undelivered or texts.unwritten:
                self._saved[self._saved.index(saved)] = left
                workspace.take(texts.undelivered, texts.unwritten)

    def _serve(self, workspace: Workspace) -> None:
        task = asyncio.ensure_future(workspace.run(self._pid))
        self._tasks[workspace] = task
        task.add_done_callback(partial(self._closed, workspace))

    def _closed(self, workspace: Workspace, task: asyncio.Task[None]) -> None:
        del self._tasks[workspace]
        is_known = self._workspaces.get(workspace.window_id) is workspace
        if not is_known and not self._is_ending and workspace.has_undelivered:
            # For the next window with these folders.
            self._saved.append(workspace.saved(time.time()))
            self._changed()
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("a window's server ended", exc_info=error)
            self._editor.tell(
                f"Gemini CLI cannot connect: no server could be started ({error}). Run"
                ' "Gemini Companion: Restart" from the command palette.'
            )

    def _changed(self) -> None:
        """A workspace has another port, or something else that outlives this run."""
        self._refresh()
        if self._state_path is not None and self._save_timer is None and not self._is_ending:
            self._save_timer = asyncio.get_running_loop().call_later(SAVE_DELAY, self._save)

    def _save(self) -> None:
        self._save_timer = None
        if self._is_ending:
            return
        if self._saving is not None and not self._saving.done():
            self._changed()
            return
        keep = self._all_saved(self._workspaces.values())
        self._written = keep
        save = partial(saved_state.save, str(self._state_path), keep)
        self._saving = asyncio.ensure_future(in_thread(save))
        self._saving.add_done_callback(self._saved_with)

    def _saved_with(self, saving: asyncio.Future[str]) -> None:
        self._tell_problem("" if saving.cancelled() else saving.result())

    def _tell_problem(self, problem: str) -> None:
        """Tell once of a disk that refuses, and not again until it has taken something."""
        if problem:
            self._written = []
        if problem and not self._problem:
            logger.error("%s", problem)
            self._editor.tell(problem)
        self._problem = problem

    def _all_saved(self, workspaces: Iterable[Workspace]) -> list[SavedWorkspace]:
        now = time.time()
        closing = [each for each in self._tasks if each not in workspaces and each.has_undelivered]
        open_now = [each.saved(now) for each in [*workspaces, *closing] if not each.is_blank]
        return open_now + self._saved

    def _refresh(self) -> None:
        self._on_environments(
            {
                window_id: workspace.environment()
                for window_id, workspace in self._workspaces.items()
                if workspace.advertisement.port
            }
        )
