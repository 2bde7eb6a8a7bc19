"""Edits for which the agent of a chat asks permission, in the review: shown, decided on there or in
the chat, and given back where nobody waits for them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
import threading
import unittest
from copy import copy
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Callable, Coroutine, Generator, Sequence, TypeVar
from unittest import mock

import sublime
from GeminiCompanion.companion.agent.open_files import NeedsUser, Saved, Withheld
from GeminiCompanion.companion.agent.turn_events import CANCEL, MODIFY, ONCE, Diff, Option
from GeminiCompanion.companion.agent.turn_undo import AS_LEFT, CHANGED, FileChange, FileTexts
from GeminiCompanion.companion.base import background
from GeminiCompanion.companion.base.answer import Answer, Unanswered
from GeminiCompanion.companion.base.file_content import Original
from GeminiCompanion.companion.chat.chat_update import (
    FAILED,
    STARTING,
    WORKING,
    UnaskedChange,
    UndoneTurn,
)
from GeminiCompanion.companion.chat.edit_requests import DecideEdits, TurnTexts
from GeminiCompanion.companion.chat.question import MOST_REVIEWS, PERMISSION, ChatQuestion
from GeminiCompanion.companion.chat.rendered import (
    OPEN_EDIT,
    STOP_SUBAGENT,
    Link,
    Patch,
    Rendered,
)
from GeminiCompanion.companion.chat.requests import Decide, StopSubagent
from GeminiCompanion.companion.edits.turn_edits import turn_id
from GeminiCompanion.companion.ide.sharing import Sharing
from GeminiCompanion.companion.ui import file_reading, sharing_settings
from GeminiCompanion.companion.ui.chat import asked_edits, edit_reviews, open_tabs
from GeminiCompanion.companion.ui.chat.chat_view import CONVERSATION
from GeminiCompanion.companion.ui.chat.drafts import Drafts
from GeminiCompanion.companion.ui.chat.edit_reviews import COMMAND_TOO, OVER
from GeminiCompanion.companion.ui.chat.leftover_reviews import KEPT
from GeminiCompanion.companion.ui.chat.question_sight import Sight
from GeminiCompanion.companion.ui.chat.section_sight import SectionSight
from GeminiCompanion.companion.ui.chat.turn_actions import NO_EDIT
from GeminiCompanion.companion.ui.chat.waiting_questions import WaitingQuestion
from GeminiCompanion.companion.ui.review import (
    comments,
    diff_kinds,
    ending,
    head,
    open_diffs,
    record,
    restoring,
)
from GeminiCompanion.companion.ui.review.queue import show_diff
from GeminiCompanion.companion.ui.user_messages import PREFIX

from ..support import PATIENCE
from .adapter import text_of
from .reviewing import Steps
from .test_chat_tabs import ChatCase, running
from .test_review_drawing import phantoms

T = TypeVar("T")
NEW = "one\ntwo\nthree\n"


class EditCase(ChatCase):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.write("a.txt", "one\n")
        self.question = self.asks(Diff(self.path, "one\n", NEW))

    def tearDown(self) -> Generator[Any, Any, None]:
        # Nothing waits for a decision any more.
        for _request, answer in self.service.asked:
            answer.give(())
        yield from self.until_turn()
        for view in [
            each for each in self.window.views() if each.file_name() or OVER in each.name()
        ]:
            view.set_scratch(True)
            view.close()
        yield from super().tearDown()

    def asks(self, *diffs: Diff, id: str = "call") -> ChatQuestion:
        options = (Option(ONCE, "Allow"), Option(CANCEL, "Reject"))
        return ChatQuestion(PERMISSION, "turn", id, "WriteFile", "", options, diffs, is_edit=True)

    def wait_for(self, *questions: ChatQuestion) -> Steps:
        self.view = yield from self.chat()
        yield from self.waits(*questions)

    def waits(self, *questions: ChatQuestion, **members: Any) -> Steps:
        members = {"state": WORKING, "agent_name": "Agent", **members}
        yield from self.update(self.view, waiting=questions, **members)

    def rights(self) -> list[sublime.View]:
        there = [view for view, _record in open_diffs.undecided_diffs(self.window)]
        views = {view.id(): view for view in (*self.window.views(), *there)}.values()
        found = [(view, record.waiting_record(view)) for view in views]
        return [view for view, each in found if each is not None and each.chat]

    def right(self, name: str = "a.txt") -> Generator[Any, Any, sublime.View]:
        def found() -> Sequence[sublime.View]:
            paths = [record.waiting_record(right).path for right in self.rights()]  # type: ignore[union-attr]
            pairs = zip(self.rights(), paths)
            return [view for view, path in pairs if os.path.basename(path) == name]

        yield found
        view = found()[0]
        yield from self.until_computed(view)
        return view

    def asked_right(self, typed: str = "") -> Generator[Any, Any, sublime.View]:
        """The right side for the question in a new chat, once the user has typed there."""
        yield from self.wait_for(self.question)
        right = yield from self.right()
        if typed:
            yield from self.typed(right, typed)
        return right

    def command(self, view: sublime.View, name: str) -> Steps:
        id = record.waiting_record(view).id  # type: ignore[union-attr]
        self.run_command(name, id=id)
        yield from self.until_turn()

    def sent(self) -> Generator[Any, Any, Any]:
        """The decision that is on its way."""
        yield lambda: self.service.asked
        return self.service.asked[-1][0]

    def until_allowed_as(self, text: str) -> Steps:
        """Until that is decided, for the one edit of the question."""
        request = yield from self.sent()
        edit = Diff(self.path, "one\n", text)
        self.assertEqual(request, DecideEdits(self.id, "call", MODIFY, (edit,)))

    def tabs(self) -> dict[str, str]:
        """The user's own tabs that were given back, with their texts."""
        found = [view for view in self.window.views() if OVER in view.name()]
        return {view.name(): text_of(view) for view in found}

    def until_given_back(self, text: str) -> Steps:
        """Until the user has this text alone in a tab."""
        yield lambda: self.tabs()
        self.assertEqual(list(self.tabs().values()), [text])

    def typed(self, view: sublime.View, text: str) -> Steps:
        view.run_command("append", {"characters": text})
        yield from self.until_computed(view)

    @property
    def id(self) -> str:
        return str(self.view.settings().get(CONVERSATION))

    def allow(self) -> None:
        """What follows from a link, a key or a command of the question."""
        chat = self.chats.tabs.chat_of(self.view)
        asked = WaitingQuestion(chat, self.question)  # type: ignore[arg-type]
        replies = self.chats.answering._replies
        self.running().stories.begin(replies.decide_call(asked, self.question.options[0]))

    def edits(self) -> Drafts:
        return self.running().chat_edits.reviews._typed


