"""What a front end asks of all conversations that are used: who asks, who works, and on what."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Iterator, Mapping

from ..agent.agent import Agent, Conversation, SessionInfo
from ..agent.session_state import Cost
from ..agent.turn_events import Elicitation, ToolConfirmation, TurnEvent
from .amounts import one_line, shorten_text
from .chats import Chats
from .question import MAX_TITLE
from .requests import ChatRequest

# Code points of what a call is about.
MAX_SUBJECT = 120


@dataclass(frozen=True)
class WorkFacts:
    """A conversation as it is now. `asked` are the names of what its agent asks, in their order,
    and `asked_at` is the time of the first. `began` and `latest` are the times of the first and the
    last event of its running or last turn, `doing` is what that does, empty if it is not known, and
    `changed` counts the files that it has changed. All times are in UTC. `cost` is that of the
    whole session; None if the agent does not tell it."""

    info: SessionInfo
    agent_name: str
    asked: tuple[str, ...] = ()
    asked_at: datetime | None = None
    began: datetime | None = None
    latest: datetime | None = None
    doing: str = ""
    changed: int = 0
    cost: Cost | None = None


@dataclass(frozen=True)
class LookAtWork(ChatRequest["tuple[WorkFacts, ...]"]):
    """The conversations whose agents ask or work, whoever talks with them, and these that are named
    by their ids. Reads no disk."""

    named: tuple[str, ...] = ()

    async def carry_out(self, chats: Chats) -> tuple[WorkFacts, ...]:
        return tuple(
            _work_facts(each)
            for each in chats.agent.conversations
            if each.is_busy or each.id in self.named
        )


@dataclass(frozen=True)
class StopWork(ChatRequest[None]):
    """End the turn that runs in a conversation, which may be open nowhere. What waits is held."""

    conversation: str

    async def carry_out(self, chats: Chats) -> None:
        chats.stop_turn(self.conversation)


def busy_conversations(agent: Agent) -> Mapping[str, bool]:
    """The ids of those whose agents ask or work, and whether they ask."""
    return {each.id: bool(_questions_of(each)) for each in agent.conversations if each.is_busy}


def _work_facts(conversation: Conversation) -> WorkFacts:
    turn, log = conversation.turn, conversation.log
    info, usage = conversation.session_info, conversation.session.state.usage
    cost = usage.cost if usage is not None else None
    if turn is None or log is None:
        return WorkFacts(info, conversation.cli.name, cost=cost)
    questions = _questions_of(conversation)
    progress, call = log.progress, log.progress.newest_call
    about = call.description or next(iter(map(str, call.args.values())), "") if call else ""
    words = (call.display_name or call.name, about) if call else ()
    return WorkFacts(
        info,
        conversation.cli.name,
        tuple(_names_of(questions)),
        min((event.time for event in questions), default=None),
        progress.began,
        progress.latest,
        shorten_text(one_line(": ".join(filter(None, words))), MAX_SUBJECT),
        len(progress.changed),
        cost,
    )


def _questions_of(conversation: Conversation) -> tuple[TurnEvent, ...]:
    turn = conversation.turn
    if turn is None or conversation.log is None:
        return ()
    return (*turn.confirmations, *turn.elicitations.waiting_events)


def _names_of(questions: tuple[TurnEvent, ...]) -> Iterator[str]:
    """What each is about, in a few words."""
    for event in questions:
        if isinstance(event.body, ToolConfirmation):
            name = event.body.display_name or event.body.name
        else:
            name = event.body.message if isinstance(event.body, Elicitation) else ""
        yield shorten_text(one_line(name), MAX_TITLE)
