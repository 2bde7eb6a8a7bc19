"""What must be true whatever happens, and the record by which it is seen. Every message of the user
is unique."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Sequence

from GeminiCompanion.companion.agent.turn_events import CANCEL, ONCE

if TYPE_CHECKING:
    from .world import World

# Which option a decision of the user is told as.
TOLD_AS = {ONCE: "yes", CANCEL: "no"}


@dataclass
class Message:
    """Of the user. `became` is what the answer to it said: the id of a turn or of a queued message;
    `failed` if it was not sent, and they have it still; `is_unsure` if the package was unloaded
    before that was known, so that they have it still as well; `is_back` if they took it back."""

    words: str
    became: str = ""
    failed: bool = False
    is_unsure: bool = False
    is_back: bool = False


@dataclass
class Question:
    """Of an agent's process: what it was told, and what the user decided, as far as that was taken
    for a decision."""

    process: Any
    told: list[str] = field(default_factory=list)
    decided: list[str] = field(default_factory=list)


class Ledger:
    def __init__(self, world: World) -> None:
        self._world = world
        self.messages: list[Message] = []
        self.questions: dict[int, Question] = {}
        self.prompts: list[str] = []
        self.violations: list[str] = []
        self.counts: Counter[str] = Counter()

    def violate(self, what: str) -> None:
        self._world.note("VIOLATION: {}", what)
        self.violations.append(what)

    def prompted(self, words: str) -> None:
        self._world.note("agent hears: {!r}", words)
        self.counts["prompt"] += 1
        self.prompts.append(words)

    def asked(self, number: int, process: Any) -> None:
        self._world.note("agent asks: {}", number)
        self.counts["question"] += 1
        self.questions[number] = Question(process)

    def told(self, number: int, chosen: str) -> None:
        self._world.note("agent is told of {}: {}", number, chosen)
        self.questions[number].told.append(chosen)

    def decided(self, number: int, outcome: str) -> None:
        self.questions[number].decided.append(outcome)

    # ----- in the end

    def check(self, queued: Sequence[str], history: Sequence[str]) -> None:
        """`queued` are the messages that wait, `history` those of the conversations as the disk has
        them."""
        for message in self.messages:
            self._check_message(message, queued, history)
        for number, question in self.questions.items():
            self._check_question(number, question)

    def _check_message(
        self, message: Message, queued: Sequence[str], history: Sequence[str]
    ) -> None:
        told = sum(message.words in each for each in self.prompts)
        waits, kept = queued.count(message.words), history.count(message.words)
        what = f"{message}: told {told} times, waits {waits} times, kept {kept} times"
        if told > 1 or waits > 1 or kept > 1:
            self.violate(f"more than once: {what}")
        elif message.is_unsure:
            self.counts["unsure"] += 1
        elif message.failed or message.is_back:
            if told or waits:
                self.violate(f"the user has it back, and it is told: {what}")
        elif not message.became:
            self.violate(f"nobody says what became of it: {what}")
        elif not kept and not waits:
            self.violate(f"nowhere: {what}")
        elif told and waits:
            self.violate(f"told, and it waits: {what}")

    def _check_question(self, number: int, question: Question) -> None:
        if len(question.told) > 1:
            self.violate(f"question {number} was answered twice: {question}")
        elif not question.told and question.process.is_running:
            self.violate(f"question {number} was never answered: {question}")
        elif question.told and question.decided and question.process.is_running:
            if question.told[0] != TOLD_AS[question.decided[0]]:
                self.violate(f"question {number} was answered otherwise: {question}")
