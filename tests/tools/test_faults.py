"""The faults that `python -m tests.faults` makes can be made in the code as it is."""

from __future__ import annotations

import os
import unittest

from ..faults.table import FAULTS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Faults(unittest.TestCase):
    def test_what_each_of_them_changes_stands_once_in_its_file(self) -> None:
        texts = {}
        for name in {fault.file for fault in FAULTS}:
            with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                texts[name] = file.read()
        counted = {
            (fault.file, fault.name): texts[fault.file].count(fault.right) for fault in FAULTS
        }
        self.assertEqual({fault: n for fault, n in counted.items() if n != 1}, {})
