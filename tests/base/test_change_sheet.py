"""The sheet of many files' changes: its rows and places, and what is typed into it."""

from __future__ import annotations

import random
import unittest

from GeminiCompanion.companion.base.change_sheet import (
    ADDED,
    EQUAL,
    HEADING,
    NO_END,
    REMOVED,
    FileChanges,
    Part,
    Section,
    Sheet,
    plain_section,
    section_of,
)
from GeminiCompanion.companion.base.comparison import compare_texts
from GeminiCompanion.companion.base.sheet_typing import Typed, typed_edits

HEAD = plain_section("", ["head", ""])


def file_of(old: str, new: str, name: str = "a.py") -> FileChanges:
    return FileChanges(name, name, compare_texts(old, new))


def sheet_of(*pairs: tuple[str, str]) -> Sheet:
    """The files are "0", "1" and so on."""
    files = [file_of(old, new, str(number)) for number, (old, new) in enumerate(pairs)]
    return Sheet((HEAD, *map(section_of, files)))


def drawn(text: str, parts: tuple[Part, ...]) -> str:
    """The text with these parts replaced, as a view does it."""
    for start, end, new in reversed(parts):
        text = text[:start] + new + text[end:]
    return text


def edited(text: str, found: Typed, file: str) -> str:
    for edit in found.edits:
        if edit.file == file:
            assert text[edit.start : edit.start + len(edit.old)] == edit.old
            text = text[: edit.start] + edit.new + text[edit.start + len(edit.old) :]
    return text


class Shown(unittest.TestCase):
    def shown(self, old: str, new: str) -> list[str]:
        return section_of(file_of(old, new)).text.splitlines()

    def test_a_file_has_a_heading_with_counts_and_its_changes_with_three_rows_around(self) -> None:
        old = "".join(f"{number}\n" for number in range(1, 31))
        new = old.replace("10\n", "ten\n").replace("20\n", "")
        expected = [
            "## a.py  +1 -2",
            "@@ line 7 @@",
            *"7 8 9 10 ten".split(),
        ]
        expected += [*"11 12 13".split(), "@@ line 17 @@", *"17 18 19 20".split()]
        self.assertEqual(self.shown(old, new), [*expected, *"21 22 23".split(), ""])

    def test_changes_near_each_other_share_their_rows(self) -> None:
        shown = self.shown("1\n2\n3\n4\n5\n6\n", "one\n2\n3\n4\n5\nsix\n")
        self.assertEqual(shown[1:], ["@@ line 1 @@", "1", "one", *"2345", "6", "six", ""])

    def test_a_missing_line_end_is_said_on_its_side(self) -> None:
        end = "\\ No newline at end of file"
        self.assertEqual(self.shown("a", "a\n")[2:], ["a", end, "a", ""])
        self.assertEqual(self.shown("a\n", "a")[2:], ["a", "a", end, ""])

    def test_new_and_emptied_files_have_one_side(self) -> None:
        self.assertEqual(self.shown("", "a\nb\n")[:3], ["## a.py  +2 -0", "@@ line 1 @@", "a"])
        self.assertEqual(self.shown("a\nb\n", "")[:3], ["## a.py  +0 -2", "@@ line 1 @@", "a"])

    def test_a_file_without_comparison_has_its_heading_and_note(self) -> None:
        section = section_of(FileChanges("1", "a.py", None, "Not compared.", "new file"))
        self.assertEqual(section.text, "## a.py  not compared, new file\nNot compared.\n\n")

    def test_rows_know_their_lines(self) -> None:
        sheet = sheet_of(("a\nb\nc\n", "a\nB\nc\n"))
        places = [sheet.place_of(row) for row in range(sheet.rows[-1])]
        found = [(place.run.kind, place.row) for place in places[2:] if place.run.kind != "blank"]
        expected = [(HEADING, 0), ("place", 0), (EQUAL, 0), (REMOVED, 1), (ADDED, 1), (EQUAL, 2)]
        self.assertEqual(found, expected)
        self.assertEqual(sheet.place_of(sheet.rows[-1] + 5).section, 1)


