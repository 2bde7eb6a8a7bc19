"""The tab of a conversation: who may change what in it, and what comes of it."""

from __future__ import annotations

import os
import struct
import threading
import time
import unittest
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any
from unittest import mock

import sublime
from GeminiCompanion.companion.agent.turn_events import Content, TurnEvent
from GeminiCompanion.companion.base import file_content, regular_file
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.chat.rendered import Fold, Link, Mark, Patch, Picture, Rendered
from GeminiCompanion.companion.chat.transcript import Transcript
from GeminiCompanion.companion.ui import texts, wrapping
from GeminiCompanion.companion.ui.chat import drawn_transcript, pictures
from GeminiCompanion.companion.ui.chat.chat_tabs import ChatTabs
from GeminiCompanion.companion.ui.chat.chat_view import (
    COMPOSER,
    CONVERSATION,
    LEFT,
    TRANSCRIPT,
    UNSENT,
    ChatView,
)
from GeminiCompanion.companion.ui.chat.drawn import Misplaced, signature_of

from ..support import patched
from .adapter import AdapterTestCase, text_of
from .reviewing import Steps

try:
    from headless import running
except ImportError:
    running = None  # type: ignore[assignment]

TIME = datetime(2026, 1, 1, tzinfo=timezone.utc)


def png_of(width: int, height: int) -> bytes:
    """The beginning of an image with so many pixels."""
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)


class ChatViewCase(AdapterTestCase):
    def setUp(self) -> None:
        super().setUp()
        # The tab of these tests has one owner.
        patched(self, mock.patch.object(ChatTabs, "adopt_view"))
        self.typed: list[str] = []
        self.chat = self.adopt(self.window.new_file())
        self.view = self.chat.views[0]

    def adopt(
        self, view: sublime.View, draft: str | None = None, draft_at: float = 0.0
    ) -> ChatView:
        chat = ChatView(
            view,
            "c",
            draft,
            lambda chat_view: self.typed.append(chat_view.composer.text),
            draft_at=draft_at,
        )
        self.addCleanup(chat.close)
        return chat

    def append(self, text: str, block: str = "b", **more: Any) -> None:
        end = self.chat.document.size
        self.chat.draw_patches([Patch(block, end, end, Rendered(text, **more))])

    def append_picture(
        self, block: str, width: int = 640, height: int = 480, data: bytes = b""
    ) -> str:
        """A line that names a picture, in a block of its own; the path of its file, which has this
        data, or that of such a picture."""
        path = os.path.join(self.folder, block + ".png")
        with open(path, "wb") as file:
            file.write(data or png_of(width, height))
        text = f"→ {block}.png\n"
        picture = Picture(2, len(text) - 1, path, width, height, 24)
        self.append(text, block, pictures=(picture,))
        return path

    def pictures(self, view: sublime.View) -> list[tuple[str, str]]:
        """The lines that have pictures in this view, with their sizes."""
        found = []
        for phantom in running.current().view(view.id()).phantoms:
            if "<img" in phantom.content:
                line = view.substr(view.line(phantom.region[0]))
                found.append(
                    (line, phantom.content[phantom.content.index("width=") :].partition(">")[0])
                )
        return sorted(found)

    def type(self, text: str) -> None:
        """As a person does, one character after the other."""
        for character in text:
            self.view.run_command("insert", {"characters": character})

    def at_end(self) -> None:
        self.select((self.view.size(),) * 2)

    def select(self, *regions: tuple[int, int]) -> None:
        self.view.sel().clear()
        self.view.sel().add_all([sublime.Region(*region) for region in regions])
        self.chat.composer.follow_carets(self.view)

    def until_parts(self, transcript: str, composer: str) -> Steps:
        """Until the view shows these, however late the editor tells of a change."""
        expected = transcript + COMPOSER + composer
        yield from self.until_equal(lambda: text_of(self.view), expected)

    def parts(self) -> tuple[str, str]:
        """The transcript and the composer as the view shows them."""
        transcript, line, composer = text_of(self.view).partition(COMPOSER)
        self.assertTrue(line)
        return transcript, composer


