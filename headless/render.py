"""All windows as one HTML page, so that a person can see what a user would see."""

from __future__ import annotations

import html
import os
from typing import Any, Dict, List, Tuple

from .diff import view_hunks

# Lines of one view that are drawn, and the height of a window in CSS pixels.
MAX_LINES = 200
HEIGHT = 560

STYLE = """
body { background: #d9dce0; font: 13px sans-serif; margin: 24px; color: #d8dee9; }
.window { background: #22272e; border-radius: 8px; margin: 0 auto 24px; width: 1100px;
  box-shadow: 0 6px 24px #0006; overflow: hidden; }
.title { background: #343b45; padding: 6px; text-align: center; color: #aeb8c4; }
.body { display: flex; }
.sidebar { width: 170px; padding: 10px; background: #2b313a; color: #aeb8c4; }
.sidebar b { display: block; font-size: 11px; color: #7d8896; margin-bottom: 4px; }
.groups { position: relative; flex: 1; }
.group { position: absolute; overflow: hidden; border: 1px solid #3b4350; box-sizing: border-box;
  background: #303841; }
.tabs { display: flex; background: #2b313a; height: 26px; }
.tab { padding: 5px 14px; color: #8b96a4; white-space: nowrap; }
.tab.active { background: #303841; color: #ffffff; }
.tab.keyboard { box-shadow: inset 0 -2px #6699cc; }
.text { font: 13px/19px monospace; white-space: pre; padding: 4px 0; }
.line { display: flex; min-height: 19px; }
.number { width: 44px; text-align: right; color: #697585; padding-right: 8px; flex: none;
  border-right: 3px solid transparent; margin-right: 8px; }
.inserted { border-right-color: #99c794; } .modified { border-right-color: #f9ae58; }
.deleted { border-right-color: #ec5f66; }
.line.inserted-line { background: #3c4b3f; } .line.modified-line { background: #4a453c; }
.selected { background: #4f5b66; } .caret { border-left: 2px solid #f9ae58; margin-left: -2px; }
.region { outline: 1px solid #6699cc; } .read-only .text { color: #aab4c0; }
.phantom { font: 13px sans-serif; margin: 2px 0 2px 58px; padding: 3px 10px; background: #3d4753;
  border-radius: 4px; width: fit-content; }
.phantom a { color: #7fc1ff; }
.panel { border-top: 1px solid #3b4350; background: #2b313a; max-height: 160px; overflow: hidden;
  padding: 8px 14px; font: 13px/19px monospace; white-space: pre-wrap; }
.status { background: #343b45; padding: 5px 12px; color: #aeb8c4; display: flex;
  justify-content: space-between; }
"""


def render(editor: Any) -> str:
    """The page. Scripts of the page: none; everything from the editor is escaped, phantoms and
    HTML sheets excepted, which are HTML themselves."""
    windows = "".join(_window(editor, window) for window in editor.windows)
    head = "<!DOCTYPE html><html><head><meta charset='utf-8'><title>Sublime Text</title>"
    return "%s<style>%s</style></head><body>%s</body></html>\n" % (head, STYLE, windows)


def _window(editor: Any, window: Any) -> str:
    active = window.active_view()
    name = active.title() if active is not None else "Sublime Text"
    groups = "".join(_group(editor, window, index) for index in range(len(window.groups)))
    folders = "".join(
        "<div>&#9656; %s</div>" % _text(os.path.basename(folder) or folder)
        for folder in window.folders
    )
    sidebar = "<div class='sidebar'><b>FOLDERS</b>%s</div>" % folders if folders else ""
    return (
        "<div class='window'><div class='title'>%s</div><div class='body'>%s"
        "<div class='groups' style='height:%dpx'>%s</div></div>%s%s</div>"
        % (_text(name), sidebar, HEIGHT, groups, _panel(window), _status(editor, window, active))
    )


def _group(editor: Any, window: Any, index: int) -> str:
    group = window.groups[index]
    left, top, right, bottom = _place(window.layout, index)
    box = "left:%.2f%%;top:%.2f%%;width:%.2f%%;height:%.2f%%" % (
        left,
        top,
        right - left,
        bottom - top,
    )
    tabs = "".join(_tab(editor, group, sheet) for sheet in group.sheets)
    sheet = group.active
    content = ""
    if sheet is not None:
        content = _view(sheet.view) if sheet.view is not None else sheet.contents
    return "<div class='group' style='%s'><div class='tabs'>%s</div>%s</div>" % (box, tabs, content)


