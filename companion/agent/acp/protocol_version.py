"""The versions of the Agent Client Protocol: what is offered to an agent with `initialize`, and
which version a connection speaks then. No other module knows any of that.

Version 1 is asked for, unless the user wants 2: with 1 there are files and terminals of the editor.
An agent that does not speak the version that it is asked for answers with its own newest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Mapping

from ... import __version__
from .. import elicitation
from ..auth_method import BY_PROGRAM
from .messages import Initialized, OutgoingRequest
from .protocol import Protocol
from .version_1 import Version1
from .version_2 import Version2

# What makes a connection's protocol, by its version.
PROTOCOLS: Mapping[int, Callable[[], Protocol]] = {1: Version1, 2: Version2}
VERSIONS = tuple(PROTOCOLS)
USUAL, NEWEST = VERSIONS[0], VERSIONS[-1]
OURSELVES = {"name": "gemini-companion", "title": "Gemini Companion", "version": __version__}
ANY_ELICITATION: Mapping[str, Any] = {elicitation.FORM: {}, elicitation.URL: {}}


@dataclass(frozen=True)
class Offers:
    """What the agent is offered: that it `writes` and `reads` files through us
    (docs/gemini-cli-acp.md 8.46), that its user can log in to it in a terminal that is opened for
    them (`login_terminals`), and that it `runs` commands in terminals of ours."""

    writes: bool = False
    reads: bool = False
    login_terminals: bool = False
    runs: bool = False

    @property
    def are_of_editor(self) -> bool:
        """Whether anything is offered that only version 1 has."""
        return self.writes or self.reads or self.runs


@dataclass(frozen=True)
class Spoken:
    """What was agreed on."""

    protocol: Protocol
    told: Initialized


def initialize_request(offers: Offers, version: int) -> OutgoingRequest[Spoken | object]:
    """The agent answers with the version that it will speak: this one, or its own newest. The
    result is the agent's value for the version, where that is not spoken here."""
    params: dict[str, Any] = {
        "protocolVersion": version,
        "clientCapabilities": _capabilities_of_1(offers),
    }
    if version != USUAL:
        params.update(info=OURSELVES, capabilities=_capabilities_of_2(offers))
    return OutgoingRequest("initialize", params, _read_spoken)


def _read_spoken(result: Mapping[str, Any]) -> Spoken | object:
    number = result.get("protocolVersion")
    is_number = isinstance(number, int) and not isinstance(number, bool)
    make = PROTOCOLS.get(number) if is_number and isinstance(number, int) else None
    if make is None:
        return number
    protocol = make()
    return Spoken(protocol, protocol.read_initialized(result))


def _capabilities_of_1(offers: Offers) -> Mapping[str, Any]:
    capabilities: dict[str, Any] = {
        "fs": {"readTextFile": offers.reads, "writeTextFile": offers.writes},
        "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
        "elicitation": ANY_ELICITATION,
        "subagents": {},
    }
    if offers.runs:
        capabilities["terminal"] = True
    if offers.login_terminals:
        capabilities["auth"] = {"terminal": True}
        capabilities["_meta"] = {BY_PROGRAM: True}
    return capabilities


def _capabilities_of_2(offers: Offers) -> Mapping[str, Any]:
    login: Mapping[str, Any] = {"terminal": {}} if offers.login_terminals else {}
    return {"elicitation": ANY_ELICITATION, "auth": login}
