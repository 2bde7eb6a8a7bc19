"""The work trees of agents: how they are made and removed, and who works in them."""

from __future__ import annotations

from functools import partial
from typing import Callable, Sequence

import sublime

from ...chat.amounts import count_text
from ...chat.chat_update import ChatUpdate
from ...work_trees.adoption import adopt_trees
from ...work_trees.mending import mend_trees
from ...work_trees.tree_places import folder_for_trees
from ...work_trees.tree_store import TreeStore
from ...work_trees.work_tree import WorkTree
from .. import settings, views
from ..chat.chat_view import ChatView
from ..known_trees import PLACE
from ..stories import run_in_thread, sleep
from ..work_trees.free_modes import FreeModes
from ..work_trees.several_agents import SeveralAgents
from ..work_trees.shared_notices import SharedNotices
from ..work_trees.tree_lists import TreeLists
from ..work_trees.tree_maker import TreeMaker
from ..work_trees.tree_removal import TreeRemoval
from ..work_trees.tree_source import files_of_tree
from ..work_trees.tree_work import TreeWork
from .change_parts import ChangeParts
from .chat_parts import ChatParts
from .foundation import Foundation

# Milliseconds between two looks whether all are listed, and how many of them.
LOOK, LOOKS = 20, 15
UNCHANGED = "Nothing waits for you in the {}."


class TreeParts:
    def __init__(
        self, base: Foundation, lists: TreeLists, changes: ChangeParts, chat: ChatParts
    ) -> None:
        self._lists = lists
        self._base, self._chats, self._sheets = base, chat.actions, changes.sheets
        self._go_to_file = changes.commands.go_to_file
        tell = self._tell = base.messages.tell_user
        self.free_modes = FreeModes(base.trees)
        self.maker = TreeMaker(base.trees, tell)
        self.removal = TreeRemoval(base.trees, chat.actions, tell)
        self.work = TreeWork(self.maker, chat.actions, base.companion, tell)
        self.several = SeveralAgents(self.maker, chat.actions, tell)
        self.shared = SharedNotices(
            base.trees, base.stories, self._list_told, base.messages.warn_user, tell
        )
        self.polls: Sequence[Callable[[], None]] = (self.shared.check_changes,)
        chat.actions.updates_drawn.subscribe(self._note_agent)
        self._forget_changes: Sequence[Callable[[], None]] = ()

    def start(self) -> None:
        # The trees outlive this.
        trees = self._base.trees
        self._forget_changes = (
            trees.changes.subscribe(self._show_places),
            trees.agent_changes.subscribe(self._sheets.refresh_all),
        )
        self._base.stories.begin(self._mend_trees())

    def stop(self) -> None:
        for forget in self._forget_changes:
            forget()

    async def show_changes(self, window: sublime.Window, tree: WorkTree) -> None:
        """Show what was changed in the tree, among all changes of the window."""
        if not files_of_tree(self._lists, tree.id):
            await self._lists.look_again()
        found = files_of_tree(self._lists, tree.id)
        if found:
            await self._go_to_file(window, found)
        else:
            self._tell(UNCHANGED.format(PLACE.format(tree.name)))

    async def show_left(self, window: sublime.Window, tree: WorkTree) -> None:
        """Show again what the user has rejected or dropped of it, among all changes."""
        if self._lists.with_id(tree.id) is None:
            await self._lists.look_again()
        await self._lists.show_left(tree.id)
        await self.show_changes(window, tree)

    async def list_changes(self) -> None:
        """List them, unless that was done a moment ago; what takes long is not waited for."""
        self._lists.look_if_due()
        for _ in range(LOOKS):
            if not self._lists.is_looking:
                return
            await sleep(LOOK)

    def count_changes(self, id: str) -> str:
        """How many files wait in the tree, as it was listed last; "" if none does, or if it never
        was."""
        found = self._lists.with_id(id)
        if found is None or not found.changes:
            return ""
        more = "more than " if found.has_more else ""
        return more + count_text(len(found.changes), "file")

    async def _mend_trees(self) -> None:
        """Mend what a stop in the middle of something has left, and show what there is."""
        trees = self._base.trees
        folders = {each for window in sublime.windows() for each in views.window_folders(window)}
        setting = settings.current_settings().worktree_folder
        mend = partial(_mend, trees.store, sorted(folders), setting)
        for sentence in await run_in_thread(mend) or ():
            self._base.messages.warn_user(sentence)
        await trees.look_again()

    def _note_agent(self, chat: ChatView) -> None:
        """The chat shows another state of its agent."""
        told = chat.told
        tree = self._base.trees.tree_of(told.workspace) if told is not None else None
        if told is not None and tree is not None and told.agent_name:
            usage = told.usage
            cost = usage.cost if usage is not None else None
            words = [told.agent_name]
            if cost is not None:
                words.append(f"{cost.amount:.2f} {cost.currency}")
            elif usage is not None and usage.used:
                words.append(f"{count_text(usage.used, 'token')} of context")
            self._base.trees.note_agent(tree.id, chat.conversation, ", ".join(words))

    def _list_told(self) -> list[ChatUpdate]:
        return [chat.told for chat in self._chats.tabs.chats if chat.told is not None]

    def _show_places(self) -> None:
        for chat in self._chats.tabs.chats:
            chat.show_place()


def _mend(store: TreeStore, folders: Sequence[str], setting: str) -> list[str]:
    """Runs in a thread. Raises OSError."""
    place_for = partial(folder_for_trees, setting=setting)
    return [*mend_trees(store), *adopt_trees(store, folders, place_for)]
