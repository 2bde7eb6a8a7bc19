"""The place where the editor itself runs, if that hides it from CLIs: a sandbox, or another system.

Source: docs/sublime.md 8.6 and the documentation of Flatpak and Snap. `find_surroundings` is pure:
all its facts are arguments.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Mapping, Sequence

from ..base.path_maps import NO_MAPS, PathMaps

FLATPAK_INFO, MOUNTS = "/.flatpak-info", "/proc/self/mountinfo"
FLATPAK_ID = "com.sublimehq.SublimeText"
# The bytes of those files that are read.
MAX_SIZE = 1 << 18
# How Windows names the files of a Linux system in WSL.
WSL_FOLDERS = ("\\\\wsl$\\", "\\\\wsl.localhost\\")
GUIDE = "See docs/remote.md."


@dataclass(frozen=True)
class Machine:
    """All that decides. `platform` is as `sys.platform`. `files` are the texts of the files above
    that exist. `folders` are the window's. `extra_folder` and `path_maps` are the settings."""

    platform: str
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    folders: Sequence[str] = ()
    extra_folder: str = ""
    path_maps: PathMaps = NO_MAPS


@dataclass(frozen=True)
class Surrounding:
    """`name` is a phrase. `problem` is a sentence about what keeps CLIs from finding the editor,
    empty if nothing does; `remedy` says what to do about it."""

    name: str
    problem: str = ""
    remedy: str = ""


def surroundings_here(
    folders: Sequence[str], extra_folder: str = "", path_maps: PathMaps = NO_MAPS
) -> tuple[Surrounding, ...]:
    """The surroundings of this editor; reads two small files."""
    files = {}
    for path in (FLATPAK_INFO, MOUNTS) if sys.platform == "linux" else ():
        with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            files[path] = file.read(MAX_SIZE)
    return find_surroundings(
        Machine(sys.platform, os.environ, files, folders, extra_folder, path_maps)
    )


def find_surroundings(machine: Machine) -> tuple[Surrounding, ...]:
    """The special things about the place; empty on an ordinary desktop."""
    found = (
        _flatpak_surrounding(machine),
        _snap_surrounding(machine),
        _wsl_outside(machine),
        _wsl_inside(machine),
    )
    return tuple(each for each in found if each is not None)


def has_own_processes() -> bool:
    """Whether the ids of processes mean something else outside the editor's sandbox."""
    return os.path.exists(FLATPAK_INFO)


def _flatpak_surrounding(machine: Machine) -> Surrounding | None:
    info = machine.files.get(FLATPAK_INFO)
    if info is None:
        return None
    name = "Sublime Text is a Flatpak"
    granted = re.search(r"(?m)^filesystems=(.*)$", info)
    folders = {part.partition(":")[0] for part in (granted.group(1) if granted else "").split(";")}
    if "/tmp" in folders or machine.extra_folder:
        return Surrounding(name)
    known = re.search(r"(?m)^name=(\S+)$", info)
    app = known.group(1) if known else FLATPAK_ID
    return Surrounding(
        name,
        f"{name}, with a /tmp of its own: CLIs outside it do not see the discovery file there.",
        f"Share /tmp with it, and restart it: flatpak override --user --filesystem=/tmp {app}."
        f" {GUIDE}",
    )


def _snap_surrounding(machine: Machine) -> Surrounding | None:
    """Sublime Text's own snap is a classic one, which has no sandbox."""
    if not machine.environment.get("SNAP_NAME") and not machine.environment.get(
        "SNAP_INSTANCE_NAME"
    ):
        return None
    name = "Sublime Text is a snap"
    is_private = re.search(r"(?m)^\S+ \S+ \S+ \S*/snap\S* /tmp ", machine.files.get(MOUNTS, ""))
    if is_private is None or machine.extra_folder:
        return Surrounding(name)
    return Surrounding(
        name,
        f"{name}, with a /tmp of its own: CLIs outside it do not see the discovery file there.",
        f'Install the classic snap, or set "extra_discovery_folder". {GUIDE}',
    )


def _wsl_outside(machine: Machine) -> Surrounding | None:
    """The editor is a Windows program, and the folder is one of a Linux system in WSL."""
    inside = [folder for folder in machine.folders if folder.lower().startswith(WSL_FOLDERS)]
    if machine.platform != "win32" or not inside:
        return None
    name = "The folder is in the Windows Subsystem for Linux"
    if any(machine.path_maps.to_remote(folder) == folder for folder in inside):
        return Surrounding(
            name,
            f"{name}, where CLIs use another path for it than Sublime Text on Windows, so they"
            " do not find it.",
            'Run Sublime Text for Linux in the same distribution; or set "path_maps" and'
            f' "extra_discovery_folder". {GUIDE}',
        )
    if machine.extra_folder:
        return Surrounding(name)
    return Surrounding(
        name,
        f"{name}, which has another temp folder than Windows: a CLI there does not see the"
        " discovery file.",
        f'Set "extra_discovery_folder" to a folder below {_share_root(inside[0])} that only you can'
        f" enter, and the CLI's TMPDIR to the same folder. {GUIDE}",
    )


def _share_root(path: str) -> str:
    """The part of a Windows share's path that leads to the root of the Linux system.

    >>> _share_root("\\\\\\\\wsl.localhost\\\\Ubuntu\\\\home\\\\me")
    '\\\\\\\\wsl.localhost\\\\Ubuntu'
    """
    return "\\".join(path.split("\\")[:4])


def _wsl_inside(machine: Machine) -> Surrounding | None:
    if machine.platform != "linux" or not machine.environment.get("WSL_DISTRO_NAME"):
        return None
    return Surrounding("Sublime Text runs in the Windows Subsystem for Linux")
