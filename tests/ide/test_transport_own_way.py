"""The server on the wire where aiohttp's internals are not known: the same guards and limits."""

from __future__ import annotations

from ..support import AiohttpsOwnWay
from . import test_transport


class WhoIsSpeaking(AiohttpsOwnWay, test_transport.WhoIsSpeaking):
    pass


class WhoMayTalk(AiohttpsOwnWay, test_transport.WhoMayTalk):
    pass


class Strangers(AiohttpsOwnWay, test_transport.Strangers):
    pass


class WhatMayBeAsked(AiohttpsOwnWay, test_transport.WhatMayBeAsked):
    pass


class Bodies(AiohttpsOwnWay, test_transport.Bodies):
    pass


class Messages(AiohttpsOwnWay, test_transport.Messages):
    pass


class Streams(AiohttpsOwnWay, test_transport.Streams):
    pass


class TheEnd(AiohttpsOwnWay, test_transport.TheEnd):
    pass
