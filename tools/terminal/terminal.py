"""The interactive front: shows proposed diffs in a terminal and takes decisions from its keys.

It is a person's side of the editor and no more: it runs the package's commands and shows what the
package shows (`proposals`). Nothing of the package is imported here.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from headless import clicks, html_text
from headless.console import Console
from headless.diff import hunks
from headless.keyboard import Keyboard
from headless.keys import END_OF_PASTE, PASTED, LineKeys, bound, keys

from . import hints, proposals, questions, tabs, text_links
from .messages import Messages
from .proposals import Proposal
from .reviewing import Reviewing
from .screen import Frame, Paper, Screen, open_screen
from .sides import cut_text, make_printable, wrap_text
from .tabs import Tab

# What keys do with the diff that is shown.
COMMANDS = {
    "a": "accept_diff",
    "A": "accept_diff_and_next",
    "r": "reject_diff",
    "R": "reject_diff_with_note",
    "l": "release_diff",
    "n": "next_change",
    "p": "previous_change",
    "k": "keep_change",
    "d": "drop_change",
    "c": "comment_on_diff",
}
# And what needs none.
OTHER_COMMANDS = {
    "]": "next_diff",
    "[": "previous_diff",
    "w": "show_diffs",
    "h": "show_accepted_edits",
    "s": "show_status",
}
# What moves within a long page, in pages; and by single lines, beside a proposal, too.
PAGE_KEYS = {" ": 1, "page down": 1, "b": -1, "page up": -1}
LINE_KEYS = {"down": 1, "up": -1}
DECISIONS = {"a": "Accepted", "A": "Accepted", "r": "Rejected", "R": "Rejected", "l": "Released"}
ELSEWHERE = "Decided elsewhere, or taken back by its agent"
# Pixels of a window: none of its own lines is broken before the terminal's are.
WIDTH = 4000.0
# Seconds between looks at what the editor shows.
LOOK = 0.1
# The page with the steps to the first edit.
WELCOME = "gemini_companion_welcome"
# In the data folder: a file that says that the page was shown.
WELCOMED = os.path.join("Local", "Welcomed")
# Programs that open a file at the line N for the argument `+N`.
AT_LINE = ("vi", "vim", "nvim", "nano", "pico", "emacs", "emacsclient", "micro", "kak", "joe", "mg")
SAVE = "\x13"  # Ctrl+S
QUIT_KEYS = ("q", "end")
# With the messages above all others, these keys are for them.
MESSAGE_KEYS = ("m", "?", "escape", *LINE_KEYS, *PAGE_KEYS)
NOT_SEEN = "It came just now, or other lines stood above it: nothing was decided. Press again."


class State(NamedTuple):
    """What the editor shows at a moment. `active` is the diff with the keyboard, if it is one;
    `question` a quick panel or an input panel; `page` the id of the tab with HTML in front; `view`
    that of the tab with the keyboard, and `tab` what is shown of it, where it is; `escape` what
    Escape does to what is shown; `message` what the status bar said last, and `status` what stands
    there; `clipboard` what was copied; `folders` are those of all windows, `open_tabs` the names of
    what `g` lists."""

    waiting: Tuple[int, ...]
    active: Optional[int]
    proposal: Optional[Proposal]
    question: Optional[Any]
    panel: str
    page: Optional[int]
    view: Optional[int]
    tab: Optional[Tab]
    escape: str
    message: str
    status: str
    clipboard: str
    folders: Tuple[str, ...]
    open_tabs: Tuple[str, ...]


def run_terminal(editor: Any) -> int:
    """Be the user's side of the editor until they quit; gives the exit status."""
    shown = open_screen()
    # What is written for the width of a view is shown in lines of the terminal.
    editor.switches.window_width = WIDTH
    front = Front(editor, shown)
    try:
        with keys() as next_key:
            front.welcome()
            front.look(next_key)
            while front.go_on(next_key):
                front.look(next_key)
    except EOFError:
        pass
    finally:
        shown.leave()
    return 0


class Drawn(NamedTuple):
    """What the person has before their eyes, and what keys mean therefore: a diff and a tab, each
    by the id of its view, and a list or an input panel."""

    diff: Optional[int] = None
    question: Optional[Any] = None
    tab: Optional[int] = None


