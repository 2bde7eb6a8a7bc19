"""Decides who may use the API: clients with a token, under a host name that the operator knows,
from the server's own page or an allowed origin."""

from __future__ import annotations

from contextlib import suppress
from typing import AbstractSet, Mapping

from ...base import http_server
from ...base.http_server import Refused
from ..contract.scopes import GRANTED, READ
from ..operations.tokens import NOBODY, Caller, Tokens
from .access import FULL, LOCAL, READ_ONLY, Access

# Names of a loopback server for clients on this machine.
NAMES = ("127.0.0.1", "localhost", "[::1]")
# As an origin: every page may use the API, if it has the token.
ANY = "*"
ALLOWED = "Access-Control-Allow-Origin"
METHODS = "GET, POST, PATCH, DELETE, OPTIONS"
# Headers of answers that pages may read, beside those that they always may.
EXPOSED = "Retry-After, X-Request-Id, Idempotency-Replayed, X-Should-Retry"
# Seconds for which a browser need not ask again.
MAX_AGE = "600"
# For a year, a browser asks for this name with TLS only.
ENCRYPTED = {"Strict-Transport-Security": "max-age=31536000"}


# Who has the tokens of the state folder's files.
CALLERS = {
    FULL: Caller(FULL, FULL, frozenset(GRANTED)),
    READ_ONLY: Caller(READ_ONLY, READ_ONLY, frozenset((READ,))),
}


class ApiGuard(http_server.Guard):
    """`tokens` are those of files, by their names in CALLERS; `named` are the others. `origins` are
    those of allowed web pages beside the server's own, or ANY."""

    def __init__(
        self,
        tokens: Mapping[str, str],
        named: Tokens,
        port: int,
        origins: AbstractSet[str] = frozenset(),
        access: Access = LOCAL,
    ) -> None:
        names = {*NAMES, access.own_name()}
        origins_of_all = origins | access.own_origins(port)
        hosts = access.host_headers(port)
        super().__init__(tokens.values(), port, names, origins_of_all, hosts, access.scheme)
        self._names = tuple(tokens)
        self._named = named
        # The header counts for all ports of a name, and other servers on this machine share its
        # loopback names.
        encrypted = hosts if access.certificate is not None else ()
        self._encrypted = {host for host in encrypted if not host.startswith(NAMES)}
        self._allows_any = ANY in origins

    async def caller_of(self, headers: Mapping[str, str]) -> Caller:
        """Whose token the client has; NOBODY if it has none."""
        caller = NOBODY
        with suppress(Refused):
            caller = CALLERS[self._names[self.check_token(headers)]]
        # Another server may have given this token, or withdrawn one whose requests run here.
        if caller == NOBODY or any(self._named):
            await self._named.refresh()
        if caller == NOBODY:
            caller = self._named.holder_of(
                http_server.bearer_token(headers.get("Authorization", ""))
            )
        return caller

    def knows(self, origin: str) -> bool:
        return self._allows_any or super().knows(origin)

    def headers_for(self, headers: Mapping[str, str]) -> dict[str, str]:
        """What the answer to a request with these headers says: to an allowed page, that it may
        read the answer; and to browsers, to use TLS for this name from now on, if the server itself
        has TLS."""
        told = {"Vary": "Origin"}
        origin = headers.get("Origin")
        if origin is not None and self.knows(origin):
            told.update({ALLOWED: origin, "Access-Control-Expose-Headers": EXPOSED})
        if headers.get("Host", "").lower() in self._encrypted:
            told.update(ENCRYPTED)
        return told

    def preflight_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The answer to a browser that asks before a page sends a request. It is the same for all
        paths, because the question comes without the token; so it has no `Allow`, which depends on
        the path."""
        allowed = self.headers_for(headers)
        if ALLOWED not in allowed:
            return allowed
        allowed["Access-Control-Allow-Methods"] = METHODS
        # Libraries send headers of their own, such as `X-Stainless-OS`. None of them gives access.
        asked = headers.get("Access-Control-Request-Headers")
        if asked:
            allowed["Access-Control-Allow-Headers"] = asked
        allowed["Access-Control-Max-Age"] = MAX_AGE
        if headers.get("Access-Control-Request-Private-Network") == "true":
            allowed["Access-Control-Allow-Private-Network"] = "true"
        return allowed
