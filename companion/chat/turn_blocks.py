"""The blocks of one turn: each event of it becomes a block, or changes one."""

from __future__ import annotations

from datetime import datetime
from typing import Callable, ClassVar, Mapping

from ..agent import turn_events as events
from ..agent.sentence import Sentence
from ..agent.session_state import ContextUsage, Plan
from ..agent.turn_events import BESIDE, WARNING, Message, TurnEvent
from .block import Block, Blocks
from .call_block import CallBlock
from .question import ELICITATION, PERMISSION, elicitation_question, permission_question
from .resource_lines import ResourceBlock
from .said_blocks import (
    AnswerBlock,
    AskedBlock,
    ChangesBlock,
    EndBlock,
    ErrorBlock,
    MessageBlock,
    NoticeBlock,
    PlanBlock,
    ThoughtBlock,
    TurnFacts,
)
from .waiting_block import WaitingBlocks

# The end of a turn that was taken over: of when and how it was, nothing is known.
NOTHING_TOLD = events.Complete(events.END_TURN, events.Usage())


class TurnBlocks:
    """`blocks` and `waiting` are those of the whole conversation, and so are `changes`: what is
    shown of changed files, by the ids of the turns, and `images`, the folder of those that were
    kept."""

    def __init__(
        self,
        id: str,
        blocks: Blocks,
        waiting: WaitingBlocks,
        folder: str,
        changes: dict[str, list[ChangesBlock]],
        images: str,
    ) -> None:
        self.id = id
        self._changes = changes
        self._blocks, self._waiting = blocks, waiting
        self._folder, self._images = folder, images
        self._begun: datetime | None = None
        self._usage: ContextUsage | None = None
        # The text that goes on with the next piece.
        self._growing: AnswerBlock | ThoughtBlock | None = None
        self._plan: PlanBlock | None = None
        self._calls: dict[str, CallBlock] = {}
        # Those that are over, whose subagents may go on.
        self._delegating: dict[str, CallBlock] = {}
        self._asked: dict[str, AskedBlock] = {}
        # The paths of the files that it has changed.
        self._changed: set[str] = set()

    def add_event(self, event: TurnEvent) -> None:
        if isinstance(event.body, events.ToolOutput):
            call = self._calls.get(event.body.call_id)
            if call is not None:
                call.put_out(event.body)
                self._show_call(call)
            return
        handler = self._HANDLERS.get(type(event.body))
        if handler is None:
            return
        if not isinstance(event.body, (*BESIDE, events.Content, events.Thought)):
            self._close_text()
        # A note about the whole turn has the number of its message.
        is_note = not event.number and not isinstance(event.body, Message)
        handler(self, f"{self.id}:{'note' if is_note else event.number}", event, event.body)

    def end_turn(self) -> None:
        """Nothing of it changes any more."""
        self._close_text()
        for call in self._calls.values():
            call.stop_call()
        for call in (*self._calls.values(), *self._delegating.values()):
            self._show_call(call)
            call.is_over = True
        left = (*self._asked.values(), *([self._plan] if self._plan else []))
        for block in left:
            self._close_block(block)
        self._calls, self._delegating, self._asked, self._plan = {}, {}, {}, None
        self._waiting.end_turn(self.id)
        changed, self._changed = self._changed, set()
        if changed:
            # Something may come after the end, and end as well.
            known = self._changes.setdefault(self.id, [])
            known.append(ChangesBlock(f"{self.id}:changes:{len(known)}", self.id, changed))
            self._blocks.show_block(known[-1])

    # What is said.

    def _add_message(self, id: str, event: TurnEvent, body: Message) -> None:
        self._begun = event.time
        self._blocks.show_block(MessageBlock(id, self.id, body, self._folder))

    def _message_added(self, id: str, event: TurnEvent, body: events.MessageAdded) -> None:
        message = Message(body.text, additions=body.additions)
        self._blocks.show_block(MessageBlock(id, self.id, message, self._folder))

    def _add_content(self, id: str, event: TurnEvent, body: events.Content) -> None:
        answer = self._growing
        if not isinstance(answer, AnswerBlock):
            self._close_text()
            answer = self._growing = AnswerBlock(id, self.id)
        answer.add_text(body.text, body.ahead)
        if not answer.is_empty:
            self._blocks.show_block(answer)
        if not body.is_partial:
            self._close_text()

    def _add_thought(self, id: str, event: TurnEvent, body: events.Thought) -> None:
        # Our own sentences are for the user, whatever their subject.
        if body.subject == WARNING or isinstance(body.description, Sentence):
            self._close_text()
            self._blocks.show_block(NoticeBlock(id, self.id, str(body.description)))
            return
        thought = self._growing
        if not isinstance(thought, ThoughtBlock):
            self._close_text()
            thought = self._growing = ThoughtBlock(id, self.id)
        thought.add_thought(body)
        if not thought.is_empty:
            self._blocks.show_block(thought)

    def _close_text(self) -> None:
        growing, self._growing = self._growing, None
        if growing is not None and not growing.is_empty:
            self._close_block(growing)

    def _close_block(self, block: Block) -> None:
        block.is_over = True
        self._blocks.show_block(block)

    # What is done.

    def _tool_call(self, id: str, event: TurnEvent, body: events.ToolCall) -> None:
        parent = self._find_parent(body)
        call = self._calls[body.call_id] = self._new_call(id, body.call_id, parent)
        if parent is not None:
            parent.add_child(call)
        call.begin_call(body, event.time)
        self._show_call(call)

    def _tool_execution(self, id: str, event: TurnEvent, body: events.ToolExecution) -> None:
        call = self._call_block(id, body.call_id)
        call.run_call(body, event.time)
        self._show_call(call)
        if body.status != events.PENDING:
            self._waiting.settle_question(PERMISSION, self.id, body.call_id)

    def _tool_confirmation(self, id: str, event: TurnEvent, body: events.ToolConfirmation) -> None:
        call = self._call_block(id, body.call_id)
        self._waiting.add_question(permission_question(event, body), call.ask_confirmation(body))
        self._show_call(call)

    def _tool_result(self, id: str, event: TurnEvent, body: events.ToolResult) -> None:
        call = self._call_block(id, body.call_id)
        call.end_call(body, event.time)
        self._changed.update(body.changed)
        del self._calls[body.call_id]
        if not call.is_over:
            self._delegating[body.call_id] = call
        self._show_call(call)
        self._waiting.settle_question(PERMISSION, self.id, body.call_id)

    def _call_block(self, id: str, call_id: str) -> CallBlock:
        """The call, also if its beginning was lost."""
        return self._calls.setdefault(call_id, self._new_call(id, call_id))

    def _find_parent(self, body: events.ToolCall) -> CallBlock | None:
        """The call that lists this one among those of a subagent."""
        if body.parent in ("", body.call_id):
            return None
        found = self._calls.get(body.parent) or self._delegating.get(body.parent)
        return found.holder if found is not None else None

    def _show_call(self, call: CallBlock) -> None:
        """Draw it, alone or within the call that runs its subagent. That may be over before."""
        shown = call.shown_in
        if shown is call or not shown.is_over:
            self._blocks.show_block(shown)

    def _new_call(self, id: str, call_id: str, parent: CallBlock | None = None) -> CallBlock:
        return CallBlock(id, self.id, call_id, self._folder, self._images, parent)

    def _show_resource(self, id: str, event: TurnEvent, body: events.Resource) -> None:
        call = self._calls.get(body.call_id)
        if call is None:
            self._blocks.show_block(ResourceBlock(id, self.id, body, self._images))
        else:
            call.add_resource(body)
            self._show_call(call)

    def _plan_told(self, id: str, event: TurnEvent, body: Plan) -> None:
        self._plan = self._plan or PlanBlock(id, self.id)
        self._plan.plan = body
        self._blocks.show_block(self._plan)

    def _context_usage(self, id: str, event: TurnEvent, body: ContextUsage) -> None:
        self._usage = body

    # What is asked.

    def _add_elicitation(self, id: str, event: TurnEvent, body: events.Elicitation) -> None:
        self._waiting.add_question(elicitation_question(event, body))
        self._asked[body.id] = AskedBlock(id, self.id, body.message)
        self._blocks.show_block(self._asked[body.id])

    def _elicitation_answered(
        self, id: str, event: TurnEvent, body: events.ElicitationAnswered
    ) -> None:
        self._waiting.settle_question(ELICITATION, self.id, body.id)
        asked = self._asked.pop(body.id, None)
        if asked is not None:
            asked.action = body.action
            self._close_block(asked)

    # Its end.

    def _complete_turn(self, id: str, event: TurnEvent, body: events.Complete) -> None:
        self.end_turn()
        if self._begun == event.time and body == NOTHING_TOLD:
            return
        facts = TurnFacts(self._begun, event.time, self._usage)
        self._blocks.show_block(EndBlock(id, self.id, body, facts))

    def _add_error(self, id: str, event: TurnEvent, body: events.Error) -> None:
        self.end_turn()
        self._blocks.show_block(ErrorBlock(id, self.id, body))

    _HANDLERS: ClassVar[Mapping[type, Callable[..., None]]] = {
        Message: _add_message,
        events.MessageAdded: _message_added,
        events.Content: _add_content,
        events.Thought: _add_thought,
        events.ToolCall: _tool_call,
        events.ToolExecution: _tool_execution,
        events.ToolConfirmation: _tool_confirmation,
        events.ToolResult: _tool_result,
        events.Resource: _show_resource,
        Plan: _plan_told,
        ContextUsage: _context_usage,
        events.Elicitation: _add_elicitation,
        events.ElicitationAnswered: _elicitation_answered,
        events.Complete: _complete_turn,
        events.Error: _add_error,
    }
