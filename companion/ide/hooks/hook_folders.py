"""Learns from hooks in which folder the client of a session works, where the system does not tell.
The companion's loop owns it.
"""

from __future__ import annotations

from typing import Callable

from ..hook_events import HookEvent
from ..session import Session
from .hook_answers import NOTHING, HookAnswer


class HookFolders:
    """A listener of the window's HookDesk. `note` gets a session and the folder in which its client
    works, as that knows it."""

    def __init__(self, note: Callable[[Session, str], None]) -> None:
        self._note = note

    async def answer_hook(self, event: HookEvent, session: Session | None) -> HookAnswer:
        if session is not None and event.folder and not session.folder:
            self._note(session, event.folder)
        return NOTHING
