"""What Windows tells about processes without a program being started. Elsewhere it tells nothing.

Source: NtQueryInformationProcess, GetExtendedTcpTable.
"""

from __future__ import annotations

import struct
import sys
from typing import NamedTuple

# The right to ask about a process, and the question that also gives its parent: six words.
QUERY, BASIC, PARENT = 0x1000, 0, 5
# IPv4, and the connections with their owners.
IPV4, CONNECTIONS = 2, 4
# Bytes for the table of connections at first, and attempts: it may grow meanwhile.
SIZE, ATTEMPTS = 1 << 16, 3
# Of a row of it: state, own address and port, other address and port, owner.
ROW = struct.Struct("<IIIIII")


class TcpConnection(NamedTuple):
    """A TCP connection over IPv4, by the ports of both ends and the process at the own one."""

    own: int
    other: int
    pid: int


def parent_of(pid: int) -> int:
    """The process that started it; 0 if Windows does not tell."""
    if sys.platform != "win32":
        return 0
    import _winapi
    import ctypes

    facts = (ctypes.c_size_t * 6)()
    try:
        ask = ctypes.WinDLL("ntdll").NtQueryInformationProcess
        process = _winapi.OpenProcess(QUERY, False, pid)
        try:
            failed = ask(ctypes.c_void_p(process), BASIC, facts, ctypes.sizeof(facts), None)
        finally:
            _winapi.CloseHandle(process)
    except (OSError, OverflowError, AttributeError):
        return 0
    return 0 if failed else int(facts[PARENT])


def tcp_connections() -> list[TcpConnection]:
    """The connections of all processes; none if Windows does not tell."""
    if sys.platform != "win32":
        return []
    import ctypes

    size = ctypes.c_ulong(SIZE)
    try:
        ask = ctypes.WinDLL("iphlpapi").GetExtendedTcpTable
        for _ in range(ATTEMPTS):
            table = ctypes.create_string_buffer(size.value)
            if not ask(table, ctypes.byref(size), False, IPV4, CONNECTIONS, 0):
                return of_table(table.raw)
    except (OSError, AttributeError):
        pass
    return []


def of_table(table: bytes) -> list[TcpConnection]:
    """The rows behind their number. Ports are in the order of the network."""
    (count,) = struct.unpack_from("<I", table)
    rows = ROW.iter_unpack(table[4 : 4 + count * ROW.size])
    return [
        TcpConnection(_port_number(own), _port_number(other), pid)
        for _, _, own, _, other, pid in rows
    ]


def _port_number(value: int) -> int:
    return (value & 0xFF) << 8 | value >> 8 & 0xFF
