"""What a debug mode of asyncio checks, without what it costs.

unittest switches that mode on for its loops. There each callback, future and coroutine notes the
stack that made it, which takes half of the processor time of such a test. Which thread calls and
what it hands over is checked here just the same. PYTHONASYNCIODEBUG=1 gives a run the stacks.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

IS_CHECKED = "_is_checked_without_stacks"


def are_stacks_wanted() -> bool:
    return bool(os.environ.get("PYTHONASYNCIODEBUG")) or sys.flags.dev_mode


def check_without_stacks() -> None:
    """From now on, for each loop that is set to debug mode."""
    loop: Any = asyncio.BaseEventLoop
    plain_set_debug = loop.set_debug

    def set_debug(self: Any, enabled: bool) -> None:
        plain_set_debug(self, False)
        setattr(self, IS_CHECKED, enabled)

    def checked(name: str, position: int) -> Any:
        plain = getattr(loop, name)

        def call(self: Any, *args: Any, **options: Any) -> Any:
            if getattr(self, IS_CHECKED, False):
                self._check_thread()
                self._check_callback(args[position], name)
            return plain(self, *args, **options)

        return call

    loop.set_debug = set_debug
    loop.call_soon, loop.call_at = checked("call_soon", 0), checked("call_at", 1)
