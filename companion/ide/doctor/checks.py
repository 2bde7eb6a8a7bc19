"""The steps of a CLI on its way to the editor, in its own order, as functions of the facts. Pure.

To add one: a function of Facts that gives Ok, Failed, or None if the step does not concern this
CLI, and its row in CHECKS.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Callable

from ... import __version__
from ..clis import GEMINI_CLI, LLXPRT
from ..hooks.extension import enabling_command
from . import lookup, starting
from .facts import WINDOWS, Facts

# What one click can do about a failure; the editor knows how.
INSTALL, USE_PROGRAM, LOG_IN, ENABLE = "install", "use_program", "log_in", "enable"
RESTART, ADD_FOLDER, WRITE_AGAIN, SWEEP = "restart", "add_folder", "write_again", "sweep"
RUN_CLI = "run_cli"

# The CLI's oldest version that finds the file and sends a token.
OLDEST = (0, 7)
# Seconds from a CLI's start until it looks for an editor, or less. Nor does the system tell more
# exactly when a process was started while the machine is busy.
LOOKS_AFTER = 1.0
API_KEYS = "https://aistudio.google.com/apikey"
NO_LOGIN = (
    f"Get an API key at {API_KEYS} and give it to the CLI when it asks, or use Vertex AI or Code"
    " Assist Standard or Enterprise. Logins with a personal Google account ended on 2026-06-18."
)
REMOTE_GUIDE = "See docs/remote.md."


@dataclass(frozen=True)
class Ok:
    """The CLI passes this step; `found` is a phrase for the user."""

    found: str


@dataclass(frozen=True)
class Failed:
    """The CLI stops at this step. `what` is wrong and the `remedy` are sentences. `action` is one
    of those above, empty if no click can help; `argument` belongs to it."""

    what: str
    remedy: str
    action: str = ""
    argument: str = ""


@dataclass(frozen=True)
class Check:
    """`is_way` marks a step of the CLI on its way here: a connected CLI has passed it, whatever the
    facts say now."""

    id: str
    name: str
    judge: Callable[[Facts], Ok | Failed | None]
    is_way: bool = False


def check_surroundings(facts: Facts) -> Ok | Failed | None:
    """The first check, because a sandbox hides from the editor what the other checks need."""
    for each in facts.surroundings:
        if each.problem:
            return Failed(each.problem, each.remedy)
    names = ", ".join(each.name for each in facts.surroundings)
    return Ok(names) if names else None


def check_program(facts: Facts) -> Ok | Failed | None:
    cli, program = facts.cli, facts.program
    if not program.path and facts.process is not None:
        return Ok("it runs")
    if not program.path and facts.wrapper:
        return Failed(
            f"{facts.wrapper} was not found.",
            'Set "cli_command" to the path of this program.',
        )
    if not program.path:
        if not cli.package:
            return Failed(f"{cli.name} was not found.", f"See {cli.site}.", INSTALL, cli.site)
        how = f"npm install -g {cli.package}"
        first = "Run" if program.node else f"Install Node.js {cli.node} or newer, and then run"
        return Failed(f"{cli.name} was not found.", f"{first}: {how}", INSTALL, how)
    is_old = lookup.version_of(program.node_version) < (cli.node,)
    # A CLI that runs may use another Node.js than the one that the editor finds.
    if program.node_version and is_old and facts.process is None:
        return Failed(
            f"{cli.name} needs Node.js {cli.node} or newer; this is {program.node_version}.",
            "Install a newer Node.js.",
        )
    if not program.is_on_path:
        return Failed(
            f"{program.path} is there, but Sublime Text's PATH does not lead to it.",
            'Set "cli_command" to this path.',
            USE_PROGRAM,
            program.path,
        )
    if program.failure:
        return _not_running(facts)
    version = f", version {program.version}" if program.version else ""
    if cli == GEMINI_CLI and () < lookup.version_of(program.version) < OLDEST:
        return Failed(
            f"{program.path} has version {program.version}, which is too old.",
            f"npm install -g {cli.package}@latest",
            INSTALL,
            f"npm install -g {cli.package}@latest",
        )
    return Ok(program.path + version)


def _not_running(facts: Facts) -> Failed:
    cli, program = facts.cli, facts.program
    remedy = f"Run {cli.command} --version in a terminal: it has to tell its version."
    if cli.node and not program.node:
        remedy = (
            f"Node.js was not found: install Node.js {cli.node} or newer, so that Sublime Text's"
            " PATH leads to it."
        )
    return Failed(f"{program.path} does not run: {program.failure}.", remedy)


def settings_readable(facts: Facts) -> Ok | Failed | None:
    for file in (facts.settings, *facts.overriding):
        if file.problem:
            return Failed(
                f"{file.problem}", f"{facts.cli.name} does not start until that is fixed."
            )
        if file.unread:
            return Failed(
                f"{file.path} has commas before closing brackets or a byte order mark, which"
                f" {facts.cli.name} refuses.",
                "Remove them.",
                ENABLE if file is facts.settings else "",
                file.path,
            )
    return Ok(facts.settings.path if facts.settings.text is not None else "none, which is fine")


def check_login(facts: Facts) -> Ok | Failed | None:
    if facts.cli != GEMINI_CLI:
        return None
    if facts.logins:
        return Ok(facts.logins[0])
    return Failed("No way to log in was found.", NO_LOGIN, LOG_IN, API_KEYS)


def check_server(facts: Facts) -> Ok | Failed | None:
    if facts.window.port:
        return Ok(f"127.0.0.1, port {facts.window.port}")
    if facts.window.problem:
        # The problem's sentence says itself what to do first.
        return Failed(facts.window.problem, "Fix that, and restart the companion.", RESTART)
    return Failed("This window has no server.", "Restart the companion.", RESTART)


def folder_open(facts: Facts) -> Ok | Failed | None:
    separator = facts.separator
    if facts.window.unmapped and not facts.window.folders:
        return Failed(
            f'"path_maps" has no path of the CLIs for {facts.window.unmapped[0]}.',
            "Add that folder to the setting, or open a folder that is in it.",
        )
    if not facts.window.folders:
        return Failed("This window has no folder.", "Open the folder of your project.", ADD_FOLDER)
    named = [folder for folder in facts.window.folders if separator in folder]
    if named and len(named) == len(facts.window.folders) and separator == ":":
        return Failed(
            f"{named[0]} has a colon in its name, where {facts.cli.name} splits it.",
            "Give the folder another name.",
        )
    return Ok(", ".join(facts.window.folders))


def check_discovery_file(facts: Facts) -> Ok | Failed | None:
    if facts.cli.discovery is None:
        return None
    unwritten = facts.window.unwritten
    if facts.discovery_folder in unwritten:
        # A file in another folder does not help this CLI.
        return Failed(
            unwritten[facts.discovery_folder],
            "Fix that, and write the file again.",
            WRITE_AGAIN,
        )
    if facts.window.discovery_paths:
        return Ok(", ".join(facts.window.discovery_paths))
    return Failed(
        next(iter(unwritten.values()), "The file by which CLIs find the window is missing."),
        "Write it again.",
        WRITE_AGAIN,
    )


def in_its_folder(facts: Facts) -> Ok | Failed | None:
    """Whether the window's file is in the folder that the CLI searches."""
    if facts.cli.discovery is None or _is_led_by_variables(facts):
        return None
    if any(file.points_to == facts.window.port for file in facts.files):
        return Ok(facts.discovery_folder)
    if facts.discovery_folder in map(facts.paths.dirname, facts.window.discovery_paths):
        return Failed(
            f"The file in {facts.discovery_folder} is gone.", "Write it again.", WRITE_AGAIN
        )
    return Failed(
        f"The CLI looks into {facts.discovery_folder}, where this editor has no file.",
        f"Start it {_as_command(facts)}with {_way_here(facts)}.",
        RUN_CLI,
    )


