"""The plugin of Claude Code: what its files say, and whether the user has switched it off. May wait
for a disk.

Source: docs/protocol.md 11. The CLI loads a plugin from each folder below `skills` in its home.
"""

from __future__ import annotations

import json
import os
from typing import Any, Mapping

from ...base.regular_file import read_beginning
from ..extension_forms import ExtensionForm

HOOKS = os.path.join("hooks", "hooks.json")
# What stands for the marketplace of such a plugin.
MARKETPLACE = "skills-dir"
# Bytes that are read of a file of settings.
MAX_SETTINGS = 1 << 23


def plugin_files(
    form: ExtensionForm, manifest: Mapping[str, Any], program: bytes, timeout: int
) -> dict[str, Any]:
    """Its files by their names in its folder, as bytes or as values for JSON; the manifest last.
    `timeout` is in seconds."""
    version = manifest["version"]
    hooks = {event: [_hook_entry(form, event, version, timeout)] for event in form.events}
    return {form.program: program, HOOKS: {"hooks": hooks}, form.manifest: manifest}


def _hook_entry(form: ExtensionForm, event: str, version: str, timeout: int) -> dict[str, Any]:
    """The CLI's shell knows the CLI as its parent. Any end but that of success would be shown, and
    one would block the tool."""
    place = f'"{form.here}/{form.program}"'
    command = f'P={place}; [ -f "$P" ] && sh "$P" "$PPID" {version}; exit 0'
    run = {"type": "command", "command": command, "timeout": timeout * form.timeouts}
    matcher = form.matchers.get(event)
    return {**({"matcher": matcher} if matcher else {}), "hooks": [run]}


def plugin_id(name: str) -> str:
    """The plugin of that name, as the CLI's commands and settings know it."""
    return f"{name}@{MARKETPLACE}"


def is_plugin_enabled(name: str, home: str, cwd: str) -> bool:
    """Whether the settings in the CLI's home, and in those of the project, leave it on: the last
    that names it counts. What cannot be read names nothing."""
    project = [
        os.path.join(cwd, ".claude", each) for each in ("settings.json", "settings.local.json")
    ]
    found = True
    for path in [os.path.join(home, "settings.json"), *(project if cwd else [])]:
        chosen = _enabled_plugins(path).get(plugin_id(name))
        found = chosen if isinstance(chosen, bool) else found
    return found


def _enabled_plugins(path: str) -> Mapping[str, Any]:
    try:
        settings = json.loads(read_beginning(path, MAX_SETTINGS).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    chosen = settings.get("enabledPlugins") if isinstance(settings, dict) else None
    return chosen if isinstance(chosen, dict) else {}
