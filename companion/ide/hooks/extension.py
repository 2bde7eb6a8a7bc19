"""The extension for CLIs: its files in a CLI's home, written, renewed and removed. Knows no editor.
May wait for a disk.

Source: docs/protocol.md 9. The program is an argument; the rest is made from the CLI's row in
`clis`. Claude Code's is a plugin (`plugin_files`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

from ... import __version__ as VERSION
from ...base import private_files
from ...base.regular_file import read_beginning
from .. import server_file
from ..clis import Cli, DiscoveryForm
from ..extension_forms import ExtensionForm, Moment
from . import hook_answers
from .plugin_files import is_plugin_enabled, plugin_files, plugin_id

NAME = "gemini-companion"
DESCRIPTION = "Shows in Sublime Text what the CLI does, and lets the editor answer."
ROW, HOOKS = "cli.json", os.path.join("hooks", "hooks.json")
# The tool server, and what starts it.
SERVER, SCRIPT = "editor", "editor.sh"
# In this file of the folder above, Gemini CLI keeps which extensions the user has switched off.
ENABLEMENT = "extension-enablement.json"
# The most bytes of a small file, ours or the CLI's.
MAX_SIZE = 1 << 20
# Milliseconds that the program waits for the editor, by moment: longer than the editor does for its
# disk, git and tools together. Normally it answers at once; but a machine that builds what an agent
# writes is busy, and an edit whose hook was given up is neither asked about nor listed.
LIMITS: Mapping[Moment, int] = {Moment.TOOL_BEGINS: 9000, Moment.TOOL_ENDED: 9000}
LIMIT = 5000
# The same for a tool of the server `editor`: longer than the editor takes (ide/editor_tools.py).
TOOL_LIMIT = 25000
# Seconds after which the CLI ends a hook; the program has always answered by then.
TIMEOUT = 20
NOT_ON_WINDOWS = "The plugin of {} needs named pipes, and is not offered on Windows."
# What starts the tool server where the system has `sh`. A server that does not start, or that has
# nothing at all, worries the user with a message of the CLI (docs/protocol.md 9.75). So where there
# is no Node.js, the script itself is a server, with one resource and no tool.
_SCRIPT = """\
# Starts the tool server; where there is no Node.js, it is one without tools.
N=$(command -v node || readlink /proc/$PPID/exe 2>/dev/null)
case "$N" in */node) exec "$N" "${0%/*}/PROGRAM" tools ;; esac
while IFS= read -r line; do
  id=${line##*'"id":'}
  id=${id%%[,\\}]*}
  case "$line" in
  *'"method":"initialize"'*) result='INITIALIZED' ;;
  *'"method":"tools/list"'*) result='{"tools":[]}' ;;
  *'"method":"resources/list"'*) result='{"resources":[RESOURCE]}' ;;
  *'"id":'*) result='{}' ;;
  *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$result"
done
"""
_INITIALIZED = (
    '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},'
    '"serverInfo":{"name":"editor","version":"VERSION"}}'
)
_RESOURCE = '{"uri":"editor://none","name":"Node.js is missing"}'


class NotChanged(Exception):
    """The folder stays unchanged; the text is a sentence for the user."""


@dataclass(frozen=True)
class Installed:
    """The extension in a CLI's home. `version` is that of the package that wrote it, empty if none
    is installed. `is_enabled`: the user has not switched it off in the CLI, for the folder in
    question. `is_there`: there is something at the path, whatever it is."""

    path: str
    version: str = ""
    is_enabled: bool = True
    is_there: bool = True


def extension_folder(cli: Cli, environ: Mapping[str, str], user_home: str) -> str:
    """The folder for this CLI's extension. Raises NotChanged."""
    homes = cli.possible_homes(environ, user_home)
    home = next((each for each in homes if os.path.isdir(each)), homes[0])
    return os.path.join(home, _extension_form(cli).folder, NAME)


def enabling_command(cli: Cli) -> str:
    """What the user types to switch it on again."""
    if _extension_form(cli).is_plugin:
        return f"{cli.command} plugin enable {plugin_id(NAME)}"
    return f"{cli.command} extensions enable {NAME}"


