"""The one table of libraries, and the files that are made of it."""

from __future__ import annotations

import contextlib
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
import zipfile
from functools import lru_cache
from typing import Any, Iterable, Iterator, Mapping

import pytest
from GeminiCompanion import companion
from GeminiCompanion.tools import closure, libraries, wheels
from packaging.requirements import Requirement
from packaging.tags import compatible_tags, cpython_tags, mac_platforms
from packaging.utils import canonicalize_name, parse_wheel_filename

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
THIS = f"{sys.version_info[0]}.{sys.version_info[1]}"
# Why there is a library that no other one needs.
OWN_REASONS = {"aiohttp": "the HTTP server", "jsonschema": "tools' arguments"}
PAGE = "https://pages.example/ann/GeminiCompanion"
URL = "https://downloads.example/1.2.3/GeminiCompanion.sublime-package"
FILES = "https://files.example/"
# The names of the wheels of all libraries with compiled parts, as the package index listed them on
# 2026-11-21, without those of Pythons that are no plugin host.
NAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "wheel_names.txt")
# The tags of wheels that run on a platform, the best first, as pip is told of it.
TAGS = {
    "windows-x64": ["win_amd64"],
    "osx-x64": [
        tag for version in ((10, 9), (10, 13), (11, 0)) for tag in mac_platforms(version, "x86_64")
    ],
    "osx-arm64": [*mac_platforms((11, 0), "arm64")],
    "linux-x64": [f"manylinux{version}_x86_64" for version in ("1", "2014", "_2_17", "_2_28")],
    "linux-arm64": [f"manylinux{version}_aarch64" for version in ("1", "2014", "_2_17", "_2_28")],
}
# Builds of Sublime Text, and the Python of their newest plugin host.
BUILDS = {4107: "3.8", 4200: "3.8", 4201: "3.13", 4215: "3.14"}
# The keys that schema 4.0.0 knows: Package Control, json_repository_provider.py.
LIBRARY_KEYS = {"name", "description", "author", "homepage", "issues", "releases"}
RELEASE_KEYS = {"url", "version", "sha256", "platforms", "python_versions", "sublime_text"}


def pinned(host: str) -> set[str]:
    """What requirements/runtime.txt wants on that Python, as "name==version"."""
    with open(os.path.join(ROOT, "requirements", "runtime.txt"), encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and line[0] != "#"]
    return {
        requirement.name + str(requirement.specifier)
        for requirement in counting(lines, python_version=host)
    }


def counting(lines: Iterable[str], **environment: str) -> Iterator[Requirement]:
    """The requirements that count there."""
    for requirement in map(Requirement, lines):
        if not requirement.marker or requirement.marker.evaluate(environment):
            yield requirement


def needs(name: str, *pythons: str) -> set[str]:
    """The names of what an installed library needs on any of these Pythons, normalised."""
    lines = importlib.metadata.requires(name) or []
    found = [
        requirement
        for each in pythons
        for requirement in counting(lines, python_version=each, extra="")
    ]
    return {str(canonicalize_name(requirement.name)) for requirement in found}


def real_names() -> list[str]:
    """Those of the table, and the one of each pure library that the plain package needs."""
    with open(NAMES, encoding="utf-8") as file:
        found = file.read().split()
    compiled = {name.partition("-")[0] for name in found}
    for library in closure.TABLE:
        if library.source == closure.PACKAGE_CONTROL:
            stem = library.name.replace("-", "_")
            versions = {library.old, library.new} - {None} if stem not in compiled else set()
            found += [f"{stem}-{each}-py3-none-any.whl" for each in sorted(map(str, versions))]
    return found


@lru_cache(maxsize=None)
def fitting(name: str, version: str, host: str, platform: str) -> tuple[str, ...]:
    """The names of the wheels that run there, those of the best tag first."""
    python = tuple(map(int, host.split(".")))
    tag, platforms = "cp" + host.replace(".", ""), TAGS[platform]
    tags = [*cpython_tags(python, platforms=platforms)]
    tags += compatible_tags(python, interpreter=tag, platforms=platforms)
    order = {wheel_tag: number for number, wheel_tag in reversed([*enumerate(tags)])}
    found = []
    for file in real_names():
        of, number, _build, its = parse_wheel_filename(file)
        if (of, str(number)) == (canonicalize_name(name), version) and its & set(order):
            found.append((min(order[wheel_tag] for wheel_tag in its if wheel_tag in order), file))
    return tuple(file for _, file in sorted(found))