class Deciding(EditCase):
    def test_an_edit_that_waits_is_shown_beside_the_file(self) -> Steps:
        right = yield from self.asked_right()
        self.assertEqual(text_of(right), NEW)
        left = sublime.View(record.waiting_record(right).original_id)  # type: ignore[union-attr]
        self.assertEqual(text_of(left), "one\n")
        self.assertIn("Agent", right.name())
        self.assertEqual(self.service.asked, [])

    def test_accepting_allows_it_once(self) -> Steps:
        right = yield from self.asked_right()
        yield from self.command(right, "accept_diff")
        request = yield from self.sent()
        self.assertEqual(request, DecideEdits(self.id, "call", ONCE))
        yield lambda: not self.rights()

    def test_an_edit_that_the_agent_changes_is_reviewed_anew(self) -> Steps:
        yield from self.asked_right("mine\n")
        other = replace(self.asks(Diff(self.path, "one\n", "other\n")), revision="t.2")
        yield from self.waits(other)
        yield lambda: [text_of(right) for right in self.rights()] == ["other\n"]
        yield lambda: self.tabs()
        self.assertIn(NEW + "mine\n", self.tabs().values())
        yield from self.command(self.rights()[0], "accept_diff")
        request = yield from self.sent()
        self.assertEqual(request, DecideEdits(self.id, "call", ONCE, revision="t.2"))

    def test_a_review_that_was_in_front_for_a_moment_was_not_seen(self) -> Steps:
        yield from self.asked_right()
        running = self.running().chat_edits.reviews
        ((key, asked),) = running._asked.items()
        own = copy(running)
        own._was_on_top = set()
        own._asked = {key: replace(asked, seen=set())}
        in_front = {(key, self.path)}
        for looks, is_unseen in ((1, True), (2, False)):
            for front in (*[in_front] * looks, set()):
                with mock.patch.object(edit_reviews, "_on_top", lambda views, front=front: front):
                    own.look_at_reviews()
                    is_shown = own.shows_unseen(*key) if not front else None
            self.assertEqual(is_shown, is_unseen)

    def test_an_edit_that_stood_in_the_sheet_of_changes_for_a_while_was_seen(self) -> Steps:
        unseen = yield from self.unseen_after_sheet(
            Diff(self.path, "one\n", NEW), Diff(self.write("b.txt", "b\n"), "b\n", "c\n")
        )
        yield lambda: not unseen()

    def test_an_edit_whose_end_was_not_in_sight_in_the_sheet_was_not_seen(self) -> Steps:
        lines = "".join(f"line {number}\n" for number in range(500))
        long = self.write("b.txt", "b\n")
        # The review of the first one is in front, in another group; the third one has no tabs.
        first = Diff(self.write("c.txt", "c\n"), "c\n", "d\n")
        unseen = yield from self.unseen_after_sheet(
            first, Diff(long, "b\n", lines), Diff(self.path, "one\n", NEW)
        )
        yield lambda: unseen() == [long]
        sheet = self.window.active_view()
        end = sheet.rowcol(sheet.size())[0]
        looks: list[sublime.View] = []
        self.addCleanup(self.running().changes.sheets.looks.subscribe(looks.append))
        for row in (end, *range(0, end, 15)):
            looks.clear()
            sheet.show(sheet.text_point(row, 0), animate=False)
            yield lambda: len(looks) > 1
            # What a jump has passed over was not in sight.
            self.assertTrue(row < end or unseen() == [long])
        yield lambda: not unseen()

    def test_an_edit_that_was_in_sight_in_the_sheet_for_a_moment_was_not_seen(self) -> Steps:
        right = yield from self.asked_right()
        found = record.waiting_record(right)
        self.run_command("show_changes", show="tab")
        view = self.window.active_view()
        self.addCleanup(view.close)
        sheet = self.running().changes.sheets.sheet_of(view)
        yield lambda: "two" in text_of(view)
        now = 100.0
        sections = SectionSight(self.running().diffs.reviews, Sight(lambda: now))
        for seconds, was_read in ((0.0, False), (0.4, False), (0.2, True)):
            now += seconds
            sections.look_at(sheet, view)  # type: ignore[arg-type]
            self.assertEqual(sections.was_read(found), was_read)  # type: ignore[arg-type]
        sections.keep_only(())
        self.assertFalse(sections.was_read(found))  # type: ignore[arg-type]

    def test_an_edit_whose_review_is_still_to_open_was_not_seen(self) -> Steps:
        slow, disk = self.write("b.txt", "b\n"), Answer[None]()
        self.addCleanup(disk.give, None)
        read = file_reading.read_content

        async def read_slowly(path: str) -> Original:
            if path == slow:
                await disk
            return await read(path)

        with mock.patch.object(file_reading, "read_content", read_slowly):
            edits = Diff(self.path, "one\n", NEW), Diff(slow, "b\n", "c\n")
            yield from self.wait_for(self.asks(*edits))
            right = yield from self.right()
            self.window.focus_view(right)
            reviews = self.running().chat_edits.reviews
            self.assertEqual(reviews.unseen_paths(self.id, "call"), [slow])
            self.assertTrue(reviews.shows_unseen(self.id, "call"))
            disk.give(None)
            yield lambda: len(self.rights()) == len(edits)
            yield from self.right("b.txt")
        self.window.focus_view(self.rights()[-1])
        self.assertFalse(reviews.shows_unseen(self.id, "call"))

    def unseen_after_sheet(self, *diffs: Diff) -> Generator[Any, Any, Callable[[], list[str]]]:
        """Shows the sheet of the edits of a call; gives what gives the files that are unseen."""
        yield from self.wait_for(self.asks(*diffs))
        yield lambda: len(self.rights()) == len(diffs)
        self.run_command("show_changes", show="tab")
        view = self.window.active_view()
        self.addCleanup(view.close)
        yield lambda: text_of(view).count("\n## ") == len(diffs)
        return lambda: self.running().chat_edits.reviews.unseen_paths(self.id, "call")

    def test_an_answer_on_its_way_opens_no_second_review(self) -> Steps:
        right = yield from self.asked_right()
        yield from self.command(right, "accept_diff")
        yield from self.sent()
        yield from self.waits(self.question)
        yield from self.until_turn()
        self.assertEqual(self.rights(), [])

    def test_what_the_user_typed_is_what_is_to_be_written(self) -> Steps:
        right = yield from self.asked_right("four\n")
        yield from self.command(right, "accept_diff")
        yield from self.until_allowed_as(NEW + "four\n")

    def test_a_piece_of_a_file_is_shown_within_the_file(self) -> Steps:
        self.write("a.txt", "first\none\nlast\n")
        yield from self.wait_for(self.asks(Diff(self.path, "one", "two")))
        right = yield from self.right()
        self.assertEqual(text_of(right), "first\ntwo\nlast\n")
        yield from self.typed(right, "end\n")
        yield from self.command(right, "accept_diff")
        request = yield from self.sent()
        edit = Diff(self.path, "first\none\nlast\n", "first\ntwo\nlast\nend\n")
        self.assertEqual(request.edits, (edit,))

    def test_an_emptied_proposal_is_written_as_an_empty_file(self) -> Steps:
        right = yield from self.asked_right()
        right.run_command("select_all")
        right.run_command("left_delete")
        yield from self.until_computed(right)
        yield from self.command(right, "accept_diff")
        request = yield from self.sent()
        self.assertEqual(request.edits, (Diff(self.path, "one\n", ""),))

    def test_rejecting_denies_it_with_the_words_of_the_user(self) -> Steps:
        right = yield from self.asked_right()
        comments.add_comment(right, record.Comment(0, 0, "not like this"))
        yield from self.command(right, "reject_diff")
        request = yield from self.sent()
        self.assertEqual((request.outcome, request.edits), (CANCEL, ()))
        self.assertIn("not like this", request.note)

    def test_of_several_edits_those_that_are_accepted_are_written(self) -> Steps:
        other = self.write("b.txt", "b\n")
        both = Diff(self.path, "one\n", NEW), Diff(other, "b\n", "c\n")
        yield from self.wait_for(self.asks(*both))
        first, second = (yield from self.right()), (yield from self.right("b.txt"))
        yield from self.command(first, "accept_diff")
        yield lambda: len(self.rights()) == 1
        self.assertEqual(self.service.asked, [])
        yield from self.command(second, "reject_diff")
        request = yield from self.sent()
        self.assertEqual(request, DecideEdits(self.id, "call", MODIFY, both[:1]))

    def test_two_edits_of_one_file_are_one_review(self) -> Steps:
        self.write("a.txt", "first\none\nlast\n")
        both = Diff(self.path, "first", "1"), Diff(self.path, "last", "3")
        yield from self.wait_for(self.asks(*both))
        right = yield from self.right()
        self.assertEqual(text_of(right), "1\none\n3\n")
        yield from self.typed(right, "four\n")
        yield from self.command(right, "accept_diff")
        request = yield from self.sent()
        edit = Diff(self.path, "first\none\nlast\n", "1\none\n3\nfour\n")
        self.assertEqual(request, DecideEdits(self.id, "call", MODIFY, (edit,)))


