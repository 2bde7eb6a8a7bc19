"""Everything from one start of the companion to its stop."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Callable, Mapping

import sublime

from ..base import log
from ..ide.editor import Status
from ..ide.service import Companion, Reach
from . import queues, settings
from .changes.change_sheets import ChangeSheets
from .changes.deciding import Deciding
from .changes.keeping import Keeping
from .changes.proposals import Proposals
from .changes.sheet_commands import SheetCommands
from .changes.shown_turns import ShownTurns
from .changes.turn_changes import TurnChanges
from .changes.unasked_changes import UnaskedChanges
from .changes.undoing import Undoing
from .chat.chat_actions import ChatActions
from .chat.chat_unasked import ChatUnasked
from .chat.composing import CONTEXTS
from .chat.drafts import DRAFTS, Drafts
from .chat.edit_reviews import EditReviews
from .chat.service_access import ServiceAccess
from .chat.told_context import ToldContext
from .chat.turn_actions import TurnActions
from .code.sublime_code import SublimeCode
from .edit_diagnostics import EditDiagnostics
from .engines import Engines
from .extension_setup import ExtensionSetup
from .files import Files
from .found_agents import FoundAgents
from .keyboard import Keyboard
from .loop_calls import LoopCalls
from .lost_clis import LostClis
from .notices import Notices
from .pages import doctor, welcome
from .pages.checkups import Checkups
from .pages.remedies import Remedies
from .pages.shared_sheets import SharedSheets
from .review import open_diffs
from .review.accepting import Accepting, about_diff
from .review.actions import Actions
from .review.conflicts import Conflicts
from .review.edit_book import EditBooks
from .review.edits import Edits
from .review.history import EditHistory
from .review.next_edit import NextEdit
from .review.notes import Notes
from .review.owners import CliSessions, Owners, WordsToClis
from .review.proposal_opener import ProposalOpener
from .review.queue import ReviewQueue
from .review.record import DiffRecord
from .review.resting import Resting
from .review.returned import Returned
from .review.reviews import Reviews
from .review.scrolling import Scrolling
from .review.single_changes import SingleChanges
from .review.terminal_decisions import TerminalDecisions
from .review.turn_edits import TurnEdits
from .review.unasked import Unasked
from .review.written_reviews import WrittenReviews
from .sharing_settings import is_paused
from .status_bar import StatusBar
from .stories import Stories
from .sublime_editor import ClosedByClis, SublimeEditor
from .terminals import terminus
from .unseen_messages import UnseenMessages
from .user_messages import UserMessages
from .window_watch import WindowWatch

# The context that key bindings ask for.
DIFF_WAITS = "gemini_companion_diff_waits"


class Running:
    """One companion, and the parts that report the editor to it from `start` on. On the UI
    thread."""

    def __init__(self, engines: Engines, drafts: Drafts, unseen: UnseenMessages) -> None:
        self.log = log.start(settings.of().log_level)
        self._cache = os.path.join(sublime.cache_path(), "GeminiCompanion")
        state_path = os.path.join(self._cache, "state.json")
        self._is_first = welcome.is_first_start(self._cache, state_path)
        self.reach = _reach()
        self.companion = Companion(os.getppid(), state_path, self.reach)
        self.calls = LoopCalls()
        self.keyboard = Keyboard()
        self.messages = UserMessages(unseen)
        tell, warn = told = self.messages.answer, self.messages.tell
        self.stories = Stories(warn)
        self.files = Files(self.companion, self.keyboard)
        self.edit_diagnostics = EditDiagnostics(self.calls.run)
        self.notices = Notices(self.stories)
        self.reviews = Reviews(self.stories, tell)
        self.scrolling = Scrolling(self.reviews)
        self.resting = Resting(self.reviews)
        self.history = EditHistory(self.companion, *told, os.path.join(self._cache, "edits"))
        self.conflicts = Conflicts(self.companion, self.stories, self.reviews, tell)
        self.next_edit = NextEdit(tell)
        self._add_reviews(engines)
        self.changes = SingleChanges(self.reviews, tell, self.diffs.reject)
        self.accepting = Accepting(self.reviews, self.diffs, self.conflicts, self.history, *told)
        self.unasked = Unasked(self.history, self.written, tell)
        self.sheet_commands = self._change_sheets(tell)
        self.sheets = self.sheet_commands.sheets
        self.queue = ReviewQueue(self.reviews, tell)
        self.notes = Notes(self.reviews, warn, self.diffs.reject_in_turn)
        self.edits = Edits(self._save)
        self.lost_clis = LostClis(self.companion, self.stories, tell)
        self.status = self._status_bar(self.messages.mention)
        self.lost_clis.changes.subscribe(self.status.look)
        self._add_pages(tell)
        self.chats = self._chat_actions(engines, drafts, tell)
        self.windows = WindowWatch(
            self.companion, self.messages, self.files, self.reviews, self._looks()
        )
        self.editor = self._sublime_editor()

    def _add_reviews(self, engines: Engines) -> None:
        self.opener = ProposalOpener(
            self.reviews,
            self.scrolling,
            self.next_edit,
            self.notices,
            self.keyboard,
            self.messages,
        )
        messages = self.messages
        self.words = WordsToClis(self.companion, self.stories, messages.answer, messages.tell)
        self.turn_edits = TurnEdits()
        self.written = WrittenReviews(
            self.companion,
            self.stories,
            self.messages,
            self.keyboard,
            self.reviews,
            self.scrolling,
            self.words,
            EditBooks((self.history, self.turn_edits)),
        )
        self.owners = self._owners(engines)
        self.diffs = Actions(
            self.companion, self.messages, self.keyboard, self.reviews, self.owners, self.written
        )

    def _sublime_editor(self) -> SublimeEditor:
        decisions = TerminalDecisions(self.stories, self.history, self.messages.tell)
        return SublimeEditor(
            self.calls,
            self.messages,
            self.keyboard,
            SublimeCode(self.calls.run, self.stories, self.keyboard.in_window),
            self.edit_diagnostics,
            self.reviews,
            self.opener,
            ClosedByClis(self.words, self._save, decisions),
            self._show_status,
            self.unasked.gather,
        )

    def _add_pages(self, tell: Callable[[str], None]) -> None:
        self.shared_sheets = SharedSheets(self.companion, self.stories)
        self.agents = FoundAgents(self.stories, lambda: self.welcome.changed())
        self.welcome = Checkups(
            self.companion,
            self.stories,
            welcome.NAME,
            lambda found: welcome.html(found, self.agents.now()),
        )
        self.doctor = Checkups(self.companion, self.stories, doctor.NAME, doctor.html)
        self.extension_setup = ExtensionSetup(tell, self._look_again)
        self.remedies = Remedies(self.companion, tell, self._look_again)

    def _owners(self, engines: Engines) -> Owners:
        typed = Drafts.in_cache(sublime.cache_path(), "edits.json")
        parts = self.stories, self.messages, self.keyboard, self.reviews
        self.chat_access = ServiceAccess(engines, self.messages.answer)
        self.chat_edits = EditReviews(
            *parts, self.opener, self.chat_access, typed, engines.open_tabs, engines.is_there
        )
        self.returned = Returned(*parts, self.words)
        return Owners(CliSessions(self.companion, self.words), self.chat_edits, self.returned)

    def _change_sheets(self, tell: Callable[[str], None]) -> SheetCommands:
        undoing = Undoing(self.history, self.reviews.presses, tell)
        deciding = Deciding(self.reviews, undoing, tell)
        keeping = Keeping(self.reviews, self.changes, tell)
        deciders = self.accepting, self.diffs, self.returned, self.history
        sources = (
            Proposals(self.reviews, *deciders),
            UnaskedChanges(self.reviews, self.written, self.history),
            TurnChanges(self.reviews, self.written, self.turn_edits),
        )
        sheets = ChangeSheets(sources, undoing, self.stories, tell)
        self.reviews.changes.subscribe(sheets.changed)
        self.history.changes.subscribe(sheets.changed)
        return SheetCommands(sheets, deciding, keeping, self.reviews, self.stories, tell)

    def _chat_actions(
        self, engines: Engines, drafts: Drafts, tell: Callable[[str], None]
    ) -> ChatActions:
        context = ToldContext(self.companion)
        self._forget_tabs = engines.open_tabs.replacements.subscribe(context.loaded)
        chats = ChatActions(
            engines,
            drafts,
            self.stories,
            tell,
            self.messages.tell,
            self.chat_access,
            self.chat_edits,
            ChatUnasked(self.stories, self.unasked.gather),
            context,
            self.notices.show,
            self.accepting.accept,
        )
        chats.questions.changes.subscribe(self.status.look)
        self.turns = TurnActions(
            chats, self.turn_edits, self.history, self.sheets.show, self.written.open, tell
        )
        self.shown_turns = ShownTurns(
            self.turn_edits,
            self.sheets,
            self.turns.fetch,
            self.stories,
            self.messages.tell,
            self.written.resume,
        )
        self.written.chat_edits_changed.subscribe(self.turns.tell_change)
        self.written.words_to_chats.subscribe(lambda noted: self.turns.put_words(*noted))
        return chats

    def _status_bar(self, mention: Callable[[str], None]) -> StatusBar:
        return StatusBar(
            mention,
            lambda: self.companion.is_running,
            is_paused,
            self.lost_clis.names,
            self.unasked.count,
            lambda window: self.chats.questions.words(window),
        )

    def _looks(self) -> tuple[Callable[[], None], ...]:
        """The checks to be called about once a second."""
        return (
            self.stories.look,
            self.reviews.forget_ended,
            self.welcome.look,
            self.doctor.look,
            self.conflicts.look,
            self.lost_clis.look,
            self.chats.questions.look,
            self.status.look,
            self.messages.unseen.look,
            self.scrolling.look,
            self.shared_sheets.look,
            self.sheets.look,
            self.chat_edits.look,
        )

    def start(self) -> None:
        """Must be called where `stop` can still be called if something fails."""
        self.messages.unseen.start()
        self.reviews.ends.subscribe(lambda id: self.messages.withdraw(about_diff(id)))
        self.companion.start(self.editor)
        self.stories.begin(self._load())
        self.stories.begin(self.extension_setup.renew())
        self.windows.start()
        self.sheets.resume()
        self.chats.start()
        if self._is_first:
            self.welcome.show(sublime.active_window())
            queues.on_worker(partial(welcome.remember, self._cache))

    def stop(self) -> None:
        """Leave diffs as they are for the next start."""
        self.stories.stop()
        self.chats.stop()
        self._forget_tabs()
        self.windows.stop()
        self.shared_sheets.stop()
        self.sheets.stop()
        self.welcome.stop()
        self.doctor.stop()
        self.status.stop()
        self.messages.unseen.stop(_outlives)
        self.scrolling.stop()
        self.next_edit.stop()
        self.reviews.stop()
        self.history.stop()
        for window in sublime.windows():
            self.edits.save_all(window)
        self.chat_edits.stop()
        self.calls.stop()
        # This thread does not wait; the next companion does, on its own thread.
        self.companion.stop(join=0)

    def closing(self, view: sublime.View) -> None:
        """The user closes a view."""
        self.sheets.closing(view)
        self.accepting.closing(view)
        self.diffs.closing(view)
        self.chats.tabs.closing(view)
        self.stories.closing(view)

    def pages_in_front(self) -> list[tuple[sublime.Window, str]]:
        """The windows in which a page is in front, and the command that opens it."""
        pages = {"gemini_companion_welcome": self.welcome, "gemini_companion_doctor": self.doctor}
        shown = [(window, name) for window in sublime.windows() for name in pages]
        return [(window, name) for window, name in shown if pages[name].is_in_front(window)]

    def quit(self) -> None:
        """The editor quits and its API no longer works."""
        self.chats.quit()
        self.chat_edits.quit()
        self.calls.stop()
        self.companion.quit()

    def environment(self, window: sublime.Window) -> Mapping[str, str]:
        """The variables that lead a CLI in a terminal to the window; empty while there are none."""
        return self.companion.environments.get(window.id(), {})

    def terminus_command(
        self, window: sublime.Window, arguments: Mapping[str, Any] | None
    ) -> tuple[str, dict[str, Any]] | None:
        """`terminus_open` with the variables that lead the CLI to the window; None if it has them
        already, or if the user does not want that."""
        if not settings.of(window).terminus_env:
            return None
        found = terminus.with_environment(arguments or {}, self.environment(window))
        return ("terminus_open", found) if found is not None else None

    def instead_of(
        self, name: str, arguments: Mapping[str, Any] | None, view: sublime.View
    ) -> tuple[str, dict[str, Any]] | None:
        """The command to run instead of this one; None to run it."""
        in_sheet = self.sheet_commands.instead_of(name, arguments, view)
        in_chat = self.chats.tabs.instead_of(name, arguments, view)
        return in_sheet or in_chat or self.diffs.instead_of(name, view)

    def key_context(
        self, view: sublime.View, key: str, operator: int, operand: object
    ) -> bool | None:
        """The answer to a key binding that asks whether a diff of the view's window waits, or a
        sheet of changes has the keyboard, or to one about chats; None for every other one."""
        if key in CONTEXTS:
            return self.chats.composing.key_context(view, key, operator, operand)
        if key != DIFF_WAITS or operator not in (sublime.OP_EQUAL, sublime.OP_NOT_EQUAL):
            return None
        window = view.window()
        waits = window is not None and (
            open_diffs.meant(window) is not None or self.sheet_commands.has_keyboard(window)
        )
        return waits == (bool(operand) == (operator == sublime.OP_EQUAL))

    def _show_status(self, statuses: tuple[Status, ...]) -> None:
        self.status.show(statuses)
        self.lost_clis.show(statuses)
        self.notices.show_questions(statuses)
        self._look_again()

    def _look_again(self) -> None:
        self.welcome.changed()
        self.doctor.changed()

    async def _load(self) -> None:
        await self.history.load()
        self.written.resume()

    def _save(self, record: DiffRecord, text: str) -> None:
        # An edit that is made already has no other place than its view.
        if not record.edit_id:
            self.owners.of(record).typed(record, text)


def _outlives(about: str) -> bool:
    """Whether what a sentence is about is there without the companion that told it."""
    return about == DRAFTS or about.startswith(about_diff(""))


def _reach() -> Reach:
    """The settings at the start."""
    found = settings.of()
    return Reach(found.extra_bind_address, os.path.expanduser(found.extra_discovery_folder))
