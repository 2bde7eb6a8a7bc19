"""What must be true whatever happens, and the record by which it is seen.

Every text is unique, so a text tells whose proposal it was typed into.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from companion.ide.stateless import is_asker

from .claude_checks import ClaudeLedger
from .hook_checks import HookLedger
from .sentences import Sentences

if TYPE_CHECKING:
    from .claude import ClaudeCli
    from .cli import Cli
    from .editor import Diff
    from .world import World

# Seconds before a kill in which what was typed or decided may be lost: 2 s until it is told, 0.2 s
# until it is saved, the rest for a slow disk.
TOLERANCE = 4.0
# Seconds that a decision may take from the editor to the companion.
CROSSING = 0.1


@dataclass
class Proposal:
    """A text that a CLI proposed, and what became of it. `typed` has moments and texts of the
    user's, `decisions` those of the user in the editor: a text, or None for a rejection."""

    number: int
    cli: Cli | ClaudeCli
    path: str
    text: str
    at: float
    session_id: str
    token: str
    typed: list[tuple[float, str]] = field(default_factory=list)
    decisions: list[tuple[float, str | None]] = field(default_factory=list)
    # When the companion got it.
    arrived: float = float("inf")
    written: str | None = None
    # When its window vanished without a word of the editor's; when its CLI closed it.
    vanished: list[float] = field(default_factory=list)
    closed: list[float] = field(default_factory=list)
    shown: float = float("inf")
    given_up: bool = False
    in_terminal: bool = False
    by_claude: bool = False
    notified: bool = False


