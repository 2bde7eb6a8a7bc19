"""What all sheets of ours look like, and where they open; UI thread only."""

from __future__ import annotations

from typing import cast

import sublime

from .review import lookup

STYLE = """<style>
    body { padding: 1rem; }
    .ok { color: var(--greenish); }
    .failed { color: var(--redish); }
    .later, .path { color: color(var(--foreground) alpha(0.6)); }
    .remedy { padding-left: 1.6rem; }
    .payload { font-family: monospace; }
    a { padding: 0 0.3rem; }
</style>"""


def new_sheet(window: sublime.Window, name: str, contents: str) -> sublime.HtmlSheet:
    """Open a sheet, and go to it. It covers no diff: what one cannot see, the commands do not
    mean."""
    group = lookup.group_without_diff(window)
    sheet = window.new_html_sheet(name, contents, group=group)
    window.focus_sheet(sheet)
    return cast(sublime.HtmlSheet, sheet)


def html(content: str) -> str:
    return f'<body id="gemini-companion">{STYLE}{content}</body>'
