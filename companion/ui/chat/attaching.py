"""What the user attaches to their next message, from a command to a line above the composer. UI
thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Callable, Sequence

import sublime

from ...base import background
from ...base.answer import Answer
from ...base.path_maps import PathMaps
from ...chat import attached
from ...chat.amounts import count_text
from ...chat.attached import Attached
from .. import application, panels, sharing_settings
from ..prompt import sending
from ..prompt.references import NoReference
from ..prompt.sending import NothingToSend, Text
from .chat_view import ChatView, workspace_of
from .drafts import folder_of
from .last_texts import LastTexts
from .project_lists import ProjectLists

# What can be attached, by the argument of the command, as a list offers it.
WHAT = {
    "file": "File",
    "folder": "Folder",
    "selection": "Selection, or the Line of the Cursor",
    "open_files": "Open Files",
    "diagnostics": "Diagnostics of the File",
    "build_results": "Output of the Last Build",
    "image": "Image",
}
# Those that go along as a text, with the names of their kinds.
TEXTS = {
    "selection": attached.SELECTION,
    "diagnostics": attached.DIAGNOSTICS,
    "build_results": attached.BUILD_RESULTS,
}
IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf")
# The most names in a list.
MOST = 5_000
UNKNOWN = 'Expected one of {} as "what", and was given {!r}.'
NO_SUCH = "There is no {} {}."
OTHER = "Somewhere else …"
WITHOUT = "Open files are attached, except {} that your settings exclude."


class Attaching:
    """`tell` shows a sentence."""

    def __init__(self, texts: LastTexts, lists: ProjectLists, tell: Callable[[str], None]) -> None:
        self._texts = texts
        self._lists = lists
        self._tell = tell

    async def attach_item(
        self, window: sublime.Window, chat: ChatView, what: str | None, path: str | None
    ) -> None:
        """Attach one of WHAT; asks for what is not given, and about excluded files."""
        if what is None:
            chosen = await panels.ask_choice(window, list(WHAT.values()), "Attach to Your Message")
            what = list(WHAT)[chosen] if chosen >= 0 else ""
        if not what:
            return
        if what in TEXTS:
            await self._attach_text(window, chat, what)
        elif what == "open_files":
            await self._attach_open(window, chat)
        elif what in WHAT:
            path = path or await self._choose_path(window, what)
            if path:
                await self._attach_path(window, chat, what, path)
        else:
            self._tell(UNKNOWN.format(", ".join(WHAT), what))

    async def _attach_text(self, window: sublime.Window, chat: ChatView, what: str) -> None:
        view = self._texts.last_text_in(window)
        path = view.file_name() if view is not None and what != "build_results" else None
        if path is not None and not await self._may_attach(window, path):
            return
        folder = await workspace_of(chat, window)
        text = Text(window, view, [folder], maps=PathMaps())
        try:
            words = text.variable_values()[what]()
        except (NothingToSend, NoReference) as error:
            self._tell(str(error))
            return
        where = os.path.basename(path) if path else "an unsaved text"
        name = "of the last build" if what == "build_results" else f"of {where}"
        lines = count_text(words.count("\n") + 1, "line")
        chat.above.attach([Attached(TEXTS[what], f"{name} ({lines})", text=words)])

    async def _attach_open(self, window: sublime.Window, chat: ChatView) -> None:
        paths, is_excluded = sending.open_paths(window), sharing_settings.exclusion_rule(window)
        told = await background.start_work(
            lambda: [path for path in paths if not is_excluded(path)]
        )
        if not told:
            self._tell(sending.NO_FILES)
            return
        chat.above.attach([_attached_path("file", path, window) for path in told])
        if len(told) < len(paths):
            self._tell(WITHOUT.format(len(paths) - len(told)))

    async def _attach_path(
        self, window: sublime.Window, chat: ChatView, what: str, path: str
    ) -> None:
        path = os.path.normpath(os.path.join(folder_of(window), path))
        is_there = os.path.isdir if what == "folder" else os.path.isfile
        if not await background.start_work(partial(is_there, path)):
            self._tell(NO_SUCH.format(what, path))
        elif await self._may_attach(window, path):
            chat.above.attach([_attached_path(what, path, window)])

    async def _may_attach(self, window: sublime.Window, path: str) -> bool:
        """Asks if the rules exclude it."""
        if not await background.start_work(partial(sharing_settings.exclusion_rule(window), path)):
            return True
        question = sending.EXCLUDED.format(os.path.basename(path))
        return await panels.ask_choice(window, [sending.NO, sending.YES], question) == 1

    async def _choose_path(self, window: sublime.Window, what: str) -> str | None:
        """A path; None for none."""
        folder, near = folder_of(window), sending.open_paths(window)
        listing = await self._lists.listing_of(window, folder)
        is_excluded = sharing_settings.exclusion_rule(window)
        look = partial(_offered_names, what, listing.names, near, folder, is_excluded)
        names = await background.start_work(look)
        chosen = await panels.ask_choice(window, [OTHER, *names], WHAT[what], selected_index=1)
        if chosen == 0:
            other: Answer[str | None] = Answer()
            application.ask_for_path(other.give, folder, is_folder=what == "folder")
            return await other
        return names[chosen - 1] if chosen > 0 else None


def _offered_names(
    what: str,
    names: Sequence[str],
    near: Sequence[str],
    folder: str,
    is_excluded: Callable[[str], bool],
) -> list[str]:
    """Open files first; what is excluded is not among them."""
    if what == "folder":
        fitting = [name for name in names if name.endswith("/")]
    elif what == "image":
        fitting = [name for name in names if name.lower().endswith(IMAGES)]
    else:
        top = os.path.join(folder, "")
        shorter = [name[len(top) :] if name.startswith(top) else name for name in near]
        fitting = [*(name.replace(os.sep, "/") for name in shorter), *names]
        fitting = [name for name in fitting if not name.endswith("/")]
    each = list(dict.fromkeys(fitting))[:MOST]
    return [name for name in each if not is_excluded(os.path.join(folder, name))]


def _attached_path(what: str, path: str, window: sublime.Window) -> Attached:
    top = os.path.join(folder_of(window), "")
    return Attached(what, path[len(top) :] if path.startswith(top) else path, path)
