"""What a CLI meets on its way to an editor's window, as frozen values; asks no system."""

from __future__ import annotations

import ntpath
import posixpath
from dataclasses import dataclass, field
from types import ModuleType
from typing import Mapping

from ..cli_settings import SettingsFile
from ..clis import Cli
from ..surroundings import Surrounding

LINUX, MACOS, WINDOWS = "linux", "osx", "windows"


@dataclass(frozen=True)
class Process:
    """`name` is the first word of its command, without folders; `started` is in seconds since the
    epoch, 0 where nobody says; `folder` and `environment` are None where they are not known."""

    pid: int
    parent: int
    name: str = ""
    command: str = ""
    started: float = 0.0
    folder: str | None = None
    environment: Mapping[str, str] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class DiscoveryFile:
    """A discovery file as the CLI would read it. `pid` and `port` are those in its name, 0 where
    it has none; `points_to` is the port in its content. `workspace` is None where that member is
    missing. `is_ours` says whether it belongs to the user, `makes_sense` whether its content is an
    object, `names_editor` whether it has `ideInfo`, `answers` whether something listens there,
    `is_editor` whether that speaks as a companion does, `has_token` whether its token is the one of
    the window that is examined. `modified` is in seconds since the epoch."""

    path: str
    pid: int = 0
    port: int = 0
    points_to: int = 0
    workspace: str | None = None
    is_ours: bool = True
    makes_sense: bool = True
    names_editor: bool = True
    answers: bool = True
    is_editor: bool = True
    has_token: bool = False
    modified: float = 0.0


@dataclass(frozen=True)
class Window:
    """The editor's window that the CLI should reach. `pid` is the editor's process; `folders` are
    the window's as CLIs know them, and `separator` stands between them in a list, empty for that of
    the platform; `unmapped` are the editor's folders that no CLI could know; `port` 0 where there
    is no server; `since` is from when on a CLI could find it, in seconds since the epoch, 0 for as
    long as the editor runs; `discovery_paths` are its files, `unwritten` says why there is none, by
    the folder; `problem` says why there is no server, empty where nobody knows; `peers` are the
    ports at the other end of its `connected` streams; `connected_before` is when one of each
    kind connected last to the server that this one takes over from, by the kind's id, in seconds
    since the epoch."""

    pid: int
    port: int
    folders: tuple[str, ...] = ()
    discovery_paths: tuple[str, ...] = ()
    connected: int = 0
    since: float = 0.0
    problem: str = ""
    unwritten: Mapping[str, str] = field(default_factory=dict)
    peers: frozenset[int] = frozenset()
    separator: str = ""
    unmapped: tuple[str, ...] = ()
    connected_before: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """What starts the CLI: its path, empty where none was found; `is_on_path` where a shell would
    find it; versions are empty where they are not known."""

    path: str = ""
    is_on_path: bool = True
    version: str = ""
    node: str = ""
    node_version: str = ""


@dataclass(frozen=True)
class Facts:
    """Everything that decides. `process` is the CLI that runs, None for one that would be started;
    `environment` and `folder` (links resolved) are its own. `settings` are the user's,
    `overriding` those that count more, the last one most. `discovery_folder` is where it looks,
    `files` are what stands there. `real` has paths with their links resolved. `logins` say which
    ways to log in were found, for users. `exists` has those of `CONTAINER_MARKS` that are there;
    `reaches_host` says whether a container's name for its host leads to this window.
    `has_own_network` says that the process runs in another network than the editor. `surroundings`
    are what is special about where the editor lives. `is_connected` says whether the process holds
    one of the window's streams, None where the system does not tell. `wrapper` is the program that
    the user's settings start in place of the CLI's own, empty where they start that; `names_cli`
    says whether their command names the CLI all the same, behind npx for example. `is_started`: the
    CLI is the one of the settings."""

    cli: Cli
    platform: str
    window: Window
    home: str = ""
    program: Program = Program()
    process: Process | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: str = ""
    settings: SettingsFile = SettingsFile("")
    overriding: tuple[SettingsFile, ...] = ()
    discovery_folder: str = ""
    files: tuple[DiscoveryFile, ...] = ()
    real: Mapping[str, str] = field(default_factory=dict)
    processes: Mapping[int, Process] = field(default_factory=dict)
    logins: tuple[str, ...] = ()
    exists: frozenset[str] = frozenset()
    reaches_host: bool = False
    has_own_network: bool = False
    surroundings: tuple[Surrounding, ...] = ()
    is_connected: bool | None = None
    wrapper: str = ""
    names_cli: bool = True
    is_started: bool = True

    @property
    def name(self) -> str:
        """What the user calls it."""
        return self.cli.name if self.names_cli else self.wrapper

    @property
    def separator(self) -> str:
        """What stands between the folders of a list."""
        return self.window.separator or (";" if self.platform == WINDOWS else ":")

    @property
    def paths(self) -> ModuleType:
        """How paths are written on that platform."""
        return ntpath if self.platform == WINDOWS else posixpath
