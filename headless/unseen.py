"""Characters that nobody would see, spelled out by the rules of the package.

Its file is loaded here under a name of the editor's own. Once packages run, nothing can be imported
from the repository (`host`), and no package shall find another's modules because of this one.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any, List, Tuple

_FILE = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
    *("companion", "base", "shown_text.py"),
)


def _loaded() -> Any:
    spec = importlib.util.spec_from_file_location(__package__ + ".shown_text", _FILE)
    if spec is None or spec.loader is None:
        raise ImportError("expected a Python module at %s" % _FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_shown_text = _loaded()


def parts(text: str) -> List[Tuple[int, int, str]]:
    """Where such characters are in the text, from and to, and the same spelled out. Tabs are none
    of them; line ends are."""
    # What most lines are, and quick to find.
    if text.isascii() and text.replace("\t", "").isprintable():
        return []
    return list(_shown_text.hidden_parts(text, kept="\t"))
