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
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import clicks, proposals, questions, tabs
from .console import Console
from .diff import hunks
from .keyboard import Keyboard
from .keys import END_OF_PASTE, PASTED, LineKeys, bound, keys
from .options import Options
from .proposals import Proposal
from .reviewing import Reviewing
from .screen import Frame, Paper, Screen, screen
from .sides import cut, printable, shortened, wrapped
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
ELSEWHERE = "Decided in its chat, in Show Changes or in the terminal, or withdrawn"
REVIEW_KEYS = (
    "[n]ext [p]revious change  [k]eep  [d]rop  [u]ndo  [c]omment  [e]dit first  [space] [b]ack",
    "[a]ccept  [A]ccept, next  [r]eject  [R]eject with note  re[l]ease  ] [ other diffs",
)
KEYS = (
    "[w]aiting  [h]istory  [o]pen a file  [f]older to add  [t]ype  [s]tatus  [:] commands  [q]uit"
)
TAB_KEYS = "Escape closes what is shown above the messages; Enter lists its links."
WRITING_KEYS = (
    "What you type goes to the tab; Alt+Enter is Ctrl+Enter. Escape: back to the commands."
)
LIST_KEYS = ("A number, or up, down and Enter; Escape closes the list.",)
# Pixels of a window: none of its own lines is broken before the terminal's are.
WIDTH = 4000.0
# Seconds between looks at what the editor shows.
LOOK = 0.1
# The page with the steps to the first edit.
WELCOME = "gemini_companion_welcome"
# The setting of a tab that is a chat.
CHAT = "gemini_companion_is_chat"
# In the data folder: a file that says that the page was shown.
WELCOMED = os.path.join("Local", "Welcomed")
# Programs that open a file at the line N for the argument `+N`.
AT_LINE = ("vi", "vim", "nvim", "nano", "pico", "emacs", "emacsclient", "micro", "kak", "joe", "mg")
QUIT_KEYS = ("q", "end")
# What Gemini CLI may ask first.
QUESTION = (
    "If it asks whether to connect Sublime Text, answer No (esc): its Yes ends in an error. Then:"
)
# Where they are, Gemini CLI looks for the editor outside of the container, unless it is told so.
CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")
IN_CONTAINER = "REMOTE_CONTAINERS=1 "


class State(NamedTuple):
    """What the editor shows at a moment. `active` is the diff with the keyboard, if it is one;
    `question` a quick panel or an input panel; `page` the id of the tab with HTML in front; `tab`
    the tab with the keyboard, where that is no file; `message` what the status bar said last, and
    `status` what stands there; `clipboard` what was copied."""

    waiting: Tuple[int, ...]
    active: Optional[int]
    proposal: Optional[Proposal]
    question: Optional[Any]
    panel: str
    page: Optional[int]
    tab: Optional[Tab]
    message: str
    status: str
    clipboard: str


