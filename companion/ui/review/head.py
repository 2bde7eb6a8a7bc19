"""The head of a proposal: the tab's name, the links, and the notes."""

from __future__ import annotations

import html
import json
import os
from dataclasses import dataclass
from typing import Sequence

import sublime

from ...base.shown_text import shown_line
from .. import texts
from ..wrapping import Piece, fill_rows, text_piece, text_pieces, view_columns
from .diff_kinds import ACCEPT, kind_of, opened_at
from .open_diffs import partner_view
from .record import DiffRecord

PHANTOM = "gemini_companion_diff"
RELEASE = "Release"
PART = "Too large to be edited here: only the beginning is shown. Accepting writes all of it. "
DIGEST = (
    "Too large to be edited here: only the changed parts are shown. Accepting writes all of it,"
    " without the changes that you drop."
)


@dataclass(frozen=True)
class DiffSummary:
    """How many lines a proposal adds and removes, how many changes it has, how many of them the
    user has seen, the number (from 0) of the one before their eyes, and how many are dropped but
    still listed."""

    added: int
    removed: int
    changes: int
    seen: int
    current: int | None = None
    dropped: int = 0

    def text(self) -> str:
        if not self.changes:
            return "nothing changes"
        changes = "1 change" if self.changes == 1 else f"{self.changes} changes"
        if self.current is not None:
            changes = f"change {self.current + 1} of {self.changes}"
        dropped = f", {self.dropped} dropped" if self.dropped else ""
        seen = f"{self.seen} of {self.changes} seen"
        return f"+{self.added} -{self.removed}, {changes}, {seen}{dropped}"


def draw_head(
    view: sublime.View,
    record: DiffRecord,
    summary: DiffSummary | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Draw the name and the links for what the user can do now. Without a summary, the changes are
    not known yet. The left side gets as many lines at its head, to stay level. One without tabs has
    no head."""
    if record.is_unopened:
        return
    texts.name_tab(view, record.path, kind_of(record).tab_state(record))
    left, width = partner_view(view), view_columns(view)
    parts = [_first_line(record, summary, not left.is_valid()), _second_line(record)]
    if not record.is_whole:
        parts.append(text_pieces(DIGEST if record.is_compared else PART))
    parts += map(text_pieces, notes)
    lines = [row for part in parts for row in fill_rows(part, width)]
    _show_lines(view, lines)
    if left.is_valid():
        state = record.original_state[:1].upper() + record.original_state[1:]
        _show_lines(
            left, [html.escape(shown_line(state)) or "&nbsp;"] + ["&nbsp;"] * (len(lines) - 1)
        )


def _first_line(record: DiffRecord, summary: DiffSummary | None, is_alone: bool) -> list[Piece]:
    name = os.path.basename(record.path)
    name += f" ({record.original_state})" if is_alone and record.original_state else ""
    said = [name] if summary is None else [f"{name},", summary.text()]
    links = [(f"{link}&nbsp;", len(name) + 1) for name, link in decision_links(record).items()]
    return [*links, *(text_piece(shown_line(words)) for words in said)]


def _second_line(record: DiffRecord) -> list[Piece]:
    kind = kind_of(record)
    said = text_pieces(kind.state_sentence(record))
    if kind.can_be_released:
        said.append((diff_link(RELEASE, "release_diff", id=record.id), len(RELEASE)))
        said += [] if record.is_orphaned else text_pieces("if interrupted.")
    return said


def decision_links(record: DiffRecord) -> dict[str, str]:
    """The links that end the diff, by their names."""
    commands = {ACCEPT: "accept_diff", kind_of(record).refusal: "reject_diff"}
    return {name: diff_link(name, command, id=record.id) for name, command in commands.items()}


def diff_link(text: str, command: str, **arguments: str) -> str:
    """A link that runs a command of ours. Its arguments name the diff, because a click does not
    give its view the keyboard, and the command runs in the active window (docs/sublime.md)."""
    href = f"subl:gemini_companion_{command} {json.dumps(arguments)}"
    return f'<a href="{html.escape(href)}">{html.escape(text)}</a>'


def _show_lines(view: sublime.View, lines: Sequence[str]) -> None:
    view.erase_phantoms(PHANTOM)
    body = f'<body id="gemini-companion">{"<br>".join(lines)}</body>'
    view.add_phantom(PHANTOM, sublime.Region(0), body, sublime.LAYOUT_BLOCK)


def origin_words(record: DiffRecord) -> list[str]:
    """The CLI that asks for the edit, and since when, if that is known."""
    found = [record.client] if record.client else []
    if record.opened_at:
        found.append("since " + opened_at(record))
    return found


def erase_head(view: sublime.View) -> None:
    view.erase_phantoms(PHANTOM)
