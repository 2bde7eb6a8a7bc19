"""The way to the chat's service, and the diffs of edits that agents of chats ask about."""

from __future__ import annotations

import sublime

from ..chat.drafts import Drafts
from ..chat.edit_reviews import EditReviews
from ..chat.leftover_reviews import LeftoverReviews
from ..chat.question_sight import Sight
from ..chat.section_sight import SectionSight
from ..chat.service_access import ServiceAccess
from ..engines import Engines
from .diff_parts import DiffParts
from .foundation import Foundation


class ChatEditParts:
    def __init__(self, base: Foundation, diffs: DiffParts, engines: Engines) -> None:
        self.access = ServiceAccess(engines, base.messages.tell_user)
        self.sections = SectionSight(diffs.reviews, Sight())
        typed_texts = Drafts.in_cache(sublime.cache_path(), "edits.json")
        self.reviews = EditReviews(
            base.stories,
            base.messages,
            base.keyboard,
            diffs.reviews,
            diffs.opener,
            diffs.tabs,
            self.access,
            typed_texts,
            engines.open_tabs,
            self.sections,
        )
        self.leftovers = LeftoverReviews(
            self.reviews, base.messages, diffs.reviews, typed_texts, engines.is_there
        )
        self.polls = (self.leftovers.settle_all, self.reviews.look_at_reviews)

    def stop(self) -> None:
        self.reviews.stop()

    def quit(self) -> None:
        """The editor quits and its API no longer works."""
        self.reviews.quit()
