"""How the libraries of a plugin host get here; never a data folder."""

from __future__ import annotations

import csv
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from typing import Dict, List

from .sublime_folders import Machine

_GLIBC = ("manylinux1", "manylinux2014", "manylinux_2_17", "manylinux_2_28")
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


class Unavailable(Exception):
    """The libraries cannot be had now: why, as a sentence for the user."""


def unpack_libraries(requirements: List[str], host: str, machine: Machine, target: str) -> None:
    """Unpack wheels for that host and machine into `target`. A requirement is "name==version", with
    " --hash=sha256:..." where only that wheel will do: then all have one. Raises Unavailable."""
    with tempfile.TemporaryDirectory() as folder:
        _run_pip([*pip_install(requirements, host, machine, folder), "--target", target])


def download_wheels(requirements: List[str], host: str, machine: Machine, target: str) -> None:
    """Load the wheels as they are. Raises Unavailable."""
    with tempfile.TemporaryDirectory() as folder:
        command = _pip_command("download", requirements, host, machine, folder)
        _run_pip([*command, "--dest", target])


def _run_pip(command: List[str]) -> None:
    done = subprocess.run(command, stderr=subprocess.PIPE)
    if done.returncode:
        raise Unavailable("pip could not get them: " + failure_reason(done.stderr))


def pip_install(requirements: List[str], host: str, machine: Machine, folder: str) -> List[str]:
    """The command, but for where to; `folder` is for its own files. Raises Unavailable."""
    command = _pip_command("install", requirements, host, machine, folder)
    return [*command, "--no-compile", "--ignore-installed"]


def _pip_command(
    verb: str, requirements: List[str], host: str, machine: Machine, folder: str
) -> List[str]:
    # Only a file of requirements can have digests.
    listed = os.path.join(folder, "requirements.txt")
    with open(listed, "w", encoding="utf-8") as file:
        file.write("\n".join(requirements) + "\n")
    command = _find_pip(folder) + [verb, "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--implementation", "cp"]
    command += ["--python-version", host, "--requirement", listed]
    for tag in _platform_tags(machine):
        command += ["--platform", tag]
    return command


def failure_reason(errors: bytes) -> str:
    """Why pip failed, by what it wrote."""
    text = errors.decode("utf-8", "replace")
    mismatch = re.search(r"^\s+(\S+==\S+) .*\n\s+Expected sha256 (\S+)\n\s+Got +(\S+)", text, re.M)
    if mismatch:
        return "%s has the digest %s, expected %s." % (mismatch[1], mismatch[3], mismatch[2])
    told = [line for line in text.splitlines() if line.startswith("ERROR")]
    return (told or ["it gave no reason"])[-1]


def _find_pip(folder: str) -> List[str]:
    """The pip of this Python, else one of its own in a folder that goes away again."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    folder = os.path.join(folder, "pip")
    made = subprocess.run([sys.executable, "-m", "venv", folder], stdout=subprocess.PIPE)
    if made.returncode:
        raise Unavailable("%s has no pip." % sys.executable)
    python = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return [os.path.join(folder, *python), "-m", "pip"]


def _platform_tags(machine: Machine) -> List[str]:
    """The platform tags of wheels that run there, as pip wants them."""
    name = machine.architecture.lower()
    if machine.system == "windows":
        return ["win_arm64" if name == "arm64" else "win_amd64" if name != "x86" else "win32"]
    if machine.system == "osx":
        # Apple's own processors began with 11; told of an older one, pip takes what runs on both.
        versions = ("11_0",) if name == "arm64" else ("10_9", "10_13", "11_0")
        return ["macosx_%s_%s" % (version, name) for version in versions]
    return ["%s_%s" % (start, _ARCHITECTURES.get(name, name)) for start in _GLIBC]


def read_distributions(folder: str) -> Dict[str, List[str]]:
    """What was unpacked there: the files of each, relative, with forward slashes."""
    found = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".dist-info"):
            with open(os.path.join(folder, name, "RECORD"), encoding="utf-8", newline="") as file:
                paths = [row[0].replace("\\", "/") for row in csv.reader(file) if row]
            found[project_name(name)] = [path for path in paths if _is_in_folder(folder, path)]
    return found


def _is_in_folder(folder: str, path: str) -> bool:
    """Programs of a library go to a folder outside: a plugin host has no use for them."""
    inside = not path.startswith(("../", "/", "bin/")) and not path.endswith(".pyc")
    return inside and os.path.isfile(os.path.join(folder, *path.split("/")))


def project_name(dist_info: str) -> str:
    """`jsonschema_specifications-2025.9.1.dist-info` is of `jsonschema-specifications`."""
    return normal_name(dist_info.split("-")[0])


def normal_name(name: str) -> str:
    """The one form of a library's name."""
    return re.sub(r"[-_.]+", "-", name).lower()
