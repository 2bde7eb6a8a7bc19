"""The saved state as lines of JSON, one for each window: written, and read member by member. Knows
no file."""

from __future__ import annotations

import json
import math
import re
import time
from dataclasses import asdict, replace
from typing import Any, BinaryIO, Callable, TypeVar

from ..base.large_json import encode_in_pieces
from ..base.log import logger
from .clis import GEMINI_CLI
from .decisions import OPEN, STATES, Entry
from .saved_state import SavedSentence, SavedSession, SavedTurn, SavedWords, SavedWorkspace

T = TypeVar("T")

VERSION = 5
# The most invalid lines, or members of a list. The rest is skipped, because otherwise it could take
# long until a CLI finds a server.
MAX_BAD = 100
# Session ids and tokens are sent in headers of HTTP.
VISIBLE = re.compile("[!-~]{1,1000}")
# The largest integer that every reader of JSON reads as the same number.
MAX_INTEGER = 2**53


def first_line() -> bytes:
    return _encode_line({"version": VERSION})


def line_of(workspace: SavedWorkspace) -> bytes:
    return _encode_line(members_of(workspace))


def members_of(workspace: SavedWorkspace) -> dict[str, Any]:
    """The members that `read_workspaces` takes."""
    proposals = [entry._asdict() for entry in workspace.proposals]
    return {**asdict(replace(workspace, proposals=())), "proposals": proposals}


def _encode_line(members: dict[str, Any]) -> bytes:
    # In one call megabytes of text would block every other thread.
    return encode_in_pieces(members) + b"\n"


def read_workspaces(file: BinaryIO) -> tuple[list[SavedWorkspace], bool]:
    """The readable workspaces of all lines, and whether that is all."""
    try:
        if json.loads(file.readline())["version"] != VERSION:
            return [], False
    except (ValueError, KeyError, TypeError, RecursionError):
        return [], False
    found, is_whole, bad = [], True, 0
    for line in file:
        try:
            members = _Members(json.loads(line))
        except (ValueError, TypeError, RecursionError) as error:
            logger.warning("a window's state could not be read: %s", type(error).__name__)
            bad += 1
            if bad == MAX_BAD:
                break
            continue
        found.append(_read_workspace(members))
        is_whole = is_whole and members.are_whole
    return found, is_whole and not bad


class _Members:
    """The members of a JSON object. A bad member does not affect the others. Raises TypeError if
    the value is not an object."""

    def __init__(self, value: Any) -> None:
        if not isinstance(value, dict):
            raise TypeError(type(value))
        self.are_whole = True
        self._value = value

    def get(self, name: str, check: Callable[[Any], T], otherwise: T) -> T:
        """The result of `check` for the member. `check` raises ValueError or TypeError for a bad
        one; then the result is `otherwise`."""
        try:
            return check(self._value[name])
        except (KeyError, ValueError, TypeError, ArithmeticError) as error:
            logger.warning("saved state: %s could not be read (%s)", name, type(error).__name__)
            self.are_whole = False
            return otherwise

    def get_later(self, name: str, check: Callable[[Any], T], otherwise: T) -> T:
        """The result of `check` as `get` gives it, for a member that older releases do not
        write."""
        return self.get(name, check, otherwise) if name in self._value else otherwise

    def all(
        self, name: str, make: Callable[[_Members], T], is_later: bool = False
    ) -> tuple[T, ...]:
        """The result of `make` for each object in a list; other values are skipped. `is_later` says
        that older releases do not write it."""
        found = []
        values: list[Any] = (self.get_later if is_later else self.get)(name, _check_list, [])
        bad = 0
        for value in values:
            try:
                members = _Members(value)
                found.append(make(members))
                self.are_whole = self.are_whole and members.are_whole
            except (KeyError, ValueError, TypeError, ArithmeticError) as error:
                logger.warning("saved state: one of %s is lost (%s)", name, type(error).__name__)
                self.are_whole = False
                bad += 1
                if bad == MAX_BAD:
                    break
        return tuple(found)

    def need(self, name: str, check: Callable[[Any], T]) -> T:
        """The result of `check` for a member without which the whole is useless; raises what
        `check` raises, and KeyError."""
        return check(self._value[name])


