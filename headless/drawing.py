"""One view as HTML: what stands in sight, where the layout puts it, in the scheme's colours.

Drawn: text in the colours of a syntax that a package defines, gutter with line numbers, native diff
marks and icons, regions with their flags, selection and caret, phantoms, annotations, a popup. Not
drawn: inline diffs that the user toggles, guides, rulers, the minimap.
"""

from __future__ import annotations

import html
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import layout, minihtml
from .diff import view_hunks
from .parsing import Parsed
from .schemes import Scheme

# RegionFlags
_DRAW_EMPTY, _EMPTY_AS_OVERWRITE, _NO_FILL, _HIDDEN, _NO_OUTLINE = 1, 4, 32, 128, 256
_UNDERLINES = {512: "solid", 1024: "dotted", 2048: "wavy"}
_ICONS = {"dot": "&#9679;", "circle": "&#9675;", "bookmark": "&#9654;", "cross": "&#10005;"}
# What the editor colours its own diff marks with, where a scheme says nothing else.
_MARKS = {"inserted": "greenish", "modified": "yellowish", "deleted": "redish"}
_MARK_GLOBALS = {
    "inserted": "line_diff_added",
    "modified": "line_diff_modified",
    "deleted": "line_diff_deleted",
}

STYLE = """
.view { position: absolute; left: 0; right: 0; bottom: 0; overflow: hidden; }
.view .line, .view .number, .view .mark, .view .icon, .phantom, .annotation, .popup {
  position: absolute; white-space: pre; }
.view .text { position: absolute; top: 0; bottom: 0; right: 0; overflow: hidden; }
.view .line > span { display: inline-block; height: 100%; }
.view .number { text-align: right; opacity: .55; }
.caret { position: absolute; width: 2px; margin-left: -1px; }
.empty { border-left: 2px solid; margin-right: -2px; }
.phantom, .annotation, .popup { font-family: 'DejaVu Sans Mono', monospace; }
.annotation { right: 0; padding: 0 10px; border-left: 3px solid; z-index: 2; }
.popup { border: 1px solid #8888; padding: 4px 8px; z-index: 3; }
"""


class Paint(NamedTuple):
    """How one region looks, as a style of CSS; empty regions look like `empty`."""

    begin: int
    end: int
    style: str
    empty: str


def view(editor: Any, shown: Any, top: float) -> str:
    """The text area of a view; `top` is where it begins within its group, in pixels."""
    return _Drawing(editor, shown).page(top)


def font_style(font: minihtml.Font) -> str:
    """As CSS: a font whose characters are as wide as the layout's cells."""
    return "font:%gpx/%gpx 'DejaVu Sans Mono',monospace" % (font.em_width / 0.602, font.line)


