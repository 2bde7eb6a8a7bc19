"""What goes with a message: kept as JSON, named in the text, and put to the conversation."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import unittest
from dataclasses import asdict
from datetime import datetime, timezone

from GeminiCompanion.companion.agent.attachments import MAX_BYTES, Attachments
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.turn_events import Addition, Attachment, Message, QueuedMessage
from GeminiCompanion.companion.chat.attached import (
    BUILD_RESULTS,
    CONTEXT,
    FILE,
    FOLDER,
    IMAGE,
    SELECTION,
    Attached,
    add_attachments,
    from_json,
    outgoing_message,
    returned_attachments,
    split_said,
    words_of,
)
from GeminiCompanion.companion.chat.editor_context import HEAD
from GeminiCompanion.companion.chat.enclosed import (
    Enclosed,
    discard_enclosed,
    enclose_files,
    named_files,
)

A_SELECTION = Attached(SELECTION, "a.py", text="@a.py#L1\n\nx = 1")
A_CONTEXT = Attached(CONTEXT, "of the editor", text=f"{HEAD}In front: a.py.")
PNG = b"\x89PNG\r\n\x1a\n" + b"picture"


class Attaching(unittest.TestCase):
    def test_texts_stand_below_the_words_and_files_go_as_paths(self) -> None:
        attached = [
            Attached(SELECTION, "a.py", text="one\n"),
            Attached(FILE, "a.py", "/w/a.py"),
            Attached(FOLDER, "src", "/w/src"),
            Attached(IMAGE, "a.png", "/w/a.png"),
            Attached(IMAGE, "b.png", id="b" * 32),
            Attached(BUILD_RESULTS, "make", text="two"),
        ]
        made = outgoing_message("  Why?\n", attached)
        self.assertEqual(made.text, "Why?\n\none\n\ntwo")
        self.assertEqual(made.files, ("/w/a.py", "/w/src"))
        self.assertEqual((made.images, made.attachments), ((attached[3],), ("b" * 32,)))

    def test_what_is_attached_twice_is_attached_once(self) -> None:
        one, two = Attached(FILE, "a", "/a"), Attached(FILE, "b", "/b")
        self.assertEqual(add_attachments((one,), (two, one)), (one, two))

    def test_what_is_kept_is_the_same_when_it_is_read(self) -> None:
        attached = (Attached(FILE, "a", "/a"), Attached(SELECTION, "b", text="\ud800x"))
        self.assertEqual(from_json([asdict(attachment) for attachment in attached]), attached)

    def test_what_is_damaged_is_left_out_alone(self) -> None:
        good = {"kind": FILE, "name": "a", "path": "/a"}
        stored = [None, {"kind": "key"}, {"kind": [1]}, {**good, "text": 3}, good]
        self.assertEqual(from_json(stored), (Attached(FILE, "a", "/a"),))
        self.assertEqual(from_json({"kind": FILE}), ())

    def test_a_message_that_was_taken_back_has_what_went_with_it(self) -> None:
        image = Attachment("c" * 32, "c.png", "image/png", 3)
        now = datetime.now(timezone.utc)
        files, sent = ("/w/a",), outgoing_message("@b", (A_SELECTION, A_CONTEXT))
        message = QueuedMessage(
            "1", sent.text, now, files, (*files, "/w/b"), (image,), sent.additions
        )
        expected = (Attached(FILE, "a", "/w/a"), Attached(IMAGE, "c.png", id="c" * 32))
        self.assertEqual(returned_attachments(message), (*expected, A_SELECTION))
        self.assertEqual(words_of(message), "@b")

    def test_words_are_parted_from_what_goes_along_whatever_they_are_like(self) -> None:
        for words in ("Why?", f"one\n\n{HEAD}mine", "", "two\n\n\n\nthree"):
            for texts in ((), (A_CONTEXT,), (A_SELECTION, A_CONTEXT)):
                with self.subTest(words, texts=texts):
                    sent = outgoing_message(words, texts)
                    said = Message(sent.text, additions=sent.additions)
                    self.assertEqual(split_said(said), (words, texts))

    def test_a_text_that_somebody_has_changed_is_all_words(self) -> None:
        for size in (-1, 0, 3, 400):
            with self.subTest(size):
                said = Message("Why?\n\nmore", additions=(Addition(SELECTION, "a", size),))
                self.assertEqual(split_said(said), ("Why?\n\nmore", ()))


class Enclosing(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.attachments = Attachments(os.path.join(self.folder, "conversation"))

    def write(self, name: str, content: bytes = b"") -> str:
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def enclose(self, text: str, *images: str) -> Enclosed:
        given = [Attached(IMAGE, os.path.basename(image), image) for image in images]
        return asyncio.run(enclose_files(text, given, self.folder, self.attachments))

    def test_a_message_names_files_with_and_without_their_lines(self) -> None:
        for name in ("a.py", "b c.py", "d#L1"):
            self.write(name)
        for text, names in (
            ("see @a.py#L10-20, please", ["a.py"]),
            ("@a.py#L3.", ["a.py"]),
            ("@b\\ c.py#L3 and @a.py", ["b c.py", "a.py"]),
            ('@"b c.py"#L3', ["b c.py"]),
            ("@d#L1", ["d#L1"]),
            ("ann@a.py, @., @.., @gone.py", []),
        ):
            with self.subTest(text):
                expected = tuple(os.path.join(self.folder, name) for name in names)
                self.assertEqual(named_files(text, self.folder), expected)

    def test_images_become_attachments_of_the_conversation(self) -> None:
        made = self.enclose("look", self.write("a.png", PNG))
        (found,) = self.attachments.list_all()
        self.assertEqual((made.attachments, found.name), ((found.id,), "a.png"))
        asyncio.run(discard_enclosed(made, self.attachments))
        self.assertEqual(self.attachments.list_all(), [])

    def test_one_image_that_cannot_be_read_leaves_none_behind(self) -> None:
        good, gone = self.write("a.png", PNG), os.path.join(self.folder, "gone.png")
        for bad in (gone, self.folder, self.write("b.png", b"text")):
            with self.subTest(bad), self.assertRaises(AgentError):
                self.enclose("look", good, bad)
            self.assertEqual(self.attachments.list_all(), [])

    def test_an_image_that_is_too_large_is_not_read_as_a_whole(self) -> None:
        large = self.write("a.png")
        os.truncate(large, MAX_BYTES + 1)
        with self.assertRaisesRegex(AgentError, "more than"):
            self.enclose("look", large)
