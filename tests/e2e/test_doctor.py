"""What the doctor says is what the real Gemini CLI runs into: each step made to fail once."""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from contextlib import suppress
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cli import BINARY, PATIENCE, PROGRAMS, GeminiCli, environment  # noqa: E402
from editor import Editor  # noqa: E402
from model_server import ModelServer  # noqa: E402

NOT_SUPPORTED = "IDE integration is not supported in your current environment"
FAILED_TO_CONNECT = "Failed to connect to IDE companion extension"
DISCOVERY = "gemini-ide-server-*.json"


@unittest.skipUnless(os.path.exists(BINARY), "the CLI is not installed: make setup")
@unittest.skipUnless(os.path.isdir("/proc/self"), "this system does not tell a CLI's folder")
class Doctor(unittest.TestCase):
    """One editor and one CLI, whose way is blocked in one place after the other."""

    root: str
    folder: str
    temp: str
    empty: str
    model: ModelServer
    editor: Editor
    cli: GeminiCli
    early: GeminiCli
    astray: GeminiCli
    inside: GeminiCli

    @classmethod
    def setUpClass(cls) -> None:
        cls.root = os.path.realpath(tempfile.mkdtemp(prefix="e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, True)
        cls.folder, cls.temp = cls.new_folder("work"), cls.new_folder("tmp")
        cls.model = ModelServer()
        cls.model.__enter__()
        cls.addClassCleanup(cls.model.__exit__, None, None, None)
        # A proxy that does not answer: the CLI goes past it.
        proxy = {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
        cls.early = cls.new_cli("early")
        cls.empty = cls.new_folder("empty")
        cls.astray = cls.new_cli("astray", TMPDIR=cls.empty)
        cls.early.wait_ready()
        path = os.path.dirname(BINARY) + os.pathsep + os.environ["PATH"]
        with mock.patch.dict(os.environ, {"PATH": path, "HOME": cls.new_folder("user")}):
            cls.editor = Editor(cls.folder, cls.new_folder("data"), cls.temp)
        cls.addClassCleanup(cls.editor.close)
        cls.editor.do("wait_until_served")
        cls.cli = cls.new_cli("home", **proxy)
        cls.inside = cls.new_cli("inside", SSH_CONNECTION="")
        cls.cli.wait_connected()

    @classmethod
    def new_folder(cls, name: str) -> str:
        path = os.path.join(cls.root, name)
        os.makedirs(path, exist_ok=True)
        return path

    @classmethod
    def new_cli(cls, home: str, folder: str = "", **variables: str) -> GeminiCli:
        variables = {"TMPDIR": cls.temp, **variables}
        cli = GeminiCli(cls.new_folder(home), folder or cls.folder, cls.model.url, variables)
        cls.addClassCleanup(cli.close)
        return cli

    def of(self, cli: GeminiCli) -> str:
        """The doctor's words on one CLI."""
        report = str(self.editor.do("report"))
        for section in report.split("Gemini CLI, ")[1:]:
            pid = int(section.split()[1].rstrip(","))
            if pid in (cli.pid, *children(cli.pid)):
                return section
        return report

    def failure(self, cli: GeminiCli) -> str:
        """The step that it says fails; empty where none does."""
        lines = [line for line in self.of(cli).split("\n") if "FAILED" in line]
        return lines[0].split("FAILED")[1].strip() if lines else ""

    def reconnect(self, words: str) -> None:
        """Until the CLI, connected now, has tried once more, and says this."""
        self.cli.say_until("/ide disable", "Disconnected")
        self.enable(words)

    def enable(self, words: str) -> None:
        self.cli.say_until("/ide enable", words)

    def own_file(self) -> str:
        """The editor's discovery file."""
        # One that is being written has another name.
        names = [name for name in self.editor.discovery_files() if name.endswith(".json")]
        self.assertEqual(len(names), 1, names)
        (name,) = names
        return os.path.join(self.temp, "gemini", "ide", name)

    def test_nothing_is_in_the_way_of_one_that_connects_past_a_proxy(self) -> None:
        self.assertEqual(self.failure(self.cli), "")

    def test_one_that_does_not_connect_to_editors(self) -> None:
        self.cli.say_until("/ide disable", "Disconnected")
        self.assertRegex(self.failure(self.cli), "^Connecting to editors: ide.enabled is not set")
        self.enable("Connected to Sublime Text")
        self.assertEqual(self.failure(self.cli), "")

    def test_the_file_of_an_editor_that_is_gone(self) -> None:
        with open(self.own_file(), encoding="utf-8") as file:
            content = json.load(file)
        # Of a process that lives and has a larger number, so that it comes first.
        name = f"gemini-ide-server-{self.cli.pid}-9.json"
        dead = os.path.join(os.path.dirname(self.own_file()), name)
        with open(dead, "w", encoding="utf-8") as file:
            json.dump({**content, "port": 9}, file)
        self.addCleanup(lambda: os.path.exists(dead) and os.unlink(dead))
        self.reconnect(FAILED_TO_CONNECT)
        self.assertIn(name, self.failure(self.cli))
        self.assertRegex(self.failure(self.cli), "^Which file it reads: .* an editor that is gone")
        self.editor.do("remedy", "sweep", dead)
        self.editor.do("wait_for", "exists", False, dead)
        self.enable("Connected to Sublime Text")
        self.assertEqual(self.failure(self.cli), "")

    def test_a_token_that_the_window_does_not_know(self) -> None:
        with open(self.own_file(), encoding="utf-8") as file:
            content = json.load(file)
        with open(self.own_file(), "w", encoding="utf-8") as file:
            json.dump({**content, "authToken": "another"}, file)
        self.reconnect(FAILED_TO_CONNECT)
        self.assertRegex(self.failure(self.cli), "^Which file it reads: .* token")
        self.editor.do("remedy", "write_again")
        self.editor.do("wait_for", "holds", True, self.own_file(), content["authToken"])
        self.enable("Connected to Sublime Text")

    def test_another_folder_and_none(self) -> None:
        self.editor.do("set_folders", self.new_folder("elsewhere"))
        self.reconnect("Directory mismatch")
        self.assertRegex(self.failure(self.cli), "^Folder of the CLI: The CLI runs in ")
        self.editor.do("set_folders")
        self.enable("please open a workspace folder")
        self.assertRegex(self.failure(self.cli), "^Folder of this window: ")
        self.editor.do("remedy", "add_folder", self.folder)
        self.editor.do("wait_for", "advertised", [self.folder])
        self.enable("Connected to Sublime Text")
        self.assertEqual(self.failure(self.cli), "")

    def test_one_that_was_started_before_the_editor(self) -> None:
        self.early.say("/ide enable")
        self.early.wait_for(NOT_SUPPORTED)
        self.assertRegex(self.failure(self.early), "^Detection: .* was started at")

    def test_one_that_looks_into_another_temp_folder(self) -> None:
        self.astray.wait_ready()
        self.astray.say("/ide enable")
        self.astray.wait_for(NOT_SUPPORTED)
        failure = self.failure(self.astray)
        self.assertRegex(failure, f"^Where the CLI looks: The CLI looks into {self.empty}")

    @unittest.skipUnless(os.path.exists("/.dockerenv"), "this is no container")
    def test_one_in_a_container_that_calls_its_host(self) -> None:
        self.inside.wait_status(FAILED_TO_CONNECT)
        self.assertRegex(self.failure(self.inside), "^Host: /.dockerenv ")

    def test_settings_at_which_the_cli_stops(self) -> None:
        path = os.path.join(self.root, "home", ".gemini", "settings.json")
        with open(path, encoding="utf-8") as file:
            before = file.read()
        self.addCleanup(self.write, path, before)
        broken = (
            ('{\n"ide": {"enabled": true}\n"a": 1}', "line 3: expected"),
            ('{"ide": {"enabled": true,},}', "commas before closing brackets"),
        )
        # Both at a time, each in a home of its own.
        started = [self.start_with(f"broken{at}", text) for at, (text, _) in enumerate(broken)]
        for text, words in broken:
            self.write(path, text)
            self.assertRegex(self.failure(self.cli), f"^Settings of the CLI: .*{words}")
        for process in started:
            said, _ = process.communicate(timeout=PATIENCE)
            self.assertIn(b"Please fix the configuration file", said)
            self.assertNotEqual(process.returncode, 0)

    def start_with(self, home: str, settings: str) -> subprocess.Popen[bytes]:
        """A CLI with these settings, which is to answer and leave."""
        home = self.new_folder(home)
        os.mkdir(os.path.join(home, ".gemini"))
        self.write(os.path.join(home, ".gemini", "settings.json"), settings)
        process = subprocess.Popen(
            [BINARY, "-p", "hello"],
            env=environment(home, self.model.url, {"TMPDIR": self.temp}),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def write(self, path: str, text: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


class FirstStart(GeminiCli):
    """Of a user who has never used it."""

    settings = None


@unittest.skipUnless(os.path.exists(BINARY), "the CLI is not installed: make setup")
class Welcome(unittest.TestCase):
    def test_from_an_empty_home_to_the_first_accepted_edit_by_following_the_page(self) -> None:
        root = os.path.realpath(tempfile.mkdtemp(prefix="e2e-"))
        self.addCleanup(shutil.rmtree, root, True)
        home, work, temp, data = (os.path.join(root, it) for it in ("home", "work", "tmp", "data"))
        for folder in (home, work, temp, os.path.join(data, "Packages", "User")):
            os.makedirs(folder)
        started = os.path.join(root, "started.json")
        # A terminal that writes down what it is to start; the test starts it in one of its own.
        code = "import json, sys; json.dump(sys.argv[2:], open(sys.argv[1], 'w'))"
        terminal = [sys.executable, "-c", code, started, "{command}"]
        user = os.path.join(data, "Packages", "User", "GeminiCompanion.sublime-settings")
        with open(user, "w", encoding="utf-8") as file:
            json.dump({"terminal_command": terminal}, file)
        path = PROGRAMS + os.pathsep + os.environ["PATH"]
        variables = {"PATH": path, "HOME": home, "GEMINI_API_KEY": "none", "NO_PROXY": ""}
        model = ModelServer()
        with model, mock.patch.dict(os.environ, variables):
            editor = Editor(work, data, temp)
            self.addCleanup(editor.close)
            editor.do("wait_until_served")
            editor.do("command", "gemini_companion_welcome")
            editor.do("wait_for", "page_says", True, "ide.enabled is not set")
            editor.do("click_page", "Enable")
            editor.do("choose", 0)
            editor.do("wait_for", "page_says", False, "ide.enabled is not set")
            editor.do("wait_for", "page_says", True, "No CLI is connected")
            editor.do("click_page", "Run Gemini CLI")
            editor.do("wait_for", "is_json", True, started)
            with open(started, encoding="utf-8") as file:
                (FirstStart.program,) = json.load(file)
            cli = FirstStart(home, work, model.url, {"TMPDIR": temp})
            self.addCleanup(cli.close)
            # Its own questions of a first start; that for the editor is not among them.
            cli.take_offers(
                "Do you trust the files in this folder?",
                "How would you like to authenticate",
                "Enter Gemini API Key",
            )
            cli.wait_connected()
            editor.do("wait_for", "page_says", True, "Connected. Ask Gemini CLI to change a file")
            self.assertNotIn("Do you want to connect", cli.screen())
            path = os.path.join(work, "first.py")
            arguments = {"file_path": path, "content": "print('hello')\n"}
            model.will_call("write_file", arguments, "The end.")
            cli.say("write first.py please")
            editor.do("wait_for", "proposal", arguments["content"], path)
            editor.do("review", "accept_diff", path)
            editor.do("wait_for", "exists", True, path)
            editor.do("wait_for", "holds", True, path, arguments["content"])


def children(pid: int) -> list[int]:
    """All processes below this one."""
    found: list[int] = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with suppress(OSError), open(path, encoding="ascii") as file:
            for child in map(int, file.read().split()):
                found += [child, *children(child)]
    return found


if __name__ == "__main__":
    unittest.main()
