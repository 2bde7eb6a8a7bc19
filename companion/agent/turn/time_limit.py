"""Calls after a time that may have no end."""

from __future__ import annotations

import asyncio
import math
from typing import Any, Callable


def call_within(
    seconds: float, callback: Callable[..., object], *arguments: Any
) -> asyncio.TimerHandle | None:
    """The timer of the call, which comes after these seconds; None, and no call, if they are
    infinite."""
    if math.isinf(seconds):
        return None
    return asyncio.get_running_loop().call_later(seconds, callback, *arguments)
