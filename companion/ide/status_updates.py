"""Decides when the editor is told the state of its windows: the status of each, and the variables
for its terminals."""

from __future__ import annotations

import asyncio
from typing import Callable, Iterable, Mapping

from .discovery import Advertisement
from .editor import Editor
from .status import Status
from .workspace import Workspace

# Seconds from a change until the new status is shown to the user.
STATUS_DELAY = 0.05

Environments = Mapping[int, Mapping[str, str]]


class StatusUpdates:
    """Reports each change once. `workspaces` are those of the present windows; `statuses` gives
    their states. `on_environments` gets the variables for the terminals of all windows whenever
    they change; the mapping is never changed afterwards. `more` gives further
    variables of a window."""

    def __init__(
        self,
        editor: Editor,
        workspaces: Iterable[Workspace],
        statuses: Callable[[], tuple[Status, ...]],
        on_environments: Callable[[Environments], None],
        more: Callable[[Workspace], Mapping[str, str]],
    ) -> None:
        self._editor = editor
        self._workspaces = workspaces
        self._statuses = statuses
        self._on_environments = on_environments
        self._more = more
        # The advertisements from which the variables were last made, each with what was added.
        self._made_of: list[tuple[Advertisement, Mapping[str, str]]] = []
        # The statuses that the editor last got.
        self._shown: tuple[Status, ...] = ()
        self._timer: asyncio.TimerHandle | None = None

    def update_soon(self) -> None:
        """A workspace has another port, or something else has changed."""
        self._send_environments()
        if self._timer is None:
            # Once for several changes that come together: each call of a tool makes some.
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(STATUS_DELAY, self.update_now)

    def update_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        statuses = self._statuses()
        if statuses != self._shown:
            self._shown = statuses
            self._editor.show_status(statuses)
        self._send_environments()

    def stop(self) -> None:
        """No window is served any more."""
        self._on_environments({})

    def _send_environments(self) -> None:
        made_of = [(each.advertisement, self._more(each)) for each in self._workspaces]
        if made_of == self._made_of:
            return
        self._made_of = made_of
        self._on_environments(
            {
                workspace.window_id: {
                    **workspace.advertisement.environment(),
                    **self._more(workspace),
                }
                for workspace in self._workspaces
                if workspace.advertisement.port
            }
        )
