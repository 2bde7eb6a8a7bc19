"""Which of a CLI's own sessions made edits without asking, by the turn in which it did. Saved over
a restart, so that nobody else is told what becomes of them.

The companion's loop owns it.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from functools import partial
from typing import Callable, Iterable

from ...base.background import in_thread
from ..clis import CliSession
from ..hook_events import HookEvent
from ..saved_state import SavedTurn
from .hook_desk import SILENT, running_processes

# Turns that are known: as many as edits are listed.
MAX_TURNS = 500
# Seconds after a restart in which a session has to be heard of whose process seems to run: after
# a start of the system another process may have that number.
RUNS = 24 * 3600.0


class EditMakers:
    """The CLIs' own sessions in one window that made edits without asking and have not ended.
    `on_change` is called whenever something has changed that must be saved."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        # By the turn's id, oldest first.
        self._turns: OrderedDict[str, SavedTurn] = OrderedDict()
        # Sessions from before a restart that were not heard of since: the process, and until when
        # one may be heard of, in seconds since the epoch.
        self._expected: dict[CliSession, tuple[int, float]] = {}

    def note_edit(self, turn: str, event: HookEvent) -> None:
        """The event's session has made an edit in the turn."""
        if turn not in self._turns:
            self._turns[turn] = SavedTurn(turn, event.cli.id, event.cli_session_id, event.pid)
            if len(self._turns) > MAX_TURNS:
                self._turns.popitem(last=False)
            self._on_change()

    def cli_session_of(self, turn: str) -> CliSession | None:
        """The session that made edits in the turn; None if it has ended or is not known."""
        made = self._turns.get(turn)
        return made.cli_session if made is not None else None

    def confirm_session(self, session: CliSession) -> None:
        """It is there, also after a restart."""
        self._expected.pop(session, None)

    def forget_session(self, session: CliSession) -> None:
        """It has ended."""
        self._expected.pop(session, None)
        ended = [turn for turn, made in self._turns.items() if made.cli_session == session]
        for turn in ended:
            del self._turns[turn]
        if ended:
            self._on_change()

    async def forget_ended(self) -> None:
        """Forget sessions from before a restart that have ended; call it from time to time, because
        no hook says which ones have."""
        expected = dict(self._expected)
        pids = {pid for pid, _until in expected.values()} - {0}
        present = await in_thread(partial(running_processes, pids)) if pids else set()
        for session, (pid, until) in expected.items():
            is_there = time.time() < until and (not pid or pid in present)
            if session in self._expected and not is_there:
                self.forget_session(session)

    def saved_turns(self) -> tuple[SavedTurn, ...]:
        return tuple(self._turns.values())

    def adopt_turns(self, saved: Iterable[SavedTurn]) -> None:
        """Take the turns from before a restart."""
        for turn in saved:
            self._turns[turn.id] = turn
            until = time.time() + (RUNS if turn.pid else SILENT)
            self._expected[turn.cli_session] = turn.pid, until
