"""Gathers the facts of this machine from files, processes and ports. May take seconds."""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Iterator, Mapping

from ...base.child_processes import output_of_program
from ...base.login_path import LOGIN_PATH
from ...base.path_maps import NO_MAPS, PathMaps
from ...base.regular_file import read_beginning
from .. import cli_settings, surroundings, system_processes
from ..clis import CLAUDE_CODE, CLIS, GEMINI_CLI, Cli, by_command, program_name
from ..hooks import extension
from ..hooks.extension import Installed
from ..system_processes import SystemProcess
from . import claude_gathering, logins, lookup, report, trial
from .facts import LINUX, MACOS, WINDOWS, DiscoveryFile, Facts, FoundProgram
from .facts import Window as Window
from .report import Examination

# The most CLIs that are examined at a time.
MAX_CLIS = 8
# The most discovery files that are read, and the bytes of each and of other small files.
MAX_FILES = 256
MAX_BYTES = 1 << 16
# Seconds to wait for a port of this machine, and for one of a container's host.
PROBE, FAR_PROBE = 0.2, 1.0
# How companions answer a request without a token and a session.
REFUSALS = (b"400", b"401", b"403")
# Where npm may install programs; an editor that was started from a menu may not know these.
PLACES = (
    "~/.nvm/versions/node/*/bin",
    "~/.volta/bin",
    "~/.local/share/fnm/node-versions/*/installation/bin",
    "~/.asdf/shims",
    "~/.local/share/mise/shims",
    "~/.npm-global/bin",
    "~/.local/bin",
    "~/.bun/bin",
    "~/Library/pnpm",
    "~/.local/share/pnpm",
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "~/AppData/Roaming/npm",
)
SYSTEM_SETTINGS = {
    LINUX: "/etc/gemini-cli/settings.json",
    MACOS: "/Library/Application Support/GeminiCli/settings.json",
    WINDOWS: "C:\\ProgramData\\gemini-cli\\settings.json",
}


@dataclass(frozen=True)
class ExaminedScope:
    """Which CLI should reach which window. `command` has the words that start the CLI.
    `environment` is the editor's. `token` is the window's. `elsewhere` are the folders of other
    windows as CLIs know them; `local_folders` are the window's as the editor knows them, and
    `path_maps` translate between the two. `extra_folder` is the folder for discovery files in the
    settings."""

    cli: Cli
    window: Window
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    home: str
    token: str = field(repr=False, default="")
    elsewhere: tuple[str, ...] = ()
    local_folders: tuple[str, ...] = ()
    path_maps: PathMaps = NO_MAPS
    extra_folder: str = ""


def this_platform() -> str:
    return {"win32": WINDOWS, "darwin": MACOS}.get(sys.platform, LINUX)


def examine_clis(scope: ExaminedScope) -> tuple[Examination, ...]:
    """The result for each CLI that `gather_facts` finds."""
    scope = _with_login_path(scope)
    searched = LOGIN_PATH.known_path or scope.environment.get("PATH", "")
    facts = gather_facts(scope, system_processes.running_processes())
    return tuple(replace(report.examine_cli(each), searched=searched) for each in facts)


def _with_login_path(scope: ExaminedScope) -> ExaminedScope:
    """The scope with the PATH of the user's terminals, if the editor's does not have the program
    or its Node.js."""
    needed = (scope.command[0], *(("node",) if scope.cli.node else ()))
    changes = LOGIN_PATH.changes_for(*needed, path=scope.environment.get("PATH"))
    return replace(scope, environment={**scope.environment, **changes})


def gather_facts(scope: ExaminedScope, known: Mapping[int, SystemProcess]) -> list[Facts]:
    """The facts of each CLI that runs in the window's folders, newest first, those of the wanted
    kind before others, Claude Code last unless it is that kind. If none of that kind runs there,
    also the facts of CLIs that run in no window's folders, and of one of that kind that would be
    started there. `known` are the processes of the machine."""
    own_here, own_astray = _running_clis(scope, known)
    if scope.cli == CLAUDE_CODE:
        facts = list(_facts_of_claude(scope, known))
    else:
        examined: list[SystemProcess | None] = [*own_here] or [*own_astray, None]
        facts = [_facts_of_cli(scope, known, each) for each in examined]
    for cli in CLIS:
        if cli != scope.cli:
            other = replace(scope, cli=cli, command=(cli.command,))
            here, astray = _running_clis(other, known)
            shown = here if here or own_here else astray
            facts += [
                replace(_facts_of_cli(other, known, each), is_started=False) for each in shown
            ]
    if scope.cli != CLAUDE_CODE:
        command = (CLAUDE_CODE.command,)
        facts += _facts_of_claude(replace(scope, command=command), known)
    return facts


