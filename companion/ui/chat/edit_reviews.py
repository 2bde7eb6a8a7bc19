"""The edits for which the agents of chats ask permission, as reviews: opened here, and here is the
owner of their diffs, who sends the agent the user's decisions. UI thread only.

The question in the chat and the reviews of its edits are one decision: whichever comes first ends
the other. What the user typed is then in the file, or in a tab of theirs.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import Any, Callable, Coroutine, Sequence

import sublime

from ...agent.turn_events import CANCEL, MODIFY, ONCE
from ...base.answer import Answer, Unanswered
from ...base.signal import ValueSignal
from ...chat.chat_update import STARTING, ChatUpdate
from ...chat.question import PERMISSION
from ...ide.editor import Proposal
from .. import file_reading, queues, texts
from ..keyboard import Keyboard
from ..presses import Presses
from ..review import ending, large, pair
from ..review.ending import ClaimedDiff
from ..review.open_diffs import is_on_top
from ..review.owners import Owner
from ..review.proposal_opener import ProposalOpener
from ..review.record import DiffRecord, Origin
from ..review.reviews import Reviews
from ..review.unopened_tabs import MOMENT, UnopenedTabs
from ..stories import Stories, run_in_thread
from ..user_messages import UserMessages
from .asked_edits import (
    AskedCall,
    Key,
    Shown,
    go_to_review,
    is_special,
    key_of,
    open_reviews,
    shown_file,
)
from .drafts import Drafts
from .open_tabs import OpenTabs, unsaved_text
from .section_sight import SectionSight
from .service_access import ServiceAccess

# The name of a tab for the text of a review whose question is over.
OVER = "your edits of a chat's proposal"
NOT_WRITTEN = "Your text was not written to {}: the chat says why, and a tab has the text."
TOO_LATE = "The agent no longer waits for your decision on {}, so nothing is written."
NO_SERVICE = "The chat is not running, so no agent hears of it."
AS_LEFT = "Allowed, with the edits as they stand in their reviews."
COMMAND_TOO = "The agent wants to do more than these edits: allow or deny all of it in the chat."

Accept = Callable[[sublime.Window, sublime.View], Coroutine[Any, Any, bool]]


class EditReviews(Owner):
    """The reviews of edits that chats of one companion ask about. `typed_texts` keeps what the user
    types, by the ids of the diffs. `tabs` hears which unsaved texts an edit may replace. `access`
    leads to the service of chats. `sections` knows which edits were seen in a sheet of changes."""

    def __init__(
        self,
        stories: Stories,
        messages: UserMessages,
        keyboard: Keyboard,
        shown_reviews: Reviews,
        opener: ProposalOpener,
        unopened: UnopenedTabs,
        access: ServiceAccess,
        typed_texts: Drafts,
        tabs: OpenTabs,
        sections: SectionSight,
    ) -> None:
        self._stories = stories
        self._messages = messages
        self._keyboard = keyboard
        self._reviews = shown_reviews
        self._opener = opener
        self._unopened = unopened
        self._access = access
        self._tabs = tabs
        self._sections = sections
        self._typed = typed_texts
        # By the conversation and the call.
        self._asked: dict[Key, AskedCall] = {}
        # What was in front when it was looked at last.
        self._was_on_top: set[tuple[Key, str]] = set()
        # The question about a call is to be shown in its chat.
        self.wanted_questions = ValueSignal[Key]()

    # What the chats tell.

    def follow_update(self, window: sublime.Window, update: ChatUpdate) -> None:
        """A chat of the window is now like this."""
        if update.state == STARTING:
            # It is not known yet what waits.
            return
        asking = {
            question.id: question
            for question in update.waiting
            if question.kind == PERMISSION and question.diffs
        }
        for key, asked in list(self._asked.items()):
            question = asking.get(key[1])
            is_same = question is not None and question.revision == asked.question.revision
            if key[0] == update.conversation_id and not is_same:
                # Also where the agent has changed what it asks: what was seen is over.
                self._end_call(key)
        for id, question in asking.items():
            key = update.conversation_id, id
            if key not in self._asked:
                asked = self._asked[key] = AskedCall(window, question, update.agent_name)
                self._stories.begin(self._open_reviews(key, asked), window)

    def forget_chat(self, conversation: str) -> None:
        """The last tab of the chat is gone, and with it the questions."""
        for key in [key for key in self._asked if key[0] == conversation]:
            self._end_call(key)

    def look_at_reviews(self) -> None:
        """Note which reviews are before the user's eyes. To be called from time to time."""
        views = list(open_reviews())
        # One that was covered by the next a moment later was not looked at.
        on_top = _on_top(views)
        self._add_seen(on_top & self._was_on_top)
        self._was_on_top = on_top
        self._sections.keep_only({record.id for _, record in views})

    def is_asked(self, key: Key) -> bool:
        """Whether an agent waits for the decision on this call."""
        return key in self._asked

    @property
    def typed_ids(self) -> set[str]:
        """The ids of the reviews that were accepted with a text that the agent does not have
        yet."""
        return {id for asked in self._asked.values() for id in asked.typed}

    def stop(self) -> None:
        self._typed.save()

    def quit(self) -> None:
        """The editor quits and its API no longer works."""
        self._typed.finish()

    # What the user does.

    def hear_acceptance(self, claimed: ClaimedDiff, words: str, before: str | None) -> None:
        self._tabs.accept_edit(claimed.record.path)
        self._note_decision(claimed, words, is_accepted=True)

    def hear_rejection(self, claimed: ClaimedDiff, words: str) -> None:
        self._note_decision(claimed, words, is_accepted=False)

    def hear_typing(self, record: DiffRecord, text: str) -> None:
        self._typed.keep_text(record.id, text, record.path)

    async def allow_call(self, chat: str, call: str, accept: Accept) -> bool:
        """The user allows the call in the chat. If they have typed or decided in its reviews, or a
        file has unsaved changes in its tab, each review is accepted as it is, with its doubts, by
        `accept`.
        False if there is nothing of that, and the call is still to be allowed."""
        await _wait_for_presses(self._reviews.presses, (chat, call))
        asked = self._asked.get((chat, call))
        views = [view for view, record in open_reviews() if key_of(record) == (chat, call)]
        if asked is None or not (asked.decided or any(map(is_special, views))):
            return False
        if not asked.is_allowed:
            asked.is_allowed = True
            try:
                accepted = [await accept(asked.window, view) for view in views]
                if all(accepted):
                    self._send_if_decided((chat, call), asked)
                    self._messages.tell_user(AS_LEFT)
            finally:
                # What they allow later they have to allow then.
                asked.is_allowed = False
        return True

    def shows_unseen(self, chat: str, call: str) -> bool:
        """Show a review of the call that is unseen, unless it is still to open; False if none is
        unseen."""
        unseen = self.unseen_paths(chat, call)
        return any(self.go_to_review(chat, call, path) for path in unseen) or bool(unseen)

    def go_to_review(self, chat: str, call: str, path: str) -> bool:
        """Show the review of an edit; False if it has none."""
        return go_to_review(chat, call, path, self._unopened.show)

    async def bring_into_sight(self, chat: str, call: str) -> None:
        """Show the first review of the call, if it has one; the keyboard stays where it is."""
        views = [view for view, record in open_reviews() if key_of(record) == (chat, call)]
        tab = await self._unopened.open_tabs(views[0]) if views else None
        window = tab.window() if tab is not None else None
        if tab is not None and window is not None:
            pair.bring_into_sight(tab, window.active_view())

    def unseen_paths(self, chat: str, call: str) -> list[str]:
        """The files of the call whose reviews were never in front, and whose edits were not seen in
        a sheet of changes; also those whose reviews are still to open."""
        views = list(open_reviews())
        self._add_seen(_on_top(views))
        asked = self._asked.get((chat, call))
        seen = asked.seen if asked is not None else set()
        to_open = asked.paths_to_open if asked is not None else []
        return [
            record.path
            for _, record in views
            if key_of(record) == (chat, call)
            and record.path not in seen
            and not self._sections.was_read(record)
        ] + to_open

    def _add_seen(self, on_top: set[tuple[Key, str]]) -> None:
        for key, path in on_top:
            asked = self._asked.get(key)
            if asked is not None:
                asked.seen.add(path)

    # Opening.

    async def _open_reviews(self, key: Key, asked: AskedCall) -> None:
        if not asked.question.has_reviews:
            # The chat asks about them as a whole.
            return
        for view, record in open_reviews(are_kept=True):
            if key_of(record) == key:
                # The agent waits after all.
                self.put_away(view)
        for path, edits in asked.by_path.items():
            present = await file_reading.read_content(path)
            made = partial(shown_file, edits, present, await unsaved_text(path))
            original, shown = await run_in_thread(made) or (present, Shown(present.text, ""))
            text = shown.proposed
            digest = await run_in_thread(partial(large.differing_parts, original.text, text))
            if self._asked.get(key) is not asked or asked.is_sent or not asked.window.is_valid():
                return
            asked.shown[path] = shown
            session = f"{key[0]}/{key[1]}"
            proposal = Proposal(session, path, text, client=asked.client, opened_at=time.time())
            origin = Origin(chat=key[0], call=key[1], unsaved_digest=shown.unsaved_digest)
            self._opener.open_review(asked.window.id(), proposal, original, digest, origin)

    # Decisions.

    def _note_decision(self, claimed: ClaimedDiff, words: str, is_accepted: bool) -> None:
        record, path = claimed.record, claimed.record.path
        key = key_of(record)
        asked = self._asked.get(key)
        text = claimed.text if is_accepted and claimed.is_edited else None
        if text is None or asked is None:
            self._typed.forget(record.id)
        if asked is None or path not in asked.shown:
            if is_accepted:
                self._messages.warn_user(TOO_LATE.format(os.path.basename(path)))
                _give_back(asked, path, text)
            return
        asked.decided[path] = None
        if is_accepted:
            asked.decided[path] = asked.shown[path].proposed if text is None else text
        if text is not None:
            # Kept until the agent has it: the editor may end before.
            self._typed.keep_text(record.id, text, path)
            asked.typed.add(record.id)
        asked.words += [words] if words else []
        self._send_if_decided(key, asked)
        if asked.is_decided and not asked.is_sent:
            self._messages.tell_user(COMMAND_TOO)
            self.wanted_questions.emit(key)

    def _send_if_decided(self, key: Key, asked: AskedCall) -> None:
        if asked.is_enough and not asked.is_sent:
            asked.is_sent = True
            self._stories.begin(self._send_decisions(key, asked))

    async def _send_decisions(self, key: Key, asked: AskedCall) -> None:
        """The answer to the agent, when all of its edits are decided."""
        from ...chat.edit_requests import DecideEdits

        edits, changed = tuple(asked.wanted_edits), asked.changed_edits
        rejected = [path for path, text in asked.decided.items() if text is None]
        outcome = MODIFY if changed or (edits and rejected) else ONCE if edits else CANCEL
        told = edits if outcome == MODIFY else ()
        # Unless all of them are known to be in their files.
        missing = [edit.path for edit in changed]
        try:
            note = "\n\n".join(asked.words)
            service = await self._access.ensure_service()
            if service is None:
                raise Unanswered(NO_SERVICE)
            request = DecideEdits(*key, outcome, told, note, asked.question.revision)
            answer: Answer[tuple[str, ...]] = service.ask(request)
            missing = list(await answer)
        except Unanswered:
            if self._asked.get(key) is asked:
                del self._asked[key]
            raise
        finally:
            self._forget_typed(asked)
            for edit in changed:
                if edit.path in missing:
                    self._messages.warn_user(NOT_WRITTEN.format(os.path.basename(edit.path)))
                    _give_back(asked, edit.path, edit.new_text)

    def _end_call(self, key: Key) -> None:
        """The question is answered elsewhere, or nobody waits for the answer any more."""
        asked = self._asked.pop(key)
        if asked.is_sent:
            return
        for view, record in open_reviews():
            if key_of(record) == key:
                self._typed.forget(record.id)
                self.put_away(view)
        self._forget_typed(asked)
        for edit in asked.changed_edits:
            _give_back(asked, edit.path, edit.new_text)

    def _forget_typed(self, asked: AskedCall) -> None:
        for id in asked.typed:
            self._typed.forget(id)
        asked.typed.clear()

    def put_away(self, view: sublime.View) -> None:
        """Close the review without a decision; what the user typed stays as a tab."""
        claimed = ending.claim_diff(view)
        if claimed is None:
            return
        keyboard = self._keyboard.in_window(claimed.window)
        queues.on_ui_thread(partial(ending.put_away, claimed, keyboard, OVER))
        if not claimed.record.is_unopened:
            is_there = keyboard in (claimed.original, claimed.view)
            self._unopened.open_next(claimed.window, is_there, MOMENT)
        self._reviews.forget_soon()


async def _wait_for_presses(presses: Presses, key: Key) -> None:
    """What the user has pressed in the call's reviews until now is done."""
    for id in [record.id for _, record in open_reviews() if key_of(record) == key]:
        await presses.wait_for_all(id)


def _give_back(asked: AskedCall | None, path: str, text: str | None) -> None:
    window = asked.window if asked is not None else sublime.active_window()
    if text is not None:
        texts.return_text(window, path, text, OVER)


def _on_top(views: Sequence[tuple[sublime.View, DiffRecord]]) -> set[tuple[Key, str]]:
    """The reviews that are in front, by their calls and paths."""
    windows = ((view, record, view.window()) for view, record in views)
    return {
        (key_of(record), record.path)
        for view, record, window in windows
        if window is not None and is_on_top(window, view)
    }
