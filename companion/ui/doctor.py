"""What keeps a CLI from connecting, shown with what can be done; UI thread only."""

from __future__ import annotations

import os
import sys
from html import escape

import sublime

from .. import __version__
from ..ide.doctor.checks import Failed, Ok
from ..ide.doctor.report import Examination, Row, shortened
from . import checkups

NAME = "Gemini Companion: Doctor"
FINE = "Nothing is in the way."


def html(found: tuple[Examination, ...]) -> str:
    """The page: of each CLI the first step that fails and what to do, and all its steps."""
    parts = [f"<h1>{NAME}</h1>"]
    connected = found[0].facts.window.connected
    if connected:
        clis = "One CLI is" if connected == 1 else f"{connected} CLIs are"
        parts.append(f'<p class="ok">{clis} connected to this window.</p>')
    for examination in found:
        parts.append(f"<h2>{checkups.shown(examination.subject)}</h2>")
        parts.append(_verdict(examination))
        parts += [_row(row) for row in examination.rows]
    copy = checkups.link("gemini_companion_doctor", {"copy": True}, "Copy Report")
    again = checkups.link("gemini_companion_doctor", {}, "Look Again")
    return "".join(parts) + f"<p>{copy} {again}</p>"


def _verdict(examination: Examination) -> str:
    failure = examination.failure
    if failure is None:
        return f'<p class="ok">{FINE}</p>'
    words = f"{checkups.shown(failure.what)} {checkups.shown(failure.remedy)}"
    return f'<p class="failed">{words} {checkups.button(failure, examination.facts)}</p>'


def _row(row: Row) -> str:
    name = escape(row.check.name)
    if isinstance(row.result, Ok):
        found = checkups.shown(row.result.found)
        return f'<div><span class="ok">\u2713</span> {name} <span class="path">{found}</span></div>'
    if isinstance(row.result, Failed):
        return f'<div><span class="failed">\u2717 {name}</span></div>'
    return f'<div class="later">\u2013 {name}</div>'


def report(found: tuple[Examination, ...]) -> str:
    """The same as text, for the report of a bug: no token, no text of a file, ~ for the home."""
    lines = [
        f"Gemini Companion {__version__}",
        f"Sublime Text {sublime.version()}, {sys.platform}, Python {sys.version.split()[0]}",
        f"Connected to this window: {found[0].facts.window.connected}",
        "",
    ]
    whole = "\n".join(lines) + "".join(each.text() for each in found)
    return shortened(whole, os.path.expanduser("~"))
