"""All windows as one HTML page, so that a person can see what a user would see."""

from __future__ import annotations

import html
import os
from typing import Any, List

from . import drawing, layout, minihtml

STYLE = """
body { background: %(page)s; font: 13px 'DejaVu Sans', sans-serif; margin: 16px; color: %(ink)s; }
.window { background: %(chrome)s; border-radius: 7px; margin: 0 0 24px; position: relative;
  box-shadow: 0 4px 18px #0006; overflow: hidden; }
.title { padding: 6px; text-align: center; color: %(soft)s; height: 16px; }
.body { position: relative; overflow: hidden; }
.sidebar { position: absolute; left: 0; top: 0; bottom: 0; padding: 10px; background: %(side)s;
  box-sizing: border-box; overflow: hidden; white-space: nowrap; }
.sidebar b { display: block; font-size: 11px; color: %(soft)s; margin-bottom: 5px; }
.group { position: absolute; overflow: hidden; box-sizing: border-box; }
.part { position: absolute; top: 0; bottom: 0; overflow: hidden; }
.rule::after { content: ''; position: absolute; left: 0; top: 0; bottom: 0; width: 1px;
  background: %(line)s; }
.tabs { position: absolute; left: 0; right: 0; top: 0; height: 32px; background: %(chrome)s;
  white-space: nowrap; overflow: hidden; }
.tab { display: inline-block; padding: 8px 14px; height: 16px; color: %(soft)s; }
.tab.active { color: %(ink)s; background: %(ground)s; }
.tab.keyboard { box-shadow: inset 0 2px #6699cc; }
.panel { position: absolute; left: 0; right: 0; border-top: 1px solid %(line)s; overflow: hidden; }
.status { position: absolute; left: 0; right: 0; bottom: 0; height: 26px; line-height: 26px;
  padding: 0 12px; box-sizing: border-box; color: %(soft)s; display: flex; background: %(chrome)s;
  justify-content: space-between; white-space: nowrap; overflow: hidden; }
.sheet { position: absolute; left: 0; right: 0; bottom: 0; padding: 10px; overflow: hidden; }
.overlay { position: absolute; left: 25%%; width: 50%%; top: 0; background: %(side)s; z-index: 9;
  padding: 8px; box-shadow: 0 4px 18px #0008; box-sizing: border-box; }
.overlay .item { padding: 5px 8px; } .overlay .item.selected { background: %(line)s; }
.overlay small { display: block; color: %(soft)s; }
.input { border: 1px solid %(line)s; padding: 4px 8px; margin-bottom: 6px; }
"""
_DARK = {
    "page": "#d9dce0",
    "chrome": "#2b323a",
    "side": "#252b32",
    "ink": "#e3e7ec",
    "soft": "#9aa5b1",
    "line": "#46505b",
}
_LIGHT = {
    "page": "#d9dce0",
    "chrome": "#e6e9ec",
    "side": "#eceff1",
    "ink": "#26292d",
    "soft": "#626a73",
    "line": "#c5cacf",
}
# Entries of a quick panel that are drawn.
_ITEMS = 12


def render(editor: Any) -> str:
    """The page. It has no scripts, and everything from the editor is escaped."""
    scheme = editor.schemes.named(editor.schemes.resolved(editor.preferences()))
    colours = dict(_LIGHT if scheme.is_light() else _DARK, ground=scheme.ground().css())
    windows = "".join(_window(editor, window) for window in editor.windows)
    head = "<!DOCTYPE html><html><head><meta charset='utf-8'><title>Sublime Text</title>"
    style = STYLE % colours + drawing.STYLE
    return "%s<style>%s</style></head><body>%s</body></html>\n" % (head, style, windows)


def _window(editor: Any, window: Any) -> str:
    switches = editor.switches
    active = window.active_view()
    width, height = layout.groups_room(window, switches)
    side = layout.SIDE_BAR if layout.shows_side_bar(window) else 0.0
    groups = "".join(_group(editor, window, index) for index in range(len(window.groups)))
    room = "left:%gpx;top:0;width:%gpx;height:%gpx" % (side, width, height)
    body = "%s<div class='group' style='%s'>%s</div>%s%s%s" % (
        _side_bar(window, side),
        room,
        groups,
        _panel(editor, window, height),
        _status(editor, window, active),
        _question(window),
    )
    return (
        "<div class='window' style='width:%gpx'><div class='title'>%s</div>"
        "<div class='body' style='height:%gpx'>%s</div></div>"
        % (
            switches.window_width,
            _text(active.title() if active is not None else "Sublime Text"),
            switches.window_height,
            body,
        )
    )


