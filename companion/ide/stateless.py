"""Requests of MCP 2026-07-28, each of which stands for itself: what their head and their `_meta`
have to say, and what that version adds to a result. Knows no method and no HTTP.

Source: MCP 2026-07-28, "Streamable HTTP: Request Metadata" and "Server Validation", "Overview:
`_meta`", "Versioning and Compatibility".
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any, Mapping, NamedTuple, Sequence

from ..base.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    Id,
    Notification,
    Request,
    RpcError,
    encode_json,
    kind_of_value,
    message_in,
)
from ..base.large_json import TruncatedString

VERSION = "2026-07-28"
# MCP 2026-07-28, "Overview: Error Codes".
HEADER_MISMATCH = -32020
MISSING_CLIENT_CAPABILITY = -32021
UNSUPPORTED_PROTOCOL_VERSION = -32022

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
# The extension by which a client asks for diffs and for the context (docs/adr/0025).
EXTENSION = "gemini-companion/ide"
# The most characters of the name that a client gives itself in the extension.
MAX_NAME = 200
# By method, the member of `params` that the header Mcp-Name repeats.
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
# Milliseconds for which a client may keep what `server/discover` says: it does not change while the
# server runs.
DISCOVERY_TTL = 3_600_000
# How the ids of the sessions of askers begin. Those of other sessions are hexadecimal.
ASKER = "asker-"
# What stands around a value that is no plain ASCII.
_ENCODED = ("=?base64?", "?=")


class Head(NamedTuple):
    """What the headers of a request repeat of its body: all values of each header."""

    versions: Sequence[str]
    methods: Sequence[str]
    names: Sequence[str]


class Asker(NamedTuple):
    """Who is told of a decision: the client by the name that it gives itself with each request."""

    name: str

    def session_id(self, cli_id: str) -> str:
        """The id of its session. Clients with another token never share one."""
        whole = f"{cli_id}\0{self.name}".encode("utf-8", "surrogatepass")
        return ASKER + hashlib.sha256(whole).hexdigest()[:32]


class CheckedRequest(NamedTuple):
    """A checked request. `client` is the client's `clientInfo`, empty if it gives none; `asker` is
    None without the extension."""

    request: Request
    client: Mapping[str, Any]
    asker: Asker | None


def is_asker(session_id: str) -> bool:
    """Whether this is the session of a client that gives itself a name with each request."""
    return session_id.startswith(ASKER)


def unsupported_version(requested: str, supported: Sequence[str], id: Id | None = None) -> RpcError:
    """The answer to a request in another version, from which a client reads those that it may
    use."""
    return RpcError(
        UNSUPPORTED_PROTOCOL_VERSION,
        "Expected MCP-Protocol-Version to be one of {}.".format(", ".join(supported)),
        id,
        {"supported": list(supported), "requested": requested},
    )


def missing_extension(id: Id) -> RpcError:
    """The answer to a tool that only works for clients with the extension."""
    return RpcError(
        MISSING_CLIENT_CAPABILITY,
        f"Expected the extension {EXTENSION} among the client's capabilities: without it nobody"
        " could be told of the decision.",
        id,
        {"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
    )


def check_request(value: Any, head: Head, supported: Sequence[str]) -> CheckedRequest | None:
    """The request in the body; None for a notification, which needs no answer. Raises RpcError."""
    if isinstance(value, list):
        raise RpcError(INVALID_REQUEST, f"Expected one message; MCP {VERSION} has no batches.")
    told = message_in(value)
    if isinstance(told, Notification):
        if list(head.versions) != [VERSION]:
            raise unsupported_version("".join(head.versions[:1]), supported)
        return None
    if not isinstance(told, Request):
        raise RpcError(INVALID_REQUEST, "Expected a request or a notification.", told.id)
    meta = _version_checked(told, head, supported)
    capabilities = _required_object(told, meta, CLIENT_CAPABILITIES)
    client = _required_object(told, meta, CLIENT_INFO) if CLIENT_INFO in meta else {}
    _compare_header(told, "Mcp-Method", head.methods, told.method)
    if told.method in NAMED:
        _compare_header(told, "Mcp-Name", head.names, told.params.get(NAMED[told.method]))
    return CheckedRequest(told, client, _read_asker(told, capabilities))


def refuse_disguised(request: Request) -> None:
    """Raise RpcError for a request of this version whose header says another one, or none."""
    meta = request.params.get("_meta")
    if isinstance(meta, dict) and meta.get(PROTOCOL_VERSION) == VERSION:
        raise _header_mismatch(request, "MCP-Protocol-Version")


def _version_checked(request: Request, head: Head, supported: Sequence[str]) -> Mapping[str, Any]:
    """The request's `_meta`, once its version is the same as that of the header."""
    meta = request.params.get("_meta")
    version = meta.get(PROTOCOL_VERSION) if isinstance(meta, dict) else None
    if not isinstance(meta, dict) or not isinstance(version, str):
        if list(head.versions) != [VERSION]:
            raise unsupported_version("".join(head.versions[:1]), supported, request.id)
        raise _invalid_params(request, f'"{PROTOCOL_VERSION}" in "_meta" to be a string', version)
    _compare_header(request, "MCP-Protocol-Version", head.versions, version)
    if version != VERSION:
        raise unsupported_version(version, supported, request.id)
    return meta


