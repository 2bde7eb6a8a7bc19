"""The syntax of chats: which lines are whose, and what is in the list of symbols."""

from __future__ import annotations

import sublime
from GeminiCompanion.companion.chat.rendered import LINE, MESSAGE, Patch, Rendered
from GeminiCompanion.companion.ui.chat.chat_view import ChatView

from .adapter import AdapterTestCase

# An answer with a fence that is never closed.
TRANSCRIPT = (
    f"{MESSAGE} first\n# a heading\n```python\ndef f():\n{LINE} Edit a.py\n{MESSAGE} second\n"
)


class ChatSyntax(AdapterTestCase):
    def setUp(self) -> None:
        super().setUp()
        view = self.window.new_file()
        self.chat = ChatView(view, "c", f"# mine\n{MESSAGE} no message\n", lambda _: None)
        self.addCleanup(self.chat.close)
        self.chat.draw_patches([Patch("b", 0, 0, Rendered(TRANSCRIPT))])
        self.view = self.chat.views[0]

    def scope(self, words: str) -> str:
        return self.view.scope_name(self.view.find(words, 0, sublime.LITERAL).a)

    def test_the_list_of_symbols_has_the_users_messages_and_nothing_else(self) -> None:
        self.assertEqual([name for _, name in self.view.symbols()], ["first", "second"])

    def test_lines_of_ours_end_whatever_an_answer_has_begun(self) -> None:
        for words, scope in (
            ("a heading", "markup.other.answer"),
            ("def f", "markup.other.answer"),
            ("Edit", "comment.line"),
            ("second", "markup.heading.message entity.name.section.message"),
            ("mine", "markup.other.composer"),
            ("no message", "markup.other.composer"),
        ):
            with self.subTest(words):
                self.assertTrue(sublime.score_selector(self.scope(words), scope), self.scope(words))
