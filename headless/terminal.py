"""The interactive front: shows proposed diffs in a terminal and takes decisions from its keys."""

from __future__ import annotations

import os
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional

from .options import Options
from .sides import picture

# What the package puts on the right view of a diff; the only thing known of it here.
STAMP, PATH = "gemini_companion_diff", "gemini_companion_diff_path"
ACCEPT, REJECT = "gemini_companion_accept_diff", "gemini_companion_reject_diff"
STATUS = "gemini_companion_status"
HELP = "[a]ccept  [r]eject  [e]dit first  [n]ext  |  [o]pen a file  [s]tatus  [q]uit"
# Seconds between looks at what the editor shows.
LOOK = 0.1
QUIT_KEYS = ("q", "\x03", "\x04", "")


def run(editor: Any, options: Options) -> int:
    """Be the user's side of the editor until they quit; gives the exit status."""
    front = Front(editor)
    with keys() as next_key:
        front.welcome()
        while True:
            try:
                key = next_key(LOOK)
                if key in QUIT_KEYS:
                    return 0
                if key is not None:
                    front.press(key, next_key)
            except EOFError:
                return 0
            front.look()


class Front:
    """What was shown so far, and what the keys mean now."""

    def __init__(self, editor: Any) -> None:
        self.editor = editor
        self.shown: Dict[int, str] = {}
        self.current: Optional[int] = None
        self.messages: List[str] = []
        self.panel = ""

    def welcome(self) -> None:
        folders = [folder for window in self.editor.windows for folder in window.folders]
        where = ", ".join(folders) or "no folder"
        say("The editor runs on %s. In another terminal, type:" % where)
        say("    cd %s && gemini" % shlex.quote(folders[0] if folders else os.getcwd()))
        say("    /ide enable        (in Gemini CLI, once)")
        say(HELP)

    def look(self) -> None:
        """Say what is new: diffs, those that are decided, questions, panels, messages."""
        for view in self.editor.ui(self._diffs):
            if view.id not in self.shown:
                self.shown[view.id] = str(view.settings.get(PATH))
                self.show(view)
        open_now = {view.id for view in self.editor.ui(self._diffs)}
        for view_id in [known for known in self.shown if known not in open_now]:
            say("Decided: %s" % self.shown.pop(view_id))
            if self.current == view_id:
                self.next()
        self._look_at_panel()
        self._look_at_messages()

    def show(self, view: Any) -> None:
        """Draw one diff; the keys mean this one from now on."""
        self.current = view.id
        old, new = view.buffer.reference or "", view.text.characters
        size = shutil.get_terminal_size()
        say("")
        say("Proposed: %s" % self.shown[view.id])
        for line in picture(old, new, size.columns - 1, sys.__stdout__.isatty()):  # type: ignore[union-attr]
            say(line)
        waiting = len(self.shown)
        say(HELP + ("   (%d waiting)" % waiting if waiting > 1 else ""))

    def press(self, key: str, next_key: Any) -> None:
        question = self._question()
        if question is not None:
            self._answer(question, key)
        elif key == "a":
            self.decide(ACCEPT)
        elif key == "r":
            self.decide(REJECT)
        elif key == "e":
            self.edit(next_key)
        elif key == "n":
            self.next()
        elif key == "o":
            self.open(next_key)
        elif key == "s":
            self.run_in_window(STATUS)
        elif key.strip():
            say(HELP)

    def decide(self, command: str) -> None:
        view = self._current_view()
        if view is None:
            say("No diff waits for a decision.")
            return
        self.editor.ui(view.window.show, view.sheet)
        self.run_in_window(command)

    def edit(self, next_key: Any) -> None:
        """Open the proposal in $EDITOR, and show what came of it."""
        view = self._current_view()
        if view is None:
            say("No diff waits for a decision.")
            return
        with next_key.paused():
            text = edited(view.text.characters, os.path.basename(self.shown[view.id]))
        if text is not None and view.id in self.editor.views:
            self.editor.ui(self._replace, view, text)
        if view.id in self.shown:
            self.show(view)

    def next(self) -> None:
        """Show the diff after the current one, in the order in which they came."""
        waiting = list(self.shown)
        if not waiting:
            self.current = None
            return
        after = waiting.index(self.current) + 1 if self.current in waiting else 0
        self.show(self.editor.views[waiting[after % len(waiting)]])

    def open(self, next_key: Any) -> None:
        path = next_key.line("File to open: ")
        window = self.editor.active_window
        if path and window is not None:
            folder = window.folders[0] if window.folders else os.getcwd()
            full = os.path.join(folder, os.path.expanduser(path))
            if os.path.isfile(full):
                self.editor.ui(self.editor.open_file, window, full)
                say("Opened %s; Gemini CLI is told." % full)
            else:
                say("No such file: %s" % full)

    def run_in_window(self, command: str) -> None:
        view = self._current_view()
        window = view.window if view is not None else self.editor.active_window
        if window is not None:
            self.panel = ""
            self.editor.ui(self.editor.commands.run_window, window, command)

    def _diffs(self) -> List[Any]:
        return [view for view in self.editor.all_views() if view.settings.get(STAMP) is True]

    def _current_view(self) -> Optional[Any]:
        return self.editor.views.get(self.current) if self.current in self.shown else None

    def _replace(self, view: Any, text: str) -> None:
        token = self.editor.begin_edit(view, "edit_in_terminal", None)
        self.editor.change(view, 0, len(view.text), text)
        self.editor.end_edit(view, token)

    def _question(self) -> Optional[Any]:
        window = self.editor.active_window
        return window.question if window is not None else None

    def _answer(self, question: Any, key: str) -> None:
        items = question.items or []
        chosen = int(key) - 1 if key.isdigit() and 0 < int(key) <= len(items) else -1
        self.editor.ui(self.editor.active_window.answer, chosen)

    def _look_at_panel(self) -> None:
        window = self.editor.active_window
        name = window.active_panel if window is not None else None
        panel = window.panel_named(name) if name else None
        text = panel.view.text.characters if panel is not None else ""
        if text != self.panel:
            self.panel = text
            for line in text.rstrip("\n").split("\n"):
                say("  " + line)

    def _look_at_messages(self) -> None:
        question = self._question()
        texts = [window.status_message for window in self.editor.windows] + [
            self.editor.status_message
        ]
        if question is not None and question.items:
            texts.append(
                "Choose by number: "
                + ", ".join(
                    "%d %s" % (number, " - ".join(question.rows(number - 1)))
                    for number in range(1, question.count() + 1)
                )
            )
        for text in texts:
            if text and text not in self.messages:
                say(text)
        self.messages = texts


