"""What `make test` says of its parts, and how it ends one that hangs."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import sys
import tempfile
import threading
import unittest
from typing import Any
from unittest import mock

from tools import run_tests, setup
from tools.run_tests import Part

from ..support import PATIENCE, is_alive, wait_for

# Starts a program that nobody ends, and says its number.
STARTER = """
import subprocess, sys, threading
child = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
print("child", child.pid, flush=True)
threading.Event().wait()
"""

VENV = tempfile.mkdtemp()
HANGS = "import threading; threading.Event().wait()"


def setUpModule() -> None:
    """What is compiled here is kept apart from what the run of all tests uses."""
    unittest.addModuleCleanup(shutil.rmtree, VENV, True)
    patch = mock.patch.object(run_tests, "VENV", VENV)
    patch.start()
    unittest.addModuleCleanup(patch.stop)


def run(*parts: tuple[Any, ...]) -> tuple[int, list[str]]:
    """Status and lines of a run with these parts, a name, a program and more of `Part` each."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = run_tests.run_all([Part(name, ("-c", code), *more) for name, code, *more in parts])
    return status, said.getvalue().splitlines()


class Ending(unittest.TestCase):
    def test_the_last_lines_say_what_was_skipped_in_any_part(self) -> None:
        both = "print('skipped: 2 of b: why'); print('skipped: 1 of a: because')"
        status, lines = run(("one", "print('skipped: 3 of c: why')"), ("two", both))
        expected = ["skipped: 1 of a: because", "skipped: 2 of b: why", "skipped: 3 of c: why"]
        self.assertEqual((status, lines[-3:]), (0, expected))

    def test_where_nothing_was_skipped_it_says_so(self) -> None:
        self.assertEqual(run(("one", ""))[1][-1], "skipped: nothing")

    def test_where_a_part_failed_the_last_line_names_it(self) -> None:
        status, lines = run(("one", "print('why'); raise SystemExit(3)"), ("two", ""))
        self.assertEqual((status, lines[-1]), (1, "FAILED: one (status 3)"))
        self.assertIn("why", lines)

    def test_what_failed_is_shown_again_at_the_end_below_what_was_skipped(self) -> None:
        failure = "FAILED tests/a.py::A::test_b - AssertionError: 1 != 2"
        one_of_several = "    | ResourceWarning: subprocess 7 is still running"
        said = ["skipped: 1 of c: why", one_of_several, "E   AssertionError: 1 != 2"]
        said.append("a.py:7: AssertionError")
        prints = "".join(f"print({line!r});" for line in [*said, failure, "1 failed"])
        _status, lines = run(("one", f"{prints} raise SystemExit(1)"), ("two", ""))
        heading = "== What failed of one =="
        expected = [said[0], "", heading, *said[1:], failure, "FAILED: one (status 1)"]
        self.assertEqual(lines[-len(expected) :], expected)

    def test_of_a_part_that_tells_no_failures_its_last_lines_are_shown_and_bounded(self) -> None:
        many = "[print(number) for number in range(9)]; print('x' * 1000); raise SystemExit(1)"
        _status, lines = run(("one", many))
        heading = "== What failed of one =="
        expected = [heading, "6", "7", "8", "x" * run_tests.LINE_LENGTH, "FAILED: one (status 1)"]
        self.assertEqual(lines[-len(expected) :], expected)

    @unittest.skipUnless(hasattr(os, "wait4"), "the system does not tell how long a process ran")
    def test_the_cpu_seconds_of_a_part_and_of_what_it_starts_stand_beside_its_seconds(self) -> None:
        computes = "import time\nwhile time.process_time() < 0.6: pass"
        starts = f"import subprocess, sys; subprocess.call([sys.executable, '-c', {computes!r}])"
        parts = ("one", ""), ("two", computes), ("three", starts)
        headings = [line for line in run(*parts)[1] if line.startswith("==")]
        times = {line.split()[3]: line.partition(", ")[2] for line in headings}
        wanted = {"one:": "CPU 0 s ==", "two:": "CPU 1 s ==", "three:": "CPU 1 s =="}
        self.assertEqual(times, wanted)

    @unittest.skipUnless(os.name == "posix", "ended by a signal as on Unix")
    def test_what_a_signal_ended_failed(self) -> None:
        killed = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
        self.assertEqual(run(("one", killed))[1][-1], f"FAILED: one (status -{signal.SIGTERM:d})")

    def test_what_had_to_be_set_up_is_told_and_what_was_there_is_not(self) -> None:
        _status, lines = run(("one", "print('done')", (), True), ("two", "", (), True))
        told = [line.partition(":")[0] for line in lines if line.startswith("==")]
        self.assertEqual(told, ["== Set-up of one"])
        self.assertIn("done", lines)


