"""The processes: parent and plugin host, scripts, signals, exits."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import zipfile
from contextlib import redirect_stderr, suppress
from typing import Any
from unittest import mock

from headless import options

from .engine import HERE, PATIENCE, environment, is_alive, run_editor, wait_until

PLUGIN = """
import os, sublime, sublime_plugin, sys, threading
print("plugin sees", sys.stdout.write(""), hasattr(sys.stdout, "buffer"))
def say(text):
    with open(os.environ["TOY_LOG"], "a") as file: file.write(text + "\\n")
MAIN = threading.main_thread()
def plugin_loaded(): say("loaded on main %s" % (threading.current_thread() is MAIN))
def plugin_unloaded(): say("unloaded")
class Listener(sublime_plugin.EventListener):
    def on_exit(self): say("exit")
    def on_init(self, views):
        say("pid %d" % os.getpid())
        say("init")
class ToyCommand(sublime_plugin.WindowCommand):
    def run(self): say("ran in %s" % self.window.folders())
"""

FACTS = """
import json, os, sublime
seen = {"folders": [window.folders() for window in sublime.windows()], "build": sublime.version()}
seen.update(parent=os.getppid(), packages=sublime.packages_path())
print("facts " + json.dumps(seen))
"""


KEEPING = """
from headless import running, session
running.current().ui(session.save, running.current())
"""


class Asked(unittest.TestCase):
    def test_windows_runs_scripts_and_says_that_it_reads_no_keys(self) -> None:
        script = ["--exec", "x.py"]
        self.assertTrue(options.parse(script, "win32").script)
        for platform in ("linux", "darwin"):
            self.assertIsNone(options.parse([], platform).script)
        with redirect_stderr(io.StringIO()) as told, self.assertRaises(SystemExit) as left:
            options.parse([], "win32")
        self.assertEqual(left.exception.code, 2)
        self.assertIn("keys as the terminals of Linux and macOS send them", told.getvalue())


FRONT = """
from headless.front import Front

class Side(Front):
    def run(self, editor, options):
        from .words import WORDS
        print(WORDS)
        return 5

