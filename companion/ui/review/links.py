"""Links in phantoms. Knows no view."""

from __future__ import annotations

import html
import json


def link(text: str, command: str, **arguments: str) -> str:
    """A link that runs a command of ours. Its arguments name the diff, because a click does not
    give its view the keyboard, and the command runs in the active window (docs/sublime.md)."""
    href = f"subl:gemini_companion_{command} {json.dumps(arguments)}"
    return f'<a href="{html.escape(href)}">{html.escape(text)}</a>'
