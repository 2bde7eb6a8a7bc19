"""Who makes a request: the name of its token, or else its address. Requests are counted if the
operator limits them."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from typing import Any, Iterable, Union

from ..contract.refusal import RATE_LIMITED, Refusal
from . import audit_log

Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]
FORWARDED = "X-Forwarded-For"
# The prefix of an IPv6 network as a home or a company gets it.
PREFIX = 64
# The most callers that are remembered; the ones silent for longest are forgotten first.
MAX_CALLERS = 4096


class RateLimited(Refusal):
    """`is_first` says that the caller's previous request was allowed."""

    def __init__(self, limit: int, seconds: int, is_first: bool) -> None:
        super().__init__(RATE_LIMITED, limit=limit, seconds=seconds)
        self.retry_after = seconds
        self.is_first = is_first


class RateLimit:
    """A caller may make `limit` requests at once, and then as many in each minute."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # For each caller: the requests left, when that was computed, and whether one was refused
        # since the last allowed one. The caller silent for longest comes first.
        self._callers: OrderedDict[str, tuple[float, float, bool]] = OrderedDict()

    def count_request(self, caller: str) -> None:
        """Count a request. Raises RateLimited if it is one too many."""
        now, each = time.monotonic(), 60 / self._limit
        allowed, then, was_refused = self._callers.pop(caller, (self._limit, now, False))
        allowed = min(self._limit, allowed + (now - then) / each)
        is_refused = allowed < 1
        self._callers[caller] = (allowed - (not is_refused), now, is_refused)
        if len(self._callers) > MAX_CALLERS:
            self._callers.popitem(last=False)
        if is_refused:
            seconds = max(1, math.ceil((1 - allowed) * each))
            raise RateLimited(self._limit, seconds, not was_refused)


class Callers:
    """`proxies` are trusted to say for which client they ask. `rate_limit` is the most requests of
    each caller in a minute, 0 for no limit."""

    def __init__(self, proxies: Iterable[Network], rate_limit: int) -> None:
        self._proxies = tuple(proxies)
        self._limit = RateLimit(rate_limit) if rate_limit else None

    def count_request(self, token: str, request: Any) -> None:
        """Count an HTTP request by the name of its token, "" if it has none. Raises RateLimited."""
        address = self._client_address(request.headers, request.get_extra_info("peername"))
        audit_log.note_members(token=token or None, address=address)
        if self._limit is None:
            return
        try:
            self._limit.count_request(token or _client_network(address))
        except RateLimited as refusal:
            # Refused requests must not fill the disk with log lines.
            if not refusal.is_first:
                audit_log.leave_out()
            raise

    def _client_address(self, headers: Any, peer: Any) -> str:
        """The client's address. `headers` keep all lines of a name; `peer` is the socket's address,
        None if the client has left."""
        address = str(peer[0]) if peer else ""
        if address and self._is_proxy(address):
            # The proxy wrote the last address; the client may have made up the others. Some
            # proxies append theirs to the client's line, others add a line of their own.
            told = ",".join(headers.getall(FORWARDED, ())).rpartition(",")[2].strip()
            if _is_address(told):
                return told
        return address

    def _is_proxy(self, address: str) -> bool:
        # An address with a zone belongs to one link; the operator names proxies without it.
        plain = address.partition("%")[0]
        return any(ipaddress.ip_address(plain) in network for network in self._proxies)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _client_network(address: str) -> str:
    if ":" not in address:
        return address
    return str(ipaddress.ip_network(f"{address.partition('%')[0]}/{PREFIX}", strict=False))
