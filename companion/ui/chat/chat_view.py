"""The tab of one conversation: its transcript, and the composer at its end. UI thread only.

`document` is the truth about the transcript, `composer` about the unsent text; what others do to
the view is repaired by `view_repair` (docs/adr/0028).
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from functools import partial
from typing import Any, Callable, Iterable, Sequence

import sublime

from ...base import background
from ...base.shown_text import shown_line
from ...base.text_digest import text_digest
from ...chat.chat_update import STARTING, ChatUpdate
from ...chat.question import ChatQuestion
from ...chat.rendered import LINE, Link, Patch
from .. import queues, views
from . import failure_words, state_line
from .above import Above
from .composer import Composer
from .drafts import folder_of
from .drawn import DrawnDocument
from .drawn_transcript import DrawnTranscript
from .patience import Patience
from .restored_chat import RestoredChat, SeenUnsent, read_restored
from .state_line import StateLine, words_of
from .surface import Surface
from .view_repair import ViewRepair

# Public, for key bindings: the conversation's id, on each view of a chat.
CONVERSATION = "gemini_companion_chat"
# The digest of the unsent text and the signature of the transcript, on each view as well.
UNSENT, TRANSCRIPT = "gemini_companion_unsent", "gemini_companion_transcript"
# When an unload has left the view, until the package comes back to it; in seconds since the epoch.
LEFT = "gemini_companion_left"
SYNTAX = "Packages/GeminiCompanion/Gemini Companion Chat.sublime-syntax"
# The line above the composer. No line of a transcript is like it: LINE is followed by words there.
COMPOSER = LINE + "━" * 40 + "\n"
# Milliseconds after which the editor has drawn a view once more.
LAID_OUT = 100
# The tab's name before there is a title.
NAME = "Chat"
# The most characters of a title in the tab.
TITLE = 60
SETTINGS: dict[str, Any] = {
    # For the key bindings, so that they are looked up in chats alone.
    "gemini_companion_is_chat": True,
    # What would change a text on its way into the view.
    "translate_tabs_to_spaces": False,
    "auto_indent": False,
    "trim_trailing_white_space_on_save": "none",
    "ensure_newline_at_eof_on_save": False,
    # What an answer is not measured by.
    "line_numbers": False,
    "rulers": [],
    "word_wrap": True,
    "scroll_past_end": False,
    "spell_check": False,
}


class ChatView:
    """`typed` is called when the composer's text has changed, or what is attached to it; `pressed`
    with a link `above` the composer. With a `draft`, of the time `draft_at`, the composer has that
    instead of what is in the view, unless something was typed there since. `place_of` says of a
    workspace where that is, if it is no folder of the user."""

    def __init__(
        self,
        view: sublime.View,
        conversation: str,
        draft: str | None,
        typed: Callable[[ChatView], None],
        pressed: Callable[[ChatView, str], None] = lambda chat, link: None,
        draft_at: float = 0.0,
        place_of: Callable[[str], str] = lambda workspace: "",
    ) -> None:
        self.conversation = conversation
        self._place_of = place_of
        self._state, self._patience = StateLine(), Patience()
        # The last update.
        self.told: ChatUpdate | None = None
        _set_up(view, conversation)
        self._surface = Surface(view.buffer(), lambda changes: self._repair.accept_changes(changes))
        restored = _read_restored_chat(self._surface.text, view, draft, draft_at)
        # What was typed into the transcript, until that is known.
        self._typed_above, text = restored.typed_above, restored.transcript
        self._drawing = DrawnTranscript(
            self._surface, text, lambda: self.composer.start, self._keep_end
        )
        self.composer = Composer(
            self._surface,
            restored.unsent,
            lambda: self.document.size + len(COMPOSER),
            self.catch_up,
            lambda: self._accept_typed(typed),
        )
        self._repair = ViewRepair(
            self._surface, COMPOSER, lambda: self.document.text, self.composer
        )
        self.above = Above(
            lambda: self.views,
            lambda: self.composer.start,
            lambda: typed(self),
            lambda link: pressed(self, link),
            self._keep_end,
        )
        self._repair.restore_view()
        if restored.is_typed_in:
            self._repair.return_carets()
        self._sign_unsent()

    def close(self, is_unload: bool = False) -> None:
        """Nobody draws in the buffer any more. At an unload of the package, the view has what
        counts, unless a draft is newer: this one's may not be on disk yet when the next load reads
        it, and Sublime may bring the view back later, after a crash."""
        if is_unload:
            # What was typed just now may not have been told yet.
            self.catch_up()
            _set_signature(self.views, LEFT, time.time())
        self._drawing.close()
        self._surface.close()

    @property
    def document(self) -> DrawnDocument:
        """The transcript as the views show it."""
        return self._drawing.document

    @property
    def views(self) -> list[sublime.View]:
        return self._surface.views

    @property
    def place(self) -> str:
        """Where its agent works, if that is no folder of the user."""
        return self._place_of(self.told.workspace) if self.told is not None else ""

    @property
    def waiting_questions(self) -> tuple[ChatQuestion, ...]:
        """The agent's questions to the user, the oldest first."""
        return self.told.waiting if self.told is not None else ()

    def set_title(self, title: str) -> None:
        for view in self.views:
            if view.name() != title:
                view.set_name(title)

    # The transcript

    def show_update(self, update: ChatUpdate) -> None:
        """Show the conversation as it is now. Raises Misplaced."""
        if update.is_anew:
            self.reset_transcript(update.patches)
        else:
            self.draw_patches(update.patches)
        self._show_title(update)
        self.told = replace(update, patches=())
        self._patience.follow_update(update)
        self.above.queue = update.queue
        self.show_state()

    def show_place(self) -> None:
        """Where its agent works may have another name now."""
        if self.told is not None:
            self._show_title(self.told)
            self.show_state()

    def _show_title(self, update: ChatUpdate) -> None:
        place = self._place_of(update.workspace)
        if update.title or place:
            title = shown_line(update.title)[:TITLE] or NAME
            self.set_title(f"{title} ({place})" if place else title)

    def show_state(self) -> None:
        """What is above the composer may change with the time, and with the size of a view. Before
        anything was told, the chat is starting: the engine is being imported."""
        self._surface.keep_ends_in_sight()
        self.above.draw_lines()
        told = self.told or ChatUpdate(self.conversation, STARTING)
        patience = "" if told.waiting else self._patience.waiting_words
        place = self._place_of(told.workspace)
        words = words_of(told, patience, not self.document.size, place)
        links = failure_words.failure_links(told, bool(patience))
        if place and self.document.size:
            links.append(state_line.changes_link())
        self._state.show(self.views, self.composer.start, words, links)
        self._keep_end()

    def leave_view(self, view: sublime.View) -> None:
        """The user closes the view, and others stay."""
        self.above.leave_view(view)
        self._state.leave_view(view)
        self._drawing.leave_view(view)
        queues.on_ui_thread(self._drawing.draw_pictures)
        queues.on_ui_thread(self.show_state)

    def _keep_end(self) -> None:
        """What is drawn above the composer does not push it out of sight. How high that is may be
        known only later (docs/sublime.md 7.12)."""
        for delay in (0, LAID_OUT):
            queues.on_ui_thread(self._surface.keep_ends_in_sight, delay)
        self._surface.keep_ends_in_sight()

    def draw_patches(self, patches: Iterable[Patch]) -> None:
        """Draw what has changed in the transcript. Raises Misplaced."""
        with self._repair.pause_repair():
            for patch in patches:
                self._drawing.draw_patch(patch)
        self._sign_transcript()

    def reset_transcript(self, patches: Sequence[Patch]) -> None:
        """The whole transcript anew, its end at once and the rest by `go_on`. Raises Misplaced."""
        with self._repair.pause_repair():
            self._drawing.reset_transcript(patches)
        typed, self._typed_above = self._typed_above, None
        if typed is not None:
            transcript = "".join(patch.rendered.text for patch in patches)
            self._repair.keep_unsent(typed.add_to(self.composer.known_text, transcript))
        self._sign_transcript()

    def go_on(self) -> bool:
        """Draw a part of what is left of the transcript; whether there is more. Raises
        Misplaced."""
        with self._repair.pause_repair():
            is_more = self._drawing.go_on()
        self._sign_transcript()
        return is_more

    @property
    def is_whole(self) -> bool:
        return self._drawing.is_whole

    def decorate_view(self, view: sublime.View) -> None:
        """Draw the marks in a view that has none: a clone; most of them by `go_on`."""
        self._drawing.add_clone(view)
        self.above.draw_lines()

    def links_at(self, point: int) -> list[Link]:
        return self.document.links_at(point)

    def catch_up(self) -> None:
        """Repair what has been damaged, and read what Sublime has not told yet."""
        self._repair.catch_up()

    def _accept_typed(self, tell: Callable[[ChatView], None]) -> None:
        self._sign_unsent()
        tell(self)

    def _sign_unsent(self) -> None:
        """Sublime keeps the signature of the unsent text together with that: what a restored tab
        has beyond it was typed while nobody looked."""
        seen = SeenUnsent(text_digest(self.composer.known_text), time.time())
        _set_signature(self.views, UNSENT, seen.signature)

    def _sign_transcript(self) -> None:
        """Sign the transcript in the views, as the unsent text is signed, but not before the
        transcript itself is known."""
        if self._typed_above is None and self.document.signature is not None:
            _set_signature(self.views, TRANSCRIPT, self.document.signature)


