"""What a line of an answer or of a result names: an address of the web, or a place in a file. Only
text: nothing is looked up on a disk or in the network. Pure.

    link_at("see [it](https://a.example)", 6)   opens https://a.example
    link_at("src/a.py:3:7: error", 2)           opens src/a.py at line 3, column 7
"""

from __future__ import annotations

import json
import re
from typing import Iterator
from urllib.parse import unquote

from .rendered import MARKERS, OPEN_ADDRESS, OPEN_PLACE, Link

# Code points of a line before and behind the place that is asked about that are looked at.
MAX_NEAR = 2_000

# Of Markdown, with the target in angle brackets, or with one pair of brackets in it.
_MARKDOWN = re.compile(
    r"\[[^\[\]\n]*\]\(\s*(?:<(?P<quoted>[^<>\n]+)>|(?P<plain>[^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)?))"
    r"(?:\s+\"[^\"\n]*\")?\s*\)"
)
_ADDRESS = re.compile(r"https?://[^\s<>\"'`|{}^]+", re.I)
# Behind an address, what belongs to the sentence.
_BEHIND = ".,;:!?*_)]"
# No two parts of it can take the same character: a line of thousands costs no more than its length.
_PLACE = re.compile(
    r"(?<![\w./\\~+@-])(?P<path>(?:[A-Za-z]:)?[\w~+@-]*[./\\][\w./\\~+@-]*):(?P<line>\d{1,7})"
    r"(?::(?P<column>\d{1,5}))?(?!\w)"
)
# Not the letter of a disk, and not a name with a line.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(?!\d+(?::\d+)?$)")
# The address of a file of this machine; one of another machine is opened as no file.
_FILE = re.compile(r"file://(?:localhost(?=/)|(?=/|[A-Za-z]:[/\\]))", re.I)
# In a file's address, before the letter of a disk.
_BEFORE_DRIVE = re.compile("/(?=[A-Za-z]:)")
_IN_TARGET = re.compile(r"(?P<path>.*?)(?::|#L)(?P<line>\d{1,7})(?:(?::|C)(?P<column>\d{1,5}))?")


def link_at(line: str, at: int) -> Link | None:
    """The link that covers this offset of a line, with offsets of the line. None in a line of
    ours."""
    if line[:1] in MARKERS and line:
        return None
    first = max(at - MAX_NEAR, 0)
    found = _links_in(line[first : at + MAX_NEAR])
    near = next((link for link in found if link.start <= at - first < link.end), None)
    if near is None:
        return None
    return Link(near.start + first, near.end + first, near.action, near.argument)


def link_to(uri: str) -> Link:
    """The link to what an address names, at no place."""
    return _target_link(0, 0, uri)


def _links_in(text: str) -> Iterator[Link]:
    """A link of Markdown comes before what stands in it."""
    for found in _MARKDOWN.finditer(text):
        yield _target_link(found.start(), found.end(), found["quoted"] or found["plain"])
    for found in _ADDRESS.finditer(text):
        url = _trim_address(found[0])
        yield _address_link(found.start(), found.start() + len(url), url)
    for found in _PLACE.finditer(text):
        yield _place_link(found.start(), found.end(), found)


def _trim_address(url: str) -> str:
    while url[-1:] in _BEHIND and not (url[-1:] == ")" and url.count("(") >= url.count(")")):
        url = url[:-1]
    return url


def _target_link(start: int, end: int, target: str) -> Link:
    is_file = _FILE.match(target)
    if is_file is not None:
        target = _BEFORE_DRIVE.sub("", target[is_file.end() :])
    elif _SCHEME.match(target):
        return _address_link(start, end, target)
    found = _IN_TARGET.fullmatch(target)
    if found is not None:
        return _place_link(start, end, found)
    return _link(start, end, OPEN_PLACE, path=unquote(target.partition("#")[0]), line=0, column=0)


def _place_link(start: int, end: int, found: re.Match[str]) -> Link:
    line, column = int(found["line"]), int(found["column"] or 0)
    path = unquote(found["path"]) if found.re is _IN_TARGET else found["path"]
    return _link(start, end, OPEN_PLACE, path=path, line=line, column=column)


def _address_link(start: int, end: int, url: str) -> Link:
    return _link(start, end, OPEN_ADDRESS, url=url)


def _link(start: int, end: int, action: str, **argument: object) -> Link:
    return Link(start, end, action, json.dumps(argument, ensure_ascii=False, sort_keys=True))