def right_file(facts: Facts) -> Ok | Failed | None:
    """Whether the CLI reads the window's file, among all that are there."""
    if facts.cli.discovery is None or _is_led_by_variables(facts):
        return None
    ours = [file for file in facts.files if file.points_to == facts.window.port]
    if ours and not (ours[0].is_ours and ours[0].makes_sense):
        return Failed(f"{ours[0].path} cannot be read by the CLI.", "Write it again.", WRITE_AGAIN)
    file = lookup.chosen_file(facts)
    if file is not None and file.points_to == facts.window.port and not file.has_token:
        return Failed(
            f"{file.path} has a token that this window does not know.",
            "Write it again.",
            WRITE_AGAIN,
        )
    if file is None or file.points_to == facts.window.port:
        return Ok(file.path if file is not None else "none")
    if not lookup.runs_within(facts, file.workspace):
        # Then no file has its folder, and `same_folder` reports that.
        return Ok("none for the CLI's folder")
    if not file.answers:
        return Failed(
            f"{file.path} belongs to an editor that has ended, and the CLI reads it first.",
            "Remove it.",
            SWEEP,
            file.path,
        )
    if not file.is_editor:
        return Failed(
            f"{file.path} leads the CLI to port {file.points_to}, where no editor answers: the"
            " editor of this file has ended, or hangs. The CLI reads this file first.",
            f"If that editor still runs, end it, and remove the file; or use {_way_here(facts)},"
            " which leads to this window.",
            RUN_CLI,
        )
    return Failed(
        f"{file.path} belongs to another window or editor with the same folder, and the CLI reads"
        " it first.",
        f"Close the folder there, or use {_way_here(facts)}, which leads to this window.",
        RUN_CLI,
    )


