"""The possible decisions on a call of a tool: the six outcomes, and which of them a request offers.

Source: the API's specification. The CLI accepts any of the six for any call, and treats some of
them as something else (docs/gemini-cli-acp.md 5).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Mapping, Tuple

from ..acp.messages import PermissionRequest
from ..events import turn_events as events
from ..events.tool_call import Call
from ..wording.failure import TOOL_INVALID_OUTCOME, AgentError, not_among
from ..wording.sentence import sentence

ONCE, ALWAYS, CANCEL = "proceed_once", "proceed_always", "cancel"
ALWAYS_SERVER, ALWAYS_TOOL = "proceed_always_server", "proceed_always_tool"
MODIFY = "modify_with_editor"
# The agent never offers this and has no word for it.
EDIT = "Edit"
OUTCOMES = (ONCE, ALWAYS, ALWAYS_SERVER, ALWAYS_TOOL, MODIFY, CANCEL)
# The scope of an approval: all edits, a tool of a server, or all tools of a server.
Scope = Tuple[str, ...]


@dataclass
class PendingPermission:
    """A call that waits for the answer to a permission request. `is_changeable` says that it is an
    edit that we write. `event` and `timer` exist once somebody was asked."""

    request: PermissionRequest
    call: Call
    is_changeable: bool = False
    event: events.TurnEvent | None = None
    timer: asyncio.TimerHandle | None = None

    @property
    def offered(self) -> tuple[events.Option, ...]:
        told = self.request.options
        known = [events.Option(each.id, each.name) for each in told if each.id in OUTCOMES]
        return (*known, *([events.Option(MODIFY, EDIT)] if self.is_changeable else []))

    @property
    def body(self) -> events.ToolConfirmation:
        call = self.call
        return events.ToolConfirmation(
            call.id,
            call.name,
            call.display_name,
            call.title,
            call.command,
            call.args,
            self.offered,
            call.diff,
        )

    def option(self, outcome: str) -> str:
        """The option for the agent. Raises AgentError; the call then continues to wait."""
        if outcome not in OUTCOMES:
            raise not_among(OUTCOMES, outcome)
        if outcome == MODIFY:
            if self.call.diff is None:
                told = sentence("Only an edit of a file can be changed.")
                raise AgentError(TOOL_INVALID_OUTCOME, told)
            # The agent's own editor opens nowhere; the text is changed when it is written.
            return ONCE
        offered = [option.outcome for option in self.offered]
        # Tools of servers have two others instead; this is the narrower one.
        for option in (outcome, ALWAYS_TOOL if outcome == ALWAYS else outcome):
            if option in offered or option in (ONCE, CANCEL):
                return option
        known = ", ".join(offered)
        raise AgentError(
            TOOL_INVALID_OUTCOME,
            sentence("Expected one of {expected} for this call.", expected=known),
        )


class Approvals:
    """The user's lasting approvals in one conversation.

    The agent is told to run such a call once, because its own memory goes further: it would approve
    a tool of a server for all conversations, and edits change the mode of the session
    (docs/gemini-cli-acp.md 5.34, 5.35). Approvals of commands it remembers by itself.
    """

    def __init__(self) -> None:
        self._scopes: set[Scope] = set()

    def covers(self, call: Call) -> bool:
        return not self._scopes.isdisjoint(_scopes(call).values())

    def remember(self, call: Call, option: str) -> str:
        """The option for the agent, in place of the chosen one."""
        scope = _scopes(call).get(option)
        if scope is None:
            return option
        self._scopes.add(scope)
        return ONCE


def _scopes(call: Call) -> Mapping[str, Scope]:
    """What each of the options would approve, beside this call."""
    if call.kind == "edit":
        return {ALWAYS: ("edits",)}
    if not call.is_of_server:
        return {}
    # Two tools may have the same name, as far as the call's id shows it; their titles differ.
    tool = ("tool", call.name, call.title)
    return {ALWAYS_TOOL: tool, ALWAYS_SERVER: ("server", call.server) if call.server else tool}
