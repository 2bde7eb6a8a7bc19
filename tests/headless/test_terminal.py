"""The interactive front with the package and a CLI, as a person without Sublime Text meets it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any

from ..fake_cli import FakeCli
from ..support import wait_for

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Front(unittest.TestCase):
    def setUp(self) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        for name in ("work", "tmp", "data"):
            os.mkdir(os.path.join(self.root, name))
        self.path = os.path.join(self.root, "work", "a.py")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("old\n")
        self.editor: subprocess.Popen[bytes] | None = None
        self.start()
        self.addCleanup(self.quit)

    def start(self, **environment: str) -> None:
        self.output = open(os.path.join(self.root, "output"), "wb+")
        self.addCleanup(self.output.close)
        folders = [os.path.join(self.root, "work"), "--data", os.path.join(self.root, "data")]
        self.editor = subprocess.Popen(
            [sys.executable, "-m", "headless", *folders],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": os.path.join(self.root, "tmp"), **environment},
            stdin=subprocess.PIPE,
            stdout=self.output,
            stderr=subprocess.STDOUT,
        )
        wait_for(lambda: self.discovery_files() and "In another terminal" in self.said())

    def quit(self) -> None:
        if self.editor is not None and self.editor.poll() is None:
            self.press("q")
            self.assertEqual(self.editor.wait(20), 0)
        if self.editor is not None and self.editor.stdin is not None:
            self.editor.stdin.close()

    def press(self, keys: str) -> None:
        if self.editor is not None and self.editor.stdin is not None:
            self.editor.stdin.write(keys.encode() + b"\n")
            self.editor.stdin.flush()

    def said(self) -> str:
        with open(self.output.name, encoding="utf-8") as file:
            return file.read()

    def discovery_files(self) -> list[str]:
        folder = os.path.join(self.root, "tmp", "gemini", "ide")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return [os.path.join(folder, name) for name in names if name.endswith(".json")]

    def connect(self) -> FakeCli:
        with open(self.discovery_files()[0], encoding="utf-8") as file:
            content = json.load(file)
        cli = FakeCli(
            {
                "GEMINI_CLI_IDE_SERVER_PORT": content["port"],
                "GEMINI_CLI_IDE_AUTH_TOKEN": content["authToken"],
            }
        )
        self.addCleanup(cli.close)
        wait_for(cli.connected)
        return cli

    def propose(self, cli: FakeCli, text: str) -> None:
        answer = cli.call("openDiff", filePath=self.path, newContent=text).result(20)
        self.assertEqual(answer, {"content": []})
        # The keys stand below the picture.
        wait_for(lambda: "[a]ccept" in self.said().partition(f"Proposed: {self.path}")[2])

    def decision(self, cli: FakeCli, method: str) -> dict[str, Any]:
        wait_for(lambda: cli.received(method))
        return cli.received(method)[0]

    def test_a_proposal_is_shown_side_by_side_and_a_key_accepts_it(self) -> None:
        cli = self.connect()
        self.propose(cli, "new\n")
        self.assertRegex(self.said(), r"1 - old +\| +1 \+ new")
        self.press("a")
        decision = self.decision(cli, "ide/diffAccepted")
        self.assertEqual(decision, {"filePath": self.path, "content": "new\n"})
        wait_for(lambda: f"Decided: {self.path}" in self.said())

    def test_a_key_rejects_it(self) -> None:
        cli = self.connect()
        self.propose(cli, "new\n")
        self.press("r")
        self.assertEqual(self.decision(cli, "ide/diffRejected"), {"filePath": self.path})

    def test_a_key_opens_it_in_the_users_editor_first(self) -> None:
        self.quit()
        program = "import sys; open(sys.argv[1], 'a').write('mine')"
        self.start(EDITOR=f'{sys.executable} -c "{program}"', VISUAL="")
        cli = self.connect()
        self.propose(cli, "new\n")
        self.press("e")
        wait_for(lambda: "+ mine" in self.said())
        self.press("a")
        self.assertEqual(self.decision(cli, "ide/diffAccepted")["content"], "new\nmine")

    def test_an_opened_file_is_told_to_the_cli(self) -> None:
        cli = self.connect()
        self.press("o\na.py")
        wait_for(lambda: [file["path"] for file in cli.context()] == [self.path])

    def test_a_proposal_is_there_again_after_a_restart_and_its_cli_gets_the_decision(self) -> None:
        cli = self.connect()
        self.propose(cli, "new\n")
        self.quit()
        self.assertEqual(self.discovery_files(), [])
        wait_for(cli.stream_ended.is_set)
        self.assertIsNone(cli.stream_error)
        self.start()
        wait_for(lambda: f"Proposed: {self.path}" in self.said())
        cli.resume()
        wait_for(cli.connected)
        self.press("a")
        self.assertEqual(self.decision(cli, "ide/diffAccepted")["content"], "new\n")
        self.assertEqual(cli.received("ide/diffRejected"), [])
