"""Words of the user about an edit that go along with what a CLI sends its model next, by its
hooks. The companion's loop owns it.

A word of the user is forgotten once a hook's answer with it went out. If its CLI ends first, the
user has it back as a tab.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import Callable, Iterable

from ...base.background import in_thread
from ...base.path_maps import NO_MAPS
from ..clis import CliSession
from ..editor import Editor, EditorError
from ..extension_forms import Moment
from ..hook_events import HookEvent
from ..live_clis import LiveCli
from ..saved_state import SavedWords
from ..session import Session
from .hook_answers import MAX_CONTEXT, NOTHING, HookAnswer, takes_context
from .hook_desk import HookDesk, running_processes

# What the model reads above the words of the user, by whether they accepted the edit.
HEADINGS = {
    True: "The user accepted the edit of {} in the editor, and says:",
    False: "The user rejected the edit of {} in the editor, and says:",
    None: "The user says about the edit of {}:",
}
# In brackets behind the file's name: the tab has words that reached nobody.
NOT_TOLD = "your note, not delivered"
# Between the words of one answer.
GAP = "\n\n"
# Words that wait for one CLI; more are not taken.
MAX_WAITING = 32
# Seconds after a restart in which a CLI that runs has to be heard of.
RETURN = 600.0


class WordsForModel:
    """The words that wait for one window's CLIs, told by the answers of `hooks`. `on_change` is
    called whenever something has changed that must be saved."""

    def __init__(
        self, window_id: int, editor: Editor, hooks: HookDesk, on_change: Callable[[], None]
    ) -> None:
        self._window_id = window_id
        self._editor = editor
        self._live = hooks.live
        self._on_change = on_change
        # The first of all: so what is cut of an answer that is too long is none of these.
        hooks.listeners.insert(0, self)
        self.path_maps = NO_MAPS
        self._waiting: dict[int, SavedWords] = {}
        self._count = 0
        # Those in an answer that is not given yet, or in a tab that opens.
        self._under_way: set[int] = set()
        # Until when a CLI may be heard of again, by its session, in seconds since the epoch.
        self._expected: dict[CliSession, float] = {}

    def take_words(self, mcp_session: str, path: str, is_accepted: bool | None, text: str) -> bool:
        """Take words of the user for the CLI with that MCP session, about its proposal for the
        editor's path; `is_accepted` is None where the CLI's terminal knows how they decided. False
        if nobody hears it by hooks, or if the words are too many: then they stay with the user."""
        found = [cli for cli in self._live.all() if mcp_session and cli.mcp_session == mcp_session]
        if not found:
            return False
        # What is accepted has a result; a rejection ends the turn, and the path does not matter.
        goes_with = "" if is_accepted is False else path
        return self._queue_words(found[-1], path, HEADINGS[is_accepted], text, goes_with)

    def take_on_unasked(
        self, session: CliSession | None, client: str, path: str, text: str
    ) -> bool:
        """Take words of the user about an edit of the editor's path that a CLI of that name made
        without asking; it has its result already. If its session has ended, they go to the next one
        of its kind that was heard last, as what was undone does. False as in `take_words`."""
        live = self._live.all()
        found = [cli for cli in live if cli.cli_session == session]
        found = found or [cli for cli in live if session is None and cli.name == client]
        return bool(found) and self._queue_words(found[-1], path, HEADINGS[None], text, "")

    def _queue_words(
        self, live: LiveCli, path: str, heading: str, text: str, goes_with: str
    ) -> bool:
        heading = heading.format(self.path_maps.to_remote(path))
        words = SavedWords(
            live.cli_id, live.cli_session_id, live.pid, text, goes_with, path, heading
        )
        if (
            len(_text_for_model(words)) > MAX_CONTEXT
            or len(self._waiting_numbers(words.cli_session)) >= MAX_WAITING
        ):
            return False
        self._add_words(words)
        return True

    async def answer_hook(self, event: HookEvent, session: Session | None) -> HookAnswer:
        key = event.cli_session
        self._expected.pop(key, None)
        if not takes_context(event):
            return NOTHING
        paths = frozenset(map(self._comparable_path, event.written_paths()))
        found, room = [], MAX_CONTEXT + len(GAP)
        for number in self._waiting_numbers(key):
            words = self._waiting[number]
            is_its = not words.path or _normal_path(words.path) in paths
            is_due = event.moment is Moment.PROMPTED or is_its
            room -= len(_text_for_model(words)) + len(GAP) if is_due else 0
            if room < 0:
                break
            found += [number] if is_due else []
        if not found:
            return NOTHING
        self._under_way.update(found)
        text = GAP.join(_text_for_model(self._waiting[number]) for number in found)
        return HookAnswer(context=text, settle=(partial(self._settle_words, found),))

    async def return_undeliverable(self) -> None:
        """Give back the words of CLIs that have ended; call it now and then."""
        for number, words in await self._words_without_cli():
            if number not in self._waiting or number in self._under_way:
                # Its CLI was heard of again while another tab opened.
                continue
            self._under_way.add(number)
            try:
                path, text = words.about, words.text
                await self._editor.return_text(self._window_id, path, text, NOT_TOLD)
                is_back = True
            except EditorError:
                # There is no window at the moment.
                is_back = False
            self._settle_words([number], is_back)

    def saved_words(self) -> tuple[SavedWords, ...]:
        return tuple(self._waiting.values())

    def adopt_words(self, saved: Iterable[SavedWords]) -> None:
        """Take words from before a restart, or of a window that is closed."""
        for words in saved:
            self._expected[words.cli_session] = time.time() + RETURN
            self._add_words(words)

    def _add_words(self, words: SavedWords) -> None:
        self._count += 1
        self._waiting[self._count] = words
        self._on_change()

    def _settle_words(self, numbers: Iterable[int], is_done: bool) -> None:
        for number in numbers:
            self._under_way.discard(number)
            if is_done and self._waiting.pop(number, None) is not None:
                self._on_change()

    async def _words_without_cli(self) -> list[tuple[int, SavedWords]]:
        """The words whose CLI has ended, each with its number."""
        live = {each.cli_session for each in self._live.all()}
        gone = {number for number, each in self._waiting.items() if each.cli_session not in live}
        pids = {
            self._waiting[number].pid for number in gone if self._is_expected(self._waiting[number])
        }
        # Of a process of another system (0) nobody can tell.
        present = {0} | (await in_thread(partial(running_processes, pids - {0})) if pids else set())
        return [
            (number, words)
            for number, words in self._waiting.items()
            if number in gone and number not in self._under_way
            if words.pid not in present or not self._is_expected(words)
        ]

    def _is_expected(self, words: SavedWords) -> bool:
        return self._expected.get(words.cli_session, 0.0) > time.time()

    def _waiting_numbers(self, key: CliSession) -> list[int]:
        known = self._waiting.items()
        return [
            number
            for number, each in known
            if each.cli_session == key and number not in self._under_way
        ]

    def _comparable_path(self, path: str) -> str:
        return _normal_path(self.path_maps.to_local(path))


def _normal_path(path: str) -> str:
    return os.path.normcase(os.path.normpath(path))


def _text_for_model(words: SavedWords) -> str:
    """What the model reads."""
    return f"{words.heading}\n{words.text}"
