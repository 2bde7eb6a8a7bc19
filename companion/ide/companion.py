"""The companion as the editor sees it: passes events and questions to a thread of its own."""

from __future__ import annotations

import asyncio
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Callable, Mapping, TypeVar

from ..base.answer import Answer, Unanswered
from ..base.log import logger
from ..base.loop_thread import LoopThread, State
from . import discovery
from .claude import lock_file, plugin_folder
from .editor import Editor
from .events import Event
from .questions import Question
from .reach import LOOPBACK
from .reach import Reach as Reach

if TYPE_CHECKING:
    from .windows import Windows

T = TypeVar("T")

NAME = "GeminiCompanion"
# Seconds that a stop waits for the thread: more than connections get to finish, so this limit is
# reached only if something is wrong.
JOIN = 2.0
# The same where the editor quits, which waits for it.
QUITTING = 0.2
STOPPED = (
    'It stopped working; run "Gemini Companion: Show Log" from the command palette to see why, and'
    ' "Gemini Companion: Restart Companion" to start it again.'
)
FAILED = 'That failed; "Gemini Companion: Show Log" shows more.'
ENDED = "It has stopped meanwhile; try again."


class Companion:
    """The inbound port of the editor with which it is started. `pid` is the editor's process.
    `state_path` is a file of this user for the state that is saved over a restart, None if nothing
    is saved.

    Every method may be called from any thread and returns at once, except that `stop` waits for as
    long as it is told. After the end the methods do nothing. `environments` holds, by window id,
    the variables for the terminals of each window. It is replaced as a whole and never changed, so
    any thread may read it.
    """

    # From the start on.
    _editor: Editor

    def __init__(
        self,
        pid: int,
        state_path: str | None = None,
        reach: Reach = LOOPBACK,
    ) -> None:
        self.environments: Mapping[int, Mapping[str, str]] = {}
        self._pid = pid
        self._state_path = state_path
        self._reach = reach
        # The open questions; each with the future that finds the answer, once there is one.
        self._asked: dict[Answer[Any], asyncio.Future[Any] | None] = {}
        self._thread: LoopThread[Windows] = LoopThread(
            NAME, self._serve_windows, STOPPED, self._thread_ended
        )

    def start(self, editor: Editor) -> None:
        """Start the thread, which serves this editor. It first waits for an earlier companion that
        is still ending."""
        self._editor = editor
        self._thread.start()

    def post(self, event: Event) -> None:
        """Report an event. Events are applied in the order of the posts, including those from
        before the start."""
        self._thread.post(event.apply)

    def ask(self, question: Question[T]) -> Answer[T]:
        """Ask a question, in one order with the posts. There is always an answer: it is Unanswered
        if the companion fails or ends first."""
        answer: Answer[T] = Answer()
        self._asked[answer] = None
        self._thread.post(partial(self._find_answer, question, answer))
        if self._thread.state is State.OVER:
            # The companion may have ended in this very moment.
            self._leave_unanswered()
        return answer

    def stop(self, join: float = JOIN) -> None:
        """End sessions, sockets, files and the thread; waits for at most `join` seconds."""
        self._thread.stop(lambda windows: windows.stop(), join)

    def quit(self) -> None:
        """The editor quits: remove its discovery files without the thread, and stop."""
        discovery.remove_all(self._pid, self._reach.folder)
        lock_file.remove_locks()
        self.stop(QUITTING)
        # Whoever waits there got an answer before.
        plugin_folder.remove_own_folders()

    @property
    def is_running(self) -> bool:
        """Whether the companion takes events and questions."""
        return self._thread.is_alive

    @property
    def problem(self) -> str:
        """Why the thread ended by itself, as a sentence for the user; empty if it did not."""
        return self._thread.problem

    async def _serve_windows(self, ready: Callable[[Windows], None]) -> None:
        # Imported here, not at the top: it imports aiohttp, which would block the editor's thread
        # for the time of several keystrokes.
        from .windows import Windows

        windows = Windows(
            self._editor, self._pid, self._set_environments, self._state_path, self._reach
        )
        await windows.run(on_ready=lambda: ready(windows))

    def _find_answer(self, question: Question[T], answer: Answer[T], windows: Windows) -> None:
        """The boundary of questions: a question that fails stays without an answer."""
        try:
            found: Any = question.find_answer(windows)
        except Exception:
            logger.exception("%s has no answer", type(question).__name__)
            self._fail_answer(answer, FAILED)
            return
        if isawaitable(found):
            self._asked[answer] = finding = asyncio.ensure_future(found)
            finding.add_done_callback(partial(self._give_answer, question, answer))
        else:
            self._asked.pop(answer, None)
            answer.give(found)

    def _give_answer(
        self, question: Question[T], answer: Answer[T], finding: asyncio.Future[T]
    ) -> None:
        if finding.cancelled():
            self._fail_answer(answer, ENDED)
        elif finding.exception() is not None:
            error = finding.exception()
            logger.error("%s has no answer", type(question).__name__, exc_info=error)
            self._fail_answer(answer, FAILED)
        else:
            self._asked.pop(answer, None)
            answer.give(finding.result())

    def _fail_answer(self, answer: Answer[Any], sentence: str) -> None:
        self._asked.pop(answer, None)
        answer.fail(Unanswered(sentence))

    def _leave_unanswered(self) -> None:
        for answer in list(self._asked):
            self._fail_answer(answer, self.problem or ENDED)

    def _thread_ended(self) -> None:
        self._leave_unanswered()
        self.environments = {}
        if self.problem:
            self._editor.show_message(self.problem, about="companion")

    def _set_environments(self, environments: Mapping[int, Mapping[str, str]]) -> None:
        self.environments = environments
