"""Removes work trees, after a question that says what would be lost. UI thread only; the work is
done in threads."""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial
from typing import Callable, Collection

import sublime

from ...base import background
from ...base.shown_text import shown_line
from ...chat.amounts import age_text
from ...chat.chat_update import STOPPING, WORKING
from ...work_trees.git import GitFailure
from ...work_trees.loss import Loss, what_would_be_lost
from ...work_trees.mending import mend_trees
from ...work_trees.removal import remove_agreed_tree
from ...work_trees.tree_making import make_scratch
from ...work_trees.tree_store import TreeStore
from ...work_trees.untaken import Untaken, find_untaken
from ...work_trees.work_tree import TreeFailure, WorkTree
from .. import panels
from ..chat.chat_actions import ChatActions
from ..chat.chat_view import ChatView
from ..chat.work_look import look_at_work
from ..known_trees import KnownTrees
from ..stories import run_in_thread, sleep
from .taken_saving import writer

# Milliseconds between two looks whether agents have stopped, and how many of them.
LOOK, LOOKS = 100, 100
NONE = "The folders of this window have no work tree."
WHICH = "Remove which work tree?"
KEEP, REMOVE = "Keep it", "Remove it for good"
QUESTION = "Remove the work tree {}?"
WORKS = "An agent works in it, and is stopped."
REMOVED = "The work tree {} is removed."
NOT_REMOVED = "The work tree {} cannot be removed: {}."


class TreeRemoval:
    """`chats` may work in them; `tell` shows a sentence."""

    def __init__(self, trees: KnownTrees, chats: ChatActions, tell: Callable[[str], None]) -> None:
        self._trees = trees
        self._chats = chats
        self._tell = tell

    async def choose_tree(self, window: sublime.Window) -> None:
        """Let the user choose one of the window's, and remove it; then another one of those that
        are left. What an earlier removal has left goes first."""
        for sentence in await run_in_thread(partial(mend_trees, self._trees.store)) or ():
            self._tell(sentence)
        await self._trees.look_again()
        is_removed = True
        while is_removed:
            tree = await self._chosen_tree(window)
            is_removed = tree is not None and await self.remove_tree(window, tree)
            if not self._trees.in_window(window):
                return

    async def remove_tree(self, window: sublime.Window, tree: WorkTree) -> bool:
        """Remove it; if something would be lost, or an agent works in it, only if the user says
        so. Whether it was removed."""
        is_removed = False
        try:
            is_removed = await self._remove_agreed(window, tree)
        except (TreeFailure, GitFailure) as error:
            self._tell(shown_line(str(error)))
        except OSError as error:
            self._tell(NOT_REMOVED.format(tree.name, shown_line(error.strerror or str(error))))
        else:
            if is_removed:
                self._tell(REMOVED.format(tree.name))
        await self._trees.look_again()
        return is_removed

    async def _remove_agreed(self, window: sublime.Window, tree: WorkTree) -> bool:
        """Whether it was removed. Raises GitFailure, TreeFailure, OSError."""
        store = self._trees.store
        loss = await background.start_work(partial(_find_loss, store, tree))
        is_agreed = loss.is_nothing and not await self._find_busy(tree)
        while is_agreed or await self._ask(window, tree, loss):
            await self._stop_agents(tree)
            more = await background.start_work(partial(_remove, store, tree, loss))
            if more.is_nothing:
                return True
            # Somebody has worked in it meanwhile.
            loss, is_agreed = more, False
        return False

    async def _chosen_tree(self, window: sublime.Window) -> WorkTree | None:
        found = self._trees.in_window(window)
        if not found:
            self._tell(NONE)
            return None
        view = self._chats.tabs.in_window(window)
        chat = self._chats.tabs.chat_of(view) if view is not None else None
        front = self._tree_of(chat) if chat is not None else None
        found.sort(key=lambda tree: (tree != front, -tree.created))
        number = await panels.ask_choice(window, [_tree_item(tree) for tree in found], WHICH)
        return found[number] if number >= 0 else None

    async def _ask(self, window: sublime.Window, tree: WorkTree, loss: Loss) -> bool:
        works = [WORKS] if await self._find_busy(tree) else []
        items = [panels.panel_item(KEEP), sublime.QuickPanelItem(REMOVE, [*works, *loss.sentences])]
        question = QUESTION.format(tree.name)
        return await panels.ask_choice(window, items, question) == 1

    async def _stop_agents(self, tree: WorkTree) -> None:
        from ...chat.work_requests import StopWork

        busy = await self._find_busy(tree)
        service = await self._chats.ensure_service() if busy else None
        if service is None:
            return
        for conversation in busy:
            await service.ask(StopWork(conversation))
        for _ in range(LOOKS):
            # What it writes at its end counts.
            if not await self._find_busy(tree):
                return
            await sleep(LOOK)

    async def _find_busy(self, tree: WorkTree) -> Collection[str]:
        """The ids of the conversations whose agents work in it, or ask: in chats, whose tabs may
        be closed, and for clients of the API."""
        found = dict.fromkeys(
            chat.conversation
            for chat in self._chats.tabs.chats
            if chat.told is not None
            and chat.told.state in (WORKING, STOPPING)
            and self._tree_of(chat) == tree
        )
        for id, facts in (await look_at_work(self._chats)).items():
            if facts.info.is_busy and self._trees.tree_of(facts.info.workspace) == tree:
                found[id] = None
        return list(found)

    def _tree_of(self, chat: ChatView) -> WorkTree | None:
        return self._trees.tree_of(chat.told.workspace) if chat.told is not None else None


def _tree_item(tree: WorkTree) -> sublime.QuickPanelItem:
    age = age_text(timedelta(seconds=time.time() - tree.created))
    return panels.panel_item(tree.name, tree.path, age)


def _find_loss(store: TreeStore, tree: WorkTree) -> Loss:
    """Runs in a thread. Raises GitFailure, TreeFailure, OSError."""
    return what_would_be_lost(tree, partial(_find_untaken, store), make_scratch(store))


def _remove(store: TreeStore, tree: WorkTree, agreed: Loss) -> Loss:
    """Runs in a thread. Raises GitFailure, TreeFailure, OSError."""
    scratch = make_scratch(store)
    return remove_agreed_tree(store, tree.id, agreed, partial(_find_untaken, store), scratch)


def _find_untaken(store: TreeStore, tree: WorkTree) -> Untaken:
    """Runs in a thread. Raises GitFailure, OSError."""
    folder = store.make_data_folder(tree.id)
    # What the user has decided, or taken back, a moment ago.
    writer.finish()
    return find_untaken(tree, folder)
