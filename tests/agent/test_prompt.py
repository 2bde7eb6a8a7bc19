"""What a message becomes before the CLI gets it."""

from __future__ import annotations

import os
import shutil
import tempfile
import unittest
from typing import Any, Mapping

from GeminiCompanion.companion.agent import prompt
from GeminiCompanion.companion.agent.failure import FILE_NOT_FOUND, VALIDATION_ERROR, AgentError


class Attached(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, True)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def attach(self, path: str) -> Mapping[str, Any]:
        return prompt.message("look", [path], self.folder, str).parts[1]

    def refused(self, path: str) -> str:
        with self.assertRaises(AgentError) as caught:
            self.attach(path)
        return caught.exception.code

    def test_a_file_and_a_folder_are_named_by_their_whole_path(self) -> None:
        os.mkdir(self.path("sub"))
        with open(self.path("sub/a b.txt"), "w", encoding="ascii"):
            pass
        link = self.attach("sub/../sub/a b.txt")
        self.assertEqual(link["uri"], "file://" + self.path("sub/a b.txt"))
        self.assertEqual(link["name"], "a b.txt")
        self.assertEqual(self.attach(self.path("sub"))["uri"], "file://" + self.path("sub"))

    def test_what_is_not_there_or_no_path_is_told(self) -> None:
        for path in ("nowhere", "a\0b", "x" * 5000):
            self.assertEqual(self.refused(path), FILE_NOT_FOUND)

    @unittest.skipUnless(hasattr(os, "mkfifo"), "there are no such files")
    def test_a_pipe_for_whose_writer_the_cli_would_wait_is_refused(self) -> None:
        os.mkfifo(self.path("pipe"))
        os.symlink("pipe", self.path("link"))
        for path in ("pipe", "link", os.devnull):
            self.assertEqual(self.refused(path), VALIDATION_ERROR)


if __name__ == "__main__":
    unittest.main()
