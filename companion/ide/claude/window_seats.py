"""The windows in which one Claude Code has a session, and which of them is its own. Knows no
message of it.

In each window that it concerns it has a session like any other CLI, so that its diffs, what the
user decides on them and what the window shows of it go the same ways.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Awaitable, Callable, Iterable, NamedTuple

from ..clis import CLAUDE_CODE
from ..session import Notifiable, Session, Stream, StreamEnded
from ..workspace import Workspace
from .safe_tasks import run_safely
from .window_choice import latest_window, window_of_file, windows_within


class Seat(NamedTuple):
    """The CLI's session in a window, and the task that passes on what the session is told."""

    workspace: Workspace
    session: Session
    task: asyncio.Task[None]


class WindowSeats:
    """`workspaces` are the windows at this moment, also those that do not admit Claude Code.
    `client` is the name and version that the CLI gave itself by now. `is_needed` says whether a
    diff of the session waits. `tell` passes on what a session is told; `give_up` is told of each
    session that has ended.

    The CLI's window is that of the folder in which it runs, for what it is told of the user's
    files; a file of another window is shown there.
    """

    def __init__(
        self,
        workspaces: Callable[[], Iterable[Workspace]],
        client: Callable[[], str],
        is_needed: Callable[[Session], bool],
        tell: Callable[[Workspace, Session, Notifiable], Awaitable[None]],
        give_up: Callable[[Session], None],
    ) -> None:
        self._workspaces = workspaces
        self._client = client
        self._is_needed = is_needed
        self._tell = tell
        self._give_up = give_up
        # None until it has said where it runs; then the folder, empty if it is not known.
        self._folder: str | None = None
        self._home: Workspace | None = None
        self._is_told_at_home = False
        self._seats: dict[Workspace, Seat] = {}
        self._is_lost = False

    def note_activity(self) -> None:
        """The CLI has sent something."""
        for seat in self._seats.values():
            seat.session.note_activity()

    def lose(self) -> None:
        """The connection is over: it gets no more seats."""
        self._is_lost = True
        for seat in list(self._seats.values()):
            self._leave(seat)

    def settle_in(self, folder: str) -> None:
        """The CLI runs in that folder; empty if it does not say where."""
        self._folder = folder
        for seat in self._seats.values():
            seat.workspace.updates.note_folder(seat.session, folder)
        self.check_windows()

    def check_windows(self) -> None:
        """Windows, or their folders, have changed, or the CLI's folder is known now."""
        if self._folder is None or self._is_lost:
            return
        self._home, self._is_told_at_home = self._choose_home(self._folder)
        # First its seat, so that it is never without one.
        if self._home is not None:
            self._sit_down(self._home)
        for seat in list(self._seats.values()):
            is_needed = seat.workspace is self._home or self._is_needed(seat.session)
            if not is_needed or seat.workspace not in self._admitted():
                self._leave(seat)

    @property
    def is_told_at_home(self) -> bool:
        """Whether it has a window of its own, and may be told of the user's files there."""
        return self._is_told_at_home

    def home_session(self) -> tuple[Workspace, Session] | None:
        """Its window, and its session there; None if it has none."""
        seat = self._seats.get(self._home) if self._home is not None else None
        return (seat.workspace, seat.session) if seat is not None else None

    def is_at_home_in(self, workspace: Workspace) -> bool:
        return self._home is workspace

    def window_for(self, path: str) -> Workspace | None:
        """The window for a file of the CLI. A window that does not admit it keeps its files."""
        every = list(self._workspaces())
        owner = window_of_file(every, path)
        if owner is not None:
            return owner if owner.admits_claude else None
        return self._home if self._home in every else None

    def seat_for(self, path: str) -> tuple[Workspace, Session] | None:
        """The window for a file of the CLI, and the CLI's session there. None if there is none."""
        workspace = self.window_for(path)
        # A call may be read after the connection has ended.
        if workspace is None or self._is_lost:
            return None
        return workspace, self._sit_down(workspace).session

    def windows(self) -> Iterable[Workspace]:
        """The windows in which it has a session and may be told of the user's files."""
        return [each for each in self._seats if each is not self._home or self._is_told_at_home]

    def _admitted(self) -> list[Workspace]:
        return [each for each in self._workspaces() if each.admits_claude]

    def _choose_home(self, folder: str) -> tuple[Workspace | None, bool]:
        """Its window, and whether it may be told of the user's files there. It is not where it only
        has a seat because no window has anything of its folder."""
        every, admitted = list(self._workspaces()), self._admitted()
        owner = window_of_file(every, folder) if folder else None
        if owner is not None:
            return (owner, True) if owner.admits_claude else (None, False)
        within = windows_within(admitted, folder) if folder else []
        if within:
            return (self._home if self._home in within else latest_window(within)), True
        home = self._home if self._home in admitted else latest_window(admitted)
        # A CLI that does not say where it runs may run in a window that keeps it out.
        return home, not folder and admitted == every

    def _sit_down(self, workspace: Workspace) -> Seat:
        """Its seat in the window, a new one if it has none."""
        seat = self._seats.get(workspace)
        if seat is None:
            session, stream = workspace.connect_cli(CLAUDE_CODE, self._client(), self._folder or "")
            passing = partial(self._pass_on, workspace, session, stream)
            task = asyncio.ensure_future(run_safely(passing))
            seat = self._seats[workspace] = Seat(workspace, session, task)
            task.add_done_callback(lambda done: self._stand_up(workspace, session, stream))
        return seat

    def _leave(self, seat: Seat) -> None:
        # The task ends later, and nobody may get the seat meanwhile.
        self._seats.pop(seat.workspace, None)
        seat.task.cancel()

    def _stand_up(self, workspace: Workspace, session: Session, stream: Stream) -> None:
        seat = self._seats.get(workspace)
        if seat is not None and seat.session is session:
            del self._seats[workspace]
        workspace.disconnect_cli(session, stream)
        self._give_up(session)

    async def _pass_on(self, workspace: Workspace, session: Session, stream: Stream) -> None:
        """Pass on what the session is told, until that ends."""
        with suppress(StreamEnded):
            while True:
                event = await stream.next(None)
                if event is not None:
                    await self._tell(workspace, session, event.value)
