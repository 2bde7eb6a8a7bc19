"""Whether the server takes new turns; it does not while it shuts down."""

from __future__ import annotations

from ..contract.refusal import DRAINING, Refusal


class Admission:
    def __init__(self) -> None:
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True

    def check(self) -> None:
        """Raises Refusal if no new turn may start."""
        if self.is_closed:
            raise Refusal(DRAINING)