def choose(versions: Mapping[str, str], host: str, platform: str) -> dict[str, wheels.Wheel]:
    """As pip does, among the names that the index listed."""
    found = {}
    for name, version in versions.items():
        files = fitting(name, version, host, platform)
        if not files:
            raise wheels.Missing(f"no wheel of {name} {version} for {host} on {platform}")
        digest = hashlib.sha256(files[0].encode()).hexdigest()
        found[name] = wheels.Wheel(FILES + files[0], version, digest)
    return found


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
                wanted = closure.wanted_requirements(host)
                self.assertEqual(len(wanted), len(set(wanted)))
                self.assertEqual(set(wanted), pinned(host))

    def test_each_library_serves_us_or_another_one_and_is_compiled_or_not(self) -> None:
        names = [library.name for library in closure.TABLE]
        self.assertEqual(names, sorted(set(names), key=str.lower))
        for library in closure.TABLE:
            with self.subTest(library.name):
                if library.why != OWN_REASONS.get(library.name):
                    self.assertLessEqual({*library.why.split(", ")}, {*names} - {library.name})
                self.assertEqual(library.source != closure.CHECKOUT, bool(library.modules))

    def test_package_control_is_never_asked_for_jsonschema(self) -> None:
        # The channel's own is of 2018; other packages rely on it and would be given ours.
        for host in closure.HOSTS:
            self.assertNotIn("jsonschema", closure.library_names(host))
            self.assertIn("jsonschema==4.17.3", closure.carried_modules(host))


class Closed(unittest.TestCase):
    """Against the libraries that these tests run on."""

    def setUp(self) -> None:
        host = "3.8" if sys.version_info < (3, 9) else closure.HOSTS[-1]
        self.host = host
        self.table = [library for library in closure.TABLE if closure.version_for(library, host)]
        if {f"{library.name}=={self.version(library)}" for library in self.table} != set(
            closure.wanted_requirements(host)
        ):
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


class Dependencies(unittest.TestCase):
    def test_each_build_asks_for_the_libraries_of_its_host_and_no_other(self) -> None:
        lists = json.loads(closure.dependencies_text())["*"]
        for build, host in BUILDS.items():
            with self.subTest(build):
                chosen = [names for selector, names in lists.items() if build_of(selector, build)]
                wanted = [name.split("==")[0] for name in closure.beside_the_plain(host)]
                self.assertEqual(chosen, [wanted])

    def test_the_committed_file_is_the_one_that_would_be_written(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "dependencies.json")
            with unittest.mock.patch.object(closure, "DEPENDENCIES", path):
                closure.main("dependencies")
            with open(path, "rb") as new, open(closure.DEPENDENCIES, "rb") as old:
                self.assertEqual(new.read(), old.read())


@pytest.mark.looks_at("tools", "requirements", "tests/tools/wheel_names.txt")
class RealNames(unittest.TestCase):
    def test_every_host_and_platform_has_a_wheel_of_each_library(self) -> None:
        for host in closure.HOSTS:
            for platform in wheels.PLATFORMS:
                for requirement in closure.beside_the_plain(host):
                    with self.subTest(requirement, host=host, platform=platform):
                        self.assertTrue(fitting(*requirement.split("=="), host, platform))

    def test_pip_is_told_of_each_platform_what_this_test_takes_for_it(self) -> None:
        self.assertEqual(set(wheels.PLATFORMS), set(TAGS))
        for name, machine in wheels.PLATFORMS.items():
            told = libraries._platform_tags(machine)
            with self.subTest(name):
                # What pip adds for macOS, it adds behind each.
                self.assertEqual([tag for tag in dict.fromkeys(TAGS[name]) if tag in told], told)

    def test_pip_chooses_by_these_rules(self) -> None:
        """The real pip, among made-up wheels of these names: the two hosts at the ends."""
        versions = {"frozenlist": "1.5.0", "yarl": "1.15.2"}
        with tempfile.TemporaryDirectory() as folder:
            for file in real_names():
                if file.startswith(
                    tuple(f"{library}-{number}-" for library, number in versions.items())
                ):
                    make_wheel(os.path.join(folder, file))
            offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": folder, "PIP_CONFIG_FILE": os.devnull}
            with unittest.mock.patch.dict(os.environ, offline):
                found = wheels.choose_wheels(versions, "3.8", "osx-arm64")
                with self.assertRaisesRegex(wheels.Missing, "For Python 3.8 on osx-arm64"):
                    wheels.choose_wheels({"yarl": "9.9"}, "3.8", "osx-arm64")
        for name, wheel in found.items():
            wanted = fitting(name, versions[name], "3.8", "osx-arm64")[0]
            self.assertEqual(wheel.url.rpartition("/")[2], wanted)
            self.assertEqual((wheel.version, len(wheel.sha256)), (versions[name], 64))


