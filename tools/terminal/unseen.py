"""Characters that nobody would see, spelled out by the rules of the package."""

from __future__ import annotations

import importlib
from typing import List, Tuple

_shown_text = importlib.import_module(".base.shown_text", __package__)


def unseen_parts(text: str) -> List[Tuple[int, int, str]]:
    """Where such characters are in the text, from and to, and the same spelled out. Tabs are none
    of them; line ends are."""
    # What most lines are, and quick to find.
    if text.isascii() and text.replace("\t", "").isprintable():
        return []
    return list(_shown_text.hidden_parts(text, kept="\t"))
