"""The version of the Agent Client Protocol: which one is asked for, and what is offered with it. No
other module knows any of that.

In version 1 the answer to a prompt is the end of its turn. In the draft of version 2 the answer
only acknowledges the prompt, an update tells the end, and clients write no files.
"""

from __future__ import annotations

from .. import elicitation
from . import messages
from .messages import Initialized, OutgoingRequest

VERSION = 1


def initialize_request(writes: bool, reads: bool = False) -> OutgoingRequest[Initialized]:
    """`writes` and `reads` say whether the agent is to write and read files through us
    (docs/gemini-cli-acp.md 8.46). It answers with the version that it will speak: this one, or its
    own newest."""
    capabilities = {
        "fs": {"readTextFile": reads, "writeTextFile": writes},
        "session": {"configOptions": {"boolean": {}}},
        "elicitation": {elicitation.FORM: {}, elicitation.URL: {}},
    }
    return OutgoingRequest(
        "initialize",
        {"protocolVersion": VERSION, "clientCapabilities": capabilities},
        messages.read_initialized,
    )


def is_spoken(told: Initialized) -> bool:
    """Whether the agent will speak this version."""
    return told.protocol_version == VERSION
