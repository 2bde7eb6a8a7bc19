"""What an approval for good covers: never more than the user could read in the question."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.agent.acp.messages import PermissionOption, ToolCallUpdate
from GeminiCompanion.companion.agent.agents.claude_agent import ClaudeAgent
from GeminiCompanion.companion.agent.agents.cli import AgentCli
from GeminiCompanion.companion.agent.agents.codex import Codex
from GeminiCompanion.companion.agent.agents.gemini_cli import GeminiCli
from GeminiCompanion.companion.agent.events.tool_call import Call, read
from GeminiCompanion.companion.agent.events.turn_events import (
    ALWAYS,
    ALWAYS_SERVER,
    ALWAYS_TOOL,
    CANCEL,
    ONCE,
)
from GeminiCompanion.companion.agent.turn.outcomes import Approvals, choices_of


def of_server(tool: str = "add", title: str = "", text: str = "{}") -> Call:
    title = title or f"{tool} (sums MCP Server)"
    return read(ToolCallUpdate(f"mcp_sums_{tool}__call_1", title, "other", texts=(text,)))


class Covered(unittest.TestCase):
    def approved(self, call: Call, option: str) -> Approvals:
        approvals = Approvals()
        self.assertEqual(approvals.remember(call, option), ONCE)
        return approvals

    def test_a_tool_is_approved_with_other_arguments_too(self) -> None:
        approvals = self.approved(of_server(), ALWAYS_TOOL)
        self.assertTrue(approvals.covers(of_server(text='{"a": 1}')))
        self.assertFalse(approvals.covers(of_server("say")))

    def test_a_server_is_approved_with_all_its_tools(self) -> None:
        approvals = self.approved(of_server(), ALWAYS_SERVER)
        self.assertTrue(approvals.covers(of_server("say")))
        self.assertFalse(approvals.covers(of_server(title="add (other MCP Server)")))

    def test_a_title_that_an_argument_wrote_names_no_server(self) -> None:
        approvals = self.approved(of_server(), ALWAYS_SERVER)
        title = "rm (sums MCP Server)"
        self.assertFalse(
            approvals.covers(of_server("evil", title, '{"command": "rm (sums MCP Server)"}'))
        )
        self.assertFalse(approvals.covers(of_server("evil", title, "[Payload omitted]")))

    def test_where_no_server_is_known_for_certain_the_tool_alone_is_approved(self) -> None:
        call = of_server(title="ls", text='{"command": "ls"}')
        approvals = self.approved(call, ALWAYS_SERVER)
        self.assertTrue(approvals.covers(call))
        self.assertFalse(approvals.covers(of_server("say")))

    def test_all_edits_are_approved_at_once(self) -> None:
        write = read(ToolCallUpdate("write_file__1", kind="edit"))
        approvals = self.approved(write, ALWAYS)
        self.assertTrue(approvals.covers(read(ToolCallUpdate("replace__1", kind="edit"))))
        self.assertFalse(approvals.covers(of_server()))

    def test_of_commands_the_agent_remembers_what_was_approved(self) -> None:
        command = read(ToolCallUpdate("run_shell_command__1", "ls", "execute"))
        approvals = Approvals()
        self.assertEqual(approvals.remember(command, ALWAYS), ALWAYS)
        self.assertFalse(approvals.covers(command))


def options(text: str) -> list[PermissionOption]:
    """ "a allow_once, b reject_once" """
    return [PermissionOption(each.split()[0], each, each.split()[1]) for each in text.split(", ")]


class Offered(unittest.TestCase):
    """Which option each outcome chooses."""

    def chosen(self, text: str, cli: type[AgentCli] = GeminiCli) -> dict[str, str]:
        made = cli("/home", False)
        return {it: each.id for it, each in choices_of(options(text), made.outcome_of).items()}

    def test_an_options_kind_is_what_counts_and_not_its_id(self) -> None:
        told = "cancel allow_always, x allow_once, proceed_once reject_once"
        found = self.chosen(told, Codex)
        self.assertEqual(found, {ALWAYS: "cancel", ONCE: "x", CANCEL: "proceed_once"})

    def test_of_several_of_one_kind_the_first_is_chosen(self) -> None:
        told = "a allow_always, b allow_always, c reject_once, d reject_once"
        self.assertEqual(self.chosen(told, Codex), {ALWAYS: "a", CANCEL: "c"})

    def test_a_rejection_for_good_is_chosen_only_where_there_is_no_other(self) -> None:
        self.assertEqual(self.chosen("a reject_always, b reject_once"), {CANCEL: "b"})
        self.assertEqual(self.chosen("a reject_always"), {CANCEL: "a"})

    def test_a_kind_that_nobody_knows_is_not_offered(self) -> None:
        self.assertEqual(self.chosen("a allow_forever, b allow_once"), {ONCE: "b"})

    def test_an_option_beyond_what_may_be_offered_is_left_out(self) -> None:
        told = "proceed_always_and_save allow_always, proceed_always_tool allow_always"
        self.assertEqual(self.chosen(told), {ALWAYS_TOOL: "proceed_always_tool"})
        told = "bypassPermissions allow_always, acceptEdits allow_always"
        self.assertEqual(self.chosen(told, ClaudeAgent), {ALWAYS: "acceptEdits"})
