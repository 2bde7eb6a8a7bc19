"""The common form of all our pages: their style, texts and links."""

from __future__ import annotations

import json
import os
from html import escape
from typing import Any, Mapping

from ...base.shown_text import spell_hidden
from ...ide.doctor.report import shorten_home

# Nothing is left to the editor's own style sheet, whose sizes are unknown (docs/sublime.md 7.8).
STYLE = """<style>
    body { padding: 1.5rem 2rem; font-family: system; font-size: 1rem; line-height: 1.4; }
    h1 { margin: 0 0 0.3rem 0; font-size: 1.8rem; font-weight: bold; }
    h2 { margin: 1.8rem 0 0.5rem 0; font-size: 1.25rem; font-weight: bold; }
    p { margin: 0 0 0.5rem 0; }
    .lead { margin: 0 0 1.5rem 0; font-size: 1.1rem; color: color(var(--foreground) alpha(0.8)); }
    .foot { margin: 1.5rem 0 0 0; color: color(var(--foreground) alpha(0.6)); }
    .step { margin: 0 0 0.8rem 0; }
    .title { font-size: 1.1rem; font-weight: bold; }
    .words { margin: 0.2rem 0 0 1.5rem; color: color(var(--foreground) alpha(0.8)); }
    .row { margin: 0 0 0.15rem 0; }
    .ok { color: var(--greenish); }
    .failed { color: var(--redish); }
    .later, .path { color: color(var(--foreground) alpha(0.6)); }
    .path { font-size: 0.9rem; }
    .box { margin: 0 0 0.8rem 0; padding: 0.7rem 1rem; border-radius: 0.3rem;
        background-color: color(var(--foreground) alpha(0.08)); }
    .alarm { background-color: color(var(--redish) alpha(0.15)); }
    .fine { background-color: color(var(--greenish) alpha(0.15)); }
    .payload { font-family: monospace; line-height: 1.3; }
    a { padding: 0.05rem 0.6rem; border-radius: 0.3rem; text-decoration: none;
        color: var(--foreground); background-color: color(var(--foreground) alpha(0.15)); }
    .next a { background-color: color(var(--bluish) alpha(0.5)); }
</style>"""


def page_html(content: str) -> str:
    return f'<body id="gemini-companion">{STYLE}{content}</body>'


def shown_html(text: str) -> str:
    """The text as HTML, with ~ for the user's home folder."""
    return escape(spell_hidden(shorten_home(text, os.path.expanduser("~"))))


def command_link(command: str, arguments: Mapping[str, Any], label: str) -> str:
    values = escape(json.dumps(arguments), quote=True) if arguments else ""
    return f'<a href="subl:{command} {values}">{escape(label)}</a>'
