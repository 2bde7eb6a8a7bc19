"""Links in phantoms, annotations and popups, and what a click on one does.

A click gives no view the keyboard (sublime_text#4825). So a `subl:` link runs its command on
whatever has the keyboard at that moment, wherever the link stands (#5805, #3722).
"""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

Navigate = Optional[Callable[[str], None]]


class Link(NamedTuple):
    """A link as a user sees it. `href` has its entities resolved; `where` is "phantom",
    "annotation", "popup", "sheet" or "text"; `point` is where its phantom or region begins in the
    view."""

    href: str
    text: str
    where: str
    point: int
    on_navigate: Navigate


def links(view: Any) -> List[Link]:
    """All links of a view (the editor's, not the API's): from top to bottom, the popup last."""
    found = []
    for phantom in view.phantoms:
        if phantom.is_stale:
            continue
        found += _in(phantom.content, "phantom", min(phantom.region), phantom.on_navigate)
    for marks in view.marks.values():
        for region, content in zip(marks.regions, marks.annotations):
            found += _in(content, "annotation", min(region), marks.on_navigate)
    found.sort(key=lambda link: link.point)
    if view.popup is not None:
        popup = view.popup
        found += _in(popup.content, "popup", popup.location, popup.on_navigate)
    return found


def sheet_links(sheet: Any) -> List[Link]:
    """The links of a tab with HTML (the editor's, not the API's)."""
    return _in(sheet.contents, "sheet", 0, None)


def in_html(content: str) -> List[Link]:
    """The links of a phantom's content."""
    return _in(content, "phantom", 0, None)


def click_in_sheet(editor: Any, sheet: Any, text: str) -> None:
    """Click the link of a tab with HTML that shows `text`. From any thread. Raises LookupError that
    lists the links there are."""
    there = sheet_links(sheet)
    found = [link for link in there if link.text == text]
    if not found:
        raise LookupError(
            "expected a link with the text %r, there are %r" % (text, [link.text for link in there])
        )
    editor.ui(follow, editor, found[0].href, None)


def click(editor: Any, view: Any, text: str, number: int = 0) -> None:
    """Click the link that shows `text`, the first of them or the one with that number (from 0).

    From any thread. Raises LookupError that lists the links there are.
    """
    editor.ui(_click, editor, view, text, number)


def _click(editor: Any, view: Any, text: str, number: int) -> None:
    there = links(view)
    same = [link for link in there if link.text == text]
    if number >= len(same):
        raise LookupError(
            "expected link %d with the text %r, there are %r"
            % (number, text, [link.text for link in there])
        )
    follow(editor, same[number].href, same[number].on_navigate)


def follow(editor: Any, href: str, on_navigate: Navigate) -> None:
    """What a click on a link with this href does; UI thread only."""
    if href.startswith("subl:"):
        name, _, args = href[5:].strip().partition(" ")
        values = editor.api.decode_value(args) if args.strip() else None
        editor.commands.run(editor.active_window, name, values)
    elif on_navigate is not None:
        on_navigate(href)


def dismiss(editor: Any, view: Any, key: str) -> None:
    """What closing the annotations of `add_regions(key, ...)` by hand does; from any thread."""
    editor.ui(_dismiss, view, key)


def _dismiss(view: Any, key: str) -> None:
    marks = view.marks.get(key)
    if marks is None or not marks.annotations:
        raise LookupError("expected annotations under the key %r, there are none" % key)
    view.marks[key] = marks._replace(annotations=[])
    if marks.on_close is not None:
        marks.on_close()


def _in(content: str, where: str, point: int, on_navigate: Navigate) -> List[Link]:
    reader = _Reader()
    reader.feed(content)
    reader.close()
    return [Link(href, text, where, point, on_navigate) for href, text in reader.found]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: List[Tuple[str, str]] = []
        self._href: Optional[str] = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        href = dict(attrs).get("href")
        if tag == "a" and href is not None:
            self._href, self._text = href, ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._href is not None:
            self.found.append((self._href, " ".join(self._text.split())))
            self._href = None
