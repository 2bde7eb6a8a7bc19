"""What the user has to know stays in the status bar until they have seen it."""

from __future__ import annotations

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ide import delivery, session, silence
from GeminiCompanion.companion.ui import settings, unseen_messages
from GeminiCompanion.companion.ui.chat.drafts import DRAFTS
from GeminiCompanion.companion.ui.parts import status_parts
from GeminiCompanion.companion.ui.review import accepting, ending, notes

from .reviewing import ReviewCase, Steps


class Unseen(ReviewCase):
    def setUp(self) -> None:
        super().setUp()
        self.running().messages.unseen._unseen.clear()
        self.addCleanup(self.running().messages.unseen.refresh_text)
        self.addCleanup(self.running().messages.unseen._unseen.clear)

    def shown(self) -> str:
        view = self.window.active_view()
        return view.get_status(unseen_messages.KEY) if view is not None else ""

    def test_it_stays_until_the_list_was_open(self) -> Steps:
        yield from self.open("a.txt", "a\n")
        self.running().messages.warn_user("The first one.")
        self.running().messages.warn_user("The second one.")
        yield from self.until_equal(self.shown, "Show Messages (2): The second one.")
        self.running().messages.tell_user("Something else.")
        yield from self.open("b.txt", "b\n")
        yield from self.until_equal(self.shown, "Show Messages (2): The second one.")
        asked = self.panels()
        self.run_command("show_messages")
        yield lambda: asked
        self.assertEqual(
            [item.trigger for item in asked[0]["items"]], ["The second one.", "The first one."]
        )
        self.running().messages.warn_user("The third one.")
        yield from self.until_turn()
        asked[0]["on_select"](-1)
        yield from self.until_equal(self.shown, "Show Messages (1): The third one.")
        self.run_command("show_messages")
        yield lambda: len(asked) == 2
        asked[1]["on_select"](0)
        yield from self.until_equal(self.shown, "")
        told = self.told()
        self.run_command("show_messages")
        yield lambda: any(unseen_messages.NONE in each for each in told)

    def test_one_that_is_told_twice_is_there_once(self) -> Steps:
        yield from self.open("a.txt", "a\n")
        for sentence in ("It is so.", "Else.", "It is so."):
            self.running().messages.warn_user(sentence)
        yield from self.until_equal(self.shown, "Show Messages (2): It is so.")

    def test_one_that_is_not_true_any_more_goes_and_others_stay(self) -> Steps:
        yield from self.open("a.txt", "a\n")
        editor = self.running().messages
        for sentence, about in (("It waits.", "one"), ("It waits.", "two"), ("It stays.", "")):
            editor.warn_user(sentence, about)
        editor.withdraw_warning("one")
        yield from self.until_equal(self.shown, "Show Messages (2): It stays.")
        editor.withdraw_warning("two")
        yield from self.until_equal(self.shown, "Show Messages (1): It stays.")
        editor.withdraw_warning("two")
        yield from self.until_turn()
        self.assertEqual(self.shown(), "Show Messages (1): It stays.")

    def test_what_is_about_unsent_texts_or_a_diff_outlives_the_companion(self) -> Steps:
        yield from self.open("a.txt", "a\n")
        messages = self.running().messages.unseen
        for about in ("server 1", DRAFTS, accepting.about_diff("1")):
            messages.add_message(f"About {about}.", about)
        messages.stop(status_parts._outlives_companion)
        self.addCleanup(messages.start)
        self.assertEqual(self.shown(), "")
        messages.start()
        self.assertEqual(list(messages._unseen), ["About drafts.", "About diff 1."])

    def test_that_a_cli_is_away_is_not_said_any_more_when_it_is_back(self) -> Steps:
        away = delivery.AWAY.format(cli="Gemini CLI")
        for module in (session, silence):
            self.replace(module, "ABSENT", 0.0)
        yield from self.propose("old\n", "new\n")
        self.cli.close()
        yield self.cli.stream_ended.is_set
        self.run_command("reject_diff")
        yield lambda: away in self.running().messages.unseen._unseen
        later = yield from self.connect()
        yield lambda: later.received("ide/diffRejected")
        yield lambda: away not in self.running().messages.unseen._unseen

    def test_a_diff_that_is_closed_while_it_is_being_accepted_is_told_so(self) -> Steps:
        right = yield from self.propose("old\n", "new\n")
        self.write("file.txt", "mine\n")
        asked = self.panels()
        self.run_command("accept_diff")
        yield lambda: asked
        right.close()
        expected = accepting.CLOSED.format("file.txt") + accepting.IN_TAB
        yield lambda: expected in self.running().messages.unseen._unseen
        yield from self.until_rejected()
        yield from self.until_equal(
            lambda: self.tabs().get(f"file.txt ({ending.RELEASED})"), "new\n"
        )

    def test_what_a_restart_has_kept_from_being_accepted_stands_there_until_it_is_decided(
        self,
    ) -> Steps:
        yield from self.open("a.txt", "a\n")
        right = yield from self.propose("old\n", "new\n")
        expected = accepting.NOT_ACCEPTED.format("file.txt")
        self.running().messages.warn_user("It stays.")
        self.running().messages.warn_user("The companion of before says so.", "its own")
        yield from self.until_turn()
        self.run_command("accept_diff")
        plugin._host.stop()
        self.assertEqual(self.shown(), "")
        plugin._host.start()
        yield lambda: plugin._host.environment_of(self.window)
        yield from self.until_equal(
            lambda: [*self.running().messages.unseen._unseen], ["It stays.", expected]
        )
        yield from self.until_equal(self.shown, f"Show Messages (2): {expected}")
        self.run_command("reject_diff")
        yield lambda: not right.is_valid()
        yield lambda: expected not in self.running().messages.unseen._unseen
        self.assertIn("It stays.", self.running().messages.unseen._unseen)

    def test_what_is_told_between_two_companions_stands_there_for_the_next(self) -> Steps:
        plugin._host.stop()
        plugin._host.warn_user("It is not saved.", "texts")
        plugin._host.start()
        yield lambda: plugin._host.environment_of(self.window)
        yield lambda: "It is not saved." in self.running().messages.unseen._unseen
        self.running().messages.withdraw_warning("texts")
        yield lambda: "It is not saved." not in self.running().messages.unseen._unseen

    def test_bad_values_are_told_until_they_are_mended(self) -> Steps:
        yield from self.open("a.txt", "a\n")
        stored = sublime.load_settings(settings.FILE)
        self.addCleanup(stored.erase, "focus_diff")
        self.addCleanup(stored.erase, "diffs")
        stored.set("focus_diff", 7)
        yield lambda: '"focus_diff"' in self.shown()
        stored.set("diffs", 7)
        yield lambda: '"diffs"' in self.shown()
        stored.erase("diffs")
        yield lambda: '"focus_diff"' in self.shown()
        stored.erase("focus_diff")
        yield from self.until_equal(self.shown, "")

    def test_a_note_that_was_not_sent_is_told_so(self) -> Steps:
        right = yield from self.propose("old\n", "new\n")
        asked = self.inputs()
        self.run_command("reject_diff_with_note")
        yield lambda: asked
        self.run_command("reject_diff")
        yield lambda: not right.is_valid()
        asked[0]("why")
        yield lambda: notes.DECIDED in self.running().messages.unseen._unseen
