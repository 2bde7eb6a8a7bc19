"""A CLI's settings file: reads it, and changes it so that the CLI connects to editors. Knows no
editor.

A file that cannot be parsed is never changed. A changed file keeps its comments, form, mode and
links, and a backup is kept beside it (docs/protocol.md 5.48).
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Mapping

from ..base import commented_json, file_replace
from ..base.commented_json import Broken
from ..base.regular_file import FileTooLarge, NotRegular, read_regular
from .clis import Cli

# A settings file has a few lines; a larger file is something else.
MAX_BYTES = 1 << 20
BACKUP = ".before-gemini-companion"
# The most backups of one file. The oldest one is worth most, so none is replaced.
MAX_BACKUPS = 99


class CannotChange(Exception):
    """The file stays unchanged; the text is a sentence for the user."""


@dataclass(frozen=True)
class SettingsFile:
    """A settings file as it was read. `text` is None if there is no file. `problem` says what is
    wrong with the file, and is empty if nothing is; with a problem, `values` are empty. `unread`
    counts the commas before closing brackets and the byte order marks: these CLIs refuse both."""

    path: str
    text: str | None = None
    values: Mapping[str, Any] | None = None
    problem: str = ""
    unread: int = 0

    def value(self, key: tuple[str, ...]) -> Any:
        """The value under these nested names; None if there is none."""
        found: Any = self.values
        for name in key:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found


@dataclass(frozen=True)
class SettingsChange:
    """The text to write and the `path` to write it to; `target` is the file itself if the path is a
    link. `before` is None if there is no file yet; then there is no backup."""

    path: str
    target: str
    before: bytes | None
    after: bytes
    lines: tuple[str, ...]


def path_of(cli: Cli, environ: Mapping[str, str], user_home: str) -> str:
    """The path of the CLI's user settings; the file need not exist."""
    paths = [
        os.path.join(home, cli.settings_name) for home in cli.possible_homes(environ, user_home)
    ]
    return next((path for path in paths if os.path.lexists(path)), paths[0])


def read_settings(path: str) -> SettingsFile:
    """Read and parse the file. May wait for a disk."""
    try:
        data = _read_bytes(path)
        text = data.decode("utf-8") if data is not None else None
    except CannotChange as error:
        return SettingsFile(path, problem=str(error))
    except UnicodeDecodeError as error:
        return SettingsFile(path, problem=_not_utf8(path, error))
    return parse_settings(path, text)


def parse_settings(path: str, text: str | None) -> SettingsFile:
    """Parse a text as `read_settings` does."""
    if text is None:
        return SettingsFile(path)
    try:
        node = commented_json.parse_node(text)
        if node is None or not isinstance(node.value, dict):
            # Raises, unless the text is empty; the CLIs refuse that as well.
            commented_json.with_value(text, ("ide",), {})
            raise Broken(1, "expected an object in braces, found an empty file")
        unread = commented_json.strict_text(text)[1] + text.startswith(commented_json.BOM)
    except Broken as broken:
        return SettingsFile(path, text, problem=f"{path}, line {broken.line}: {broken.what}.")
    return SettingsFile(path, text, node.value, unread=unread)


def enabling_change(cli: Cli, path: str) -> SettingsChange:
    """The change with which the CLI connects and does not ask first. Raises CannotChange if the
    file cannot be parsed or must not be written. May wait for a disk."""
    before = _read_bytes(path)
    target = os.path.realpath(path)
    if before is not None and not os.stat(target).st_mode & stat.S_IWUSR:
        raise CannotChange(f"{target} is read-only. Allow writing, and try again.")
    try:
        text, lines = _enabled_text(cli, (before or b"").decode("utf-8"))
    except UnicodeDecodeError as error:
        raise CannotChange(_not_utf8(path, error)) from None
    except Broken as broken:
        raise CannotChange(
            f"{path}, line {broken.line}: {broken.what}. Fix that line, and try again."
        ) from None
    return SettingsChange(path, target, before, text.encode("utf-8"), lines)


def _enabled_text(cli: Cli, text: str) -> tuple[str, tuple[str, ...]]:
    """The changed text, and a list of the changes."""
    lines = []
    for key in (cli.enabled_key, cli.asked_key):
        if parse_settings("", text or None).value(key) is not True:
            lines.append(f'"{".".join(key)}": true')
        text = commented_json.with_value(text, key, True)
    strict, commas = commented_json.strict_text(text)
    if commas:
        lines.append(f"without {commas} commas before closing brackets, which {cli.name} refuses")
    if text.startswith(commented_json.BOM):
        lines.append(f"without the byte order mark, which {cli.name} refuses")
    return strict, tuple(lines)


def apply_change(change: SettingsChange) -> str:
    """Write the change: all of it or nothing. Gives the path of the backup, empty if there was no
    file. Raises CannotChange, also if the file has changed since. May wait for a disk."""
    if _read_bytes(change.path) != change.before or os.path.realpath(change.path) != change.target:
        raise CannotChange(f"{change.path} has changed meanwhile. Check it, and try again.")
    try:
        os.makedirs(os.path.dirname(change.target), mode=0o700, exist_ok=True)
        if change.before is None:
            _write_file(change.target, change.after, 0o600)
            return ""
        mode = stat.S_IMODE(os.stat(change.target).st_mode)
        backup = _back_up(change.target, change.before, mode)
        _write_file(change.target, change.after, mode)
        return backup
    except OSError as error:
        raise CannotChange(f"{change.target} could not be written ({error.strerror}).") from error


def _read_bytes(path: str) -> bytes | None:
    """The content; None if there is no file. Raises CannotChange."""
    try:
        if not os.path.lexists(path) or not os.path.lexists(os.path.realpath(path)):
            return None
        return read_regular(path, MAX_BYTES)
    except NotRegular:
        told = f"{path} should be a file and is not. Move it away, and try again."
    except FileTooLarge:
        told = f"{path} is larger than 1 MiB, which is too large for a settings file."
    except OSError as error:
        told = f"{path} could not be read ({error.strerror})."
    raise CannotChange(told)


def _not_utf8(path: str, error: UnicodeDecodeError) -> str:
    line = error.object.count(b"\n", 0, error.start) + 1
    return f"{path}, line {line}: expected UTF-8."


def _back_up(path: str, data: bytes, mode: int) -> str:
    for number in range(1, MAX_BACKUPS + 1):
        backup = path + BACKUP + (f"-{number}" if number > 1 else "")
        if not os.path.lexists(backup):
            _write_file(backup, data, mode)
            return backup
    raise CannotChange(f"{path} has {MAX_BACKUPS} backups beside it. Remove some of them.")


def _write_file(path: str, data: bytes, mode: int) -> None:
    """Create or replace the file in one step, so that it is never half written. Raises OSError."""
    unfinished = f"{path}.{secrets.token_hex(8)}"
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            file_replace.sync_file(file.fileno())
        os.chmod(unfinished, mode)
        file_replace.replace_file(unfinished, path)
    except OSError:
        with suppress(OSError):
            os.unlink(unfinished)
        raise
