"""What is read of the CLI's own recordings."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import unittest

from GeminiCompanion.companion.agent.recording import Recording

PATIENCE = 30.0


class Skipped(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.home = temporary.name
        chats = os.path.join(self.home, "tmp", "project", "chats")
        os.makedirs(chats)
        self.path = os.path.join(chats, "session-2001-01-01T00-00-12345678.jsonl")
        self.recording = Recording(self.home, "12345678-and-more")

    def call(self, id: str) -> None:
        result = [{"functionResponse": {"response": {"output": "told"}}}]
        call = {"id": id, "name": "read_file", "args": {}, "result": result}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"type": "gemini", "toolCalls": [call]}) + "\n")

    async def test_what_was_loaded_is_not_read_and_what_comes_is(self) -> None:
        self.call("old")
        self.recording.skip()
        self.call("new")
        found = await asyncio.wait_for(self.recording.find("new", PATIENCE), 2 * PATIENCE)
        assert found is not None
        self.assertEqual(found.output, "told")
        self.assertIsNone(await self.recording.find("old", 0.0))

    async def test_a_recording_that_is_not_there_yet_is_read_from_its_beginning(self) -> None:
        self.recording.skip()
        self.call("first")
        found = await asyncio.wait_for(self.recording.find("first", PATIENCE), 2 * PATIENCE)
        self.assertIsNotNone(found)


if __name__ == "__main__":
    unittest.main()
