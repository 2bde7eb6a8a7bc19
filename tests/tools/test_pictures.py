"""The scenes of the pictures in the documents can be played, to make the pictures again."""

from __future__ import annotations

import os
import tempfile
import unittest

from tools import pictures


class Scenes(unittest.TestCase):
    def test_the_scene_of_a_chat_can_be_played(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            ((page, _seconds),) = pictures.played("chat", folder)
            with open(os.path.join(folder, page), encoding="utf-8") as file:
                self.assertIn("May it use Shell?", file.read())
