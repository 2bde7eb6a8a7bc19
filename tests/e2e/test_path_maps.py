"""The real Gemini CLI, which sees the project at another path than the editor does."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import tempfile
import unittest

import session
from cli import BINARY, GeminiCli
from session import ACCEPT

from tests.support import wait_for

# Where the CLI has the project, and the program that has it there, and no more at its own place.
THERE = "/mnt/c/project"
ELSEWHERE = f"""#!/bin/sh
exec unshare --mount --propagation private -- sh -c '
    mount -t tmpfs none /mnt && mkdir -p {THERE} && mount --bind "$1" {THERE} &&
    mount -t tmpfs none "$1" && cd {THERE} && exec "$2"' sh '{{folder}}' '{{program}}'
"""


def may_mount() -> bool:
    command = ["unshare", "--mount", "--propagation", "private", "--", "mount", "-t", "tmpfs"]
    try:
        done = subprocess.run([*command, "none", "/mnt"], capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


@unittest.skipUnless(may_mount(), "this user may not mount")
class Elsewhere(session.Session):
    @classmethod
    def new_cli(cls, **variables: str) -> GeminiCli:
        maps = [{"local": cls.folder, "remote": THERE}]
        cls.editor.do("project", {"path_maps": maps})
        wait_for(lambda: cls.told_folder() == THERE)
        start = os.path.join(cls.root, "elsewhere")
        with open(start, "w", encoding="utf-8") as file:
            file.write(ELSEWHERE.format(folder=cls.folder, program=BINARY))
        os.chmod(start, stat.S_IRWXU)
        moved = type("Moved", (GeminiCli,), {"program": start})
        home = tempfile.mkdtemp(dir=cls.root)
        cli: GeminiCli = moved(home, cls.root, cls.model.url, {"TMPDIR": cls.temp, **variables})
        cls.addClassCleanup(cli.close)
        cli.wait_connected()
        return cli

    @classmethod
    def told_folder(cls) -> str:
        folder = os.path.join(cls.temp, "gemini", "ide")
        with open(os.path.join(folder, cls.editor.discovery_files()[0]), encoding="utf-8") as file:
            return str(json.load(file)["workspacePath"])

    def test_it_is_told_its_own_paths_and_its_accepted_edit_is_the_editors_file(self) -> None:
        path = self.write("a b.py", b"old\n")
        self.editor.do("open", path)
        self.cli.wait_for("1 open file")
        there = f"{THERE}/a b.py"
        self.model.will_call("write_file", {"file_path": there, "content": "new\n"}, "The end.")
        self.cli.say("change it please")
        prompt = self.model.wait_for_prompt("change it please")
        self.assertIn(f'"path": "{there}"', prompt)
        self.assertNotIn(self.folder, self.model.received())
        self.cli.wait_for(session.QUESTION)
        self.editor.do("wait_for", "proposal", "new\n", path)
        self.editor.do("append", path, "mine\n")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.assertEqual(self.read(path), b"new\nmine\n")
        found = self.editor.reports("Gemini CLI")
        (own,) = (section for section in found if f"Settings of the CLI: {self.root}" in section)
        self.assertIn(f", in {THERE}:", own)
        self.assertNotIn("FAILED", own)
