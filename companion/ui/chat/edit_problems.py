"""New problems in files that the agents of chats have edited: each is told with the next message of
its chat, by the same rules as to a CLI (`ide/hooks/diagnostics_after_edits`). UI thread only.

A file is known as it was when its tab loaded the agent's text: what LSP and SublimeLinter have
reported until then is about the text before. Each conversation has its own knowledge, and a turn
begins without that of files that it need not look at any more: what the user has done to them since
is not the agent's.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from typing import Callable, Sequence

import sublime

from ...base.answer import Unanswered
from ...chat.attached import PROBLEMS, Attached
from ...chat.chat_update import STOPPING, WORKING, ChatUpdate
from ...chat.editor_context import as_problems
from ...ide.companion import Companion
from ...ide.questions import FilesTold
from .. import settings
from ..file_reading import in_time
from ..prompt import diagnostics
from ..prompt.diagnostics import MAX_KNOWN, Diagnostic, Reports

# The most files that are known, and the seconds within which Sublime loads one again.
MOST, LOADED = 32, 10.0


@dataclass(frozen=True)
class _Loaded:
    """What was known of a file when its tab loaded another text."""

    view: sublime.View
    before: list[Diagnostic]
    reports: Reports


@dataclass(frozen=True)
class _Found:
    """What was found for a message, in paths. `edited` has the files that were edited by then, with
    the times. `told` are the tabs with new problems. Of the tabs `over`, which are those and the
    ones that are well, nothing more is awaited. The tabs and files `waiting` are looked at again
    with the next message."""

    edited: dict[str, float]
    told: tuple[str, ...]
    over: frozenset[str]
    waiting: frozenset[str]


class EditProblems:
    """`companion` decides which files may be told; `now` gives seconds."""

    def __init__(self, companion: Companion, now: Callable[[], float] = time.monotonic) -> None:
        self._companion = companion
        self._now = now
        # The conversations that work, and the paths that each has edited, with the times.
        self._working: set[str] = set()
        self._edited: dict[str, dict[str, float]] = {}
        # Of each conversation: by the paths of tabs, oldest first.
        self._loaded: dict[str, OrderedDict[str, _Loaded]] = {}
        # The same of what was loaded while a message was on its way.
        self._since: dict[str, dict[str, _Loaded]] = {}
        # Of each conversation: what its next message has, and what its last one had.
        self._found: dict[str, _Found] = {}
        self._told: dict[str, dict[str, _Loaded]] = {}

    def follow_update(self, update: ChatUpdate) -> None:
        """A chat is now like this."""
        id = update.conversation_id
        if update.state in (WORKING, STOPPING):
            self._working.add(id)
        else:
            self._working.discard(id)
        if update.changed:
            edited = self._edited.setdefault(id, {})
            edited.update(dict.fromkeys(update.changed, self._now()))

    def note_loaded_view(self, view: sublime.View) -> None:
        """The view has the text that its file has now, or is about to get it. The result of the
        edit may be told before or after that."""
        path, window = view.file_name(), view.window()
        every = [
            known
            for id in {*self._working, *self._edited}
            for known in (self._loaded_files(id), self._since.get(id))
        ]
        awaiting = [known for known in every if known is not None and path not in known]
        reports = (
            diagnostics.source_reports(window, view) if awaiting and window is not None else {}
        )
        if path is None or window is None or not reports:
            return
        before = diagnostics.diagnostics_of(window, path)
        if len(before) > MAX_KNOWN:
            return
        for known in awaiting:
            known[path] = _Loaded(view, before, reports)
            if len(known) > MOST:
                del known[next(iter(known))]

    def forget_conversation(self, conversation: str) -> None:
        """The user has closed its last tab: nothing is told of what it has edited until now."""
        self._working.discard(conversation)
        for each in (self._edited, self._loaded, self._since, self._found, self._told):
            each.pop(conversation, None)

    def _loaded_files(self, conversation: str) -> OrderedDict[str, _Loaded]:
        return self._loaded.setdefault(conversation, OrderedDict())

    async def new_problems(
        self, conversation: str, window: sublime.Window, folder: str
    ) -> tuple[Attached, ...]:
        """What goes along with the next message of the conversation, which works in the folder."""
        self._found.pop(conversation, None)
        self._since[conversation] = {}
        edited = dict(self._edited.get(conversation, {}))
        if not edited or not settings.current_settings(window).diagnostics_after_edits:
            return ()
        late: dict[str, str] = {}
        known = self._loaded_files(conversation)
        tabs = await in_time(partial(_tabs_of, tuple(edited), tuple(known)), late)
        try:
            may = await self._companion.ask(FilesTold(window.id(), tuple(tabs)))
        except Unanswered:
            # The message does not depend on it.
            return ()
        lines = {path: _new_problem_lines(window, path, known.get(path)) for path in may}
        told = [(path, found) for path, found in lines.items() if found]
        awaited = {path for path in may if not lines[path] and _is_awaited(window, known.get(path))}
        # Sublime loads a file again some time after it was written.
        soon = {path for path, at in edited.items() if self._now() - at < LOADED}
        waiting = frozenset(awaited | soon.difference(tabs.values()))
        over = frozenset(tabs).difference(awaited)
        paths = tuple(path for path, _ in told)
        self._found[conversation] = _Found(edited, paths, over, waiting)
        names = ", ".join(os.path.basename(path) for path, _ in told)
        text = as_problems(told, folder)
        return (Attached(PROBLEMS, f"in {names}", text=text),) if text else ()

    def note_sent(self, conversation: str) -> None:
        """What was found is on its way."""
        found = self._found.pop(conversation, None)
        if found is not None:
            self._settle_problems(conversation, found)
        elif not self._edited.get(conversation):
            self._loaded.pop(conversation, None)
        for path, loaded in self._since.pop(conversation, {}).items():
            self._loaded_files(conversation).setdefault(path, loaded)

    def _settle_problems(self, conversation: str, found: _Found) -> None:
        known = self._loaded_files(conversation)
        over = {path: known.pop(path, None) for path in found.over}
        told = ((path, over[path]) for path in found.told)
        self._told[conversation] = {path: loaded for path, loaded in told if loaded is not None}
        edited = self._edited.pop(conversation, {})
        left = {path: edited.get(path, 0.0) for path in found.waiting}
        # The agent may have gone on meanwhile.
        left.update((path, at) for path, at in edited.items() if found.edited.get(path) != at)
        if left:
            self._edited[conversation] = left
        if conversation not in self._working:
            # A turn begins.
            for path in set(known).difference(found.waiting):
                del known[path]

    def taken_back(self, conversation: str) -> None:
        """The agent does not get the last message."""
        for path, loaded in self._told.pop(conversation, {}).items():
            self._loaded_files(conversation).setdefault(path, loaded)
            self._edited.setdefault(conversation, {})[path] = self._now()


def _tabs_of(edited: Sequence[str], tabs: Sequence[str]) -> dict[str, str]:
    """The paths of tabs whose files were edited, with those by which an agent names them: by their
    real paths. Waits for the disk."""
    named = {os.path.realpath(path): path for path in edited}
    real = ((tab, os.path.realpath(tab)) for tab in tabs)
    return {tab: named[path] for tab, path in real if path in named}


def _new_problem_lines(window: sublime.Window, path: str, loaded: _Loaded | None) -> list[str]:
    """What is new since then."""
    if loaded is None or not loaded.view.is_valid() or loaded.view.is_dirty():
        return []
    now = diagnostics.diagnostics_of(window, path)[: 2 * MAX_KNOWN]
    return [each.text() for each in diagnostics.new_diagnostics(loaded.before, now)]


def _is_awaited(window: sublime.Window, loaded: _Loaded | None) -> bool:
    """Whether somebody who watches the file has not reported about its text yet."""
    if loaded is None or not loaded.view.is_valid():
        return False
    return not diagnostics.are_new(loaded.reports, diagnostics.source_reports(window, loaded.view))
