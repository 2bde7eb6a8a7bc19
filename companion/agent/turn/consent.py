"""What the user has said before an agent asks about a call."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

from ...base.background import in_thread
from ..events.tool_call import Call
from ..events.turn_events import ONCE
from .agent_session import AgentSession
from .file_writes import WRITING, FileWrites
from .lasting_answers import NOTHING, Coverage, Lasting, coverage_of
from .outcomes import Choices, is_known


class Consent:
    """That of one session, in one of its turns."""

    def __init__(self, agent: AgentSession, writes: FileWrites) -> None:
        self._agent = agent
        self._writes = writes

    async def coverage(self, call: Call, choices: Choices) -> Coverage:
        """None of an agent whose answers are not known, nor of what the user excludes."""
        once = choices.get(ONCE)
        if once is None or not is_known(once, self._agent.cli.options):
            return NOTHING
        look = partial(coverage_of, call, self._agent.session.folder)
        with suppress(OSError, asyncio.TimeoutError):
            found = await in_thread(look, WRITING)
            if found.needs and not await self._writes.excludes(found.files):
                return found
        return NOTHING

    def covers(self, coverage: Coverage) -> bool:
        return self._agent.approvals.covers(coverage)

    def remember(self, answer: Lasting | None) -> None:
        if answer is not None:
            self._agent.approvals.remember(answer)
