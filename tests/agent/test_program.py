"""A CLI is found as npm installed it, whether it runs in Node or by itself, and by any launcher."""

from __future__ import annotations

import os
import stat
import tempfile
import unittest
from unittest import mock

from GeminiCompanion.companion.agent.agents import program
from GeminiCompanion.companion.agent.agents.program import Program
from GeminiCompanion.companion.agent.failure import AgentError

ELF = b"\x7fELF\x02\x01"
FOR_NODE = Program("A CLI", "a-cli", "@some/a-cli", "dist/index.js")
NATIVE = Program("A CLI", "a-cli", "a-cli", "bin/a-cli", "a-cli-{machine}/bin/a-cli")


@unittest.skipIf(os.name == "nt", "links of npm are other files there")
class Found(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def file(self, path: str, data: bytes) -> str:
        path = os.path.join(self.folder, "node_modules", path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, stat.S_IRWXU)
        return path

    def link(self, target: str) -> str:
        """As npm puts a program into node_modules/.bin."""
        path = os.path.join(self.folder, "node_modules", ".bin", "a-cli")
        os.makedirs(os.path.dirname(path))
        os.symlink(target, path)
        return path

    def test_a_program_for_node_is_started_by_node(self) -> None:
        file = self.file("@some/a-cli/dist/index.js", b"//")
        for path in (self.folder, file, self.link(file)):
            self.assertEqual(FOR_NODE.find_command(path)[1:], (file,), path)

    def test_a_native_program_is_started_by_itself(self) -> None:
        file = self.file("a-cli/bin/a-cli", ELF)
        with mock.patch.object(program.shutil, "which", return_value=None):
            for path in (self.folder, file):
                self.assertEqual(NATIVE.find_command(path), (file,), path)

    def test_a_link_to_a_native_program_is_started_by_its_name(self) -> None:
        link = self.link(self.file("volta/volta-shim", ELF))
        self.assertEqual(NATIVE.find_command(link), (link,))
        self.assertEqual(FOR_NODE.find_command(link), (link,))

    def test_one_whose_place_npm_left_empty_is_found_in_the_package_for_this_machine(self) -> None:
        self.file("a-cli/bin/a-cli", b"")
        with mock.patch.object(program, "_machine_name", return_value="linux-x64"):
            file = self.file("a-cli-linux-x64/bin/a-cli", ELF)
            self.assertEqual(NATIVE.find_command(self.folder), (file,))

    def test_a_launcher_is_started_as_it_is(self) -> None:
        file = self.file("a-cli/bin/a-cli", b"#!/bin/sh\n")
        link = self.link(file)
        with mock.patch.object(program.shutil, "which", return_value=None):
            for path in (file, link):
                for each in (NATIVE, FOR_NODE):
                    self.assertEqual(each.find_command(path), (path,))

    def test_a_script_of_npm_or_pnpm_in_a_project_is_passed_by(self) -> None:
        file = self.file("@some/a-cli/dist/index.js", b"//")
        shim = self.file(".bin/a-cli", b"#!/bin/sh\n")
        self.assertEqual(FOR_NODE.find_command(shim)[1:], (file,))

    @unittest.skipIf(os.name == "nt", "every file is executable there")
    def test_a_file_that_is_not_executable_is_told_by_its_path(self) -> None:
        file = self.file("bin/a-cli", b"#!/bin/sh\n")
        os.chmod(file, 0o600)
        with mock.patch.dict(os.environ, PATH=os.path.dirname(file)):
            for each in (file, ""):
                with self.assertRaisesRegex(AgentError, f"{file} is there, and is not executable"):
                    NATIVE.find_command(each)

    def test_what_is_not_there_is_not_found(self) -> None:
        with self.assertRaisesRegex(AgentError, f"A CLI was not found in {self.folder}"):
            NATIVE.find_command(self.folder)

    def test_without_node_its_programs_are_refused_by_that_name(self) -> None:
        self.file("@some/a-cli/dist/index.js", b"//")
        with mock.patch.object(program.shutil, "which", return_value=None):
            with self.assertRaisesRegex(AgentError, "Node.js 20 or newer is needed"):
                FOR_NODE.find_command(self.folder)
