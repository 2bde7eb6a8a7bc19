"""The conversations of a window's folders in a panel, page by page, and what the user does with
one: open, rename, fork, export, delete. *Agents* leads there. UI thread only."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Awaitable, Callable

import sublime

from ...base.shown_text import shown_line
from ...chat.amounts import clock_text, count_text
from ...chat.workspaces import Workspaces
from ...work_trees.tree_places import folder_for_trees
from .. import panels, settings, texts, views
from ..file_reading import in_time
from ..known_trees import KnownTrees
from ..panels import Item
from . import chat_places
from .chat_actions import ChatActions
from .drafts import folder_of

if TYPE_CHECKING:
    from ...agent.agent import SessionInfo
    from ...chat.chat_service import ChatService

# Conversations of one page: a panel of that many opens at once.
PAGE = 100
NONE = (
    'There are no conversations in the folders of this window. "Gemini Companion: Chat" begins one.'
)
FIND, ALL, OLDER = "Search in the texts …", "All conversations", "Older conversations …"
WORDS = "Words in titles and texts:"
NOT_FOUND = "No conversation of these folders has “{}”."
TITLE = "Title:"
KEEP, DELETE = "Keep it", "Delete it for good"
WHAT_IS_DELETED = (
    "{}, with images and what could undo the edits. Files of the project stay as they are."
)
OWN_FILES_GO = "What the agent itself has kept of it is deleted, too."
OWN_FILES_STAY = "What the agent itself has kept of it stays."
IS_BUSY = "Its agent is working, and is stopped first."
IS_OPEN = "It is open in a tab, which closes."
HAS_DRAFT = "What you have written in it and not sent is deleted, too."
# What can be done with a conversation, for key bindings, and the words for it.
ACTIONS = {
    "open": "Open …",
    "rename": "Rename …",
    "fork": "Fork: go on in a copy …",
    "export": "Export as Markdown …",
    "delete": "Delete …",
}

# What the list says above the conversations.
HEADINGS = {
    "open": "Conversations",
    "rename": "Rename a conversation",
    "fork": "Fork a conversation",
    "export": "Export a conversation",
    "delete": "Delete a conversation",
}


@dataclass
class Listed:
    """The pages so far. With `words`, of conversations that have them."""

    words: str = ""
    infos: list[SessionInfo] = field(default_factory=list)
    excerpts: dict[str, str] = field(default_factory=dict)
    cursor: str = ""


class ConversationList:
    """`chats` opens the tabs; `tell` shows a sentence."""

    def __init__(self, chats: ChatActions, tell: Callable[[str], None]) -> None:
        self._chats = chats
        self._tell = tell

    async def show_list(self, window: sublime.Window, action: str, words: str = "") -> None:
        """Let the user choose a conversation, and do what `action` says, one of ACTIONS; with
        words, one of those that have them. Raises Unanswered."""
        service = await self._chats.ensure_service()
        while service is not None:
            info = await self._choose_conversation(service, window, action, words)
            if info is None or not await self._do_action(service, window, info, action):
                return

    async def find_conversation(self, window: sublime.Window) -> bool:
        """Ask for words, and let the user open one of the conversations that have them; False if
        they give none. Raises Unanswered."""
        words = (await panels.ask_line(window, WORDS) or "").strip()
        if words:
            await self.show_list(window, "open", words)
        return bool(words)

    async def export_conversation(self, window: sublime.Window, conversation: str) -> None:
        """The conversation as Markdown, in a new tab. Raises Unanswered."""
        from ...chat.requests import Export

        service = await self._chats.ensure_service()
        if service is not None:
            text = await service.ask(Export(conversation))
            title = next(iter(text.splitlines()), "").strip("# ")
            texts.open_tab(window, _file_name(title), text)

    # Choosing

    async def _choose_conversation(
        self, service: ChatService, window: sublime.Window, action: str, words: str
    ) -> SessionInfo | None:
        """The conversation that the user chooses for the action; None for none. Raises
        Unanswered."""
        listed, seen = await self._add_page(service, window, Listed(words)), 0
        while listed.infos or listed.words:
            items: list[Item] = [
                ALL if listed.words else FIND,
                *(self._conversation_item(info, listed) for info in listed.infos),
            ]
            more = [OLDER] if listed.cursor else []
            # Enter is for the newest one, and not for a search.
            at = min(seen + 1, len(items) - 1)
            number = await panels.ask_choice(
                window, [*items, *more], _list_heading(listed, action), selected_index=at
            )
            if 0 < number < len(items):
                return listed.infos[number - 1]
            if number < 0:
                return None
            if number:
                seen = len(listed.infos)
                listed = await self._add_page(service, window, listed)
            else:
                seen, listed = 0, await self._list_others(service, window, listed)
        self._tell(NONE)
        return None

    async def _list_others(
        self, service: ChatService, window: sublime.Window, before: Listed
    ) -> Listed:
        """List the conversations with other words, or all again."""
        words = "" if before.words else await panels.ask_line(window, WORDS)
        return await self._add_page(service, window, Listed((words or "").strip()))

    async def _add_page(
        self, service: ChatService, window: sublime.Window, listed: Listed
    ) -> Listed:
        """Add the next page to what is listed. A page of a search may have nothing although there
        are more."""
        from ...chat.requests import ListConversations

        before, places = len(listed.infos), await window_workspaces(window, self._chats.trees)
        while True:
            wanted = ListConversations(places, listed.words, listed.cursor, PAGE)
            found = await service.ask(wanted)
            listed.infos += found.conversations
            listed.excerpts.update(found.excerpts)
            listed.cursor = found.next
            if len(listed.infos) > before or not listed.cursor:
                return listed

    def _conversation_item(self, info: SessionInfo, listed: Listed) -> sublime.QuickPanelItem:
        count = count_text(info.turns, "message")
        facts = [_time_text(info.last_used), agent_name(info.agent), count]
        details = [" · ".join(facts), *filter(None, [listed.excerpts.get(info.id)])]
        is_open = bool(chat_places.views_of(info.id))
        remark = "busy" if info.is_busy else "open" if is_open else ""
        return sublime.QuickPanelItem(info.title, details, remark)

    # Acting

    async def _do_action(
        self, service: ChatService, window: sublime.Window, info: SessionInfo, action: str
    ) -> bool:
        """Do it; whether the list is shown again."""
        acts: dict[str, Callable[..., Awaitable[bool]]] = {
            "open": self._open_conversation,
            "rename": self._rename_conversation,
            "fork": self._fork_conversation,
            "export": self._export_conversation,
            "delete": self._delete_conversation,
        }
        return await acts[action](service, window, info)

    async def _open_conversation(
        self, service: ChatService, window: sublime.Window, info: SessionInfo
    ) -> bool:
        self._chats.open_chat(window, info.id)
        return False

    async def _export_conversation(
        self, service: ChatService, window: sublime.Window, info: SessionInfo
    ) -> bool:
        await self.export_conversation(window, info.id)
        return False

    async def _rename_conversation(
        self, service: ChatService, window: sublime.Window, info: SessionInfo
    ) -> bool:
        from ...chat.requests import Rename

        title = (await panels.ask_line(window, TITLE, shown_line(info.title)) or "").strip()
        if title and title != info.title:
            await service.ask(Rename(info.id, title))
        return True

    async def _fork_conversation(
        self, service: ChatService, window: sublime.Window, info: SessionInfo
    ) -> bool:
        from ...chat.requests import Fork

        made = await service.ask(Fork(info.id))
        self._chats.open_chat(window, made.id)
        return False

    async def _delete_conversation(
        self, service: ChatService, window: sublime.Window, info: SessionInfo
    ) -> bool:
        """After a question that says what is deleted."""
        from ...chat.requests import Delete

        question = f"Delete “{info.title}”?"
        items: list[Item] = [KEEP, sublime.QuickPanelItem(DELETE, self._deletion_details(info))]
        if await panels.ask_choice(window, items, question) == 1:
            await service.ask(Delete(info.id))
            self._forget_conversation(info.id)
        return True

    def _deletion_details(self, info: SessionInfo) -> list[str]:
        from ...agent.supported import CLIS

        row = CLIS.get(info.agent)
        told = [WHAT_IS_DELETED.format(count_text(info.turns, "message"))]
        told += [OWN_FILES_GO if row is not None and row.removes_sessions else OWN_FILES_STAY]
        told += [IS_BUSY] if info.is_busy else []
        told += [IS_OPEN] if chat_places.views_of(info.id) else []
        has_draft = (self._chats.drafts.text_of(info.id) or "").strip()
        return [*told, *([HAS_DRAFT] if has_draft else [])]

    def _forget_conversation(self, conversation: str) -> None:
        """The conversation was deleted: its tabs close, and its unsent text goes."""
        for view in chat_places.views_of(conversation):
            view.close()
        self._chats.drafts.forget(conversation)


async def window_workspaces(window: sublime.Window, trees: KnownTrees) -> Workspaces:
    """The folders of the window and of its work trees, as conversations name them."""
    folders = tuple(views.window_folders(window) or (folder_of(window),))
    setting = settings.current_settings().worktree_folder
    places = await in_time(partial(_find_places, folders, setting), Workspaces(folders))
    own = dict.fromkeys([*places.folders, *trees.folders_in(window)])
    return replace(places, folders=tuple(own))


def _find_places(folders: tuple[str, ...], setting: str) -> Workspaces:
    """The folders without links, and where work trees of the repositories are made that may have
    one of them. Blocks."""
    real = tuple(map(os.path.realpath, folders))
    roots = dict.fromkeys(str(root) for each in real for root in (each, *PurePath(each).parents))
    made_in = (os.path.realpath(folder_for_trees(root, setting)) for root in roots)
    return Workspaces(real, tuple(made_in))


def _list_heading(listed: Listed, action: str) -> str:
    count = f"{len(listed.infos):,}{'+' if listed.cursor else ''}"
    if listed.words and not listed.infos:
        return NOT_FOUND.format(listed.words)
    found = f" with “{listed.words}”" if listed.words else ""
    return f"{HEADINGS[action]} ({count}{found})"


def _time_text(time: datetime) -> str:
    local, now = time.astimezone(), datetime.now().astimezone()
    day = "" if local.date() == now.date() else f"{local:%a %d %b %Y} "
    return day + clock_text(time)


def agent_name(agent: str) -> str:
    """The name of the agent with this id; the id of one that is not known here."""
    from ...agent.supported import CLIS

    row = CLIS.get(agent)
    return row.program.name if row is not None else agent


def _file_name(title: str) -> str:
    name = "".join(
        character if character.isalnum() or character in " -_." else "-" for character in title
    )
    return " ".join(name.split())[:60].strip(" .-") + ".md" if name.strip(" .-") else "chat.md"
