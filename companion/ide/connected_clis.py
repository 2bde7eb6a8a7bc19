"""Finds the CLIs of a window, as they are shown to the user. Holds no secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .clis import by_id
from .decisions import OPEN, Book
from .hooks.hook_desk import HookDesk
from .live_clis import LiveCli
from .status import ConnectedCli

if TYPE_CHECKING:
    from .session import Session
    from .sessions import Sessions

# The version that CLIs send if they do not tell their own (docs/protocol.md 7).
NO_VERSION = "1.0.0"


@dataclass(frozen=True)
class CliFinder:
    """Finds those of one window, whose parts these are."""

    window_id: int
    sessions: Sessions
    hooks: HookDesk
    book: Book

    def find_clis(self, folders: tuple[str, ...]) -> tuple[ConnectedCli, ...]:
        """The oldest connection first; then those that are known by their hooks alone, with an
        empty `session_id`. `folders` are those of the window."""
        live = self.hooks.live.all()
        by_session = {each.mcp_session: each for each in live}
        connected = [session for session in self.sessions if session.stream is not None]
        known = {session.id for session in connected}
        return tuple(
            [self._connected_cli(each, folders, by_session.get(each.id)) for each in connected]
            + [self._live_cli(cli, folders) for cli in live if cli.mcp_session not in known]
        )

    def _connected_cli(
        self, session: Session, folders: tuple[str, ...], live: LiveCli | None
    ) -> ConnectedCli:
        return ConnectedCli(
            self.window_id,
            session.id,
            session.cli.command,
            self.sessions.session_label(session),
            _client_version(session),
            folders,
            session.since,
            len(self.book.numbers_in(OPEN, session.id)),
            live,
        )

    def _live_cli(self, live: LiveCli, folders: tuple[str, ...]) -> ConnectedCli:
        command = by_id(live.cli_id).command
        return ConnectedCli(
            self.window_id, "", command, live.name, "", folders, live.started, 0, live
        )


def _client_version(session: Session) -> str:
    version = session.client.rpartition(" ")[2] if " " in session.client else ""
    return "" if version == NO_VERSION else version
