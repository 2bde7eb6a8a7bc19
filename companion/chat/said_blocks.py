"""The blocks of what is said: by the user, by the agent, and by us about a turn."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Iterable, Sequence

from ..agent import turn_events as events
from ..agent.elicitation import ACCEPT, DECLINE
from ..agent.failure import AUTH_NOT_SET, AUTH_REQUIRED
from ..agent.session_state import ContextUsage, Plan
from ..agent.turn_events import BROKEN_OFF
from ..agent.wire import REASONS
from ..base.shown_text import show_hidden, shown_line, spell_hidden
from .amounts import (
    clock_text,
    count_text,
    duration_text,
    name_beside,
    one_line,
    path_in,
    shorten_text,
)
from .attached import Attached, split_said
from .block import Block, Drawing
from .markdown import FENCE_LINE, Prose, close_markdown, fence_text, with_line_ends
from .pen import Pen
from .rendered import (
    BUTTON,
    DIM,
    ERROR,
    HEADING,
    LINE,
    LOG_IN,
    MESSAGE,
    OPEN_CHANGES,
    OPEN_FILE,
    RETRY,
    WARNING,
    Mark,
    Rendered,
)

# Code points of a heading, and of what a thought is about.
MAX_HEADING, MAX_SUBJECT = 120, 80
# Code points that are kept of one text of an answer, and of thoughts that follow each other.
MAX_ANSWER, MAX_THOUGHTS = 4 << 20, 16_000
# The signs of a plan's entries.
SIGNS = {"pending": "○", "in_progress": "●", "completed": "✓"}
BETWEEN = " · "
# The end that a user wants; why others came is said as the API says it.
STOPPED = "Stopped"
CUT = "This turn was cut off: the editor or server in which it ran has ended."
# The heading of a message without words.
UNTITLED = "Message"


class MessageBlock(Block):
    """What the user said, with the texts that went along folded below. The heading is its first
    line, because symbols are read without the text below them."""

    def __init__(self, id: str, turn: str, message: events.Message, folder: str) -> None:
        super().__init__(id, turn)
        self.is_over = True
        self._message, self._folder = message, folder

    def render_block(self) -> Rendered:
        pen = Pen(self.turn, self.leading)
        words, texts = split_said(self._message)
        heading, rest = _split_heading(words or next((text.label for text in texts), ""))
        pen.write(f"{MESSAGE} {heading}", HEADING)
        pen.write("\n")
        pen.write(close_markdown(rest) if rest else "")
        self._write_enclosed(pen, texts)
        start = pen.at
        for each in texts:
            pen.write(close_markdown(each.text))
        pen.fold_from(start)
        return pen.rendered_text()

    def _write_enclosed(self, pen: Pen, texts: Sequence[Attached]) -> None:
        """What went with it."""
        message, before = self._message, f"{LINE} with "
        for path in message.files:
            pen.write(before, DIM)
            pen.write_link(shown_line(path_in(self._folder, path)), OPEN_FILE, DIM, path=path)
            before = ", "
        for name in (
            *(attachment.name for attachment in message.attachments),
            *(text.label for text in texts),
        ):
            pen.write(before + shown_line(name), DIM)
            before = ", "
        pen.write("\n" if before == ", " else "")


def _split_heading(text: str) -> tuple[str, str]:
    """The heading, and the text below it: the rest, or all of it where the first line is no
    heading."""
    text = with_line_ends(text).strip("\n")
    first, _line_end, rest = text.partition("\n")
    if len(first) > MAX_HEADING or FENCE_LINE.match(first):
        words = (line.strip() for line in text.split("\n") if not FENCE_LINE.match(line))
        return shorten_text(next(filter(None, words), UNTITLED), MAX_HEADING), text
    return first.strip() or UNTITLED, rest


class AnswerBlock(Block):
    """Text of the agent as it comes. What was drawn is not drawn again, but for its end."""

    def __init__(self, id: str, turn: str) -> None:
        super().__init__(id, turn)
        self._prose = Prose(MAX_ANSWER)
        self._news: list[str] = []
        self._ahead = ""
        # The code points that were drawn without the end, and that end.
        self._kept, self._end = 0, Rendered("")

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be seen yet."""
        return not self._prose.size

    def add_text(self, piece: str, ahead: str = "") -> None:
        """`ahead` is known to come next."""
        self._news.append(self._prose.add_piece(piece))
        self._ahead = ahead

    def draw(self) -> Drawing:
        news, end = "".join(self._news), self._rendered_end()
        if not news and end == self._end:
            return None
        kept = self._kept
        news = news if kept else self.leading + news
        self._news, self._end, self._kept = [], end, kept + len(news)
        marks = [
            Mark(mark.kind, mark.start + len(news), mark.end + len(news)) for mark in end.marks
        ]
        return kept, Rendered(news + end.text, tuple(marks))

    def _rendered_end(self) -> Rendered:
        pen = Pen()
        pen.write(self._prose.end_before(self._ahead))
        if self._prose.cut:
            pen.write_line(f"… {count_text(self._prose.cut, 'more character')} are not shown", DIM)
        return pen.rendered_text()