def _facts_of_claude(scope: ExaminedScope, known: Mapping[int, SystemProcess]) -> Iterator[Facts]:
    """The facts of each Claude Code that runs in the window's folders; if none does, of those in no
    window's, and of one that would be started, for somebody who has it or has chosen it."""
    is_wanted = scope.cli == CLAUDE_CODE
    path, is_on_path = _program_path(scope.command[0], scope.environment)
    version = _package_version(CLAUDE_CODE, path) if path else ""
    program = FoundProgram(path, is_on_path, version)
    here, astray = _running_clis(replace(scope, cli=CLAUDE_CODE), known)
    where = (this_platform(), scope.window, scope.environment, scope.home, program)
    shown: list[SystemProcess | None] = [*here] or [*astray, None]
    for each in shown:
        found = replace(claude_gathering.gather_facts(*where, each), is_started=is_wanted)
        if each is None and is_wanted:
            found = replace(found, wrapper=_wrapper_name(scope.command))
        if each is not None or path or found.claude.lock_folders or is_wanted:
            yield found


def _running_clis(
    scope: ExaminedScope, known: Mapping[int, SystemProcess]
) -> tuple[list[SystemProcess], list[SystemProcess]]:
    """The CLIs that run in the window's folders, and those that run in no window's folders."""
    if scope.cli == CLAUDE_CODE:
        known = {pid: each for pid, each in known.items() if claude_gathering.has_terminal(each)}
    found = system_processes.find_clis(scope.cli, known)
    here = [each for each in found if _is_within(each, scope.window.folders)]
    astray = [each for each in found if not _is_within(each, scope.elsewhere)]
    return here[:MAX_CLIS], astray[:MAX_CLIS]


def _is_within(process: SystemProcess, folders: tuple[str, ...]) -> bool:
    """Whether the process runs in one of the folders; False if its folder is not known."""
    path = _resolve_links(process.folder or os.sep)
    real = map(_resolve_links, folders)
    return any(path == each or path.startswith(os.path.join(each, "")) for each in real)


def from_files(scope: ExaminedScope, process: SystemProcess | None = None) -> Facts:
    """The facts that files give about the running CLI, or about one that would be started in the
    window's folder. Asks no port."""
    cli, window = scope.cli, scope.window
    environment = _cli_environment(scope, process)
    # The home folder as Node knows it.
    variable = "USERPROFILE" if this_platform() == WINDOWS else "HOME"
    home = (environment.get(variable) or scope.home) if process is not None else scope.home
    folder = process.folder if process is not None else None
    folder = _resolve_links(folder or (window.folders or (home,))[0])
    facts = Facts(
        cli,
        this_platform(),
        window,
        home,
        find_program(cli, _running_program(cli, process) or scope.command[0], scope.environment),
        process,
        environment,
        folder,
        cli_settings.read_settings(cli_settings.path_of(cli, environment, home)),
        _overriding_settings(cli, environment, scope.path_maps.to_local(folder), home),
        _discovery_folder(cli, environment, home),
        # A CLI that runs is known by its own program.
        wrapper=_wrapper_name(scope.command) if process is None else "",
        names_cli=process is not None or by_command(scope.command) is not None,
    )
    ours = _installed_extension(cli, environment, home, folder)
    return replace(facts, logins=_ways_to_log_in(facts), extension=ours)


def _facts_of_cli(
    scope: ExaminedScope, known: Mapping[int, SystemProcess], process: SystemProcess | None
) -> Facts:
    cli, window = scope.cli, scope.window
    # Before all that takes its time: the window's peers are those of a moment ago.
    is_connected = _is_connected(process, window)
    found = from_files(scope, process)
    if process is None and not found.wrapper:
        tried = trial.try_program(found.program, scope.environment, scope.home)
        found = replace(found, program=tried)
    facts = replace(
        found,
        is_connected=is_connected,
        processes=known,
        exists=_container_marks(process),
        has_own_network=process is not None and system_processes.has_own_network(process.pid),
    )
    files = _discovery_files(facts, cli.token(scope.token) if scope.token else "")
    facts = replace(facts, files=files)
    reaches = lookup.calls_container_host(facts) and _port_answers(
        lookup.CONTAINER_HOST, window.port, FAR_PROBE
    )
    where = (scope.local_folders, scope.extra_folder, scope.path_maps)
    return replace(
        facts,
        real=_real_paths(facts),
        reaches_host=reaches,
        surroundings=surroundings.surroundings_here(*where),
    )


