"""The tool that counts what makes the package harder to find one's way in."""

from __future__ import annotations

import ast
import os
import unittest
from unittest import mock

from tests.support import temp_folder
from tools import measure_house

MODULES = {
    "ui/running": '''
"""What runs."""
from ..ide.service import Companion
from ..ide.inner import part
def send(): "Those of the window."
def send_all(): return [it for it in ()]
reviews.on_end = send
self.on_end = reviews.text = send
''',
    "ui/reviews": '''
class Reviews:
    """The reviews."""
    def __init__(self):
        self.on_end: Callable[[], None] = print
        self.text: str = ""
''',
    "ide/service": "class Companion: ...",
    "ide/inner/part": "",
}


class Measured(unittest.TestCase):
    def test_it_finds_each_thing_that_it_counts_and_nothing_else(self) -> None:
        trees = {name: ast.parse(text) for name, text in MODULES.items()}
        with mock.patch.object(measure_house, "modules", return_value=trees), mock.patch(
            "tests.test_layout.modules", return_value=trees
        ), mock.patch.dict(measure_house.FRONTS, {"agent": set(), "ide": {"ide/service"}}):
            found = measure_house.measure_package()
        self.assertEqual(
            found,
            {
                "functions named with one word": ["ui/running:5 send"],
                "uses of `it` as a name": ["ui/running:6"] * 2,
                "callbacks that another object sets": ["ui/running:7 on_end"],
                "modules that ui/running imports": ["ide/inner/part", "ide/service"],
                "docstrings without a subject": ["ui/running:5 Those of the window."],
                "modules of the front of agent": [],
                "modules of agent that any other room imports beside its front": [],
                "modules of the front of ide": ["ide/service"],
                "modules of ide that ui imports beside its front": ["ide/inner/part"],
            },
        )

    def test_of_other_folders_it_counts_the_names_and_docstrings_alone(self) -> None:
        folder = temp_folder(self)
        os.makedirs(os.path.join(folder, "tools", "node_modules"))
        for path in ("tools/sending.py", "tools/node_modules/of_others.py"):
            with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                file.write(MODULES["ui/running"])
        with mock.patch.object(measure_house, "ROOT", folder), mock.patch(
            "tests.test_layout.ROOT", folder
        ):
            found = measure_house.count_names(measure_house.read_trees(["tools"]))
            with self.assertRaisesRegex(FileNotFoundError, "expected a folder .* got 'toolz'"):
                measure_house.read_trees(["toolz"])
        self.assertEqual(
            found,
            {
                "functions named with one word": ["tools/sending:5 send"],
                "uses of `it` as a name": ["tools/sending:6"] * 2,
                "docstrings without a subject": ["tools/sending:5 Those of the window."],
            },
        )
