"""The routes of the extension's program: it and the server prove themselves to each other, then it
passes on a hook, or a message for the tool server. Only the handshake is answered without a proof.

Source: docs/protocol.md 9.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any, Awaitable, Callable, NamedTuple, cast
from weakref import WeakKeyDictionary

from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response

from ...base import http_server
from ...base.connection import Connection
from ...base.http_server import HttpServer, small_answer
from ...base.jsonrpc import RpcError, encode_json, load_json
from ...base.memory_budget import MemoryBudget, MemoryShare
from .. import answers
from ..answers import HttpRefusal
from ..clis import CLIS, Cli
from ..hook_events import BadHook
from .handshake import NONCE, Claim, Handshake, digest_of
from .hook_desk import HookDesk, NotConnected

# What the program asks with its nonce first; then one of the others on the same connection.
PATH = "/extension"
HOOKS, TOOLS = f"{PATH}/hooks", f"{PATH}/tools"
METHODS = {PATH: "GET", HOOKS: "POST", TOOLS: "POST"}
# The headers with the program's nonce, and with the proof of an answer.
NONCE_HEADER, PROOF_HEADER = "Companion-Nonce", "Companion-Proof"


class BodyLimits(NamedTuple):
    """The most bytes of a body; from how many on its long strings are cut; and the budget."""

    body: int
    large: int
    memory: MemoryBudget


class ExtensionTransport:
    """The extension's routes on one endpoint. `answer_tools` answers a message for the tool server
    `editor`, if it needs an answer; it raises RpcError."""

    def __init__(
        self,
        hooks: HookDesk,
        answer_tools: Callable[[Any], Awaitable[bytes | None]],
        limits: BodyLimits,
    ) -> None:
        # Each start of the server has its own: the program reads it from the file each time.
        self.key = secrets.token_hex(32)
        self._hooks = hooks
        self._answer_tools = answer_tools
        self._limits = limits
        self._exchanges: WeakKeyDictionary[Connection, Handshake] = WeakKeyDictionary()

    async def answer_request(self, request: BaseRequest, server: HttpServer, port: int) -> Response:
        """The answer to a request for one of the paths. Raises Refused, HttpRefusal."""
        method = METHODS.get(request.path)
        if method is None:
            raise HttpRefusal(404, "Expected one of the paths {}.".format(", ".join(METHODS)))
        if request.method != method:
            raise HttpRefusal(405, f"Expected the method {method}.", method)
        connection = cast(Connection, request.protocol)
        if request.path == PATH:
            return self._greet_program(request, connection, port)
        # It counts once: what was sent before is worth nothing now.
        exchange = self._exchanges.pop(connection, None)
        claim = (
            exchange.verify_claim(request.path, _authorization_header(request))
            if exchange
            else None
        )
        if exchange is None or claim is None:
            raise HttpRefusal(401, "Expected a proof of the extension, after its nonce.")
        server.admit_request(request)
        status, body = await self._unsigned_answer(request, claim)
        headers = {**answers.JSON, PROOF_HEADER: exchange.prove_answer(status, body)}
        return small_answer(status, headers, body)

    def _greet_program(self, request: BaseRequest, connection: Connection, port: int) -> Response:
        nonce = request.headers.get(NONCE_HEADER, "")
        if not NONCE.fullmatch(nonce):
            raise HttpRefusal(400, f"Expected 32 digits of a nonce in {NONCE_HEADER}.")
        exchange = Handshake(self.key, port, nonce, secrets.token_hex(16))
        self._exchanges[connection] = exchange
        return small_answer(200, answers.JSON, encode_json(exchange.server_greeting()))

    async def _unsigned_answer(self, request: BaseRequest, claim: Claim) -> tuple[int, bytes]:
        """The status and the body of an answer that is signed."""
        try:
            value = await self._read_signed_body(request, claim)
            if request.path == TOOLS:
                return 200, await self._answer_tools(value) or b""
            return 200, await self._answer_hook(request, _claimed_cli(claim), value)
        except HttpRefusal as refusal:
            return refusal.status, refusal.sentence.encode("utf-8")
        except RpcError as error:
            return 400, error.encode()

    async def _read_signed_body(self, request: BaseRequest, claim: Claim) -> Any:
        """The parsed body, if it is the one that was signed. Raises Refused, HttpRefusal,
        RpcError."""
        small = http_server.small_body(request)
        if small is not None:
            _check_digest(digest_of(small), claim)
            return load_json(small)
        found = hashlib.sha256()
        with MemoryShare(self._limits.memory) as memory:
            limits = self._limits.body, memory, self._limits.large
            value = await http_server.read_json(request, *limits, watch=found.update)
        _check_digest(found.hexdigest(), claim)
        return value

    async def _answer_hook(self, request: BaseRequest, cli: Cli, value: Any) -> bytes:
        """Raises HttpRefusal."""

        def is_there() -> bool:
            return request.transport is not None and not request.transport.is_closing()

        try:
            return encode_json(await self._hooks.answer_hook(cli, value, is_there))
        except BadHook as error:
            raise HttpRefusal(400, str(error)) from None
        except NotConnected:
            raise HttpRefusal(421, "Expected a CLI that is connected to this window.") from None


def _authorization_header(request: BaseRequest) -> str:
    return str(request.headers.get("Authorization", ""))


def _check_digest(digest: str, claim: Claim) -> None:
    """Raises HttpRefusal."""
    if digest != claim.digest:
        raise HttpRefusal(401, "Expected the body that was signed.")


def _claimed_cli(claim: Claim) -> Cli:
    """Raises HttpRefusal."""
    found = next((cli for cli in CLIS if cli.id == claim.cli_id), None)
    if found is None:
        raise HttpRefusal(400, "Expected the id of a CLI that is known here.")
    return found
