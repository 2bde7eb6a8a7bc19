"""What is written into the user's own files."""

from __future__ import annotations

import os
import unittest
from unittest import mock

from GeminiCompanion.companion.work_trees import own_files
from GeminiCompanion.companion.work_trees.inside import FILE, NOTHING, TreeContent
from GeminiCompanion.companion.work_trees.own_files import (
    OwnFileKept,
    WantedFile,
    replace_whole,
    write_wanted,
)
from GeminiCompanion.companion.work_trees.taken import content_digest

from ..support import temp_folder

OLD, NEW = TreeContent(FILE, b"\0old"), TreeContent(FILE, b"\0new")


class Renamed(unittest.TestCase):
    def setUp(self) -> None:
        self.root = temp_folder(self)
        with open(os.path.join(self.root, "old"), "wb") as file:
            file.write(OLD.data)

    def test_nothing_is_at_the_new_path_if_the_old_file_has_changed(self) -> None:
        other = TreeContent(FILE, b"\0other")
        with self.assertRaisesRegex(OwnFileKept, "old has changed meanwhile"):
            replace_whole(self.root, [("new", NOTHING, NEW), ("old", other, NOTHING)])
        self.assertEqual(os.listdir(self.root), ["old"])

    def test_nothing_is_at_the_new_path_if_the_old_file_cannot_be_removed(self) -> None:
        write_content = own_files.write_content

        def refuse_removal(root: str, path: str, content: TreeContent) -> None:
            if path == "old":
                raise PermissionError(13, "not permitted")
            write_content(root, path, content)

        wanted = WantedFile("old", "new", content_digest(OLD.data), "text\n")
        with mock.patch.object(own_files, "write_content", refuse_removal):
            with self.assertRaisesRegex(OwnFileKept, "old could not be written"):
                write_wanted(self.root, wanted)
        self.assertEqual(os.listdir(self.root), ["old"])


class InTheWay(unittest.TestCase):
    """The user has something else where the tree has a file, or a folder on the way to it."""

    def setUp(self) -> None:
        self.root = os.path.join(temp_folder(self), "project")
        self.outside = os.path.join(os.path.dirname(self.root), "outside")
        for folder in (self.root, self.outside, os.path.join(self.root, "folder", "in")):
            os.makedirs(folder)
        with open(os.path.join(self.root, "file"), "wb") as file:
            file.write(b"mine\n")
        os.symlink(self.outside, os.path.join(self.root, "link"))
        os.symlink("file", os.path.join(self.root, "folder", "to_file"))
        self.before = self.all_there()

    def all_there(self) -> list[object]:
        top = os.path.dirname(self.root)
        return [(place, sorted(folders), sorted(files)) for place, folders, files in os.walk(top)]

    def assert_refused(self, path: str, sentence: str) -> None:
        """As a text and as what is no text."""
        for refused in (
            lambda: write_wanted(self.root, WantedFile(path, path, "", "text\n")),
            lambda: write_wanted(self.root, WantedFile("none", path, "", "text\n")),
            lambda: replace_whole(self.root, [(path, NOTHING, NEW)]),
            lambda: replace_whole(self.root, [("before", NOTHING, NEW), (path, NOTHING, NEW)]),
        ):
            with self.assertRaisesRegex(OwnFileKept, sentence):
                refused()
            self.assertEqual(self.all_there(), self.before)
            with open(os.path.join(self.root, "file"), "rb") as file:
                self.assertEqual(file.read(), b"mine\n")

    def test_a_file_where_the_tree_has_a_folder(self) -> None:
        self.assert_refused("file/new", "could not be written: Not a directory")
        self.assert_refused("file/new/deep", "could not be written: Not a directory")

    def test_a_folder_where_the_tree_has_a_file(self) -> None:
        self.assert_refused("folder", "is no file here|has changed meanwhile|already")

    def test_a_link_out_of_the_project_on_the_way(self) -> None:
        self.assert_refused("link/new", "link is a link")
        self.assert_refused("link/new/deep", "link is a link")

    def test_a_link_where_the_tree_has_a_file(self) -> None:
        self.assert_refused("folder/to_file", "is a link here|has changed meanwhile|already")

    def test_a_name_that_differs_only_in_its_case(self) -> None:
        # On a file system that ignores case both are one file.
        os.link(os.path.join(self.root, "file"), os.path.join(self.root, "File"))
        self.before = self.all_there()
        self.assert_refused("File", "has changed meanwhile|already")
