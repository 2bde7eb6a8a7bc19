"""What waits for the user's answer, as a front end asks it: permissions of calls, and other
questions of the agent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Sequence

from ..agent import asked
from ..agent.elicitation import Field
from ..agent.turn_events import (
    ALWAYS,
    ALWAYS_SERVER,
    ALWAYS_TOOL,
    CANCEL,
    MODIFY,
    ONCE,
    Diff,
    Elicitation,
    Option,
    ToolConfirmation,
    TurnEvent,
)
from ..base.shown_text import show_hidden, shown_line
from .amounts import shorten_text

PERMISSION, ELICITATION = "permission", "elicitation"
# Our order of decisions, whatever the agent's: what allows less is before what allows more.
ORDER = (ONCE, ALWAYS, ALWAYS_TOOL, ALWAYS_SERVER, MODIFY, CANCEL)
# The word for a decision that is always possible, where the agent has none.
REJECT = "Reject"
# Code points of the name of a tool, which must not push the rest out of sight.
MAX_TITLE = 200
# The most files of one question of which each gets a review.
MOST_REVIEWS = 64
# Code points of the label of a button.
MAX_LABEL = 80


@dataclass(frozen=True)
class ChatQuestion:
    """`kind` is PERMISSION or ELICITATION; `turn` is the id of the turn; `asked` is the time, in
    UTC.

    A permission's `id` is that of the call, and `revision` tells this question from others about
    it: if the agent changes anything, it is another one. `title` is the name of the tool. `text` is
    all that is decided on (`agent/asked`), with invisible characters spelled out. `options`
    are the possible decisions in our order: once, always, no; their labels can be shown as they
    are. `diffs` are all edits that it would make, unchanged; where it `is_edit`, it would do
    nothing else.

    An elicitation's `id` is its own; `title` is the agent's message, with its lines. `mode`,
    `fields` and `url` are as in `agent/elicitation`.

    `block` is the id of the block that shows it in its document.
    """

    kind: str
    turn: str
    id: str
    title: str
    text: str = ""
    options: tuple[Option, ...] = ()
    diffs: tuple[Diff, ...] = ()
    is_edit: bool = False
    mode: str = ""
    fields: tuple[Field, ...] = ()
    url: str = ""
    asked: datetime | None = None
    revision: str = ""
    block: str = ""

    @property
    def has_reviews(self) -> bool:
        """Whether each file that it edits gets a review."""
        return 0 < len({diff.path for diff in self.diffs}) <= MOST_REVIEWS


def permission_question(event: TurnEvent, body: ToolConfirmation) -> ChatQuestion:
    return ChatQuestion(
        PERMISSION,
        event.turn_id,
        body.call_id,
        shorten_text(shown_line(body.display_name or body.name), MAX_TITLE),
        asked.question_text(body),
        order_options(body.options),
        body.diffs,
        asked.is_edit(body),
        asked=event.time,
        revision=event.id,
    )


def elicitation_question(event: TurnEvent, body: Elicitation) -> ChatQuestion:
    return ChatQuestion(
        ELICITATION,
        event.turn_id,
        body.id,
        show_hidden(body.message),
        mode=body.mode,
        fields=body.fields,
        url=body.url,
        asked=event.time,
    )


def order_options(options: Sequence[Option]) -> tuple[Option, ...]:
    """The options in our order. A rejection is always possible; outcomes that we do not know come
    before it."""
    known = {each.outcome: each for each in options}
    known.setdefault(CANCEL, Option(CANCEL, REJECT))
    places = {outcome: place for place, outcome in enumerate(ORDER)}
    chosen = sorted(known.values(), key=lambda option: places.get(option.outcome, len(ORDER) - 1.5))
    return tuple(
        Option(option.outcome, shorten_text(shown_line(str(option.label)), MAX_LABEL))
        for option in chosen
    )
