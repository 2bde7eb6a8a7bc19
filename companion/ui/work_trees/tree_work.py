"""Begins the work of agents in work trees of their own: in a chat, or by a CLI in a terminal. UI
thread only."""

from __future__ import annotations

from typing import Callable

import sublime

from ...ide.clis import by_command, program_name
from ...ide.companion import Companion
from ...work_trees.work_tree import WorkTree
from .. import settings, sharing_settings
from ..chat import agent_choice
from ..chat.chat_actions import ChatActions, new_id
from ..terminals import terminus
from .tree_maker import TreeMaker
from .tree_terminals import tree_environment


class TreeWork:
    """`maker` makes the work trees, `chats` has the chats; `tell` shows a sentence."""

    def __init__(
        self,
        maker: TreeMaker,
        chats: ChatActions,
        companion: Companion,
        tell: Callable[[str], None],
    ) -> None:
        self._maker = maker
        self._chats = chats
        self._companion = companion
        self._tell = tell

    async def begin_chat(self, window: sublime.Window, agent: str = "") -> None:
        """A new chat in a new work tree, with the agent of this id; without one, the user is asked
        if the settings name several. Raises Unanswered."""
        if not agent and agent_choice.are_several():
            chosen = await agent_choice.choose_agent(window, self._chats)
            if chosen is None:
                return
            agent = chosen
        agent = agent or settings.current_settings().usual_agent
        tree = await self._make_tree(window, agent)
        if tree is not None:
            self._chats.open_chat(window, new_id(), agent, tree.own_folder)

    async def run_cli(self, window: sublime.Window) -> None:
        """The CLI of *Run CLI* in a terminal, in a new work tree."""
        command = settings.current_settings(window).terminal_cli
        cli = by_command(command)
        tree = await self._make_tree(
            window, cli.id if cli is not None else program_name(command[0])
        )
        if tree is None:
            return
        environment = self._companion.environments.get(window.id(), {})
        maps = sharing_settings.path_maps(window)
        told = tree_environment(environment, tree.own_folder, maps)
        await terminus.run_cli(window, tree.own_folder, told, self._tell)

    async def _make_tree(self, window: sublime.Window, agent: str) -> WorkTree | None:
        prepared = await self._maker.prepare_trees(window)
        if prepared is None:
            return None
        return await self._maker.make_tree(window, prepared, agent)
