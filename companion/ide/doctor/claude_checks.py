"""The steps of Claude Code on its way to the editor, and what then keeps its edits from being
reviewed there, as functions of the facts (docs/protocol.md 11). Pure."""

from __future__ import annotations

from . import lookup
from .checks import ADD_FOLDER, INSTALL, RESTART, Check, Failed, Ok, check_extension
from .claude_facts import ClaudeLock
from .facts import WINDOWS, Facts

PORT, CONNECTS = "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_AUTO_CONNECT_IDE"
CONFIG = "CLAUDE_CONFIG_DIR"
FLAG = "--ide"
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
BY_HAND = "type /ide in it, and choose Sublime Text"
FROM_HERE = "start it in a terminal of Run CLI or Terminus"
# The modes in which an edit is written, or refused, without `openDiff`.
WRITING = ("auto", "acceptEdits", "bypassPermissions")
REFUSING = "dontAsk"
ASKING = (
    "Shift+Tab in its terminal changes the mode of one that runs. In every mode it asks about edits"
    ' with "permissions": {"ask": ["Edit"]} in its settings.json. With its plugin ("Install CLI'
    ' Extension") what it writes without asking is listed here.'
)


def check_program(facts: Facts) -> Ok | Failed | None:
    program = facts.program
    if not program.path and facts.process is not None:
        return Ok("it runs")
    if not program.path and facts.wrapper:
        return Failed(
            f"{facts.wrapper} was not found.",
            'Set "cli_command" to the path of this program.',
        )
    if not program.path:
        return Failed(
            "claude was not found.",
            f"{facts.cli.site} says how to install it.",
            INSTALL,
            f"npm install -g {facts.cli.package}",
        )
    version = f", version {program.version}" if program.version else ""
    away = "" if program.is_on_path else "; Sublime Text's PATH does not lead to it"
    return Ok(f"{program.path}{version}{away}")


def check_home(facts: Facts) -> Ok | Failed | None:
    found = facts.claude
    if found.lock_folders:
        return Ok(", ".join(map(facts.paths.dirname, found.lock_folders)))
    return Failed(
        f"{' and '.join(found.homes)} is missing, where the CLI looks for editors.",
        "Start claude once: it creates that folder.",
    )


def check_admitted(facts: Facts) -> Ok | Failed | None:
    if facts.window.claude.is_admitted:
        return Ok("may connect")
    return Failed(
        'The setting "claude_code" is off for this window.',
        'Set "claude_code" to true in the settings, or in those of the project.',
    )


def check_server(facts: Facts) -> Ok | Failed | None:
    serving = facts.window.claude
    if serving.port:
        return Ok(f"127.0.0.1, port {serving.port}")
    problem = serving.problem or facts.window.problem
    what = problem or "The editor has no server for Claude Code."
    return Failed(what, "Restart the companion.", RESTART)


def check_folder(facts: Facts) -> Ok | Failed | None:
    if facts.window.folders:
        return Ok(", ".join(facts.window.folders))
    return Failed("This window has no folder.", "Open the folder of your project.", ADD_FOLDER)


def check_lock(facts: Facts) -> Ok | Failed | None:
    """Whether the editor's lock file is where the CLI looks, and says what it should."""
    serving, lock = facts.window.claude, _own_lock(facts)
    if lock is None and serving.problem:
        return Failed(serving.problem, "Fix that, and restart the companion.", RESTART)
    if lock is None and serving.lock_paths:
        there = set(map(facts.paths.dirname, serving.lock_paths))
        if not there & set(facts.claude.lock_folders):
            return Failed(
                f"The CLI looks into {', '.join(facts.claude.lock_folders)}, where this editor has"
                " no lock file.",
                f"Start Sublime Text and the CLI with the same {CONFIG}.",
            )
    if lock is None:
        return Failed("The editor's lock file is gone.", "Restart the companion.", RESTART)
    if not lock.is_readable:
        return Failed(f"{lock.path} cannot be read by the CLI.", "Restart the companion.", RESTART)
    if not lock.is_alive:
        return Failed(
            f"{lock.path} names a process that has ended; the CLI removes such a file.",
            "Restart the companion.",
            RESTART,
        )
    return Ok(lock.path)


def check_cli_folder(facts: Facts) -> Ok | Failed | None:
    lock = _own_lock(facts)
    if _is_led_here(facts):
        return Ok(f"{facts.folder}; {PORT} leads here from any folder")
    if lock is not None and _fits(facts, lock):
        return Ok(facts.folder)
    where = ", ".join(lock.folders) if lock is not None and lock.folders else "no folder"
    return Failed(
        f"The CLI runs in {facts.folder}, but was told of {where}.",
        f"Add its folder to the window, or {FROM_HERE}. A CLI above the folder connects by /ide.",
        ADD_FOLDER,
        facts.folder,
    )


def check_other_locks(facts: Facts) -> Ok | Failed | None:
    """Two lock files that fit, and the CLI connects to neither by itself, whichever is nearer."""
    others = [
        lock
        for lock in facts.claude.locks
        if lock.port != facts.window.claude.port and lock.is_alive and _fits(facts, lock)
    ]
    if not others:
        return Ok("none")
    if _is_led_here(facts):
        return Ok(f"{others[0].path}; {PORT} decides")
    return Failed(
        f"{others[0].path} belongs to another editor with the same folder. With two, the CLI"
        " connects to none by itself.",
        f"Close the folder in the other editor, or {BY_HAND}; or {FROM_HERE}.",
    )


