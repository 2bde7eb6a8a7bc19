"""Commands, paths, names and labels as a person sees them before a decision. Characters that nobody
would see are spelled out, and text that would push something out of sight is folded. Pure.

    show_hidden("rm \\u202egpj.exe")        rm <U+202E>gpj.exe
    show_hidden("ls" + 41 * "\\n" + "rm a") ls, <40 blank lines>, rm a
    show_hidden("ls" + 60 * " " + "; rm a") ls<60 spaces>; rm a
    shown_line("a\\nb")                     a<U+000A>b

Prose stays unchanged: the letters of all scripts with their marks, emoji, flags, and invisible
characters that change how the letters beside them look. Two texts that look the same differ only in
blanks on blank lines, in the order of many spaces and tabs, or in letters that look alike.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache, partial
from itertools import groupby
from operator import itemgetter
from typing import Dict, Iterable, Iterator, NamedTuple, Sequence

# So many blank lines, and so many spaces or tabs (the width of a phone), are not folded.
MAX_BLANK_LINES, MAX_SPACES = 2, 40
# Marks above and below one letter; scripts need up to seven.
MAX_MARKS = 8

# Their category is visible, but they are blank or nothing at all: joiners, fillers, selectors of
# variants, empty cells. Ranges, including the last one.
BLANK = (
    (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800),
    (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xFFFC, 0xFFFC), (0x16FE4, 0x16FE4),
    (0x1D159, 0x1D159), (0xE0100, 0xE01EF),
)  # fmt: skip
# Their category is invisible, but they are signs around numbers or above words.
SIGNS = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
# Blocks of emoji and ideographs; an old Python does not know the newest characters in them.
GROWING = ((0x1F000, 0x1FAFF), (0x20000, 0x2FFFD), (0x30000, 0x3FFFD))

_SGR = re.compile("\x1b\\[[0-9;:]*m")
_LONG_RUN = re.compile(f"[ \t]{{{MAX_SPACES + 1},}}")
# At the end of a line one of these continues a command; with a space after it, it does not.
_ESCAPED_END = r"(?:(?<=[\\^])|(?<=\s`))[ \t]+$"
# Words of printable ASCII with single spaces between them, or nothing; without characters that
# could begin a remark.
_PLAIN_LINE = re.compile(r"|[!-;=-~]+(?: [!-;=-~]+)*")
# Spaces that nobody sees around a name.
_OUTER_SPACES = r"\A[ \t]+|(?<![ \t])[ \t]+\Z"
# The form of a character that is spelled out.
_SPELLED = r"U\+[0-9A-F]{4,6}(?: ×\d+)?"

# Characters that may be drawn in two ways, among them the parts of joined pictures.
_PICTURE = (
    "\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0"
    "\u25fb-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297"
    "\u3299\U0001f000-\U0001faff"
)
_TWO_WAYS = "\u00a9\u00ae\u203c\u2049\u2122\u2139" + _PICTURE
_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_WIDE = "\u2e80-\u2fff\u3001-\u33ff\uac00-\ud7a3\uff01-\uff60" + _HAN
_MONGOLIAN = "\u1820-\u1878\u1880-\u18aa"
_OF_HAN = "\ufe00-\ufe02\U000e0100-\U000e01ef"
# England, Scotland, Wales: a black flag and invisible letters, of which the first is G.
_LANDS = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in land) for land in ("beng", "bsct", "bwls")
)
# Invisible characters that belong to the characters beside them. Each alternative begins with the
# character itself, so the engine skips all others at once.
_IN_PLACE = re.compile(
    "|".join(
        (
            f"\U000e0067(?<=\U0001f3f4\U000e0067)(?:{_LANDS})\U000e007f",
            f"[\ufe0e\ufe0f](?<=[{_TWO_WAYS}][\ufe0e\ufe0f])",
            # A key, such as that of a telephone.
            "\ufe0f(?<=[#*0-9]\ufe0f)\u20e3",
            # A picture that is joined may have a selector.
            f"\u200d(?=[{_PICTURE}])(?:(?<=[{_PICTURE}]\u200d)|(?<=[{_PICTURE}]\ufe0f\u200d))",
            f"[{_OF_HAN}](?<=[{_HAN}][{_OF_HAN}])",
            f"[\u180b-\u180f](?<=[{_MONGOLIAN}][\u180b-\u180f])",
            f"\u3000(?<=[{_WIDE}]\u3000)\u3000{{0,3}}(?!\u3000)",
            f"\u3000(?<!\u3000\u3000)\u3000{{0,3}}(?=[{_WIDE}])",
            # French typography, before and after these.
            r"[\u00a0\u202f](?<=\w[\u00a0\u202f])(?=[:;!?»])",
            r"[\u00a0\u202f](?<=«[\u00a0\u202f])",
        )
    )
)
# The first characters of these, and joiners.
_MAY_BE_IN_PLACE = (
    "\u00a0\u180b-\u180f\u200c\u200d\u202f\u3000\ufe00-\ufe02\ufe0e\ufe0f\U000e0067"
    "\U000e0100-\U000e01ef"
)
_APART, _TOGETHER = "\u200c", "\u200d"
_REPEATED = re.compile(r"(.)\1+", re.DOTALL)


class Remarks(NamedTuple):
    """The text for something that is folded, in the reader's language, with {count}."""

    blank_lines: str = "{count} blank lines"
    spaces: str = "{count} spaces"
    spaces_and_tabs: str = "{count} spaces and tabs"


