"""The version of the Agent Client Protocol: which one is asked for, and what is offered with it. No
other module knows any of that.

In version 1 the answer to a prompt is the end of its turn. In the draft of version 2 the answer
only acknowledges the prompt, an update tells the end, and clients write no files.
"""

from __future__ import annotations

from typing import Any

from .. import elicitation
from ..auth_method import BY_PROGRAM
from . import messages
from .messages import Initialized, OutgoingRequest

VERSION = 1


def initialize_request(
    writes: bool, reads: bool = False, opens_terminals: bool = False
) -> OutgoingRequest[Initialized]:
    """`writes` and `reads` say whether the agent is to write and read files through us
    (docs/gemini-cli-acp.md 8.46), `opens_terminals` whether its user can log in to it in a terminal
    that is opened for them. It answers with the version that it will speak: this one, or its own
    newest."""
    capabilities: dict[str, Any] = {
        "fs": {"readTextFile": reads, "writeTextFile": writes},
        "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
        "elicitation": {elicitation.FORM: {}, elicitation.URL: {}},
    }
    if opens_terminals:
        capabilities["auth"] = {"terminal": True}
        capabilities["_meta"] = {BY_PROGRAM: True}
    return OutgoingRequest(
        "initialize",
        {"protocolVersion": VERSION, "clientCapabilities": capabilities},
        messages.read_initialized,
    )


def is_spoken(told: Initialized) -> bool:
    """Whether the agent will speak this version."""
    return told.protocol_version == VERSION