def say(line: str) -> None:
    # In raw mode a line feed alone does not return the carriage.
    end = "\r\n" if sys.__stdout__ is not None and sys.__stdout__.isatty() else "\n"
    sys.stdout.write(line + end)
    sys.stdout.flush()


def edited(text: str, name: str) -> Optional[str]:
    """The text as the user's editor leaves it; None where the editor failed."""
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    folder = tempfile.mkdtemp(prefix="proposal-")
    path = os.path.join(folder, name)
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        if subprocess.call(command + [path]) != 0:
            say("%s failed; the proposal stays as it is." % command[0])
            return None
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except OSError as error:
        say("%s could not be started (%s); set EDITOR." % (command[0], error.strerror))
        return None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class LineKeys:
    """Keys from a pipe: the first character of each line."""

    def __call__(self, seconds: float) -> Optional[str]:
        if not select.select([sys.__stdin__], [], [], seconds)[0]:
            return None
        return self.line("")[:1] or " "

    def line(self, prompt: str) -> str:
        sys.stdout.write(prompt)
        sys.stdout.flush()
        text = sys.__stdin__.readline()  # type: ignore[union-attr]
        if not text:
            raise EOFError
        return text.strip()

    @contextmanager
    def paused(self) -> Iterator[None]:
        yield


class RawKeys(LineKeys):
    """Keys from a terminal, one by one and without an echo."""

    def __init__(self, descriptor: int, cooked: Any) -> None:
        self.descriptor = descriptor
        self.cooked = cooked

    def __call__(self, seconds: float) -> Optional[str]:
        if not select.select([self.descriptor], [], [], seconds)[0]:
            return None
        return os.read(self.descriptor, 64).decode("utf-8", "replace")[:1]

    def line(self, prompt: str) -> str:
        with self.paused():
            return super().line(prompt)

    @contextmanager
    def paused(self) -> Iterator[None]:
        import termios
        import tty

        termios.tcsetattr(self.descriptor, termios.TCSADRAIN, self.cooked)
        try:
            yield
        finally:
            tty.setraw(self.descriptor)


@contextmanager
def keys() -> Iterator[Any]:
    """Where keys come from: one by one from a terminal, else a line each."""
    stream = sys.__stdin__
    if stream is None or not stream.isatty():
        yield LineKeys()
        return
    import termios
    import tty

    descriptor = stream.fileno()
    cooked = termios.tcgetattr(descriptor)
    tty.setraw(descriptor)
    try:
        yield RawKeys(descriptor, cooked)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, cooked)
