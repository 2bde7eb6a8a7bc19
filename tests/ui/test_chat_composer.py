"""The composer of a chat beyond its text: what waits, what goes along, what was said before."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, Generator

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.agent.turn_events import Attachment, Queue, QueuedMessage
from GeminiCompanion.companion.base.answer import Unanswered
from GeminiCompanion.companion.chat.attached import (
    CONTEXT,
    FILE,
    IMAGE,
    SELECTION,
    Attached,
    outgoing_message,
)
from GeminiCompanion.companion.chat.chat_update import WORKING
from GeminiCompanion.companion.chat.rendered import Patch, Rendered
from GeminiCompanion.companion.chat.requests import SaidBefore, Send, SendNow, TakeBack
from GeminiCompanion.companion.ui.chat import above, drafts
from GeminiCompanion.companion.ui.chat.chat_actions import NO_WORDS, NOTHING
from GeminiCompanion.companion.ui.chat.chat_view import CONVERSATION, ChatView
from GeminiCompanion.companion.ui.chat.said_before import SAID_BEFORE
from GeminiCompanion.companion.ui.user_messages import PREFIX

from .reviewing import Steps
from .test_chat_tabs import ChatCase, running

if running is not None:
    from headless import clicks

A_FILE = Attached(FILE, "a.py", "/w/a.py")
A_SELECTION = Attached(SELECTION, "a.py", text="@a.py#L1\n```\nx = 1\n```")
AN_IMAGE = Attached(IMAGE, "a.png", "/w/a.png")


def queued(id: str, text: str, **members: Any) -> QueuedMessage:
    return QueuedMessage(id, text, datetime.now(timezone.utc), **members)


class ComposerCase(ChatCase):
    def of(self, view: sublime.View) -> ChatView:
        chat = self.chats.tabs.chat_of(view)
        assert chat is not None
        return chat

    def above(self, view: sublime.View) -> str:
        """The HTML of the lines above the composer."""
        if running is None:
            self.skipTest("only the headless editor tells what is drawn")
        found = running.current().view(view.id()).phantoms
        return " ".join(
            phantom.content.replace("<br>", " ") for phantom in found if phantom.key == above.KEY
        )

    def press(self, view: sublime.View, link: str) -> None:
        self.assertIn(f'href="{link}"', self.above(view))
        self.chats.tabs.presses.emit((self.of(view), link))

    def asked_last(self) -> Any:
        return self.service.asked[-1][0]

    def answer(self, value: Any = None) -> Steps:
        self.service.asked[-1][1].give(value)
        yield from self.until_turn()

    def kept(self, view: sublime.View) -> str | None:
        """The unsent text that a crash now would leave."""
        return drafts.Drafts(self.chats.drafts._path).text_of(self.id_of(view))

    def caret(self, view: sublime.View, point: int) -> None:
        view.sel().clear()
        view.sel().add(point)


class GoingAlong(ComposerCase):
    def test_what_is_attached_is_shown_and_goes_with_the_message(self) -> Steps:
        view = yield from self.chat()
        self.of(view).above.attach([A_FILE, A_SELECTION, AN_IMAGE])
        for part in ("file, a.py", "selection, a.py", "image, a.png"):
            self.assertIn(part, self.above(view))
        self.type(view, "Why?")
        self.run_command("send")
        id = str(view.settings().get(CONVERSATION))
        self.assertEqual(self.asked_last(), Send(id, "Why?", (A_FILE, A_SELECTION, AN_IMAGE)))
        self.of(view).above.attach([Attached(FILE, "later", "/w/later")])
        yield from self.answer()
        self.assertEqual(
            [attachment.name for attachment in self.of(view).above.attached], ["later"]
        )
        self.assertEqual(self.unsent(view), "")

    def test_a_message_that_cannot_be_sent_keeps_what_is_attached(self) -> Steps:
        view = yield from self.chat()
        self.of(view).above.attach([AN_IMAGE])
        self.type(view, "look")
        self.run_command("send")
        self.service.asked[-1][1].fail(Unanswered("The image is gone."))
        yield lambda: PREFIX + "The image is gone." in self.sentences
        self.assertEqual((self.of(view).above.attached, self.unsent(view)), ((AN_IMAGE,), "look"))

    def test_files_alone_are_no_message_and_a_text_is_one(self) -> Steps:
        view = yield from self.chat()
        self.type(view, " \n\t")
        self.run_command("send")
        self.of(view).above.attach([A_FILE])
        self.run_command("send")
        yield from self.until_turn()
        self.assertEqual(self.service.asked, [])
        self.assertEqual(self.sentences, [PREFIX + NOTHING, PREFIX + NO_WORDS])
        self.of(view).above.attach([A_SELECTION])
        self.run_command("send")
        self.assertEqual(self.asked_last().attached, (A_FILE, A_SELECTION))

    def test_a_crash_after_a_message_was_sent_does_not_bring_it_into_the_composer_again(
        self,
    ) -> Steps:
        self.replace(drafts, "SOON", 1_000_000)
        view = yield from self.chat()
        self.type(view, "do it")
        # The editor may tell late of what was typed.
        self.of(view).catch_up()
        self.chats.drafts.save()
        yield lambda: self.kept(view) == "do it"
        self.run_command("send")
        yield from self.answer()
        yield lambda: self.kept(view) == ""

    def test_what_is_typed_outlives_a_crash_that_comes_a_moment_later(self) -> Steps:
        view = yield from self.chat()
        self.type(view, "not yet")
        yield lambda: self.kept(view) == "not yet"

    def test_a_message_of_a_megabyte_is_sent_whole(self) -> Steps:
        view = yield from self.chat()
        text = "word " * 200_000 + "end"
        self.of(view).composer.write(view, text)
        self.run_command("send")
        self.assertEqual(self.asked_last().words, text)
        yield from self.answer()
        self.assertEqual(self.unsent(view), "")

    def test_what_was_sent_from_a_tab_that_is_closed_meanwhile_is_unsent_no_more(self) -> Steps:
        view = yield from self.chat()
        self.of(view).above.attach([A_FILE])
        self.type(view, "do it")
        self.run_command("send")
        view.close()
        yield from self.until_turn()
        yield from self.answer()
        self.assertEqual(self.sentences, [])
        self.run_command("chat")
        yield from self.until_turn()
        view = self.window.active_view()
        self.assertEqual((self.unsent(view), self.of(view).above.attached), ("", ()))

    def test_what_a_key_binding_sends_takes_nothing_along(self) -> Steps:
        view = yield from self.chat()
        self.of(view).above.attach([A_FILE])
        self.run_command("send", text="run the tests")
        self.assertEqual(self.asked_last().attached, ())
        yield from self.answer()
        self.assertEqual(self.of(view).above.attached, (A_FILE,))

    def test_each_can_be_taken_back_and_a_text_put_into_the_message(self) -> Steps:
        view = yield from self.chat()
        self.of(view).above.attach([A_FILE, A_SELECTION])
        self.press(view, "detach 0")
        self.assertEqual(self.of(view).above.attached, (A_SELECTION,))
        self.type(view, "Why?")
        self.press(view, "put_in 0")
        self.assertEqual(self.unsent(view), "Why?\n" + A_SELECTION.text)
        self.assertEqual((self.of(view).above.attached, self.above(view)), ((), ""))

    def test_it_is_there_again_after_a_restart_and_in_a_closed_tab(self) -> Steps:
        view = yield from self.chat()
        self.of(view).above.attach([A_FILE, A_SELECTION])
        sublime.run_command("gemini_companion_restart_companion")
        yield (
            lambda: plugin._host.is_running and plugin._host.running.chat.actions is not self.chats
        )
        self.chats = self.running().chat.actions
        yield lambda: len(self.service.opened) == 2
        self.assertEqual(self.of(view).above.attached, (A_FILE, A_SELECTION))
        view.close()
        yield from self.until_turn()
        self.run_command("chat")
        view = self.window.active_view()
        self.assertEqual(self.of(view).above.attached, (A_FILE, A_SELECTION))
        self.assertIn("a.py", self.above(view))

    def test_where_phantoms_belong_to_the_buffer_each_line_is_shown_once_and_reacts(self) -> Steps:
        self.play(phantoms_of_buffer=True)
        view = yield from self.chat()
        self.of(view).above.attach([A_FILE])
        self.window.run_command("clone_file")
        clone = self.window.active_view()
        yield lambda: clone != view
        yield from self.update(clone, state=WORKING)
        for each in (view, clone):
            self.assertEqual(self.above(each).count("With it: file, a.py"), 1)
            self.assertEqual(self.state_of(each).count("is working"), 1)
        view.close()
        yield lambda: "With it: file, a.py" in self.above(clone)
        editor = running.current()
        shown = editor.view(clone.id()).phantoms
        self.assertEqual([phantom.is_stale for phantom in shown], [False, False])
        clicks.click(editor, editor.view(clone.id()), "take back")
        yield from self.until_equal(lambda: self.of(clone).above.attached, ())
        self.assertEqual(self.above(clone), "")

    def test_what_is_attached_does_not_push_the_end_of_the_chat_out_of_sight(self) -> Steps:
        view = yield from self.chat()
        text = "".join(f"line {number}\n" for number in range(200))
        yield from self.update(view, patches=(Patch("a", 0, 0, Rendered(text)),))
        for late in (False, True):
            self.play(phantom_heights_late=late)
            self.of(view).composer.go_to_end(view)
            view.show(view.size())
            for number in range(9):
                self.of(view).above.attach([Attached(FILE, f"{late}{number}.py", f"/w/{number}")])
                yield from self.until_turn()
                yield lambda: self.is_end_in_sight(view)

    def is_end_in_sight(self, view: sublime.View) -> bool:
        bottom = view.text_to_layout(view.size())[1] + view.line_height()
        return bool(bottom <= view.viewport_position()[1] + view.viewport_extent()[1])


class TheQueue(ComposerCase):
    def waiting(self, *messages: QueuedMessage) -> Generator[Any, Any, sublime.View]:
        view = yield from self.chat()
        yield from self.update(view, state=WORKING, queue=Queue(messages, False))
        return view

    def test_each_message_that_waits_has_a_line_with_its_first_words(self) -> Steps:
        files = queued("2", "<b>\nand more", given=("/w/a.py",))
        view = yield from self.waiting(queued("1", "first"), files)
        for part in ("Waits: first", "Waits: &lt;b&gt; … (with 1 file)", "change 2", "send_now 1"):
            self.assertIn(part, self.above(view))
        yield from self.update(
            view, queue=Queue((queued("1", "first"),), True, "The disk is full.")
        )
        self.assertIn("Waits until you send it: first", self.above(view))
        self.assertIn("The disk is full.", self.above(view))
        yield from self.update(view)
        self.assertEqual(self.above(view), "")

    def test_a_changed_one_comes_before_what_stands_in_the_composer(self) -> Steps:
        image = Attachment("f" * 32, "b.png", "image/png", 3)
        sent = outgoing_message(
            "first", [A_SELECTION, Attached(CONTEXT, "of the editor", text="told")]
        )
        files: Any = {"given": ("/w/a.py",), "attachments": (image,)}
        message = queued("1", sent.text, additions=sent.additions, **files)
        view = yield from self.waiting(message)
        self.type(view, "half a thought")
        self.press(view, "change 1")
        id = str(view.settings().get(CONVERSATION))
        yield lambda: self.service.asked
        self.assertEqual(self.asked_last(), TakeBack(id, "1"))
        self.assertEqual(self.unsent(view), "first\n\nhalf a thought")
        yield from self.answer(message)
        self.assertEqual(self.unsent(view), "first\n\nhalf a thought")
        expected = (Attached(FILE, "a.py", "/w/a.py"), Attached(IMAGE, "b.png", id="f" * 32))
        self.assertEqual(self.of(view).above.attached, (*expected, A_SELECTION))
        self.run_command("send")
        self.assertEqual(self.asked_last().attached, (*expected, A_SELECTION))

    def test_a_changed_one_is_on_the_disk_before_it_does_not_wait_any_more(self) -> Steps:
        self.replace(drafts, "SOON", 1_000_000)
        view = yield from self.waiting(queued("1", "first"))
        written = self.chats.drafts._write_file
        kept: list[tuple[int, str | None]] = []

        def write() -> None:
            written()
            kept.append((len(self.service.asked), self.kept(view)))

        self.replace(self.chats.drafts, "_write_file", write)
        self.press(view, "change 1")
        yield lambda: self.service.asked
        self.assertEqual(kept[0], (0, "first"))

    def test_one_that_was_sent_meanwhile_leaves_the_composer_as_it_was(self) -> Steps:
        view = yield from self.waiting(queued("1", "first", given=("/w/a.py",)))
        self.type(view, "half a thought")
        self.press(view, "change 1")
        yield lambda: self.service.asked
        self.service.asked[-1][1].fail(Unanswered("It is being sent."))
        yield lambda: PREFIX + "It is being sent." in self.sentences
        self.assertEqual((self.unsent(view), self.of(view).above.attached), ("half a thought", ()))

    def test_a_file_that_was_attached_before_stays_where_one_cannot_be_changed(self) -> Steps:
        view = yield from self.waiting(queued("1", "first", given=(A_FILE.path, "/w/b.py")))
        self.of(view).above.attach([A_FILE])
        self.press(view, "change 1")
        yield lambda: self.service.asked
        self.service.asked[-1][1].fail(Unanswered("It is being sent."))
        yield lambda: PREFIX + "It is being sent." in self.sentences
        self.assertEqual(self.of(view).above.attached, (A_FILE,))

    def test_what_is_taken_back_is_brought_by_the_history(self) -> Steps:
        context = Attached(CONTEXT, "of the editor", text="told")
        sent = outgoing_message("first", [A_SELECTION, context])
        view = yield from self.waiting(queued("1", sent.text, additions=sent.additions))
        self.assertNotIn("…", self.above(view))
        self.press(view, "take_back 1")
        yield from self.answer(None)
        self.run_command("previous_message")
        yield from self.answer(("said",))
        self.assertEqual(self.unsent(view), "first\n\n" + A_SELECTION.text)

    def test_one_is_sent_now(self) -> Steps:
        view = yield from self.waiting(queued("1", "first"))
        self.press(view, "send_now 1")
        self.assertEqual(self.asked_last(), SendNow(str(view.settings().get(CONVERSATION)), "1"))

    def test_the_list_does_the_same_without_a_mouse(self) -> Steps:
        view = yield from self.waiting(queued("1", "first"), queued("2", "second"))
        self.of(view).above.attach([A_SELECTION])
        shown = self.panels()
        self.run_command("waiting_messages")
        self.assertEqual(len(shown[0]["items"]), 3)
        shown[0]["on_select"](1)
        yield lambda: len(shown) == 2
        shown[1]["on_select"](1)
        yield lambda: self.service.asked
        self.assertEqual(self.asked_last(), SendNow(str(view.settings().get(CONVERSATION)), "2"))
        self.run_command("waiting_messages")
        shown[2]["on_select"](2)
        yield lambda: len(shown) == 4
        shown[3]["on_select"](1)
        yield lambda: not self.of(view).above.attached


class SaidBeforehand(ComposerCase):
    def can(self, view: sublime.View, which: str) -> Any:
        asked = plugin._host.running.key_context
        return asked(view, SAID_BEFORE, sublime.OP_EQUAL, which)

    def step(self, which: str) -> Steps:
        self.run_command(which + "_message")
        yield from self.until_turn()

    def walking(self, *said: str) -> Generator[Any, Any, sublime.View]:
        """A chat whose composer shows the last of what was said."""
        view = yield from self.chat()
        yield from self.step("previous")
        self.assertEqual(self.asked_last(), SaidBefore(str(view.settings().get(CONVERSATION))))
        yield from self.answer(said)
        return view

    def test_up_and_down_walk_and_come_back_to_what_was_typed(self) -> Steps:
        view = yield from self.chat()
        self.type(view, "  ")
        yield from self.step("previous")
        yield from self.answer(("one", "two", "two"))
        seen = [self.unsent(view)]
        for which in ("previous", "previous", "next", "next", "next"):
            yield from self.step(which)
            seen.append(self.unsent(view))
        self.assertEqual(seen, ["two", "one", "one", "two", "  ", "  "])
        self.assertEqual(len(self.service.asked), 1)

    def test_the_keys_are_the_carets_once_something_is_typed(self) -> Steps:
        view = yield from self.walking("one", "two")
        self.assertTrue(self.can(view, "previous") and self.can(view, "next"))
        self.type(view, "x")
        self.assertFalse(self.can(view, "previous") or self.can(view, "next"))
        yield from self.step("previous")
        self.assertEqual(self.unsent(view), "twox")
        view.run_command("left_delete")
        self.assertTrue(self.can(view, "next"))

    def test_an_empty_composer_has_nothing_after_it(self) -> Steps:
        view = yield from self.chat()
        self.assertTrue(self.can(view, "previous"))
        self.assertFalse(self.can(view, "next"))

    def test_in_the_transcript_and_with_several_carets_they_move(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, patches=(Patch("a", 0, 0, Rendered("answer\n")),))
        self.caret(view, 2)
        self.assertFalse(self.can(view, "previous"))
        self.caret(view, view.size())
        self.assertTrue(self.can(view, "previous"))
        self.type(view, "\n")
        view.sel().add(view.size() - 1)
        self.assertFalse(self.can(view, "previous"))
        other = yield from self.open("a.py", "")
        self.assertFalse(self.can(other, "previous"))

    def test_what_is_typed_while_they_are_looked_for_stays(self) -> Steps:
        view = yield from self.chat()
        self.run_command("previous_message")
        self.type(view, "mine")
        yield from self.answer(("one",))
        self.assertEqual(self.unsent(view), "mine")

    def test_undo_takes_a_brought_one_away(self) -> Steps:
        view = yield from self.walking("one")
        view.run_command("undo")
        yield from self.until_turn()
        self.assertEqual(self.unsent(view), "")

    def test_a_conversation_without_any_leaves_the_composer_empty(self) -> Steps:
        view = yield from self.walking()
        self.assertEqual((self.unsent(view), self.sentences), ("", []))
