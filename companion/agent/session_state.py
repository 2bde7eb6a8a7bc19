"""What an agent tells of a session beside what it says: its plan, how full the context is and what
it cost, what can be chosen, its mode and its title.

All of these are whole: each replaces the one before. Those with a `type` are also events.

Source: the Agent Client Protocol's schema, version 1: `Plan`, `UsageUpdate`, `ConfigOptionUpdate`,
`CurrentModeUpdate`, `SessionInfoUpdate`, and `PlanUpdate` of its draft. `models` in an opened
session is of earlier releases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable, ClassVar, Iterator, Mapping, Union

from .acp.members import Unreadable, object_of, objects_of, required_text, text_of
from .wording.surrogates import clean_surrogates

# The settings of a session. Such an option of an agent that has no config options has this id.
MODEL, MODE = "model", "mode"
# The kinds of config options; those of others are left out, as the protocol wants it.
SELECT, BOOLEAN = "select", "boolean"
# The states of a plan's entry.
STATUSES = ("pending", "in_progress", "completed")
PRIORITIES = ("high", "medium", "low")
# The most entries, options and choices that are read.
MOST = 1000


@dataclass(frozen=True)
class PlanEntry:
    """`priority` is one of PRIORITIES, `status` one of STATUSES."""

    content: str
    priority: str
    status: str


@dataclass(frozen=True)
class Plan:
    """The whole plan."""

    type: ClassVar[str] = "plan"
    entries: tuple[PlanEntry, ...]


@dataclass(frozen=True)
class Cost:
    """What the whole session cost so far. `currency` is a code of ISO 4217."""

    amount: float
    currency: str


@dataclass(frozen=True)
class ContextUsage:
    """The tokens in the model's context, and how many it can hold. `cost` is None if it is not
    known."""

    type: ClassVar[str] = "context_usage"
    used: int
    size: int
    cost: Cost | None = None


@dataclass(frozen=True)
class OptionChoice:
    """`group` is the heading that it belongs under, or empty."""

    value: str
    name: str
    description: str = ""
    group: str = ""


@dataclass(frozen=True)
class ConfigOption:
    """`kind` is SELECT, with `choices` and a text as `current`, or BOOLEAN. `category` is "model",
    "mode", "thought_level" or another word of the agent, or empty. One that `is_made` is none of
    the agent's config options: its model or its mode, by an earlier way of the protocol."""

    id: str
    name: str
    description: str
    category: str
    kind: str
    current: str | bool
    choices: tuple[OptionChoice, ...] = ()
    is_made: bool = False

    @property
    def values(self) -> tuple[str | bool, ...]:
        """All that can be chosen."""
        if self.kind == BOOLEAN:
            return (False, True)
        return tuple(each.value for each in self.choices)

    @property
    def current_name(self) -> str:
        """The name of what is chosen, for people."""
        if self.kind == BOOLEAN:
            return "on" if self.current else "off"
        names = {each.value: each.name for each in self.choices}
        return names.get(str(self.current), str(self.current))


@dataclass(frozen=True)
class ConfigOptions:
    """All options of the session, the most important one first."""

    type: ClassVar[str] = "config_options"
    options: tuple[ConfigOption, ...] = ()

    def of_category(self, category: str) -> ConfigOption | None:
        return next((each for each in self.options if each.category == category), None)

    def by_id(self, id: str) -> ConfigOption | None:
        return next((each for each in self.options if each.id == id), None)

    def updated_by(self, told: ConfigOptions) -> ConfigOptions:
        """The options that the agent tells now, and those of before that it cannot tell."""
        made = (
            option
            for option in self.options
            if option.is_made and not told.of_category(option.category)
        )
        return ConfigOptions((*told.options, *made))

    def with_choice(self, id: str, value: str | bool) -> ConfigOptions:
        """The options with another current value of one of them."""
        changed = (
            replace(option, current=value) if option.id == id else option for option in self.options
        )
        return ConfigOptions(tuple(changed))


@dataclass(frozen=True)
class CurrentMode:
    """The agent is in another mode now."""

    mode: str


@dataclass(frozen=True)
class SessionTitle:
    """The agent's own title for the session; empty if it has taken it back."""

    type: ClassVar[str] = "session_title"
    title: str


@dataclass(frozen=True)
class SlashCommand:
    """`name` has no slash. `hint` says what may follow it, or is empty. `is_allowed` says whether
    the command can be used here; the others would run without asking."""

    name: str
    description: str
    hint: str
    is_allowed: bool


@dataclass(frozen=True)
class Commands:
    """All commands that the agent offers now; also an event."""

    type: ClassVar[str] = "commands"
    commands: tuple[SlashCommand, ...]


# A title that is missing in an update stays as it is; then there is nothing to tell.
StateUpdate = Union[Plan, ContextUsage, ConfigOptions, CurrentMode, SessionTitle]
KINDS = (Plan, ContextUsage, ConfigOptions, CurrentMode, SessionTitle)


def _read_plan(update: Mapping[str, Any]) -> Plan:
    told = objects_of(clean_surrogates(update), "entries")[:MOST]
    return Plan(tuple(_read_entry(each) for each in told if text_of(each, "content")))


