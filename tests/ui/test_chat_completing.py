"""Completions of a composer: names of the project, symbols, and the agent's commands."""

from __future__ import annotations

import os
import shutil
from types import SimpleNamespace
from typing import Any, Generator

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.agent.session_state import SlashCommand
from GeminiCompanion.companion.base import background
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.chat import project_paths
from GeminiCompanion.companion.chat.rendered import Patch, Rendered
from GeminiCompanion.companion.ui import stories
from GeminiCompanion.companion.ui.chat import project_lists, tab_symbols
from GeminiCompanion.companion.ui.code import symbol_index
from GeminiCompanion.companion.work_trees.work_tree import WorkTree

from .reviewing import Steps
from .test_chat_attaching import AttachingCase


class CompletingCase(AttachingCase):
    def setUp(self) -> None:
        super().setUp()
        for name in ("src/deep/er.py", "src/my file.py", "id_rsa", "main.py"):
            os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
            self.write(name, "")

    def asked(self, view: sublime.View, prefix: str) -> Any:
        """What is offered at the caret, a list that may still be filled; None for nothing."""
        points = [region.b for region in view.sel()]
        return plugin._host.running.chat.actions.composing.completing.offer_completions(
            view, prefix, points
        )

    def offered(
        self, view: sublime.View, text: str, prefix: str
    ) -> Generator[Any, Any, list[tuple[str, str]]]:
        """What each completion is found by and what it puts, in the composer with just this."""
        chat = self.of(view)
        chat.composer.write(view, text)
        self.caret(view, view.size())
        found = self.asked(view, prefix)
        self.assertIsNotNone(found)
        filled: list[Any] = []
        found._wait(filled.append)
        yield lambda: filled
        return [(completion.trigger, completion.completion) for completion in filled[0]]