ENGLISH = Remarks()


def show_hidden(text: str, remarks: Remarks = ENGLISH) -> str:
    """The text with its lines. A "<" that looks like the beginning of a remark or of a character
    that is spelled out is itself spelled out."""
    lines = []
    blank = 0
    for line in _without_hidden(text, "\n\t", _lookalike_pattern(remarks)).split("\n"):
        if not line.strip(" \t"):
            blank += 1
            continue
        lines += [*_blank_lines(blank, remarks), _fold_runs(line, remarks)]
        blank = 0
    # There is no line after the last line end.
    ends = text.endswith("\n")
    return "\n".join([*lines, *_blank_lines(blank - ends, remarks), *([""] if ends else [])])


def shown_line(text: str, remarks: Remarks = ENGLISH) -> str:
    """The text in one line: a path, a name, a label."""
    if _PLAIN_LINE.fullmatch(text):
        return text
    line = _without_hidden(text, "\t", f"{_OUTER_SPACES}|{_lookalike_pattern(remarks)}")
    return _fold_runs(line, remarks).replace("\t", "<U+0009>")


def spell_hidden(text: str) -> str:
    """The text with its lines unchanged. Characters that nobody would see, or that would turn
    others around, are spelled out."""
    return _without_hidden(text, "\n\t", _lookalike_pattern())


def drop_colours(text: str) -> str:
    """The text without the sequences that a terminal draws colours and styles for (SGR of ECMA-48).
    All other control sequences stay, because a terminal might hide text by them."""
    return _SGR.sub("", text) if "\x1b" in text else text


def hidden_parts(text: str, kept: str = "\n\t") -> Iterator[tuple[int, int, str]]:
    """The places of characters that nobody would see, from and to, each with the same characters
    spelled out; except the characters in `kept`."""
    return _spelled_parts(text, kept, "")


def _without_hidden(text: str, kept: str, more: str) -> str:
    """The text with invisible characters spelled out, except those in `kept`. `more` is a pattern
    of other text to spell out."""
    pieces, end = [], 0
    for start, after, told in _spelled_parts(text, kept, more):
        pieces += [text[end:start], told]
        end = after
    return "".join([*pieces, text[end:]]) if pieces else text


def _spelled_parts(text: str, kept: str, more: str) -> Iterator[tuple[int, int, str]]:
    spelling = _Spelling()
    for start, after in _hidden_parts(text, kept, more):
        yield start, after, _spell_characters(text[start:after], spelling)


def _hidden_parts(text: str, kept: str, more: str) -> Iterator[tuple[int, int]]:
    """The places of these parts, from and to."""
    letters = sorted(set(text))
    hidden = [letter not in kept and is_hidden(letter) for letter in letters]
    marks = [not is_hid and _is_mark(letter) for letter, is_hid in zip(letters, hidden)]
    pattern = _hidden_pattern(
        _letters_of_class(letters, hidden), _letters_of_class(letters, marks), more
    )
    at, found = 0, pattern.search(text)
    while found is not None:
        start, at = found.span()
        end = _end_in_place(text, start) if found.lastgroup == "one" else start
        if end == start:
            yield start, at
        else:
            at = end
        found = pattern.search(text, at)


def _letters_of_class(letters: Sequence[str], chosen: Sequence[bool]) -> str:
    """The content of the brackets of a pattern for the chosen letters, which are in order. A range
    may include characters that are not among the letters. Single characters would be slow: the
    engine searches a class of very many for each character."""
    parts = []
    for is_chosen, group in groupby(zip(chosen, letters), itemgetter(0)):
        if is_chosen:
            run = [letter for _, letter in group]
            parts.append(f"\\U{ord(run[0]):08x}-\\U{ord(run[-1]):08x}")
    return "".join(parts)


