"""The book of decisions by itself: what waits, what was decided, who was told, what comes back."""

from __future__ import annotations

import unittest
from unittest import mock

from GeminiCompanion.companion.base.text_digest import text_digest
from GeminiCompanion.companion.ide import decisions
from GeminiCompanion.companion.ide.clis import GEMINI_CLI
from GeminiCompanion.companion.ide.decisions import (
    DECIDED,
    MAX_TOLD,
    OPEN,
    TOLD,
    Book,
    Decision,
    Entry,
)

PATH, OTHER, SENT = "/project/a.py", "/project/b.py", "/remote/a.py"


class BookTestCase(unittest.TestCase):
    def setUp(self) -> None:
        self.book = Book()

    def propose(self, path: str = PATH, text: str | None = "theirs\n", session: str = "s") -> int:
        return self.book.open(session, path, text, "a CLI 1.0", GEMINI_CLI.id)

    def accept(self, path: str = PATH, text: str = "mine\n", before: str | None = None) -> int:
        number = self.propose(path)
        self.book.decide(number, text, before)
        return number

    def told(self, path: str = PATH, text: str = "mine\n", before: str | None = None) -> int:
        number = self.accept(path, text, before)
        self.assertEqual(self.book.mark_told(number), [])
        return number

    def texts(self, state: str) -> list[str | None]:
        return [self.book[number].text for number in self.book.numbers_in(state)]


class Waiting(BookTestCase):
    def test_an_edit_is_news_unless_it_is_the_text_as_it_was(self) -> None:
        number = self.propose()
        self.assertFalse(self.book.edit(number, "theirs\n"))
        self.assertTrue(self.book.edit(number, "mine\n"))
        self.assertFalse(self.book.edit(number, "mine\n"))
        self.assertTrue(self.book.edit(number, "theirs\n"))
        self.assertEqual(self.book[number].text, "theirs\n")
        self.assertFalse(self.book[number].is_edited)

    def test_what_waits_is_found_by_the_path_that_its_cli_sent(self) -> None:
        number = self.book.open("s", PATH, "theirs\n", sent_path=SENT)
        self.assertEqual(self.book.path_waiting_as(SENT), PATH)
        self.assertEqual(self.book.path_waiting_as(PATH), "")
        self.book.decide(number, "mine\n")
        self.assertEqual(self.book.path_waiting_as(SENT), PATH)
        self.book.mark_told(number)
        self.assertEqual(self.book.path_waiting_as(SENT), "")

    def test_what_is_forgotten_is_found_by_nothing(self) -> None:
        number = self.book.open("s", PATH, "theirs\n", sent_path=SENT)
        self.book.forget(number)
        self.assertNotIn(number, self.book)
        self.assertEqual(self.book.path_waiting_as(SENT), "")
        self.assertEqual(self.book.numbers_in(OPEN, path=PATH), [])
        self.book.forget(number)

    def test_what_is_adopted_waits_in_the_queue_of_no_session(self) -> None:
        queued = self.accept()
        self.book.mark_queued(queued, "s", 7)
        other = Book()
        [number] = other.adopt_entries(self.book.entries())
        self.assertEqual(other[number], self.book[queued]._replace(event_id=0))


class Told(BookTestCase):
    def test_a_notification_names_the_file_as_the_cli_did(self) -> None:
        for text, method in (("mine\n", "ide/diffAccepted"), ("", "ide/diffAccepted")):
            params = {"filePath": SENT, "content": text}
            self.assertEqual(Decision(PATH, text, "s", 0.0, SENT).notification(), (method, params))
        rejected = (GEMINI_CLI.rejected, {"filePath": PATH})
        self.assertEqual(Decision(PATH, None, "s", 0.0).notification(), rejected)

    def test_a_rejection_has_nothing_left_to_be_done(self) -> None:
        number = self.propose()
        self.book.decide(number, None)
        self.assertEqual(self.book.mark_told(number), [])
        self.assertNotIn(number, self.book)

    def test_an_accepted_text_is_held_with_what_its_file_was_and_in_no_queue(self) -> None:
        number = self.accept(before="digest")
        self.book.mark_queued(number, "s", 7)
        self.book.mark_told(number)
        entry = self.book[number]
        self.assertEqual(
            (entry.state, entry.text, entry.before, entry.event_id), (TOLD, "mine\n", "digest", 0)
        )

    def test_the_same_text_for_a_file_is_held_once_another_one_beside_it(self) -> None:
        first = self.told()
        second = self.told()
        self.assertEqual(self.book.numbers_in(TOLD), [second])
        self.assertNotIn(first, self.book)
        self.told(text="another\n")
        self.assertEqual(self.texts(TOLD), ["mine\n", "another\n"])

    def test_the_oldest_texts_make_way_those_that_nobody_has_written_last(self) -> None:
        unwritten = self.told(text="unwritten\n", before=None)
        comes_back = self.propose(OTHER)
        self.book.hand_over(comes_back, "comes back\n")
        with mock.patch.object(decisions, "MAX_TOLD", 3):
            for text in ("1\n", "2\n"):
                self.told(text=text, before="digest")
            gone = self.book.mark_told(self.accept(text="3\n", before="digest"))
        self.assertEqual([entry.text for entry in gone], ["1\n"])
        self.assertIn(unwritten, self.book)
        self.assertEqual(self.texts(TOLD), ["unwritten\n", "comes back\n", "2\n", "3\n"])

    def test_as_many_texts_as_there_may_be_are_held(self) -> None:
        for number in range(MAX_TOLD):
            self.told(text=f"{number}\n")
        self.assertEqual(len(self.book.numbers_in(TOLD)), MAX_TOLD)


