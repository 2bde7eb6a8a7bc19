"""Sublime Text on a machine: its program, its data folder, its plugin hosts; never writes."""

from __future__ import annotations

import os
import platform
import re
import sys
from dataclasses import dataclass
from typing import Dict, List, Mapping, Tuple

# Until build 4200 the plugins of a package like this one run on 3.8, from 4203 on 3.14. Where no
# program tells which, both get the libraries.
ANY_HOSTS = ("3.8", "3.14")
_NAMES = {
    "linux": ("subl", "sublime_text"),
    "osx": ("subl", "sublime_text"),
    "windows": ("subl.exe", "sublime_text.exe"),
}
_APP = "Applications/Sublime Text.app/Contents/MacOS/sublime_text"


class NotFound(Exception):
    """A sentence for the user: there is no Sublime Text, and what to do."""


@dataclass(frozen=True)
class Machine:
    """`system` is "linux", "osx" or "windows"; `architecture` as the platform module names it."""

    system: str
    home: str
    environment: Mapping[str, str]
    architecture: str = "x86_64"


@dataclass(frozen=True)
class Place:
    """`data` is absolute; `program` None where none was found; `hosts` are like "3.8"."""

    data: str
    program: str | None
    hosts: Tuple[str, ...]
    others: Tuple[str, ...] = ()


def this_machine() -> Machine:
    system = {"win32": "windows", "darwin": "osx"}.get(sys.platform, "linux")
    return Machine(system, os.path.expanduser("~"), os.environ, platform.machine())


def find_place(machine: Machine, data: str = "", program: str = "") -> Place:
    """Where to install; `data` and `program` are the user's own choice. Raises NotFound."""
    # Not every shell does it after an equals sign.
    data, program = os.path.expanduser(data), os.path.expanduser(program)
    if program and not os.path.isfile(program):
        raise NotFound("There is no program %s." % program)
    if data and not os.path.isdir(data):
        raise NotFound("There is no folder %s: start Sublime Text once, or check the path." % data)
    found = program or _find_program(machine)
    folders = _data_folders(machine, found)
    if data:
        chosen = os.path.abspath(data)
    elif folders:
        chosen = folders[0]
    elif found:
        chosen = _standard_folders(machine)[0]
    else:
        raise NotFound(
            "Sublime Text was not found. Name its program or its data folder:\n"
            "    make install SUBL=path/to/sublime_text\n"
            '    make install DATA=folder     (the one above what "Browse Packages..." opens)'
        )
    others = tuple(folder for folder in folders if folder != chosen and not data)
    return Place(chosen, found, _find_hosts(found, chosen), others)


def library_folder(host: str) -> str:
    """Relative to the data folder, with forward slashes."""
    return "Lib/python" + host.replace(".", "")


def _find_program(machine: Machine) -> str | None:
    separator = ";" if machine.system == "windows" else ":"
    folders = machine.environment.get("PATH", "").split(separator)
    paths = [
        os.path.join(folder, name)
        for folder in folders
        if folder
        for name in _NAMES[machine.system]
    ]
    return next((path for path in paths + _usual_programs(machine) if os.path.isfile(path)), None)


def _usual_programs(machine: Machine) -> List[str]:
    if machine.system == "windows":
        roots = [machine.environment.get(name) for name in ("ProgramFiles", "ProgramW6432")]
        return [os.path.join(root, "Sublime Text", "sublime_text.exe") for root in roots if root]
    if machine.system == "osx":
        return [os.path.join(machine.home, _APP), "/" + _APP]
    return [
        "/opt/sublime_text/sublime_text",
        "/snap/bin/subl",
        "/usr/lib/sublime-text/sublime_text",
        os.path.join(machine.home, "sublime_text", "sublime_text"),
    ]


def _data_folders(machine: Machine, program: str | None) -> List[str]:
    """The folders that exist: what the program itself would take comes first."""
    portable = [os.path.join(folder, "Data") for folder in _program_folders(program)]
    return [folder for folder in portable + _standard_folders(machine) if os.path.isdir(folder)]


def _standard_folders(machine: Machine) -> List[str]:
    """Where an installed one keeps its data; version 4 goes on with the folder of a version 3."""
    if machine.system == "windows":
        roaming = os.path.join(machine.home, "AppData", "Roaming")
        root = machine.environment.get("APPDATA") or roaming
        return [os.path.join(root, name) for name in ("Sublime Text", "Sublime Text 3")]
    if machine.system == "osx":
        root = os.path.join(machine.home, "Library", "Application Support")
        return [os.path.join(root, name) for name in ("Sublime Text", "Sublime Text 3")]
    config = os.path.join(machine.home, ".config")
    own = machine.environment.get("XDG_CONFIG_HOME") or config
    flatpak = os.path.join(machine.home, ".var", "app", "com.sublimetext.three", "config")
    snap = os.path.join(machine.home, "snap", "sublime-text", "current", ".config")
    names = ("sublime-text", "sublime-text-3")
    # A dict keeps their order, and each once.
    folders: Dict[str, None] = {
        os.path.join(root, name): None for root in (own, config, flatpak, snap) for name in names
    }
    return list(folders)


def _program_folders(program: str | None) -> List[str]:
    """The folders in which the parts of the program may lie, `subl` being a link or a script."""
    if not program:
        return []
    folder = os.path.dirname(os.path.realpath(program))
    folders = [folder, os.path.join(folder, "..", "..", "MacOS")]
    script = _script_target(program)
    return folders + ([os.path.dirname(script)] if script else [])


def _script_target(program: str) -> str | None:
    """What a short shell script such as Debian's /usr/bin/subl starts."""
    with open(program, "rb") as file:
        head = file.read(1024)
    found = re.search(rb"(/[^\s\"']*/sublime_text)\b", head) if head.startswith(b"#!") else None
    return os.fsdecode(found.group(1)) if found else None


def _find_hosts(program: str | None, data: str) -> Tuple[str, ...]:
    """The plugin hosts, by the program's own files, else by the data folder; 3.3 never runs this
    package."""
    for folder in _program_folders(program):
        names = os.listdir(folder) if os.path.isdir(folder) else []
        found = _read_versions(names, r"plugin_host-(3)\.(\d+)(?:\.exe)?$")
        if found:
            return found
    libraries = os.path.join(data, "Lib")
    names = os.listdir(libraries) if os.path.isdir(libraries) else []
    return _read_versions(names, r"python(3)(\d+)$") or ANY_HOSTS


def _read_versions(names: List[str], pattern: str) -> Tuple[str, ...]:
    matches = [re.match(pattern, name) for name in names]
    minors = sorted(int(match.group(2)) for match in matches if match)
    return tuple("3.%d" % minor for minor in minors if minor > 3)
