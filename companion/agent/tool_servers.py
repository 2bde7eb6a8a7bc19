"""The tool servers (MCP) that a conversation brings along: checked, and in the form of the agent's
protocol.

Source: the Agent Client Protocol's session/new; docs/gemini-cli-acp.md 11.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

from .acp.messages import AgentCapabilities
from .failure import VALIDATION_ERROR, AgentError
from .sentence import sentence

STDIO, HTTP = "stdio", "http"


@dataclass(frozen=True)
class ToolServer:
    """`kind` is STDIO or HTTP. `params` are the parameters for session/new; they contain secrets
    and must go only to the agent."""

    name: str
    kind: str
    params: Mapping[str, Any] = field(repr=False)

    @property
    def has_headers(self) -> bool:
        return bool(self.params.get("headers"))


def read_servers(given: Sequence[Mapping[str, Any]]) -> tuple[ToolServer, ...]:
    """Reads members `{name, command, args, env}` and `{type: "http", name, url, headers}`; lists
    may be missing. Raises AgentError if a name occurs twice."""
    servers = tuple(_read_server(each) for each in given)
    names = [server.name for server in servers]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        told = sentence("Expected each tool server once; {name} is given twice.", name=twice)
        raise AgentError(VALIDATION_ERROR, told)
    return servers


def check_servers(servers: Sequence[ToolServer], capabilities: AgentCapabilities) -> None:
    """Raises AgentError if an agent with these capabilities cannot use one of the servers."""
    takes_http = capabilities.mcp_http
    refused = next((server for server in servers if server.kind == HTTP and not takes_http), None)
    if refused is not None:
        told = sentence(
            "This agent cannot use tool servers over HTTP, such as {name}.", name=refused.name
        )
        raise AgentError(VALIDATION_ERROR, told)


def joined_servers(
    own: Sequence[ToolServer], lent: Sequence[ToolServer], capabilities: AgentCapabilities
) -> tuple[ToolServer, ...]:
    """A conversation's own servers, and of the lent ones those that an agent with these
    capabilities can use, and whose names are free."""
    names = {each.name for each in own}
    usable = [server for server in lent if server.kind != HTTP or capabilities.mcp_http]
    return (*own, *(server for server in usable if server.name not in names))


def as_text(servers: Sequence[ToolServer]) -> str:
    """The text for the file."""
    return json.dumps([server.params for server in servers], ensure_ascii=False)


def from_text(text: str) -> tuple[ToolServer, ...]:
    """The servers in a text of `as_text`; none if it is damaged."""
    try:
        return read_servers(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, AgentError):
        return ()


def _read_server(given: Mapping[str, Any]) -> ToolServer:
    name = given["name"]
    if given.get("type") == HTTP:
        headers = _name_value_pairs(given.get("headers"))
        params = {"type": HTTP, "name": name, "url": given["url"], "headers": headers}
        return ToolServer(name, HTTP, params)
    env = _name_value_pairs(given.get("env"))
    args = list(given.get("args") or ())
    return ToolServer(
        name, STDIO, {"name": name, "command": given["command"], "args": args, "env": env}
    )


def _name_value_pairs(given: Any) -> list[Mapping[str, str]]:
    return [{"name": each["name"], "value": each["value"]} for each in given or ()]
