"""`make package`: the package, which carries its libraries, and the plain one, for which Package
Control installs those with compiled parts.

    python -m tools.package [FOLDER]   both, in dist/ or in that folder

Both are made of what is committed. The files in them are the same everywhere; the whole is byte for
byte the same each time, wherever zlib is the same.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from typing import Dict, Iterable, List, Tuple

from . import closure, libraries, setup
from .sublime_folders import Machine
from .vendor import carry_libraries, with_carried

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIST = os.path.join(ROOT, "dist")
WHOLE, PLAIN = "GeminiCompanion.sublime-package", "GeminiCompanion-plain.sublime-package"
# The folder of the carried libraries inside the package, and the modules of ours that use them.
FOLDER = "carried"
# The sets of carried libraries, each a folder in that one, by the plugin host that it is made for.
SETS = {"3.8": "python38", "3.13": "python313"}
PINS = os.path.join(ROOT, "requirements", "carried.txt")
API = (
    "files/uploads handlers/attachment_handlers handlers/chat_handlers handlers/event_stream"
    " handlers/export_handlers handlers/handler_types handlers/openai_handlers"
    " handlers/openai_turns handlers/operation_handlers handlers/page_handlers"
    " handlers/session_handlers"
    " routes server serving/dispatch serving/once"
)
USERS = {
    "companion/base/connection.py": ("aiohttp",),
    "companion/base/http_server.py": ("aiohttp",),
    "companion/ide/answers.py": ("aiohttp",),
    "companion/ide/claude/claude_endpoint.py": ("aiohttp",),
    "companion/ide/hooks/extension_transport.py": ("aiohttp",),
    "companion/ide/stateless_transport.py": ("aiohttp",),
    "companion/ide/transport.py": ("aiohttp",),
    "companion/ide/schema_check.py": ("jsonschema",),
    "companion/api/contract/validation.py": ("jsonschema",),
    "companion/api/openai/output_shape.py": ("jsonschema",),
    **{f"companion/api/{name}.py": ("aiohttp",) for name in API.split()},
}
NOTE = (
    b'"""Libraries of others, unchanged but for their imports of each other, and without the client'
    b'\nof aiohttp; see licenses/."""\n'
)
# Wheels of one machine: what is carried of them is the same on all.
MACHINE = Machine("linux", "", {}, "x86_64")
# What a zip can say of the past.
MOMENT = (1980, 1, 1, 0, 0, 0)
# How hard zlib tries; never left to a Python's default.
LEVEL = 9


# Around what README.md says of a checkout.
CHECKOUT = re.compile(r"(?ms)^<!-- checkout -->\n.*?^<!-- end of checkout -->\n\n?")
ELSEWHERE = "\nThe pages that are named here stand in the repository of the package.\n"


class NoCheckout(Exception):
    """Nobody knows what is committed: a sentence for the user."""


def export_files() -> Dict[str, bytes]:
    """What is committed, without what .gitattributes leaves out, by path. Raises NoCheckout."""
    files = {}
    with tarfile.open(fileobj=io.BytesIO(_archive_checkout())) as tar:
        for member in tar.getmembers():
            content = tar.extractfile(member) if member.isfile() else None
            if content is not None:
                files[member.name] = content.read()
    return files


def _archive_checkout() -> bytes:
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


def whole_package(
    files: Dict[str, bytes], unpacked: Dict[str, Dict[str, bytes]]
) -> Dict[str, bytes]:
    """The package's files with all libraries among them; `unpacked` are these by their host."""
    found = _add_libraries(files, unpacked, ("aiohttp", "jsonschema"), None)
    # Package Control would install what is carried.
    del found["dependencies.json"]
    return found


def plain_package(
    files: Dict[str, bytes], unpacked: Dict[str, Dict[str, bytes]]
) -> Dict[str, bytes]:
    """The package's files with jsonschema and what that needs among them."""
    return _add_libraries(files, unpacked, ("jsonschema",), closure.WITH_JSONSCHEMA)


def _add_libraries(
    files: Dict[str, bytes],
    unpacked: Dict[str, Dict[str, bytes]],
    redirected: Tuple[str, ...],
    names: Iterable[str] | None,
) -> Dict[str, bytes]:
    """`names` are the libraries that are carried, None for all; `redirected` the modules that ours
    import from there."""
    found = {**files, f"{FOLDER}/__init__.py": NOTE}
    found["README.md"] = adapt_readme(files["README.md"].decode("utf-8")).encode("utf-8")
    folders = (f"{FOLDER}.{SETS['3.8']}", f"{FOLDER}.{SETS['3.13']}")
    for path, modules in USERS.items():
        if modules[0] in redirected:
            text = with_carried(files[path].decode("utf-8"), modules, folders, path.count("/"))
            found[path] = text.encode("utf-8")
    for host, folder in SETS.items():
        wanted = [library for library in closure.TABLE if names is None or library.name in names]
        tops = frozenset(name for library in wanted for name in library.modules)
        found[f"{FOLDER}/{folder}/__init__.py"] = NOTE
        for path, data in carry_libraries(_files_of(unpacked[host], wanted), tops).items():
            found[f"{FOLDER}/{folder}/{path}"] = data
    return found


