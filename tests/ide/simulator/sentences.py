"""What the user has to be told: that a decision waits, where its CLI was not there to hear it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from companion.ide.clis import GEMINI_CLI
from companion.ide.delivery import AWAY, AWAY_WITH_TEXT

if TYPE_CHECKING:
    from .checks import Proposal
    from .network import Wire
    from .world import World

# Seconds in which a lost stream is noticed, and its sentence said.
NOTICED = 0.5


@dataclass(frozen=True)
class Made:
    """A decision in the editor; `wires` are the streams that its session had then."""

    at: float
    proposal: Proposal
    text: str | None
    companion: int
    wires: tuple[Wire, ...]


class Sentences:
    def __init__(self, world: World) -> None:
        self.world = world
        self._made: list[Made] = []
        # When, by which companion, and what.
        self._said: list[tuple[float, int, str]] = []
        # When a companion was asked to stop, and windows changed.
        self._stops: list[float] = []

    def decided(self, proposal: Proposal, text: str | None) -> None:
        wires = tuple(
            wire
            for wire in self.world.network.wires
            if wire.is_stream and wire.session_id == proposal.session_id
        )
        companion = self.world.scene.companion
        process = companion.process if companion is not None else 0
        self._made.append(Made(self.world.loop.now, proposal, text, process, wires))

    def said(self, process: int, sentence: str) -> None:
        self._said.append((self.world.loop.now, process, sentence))

    def stops(self) -> None:
        """A companion ends, or a window of its."""
        self._stops.append(self.world.loop.now)

    def check(self) -> None:
        """A decision that no CLI was told, on streams that all are over, is said to wait, once each
        of them was seen to be over: one sentence for each of such decisions."""
        for made in self._made:
            lost = self._lost_at(made)
            if lost is not None and not self._is_settled(made):
                self._check_said(made, lost)

    def _lost_at(self, made: Made) -> float | None:
        """When the last of the session's streams was over; None if one is not."""
        moments = [wire.over_at for wire in made.wires]
        return None if None in moments else max([made.at, *moments])  # type: ignore[type-var]

    def _is_settled(self, made: Made) -> bool:
        """Whether a CLI has heard of it, or nobody can be told any more. A rejection that went out
        to one that died is not spoken of: there is no text in it."""
        ledger, proposal = self.world.ledger, made.proposal
        asked = proposal.session_id, proposal.path
        return (
            ledger.was_told(proposal, made.at)
            or (made.text is None and any(asked in wire.carried for wire in made.wires))
            or proposal.token in ledger.closed
            or any(
                other.at > proposal.at
                for other in ledger.proposals
                if _is_for_same(other, proposal)
            )
        )

    def _check_said(self, made: Made, lost: float) -> None:
        end = lost + NOTICED
        if any(made.at <= at <= end for at in (*self._stops, *self.world.ledger.kills)):
            self.world.count("sentence excused")
            return
        # All CLIs here are of that kind.
        sentence = (AWAY_WITH_TEXT if made.text else AWAY).format(cli=GEMINI_CLI.name)
        for each in self._said:
            at, process, words = each
            if made.at <= at <= end and process == made.companion and words == sentence:
                self._said.remove(each)
                self.world.count("said to wait")
                return
        self.world.ledger.violate(
            "nothing is said of a decision that waits",
            f"{made.text!r} on {made.proposal.text!r}, decided at {made.at - 1000:.3f} s,"
            f" its stream lost at {lost - 1000:.3f} s",
        )


def _is_for_same(proposal: Proposal, other: Proposal) -> bool:
    return (proposal.session_id, proposal.path) == (other.session_id, other.path)