def run(editor: Any, options: Options) -> int:
    """Be the user's side of the editor until they quit; gives the exit status."""
    shown = screen()
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
        self.top += lines
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
        """Of what has this name, or else this first line: at most `room` lines; where that is not
        all, the last one says so, and the `keys` that move it. The one at `bar` is among them,
        where there is one. What `follows` begins with its end, and shows the end as long as nobody
        moves."""
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
        self.messages: List[str] = []
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
        self.clipboard = editor.clipboard
        self.keyboard = Keyboard(editor)
        # Whether keys go to the tab that is shown.
        self.is_writing = False
        self._drawn: Optional[Tuple[Tab, int, tabs.Lines]] = None
        if isinstance(shown, Screen):
            for stream in (sys.stdout, sys.stderr):
                if isinstance(stream, Console):
                    stream.listener = self.hear

    def welcome(self) -> None:
        """Once, and again where the folders are others."""
        folders = [folder for window in self.editor.windows for folder in window.folders]
        if folders == self.folders:
            return
        self.folders = folders
        if not folders:
            self.say("The editor has no folder open, and no CLI finds it without one. Press f.")
            return
        self.say("The editor runs on %s. In another terminal, type:" % ", ".join(folders))
        self.say("    cd %s && %s" % (shlex.quote(folders[0]), gemini()))
        self.say(QUESTION)
        self.say("    /ide enable        (in Gemini CLI, once, unless you enable it here)")

    def go_on(self, next_key: LineKeys) -> bool:
        """Wait a moment for a key and do what it says; False where the user quits."""
        self.is_writing = self.is_writing and self._shown_tab() is not None
        next_key.tell_apart(self.is_writing and self._question() is None)
        key = next_key(LOOK)
        if key is None:
            return True
        if next_key.is_raw:
            self._write(key)
        elif key in QUIT_KEYS and (key == "end" or self._question() is None):
            return False
        else:
            self.press(key, next_key)
        return True

    def look(self, next_key: LineKeys) -> None:
        """Show what is new: diffs, those that are decided, questions, panels, messages."""
        self._show_welcome()
        self.welcome()
        state = self._state()
        self.say_decided(state.waiting)
        is_new = bool(state.message) and state.message != self.message
        if is_new and self.messages[-1:] != [printable(state.message)]:
            self.say(state.message)
        self.message = state.message
        if state.clipboard and state.clipboard != self.clipboard:
            # Nothing of this editor's can be pasted elsewhere, but it can be read.
            self.say("On the clipboard:")
            self.say_lines(state.clipboard)
        self.clipboard = state.clipboard
        self._draw(state)
        if state.question is not None and state.question.items is None:
            self._answer(state.question, "", next_key)

    def press(self, key: str, next_key: LineKeys) -> None:
        question = self._question()
        if question is not None:
            self._answer(question, key, next_key)
        elif key in LINE_KEYS:
            self.panel.move(LINE_KEYS[key])
        elif key in PAGE_KEYS and self.panel.is_cut and not self._has_proposal():
            self.panel.move(PAGE_KEYS[key] * self.panel.height)
        elif key in COMMANDS or key in ("u", "e") or key in PAGE_KEYS:
            self._review(key, next_key)
        elif key in OTHER_COMMANDS:
            if key == "s":
                self._run("hide_panel")
            self._run("gemini_companion_" + OTHER_COMMANDS[key])
        elif key == "o":
            self._open(next_key)
        elif key == "f":
            self._run("prompt_add_folder")
        elif key == "t":
            if isinstance(self.screen, Screen) and self._shown_tab() is not None:
                self.is_writing = True
            else:
                self._type(next_key)
        elif key == "enter" and self._shown_tab() is not None:
            self.editor.ui(self._list_links)
        elif key == ":":
            self._choose_command(next_key)
        elif key == "escape":
            self.editor.ui(self._close_shown)
        elif key.isdigit() and self._page() is not None:
            links = clicks.sheet_links(self._page())
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
            if not self.editor.ui(proposals.waiting, self.editor) and self._is_first_start():
                self._run(WELCOME)

    def _is_first_start(self) -> bool:
        """Whether no editor of this data folder asked before."""
        mark = os.path.join(self.editor.data, WELCOMED)
        if os.path.exists(mark):
            return False
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(mark), exist_ok=True)
            with open(mark, "w", encoding="ascii"):
                pass
        return True

    def say(self, line: str) -> None:
        self.messages.append(printable(line))

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

    def _state(self) -> State:
        state: State = self.editor.ui(self._read)
        return state

    def _read(self) -> State:
        """On the UI thread."""
        views = {view.id: view for view in proposals.waiting(self.editor)}
        window = self.editor.active_window
        view = window.active_view() if window is not None else None
        active = view.id if view is not None and view.id in views else None
        self._follow(list(views), active)
        for id, each in views.items():
            self.paths.setdefault(id, str(each.settings.get(proposals.PATH)))
        shown = views.get(self.current) if self.current is not None else None
        name = window.active_panel if window is not None else None
        panel = window.panel_named(name) if name else None
        page = self._page()
        return State(
            tuple(views),
            active,
            proposals.read(self.editor, shown) if shown is not None else None,
            self._question(),
            panel.view.text.characters if panel is not None else _page_text(page),
            page.id if page is not None and panel is None else None,
            tabs.read(view),
            self.editor.status_message,
            "  ".join(view.status[key] for key in sorted(view.status)) if view is not None else "",
            self.editor.clipboard,
        )

    def _close_shown(self) -> None:
        """On the UI thread: what stands above the messages, a panel before the tab below it."""
        window = self.editor.active_window
        page, view = self._page(), window.active_view() if window is not None else None
        if window is not None and window.active_panel is not None:
            window.hide_panel()
        elif page is not None:
            self.editor.close_sheet(page)
        elif view is not None and view.settings.get(CHAT):
            # One Escape too many would answer its questions with no.
            self.say("A chat stays open. While you write in it, Ctrl+W closes it.")
        elif proposals.shown_only(view) is not None:
            self.editor.close_view(view)

    def _follow(self, waiting: List[int], active: Optional[int]) -> None:
        """The diff that was last brought to the front is shown."""
        before = self.current
        if active is not None and active != self.active:
            self.current = active
        elif self.current not in waiting:
            self.current = active if active is not None else (waiting[0] if waiting else None)
        self.active = active
        if self.current != before:
            self.reviewing.scrolled = 0

    def _page(self) -> Optional[Any]:
        """The tab with HTML that is before the user."""
        window = self.editor.active_window
        sheet = window.active_sheet() if window is not None else None
        return sheet if sheet is not None and sheet.view is None else None

    def _question(self) -> Optional[Any]:
        windows = [self.editor.active_window, *self.editor.windows]
        found = [it.question for it in windows if it is not None and it.question is not None]
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
                self.say("Its text stays as the tab %s." % view.title())

    # Drawing

    def _draw(self, state: State) -> None:
        panel = wrapped(state.panel.rstrip(), self.screen.columns) if state.panel.strip() else []
        caret: Optional[Tuple[int, int]] = None
        if state.question is not None:
            width = self.screen.columns
            panel = [shortened(line, width) for line in questions.lines(state.question)]
        elif state.tab is not None and not panel:
            panel, caret = self._lines_of(state.tab)
        keys_shown = self._keys(state)
        has_proposal = state.proposal is not None
        bar = questions.line_of_bar(state.question) if state.question is not None else None
        if caret is not None:
            bar = caret[0]
        panel = self.panel.shown(
            panel,
            self.screen.panel_room(keys_shown, has_proposal),
            bar,
            self._moving_keys(state),
            state.tab is not None and state.tab.is_at_end,
            # Its first line has its links, which change while it is read.
            "page %d" % state.page if state.page is not None and state.question is None else "",
        )
        if caret is not None and self.panel.is_cut:
            caret = caret[0] - self.panel.top, caret[1]
        shown: List[str] = []
        if state.proposal is not None:
            room, others = self.screen.room(panel, keys_shown), len(state.waiting) - 1
            width, colour = self.screen.columns, self.screen.colour
            shown = self.reviewing.lines(state.proposal, others, width, room, colour)
        self.screen.draw(Frame(shown, panel, tuple(self.messages), keys_shown, caret))

    def _moving_keys(self, state: State) -> str:
        """Those that move what is shown above the messages; whoever writes there would write
        them."""
        if self.is_writing and state.question is None:
            return ""
        is_beside = state.question is not None or state.proposal is not None
        return "[up] [down]" if is_beside else "[up] [down] [space] [b]ack"

    def _lines_of(self, tab: Tab) -> tabs.Lines:
        """Anew only where the tab is another one: it can be long."""
        width = self.screen.columns
        if self._drawn is None or self._drawn[:2] != (tab, width):
            self._drawn = (tab, width, tabs.lines(tab, width))
        found = self._drawn[2]
        return found if self.is_writing else found._replace(caret=None)

    def _keys(self, state: State) -> List[str]:
        if state.question is not None:
            return list(LIST_KEYS)
        if self.is_writing and state.tab is not None:
            return [*self._offered(state.tab), WRITING_KEYS]
        found = [KEYS] if state.proposal is None else [*REVIEW_KEYS, KEYS]
        if state.tab is not None:
            found.append(TAB_KEYS)
        if not isinstance(self.screen, Screen):
            return found
        status = [cut(state.status, self.screen.columns)] if state.status else []
        return status + [row for line in found for row in folded(line, self.screen.columns)]

    def _offered(self, tab: Tab) -> List[str]:
        """What completes the word at the caret, and the keys that were pressed of several."""
        found = ["Tab: " + "  ".join(map(printable, tab.offers))] if tab.offers else []
        begun = self.keyboard.begun
        return [*found, "%s, and then?" % " ".join(begun)] if begun else found

    def _line(self, next_key: LineKeys, prompt: str, text: str = "") -> Optional[str]:
        self.screen.asks()
        line = next_key.line(prompt, text)
        self.screen.asked()
        return line

    def _has_proposal(self) -> bool:
        return self._state().proposal is not None

    # What keys do

    def _answer(self, question: Any, key: str, next_key: LineKeys) -> None:
        """Answer a quick panel by a key, or move the bar in it; ask for an input panel's text."""
        if question.items is None:
            text = self._line(next_key, questions.prompt(question), question.view.text.characters)
            if text is None:
                self._forget_decision("")
            self.editor.ui(questions.answer, self.editor, question, -1, text)
            return
        moved = questions.moved(question, key)
        if moved is not None:
            self.editor.ui(question.highlight, moved)
            return
        chosen = questions.chosen(question, key)
        if chosen is None:
            # A word that is typed here must not go on as commands that accept and reject.
            return
        self._forget_decision(question.rows(chosen)[0] if chosen >= 0 else "")
        self.editor.ui(questions.answer, self.editor, question, chosen)

    def _forget_decision(self, label: str) -> None:
        """What was asked about a decision was answered with this: it may be another one now."""
        if self.current is None or label.startswith("Accept"):
            return
        self.decided.pop(self.current, None)
        if label.startswith("Reject"):
            self.decided[self.current] = "Rejected"

    def _review(self, key: str, next_key: LineKeys) -> None:
        state, tab = self._state(), self._shown_tab()
        if tab is not None and tab.settings.get(proposals.SHEET) and key in COMMANDS:
            # They act on what is at its caret.
            self._run("gemini_companion_" + COMMANDS[key])
            return
        if state.proposal is None:
            self.say("No diff waits for a decision.")
            return
        proposal, view = state.proposal, self.editor.views[state.proposal.view]
        if key in PAGE_KEYS:
            self.reviewing.scrolled += 10 * PAGE_KEYS[key]
        elif key == "u":
            self.editor.ui(self.editor.commands.run_text, view, "undo")
        elif key == "e":
            self._edit(view, proposal, next_key)
        else:
            self.reviewing.scrolled = 0
            if key in DECISIONS:
                self.decided[proposal.view] = DECISIONS[key]
            if key == "c":
                self.editor.ui(self._select_change, view, proposal.caret)
            arguments = {"id": proposal.id} if proposal.id else None
            self._run("gemini_companion_" + COMMANDS[key], arguments)

    def _run(self, command: str, arguments: Any = None) -> None:
        window = self.editor.active_window
        if window is not None:
            self.editor.ui(self.editor.commands.run_window, window, command, arguments)

    def _select_change(self, view: Any, row: int) -> None:
        at = self.reviewing.sides.hunk_at(row)
        if at >= 0:
            hunk = self.reviewing.sides.hunks[at]
            self.editor.select(view, [proposals.rows_of_change(view, hunk.first, hunk.last)])

    def _edit(self, view: Any, proposal: Proposal, next_key: LineKeys) -> None:
        """Open the proposal in $EDITOR, and put what came of it into the view."""
        self.screen.asks()
        with next_key.paused():
            text, problem = edited(proposal.new, os.path.basename(proposal.path), proposal.caret)
        self.screen.asked()
        if problem:
            self.say(problem)
        if text is not None and view.id in self.editor.views:
            self.editor.ui(self._replace, view, text)

    def _replace(self, view: Any, text: str) -> None:
        """Only the rows that are others: carets, comments and marks stay with theirs."""
        present = view.text
        parts = [hunk.reverted(present) for hunk in hunks(text, present.characters)]
        token = self.editor.begin_edit(view, "edit_in_terminal", None)
        for begin, end, rows in reversed(parts):
            self.editor.change(view, begin, end, rows)
        self.editor.end_edit(view, token)

    def _choose_command(self, next_key: LineKeys) -> None:
        """The command palette: some words of a caption, then one of those that have them all."""
        words = self._line(next_key, "Words of a command, or none for all: ")
        if words is not None:
            # It would stand before what the command opens.
            self._run("hide_panel")
            self.editor.ui(self._show_commands, words.lower().split())

    def _show_commands(self, words: List[str]) -> None:
        """On the UI thread."""
        window = self.editor.active_window
        if window is None:
            return
        commands = self.editor.commands
        found = [
            it
            for it in self.editor.packages.palette()
            if all(word in it["caption"].lower() for word in words)
            and commands.is_enabled(window, it["command"], it.get("args"))
        ]
        # A whole caption means that command, though others begin with it.
        whole = [it for it in found if it["caption"].lower().split(": ")[-1].split() == words]
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
            captions = [it["caption"] for it in found]
            window.ask(captions, "command_palette:input", {"on_select": chosen})

    def _run_chosen(self, window: Any, entry: Any) -> None:
        """On the UI thread. Of a window that it opens, such as that of settings, the files are
        named: here they are edited in another program."""
        before = list(self.editor.windows)
        for key, decision in DECISIONS.items():
            if self.current is not None and entry["command"].endswith("_" + COMMANDS[key]):
                self.decided[self.current] = decision
        self.editor.commands.choose(window, entry["command"], entry.get("args"))
        for fresh in [it for it in self.editor.windows if it not in before]:
            for view in fresh.views():
                kind = "To be looked at" if view.buffer.read_only else "To be edited"
                self.say("%s: %s" % (kind, view.buffer.file_name))
            self.editor.close_window(fresh)

    def _type(self, next_key: LineKeys) -> None:
        """Type a line where the keyboard is, as a person does."""
        window = self.editor.active_window
        view = window.active_view() if window is not None else None
        line = self._line(next_key, "Type: ") if view is not None else None
        for character in line or "":
            self.editor.ui(self.editor.type_text, view, character)

    def _shown_tab(self) -> Optional[Any]:
        """Not while something that opens another tab still runs."""
        return self.editor.ui(self._tab)

    def _tab(self) -> Optional[Any]:
        """On the UI thread: the view before the user, where it is no file."""
        window = self.editor.active_window
        view = window.active_view() if window is not None else None
        return view if proposals.shown_only(view) is not None else None

    def _write(self, key: str) -> None:
        """What a key as the terminal sends it does in the tab."""
        view, name = self._shown_tab(), bound(key)
        is_free = not self.keyboard.begun and (view is None or view.completing is None)
        if view is None or name == "ctrl+c" or (name == "escape" and is_free):
            self.is_writing = False
            self.keyboard.begun = []
        elif key.startswith(PASTED):
            text = key[len(PASTED) :].replace(END_OF_PASTE, "")
            lines = text.replace("\r\n", "\n").replace("\r", "\n")
            self.editor.ui(self.keyboard.paste, view, lines)
        elif name:
            self.editor.ui(self.keyboard.press, view, name)

    def _list_links(self) -> None:
        """On the UI thread: those of the phantoms, then those in a chat's text, to choose one."""
        window, view = self.editor.active_window, self._tab()
        tab = tabs.read(view)
        links = [*tab.links, *clicks.text_links(view)] if tab is not None else []

        def chosen(index: int) -> None:
            if index >= 0:
                link = links[index]
                # What it asks would be closed with the list.
                work = lambda: clicks.follow(self.editor, link.href, link.on_navigate)  # noqa: E731
                self.editor.queues.ui.post(work)

        if links:
            captions = [it.text for it in links]
            window.ask(captions, "command_palette:input", {"on_select": chosen})
        else:
            self.say("Nothing here has a link.")

    def _open(self, next_key: LineKeys) -> None:
        path = self._line(next_key, "File to open: ")
        window = self.editor.active_window
        if not path or window is None:
            return
        folder = window.folders[0] if window.folders else os.getcwd()
        full = os.path.join(folder, os.path.expanduser(path))
        if os.path.isfile(full):
            self.editor.ui(self.editor.open_file, window, full)
            self.say("Opened %s; Gemini CLI is told." % full)
        else:
            self.say("No such file: %s" % full)


def gemini() -> str:
    """The command that starts Gemini CLI so that it finds an editor on this machine."""
    return (IN_CONTAINER if any(map(os.path.exists, CONTAINER_MARKS)) else "") + "gemini"


def folded(keys: str, width: int) -> List[str]:
    """A line of keys, in several where it is wider; words stay together."""
    rows: List[str] = []
    for word in keys.split("  "):
        if rows and len(rows[-1]) + 2 + len(word) <= width:
            rows[-1] += "  " + word
        else:
            rows.append(word)
    return rows


def _page_text(page: Optional[Any]) -> str:
    """What a tab with HTML says, and which key follows which of its links."""
    if page is None:
        return ""
    links = clicks.sheet_links(page)
    keys_of_links = ["[%d] %s" % (at, link.text) for at, link in enumerate(links, 1)]
    # First, since a small terminal does not show the end.
    lines = ["  ".join([*keys_of_links, "[Escape] close this"]), *proposals.page(page.contents)]
    return "\n".join(lines)


def edited(text: str, name: str, row: int) -> Tuple[Optional[str], str]:
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
