"""What waits for the user, as a front end asks it."""

from __future__ import annotations

import unittest
from datetime import datetime, timezone

from GeminiCompanion.companion.agent.elicitation import FORM
from GeminiCompanion.companion.agent.turn_events import (
    ALWAYS,
    ALWAYS_SERVER,
    ALWAYS_TOOL,
    CANCEL,
    MODIFY,
    ONCE,
    OUTCOMES,
    Body,
    Diff,
    Elicitation,
    Option,
    ToolConfirmation,
    TurnEvent,
)
from GeminiCompanion.companion.chat.question import (
    elicitation_question,
    order_options,
    permission_question,
)


def options(*outcomes: str) -> list[Option]:
    return [Option(outcome, outcome) for outcome in outcomes]


class Decisions(unittest.TestCase):
    def test_what_allows_less_is_before_what_allows_more_and_no_is_the_last(self) -> None:
        told = [option.outcome for option in order_options(options(*reversed(OUTCOMES)))]
        self.assertEqual(told, [ONCE, ALWAYS, ALWAYS_TOOL, ALWAYS_SERVER, MODIFY, CANCEL])

    def test_a_rejection_is_always_possible(self) -> None:
        self.assertEqual(order_options([]), (Option(CANCEL, "Reject"),))

    def test_a_decision_that_we_do_not_know_is_before_the_rejection(self) -> None:
        told = [option.outcome for option in order_options(options(CANCEL, "proceed_later", ONCE))]
        self.assertEqual(told, [ONCE, "proceed_later", CANCEL])

    def test_a_label_cannot_hide_anything_and_has_an_end(self) -> None:
        (yes, _no) = order_options([Option(ONCE, "Yes\n\u202e"), Option(CANCEL, "No")])
        self.assertEqual(yes.label, "Yes<U+000A><U+202E>")
        (yes, _no) = order_options([Option(ONCE, "Yes " * 100)])
        self.assertEqual(len(str(yes.label)), 80)


def event(body: Body) -> TurnEvent:
    return TurnEvent(3, datetime.now(timezone.utc), "s", "t", body)


class Values(unittest.TestCase):
    def test_a_permission_has_the_whole_command_and_all_edits(self) -> None:
        diffs = [Diff(path, "old\u200b", "new") for path in ("/a", "/b", "/c")]
        command = "row\n" * 100_000 + "rm \u202ea"
        body = ToolConfirmation("c", "x", "", "", command, {}, (), diffs[0], tuple(diffs[1:]))
        told = permission_question(event(body), body)
        self.assertEqual((told.turn, told.id, told.title), ("t", "c", "x"))
        self.assertEqual(told.revision, "t.3")
        self.assertEqual(told.text, "row\n" * 100_000 + "rm <U+202E>a")
        self.assertEqual(told.diffs, tuple(diffs))

    def test_the_message_of_an_elicitation_cannot_hide_anything(self) -> None:
        body = Elicitation("e", FORM, "Who\nare \u202eyou?")
        told = elicitation_question(event(body), body)
        self.assertEqual((told.turn, told.id, told.mode), ("t", "e", FORM))
        self.assertEqual(told.title, "Who\nare <U+202E>you?")
