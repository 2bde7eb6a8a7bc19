"""What is told of the calls of one turn: each once, from its beginning to its end. The agent tells
of a call in pieces, which are joined here."""

from __future__ import annotations

import secrets
from dataclasses import replace

from ..acp.messages import ToolCallStart, ToolCallUpdate, joined_call
from ..events import tool_call
from ..events.event_log import EventLog
from ..events.tool_call import EXECUTE, Call
from ..sentence import Words
from ..turn_events import FAILED, ToolCall, ToolExecution, ToolResult
from .agent_session import AgentSession
from .live_output import LiveOutput


class CallEvents:
    """Writes events into the log."""

    def __init__(self, log: EventLog, agent: AgentSession) -> None:
        self._log = log
        self._agent = agent
        self._told: dict[str, ToolCallUpdate] = {}
        # Those whose beginning was reported, and not their end; and the last state of each.
        self._running: dict[str, Call] = {}
        self._states: dict[str, str] = {}
        # Those whose end was reported, although the agent may still tell of them.
        self._over: set[str] = set()
        self._outputs: dict[str, LiveOutput] = {}
        # Calls of ours, of which nothing counts that the agent tells.
        self._ours: set[str] = set()

    @property
    def running_calls(self) -> tuple[Call, ...]:
        return tuple(self._running.values())

    def known_call(self, id: str) -> Call | None:
        """The call as far as it is known, while it runs."""
        return self._running.get(id)

    def is_ours(self, id: str) -> bool:
        return id in self._ours

    def take_over(self, call: Call) -> None:
        """What the agent tells of its call from now on does not count: it is one of ours. It was
        told, and has no end yet."""
        self._running[call.id] = call
        self._ours.add(call.id)

    def leave_out(self, id: str) -> None:
        """One of ours stands for this call of the agent's, unless that was told already."""
        if id not in self._running:
            self._ours.add(id)

    def make_id(self, name: str) -> str:
        """The id of a new call of ours. The agent cannot know it before, and whatever it tells of
        a call with it does not count."""
        id = f"{name}__{secrets.token_hex(16)}"
        self._ours.add(id)
        return id

    def take_update(self, news: ToolCallUpdate, is_asked: bool = False) -> Call | None:
        """The call with what the agent tells now; None if it is over and this belongs to it, or if
        it is none of the agent's."""
        if news.id in self._ours:
            return None
        if news.id in self._over:
            if not is_asked and not isinstance(news, ToolCallStart):
                return None
            # Another call with the same id.
            self._over.discard(news.id)
            self._told.pop(news.id, None)
        known = self._told.get(news.id)
        told = joined_call(known, news)
        if is_asked and known is not None:
            # opencode asks about a part of what it has told, such as a command without its folder.
            args = {**(known.raw_input or {}), **(news.raw_input or {})}
            told = replace(told, raw_input=args or told.raw_input)
        self._told[news.id] = told
        call = self._agent.read_call(told)
        if news.id in self._running:
            self._running[news.id] = call
        return call

    def introduce_call(self, call: Call, requires_confirmation: bool = False) -> None:
        """Report a call that was not reported yet."""
        if call.id in self._running:
            return
        self._running[call.id] = call
        self._states.pop(call.id, None)
        self._log.add_event(
            ToolCall(
                call.id,
                call.name,
                call.display_name,
                call.title,
                call.args,
                requires_confirmation,
                call.parent,
                call.can_stop,
            )
        )

    def report_state(self, call: Call, state: str, rejected: bool = False, rule: str = "") -> None:
        """Report where the call stands, if that is new, or if a rule has allowed it."""
        if self._states.get(call.id) != state or rule:
            self._states[call.id] = state
            self._log.add_event(ToolExecution(call.id, call.name, state, rejected, rule))

    def output_of(self, call: Call, news: ToolCallUpdate) -> None:
        """What the call has put out, if the agent tells that while it runs: in pieces, or all of it
        again and again as the call's content, which before it runs is about the call itself."""
        is_all = (
            call.kind == EXECUTE
            and news.status == "in_progress"
            and bool(news.texts)
            and not isinstance(news, ToolCallStart)
        )
        if not news.output and not is_all:
            return
        output = self._outputs.get(call.id)
        if output is None:
            output = self._outputs[call.id] = LiveOutput(call.id, self._log.publish_unkept)
        if news.output:
            output.add_text(news.output)
        else:
            output.replace_text("\n".join(news.texts))

    def end_call(self, call: Call, state: str, result: ToolResult) -> None:
        output = self._outputs.pop(call.id, None)
        if output is not None:
            output.close()
            # Some agents tell it in no other way, and none of a call that they do not end.
            if not result.result and not result.display_result:
                result = replace(result, result=output.text)
        self.report_state(call, state, result.rejected)
        self._log.add_event(result)
        self._running.pop(call.id, None)
        self._told.pop(call.id, None)
        self._over.add(call.id)

    def withdraw_question(self, call: Call, reason: Words) -> None:
        """It needs no decision any more. What the agent still tells of it, it has done by
        itself."""
        told = self._told[call.id]
        self.fail_call(call, reason, rejected=True)
        self._over.discard(call.id)
        self._told[call.id] = told

    def fail_call(self, call: Call, reason: Words, rejected: bool = False) -> None:
        """Report an end that the agent does not report."""
        self.end_call(call, FAILED, tool_call.unreported_result(call, reason, rejected))
