"""The agent of an editor, on a thread of its own, for as long as somebody uses it. Knows neither
HTTP nor an editor.

Its users are coroutines: one is served from `add_user` until its `use_agent` returns. With the
last one the agent and its thread end, and with the next one they begin anew.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from abc import ABC, abstractmethod
from typing import Callable, Sequence

from ..base.child_processes import end_tree
from ..base.log import logger
from ..base.loop_thread import LoopThread, sentence_of
from ..base.private_files import NotPrivate
from .agent import Agent, Options
from .processes.runner import Launch

NAME = "GeminiCompanion Agent"
# When the editor quits, it waits at most this many seconds until the commands of turns have ended.
QUITTING = 1.0
NO_STATE = "{} cannot be used: {}. Fix that and try again."
# Where the system names no file.
FOLDER = "The folder of the agents"
STOPPED = (
    'The agent stopped working; run "Gemini Companion: Show Log" from the command palette to see'
    " why, and try again."
)


class Unavailable(Exception):
    """There can be no agent, or no use of it; the text is a sentence for the user."""


class User(ABC):
    """Somebody who uses the engine. `sorry` is the sentence for a fault of ours in `use_agent`."""

    sorry = STOPPED

    @abstractmethod
    async def use_agent(self, agent: Agent) -> None:
        """Use the agent, on its loop; with the return the use is over. Cancelled when the editor
        quits. Raises Unavailable."""

    @abstractmethod
    def report_end(self, problem: str) -> None:
        """The use is over, on the engine's thread; `problem` says why it ended by itself, as a
        sentence, or is empty. Not called when the editor quits."""


class Engine:
    """Every method may be called from any thread, and does not block (`quit` blocks for a moment).
    `options` is called on the engine's thread at each start; it raises Unavailable, NotPrivate,
    OSError."""

    def __init__(self, options: Callable[[], Options]) -> None:
        self._options = options
        # Held for moments: who comes, and whether there is a run that takes them, is one fact.
        self._door = threading.Lock()
        self._waiting: list[User] = []
        self._run: _Run | None = None

    def add_user(self, user: User) -> None:
        """Serve them soon; the thread is started if none runs."""
        with self._door:
            self._waiting.append(user)
            if self._run is None:
                self._run = _Run(self._options, self._next_users)
                self._run.thread.start()
            run = self._run
        run.thread.post(_Bell.ring)

    def post_call(self, call: Callable[[], object]) -> None:
        """Make the call on the engine's loop, after all that were posted before; never, if none
        runs."""
        run = self._run
        if run is not None:
            run.thread.post(lambda bell: call())

    def look_at_agent(self, look: Callable[[Agent], object]) -> bool:
        """Call it soon with the agent, on the engine's loop. False if there is none: then it is
        never called."""
        run = self._run
        return run is not None and run.look_at_agent(look)

    def offer_launches(self, launches: Sequence[Launch]) -> None:
        """Offer these, too, the usual one first, if it runs; else its next start has `options`."""
        run = self._run
        if run is not None:
            run.thread.post(lambda bell: run.offer_launches(launches))

    def trust_folders(self, folders: Sequence[str]) -> None:
        """Trust workspaces in these folders (absolute paths) from the agents' next processes on, if
        it runs; else its next start has `options`."""
        run = self._run
        if run is not None:
            run.thread.post(lambda bell: run.trust_folders(folders))

    def quit(self) -> None:
        """The editor quits: turns get a moment, and the CLIs are killed. No user hears of it."""
        with self._door:
            run, self._run = self._run, None
            self._waiting.clear()
        if run is not None:
            pids = run.pids
            run.thread.stop(_Bell.quit, QUITTING)
            kill_processes(pids)

    def _next_users(self, run: _Run, is_used: bool) -> Sequence[User]:
        """Who is to be served by the run; if there is nobody and it is not used, it is left, and
        the next user has another one."""
        with self._door:
            if run is not self._run:
                return ()
            users, self._waiting = self._waiting, []
            if not users and not is_used:
                self._run = None
            return users


class _Bell:
    """Tells a run that somebody waits, or that the editor quits. Belongs to its loop."""

    def __init__(self) -> None:
        self.is_quitting = False
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    def quit(self) -> None:
        self.is_quitting = True
        self.ring()

    async def wait(self) -> None:
        await self._rung.wait()
        self._rung.clear()


class _Run:
    """One agent and its thread. `following` gives the users to be served."""

    def __init__(
        self, options: Callable[[], Options], following: Callable[[_Run, bool], Sequence[User]]
    ) -> None:
        self.thread: LoopThread[_Bell] = LoopThread(NAME, self._run_agent, STOPPED, self._end_uses)
        self._options = options
        self._following = following
        self._agent: Agent | None = None
        self._problem = ""
        self._is_quitting = False

    @property
    def pids(self) -> list[int]:
        """The process ids of the CLIs."""
        agent = self._agent
        return [] if agent is None else [each.pid for each in agent.backends.processes]

    def look_at_agent(self, look: Callable[[Agent], object]) -> bool:
        agent = self._agent
        if agent is None:
            return False
        self.thread.post(lambda bell: look(agent))
        return True

    def offer_launches(self, launches: Sequence[Launch]) -> None:
        if self._agent is not None:
            self._agent.backends.offer_launches(launches)

    def trust_folders(self, folders: Sequence[str]) -> None:
        if self._agent is not None:
            self._agent.clis.trust_folders(folders)

    async def _run_agent(self, ready: Callable[[_Bell], None]) -> None:
        bell = _Bell()
        ready(bell)
        try:
            agent = Agent(self._options())
            await agent.load_conversations()
        except (Unavailable, NotPrivate) as error:
            self._note_problem(str(error))
            return
        except OSError as error:
            self._note_problem(NO_STATE.format(error.filename or FOLDER, error.strerror or error))
            return
        self._agent = agent
        try:
            await self._serve_users(agent, bell)
        finally:
            await agent.stop()

    async def _serve_users(self, agent: Agent, bell: _Bell) -> None:
        """Until nobody uses the agent, or the editor quits."""
        served: set[asyncio.Future[None]] = set()
        ringing = asyncio.ensure_future(bell.wait())
        try:
            while not bell.is_quitting:
                users = self._following(self, bool(served))
                served |= {asyncio.ensure_future(self._serve_user(user, agent)) for user in users}
                if not served:
                    return
                await asyncio.wait({ringing, *served}, return_when=asyncio.FIRST_COMPLETED)
                served = {task for task in served if not task.done()}
                if ringing.done():
                    ringing = asyncio.ensure_future(bell.wait())
            self._is_quitting = True
            await agent.turns.cancel_and_wait()
            kill_processes(self.pids)
        finally:
            for each in (ringing, *served):
                each.cancel()
            await asyncio.gather(*served, return_exceptions=True)

    async def _serve_user(self, user: User, agent: Agent) -> None:
        """The boundary of users: one that fails leaves the others alone."""
        problem = ""
        try:
            await user.use_agent(agent)
        except Unavailable as error:
            problem = str(error)
            logger.warning("%s", problem)
        except Exception as error:
            problem = sentence_of(error, type(user).__name__, user.sorry)
        if not self._is_quitting:
            user.report_end(problem)

    def _note_problem(self, problem: str) -> None:
        self._problem = problem
        logger.warning("%s", problem)

    def _end_uses(self) -> None:
        """Whoever waits now waits for a run that could not serve; nobody else would tell them."""
        self._agent = None
        users = self._following(self, False)
        while users:
            for user in users:
                user.report_end(self._problem or self.thread.problem)
            users = self._following(self, False)


def kill_processes(pids: Sequence[int]) -> None:
    """Kill the CLIs and the commands of their turns. On Windows a CLI ends when its input closes,
    as this process ends; a CLI that hangs stays."""
    if sys.platform != "win32":
        end_tree(*pids)
