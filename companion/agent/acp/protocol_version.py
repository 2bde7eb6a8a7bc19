"""The version of the Agent Client Protocol: which one is asked for, and what is offered with it. No
other module knows any of that.

In version 1 the answer to a prompt is the end of its turn. In the draft of version 2 the answer
only acknowledges the prompt, an update tells the end, and clients write no files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import elicitation
from ..auth_method import BY_PROGRAM
from . import messages
from .messages import Initialized, OutgoingRequest

VERSION = 1


@dataclass(frozen=True)
class Offers:
    """What the agent is offered: that it `writes` and `reads` files through us
    (docs/gemini-cli-acp.md 8.46), that its user can log in to it in a terminal that is opened for
    them (`login_terminals`), and that it `runs` commands in terminals of ours."""

    writes: bool = False
    reads: bool = False
    login_terminals: bool = False
    runs: bool = False


def initialize_request(offers: Offers) -> OutgoingRequest[Initialized]:
    """The agent answers with the version that it will speak: this one, or its own newest."""
    capabilities: dict[str, Any] = {
        "fs": {"readTextFile": offers.reads, "writeTextFile": offers.writes},
        "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
        "elicitation": {elicitation.FORM: {}, elicitation.URL: {}},
    }
    if offers.runs:
        capabilities["terminal"] = True
    if offers.login_terminals:
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
