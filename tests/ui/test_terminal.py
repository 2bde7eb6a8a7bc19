"""The companion's variables in Terminus, and the CLI started in a terminal."""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
import types
import unittest
from typing import Any, Generator, Iterable, Sequence
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base.login_path import LOGIN_PATH
from GeminiCompanion.companion.ui import settings
from GeminiCompanion.companion.ui.terminals import exports, loopback, system_terminal, terminus

from ..support import patched
from .adapter import AdapterTestCase

Steps = Generator[Any, Any, None]
# An editor's host is no interpreter that could be started.
PYTHON = os.environ.get("PYTHON", sys.executable)
ENVIRONMENT = {"GEMINI_CLI_IDE_SERVER_PORT": "1", "GEMINI_CLI_IDE_AUTH_TOKEN": "secret"}


class InTerminus(AdapterTestCase):
    def test_every_terminal_of_a_window_gets_its_four_variables(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
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
        arguments = terminus.with_environment({"env": {"MINE": "1"}}, ENVIRONMENT)
        env = (arguments or {})["env"]
        rest = {name: env[name] for name in env if name.lower() != "no_proxy"}
        self.assertEqual(rest, {"MINE": "1", **ENVIRONMENT})

    def test_a_setting_keeps_the_variables_out(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        settings = sublime.load_settings("GeminiCompanion.sublime-settings")
        settings.set("terminus_env", False)
        self.addCleanup(settings.set, "terminus_env", True)
        listener = plugin.GeminiCompanionListener()
        self.assertIsNone(listener.on_window_command(self.window, "terminus_open", {}))

    def test_no_token_is_left_where_terminus_keeps_what_it_restarts(self) -> None:
        view = self.window.new_file()
        own = sublime.load_settings(settings.FILE)
        own.set("agents", {"mine": {"command": ["mine"], "env": {"ANTHROPIC_AUTH_TOKEN": "k"}}})
        self.addCleanup(own.erase, "agents")
        env = {"MINE": "1", "ANTHROPIC_AUTH_TOKEN": "k", **ENVIRONMENT}
        kept: Any = {"cmd": ["sh"], "env": env}
        view.settings().set("terminus_view.args", kept)
        view.run_command("gemini_companion_forget_environment")
        args = view.settings().get("terminus_view.args")
        self.assertEqual(args, {"cmd": ["sh"], "env": {"MINE": "1"}})

    def test_the_hook_that_takes_the_token_out_comes_after_the_callers(self) -> None:
        arguments = terminus.with_environment({"post_view_hooks": [["x", {}]]}, ENVIRONMENT)
        self.assertEqual(
            (arguments or {})["post_view_hooks"],
            [["x", {}], ["gemini_companion_forget_environment", {}]],
        )


class WithTerminus(AdapterTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.opened: list[dict[str, Any]] = []
        run = sublime.Window.run_command

        def record(on: sublime.Window, command: str, args: Any = None) -> None:
            if command == "terminus_open":
                self.opened.append(args)
            else:
                run(on, command, args)

        patched(self, mock.patch.object(sublime.Window, "run_command", record))
        module = types.ModuleType("Terminus.main")
        module.__dict__[terminus.OPEN_COMMAND] = object
        sys.modules["Terminus.main"] = module
        self.addCleanup(sys.modules.pop, "Terminus.main", None)

    def set(self, name: str, value: Any) -> None:
        found = sublime.load_settings(settings.FILE)
        found.set(name, value)
        self.addCleanup(found.erase, name)

    def test_the_cli_of_the_settings_runs_in_it_under_its_name(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        self.set("cli_command", ["/opt/bin/qwen", "--model", "$x"])
        with mock.patch.object(LOGIN_PATH, "changes_for", return_value={"PATH": "/of/the/shell"}):
            self.begin(terminus.run_cli(self.window, self.folder, ENVIRONMENT, self.fail))
            yield lambda: self.opened
        [arguments] = self.opened
        self.assertEqual(arguments["env"]["PATH"], "/of/the/shell")
        self.assertEqual(arguments["title"], "Qwen Code")
        self.assertEqual(arguments["cmd"][-3:], ["/opt/bin/qwen", "--model", "\\$x"])
        self.assertEqual((arguments["cwd"], arguments["reactivable"]), (self.folder, False))
        self.assertEqual(arguments["env"]["GEMINI_CLI_IDE_AUTH_TOKEN"], "secret")

    def test_settings_that_it_left_behind_are_no_terminus_and_that_is_said(self) -> Steps:
        sys.modules.pop("Terminus.main")
        user = os.path.join(sublime.packages_path(), "User")
        os.makedirs(user, exist_ok=True)
        path = os.path.join(user, "Terminus.sublime-settings")
        with open(path, "w", encoding="utf-8") as file:
            file.write("{}")
        self.addCleanup(os.unlink, path)
        yield lambda: sublime.find_resources("Terminus.sublime-settings")
        out = os.path.join(self.folder, "out")
        self.set("terminal_command", ["sh", "-c", f"echo > {out}"])
        told: list[str] = []
        self.assertFalse(terminus.has_terminus())
        self.begin(terminus.run_cli(self.window, self.folder, ENVIRONMENT, told.append))
        yield lambda: os.path.exists(out)
        self.assertEqual((self.opened, told), ([], [terminus.NOT_LOADED.format("Gemini CLI")]))

    def test_our_own_command_opens_its_shell_so_that_the_listener_hears_of_it(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        self.window.run_command("gemini_companion_open_terminal")
        self.assertEqual(self.opened, [{}])


class Proxies(unittest.TestCase):
    def script(self, **environment: str) -> dict[str, str]:
        """The variables after the script."""
        show = f"'{PYTHON}' -c 'import json, os; print(json.dumps(dict(os.environ)))'"
        done = subprocess.run(
            ["/bin/sh", "-c", loopback.SCRIPT + show],
            env={"PATH": os.environ["PATH"], **environment},
            stdout=subprocess.PIPE,
            check=True,
            timeout=60,
        )
        found = json.loads(done.stdout)
        return {name: found[name] for name in loopback.NAMES if name in found}

    def test_loopback_is_added_to_what_is_there_and_hides_nothing(self) -> None:
        cases: tuple[tuple[dict[str, str], dict[str, str]], ...] = (
            ({}, {"NO_PROXY": loopback.HOSTS, "no_proxy": loopback.HOSTS}),
            ({"NO_PROXY": "a.b"}, {"NO_PROXY": "a.b," + loopback.HOSTS}),
            ({"no_proxy": "a.b"}, {"no_proxy": "a.b," + loopback.HOSTS}),
            (
                {"NO_PROXY": "a", "no_proxy": "b"},
                {"NO_PROXY": "a," + loopback.HOSTS, "no_proxy": "b," + loopback.HOSTS},
            ),
            ({"NO_PROXY": "*"}, {"NO_PROXY": "*"}),
            ({"no_proxy": loopback.HOSTS + ",c"}, {"no_proxy": loopback.HOSTS + ",c"}),
        )
        for before, after in cases:
            with self.subTest(str(before)):
                made = loopback.without_proxy(before, windows=False)
                self.assertEqual({**before, **made}, after)
                self.assertEqual(self.script(**before), after)

    def test_what_is_there_already_is_not_added_again(self) -> None:
        made = loopback.without_proxy({"no_proxy": "a,localhost"}, windows=False)
        self.assertEqual(made, {"no_proxy": "a,localhost,127.0.0.1"})

    def test_windows_has_one_variable_for_both(self) -> None:
        made = loopback.without_proxy({}, windows=True)
        self.assertEqual(made, {"NO_PROXY": loopback.HOSTS})

    def test_a_terminal_of_terminus_gets_it_with_what_its_shell_is_configured_to(self) -> None:
        arguments = terminus.with_environment({"env": {"no_proxy": "corp"}}, ENVIRONMENT) or {}
        self.assertEqual(arguments["env"]["no_proxy"], "corp," + loopback.HOSTS)


class Exports(unittest.TestCase):
    """What a line sets is what the variables are, whatever is in them."""

    VALUES = {
        "A_PORT": "4711",
        "A_PATH": '/it\'s "here"/$HOME/`x`/a b;c&d|e<f>g(h)i[j]k{l}~!#%^*?\\',
        "A_TEXT": "\u00e9 \u4e16\u754c \U0001f600 \u2018x\u2019 \u201e",
        "A_END": "back\\slash\\",
        "A_NONE": "",
        "A_EQUALS": "=ls:=ls",
        "A_QUOTES": "''\"\"'\\''",
    }

    def values(self) -> list[dict[str, str]]:
        """With some hundred of the characters that shells take for more."""
        chance = random.Random(7)
        signs = "'\"\\$`!%^&|;<>(){}[]*?~# aBu01/:=,@\u00e9\u2019"
        made = {
            f"R_{number}": "".join(chance.choice(signs) for _ in range(chance.randrange(1, 30)))
            for number in range(300)
        }
        return [self.VALUES, made]

    def set_by(self, line: Sequence[str], script: str, names: Iterable[str]) -> dict[str, str]:
        code = "import json, os, sys; print(json.dumps({n: os.environ[n] for n in sys.argv[1:]}))"
        words = " ".join([PYTHON, "-c", f"'{code}'", *names])
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run(
                [*line, f"{script}\n{words}\n"],
                env={"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8"},
                stdout=subprocess.PIPE,
                check=True,
                timeout=120,
            )
        found: dict[str, str] = json.loads(done.stdout)
        return found

    def test_shells_read_back_what_was_meant(self) -> None:
        shells = {
            "sh": (["-c"], exports.posix_line),
            "bash": (["-c"], exports.posix_line),
            "zsh": (["-f", "-c"], exports.posix_line),
            "fish": (["--no-config", "-c"], exports.fish_line),
            "pwsh": (["-NoProfile", "-Command"], exports.powershell_line),
            "nu": (["--no-config-file", "-c"], exports.nushell_line),
        }
        for shell, (options, export) in shells.items():
            if not shutil.which(shell):
                continue
            for values in self.values():
                with self.subTest(shell):
                    found = self.set_by([shell, *options], export(values), values)
                    self.assertEqual(found, values)

    def test_powershell_doubles_every_quote_that_ends_a_text(self) -> None:
        line = exports.powershell_line({"A": "it's \u2019x"})
        self.assertEqual(line, " $env:A = 'it''s \u2019\u2019x'")

    def test_cmd_gets_no_quotes_and_a_caret_before_each_sign(self) -> None:
        line = exports.cmd_line({"A": "C:\\a b&c%TEMP%", "B": '1"'})
        self.assertEqual(line, 'set A=C:\\a b^&c^%TEMP^%&set B=1^"')

    def test_nushell_gets_texts_with_escapes(self) -> None:
        line = exports.nushell_line({"A": 'a"b\\c\\u0041', "B": "$x!!"})
        self.assertEqual(line, r' $env.A = "a\"b\\c\\u0041"; $env.B = "$x\u{21}\u{21}"')

    def test_no_line_has_a_character_that_a_terminal_takes_for_a_key(self) -> None:
        codes = [*range(0x20), *range(0x7F, 0xA0), 0xD800, 0xDFFF]
        for shell in exports.SHELLS:
            for code in codes:
                with self.subTest(shell, code=code):
                    with self.assertRaises(exports.CannotBePasted) as raised:
                        exports.line_for(shell, {"PORT": "1", "PATH": f"/a/{chr(code)}b"})
                    self.assertEqual(str(raised.exception), f"PATH has the character U+{code:04X}")
            printable = {"A": "".join(map(chr, [*range(0x20, 0x7F), 0xA0, 0x2028, 0x1F600]))}
            line = exports.line_for(shell, printable)
            self.assertFalse([sign for sign in line if ord(sign) in codes], line)


class CopyExports(AdapterTestCase):
    def is_told(self, folder: str) -> bool:
        return folder in "".join(plugin._host.environment_of(self.window).values())

    def choose(self, shell: str) -> Steps:
        with mock.patch.object(sublime.Window, "show_quick_panel") as panel:
            self.window.run_command("gemini_companion_copy_exports")
        _items, done = panel.call_args.args
        done(list(exports.SHELLS).index(shell))
        yield from self.until_turn()

    def test_the_chosen_shell_gets_the_windows_variables(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        yield from self.choose("fish")
        environment = plugin._host.environment_of(self.window)
        self.assertEqual(sublime.get_clipboard(), exports.fish_line(environment))
        self.assertIn("GEMINI_CLI_IDE_AUTH_TOKEN", sublime.get_clipboard())

    @unittest.skipIf(sublime.platform() == "windows", "no name has a line end there")
    def test_a_folder_whose_name_would_be_run_is_refused_and_named(self) -> Steps:
        folder = os.path.join(self.folder, "a\ntouch b\n")
        os.mkdir(folder)
        before = self.window.project_data()
        self.addCleanup(self.window.set_project_data, before)
        self.window.set_project_data({"folders": [{"path": folder}]})
        yield lambda: self.is_told(folder)
        sublime.set_clipboard("before")
        for shell in exports.SHELLS:
            with mock.patch.object(sublime, "status_message") as told:
                yield from self.choose(shell)
                yield lambda told=told: told.called
            self.assertIn(
                "GEMINI_CLI_IDE_WORKSPACE_PATH has the character U+000A", str(told.mock_calls)
            )
            self.assertEqual(sublime.get_clipboard(), "before")
        self.window.set_project_data(before)
        yield lambda: not self.is_told(folder)


class InTheSystemsTerminal(AdapterTestCase):
    def test_each_system_has_its_way(self) -> None:
        def line(system: str, *installed: str) -> list[str]:
            there = installed.__contains__
            return system_terminal.line_for(system, [], ["CLI"], "/", which=there)

        self.assertEqual(line("osx"), ["open", "-a", "Terminal", "CLI"])
        self.assertEqual(line("windows")[-2:], ["call", "CLI"])
        self.assertEqual(line("linux", "xterm", "konsole"), ["konsole", "-e", "CLI"])
        self.assertEqual(line("linux", "kitty", "xterm"), ["kitty", "CLI"])
        with self.assertRaisesRegex(system_terminal.NoTerminal, "No terminal was found"):
            line("linux")

    def test_ones_own_terminal_stands_before_those(self) -> None:
        own = ["wezterm", "start", "--cwd", "{cwd}", "{command}"]
        for system in ("linux", "osx", "windows"):
            line = system_terminal.line_for(system, own, ["gemini", "-m", "x"], "/work")
            self.assertEqual(line, ["wezterm", "start", "--cwd", "/work", "gemini", "-m", "x"])

    def test_a_cli_that_cannot_be_started_leaves_the_terminal_open_until_it_is_read(self) -> None:
        path = system_terminal.write_script(["/no/such/cli"], self.folder, {})
        done = subprocess.run([path], input=b"\n", capture_output=True, timeout=60)
        self.assertIn(b"ended with status 127. Press Enter.", done.stdout)
        self.assertFalse(os.path.exists(path))

    def test_no_script_with_a_token_stays_where_no_terminal_starts(self) -> None:
        with mock.patch.object(tempfile, "tempdir", self.folder):
            with self.assertRaises(system_terminal.NoTerminal):
                system_terminal.run_in_terminal(
                    "linux", ["/no/terminal"], ["gemini"], self.folder, ENVIRONMENT
                )
        self.assertEqual(os.listdir(self.folder), [])

    def started_by(self, *command: str) -> tuple[list[str], str]:
        """The CLI started by the command of a terminal: what the user is told, and the folder of
        the script."""
        told: list[str] = []
        folder = os.path.join(self.folder, "scripts")
        os.mkdir(folder)
        found = sublime.load_settings(settings.FILE)
        found.set("terminal_command", list(command))
        self.addCleanup(found.erase, "terminal_command")
        patched(self, mock.patch.object(tempfile, "tempdir", folder))
        self.begin(terminus.run_cli(self.window, self.folder, ENVIRONMENT, told.append))
        return told, folder

    def test_a_terminal_that_fails_is_told_once_and_its_script_goes_when_it_is_late(self) -> Steps:
        with mock.patch.object(terminus, "LAST", 3):
            told, folder = self.started_by("sh", "-c", "exit 3")
            yield lambda: told
            yield lambda: not os.listdir(folder)
        (text,) = told
        self.assertIn('"sh" has not run the CLI yet and ended with status 3', text)

    def test_one_that_does_nothing_is_told_when_it_is_late(self) -> Steps:
        with mock.patch.object(terminus, "LATE", 1), mock.patch.object(terminus, "LAST", 3):
            told, folder = self.started_by("true")
            yield lambda: told
            yield lambda: not os.listdir(folder)
        (text,) = told
        self.assertIn('"true" has not run the CLI yet;', text)

    def test_a_launcher_that_fails_though_its_window_comes_later_has_its_script_yet(self) -> Steps:
        told, folder = self.started_by("sh", "-c", "exit 3")
        yield lambda: told
        (name,) = os.listdir(folder)
        subprocess.run([os.path.join(folder, name)], input=b"\n", timeout=60)
        self.assertEqual(os.listdir(folder), [])

    def test_the_cli_gets_folder_and_variables(self) -> Steps:
        out = os.path.join(self.folder, "out")
        code = (
            "import os, sys; open(sys.argv[1] + '.new', 'w').write('|'.join([os.getcwd(),"
            " os.environ['TERM_PROGRAM'], os.environ['GEMINI_CLI_IDE_SERVER_PORT']]));"
            " os.rename(sys.argv[1] + '.new', sys.argv[1])"
        )
        command = [PYTHON, "-c", code, out]
        started = system_terminal.run_in_terminal(
            "linux", ["{command}"], command, self.folder, ENVIRONMENT
        )
        yield lambda: os.path.exists(out)
        with open(out, encoding="utf-8") as file:
            self.assertEqual(file.read(), f"{self.folder}|sublime|1")
        yield lambda: started.process.poll() is not None

    def test_windows_reads_a_path_with_blanks_as_one(self) -> None:
        command = ["C:\\Program Files\\gemini.cmd", "--model", "a b"]
        written = '"C:\\Program Files\\gemini.cmd" --model "a b"'
        line = system_terminal.line_for("windows", [], command, self.folder)
        inside = terminus._as_sublime("windows", command)
        self.assertEqual(
            subprocess.list2cmdline(line), 'cmd.exe /c start "" cmd.exe /k call ' + written
        )
        self.assertEqual(
            subprocess.list2cmdline(inside), "cmd.exe /c set TERM_PROGRAM=sublime&& " + written
        )

    def test_a_terminal_that_is_not_there_is_said(self) -> None:
        with self.assertRaises(system_terminal.NoTerminal) as caught:
            system_terminal.run_in_terminal("linux", ["/no/terminal"], ["gemini"], self.folder, {})
        self.assertIn("terminal_command", str(caught.exception))

    def test_the_script_for_macos_is_the_users_alone_and_quotes_what_it_is_given(self) -> None:
        path = system_terminal.write_script(["gemini", "a b"], "/it's", {"TOKEN": "x y"})
        self.addCleanup(os.unlink, path)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o700)
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertIn("export TOKEN='x y'", lines)
        self.assertIn("gemini 'a b'", lines)
        self.assertIn("""cd '/it'"'"'s' || exit""", lines)