class Typing(unittest.TestCase):
    sheet = sheet_of(("a\nb\nc\n", "a\nB\nc\n"), ("x", "y"))

    def typed(self, old: str, new: str) -> Typed:
        """The text was replaced where it stands."""
        return typed_edits(self.sheet, self.sheet.text.replace(old, new))

    def test_an_added_row_without_line_end_stays_without(self) -> None:
        found = self.typed("y\n", "why\n")
        self.assertEqual(edited("y", found, "1"), "why")
        self.assertEqual([run.kind for run in found.sheet.sections[2].runs][-2:], [NO_END, "blank"])

    def test_all_added_rows_can_be_deleted_and_typed_again(self) -> None:
        found = self.typed("B\n", "")
        self.assertEqual(edited("a\nB\nc\n", found, "0"), "a\nc\n")
        again = typed_edits(found.sheet, self.sheet.text)
        self.assertEqual(edited("a\nc\n", again, "0"), "a\nB\nc\n")
        self.assertEqual(again.sheet.text, self.sheet.text)

    def test_removed_rows_context_and_headings_stay(self) -> None:
        for old, new in (
            ("b\n", "be\n"),
            ("a\n", ""),
            ("c\n", "\n"),
            ("## 0", "## x"),
            ("@@", ""),
        ):
            with self.subTest(old):
                found = self.typed(old, new)
                self.assertEqual((found.edits, found.sheet), ((), self.sheet))

    def test_what_reaches_beyond_added_rows_is_not_typed_at_all(self) -> None:
        found = self.typed("B\nc\n", "Bc\n")
        self.assertEqual((found.edits, found.sheet), ((), self.sheet))

    def test_edits_at_two_places_count_each(self) -> None:
        text = self.sheet.text.replace("B\n", "Bee\n").replace("y\n", "z\n").replace("c\n", "d\n")
        found = typed_edits(self.sheet, text)
        self.assertEqual(edited("a\nB\nc\n", found, "0"), "a\nBee\nc\n")
        self.assertEqual(edited("y", found, "1"), "z")
        self.assertEqual(found.sheet.text, text.replace("\nd\n", "\nc\n"))

    def test_a_section_that_cannot_be_typed_in_stays(self) -> None:
        file = FileChanges("0", "0", compare_texts("a\n", "b\n"), can_type=False)
        sheet = Sheet((HEAD, section_of(file)))
        self.assertEqual(typed_edits(sheet, sheet.text.replace("b\n", "c\n")).edits, ())


def random_text(chance: random.Random, letters: str = "ab}\n") -> str:
    return "".join(chance.choice(letters) for _ in range(chance.randint(0, 60)))


def random_edit(chance: random.Random, text: str) -> str:
    for _ in range(chance.randint(0, 4)):
        start, end = sorted(chance.randint(0, len(text)) for _ in range(2))
        end = min(end, start + chance.randint(0, 6))
        text = text[:start] + random_text(chance)[:8] + text[end:]
    return text


def random_pairs(chance: random.Random) -> list[tuple[str, str]]:
    found = []
    for _ in range(chance.randint(0, 4)):
        old = random_text(chance)
        found.append((old, random_edit(chance, old)))
    return found


def new_text(section: Section, new: str) -> str:
    """The new text, with the added rows as they stand in the section, put together anew."""
    comparison = section.file.comparison
    assert comparison is not None
    text, at = "", 0
    for run in section.runs:
        if run.kind == ADDED and run.change is not None:
            change = comparison.changes[run.change]
            start, end = comparison.new.region(change.new_start, change.new_end)
            assert run.point == len(text) + start - at
            text, at = text + new[at:start] + section.text_of(run), end
    return text + new[at:]


