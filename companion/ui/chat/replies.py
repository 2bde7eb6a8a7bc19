"""Answers to the questions of agents on their way, and the panels that ask for them. UI thread
only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Coroutine, Mapping, Sequence, Tuple

import sublime

from ...agent.elicitation import ACCEPT, DECLINE, URL
from ...agent.turn_events import CANCEL, Option
from ...base.answer import Answer, Unanswered
from ...chat.question import PERMISSION
from .. import application
from ..panels import Item, Panel
from ..stories import Stories
from . import forms
from .chat_view import ChatView
from .edit_reviews import Accept, EditReviews
from .question_places import Key, key_of
from .waiting_questions import WaitingQuestion
from .whole_texts import WholeTexts

if TYPE_CHECKING:
    from ...chat.chat_service import ChatService
    from ...chat.requests import ChatRequest

WHICH = "Which answer, for {}?"
NOTE = "Deny, and tell the agent:"
NOT_SENT = "Your note did not reach the agent. It is on the clipboard."
SAID = '{}: you chose "{}".'
LOST = "Your answer did not reach the agent: {}"
OVER = "That question was answered elsewhere, or the agent took it back."
NO_REVIEW = "There is no review of this edit."
STILL = "The question still waits in the chat."
DECLINED = "Declined: {}"
CLOSED = Option(CANCEL, "Denied: its tab was closed")

FullKey = Tuple[str, Key]


class Replies:
    """`needed` gives the service; None if it cannot be had, which the user was told then. `accept`
    accepts a review."""

    def __init__(
        self,
        stories: Stories,
        tell: Callable[[str], None],
        warn: Callable[[str], None],
        needed: Callable[[], Coroutine[Any, Any, ChatService | None]],
        edits: EditReviews,
        accept: Accept,
    ) -> None:
        self._stories = stories
        self._tell = tell
        self._warn = warn
        self._needed = needed
        self._edits = edits
        self._accept = accept
        # Those whose answer is on its way, and the panels that are open for others.
        self._answered: set[FullKey] = set()
        self._panels: dict[FullKey, Panel] = {}
        self.whole_texts = WholeTexts(stories)

    def is_answered(self, asked: WaitingQuestion) -> bool:
        return asked.key in self._answered

    def withdraw_stale_panels(self, chat: ChatView) -> None:
        """Close the panels of what waits no more."""
        id = chat.conversation
        if not any(
            key[0] == id for key in (*self._panels, *self._answered, *self.whole_texts.keys)
        ):
            return
        waiting = frozenset(map(key_of, chat.waiting_questions))
        for key, panel in list(self._panels.items()):
            if key[0] == id and key[1] not in waiting:
                panel.withdraw()
        self._answered -= {key for key in self._answered if key[0] == id and key[1] not in waiting}
        self.whole_texts.keep_only(id, waiting)

    def decline_all(self, chat: ChatView) -> None:
        """The user closes the last view: nobody would see its questions any more."""
        for question in chat.waiting_questions:
            asked = WaitingQuestion(chat, question)
            if not self.is_answered(asked):
                is_call = question.kind == PERMISSION
                self._stories.begin(
                    self.decide_call(asked, CLOSED) if is_call else self.decline_question(asked)
                )

    def shows_unseen_edit(self, asked: WaitingQuestion) -> bool:
        """Show an edit of the call that was not in sight yet; False if there is none."""
        return self._edits.shows_unseen(asked.chat.conversation, asked.question.id)

    def go_to_review(self, asked: WaitingQuestion) -> None:
        """Go to the review of its edit, to change it there."""
        if not any(self.go_to_edit(asked, diff.path) for diff in asked.question.diffs):
            self._tell(NO_REVIEW)

    def go_to_edit(self, asked: WaitingQuestion, path: str) -> bool:
        """Show the review of the file; False if it has none."""
        return self._edits.go_to_review(asked.chat.conversation, asked.question.id, path)

    def can_allow_unasked(self, asked: WaitingQuestion) -> bool:
        """Whether nothing is to be shown before it is allowed: no text in a tab, no review."""
        if self.is_answered(asked) or self.whole_texts.is_missing(asked):
            return False
        return not self._edits.unseen_paths(asked.chat.conversation, asked.question.id)

    def decide_all(self, decisions: Sequence[tuple[WaitingQuestion, Option]]) -> None:
        """Send these answers, without a sentence about each."""
        edits = [pair for pair in decisions if pair[0].question.diffs]
        for asked, option in decisions:
            if not asked.question.diffs:
                self._stories.begin(self.decide_call(asked, option, is_told=False))
        self._stories.begin(self._decide_in_turn(edits))

    # Stories

    async def _decide_in_turn(self, decisions: Sequence[tuple[WaitingQuestion, Option]]) -> None:
        """One after the other: a review with doubts asks the user."""
        for asked, option in decisions:
            await self.decide_call(asked, option, is_told=False)

    async def decide_call(
        self, asked: WaitingQuestion, option: Option, is_told: bool = True
    ) -> bool:
        """Whether the agent was told; the user is told what they chose where `is_told`."""
        from ...chat.requests import Decide

        chat, call = asked.chat.conversation, asked.question.id
        if option.outcome != CANCEL and await self._edits.allow_call(chat, call, self._accept):
            return True
        request = Decide(chat, call, option.outcome, revision=asked.question.revision)
        said = SAID.format(asked.question.title, option.label) if is_told else ""
        return await self._send_request(asked, request, said)

    async def decide_one_of(
        self, asked: WaitingQuestion, options: Sequence[Option], window: sublime.Window
    ) -> None:
        labels = [str(option.label) for option in options]
        caption = WHICH.format(asked.question.title)
        chosen = await self.choose_in_panel(asked, labels, caption, window)
        if chosen >= 0:
            await self.decide_call(asked, options[chosen])

    async def choose_in_panel(
        self, asked: WaitingQuestion, items: Sequence[Item], caption: str, window: sublime.Window
    ) -> int:
        """The number of the item that the user chooses; -1 for none, and as soon as the question
        waits no more, which they are told."""
        panel = self._open_panel(asked, window)
        chosen = await panel.ask_choice(items, caption)
        return chosen if self._close_panel(asked, panel) else -1

    async def deny_with_note(
        self, asked: WaitingQuestion, no: Option, window: sublime.Window
    ) -> None:
        """The words are a message to the agent, which gets it before all others."""
        panel = self._open_panel(asked, window)
        note = await panel.ask_line(NOTE)
        if not self._close_panel(asked, panel) or note is None:
            return
        if note.strip():
            await self._deny_and_send(asked, no, note.strip())
        else:
            await self.decide_call(asked, no)

    async def _deny_and_send(self, asked: WaitingQuestion, no: Option, note: str) -> None:
        from ...chat.requests import Send, SendNow

        is_on_its_way, why = False, ""
        try:
            service = await self._needed() if await self.decide_call(asked, no) else None
            if service is None:
                return
            answer = service.ask(Send(asked.chat.conversation, note))
            is_on_its_way = True
            try:
                sent = await answer
            except Unanswered as error:
                is_on_its_way, why = False, str(error)
                return
            if sent.queued:
                await service.ask(SendNow(asked.chat.conversation, sent.queued))
        finally:
            if not is_on_its_way:
                application.copy_text(note)
                self._warn(" ".join(filter(None, (NOT_SENT, why))))

    async def decline_question(self, asked: WaitingQuestion) -> None:
        await self._send_answer(asked, DECLINE, None)

    async def answer_question(self, asked: WaitingQuestion, window: sublime.Window) -> None:
        """Ask the user for what the agent wants to know."""
        panel, question = self._open_panel(asked, window), asked.question
        if question.mode == URL:
            reply = await forms.confirm_address(panel, question, window)
        else:
            reply = await forms.fill_form(panel, question, self._tell)
        if not self._close_panel(asked, panel):
            return
        if reply is None:
            self._tell(STILL)
        else:
            await self._send_answer(asked, *reply)

    async def _send_answer(
        self, asked: WaitingQuestion, action: str, content: Mapping[str, Any] | None
    ) -> None:
        from ...chat.requests import AnswerElicitation

        request = AnswerElicitation(asked.question.id, action, content)
        await self._send_request(
            asked, request, "" if action == ACCEPT else DECLINED.format(_title_line(asked))
        )

    async def _send_request(
        self, asked: WaitingQuestion, request: ChatRequest[None], said: str
    ) -> bool:
        self._answered.add(asked.key)
        is_on_its_way = False
        try:
            service = await self._needed()
            if service is None:
                raise Unanswered("")
            answer: Answer[None] = service.ask(request)
            is_on_its_way = True
            await answer
        except Unanswered as error:
            is_on_its_way = False
            self._warn(LOST.format(error))
            return False
        finally:
            if not is_on_its_way:
                self._answered.discard(asked.key)
        if said:
            self._tell(said)
        return True

    # Panels

    def _open_panel(self, asked: WaitingQuestion, window: sublime.Window) -> Panel:
        panel = self._panels[asked.key] = Panel(window)
        return panel

    def _close_panel(self, asked: WaitingQuestion, panel: Panel) -> bool:
        """The panel is closed; whether the question waited that long."""
        if self._panels.get(asked.key) is panel:
            del self._panels[asked.key]
        if panel.is_withdrawn:
            self._tell(OVER)
        return not panel.is_withdrawn


def _title_line(asked: WaitingQuestion) -> str:
    return asked.question.title.partition("\n")[0]
