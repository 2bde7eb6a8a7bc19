"""What the documents say of commands, settings and tests, and what comments cite of them."""

from __future__ import annotations

import ast
import functools
import glob
import io
import os
import re
import tokenize
import unittest
from typing import Iterator

from GeminiCompanion.headless.values import parse
from GeminiCompanion.tools import package

from .command_table import lists, rows

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = ("install", "first-diff", "review", "chat", "commands", "settings", "troubleshooting")
# What the pages set like captions, of Package Control, of Gemini CLI, and keys.
ELSEWHERE = (
    *("Add Repository", "Install Package", "Yes", "No (esc)"),
    *("Ctrl+Enter", "Alt+Enter", "Escape"),
)
# A file of tests, a test's name as a sentence, or a class of tests.
PROOF = r'([\w/]*test_\w+)|"([^"]+)"|\b([A-Z]\w+)'
# Pages whose items comments cite by number.
NUMBERED = ("protocol.md", "sublime.md", "gemini-cli-acp.md")
NUMBER = r"\d+(?:\.\d+)?"
TOP_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "headless/README.md")
# How notes were cited that are in no repository.
FOREIGN = r"contract B?\d|\bB\d\.\d+|contract\.md|(?<!docs/)\b(?:sublime|protocol)\.md"
# One of these is in each of them, whatever line it goes on in.
FOREIGN_WORDS = r"\bcontract\b|\bB\d|\b(?:sublime|protocol)\.md"


@functools.lru_cache(maxsize=None)
def read(*parts: str) -> str:
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def pages() -> list[str]:
    """Every document, relative to the root."""
    found = glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True)
    return [*TOP_PAGES, *(os.path.relpath(page, ROOT) for page in found)]


def headings(page: str) -> list[str]:
    """Of the second level and below, in the order of the page."""
    return re.findall(r"(?m)^##+ (.+)$", read(page))


def anchor(heading: str) -> str:
    """As the pages' readers make it of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def sections(page: str) -> dict[str, str]:
    parts = re.split(r"(?m)^## (.+)$", read("docs", page))
    return dict(zip(parts[1::2], parts[2::2]))


def comments_of_settings() -> Iterator[tuple[str, str]]:
    """The name of each setting, and what the file of the defaults says of it."""
    text = read("GeminiCompanion.sublime-settings")
    for lines, name in re.findall(r'((?:\t// [^\n]*\n)+)\t"(\w+)"', text):
        yield name, " ".join(lines.replace("\t// ", "").split())


def strings() -> list[str]:
    """All texts in the code; what is filled in later is left out."""
    found = []
    for path in sources("companion"):
        for node in ast.walk(ast.parse(read(path))):
            if isinstance(node, ast.JoinedStr):
                parts = [
                    part.value if isinstance(part, ast.Constant) else "\0" for part in node.values
                ]
                found.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return found


def sources(*folders: str) -> list[str]:
    """The paths of our own Python files below the folders, and plugin.py, relative to the root."""
    found = ["plugin.py"]
    for folder in folders:
        for place, _folders, names in os.walk(os.path.join(ROOT, folder)):
            if "node_modules" not in place:
                found += [os.path.join(place, name) for name in names if name.endswith(".py")]
    return [os.path.relpath(os.path.join(ROOT, path), ROOT) for path in found]


@functools.lru_cache(maxsize=None)
def remarks(path: str) -> str:
    """The comments and docstrings of a Python file, as running text."""
    found = []
    for token in tokenize.generate_tokens(io.StringIO(read(path)).readline):
        if token.type == tokenize.COMMENT:
            found.append(token.string.lstrip("# "))
        elif token.type == tokenize.STRING and token.string.endswith('"""'):
            found.append(token.string)
    return " ".join(" ".join(found).split())


def items(page: str) -> set[str]:
    """The numbers of a page's sections, and of its items with them: "3", "3.24"."""
    found, section = set(), ""
    for heading, item in re.findall(r"(?m)^(?:## (\d+)\.|(\d+)\. )", read("docs", page)):
        section = heading or section
        found.add(f"{section}.{item}" if item else section)
    return found


