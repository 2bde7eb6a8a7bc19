"""What is said of a conversation's work in a row. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

from ...agent.turn_events import Usage
from ...chat.amounts import count_text
from .agent_row import RowState

if TYPE_CHECKING:
    from ...chat.work_requests import WorkFacts

# Of a conversation that a client of the API has begun.
OF_API = "API"
# Characters of what a question is about.
MAX_SUBJECT = 200


def fact_words(facts: WorkFacts) -> Sequence[str]:
    """What it changed, and what it cost."""
    cost = facts.cost
    changed = [f"{count_text(facts.changed, 'file')} changed"] if facts.changed else []
    price = [f"{cost.amount:.2f} {cost.currency}"] if cost is not None else []
    return [*changed, *token_words(facts.info.usage), *price]


def token_words(usage: Usage) -> Sequence[str]:
    """None if they are not known."""
    count = usage.input_tokens + usage.output_tokens
    return [count_text(count, "token")] if count else []


def time_of_state(facts: WorkFacts, state: RowState) -> float:
    """Since when the conversation is in this state, in seconds since the epoch; 0 if that is not
    known."""
    times = {RowState.ASKS: facts.asked_at, RowState.WORKS: facts.began}
    found = times.get(state, facts.latest)
    return found.timestamp() if found is not None else 0.0
