"""The output of a command while it runs: what is told of it, and what is kept."""

from __future__ import annotations

import unittest
from unittest import mock

from GeminiCompanion.companion.agent.turn import live_output
from GeminiCompanion.companion.agent.turn.live_output import END, HEAD, TAIL, LiveOutput
from GeminiCompanion.companion.agent.turn_events import ToolOutput

from ..support import until

PIECE = "a line of what a build says, one after the other\n" * 200


class Live(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.told: list[ToolOutput] = []
        self.output = LiveOutput("call", self.told.append)

    def pause(self, seconds: float) -> None:
        patch = mock.patch.object(live_output, "PAUSE", seconds)
        patch.start()
        self.addCleanup(patch.stop)

    async def test_the_first_piece_is_told_at_once_and_the_others_together(self) -> None:
        self.pause(0.01)
        for text in ("one\n", "two\n", "three"):
            self.output.add_text(text)
        self.assertEqual(self.told, [ToolOutput("call", "one\n", 0, 1)])
        await until(lambda: len(self.told) == 2)
        self.assertEqual(self.told[1], ToolOutput("call", "one\ntwo\nthree", 0, 2))

    async def test_what_is_told_as_a_whole_replaces_what_was_told_before(self) -> None:
        self.pause(0.0)
        self.output.replace_text("one\n")
        self.output.replace_text("one\ntwo\n")
        await until(lambda: len(self.told) == 2)
        self.assertEqual(self.told[1], ToolOutput("call", "one\ntwo\n", 0, 2))
        self.assertEqual(self.output.text, "one\ntwo\n")

    async def test_after_the_end_of_the_call_nothing_is_told(self) -> None:
        self.pause(0.0)
        self.output.add_text("one\n")
        self.output.add_text("two\n")
        self.output.close()
        later = LiveOutput("later", self.told.append)
        later.add_text("a")
        later.add_text("b")
        await until(lambda: len(self.told) == 3)
        self.assertEqual([piece.call_id for piece in self.told], ["call", "later", "later"])

    async def test_of_100_megabytes_a_bounded_part_is_kept_and_two_pieces_told(self) -> None:
        self.pause(1_000.0)
        pieces = 100 * 1024 * 1024 // len(PIECE)
        for _ in range(pieces):
            self.output.add_text(PIECE)
        size = pieces * len(PIECE)
        self.assertEqual(len(self.told), 1)
        text = self.output.text
        self.assertTrue(text.startswith(PIECE) and text.endswith(PIECE))
        self.assertIn(f"… {size - HEAD - TAIL:,} characters are left out here …", text)
        self.assertLess(len(text), HEAD + TAIL + 100)
        self.output._tell_now()
        self.output.close()
        self.assertEqual(len(self.told[1].text), END)
        self.assertEqual(self.told[1].before, size - END)
        self.assertEqual(self.told[1].line_ends, pieces * 200)

    async def test_any_pieces_give_the_same(self) -> None:
        self.pause(1_000.0)
        whole = "".join(f"{number:07}\n" for number in range(60_000))
        for size in (1, 7, 999, 100_000, len(whole)):
            output = LiveOutput("call", lambda told: None)
            for at in range(0, len(whole), size):
                output.add_text(whole[at : at + size])
            output.close()
            self.assertEqual(output.text[:HEAD], whole[:HEAD])
            self.assertEqual(output.text[-TAIL:], whole[-TAIL:])
            self.assertIn(f"… {len(whole) - HEAD - TAIL:,} characters", output.text)


if __name__ == "__main__":
    unittest.main()
