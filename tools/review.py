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
REQUIREMENTS = os.path.join(ROOT, "requirements", "review.txt")
# Inside the other one, and so gone whenever that one is made anew.
VENV = os.path.join(setup.VENV, "review")
OLDEST = (3, 11)


def main() -> int:
    """The exit status: not 0 where the reviewer reports anything, be it a warning."""
    if sys.version_info < OLDEST:
        print("The reviewer needs Python %d.%d or newer: not asked." % OLDEST)
        return 0
    if not os.path.isdir(os.path.join(ROOT, ".git")):
        print("Only a checkout can be exported for the reviewer: not asked.")
        return 0
    set_up()
    with tempfile.TemporaryDirectory() as folder:
        package = os.path.join(folder, "GeminiCompanion")
        export(package)
        code = "import sys; from st_package_reviewer.__main__ import main; sys.exit(main())"
        reviewer = [setup.python_of(VENV), "-c", code, "--fail-on-warnings", package]
        done = subprocess.run(reviewer, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.stdout.write(done.stdout.decode())
    return done.returncode


def set_up() -> None:
    """A venv of its own: its libraries are many and have nothing to do with ours."""
    stamp, value = os.path.join(VENV, "stamp"), setup.digest([REQUIREMENTS], sys.version)
    if setup.is_done(stamp, value):
        return
    print("Making .venv/review ...", flush=True)
    subprocess.check_call([sys.executable, "-m", "venv", "--clear", VENV])
    pip = [setup.python_of(VENV), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.check_call(pip + ["-r", REQUIREMENTS])
    setup.set_done(stamp, value)


def export(folder: str) -> None:
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