class TakenBack(BookTestCase):
    def test_a_text_that_was_told_waits_again_under_its_event(self) -> None:
        number = self.told(before="digest")
        self.book.take_back(number, self.book[number].decision, "later", 9)
        entry = self.book[number]
        self.assertEqual(
            (entry.state, entry.session_id, entry.event_id, entry.text, entry.before),
            (DECIDED, "later", 9, "mine\n", "digest"),
        )

    def test_a_rejection_of_which_nothing_was_left_waits_again(self) -> None:
        number = self.propose()
        self.book.decide(number, None)
        decision = self.book[number].decision
        self.book.mark_told(number)
        self.book.take_back(number, decision, "s", 9, GEMINI_CLI.id)
        entry = self.book[number]
        self.assertEqual(
            (entry.state, entry.text, entry.event_id, entry.cli, entry.decided_at),
            (DECIDED, None, 9, GEMINI_CLI.id, decision.at),
        )

    def test_a_text_that_is_on_disk_is_not_told_again(self) -> None:
        number = self.told()
        decision = self.book[number].decision
        self.book.forget(number)
        self.book.take_back(number, decision, "s", 9)
        self.assertNotIn(number, self.book)

    def test_what_waits_already_stays_where_it_waits(self) -> None:
        number = self.accept()
        self.book.mark_queued(number, "s", 3)
        self.book.take_back(number, self.book[number].decision, "later", 9)
        self.assertEqual((self.book[number].session_id, self.book[number].event_id), ("s", 3))


class TheUsers(BookTestCase):
    def test_what_was_typed_comes_back_from_a_diff_that_its_cli_closes(self) -> None:
        number = self.propose()
        self.book.hand_over(number, "mine\n")
        entry = self.book[number]
        self.assertEqual((entry.state, entry.text, entry.comes_back), (TOLD, "mine\n", True))

    def test_only_what_was_typed_is_copied_before_others_decide(self) -> None:
        self.assertIsNone(self.book.copy_edited(self.propose()))
        self.assertIsNone(self.book.copy_edited(self.propose(text=None)))
        emptied = self.propose()
        self.book.edit(emptied, "")
        self.assertIsNone(self.book.copy_edited(emptied))
        edited = self.propose()
        self.book.edit(edited, "mine\n")
        copy = self.book.copy_edited(edited)
        assert copy is not None
        self.assertTrue(self.book.is_open(edited))
        self.assertEqual((self.book[copy].state, self.book[copy].comes_back), (TOLD, True))

    def test_a_closed_window_rejects_what_waited_and_gives_back_what_was_typed(self) -> None:
        untouched, edited = self.propose(), self.propose(OTHER)
        self.book.edit(edited, "mine\n")
        decided = self.accept("/project/c.py")
        self.assertEqual(self.book.reject_open(), [untouched, edited])
        self.assertEqual(self.book.numbers_in(OPEN), [])
        self.assertEqual(self.book.numbers_in(DECIDED), [untouched, edited, decided])
        self.assertEqual(self.texts(DECIDED), [None, None, "mine\n"])
        [back] = self.book.numbers_in(TOLD)
        self.assertEqual(
            (self.book[back].path, self.book[back].text, self.book[back].comes_back),
            (OTHER, "mine\n", True),
        )

    def test_hours_are_counted_until_somebody_decides_or_it_is_sure_that_nobody_wrote(self) -> None:
        number = self.told(before="digest")
        self.assertEqual([self.book.grow_older(number) for _ in range(2)], [1, 2])
        self.assertEqual(self.book[number].hours, 2)
        self.book.keep_unwritten(number)
        self.assertEqual((self.book[number].hours, self.book[number].before), (0, None))
        self.book.grow_older(number)
        self.book.decide(number, None, "later")
        self.assertEqual((self.book[number].hours, self.book[number].before), (0, "later"))


class Kept(unittest.TestCase):
    def test_an_entry_is_the_users_where_its_text_is_not_the_proposed_one(self) -> None:
        entry = Entry("s", PATH, OPEN, 0.0, proposed=text_digest("theirs\n"), text="theirs\n")
        self.assertFalse(entry.is_edited)
        self.assertTrue(entry._replace(text="").is_edited)
        self.assertFalse(entry._replace(text=None).is_edited)
