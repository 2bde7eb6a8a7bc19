"""Runs mypy over everything: the package is checked under the name that Sublime gives it.

The repository's root is the package GeminiCompanion and can hold no `__init__.py` (Sublime would
load it as a plugin), so a link of that name stands in a folder of mypy's own.
"""

from __future__ import annotations

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, ".venv", "types")

if __name__ == "__main__":
    os.makedirs(FOLDER, exist_ok=True)
    link = os.path.join(FOLDER, "GeminiCompanion")
    if not os.path.islink(link):
        os.symlink(ROOT, link)
    mypy = [sys.executable, "-m", "mypy", "--config-file", os.path.join(ROOT, "pyproject.toml")]
    product = ["-p", "GeminiCompanion.companion", "-m", "GeminiCompanion.plugin"]
    status = subprocess.call(mypy + product, cwd=FOLDER)
    status |= subprocess.call(mypy + ["-p", "headless"], cwd=ROOT)
    sys.exit(status)
