"""Keeps a conversation for one message, until its turn begins."""

from __future__ import annotations

import asyncio
from typing import Any, Coroutine

from ..failure import NOT_SENT, AgentError
from ..sentence import sentence

NOT_BEGUN = sentence("The message was cancelled before it was sent.")


class Reservation:
    """`is_cancelled` says that the message must not be sent any more."""

    def __init__(self) -> None:
        self.is_held = self.is_cancelled = False
        self._preparing: asyncio.Future[None] | None = None

    def take(self) -> None:
        self.is_held = True

    def release(self) -> None:
        self.is_held = self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = self.is_held
        if self._preparing is not None:
            self._preparing.cancel()

    async def wait_until_ready(self, preparing: Coroutine[Any, Any, None]) -> None:
        """Until the message can be sent, for example because its agent has started. Raises
        AgentError, code NOT_SENT if the message is cancelled first."""
        self._preparing = asyncio.ensure_future(preparing)
        try:
            await self._preparing
        except asyncio.CancelledError:
            if not self.is_cancelled:
                raise
            raise AgentError(NOT_SENT, NOT_BEGUN) from None
        finally:
            self._preparing = None
