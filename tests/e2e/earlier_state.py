"""What an earlier version of the package keeps on a disk, as files below `earlier/`. They are made
by its own code, and put down for a test in a folder and at a time of its own.

    .venv/bin/python tests/e2e/earlier_state.py d80a9a04

makes them anew by the code of that commit: its editor, with each kind of edit, waiting and typed
in, and with chats, is killed. The files change only for a version that stores something else; what
an installed version may have stored has to be understood. To try an upgrade from another commit,
such as the one before, name a folder:

    .venv/bin/python tests/e2e/earlier_state.py HEAD~1 FOLDER
    EARLIER=FOLDER .venv/bin/python -m pytest tests/e2e/test_upgrade.py
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Iterator

from editor import Editor
from model_server import Gate, ModelServer, call
from served import Served, set_up, until

HERE = Path(__file__).resolve().parent
OURS = HERE / "earlier"
EARLIER = Path(os.environ.get("EARLIER") or OURS)
# What is kept of the played folder: the project, the data of the editor, the folder of the engine.
KEPT = ("project", "data", "cache")
# What a version that starts makes anew, or what only names the process that was killed.
LEFT_OUT = re.compile(r"lock$|\.locks/|/token$|\.sublime-settings$|trustedFolders|/\.env$")
# In the files, the played folder, and the seconds since the epoch less those of the kill.
ROOT, MOMENT = "@ROOT@", re.compile(r"@KILL([+-]\d+)@")
# Seconds since the epoch, and what follows of a number that is finer.
TIME = re.compile(r"(?<![\w.@])(\d{10})(?=(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?(?!\w))")
DAY = 24 * 60 * 60
# The last id that Linux may give to a process.
NOBODY = 4194303
# The modification times of the files in `project`: stored stamps are compared with them.
TIMES = "times.txt"
LINE = "━" * 40 + "\n"


def put_down(root: Path) -> None:
    """Write the files into the folder, as if the earlier version had been killed there just now."""
    for path in _files(EARLIER):
        if path.name != TIMES:
            target = root / path.relative_to(EARLIER)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target.write_bytes(_here(path.read_text("utf-8"), root).encode())
            target.chmod(0o600)
    for line in _here((EARLIER / TIMES).read_text("utf-8"), root).splitlines():
        stamp, name = line.split(" ", 1)
        os.utime(name, ns=(int(stamp), int(stamp)))


def _here(text: str, root: Path) -> str:
    now = int(time.time())
    return MOMENT.sub(lambda found: str(now + int(found.group(1))), text.replace(ROOT, str(root)))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def make(commit: str, target: Path = OURS) -> None:
    """Make the files by the code of the commit. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        checkout, root = Path(folder, "checkout"), Path(folder).resolve() / "root"
        worktree = ["git", "-C", str(HERE), "worktree"]
        subprocess.run([*worktree, "add", "--detach", str(checkout), commit], check=True)
        try:
            # Beside the helpers of that commit, so that these are what it imports.
            there = shutil.copy(__file__, checkout / "tests" / "e2e")
            subprocess.run([sys.executable, there, "--play", str(root)], cwd=checkout, check=True)
            _collect(root, target)
        finally:
            subprocess.run([*worktree, "remove", "--force", str(checkout)], check=True)


def _collect(root: Path, earlier: Path) -> None:
    shutil.rmtree(earlier, ignore_errors=True)
    killed_at, stamps = int(time.time()), []

    def timeless(text: str) -> str:
        def since_kill(found: re.Match[str]) -> str:
            seconds = int(found.group(1)) - killed_at
            return f"@KILL{seconds:+d}@" if abs(seconds) < DAY else found.group(1)

        text = TIME.sub(since_kill, text.replace(str(root), ROOT))
        # No process on the machine of the test is taken for the CLI.
        return re.sub(r'"pid":\d+', f'"pid":{NOBODY}', text)

    for folder in KEPT:
        for path in _files(root / folder):
            if LEFT_OUT.search(str(path.relative_to(root))) is None:
                target = earlier / path.relative_to(root)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(timeless(path.read_text("utf-8")), "utf-8")
                if folder == "project":
                    stamps.append(timeless(f"{path.stat().st_mtime_ns} {path}\n"))
    (earlier / TIMES).write_text("".join(stamps), "utf-8")


