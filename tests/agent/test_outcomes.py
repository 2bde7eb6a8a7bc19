"""What an approval for good covers: never more than the user could read in the question."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.agent.acp.messages import ToolCallUpdate
from GeminiCompanion.companion.agent.events.tool_call import Call, read
from GeminiCompanion.companion.agent.turn.outcomes import (
    ALWAYS,
    ALWAYS_SERVER,
    ALWAYS_TOOL,
    ONCE,
    Approvals,
)


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
