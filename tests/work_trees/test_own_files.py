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
