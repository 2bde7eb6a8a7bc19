"""The calls of `openDiff` by one CLI that wait for an answer. Knows no socket.

Claude Code asks in its terminal at the same time and says which diffs are over by the name of a tab
that it chose (docs/protocol.md 11). Each call is answered once. Of several for one file, as its
subagents make them, one is shown at a time.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Awaitable, Callable

from ...base.background import in_thread
from ...base.jsonrpc import Id, encode_json
from ...base.large_json import PIECE, encode_in_pieces
from ...base.log import logger
from ..editor import EditorError
from ..mcp_tables import text_content, tool_error
from ..session import Session
from ..sharing import MISSING, PAUSED
from ..workspace import Workspace

ACCEPTED, REJECTED = "FILE_SAVED", "DIFF_REJECTED"
# The most diffs of one CLI that wait, and code points of their texts together.
MAX_DIFFS, MAX_TEXTS = 128, 64 * 1024 * 1024
# An answer without a decision: the question in the terminal stays.
OVER = "The diff is closed without a decision."
FAILED = "The companion failed; its log says why."
REPLACED = "Another diff has the same tab_name."
TOO_MANY = "Expected a decision on the {} diffs that wait in the editor first."
TOO_LARGE = (
    "Expected texts of at most {:,} characters in all diffs that wait in the editor; with this one"
    " there are {:,}."
)
NO_DIFFS = "The user wants no diffs in this window of the editor."
IS_PAUSED = "The user has paused the editor's companion."
NOT_SHARED = "The user does not share this file with CLIs."


@dataclass
class DiffCall:
    """One call. `tab` is the CLI's name of the diff. `path` is the editor's, `sent_path` as the CLI
    sent it. `is_shown` says whether its turn has come: the editor shows it, or is about to."""

    id: Id
    tab: str
    workspace: Workspace
    session: Session
    path: str
    content: str
    sent_path: str
    is_shown: bool = False

    @property
    def subject(self) -> tuple[str, str]:
        """The id of the session, and the path."""
        return self.session.id, self.path

    def is_about(self, session_id: str, path: str) -> bool:
        return self.subject == (session_id, path)


class WaitingDiffs:
    """`answer` sends the result of a call, as JSON. `spawn` runs work beside that of the caller."""

    def __init__(
        self,
        answer: Callable[[Id, bytes], Awaitable[None]],
        spawn: Callable[[Callable[[], Awaitable[None]]], None],
    ) -> None:
        self._answer = answer
        self._spawn = spawn
        # By the names of their tabs, in the order in which they came.
        self._calls: dict[str, DiffCall] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def has_any_of(self, session: Session) -> bool:
        return any(call.session is session for call in self._calls.values())

    def check_room(self, tab: str, content: str) -> None:
        """Raises EditorError if one more diff would be too much. It may replace the one of the same
        name."""
        others = [call for call in self._calls.values() if call.tab != tab]
        if len(others) >= MAX_DIFFS:
            raise EditorError(TOO_MANY.format(len(others)))
        size = len(content) + sum(len(call.content) for call in others)
        if size > MAX_TEXTS:
            raise EditorError(TOO_LARGE.format(MAX_TEXTS, size))

    async def open_diff(self, call: DiffCall) -> None:
        """Show the diff, or let it wait for another one of its file. Until the first await it is
        noted, so that a `close_tab` that follows finds it."""
        same = self._calls.pop(call.tab, None)
        is_first = not any(each.is_about(*call.subject) for each in self._calls.values())
        call.is_shown = is_first
        self._calls[call.tab] = call
        if same is not None:
            # The editor puts the one in place of the other.
            is_replaced = is_first and same.is_about(*call.subject)
            await self._end(
                same, REPLACED, decided=False, is_open=same.is_shown and not is_replaced
            )
        if is_first:
            await self._show(call)

    async def close_diff(self, tab: str) -> None:
        """The CLI needs the diff no more: it was decided in the terminal, or here. What the user
        typed comes back to them: the CLI writes its own text, or none."""
        call = self._calls.pop(tab, None)
        if call is not None:
            await self._end(call, OVER, decided=True, is_open=call.is_shown)

    async def _end(self, call: DiffCall, why: str, decided: bool, is_open: bool) -> None:
        """The call waits no more; if its diff `is_open`, it is closed."""
        if is_open:
            with suppress(EditorError):
                await call.workspace.diffs.close_diff(call.session, call.path, decided)
        await self._answer(call.id, tool_error(why))
        self._show_next(call)

    def cancel_call(self, id: object) -> None:
        """The CLI waits no longer for the answer to that request."""
        cancelled = next((each for each in self._calls.values() if each.id == id), None)
        if cancelled is not None:
            # At once, so that each is cancelled once, however often the CLI says so.
            del self._calls[cancelled.tab]
            end = partial(self._end, cancelled, OVER, decided=False, is_open=cancelled.is_shown)
            self._spawn(end)

    async def give_up(self, session: Session) -> None:
        """Nothing more will be decided for the session; what waits is answered without that."""
        given_up = [each for each in self._calls.values() if each.session is session]
        # All at once: meanwhile the CLI may close one.
        for call in given_up:
            del self._calls[call.tab]
        for call in given_up:
            await self._answer(call.id, tool_error(OVER))

    async def pass_decision(self, session_id: str, path: str, text: str | None) -> None:
        """The user has accepted with this text, or rejected (None)."""
        call = self._shown(session_id, path)
        if call is not None:
            await self._settle(call, _decision_result(text))

    def _shown(self, session_id: str, path: str) -> DiffCall | None:
        calls = self._calls.values()
        shown = (call for call in calls if call.is_shown)
        return next((call for call in shown if call.is_about(session_id, path)), None)

    async def _show(self, call: DiffCall) -> None:
        diffs, session = call.workspace.diffs, call.session
        try:
            await check_sharing(call.workspace, call.path)
            if self._calls.get(call.tab) is call:
                await diffs.open_diff(session, call.path, call.content, call.sent_path)
        except EditorError as error:
            if self._calls.get(call.tab) is call:
                await self._settle(call, tool_error(str(error)))
        except Exception:
            # The boundary of showing one: a bug costs one answer, and the next has its turn.
            logger.exception("a diff of Claude Code could not be shown")
            if self._calls.get(call.tab) is call:
                await self._settle(call, tool_error(FAILED))
        if call.workspace.sessions.find_session(session.id) is None:
            # The connection was lost meanwhile.
            diffs.mark_orphaned(session.id, orphaned=True)

    async def _settle(self, call: DiffCall, result: bytes) -> None:
        del self._calls[call.tab]
        await self._answer(call.id, result)
        self._show_next(call)

    def _show_next(self, after: DiffCall) -> None:
        """Show what has waited for that diff of its file."""
        waiting = [each for each in self._calls.values() if each.is_about(*after.subject)]
        if waiting and not any(each.is_shown for each in waiting):
            # Nobody else may have a turn before the work begins.
            waiting[0].is_shown = True
            self._spawn(partial(self._show, waiting[0]))


async def check_sharing(workspace: Workspace, path: str) -> None:
    """Raises EditorError for a file of which the window tells nothing, or if it shows no diffs."""
    gate = None
    # The user may change the rules while the disk is asked.
    while gate != workspace.context.gate():
        gate = workspace.context.gate()
        # Links have to be followed on a disk. A file that is missing is about to be written.
        reason = await in_thread(partial(gate.reason_to_hide, path))
    if not workspace.diffs.offers_diffs:
        raise EditorError(NO_DIFFS)
    if reason not in ("", MISSING):
        raise EditorError(IS_PAUSED if reason == PAUSED else NOT_SHARED)


def _decision_result(text: str | None) -> bytes:
    """The answer to the call. With `FILE_SAVED` comes the text that the CLI writes, also an empty
    one."""
    if text is None:
        return encode_json({"content": text_content(REJECTED)})
    value = {"content": [*text_content(ACCEPTED), *text_content(text)]}
    return encode_in_pieces(value) if len(text) > PIECE else encode_json(value)
