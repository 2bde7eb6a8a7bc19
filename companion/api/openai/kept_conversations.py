"""The conversations behind /v1, whose clients send all messages with each request.
 A conversation is kept after its answer, for the request that sends the same messages, that answer
and a new message; so the CLI is told only what is new. It is found by the digest of all that it
remembers, of the token and of the `user` (`WantedAnswer.memory_digest`): nobody gets a memory that
their own messages do not have. One empty conversation waits for the next request that begins, for
to open one takes longer than a short answer."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Coroutine, Iterator

from ...agent.agent import Agent, Conversation, SessionInfo
from ...agent.failure import VALIDATION_ERROR, AgentError
from ...base.log import logger
from ..contract.refusal import MODEL_NOT_FOUND, Refusal
from .request import ConversationTarget, WantedAnswer

# The most conversations that wait for their next request, and the seconds for which they do. Each
# takes some megabytes of the CLI's memory, which it frees only with its end.
MAX_KEPT, KEPT_FOR = 16, 600.0
# Seconds to delete them all at the end.
ENDING = 2.0


@dataclass(frozen=True)
class _Kept:
    """A conversation that waits. If it has had more turns, somebody else has used it."""

    id: str
    turns: int
    timer: asyncio.TimerHandle


@dataclass
class Held:
    """The conversation of one request. It `is_known` if it remembers the earlier messages. `answer`
    is what the client was told; None, as long as the conversation is not worth keeping."""

    id: str
    workspace: str
    is_known: bool
    answer: str | None = None


class KeptConversations:
    """All methods are called on one loop. `folder` is the workspace. `kept_for` is in seconds."""

    def __init__(self, agent: Agent, folder: str, kept_for: float = KEPT_FOR) -> None:
        self._agent = agent
        self._folder = folder
        self._kept_for = kept_for
        # The one that waits longest comes first.
        self._waiting: dict[bytes, _Kept] = {}
        self._spare: tuple[ConversationTarget, _Kept] | None = None
        self._is_making = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def find_conversation(self, owner: str, wanted: WantedAnswer) -> Held:
        """A conversation for a request of this owner: a kept one, or an empty one. Nobody else gets
        it until `hold_conversation` ends. Raises AgentError, Refusal."""
        kept = self._waiting.pop(wanted.memory_digest(owner), None) if wanted.known else None
        if kept is None and self._spare is not None and self._spare[0] == wanted.target:
            kept, self._spare = self._spare[1], None
        known = None if kept is None else self._unused_conversation(kept)
        if known is not None:
            return Held(known.id, known.workspace, known.record.turns > 0)
        info = await self._open_shielded(wanted.target)
        return Held(info.id, info.workspace, False)

    @contextmanager
    def hold_conversation(self, owner: str, wanted: WantedAnswer, held: Held) -> Iterator[None]:
        """Keep or delete the conversation after the block, and make an empty one ready."""
        try:
            yield
        finally:
            if held.answer is None or self._is_closed:
                self._in_background(self._remove_conversation(held.id))
            else:
                self._keep_conversation(wanted.memory_digest(owner, held.answer), held.id)
            has_spare = self._spare is not None and self._spare[0] == wanted.target
            if not (self._is_closed or self._is_making or has_spare):
                self._in_background(self._make_spare(wanted.target))

    async def close(self) -> None:
        """Delete them all, within about two seconds."""
        self._is_closed = True
        kept = [*self._waiting.values(), *([self._spare[1]] if self._spare else [])]
        self._waiting, self._spare = {}, None
        for each in kept:
            each.timer.cancel()
            self._in_background(self._remove_conversation(each.id))
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=ENDING)

    def _keep_conversation(self, digest: bytes, id: str) -> None:
        same = self._waiting.pop(digest, None)
        if same is not None:
            self._drop_kept(same)
        with suppress(AgentError):
            self._waiting[digest] = self._with_timer(id)
        while len(self._waiting) > MAX_KEPT:
            self._drop_kept(self._waiting.pop(next(iter(self._waiting))))

    def _with_timer(self, id: str) -> _Kept:
        """Raises AgentError if there is no such conversation any more."""
        turns = self._agent.conversations.known_conversation(id).record.turns
        loop = asyncio.get_running_loop()
        return _Kept(id, turns, loop.call_later(self._kept_for, self._expire_conversation, id))

    def _expire_conversation(self, id: str) -> None:
        self._waiting = {digest: kept for digest, kept in self._waiting.items() if kept.id != id}
        if self._spare is not None and self._spare[1].id == id:
            self._spare = None
        self._in_background(self._remove_conversation(id))

    def _drop_kept(self, kept: _Kept) -> None:
        kept.timer.cancel()
        self._in_background(self._remove_conversation(kept.id))

    def _unused_conversation(self, kept: _Kept) -> Conversation | None:
        """The conversation, if nobody has used or deleted it meanwhile."""
        kept.timer.cancel()
        with suppress(AgentError):
            known = self._agent.conversations.known_conversation(kept.id)
            if known.record.turns == kept.turns and not known.is_busy:
                return known
            self._in_background(self._remove_conversation(kept.id))
        return None

    async def _open_shielded(self, target: ConversationTarget) -> SessionInfo:
        """An empty conversation. Raises AgentError, Refusal."""
        opening = asyncio.ensure_future(self._open_session(target))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            # The client has left, and nobody else knows the conversation.
            self._in_background(self._abandon_opening(opening))
            raise

    async def _open_session(self, target: ConversationTarget) -> SessionInfo:
        """Raises AgentError, Refusal."""
        info = await self._agent.new_session(self._folder, target.agent, is_temporary=True)
        if not target.model:
            return info
        try:
            return await self._agent.change_session(info.id, None, target.model, None)
        except AgentError as error:
            self._in_background(self._remove_conversation(info.id))
            if error.code != VALIDATION_ERROR:
                raise
            raise Refusal(MODEL_NOT_FOUND, field="model", model=target.model) from None

    async def _make_spare(self, target: ConversationTarget) -> None:
        self._is_making = True
        try:
            info = await self._open_session(target)
            if self._is_closed:
                await self._remove_conversation(info.id)
                return
            before, self._spare = self._spare, (target, self._with_timer(info.id))
            if before is not None:
                self._drop_kept(before[1])
        except (AgentError, Refusal) as error:
            logger.debug("no conversation was opened in advance: %s", error)
        finally:
            self._is_making = False

    async def _abandon_opening(self, opening: asyncio.Future[SessionInfo]) -> None:
        with suppress(AgentError, Refusal):
            await self._remove_conversation((await opening).id)

    async def _remove_conversation(self, id: str) -> None:
        with suppress(AgentError):
            self._agent.turns.cancel_turns(id)
            await self._agent.remove_when_over(id)

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
