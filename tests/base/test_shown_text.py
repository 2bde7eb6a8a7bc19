"""What a person sees of a text that others wrote: all of it that matters, and prose as it is."""

from __future__ import annotations

import random
import re
import string
import time
import unicodedata
import unittest

from GeminiCompanion.companion.base.shown_text import Remarks, show_hidden, shown_line, spell_hidden

# What Unicode says is not drawn (Default_Ignorable_Code_Point), and what is drawn as nothing.
IGNORABLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5),
    (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164),
    (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
    (0x00, 0x08), (0x0B, 0x1F), (0x7F, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
    (0x202F, 0x202F), (0x205F, 0x205F), (0x2800, 0x2800), (0x3000, 0x3000), (0xD800, 0xF8FF),
    (0xFFF9, 0xFFFC), (0x16FE4, 0x16FE4), (0x1D159, 0x1D159), (0xF0000, 0x10FFFF),
)  # fmt: skip
PROSE = {
    "English": "Don't — “stop” at 5 °C… it's 100 % done: naïve café, ½ ™ © × → ✓ │ ▓ ⠿",
    "code": "if a < b and b <= c: print('<U+', \"<p>\")\n\treturn x  # a\n\n\nclass A:\n    pass\n",
    "French": "Réparer\u202f: «\u00a0oui\u00a0», vraiment\u00a0!",
    "Chinese": "　　中文段落，「引号」　第二段。\n文件 (1)、Ａ１",
    "Japanese": "日本語の説明　カタカナ・ひらがな、葛\U000e0100城",
    "Korean": "한국어 설명, 조합형 \u1112\u1161\u11ab",
    "Hebrew": "שָׁלוֹם עוֹלָם, קובץ 3",
    "Arabic": "السَّلامُ عليكم، ملف ٣",
    "Persian": "می\u200cخواهم کتاب\u200cها",
    "Hindi": "क्षत्रिय, क्\u200dष, क्\u200cष",
    "Sinhala": "ශ්\u200dරී ලංකා",
    "Bengali": "র\u200d্যাব",
    "Thai": "ภาษาไทย น้ำ",
    "Tibetan": "བོད་ཡིག",
    "Mongolian": "ᠭᠣᠣ\u180bᠯ",
    "Vietnamese": "Tie\u0302\u0301ng Vie\u0323\u0302t",
    "emoji": "❤\ufe0f ✈\ufe0e 🏳\ufe0f\u200d🌈 👨🏽\u200d🚀 😶\u200d🌫\ufe0f 🙂\u200d↔\ufe0f",
    "people": "👩\u200d💻 🧑🏽\u200d❤\ufe0f\u200d💋\u200d🧑🏻",
    "flags": "🇩🇪🇨🇳 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "keys": "1\ufe0f\u20e3 #\ufe0f\u20e3",
    "what is newer than an old Python": "\U0001fae0 \U0001faf8 \U00031350",
}  # fmt: skip
NASTY = (
    "a", "b", " ", " ", "  ", 41 * " ", 45 * "\t", "\t", "\n", "\n\n\n\n", "\r", "\r\n",
    "\\", "^", "`", "<", ">", "U+", "200B", "003C", " ×2", "40", " spaces", " blank lines",
    " spaces and tabs", "<U+200B>", "<40 blank lines>", "<U+003C>", "1", "#", "!", "«",
    "\u200b", "\u200d", "\u200c", "\u202e", "\u3164", "\u034f", "\u2800", "\ufe0f", "\u20e3",
    "\u00a0", "\u3000", "\u0301", 9 * "\u0301", "\u094d", "\u17b4", "\ud800", "\x1b",
    "中", "م", "क", "❤", "👩", "🏴", "\U000e0067", "\U000e007f", "\U000e0100", "\u180b", "ᠭ",
)  # fmt: skip
HIDDEN = "\u202e\u200b\u3164\uffa0\u115f\u1160\u034f\u2800\ufe0f\u17b4\u180b\xad\x1b\r\x00"
IDLE_JOINERS = ("a\u200db", "1\u200d2", "د\u200cب", "a\u200cb", "1\ufe0f", "a\ufe0f", "م\u200c b")


def is_ignorable(letter: str) -> bool:
    return any(first <= ord(letter) <= last for first, last in IGNORABLE)


def letters_of(line: str) -> str:
    """The line with its characters that were spelled out."""

    def meant(found: re.Match[str]) -> str:
        return chr(int(found.group(1), 16)) * int(found.group(2) or 1)

    return re.sub(r"<U\+([0-9A-F]{4,6})(?: ×(\d+))?>", meant, line)


def read_back(text: str) -> str:
    """What a reader who knows the notation takes a shown text for."""

    def blanks(found: re.Match[str]) -> str:
        return int(found.group(1)) * {"spaces": " ", "spaces and tabs": "\t"}[found.group(2)]

    lines: list[str] = []
    for line in text.split("\n"):
        folded = re.fullmatch("<([0-9]+) blank lines>", line)
        if folded:
            lines += int(folded.group(1)) * [""]
        else:
            lines.append(letters_of(re.sub("<([0-9]+) (spaces and tabs|spaces)>", blanks, line)))
    return "\n".join(lines)


def without_order_of_blanks(text: str) -> str:
    """Blank lines have nothing in them, and many spaces and tabs in a row are tabs."""
    lines = [line if line.strip(" \t") else "" for line in text.split("\n")]

    def tabs(found: re.Match[str]) -> str:
        run = found.group()
        return len(run) * "\t" if "\t" in run else run

    return re.sub("[ \t]{41,}", tabs, "\n".join(lines))


class Attacks(unittest.TestCase):
    def test_blank_lines_that_push_a_command_out_of_sight_are_folded_with_their_count(self) -> None:
        self.assertEqual(
            show_hidden("ls -la" + 41 * "\n" + "touch a"), "ls -la\n<40 blank lines>\ntouch a"
        )
        self.assertEqual(
            show_hidden("ls\n \n\t\n" + 60 * " " + "\nrm a"), "ls\n<3 blank lines>\nrm a"
        )

    def test_two_blank_lines_stay_three_are_folded(self) -> None:
        self.assertEqual(show_hidden("a\n\n\nb"), "a\n\n\nb")
        self.assertEqual(show_hidden("a\n\n\n\nb"), "a\n<3 blank lines>\nb")

    def test_blank_lines_are_folded_at_both_ends_too(self) -> None:
        for text, expected in {
            "": "", "\n": "\n", "a\n": "a\n", "\n\n\n\n": "<4 blank lines>\n",
            "\n\n\na": "<3 blank lines>\na", "a\n\n\n\n": "a\n<3 blank lines>\n", " ": "",
        }.items():  # fmt: skip
            with self.subTest(text):
                self.assertEqual(show_hidden(text), expected)

    def test_many_spaces_and_tabs_are_folded_with_their_count(self) -> None:
        self.assertEqual(show_hidden("ls" + 60 * " " + "; rm a"), "ls<60 spaces>; rm a")
        self.assertEqual(show_hidden("ls" + 30 * " \t" + "; rm a"), "ls<60 spaces and tabs>; rm a")
        self.assertEqual(shown_line("ls" + 30 * " \t" + "a"), "ls<60 spaces and tabs>a")
        self.assertEqual(show_hidden(40 * " " + "a"), 40 * " " + "a")

    def test_remarks_are_in_the_language_of_the_reader(self) -> None:
        remarks = Remarks("{count} 个空行", "{count} 个空格", "{count} 个空格和制表符")
        self.assertEqual(
            show_hidden("a\n\n\n\nb" + 41 * " ", remarks), "a\n<3 个空行>\nb<41 个空格>"
        )
        self.assertEqual(show_hidden("<3 个空行>", remarks), "<U+003C>3 个空行>")

    def test_characters_that_nobody_sees_are_spelled_out(self) -> None:
        for letter in HIDDEN:
            code = f"{ord(letter):04X}"
            with self.subTest(code):
                self.assertEqual(show_hidden(f"a{letter}b"), f"a<U+{code}>b")
                self.assertEqual(shown_line(f"a{letter}{letter}b"), f"a<U+{code} ×2>b")

    def test_letters_of_a_flag_that_no_font_draws_are_spelled_out(self) -> None:
        hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "rmrf\x7f")
        self.assertEqual(show_hidden("🏴" + hidden[0]), "🏴<U+E0072>")
        self.assertTrue(show_hidden("🏴" + hidden).startswith("🏴<U+E0072>"))

    def test_joiners_are_spelled_out_where_they_change_no_letter(self) -> None:
        for text in IDLE_JOINERS:
            with self.subTest(ascii(text)):
                self.assertIn("<U+", show_hidden(text))

    def test_spaces_that_look_like_plain_ones_are_spelled_out(self) -> None:
        self.assertEqual(show_hidden("rm a\u00a0b"), "rm a<U+00A0>b")
        self.assertEqual(show_hidden("ls\u3000-la"), "ls<U+3000>-la")
        self.assertEqual(show_hidden("中" + 9 * "\u3000" + "; rm a"), "中<U+3000 ×9>; rm a")

    def test_a_space_that_ends_what_looks_like_a_continued_line_is_spelled_out(self) -> None:
        self.assertEqual(show_hidden("echo a \\ \nrm b"), "echo a \\<U+0020>\nrm b")
        self.assertEqual(show_hidden("echo a `\t\nrm b ^  "), "echo a `<U+0009>\nrm b ^<U+0020 ×2>")

    def test_marks_without_a_letter_and_too_many_of_them_are_spelled_out(self) -> None:
        self.assertEqual(show_hidden("a\n\u0338b"), "a\n<U+0338>b")
        self.assertEqual(show_hidden("\u200b\u0338"), "<U+200B><U+0338>")
        self.assertEqual(show_hidden("e" + 20 * "\u0301"), "e" + 8 * "\u0301" + "<U+0301 ×12>")
        self.assertIn("×", show_hidden("م" + 20 * "\u0651" + "\u200cم"))

    def test_what_looks_like_a_remark_or_a_spelled_character_and_is_not_is_told_apart(self) -> None:
        for text in ("<U+200B>", "<U+1F600 ×3>", "<40 blank lines>", "<2 spaces and tabs>"):
            with self.subTest(text):
                self.assertEqual(show_hidden(text), "<U+003C>" + text[1:])
        self.assertEqual(
            spell_hidden("<40 blank lines><U+200B>"), "<40 blank lines><U+003C>U+200B>"
        )

    def test_a_name_stands_in_one_line_with_its_outer_spaces_seen(self) -> None:
        self.assertEqual(shown_line("a\nb\tc"), "a<U+000A>b<U+0009>c")
        self.assertEqual(shown_line("  a b.py "), "<U+0020 ×2>a b.py<U+0020>")
        self.assertEqual(shown_line(""), "")
        self.assertEqual(shown_line("a" + 300_000 * " " + "b"), "a<300000 spaces>b")
        self.assertEqual(shown_line("src/файл 1.py"), "src/файл 1.py")


