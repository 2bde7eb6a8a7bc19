"""The package in made-up homes and data folders, one of each platform's layouts."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from typing import Any, Callable

import pytest
from GeminiCompanion.tools import closure, install, package, sublime_folders
from GeminiCompanion.tools.install import UNPACKED, ZIPPED, Incomplete, Installation, Refused
from GeminiCompanion.tools.libraries import Unavailable
from GeminiCompanion.tools.record import NAME, Damaged, Record
from GeminiCompanion.tools.sublime_folders import Machine, NotFound, Place

from .built import Built

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HOST = f"3.{sys.version_info[1]}"
# Runs inside the editor: who was loaded, and where its libraries come from.
LOOK = """
import json, sys, time
import sublime
import GeminiCompanion.plugin as plugin
from GeminiCompanion.companion.ide import schema_check, transport

deadline = time.monotonic() + 20
while not plugin._host.is_running and time.monotonic() < deadline:
    time.sleep(0.01)
json.dump(
    {
        "running": plugin._host.is_running,
        "plugin": plugin.__spec__.origin,
        "libraries": [
            sys.modules[part.__module__].__file__
            for part in (transport.BaseRequest, schema_check.Draft7Validator)
        ],
        "settings": sublime.load_settings("GeminiCompanion.sublime-settings").get("cli_command"),
    },
    open(sys.argv[1], "w"),
)
"""


def write(path: str, content: str = "") -> str:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    return path


def copy_own(requirements: list[str], _host: str, _machine: Machine, target: str) -> None:
    """In the place of a download: the libraries that these tests run on."""
    for requirement in requirements:
        distribution = importlib.metadata.distribution(requirement.split("==")[0])
        for path in distribution.files or []:
            if ".." not in path.parts and path.suffix != ".pyc":
                full = os.path.join(target, str(path))
                os.makedirs(os.path.dirname(full), exist_ok=True)
                shutil.copyfile(str(distribution.locate_file(path)), full)


def make_up(requirements: list[str], _host: str, _machine: Machine, target: str) -> None:
    """Libraries of one module each."""
    for requirement in requirements:
        name, _equals, version = requirement.partition("==")
        name = name.replace("-", "_")
        info = f"{name}-{version}.dist-info"
        write(os.path.join(target, name, "__init__.py"), f"version = '{version}'\n")
        write(os.path.join(target, info, "RECORD"), f"{name}/__init__.py,,\n{info}/RECORD,,\n")


class Made(unittest.TestCase):
    """A folder for everything, and what is said is kept."""

    def setUp(self) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.home = os.path.join(self.root, "home")
        os.mkdir(self.home)
        self.said: list[str] = []

    def path(self, *parts: str) -> str:
        return os.path.join(self.root, *parts)

    def files(self, folder: str) -> dict[str, bytes]:
        found = {}
        for top, _folders, names in os.walk(folder):
            for name in names:
                path = os.path.join(top, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder).replace(os.sep, "/")] = file.read()
        return found


@unittest.skipIf(sys.platform == "win32", "there a colon in a path is no separator")
class Layouts(Made):
    """Where each kind of Sublime Text keeps its data."""

    def machine(self, system: str, **environment: str) -> Machine:
        return Machine(system, self.home, environment)

    def lay(self, *paths: str) -> None:
        for path in paths:
            write(self.path(*path.split("/")))

    def link(self, target: str) -> Machine:
        """The system's program, as a link in PATH."""
        os.makedirs(self.path("bin"))
        os.symlink(self.path(*target.split("/")), self.path("bin", "subl"))
        return self.machine("osx" if ".app" in target else "linux", PATH=self.path("bin"))

    def debian(self) -> tuple[Machine, str]:
        program = "opt/sublime_text/"
        self.lay(
            *(program + name for name in ("sublime_text", "plugin_host-3.3", "plugin_host-3.8"))
        )
        script = f'#!/bin/sh\nexec {self.path(program)}sublime_text "$@"\n'
        write(self.path("bin", "subl"), script)
        return self.machine("linux", PATH=self.path("bin")), "home/.config/sublime-text"

    def tarball(self) -> tuple[Machine, str]:
        folder = "tools/sublime_text/"
        self.lay(*(folder + name for name in ("sublime_text", "plugin_host-3.14", "Data/a")))
        self.lay("home/.config/sublime-text/a")
        return self.link(folder + "sublime_text"), folder + "Data"

    def application(self) -> tuple[Machine, str]:
        contents = "home/Applications/Sublime Text.app/Contents/"
        subl = "SharedSupport/bin/subl"
        self.lay(
            *(contents + name for name in ("MacOS/sublime_text", "MacOS/plugin_host-3.14", subl))
        )
        return self.link(contents + subl), "home/Library/Application Support/Sublime Text"

    def windows(self) -> tuple[Machine, str]:
        programs, roaming = self.path("Program Files"), self.path("Roaming")
        names = ("sublime_text.exe", "plugin_host-3.8.exe")
        self.lay(*("Program Files/Sublime Text/" + name for name in names))
        machine = self.machine("windows", ProgramFiles=programs, APPDATA=roaming, PATH="C:\\none")
        return machine, "Roaming/Sublime Text"

    def stick(self) -> tuple[Machine, str]:
        folder = "stick/Sublime Text/"
        self.lay(
            *(folder + path for path in ("subl.exe", "plugin_host-3.8.exe", "Data/Packages/a"))
        )
        self.lay("Roaming/Sublime Text/a")
        places = self.path("none") + ";" + self.path("stick", "Sublime Text")
        machine = self.machine("windows", APPDATA=self.path("Roaming"), PATH=places)
        return machine, folder + "Data"

    def test_each_layout_leads_to_its_data_folder_and_plugin_host(self) -> None:
        new = (self.tarball, self.application)
        for layout in (self.debian, self.windows, self.stick, *new):
            with self.subTest(layout.__name__):
                self.setUp()
                (machine, data), host = layout(), "3.14" if layout in new else "3.8"
                place = sublime_folders.find_place(machine)
                self.assertEqual(os.path.realpath(place.data), self.path(*data.split("/")))
                self.assertEqual(place.hosts, (host,))

    def test_a_data_folder_of_version_3_is_taken_where_there_is_no_newer_one(self) -> None:
        for system, place in {
            "linux": ".config/sublime-text-3",
            "osx": "Library/Application Support/Sublime Text 3",
            "windows": "AppData/Roaming/Sublime Text 3",
        }.items():
            with self.subTest(system):
                self.setUp()
                old = os.path.join(self.home, *place.split("/"))
                os.makedirs(old)
                machine = self.machine(system, PATH=self.path("none"))
                self.assertEqual(sublime_folders.find_place(machine).data, old)
                os.makedirs(old[: -len("-3")])
                found = sublime_folders.find_place(machine)
                self.assertEqual((found.data, found.others), (old[: -len("-3")], (old,)))

    def test_a_flatpak_keeps_its_data_in_its_own_corner(self) -> None:
        corner = ".var/app/com.sublimetext.three/config/sublime-text"
        data = os.path.join(self.home, *corner.split("/"))
        os.makedirs(data)
        self.assertEqual(sublime_folders.find_place(self.machine("linux", PATH="")).data, data)

    def test_what_the_user_names_wins(self) -> None:
        machine, _data = self.debian()
        os.mkdir(self.path("elsewhere"))
        chosen = sublime_folders.find_place(machine, self.path("elsewhere"))
        self.assertEqual(chosen.data, self.path("elsewhere"))
        program = write(self.path("mine", "sublime_text"))
        os.makedirs(self.path("mine", "Data"))
        self.assertEqual(
            sublime_folders.find_place(machine, "", program).data, self.path("mine", "Data")
        )
        # Also by the sign of the home folder.
        os.mkdir(os.path.join(self.home, "data"))
        program = write(os.path.join(self.home, "sublime_text"))
        with unittest.mock.patch.dict(os.environ, HOME=self.home):
            place = sublime_folders.find_place(self.machine("linux"), "~/data", "~/sublime_text")
        self.assertEqual((place.data, place.program), (os.path.join(self.home, "data"), program))

    def test_both_hosts_are_served_where_no_program_tells_which_one_it_is(self) -> None:
        machine = self.machine("windows", APPDATA=self.root)
        os.mkdir(self.path("data"))
        self.assertEqual(
            sublime_folders.find_place(machine, self.path("data")).hosts, ("3.8", "3.14")
        )
        os.makedirs(self.path("data", "Lib", "python33"))
        os.makedirs(self.path("data", "Lib", "python314"))
        self.assertEqual(sublime_folders.find_place(machine, self.path("data")).hosts, ("3.14",))

    def test_what_is_not_there_is_refused_and_not_made(self) -> None:
        with self.assertRaisesRegex(NotFound, "start Sublime Text once, or check the path"):
            sublime_folders.find_place(self.machine("linux"), self.path("mispelt"))
        self.assertEqual(os.listdir(self.root), ["home"])
        for arguments in ((), ("", self.path("no", "subl"))):
            with self.assertRaises(NotFound):
                sublime_folders.find_place(self.machine("windows", APPDATA=self.root), *arguments)