class ThoughtBlock(Block):
    """Thoughts that follow each other, as one line with a folded text."""

    is_compact = True

    def __init__(self, id: str, turn: str) -> None:
        super().__init__(id, turn)
        self._subject = ""
        self._prose = Prose(MAX_THOUGHTS)
        # Whether the last one goes on with the next that has no subject.
        self._is_piece = True

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be seen."""
        return not self._subject and not self._prose.size

    def add_thought(self, thought: events.Thought) -> None:
        self._subject = thought.subject or self._subject
        before = "" if self._is_piece else "\n\n"
        if thought.subject:
            before = f"\n\n**{shown_line(thought.subject)}**\n"
        self._is_piece = not thought.subject
        self._prose.add_piece(before + str(thought.description))

    def render_block(self) -> Rendered:
        pen = Pen(self.turn, self.leading)
        text = self._prose.text
        first = next((line for line in text.split("\n") if line.strip()), "")
        pen.write_line(
            "thinking: " + shorten_text(one_line(self._subject or first.strip(" *#")), MAX_SUBJECT),
            DIM,
        )
        start = pen.at
        if text:
            pen.write(text + self._prose.end)
        if self._prose.cut:
            pen.write_line(f"… {count_text(self._prose.cut, 'more character')}", DIM)
        pen.fold_from(start)
        return pen.rendered_text()


class PlanBlock(Block):
    """The agent's plan as it stands now."""

    def __init__(self, id: str, turn: str) -> None:
        super().__init__(id, turn)
        self.plan = Plan(())

    def render_block(self) -> Rendered:
        pen = Pen(self.turn, self.leading)
        pen.write_line("plan", DIM)
        for each in self.plan.entries:
            is_done = each.status == "completed"
            pen.write_line(
                f"{SIGNS[each.status]} {one_line(each.content)}", *([DIM] if is_done else [])
            )
        return pen.rendered_text()


class NoticeBlock(Block):
    """A sentence for the user."""

    is_compact = True

    def __init__(self, id: str, turn: str, text: str) -> None:
        super().__init__(id, turn)
        self.is_over = True
        self._text = text

    def render_block(self) -> Rendered:
        pen = Pen(self.turn, self.leading)
        pen.write_lines("!", show_hidden(self._text), WARNING)
        return pen.rendered_text()


class AskedBlock(Block):
    """What the agent asked the user, and what became of that; what they answered stays between
    them."""

    is_compact = True
    SIGNS = {"": "?", ACCEPT: "✓", DECLINE: "⊘"}
    WORDS = {"": "it waits", ACCEPT: "answered", DECLINE: "declined"}

    def __init__(self, id: str, turn: str, message: str) -> None:
        super().__init__(id, turn)
        self.action = ""
        self._message = message

    def render_block(self) -> Rendered:
        pen = Pen(self.turn, self.leading)
        pen.write_lines(self.SIGNS.get(self.action, "–"), show_hidden(self._message))
        pen.write_lines(" ", self.WORDS.get(self.action, "cancelled"), DIM)
        return pen.rendered_text()


