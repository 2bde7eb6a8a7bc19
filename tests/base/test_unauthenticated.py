"""Connections without the token: how many, how long, how much of them."""

from __future__ import annotations

import asyncio
import unittest
from unittest import mock

from GeminiCompanion.companion.base import unauthenticated
from GeminiCompanion.companion.base.unauthenticated import (
    MAX_BYTES,
    UnauthenticatedConnections,
    UnauthenticatedProtocol,
)


class Unauthenticated(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.connections = UnauthenticatedConnections(2)

    def connect(self) -> tuple[UnauthenticatedProtocol, mock.Mock, mock.Mock]:
        """The connection, what is behind it and its transport."""
        inner, transport = mock.Mock(), mock.Mock(asyncio.Transport)
        connection = UnauthenticatedProtocol(self.connections, inner)
        connection.connection_made(transport)
        return connection, inner, transport

    async def test_as_many_as_the_limit_wait_and_one_more_ends_the_oldest(self) -> None:
        aborted = [transport.abort for _, _, transport in (self.connect(), self.connect())]
        self.assertEqual([call.call_count for call in aborted], [0, 0])
        self.connect()
        self.assertEqual([call.call_count for call in aborted], [1, 0])
        self.assertEqual(len(self.connections), 2)

    async def test_one_that_shows_the_token_makes_room(self) -> None:
        connection, inner, first = self.connect()
        _, _, second = self.connect()
        connection.lift_limits()
        self.connect()
        self.assertEqual((first.abort.call_count, second.abort.call_count), (0, 0))
        first.set_protocol.assert_called_once_with(inner)

    async def test_one_that_leaves_makes_room(self) -> None:
        connection, inner, _ = self.connect()
        connection.connection_lost(None)
        self.assertEqual(len(self.connections), 0)
        inner.connection_lost.assert_called_once_with(None)

    async def test_the_time_of_each_runs_out_by_itself(self) -> None:
        with mock.patch.object(unauthenticated, "TIME_LIMIT", 0.0):
            _, _, transport = self.connect()
        aborted = asyncio.Event()
        transport.abort.side_effect = aborted.set
        await asyncio.wait_for(aborted.wait(), 10)
        self.assertEqual(len(self.connections), 0)

    async def test_the_last_byte_of_the_allowance_is_parsed_and_the_next_one_waits(self) -> None:
        connection, inner, transport = self.connect()
        connection.data_received(b"a" * (MAX_BYTES - 1))
        connection.data_received(b"b")
        transport.pause_reading.assert_not_called()
        connection.data_received(b"c")
        transport.pause_reading.assert_called_once_with()
        parsed = b"".join(call.args[0] for call in inner.data_received.call_args_list)
        self.assertEqual(parsed, b"a" * (MAX_BYTES - 1) + b"b")
        connection.lift_limits()
        transport.resume_reading.assert_called_once_with()
        self.assertEqual(inner.data_received.call_args.args[0], b"c")
