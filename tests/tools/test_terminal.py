"""The interactive front with the package and a CLI, as a person without Sublime Text meets it."""

from __future__ import annotations

import fcntl
import glob
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest
from contextlib import suppress
from typing import Any
from unittest import mock

import pyte
from GeminiCompanion.companion.ide import saved_state, state_file
from GeminiCompanion.companion.ide.decisions import OPEN, TOLD, Entry
from GeminiCompanion.tools.terminal import (
    decisions,
    frames,
    front,
    hints,
    link_lists,
    messages,
    panel,
    proposals,
    questions,
    review_keys,
    shown_editor,
    sides,
    tabs,
    terminal,
    text_links,
    welcome,
)

from headless import clicks, data_folders
from headless.tests.engine import PATIENCE, EngineTestCase, wait_until

from ..fake_cli import FakeCli
from ..support import wait_for

# An editor that puts a line before the text, with the line that it was asked to show, and changes
# the line that has a comment.
EDITOR_PROGRAM = """
import sys
with open(sys.argv[2]) as file:
    text = file.read()
with open(sys.argv[2], "w") as file:
    file.write("mine %s\\n%s" % (sys.argv[1], text.replace("said", "said more")))
"""
# An agent whose command hides its last line below fifty others, and who waits while the folder has
# a file of this name.
AGENT_PROGRAM = """
import json
import os
import sys
import time

def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

LINES = ["start", *("harmless %d." % at for at in range(50)), "rm -r everything"]
CALL = {"toolCallId": "1", "title": "start", "kind": "execute", "status": "pending",
        "rawInput": {"command": "\\n".join(LINES)}}
OPTIONS = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"},
           {"optionId": "no", "name": "Reject", "kind": "reject_once"}]
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        send({"id": id, "result": {"protocolVersion": 1, "agentCapabilities": {}}})
    elif method == "session/new":
        send({"id": id, "result": {"sessionId": "s"}})
    elif method == "session/prompt":
        prompt = id
        while os.path.exists("hold"):
            time.sleep(0.01)
        update = {"sessionUpdate": "tool_call", **CALL}
        send({"method": "session/update", "params": {"sessionId": "s", "update": update}})
        asked = {"sessionId": "s", "toolCall": CALL, "options": OPTIONS}
        send({"id": 900, "method": "session/request_permission", "params": asked})
    elif id == 900:
        send({"id": prompt, "result": {"stopReason": "end_turn"}})
    elif method and id is not None:
        send({"id": id, "error": {"code": -32601, "message": "none"}})
"""
# Seconds, more than those for which a diff has to be in sight before it is decided on.
LONG_ENOUGH = 0.6
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Editor:
    """A front of its own, by pipes, on the folder `work` in `root`."""

    words = "The editor runs on"

    def __init__(self, root: str, *arguments: str) -> None:
        self.root = root
        for name in ("work", "tmp", "data"):
            os.mkdir(os.path.join(root, name))
        self.folders = [os.path.join(root, "work")]
        self.arguments = arguments or ("--data", os.path.join(root, "data"))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, **variables: str) -> None:
        self.path = os.path.join(self.root, "output")
        with open(self.path, "wb") as output:
            self.spawn(variables, stdin=subprocess.PIPE, stdout=output, stderr=output)
        self.wait_until_it_runs()

    def spawn(self, variables: dict[str, str], **more: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headless", *self.folders, *self.arguments],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": os.path.join(self.root, "tmp"), **variables},
            **more,
        )

    def wait_until_it_runs(self) -> None:
        words = self.words if self.folders else "no folder open"
        wait_for(lambda: self.discovery_files() and words in self.said())

    def quit(self) -> None:
        """Where it runs; its status has to be 0."""
        if self.process is not None and self.process.poll() is None:
            self.press("q")
            assert self.process.wait(PATIENCE) == 0
            self.close()

    def close(self) -> None:
        self.process.stdin.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        self.close()

    def press(self, keys: str) -> None:
        self.process.stdin.write(keys.encode() + b"\n")
        self.process.stdin.flush()

    def said(self) -> str:
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def since(self, before: str) -> str:
        """What is new."""
        return self.said()[len(before) :]

    def discovery_files(self) -> list[str]:
        folder = os.path.join(self.root, "tmp", "gemini", "ide")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return [os.path.join(folder, name) for name in names if name.endswith(".json")]

    def discovered(self) -> dict[str, Any]:
        with open(self.discovery_files()[0], encoding="utf-8") as file:
            return dict(json.load(file))


class AtTerminal(Editor):
    """The same at a terminal, whose screen is read."""

    def start(self, **variables: str) -> None:
        self.screen = pyte.Screen(100, 30)
        self.stream = pyte.ByteStream(self.screen)
        self.lock = threading.Lock()
        # All that was ever on the screen.
        self.pictures: list[str] = []
        self.master, slave = pty.openpty()
        self.resize(30, 100)
        self.spawn(variables, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.wait_until_it_runs()

    def resize(self, rows: int, columns: int) -> None:
        with self.lock:
            self.screen.resize(rows, columns)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self) -> None:
        with suppress(OSError):  # what Linux says when nobody has the terminal open any more
            while True:
                data = os.read(self.master, 65536)
                with self.lock:
                    self.stream.feed(data)
                    self.pictures.append("\n".join(self.screen.display))

    def said(self) -> str:
        with self.lock:
            return "\n".join(line.rstrip() for line in self.screen.display)

    def since(self, before: str) -> str:
        return self.said()

    def press(self, keys: str) -> None:
        os.write(self.master, ("\x03" if keys == "q" else keys).encode())

    def close(self) -> None:
        self.reader.join(PATIENCE)
        os.close(self.master)


def rows(count: int, **changed: str) -> str:
    """Numbered lines, those named `_<number>` with another text."""
    return "".join(changed.get(f"_{at}", f"row {at}") + "\n" for at in range(1, count + 1))