def installed_at(cli: Cli, path: str, cwd: str = "") -> Installed:
    """The extension at the path, as a CLI in the folder `cwd` sees it."""
    form = _extension_form(cli)
    told = _read_json(os.path.join(path, form.manifest))
    version = told.get("version") if told.get("name") == NAME else ""
    if form.is_plugin:
        is_enabled = is_plugin_enabled(NAME, os.path.dirname(os.path.dirname(path)), cwd)
    else:
        known = _read_json(os.path.join(os.path.dirname(path), ENABLEMENT)).get(NAME)
        rules = known.get("overrides") if isinstance(known, dict) else None
        is_enabled = _is_enabled(rules if isinstance(rules, list) else [], cwd)
    version = version if isinstance(version, str) else ""
    return Installed(path, version, is_enabled, os.path.lexists(path))


def _is_enabled(rules: Iterable[object], cwd: str) -> bool:
    """The last rule that fits the folder counts. `!` before its pattern switches the extension off;
    `*` stands for anything, with a slash before it also for nothing (docs/protocol.md 9.83)."""
    found, folder = True, cwd.replace("\\", "/")
    folder = folder if folder.startswith("/") else f"/{folder}"
    folder = folder if folder.endswith("/") else f"{folder}/"
    for rule in rules:
        is_off = str(rule).startswith("!")
        pattern = re.sub(r"(/?)\\\*", r"(?:\1.*)?", re.escape(str(rule)[is_off:]))
        if re.fullmatch(pattern, folder, re.DOTALL):
            found = not is_off
    return found


def install_extension(cli: Cli, path: str, program: bytes) -> None:
    """Write the extension, even over an older one. Raises NotChanged."""
    if _extension_form(cli).is_plugin and sys.platform == "win32":
        raise NotChanged(NOT_ON_WINDOWS.format(cli.name))
    if os.path.islink(path):
        raise NotChanged(f"{path} is a link. Remove it, and install the extension again.")
    if os.path.isdir(path) and not _is_ours(cli, path):
        raise NotChanged(f"{path} contains something else. Remove it, and install again.")
    try:
        for name, data in extension_files(cli, program).items():
            whole = os.path.join(path, name)
            private_files.make_parents(whole)
            private_files.write_file(whole, data)
    except OSError as error:
        raise NotChanged(f"{path} cannot be written ({error.strerror}).") from None


def remove_extension(cli: Cli, path: str) -> bool:
    """Remove the extension, and the CLI's own notes about it; gives whether it was there. Raises
    NotChanged."""
    if not os.path.lexists(path):
        return False
    if os.path.islink(path) or not _is_ours(cli, path):
        raise NotChanged(f"{path} is not the extension of Gemini Companion. Remove it yourself.")
    try:
        shutil.rmtree(path)
        # What the user has in the settings of Claude Code stays.
        _remove_from_enablement(os.path.join(os.path.dirname(path), ENABLEMENT))
    except OSError as error:
        raise NotChanged(f"{path} cannot be removed ({error.strerror}).") from None
    return True


def renew_extension(cli: Cli, path: str, program: bytes) -> bool:
    """Write the extension again if an older package has written it, or one of this version that was
    not released; gives whether it did. Raises NotChanged."""
    found = installed_at(cli, path)
    if not found.version or _version_numbers(found.version) > _version_numbers(VERSION):
        return False
    if found.version == VERSION and _has_files(path, extension_files(cli, program)):
        return False
    install_extension(cli, path, program)
    return True


def extension_files(cli: Cli, program: bytes) -> dict[str, bytes]:
    """Its files by their names in its folder. The manifest is the last, because it makes the folder
    an extension."""
    form = _extension_form(cli)
    manifest: dict[str, Any] = {"name": NAME, "version": VERSION, "description": DESCRIPTION}
    if form.is_plugin:
        files = plugin_files(form, manifest, program, TIMEOUT)
        return {
            name: data if isinstance(data, bytes) else _encode_json(data)
            for name, data in files.items()
        }
    manifest["mcpServers"] = {SERVER: _tool_server_entry(form)}
    return {
        form.program: program,
        SCRIPT: _server_script(form.program),
        ROW: _encode_json(_cli_row(cli, form)),
        HOOKS: _encode_json(
            {"hooks": {event: [_hook_entry(cli, form, event)] for event in form.events}}
        ),
        form.manifest: _encode_json(manifest),
    }


def _tool_server_entry(form: ExtensionForm) -> dict[str, Any]:
    """How the CLI starts the tool server."""
    if sys.platform == "win32":
        return {"command": "node", "args": [f"{form.here}/{form.program}", "tools"]}
    return {"command": "sh", "args": [f"{form.here}/{SCRIPT}"]}


