"""The plugin of Claude Code: its script as the CLI runs it, and the editor at the other end of the
pipes."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion import __version__
from GeminiCompanion.companion.ide.claude import plugin_calls, plugin_folder
from GeminiCompanion.companion.ide.clis import CLAUDE_CODE
from GeminiCompanion.companion.ide.events import WindowSettingsChanged
from GeminiCompanion.companion.ide.hook_events import HookEvent
from GeminiCompanion.companion.ide.hooks import extension
from GeminiCompanion.companion.ide.hooks.hook_answers import NOTHING, HookAnswer
from GeminiCompanion.companion.ide.live_clis import Activity
from GeminiCompanion.companion.ide.saved_state import SavedSentence
from GeminiCompanion.companion.ide.window_settings import WindowSettings
from GeminiCompanion.companion.ide.workspace import Workspace

from ..support import patched, wait_for
from .test_claude import ClaudeCase

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "extension", "report.sh")
SHELLS = [shell for shell in ("sh", "dash", "bash", "busybox") if shutil.which(shell)]
# The API key of a user, which nobody may read.
KEY = "sk-ant-secret"
# An editor that has the folder and reads nothing.
DEAF = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"

unix_only = unittest.skipIf(sys.platform == "win32", "the plugin is not offered there")


class Hook:
    """The script, run with a report. `home` is the user's."""

    def __init__(self, home: str, report: bytes, pid: int = 7, shell: str = "sh") -> None:
        name = "busybox sh" if shell == "busybox" else shell
        self._process = subprocess.Popen(
            ["sh", "-c", f'{name} "{SCRIPT}" {pid} {__version__}; exit 0'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"HOME": home, "PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": KEY},
            start_new_session=True,
        )
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(report)
            self._process.stdin.close()
        except BrokenPipeError:
            # It has nobody to tell.
            pass
        self._process.stdin = None

    def answer(self) -> Any:
        """What it prints, as JSON; None if it prints nothing."""
        said, fault = self._process.communicate(timeout=120)
        assert (self._process.returncode, fault) == (0, b""), (self._process.returncode, fault)
        return json.loads(said) if said else None

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate(timeout=120)


@unix_only
class PluginCase(ClaudeCase):
    def setUp(self) -> None:
        super().setUp()
        self.pipes = os.path.join(self.locks, plugin_folder.NAME.format(pid=os.getpid()))

    def open_windows(self, **folders: str) -> None:
        super().open_windows(**folders)
        wait_for(lambda: os.path.exists(os.path.join(self.pipes, plugin_folder.CALLS)))

    def limit(self, **limits: Any) -> None:
        change = mock.patch.multiple(plugin_calls, **limits)
        change.start()
        self.addCleanup(change.stop)

    def hook(self, event: str, pid: int = 7, shell: str = "sh", **more: Any) -> Hook:
        return Hook(self.temp, self.report(event, **more), pid, shell)

    def report(self, event: str, **more: Any) -> bytes:
        told = {"session_id": "s", "cwd": self.path("", "project"), **more}
        return json.dumps({"hook_event_name": event, **told}).encode() + b"\n"

    def window(self, number: int = 1) -> Workspace:
        return self.windows.workspaces[number]

    def live(self, number: int = 1) -> list[tuple[str, Activity, str]]:
        found = self.window(number).hooks.live.all()
        return [(each.cli_id, each.activity, each.prompt) for each in found]

    def left(self) -> list[str]:
        """The pipes of hooks that are there."""
        return [name for name in os.listdir(self.pipes) if name.endswith((".in", ".out"))]


