"""The API with the real Gemini CLI behind it: every endpoint that talks with it, every event."""

from __future__ import annotations

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_case import on_loop  # noqa: E402
from api_case import LINES, ApiCase, data, said, types  # noqa: E402
from model_server import call, thought  # noqa: E402


class Chat(ApiCase):
    @on_loop
    async def test_a_message_is_answered_as_one_object(self) -> None:
        self.model.will_play("hello", ["Hi ", "there."])
        reply = await self.post("/chat", {"message": "hello", "workspacePath": self.workspace})
        self.assertEqual((reply.status, reply["success"]), (200, True), reply)
        self.assertEqual((reply["response"], reply["hasToolCalls"]), ("Hi there.", False))
        self.assertEqual(reply["toolCalls"], [])
        self.assertEqual(reply["usage"]["outputTokens"], 1)
        sessions = await self.get("/sessions")
        self.assertIn(reply["sessionId"], [it["sessionId"] for it in sessions["sessions"]])

    @on_loop
    async def test_a_stream_has_all_kinds_of_events_in_their_order(self) -> None:
        path = self.path("new.txt")
        self.model.will_play(
            "write it",
            [thought("Planning", "a file"), call("write_file", file_path=path, content="text\n")],
            ["Done."],
        )
        events = await self.story("write it", decide="proceed_once")
        self.assertEqual(
            types(events),
            ["thought", "tool_call", "tool_execution", "tool_confirmation", "tool_execution",
             "tool_result", "content", "complete"],
        )  # fmt: skip
        self.assertEqual(self.read("new.txt"), "text\n")
        asked = data(events, "tool_confirmation")[0]
        self.assertEqual(asked["diff"], {"path": path, "oldText": "", "newText": "text\n"})
        statuses = [it["status"] for it in data(events, "tool_execution")]
        self.assertEqual(statuses, ["pending", "executing", "completed"])
        self.assertEqual(data(events, "complete")[0]["success"], True)
        self.assertEqual(said(events), "Done.")

    @on_loop
    async def test_lines_are_the_same_events_without_their_frames(self) -> None:
        self.model.will_play("lines", ["One ", "two."])
        async with self.stream({"message": "lines"}, LINES) as stream:
            events = await stream.rest()
        self.assertEqual(stream.media, LINES)
        self.assertEqual((types(events), said(events)), (["content", "complete"], "One two."))
        self.assertEqual({event["id"] for event in events}, {""})


if __name__ == "__main__":
    unittest.main()
