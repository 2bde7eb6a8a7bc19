"""Questions of agents that fit into a panel, and are answered there: all that is decided on stands
in its first row, whole, and the answers below it. UI thread only.

What is allowed is what the user saw: a question counts as seen once its panel was open for a while.
"""

from __future__ import annotations

import time
from enum import Enum
from typing import Callable, Iterator, Sequence

import sublime

from ...agent.turn_events import CANCEL, MODIFY, Option
from ...base.shown_text import shown_line
from ...chat.question import PERMISSION
from ..panels import SpelledText
from ..wrapping import cell_width
from .chat_view import ChatView
from .question_sight import MOMENT
from .replies import Replies
from .waiting_questions import WaitingQuestion

# A row of a panel shows about so many characters, and a panel about so many rows of one item. What
# is longer is read in the chat.
COLUMNS, ROWS = 60, 8
# Before each line of the question, and before what a row had no room for.
LINE, GOES_ON = "▏ ", "▏ ⤷ "
BLANK = "<U+0020>"
ASKS = "{} asks: may it use {}?"
IN_CHAT = "Enter here: see it in the chat"
ANSWER, ANSWER_IN = "Answer {}", "Answer {} in {}"
TOO_SOON = "The question was there for a moment only: read it, then answer again."
OVER = "That question was answered, or the agent took it back."
AN_AGENT = "An agent"


class PanelOutcome(Enum):
    """How a panel ended. LEFT: the user has chosen nothing; WANTED: they want to see the chat."""

    ANSWERED = "answered"
    LEFT = "left"
    WANTED = "wanted"


class ShortQuestions:
    """`replies` sends the answers; `tell` shows a sentence; `now` is a clock in seconds."""

    def __init__(
        self,
        replies: Replies,
        tell: Callable[[str], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._replies = replies
        self._tell = tell
        self._now = now

    def fits(self, asked: WaitingQuestion) -> bool:
        """Whether a panel shows all of it. An edit is read in its review, a form in the chat."""
        question = asked.question
        if question.kind != PERMISSION or question.diffs or self.is_answered(asked):
            return False
        # Before it is broken into rows: it may be very long.
        is_short = len(question.text) <= COLUMNS * ROWS
        return is_short and len(_question_rows(question.text)) <= ROWS

    def is_answered(self, asked: WaitingQuestion) -> bool:
        """Whether an answer is on its way."""
        return self._replies.is_answered(asked)

    def are_answered(self, chat: ChatView) -> bool:
        """Whether answers to all that its agent asks are on their way."""
        asked = (WaitingQuestion(chat, each) for each in chat.waiting_questions)
        return all(map(self.is_answered, asked))

    async def ask_user(self, asked: WaitingQuestion, window: sublime.Window) -> PanelOutcome:
        """Show the question with its answers, and send the one that is chosen."""
        options = [each for each in asked.question.options if each.outcome != MODIFY]
        items = [_question_item(asked), *map(_option_item, options)]
        opened = self._now()
        while True:
            number = await self._replies.choose_in_panel(asked, items, _caption(asked), window)
            if number <= 0:
                return PanelOutcome.LEFT if number < 0 else PanelOutcome.WANTED
            option = options[number - 1]
            if option.outcome == CANCEL or self._now() - opened >= MOMENT:
                break
            self._tell(TOO_SOON)
        if not self._is_asked_still(asked):
            self._tell(OVER)
            return PanelOutcome.LEFT
        await self._replies.decide_call(asked, option)
        return PanelOutcome.ANSWERED

    def _is_asked_still(self, asked: WaitingQuestion) -> bool:
        """Whether it waits, as the same question."""
        waiting = (WaitingQuestion(asked.chat, each).key for each in asked.chat.waiting_questions)
        return asked.key in waiting and not self.is_answered(asked)


def _question_item(asked: WaitingQuestion) -> sublime.QuickPanelItem:
    head = ASKS.format(shown_line(_name_of(asked)), asked.question.title)
    first, *more = _broken_line(head, "", GOES_ON)
    rows: list[str] = [*more, *_question_rows(asked.question.text), IN_CHAT]
    return sublime.QuickPanelItem(first, rows)


def _option_item(option: Option) -> sublime.QuickPanelItem:
    """The whole label: its end may say how far an answer reaches."""
    first, *more = _broken_line(str(option.label), "", GOES_ON)
    rows: list[str] = [*more]
    return sublime.QuickPanelItem(first, rows)


def _question_rows(text: str) -> Sequence[SpelledText]:
    lines = text.rstrip("\n").split("\n") if text else ()
    return [row for line in lines for row in _broken_line(line, LINE, GOES_ON)]


def _broken_line(line: str, first: str, further: str) -> Iterator[SpelledText]:
    """The line, as questions have it, in rows of a panel, of which no part is cut off."""
    row, room = first, COLUMNS
    for character in line:
        width = cell_width(character)
        if width > room:
            # A blank is not seen where a row ends or begins.
            yield SpelledText(row[:-1] + BLANK if row.endswith(" ") else row)
            row, room = further, COLUMNS
            character = BLANK if character == " " else character
        row += character
        room -= width
    yield SpelledText(row)


def _caption(asked: WaitingQuestion) -> str:
    """A command runs where its agent works."""
    place = asked.chat.place
    return ANSWER_IN.format(_name_of(asked), place) if place else ANSWER.format(_name_of(asked))


def _name_of(asked: WaitingQuestion) -> str:
    told = asked.chat.told
    return (told.agent_name if told is not None else "") or AN_AGENT