def make_wheel(path: str) -> None:
    name, version = os.path.basename(path).split("-")[:2]
    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(f"{name}-{version}.dist-info/{file}", text)


class Repository(unittest.TestCase):
    """What Package Control reads: of the package with its libraries, and of the plain one."""

    def setUp(self) -> None:
        given = (PAGE, URL, "1.2.3", "2030-01-02 03:04:05")
        self.whole = closure.make_repository(*given)
        self.plain = closure.plain_repository(choose, *given)
        self.libraries = {library["name"]: library for library in self.plain["libraries"]}

    def releases(self, name: str, host: str) -> list[dict[str, Any]]:
        all = self.libraries.get(name, {}).get("releases", [])
        return [release for release in all if host in release["python_versions"]]

    def test_both_follow_the_schema(self) -> None:
        for content in (self.whole, self.plain):
            self.assertEqual(content["schema_version"], "4.0.0")
            self.assertEqual(set(content), {"schema_version", "packages", "libraries"})
        for library in self.plain["libraries"]:
            self.assertLessEqual(set(library), LIBRARY_KEYS)
            for key in ("name", "description", "author", "issues"):
                self.assertTrue(library[key])
            for release in library["releases"]:
                self.assertEqual(set(release), RELEASE_KEYS)

    def test_the_package_is_offered_to_every_build_and_wants_no_library(self) -> None:
        (package,) = self.whole["packages"]
        self.assertEqual(self.whole["libraries"], [])
        self.assertEqual(package["name"], "GeminiCompanion")
        (release,) = package["releases"]
        self.assertNotIn("libraries", release)
        self.assertEqual((release["url"], release["version"]), (URL, "1.2.3"))
        for build in BUILDS:
            self.assertTrue(build_of(release["sublime_text"], build))
        self.assertFalse(build_of(release["sublime_text"], 4106))

    def test_the_plain_one_is_offered_to_each_build_with_what_its_host_needs(self) -> None:
        (package,) = self.plain["packages"]
        self.assertEqual(package["name"], "GeminiCompanion")
        for build, host in BUILDS.items():
            fits = [
                release
                for release in package["releases"]
                if build_of(release["sublime_text"], build)
            ]
            self.assertEqual([release["url"] for release in fits], [URL])
            self.assertEqual(fits[0]["version"], "1.2.3")
            wanted = [name.split("==")[0] for name in closure.beside_the_plain(host)]
            self.assertEqual(fits[0]["libraries"], wanted)
        older = [
            release for release in package["releases"] if build_of(release["sublime_text"], 4106)
        ]
        self.assertEqual(older, [])

    def test_each_library_comes_in_the_version_of_each_host_for_each_platform_once(self) -> None:
        for library in closure.TABLE:
            for host in closure.HOSTS:
                version = closure.version_for(library, host)
                is_offered = version and library.source == closure.PACKAGE_CONTROL
                found = [
                    (release["version"], platform)
                    for release in self.releases(library.name, host)
                    for platform in release["platforms"]
                ]
                is_pure = any(platform == "*" for _version, platform in found)
                platforms = ["*"] if is_pure else list(wheels.PLATFORMS)
                with self.subTest(library.name, host=host):
                    wanted = [(version, platform) for platform in platforms] if is_offered else []
                    self.assertEqual(sorted(found), sorted(wanted))

    def test_each_wheel_is_offered_once_with_its_own_digest(self) -> None:
        releases = [
            release for library in self.plain["libraries"] for release in library["releases"]
        ]
        self.assertEqual(len({release["url"] for release in releases}), len(releases))
        for release in releases:
            name = release["url"].rpartition("/")[2]
            self.assertEqual(release["sha256"], hashlib.sha256(name.encode()).hexdigest())

    def test_a_wheel_that_is_missing_stops_the_release(self) -> None:
        def lacking(versions: Mapping[str, str], host: str, name: str) -> dict[str, wheels.Wheel]:
            if (host, name) == ("3.8", "windows-x64"):
                raise wheels.Missing("no wheel")
            return choose(versions, host, name)

        with self.assertRaises(wheels.Missing):
            closure.plain_repository(lacking, PAGE, URL, "1.2.3", "2030-01-02 03:04:05")

    def test_what_pip_does_not_report_as_expected_stops_it(self) -> None:
        hashes = {"archive_info": {"hashes": {"sha256": "0" * 64}}}
        good = {
            "download_info": {"url": FILES + "a-1-py3-none-any.whl", **hashes},
            "metadata": {"name": "A", "version": "1"},
        }
        self.assertEqual(list(wheels._read_report({"install": [good]}, {"a": "1"})), ["a"])
        self.assertRaises(wheels.Missing, wheels._read_report, {}, {"a": "1"})
        other = {**good, "metadata": {"name": "b", "version": "1"}}
        unhashed, elsewhere = {"url": FILES + "a.whl"}, {"url": "http://a/b.whl", **hashes}
        bad = [{**good, "download_info": info} for info in ({}, unhashed, elsewhere)]
        for entries in ([], [{}], [other], *([entry] for entry in bad)):
            with self.subTest(entries), self.assertRaises(wheels.Missing):
                wheels._read_report({"install": entries}, {"a": "1"})

    def test_all_addresses_come_from_the_command_line_or_from_pip(self) -> None:
        addresses = set(re.findall(r"https?://([^/\"]+)", json.dumps([self.whole, self.plain])))
        self.assertEqual(addresses, {f"{name}.example" for name in ("downloads", "files", "pages")})


