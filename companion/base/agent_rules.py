"""The setting `agent_rules`, as values: which calls of agents the user denies, wants to be asked
about, or allows. Each rule is a kind and a pattern: `edit:docs/**`. Knows no call."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Mapping, Tuple

from .path_patterns import problem_of

TOOL, COMMAND, EDIT, READ = "tool", "command", "edit", "read"
KINDS = (TOOL, COMMAND, EDIT, READ)
# Those whose patterns are of paths.
OF_PATHS = (EDIT, READ)
Rules = Tuple[str, ...]


@dataclass(frozen=True)
class AgentRules:
    """What is denied is denied, whatever the others say; asking comes before allowing."""

    deny: Rules = ()
    ask: Rules = ()
    allow: Rules = ()


NAMES = tuple(field.name for field in fields(AgentRules))
NO_RULES = AgentRules()
# Where nobody knows what the user wants.
ASK_ALL = AgentRules(ask=(f"{TOOL}:*",))


def split_rule(rule: str) -> tuple[str, str]:
    """Its kind and its pattern."""
    kind, _colon, pattern = rule.partition(":")
    return kind, pattern


def problem_of_rule(rule: object) -> str:
    """What is wrong with a rule, as the end of a sentence; empty if nothing is.

    >>> problem_of_rule("edits:docs/")
    'does not begin with "tool:", "command:", "edit:" or "read:"'
    """
    if not isinstance(rule, str):
        return "is not a text"
    kind, pattern = split_rule(rule)
    if kind not in KINDS or ":" not in rule:
        *others, last = (f'"{kind}:"' for kind in KINDS)
        return f"does not begin with {', '.join(others)} or {last}"
    if kind in OF_PATHS:
        return 'begins with "!"' if pattern.startswith("!") else problem_of(pattern)
    return "" if pattern.strip() == pattern != "" else "is empty, or has a space at an end"


def are_rules(value: object) -> bool:
    """Whether the value of the setting can be read."""
    if not isinstance(value, Mapping) or not set(value) <= set(NAMES):
        return False
    lists = value.values()
    return all(isinstance(rules, list) and not any(map(problem_of_rule, rules)) for rules in lists)


def rules_of(value: Mapping[str, list[str]]) -> AgentRules:
    """The rules in a value that can be read."""
    return AgentRules(**{name: tuple(rules) for name, rules in value.items()})
