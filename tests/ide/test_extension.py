from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion import __version__
from GeminiCompanion.companion.ide.clis import CLIS, GEMINI_CLI, QWEN_CODE, Cli
from GeminiCompanion.companion.ide.hooks import extension
from GeminiCompanion.companion.ide.hooks.extension import NotChanged

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "extension", "companion.cjs")
WITH_EXTENSION = [cli for cli in CLIS if cli.extension is not None]


class Extension(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = os.path.realpath(folder.name)
        with open(PROGRAM, "rb") as file:
            self.program = file.read()

    def installed(self, cli: Cli = GEMINI_CLI) -> str:
        path = extension.extension_folder(cli, {}, self.home)
        extension.install_extension(cli, path, self.program)
        return path

    def json(self, *parts: str) -> Any:
        with open(os.path.join(*parts), encoding="utf-8") as file:
            return json.load(file)

    def test_what_is_installed_leaves_no_trace_when_it_is_removed(self) -> None:
        for cli in WITH_EXTENSION:
            with self.subTest(cli.name):
                path = self.installed(cli)
                self.assertEqual(extension.installed_at(cli, path).version, __version__)
                self.assertTrue(extension.remove_extension(cli, path))
                self.assertEqual(extension.installed_at(cli, path).version, "")
                self.assertEqual(os.listdir(os.path.dirname(path)), [])
                self.assertFalse(extension.remove_extension(cli, path))

    def test_every_moment_has_a_hook_that_names_its_event(self) -> None:
        for cli in WITH_EXTENSION:
            hooks = self.json(self.installed(cli), "hooks", "hooks.json")["hooks"]
            form = cli.extension
            self.assertEqual(list(hooks), list(form.events) if form is not None else [])
            for event, (group,) in hooks.items():
                self.assertIn(f"hook {event}", group["hooks"][0]["command"])

    def test_it_tells_whether_the_user_switched_it_off(self) -> None:
        path = self.installed()
        # What the code of Gemini CLI 0.61 makes of them.
        for rules, folder, is_enabled in (
            ([], "/home/me", True),
            (["!/home/me/*"], "/home/me", False),
            (["!/home/me/*"], "/home/me/shop/", False),
            (["!/home/me/*"], "/home/merle", True),
            (["!/home/me/"], "/home/me", False),
            (["!/home/me/"], "/home/me/shop", True),
            (["!/home/me/*", "/home/me/shop/"], "/home/me/shop", True),
            (["!/home/me/*", "/home/me/shop/"], "/home/me/shop/sub", False),
            (["/home/me/shop/", "!/home/me/*"], "/home/me/shop", False),
            (["!/*"], "/", False),
            (["!/C:/me.(x)/*"], "C:\\me.(x)\\shop", False),
            (["!/C:/me.(x)/*"], "C:\\mes(x)\\shop", True),
            ("!/*", "/", True),
        ):
            with open(os.path.join(os.path.dirname(path), extension.ENABLEMENT), "w") as file:
                json.dump({extension.NAME: {"overrides": rules}, "other": {}}, file)
            with self.subTest(rules=rules, folder=folder):
                found = extension.installed_at(GEMINI_CLI, path, folder).is_enabled
                self.assertEqual(found, is_enabled)
        extension.remove_extension(GEMINI_CLI, path)
        self.assertEqual(self.json(os.path.dirname(path), extension.ENABLEMENT), {"other": {}})

    def test_an_older_one_is_renewed_and_no_other(self) -> None:
        path = extension.extension_folder(GEMINI_CLI, {}, self.home)
        self.assertFalse(extension.renew_extension(GEMINI_CLI, path, self.program))
        self.assertFalse(os.path.exists(path))
        for version, is_renewed in (("0.0.1", True), (__version__, False), ("99.0.0", False)):
            with self.subTest(version), mock.patch.object(extension, "VERSION", version):
                self.installed()
            self.assertEqual(extension.renew_extension(GEMINI_CLI, path, self.program), is_renewed)

    def test_what_is_not_ours_is_neither_written_nor_removed(self) -> None:
        path = extension.extension_folder(GEMINI_CLI, {}, self.home)
        os.makedirs(path)
        mine = os.path.join(path, "mine")
        os.mkdir(mine)
        for change in (self.installed, lambda: extension.remove_extension(GEMINI_CLI, path)):
            self.assertRaises(NotChanged, change)
            self.assertEqual(os.listdir(path), ["mine"])
        shutil.rmtree(path)
        os.symlink(self.home, path)
        self.assertRaises(NotChanged, self.installed)
        self.assertRaises(NotChanged, lambda: extension.remove_extension(GEMINI_CLI, path))

    def test_a_disk_that_refuses_is_said(self) -> None:
        path = extension.extension_folder(GEMINI_CLI, {}, self.home)
        with open(os.path.join(self.home, ".gemini"), "w"):
            self.assertRaisesRegex(NotChanged, "cannot be written", self.installed)
        self.assertFalse(os.path.exists(path))

    def test_one_that_was_written_in_part_is_written_again_or_removed(self) -> None:
        path = extension.extension_folder(GEMINI_CLI, {}, self.home)
        whole = list(extension.extension_files(GEMINI_CLI, self.program))
        for count in range(1, len(whole)):
            for is_removed in (False, True):
                self.installed()
                for name in whole[count:]:
                    os.remove(os.path.join(path, name))
                if is_removed:
                    extension.remove_extension(GEMINI_CLI, path)
                else:
                    self.installed()
                self.assertEqual(os.path.exists(os.path.join(path, whole[-1])), not is_removed)

    @unittest.skipIf(os.name == "nt", "the command is one for another shell there")
    def test_a_hook_ends_well_with_a_node_that_refuses_to_run(self) -> None:
        path = self.installed()
        hooks = self.json(path, "hooks", "hooks.json")["hooks"]["BeforeAgent"]
        command = hooks[0]["hooks"][0]["command"].replace("${extensionPath}", path)
        for name in (("gemini", "ide"), ("bin",)):
            os.makedirs(os.path.join(self.home, *name))
        with open(os.path.join(self.home, "gemini", "ide", "gemini-ide-server-1-2.json"), "w"):
            pass
        node = os.path.join(self.home, "bin", "node")
        with open(node, "w") as file:
            file.write("#!/bin/sh\necho No version is set for node.\necho Fault >&2\nexit 126\n")
        os.chmod(node, 0o755)
        done = subprocess.run(
            [shutil.which("bash") or "/bin/sh", "-c", command],
            env={"PATH": os.path.dirname(node), "TMPDIR": self.home},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    @unittest.skipIf(os.name == "nt", "the command is one for another shell there")
    def test_a_hook_without_an_editor_or_without_node_ends_well_and_says_nothing(self) -> None:
        path = self.installed(QWEN_CODE)
        command = self.json(path, "hooks", "hooks.json")["hooks"]["Stop"][0]["hooks"][0]["command"]
        command = command.replace("${CLAUDE_PLUGIN_ROOT}", path)
        os.mkdir(os.path.join(self.home, "bin"))
        for name in (None, "1.lock"):
            if name is not None:
                ide = os.path.join(self.home, ".qwen", "ide")
                os.mkdir(ide)
                with open(os.path.join(ide, name), "w"):
                    pass
            shell = shutil.which("bash") or "/bin/sh"
            done = subprocess.run(
                [shell, "-c", command],
                env={"PATH": os.path.join(self.home, "bin")},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=60,
            )
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
