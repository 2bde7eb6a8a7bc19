"""What a CLI meets on its way to an editor's window, as frozen values. Asks no system."""

from __future__ import annotations

import ntpath
import posixpath
from dataclasses import dataclass, field
from types import ModuleType
from typing import AbstractSet, Mapping

from ..cli_settings import SettingsFile
from ..clis import Cli
from ..hooks.extension import Installed
from ..surroundings import Surrounding
from ..system_processes import SystemProcess
from .claude_facts import ClaudeFacts, ClaudeServing

LINUX, MACOS, WINDOWS = "linux", "osx", "windows"


@dataclass(frozen=True)
class DiscoveryFile:
    """A discovery file as the CLI reads it. `pid` and `port` are those in its name, 0 if it has
    none. `points_to` is the port in its content. `workspace` is None if that member is missing.

    `is_ours`: the file belongs to the user. `makes_sense`: its content is an object.
    `names_editor`: it has `ideInfo`. `answers`: something listens on the port. `is_editor`: that
    speaks like a companion. `has_token`: its token is that of the examined window. `modified` is in
    seconds since the epoch."""

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
    """The editor's window that the CLI should reach.

    `pid` is the editor's process. `folders` are the window's as CLIs know them; `separator` stands
    between them in a list, empty for that of the platform. `unmapped` are the editor's folders that
    no CLI can know. `port` is 0 if there is no server; `problem` says why, empty if it is not
    known. `since` is when a CLI could first find the window, in seconds since the epoch, 0 if that
    was when the editor started. `discovery_paths` are its files; `unwritten` says for each folder
    without a file why there is none. `peers` are the ports at the other end of its `connected`
    streams. `connected_before` gives, by the id of the kind of CLI, when one last connected to the
    server before this one, in seconds since the epoch; `heard` when a hook of one last ran.
    `outdated` has the ids of those whose extension is that of an earlier version. `claude` is what
    the editor does for Claude Code."""

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
    heard: Mapping[str, float] = field(default_factory=dict)
    outdated: AbstractSet[str] = frozenset()
    claude: ClaudeServing = ClaudeServing()


@dataclass(frozen=True)
class FoundProgram:
    """The program that starts the CLI: its path, empty if none was found. `is_on_path` says whether
    a shell finds it. Versions are empty if they are not known. `failure` says how the program ended
    that was started to see that it runs; empty if it did, or if nobody tried."""

    path: str = ""
    is_on_path: bool = True
    version: str = ""
    node: str = ""
    node_version: str = ""
    failure: str = ""


@dataclass(frozen=True)
class Facts:
    """All that the checks decide by.

    `process` is the running CLI, None for one that would be started; `environment` and `folder`
    (links resolved) are its own. `is_started`: the CLI is the one that the settings start.
    `wrapper` is the program that the user's settings start instead of the CLI's own, empty if they
    start that; `names_cli`: their command still names the CLI, for example behind npx.

    `settings` are the user's; `overriding` are those that take precedence, the strongest last.
    `discovery_folder` is where the CLI searches; `files` are the files there. `real` has paths with
    their links resolved. `logins` are phrases for the user about the ways to log in. `exists` has
    the `CONTAINER_MARKS` that exist. `reaches_host`: a container's name for its host leads to this
    window. `has_own_network`: the process runs in another network than the editor. `surroundings`
    are the special things about the place of the editor. `is_connected`: the process holds one of
    the window's streams, None if the system does not tell.
    `extension` is ours in the CLI's home, None if the CLI takes up none. `claude` is for Claude
    Code alone; of `environment` it has only what decides, and no `settings`."""

    cli: Cli
    platform: str
    window: Window
    home: str = ""
    program: FoundProgram = FoundProgram()
    process: SystemProcess | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: str = ""
    settings: SettingsFile = SettingsFile("")
    overriding: tuple[SettingsFile, ...] = ()
    discovery_folder: str = ""
    files: tuple[DiscoveryFile, ...] = ()
    real: Mapping[str, str] = field(default_factory=dict)
    processes: Mapping[int, SystemProcess] = field(default_factory=dict)
    logins: tuple[str, ...] = ()
    exists: frozenset[str] = frozenset()
    reaches_host: bool = False
    has_own_network: bool = False
    surroundings: tuple[Surrounding, ...] = ()
    is_connected: bool | None = None
    wrapper: str = ""
    names_cli: bool = True
    is_started: bool = True
    extension: Installed | None = None
    claude: ClaudeFacts = ClaudeFacts()

    @property
    def name(self) -> str:
        """The CLI's name for the user."""
        return self.cli.name if self.names_cli else self.wrapper

    @property
    def separator(self) -> str:
        """The separator between the folders in a list."""
        return self.window.separator or (";" if self.platform == WINDOWS else ":")

    @property
    def paths(self) -> ModuleType:
        """The functions for paths of that platform."""
        return ntpath if self.platform == WINDOWS else posixpath
