"""Random sequences in a work tree and in the user's own: edits, commits, renames and removals in
both, and takes of some changes. Where neither has a conflict, a take gives what git's own merge of
the three files gives; and no line of the user's is ever lost.

Thirty sequences, the same ones each time. One that fails tells its seed; SEED=n in the environment
runs that one alone.
"""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import dataclass, field

from GeminiCompanion.companion.base.changes import changes_between, rows_of
from GeminiCompanion.companion.work_trees.inside import FILE, TreeContent, read_content
from GeminiCompanion.companion.work_trees.merging import MergedChange, merge_change
from GeminiCompanion.companion.work_trees.own_files import WantedFile, write_wanted
from GeminiCompanion.companion.work_trees.taken import (
    TreeDecision,
    content_digest,
    load_taken,
    save_taken,
    store_text,
)
from GeminiCompanion.companion.work_trees.tree_changes import TreeChange, TreeReader

from .in_tree import InTree
from .repositories import NEEDS_GIT

SEEDS = [int(os.environ["SEED"])] if "SEED" in os.environ else range(30)
STEPS = 14
NAMES = ("a.txt", "b.txt", "dir/c.txt", "dir/d.txt", "e.txt", "new/f.txt", "g.txt")


@dataclass
class Texts:
    """Lines that tell who wrote them; each is written once."""

    rng: random.Random
    count: int = 0
    # Those of the user that they have not removed.
    of_user: set[str] = field(default_factory=set)

    def line(self, who: str) -> str:
        self.count += 1
        text = f"{who} {self.count} {self.rng.randrange(10**6)}"
        if who == "user":
            self.of_user.add(text)
        return text + "\n"

    def change(self, text: str, who: str) -> str:
        """The text after an edit of one or two places. Nobody removes lines of another one."""
        rows = rows_of(text)
        for _ in range(self.rng.randrange(1, 3)):
            at = self.rng.randrange(len(rows) + 1)
            is_removal = self.rng.randrange(3) == 0 and at < len(rows)
            if is_removal and not rows[at].startswith("user"):
                del rows[at]
            else:
                rows.insert(at, self.line(who))
        return "".join(rows)


