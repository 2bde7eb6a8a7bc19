"""The way in: what a new user needs, step by step, each done or with one link; UI thread only."""

from __future__ import annotations

import os

import sublime

from ..ide.doctor import checks
from ..ide.doctor.checks import Failed, Ok
from ..ide.doctor.report import Examination
from . import checkups

NAME = "Welcome to Gemini Companion"
# The steps by the ids of their checks, in the order in which they are done.
STEPS = {
    "installed": "{} is installed",
    "login": "There is a way to log in",
    "folder": "A folder is open",
    "enabled": "The CLI connects to editors",
    "connected": "The CLI is connected",
}
CONNECTED = "Connected. Ask {} to change a file: its edit opens here, and you decide on it."
TO_DO = "Two minutes to the first edit. This page follows what you do."
# Stands in the cache folder once the page was shown.
MARK = "welcomed"


def html(found: tuple[Examination, ...]) -> str:
    """The page, of a CLI in the window's folders, or of one that would be started there."""
    of_kind = [each.facts for each in found if each.facts.cli == found[0].facts.cli]
    facts = next((each for each in of_kind if each.is_connected), of_kind[-1])
    results = {id: checks.by_id(id).look(facts) for id in STEPS}
    settings = checks.by_id("settings").look(facts)
    if isinstance(settings, Failed):
        # Whatever stands in that file, the CLI stops at it.
        results["enabled"] = settings
    if facts.window.problem:
        results["connected"] = checks.by_id("served").look(facts)
    is_connected, name = isinstance(results["connected"], Ok), checkups.shown(facts.name)
    parts = [f"<h1>{NAME}</h1>", f"<p>{(CONNECTED if is_connected else TO_DO).format(name)}</p>"]
    for id, step in STEPS.items():
        title, result = step.format(name), results[id]
        if isinstance(result, Failed):
            button = checkups.button(result, facts)
            parts.append(f'<p><span class="failed">\u2717</span> {title} {button}')
            words = checkups.shown(f"{result.what} {result.remedy}")
            parts.append(f'<br><span class="remedy">{words}</span></p>')
        elif result is not None:
            shown = checkups.shown(result.found)
            parts.append(f'<p><span class="ok">\u2713</span> {title} ')
            parts.append(f'<span class="path">{shown}</span></p>')
    doctor = checkups.link("gemini_companion_doctor", {}, "Doctor")
    parts.append(f"<p>Something is in the way that this page does not name? {doctor}</p>")
    return "".join(parts)


def is_first_start(cache: str, state_path: str) -> bool:
    """Whether this is the first start after the first installation. `cache` is the package's folder
    there, `state_path` the file that earlier versions left. A package that lies elsewhere, as in a
    checkout, is not installed."""
    places = (sublime.packages_path(), sublime.installed_packages_path())
    here = os.path.abspath(__file__)
    is_installed = any(here.startswith(os.path.join(place, "")) for place in places)
    marks = (state_path, os.path.join(cache, MARK))
    return is_installed and not any(map(os.path.exists, marks))


def remember(cache: str) -> None:
    """It was shown. Raises OSError."""
    os.makedirs(cache, exist_ok=True)
    with open(os.path.join(cache, MARK), "w", encoding="ascii"):
        pass