@pytest.mark.looks_at("tools", "requirements")
class InstallsAndRemoves(Made):
    def setUp(self) -> None:
        super().setUp()
        self.data = self.path("data")
        self.machine = Machine("linux", self.home, {})
        self.place = Place(self.data, None, ("3.8", "3.14"))
        write(os.path.join(self.data, "Packages", "User", "Preferences.sublime-settings"), "{}")
        write(os.path.join(self.data, "Lib", "python38", "other.py"), "mine = 1\n")
        self.before = self.files(self.data)

    @property
    def installation(self) -> Installation:
        return Installation(self.place, self.said.append)

    def put(self, package: bytes = b"zip", fetch: Any = make_up) -> None:
        self.installation.put_plain(package, self.machine, fetch)

    def full(self, path: str) -> str:
        return os.path.join(self.data, *path.split("/"))

    def test_package_and_libraries_lie_where_a_plugin_host_looks_and_are_put_there_once(
        self,
    ) -> None:
        self.put()
        files = self.files(self.data)
        self.assertEqual(files[ZIPPED], b"zip")
        for folder in ("python38", "python314"):
            self.assertIn(f"Lib/{folder}/aiohttp/__init__.py", files)
        # No jsonschema is put where other packages find it.
        self.assertEqual([path for path in files if "jsonschema" in path], [])
        self.said.clear()
        self.put(fetch=self.fail)
        self.assertEqual(self.files(self.data), files)
        self.assertTrue(all(line.startswith("Unchanged") for line in self.said), self.said)
        # A newer package takes the place of the old one.
        self.put(b"new", fetch=self.fail)
        self.assertEqual(self.files(self.data)[ZIPPED], b"new")

    def test_removing_restores_what_was_there_before(self) -> None:
        for put in (
            self.put,
            lambda: self.installation.put(b"zip"),
            lambda: self.installation.link(ROOT, self.machine, make_up),
        ):
            folders = sorted(top for top, _folders, _names in os.walk(self.data))
            put()
            self.assertTrue(
                [path for path in (ZIPPED, UNPACKED) if os.path.exists(self.full(path))]
            )
            self.installation.remove()
            self.assertEqual(self.files(self.data), self.before)
            self.assertEqual(sorted(top for top, _f, _n in os.walk(self.data)), folders)

    def test_libraries_that_are_no_longer_wanted_go_away(self) -> None:
        def one_more(names: list[str], *more: Any) -> None:
            make_up([*names, "relic==1.0"], *more)

        self.put(fetch=one_more)
        relic = self.full("Lib/python38/relic/__init__.py")
        self.assertTrue(os.path.exists(relic))
        os.remove(self.full("Lib/python38/aiohttp/__init__.py"))
        self.put()
        self.assertFalse(os.path.exists(relic))
        self.assertTrue(os.path.exists(self.full("Lib/python38/aiohttp/__init__.py")))

    def test_the_three_forms_replace_each_other(self) -> None:
        self.installation.link(ROOT, self.machine, make_up)
        self.assertEqual(os.path.realpath(self.full(UNPACKED)), ROOT)
        self.put()
        self.assertFalse(os.path.lexists(self.full(UNPACKED)))
        self.installation.put(b"all")
        self.assertEqual(self.files(self.data)[ZIPPED], b"all")
        self.assertFalse(os.path.exists(self.full("Lib/python38/aiohttp")))
        self.installation.link(ROOT, self.machine, make_up)
        self.assertFalse(os.path.exists(self.full(ZIPPED)))
        self.assertTrue(os.path.exists(os.path.join(ROOT, "plugin.py")))

    def test_a_package_that_somebody_else_put_there_is_refused(self) -> None:
        for path in (ZIPPED, UNPACKED + "/plugin.py"):
            with self.subTest(path):
                write(self.full(path), "theirs")
                before = self.files(self.data)
                with self.assertRaisesRegex(Refused, "Take it away first"):
                    self.put(fetch=self.fail)
                self.assertEqual(self.files(self.data), before)
                os.remove(self.full(path))
                shutil.rmtree(self.full(UNPACKED), ignore_errors=True)
        self.put()
        write(self.full(ZIPPED), "by Package Control")
        self.assertRaises(Refused, self.put)

    def test_a_library_that_somebody_else_put_there_is_left_alone(self) -> None:
        theirs = write(self.full("Lib/python38/aiohttp/__init__.py"), "theirs\n")
        write(self.full("Lib/python38/aiohttp-3.0.dist-info/RECORD"), "")
        before = self.files(self.data)
        with self.assertRaisesRegex(Incomplete, r"aiohttp: 3\.0 is there, [\d.]+ is needed"):
            self.put()
        self.assertIn("Left       Lib/python38/aiohttp", "\n".join(self.said))
        self.assertIn("Lib/python314/aiohttp/__init__.py", self.files(self.data))
        # Once more, and it is still not as it should be.
        with self.assertRaisesRegex(Incomplete, "make install$"):
            self.put()
        self.installation.remove()
        self.assertEqual(self.files(self.data), before)
        self.assertTrue(os.path.exists(theirs))

    def test_a_library_that_is_there_in_the_version_that_is_needed_is_no_problem(self) -> None:
        (wanted,) = [
            requirement
            for requirement in closure.wanted_requirements("3.8")
            if requirement.startswith("aiohttp==")
        ]
        write(self.full(f"Lib/python38/{wanted.replace('==', '-')}.dist-info/RECORD"), "")
        before = self.files(self.data)
        self.put()
        self.assertIn("Left       Lib/python38/aiohttp", "\n".join(self.said))
        self.installation.remove()
        self.assertEqual(self.files(self.data), before)

    def test_the_libraries_alone_come_to_a_package_of_another_origin(self) -> None:
        write(self.full(UNPACKED + "/plugin.py"), "theirs")
        self.installation.put_libraries(self.machine, make_up)
        files = self.files(self.data)
        self.assertIn("Lib/python314/aiohttp/__init__.py", files)
        self.assertEqual(files[UNPACKED + "/plugin.py"], b"theirs")

    def test_a_file_that_the_user_changed_stays_and_what_was_compiled_goes(self) -> None:
        self.put()
        write(self.full("Lib/python38/yarl/__init__.py"), "version = 'my own'")
        # What a plugin host compiled goes with its source.
        write(self.full("Lib/python38/idna/__pycache__/__init__.cpython-38.opt-1.pyc"))
        self.installation.remove()
        left = self.files(self.data)
        self.assertEqual(left.pop("Lib/python38/yarl/__init__.py"), b"version = 'my own'")
        self.assertEqual(left, self.before)
        self.assertIn("Left       Lib/python38/yarl/__init__.py", "\n".join(self.said))

    def test_without_the_libraries_or_on_a_full_disk_nothing_is_changed(self) -> None:
        offline = unittest.mock.Mock(side_effect=Unavailable("no network"))
        self.assertRaises(Unavailable, self.put, fetch=offline)
        self.assertEqual(self.files(self.data), self.before)
        full = unittest.mock.patch.object(os, "replace", side_effect=OSError("no space left"))
        with full, self.assertRaises(OSError):
            self.put()
        self.assertEqual(self.files(self.data), self.before)

    def test_a_run_that_broke_off_anywhere_can_be_taken_back_and_repeated(self) -> None:
        self.put()
        whole = self.files(self.data)
        whole.pop(NAME)
        self.installation.remove()
        writes = len(whole) + 20
        for step in (*range(1, 8), *range(8, writes, 9)):
            for repeat in (False, True):
                with self.subTest(step, repeat=repeat):
                    self.break_off(step)
                    if repeat:
                        self.put()
                        files = self.files(self.data)
                        files.pop(NAME)
                        self.assertEqual(files, whole)
                    self.installation.remove()
                    self.assertEqual(self.files(self.data), self.before)

    def test_an_upgrade_that_broke_off_can_be_taken_back_and_repeated(self) -> None:
        for repeat in (False, True):
            with self.subTest(repeat=repeat):
                self.put(b"old")
                self.break_off(2, b"new")
                if repeat:
                    self.put(b"new")
                    self.assertEqual(self.files(self.data)[ZIPPED], b"new")
                self.installation.remove()
                self.assertEqual(self.files(self.data), self.before)

    def break_off(self, step: int, package: bytes = b"zip") -> None:
        """As a process that is killed while it writes its file of that number."""
        real, count = Record._write_file, [0]

        def killed(record: Record, full: str, content: bytes) -> None:
            count[0] += 1
            if count[0] == step:
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full + ".new", "wb") as file:
                    file.write(content[:1])
                raise KeyboardInterrupt
            real(record, full, content)

        with unittest.mock.patch.object(Record, "_write_file", killed):
            with self.assertRaises(KeyboardInterrupt):
                self.put(package)

    def test_a_damaged_list_of_what_was_put_there_is_told_with_its_path(self) -> None:
        for text in ("{", "{}", "[]", '{"files": 1, "links": {}, "folders": [], "libraries": {}}'):
            with self.subTest(text):
                path = write(os.path.join(self.data, NAME), text)
                with self.assertRaisesRegex(Damaged, re.escape(path)):
                    self.put()


