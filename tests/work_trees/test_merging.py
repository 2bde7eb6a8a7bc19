"""What a change of a work tree makes of the user's own file."""

from __future__ import annotations

import codecs
import random
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from GeminiCompanion.companion.work_trees import merging
from GeminiCompanion.companion.work_trees.inside import FILE, LINK, NOTHING, PROGRAM, TreeContent
from GeminiCompanion.companion.work_trees.merging import encode_text, merge_change

OLD = b"one\ntwo\nthree\nfour\nfive\n"


def file(data: bytes, mode: str = FILE) -> TreeContent:
    return TreeContent(mode, data)


class Texts(unittest.TestCase):
    def test_the_changes_of_both_come_together(self) -> None:
        new, mine = OLD.replace(b"one", b"1"), OLD.replace(b"five", b"5")
        merged = merge_change(file(OLD), file(new), file(mine))
        self.assertEqual(merged.text, "1\ntwo\nthree\nfour\n5\n")
        self.assertEqual((merged.own.text, merged.conflicts), (mine.decode(), 0))

    def test_what_the_tab_has_unsaved_is_the_users_side(self) -> None:
        unsaved = OLD.decode().replace("five", "5")
        merged = merge_change(file(OLD), file(OLD.replace(b"one", b"1")), file(OLD), unsaved)
        self.assertEqual((merged.own.text, merged.text), (unsaved, unsaved.replace("one", "1")))
        self.assertIsNone(merged.exact)

    def test_a_conflict_is_marked_and_counted(self) -> None:
        new, mine = OLD.replace(b"one", b"1"), OLD.replace(b"one", b"I")
        merged = merge_change(file(OLD), file(new), file(mine))
        self.assertEqual(merged.conflicts, 1)
        self.assertIn("<<<<<<< proposal\n1\n=======\nI\n>>>>>>> your changes\n", merged.text or "")

    def test_of_a_file_as_it_was_the_bytes_are_those_of_the_tree(self) -> None:
        merged = merge_change(file(b"a\nb\n"), file(b"a\r\nc\nd"), file(b"a\nb\n"))
        self.assertEqual((merged.text, merged.exact), ("a\nc\nd", b"a\r\nc\nd"))

    def test_a_new_file_has_the_bytes_and_the_mode_of_the_tree(self) -> None:
        merged = merge_change(NOTHING, file(b"a\r\n", PROGRAM), NOTHING)
        self.assertEqual(
            (merged.exact, merged.mode, merged.note), (b"a\r\n", PROGRAM, merging.RUNS)
        )

    def test_of_a_new_file_without_a_line_it_is_said_that_there_is_one(self) -> None:
        merged = merge_change(NOTHING, file(b""), NOTHING)
        self.assertFalse(merged.is_nothing)
        self.assertEqual((merged.exact, merged.note), (b"", merging.EMPTY))

    def test_a_new_file_in_the_place_of_another_new_one_is_a_conflict(self) -> None:
        merged = merge_change(NOTHING, file(b"a\n"), file(b"b\n"))
        self.assertEqual(merged.conflicts, 1)

    def test_a_file_that_is_gone_in_the_tree_goes(self) -> None:
        merged = merge_change(file(OLD), NOTHING, file(OLD))
        self.assertEqual((merged.text, merged.is_removal, merged.note), ("", True, merging.GOES))

    def test_one_that_the_user_has_changed_meanwhile_is_a_conflict(self) -> None:
        merged = merge_change(file(OLD), NOTHING, file(OLD + b"more\n"))
        self.assertEqual(merged.conflicts, 1)

    def test_a_change_of_a_file_that_the_user_has_removed_is_a_conflict(self) -> None:
        merged = merge_change(file(OLD), file(OLD.replace(b"one", b"1")), NOTHING)
        self.assertEqual((merged.conflicts, merged.own.exists), (1, False))

    def test_that_a_file_can_be_run_now_is_said(self) -> None:
        merged = merge_change(file(OLD), file(OLD, PROGRAM), file(OLD + b"mine\n"))
        self.assertEqual((merged.mode, merged.note), (PROGRAM, merging.RUNS))
        self.assertEqual(merged.text, merged.own.text)

    def test_the_mode_that_the_user_gave_it_stays(self) -> None:
        merged = merge_change(file(OLD, PROGRAM), file(OLD + b"a\n", PROGRAM), file(OLD))
        self.assertEqual((merged.mode, merged.note), (FILE, ""))

    def test_line_ends_alone_are_said(self) -> None:
        merged = merge_change(file(OLD), file(OLD.replace(b"\n", b"\r\n")), file(OLD))
        self.assertEqual(merged.note, merging.LINE_ENDS)
        self.assertEqual(merged.exact, OLD.replace(b"\n", b"\r\n"))

    def test_what_the_user_has_already_is_nothing(self) -> None:
        new = OLD.replace(b"one", b"1")
        self.assertTrue(merge_change(file(OLD), file(new), file(new)).is_nothing)
        self.assertFalse(merge_change(file(OLD), file(new), file(OLD)).is_nothing)