def check_detection(facts: Facts) -> Ok | Failed | None:
    """A CLI searches for an editor only once, when it starts (docs/protocol.md 5.49)."""
    process, window = facts.process, facts.window
    if process is not None and not lookup.knows_terminal(facts.environment):
        editor = facts.processes.get(window.pid)
        begun = editor.started if editor is not None else 0.0
        since = window.since or begun
        # It may have found the previous editor, if a CLI of its kind connected to that later.
        found_before = process.started < window.connected_before.get(facts.cli.id, 0.0) < begun
        if process.started and process.started < since - LOOKS_AFTER and not found_before:
            return Failed(
                f"The CLI (process {process.pid}) was started at {_clock_time(process.started)},"
                f" before this window could be found ({_clock_time(since)}). A CLI looks for an"
                " editor only when it starts.",
                "Quit the CLI and start it again.",
                RUN_CLI,
            )
    if lookup.is_detected(facts):
        return Ok("Sublime Text")
    return Failed(
        "Neither a file nor the terminal leads the CLI to Sublime Text.",
        f"Start it with {_way_here(facts)}.",
        RUN_CLI,
    )


def check_setting(facts: Facts) -> Ok | Failed | None:
    key = facts.cli.enabled_key
    name = ".".join(key)
    for file in reversed(facts.overriding):
        value = file.value(key)
        if value is False:
            return Failed(f"{file.path} sets {name} to false.", "Remove that line.")
        if value is True:
            return Ok(f"{name} in {file.path}")
    if facts.settings.value(key) is True:
        return Ok(f"{name} in {facts.settings.path}")
    asks = facts.process is not None and facts.settings.value(facts.cli.asked_key) is not True
    question = ", and it asks whether to connect Sublime Text" if asks else ""
    return Failed(
        f"{name} is not set, so the CLI connects to no editor{question}.",
        _enabling_remedy(facts, asks),
        ENABLE,
        facts.settings.path,
    )


