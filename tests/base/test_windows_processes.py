from __future__ import annotations

import struct
import sys
import unittest

from GeminiCompanion.companion.base import windows_processes
from GeminiCompanion.companion.base.windows_processes import Connection


class Table(unittest.TestCase):
    def test_the_rows_of_the_system_are_read_by_their_number(self) -> None:
        loopback = 0x0100007F
        first = struct.pack("<IIHHIHHI", 5, loopback, 0x50C3, 0xFFFF, loopback, 0x409C, 0, 4711)
        rest = struct.pack("<6I", 5, loopback, 0, loopback, 0, 1)
        for count, expected in ((0, []), (1, [Connection(50_000, 40_000, 4711)])):
            table = struct.pack("<I", count) + first + rest + b"more"
            self.assertEqual(windows_processes.of_table(table), expected)

    @unittest.skipIf(sys.platform == "win32", "another system")
    def test_elsewhere_nothing_is_told(self) -> None:
        self.assertEqual((windows_processes.parent_of(1), windows_processes.connections()), (0, []))

    @unittest.skipUnless(sys.platform == "win32", "Windows alone tells")
    def test_the_parent_of_a_process_and_the_owner_of_a_connection_are_known(self) -> None:
        import os
        import socket

        self.assertEqual(windows_processes.parent_of(os.getpid()), os.getppid())
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port)) as stream:
                own = stream.getsockname()[1]
                self.assertIn(Connection(own, port, os.getpid()), windows_processes.connections())
