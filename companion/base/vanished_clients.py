"""Lets the system end the connections of clients whose machine or network has gone."""

from __future__ import annotations

import contextlib
import socket
import sys

# Seconds after which a client whose machine or network has gone no longer counts as connected, and
# those between two of the kernel's questions after silence.
VANISHED = 45.0
ASKING = 10.0


def watch_for_vanishing(client: socket.socket | None) -> None:
    """Let the kernel end the connection after VANISHED seconds without a sign of the client's
    machine, whether something is being sent to it or not. Without this that takes hours, or some
    15 minutes. What the platform does not have is left out. Source: tcp(7)."""
    if client is None:
        return
    questions = max(1, int((VANISHED - ASKING) / ASKING))
    # macOS has another name for the time of silence.
    idle = "TCP_KEEPALIVE" if sys.platform == "darwin" else "TCP_KEEPIDLE"
    wanted = {
        idle: max(1, int(ASKING)),
        "TCP_KEEPINTVL": max(1, int(ASKING)),
        "TCP_KEEPCNT": questions,
        "TCP_USER_TIMEOUT": int(VANISHED * 1000),
    }
    # A connection that has just ended has no options.
    with contextlib.suppress(OSError):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in wanted.items():
            if hasattr(socket, name):
                client.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
