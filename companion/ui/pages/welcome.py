"""The page for new users: the steps to the first edit, each done or with one link. UI thread
only."""

from __future__ import annotations

import os
from typing import Sequence

import sublime

from ...base import private_files
from ...ide.clis import CLAUDE_CODE
from ...ide.doctor import report
from ...ide.doctor.checks import Failed, Ok
from ...ide.doctor.report import Examination, Facts
from ..examinations import Examinations
from . import page, remedies

NAME = "Welcome to Gemini Companion"
# The steps by the ids of their checks, in order.
STEPS = {
    "surroundings": "CLIs can find Sublime Text",
    "installed": "{} is installed",
    "login": "There is a way to log in",
    "folder": "A folder is open",
    "enabled": "The CLI connects to editors",
    "served": "The companion runs",
    "connected": "The CLI is connected",
}
CLAUDE_STEPS = {
    "claude_installed": "{} is installed",
    "claude_admitted": "It may connect to this window",
    "claude_folder": "A folder is open",
    "claude_served": "The companion runs",
    "claude_enabled": "The CLI connects to editors",
    "claude_connected": "The CLI is connected",
}
# Steps that are shown only if they fail, because otherwise nobody has to do anything for them.
SILENT = {"surroundings", "served", "claude_admitted", "claude_served"}
CONNECTED = "Connected. Ask {} to change a file: its edit opens here, and you decide on it."
EXTENSION = "If you like: an extension of {} that says here when it works, asks and is done."
START = "After that, in a terminal: {}"
CLAUDE = "Or with Claude Code in a terminal: {}"
CLAUDE_FINE = "start claude in a folder of this window."
CLAUDE_CONNECTED = "Claude Code is connected as well."
CHAT = "Or in a tab, without a terminal: chat with {}."
NO_AGENT = "Or in a tab, without a terminal: chat with an agent, once one is installed."
TO_DO = "Two minutes to the first edit. This page follows what you do."
# The name of a file in the cache folder: it exists once the page was shown.
MARK = "welcomed"


def welcome_page(found: Examinations, agents: Sequence[str] | None = None) -> str:
    """The page for a CLI in the window's folders, or for one that would be started there. `agents`
    are the names of those that a chat could have; None if that is not known."""
    examination = _current_examination(found)
    facts, results = examination.facts, _step_results(examination)
    *_, connected = results.values()
    is_connected, name = isinstance(connected, Ok), page.shown_html(facts.name)
    lead = (CONNECTED if is_connected else TO_DO).format(name)
    parts = [f"<h1>{NAME}</h1>", f'<p class="lead">{lead}</p>']
    following = next((id for id in results if isinstance(results[id], Failed)), "")
    for id, result in results.items():
        parts.append(
            _step_html(_steps(facts)[id].format(name), result, examination, is_next=id == following)
        )
    if is_connected and facts.extension is not None and not facts.extension.version:
        install = page.command_link("gemini_companion_install_cli_extension", {}, "Install it")
        parts.append(f'<div class="step">\u2013 {EXTENSION.format(name)} {install}</div>')
    if facts.cli != CLAUDE_CODE:
        parts.append(_claude_line(found))
    parts.append(_chat_line(agents) if agents is not None else "")
    doctor = page.command_link("gemini_companion_doctor", {}, "Doctor")
    parts.append(f'<p class="foot">Every step of the CLI on its way here: {doctor}</p>')
    return "".join(parts)


def _claude_line(found: Examinations) -> str:
    """What is to be done to work with Claude Code, in one line; empty for who does not have it."""
    clis = [each for each in found if each.facts.cli == CLAUDE_CODE]
    if not clis:
        return ""
    failure, is_connected = clis[0].failure, clis[0].facts.window.claude.connected > 0
    to_do = f"{failure.what} {failure.remedy}" if failure is not None else CLAUDE_FINE
    words = CLAUDE_CONNECTED if is_connected else CLAUDE.format(to_do)
    return f'<div class="step">\u2013 {page.shown_html(words)}</div>'


def _chat_line(agents: Sequence[str]) -> str:
    """The other way to work with an agent, in one line."""
    if not agents:
        choose = page.command_link("gemini_companion_new_chat", {"ask": True}, "Show agents")
        return f'<div class="step">\u2013 {NO_AGENT} {choose}</div>'
    open_one = page.command_link("gemini_companion_chat", {}, "Open a chat")
    told = CHAT.format(", ".join(map(page.shown_html, agents)))
    return f'<div class="step">\u2013 {told} {open_one}</div>'


