"""The code of answers, copied and put into files."""

from __future__ import annotations

from typing import Any, Generator

import sublime
from GeminiCompanion.companion.chat.rendered import Patch, Rendered
from GeminiCompanion.companion.ui.chat import code_taking
from GeminiCompanion.companion.ui.user_messages import PREFIX

from .adapter import text_of
from .reviewing import Steps
from .test_chat_attaching import AttachingCase

SAID = "▎ my code\n```\nmine = 1\n```\n"
ANSWER = "\nFirst:\n```py\none = 1\n```\nThen:\n```py\ntwo = 2\nmore()\n```\nDone.\n"
CALL = "▏ ✓ Shell ls\n```\noutput\n```\n"


class TakingCode(AttachingCase):
    def talked(self, *texts: str) -> Generator[Any, Any, sublime.View]:
        """A chat in front of a file, with these blocks."""
        view = yield from self.chat_beside("a.py", "before\nafter\n")
        patches, at = [], 0
        for number, text in enumerate(texts):
            patches.append(Patch(str(number), at, at, Rendered(text)))
            at += len(text)
        yield from self.update(view, patches=tuple(patches))
        sublime.set_clipboard("nothing")
        return view

    def test_the_last_code_that_the_agent_said_is_copied_from_the_composer(self) -> Steps:
        yield from self.talked(SAID, ANSWER, CALL)
        self.run_command("copy_code")
        self.assertEqual(sublime.get_clipboard(), "two = 2\nmore()\n")
        yield lambda: PREFIX + code_taking.COPIED.format("2 lines", "are") in self.sentences

    def test_at_a_caret_in_a_block_that_one_is_copied_whoever_said_it(self) -> Steps:
        view = yield from self.talked(SAID, ANSWER, CALL)
        for words, code in (
            ("one = 1", "one = 1\n"),
            ("mine", "mine = 1\n"),
            ("output", "output\n"),
            ("Done.", "two = 2\nmore()\n"),
        ):
            with self.subTest(words):
                self.caret(view, text_of(view).index(words))
                self.run_command("copy_code")
                self.assertEqual(sublime.get_clipboard(), code)

    def test_without_code_nothing_is_copied_and_that_is_said(self) -> Steps:
        yield from self.talked(SAID, "Words.\n", CALL)
        self.run_command("copy_code")
        yield lambda: PREFIX + code_taking.NO_CODE in self.sentences
        self.assertEqual(sublime.get_clipboard(), "nothing")

    def test_it_is_put_at_the_carets_of_the_file_worked_on_last(self) -> Steps:
        yield from self.talked(ANSWER)
        self.file.sel().clear()
        self.file.sel().add_all([sublime.Region(0, 7), sublime.Region(13)])
        self.run_command("insert_code")
        code = "two = 2\nmore()\n"
        self.assertEqual(text_of(self.file), code + "after\n" + code)
        self.assertEqual(self.window.active_view(), self.file)
        self.file.run_command("undo")
        self.assertEqual(text_of(self.file), "before\nafter\n")
        self.file.set_scratch(True)

    def test_a_file_that_cannot_be_changed_is_told(self) -> Steps:
        yield from self.talked(ANSWER)
        self.file.set_read_only(True)
        self.run_command("insert_code")
        yield lambda: any("cannot be changed" in sentence for sentence in self.sentences)
        self.assertEqual(text_of(self.file), "before\nafter\n")

    def test_without_a_file_there_is_nowhere_to_put_it(self) -> Steps:
        yield from self.talked(ANSWER)
        self.file.close()
        yield from self.until_turn()
        self.run_command("insert_code")
        yield lambda: PREFIX + code_taking.NO_TEXT in self.sentences
