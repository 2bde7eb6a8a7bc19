"""Limits the requests of each caller in a minute. Knows no requests, only callers."""

from __future__ import annotations

import math
import time
from collections import OrderedDict

from ..contract.refusal import RATE_LIMITED, Refusal

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