class Terminal(unittest.TestCase):
    """Front and CLI. One editor serves all tests of a class; each has a folder of its own, and
    hears what is said after it began, the end of what the one before did included."""

    kind = Editor
    editor: Editor

    @classmethod
    def setUpClass(cls) -> None:
        root = os.path.realpath(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, root)
        cls.editor = cls.kind(root)
        cls.addClassCleanup(cls.editor.quit)
        cls.editor.start()

    def setUp(self) -> None:
        self.before = self.editor.said()
        self.folder = tempfile.mkdtemp(dir=os.path.join(self.editor.root, "work"))
        self.path = os.path.join(self.folder, "a.py")
        self.write("old\n")

    def write(self, text: str) -> None:
        with open(self.path, "wb") as file:
            file.write(text.encode())

    def connect(self) -> FakeCli:
        content = self.editor.discovered()
        variables = {
            "GEMINI_CLI_IDE_SERVER_PORT": content["port"],
            "GEMINI_CLI_IDE_AUTH_TOKEN": content["authToken"],
        }
        cli = FakeCli(variables, folder=self.folder)
        self.addCleanup(cli.close)
        wait_for(cli.connected)
        return cli

    def open_diff(self, cli: FakeCli, text: str, path: str = "") -> None:
        answer = cli.call("openDiff", filePath=path or self.path, newContent=text).result(PATIENCE)
        self.assertEqual(answer, {"content": []})
        self.addCleanup(self.withdraw, cli, path or self.path)

    def withdraw(self, cli: FakeCli, path: str) -> None:
        """The next test has this editor, too."""
        cli.call("closeDiff", filePath=path).result(PATIENCE)

    def propose(self, text: str, cli: FakeCli | None = None) -> FakeCli:
        """By a CLI, which connects for it where none is given."""
        cli = cli or self.connect()
        before, picture = self.editor.said(), f"Proposed: {self.path}"
        self.open_diff(cli, text)
        # The keys stand below the picture.
        wait_for(lambda: "[a]ccept" in self.editor.since(before).partition(picture)[2])
        return cli

    def decision(self, cli: FakeCli, method: str) -> dict[str, Any]:
        wait_for(lambda: cli.received(method))
        return cli.received(method)[0]

    def said(self) -> str:
        return self.editor.since(self.before)

    def press(self, keys: str, *texts: str) -> None:
        """Press, and wait until all of these stand in what is new since then."""
        before = self.editor.said()
        self.editor.press(keys)
        wait_for(lambda: all(text in self.editor.since(before) for text in texts))

    def decide(self, keys: str, *texts: str) -> None:
        """Press what decides on the diff that is shown; if that came just now, after another one
        was decided on, press again once it was there for long enough."""
        before = self.editor.said()

        def is_decided() -> bool:
            return all(text in self.editor.since(before) for text in texts)

        def came_just_now() -> bool:
            return " came just now" in self.editor.since(before)

        self.editor.press(keys)
        wait_for(lambda: is_decided() or came_just_now())
        if not is_decided():
            long_enough = time.monotonic() + LONG_ENOUGH
            wait_for(lambda: is_decided() or time.monotonic() > long_enough)
        if not is_decided():
            self.editor.press(keys)
        wait_for(is_decided)

    def see(self, *texts: str, gone: str = "") -> None:
        wait_for(
            lambda: (
                all(text in self.said() for text in texts) and not (gone and gone in self.said())
            )
        )


class Narrow(unittest.TestCase):
    def test_below_60_columns_what_goes_stands_above_what_comes(self) -> None:
        both = sides.Sides("same\nold\nend\n", "same\nnew\nmore\nend\n")
        how = sides.Picture(0, 20, 40, 0, False, (), (), ((1, "[seen]"),), (None, None), 7)
        lines = [line.rstrip() for line in sides.draw_sides(both, how)]
        self.assertEqual(
            lines[:6],
            [
                "   1   same",
                "   2 - old",
                "   2 + new",
                " " * 34 + "[seen]",
                "   3 + more",
                "   4   end",
            ],
        )
        wide = sides.draw_sides(both, how._replace(width=60))
        self.assertIn(" | ", wide[1])
        self.assertTrue(all(len(line) <= 40 for line in sides.draw_sides(both, how)))

    def test_a_row_of_a_list_keeps_both_its_ends(self) -> None:
        row = "  1  Copy: npm install -g @google/gemini-cli"
        self.assertEqual(sides.shorten_text(row, 60), row)
        self.assertEqual(sides.shorten_text(row, 21), "  1  Copy:…gemini-cli")


class Hints(unittest.TestCase):
    def test_a_second_editor_on_a_folder_says_so_and_what_to_do(self) -> None:
        self.assertEqual(hints.place_line(["/work"], True), "The editor runs on /work.")
        self.assertIn("again", hints.place_line(["/work"], False))
        self.assertEqual(hints.home_lines([], []), [hints.place_line([], False)])
        words = " ".join(hints.home_lines(["/work"], ["a.py", "b.py (not saved)"]))
        for each in ("i says how to start one", "a.py, b.py (not saved)", ":chat"):
            self.assertIn(each, words)


