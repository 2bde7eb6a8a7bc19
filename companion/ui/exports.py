"""Environment variables as lines that a user pastes into a shell; pure.

A line begins with a blank where shells leave such lines out of their history: a token is in it. It
has no line end, so that the user decides when it runs.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Callable, Mapping

# What cmd takes for more than a character, outside of quotes.
OF_CMD = re.compile(r'[\^&|<>()%!"]')
# PowerShell takes typographic quotes for quotes.
OF_POWERSHELL = re.compile("['\u2018\u2019\u201a\u201b]")
ESCAPED = re.compile(r"\\u([0-9a-f]{4})")

Variables = Mapping[str, str]


def posix(variables: Variables) -> str:
    """For bash, zsh and sh."""
    return " export " + " ".join(f"{name}={shlex.quote(variables[name])}" for name in variables)


def fish(variables: Variables) -> str:
    quoted = {name: re.sub(r"(['\\])", r"\\\1", value) for name, value in variables.items()}
    return " " + "; ".join(f"set -gx {name} '{value}'" for name, value in quoted.items())


def powershell(variables: Variables) -> str:
    doubled = {name: OF_POWERSHELL.sub(r"\g<0>\g<0>", value) for name, value in variables.items()}
    return " " + "; ".join(f"$env:{name} = '{value}'" for name, value in doubled.items())


def cmd(variables: Variables) -> str:
    """Without quotes, which would become part of the value. A "%" with a "^" before it ends the
    name of no variable that there is."""
    escaped = {name: OF_CMD.sub(r"^\g<0>", value) for name, value in variables.items()}
    return "&".join(f"set {name}={value}" for name, value in escaped.items())


def nushell(variables: Variables) -> str:
    lines = []
    for name, value in variables.items():
        text = json.dumps(value, ensure_ascii=False)
        lines.append(f"$env.{name} = " + ESCAPED.sub(r"\\u{\1}", text))
    return " " + "; ".join(lines)


SHELLS: Mapping[str, Callable[[Variables], str]] = {
    "bash, zsh, sh": posix,
    "fish": fish,
    "PowerShell": powershell,
    "cmd": cmd,
    "Nushell": nushell,
}
