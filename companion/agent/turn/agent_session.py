"""One session of the agent as turns use it: the protocol's session, its CLI, the CLI's recording,
and the user's approvals in it."""

from __future__ import annotations

from dataclasses import replace

from ..acp.acp_client import AcpSession
from ..acp.agent_state import AgentState
from ..acp.messages import ToolCallUpdate, WriteTextFile
from ..agents.cli import AgentCli
from ..events.tool_call import Call
from .lasting_answers import Approvals


class AgentSession:
    """One session of the agent, and what was approved in it: the agent forgets that with the
    session, and so does this. `state` is what the agent has told of the session. `notes` are texts
    that the model has to read, in order; they go with the next message."""

    def __init__(self, session: AcpSession, cli: AgentCli, state: AgentState) -> None:
        self.session = session
        self.cli = cli
        self.state = state
        self.recording = cli.files_in(session.client.home).recording_of(session.id)
        self.approvals = Approvals()
        self.notes: list[str] = []
        self._is_trusted = True

    def read_call(self, told: ToolCallUpdate) -> Call:
        parent = told.parent or self.cli.parent_call(told.meta)
        call = replace(self.cli.read_call(told), asks_alone=told.asks_alone, can_stop=told.can_stop)
        return replace(call, parent=parent) if parent and parent != call.id else call

    def writes_through_us(self, path: str) -> bool:
        """Whether the CLI asks us to write the file, and leaves it as we wrote it; it writes other
        files by itself."""
        may_ask = self._is_trusted and self.session.client.protocol.has_editor
        return may_ask and self.cli.writes_through_us(path, self.session.folder)

    def distrust(self) -> None:
        """A file that we wrote for it held something else afterwards."""
        self._is_trusted = False

    def take_notes(self) -> list[str]:
        notes, self.notes = self.notes, []
        return notes

    def answer_write(self, request: WriteTextFile, refusal: str) -> None:
        """Confirm the write, or give the model a refusal to read."""
        client = self.session.client
        if refusal:
            client.refuse_request(request.id, self.cli.refusal_error(refusal))
        else:
            client.answer_request(request.id, {})
