"""What the user does with the turns of a chat: undo them, make them again, go back to a message,
look at what they changed. UI thread only."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Iterable, Sequence

import sublime

from ...agent.turn_undo import AS_LEFT, OTHER, UNDONE, FileChange, FileTexts
from ...base.answer import Answer
from ...base.comparison import compare_texts
from ...base.file_content import Original, of_bytes, read_original
from ...base.shown_text import shown_line
from ...base.text_digest import text_digest
from ...base.unified import unified_text
from ...chat.amounts import count_text
from ...edits.edit import Edit, EditState
from ...edits.ledger import EditLedger
from ...edits.turn_edits import ShownTurn, conversation_of, parts_of, turn_id
from .. import panels, sharing_settings, texts
from ..file_reading import in_time
from ..ordered_work import OrderedWork
from ..stories import run_in_thread
from .chat_places import in_front
from .chat_view import ChatView
from .drafts import folder_of
from .link_actions import SILENT, refusal_reason

if TYPE_CHECKING:
    from ...chat.edit_requests import Checkpoint, Rewound
    from .chat_actions import ChatActions

NOTHING = {
    False: "No turn of this chat changed files that can be undone.",
    True: "No turn of this chat was undone, or its files have changed since.",
}
NO_CHANGES = "That turn changed no files, or what they held before it is no longer kept."
ALL_UNDONE = "All that this turn changed is undone. Redo Turn makes it again."
NO_EDIT = (
    "This is {} as it is now: that turn did not change it, or what it held before is not kept."
)
NOTED = "Your words are at the end of the chat, for your next message."
NO_MESSAGES = "Nothing was said in this chat yet."
# Behind what was done, about the files that have changed since.
LEFT = " Not undone, because changed since: {}. A tab shows what undoing would change there."
NOT_LEFT = " Not undone, because changed since: {}."
EXCLUDED = " Not undone, because nothing is kept of excluded files: {}."
GO_BACK = ["Go back", "Nothing is changed."]
EARLIER = ["Earlier messages", "Messages before those above."]
REWIND = (
    "What the agent changed is undone in files that are still as it left them. A new chat has what"
    " was said before; this one stays in the list."
)
# Characters of a message in a list.
SHOWN = 80


OpenReview = Callable[[sublime.Window, Edit], Coroutine[Any, Any, None]]


class TurnActions:
    """`show_changes` opens the sheet of a window, which shows the unasked edits as well.
    `open_review` shows an edit of a turn beside what the file was before."""

    def __init__(
        self,
        chats: ChatActions,
        edits: EditLedger,
        show_changes: Callable[[sublime.Window], object],
        open_review: OpenReview,
        tell: Callable[[str], None],
    ) -> None:
        self._chats = chats
        self._edits = edits
        self._show_changes = show_changes
        self._tell = tell
        self._open_review = open_review
        self._undoing = OrderedWork()

    async def undo_turn(self, window: sublime.Window, again: bool = False) -> None:
        """Undo the last turn that can be undone; `again` makes what was undone once more, that of
        the oldest turn first. One after the other, however fast they come."""
        async with self._undoing.take_place("turns"):
            await self._undo_now(window, again)

    async def _undo_now(self, window: sublime.Window, again: bool) -> None:
        from ...chat.edit_requests import Checkpoints
        from ...chat.requests import UndoTurn

        chat = in_front(self._chats.tabs, window, self._tell)
        if chat is None:
            return
        found = await self._chats.ask_service(chat, Checkpoints(chat.conversation)) or ()
        turn = _to_redo(found) if again else _to_undo(found)
        if not turn:
            newest = next((turn.files for turn in found if turn.files), ())
            self._tell(NOTHING[again] + _excluded_note(() if again else newest))
            return
        files = await self._chats.ask_service(chat, UndoTurn(chat.conversation, turn, again))
        wanted = AS_LEFT if again else UNDONE
        done = [file for file in files or () if file.state == wanted]
        others = [file for file in files or () if file.state == OTHER]
        said = f"{'Made again' if again else 'Undone'}: {_told_files(done)}."
        left = (
            (NOT_LEFT if again else LEFT).format(count_text(len(others), "file")) if others else ""
        )
        self._tell(said + left + _excluded_note(() if again else files or ()))
        if others and not again:
            await self._show_left(window, chat, turn, others)

    async def rewind_chat(self, window: sublime.Window) -> None:
        """Go back to before a message of the user."""
        from ...chat.edit_requests import Rewind

        chat = in_front(self._chats.tabs, window, self._tell)
        if chat is None:
            return
        found = await self._choose_message(window, chat)
        if not found:
            return
        chosen = found[-1]
        what = [f"Rewind: {_rewind_extent(found)}", REWIND]
        if await panels.ask_choice(window, [what, GO_BACK], _message_line(chosen.text)) != 0:
            return
        rewound = await self._chats.ask_service(chat, Rewind(chat.conversation, chosen.turn))
        if rewound is not None:
            self._open_rewound(window, rewound)

    async def _choose_message(self, window: sublime.Window, chat: ChatView) -> Sequence[Checkpoint]:
        """The turn that the user chooses, behind all that came later, the last one first; none if
        they choose none. Earlier ones are fetched as far as they are wanted."""
        from ...chat.edit_requests import AT_ONCE, Checkpoints

        found: list[Checkpoint] = []
        items: list[list[str]] = []
        while True:
            before, shown = found[-1].turn if found else "", len(found)
            page = await self._chats.ask_service(chat, Checkpoints(chat.conversation, before)) or ()
            for checkpoint in page:
                found.append(checkpoint)
                items.append([_message_line(checkpoint.text), _rewind_extent(found)])
            if not found:
                self._tell(NO_MESSAGES)
                return ()
            earlier = [EARLIER] if len(page) == AT_ONCE else []
            caption, at = "Go back to before which message?", min(shown, len(items) - 1)
            number = await panels.ask_choice(window, [*items, *earlier], caption, selected_index=at)
            if number < len(found):
                return found[: number + 1]

    async def show_turn(self, window: sublime.Window, turn: str = "", path: str = "") -> None:
        """Show what the turn changed in the sheet of all changes, or what it made of the file of
        this path; without an id that of the last one. Of a chat in a work tree, the sheet has all
        that differs there."""
        from ...chat.edit_requests import Checkpoints, TurnTexts

        chat = in_front(self._chats.tabs, window, self._tell)
        if chat is None:
            return
        if not path and self._chats.trees.place_of(chat.told.workspace if chat.told else ""):
            # It is not the user's file that was changed.
            self._show_changes(window)
            return
        if not turn:
            turns = await self._chats.ask_service(chat, Checkpoints(chat.conversation)) or ()
            turn = next((checkpoint.turn for checkpoint in turns if checkpoint.files), "")
        found = await self._chats.ask_service(chat, TurnTexts(chat.conversation, turn)) or ()
        name = chat.told.agent_name if chat.told is not None else ""
        edits = _turn_edits(window, turn_id(chat.conversation, turn), name, found)
        if path:
            await self._show_file(window, path, [edit for edit in edits if edit.path == path])
        elif edits:
            listed = {
                (edit.turn, edit.path)
                for edit in _unseen_edits(self._edits.made.of_window(window.id()))
            }
            self._edits.turns.show([edit for edit in edits if (edit.turn, edit.path) not in listed])
            self._show_changes(window)
        else:
            is_undone = any(file.change.state == UNDONE for file in found)
            self._tell(ALL_UNDONE if is_undone else NO_CHANGES)

    async def _show_file(self, window: sublime.Window, path: str, edits: Sequence[Edit]) -> None:
        unasked = [
            edit
            for edit in _unseen_edits(self._edits.made.of_window(window.id()))
            if (edit.turn, edit.path) in ((mine.turn, path) for mine in edits)
        ]
        for edit in unasked or edits:
            self._edits.turns.add([] if unasked else [edit])
            await self._open_review(window, edit)
        if edits:
            return
        refusal = await in_time(partial(refusal_reason, path), SILENT)
        if refusal:
            self._tell(refusal.format(shown_line(path)))
        else:
            self._tell(NO_EDIT.format(shown_line(os.path.basename(path))))
            window.open_file(path)

    async def fetch_edits(self, window: sublime.Window, shown: ShownTurn) -> list[Edit]:
        """The edits of a turn again, as they are kept. Raises Unanswered."""
        from ...chat.edit_requests import TurnTexts

        service = await self._chats.ensure_service()
        if service is None:
            return []
        answer: Answer[tuple[FileTexts, ...]] = service.ask(TurnTexts(*parts_of(shown.turn)))
        edits = _turn_edits(window, shown.turn, shown.client, await answer)
        return [edit for edit in edits if edit.path in shown.paths]

    def tell_change(self, edit: Edit) -> None:
        """The user has changed what an agent of a chat wrote, which it is told with the next
        message."""
        self._chats.stories.begin(self._tell_agent(conversation_of(edit), edit.path))

    def put_words(self, window: sublime.Window, edit: Edit, words: str) -> None:
        """The user's words about what an agent of a chat wrote stand in its composer then."""
        id = conversation_of(edit)
        chat = next((chat for chat in self._chats.tabs.chats if chat.conversation == id), None)
        if chat is not None:
            chat.composer.insert(chat.views[0], words)
        else:
            drafts = self._chats.drafts
            parts = filter(None, (drafts.text_of(id), words))
            drafts.keep_text(id, "\n".join(parts), folder_of(window), drafts.attached_to(id))
        self._tell(NOTED)

    async def _tell_agent(self, conversation: str, path: str) -> None:
        from ...chat.edit_requests import TellChanged

        service = await self._chats.ensure_service()
        if service is not None:
            told: Answer[None] = service.ask(TellChanged(conversation, (path,)))
            await told

    def _open_rewound(self, window: sublime.Window, rewound: Rewound) -> None:
        """The new chat, with the message in its composer."""
        draft = rewound.words, folder_of(window), rewound.attached
        self._chats.drafts.keep_text(rewound.conversation, *draft)
        self._chats.open_chat(window, rewound.conversation, rewound.agent, rewound.workspace)
        if rewound.left:
            changed = _file_names(file for file in rewound.left if not file.is_excluded)
            said = NOT_LEFT.format(changed) if changed else ""
            self._tell((said + _excluded_note(rewound.left)).strip())

    async def _show_left(
        self, window: sublime.Window, chat: ChatView, turn: str, others: Sequence[FileChange]
    ) -> None:
        from ...chat.edit_requests import TurnTexts

        found = await self._chats.ask_service(chat, TurnTexts(chat.conversation, turn)) or ()
        paths = {edit.path for edit in others}
        left = [file for file in found if file.change.path in paths]
        text = await run_in_thread(partial(_undo_preview, left))
        if text:
            view = texts.open_tab(window, "undo.diff", text)
            view.set_name("not undone.diff")
            view.set_scratch(True)


