"""The one table of libraries, and the files that are made of it."""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
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
from typing import Any

from GeminiCompanion import companion
from GeminiCompanion.tools import closure, libraries, wheels
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
THIS = f"{sys.version_info[0]}.{sys.version_info[1]}"
# Why there is a library that no other one needs.
OWN_REASONS = {"aiohttp": "the HTTP server", "jsonschema": "tools' arguments"}
# Made up: the tests ask no index.
INDEX = "https://index.example/json/"
PROJECTS = "https://index.example/project/"
PAGE = "https://pages.example/ann/GeminiCompanion"
URL = "https://downloads.example/1.2.3/GeminiCompanion.sublime-package"
# What ends the names of wheels, by Package Control's platform; as seen in this closure's projects.
WHEELS = {
    "windows-x64": ("win_amd64",),
    "osx-x64": ("macosx_10_9_x86_64", "macosx_10_12_x86_64", "macosx_10_13_x86_64"),
    "osx-arm64": ("macosx_11_0_arm64",),
    "linux-x64": (
        "manylinux_2_17_x86_64.manylinux2014_x86_64",
        "manylinux_2_5_x86_64.manylinux1_x86_64.manylinux_2_17_x86_64.manylinux2014_x86_64",
        "manylinux2014_x86_64.manylinux_2_17_x86_64.manylinux_2_28_x86_64",
    ),
    "linux-arm64": (
        "manylinux_2_17_aarch64.manylinux2014_aarch64",
        "manylinux2014_aarch64.manylinux_2_17_aarch64.manylinux_2_28_aarch64",
    ),
}
# None of these fits a plugin host of the five platforms.
OTHER_WHEELS = ("musllinux_1_2_x86_64", "musllinux_1_2_aarch64", "win32", "win_arm64")
# The keys that schema 4.0.0 knows: Package Control, json_repository_provider.py.
LIBRARY_KEYS = {"name", "description", "author", "homepage", "issues", "releases"}
RELEASE_KEYS = {
    "url",
    "version",
    "date",
    "sha256",
    "platforms",
    "python_versions",
    "sublime_text",
}


