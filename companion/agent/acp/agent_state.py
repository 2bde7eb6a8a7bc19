"""What the agent has told of a conversation's session, as it is now: its plan, how full the context
is, what it cost, and what can be chosen. It lasts as long as the agent's process."""

from __future__ import annotations

from typing import Sequence

from ..session_state import (
    MODE,
    MODEL,
    SELECT,
    ConfigOption,
    ConfigOptions,
    ContextUsage,
    CurrentMode,
    Plan,
    StateUpdate,
)
from .messages import Model, Models


class AgentState:
    """`plan` and `usage` are None as long as the agent has told none."""

    def __init__(self) -> None:
        self.reset_state()

    def reset_state(self) -> None:
        """Another session is being opened, of which nothing is known."""
        self.plan: Plan | None = None
        self.usage: ContextUsage | None = None
        self.options = ConfigOptions()

    def take_opened_session(self, options: ConfigOptions, early: Sequence[StateUpdate]) -> None:
        """The session was opened with these options. `early` came after them, and so did those
        that are known already."""
        told = self.options
        self.options = options.updated_by(told) if told.options else options
        for update in early:
            self.take_update(update)

    def take_update(self, update: StateUpdate) -> bool:
        """Whether it tells anything new."""
        before = self.plan, self.usage, self.options
        if isinstance(update, Plan):
            self.plan = update
        elif isinstance(update, ContextUsage):
            self.usage = update
        elif isinstance(update, ConfigOptions):
            self.options = self.options.updated_by(update)
        elif isinstance(update, CurrentMode):
            self._take_mode(update.mode)
        return before != (self.plan, self.usage, self.options)

    @property
    def models(self) -> Models:
        option = self.options.of_category(MODEL)
        if option is None:
            return Models()
        known = (Model(each.value, each.name, each.description) for each in option.choices)
        return Models(tuple(known), str(option.current))

    @property
    def mode(self) -> str:
        """Empty if the agent has none."""
        option = self.options.of_category(MODE)
        return "" if option is None else str(option.current)

    def name_of(self, category: str) -> str:
        """The name of what is chosen in it, for people; empty if the agent has no such option."""
        option = self.options.of_category(category)
        return option.current_name if option is not None and option.current else ""

    @property
    def modes(self) -> tuple[str, ...]:
        option = self.options.of_category(MODE)
        return () if option is None else tuple(each.value for each in option.choices)

    def note_chosen_value(
        self, option: ConfigOption, value: str | bool, told: ConfigOptions
    ) -> None:
        """The agent has accepted a value; `told` are its options now, if it tells them."""
        options = self.options.updated_by(told) if told.options else self.options
        is_told = told.by_id(option.id) is not None
        self.options = options if is_told else options.with_choice(option.id, value)

    def _take_mode(self, mode: str) -> None:
        option = self.options.of_category(MODE)
        if option is not None and option.kind == SELECT:
            self.options = self.options.with_choice(option.id, mode)
