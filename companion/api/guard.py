"""Who may talk to the server: the names it has, the pages it knows, the token; reads no body."""

from __future__ import annotations

import hmac
from typing import AbstractSet, Mapping

from .refusal import FORBIDDEN, UNAUTHORIZED, Refusal

# Names under which a client on this machine knows a loopback server.
NAMES = ("127.0.0.1", "localhost", "[::1]")
# As an origin: every page may talk to the server, if it has the token.
ANY = "*"
METHODS = "GET, POST, OPTIONS"
HEADERS = "Authorization, Content-Type, Last-Event-ID"
# Seconds for which a browser need not ask again.
MAX_AGE = "600"


class Guard:
    """`origins` are those of pages that may talk to the server beside its own, or ANY."""

    def __init__(self, token: str, port: int, origins: AbstractSet[str] = frozenset()) -> None:
        names = {f"{name}:{port}" for name in NAMES}
        self._hosts = names | (set(NAMES) if port == 80 else set())
        self._own = {f"http://{host}" for host in self._hosts}
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._authorization = ("Bearer " + token).encode("ascii")

    def check_place(self, headers: Mapping[str, str]) -> None:
        """Raises Refusal for another Host, and for a page that is not known."""
        if headers.get("Host", "").lower() not in self._hosts:
            raise Refusal(FORBIDDEN, "host_refused")
        origin = headers.get("Origin")
        if origin is not None and not self._knows(origin.lower()):
            raise Refusal(FORBIDDEN, "origin_refused")

    def check_token(self, headers: Mapping[str, str]) -> None:
        """Raises Refusal without the token."""
        given = headers.get("Authorization", "")
        scheme, _blank, rest = given.partition(" ")
        # The scheme's name is written in either case, says HTTP.
        normal = ("Bearer " if scheme.lower() == "bearer" else scheme + " ") + rest.strip()
        if not hmac.compare_digest(normal.encode("utf-8", "surrogateescape"), self._authorization):
            raise Refusal(UNAUTHORIZED)

    def cors(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers that let a known page read the answer; only `Vary` for everybody else."""
        origin = headers.get("Origin")
        if origin is None or not self._knows(origin.lower()):
            return {"Vary": "Origin"}
        return {"Vary": "Origin", "Access-Control-Allow-Origin": origin}

    def preflight(self, headers: Mapping[str, str]) -> dict[str, str]:
        """What a browser asks before it lets a page send something; the same for all paths, for it
        comes without the token. So there is no `Allow`, which would have to be the path's own."""
        allowed = self.cors(headers)
        if "Access-Control-Allow-Origin" not in allowed:
            return allowed
        allowed["Access-Control-Allow-Methods"] = METHODS
        allowed["Access-Control-Allow-Headers"] = HEADERS
        allowed["Access-Control-Max-Age"] = MAX_AGE
        if headers.get("Access-Control-Request-Private-Network") == "true":
            allowed["Access-Control-Allow-Private-Network"] = "true"
        return allowed

    def _knows(self, origin: str) -> bool:
        return origin in self._own or origin in self._origins or ANY in self._origins
