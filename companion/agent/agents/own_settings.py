"""What the user's own settings of Gemini CLI and its relatives say of trust and login, and their
variables. Settings may have comments, so they are searched and not parsed. Blocks."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from ...base.regular_file import read_regular

# Bytes of the settings. Of longer ones nothing is known.
MAX_BYTES = 1 << 20
# In the form of before and of today.
LOGIN = re.compile(rb'"selected(Auth)?Type"\s*:\s*"')
# As it is written for shells, with one value in a line.
VARIABLE = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?(?P<name>[\w.-]+)[ \t]*=[ \t]*"""
    r"""(?:"(?P<double>[^"\n]*)"|'(?P<single>[^'\n]*)'|(?P<plain>[^#\n]*))""",
    re.MULTILINE,
)
NO_TRUST = re.compile(rb'"folderTrust"\s*:\s*(false|\{[^}]*"enabled"\s*:\s*false)')


def text_of(folder: str) -> bytes:
    """The settings in the CLI's own folder; empty if there are none."""
    with suppress(OSError):
        return read_regular(os.path.join(folder, "settings.json"), MAX_BYTES)
    return b""


def names_login(settings: bytes) -> bool:
    """Whether they name a kind of login."""
    return LOGIN.search(settings) is not None


def trusts_all(settings: bytes) -> bool:
    """Whether they trust all folders without a question, as far as is known."""
    return NO_TRUST.search(settings) is not None


def variables_of(folder: str) -> dict[str, str]:
    """The variables in the CLI's own folder, or else in the home that has it."""
    for place in (folder, os.path.dirname(folder)):
        with suppress(OSError):
            text = read_regular(os.path.join(place, ".env"), MAX_BYTES).decode("utf-8", "replace")
            found = VARIABLE.finditer(text)
            return {
                each["name"]: each["double"] or each["single"] or (each["plain"] or "").strip()
                for each in found
            }
    return {}