class Play:
    """An editor that is used until much waits in it, and then killed. `root` is its folder."""

    def __init__(self, root: Path) -> None:
        self._project, self._temp, self._data = (root / name for name in ("project", "tmp", "data"))
        for folder in (self._project, self._temp, self._data):
            folder.mkdir(parents=True)
        self._gate = Gate()
        os.environ["TMPDIR"] = str(self._temp)
        with ModelServer() as self._model:
            with set_up(str(root), str(self._data), self._model.url):
                self._editor = Editor(str(self._project), str(self._data), str(self._temp))
            try:
                self._run()
            finally:
                self._editor.kill()
                self._gate.set()

    def _run(self) -> None:
        Served(self._editor).configure()
        self._do("wait_until_served")
        from tests.fake_cli import FakeCli

        self._cli = FakeCli(self._do("environment"))
        until(self._cli.connected)
        self._accept("unwritten.txt")
        self._edit_unasked()
        self._reject_with_note()
        self._propose("waiting.txt")
        self._talk()
        self._ask_in_chat()
        self._accept("accepted.txt")
        self._write("accepted.txt", "new\nmine\n")
        # What is typed, and what the file has, are kept a moment later.
        until(lambda: self._stored("state.json").count('"new\\nmine\\n"') == 2)
        until(lambda: "accepted.txt" not in self._stored("state.json"))
        until(lambda: '"mine"' in self._stored("drafts.json"))
        until(lambda: "too short" in self._stored("state.json"))
        self._do("keep_session")

    def _do(self, name: str, *args: Any) -> Any:
        return self._editor.do(name, *args)

    def _path(self, name: str) -> str:
        return str(self._project / name)

    def _write(self, name: str, text: str) -> str:
        (self._project / name).write_text(text)
        return self._path(name)

    def _stored(self, name: str) -> str:
        return "".join(path.read_text() for path in self._data.rglob(name))

    def _propose(self, name: str) -> None:
        """A proposal of the CLI, with text of the user."""
        path = self._write(name, "old\n")
        self._cli.call("openDiff", filePath=path, newContent="new\n").result(60)
        self._type_into(name)

    def _type_into(self, name: str) -> None:
        self._do("wait_for", "proposal", "new\n", self._path(name))
        self._do("append", self._path(name), "mine\n")

    def _accept(self, name: str) -> None:
        self._propose(name)
        self._do("accept", self._path(name), "new\nmine\n")
        until(
            lambda: any(
                decision["filePath"] == self._path(name)
                for decision in self._cli.received("ide/diffAccepted")
            )
        )

    def _edit_unasked(self) -> None:
        """Two edits that nobody was asked about: one as it is, one typed in, in the sheet."""
        self._hook("BeforeAgent", prompt="change them")
        for name, text in (("unasked.txt", "new\n"), ("sheet.txt", "newer\n")):
            path = self._write(name, "old\n")
            call = {"tool_name": "write_file", "tool_input": {"file_path": path}}
            self._hook("BeforeTool", **call)
            self._write(name, text)
            self._hook("AfterTool", **call, tool_response={"llmContent": ""})
        self._do("wait_for", "status_bar_says", True, "2 edits")
        self._do("command", "gemini_companion_show_changes")
        until(lambda: self._do("asks") or self._do("named", "Changes"))
        if self._do("asks"):
            # Newer versions list the edits, and below the first row is the sheet.
            self._do("choose", 0)
        self._do("wait_for", "begins_with", True, "Changes", "2 edits")
        self._do("retype_named", "Changes", "newer\n", "mine\n")

    def _hook(self, event: str, **members: Any) -> None:
        self._cli.hook(event, cwd=str(self._project), **members).result(60)

    def _reject_with_note(self) -> None:
        """Words for the CLI's model, which wait for its next hook."""
        self._propose("noted.txt")
        self._do("review", "reject_diff_with_note", self._path("noted.txt"))
        self._do("type_in_panel", "too short")
        self._do("wait_for", "proposal", None, self._path("noted.txt"))

    def _talk(self) -> None:
        """A conversation with an edit of a turn, a turn that runs, a message that waits for it, and
        text that is not sent."""
        edit = call("write_file", file_path="turn.txt", content="new\n")
        self._model.will_play("hello", [edit], ["Hello to you."])
        self._model.will_play("count", ["One ", self._gate])
        self._new_chat()
        self._say("hello")
        self._do("wait_for", "proposal", "new\n", self._path("turn.txt"))
        self._do("accept", self._path("turn.txt"), "new\n")
        until(lambda: (self._project / "turn.txt").exists())
        until(lambda: "Hello to you." in self._do("chat"))
        self._say("count")
        until(lambda: "One" in self._do("chat").partition(LINE)[0])
        self._say("later")
        until(lambda: "later" in self._do("chat_above"))
        until(lambda: self._do("chat").endswith(LINE))
        path = self._write("notes.txt", "notes\n")
        self._do("command", "gemini_companion_attach", {"what": "file", "path": path})
        self._do("type_in_chat", "mine")

    def _ask_in_chat(self) -> None:
        """An edit that the agent of another chat asks about, with text of the user."""
        self._model.will_play("ask", [call("write_file", file_path="asked.txt", content="new\n")])
        self._new_chat()
        self._say("ask")
        self._type_into("asked.txt")

    def _new_chat(self) -> None:
        until(lambda: self._do("choose_in_palette", "Gemini Companion: New Chat"))

    def _say(self, words: str) -> None:
        self._do("type_in_chat", words)
        self._do("command", "gemini_companion_send")


if __name__ == "__main__":
    if sys.argv[1] == "--play":
        sys.path.insert(0, str(HERE.parent.parent))
        Play(Path(sys.argv[2]))
    else:
        make(sys.argv[1], *map(Path, sys.argv[2:]))
