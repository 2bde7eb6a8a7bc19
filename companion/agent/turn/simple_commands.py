"""Commands of a shell, as far as rules about them need to know: which of them are one simple
command, and what the parts of the others are. Which shell runs them is not known, so whatever has a
meaning in any of them counts."""

from __future__ import annotations

import posixpath
import re
import shlex
import unicodedata
from typing import Sequence

# What may begin another command, replace a part of this one, or lead its output elsewhere, in a
# POSIX shell, PowerShell or cmd.exe.
SPECIAL = re.compile(r"[;&|<>$`(){}%^!\\@]")
# What stands for other words than are written there.
UNCLEAR = re.compile(r"[$`{}%^\\@]")
# A pattern of file names within a word, from its first sign to its last.
GLOB = re.compile(r"[*?\[](?:.*[*?\[\]])?", re.DOTALL)
# The most parts of a path that are compared one by one.
MOST_PARTS = 50
BETWEEN = re.compile(r"\d*[<>]+|[;&|!`(){}\r\n]+|\$\(")
# What stands for nothing within a word: a line that goes on, an escape, a quote, nothing put in.
NOTHING = re.compile(r"\\\r?\n|[\\^\"']|\$\(\)|``")
# Blanks by other names.
BLANK = re.compile(r"\\\r?\n|\$\{?IFS\}?")
ASSIGNED = re.compile(r"\w+\+?=")
# A quote that goes on with a word, whose text may be read as more than one: -S"git push".
GLUED_QUOTE = re.compile(r"(?<=\S)[\"']")
# What stands before a word without a blank: --split-string=git, -iSgit, -cgit, and =git in zsh.
GLUED = re.compile(r"(?<!\S)(?:[\w.-]*=|-[a-zA-Z]*?S|-\w)")


def simple_command(line: str) -> str:
    """A command that does one thing, with single blanks between its words; "" for any other."""
    if SPECIAL.search(line) or _has_other_blank(line):
        return ""
    try:
        words = shlex.split(line)
    except ValueError:
        return ""
    if not words or ASSIGNED.match(words[0]):
        return ""
    # So that two words never look like one, nor one like two.
    return " ".join(f'"{word}"' if " " in word or not word else word for word in words)


def command_parts(line: str) -> list[str]:
    """All texts in which a forbidden command may stand: the parts of the line, without quotes."""
    pieces = [
        piece
        for text in (line, NOTHING.sub("", line))
        for piece in BETWEEN.split(BLANK.sub(" ", text))
    ]
    # A line that has nothing to be parted at is its only piece.
    return [
        " ".join(_shell_words(piece)) for piece in dict.fromkeys((line, *pieces)) if piece.strip()
    ]


def is_allowed(line: str, pattern: str) -> bool:
    """Whether the pattern matches one simple command, all of it; `*` stands for any text, and with
    a blank before it at the end also for none."""
    command = simple_command(line)
    return bool(command) and any(
        is_like(command, spelling) for spelling in _pattern_spellings(pattern)
    )


def is_named(line: str, pattern: str) -> bool:
    """Whether the pattern matches any part of a line, with whatever stands before it: a path, an
    assignment, another program that is to run it."""
    texts = [text.casefold() for text in command_parts(line)]
    patterns = _pattern_spellings(_plain_pattern(pattern))
    return any(_ends_like(text, ending) for text in texts for ending in patterns)


def may_be(line: str, pattern: str) -> bool:
    """Whether the line could do what the pattern matches, spelled otherwise: the words of the
    pattern stand there in their order, or not all of the line's words are plain."""
    blanks = line.translate({ord(blank): " " for blank in "\t\r\n"})
    if UNCLEAR.search(line) or _has_other_blank(blanks) or not _is_closed(line):
        return True
    apart = BETWEEN.sub(" ", line)
    plain, unquoted = (NOTHING.sub("", text) for text in (apart, GLUED_QUOTE.sub(" ", apart)))
    wanted = [_tidied_path(word) for word in _plain_pattern(pattern).split() if word != "*"]
    return any(_has_in_order(text, wanted) for text in {plain, unquoted, GLUED.sub(" ", plain)})


def is_like(text: str, pattern: str) -> bool:
    """Whether the whole text is as the pattern says, whose `*` stands for any text. In one pass:
    the text may be long, and made to be looked through again and again."""
    first, *others = pattern.split("*")
    if not others or not text.startswith(first):
        return text == pattern
    at = len(first)
    for each in others[:-1]:
        at = text.find(each, at)
        if at < 0:
            return False
        at += len(each)
    return len(text) - at >= len(others[-1]) and text.endswith(others[-1])


def _ends_like(text: str, pattern: str) -> bool:
    """Whether the pattern matches an end of the text that begins with a word."""
    first, star, _rest = pattern.partition("*")
    if not star:
        return text == pattern or text.endswith(tuple(separator + pattern for separator in " /\\"))
    found = re.search(rf"(?:^|(?<=[ /\\])){re.escape(first)}", text)
    # Where an earlier end does not fit, no later one does.
    return found is not None and is_like(text[found.start() :], pattern)


def _has_in_order(text: str, wanted: Sequence[str]) -> bool:
    words = iter(text.casefold().split())
    # Each is looked for behind the one before.
    return all(any(_may_be_word(word, each) for word in words) for each in wanted)


def _may_be_word(word: str, wanted: str) -> bool:
    """Whether an end of the path, or what is in that folder, may be it."""
    parts_of_path = _tidied_path(word).split("/")
    # Looked through from each part, a long one would take minutes.
    if len(parts_of_path) > MOST_PARTS:
        return True
    ends = ("/".join(parts_of_path[at:]) for at in range(len(parts_of_path)))
    return any(_may_be_name(end, wanted) or _may_be_name(f"{end}/", wanted) for end in ends)


def _may_be_name(name: str, wanted: str) -> bool:
    first, star, _between = wanted.partition("*")
    begun, glob, ended = GLOB.sub("*", name, count=1).partition("*")
    if glob and star:
        return begun.startswith(first) or first.startswith(begun)
    return is_like(wanted, f"{begun}*{ended}") if glob else is_like(name, wanted)


def _tidied_path(path: str) -> str:
    """The path without what leads nowhere: `a/b` for `./a//c/../b/`."""
    return posixpath.normpath(path)


def _plain_pattern(pattern: str) -> str:
    """The pattern as the parts of lines are: without quotes, with single blanks, in small
    letters."""
    return " ".join(NOTHING.sub("", pattern.casefold()).split())


def _pattern_spellings(pattern: str) -> tuple[str, ...]:
    return (pattern, pattern[:-2]) if pattern.endswith(" *") else (pattern,)


def _shell_words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        words = re.sub(r"[\"'\\]", "", text).split()
    # A word may be a command itself: sh -c "git push".
    return " ".join(words).split()


def _is_closed(line: str) -> bool:
    """Whether each quote in it has its end."""
    try:
        shlex.split(line)
    except ValueError:
        return False
    return True


def _has_other_blank(text: str) -> bool:
    # Of a long text there are few different signs.
    return any(unicodedata.category(char)[0] in "CZ" for char in {*text} - {" "})
