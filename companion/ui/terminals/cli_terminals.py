"""Terminus' terminals in which a CLI runs; pastes texts into its prompt without an Enter.

Terminus is never imported, because it may not be installed. What it knows of a terminal is looked
up in its loaded modules (docs/sublime.md 9.4).
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Any, Callable

import sublime

from ...ide.clis import CLIS, CONNECTING_CLIS, by_command, program_name
from .. import application, panels, settings
from ..stories import sleep

# The settings by which Terminus marks its views, and its command for pasting.
TERMINUS_VIEW, FINISHED = "terminus_view", "terminus_view.finished"
ARGUMENTS = "terminus_view.args"
PASTE = "terminus_paste_text"
# The module that knows the modes of a terminal.
TERMINUS = "Terminus.terminus.terminal"

PASTED = "In the prompt of the CLI, not sent yet: {}."
COPIED = "On the clipboard, to be pasted into the CLI: {}."
REFUSED = "That terminal does not accept several lines now; on the clipboard: {}."
ASKING = "The CLI waits for an answer and accepts no text; on the clipboard: {}."
CLIPBOARD = "Copy to the clipboard"

# The beginning of Gemini CLI's title: ready, busy (two signs), a question to the user.
TITLE = re.compile("[\u25c7\u2726\u23f2\u270b]  ")
QUESTION = "\u270b"
# Milliseconds between checks whether a question is answered, and the number of checks.
ANSWERED, LOOKS = 100, 50
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class TextTarget:
    """The destination of a text: the CLI in the terminal, else the clipboard. `folder` is the CLI's
    folder, empty if it is not known."""

    terminal: sublime.View | None = None
    folder: str = ""


async def where_to(window: sublime.Window, prefers_seen: bool = False) -> TextTarget | None:
    """The CLI of the window, or, if that is preferred, the only one in sight. The user chooses if
    there are several, or if no terminal shows that it runs a CLI; None if they choose nothing."""
    every = open_terminals(window)
    clis = [view for view in every if runs_cli(window, view)]
    seen = _in_sight(window, clis) if prefers_seen else []
    clis = seen if len(seen) == 1 else clis
    if not every or len(clis) == 1:
        return _target_of(clis[0]) if clis else TextTarget()
    targets = [*map(_target_of, clis or every), TextTarget()]
    items = [[title_of(view) or "Terminal", _folder_of(view)] for view in clis or every]
    items.append([CLIPBOARD, ""])
    number = await panels.ask_choice(window, items, "Into the prompt of which CLI?")
    return targets[number] if number >= 0 else None


def open_terminals(window: sublime.Window) -> list[sublime.View]:
    """Terminus' terminals in tabs and in panels that have not ended."""
    names = [name[len("output.") :] for name in window.panels() if name.startswith("output.")]
    panels = [view for view in map(window.find_output_panel, names) if view is not None]
    views = [*window.views(), *panels]
    return [view for view in views if view.settings().get(TERMINUS_VIEW) and _is_alive(view)]


def is_cli_in_sight(window: sublime.Window) -> bool:
    """Whether a terminal with a CLI is in front in its group, or in the panel that is shown."""
    return any(runs_cli(window, view) for view in _in_sight(window, open_terminals(window)))


def is_one_in_sight(window: sublime.Window, command: str) -> bool:
    """Whether a terminal is in sight that names the CLI with that command, or runs one and names
    none."""
    terminals = (each for each in _views_in_sight(window) if each.settings().get(TERMINUS_VIEW))
    return any(
        runs_cli(window, each)
        and (names_cli(each, command) or not any(names_cli(each, cli.command) for cli in CLIS))
        for each in terminals
    )


def _in_sight(window: sublime.Window, views: list[sublime.View]) -> list[sublime.View]:
    shown = _views_in_sight(window)
    return [view for view in views if view in shown]


def _views_in_sight(window: sublime.Window) -> list[sublime.View]:
    """Those in front in their groups, and that of the panel that is shown."""
    shown = [window.active_view_in_group(group) for group in range(window.num_groups())]
    panel = window.active_panel() or ""
    if panel.startswith("output."):
        shown.append(window.find_output_panel(panel[len("output.") :]))
    return [view for view in shown if view is not None]