class WithACommand(EditCase):
    """A call that would do more than its edits."""

    def setUp(self) -> None:
        super().setUp()
        self.question = replace(self.question, is_edit=False, text="make install")

    def accepted(self) -> Steps:
        right = yield from self.asked_right("four\n")
        yield from self.command(right, "accept_diff")
        yield lambda: f"{PREFIX}{COMMAND_TOO}" in self.sentences

    def test_is_not_allowed_where_its_command_is_not_shown(self) -> Steps:
        yield from self.accepted()
        yield from self.until_turn()
        self.assertEqual(self.service.asked, [])

    def test_is_allowed_once_if_that_is_pressed_twice(self) -> Steps:
        yield from self.asked_right("four\n")
        self.allow()
        self.allow()
        yield from self.until_allowed_as(NEW + "four\n")

    def test_is_not_allowed_in_the_review_after_allowing_it_in_the_chat_has_failed(self) -> Steps:
        right = yield from self.asked_right("four\n")

        async def fails(window: sublime.Window, view: sublime.View) -> bool:
            raise Unanswered("It failed.")

        self.replace(self.chats.answering._replies, "_accept", fails)
        self.allow()
        yield lambda: f"{PREFIX}It failed." in self.sentences
        yield from self.command(right, "accept_diff")
        yield lambda: f"{PREFIX}{COMMAND_TOO}" in self.sentences
        self.assertEqual(self.service.asked, [])

    def test_is_allowed_in_the_chat_with_what_was_accepted_in_the_review(self) -> Steps:
        yield from self.accepted()
        self.allow()
        yield from self.until_allowed_as(NEW + "four\n")

    def test_is_denied_in_the_review(self) -> Steps:
        right = yield from self.asked_right()
        yield from self.command(right, "reject_diff")
        request = yield from self.sent()
        self.assertEqual(request, DecideEdits(self.id, "call", CANCEL))

    def test_keeps_what_was_accepted_until_it_is_allowed(self) -> Steps:
        yield from self.accepted()
        self.assertEqual([draft[2] for draft in self.edits().other_drafts(())], [NEW + "four\n"])
        yield from self.waits()
        yield from self.until_given_back(NEW + "four\n")
        self.assertEqual(self.edits().other_drafts(()), [])


