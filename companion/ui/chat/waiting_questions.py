"""The questions of agents in all chats: which ones wait, and whether the user has seen them. UI
thread only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Callable, Iterable, Mapping, Sequence

import sublime

from ...base.signal import Signal
from ...chat.question import ChatQuestion
from ..review.open_diffs import is_on_top
from ..stories import Stories, sleep
from . import question_words
from .chat_tabs import ChatTabs
from .chat_view import ChatView
from .question_places import Key, find_question_places, key_of, place_in
from .question_sight import Sight, visible_part

# Milliseconds between two looks while the user scrolls through a question: whoever passes a page of
# it in less time has not read that.
INTERVAL = 100


@dataclass(frozen=True)
class WaitingQuestion:
    """A question that waits in a chat."""

    chat: ChatView
    question: ChatQuestion

    @property
    def key(self) -> tuple[str, Key]:
        return self.chat.conversation, key_of(self.question)

    @property
    def place(self) -> tuple[int, int] | None:
        """Where it stands in the chat; None if it is not drawn."""
        return find_question_places(self.chat.document, (self.question,)).get(key_of(self.question))

    def view_in(self, window: sublime.Window) -> sublime.View | None:
        """The chat's view in the window: one that is visible, if there is one."""
        views = [view for view in self.chat.views if view.window() == window]
        return next(
            (view for view in views if is_on_top(window, view)), views[0] if views else None
        )


