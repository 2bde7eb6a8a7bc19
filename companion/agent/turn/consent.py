"""What the user has said before an agent asks about a call: rules in their settings, and answers
that last."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Callable, Iterable

from ...base.agent_rules import ASK_ALL, NO_RULES, AgentRules
from ...base.background import in_thread
from ..events.tool_call import Call
from ..open_files import NotSaved
from ..turn_events import ONCE
from .agent_session import AgentSession
from .call_rules import ALLOW, ASK, NO_VERDICT, Verdict, verdict_of, verdict_of_write
from .file_writes import ASKING, WRITING, FileWrites
from .lasting_answers import NOTHING, Coverage, Lasting, coverage_of
from .outcomes import Choices, is_known


class Consent:
    """The consent to what one session does, in one of its turns."""

    def __init__(self, agent: AgentSession, writes: FileWrites) -> None:
        self._agent = agent
        self._writes = writes

    async def on_call(self, call: Call, choices: Choices) -> tuple[Verdict, Coverage]:
        """What is said about the call, and what an answer that lasts would cover: nothing where a
        rule wants each to be asked about. ALLOW, without a rule, also of what such an answer
        covers."""
        coverage = await self._find_coverage(call, choices)
        roots = self._agent.session.roots
        verdict = await self._find_verdict(lambda rules: verdict_of(call, rules, roots, coverage))
        if not verdict.decision and self._agent.approvals.covers_all(coverage):
            verdict = Verdict(ALLOW)
        return verdict, NOTHING if verdict.decision == ASK else coverage

    async def verdict_on_write(self, path: str, running: Iterable[Call]) -> Verdict:
        """What is said about a write about which the agent does not ask, while these calls run."""
        roots = self._agent.session.roots
        return await self._find_verdict(lambda rules: verdict_of_write(path, running, rules, roots))

    async def _find_verdict(self, judge: Callable[[AgentRules], Verdict]) -> Verdict:
        """What it says of the rules, which takes a thread: it asks the disk."""
        rules = await self._read_rules()
        if rules == NO_RULES:
            return NO_VERDICT
        with suppress(OSError, asyncio.TimeoutError):
            return await in_thread(partial(judge, rules), WRITING)
        return Verdict(ASK)

    async def _find_coverage(self, call: Call, choices: Choices) -> Coverage:
        """None of an agent whose answers are not known, nor of what the user excludes."""
        once = choices.get(ONCE)
        if once is None or not is_known(once, self._agent.cli.options):
            return NOTHING
        look = partial(coverage_of, call, self._agent.session.roots)
        with suppress(OSError, asyncio.TimeoutError):
            found = await in_thread(look, WRITING)
            if found.needs and not await self._writes.excludes_any(found.files):
                return found
        return NOTHING

    def remember_answer(self, answer: Lasting | None) -> None:
        if answer is not None:
            self._agent.approvals.remember_answer(answer)

    async def _read_rules(self) -> AgentRules:
        with suppress(NotSaved, asyncio.TimeoutError):
            return await asyncio.wait_for(self._agent.cli.open_files.agent_rules(), ASKING)
        return ASK_ALL
