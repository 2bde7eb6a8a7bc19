"""The work trees of agents: how they are made and removed, and who works in them."""

from __future__ import annotations

from typing import Callable, Sequence

from ..work_trees.free_modes import FreeModes
from ..work_trees.tree_maker import TreeMaker
from ..work_trees.tree_work import TreeWork
from .chat_parts import ChatParts
from .foundation import Foundation


class TreeParts:
    polls: Sequence[Callable[[], None]] = ()

    def __init__(self, base: Foundation, chat: ChatParts) -> None:
        self._base, self._chats = base, chat.actions
        tell = base.messages.tell_user
        self.free_modes = FreeModes(base.trees)
        self.maker = TreeMaker(base.trees, tell)
        self.work = TreeWork(self.maker, chat.actions, base.companion, tell)
        self._forget_changes: Callable[[], None] = lambda: None

    def start(self) -> None:
        # The trees outlive this.
        self._forget_changes = self._base.trees.changes.subscribe(self._show_places)
        self._base.stories.begin(self._base.trees.look_again())

    def stop(self) -> None:
        self._forget_changes()

    def _show_places(self) -> None:
        for chat in self._chats.tabs.chats:
            chat.show_place()
