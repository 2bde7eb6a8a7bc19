"""What must be true whatever happens, and the record by which it is seen. Every text is unique: one
that a proposal brings, that the user types, or that they send."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .hook_checks import HookLedger

if TYPE_CHECKING:
    import asyncio

    from .chat import Chat
    from .cli import Cli
    from .world import World

# Seconds after which a press is done, and whatever there is to say of it is said.
DONE = 5.0
# What a sheet says of a file that it does not show (any more), or not as it is.
REFUSED = (
    "Those changes are decided already.",
    "That file has changed meanwhile: decide on what is shown now.",
)
# How the user is told that nobody hears of a decision.
AWAY = "is away; your decision waits until it is back."
# The presses by which a proposal is accepted, or rejected.
ACCEPTING, REJECTING = {"accept", "terminal"}, {"reject", "close", "terminal"}


@dataclass
class Press:
    """On a proposal. `mark` is the row of the change that it is about."""

    at: float
    kind: str
    mark: str = ""


@dataclass
class Proposal:
    """One that a CLI made, and what its CLI heard of it: texts, or None for a rejection. `marks`
    are the rows that it brings, `asks` is the hook by which the CLI asks. It `may_be_listed` as an
    edit without asking if another turn has begun or the package was unloaded meanwhile."""

    cli: Cli
    path: str
    text: str
    marks: list[str]
    presses: list[Press] = field(default_factory=list)
    heard: list[tuple[float, str | None, str]] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)
    asks: asyncio.Future[None] | None = None
    may_be_listed: bool = False
    # The CLI asks again where it got no answer, and may hear of each.
    times_asked: int = 0

    @property
    def kinds(self) -> set[str]:
        return {press.kind for press in self.presses}

    @property
    def decided_at(self) -> list[float]:
        """When something was pressed in the editor that decides on it."""
        return [press.at for press in self.presses if press.kind in ("accept", "reject", "close")]

    @property
    def dropped(self) -> list[str]:
        """The rows of the changes that the user has dropped."""
        return [press.mark for press in self.presses if press.kind == "drop"]

    @property
    def name(self) -> str:
        return f"{self.path.rpartition('/')[2]} of {self.cli}"


@dataclass
class Message:
    """Of the user to the agent. It has `waited` if a turn ran. It `is_unsure` if the package was
    unloaded before its end was known, so that the composer keeps it. It `may_be_unheard` if a
    turn was stopped, an agent ended or the package was unloaded before an agent heard it."""

    words: str
    waited: bool = False
    is_unsure: bool = False
    may_be_unheard: bool = False


class Ledger:
    def __init__(self, world: World) -> None:
        self._world = world
        # By the session of their CLI, and their path.
        self.proposals: dict[tuple[str, str], Proposal] = {}
        self.violations: list[str] = []
        self.counts: Counter[str] = Counter()
        # When, and which sentence.
        self.said: list[tuple[float, str]] = []
        # When the package was unloaded.
        self.unloads: list[float] = []
        # The words that were typed into the chat, the messages with them, and what agents heard.
        self.words: list[str] = []
        self.messages: list[Message] = []
        self.prompts: list[str] = []
        self.hooks = HookLedger(self)

    def note(self, text: str, *values: Any) -> None:
        self._world.note(text, *values)

    def violate(self, what: str) -> None:
        self._world.note("VIOLATION: {}", what)
        self.violations.append(what)

    def say(self, sentence: str) -> None:
        self._world.note("said: {}", sentence)
        self.said.append((self._world.parts.loop.now, sentence))

    def press(self, proposal: Proposal, kind: str, mark: str = "") -> None:
        self._world.note("{} {} {}", kind, proposal.name, mark)
        self.counts[kind] += 1
        proposal.presses.append(Press(self._world.parts.loop.now, kind, mark))

    def heard(self, cli: Cli, path: str, text: str | None, how: str) -> None:
        """A CLI has heard what was decided on its proposal for the path."""
        self._world.note("{} {}: {} {!r}", cli, how, path.rpartition("/")[2], text)
        self.counts["heard"] += 1
        proposal = self.proposals.get((cli.session, path))
        if proposal is None:
            self.violate(f"{cli} has not asked and hears of {path}: {text!r}")
            return
        proposal.heard.append((self._world.parts.loop.now, text, how))

    def prompted(self, words: str) -> None:
        """An agent has heard this."""
        self._world.note("agent hears: {!r}", words)
        self.counts["prompt"] += 1
        self.prompts.append(words)

    def interrupt(self) -> None:
        """A turn is stopped, an agent ends, or the package: what no agent has heard yet, none may
        ever hear."""
        for message in self.messages:
            message.may_be_unheard |= not any(message.words in each for each in self.prompts)

    # ----- in the end

    def check(self, places: list[str], waiting: set[tuple[str, str]], chat: Chat) -> None:
        """`places` are all texts that the user can see or that are on disk, `waiting` the sessions
        and paths of proposals that are undecided, `chat` has what is unsent."""
        for key, proposal in self.proposals.items():
            self._check_told_once(proposal, key in waiting)
            self._check_is_own(proposal)
            for press in proposal.presses:
                if press.kind == "drop":
                    self._check_drop(proposal, press)
            accepted = [text for _at, text, _how in proposal.heard if text]
            for typed in proposal.typed:
                # What they dropped themselves is gone.
                if not any(typed in text for text in (*places, *accepted, *proposal.dropped)):
                    self.violate(f"typed and nowhere: {typed!r} in {proposal.path}")
        self._check_chat(chat)

    def _check_chat(self, chat: Chat) -> None:
        """Each word is told once, or is still there; messages that wait are told in their order."""
        for word in self.words:
            told = sum(word in each for each in self.prompts)
            waits = sum(word in each for each in (*chat.waiting, chat.unsent))
            about = [message for message in self.messages if word in message.words]
            is_unsure = any(message.is_unsure for message in about)
            is_drawn = word in chat.transcript and any(message.may_be_unheard for message in about)
            is_there = told + waits or is_drawn
            if told + waits > 1 + is_unsure or not is_there:
                self.violate(f"{word!r} of the chat: told {told} times, {waits} times unsent")
        # One of which nobody knows whether it had arrived may be there twice.
        queued = [
            message.words for message in self.messages if message.waited and not message.is_unsure
        ]
        heard = [words for each in self.prompts for words in queued if words in each]
        waiting = [words for words in chat.waiting if words in queued]
        if [words for words in queued if words in heard + waiting] != heard + waiting:
            self.violate(f"not in their order: {queued}; heard {heard}; wait: {waiting}")

    def _check_told_once(self, proposal: Proposal, waits: bool) -> None:
        may_be_untold = waits or proposal.cli.is_dead
        is_told = bool(proposal.heard) or may_be_untold
        if len(proposal.heard) > proposal.times_asked - waits or not is_told:
            how = [(text, how) for _at, text, how in proposal.heard]
            self.violate(f"{proposal.name} waits: {waits}; its CLI heard {how}")

    def _check_is_own(self, proposal: Proposal) -> None:
        """What the CLI hears is what the user decided on its own proposal, and not on that of
        another CLI for the same file."""
        pressed = {press.kind for press in proposal.presses}
        if all(any(mark in row for row in proposal.dropped) for mark in proposal.marks):
            # They were asked then.
            pressed |= {"accept", "reject"}
        for at, text, _how in proposal.heard:
            if not pressed & (REJECTING if text is None else ACCEPTING):
                self.violate(f"{proposal.name}: nobody decided {text!r}; they pressed {pressed}")
            for other in self.proposals.values() if text else ():
                is_written = any(text and before < at for before, text, _ in other.heard)
                if other is not proposal and other.path == proposal.path and not is_written:
                    if any(mark in (text or "") for mark in other.marks):
                        self.violate(f"{proposal.name} was told the text of {other.name}: {text!r}")

    def check_away(self, waiting: set[tuple[str, str]]) -> None:
        """What the user has decided, and its CLI did not live to hear, they are told. To be called
        once each session has ended whose CLI did not come back."""
        for proposal in self.unheard(waiting):
            if not self._is_said_away(proposal):
                self.violate(f"{proposal.name} is decided, and nobody says that its CLI is away")

    def unheard(self, waiting: set[tuple[str, str]]) -> list[Proposal]:
        """The proposals that were decided in the editor, and whose CLIs have not heard of it."""
        found = [
            proposal
            for key, proposal in self.proposals.items()
            if key not in waiting and not proposal.heard
        ]
        return [
            proposal
            for proposal in found
            if proposal.decided_at and "terminal" not in proposal.kinds
        ]

    def is_expected_back(self, proposal: Proposal) -> bool:
        """Whether the package was loaded anew after the decision, before anybody noticed that the
        CLI is gone: it has a while to come back then, until its session ends."""
        begin, end = proposal.decided_at[0], self._noticed_at(proposal)
        return any(begin <= at <= end for at in self.unloads)

    def _is_said_away(self, proposal: Proposal) -> bool:
        """As soon as it shows that the CLI is gone; later only where it was expected back."""
        until = self._noticed_at(proposal) + DONE
        until = math.inf if self.is_expected_back(proposal) else until
        times = [at for at, sentence in self.said if AWAY in sentence]
        return any(proposal.decided_at[0] <= at <= until for at in times)

    def _noticed_at(self, proposal: Proposal) -> float:
        return max(proposal.decided_at[-1], proposal.cli.noticed_at)

    def _check_drop(self, proposal: Proposal, press: Press) -> None:
        """What was dropped before it was accepted is not accepted, or the user is told."""
        kept = [
            at
            for at, text, _how in proposal.heard
            if text is not None and press.mark in (text or proposal.text)
        ]
        decided = [each.at for each in proposal.presses if each.kind in ("accept", "terminal")]
        if not kept or (decided and decided[0] < press.at):
            return
        name = proposal.path.rpartition("/")[2]
        if not any(
            press.at <= at <= press.at + DONE
            and any(words in sentence for words in (name, *REFUSED))
            for at, sentence in self.said
        ):
            self.violate(f"dropped and accepted: {press.mark!r} of {proposal.name}")
