"""What stands at the head of a proposal: the tab's name, the links, what has to be said."""

from __future__ import annotations

import html
import os
import time
from dataclasses import dataclass
from typing import Sequence

import sublime

from .links import link
from .record import DiffRecord


@dataclass(frozen=True)
class Summary:
    """How many lines a proposal adds and removes, how many changes it has, and how many of them the
    user has seen."""

    added: int
    removed: int
    changes: int
    seen: int

    def text(self) -> str:
        changes = "1 change" if self.changes == 1 else f"{self.changes} changes"
        return f"+{self.added} -{self.removed} in {changes}, {self.seen} seen"


PHANTOM = "gemini_companion_diff"
GONE = "Gemini CLI is gone; a decision waits for the next one."
PART = "Too large to be edited here: only the beginning is shown. Accepted, it is written whole. "


def draw(
    view: sublime.View,
    record: DiffRecord,
    summary: Summary | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Show name and links anew: what the user can do now. Without a summary the changes are not
    known yet."""
    state = "proposed, CLI gone" if record.is_orphaned else "proposed"
    view.set_name(f"{os.path.basename(record.path)} ({state})")
    actions = ["accept", "reject"] + (["release"] if record.is_orphaned else [])
    said = [GONE] if record.is_orphaned else []
    said += [*([] if record.is_whole else [PART]), *notes]
    # Links first: a line that is wider than the view is cut off.
    links = [link(each.capitalize(), f"{each}_diff", id=record.id) for each in actions]
    counted = [summary.text()] if summary is not None else []
    first = [os.path.basename(record.path), *counted, *origin(record)]
    text = " &nbsp; ".join([*links, html.escape(", ".join(first))])
    text += "".join("<br>" + html.escape(sentence) for sentence in said)
    erase(view)
    body = f'<body id="gemini-companion">{text}</body>'
    view.add_phantom(PHANTOM, sublime.Region(0), body, sublime.LAYOUT_BLOCK)


def origin(record: DiffRecord) -> list[str]:
    """Which CLI asks for the edit, and since when, as far as that is known."""
    found = [record.client] if record.client else []
    if record.opened_at:
        found.append("since " + time.strftime("%H:%M", time.localtime(record.opened_at)))
    return found


def erase(view: sublime.View) -> None:
    view.erase_phantoms(PHANTOM)