class Effort(unittest.TestCase):
    def effort(self, text: str) -> float:
        def once() -> float:
            begin = time.process_time()
            spell_hidden(text)
            return time.process_time() - begin

        return min(once() for _ in range(3))

    def test_hidden_characters_in_a_row_are_not_looked_at_one_by_one(self) -> None:
        in_a_row = self.effort("\u200b\u202e" * 20_000)
        between_letters = self.effort("a\u200ba\u202e" * 20_000)
        self.assertLess(3 * in_a_row, between_letters)


class Prose(unittest.TestCase):
    def test_prose_of_all_scripts_and_emoji_stay_as_they_are(self) -> None:
        for name, text in PROSE.items():
            with self.subTest(name):
                self.assertEqual(show_hidden(text), text)
                self.assertEqual(spell_hidden(text), text)

    def test_every_letter_that_can_be_seen_stays_and_no_other_does(self) -> None:
        lost, left = set(), set()
        # Of the planes that are all alike the first and the last part.
        for start in (*range(0, 0x21000, 0x1000), 0x3F000, 0xE0000, 0xEF000, 0xF0000, 0x10F000):
            letters = [chr(code) for code in range(start, start + 0x1000)]
            rest = re.sub(
                r"<U\+[0-9A-F]+(?: ×\d+)?>", "", show_hidden("x" + "x".join(letters) + "x")
            )
            left |= set(rest)
            lost |= set(letters) - set(rest)
        self.assertEqual(
            {ascii(letter) for letter in left - {"\n", "\t"} if is_ignorable(letter)}, set()
        )
        # Of single scripts, and what this Python does not know.
        lost = {letter for letter in lost if unicodedata.category(letter) not in ("Cf", "Cn")}
        self.assertEqual({ascii(letter) for letter in lost if not is_ignorable(letter)}, set())


