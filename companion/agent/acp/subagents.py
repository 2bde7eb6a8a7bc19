"""The subagents of a connection that have sessions of their own: what these tell becomes news of a
call in the session that belongs to a conversation, as if that had told it.

Source: the Agent Client Protocol, versions 1 and 2: subagent sessions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Mapping, Sequence, Union

from ..elicitation import ElicitationRequest
from ..wording.surrogates import clean_surrogates
from .members import object_of, objects_of, required_text, text_of
from .messages import (
    SUBAGENT_KIND,
    AgentMessageChunk,
    AgentRequest,
    Notice,
    PermissionRequest,
    SessionUpdate,
    ToolCallStart,
    ToolCallUpdate,
)

# Updates of a session: of its subagent, of what it works, and a message from one to another.
UPDATE, STATE = "subagent_update", "state_update"
MESSAGE, MESSAGE_CHUNK = "session_message", "session_message_chunk"
# The most subagents of one connection that are known, and the characters of a task.
MAX_SUBAGENTS, MAX_TASK = 1000, 20_000
# The states of a session, with those of a call.
WORKING = {"running": "in_progress", "requires_action": "in_progress"}
IDLE = "idle"
FAILED = {"cancelled": "Cancelled.", "error": "It failed.", "refusal": "The model refused."}
# The beginning of the id of a call that stands for a subagent.
CALL = "subagent-"


@dataclass(frozen=True)
class WorkState:
    """What a session does: it works, or is IDLE, because of the `stop_reason` or from the start."""

    state: str
    stop_reason: str = ""

    @property
    def is_busy(self) -> bool:
        return self.state in WORKING


@dataclass(frozen=True)
class SubagentNews:
    """What is new of a subagent, by the id of its session. Members without news are None. It
    `can_stop` if the user may end its work alone."""

    session: str
    title: str | None = None
    description: str | None = None
    can_stop: bool | None = None
    state: WorkState | None = None


@dataclass(frozen=True)
class Task:
    """What a session was told by another one."""

    recipient: str
    text: str


# What is read of the updates of sessions.
Told = Union[SessionUpdate, WorkState, SubagentNews, Task]


@dataclass
class _Subagent:
    """`root` is the session of the conversation, `call` its call, which belongs to the call
    `parent`, if that is not empty. It `is_shown` once its call was told, and `is_linked` if the
    agent tells a call for it. It `has_state` if the agent tells when it works."""

    session: str
    root: str
    call: str
    parent: str
    title: str = ""
    description: str = ""
    task: str = ""
    can_stop: bool = False
    is_shown: bool = False
    is_linked: bool = False
    is_working: bool = False
    has_state: bool = False


def read_update(update: Mapping[str, Any]) -> Told | None:
    """What the update tells of a subagent; None for others. Raises Unreadable."""
    kind = text_of(update, "sessionUpdate")
    if kind == UPDATE:
        return _read_news(update)
    return _read_task(update) if kind == MESSAGE else None


def _read_news(update: Mapping[str, Any]) -> SubagentNews:
    """Raises Unreadable."""
    told = clean_surrogates(update)
    texts = {
        name: text_of(told, name) if name in told else None for name in ("title", "description")
    }
    can_stop = None
    if "capabilities" in told:
        can_stop = isinstance(object_of(told, "capabilities").get("cancel"), dict)
    return SubagentNews(
        required_text(told, "sessionId", UPDATE),
        can_stop=can_stop,
        state=read_state(object_of(told, "state")) if "state" in told else None,
        **texts,
    )


def read_state(told: Mapping[str, Any]) -> WorkState:
    return WorkState(text_of(told, "state"), text_of(told, "stopReason"))


def _read_task(update: Mapping[str, Any]) -> Task:
    told = clean_surrogates(update)
    texts = [text_of(block, "text") for block in objects_of(told, "content")]
    return Task(text_of(told, "recipientSessionId"), "\n".join(filter(None, texts)))


def _id_of_call(known: _Subagent | None, id: str) -> str:
    """The id of a call in the conversation: the agent's is unique only within its session."""
    return id if known is None else f"{known.session}/{id}"


