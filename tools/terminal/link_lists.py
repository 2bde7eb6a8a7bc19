"""The links of a tab as a list, in which each can be told from the others."""

from __future__ import annotations

from collections import Counter
from typing import Any, List, NamedTuple

from headless import clicks, html_text
from headless.clicks import Link

from . import text_links
from .sides import shorten_text

# Columns of what stands beside a link.
MOST = 60
# What stands between links, and before a row of a chat.
SEPARATORS = ("\u00b7", "\u258e", "\u258f")


class ListedLink(NamedTuple):
    """`beside` is what stands in its row."""

    link: Link
    beside: str

    @property
    def text(self) -> str:
        return self.link.text


def has_links(view: Any) -> bool:
    """On the UI thread."""
    in_phantoms = any("<a " in phantom.content for phantom in view.phantoms)
    return in_phantoms or text_links.has_any(view)


def links_of(view: Any) -> List[ListedLink]:
    """Those of the phantoms, then those in a chat's text. On the UI thread."""
    found: List[ListedLink] = []
    for phantom in sorted(view.phantoms, key=lambda each: min(each.region)):
        if not phantom.is_stale:
            found += _in_phantom(phantom)
    for link in text_links.of_view(view):
        row = view.text.rowcol(link.point)[0]
        begin = view.text.point(row, 0)
        line = view.text.slice(begin, begin + len(_row_at(view, row)))
        found.append(ListedLink(link, _without(line, link.text)))
    return found


def list_rows(links: List[ListedLink]) -> List[List[str]]:
    """A row for each: its text, and where others have the same, what stands beside it; where that
    is the same as well, its number among them."""
    texts = Counter(each.text for each in links)
    rows = [[each.text, each.beside] if texts[each.text] > 1 else [each.text] for each in links]
    same = Counter(map(tuple, rows))
    seen: Counter[Any] = Counter()
    for row in rows:
        key = tuple(row)
        seen[key] += 1
        if same[key] > 1:
            row.append("%d of %d" % (seen[key], same[key]))
    return [[part for part in row if part] for row in rows]


def _in_phantom(phantom: Any) -> List[ListedLink]:
    lines = html_text.plain(phantom.content, in_brackets=True)
    links, found, at = clicks.in_html(phantom.content), [], 0
    names = ["[%s]" % link.text for link in links]
    for link, named in zip(links, names):
        link = link._replace(point=min(phantom.region), on_navigate=phantom.on_navigate)
        here = next((number for number in range(at, len(lines)) if named in lines[number]), None)
        if here is None:
            found.append(ListedLink(link, ""))
            continue
        at = here
        found.append(ListedLink(link, _without(lines[here], *names)))
        # The next one of this name stands behind it.
        lines[here] = lines[here].replace(named, "", 1)
    return found


def _row_at(view: Any, row: int) -> str:
    begin = view.text.point(row, 0)
    last = row + 1 >= view.text.row_count()
    end = len(view.text) if last else view.text.point(row + 1, 0) - 1
    return str(view.text.slice(begin, end))


def _without(line: str, *names: str) -> str:
    """The words of the line beside the links of these names."""
    for named in names:
        line = line.replace(named, "", 1)
    return shorten_text(" ".join(word for word in line.split() if word not in SEPARATORS), MOST)