class Saying(unittest.TestCase):
    def test_equal_lines_are_all_said_but_what_the_status_bar_says_and_the_log_has(self) -> None:
        said = messages.Messages(time.monotonic)
        said.say_lines("{\n}\n}\n\n\nend")
        self.assertEqual(said.all, ["{", "}", "}", "", "", "end"])
        said.say_status("Accepted: a.py")
        said.hear("Accepted: a.py\nanother")
        self.assertEqual(said.all[-3:], ["end", "Accepted: a.py", "another"])

    def test_what_the_status_bar_says_once_more_is_said_again_once_it_was_read(self) -> None:
        now = 0.0
        said = messages.Messages(lambda: now)
        for count in (1, 1, 2):
            said.say_status("Press again.", count)
        self.assertEqual(said.all, ["Press again."])
        now = messages.READ + 1
        said.press()
        said.say_status("Press again.", 2)
        self.assertEqual(said.standing(), [])
        said.say_status("Press again.", 3)
        self.assertEqual(said.standing(), ["Press again."])

    def test_the_page_for_new_users_opens_at_the_first_start_of_a_data_folder_alone(self) -> None:
        data = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, data)
        window = mock.Mock(folders=["/work"])
        editor = mock.Mock(
            data=data, windows=[window], active_window=window, ui=lambda work, *given: work(*given)
        )
        said, run = messages.Messages(time.monotonic), mock.Mock()
        with mock.patch.object(proposals, "waiting_views", return_value=[]):
            for _start in range(3):
                first = welcome.Welcome(editor, said, run)
                first.show()
                first.show()
        run.run.assert_called_once_with(welcome.WELCOME)
        self.assertEqual(["again" in line for line in said.all], [False, True, True])

    def test_a_message_goes_with_a_key_but_not_before_it_could_be_read(self) -> None:
        seconds = [0.0]
        said = messages.Messages(lambda: seconds[0])
        said.say("first")
        said.press()
        self.assertEqual(said.standing(), ["first"])
        seconds[0] = 1000.0
        said.say("second")
        self.assertEqual(said.standing(), ["first", "second"])
        said.press()
        self.assertEqual(said.standing(), ["second"])
        self.assertEqual(said.all, ["first", "second"])

    def test_the_tab_of_a_decided_diff_is_said_to_stay_only_where_it_does(self) -> None:
        said = messages.Messages(time.monotonic)
        view = mock.Mock(closed=False, settings={proposals.RECORD: {"id": "1"}})
        decided = decisions.Decisions(mock.Mock(views={1: view}), said)
        decided.follow({1: "/a.py"})
        decided.note(1, "a")
        decided.follow({})
        self.assertEqual(said.all, [])
        view.closed = True
        decided.follow({})
        self.assertEqual(said.all, ["Accepted: /a.py"])
        view.closed, view.settings = False, {}
        view.title.return_value = "a.py (rejected, your edits)"
        decided.follow({1: "/a.py"})
        decided.follow({})
        self.assertEqual(
            said.all[-1], "Its text stays as the tab a.py (rejected, your edits): g shows it."
        )

    def test_a_digit_follows_no_link_of_a_page_that_the_messages_hide(self) -> None:
        window = mock.Mock(question=None)
        window.active_sheet.return_value = mock.Mock(view=None, contents='<a href="x">One</a>')
        editor = mock.Mock(clipboard="", windows=[], active_window=window)
        front = terminal.Front(editor, mock.Mock())
        front.messages.toggle_list()
        front.press("1", mock.Mock())
        editor.ui.assert_not_called()
        front.press("1", mock.Mock())
        editor.ui.assert_called_once_with(clicks.follow, editor, "x", None)

    def test_a_question_in_a_list_is_drawn_whole_and_other_items_in_two_lines(self) -> None:
        command = " ".join(f"word{number}" for number in range(12))
        rows = [["May it?", "▏ " + command], ["Yes"], ["No", "x" * 60]]
        question = mock.Mock(caption="Answer", highlighted=2)
        question.count.return_value, question.rows.side_effect = 3, rows.__getitem__
        lines = questions.question_lines(question, 40)
        self.assertEqual(lines[:2], ["Answer", "  1  May it?"])
        drawn = " ".join(line.strip() for line in lines[2:-3])
        self.assertEqual(drawn, "▏ " + command)
        self.assertTrue(all(len(line) <= 40 for line in lines))
        self.assertEqual(lines[-3:-1], ["  2  Yes", "> 3  No"])
        self.assertTrue(lines[-1].startswith("     xxx"))
        self.assertEqual(questions.line_of_bar(question, 40), len(lines) - 2)

    def test_of_an_item_with_several_details_nothing_is_lost_in_the_middle(self) -> None:
        rows = [["Rename it  asks", "since 02:57: make test", "Gemini CLI · chat"], ["Other"]]
        question = mock.Mock(caption="", highlighted=1)
        question.count.return_value, question.rows.side_effect = 2, rows.__getitem__
        lines = questions.question_lines(question, 50)
        self.assertEqual(lines[0], "  1  Rename it  asks - since 02:57: make test")
        self.assertEqual(lines[1:], ["     Gemini CLI · chat", "> 2  Other"])
        self.assertEqual(questions.line_of_bar(question, 50), 2)

    def test_the_sheet_has_keys_of_its_own_and_is_saved_by_its_package(self) -> None:
        few = hints.key_lines(hints.Bar.FEW, is_review=True, is_sheet=True)
        self.assertEqual(few, [hints.SHEET_KEYS, hints.FEW_KEYS])
        sheet = mock.Mock(settings={proposals.SHEET: True})
        sheet.buffer.file_name = None
        editor = mock.Mock(clipboard="", windows=[])
        editor.active_window.active_view.return_value = sheet
        front = terminal.Front(editor, mock.Mock())
        front._files.save_tab(mock.Mock())
        editor.ui.assert_called_once_with(editor.commands.run_text, sheet, "save")

    def test_a_link_of_a_text_is_pressed_once_its_tab_is_drawn_again(self) -> None:
        link = clicks.Link("key", "Allow", text_links.TEXT, 0, None)
        editor = mock.Mock(clipboard="", windows=[])
        editor.ui.return_value = False
        front = terminal.Front(editor, mock.Mock())
        listed = [mock.Mock(link=link)]
        with mock.patch.object(link_lists, "links_of", return_value=listed), mock.patch.object(
            link_lists, "list_rows"
        ), mock.patch.object(front.shown, "find_tab", return_value="view"):
            front._lists.list_links()
        editor.active_window.ask.call_args[0][2]["on_select"](0)
        editor.ui.assert_not_called()
        for _ in range(2):
            front._lists.press_chosen()
        editor.ui.assert_called_once_with(text_links.press_link, editor, "view", link)
        self.assertEqual(front.messages.all, ["Allow is not there any more: nothing was done."])

    def test_a_key_answers_only_what_is_drawn_when_it_is_pressed(self) -> None:
        question = mock.Mock(items=[["Accept anyway"]], highlighted=0)
        question.count.return_value, question.rows.return_value = 1, ["Accept anyway"]
        editor = mock.Mock(clipboard="", windows=[], active_window=mock.Mock(question=question))
        front = terminal.Front(editor, mock.Mock())
        for key in ("1", "enter", "escape", "down"):
            front.press(key, mock.Mock())
        editor.ui.assert_not_called()
        with mock.patch.object(front.frames, "drawn", frames.Drawn(question=question)):
            front.press("1", mock.Mock())
        editor.ui.assert_called_once_with(questions.answer_question, editor, question, 0)

    def test_a_key_decides_on_no_diff_that_has_come_since_the_screen_was_drawn(self) -> None:
        editor = mock.MagicMock(clipboard="", windows=[], active_window=mock.Mock(question=None))
        front = terminal.Front(editor, mock.Mock())
        state = mock.Mock(proposal=mock.Mock(view=7, id="7"))
        with mock.patch.object(front.shown, "ask_state", return_value=state), mock.patch.object(
            front.shown, "ask_tab", return_value=None
        ), mock.patch.object(front.commands, "run") as run:
            for key in "aArRlkdc":
                front.press(key, mock.Mock())
            run.assert_not_called()
            self.assertEqual(front.messages.standing(), [review_keys.NOT_SEEN] * 8)
            with mock.patch.object(front.frames, "drawn", frames.Drawn(diff=7)):
                front.press("a", mock.Mock())
        run.assert_called_once_with("gemini_companion_accept_diff", {"id": "7"})

    def test_a_key_decides_on_no_sheet_that_the_messages_hide(self) -> None:
        editor = mock.Mock(clipboard="", windows=[], active_window=mock.Mock(question=None))
        front, tab = terminal.Front(editor, mock.Mock()), mock.Mock(id=3)
        front.messages.toggle_list()
        with mock.patch.object(front.shown, "ask_state"), mock.patch.object(
            front.shown, "ask_tab", return_value=tab
        ), mock.patch.object(front.commands, "run") as run:
            front.press("a", mock.Mock())
            run.assert_not_called()
            # Its key shows the sheet instead.
            self.assertFalse(front.messages.is_listed)
            with mock.patch.object(front.frames, "drawn", frames.Drawn(tab=3)):
                front.press("a", mock.Mock())
        run.assert_called_once_with("gemini_companion_accept_diff")

    def test_the_messages_over_a_page_begin_with_the_newest(self) -> None:
        front = terminal.Front(mock.Mock(clipboard=""), mock.Mock())
        state = mock.Mock(question=None, page=3)
        lines, shown = [str(at) for at in range(20)], front.frames.panel.shown
        shown(lines, 6, None, "", False, front.frames._name_of_panel(state))
        front.messages.toggle_list()
        newest = shown(lines, 6, None, "", True, front.frames._name_of_panel(state))
        self.assertEqual(newest[:-1], lines[-5:])


