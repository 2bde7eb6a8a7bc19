"""The user's side of the headless editor at a terminal, for `make run`: it shows the diffs of the
package and takes decisions from keys."""

from __future__ import annotations

import glob
import json
import os
from typing import Any

from headless.front import Front

# What the package has for its restart, texts of the user's among it, and what it could not read of
# that; in the data folder.
STATE, UNREAD = os.path.join("Cache", "*", "state.json"), ".unread*"


class TerminalFront(Front):
    cache_name = "gemini-companion-headless"

    def run(self, editor: Any, options: Any) -> int:
        # Only a person needs all of this.
        from .terminal import run_terminal

        return run_terminal(editor)

    def has_texts(self, data: str) -> bool:
        """Whether there are proposals that no CLI has written, or a state that was not read."""
        state = os.path.join(glob.escape(data), STATE)
        return bool(glob.glob(state + UNREAD)) or any(map(_has_unwritten_text, glob.glob(state)))


def _has_unwritten_text(state: str) -> bool:
    """Raises what reading and parsing raise."""
    with open(state, encoding="utf-8") as file:
        windows = [json.loads(line) for line in file]
    proposals = [proposal for window in windows for proposal in window.get("proposals", ())]
    return any(proposal["text"] is not None for proposal in proposals)


front = TerminalFront()
