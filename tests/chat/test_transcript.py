"""The document of a conversation: whatever happens between two looks at it, it is the same."""

from __future__ import annotations

import gc
import sys
import unittest
from types import FrameType
from typing import Any, Sequence

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.elicitation import ACTIONS, FORM
from GeminiCompanion.companion.agent.sentence import sentence
from GeminiCompanion.companion.agent.session_state import (
    STATUSES,
    ConfigOptions,
    ContextUsage,
    Plan,
    PlanEntry,
    SessionTitle,
)
from GeminiCompanion.companion.agent.turn_events import Body, Content, Message, PastTurn, TurnEvent
from GeminiCompanion.companion.chat.block import Block
from GeminiCompanion.companion.chat.transcript import Transcript
from GeminiCompanion.companion.chat.waiting_block import AllRow
from hypothesis import given
from hypothesis import strategies as st

from .drawing import Drawing
from .events import BEGIN, FOLDER, numbered, past

IDS = st.sampled_from("abc")
WORDS = st.sampled_from(("a", "b c", "\n", "```", "▎ x", "▏", "\u202e", "~~~", "- ", "\r\n", "𝄞"))
TEXTS = st.lists(WORDS, max_size=6).map("".join)
LINES = st.integers(0, 3).map(lambda count: "row\n" * count)
DIFFS = st.builds(events.Diff, st.sampled_from(("/project/a.py", "/b")), LINES, LINES)
ARGS = st.sampled_from(
    ({}, {"command": "ls"}, {"command": "ls\nrm a"}, {"file_path": "/b", "n": 1})
)
OPTIONS = st.lists(
    st.sampled_from(events.OUTCOMES).map(lambda outcome: events.Option(outcome, outcome))
)
STATES = (events.PENDING, events.EXECUTING, events.COMPLETED, events.FAILED)
REASONS = (events.END_TURN, events.CANCELLED, events.EMPTY)
BODIES = st.one_of(
    st.builds(Content, TEXTS.filter(bool), st.booleans()),
    st.builds(events.Thought, st.sampled_from(("", "Look", events.WARNING)), TEXTS),
    st.just(events.Thought("Again", sentence("It is asked again."))),
    st.builds(events.ToolCall, IDS, WORDS, WORDS, TEXTS, ARGS, st.booleans()),
    st.builds(events.ToolExecution, IDS, WORDS, st.sampled_from(STATES), st.booleans()),
    st.builds(
        events.ToolConfirmation,
        *(IDS, WORDS, WORDS, TEXTS, TEXTS, ARGS, OPTIONS.map(tuple), st.none() | DIFFS),
    ),
    st.builds(
        events.ToolResult,
        *(IDS, WORDS, ARGS, TEXTS, TEXTS, st.booleans(), st.none() | TEXTS, st.booleans()),
        st.lists(DIFFS, max_size=2).map(tuple),
    ),
    st.builds(events.ToolOutput, IDS, TEXTS, st.integers(0, 2), st.integers(0, 3)),
    st.builds(events.Elicitation, IDS, st.just(FORM), TEXTS),
    st.builds(events.ElicitationAnswered, IDS, st.sampled_from(ACTIONS)),
    st.builds(events.MessageAdded, IDS, TEXTS),
    st.builds(events.Complete, st.sampled_from(REASONS), st.just(events.Usage(1, 2))),
    st.just(events.Error("STREAM_ERROR", "It ended.", "More\nof it")),
    st.builds(
        Plan, st.lists(st.builds(PlanEntry, WORDS, WORDS, st.sampled_from(STATUSES))).map(tuple)
    ),
    st.builds(ContextUsage, st.integers(0, 9), st.integers(0, 9)),
    st.builds(Message, TEXTS, st.sampled_from(((), ("/project/a.py", "/b")))),
)
# Pieces of an answer are by far the most.
MANY = st.lists(st.one_of(BODIES, st.builds(Content, TEXTS.filter(bool))), max_size=25)
# What is not kept is gone with the end of a turn.
DONE = events.Complete(events.END_TURN, events.Usage())
CONVERSATIONS = st.builds(lambda first, rest: [first, *rest], st.builds(Message, TEXTS), MANY)