class Release(unittest.TestCase):
    """The command."""

    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        dist = unittest.mock.patch.object(closure, "DIST", os.path.join(self.folder, "dist"))
        chosen = unittest.mock.patch.object(wheels, "choose_wheels", choose)
        for patch in (dist, chosen):
            patch.start()
            self.addCleanup(patch.stop)

    def written(self, name: str) -> Any:
        with open(os.path.join(self.folder, "dist", name), encoding="utf-8") as file:
            return json.load(file)

    def test_it_writes_each_file_with_the_version_of_the_package(self) -> None:
        names = {"repository": closure.REPOSITORY, "plain": closure.REPOSITORY_PLAIN}
        for command, name in names.items():
            self.assertEqual(closure.main(command, PAGE, URL), 0)
            for release in self.written(name)["packages"][0]["releases"]:
                self.assertEqual(release["version"], companion.__version__)
                self.assertRegex(release["date"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
        wanted = closure.plain_repository(choose, PAGE, URL, "", "")["libraries"]
        self.assertEqual(self.written(closure.REPOSITORY_PLAIN)["libraries"], wanted)

    def test_what_the_channel_is_proposed_names_the_asset_and_no_library(self) -> None:
        self.assertEqual(closure.main("channel", PAGE), 0)
        content = self.written(closure.CHANNEL)
        self.assertEqual((content["name"], content["details"]), ("GeminiCompanion", PAGE))
        release = {"sublime_text": ">=4107", "asset": "GeminiCompanion.sublime-package"}
        self.assertEqual(content["releases"], [release])

    def test_a_missing_wheel_stops_it_with_a_sentence_and_writes_nothing(self) -> None:
        error = wheels.Missing("pip found not all wheels")
        missing = unittest.mock.patch.object(wheels, "choose_wheels", side_effect=error)
        with missing, contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(closure.main("plain", PAGE, URL), 1)
        self.assertIn("pip found not all wheels\nNothing was written", said.getvalue())
        self.assertEqual(os.listdir(self.folder), [])


class CommandLine(unittest.TestCase):
    def test_what_it_does_not_know_is_answered_with_what_it_does(self) -> None:
        usage = "python -m tools.closure repository PAGE URL"
        some = ((), ("packages",), ("dependencies", PAGE), ("repository", URL))
        for arguments in (*some, ("other", PAGE, URL)):
            said = io.StringIO()
            with self.subTest(arguments), contextlib.redirect_stderr(said):
                self.assertEqual(closure.main(*arguments), 2)
                self.assertIn(usage, said.getvalue())


@unittest.skipUnless(shutil.which("git"), "without git nobody knows what is committed")
@unittest.skipUnless(os.path.exists(os.path.join(ROOT, ".git")), "only a checkout is committed")
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
