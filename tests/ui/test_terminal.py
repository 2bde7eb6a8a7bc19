"""The companion's variables in Terminus, and the CLI started in a terminal."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import Any, Generator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ui import terminal

from .adapter import AdapterTestCase

Steps = Generator[Any, Any, None]
ENVIRONMENT = {"GEMINI_CLI_IDE_SERVER_PORT": "1", "GEMINI_CLI_IDE_AUTH_TOKEN": "secret"}


class InTerminus(AdapterTestCase):
    def test_every_terminal_of_a_window_gets_its_four_variables(self) -> Steps:
        yield lambda: plugin._host.environment(self.window)
        listener = plugin.GeminiCompanionListener()
        name, arguments = listener.on_window_command(self.window, "terminus_open", {"cwd": "/"})
        self.assertEqual(name, "terminus_open")
        self.assertEqual(arguments["cwd"], "/")
        self.assertEqual(
            sorted(key for key in arguments["env"] if key.startswith("GEMINI_CLI_IDE_")),
            [
                "GEMINI_CLI_IDE_AUTH_TOKEN",
                "GEMINI_CLI_IDE_PID",
                "GEMINI_CLI_IDE_SERVER_PORT",
                "GEMINI_CLI_IDE_WORKSPACE_PATH",
            ],
        )
        self.assertIsNone(listener.on_window_command(self.window, "terminus_open", arguments))

    def test_variables_that_the_caller_gave_stay(self) -> None:
        arguments = terminal.with_environment({"env": {"MINE": "1"}}, ENVIRONMENT)
        self.assertEqual((arguments or {})["env"], {"MINE": "1", **ENVIRONMENT})

    def test_a_setting_keeps_the_variables_out(self) -> Steps:
        yield lambda: plugin._host.environment(self.window)
        settings = sublime.load_settings("GeminiCompanion.sublime-settings")
        settings.set("terminus_env", False)
        self.addCleanup(settings.set, "terminus_env", True)
        listener = plugin.GeminiCompanionListener()
        self.assertIsNone(listener.on_window_command(self.window, "terminus_open", {}))

    def test_no_token_is_left_where_terminus_keeps_what_it_restarts(self) -> None:
        view = self.window.new_file()
        kept: Any = {"cmd": ["sh"], "env": {"MINE": "1", **ENVIRONMENT}}
        view.settings().set("terminus_view.args", kept)
        view.run_command("gemini_companion_forget_environment")
        args = view.settings().get("terminus_view.args")
        self.assertEqual(args, {"cmd": ["sh"], "env": {"MINE": "1"}})

    def test_the_hook_that_takes_the_token_out_comes_after_the_callers(self) -> None:
        arguments = terminal.with_environment({"post_view_hooks": [["x", {}]]}, ENVIRONMENT)
        self.assertEqual(
            (arguments or {})["post_view_hooks"],
            [["x", {}], ["gemini_companion_forget_environment", {}]],
        )


class InTheSystemsTerminal(AdapterTestCase):
    def test_the_cli_gets_folder_and_variables(self) -> Steps:
        out = os.path.join(self.folder, "out")
        code = (
            "import os, sys; open(sys.argv[1] + '.new', 'w').write('|'.join([os.getcwd(),"
            " os.environ['TERM_PROGRAM'], os.environ['GEMINI_CLI_IDE_SERVER_PORT']]));"
            " os.rename(sys.argv[1] + '.new', sys.argv[1])"
        )
        command = [os.environ.get("PYTHON", sys.executable), "-c", code, out]
        terminal.run_in_system(["{command}"], command, self.folder, ENVIRONMENT)
        yield lambda: os.path.exists(out)
        with open(out, encoding="utf-8") as file:
            self.assertEqual(file.read(), f"{self.folder}|sublime|1")

    def test_windows_reads_a_path_with_blanks_as_one(self) -> None:
        command = ["C:\\Program Files\\gemini.cmd", "--model", "a b"]
        written = '"C:\\Program Files\\gemini.cmd" --model "a b"'
        with mock.patch.object(terminal, "platform", lambda: "windows"):
            line = terminal._terminal_line([], command, self.folder, {})
            inside = terminal._as_sublime(command)
        self.assertEqual(
            subprocess.list2cmdline(line), 'cmd.exe /c start "" cmd.exe /k call ' + written
        )
        self.assertEqual(
            subprocess.list2cmdline(inside), "cmd.exe /c set TERM_PROGRAM=sublime&& " + written
        )

    def test_a_terminal_that_is_not_there_is_said(self) -> None:
        with self.assertRaises(terminal.NoTerminal) as caught:
            terminal.run_in_system(["/no/terminal"], ["gemini"], self.folder, {})
        self.assertIn("terminal_command", str(caught.exception))

    def test_the_script_for_macos_is_the_users_alone_and_quotes_what_it_is_given(self) -> None:
        path = terminal._script(["gemini", "a b"], "/it's", {"TOKEN": "x y"})
        self.addCleanup(os.unlink, path)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o700)
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertIn("export TOKEN='x y'", lines)
        self.assertIn("exec gemini 'a b'", lines)
        self.assertIn("""cd '/it'"'"'s' || exit""", lines)
