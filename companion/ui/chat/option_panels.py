"""What can be chosen of an agent, in panels: its mode, its model, and all other options that it
offers. UI thread only."""

from __future__ import annotations

from typing import Any, Callable, Coroutine

import sublime

from ...agent.session_state import BOOLEAN, ConfigOption
from ...chat.amounts import name_beside
from ...chat.chat_update import STARTING, ChatUpdate
from .. import panels
from . import chat_places
from .chat_actions import ChatActions
from .chat_view import ChatView

MayChoose = Callable[
    [sublime.Window, ChatView, ConfigOption, "str | bool"], Coroutine[Any, Any, bool]
]

NO_CHOICE = "{} lets nobody choose a {}."
NO_OPTIONS = "{} has no options to choose from."
NOT_OFFERED = "{} does not offer “{}”; it offers {}."
NOT_YET = "The agent is still starting. Try again in a moment, when it has said what it offers."
CURRENT = "current"
SWITCH = (("on", True), ("off", False))


class OptionPanels:
    """`chats` has the chats; `tell` shows a sentence. `may_choose` says whether the user means a
    value, which it may ask them."""

    def __init__(
        self, chats: ChatActions, tell: Callable[[str], None], may_choose: MayChoose
    ) -> None:
        self._chats = chats
        self._tell = tell
        self._may_choose = may_choose

    async def choose_option(
        self, window: sublime.Window, category: str, value: str | bool | None = None
    ) -> None:
        """Let the user choose another value of the first option of a category, for the chat of the
        window; or use the `value` that is given. The agent's other options are below its values.
        Raises Unanswered."""
        chat = chat_places.in_front(self._chats.tabs, window, self._tell)
        told = chat.told if chat is not None else None
        if chat is None:
            return
        if told is None or (told.state == STARTING and not told.options.options):
            self._tell(NOT_YET)
            return
        option = told.options.of_category(category)
        problem = _choice_problem(told, option, category, value)
        if problem:
            self._tell(problem)
        elif option is not None and value is not None:
            await self._choose(window, chat, option, value)
        else:
            others = [other for other in told.options.options if other is not option]
            chosen = await _choose_value(window, option, others)
            if chosen is not None and chosen[1] != chosen[0].current:
                await self._choose(window, chat, *chosen)

    async def _choose(
        self, window: sublime.Window, chat: ChatView, option: ConfigOption, value: str | bool
    ) -> None:
        from ...chat.requests import ChooseOption

        if await self._may_choose(window, chat, option, value):
            await self._chats.ask_service(chat, ChooseOption(chat.conversation, option.id, value))


def _choice_problem(
    told: ChatUpdate, option: ConfigOption | None, category: str, value: str | bool | None
) -> str:
    """Why that cannot be chosen; empty if it can."""
    name = told.agent_name or "The agent"
    if not told.options.options:
        return NO_OPTIONS.format(name)
    if value is None:
        return ""
    if option is None:
        return NO_CHOICE.format(name, category)
    offered = ", ".join(map(str, option.values))
    return "" if value in option.values else NOT_OFFERED.format(name, value, offered)


async def _choose_value(
    window: sublime.Window, option: ConfigOption | None, others: list[ConfigOption]
) -> tuple[ConfigOption, str | bool] | None:
    """The option and its new value; None for none."""
    while True:
        values = _value_rows(option) if option is not None else []
        items = [item for item, _value in values] + [_option_item(other) for other in others]
        placeholder = option.name if option is not None else "Options"
        at = next((n for n, pair in enumerate(values) if option and pair[1] == option.current), -1)
        number = await panels.ask_choice(window, items, placeholder, selected_index=at)
        if number < 0:
            return None
        if option is not None and number < len(values):
            return option, values[number][1]
        option, others = others[number - len(values)], []


def _value_rows(option: ConfigOption) -> list[tuple[sublime.QuickPanelItem, str | bool]]:
    """The values of an option as rows; the current one is marked."""
    if option.kind == BOOLEAN:
        return [(_value_item(name, "", value == option.current), value) for name, value in SWITCH]
    return [
        (
            _value_item(
                choice.name,
                name_beside(choice.name, choice.description or choice.group),
                choice.value == option.current,
            ),
            choice.value,
        )
        for choice in option.choices
    ]


def _value_item(name: str, description: str, is_current: bool) -> sublime.QuickPanelItem:
    return sublime.QuickPanelItem(name, description, CURRENT if is_current else "")


def _option_item(option: ConfigOption) -> sublime.QuickPanelItem:
    """Another option, which opens a panel of its own."""
    return panels.panel_item(
        f"{option.name}: {option.current_name} …",
        name_beside(option.name, option.description),
        name_beside(option.name, option.category),
    )
