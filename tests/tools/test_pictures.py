"""The scenes of the pictures in the documents can be played, to make the pictures again."""

from __future__ import annotations

import os
import shutil
import tempfile
import unittest

from tools import pictures

BINARY = os.path.join(pictures.ROOT, "tests", "e2e", "node_modules", ".bin", "gemini")


class Scenes(unittest.TestCase):
    @unittest.skipUnless(os.path.exists(BINARY), "the CLI is not installed: make setup")
    def test_the_scene_of_a_terminal_shows_the_clis_question_and_the_proposal(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (asked, _seconds), (done, _) = pictures.run_scene("terminal", folder)
            with open(os.path.join(folder, asked), encoding="utf-8") as file:
                page = file.read()
            for words in ("shop.py (proposed)", "Apply this change?", "change 1 of 2"):
                self.assertIn(words, page)
            with open(os.path.join(folder, done), encoding="utf-8") as file:
                self.assertNotIn("(proposed)", file.read())

    def test_the_scene_of_a_chat_can_be_played(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            ((page, _seconds),) = pictures.run_scene("chat", folder)
            with open(os.path.join(folder, page), encoding="utf-8") as file:
                self.assertIn("May it use Shell?", file.read())

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_the_scenes_of_work_trees_can_be_played(self) -> None:
        expected = {
            "beginning": ("The last commit, what is changed, and new files", "left out: .env"),
            "agents": ("Agents (1 asks, 1 done, 1 works)", "Work tree claude-1"),
            "variants": ("(Claude Code, 0.14 USD) and in work tree gemini-1 (Gemini CLI)",),
        }
        for name, words in expected.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                ((page, _seconds),) = pictures.run_scene(name, folder)
                with open(os.path.join(folder, page), encoding="utf-8") as file:
                    text = file.read()
                for each in words:
                    self.assertIn(each, text)