class Drawing(ChatViewCase):
    def test_what_is_typed_between_patches_stays_with_its_carets(self) -> None:
        self.at_end()
        for number in range(5):
            self.type(f"w{number} ")
            self.append(f"line {number}\n")
        self.assertEqual(
            self.parts(), ("".join(f"line {n}\n" for n in range(5)), "w0 w1 w2 w3 w4 ")
        )
        self.assertEqual(self.view.sel()[0].a, self.view.size())
        self.assertEqual(self.typed[-1], "w0 w1 w2 w3 w4 ")

    def test_a_selection_in_the_composer_survives_a_patch(self) -> None:
        self.at_end()
        self.type("abc")
        start = self.chat.composer.start
        self.select((start, start + 2), (start + 3, start + 3))
        self.append("more\n")
        start = self.chat.composer.start
        regions = [(region.a, region.b) for region in self.view.sel()]
        self.assertEqual(regions, [(start, start + 2), (start + 3, start + 3)])

    def test_marks_follow_their_block_and_go_with_it(self) -> None:
        self.append("one\n", "a", marks=(Mark("error", 0, 3),))
        self.append("two\n", "b", marks=(Mark("error", 0, 3),))
        self.chat.draw_patches([Patch("a", 0, 0, Rendered("first\n"))])
        key = "gemini_companion_chat_{}_error"
        self.assertEqual(self.view.get_regions(key.format(1)), [sublime.Region(6, 9)])
        self.assertEqual(self.view.get_regions(key.format(2)), [sublime.Region(10, 13)])
        self.chat.draw_patches([Patch("a", 6, 10, Rendered("fine\n"))])
        self.assertEqual(self.view.get_regions(key.format(1)), [])

    def test_what_the_user_has_unfolded_is_not_folded_by_the_next_patch(self) -> None:
        self.append("call\noutput\n", folds=(Fold(5, 11),))
        self.assertTrue(self.view.is_folded(sublime.Region(5, 11)))
        self.chat.draw_patches(
            [Patch("b", 0, 12, Rendered("done\noutput\n", folds=(Fold(5, 11),)))]
        )
        self.assertTrue(self.view.is_folded(sublime.Region(5, 11)))
        self.view.unfold(sublime.Region(0, self.view.size()))
        self.chat.draw_patches(
            [Patch("b", 0, 12, Rendered("told\noutput\n", folds=(Fold(5, 11),)))]
        )
        self.assertFalse(self.view.is_folded(sublime.Region(5, 11)))

    def test_the_end_is_followed_while_it_is_in_sight_and_not_otherwise(self) -> None:
        self.append("".join(f"line {number}\n" for number in range(300)))
        self.view.show(self.view.size())
        self.append("".join(f"more {number}\n" for number in range(100)))
        self.assertTrue(self.view.visible_region().contains(self.view.size()))
        self.view.set_viewport_position((0.0, 500.0), False)
        self.append("".join(f"more {number}\n" for number in range(100)))
        self.assertEqual(self.view.viewport_position(), (0.0, 500.0))

    def split(self, upper: float) -> None:
        """Leave the group of the chat this part of the window."""
        self.addCleanup(self.window.set_layout, self.window.layout())
        cells = [[0, 0, 1, 1], [0, 1, 1, 2]]
        self.window.set_layout({"cols": [0, 1], "rows": [0, upper, 1], "cells": cells})

    def sees_end(self) -> bool:
        return self.view.visible_region().contains(self.view.size())

    def test_the_end_stays_in_sight_when_a_review_takes_half_of_the_room(self) -> None:
        self.append("".join(f"line {number}\n" for number in range(300)))
        self.view.show(self.view.size())
        self.chat.show_state()
        self.split(0.5)
        self.assertFalse(self.sees_end())
        self.chat.show_state()
        self.assertTrue(self.sees_end())
        self.view.set_viewport_position((0.0, 500.0), False)
        self.chat.show_state()
        self.split(0.3)
        self.chat.show_state()
        self.assertEqual(self.view.viewport_position(), (0.0, 500.0))

    def test_an_answer_is_followed_though_the_view_got_smaller_just_before(self) -> None:
        self.append("".join(f"line {number}\n" for number in range(300)))
        self.view.show(self.view.size())
        self.append("one\n")
        self.split(0.5)
        self.append("two\n")
        self.assertTrue(self.sees_end())

    def test_what_is_read_stays_in_its_place_when_something_above_it_grows(self) -> None:
        self.append("call\n", "a")
        self.append("".join(f"line {number}\n" for number in range(300)))
        self.view.set_viewport_position((0.0, 500.0), False)
        first = self.view.substr(self.view.line(self.view.visible_region().begin()))
        self.chat.draw_patches([Patch("a", 5, 5, Rendered("output\n" * 40))])
        now = self.view.substr(self.view.line(self.view.visible_region().begin()))
        self.assertEqual(now, first)

    def test_a_patch_reads_as_much_of_a_long_transcript_as_of_a_short_one(self) -> None:
        read = sublime.View.substr
        sizes: list[int] = []

        def counted(view: sublime.View, part: Any) -> str:
            # Without what it reads of the composer.
            sizes.append(max(0, min(part.end(), self.chat.composer.start) - part.begin()))
            return read(view, part)

        # When they are told is no matter here.
        self.play(text_event_delay=None)
        self.at_end()
        costs = []
        for rows in (100, 20_000):
            self.append("".join(f"line {number}\n" for number in range(rows)), f"b{rows}")
            with mock.patch.object(sublime.View, "substr", counted):
                sizes.clear()
                self.append("one more\n", f"c{rows}")
                self.type("x")
                costs.append((len(sizes), sum(sizes)))
        self.assertEqual(costs[0], costs[1])
        self.assertGreater(costs[0][0], 0)

    def test_a_transcript_that_is_loaded_again_replaces_only_what_differs(self) -> None:
        self.append("one\ntwo\n")
        self.at_end()
        self.type("mine")
        count = self.view.change_count()
        self.chat.reset_transcript([Patch("x", 0, 0, Rendered("one\ntwo\n"))])
        self.assertEqual(self.view.change_count(), count)
        self.chat.reset_transcript([Patch("x", 0, 0, Rendered("one\n2\n"))])
        self.assertEqual(self.parts(), ("one\n2\n", "mine"))


