"""Requests that name themselves by an Idempotency-Key, so that a client that has lost the answer
can send them again: what was begun is never begun twice.

Answers are kept in memory only. To keep them over a restart, each would have to be on the disk
before it is sent.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from typing import Callable, Tuple

from ..contract.refusal import IDEMPOTENCY_MISMATCH, TOO_MANY, Refusal

# The most requests that are remembered, the most that run at a time, the bytes of all their
# answers, and of one; and the seconds for which they are remembered.
MAX_ATTEMPTS, MAX_RUNNING = 1000, 128
MAX_BYTES, MAX_ANSWER = 32 << 20, 8 << 20
LIFETIME = 24 * 3600.0
# Of a token's id and a key.
Name = Tuple[str, str]


@dataclass(frozen=True)
class KeptAnswer:
    status: int
    body: bytes
    media_type: str


class Attempt:
    """One request. `turn_id` is the turn that it began, `kept` its answer once there is one.
    `is_void` says that it did nothing, so that it may be made again."""

    def __init__(self, fingerprint: bytes) -> None:
        self.fingerprint = fingerprint
        self.begun = time.monotonic()
        self.turn_id = ""
        self.kept: KeptAnswer | None = None
        self.is_void = self._is_done = False
        self._has_turn, self._is_over = asyncio.Event(), asyncio.Event()

    @property
    def is_over(self) -> bool:
        return self._is_over.is_set()

    @property
    def size(self) -> int:
        return 0 if self.kept is None else len(self.kept.body)

    def has_begun(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self._has_turn.set()

    def keep_answer(self, answer: KeptAnswer) -> None:
        self._is_done = True
        self.kept = answer if len(answer.body) <= MAX_ANSWER else None

    def end(self) -> None:
        """The request is over, with whatever came of it."""
        self.is_void = not self._is_done and not self.turn_id
        self._has_turn.set()
        self._is_over.set()

    async def has_turn(self) -> None:
        """Wait until it has begun a turn or is over."""
        await self._has_turn.wait()

    async def wait_until_over(self) -> None:
        await self._is_over.wait()


class Attempts:
    """All methods are called on one loop."""

    def __init__(self) -> None:
        # The oldest first.
        self._by_name: dict[Name, Attempt] = {}

    def find_attempt(self, owner: str, key: str, fingerprint: bytes) -> tuple[Attempt, bool]:
        """The request with this key of this token, and whether it is a new one. `fingerprint`
        stands for all that it asks. Raises Refusal for a key that was used for something else."""
        self._sweep_old()
        known = self._by_name.get((owner, key))
        if known is None or known.is_void:
            running = sum(not attempt.is_over for attempt in self._by_name.values())
            if running >= MAX_RUNNING:
                raise Refusal(TOO_MANY, "busy")
            self._by_name.pop((owner, key), None)
            known = self._by_name[owner, key] = Attempt(fingerprint)
            return known, True
        if known.fingerprint != fingerprint:
            raise Refusal(IDEMPOTENCY_MISMATCH, field="Idempotency-Key")
        return known, False

    def _sweep_old(self) -> None:
        """Forget what is old, and what is too much. What runs is never forgotten."""
        latest = time.monotonic() - LIFETIME
        for name, each in list(self._by_name.items()):
            if each.is_over and (each.is_void or each.begun < latest):
                del self._by_name[name]
        self._forget_heaviest(lambda each: 1, MAX_ATTEMPTS - 1)
        self._forget_heaviest(lambda each: each.size, MAX_BYTES)

    def _forget_heaviest(self, weight: Callable[[Attempt], int], limit: int) -> None:
        """Forget the oldest of who has the most, so that nobody makes the server forget others'."""
        excess = sum(map(weight, self._by_name.values())) - limit
        if excess <= 0:
            return
        over = {
            name: weight(attempt)
            for name, attempt in self._by_name.items()
            if attempt.is_over and weight(attempt)
        }
        shares: Counter[str] = Counter()
        for (owner, _key), each in over.items():
            shares[owner] += each
        while excess > 0 and over:
            owner = max(shares, key=lambda owner: shares[owner])
            name = next(name for name in over if name[0] == owner)
            del self._by_name[name]
            excess -= over[name]
            shares[owner] -= over.pop(name)
