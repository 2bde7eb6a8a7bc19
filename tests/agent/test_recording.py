"""What is read of the CLI's own recordings."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import unittest

from GeminiCompanion.companion.agent.agents.gemini_recording import Recording

PATIENCE = 180.0


class Recorded(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.home = temporary.name
        chats = os.path.join(self.home, "tmp", "project", "chats")
        os.makedirs(chats)
        self.path = os.path.join(chats, "session-2001-01-01T00-00-12345678.jsonl")
        self.recording = Recording(self.home, "12345678-and-more")

    def call(self, id: str, output: str = "told", ended: str = "") -> None:
        result = [{"functionResponse": {"response": {"output": output}}}]
        call = {"id": id, "name": "read_file", "args": {}, "result": result, "timestamp": ended}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"type": "gemini", "toolCalls": [call]}) + "\n")

    async def test_what_was_loaded_is_not_read_and_what_comes_is(self) -> None:
        self.call("old")
        self.recording.skip_earlier_turns()
        self.call("new")
        found = await asyncio.wait_for(self.recording.find_record("new", PATIENCE), 2 * PATIENCE)
        assert found is not None
        self.assertEqual(found.output, "told")
        self.assertIsNone(await self.recording.find_record("old", 0.0))

    async def test_a_recording_that_is_not_there_yet_is_read_from_its_beginning(self) -> None:
        self.recording.skip_earlier_turns()
        self.call("first")
        found = await asyncio.wait_for(self.recording.find_record("first", PATIENCE), 2 * PATIENCE)
        self.assertIsNotNone(found)

    async def test_of_calls_with_one_id_each_has_its_own_record(self) -> None:
        self.call("same", "first", "10:00")
        self.call("same", "second", "10:01")
        found = [await self.recording.find_record("same", 0.0) for _ in range(3)]
        self.assertEqual([record and record.output for record in found], ["first", "second", None])

    async def test_a_call_that_is_written_again_is_told_once(self) -> None:
        for is_new in (True, False):
            self.call("one", "told", "10:00")
            found = await self.recording.find_record("one", 0.0)
            self.assertEqual(found is not None, is_new)

    async def test_what_nobody_asked_for_in_its_turn_is_not_told_in_the_next(self) -> None:
        self.call("same", "before", "10:00")
        self.assertIsNone(await self.recording.find_record("another", 0.0))
        self.recording.skip_earlier_turns()
        self.call("same", "now", "10:01")
        found = await self.recording.find_record("same", 0.0)
        assert found is not None
        self.assertEqual(found.output, "now")
