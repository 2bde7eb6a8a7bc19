"""Work trees of agents: made for a chat or a CLI, and known to the window of their project."""

from __future__ import annotations

import os
import shutil
import subprocess
import unittest
from dataclasses import replace
from typing import Any, Generator
from unittest import mock

from GeminiCompanion import plugin
from GeminiCompanion.companion.agent.session_state import MODE, ConfigOptions, ContextUsage, Cost
from GeminiCompanion.companion.base.file_content import of_bytes
from GeminiCompanion.companion.chat.chat_update import WORKING
from GeminiCompanion.companion.chat.requests import (
    ChooseOption,
    FoundConversations,
    ListConversations,
    Send,
)
from GeminiCompanion.companion.chat.work_requests import LookAtWork, StopWork, WorkFacts
from GeminiCompanion.companion.ide.editor import UnaskedEdit
from GeminiCompanion.companion.ui.agents import agent_list, tree_rows
from GeminiCompanion.companion.ui.chat.conversation_list import window_workspaces
from GeminiCompanion.companion.ui.parts import tree_parts
from GeminiCompanion.companion.ui.terminals import terminus
from GeminiCompanion.companion.ui.user_messages import PREFIX
from GeminiCompanion.companion.ui.work_trees import beginning_choice, several_agents, tree_maker
from GeminiCompanion.companion.ui.work_trees.free_modes import FREE, KEEP
from GeminiCompanion.companion.ui.work_trees.making_progress import KEY
from GeminiCompanion.companion.ui.work_trees.tree_removal import NONE, REMOVED, WORKS
from GeminiCompanion.companion.work_trees import repository, tree_making
from GeminiCompanion.companion.work_trees.git import GitFailure
from GeminiCompanion.companion.work_trees.removal import doomed_path
from GeminiCompanion.companion.work_trees.work_tree import TreeState, WorkTree

from ..support import patched
from .reviewing import Steps
from .test_chat_agents import ROWS
from .test_chat_list import ListCase, info, option