front = Side()
"""


class Host(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.package = os.path.join(self.folder, "Toy")
        os.mkdir(self.package)
        self.write("Toy/plugin.py", PLUGIN)
        self.log_path = os.path.join(self.folder, "log")
        os.environ["TOY_LOG"] = self.log_path
        self.addCleanup(os.environ.pop, "TOY_LOG")

    def write(self, name: str, text: str) -> str:
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def log(self) -> list[str]:
        with suppress(FileNotFoundError), open(self.log_path, encoding="utf-8") as file:
            return file.read().splitlines()
        return []

    def run_script(self, source: str, *arguments: str) -> Any:
        script = self.write("script.py", source)
        return run_editor(["--package", self.package, "--exec", script, *arguments])

    def start(self, *arguments: str, **more: Any) -> Any:
        command = [sys.executable, "-m", "headless", "--package", self.package, *arguments]
        return subprocess.Popen(
            command, cwd=HERE, env=environment(), stderr=subprocess.DEVNULL, **more
        )

    def test_a_script_drives_the_editor_and_its_status_is_the_editors(self) -> None:
        work = os.path.join(self.folder, "work")
        os.mkdir(work)
        done = self.run_script(
            "import os, sublime, sys, threading\n"
            "print(sys.argv[1:], __name__, threading.current_thread().name)\n"
            "sublime.active_window().run_command('toy')\n"
            "sys.exit(3)\n",
            *(work, "--", "one", "--two"),
        )
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("['one', '--two'] __main__ script", done.stdout)
        self.assertIn("plugin sees None False", done.stdout)
        loaded, _pid, *more = self.log()
        self.assertEqual(loaded, "loaded on main True")
        self.assertEqual(more, ["init", f"ran in ['{work}']", "unloaded"])

    def test_a_script_that_raises_or_exits_with_a_sentence_gives_one_and_says_why(self) -> None:
        done = self.run_script("raise LookupError('on purpose')\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("LookupError: on purpose", done.stderr)
        self.assertEqual(self.log()[-1], "unloaded")
        done = self.run_script("import sys; sys.exit('no luck')\n")
        self.assertEqual((done.returncode, done.stderr.strip()), (1, "no luck"))

    def facts(self, *arguments: str) -> dict[str, Any]:
        """What a script sees, beside the number of the editor's process."""
        script = self.write("script.py", FACTS)
        with self.start("--exec", script, *arguments, stdout=subprocess.PIPE, text=True) as editor:
            output = editor.communicate(timeout=120)[0]
        seen = json.loads(output.partition("facts ")[2].splitlines()[0])
        return {**seen, "editor": editor.pid}

    def test_folders_build_and_data_folder_are_those_that_were_asked_for(self) -> None:
        a, b, data = (os.path.join(self.folder, name) for name in ("a", "b", "data"))
        os.mkdir(a)
        os.mkdir(b)
        seen = self.facts(a, b, "--build", "4121", "--data", data)
        # Each folder has a window of its own.
        self.assertEqual((seen["folders"], seen["build"]), ([[a], [b]], "4121"))
        self.assertEqual(seen["parent"], seen["editor"])
        self.assertEqual(seen["packages"], os.path.join(data, "Packages"))
        self.assertTrue(os.path.isdir(os.path.join(data, "Packages", "User")))

    def test_a_script_begins_with_what_was_open_only_where_that_is_asked_for(self) -> None:
        data = os.path.join(self.folder, "data")
        script = self.write("keep.py", KEEPING)
        with self.start(self.folder, "--data", data, "--exec", script) as editor:
            self.assertEqual(editor.wait(PATIENCE), 0)
        self.assertEqual(self.facts("--data", data)["folders"], [[]])
        self.assertEqual(self.facts("--data", data, "--restore")["folders"], [[self.folder]])
        # The folder has its window already.
        seen = self.facts(self.folder, "--data", data, "--restore")
        self.assertEqual(seen["folders"], [[self.folder]])

    def test_where_none_are_there_is_an_empty_window_and_a_data_folder_for_this_time(self) -> None:
        seen = self.facts()
        self.assertEqual(seen["folders"], [[]])
        self.assertFalse(os.path.exists(os.path.dirname(seen["packages"])))

    def test_what_a_thread_saves_up_to_the_end_goes_with_the_data_folder(self) -> None:
        self.write(
            "Toy/plugin.py",
            "import os, sublime, threading\n"
            "def save():\n"
            "    while True: os.makedirs(os.path.join(sublime.cache_path(), 'a'), exist_ok=True)\n"
            "def plugin_unloaded(): threading.Thread(target=save, daemon=True).start()\n",
        )
        seen = self.facts()
        self.assertFalse(os.path.exists(os.path.dirname(seen["packages"])))

    def test_an_optimised_editor_has_an_optimised_host(self) -> None:
        script = self.write("script.py", "assert False\n")
        command = ["-m", "headless", "--package", self.package, "--exec", script]
        for flags, status in (([], 1), (["-O"], 0)):
            done = subprocess.run(
                [sys.executable, *flags, *command],
                cwd=HERE,
                env=environment(),
                capture_output=True,
                timeout=PATIENCE,
            )
            self.assertEqual(done.returncode, status)

    def test_libraries_of_the_data_folder_come_before_those_of_this_python(self) -> None:
        data = os.path.join(self.folder, "data")
        folder = os.path.join(data, "Lib", f"python3{sys.version_info[1]}")
        os.makedirs(folder)
        for name in ("pytest", "json"):
            self.write(os.path.join(folder, name + ".py"), "MINE = True\n")
        source = "import json, pytest; print('mine', hasattr(json, 'MINE'), pytest.MINE)\n"
        done = self.run_script(source, "--data", data)
        self.assertIn("mine False True", done.stdout, done.stderr)

    def test_a_checkout_is_loaded_by_its_name_but_for_a_package_in_the_data_folder(self) -> None:
        data, checkout = (os.path.join(self.folder, name) for name in ("data", "toy-main"))
        script = self.write("where.py", "import Other.plugin as it; print('from', it.__file__)\n")
        unpacked = os.path.join(data, "Packages", "Other")
        zipped = os.path.join(data, "Installed Packages", "Other.sublime-package")
        os.mkdir(checkout)
        self.write("toy-main/headless.json", '{"package": "Other"}')
        self.write("toy-main/plugin.py", "")
        done = run_editor(["--data", data, "--exec", script], checkout)
        self.assertIn("from " + os.path.join(checkout, "plugin.py"), done.stdout, done.stderr)
        shutil.rmtree(data)
        os.makedirs(unpacked)
        os.mkdir(os.path.dirname(zipped))
        self.write(os.path.join(unpacked, "plugin.py"), "")
        with zipfile.ZipFile(zipped, "w") as archive:
            archive.writestr("plugin.py", "")
        for path in (unpacked, zipped):
            done = run_editor(["--data", data, "--exec", script], checkout)
            self.assertIn("from " + os.path.join(path, "plugin.py"), done.stdout, done.stderr)
            shutil.rmtree(unpacked, ignore_errors=True)

    def test_a_broken_package_in_the_data_folder_keeps_no_other_from_loading(self) -> None:
        folder = os.path.join(self.folder, "data", "Installed Packages")
        os.makedirs(folder)
        self.write(os.path.join(folder, "Other.sublime-package"), "no zip")
        done = self.run_script("", "--data", os.path.dirname(folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Other.sublime-package", done.stderr)
        self.assertEqual(self.log()[0], "loaded on main True")

    def test_a_wrong_command_line_is_explained_before_anything_starts(self) -> None:
        nowhere = os.path.join(self.folder, "nowhere")
        for given, words in (
            ([nowhere], "there is no folder"),
            (["--package", nowhere], "expected a folder"),
        ):
            done = run_editor(given)
            self.assertEqual((done.returncode, self.log()), (2, []))
            self.assertIn(words, done.stderr)

    def test_a_headless_json_that_makes_no_sense_is_explained(self) -> None:
        for content, words in (
            ('{"package": 1}', "expected an object with the texts"),
            ('{"name": "Toy"}', "expected an object with the texts"),
            ('{"environment": []}', "expected an object with the texts"),
            ('{"environment": {"HOME": 1}}', "expected an object with the texts"),
            ("no JSON", "headless.json: "),
            ('{"front": "nowhere"}', "expected a package of Python as front"),
        ):
            self.write("headless.json", content)
            # It is a person's.
            given = [] if "front" in content else ["--exec", "any.py"]
            with self.subTest(content):
                done = run_editor(given, self.folder)
                self.assertEqual(done.returncode, 2)
                self.assertIn(words, done.stderr)

    def test_a_script_has_the_environment_of_the_project_unless_it_has_a_data_folder(self) -> None:
        there = os.path.join(self.folder, "toy-env")
        os.mkdir(there)
        variables = {"TOY_HOME": "$data/home", "TOY_PLACE": ""}
        told = json.dumps({"package": "Toy", "environment": variables})
        self.write("toy-env/headless.json", told)
        # The package has it when it is loaded.
        self.write("toy-env/plugin.py", "import os; HOME = os.environ.get('TOY_HOME', '')\n")
        script = self.write(
            "tell.py",
            "import json, os\nfrom Toy.plugin import HOME\n"
            "print('told', json.dumps([HOME, os.path.isdir(HOME), os.environ['TOY_PLACE']]))\n",
        )
        for given in ([], ["--data", os.path.join(self.folder, "data")]):
            with mock.patch.dict(os.environ, TOY_PLACE="a person's"):
                done = run_editor([*given, "--exec", script], there)
            home, *rest = json.loads(done.stdout.partition("told ")[2].partition("\n")[0])
            self.assertEqual(rest, [False, "a person's"] if given else [True, ""])
            self.assertEqual((bool(home), os.path.exists(home)), (not given, False))

    def test_a_project_brings_its_own_front_which_runs_until_the_person_quits(self) -> None:
        os.mkdir(os.path.join(self.folder, "side"))
        self.write("side/words.py", "WORDS = 'at your service'\n")
        self.write("side/__init__.py", FRONT)
        self.write("headless.json", '{"package": "Toy", "front": "side"}')
        done = run_editor(["--data", os.path.join(self.folder, "data")], self.folder)
        self.assertEqual((done.returncode, done.stderr), (5, ""))
        self.assertIn("at your service", done.stdout)

    @unittest.skipUnless(hasattr(signal, "SIGKILL"), "no such signals here")
    def test_a_signal_to_the_editor_is_an_orderly_quit_with_hot_exit(self) -> None:
        data = os.path.join(self.folder, "data")
        editor = self.interactive("--data", data)
        editor.send_signal(signal.SIGTERM)
        self.assertEqual(editor.wait(PATIENCE), 0)
        self.assertEqual(self.log()[3:], ["exit"])
        self.assertTrue(os.path.exists(os.path.join(data, "Local", "Session.sublime_session")))

    @unittest.skipUnless(hasattr(signal, "SIGKILL"), "no such signals here")
    def test_the_host_vanishes_when_the_editor_is_killed(self) -> None:
        editor = self.interactive()
        host = int(self.log()[1].split()[1])
        editor.kill()
        editor.wait(PATIENCE)
        wait_until(lambda: not is_alive(host), "the end of the host")
        self.assertEqual(self.log()[3:], [])

    def interactive(self, *arguments: str) -> Any:
        read, write = os.pipe()
        self.addCleanup(os.close, write)
        self.addCleanup(os.close, read)
        editor = self.start(*arguments, stdin=read, stdout=subprocess.DEVNULL)
        self.addCleanup(editor.wait, 120)
        self.addCleanup(editor.kill)
        wait_until(lambda: "init" in self.log(), "the start of the editor")
        return editor
