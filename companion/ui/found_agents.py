"""The agents on this machine that a chat could have, by their names. UI thread only."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Sequence

from ..base.signal import Signal
from .engines import chosen_agents
from .stories import Stories, run_in_thread

if TYPE_CHECKING:
    from ..agent.launches import Chosen


class FoundAgents:
    """Looks for the agents; `changes` is emitted when they are others."""

    def __init__(self, stories: Stories) -> None:
        self.changes = Signal()
        self._names: tuple[str, ...] | None = None
        self._stories = stories
        self._is_looking = False

    def known_agents(self) -> tuple[str, ...] | None:
        """The usual agent's first; None if they are not known yet. Looks for them again, in a
        thread: one may be installed at any time."""
        if not self._is_looking:
            self._is_looking = True
            self._stories.begin(self._look_for_agents())
        return self._names

    async def _look_for_agents(self) -> None:
        try:
            # Without its libraries there is no chat.
            if not await run_in_thread(_can_import_engine):
                return
            names = await run_in_thread(partial(_agent_names, chosen_agents()))
        finally:
            self._is_looking = False
        if names is not None and names != self._names:
            self._names = names
            self.changes.emit()


def _can_import_engine() -> bool:
    """Whether the engine can be imported. Runs in a thread, because an import takes some time."""
    try:
        from ..agent import launches  # noqa: F401
    except ImportError:
        return False
    return True


def _agent_names(chosen: Sequence[Chosen]) -> tuple[str, ...]:
    """The names of the agents that can be started. Runs in a thread, because of the disk."""
    from ..agent.failure import AgentError
    from ..agent.supported import CLIS

    found = []
    for each in chosen:
        try:
            each.find_command()
        except AgentError:
            continue
        found.append(CLIS[each.id].program.name if each.id in CLIS else each.id)
    return tuple(found)
