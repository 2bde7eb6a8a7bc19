"""Makes work trees for the folders of a window: asks what they begin with, and shows how far it is.
UI thread only; the work is done in threads."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from functools import partial
from typing import Callable, TypeVar

import sublime

from ...base import background
from ...base.shown_text import shown_line
from ...work_trees.git import GitFailure
from ...work_trees.repository import Repository, inspect_repository
from ...work_trees.tree_making import WantedTree, make_scratch, make_tree
from ...work_trees.tree_places import folder_for_trees
from ...work_trees.tree_store import TreeStore
from ...work_trees.work_tree import TreeFailure, WorkTree
from .. import panels, settings, views
from ..engines import trusted_folders
from ..known_trees import KnownTrees
from ..stories import sleep
from .beginning_choice import Beginning, choose_beginning
from .making_progress import MakingProgress, MakingStopped

T = TypeVar("T")

# Milliseconds between two looks at how far it is.
LOOK = 200
WHICH_FOLDER = "A work tree for which folder?"
NO_FOLDER = "Open the folder of your project first: a work tree is made of its repository."
STOPPED = "No work tree was made."
NOT_MADE = "No work tree can be made: {}."


@dataclass(frozen=True)
class PreparedTrees:
    """What the user has chosen for new work trees: the `folder` (a real path) that their agents are
    to work in, its repository, and what they begin with. `snapshot` is the commit with that, once
    the first of them has it."""

    folder: str
    repository: Repository
    beginning: Beginning
    snapshot: str = ""


class TreeMaker:
    """`tell` shows a sentence."""

    def __init__(self, trees: KnownTrees, tell: Callable[[str], None]) -> None:
        self._trees = trees
        self._tell = tell
        self._running: list[MakingProgress] = []

    def is_at_work(self, window: sublime.Window) -> bool:
        """Whether a work tree is being made for the window."""
        return any(progress.window == window for progress in self._running)

    def stop_in(self, window: sublime.Window) -> bool:
        """Stop the making of work trees for the window; whether there was any."""
        mine = [progress for progress in self._running if progress.window == window]
        for progress in mine:
            progress.stop()
        return bool(mine)

    async def prepare_trees(self, window: sublime.Window) -> PreparedTrees | None:
        """What the user chooses for the work trees of a folder of the window; None if they choose
        nothing, or if none can be made, which they are told."""
        folder = await _choose_folder(window)
        if not folder:
            if folder is not None:
                self._tell(NO_FOLDER)
            return None
        progress = MakingProgress(window)
        look = partial(_inspect, self._trees.store, folder, progress)
        repository = await self._follow(progress, look)
        if repository is None:
            return None
        beginning = await choose_beginning(window, repository)
        real = await background.start_work(partial(os.path.realpath, folder))
        return PreparedTrees(real, repository, beginning) if beginning is not None else None

    async def make_tree(
        self, window: sublime.Window, prepared: PreparedTrees, agent: str
    ) -> WorkTree | None:
        """A work tree for the agent with the id; None if it could not be made, or the user has
        stopped it, which they are told."""
        repository = prepared.repository
        place = folder_for_trees(repository.root, settings.current_settings().worktree_folder)
        wanted = WantedTree(
            repository,
            prepared.folder,
            place,
            agent,
            trusted=trusted_folders(),
            snapshot=prepared.snapshot,
            **asdict(prepared.beginning),
        )
        progress = MakingProgress(window)
        make = partial(make_tree, self._trees.store, wanted, progress.report_step)
        tree = await self._follow(progress, make)
        if tree is not None:
            await self._trees.look_again()
        return tree

    async def _follow(self, progress: MakingProgress, work: Callable[[], T]) -> T | None:
        """What the work gives in a thread, while the window shows how far it is; None if it fails
        or is stopped, which the user is told."""
        answer = background.start_work(work)
        self._running.append(progress)
        try:
            while not answer.is_there:
                progress.show_step()
                await sleep(LOOK)
            return await answer
        except MakingStopped:
            self._tell(STOPPED)
        except (GitFailure, TreeFailure) as error:
            self._tell(shown_line(str(error)))
        except OSError as error:
            self._tell(NOT_MADE.format(shown_line(error.strerror or str(error))))
        finally:
            progress.stop()
            progress.hide()
            self._running.remove(progress)
        return None


async def _choose_folder(window: sublime.Window) -> str | None:
    """A folder of the window, which the user chooses if there are several; "" if there is none,
    None if they choose none."""
    folders = views.window_folders(window)
    number = 0
    if len(folders) > 1:
        number = await panels.ask_choice(window, folders, WHICH_FOLDER)
    if number < 0:
        return None
    return folders[number] if folders else ""


def _inspect(store: TreeStore, folder: str, progress: MakingProgress) -> Repository:
    """Runs in a thread. Raises GitFailure, OSError and MakingStopped."""
    return inspect_repository(folder, make_scratch(store), progress.watch())