@unittest.skipIf(running is None, "nobody can ask a real editor for its phantoms")
class ShownPictures(ChatViewCase):
    def test_a_picture_stands_below_its_line_and_is_made_smaller_only(self) -> Steps:
        self.append_picture("large", 4_800, 2_400)
        self.append_picture("high", 10, 3_200)
        self.append_picture("small", 8, 6)
        room = int(self.view.viewport_extent()[0]) - 32
        width = min(480, room)
        expected = [
            ("→ high.png", 'width="1" height="320"'),
            ("→ large.png", f'width="{width}" height="{width // 2}"'),
            ("→ small.png", 'width="8" height="6"'),
        ]
        yield from self.until_equal(lambda: self.pictures(self.view), expected)

    def test_one_whose_block_is_drawn_anew_is_there_once(self) -> Steps:
        path = self.append_picture("a", 8, 6)
        yield lambda: self.pictures(self.view)
        again = Rendered("→ now.png\n", pictures=(Picture(2, 9, path, 8, 6, 24),))
        self.chat.draw_patches([Patch("a", 0, len("→ a.png\n"), again)])
        yield from self.until_equal(
            lambda: self.pictures(self.view), [("→ now.png", 'width="8" height="6"')]
        )

    def names(self) -> list[str]:
        return [line for line, _size in self.pictures(self.view)]

    def until_read(self) -> Steps:
        """Until as much was drawn as will be: the one that is read last is there."""
        self.append_picture("z", 1, 1)
        yield lambda: "→ z.png" in self.names()

    def test_all_that_are_drawn_are_bounded_in_number_and_the_last_ones_stay(self) -> Steps:
        patched(self, mock.patch.object(pictures, "MAX_COUNT", 3))
        for number in range(5):
            self.append_picture(f"p{number}")
        yield from self.until_equal(self.names, ["→ p2.png", "→ p3.png", "→ p4.png"])
        yield from self.until_read()
        self.assertEqual(self.names(), ["→ p3.png", "→ p4.png", "→ z.png"])

    def test_all_that_are_drawn_are_bounded_in_pixels(self) -> Steps:
        for number in range(8):
            self.append_picture(f"p{number}", 4_000, 4_000)
        shown = ["→ p4.png", "→ p5.png", "→ p6.png", "→ p7.png"]
        yield from self.until_equal(self.names, shown)
        yield from self.until_read()
        self.assertEqual(self.names(), [*shown[1:], "→ z.png"])

    def test_those_of_one_block_are_bounded_too_and_a_file_is_drawn_once(self) -> Steps:
        path = self.append_picture("a", 8, 6)
        several = [Picture(2 + 8 * at, 7 + 8 * at, path, 8, 6, 24) for at in range(3)]
        self.append("".join(f"→ {at}.png\n" for at in "123"), "several", pictures=tuple(several))
        yield from self.until_equal(self.names, ["→ 3.png"])
        yield from self.until_read()
        self.assertEqual(self.names(), ["→ 3.png", "→ z.png"])

    def test_one_file_is_read_at_a_time(self) -> Steps:
        begun: list[Answer[str]] = []

        def begin_work(_work: Any, _late: str) -> Answer[str]:
            begun.append(Answer())
            return begun[-1]

        patched(self, mock.patch.object(pictures, "in_time", begin_work))
        for number in range(3):
            self.append_picture(f"p{number}")
        for number in range(3):
            yield lambda count=number + 1: len(begun) >= count
            self.assertEqual(len(begun), number + 1)
            begun[-1].give("")

    def test_a_file_that_is_gone_or_has_something_else_shows_nothing(self) -> Steps:
        os.remove(self.append_picture("a"))
        self.append_picture("b", data=b"<svg/>")
        self.append_picture("many", data=png_of(60_000, 60_000))
        self.append_picture("c", 8, 6)
        yield from self.until_equal(
            lambda: self.pictures(self.view), [("→ c.png", 'width="8" height="6"')]
        )

    def test_those_behind_one_whose_disk_does_not_answer_are_drawn(self) -> Steps:
        is_asked, disk = threading.Event(), threading.Event()
        self.addCleanup(disk.set)

        def read_slowly(path: str, most: int) -> bytes:
            if path.endswith("a.png"):
                is_asked.set()
                disk.wait()
            return regular_file.read_regular(path, most)

        patched(self, mock.patch.object(pictures, "read_regular", read_slowly))
        with mock.patch.object(file_content, "PATIENCE", 0.1):
            self.append_picture("a")
            yield is_asked.is_set
        self.append_picture("b", 8, 6)
        yield from self.until_equal(self.names, ["→ b.png"])

    def test_clones_show_it_once_and_the_one_that_stays_keeps_it(self) -> Steps:
        running.current().switches.phantoms_of_buffer = True
        self.append_picture("a", 8, 6)
        yield lambda: self.pictures(self.view)
        self.window.run_command("clone_file")
        clone = self.window.active_view()
        self.chat.decorate_view(clone)
        shown = [("→ a.png", 'width="8" height="6"')]
        yield from self.until_equal(lambda: self.pictures(clone), shown)
        self.chat.leave_view(self.view)
        self.view.close()
        yield from self.until_equal(lambda: self.pictures(clone), shown)
        stale = [phantom.is_stale for phantom in running.current().view(clone.id()).phantoms]
        self.assertNotIn(True, stale)

    def test_who_sees_the_end_goes_on_seeing_it(self) -> Steps:
        self.append("line\n" * 200)
        self.at_end()
        self.view.show(self.view.size())
        for late in (False, True):
            running.current().switches.phantom_heights_late = late
            self.append_picture(f"p{late}")
            yield from self.until_equal(lambda: len(self.pictures(self.view)), 1 + late)
            yield lambda: self.view.visible_region().end() >= self.view.size()

    def test_none_is_left_behind_by_an_unload(self) -> Steps:
        self.append_picture("a")
        yield lambda: self.pictures(self.view)
        self.chat.close(is_unload=True)
        self.assertEqual(self.pictures(self.view), [])


