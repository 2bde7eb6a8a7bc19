"""What keys do with the diff that is shown, or with the sheet of all changes."""

from __future__ import annotations

import os
from typing import Any

from headless.diff import hunks
from headless.keys import LineKeys

from . import external_editor, proposals
from .commands import Commands
from .decisions import Decisions
from .frames import Frames
from .line_prompt import LinePrompt
from .messages import Messages
from .proposals import Proposal
from .shown_editor import ShownEditor

# By the keys.
COMMANDS = {
    "a": "accept_diff",
    "A": "accept_diff_and_next",
    "r": "reject_diff",
    "R": "reject_diff_with_note",
    "l": "release_diff",
    "n": "next_change",
    "p": "previous_change",
    "k": "keep_change",
    "d": "drop_change",
    "c": "comment_on_diff",
}
# The keys that do something else with it: undo, edit.
OTHER_KEYS = ("u", "e")
PREFIX = "gemini_companion_"
NOT_SEEN = "It came just now, or other lines stood above it: nothing was decided. Press again."


class ReviewKeys:
    """A key decides only on what was drawn when it was pressed."""

    def __init__(
        self,
        editor: Any,
        shown: ShownEditor,
        frames: Frames,
        messages: Messages,
        commands: Commands,
        decisions: Decisions,
        prompt: LinePrompt,
    ) -> None:
        self._editor = editor
        self._shown = shown
        self._frames = frames
        self._messages = messages
        self._commands = commands
        self._decisions = decisions
        self._prompt = prompt

    def press(self, key: str, pages: int, next_key: LineKeys) -> None:
        """`pages` are those that the key moves, or 0."""
        state, tab = self._shown.ask_state(), self._shown.ask_tab()
        if tab is not None and tab.settings.get(proposals.SHEET) and key in COMMANDS:
            # They act on what is at its caret.
            if tab.id == self._frames.drawn.tab:
                self._commands.run(PREFIX + COMMANDS[key])
            else:
                self._messages.say(NOT_SEEN)
        elif state.proposal is None:
            self._messages.say("No diff waits for a decision.")
        elif state.proposal.view != self._frames.drawn.diff:
            self._messages.say(NOT_SEEN)
        else:
            self._press_in_diff(state.proposal, key, pages, next_key)

    def note_command(self, command: str) -> None:
        """A command was chosen that may decide on the diff that is shown."""
        for key, name in COMMANDS.items():
            if self._shown.current is not None and command == PREFIX + name:
                self._decisions.note(self._shown.current, key)

    def _press_in_diff(self, proposal: Proposal, key: str, pages: int, next_key: LineKeys) -> None:
        view, reviewing = self._editor.views[proposal.view], self._frames.reviewing
        if pages:
            reviewing.scroll(10 * pages)
        elif key == "u":
            self._editor.ui(self._editor.commands.run_text, view, "undo")
        elif key == "e":
            self._edit_proposal(view, proposal, next_key)
        else:
            reviewing.return_to_caret()
            self._decisions.note(proposal.view, key)
            if key == "c":
                self._editor.ui(self._select_change, view, proposal.caret)
            arguments = {"id": proposal.id} if proposal.id else None
            self._commands.run(PREFIX + COMMANDS[key], arguments)

    def _select_change(self, view: Any, row: int) -> None:
        sides = self._frames.reviewing.sides
        at = sides.hunk_at(row)
        if at >= 0:
            hunk = sides.hunks[at]
            self._editor.select(view, [proposals.rows_of_change(view, hunk.first, hunk.last)])

    def _edit_proposal(self, view: Any, proposal: Proposal, next_key: LineKeys) -> None:
        """Open the proposal in $EDITOR, and put what came of it into the view."""
        name = os.path.basename(proposal.path)
        text, problem = self._prompt.lend(
            next_key, lambda: external_editor.edit_text(proposal.new, name, proposal.caret)
        )
        if problem:
            self._messages.say(problem)
        if text is not None and view.id in self._editor.views:
            self._editor.ui(self._replace_text, view, text)

    def _replace_text(self, view: Any, text: str) -> None:
        """Only the rows that are others: carets, comments and marks stay with theirs."""
        present = view.text
        found = hunks(text, present.characters)
        parts = [part for hunk in found for part in hunk.reverted_by_rows(present)]
        token = self._editor.begin_edit(view, "edit_in_terminal", None)
        for begin, end, rows in reversed(parts):
            self._editor.change(view, begin, end, rows)
        self._editor.end_edit(view, token)