def _enabling_remedy(facts: Facts, asks: bool) -> str:
    """The remedy. To answer the CLI's question with yes leads to an installer that does not exist,
    and the CLI does not ask again (docs/protocol.md 5.48)."""
    if facts.process is None:
        return (
            "Enable it here before you start the CLI. Otherwise it asks whether to connect, and"
            ' "Yes" can end in an error.'
        )
    first = 'Answer "No (esc)", because "Yes" can end in an error, and type' if asks else "Type"
    return f"{first} /ide enable in the CLI; or enable it here and restart the CLI."


def same_folder(facts: Facts) -> Ok | Failed | None:
    found = lookup.known_workspace(facts)
    if lookup.runs_within(facts, found):
        return Ok(facts.folder)
    if not found:
        return Failed(
            "The CLI knows no folder of this window.",
            "Open the folder of your project.",
            ADD_FOLDER,
        )
    where = ", ".join(lookup.workspace_folders(facts, found))
    return Failed(
        f"The CLI runs in {facts.folder}, but was told of {where}.",
        "Add its folder to the window, or start the CLI in one of these. If the CLI has another"
        ' path for one of these, as in a container, set "path_maps".',
        ADD_FOLDER,
        facts.folder,
    )


def check_host(facts: Facts) -> Ok | Failed | None:
    if not lookup.calls_container_host(facts) or facts.reaches_host:
        return Ok(lookup.CONTAINER_HOST if lookup.calls_container_host(facts) else "127.0.0.1")
    return Failed(
        f"{sorted(facts.exists)[0]} tells the CLI that it runs in a container. It calls"
        f" {lookup.CONTAINER_HOST}, where this editor does not listen.",
        "If Sublime Text runs in the same container, start the CLI in a"
        f" terminal as {starting.start_line(facts)}, so that it calls 127.0.0.1. If only the CLI"
        " runs in one, see docs/remote.md.",
    )


def check_proxy(facts: Facts) -> Ok | Failed | None:
    """CLIs bypass proxies for 127.0.0.1, but not all do for the host of their container
    (docs/protocol.md 5.51)."""
    names = ("http_proxy", "HTTP_PROXY")
    asked = next((facts.environment[name] for name in names if facts.environment.get(name)), "")
    if not asked:
        return Ok("none in the way")
    passed = [each.strip() for each in facts.environment.get("NO_PROXY", "").split(",")]
    is_passed = lookup.CONTAINER_HOST in passed or "*" in passed
    if facts.cli != LLXPRT or not lookup.calls_container_host(facts) or is_passed:
        return Ok(f"the CLI does not use {_without_login(asked)} for this")
    return Failed(
        f"The CLI would use the proxy {_without_login(asked)} for {lookup.CONTAINER_HOST}.",
        f"Set NO_PROXY={lookup.CONTAINER_HOST} for it.",
    )


def check_port(facts: Facts) -> Ok | Failed | None:
    port = lookup.port_called(facts)
    if facts.has_own_network and not lookup.calls_container_host(facts):
        return Failed(
            "The CLI runs in a network of its own, like a container or a sandbox. There 127.0.0.1"
            " is not this machine.",
            "Start it outside, or let it use this machine's network, as with docker run --network"
            f" host. {REMOTE_GUIDE}",
        )
    if port == facts.window.port:
        return Ok(f"port {port}")
    name = facts.cli.variables.port
    return Failed(
        f"{name} leads the CLI to port {port}, which is not this window's ({facts.window.port})."
        if port
        else "The CLI knows no port.",
        f"Start it with {_way_here(facts)}, or in a terminal that you open now.",
        RUN_CLI,
    )