def read_plan(update: Mapping[str, Any]) -> Plan:
    """A plan with an id. One is shown: that of the last update."""
    plan = object_of(update, "plan")
    if text_of(plan, "type") != "items":
        raise Unreadable("plan_update", "a plan of the type items", plan.get("type"))
    return _read_plan(plan)


def _read_removal(update: Mapping[str, Any]) -> Plan:
    return Plan(())


def _read_entry(told: Mapping[str, Any]) -> PlanEntry:
    priority, status = text_of(told, "priority"), text_of(told, "status")
    return PlanEntry(
        text_of(told, "content"),
        priority if priority in PRIORITIES else PRIORITIES[1],
        status if status in STATUSES else STATUSES[0],
    )


def _read_usage(update: Mapping[str, Any]) -> ContextUsage:
    return ContextUsage(count_of(update, "used"), count_of(update, "size"), _read_cost(update))


def _read_cost(update: Mapping[str, Any]) -> Cost | None:
    told = object_of(update, "cost")
    amount, currency = told.get("amount"), clean_surrogates(text_of(told, "currency"))
    is_number = isinstance(amount, (int, float)) and not isinstance(amount, bool)
    # Neither a negative one nor NaN.
    if not is_number or not currency or not 0 <= float(amount or 0) < float("inf"):
        return None
    return Cost(float(amount or 0), currency)


def count_of(holder: Mapping[str, Any], name: str) -> int:
    """0 where it is none."""
    value = holder.get(name)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return max(value, 0) if is_number and isinstance(value, int) else 0


def _read_mode(update: Mapping[str, Any]) -> CurrentMode:
    return CurrentMode(
        clean_surrogates(required_text(update, "currentModeId", "current_mode_update"))
    )


def _read_title(update: Mapping[str, Any]) -> SessionTitle | None:
    return SessionTitle(text_of(clean_surrogates(update), "title")) if "title" in update else None


def config_options(holder: Mapping[str, Any]) -> ConfigOptions:
    """The options in an update or an answer; empty if it has none."""
    told = objects_of(clean_surrogates(holder), "configOptions")[:MOST]
    found = (_read_option(each) for each in told if text_of(each, "id"))
    return ConfigOptions(tuple(each for each in found if each is not None))


def _read_option(told: Mapping[str, Any]) -> ConfigOption | None:
    kind, current = text_of(told, "type"), told.get("currentValue")
    is_select = kind == SELECT and isinstance(current, str)
    is_boolean = kind == BOOLEAN and isinstance(current, bool)
    if not isinstance(current, (str, bool)) or not (is_select or is_boolean):
        return None
    choices = tuple(_read_choices(told)) if is_select else ()
    return ConfigOption(
        text_of(told, "id"),
        text_of(told, "name") or text_of(told, "id"),
        text_of(told, "description"),
        text_of(told, "category"),
        kind,
        current,
        choices,
    )


def _read_choices(told: Mapping[str, Any]) -> Iterator[OptionChoice]:
    """The choices of an option, whose `options` are a list of them, or a list of groups."""
    for each in objects_of(told, "options")[:MOST]:
        if "value" not in each:
            for one in objects_of(each, "options")[:MOST]:
                yield from _read_choice(one, text_of(each, "name"))
        yield from _read_choice(each, "")


def _read_choice(told: Mapping[str, Any], group: str) -> Iterator[OptionChoice]:
    value = text_of(told, "value")
    if value:
        yield OptionChoice(
            value, text_of(told, "name") or value, text_of(told, "description"), group
        )


UPDATES: Mapping[str, Callable[[Mapping[str, Any]], StateUpdate | None]] = {
    "plan": _read_plan,
    "plan_update": read_plan,
    "plan_removed": _read_removal,
    "usage_update": _read_usage,
    "config_option_update": config_options,
    "current_mode_update": _read_mode,
    "session_info_update": _read_title,
}


def opened_options(result: Mapping[str, Any]) -> ConfigOptions:
    """What a session that was just opened lets choose, its models and modes among it."""
    made = (_model_option(object_of(result, "models")), _mode_option(object_of(result, "modes")))
    before = ConfigOptions(tuple(each for each in made if each is not None))
    return before.updated_by(config_options(result))


def _model_option(told: Mapping[str, Any]) -> ConfigOption | None:
    choices = [
        OptionChoice(id, text_of(each, "name") or id, text_of(each, "description"))
        for each in objects_of(told, "availableModels")
        for id in [text_of(each, "modelId")]
        if id
    ]
    current = text_of(told, "currentModelId")
    if current and current not in {each.value for each in choices}:
        # The model that the operator chose; the CLI does not list it.
        choices.append(OptionChoice(current, current))
    if not choices:
        return None
    return ConfigOption(MODEL, "Model", "", MODEL, SELECT, current, tuple(choices), True)


def _mode_option(told: Mapping[str, Any]) -> ConfigOption | None:
    choices = tuple(
        OptionChoice(id, text_of(each, "name") or id, text_of(each, "description"))
        for each in objects_of(told, "availableModes")
        for id in [text_of(each, "id")]
        if id
    )
    current = text_of(told, "currentModeId")
    if not choices and not current:
        return None
    return ConfigOption(MODE, "Mode", "", MODE, SELECT, current, choices, True)