@NEEDS_GIT
class Takes(InTree):
    def test_each_take_is_what_git_makes_of_it_and_nothing_of_the_users_is_lost(self) -> None:
        clean = conflicts = 0
        for seed in SEEDS:
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                self.texts = Texts(rng)
                found = self.run_sequence(rng, f"tree{seed:04}")
                clean, conflicts = clean + found[0], conflicts + found[1]
        if len(SEEDS) > 1:
            self.assertGreater(clean, 50)
            self.assertGreater(conflicts, 5)

    def run_sequence(self, rng: random.Random, id: str) -> tuple[int, int]:
        first = {
            name: "".join(self.texts.line("base") for _ in range(rng.randrange(3, 15))).encode()
            for name in NAMES[:5]
        }
        for name in NAMES:
            if os.path.exists(self.at(name)):
                os.remove(self.at(name))
        self.begin_tree(first, id)
        self.reader = TreeReader(self.tree, self.data)
        found = [0, 0]
        try:
            for _ in range(STEPS):
                step = rng.choice((self.edit, self.edit, self.edit, self.move, self.commit_there))
                step(rng)
                if rng.randrange(2):
                    self.take_some(rng, found)
                self.check_nothing_lost()
            self.take_all(rng, found)
        finally:
            self.reader.close()
        return found[0], found[1]

    # What the agent and the user do.

    def edit(self, rng: random.Random) -> None:
        who, top = rng.choice((("agent", self.tree.path), ("user", self.folder)))
        name = rng.choice(NAMES)
        path = os.path.join(top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        text = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
        is_mine = "user" in text
        if text and rng.randrange(6) == 0 and not is_mine:
            os.remove(path)
            return
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.texts.change(text, who))

    def move(self, rng: random.Random) -> None:
        top = rng.choice((self.tree.path, self.folder))
        old, new = (os.path.join(top, name) for name in rng.sample(NAMES, 2))
        if os.path.exists(old) and not os.path.exists(new):
            os.makedirs(os.path.dirname(new), exist_ok=True)
            os.rename(old, new)

    def commit_there(self, rng: random.Random) -> None:
        self.commit(self.tree.path)

    # What the user takes.

    def take_some(self, rng: random.Random, found: list[int]) -> None:
        changes = self.reader.list_changes(self.taken)
        for change in rng.sample(changes, min(len(changes), 2)):
            self.take(rng, change, found, is_part=rng.randrange(3) == 0)

    def take_all(self, rng: random.Random, found: list[int]) -> None:
        """Once all is taken, or left where there is a conflict, nothing is listed; also after a
        restart."""
        for _ in range(3):
            for change in self.reader.list_changes(self.taken):
                self.take(rng, change, found, leaves=True)
        self.assertEqual(self.reader.list_changes(self.taken), ())
        save_taken(self.taken)
        self.assertEqual(self.reader.list_changes(load_taken(self.data)), ())
        self.check_nothing_lost()

    def take(
        self,
        rng: random.Random,
        change: TreeChange,
        found: list[int],
        is_part: bool = False,
        leaves: bool = False,
    ) -> None:
        left = self.reader.read_left(change, self.taken)
        right, own = self.reader.read_right(change), read_content(self.folder, change.old_path)
        merged = merge_change(left, right, own)
        self.assertIsNotNone(merged.text)
        by_git = self.merge_by_git(left, right, own)
        if merged.conflicts:
            found[1] += 1
            if leaves:
                self.decide(change, right)
            return
        if by_git is not None and own.mode and right.mode:
            found[0] += 1
            self.assertEqual(merged.text, by_git.decode())
        text = self.part_of(rng, merged) if is_part else merged.text or ""
        write_wanted(self.folder, self.wanted(change, right, own, merged, text))
        self.decide(change, right)

    def wanted(
        self,
        change: TreeChange,
        right: TreeContent,
        own: TreeContent,
        merged: MergedChange,
        text: str,
    ) -> WantedFile:
        before = content_digest(own.data) if own.is_file else ""
        exact = merged.exact if text == merged.text else None
        is_gone = not right.mode and not text
        return WantedFile(change.old_path, change.path, before, text, FILE, exact, right, is_gone)

    def part_of(self, rng: random.Random, merged: MergedChange) -> str:
        """The user's text with some of the changes."""
        old, new = rows_of(merged.own.text), rows_of(merged.text or "")
        rows, at = [], 0
        for change in changes_between(old, new):
            rows += old[at : change.old_start]
            kept = rng.randrange(2)
            rows += (
                new[change.new_start : change.new_end]
                if kept
                else old[change.old_start : change.old_end]
            )
            at = change.old_end
        return "".join(rows + old[at:])

    def decide(self, change: TreeChange, right: TreeContent) -> None:
        digest = store_text(self.data, right.data) if right.mode else ""
        made = [TreeDecision(change.path, right.mode, digest)]
        if change.is_renamed:
            made.append(TreeDecision(change.old_path))
        self.taken = self.taken.with_decisions(made)

    # The reference.

    def merge_by_git(self, left: TreeContent, right: TreeContent, own: TreeContent) -> bytes | None:
        """What git merges; None if it has a conflict."""
        folder = os.path.join(self.temp, "reference")
        os.makedirs(folder, exist_ok=True)
        for name, content in (("left", left), ("right", right), ("own", own)):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content.data)
        words = ("git", "merge-file", "-p", "own", "left", "right")
        done = subprocess.run(words, cwd=folder, capture_output=True)
        return done.stdout if done.returncode == 0 else None

    def check_nothing_lost(self) -> None:
        present = b"".join(self.files_in(self.folder).values()).decode()
        lost = [line for line in self.texts.of_user if f"{line}\n" not in present]
        self.assertEqual(lost, [])