@lru_cache(maxsize=4096)
def is_hidden(letter: str) -> bool:
    """Whether a reader would not see the letter, would take it for a plain space, or cannot know
    how it is drawn."""
    code, category = ord(letter), unicodedata.category(letter)
    if _is_in(code, BLANK):
        return True
    if category == "Cn" and _is_in(code, GROWING):
        return False
    return category[0] in "CZ" and letter != " " and letter not in SIGNS


def is_unseen(text: str) -> bool:
    """Whether a reader sees nothing of the text, and no plain space."""
    return all(is_hidden(letter) or _is_mark(letter) for letter in text)


def _is_in(code: int, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(first <= code <= last for first, last in ranges)


def _is_mark(letter: str) -> bool:
    return unicodedata.category(letter) in ("Mn", "Me")


@lru_cache(maxsize=256)
def _hidden_pattern(hidden: str, marks: str, more: str) -> re.Pattern[str]:
    """What to spell out in a text with these characters; the group `one` may be in its place."""
    parts = []
    if hidden:
        parts.append(rf"(?:(?![{_MAY_BE_IN_PLACE}])[{hidden}])+")
        parts.append(rf"(?P<one>[{hidden}])(?P=one)*")
    parts += [_ESCAPED_END, *([more] if more else [])]
    if marks:
        # Without a letter below them, or more than a letter can have.
        parts.append(rf"(?:\A|(?<=[\s{hidden}]))[{marks}]+")
        parts.append(f"(?<=[{marks}]{{{MAX_MARKS}}})[{marks}]+")
    return re.compile("|".join(parts), re.MULTILINE)


def _end_in_place(text: str, at: int) -> int:
    """Where the characters from `at` that belong there end; `at` if they do not."""
    found = _IN_PLACE.match(text, at)
    if found is not None:
        return found.end()
    if text[at] not in (_APART, _TOGETHER):
        return at
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if _is_virama(before) or (text[at] == _APART and _is_cut(text, at)):
        return at + 1
    return at + 2 if before.isalnum() and text[at] == _TOGETHER and _is_virama(after) else at


def _is_virama(letter: str) -> bool:
    """Whether it removes a letter's vowel, and so joins it to the next, in scripts of India."""
    return bool(letter) and unicodedata.combining(letter) == 9


def _is_cut(text: str, at: int) -> bool:
    """Whether the Arabic letters before and after would be joined."""
    before = at - 1
    while before > max(0, at - 1 - MAX_MARKS) and _is_mark(text[before]):
        before -= 1
    return _has_form(text[before:at][:1], "INITIAL") and _has_form(text[at + 1 : at + 2], "FINAL")


@lru_cache(maxsize=1024)
def _has_form(letter: str, form: str) -> bool:
    try:
        unicodedata.lookup(f"{unicodedata.name(letter)} {form} FORM")
    except (KeyError, TypeError, ValueError):
        return False
    return True


class _Spelling(Dict[int, str]):
    """Spelled-out characters, as a table for `str.translate`."""

    def __missing__(self, code: int) -> str:
        told = self[code] = f"<U+{code:04X}>"
        return told


def _spell_characters(text: str, spelling: _Spelling) -> str:
    """The characters of the text spelled out; a repeated one once, with its count."""
    if len(text) == 1:
        return spelling[ord(text)]
    pieces, end = [], 0
    for found in _REPEATED.finditer(text):
        start, after = found.span()
        told = spelling[ord(text[start])][:-1]
        pieces += [text[end:start].translate(spelling), f"{told} ×{after - start}>"]
        end = after
    return "".join([*pieces, text[end:].translate(spelling)])


def _lookalike_pattern(remarks: Sequence[str] = ()) -> str:
    """A pattern of text that begins like the inserted remarks."""
    known = (re.escape(remark).replace(re.escape("{count}"), r"\d+") for remark in remarks)
    return f"<(?=(?:{'|'.join([_SPELLED, *known])})>)"


def _fold_runs(line: str, remarks: Remarks) -> str:
    return _LONG_RUN.sub(partial(_count_remark, remarks), line)


def _count_remark(remarks: Remarks, found: re.Match[str]) -> str:
    is_plain = "\t" not in found.group()
    remark = remarks.spaces if is_plain else remarks.spaces_and_tabs
    return _format_remark(remark, len(found.group()))


def _blank_lines(count: int, remarks: Remarks) -> list[str]:
    if count <= MAX_BLANK_LINES:
        return [""] * count
    return [_format_remark(remarks.blank_lines, count)]


def _format_remark(template: str, count: int) -> str:
    return f"<{template.replace('{count}', str(count))}>"
