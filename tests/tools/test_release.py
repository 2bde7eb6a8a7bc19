"""The check of a release's files: what is wrong with one of them stops it, with a sentence."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import unittest
from typing import Any, Callable
from unittest import mock

from GeminiCompanion.tools import api_wheel, closure, package, release, wheels

PAGE = "https://pages.example/ann/GeminiCompanion"
VERSION = "1.2.3"


def contents(*, is_plain: bool) -> dict[str, bytes]:
    """The least of a package."""
    files = {"companion/__init__.py": f'__version__ = "{VERSION}"\n'.encode()}
    if is_plain:
        files["dependencies.json"] = b"{}"
    for host, folder in package.SETS.items():
        for requirement in closure.carried_modules(host):
            name = requirement.replace("==", "-").replace("async-t", "async_t")
            files[f"carried/{folder}/licenses/{name}/LICENSE"] = b""
    return files


def choose(versions: Any, host: str, platform: str) -> dict[str, wheels.Wheel]:
    return {
        name: wheels.Wheel(f"{PAGE}/{name}-{version}", version, "0" * 64)
        for name, version in versions.items()
    }


WHEEL = api_wheel.file_name(VERSION)


def wheel() -> dict[str, bytes]:
    """The least of the API's wheel."""
    names = (
        "base/log.py",
        "agent/agent.py",
        "api/__main__.py",
        "api/page/index.html",
        "ide/mcp.py",
    )
    exported = {f"companion/{name}": b"# something\n" for name in names}
    documents = dict.fromkeys(api_wheel.DOCUMENTS, "# Something\n")
    return api_wheel.wheel_files({**exported, "LICENSE": b"MIT"}, documents, VERSION)


def recorded(files: dict[str, bytes]) -> dict[str, bytes]:
    """The same with a record that fits."""
    record = f"{api_wheel.TOP}-{VERSION}.dist-info/RECORD"
    others = {path: data for path, data in files.items() if path != record}
    lines = [api_wheel.record_line(path, data) for path, data in others.items()]
    return {**others, record: "".join([*lines, f"{record},,\n"]).encode()}


class Check(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        given = (VERSION, "2030-01-02 03:04:05")
        files = f"{PAGE}/releases/download/{VERSION}/"
        self.write(package.WHOLE, package.zip_files(contents(is_plain=False)))
        self.write(package.PLAIN, package.zip_files(contents(is_plain=True)))
        self.tell(closure.REPOSITORY, closure.make_repository(PAGE, files + package.WHOLE, *given))
        plain = closure.plain_repository(choose, PAGE, files + package.PLAIN, *given)
        self.tell(closure.REPOSITORY_PLAIN, plain)
        self.tell(closure.CHANNEL, closure.make_channel(PAGE))
        self.write(WHEEL, package.zip_files(wheel()))
        self.sum_up()

    def sum_up(self) -> None:
        release.write_sums(self.folder, VERSION)

    def write(self, name: str, data: bytes) -> None:
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)

    def tell(self, name: str, content: Any) -> None:
        self.write(name, json.dumps(content).encode())

    def read(self, name: str) -> Any:
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return json.load(file)

    def wrong(self, words: str, version: str = VERSION) -> None:
        with self.assertRaisesRegex(release.Wrong, words):
            release.check_release(self.folder, PAGE, version)

    def test_all_files_that_belong_together_pass(self) -> None:
        release.check_release(self.folder, PAGE, VERSION)

    def test_each_file_has_to_be_there_and_no_other(self) -> None:
        for name in (*release.release_files(VERSION), release.SUMS):
            with self.subTest(name):
                path = os.path.join(self.folder, name)
                os.rename(path, path + ".away")
                self.wrong(f"{name} is missing")
                os.rename(path + ".away", path)
        self.write("leftover.json", b"{}")
        self.wrong("leftover.json does not belong to a release")

    def test_a_file_that_is_not_what_the_sums_say_stops_it(self) -> None:
        self.write(package.WHOLE, package.zip_files({**contents(is_plain=False), "more": b""}))
        self.wrong(f"{package.WHOLE} is not what SHA256SUMS says")

    def test_what_is_wrong_in_a_package_stops_it(self) -> None:
        whole = contents(is_plain=False)
        lacking = {path: data for path, data in whole.items() if "/aiohttp-3.14" not in path}
        for files, words in (
            ({**whole, "dependencies.json": b"{}"}, "only the plain package may ask"),
            ({**whole, "companion/__init__.py": b""}, "a package is not of version 1.2.3"),
            ({**whole, "companion/a.py": b"def f(:\n"}, "a file is not as expected"),
            (lacking, r"aiohttp==3\.14\.5 is not in the package for 3\.13"),
        ):
            with self.subTest(words):
                self.write(package.WHOLE, package.zip_files(files))
                self.sum_up()
                self.wrong(words)

    def test_what_is_wrong_in_the_wheel_stops_it(self) -> None:
        good = wheel()
        top, info = api_wheel.TOP, f"{api_wheel.TOP}-{VERSION}.dist-info"
        for files, words in (
            ({**good, f"{info}/METADATA": b"Name: x\nVersion: 1\n"}, "the wheel is not of version"),
            ({**good, f"{top}/base/log.py": b"# other\n"}, "record does not fit"),
            (recorded({**good, f"{top}/ide/mcp.py": b""}), "the wheel has other rooms: .* ide"),
            (
                recorded({**good, f"{top}/api/page/index.html": b""}),
                "index.html is not in the wheel",
            ),
            (recorded({**good, f"{top}/api/a.py": b"def f(:\n"}), "a file is not as expected"),
        ):
            with self.subTest(words):
                self.write(WHEEL, package.zip_files(files))
                self.sum_up()
                self.wrong(words)

    def test_what_is_wrong_in_a_repository_stops_it(self) -> None:
        def change(name: str, changed: Callable[[Any], object], words: str) -> None:
            content = self.read(name)
            before = json.dumps(content)
            changed(content)
            self.tell(name, content)
            self.sum_up()
            with self.subTest(words):
                self.wrong(words)
            self.write(name, before.encode())

        change(
            closure.REPOSITORY,
            lambda content: content["packages"][0]["releases"][0].update(
                url="https://other.example/a"
            ),
            "repository.json does not offer GeminiCompanion.sublime-package",
        )
        change(
            closure.REPOSITORY_PLAIN,
            lambda content: content["packages"][0]["releases"][0].update(version="1.2.2"),
            "repository-plain.json is not of version 1.2.3",
        )
        change(
            closure.REPOSITORY_PLAIN,
            lambda content: [library["releases"].clear() for library in content["libraries"]],
            "is there for no platform",
        )
        change(
            closure.CHANNEL,
            lambda content: content["releases"][0].update(asset="other"),
            "channel.json does not name",
        )


class Build(unittest.TestCase):
    def test_two_builds_that_differ_stop_it(self) -> None:
        count = [0]

        def build(command: list[str], **_options: Any) -> Any:
            count[0] += 1
            for name in release.PACKAGES:
                with open(os.path.join(command[-1], name), "wb") as file:
                    file.write(b"%d" % count[0])
            return mock.Mock(returncode=0)

        with tempfile.TemporaryDirectory() as folder:
            with mock.patch("subprocess.run", build):
                with self.assertRaisesRegex(release.Wrong, "two builds of .* are not the same"):
                    release.build_release(folder)
