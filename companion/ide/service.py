"""The companion as the editor holds it: what it is told goes onto a thread of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Mapping

from ..base.loop_thread import LoopThread
from .editor import Editor
from .events import Event
from .reach import LOOPBACK, Reach

if TYPE_CHECKING:
    from .windows import Windows

NAME = "GeminiCompanion"
# Seconds that a stop waits for the thread: more than connections get to finish, so that it is
# reached only where something is wrong.
JOIN = 2.0
STOPPED = (
    'It stopped working; run "Gemini Companion: Show Log" from the command palette to see why, and'
    ' "Gemini Companion: Restart Companion" to start it again.'
)


class Companion:
    """The inbound port. `pid` is the editor's process; `state_path` a file of this user's for what
    outlives a stop, None where nothing does.

    Every method may be called from any thread and returns at once (`stop` waits as long as it is
    told), and does nothing after the end. `environments` holds the variables for the terminals of
    each window by the window's id; it is replaced whole and never changed, so any thread may read
    it.
    """

    def __init__(
        self,
        editor: Editor,
        pid: int,
        state_path: str | None = None,
        reach: Reach = LOOPBACK,
    ) -> None:
        self.environments: Mapping[int, Mapping[str, str]] = {}
        self._editor = editor
        self._pid = pid
        self._state_path = state_path
        self._reach = reach
        self._thread: LoopThread[Windows] = LoopThread(NAME, self._serve, STOPPED, self._over)

    def start(self) -> None:
        """A companion before this one that is still ending is waited for on the new thread."""
        self._thread.start()

    def post(self, event: Event) -> None:
        """Tell what happened. Events are applied in the order of the posts, those from before the
        start included."""
        self._thread.post(event.apply)

    def stop(self, join: float = JOIN) -> None:
        """End sessions, sockets, files and thread; waits for that `join` seconds at most."""
        self._thread.stop(lambda windows: windows.stop(), join)

    @property
    def is_running(self) -> bool:
        """Whether somebody listens to what is told here."""
        return self._thread.is_alive

    @property
    def problem(self) -> str:
        """Why the thread ended by itself, a sentence for the user; empty where it did not."""
        return self._thread.problem

    async def _serve(self, ready: Callable[[Windows], None]) -> None:
        # Here, and not at the top: it brings in aiohttp, whose import would hold up the editor's
        # thread for as long as some keystrokes take.
        from .windows import Windows

        windows = Windows(
            self._editor, self._pid, self._set_environments, self._state_path, self._reach
        )
        await windows.run(on_ready=lambda: ready(windows))

    def _over(self) -> None:
        self.environments = {}
        if self.problem:
            self._editor.tell(self.problem)

    def _set_environments(self, environments: Mapping[int, Mapping[str, str]]) -> None:
        self.environments = environments