class Random(unittest.TestCase):
    """Against a reference that knows where the user was: it cuts and joins the texts by hand."""

    def test_what_is_typed_in_added_rows_is_the_new_text_of_their_file_and_no_other(self) -> None:
        count = 0
        for seed in range(1500):
            chance = random.Random(seed)
            pairs = random_pairs(chance)
            sheet = sheet_of(*pairs)
            texts = [new for _old, new in pairs]
            for _ in range(chance.randint(1, 5)):
                found = [
                    (number, run)
                    for number, section in enumerate(sheet.sections)
                    for run in section.runs
                    if run.kind == ADDED and run.start < run.end
                ]
                if not found:
                    break
                count += 1
                number, run = chance.choice(found)
                section = sheet.sections[number]
                own = section.text_of(run)
                own += "" if own.endswith("\n") else "\n"
                start, end = sorted(chance.randint(0, len(own) - 1) for _ in range(2))
                words = random_text(chance)[:5]
                at = sheet.points[number] + section.starts[run.start]
                text = sheet.text[: at + start] + words + sheet.text[at + end :]
                with self.subTest(seed=seed):
                    result = typed_edits(sheet, text, at + start + len(words))
                    self.assertEqual(result.sheet.text, text)
                    expected = list(texts)
                    point = run.point + start
                    changed = expected[number - 1]
                    expected[number - 1] = changed[:point] + words + changed[run.point + end :]
                    for each in range(len(texts)):
                        self.assertEqual(edited(texts[each], result, str(each)), expected[each])
                    sheet, texts = result.sheet, expected
        self.assertGreater(count, 1000)

    def test_whatever_is_typed_anywhere_only_added_rows_are_others_afterwards(self) -> None:
        for seed in range(1500):
            chance = random.Random(seed)
            pairs = random_pairs(chance)
            sheet = sheet_of(*pairs)
            with self.subTest(seed=seed):
                result = typed_edits(
                    sheet, random_edit(chance, sheet.text), chance.choice((None, 3))
                )
                for number, (before, now) in enumerate(zip(sheet.sections, result.sheet.sections)):
                    for one, other in zip(before.runs, now.runs):
                        if one.kind != ADDED:
                            rows = now.rows[other.start : other.end]
                            self.assertEqual(before.rows[one.start : one.end], rows)
                    if number:
                        new = pairs[number - 1][1]
                        after = edited(new, result, before.file.id)
                        self.assertEqual(new_text(now, new), after)

    def test_steps_toward_other_files_lead_there_and_draw_the_same_text(self) -> None:
        for seed in range(600):
            chance = random.Random(seed)
            present = list(sheet_of(*random_pairs(chance)).sections)
            wanted = list(sheet_of(*random_pairs(chance)).sections)
            wanted = [chance.choice([own, *present]) for own in wanted]
            wanted = list({section.file.id: section for section in wanted}.values())
            chance.shuffle(wanted)
            sheet, limit = Sheet(tuple(present)), chance.choice((1, 30, 1000))
            text, steps = sheet.text, 0
            with self.subTest(seed=seed):
                while True:
                    update = sheet.update_toward(wanted, limit)
                    if update is None:
                        break
                    text, sheet, steps = drawn(text, update.parts), update.sheet, steps + 1
                    self.assertEqual(text, sheet.text)
                    self.assertLess(steps, 20)
                self.assertEqual(list(sheet.sections), wanted)

    def test_a_large_sheet_is_drawn_in_pieces(self) -> None:
        sections = sheet_of(*(("a\n" * 50, "b\n" * 50) for _ in range(20))).sections
        sheet, steps = Sheet((HEAD,)), 0
        while True:
            update = sheet.update_toward(sections, limit=1000)
            if update is None:
                break
            self.assertLessEqual(sum(len(text) for _, _, text in update.parts), 1000)
            sheet, steps = update.sheet, steps + 1
        self.assertGreaterEqual(steps, 5)