class Properties(unittest.TestCase):
    """Of texts put together at random from what is hard."""

    def texts(self) -> list[str]:
        chance = random.Random(23)
        return ["".join(chance.choices(NASTY, k=chance.randrange(12))) for _ in range(300)]

    def test_two_texts_show_alike_only_where_no_more_than_the_order_of_blanks_differs(self) -> None:
        for text in self.texts():
            meant = without_order_of_blanks(read_back(show_hidden(text)))
            self.assertEqual(meant, without_order_of_blanks(text), ascii(text))

    def test_two_names_show_alike_only_where_no_more_than_the_order_of_blanks_differs(self) -> None:
        for text in self.texts():
            line = shown_line(text)
            self.assertNotIn("\n", line)
            meant = without_order_of_blanks(read_back("x" + line + "x"))
            self.assertEqual(meant, without_order_of_blanks("x" + text + "x"), ascii(text))

    def test_a_plain_name_shows_as_it_does_beside_a_letter_that_is_not_ascii(self) -> None:
        chance = random.Random(24)
        letters = string.printable + "<<>> \x7f"
        for text in ("".join(chance.choices(letters, k=4)) for _ in range(300)):
            beside = shown_line(f"я{text}я")[1:-1]
            self.assertEqual(shown_line(f"x{text}x")[1:-1], beside, ascii(text))

    def test_spelled_out_characters_leave_the_lines_of_a_text(self) -> None:
        for text in self.texts():
            self.assertEqual(spell_hidden(text).count("\n"), text.count("\n"), ascii(text))
            self.assertEqual(letters_of(spell_hidden(text)), text)