def _side_bar(window: Any, width: float) -> str:
    if not width:
        return ""
    folders = "".join(
        "<div>&#9656; %s</div>" % _text(os.path.basename(folder) or folder)
        for folder in window.folders
    )
    return "<div class='sidebar' style='width:%gpx'><b>FOLDERS</b>%s</div>" % (width, folders)


def _group(editor: Any, window: Any, index: int) -> str:
    group = window.groups[index]
    left, top, right, bottom = (part * 100 for part in layout.cell(window.layout, index))
    box = "left:%.4f%%;top:%.4f%%;width:%.4f%%;height:%.4f%%" % (
        left,
        top,
        right - left,
        bottom - top,
    )
    tabs, begin = "", 0.0
    if window.shows["tabs"]:
        begin = layout.TABS
        each = "".join(_tab(editor, group, sheet) for sheet in group.sheets)
        tabs = "<div class='tabs'>%s</div>" % each
    inner = " rule" if left or top else ""
    return "<div class='group%s' style='%s'>%s%s</div>" % (
        inner,
        box,
        _sheets(editor, group, begin),
        tabs,
    )


def _sheets(editor: Any, group: Any, top: float) -> str:
    """The sheets in sight, side by side where several are selected."""
    shown = group.selected if group.active in group.selected else [group.active]
    shown = [sheet for sheet in shown if sheet is not None]
    share = 100.0 / max(1, len(shown))
    return "".join(
        "<div class='part' style='left:%g%%;width:%g%%'>%s</div>"
        % (at * share, share, _sheet(editor, sheet, top))
        for at, sheet in enumerate(shown)
    )


def _sheet(editor: Any, sheet: Any, top: float) -> str:
    if sheet.view is not None:
        return drawing.view(editor, sheet.view, top)
    switches = editor.switches
    font = minihtml.Font(switches.line_height, switches.em_width, switches.em_width / 0.6)
    scheme = editor.schemes.named(editor.schemes.resolved(editor.preferences()))
    content = minihtml.draw(
        sheet.contents, font, lambda text: (scheme.colour(text) or scheme.ground()).css()
    )
    style = "top:%gpx;background:%s" % (top, scheme.ground().css())
    return "<div class='sheet' style='%s'>%s</div>" % (style, content)


def _tab(editor: Any, group: Any, sheet: Any) -> str:
    classes = "tab" + (" active" if sheet is group.active else "")
    if sheet.view is not None and sheet.view is editor.focused:
        classes += " keyboard"
    dirty = " &#9679;" if sheet.view is not None and sheet.view.buffer.is_dirty() else ""
    return "<div class='%s'>%s%s</div>" % (classes, _text(sheet.title()), dirty)


def _panel(editor: Any, window: Any, top: float) -> str:
    panel = window.panel_named(window.active_panel) if window.active_panel else None
    if panel is None:
        return ""
    style = "top:%gpx;height:%gpx" % (top, layout.PANEL)
    drawn = drawing.view(editor, panel.view, 0)
    return "<div class='panel' style='%s'>%s</div>" % (style, drawn)


def _question(window: Any) -> str:
    """A quick panel, or an input panel with its caption."""
    question = window.question
    if question is None:
        return ""
    typed = question.view.text.characters
    line = "<div class='input'>%s</div>" % (_text(typed) or "&nbsp;")
    caption = "<small>%s</small>" % _text(question.caption) if question.caption else ""
    items = "".join(_item(question, index) for index in range(min(_ITEMS, question.count())))
    return "<div class='overlay'>%s%s%s</div>" % (caption, line, items)


def _item(question: Any, index: int) -> str:
    rows = question.rows(index)
    more = "".join("<small>%s</small>" % _text(row) for row in rows[1:])
    selected = " selected" if index == question.highlighted else ""
    return "<div class='item%s'>%s%s</div>" % (selected, _text(rows[0]), more)


def _status(editor: Any, window: Any, view: Any) -> str:
    if not window.shows["status_bar"]:
        return ""
    texts = [window.status_message or editor.status_message]
    right: List[str] = []
    if view is not None:
        texts += [view.status[key] for key in sorted(view.status)]
        row, column = view.text.rowcol(view.selection[0][1]) if view.selection else (0, 0)
        texts.append("Line %d, Column %d" % (row + 1, column + 1))
        right = [
            view.buffer.encoding,
            view.buffer.line_endings,
            view.syntax.name,
        ]
    left = ", ".join(_text(text) for text in texts[1:] if text)
    # The message may be a sentence.
    left = " &nbsp; ".join(part for part in (_text(texts[0]), left) if part)
    return "<div class='status'><span>%s</span><span>%s</span></div>" % (
        left,
        " &nbsp; ".join(_text(text) for text in right),
    )


def _text(text: str) -> str:
    return html.escape(text, quote=True)
