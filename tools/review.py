"""Asks the reviewer of Package Control's channel about the package as it would be downloaded."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile

from . import setup

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KNOWN = (
    # The package needs build 4107, so its syntaxes need no other form for builds before 3092.
    "- '.sublime-syntax' support has been added in build 3092",
    # It sends a message, in the tab of a chat alone.
    "- The binding ['ctrl+enter'] is also defined in default bindings but is masked",
    # The same on macOS.
    "- The binding ['super+enter'] is also defined in default bindings but is masked",
    # They bring messages said before, while the end of a chat is empty.
    "- The binding ['up'] is also defined in default bindings but is masked",
    "- The binding ['down'] is also defined in default bindings but is masked",
    # Any character that is typed: it goes to the end of a chat while the caret is above it. The
    # reviewer does not know this key, Sublime Text does.
    "- Invalid key '<character>'",
)


def main() -> int:
    """The exit status: not 0 where the reviewer reports anything unknown, be it a warning."""
    if sys.version_info < setup.OLDEST_APART:
        print("The reviewer needs Python %d.%d or newer: not asked." % setup.OLDEST_APART)
        return 0
    if not os.path.exists(os.path.join(ROOT, ".git")):
        print("Only a checkout can be exported for the reviewer: not asked.")
        return 0
    setup.set_up_apart("review")
    python = setup.python_of(os.path.join(setup.VENV, "review"))
    with tempfile.TemporaryDirectory() as folder:
        package = os.path.join(folder, "GeminiCompanion")
        export_checkout(package)
        code = "import sys; from st_package_reviewer.__main__ import main; sys.exit(main())"
        reviewer = [python, "-c", code, "--fail-on-warnings", package]
        done = subprocess.run(reviewer, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    report = done.stdout.decode()
    if not done.returncode or is_known(report):
        return 0
    sys.stdout.write(report)
    return done.returncode


def is_known(report: str) -> bool:
    """Whether the reviewer reports nothing but what is known; a failed reviewer reports nothing."""
    reported = [line for line in report.splitlines() if line.startswith("- ")]
    return bool(reported) and all(line.startswith(KNOWN) for line in reported)


def export_checkout(folder: str) -> None:
    """What is committed, without what .gitattributes leaves out."""
    command = ["git", "archive", "--worktree-attributes", "--format=tar", "HEAD"]
    archive = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        if sys.version_info >= (3, 12):
            tar.extractall(folder, filter="data")
        else:
            tar.extractall(folder)


if __name__ == "__main__":
    sys.exit(main())