def check_auto_connect(facts: Facts) -> Ok | Failed | None:
    told, port = facts.environment.get(CONNECTS, "").lower(), facts.environment.get(PORT, "")
    choices, command = facts.claude.choices, facts.process.command if facts.process else ""
    if told in FALSE:
        return Failed(
            f"{CONNECTS} is {told}, so the CLI connects to no editor by itself, not even with"
            f" {FLAG}.",
            f"Remove the variable and restart the CLI, or {BY_HAND}.",
        )
    if _is_led_here(facts):
        return Ok(PORT)
    if port:
        return Failed(
            f"{PORT} leads the CLI to port {port}, which is not this editor's"
            f" ({facts.window.claude.port}).",
            f"In the CLI, {BY_HAND}; or {FROM_HERE} that you open now.",
        )
    if told in TRUE:
        return Ok(CONNECTS)
    if FLAG in command.split():
        return Ok(FLAG)
    if choices.auto_connects:
        return Ok(f"autoConnectIde in {choices.path}")
    if choices.unread == choices.path:
        return Ok(f"not known; {choices.path} could not be read")
    return Failed(
        f"The CLI connects to no editor by itself: autoConnectIde is not on in {choices.path}.",
        f"In the CLI, {BY_HAND}: it offers to do that by itself from then on. Or start it as claude"
        f" {FLAG}, or in a terminal of Run CLI or Terminus.",
    )


def check_connection(facts: Facts) -> Ok | Failed | None:
    count = facts.window.claude.connected
    clis = {0: "none is connected", 1: "one is connected"}.get(count, f"{count} are connected")
    if facts.process is None:
        # It may be there and not be used.
        return Ok(f"{clis}, and none runs in a folder of this window" if not count else clis)
    if facts.is_connected:
        return Ok("to this editor")
    if facts.is_connected is None and count:
        return Ok(f"{clis} to this window; this system does not tell which")
    if facts.has_own_network:
        return Failed(
            "The CLI runs in a network of its own, like a container or a sandbox. There 127.0.0.1"
            " is not this machine.",
            "Start it outside, or let it use this machine's network.",
        )
    return Failed(
        "Nothing is in the way, but the CLI is not connected: it looks for an editor only in its"
        " first 30 seconds.",
        f"In the CLI, {BY_HAND}.",
    )


def check_diff_tool(facts: Facts) -> Ok | Failed | None:
    choices = facts.claude.choices
    if choices.diff_tool in ("", "auto"):
        return Ok("auto")
    return Failed(
        f"diffTool is {choices.diff_tool} in {choices.path}, so edits are shown in the terminal"
        " alone.",
        "Choose auto for it in /config of the CLI.",
    )


def check_mode(facts: Facts) -> Ok | Failed | None:
    """Whether the CLI asks about edits. In which mode it is now, nobody but its terminal knows."""
    choices = facts.claude.choices
    if choices.asks_edits:
        return Ok("a rule of its settings makes it ask about edits")
    if choices.mode in WRITING and _has_plugin(facts):
        return Ok(
            f"{choices.mode} ({choices.mode_from}), in which it writes without asking; Show Changes"
            ' lists what it has written, and with "ask_for_edits" it asks'
        )
    if choices.mode in WRITING:
        return Failed(
            f"It starts in the mode {choices.mode} ({choices.mode_from}), in which it writes"
            " without asking, and nothing is shown here.",
            ASKING,
        )
    if choices.mode == REFUSING:
        return Failed(
            f"It starts in the mode {choices.mode} ({choices.mode_from}), in which it refuses to"
            " edit instead of asking.",
            ASKING,
        )
    if choices.mode:
        return Ok(f"{choices.mode} ({choices.mode_from})")
    return Ok(
        "none is set; it may start in auto, in which it writes without asking. Shift+Tab in its"
        " terminal changes that"
    )


def check_plugin(facts: Facts) -> Ok | Failed | None:
    """It is never missing: nobody needs it to connect."""
    if facts.platform == WINDOWS:
        return Ok("not offered on Windows")
    problem = facts.window.claude.hook_problem
    if problem and facts.extension is not None and facts.extension.version:
        return Failed(problem, "Fix that, and restart the companion.", RESTART)
    return check_extension(facts)


CLAUDE_CHECKS = (
    Check("claude_installed", "CLI", check_program),
    Check("claude_home", "Home of the CLI", check_home),
    Check("claude_admitted", "Setting of this window", check_admitted),
    Check("claude_served", "Server for Claude Code", check_server),
    Check("claude_folder", "Folder of this window", check_folder),
    Check("claude_lock", "Lock file", check_lock, is_way=True),
    Check("claude_cli_folder", "Folder of the CLI", check_cli_folder, is_way=True),
    Check("claude_others", "Other editors", check_other_locks, is_way=True),
    Check("claude_enabled", "Connecting to editors", check_auto_connect, is_way=True),
    # Not "connected": it comes back by itself, and otherwise by other words.
    Check("claude_connected", "Connected", check_connection),
    Check("claude_diffs", "Diff tool", check_diff_tool),
    Check("claude_mode", "Permission mode", check_mode),
    Check("claude_plugin", "Plugin", check_plugin),
)


def _has_plugin(facts: Facts) -> bool:
    found = facts.extension
    return found is not None and found.version != "" and found.is_enabled


def _own_lock(facts: Facts) -> ClaudeLock | None:
    port = facts.window.claude.port
    return next((lock for lock in facts.claude.locks if lock.port == port), None)


def _is_led_here(facts: Facts) -> bool:
    return facts.environment.get(PORT) == str(facts.window.claude.port)


def _fits(facts: Facts, lock: ClaudeLock) -> bool:
    return any(lookup.is_within(facts, facts.folder, folder) for folder in lock.folders)