def _current_examination(found: Examinations) -> Examination:
    """The connected CLI; else the newest that runs, or the one that would be started."""
    of_kind = [each for each in found if each.facts.cli == found[0].facts.cli]
    connected = (each for each in of_kind if each.facts.is_connected)
    last = of_kind[-1]
    return next(connected, of_kind[0] if last.facts.process is not None else last)


def _steps(facts: Facts) -> dict[str, str]:
    return CLAUDE_STEPS if facts.cli == CLAUDE_CODE else STEPS


def _step_results(examination: Examination) -> dict[str, Ok | Failed | None]:
    """The results of the steps by their ids; None for the last one if it has to wait for others."""
    facts = examination.facts
    judges = {check.id: check.judge for check in report.checks_of(facts.cli)}
    results = {id: judges[id](facts) for id in _steps(facts)}
    if facts.cli == CLAUDE_CODE:
        results = _with_connection(results, facts)
    elif isinstance(settings := judges["settings"](facts), Failed):
        # Whatever is wrong in that file, the CLI stops at it.
        results["enabled"] = settings
    last, connected = results.popitem()
    failed = {id for id, result in results.items() if isinstance(result, Failed)}
    if facts.process is None:
        # The CLI asks for a key once it is started.
        failed.discard("login")
    if isinstance(connected, Failed):
        connected = None if failed else _on_its_way(facts)
    shown = {
        id: result
        for id, result in results.items()
        if result is not None and id not in SILENT - failed
    }
    return {**shown, last: connected}


def _with_connection(
    results: dict[str, Ok | Failed | None], facts: Facts
) -> dict[str, Ok | Failed | None]:
    """The results for Claude Code: one that is connected has found its way, and for Doctor nothing
    is wrong where none runs."""
    if facts.is_connected or facts.window.claude.connected:
        found = Ok("to this window")
        return {**results, "claude_enabled": found, "claude_connected": found}
    if facts.process is None:
        return {**results, "claude_connected": None}
    return results


def _on_its_way(facts: Facts) -> Failed | None:
    """The first failure among the doctor's checks that are not steps of this page."""
    steps = _steps(facts)
    last = [*steps][-1]
    others = [
        check for check in report.checks_of(facts.cli) if check.id not in steps or check.id == last
    ]
    results = (check.judge(facts) for check in others if not (check.is_way and facts.is_connected))
    return next((result for result in results if isinstance(result, Failed)), None)


def _step_html(
    title: str, result: Ok | Failed | None, examination: Examination, is_next: bool
) -> str:
    """The link of the next step to do is highlighted."""
    if result is None:
        is_there = examination.facts.process is not None
        start = "" if is_there else START.format(examination.start_line)
        words = f'<div class="words">{page.shown_html(start)}</div>' if start else ""
        return f'<div class="step later">\u2013 {title}{words}</div>'
    if isinstance(result, Ok):
        found = f'<span class="path">{page.shown_html(result.found)}</span>'
        return f'<div class="step"><span class="ok">\u2713</span> {title} {found}</div>'
    words = page.shown_html(f"{result.what} {result.remedy}")
    button = remedies.remedy_link(result, examination.facts)
    return (
        f'<div class="{"step next" if is_next else "step"}"><span class="failed">\u2717</span>'
        f' <span class="title">{title}</span> {button}<div class="words">{words}</div></div>'
    )


def is_first_start(cache: str, state_path: str) -> bool:
    """Whether this is the first start after the first installation. `cache` is the package's folder
    there, `state_path` the file of earlier versions. A package in another folder, such as a
    checkout, does not count as installed. The UI thread may wait for the disk of the cache, which
    Sublime Text itself needs."""
    places = (sublime.packages_path(), sublime.installed_packages_path())
    here = os.path.abspath(__file__)
    is_installed = any(here.startswith(os.path.join(place, "")) for place in places)
    marks = (state_path, os.path.join(cache, MARK))
    return is_installed and not any(map(os.path.exists, marks))


def remember_shown(cache: str) -> None:
    """Note that the page was shown. Raises OSError."""
    mark = os.path.join(cache, MARK)
    private_files.make_parents(mark)
    with open(mark, "w", encoding="ascii"):
        pass
