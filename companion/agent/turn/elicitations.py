"""The questions of an agent in one turn that are no permissions, and the answers to them."""

from __future__ import annotations

import asyncio
import math
import secrets
from dataclasses import dataclass
from typing import Any, Mapping

from .. import elicitation, failure
from ..acp.acp_client import AcpSession
from ..acp.messages import Withdrawal
from ..elicitation import ACCEPT, CANCEL, DECLINE, FORM, ElicitationRequest
from ..events.event_log import EventLog
from ..failure import AgentError
from ..sentence import Sentence, sentence
from ..turn_events import Elicitation, ElicitationAnswered, TurnEvent
from .time_limit import call_within

NO_FIELD = sentence("The form has no field {name}.")
OTHER_VALUE = sentence("The form does not take this value of {name}.")
NEEDED = sentence("The form needs the field {name}.")


@dataclass(frozen=True)
class WaitingElicitation:
    """A question that waits."""

    request: ElicitationRequest
    event: TurnEvent
    timer: asyncio.TimerHandle | None


class Elicitations:
    """Writes events into the log and answers the agent, each question once. `patience` is the
    seconds for an answer, infinite without a limit; None if nobody can answer: then questions are
    answered by CANCEL. One that the user leaves alone is declined: agents go on without it."""

    def __init__(self, log: EventLog, session: AcpSession, patience: float | None) -> None:
        self._log = log
        self._session = session
        self._patience = patience
        self._asked: dict[str, WaitingElicitation] = {}
        self._is_attended, self._is_over = True, False

    @property
    def waiting_events(self) -> tuple[TurnEvent, ...]:
        """The events of the questions that wait for an answer."""
        return tuple(asked.event for asked in self._asked.values())

    def ask_user(self, request: ElicitationRequest) -> None:
        id = secrets.token_hex(8)
        if self._is_over:
            self._reply_to_agent(request, CANCEL)
            return
        event = self._log.add_event(
            Elicitation(
                id, request.mode, request.message, request.fields, request.url, request.call
            )
        )
        patience, action = self._patience, DECLINE
        if patience is None:
            patience, action = 0.0, CANCEL
        elif not self._is_attended:
            patience = 0.0
        timer = call_within(patience, self._end_question, id, action)
        self._asked[id] = WaitingElicitation(request, event, timer)

    def take_answer(self, id: str, action: str, content: Mapping[str, Any] | None = None) -> None:
        """Only the first answer counts. `content` are the values of a form's fields, for ACCEPT.
        Raises AgentError."""
        asked = self._asked.get(id)
        if asked is None:
            raise failure.no_elicitation(id)
        if action == ACCEPT and asked.request.mode == FORM:
            _check_content(asked.request, content or {})
            self._end_question(id, action, content or {})
        else:
            self._end_question(id, action)

    def withdraw_question(self, withdrawal: Withdrawal) -> None:
        """The agent waits no more for the answer to one of them."""
        for id, asked in list(self._asked.items()):
            if asked.request.id == withdrawal.request:
                self._end_question(id, CANCEL)

    def set_attended(self, is_attended: bool) -> None:
        """Unless somebody attends, what waits and what comes is declined at once."""
        self._is_attended = is_attended
        for id in () if is_attended else list(self._asked):
            self._end_question(id, DECLINE)

    def lift_limit(self) -> None:
        """What waits and what comes waits for as long as the user likes, if anybody can answer."""
        if self._patience is not None:
            self._patience = math.inf
            for timer in filter(None, [asked.timer for asked in self._asked.values()]):
                timer.cancel()

    def end_all(self) -> None:
        """The turn was cancelled, or is over."""
        self._is_over = True
        for id in list(self._asked):
            self._end_question(id, CANCEL)

    def _end_question(self, id: str, action: str, content: Mapping[str, Any] | None = None) -> None:
        asked = self._asked.pop(id)
        if asked.timer is not None:
            asked.timer.cancel()
        self._reply_to_agent(asked.request, action, content)
        self._log.add_event(ElicitationAnswered(id, action))

    def _reply_to_agent(
        self, request: ElicitationRequest, action: str, content: Mapping[str, Any] | None = None
    ) -> None:
        self._session.client.answer_request(
            request.id, elicitation.elicitation_result(action, content)
        )


def _check_content(request: ElicitationRequest, content: Mapping[str, Any]) -> None:
    """Raises AgentError for values that the form does not take."""
    fields = {field.name: field for field in request.fields}
    for name in content:
        if name not in fields:
            raise _field_error(NO_FIELD, name)
        if not fields[name].takes_value(content[name]):
            raise _field_error(OTHER_VALUE, name)
    for field in request.fields:
        if field.is_required and field.name not in content:
            raise _field_error(NEEDED, field.name)


def _field_error(told: Sentence, field: str) -> AgentError:
    return AgentError(failure.VALIDATION_ERROR, told.with_values(name=repr(field)))
