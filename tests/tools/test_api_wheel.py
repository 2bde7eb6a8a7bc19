"""The wheel of the API's server: what is in it, and that it is installed with what it needs."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from GeminiCompanion.tools import api_wheel, closure, package

from .built import IS_CHECKOUT

WITH_REGISTRIES = bool(os.environ.get("WITH_REGISTRIES"))


@unittest.skipUnless(IS_CHECKOUT, "a wheel is made of what is committed: this is no checkout")
class Wheel(unittest.TestCase):
    files: dict[str, bytes]

    @classmethod
    def setUpClass(cls) -> None:
        with zipfile.ZipFile(io.BytesIO(api_wheel.build_wheel())) as archive:
            cls.files = {name: archive.read(name) for name in archive.namelist()}

    def test_it_has_each_file_of_its_rooms_and_none_of_the_others(self) -> None:
        wanted = {
            path.replace("companion/", "gemini_cli_api/", 1)
            for path in package.export_files()
            if path.startswith(("companion/base/", "companion/agent/", "companion/api/"))
        }
        found = {file for file in self.files if file.startswith("gemini_cli_api/")}
        apart = {file for file in found if "/documents/" in file} | {"gemini_cli_api/__init__.py"}
        self.assertEqual(found - apart, wanted)
        self.assertIn("gemini_cli_api/api/page/vendor/marked.LICENSE.txt", found)

    def test_its_documents_name_its_own_programs_and_lead_to_each_other_alone(self) -> None:
        for name in api_wheel.DOCUMENTS:
            text = self.files[f"gemini_cli_api/documents/{name}"].decode()
            with self.subTest(name):
                self.assertNotRegex(text, r"companion\.api")
                links = re.findall(r"\]\((?!https?:|#)([^)#]*)", text)
                self.assertLessEqual({*links}, {*api_wheel.DOCUMENTS})
        self.assertIn(
            "\n    gemini-cli-api --workspace",
            self.files["gemini_cli_api/documents/api.md"].decode(),
        )

    def test_it_wants_the_libraries_that_its_rooms_import(self) -> None:
        names = {library.partition(">=")[0] for library in api_wheel.needed_libraries()}
        self.assertEqual(names, {"aiohttp", "jsonschema", "prometheus_client"})

    @unittest.skipUnless(WITH_REGISTRIES, "the libraries come from a registry")
    def test_it_is_installed_with_what_it_needs_and_starts_in_an_empty_folder(self) -> None:
        folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        self.assertEqual(api_wheel.main(folder), 0)
        wheel = os.path.join(folder, api_wheel.file_name(closure.package_version()))
        venv, empty = os.path.join(folder, "venv"), os.path.join(folder, "empty")
        programs = os.path.join(venv, "Scripts" if os.name == "nt" else "bin")
        os.mkdir(empty)
        for command in (
            [sys.executable, "-m", "venv", venv],
            [os.path.join(programs, "python"), "-m", "pip", "install", "-q", wheel],
        ):
            subprocess.check_call(command, cwd=empty, stderr=subprocess.DEVNULL)
        command = [os.path.join(programs, api_wheel.COMMAND), "--version"]
        said = subprocess.check_output(command, cwd=empty, text=True)
        self.assertEqual(said.strip(), closure.package_version())
