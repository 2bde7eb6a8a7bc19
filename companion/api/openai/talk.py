"""One request of a client of OpenAI's API with the agent: its turns, and what came of them."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, AsyncIterator, Sequence

from ...agent import turn_events as events
from ...agent.agent import Agent, CallDecision, Turn
from ...agent.elicitation import CANCEL
from ...agent.failure import AgentError
from ...agent.turn_events import ONCE, RETRYING
from ..contract.answer_texts import answer_text
from ..contract.refusal import TURN_CANCELLED, Refusal, of_agent
from .kept_conversations import Held
from .request import WantedAnswer
from .stop_words import StopWords

STOP, LENGTH = "stop", "length"
# Thoughts of ours; the turn may still fail before the model has said anything.
NOTICES = (events.WARNING, RETRYING)
REASONS = {
    events.END_TURN: STOP,
    events.MAX_TOKENS: LENGTH,
    events.MAX_TURN_REQUESTS: LENGTH,
    events.EMPTY: "content_filter",
}


class Talk:
    """`held` is the conversation. `last_run` is the answer after the last call of a tool, and
    `has_run_tools` says whether there was one. `reason` is OpenAI's word for the end.
    `language` is that of our own words in the answer; there are none if it is empty."""

    def __init__(
        self, agent: Agent, wanted: WantedAnswer, held: Held, allows_tools: bool, language: str
    ) -> None:
        self.wanted, self.held = wanted, held
        self.created = int(time.time())
        self.turn_id = self.last_run = ""
        self.has_run_tools = False
        self.reason = STOP
        self._agent = agent
        self._allows_tools = allows_tools
        self._language = language
        self._usages: list[events.Usage] = []
        self._rejected: list[str] = []
        self._end = ""

    @property
    def is_complete(self) -> bool:
        """Whether the model has said all that it wanted to say."""
        return self._end == events.END_TURN

    @property
    def usage(self) -> dict[str, int]:
        whole = events.sum_of(self._usages)
        given, taken = whole.input_tokens, whole.output_tokens
        return {"prompt_tokens": given, "completion_tokens": taken, "total_tokens": given + taken}

    @property
    def extra_members(self) -> dict[str, Any]:
        """Members that OpenAI's answers do not have: what was not done."""
        ignored = list(self.wanted.ignored)
        return {
            **({"rejected_tools": self._rejected} if self._rejected else {}),
            **({"ignored_parameters": ignored} if ignored else {}),
        }

    async def begin_turn(self, message: str, attached: Sequence[str] = ()) -> Turn:
        """`attached` are ids of attachments of the conversation. Raises AgentError."""
        held = self.held
        turn = await self._agent.send_message(
            held.workspace,
            message,
            session_id=held.id,
            asks=self._allows_tools,
            attachments=attached,
        )
        # A retry is told under the id of the first turn.
        self.turn_id = self.turn_id or turn.id
        self.last_run = ""
        return turn

    async def answer_pieces(self, turn: Turn) -> AsyncIterator[str]:
        """The answer as the client is told it; an empty piece says that the model thinks. A call
        that waits for a decision gets one, a question no answer. Raises Refusal."""
        stop, told = StopWords(self.wanted.stops), ""
        async for event in turn.read_events():
            body = event.body
            self._note_event(turn, event, stop.is_hit)
            if isinstance(body, events.Content):
                piece = stop.take_piece(body.text)
                if stop.is_hit:
                    turn.cancel()
                told += piece
                yield piece
            elif isinstance(body, events.Thought) and body.subject not in NOTICES:
                yield ""
        rest = stop.held_rest() + self._not_run()
        if not stop.is_hit and self.is_complete and self.wanted.shape is None:
            # The client has to send exactly this for the conversation to be found again.
            self.held.answer = told + rest
        yield rest

    def settle_answer(self, answer: str) -> str:
        """The answer of the right shape. A conversation with a failed attempt is not kept: the
        client does not know of it."""
        if len(self._usages) == 1:
            self.held.answer = answer
        return answer

    def _note_event(self, turn: Turn, event: events.TurnEvent, is_cut: bool) -> None:
        """Raises Refusal if the turn broke off."""
        body = event.body
        if isinstance(body, events.Content):
            self.last_run += body.text
        elif isinstance(body, events.ToolCall):
            self.last_run = ""
            self.has_run_tools = True
        elif isinstance(body, events.ToolConfirmation):
            # Somebody else may have decided, or the turn may have ended.
            with suppress(AgentError):
                decision = CallDecision(ONCE, revision=event.id, by_client=True)
                self._agent.turns.confirm_call(body.call_id, decision, turn.session_id)
        elif isinstance(body, events.Elicitation):
            with suppress(AgentError):
                turn.elicitations.take_answer(body.id, CANCEL)
        elif isinstance(body, events.ToolResult) and body.rejected:
            self._rejected.append(body.name)
        elif isinstance(body, events.Complete):
            self._usages.append(body.usage)
            self._end = body.reason
            # A turn that ends with a rejection has an answer: what was not run.
            if is_cut or self._rejected:
                self.reason = STOP
            elif body.reason == events.CANCELLED:
                # Half an answer must not look like a whole one.
                raise Refusal(TURN_CANCELLED)
            else:
                self.reason = REASONS[body.reason]
        elif isinstance(body, events.Error) and not is_cut:
            raise of_agent(AgentError(body.code, body.message, body.details))

    def _not_run(self) -> str:
        """What the client is told of rejected calls, below the answer."""
        if not (self._rejected and self._language) or self.wanted.shape is not None:
            return ""
        tools = ", ".join(dict.fromkeys(self._rejected))
        return "\n\n" + answer_text("openai_not_run", self._language, tools=tools)
