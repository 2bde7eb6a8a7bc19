"""The engine of this editor: imported and made when it is first needed, by chat and API alike.

Everything runs on the UI thread, unless a method says otherwise.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Callable, Mapping

from ..base.answer import Answer
from ..ide.clis import CLAUDE_CODE, by_command
from ..work_trees.tree_places import trusted_places
from . import queues, settings
from .chat.open_tabs import OpenTabs
from .known_trees import KnownTrees

if TYPE_CHECKING:
    # Imported with the first engine, because many editors never have one.
    from ..agent.agent import Agent, Options
    from ..agent.engine import Engine
    from ..agent.launches import Chosen


class Engines:
    """Makes the engine, at most one for as long as the package is loaded. `trees` are trusted as
    the folders that they are of."""

    def __init__(self, trees: KnownTrees) -> None:
        self._trees = trees
        self._engine: Engine | None = None
        self.open_tabs = OpenTabs()
        # Replaced, never changed, because the engine's thread reads it.
        self._chosen: tuple[Chosen, ...] = ()
        self._trusted: tuple[str, ...] = ()

    @property
    def is_there(self) -> bool:
        """Whether it was needed so far."""
        return self._engine is not None

    async def ensure_engine(self) -> Engine:
        """The engine, with the agents of the settings as they are now. Raises ImportError."""
        imported: Answer[None] = Answer()
        queues.on_worker(partial(_import_engine, imported))
        await imported
        from ..agent.engine import Engine

        self._chosen, self._trusted = chosen_agents(), self._trusted_folders()
        if self._engine is None:
            self._engine = Engine(self._engine_options)
        self._engine.offer_launches([each.launch for each in self._chosen])
        self._engine.trust_folders(self._trusted)
        return self._engine

    def look_at_work(self, tell: Callable[[Mapping[str, bool]], None]) -> None:
        """Have told which conversations' agents ask or work, by their ids, and whether they ask. An
        engine that has ended is not begun for it."""
        if self._engine is None or not self._engine.look_at_agent(partial(_tell_work, tell)):
            tell({})

    def _trusted_folders(self) -> tuple[str, ...]:
        setting = settings.current_settings().worktree_folder
        return trusted_places(trusted_folders(), self._trees.trees, setting)

    def quit(self) -> None:
        """The editor quits and its API no longer works."""
        if self._engine is not None:
            self._engine.quit()

    def _engine_options(self) -> Options:
        """On the engine's thread. Raises OSError, NotPrivate."""
        from ..api import editor_server, state_folder

        folder = state_folder.default_folder(os.environ)
        launches = [each.launch for each in self._chosen]
        return editor_server.engine_options(folder, launches, self._trusted, self.open_tabs)


def chosen_agents() -> tuple[Chosen, ...]:
    """The known ones and those of the settings, the usual one first."""
    from ..agent.launches import Chosen
    from ..agent.supported import CLIS

    own = settings.current_settings()
    named = {each.id: each.command for each in own.agents if each.command}
    in_terminal = by_command(own.cli_command)
    # As an agent, Claude Code is another program.
    if in_terminal is not None and in_terminal != CLAUDE_CODE and in_terminal.id in CLIS:
        named.setdefault(in_terminal.id, own.cli_command)
    # In one order, for it is not known whether Sublime keeps that of the settings.
    others = {own.usual_agent, *(each.id for each in own.agents)}
    ids = [*CLIS, *sorted(others - set(CLIS))]
    ids.sort(key=lambda id: id != own.usual_agent)
    entries = map(own.agent, ids)
    return tuple(
        Chosen(
            each.id,
            named.get(each.id, ()),
            each.env,
            each.args,
            each.own_login,
            each.protocol_version,
        )
        for each in entries
    )


def trusted_folders() -> tuple[str, ...]:
    """The trusted folders of the settings, as absolute paths."""
    return tuple(map(os.path.expanduser, settings.current_settings().trusted_folders))


def _tell_work(tell: Callable[[Mapping[str, bool]], None], agent: Agent) -> None:
    """Runs on the engine's thread."""
    from ..chat.work_requests import busy_conversations

    queues.on_ui_thread(partial(tell, busy_conversations(agent)))


def _import_engine(imported: Answer[None]) -> None:
    """Runs on the worker, which the import may block."""
    try:
        from ..agent import (
            engine,  # noqa: F401
            launches,  # noqa: F401
        )
        from ..api import editor_server, state_folder  # noqa: F401
    except ImportError as error:
        imported.fail(error)
    else:
        imported.give(None)
