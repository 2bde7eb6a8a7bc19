"""Files that a message names, and words that are none."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.base.mentions import MAX_COUNT, mentioned_files

FILES = {"a.txt", "src/main.py", "with blank.txt", "odd,name.txt", "folder", "dir.", "ünï.txt"}


def found(text: str) -> list[str]:
    return mentioned_files(text, lambda path: path if path in FILES else None)


class Mentions(unittest.TestCase):
    def test_paths_are_found_wherever_they_stand(self) -> None:
        for text, expected in (
            ("@a.txt", ["a.txt"]),
            ("look at @a.txt, please", ["a.txt"]),
            ("(see @src/main.py)", ["src/main.py"]),
            ("@a.txt.", ["a.txt"]),
            ("in\n@folder\nis @ünï.txt?", ["folder", "ünï.txt"]),
            (r"@with\ blank.txt", ["with blank.txt"]),
            ('@"with blank.txt".', ["with blank.txt"]),
            ("@odd,name.txt,", ["odd,name.txt"]),
            ("@dir. is one", ["dir."]),
            ("@a.txt @src/main.py @a.txt", ["a.txt", "src/main.py"]),
        ):
            with self.subTest(text):
                self.assertEqual(found(text), expected)

    def test_other_words_stay_words(self) -> None:
        for text in (
            "me@a.txt", "@", "@ a.txt", "@missing", "@@a.txt", "@app.route('/')", '@"', "x.@a.txt",
            "@types/node and @/components", "\\@", "@" * 5000, "@" + "a" * 5000, '@"' + "x" * 5000,
        ):  # fmt: skip
            with self.subTest(text[:20]):
                self.assertEqual(found(text), [])

    def test_of_very_many_not_all_are_looked_for(self) -> None:
        asked: list[str] = []

        def find(path: str) -> None:
            asked.append(path)

        mentioned_files(" ".join(f"@{number}" for number in range(100_000)), find)
        self.assertEqual(len(asked), MAX_COUNT)
