"""The questions of agents in all chats: which ones wait, and whether the user has seen them. UI
thread only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import sublime

from ...base.signal import Signal
from ...chat.question import ChatQuestion
from ..review.open_diffs import is_on_top
from . import question_words
from .chat_tabs import ChatTabs
from .chat_view import ChatView
from .question_places import Key, find_question_places, key_of
from .question_sight import Sight


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
        return find_question_places(self.chat.document, self.chat.waiting_questions).get(
            key_of(self.question)
        )

    def view_in(self, window: sublime.Window) -> sublime.View | None:
        """The chat's view in the window: one that is visible, if there is one."""
        views = [view for view in self.chat.views if view.window() == window]
        return next(
            (view for view in views if is_on_top(window, view)), views[0] if views else None
        )


class WaitingQuestions:
    """`notify` is called with a sentence for the desktop and its window; `changes` says that others
    wait than before."""

    def __init__(self, tabs: ChatTabs, notify: Callable[[sublime.Window, str], None]) -> None:
        self._tabs = tabs
        self._notify = notify
        self.changes = Signal()
        self.sight = Sight()
        # Those that the user was told of, by the conversations.
        self._known: dict[str, frozenset[Key]] = {}

    def update_questions(self, chat: ChatView) -> None:
        """An update of the chat was drawn."""
        keys = frozenset(map(key_of, chat.waiting_questions))
        known = self._known.get(chat.conversation, frozenset())
        if keys:
            self._look_at(chat)
        if keys == known:
            return
        self._known[chat.conversation] = keys
        if known - keys:
            self.sight.restart_count([(chat.conversation, key) for key in keys])
        self.sight.keep_only([question.key for question in self.all_questions])
        self._notify_user(chat, keys - known)
        self.changes.emit()

    def forget_chat(self, chat: ChatView) -> None:
        """The last view of the chat is gone."""
        self._known.pop(chat.conversation, None)
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

    def in_window(self, window: sublime.Window) -> list[WaitingQuestion]:
        """The oldest first."""
        found = [
            question for question in self.all_questions if question.view_in(window) is not None
        ]
        times = {question.key: question.question.asked for question in found}
        return sorted(
            found, key=lambda question: (times[question.key] is None, times[question.key])
        )

    def status_words(self, window: sublime.Window) -> str:
        """The words for the status bar; empty if nothing waits."""
        waiting = [question.question for question in self.in_window(window)]
        return question_words.in_status_bar(waiting)

    def current_question(self, window: sublime.Window) -> WaitingQuestion | None:
        """Which one a command is about: that of the chat with the keyboard, else of a visible one,
        else the oldest of the window. In one chat, that at the caret, else the oldest."""
        found = self.in_window(window)
        if not found:
            return None
        views = [question.view_in(window) for question in found]
        in_front = [
            question for question, view in zip(found, views) if view == window.active_view()
        ]
        visible = [
            question for question, view in zip(found, views) if view and is_on_top(window, view)
        ]
        first = (in_front or visible or found)[0]
        same = [question for question in found if question.chat is first.chat]
        return next((question for question in same if _is_at_caret(question, window)), first)

    def is_waiting(self, asked: WaitingQuestion) -> bool:
        return key_of(asked.question) in map(key_of, asked.chat.waiting_questions)

    def is_seen(self, asked: WaitingQuestion, window: sublime.Window) -> bool:
        """Whether the user has seen all of it, and sees some of it now."""
        view, place = asked.view_in(window), asked.place
        if view is None or place is None or not is_on_top(window, view):
            return False
        self.sight.note_visible(view, asked.key, *place)
        is_here = view.visible_region().intersects(sublime.Region(*place))
        return is_here and self.sight.is_whole(asked.key, place[1] - place[0])

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

    def _look_at(self, chat: ChatView) -> None:
        found = find_question_places(chat.document, chat.waiting_questions)
        for view in chat.views:
            for key, (start, end) in found.items():
                self.sight.note_visible(view, (chat.conversation, key), start, end)

    def _notify_user(self, chat: ChatView, keys: frozenset[Key]) -> None:
        window = chat.views[0].window() if chat.views else None
        name = chat.told.agent_name if chat.told is not None else ""
        for question in chat.waiting_questions:
            if window is not None and key_of(question) in keys:
                self._notify(window, question_words.on_desktop(name, question))


def _is_at_caret(asked: WaitingQuestion, window: sublime.Window) -> bool:
    view, place = asked.view_in(window), asked.place
    if view is None or place is None:
        return False
    return any(place[0] <= region.b <= place[1] for region in view.sel())
