"""Who may talk to the API: clients with one of the tokens, by a name that the operator knows; its
own page, and those of the origins that they named."""

from __future__ import annotations

from typing import AbstractSet, Mapping

from ...base import http_server
from ...base.http_server import Refused
from .access import LOCAL, Access

# Names under which a client on this machine knows a loopback server.
NAMES = ("127.0.0.1", "localhost", "[::1]")
# As an origin: every page may talk to the server, if it has the token.
ANY = "*"
METHODS = "GET, POST, PATCH, DELETE, OPTIONS"
# Of answers, beside those that every page may read.
EXPOSED = "Retry-After, X-Request-Id"
# Seconds for which a browser need not ask again.
MAX_AGE = "600"
# For a year, a browser that was here asks for this name by TLS alone.
ENCRYPTED = {"Strict-Transport-Security": "max-age=31536000"}


class Guard(http_server.Guard):
    """`tokens` are known by their names. `origins` are those of pages that may talk to the server
    beside its own, or ANY."""

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
        # The names of this machine are those of other servers on it, too, on any port.
        encrypted = hosts if access.certificate is not None else ()
        self._encrypted = {it for it in encrypted if not it.startswith(NAMES)}
        self._allows_any = ANY in origins

    def name_of(self, headers: Mapping[str, str]) -> str:
        """The name of the client's token; "" where it has none."""
        try:
            return self._names[self.check_token(headers)]
        except Refused:
            return ""

    def knows(self, origin: str) -> bool:
        return self._allows_any or super().knows(origin)

    def encrypted(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        """The header that keeps a browser from asking for this name without TLS, where that is the
        server's own."""
        return ENCRYPTED if headers.get("Host", "").lower() in self._encrypted else {}

    def cors(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers that let a known page read the answer; only `Vary` for everybody else."""
        origin = headers.get("Origin")
        if origin is None or not self.knows(origin):
            return {"Vary": "Origin"}
        return {
            "Vary": "Origin",
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Expose-Headers": EXPOSED,
        }

    def preflight(self, headers: Mapping[str, str]) -> dict[str, str]:
        """What a browser asks before it lets a page send something; the same for all paths, for it
        comes without the token. So there is no `Allow`, which would have to be the path's own."""
        allowed = self.cors(headers)
        if "Access-Control-Allow-Origin" not in allowed:
            return allowed
        allowed["Access-Control-Allow-Methods"] = METHODS
        # Libraries have headers of their own, as `X-Stainless-OS`; none of them lets anybody in.
        asked = headers.get("Access-Control-Request-Headers")
        if asked:
            allowed["Access-Control-Allow-Headers"] = asked
        allowed["Access-Control-Max-Age"] = MAX_AGE
        if headers.get("Access-Control-Request-Private-Network") == "true":
            allowed["Access-Control-Allow-Private-Network"] = "true"
        return allowed
