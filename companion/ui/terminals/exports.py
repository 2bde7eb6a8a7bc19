"""Environment variables as lines that a user pastes into a shell. Pure.

A line contains a token, so it begins with a blank for shells that then leave it out of their
history. It has no line end and no other control character, so that the user decides when it runs:
many shells treat pasted characters as keys.
"""

from __future__ import annotations

import json
import re
from typing import Callable, Mapping

# Characters with a special meaning in cmd, outside quotes.
OF_CMD = re.compile(r'[\^&|<>()%!"]')
# PowerShell treats typographic quotes as quotes.
OF_POWERSHELL = re.compile("['\u2018\u2019\u201a\u201b]")
# Characters that a terminal treats as keys, and half characters, which no clipboard can hold.
REFUSED = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

Variables = Mapping[str, str]


class CannotBePasted(ValueError):
    """A value has a character that no line for a shell may have; the text names both."""


def line_for(shell: str, variables: Variables) -> str:
    """The line that sets the variables in one of SHELLS. Raises CannotBePasted."""
    for name, value in variables.items():
        found = REFUSED.search(value)
        if found:
            raise CannotBePasted(f"{name} has the character U+{ord(found.group()):04X}")
    return SHELLS[shell](variables)


def posix_line(variables: Variables) -> str:
    """The command for bash, zsh and sh that sets the variables. Always in quotes: zsh gives a "="
    at the beginning a special meaning."""
    quoted = {name: value.replace("'", "'\\''") for name, value in variables.items()}
    return " export " + " ".join(f"{name}='{value}'" for name, value in quoted.items())


def fish_line(variables: Variables) -> str:
    quoted = {name: re.sub(r"(['\\])", r"\\\1", value) for name, value in variables.items()}
    return " " + "; ".join(f"set -gx {name} '{value}'" for name, value in quoted.items())


def powershell_line(variables: Variables) -> str:
    doubled = {name: OF_POWERSHELL.sub(r"\g<0>\g<0>", value) for name, value in variables.items()}
    return " " + "; ".join(f"$env:{name} = '{value}'" for name, value in doubled.items())


def cmd_line(variables: Variables) -> str:
    """The command for cmd that sets the variables. It has no quotes, which would become part of the
    value. A "^" before a "%" ensures that no existing variable has the name that would be read."""
    escaped = {name: OF_CMD.sub(r"^\g<0>", value) for name, value in variables.items()}
    return "&".join(f"set {name}={value}" for name, value in escaped.items())


def nushell_line(variables: Variables) -> str:
    # Of what JSON escapes, only quotes and backslashes are left. If a line has a "!", Nushell
    # inserts earlier commands, even within quotes.
    texts = {name: json.dumps(value, ensure_ascii=False) for name, value in variables.items()}
    escaped = {name: text.replace("!", r"\u{21}") for name, text in texts.items()}
    return " " + "; ".join(f"$env.{name} = {text}" for name, text in escaped.items())


SHELLS: Mapping[str, Callable[[Variables], str]] = {
    "bash, zsh, sh": posix_line,
    "fish": fish_line,
    "PowerShell": powershell_line,
    "cmd": cmd_line,
    "Nushell": nushell_line,
}
