"""The API's guard and its limits where aiohttp's internals are not known."""

from __future__ import annotations

from ..support import AiohttpsOwnWay
from . import test_guard


class Guarded(AiohttpsOwnWay, test_guard.Guarded):
    pass


class Limits(AiohttpsOwnWay, test_guard.Limits):
    pass
