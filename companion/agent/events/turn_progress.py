"""How far a turn has come: since when it runs, which calls run, and which files it has changed. It
is kept beside the events, so that nobody has to read all of them again."""

from __future__ import annotations

from datetime import datetime

from ..turn_events import ToolCall, ToolResult, TurnEvent


class TurnProgress:
    """`began` is the time of the first event, `latest` that of the last one; None before there is
    one. `changed` are the paths of the files that its calls have changed."""

    def __init__(self) -> None:
        self.began: datetime | None = None
        self.latest: datetime | None = None
        self.changed: set[str] = set()
        # Those without a result, in the order of their beginnings.
        self._running: dict[str, ToolCall] = {}

    @property
    def newest_call(self) -> ToolCall | None:
        """Of the calls that run, or wait for a decision, the one that was begun last."""
        return next(reversed(self._running.values()), None)

    def note_event(self, event: TurnEvent) -> None:
        """An event of the turn has come."""
        self.began, self.latest = self.began or event.time, event.time
        if isinstance(event.body, ToolCall):
            self._running[event.body.call_id] = event.body
        elif isinstance(event.body, ToolResult):
            self._running.pop(event.body.call_id, None)
            self.changed.update(event.body.changed)