class LongTranscripts(ChatViewCase):
    """Of 2,000 blocks, every third with a fold and a mark."""

    def setUp(self) -> None:
        super().setUp()
        self.blocks = [_block(number) for number in range(2_000)]
        self.text = "".join(block.rendered.text for block in self.blocks)

    def steps(self) -> list[int]:
        """How many blocks are drawn by each step until all are."""
        counts = [self.chat.document.count]
        while not self.chat.is_whole:
            self.chat.go_on()
            counts.append(self.chat.document.count)
        return [late - early for early, late in zip(counts, counts[1:])]

    def test_the_end_is_there_at_once_and_the_rest_in_parts_of_a_few_blocks(self) -> None:
        self.chat.reset_transcript(self.blocks)
        transcript, _ = self.parts()
        self.assertTrue(transcript)
        self.assertTrue(self.text.endswith(transcript))
        self.assertLessEqual(self.chat.document.count, drawn_transcript.BLOCKS)
        self.assertTrue(self.view.visible_region().contains(self.view.size()))
        self.assertLessEqual(max(self.steps()), drawn_transcript.BLOCKS)
        self.assertEqual(self.parts(), (self.text, ""))
        self.assertTrue(self.view.visible_region().contains(self.view.size()))

    def test_it_has_the_marks_folds_and_links_of_one_that_was_drawn_bit_by_bit(self) -> None:
        self.chat.reset_transcript(self.blocks[:700])
        self.steps()
        other = self.window.new_file()
        chat = ChatView(other, "d", None, lambda _: None)
        self.addCleanup(chat.close)
        chat.draw_patches(self.blocks[:700])
        self.assertEqual(self.view.folded_regions(), other.folded_regions())
        marked = [self.chat.document.links_at(place) for place in range(0, 20_000, 7)]
        self.assertEqual(marked, [chat.document.links_at(place) for place in range(0, 20_000, 7)])
        self.assertEqual(_regions(self.view, 700), _regions(other, 700))
        self.assertEqual(len(_regions(other, 700)), 700 // 3 + 1)

    def test_what_a_restored_tab_has_already_is_not_written_again(self) -> None:
        self.chat.reset_transcript(self.blocks)
        self.steps()
        self.chat.close()
        self.chat = self.adopt(self.view, "mine", time.time() + 60)
        count = self.view.change_count()
        self.chat.reset_transcript(self.blocks)
        self.assertLessEqual(max(self.steps()), drawn_transcript.BLOCKS)
        self.assertEqual(self.view.change_count(), count)
        more = _block(len(self.blocks), len(self.text))
        self.chat.reset_transcript([*self.blocks, more])
        self.assertEqual(self.view.change_count(), count + 1)
        self.steps()
        self.assertEqual(self.parts(), (self.text + more.rendered.text, "mine"))
        self.assertEqual(self.view.change_count(), count + 1)

    def test_a_restored_tab_with_another_text_shows_the_transcript(self) -> None:
        middle = self.blocks[1_000].start
        for damaged in (self.text[:middle], self.text[middle:], "x" + self.text[1:], "other\n"):
            self.chat.close()
            self.view.set_read_only(False)
            texts.pending.put_parts(
                self.view, [(sublime.Region(0, self.view.size()), damaged + COMPOSER + "mine")]
            )
            self.view.settings().erase(TRANSCRIPT)
            self.chat = self.adopt(self.view)
            self.chat.reset_transcript(self.blocks)
            self.steps()
            self.assertEqual(self.parts(), (self.text, "mine"))

    def test_patches_that_come_meanwhile_are_in_their_places(self) -> None:
        self.chat.reset_transcript(self.blocks)
        size = len(self.text)
        self.chat.draw_patches([Patch("new", size, size, Rendered("more\n"))])
        self.assertEqual(self.parts()[0][-5:], "more\n")
        self.assertFalse(self.chat.is_whole)
        # What is not there yet comes before it is changed.
        first = self.blocks[4]
        end = first.start + len(first.rendered.text)
        self.chat.draw_patches([Patch(first.block, first.start, end, Rendered("changed\n"))])
        self.steps()
        wanted = self.text[: first.start] + "changed\n" + self.text[end:] + "more\n"
        self.assertEqual(self.parts()[0], wanted)

    def test_what_is_read_meanwhile_stays_in_its_place(self) -> None:
        self.chat.reset_transcript(self.blocks)
        self.view.set_viewport_position((0.0, 500.0), False)
        point = self.view.visible_region().begin()
        first = self.view.substr(self.view.line(point))
        self.steps()
        now = self.view.substr(self.view.line(self.view.visible_region().begin()))
        self.assertEqual(now, first)

    def test_a_clone_gets_its_marks_in_parts(self) -> None:
        self.chat.reset_transcript(self.blocks[:700])
        self.steps()
        self.window.focus_view(self.view)
        self.window.run_command("clone_file")
        clone = self.window.active_view()
        self.chat.decorate_view(clone)
        found = len(_regions(clone, 700))
        self.assertGreater(found, 0)
        self.assertLessEqual(found, drawn_transcript.BLOCKS)
        self.steps()
        self.assertEqual(_regions(clone, 700), _regions(self.view, 700))

    def test_marks_of_a_transcript_that_is_gone_go_with_it(self) -> None:
        self.chat.reset_transcript(self.blocks[:700])
        self.steps()
        self.chat.reset_transcript([Patch("x", 0, 0, Rendered("one\n"))])
        self.steps()
        self.assertEqual(_regions(self.view, 2_000), [])

    def test_blocks_with_gaps_between_them_are_refused(self) -> None:
        for bad in (
            [self.blocks[0], self.blocks[2]],
            self.blocks[1:],
            [self.blocks[0], replace(self.blocks[1], start=0)],
        ):
            with self.assertRaises(Misplaced):
                self.chat.reset_transcript(bad)
                self.steps()


def _block(number: int, start: int | None = None) -> Patch:
    text = f"call {number:06}\noutput of {number:06}\n"
    start = number * len(text) if start is None else start
    if number % 3:
        return Patch(f"b{number}", start, start, Rendered(text))
    marks, links = (Mark("error", 0, 4),), (Link(5, 11, "open_file", "{}"),)
    return Patch(f"b{number}", start, start, Rendered(text, marks, (Fold(11, 27),), links))


def _regions(view: sublime.View, most: int) -> list[sublime.Region]:
    """The errors that are marked."""
    keys = (f"gemini_companion_chat_{number}_error" for number in range(most + 1))
    return sorted(
        (region for key in keys for region in view.get_regions(key)),
        key=lambda region: region.begin(),
    )


class Protection(ChatViewCase):
    def setUp(self) -> None:
        super().setUp()
        self.append("said\nanswered\n")
        self.at_end()
        self.type("mine")

    def test_carets_outside_the_composer_change_nothing(self) -> Steps:
        for regions in (
            ((0, 4),),
            ((2, 2),),
            ((2, self.view.size()),),
        ):
            with self.subTest(regions):
                self.chat.composer.write(self.view, "mine")
                self.select(*regions)
                for name in ("cut", "left_delete", "right_delete"):
                    self.view.run_command(name)
                yield from self.until_parts("said\nanswered\n", "mine")

    def test_what_is_written_over_a_selection_in_the_transcript_goes_to_the_composer(self) -> Steps:
        for regions in (((0, 4),), ((2, 2),), ((2, self.view.size()),)):
            with self.subTest(regions):
                self.chat.composer.write(self.view, "mine")
                self.select(*regions)
                self.type("xy")
                yield from self.until_parts("said\nanswered\n", "minexy")
                self.assertEqual(self.view.sel()[0].b, self.view.size())

    def test_a_patch_is_drawn_while_the_caret_is_in_the_transcript(self) -> None:
        self.select((0, 4))
        self.append("more\n")
        self.assertEqual(self.parts(), ("said\nanswered\nmore\n", "mine"))
        self.assertEqual([(region.a, region.b) for region in self.view.sel()], [(0, 4)])

    def test_what_another_plugin_changes_in_the_transcript_is_taken_back(self) -> Steps:
        size = self.view.size()
        for parts in (
            [((0, 4), "")],
            [((0, size), "")],
            [((8, size - 2), "")],
            [((self.chat.composer.start - 3, self.chat.composer.start), "")],
        ):
            with self.subTest(parts):
                self.at_end()
                texts.pending.put_parts(
                    self.view, [(sublime.Region(*region), text) for region, text in parts]
                )
                yield from self.until_parts("said\nanswered\n", "mine")

    def test_what_somebody_writes_in_the_transcript_and_the_composer_stays_in_the_composer(
        self,
    ) -> Steps:
        size = self.view.size()
        for parts, unsent in (
            ([((0, 0), "new")], "minenew"),
            ([((8, 8), "two\nlines\n")], "minetwo\nlines\n"),
            ([((1, 2), "-"), ((size - 2, size - 1), "-")], "mi-e-"),
            ([((0, 4), "new")], "minenew"),
            ([((9, size - 2), "words")], "minewords"),
            ([((1, 1), "+"), ((size - 2, size - 1), "-")], "mi-e+"),
        ):
            with self.subTest(parts):
                self.chat.composer.write(self.view, "mine")
                texts.pending.put_parts(
                    self.view, [(sublime.Region(*region), text) for region, text in parts]
                )
                yield from self.until_parts("said\nanswered\n", unsent)
                self.assertEqual(self.typed[-1], unsent)

    def test_what_is_typed_before_the_repair_is_kept(self) -> Steps:
        texts.pending.put_parts(self.view, [(sublime.Region(0, 4), "")])
        self.at_end()
        self.type("!")
        yield from self.until_parts("said\nanswered\n", "mine!")

    def test_text_that_another_plugin_appends_is_the_composers(self) -> None:
        self.select((0, 0))
        self.view.run_command("append", {"characters": " more"})
        self.assertEqual(self.parts(), ("said\nanswered\n", "mine more"))


@unittest.skipIf(running is None, "nobody can tell a real editor what to do")
class AtItsWorst(ChatViewCase):
    def test_what_is_selected_is_drawn_where_only_commands_are(self) -> None:
        self.play(selections_drawn_late=True)
        self.at_end()
        self.type("mine")
        self.chat.composer.select_all(self.view)
        state = running.current().view(self.view.id())
        self.assertEqual(state.drawn_selection, [(self.chat.composer.start, self.view.size())])

    def test_what_is_put_at_a_caret_is_not_selected(self) -> None:
        self.play(replace_selects=True)
        self.at_end()
        texts.pending.put_parts(self.view, [(self.view.sel()[0], "put")])
        self.type("!")
        self.assertEqual(self.parts()[1], "put!")

    def test_lines_of_a_users_tab_that_stay_are_not_touched(self) -> None:
        view = self.window.new_file()
        texts.replace_view_text(view, "one\ntwo\nthree\nfour\n")
        texts.select_ranges(view, [(5, 5)])
        self.assertTrue(texts.replace_theirs(view, "ONE\ntwo\nthree\nFOUR\n"))
        self.assertEqual([(region.a, region.b) for region in view.sel()], [(5, 5)])

    def test_east_asian_characters_are_as_wide_as_two_others(self) -> None:
        self.assertEqual(
            [wrapping.cell_width(text) for text in ("ab", "\u4f60b", "e\u0301")], [2, 3, 1]
        )
        self.assertEqual(len(wrapping.text_pieces("\u4f60" * 5, 4)), 3)


@unittest.skipIf(running is None, "nobody can tell a real editor when to tell of changes")
class ToldLate(ChatViewCase):
    """The editor tells of changes after the command, of several at once, and of ours among them."""

    def setUp(self) -> None:
        super().setUp()
        switches = running.current().switches
        self.addCleanup(setattr, switches, "text_event_delay", switches.text_event_delay)

    def tell_after(self, delay: float) -> None:
        running.current().switches.text_event_delay = (delay, delay)

    def test_no_key_is_lost_and_no_word_of_the_agent_comes_into_the_composer(self) -> Steps:
        for delay in (0.0, 1.0, 1_000_000.0):
            with self.subTest(delay=delay):
                self.tell_after(delay)
                self.chat.composer.write(self.view, "")
                said, typed = self.chat.document.text, ""
                self.at_end()
                for number in range(60):
                    letter = "abcdefg "[number % 8]
                    self.type(letter)
                    typed += letter
                    if number % 3 == 0:
                        self.append(f"text {number}\n", f"{delay} {number}")
                        said += f"text {number}\n"
                    if number % 5 == 0:
                        yield from self.until_turn()
                self.assertEqual(self.parts(), (said, typed))
                self.assertEqual(self.chat.composer.text, typed)
                self.assertEqual(self.typed[-1], typed)

    def test_what_is_undone_or_written_counts_from_what_was_typed_last(self) -> None:
        self.tell_after(1_000_000.0)
        self.at_end()
        self.type("one two")
        self.chat.composer.insert(self.view, "three")
        self.assertEqual(self.parts()[1], "one two three")
        self.chat.catch_up()
        self.type("\n!")
        self.chat.composer.undo(self.view)
        self.assertEqual(self.parts()[1], "one two three")

    def test_what_is_typed_right_before_an_unload_is_known_as_the_views_own(self) -> None:
        self.tell_after(1_000_000.0)
        self.at_end()
        self.type("older")
        self.chat.close(is_unload=True)
        later = time.time() + 60
        self.assertEqual(self.adopt(self.view, "newer", later).composer.text, "newer")
        self.assertEqual(self.typed[0], "older")

    def test_damage_of_another_plugin_is_repaired_before_the_next_patch(self) -> None:
        self.append("said\n")
        self.tell_after(1_000_000.0)
        self.at_end()
        self.type("mine")
        texts.pending.put_parts(self.view, [(sublime.Region(0, 0), "theirs ")])
        self.append("more\n", "c")
        self.assertEqual(self.parts(), ("said\nmore\n", "minetheirs "))


class TypedBefore(ChatViewCase):
    """What is typed into a tab before the package looks at it."""

    def test_it_stays_beside_the_draft(self) -> None:
        self.append("said\n")
        self.at_end()
        self.type("draft")
        self.chat.close()
        self.type(" and more")
        for draft, unsent in (
            ("draft", "draft and more"),
            (None, "draft and more"),
            ("draft and more, typed later", "draft and more, typed later"),
            ("draft of a newer state", "draft of a newer state\ndraft and more"),
            ("draft and even more", "draft and even more"),
            ("draft andmore", "draft and more"),
        ):
            with self.subTest(draft):
                view = self.window.new_file()
                for name in (CONVERSATION, UNSENT):
                    view.settings().set(name, self.view.settings().get(name))
                view.run_command("append", {"characters": text_of(self.view)})
                later = time.time() + 60
                self.assertEqual(self.adopt(view, draft, later).composer.text, unsent)

    def test_of_what_the_editor_restores_and_the_draft_the_newer_one_counts(self) -> None:
        self.type("one two")
        self.chat.catch_up()
        self.chat.close()
        for seconds, unsent in ((60, "newer, or shorter"), (-60, "one two")):
            view = self.window.new_file()
            view.run_command("append", {"characters": text_of(self.view)})
            for name in (CONVERSATION, UNSENT):
                view.settings().set(name, self.view.settings().get(name))
            chat = self.adopt(view, "newer, or shorter", time.time() + seconds)
            self.assertEqual(chat.composer.text, unsent)

    def test_an_older_draft_of_what_was_typed_before_a_crash_does_not_come_back_beside_it(
        self,
    ) -> None:
        self.type("one two")
        self.chat.catch_up()
        self.chat.close()
        # Sublime Text has kept more than the package has seen.
        self.type("!")
        chat = self.adopt(self.view, "one too", time.time() - 60)
        self.assertEqual(chat.composer.text, "one two!")

    def test_after_an_unload_it_counts_more_than_a_draft_that_is_not_on_disk_yet(self) -> None:
        self.type("mine and more")
        self.chat.close(is_unload=True)
        self.assertEqual(self.adopt(self.view, "mine").composer.text, "mine and more")

    def test_after_an_unload_it_counts_less_than_a_draft_that_was_typed_later(self) -> None:
        self.type("older")
        self.chat.close(is_unload=True)
        later = time.time() + 60
        self.assertEqual(self.adopt(self.view, "newer", later).composer.text, "newer")

    def test_the_next_load_ends_what_an_unload_has_left_on_all_views(self) -> None:
        self.window.focus_view(self.view)
        self.window.run_command("clone_file")
        clone = self.window.active_view()
        self.type("mine")
        self.chat.close(is_unload=True)
        self.assertTrue(clone.settings().has(LEFT))
        self.adopt(self.view, "mine")
        self.assertEqual([each.settings().has(LEFT) for each in (self.view, clone)], [False, False])


SAID = "▏ Gemini\nThe answer is two.\n\nMore of it.\n"
LINE_AT = len(SAID)


class TypedAbove(ChatViewCase):
    """What is typed above the composer before the package looks at the tab."""

    def left(self, *selected: tuple[int, int]) -> None:
        """The package has left a tab with a draft; these are selected there."""
        self.chat.reset_transcript([Patch("b", 0, 0, Rendered(SAID))])
        self.at_end()
        self.type("draft")
        self.chat.catch_up()
        self.chat.close()
        self.view.sel().clear()
        self.view.sel().add_all([sublime.Region(*region) for region in selected])

    def restored(self) -> None:
        """The tab as the editor brings it back: texts, settings and carets."""
        old, self.view = self.view, self.window.new_file()
        for name in (CONVERSATION, UNSENT, TRANSCRIPT):
            self.view.settings().set(name, old.settings().get(name))
        self.view.run_command("append", {"characters": text_of(old)})
        self.view.sel().clear()
        self.view.sel().add_all(list(old.sel()))

    def come(self, draft: str | None = "draft") -> None:
        """The package comes."""
        self.chat.close()
        self.chat = self.adopt(self.view, draft)

    def read(self, text: str = SAID) -> None:
        """The transcript comes."""
        self.chat.reset_transcript([Patch("b", 0, 0, Rendered(text))])

    def test_one_text_is_in_the_composer_at_once_wherever_it_was_typed(self) -> None:
        rows = "first\n\nsecond\n"
        for where, at, words in (
            ("in a row", 15, "hello world"),
            ("at the very beginning", 0, "hello"),
            ("at the end of a row", 8, "\nhello"),
            ("just above the line", LINE_AT, "hello"),
            ("a row just above the line", LINE_AT, "hello\n"),
            ("rows within a row", 15, rows),
            ("rows between rows", 9, rows),
            ("the same as what stands there", 9, "The answer is two.\n"),
        ):
            for is_new in (False, True):
                with self.subTest(where, is_new=is_new):
                    self.left((at, at))
                    self.view.run_command("insert", {"characters": words})
                    if is_new:
                        self.restored()
                    self.come()
                    self.assertEqual(self.parts(), (SAID, f"draft\n{words}"))
                    # Who was typing goes on.
                    self.type("!")
                    self.read()
                    self.assertEqual(self.parts(), (SAID, f"draft\n{words}!"))
                    self.chat.composer.write(self.view, "")

    def test_what_took_the_place_of_something_comes_with_the_transcript(self) -> None:
        for where, selected, words in (
            ("a selection in a row", [(13, 19)], "word"),
            ("a selection over rows", [(9, LINE_AT - 2)], "word"),
            ("in two places", [(3, 3), (15, 15)], "ab"),
            ("a selection up to the line", [(15, LINE_AT)], "word"),
            ("a selection over the line", [(15, LINE_AT + len(COMPOSER) + 2)], "word"),
            ("within the line", [(LINE_AT + 9, LINE_AT + 9)], "word"),
        ):
            with self.subTest(where):
                self.left(*selected)
                self.view.run_command(
                    "insert", {"characters": words if len(selected) == 1 else words[0]}
                )
                if len(selected) > 1:
                    words = words[0] * 2
                self.come()
                self.type("!")
                self.read()
                self.assertEqual(self.parts(), (SAID, f"draft\n{words}!"))
                self.chat.composer.write(self.view, "")

    def test_it_comes_as_well_if_the_package_goes_again_before_the_transcript(self) -> None:
        self.left((13, 19))
        self.type("word")
        for typed in ("", "!", "!?"):
            self.come("draft" + typed)
            self.type("!?"[len(typed) :][:1])
            self.chat.catch_up()
        self.read()
        self.assertEqual(self.parts(), (SAID, "draft!?\nword"))

    def test_without_a_draft_it_is_beside_what_is_in_the_view(self) -> None:
        self.left((15, 15))
        self.type("hello")
        self.come(draft=None)
        self.read()
        self.assertEqual(self.parts(), (SAID, "draft\nhello"))

    def test_a_transcript_that_nobody_typed_into_is_replaced(self) -> None:
        self.left((15, 15))
        self.come()
        self.read("▏ Gemini\nAnother answer.\n")
        self.assertEqual(self.parts(), ("▏ Gemini\nAnother answer.\n", "draft"))

    def test_of_a_tab_that_an_older_version_has_left_nothing_is_taken(self) -> None:
        self.left((15, 15))
        self.type("hello")
        self.view.settings().erase(TRANSCRIPT)
        self.come()
        self.read()
        self.assertEqual(self.parts(), (SAID, "draft"))

    def test_the_signature_is_that_of_the_text_after_each_patch(self) -> None:
        for block, start, end, text in (
            ("a", 0, 0, "one\ntwo\n"),
            ("a", 5, 7, "en thousand\nand thr"),
            ("b", 25, 25, "last\n"),
            ("a", 3, 25, "\n"),
            ("a", 4, 4, "\nmore\n"),
            ("a", 0, 4, ""),
            ("b", 6, 11, ""),
        ):
            self.chat.draw_patches([Patch(block, start, end, Rendered(text))])
            expected = signature_of(self.chat.document.text)
            self.assertEqual(self.view.settings().get(TRANSCRIPT), expected)


class Undo(ChatViewCase):
    def test_undo_and_redo_are_the_composers_alone(self) -> None:
        self.at_end()
        self.type("one ")
        self.append("answer\n")
        self.type("two")
        self.append("more\n")
        self.chat.composer.undo(self.view)
        self.assertEqual(self.parts(), ("answer\nmore\n", "one "))
        self.chat.composer.undo(self.view)
        self.assertEqual(self.parts(), ("answer\nmore\n", ""))
        self.chat.composer.undo(self.view)
        self.chat.composer.redo(self.view)
        self.chat.composer.redo(self.view)
        self.assertEqual(self.parts(), ("answer\nmore\n", "one two"))
        self.assertEqual(self.view.sel()[0].b, self.view.size())

    def test_an_undo_of_the_editors_own_takes_back_nothing_of_the_transcript(self) -> Steps:
        self.at_end()
        self.type("one")
        self.append("answer\n")
        self.view.run_command("undo")
        yield from self.until_turn()
        self.assertEqual(self.parts(), ("answer\n", "one"))


class Restored(ChatViewCase):
    def test_a_tab_that_was_there_before_keeps_transcript_and_unsent_text(self) -> None:
        self.append("said\n")
        self.at_end()
        self.type("mine")
        self.chat.close()
        self.chat = self.adopt(self.view)
        self.assertEqual(self.parts(), ("said\n", "mine"))
        self.chat.close()
        self.chat = self.adopt(self.view, "newer", time.time() + 60)
        self.assertEqual(self.parts(), ("said\n", "newer"))

    def test_an_answer_with_the_same_line_puts_nothing_into_the_composer(self) -> None:
        transcript = Transcript()
        answer = f"look:\n{COMPOSER}rm -rf /\n> {COMPOSER}rm\n"
        transcript.add_event(TurnEvent(1, TIME, "", "t", Content(answer, True)))
        patches = transcript.take_patches()
        self.chat.draw_patches(patches)
        self.at_end()
        for typed in ("", "mine\n" + COMPOSER + "too"):
            self.view.run_command("insert", {"characters": typed})
            self.chat.close()
            self.chat = self.adopt(self.view)
            self.assertEqual(self.chat.composer.text, typed)
            text = "".join(patch.rendered.text for patch in patches)
            self.assertEqual(self.chat.document.text, text)

    def test_a_tab_without_its_line_gets_it_again(self) -> None:
        view = self.window.new_file()
        view.run_command("append", {"characters": "what is left"})
        self.adopt(view, "mine")
        self.assertEqual(text_of(view), "what is left" + COMPOSER + "mine")

    def test_a_clone_shows_the_same(self) -> None:
        self.append("call\noutput\n", marks=(Mark("error", 0, 4),))
        self.window.focus_view(self.view)
        self.window.run_command("clone_file")
        clone = self.window.active_view()
        self.chat.decorate_view(clone)
        self.append("more\n", "c", marks=(Mark("error", 0, 4),))
        self.assertEqual(text_of(clone), "call\noutput\nmore\n" + COMPOSER)
        for view in (self.view, clone):
            regions = view.get_regions("gemini_companion_chat_2_error")
            self.assertEqual(regions, [sublime.Region(12, 16)])
        self.assertEqual(clone.settings().get(CONVERSATION), "c")
