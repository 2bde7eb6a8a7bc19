from __future__ import annotations

import ctypes
import struct
import sys
import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base import windows_processes
from GeminiCompanion.companion.base.windows_processes import TcpConnection

from ..support import patched


class Table(unittest.TestCase):
    def test_the_rows_of_the_system_are_read_by_their_number(self) -> None:
        loopback = 0x0100007F
        first = struct.pack("<IIHHIHHI", 5, loopback, 0x50C3, 0xFFFF, loopback, 0x409C, 0, 4711)
        rest = struct.pack("<6I", 5, loopback, 0, loopback, 0, 1)
        for count, expected in ((0, []), (1, [TcpConnection(50_000, 40_000, 4711)])):
            table = struct.pack("<I", count) + first + rest + b"more"
            self.assertEqual(windows_processes.of_table(table), expected)

    @unittest.skipIf(sys.platform == "win32", "another system")
    def test_elsewhere_nothing_is_told(self) -> None:
        self.assertEqual(
            (windows_processes.parent_of(1), windows_processes.tcp_connections()), (0, [])
        )


class Libraries:
    """Those of Windows, as far as they are asked: `told` is the table, `parents` are by process."""

    told = struct.pack("<I", 1) + struct.pack("<IIHHIHHI", 5, 0, 0x50C3, 0, 0, 0x409C, 0, 4711)
    parents = {4711: 42}

    def __init__(self) -> None:
        self.open: set[int] = set()

    def library(self, name: str) -> Any:
        asked = {"ntdll": "NtQueryInformationProcess", "iphlpapi": "GetExtendedTcpTable"}[name]
        return SimpleNamespace(**{asked: getattr(self, name)})

    def OpenProcess(self, access: int, inherits: bool, pid: int) -> int:
        if pid not in self.parents:
            raise OSError(87, "no such process")
        self.open.add(pid)
        return pid

    def CloseHandle(self, process: int) -> None:
        self.open.remove(process)

    def ntdll(self, process: Any, question: int, facts: Any, size: int, read: None) -> int:
        facts[5] = self.parents[process.value]
        return 0 if (question, size) == (0, 6 * ctypes.sizeof(ctypes.c_size_t)) else 1

    def iphlpapi(self, table: Any, size: Any, *how: int) -> int:
        # It has grown, so the first attempt has no room.
        is_small = len(table) < 2 * windows_processes.SIZE
        size._obj.value = 2 * windows_processes.SIZE
        table[: len(self.told)] = bytes(len(self.told)) if is_small else self.told
        return 122 if is_small else 0 if how == (False, 2, 4, 0) else 87


@unittest.skipIf(sys.platform == "win32", "it has its own")
class OnWindows(unittest.TestCase):
    def setUp(self) -> None:
        self.libraries = Libraries()
        modules = {"_winapi": self.libraries}
        patched(self, mock.patch.object(sys, "platform", "win32"))
        patched(self, mock.patch.dict(sys.modules, modules))  # type: ignore[arg-type]
        patched(self, mock.patch.object(ctypes, "WinDLL", self.libraries.library, create=True))

    def test_the_parent_of_a_process_is_told_and_its_handle_closed(self) -> None:
        for pid, parent in ((4711, 42), (4712, 0)):
            self.assertEqual(windows_processes.parent_of(pid), parent)
        self.assertEqual(self.libraries.open, set())

    def test_a_table_that_has_grown_is_asked_for_again(self) -> None:
        self.assertEqual(windows_processes.tcp_connections(), [TcpConnection(50_000, 40_000, 4711)])

    def test_without_the_libraries_nothing_is_told(self) -> None:
        with mock.patch.object(ctypes, "WinDLL", side_effect=OSError):
            told = windows_processes.parent_of(4711), windows_processes.tcp_connections()
        self.assertEqual(told, (0, []))


@unittest.skipUnless(sys.platform == "win32", "Windows alone tells")
class Genuine(unittest.TestCase):
    def test_the_parent_of_a_process_and_the_owner_of_a_connection_are_known(self) -> None:
        import os
        import socket

        self.assertEqual(windows_processes.parent_of(os.getpid()), os.getppid())
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port)) as stream:
                own = stream.getsockname()[1]
                self.assertIn(
                    TcpConnection(own, port, os.getpid()), windows_processes.tcp_connections()
                )
