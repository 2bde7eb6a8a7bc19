"""What stands at the head of a proposal: the tab's name, the links, what has to be said."""

from __future__ import annotations

import html
import json
import os

import sublime

from .record import DiffRecord

PHANTOM = "gemini_companion_diff"
GONE = "Gemini CLI is gone; a decision waits for the next one. "
PART = "Too large to be edited here: only the beginning is shown. Accepted, it is written whole. "


def draw(view: sublime.View, record: DiffRecord) -> None:
    """Show name and links anew: what the user can do now."""
    state = "proposed, CLI gone" if record.is_orphaned else "proposed"
    view.set_name(f"{os.path.basename(record.path)} ({state})")
    actions = ["accept", "reject"] + (["release"] if record.is_orphaned else [])
    notes = (GONE if record.is_orphaned else "") + ("" if record.is_whole else PART)
    # Links first: a line that is wider than the view is cut off.
    text = " &nbsp; ".join(link(action, record) for action in actions)
    text += "<br>" + notes if notes else ""
    erase(view)
    body = f'<body id="gemini-companion">{text}</body>'
    view.add_phantom(PHANTOM, sublime.Region(0), body, sublime.LAYOUT_BLOCK)


def erase(view: sublime.View) -> None:
    view.erase_phantoms(PHANTOM)


def link(action: str, record: DiffRecord) -> str:
    """A link that names its diff: a click gives its view no keyboard, and the command runs in
    whatever window is active (docs/sublime.md)."""
    href = f"subl:gemini_companion_{action}_diff {json.dumps({'id': record.id})}"
    return f'<a href="{html.escape(href)}">{action.capitalize()}</a>'