class LinksInLists(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.view = self.view_with("text")
        self.state = self.editor.view(self.view.id())

    def show(self, content: str) -> list[list[str]]:
        region = self.sublime.Region(0, 0)
        self.view.add_phantom("key", region, content, self.sublime.LAYOUT_BLOCK)
        return self.editor.ui(lambda: link_lists.list_rows(link_lists.links_of(self.state)))

    def test_links_of_one_name_are_told_apart_by_their_rows_or_their_numbers(self) -> None:
        rows = (
            '<p>Waits: one · <a href="1">change</a> · <a href="2">send now</a></p>'
            '<p>Waits: two · <a href="3">change</a></p>'
            '<p>Waits: two · <a href="4">change</a></p>'
        )
        self.assertEqual(
            self.show(rows),
            [
                ["change", "Waits: one"],
                ["send now"],
                ["change", "Waits: two", "1 of 2"],
                ["change", "Waits: two", "2 of 2"],
            ],
        )

    def test_a_tab_without_links_is_said_to_have_none(self) -> None:
        self.assertFalse(self.editor.ui(link_lists.has_links, self.state))
        self.show('<a href="x">y</a>')
        self.assertTrue(self.editor.ui(link_lists.has_links, self.state))


class InView(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.view = self.view_with("first\nlast")
        self.state = self.editor.view(self.view.id())

    def at(self, point: int) -> None:
        self.editor.ui(self.editor.select, self.state, [(point, point)])

    def test_a_tab_is_drawn_with_its_folds_its_phantoms_and_its_caret(self) -> None:
        sublime = self.sublime
        self.view.set_scratch(True)
        self.view.set_name("Toy")
        content, region = 'It is <a href="x">Here</a>', sublime.Region(0, 0)
        self.view.add_phantom("key", region, content, sublime.LAYOUT_BLOCK)
        self.view.fold(sublime.Region(2, 5))
        self.at(len("first\nla"))
        drawn = tabs.tab_lines(self.editor.ui(tabs.read_tab, self.state, is_wanted=True), 8)
        self.assertEqual(drawn.lines, ["Toy", "fi\u2026", "  It is", "[Here]", "last"])
        self.assertEqual(drawn.caret, (4, 2))
        self.view.add_regions("key", [sublime.Region(6, 10)], "markup.inserted.diff")
        drawn = tabs.tab_lines(self.editor.ui(tabs.read_tab, self.state, is_wanted=True), 8)
        self.assertEqual((drawn.lines[1], drawn.lines[4]), ("  fi\u2026", "+ last"))
        self.assertEqual(drawn.caret, (4, 4))
        self.view.erase_regions("key")
        wide = tabs.tab_lines(
            self.editor.ui(tabs.read_tab, self.state, is_wanted=True)._replace(
                text="\u4e16\u754cx", caret=2
            ),
            4,
        )
        self.assertEqual(wide.caret, (2, 0))

    def test_what_a_package_has_scrolled_to_stays_in_sight_until_the_person_writes(self) -> None:
        self.view.set_scratch(True)
        self.insert(self.view, rows(60), 0)
        self.at(len(self.state.text))
        pictures, place = frames.TabPictures(), panel.Panel()

        def drawn() -> list[str]:
            tab = self.editor.ui(tabs.read_tab, self.state, is_wanted=True)
            lines = pictures.lines_in(place, tab, 80)
            bar = lines.caret[0] if lines.caret is not None and not pictures.is_away else None
            found = place.shown(lines.lines, 11, bar, "", tab.is_at_end, "")[:-1]
            seen = tabs.visible_part(tab, lines, place.top, place.height)
            self.editor.ui(tabs.tell_seen, self.editor, self.state.id, seen)
            return found

        def scroll(row: int) -> None:
            top = self.view.text_to_layout(self.view.text_point(row, 0))[1]
            self.view.set_viewport_position((0.0, top), False)

        self.assertEqual(drawn()[-1], "last")
        scroll(19)
        first = drawn()
        self.assertEqual(first[0], "row 20")

        def put(text: str, point: int) -> None:
            """The caret does not notice."""
            self.insert(self.view, text, point)
            self.at(len(self.state.text))

        # Text comes above, and the package scrolls for it; then below; then a note.
        put("more\n" * 5, 0)
        scroll(24)
        self.assertEqual(drawn(), first)
        put("more\n", len(self.state.text) - len("first\nlast"))
        self.assertEqual(drawn(), first)
        region = self.sublime.Region(0, 0)
        self.view.add_phantom("key", region, "It is", self.sublime.LAYOUT_BLOCK)
        self.assertEqual(drawn(), first)
        self.insert(self.view, "!", len(self.state.text))
        self.assertEqual(drawn()[-1], "last!")

    def test_links_of_a_phantom_stand_in_its_lines_where_they_are(self) -> None:
        content = '<div>One · <a href="1">take</a> · <a href="2">send</a></div><div>Two</div>'
        region = self.sublime.Region(0, 0)
        self.view.set_scratch(True)
        self.view.add_phantom("key", region, content, self.sublime.LAYOUT_BLOCK)
        tab = self.editor.ui(tabs.read_tab, self.state, is_wanted=True)
        self.assertEqual(tab.notes, ((0, "One · [take] · [send]"), (0, "Two")))

    def test_links_in_a_chats_text_are_found_from_below_and_pressed_where_they_are_by_then(
        self,
    ) -> None:
        self.insert(self.view, "some words here\n", 0)
        for key, begin in (("1_link", 0), ("2_button", 5), ("2_added", 10)):
            regions = [self.sublime.Region(begin, begin + 4)]
            self.view.add_regions(f"gemini_companion_chat_{key}", regions)
        links = self.editor.ui(text_links.of_view, self.state)
        self.assertEqual([link.text for link in links], ["word", "some"])
        pressed: list[Any] = []
        self.insert(self.view, "more above\n", 0)
        self.at(len(self.state.text))

        run_text = self.editor.commands.run_text

        def press(view: Any, name: str, _arguments: Any) -> None:
            pressed.append((name, *view.selection))
            # Following it changes the text.
            self.editor.select(view, [(0, 0)])
            run_text(view, "insert", {"characters": "it is allowed\n"})

        with mock.patch.object(self.editor.commands, "run_text", press):
            follow = text_links.press_link
            self.assertTrue(self.editor.ui(follow, self.editor, self.state, links[0]))
            self.assertEqual(pressed, [("insert", (16, 16))])
            # The caret is where it was, below all that.
            end = len(self.state.text)
            wait_until(lambda: self.state.selection == [(end, end)])
            self.view.erase_regions("gemini_companion_chat_2_button")
            self.assertFalse(self.editor.ui(follow, self.editor, self.state, links[0]))
        self.assertEqual(len(pressed), 1)

    def test_the_diff_that_is_shown_is_the_one_in_front(self) -> None:
        shown = shown_editor.ShownEditor(self.editor, mock.Mock())
        diffs = []
        for _ in range(2):
            view = self.window.new_file()
            view.set_scratch(True)
            view.settings().set(proposals.STAMP, True)
            diffs.append(view.id())
        self.assertEqual(shown.ask_state().proposal.view, diffs[1])
        # Another one takes its place, and the keyboard is elsewhere.
        self.window.set_layout(
            {"cols": [0, 0.5, 1], "rows": [0, 1], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]}
        )
        self.window.set_view_index(self.view, 1, 0)
        self.window.focus_view(self.sublime.View(diffs[0]))
        self.window.focus_view(self.view)
        state = shown.ask_state()
        self.assertEqual((state.proposal.view, state.active), (diffs[0], None))
        panel = self.window.create_output_panel("toy", unlisted=True)
        panel.settings().set(proposals.STAMP, True)
        self.assertEqual(shown.ask_state().without_tabs, 1)


class TextsOfThePackage(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def with_state(self, name: str, *entries: Entry) -> str:
        """The file in a data folder that has what the package saves."""
        state = os.path.join(
            os.path.join(self.folder, name), "Cache", "GeminiCompanion", "state.json"
        )
        saved = saved_state.SavedWorkspace(("/a",), 1, "token", (), entries, time.time())
        self.assertEqual(state_file.save_state(state, [saved]), "")
        return state

    def test_a_data_folder_may_have_texts_that_no_cli_has_written_or_that_were_not_read(
        self,
    ) -> None:
        entry = Entry("", "/a/b.py", OPEN, time.time(), proposed="proposed")
        self.with_state("open", entry)
        self.with_state("typed", entry._replace(text="mine"))
        self.with_state("told", entry._replace(state=TOLD, text="mine"))
        unread = self.with_state("unread")
        os.rename(unread, unread + state_file.UNREAD + "-2")
        with open(self.with_state("damaged"), "ab") as file:
            file.write(b"{")
        stays = [name for name in ("open", "typed", "told", "unread") if self.has_texts(name)]
        self.assertEqual(stays, ["typed", "told", "unread"])
        with self.assertRaises(ValueError):
            self.has_texts("damaged")

    def has_texts(self, name: str) -> bool:
        return front.has_texts(os.path.join(self.folder, name))


class EachAlone(Terminal):
    """Tests that start an editor of their own, and hear all of it."""

    @classmethod
    def setUpClass(cls) -> None:
        """Nothing for all of them."""

    def setUp(self) -> None:
        root = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, root)
        self.editor, self.before = Editor(root), ""
        self.addCleanup(self.editor.quit)
        (self.folder,) = self.editor.folders
        self.path = os.path.join(self.folder, "a.py")
        self.write("old\n")

    def withdraw(self, cli: FakeCli, path: str) -> None:
        """It ends with the editor."""


class Alone(EachAlone):
    """Without a proposal."""

    def test_a_new_user_is_told_what_is_missing_and_enables_the_cli_by_a_key(self) -> None:
        home = os.path.join(self.editor.root, "home")
        os.mkdir(home)
        self.editor.start(HOME=home, PATH=os.path.join(home, "none"), GEMINI_API_KEY="")
        for words in ("Gemini CLI was not found.", "ide.enabled is not set", "is connected"):
            wait_for(lambda: words in " ".join(self.said().split()))  # noqa: B023
        self.assertNotIn("padding", self.said())
        self.see("] Enable")
        # A long folder makes it more than one line.
        to_type = f"in a terminal: cd {self.folder} && "
        wait_for(lambda: to_type in " ".join(self.said().split()))
        self.press(self.said().partition("] Enable")[0][-1], "Write it")
        self.press("1")
        wait_for(lambda: os.path.exists(os.path.join(home, ".gemini", "settings.json")))

    def test_without_a_folder_a_key_asks_for_one_and_it_goes_on(self) -> None:
        self.editor.folders = []
        self.editor.start()
        self.press("f\nnot-there", "There is no folder not-there.")
        self.press("f\n" + self.folder, f"The editor runs on {self.folder}.")
        # CLIs are told of it.
        wait_for(lambda: self.editor.discovered()["workspacePath"] == self.folder)

    def test_every_command_of_the_palette_is_chosen_by_words_of_its_caption(self) -> None:
        self.editor.start()
        self.press(":\nshow log")
        # At its start it removes what other tests' editors left in folders of all users, and of
        # Claude Code in that of this user.
        logs = ("The log is empty so far", "of an editor that is gone")
        wait_for(lambda: any(text in self.said() for text in logs))
        self.press(":\nsharing", "Sharing is paused")
        self.press(":\nSHOW gemini", "1  Gemini Companion: Show Changes")
        self.press("1", "No changes wait")
        user = os.path.join("User", "GeminiCompanion.sublime-settings")
        self.press(":\ncompanion: settings", user, "GeminiCompanion.sublime-settings")
        # It goes on in the window of the project.
        self.press("s", "Folders: " + self.folder)
        self.press(":\nno such", "No command that can be run now has these words.")

    def test_the_palette_leaves_out_what_cannot_act_now(self) -> None:
        self.editor.start()
        for words in ("stop agent", "next diff", "accept diff"):
            self.press(f":\n{words}", "No command that can be run now has these words.")
        self.propose("new\n")
        self.press(":\nnext diff", "No other proposed edit waits for you.")

    def test_a_key_opens_it_in_the_users_editor_first(self) -> None:
        program = "import sys; open(sys.argv[1], 'a').write('mine')"
        self.editor.start(EDITOR=f'{sys.executable} -c "{program}"', VISUAL="")
        cli = self.propose("new\n")
        self.press("e", "+ mine")
        self.press("a")
        self.assertEqual(self.decision(cli, "ide/diffAccepted")["content"], "new\nmine")

    def test_what_stays_in_the_users_editor_stays_where_it_is(self) -> None:
        """The comment stays at its line, and the change before the person is the same."""
        self.write(rows(30))
        program = os.path.join(self.folder, "vi")
        with open(program, "w") as file:
            file.write(f"#!{sys.executable}\n" + EDITOR_PROGRAM)
        os.chmod(program, 0o700)
        self.editor.start(EDITOR=program, VISUAL="")
        cli = self.propose(rows(30, _5="five", _12="twelve", _20="twenty", _26="said"))
        self.press("n")
        self.press("n")
        self.press("n", "change 4 of 4")
        self.press("c\nwhy", "[why]")
        self.press("e", "change 5 of 5")
        self.press("a")
        content = self.decision(cli, "ide/diffAccepted")["content"]
        self.assertIn("mine +26\nrow 1\n", content)
        self.assertIn("\nsaid more\n", content)
        self.see("a.py#L27: why")

    def test_a_proposal_is_there_again_after_a_restart_and_its_cli_gets_the_decision(self) -> None:
        self.editor.start()
        cli = self.propose("new\n")
        self.editor.quit()
        self.assertEqual(self.editor.discovery_files(), [])
        wait_for(cli.stream_ended.is_set)
        self.assertIsNone(cli.stream_error)
        self.editor.start()
        self.see(f"Proposed: {self.path}")
        cli.resume()
        wait_for(cli.connected)
        self.press("a")
        self.assertEqual(self.decision(cli, "ide/diffAccepted")["content"], "new\n")
        self.assertEqual(cli.received("ide/diffRejected"), [])

    def test_the_status_is_told_as_it_is_now_and_once(self) -> None:
        self.editor.start()
        self.press("s", "CLI: not connected")
        self.before = self.said()
        self.connect()
        self.press("s", "Connected: Gemini CLI")
        self.assertEqual(self.said().count("Connected: "), 1)

    def session(self, cache: str) -> str:
        """As it was saved."""
        name = os.path.join(cache, "**", "Session.sublime_session")
        return "".join(
            pathlib.Path(path).read_text("utf-8") for path in glob.glob(name, recursive=True)
        )

    def test_after_a_kill_the_next_one_on_the_folder_has_the_proposal_and_what_was_open(
        self,
    ) -> None:
        # Told of no data folder, as `make run` starts it.
        cache = os.path.join(self.editor.root, "cache")
        self.editor.arguments = ()
        self.editor.start(XDG_CACHE_HOME=cache)
        self.press("o\na.py", "Opened")
        self.propose("new\n")
        wait_for(lambda: all(text in self.session(cache) for text in (self.path, "new\\n")))
        left = set(self.editor.discovery_files())
        # The host goes with the editor, and so does its lock; its discovery file stays.
        self.editor.kill()
        (folder,) = glob.glob(os.path.join(cache, front.cache_name, "*"))
        os.close(wait_until(lambda: data_folders._lock(folder)))
        self.editor.start(XDG_CACHE_HOME=cache)
        self.see(f"Proposed: {self.path}")
        wait_for(lambda: set(self.editor.discovery_files()) - left)
        wait_for(lambda: not left & set(self.editor.discovery_files()))
        self.assertNotIn("Two minutes", self.said())
        cli = self.connect()
        wait_for(lambda: [file["path"] for file in cli.context()] == [self.path])
        before = self.editor.said()

        def is_accepted() -> bool:
            return f"Accepted: {self.path}" in self.editor.since(before)

        def is_to_be_pressed_again() -> bool:
            return "nothing was decided. Press again." in self.editor.since(before)

        self.editor.press("a")
        try:
            wait_for(lambda: is_accepted() or is_to_be_pressed_again())
            if not is_accepted():
                # Beside other work the key may have met a screen that was just drawn anew.
                self.editor.press("a")
                wait_for(is_accepted)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.editor.since(before)!r}") from None
        self.assertEqual(self.decision(cli, "ide/diffAccepted")["content"], "new\n")
        left_over = os.listdir(os.path.join(self.editor.root, "tmp"))
        self.assertEqual([name for name in left_over if name.startswith("headless-")], [])


