"""Whether the server takes new turns: not any more once it is about to end."""

from __future__ import annotations

from ..contract.refusal import DRAINING, Refusal


class Admission:
    def __init__(self) -> None:
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True

    def check(self) -> None:
        """Raises Refusal where no turn may begin."""
        if self.is_closed:
            raise Refusal(DRAINING)
