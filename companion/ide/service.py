"""The companion as the editor holds it: one thread and the way onto it; knows no event.

Every method of `Companion` may be called from any thread, never blocks (but for `stop`, which is
bounded), and does nothing once the companion has stopped. What is handed over is frozen.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Callable, Mapping

from ..base import import_errors
from ..base.log import logger
from .editor import Editor
from .events import Event

if TYPE_CHECKING:
    from .windows import Windows

NAME = "GeminiCompanion"
# Seconds that a stop waits for the thread: more than connections get to finish, so that it is
# reached only where something is wrong.
JOIN = 2.0
STOPPED = (
    'It stopped working; run "Gemini Companion: Show Log" from the command palette to see why, and'
    ' "Gemini Companion: Restart" to go on.'
)


class Companion:
    """The inbound port. `pid` is the editor's process; `state_path` a file of this user's for what
    outlives a stop, None where nothing does.

    `environments` holds the variables for the terminals of each window by the window's id. It is
    replaced whole and never changed, so any thread may read it. `problem` is why the thread ended
    by itself, a sentence for the user; empty where it did not.
    """

    def __init__(self, editor: Editor, pid: int, state_path: str | None = None) -> None:
        self.environments: Mapping[int, Mapping[str, str]] = {}
        self.problem = ""
        self._editor = editor
        self._pid = pid
        self._state_path = state_path
        self._thread = threading.Thread(target=self._run, name=NAME, daemon=True)
        self._before: list[threading.Thread] = []
        # A caller appends its call and then looks for the loop; the loop shows itself and then
        # drains: so no call is forgotten, and nobody needs a lock.
        self._calls: deque[Callable[[Windows], None]] = deque()
        self._wake: Callable[[], None] | None = None

    def start(self) -> None:
        self._before = [it for it in threading.enumerate() if it.name == NAME]
        self._thread.start()

    def stop(self, join: float = JOIN) -> None:
        """End sessions, sockets, files and thread; waits for that `join` seconds at most."""
        self._post(lambda windows: windows.stop())
        if join and self._thread.is_alive():
            self._thread.join(join)

    @property
    def is_running(self) -> bool:
        """Whether somebody listens to what is told here."""
        return self._thread.is_alive()

    def post(self, event: Event) -> None:
        """Tell what happened. Events are applied in the order of the posts, those from before the
        start included."""
        self._post(event.apply)

    def _post(self, call: Callable[[Windows], None]) -> None:
        """Crossing A: from any thread onto the loop, in order."""
        self._calls.append(call)
        wake = self._wake
        if wake is not None:
            # The loop may close in this very moment; the call has then come too late.
            with suppress(RuntimeError):
                wake()

    def _run(self) -> None:
        """The boundary of the thread: what gets here is our bug, or a library that is missing."""
        try:
            # One that is still ending has the ports, and writes down what this one takes over.
            for thread in self._before:
                thread.join(JOIN)
            asyncio.run(self._serve())
        except Exception as error:
            self._end(import_errors.sentence(error) or STOPPED, error)
        finally:
            self._wake = None
            self._calls = deque(maxlen=0)
            self.environments = {}

    def _end(self, problem: str, error: Exception) -> None:
        self.problem = problem
        if problem == STOPPED:
            logger.error("the companion's thread ended", exc_info=error)
        else:
            # Where it was imported tells nobody anything.
            logger.error("%s (%s)", problem, error)
        self._editor.tell(problem)

    async def _serve(self) -> None:
        # Here, and not at the top: it brings in aiohttp, whose import would hold up the editor's
        # thread for as long as some keystrokes take.
        from .windows import Windows

        loop = asyncio.get_running_loop()
        windows = Windows(self._editor, self._pid, self._set_environments, self._state_path)

        def drain() -> None:
            # Only those that are here now: calls that keep coming must not keep the loop.
            for _ in range(len(self._calls)):
                run_guarded(self._calls.popleft(), windows)

        def wake() -> None:
            loop.call_soon_threadsafe(drain)

        def ready() -> None:
            self._wake = wake
            drain()

        await windows.run(on_ready=ready)

    def _set_environments(self, environments: Mapping[int, Mapping[str, str]]) -> None:
        self.environments = environments


def run_guarded(call: Callable[[Windows], None], windows: Windows) -> None:
    """The boundary of what the editor tells: one call that fails keeps no other from its turn."""
    try:
        call(windows)
    except Exception:
        logger.exception("what the editor told could not be taken in")