class Reports(PluginCase):
    def test_every_shell_passes_a_report_on_and_prints_the_answer(self) -> None:
        self.open_windows(w1="project")
        for shell in SHELLS:
            with self.subTest(shell):
                self.background.call(
                    lambda: self.window().unasked.adopt_sentences(
                        [_sentence("Mind 100% \\n \u00e4")]
                    )
                )
                hook = self.hook("UserPromptSubmit", shell=shell, prompt=f"do {shell}\n")
                said = hook.answer()["hookSpecificOutput"]
                self.assertEqual(said["hookEventName"], "UserPromptSubmit")
                self.assertIn("Mind 100% \\n \u00e4", said["additionalContext"])
                self.assertEqual(self.live(), [("claude", Activity.WORKING, f"do {shell}\n")])
                wait_for(lambda: self.left() == [])

    def test_a_report_of_some_megabytes_is_read(self) -> None:
        self.open_windows(w1="project")
        lines = [f"+ line {number}" for number in range(20000)]
        content = 'a "line" with \\ and \u00e4\n' * 100000
        tool: dict[str, Any] = {
            "tool_name": "Write",
            "tool_input": {"file_path": "/w/a", "content": content},
        }
        hook = self.hook(
            "PostToolUse", **tool, tool_response={"structuredPatch": [{"lines": lines}]}
        )
        self.assertEqual(hook.answer(), {})
        self.assertEqual(self.live(), [("claude", Activity.WORKING, "")])

    def test_many_hooks_at_once_are_all_answered(self) -> None:
        self.open_windows(w1="project")
        self.limit(MAX_CALLS=2)
        hooks = [self.hook("UserPromptSubmit", session_id=str(each)) for each in range(12)]
        self.assertEqual([hook.answer() for hook in hooks], [{}] * 12)
        wait_for(lambda: self.left() == [])

    def test_what_is_no_report_costs_its_own_answer_alone(self) -> None:
        self.open_windows(w1="project")
        nested = b"[" * 100000
        for report in (b"", b"{", b"[]", nested, b'{"hook_event_name": 1}', b'{"a": "\xff"}'):
            with self.subTest(report[:9]):
                self.assertEqual(Hook(self.temp, report).answer(), {})
        few: tuple[dict[str, Any], ...] = ({"MAX_REPORT": 100}, {"MAX_REST": 100})
        for limits in few:
            with self.subTest(limits), mock.patch.multiple(plugin_calls, **limits):
                hook = self.hook("UserPromptSubmit", numbers=list(range(40000)))
                self.assertEqual(hook.answer(), {})
        self.assertEqual(self.live(), [])
        with open(os.path.join(self.pipes, plugin_folder.CALLS), "wb", 0) as pipe:
            pipe.write(b"../../x-1 any 1 1\n1-1 any\n\xff\n" + 3000 * b"x" + b"\n7-7 any 1 1\n")
        wait_for(lambda: self.left() == [])

    def test_a_window_that_does_not_admit_it_hears_nothing(self) -> None:
        self.open_windows(w1="project", w2="other")
        self.tell(WindowSettingsChanged(1, WindowSettings(claude_code=False)))
        wait_for(lambda: not self.window().admits_claude)
        self.assertIsNone(self.hook("UserPromptSubmit").answer())
        self.assertEqual(self.live() + self.live(2), [])

    def test_it_reaches_the_window_to_which_its_cli_is_connected(self) -> None:
        self.open_windows(w1="project", w2="other")
        self.connect("other")
        wait_for(lambda: self.windows.claude.connections_in(self.window(2)))
        [connection] = self.windows.claude.connections_in(self.window(2))
        self.hook("UserPromptSubmit", pid=9).answer()
        self.assertEqual((len(self.live()), len(self.live(2))), (1, 0))
        self.background.call(lambda: setattr(connection, "pid", 9))
        self.hook("UserPromptSubmit", pid=9).answer()
        self.assertEqual((len(self.live()), len(self.live(2))), (0, 1))
        [cli] = self.window(2).hooks.live.all()
        self.assertIn(cli.mcp_session, [each.id for each in self.window(2).sessions])

    def test_a_connected_cli_is_made_to_ask_in_its_own_words(self) -> None:
        self.open_windows(w1="project")
        self.connect()
        wait_for(lambda: self.windows.claude.connections_in(self.window()))
        [connection] = self.windows.claude.connections_in(self.window())
        self.window().unasked.asks = True
        edit: dict[str, Any] = {
            "tool_name": "Edit",
            "tool_input": {"file_path": self.path("a.py", "project")},
        }
        self.assertEqual(self.hook("PreToolUse", pid=9, **edit).answer(), {})
        self.background.call(lambda: setattr(connection, "pid", 9))
        said = self.hook("PreToolUse", pid=9, **edit).answer()["hookSpecificOutput"]
        self.assertEqual(said["permissionDecision"], "ask")
        self.assertEqual(said["hookEventName"], "PreToolUse")


