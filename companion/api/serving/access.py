"""Who can reach the server and in which way, as the operator decided."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Iterable

from ...base.http_server import HOST, HTTP, HTTPS, USUAL_PORTS
from ..operations.callers import Network

if TYPE_CHECKING:
    from .certificate import Certificate

# The names of the two tokens, also in the audit log.
FULL, READ_ONLY = "full", "read-only"
# Enough for ten pages in browsers, and half of what all tokens have together.
CONNECTIONS = 64


@dataclass(frozen=True)
class Access:
    """`address` is the IP address to listen at. `names` are further host names of the server: NAME,
    or NAME:PORT if clients use another port than the server's own. `rate_limit` is the most
    requests of each caller in a minute, 0 for no limit. `audit_log` is a path, "" for none.
    `proxies` are trusted to say for which client they ask. `connections` are those that each
    token may have at a time."""

    address: str = HOST
    names: Iterable[str] = ()
    certificate: Certificate | None = None
    has_read_only_token: bool = False
    rate_limit: int = 0
    audit_log: str = ""
    proxies: Iterable[Network] = ()
    connections: int = CONNECTIONS

    @property
    def scheme(self) -> str:
        return HTTPS if self.certificate is not None else HTTP

    @property
    def is_on_loopback(self) -> bool:
        return ipaddress.ip_address(self.address).is_loopback

    def own_name(self) -> str:
        """The host in a URL for clients on this machine."""
        address = ipaddress.ip_address(self.address)
        if address.is_unspecified:
            address = ipaddress.ip_address("::1" if address.version == 6 else HOST)
        return f"[{address}]" if address.version == 6 else str(address)

    def host_headers(self, port: int) -> list[str]:
        """The Host headers of clients that use one of the `names`, if the server listens at the
        port."""
        return [host for name in self.names for host in _host_headers(name.lower(), port)]

    def own_origins(self, port: int) -> set[str]:
        """The origins of the server's own page under these names. A proxy may add TLS."""
        schemes = (HTTPS,) if self.certificate is not None else (HTTP, HTTPS)
        return {f"{scheme}://{host}" for scheme in schemes for host in self.host_headers(port)}


# For this machine alone, with one token.
LOCAL = Access()


def _host_headers(name: str, port: int) -> list[str]:
    host, colon, given = name.rpartition(":")
    if not colon or name.endswith("]"):
        # Behind a proxy at the usual port, the header has no port.
        return [f"{name}:{port}", name]
    return [name, host] if int(given) in USUAL_PORTS.values() else [name]