class Parts(unittest.TestCase):
    def test_each_file_with_the_real_cli_is_in_one_of_them(self) -> None:
        found = sorted(
            word
            for part in run_tests.TESTS
            for word in part.arguments
            if word.startswith(run_tests.E2E + os.sep)
        )
        names = sorted(os.listdir(os.path.join(run_tests.ROOT, run_tests.E2E)))
        tests = [name for name in names if name.startswith("test_") and name.endswith(".py")]
        self.assertEqual(found, [os.path.join(run_tests.E2E, name) for name in tests])

    def test_each_file_of_the_adapter_is_in_one_of_them(self) -> None:
        folder = os.path.join("tests", "ui")
        parts = [part.arguments for part in run_tests.TESTS if "headless" in part.arguments]
        whole, *apart = sorted(parts, key=lambda arguments: folder not in arguments)
        named = [path for arguments in apart for path in arguments if path.startswith(folder)]
        left_out = [path for option, path in zip(whole, whole[1:]) if option == "--ignore"]
        self.assertEqual(sorted(named), left_out)
        self.assertEqual(len({*named}), len(named))
        for name in ("test_diff.py", "test_chat_edits.py", "test_chat_view.py"):
            self.assertIn(os.path.join(folder, name), named)

    def test_the_adapter_is_played_at_the_worst_of_a_seed_that_belongs_to_the_commit(self) -> None:
        self.assertIn(run_tests.seed_of_commit(), {"", *map(str, run_tests.SEEDS)})
        for seed, expected in (("7", ["--worst", "7"]), ("", [])):
            with self.subTest(seed), mock.patch.object(run_tests, "SEED", seed):
                for names in ((), ("diff",)):
                    words = run_tests.adapter_tests(*names)
                    self.assertEqual([*words[3 : words.index("--exec")]], expected)

    def test_what_the_core_leaves_out_another_one_has(self) -> None:
        parts = {part.name: part.arguments for part in run_tests.TESTS}
        core = parts.pop("the core")
        left_out = {folder for option, folder in zip(core, core[1:]) if option == "--ignore"}
        elsewhere = {word for arguments in parts.values() for word in arguments}
        self.assertLessEqual(left_out - {run_tests.E2E}, elsewhere)

    def test_what_they_need_is_set_up_and_each_file_with_the_real_cli_needs_node(self) -> None:
        elsewhere = {*setup.LAYERS, "cli", "agents", "bench"}
        self.assertEqual({part.name for part in run_tests.SET_UP}, {*setup.PARTS} - elsewhere)
        known = {part.name: part for part in run_tests.SET_UP}
        for part in (*run_tests.SET_UP, *run_tests.TESTS):
            with self.subTest(part.name):
                self.assertLessEqual({*part.needs}, {*known})
                files = [
                    argument
                    for argument in part.arguments
                    if argument.startswith(run_tests.E2E + os.sep)
                ]
                if files:
                    self.assertIn("node", part.needs)
                if any("from page_" in self.text(path) for path in files):
                    self.assertIn("browser", part.needs)

    def text(self, path: str) -> str:
        with open(os.path.join(run_tests.ROOT, path), encoding="utf-8") as file:
            return file.read()

    def test_what_is_set_up_takes_no_place_of_a_test(self) -> None:
        tested, both = threading.Event(), []

        def part(_run: run_tests.Run, given: Part) -> None:
            if given.is_set_up:
                both.append(tested.wait(60))
            tested.set()

        parts = Part("one", (), is_set_up=True), Part("two", (), is_set_up=True), Part("three", ())
        with mock.patch.object(run_tests, "AT_ONCE", 1), mock.patch.object(
            run_tests.Run, "part", part
        ):
            run_tests.Run().all(parts)
        self.assertEqual(both, [True, True])

    def order(self, at_once: int, *parts: Part) -> list[str]:
        """Of the beginnings, and of the ends, each with a full stop."""
        found: list[str] = []

        def part(_run: run_tests.Run, given: Part) -> None:
            found.append(given.name)
            found.append(given.name + ".")

        with mock.patch.object(run_tests, "AT_ONCE", at_once), mock.patch.object(
            run_tests.Run, "part", part
        ):
            run_tests.Run().all(parts)
        return found

    def test_no_more_run_at_once_than_are_wanted_and_the_first_begin_first(self) -> None:
        found = self.order(1, *(Part(str(number), ()) for number in range(9)))
        self.assertEqual(found, [str(number) + end for number in range(9) for end in ("", ".")])

    @unittest.skipUnless(hasattr(os, "getloadavg"), "the system does not tell how busy it is")
    def test_on_a_busy_machine_a_further_part_begins_once_there_is_room(self) -> None:
        load, looks, begun = [3.0], [0], threading.Event()
        before: list[bool] = []

        def loads() -> tuple[float, float, float]:
            looks[0] += 1
            return load[0], 0.0, 0.0

        def part(_run: run_tests.Run, given: Part) -> None:
            if given.name == "second":
                begun.set()
                return
            wait_for(lambda: looks[0] > 2)
            before.append(begun.is_set())
            load[0] = 2.0
            begun.wait(PATIENCE)

        with mock.patch.multiple(run_tests, AT_ONCE=3, WHERE_BUSY=1, LOOK=0.01):
            with mock.patch.object(os, "getloadavg", loads):
                with mock.patch.object(run_tests.Run, "part", part):
                    run_tests.Run().all([Part("first", ()), Part("second", ())])
        self.assertEqual((before, begun.is_set()), ([False], True))

    def test_what_needs_another_waits_for_its_end_and_the_others_do_not(self) -> None:
        parts = Part("late", (), ("first", "second")), Part("free", ()), Part("first", ())
        found = self.order(1, *parts, Part("second", (), ("first",)))
        self.assertEqual(found[::2], ["free", "first", "second", "late"])
        found = self.order(9, *parts, Part("second", (), ("first",)))
        for before, after in (("first.", "second"), ("second.", "late")):
            self.assertLess(found.index(before), found.index(after))

    def test_without_what_it_needs_a_part_does_not_run_and_fails(self) -> None:
        broken = ("one", "raise SystemExit(3)", (), True)
        status, lines = run(broken, ("two", "print('run')", ("one",)), ("three", "", ("two",)))
        why = "one (status 3), two (needs one), three (needs two)"
        self.assertEqual((status, lines[-1]), (1, "FAILED: " + why))
        self.assertNotIn("run", lines)

    def test_when_it_is_interrupted_what_runs_is_ended(self) -> None:
        begun = threading.Event()

        def interrupted(*_arguments: Any, **_more: Any) -> Any:
            begun.wait(600)
            raise KeyboardInterrupt

        whole = run_tests.Run(environment=lambda: begun.set())
        with mock.patch.object(run_tests, "wait", interrupted), self.assertRaises(
            KeyboardInterrupt
        ), contextlib.redirect_stdout(io.StringIO()):
            whole.all([Part("one", ("-c", HANGS))])
        self.assertEqual({*whole.failed}, {"one"})


