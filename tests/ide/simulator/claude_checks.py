"""What must be true of Claude Code's diffs whatever happens. That no text is lost stands in
`checks`, for all CLIs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator

from companion.ide.claude.waiting_diffs import ACCEPTED, FAILED, OVER, REJECTED, REPLACED
from companion.ide.clis import CLAUDE_CODE

if TYPE_CHECKING:
    from .claude import Question
    from .claude_network import Socket
    from .editor import Diff
    from .world import World

# Errors that say that nobody decides: only where the CLI, or the user by the window, has ended it.
WITHOUT_DECISION = (OVER, FAILED, REPLACED)


class ClaudeLedger:
    def __init__(self, world: World) -> None:
        self.world = world
        # By the numbers of their proposals.
        self._questions: dict[int, Question] = {}
        # When windows were closed.
        self._closings: list[float] = []

    def _violate(self, what: str, question: Question, detail: object = "") -> None:
        self.world.ledger.violate(
            what, f"{question.cli}, {question.proposal.text!r} {detail}".rstrip()
        )

    def _question_of(self, diff: Diff) -> Question | None:
        return self._questions.get(self.world.ledger.origin[diff.text].number)

    # ----- what happens

    def asked(self, question: Question) -> None:
        self._questions[question.proposal.number] = question

    def answered(self, question: Question, socket: Socket, told: list[str]) -> None:
        """An answer to `openDiff` arrived."""
        proposal = question.proposal
        if socket is not question.socket:
            self._violate("answered on another connection", question, told)
        if question.answers:
            self._violate("answered twice", question, [*question.answers, told])
        question.answers.append(told)
        texts = [text for _, text in proposal.decisions]
        is_vanished = bool(proposal.vanished)
        if told[0] == ACCEPTED:
            if told[1] not in [text for text in texts if text is not None]:
                self._violate("accepted by nobody", question, told)
        elif told == [REJECTED]:
            if None not in texts and not is_vanished:
                self._violate("rejected by nobody", question)
        elif told[0] != "error":
            self._violate("an answer that is none", question, told)
        elif question.closed_at > self.world.loop.now:
            self._check_error(question, socket, told)

    def _check_error(self, question: Question, socket: Socket, told: list[str]) -> None:
        """An error leaves the question in the terminal. So does a window that closes, also for
        what waits for its turn there, and a companion that stops."""
        if question.proposal.decisions:
            self._violate("decided and not told", question, told)
        elif told[-1] in WITHOUT_DECISION:
            is_served = self.world.scene.is_served_by(socket.endpoint.process)
            if is_served and max(self._closings, default=0.0) < question.proposal.at:
                self._violate("ended by nobody", question, told)

    def window_closed(self) -> None:
        self._closings.append(self.world.loop.now)

    def closed(self, diff: Diff) -> None:
        """The companion has the editor close a diff. One that a crash brought back goes where its
        text comes back by itself."""
        question = self._question_of(diff)
        if question is not None and not question.proposal.decisions and not diff.is_restored:
            if question.closed_at > self.world.loop.now:
                self._violate("closed for nobody", question)

    def replaced(self, diff: Diff) -> None:
        """A diff has to make room for another one."""
        question = self._question_of(diff)
        if question is not None and self._waits(question):
            self._violate("replaced while it waits", question)

    def _waits(self, question: Question) -> bool:
        """Whether the CLI waits for its answer, and the companion can give one."""
        return _is_live(question) and not question.answers and not question.is_decided

    # ----- what must be true in the end

    def check(self) -> None:
        for question in self._questions.values():
            if _is_live(question) and not question.cli.is_dead:
                self._check_live(question)
        self._check_sessions()
        for diff in self.world.scene.diffs():
            self._check_mark(diff)

    def _check_live(self, question: Question) -> None:
        """One whose connection lives."""
        is_open = self._is_open(question)
        if question.closed_at < self.world.loop.now:
            if is_open:
                self._violate("open though its CLI has closed it", question)
            elif not question.answers:
                self._violate("never answered", question)
        elif self._waits(question) and not is_open:
            if question.proposal.decisions:
                self._violate("decided and not told", question)
            elif not any(map(self._is_open, self._rivals(question))):
                self._violate("waits for nothing", question)

    def _rivals(self, question: Question) -> Iterator[Question]:
        """Those of the same file and connection, of which one is shown at a time."""
        for each in self._questions.values():
            if each.proposal.path == question.proposal.path and each.socket is question.socket:
                yield each

    def _is_open(self, question: Question) -> bool:
        return any(self._question_of(diff) is question for diff in self.world.scene.diffs())

    def _check_sessions(self) -> None:
        """A connection that is over leaves no session."""
        companion = self.world.scene.companion
        windows = companion.windows if companion is not None else None
        for workspace in windows or ():
            sessions = [each for each in workspace.sessions if each.cli is CLAUDE_CODE]
            if len(sessions) > len(self.world.network.sockets):
                detail = f"{len(sessions)} in window {workspace.window_id}"
                self.world.ledger.violate("a session without a connection", detail)

    def _check_mark(self, diff: Diff) -> None:
        """Its head says whether anybody waits for it."""
        question = self._question_of(diff)
        if question is None:
            return
        if _is_live(question) and diff.is_orphaned:
            self._violate("said to be alone while its CLI waits", question)
        elif not _is_live(question) and not diff.is_orphaned:
            self._violate("not said to be alone", question)


def _is_live(question: Question) -> bool:
    socket = question.socket
    return socket is not None and not socket.is_cut and socket is question.cli.socket