class GivenBack(EditCase):
    def test_what_was_typed_is_a_tab_when_the_question_is_answered_in_the_chat(self) -> Steps:
        yield from self.asked_right("four\n")
        yield from self.waits()
        yield from self.until_given_back(NEW + "four\n")
        self.assertEqual(self.rights(), [])

    def test_an_edit_in_which_nobody_typed_just_closes(self) -> Steps:
        yield from self.asked_right()
        yield from self.waits(state=FAILED, problem="It ended.")
        yield lambda: not self.rights()
        self.assertEqual(self.tabs(), {})

    def test_a_chat_that_is_being_found_again_ends_nothing(self) -> Steps:
        right = yield from self.asked_right()
        yield from self.waits(state=STARTING)
        yield from self.until_turn()
        self.assertEqual(self.rights(), [right])

    def test_a_text_that_did_not_reach_its_file_is_a_tab(self) -> Steps:
        right = yield from self.asked_right("four\n")
        yield from self.command(right, "accept_diff")
        yield from self.sent()
        self.service.asked[-1][1].give((self.path,))
        yield from self.until_given_back(NEW + "four\n")

    def test_a_text_that_is_in_its_file_is_no_tab(self) -> Steps:
        right = yield from self.asked_right("four\n")
        yield from self.command(right, "accept_diff")
        yield from self.sent()
        self.service.asked[-1][1].give(())
        yield from self.waits()
        yield from self.until_turn()
        self.running().chat_edits.leftovers.settle_all()
        yield from self.until_turn()
        self.assertEqual(self.tabs(), {})

    def test_a_text_that_the_agent_does_not_get_is_a_tab(self) -> Steps:
        right = yield from self.asked_right("four\n")
        yield from self.command(right, "accept_diff")
        yield from self.sent()
        self.service.asked[-1][1].fail(Unanswered("The engine ended."))
        yield lambda: "Gemini Companion: The engine ended." in self.sentences
        self.assertTrue(self.tabs())

    def test_one_accepted_text_of_several_is_a_tab_when_the_turn_is_cancelled(self) -> Steps:
        other = self.write("b.txt", "b\n")
        both = Diff(self.path, "one\n", NEW), Diff(other, "b\n", "c\n")
        yield from self.wait_for(self.asks(*both))
        first, _second = (yield from self.right()), (yield from self.right("b.txt"))
        yield from self.typed(first, "four\n")
        yield from self.command(first, "accept_diff")
        yield lambda: len(self.rights()) == 1
        yield from self.waits()
        yield lambda: self.tabs() and not self.rights()
        self.assertEqual(list(self.tabs().values()), [NEW + "four\n"])

    def test_a_review_from_before_a_restart_is_a_tab_with_what_was_typed_last(self) -> Steps:
        right = yield from self.asked_right("four\n")
        yield lambda: self.edits().other_drafts(())
        edits = self.running().chat_edits.reviews
        # What a restart leaves: the tab with an older text, and what was typed in a file.
        self.replace(edits, "_asked", {})
        edits.hear_typing(record.waiting_record(right), NEW + "five\n")  # type: ignore[arg-type]
        yield from self.until_given_back(NEW + "five\n")
        self.assertEqual(self.edits().other_drafts(()), [])

    def test_what_was_typed_in_a_review_whose_tab_did_not_come_back_is_a_tab(self) -> Steps:
        self.edits().keep_text("gone", "typed\n", self.path)
        yield from self.until_given_back("typed\n")