def adapt_readme(text: str) -> str:
    """The page of the repository for those who have the package only: without what is said of a
    checkout, and without pictures and links to files that are not in the package."""
    text = CHECKOUT.sub("", text).rstrip("\n") + "\n"
    text = re.sub(r"(?m)^!\[[^]]*\]\((?!https?:)[^)]*\)\n\n?", "", text)
    text, count = re.subn(r"\[([^]]+)\]\((?!https?:|#)[^)]*\)", r"\1", text)
    return text + ELSEWHERE if count else text


def _files_of(unpacked: Dict[str, bytes], wanted: Iterable[closure.Library]) -> Dict[str, bytes]:
    """The files of these libraries, without the licenses of others."""
    names = {libraries.normal_name(library.name) for library in wanted}
    return {
        path: data
        for path, data in unpacked.items()
        if ".dist-info/" not in path or libraries.project_name(path.split("/")[0]) in names
    }


def download_libraries() -> Dict[str, Dict[str, bytes]]:
    """What the wheels of the carried libraries hold, by host. Raises libraries.Unavailable."""
    return {
        host: _unpack_wheels(pin_requirements(closure.carried_modules(host)), host) for host in SETS
    }


def download_wheels(folder: str) -> None:
    """Put the wheels of the carried libraries there. Raises libraries.Unavailable."""
    for host in SETS:
        libraries.download_wheels(
            pin_requirements(closure.carried_modules(host)), host, MACHINE, folder
        )


def pin_requirements(requirements: Iterable[str]) -> List[str]:
    """Each with the digest of its one wheel. Raises libraries.Unavailable."""
    with open(PINS, encoding="utf-8") as file:
        digests = dict(
            re.findall(r"(?m)^([^\s;#]+==[^\s;]+).* --hash=(sha256:[0-9a-f]{64})$", file.read())
        )
    for requirement in requirements:
        if requirement not in digests:
            raise libraries.Unavailable(
                f"requirements/{os.path.basename(PINS)} has no digest of {requirement}."
            )
    return [f"{listed} --hash={digests[listed]}" for listed in requirements]


def _unpack_wheels(requirements: List[str], host: str) -> Dict[str, bytes]:
    """What the wheels hold, read as they are: pip would write thousands of files."""
    found: Dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = _find_wheels(requirements)
        if len(paths) < len(requirements):
            libraries.download_wheels(requirements, host, MACHINE, folder)
            paths = [os.path.join(folder, name) for name in os.listdir(folder)]
        for path in sorted(paths, key=os.path.basename):
            with zipfile.ZipFile(path) as wheel:
                found.update((name, wheel.read(name)) for name in wheel.namelist())
    return found


def _find_wheels(requirements: List[str]) -> List[str]:
    """The wheels of these digests that are there already: no index need be asked for them."""
    wanted = {requirement.partition(" --hash=sha256:")[2] for requirement in requirements}
    found = {}
    for path in glob.glob(os.path.join(glob.escape(setup.CARRIED), "*.whl")):
        with open(path, "rb") as file:
            found[hashlib.sha256(file.read()).hexdigest()] = path
    return [found[digest] for digest in wanted & set(found)]


def zip_files(files: Dict[str, bytes]) -> bytes:
    """The files as a ZIP file: the same bytes from the same zlib, on every Python."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path in sorted(files):
            entry = zipfile.ZipInfo(path, MOMENT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, files[path], compresslevel=LEVEL)
    return data.getvalue()


def main(folder: str = DIST) -> int:
    """The exit status."""
    os.makedirs(folder, exist_ok=True)
    for name in (WHOLE, PLAIN):
        # One that was made before would be taken for one of this state.
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(folder, name))
    try:
        files, unpacked = export_files(), download_libraries()
        write_data(os.path.join(folder, WHOLE), zip_files(whole_package(files, unpacked)))
        write_data(os.path.join(folder, PLAIN), zip_files(plain_package(files, unpacked)))
    except (NoCheckout, libraries.Unavailable) as error:
        print(f"No package was made: {error}")
        return 1
    return 0


def write_data(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
    print("%s: %d KiB" % (os.path.basename(path), len(data) // 1024))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