class Asked(EachAlone):
    """The question of an agent in a chat, at a terminal that has not the room for it."""

    def ask(self, *holds: str) -> AtTerminal:
        """A message was sent in a chat."""
        root = tempfile.mkdtemp(dir=self.editor.root)
        self.editor = editor = AtTerminal(root)
        self.addCleanup(editor.kill)
        user = os.path.join(self.editor.root, "data", "Packages", "User")
        os.makedirs(user)
        program = os.path.join(self.editor.root, "agent.py")
        pathlib.Path(program).write_text(AGENT_PROGRAM)
        known = {"padding": {"command": [sys.executable, program]}}
        settings = {"agents": known, "usual_agent": "padding"}
        path = os.path.join(user, "GeminiCompanion.sublime-settings")
        pathlib.Path(path).write_text(json.dumps(settings))
        self.editor.start()
        self.see("Two minutes")
        self.press(":new chat\r", "Chat")
        self.press("t", "Escape: back to the commands")
        for name in holds:
            pathlib.Path(editor.folders[0], name).touch()
        self.press("go\x1b\r", "go")
        return editor

    def test_one_that_comes_behind_the_messages_is_allowed_only_once_it_was_seen(self) -> None:
        editor = self.ask("hold")
        self.press("\x1b", "[q]uit")
        self.press("m", "The editor runs on", "[Escape] closes this")
        os.unlink(os.path.join(editor.folders[0], "hold"))
        self.see("asks")
        for key in "ay1kA":
            editor.press(key)
        self.press(":allow or deny\r", "2  Allow")
        self.press("2", "was not in sight until now")
        self.assertNotIn('you chose "Allow"', "\n".join(editor.pictures))

    def test_it_is_allowed_only_after_all_of_it_was_on_the_screen(self) -> None:
        editor = self.ask()
        self.see("rm -r everything", "[Allow]")
        self.assertNotIn("harmless 0.", self.said())

        def is_allowed() -> bool:
            drawn = len(editor.pictures)
            self.editor.press("\x1b[19~y")
            # Nothing is drawn anew where nothing changes.
            with suppress(AssertionError):
                wait_for(lambda: len(editor.pictures) > drawn, 10)
            return any('you chose "Allow"' in picture for picture in editor.pictures)

        wait_for(is_allowed)
        until = next(at for at, picture in enumerate(editor.pictures) if "you chose" in picture)
        before = "\n".join(editor.pictures[:until])
        for line in ("start", *(f"harmless {at}." for at in range(50)), "rm -r everything"):
            self.assertIn(line, before)