class Compiling(unittest.TestCase):
    def test_what_was_compiled_serves_the_next_run_but_for_what_tests_wrote(self) -> None:
        with tempfile.TemporaryDirectory() as sources:
            with open(os.path.join(sources, "a.py"), "w", encoding="utf-8"):
                pass
            code = f"import sys; sys.path.insert(0, {sources!r}); import a, plistlib"
            with mock.patch.dict(os.environ, PYTHONDONTWRITEBYTECODE="1"):
                os.environ.pop("PYTHONPYCACHEPREFIX", None)
                run(("one", code))
        kept = {name for _folder, _folders, names in os.walk(VENV) for name in names}
        compiled = {name.partition(".")[0] for name in kept}
        self.assertEqual(compiled & {"a", "plistlib"}, {"plistlib"})

    def test_without_libraries_nothing_is_kept(self) -> None:
        with mock.patch.object(run_tests, "VENV", os.path.join(VENV, "none")):
            run(("one", "import plistlib"))
            self.assertFalse(os.path.exists(run_tests.VENV))

    def test_modules_are_compiled_once_for_all_parts_and_not_beside_their_sources(self) -> None:
        with tempfile.TemporaryDirectory() as sources:
            code = f"import sys; sys.path.insert(0, {sources!r}); import a; print(a.__cached__)"
            code += "; import os; print(os.path.exists(a.__cached__), os.listdir(sys.path[0]))"
            with open(os.path.join(sources, "a.py"), "w", encoding="utf-8"):
                pass
            with mock.patch.dict(os.environ, PYTHONDONTWRITEBYTECODE="1"):
                os.environ.pop("PYTHONPYCACHEPREFIX", None)
                _status, lines = run(("one", code), ("two", code))
        self.assertEqual(lines.count("True ['a.py']"), 2, lines)
        self.assertEqual(len({line for line in lines if line.endswith(".pyc")}), 1, lines)

    def test_who_wants_them_beside_their_sources_or_elsewhere_gets_them_there(self) -> None:
        for given in ({}, {"PYTHONPYCACHEPREFIX": "/x", "PYTHONDONTWRITEBYTECODE": "1"}):
            with self.subTest(given), mock.patch.dict(os.environ, given):
                for name in {"PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE"} - set(given):
                    os.environ.pop(name, None)
                found = run_tests.compile_once("/y")
                self.assertEqual(found.get("PYTHONPYCACHEPREFIX"), given.get("PYTHONPYCACHEPREFIX"))
                self.assertNotIn("PYTHONDONTWRITEBYTECODE", found)

    def test_node_compiles_into_one_folder_for_all_parts(self) -> None:
        code = "import os; print(os.environ['NODE_COMPILE_CACHE'])"
        with mock.patch.dict(os.environ):
            os.environ.pop("NODE_COMPILE_CACHE", None)
            _status, lines = run(("one", code), ("two", code))
        folders = [line for line in lines if line.endswith(os.sep + "node")]
        self.assertEqual((len(folders), len(set(folders))), (2, 1), lines)


