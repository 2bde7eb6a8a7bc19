"""What the user is told without asking for it: the status bar, and what they have not seen yet."""

from __future__ import annotations

from ...ide.editor import Status
from ..chat.drafts import DRAFTS
from ..lost_clis import LostClis
from ..review.accepting import about_diff
from ..sharing_settings import is_paused
from ..status_bar import StatusBar
from .agent_parts import AgentParts
from .chat_parts import ChatParts
from .foundation import Foundation
from .review_parts import ReviewParts


class StatusParts:
    def __init__(
        self, base: Foundation, review: ReviewParts, chat: ChatParts, agents: AgentParts
    ) -> None:
        companion, questions = base.companion, chat.actions.questions
        self._unseen, self._clis = base.messages.unseen, agents.clis
        self.lost_clis = LostClis(companion, base.stories, base.messages.tell_user)
        self.bar = StatusBar(
            base.messages.mention_state,
            lambda: companion.is_running,
            is_paused,
            self.lost_clis.lost_names,
            review.ledger.counts,
            questions.status_words,
            agents.count_agents,
        )
        self.lost_clis.changes.subscribe(self.bar.refresh_texts)
        questions.changes.subscribe(self.bar.refresh_texts)
        agents.progress.changes.subscribe(self.bar.refresh_texts)
        self.polls = (self.lost_clis.check_lost, self.bar.refresh_texts, self._unseen.refresh_text)

    def show_statuses(self, statuses: tuple[Status, ...]) -> None:
        """This is the state of all windows now."""
        self._clis.update_clis([cli for status in statuses for cli in status.clis])
        self.bar.update_statuses(statuses)
        self.lost_clis.update_statuses(statuses)

    def start(self) -> None:
        self._unseen.start()

    def stop(self) -> None:
        self.bar.stop()
        self._unseen.stop(_outlives_companion)


def _outlives_companion(about: str) -> bool:
    """Whether what a sentence is about is there without the companion that told it."""
    return about == DRAFTS or about.startswith(about_diff(""))