def _container_marks(process: SystemProcess | None) -> frozenset[str]:
    """The marks that the CLI sees: it may run in a container while the editor does not."""
    root = system_processes.root_of(process)
    return frozenset(mark for mark in lookup.CONTAINER_MARKS if os.path.exists(root + mark))


def _is_connected(process: SystemProcess | None, window: Window) -> bool | None:
    if process is None or not window.peers:
        return None if process is None else False
    ports = system_processes.ports_to(process.pid, window.port)
    return bool(window.peers & ports) if ports is not None else None


def _installed_extension(
    cli: Cli, environment: Mapping[str, str], home: str, folder: str
) -> Installed | None:
    if cli.extension is None:
        return None
    return extension.installed_at(cli, extension.extension_folder(cli, environment, home), folder)


def _wrapper_name(command: tuple[str, ...]) -> str:
    return "" if by_command(command[:1]) is not None else program_name(command[0])


def _cli_environment(scope: ExaminedScope, process: SystemProcess | None) -> Mapping[str, str]:
    """The CLI's environment; if it is not known, the editor's, as it is in external terminals."""
    if process is not None and process.environment is not None:
        return process.environment
    ours = scope.cli.environment(0, "", "", 0)
    return {name: value for name, value in scope.environment.items() if name not in ours}


def _running_program(cli: Cli, process: SystemProcess | None) -> str:
    """The program that a process runs; empty if its command does not show it."""
    words = process.command.split()[: system_processes.PROGRAM_WORDS] if process is not None else []
    named = [word for word in words if system_processes.is_program(cli, word)]
    return next((word for word in named if os.path.isabs(word) and os.path.isfile(word)), "")


def find_program(cli: Cli, command: str, environment: Mapping[str, str]) -> FoundProgram:
    """The paths and versions of the CLI and of Node.js."""
    found, is_on_path = _program_path(command, environment)
    node = shutil.which("node", path=environment.get("PATH"))
    if node is None and found:
        node = shutil.which("node", path=os.path.dirname(found))
    version = _package_version(cli, found) if found else ""
    return FoundProgram(found, is_on_path, version, node or "", _node_version(node))


def _program_path(command: str, environment: Mapping[str, str]) -> tuple[str, bool]:
    """The program's path, empty if none was found, and whether a shell finds it."""
    found = shutil.which(command, path=environment.get("PATH"))
    if found is not None:
        return found, True
    places = [each for place in PLACES for each in sorted(glob.glob(os.path.expanduser(place)))]
    name = os.path.basename(command)
    return shutil.which(name, path=os.pathsep.join(reversed(places))) or "", False


def _package_version(cli: Cli, path: str) -> str:
    """The version in its npm package; empty if it is not one."""
    real = os.path.realpath(path)
    beside = os.path.join(os.path.dirname(path), "node_modules", *cli.package.split("/"), "x")
    for place in (real, beside):
        for _ in range(4):
            place = os.path.dirname(place)
            content = _read_json(os.path.join(place, "package.json"))
            if content.get("name") == cli.package and cli.package:
                return str(content.get("version", ""))
    return ""


def _node_version(node: str | None) -> str:
    return output_of_program(node, "--version").strip().lstrip("v") if node is not None else ""


def _overriding_settings(
    cli: Cli, environment: Mapping[str, str], folder: str, home: str
) -> tuple[cli_settings.SettingsFile, ...]:
    """The settings that take precedence over the user's."""
    if cli != GEMINI_CLI:
        return ()
    system = environment.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH") or SYSTEM_SETTINGS[this_platform()]
    project = os.path.join(folder, ".gemini", cli.settings_name)
    paths = [project, system] if os.path.realpath(home) != folder else [system]
    return tuple(cli_settings.read_settings(path) for path in paths)


def _discovery_folder(cli: Cli, environment: Mapping[str, str], home: str) -> str:
    form = cli.discovery
    if form is None:
        return ""
    if form.in_home:
        return os.path.join(cli.possible_homes(environment, home)[0], *form.folder)
    return os.path.join(lookup.temp_folder(this_platform(), environment), *form.folder)