@unittest.skipUnless(sys.platform.startswith("linux"), "only Linux has such a place")
class InMemory(unittest.TestCase):
    def setUp(self) -> None:
        self.place = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.place)
        patches = mock.patch.dict(os.environ), mock.patch.object(run_tests, "MEMORY", self.place)
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)
        for name in run_tests.TEMPORARY:
            os.environ.pop(name, None)

    def used(self) -> str:
        """The folder for temporary files that a part was given."""
        lines = run(("one", "import tempfile; print('in', tempfile.gettempdir())"))[1]
        return next(line[3:] for line in lines if line.startswith("in "))

    def test_temporary_files_stand_there_and_are_gone_with_the_run(self) -> None:
        with mock.patch.object(run_tests, "ROOM", 1):
            self.assertEqual(os.path.dirname(self.used()), self.place)
        self.assertEqual(os.listdir(self.place), [])

    def test_where_it_has_little_room_or_runs_no_programs_they_stand_elsewhere(self) -> None:
        there = {"f_bavail": 1 << 10, "f_frsize": 1 << 30, "f_flag": 0}
        for other in ({}, {"f_frsize": 1 << 10}, {"f_flag": getattr(os, "ST_NOEXEC", 0)}):
            found = mock.Mock(**{**there, **other})
            with self.subTest(other), mock.patch.object(os, "statvfs", return_value=found):
                with mock.patch.object(run_tests, "ROOM", 1 << 25):
                    self.assertEqual(os.path.dirname(self.used()) == self.place, not other)

    def test_without_such_a_place_they_stand_elsewhere(self) -> None:
        with mock.patch.object(run_tests, "MEMORY", os.path.join(self.place, "none")):
            self.assertNotIn(self.place, self.used())

    def test_where_the_user_has_chosen_a_place_they_stand_there(self) -> None:
        chosen = os.path.join(self.place, "chosen")
        os.mkdir(chosen)
        with mock.patch.object(run_tests, "ROOM", 1):
            for name in run_tests.TEMPORARY:
                with self.subTest(name), mock.patch.dict(os.environ, {name: chosen}):
                    self.assertEqual(self.used(), chosen)


class Hanging(unittest.TestCase):
    def test_a_part_that_hangs_is_ended_and_the_others_go_on(self) -> None:
        hanging = run_tests.Run(limit=0.1)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            hanging.part(Part("one", ("-c", HANGS)))
        self.assertEqual(hanging.failed, {"one": "hung: ended after 0 s"})
        self.assertIn("== Tests of one: ", said.getvalue())

    @unittest.skipUnless(sys.platform.startswith("linux"), "processes are looked at as on Linux")
    def test_what_a_part_has_started_ends_with_it(self) -> None:
        with tempfile.NamedTemporaryFile() as file:
            process = run_tests.start_python(("-c", STARTER), file)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            wait_for(lambda: b"\n" in self.content(file.name))
            child = int(self.content(file.name).split()[1])
            run_tests.kill_group(process)
        wait_for(lambda: not is_alive(child))

    def content(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def test_once_it_is_stopped_no_further_part_begins(self) -> None:
        stopped = run_tests.Run()
        stopped.stop()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            stopped.part(Part("one", ("-c", "")))
        self.assertEqual((said.getvalue(), stopped.failed), ("", {}))
