"""Sublime's small HTML, as far as phantoms, annotations and popups use it: a tree with styles.

Known: blocks, `br`, inline text, `<style>` with simple selectors (`div`, `.note`, `#top`,
`div.note`), also of descendants (`.note a`; `>` means the same here), inline `style`. Unknown and
ignored, as in the editor itself: `height` of anything but an image. Lines are not wrapped and
margins do not collapse.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from html.parser import HTMLParser
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

BLOCKS = ("html", "body", "div", "p", "ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6")
_EMPTY = ("br", "img", "hr", "meta", "link")
_SIDES = ("top", "right", "bottom", "left")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_LENGTH = re.compile(r"^(-?(?:\d+\.?\d*|\.\d+))(px|rem|em|pt)?$")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


class Font(NamedTuple):
    """What lengths are measured in, all in pixels: a line, a character, and 1rem."""

    line: float
    em_width: float
    rem: float


class Size(NamedTuple):
    """Width and height in pixels."""

    width: float
    height: float


class Node:
    """An element with its style, or, without a tag, its text."""

    def __init__(self, tag: str, attributes: Optional[Dict[str, str]] = None) -> None:
        self.tag = tag
        self.attributes = attributes or {}
        self.style: Dict[str, str] = {}
        self.text = ""
        self.children: List[Node] = []

    @property
    def display(self) -> str:
        return self.style.get("display") or ("block" if self.tag in BLOCKS else "inline")


@lru_cache(maxsize=4096)
def parse(content: str) -> Node:
    """The tree of a content, styles resolved; never changed by anybody."""
    reader = _Reader()
    reader.feed(content)
    reader.close()
    _dress(reader.root, _rules("".join(reader.css)))
    return reader.root


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("#root")
        self.open = [self.root]
        self.css: List[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        if tag == "style":
            self._in_style = True
            return
        node = Node(tag, {key: value or "" for key, value in attrs})
        self.open[-1].children.append(node)
        if tag not in _EMPTY:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _EMPTY:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "style":
            self._in_style = False
        elif any(node.tag == tag for node in self.open[1:]):
            while self.open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.css.append(data)
            return
        text = Node("")
        text.text = re.sub(r"[ \t\r\n]+", " ", data)
        self.open[-1].children.append(text)


# Styles

# Simple selectors, from the outermost element to the one that is meant, and what they declare.
Rule = Tuple[List[str], Dict[str, str]]


def _rules(css: str) -> List[Rule]:
    found = []
    for selectors, body in _RULE.findall(_COMMENT.sub("", css)):
        declared = _declarations(body)
        for selector in selectors.split(","):
            parts = selector.replace(">", " ").split()
            if parts:
                found.append((parts, declared))
    # Ids win over classes, classes over tags, more of a kind over less; of equals the last one.
    return sorted(found, key=lambda rule: _weight(" ".join(rule[0])))


def _weight(selector: str) -> Tuple[int, int, int]:
    return selector.count("#"), selector.count("."), len(selector.split())


def _declarations(body: str) -> Dict[str, str]:
    found: Dict[str, str] = {}
    for declaration in body.split(";"):
        name, colon, value = declaration.partition(":")
        name, value = name.strip().lower(), value.strip()
        if not colon or not value:
            continue
        if name in ("padding", "margin"):
            found.update({name + "-" + side: length for side, length in _four(value)})
        else:
            found[name] = value
    return found


def _four(value: str) -> List[Tuple[str, str]]:
    parts = value.split()
    top = parts[0]
    right = parts[1] if len(parts) > 1 else top
    bottom = parts[2] if len(parts) > 2 else top
    left = parts[3] if len(parts) > 3 else right
    return list(zip(_SIDES, (top, right, bottom, left)))


def _dress(node: Node, rules: List[Rule], above: Tuple[Node, ...] = ()) -> None:
    for parts, declared in rules:
        if _matches(node, parts[-1]) and _stands_in(above, parts[:-1]):
            node.style.update(declared)
    node.style.update(_declarations(node.attributes.get("style", "")))
    for child in node.children:
        _dress(child, rules, (*above, node))


def _stands_in(above: Tuple[Node, ...], parts: List[str]) -> bool:
    """Whether the elements above match, in this order, with others between them."""
    left = list(parts)
    for node in reversed(above):
        if left and _matches(node, left[-1]):
            left.pop()
    return not left


def _matches(node: Node, selector: str) -> bool:
    if not node.tag or ":" in selector:
        return False
    parts = re.findall(r"[.#]?[\w-]+|\*", selector)
    classes = node.attributes.get("class", "").split()
    return bool(parts) and all(
        part == "*"
        or (part[0] == "." and part[1:] in classes)
        or (part[0] == "#" and part[1:] == node.attributes.get("id"))
        or part == node.tag
        for part in parts
    )


# Measuring


@lru_cache(maxsize=4096)
def measure(content: str, font: Font) -> Size:
    """What a content takes on the screen; nothing where it is empty."""
    box = _Box(font)
    box.block(parse(content), font.rem)
    return Size(box.widest, box.height)


class _Box:
    """Blocks below each other; text that stands beside each other fills a line."""

    def __init__(self, font: Font) -> None:
        self.font = font
        self.height = 0.0
        self.widest = 0.0
        self._x = 0.0
        self._line = 0.0
        self._left = 0.0
        self._space = True

    def block(self, node: Node, size: float) -> None:
        size = self._size(node, size)
        left = self._edge(node, "left", size)
        self._end_line()
        self.height += self._edge(node, "top", size)
        self._left += left
        outside, self.widest = self.widest, self._left
        self.inside(node, size)
        self._end_line()
        self.widest = max(outside, self.widest + self._edge(node, "right", size))
        self._left -= left
        self.height += self._edge(node, "bottom", size)

    def inside(self, node: Node, size: float) -> None:
        for child in node.children:
            if child.display == "none":
                continue
            if child.tag == "br":
                self._line = max(self._line, self._high(child, size))
                self._end_line()
            elif not child.tag:
                self._text(child.text, node, size)
            elif child.tag == "img":
                self._image(child)
            elif child.display == "inline":
                self._inline(child, self._size(child, size))
            else:
                self.block(child, size)

    def _inline(self, node: Node, size: float) -> None:
        self._x += self._edge(node, "left", size)
        self.inside(node, size)
        self._x += self._edge(node, "right", size)
        if self._line:
            edges = self._edge(node, "top", size) + self._edge(node, "bottom", size)
            self._line = max(self._line, self._high(node, size) + edges)

    def _text(self, text: str, node: Node, size: float) -> None:
        if self._space:
            text = text.lstrip(" ")
        if not text:
            return
        self._space = text.endswith(" ")
        self._x += len(text) * self.font.em_width * size / self.font.rem
        self._line = max(self._line, self._high(node, size))

    def _image(self, node: Node) -> None:
        width, height = (
            float(node.attributes[key]) if node.attributes.get(key, "").isdigit() else 0.0
            for key in ("width", "height")
        )
        self._x += width
        self._line = max(self._line, height)

    def _end_line(self) -> None:
        self.widest = max(self.widest, self._left + self._x)
        self.height += self._line
        self._x = self._line = 0.0
        self._space = True

    def _high(self, node: Node, size: float) -> float:
        asked = node.style.get("line-height", "")
        if re.match(r"^\d*\.?\d+$", asked):
            return float(asked) * size
        return length(asked, self.font, size, self.font.line * size / self.font.rem)

    def _size(self, node: Node, outer: float) -> float:
        return length(node.style.get("font-size", ""), self.font, outer, outer)

    def _edge(self, node: Node, side: str, size: float) -> float:
        """Padding and margin together."""
        return sum(
            length(node.style.get(name + "-" + side, ""), self.font, size, 0.0)
            for name in ("padding", "margin")
        )


def length(value: str, font: Font, size: float, default: float) -> float:
    """A length in pixels; `size` is what 1em means here."""
    match = _LENGTH.match(value.strip())
    if match is None:
        return default
    unit: Union[float, Any] = {"px": 1.0, "rem": font.rem, "em": size, "pt": 4 / 3}.get(
        match.group(2) or "px"
    )
    return float(match.group(1)) * float(unit)


# Drawing

Repaint = Callable[[str], Optional[str]]
_TAGS = ("a", "b", "strong", "i", "em", "u", "code", "var", "tt", "big", "small")
_PROPERTIES = (
    "background-color",
    "border",
    "border-radius",
    "color",
    "display",
    "font-family",
    "font-size",
    "font-style",
    "font-weight",
    "line-height",
    "margin",
    "padding",
    "text-align",
    "text-decoration",
    "white-space",
)
# What browsers call it.
_SYSTEM = ("system", "'DejaVu Sans', sans-serif")
_COLOUR_CALL = re.compile(r"(?:var|color|rgba?|hsla?)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
_REM = re.compile(r"(\d*\.?\d+)rem")


def draw(content: str, font: Font, repaint: Repaint) -> str:
    """A content as HTML for a browser, escaped, with the styles that the editor knows.

    `repaint` gives the colour that `var(--redish)` and its like mean, None where they mean none.
    """
    return "".join(_drawn(child, font, repaint) for child in parse(content).children)


def _drawn(node: Node, font: Font, repaint: Repaint) -> str:
    if not node.tag:
        return html.escape(node.text)
    if node.tag == "br":
        return "<br>"
    tag = node.tag if node.tag in _TAGS else "span" if node.display == "inline" else "div"
    style = ";".join(
        "%s:%s" % (name, _browser_value(value, font, repaint))
        for name, value in node.style.items()
        if name.startswith(_PROPERTIES) and "url(" not in value
    )
    inside = "".join(_drawn(child, font, repaint) for child in node.children)
    return '<%s style="%s">%s</%s>' % (tag, html.escape(style), inside, tag)


def _browser_value(value: str, font: Font, repaint: Repaint) -> str:
    value = _SYSTEM[1] if value == _SYSTEM[0] else value
    value = _COLOUR_CALL.sub(lambda call: repaint(call.group()) or "inherit", value)
    return _REM.sub(lambda match: "%gpx" % (float(match.group(1)) * font.rem), value)
