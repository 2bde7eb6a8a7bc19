"""Sends what a command is about to the prompt of a CLI: finds the text, checks whether it may be
sent, and where."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import Awaitable, Callable, Iterable, Mapping, Sequence, Tuple

import sublime

from ...base import background
from ...base.path_maps import PathMaps
from .. import panels, sharing_settings
from ..terminals.cli_terminals import TERMINUS_VIEW, hand_over, where_to
from . import diagnostics, excerpts, variables
from .references import NoReference, remote_reference

NO_TEXT = "There is no text to send: open a file."
NO_SELECTION = "There is no text to send: nothing is selected, and the line of the cursor is empty."
NO_FILE = "There is no file to send: the text in front is not in a file. Save it first."
NO_FILES = "There is no file to send: no tab of the window has one."
NO_SOURCES = "There are no diagnostics: neither LSP nor SublimeLinter is installed."
NO_DIAGNOSTICS = "{} report nothing wrong {}."
IN_CHAT = "The chat has {}: you send it with your message."
NO_OUTPUT = "There are no build results to send."
EXCLUDED = "{} is excluded from what CLIs are told. Send it anyway?"
YES, NO = "Send it", "Do not send it"
MENTIONED = "In the prompt of Claude Code, not sent yet: {}."
# The words that are a reference alone.
FILE = "$file"
REFERENCES = ("$reference", FILE)
UNSAVED = ", with unsaved changes that the CLI does not see"
# Variables about the file in front.
OF_FILE = {"selection", "reference", "file", "diagnostics"}


Mention = Callable[[str, Sequence[Tuple[int, int]]], Awaitable[bool]]


class NothingToSend(Exception):
    """The text is a sentence for the user."""


@dataclass(frozen=True)
class PromptWords:
    """The words for the prompt, with variables, and the name of them for the user."""

    text: str
    name: str


def text_view(window: sublime.Window) -> sublime.View | None:
    """The text in front; if a terminal has the keyboard, that of another group."""
    active, groups = window.active_view(), range(window.num_groups())
    views = [active, *(window.active_view_in_group(group) for group in groups)]
    return next((view for view in views if view and is_text(view)), None)


def is_text(view: sublime.View) -> bool:
    """Whether it is no terminal."""
    return not view.settings().get(TERMINUS_VIEW)


def open_paths(window: sublime.Window) -> list[str]:
    """The files that have a tab, each once."""
    return list(dict.fromkeys(path for path in map(sublime.View.file_name, window.views()) if path))


@dataclass(frozen=True)
class Destination:
    """Where words go instead of a terminal: files are named from the `folder`, `put` writes."""

    folder: str
    put: Callable[[str], None]


async def _mentions_nothing(path: str, rows: Sequence[tuple[int, int]]) -> bool:
    return False


class Sending:
    """`is_excluded` says, on any thread, whether the rules exclude a file; `tell` shows a
    sentence. `place` says where in the window the words go instead of a terminal, if anywhere.
    `mention` puts a reference to rows of a file into the prompt of a CLI outside of the editor;
    False if there is none that takes it."""

    def __init__(
        self,
        window: sublime.Window,
        is_excluded: Callable[[str], bool],
        tell: Callable[[str], None],
        place: Callable[[], Destination | None] = lambda: None,
        mention: Mention = _mentions_nothing,
    ) -> None:
        self._window = window
        self._is_excluded = is_excluded
        self._tell = tell
        self._place = place
        self._mention = mention

    async def send_words(self, words: PromptWords, view: sublime.View | None) -> None:
        """Put the words about the text of this view into the prompt of a CLI. Asks about excluded
        files, and which CLI."""
        path = view.file_name() if view is not None else None
        try:
            used = variables.used_names(words.text, Text(self._window, view, ()).variable_values())
        except variables.UnknownVariable as error:
            self._tell(str(error))
            return
        subject = path if path is not None and used & OF_FILE else None
        paths = {subject} if subject is not None else set()
        if "open_files" in used:
            paths |= set(open_paths(self._window))
        # Links have to be followed on a disk, which may be slow.
        excluded = await background.start_work(partial(self._excluded_paths, paths))
        if subject in excluded:
            question = EXCLUDED.format(os.path.basename(subject or ""))
            if await panels.ask_choice(self._window, [NO, YES], question) != 1:
                return
        place = self._place()
        if place is not None:
            self._put_words(
                place, words, Text(self._window, view, [place.folder], excluded, PathMaps())
            )
            return
        target = await where_to(self._window, prefers_seen=True)
        if target is None:
            return
        if target.terminal is None and await self._has_mentioned(words, view):
            return
        folders = [target.folder] if target.folder else self._window.folders()
        text = Text(self._window, view, folders, excluded)
        filled = self._fill_words(words, text)
        if filled is not None:
            name = words.name + "".join(text.remarks)
            await hand_over(target, filled, name, self._tell, focus=True)

    async def _has_mentioned(self, words: PromptWords, view: sublime.View | None) -> bool:
        """Whether a CLI outside of the editor has taken the words, which are a reference alone."""
        path = view.file_name() if view is not None else None
        if view is None or path is None or words.text.strip() not in REFERENCES:
            return False
        is_file = words.text.strip() == FILE
        rows = [] if is_file else excerpts.selected_rows(view)
        if not await self._mention(path, rows):
            return False
        unsaved = UNSAVED if view.is_dirty() else ""
        self._tell(MENTIONED.format(words.name + unsaved))
        return True

    def _put_words(self, place: Destination, words: PromptWords, text: Text) -> None:
        filled = self._fill_words(words, text)
        if filled is not None:
            place.put(filled)
            self._tell(IN_CHAT.format(words.name + "".join(text.remarks)))

    def _fill_words(self, words: PromptWords, text: Text) -> str | None:
        """None if there is nothing to send, which the user is told."""
        try:
            return variables.fill_variables(words.text, text.variable_values())
        except (NothingToSend, NoReference) as error:
            self._tell(str(error))
            return None

    def _excluded_paths(self, paths: Iterable[str]) -> frozenset[str]:
        return frozenset(path for path in paths if self._is_excluded(path))


class Text:
    """The values of the variables of a prompt. Files are named relative to `folders`. `excluded`
    has the paths that `$open_files` leaves out. `maps` are those of whoever reads it, else those of
    the window's CLIs. `remarks` are about what was left out; they end the text's name in a
    sentence."""

    def __init__(
        self,
        window: sublime.Window,
        view: sublime.View | None,
        folders: Sequence[str],
        excluded: frozenset[str] = frozenset(),
        maps: PathMaps | None = None,
    ) -> None:
        self._window = window
        self._view = view
        self._maps = sharing_settings.path_maps(window) if maps is None else maps
        self._folders = folders
        self._excluded = excluded
        self.remarks: list[str] = []

    def variable_values(self) -> Mapping[str, Callable[[], str]]:
        return {
            "selection": self._selection_text,
            "reference": self._reference_text,
            "file": self._file_reference,
            "open_files": self._open_files,
            "diagnostics": self._diagnostics_text,
            "build_results": self._build_results,
        }

    def _selection_text(self) -> str:
        if self._view is None:
            raise NothingToSend(NO_TEXT)
        path, language = self._view.file_name(), excerpts.language_of(self._view)
        parts: list[str] = []
        found = excerpts.selected_excerpts(self._view)
        for each in found:
            parts += [self._name_file(path, each.rows)] if path else []
            parts += [excerpts.fence_text(each.text, language)] if each.text else []
        if not parts:
            raise NothingToSend(NO_SELECTION)
        missing = sum(each.missing for each in found)
        return "\n".join(parts + self._report_cut(missing and f"{missing:,} more characters"))

    def _reference_text(self) -> str:
        path, view = self._file_path(), self._view
        rows = excerpts.selected_rows(view) if view is not None else []
        return " ".join(self._name_file(path, each) for each in rows)

    def _file_reference(self) -> str:
        return self._name_file(self._file_path())

    def _open_files(self) -> str:
        paths = open_paths(self._window)
        told = [path for path in paths if path not in self._excluded]
        if len(told) < len(paths):
            self.remarks.append(f", without {len(paths) - len(told)} that are excluded")
        if not told:
            raise NothingToSend(NO_FILES)
        return " ".join(self._name_file(path) for path in told)

    def _diagnostics_text(self) -> str:
        path, view = self._file_path(), self._view
        if not diagnostics.loaded_sources():
            raise NothingToSend(NO_SOURCES)
        found, place = diagnostics.diagnostics_of(self._window, path), "in the file"
        if view is not None and any(not region.empty() for region in view.sel()):
            rows, place = excerpts.selected_rows(view), "in the selected lines"
            found = [each for each in found if any(a <= each.row <= b for a, b in rows)]
        if not found:
            names = " and ".join(diagnostics.loaded_sources())
            raise NothingToSend(NO_DIAGNOSTICS.format(names, place))
        return "\n".join(
            [
                self._name_file(path) + ":",
                *self._cut_to_limit([diagnostic.text() for diagnostic in found]),
            ]
        )

    def _build_results(self) -> str:
        found = excerpts.build_results(self._window)
        if found is None:
            raise NothingToSend(NO_OUTPUT)
        cut = self._report_cut(found.missing and f"{found.missing:,} characters before these")
        return "\n".join([*cut, excerpts.fence_text(found.text)])

    def _cut_to_limit(self, lines: list[str]) -> list[str]:
        """Cut the lines: as many as fit, and how many more there are."""
        room = excerpts.LIMIT
        for count, line in enumerate(lines):
            room -= len(line) + 1
            if room < 0:
                return lines[:count] + self._report_cut(f"{len(lines) - count:,} more diagnostics")
        return lines

    def _report_cut(self, what: str | int) -> list[str]:
        """Report what did not fit: to the user, and to the CLI with a line that is given."""
        if not what:
            return []
        self.remarks.append(f", without {what} that did not fit")
        return [f"({what} are left out here.)"]

    def _file_path(self) -> str:
        path = self._view.file_name() if self._view is not None else None
        if path is None:
            raise NothingToSend(NO_FILE)
        return path

    def _name_file(self, path: str, rows: tuple[int, int] | None = None) -> str:
        view = self._window.find_open_file(path)
        if view is not None and view.is_dirty() and UNSAVED not in self.remarks:
            self.remarks.append(UNSAVED)
        return remote_reference(path, self._folders, self._maps, rows)
