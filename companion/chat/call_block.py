"""The block of one call of a tool: a line with its state, the edits that it makes, and below them,
folded, its arguments and its result."""

from __future__ import annotations

import json
import os
import shlex
from datetime import datetime, timedelta
from typing import Any, Mapping

from ..agent.turn_events import (
    COMPLETED,
    CUT_SHORT,
    EXECUTING,
    FAILED,
    PENDING,
    Diff,
    Resource,
    ToolCall,
    ToolConfirmation,
    ToolExecution,
    ToolOutput,
    ToolResult,
)
from ..agent.wire import SUBJECTS
from ..base.shown_text import drop_colours, show_hidden, shown_line, spell_hidden
from .amounts import count_text, duration_text, short_path, shorten_text
from .block import Block
from .edit_counts import EditCount, count_edit, total_count, unwritten_edit
from .excerpt import Excerpt, make_excerpt, shorten_args
from .markdown import fence_command, fence_text, unfence_text
from .pen import Pen
from .rendered import (
    BUTTON,
    DIM,
    ERROR,
    LINE,
    OPEN_EDIT,
    OPEN_FILE,
    STOP_SUBAGENT,
    Rendered,
)
from .resource_lines import write_resources

# The state of a call that waits for the user, of one that was rejected, and of one that never
# ended.
ASKED, REJECTED, STOPPED = "asked", "rejected", "stopped"
SIGNS: Mapping[str, str] = {
    PENDING: "○",
    ASKED: "?",
    EXECUTING: "●",
    COMPLETED: "✓",
    FAILED: "✗",
    REJECTED: "⊘",
    STOPPED: "–",
}
ALLOWED, CHANGED = "  allowed", "  changed by you"
BY_RULE = "allowed by your rule {}"
SO_FAR = "  {} so far"
BEFORE = "… {} come before this"
# The states with a sign that is an error.
BAD = (FAILED, REJECTED)
# Code points of a tool's name and of what it works on; a longer command stands below the line.
MAX_NAME, MAX_SUBJECT = 60, 100
# The argument that calls have which run a subagent.
SUBAGENT = "subagent_type"
# The name of a call that is a subagent with a session of its own, and what stops it.
SUBAGENT_NAME, STOP = "subagent", "Stop"
# The calls of one subagent that are shown, and how many calls may be within each other.
MOST_CHILDREN, MAX_DEPTH = 100, 10
# Code points of an error.
MAX_ERROR = 2_000
# The arguments that are paths of files.
PATHS = ("file_path", "filePath", "path", "dir_path")