def _read_restored_chat(
    text: str, view: sublime.View, draft: str | None, draft_at: float
) -> RestoredChat:
    carets, settings = [region.end() for region in view.sel()], view.settings()
    left = settings.get(LEFT)
    if isinstance(left, (int, float)) and draft_at <= left and COMPOSER in text:
        draft = None
    for each in view.buffer().views():
        each.settings().erase(LEFT)
    seen = SeenUnsent.of_signature(settings.get(UNSENT))
    return read_restored(text, COMPOSER, carets, draft, draft_at, seen, settings.get(TRANSCRIPT))


def _set_signature(views: Iterable[sublime.View], name: str, signature: str | float) -> None:
    for view in views:
        if view.settings().get(name) != signature:
            view.settings().set(name, signature)


def _set_up(view: sublime.View, conversation: str) -> None:
    view.set_scratch(True)
    # One that an older release has left.
    view.set_read_only(False)
    for name, value in {**SETTINGS, CONVERSATION: conversation}.items():
        view.settings().set(name, value)
    if view.settings().get("syntax") != SYNTAX:
        view.assign_syntax(SYNTAX)


async def workspace_of(chat: ChatView, window: sublime.Window) -> str:
    """The folder in which the agent works: a message names files as they are seen from there. If
    the window reaches it by a link, it is called as in the window."""
    folder = chat.told.workspace if chat.told is not None else ""
    folders = views.window_folders(window)
    if not folder or not folders or folder in folders:
        return folder or folder_of(window)
    return await background.start_work(partial(_as_in_window, folder, folders))


def _as_in_window(folder: str, folders: Sequence[str]) -> str:
    """Waits for the disk."""
    return next((each for each in folders if os.path.realpath(each) == folder), folder)