def _required_object(request: Request, holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = holder.get(name)
    if not isinstance(found, dict):
        raise _invalid_params(request, f'"{name}" to be an object', found)
    return found


def _read_asker(request: Request, capabilities: Mapping[str, Any]) -> Asker | None:
    if "extensions" not in capabilities:
        return None
    extensions = _required_object(request, capabilities, "extensions")
    if EXTENSION not in extensions:
        return None
    name = _required_object(request, extensions, EXTENSION).get("client")
    if not isinstance(name, str) or isinstance(name, TruncatedString):
        raise _invalid_params(
            request, f'"client" of the extension {EXTENSION} to be a string', name
        )
    if not 0 < len(name) <= MAX_NAME:
        sentence = f'Expected "client" of {EXTENSION} to have 1 to {MAX_NAME} characters.'
        raise RpcError(INVALID_PARAMS, sentence, request.id)
    return Asker(name)


def _compare_header(request: Request, header: str, values: Sequence[str], expected: Any) -> None:
    """Raise RpcError unless the header is there once and repeats the body's value."""
    if not isinstance(expected, str):
        # The method says what is wrong with it.
        return
    if len(values) != 1 or _decode_header(values[0], header == "Mcp-Name") != expected:
        raise _header_mismatch(request, header)


def _decode_header(value: str, may_be_encoded: bool) -> str | None:
    """None for a value with characters that a header may not have."""
    if not value.isascii() or not value.isprintable():
        return None
    before, after = _ENCODED
    if not (may_be_encoded and value.startswith(before) and value.endswith(after)):
        return value
    try:
        return base64.b64decode(value[len(before) : -len(after)], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None


def _header_mismatch(request: Request, header: str) -> RpcError:
    sentence = f"Expected the header {header} once, with the value that the body has."
    return RpcError(HEADER_MISMATCH, sentence, request.id)


def _invalid_params(request: Request, expected: str, found: Any) -> RpcError:
    return RpcError(INVALID_PARAMS, f"Expected {expected}; got {kind_of_value(found)}.", request.id)


class Results:
    """What is added to the results of one server."""

    def __init__(self, server_info: Mapping[str, str]) -> None:
        self._meta = {SERVER_INFO: server_info}
        self._before = encode_json({"resultType": "complete", "_meta": self._meta})[:-1]

    def complete_result(self, result: bytes) -> bytes:
        """The result of a method, as JSON, with what each result has to have."""
        rest = result[1:]
        return self._before + (rest if rest == b"}" else b"," + rest)

    def cacheable_result(self, result: bytes, milliseconds: int, is_public: bool) -> bytes:
        """The complete result with hints: a client may keep it that long, and share it with others
        if it is public (MCP 2026-07-28, "Caching")."""
        hints = {"ttlMs": milliseconds, "cacheScope": "public" if is_public else "private"}
        return self.complete_result(encode_json(hints)[:-1] + (b"," + result[1:]))

    def discovery_result(self, told: Mapping[str, Any]) -> bytes:
        """The result of `server/discover`."""
        return self.cacheable_result(encode_json(told), DISCOVERY_TTL, is_public=True)

    def closing_result(self, id: Id) -> bytes:
        """The result of `subscriptions/listen`, which ends the stream."""
        return encode_json({"resultType": "complete", "_meta": {**self._meta, SUBSCRIPTION_ID: id}})
