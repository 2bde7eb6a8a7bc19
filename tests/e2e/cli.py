"""A real CLI in a pseudo-terminal, read as a person would read its screen.

cli = GeminiCli(home, folder, model.url, {"TMPDIR": ...})
cli.wait_connected()
cli.say("change a.py please")
cli.wait_for("Apply this change?")
cli.press("1")
cli.close()

Asked about an edit, a CLI offers 1 (allow once), 2 (allow for this session) and 3 or Escape (no).
Waits are in seconds; they raise TimeoutError, or Left, with what is on the screen.
"""

from __future__ import annotations

import fcntl
import glob
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from contextlib import suppress
from typing import Callable, Dict, Mapping, Sequence

import pyte
from model_server import NOTHING_PLANNED
from wcwidth import wcwidth

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "node_modules", ".bin")
BINARY = os.path.join(PROGRAMS, "gemini")
COLUMNS, LINES = 140, 50
# Seconds for what is sure to appear, on a busy machine.
PATIENCE = 240.0
SETTINGS = {
    "ide": {"enabled": True, "hasSeenNudge": True},
    "security": {
        "auth": {"selectedType": "gemini-api-key"},
        "folderTrust": {"enabled": False},
    },
    "ui": {"theme": "Default", "hideTips": True},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}
QWEN_SETTINGS = {
    "ide": {"enabled": True, "hasSeenNudge": True},
    "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
    # The one that it brings is no program before the package's install script has run.
    "tools": {"approvalMode": "default", "useRipgrep": False},
    # It would ask the model for what the user could say next.
    "ui": {"hideTips": True, "enableFollowupSuggestions": False},
    "general": {"enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
}
CLAUDE_SETTINGS = {"permissions": {"defaultMode": "default"}}
CLAUDE_KEY = "sk-ant-" + 40 * "0"
CLAUDE_STATE = {
    "hasCompletedOnboarding": True,
    "theme": "dark",
    "autoConnectIde": True,
    "hasIdeAutoConnectDialogBeenShown": True,
    "hasSeenAutoDefaultNudge": True,
    "customApiKeyResponses": {"approved": [CLAUDE_KEY[-20:]]},
}
# What Claude Code's input line says of the user's file, and its screen while it is at work: from
# 2.1.332 on the line with the dots is there sooner.
TOLD_BY_EDITOR = re.compile(" *\\[?\u29c9 [^\\]\n]*\\]?")
BUSY = re.compile("esc to interrupt|^[^\\s\u25cf\u276f] .+\u2026( \\(|$)", re.MULTILINE)
ALLOW, NO, ESCAPE, INTERRUPT = "1", "3", "\x1b", "\x03"
# Seconds without output. The CLI takes Enter within 30 ms of the key before for part of a paste;
# what it has drawn, it has read, so silence after the echo proves that they have passed.
QUIET = 0.05
# Seconds in which keys that were taken can be seen, and how often they are pressed.
TAKEN = 2.0
# Seconds after which a line that still stands in the input is taken for one that nobody sends.
STUCK = 10.0
# Seconds after which a CLI gives up connecting (docs/protocol.md 3.29), and a few more; and what an
# answer of its commands has: the sign before it, or a word on the connection.
CONNECTING = 65.0
ANSWER = re.compile("[\u2139\u2715\u26a0\u25cf]|onnect")
TRIES = 10
ERASE_LINE = "\x15"
ASKED = "/ide status"
# Is drawn when the CLI has initialized itself. Its input line stands there before; what is sent
# from there goes to the model as a prompt, also a command, and now and then without an end.
HEADER = "Gemini CLI v"
# Stands above the input line, and nowhere else at the beginning of a line.
RULE = "\n\u2500\u2500\u2500\u2500"
EMPTY_INPUT = "Type your message"
# What the CLI sends for colours: a third of all, and pyte reads it one character at a time.
RENDITION = re.compile(rb"\x1b\[[\d;:]*m")
# Stands there for three seconds after Ctrl+C.
LEAVES = "Press Ctrl+C again to exit"


def claude_program() -> str:
    """The newest Claude Code that the agents' packages bring for this system; empty if none is
    installed."""
    for folder in ("newest_agents", "agents"):
        place = os.path.join(HERE, folder, "node_modules", "@anthropic-ai")
        found = glob.glob(os.path.join(place, "claude-agent-sdk-*", "claude"))
        if found:
            return found[0]
    return ""


class Cells(Dict[str, pyte.screens.Char]):
    """Characters that take one cell, as they stand there; a KeyError for all others."""

    def __missing__(self, character: str) -> pyte.screens.Char:
        if wcwidth(character) != 1:
            raise KeyError(character)
        cell = self[character] = pyte.screens.Char(character)
        return cell


CELLS = Cells()
BLANK = CELLS[" "]


class Screen(pyte.Screen):  # type: ignore[misc]
    """pyte's screen without colours, which nobody looks at."""

    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        pass

    def draw(self, data: str) -> None:
        """The same in a tenth of the time for what fits into the rest of the row."""
        begin = self.cursor.x
        end = begin + len(data)
        try:
            if end > self.columns or pyte.modes.IRM in self.mode:
                raise KeyError(data)
            cells = [CELLS[character] for character in data]
        except KeyError:
            # Behind a character without a width pyte leaves out the rest.
            for character in data:
                super().draw(character)
            return
        self.buffer[self.cursor.y].update(zip(range(begin, end), cells))
        self.cursor.x = end

    def texts(self) -> list[str]:
        """Its `display`, in a tenth of the time: behind a wide character stands an empty cell."""
        cells = range(self.columns)
        rows = (self.buffer[y].get for y in range(self.lines))
        return ["".join([get(x, BLANK).data for x in cells]) for get in rows]


class Left(AssertionError):
    """The CLI has ended before it showed what was waited for."""


class GeminiCli:
    program = BINARY
    arguments: Sequence[str] = ()
    # Stands before what is typed.
    prompt = ">"
    # Pressed before what is typed.
    erasing = ERASE_LINE
    settings_folder = ".gemini"
    header = HEADER
    # None leaves the home as it is.
    settings: Mapping[str, object] | None = SETTINGS

    def __init__(self, home: str, folder: str, model_url: str, more: Mapping[str, str]) -> None:
        if self.settings is not None:
            os.makedirs(os.path.join(home, self.settings_folder), exist_ok=True)
            settings = os.path.join(home, self.settings_folder, "settings.json")
            with open(settings, "w", encoding="utf-8") as file:
                json.dump(self.settings, file)
        self._screen = Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self._screen)
        self._drawn = threading.Condition()
        # What is drawn, as text; None where that is out of date.
        self._text: str | None = None
        self._ended = False
        self._is_initialized = False
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            [self.program, *self.arguments],
            cwd=folder,
            env=self.environment(home, model_url, more),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def environment(self, home: str, model_url: str, more: Mapping[str, str]) -> dict[str, str]:
        return environment(home, model_url, more)

    def input_area(self, screen: str) -> str:
        return input_area(screen)

    @property
    def pid(self) -> int:
        """The process that was started; what it starts is the CLI."""
        return self._process.pid

    def screen(self) -> str:
        with self._drawn:
            if self._text is None:
                self._text = "\n".join(line.rstrip() for line in self._screen.texts())
            return self._text

    def title(self) -> str:
        """What it calls its terminal."""
        with self._drawn:
            return str(self._screen.title).strip()

    def wait_until(
        self, holds: Callable[[str], bool], what: str, timeout: float = PATIENCE
    ) -> None:
        """Wait until it holds for the screen. Raises TimeoutError, and Left where it never can."""
        with self._drawn:
            self._drawn.wait_for(lambda: holds(self.screen()) or self._ended, timeout)
            screen = self.screen()
            if not holds(screen):
                if self._ended:
                    raise Left(f"{what}: the CLI has left:\n{screen}")
                raise TimeoutError(f"{what}: not within {timeout} s:\n{screen}")

    def wait_for(self, *texts: str, timeout: float = PATIENCE) -> None:
        """Wait until all the texts are on the screen."""
        self.wait_until(lambda screen: all(text in screen for text in texts), str(texts), timeout)

    def wait_ready(self, timeout: float = PATIENCE) -> None:
        """Wait until nothing runs and the next prompt can be typed."""

        def is_ready(screen: str) -> bool:
            is_idle = self._is_empty(screen) and "esc to cancel" not in screen
            return is_idle and self._is_initialized

        end = time.monotonic() + timeout
        while time.monotonic() < end - STUCK:
            with suppress(TimeoutError):
                self.wait_until(is_ready, "waiting for a prompt", STUCK)
                return
            if "esc to cancel" not in self.screen():
                # A line that was completed, and not sent, stands there still.
                self.press(ERASE_LINE)
        self.wait_until(is_ready, "waiting for a prompt", STUCK)

    def is_connected(self) -> bool:
        return "Connected to Sublime Text" in self._status()

    def wait_connected(self) -> None:
        self.wait_status("Connected to Sublime Text")

    def wait_status(self, words: str) -> None:
        """Ask for the status until it has the words: the CLI connects in the background."""
        self.wait_ready()
        for _ in range(TRIES):
            if words in self._status():
                return
        raise TimeoutError(f"{words} is not in the status:\n{self.screen()}")

    def say_until(self, command: str, words: str, unknown: str = "") -> None:
        """Give a command that says how the connection is then, until it says these words. Raises
        LookupError where it says that it does not know the command, by the words `unknown`."""

        def is_said(screen: str) -> bool:
            return words in screen.rpartition(command)[2]

        def is_a_prompt(screen: str) -> bool:
            return NOTHING_PLANNED in screen.rpartition(command)[2]

        def is_answered(screen: str) -> bool:
            answer = screen.rpartition(command)[2]
            # That it is connecting is no answer yet.
            said = bool(ANSWER.search(answer)) and "Connecting" not in answer
            return said or is_a_prompt(screen)

        def is_unknown(screen: str) -> bool:
            return bool(unknown) and unknown in screen.rpartition(command)[2]

        def is_over(screen: str) -> bool:
            return is_said(screen) or is_a_prompt(screen) or is_unknown(screen)

        for _ in range(TRIES):
            self.say(command)
            with suppress(TimeoutError):
                self.wait_until(is_over, words, STUCK)
                if is_said(self.screen()):
                    return
            if is_unknown(self.screen()):
                raise LookupError(command)
            # A second `/ide enable` beside one that goes on connecting is a second connection, and
            # only that is closed by `/ide disable` (docs/protocol.md 3.26).
            with suppress(TimeoutError):
                self.wait_until(is_answered, "an answer", CONNECTING)
            if is_said(self.screen()):
                return
        raise TimeoutError(f"{command} does not lead to {words}:\n{self.screen()}")

    def _status(self) -> str:
        """What `/ide status` says; empty where it says nothing yet."""
        before = self.screen().count(ASKED)
        self.say(ASKED)

        def is_answered(screen: str) -> bool:
            return screen.count(ASKED) > before and "onnect" in screen.rpartition(ASKED)[2]

        with suppress(TimeoutError):
            self.wait_until(is_answered, "a status", TAKEN)
        return self.screen().rpartition(ASKED)[2]

    def say(self, text: str) -> None:
        """Type a line and send it; ends when the CLI has taken it."""
        self.wait_ready()
        typed = f"{self.prompt} {text}"
        self._insist(self.erasing + text, lambda screen: typed in self.input_area(screen))
        self._wait_quiet()
        self._insist("\r", lambda screen: typed not in self.input_area(screen))

    def _insist(self, keys: str, holds: Callable[[str], bool]) -> None:
        """Press keys until the screen shows that they were taken: the CLI drops those that come
        while it draws its input line anew, and a list of suggestions takes the first Enter. A
        screen that is half drawn shows anything, so that it has to hold for the whole one, too."""
        for _ in range(TRIES):
            self.press(keys)
            with suppress(TimeoutError):
                self.wait_until(holds, f"pressed {keys!r}", TAKEN)
                self._wait_quiet()
                if holds(self.screen()):
                    return
        raise TimeoutError(f"{keys!r} was not taken:\n{self.screen()}")

    def take_offers(self, *questions: str) -> None:
        """Take what it offers wherever it asks one of these, until it waits for a prompt. What it
        says in between may stand there too shortly to be seen, and it may start itself anew."""

        def asks(screen: str) -> bool:
            return any(question in screen for question in questions)

        def comes_on(screen: str) -> bool:
            return asks(screen) or self._is_empty(screen)

        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with suppress(TimeoutError):
                self.wait_until(comes_on, "an offer", STUCK)
            screen = self.screen()
            if self._is_empty(screen):
                self._wait_quiet()
                if self._is_empty(self.screen()):
                    return
            elif asks(screen):
                self.press("\r")
                self._wait_change(screen)
        raise TimeoutError(f"{questions} do not end:\n{self.screen()}")

    def _wait_change(self, before: str) -> None:
        """Until the screen is another one, as long as keys that were taken need at most."""
        with suppress(TimeoutError):
            self.wait_until(lambda screen: screen != before, "a change", TAKEN)

    def _is_empty(self, screen: str) -> bool:
        return EMPTY_INPUT in self.input_area(screen)

    def interrupt(self) -> None:
        """Press Ctrl+C; ends when pressing it again would not make the CLI leave."""
        self.press(INTERRUPT)
        with suppress(TimeoutError):
            self.wait_until(lambda screen: LEAVES in screen, LEAVES, STUCK)
        self.wait_until(lambda screen: LEAVES not in screen, f"no more {LEAVES}")

    def enter(self) -> None:
        """Send the line that stands there, even while the CLI is at work."""
        self._wait_quiet()
        self._insist("\r", self._is_empty)

    def clear(self, said: str) -> None:
        """Begin a new chat; `said` stands in the one that ends."""
        self.say("/clear")
        self.wait_until(lambda screen: said not in screen, "a new chat")

    def wait_answered(self, prompt: str) -> None:
        """Wait until the model's answer stands below the prompt, where no other was planned.

        The CLI drops a prompt that comes while it begins with another one, and its screen says only
        a little later that it is at work.
        """

        def is_answered(screen: str) -> bool:
            return prompt in screen and NOTHING_PLANNED in screen.rpartition(prompt)[2]

        self.wait_until(is_answered, f"the answer to {prompt!r}")

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def quit(self) -> int:
        """Leave as a user does; the exit status."""
        self.say("/quit")
        return self._process.wait(PATIENCE)

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """End it as a crash would."""
        if self.is_alive():
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        self.kill()
        self._reader.join(5)
        os.close(self._master)

    def _wait_quiet(self) -> None:
        with self._drawn:
            while self._drawn.wait(QUIET):
                pass

    def _read(self) -> None:
        while not self._ended:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # what Linux says when nobody has the terminal open any more
                data = b""
            with self._drawn:
                self._ended = not data
                self._stream.feed(RENDITION.sub(b"", data))
                self._text = None
                # The header leaves the screen later.
                self._is_initialized = self._is_initialized or self.header in self.screen()
                self._drawn.notify_all()


