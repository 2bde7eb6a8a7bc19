"""Which of the agent's options each decision chooses: none that lasts."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.agent.acp.messages import PermissionOption, ToolCallUpdate
from GeminiCompanion.companion.agent.agents.claude_agent import ClaudeAgent
from GeminiCompanion.companion.agent.agents.cli import AgentCli
from GeminiCompanion.companion.agent.agents.codex import Codex
from GeminiCompanion.companion.agent.agents.qwen_code import QwenCode
from GeminiCompanion.companion.agent.events.tool_call import read_call
from GeminiCompanion.companion.agent.supported import CLIS
from GeminiCompanion.companion.agent.turn.outcomes import choices_of
from GeminiCompanion.companion.agent.turn_events import CANCEL, ONCE

SWITCH = "switch_mode"


def options(text: str) -> list[PermissionOption]:
    """ "a allow_once, b reject_once" """
    return [PermissionOption(each.split()[0], each, each.split()[1]) for each in text.split(", ")]


class Offered(unittest.TestCase):
    """Which option each outcome chooses."""

    def chosen(
        self, text: str, cli: type[AgentCli] = AgentCli, kind: str = "execute"
    ) -> dict[str, str]:
        """`cli` is one of which no option is known if it is not named."""
        call = read_call(ToolCallUpdate("a-call", kind=kind))
        return {
            outcome: each.id
            for outcome, each in choices_of(options(text), cli.options, call).items()
        }

    def test_an_answer_for_good_that_is_not_known_is_not_offered(self) -> None:
        for row in (*CLIS.values(), AgentCli):
            found = self.chosen("new allow_always, x allow_once, y reject_once", row)
            self.assertEqual(found, {ONCE: "x", CANCEL: "y"})

    def test_a_known_option_is_chosen_before_one_that_is_not_known(self) -> None:
        told = "new allow_once, none reject_once, allow_once allow_once, cancel reject_once"
        self.assertEqual(self.chosen(told, Codex), {ONCE: "allow_once", CANCEL: "cancel"})

    def test_a_known_id_of_another_kind_is_not_known(self) -> None:
        told = "allow_once allow_always, x allow_once, allow_for_session reject_once"
        self.assertEqual(self.chosen(told, Codex), {ONCE: "x", CANCEL: "allow_for_session"})

    def test_of_several_of_one_kind_the_first_is_chosen(self) -> None:
        told = "a allow_once, b allow_once, c reject_once, d reject_once"
        self.assertEqual(self.chosen(told), {ONCE: "a", CANCEL: "c"})

    def test_they_stay_in_the_order_of_the_agent(self) -> None:
        told = "new reject_once, reject reject_once, allow allow_once"
        self.assertEqual(list(self.chosen(told, ClaudeAgent)), [CANCEL, ONCE])
        told = "allow allow_once, reject reject_once"
        self.assertEqual(list(self.chosen(told, ClaudeAgent)), [ONCE, CANCEL])

    def test_a_rejection_for_good_is_chosen_only_where_there_is_no_other(self) -> None:
        self.assertEqual(self.chosen("a reject_always, b reject_once"), {CANCEL: "b"})
        self.assertEqual(self.chosen("a reject_always"), {CANCEL: "a"})

    def test_a_kind_that_nobody_knows_is_not_offered(self) -> None:
        self.assertEqual(self.chosen("a allow_forever, b allow_once"), {ONCE: "b"})

    def test_no_answer_is_sent_to_the_agent_that_it_would_remember(self) -> None:
        ids = (
            "always allow_always proceed_always proceed_always_server proceed_always_tool"
            " proceed_always_and_save proceed_always_project allow_for_session allow_session"
            " allow-with-updates allow_permissions_session accept_execpolicy_amendment"
        )
        for id in ids.split():
            for row in (*CLIS.values(), AgentCli):
                for kind in ("edit", "execute", "other", SWITCH):
                    with self.subTest(id=id, agent=row, kind=kind):
                        self.assertEqual(self.chosen(f"{id} allow_always", row, kind), {})

    def test_a_plan_is_left_for_the_mode_that_asks_by_each_version_of_claude(self) -> None:
        offered = {
            "0.49": (
                "bypassPermissions allow_always, auto allow_always, acceptEdits allow_always,"
                " default allow_once, plan reject_once"
            ),
            "0.101": (
                "exit-plan-default allow_once, exit-plan-clear-auto allow_always, exit-plan-auto"
                " allow_always, exit-plan-bypass allow_always, reject reject_once"
            ),
        }
        expected = {
            "0.49": {ONCE: "default", CANCEL: "plan"},
            "0.101": {ONCE: "exit-plan-default", CANCEL: "reject"},
        }
        found = {
            version: self.chosen(told, ClaudeAgent, SWITCH) for version, told in offered.items()
        }
        self.assertEqual(found, expected)

    def test_a_plan_of_qwen_is_not_left_for_the_mode_before_it_or_for_fewer_questions(
        self,
    ) -> None:
        told = (
            "restore_previous allow_once, proceed_always allow_always, proceed_once allow_once,"
            " cancel reject_once"
        )
        found = self.chosen(told, QwenCode, SWITCH)
        self.assertEqual(found, {ONCE: "proceed_once", CANCEL: "cancel"})

    def test_another_mode_is_allowed_only_by_an_option_that_is_known(self) -> None:
        told = "new allow_once, no reject_once"
        self.assertEqual(self.chosen(told, ClaudeAgent, SWITCH), {CANCEL: "no"})
        # Of this agent nobody knows any.
        self.assertEqual(self.chosen(told, AgentCli, SWITCH), {ONCE: "new", CANCEL: "no"})
