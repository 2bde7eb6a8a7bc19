"""What is told of the git folder that work trees share with the user's own."""

from __future__ import annotations

import os

from GeminiCompanion.companion.chat.chat_update import READY, WORKING
from GeminiCompanion.companion.ui.work_trees import shared_notices
from GeminiCompanion.companion.work_trees.work_tree import WorkTree

from .reviewing import Steps
from .test_work_trees import TreeCase


class Notices(TreeCase):
    def setUp(self) -> None:
        super().setUp()
        # Those of other tests.
        self.running().messages.unseen._unseen.clear()
        self.replace(shared_notices, "POLLS", 1)

    def messages(self) -> list[str]:
        """Those that stay until they are seen."""
        unseen = self.running().messages.unseen
        return [told for told in unseen._unseen if told.startswith("project, since ")]

    def seen(self, tree: WorkTree) -> Steps:
        """The chat waits for the user, and the next check has seen that."""
        yield from self.update(self.window.active_view(), workspace=tree.own_folder, state=READY)
        told, shared = (
            self.running().chat.actions.tabs.chats[-1].told,
            self.running().work_trees.shared,
        )
        yield lambda: told in shared._told.values()
        yield lambda: not (shared._busy or shared._ended or shared._is_looking)

    def work(self, *words: str) -> Steps:
        """A turn in a chat of a work tree, in which git runs there."""
        tree = yield from self.new_chat()
        view = self.window.active_view()
        yield from self.seen(tree)
        yield from self.update(view, workspace=tree.own_folder, state=WORKING)
        self.git(*words, folder=tree.path)
        yield from self.update(view, workspace=tree.own_folder, state=READY)

    def test_a_setting_that_an_agent_changes_is_told_after_its_turn(self) -> Steps:
        yield from self.work("config", "core.fsmonitor", "evil")
        yield lambda: self.messages()
        [message] = self.messages()
        self.assertRegex(message, r"^project, since \d\d:\d\d: 1 setting that decides what git")
        self.assertIn("core.fsmonitor", message)

    def test_a_branch_that_an_agent_changes_is_told_after_its_turn(self) -> Steps:
        yield from self.work("branch", "theirs")
        yield lambda: self.messages()
        self.assertIn("1 branch is new: theirs", self.messages()[0])

    def test_a_hook_is_noticed_whenever_it_comes(self) -> Steps:
        tree = yield from self.new_chat()
        with open(os.path.join(tree.git_folder, "hooks", "pre-commit"), "w"):
            pass
        yield lambda: self.messages()
        self.assertIn("new: pre-commit.", self.messages()[0])

    def test_what_the_user_commits_is_not_told_while_no_agent_works(self) -> Steps:
        tree = yield from self.new_chat()
        yield from self.seen(tree)
        self.git("branch", "mine")
        with open(os.path.join(tree.git_folder, "hooks", "pre-commit"), "w"):
            pass
        yield lambda: self.messages()
        self.assertEqual(len(self.messages()), 1)
        self.assertNotIn("mine", " ".join(self.sentences))

    def test_what_happens_beside_a_cli_in_a_terminal_is_told_for_a_moment(self) -> Steps:
        tree = yield from self.new_chat()
        yield from self.update(self.window.active_view(), workspace=self.project, state=READY)
        self.git("branch", "theirs", folder=tree.path)
        yield lambda: any("1 branch is new: theirs" in told for told in self.sentences)
        self.assertEqual(self.messages(), [])
