"""Variables in the words of a prompt: `Explain $selection`. Pure."""

from __future__ import annotations

import re
from typing import Callable, Iterable, Mapping

VARIABLE = re.compile(r"\$(?:\$|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")


class UnknownVariable(Exception):
    """The text is a sentence for the user."""


def used_names(text: str, known: Iterable[str]) -> set[str]:
    """The variables in the text; raises UnknownVariable."""
    found = {match.group(1) or match.group(2) for match in VARIABLE.finditer(text)} - {None}
    unknown = sorted(found - set(known))
    if unknown:
        there = ", ".join(f"${name}" for name in known)
        raise UnknownVariable(
            f"${unknown[0]} is not a variable of a prompt; there are {there}, and $$ for a $."
        )
    return found


def fill_variables(text: str, values: Mapping[str, Callable[[], str]]) -> str:
    """The text with the values of its variables, each computed once.

    >>> fill_variables("$a costs $$5", {"a": lambda: "tea"})
    'tea costs $5'
    """
    made = {name: values[name]() for name in sorted(used_names(text, values))}
    return VARIABLE.sub(lambda match: made.get(match.group(1) or match.group(2), "$"), text)