@pytest.mark.looks_at("tools", "requirements", "companion", "plugin.py", "headless")
class Loads(Made):
    """What was installed is what a Sublime Text loads."""

    def install(self, put: Callable[[Installation], None]) -> str:
        """Into a new data folder."""
        data = tempfile.mkdtemp(dir=self.root)
        put(Installation(Place(data, None, (HOST,)), self.said.append))
        return data

    def check(self, data: str, path: str, *libraries: str) -> None:
        """`libraries`: where aiohttp and jsonschema come from."""
        answer, script = self.path("answer.json"), write(self.path("look.py"), LOOK)
        command = [sys.executable, "-m", "headless", "--data", data, "--exec", script, "--", answer]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, timeout=60)
        with open(answer, encoding="utf-8") as file:
            found = json.load(file)
        self.assertTrue(found["running"])
        self.assertEqual(found["settings"], ["gemini"])
        origins = [found["plugin"], *found["libraries"]]
        self.assertEqual(len(origins), 1 + len(libraries))
        for origin, start in zip(origins, (path, *libraries)):
            self.assertTrue(origin.startswith(os.path.join(data, *start.split("/"))), origin)


class LoadsAsLink(Loads):
    def test_a_link_to_the_checkout(self) -> None:
        data = self.install(
            lambda installation: installation.link(ROOT, sublime_folders.this_machine(), copy_own)
        )
        self.check(data, UNPACKED, "Lib", "Lib")


