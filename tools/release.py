"""`make release-check`: all files of a release in dist/, each one checked; publishes nothing.

    python -m tools.release [PAGE]

PAGE is the page of our project, where a release's files lie below releases/download/VERSION/. The
packages are built twice, in processes that differ in what must not count, and compared.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from typing import Any, Callable, Dict, List, Tuple

from . import api_wheel, closure, package

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIST = os.path.join(ROOT, "dist")
SUMS = "SHA256SUMS"
# For a rehearsal.
SOME_PAGE = "https://example.org/GeminiCompanion"
PACKAGES = (package.WHOLE, package.PLAIN)
# Besides the wheel, whose name has the version.
FILES = (*PACKAGES, closure.REPOSITORY, closure.REPOSITORY_PLAIN, closure.CHANNEL)
# What differs between the two builds.
SURROUNDINGS = (
    {"TZ": "UTC", "PYTHONHASHSEED": "1", "LC_ALL": "C"},
    {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8"},
)


class Wrong(Exception):
    """What keeps this from being a release: a sentence."""


def main(page: str = SOME_PAGE) -> int:
    """The exit status."""
    shutil.rmtree(DIST, ignore_errors=True)
    try:
        build_release(DIST)
        write_repositories(page)
        write_sums(DIST, closure.package_version())
        check_release(DIST, page, closure.package_version())
    except Wrong as error:
        print("No release: %s" % error)
        return 1
    for name in (*release_files(closure.package_version()), SUMS):
        print("%9d  %s" % (os.path.getsize(os.path.join(DIST, name)), name))
    return 0


def release_files(version: str) -> Tuple[str, ...]:
    """All but the file with the sums."""
    return (*FILES, api_wheel.file_name(version))


def build_release(folder: str) -> None:
    """Both packages and the wheel, twice, the second time elsewhere. Raises Wrong."""
    with tempfile.TemporaryDirectory() as again:
        for target, surroundings in zip((folder, again), SURROUNDINGS):
            for module in ("tools.package", "tools.api_wheel"):
                command = [sys.executable, "-m", module, target]
                done = subprocess.run(
                    command, cwd=ROOT, env={**os.environ, **surroundings}, capture_output=True
                )
                if done.returncode:
                    raise Wrong((done.stdout + done.stderr).decode().strip())
        for name in (*PACKAGES, api_wheel.file_name(closure.package_version())):
            if _read_content(folder, name) != _read_content(again, name):
                raise Wrong("two builds of %s are not the same" % name)


def write_repositories(page: str) -> None:
    """What Package Control reads of the release. Raises Wrong."""
    files = "%s/releases/download/%s/" % (page.rstrip("/"), closure.package_version())
    for arguments in (
        ("repository", page, files + package.WHOLE),
        ("plain", page, files + package.PLAIN),
        ("channel", page),
    ):
        if closure.main(*arguments):
            raise Wrong("python -m tools.closure %s failed" % arguments[0])


def write_sums(folder: str, version: str) -> None:
    """Write the sums in the form of sha256sum."""
    lines = [
        "%s  %s\n" % (_data_digest(_read_content(folder, name)), name)
        for name in release_files(version)
    ]
    closure.write_text(os.path.join(folder, SUMS), "".join(lines))


def check_release(folder: str, page: str, version: str) -> None:
    """Read what stands there, as who downloads it would. Raises Wrong."""
    wanted = {*release_files(version), SUMS}
    for name in sorted(wanted):
        if not os.path.isfile(os.path.join(folder, name)):
            raise Wrong("%s is missing" % name)
    strange = sorted(set(os.listdir(folder)) - wanted)
    if strange:
        raise Wrong("%s does not belong to a release" % ", ".join(strange))
    checks: Tuple[Callable[[], None], ...] = (
        lambda: _check_sums(folder),
        lambda: _check_package(_read_content(folder, package.WHOLE), version, is_plain=False),
        lambda: _check_package(_read_content(folder, package.PLAIN), version, is_plain=True),
        lambda: _check_wheel(_read_content(folder, api_wheel.file_name(version)), version),
        lambda: _check_repositories(folder, page, version),
    )
    for each in checks:
        try:
            each()
        except (ValueError, KeyError, TypeError, SyntaxError, zipfile.BadZipFile) as error:
            raise Wrong("a file is not as expected: %r" % error) from error


def _check_sums(folder: str) -> None:
    for line in _read_content(folder, SUMS).decode("ascii").splitlines():
        digest, name = line.split("  ")
        if _data_digest(_read_content(folder, name)) != digest:
            raise Wrong("%s is not what %s says" % (name, SUMS))


def _check_package(data: bytes, version: str, *, is_plain: bool) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        damaged = archive.testzip()
        files = {name: archive.read(name) for name in archive.namelist()}
    if damaged:
        raise Wrong("%s in a package is damaged" % damaged)
    if ('__version__ = "%s"' % version).encode() not in files["companion/__init__.py"]:
        raise Wrong("a package is not of version %s" % version)
    if ("dependencies.json" in files) != is_plain:
        raise Wrong("only the plain package may ask Package Control for libraries")
    for path, text in files.items():
        if path.endswith(".py"):
            ast.parse(text, path)
    for host, folder in package.SETS.items():
        wanted = closure.WITH_JSONSCHEMA if is_plain else None
        for requirement in closure.carried_modules(host):
            name = requirement.split("==")[0].replace("-", "_").lower()
            if wanted and name not in wanted:
                continue
            start = "carried/%s/licenses/%s-" % (folder, name)
            if not any(path.lower().startswith(start) for path in files):
                raise Wrong("%s is not in the package for %s" % (requirement, host))


def _check_wheel(data: bytes, version: str) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    top, info = api_wheel.TOP, "%s-%s.dist-info/" % (api_wheel.TOP, version)
    if "\nVersion: %s\n" % version not in found[info + "METADATA"].decode("utf-8"):
        raise Wrong("the wheel is not of version %s" % version)
    lines = found.pop(info + "RECORD").decode("utf-8").splitlines(keepends=True)
    if sorted(lines) != sorted(
        [*map(api_wheel.record_line, found, found.values()), info + "RECORD,,\n"]
    ):
        raise Wrong("the wheel's record does not fit its files")
    rooms = {path.split("/")[1] for path in found if path.startswith(top + "/")}
    if rooms != {"__init__.py", "documents", *api_wheel.ROOMS}:
        raise Wrong("the wheel has other rooms: %s" % ", ".join(sorted(rooms)))
    documents = ["%s/documents/%s" % (top, name) for name in api_wheel.DOCUMENTS]
    for path in (top + "/api/__main__.py", top + "/api/page/index.html", *documents):
        if not found.get(path):
            raise Wrong("%s is not in the wheel" % path)
    for path, text in found.items():
        if path.endswith(".py"):
            ast.parse(text, path)


def _check_repositories(folder: str, page: str, version: str) -> None:
    files = "%s/releases/download/%s/" % (page.rstrip("/"), version)
    for name, built in (
        (closure.REPOSITORY, package.WHOLE),
        (closure.REPOSITORY_PLAIN, package.PLAIN),
    ):
        content = json.loads(_read_content(folder, name))
        offered = [release for entry in content["packages"] for release in entry["releases"]]
        if {release["url"] for release in offered} != {files + built}:
            raise Wrong("%s does not offer %s" % (name, built))
        if {release["version"] for release in offered} != {version}:
            raise Wrong("%s is not of version %s" % (name, version))
        _check_libraries(content, offered)
    (asset,) = {
        release["asset"]
        for release in json.loads(_read_content(folder, closure.CHANNEL))["releases"]
    }
    if asset != package.WHOLE:
        raise Wrong("%s does not name %s" % (closure.CHANNEL, package.WHOLE))


def _check_libraries(content: Dict[str, Any], offered: List[Dict[str, Any]]) -> None:
    """Each library that a release asks for is there for each host and platform."""
    known = {library["name"]: library["releases"] for library in content["libraries"]}
    for name in {name for release in offered for name in release.get("libraries", ())}:
        hosts = [
            candidate for candidate in closure.HOSTS if name in closure.library_names(candidate)
        ]
        for host in hosts:
            fitting = [
                release["platforms"]
                for release in known[name]
                if host in release["python_versions"]
            ]
            if not fitting:
                raise Wrong("%s is there for no platform with %s" % (name, host))


def _read_content(folder: str, name: str) -> bytes:
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def _data_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
