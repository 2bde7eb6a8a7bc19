"""The wheels of libraries for a plugin host and a platform, as pip chooses them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from typing import Any, Callable, Dict, List, Mapping, NamedTuple

from . import libraries
from .sublime_folders import Machine

# Package Control's names of platforms.
PLATFORMS = {
    "windows-x64": Machine("windows", "", {}, "AMD64"),
    "osx-x64": Machine("osx", "", {}, "x86_64"),
    "osx-arm64": Machine("osx", "", {}, "arm64"),
    "linux-x64": Machine("linux", "", {}, "x86_64"),
    "linux-arm64": Machine("linux", "", {}, "aarch64"),
}


class Wheel(NamedTuple):
    """`sha256` in hexadecimal digits."""

    url: str
    version: str
    sha256: str


class Missing(Exception):
    """There is no such wheel, or nobody can tell: a sentence."""


# Versions by name, the host, the platform's name; raises Missing.
Choose = Callable[[Mapping[str, str], str, str], Dict[str, Wheel]]


def choose_wheels(versions: Mapping[str, str], host: str, platform: str) -> Dict[str, Wheel]:
    """The wheel of each library by its name; downloads none. Raises Missing."""
    wanted = [f"{name}=={version}" for name, version in versions.items()]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        try:
            command = libraries.pip_install(wanted, host, PLATFORMS[platform], folder)
        except libraries.Unavailable as error:
            raise Missing(str(error)) from error
        command += ["--dry-run", "--report", path, "--target", os.path.join(folder, "nothing")]
        done = subprocess.run(command, capture_output=True)
        if done.returncode:
            reason = libraries.failure_reason(done.stderr)
            raise Missing(f"For Python {host} on {platform}, pip found not all wheels: {reason}")
        with open(path, encoding="utf-8") as file:
            return _read_report(json.load(file), versions)


def _read_report(report: Mapping[str, Any], versions: Mapping[str, str]) -> Dict[str, Wheel]:
    """Raises Missing."""
    installed: List[Any] = report.get("install", [])
    try:
        found = {
            libraries.normal_name(entry["metadata"]["name"]): _read_wheel(entry)
            for entry in installed
        }
        return {name: found[libraries.normal_name(name)] for name in versions}
    except (KeyError, TypeError, ValueError) as error:
        raise Missing(f"pip does not report its choice as expected: {error!r}") from error


def _read_wheel(entry: Mapping[str, Any]) -> Wheel:
    where = entry["download_info"]
    return Wheel(
        _check_text(where["url"], r"(https|file)://\S+[.]whl"),
        entry["metadata"]["version"],
        _check_text(where["archive_info"]["hashes"]["sha256"], r"[0-9a-f]{64}"),
    )


def _check_text(text: str, pattern: str) -> str:
    if not re.fullmatch(pattern, text):
        raise ValueError(text)
    return text
