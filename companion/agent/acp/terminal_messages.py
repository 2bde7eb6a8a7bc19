"""The requests by which an agent has commands run in terminals of ours, as frozen values.

Source: the Agent Client Protocol's schema, version 1: `terminal/*`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Union

from ...base import jsonrpc
from ..wording.surrogates import clean_surrogates
from .members import Unreadable, required_text

CREATE = "terminal/create"
OUTPUT, WAIT = "terminal/output", "terminal/wait_for_exit"
KILL, RELEASE = "terminal/kill", "terminal/release"


@dataclass(frozen=True)
class CreateTerminal:
    """The agent asks to run a command: with `args` a program, without any a line for the shell.
    `folder` is absolute, or empty for that of the session. `limit` are the bytes of its output that
    are to be kept, None without a limit. `id` is the id of its request."""

    session: str
    id: jsonrpc.Id
    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    folder: str = ""
    limit: int | None = None


@dataclass(frozen=True)
class UseTerminal:
    """The agent asks something of a terminal of its: OUTPUT, WAIT, KILL or RELEASE."""

    session: str
    id: jsonrpc.Id
    method: str
    terminal: str


TerminalRequest = Union[CreateTerminal, UseTerminal]


@dataclass(frozen=True)
class Exit:
    """How a command ended: with a code, or by a signal (its name)."""

    code: int | None = None
    signal: str | None = None

    @property
    def result(self) -> Mapping[str, Any]:
        return {"exitCode": self.code, "signal": self.signal}


def read_terminal_request(request: jsonrpc.Request) -> TerminalRequest | None:
    """None if it is about something else. Raises Unreadable."""
    params, method = request.params, request.method
    if method not in (CREATE, OUTPUT, WAIT, KILL, RELEASE):
        return None
    session = required_text(params, "sessionId", method)
    if method != CREATE:
        terminal = required_text(params, "terminalId", method)
        return UseTerminal(session, request.id, method, terminal)
    params = clean_surrogates(params)
    args, limit = params.get("args"), params.get("outputByteLimit")
    env, folder = params.get("env"), params.get("cwd")
    # What is not understood must not run.
    if args is not None and not _are_texts(args):
        raise Unreadable(method, "texts as args", args)
    if env is not None and not isinstance(env, list):
        raise Unreadable(method, "a list as env", env)
    if folder is not None and not isinstance(folder, str):
        raise Unreadable(method, "a text as cwd", folder)
    return CreateTerminal(
        session,
        request.id,
        required_text(params, "command", method),
        tuple(args or ()),
        tuple(_read_variable(each, method) for each in env or ()),
        folder or "",
        limit if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0 else None,
    )


def _read_variable(told: object, kind: str) -> tuple[str, str]:
    """Raises Unreadable."""
    if not isinstance(told, dict) or not isinstance(told.get("value"), str):
        raise Unreadable(kind, "a name and a text as value in env", told)
    return required_text(told, "name", kind), told["value"]


def created_result(terminal: str) -> Mapping[str, Any]:
    return {"terminalId": terminal}


def output_result(output: str, is_truncated: bool, exit: Exit | None) -> Mapping[str, Any]:
    """`exit` is None while the command runs."""
    ended = {} if exit is None else {"exitStatus": exit.result}
    return {"output": output, "truncated": is_truncated, **ended}


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