class Kept(EditCase):
    """Reviews that came back with the editor, whose agent ended with it."""

    def restored(self, typed: str = "", early: str = "") -> Generator[Any, Any, sublime.View]:
        """`early` was typed into the tab before the package was there."""
        right = yield from self.asked_right()
        right.run_command("append", {"characters": early})
        edits = self.running().chat_edits.reviews
        self.replace(self.running().chat_edits.leftovers, "has_old_turns", False)
        # What a restart leaves: a tab whose view has another id, and what was typed in a file.
        record.update_record(right, record.waiting_record(right), view_id=0)  # type: ignore[arg-type]
        edits._asked.clear()
        if typed:
            edits.hear_typing(record.read_record(right), typed)  # type: ignore[arg-type]
        restoring.adopt_diffs(self.window)
        yield lambda: record.waiting_record(right).is_returned  # type: ignore[union-attr]
        return right

    def on_disk(self) -> str:
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def test_stay_and_are_written_when_the_user_accepts_them(self) -> Steps:
        right = yield from self.restored()
        said = f"{PREFIX}{KEPT.format('Agent', 'a.txt')}"
        yield lambda: said in self.sentences
        self.assertEqual(text_of(right), NEW)
        if running is not None:
            drawn = " ".join(phantoms(right, head.PHANTOM)).replace("<br>", " ")
            self.assertIn(diff_kinds.CUT_OFF.format("Agent"), drawn)
        unseen = self.running().messages.unseen._unseen
        self.assertIn(KEPT.format("Agent", "a.txt"), unseen)
        yield from self.command(right, "accept_diff")
        yield lambda: self.on_disk() == NEW
        self.assertEqual(self.service.asked, [])
        yield lambda: KEPT.format("Agent", "a.txt") not in unseen
        yield lambda: not self.rights()

    def test_have_what_was_typed_last(self) -> Steps:
        right = yield from self.restored(NEW + "five\n")
        self.assertEqual(text_of(right), NEW + "five\n")
        self.assertEqual(self.edits().other_drafts(()), [])
        yield from self.command(right, "accept_diff")
        yield lambda: self.on_disk() == NEW + "five\n"

    def test_have_what_was_typed_into_the_text_that_was_saved_last(self) -> Steps:
        right = yield from self.restored(NEW, early="early\n")
        self.assertEqual(text_of(right), NEW + "early\n")
        self.assertEqual(self.edits().other_drafts(()), [])

    def test_what_was_typed_into_an_older_text_is_a_tab(self) -> Steps:
        right = yield from self.restored(NEW + "five\n", early="early\n")
        self.assertEqual(text_of(right), NEW + "five\n")
        tabs = [text_of(view) for view in self.window.views() if "(your edits)" in view.name()]
        self.assertEqual(tabs, [NEW + "early\n"])

    def test_are_rejected_without_an_agent(self) -> Steps:
        right = yield from self.restored()
        yield from self.command(right, "reject_diff")
        yield lambda: not self.rights()
        self.assertEqual(self.on_disk(), "one\n")
        self.assertEqual(self.service.asked, [])

    def test_are_found_by_the_line_of_the_edit_in_the_chat(self) -> Steps:
        right = yield from self.restored()
        self.window.focus_view(self.view)
        self.assertTrue(asked_edits.go_to_review(self.id, "call", self.path, show_diff))
        yield lambda: self.window.active_view() == right

    def test_make_way_where_the_agent_waits_after_all(self) -> Steps:
        right = yield from self.restored()
        yield from self.waits(self.question)
        yield lambda: self.rights() and right not in self.rights()
        (again,) = self.rights()
        self.assertFalse(record.waiting_record(again).is_returned)  # type: ignore[union-attr]

    def test_are_not_kept_where_the_turns_go_on(self) -> Steps:
        right = yield from self.asked_right()
        edits = self.running().chat_edits.reviews
        self.replace(self.running().chat_edits.leftovers, "has_old_turns", True)
        edits._asked.clear()
        restoring.adopt_diffs(self.window)
        yield lambda: record.waiting_record(right) is None
        self.assertEqual(self.tabs(), {})


