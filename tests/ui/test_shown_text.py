"""What others named is seen as it is, wherever the editor asks about it or tells of it."""

from __future__ import annotations

import dataclasses
import os
import sys
import unittest
from typing import Any
from unittest import mock

import sublime
from GeminiCompanion.companion.ui import notices, panels, settings
from GeminiCompanion.companion.ui.review import head, record
from GeminiCompanion.companion.ui.review.open_diffs import partner_view

from .reviewing import ReviewCase, Steps

NAME, SEEN = "a\u202eb\u3164.txt", "a<U+202E>b<U+3164>.txt"
FOLDER, SEEN_AS_HTML = "<i>folder\u200b<", "&lt;i&gt;folder&lt;U+200B&gt;&lt;"


class Names(ReviewCase):
    @unittest.skipIf(sys.platform == "win32", "nothing can be called so there")
    def test_a_file_is_called_as_it_is_wherever_its_proposal_is_decided(self) -> Steps:
        told, asked = self.told(), self.panels()
        os.mkdir(os.path.join(self.folder, FOLDER))
        name = os.path.join(FOLDER, NAME)
        drawn, draw = [], sublime.View.add_phantom

        def noted(*words: Any) -> int:
            drawn.append(words[3])
            return draw(*words)

        self.replace(sublime.View, "add_phantom", noted)
        right = yield from self.propose("old\n", "new\n", name)
        self.assertEqual(right.name(), f"{SEEN} (proposed)")
        self.assertEqual(partner_view(right).name(), f"{SEEN} (on disk)")
        self.assertIn("a&lt;U+202E&gt;b&lt;U+3164&gt;.txt,", "".join(drawn))
        self.run_command("show_diffs")
        item = asked[0]["items"][0]
        self.assertEqual(item.trigger, SEEN)
        self.assertTrue(item.details[0].endswith(SEEN_AS_HTML), item.details)
        yield lambda: any(SEEN in sentence for sentence in told)
        hidden = [text for text in (*told, *drawn) if "\u202e" in text or "\u3164" in text]
        self.assertEqual(hidden, [])

    def test_the_name_of_a_cli_hides_nothing(self) -> Steps:
        right = yield from self.propose("old\n", "new\n")
        known = record.waiting_record(right)
        assert known is not None
        client = "Gemini\u200b" + 60 * " " + "CLI\u202e"
        head.draw_head(right, dataclasses.replace(known, client=client))
        name = "Gemini<U+200B><60 spaces>CLI<U+202E>"
        self.assertEqual(right.name(), f"file.txt (proposed by {name})")

    def test_a_notice_of_the_desktop_hides_nothing(self) -> Steps:
        shown: list[Any] = []
        wanted = settings.Settings(desktop_notices=True)
        stories = mock.Mock()
        stories.begin = lambda story: (shown.append(story.cr_frame.f_locals["work"]), story.close())
        found = notices.Notices(stories)
        found.note_deactivated()
        with mock.patch.object(settings, "current_settings", return_value=wanted):
            found.show_notice(self.window, "fake proposes an edit of a\u202eb.")
        self.assertEqual(shown[0].args[1], "fake proposes an edit of a<U+202E>b.")
        yield from self.until_turn()


class Questions(ReviewCase):
    def test_every_kind_of_item_and_what_is_asked_hide_nothing(self) -> Steps:
        asked = self.panels()
        items: list[panels.Item] = [
            "a\u200b",
            ["b\u200b", "<b>\u200b"],
            sublime.QuickPanelItem("c\u200b", "<b>\u200b", "d\u200b"),
        ]
        self.begin(panels.ask_choice(self.window, items, "e\u200b"))
        label, rows, item = asked[0]["items"]
        self.assertEqual((label, rows), ("a<U+200B>", ["b<U+200B>", "<b><U+200B>"]))
        self.assertEqual((item.trigger, item.annotation), ("c<U+200B>", "d<U+200B>"))
        self.assertEqual(item.details, ["&lt;b&gt;&lt;U+200B&gt;"])
        self.assertEqual(asked[0]["placeholder"], "e<U+200B>")
        yield from self.until_turn()
