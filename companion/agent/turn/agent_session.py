"""One session of the agent as turns use it: the protocol's session, the CLI that it is one of, what
that recorded, and what the user approved in it."""

from __future__ import annotations

from ..acp.acp_client import Session
from ..acp.messages import ToolCallUpdate, WriteTextFile
from ..agents.cli import Cli
from ..events.tool_call import Call
from .outcomes import Approvals


class AgentSession:
    """The agent forgets with a session what was approved in it, and so do we."""

    def __init__(self, session: Session, cli: Cli) -> None:
        self.session = session
        self.cli = cli
        self.recording = cli.recording(session.id)
        self.approvals = Approvals()

    def call(self, told: ToolCallUpdate) -> Call:
        return self.cli.read_call(told)

    def writes_through_us(self, path: str) -> bool:
        """Whether the CLI asks us to write the file; others it writes by itself."""
        return self.cli.writes_through_us(path, self.session.folder)

    def answer_write(self, request: WriteTextFile, refusal: str) -> None:
        """It was written, or the model is to read why it was not."""
        client = self.session.client
        if refusal:
            client.refuse(request.id, self.cli.refusal(refusal))
        else:
            client.answer(request.id, {})