class WaitingQuestions:
    """`notify` is called with a sentence for the desktop and its window; `changes` says that others
    wait than before."""

    def __init__(
        self, tabs: ChatTabs, stories: Stories, notify: Callable[[sublime.Window, str], None]
    ) -> None:
        self._tabs = tabs
        self._stories = stories
        self._notify = notify
        self.changes = Signal()
        self.sight = Sight()
        # What waits in each conversation and the user was told of, by its block.
        self._known: dict[str, Mapping[str, ChatQuestion]] = {}
        # The conversations with a question that is being read.
        self._read: set[str] = set()

    def update_questions(self, chat: ChatView) -> None:
        """An update of the chat was drawn."""
        before, now = self._known_in(chat), chat.waiting_questions
        by_block = dict(zip(map(attrgetter("block"), now), now))
        self._known[chat.conversation] = by_block
        # A transcript that comes anew has others with the same keys.
        new, gone = (
            {key_of(question): question for question in _only_in(*pair)}
            for pair in ((now, before.values()), (before.values(), now))
        )
        if now:
            self._look_at(chat)
        if gone.keys() - new.keys():
            self.sight.restart_count(chat.conversation)
            self.sight.forget((chat.conversation, key) for key in gone.keys() - new.keys())
        self._notify_user(chat, [new[key] for key in new if key not in gone])
        if gone.keys() != new.keys():
            self.changes.emit()

    def forget_chat(self, chat: ChatView) -> None:
        """The last view of the chat is gone."""
        known = self._known.pop(chat.conversation, {})
        self.sight.forget((chat.conversation, key_of(each)) for each in known.values())
        self.changes.emit()

    def look_at_questions(self) -> None:
        """Look at what the user has scrolled to, and show the time that passes above the composers;
        to be called about once a second."""
        for chat in self._tabs.chats:
            if chat.waiting_questions:
                self._look_at(chat)
            chat.show_state()

    @property
    def all_questions(self) -> list[WaitingQuestion]:
        return [
            WaitingQuestion(chat, question)
            for chat in self._tabs.chats
            for question in chat.waiting_questions
        ]

    def chats_in(self, window: sublime.Window) -> list[ChatView]:
        """The chats of the window in which something waits, that with the oldest question first."""
        found = [
            chat
            for chat in self._tabs.chats
            if chat.waiting_questions and any(view.window() == window for view in chat.views)
        ]
        return sorted(found, key=_time_of_first)

    def status_words(self, window: sublime.Window) -> str:
        """The words for the status bar, of the chat that asked first; empty if nothing waits."""
        told = next((chat.told for chat in self.chats_in(window)), None)
        return question_words.in_status_bar(told) if told is not None else ""

    def current_chat(self, window: sublime.Window) -> ChatView | None:
        """Which one a command is about: the chat with the keyboard, else a visible one, else that
        with the oldest question of the window."""
        chats = self.chats_in(window)
        active = window.active_view()
        in_front = [chat for chat in chats if active in chat.views]
        visible = [chat for chat in chats if any(is_on_top(window, view) for view in chat.views)]
        return next(iter(in_front or visible or chats), None)

    def current_question(self, window: sublime.Window) -> WaitingQuestion | None:
        """Which one a command is about: in the current chat that at the caret, else the oldest."""
        chat = self.current_chat(window)
        if chat is None:
            return None
        first = WaitingQuestion(chat, chat.waiting_questions[0])
        view = first.view_in(window)
        carets = [region.b for region in view.sel()] if view is not None else []
        known = self._known_in(chat)
        blocks = [chat.document.block_at(caret) for caret in carets]
        at_carets = [known.get(block.id) for block in blocks if block is not None]
        question = next((found for found in at_carets if found is not None), None)
        return first if question is None else WaitingQuestion(chat, question)

    def is_seen(self, asked: WaitingQuestion, window: sublime.Window) -> bool:
        """Whether the user has seen all of it, and sees some of it now."""
        view, place = asked.view_in(window), asked.place
        visible = visible_part(view) if view is not None else None
        if visible is None or place is None:
            return False
        self.sight.note_visible(visible, asked.key, *place)
        is_here = visible.intersects(sublime.Region(*place))
        return is_here and self.sight.is_whole(asked.key, place[1] - place[0])

    def read_questions(self, chat: ChatView) -> list[WaitingQuestion]:
        """The questions of the chat that the user has seen as a whole, and for a while."""
        self._look_at(chat)
        found = find_question_places(chat.document, chat.waiting_questions)
        waiting = [WaitingQuestion(chat, question) for question in chat.waiting_questions]
        lengths = {key: end - start for key, (start, end) in found.items()}
        return [
            asked
            for asked in waiting
            if asked.key[1] in lengths and self.sight.was_read(asked.key, lengths[asked.key[1]])
        ]

    def show_question(self, asked: WaitingQuestion, window: sublime.Window) -> None:
        """Bring what was not seen of it into sight. The keyboard stays where it is, unless that is
        in the same group."""
        view = asked.view_in(window)
        if view is None:
            return
        keyboard = window.active_view()
        if not is_on_top(window, view):
            window.focus_view(view)
            if keyboard is not None and is_on_top(window, keyboard):
                window.focus_view(keyboard)
        place = asked.place
        if place is not None:
            self.sight.scroll_to(view, asked.key, *place)
            self._look_at(asked.chat)

    def unseen_rows(
        self, asked: WaitingQuestion, window: sublime.Window
    ) -> tuple[int, int, int] | None:
        """The first rows of it that were not in sight, from and to, and how many it has; None where
        none was in sight yet, or all."""
        view, place = asked.view_in(window), asked.place
        if view is None or place is None or not self.sight.is_begun(asked.key):
            return None
        unseen = self.sight.unseen_part(asked.key, place[1] - place[0])
        if unseen is None:
            return None
        text = view.substr(sublime.Region(*place))
        # It begins at a line end, or within a row, and ends before a row.
        first, last = text.count("\n", 0, unseen[0] + 1), text.count("\n", 0, unseen[1] - 1)
        return first + 1, last + 1, text.count("\n") + 1

    def _known_in(self, chat: ChatView) -> Mapping[str, ChatQuestion]:
        return self._known.get(chat.conversation, {})

    def _look_at(self, chat: ChatView) -> None:
        if self._note_sight(chat) and chat.conversation not in self._read:
            self._stories.begin(self._follow_reader(chat))

    async def _follow_reader(self, chat: ChatView) -> None:
        """Look often, while a question is in sight of which more is to be read."""
        self._read.add(chat.conversation)
        try:
            while self._note_sight(chat):
                await sleep(INTERVAL)
        finally:
            self._read.discard(chat.conversation)

    def _note_sight(self, chat: ChatView) -> bool:
        """Note what is in sight of the chat; whether some of it is part of a question that was
        begun to be read and has more."""
        visible = filter(None, map(visible_part, chat.views))
        # All of them are noted.
        return any([self._note_visible(chat, each) for each in visible])

    def _note_visible(self, chat: ChatView, visible: sublime.Region) -> bool:
        known, is_read = self._known_in(chat), False
        for begin, block in chat.document.blocks_from_end():
            if begin + block.size < visible.begin():
                break
            question = known.get(block.id)
            if question is not None and begin <= visible.end():
                start, end = place_in(begin, block)
                key = chat.conversation, key_of(question)
                self.sight.note_visible(visible, key, start, end)
                has_more = self.sight.unseen_part(key, end - start) is not None
                is_read = is_read or (has_more and self.sight.is_begun(key))
        return is_read

    def _notify_user(self, chat: ChatView, new: Sequence[ChatQuestion]) -> None:
        window = chat.views[0].window() if chat.views and new else None
        if window is None:
            return
        name = chat.told.agent_name if chat.told is not None else ""
        for question in new:
            self._notify(window, question_words.on_desktop(name, question))


def _only_in(these: Iterable[ChatQuestion], others: Iterable[ChatQuestion]) -> list[ChatQuestion]:
    """The questions that the others do not have, as the same objects. Nothing is compared: there
    may be many, and few of them change."""
    found = dict(zip(map(id, these), these))
    for known in map(id, others):
        found.pop(known, None)
    return list(found.values())


def _time_of_first(chat: ChatView) -> tuple[bool, datetime | None]:
    asked = chat.waiting_questions[0].asked
    return asked is None, asked