class Front(Terminal):
    def test_a_proposal_is_shown_side_by_side_and_a_key_accepts_it(self) -> None:
        cli = self.propose("new\n")
        self.assertRegex(self.said(), r"1 - old +\| +1 \+ new")
        self.decide("a", f"Accepted: {self.path}")
        decision = {"filePath": self.path, "content": "new\n"}
        self.assertEqual(self.decision(cli, "ide/diffAccepted"), decision)

    def test_above_the_texts_stands_what_the_tabs_say_of_the_file(self) -> None:
        self.write("\ufeffold\r\n")
        cli = self.propose("\ufeffnew\n")
        self.assertRegex(self.said(), r"\na\.py \(on disk, BOM, CRLF\) +\| a\.py \(proposed\)\n")
        self.decide("r", f"Rejected: {self.path}")
        self.path = os.path.join(self.folder, "new.py")
        self.propose("new\n", cli)
        self.assertRegex(self.said(), r"\nnew\.py \(new file.*\) +\| new\.py \(proposed\)\n")

    def test_an_opened_file_is_told_to_the_cli(self) -> None:
        cli = self.connect()
        self.press("o\n" + os.path.relpath(self.path, self.editor.folders[0]))
        wait_for(lambda: [file["path"] for file in cli.context()] == [self.path])

    def test_a_change_far_down_is_before_the_eyes_on_both_sides(self) -> None:
        self.write(rows(1449))
        self.propose(rows(1449, _1400="another"))
        self.assertRegex(self.said(), r"1400 - row 1400 +\| 1400 \+ another")
        self.assertNotIn("row 1 ", self.said().partition(f"Proposed: {self.path}")[2])
        self.see("change 1 of 1")

    def test_what_nobody_would_see_in_a_proposal_is_spelled_out(self) -> None:
        self.propose("if is\u202e_admin\u3164:\n\tgo\x1b[8m\n")
        self.assertRegex(self.said(), r"\+ if is<U\+202E>_admin<U\+3164>:")
        self.assertRegex(self.said(), r"\+     go<U\+001B>\[8m")

    def test_a_line_that_is_cut_says_how_much_of_it_is_missing(self) -> None:
        self.propose("x" * 490 + "rm -r /\n" + "\u3164" * 500 + "\nshort\n")
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
        self.propose("y" * 300 + " new " + "z" * 300 + "\nbrief\n")
        self.see("…yy", " new ")
        line = next(line for line in self.said().split("\n") if " new " in line)
        before, shown, missing = re.findall(r"\+ (\d+)\+…(y+ new z+)…\+(\d+)", line)[0]
        self.assertEqual(int(before) + len(shown) + int(missing), 605)
        self.assertIn("+ brief", self.said())

    def test_of_a_large_file_the_lines_have_their_own_numbers(self) -> None:
        half = "row of a large file\n" * 75_000
        self.write(half + "old\n" + half)
        self.propose(half + "new\nmore\n" + half)
        self.see("75001 - old")
        self.assertRegex(self.said(), r"75001 - old +\| 75001 \+ new")
        self.assertRegex(
            self.said(), r"75002   row of a large file +\| 75003   row of a large file"
        )

    def test_keys_go_from_change_to_change_and_drop_one_of_them(self) -> None:
        self.write(rows(300))
        cli = self.propose(rows(300, _50="fifty", _150="more", _250="last"))
        self.press("n", "change 2 of 3", "150 + more")
        self.press("n", "change 3 of 3", "250 + last")
        self.press("p", "change 2 of 3", "150 + more")
        self.decide("d", "+2 -2, ")
        self.decide("a", f"Accepted: {self.path}")
        content = self.decision(cli, "ide/diffAccepted")["content"]
        self.assertEqual(content, rows(300, _50="fifty", _250="last"))

    def test_a_change_that_is_wanted_counts_as_seen(self) -> None:
        self.propose("new\n")
        self.see(f"Proposed: {self.path}", "0 of")
        self.decide("k", "1 of 1 seen", "[1 of 1 seen]")

    def test_a_dropped_change_comes_back_by_undo(self) -> None:
        self.write(rows(9))
        self.propose(rows(9, _2="two", _8="eight"))
        self.decide("d", "+1 -1, ")
        self.press("u", "+2 -2, ")

    def test_it_is_said_which_way_a_diff_was_decided(self) -> None:
        cli = self.propose("new\n")
        self.decide("r", f"Rejected: {self.path}")
        self.assertEqual(self.decision(cli, "ide/diffRejected"), {"filePath": self.path})
        self.assertNotIn(f"Accepted: {self.path}", self.said())
        self.propose("newer\n", cli)
        self.see("+ newer")
        cli.call("closeDiff", filePath=self.path).result(PATIENCE)
        self.see(f"Decided in its chat or terminal, or taken back by its agent: {self.path}")

    def test_a_note_goes_with_the_rejection(self) -> None:
        cli = self.propose("new\n")
        self.press("R\ntoo short", f"Rejected: {self.path}", "On the clipboard:\ntoo short")
        self.assertEqual(self.decision(cli, "ide/diffRejected"), {"filePath": self.path})

    def test_a_comment_stands_beside_its_line_and_can_be_read_when_it_is_copied(self) -> None:
        self.propose("new\n")
        self.see(f"Proposed: {self.path}", "0 of")
        self.press("c\nwhy?", "1 + new", "[1 of 1] [why?]")
        name = os.path.relpath(self.path, self.editor.folders[0])
        self.decide("r", f"On the clipboard:\n@{name}#L1: why?")

    def test_an_accepted_edit_is_shown_as_a_difference(self) -> None:
        self.propose("new\n")
        self.decide("a", f"Accepted: {self.path}")
        self.press("h", "> 1  a.py")
        self.press("1", "> 1  Show it")
        self.press("1", "a.py (accepted edit)", "-old\n+new\n")

    def test_one_of_the_waiting_diffs_is_chosen_in_a_list(self) -> None:
        cli = self.propose("new\n")
        other = os.path.join(self.folder, "b.py")
        self.open_diff(cli, "b\n", other)
        self.see("(1 more waiting: w)")
        self.press("w", "> 1  a.py", "2  b.py")
        self.press("2", f"Proposed: {other}")
        self.decide("A", f"Accepted: {other}", f"Proposed: {self.path}")
        self.assertEqual(self.decision(cli, "ide/diffAccepted")["filePath"], other)

    def test_what_speaks_against_accepting_is_asked_in_words(self) -> None:
        self.propose("new\n")
        self.write("changed meanwhile\n")
        self.decide("a", "2  Accept anyway - Gemini CLI writes the text")
        self.assertNotIn("['", self.said())
        self.press("4")
        self.decide("r", f"Rejected: {self.path}")
        self.assertNotIn(f"Accepted: {self.path}", self.said())

    def test_while_a_diff_waits_pages_are_shown_and_the_palette_decides(self) -> None:
        cli = self.propose("new\n")
        self.decide(":\naccept diff", f"Accepted: {self.path}")
        self.assertEqual(self.decision(cli, "ide/diffAccepted")["content"], "new\n")
        self.propose("newer\n", cli)
        self.press(":\ndoctor", "Look Again", "Gemini Companion: Doctor")
        self.decide("r", f"Rejected: {self.path}")