class Subagents:
    """The subagents of one connection."""

    def __init__(self) -> None:
        self._known: dict[str, _Subagent] = {}
        # Sessions that were opened for conversations: none of them is a subagent's.
        self._roots: set[str] = set()

    def note_root(self, session: str) -> None:
        """The session was opened for a conversation, which may have been that of a subagent."""
        self._roots.add(session)
        self._known.pop(session, None)

    def are_working(self, root: str) -> bool:
        """Whether any of a conversation works, of those whose end would be told."""
        return bool(self._at_work(root))

    def sessions_to_stop(self, root: str) -> tuple[str, ...]:
        """The sessions of the subagents of a conversation that work and can be stopped."""
        return tuple(
            each.session
            for each in self._known.values()
            if each.root == root and each.is_working and each.can_stop
        )

    def can_stop_all(self, root: str) -> bool:
        """Whether all of those can be stopped."""
        return all(each.can_stop for each in self._at_work(root))

    def _at_work(self, root: str) -> Sequence[_Subagent]:
        known = self._known.values()
        return [each for each in known if each.root == root and each.is_working and each.has_state]

    def session_of_call(self, root: str, call: str) -> str:
        """The session of the subagent that works for the call and can be stopped; empty if there is
        none."""
        sessions = self.sessions_to_stop(root)
        return next((each for each in sessions if self._known[each].call == call), "")

    def take_update(self, session: str, update: Told) -> tuple[str, Sequence[SessionUpdate]]:
        """The session of the conversation, and what is told there."""
        if isinstance(update, SubagentNews):
            return self._take_news(session, update)
        if isinstance(update, Task):
            return self._take_task(update)
        known = self._known.get(session)
        if isinstance(update, ToolCallUpdate):
            update = replace(update, id=_id_of_call(known, update.id))
            self._take_links(session, update)
        if known is None:
            return session, () if isinstance(update, WorkState) else (update,)
        if isinstance(update, WorkState):
            known.has_state = bool(update.state)
            return known.root, self._take_state(known, update)
        return known.root, self._told_by(known, update)

    def take_request(self, request: AgentRequest) -> AgentRequest:
        """A question of a subagent is one of its conversation."""
        known = self._known.get(request.session)
        if known is None:
            return request
        if isinstance(request, PermissionRequest):
            id = _id_of_call(known, request.call.id)
            call = replace(request.call, id=id, parent=known.call)
            return replace(request, session=known.root, call=call)
        if isinstance(request, ElicitationRequest) and request.call:
            request = replace(request, call=_id_of_call(known, request.call))
        return replace(request, session=known.root)

    def _take_news(self, session: str, news: SubagentNews) -> tuple[str, Sequence[SessionUpdate]]:
        known = self._known.get(news.session)
        if known is None:
            above = self._known.get(session)
            is_free = news.session not in self._roots and news.session != session
            if not is_free or not self._make_room():
                return session, ()
            root, parent = (above.root, above.call) if above is not None else (session, "")
            known = _Subagent(news.session, root, CALL + news.session, parent)
            self._known[news.session] = known
        known.title = known.title if news.title is None else news.title
        known.description = known.description if news.description is None else news.description
        known.can_stop = known.can_stop if news.can_stop is None else news.can_stop
        if news.state is None:
            return known.root, ()
        known.has_state = bool(news.state.state)
        return known.root, self._take_state(known, news.state)

    def _make_room(self) -> bool:
        """Forget the oldest one that does not work, if there are very many."""
        if len(self._known) < MAX_SUBAGENTS:
            return True
        at_rest = next((id for id, each in self._known.items() if not each.is_working), "")
        return self._known.pop(at_rest, None) is not None

    def _take_task(self, task: Task) -> tuple[str, Sequence[SessionUpdate]]:
        known = self._known.get(task.recipient)
        if known is None:
            return "", ()
        known.task = task.text[:MAX_TASK]
        return known.root, (self._news_of(known),) if known.is_shown else ()

    def _take_state(self, known: _Subagent, state: WorkState) -> Sequence[SessionUpdate]:
        status = WORKING.get(state.state, "")
        if status:
            if known.is_working:
                return ()
            known.is_working = True
            if known.is_linked:
                return ()
            known.is_shown = True
            return (self._news_of(known, ToolCallStart, status),)
        if state.state != IDLE or not known.is_working:
            return ()
        known.is_working = False
        if known.is_linked:
            return ()
        why = FAILED.get(state.stop_reason)
        told = self._news_of(known, ToolCallUpdate, "failed" if why else "completed")
        return (replace(told, texts=(why,), has_content=True) if why else told,)

    def _told_by(self, known: _Subagent, update: SessionUpdate) -> Sequence[SessionUpdate]:
        """What is told of it in the conversation: neither its plan nor what can be chosen."""
        begun: Sequence[SessionUpdate] = ()
        if not known.is_shown and not known.is_linked:
            begun = self._take_state(known, WorkState("running"))
        if isinstance(update, (AgentMessageChunk, ToolCallUpdate)):
            parent = update.parent or known.call
            return (*begun, replace(update, parent=parent))
        return (*begun, update) if isinstance(update, Notice) else begun

    def _take_links(self, session: str, update: ToolCallUpdate) -> None:
        """A call stands for the subagents that its content names, if nothing does so far."""
        for each in update.sessions:
            known = self._known.get(each)
            if known is not None and not known.is_shown and known.session != session:
                known.is_linked, known.call = True, update.id

    @staticmethod
    def _news_of(
        known: _Subagent, made: type[ToolCallUpdate] = ToolCallUpdate, status: str = ""
    ) -> ToolCallUpdate:
        args = {"description": known.description, "prompt": known.task}
        return made(
            known.call,
            known.title or known.description or "Subagent",
            SUBAGENT_KIND,
            status,
            raw_input={name: text for name, text in args.items() if text},
            parent=known.parent,
            can_stop=known.can_stop,
        )
