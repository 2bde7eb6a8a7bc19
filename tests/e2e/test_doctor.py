"""What the doctor says is what the real Gemini CLI runs into: each step made to fail once.

But for the step "Proxy": all CLIs that can be had go past proxies to 127.0.0.1, and nothing is in
their way (here, and tests/e2e/test_qwen_code.py).
"""

from __future__ import annotations

import glob
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock

from cli import BINARY, PATIENCE, SETTINGS, TRIES, GeminiCli, environment
from editor import ROOT, Editor
from model_server import ModelServer, serve

# Seconds between two reports.
PAUSE = 0.1
# Seconds after which a connection that the CLI said it has ended is one that stays.
STAYS = 20.0
NOT_SUPPORTED = "IDE integration is not supported in your current environment"
FAILED_TO_CONNECT = "Failed to connect to IDE companion extension"
# The command with its answer: that it did not help, or that it is none now.
ENABLED = re.compile(f"/ide enable.*({FAILED_TO_CONNECT}|requires a subcommand)", re.DOTALL)
WITHOUT_EDITORS = {**SETTINGS, "ide": {"enabled": False, "hasSeenNudge": True}}
# As a container or a sandbox has it: something of its own for one program.
UNSHARE = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"])]


def can_unshare(what: str) -> bool:
    """Whether this machine lets us have a network or mounts of our own."""
    with suppress(OSError):
        done = subprocess.run([*UNSHARE, what, "true"], stderr=subprocess.DEVNULL)
        return done.returncode == 0
    return False


def failure_in(section: str) -> str:
    """The step that the doctor says fails, in its words on one CLI; empty where none does."""
    lines = [line for line in section.split("\n") if "FAILED" in line]
    return lines[0].split("FAILED")[1].strip() if lines else ""


def words_on(editor: Editor, cli: GeminiCli) -> str:
    """The doctor's words on one CLI. Of those in no window's folder it tells of the eight newest,
    and this machine may have more, of other tests."""
    ends = time.monotonic() + PATIENCE
    found: list[str] = []
    while time.monotonic() < ends:
        found = editor.reports("Gemini CLI")
        for section in found:
            if int(section.partition(",")[0]) in (cli.pid, *children(cli.pid)):
                return section
    raise AssertionError(f"nothing is told of process {cli.pid}: {found}")


