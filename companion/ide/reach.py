"""How far an endpoint can be reached: beyond this machine's loopback, where the user wants."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reach:
    """How CLIs outside this machine's loopback reach the endpoint. `address` is that of another
    interface to listen on, beside 127.0.0.1. `folder` is another folder for discovery files, beside
    the temp folders. Both are empty if the user wants none (docs/remote.md)."""

    address: str = ""
    folder: str = ""


LOOPBACK = Reach()
