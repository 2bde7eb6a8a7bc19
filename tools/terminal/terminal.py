"""The interactive front: shows proposed diffs in a terminal and takes decisions from its keys.

It is a person's side of the editor and no more: it runs the package's commands and shows what the
package shows (`proposals`). Nothing of the package is imported here.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from headless import clicks
from headless.console import Console
from headless.keys import LineKeys, keys

from . import review_keys
from .commands import Commands, Palette
from .decisions import Decisions
from .frames import Frames
from .line_prompt import LinePrompt
from .messages import Messages
from .questions import Answering
from .review_keys import PREFIX, ReviewKeys
from .screen import AnyScreen, Screen, open_screen
from .shown_editor import ShownEditor
from .tab_keys import TabFiles, TabLists, TabWriting
from .welcome import WELCOME, Welcome

# What keys do without a diff.
COMMANDS = {
    "]": "next_diff",
    "[": "previous_diff",
    "w": "show_diffs",
    "h": "show_accepted_edits",
    "s": "show_status",
}
# What moves within a long page, in pages; and by single lines, beside a proposal, too.
PAGE_KEYS = {" ": 1, "page down": 1, "b": -1, "page up": -1}
LINE_KEYS = {"down": 1, "up": -1}
# Pixels of a window: none of its own lines is broken before the terminal's are.
WIDTH = 4000.0
# Seconds between looks at what the editor shows.
LOOK = 0.1
SAVE = "\x13"  # Ctrl+S
QUIT_KEYS = ("q", "end")
# With the messages above all others, these keys are for them.
MESSAGE_KEYS = ("m", "?", "escape", *LINE_KEYS, *PAGE_KEYS)


def run_terminal(editor: Any) -> int:
    """Be the user's side of the editor until they quit; gives the exit status."""
    shown = open_screen()
    # What is written for the width of a view is shown in lines of the terminal.
    editor.switches.window_width = WIDTH
    front = Front(editor, shown)
    try:
        with keys() as next_key:
            front.look(next_key)
            while front.go_on(next_key):
                front.look(next_key)
    except EOFError:
        pass
    finally:
        shown.leave()
    return 0