def runs_cli(window: sublime.Window, view: sublime.View) -> bool:
    """Whether a CLI runs in the terminal, as far as its title and its command show it."""
    command, title, words = (
        settings.current_settings(window).terminal_cli,
        title_of(view),
        _command_words(view),
    )
    # A program that starts a CLI, such as npx or env, also starts others; the user's own does not.
    own = {program_name(command[0])} if by_command(command) is None else set()
    # "bob" is also a person's name, which is in the titles of many shells.
    named = any(
        word in title.lower() for word in {cli.command for cli in CONNECTING_CLIS} - {"bob"} | own
    )
    runs = by_command(words) is not None or bool(own & set(map(program_name, words)))
    return named or bool(TITLE.match(title)) or runs


def names_cli(view: sublime.View, command: str) -> bool:
    """Whether title or command line of the terminal name the CLI with that command."""
    return command in title_of(view).lower() or command in map(program_name, _command_words(view))


def _open_arguments(view: sublime.View) -> dict[str, Any]:
    found: Any = view.settings().get(ARGUMENTS)
    return found if isinstance(found, dict) else {}


def _command_words(view: sublime.View) -> list[str]:
    command = _open_arguments(view).get("cmd")
    return [word for word in command if isinstance(word, str)] if isinstance(command, list) else []


def _folder_of(view: sublime.View) -> str:
    folder = _open_arguments(view).get("cwd")
    return folder if isinstance(folder, str) else ""


def _target_of(view: sublime.View) -> TextTarget:
    return TextTarget(view, _folder_of(view))


async def hand_over(
    target: TextTarget, text: str, what: str, tell: Callable[[str], None], focus: bool = False
) -> None:
    """Paste the text into the prompt, or copy it, and report that; `what` is its name in the
    sentence. If a CLI asks something, the user has some seconds to answer."""
    terminal, safe = target.terminal, make_harmless(text)
    looks = 0
    # A question replaces the prompt, and a paste would be lost (docs/protocol.md 8.57).
    while terminal is not None and terminal.is_valid() and _is_asking(terminal) and looks < LOOKS:
        await sleep(ANSWERED)
        looks += 1
    if terminal is None or not terminal.is_valid():
        _copy_text(safe, COPIED, what, tell)
    elif _is_asking(terminal):
        _copy_text(safe, ASKING, what, tell)
    elif "\n" in safe and not _takes_pastes(terminal):
        # Without brackets around it, each line end would send what is before it.
        _copy_text(safe, REFUSED, what, tell)
    else:
        terminal.run_command(PASTE, {"text": safe, "bracketed": True})
        tell(PASTED.format(what))
        if focus:
            show_terminal(terminal)


def _is_asking(terminal: sublime.View) -> bool:
    return title_of(terminal).startswith(QUESTION)


def _copy_text(text: str, sentence: str, what: str, tell: Callable[[str], None]) -> None:
    application.copy_text(text)
    tell(sentence.format(what))


def make_harmless(text: str) -> str:
    """The text without characters that a terminal, or a CLI in it, would treat as a key or as the
    end of the paste. Control characters become pictures; line ends are made equal."""
    return CONTROL.sub(_control_picture, text.replace("\r\n", "\n").replace("\r", "\n"))


def _control_picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code == 0x7F:
        return "\u2421"
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"


def _takes_pastes(view: sublime.View) -> bool:
    """Whether its program has asked for brackets around pasted texts; True if that is not known."""
    terminal = _terminus_record(view)
    return terminal is None or terminal.bracketed_paste_mode_enabled()


def title_of(view: sublime.View) -> str:
    """The program's title for the terminal; the tab's name if that is not known."""
    screen = getattr(_terminus_record(view), "screen", None)
    title = getattr(screen, "title", "")
    return (title if isinstance(title, str) and title.strip() else view.name()).strip()


def _is_alive(view: sublime.View) -> bool:
    known = TERMINUS in sys.modules
    return not view.settings().get(FINISHED) and not (known and _terminus_record(view) is None)


def _terminus_record(view: sublime.View) -> Any:
    """Terminus' own record of the view; None if it has none, or is not loaded."""
    terminals_of = getattr(sys.modules.get(TERMINUS), "Terminal", None)
    return terminals_of.from_id(view.id()) if terminals_of is not None else None


def show_terminal(terminal: sublime.View) -> None:
    """Go there, with the keyboard."""
    # A panel that is hidden may have no window.
    for window in application.all_windows():
        for name in window.panels():
            if name.startswith("output.") and window.find_output_panel(name[7:]) == terminal:
                window.run_command("show_panel", {"panel": name})
    holder = terminal.window()
    if holder is not None:
        application.bring_to_front(holder)
        holder.focus_view(terminal)
