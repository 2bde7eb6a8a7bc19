"""The user's answers to the questions of agents, by commands and by links. UI thread only.

Nothing is allowed unseen: what is about a question that was not in sight, all of it, only shows it
at first.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping

import sublime

from ...agent.turn_events import ALWAYS, ALWAYS_SERVER, ALWAYS_TOOL, CANCEL, MODIFY, ONCE
from ...chat import rendered
from ...chat.amounts import count_text, one_line, shorten_text
from ...chat.question import PERMISSION
from ..stories import Stories
from .chat_view import ChatView
from .replies import Replies
from .waiting_questions import WaitingQuestion, WaitingQuestions

ALLOW, ALLOW_ALWAYS, DENY, DENY_WITH_NOTE = "Allow", "Allow Always", "Deny", "Deny with Note"
NO = (CANCEL,)
# What of a permission each of them can choose.
OUTCOMES: Mapping[str, tuple[str, ...]] = {
    ALLOW: (ONCE,),
    ALLOW_ALWAYS: (ALWAYS, ALWAYS_TOOL, ALWAYS_SERVER),
    DENY: NO,
    DENY_WITH_NOTE: NO,
}
NONE_WAITS = "No question of an agent waits in this window."
ON_ITS_WAY = "That is answered already."
OVER = "That question was answered, or the agent took it back."
SHOWN = "{} was not in sight until now, or not all of it. Read it, then choose {} again."
UNSEEN_ROWS = (
    "Of the question about {}, lines {} to {} of {} were not in sight until now. Read them, then "
    "choose {} again."
)
NO_SUCH = "This question does not offer {}. You can answer: {}."
TOO_LONG = "This is too long for the chat. A tab shows all of it: read it there, then choose again."
ALLOWED = "Allowed once: {}."
DENIED = "Denied: {}."
STILL_WAIT = "{} still wait{}: scroll through them, and look at their edits, before you allow them."
MOVED = "The questions have moved just now: look at them again, then choose Allow All Shown again."
MAX_TITLE = 60
# The actions of links that answer a question, and those that answer all.
ALL_ACTIONS = (rendered.ALLOW_ALL_SHOWN, rendered.DENY_ALL)
QUESTION_ACTIONS = (rendered.DECIDE, rendered.ANSWER, rendered.DECLINE, *ALL_ACTIONS)


class Answering:
    def __init__(
        self,
        questions: WaitingQuestions,
        replies: Replies,
        stories: Stories,
        tell: Callable[[str], None],
    ) -> None:
        self._questions = questions
        self._replies = replies
        self._stories = stories
        self._tell = tell

    def follow_update(self, chat: ChatView) -> None:
        """An update of the chat was drawn."""
        self._replies.withdraw_stale_panels(chat)
        self._questions.update_questions(chat)

    def close_questions(self, chat: ChatView) -> None:
        """The user closes its last view: nobody would see its questions any more."""
        self._replies.decline_all(chat)
        self._questions.forget_chat(chat)

    def show_question(self, window: sublime.Window) -> None:
        """Go to the question that a command would be about."""
        asked = self._questions.current_question(window)
        if asked is None:
            self._tell(NONE_WAITS)
            return
        view = asked.view_in(window)
        if view is not None:
            window.focus_view(view)
        self._questions.show_question(asked, window)

    def decide_question(self, window: sublime.Window, decision: str) -> None:
        """`decision` is one of OUTCOMES."""
        asked = self._questions.current_question(window)
        if asked is None:
            self._tell(NONE_WAITS)
        elif self._may_decide(asked, window, decision):
            if asked.question.kind == PERMISSION:
                self._choose_outcome(asked, window, decision)
            else:
                self._answer_question(asked, window, decision)

    def allow_all_shown(self, window: sublime.Window) -> None:
        """Allow once what the current chat asks for, as far as all of it was in sight."""
        chat = self._questions.current_chat(window)
        waiting = _open_permissions(chat, self._replies)
        if chat is None or not waiting:
            self._tell(NONE_WAITS)
        elif self._questions.sight.has_moved(chat.conversation):
            self._tell(MOVED)
        else:
            decisions = [
                (asked, option)
                for asked in self._questions.read_questions(chat)
                for option in asked.question.options
                if option.outcome == ONCE and self._replies.can_allow_unasked(asked)
            ]
            self._tell(_allowed_words(len(decisions), len(waiting)))
            self._replies.decide_all(decisions)

    def deny_all(self, window: sublime.Window) -> None:
        """Deny all that the current chat asks for."""
        chat = self._questions.current_chat(window)
        waiting = _open_permissions(chat, self._replies)
        if not waiting:
            self._tell(NONE_WAITS)
            return
        self._tell(DENIED.format(count_text(len(waiting), "question")))
        self._replies.decide_all(
            [
                (asked, option)
                for asked in waiting
                for option in asked.question.options
                if option.outcome == CANCEL
            ]
        )

    def follow_link(self, view: sublime.View, chat: ChatView, action: str, told: Any) -> None:
        """A link of a question: one of QUESTION_ACTIONS, and the members of its argument."""
        window, id = view.window(), told.get("call") or told.get("elicitation")
        if window is not None and action in ALL_ACTIONS:
            window.focus_view(view)
            decide = self.deny_all if action == rendered.DENY_ALL else self.allow_all_shown
            decide(window)
            return
        found = [
            question
            for question in chat.waiting_questions
            if (question.turn, question.id) == (told.get("turn"), id)
        ]
        if action == rendered.DECIDE:
            found = [question for question in found if question.revision == told.get("revision")]
        if window is None or not found:
            self._tell(OVER)
            return
        asked = WaitingQuestion(chat, found[0])
        if asked.question.kind != PERMISSION:
            if self._is_open(asked):
                self._answer_question(asked, window, ALLOW if action == rendered.ANSWER else DENY)
            return
        options = [
            option for option in asked.question.options if option.outcome == told.get("outcome")
        ]
        for option in options:
            is_no = option.outcome == CANCEL
            if option.outcome == MODIFY:
                self._replies.go_to_review(asked)
            elif (
                self._is_open(asked)
                if is_no
                else self._may_decide(asked, window, str(option.label))
            ):
                self._stories.begin(self._replies.decide_call(asked, option), window)

    def show_all(self, view: sublime.View, chat: ChatView, told: Any) -> bool:
        """The link below a command that is too long for the chat; False if that waits no more."""
        window, asked = view.window(), _find_waiting_question(chat, told)
        if window is None or asked is None:
            return False
        self._replies.whole_texts.show_text(asked, window)
        return True

    def show_edit(self, view: sublime.View, chat: ChatView, told: Any) -> bool:
        """The link of an edit: its review, or all edits of a call that has no reviews. False if
        that waits no more."""
        asked = _find_waiting_question(chat, told)
        if asked is None or self._replies.go_to_edit(asked, str(told.get("path"))):
            return asked is not None
        # A review that is not there yet is about to open.
        return asked.question.has_reviews or self.show_all(view, chat, told)

    def show_call(self, conversation: str, call: str) -> None:
        """Bring the question about the call into sight."""
        for asked in self._questions.all_questions:
            window = asked.chat.views[0].window()
            is_it = (asked.chat.conversation, asked.question.id) == (conversation, call)
            if is_it and window is not None:
                self._questions.show_question(asked, window)

    def _is_open(self, asked: WaitingQuestion) -> bool:
        if self._replies.is_answered(asked):
            self._tell(ON_ITS_WAY)
            return False
        return True

    def _may_decide(self, asked: WaitingQuestion, window: sublime.Window, decision: str) -> bool:
        """Whether it can be decided now; else the user is told, and sees it."""
        if not self._is_open(asked):
            return False
        unseen = None
        if not self._questions.is_seen(asked, window):
            unseen = self._questions.unseen_rows(asked, window)
            self._questions.show_question(asked, window)
        elif OUTCOMES.get(decision) != NO and self._replies.whole_texts.show_if_needed(
            asked, window
        ):
            self._tell(TOO_LONG)
            return False
        elif OUTCOMES.get(decision) == NO or not self._replies.shows_unseen_edit(asked):
            return True
        title = shorten_text(one_line(asked.question.title), MAX_TITLE)
        if unseen is None:
            self._tell(SHOWN.format(title, decision))
        else:
            self._tell(UNSEEN_ROWS.format(title, *unseen, decision))
        return False

    def _choose_outcome(
        self, asked: WaitingQuestion, window: sublime.Window, decision: str
    ) -> None:
        offered = asked.question.options
        fitting = [option for option in offered if option.outcome in OUTCOMES[decision]]
        if not fitting:
            self._tell(NO_SUCH.format(decision, ", ".join(str(option.label) for option in offered)))
        elif decision == DENY_WITH_NOTE:
            self._stories.begin(self._replies.deny_with_note(asked, fitting[0], window), window)
        elif len(fitting) == 1:
            self._stories.begin(self._replies.decide_call(asked, fitting[0]), window)
        else:
            self._stories.begin(self._replies.decide_one_of(asked, fitting, window), window)

    def _answer_question(
        self, asked: WaitingQuestion, window: sublime.Window, decision: str
    ) -> None:
        if decision == ALLOW:
            self._stories.begin(self._replies.answer_question(asked, window), window)
        elif decision == DENY:
            self._stories.begin(self._replies.decline_question(asked), window)
        else:
            self._tell(NO_SUCH.format(decision, f"{ALLOW}, {DENY}"))


def _find_waiting_question(chat: ChatView, told: Mapping[str, Any]) -> WaitingQuestion | None:
    """The question that a link is about; None if it waits no more."""
    key = told.get("turn"), told.get("call")
    return next(
        (
            WaitingQuestion(chat, question)
            for question in chat.waiting_questions
            if (question.turn, question.id) == key
        ),
        None,
    )


def _open_permissions(chat: ChatView | None, replies: Replies) -> list[WaitingQuestion]:
    """What the chat asks to be allowed, without what is answered already."""
    asked = (WaitingQuestion(chat, each) for each in chat.waiting_questions) if chat else ()
    return [
        each for each in asked if each.question.kind == PERMISSION and not replies.is_answered(each)
    ]


def _allowed_words(allowed: int, waiting: int) -> str:
    left = waiting - allowed
    said = [ALLOWED.format(count_text(allowed, "question"))] if allowed else []
    if left:
        said.append(STILL_WAIT.format(count_text(left, "question"), "s" if left == 1 else ""))
    return " ".join(said)
