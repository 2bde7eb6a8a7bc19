"""`make package`: the package for Package Control, and the one that brings its libraries along.

    python -m tools.package            both, in dist/
    python -m tools.package plain      the first only, which needs no network

Both are made of what is committed, and byte for byte the same each time and everywhere.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from typing import Dict, Set, Tuple

from . import closure, libraries
from .sublime_folders import Machine
from .vendor import carry, imports, with_fallback

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIST = os.path.join(ROOT, "dist")
PLAIN = os.path.join(DIST, "GeminiCompanion.sublime-package")
STANDALONE = os.path.join(DIST, "GeminiCompanion-standalone.sublime-package")
# The folder of the carried libraries inside the package, and the modules of ours that use them.
FOLDER = "carried"
API = (
    "chat_handlers dispatch handler_types openai_handlers routes server session_handlers"
    " static_files stream"
)
USERS = {
    "companion/base/http_server.py": ("aiohttp",),
    "companion/ide/transport.py": ("aiohttp",),
    "companion/ide/schema_check.py": ("jsonschema",),
    "companion/api/validation.py": ("jsonschema",),
    **{f"companion/api/{name}.py": ("aiohttp",) for name in API.split()},
}
NOTE = b'"""Libraries of others, unchanged but for their imports of each other; see licenses/."""\n'
# Wheels of one machine: what is carried of them is the same on all.
MACHINE = Machine("linux", "", {}, "x86_64")
HOST = "3.8"
# What a zip can say of the past.
MOMENT = (1980, 1, 1, 0, 0, 0)


class NoCheckout(Exception):
    """Nobody knows what is committed: a sentence for the user."""


def exported() -> Dict[str, bytes]:
    """What is committed, without what .gitattributes leaves out, by path. Raises NoCheckout."""
    files = {}
    with tarfile.open(fileobj=io.BytesIO(_archive())) as tar:
        for member in tar.getmembers():
            content = tar.extractfile(member) if member.isfile() else None
            if content is not None:
                files[member.name] = content.read()
    return files


def _archive() -> bytes:
    # A copy that lies inside of some other repository is no checkout, either.
    if not os.path.exists(os.path.join(ROOT, ".git")):
        raise NoCheckout("A package is made of what is committed, and this is no checkout of git.")
    command = ["git", "archive", "--worktree-attributes", "--format=tar", "HEAD"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True)
    except FileNotFoundError:
        raise NoCheckout("A package is made of what is committed: git was not found.") from None
    if done.returncode:
        raise NoCheckout("A package is made of what is committed; " + done.stderr.decode().strip())
    return done.stdout


def standalone(files: Dict[str, bytes], unpacked: Dict[str, bytes]) -> Dict[str, bytes]:
    """The package's files with the libraries among them."""
    found = dict(files)
    # Package Control would install what is carried.
    del found["dependencies.json"]
    texts = {path: files[path].decode("utf-8") for path in USERS}
    lines: Dict[Tuple[str, ...], Set[str]] = {}
    for path, modules in USERS.items():
        lines.setdefault(modules, set()).update(imports(texts[path], modules))
    for path, modules in USERS.items():
        depth, others = path.count("/"), sorted(lines[modules])
        text = with_fallback(texts[path], modules, FOLDER, depth, others)
        found[path] = text.encode("utf-8")
    names = frozenset(name for modules in closure.carried().values() for name in modules)
    for path, data in carry(unpacked, names).items():
        found[f"{FOLDER}/{path}"] = data
    found[f"{FOLDER}/__init__.py"] = NOTE
    return found


def downloaded() -> Dict[str, bytes]:
    """What the wheels of the carried libraries hold. Raises libraries.Unavailable."""
    with tempfile.TemporaryDirectory() as folder:
        libraries.download(sorted(closure.carried()), HOST, MACHINE, folder)
        found = {}
        for root, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(root, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder).replace(os.sep, "/")] = file.read()
        return found


def zipped(files: Dict[str, bytes]) -> bytes:
    """Stored and not deflated: compressors differ, and so would the bytes."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(files):
            entry = zipfile.ZipInfo(path, MOMENT)
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, files[path])
    return data.getvalue()


def main(kind: str = "both") -> int:
    """The exit status."""
    os.makedirs(DIST, exist_ok=True)
    try:
        files = exported()
        write(PLAIN, zipped(files))
        if kind != "plain":
            # One that was made before would be taken for one of this state.
            with contextlib.suppress(FileNotFoundError):
                os.remove(STANDALONE)
            write(STANDALONE, zipped(standalone(files, downloaded())))
    except NoCheckout as error:
        print(error)
        return 1
    except libraries.Unavailable as error:
        print(f"The stand-alone package was not made: {error}")
        return 1
    return 0


def write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
    print("%s: %d KiB" % (os.path.relpath(path, ROOT), len(data) // 1024))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