def followed(told: Sequence[TurnEvent], looks: Sequence[bool] = ()) -> tuple[str, list[Any]]:
    """The document as a view has it at the end, which looks at it after some of the events."""
    transcript, drawing = Transcript(FOLDER), Drawing()
    for number, event in enumerate(told):
        transcript.add_event(event)
        if looks and looks[number % len(looks)]:
            drawing.apply(transcript.take_patches())
    drawing.apply(transcript.take_patches())
    assert transcript.take_patches() == ()
    return drawing.text, drawing.items


def in_pieces(bodies: Sequence[Body], size: int) -> list[Body]:
    """The same answers, told in pieces of this many code points."""
    found: list[Body] = []
    for body in bodies:
        if isinstance(body, Content):
            parts = [body.text[at : at + size] for at in range(0, len(body.text), size)]
            found += [Content(part) for part in parts[:-1]]
            body = Content(parts[-1], body.is_partial)
        found.append(body)
    return found


def taken(transcript: Transcript) -> str:
    """All that was not taken before, as a document of its own."""
    drawing = Drawing()
    drawing.apply(transcript.take_patches())
    return drawing.text


class Same(unittest.TestCase):
    @given(CONVERSATIONS, st.lists(st.booleans(), min_size=1))
    def test_looks_in_between_change_nothing(self, bodies: list[Body], looks: list[bool]) -> None:
        told = list(numbered(bodies))
        self.assertEqual(followed(told, looks), followed(told))

    @given(CONVERSATIONS, st.integers(1, 4))
    def test_answers_may_come_in_any_pieces(self, bodies: list[Body], size: int) -> None:
        # Without the calls, whose times would differ, and questions, which have numbers.
        others = (events.ToolResult, events.Complete, events.ToolConfirmation)
        some = [body for body in bodies if not isinstance(body, others)]
        pieces = list(numbered(in_pieces(some, size)))
        self.assertEqual(followed(pieces, [True]), followed(list(numbered(some))))

    @given(CONVERSATIONS)
    def test_past_turns_are_drawn_as_they_were_when_they_ran(self, bodies: list[Body]) -> None:
        told = list(numbered([*bodies, DONE]))
        transcript, drawing = Transcript(FOLDER), Drawing()
        transcript.load_turns(past(told))
        drawing.apply(transcript.take_patches())
        self.assertEqual((drawing.text, drawing.items), followed(told))

    @given(CONVERSATIONS, st.integers(0, 25))
    def test_what_was_loaded_may_come_again(self, bodies: list[Body], count: int) -> None:
        told = list(numbered([*bodies, DONE]))
        transcript, drawing = Transcript(FOLDER), Drawing()
        transcript.load_turns(past(told[: count + 1]))
        for event in told:
            transcript.add_event(event)
        drawing.apply(transcript.take_patches())
        self.assertEqual((drawing.text, drawing.items), followed(told))

    @given(CONVERSATIONS)
    def test_only_our_own_messages_are_headings(self, bodies: list[Body]) -> None:
        text, _items = followed(list(numbered(bodies)))
        said = [body for body in bodies if isinstance(body, (Message, events.MessageAdded))]
        self.assertEqual(sum(line.startswith("▎") for line in text.split("\n")), len(said))

    @given(CONVERSATIONS)
    def test_what_waits_stands_below_all_else(self, bodies: list[Body]) -> None:
        transcript = Transcript(FOLDER)
        for event in numbered(bodies):
            transcript.add_event(event)
        text = taken(transcript)
        asked = text.count("? May it use") + text.count("[Answer]")
        self.assertEqual(asked, len(transcript.waiting))
        if asked:
            self.assertRegex(text[-100:], r"(\[Decline\]|\[Reject\]|\[cancel\]|\[Deny all\])\n\Z")

    def test_what_belongs_to_no_turn_changes_nothing(self) -> None:
        told = [*numbered([Message("Hello"), Content("Hi", is_partial=False)])]
        bodies = (ConfigOptions(), SessionTitle("A"), events.Queue((), False))
        others = [TurnEvent(0, told[0].time, "s", "", body) for body in bodies]
        self.assertEqual(followed([*told, *others]), followed(told))


