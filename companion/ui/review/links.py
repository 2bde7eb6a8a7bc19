"""Links in phantoms; knows no view."""

from __future__ import annotations

import html
import json


def link(text: str, command: str, **arguments: str) -> str:
    """A link that runs a command of ours. It names what it means: a click gives its view no
    keyboard, and the command runs in whatever window is active (docs/sublime.md)."""
    href = f"subl:gemini_companion_{command} {json.dumps(arguments)}"
    return f'<a href="{html.escape(href)}">{html.escape(text)}</a>'