class NoTexts(unittest.TestCase):
    def test_a_binary_file_takes_the_place_of_one_as_it_was(self) -> None:
        old, new = file(b"\0\xff1"), file(b"\0\xff22")
        merged = merge_change(old, new, old)
        self.assertEqual((merged.text, merged.whole), (None, new))
        self.assertEqual(merged.note, "Binary: 4 bytes, and 3 bytes before.")

    def test_it_takes_the_place_of_no_other_one(self) -> None:
        merged = merge_change(file(b"\0\xff1"), file(b"\0\xff2"), file(b"\0\xff3"))
        self.assertIsNone(merged.whole)
        self.assertIn(merging.BOTH, merged.note)

    def test_nor_of_unsaved_changes(self) -> None:
        old = file(b"text\n")
        self.assertIsNone(merge_change(old, file(b"\0\xff1"), old, "text\nmine\n").whole)

    def test_a_link_is_a_link_and_no_file(self) -> None:
        old, new = file(OLD), TreeContent(LINK, b"../elsewhere")
        merged = merge_change(old, new, old)
        self.assertEqual((merged.text, merged.whole), (None, new))
        self.assertEqual(merged.note, "A link to ../elsewhere.")

    def test_a_pipe_or_a_repository_is_never_taken(self) -> None:
        for mode in ("other", "160000"):
            merged = merge_change(file(OLD), TreeContent(mode), file(OLD))
            self.assertEqual((merged.text, merged.whole), (None, None))


class Encoded(unittest.TestCase):
    def test_rows_that_stay_keep_their_line_ends(self) -> None:
        own = file(b"a\r\nb\nc\r\nd\r\n")
        self.assertEqual(encode_text("a\nb\nnew\nd\n", own), b"a\r\nb\nnew\r\nd\r\n")

    def test_a_text_that_is_the_same_has_the_same_bytes(self) -> None:
        samples = [
            b"",
            b"a",
            b"a\r\nb",
            b"a\rb\r\n\nc\r",
            codecs.BOM_UTF8 + b"a\r\n",
            codecs.BOM_UTF16_LE + "a\r\nü\n".encode("utf-16-le"),
            codecs.BOM_UTF32_BE + "a\r\nü\n".encode("utf-32-be"),
            b"\xe4\r\n",
        ]
        for data in samples:
            text = merging._original_of(file(data))
            assert text is not None
            self.assertEqual(encode_text(text.text, file(data)), data)

    def test_random_line_ends_stay_in_rows_that_stay(self) -> None:
        for seed in range(300):
            rng = random.Random(seed)
            rows = [f"{number}" for number in range(rng.randrange(12))]
            data = "".join(row + rng.choice(["\n", "\r\n", "\r"]) for row in rows).encode()
            text = "".join(row + "\n" for row in rows)
            self.assertEqual(encode_text(text, file(data)), data)
            more = encode_text(text + "new\n", file(data))
            self.assertTrue(more.startswith(data))

    def test_a_character_that_the_encoding_lacks_is_refused(self) -> None:
        with self.assertRaises(UnicodeEncodeError):
            encode_text("ü€\n", file(b"\xe4\n"))


@unittest.skipUnless(shutil.which("git"), "needs git")
class AgainstGit(unittest.TestCase):
    """git's own merge of the same three files."""

    def merge_by_git(self, folder: Path, own: str, old: str, new: str) -> str | None:
        for name, text in (("own", own), ("old", old), ("new", new)):
            (folder / name).write_bytes(text.encode("utf-8"))
        words = ["git", "merge-file", "-p", "--diff3", "own", "old", "new"]
        done = subprocess.run(words, cwd=folder, capture_output=True)
        return done.stdout.decode("utf-8") if done.returncode == 0 else None

    def test_where_neither_has_a_conflict_both_give_the_same(self) -> None:
        clean = 0
        with tempfile.TemporaryDirectory() as name:
            for seed in range(80):
                rng = random.Random(seed)
                old = random_rows(rng, 40)
                new, own = change_rows(rng, old, "t"), change_rows(rng, old, "u")
                texts = ["".join(rows) for rows in (own, old, new)]
                by_git = self.merge_by_git(Path(name), *texts)
                left, right, mine = (file(texts[at].encode()) for at in (1, 2, 0))
                merged = merge_change(left, right, mine)
                if by_git is not None and not merged.conflicts:
                    clean += 1
                    self.assertEqual(merged.text, by_git, seed)
                for row in own:
                    # Nothing of the user's is lost: it is there, or the agent has removed a line
                    # that the user had left as it was.
                    self.assertTrue(row in (merged.text or "") or row in old, seed)
        self.assertGreater(clean, 20)


def random_rows(rng: random.Random, count: int) -> list[str]:
    return [f"line {number} {rng.randrange(1000)}\n" for number in range(count)]


def change_rows(rng: random.Random, rows: list[str], who: str) -> list[str]:
    found = list(rows)
    for number in range(rng.randrange(1, 4)):
        at = rng.randrange(len(found))
        what = rng.randrange(3)
        if what == 0:
            found[at] = f"{who} changed {number} {rng.randrange(1000)}\n"
        elif what == 1:
            found.insert(at, f"{who} added {number} {rng.randrange(1000)}\n")
        else:
            del found[at]
    return found