class _Drawing:
    """One view in one moment."""

    def __init__(self, editor: Any, shown: Any) -> None:
        self.view = shown
        self.scheme: Scheme = editor.schemes.of(shown)
        self.colours = self.scheme.style()
        self.has_keyboard = editor.focused is shown
        self.layout = shown.layout()
        self.screen = shown.screen()
        self.font = self.screen.font
        self.left, self.top = shown.viewport
        self.gutter = layout.gutter_width(shown)
        first = self.layout.row_at(self.top)
        last = self.layout.row_at(self.top + self.screen.height)
        self.rows = range(first, last + 1)
        self.paints = self._syntax_paints(editor.syntaxes.parsed(shown)) + self._paints()

    def page(self, top: float) -> str:
        lines = "".join(self._row(row) for row in self.rows)
        style = "top:%gpx;background:%s;color:%s;%s" % (
            top,
            self.colours["background"],
            self.colours["foreground"],
            font_style(self.font),
        )
        beside = self._numbers() + self._diff_marks() + self._icons()
        over = self._phantoms() + self._annotations() + self._popup()
        text = "<div class='text' style='left:%gpx'>%s%s</div>" % (self.gutter, lines, over)
        return "<div class='view' style=\"%s\">%s%s</div>" % (style, beside, text)

    def _y(self, row: int) -> float:
        return float(self.layout.top(row) - self.top)

    # Gutter

    def _numbers(self) -> str:
        if not self.gutter or not self.view.settings.get("line_numbers", True):
            return ""
        width = self.gutter - 2.5 * self.font.em_width
        return "".join(
            "<div class='number' style='top:%gpx;left:0;width:%gpx'>%d</div>"
            % (self._y(row), width, row + 1)
            for row in self.rows
            if self.layout.top(row) < self.layout.bottom_of_text(row)
        )

    def _diff_marks(self) -> str:
        if not self.gutter:
            return ""
        return "".join(
            self._diff_mark(hunk)
            for hunk in view_hunks(self.view)
            if hunk.first <= self.rows[-1] and hunk.last >= self.rows[0]
        )

    def _diff_mark(self, hunk: Any) -> str:
        colour = self.colours.get(_MARK_GLOBALS[hunk.kind])
        colour = colour or self.scheme.hue(_MARKS[hunk.kind]).css()
        left, bars = self.gutter - 1.5 * self.font.em_width, []
        for row in range(max(hunk.first, self.rows[0]), min(hunk.last, self.rows[-1] + 1)):
            bars.append((3, self._y(row), self._below(row) - self.layout.top(row)))
        if hunk.kind == "deleted":
            bars.append((8, self._y(hunk.first) - 1, 3))
        style = "left:%gpx;width:%dpx;top:%gpx;height:%gpx;background:%s"
        return "".join(
            "<div class='mark %s' style='%s'></div>"
            % (hunk.kind, style % (left, width, top, height, colour))
            for width, top, height in bars
        )

    def _icons(self) -> str:
        found: Dict[int, str] = {}
        for marks in self.view.marks.values():
            if marks.icon and not marks.flags & _HIDDEN:
                colour = self.scheme.style_of(marks.scope)["foreground"]
                sign = _ICONS.get(marks.icon, "&#9632;")
                for region in marks.regions:
                    row = self.view.text.rowcol(min(region))[0]
                    found[row] = "color:%s'>%s" % (colour, sign)
        return "".join(
            "<div class='icon' style='left:3px;top:%gpx;%s</div>" % (self._y(row), found[row])
            for row in self.rows
            if row in found
        )

    # Text

    def _syntax_paints(self, parsed: Parsed) -> List[Paint]:
        """The colours of the text in sight, under all regions."""
        text, usual, found = self.view.text, self.colours["foreground"], []
        begin, end = text.point(self.rows[0], 0), text.line(text.point(self.rows[-1], 0))[1]
        for first, last, scopes in parsed.spans(len(text.characters)):
            if first < end and last > begin:
                look = self.scheme.style_of(" ".join(scopes))
                styles = ["color:" + look["foreground"]] if look["foreground"] != usual else []
                styles += ["font-weight:bold"] if look["bold"] else []
                styles += ["font-style:italic"] if look["italic"] else []
                if styles:
                    found.append(Paint(first, last, ";".join(styles), ""))
        return found

    def _paints(self) -> List[Paint]:
        """Regions in the order in which they came, the selection under all of them."""
        selection = self.colours.get("selection", "#8884")
        found = [
            Paint(min(pair), max(pair), "background:" + selection, "")
            for pair in self.view.drawn_selection
        ]
        for marks in self.view.marks.values():
            if marks.scope and not marks.flags & _HIDDEN:
                style, empty = self._look(marks)
                found += [Paint(min(pair), max(pair), style, empty) for pair in marks.regions]
        return found

    def _look(self, marks: Any) -> Tuple[str, str]:
        """A scope's background fills, else its foreground does, as the flags allow."""
        found = self.scheme.style_of(marks.scope)
        colour = found.get("background") or found["foreground"]
        styles = []
        if not marks.flags & _NO_FILL:
            styles.append("background:" + colour)
            if "background" not in found:
                styles.append("color:" + self.colours["background"])
        if not marks.flags & _NO_OUTLINE:
            styles.append("box-shadow:inset 0 0 0 1px " + colour)
        for flag, line in _UNDERLINES.items():
            if marks.flags & flag:
                styles.append("text-decoration:underline %s %s" % (line, found["foreground"]))
        empty = marks.flags & (_DRAW_EMPTY | _EMPTY_AS_OVERWRITE)
        return ";".join(styles), "border-color:" + found["foreground"] if empty else ""

    def _row(self, row: int) -> str:
        lines = self.layout.lines(row) if self.layout.top(row) < self._below(row) else []
        return "".join(
            "<div class='line' style='top:%gpx;left:%gpx;height:%gpx'>%s</div>"
            % (
                self._y(row) + at * self.font.line,
                -self.left,
                self.font.line,
                self._line(begin, end, last),
            )
            for at, (begin, end, last) in enumerate(
                (begin, end, at == len(lines) - 1) for at, (begin, end) in enumerate(lines)
            )
        )

    def _below(self, row: int) -> float:
        return float(self.layout.bottom_of_text(row))

    def _line(self, begin: int, end: int, last: bool) -> str:
        """One line in pieces that look alike; a line break in a region shows as a cell."""
        here = [each for each in self.paints if each.begin <= end and each.end >= begin]
        cuts = {begin, end}
        for paint in here:
            cuts.update(point for point in (paint.begin, paint.end) if begin < point < end)
        carets = [b for _a, b in self.view.drawn_selection if begin <= b <= end]
        cuts.update(carets)
        cuts.update(point for point, _size in self.layout.inline if begin <= point < end)
        points = sorted(cuts)
        pieces = [
            self._between(here, point) + self._piece(here, point, after)
            for point, after in zip(points, points[1:])
        ]
        tail = self._piece(here, end, end + 1, " ") if last and self._covers(here, end) else ""
        return "".join(pieces) + self._between(here, end) + tail

    def _covers(self, paints: List[Paint], point: int) -> bool:
        return any(paint.begin <= point < paint.end for paint in paints)

    def _between(self, paints: List[Paint], point: int) -> str:
        """What stands before a point without being text: a caret, an empty region, a phantom."""
        found = ""
        for paint in paints:
            if paint.begin == paint.end == point and paint.empty:
                found += "<span class='empty' style='%s'></span>" % paint.empty
        if self.has_keyboard and any(b == point for _a, b in self.view.drawn_selection):
            found += "<span class='caret' style='background:%s;height:%gpx'></span>" % (
                self.colours.get("caret", self.colours["foreground"]),
                self.font.line,
            )
        for phantom in self.view.phantoms:
            if phantom.layout == layout.INLINE and min(phantom.region) == point:
                size = minihtml.measure(phantom.content, self.font)
                found += "<span style='display:inline-block;width:%gpx'>%s</span>" % (
                    size.width,
                    self._html(phantom.content),
                )
        return found

    def _piece(self, paints: List[Paint], begin: int, end: int, text: Optional[str] = None) -> str:
        if text is None:
            # Cells are counted from the start of the line: a tab is as wide as its place says.
            start = self.view.text.line(begin)[0]
            before = self.layout.cells(self.view.text.slice(start, begin))
            text = self._expanded(self.view.text.slice(begin, end), before)
        style = ";".join(
            paint.style for paint in paints if paint.begin <= begin and end <= paint.end
        )
        escaped = html.escape(text)
        return '<span style="%s">%s</span>' % (style, escaped) if style else escaped

    def _expanded(self, text: str, used: int) -> str:
        shown = ""
        for character in text:
            width = self.layout.cells(character) if character != "\t" else 0
            if character == "\t":
                width = self.layout.tab - used % self.layout.tab
            shown += " " * width if character == "\t" else character
            used += width
        return shown

    # Over and between the text

    def _html(self, content: str) -> str:
        def repaint(text: str) -> Optional[str]:
            colour = self.scheme.colour(text)
            return colour.css() if colour is not None else None

        link = self.scheme.hue("bluish").css()
        drawn = minihtml.draw(content, self.font, repaint)
        return drawn.replace('<a style="', '<a style="color:%s;' % link)

    def _phantoms(self) -> str:
        found, below = "", {row: self._below(row) - self.top for row in self.rows}
        for phantom in self.view.phantoms:
            row = self.view.text.rowcol(min(phantom.region))[0]
            if row not in below or phantom.layout == layout.INLINE:
                continue
            left = 0.0
            if phantom.layout == layout.BELOW:
                left = self.layout.place(min(phantom.region))[0]
            height = minihtml.measure(phantom.content, self.font).height
            style = "left:%gpx;right:0;top:%gpx;height:%gpx;font-size:%gpx"
            found += "<div class='phantom' style='%s'>%s</div>" % (
                style % (left - self.left, below[row], height, self.font.rem),
                self._html(phantom.content),
            )
            below[row] += height
        return found

    def _annotations(self) -> str:
        found = ""
        for marks in self.view.marks.values():
            colour = self.scheme.colour(marks.annotation_color) or self.scheme.hue("bluish")
            for region, content in zip(marks.regions, marks.annotations):
                row = self.view.text.rowcol(min(region))[0]
                if row in self.rows:
                    style = "top:%gpx;border-color:%s;background:%s;font-size:%gpx"
                    found += "<div class='annotation' style='%s'>%s</div>" % (
                        style % (self._y(row), colour.css(), self._raised(), self.font.rem * 0.9),
                        self._html(content),
                    )
        return found

    def _popup(self) -> str:
        popup = self.view.popup
        if popup is None:
            return ""
        caret = self.view.selection[0][1] if self.view.selection else 0
        x, y = self.layout.place(popup.location if popup.location >= 0 else caret)
        style = "left:%gpx;top:%gpx;background:%s" % (
            x - self.left,
            y - self.top + self.font.line,
            self._raised(),
        )
        return "<div class='popup' style='%s'>%s</div>" % (style, self._html(popup.content))

    def _raised(self) -> str:
        """The ground of what lies over the text: a little nearer to the foreground."""
        found = self.scheme.colour(
            "color(%s blend(%s 92%%))" % (self.colours["background"], self.colours["foreground"])
        )
        return found.css() if found is not None else self.colours["background"]