def _to_undo(found: Sequence[Checkpoint]) -> str:
    """The last turn that left a file as it is."""
    turns = [
        checkpoint.turn
        for checkpoint in found
        if any(file.state == AS_LEFT for file in checkpoint.files)
    ]
    return turns[0] if turns else ""


def _to_redo(found: Sequence[Checkpoint]) -> str:
    """The first of the turns that were undone after the last one that was not."""
    turn = ""
    for each in found:
        states = {file.state for file in each.files}
        if AS_LEFT in states:
            break
        turn = each.turn if UNDONE in states else turn
    return turn


def _file_names(files: Iterable[FileChange]) -> str:
    return ", ".join(shown_line(os.path.basename(file.path)) for file in files)


def _told_files(files: Sequence[FileChange]) -> str:
    """One by its name: it need not be of the turn that is in sight."""
    return _file_names(files) if len(files) == 1 else count_text(len(files), "file")


def _excluded_note(files: Iterable[FileChange]) -> str:
    """Which files were not kept, because the user's rules exclude them."""
    names = _file_names(file for file in files if file.is_excluded)
    return EXCLUDED.format(names) if names else ""


def _unseen_edits(edits: Sequence[Edit]) -> list[Edit]:
    return [edit for edit in edits if edit.state is EditState.WRITTEN and not edit.problem]


