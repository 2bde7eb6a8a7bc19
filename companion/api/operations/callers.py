"""Who makes a request: the name of its token, or else the address that it comes from; counted where
the operator wants it."""

from __future__ import annotations

import ipaddress
from typing import Any, Iterable, Union

from . import audit_log
from .rate_limit import RateLimit, RateLimited

Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]
FORWARDED = "X-Forwarded-For"
# What one network of a home or a company has of addresses of IPv6.
PREFIX = 64


class Callers:
    """`proxies` are those whose word counts for whom they speak for. `rate_limit` is in requests a
    minute of each caller, 0 for any number. `is_logged` says that an audit log is kept."""

    def __init__(self, proxies: Iterable[Network], rate_limit: int, is_logged: bool) -> None:
        self._proxies = tuple(proxies)
        self._limit = RateLimit(rate_limit) if rate_limit else None
        self._must_know = bool(rate_limit or is_logged)

    def count(self, token: str, request: Any) -> None:
        """A request of the HTTP library's, of whoever has the token of this name, "" for none.
        Raises RateLimited."""
        if not self._must_know:
            return
        address = self._address(request.headers, request.get_extra_info("peername"))
        audit_log.note(token=token or None, address=address)
        if self._limit is None:
            return
        try:
            self._limit.check(token or _network(address))
        except RateLimited as refusal:
            # Nobody fills the disk by being refused.
            if not refusal.is_first:
                audit_log.leave_out()
            raise

    def _address(self, headers: Any, peer: Any) -> str:
        """`headers` are the HTTP library's, with all lines of a name; `peer` is what a socket says,
        or None where the client has left already."""
        address = str(peer[0]) if peer else ""
        if address and self._is_proxy(address):
            # The last one is the proxy's own word, those before it are the client's.
            # Some proxies add it to the client's line, and some write one of their own below.
            told = ",".join(headers.getall(FORWARDED, ())).rpartition(",")[2].strip()
            if _is_address(told):
                return told
        return address

    def _is_proxy(self, address: str) -> bool:
        # With a zone, an address is of this link alone; a proxy there can be named without.
        plain = address.partition("%")[0]
        return any(ipaddress.ip_address(plain) in network for network in self._proxies)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _network(address: str) -> str:
    if ":" not in address:
        return address
    return str(ipaddress.ip_network(f"{address.partition('%')[0]}/{PREFIX}", strict=False))