class Ends(PluginCase):
    """What becomes of a hook that nobody answers. A limit of seconds is the script's own; it is
    seen by what it leaves, not by a clock."""

    def test_without_an_editor_it_prints_nothing(self) -> None:
        self.assertIsNone(self.hook("Stop").answer())

    def test_it_asks_nobody_whose_folder_others_can_enter(self) -> None:
        self.open_windows(w1="project")
        os.chmod(self.pipes, 0o750)
        self.assertIsNone(self.hook("Stop").answer())
        os.chmod(self.pipes, 0o700)
        moved = f"{self.pipes}.moved"
        os.rename(self.pipes, moved)
        os.symlink(moved, self.pipes)
        self.assertIsNone(self.hook("Stop").answer())
        self.assertEqual(self.live(), [])
        os.unlink(self.pipes)
        os.rename(moved, self.pipes)

    def test_an_editor_that_does_not_read_is_given_up_once(self) -> None:
        # As where another process has the number of an editor that was killed.
        editor, pipes = self.deaf_editor()
        self.assertIsNone(self.hook("Stop").answer())
        wait_for(lambda: os.listdir(pipes) == [])
        self.assertIsNone(self.hook("Stop").answer())
        self.assertIsNone(editor.poll())

    def test_an_editor_that_is_killed_ends_the_wait(self) -> None:
        editor, pipes = self.deaf_editor()
        hook = self.hook("Stop")
        wait_for(lambda: len(os.listdir(pipes)) == 3)
        editor.kill()
        editor.wait()
        self.assertIsNone(hook.answer())
        # So no other hook waits at all.
        wait_for(lambda: sorted(os.listdir(pipes)) == [plugin_folder.CALLS])
        self.assertIsNone(self.hook("Stop").answer())

    def test_an_editor_that_has_made_its_folder_anew_ends_the_wait(self) -> None:
        _editor, pipes = self.deaf_editor()
        seconds = self.count_seconds()
        hook = self.hook("Stop")
        # Then it has opened its pipes.
        wait_for(lambda: os.path.exists(seconds))
        for name in os.listdir(pipes):
            if name != plugin_folder.CALLS:
                os.unlink(os.path.join(pipes, name))
        self.assertIsNone(hook.answer())
        with open(seconds, encoding="utf-8") as file:
            self.assertLess(len(file.readlines()), 10)

    def count_seconds(self) -> str:
        """The path of a file that has a line for each second that a hook has waited from now on."""
        counted, folder = (os.path.join(self.temp, name) for name in ("seconds", "programs"))
        os.mkdir(folder)
        program = os.path.join(folder, "sleep")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho >>"{counted}"\nexec {shutil.which("sleep")} "$@"\n')
        os.chmod(program, 0o700)
        places = {"PATH": os.pathsep.join([folder, os.environ["PATH"]])}
        patched(self, mock.patch.dict(os.environ, places))
        return counted

    def test_nothing_of_the_environment_is_told(self) -> None:
        editor, pipes = self.deaf_editor()
        calls = os.open(os.path.join(pipes, plugin_folder.CALLS), os.O_RDWR)
        self.addCleanup(os.close, calls)
        hook = self.hook("Stop")
        announced = os.read(calls, 4096)
        sent = os.open(os.path.join(pipes, announced.split()[0].decode() + ".in"), os.O_RDWR)
        self.addCleanup(os.close, sent)
        report = b""
        while not report.endswith(b"\0"):
            report += os.read(sent, 4096)
        self.assertEqual(report, self.report("Stop").strip() + b"\0")
        self.assertRegex(announced, rb"\A\d+-1 any 7 [\d.]+\n\Z")
        editor.kill()
        editor.wait()
        hook.answer()

    def deaf_editor(self) -> tuple[subprocess.Popen[str], str]:
        editor = subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE, text=True)
        self.addCleanup(editor.wait)
        self.addCleanup(editor.kill)
        assert editor.stdout is not None
        self.addCleanup(editor.stdout.close)
        pid = int(editor.stdout.readline())
        pipes = os.path.join(self.locks, plugin_folder.NAME.format(pid=pid))
        os.makedirs(pipes, 0o700)
        os.mkfifo(os.path.join(pipes, plugin_folder.CALLS), 0o600)
        return editor, pipes

    def test_a_companion_that_stops_answers_who_waits(self) -> None:
        self.open_windows(w1="project")
        self.limit(MAX_CALLS=0)
        hooks = [self.hook("Stop") for _ in range(3)]
        wait_for(lambda: len(self.left()) == 6)
        self.background.stop()
        self.assertEqual([hook.answer() in ({}, None) for hook in hooks], [True] * 3)
        self.assertFalse(os.path.exists(self.pipes))

    def test_words_that_a_killed_hook_does_not_print_are_told_to_the_next(self) -> None:
        self.open_windows(w1="project")
        begun: list[HookEvent] = []
        goes_on: list[bool] = []
        desk = self.window().hooks

        class Slow:
            async def answer_hook(self, event: HookEvent, session: object) -> HookAnswer:
                begun.append(event)
                while not goes_on:
                    await asyncio.sleep(0.01)
                return NOTHING

        self.background.call(lambda: desk.listeners.append(Slow()))
        self.background.call(lambda: self.window().unasked.adopt_sentences([_sentence("Mind it.")]))
        hook = self.hook("UserPromptSubmit", prompt="do it")
        wait_for(lambda: begun)
        hook.kill()
        goes_on.append(True)
        wait_for(lambda: self.window().unasked.saved_sentences() != ())
        said = self.hook("UserPromptSubmit", prompt="do it").answer()
        self.assertIn("Mind it.", said["hookSpecificOutput"]["additionalContext"])


