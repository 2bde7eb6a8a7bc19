"""The libraries of the API's web page: what npm has, put into the page's folder and pinned.

    python -m tools.vendor_page            fetch the pinned versions again
    python -m tools.vendor_page --newest   go over to the newest ones

`companion/api/page/vendor/libraries.json` is the one table of them: package, version, licence,
which of its files are used and by what name, and the SHA-256 of each. The files are unchanged.
Fetching again fails where npm has something else under a pinned version.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from typing import Any, Dict, List

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "companion", "api", "page", "vendor")
TABLE = os.path.join(FOLDER, "libraries.json")


class Changed(Exception):
    """A file is not the pinned one: a sentence for the user."""


def read_table() -> List[Dict[str, Any]]:
    with open(TABLE, encoding="utf-8") as file:
        found: List[Dict[str, Any]] = json.load(file)
    return found


def data_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def run_npm(*arguments: str) -> str:
    """What npm prints. Raises CalledProcessError."""
    done = subprocess.run(["npm", *arguments], check=True, stdout=subprocess.PIPE, timeout=300)
    return done.stdout.decode("utf-8").strip()


def fetch_package(package: str, version: str) -> Dict[str, bytes]:
    """The files of a package by their paths in it."""
    with tempfile.TemporaryDirectory() as folder:
        name = run_npm("pack", "--silent", "--pack-destination", folder, f"{package}@{version}")
        found = {}
        with tarfile.open(os.path.join(folder, name.splitlines()[-1])) as archive:
            for member in archive.getmembers():
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None:
                    found[member.name.partition("/")[2]] = content.read()
        return found


def renew_library(library: Dict[str, Any], is_newest: bool) -> None:
    """Write the files of a library and pin them. Raises Changed."""
    package, pinned = library["package"], library.get("sha256", {})
    if is_newest:
        library["version"] = run_npm("view", package, "version")
        library["license"] = run_npm("view", package, "license")
        pinned = {}
    files = fetch_package(package, library["version"])
    chosen = {name: files[path] for path, name in library["files"].items()}
    library["sha256"] = {name: data_digest(data) for name, data in chosen.items()}
    for name, data in chosen.items():
        if pinned.get(name, data_digest(data)) != data_digest(data):
            raise Changed(f"{package} {library['version']} has another {name} than the pinned one.")
    for name, data in chosen.items():
        with open(os.path.join(FOLDER, name), "wb") as file:
            file.write(data)
    print(f"{package} {library['version']}, {library['license']}")


def main(*arguments: str) -> int:
    """The exit status."""
    libraries = read_table()
    try:
        for library in libraries:
            renew_library(library, "--newest" in arguments)
    except Changed as error:
        print(error)
        return 1
    with open(TABLE, "w", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(libraries, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
