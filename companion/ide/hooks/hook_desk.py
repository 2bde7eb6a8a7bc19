"""Receives and answers the hooks of one window's CLIs. Nothing here waits for a person.

The companion's loop owns it.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from functools import partial
from typing import Any, Callable, Collection, Mapping, Protocol

from ...base import private_files
from ...base.background import in_thread
from ...base.log import logger
from .. import hook_events, system_processes
from ..clis import Cli, CliSession
from ..extension_forms import EDITS, Moment
from ..hook_events import HookEvent
from ..live_clis import LiveCli, LiveClis
from ..session import Session
from ..sessions import Sessions
from . import hook_answers
from .hook_answers import NOTHING, HookAnswer
from .open_questions import OpenQuestions

# Seconds for the system to say which process has a connection.
PATIENCE = 2.0
# Processes that are remembered after their end: the last hook of a CLI may come later.
MAX_LOCAL = 1024
# Seconds without a hook after which a CLI counts as gone, if nothing else tells whether it runs.
SILENT = 600.0


class NotConnected(Exception):
    """The hook is for the window that its CLI is connected to, and it is not this one."""


class HookListener(Protocol):
    """Answers hooks. The MCP session is that of the CLI with this window; None if the CLI has none
    here, or if it is not known."""

    async def answer_hook(self, event: HookEvent, session: Session | None) -> HookAnswer: ...


class HookDesk:
    """`port` gives the window's port, `proposing` by the path of a file, as a CLI knows it, the MCP
    sessions that propose a text for it."""

    def __init__(
        self,
        sessions: Sessions,
        port: Callable[[], int],
        proposing: Callable[[str], Collection[str]] = lambda path: (),
    ) -> None:
        self._sessions = sessions
        self._port = port
        self.listeners: list[HookListener] = []
        self.live = LiveClis(time.time)
        self._questions = OpenQuestions(self.live)
        # By the CLI's id: the extension's version in its last report, and the time of that, in
        # seconds since the epoch.
        self.heard_of: dict[str, tuple[str, float]] = {}
        # The CLIs whose last hook came from the extension of an earlier version.
        self.outdated: set[Cli] = set()
        # The ports of processes with connections to this window, valid as long as the window has
        # the same connections.
        self._ports: dict[int, frozenset[int] | None] = {}
        self._peers: frozenset[int] = frozenset()
        # The CLIs' processes that this system knows, unlike those in a container for example.
        self._local: set[int] = set()
        # CLIs of which a hook was for another window, if that has one for them.
        self._elsewhere: list[LiveCli] = []
        # Those of other systems that have been connected.
        self._were_connected: set[CliSession] = set()
        self._proposing = proposing

    async def answer_hook(
        self, cli: Cli, body: Any, is_there: Callable[[], bool] = lambda: True
    ) -> Mapping[str, Any]:
        """The output of the hook. `is_there` tells whether it still waits. Raises BadHook and
        NotConnected."""
        event = read_event(cli, body)
        if event is None:
            return {}
        self._note_process(event)
        session = await self.mcp_session_of(event)
        known = self.live.find(event)
        self._elsewhere = [cli for cli in self._elsewhere if cli != known]
        if event.only_connected and session is None:
            self._elsewhere += [known] if known is not None else []
            raise NotConnected
        return await self.answer_event(event, session, is_there)

    def _note_process(self, event: HookEvent) -> None:
        """Note at once that it runs, because it may end while anything is waited for."""
        self._local |= running_processes({event.pid} - {0})

    async def answer_event(
        self, event: HookEvent, session: Session | None, is_there: Callable[[], bool]
    ) -> Mapping[str, Any]:
        """The output of the hook, whose CLI has that MCP session."""
        self._note_process(event)
        self.heard_of[event.cli.id] = (event.version, time.time())
        self.outdated.discard(event.cli)
        self.live.apply_hook(event, session.id if session is not None else "")
        if event.moment is Moment.ASKS:
            self._questions.watch_question(event)
        answer, went_out = NOTHING, False
        try:
            for listener in self.listeners:
                answer = answer.with_more(await listener.answer_hook(event, session))
            went_out = is_there()
        finally:
            for settle in answer.settle:
                settle(went_out)
        return hook_answers.hook_output(event, answer)

    def forget_moved(self, event: HookEvent) -> None:
        """The event's CLI is in another window now."""
        known = self.live.find(event)
        if known is not None:
            self.live.forget([known])

    def note_outdated(self, cli: Cli) -> None:
        """A hook came from an extension that does not prove itself, as those of earlier versions
        did not."""
        if cli not in self.outdated:
            logger.warning("the extension of %s is that of an earlier version", cli.name)
            self.outdated.add(cli)
            self.live.changes.emit()

    async def mcp_session_of(self, event: HookEvent) -> Session | None:
        """The MCP session of the hook's CLI, found by its process's connection to this window, or
        by its proposal if the system does not know the process; None if it has none, or if nobody
        can tell."""
        peers = {
            session.stream.peer: session
            for session in self._sessions
            if session.stream and session.cli == event.cli
        }
        ports = await self._ports_of(event.pid, peers) if event.pid else None
        if ports is None:
            id = self._proposing_mcp_session(event)
            return next((session for session in peers.values() if session.id == id), None)
        found = [peers[port] for port in ports if port in peers]
        # A CLI that connects again has two sessions for a moment.
        return max(found, key=lambda session: session.ordinal) if found else None

    def _proposing_mcp_session(self, event: HookEvent) -> str:
        """The id of the MCP session that proposes the edit about which a CLI asks, and from then on
        that of this CLI; empty if nobody can tell. The proposal comes before the hook
        (docs/protocol.md 9.61)."""
        asks = event.moment is Moment.ASKS and event.kind in EDITS
        proposing = self._proposing(event.subject) if asks else ()
        if len(proposing) == 1:
            return next(iter(proposing))
        known = self.live.find(event)
        return known.mcp_session if known is not None else ""

    async def _ports_of(self, pid: int, peers: Mapping[int, Session]) -> frozenset[int] | None:
        """The ports at the process's end of its connections to this window; None if the system does
        not tell."""
        if self._peers != frozenset(peers):
            self._peers, self._ports = frozenset(peers), {}
        if not peers or pid in self._ports:
            return self._ports.get(pid, frozenset())
        try:
            ports = await in_thread(partial(system_processes.ports_to, pid, self._port()), PATIENCE)
        except asyncio.TimeoutError:
            return None
        # What the system said before the CLI connected is not what it would say now.
        if self._peers == frozenset(peers):
            self._ports[pid] = ports
        return ports

    def stop(self) -> None:
        self._questions.stop()

    async def forget_ended(self) -> list[LiveCli]:
        """Forget CLIs that have ended or left; call it from time to time, because a killed CLI does
        not report its end. Gives those whose process has ended, unless another one goes on with the
        session."""
        known = self.live.all()
        pids = {each.pid for each in known} & self._local
        gone = pids - await in_thread(partial(running_processes, pids)) if pids else set()
        ended = [cli for cli in known if cli.pid in gone]
        self.live.forget([*ended, *(cli for cli in known if self._has_left(cli))])
        self._elsewhere = []
        live = {each.cli_session for each in self.live.all()}
        self._were_connected &= live
        if len(self._local) > MAX_LOCAL:
            self._local &= {each.pid for each in self.live.all()}
        return [cli for cli in ended if cli.cli_session not in live]

    def _has_left(self, cli: LiveCli) -> bool:
        """Whether it went to another window; or, of one whose process this system does not know,
        whether its connection is gone, or nothing was heard for long."""
        if cli in self._elsewhere:
            return True
        if cli.pid in self._local:
            return False
        present = [session for session in self._sessions if not self._sessions.is_absent(session)]
        key, its = cli.cli_session, cli.mcp_session
        if any(session.id == its if its else session.cli.id == cli.cli_id for session in present):
            self._were_connected.add(key)
            return False
        is_silent = time.time() - self.heard_of[cli.cli_id][1] > SILENT
        return its != "" or key in self._were_connected or is_silent


def read_event(cli: Cli, body: Any) -> HookEvent | None:
    """The event with the process by which this system knows its CLI. As `hook_events.read_hook`."""
    told = hook_events.read_hook(cli, body)
    return replace(told, pid=_local_process(told)) if told is not None else None


def _local_process(event: HookEvent) -> int:
    """The CLI's process; 0 if this system does not know it, because it is one in a container, or
    of another system on this machine."""
    is_here = not event.namespace or event.namespace == system_processes.process_namespace()
    return system_processes.of_hook(event.pid) if is_here else 0


def running_processes(pids: set[int]) -> set[int]:
    return {pid for pid in pids if private_files.is_running(pid)}
