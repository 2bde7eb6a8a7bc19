"""What a phantom or a tab with HTML says, in lines of text."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any, List

NO_BREAK = "\u00a0"
BLOCKS = ("br", "div", "p", "h1", "h2", "h3")


def plain(content: str, with_links: bool = True, in_brackets: bool = False) -> List[str]:
    """The lines of a phantom, without the links before their words, or without any; with all where
    they stand `in_brackets`."""
    return [line.lstrip() for line in page(content, with_links, in_brackets)]


def page(content: str, with_links: bool = True, in_brackets: bool = False) -> List[str]:
    """The same of a tab, with the indents that it has."""
    reader = _Plain(with_links, in_brackets)
    reader.feed(content)
    reader.close()
    return [_spaced(line) for line in "".join(reader.found).split("\n") if line.strip()]


def _spaced(line: str) -> str:
    indent = len(line) - len(line.lstrip(NO_BREAK))
    return " " * indent + " ".join(line.split())


class _Plain(HTMLParser):
    def __init__(self, with_links: bool, in_brackets: bool) -> None:
        super().__init__(convert_charrefs=True)
        self._with_links = with_links
        self._in_brackets = in_brackets
        self.found: List[str] = []
        self._in_link = False
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "a" and self._in_brackets:
            self.found.append("[")
        self._in_link = self._in_link or tag == "a"
        self._in_style = tag == "style"
        if tag in BLOCKS:
            self.found.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_style:
            return
        line = "".join(self.found).rpartition("\n")[2]
        if self._in_brackets or not self._in_link or (self._with_links and line.strip()):
            self.found.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False
        if tag == "a":
            self._in_link = False
            self.found.extend("]" if self._in_brackets else "")
        if tag in BLOCKS:
            self.found.append("\n")