class Drawn(Terminal):
    """At a terminal of 30 rows and 100 columns, and with the text that is there to be looked at at
    the start."""

    kind = AtTerminal
    editor: AtTerminal

    def setUp(self) -> None:
        super().setUp()
        self.editor.resize(30, 100)
        if "Two minutes" in self.editor.said():
            # Else it would be taken for the one that the command is still to open, over a review.
            self.press("\x1b")
            self.see(gone="Two minutes")
        self.press(":welcome\r", "Two minutes")

    def review(self, text: str = "new\n") -> FakeCli:
        cli = self.connect()
        self.open_diff(cli, text)
        self.see(f"Proposed: {self.path}", "0 of")
        return cli

    def test_a_review_is_drawn_in_one_place(self) -> None:
        self.write(rows(1449))
        cli = self.review(rows(1449, _700="another", _1400="one more"))
        self.see("change 1 of 2")
        self.assertRegex(self.said(), r"700 - row 700 +\| +700 \+ another")
        self.press("n", "change 2 of 2")
        self.assertRegex(self.said(), r"1400 - row 1400 +\| 1400 \+ one more")
        self.assertNotIn("row 700", self.said())
        self.decide("d", "+1 -1, ")
        self.press("k")
        self.assertEqual(self.said().count("Proposed: "), 1)
        self.decide("a", f"Accepted: {self.path}")
        self.assertNotIn("Proposed: ", self.said())
        content = self.decision(cli, "ide/diffAccepted")["content"]
        self.assertEqual(content, rows(1449, _700="another"))

    def test_a_long_page_is_scrolled_and_a_long_list_follows_its_bar(self) -> None:
        # The whole page, of whatever length, and the palette are longer than this terminal.
        before = self.said()
        self.editor.resize(12, 100)
        wait_for(lambda: self.said() != before)
        self.see("-- lines 1 to ")
        first = self.said()
        self.editor.press(" ")
        self.see("-- lines ", gone="-- lines 1 to ")
        self.assertNotEqual(self.said().split("\n")[0], first.split("\n")[0])
        self.press("b", "-- lines 1 to ")
        self.press("\x1b[B", "-- lines 2 to ")
        self.press("\x1b")
        self.see(gone="-- lines")
        self.press(":\r", "> 1  Gemini Companion:")
        self.press("\x1b[A", "Gemini Companion: Key Bindings")
        self.assertRegex(self.said(), r"> \d+  Gemini Companion: Key Bindings")
        self.press("\x1b")
        self.see(gone="Key Bindings")

    def test_escape_closes_the_panel_then_the_text_that_is_there_to_be_looked_at(self) -> None:
        self.press("\x1b")
        self.see(gone="Two minutes")
        self.review()
        self.decide("a", f"Accepted: {self.path}")
        self.press("h", "> 1  a.py")
        self.press("1", "> 1  Show it")
        self.press("1", "a.py (accepted edit)")
        self.press("\r", "Nothing here has a link")
        self.press("s", "Connected: Gemini CLI")
        self.press("\x1b")
        self.see("a.py (accepted edit)", gone="Connected: Gemini CLI")
        self.press("\x1b")
        self.see("Nothing waits for you here.", gone="a.py (accepted edit)")
        self.assertNotIn("[Escape]", self.said())

    def test_a_key_hides_the_others_and_one_lists_what_was_said(self) -> None:
        self.press("\x1b", "Nothing waits for you here.")
        self.press("?", "[h]istory")
        self.press("?", "[q]uit  [?] keys")
        self.see(gone="[:] commands")
        self.press("?", "[:] commands")
        self.press("m", "The editor runs on", "[Escape] closes this")
        self.press("\x1b", "Nothing waits for you here.")

    def test_a_tab_is_gone_to_in_a_list_written_in_and_saved(self) -> None:
        self.press("\x1b", "Nothing waits for you here.")
        name = os.path.relpath(self.path, self.editor.folders[0])
        self.press(f"o{name}\r", "a.py", "[Escape] hides this tab")
        self.press("tmine ", "mine old", "a.py (not saved)")
        self.press("\x1b", "[:] commands")
        self.press("\x1b", "Nothing waits for you here.", "a.py (not saved)")
        self.press("g", f"a.py (not saved) - {self.path[:20]}")
        self.press("\r", "mine old")
        self.press("\x13", f"Saved: {self.path}")
        self.assertEqual(pathlib.Path(self.path).read_text(), "mine old\n")
        self.press("t\x17", "Nothing waits for you here.")

    def test_a_tab_without_a_file_is_saved_where_the_person_says_but_over_no_file(self) -> None:
        self.review()
        self.decide("l", "Its text stays as the tab")
        self.press("g", "(not saved)")
        self.press("\r", "new", "[Escape] hides this tab")
        there = os.path.relpath(self.path, self.editor.folders[0])
        self.press(f"\x13{there}\r", f"{there} is there already: nothing is saved.")
        self.assertEqual(pathlib.Path(self.path).read_text(), "old\n")
        path = os.path.join(self.folder, "kept.py")
        self.press(f"\x13{path}\r", f"Saved: {path}")
        self.assertEqual(pathlib.Path(path).read_text(), "new\n")
        self.press("t\x17", "Welcome to Gemini Companion")

    def test_in_a_narrow_terminal_the_keys_stand_in_more_lines(self) -> None:
        self.review()
        self.see("re[l]ease")
        self.editor.resize(30, 40)
        self.see("[n]ext", "[e]dit first", "[R]eject with note", "re[l]ease", "[q]uit", "+ new")

    def test_a_note_is_typed_below_and_escape_takes_the_rejection_back(self) -> None:
        cli = self.review()
        self.press("Rtoo", "the CLI: too")
        self.press("\x1b")
        self.see(gone="the CLI: too")
        self.press("Rtoo short\x7f\r", f"Rejected: {self.path}")
        self.assertEqual(self.decision(cli, "ide/diffRejected"), {"filePath": self.path})

    def test_arrows_and_enter_choose_in_a_list(self) -> None:
        cli = self.review()
        self.open_diff(cli, "new\n", os.path.join(self.folder, "b.py"))
        self.see("(1 more waiting: w)")
        self.press("w", "> 1  a.py")
        self.press("\x1b[B", "> 2  b.py")
        self.press("\r")
        self.see("b.py (proposed)", "(1 more", gone="> 2")

    def test_a_word_that_is_typed_in_a_list_decides_nothing(self) -> None:
        cli = self.review()
        self.open_diff(cli, "new\n", os.path.join(self.folder, "b.py"))
        self.see("(1 more waiting: w)")
        self.press("w", "> 1  a.py")
        self.press("qrale\x1b[B", "> 2  b.py")
        self.press("\x1b")
        self.see("a.py (proposed)", "(1 more", gone="> 2")

    def test_in_a_chat_keys_go_to_the_tab_until_escape(self) -> None:
        self.press(":new chat\r", "Chat")
        self.press("t", "Escape: back to the commands")
        self.press(":q of\x1b[200~fered\rtwo\x1b[201~", ":q offered\ntwo")
        self.press("\x1b[19~", "f8, and then?")
        self.press("z")
        self.see(gone="and then?")
        with self.editor.lock:
            cursor = self.editor.screen.cursor
            place = self.editor.screen.display[cursor.y].rstrip(), cursor.x, cursor.hidden
        self.assertEqual(place, ("two", 3, False))
        self.press("\x1b[200~" + "\n" * 40 + "\x1b[201~", "-- lines ")
        self.assertRegex(self.said(), r"-- lines \d+ to \d+ of \d+ --")
        self.press("\x1b", "[q]uit", "[Enter] lists its links", "[space] [b]ack --")
        self.assertIn("Ctrl+W: closes this chat", self.said())
        self.press("\x1b", "A chat stays open")
        self.press("t\x17")
        self.see(gone="-- lines")
