"""The libraries of the API's page are those that npm has, and each comes with its licence."""

from __future__ import annotations

import os
import unittest

from tools.vendor_page import FOLDER, data_digest, read_table


class Vendored(unittest.TestCase):
    def test_each_file_is_the_pinned_one_and_there_is_no_other(self) -> None:
        pinned = {name: hash for row in read_table() for name, hash in row["sha256"].items()}
        found = {}
        for name in sorted(set(os.listdir(FOLDER)) - {"libraries.json"}):
            with open(os.path.join(FOLDER, name), "rb") as file:
                found[name] = data_digest(file.read())
        self.assertEqual(found, pinned)

    def test_each_library_has_version_license_and_the_text_of_it(self) -> None:
        for library in read_table():
            self.assertRegex(library["version"], r"^\d+\.\d+\.\d+$")
            self.assertTrue(library["license"] and library["use"])
            self.assertTrue(
                any(name.endswith(".LICENSE.txt") for name in library["files"].values())
            )