def pinned(host: str) -> set[str]:
    """What requirements/runtime.txt wants on that Python, as "name==version"."""
    found = set()
    with open(os.path.join(ROOT, "requirements", "runtime.txt"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                requirement = Requirement(line.strip())
                if not requirement.marker or requirement.marker.evaluate({"python_version": host}):
                    found.add(requirement.name + str(requirement.specifier))
    return found


def needs(name: str, *pythons: str) -> set[str]:
    """The names of what an installed library needs on any of these Pythons, normalised."""
    found = set()
    for line in importlib.metadata.requires(name) or []:
        requirement = Requirement(line)
        for python in pythons:
            environment = {"python_version": python, "extra": ""}
            if not requirement.marker or requirement.marker.evaluate(environment):
                found.add(str(canonicalize_name(requirement.name)))
    return found


def listed(name: str, version: str) -> dict[str, Any]:
    """The answer of an index about a library in a version, as its JSON pages have it."""
    stem = f"{name.replace('-', '_')}-{version}"
    ends = [end for group in WHEELS.values() for end in group] + list(OTHER_WHEELS)
    pythons = [tag + free for tag in ("cp38", "cp313", "cp314") for free in ("", "t")]
    names = [
        f"{stem}-{it[:-1] if it[-1] == 't' else it}-{it}-{end}.whl"
        for it in pythons
        for end in ends
    ]
    if not next(it for it in closure.TABLE if it.name == name).is_compiled:
        names = []
    names += [f"{stem}-py3-none-any.whl", f"{stem}.tar.gz"]
    files = [
        {
            "filename": it,
            "url": f"https://files.example/{it}",
            "digests": {"sha256": hashlib.sha256(it.encode()).hexdigest()},
            "upload_time": "2029-01-02T03:04:05",
            "yanked": False,
        }
        for it in names
    ]
    return {"info": {"package_url": f"{PROJECTS}{name}/"}, "urls": files}


def build_of(selector: str, build: int) -> bool:
    """Whether Package Control takes this selector for that build of Sublime Text."""
    first, _, last = selector.partition(" - ")
    if last:
        return int(first) <= build <= int(last)
    limit = int(selector.lstrip("<>="))
    return build < limit if selector.startswith("<") else build >= limit


class Table(unittest.TestCase):
    def test_it_says_what_the_requirements_say_for_each_host(self) -> None:
        for host in closure.HOSTS:
            with self.subTest(host):
                wanted = libraries.wanted(host)
                self.assertEqual(len(wanted), len(set(wanted)))
                self.assertEqual(set(wanted), pinned(host))

    def test_each_library_is_there_for_a_reason_and_is_compiled_or_not(self) -> None:
        names = [library.name for library in closure.TABLE]
        self.assertEqual(names, sorted(set(names), key=str.lower))
        for library in closure.TABLE:
            with self.subTest(library.name):
                self.assertTrue(library.why.strip())
                self.assertIs(type(library.is_compiled), bool)
                self.assertEqual(library.carried is not None, bool(library.modules))

    def test_each_library_serves_us_or_another_one_of_the_table(self) -> None:
        names = {library.name for library in closure.TABLE}
        for library in closure.TABLE:
            if library.why != OWN_REASONS.get(library.name):
                self.assertLessEqual(set(library.why.split(", ")), names - {library.name})


class Closed(unittest.TestCase):
    """Against the libraries that these tests run on."""

    def setUp(self) -> None:
        host = "3.8" if sys.version_info < (3, 9) else closure.HOSTS[-1]
        self.host = host
        self.table = [it for it in closure.TABLE if closure.version_for(it, host)]
        if {f"{it.name}=={self.version(it)}" for it in self.table} != set(libraries.wanted(host)):
            self.skipTest(f"Python {THIS} is no plugin host and has other versions")

    def version(self, library: closure.Library) -> str:
        return importlib.metadata.version(library.name)

    def test_whatever_a_library_needs_is_in_the_table(self) -> None:
        names = {canonicalize_name(library.name) for library in self.table}
        for library in self.table:
            with self.subTest(library.name):
                self.assertLessEqual(needs(library.name, self.host), names)

    def test_each_library_is_needed_by_one_that_it_names(self) -> None:
        present = {library.name for library in self.table}
        for library in self.table:
            if library.name not in OWN_REASONS:
                reasons = set(library.why.split(", ")) & present
                # One that only some Pythons need is there for all that have the same version.
                needed = {name for reason in reasons for name in needs(reason, "3.8", self.host)}
                with self.subTest(library.name):
                    self.assertIn(canonicalize_name(library.name), needed)

    def test_compiled_are_exactly_those_whose_wheel_is_for_one_platform(self) -> None:
        for library in self.table:
            wheel = importlib.metadata.distribution(library.name).read_text("WHEEL") or ""
            tags = re.findall(r"(?m)^Tag: (\S+)", wheel)
            with self.subTest(library.name):
                self.assertTrue(tags)
                self.assertEqual(library.is_compiled, not any("none-any" in tag for tag in tags))


class Dependencies(unittest.TestCase):
    def test_the_committed_file_is_the_generated_one(self) -> None:
        with open(closure.DEPENDENCIES, encoding="utf-8", newline="") as file:
            self.assertEqual(file.read(), closure.dependencies())

    def test_each_build_asks_for_the_libraries_of_its_host_and_no_other(self) -> None:
        lists = json.loads(closure.dependencies())["*"]
        for build, host in ((4107, "3.8"), (4200, "3.8"), (4201, "3.13"), (4215, "3.14")):
            with self.subTest(build):
                chosen = [names for selector, names in lists.items() if build_of(selector, build)]
                wanted = [name.split("==")[0] for name in libraries.wanted(host)]
                self.assertEqual(chosen, [wanted])

    def test_writing_it_again_changes_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "dependencies.json")
            with unittest.mock.patch.object(closure, "DEPENDENCIES", path):
                closure.main("dependencies")
            with open(path, "rb") as new, open(closure.DEPENDENCIES, "rb") as old:
                self.assertEqual(new.read(), old.read())


class Repository(unittest.TestCase):
    def setUp(self) -> None:
        self.content = closure.repository(listed, PAGE, URL, "1.2.3", "2030-01-02 03:04:05")
        self.libraries = {library["name"]: library for library in self.content["libraries"]}

    def releases(self, name: str, host: str) -> list[dict[str, Any]]:
        return [
            release
            for release in self.libraries[name]["releases"]
            if host in release["python_versions"]
        ]

    def test_it_follows_the_schema(self) -> None:
        self.assertEqual(self.content["schema_version"], "4.0.0")
        self.assertEqual(set(self.content), {"schema_version", "packages", "libraries"})
        for library in self.content["libraries"]:
            self.assertLessEqual(set(library), LIBRARY_KEYS)
            for key in ("name", "description", "author", "issues"):
                self.assertTrue(library[key])
            for release in library["releases"]:
                self.assertEqual(set(release), RELEASE_KEYS)

    def test_it_offers_the_package_to_each_build_with_what_its_host_needs(self) -> None:
        (package,) = self.content["packages"]
        self.assertEqual(package["name"], "GeminiCompanion")
        for build, host in ((4107, "3.8"), (4200, "3.8"), (4201, "3.13"), (4215, "3.14")):
            fitting = [it for it in package["releases"] if build_of(it["sublime_text"], build)]
            self.assertEqual([it["url"] for it in fitting], [URL])
            self.assertEqual(fitting[0]["version"], "1.2.3")
            wanted = [name.split("==")[0] for name in libraries.wanted(host)]
            self.assertEqual(fitting[0]["libraries"], wanted)
        older = [it for it in package["releases"] if build_of(it["sublime_text"], 4106)]
        self.assertEqual(older, [])

    def test_each_library_comes_in_the_version_of_each_host(self) -> None:
        self.assertEqual(set(self.libraries), {library.name for library in closure.TABLE})
        for library in closure.TABLE:
            for host in closure.HOSTS:
                version = closure.version_for(library, host)
                found = {release["version"] for release in self.releases(library.name, host)}
                with self.subTest(library.name, host=host):
                    self.assertEqual(found, {version} if version else set())

    def test_each_platform_and_python_gets_its_own_compiled_wheel(self) -> None:
        for library in (it for it in closure.TABLE if it.is_compiled):
            for host in closure.HOSTS:
                tag, version = "cp" + host.replace(".", ""), closure.version_for(library, host)
                start = f"{library.name.replace('-', '_')}-{version}-{tag}-{tag}-"
                with self.subTest(library.name, host=host):
                    found = {
                        platform: release["url"].rpartition("/")[2]
                        for release in self.releases(library.name, host)
                        for platform in release["platforms"]
                    }
                    # Of several for one platform, that for the oldest systems.
                    best = {it: f"{start}{ends[0]}.whl" for it, ends in WHEELS.items()}
                    best["linux-x64"] = f"{start}{WHEELS['linux-x64'][1]}.whl"
                    self.assertEqual(found, best if version else {})

    def test_one_wheel_of_a_pure_library_serves_all_platforms(self) -> None:
        for library in (it for it in closure.TABLE if not it.is_compiled):
            for host in closure.HOSTS:
                version = closure.version_for(library, host)
                wheel = f"{library.name.replace('-', '_')}-{version}-py3-none-any.whl"
                with self.subTest(library.name, host=host):
                    found = [
                        (it["url"], it["platforms"]) for it in self.releases(library.name, host)
                    ]
                    wanted = [(f"https://files.example/{wheel}", ["*"])] if version else []
                    self.assertEqual(found, wanted)

    def test_each_wheel_is_offered_once_with_its_own_digest_and_date(self) -> None:
        releases = [it for library in self.content["libraries"] for it in library["releases"]]
        self.assertEqual(len({it["url"] for it in releases}), len(releases))
        for release in releases:
            name = release["url"].rpartition("/")[2]
            self.assertEqual(release["sha256"], hashlib.sha256(name.encode()).hexdigest())
            self.assertEqual(release["date"], "2029-01-02 03:04:05")

    def test_what_the_index_has_not_as_expected_stops_the_release(self) -> None:
        def changed(**values: Any) -> wheels.Ask:
            def ask(name: str, version: str) -> dict[str, Any]:
                answer = listed(name, version)
                for file in answer["urls"]:
                    file.update(values)
                return answer

            return ask

        def offline(_name: str, _version: str) -> dict[str, Any]:
            raise OSError("no network")

        for ask, words in (
            (changed(yanked=True), "has no wheel"),
            (changed(filename="other.whl"), "has no wheel"),
            (changed(url="http://files.example/a.whl"), "not list"),
            (changed(digests={}), "not list"),
            (changed(digests={"sha256": "abc"}), "not list"),
            (lambda name, version: {}, "not list"),
            (offline, "no network"),
        ):
            with self.subTest(words), self.assertRaisesRegex(wheels.Missing, words):
                closure.repository(ask, PAGE, URL, "1.2.3", "2030-01-02 03:04:05")

    def test_all_addresses_come_from_the_command_line_or_the_index(self) -> None:
        addresses = set(re.findall(r"https?://([^/\"]+)", json.dumps(self.content)))
        names = ("index", "downloads", "files", "pages")
        self.assertEqual(addresses, {f"{it}.example" for it in names})


class Release(unittest.TestCase):
    """The command, with an index that answers from here."""

    def setUp(self) -> None:
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        self.path = os.path.join(folder, "dist", "repository.json")
        self.asked: list[str] = []
        patched = unittest.mock.patch.object(wheels.urllib.request, "urlopen", self.open)
        for patch in (patched, unittest.mock.patch.object(closure, "REPOSITORY", self.path)):
            patch.start()
            self.addCleanup(patch.stop)

    def open(self, address: str, timeout: float) -> io.BytesIO:
        self.asked.append(address)
        name, version, last = address[len(INDEX) :].split("/")
        self.assertEqual((address[: len(INDEX)], last), (INDEX, "json"))
        return io.BytesIO(json.dumps(listed(name, version)).encode())

    def test_it_writes_the_file_with_the_version_of_the_package(self) -> None:
        self.assertEqual(closure.main("repository", INDEX, PAGE, URL), 0)
        with open(self.path, encoding="utf-8") as file:
            written = json.load(file)
        for release in written["packages"][0]["releases"]:
            self.assertEqual(release["version"], companion.__version__)
            self.assertRegex(release["date"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
        wanted = closure.repository(listed, PAGE, URL, "", "")["libraries"]
        self.assertEqual(written["libraries"], wanted)
        self.assertEqual(len(self.asked), len(set(self.asked)))

    def test_an_index_that_answers_with_a_page_for_people_stops_it_with_a_sentence(self) -> None:
        said = io.StringIO()
        self.open = lambda address, timeout: io.BytesIO(b"<html>")  # type: ignore[method-assign]
        with unittest.mock.patch.object(wheels.urllib.request, "urlopen", self.open):
            with contextlib.redirect_stderr(said):
                self.assertEqual(closure.main("repository", INDEX, PAGE, URL), 1)
        self.assertIn("The index does not list aiohappyeyeballs", said.getvalue())
        self.assertFalse(os.path.exists(self.path))


class Channel(unittest.TestCase):
    """The entries for a proposal: the channel finds each wheel by the pattern of its name."""

    def setUp(self) -> None:
        self.content = closure.channel(PROJECTS, PAGE)
        self.libraries = {library["name"]: library for library in self.content["libraries"]}

    def test_it_has_all_libraries_but_those_that_the_channel_has_from_elsewhere(self) -> None:
        names = {library.name for library in closure.TABLE}
        self.assertEqual(set(self.libraries), names - set(closure.IN_CHANNEL))
        self.assertLessEqual(set(closure.IN_CHANNEL), names)

    def test_each_wheel_is_found_for_its_platform_and_python_alone(self) -> None:
        for library in (it for it in closure.TABLE if it.name in self.libraries):
            for host in closure.HOSTS:
                version = closure.version_for(library, host)
                names = [it["filename"] for it in listed(library.name, version or "0")["urls"]]
                with self.subTest(library.name, host=host):
                    found = self.fitting(library.name, host, names)
                    platforms = set(WHEELS) if library.is_compiled else {"*"}
                    self.assertEqual(set(found.values()), platforms if version else set())
                    ends = "|".join([r"-cp\d+t-.*", *OTHER_WHEELS])
                    strange = [it for it in found if re.search(f"({ends})\\.whl$", it)]
                    self.assertEqual(strange, [])

    def fitting(self, name: str, host: str, files: list[str]) -> dict[str, str]:
        return {
            file: platform
            for release in self.libraries[name]["releases"]
            if host in release["python_versions"]
            for file in files
            if fnmatch.fnmatchcase(file, release["asset"])
            for platform in release["platforms"]
        }

    def test_it_is_written_below_the_addresses_of_the_command_line(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "channel.json")
            with unittest.mock.patch.object(closure, "CHANNEL", path):
                self.assertEqual(closure.main("channel", PROJECTS, PAGE), 0)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(json.load(file), self.content)
        addresses = set(re.findall(r"https?://([^/\"]+)", json.dumps(self.content)))
        self.assertEqual(addresses, {"index.example", "pages.example"})


class CommandLine(unittest.TestCase):
    def test_what_it_does_not_know_is_answered_with_what_it_does(self) -> None:
        usage = "python -m tools.closure repository INDEX PAGE URL"
        for arguments in (
            (),
            ("packages",),
            ("dependencies", INDEX),
            ("repository", INDEX, URL),
            ("other", INDEX, PAGE, URL),
        ):
            said = io.StringIO()
            with self.subTest(arguments), contextlib.redirect_stderr(said):
                self.assertEqual(closure.main(*arguments), 2)
                self.assertIn(usage, said.getvalue())


@unittest.skipUnless(shutil.which("git"), "without git nobody knows what is committed")
@unittest.skipUnless(os.path.isdir(os.path.join(ROOT, ".git")), "only a checkout is committed")
class Committed(unittest.TestCase):
    def test_no_file_names_an_address_to_download_from(self) -> None:
        download = re.compile(rb"https?://[^\s\"'<>)]+\.(?:whl|tar\.gz|tgz|sublime-package)\b")
        listing = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT)
        for name in listing.decode().split("\0"):
            # The address that this test makes up is none.
            path = os.path.join(ROOT, *name.split("/"))
            if not name or path == os.path.abspath(__file__):
                continue
            # A file that was just deleted is committed no longer.
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                with self.subTest(name):
                    self.assertIsNone(download.search(file.read()))
