"""How far an endpoint can be reached: beyond this machine's loopback, where the user wants."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reach:
    """`address` is that of another interface to listen on, beside 127.0.0.1; `folder` another one
    for discovery files, beside the temp folders. Empty is none (docs/remote.md)."""

    address: str = ""
    folder: str = ""


LOOPBACK = Reach()