class Citations(unittest.TestCase):
    def test_comments_cite_documents_and_items_that_are_there(self) -> None:
        known = {page: items(page) for page in NUMBERED}
        for path in sources("companion", "headless", "tests", "bench", "tools"):
            for place, numbers in self._cited(remarks(path) if "docs/" in read(path) else ""):
                with self.subTest(f"{path} cites {place} {numbers}"):
                    self.assertTrue(glob.glob(os.path.join(ROOT, place + "*")))
                    for number in re.findall(NUMBER, numbers):
                        self.assertIn(number, known[os.path.basename(place)])

    def _cited(self, text: str) -> Iterator[tuple[str, str]]:
        """Each path below docs/, and the numbers of items behind it."""
        pages = "|".join(map(re.escape, NUMBERED))
        more = rf"(?:,? (?:and |section )?{NUMBER})*"
        yield from re.findall(rf"\b(docs/(?:{pages}))({more})", text)
        yield from ((place, "") for place in re.findall(r"\bdocs/[\w/-]+(?:\.md)?", text))

    def test_the_items_of_a_numbered_page_have_each_number_once(self) -> None:
        for page in NUMBERED:
            numbers = re.findall(r"(?m)^(?:## \d+\.|\d+\. )", read("docs", page))
            with self.subTest(page):
                self.assertEqual(len(items(page)), len(numbers))
                self.assertGreater(len(items(page)), 40)

    def test_nothing_cites_a_document_that_is_not_ours(self) -> None:
        for path in sources("companion", "headless", "tests", "bench", "tools"):
            if re.search(FOREIGN_WORDS, read(path)):
                with self.subTest(path):
                    self.assertEqual(re.findall(FOREIGN, remarks(path)), [])


class Words(unittest.TestCase):
    def test_the_user_is_they(self) -> None:
        for path in (*sources("companion", "headless"), *pages()):
            with self.subTest(path):
                found = re.findall(r"(?im)^.*\b(?:he|him|his|himself)\b.*$", read(path))
                self.assertEqual(found, [])

    def test_the_words_that_are_explained_are_those_of_the_code(self) -> None:
        table = sections("../CONTRIBUTING.md")["Words"]
        words = re.findall(r"(?m)^\| ([a-z ]+) \| (?!means)", table)
        code = "\n".join(map(read, sources("companion"))).lower()
        self.assertGreater(len(words), 15)
        for word in words:
            with self.subTest(word):
                pattern = rf"\b{word.split(' of ')[0].replace(' ', '[ _]')}"
                self.assertTrue(re.search(pattern, code))


class Architecture(unittest.TestCase):
    def test_the_places_for_what_is_added_are_there(self) -> None:
        places = re.findall(r"`([\w/.]+)`", sections("architecture.md")["Where to add what"])
        self.assertIn("api/routes", places)
        for place in places:
            found = [
                os.path.join(ROOT, *parts, place + ending)
                for parts in ([], ["companion"])
                for ending in ("", ".py")
            ]
            with self.subTest(place):
                self.assertTrue(any(map(os.path.exists, found)))


class ThreatModel(unittest.TestCase):
    def test_every_test_that_is_named_exists(self) -> None:
        cells = re.findall(r"(?m)^\|.*\| ([^|]*) \|$", read("docs", "threat-model.md"))
        named = [cell for cell in cells if "test_" in cell]
        self.assertGreater(len(named), 40)
        for cell in named:
            code = ""
            for path, sentence, name in re.findall(PROOF, cell):
                with self.subTest(path or sentence or name):
                    if path:
                        code = read("tests", path + ".py")
                    elif sentence:
                        # A method, or a row of a table.
                        name = sentence.replace(" ", "_")
                        self.assertRegex(code, rf"def test_{name}\(|(?im:^ +{sentence}$)")
                    else:
                        self.assertIn(f"class {name}(", code)