@unittest.skipUnless(shutil.which("git"), "needs git")
class TreeCase(ListCase):
    """The window has a project, a repository with one commit."""

    def setUp(self) -> None:
        super().setUp()
        settings = os.path.join(self.folder, "gitconfig")
        with open(settings, "w", encoding="utf-8") as file:
            file.write("[user]\n\tname = a\n\temail = a@b\n[init]\n\tdefaultBranch = main\n")
        variables = {"GIT_CONFIG_GLOBAL": settings, "GIT_CONFIG_NOSYSTEM": "1"}
        patched(self, mock.patch.dict(os.environ, variables))
        self.project = os.path.join(self.folder, "project")
        os.mkdir(self.project)
        self.git("init", "-q")
        self.write("project/a.txt", "one\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "x")
        self.addCleanup(self.window.set_project_data, self.window.project_data())
        self.window.set_project_data({"folders": [{"path": self.project}]})
        self.trees = self.running().base.trees

    def tearDown(self) -> Generator[Any, Any, None]:
        for tree in self.trees.store.list_trees():
            self.trees.store.forget_tree(tree.id)
        yield from super().tearDown()
        self.running().stories.begin(self.trees.look_again())
        yield lambda: not self.trees.trees

    def git(self, *words: str, folder: str = "") -> str:
        done = subprocess.run(
            ("git", *words), cwd=folder or self.project, stdout=subprocess.PIPE, check=True
        )
        return done.stdout.decode().strip()

    def made(self) -> Generator[Any, Any, WorkTree]:
        """`tree = yield from self.made()`: the newest work tree, once it is known."""
        before = len(self.trees.trees)
        yield lambda: len(self.trees.trees) > before
        return self.trees.trees[-1]

    def new_chat(self) -> Generator[Any, Any, WorkTree]:
        """`tree = yield from self.new_chat()`: with a chat in it, in front."""
        before = len(self.service.wanted)
        self.run_command("new_chat_in_work_tree")
        tree = yield from self.made()
        yield lambda: len(self.service.wanted) > before
        return tree


class Chats(TreeCase):
    def test_its_agent_works_in_a_copy_of_the_project(self) -> Steps:
        tree = yield from self.new_chat()
        self.assertEqual(self.service.wanted[-1][1:], ("gemini", tree.own_folder))
        self.assertEqual(sorted(os.listdir(tree.own_folder)), [".git", "a.txt"])
        self.assertEqual((tree.agent, tree.name), ("gemini", "gemini-1"))
        self.assertEqual(tree.path, os.path.join(self.folder, "project.trees", "gemini-1"))

    def test_its_tab_says_where_it_works(self) -> Steps:
        tree = yield from self.new_chat()
        view = self.window.active_view()
        yield from self.update(view, title="Mend it", workspace=tree.own_folder)
        self.assertEqual(view.name(), "Mend it (work tree gemini-1)")
        self.assertIn("work tree gemini-1", self.state_of(view))
        yield from self.update(view, title="Mend it", workspace=self.project)
        self.assertEqual(view.name(), "Mend it")

    def test_a_project_that_is_all_committed_needs_no_question(self) -> Steps:
        yield from self.new_chat()
        self.assertEqual(self.shown, [])

    def test_what_is_not_committed_is_asked_about_once(self) -> Steps:
        self.write("project/a.txt", "two\n")
        self.write("project/new.txt", "new\n")
        self.run_command("new_chat_in_work_tree")
        yield lambda: self.shown
        self.assertEqual(
            self.triggers,
            [beginning_choice.LAST, beginning_choice.CHANGED, beginning_choice.NEW],
        )
        self.assertIn("new.txt", str(self.shown[-1]["items"][2].details))
        self.shown[-1]["on_select"](2)
        tree = yield from self.made()
        for name, text in (("a.txt", "two\n"), ("new.txt", "new\n")):
            with open(os.path.join(tree.path, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), text)
        self.assertEqual(len(self.shown), 1)

    def test_what_a_tab_has_not_saved_is_named_where_that_is_asked(self) -> Steps:
        view = yield from self.open("project/a.txt", "two\n")
        view.run_command("append", {"characters": "mine\n"})
        self.run_command("new_chat_in_work_tree")
        yield lambda: self.shown
        said = beginning_choice.UNSAVED.format("a.txt")
        details = [item.details for item in self.shown[-1]["items"]]
        self.assertEqual([said in each for each in details], [True, True])
        view.set_scratch(True)
        view.close()
        yield from self.choose(0)
        yield from self.made()

    def test_what_git_ignores_is_named_and_linked_or_copied_by_choice(self) -> Steps:
        self.write("project/.gitignore", "*.log\n.env\nbuilt/\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "y")
        for name in ("x.log", ".env"):
            self.write(f"project/{name}", "mine\n")
        os.mkdir(os.path.join(self.project, "built"))
        self.write("project/built/b.txt", "b\n")
        self.run_command("new_chat_in_work_tree")
        yield lambda: self.shown
        self.assertEqual(self.triggers, [beginning_choice.LAST, beginning_choice.IGNORED])
        self.assertIn("left out: .env, built/, x.log", self.shown[-1]["items"][1].details)
        yield from self.choose(1)
        # .env is linked, x.log copied.
        for number in (1, 3, 3, 0):
            yield from self.choose(number)
        self.assertEqual(self.triggers, [beginning_choice.LAST, beginning_choice.IGNORED])
        yield from self.choose(0)
        tree = yield from self.made()
        there = sorted(os.listdir(tree.path))
        self.assertEqual(there, [".env", ".git", ".gitignore", "a.txt", "x.log"])
        links = [name for name in there if os.path.islink(os.path.join(tree.path, name))]
        self.assertEqual((links, tree.carried), ([".env"], (".env", "x.log")))
        self.run_command("remove_work_tree", tree=tree.id)
        yield lambda: not self.trees.trees
        self.assertTrue(os.path.exists(os.path.join(self.project, ".env")))

    def test_how_large_it_will_be_is_told_before(self) -> Steps:
        self.replace(beginning_choice, "MANY_FILES", 1)
        self.run_command("new_chat_in_work_tree")
        yield lambda: self.shown
        self.assertIn("1 file, 2 KB", self.shown[-1]["items"][0].annotation)
        self.shown[-1]["on_select"](-1)
        yield from self.until_turn()
        self.assertEqual(self.trees.store.list_trees(), ())

    def test_how_long_it_will_take_is_told_where_that_is_long(self) -> Steps:
        self.replace(beginning_choice, "MANY_FILES", 1)
        self.replace(repository, "FILES_IN_A_SECOND", 1 / 75)
        self.run_command("new_chat_in_work_tree")
        yield lambda: self.shown
        told = self.shown[-1]["items"][0].annotation
        self.assertEqual(told, "1 file, 2 KB, 1 min 15 s or more")
        self.shown[-1]["on_select"](-1)
        yield from self.until_turn()

    def test_a_folder_without_a_repository_says_so(self) -> Steps:
        shutil.rmtree(os.path.join(self.project, ".git"))
        self.run_command("new_chat_in_work_tree")
        yield lambda: any("git" in sentence for sentence in self.sentences)
        self.assertEqual(self.service.wanted, [])

    def test_a_window_without_a_folder_says_so(self) -> Steps:
        self.window.set_project_data({"folders": []})
        self.run_command("new_chat_in_work_tree")
        yield lambda: PREFIX + tree_maker.NO_FOLDER in self.sentences

    def test_the_making_can_be_stopped_and_leaves_nothing(self) -> Steps:
        real, waits = tree_making.create_work_tree, [True]

        def slow(*arguments: Any) -> Any:
            report = arguments[5]
            while waits:
                report("Writing the files", 1, 2)
            return real(*arguments)

        self.replace(tree_making, "create_work_tree", slow)
        self.run_command("new_chat_in_work_tree")
        view = self.window.active_view() or self.window.new_file()
        yield lambda: "(1 of 2)" in self.window.active_view().get_status(KEY)
        self.run_command("stop")
        yield lambda: PREFIX + tree_maker.STOPPED in self.sentences
        waits.clear()
        self.assertEqual(view.get_status(KEY), "")
        self.assertEqual(self.trees.store.list_trees(), ())


class Windows(TreeCase):
    def test_a_work_tree_belongs_to_the_window_of_its_project(self) -> Steps:
        tree = yield from self.new_chat()
        self.assertEqual(self.trees.folders_in(self.window), (tree.path,))
        cli = yield from self.connect()
        companion = plugin._host.companion
        self.assertNotIn(tree.path, str(companion.environments[self.window.id()]))
        self.assertFalse(cli.is_closed)

    def test_a_cli_in_a_terminal_is_told_of_the_work_tree_alone(self) -> Steps:
        started: list[Any] = []

        async def run(*arguments: Any) -> None:
            started.append(arguments)

        self.replace(terminus, "run_cli", run)
        yield lambda: plugin._host.environment_of(self.window)
        self.run_command("run_cli_in_work_tree")
        tree = yield from self.made()
        yield lambda: started
        [(window, folder, environment, _tell)] = started
        self.assertEqual((window, folder), (self.window, tree.own_folder))
        told = plugin._host.environment_of(self.window)
        changed = {name for name in environment if environment[name] != told.get(name)}
        self.assertIn("GEMINI_CLI_IDE_WORKSPACE_PATH", changed)
        self.assertEqual({environment[name] for name in changed}, {tree.own_folder})

    def test_an_edit_there_is_none_of_the_users_files(self) -> Steps:
        tree = yield from self.new_chat()
        written: list[WorkTree] = []
        self.addCleanup(self.trees.writings.subscribe(written.append))
        path = os.path.join(tree.path, "a.txt")
        edit = UnaskedEdit(path, of_bytes(b"one\n"), of_bytes(b"two\n"), "Gemini CLI", "t", "", 1.0)
        self.running().review.unasked.gather_edit(self.window.id(), edit)
        edits = self.running().review.ledger.made.of_window(self.window.id())
        self.assertNotIn(path, [edit.path for edit in edits])
        self.assertEqual(written, [tree])

    def test_they_are_known_after_a_restart(self) -> Steps:
        tree = yield from self.new_chat()
        plugin._host.stop()
        self.trees.trees = ()
        plugin._host.start()
        yield lambda: list(self.trees.trees) == [tree]

    def test_they_are_found_after_the_cache_was_emptied(self) -> Steps:
        tree = yield from self.new_chat()
        os.utime(os.path.join(tree.admin_folder, "gemini-companion"), (1.0, 1.0))
        plugin._host.stop()
        self.trees.trees = ()
        shutil.rmtree(self.trees.store.folder)
        plugin._host.start()
        yield lambda: list(self.trees.trees) == [replace(tree, created=1.0)]
        self.assertTrue(any("is there again" in sentence for sentence in self.sentences))


class Lists(TreeCase):
    def test_agents_has_the_work_trees_with_what_can_be_done(self) -> Steps:
        tree = yield from self.new_chat()
        with open(os.path.join(tree.path, "new.txt"), "w", encoding="utf-8") as file:
            file.write("new\n")
        lists = self.running().tree_changes.lists
        yield lambda: not lists.is_looking
        self.replace(lists, "_next_look", 0.0)
        self.replace(tree_parts, "LOOKS", 10_000)
        self.run_command("agents")
        yield from self.answer(())
        yield lambda: self.shown
        [at] = [at for at, label in enumerate(self.triggers) if label == "Work tree gemini-1"]
        details = str(self.shown[-1]["items"][at].details)
        self.assertIn(tree.path, details)
        self.assertIn("of project · 1 file changed", details)
        # It is a place, which does nothing.
        self.assertRegex(self.shown[-1]["items"][at].details[0], r"^since \d\d:\d\d$")
        os.remove(os.path.join(tree.path, "new.txt"))
        yield from self.choose(at)
        yield lambda: list(tree_rows.ACTIONS) == self.triggers
        yield from self.choose(3)
        yield lambda: not self.trees.trees

    def test_its_row_has_its_name_as_it_is_written(self) -> Steps:
        tree = yield from self.new_chat()
        # That of a CLI that the user has named so.
        self.trees.store.keep_tree(replace(tree, name="MyCLI-1"))
        self.run_command("agents")
        yield from self.answer(())
        yield lambda: self.shown
        self.assertIn("Work tree MyCLI-1", self.triggers)

    def test_a_count_of_changes_begins_nothing_and_the_list_of_agents_looks(self) -> Steps:
        tree = yield from self.new_chat()
        lists = self.running().tree_changes.lists
        yield lambda: not lists.is_looking
        self.replace(lists, "_next_look", 0.0)
        self.running().work_trees.count_changes(tree.id)
        self.assertFalse(lists.is_looking)
        self.run_command("agents")
        yield from self.answer(())
        yield lambda: self.shown and lists.with_id(tree.id) is not None

    def test_conversations_of_the_window_are_those_of_its_work_trees_too(self) -> Steps:
        tree = yield from self.new_chat()
        found: list[Any] = []

        async def look() -> None:
            found.append(await window_workspaces(self.window, self.trees))

        self.begin(look())
        yield lambda: found
        self.assertEqual(found[0].folders, (self.project, tree.path))
        self.assertEqual(found[0].tree_name(tree.own_folder), os.path.basename(tree.path))

    def test_the_conversation_of_a_removed_one_stays_in_the_list(self) -> Steps:
        tree = yield from self.new_chat()
        self.window.active_view().close()
        self.run_command("remove_work_tree", tree=tree.id)
        yield lambda: not self.trees.trees
        # A busy machine may answer later.
        self.replace(agent_list, "SOON", 100_000)
        asked, before = self.service.asked, len(self.shown)
        self.run_command("agents")
        yield lambda: any(isinstance(each, ListConversations) for each, _answer in asked)
        for wanted, answer in list(asked):
            if isinstance(wanted, ListConversations):
                self.assertTrue(wanted.workspaces and wanted.workspaces.has(tree.own_folder))
                rows = (info("a", "Fix it", workspace=tree.own_folder),)
                answer.give(FoundConversations(rows, {}, ""))
        yield from self.answer(())
        yield lambda: len(self.shown) > before
        details = str(self.shown[-1]["items"][self.triggers.index("Fix it")].details)
        self.assertIn(f"work tree {os.path.basename(tree.path)}, removed", details)

    def test_an_agent_is_told_of_its_own_file_in_the_place_of_the_users(self) -> Steps:
        tree = yield from self.new_chat()
        told = self.trees.path_for
        own = os.path.join(self.project, "a.txt")
        self.assertEqual(told(tree.own_folder, own), os.path.join(tree.path, "a.txt"))
        self.assertEqual(told(self.project, own), own)
        self.assertEqual(told(tree.own_folder, "/elsewhere"), "/elsewhere")

    def test_who_works_in_one_is_known_with_the_cost(self) -> Steps:
        tree = yield from self.new_chat()
        told: dict[str, Any] = {"workspace": tree.own_folder, "agent_name": "Gemini CLI"}
        view = self.window.active_view()
        yield from self.update(view, **told, usage=ContextUsage(1200, 5000))
        self.assertEqual(self.trees.agent_of(tree.id), "Gemini CLI, 1,200 tokens of context")
        yield from self.update(view, **told, usage=ContextUsage(1200, 5000, Cost(0.5, "USD")))
        self.assertEqual(self.trees.agent_of(tree.id), "Gemini CLI, 0.50 USD")

    def test_all_chats_that_work_in_one_are_named(self) -> Steps:
        tree = yield from self.new_chat()
        told: dict[str, Any] = {"workspace": tree.own_folder}
        views = [self.window.active_view(), (yield from self.chat())]
        for view, name in zip(views, ("Gemini CLI", "Qwen Code")):
            usage = ContextUsage(1200, 5000, Cost(0.5, "USD"))
            yield from self.update(view, **told, agent_name=name, usage=usage)
        self.assertEqual(self.trees.agent_of(tree.id), "Gemini CLI, 0.50 USD; Qwen Code, 0.50 USD")

    def test_the_changes_of_a_turn_are_shown_as_those_of_the_work_tree(self) -> Steps:
        tree = yield from self.new_chat()
        yield from self.update(self.window.active_view(), workspace=tree.own_folder)
        self.run_command("turn_changes", turn="1")
        yield lambda: self.window.active_view().name() == "Changes"
        self.assertEqual(self.service.asked, [])


class Several(TreeCase):
    def choose_agents(self, *numbers: int) -> Steps:
        self.run_command("ask_several_agents")
        yield from self.answer(ROWS[:2])
        yield lambda: self.shown
        for number in numbers:
            yield from self.choose(number)

    def test_one_message_goes_to_each_in_a_work_tree_of_its_own(self) -> Steps:
        source = yield from self.chat()
        self.type(source, "refactor it")
        yield from self.choose_agents(2)
        self.assertEqual(self.triggers, ["Ask Gemini CLI, Qwen Code", "Gemini CLI", "Qwen Code"])
        yield from self.choose(0)
        yield lambda: len(self.trees.trees) == 2
        sent: list[Send] = []

        def all_sent() -> bool:
            sent[:] = [each for each, _answer in self.service.asked if isinstance(each, Send)]
            return len(sent) == 2

        yield all_sent
        self.assertEqual([each.words for each in sent], ["refactor it"] * 2)
        folders = [tree.own_folder for tree in self.trees.trees]
        wanted = [each[1:] for each in self.service.wanted[-2:]]
        self.assertEqual(wanted, list(zip(("gemini", "qwen"), folders)))
        yield lambda: self.unsent(source) == ""

    def test_all_begin_with_the_same_also_if_the_user_saves_meanwhile(self) -> Steps:
        self.write("project/a.txt", "not committed\n")
        source = yield from self.chat()
        self.type(source, "refactor it")
        make_tree = tree_maker.make_tree

        def make_and_save(*arguments: Any) -> WorkTree:
            tree = make_tree(*arguments)
            self.write("project/a.txt", f"saved after {tree.name}\n")
            return tree

        self.replace(tree_maker, "make_tree", make_and_save)
        yield from self.choose_agents(2)
        yield from self.choose(0)
        yield lambda: self.triggers[:1] == [beginning_choice.LAST]
        yield from self.choose(1)
        yield lambda: len(self.trees.trees) == 2
        texts = []
        for tree in self.trees.trees:
            with open(os.path.join(tree.path, "a.txt"), encoding="utf-8") as file:
                texts.append(file.read())
        self.assertEqual(texts, ["not committed\n"] * 2)
        yield lambda: self.unsent(source) == ""

    def test_who_has_the_message_is_told_where_not_all_work_trees_are_made(self) -> Steps:
        source = yield from self.chat()
        self.type(source, "refactor it")
        make_tree = tree_maker.make_tree

        def make_first(*arguments: Any) -> WorkTree:
            if self.trees.trees:
                raise GitFailure("The disk is full.")
            return make_tree(*arguments)

        self.replace(tree_maker, "make_tree", make_first)
        yield from self.choose_agents(2)
        yield from self.choose(0)
        yield from self.until_told("The disk is full.")
        yield from self.until_told(several_agents.ONLY.format("Gemini CLI"))
        self.assertEqual(len(self.trees.trees), 1)

    def test_one_agent_alone_is_not_several(self) -> Steps:
        self.run_command("ask_several_agents")
        yield from self.answer(ROWS[:1])
        yield from self.until_told("Only Gemini CLI")
        self.assertEqual(self.shown, [])

    def test_who_chooses_too_few_is_asked_again(self) -> Steps:
        yield from self.choose_agents(0)
        self.assertEqual(self.triggers[0], several_agents.NOT_YET)
        yield from self.choose(-1)
        self.assertEqual(self.trees.trees, ())


class Modes(TreeCase):
    def test_a_mode_without_questions_says_once_what_is_shared(self) -> Steps:
        tree = yield from self.new_chat()
        offered = ConfigOptions((option("mode", MODE, "default", "default", "plan", "yolo"),))
        view = self.window.active_view()
        yield from self.update(view, workspace=tree.own_folder, options=offered, mode="default")
        self.run_command("mode", value="yolo")
        yield lambda: self.shown
        self.assertEqual(self.triggers, [KEEP, FREE])
        yield from self.choose(0)
        self.assertEqual(self.service.asked, [])
        self.run_command("mode", value="yolo")
        yield lambda: len(self.shown) == 2
        yield from self.choose(1)
        yield lambda: self.service.asked
        self.assertEqual(self.asked, ChooseOption(self.id_of(view), "mode", "yolo"))
        self.run_command("mode", value="yolo")
        yield lambda: len(self.service.asked) == 2
        self.assertEqual(len(self.shown), 2)

    def test_what_a_tree_shares_is_said_once_also_after_a_restart(self) -> Steps:
        tree = yield from self.new_chat()
        offered = ConfigOptions((option("mode", MODE, "default", "default", "plan", "yolo"),))
        view = self.window.active_view()
        yield from self.update(view, workspace=tree.own_folder, options=offered, mode="default")
        self.run_command("mode", value="yolo")
        yield lambda: self.shown
        yield from self.choose(1)
        yield lambda: self.service.asked
        # What a restart leaves.
        self.trees.trees = ()
        self.begin(self.trees.look_again())
        yield from self.until_equal(
            lambda: getattr(self.trees.tree_with(tree.id), "is_free", False), True
        )
        other = yield from self.chat()
        yield from self.update(other, workspace=tree.own_folder, options=offered, mode="default")
        self.run_command("mode", value="yolo")
        yield lambda: len(self.service.asked) == 2
        self.assertEqual(len(self.shown), 1)

    def test_one_with_questions_needs_no_words(self) -> Steps:
        tree = yield from self.new_chat()
        offered = ConfigOptions((option("mode", MODE, "default", "default", "plan", "yolo"),))
        view = self.window.active_view()
        yield from self.update(view, workspace=tree.own_folder, options=offered, mode="default")
        self.run_command("mode", value="plan")
        yield lambda: self.service.asked
        self.assertEqual(self.shown, [])


class Removal(TreeCase):
    def test_one_in_which_nothing_was_done_goes_without_a_question(self) -> Steps:
        tree = yield from self.new_chat()
        self.run_command("remove_work_tree", tree=tree.id)
        yield lambda: PREFIX + REMOVED.format(tree.name) in self.sentences
        self.assertFalse(os.path.exists(tree.path))
        self.assertEqual(self.git("worktree", "list", "--porcelain").count("worktree "), 1)
        yield lambda: not self.trees.trees
        self.assertEqual(self.shown, [])

    def test_what_would_be_lost_is_told_and_the_user_decides(self) -> Steps:
        tree = yield from self.new_chat()
        with open(os.path.join(tree.path, "a.txt"), "w", encoding="utf-8") as file:
            file.write("changed\n")
        self.run_command("remove_work_tree", tree=tree.id)
        yield lambda: self.shown
        self.assertIn("a.txt", str(self.shown[-1]["items"][1].details))
        yield from self.choose(0)
        self.assertTrue(os.path.exists(tree.path))
        self.run_command("remove_work_tree", tree=tree.id)
        yield lambda: len(self.shown) == 2
        yield from self.choose(1)
        yield lambda: not self.trees.trees
        self.assertFalse(os.path.exists(tree.path))

    def test_the_one_of_the_chat_in_front_is_offered_first(self) -> Steps:
        first = yield from self.new_chat()
        view = self.window.active_view()
        yield from self.new_chat()
        self.window.focus_view(view)
        yield from self.update(view, workspace=first.own_folder)
        self.run_command("remove_work_tree")
        yield lambda: self.shown
        self.assertEqual(self.triggers, ["gemini-1", "gemini-2"])

    def test_after_one_is_removed_another_one_can_be_chosen(self) -> Steps:
        yield from self.new_chat()
        yield from self.new_chat()
        self.run_command("remove_work_tree")
        yield lambda: self.shown
        self.assertEqual(self.triggers, ["gemini-2", "gemini-1"])
        yield from self.choose(0)
        yield lambda: len(self.shown) == 2
        self.assertEqual(self.triggers, ["gemini-1"])
        yield from self.choose(0)
        yield lambda: not self.trees.trees
        yield from self.until_turn()
        self.assertEqual(len(self.shown), 2)

    def test_an_agent_that_works_in_it_is_stopped_after_a_question(self) -> Steps:
        tree = yield from self.new_chat()
        view = self.window.active_view()
        yield from self.update(view, state=WORKING, workspace=tree.own_folder)
        self.answer_looks()
        yield from self.stop_for_removal(tree, self.id_of(view))
        yield from self.update(view, workspace=tree.own_folder)
        yield lambda: not self.trees.trees

    def test_one_that_works_without_a_tab_is_stopped_after_a_question_too(self) -> Steps:
        tree = yield from self.new_chat()
        self.window.active_view().close()
        self.answer_looks()
        self.works.update({"a": tree.own_folder, "another one": self.project})
        yield from self.stop_for_removal(tree, "a")
        del self.works["a"]
        yield lambda: not self.trees.trees

    def answer_looks(self) -> None:
        """The service says that agents work where `works` says, by the ids of conversations."""
        self.replace(type(self.chats.engines), "is_there", True)
        self.works: dict[str, str] = {}
        ask = self.service.ask

        def ask_and_answer(request: Any) -> Any:
            answer = ask(request)
            if isinstance(request, LookAtWork):
                rows = (info(id, workspace=at, is_busy=True) for id, at in self.works.items())
                answer.give(tuple(WorkFacts(row, "Gemini CLI") for row in rows))
            return answer

        self.replace(self.service, "ask", ask_and_answer)

    def stop_for_removal(self, tree: WorkTree, id: str) -> Steps:
        """The user removes it though the agent of this conversation works in it, which is told to
        stop."""
        self.run_command("remove_work_tree", tree=tree.id)
        yield lambda: self.shown
        self.assertIn(WORKS, str(self.shown[-1]["items"][1].details))
        yield from self.choose(1)
        asked = self.service.asked
        yield lambda: [each for each, _answer in asked if isinstance(each, StopWork)]
        yield from self.answer(None)
        stopped = [each for each, _answer in asked if isinstance(each, StopWork)]
        self.assertEqual(stopped, [StopWork(id)])
        # What it does until it has stopped counts, too.
        self.assertTrue(os.path.exists(tree.path))

    def test_one_that_was_half_removed_goes_when_the_user_wants_to_remove_one(self) -> Steps:
        tree = yield from self.new_chat()
        self.trees.store.keep_tree(replace(tree, state=TreeState.REMOVING))
        os.rename(tree.path, doomed_path(tree))
        self.run_command("remove_work_tree")
        yield from self.until_told(NONE)
        self.assertFalse(os.path.exists(doomed_path(tree)))
        self.assertEqual(self.trees.store.list_trees(), ())
        self.assertEqual(self.git("worktree", "list", "--porcelain").count("worktree "), 1)

    def test_one_that_was_half_made_is_gone_after_a_start(self) -> Steps:
        tree = yield from self.new_chat()
        self.trees.store.keep_tree(replace(tree, state=TreeState.MAKING))
        plugin._host.stop()
        plugin._host.start()
        yield lambda: not self.trees.trees
        yield lambda: not os.path.exists(tree.path)
