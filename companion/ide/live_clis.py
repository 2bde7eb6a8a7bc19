"""The present activity of each CLI of a window, from its hooks. The companion's loop owns it.

A killed CLI does not report its end: `forget` removes processes that have ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Callable, Collection

from ..base.signal import Signal
from .clis import CliSession
from .extension_forms import Moment, ToolKind
from .hook_events import HookEvent

# The most CLIs of one window that are kept: more than anybody runs.
MAX_CLIS = 64


class Activity(Enum):
    """The activity of a CLI. ASKS: it waits for an answer of the user."""

    IDLE = "idle"
    WORKING = "working"
    ASKS = "asks"
    DONE = "done"


@dataclass(frozen=True)
class LiveCli:
    """A CLI after its last hook. It has had this activity `since` then, in seconds since the epoch.
    `cli_session_id` is the CLI's own. `mcp_session` is the id of its MCP session with this window,
    empty if it has none or it is not known. `prompt` is the prompt of the turn. `kind` and
    `subject` describe the tool that runs or is asked about: a path as the CLI knows it, or a
    command. `is_in_editor` says that the user can also decide in the editor. Its
    first hook ran at `started`.
    """

    cli_id: str
    name: str
    cli_session_id: str
    pid: int
    mcp_session: str = ""
    activity: Activity = Activity.IDLE
    since: float = 0.0
    prompt: str = ""
    kind: ToolKind | None = None
    subject: str = ""
    is_in_editor: bool = False
    started: float = 0.0

    @property
    def cli_session(self) -> CliSession:
        return CliSession(self.cli_id, self.cli_session_id)


class LiveClis:
    """`clock` gives seconds since the epoch; `changes` says that a CLI has changed. None of it is
    saved."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.changes = Signal()
        self._known: dict[CliSession, LiveCli] = {}

    def all(self) -> tuple[LiveCli, ...]:
        return tuple(self._known.values())

    def find(self, event: HookEvent) -> LiveCli | None:
        return self._known.get(event.cli_session)

    def apply_hook(self, event: HookEvent, mcp_session: str = "") -> None:
        """A hook ran."""
        if event.replaces and event.pid:
            # The hook of its end may be lost, and the process goes on.
            its = [cli for cli in self._known.values() if cli.pid == event.pid]
            self.forget([cli for cli in its if cli.cli_session != event.cli_session])
        known = self._known.pop(event.cli_session, None)
        if event.moment is not Moment.ENDED:
            before = known or self._new_cli(event)
            linked = replace(before, pid=event.pid, mcp_session=mcp_session or before.mcp_session)
            self._known[event.cli_session] = self._cli_after(linked, event)
            while len(self._known) > MAX_CLIS:
                del self._known[next(iter(self._known))]
        if self._known.get(event.cli_session) != known:
            self.changes.emit()

    def note_decision(self, mcp_session: str, is_accepted: bool) -> None:
        """The user decided in the editor. A rejection ends the CLI's turn without a hook
        (docs/protocol.md 9)."""
        activity = Activity.WORKING if is_accepted else Activity.DONE
        for key, each in self._known.items():
            if mcp_session and each.mcp_session == mcp_session:
                self._known[key] = self._with_activity(each, activity)
                self.changes.emit()

    def note_answer(self, event: HookEvent, is_allowed: bool) -> None:
        """The user has answered in the terminal what the event asked."""
        known = self._known.get(event.cli_session)
        if known is not None and known.activity is Activity.ASKS:
            now = self._with_activity(known, Activity.WORKING if is_allowed else Activity.DONE)
            if is_allowed:
                now = replace(now, kind=known.kind, subject=known.subject)
            self._known[event.cli_session] = now
            self.changes.emit()

    def forget(self, gone: Collection[LiveCli]) -> None:
        """Forget CLIs that have ended, unless something was heard of them since."""
        keys = [key for key, each in self._known.items() if each in gone]
        for key in keys:
            del self._known[key]
        if keys:
            self.changes.emit()

    def _cli_after(self, known: LiveCli, event: HookEvent) -> LiveCli:
        if event.moment is Moment.STARTED:
            return self._with_activity(replace(known, prompt=""), Activity.IDLE)
        if event.moment is Moment.ANSWERED:
            return self._with_activity(known, Activity.DONE)
        if event.moment is Moment.PROMPTED:
            # Qwen Code sends the prompt only with the first request of a turn.
            known = replace(known, prompt=event.prompt or known.prompt)
        activity = Activity.ASKS if event.moment is Moment.ASKS else Activity.WORKING
        now = self._with_activity(known, activity)
        if event.moment in (Moment.TOOL_BEGINS, Moment.ASKS):
            return replace(now, kind=event.kind, subject=event.subject)
        return now

    def _new_cli(self, event: HookEvent) -> LiveCli:
        cli, now = event.cli, self._clock()
        return LiveCli(cli.id, cli.name, event.cli_session_id, event.pid, since=now, started=now)

    def _with_activity(self, known: LiveCli, activity: Activity) -> LiveCli:
        since = known.since if known.activity is activity else self._clock()
        return replace(known, activity=activity, since=since, kind=None, subject="")