class Panel:
    """What of a list, or of a page, can be seen: `height` lines from the one at `top` on, where it
    is cut."""

    def __init__(self) -> None:
        self.top = 0
        self.height = 0
        self.is_cut = False
        self._first = ""
        self._was_at_end = False

    def move(self, lines: int) -> None:
        self.go_to(self.top + lines)

    def go_to(self, top: int) -> None:
        self.top = top
        self._was_at_end = False

    def shown(
        self,
        lines: List[str],
        room: Optional[int],
        bar: Optional[int],
        keys: str,
        follows: bool = False,
        name: str = "",
    ) -> List[str]:
        """A part of what has this name, or else this first line: at most `room` lines; where that
        is not all, the last one says so, and the `keys` that move it. The one at `bar` is among
        them, where there is one. What `follows` begins with its end, and shows the end as long as
        nobody moves."""
        first = name or (lines[0] if lines else "")
        if first != self._first:
            self._first, self.top, self._was_at_end = first, 0, follows
        if follows and self._was_at_end:
            self.top = len(lines)
        self.is_cut = room is not None and len(lines) > room
        if room is None or not self.is_cut:
            return lines
        self.height = room - 1
        if bar is not None:
            self.top = min(max(self.top, bar - self.height + 1), bar)
        self.top = max(0, min(self.top, len(lines) - self.height))
        self._was_at_end = self._was_at_end or self.top == len(lines) - self.height
        end = self.top + self.height
        place = "lines %d to %d of %d" % (self.top + 1, end, len(lines))
        more = "-- %s --" % "; ".join(filter(None, (place, keys)))
        return [*lines[self.top : end], more]