class Front:
    """Shows what the editor shows, and does what keys say."""

    def __init__(self, editor: Any, screen: AnyScreen) -> None:
        self._editor = editor
        self._screen = screen
        self._clipboard = editor.clipboard
        self.messages = Messages(time.monotonic)
        self.shown = ShownEditor(editor, self.messages)
        self.writing = TabWriting(editor, self.shown)
        self.frames = Frames(editor, screen, self.messages, self.writing)
        self._prompt = LinePrompt(screen)
        self.commands = Commands(editor)
        self._decisions = Decisions(editor, self.messages)
        self._welcome = Welcome(editor, self.messages, self.commands)
        self._answering = Answering(editor, self.shown, self._decisions, self._prompt)
        self._review = ReviewKeys(
            editor,
            self.shown,
            self.frames,
            self.messages,
            self.commands,
            self._decisions,
            self._prompt,
        )
        self._palette = Palette(editor, self.messages, self._review.note_command)
        self._lists = TabLists(editor, self.shown, self.messages)
        self._files = TabFiles(editor, self.shown, self.messages, self._prompt)
        if isinstance(screen, Screen):
            for stream in (sys.stdout, sys.stderr):
                if isinstance(stream, Console):
                    stream.listener = self.messages.hear

    def go_on(self, next_key: LineKeys) -> bool:
        """Wait a moment for a key and do what it says; False where the user quits."""
        self.writing.go_on()
        next_key.tell_apart(self.writing.is_on and self.shown.find_question() is None)
        key = next_key(LOOK)
        if key is None:
            return True
        self.messages.press()
        if next_key.is_raw:
            if not self.writing.write_key(key):
                self._files.save_tab(next_key)
        elif key in QUIT_KEYS and (key == "end" or self.shown.find_question() is None):
            return False
        else:
            self.press(key, next_key)
        return True

    def look(self, next_key: LineKeys) -> None:
        """Show what is new: diffs, those that are decided, questions, panels, messages."""
        self._welcome.show()
        state = self.shown.ask_state()
        self._decisions.follow(state.waiting)
        self.messages.say_status(state.message, state.messages)
        if state.clipboard and state.clipboard != self._clipboard:
            # Nothing of this editor's can be pasted elsewhere, but it can be read.
            self.messages.say("On the clipboard:")
            self.messages.say_lines(state.clipboard)
        self._clipboard = state.clipboard
        self.frames.draw(state)
        if state.question is None:
            self._lists.press_chosen()
        elif state.question.items is None:
            self._answering.ask_text(state.question, next_key)

    def press(self, key: str, next_key: LineKeys) -> None:
        question, is_hidden = self.shown.find_question(), self.messages.is_listed
        if question is not None:
            # A key that was meant for what stood there before is no answer.
            if question is self.frames.drawn.question:
                self._answering.press(question, key, next_key)
            return
        if key not in MESSAGE_KEYS:
            self.messages.hide_list()
        if key.isdigit():
            if not is_hidden:
                self._follow_link(int(key))
        elif not self._move(key, next_key):
            self._press_command(key, next_key)

    def _move(self, key: str, next_key: LineKeys) -> bool:
        """Whether the key moves what is shown, or does something with the diff."""
        panel, pages = self.frames.panel, PAGE_KEYS.get(key, 0)
        if key in LINE_KEYS:
            panel.move(LINE_KEYS[key])
        elif pages and panel.is_cut and self.shown.ask_state().proposal is None:
            panel.move(pages * panel.height)
        elif pages or key in review_keys.COMMANDS or key in review_keys.OTHER_KEYS:
            self._review.press(key, pages, next_key)
        else:
            return False
        return True

    def _press_command(self, key: str, next_key: LineKeys) -> None:
        if key in COMMANDS:
            if key == "s":
                self.commands.run("hide_panel")
            self.commands.run(PREFIX + COMMANDS[key])
        elif key == "o":
            self._files.open_path(next_key)
        elif key == "f":
            self.commands.run("prompt_add_folder")
        elif key == "t":
            self._begin_typing(next_key)
        elif key == "enter" and self.shown.ask_tab() is not None:
            self._editor.ui(self._lists.list_links)
        elif key == ":":
            self._choose_command(next_key)
        elif key == "g":
            self._editor.ui(self._lists.list_tabs)
        elif key == SAVE:
            self._files.save_tab(next_key)
        elif key == "m":
            self.messages.toggle_list()
        elif key == "i":
            self.commands.run(WELCOME)
        elif key == "?":
            self.frames.show_other_keys()
        elif key == "escape":
            self._editor.ui(self.shown.close_front)

    def _follow_link(self, number: int) -> None:
        """Follow a link of the page in front, by its number from 1."""
        page = self.shown.find_page()
        links = clicks.sheet_links(page) if page is not None else []
        if 0 < number <= len(links):
            self._editor.ui(clicks.follow, self._editor, links[number - 1].href, None)

    def _begin_typing(self, next_key: LineKeys) -> None:
        if isinstance(self._screen, Screen) and self.shown.ask_tab() is not None:
            self.writing.begin()
        else:
            window = self._editor.active_window
            has_view = window is not None and window.active_view() is not None
            line = self._prompt.ask(next_key, "Type: ") if has_view else None
            self.writing.type_line(line)

    def _choose_command(self, next_key: LineKeys) -> None:
        """The command palette: some words of a caption, then one of those that have them all."""
        words = self._prompt.ask(next_key, "Words of a command, or none for all: ")
        if words is not None:
            # It would stand before what the command opens.
            self.commands.run("hide_panel")
            self._editor.ui(self._palette.show, words.lower().split())