class Names(CompletingCase):
    def test_names_are_those_of_nested_files_and_folders_and_not_the_excluded_ones(self) -> Steps:
        view = yield from self.chat()
        found = yield from self.offered(view, "see @", "")
        names = ["main.py", "src/", "src/deep/", "src/my\\ file.py", "src/deep/er.py"]
        self.assertEqual([put for _, put in found], names)
        found = yield from self.offered(view, "@er", "er")
        self.assertEqual(found[0], ("src/deep/er.py", "src/deep/er.py"))

    def test_names_are_as_seen_from_the_folder_in_which_the_agent_works(self) -> Steps:
        src = os.path.join(self.folder, "src")
        self.folders(self.folder, src)
        view = yield from self.chat()
        yield from self.update(view, workspace=src)
        found = yield from self.offered(view, "see @er", "er")
        self.assertEqual(found[0], ("deep/er.py", "deep/er.py"))
        found = yield from self.offered(view, "see @main", "main")
        self.assertEqual([put for _, put in found], [os.path.join(self.folder, "main.py")])

    def test_an_agent_in_a_work_tree_is_told_its_own_names_and_none_of_the_users(self) -> Steps:
        trees, root = self.running().base.trees, os.path.realpath(self.folder)
        self.folders(root, os.path.join(root, "src"))
        path = os.path.join(os.path.dirname(root), "tree of " + os.path.basename(root))
        for name in ("theirs.py", "src/er.py"):
            os.makedirs(os.path.dirname(os.path.join(path, name)), exist_ok=True)
            self.write(os.path.join(path, name), "")
        self.addCleanup(shutil.rmtree, path)
        tree = WorkTree("abc123", path, root, root, "one", "gemini", 1.0, "f" * 40)
        self.replace(trees, "trees", (tree,))
        view = yield from self.chat_beside("tea.py", "def boil_water():\n    pass\n")
        yield from self.update(view, workspace=path)
        found = yield from self.offered(view, "see @", "")
        self.assertIn("theirs.py", [put for _, put in found])
        self.assertNotIn("main.py", str(found))
        self.assertNotIn(root + os.sep, str(found))
        yield lambda: self.file.symbols()
        found = yield from self.offered(view, "@boilw", "boilw")
        self.assertTrue(found[-1][1].startswith("tea.py#L1 (boil_water"), found)

    def test_what_stands_before_the_word_stays_and_is_no_part_of_a_completion(self) -> Steps:
        view = yield from self.chat()
        for text, prefix, put in (
            ("@src/de", "de", ["deep/", "deep/er.py"]),
            ("@src/my\\ fi", "fi", ["file.py"]),
            ("@src/deep/er.p", "p", ["py"]),
            ("@other/x", "x", []),
        ):
            with self.subTest(text):
                found = yield from self.offered(view, text, prefix)
                self.assertEqual([completion[1] for completion in found], put)

    def test_nothing_is_offered_where_no_name_is_written(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, patches=(Patch("a", 0, 0, Rendered("see @ma\n")),))
        for text, prefix in (("ann@ma", "ma"), ("main", "main"), ("@ main", "main"), ("", "")):
            self.of(view).composer.write(view, text)
            self.caret(view, view.size())
            self.assertIsNone(self.asked(view, prefix), text)
        self.caret(view, 7)
        self.assertIsNone(self.asked(view, "ma"))
        other = yield from self.open("b.py", "@ma")
        self.caret(other, 3)
        self.assertIsNone(self.asked(other, "ma"))

    def test_several_carets_are_completed_only_where_all_write_the_same(self) -> Steps:
        view = yield from self.chat()
        self.of(view).composer.write(view, "@ma x @mb\n")
        start = self.of(view).composer.start
        self.caret(view, start + 3)
        view.sel().add(start + 9)
        self.assertIsNone(self.asked(view, "ma"))

    def test_typing_opens_the_list_and_it_puts_the_name(self) -> Steps:
        view = yield from self.chat()
        stories = self.running().stories._running
        before = set(stories)
        # A person's keys are told of one by one.
        self.play(text_event_delay=None)
        self.type(view, "see @mai")
        yield from self.until_turn()
        yield lambda: view.is_auto_complete_visible()
        # The list is filled.
        yield lambda: set(stories) <= before
        yield from self.until_turn()
        view.run_command("commit_completion")
        self.assertEqual(self.unsent(view), "see @main.py")

    def test_what_the_history_brings_opens_no_list(self) -> Steps:
        view = yield from self.chat()
        self.run_command("previous_message")
        yield from self.answer(("see @mai",))
        yield from self.until_turn()
        self.assertFalse(view.is_auto_complete_visible())

    def test_a_pause_of_sharing_takes_no_names_away(self) -> Steps:
        view = yield from self.chat()
        self.window.settings().set("gemini_companion_sharing_paused", True)
        self.addCleanup(self.window.settings().erase, "gemini_companion_sharing_paused")
        found = yield from self.offered(view, "@main", "main")
        self.assertEqual(found[0][1], "main.py")

    def test_a_listing_that_is_slow_is_waited_for_in_a_thread_and_made_once(self) -> Steps:
        view = yield from self.chat()
        begun: list[Any] = []

        def start(work: Any) -> Answer[Any]:
            answer: Answer[Any] = Answer()
            begun.append((work, answer))
            return answer

        self.replace(project_lists.background, "start_work", start)
        self.of(view).composer.write(view, "@ma")
        lists = [self.asked(view, "ma") for _ in range(3)]
        self.assertEqual(len(begun), 1)
        self.type(view, " goes on")
        self.replace(background, "start_work", lambda work: _done(work()))
        begun[0][1].give(project_paths.PathListing(("main.py",), True))
        filled: list[Any] = []
        for each in lists:
            each._wait(filled.append)
        yield lambda: len(filled) == 3
        self.assertEqual([offered[0].completion for offered in filled], ["main.py"] * 3)

    def test_a_closed_tab_leaves_no_list_that_is_never_filled(self) -> Steps:
        view = yield from self.chat()
        # Only here: the companion waits for its own threads.
        self.replace(project_lists, "background", SimpleNamespace(start=lambda work: Answer()))
        self.of(view).composer.write(view, "@ma")
        found = self.asked(view, "ma")
        filled: list[Any] = []
        found._wait(filled.append)
        view.close()
        yield lambda: filled
        self.assertEqual(list(filled[0]), [])