class LoadsPackages(Loads, Built):
    def test_both_packages_are_loaded_with_their_libraries(self) -> None:
        here = sublime_folders.this_machine()
        whole, plain = self.built(package.WHOLE), self.built(package.PLAIN)
        for put, *libraries in (
            (lambda installation: installation.put(whole), ZIPPED, ZIPPED),
            (lambda installation: installation.put_plain(plain, here, copy_own), "Lib", ZIPPED),
        ):
            with self.subTest(libraries):
                self.check(self.install(put), ZIPPED, *libraries)


class CommandLine(Made):
    def test_it_says_what_it_did_and_what_is_missing(self) -> None:
        data = self.path("data")
        os.mkdir(data)
        for arguments, status, words in (
            (["--remove", "--data", data], 0, "Nothing was put there"),
            (["--data", data], 1, "carried.txt has no digest of"),
            (["--plain", "--data", data], 1, "Nothing was changed. The package of a release"),
        ):
            with self.subTest(arguments):
                said = self.run_main(arguments)
                self.assertEqual(said[0], status)
                self.assertIn(data, said[1])
                self.assertIn(words, said[1])
                self.assertEqual(os.listdir(data), [])

    def run_main(self, arguments: list[str]) -> tuple[int, str]:
        """With a table of digests that has none."""
        text = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            pins = write(os.path.join(folder, "carried.txt"))
            patched = unittest.mock.patch.multiple(package, PINS=pins, export_files=dict)
            with patched, contextlib.redirect_stdout(text):
                return install.main(arguments), text.getvalue()

    def test_what_stops_it_is_told_in_a_sentence(self) -> None:
        data = self.path("data")
        os.mkdir(data)
        for error, status, words in (
            (OSError("no space left"), 1, "no space left\nIt can be tried again"),
            (KeyboardInterrupt(), 130, "Stopped. It can be tried again"),
            (Incomplete("3.0 is there"), 1, "3.0 is there"),
        ):
            acts = unittest.mock.patch.object(install, "_act_on_place", side_effect=error)
            with self.subTest(words), acts:
                left, said = self.run_main(["--data", data])
                self.assertEqual(left, status)
                self.assertIn(words, said)
                is_held = os.name == "nt" and isinstance(error, OSError)
                self.assertEqual("Close Sublime Text" in said, is_held)
