"""Processes on Windows, seen from elsewhere."""

from __future__ import annotations

import subprocess
import unittest
from unittest import mock

from GeminiCompanion.companion.base import console


class EndTree(unittest.TestCase):
    def test_the_process_ends_with_all_that_it_started_and_no_window_flashes_up(self) -> None:
        no_window = 0x08000000
        with mock.patch.object(console, "NO_WINDOW", no_window):
            with mock.patch.object(subprocess, "call") as call:
                console.end_tree(4711)
        self.assertEqual(call.call_args[0][0], ["taskkill", "/PID", "4711", "/T", "/F"])
        self.assertEqual(call.call_args[1]["creationflags"], no_window)

    def test_a_system_without_the_program_is_no_error(self) -> None:
        with mock.patch.object(subprocess, "call", side_effect=FileNotFoundError) as call:
            console.end_tree(4711)
        call.assert_called_once()


if __name__ == "__main__":
    unittest.main()