class Front:
    """What was said so far, and what the keys mean now."""

    def __init__(self, editor: Any, shown: "Screen | Paper") -> None:
        self.editor = editor
        self.screen = shown
        self.messages = Messages(time.monotonic)
        self.current: Optional[int] = None
        self.active: Optional[int] = None
        self.paths: Dict[int, str] = {}
        # What the user did last with a diff: it is said once the diff is gone.
        self.decided: Dict[int, str] = {}
        self.reviewing = Reviewing()
        self.panel = Panel()
        self.folders: Optional[List[str]] = None
        self.message = ""
        self.is_welcomed = False
        self.bar = hints.Bar.FEW if isinstance(shown, Screen) else hints.Bar.ALL
        # Whether all messages are shown.
        self.lists_messages = False
        # The tab with a file, or to be saved, that the person wants to see.
        self.wanted: Optional[int] = None
        self.clipboard = editor.clipboard
        self.keyboard = Keyboard(editor)
        # Whether keys go to the tab that is shown.
        self.is_writing = False
        self.drawn = Drawn()
        self._drawn: Optional[Tuple[Tab, int, tabs.Lines]] = None
        # Whether what is shown is not where the caret is, since something else was to be seen.
        self.is_away = False
        if isinstance(shown, Screen):
            for stream in (sys.stdout, sys.stderr):
                if isinstance(stream, Console):
                    stream.listener = self.hear

    def welcome(self) -> None:
        """Once, and again where the folders are others."""
        folders = [folder for window in self.editor.windows for folder in window.folders]
        if folders == self.folders:
            return
        is_first = self.folders is not None or not os.path.exists(self._mark())
        self.folders = folders
        self.say(hints.place_line(folders, is_first))

    def go_on(self, next_key: LineKeys) -> bool:
        """Wait a moment for a key and do what it says; False where the user quits."""
        self.is_writing = self.is_writing and self._shown_tab() is not None
        next_key.tell_apart(self.is_writing and self._find_question() is None)
        key = next_key(LOOK)
        if key is None:
            return True
        self.messages.press()
        if next_key.is_raw:
            self._write_key(key, next_key)
        elif key in QUIT_KEYS and (key == "end" or self._find_question() is None):
            return False
        else:
            self.press(key, next_key)
        return True

    def look(self, next_key: LineKeys) -> None:
        """Show what is new: diffs, those that are decided, questions, panels, messages."""
        self._show_welcome()
        self.welcome()
        state = self._ask_state()
        self.say_decided(state.waiting)
        is_new = bool(state.message) and state.message != self.message
        if is_new and self.messages.all[-1:] != [make_printable(state.message)]:
            self.say(state.message)
        self.message = state.message
        if state.clipboard and state.clipboard != self.clipboard:
            # Nothing of this editor's can be pasted elsewhere, but it can be read.
            self.say("On the clipboard:")
            self.say_lines(state.clipboard)
        self.clipboard = state.clipboard
        self._draw_frame(state)
        if state.question is not None and state.question.items is None:
            self._answer_by_key(state.question, "", next_key)

    def press(self, key: str, next_key: LineKeys) -> None:
        question, is_hidden = self._find_question(), self.lists_messages
        if question is None and key not in MESSAGE_KEYS:
            self.lists_messages = False
        if question is not None:
            # A key that was meant for what stood there before is no answer.
            if question is self.drawn.question:
                self._answer_by_key(question, key, next_key)
        elif key in LINE_KEYS:
            self.panel.move(LINE_KEYS[key])
        elif key in PAGE_KEYS and self.panel.is_cut and not self._has_proposal():
            self.panel.move(PAGE_KEYS[key] * self.panel.height)
        elif key in COMMANDS or key in ("u", "e") or key in PAGE_KEYS:
            self._press_in_review(key, next_key)
        elif key in OTHER_COMMANDS:
            if key == "s":
                self._run_command("hide_panel")
            self._run_command("gemini_companion_" + OTHER_COMMANDS[key])
        elif key == "o":
            self._open_path(next_key)
        elif key == "f":
            self._run_command("prompt_add_folder")
        elif key == "t":
            if isinstance(self.screen, Screen) and self._shown_tab() is not None:
                self.is_writing = True
            else:
                self._type_line(next_key)
        elif key == "enter" and self._shown_tab() is not None:
            self.editor.ui(self._list_links)
        elif key == ":":
            self._choose_command(next_key)
        elif key == "g":
            self.editor.ui(self._list_tabs)
        elif key == SAVE:
            self._save_tab(next_key)
        elif key == "m":
            self.lists_messages = not self.lists_messages
        elif key == "i":
            self._run_command(WELCOME)
        elif key == "?":
            self.bar = self.bar.following()
        elif key == "escape":
            self.editor.ui(self._close_shown)
        elif key.isdigit() and not is_hidden and self._shown_page() is not None:
            links = clicks.sheet_links(self._shown_page())
            if 0 < int(key) <= len(links):
                self.editor.ui(clicks.follow, self.editor, links[int(key) - 1].href, None)

    def _show_welcome(self) -> None:
        """Once for a data folder, as soon as the package has the command; not beside a proposal of
        before."""
        window, commands = self.editor.active_window, self.editor.commands
        if self.is_welcomed or window is None:
            return
        if self.editor.ui(commands.is_enabled, window, WELCOME, None):
            self.is_welcomed = True
            if not self.editor.ui(proposals.waiting_views, self.editor) and self._is_first_start():
                self._run_command(WELCOME)

    def _is_first_start(self) -> bool:
        """Whether no editor of this data folder asked before."""
        mark = self._mark()
        if os.path.exists(mark):
            return False
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(mark), exist_ok=True)
            with open(mark, "w", encoding="ascii"):
                pass
        return True

    def _mark(self) -> str:
        return os.path.join(self.editor.data, WELCOMED)

    def say(self, line: str) -> None:
        self.messages.say(line)

    def say_lines(self, text: str) -> None:
        for line in text.splitlines():
            self.say(line)

    def hear(self, text: str) -> None:
        """What plugins print while the screen is ours. What the status bar says, too, and which may
        be logged before or after, is said once."""
        for line in text.splitlines():
            if line != self.message:
                self.say(line)

    # What the editor shows

    def _ask_state(self) -> State:
        state: State = self.editor.ui(self._read_state)
        return state

    def _read_state(self) -> State:
        """On the UI thread."""
        views = {view.id: view for view in proposals.waiting_views(self.editor)}
        window = self.editor.active_window
        view = window.active_view() if window is not None else None
        active = view.id if view is not None and view.id in views else None
        self._follow_front(list(views), active)
        for id, each in views.items():
            self.paths.setdefault(id, str(each.settings.get(proposals.PATH)))
        shown = views.get(self.current) if self.current is not None else None
        name = window.active_panel if window is not None else None
        panel = window.panel_named(name) if name else None
        page = self._shown_page()
        return State(
            tuple(views),
            active,
            proposals.read_proposal(self.editor, shown) if shown is not None else None,
            self._find_question(),
            panel.view.text.characters if panel is not None else _page_text(page),
            page.id if page is not None and panel is None else None,
            view.id if view is not None else None,
            tabs.read_tab(view, is_wanted=self._is_wanted(view)),
            self._escape_hint(view, panel, page),
            self.editor.status_message,
            "  ".join(view.status[key] for key in sorted(view.status)) if view is not None else "",
            self.editor.clipboard,
            tuple(folder for open_window in self.editor.windows for folder in open_window.folders),
            tuple(tabs.tab_name(tab) for tab in tabs.list_views(self.editor)),
        )

    def _is_wanted(self, view: Any) -> bool:
        return view is not None and view.id == self.wanted

    def _escape_hint(self, view: Any, panel: Any, page: Any) -> str:
        """What the key does now; "" where it does nothing."""
        if self.lists_messages or panel is not None or page is not None:
            return hints.CLOSES
        if view is not None and view.settings.get(tabs.CHAT):
            return hints.CHAT_CLOSES
        if proposals.shown_only(view) is not None:
            return hints.CLOSES
        return hints.HIDES if self._is_wanted(view) else ""

    def _close_shown(self) -> None:
        """On the UI thread: what stands above the messages, a panel before the tab below it."""
        window = self.editor.active_window
        page, view = self._shown_page(), window.active_view() if window is not None else None
        if self.lists_messages:
            self.lists_messages = False
        elif window is not None and window.active_panel is not None:
            window.hide_panel()
        elif page is not None:
            self.editor.close_sheet(page)
        elif view is not None and view.settings.get(tabs.CHAT):
            # One Escape too many would answer its questions with no.
            self.say("A chat stays open. While you write in it, Ctrl+W closes it.")
        elif proposals.shown_only(view) is not None:
            self.editor.close_view(view)
        else:
            self.wanted = None

    def _follow_front(self, waiting: List[int], active: Optional[int]) -> None:
        """The diff that was last brought to the front is shown."""
        before = self.current
        if active is not None and active != self.active:
            self.current = active
        elif self.current not in waiting:
            self.current = active if active is not None else (waiting[0] if waiting else None)
        self.active = active
        if self.current != before:
            self.reviewing.scrolled = 0
            self.wanted = None

    def _shown_page(self) -> Optional[Any]:
        """The tab with HTML that is before the user."""
        window = self.editor.active_window
        sheet = window.active_sheet() if window is not None else None
        return sheet if sheet is not None and sheet.view is None else None

    def _find_question(self) -> Optional[Any]:
        windows = [self.editor.active_window, *self.editor.windows]
        found = [
            window.question
            for window in windows
            if window is not None and window.question is not None
        ]
        return found[0] if found else None

    def say_decided(self, waiting: Sequence[int]) -> None:
        """What became of the diffs that do not wait any more. The tab of one that was decided a
        moment ago is still to be closed, or to become the user's own."""
        for id in [id for id in self.paths if id not in waiting]:
            view = self.editor.views.get(id)
            is_there = view is not None and not view.closed
            if is_there and view.settings.get(proposals.RECORD):
                continue
            path = self.paths.pop(id)
            self.say("%s: %s" % (self.decided.pop(id, ELSEWHERE), path))
            if is_there:
                self.say("Its text stays as the tab %s: g shows it." % view.title())

    # Drawing

    def _draw_frame(self, state: State) -> None:
        text = "\n".join(self.messages.all) if self.lists_messages else state.panel.rstrip()
        panel = wrap_text(text, self.screen.columns) if text.strip() else []
        caret: Optional[Tuple[int, int]] = None
        lines: Optional[tabs.Lines] = None
        if state.question is not None:
            panel = questions.question_lines(state.question, self.screen.columns)
        elif state.tab is not None and not panel:
            lines = self._lines_of(state.tab)
            panel, caret = lines.lines, lines.caret if self.is_writing else None
        elif not panel and state.proposal is None and isinstance(self.screen, Screen):
            home = hints.home_lines(state.folders, state.open_tabs)
            panel = [row for line in home for row in wrap_text(line, self.screen.columns)]
        keys_shown = self._key_hints(state)
        has_proposal = state.proposal is not None
        bar = (
            questions.line_of_bar(state.question, self.screen.columns)
            if state.question is not None
            else None
        )
        if caret is not None and not self.is_away:
            bar = caret[0]
        panel = self.panel.shown(
            panel,
            self.screen.panel_room(keys_shown, has_proposal),
            bar,
            self._moving_keys(state),
            self.lists_messages or (state.tab is not None and state.tab.is_at_end),
            self._name_of_panel(state),
        )
        if caret is not None and self.panel.is_cut:
            caret = caret[0] - self.panel.top, caret[1]
            caret = caret if 0 <= caret[0] < self.panel.height else None
        if lines is not None and state.tab is not None and state.view is not None:
            count = self.panel.height if self.panel.is_cut else len(lines.lines)
            first = self.panel.top if self.panel.is_cut else 0
            seen = tabs.visible_part(state.tab, lines, first, count)
            self.editor.ui(tabs.tell_seen, self.editor, state.view, seen)
        else:
            self.editor.ui(tabs.tell_seen, self.editor, None, tabs.NOWHERE)
        shown: List[str] = []
        if state.proposal is not None:
            room, others = self.screen.room(panel, keys_shown), len(state.waiting) - 1
            width, colour = self.screen.columns, self.screen.colour
            shown = self.reviewing.lines(state.proposal, others, width, room, colour)
        is_paper = not isinstance(self.screen, Screen)
        said = self.messages.all if is_paper else self.messages.standing()
        self.screen.draw(Frame(shown, panel, tuple(said), keys_shown, caret))
        tab = state.view if lines is not None else None
        diff = state.proposal.view if state.proposal is not None else None
        self.drawn = Drawn(diff, state.question, tab)

    def _name_of_panel(self, state: State) -> str:
        if state.question is not None:
            return ""
        if self.lists_messages:
            return "messages"
        # Its first line has its links, which change while it is read.
        return "page %d" % state.page if state.page is not None else ""

    def _moving_keys(self, state: State) -> str:
        """The keys that move what is shown above the messages; whoever writes there would write
        them."""
        if self.is_writing and state.question is None:
            return ""
        is_beside = state.question is not None or state.proposal is not None
        return "[up] [down]" if is_beside else "[up] [down] [space] [b]ack"

    def _lines_of(self, tab: Tab) -> tabs.Lines:
        """Anew only where the tab is another one: it can be long."""
        width, before = self.screen.columns, self._drawn
        if before is not None and before[:2] == (tab, width):
            return before[2]
        found = tabs.tab_lines(tab, width)
        self._drawn = (tab, width, found)
        if before is not None:
            self._follow_scrolling(before[0], tab, found.rows[tab.top])
        return found

    def _follow_scrolling(self, before: Tab, tab: Tab, top: int) -> None:
        """A package shows something else of a tab, such as a question whose beginning was out of
        sight. Where the text was changed as well, it only keeps in sight what was there."""
        is_same = (before.title, before.text) == (tab.title, tab.text)
        self.is_away = self.is_away and is_same and before.caret == tab.caret
        if is_same and before.scrolled != tab.scrolled:
            self.panel.go_to(top)
            self.is_away = True

    def _key_hints(self, state: State) -> List[str]:
        if state.question is not None:
            found = [hints.LIST_KEYS]
        elif self.is_writing and state.tab is not None:
            found = [*self._offered_words(state.tab), hints.WRITING_KEYS]
        else:
            found = self._command_keys(state)
        if not isinstance(self.screen, Screen):
            return found
        width = self.screen.columns
        status = [cut_text(state.status, width)] if state.status and state.question is None else []
        rows = [row for line in found for row in hints.fold_keys(line, width)]
        return status + [row for line in rows for row in wrap_text(line, width)]

    def _command_keys(self, state: State) -> List[str]:
        here = "  ".join(
            filter(
                None,
                (state.escape, hints.LINKS if state.tab and state.escape != hints.HIDES else ""),
            )
        )
        return [*([here] if here else []), *hints.key_lines(self.bar, state.proposal is not None)]

    def _offered_words(self, tab: Tab) -> List[str]:
        """What completes the word at the caret, and the keys that were pressed of several."""
        found = ["Tab: " + "  ".join(map(make_printable, tab.offers))] if tab.offers else []
        begun = self.keyboard.begun
        return [*found, "%s, and then?" % " ".join(begun)] if begun else found

    def _ask_line(self, next_key: LineKeys, prompt: str, text: str = "") -> Optional[str]:
        self.screen.asks()
        line = next_key.line(prompt, text)
        self.screen.asked()
        return line

    def _has_proposal(self) -> bool:
        return self._ask_state().proposal is not None

    # What keys do

    def _answer_by_key(self, question: Any, key: str, next_key: LineKeys) -> None:
        """Answer a quick panel by a key, or move the bar in it; ask for an input panel's text."""
        if question.items is None:
            text = self._ask_line(
                next_key, questions.input_prompt(question), question.view.text.characters
            )
            if text is None:
                self._forget_decision("")
            self.editor.ui(questions.answer_question, self.editor, question, -1, text)
            return
        moved = questions.move_bar(question, key)
        if moved is not None:
            self.editor.ui(question.highlight, moved)
            return
        chosen = questions.chosen_item(question, key)
        if chosen is None:
            # A word that is typed here must not go on as commands that accept and reject.
            return
        self._forget_decision(question.rows(chosen)[0] if chosen >= 0 else "")
        self.editor.ui(questions.answer_question, self.editor, question, chosen)

    def _forget_decision(self, label: str) -> None:
        """What was asked about a decision was answered with this: it may be another one now."""
        if self.current is None or label.startswith("Accept"):
            return
        self.decided.pop(self.current, None)
        if label.startswith("Reject"):
            self.decided[self.current] = "Rejected"

    def _press_in_review(self, key: str, next_key: LineKeys) -> None:
        state, tab = self._ask_state(), self._shown_tab()
        if tab is not None and tab.settings.get(proposals.SHEET) and key in COMMANDS:
            # They act on what is at its caret.
            if tab.id == self.drawn.tab:
                self._run_command("gemini_companion_" + COMMANDS[key])
            else:
                self.say(NOT_SEEN)
            return
        if state.proposal is None:
            self.say("No diff waits for a decision.")
            return
        if state.proposal.view != self.drawn.diff:
            self.say(NOT_SEEN)
            return
        proposal, view = state.proposal, self.editor.views[state.proposal.view]
        if key in PAGE_KEYS:
            self.reviewing.scrolled += 10 * PAGE_KEYS[key]
        elif key == "u":
            self.editor.ui(self.editor.commands.run_text, view, "undo")
        elif key == "e":
            self._edit_proposal(view, proposal, next_key)
        else:
            self.reviewing.scrolled = 0
            if key in DECISIONS:
                self.decided[proposal.view] = DECISIONS[key]
            if key == "c":
                self.editor.ui(self._select_change, view, proposal.caret)
            arguments = {"id": proposal.id} if proposal.id else None
            self._run_command("gemini_companion_" + COMMANDS[key], arguments)

    def _run_command(self, command: str, arguments: Any = None) -> None:
        window = self.editor.active_window
        if window is not None:
            self.editor.ui(self.editor.commands.run_window, window, command, arguments)

    def _select_change(self, view: Any, row: int) -> None:
        at = self.reviewing.sides.hunk_at(row)
        if at >= 0:
            hunk = self.reviewing.sides.hunks[at]
            self.editor.select(view, [proposals.rows_of_change(view, hunk.first, hunk.last)])

    def _edit_proposal(self, view: Any, proposal: Proposal, next_key: LineKeys) -> None:
        """Open the proposal in $EDITOR, and put what came of it into the view."""
        self.screen.asks()
        with next_key.paused():
            text, problem = edit_text(proposal.new, os.path.basename(proposal.path), proposal.caret)
        self.screen.asked()
        if problem:
            self.say(problem)
        if text is not None and view.id in self.editor.views:
            self.editor.ui(self._replace_text, view, text)

    def _replace_text(self, view: Any, text: str) -> None:
        """Only the rows that are others: carets, comments and marks stay with theirs."""
        present = view.text
        found = hunks(text, present.characters)
        parts = [part for hunk in found for part in hunk.reverted_by_rows(present)]
        token = self.editor.begin_edit(view, "edit_in_terminal", None)
        for begin, end, rows in reversed(parts):
            self.editor.change(view, begin, end, rows)
        self.editor.end_edit(view, token)

    def _choose_command(self, next_key: LineKeys) -> None:
        """The command palette: some words of a caption, then one of those that have them all."""
        words = self._ask_line(next_key, "Words of a command, or none for all: ")
        if words is not None:
            # It would stand before what the command opens.
            self._run_command("hide_panel")
            self.editor.ui(self._show_commands, words.lower().split())

    def _show_commands(self, words: List[str]) -> None:
        """On the UI thread."""
        window = self.editor.active_window
        if window is None:
            return
        commands = self.editor.commands
        found = [
            command
            for command in self.editor.packages.palette()
            if all(word in command["caption"].lower() for word in words)
            and commands.is_enabled(window, command["command"], command.get("args"))
            and commands.is_visible(window, command["command"], command.get("args"))
        ]
        # A whole caption means that command, though others begin with it.
        whole = [
            command
            for command in found
            if command["caption"].lower().split(": ")[-1].split() == words
        ]
        found = whole or found

        def chosen(index: int) -> None:
            if index >= 0:
                # What it asks would be closed with the list.
                self.editor.queues.ui.post(lambda: self._run_chosen(window, found[index]))

        if not found:
            self.say("No command that can be run now has these words.")
        elif len(found) == 1:
            chosen(0)
        else:
            captions = [command["caption"] for command in found]
            window.ask(captions, "command_palette:input", {"on_select": chosen})

    def _run_chosen(self, window: Any, entry: Any) -> None:
        """On the UI thread. Of a window that it opens, such as that of settings, the files are
        named: here they are edited in another program."""
        before = list(self.editor.windows)
        for key, decision in DECISIONS.items():
            if self.current is not None and entry["command"].endswith("_" + COMMANDS[key]):
                self.decided[self.current] = decision
        self.editor.commands.choose(window, entry["command"], entry.get("args"))
        for fresh in [candidate for candidate in self.editor.windows if candidate not in before]:
            for view in fresh.views():
                kind = "To be looked at" if view.buffer.read_only else "To be edited"
                self.say("%s: %s" % (kind, view.buffer.file_name))
            self.editor.close_window(fresh)

    def _type_line(self, next_key: LineKeys) -> None:
        """Type a line where the keyboard is, as a person does."""
        window = self.editor.active_window
        view = window.active_view() if window is not None else None
        line = self._ask_line(next_key, "Type: ") if view is not None else None
        for character in line or "":
            self.editor.ui(self.editor.type_text, view, character)

    def _shown_tab(self) -> Optional[Any]:
        """Not while something that opens another tab still runs."""
        return self.editor.ui(self._find_tab)

    def _find_tab(self) -> Optional[Any]:
        """On the UI thread: the view before the user, where it is no file."""
        window = self.editor.active_window
        view = window.active_view() if window is not None else None
        is_shown = proposals.shown_only(view) is not None or self._is_wanted(view)
        return view if is_shown else None

    def _list_tabs(self) -> None:
        """On the UI thread: the tabs that are not diffs, to bring one to the front."""
        window, found = self.editor.active_window, tabs.list_views(self.editor)

        def chosen(index: int) -> None:
            if index >= 0:
                view = found[index]
                self.wanted = view.id
                self.editor.focus_window(view.window)
                view.window.show(view.sheet)

        if window is not None and found:
            rows = [tabs.tab_row(tab) for tab in found]
            window.ask(rows, "command_palette:input", {"on_select": chosen})
        else:
            self.say("No tab is open.")

    def _save_tab(self, next_key: LineKeys) -> None:
        """The tab that is shown, or else the one with the keyboard."""
        window = self.editor.active_window
        view = window.active_view() if window is not None else None
        if view is None or proposals.shown_only(view) is not None:
            self.say("No tab that can be saved is in front; g lists them.")
            return
        if view.buffer.file_name or view.settings.get(proposals.RECORD):
            # Packages may do something else when this is saved.
            self.editor.ui(self.editor.commands.run_text, view, "save")
        else:
            next_key.tell_apart(False)
            typed = self._ask_line(next_key, "Save as: ")
            if not typed:
                return
            path = self._full_path(typed)
            if os.path.lexists(path):
                self.say("%s is there already: nothing is saved." % path)
                return
            self.editor.ui(self.editor.save, view, path)
        if view.buffer.file_name and not view.buffer.is_dirty():
            self.say("Saved: %s" % view.buffer.file_name)

    def _full_path(self, path: str) -> str:
        """A path that was typed is one below the first folder."""
        window = self.editor.active_window
        folder = window.folders[0] if window is not None and window.folders else os.getcwd()
        return os.path.abspath(os.path.join(folder, os.path.expanduser(path)))

    def _write_key(self, key: str, next_key: LineKeys) -> None:
        """What a key as the terminal sends it does in the tab."""
        view, name = self._shown_tab(), bound(key)
        is_free = not self.keyboard.begun and (view is None or view.completing is None)
        if view is None or name == "ctrl+c" or (name == "escape" and is_free):
            self.is_writing = False
            self.keyboard.begun = []
        elif name == "ctrl+s":
            self._save_tab(next_key)
        elif key.startswith(PASTED):
            text = key[len(PASTED) :].replace(END_OF_PASTE, "")
            lines = text.replace("\r\n", "\n").replace("\r", "\n")
            self.editor.ui(self.keyboard.paste, view, lines)
        elif name:
            self.editor.ui(self.keyboard.press, view, name)

    def _list_links(self) -> None:
        """On the UI thread: those of the phantoms, then those in a chat's text, to choose one."""
        window, view = self.editor.active_window, self._find_tab()
        tab = tabs.read_tab(view, is_wanted=self._is_wanted(view))
        links = [*tab.links, *text_links.of_view(view)] if tab is not None else []

        def chosen(index: int) -> None:
            if index >= 0:
                link = links[index]
                # What it asks would be closed with the list.
                work = lambda: clicks.follow(self.editor, link.href, link.on_navigate)  # noqa: E731
                self.editor.queues.ui.post(work)

        if links:
            captions = [link.text for link in links]
            window.ask(captions, "command_palette:input", {"on_select": chosen})
        else:
            self.say("Nothing here has a link.")

    def _open_path(self, next_key: LineKeys) -> None:
        path = self._ask_line(next_key, "File to open: ")
        window = self.editor.active_window
        if not path or window is None:
            return
        full = self._full_path(path)
        if os.path.isfile(full):
            self.wanted = self.editor.ui(self.editor.open_file, window, full).id
            self.say("Opened %s; Gemini CLI is told." % full)
        else:
            self.say("No such file: %s" % full)