def of_new(editor: Editor) -> str:
    """The step at which a CLI would fail that is started now."""
    report = str(editor.do("report"))
    return failure_in(report.partition("Gemini CLI, if you start it in ")[2].split("\nGemini")[0])


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
    variables: dict[str, str]
    early: GeminiCli
    astray: GeminiCli
    inside: GeminiCli
    apart: GeminiCli | None

    @classmethod
    def setUpClass(cls) -> None:
        cls.root = os.path.realpath(tempfile.mkdtemp(prefix="e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, True)
        cls.folder, cls.temp = cls.new_folder("work"), cls.new_folder("tmp")
        cls.model = ModelServer()
        cls.model.__enter__()
        cls.addClassCleanup(cls.model.__exit__, None, None, None)
        # A proxy that does not answer: the CLI goes past it, though only the model's is named.
        proxy = {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
        model = cls.model.url.replace("127.0.0.1", "localhost")
        proxy.update(NO_PROXY="localhost", GOOGLE_GEMINI_BASE_URL=model)
        cls.early = cls.new_cli("early")
        cls.empty = cls.new_folder("empty")
        cls.astray = cls.new_cli("astray", TMPDIR=cls.empty)
        # Its prompt stands there before it has looked for an editor.
        cls.early.say_until("/ide enable", NOT_SUPPORTED)
        path = os.path.dirname(BINARY) + os.pathsep + os.environ["PATH"]
        with mock.patch.dict(os.environ, {"PATH": path, "HOME": cls.new_folder("user")}):
            cls.editor = Editor(cls.folder, cls.new_folder("data"), cls.temp)
        cls.addClassCleanup(cls.editor.close)
        cls.editor.do("wait_until_served")
        cls.variables = proxy
        cls.cli = cls.new_cli("home", **proxy)
        cls.inside = cls.new_cli("inside", SSH_CONNECTION="")
        cls.apart = cls.new_apart() if can_unshare("--net") else None
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

    @classmethod
    def new_apart(cls) -> GeminiCli:
        """A CLI with a network of its own."""
        path = os.path.join(cls.root, "apart.sh")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec {' '.join(UNSHARE)} --net {BINARY}\n")
        os.chmod(path, 0o755)
        with mock.patch.object(GeminiCli, "program", path):
            return cls.new_cli("apart")

    def of(self, cli: GeminiCli) -> str:
        return words_on(self.editor, cli)

    def failure(self, cli: GeminiCli) -> str:
        """The step that it says fails; empty where none does."""
        return failure_in(self.of(cli))

    def until_it_fails(self, cli: GeminiCli, step: str) -> str:
        """Until the doctor says that it fails at this step, a pattern: a connection that the CLI
        has just ended may be there for a moment longer. Gives what it says fails. A report looks
        at all processes of the machine, so that there are pauses between them."""
        ends, section = time.monotonic() + PATIENCE, self.of(cli)
        while not re.search(step, failure_in(section)) and time.monotonic() < ends:
            time.sleep(PAUSE)
            section = self.of(cli)
        self.assertRegex(failure_in(section), step, section)
        return failure_in(section)

    def until_nothing_fails(self) -> None:
        self.until_it_fails(self.cli, "^$")

    def disconnect(self) -> None:
        """Until the CLI is not connected. One that connects while it makes its list of commands may
        keep the list of before, and offer no end of it (docs/protocol.md 3.26): one that never
        connects by itself takes its place. So this comes before anything is put into its way."""
        try:
            self.cli.say_until("/ide disable", "Disconnected", "requires a subcommand")
            is_over = self.is_disconnected()
        except LookupError:
            is_over = False
        if not is_over:
            self.cli.kill()
            with mock.patch.object(GeminiCli, "settings", WITHOUT_EDITORS):
                type(self).cli = self.new_cli("home", **self.variables)
            self.cli.wait_ready()

    def is_disconnected(self) -> bool:
        """Whether the doctor says so after a while. Where the machine is busy `/ide enable` was
        given twice, and the first of its two connections stays (docs/protocol.md 3.26)."""
        ends = time.monotonic() + STAYS
        while not self.failure(self.cli) and time.monotonic() < ends:
            time.sleep(PAUSE)
        return bool(self.failure(self.cli))

    def enable(self, words: str) -> None:
        self.cli.say_until("/ide enable", words)

    def own_file(self) -> str:
        """The editor's discovery file."""
        names = self.editor.discovery_files()
        self.assertEqual(len(names), 1, names)
        (name,) = names
        return os.path.join(self.temp, "gemini", "ide", name)

    def first_file(self, port: int) -> str:
        """The name of a file that the CLI reads before the editor's: of a process that lives and
        has a larger number (docs/protocol.md 5.39). The editor started this one right after itself;
        the system's numbers may have begun anew before the CLI's."""
        pid = children(self.editor.pid)[0]
        self.assertGreater(pid, self.editor.pid, "the system's numbers began anew in between")
        name = f"gemini-ide-server-{pid}-{port}.json"
        return os.path.join(os.path.dirname(self.own_file()), name)

    def test_nothing_is_in_the_way_of_one_that_connects_past_a_proxy(self) -> None:
        self.until_nothing_fails()

    def test_one_that_does_not_connect_to_editors(self) -> None:
        self.disconnect()
        self.until_it_fails(self.cli, "^Connecting to editors: ide.enabled is not set")
        self.enable("Connected to Sublime Text")
        self.until_nothing_fails()

    def test_the_file_of_an_editor_that_is_gone(self) -> None:
        self.disconnect()
        with open(self.own_file(), encoding="utf-8") as file:
            content = json.load(file)
        dead = self.first_file(9)
        with open(dead, "w", encoding="utf-8") as file:
            json.dump({**content, "port": 9}, file)
        self.addCleanup(lambda: os.path.exists(dead) and os.unlink(dead))
        self.enable(FAILED_TO_CONNECT)
        failure = self.until_it_fails(self.cli, "^Which file it reads: .* an editor that has ended")
        self.assertIn(os.path.basename(dead), failure)
        self.editor.do("remedy", "sweep", dead)
        self.editor.do("wait_for", "exists", False, dead)
        self.enable("Connected to Sublime Text")
        self.until_nothing_fails()

    def test_a_token_that_the_window_does_not_know(self) -> None:
        self.disconnect()
        with open(self.own_file(), encoding="utf-8") as file:
            content = json.load(file)
        with open(self.own_file(), "w", encoding="utf-8") as file:
            json.dump({**content, "authToken": "another"}, file)
        self.enable(FAILED_TO_CONNECT)
        self.until_it_fails(self.cli, "^Which file it reads: .* token")
        self.editor.do("remedy", "write_again")
        self.editor.do("wait_for", "holds", True, self.own_file(), content["authToken"])
        # Nothing is in the way any more, and the CLI does not try again by itself.
        self.cli.wait_status("Disconnected")
        self.until_it_fails(self.cli, "^Connected: Nothing is in the way")
        self.enable("Connected to Sublime Text")
        self.until_nothing_fails()

    def test_a_file_that_leads_to_a_port_at_which_no_editor_answers(self) -> None:
        self.disconnect()
        server = ThreadingHTTPServer(("127.0.0.1", 0), NoEditor)
        serve(server)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        with open(self.own_file(), encoding="utf-8") as file:
            content = json.load(file)
        port = server.server_address[1]
        path = self.first_file(port)
        self.write(path, json.dumps({**content, "port": port}))
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        self.enable(FAILED_TO_CONNECT)
        failure = self.until_it_fails(self.cli, "^Which file it reads: .* no editor answers")
        self.assertIn(os.path.basename(path), failure)
        os.unlink(path)
        self.enable("Connected to Sublime Text")

    def test_a_folder_for_the_file_that_is_none(self) -> None:
        self.disconnect()
        folder = os.path.dirname(self.own_file())
        os.rename(folder, folder + ".aside")
        self.write(folder, "")
        self.editor.do("remedy", "write_again")
        self.enable(FAILED_TO_CONNECT)
        self.until_it_fails(self.cli, "^Discovery file: .* should be a folder")
        os.unlink(folder)
        self.editor.do("remedy", "write_again")
        self.editor.do("wait_for", "exists", True, folder)
        self.enable("Connected to Sublime Text")
        self.until_nothing_fails()

    def test_a_window_without_a_server(self) -> None:
        (host,) = children(self.editor.pid)[:1]
        limits = resource.prlimit(host, resource.RLIMIT_NOFILE)
        self.addCleanup(resource.prlimit, host, resource.RLIMIT_NOFILE, limits)
        # One that is connected would have to notice first.
        self.disconnect()
        # What the companion has open, it gives back; it gets nothing of that again.
        of_server = [fd for fd, opened in open_files(host) if opened.startswith(("anon", "socket"))]
        resource.prlimit(host, resource.RLIMIT_NOFILE, (min(of_server), limits[1]))
        self.editor.do("remedy", "restart")
        self.editor.do("wait_for", "is_told", True, "It stopped working")
        resource.prlimit(host, resource.RLIMIT_NOFILE, limits)
        self.enable(FAILED_TO_CONNECT)
        self.until_it_fails(self.cli, "^Server of this window: It stopped working")
        self.editor.do("remedy", "restart")
        self.editor.do("wait_until_served")
        self.enable("Connected to Sublime Text")
        self.until_nothing_fails()

    def test_one_in_a_network_of_its_own(self) -> None:
        """What it has to do, the CLI of the other tests does: run in the editor's."""
        if self.apart is None:
            self.skipTest("this machine lets nobody have a network of their own (unshare --net)")
        self.apart.wait_status(FAILED_TO_CONNECT)
        self.until_it_fails(self.apart, "^Port: The CLI runs in a network of its own")

    def test_another_folder_and_none(self) -> None:
        self.disconnect()
        self.addCleanup(self.editor.do, "set_folders", self.folder)
        self.editor.do("set_folders", self.new_folder("elsewhere"))
        self.enable("Directory mismatch")
        self.until_it_fails(self.cli, "^Folder of the CLI: The CLI runs in ")
        self.editor.do("set_folders")
        self.enable("please open a workspace folder")
        self.until_it_fails(self.cli, "^Folder of this window: ")
        self.editor.do("remedy", "add_folder", self.folder)
        self.editor.do("wait_for", "advertised", [self.folder])
        self.enable("Connected to Sublime Text")
        self.until_nothing_fails()

    def test_one_that_was_started_before_the_editor(self) -> None:
        self.early.say_until("/ide enable", NOT_SUPPORTED)
        self.until_it_fails(self.early, "^Detection: .* was started at")

    def test_one_that_looks_into_another_temp_folder(self) -> None:
        self.astray.say_until("/ide enable", NOT_SUPPORTED)
        failure = self.failure(self.astray)
        self.assertRegex(failure, f"^Where the CLI looks: The CLI looks into {self.empty}")

    @unittest.skipUnless(os.path.exists("/.dockerenv"), "this is no container")
    def test_one_in_a_container_that_calls_its_host(self) -> None:
        self.inside.wait_status(FAILED_TO_CONNECT)
        self.until_it_fails(self.inside, "^Host: /.dockerenv ")

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
            self.until_it_fails(self.cli, f"^Settings of the CLI: .*{words}")
        for process in started:
            said, _ = process.communicate(timeout=PATIENCE)
            self.assertIn(b"Please fix the configuration file", said)
            self.assertNotEqual(process.returncode, 0)

    def test_without_a_way_to_log_in_the_cli_stops(self) -> None:
        """What the doctor says of that, `Welcome` sees: it is said before any CLI runs."""
        home = self.new_folder("nobody")
        # The address of the model would count as the choice of a gateway.
        without_key = {"GEMINI_API_KEY": "", "GOOGLE_GEMINI_BASE_URL": "", "TMPDIR": self.temp}
        process = subprocess.run(
            [BINARY, "-p", "hello"],
            env=environment(home, self.model.url, without_key),
            cwd=self.new_folder("elsewhere"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
        )
        self.assertIn(b"Please set an Auth method", process.stdout)
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


class NoEditor(BaseHTTPRequestHandler):
    """Knows none of the requests. It reads them whole, for the answer to what is not read is lost
    with the connection."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_error(501)

    def log_message(self, *_arguments: object) -> None:
        pass


class FirstStart(GeminiCli):
    """Of a user who has never used it."""

    settings = None


@unittest.skipUnless(os.path.exists(BINARY), "the CLI is not installed: make setup")
@unittest.skipUnless(can_unshare("--mount"), "this machine lets nobody mount (unshare --mount)")
@unittest.skipIf(f"{ROOT}{sys.executable}{BINARY}".count("/tmp/"), "/tmp is what is hidden here")
class Sandbox(unittest.TestCase):
    """The machine's /tmp, and that of the editor, are two folders of the test."""

    def test_an_editor_with_a_tmp_of_its_own_is_found_by_a_folder_that_both_see(self) -> None:
        root = os.path.realpath(tempfile.mkdtemp(prefix="e2e-", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, root, True)
        private, outside = os.path.join(root, "snap.sublime-text"), os.path.join(root, "outside")
        work, home, user = (os.path.join(root, name) for name in ("work", "home", "user"))
        for folder in (private, outside, work, user):
            os.mkdir(folder)
        with mock.patch.dict(os.environ, {"SNAP_NAME": "sublime-text", "GEMINI_API_KEY": "none"}):
            path = os.path.dirname(BINARY) + os.pathsep + os.environ["PATH"]
            with mock.patch.dict(os.environ, {"PATH": path}):
                python = self.with_tmp(private, sys.executable)
                editor = Editor(work, os.path.join(root, "data"), "/tmp", python=python, home=user)
        self.addCleanup(editor.close)
        editor.do("wait_until_served")
        model = ModelServer()
        model.__enter__()
        self.addCleanup(model.__exit__, None, None, None)
        with mock.patch.object(GeminiCli, "program", self.with_tmp(outside, BINARY)):
            cli = self.new_failing_cli(home, work, model)
        self.assertRegex(
            failure_in(words_on(editor, cli)), "^Where Sublime Text runs: .* a /tmp of its own"
        )
        editor.do("setting", "extra_discovery_folder", outside)
        editor.do("remedy", "restart")
        editor.do("wait_for", "exists", True, os.path.join(outside, "gemini", "ide"))
        cli.say_until("/ide enable", "Connected to Sublime Text")
        self.assertEqual(failure_in(words_on(editor, cli)), "")

    def new_failing_cli(self, home: str, folder: str, model: ModelServer) -> GeminiCli:
        """A CLI that finds no editor, and can be told to look again: one that makes its list of
        commands while it looks may offer to end the connection in place of that."""
        for _ in range(TRIES):
            # It knows of an editor by its terminal, and goes on looking for it.
            variables = {"TMPDIR": "/tmp", "TERM_PROGRAM": "sublime"}
            cli = GeminiCli(home, folder, model.url, variables)
            self.addCleanup(cli.close)
            cli.wait_status(FAILED_TO_CONNECT)
            cli.say("/ide enable")
            cli.wait_until(lambda screen: bool(ENABLED.search(screen)), "an answer to /ide enable")
            if FAILED_TO_CONNECT in cli.screen().rpartition("/ide enable")[2]:
                return cli
            cli.kill()
        raise TimeoutError(f"it never offers /ide enable:\n{cli.screen()}")

    def with_tmp(self, folder: str, program: str) -> str:
        """A program that starts this one with the folder in the place of /tmp."""
        path = f"{folder}.sh"
        mount = 'mount --bind "$0" /tmp && exec "$@"'
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec {' '.join(UNSHARE)} --mount ")
            file.write(f"sh -c '{mount}' {folder} {program} \"$@\"\n")
        os.chmod(path, 0o755)
        return path


# Where the editor looks, whatever the home folder is.
OTHERS = ("/usr/local/bin/gemini", "/opt/homebrew/bin/gemini")


@unittest.skipUnless(os.path.exists(BINARY), "the CLI is not installed: make setup")
@unittest.skipIf(any(map(os.path.exists, OTHERS)), "a CLI of this machine would be found")
class Welcome(unittest.TestCase):
    def test_from_an_empty_home_to_the_first_accepted_edit_by_following_the_page(self) -> None:
        root = os.path.realpath(tempfile.mkdtemp(prefix="e2e-"))
        self.addCleanup(shutil.rmtree, root, True)
        home, work, temp, data = (
            os.path.join(root, name) for name in ("home", "work", "tmp", "data")
        )
        for folder in (home, work, temp, os.path.join(data, "Packages", "User")):
            os.makedirs(folder)
        started = os.path.join(root, "started.json")
        # A terminal that writes down what it is to start; the test starts it in one of its own.
        code = "import json, sys; json.dump(sys.argv[2:], open(sys.argv[1], 'w'))"
        terminal = [sys.executable, "-c", code, started, "{command}"]
        user = os.path.join(data, "Packages", "User", "GeminiCompanion.sublime-settings")
        with open(user, "w", encoding="utf-8") as file:
            json.dump({"terminal_command": terminal}, file)
        programs, path = os.path.join(root, "bin"), os.environ["PATH"]
        os.mkdir(programs)
        os.symlink(shutil.which("node") or "", os.path.join(programs, "node"))
        variables = {"PATH": programs, "HOME": home, "GEMINI_API_KEY": "", "NO_PROXY": ""}
        # As the CLI is started here, so that a container is none for it.
        variables["SSH_CONNECTION"] = "127.0.0.1 1 127.0.0.1 2"
        model = ModelServer()
        with model, mock.patch.dict(os.environ, variables):
            editor = Editor(work, data, temp)
            self.addCleanup(editor.close)
            editor.do("wait_until_served")
            editor.do("command", "gemini_companion_welcome")
            editor.do("wait_for", "page_says", True, "Gemini CLI was not found")
            self.assertRegex(of_new(editor), "^CLI: Gemini CLI was not found")
            shell = subprocess.run(["/bin/sh", "-c", "gemini"], stderr=subprocess.DEVNULL)
            self.assertEqual(shell.returncode, 127)
            # What the command that the page names does with a prefix in the home folder.
            os.makedirs(os.path.join(home, ".npm-global", "bin"))
            os.symlink(BINARY, os.path.join(home, ".npm-global", "bin", "gemini"))
            editor.do("wait_for", "page_says", True, "PATH does not lead to it")
            self.assertRegex(of_new(editor), "^CLI: .* PATH does not lead to it")
            editor.do("click_page", "Use it")
            editor.do("wait_for", "page_says", False, "PATH does not lead to it")
            self.assertRegex(of_new(editor), "^Login: No way to log in was found")
            editor.do("wait_for", "page_says", True, "ide.enabled is not set")
            editor.do("click_page", "Enable")
            editor.do("choose", 0)
            editor.do("wait_for", "page_says", False, "ide.enabled is not set")
            editor.do("wait_for", "page_says", True, "No CLI is connected")
            editor.do("click_page", "Run Gemini CLI")
            editor.do("wait_for", "is_json", True, started)
            with open(started, encoding="utf-8") as file:
                (FirstStart.program,) = json.load(file)
            # The key that the page asks for; it is in the CLI's terminal only.
            variables = {"TMPDIR": temp, "PATH": path, "GEMINI_API_KEY": "none"}
            # Two processes, as the user has it.
            variables["GEMINI_CLI_NO_RELAUNCH"] = ""
            cli = FirstStart(home, work, model.url, variables)
            self.addCleanup(cli.close)
            # Its own questions of a first start; that for the editor is not among them.
            cli.take_offers(
                "Do you trust the files in this folder?",
                "How would you like to authenticate",
                "Enter Gemini API Key",
            )
            cli.wait_connected()
            editor.do("wait_for", "page_says", False, "No way to log in was found")
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


def open_files(pid: int) -> list[tuple[int, str]]:
    """The numbers of what the process has open, and what it is."""
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):
            found.append((int(name), os.readlink(f"/proc/{pid}/fd/{name}")))
    return found


def children(pid: int) -> list[int]:
    """All processes below this one."""
    found: list[int] = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with suppress(OSError), open(path, encoding="ascii") as file:
            for child in map(int, file.read().split()):
                found += [child, *children(child)]
    return found
