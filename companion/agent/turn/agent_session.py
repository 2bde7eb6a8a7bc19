"""One session of the agent as turns use it: the protocol's session, its CLI, the CLI's recording,
and the user's approvals in it."""

from __future__ import annotations

from ..acp.acp_client import Session
from ..acp.messages import ToolCallUpdate, WriteTextFile
from ..agents.cli import Cli
from ..events.tool_call import Call
from .outcomes import Approvals


class AgentSession:
    """With a session the agent forgets what was approved in it, and so does this."""

    def __init__(self, session: Session, cli: Cli) -> None:
        self.session = session
        self.cli = cli
        self.recording = cli.session_files.recording(session.id)
        self.approvals = Approvals()

    def call(self, told: ToolCallUpdate) -> Call:
        return self.cli.read_call(told)

    def writes_through_us(self, path: str) -> bool:
        """Whether the CLI asks us to write the file; it writes other files by itself."""
        return self.cli.writes_through_us(path, self.session.folder)

    def answer_write(self, request: WriteTextFile, refusal: str) -> None:
        """Confirm the write, or give the model a refusal to read."""
        client = self.session.client
        if refusal:
            client.refuse(request.id, self.cli.refusal(refusal))
        else:
            client.answer(request.id, {})
