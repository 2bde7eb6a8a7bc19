"""What is written of an edit, and what is not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest

from GeminiCompanion.companion.agent.turn.file_writes import DecidedEdit, NotWritten, write_text
from GeminiCompanion.companion.agent.turn_events import Diff

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Writes(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.path = os.path.join(temporary.name, "file.txt")

    def write(self, data: bytes) -> None:
        with open(self.path, "wb") as file:
            file.write(data)

    def read(self) -> bytes:
        with open(self.path, "rb") as file:
            return file.read()

    def seen(self, old: str, new: str, text: str | None = None) -> DecidedEdit:
        return DecidedEdit(Diff(self.path, old, new), text)

    def test_an_edit_is_written_where_the_file_is_as_it_was_shown(self) -> None:
        self.write(b"\xef\xbb\xbfold\r\n")
        self.assertEqual(write_text(self.path, "new\r\n", self.seen("old\n", "new\n"))[1], "")
        self.assertEqual(self.read(), b"new\r\n")

    def test_a_file_that_was_saved_meanwhile_is_not_overwritten(self) -> None:
        for text in None, "changed by the user\n":
            with self.subTest(text):
                self.write(b"saved meanwhile\n")
                with self.assertRaisesRegex(NotWritten, "has changed since"):
                    write_text(self.path, "new\n", self.seen("old\n", "new\n", text))
                self.assertEqual(self.read(), b"saved meanwhile\n")

    def test_a_file_that_appeared_meanwhile_is_not_overwritten(self) -> None:
        self.write(b"mine\n")
        with self.assertRaises(NotWritten):
            write_text(self.path, "new\n", self.seen("", "new\n"))
        self.assertEqual(self.read(), b"mine\n")

    def test_a_text_that_was_not_shown_is_not_written(self) -> None:
        with self.assertRaises(NotWritten):
            write_text(self.path, "another\n", self.seen("", "new\n"))
        self.assertFalse(os.path.exists(self.path))

    def test_in_another_encoding_the_agents_text_is_written_and_no_other(self) -> None:
        self.write("für\n".encode("latin-1"))
        with self.assertRaises(NotWritten):
            write_text(self.path, "neu\n", self.seen("für\n", "neu\n", "mine\n"))
        self.assertEqual(write_text(self.path, "neu\n", self.seen("für\n", "neu\n"))[1], "")
        self.assertEqual(self.read(), b"neu\n")

    @unittest.skipIf(sys.platform == "win32", "Windows has no such limit")
    def test_a_disk_that_does_not_take_all_of_it_leaves_the_file_as_it_was(self) -> None:
        code = (
            "import resource, sys\n"
            "from companion.agent.turn.file_writes import write_text\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))\n"
            "try:\n"
            "    write_text(sys.argv[1], 'y' * 9000, None)\n"
            "except OSError:\n"
            "    print('refused')\n"
        )
        for before in b"x" * 3000, None:
            with self.subTest(before):
                if os.path.exists(self.path):
                    os.unlink(self.path)
                if before is not None:
                    self.write(before)
                command = [sys.executable, "-c", code, self.path]
                done = subprocess.run(
                    command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
                )
                self.assertEqual(done.stdout, "refused\n", done.stderr)
                self.assertEqual(self.read() if os.path.exists(self.path) else None, before)
