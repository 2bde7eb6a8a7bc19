"""What a link in a transcript does: one function for each action, found in a table. Those of
questions are in `answering`. UI thread only."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

import sublime

from ...base.private_files import is_within
from ...base.shown_text import shown_line
from ...base.web_address import web_address
from ...chat import rendered
from ...chat.rendered import Link
from ...chat.requests import StopSubagent
from .. import application, panels
from ..file_reading import in_time
from . import failure_words
from .forms import COPY, OPEN, OTHER_ADDRESS

if TYPE_CHECKING:
    from ...chat.chat_service import ChatService

A_FOLDER = "{} is a folder."
NO_FILE = "{} is not there any more."
SILENT = "{} cannot be opened: its disk does not answer."
OUTSIDE = "{} is not in a folder of this chat."
LINK = "A link in the agent's text"
NOT_YET = "This version cannot follow that link."
TURN_CHANGES = "gemini_companion_turn_changes"


@dataclass(frozen=True)
class Followed:
    """A link that the user follows in a view of the conversation. `argument` is the link's.
    `folders` are those that its agent has, that in which it works first."""

    view: sublime.View
    conversation: str
    argument: Mapping[str, Any]
    folders: Sequence[str]
    tell: Callable[[str], None]


async def follow_link(followed: Followed, service: ChatService, action: str) -> None:
    """Raises Unanswered."""
    act = ACTIONS.get(action)
    if act is None:
        followed.tell(NOT_YET)
    else:
        await act(followed, service)


def argument_of(link: Link) -> Mapping[str, Any]:
    """The members of its argument."""
    found = json.loads(link.argument)
    return found if isinstance(found, dict) else {}


async def _open_file(followed: Followed, service: ChatService) -> None:
    path = str(followed.argument.get("path", ""))
    refusal = await in_time(partial(refusal_reason, path), SILENT)
    window = followed.view.window()
    if refusal:
        followed.tell(refusal.format(path))
    elif window is not None:
        window.open_file(path)


async def _open_place(followed: Followed, service: ChatService) -> None:
    """A file within a folder of the chat, at its line."""
    argument, window = followed.argument, followed.view.window()
    named = str(argument.get("path", ""))
    # "~name" would ask the system for a user of that name.
    known = os.path.expanduser(named) if named.startswith(("~/", "~\\")) else named
    path = os.path.normpath(os.path.join(followed.folders[0], known))
    refusal = _named_refusal(path, followed.folders)
    refusal = refusal or await in_time(partial(_place_refusal, path, followed.folders), SILENT)
    if refusal:
        followed.tell(refusal.format(named))
    elif window is not None:
        line, column = (int(argument.get(name) or 0) for name in ("line", "column"))
        if line:
            window.open_file(f"{path}:{line}:{column}", sublime.ENCODED_POSITION)
        else:
            window.open_file(path)


def _named_refusal(path: str, folders: Sequence[str]) -> str:
    """Why nobody may look for it on the disk; "" if they may. Windows asks the server that begins a
    path, and sends it the user's login."""
    if "\0" in path:
        return NO_FILE
    drive, *known = (os.path.normcase(os.path.splitdrive(each)[0]) for each in (path, *folders))
    return "" if drive in known else OUTSIDE


def _place_refusal(path: str, folders: Sequence[str]) -> str:
    """The reason as `refusal_reason` gives it, also for what is in none of the folders."""
    if not any(folder and is_within(path, folder) for folder in folders):
        return OUTSIDE
    return refusal_reason(path)


async def _open_address(followed: Followed, service: ChatService) -> None:
    """The user sees the host and the whole address before a browser gets it."""
    window, url = followed.view.window(), str(followed.argument.get("url", ""))
    if window is None:
        return
    found = web_address(url)
    items = [panels.panel_item(COPY, shown_line(url))]
    if found is not None:
        items.insert(0, panels.panel_item(OPEN.format(found.host), shown_line(found.url)))
    chosen = await panels.ask_choice(window, items, LINK if found is not None else OTHER_ADDRESS)
    if chosen == len(items) - 1:
        application.copy_text(url)
    elif found is not None and chosen == 0:
        window.run_command("open_url", {"url": found.url})


def refusal_reason(path: str) -> str:
    """Why it cannot be opened, with a place for its name; "" if it can. Waits for the disk."""
    if os.path.isfile(path):
        return ""
    return A_FOLDER if os.path.isdir(path) else NO_FILE


async def _show_output(followed: Followed, service: ChatService) -> None:
    """Unfold what is folded in the line of the link."""
    view = followed.view
    caret = view.sel()[0].b
    view.unfold(view.line(caret))


async def _open_edit(followed: Followed, service: ChatService) -> None:
    """One that nobody is asked about any more: what its turn made of the file."""
    window = followed.view.window()
    if window is not None:
        told = {name: str(followed.argument.get(name, "")) for name in ("turn", "path")}
        window.run_command(TURN_CHANGES, told)


async def _run_recovery(followed: Followed, action: str) -> None:
    window, turn = followed.view.window(), str(followed.argument.get("turn", ""))
    if window is not None:
        told = {"action": action, "conversation": followed.conversation, "turn": turn}
        window.run_command(failure_words.COMMAND, told)


async def _retry_turn(followed: Followed, service: ChatService) -> None:
    await _run_recovery(followed, failure_words.RETRY)


async def _log_in(followed: Followed, service: ChatService) -> None:
    await _run_recovery(followed, failure_words.LOG_IN)


async def _stop_subagent(followed: Followed, service: ChatService) -> None:
    call = str(followed.argument.get("call", ""))
    await service.ask(StopSubagent(followed.conversation, call))


async def _open_changes(followed: Followed, service: ChatService) -> None:
    window, turn = followed.view.window(), str(followed.argument.get("turn", ""))
    if window is not None:
        window.run_command(TURN_CHANGES, {"turn": turn})


ACTIONS = {
    rendered.OPEN_CHANGES: _open_changes,
    rendered.OPEN_EDIT: _open_edit,
    rendered.OPEN_FILE: _open_file,
    rendered.OPEN_PLACE: _open_place,
    rendered.OPEN_ADDRESS: _open_address,
    rendered.SHOW_OUTPUT: _show_output,
    rendered.STOP_SUBAGENT: _stop_subagent,
    rendered.RETRY: _retry_turn,
    rendered.LOG_IN: _log_in,
}
