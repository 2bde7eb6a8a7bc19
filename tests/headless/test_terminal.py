"""The interactive front with the package and a CLI, as a person without Sublime Text meets it."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import unittest
from contextlib import suppress
from typing import Any
from unittest import mock

import pyte

from headless import data_folders, proposals, terminal

from ..fake_cli import FakeCli
from ..support import wait_for

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Terminal(unittest.TestCase):
    """The front with a CLI, by pipes."""

    def setUp(self) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        for name in ("work", "tmp", "data"):
            os.mkdir(os.path.join(self.root, name))
        self.path = os.path.join(self.root, "work", "a.py")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("old\n")
        self.editor: subprocess.Popen[bytes] | None = None
        self.folders = [os.path.join(self.root, "work")]
        self.start()
        self.addCleanup(self.quit)

    def start(self, **environment: str) -> None:
        self.output = open(os.path.join(self.root, "output"), "wb+")
        self.addCleanup(self.output.close)
        self.editor = subprocess.Popen(
            [sys.executable, "-m", "headless", *self.arguments()],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": os.path.join(self.root, "tmp"), **environment},
            stdin=subprocess.PIPE,
            stdout=self.output,
            stderr=subprocess.STDOUT,
        )
        self.wait_until_it_runs()

    def arguments(self) -> list[str]:
        return [*self.folders, "--data", os.path.join(self.root, "data")]

    def wait_until_it_runs(self) -> None:
        words = "In another terminal" if self.folders else "no folder open"
        wait_for(lambda: self.discovery_files() and words in self.said())

    def quit(self) -> None:
        if self.editor is not None and self.editor.poll() is None:
            self.press("q")
            self.assertEqual(self.editor.wait(20), 0)
        if self.editor is not None and self.editor.stdin is not None:
            self.editor.stdin.close()

    def press(self, keys: str) -> None:
        if self.editor is not None and self.editor.stdin is not None:
            self.editor.stdin.write(keys.encode() + b"\n")
            self.editor.stdin.flush()

    def said(self) -> str:
        with open(self.output.name, encoding="utf-8") as file:
            return file.read()

    def discovery_files(self) -> list[str]:
        folder = os.path.join(self.root, "tmp", "gemini", "ide")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return [os.path.join(folder, name) for name in names if name.endswith(".json")]

    def connect(self) -> FakeCli:
        with open(self.discovery_files()[0], encoding="utf-8") as file:
            content = json.load(file)
        cli = FakeCli(
            {
                "GEMINI_CLI_IDE_SERVER_PORT": content["port"],
                "GEMINI_CLI_IDE_AUTH_TOKEN": content["authToken"],
            }
        )
        self.addCleanup(cli.close)
        wait_for(cli.connected)
        return cli

    def propose(self, cli: FakeCli, text: str) -> None:
        before, picture = self.said(), f"Proposed: {self.path}"
        answer = cli.call("openDiff", filePath=self.path, newContent=text).result(20)
        self.assertEqual(answer, {"content": []})
        # The keys stand below the picture.
        wait_for(lambda: "[a]ccept" in self.said_since(before).partition(picture)[2])

    def decision(self, cli: FakeCli, method: str) -> dict[str, Any]:
        wait_for(lambda: cli.received(method))
        return cli.received(method)[0]

    def rows(self, count: int, **changed: str) -> str:
        """Numbered lines, those named `_<number>` with another text."""
        return "".join(changed.get(f"_{at}", f"row {at}") + "\n" for at in range(1, count + 1))

    def write(self, text: str) -> None:
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def said_since(self, before: str) -> str:
        return self.said()[len(before) :]

    def press_and_see(self, keys: str, *texts: str) -> None:
        """Press, and wait until all of these stand in what is new since then."""
        before = self.said()
        self.press(keys)
        wait_for(lambda: all(text in self.said_since(before) for text in texts))


class Saying(unittest.TestCase):
    def test_equal_lines_are_all_said_but_what_the_status_bar_says_and_the_log_has(self) -> None:
        front = terminal.Front(mock.Mock(clipboard=""), mock.Mock())
        front.say_lines("{\n}\n}\n\n\nend")
        self.assertEqual(front.messages, ["{", "}", "}", "", "", "end"])
        front.message = "Accepted: a.py"
        front.hear("Accepted: a.py\nanother")
        self.assertEqual(front.messages[-2:], ["end", "another"])

    def test_in_a_container_the_cli_is_told_that_the_editor_is_there_too(self) -> None:
        for marks, command in ((("/",), "REMOTE_CONTAINERS=1 gemini"), ((), "gemini")):
            with mock.patch.object(terminal, "CONTAINER_MARKS", marks):
                self.assertEqual(terminal.gemini(), command)

    def test_the_tab_of_a_decided_diff_is_said_to_stay_only_where_it_does(self) -> None:
        front = terminal.Front(mock.Mock(clipboard=""), mock.Mock())
        view = mock.Mock(closed=False, settings={proposals.RECORD: {"id": "1"}})
        front.editor.views, front.paths, front.decided = {1: view}, {1: "/a.py"}, {1: "Accepted"}
        front.say_decided([])
        self.assertEqual(front.messages, [])
        view.closed = True
        front.say_decided([])
        self.assertEqual(front.messages, ["Accepted: /a.py"])
        view.closed, view.settings, front.paths = False, {}, {1: "/a.py"}
        view.title.return_value = "a.py (rejected, your edits)"
        front.say_decided([])
        self.assertEqual(
            front.messages[-1], "Its text stays as the tab a.py (rejected, your edits)."
        )


class Front(Terminal):
    def test_a_new_user_is_told_what_is_missing_and_enables_the_cli_by_a_key(self) -> None:
        self.quit()
        home = os.path.join(self.root, "home")
        os.mkdir(home)
        self.start(HOME=home, PATH=os.path.join(self.root, "none"), GEMINI_API_KEY="")
        for words in ("Gemini CLI was not found.", "ide.enabled is not set", "is connected"):
            wait_for(lambda: words in " ".join(self.said().split()))  # noqa: B023
        self.assertNotIn("padding", self.said())
        self.assertIn("answer No (esc)", self.said())
        wait_for(lambda: "] Enable" in self.said())
        self.press(self.said().partition("] Enable")[0][-1])
        wait_for(lambda: "Write it" in self.said())
        self.press("1")
        settings = os.path.join(home, ".gemini", "settings.json")
        wait_for(lambda: os.path.exists(settings))

    def test_without_a_folder_a_key_asks_for_one_and_it_goes_on(self) -> None:
        self.quit()
        # Else the window of before would come back.
        shutil.rmtree(os.path.join(self.root, "data"))
        self.folders = []
        self.start()
        self.press_and_see("f\nnot-there", "There is no folder not-there.")
        folder = os.path.join(self.root, "work")
        self.press_and_see(
            "f\n" + folder, f"The editor runs on {folder}.", f"cd {folder} && {terminal.gemini()}"
        )
        wait_for(lambda: self.connect_to_folder(folder))

    def connect_to_folder(self, folder: str) -> bool:
        """Whether CLIs are told of it."""
        with open(self.discovery_files()[0], encoding="utf-8") as file:
            return bool(json.load(file)["workspacePath"] == folder)

    def test_every_command_of_the_palette_is_chosen_by_words_of_its_caption(self) -> None:
        before = self.said()
        self.press(":\nshow log")
        # At its start it removes what other tests' editors left in the folder of all users.
        logs = ("Nothing has happened so far", "removed the discovery file")
        wait_for(lambda: any(text in self.said_since(before) for text in logs))
        self.press_and_see(":\nsharing", "Sharing is paused")
        self.press_and_see(":\nSHOW gemini", "> 1  Gemini Companion: Show Diffs")
        self.press_and_see("1", "No proposed edit waits for you.")
        user = os.path.join("User", "GeminiCompanion.sublime-settings")
        self.press_and_see(":\ncompanion: settings", user, "GeminiCompanion.sublime-settings")
        # It goes on in the window of the project.
        self.press_and_see("s", "Folders: " + self.folders[0])
        self.press_and_see(":\nno such", "No command that can be run now has these words.")

    def test_a_proposal_is_shown_side_by_side_and_a_key_accepts_it(self) -> None:
        cli = self.connect()
        self.propose(cli, "new\n")
        self.assertRegex(self.said(), r"1 - old +\| +1 \+ new")
        self.press("a")
        decision = self.decision(cli, "ide/diffAccepted")
        self.assertEqual(decision, {"filePath": self.path, "content": "new\n"})
        wait_for(lambda: f"Accepted: {self.path}" in self.said())

    def test_above_the_texts_stands_what_the_tabs_say_of_the_file(self) -> None:
        with open(self.path, "wb") as file:
            file.write("\ufeffold\r\n".encode())
        cli = self.connect()
        self.propose(cli, "\ufeffnew\n")
        self.assertRegex(self.said(), r"\na\.py \(on disk, BOM, CRLF\) +\| a\.py \(proposed\)\n")
        self.press_and_see("r", f"Rejected: {self.path}")
        self.path = os.path.join(self.root, "work", "new.py")
        self.propose(cli, "new\n")
        self.assertRegex(self.said(), r"\nnew\.py \(new file.*\) +\| new\.py \(proposed\)\n")

    def test_a_key_rejects_it(self) -> None:
        cli = self.connect()
        self.propose(cli, "new\n")
        self.press("r")
        self.assertEqual(self.decision(cli, "ide/diffRejected"), {"filePath": self.path})

    def test_a_key_opens_it_in_the_users_editor_first(self) -> None:
        self.quit()
        program = "import sys; open(sys.argv[1], 'a').write('mine')"
        self.start(EDITOR=f'{sys.executable} -c "{program}"', VISUAL="")
        cli = self.connect()
        self.propose(cli, "new\n")
        self.press("e")
        wait_for(lambda: "+ mine" in self.said())
        self.press("a")
        self.assertEqual(self.decision(cli, "ide/diffAccepted")["content"], "new\nmine")

    def test_an_opened_file_is_told_to_the_cli(self) -> None:
        cli = self.connect()
        self.press("o\na.py")
        wait_for(lambda: [file["path"] for file in cli.context()] == [self.path])

    def test_a_proposal_is_there_again_after_a_restart_and_its_cli_gets_the_decision(self) -> None:
        cli = self.connect()
        self.propose(cli, "new\n")
        self.quit()
        self.assertEqual(self.discovery_files(), [])
        wait_for(cli.stream_ended.is_set)
        self.assertIsNone(cli.stream_error)
        self.start()
        wait_for(lambda: f"Proposed: {self.path}" in self.said())
        cli.resume()
        wait_for(cli.connected)
        self.press("a")
        self.assertEqual(self.decision(cli, "ide/diffAccepted")["content"], "new\n")
        self.assertEqual(cli.received("ide/diffRejected"), [])

    def test_a_change_far_down_is_before_the_eyes_on_both_sides(self) -> None:
        self.write(self.rows(1449))
        self.propose(self.connect(), self.rows(1449, _1400="another"))
        self.assertRegex(self.said(), r"1400 - row 1400 +\| 1400 \+ another")
        self.assertNotIn("row 1 ", self.said())
        wait_for(lambda: "change 1 of 1" in self.said())

    def test_what_nobody_would_see_in_a_proposal_is_spelled_out(self) -> None:
        self.propose(self.connect(), "if is\u202e_admin\u3164:\n\tgo\x1b[8m\n")
        self.assertRegex(self.said(), r"\+ if is<U\+202E>_admin<U\+3164>:")
        self.assertRegex(self.said(), r"\+     go<U\+001B>\[8m")

    def test_a_line_that_is_cut_says_how_much_of_it_is_missing(self) -> None:
        self.propose(self.connect(), "x" * 490 + "rm -r /\n" + "\u3164" * 500 + "\nshort\n")
        lines = self.said().split("\n")
        cut = next(line for line in lines if " + x" in line).rstrip()
        shown, _, missing = cut.partition(" + ")[2].partition("…+")
        self.assertEqual(len(shown) + int(missing), 497)
        blank = next(line for line in lines if "<U+3164" in line)
        shown, _, missing = blank.partition("×")[2].partition(">…+")
        self.assertEqual(int(shown) + int(missing), 500)
        self.assertTrue(next(line for line in lines if "short" in line).endswith("short"))

    def test_of_a_line_changed_far_to_the_right_it_is_said_how_much_stands_before(self) -> None:
        self.write("y" * 300 + " old " + "z" * 300 + "\nshort\n")
        self.propose(self.connect(), "y" * 300 + " new " + "z" * 300 + "\nbrief\n")
        wait_for(lambda: "…yy" in self.said() and " new " in self.said())
        line = next(line for line in self.said().split("\n") if " new " in line)
        before, shown, missing = re.findall(r"\+ (\d+)\+…(y+ new z+)…\+(\d+)", line)[0]
        self.assertEqual(int(before) + len(shown) + int(missing), 605)
        self.assertIn("+ brief", self.said())

    def test_of_a_large_file_the_lines_have_their_own_numbers(self) -> None:
        text = "row of a large file\n" * 150_000
        self.write(text[: len(text) // 2] + "old\n" + text[len(text) // 2 :])
        changed = text[: len(text) // 2] + "new\nmore\n" + text[len(text) // 2 :]
        self.propose(self.connect(), changed)
        wait_for(lambda: "75001 - old" in self.said())
        self.assertRegex(self.said(), r"75001 - old +\| 75001 \+ new")
        self.assertRegex(
            self.said(), r"75002   row of a large file +\| 75003   row of a large file"
        )

    def test_keys_go_from_change_to_change_and_drop_one_of_them(self) -> None:
        self.write(self.rows(300))
        cli = self.connect()
        self.propose(cli, self.rows(300, _50="fifty", _150="more", _250="last"))
        self.press_and_see("n", "change 2 of 3", "150 + more")
        self.press_and_see("n", "change 3 of 3", "250 + last")
        self.press_and_see("p", "change 2 of 3", "150 + more")
        self.press_and_see("d", "+2 -2, ")
        self.press("a")
        content = self.decision(cli, "ide/diffAccepted")["content"]
        self.assertEqual(content, self.rows(300, _50="fifty", _250="last"))

    def test_a_change_that_is_wanted_counts_as_seen(self) -> None:
        self.propose(self.connect(), "new\n")
        wait_for(lambda: "0 of" in self.said())
        self.press_and_see("k", "1 of 1 seen", "[1 of 1 seen]")

    def test_a_dropped_change_comes_back_by_undo(self) -> None:
        self.write(self.rows(9))
        self.propose(self.connect(), self.rows(9, _2="two", _8="eight"))
        self.press_and_see("d", "+1 -1, ")
        self.press_and_see("u", "+2 -2, ")

    def test_it_is_said_which_way_a_diff_was_decided(self) -> None:
        cli = self.connect()
        self.propose(cli, "new\n")
        self.press_and_see("r", f"Rejected: {self.path}")
        self.assertNotIn("Accepted", self.said())
        self.propose(cli, "newer\n")
        wait_for(lambda: "+ newer" in self.said())
        cli.call("closeDiff", filePath=self.path).result(20)
        wait_for(lambda: "Closed by its CLI (decided in the terminal" in self.said())

    def test_a_note_goes_with_the_rejection(self) -> None:
        cli = self.connect()
        self.propose(cli, "new\n")
        self.press_and_see("R\ntoo short", f"Rejected: {self.path}", "On the clipboard:\ntoo short")
        self.assertEqual(self.decision(cli, "ide/diffRejected"), {"filePath": self.path})

    def test_a_comment_stands_beside_its_line_and_can_be_read_when_it_is_copied(self) -> None:
        self.propose(self.connect(), "new\n")
        wait_for(lambda: "0 of" in self.said())
        self.press_and_see("c\nwhy?", "1 + new", "[1 of 1] [why?]")
        self.press_and_see("r", "On the clipboard:\n@a.py#L1: why?")

    def test_an_accepted_edit_is_shown_as_a_difference(self) -> None:
        cli = self.connect()
        self.propose(cli, "new\n")
        self.press_and_see("a", f"Accepted: {self.path}")
        self.press_and_see("h", "> 1  a.py")
        self.press_and_see("1", "> 1  Show it")
        self.press_and_see("1", "a.py (accepted edit)", "-old\n+new\n")

    def test_one_of_the_waiting_diffs_is_chosen_in_a_list(self) -> None:
        cli = self.connect()
        self.propose(cli, "new\n")
        other = os.path.join(os.path.dirname(self.path), "b.py")
        cli.call("openDiff", filePath=other, newContent="b\n").result(20)
        wait_for(lambda: "(1 more waiting: w)" in self.said())
        self.press_and_see("w", "> 1  a.py", "2  b.py")
        self.press_and_see("2", f"Proposed: {other}")
        self.press_and_see("A", f"Accepted: {other}", f"Proposed: {self.path}")
        self.assertEqual(self.decision(cli, "ide/diffAccepted")["filePath"], other)

    def test_what_speaks_against_accepting_is_asked_in_words(self) -> None:
        cli = self.connect()
        self.propose(cli, "new\n")
        self.write("changed meanwhile\n")
        self.press_and_see("a", "2  Accept all the same - Gemini CLI writes the text")
        self.assertNotIn("['", self.said())
        self.press("4")
        self.press_and_see("r", f"Rejected: {self.path}")
        self.assertNotIn(f"Accepted: {self.path}", self.said())

    def test_while_a_diff_waits_pages_are_shown_and_the_palette_decides(self) -> None:
        cli = self.connect()
        self.propose(cli, "new\n")
        self.press_and_see(":\naccept diff", f"Accepted: {self.path}")
        self.assertEqual(self.decision(cli, "ide/diffAccepted")["content"], "new\n")
        self.propose(cli, "newer\n")
        self.press_and_see(":\ndoctor", "Look Again", "Gemini Companion: Doctor")
        self.press_and_see("r", f"Rejected: {self.path}")

    def test_the_status_is_told_as_it_is_now_and_once(self) -> None:
        self.press_and_see("s", "Gemini CLI: not connected")
        before = self.said()
        self.connect()
        self.press_and_see("s", "Connected: Gemini CLI")
        self.assertEqual(self.said_since(before).count("Connected: "), 1)


class Crashed(Terminal):
    """An editor that was told of no data folder, as `make run` starts it, and is killed."""

    def arguments(self) -> list[str]:
        return self.folders

    def start(self, **environment: str) -> None:
        super().start(XDG_CACHE_HOME=os.path.join(self.root, "cache"), **environment)

    def kill(self) -> None:
        """The host goes with the editor, and so does its lock; its discovery file stays."""
        self.editor.kill()
        self.editor.wait(20)
        self.editor.stdin.close()
        root = os.path.join(self.root, "cache", data_folders.NAME)
        folder = os.path.join(root, os.listdir(root)[0])
        wait_for(lambda: self.is_free(folder))

    def is_free(self, folder: str) -> bool:
        descriptor = data_folders._lock(folder)
        if descriptor is not None:
            os.close(descriptor)
        return descriptor is not None

    def test_the_next_one_on_the_folder_has_the_proposal_and_what_was_open(self) -> None:
        self.press_and_see("o\na.py", "Opened")
        cli = self.connect()
        self.propose(cli, "new\n")
        root = os.path.join(self.root, "cache")
        wait_for(lambda: self.is_saved(root, "Session.sublime_session", self.path, "new\\n"))
        left = set(self.discovery_files())
        self.kill()
        self.start()
        wait_for(lambda: f"Proposed: {self.path}" in self.said())
        wait_for(lambda: set(self.discovery_files()) - left)
        wait_for(lambda: not left & set(self.discovery_files()))
        self.assertNotIn("Two minutes", self.said())
        cli = self.connect()
        wait_for(lambda: [file["path"] for file in cli.context()] == [self.path])
        self.press_and_see("a", f"Accepted: {self.path}")
        self.assertEqual(self.decision(cli, "ide/diffAccepted")["content"], "new\n")
        self.assertEqual([it for it in os.listdir(self.tmp()) if it.startswith("headless-")], [])

    def tmp(self) -> str:
        return os.path.join(self.root, "tmp")

    def is_saved(self, root: str, name: str, *texts: str) -> bool:
        for folder, _folders, names in os.walk(root):
            if name in names:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    content = file.read()
                return all(text in content for text in texts)
        return False


class Drawn(Terminal):
    """The same at a terminal, whose screen is read."""

    def start(self, **environment: str) -> None:
        self.screen = pyte.Screen(100, 30)
        self.stream = pyte.ByteStream(self.screen)
        self.lock = threading.Lock()
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.editor = subprocess.Popen(
            [sys.executable, "-m", "headless", *self.arguments()],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": os.path.join(self.root, "tmp"), **environment},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.wait_until_it_runs()

    def read(self) -> None:
        with suppress(OSError):  # what Linux says when nobody has the terminal open any more
            while True:
                data = os.read(self.master, 65536)
                with self.lock:
                    self.stream.feed(data)

    def said(self) -> str:
        with self.lock:
            return "\n".join(line.rstrip() for line in self.screen.display)

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def quit(self) -> None:
        if self.editor is not None and self.editor.poll() is None:
            self.press("\x03")
            self.assertEqual(self.editor.wait(20), 0)
            self.reader.join(5)
            os.close(self.master)

    def test_a_review_is_drawn_in_one_place(self) -> None:
        self.write(self.rows(1449))
        cli = self.connect()
        text = self.rows(1449, _700="another", _1400="one more")
        cli.call("openDiff", filePath=self.path, newContent=text).result(20)
        wait_for(lambda: "change 1 of 2" in self.said() and "0 of" in self.said())
        self.assertRegex(self.said(), r"700 - row 700 +\| +700 \+ another")
        self.press("n")
        wait_for(lambda: "change 2 of 2" in self.said())
        self.assertRegex(self.said(), r"1400 - row 1400 +\| 1400 \+ one more")
        self.assertNotIn("row 700", self.said())
        self.press("dk")
        wait_for(lambda: "+1 -1, " in self.said())
        self.assertEqual(self.said().count("Proposed: "), 1)
        self.press("a")
        wait_for(lambda: f"Accepted: {self.path}" in self.said())
        self.assertNotIn("Proposed: ", self.said())
        content = self.decision(cli, "ide/diffAccepted")["content"]
        self.assertEqual(content, self.rows(1449, _700="another"))

    def test_a_long_page_is_scrolled_and_a_long_list_follows_its_bar(self) -> None:
        # The whole log, of whatever length, and the palette are longer than this terminal.
        with self.lock:
            self.screen.resize(12, 100)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 100, 0, 0))
        wait_for(lambda: "-- lines 1 to " in self.said())
        first = self.said()
        self.press(" ")
        wait_for(lambda: "-- lines 1 to " not in self.said() and "-- lines " in self.said())
        self.assertNotEqual(self.said().split("\n")[0], first.split("\n")[0])
        self.press("b")
        wait_for(lambda: "-- lines 1 to " in self.said())
        self.press("\x1b[B")
        wait_for(lambda: "-- lines 2 to " in self.said())
        self.press("\x1b")
        wait_for(lambda: "-- lines" not in self.said())
        self.press(":\r")
        wait_for(lambda: "> 1  Gemini Companion:" in self.said())
        self.press("\x1b[A")
        wait_for(lambda: "Gemini Companion: Key Bindings" in self.said())
        self.assertRegex(self.said(), r"> \d+  Gemini Companion: Key Bindings")
        self.press("\x1b")

    def test_escape_closes_the_panel_then_the_text_that_is_there_to_be_looked_at(self) -> None:
        self.press("\x1b")
        wait_for(lambda: "Two minutes" not in self.said())
        cli = self.connect()
        cli.call("openDiff", filePath=self.path, newContent="new\n").result(20)
        wait_for(lambda: "0 of" in self.said())
        self.press("a")
        wait_for(lambda: f"Accepted: {self.path}" in self.said())
        self.press("h")
        wait_for(lambda: "> 1  a.py" in self.said())
        self.press("1")
        wait_for(lambda: "> 1  Show it" in self.said())
        self.press("1")
        wait_for(lambda: "a.py (accepted edit)" in self.said())
        self.press("s")
        wait_for(lambda: "Connected: Gemini CLI" in self.said())
        self.press("\x1b")
        wait_for(lambda: "a.py (accepted edit)" in self.said())
        self.assertNotIn("Connected: Gemini CLI", self.said())
        self.press("\x1b")
        wait_for(lambda: "a.py (accepted edit)" not in self.said())

    def test_in_a_narrow_terminal_the_keys_stand_in_more_lines(self) -> None:
        self.connect().call("openDiff", filePath=self.path, newContent="new\n").result(20)
        wait_for(lambda: "re[l]ease" in self.said())
        with self.lock:
            self.screen.resize(30, 40)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 40, 0, 0))
        words = ("[n]ext", "[e]dit first", "[R]eject with note", "re[l]ease", "[q]uit", "+ new")
        wait_for(lambda: all(word in self.said() for word in words))

    def test_a_note_is_typed_below_and_escape_takes_the_rejection_back(self) -> None:
        cli = self.connect()
        cli.call("openDiff", filePath=self.path, newContent="new\n").result(20)
        wait_for(lambda: "0 of" in self.said())
        self.press("Rtoo")
        wait_for(lambda: "of the CLI: too" in self.said())
        self.press("\x1b")
        wait_for(lambda: "of the CLI: too" not in self.said())
        self.press("Rtoo short\x7f\r")
        wait_for(lambda: f"Rejected: {self.path}" in self.said())
        self.assertEqual(self.decision(cli, "ide/diffRejected"), {"filePath": self.path})

    def test_arrows_and_enter_choose_in_a_list(self) -> None:
        cli = self.connect()
        for name in ("a.py", "b.py"):
            path = os.path.join(self.root, "work", name)
            cli.call("openDiff", filePath=path, newContent="new\n").result(20)
        wait_for(lambda: "(1 more waiting: w)" in self.said())
        self.press("w")
        wait_for(lambda: "> 1  a.py" in self.said())
        self.press("\x1b[B")
        wait_for(lambda: "> 2  b.py" in self.said())
        self.press("\r")
        wait_for(lambda: "b.py   (1 more" in self.said() and "> 2" not in self.said())