class Folder(PluginCase):
    def test_nobody_else_can_enter_it_and_it_goes_with_the_companion(self) -> None:
        self.open_windows(w1="project")
        for path, mode in ((self.pipes, 0o700), (os.path.join(self.pipes, "calls"), 0o600)):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), mode)
        self.background.stop()
        self.assertEqual(os.listdir(self.locks), [])

    def test_it_is_made_again_when_it_was_removed(self) -> None:
        self.open_windows(w1="project")
        shutil.rmtree(self.pipes)
        self.background.call(self.windows.claude.look_after)
        wait_for(lambda: os.path.exists(os.path.join(self.pipes, plugin_folder.CALLS)))
        wait_for(lambda: self.hook("UserPromptSubmit").answer() == {})

    def test_a_disk_that_keeps_nobody_out_or_has_no_pipes_is_said_and_left_as_it_was(self) -> None:
        def refuse(*_arguments: Any) -> None:
            raise PermissionError(1, "Operation not permitted")

        for name, change in (
            ("permissions", mock.patch.object(plugin_folder.stat, "S_IMODE", lambda _: 0o777)),
            ("pipes", mock.patch.object(os, "mkfifo", refuse)),
        ):
            with self.subTest(name), change:
                ClaudeCase.open_windows(self, w1="project")
                wait_for(lambda: self.windows.claude.plugin.problem != "")
                self.assertFalse(os.path.exists(self.pipes))
                self.assertIsNone(self.hook("Stop").answer())
            self.background.call(self.windows.claude.look_after)
            wait_for(lambda: self.windows.claude.plugin.problem == "")
            self.background.call(lambda: None)
            shutil.rmtree(self.pipes)

    def test_those_of_editors_that_have_ended_are_removed_and_no_others(self) -> None:
        self.open_windows(w1="project")
        with open(os.path.join(self.pipes, plugin_folder.SERVING), encoding="utf-8") as file:
            ours = json.load(file)
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        names = [plugin_folder.NAME.format(pid=gone.pid + number) for number in range(2)]
        names += [plugin_folder.NAME.format(pid=os.getppid()), "gemini-companion-x.hooks"]
        for name in names:
            os.mkdir(os.path.join(self.locks, name), 0o700)
        for name in names[1:]:
            with open(os.path.join(self.locks, name, plugin_folder.SERVING), "w") as file:
                file.write(json.dumps({**ours, "pid": gone.pid}) if name == names[1] else "{")
        removed = [os.path.basename(path) for path in plugin_folder.sweep_hook_folders()]
        self.assertEqual(sorted(removed), sorted(names[:2]))


