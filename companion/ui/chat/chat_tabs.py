"""The tabs of chats: which view is which conversation's, and what happens to them. UI thread
only.

Sublime brings tabs back by itself; a view with the setting of a chat is one, whoever has opened it.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Mapping, Tuple

import sublime

from ...base.signal import ValueSignal
from ...chat.question import ChatQuestion
from ...chat.rendered import Link
from ...chat.text_links import link_at
from .. import queues
from .chat_view import CONVERSATION, ChatView
from .drafts import Drafts, folder_of

UNDO = ("undo", "soft_undo")
REDO = ("redo", "redo_or_repeat", "soft_redo")
# They delete what is before the caret, unless they are told `forward`.
BACKWARDS = ("left_delete", "delete_word")
FORWARDS = ("right_delete",)
# They write at the carets. Whether Sublime tells of typed characters is unsure, so they have a key
# binding; of others it does.
WRITING = ("insert", "insert_snippet", "paste", "paste_and_indent")
DONE_ALREADY: tuple[str, dict[str, Any]] = ("noop", {})
# Milliseconds after which a pressed mouse button is known to be no drag.
CLICK = 200


class ChatTabs:
    """`seen` is called when a chat is looked at, `left` when its last tab is closed, `follow` with
    a link that the user follows. `typings` tells each change of an unsent text, `presses` a
    link above a composer. `views_added` tells a chat that has another view now, `closings` one
    whose last view the user closes. `place_of` is that of ChatView."""

    def __init__(
        self,
        drafts: Drafts,
        seen: Callable[[ChatView], None],
        left: Callable[[ChatView], None],
        follow: Callable[[sublime.View, ChatView, Link], None],
        place_of: Callable[[str], str],
    ) -> None:
        self._drafts = drafts
        self._place_of = place_of
        self._seen, self._left, self._follow = seen, left, follow
        self.typings = ValueSignal[ChatView]()
        self.presses = ValueSignal[Tuple[ChatView, str]]()
        self.views_added = ValueSignal[ChatView]()
        self.closings = ValueSignal[ChatView]()
        # By the ids of their buffers.
        self._chats: dict[int, ChatView] = {}

    def start(self) -> None:
        """Adopt the tabs that are there already."""
        for window in sublime.windows():
            for view in window.views():
                self.adopt_view(view)
            for view in _in_sight(window):
                self.activate_view(view)

    def stop(self) -> None:
        """Leave the tabs as they are for the next start."""
        for chat in self._chats.values():
            chat.close(is_unload=True)
        self._chats.clear()

    def chat_of(self, view: sublime.View) -> ChatView | None:
        return self._chats.get(view.buffer_id()) if self._chats else None

    @property
    def chats(self) -> list[ChatView]:
        """All that have a view."""
        return [chat for chat in self._chats.values() if chat.views]

    def in_window(self, window: sublime.Window) -> sublime.View | None:
        """The chat in front, else the one that was opened last; None if the window has none."""
        front = window.active_view()
        if front is not None and self.chat_of(front) is not None:
            return front
        found = [view for view in window.views() if self.chat_of(view) is not None]
        return max(found, key=lambda view: view.id()) if found else None

    def in_sight(self, window: sublime.Window) -> sublime.View | None:
        """A chat that is in front in its group; None if none is."""
        return next((view for view in _in_sight(window) if self.chat_of(view) is not None), None)

    # What happens to views

    def adopt_view(self, view: sublime.View) -> None:
        """Adopt the view, if it is a chat."""
        conversation = view.settings().get(CONVERSATION)
        if not isinstance(conversation, str) or self.chat_of(view) is not None:
            return
        if view.element() is None and view.window() is not None:
            draft = self._drafts.text_of(conversation)
            chat = ChatView(
                view,
                conversation,
                draft,
                self._keep_draft,
                lambda *press: self.presses.emit(press),
                self._drafts.typed_at(conversation),
                self._place_of,
            )
            self._chats[view.buffer_id()] = chat
            if chat.composer.known_text != (draft or ""):
                # It was typed before anybody looked.
                self._keep_draft(chat)
            chat.above.attached = self._drafts.attached_to(conversation)
            chat.above.draw_lines()

    def activate_view(self, view: sublime.View) -> None:
        """The view has the keyboard."""
        self.adopt_view(view)
        chat = self.chat_of(view)
        if chat is not None:
            chat.composer.follow_carets(view)
            self._seen(chat)

    def follow_selection(self, view: sublime.View) -> None:
        """The carets of a view have moved; called on the worker. Within the event nothing of the
        view may be set (docs/sublime.md 4.14)."""
        if self._chats:
            queues.on_ui_thread(partial(self._follow_carets, view))

    def _follow_carets(self, view: sublime.View) -> None:
        chat = self.chat_of(view) if view.is_valid() else None
        if chat is not None:
            # What was typed before they moved may not have been told yet.
            chat.catch_up()
            chat.composer.follow_carets(view)

    def decorate_clone(self, view: sublime.View) -> None:
        chat = self.chat_of(view)
        if chat is not None:
            chat.decorate_view(view)
            self.views_added.emit(chat)

    def handle_close(self, view: sublime.View) -> None:
        """The user closes a view. What is unsent in it is a draft."""
        chat = self.chat_of(view)
        if chat is None:
            return
        if len(chat.views) > 1:
            chat.leave_view(view)
            return
        del self._chats[view.buffer_id()]
        chat.close()
        if any(other.conversation == chat.conversation for other in self.chats):
            # A tab that a project brought back shows it, too.
            return
        self.closings.emit(chat)
        if not (chat.composer.text.strip() or chat.above.attached):
            self._drafts.forget(chat.conversation)
        self._left(chat)

    def _keep_draft(self, chat: ChatView) -> None:
        window = chat.views[0].window() if chat.views else None
        folder = folder_of(window) if window is not None else ""
        self._drafts.keep_text(
            chat.conversation, chat.composer.known_text, folder, chat.above.attached
        )
        self.typings.emit(chat)

    # What the user does in them

    def instead_of(
        self, name: str, arguments: Mapping[str, Any] | None, view: sublime.View
    ) -> tuple[str, dict[str, Any]] | None:
        """The command to run in a chat instead of this one; None for the same."""
        chat = self.chat_of(view)
        if chat is not None and name == "cut" and chat.composer.is_left(view):
            return "copy", {}
        work = (
            self._work_instead_of(name, arguments or {}, view, chat) if chat is not None else None
        )
        if work is None:
            return None
        # Not now: nothing in a command can clear the view's undo.
        queues.on_ui_thread(work)
        return DONE_ALREADY

    def _work_instead_of(
        self, name: str, arguments: Mapping[str, Any], view: sublime.View, chat: ChatView
    ) -> Callable[[], object] | None:
        """What to do instead of the command; None if it is to be run."""
        is_left = chat.composer.is_left(view)
        if name == "insert" and arguments.get("characters") == "\n" and is_left:
            return partial(self.follow_link, view)
        if name in UNDO:
            return partial(chat.composer.undo, view)
        if name in REDO:
            return partial(chat.composer.redo, view)
        if name in (*BACKWARDS, *FORWARDS) and is_left:
            return chat.catch_up
        if name in BACKWARDS and not arguments.get("forward") and chat.composer.is_at_start(view):
            return chat.catch_up
        if name == "select_all" and not is_left and not chat.composer.is_selected(view):
            return partial(chat.composer.select_all, view)
        if name in WRITING and is_left:
            # Whoever reads and begins to write means the composer.
            chat.composer.return_to(view)
        if name == "save":
            # It would become a file that answers are written into.
            return chat.catch_up
        return None

    def follow_click(
        self, name: str, arguments: Mapping[str, Any] | None, view: sublime.View
    ) -> None:
        """A command was run. A click on a link follows it, unless it begins a drag."""
        chat = self.chat_of(view)
        if chat is not None and name == "drag_select" and set(arguments or {}) == {"event"}:
            queues.on_ui_thread(partial(self.follow_link, view, chat.waiting_questions), CLICK)

    def follow_link(
        self, view: sublime.View, waiting: tuple[ChatQuestion, ...] | None = None
    ) -> None:
        """Follow the link at the caret, if there is one. With what was `waiting` at a click, only
        if that still waits: another question may be in its place now."""
        chat = self.chat_of(view) if view.is_valid() else None
        if chat is None or waiting not in (None, chat.waiting_questions):
            return
        link = _link_at_caret(chat, view)
        if link is not None:
            self._follow(view, chat, link)


def _in_sight(window: sublime.Window) -> list[sublime.View]:
    """The views that are in front in their groups, that of the active group first."""
    active = window.active_group()
    groups = sorted(range(window.num_groups()), key=lambda group: group != active)
    shown = map(window.active_view_in_group, groups)
    return [view for view in shown if view is not None]


def _link_at_caret(chat: ChatView, view: sublime.View) -> Link | None:
    selection = view.sel()
    if len(selection) != 1 or not selection[0].empty():
        return None
    caret = selection[0].b
    found = chat.links_at(caret)
    if found or caret >= chat.composer.start:
        return found[0] if found else None
    line = view.line(caret)
    return link_at(view.substr(line), caret - line.begin())
