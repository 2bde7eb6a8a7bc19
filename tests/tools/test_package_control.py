"""Package Control's own code installs, upgrades and removes the package, beside another one.

PACKAGE_CONTROL=path names a checkout of it; JSONSCHEMA_WHEEL=path the wheel of jsonschema 2.6.0, in
whose place a library of that name and version without content serves.
"""

from __future__ import annotations

import base64
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from typing import Any

from .built import WHOLE, Built

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INSIDE = os.path.join(ROOT, "tests", "tools", "package_control_inside.py")
CHECKOUT = os.environ.get("PACKAGE_CONTROL", "")
WHEEL = "jsonschema-2.6.0-py2.py3-none-any.whl"
OTHER = """
import jsonschema
import sublime
import sublime_plugin

class OtherAsksCommand(sublime_plugin.ApplicationCommand):
    def run(self):
        jsonschema.validate({"a": 1}, {"type": "object"})
        sublime.OTHER_SAYS = [jsonschema.__version__, jsonschema.__file__]
"""
PATIENCE = 300  # seconds


def python_of_the_host() -> str:
    """The path of a Python 3.8, into whose folder Package Control puts the other's library."""
    if sys.version_info[:2] == (3, 8):
        return os.path.realpath(sys.executable)
    found = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.8.*/bin/python")))
    return os.path.realpath((found or [shutil.which("python3.8") or ""])[0])


def recorded(path: str, content: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"{path},sha256={digest.rstrip('=')},{len(content)}\n"


@unittest.skipUnless(CHECKOUT, "PACKAGE_CONTROL names no checkout of Package Control")
@unittest.skipUnless(python_of_the_host(), "there is no Python 3.8")
class PackageControl(Built):
    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = os.path.join(self.folder, "data")
        self.package = os.path.join(self.data, "Packages", "Package Control")
        shutil.copytree(CHECKOUT, self.package, ignore=shutil.ignore_patterns(".git"))
        self.lay_program()
        own: dict[str, object] = {"channels": [], "auto_upgrade": False, "submit_usage": False}
        own.update(dict.fromkeys(("install_missing", "remove_orphaned"), False))
        self.write("data/Packages/User/Package Control.sublime-settings", json.dumps(own))

    def lay_program(self) -> None:
        """What Package Control looks for beside the program: its plugin host, its packages."""
        os.makedirs(os.path.join(self.folder, "program", "Packages"))
        self.write("program/plugin_host-3.8", "")
        os.symlink(python_of_the_host(), os.path.join(self.folder, "program", "sublime_text"))

    def write(self, path: str, content: str) -> str:
        full = os.path.join(self.folder, *path.split("/"))
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(content)
        return full

    def zip(self, name: str, files: dict[str, str]) -> str:
        full = os.path.join(self.folder, name)
        with zipfile.ZipFile(full, "w") as archive:
            for path, content in files.items():
                archive.writestr(path, content)
        return full

    def wheel(self) -> str:
        given = os.environ.get("JSONSCHEMA_WHEEL")
        if given:
            return str(shutil.copy(given, os.path.join(self.folder, WHEEL)))
        info = "jsonschema-2.6.0.dist-info/"
        files = {
            "jsonschema/__init__.py": "__version__ = '2.6.0'\ndef validate(*_arguments): pass\n",
            info + "METADATA": "Metadata-Version: 2.0\nName: jsonschema\nVersion: 2.6.0\n",
            info + "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        record = "".join(recorded(path, content) for path, content in files.items())
        return self.zip(WHEEL, {**files, info + "RECORD": record + info + "RECORD,,\n"})

    def newer(self, built: str) -> str:
        """The same package under a higher version."""
        target = os.path.join(self.folder, "newer.sublime-package")
        with zipfile.ZipFile(built) as old, zipfile.ZipFile(target, "w") as new:
            for each in old.infolist():
                content = old.read(each)
                if each.filename == "companion/__init__.py":
                    content = re.sub(rb'__version__ = "[^"]+"', b'__version__ = "99.0.0"', content)
                new.writestr(each, content)
        return target

    def repository(self, name: str, path: str, version: str) -> str:
        other = {"plugin.py": OTHER, ".python-version": "3.8\n"}
        other["dependencies.json"] = json.dumps({"*": {"*": ["jsonschema"]}})
        packages = [
            self.entry("GeminiCompanion", path, version),
            self.entry("Other", self.zip("Other.sublime-package", other), "1.0.0"),
        ]
        for each in packages:
            each["homepage"] = "https://example.org"
        packages[1]["releases"][0]["libraries"] = ["jsonschema"]
        library = self.entry("jsonschema", self.wheel(), "2.6.0")
        library["releases"][0]["python_versions"] = ["3.8"]
        library["issues"] = "https://example.org"
        content = {"schema_version": "4.0.0", "packages": packages, "libraries": [library]}
        return self.write(name, json.dumps(content))

    def entry(self, name: str, path: str, version: str) -> dict[str, Any]:
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        release: dict[str, Any] = {
            "version": version,
            "url": "file://" + path,
            "date": "2026-01-01 00:00:00",
        }
        release.update({"sublime_text": "*", "sha256": digest, "platforms": ["*"]})
        return {"name": name, "description": name, "author": "somebody", "releases": [release]}

    def steps(self) -> list[dict[str, Any]]:
        built = self.path(WHOLE)
        first = self.repository("first.json", built, "1.0.0")
        second = self.repository("second.json", self.newer(built), "99.0.0")
        os.makedirs(os.path.join(self.folder, "work"))
        program = os.path.join(self.folder, "program", "sublime_text")
        command = [program, "-m", "headless", os.path.join(self.folder, "work")]
        command += ["--data", self.data, "--package", self.package, "--exec", INSIDE]
        done = subprocess.run(
            [*command, "--", first, second],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
        )
        output = done.stdout.decode("utf-8", "replace")
        self.assertEqual(done.returncode, 0, output)
        lines = [line[5:] for line in output.splitlines() if line.startswith("STEP ")]
        return [json.loads(line) for line in lines]

    def test_the_package_comes_goes_and_leaves_the_library_of_another_one_alone(self) -> None:
        steps = self.steps()
        for step in steps:
            self.assertEqual(step["library"], "2.6.0", step)
            self.assertTrue(step["place"].startswith(os.path.join(self.data, "Lib")), step)
        before, installed, upgraded, removed = (step["version"] for step in steps)
        self.assertEqual((before, upgraded, removed), ("", "99.0.0", ""))
        self.assertNotIn(installed, ("", "99.0.0"))
        libraries = os.listdir(os.path.join(self.data, "Lib", "python38"))
        # The last one is how other packages reach Package Control.
        known = ["jsonschema", "jsonschema-2.6.0.dist-info", "package_control.py"]
        self.assertEqual(sorted(name for name in libraries if name[0].isalpha()), known)
