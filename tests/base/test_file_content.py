"""What stands on disk, read to be shown beside a proposal."""

from __future__ import annotations

import asyncio
import codecs
import hashlib
import os
import shutil
import sys
import tempfile
import threading
import tracemalloc
import unittest
from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

from GeminiCompanion.companion.base import file_content, log
from GeminiCompanion.companion.base.file_content import Original

from ..support import patched


class OriginalTestCase(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name: str = "a.txt") -> str:
        return os.path.join(self.folder, name)

    def read(self, data: bytes) -> Original:
        with open(self.path(), "wb") as file:
            file.write(data)
        read = file_content.read_original(self.path())
        self.assertEqual(read.digest, hashlib.sha256(data).hexdigest())
        self.assertIn(read.data, (data, None))
        return replace(read, digest="", data=None)


class Text(OriginalTestCase):
    def test_utf_8_is_read_as_it_is(self) -> None:
        self.assertEqual(
            self.read("a\nü \U0001f600\n".encode()), Original("a\nü \U0001f600\n", True)
        )

    def test_the_last_line_keeps_its_end_or_its_lack_of_one(self) -> None:
        for data in (b"", b"\n", b"a", b"a\n", b"a\n\n"):
            with self.subTest(data=data):
                self.assertEqual(self.read(data).text, data.decode())

    def test_line_ends_of_every_kind_become_line_feeds(self) -> None:
        self.assertEqual(self.read(b"a\r\nb\rc\nd\r\n").text, "a\nb\nc\nd\n")

    def test_separators_that_are_no_line_ends_stay(self) -> None:
        text = "a\x0bb\x0cc\x85d\u2028e\x00f"
        self.assertEqual(self.read(text.encode()).text, text)

    def test_the_mark_of_utf_8_stays_as_it_does_in_a_proposal(self) -> None:
        found = self.read(codecs.BOM_UTF8 + b"a\r\n")
        self.assertEqual(found, Original("\ufeffa\n", True, traits=("BOM", "CRLF")))

    def test_a_byte_order_mark_tells_the_encoding_and_is_left_out(self) -> None:
        for mark, encoding in (
            (codecs.BOM_UTF16_LE, "utf-16-le"),
            (codecs.BOM_UTF16_BE, "utf-16-be"),
            (codecs.BOM_UTF32_LE, "utf-32-le"),
            (codecs.BOM_UTF32_BE, "utf-32-be"),
        ):
            with self.subTest(encoding=encoding):
                found = self.read(mark + "ü\r\n\U0001f600\n".encode(encoding))
                name = encoding[:6].upper()
                self.assertEqual((found.text, found.note), ("ü\n\U0001f600\n", ""))
                self.assertEqual(found.traits, (name, "mixed line ends"))
                self.assertEqual(found.warning, f"The file is in {name}.")

    def test_bytes_that_are_not_utf_8_are_shown_with_a_warning(self) -> None:
        found = self.read(b"gr\xfc\xdfe\r\n")
        self.assertEqual((found.text, found.note), ("grüße\n", ""))
        self.assertEqual(found.warning, "The file is in an encoding other than UTF-8.")
        self.assertEqual(found.traits, ("an encoding other than UTF-8", "CRLF"))

    def test_a_binary_file_gives_a_note_with_its_size_and_no_text(self) -> None:
        note = "The file is binary; 6 bytes."
        found = self.read(b"\x89PNG\x00\xff")
        self.assertEqual(found, Original("", True, note=note, warning=note))

    def test_a_file_cut_within_a_utf_16_unit_gives_a_note(self) -> None:
        found = self.read(codecs.BOM_UTF16_LE + b"a\x00b")
        self.assertEqual((found.text, found.note), ("", "The file is binary; 5 bytes."))

    def test_line_ends_are_named_where_they_are_not_those_of_unix(self) -> None:
        for data, traits in (
            (b"a\nb\n", ()),
            (b"a\r\nb\r\n", ("CRLF",)),
            (b"a\r\nb\n", ("mixed line ends",)),
            (b"a\rb\r", ("CR",)),
            (b"a\nb", ("no final line end",)),
            (b"", ()),
        ):
            with self.subTest(data=data):
                self.assertEqual(self.read(data).traits, traits)

    def test_a_file_that_cannot_be_written_is_called_read_only(self) -> None:
        with mock.patch.object(os, "access", lambda path, mode: mode != os.W_OK):
            self.assertEqual(self.read(b"a\n").traits, ("read-only",))


