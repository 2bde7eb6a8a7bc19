"""Listening sockets from one load of the package to the next."""

from __future__ import annotations

import errno
import socket
import threading
import types
import unittest
from unittest import mock

from GeminiCompanion.companion.base import socket_handover
from GeminiCompanion.companion.base.socket_handover import NAME, Place

from ..support import wait_for

HANDOVER = "GeminiCompanion.companion.base.socket_handover"
HOST = "127.0.0.1"


def keepers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == NAME]


def is_refused(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex((HOST, port)) == errno.ECONNREFUSED


@unittest.skipUnless(socket_handover.IS_POSSIBLE, "no socket can be handed over here")
class Handover(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(wait_for, lambda: not keepers())

    def leave(self, address: str = HOST) -> int:
        """A server that ends; its port."""
        listener = socket.create_server((address, 0))
        port = int(listener.getsockname()[1])
        socket_handover.leave_sockets({(address, port): listener})
        listener.close()
        return port

    def take(self, place: Place) -> socket.socket:
        found = socket_handover.take_socket(place)
        if found is None:
            self.fail("nothing was left there")
        self.addCleanup(found.close)
        return found

    def test_who_connects_in_between_is_served_by_the_next(self) -> None:
        port = self.leave()
        with socket.create_connection((HOST, port)) as client:
            client.sendall(b"asked early")
            server, _ = self.take((HOST, port)).accept()
            with server:
                self.assertEqual(server.recv(64), b"asked early")

    def test_what_was_taken_is_gone(self) -> None:
        port = self.leave()
        self.take((HOST, port))
        self.assertIsNone(socket_handover.take_socket((HOST, port)))

    def test_a_port_that_nobody_takes_is_closed(self) -> None:
        with mock.patch(HANDOVER + ".PATIENCE", 0.01):
            port = self.leave()
            wait_for(lambda: not keepers())
        self.assertTrue(is_refused(port))
        self.assertIsNone(socket_handover.take_socket((HOST, port)))

    def test_of_several_each_is_taken_by_its_own_place(self) -> None:
        ports = [self.leave() for _ in range(3)]
        for port in reversed(ports):
            self.assertEqual(self.take((HOST, port)).getsockname()[1], port)

    def test_another_address_of_the_port_is_not_in_the_way(self) -> None:
        port = self.leave("0.0.0.0")
        self.assertIsNone(socket_handover.take_socket((HOST, port)))
        socket.create_server((HOST, port)).close()

    def test_another_version_of_the_module_finds_them(self) -> None:
        port = self.leave()
        other = types.ModuleType("GeminiCompanion.companion.base.other")
        other.__package__ = "GeminiCompanion.companion.base"
        with open(socket_handover.__file__, encoding="utf-8") as file:
            exec(compile(file.read(), other.__name__, "exec"), other.__dict__)
        found = other.take_socket((HOST, port))
        self.assertEqual(found.getsockname()[1], port)
        found.close()

    def test_without_a_free_descriptor_the_end_goes_on(self) -> None:
        with socket.create_server((HOST, 0)) as listener:
            full = OSError(errno.EMFILE, "too many open files")
            with mock.patch.object(socket.socket, "dup", side_effect=full):
                with self.assertLogs("GeminiCompanion", "WARNING"):
                    socket_handover.leave_sockets({(HOST, 1): listener})
        self.assertEqual(keepers(), [])
