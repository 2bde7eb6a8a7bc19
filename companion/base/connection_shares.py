"""How the connections with a token are shared among the tokens, and what is kept for urgent
requests. Knows no sockets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

# The most connections with the token at a time; a CLI keeps two or three, a web page six.
MAX_CONNECTIONS = 128


class NoPlace(Exception):
    """`is_own` says that it is the holder who has too many."""

    def __init__(self, is_own: bool) -> None:
        super().__init__(is_own)
        self.is_own = is_own


@dataclass(frozen=True)
class ConnectionPlace:
    """What a connection was admitted for: whose requests, and whether urgent ones alone."""

    holder: str
    is_urgent: bool

    def serves(self, holder: str, is_urgent: bool) -> bool:
        return self.holder == holder and (is_urgent or not self.is_urgent)


@dataclass(frozen=True)
class ConnectionShares:
    """How many of MAX_CONNECTIONS each holder may have: `each`, and `each_urgent` more for urgent
    requests. `urgent` of all are kept for urgent ones."""

    each: int = MAX_CONNECTIONS
    each_urgent: int = 0
    urgent: int = 0

    def find_place(
        self, taken: Sequence[ConnectionPlace], holder: str, is_urgent: bool
    ) -> ConnectionPlace:
        """A place beside those that are taken. Raises NoPlace."""
        if not (self.has_room(taken) or is_urgent and len(taken) < MAX_CONNECTIONS):
            raise NoPlace(is_own=False)
        limit = self.each + (self.each_urgent if is_urgent else 0)
        if sum(place.holder == holder for place in taken) >= limit:
            raise NoPlace(is_own=True)
        return ConnectionPlace(holder, is_urgent)

    def has_room(self, taken: Sequence[ConnectionPlace]) -> bool:
        """Whether there is one more for a request that is not urgent."""
        return len(taken) < MAX_CONNECTIONS - self.urgent
