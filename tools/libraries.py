"""The libraries of a plugin host: which ones, and how they get here; never a data folder."""

from __future__ import annotations

import csv
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from typing import Dict, List

from . import closure
from .sublime_folders import Machine

_GLIBC = ("manylinux1", "manylinux2014", "manylinux_2_17", "manylinux_2_28")
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


class Unavailable(Exception):
    """The libraries cannot be had now: why, as a sentence for the user."""


def wanted(host: str) -> List[str]:
    """As "name==version"."""
    versions = [(library.name, closure.version_for(library, host)) for library in closure.TABLE]
    return ["%s==%s" % (name, version) for name, version in versions if version]


def download(requirements: List[str], host: str, machine: Machine, target: str) -> None:
    """Unpack wheels for that host and machine into `target`. Raises Unavailable."""
    with tempfile.TemporaryDirectory() as folder:
        command = _pip(folder) + ["install", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--no-compile", "--only-binary=:all:", "--target", target]
        command += ["--implementation", "cp", "--python-version", host]
        for tag in _platforms(machine):
            command += ["--platform", tag]
        done = subprocess.run(command + requirements, stderr=subprocess.PIPE)
    if done.returncode:
        errors = [line for line in done.stderr.decode().splitlines() if line.startswith("ERROR")]
        raise Unavailable("pip could not get them: " + (errors or ["it gave no reason"])[-1])


def _pip(folder: str) -> List[str]:
    """The pip of this Python, else one of its own in a folder that goes away again."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    made = subprocess.run([sys.executable, "-m", "venv", folder], stdout=subprocess.PIPE)
    if made.returncode:
        raise Unavailable("%s has no pip." % sys.executable)
    python = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return [os.path.join(folder, *python), "-m", "pip"]


def _platforms(machine: Machine) -> List[str]:
    """The platform tags of wheels that run there, as pip wants them."""
    name = machine.architecture.lower()
    if machine.system == "windows":
        return ["win_arm64" if name == "arm64" else "win_amd64" if name != "x86" else "win32"]
    if machine.system == "osx":
        return ["macosx_%s_%s" % (version, name) for version in ("10_9", "10_13", "11_0")]
    return ["%s_%s" % (start, _ARCHITECTURES.get(name, name)) for start in _GLIBC]


def distributions(folder: str) -> Dict[str, List[str]]:
    """What was unpacked there: the files of each, relative, with forward slashes."""
    found = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".dist-info"):
            with open(os.path.join(folder, name, "RECORD"), encoding="utf-8", newline="") as file:
                paths = [row[0].replace("\\", "/") for row in csv.reader(file) if row]
            found[project(name)] = [path for path in paths if _belongs(folder, path)]
    return found


def _belongs(folder: str, path: str) -> bool:
    """Programs of a library go to a folder outside: a plugin host has no use for them."""
    inside = not path.startswith(("../", "/", "bin/")) and not path.endswith(".pyc")
    return inside and os.path.isfile(os.path.join(folder, *path.split("/")))


def project(dist_info: str) -> str:
    """`jsonschema_specifications-2025.9.1.dist-info` is of `jsonschema-specifications`."""
    return normal(dist_info.split("-")[0])


def normal(name: str) -> str:
    """The one form of a library's name."""
    return re.sub(r"[-_.]+", "-", name).lower()