def _discovery_files(facts: Facts, token: str) -> tuple[DiscoveryFile, ...]:
    form = facts.cli.discovery
    if form is None:
        return ()
    pattern = _name_pattern(form.name)
    files: list[DiscoveryFile] = []
    with suppress(OSError):
        for entry in sorted(os.scandir(facts.discovery_folder), key=lambda each: each.name):
            match = pattern.fullmatch(entry.name)
            if match is not None and len(files) < MAX_FILES:
                file = _discovery_file(entry, match.groupdict(), token)
                # This window's own server does not have to be asked.
                is_own = file.points_to == facts.window.port
                is_editor = file.answers and (is_own or _is_editor(file.points_to))
                files.append(replace(file, is_editor=is_editor))
    return tuple(files)


def _name_pattern(name: str) -> re.Pattern[str]:
    """The names of that form; old editors leave out the port and the dash before it."""
    numbers = {
        "{pid}": r"(?P<pid>\d+)",
        "-{port}": r"(?:-(?P<port>\d+))?",
        "{port}": r"(?P<port>\d+)",
    }
    parts = re.split(r"(\{pid\}|-?\{port\})", name)
    return re.compile("".join(numbers.get(part) or re.escape(part) for part in parts))


def _discovery_file(
    entry: os.DirEntry[str], numbers: Mapping[str, str | None], token: str
) -> DiscoveryFile:
    pid, port = (int(numbers.get(name) or 0) for name in ("pid", "port"))
    is_ours, modified = True, 0.0
    with suppress(OSError):
        status = os.stat(entry.path)
        is_ours = sys.platform == "win32" or status.st_uid == os.getuid()
        modified = status.st_mtime
    content = _read_json(entry.path)
    points_to = _parse_port(content.get("port"))
    told, info = content.get("workspacePath"), content.get("ideInfo")
    return DiscoveryFile(
        entry.path,
        pid,
        port,
        points_to,
        told if isinstance(told, str) else None,
        is_ours,
        bool(content),
        isinstance(info, dict) and bool(info.get("name")) and bool(info.get("displayName")),
        _port_answers("127.0.0.1", points_to, PROBE),
        has_token=bool(token) and content.get("authToken") == token,
        modified=modified,
    )


def _parse_port(value: Any) -> int:
    text = str(value)
    return int(text) if text.isdigit() and int(text) < 1 << 16 else 0


def _read_json(path: str) -> Mapping[str, Any]:
    """The object in the file; an empty one if there is none."""
    with suppress(OSError, ValueError):
        content = json.loads(read_beginning(path, MAX_BYTES).decode("utf-8"))
        return content if isinstance(content, dict) else {}
    return {}


def _port_answers(host: str, port: int, seconds: float) -> bool:
    with suppress(OSError), socket.create_connection((host, port), seconds):
        return True
    return False


def _is_editor(port: int) -> bool:
    """Whether the listener answers a request without token and session as a companion does. A
    listener that hangs, or is something else, does not."""
    address = ("127.0.0.1", port)
    try:
        with socket.create_connection(address, PROBE) as connection:
            connection.settimeout(FAR_PROBE)
            connection.sendall(b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port)
            answer = connection.recv(len(b"HTTP/1.1 401"))
    except OSError:
        return False
    return answer[:5] == b"HTTP/" and answer[-3:] in REFUSALS


def _ways_to_log_in(facts: Facts) -> tuple[str, ...]:
    home = os.path.dirname(facts.settings.path)
    paths = [os.path.join(home, ".env"), os.path.join(facts.home, ".env")]
    paths += [os.path.join(facts.folder, ".gemini", ".env"), os.path.join(facts.folder, ".env")]
    texts = {}
    for path in paths:
        with suppress(OSError):
            texts[path] = read_beginning(path, MAX_BYTES).decode("utf-8", "replace")
    selected = facts.settings.value(logins.SELECTED)
    has_login = os.path.exists(os.path.join(home, "oauth_creds.json"))
    return logins.ways_to_log_in(facts.environment, texts, selected, has_login)


def _real_paths(facts: Facts) -> dict[str, str]:
    told = [file.workspace for file in facts.files] + [
        facts.environment.get(facts.cli.variables.workspace)
    ]
    parts = {part for each in told if each for part in lookup.workspace_folders(facts, each)}
    return {part: _resolve_links(part) for part in parts if part}


def _resolve_links(path: str) -> str:
    """The path with its links resolved; unchanged if only the CLI sees it."""
    return os.path.realpath(path) if os.path.exists(path) else path
