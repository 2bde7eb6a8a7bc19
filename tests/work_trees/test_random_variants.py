"""Random variants of a file in two work trees, of which the user drops some changes, accepted one
after the other: what is taken over into the second one is what git's own merge makes of it where
that is clean; no line of the user's is lost, and none that they dropped comes back.

Forty scenes, the same ones each time; SEED=n in the environment runs that one alone.
"""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
import unittest

from GeminiCompanion.companion.base.changes import changes_between, rows_of
from GeminiCompanion.companion.base.merge import merge_texts
from GeminiCompanion.companion.work_trees.inside import FILE, TreeContent
from GeminiCompanion.companion.work_trees.merging import merge_change

from .repositories import NEEDS_GIT
from .test_random_takes import Texts

SEEDS = [int(os.environ["SEED"])] if "SEED" in os.environ else range(40)


@NEEDS_GIT
class Variants(unittest.TestCase):
    def test_the_second_variant_takes_over_the_first_as_git_merges_them(self) -> None:
        clean = conflicts = 0
        for seed in SEEDS:
            with self.subTest(seed=seed):
                is_clean = self.play(random.Random(seed))
                clean, conflicts = clean + is_clean, conflicts + (not is_clean)
        if len(SEEDS) > 1:
            self.assertGreater(clean, 10)
            self.assertGreater(conflicts, 5)

    def play(self, rng: random.Random) -> bool:
        """Gives whether the two could be merged."""
        lines = Texts(rng)
        base = "".join(lines.line("base") for _ in range(rng.randrange(8, 30)))
        mine = lines.change(base, "user") if rng.randrange(2) else base
        made = [self.made_of(lines, rng, base, mine, who) for who in ("one", "two")]
        if None in made:
            # What is not shown without a conflict is resolved first.
            return False
        first, second = (text or "" for text in made)
        taken = merge_texts(mine, second, first)
        by_git = self.merge_by_git(mine, second, first)
        if by_git is not None and not taken.conflicts:
            self.assertEqual(taken.text, by_git)
        for line in lines.of_user:
            self.assertIn(f"{line}\n", taken.text)
        for text in (first, second):
            for row in rows_of(text):
                # Each line is written once, and whoever has removed one wants that.
                if row.startswith(("one", "two")):
                    self.assertIn(row, taken.text)
        for row in rows_of(taken.text):
            if row.startswith(("one", "two")):
                self.assertIn(row, first + second)
        if not taken.conflicts:
            # One undo of the first one leaves the second one as it was.
            self.assertEqual(merge_texts(first, taken.text, mine).text, second)
        return not taken.conflicts

    def made_of(
        self, lines: Texts, rng: random.Random, base: str, mine: str, who: str
    ) -> str | None:
        """The user's text with some changes of a variant; None if it conflicts with theirs."""
        left, right, own = (
            TreeContent(FILE, text.encode()) for text in (base, lines.change(base, who), mine)
        )
        merged = merge_change(left, right, own)
        if merged.conflicts or merged.text is None:
            return None
        old, new = rows_of(mine), rows_of(merged.text)
        rows, at = [], 0
        for change in changes_between(old, new):
            rows += old[at : change.old_start]
            if rng.randrange(3):
                rows += new[change.new_start : change.new_end]
            else:
                rows += old[change.old_start : change.old_end]
            at = change.old_end
        return "".join(rows + old[at:])

    def merge_by_git(self, base: str, second: str, first: str) -> str | None:
        """What git merges; None if it has a conflict."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("base", base), ("second", second), ("first", first)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            words = ("git", "merge-file", "-p", "second", "base", "first")
            done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
            return done.stdout.decode() if done.returncode == 0 else None
