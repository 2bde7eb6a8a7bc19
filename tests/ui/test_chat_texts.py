"""What is known of a chat without a view: the transcript's blocks, and the composer's undo."""

from __future__ import annotations

import json
import os
import random
import tempfile
import threading
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.chat.rendered import Fold, Link, Mark, Patch, Rendered
from GeminiCompanion.companion.ui.chat import drafts
from GeminiCompanion.companion.ui.chat.drafts import Drafts
from GeminiCompanion.companion.ui.chat.drawn import DrawnDocument, Misplaced
from GeminiCompanion.companion.ui.chat.unsent import Unsent, text_difference


def patch(block: str, start: int, end: int, text: str) -> Patch:
    """With a mark and a link on its first character, and a fold of the rest."""
    size = len(text)
    if not size:
        return Patch(block, start, end, Rendered(""))
    links = (Link(0, 1, "open_file", text),)
    return Patch(block, start, end, Rendered(text, (Mark("dim", 0, 1),), (Fold(1, size),), links))


class Documents(unittest.TestCase):
    def test_patches_in_any_block_give_the_text_that_they_say(self) -> None:
        for seed in range(200):
            chance, document, text = random.Random(seed), DrawnDocument(), ""
            sizes: dict[str, int] = {}
            for number in range(20):
                ids = list(sizes)
                if not ids or chance.random() < 0.4:
                    place = chance.randrange(len(ids) + 1)
                    start = end = sum(sizes[id] for id in ids[:place])
                    ids.insert(place, f"b{number}")
                    name = ids[place]
                    sizes = {id: sizes.get(id, 0) for id in ids}
                else:
                    name = chance.choice(ids)
                    begin = sum(sizes[id] for id in ids[: ids.index(name)])
                    start = begin + chance.randint(0, sizes[name])
                    end = chance.randint(start, begin + sizes[name])
                new = "xyz\n"[: chance.randint(1, 4)]
                document.apply_patch(patch(name, start, end, new))
                sizes[name] += len(new) - (end - start)
                text = text[:start] + new + text[end:]
                self.assertEqual((document.text, document.size), (text, len(text)), seed)

    def test_marks_folds_and_links_move_with_what_comes_before_them(self) -> None:
        document = DrawnDocument()
        document.apply_patch(patch("a", 0, 0, "one\n"))
        document.apply_patch(patch("b", 4, 4, "two\n"))
        document.apply_patch(patch("a", 4, 4, "more\n"))
        document.apply_patch(patch("a", 0, 4, "changed\n"))
        self.assertEqual([link.argument for link in document.links_at(8)], ["more\n"])
        self.assertEqual([link.argument for link in document.links_at(13)], ["two\n"])
        self.assertEqual([link.argument for link in document.links_at(0)], ["changed\n"])
        self.assertEqual(document.links_at(1), [])

    def test_a_patch_that_does_not_fit_is_refused(self) -> None:
        document = DrawnDocument()
        document.apply_patch(patch("a", 0, 0, "one\n"))
        for bad in (patch("a", 0, 9, "x"), patch("b", 2, 2, "x"), patch("b", 7, 7, "x")):
            with self.assertRaises(Misplaced):
                document.apply_patch(bad)
            self.assertEqual(document.text, "one\n")


class Kept(unittest.TestCase):
    def test_a_damaged_file_of_unsent_texts_is_kept_beside_a_new_one(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "drafts.json")
            for damaged in (b'{"a": {"text": "half', b"\0" * 40, b"[" * 200_000):
                with open(path, "wb") as file:
                    file.write(damaged)
                self.assertIsNone(Drafts(path).text_of("a"))
                with open(path + ".damaged", "rb") as file:
                    self.assertEqual(file.read(), damaged)
                self.assertFalse(os.path.exists(path))

    def test_of_a_file_of_unsent_texts_only_what_cannot_be_read_is_left_out(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "drafts.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"a": {"text": "kept", "attached": 5}, "b": {"text": 5}, "c": 7}, file)
            found = Drafts(path)
            self.assertEqual([found.text_of(id) for id in "abc"], ["kept", None, None])

    def test_long_unsent_texts_are_written_out_on_the_writers_thread(self) -> None:
        threads: list[threading.Thread] = []

        def dumps(value: Any) -> str:
            threads.append(threading.current_thread())
            return json.dumps(value)

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "chats", "drafts.json")
            kept = Drafts(path)
            # The editor's thread saves none of it beside this one, or after the folder is gone.
            later = mock.patch.object(drafts, "SOON", 1 << 30)
            with later, mock.patch.object(drafts, "json", mock.Mock(dumps=dumps)):
                for number in range(3):
                    kept.keep_text(f"c{number}", "text" * number, folder)
                kept.finish()
            self.assertEqual(
                [Drafts(path).text_of(f"c{n}") for n in range(3)], ["", "text", "text" * 2]
            )
        self.assertNotIn(threading.current_thread(), threads)


class Undo(unittest.TestCase):
    def type(self, unsent: Unsent, text: str) -> None:
        for character in text:
            unsent.record_edit(unsent.text + character)

    def test_a_difference_makes_the_new_text_of_the_old_one(self) -> None:
        for seed in range(500):
            chance = random.Random(seed)
            old, new = ("".join(chance.choices("ab", k=chance.randrange(9))) for _ in range(2))
            found = text_difference(old, new)
            if found is None:
                self.assertEqual(old, new)
            else:
                end = found.at + len(found.removed)
                self.assertEqual(old[found.at : end], found.removed)
                self.assertEqual(old[: found.at] + found.inserted + old[end:], new)

    def test_words_are_undone_one_by_one_and_come_back(self) -> None:
        unsent = Unsent()
        self.type(unsent, "one two")
        self.assertIsNotNone(unsent.undo())
        self.assertEqual(unsent.text, "one ")
        unsent.redo()
        self.assertEqual(unsent.text, "one two")
        self.assertIsNone(unsent.redo())

    def test_deleted_characters_are_one_step(self) -> None:
        unsent = Unsent("word")
        for size in (3, 2, 1):
            unsent.record_edit("word"[:size])
        unsent.undo()
        self.assertEqual(unsent.text, "word")

    def test_undo_and_redo_walk_through_all_texts_there_were(self) -> None:
        for seed in range(100):
            chance, unsent, texts = random.Random(seed), Unsent(), [""]
            for _ in range(12):
                at = chance.randint(0, len(unsent.text))
                new = (
                    unsent.text[:at]
                    + chance.choice(("", "\n", "some words"))
                    + unsent.text[at + 2 :]
                )
                if new != unsent.text:
                    unsent.record_edit(new)
                    texts.append(new)
            walked = [unsent.text]
            while unsent.undo() is not None:
                walked.append(unsent.text)
            # What is undone in one step may have been several texts.
            positions = [texts.index(text) for text in walked]
            self.assertEqual(walked[-1], "")
            self.assertTrue(set(walked) <= set(texts), positions)
            while unsent.redo() is not None:
                pass
            self.assertEqual(unsent.text, texts[-1])

    def test_what_is_typed_after_an_undo_ends_the_redo(self) -> None:
        unsent = Unsent()
        self.type(unsent, "one two")
        unsent.undo()
        self.type(unsent, "x")
        self.assertIsNone(unsent.redo())
        self.assertEqual(unsent.text, "one x")
