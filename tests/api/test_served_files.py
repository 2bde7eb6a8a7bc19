"""Files and folders over the API: within the roots, whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
import threading
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.api.contract import schemas
from GeminiCompanion.companion.api.files import served_files, symlink_safe
from GeminiCompanion.companion.api.handlers import file_handlers

from .support import ApiTest, Reply

needs_links = unittest.skipIf(sys.platform == "win32", "links need a privilege there")
needs_walking = unittest.skipUnless(symlink_safe.CAN_WALK, "folders cannot be opened there")
needs_descriptors = unittest.skipUnless(os.path.isdir("/proc/self/fd"), "they cannot be counted")
needs_modes = unittest.skipIf(
    sys.platform == "win32" or os.geteuid() == 0, "this user may do everything"
)


class FilesTest(ApiTest):
    outside: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.outside = os.path.join(cls.root, "outside.txt")
        with open(cls.outside, "w", encoding="utf-8") as file:
            file.write("not for you")

    def setUp(self) -> None:
        # A workspace of its own for each test, within the one that the server knows.
        self.folder = os.path.join(type(self).workspace, self.id().rpartition(".")[2][:100])
        os.mkdir(self.folder)
        self.workspace = self.folder

    def read_over(self, path: str) -> Reply:
        return self.ask("POST", "/read-file", {"path": path})

    def write_over(self, path: str, content: str = "new") -> Reply:
        return self.ask("POST", "/write-file", {"path": path, "content": content})

    def list_over(self, path: str) -> Reply:
        from urllib.parse import quote

        return self.ask("GET", "/list-directory?path=" + quote(path, safe=""))


class Listing(FilesTest):
    def test_a_folder_is_told_in_the_order_of_names_hidden_ones_too(self) -> None:
        for name in ("b.txt", "A.txt", ".hidden", "ü ü.txt"):
            self.write(name, "")
        os.mkdir(self.path("sub"))
        reply = self.list_over(self.folder)
        self.assertEqual((reply.status, reply["path"]), (200, self.folder), reply)
        names = [item["name"] for item in reply["items"]]
        self.assertEqual(names, [".hidden", "A.txt", "b.txt", "sub", "ü ü.txt"])
        self.assertEqual(
            {item["name"]: item["type"] for item in reply["items"]}["sub"], "directory"
        )
        self.assertEqual(reply["items"][0]["path"], self.path(".hidden"))

    def test_without_a_path_it_is_the_workspace(self) -> None:
        reply = self.ask("GET", "/list-directory")
        self.assertEqual((reply.status, reply["path"]), (200, type(self).workspace))

    def test_a_relative_path_begins_at_the_workspace(self) -> None:
        reply = self.list_over(os.path.basename(self.folder))
        self.assertEqual(reply["path"], self.folder)

    @needs_links
    def test_a_link_counts_as_what_it_leads_to(self) -> None:
        os.mkdir(self.path("real"))
        os.symlink(self.path("real"), self.path("link"))
        os.symlink(self.path("nowhere"), self.path("broken"))
        kinds = {item["name"]: item["type"] for item in self.list_over(self.folder)["items"]}
        self.assertEqual(kinds, {"real": "directory", "link": "directory", "broken": "file"})

    @unittest.skipUnless(sys.platform.startswith("linux"), "other systems keep names in Unicode")
    def test_a_name_that_is_no_text_can_be_told(self) -> None:
        with open(os.fsencode(self.folder) + b"/\xff.txt", "wb"):
            pass
        self.assertEqual(self.list_over(self.folder)["items"][0]["name"], "\ufffd.txt")

    @unittest.skipUnless(sys.platform.startswith("linux"), "other systems keep names in Unicode")
    def test_a_path_that_is_no_text_can_be_told_and_written_to(self) -> None:
        os.mkdir(os.fsencode(self.folder) + b"/d\xff")
        os.symlink(b"d\xff", os.fsencode(self.path("link")))
        real = self.path("d\ufffd")
        reply = self.write_over(self.path("link/f"), "text")
        self.assertEqual((reply.status, reply["path"]), (200, real + "/f"), reply)
        reply = self.read_over(self.path("link/f"))
        self.assertEqual((reply["path"], reply["content"]), (real + "/f", "text"))
        reply = self.list_over(self.path("link"))
        self.assertEqual((reply["path"], reply["items"][0]["path"]), (real, real + "/f"))
        self.refused(self.write_over(self.path("link/no/f")), 404, "FILE_NOT_FOUND")

    def test_a_folder_of_very_many_is_told_in_part(self) -> None:
        for number in range(4):
            self.write(str(number), "")
        with mock.patch.object(served_files, "MAX_ITEMS", 3):
            reply = self.list_over(self.folder)
        self.assertEqual((len(reply["items"]), reply["truncated"]), (3, True))

    def test_what_cannot_be_listed_is_refused(self) -> None:
        self.refused(self.list_over(self.path("nowhere")), 404, "FILE_NOT_FOUND")
        self.refused(self.list_over(self.write("a", "")), 400, "VALIDATION_ERROR")
        self.refused(self.list_over(self.path("a/b")), 404, "FILE_NOT_FOUND")
        self.refused(self.list_over(self.root), 403, "PATH_REFUSED")
        self.refused(self.list_over("a\0b"), 400, "VALIDATION_ERROR")
        self.refused(self.list_over("x" * 1000), 400, "VALIDATION_ERROR")
        self.refused(self.ask("GET", "/list-directory?path=a&path=b"), 400, "VALIDATION_ERROR")
        self.refused(self.ask("GET", "/list-directory?path="), 400, "VALIDATION_ERROR")


class Reading(FilesTest):
    def test_a_text_comes_with_its_bom_its_line_ends_and_all_of_unicode(self) -> None:
        text = "\ufeffone\r\ntwo\rthree\n\u2028 \U0001f600 ü"
        reply = self.read_over(self.write("a.txt", text))
        self.assertEqual((reply.status, reply["content"]), (200, text))
        self.assertEqual(reply["path"], self.path("a.txt"))

    def test_an_empty_file_is_a_text(self) -> None:
        self.assertEqual(self.read_over(self.write("empty", ""))["content"], "")

    def test_no_mojibake_is_made_of_what_is_no_text(self) -> None:
        for data in (b"\xff\xfe", "ü".encode("latin-1"), b"a\0b"):
            reply = self.read_over(self.write("binary", data))
            self.refused(reply, 400, "VALIDATION_ERROR")
            self.assertIsNone(reply["content"])

    def test_a_file_of_the_largest_size_is_read_and_a_larger_one_refused(self) -> None:
        with mock.patch.object(served_files, "MAX_FILE", 1000):
            self.assertEqual(self.read_over(self.write("a", "x" * 1000)).status, 200)
            self.refused(self.read_over(self.write("a", "x" * 1001)), 413, "FILE_TOO_LARGE")

    def test_what_is_no_file_is_refused_without_waiting(self) -> None:
        self.refused(self.read_over(self.path("nowhere")), 404, "FILE_NOT_FOUND")
        self.refused(self.read_over(self.folder), 400, "VALIDATION_ERROR")
        if hasattr(os, "mkfifo"):
            os.mkfifo(self.path("pipe"))
            self.refused(self.read_over(self.path("pipe")), 400, "VALIDATION_ERROR")

    def test_a_disk_that_never_answers_is_given_up_and_holds_nobody_up(self) -> None:
        path, answers = self.write("slow", ""), threading.Event()
        self.addCleanup(answers.set)

        def wait(*_arguments: object) -> None:
            answers.wait()

        with mock.patch.object(served_files, "read_text_file", wait), mock.patch.object(
            file_handlers, "READING", 0.1
        ):
            self.refused(self.read_over(path), 500, "FILE_ERROR")
        self.assertEqual(self.read_over(path).status, 200)

    @needs_modes
    def test_what_the_system_keeps_closed_stays_closed(self) -> None:
        os.chmod(self.write("closed", "x"), 0)
        self.refused(self.read_over(self.path("closed")), 403, "FORBIDDEN")

    def test_nothing_outside_of_the_roots_is_read(self) -> None:
        for path in (
            self.outside, os.path.join(self.folder, "..", "..", "outside.txt"), "../outside.txt",
            "/etc/passwd", type(self).workspace + "-not",
        ):  # fmt: skip
            with self.subTest(path):
                reply = self.read_over(path)
                self.refused(reply, 403, "PATH_REFUSED")
                self.assertNotIn("not for you", reply.data.decode())

    @needs_links
    def test_no_link_leads_outside_of_the_roots(self) -> None:
        os.symlink(self.outside, self.path("link"))
        os.symlink(self.root, self.path("folder"))
        self.refused(self.read_over(self.path("link")), 403, "PATH_REFUSED")
        self.refused(self.read_over(self.path("folder/outside.txt")), 403, "PATH_REFUSED")
        self.refused(self.list_over(self.path("folder")), 403, "PATH_REFUSED")
        self.refused(self.write_over(self.path("link")), 403, "PATH_REFUSED")
        with open(self.outside, encoding="utf-8") as file:
            self.assertEqual(file.read(), "not for you")

    @needs_links
    def test_a_link_within_the_roots_is_followed(self) -> None:
        os.symlink(self.write("real", "text"), self.path("link"))
        reply = self.read_over(self.path("link"))
        self.assertEqual((reply["path"], reply["content"]), (self.path("real"), "text"))

    @needs_links
    def test_a_link_that_turns_in_circles_is_refused(self) -> None:
        os.symlink(self.path("a"), self.path("b"))
        os.symlink(self.path("b"), self.path("a"))
        self.assertIn(self.read_over(self.path("a")).status, (400, 404))

    def test_another_root_can_be_read_by_its_whole_path(self) -> None:
        other = os.path.join(self.root, "other")
        os.mkdir(other)
        with open(os.path.join(other, "a"), "w", encoding="ascii") as file:
            file.write("there")
        server = self.another_server(roots=[self.folder, other])
        asked = {"path": os.path.join(other, "a")}
        reply = self.ask("POST", "/read-file", asked, server=server)
        self.assertEqual(reply["content"], "there")


class Writing(FilesTest):
    def test_a_new_file_is_made_as_it_was_sent(self) -> None:
        text = "\ufeffone\r\ntwo\n\U0001f600"
        reply = self.write_over(self.path("new"), text)
        self.assertEqual((reply.status, reply["path"]), (200, self.path("new")), reply)
        self.assertEqual(reply["content"], text)
        self.assertEqual(self.read("new"), text.encode("utf-8"))

    def test_an_old_one_is_replaced_and_nothing_is_left_beside_it(self) -> None:
        self.write("old", "a longer text than the new one")
        self.assertEqual(self.write_over(self.path("old"), "").status, 200)
        self.assertEqual((self.read("old"), os.listdir(self.folder)), (b"", ["old"]))

    @unittest.skipIf(sys.platform == "win32", "Windows has no such modes")
    def test_the_mode_stays_and_that_of_a_new_one_is_the_users(self) -> None:
        os.chmod(self.write("script", "x"), 0o751)
        self.write_over(self.path("script"))
        self.write_over(self.path("new"))
        mask = os.umask(0)
        os.umask(mask)
        modes = [stat.S_IMODE(os.stat(self.path(name)).st_mode) for name in ("script", "new")]
        self.assertEqual(modes, [0o751, 0o666 & ~mask])

    @unittest.skipUnless(hasattr(os, "getuid") and os.getuid() == 0, "only root gives files away")
    def test_owner_and_group_stay(self) -> None:
        os.chown(self.write("theirs", "x"), 1234, 1235)
        os.chmod(self.path("theirs"), 0o4640)
        self.write_over(self.path("theirs"))
        status = os.stat(self.path("theirs"))
        self.assertEqual((status.st_uid, status.st_gid), (1234, 1235))
        self.assertEqual((stat.S_IMODE(status.st_mode), self.read("theirs")), (0o4640, b"new"))

    @unittest.skipIf(sys.platform == "win32", "Windows has no such modes")
    def test_where_they_cannot_stay_nobody_else_gets_what_they_could_do(self) -> None:
        no = PermissionError(1, "Operation not permitted")
        for refused, mode in ([no, None], 0o675), ([no, no], 0o605):
            os.chmod(self.write("shared", "x"), 0o6675)
            with mock.patch.object(served_files.os, "chown", side_effect=refused):
                self.assertEqual(self.write_over(self.path("shared")).status, 200)
            self.assertEqual(stat.S_IMODE(os.stat(self.path("shared")).st_mode), mode)

    @needs_links
    def test_a_link_stays_one_and_what_it_leads_to_is_written(self) -> None:
        os.symlink(self.write("real", "old"), self.path("link"))
        reply = self.write_over(self.path("link"))
        self.assertEqual(reply["path"], self.path("real"))
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(self.read("real"), b"new")

    def test_what_was_to_be_written_is_told_where_it_was_not(self) -> None:
        reply = self.write_over(self.path("no/parent"), "text")
        self.refused(reply, 404, "FILE_NOT_FOUND")
        self.assertEqual((reply["path"], reply["content"]), (self.path("no/parent"), "text"))

    def test_a_full_disk_costs_neither_the_old_text_nor_the_folder(self) -> None:
        self.write("kept", "old")
        full = OSError(28, "No space left on device")
        with mock.patch.object(served_files.os, "replace", side_effect=full):
            reply = self.write_over(self.path("kept"))
        self.refused(reply, 500, "FILE_ERROR")
        self.assertIn("No space left", reply["message"])
        self.assertEqual((self.read("kept"), os.listdir(self.folder)), (b"old", ["kept"]))

    def test_what_cannot_be_written_is_refused(self) -> None:
        for path, status, code in (
            (self.path("no/parent"), 404, "FILE_NOT_FOUND"),
            (self.folder, 400, "VALIDATION_ERROR"),
            (self.path("folder/"), 400, "VALIDATION_ERROR"),
            (self.write("a", "") + "/b", 404, "FILE_NOT_FOUND"),
            (os.path.join(self.root, "new"), 403, "PATH_REFUSED"),
            ("../../new", 403, "PATH_REFUSED"),
            (self.path("x" * 300), 400, "VALIDATION_ERROR"),
        ):
            with self.subTest(path):
                self.refused(self.write_over(path), status, code)
        self.assertEqual(os.listdir(self.folder), ["a"])

    @needs_modes
    def test_what_is_closed_for_writing_stays_as_it_is(self) -> None:
        os.chmod(self.write("closed", "old"), 0o400)
        self.refused(self.write_over(self.path("closed")), 403, "FORBIDDEN")
        self.assertEqual(self.read("closed"), b"old")

    def test_the_size_counts_in_bytes(self) -> None:
        with mock.patch.object(served_files, "MAX_FILE", 10):
            self.assertEqual(self.write_over(self.path("a"), "ü" * 5).status, 200)
            reply = self.write_over(self.path("a"), "ü" * 6)
        self.refused(reply, 413, "FILE_TOO_LARGE")
        self.assertEqual(self.read("a"), "üüüüü".encode())

    def test_the_largest_file_can_be_written_and_read_even_if_all_of_it_is_escaped(self) -> None:
        text = "\x01" * schemas.MAX_FILE
        self.assertEqual(self.write_over(self.path("large"), text).status, 200)
        self.assertEqual(self.read_over(self.path("large"))["content"], text)


class Descriptors(FilesTest):
    @needs_descriptors
    def test_no_request_leaves_one_open(self) -> None:
        file, link = self.write("file", "text"), self.path("link")
        os.symlink(self.outside, link)
        with open(self.path("binary"), "wb") as binary:
            binary.write(b"\xff")
        self.ask_all(file, link)
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            self.ask_all(file, link)
        self.assertLess(len(os.listdir("/proc/self/fd")), before + 5)

    def ask_all(self, *paths: str) -> None:
        more = (self.folder, "", self.path("no"), self.path("file/x"), self.path("binary"))
        for path in (*paths, *more):
            self.read_over(path)
            self.list_over(path)
            self.write_over(os.path.join(path, "x", "y"))
        self.write_over(self.folder)
        self.write_over(paths[0])


@needs_walking
class Swapping(FilesTest):
    """A folder becomes a link while a request is under way."""

    def setUp(self) -> None:
        super().setUp()
        for folder, text in (("inner", "inside"), ("other", "elsewhere inside")):
            os.mkdir(self.path(folder))
            self.write(folder + "/outside.txt", text)
        self.roots = served_files.Roots([self.folder])

    def swap(self, target: str) -> None:
        os.rename(self.path("inner"), self.path("away"))
        os.symlink(target, self.path("inner"))

    def swapped_at(self, module: Any, name: str, target: str) -> Any:
        """The folder is swapped when this is called for the first time."""
        original = getattr(module, name)

        def swap(*arguments: Any) -> Any:
            if not os.path.islink(self.path("inner")):
                self.swap(target)
            return original(*arguments)

        return mock.patch.object(module, name, swap)

    def test_one_swapped_after_its_path_was_resolved_leads_nobody_out(self) -> None:
        os.mkdir(self.path("inner/sub"))
        for work, path in (
            (served_files.read_text_file, "inner/outside.txt"),
            (served_files.list_folder, "inner/sub"),
        ):
            with self.subTest(path):
                with self.swapped_at(symlink_safe, "open_entry", self.root):
                    with self.assertRaises(served_files.Refusal) as refused:
                        work(self.roots, path)
                self.assertEqual(refused.exception.code, "PATH_REFUSED")
                os.unlink(self.path("inner"))
                os.rename(self.path("away"), self.path("inner"))

    def test_one_swapped_for_a_link_within_the_root_is_followed(self) -> None:
        with self.swapped_at(symlink_safe, "open_entry", self.path("other")):
            real, data = served_files.read_text_file(self.roots, "inner/outside.txt")
        self.assertEqual((real, data), (self.path("other/outside.txt"), b"elsewhere inside"))

    def test_one_that_is_swapped_after_it_was_opened_is_written_to_where_it_is(self) -> None:
        with self.swapped_at(served_files, "_status_to_keep", self.root):
            served_files.write_text_file(self.roots, "inner/outside.txt", "new")
        self.assertEqual(self.read("away/outside.txt"), b"new")
        with open(self.outside, encoding="utf-8") as file:
            self.assertEqual(file.read(), "not for you")

    def test_one_that_is_swapped_without_end_is_refused(self) -> None:
        with mock.patch.object(symlink_safe, "open_entry", side_effect=symlink_safe.Swapped):
            with self.assertRaises(served_files.Refusal) as refused:
                served_files.read_text_file(self.roots, "inner/outside.txt")
        self.assertEqual(refused.exception.code, "PATH_REFUSED")

    @needs_descriptors
    def test_a_command_starts_in_the_folder_that_was_opened(self) -> None:
        folder = served_files.open_folder(self.roots, "inner")
        self.addCleanup(folder.close)
        self.swap(self.root)
        self.assertEqual(os.path.realpath(folder.path), self.path("away"))

    def test_nothing_outside_is_read_or_written_while_it_is_swapped_all_the_time(self) -> None:
        over = threading.Event()

        def swap() -> None:
            while not over.is_set():
                self.swap(self.root)
                os.unlink(self.path("inner"))
                os.rename(self.path("away"), self.path("inner"))

        thread = threading.Thread(target=swap)
        thread.start()
        try:
            read = {
                self.tried(served_files.read_text_file, "inner/outside.txt") for _ in range(1000)
            }
            for _ in range(200):
                self.tried(served_files.write_text_file, "inner/outside.txt", "inside")
        finally:
            over.set()
            thread.join()
        self.assertLessEqual(read, {None, b"inside"})
        with open(self.outside, encoding="utf-8") as file:
            self.assertEqual(file.read(), "not for you")

    def tried(self, work: Any, *arguments: str) -> bytes | None:
        """What was read, None where it was refused."""
        try:
            told = work(self.roots, *arguments)
        except served_files.Refusal:
            return None
        return told[1] if isinstance(told, tuple) else None
