"""A Sublime Text of one build in a folder of its own, with this package as its users get it.

Downloading is for machines that are thrown away afterwards, as in the continuous integration. On
macOS the editor knows one data folder only, that of the user: it is used there alone where CI is
set, and nowhere else.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from contextlib import contextmanager, suppress
from typing import Dict, Iterator, List, NamedTuple

from . import package

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAME = "GeminiCompanion"
# The tests are a package of their own: the one that they test is a zip.
TESTS = "GeminiCompanionTests"
# Both as other projects use them: Homebrew's and Nixpkgs' recipes, and UnitTesting's own actions.
NEWEST = "https://www.sublimetext.com/updates/4/stable_update_check"
ARCHIVES = "https://download.sublimetext.com/sublime_text_build_%s_%s"
ENDINGS = {"linux": "x64.tar.xz", "darwin": "mac.zip", "win32": "x64.zip"}
# Where the program is in its archive, and in a folder that it is installed in.
PROGRAMS = (
    "sublime_text",
    "sublime_text/sublime_text",
    "sublime_text.exe",
    "Sublime Text.app/Contents/MacOS/sublime_text",
    "Contents/MacOS/sublime_text",
)
# The plugin hosts of all builds, and where they look for libraries.
HOSTS = {"3.8": "python38", "3.13": "python313", "3.14": "python314"}
LEFT_OUT = shutil.ignore_patterns(".git", "__pycache__", "node_modules", ".venv")
# No question about windows or updates comes in between.
PREFERENCES = {"close_windows_when_empty": False, "update_check": False}


class Refused(Exception):
    """A sentence: what is missing, or would touch what is the user's."""


class Editor(NamedTuple):
    """`program` starts it, `data` is its folder with packages, `home` is what it takes for the
    user's home; empty where that stays the true one."""

    program: str
    data: str
    home: str = ""

    def start(self, arguments: List[str]) -> subprocess.Popen[bytes]:
        environment = dict(os.environ)
        if self.home:
            environment.update(HOME=self.home, XDG_CONFIG_HOME=os.path.join(self.home, ".config"))
        return subprocess.Popen([self.program, *arguments], env=environment)

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """End the editor, also where it has left the process that was started."""
        if sys.platform == "win32":
            subprocess.call(["taskkill", "/F", "/T", "/IM", "sublime_text.exe"])
        else:
            subprocess.call(["pkill", "-f", self.program])
            subprocess.call(["pkill", "-f", os.path.join(os.path.dirname(self.program), "plugin_")])
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)


def newest_build() -> str:
    with urllib.request.urlopen(NEWEST, timeout=60) as answer:
        return str(json.load(answer)["latest_version"])


def address_of(build: str, platform: str = sys.platform) -> str:
    """Where the archive of a build is; `build` is four digits."""
    if not (build.isdigit() and len(build) == 4):
        raise Refused(f"A build is a number of four digits, not {build!r}.")
    return ARCHIVES % (build, ENDINGS[platform])


def download_editor(build: str, folder: str) -> str:
    """Unpack the build there; the path of the program."""
    address = address_of(build)
    archive = os.path.join(folder, os.path.basename(address))
    with urllib.request.urlopen(address, timeout=120) as answer, open(archive, "wb") as file:
        shutil.copyfileobj(answer, file)
    if archive.endswith(".tar.xz"):
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
    elif sys.platform == "darwin":
        # Python's zipfile forgets which files are programs.
        subprocess.check_call(["unzip", "-q", archive, "-d", folder])
    else:
        with zipfile.ZipFile(archive) as unpacked:
            unpacked.extractall(os.path.join(folder, "sublime_text"))
        return os.path.join(folder, "sublime_text", "sublime_text.exe")
    return find_program(folder)


def find_program(folder: str) -> str:
    """The program below a folder; empty where none is."""
    for name in PROGRAMS:
        path = os.path.join(folder, *name.split("/"))
        if os.path.isfile(path):
            return path
    return ""


def editor_in(program: str, folder: str) -> Editor:
    """The editor with a data folder of its own below `folder`. Raises Refused."""
    if sys.platform == "linux":
        home = os.path.join(folder, "home")
        return Editor(program, os.path.join(home, ".config", "sublime-text"), home)
    if sys.platform == "win32":
        return Editor(program, os.path.join(os.path.dirname(program), "Data"))
    data = os.path.expanduser("~/Library/Application Support/Sublime Text")
    if os.path.exists(data) or not os.environ.get("CI"):
        raise Refused(f"{data} is the user's: on macOS this runs only where CI is set.")
    return Editor(program, data)


def lay_package(data: str, is_unpacked: bool = False) -> None:
    """Put the package there: the zip that users get, or a folder. Raises what tools.package
    raises."""
    files = package.whole_package(package.export_files(), package.download_libraries())
    if is_unpacked:
        _write_files(os.path.join(data, "Packages", NAME), files)
    else:
        zipped = {NAME + ".sublime-package": package.zip_files(files)}
        _write_files(os.path.join(data, "Installed Packages"), zipped)
    lay_settings(data, {"Preferences.sublime-settings": json.dumps(PREFERENCES).encode()})


def lay_tests(data: str, unittesting: str, libraries: str, is_unpacked: bool) -> str:
    """Put the tests there, and UnitTesting; the name of the package that has the tests: ours where
    that is a folder. `libraries` is a folder with modules that UnitTesting imports."""
    packages, name = os.path.join(data, "Packages"), NAME if is_unpacked else TESTS
    ours = os.path.join(packages, name)
    shutil.copytree(os.path.join(ROOT, "tests"), os.path.join(ours, "tests"), ignore=LEFT_OUT)
    for part in (".python-version", "unittesting.json"):
        shutil.copy(os.path.join(ROOT, part), ours)
    shutil.copytree(unittesting, os.path.join(packages, "UnitTesting"), ignore=LEFT_OUT)
    # The tests have an HTTP client, which the package does not carry.
    install = [sys.executable, "-m", "tools.install", "--libraries", "--hosts", " ".join(HOSTS)]
    subprocess.check_call([*install, "--data", data], cwd=ROOT)
    for folder in HOSTS.values():
        _copy_modules(libraries, os.path.join(data, "Lib", folder))
    return name


def lay_settings(data: str, files: Dict[str, bytes]) -> None:
    """Write files of the user's package, by name."""
    _write_files(os.path.join(data, "Packages", "User"), files)


def _copy_modules(source: str, target: str) -> None:
    for name in sorted(os.listdir(source)) if source else []:
        if name.endswith(".py"):
            shutil.copy(os.path.join(source, name), target)


def lay_plugin(data: str, name: str, text: str) -> None:
    """A package with one plugin, on the same host as ours."""
    folder = os.path.join(data, "Packages", name)
    _write_files(folder, {"plugin.py": text.encode()})
    shutil.copy(os.path.join(ROOT, ".python-version"), folder)


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Removed afterwards, but for what an editor that ends slowly still holds."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="sublime-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write_files(folder: str, files: Dict[str, bytes]) -> None:
    for path, content in files.items():
        full = os.path.join(folder, *path.split("/"))
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(content)
