"""The CLIs that are connected to a window, as they are shown to the user. Holds no secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .clis import by_id
from .decisions import OPEN
from .live_clis import LiveCli

if TYPE_CHECKING:
    from .session import Session
    from .workspace import Workspace

# The version that CLIs send if they do not tell their own (docs/protocol.md 7).
NO_VERSION = "1.0.0"


@dataclass(frozen=True)
class ConnectedCli:
    """A CLI with a live stream. `command` is what users type to start it. `name` has a number if
    several CLIs of its kind are connected to the window. `version` is empty if the CLI does not
    tell it. `folders` are those of the window. `since` is in seconds since the epoch. `waiting`
    counts its diffs without a decision. `live` is what its hooks say of it, None if they say
    nothing.
    """

    window_id: int
    session_id: str
    command: str
    name: str
    version: str
    folders: tuple[str, ...]
    since: float
    waiting: int
    live: LiveCli | None = None


def connected_clis(workspace: Workspace) -> tuple[ConnectedCli, ...]:
    """The CLIs of a window, the oldest connection first; then those that are known by their hooks
    alone, with an empty `session_id`."""
    live = workspace.hooks.live.all()
    by_session = {each.mcp_session: each for each in live}
    connected = [session for session in workspace.sessions if session.stream is not None]
    known = {session.id for session in connected}
    return tuple(
        [_connected_cli(workspace, session, by_session.get(session.id)) for session in connected]
        + [_live_cli(workspace, cli) for cli in live if cli.mcp_session not in known]
    )


def _connected_cli(workspace: Workspace, session: Session, live: LiveCli | None) -> ConnectedCli:
    return ConnectedCli(
        workspace.window_id,
        session.id,
        session.cli.command,
        workspace.sessions.session_label(session),
        _client_version(session),
        workspace.advertisement.folders,
        session.since,
        len(workspace.book.numbers_in(OPEN, session.id)),
        live,
    )


def _live_cli(workspace: Workspace, live: LiveCli) -> ConnectedCli:
    cli, folders = by_id(live.cli_id), workspace.advertisement.folders
    return ConnectedCli(
        workspace.window_id, "", cli.command, live.name, "", folders, live.started, 0, live
    )


def _client_version(session: Session) -> str:
    version = session.client.rpartition(" ")[2] if " " in session.client else ""
    return "" if version == NO_VERSION else version