class Docs(unittest.TestCase):
    def test_every_command_has_its_heading_and_there_is_no_other(self) -> None:
        captions = [row.entry.caption for row in rows()]
        self.assertEqual(headings("docs/commands.md"), [*captions, "Settings", "Key Bindings"])

    def test_the_lists_are_told_with_their_commands(self) -> None:
        told = re.findall(r"(?m)^\| \*(.+)\* \| `(\w+)` \| (.+) \|$", read("docs", "commands.md"))
        wanted = []
        for name, caption in lists().items():
            inside = [f"*{row.entry.caption}*" for row in rows() if row.list == name]
            wanted.append((caption, name, ", ".join(inside)))
        self.assertEqual(told, wanted)

    def test_each_command_is_given_as_a_key_binding_needs_it(self) -> None:
        texts = sections("commands.md")
        for caption, command, arguments in (row.entry for row in rows()):
            if not arguments:
                with self.subTest(command):
                    self.assertIn(f"[`{command}`]", texts[caption])

    def test_the_settings_are_in_their_order_and_no_default_or_comment_is_told_again(self) -> None:
        defaults = parse(read("GeminiCompanion.sublime-settings"))
        comments = dict(comments_of_settings())
        told = [heading.strip("`") for heading in headings("docs/settings.md")]
        self.assertEqual(told, [name for name in defaults if name in told])
        for heading, text in sections("settings.md").items():
            with self.subTest(heading):
                self.assertNotIn("Default:", text)
                plain = " ".join(text.replace("`", "").split())
                for sentence in re.split(r"(?<=[.]) ", comments[heading.strip("`")]):
                    self.assertNotIn(sentence, plain)

    def test_every_quoted_message_is_one_that_the_package_tells(self) -> None:
        quoted = re.findall(r"(?m)^> Gemini Companion: (.+)$", read("docs", "troubleshooting.md"))
        self.assertGreaterEqual(len(quoted), 8)
        texts = [text.replace("{cli}", "Gemini CLI") for text in strings()]
        for message in quoted:
            with self.subTest(message):
                self.assertTrue(any(text.startswith(message) for text in texts))

    def test_commands_that_are_named_exist(self) -> None:
        captions = {*headings("docs/commands.md"), *lists().values()}
        for page in ("README.md", *(f"docs/{page}.md" for page in PAGES)):
            for name in re.findall(r"\*Gemini\s+Companion:\s+([^*]+)\*", read(*page.split("/"))):
                self.assertIn(" ".join(name.split()), captions, page)

    def test_commands_that_the_package_names_exist(self) -> None:
        captions = {*headings("docs/commands.md"), *lists().values()}
        messages = [read("messages", name) for name in os.listdir(os.path.join(ROOT, "messages"))]
        named = re.findall(r'"Gemini Companion: ([^"]+)"', "\n".join((*strings(), *messages)))
        self.assertGreater(len(named), 20)
        for name in named:
            with self.subTest(name):
                self.assertIn(name, captions)

    def test_every_link_leads_somewhere(self) -> None:
        for page in pages():
            for link in re.findall(r"\]\(([^)\s]+)\)", read(page)):
                if "://" in link:
                    continue
                with self.subTest(page=page, link=link):
                    path, _hash, place = link.partition("#")
                    target = os.path.normpath(os.path.join(os.path.dirname(page), path))
                    target = target if path else page
                    self.assertTrue(os.path.exists(os.path.join(ROOT, target)))
                    if place:
                        self.assertIn(place, list(map(anchor, headings(target))))

    def test_what_the_pages_call_by_a_caption_is_in_the_program(self) -> None:
        known = {*headings("docs/commands.md"), *lists().values(), *strings(), *ELSEWHERE}
        for page in ("README.md", "docs/review.md"):
            for name in re.findall(r"(?<![*])\*([A-Z][^*]+)\*(?![*])", read(*page.split("/"))):
                caption = " ".join(name.split()).replace("Gemini Companion:", "").strip()
                with self.subTest(page, caption=caption):
                    self.assertTrue(any(caption in text for text in known))

    def test_the_readme_leads_to_every_page_and_tells_the_ways_to_install(self) -> None:
        readme, page = read("README.md"), read("docs", "install.md")
        for name in PAGES:
            self.assertIn(f"(docs/{name}.md)", readme)
        for words in (
            *("With Package Control", "Add Repository", "`repository.json`", "Install Package"),
            *(f"`{package.WHOLE}`", "`Installed Packages`"),
            *("From a checkout", "make install"),
        ):
            with self.subTest(words):
                self.assertIn(words, readme)
                self.assertIn(words, page)

    def test_every_way_of_make_install_that_is_told_is_in_the_makefile(self) -> None:
        makefile = read("Makefile")
        for variable in re.findall(r"make install ([A-Z]+)=", read("docs", "install.md")):
            self.assertIn(f"$({variable})", makefile)
