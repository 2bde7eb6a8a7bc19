"""`python -m companion.api` as a user starts it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import Any, Callable
from unittest import mock

import scripted
import small_disk
from agent_case import HERE, MODEL, PROGRAM, ROOT
from GeminiCompanion.companion.api.client import ApiError, Client
from GeminiCompanion.tests.support import is_alive, wait_for
from model_server import Gate, ModelServer, call

PATIENCE = 240
KEY = {"authType": "gemini-api-key", "apiKey": "the-key"}


class ProgramCase(unittest.TestCase):
    """With the scripted CLI, or the real one for `real` and with ALL=1. Where `is_shared`, what
    `prepare` makes serves all the tests of the class."""

    real = bool(os.environ.get("ALL"))
    is_shared = False
    shared: dict[str, Any]
    add_cleanup: Callable[..., object]

    def setUp(self) -> None:
        if "shared" in vars(type(self)):
            vars(self).update(self.shared)
        else:
            self.add_cleanup = self.addClassCleanup if self.is_shared else self.addCleanup
            self.prepare()
            if self.is_shared:
                # The names with an underscore are unittest's own, for this one test.
                type(self).shared = {
                    name: value for name, value in vars(self).items() if name[0] != "_"
                }
        # What a test starts for itself ends with it.
        self.add_cleanup = self.addCleanup

    def prepare(self) -> None:
        if self.real and not os.path.exists(PROGRAM):
            self.skipTest("the CLI is not installed: make setup")
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="api program-"))
        self.add_cleanup(shutil.rmtree, self.root, True)
        self.workspace = os.path.join(self.root, "workspace")
        os.mkdir(self.workspace)
        self.state = os.path.join(self.root, "cache", "state")
        self.programs = os.path.join(self.root, "programs")
        os.mkdir(self.programs)
        self.cli = HERE if self.real else scripted.find(self.programs)

    def start(
        self, *arguments: str, module: str = "companion.api", **more: Any
    ) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", module, "--cli", self.cli, "--state", self.state]
        path = os.pathsep.join([*([] if self.real else [self.programs]), os.environ["PATH"]])
        process = subprocess.Popen(
            [*command, *arguments],
            cwd=more.pop("cwd", ROOT),
            stdout=more.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PATH": path,
                "XDG_CACHE_HOME": os.path.join(self.root, "cache"),
                **more.pop("variables", {}),
            },
        )
        self.add_cleanup(self.end, process)
        return process

    def end(self, process: subprocess.Popen[str]) -> None:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE)

    def serve(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        process = self.start("--workspace", self.workspace, "--port", "0", *arguments, **more)
        if process.stdout is None:
            raise AssertionError("there is no output")
        self.told = "".join(process.stdout.readline() for _ in range(3))
        found = re.search(r"https?://127\.0\.0\.1:(\d+)", self.told)
        if found is None:
            raise AssertionError(self.told + str(process.communicate(timeout=PATIENCE)))
        self.port = int(found.group(1))
        with open(os.path.join(self.state, "token"), encoding="ascii") as file:
            self.token = file.read().strip()
        return process

    def greeting_in_terminal(self) -> str:
        """The three lines that the program writes to a terminal."""
        controller, terminal = os.openpty()
        with open(controller, encoding="utf-8") as lines:
            self.start("--workspace", self.workspace, "--port", "0", stdout=terminal)
            os.close(terminal)
            return "".join(lines.readline() for _ in range(3))

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        return json.loads(self.read(method, path, body))

    def read(self, method: str, path: str, body: Any = None) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, json.dumps(body or {}), headers)
            return connection.getresponse().read()
        finally:
            connection.close()


class WithModel(ProgramCase):
    def prepare(self) -> None:
        super().prepare()
        self.model = ModelServer()
        self.model.__enter__()
        self.add_cleanup(self.model.__exit__, None, None, None)

    def serve_model(self, *arguments: str) -> subprocess.Popen[str]:
        """A server that has a key for the model."""
        process = self.serve("--gemini-url", self.model.url, "--model", MODEL, *arguments)
        self.ask("POST", "/auth/config", KEY)
        return process


class Serving(ProgramCase):
    def test_it_serves_the_cli_until_it_is_told_to_end_and_leaves_nothing(self) -> None:
        with ModelServer() as model:
            model.will_play("hello", [call("list_directory", dir_path=".")], ["Hi."])
            process = self.serve("--gemini-url", model.url, "--model", MODEL)
            with open(os.path.join(self.state, "token"), encoding="ascii") as file:
                self.assertEqual(file.read().strip(), self.token)
            self.ask("POST", "/auth/config", KEY)
            reply = self.ask("POST", "/chat", {"message": "hello"})
            self.assertEqual((reply["response"], reply["message"]), ("Hi.", "对话完成"))
            pid = self.ask("GET", "/status")["cli"]["pid"]
            process.send_signal(signal.SIGTERM)
            _output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, errors)
        wait_for(lambda: not is_alive(pid))
        self.assertNotIn("the-key", errors)
        self.assertNotIn(self.token, errors)
        self.assertNotIn("Traceback", errors)

    @unittest.skipIf(sys.platform == "win32", "Windows has no such terminals")
    def test_the_token_is_written_to_a_terminal_and_to_nothing_else(self) -> None:
        shown = self.greeting_in_terminal()
        with open(os.path.join(self.state, "token"), encoding="ascii") as file:
            token = file.read().strip()
        self.assertIn(f"/#token={token}", shown)
        self.state += "-of-another"
        process = self.serve()
        self.assertIn(os.path.join(self.state, "token"), self.told)
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertNotIn(self.token, self.told + output + errors)

    def draining(self, model: ModelServer, *arguments: str) -> Any:
        """A program that was told to end while a turn runs, the turn's answer to come, and what
        lets the turn end."""
        gate = Gate()
        self.addCleanup(gate.set)
        model.will_play("long", ["one, ", gate, "two"])
        process = self.serve("--gemini-url", model.url, "--model", MODEL, *arguments)
        self.ask("POST", "/auth/config", KEY)
        replies: list[Any] = []
        body = {"message": "long"}
        asking = threading.Thread(target=lambda: replies.append(self.ask("POST", "/chat", body)))
        asking.start()
        self.addCleanup(asking.join, PATIENCE)
        self.assertTrue(gate.reached.wait(PATIENCE))
        process.send_signal(signal.SIGTERM)
        return process, lambda: (asking.join(PATIENCE), replies[0])[1], gate

    def until_not_ready(self) -> None:
        """It has heard that it is to end."""
        wait_for(lambda: not self.ask("GET", "/readyz")["success"])

    @unittest.skipIf(sys.platform == "win32", "it is ended at once there")
    def test_a_turn_that_runs_comes_to_its_end_and_no_other_begins(self) -> None:
        with ModelServer() as model:
            process, answer, gate = self.draining(model, "--drain-time", "600")
            self.until_not_ready()
            refused = self.ask("POST", "/chat", {"message": "another"})
            self.assertEqual(refused["code"], "DRAINING")
            gate.set()
            self.assertEqual((answer()["response"], answer()["reason"]), ("one, two", "end_turn"))
            _output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, "Traceback" in errors), (0, False), errors)

    @unittest.skipIf(sys.platform == "win32", "it is ended at once there")
    def test_a_turn_that_takes_longer_than_draining_may_is_cancelled(self) -> None:
        with ModelServer() as model:
            process, answer, _gate = self.draining(model, "--drain-time", "3")
            self.assertEqual(answer()["reason"], "cancelled")
            process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0)

    @unittest.skipIf(sys.platform == "win32", "it is ended at once there")
    def test_who_asks_twice_waits_for_no_turn(self) -> None:
        with ModelServer() as model:
            process, answer, _gate = self.draining(model, "--drain-time", "600")
            self.until_not_ready()
            process.send_signal(signal.SIGTERM)
            self.assertEqual(answer()["reason"], "cancelled")
            process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0)

    def test_two_agents_with_one_id_are_refused(self) -> None:
        folder = ("--workspace", self.workspace)
        process = self.start(*folder, "--agent", "sleep 600", "--agent", "/bin/sleep 600")
        _output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 1)
        self.assertIn("Two agents would have the id sleep-600", errors)

    def test_a_message_is_taken_back_before_its_agent_has_started(self) -> None:
        self.serve("--language", "en", "--agent", "sleep 600")
        replies: list[Any] = []
        asking = threading.Thread(
            target=lambda: replies.append(self.ask("POST", "/chat", {"message": "hello"}))
        )
        asking.start()
        self.addCleanup(asking.join, PATIENCE)
        wait_for(
            lambda: any(session["isBusy"] for session in self.ask("GET", "/sessions")["sessions"])
        )
        self.assertTrue(self.ask("POST", "/cancel", {})["success"])
        asking.join(PATIENCE)
        self.assertEqual(replies[0]["code"], "NOT_SENT")
        self.assertFalse(
            any(session["isBusy"] for session in self.ask("GET", "/sessions")["sessions"])
        )

    @unittest.skipIf(sys.platform == "win32", "it is ended at once there")
    def test_who_asks_twice_waits_for_no_agent_that_does_not_start(self) -> None:
        process = self.serve("--language", "en", "--agent", "sleep 600")
        replies: list[Any] = []
        asking = threading.Thread(
            target=lambda: replies.append(self.ask("POST", "/chat", {"message": "hello"}))
        )
        asking.start()
        self.addCleanup(asking.join, PATIENCE)
        wait_for(
            lambda: any(session["isBusy"] for session in self.ask("GET", "/sessions")["sessions"])
        )
        process.send_signal(signal.SIGTERM)
        self.until_not_ready()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        asking.join(PATIENCE)
        self.assertEqual(replies[0]["code"], "NOT_SENT")

    def test_a_log_of_json_has_an_object_in_each_line_and_no_token(self) -> None:
        arguments = ("--workspace", self.workspace, "--port", "0", "--log-format", "json")
        process = self.start(*arguments, variables={"GEMINI_API_KEY": "from-outside"})
        if process.stderr is None:
            raise AssertionError("there is no log")
        first = json.loads(process.stderr.readline())
        self.assertEqual(first["level"], "info")
        self.port = int(first["message"].rpartition(":")[2])
        with open(os.path.join(self.state, "token"), encoding="ascii") as file:
            self.token = file.read().strip()
        self.assertTrue(self.ask("GET", "/models")["success"])
        process.terminate()
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, output), (0, ""))
        lines = [json.loads(line) for line in errors.splitlines()]
        (started,) = [line for line in lines if "runs as process" in line["message"]]
        self.assertRegex(started["requestId"], "^[0-9a-f]{16}$")
        for secret in (self.token, "from-outside"):
            self.assertNotIn(secret, errors)

    def test_why_it_cannot_start_is_a_line_of_json_too(self) -> None:
        process = self.start("--workspace", self.root, "--log-format", "json")
        _output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(json.loads(errors)["level"], "error")

    @unittest.skipUnless(sys.platform.startswith("linux"), "the command is one of a Linux")
    def test_it_ends_with_its_terminal_and_leaves_no_command_behind(self) -> None:
        # Where the tests run without a terminal, it may be ignored, and a program inherits that.
        old = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        self.addCleanup(signal.signal, signal.SIGHUP, old)
        process = self.serve("--allow-commands")
        started = os.path.join(self.workspace, "pid")
        command = {"command": "echo $$ > new; mv new pid; exec sleep 600"}
        asking = threading.Thread(target=self.ask_in_vain, args=("/execute-command", command))
        asking.start()
        self.addCleanup(asking.join, PATIENCE)
        wait_for(lambda: os.path.exists(started))
        with open(started, encoding="ascii") as file:
            pid = int(file.read())
        # Nobody reads its log any more either.
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(PATIENCE), 0)
        wait_for(lambda: not is_alive(pid))

    def ask_in_vain(self, path: str, body: Any) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.ask("POST", path, body)

    @unittest.skipUnless(hasattr(signal, "SIGHUP"), "there is no such signal")
    def test_one_that_is_to_outlive_its_terminal_does(self) -> None:
        old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGHUP, old)
        process = self.serve()
        process.send_signal(signal.SIGHUP)
        self.assertTrue(self.ask("GET", "/status")["success"])
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0)

    def test_it_runs_inside_of_the_package_too_until_it_is_interrupted(self) -> None:
        os.symlink(ROOT, os.path.join(self.root, "GeminiCompanion"))
        module = "GeminiCompanion.companion.api"
        process = self.serve("--language", "en", module=module, cwd=self.root)
        self.assertEqual(self.ask("GET", "/status")["message"], "The server is running.")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0)

    @unittest.skipUnless(sys.platform.startswith("linux"), "other systems keep names in Unicode")
    def test_a_workspace_whose_name_is_no_text_is_served(self) -> None:
        self.workspace = os.path.join(self.root, os.fsdecode(b"work \xff"))
        os.mkdir(self.workspace)
        self.serve()
        self.assertTrue(self.ask("GET", "/list-directory")["path"].endswith("work \ufffd"))

    def test_a_turn_that_takes_longer_than_the_operator_allows_is_ended(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        with ModelServer() as model:
            model.will_play("endless", ["on and ", gate, "on"])
            self.serve("--gemini-url", model.url, "--model", MODEL, "--turn-time", "1")
            self.ask("POST", "/auth/config", KEY)
            self.assertEqual(self.ask("POST", "/chat", {"message": "endless"})["code"], "TIMED_OUT")

    def test_what_the_operator_allows_is_allowed_and_no_key_reaches_a_command_or_the_cli(
        self,
    ) -> None:
        """The address beside the key does: the key of a gateway is for that alone."""
        other = os.path.join(self.root, "other")
        os.mkdir(other)
        variables = {
            "GEMINI_API_KEY": "from-outside",
            "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1",
            "AWS_SECRET_ACCESS_KEY": "another-secret",
        }
        self.serve("--allow-commands", "--root", other, variables=variables)
        self.assertTrue(self.ask("GET", "/auth/status")["data"]["hasApiKey"])
        reply = self.ask("POST", "/execute-command", {"command": "pwd; env", "cwd": other})
        self.assertEqual(reply["output"].splitlines()[0], other)
        self.assertNotIn("from-outside", reply["output"])
        if not sys.platform.startswith("linux"):
            # Other systems do not tell the variables of a process.
            return
        self.assertTrue(self.ask("GET", "/models")["success"])
        pid = self.ask("GET", "/status")["cli"]["pid"]
        with open(f"/proc/{pid}/environ", encoding="utf-8", errors="replace") as file:
            seen = file.read()
        self.assertIn("GEMINI_CLI_HOME=", seen)
        address = variables.pop("GOOGLE_GEMINI_BASE_URL")
        self.assertIn(f"GOOGLE_GEMINI_BASE_URL={address}\0", seen)
        for text in (*variables, *variables.values()):
            self.assertNotIn(text, seen)

    @unittest.skipUnless(sys.platform.startswith("linux"), "others do not tell the variables")
    def test_an_address_without_its_key_does_not_reach_the_cli(self) -> None:
        self.serve(variables={"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1"})
        self.ask("POST", "/auth/config", KEY)
        self.assertTrue(self.ask("GET", "/models")["success"])
        pid = self.ask("GET", "/status")["cli"]["pid"]
        with open(f"/proc/{pid}/environ", encoding="utf-8", errors="replace") as file:
            self.assertNotIn("http://127.0.0.1:1", file.read())


class Trusting(ProgramCase):
    """What the real CLI takes from a workspace."""

    real = True

    def test_settings_that_lie_in_the_workspace_count_only_where_they_are_trusted(self) -> None:
        marker = os.path.join(self.root, "started")
        server = {"command": "sh", "args": ["-c", f"touch '{marker}'; cat"]}
        os.mkdir(os.path.join(self.workspace, ".gemini"))
        settings = os.path.join(self.workspace, ".gemini", "settings.json")
        with open(settings, "w", encoding="utf-8") as file:
            json.dump({"mcpServers": {"theirs": server}}, file)
        with ModelServer() as model:
            for option, is_started in ((), False), (("--trust",), True):
                with self.subTest(option):
                    process = self.serve("--gemini-url", model.url, "--model", MODEL, *option)
                    self.ask("POST", "/auth/config", KEY)
                    self.assertTrue(self.ask("POST", "/chat", {"message": "hello"})["success"])
                    if is_started:
                        # In the background, once the CLI is there.
                        wait_for(lambda: os.path.exists(marker))
                    self.assertEqual(os.path.exists(marker), is_started)
                    process.send_signal(signal.SIGTERM)
                    process.communicate(timeout=PATIENCE)


class Disks(WithModel):
    """What becomes of conversations on a disk that is full, or damaged what was there."""

    def start_again(self, process: subprocess.Popen[str] | None = None) -> subprocess.Popen[str]:
        """Another server, after this one has ended."""
        self.end_in_order(process)
        return self.serve_model("--language", "en")

    def end_in_order(self, process: subprocess.Popen[str] | None) -> str:
        """What its log says."""
        if process is None:
            return ""
        process.send_signal(signal.SIGTERM)
        return process.communicate(timeout=PATIENCE)[1]

    def say(self, message: str, session: str) -> Any:
        body = {"message": message, **({"sessionId": session} if session else {})}
        return self.ask("POST", "/chat", body)

    def said(self, session: str) -> list[str]:
        found = self.ask("GET", f"/sessions/{session}/messages")["messages"]
        return [turn["text"] for turn in found]

    def test_a_full_one_is_told_to_clients_and_takes_all_once_there_is_room(self) -> None:
        disk = os.path.join(self.root, "disk")
        os.mkdir(disk)
        small_disk.mount(self, disk, 0x400000)
        self.state = os.path.join(disk, "state")
        process = self.start_again()
        reply = self.say("first", "")
        id = reply["sessionId"]
        self.assertEqual((reply["warnings"], self.is_saved()), ([], True))
        filler = small_disk.fill(disk)
        # A file that the server replaces just then gives a few pages back.
        long = "x" * small_disk.PAGE * 32
        reply = self.say(long, id)
        self.assertIn("The disk refuses to store what is said here", reply["warnings"][0])
        self.assertFalse(self.is_saved())
        refused = self.ask("GET", "/readyz")
        self.assertEqual(refused["code"], "NOT_READY")
        self.assertIn("disk", refused["message"])
        self.assertEqual(self.said(id), ["first", long])
        os.unlink(filler)
        wait_for(self.is_saved)
        self.assertTrue(self.ask("GET", "/readyz")["success"])
        self.start_again(process)
        self.assertEqual(self.said(id), ["first", long])

    def is_saved(self) -> bool:
        (session,) = self.ask("GET", "/sessions")["sessions"]
        return bool(session["isSaved"])


class OurClient(WithModel):
    """`companion.api.client`, as a script and as a program."""

    is_shared = True

    def prepare(self) -> None:
        super().prepare()
        self.serve_model()
        self.client = Client(f"http://127.0.0.1:{self.port}", self.token)

    def run_program(self, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        token = os.path.join(self.state, "token")
        url = f"http://127.0.0.1:{self.port}"
        command = [sys.executable, "-m", "companion.api.client", "--url", url]
        return subprocess.run(
            [*command, "--token-file", token, "chat", *arguments],
            input=typed,
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=PATIENCE,
        )

    def will_write(self, text: str) -> str:
        path = os.path.join(self.workspace, "new.txt")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.model.will_play(text, [call("write_file", file_path=path, content="new")], ["Done."])
        return path

    def test_a_script_chats_and_decides_and_a_refusal_is_an_error_with_its_code(self) -> None:
        self.model.will_play("hello", ["Hi."])
        self.assertEqual(self.client.chat("hello")["response"], "Hi.")
        path = self.will_write("write it")
        for event in self.client.stream("write it"):
            if event["type"] == "tool_confirmation":
                self.client.confirm(event, "modify_with_editor", "changed")
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "changed")
        with self.assertRaises(ApiError) as caught:
            self.client.chat("hello", sessionId="nobody's")
        self.assertEqual((caught.exception.status, caught.exception.code),
                         (404, "SESSION_NOT_FOUND"))  # fmt: skip
        with self.assertRaises(ValueError):
            Client("nowhere")

    def test_a_stream_whose_connection_breaks_goes_on_without_a_gap(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("slowly", ["one ", gate, "two"])
        made: list[http.client.HTTPConnection] = []
        connect = http.client.HTTPConnection.connect

        def noted(connection: http.client.HTTPConnection) -> None:
            made.append(connection)
            connect(connection)

        said = ""
        with mock.patch.object(http.client.HTTPConnection, "connect", noted):
            for event in self.client.stream("slowly"):
                if event["type"] == "content":
                    said += event["data"]["text"]
                    if not gate.is_set():
                        # First: what has come is read even then, and could be all of it.
                        made[-1].sock.shutdown(socket.SHUT_RDWR)
                        gate.set()
        self.assertEqual((said, len(made)), ("one two", 2))

    def test_the_program_shows_the_answer_and_nothing_else_on_its_output(self) -> None:
        path = self.will_write("write it, please")
        done = self.run_program("write it, please", "--outcome", "proceed_once")
        self.assertEqual((done.returncode, done.stdout), (0, "Done.\n"), done.stderr)
        self.assertIn(f"WriteFile\n{path}", done.stderr)
        self.assertTrue(os.path.exists(path))
        os.unlink(path)
        # Nobody can be asked, so nothing is written.
        self.assertEqual(self.run_program("-", typed="write it, please").returncode, 0)
        self.assertFalse(os.path.exists(path))
        failed = self.run_program("hello", "--session", "nobody's")
        self.assertEqual((failed.returncode, failed.stdout), (2, ""))


class Refusing(ProgramCase):
    def fails(self, *arguments: str, **more: Any) -> str:
        process = self.start(*arguments, **more)
        _output, errors = process.communicate(timeout=PATIENCE)
        self.assertNotIn(process.returncode, (0, None))
        self.assertNotIn("Traceback", errors)
        return errors

    def test_a_port_that_is_taken_is_told(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            errors = self.fails("--workspace", self.workspace, "--port", port)
        self.assertIn(f"127.0.0.1, port {port} (", errors)
        self.assertIn("--port", errors)
        self.assertNotIn("Errno", errors)

    def test_a_folder_for_the_keys_that_the_model_could_read_is_refused(self) -> None:
        self.state = os.path.join(self.workspace, ".cache", "state")
        self.assertIn("--state", self.fails("--workspace", self.workspace))
        self.assertEqual(os.listdir(self.workspace), [])

    def test_what_makes_no_sense_is_told(self) -> None:
        here = ("--workspace", self.workspace)
        for arguments, part in (
            ((), "--workspace"),
            ((*here, "--cli", self.root), "not found"),
        ):
            with self.subTest(arguments):
                self.assertIn(part, self.fails(*arguments))
