"""From where the server may be reached, and how much of it is told to whom: what the operator
decides, as values."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Iterable

from ...base.http_server import HOST, HTTP, HTTPS, USUAL_PORTS
from ..operations.callers import Network

if TYPE_CHECKING:
    from .certificate import Certificate

# The names of the two tokens, in the audit log as well.
FULL, READ_ONLY = "full", "read-only"


@dataclass(frozen=True)
class Access:
    """`address` is the IP address to listen at. `names` are further ones by which clients call the
    server: NAME, or NAME:PORT where it is another port than the server's own. `rate_limit` is in
    requests a minute of each caller, 0 for any number. `audit_log` is a path, or "" for none.
    `proxies` are those that are believed whom they speak for."""

    address: str = HOST
    names: Iterable[str] = ()
    certificate: Certificate | None = None
    has_read_only_token: bool = False
    rate_limit: int = 0
    audit_log: str = ""
    proxies: Iterable[Network] = ()

    @property
    def scheme(self) -> str:
        return HTTPS if self.certificate is not None else HTTP

    @property
    def is_on_loopback(self) -> bool:
        return ipaddress.ip_address(self.address).is_loopback

    def own_name(self) -> str:
        """The host of a URL that leads here from this machine."""
        address = ipaddress.ip_address(self.address)
        if address.is_unspecified:
            address = ipaddress.ip_address("::1" if address.version == 6 else HOST)
        return f"[{address}]" if address.version == 6 else str(address)

    def hosts(self, port: int) -> list[str]:
        """What a client that uses one of the `names` may have in its Host header, where the server
        listens at the port."""
        return [host for name in self.names for host in _hosts(name.lower(), port)]

    def origins(self, port: int) -> set[str]:
        """Those of the server's own page under these names. A proxy may speak TLS for it."""
        schemes = (HTTPS,) if self.certificate is not None else (HTTP, HTTPS)
        return {f"{scheme}://{host}" for scheme in schemes for host in self.hosts(port)}


# This machine alone, by the one token.
LOCAL = Access()


def _hosts(name: str, port: int) -> list[str]:
    host, colon, given = name.rpartition(":")
    if not colon or name.endswith("]"):
        # Behind a proxy with the usual port there is none in the header.
        return [f"{name}:{port}", name]
    return [name, host] if int(given) in USUAL_PORTS.values() else [name]
