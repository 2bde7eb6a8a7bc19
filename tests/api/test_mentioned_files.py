"""Files that a message names as `@path`: read along where they lie within the roots, and nowhere
else."""

from __future__ import annotations

import os
import tempfile
import unittest
from typing import Any

from GeminiCompanion.companion.api.contract.refusal import PATH_REFUSED, Refusal
from GeminiCompanion.companion.api.files.served_files import Roots
from GeminiCompanion.companion.api.handlers.chat_handlers import _message_files


class Mentioned(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = os.path.realpath(temporary.name)
        self.workspace = os.path.join(self.root, "workspace")
        os.makedirs(os.path.join(self.workspace, "inner"))
        for name in ("secret.txt", "workspace/a.txt", "workspace/inner/b.txt"):
            with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
                file.write(name)

    def found(self, message: str, **fields: Any) -> list[str]:
        whole = _message_files(
            Roots([self.workspace]), self.workspace, {"message": message, **fields}
        )
        return [os.path.relpath(path, self.workspace) for path in whole]

    def test_files_and_folders_within_the_roots_are_read_along_once(self) -> None:
        self.assertEqual(self.found("@a.txt and @inner/b.txt"), ["a.txt", "inner/b.txt"])
        self.assertEqual(self.found("all of @inner/"), ["inner"])
        self.assertEqual(self.found("@a.txt", filePaths=["a.txt"]), ["a.txt"])
        self.assertEqual(self.found(f"@{self.workspace}/a.txt"), ["a.txt"])

    def test_what_leads_out_of_them_stays_a_word(self) -> None:
        os.symlink(os.path.join(self.root, "secret.txt"), os.path.join(self.workspace, "link"))
        for path in ("../secret.txt", "inner/../../secret.txt", f"{self.root}/secret.txt", "link",
                     "/etc/passwd", "~/x", "a\0b", "x" * 5000, "missing"):  # fmt: skip
            with self.subTest(path[:20]):
                self.assertEqual(self.found(f"look at @{path}"), [])

    def test_what_is_attached_on_purpose_is_refused_there(self) -> None:
        with self.assertRaises(Refusal) as caught:
            self.found("look", filePaths=["../secret.txt"])
        self.assertEqual(caught.exception.code, PATH_REFUSED)

    @unittest.skipUnless(hasattr(os, "mkfifo"), "Windows has no such files")
    def test_what_is_no_file_stays_a_word(self) -> None:
        os.mkfifo(os.path.join(self.workspace, "pipe"))
        self.assertEqual(self.found("@pipe"), [])