def check_connection(facts: Facts) -> Ok | Failed | None:
    count = facts.window.connected
    if facts.process is None and not count:
        return Failed(
            "No CLI is connected, and none runs.",
            f"Start one in a terminal: {starting.start_line(facts)}",
            RUN_CLI,
        )
    if facts.is_connected:
        return Ok("to this window")
    if not count or facts.is_connected is False:
        return Failed(
            "Nothing is in the way, but the CLI is not connected.",
            'Type /ide enable in it. If it asks whether to connect, answer "No (esc)" before that.',
        )
    clis = "one CLI is" if count == 1 else f"{count} CLIs are"
    which = "" if facts.process is None else "; this system does not tell which"
    return Ok(f"{clis} connected to this window{which}")


def check_extension(facts: Facts) -> Ok | Failed | None:
    """It is never missing: nobody needs it to connect."""
    found, heard = facts.extension, facts.window.heard.get(facts.cli.id)
    if found is None:
        return None
    if facts.cli.id in facts.window.outdated:
        return Failed(
            "The CLI runs the extension of an earlier version, whose hooks are not heard here.",
            'Renew the extension with "Install CLI Extension", and restart the CLI.',
        )
    if not found.version and heard is None:
        return Ok('not installed; "Install CLI Extension" lets the CLI say here what it does')
    if not found.is_enabled:
        return Ok(f"switched off; {enabling_command(facts.cli)}")
    which = f"version {found.version}" if found.version else f"not in {found.path}"
    if found.version not in ("", __version__):
        # One that could not be renewed when the editor started.
        which += f' ("Install CLI Extension" writes {__version__})'
    if heard is not None:
        at = time.strftime("%H:%M", time.localtime(heard))
        return Ok(f"{which}, last heard at {at}")
    version, form = lookup.version_of(facts.program.version), facts.cli.extension
    if form is not None and version and version < form.since:
        return Ok(f"{which}, but {facts.name} {facts.program.version} is too old to load it")
    return Ok(f"{which}, not heard here yet; a CLI has it from its next start on")


CHECKS = (
    Check("surroundings", "Where Sublime Text runs", check_surroundings),
    Check("installed", "CLI", check_program),
    Check("settings", "Settings of the CLI", settings_readable),
    Check("login", "Login", check_login),
    Check("served", "Server of this window", check_server),
    Check("folder", "Folder of this window", folder_open),
    Check("published", "Discovery file", check_discovery_file),
    Check("place", "Where the CLI looks", in_its_folder, is_way=True),
    Check("file", "Which file it reads", right_file, is_way=True),
    Check("detected", "Detection", check_detection, is_way=True),
    Check("enabled", "Connecting to editors", check_setting),
    Check("same_folder", "Folder of the CLI", same_folder, is_way=True),
    Check("host", "Host", check_host, is_way=True),
    Check("proxy", "Proxy", check_proxy, is_way=True),
    Check("answers", "Port", check_port, is_way=True),
    Check("connected", "Connected", check_connection),
    Check("extension", "Extension", check_extension),
)


def by_id(id: str) -> Check:
    return next(check for check in CHECKS if check.id == id)


def _is_led_by_variables(facts: Facts) -> bool:
    """Whether the environment leads the CLI here without a file."""
    has_port = facts.environment.get(facts.cli.variables.port) == str(facts.window.port)
    return (
        has_port and lookup.knows_terminal(facts.environment) and lookup.chosen_file(facts) is None
    )


def _way_here(facts: Facts) -> str:
    """The editor's commands that lead the CLI to the window."""
    return f"Run {facts.name}" if facts.is_started else "Open Terminal or Copy Exports"


def _as_command(facts: Facts) -> str:
    """How the CLI would find the window from its own terminal, followed by "or"; empty if nothing
    typed there helps."""
    if not starting.temp_folder(facts):
        return ""
    if facts.platform == WINDOWS:
        return f"with {starting.temp_folder(facts)[0]}, or "
    return f"as {starting.start_line(facts)}, or "


def _clock_time(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(seconds))


def _without_login(address: str) -> str:
    """The address of a proxy, without name and password."""
    scheme, separator, rest = address.partition("://")
    return scheme + separator + rest.rpartition("@")[2] if separator else address.rpartition("@")[2]
