"""A window with a project in a repository, and work trees in which agents change files."""

from __future__ import annotations

import os
import shutil
import subprocess
import unittest
from typing import Any, Generator, Mapping
from unittest import mock

import sublime
from GeminiCompanion.companion.ui.work_trees.tree_lists import TreeList, TreeLists
from GeminiCompanion.companion.work_trees.creation import create_work_tree
from GeminiCompanion.companion.work_trees.repository import inspect_repository
from GeminiCompanion.companion.work_trees.work_tree import WorkTree, new_id

from ..support import patched
from .adapter import text_of
from .reviewing import Steps
from .test_show_changes import SheetCase

OWN = "".join(f"line {number}\n" for number in range(1, 21))


def with_line(text: str, number: int, line: str) -> str:
    rows = text.splitlines(keepends=True)
    rows[number - 1] = line + "\n"
    return "".join(rows)


@unittest.skipUnless(shutil.which("git"), "needs git")
class InWorkTrees(SheetCase):
    """`self.project` is the repository, the folder of the window."""

    def setUp(self) -> None:
        super().setUp()
        settings = os.path.join(self.folder, "gitconfig")
        with open(settings, "w", encoding="utf-8") as file:
            file.write("[user]\n\tname = a\n\temail = a@b\n[init]\n\tdefaultBranch = main\n")
        variables = {"GIT_CONFIG_GLOBAL": settings, "GIT_CONFIG_NOSYSTEM": "1"}
        patched(self, mock.patch.dict(os.environ, variables))
        self.project = os.path.join(self.folder, "project")
        self.addCleanup(self.window.set_project_data, self.window.project_data())
        os.mkdir(self.project)
        self.git("init", "-q")
        self.window.set_project_data({"folders": [{"path": self.project}]})
        self.trees = self.running().base.trees
        self.sentences = self.told()
        self.asked = self.panels()

    def tearDown(self) -> Generator[Any, Any, None]:
        yield from super().tearDown()
        # Nobody writes what belongs to them any more.
        yield from self.until_equal(lambda: self.lists.is_looking, False)
        for tree in self.trees.store.list_trees():
            self.trees.store.forget_tree(tree.id)
        self.running().stories.begin(self.trees.look_again())
        yield lambda: not self.trees.trees

    @property
    def lists(self) -> TreeLists:
        return self.running().tree_changes.lists

    def git(self, *words: str, folder: str = "") -> str:
        done = subprocess.run(
            ("git", *words), cwd=folder or self.project, stdout=subprocess.PIPE, check=True
        )
        return done.stdout.decode().strip()

    def at(self, name: str) -> str:
        return os.path.join(self.project, *name.split("/"))

    def put(self, name: str, text: str | bytes | None, tree: WorkTree | None = None) -> None:
        """Write a file of the user, or of the agent in that tree; None removes it."""
        path = os.path.join(tree.path if tree is not None else self.project, *name.split("/"))
        if text is None:
            os.remove(path)
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)

    def read(self, name: str) -> bytes | None:
        """What the user's file has; None if there is none."""
        try:
            with open(self.at(name), "rb") as file:
                return file.read()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None

    def grow_tree(self, files: Mapping[str, str | bytes]) -> Generator[Any, Any, WorkTree]:
        """Commit these files of the user, and let a work tree begin with them."""
        for name, text in files.items():
            self.put(name, text)
        if files:
            self.git("add", "-A")
            self.git("commit", "-qm", "x")
        id = self.name = new_id()
        scratch = os.path.join(self.folder, "scratch")
        os.makedirs(scratch, exist_ok=True)
        path = os.path.join(self.folder, "trees", id)
        repository = inspect_repository(self.project, scratch)
        made = create_work_tree(repository, path, id, False, False, lambda *progress: None)
        tree = WorkTree(
            id,
            path,
            self.project,
            self.project,
            f"gemini-{id}",
            "gemini",
            1.7e9 + len(self.trees.trees),
            made.beginning,
            made.git_folder,
            made.admin,
        )
        self.trees.store.keep_tree(tree)
        self.running().stories.begin(self.trees.look_again())
        yield lambda: self.trees.tree_with(id) is not None
        return tree

    def until_listed(self, tree: WorkTree) -> Generator[Any, Any, TreeList]:
        """What has changed there by now."""
        answer = self.lists.look_again()
        yield lambda: answer.is_there
        found = self.lists.with_id(tree.id)
        self.assertIsNotNone(found)
        return found  # type: ignore[return-value]

    def shown(self, *trees: WorkTree) -> Generator[Any, Any, sublime.View]:
        """The sheet, with what is in the trees by now."""
        for tree in trees:
            yield from self.until_listed(tree)
        return (yield from self.show())

    def id_of(self, tree: WorkTree, name: str) -> str:
        return f"tree {tree.id} {name}"

    def until_told(self, sentence: str) -> Steps:
        try:
            yield lambda: any(sentence in each for each in self.sentences)
        except TimeoutError:
            self.assertIn(sentence, self.sentences)

    def answer_first(self, number: int = 0) -> Steps:
        yield lambda: self.asked
        self.asked.pop(0)["on_select"](number)

    def accept_all(self, view: sublime.View) -> Steps:
        self.decide(view, "accept_all")
        yield from self.answer_first()

    def until_file(self, name: str, text: str | bytes | None) -> Steps:
        data = text.encode() if isinstance(text, str) else text
        yield from self.until_equal(lambda: self.read(name), data)

    def until_shown(self, view: sublime.View, text: str) -> Steps:
        yield from self.until_in(text, lambda: text_of(view))

    def until_not_shown(self, view: sublime.View, text: str) -> Steps:
        yield lambda: text not in text_of(view)


class VariantCase(InWorkTrees):
    """Several agents have changed the same files in their work trees."""

    def grow(self, count: int) -> Generator[Any, Any, list[WorkTree]]:
        files = {"a.txt": OWN, "b.txt": OWN}
        first = yield from self.grow_tree(files)
        trees = [first]
        while len(trees) < count:
            trees.append((yield from self.grow_tree({})))
        return trees

    def row_at_caret(self, view: Any) -> str:
        return str(view.substr(view.line(view.sel()[0])))

    def headings(self, view: Any) -> list[str]:
        return [row[3:] for row in text_of(view).splitlines() if row.startswith("## ")]
