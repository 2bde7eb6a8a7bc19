"""The chats, and the turns of their agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sublime

from ..changes.shown_turns import ShownTurns
from ..chat.chat_actions import ChatActions
from ..chat.chat_unasked import ChatUnasked
from ..chat.told_context import ToldContext
from ..chat.turn_actions import TurnActions
from .change_parts import ChangeParts
from .chat_edit_parts import ChatEditParts
from .foundation import Foundation
from .review_parts import ReviewParts

if TYPE_CHECKING:
    from ..chat.drafts import Drafts
    from ..engines import Engines


class ChatParts:
    def __init__(
        self,
        base: Foundation,
        review: ReviewParts,
        changes: ChangeParts,
        chat_edits: ChatEditParts,
        engines: Engines,
        drafts: Drafts,
    ) -> None:
        tell, warn = base.messages.tell_user, base.messages.warn_user
        context = ToldContext(base.companion)
        # The engines outlive this.
        self._forget_tabs = engines.open_tabs.replacements.subscribe(context.note_loaded_view)
        self.actions = ChatActions(
            engines,
            drafts,
            base.stories,
            tell,
            warn,
            chat_edits.access,
            chat_edits.reviews,
            ChatUnasked(base.stories, review.unasked.gather_edit, review.written.forget_turn),
            context,
            base.notices.show_notice,
            review.decisions.accept_diff,
            base.trees,
        )
        self.turns = TurnActions(
            self.actions,
            review.ledger,
            changes.sheets.show_sheet,
            review.written.open_review,
            tell,
        )
        self.shown_turns = ShownTurns(
            review.ledger.turns,
            changes.sheets,
            self.turns.fetch_edits,
            base.stories,
            warn,
            review.written.resume_reviews,
        )
        review.written.chat_edits_changed.subscribe(self.turns.tell_change)
        review.written.words_to_chats.subscribe(lambda noted: self.turns.put_words(*noted))
        self._sheets, self._sections = changes.sheets, chat_edits.sections
        changes.sheets.looks.subscribe(self._look_at_sheet)
        self.polls = (self.actions.questions.look_at_questions,)

    def start(self) -> None:
        self.actions.start()

    def stop(self) -> None:
        """Leave the tabs as they are for the next start."""
        self.actions.stop()
        self._forget_tabs()

    def quit(self) -> None:
        """The editor quits and its API no longer works."""
        self.actions.quit()

    def handle_close(self, view: sublime.View) -> None:
        """The user closes a view."""
        self.actions.tabs.handle_close(view)

    def _look_at_sheet(self, view: sublime.View) -> None:
        sheet = self._sheets.sheet_of(view)
        if sheet is not None:
            self._sections.look_at(sheet, view)