class PastTurns(unittest.TestCase):
    def loaded(self, *turns: PastTurn) -> str:
        transcript, drawing = Transcript(), Drawing()
        for _ in range(2):
            transcript.load_turns(turns)
            drawing.apply(transcript.take_patches())
        return drawing.text

    def test_a_note_about_a_whole_turn_is_shown_once(self) -> None:
        note = TurnEvent(0, BEGIN, "s", "t", events.Thought(events.WARNING, sentence("Damaged.")))
        answer = TurnEvent(7, BEGIN, "s", "t", Content("Hi", is_partial=False))
        turn = PastTurn("t", BEGIN, "Hello", events=[note, answer])
        self.assertEqual(self.loaded(turn), "▎ Hello\n\n▏ ! Damaged.\n\nHi\n")

    def test_a_lost_message_is_said_to_be_lost(self) -> None:
        turn = PastTurn("t", BEGIN, "", is_whole=False)
        self.assertEqual(self.loaded(turn), f"▎ {events.LOST}\n")

    def test_past_turns_are_told_with_the_mode_and_the_model_that_they_had(self) -> None:
        over = events.Complete(events.END_TURN, events.Usage(), "Plan", "Flash")
        turn = PastTurn("t", BEGIN, "Hello", events=[TurnEvent(1, BEGIN, "s", "t", over)])
        self.assertIn(" · Plan · Flash\n", self.loaded(turn))

    def test_of_a_turn_that_is_over_nothing_is_kept(self) -> None:
        told: list[Body] = [Message("Hello"), Content("a"), events.Thought("b", "c"), Plan(())]
        told += [events.ToolCall(id, "read", "Read", "", {}, False) for id in "abc"]
        told += [
            events.ToolResult("a", "read", {}, "", "", True),
            events.Elicitation("e", FORM, "f"),
        ]
        transcript = Transcript()
        for event in numbered([*told, events.Complete(events.END_TURN, events.Usage())]):
            transcript.add_event(event)
        self.assertIn("▏ – Read", taken(transcript))
        gc.collect()
        left = {type(block) for block in gc.get_objects() if isinstance(block, Block)}
        self.assertEqual(left, {AllRow})


class Cost(unittest.TestCase):
    def steps(self, transcript: Transcript, told: Sequence[TurnEvent]) -> tuple[int, int]:
        """The lines of code that run for these events and the drawing of them, and the code points
        that are drawn."""
        counted = [0]

        def count(frame: FrameType, what: str, argument: Any) -> Any:
            counted[0] += what == "line"
            return count

        size = 0
        sys.settrace(count)
        try:
            for event in told:
                transcript.add_event(event)
                size += sum(len(patch.rendered.text) for patch in transcript.take_patches())
        finally:
            sys.settrace(None)
        return counted[0], size

    def test_an_event_costs_the_same_after_100_and_after_10_000_lines(self) -> None:
        more: list[Body] = [Message("More"), Plan((PlanEntry("Do", "high", "pending"),))]
        more += [Content("A line\nand a piece")] * 20 + [Content(".", is_partial=False)]
        more += [
            events.ToolCall("c", "read", "Read", "", {}, False),
            events.ToolResult("c", "read", {}, "text", "", True),
            Plan((PlanEntry("Do", "high", "completed"),)),
            events.Complete(events.END_TURN, events.Usage()),
        ]
        costs = {}
        for lines in (100, 10_000):
            transcript = Transcript()
            transcript.add_event(TurnEvent(0, BEGIN, "s", "before", Message("Go")))
            for number in range(1, lines // 5 + 1):
                body: Body = Content("line\n" * 4 + "\nline", is_partial=number % 3 != 0)
                transcript.add_event(TurnEvent(number, BEGIN, "s", "before", body))
            self.assertGreater(taken(transcript).count("\n"), lines)
            costs[lines] = self.steps(transcript, [*numbered(more)])
        (few, drawn), (many, drawn_of_many) = costs[100], costs[10_000]
        self.assertEqual(drawn, drawn_of_many)
        self.assertLess(many, few * 1.2)