def _place(layout: Dict[str, Any], index: int) -> Tuple[float, float, float, float]:
    """Left, top, right and bottom of a group, in hundredths of the window."""
    x1, y1, x2, y2 = layout["cells"][index]
    cols, rows = layout["cols"], layout["rows"]
    return cols[x1] * 100, rows[y1] * 100, cols[x2] * 100, rows[y2] * 100


def _tab(editor: Any, group: Any, sheet: Any) -> str:
    classes = "tab" + (" active" if sheet is group.active else "")
    if sheet.view is not None and sheet.view is editor.focused:
        classes += " keyboard"
    dirty = " &#9679;" if sheet.view is not None and sheet.view.buffer.is_dirty() else ""
    return "<div class='%s'>%s%s</div>" % (classes, _text(sheet.title()), dirty)


def _view(view: Any) -> str:
    marks = _gutter(view)
    phantoms = _phantoms(view)
    rows = min(view.text.row_count(), MAX_LINES)
    lines = []
    for row in range(rows):
        mark = marks.get(row, "")
        line = "<div class='line%s'><span class='number %s'>%d</span><span>%s</span></div>"
        tint = " %s-line" % mark if mark in ("inserted", "modified") else ""
        lines.append(line % (tint, mark, row + 1, _line(view, row)))
        lines.extend("<div class='phantom'>%s</div>" % content for content in phantoms.get(row, []))
    kind = " read-only" if view.buffer.read_only else ""
    return "<div class='view%s'><div class='text'>%s</div></div>" % (kind, "".join(lines))


def _gutter(view: Any) -> Dict[int, str]:
    """What happened to each row since the reference document."""
    marks: Dict[int, str] = {}
    for hunk in view_hunks(view):
        for row in range(hunk.first, max(hunk.last, hunk.first + 1)):
            marks[row] = hunk.kind
    return marks


def _phantoms(view: Any) -> Dict[int, List[str]]:
    by_row: Dict[int, List[str]] = {}
    for phantom in view.phantoms:
        row = view.text.rowcol(min(phantom.region))[0]
        by_row.setdefault(row, []).append(phantom.content)
    return by_row


def _line(view: Any, row: int) -> str:
    """One line, with its selections, carets and regions."""
    begin, end = view.text.row_span(row)[:2]
    end = begin + len(view.text.slice(begin, end).rstrip("\n"))
    # A hidden region (flag 128) is not drawn.
    regions = [
        pair for marks in view.marks.values() if not marks.flags & 128 for pair in marks.regions
    ]
    cuts = sorted(
        {begin, end}
        | {
            point
            for pair in list(view.selection) + regions
            for point in pair
            if begin <= point <= end
        }
    )
    shown = "".join(
        _caret(view, point) + _piece(view, regions, point, after)
        for point, after in zip(cuts, cuts[1:])
    )
    return shown + _caret(view, end) or " "


def _piece(view: Any, regions: List[Tuple[int, int]], begin: int, end: int) -> str:
    text = _text(view.text.slice(begin, end))
    for name, pairs in (("region", regions), ("selected", view.selection)):
        if any(min(pair) <= begin and end <= max(pair) for pair in pairs):
            text = "<span class='%s'>%s</span>" % (name, text)
    return text


def _caret(view: Any, point: int) -> str:
    here = any(caret == point for _, caret in view.selection)
    return "<span class='caret'></span>" if here else ""


def _panel(window: Any) -> str:
    panel = window.panel_named(window.active_panel) if window.active_panel else None
    return (
        "" if panel is None else "<div class='panel'>%s</div>" % _text(panel.view.text.characters)
    )


def _status(editor: Any, window: Any, view: Any) -> str:
    texts = [window.status_message or editor.status_message]
    right = ""
    if view is not None:
        texts += [view.status[key] for key in sorted(view.status)]
        row, column = view.text.rowcol(view.selection[0][1]) if view.selection else (0, 0)
        right = "Line %d, Column %d &nbsp; %s &nbsp; %s" % (
            row + 1,
            column + 1,
            _text(view.buffer.encoding),
            _text(view.buffer.line_endings),
        )
    left = ", ".join(_text(text) for text in texts if text)
    return "<div class='status'><span>%s</span><span>%s</span></div>" % (left, right)


def _text(text: str) -> str:
    return html.escape(text, quote=True)