class InTheChat(EditCase):
    def tearDown(self) -> Generator[Any, Any, None]:
        kept = self.running().review.ledger.turns
        for edit in kept.of_turn(turn_id(self.id, "turn")):
            kept.replace(edit, None)
        yield from super().tearDown()

    def draw(self, action: str, **argument: Any) -> Steps:
        links = (Link(0, 4, action, json.dumps({"turn": "turn", **argument})),)
        patch = Patch("a", 0, 0, Rendered("link\n", links=links))
        yield from self.update(
            self.view,
            patches=(patch,),
            is_anew=True,
            state=WORKING,
            waiting=(self.question,),
        )
        self.view.sel().clear()
        self.view.sel().add(1)

    def follow(self) -> Steps:
        self.chats.tabs.follow_link(self.view)
        yield from self.until_turn()

    def test_the_line_of_an_edit_opens_its_review(self) -> Steps:
        right = yield from self.asked_right()
        self.window.focus_view(self.view)
        yield from self.draw(OPEN_EDIT, call="call", path=self.path)
        yield from self.follow()
        yield lambda: self.window.active_view() == right

    def test_the_link_in_the_line_of_a_subagent_stops_that_one(self) -> Steps:
        yield from self.wait_for(self.question)
        yield from self.draw(STOP_SUBAGENT, call="its call")
        yield from self.follow()
        yield lambda: [
            request for request, _answer in self.service.asked if isinstance(request, StopSubagent)
        ]
        request, _answer = self.service.asked[-1]
        self.assertEqual(request, StopSubagent(self.id, "its call"))

    def test_the_line_of_an_edit_without_reviews_shows_all_that_is_asked_about(self) -> Steps:
        paths = [os.path.join(self.folder, f"{number}.txt") for number in range(MOST_REVIEWS + 1)]
        self.question = self.asks(*(Diff(path, "", "new\n") for path in paths))
        yield from self.wait_for(self.question)
        yield from self.draw(OPEN_EDIT, call="call", path=paths[-1])
        yield from self.follow()
        name = "Question about WriteFile"
        yield lambda: [view for view in self.window.views() if view.name() == name]
        (tab,) = [view for view in self.window.views() if view.name() == name]
        self.assertIn(paths[-1], text_of(tab))
        tab.close()
        self.assertEqual(self.rights(), [])

    def test_the_line_of_an_edit_that_is_over_shows_what_the_turn_made_of_the_file(self) -> Steps:
        self.write("a.txt", NEW)
        yield from self.wait_for()
        self.question = self.asks(id="another")
        yield from self.draw(OPEN_EDIT, call="call", path=self.path)
        yield from self.follow()
        request = yield from self.sent()
        self.assertEqual(request, TurnTexts(self.id, "turn"))
        change = FileChange(self.path, CHANGED, AS_LEFT)
        self.service.asked[-1][1].give((FileTexts(change, b"one\n", NEW.encode(), True),))
        yield lambda: self.written()
        (right,) = self.written()
        yield from self.until_computed(right)
        self.assertEqual(text_of(right), NEW)
        left = sublime.View(record.waiting_record(right).original_id)  # type: ignore[union-attr]
        self.assertEqual(text_of(left), "one\n")
        if running is None:
            self.skipTest("only the headless editor tells what is drawn")
        said = " ".join(phantoms(right, head.PHANTOM)).replace("<br>", " ")
        self.assertIn(diff_kinds.OF_TURN.format("Gemini CLI"), said)

    def test_the_line_of_an_edit_that_was_not_made_opens_the_file(self) -> Steps:
        yield from self.wait_for()
        self.question = self.asks(id="another")
        yield from self.draw(OPEN_EDIT, call="call", path=self.path)
        yield from self.follow()
        yield from self.sent()
        self.service.asked[-1][1].give(())
        yield lambda: self.window.active_view().file_name() == self.path
        yield lambda: PREFIX + NO_EDIT.format("a.txt") in self.sentences[-1:]

    def written(self) -> list[sublime.View]:
        return list(open_diffs.made_edit_views().values())

    def test_allowing_in_the_chat_what_was_changed_in_the_review_writes_that(self) -> Steps:
        yield from self.asked_right("four\n")
        self.allow()
        yield from self.until_allowed_as(NEW + "four\n")

    def test_allowing_in_the_chat_what_nobody_has_changed_is_that_decision(self) -> Steps:
        yield from self.asked_right()
        self.allow()
        request = yield from self.sent()
        self.assertEqual(request, Decide(self.id, "call", ONCE))

    def test_allowing_in_the_chat_asks_about_unsaved_changes_of_the_file(self) -> Steps:
        asked = self.panels()
        file = yield from self.open("a.txt", "one\n")
        right = yield from self.asked_right()
        file.run_command("append", {"characters": "unsaved\n"})
        self.allow()
        yield lambda: asked
        self.assertIn(ending.UNSAVED, str(asked[-1]))
        asked.pop()["on_select"](-1)
        yield from self.until_turn()
        self.assertEqual((self.service.asked, self.rights()), ([], [right]))
        self.assertEqual(text_of(file), "one\nunsaved\n")


class Naming(EditCase):
    def test_a_doubt_about_accepting_says_that_the_agent_writes_over_the_file(self) -> Steps:
        asked = self.panels()
        right = yield from self.asked_right()
        self.write("a.txt", "somebody's\n")
        yield from self.command(right, "accept_diff")
        yield lambda: asked
        self.assertIn(["Accept anyway", "Agent writes the text over the file."], asked[-1]["items"])

    def test_where_nothing_is_left_of_an_edit_the_agent_is_the_one_that_is_told(self) -> Steps:
        asked = self.panels()
        yield from self.asked_right()
        self.run_command("drop_change")
        yield lambda: asked
        self.assertEqual(
            asked[-1]["items"][0],
            ["Reject the proposal", "Agent is told that the file stays as it is."],
        )