class Symbols(CompletingCase):
    def test_a_symbol_of_a_tab_is_put_with_its_file_and_line(self) -> Steps:
        text = "class Kettle:\n    pass\n\n\ndef boil_water():\n    pass\n"
        view = yield from self.chat_beside("tea.py", text)
        yield lambda: self.file.symbols()
        found = yield from self.offered(view, "@boilw", "boilw")
        self.assertTrue(found)
        self.assertTrue(found[-1][1].startswith("tea.py#L5 (boil_water"), found)

    def test_a_symbol_of_an_excluded_file_is_not_offered(self) -> Steps:
        view = yield from self.chat_beside("credentials.py", "def boil_water():\n    pass\n")
        yield lambda: self.file.symbols()
        found = yield from self.offered(view, "@boilw", "boilw")
        self.assertEqual(found, [])

    def test_the_tabs_are_read_once_for_a_word_and_again_when_their_texts_change(self) -> Steps:
        view = yield from self.chat_beside("tea.py", "def boil_water():\n    pass\n")
        yield lambda: self.file.symbols()
        regions = sublime.View.symbol_regions
        read: list[int] = []

        def counted(of: sublime.View) -> Any:
            read.append(of.id())
            return regions(of)

        self.replace(sublime.View, "symbol_regions", counted)
        self.replace(tab_symbols, "FRESH", 1000.0)
        for typed in ("b", "bo", "boilw"):
            found = yield from self.offered(view, "@" + typed, typed)
            self.assertIn("boil_water", found[-1][1])
        self.assertEqual(read.count(self.file.id()), 1)
        self.file.run_command("append", {"characters": "\n\ndef boil_wine():\n    pass\n"})
        found = yield from self.offered(view, "@boilw", "boilw")
        self.assertEqual(read.count(self.file.id()), 2)
        self.assertIn("boil_wine", found[-1][1])

    def test_the_editor_has_its_turn_between_tabs(self) -> Steps:
        for name in ("tea.py", "milk.py"):
            yield from self.open(name, f"def boil_{name[:-3]}():\n    pass\n")
        read: list[sublime.View] = []
        self.replace(symbol_index, "symbols_in", lambda of: read.append(of) or [])
        self.replace(stories, "SLICE", -1.0)
        story = tab_symbols.TabSymbols().symbols_of(self.window)
        counts, found = [], None
        while found is None:
            try:
                awaited = story.send(None)
            except StopIteration as end:
                found = end.value
            else:
                yield lambda awaited=awaited: awaited.is_there
                counts.append(len(read))
        self.assertGreaterEqual(len(counts), 2)
        self.assertEqual(counts, list(range(1, len(counts) + 1)))


class Commands(CompletingCase):
    def commands(self, view: sublime.View) -> Steps:
        told = (
            SlashCommand("init", "Look at the project", "", True),
            SlashCommand("memory:add", "Keep <this>", "what", True),
            SlashCommand("shell", "", "", False),
        )
        yield from self.update(view, commands=told)

    def test_the_agents_own_are_offered_at_the_beginning_of_a_message(self) -> Steps:
        view = yield from self.chat()
        yield from self.commands(view)
        found = yield from self.offered(view, "/", "")
        self.assertEqual(found, [("init", "init "), ("memory:add", "memory:add ")])
        found = yield from self.offered(view, "/memory:a", "a")
        self.assertEqual(found, [("add", "add ")])

    def test_elsewhere_a_slash_is_a_slash(self) -> Steps:
        view = yield from self.chat()
        yield from self.commands(view)
        for text in ("this or/", "see /", "/init /"):
            self.of(view).composer.write(view, text)
            self.caret(view, view.size())
            self.assertIsNone(self.asked(view, ""), text)

    def test_an_agent_that_is_still_starting_has_none(self) -> Steps:
        view = yield from self.chat()
        self.assertEqual((yield from self.offered(view, "/", "")), [])


def _done(value: Any) -> Answer[Any]:
    answer: Answer[Any] = Answer()
    answer.give(value)
    return answer
