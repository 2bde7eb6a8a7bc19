"""Comparisons as text, in the form of `diff -u`: what `patch` understands."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
import unittest

from GeminiCompanion.companion.base.comparison import compare_texts
from GeminiCompanion.companion.base.digest import digest_comparison
from GeminiCompanion.companion.base.unified import unified_text


class Unified(unittest.TestCase):
    def test_changes_far_apart_stand_in_hunks_of_their_own(self) -> None:
        old = "".join(f"{row}\n" for row in range(1, 31))
        new = old.replace("5\n", "five\n", 1).replace("28\n", "")
        rows = unified_text(compare_texts(old, new), "a", "b").splitlines()
        self.assertEqual(
            [row for row in rows if row.startswith("@")], ["@@ -2,7 +2,7 @@", "@@ -25,6 +25,5 @@"]
        )
        self.assertEqual(rows[:2], ["--- a", "+++ b"])
        self.assertIn("-5", rows)
        self.assertIn("+five", rows)

    def test_hunks_of_parts_of_a_text_have_the_numbers_of_the_whole(self) -> None:
        old = [f"{row}\n" for row in range(1, 1001)]
        whole = compare_texts("".join(old), "".join([*old[:499], "changed\n", *old[500:]]))
        self.assertIn("@@ -497,7 +497,7 @@\n", unified_text(whole, "a", "b"))
        self.assertEqual(
            unified_text(digest_comparison(whole), "a", "b"), unified_text(whole, "a", "b")
        )

    def test_equal_texts_give_nothing(self) -> None:
        self.assertEqual(unified_text(compare_texts("a\n", "a\n"), "a", "b"), "")

    def test_a_text_without_a_final_line_end_says_so(self) -> None:
        text = unified_text(compare_texts("a", "b\n"), "a", "b")
        self.assertIn("-a\n\\ No newline at end of file\n+b\n", text)

    @unittest.skipUnless(shutil.which("patch"), "no program `patch` on this machine")
    def test_patch_makes_the_new_text_of_the_old_one(self) -> None:
        chance = random.Random(12)
        for _ in range(30):
            rows = [f"{chance.randrange(9)}\n" for _ in range(chance.randrange(40))]
            changed = [row for row in rows if chance.random() > 0.1]
            for _ in range(chance.randrange(4)):
                changed.insert(chance.randrange(len(changed) + 1), "new\n")
            old, new = "".join(rows), "".join(changed)[: -1 if chance.random() < 0.3 else None]
            if old and new and old != new:
                with self.subTest(old=old, new=new):
                    self.assertEqual(
                        self.patched(old, unified_text(compare_texts(old, new), "a", "b")), new
                    )

    def patched(self, old: str, difference: str) -> str:
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "a")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(old)
        given = difference.encode()
        subprocess.run(["patch", "-s", path], input=given, check=True, timeout=60)
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