class WithUnsavedChanges(EditCase):
    """The agent has seen what is not saved."""

    def setUp(self) -> None:
        super().setUp()
        self.question = self.asks(Diff(self.path, "one\nunsaved\n", NEW))
        self.open_tabs = self.chats.engines.open_tabs

    def on_loop(self, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """What the engine's loop gets."""
        done = background.start_work(lambda: asyncio.run(work))
        yield lambda: done.is_there
        return done.result()

    def ask_about_typed(self) -> Generator[Any, Any, sublime.View]:
        file = yield from self.open("a.txt", "one\n")
        file.run_command("append", {"characters": "unsaved\n"})
        yield from self.wait_for(self.question)
        return file

    def accept(self, answer: int) -> Steps:
        asked = self.panels()
        right = yield from self.right()
        self.run_command("accept_diff", id=record.waiting_record(right).id)  # type: ignore[union-attr]
        yield lambda: asked
        self.assertIn(diff_kinds.SAVED_TOO, str(asked[-1]))
        asked.pop()["on_select"](answer)
        yield from self.until_turn()

    def test_the_review_shows_all_that_will_be_saved(self) -> Steps:
        yield from self.ask_about_typed()
        right = yield from self.right()
        left = sublime.View(record.waiting_record(right).original_id)  # type: ignore[union-attr]
        self.assertEqual((text_of(left), text_of(right)), ("one\n", NEW))

    def test_an_accepted_edit_may_replace_what_is_not_saved_once(self) -> Steps:
        file = yield from self.ask_about_typed()
        with self.assertRaises(NeedsUser):
            yield from self.on_loop(self.open_tabs.save_text(self.path, NEW))
        yield from self.accept(1)
        request = yield from self.sent()
        self.assertEqual(request, DecideEdits(self.id, "call", ONCE))
        found = yield from self.on_loop(self.open_tabs.save_text(self.path, NEW))
        self.assertEqual(found, Saved("one\nunsaved\n", NEW))
        self.assertEqual((text_of(file), file.is_dirty()), (NEW, False))
        file.run_command("undo")
        self.assertEqual(text_of(file), "one\nunsaved\n")
        with self.assertRaises(NeedsUser):
            yield from self.on_loop(self.open_tabs.save_text(self.path, NEW))

    def test_it_may_not_replace_what_was_typed_after_that(self) -> Steps:
        file = yield from self.ask_about_typed()
        yield from self.accept(1)
        file.run_command("append", {"characters": "more\n"})
        with self.assertRaises(NeedsUser):
            yield from self.on_loop(self.open_tabs.save_text(self.path, NEW))
        self.assertEqual(text_of(file), "one\nunsaved\nmore\n")

    def test_going_back_lets_nothing_be_replaced(self) -> Steps:
        yield from self.ask_about_typed()
        yield from self.accept(-1)
        self.assertEqual(self.service.asked, [])
        with self.assertRaises(NeedsUser):
            yield from self.on_loop(self.open_tabs.save_text(self.path, NEW))

    def test_the_agent_is_told_of_no_tab_while_sharing_is_paused(self) -> Steps:
        yield from self.ask_about_typed()
        told = yield from self.on_loop(self.open_tabs.unsaved_text(self.path))
        self.assertEqual(told, "one\nunsaved\n")
        sharing_settings.pause_sharing(self.window)
        self.addCleanup(sharing_settings.resume_sharing, self.window)
        told = yield from self.on_loop(self.open_tabs.unsaved_text(self.path))
        self.assertIsNone(told)

    def test_an_excluded_file_is_known_by_its_rules(self) -> Steps:
        with self.assertRaises(Withheld):
            yield from self.on_loop(self.open_tabs.unsaved_text(self.write("a.key", "x\n")))
        told = yield from self.on_loop(self.open_tabs.unsaved_text(self.write("b.txt", "x\n")))
        self.assertIsNone(told)
        for name, is_excluded in (("a.key", True), ("b.txt", False)):
            path = os.path.join(self.folder, name)
            found = yield from self.on_loop(self.open_tabs.excludes_file(path))
            self.assertEqual(found, is_excluded)

    def test_the_open_files_of_a_folder_are_told_without_those_that_are_excluded(self) -> Steps:
        elsewhere = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, elsewhere)
        for path in (self.path, self.write("a.key", "x\n"), os.path.join(elsewhere, "b.txt")):
            with open(path, "a", encoding="ascii"):
                self.addCleanup(self.window.open_file(path).close)
        yield from self.until_turn()
        folder = os.path.realpath(self.folder)
        found = yield from self.on_loop(self.open_tabs.open_paths((folder,)))
        self.assertEqual(found, (self.path,))

    def test_a_disk_that_does_not_answer_holds_nothing_up(self) -> Steps:
        yield from self.ask_about_typed()
        asked, answers = threading.Event(), threading.Event()
        self.addCleanup(answers.set)

        def samefile(*paths: str) -> bool:
            asked.set()
            return answers.wait(PATIENCE)

        self.replace(os.path, "samefile", samefile)
        elsewhere = os.path.join(self.folder, "elsewhere", "a.txt")
        looking = background.start_work(lambda: asyncio.run(self.open_tabs.unsaved_text(elsewhere)))
        yield asked.is_set
        self.assertFalse(looking.is_there)
        answers.set()
        yield lambda: looking.is_there
        self.assertEqual(looking.result(), "one\nunsaved\n")

    def test_an_acceptance_is_over_though_the_disk_did_not_answer_when_it_was_used(self) -> Steps:
        file = yield from self.ask_about_typed()
        self.open_tabs.accept_edit(self.path)

        async def silent(path: str) -> str:
            raise asyncio.TimeoutError

        with mock.patch.object(open_tabs, "_name_in_tabs", silent):
            with self.assertRaises(asyncio.TimeoutError):
                yield from self.on_loop(self.open_tabs.save_text(self.path, NEW))
        with self.assertRaises(NeedsUser):
            yield from self.on_loop(self.open_tabs.save_text(self.path, NEW))
        self.assertEqual(text_of(file), "one\nunsaved\n")

    @unittest.skipIf(sys.platform == "win32", "links need a privilege there")
    def test_a_tab_that_was_opened_by_a_link_is_the_files(self) -> Steps:
        link = os.path.join(self.folder, "link")
        os.symlink(self.folder, link)
        self.question = self.asks(Diff(os.path.join(link, "a.txt"), "one\nunsaved\n", NEW))
        file = yield from self.ask_about_typed()
        right = yield from self.right()
        self.assertEqual(text_of(right), NEW)
        self.open_tabs.accept_edit(os.path.join(link, "a.txt"))
        found = yield from self.on_loop(self.open_tabs.save_text(os.path.join(link, "a.txt"), NEW))
        self.assertEqual(found, Saved("one\nunsaved\n", NEW))
        self.assertEqual((text_of(file), file.is_dirty()), (NEW, False))

    @unittest.skipIf(sys.platform == "win32", "links need a privilege there")
    def test_a_file_in_a_folder_that_is_a_link_is_one_of_the_project(self) -> None:
        link = os.path.join(os.path.dirname(self.folder), "link")
        os.symlink(self.folder, link)
        self.addCleanup(os.unlink, link)
        self.replace(
            sharing_settings, "sharing_rules", lambda window: Sharing(only_project_files=True)
        )
        window: Any = SimpleNamespace(folders=lambda: [link])
        is_excluded = sharing_settings.exclusion_rule(window)
        self.assertFalse(is_excluded(os.path.realpath(self.path)))
        outside = os.path.join(os.path.dirname(self.folder), "b.txt")
        self.assertTrue(is_excluded(outside))
        self.assertFalse(sharing_settings.exclusion_rule(window, is_outside_too=False)(outside))

    def test_a_path_that_no_file_can_have_is_excluded_and_no_error(self) -> Steps:
        found = yield from self.on_loop(self.open_tabs.excludes_file(self.path + "\0"))
        self.assertTrue(found)


