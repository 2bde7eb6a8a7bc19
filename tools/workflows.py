"""`make workflows`: zizmor, and where it is on the PATH actionlint, about .github/workflows.

Both work offline. zizmor is asked for what is of high severity.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys

from . import setup

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, ".github", "workflows")


def main() -> int:
    """The exit status: not 0 where one of them finds anything."""
    if sys.version_info < setup.OLDEST_APART:
        print("zizmor is set up for Python %d.%d or newer: not asked." % setup.OLDEST_APART)
        return 0
    setup.set_up_apart("workflows")
    programs = os.path.dirname(setup.python_of(os.path.join(setup.VENV, "workflows")))
    zizmor = os.path.join(programs, "zizmor")
    status = subprocess.call([zizmor, "--offline", "--quiet", "--min-severity", "high", FOLDER])
    actionlint = shutil.which("actionlint")
    if actionlint is None:
        print("actionlint is not on the PATH: not asked.")
        return status
    return subprocess.call([actionlint, *sorted(glob.glob(FOLDER + "/*.yml"))]) or status


if __name__ == "__main__":
    sys.exit(main())