class Ledger:
    def __init__(self, world: World) -> None:
        self.world = world
        self.proposals: list[Proposal] = []
        self.origin: dict[str, Proposal] = {}
        # Which CLIs were connected with which endpoint, by its token.
        self.known: set[tuple[int, str]] = set()
        self.discarded: set[str] = set()
        self.undoable: set[str] = set()
        self.violations: list[tuple[str, str]] = []
        self.counts: Counter[str] = Counter()
        self.hooks = HookLedger(world)
        self.sentences = Sentences(world)
        self.claude = ClaudeLedger(world)
        # Moments of kills, and those from which on the disk took nothing until it did again.
        self.kills: list[float] = []
        self.full: list[list[float]] = []
        # Which CLI was told of a decision, and when: by the session that had asked, and the path.
        self._told: dict[tuple[str, str], list[tuple[float, int]]] = {}
        # The tokens of windows that were closed.
        self.closed: set[str] = set()
        # By CLI and text: when and how it was handed out, and on which connection.
        self._handed: dict[tuple[int, str], list[tuple[float, str, Any]]] = {}

    def violate(self, what: str, detail: str) -> None:
        self.world.note("VIOLATION: {}: {}", what, detail)
        self.violations.append((what, f"at {self.world.loop.now - 1000:.3f} s: {detail}"))

    # ----- what happens

    def propose(self, cli: Cli | ClaudeCli, path: str) -> Proposal:
        number = len(self.proposals) + 1
        text = f"proposal {number} of {cli}\n"
        client = cli.client
        proposal = Proposal(
            *(number, cli, path, text, self.world.loop.now),
            *((client.session_id, client.token) if client is not None else ("", "")),
            by_claude=cli.is_claude,
        )
        self.proposals.append(proposal)
        self.origin[text] = proposal
        self.counts["proposed"] += 1
        return proposal

    def arrived(self, params: Any) -> None:
        """The companion gets a call of a tool."""
        proposal = self.origin.get(params["arguments"].get("newContent"))
        if proposal is not None:
            proposal.arrived = self.world.loop.now

    def typed(self, diff: Diff, text: str) -> None:
        proposal = self.origin[diff.text]
        self.origin[text] = proposal
        proposal.typed.append((self.world.loop.now, text))
        self.world.note("typed into diff {}: {!r}", diff.number, text)
        self.counts["typed"] += 1

    def decided(self, diff: Diff, accepted: bool) -> None:
        proposal = self.origin[diff.text]
        text = diff.text if accepted else None
        proposal.decisions.append((self.world.loop.now, text))
        if not proposal.by_claude:
            self.sentences.decided(proposal, text)
        self.world.note(
            "diff {} {}: {!r}", diff.number, "accepted" if accepted else "rejected", diff.text
        )
        self.counts["accepted" if accepted else "rejected"] += 1

    def notified(self, note: Notified) -> None:
        """A notification arrived at a CLI."""
        cli, waiter, content = note.cli, note.waiter, note.content
        self.counts["notified"] += 1
        told = self._told.setdefault((note.asker, note.path), [])
        told.append((self.world.loop.now, cli.number))
        if note.asker != note.session_id and (is_asker(note.asker) or is_asker(note.session_id)):
            self.violate("told to another name", f"{cli} as {note.session_id}: {note.path}")
        if waiter is not None and note.wire.sent[note.event_id] < waiter.proposal.arrived:
            # It was under way already when its CLI went on to another proposal.
            self.counts["overtaken"] += 1
        elif note.accepted and not content:
            self.violate("accepted without a text", f"{cli}: {note.path}")
        elif content:
            self._accepted(note, content)
        elif waiter is not None:
            if any(self._is_for_another_session(note, proposal) for proposal in self.proposals):
                self.counts["mixed up by the CLI"] += 1
            else:
                self._rejected(cli, waiter.proposal)
        if waiter is not None:
            waiter.proposal.notified = True
            self.counts["delivered"] += 1

    def _accepted(self, note: Notified, content: str) -> None:
        cli, waiter, proposal = note.cli, note.waiter, self.origin.get(content)
        if proposal is None or proposal.path != note.path:
            self.violate("a text from nowhere", f"{cli} got {content!r} for {note.path}")
            return
        if content not in [text for _, text in proposal.decisions]:
            self.violate("accepted by nobody", f"{cli} got {content!r}")
        self._handed_out(cli, content, f"{note.session_id} {note.event_id}", note)
        if waiter is None:
            self.counts["stray"] += proposal.cli is not cli
        elif not self._is_same(waiter.proposal, proposal):
            self._mixed_up(note, waiter.proposal, proposal, content)

    def _mixed_up(self, note: Notified, awaited: Proposal, proposal: Proposal, text: str) -> None:
        """The text of another proposal than the one that the CLI awaits."""
        if note.is_again or self._is_for_another_session(note, proposal):
            self.counts["mixed up by the CLI"] += 1
        elif _is_overtaken(awaited, proposal, text) or self._is_of_before(
            awaited, proposal, note.wire
        ):
            self.counts["overtaken"] += 1
        elif self._was_told_to_another(note.cli, awaited):
            self.counts["nobody knows whose"] += 1
        else:
            self.violate(
                "a decision on another proposal",
                f"{note.cli} waits on {awaited.text!r} and got {text!r}",
            )

    def _is_same(self, proposal: Proposal, other: Proposal) -> bool:
        """Whether they are one, or a kill made the companion forget that they are not."""
        moments = [proposal.at, other.at, *other.closed, *(at for at, _ in other.decisions)]
        return proposal is other or any(self.is_excused(at) for at in moments)

    def _is_for_another_session(self, note: Notified, proposal: Proposal) -> bool:
        """Whether the session that is told asked for the proposal, and its CLI awaits one of the
        same path in a later session: it knows proposals by their paths alone, and has forgotten
        this one because the answer to openDiff was lost. No companion can know that."""
        return (
            note.session_id == proposal.session_id != note.waiter.proposal.session_id
            and note.path == proposal.path
            and not _is_open(self.world, proposal)
        )

    def _rejected(self, cli: Any, proposal: Proposal) -> None:
        if any(_is_overtaken(proposal, older, None) for older in self.proposals):
            self.counts["overtaken"] += 1
            return
        if _is_open(self.world, proposal) and not self.is_excused(proposal.at):
            if None in [text for _, text in proposal.decisions]:
                # After a restart, a window with the folders of before has shown it again, while it
                # still stands in its own window, whose folders are others now.
                self.counts["shown twice"] += 1
            else:
                self.violate("rejected while open", f"{cli}: {proposal.text!r}")
        texts = [text for at, text in proposal.decisions if not self.is_excused(at)]
        if texts and None not in texts and not self.discarded & set(texts):
            if self._was_told_to_another(cli, proposal):
                self.counts["nobody knows whose"] += 1
            else:
                self.violate("rejected though accepted", f"{cli}: {texts!r}")

    def _went_elsewhere(self, cli: Any, texts: list[str | None]) -> bool:
        """Whether another CLI was there first when the one that asked was gone, and was told in its
        place: which of them has come back, nobody can know."""
        return any(number != cli.number and text in texts for number, text in self._handed)

    def _was_told_to_another(self, cli: Any, proposal: Proposal) -> bool:
        """The same, whatever was decided: for the companion, nobody waits for it any more. Nor for
        one whose window was closed: it was rejected, and the last words of a stream may be lost."""
        if proposal.token in self.closed:
            return True
        if self._went_elsewhere(cli, [text for _, text in proposal.decisions if text]):
            return True
        told = self._told.get((proposal.session_id, proposal.path), [])
        return any(at > proposal.at and number != cli.number for at, number in told)

    def was_told(self, proposal: Proposal, at: float) -> bool:
        """Whether any CLI heard of the decision after that moment."""
        told = self._told.get((proposal.session_id, proposal.path), [])
        return any(then >= at for then, _number in told)

    def handed_over(self, cli: Any, waiter: Any, content: str | None, wire: Any = None) -> None:
        """An answer to closeDiff arrived."""
        if content is None:
            return
        self.counts["handed over"] += 1
        if waiter is not None and not self._is_same(waiter.proposal, self.origin[content]):
            self.violate(
                "a text of another proposal",
                f"{cli} closed {waiter.proposal.text!r} and got {content!r}",
            )
        self._handed_out(cli, content, "closeDiff", None)

    def _handed_out(self, cli: Any, text: str, how: str, note: Notified | None) -> None:
        """The same text twice is one too many, unless nobody could know that the first arrived."""
        before = self._handed.setdefault((cli.number, text), [])
        if note is not None and note.is_again:
            self.counts["doubled"] += 1
        else:
            wire_now = note.wire if note is not None else None
            sure = [
                how_before
                for at, how_before, wire in before
                if not (wire and _may_be_lost(wire, how) or self.is_excused(at))
                and not self._came_back(self.origin[text], at, wire_now)
            ]
            if sure:
                self.violate("handed out twice", f"{cli} got {text!r} by {sure[0]} and by {how}")
            # A kill while it was under way is one that came after it.
            at = note.wire.sent[note.event_id] if note is not None else self.world.loop.now
            before.append((at, how, wire_now))

    def _came_back(self, proposal: Proposal, at: float, wire: Any) -> bool:
        """Whether a crash may have brought the diff back, as of before that moment, where its
        session is not known any more, for it has ended, or the window was closed, or has other
        folders: the user has decided on it again, and nobody knows that they did before."""
        if wire is None or wire.endpoint.sessions.find_session(proposal.session_id) is not None:
            return False
        return any(at < kill for kill in self.kills)

    def _is_of_before(self, proposal: Proposal, older: Proposal, wire: Any) -> bool:
        """The same for a diff of which that session has a newer one by now."""
        is_one = older.session_id == proposal.session_id
        return is_one and self._came_back(older, proposal.at, wire)

    # ----- what must be true in the end

    def check_missing(self) -> None:
        """Whoever is connected and waits can be decided on, or was told."""
        self.sentences.check()
        self.claude.check()
        for cli in self.world.clis:
            for waiter in list(cli.awaiting.values()) if cli.is_connected else []:
                self._check_waiter(cli, waiter.proposal)

    def _check_waiter(self, cli: Any, proposal: Proposal) -> None:
        if _is_open(self.world, proposal) or cli.client.token != proposal.token:
            return
        is_same = any(
            client.session_id == proposal.session_id
            for client in cli.clients
            if client.is_streaming
        )
        moments = [at for at, _ in proposal.decisions] + [proposal.at]
        if any(self.is_excused(at) for at in moments):
            self.counts["excused"] += 1
            return
        detail = f"{cli} waits on {proposal.text!r} of {proposal.path}"
        others = {number for number, token in self.known if token == proposal.token} - {cli.number}
        if others and not is_same:
            # Which of several CLIs has come back, nobody can know.
            self.counts["nobody knows whose"] += 1
        elif not proposal.decisions and proposal.token in self.closed:
            # It was rejected with its window, and the last words of a stream may be lost.
            self.counts["excused"] += 1
        elif not proposal.decisions:
            self.violate("waits for nothing", f"{detail}; nobody decided and no diff is open")
        elif is_same:
            self.violate("decision missing", f"{detail}; decided: {proposal.decisions!r}")
        elif self._another_waits(proposal):
            self.counts["nobody knows which"] += 1
        elif not any(self._is_somewhere(text) for _, text in proposal.decisions if text):
            self.violate(
                "decision missing in another session", f"{detail}; decided: {proposal.decisions!r}"
            )

    def _another_waits(self, proposal: Proposal) -> bool:
        """Whether another session has a diff of the same path open, or a text that was accepted for
        one waits, as far as anybody can know: its CLI may be the one that is back, and would take
        this decision for that one."""
        return any(
            other.path == proposal.path
            and other.session_id != proposal.session_id
            and (_is_open(self.world, other) or self._is_waiting(other))
            for other in self.proposals
        )

    def _is_waiting(self, proposal: Proposal) -> bool:
        text = proposal.decisions[-1][1] if proposal.decisions else None
        ways = [way for (_, each), found in self._handed.items() if each == text for way in found]
        return bool(text) and all(wire and _may_be_lost(wire, how) for _, how, wire in ways)

    def check_texts(self) -> None:
        for proposal in self.proposals:
            for at, text in reversed(proposal.typed):
                if self._is_somewhere(text):
                    break
                if self.is_excused(at) or any(
                    at <= then < at + TOLERANCE for then in proposal.vanished
                ):
                    self.counts["excused"] += 1
                    continue
                where = "after the terminal's decision" if proposal.in_terminal else ""
                self.violate(
                    f"text nowhere {where}".rstrip(), f"{text!r}, typed at {at - 1000:.3f} s"
                )
                break
            for at, accepted in proposal.decisions:
                if accepted and not (
                    self._is_somewhere(accepted)
                    or (proposal.cli.number, accepted) in self._handed
                    or self.is_excused(at)
                ):
                    self.violate("accepted text nowhere", f"{accepted!r}")

    def _is_somewhere(self, text: str) -> bool:
        world = self.world
        return (
            text in self.discarded | self.undoable
            or any(text in texts for texts in world.disk.written.values())
            or text in world.scene.tabs
            or any(diff.text == text for diff in world.scene.diffs())
            or text in world.kept_texts()
            or self._is_set_aside(text)
        )

    def _is_set_aside(self, text: str) -> bool:
        """Whether a clock that was set far ahead made it too old, and its file is kept."""
        files = self.world.disk.files.items()
        return any(
            path.endswith(".unread") and text.strip() in str(file.data) for path, file in files
        )

    def is_excused(self, at: float) -> bool:
        """Whether a kill came too soon afterwards, or before the disk took anything again."""
        for kill in self.kills:
            if at <= kill and kill - at < TOLERANCE:
                return True
            if at <= kill and any(
                begin <= kill and end >= at - TOLERANCE for begin, end in self.full
            ):
                return True
        return False

    def check_rest(self) -> None:
        for stray in self.world.disk.strays:
            self.violate("a file of the project was touched", stray)
        for error in self.world.loop.errors:
            self.violate("the core failed", error)


@dataclass(frozen=True)
class Notified:
    """A notification as it arrived. `asker` is the session whose proposal was decided; `is_again`
    says that the CLI asked for it once more."""

    cli: Any
    session_id: str
    event_id: int
    path: str
    accepted: bool
    content: str | None
    asker: str
    waiter: Any
    wire: Any
    is_again: bool


def _may_be_lost(wire: Any, then: str) -> bool:
    """Whether nobody knows that the event arrived. While its stream lives, it has to be taken for
    told: a text in an answer is then one too many."""
    return bool(wire.is_cut or (wire.is_unsure and then != "closeDiff"))


def _is_overtaken(proposal: Proposal, older: Proposal, text: str | None) -> bool:
    """Whether the user decided so on an older one of the same session before they could see this
    one, which is closed then: its CLI takes that for the decision on it."""
    is_one = (older.session_id, older.path) == (proposal.session_id, proposal.path)
    moments = [at for at, each in older.decisions if each == text]
    is_late = [proposal.at - CROSSING < at <= proposal.shown for at in moments]
    return is_one and older.at < proposal.at and any(is_late)


def _is_open(world: World, proposal: Proposal) -> bool:
    return any(world.ledger.origin.get(diff.text) is proposal for diff in world.scene.diffs())