class Unasked(EditCase):
    def tearDown(self) -> Generator[Any, Any, None]:
        kept = self.running().review.ledger.made
        for edit in [each for each in kept.of_window(self.window.id()) if each.turn]:
            kept.replace(edit, None)
        yield from super().tearDown()

    def gathered(self) -> list[tuple[str, str, str | None]]:
        edits = self.running().review.ledger.made.of_window(self.window.id())
        return [(edit.path, edit.before.text, edit.after) for edit in edits if edit.turn]

    def wrote(self, *diffs: Diff) -> Steps:
        self.view = yield from self.chat()
        changes = tuple(UnaskedChange("turn", diff) for diff in diffs)
        yield from self.waits(unasked=changes)

    def test_an_edit_made_without_asking_is_among_those_of_clis(self) -> Steps:
        self.write("a.txt", NEW)
        yield from self.wrote(Diff(self.path, "one\n", NEW))
        yield from self.until_equal(self.gathered, [(self.path, "one\n", NEW)])
        self.assertEqual(self.running().review.ledger.counts(self.window.id()).written, 1)

    def test_a_piece_that_was_written_is_an_edit_of_the_whole_file(self) -> Steps:
        self.write("a.txt", "first\nnew\nlast\n")
        yield from self.wrote(Diff(self.path, "old", "new"))
        whole = (self.path, "first\nold\nlast\n", "first\nnew\nlast\n")
        yield from self.until_equal(self.gathered, [whole])

    def test_those_of_a_turn_that_is_undone_are_gone_with_their_reviews(self) -> Steps:
        self.write("a.txt", NEW)
        yield from self.wrote(Diff(self.path, "one\n", NEW))
        yield lambda: self.gathered()
        ledger = self.running().review.ledger
        (edit,) = [each for each in ledger.made.of_window(self.window.id()) if each.turn]
        written = self.running().review.written
        self.running().stories.begin(written.open_review(self.window, edit))
        yield lambda: open_diffs.made_edit_views()
        self.write("a.txt", "one\n")
        yield from self.waits(undone=(UndoneTurn("turn", frozenset([self.path])),))
        yield from self.until_equal(self.gathered, [])
        yield lambda: not open_diffs.made_edit_views()
        self.assertEqual(ledger.counts(self.window.id()).written, 0)

    def test_one_that_is_undone_before_it_is_gathered_is_not_listed(self) -> Steps:
        self.write("a.txt", "one\n")
        self.view = yield from self.chat()
        yield from self.waits(
            unasked=(UnaskedChange("turn", Diff(self.path, "one\n", NEW)),),
            undone=(UndoneTurn("turn", frozenset([self.path])),),
        )
        other = Diff(self.path, "", "other\n")
        yield from self.waits(unasked=(UnaskedChange("next", other),))
        yield lambda: self.gathered()
        self.assertEqual([after for _, _, after in self.gathered()], ["other\n"])

    def test_nothing_is_gathered_where_the_user_does_not_want_that(self) -> Steps:
        self.set("show_unasked_edits", False)
        self.write("a.txt", NEW)
        yield from self.wrote(Diff(self.path, "one\n", NEW))
        yield from self.until_turn()
        self.assertEqual(self.gathered(), [])
