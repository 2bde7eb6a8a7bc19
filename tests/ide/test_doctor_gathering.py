from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from dataclasses import replace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base.path_maps import PathMap, PathMaps
from GeminiCompanion.companion.ide import system_processes
from GeminiCompanion.companion.ide.clis import GEMINI_CLI, IBM_BOB, LLXPRT, QWEN_CODE
from GeminiCompanion.companion.ide.doctor import gathering, trial
from GeminiCompanion.companion.ide.doctor.facts import Facts, Window
from GeminiCompanion.companion.ide.doctor.gathering import ExaminedScope
from GeminiCompanion.companion.ide.hooks import extension
from GeminiCompanion.companion.ide.system_processes import SystemProcess

from ..support import PATIENCE, wait_for


class Gathering(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = os.path.realpath(folder.name)
        self.environment = {"TMPDIR": self.home, "PATH": os.path.join(self.home, "bin")}
        self.window = Window(os.getppid(), 0, (self.home,))
        self.scope = ExaminedScope(
            GEMINI_CLI, self.window, ("gemini",), self.environment, self.home, "token"
        )

    def write(self, path: str, content: Any) -> str:
        path = os.path.join(self.home, *path.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def gather(self, scope: ExaminedScope | None = None) -> Facts:
        """Without the CLIs that run on this machine."""
        return gathering.gather_facts(scope or self.scope, {})[0]

    def listener(self) -> int:
        listening = socket.socket()
        self.addCleanup(listening.close)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port: int = listening.getsockname()[1]
        return port

    def program(self, folder: str = "bin") -> str:
        package = "lib/node_modules/@google/gemini-cli/"
        self.write(package + "package.json", {"name": "@google/gemini-cli", "version": "0.61.0"})
        script = self.write(package + "bundle/gemini.js", "#!/bin/sh\n")
        os.chmod(script, 0o755)
        os.makedirs(os.path.join(self.home, folder), exist_ok=True)
        path = os.path.join(self.home, folder, "gemini")
        os.symlink(script, path)
        return path

    def test_an_empty_machine_has_nothing_and_nothing_fails(self) -> None:
        for cli in (GEMINI_CLI, QWEN_CODE, LLXPRT, IBM_BOB):
            with self.subTest(cli.id):
                facts = self.gather(replace(self.scope, cli=cli, command=("not-there",)))
                found = (facts.program.path, facts.files, facts.logins)
                self.assertEqual(found, ("", (), ()))

    def test_the_extension_is_on_or_off_for_the_folder_of_the_cli(self) -> None:
        rules = {extension.NAME: {"overrides": [f"!{self.home}/off/*"]}}
        self.write(f".gemini/extensions/{extension.ENABLEMENT}", rules)
        for name, is_enabled in (("off", False), ("on", True)):
            folder = os.path.join(self.home, name)
            window = replace(self.window, folders=(folder,))
            found = self.gather(replace(self.scope, window=window)).extension
            self.assertEqual(found and found.is_enabled, is_enabled)

    @unittest.skipIf(sys.platform == "win32", "links need rights there")
    def test_the_program_is_found_with_its_version(self) -> None:
        path = self.program()
        program = self.gather().program
        self.assertEqual((program.path, program.version), (path, "0.61.0"))

    @unittest.skipIf(sys.platform == "win32", "links need rights there")
    def test_a_program_that_only_the_login_shell_knows_is_found_and_runs_with_its_path(
        self,
    ) -> None:
        path, whole = self.program("own"), os.path.join(self.home, "own")
        login_path = mock.patch.object(gathering.LOGIN_PATH, "ask", return_value=whole)
        # CLIs may run on this machine.
        processes = mock.patch.object(system_processes, "running_processes", return_value={})
        with login_path, processes:
            (found,) = gathering.examine_clis(self.scope)
        program = found.facts.program
        self.assertEqual((program.path, program.is_on_path), (path, True))
        self.assertEqual(found.facts.environment["PATH"], whole)

    def failure(self) -> str:
        return self.gather().program.failure

    @unittest.skipIf(sys.platform == "win32", "links need rights there")
    def test_a_program_without_what_it_needs_does_not_run_and_is_tried_until_it_does(self) -> None:
        script = os.path.relpath(os.path.realpath(self.program()), self.home)
        self.write(script, "#!/usr/bin/env none-such-node\n")
        wait_for(self.failure)
        words = "^its exit status is 127: .*none-such-node.*No such file or directory"
        self.assertRegex(self.failure(), words)
        runs = os.path.join(self.home, "runs")
        helper = self.write("bin/none-such-node", f"#!/bin/sh\necho run >> {runs}\n")
        os.chmod(helper, 0o755)
        wait_for(lambda: not self.failure())
        self.gather()
        with open(runs, encoding="utf-8") as file:
            self.assertEqual(file.read(), "run\n")

    @unittest.skipIf(sys.platform == "win32", "links need rights there")
    def test_a_program_that_does_not_answer_in_time_is_ended_and_has_not_failed(self) -> None:
        script = os.path.relpath(os.path.realpath(self.program()), self.home)
        begun = os.path.join(self.home, "begun")
        # A busy machine needs more until it has begun. What was written anew is tried anew.
        for seconds in (0.5, 5.0, 50.0):
            self.write(script, f"#!/bin/sh\necho $$ > {begun}\nexec /bin/sleep 600\n")
            with mock.patch.multiple(trial, PATIENCE=seconds, WAIT=PATIENCE):
                self.assertEqual(self.failure(), "")
            if os.path.exists(begun):
                break
        with open(begun, encoding="ascii") as file, self.assertRaises(ProcessLookupError):
            os.kill(int(file.read()), 0)

    @unittest.skipUnless(shutil.which("node"), "there is no Node.js")
    def test_node_is_asked_for_its_version(self) -> None:
        environment = {**self.environment, "PATH": os.environ["PATH"]}
        node = self.gather(replace(self.scope, environment=environment)).program.node_version
        self.assertRegex(node, r"^\d+\.\d+\.\d+$")

    def test_what_answers_as_no_companion_does_is_no_editor(self) -> None:
        answers = {b"HTTP/1.1 401 Unauthorized\r\n\r\n": True, b"HTTP/1.1 404 Not Found": False}
        patient = mock.patch.object(gathering, "FAR_PROBE", 60.0)
        for answer, is_editor in {**answers, b"SSH-2.0-OpenSSH": False, b"": False}.items():
            with self.subTest(answer), patient, socket.create_server(("127.0.0.1", 0)) as server:
                port = server.getsockname()[1]
                answering = threading.Thread(target=self.answer, args=(server, answer))
                answering.start()
                self.write(f"gemini/ide/gemini-ide-server-7-{port}.json", {"port": port})
                (file,) = (each for each in self.gather().files if each.port == port)
                self.assertEqual((file.answers, file.is_editor), (True, is_editor))
                answering.join()

    def answer(self, server: socket.socket, answer: bytes) -> None:
        """One that only looks whether somebody listens, and one that asks."""
        server.accept()[0].close()
        connection = server.accept()[0]
        connection.recv(1000)
        connection.sendall(answer)
        connection.close()

    def test_what_hangs_is_no_editor(self) -> None:
        port = self.listener()
        self.write(f"gemini/ide/gemini-ide-server-7-{port}.json", {"port": port})
        with mock.patch.object(gathering, "FAR_PROBE", 0.05):
            (file,) = self.gather().files
        self.assertEqual((file.answers, file.is_editor), (True, False))

    @unittest.skipUnless(os.path.isdir("/proc/self"), "this system does not tell of networks")
    def test_a_process_beside_the_editor_has_its_network_and_its_files(self) -> None:
        self.assertFalse(system_processes.has_own_network(os.getpid()))
        self.assertFalse(system_processes.has_own_network(0))
        root = system_processes.root_of(SystemProcess(os.getpid(), 1))
        self.assertTrue(os.path.samefile(root, "/"))
        self.assertEqual(
            (system_processes.root_of(SystemProcess(0, 0)), system_processes.root_of(None)),
            ("", ""),
        )

    def test_discovery_files_are_read_as_the_cli_reads_them(self) -> None:
        port = self.listener()
        content = {
            "port": port,
            "workspacePath": self.home,
            "authToken": "token",
            "ideInfo": {"name": "sublimetext", "displayName": "Sublime Text"},
        }
        self.write(f"gemini/ide/gemini-ide-server-7-{port}.json", content)
        self.write("gemini/ide/gemini-ide-server-8.json", {**content, "port": "1", "authToken": 1})
        self.write("gemini/ide/gemini-ide-server-9-9.json", "{")
        self.write("gemini/ide/something.json", content)
        scope = replace(self.scope, window=replace(self.window, port=port))
        files = {file.pid: file for file in self.gather(scope).files}
        self.assertEqual(sorted(files), [7, 8, 9])
        ours = files[7]
        found = (ours.port, ours.points_to, ours.workspace, ours.names_editor)
        self.assertEqual(found, (port, port, self.home, True))
        self.assertTrue(ours.answers and ours.has_token and ours.is_ours and ours.makes_sense)
        self.assertEqual((files[8].port, files[8].points_to, files[8].has_token), (0, 1, False))
        self.assertFalse(files[9].makes_sense)

    @unittest.skipUnless(os.path.isdir("/proc/self"), "this system does not tell of sockets")
    def test_which_process_holds_one_of_the_window_s_streams_is_known(self) -> None:
        port = self.listener()
        with socket.create_connection(("127.0.0.1", port)) as stream:
            peer = stream.getsockname()[1]
            self.assertEqual(system_processes.ports_to(os.getpid(), port), {peer})
            self.assertEqual(system_processes.ports_to(os.getpid(), port + 1), frozenset())
            cli = SystemProcess(os.getpid(), 1, "node", "node /bin/gemini", 1.0, self.home, {})
            for peers, is_connected in (({peer}, True), ({peer + 1}, False), ((), False)):
                window = replace(self.window, port=port, peers=frozenset(peers))
                scope = replace(self.scope, window=window)
                (found,) = gathering.gather_facts(scope, {cli.pid: cli})
                self.assertIs(found.is_connected, is_connected)
        self.assertIsNone(system_processes.ports_to(0, port))

    def test_a_wrapper_keeps_its_name_and_the_path_of_a_known_cli_is_none(self) -> None:
        for command, wrapper in (("/opt/my-gemini.sh", "my-gemini"), ("/opt/gemini.cmd", "")):
            facts = self.gather(replace(self.scope, command=(command,)))
            self.assertEqual(facts.wrapper, wrapper)
            self.assertEqual(facts.name, wrapper or "Gemini CLI")

    def test_npx_is_looked_for_and_the_cli_behind_it_keeps_its_name(self) -> None:
        facts = self.gather(replace(self.scope, command=("npx", "@google/gemini-cli")))
        self.assertEqual((facts.name, facts.wrapper), ("Gemini CLI", "npx"))

    def test_every_kind_of_cli_that_runs_here_is_found(self) -> None:
        def process(pid: int, command: str, folder: str) -> SystemProcess:
            return SystemProcess(
                pid, 1, "node", f"node /bin/{command}", 1.0, folder, self.environment
            )

        known = (process(7, "qwen", self.home), process(8, "llxprt", "/elsewhere"))
        scope = replace(self.scope, elsewhere=("/elsewhere",))
        found = gathering.gather_facts(scope, {each.pid: each for each in known})
        self.assertEqual(
            [(each.cli, each.process and each.process.pid) for each in found],
            [(GEMINI_CLI, None), (QWEN_CODE, 7)],
        )

    def test_qwen_s_files_are_in_its_home(self) -> None:
        self.write(".qwen/ide/5000.lock", {"port": 5000, "authToken": QWEN_CODE.token("token")})
        (file,) = self.gather(replace(self.scope, cli=QWEN_CODE)).files
        self.assertEqual((file.port, file.has_token, file.workspace), (5000, True, None))

    def test_settings_and_logins_are_looked_for_in_their_places(self) -> None:
        path = self.write(".gemini/settings.json", {"ide": {"enabled": True}})
        project = os.path.join(self.home, "work")
        mine = self.write("work/.gemini/settings.json", {"ide": {"enabled": False}})
        self.write(".gemini/.env", "GEMINI_API_KEY=hush\n")
        window = replace(self.window, folders=(project,))
        facts = self.gather(replace(self.scope, window=window))
        self.assertEqual(facts.settings.path, path)
        self.assertIs(facts.settings.value(("ide", "enabled")), True)
        self.assertEqual(facts.overriding[0].path, mine)
        self.assertIn("an API key", facts.logins[0])
        self.assertNotIn("hush", repr(facts))
        window = replace(self.window, folders=("/work",))
        maps = PathMaps((PathMap(project, "/work"),))
        facts = self.gather(replace(self.scope, window=window, path_maps=maps))
        self.assertEqual((facts.folder, facts.overriding[0].path), ("/work", mine))

    def test_the_variables_of_the_editor_are_not_those_of_a_terminal(self) -> None:
        environment = {**self.environment, "GEMINI_CLI_IDE_SERVER_PORT": "1"}
        facts = self.gather(replace(self.scope, environment=environment))
        self.assertNotIn("GEMINI_CLI_IDE_SERVER_PORT", facts.environment)

    def test_clis_of_this_window_come_first_then_those_of_no_window(self) -> None:
        def cli(pid: int, folder: str) -> SystemProcess:
            return SystemProcess(pid, 1, "gemini", "gemini", float(pid), folder, {})

        here, other, astray = cli(5, self.home), cli(6, "/other/x"), cli(7, "/nobody")
        scope = replace(self.scope, elsewhere=("/other",))
        for known, expected in (
            ((here, other, astray), [here]),
            ((other, astray), [astray, None]),
            ((other,), [None]),
        ):
            found = gathering.gather_facts(scope, {each.pid: each for each in known})
            with self.subTest(known):
                self.assertEqual([facts.process for facts in found], expected)

    def test_links_of_told_folders_are_resolved(self) -> None:
        self.write("real/x", "")
        link = os.path.join(self.home, "link")
        os.symlink(os.path.join(self.home, "real"), link)
        self.write("gemini/ide/gemini-ide-server-7-1.json", {"port": 1, "workspacePath": link})
        self.assertEqual(self.gather().real[link], os.path.join(self.home, "real"))

    @unittest.skipUnless(os.path.isdir("/proc/self"), "this system tells less")
    def test_a_cli_that_runs_is_found_with_folder_environment_and_start(self) -> None:
        script = self.write("bin/gemini", "import sys; sys.stdin.read()")
        node = os.path.join(self.home, "node")
        os.symlink(sys.executable, node)
        before = time.time()
        with subprocess.Popen(
            [node, script], cwd=self.home, env={"TMPDIR": "/else"}, stdin=subprocess.PIPE
        ) as process:
            self.addCleanup(process.kill)
            deadline = time.monotonic() + 60
            facts = self.gather()
            while facts.process is None and time.monotonic() < deadline:
                running = system_processes.running_processes().items()
                mine = {pid: each for pid, each in running if pid == process.pid}
                (facts,) = gathering.gather_facts(self.scope, mine)
            process.kill()
        found = facts.process
        self.assertEqual(facts.folder, self.home)
        self.assertEqual(found.pid if found else 0, process.pid)
        self.assertEqual(facts.environment, {"TMPDIR": "/else"})
        self.assertEqual(facts.discovery_folder, "/else/gemini/ide")
        self.assertLess(abs(found.started - before) if found else 99, 60)


class Processes(unittest.TestCase):
    @unittest.skipUnless(sys.platform == "linux", "elsewhere the system tells whole seconds")
    def test_the_moment_at_which_a_process_was_started_is_known_to_a_tenth_of_a_second(
        self,
    ) -> None:
        before = time.time()
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
            after = time.time()
            started = system_processes.running_processes()[child.pid].started
            child.kill()
        self.assertLess(before - 0.1, started)
        self.assertLess(started, after + 0.1)

    def test_a_cli_is_known_by_its_command(self) -> None:
        cases = {
            "node /usr/bin/gemini": True,
            "/usr/bin/node --max-old-space-size=9 /x/@google/gemini-cli/bundle/gemini.js": True,
            "node C:\\npm\\node_modules\\@google\\gemini-cli\\bundle\\gemini.js": True,
            "/opt/gemini --model x": True,
            "node /usr/bin/gemini --acp": False,
            "vim gemini": False,
            "node /usr/bin/qwen": False,
            "": False,
        }
        for command, expected in cases.items():
            name = os.path.basename(command.split(" ")[0])
            known = {5: SystemProcess(5, 1, name, command)}
            with self.subTest(command):
                self.assertEqual(bool(system_processes.find_clis(GEMINI_CLI, known)), expected)

    def test_of_a_cli_that_started_itself_again_the_last_one_counts(self) -> None:
        known = {
            pid: SystemProcess(pid, pid - 1, "node", "node /usr/bin/gemini") for pid in (50, 51)
        }
        found = system_processes.find_clis(GEMINI_CLI, known)
        self.assertEqual([each.pid for each in found], [51])

    def test_windows_is_asked_in_utf8_and_its_answer_is_read(self) -> None:
        command = 'C:\\node\\node.exe "C:\\\u8a31\\@google\\gemini-cli\\bundle\\gemini.js"'
        row = {"ProcessId": 7, "ParentProcessId": 5, "Name": "node.exe", "CommandLine": command}
        idle = {"ProcessId": 0, "ParentProcessId": None, "Name": None, "CommandLine": None}
        told = json.dumps([{**row, "Started": 1700000000}, idle], ensure_ascii=False)
        with mock.patch.object(system_processes, "output_of_program", return_value=told) as output:
            known = system_processes._from_powershell()
        self.assertIn(
            "[Console]::OutputEncoding = New-Object System.Text.UTF8", output.call_args[0][-1]
        )
        self.assertEqual(known[7], SystemProcess(7, 5, "node", command, 1700000000.0))
        self.assertEqual([each.pid for each in system_processes.find_clis(GEMINI_CLI, known)], [7])

    def test_this_process_and_its_parent_are_listed(self) -> None:
        known = system_processes.running_processes()
        self.assertIn(os.getpid(), known)
        self.assertEqual(known[os.getpid()].parent, os.getppid())
