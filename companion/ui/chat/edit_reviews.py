"""The edits for which the agents of chats ask permission, as reviews. UI thread only.

The question in the chat and the reviews of its edits are one decision: whichever comes first ends
the other. What the user typed is then in the file, or in a tab of theirs.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Iterator, Sequence

import sublime

from ...agent.events.turn_events import CANCEL, MODIFY, ONCE, Diff
from ...agent.turn.edited_file import edited
from ...base.answer import Answer, Unanswered
from ...base.text_digest import text_digest
from ...chat.chat_update import STARTING, ChatUpdate
from ...chat.question import PERMISSION, Question
from ...ide.editor import Proposal
from ...ide.file_content import Original
from ...ide.questions import FileContent
from ...ide.service import Companion
from .. import queues, texts
from ..review import ending, large
from ..review.ending import ClaimedDiff
from ..review.open_diffs import is_on_top, recorded
from ..review.owners import Owner
from ..review.queue import show
from ..review.record import DiffRecord, Origin, waiting
from ..stories import computed
from ..sublime_editor import SublimeEditor
from .drafts import Drafts

if TYPE_CHECKING:
    # Imported with the first engine, because many editors never have one.
    from ...chat.chat_service import ChatService

# The most edits of one call of which each gets a review.
MOST = 64
# The name of a tab for the text of a review whose question is over.
OVER = "your edits of a chat's proposal"
NOT_WRITTEN = "{} does not hold your text: the chat says why, and the text is in a tab."
TOO_LATE = "The agent does not wait for {} any more: nothing is written."
NO_SERVICE = "The chat is not there."
AS_LEFT = "The edits are allowed as you left them in the review."

Needed = Callable[[], Coroutine[Any, Any, "ChatService | None"]]
Accept = Callable[[sublime.Window, sublime.View], Coroutine[Any, Any, bool]]


@dataclass(frozen=True)
class Shown:
    """An edit as its review shows it: the texts of the whole file, before and as proposed."""

    before: str
    proposed: str


@dataclass
class Asked:
    """A call that asks for permission. `shown` and `decided` are by the paths of its edits: how
    each is shown, and the text that the user wants, None for none."""

    window: sublime.Window
    question: Question
    client: str
    shown: dict[str, Shown] = field(default_factory=dict)
    decided: dict[str, str | None] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    # The paths of edits whose reviews were in front.
    seen: set[str] = field(default_factory=set)
    # Whether the answer is on its way to the agent.
    is_sent: bool = False


class EditReviews(Owner):
    """Those of one companion. `typed_texts` keeps what the user types, by the ids of the diffs.
    `needed` gives the service of chats, `accept` accepts a review."""

    def __init__(self, companion: Companion, editor: SublimeEditor, typed_texts: Drafts) -> None:
        self._companion = companion
        self._editor = editor
        self._typed = typed_texts
        # By the conversation and the call.
        self._asked: dict[tuple[str, str], Asked] = {}
        self.needed: Needed = _nothing
        self.accept: Accept = _not_accepted

    # What the chats tell.

    def heard(self, window: sublime.Window, update: ChatUpdate) -> None:
        """A chat of the window is now like this."""
        if update.state == STARTING:
            # It is not known yet what waits.
            return
        asking = {it.id: it for it in update.waiting if it.kind == PERMISSION and it.diffs}
        for key in list(self._asked):
            if key[0] == update.conversation_id and key[1] not in asking:
                self._over(key)
        for id, question in asking.items():
            key = update.conversation_id, id
            if key not in self._asked:
                asked = self._asked[key] = Asked(window, question, update.agent_name)
                self._editor.stories.begin(self._open(key, asked), window)

    def look(self) -> None:
        """Give back what is left from before a restart: no agent waits for it. To be called from
        time to time."""
        for window in sublime.windows():
            for view, record in list(recorded(window)):
                if record.chat and _key(record) not in self._asked:
                    self._restored(view, record)
        views = list(self._views())
        self._look_at(views)
        known = {record.id for _, record in views}
        for id, path, text in self._typed.others(known):
            self._typed.forget(id)
            texts.return_text(sublime.active_window(), path, text, OVER)

    def stop(self) -> None:
        self._typed.save()

    def quit(self) -> None:
        """The editor quits and its API no longer works."""
        self._typed.finish()

    # What the user does.

    def accepted(self, claimed: ClaimedDiff, words: str, before: str | None) -> None:
        self._decided(claimed, words, is_accepted=True)

    def rejected(self, claimed: ClaimedDiff, words: str) -> None:
        self._decided(claimed, words, is_accepted=False)

    def typed(self, record: DiffRecord, text: str) -> None:
        self._typed.put(record.id, text, record.path)

    async def allow(self, chat: str, call: str) -> bool:
        """The user allows the call in the chat. If they have typed or decided in its reviews, or a
        file has unsaved changes in its tab, each review is accepted as it is, with its doubts.
        False if there is nothing of that, and the call is still to be allowed."""
        asked = self._asked.get((chat, call))
        views = [view for view, record in self._views() if _key(record) == (chat, call)]
        if asked is None or not (asked.decided or any(map(_is_special, views))):
            return False
        accepted = [await self.accept(asked.window, view) for view in views]
        if all(accepted):
            self._editor.tell(AS_LEFT)
        return True

    def go(self, chat: str, call: str, path: str) -> bool:
        """Show the review of an edit; False if it has none."""
        for view, record in self._views():
            if _key(record) == (chat, call) and record.path == path:
                show(view)
                return True
        return False

    def shows_unseen(self, chat: str, call: str) -> bool:
        """Show a review of the call that was never in front; False if all were."""
        views = list(self._views())
        self._look_at(views)
        asked = self._asked.get((chat, call))
        seen = asked.seen if asked is not None else set()
        paths = [it.path for _, it in views if _key(it) == (chat, call)]
        return any(self.go(chat, call, path) for path in paths if path not in seen)

    def _look_at(self, views: Sequence[tuple[sublime.View, DiffRecord]]) -> None:
        for view, record in views:
            asked, window = self._asked.get(_key(record)), view.window()
            if asked is not None and window is not None and is_on_top(window, view):
                asked.seen.add(record.path)

    # Opening.

    async def _open(self, key: tuple[str, str], asked: Asked) -> None:
        edits = asked.question.diffs
        if not has_reviews(edits):
            # The chat asks about them as a whole.
            return
        for diff in edits:
            present = await self._companion.ask(FileContent(diff.path))
            original, text = await computed(partial(_whole, diff, present)) or (present, "")
            digest = await computed(partial(large.parts, original.text, text))
            if self._asked.get(key) is not asked or asked.is_sent or not asked.window.is_valid():
                return
            asked.shown[diff.path] = Shown(original.text, text)
            session = f"{key[0]}/{key[1]}"
            proposal = Proposal(
                session, diff.path, text, client=asked.client, opened_at=time.time()
            )
            origin = Origin(chat=key[0], call=key[1])
            self._editor.show_proposal(asked.window.id(), proposal, original, digest, origin)

    # Decisions.

    def _decided(self, claimed: ClaimedDiff, words: str, is_accepted: bool) -> None:
        record, path = claimed.record, claimed.record.path
        self._typed.forget(record.id)
        asked = self._asked.get(_key(record))
        if asked is None or path not in asked.shown:
            if is_accepted:
                self._editor.tell(TOO_LATE.format(os.path.basename(path)))
                self._give_back(asked, path, claimed.text if claimed.is_edited else None)
            return
        text = claimed.text if claimed.is_edited else None
        asked.decided[path] = None
        if is_accepted:
            asked.decided[path] = asked.shown[path].proposed if text is None else text
        asked.words += [words] if words else []
        if len(asked.decided) == len(asked.question.diffs):
            asked.is_sent = True
            self._editor.stories.begin(self._send(_key(record), asked))

    async def _send(self, key: tuple[str, str], asked: Asked) -> None:
        """The answer to the agent, when all of its edits are decided."""
        from ...chat.edit_requests import DecideEdits

        edits = tuple(_wanted(asked))
        rejected = [path for path, text in asked.decided.items() if text is None]
        changed = [it for it in edits if it.new_text != asked.shown[it.path].proposed]
        outcome = MODIFY if changed or (edits and rejected) else ONCE if edits else CANCEL
        told = edits if outcome == MODIFY else ()
        # Unless all of them are known to be in their files.
        missing = [it.path for it in changed]
        try:
            note = "\n\n".join(asked.words)
            service = await self.needed()
            if service is None:
                raise Unanswered(NO_SERVICE)
            answer: Answer[tuple[str, ...]] = service.ask(DecideEdits(*key, outcome, told, note))
            missing = list(await answer)
        except Unanswered:
            self._asked.pop(key, None)
            raise
        finally:
            for edit in changed:
                if edit.path in missing:
                    self._editor.tell(NOT_WRITTEN.format(os.path.basename(edit.path)))
                    self._give_back(asked, edit.path, edit.new_text)

    def _over(self, key: tuple[str, str]) -> None:
        """The question is answered elsewhere, or nobody waits for the answer any more."""
        asked = self._asked.pop(key)
        if asked.is_sent:
            return
        for view, record in self._views():
            if _key(record) == key:
                self._typed.forget(record.id)
                self._put_away(view)
        for edit in _wanted(asked):
            if edit.new_text != asked.shown[edit.path].proposed:
                self._give_back(asked, edit.path, edit.new_text)

    def _restored(self, view: sublime.View, record: DiffRecord) -> None:
        saved = self._typed.text(record.id)
        self._typed.forget(record.id)
        if saved is not None and record.is_whole:
            # Sublime may have brought back an older text.
            texts.replace(view, saved)
        self._put_away(view)

    def _put_away(self, view: sublime.View) -> None:
        claimed = ending.claim(view)
        if claimed is None:
            return
        keyboard = self._editor.keyboard_in(claimed.window)
        queues.on_ui_thread(partial(ending.put_away, claimed, keyboard, OVER))
        if self._editor.reviews is not None:
            queues.on_ui_thread(self._editor.reviews.forget_ended)

    def _give_back(self, asked: Asked | None, path: str, text: str | None) -> None:
        window = asked.window if asked is not None else sublime.active_window()
        if text is not None:
            texts.return_text(window, path, text, OVER)

    def _views(self) -> Iterator[tuple[sublime.View, DiffRecord]]:
        """All open reviews of chats, with their records."""
        for window in sublime.windows():
            for view, record in list(recorded(window)):
                if record.chat:
                    yield view, record


def has_reviews(edits: Sequence[Diff]) -> bool:
    """Whether each of these edits of one call gets a review."""
    return len({it.path for it in edits}) == len(edits) <= MOST


def _key(record: DiffRecord) -> tuple[str, str]:
    return record.chat, record.call


def _wanted(asked: Asked) -> Iterator[Diff]:
    """The edits that are accepted, as the user wants them."""
    for path, text in asked.decided.items():
        if text is not None:
            yield Diff(path, asked.shown[path].before, text)


def _is_special(view: sublime.View) -> bool:
    """Whether the user has typed, or dropped a change, or has unsaved changes in the file."""
    record = waiting(view)
    if record is None or texts.unsaved_view(record.path) is not None:
        return record is not None
    is_typed = record.is_whole and text_digest(texts.text_of(view)) != record.proposed_digest
    return is_typed or record.has_drops


def _whole(diff: Diff, present: Original) -> tuple[Original, str]:
    """The file and what the edit makes of it; where it is not the file that the agent has seen, the
    edit alone. Runs in a thread."""
    found = None if present.note else edited(present.text, diff, diff.new_text)
    if found is not None:
        return present, found
    return Original(diff.old_text, bool(diff.old_text)), diff.new_text


async def _nothing() -> None:
    return None


async def _not_accepted(window: sublime.Window, view: sublime.View) -> bool:
    return False