class Yolo(GeminiCli):
    """It asks nobody."""

    arguments = ("--yolo",)
    prompt = "*"


class QwenCode(GeminiCli):
    """The same screen with another rule below the input line. `model_url` is that of an
    `AnyModelServer`. Whether it is connected, the editor says sooner than its `/ide status`."""

    program = os.path.join(PROGRAMS, "qwen")
    settings_folder = ".qwen"
    header = ""
    settings = QWEN_SETTINGS

    def environment(self, home: str, model_url: str, more: Mapping[str, str]) -> dict[str, str]:
        """The Node that it needs stands beside it."""
        return {
            **environment(home, "", more),
            "PATH": os.pathsep.join([PROGRAMS, os.environ["PATH"]]),
            "OPENAI_BASE_URL": model_url,
            "OPENAI_API_KEY": "none",
            "OPENAI_MODEL": "local",
            # As for Gemini CLI.
            "QWEN_CODE_NO_RELAUNCH": "true",
        }

    def input_area(self, screen: str) -> str:
        """What stands between the two rules; nothing while a question hides them."""
        parts = screen.split(RULE)
        return parts[-2] if len(parts) > 2 else ""


class ClaudeCode(GeminiCli):
    """Claude Code as its agent's package brings it, in the mode in which it asks about each edit.
    `model_url` is that of an `AnyModelServer`. Asked about an edit, it offers 1 (yes), 3 (no) and
    Escape (no)."""

    program = claude_program()
    settings_folder = ".claude"
    settings: Mapping[str, object] | None = CLAUDE_SETTINGS
    header = "Claude Code"
    prompt = "\u276f"
    # Erasing in an empty line takes away what the editor has told.
    erasing = ""

    def __init__(self, home: str, folder: str, model_url: str, more: Mapping[str, str]) -> None:
        path = os.path.join(home, ".claude.json")
        if not os.path.exists(path):
            trusted = {folder: {"hasTrustDialogAccepted": True}}
            with open(path, "w", encoding="utf-8") as file:
                json.dump({**CLAUDE_STATE, "projects": trusted}, file)
        super().__init__(home, folder, model_url, more)

    def environment(self, home: str, model_url: str, more: Mapping[str, str]) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": model_url,
            "ANTHROPIC_API_KEY": CLAUDE_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            **more,
        }

    def input_area(self, screen: str) -> str:
        """What stands between the two rules, without what the editor has told; nothing while a
        question hides them."""
        parts = screen.split(RULE)
        typed = parts[-2] if len(parts) > 2 else ""
        return TOLD_BY_EDITOR.sub("", typed.replace("\xa0", " "))

    def answer(self, key: str) -> None:
        """Answer the question about an edit; ends when it has taken the key. The question about the
        edit of another file may be there at once."""
        begin = "Do you want to"
        asked = [line.strip() for line in self.screen().splitlines() if begin in line]
        question = asked[-1] if asked else begin
        self._insist(key, lambda screen: question not in screen)

    def told_by_editor(self) -> str:
        """What the input line says of the user's file; empty if it says nothing."""
        parts = self.screen().split(RULE)
        found = TOLD_BY_EDITOR.search(parts[-2].replace("\xa0", " ")) if len(parts) > 2 else None
        return found.group().strip() if found else ""

    def _is_empty(self, screen: str) -> bool:
        area = self.input_area(screen).partition(self.prompt)
        typed = area[2].strip()
        is_empty = bool(area[1]) and (not typed or typed.startswith('Try "'))
        return is_empty and not BUSY.search(screen)


def input_area(screen: str) -> str:
    """What stands below the rule above the input line; nothing while a question hides both."""
    return screen.rpartition(RULE)[2] if RULE in screen else ""


def environment(home: str, model_url: str, more: Mapping[str, str]) -> dict[str, str]:
    """Nothing of this machine but the path to Node, and where that keeps what it has compiled."""
    cache = os.environ.get("NODE_COMPILE_CACHE")
    return {
        **({"NODE_COMPILE_CACHE": cache} if cache else {}),
        "PATH": os.environ["PATH"],
        "HOME": home,
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "GOOGLE_GEMINI_BASE_URL": model_url,
        "GEMINI_API_KEY": "none",
        # A machine with /.dockerenv would make the CLI look for host.docker.internal.
        "SSH_CONNECTION": "127.0.0.1 1 127.0.0.1 2",
        "NO_PROXY": "127.0.0.1",
        # It is one process, not two: the second, which has more memory, takes as long to start.
        "GEMINI_CLI_NO_RELAUNCH": "true",
        **more,
    }