class CallBlock(Block):
    """The block of one call, which keeps of the agent's texts what it shows. `id` is the block's,
    `call` the call's. `images` is the folder of the images that were kept. `parent` is the call
    that runs the subagent of this one, and shows it."""

    is_compact = True

    def __init__(
        self,
        id: str,
        turn: str,
        call: str,
        folder: str,
        images: str = "",
        parent: CallBlock | None = None,
    ) -> None:
        super().__init__(id, turn)
        self.call = call
        self._folder, self._images = folder, images
        self._name = self._title = ""
        self._command = self._output = Excerpt("")
        self._args: Mapping[str, Any] = {}
        self._state = PENDING
        self._begun: datetime | None = None
        self._took: timedelta | None = None
        self._edits: dict[str, EditCount] = {}
        self._error = ""
        # Its end, while it runs.
        self._live: ToolOutput | None = None
        self._resources: list[Resource] = []
        # Those that a subagent makes, which it runs, and the one that runs the subagent of this.
        self._children: list[CallBlock] = []
        self._parent = parent
        self._depth: int = parent._depth + 1 if parent is not None else 0
        # By somebody who was asked.
        self._was_allowed = False
        # With other texts than the agent's.
        self._was_changed = False
        # That of the user by which it was allowed.
        self._rule = ""
        # Whether it is a subagent with a session of its own, and can be stopped alone.
        self._is_subagent = self._can_stop = False

    @property
    def shown_in(self) -> CallBlock:
        """The block that shows it: its own, or that of the call that runs its subagent."""
        return self if self._parent is None else self._parent.shown_in

    @property
    def holder(self) -> CallBlock:
        """The one that lists the calls of its subagent: it, or the one above it if it lies deep, as
        an agent may name any call as the one that makes another."""
        return self if self._parent is None or self._depth < MAX_DEPTH else self._parent

    @property
    def runs_subagent(self) -> bool:
        return self._is_subagent or SUBAGENT in self._args or bool(self._children)

    def add_child(self, child: CallBlock) -> None:
        """A subagent that this call runs makes another one."""
        self._children.append(child)

    # What is told of it.

    def begin_call(self, body: ToolCall, time: datetime) -> None:
        self._name, self._title = body.display_name or body.name, body.description
        self._begun = time
        self._can_stop, self._is_subagent = body.can_stop, body.name == SUBAGENT_NAME
        self._take_args(body.args)

    def ask_confirmation(self, body: ToolConfirmation) -> tuple[EditCount, ...]:
        """The edits that it would make."""
        self._state = ASKED
        self._name = self._name or body.display_name or body.name
        self._take_args(body.args)
        # The agent may have asked before about others.
        self._edits.clear()
        return self._take_diffs(body.diffs)

    def run_call(self, body: ToolExecution, time: datetime) -> None:
        self._name = self._name or body.name
        self._was_allowed |= self._state == ASKED and body.status == EXECUTING
        self._rule = body.rule or self._rule
        self._state = REJECTED if body.rejected else body.status
        if body.status == EXECUTING:
            self._begun = time

    def end_call(self, body: ToolResult, time: datetime) -> None:
        self._name = self._name or body.name
        is_cut = str(body.error) == str(CUT_SHORT)
        self._state = (
            COMPLETED
            if body.success
            else STOPPED
            if is_cut
            else REJECTED
            if body.rejected
            else FAILED
        )
        self._took = time - self._begun if self._begun and not body.rejected else None
        self._take_args(body.args)
        self._take_diffs(body.unasked)
        self._take_written(body.written)
        error = drop_colours(unfence_text(str(body.error or "")))
        text = drop_colours(unfence_text(str(body.display_result) or body.result))
        # That its turn ended is said there. What it has put out until then stays.
        self._error = "" if is_cut else error
        self._output, self._live = make_excerpt("" if text == error else text, spell_hidden), None
        # One that runs in the background goes on making calls.
        self.is_over = not self.runs_subagent

    def put_out(self, body: ToolOutput) -> None:
        """What it has put out so far."""
        self._live = body

    def add_resource(self, body: Resource) -> None:
        """Its result has this."""
        self._resources.append(body)

    def stop_call(self) -> None:
        """The turn ended before it."""
        self._state, self._live = STOPPED, None
        self.is_over = True

    def _take_args(self, args: Mapping[str, Any]) -> None:
        if not args:
            return
        self._args = shorten_args(args)
        command = args.get("command")
        if isinstance(command, (list, tuple)):
            command = shlex.join(map(str, command))
        self._command = make_excerpt(command if isinstance(command, str) else "", show_hidden)

    def _take_diffs(self, diffs: tuple[Diff, ...]) -> tuple[EditCount, ...]:
        found = tuple(map(count_edit, diffs))
        self._edits.update((diff.path, diff) for diff in found)
        return found

    def _take_written(self, diffs: tuple[Diff, ...]) -> None:
        """What was written of the user's texts takes the place of all that the agent wanted."""
        if diffs:
            self._was_changed = True
            self._edits = {path: unwritten_edit(path) for path in self._edits}
            self._take_diffs(diffs)

    # How it looks.

    def render_block(self) -> Rendered:
        pen = Pen(self.turn, self.leading)
        is_long = self._write_head(pen, "")
        # While it waits, its question shows it.
        if is_long and self._state != ASKED:
            self._command.write_excerpt(pen, fence_command, self.call)
        if self._rule:
            pen.write(f"{LINE}   {BY_RULE.format(shown_line(self._rule))}\n", DIM)
        if len(self._edits) > 1 or (self._edits and self._command.head):
            self._write_files(pen)
        write_resources(pen, self._resources, self._images, "  ")
        if self._error:
            pen.write_lines(" ", show_hidden(shorten_text(self._error, MAX_ERROR)), ERROR)
        self._write_details(pen)
        return pen.rendered_text()

    def _write_head(self, pen: Pen, indent: str) -> bool:
        """Its line; whether a command stands below it."""
        pen.write(f"{LINE} {indent}")
        pen.write(SIGNS[self._state], *([ERROR] if self._state in BAD else []))
        pen.write(f" {shorten_text(shown_line(self._name), MAX_NAME)}")
        is_long = self._write_subject(pen)
        if self._took is not None:
            pen.write(f"  {duration_text(self._took)}", DIM)
        if self._was_changed:
            pen.write(CHANGED, DIM)
        elif self._was_allowed:
            pen.write(ALLOWED, DIM)
        if self._live is not None:
            pen.write(SO_FAR.format(count_text(self._live.line_ends, "line")), DIM)
        count = self._count_below()
        pen.write(f"  {count_text(count, 'call')}" if count else "", DIM)
        if self._can_stop and self._state == EXECUTING:
            pen.write("  ")
            pen.write_link(STOP, STOP_SUBAGENT, BUTTON, call=self.call)
        pen.write("\n")
        return is_long

    def _count_below(self) -> int:
        return sum(1 + child._count_below() for child in self._children)

    def _write_children(self, pen: Pen, indent: str) -> None:
        """The lines of the calls of its subagent; of very many, the last ones."""
        left_out = len(self._children) - MOST_CHILDREN
        if left_out > 0:
            pen.write(f"{LINE} {indent}… {count_text(left_out, 'call')} before\n", DIM)
        for child in self._children[-MOST_CHILDREN:]:
            child._write_head(pen, indent)
            write_resources(pen, child._resources, child._images, indent + "  ")
            if child._error:
                told = show_hidden(shorten_text(child._error, MAX_ERROR))
                pen.write_lines(f"{indent} ", told, ERROR)
            child._write_children(pen, indent + "  ")

    def _write_subject(self, pen: Pen) -> bool:
        """What it works on; whether that is a command that stands below the line."""
        command = self._command.head
        if self._edits or command:
            pen.write(" ")
        # Those of a command stand below it.
        if len(self._edits) == 1 and not command:
            (edit,) = self._edits.values()
            self._write_edit(pen, edit)
        elif self._edits and not command:
            edits = tuple(self._edits.values())
            pen.write(f"{len(edits)} files  ")
            total_count(edits).write_count(pen)
        elif "\n" in command or len(command) > MAX_SUBJECT:
            pen.write(shorten_text(command.partition("\n")[0], MAX_SUBJECT), DIM)
            return True
        elif command:
            pen.write(command)
        else:
            self._write_argument(pen)
        return False

    def _write_argument(self, pen: Pen) -> None:
        """The argument that says what it works on."""
        for name in (*PATHS, *SUBJECTS):
            value = self._args.get(name)
            if isinstance(value, str) and value:
                break
        else:
            name, value = "", self._title if self._title != self._name else ""
        pen.write(" " if value else "")
        if name in PATHS:
            # Agents also name paths as seen from the folder.
            path = os.path.join(self._folder, value)
            pen.write_link(short_path(self._folder, path, MAX_SUBJECT), OPEN_FILE, path=path)
        else:
            pen.write(shorten_text(shown_line(value), MAX_SUBJECT))

    def _write_files(self, pen: Pen) -> None:
        for edit in self._edits.values():
            pen.write(f"{LINE}   ")
            self._write_edit(pen, edit)
            pen.write("\n")

    def _write_edit(self, pen: Pen, edit: EditCount) -> None:
        path = short_path(self._folder, edit.path, MAX_SUBJECT)
        pen.write_link(path, OPEN_EDIT, call=self.call, path=edit.path)
        pen.write("  ")
        edit.write_count(pen)

    def _write_details(self, pen: Pen) -> None:
        start = pen.at
        self._write_children(pen, "  ")
        if set(self._args) - {"command", *PATHS}:
            told = json.dumps(self._args, ensure_ascii=False, indent=2, default=str)
            pen.write(fence_text(spell_hidden(told), "json"))
        self._output.write_excerpt(pen, fence_text, self.call)
        if self._live is not None:
            if self._live.before:
                before = count_text(self._live.before, "character")
                pen.write(f"{LINE}   {BEFORE.format(before)}\n", DIM)
            pen.write(fence_text(spell_hidden(drop_colours(self._live.text))))
        pen.fold_from(start)