def _server_script(program: str) -> bytes:
    said = _INITIALIZED.replace("VERSION", VERSION)
    whole = _SCRIPT.replace("PROGRAM", program).replace("INITIALIZED", said)
    return whole.replace("RESOURCE", _RESOURCE).encode("ascii")


def _cli_row(cli: Cli, form: ExtensionForm) -> dict[str, Any]:
    """What the program needs to know about the CLI."""
    found = _discovery_form(cli)
    limits = {event: LIMITS[moment] for event, moment in form.moments.items() if moment in LIMITS}
    answers = {
        event: hook_answers.allowed_parts(form, moment) for event, moment in form.moments.items()
    }
    return {
        "id": cli.id,
        "version": VERSION,
        "place": {"in_home": found.in_home, "folder": found.folder},
        "suffix": server_file.SUFFIX,
        "variables": {"port": cli.variables.port},
        "limits": {**limits, "tools": TOOL_LIMIT, "other": LIMIT},
        "answers": {event: parts for event, parts in answers.items() if parts},
    }


def _hook_entry(cli: Cli, form: ExtensionForm, event: str) -> dict[str, Any]:
    command = {
        "type": "command",
        "name": "Sublime Text",
        "command": _hook_command(cli, form, event),
        "timeout": TIMEOUT * form.timeouts,
    }
    matcher = form.matchers.get(event)
    return {**({"matcher": matcher} if matcher else {}), "hooks": [command]}


def _hook_command(cli: Cli, form: ExtensionForm, event: str) -> str:
    """The hook's command, for the shell that the CLI runs. If the program, Node.js or an editor is
    missing, the command ends at once and successfully: any other end would block the CLI's prompts
    (docs/protocol.md 9). So does what stands in for `node` and has no version for this folder. The
    program is told the CLI's process, for the shell stays in between. Starting Node.js takes ten
    times as long as checking for a file."""
    discovery = _discovery_form(cli)
    if sys.platform == "win32":
        program = f"{form.here}/{form.program}"
        return (
            f'if ((Test-Path "{program}") -and (Get-Command node -ErrorAction SilentlyContinue))'
            f' {{ node "{program}" hook {event} }}'
        )
    root = f"{form.here}/../.." if discovery.in_home else "${TMPDIR:-${TMP:-${TEMP:-/tmp}}}"
    files = "/".join([f'"{root}"', *discovery.folder, f"*{server_file.SUFFIX}"])
    return (
        f'P="{form.here}/{form.program}";'
        " N=$(command -v node || readlink /proc/$PPID/exe 2>/dev/null) || exit 0;"
        ' case "$N" in */node) ;; *) exit 0 ;; esac; [ -f "$P" ] || exit 0;'
        f' for f in {files}; do [ -e "$f" ] || exit 0;'
        f' A=$("$N" "$P" hook {event} "$PPID" 2>/dev/null) && printf %s "$A"; exit 0; done'
    )


def _extension_form(cli: Cli) -> ExtensionForm:
    """Raises NotChanged."""
    if cli.extension is None:
        raise NotChanged(f"{cli.name} does not load extensions.")
    return cli.extension


def _discovery_form(cli: Cli) -> DiscoveryForm:
    """Raises NotChanged."""
    if cli.discovery is None:
        raise NotChanged(f"{cli.name} does not find an editor by a file.")
    return cli.discovery


def _is_ours(cli: Cli, path: str) -> bool:
    """Whether this package wrote it, even if not completely: its program is written first."""
    names, form = set(os.listdir(path)), _extension_form(cli)
    manifest = _read_json(os.path.join(path, form.manifest))
    return not names or bool(names & {form.program, ROW}) or manifest.get("name") == NAME


def _has_files(path: str, wanted: Mapping[str, bytes]) -> bool:
    """Whether these are there with that content, each no longer than MAX_SIZE."""
    with suppress(OSError):
        found = {name: read_beginning(os.path.join(path, name), MAX_SIZE) for name in wanted}
        return found == wanted
    return False


def _remove_from_enablement(path: str) -> None:
    """Remove the extension from the CLI's list of all extensions. Raises OSError."""
    known = _read_json(path)
    if known.pop(NAME, None) is None:
        return
    if known:
        private_files.write_file(path, _encode_json(known))
    else:
        os.remove(path)


def _read_json(path: str) -> dict[str, Any]:
    """The object in the file; an empty one if there is none."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read(MAX_SIZE).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _encode_json(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode("ascii")


def _version_numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))