def _read_workspace(members: _Members) -> SavedWorkspace:
    return SavedWorkspace(
        members.get("folders", _check_texts, ()),
        members.get("port", _check_port, 0),
        members.get("token", _check_visible, ""),
        members.all("sessions", _read_session),
        members.all("proposals", _read_entry),
        members.get("saved_at", _check_moment, time.time()),
        members.get("window_id", _check_integer, 0),
        members.all("words", _read_words, is_later=True),
        members.all("turns", _read_turn, is_later=True),
        members.all("sentences", _read_sentence, is_later=True),
    )


def _read_words(members: _Members) -> SavedWords:
    return SavedWords(
        members.need("cli_id", _check_text),
        members.need("session_id", _check_text),
        members.need("pid", _check_natural),
        members.need("text", _check_text),
        members.get("path", _check_text, ""),
        members.get("about", _check_text, ""),
        members.get("heading", _check_text, ""),
    )


def _read_turn(members: _Members) -> SavedTurn:
    return SavedTurn(
        members.need("id", _check_text),
        members.need("cli_id", _check_text),
        members.need("session_id", _check_text),
        members.need("pid", _check_natural),
    )


def _read_sentence(members: _Members) -> SavedSentence:
    return SavedSentence(
        members.need("turn", _check_text),
        members.need("client", _check_text),
        members.need("text", _check_text),
    )


def _read_session(members: _Members) -> SavedSession:
    return SavedSession(
        members.need("id", _check_visible),
        members.need("protocol_version", _check_visible),
        members.get("last_id", _check_natural, 0),
        members.get("client", _check_text, ""),
        members.get("cli", _check_text, GEMINI_CLI.id),
        members.get("since", _check_moment, 0.0),
        members.get_later("newest_then", _check_natural, 0),
    )


def _read_entry(members: _Members) -> Entry:
    state = members.need("state", _check_state)
    if state == OPEN:
        text = members.get("text", _check_text_or_none, None)
    else:
        # Without its text an acceptance would become a rejection.
        text = members.need("text", _check_text_or_none)
    return Entry(
        members.get("session_id", _check_text, ""),
        members.need("path", _check_text),
        state,
        members.get("opened_at", _check_moment, time.time()),
        members.get("client", _check_text, ""),
        members.get("proposed", _check_text, ""),
        text,
        members.get("decided_at", _check_moment, time.time()),
        members.get("event_id", _check_natural, 0),
        members.get("after_session", _check_natural, 0),
        members.get("comes_back", _check_flag, False),
        members.get("cli", _check_text, ""),
        members.get("sent_path", _check_text, ""),
        members.get_later("before", _check_text_or_none, None),
        members.get_later("hours", _check_natural, 0),
    )


def _check_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(type(value))
    return value


def _check_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value))
    return value


def _check_text_or_none(value: Any) -> str | None:
    return None if value is None else _check_text(value)


def _check_texts(value: Any) -> tuple[str, ...]:
    return tuple(_check_text(each) for each in _check_list(value))


def _check_visible(value: Any) -> str:
    if not VISIBLE.fullmatch(_check_text(value)):
        raise ValueError("expected visible characters of ASCII")
    return str(value)


def _check_state(value: Any) -> str:
    if value not in STATES:
        raise ValueError(value)
    return str(value)


def _check_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(type(value))
    return value


def _check_integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_INTEGER:
        raise ValueError("expected an integer")
    return int(value)


def _check_natural(value: Any) -> int:
    if _check_integer(value) < 0:
        raise ValueError("expected an integer from 0 on")
    return int(value)


def _check_port(value: Any) -> int:
    if _check_natural(value) > 65535:
        raise ValueError("expected a port")
    return int(value)


def _check_moment(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(type(value))
    if not math.isfinite(value):
        raise ValueError(value)
    return float(value)