def _message_line(text: str) -> str:
    line = shown_line(" ".join(text.split())) or "a message without words"
    return line if len(line) <= SHOWN else line[:SHOWN] + "..."


def _rewind_extent(turns: Sequence[Checkpoint]) -> str:
    """What going back by these turns concerns."""
    paths = {file.path for turn in turns for file in turn.files if file.state != UNDONE}
    when = time.strftime("%H:%M", time.localtime(turns[-1].at.timestamp()))
    return f"{when}, {count_text(len(turns), 'message')}, {count_text(len(paths), 'changed file')}"


def _original_of(data: bytes | None) -> Original:
    return Original("", exists=False) if data is None else of_bytes(data)


def _undo_preview(left: Sequence[FileTexts]) -> str:
    """What undoing would change in files that have changed since. Runs in a thread."""
    parts = []
    for file in left:
        name = os.path.basename(file.change.path)
        found = compare_texts(read_original(file.change.path).text, _original_of(file.before).text)
        parts.append(unified_text(found, f"{name} now", f"{name} before the turn"))
    return "".join(parts)


def _turn_edits(
    window: sublime.Window, turn: str, client: str, found: Sequence[FileTexts]
) -> list[Edit]:
    """The edits that are not undone, and of which all is known."""
    edits = []
    for file in found:
        after = _original_of(file.after)
        if file.is_whole and file.change.state != UNDONE and not after.note:
            rules = sharing_settings.sharing_rules(window)
            edit = Edit(
                window.id(),
                file.change.path,
                _original_of(file.before),
                after.text,
                client,
                # When it was written is not known, nor whether the user was asked.
                0.0,
                tuple(window.folders()),
                rules,
                turn,
                state=EditState.WRITTEN,
                # The same after a restart, so that its review comes back.
                id=text_digest(f"{turn} {file.change.path}"),
            )
            edits.append(edit)
    return edits
