"""The page that shows what keeps a CLI from connecting, and what to do. UI thread only."""

from __future__ import annotations

import os
import sys
from html import escape

import sublime

from ... import __version__
from ...ide.doctor.checks import Failed, Ok
from ...ide.doctor.report import Examination, shorten_home
from ..examinations import Examinations
from . import page, remedies

NAME = "Gemini Companion: Doctor"
FINE = "Nothing is in the way."
SEARCHED = "Programs are looked for in these folders, the PATH"


def doctor_page(found: Examinations) -> str:
    """The page: for each CLI the first failed step and what to do, and all its steps."""
    connected = found[0].facts.window.connected
    clis = {0: "No CLI is", 1: "One CLI is"}.get(connected, f"{connected} CLIs are")
    copy = page.command_link("gemini_companion_doctor", {"copy": True}, "Copy Report")
    again = page.command_link("gemini_companion_doctor", {}, "Look Again")
    parts = [
        f"<h1>{NAME}</h1>",
        f'<p class="lead">{clis} connected to this window. {again} {copy}</p>',
    ]
    for examination in found:
        parts.append(f"<h2>{page.shown_html(examination.subject)}</h2>")
        parts.append(_verdict_html(examination))
        parts += _step_rows(examination)
    if found[0].searched:
        folders = page.shown_html(found[0].searched)
        parts.append(f'<p>{SEARCHED}: <span class="path">{folders}</span></p>')
    return "".join(parts)


def _verdict_html(examination: Examination) -> str:
    failure = examination.failure
    if failure is None:
        return f'<div class="box fine">{FINE}</div>'
    button = remedies.remedy_link(failure, examination.facts)
    return (
        f'<div class="box alarm next"><b>{page.shown_html(failure.what)}</b>'
        f"<div>{page.shown_html(failure.remedy)} {button}</div></div>"
    )


def _step_rows(examination: Examination) -> list[str]:
    """The rows of the steps; those after the failed one are in one line."""
    rows, later = [], []
    for row in examination.rows:
        name = escape(row.check.name)
        if isinstance(row.result, Ok):
            found = f'<span class="path">{page.shown_html(row.result.found)}</span>'
            rows.append(f'<div class="row"><span class="ok">\u2713</span> {name} {found}</div>')
        elif isinstance(row.result, Failed):
            rows.append(f'<div class="row failed">\u2717 {name}</div>')
        else:
            later.append(name)
    names = ", ".join(later)
    return [*rows, f'<div class="row later">\u2013 {names}</div>'] if later else rows


def bug_report(found: Examinations) -> str:
    """The examinations as text for a bug report: no token, no text of a file, ~ for the home
    folder."""
    lines = [
        f"Gemini Companion {__version__}",
        f"Sublime Text {sublime.version()}, {sys.platform}, Python {sys.version.split()[0]}",
        f"Connected to this window: {found[0].facts.window.connected}",
        f"PATH: {found[0].searched}",
        "",
    ]
    whole = "\n".join(lines) + "".join(each.report_text() for each in found)
    return shorten_home(whole, os.path.expanduser("~"))