class LargeFiles(OriginalTestCase):
    """Larger than the limit, which is small here."""

    def setUp(self) -> None:
        super().setUp()
        for name, value in (("LARGE", 100), ("BEGINNING", 10), ("CHUNK", 7)):
            patched(self, mock.patch.object(file_content, name, value))

    def test_up_to_the_limit_the_text_is_whole(self) -> None:
        found = self.read(b"0123456789" * 10)
        self.assertEqual((found.text, found.note), ("0123456789" * 10, ""))

    def test_beyond_it_only_the_beginning_is_read_and_that_is_said(self) -> None:
        found = self.read(b"01234\r\n89" * 12)
        self.assertTrue("01234\n89".startswith(found.text.rstrip("0")))
        self.assertIn("108 bytes", found.note)
        self.assertEqual(found.traits, ("CRLF", "only the beginning"))
        self.assertEqual(found.warning, "")

    def test_no_character_is_cut(self) -> None:
        for text in ("a\u20ac" * 40, "\U0001f600" * 40):
            with self.subTest(text=text[:2]):
                found = self.read(text.encode())
                self.assertTrue(found.text)
                self.assertTrue(text.startswith(found.text))

    def test_no_more_than_a_part_of_it_is_held(self) -> None:
        size = 16 * 1024 * 1024
        with open(self.path(), "wb") as file:
            file.truncate(size)
        with mock.patch.object(file_content, "CHUNK", 0x10000):
            tracemalloc.start()
            self.addCleanup(tracemalloc.stop)
            found = file_content.read_original(self.path())
        _now, most = tracemalloc.get_traced_memory()
        self.assertLess(most, size // 4)
        self.assertEqual(found.digest, hashlib.sha256(bytes(size)).hexdigest())

    def test_a_large_binary_file_is_called_one(self) -> None:
        self.assertEqual(self.read(b"\xff\0" * 80).note, "The file is binary.")


class FilesThatHaveNoEnd(OriginalTestCase):
    """And those that take long to say so."""

    def path_with_size(self, data: bytes, size: int) -> str:
        """A file of which the system says that it has so many bytes."""
        with open(self.path(), "wb") as file:
            file.write(data)
        told = SimpleNamespace(st_size=size, st_mode=os.stat(self.path()).st_mode)
        patched(self, mock.patch.object(os, "fstat", lambda number: told))
        return self.path()

    def test_a_file_that_grows_is_read_as_far_as_it_went(self) -> None:
        found = file_content.read_original(self.path_with_size(b"0123456789", 4))
        self.assertEqual((found.text, found.note), ("0123", ""))
        self.assertEqual(found.digest, hashlib.sha256(b"0123").hexdigest())

    def test_a_file_that_shrinks_is_read_to_its_end(self) -> None:
        self.assertEqual(file_content.read_original(self.path_with_size(b"0123", 10)).text, "0123")

    def test_a_file_of_no_size_that_has_data_gives_a_note(self) -> None:
        found = file_content.read_original(self.path_with_size(b"0123", 0))
        self.assertEqual((found.text, found.note), ("", "The size of the file is unknown."))

    @unittest.skipUnless(os.path.exists("/proc/self/pagemap"), "a file of Linux, without an end")
    def test_a_file_of_the_system_without_an_end_gives_a_note(self) -> None:
        self.assertIn("The size", file_content.read_original("/proc/self/pagemap").note)

    def test_a_file_too_large_to_be_read_in_time_gives_a_note(self) -> None:
        with mock.patch.object(file_content, "PATIENCE", -1.0):
            path = self.path_with_size(b"0123", 4)
            self.assertEqual(
                file_content.read_original(path), Original("", True, note=file_content.LATE)
            )

    def test_a_file_that_never_answers_gives_a_note(self) -> None:
        answered = threading.Event()
        self.addCleanup(answered.set)

        def read(path: str) -> Original:
            answered.wait()
            return Original("", exists=False)

        patched(self, mock.patch.object(file_content, "_read_file", read))
        with mock.patch.object(file_content, "PATIENCE", 0.01):
            found = asyncio.run(file_content.in_time(self.path()))
        self.assertEqual(found, Original("", True, note=file_content.LATE))

    def test_in_time_a_file_is_read_as_ever(self) -> None:
        self.read(b"x")
        self.assertEqual(asyncio.run(file_content.in_time(self.path())).text, "x")

    def test_a_bug_of_ours_is_logged_and_gives_a_note(self) -> None:
        def read(path: str) -> Original:
            raise ZeroDivisionError

        recent = log.RecentLines()
        log.logger.addHandler(recent)
        self.addCleanup(log.logger.removeHandler, recent)
        patched(self, mock.patch.object(file_content, "_read_file", read))
        self.assertIn("log", file_content.read_original(self.path()).note)
        self.assertIn("ZeroDivisionError", "\n".join(recent.lines()))


class FilesThatAreNotThere(OriginalTestCase):
    def test_a_new_file_has_an_empty_text_and_does_not_exist(self) -> None:
        self.assertEqual(file_content.read_original(self.path("new")), Original("", exists=False))

    def test_a_new_file_in_a_new_folder_is_a_new_file(self) -> None:
        self.assertFalse(file_content.read_original(os.path.join(self.folder, "x", "y")).exists)

    def test_a_folder_is_refused_by_name(self) -> None:
        found = file_content.read_original(self.folder)
        self.assertFalse(found.is_file)
        self.assertIn(f"{self.folder} is a folder", found.note)

    @unittest.skipIf(sys.platform == "win32", "Windows has no named pipes on disk")
    def test_a_pipe_is_refused_without_waiting_for_a_writer(self) -> None:
        os.mkfifo(self.path("pipe"))
        found = file_content.read_original(self.path("pipe"))
        self.assertFalse(found.is_file)
        self.assertIn("is a device", found.note)

    def test_a_name_that_this_system_has_no_letters_for_gives_a_note(self) -> None:
        error = UnicodeEncodeError("ascii", "\xe9", 0, 1, "ordinal not in range")
        with mock.patch.object(os, "stat", side_effect=error):
            self.assertIn("encoding", file_content.read_original(self.path("\xe9")).note)

    @unittest.skipIf(sys.platform == "win32", "Windows takes it for a new file")
    def test_a_path_below_a_file_gives_a_note_with_the_reason(self) -> None:
        self.read(b"x")
        found = file_content.read_original(os.path.join(self.path(), "below"))
        self.assertEqual(found.note, "The file cannot be read: Not a directory.")

    @unittest.skipIf(sys.platform == "win32", "links need rights on Windows")
    def test_a_link_is_followed(self) -> None:
        self.read(b"x")
        os.symlink(self.path(), self.path("link"))
        self.assertEqual(file_content.read_original(self.path("link")).text, "x")

    @unittest.skipIf(sys.platform == "win32", "links need rights on Windows")
    def test_links_in_a_circle_give_a_note(self) -> None:
        os.symlink("circle", self.path("circle"))
        self.assertIn("cannot be read", file_content.read_original(self.path("circle")).note)

    def test_reading_leaves_the_file_as_it_was(self) -> None:
        data = b"a\r\n\xff"
        self.read(data)
        with open(self.path(), "rb") as file:
            self.assertEqual(file.read(), data)


class PuttingBack(OriginalTestCase):
    """An accepted edit is undone."""

    def setUp(self) -> None:
        super().setUp()
        self.before = Original("old\n", True, data=b"old\r\n")
        with open(self.path(), "wb") as file:
            file.write(b"new\r\n")

    def content(self) -> bytes:
        with open(self.path(), "rb") as file:
            return file.read()

    def test_the_file_is_as_before_byte_for_byte_with_its_mode(self) -> None:
        os.chmod(self.path(), 0o640)
        mode = os.stat(self.path()).st_mode
        self.assertEqual(file_content.put_back(self.path(), self.before, "new\n"), ("", None))
        self.assertEqual(self.content(), b"old\r\n")
        self.assertEqual(os.stat(self.path()).st_mode, mode)

    @unittest.skipIf(sys.platform == "win32", "links need a right there")
    def test_a_link_to_it_stays_one(self) -> None:
        os.symlink(self.path(), self.path("link"))
        found = file_content.put_back(self.path("link"), self.before, "new\n")
        self.assertEqual(found, ("", None))
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(self.content(), b"old\r\n")

    def test_a_disk_that_refuses_leaves_the_file_whole_and_nothing_beside_it(self) -> None:
        for name in ("shutil.copymode", "os.replace"):
            with self.subTest(name=name), mock.patch(name, side_effect=OSError(28, "No space")):
                problem, present = file_content.put_back(self.path(), self.before, "new\n")
            self.assertIn("No space", problem)
            self.assertIsNone(present)
            self.assertEqual(self.content(), b"new\r\n")
            self.assertEqual(os.listdir(self.folder), ["a.txt"])

    def test_a_kill_in_between_leaves_the_file_whole(self) -> None:
        with mock.patch("os.replace", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                file_content.put_back(self.path(), self.before, "new\n")
        self.assertEqual(self.content(), b"new\r\n")

    def test_a_file_that_was_removed_is_there_again_unless_there_is_another_by_now(self) -> None:
        os.unlink(self.path())
        self.assertEqual(file_content.put_back(self.path(), self.before, None), ("", None))
        self.assertEqual(self.content(), b"old\r\n")
        problem, present = file_content.put_back(self.path(), self.before, None)
        self.assertEqual((problem, present and present.text), ("", "old\n"))

    def test_what_is_something_else_by_now_stays(self) -> None:
        problem, present = file_content.put_back(self.path(), self.before, "another\n")
        self.assertEqual((problem, present and present.text), ("", "new\n"))
        self.assertEqual(self.content(), b"new\r\n")