class ChangesBlock(Block):
    """That a turn changed files, and whether they were undone. It is never over: the user can
    undo a turn, and redo it, at any time."""

    def __init__(self, id: str, turn: str, paths: Iterable[str]) -> None:
        super().__init__(id, turn)
        self._paths = frozenset(paths)
        self._undone: frozenset[str] = frozenset()
        self._is_again = False

    def show_undone(self, paths: Iterable[str]) -> None:
        """Show that these files of the turn are as they were before it, and no others."""
        before, self._undone = self._undone, self._paths.intersection(paths)
        self._is_again = not self._undone and (bool(before) or self._is_again)

    def render_block(self) -> Rendered:
        pen = Pen(self.turn, self.leading)
        pen.write(f"{LINE} {count_text(len(self._paths), 'file')} changed")
        if self._undone == self._paths:
            # There is nothing to show then.
            pen.write(", then undone\n")
            return pen.rendered_text()
        if self._undone:
            pen.write(f", {len(self._undone):,} of them undone")
        elif self._is_again:
            pen.write(", undone, and made again")
        pen.write("  ")
        pen.write_link("[Show changes]", OPEN_CHANGES, BUTTON)
        pen.write("\n")
        return pen.rendered_text()


class ErrorBlock(Block):
    """Why a turn broke off, and what to do."""

    def __init__(self, id: str, turn: str, error: events.Error) -> None:
        super().__init__(id, turn)
        self.is_over = True
        self._error = error

    def render_block(self) -> Rendered:
        pen = Pen(self.turn, self.leading)
        is_cut = self._error == BROKEN_OFF
        pen.write_lines("✗", CUT if is_cut else show_hidden(str(self._error.message)), ERROR)
        pen.write(f"{LINE}   ")
        if self._error.code in (AUTH_NOT_SET, AUTH_REQUIRED):
            pen.write_link("[Log in]", LOG_IN, BUTTON)
            pen.write("  ")
        pen.write_link("[Try again]", RETRY, BUTTON)
        pen.write("\n")
        start = pen.at
        if self._error.details:
            pen.write(fence_text(spell_hidden(shorten_text(self._error.details, MAX_THOUGHTS))))
        pen.fold_from(start)
        return pen.rendered_text()


@dataclass(frozen=True)
class TurnFacts:
    """What is known at the end of a turn. `begun` is None where its beginning is not known."""

    begun: datetime | None
    ended: datetime
    usage: ContextUsage | None


class EndBlock(Block):
    """One line at the end of a turn."""

    def __init__(self, id: str, turn: str, body: events.Complete, facts: TurnFacts) -> None:
        super().__init__(id, turn)
        self.is_over = True
        self._body, self._facts = body, facts

    def render_block(self) -> Rendered:
        pen = Pen(self.turn, self.leading)
        pen.write(f"{LINE} ")
        if not self._body.success:
            is_stopped = self._body.reason == events.CANCELLED
            pen.write(STOPPED if is_stopped else str(REASONS[self._body.reason]), WARNING)
            pen.write(BETWEEN)
        pen.write(BETWEEN.join(self._end_facts()), DIM)
        pen.write("\n")
        return pen.rendered_text()

    def _end_facts(self) -> Sequence[str]:
        facts, usage = self._facts, self._body.usage
        found = [clock_text(facts.ended)]
        if facts.begun is not None:
            found.append(duration_text(facts.ended - facts.begun))
        mode, model = shown_line(self._body.mode), shown_line(self._body.model)
        found += filter(None, (mode, name_beside(mode, model)))
        found += _context_facts(facts.usage)
        if usage.input_tokens or usage.output_tokens:
            found.append(
                f"{count_text(usage.input_tokens, 'token')} in, {usage.output_tokens:,} out"
            )
        return found


def _context_facts(usage: ContextUsage | None) -> Sequence[str]:
    """How full the context is, and the cost."""
    if usage is None:
        return ()
    told = f"{count_text(usage.used, 'token')} of context"
    if usage.size:
        told = f"context {100 * usage.used / usage.size:.0f}% of {usage.size:,}"
    cost = usage.cost
    return [told, *([f"{cost.amount:.2f} {shown_line(cost.currency)}"] if cost else [])]
