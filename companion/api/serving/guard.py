"""Decides who may use the API: clients with a token, under a host name that the operator knows,
from the server's own page or an allowed origin."""

from __future__ import annotations

from typing import AbstractSet, Mapping

from ...base import http_server
from ...base.http_server import Refused
from .access import LOCAL, Access

# Names of a loopback server for clients on this machine.
NAMES = ("127.0.0.1", "localhost", "[::1]")
# As an origin: every page may use the API, if it has the token.
ANY = "*"
METHODS = "GET, POST, PATCH, DELETE, OPTIONS"
# Headers of answers that pages may read, beside those that they always may.
EXPOSED = "Retry-After, X-Request-Id"
# Seconds for which a browser need not ask again.
MAX_AGE = "600"
# For a year, a browser asks for this name with TLS only.
ENCRYPTED = {"Strict-Transport-Security": "max-age=31536000"}


class Guard(http_server.Guard):
    """`tokens` are by name. `origins` are those of allowed web pages beside the server's own, or
    ANY."""

    def __init__(
        self,
        tokens: Mapping[str, str],
        port: int,
        origins: AbstractSet[str] = frozenset(),
        access: Access = LOCAL,
    ) -> None:
        names = {*NAMES, access.own_name()}
        origins_of_all = origins | access.origins(port)
        hosts = access.hosts(port)
        super().__init__(tokens.values(), port, names, origins_of_all, hosts, access.scheme)
        self._names = tuple(tokens)
        # The header counts for all ports of a name, and other servers on this machine share its
        # loopback names.
        encrypted = hosts if access.certificate is not None else ()
        self._encrypted = {it for it in encrypted if not it.startswith(NAMES)}
        self._allows_any = ANY in origins

    def name_of(self, headers: Mapping[str, str]) -> str:
        """The name of the client's token; "" if it has none."""
        try:
            return self._names[self.check_token(headers)]
        except Refused:
            return ""

    def knows(self, origin: str) -> bool:
        return self._allows_any or super().knows(origin)

    def encrypted(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        """The header that makes browsers use TLS for this name from now on, if the server itself
        has TLS."""
        return ENCRYPTED if headers.get("Host", "").lower() in self._encrypted else {}

    def cors(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers that let an allowed page read the answer; only `Vary` for all others."""
        origin = headers.get("Origin")
        if origin is None or not self.knows(origin):
            return {"Vary": "Origin"}
        return {
            "Vary": "Origin",
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Expose-Headers": EXPOSED,
        }

    def preflight(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The answer to a browser that asks before a page sends a request. It is the same for all
        paths, because the question comes without the token; so it has no `Allow`, which depends on
        the path."""
        allowed = self.cors(headers)
        if "Access-Control-Allow-Origin" not in allowed:
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