class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = os.path.realpath(folder.name)
        self.path = extension.extension_folder(CLAUDE_CODE, {}, self.home)

    def install(self) -> None:
        with open(SCRIPT, "rb") as file:
            extension.install_extension(CLAUDE_CODE, self.path, file.read())

    @unix_only
    def test_what_is_installed_leaves_no_trace_when_it_is_removed(self) -> None:
        self.install()
        self.assertEqual(self.path, os.path.join(self.home, ".claude/skills/gemini-companion"))
        self.assertEqual(extension.installed_at(CLAUDE_CODE, self.path).version, __version__)
        with open(os.path.join(self.path, "hooks", "hooks.json"), encoding="utf-8") as file:
            hooks = json.load(file)["hooks"]
        form = CLAUDE_CODE.extension
        self.assertEqual(list(hooks), list(form.events) if form is not None else [])
        self.assertTrue(extension.remove_extension(CLAUDE_CODE, self.path))
        self.assertEqual(os.listdir(os.path.dirname(self.path)), [])

    @unix_only
    def test_a_hook_ends_well_if_its_script_is_gone(self) -> None:
        self.install()
        with open(os.path.join(self.path, "hooks", "hooks.json"), encoding="utf-8") as file:
            command = json.load(file)["hooks"]["Stop"][0]["hooks"][0]["command"]
        for is_there in (True, False):
            if not is_there:
                os.unlink(os.path.join(self.path, "report.sh"))
            done = subprocess.run(
                ["sh", "-c", command],
                # That of the user may lead to their editor.
                env={
                    "CLAUDE_PLUGIN_ROOT": self.path,
                    "HOME": self.home,
                    "PATH": os.environ["PATH"],
                },
                input=b"{}",
                capture_output=True,
                timeout=120,
            )
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    @unix_only
    def test_it_tells_whether_the_user_switched_it_off(self) -> None:
        self.install()
        project = os.path.join(self.home, "project")
        places = (os.path.join(self.home, ".claude"), os.path.join(project, ".claude"))
        os.makedirs(places[1])
        # The setting in the home, that of the project, and what counts.
        for mine, shared, is_enabled in (
            (None, None, True),
            (False, None, False),
            (False, True, True),
            (True, False, False),
            ("x", None, True),
        ):
            for place, value in zip(places, (mine, shared)):
                chosen = {} if value is None else {"gemini-companion@skills-dir": value}
                with open(os.path.join(place, "settings.json"), "w", encoding="utf-8") as file:
                    json.dump({"enabledPlugins": chosen}, file)
            with self.subTest(mine=mine, shared=shared):
                found = extension.installed_at(CLAUDE_CODE, self.path, project)
                self.assertEqual(found.is_enabled, is_enabled)

    def test_on_windows_it_is_not_offered(self) -> None:
        with mock.patch.object(extension.sys, "platform", "win32"):
            self.assertRaisesRegex(extension.NotChanged, "not offered on Windows", self.install)
        self.assertFalse(os.path.exists(self.path))


def _sentence(text: str) -> SavedSentence:
    return SavedSentence("t", CLAUDE_CODE.name, text)