def _page_text(page: Optional[Any]) -> str:
    """What a tab with HTML says, and which key follows which of its links."""
    if page is None:
        return ""
    links = clicks.sheet_links(page)
    keys_of_links = ["[%d] %s" % (at, link.text) for at, link in enumerate(links, 1)]
    # First, since a small terminal does not show the end.
    lines = ["  ".join([*keys_of_links, "[Escape] close this"]), *html_text.page(page.contents)]
    return "\n".join(lines)


def edit_text(text: str, name: str, row: int) -> Tuple[Optional[str], str]:
    """The text as the user's editor leaves it, which opens it at the row, counted from 0, where it
    is known to be able to; None and a sentence where the editor failed."""
    command: Sequence[str] = shlex.split(
        os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    )
    folder = tempfile.mkdtemp(prefix="proposal-")
    path = os.path.join(folder, name)
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        knows_lines = os.path.basename(command[0]) in AT_LINE
        if subprocess.call([*command, *(["+%d" % (row + 1)] if knows_lines else []), path]) != 0:
            return None, "%s failed; the proposal stays as it is." % command[0]
        with open(path, encoding="utf-8", newline="") as file:
            return file.read(), ""
    except OSError as error:
        sentence = "%s could not be started (%s); set EDITOR."
        return None, sentence % (command[0], error.strerror)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
