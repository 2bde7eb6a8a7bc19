"""Connects all parts of one start of the companion (`parts` has them in bundles), starts and stops
them, and answers what concerns several of them: key bindings, commands to run instead."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Mapping

import sublime

from ..base import log
from ..ide.companion import Reach
from . import queues, settings
from .chat.composing import CONTEXTS
from .chat.drafts import Drafts
from .engines import Engines
from .known_trees import KnownTrees
from .pages import welcome
from .parts.agent_parts import AgentParts
from .parts.change_parts import ChangeParts
from .parts.chat_edit_parts import ChatEditParts
from .parts.chat_parts import ChatParts
from .parts.diff_parts import DiffParts
from .parts.editor_parts import EditorParts
from .parts.foundation import Foundation
from .parts.page_parts import PageParts
from .parts.review_parts import ReviewParts
from .parts.status_parts import StatusParts
from .parts.tree_change_parts import TreeChangeParts
from .parts.tree_parts import TreeParts
from .review import open_diffs
from .review.unopened_store import UnopenedStore
from .terminals import terminus
from .unseen_messages import UnseenMessages

# The context that key bindings ask for.
DIFF_WAITS = "gemini_companion_diff_waits"


class Running:
    """One companion, and the parts that report the editor to it from `start` on. On the UI
    thread."""

    def __init__(
        self,
        engines: Engines,
        drafts: Drafts,
        unseen: UnseenMessages,
        unopened: UnopenedStore,
        trees: KnownTrees,
    ) -> None:
        self.log = log.start_log(settings.current_settings().log_level)
        self._cache = os.path.join(sublime.cache_path(), "GeminiCompanion")
        state_path = os.path.join(self._cache, "state.json")
        self._is_first = welcome.is_first_start(self._cache, state_path)
        self.reach = _settings_reach()
        base = self.base = Foundation(state_path, self.reach, unseen, trees)
        # What commands need most.
        self.companion, self.stories = base.companion, base.stories
        self.messages, self.keyboard = base.messages, base.keyboard
        diffs = self.diffs = DiffParts(base, unopened)
        chat_edits = self.chat_edits = ChatEditParts(base, diffs, engines)
        in_trees = self.tree_changes = TreeChangeParts(base, diffs)
        review = self.review = ReviewParts(base, diffs, in_trees, chat_edits.reviews, self._cache)
        changes = self.changes = ChangeParts(base, diffs, in_trees, review)
        pages = self.pages = PageParts(base)
        chat = self.chat = ChatParts(base, review, changes, chat_edits, engines, drafts)
        work_trees = self.work_trees = TreeParts(base, in_trees.lists, changes, chat)
        agents = self.agents = AgentParts(base, diffs, chat, work_trees)
        status = self.status = StatusParts(base, review, chat, agents)
        parts = diffs, review, pages, chat, work_trees, agents, status, changes, chat_edits
        polls = [self.stories.cut_ended, *(poll for part in parts for poll in part.polls)]
        self.editor = EditorParts(base, diffs, review, pages, status, polls)

    def start(self) -> None:
        """Must be called where `stop` can still be called if something fails."""
        self.status.start()
        self.companion.start(self.editor.sublime_editor)
        showing = self.editor, self.changes, self.chat, self.work_trees
        for part in (self.review, self.pages, *showing):
            part.start()
        if self._is_first:
            self.pages.welcome.show_page(sublime.active_window())
            queues.on_worker(partial(welcome.remember_shown, self._cache))

    def stop(self) -> None:
        """Leave diffs as they are for the next start."""
        self.stories.stop()
        showing = self.work_trees, self.chat, self.editor, self.pages, self.changes, self.status
        below = self.diffs, self.tree_changes, self.review, self.chat_edits, self.base
        for part in (*showing, *below):
            part.stop()

    def quit(self) -> None:
        """The editor quits and its API no longer works."""
        for part in (self.chat, self.chat_edits, self.base):
            part.quit()

    def handle_close(self, view: sublime.View) -> None:
        """The user closes a view."""
        for part in (self.changes, self.review, self.chat, self.stories):
            part.handle_close(view)

    def handle_window_close(self, window: sublime.Window) -> None:
        """The user closes a window."""
        self.review.save_window(window)
        self.stories.handle_close(window)

    def environment_of(self, window: sublime.Window) -> Mapping[str, str]:
        """The variables that lead a CLI in a terminal to the window; empty while there are none."""
        return self.companion.environments.get(window.id(), {})

    def terminus_command(
        self, window: sublime.Window, arguments: Mapping[str, Any] | None
    ) -> tuple[str, dict[str, Any]] | None:
        """`terminus_open` with the variables that lead the CLI to the window; None if it has them
        already, or if the user does not want that."""
        if not settings.current_settings(window).terminus_env:
            return None
        found = terminus.with_environment(arguments or {}, self.environment_of(window))
        return ("terminus_open", found) if found is not None else None

    def instead_of(
        self, name: str, arguments: Mapping[str, Any] | None, view: sublime.View
    ) -> tuple[str, dict[str, Any]] | None:
        """The command to run instead of this one; None to run it."""
        in_sheet = self.changes.commands.instead_of(name, arguments, view)
        in_chat = self.chat.actions.tabs.instead_of(name, arguments, view)
        return in_sheet or in_chat or self.review.actions.instead_of(name, view)

    def key_context(
        self, view: sublime.View, key: str, operator: int, operand: object
    ) -> bool | None:
        """The answer to a key binding that asks whether a diff of the view's window waits, or a
        sheet of changes has the keyboard, or to one about chats; None for every other one."""
        if key in CONTEXTS:
            return self.chat.actions.composing.key_context(view, key, operator, operand)
        if key != DIFF_WAITS or operator not in (sublime.OP_EQUAL, sublime.OP_NOT_EQUAL):
            return None
        window = view.window()
        waits = window is not None and (
            open_diffs.diff_for_command(window) is not None
            or self.changes.commands.has_keyboard(window)
        )
        return waits == (bool(operand) == (operator == sublime.OP_EQUAL))


def _settings_reach() -> Reach:
    """The settings at the start."""
    found = settings.current_settings()
    return Reach(found.extra_bind_address, os.path.expanduser(found.extra_discovery_folder))
