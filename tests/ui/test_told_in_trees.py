"""What a CLI or an agent in a work tree is told of the file that the user looks at."""

from __future__ import annotations

import os
from typing import Any, Generator
from unittest import mock

import sublime
from GeminiCompanion.companion.ide import system_processes
from GeminiCompanion.companion.work_trees.work_tree import WorkTree

from ..fake_cli import FakeCli
from ..support import patched
from .reviewing import Steps
from .test_work_trees import TreeCase


class ToldInTrees(TreeCase):
    def look_at(self, name: str, text: str) -> Steps:
        view = yield from self.open(name, text)
        view.sel().clear()
        view.sel().add(sublime.Region(0, 3))

    def files_of(self, cli: FakeCli) -> list[tuple[str, str]]:
        """Path and selected text of each file."""
        return [(file["path"], file.get("selectedText", "")) for file in cli.context()]

    def connect_in(self, folder: str) -> Generator[Any, Any, FakeCli]:
        """A CLI that works there."""
        found = mock.patch.object(system_processes, "folder_at", lambda peer, port: folder)
        patched(self, found)
        cli = yield from self.connect()
        return cli

    def test_a_cli_in_one_is_told_of_its_own_file_in_the_place_of_the_users(self) -> Steps:
        tree = yield from self.new_chat()
        other = yield from self.connect_in(self.project)
        cli = yield from self.connect_in(tree.own_folder)
        yield from self.look_at("project/a.txt", "one\n")
        own = os.path.join(tree.path, "a.txt")
        yield from self.until_equal(lambda: self.files_of(cli), [(own, "one")])
        mine = os.path.join(self.project, "a.txt")
        yield from self.until_equal(lambda: self.files_of(other), [(mine, "one")])
        # What its agent has written is another text.
        with open(own, "w", encoding="utf-8") as file:
            file.write("another\n")
        self.window.active_view().sel().add(sublime.Region(3, 4))
        yield from self.until_equal(lambda: self.files_of(cli), [(own, "")])

    def test_it_is_none_of_its_own_that_it_does_not_have(self) -> Steps:
        tree = yield from self.new_chat()
        cli = yield from self.connect_in(tree.own_folder)
        yield from self.look_at("project/a.txt", "one\n")
        yield from self.look_at("project/new.txt", "one\n")
        own = os.path.join(tree.path, "a.txt")
        yield from self.until_equal(lambda: self.files_of(cli), [(own, "")])

    def sent(self, words: str) -> Generator[Any, Any, str]:
        """What goes along with a message of the chat in front."""
        count = len(self.service.asked)
        self.run_command("send", text=words)
        yield lambda: len(self.service.asked) > count
        request, answer = self.service.asked[-1]
        answer.give(None)
        yield from self.until_turn()
        return "\n".join(attachment.text for attachment in request.attached)

    def test_an_agent_of_a_chat_is_told_of_places_only_where_its_text_is_the_same(self) -> Steps:
        self.set("chat_context", True)
        cli = yield from self.connect()
        yield from self.look_at("project/a.txt", "one\n")
        yield from self.until_equal(lambda: [text for _, text in self.files_of(cli)], ["one"])
        tree = yield from self.new_chat()
        yield from self.update(self.window.active_view(), workspace=tree.own_folder)
        told = yield from self.sent("hello")
        self.assertIn("In front: a.txt, line 1.", told)
        self.assertIn("one", told)
        with open(os.path.join(tree.path, "a.txt"), "w", encoding="utf-8") as file:
            file.write("another\n")
        told = yield from self.sent("again")
        self.assertTrue(told.endswith("In front: a.txt."), told)

    def links_to(self, target: str) -> Generator[Any, Any, tuple[WorkTree, str]]:
        """A work tree, and a folder of the window that is a link."""
        tree = yield from self.new_chat()
        link = os.path.join(self.folder, "link")
        os.symlink(target, link)
        self.window.set_project_data({"folders": [{"path": link}]})
        self.begin(self.trees.look_again())
        yield lambda: link in self.trees._targets
        return tree, link

    def assert_leads(self, path: str, own: str) -> None:
        [told] = self.trees.as_told_of(self.window)
        self.assertEqual(told.originals.to_remote(path), own)

    def test_a_folder_of_the_window_may_be_a_link_to_the_project(self) -> Steps:
        tree, link = yield from self.links_to(self.project)
        self.assert_leads(os.path.join(link, "a.txt"), os.path.join(tree.path, "a.txt"))
        self.assert_leads(os.path.join(self.project, "a.txt"), os.path.join(tree.path, "a.txt"))

    def test_it_may_lead_into_the_project(self) -> Steps:
        os.mkdir(os.path.join(self.project, "deep"))
        tree, link = yield from self.links_to(os.path.join(self.project, "deep"))
        self.assert_leads(os.path.join(link, "b"), os.path.join(tree.path, "deep", "b"))

    def test_it_may_lead_above_the_project(self) -> Steps:
        tree, link = yield from self.links_to(self.folder)
        path = os.path.join(link, "project", "a.txt")
        self.assert_leads(path, os.path.join(tree.path, "a.txt"))
        outside = os.path.join(link, "b")
        self.assert_leads(outside, outside)
