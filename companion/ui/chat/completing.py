"""What a composer completes: `@` with names of the project and its symbols, `/` at the beginning
with the agent's commands. UI thread only; names are found in threads."""

from __future__ import annotations

import html
import os
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Callable, Sequence

import sublime

from ...base import background
from ...base.shown_text import shown_line
from ...chat.amounts import path_in
from ...chat.project_paths import escape_name, in_order, matching_names
from ...ide.code_queries import FoundCode
from .. import queues, sharing_settings
from ..code import symbol_index
from ..known_trees import KnownTrees
from ..stories import Stories
from .chat_tabs import ChatTabs
from .chat_view import ChatView, workspace_of
from .project_lists import ProjectLists
from .tab_symbols import TabSymbols

# What is being written at the caret: a name behind `@`, which no letter is before, or a command.
NAME = re.compile(r"""(?<![\w@.])@((?:\\.|[^\s\\"])*)$""", re.DOTALL)
COMMAND = re.compile(r"\s*/([^\s/]*)$")
# The most characters before the caret that are looked at, and names and symbols that are offered.
REACH, MOST = 4096, 200
# The list is asked for again with each letter, because it has the best ones only.
FLAGS = sublime.INHIBIT_WORD_COMPLETIONS | sublime.DYNAMIC_COMPLETIONS
FILE = (sublime.KIND_ID_NAVIGATION, "f", "File")
FOLDER = (sublime.KIND_ID_NAMESPACE, "d", "Folder")
SYMBOL = (sublime.KIND_ID_FUNCTION, "s", "Symbol")
AGENTS = (sublime.KIND_ID_SNIPPET, "/", "Command of the agent")


@dataclass(frozen=True)
class TypedWord:
    """`typed` is the word at the caret, which a completion replaces; `fixed` is what stands between
    it and the `@`."""

    fixed: str
    typed: str


class Completing:
    """Completes in the composers of all chats; `trees` are those that agents have for
    themselves."""

    def __init__(
        self, tabs: ChatTabs, lists: ProjectLists, trees: KnownTrees, stories: Stories
    ) -> None:
        self._tabs = tabs
        self._trees = trees
        self._lists = lists
        self._stories = stories
        self._tab_symbols = TabSymbols()
        # Of the unsent texts, by their conversations.
        self._sizes: dict[str, int] = {}

    def offer_completions(
        self, view: sublime.View, prefix: str, points: Sequence[int]
    ) -> sublime.CompletionList | None:
        """What to offer for the word before the carets; None for what other packages do."""
        chat, window = self._tabs.chat_of(view), view.window()
        if chat is None or window is None or any(point < chat.composer.start for point in points):
            return None
        before = {_text_before(chat, view, point) for point in points}
        if len(before) != 1:
            return None
        (text,) = before
        name, command = NAME.search(text), COMMAND.fullmatch(text)
        if name is not None and name.group(1).endswith(prefix):
            found = sublime.CompletionList(None, FLAGS)
            asked = TypedWord(_without_end(name.group(1), prefix), prefix)
            self._stories.begin(self._find_items(chat, window, asked, found), view)
            return found
        is_first = all(point - chat.composer.start < REACH for point in points)
        if command is not None and is_first and command.group(1).endswith(prefix):
            return _command_list(chat, _without_end(command.group(1), prefix))
        return None

    def open_while_typing(self, chat: ChatView) -> None:
        """Open the list while such a word is being written: in a text Sublime does not. What comes
        from elsewhere than the keys has more or fewer characters than one."""
        before, size = self._sizes.get(chat.conversation, 0), len(chat.composer.known_text)
        self._sizes[chat.conversation] = size
        if size == before + 1:
            queues.on_ui_thread(partial(self._open_list, chat))

    def _open_list(self, chat: ChatView) -> None:
        for view in chat.views:
            window = view.window()
            if window is None or window.active_view() != view or not chat.composer.has_caret(view):
                continue
            if view.settings().get("auto_complete") is False or view.is_auto_complete_visible():
                continue
            text = _text_before(chat, view, view.sel()[0].b)
            if NAME.search(text) or COMMAND.fullmatch(text):
                view.run_command("auto_complete", {"disable_auto_insert": True})

    async def _find_items(
        self,
        chat: ChatView,
        window: sublime.Window,
        asked: TypedWord,
        offered: sublime.CompletionList,
    ) -> None:
        items: Sequence[sublime.CompletionItem] = ()
        try:
            folder = await workspace_of(chat, window)
            names = (await self._lists.listing_of(window, folder)).names
            symbols = [] if asked.fixed else await self._find_symbols(window, asked.typed)
            is_excluded = sharing_settings.exclusion_rule(window)
            path_for = partial(self._trees.path_for, folder)
            look = partial(_fitting_items, names, symbols, asked, folder, is_excluded, path_for)
            items = await background.start_work(look)
        finally:
            # A list that is never filled would keep the others waiting.
            offered.set_completions(items, FLAGS)

    async def _find_symbols(self, window: sublime.Window, typed: str) -> list[FoundCode]:
        """What the project defines by just this name, and all of the tabs."""
        found = symbol_index.indexed_definitions(window, typed) if len(typed) > 1 else []
        return found + await self._tab_symbols.symbols_of(window)


def _text_before(chat: ChatView, view: sublime.View, point: int) -> str:
    """The end of the unsent text before the point."""
    return view.substr(sublime.Region(max(chat.composer.start, point - REACH), point))


def _without_end(text: str, end: str) -> str:
    return text[: len(text) - len(end)]


def _command_list(chat: ChatView, fixed: str) -> sublime.CompletionList:
    """The commands that begin so; what the agent is not allowed to be told is not among them."""
    told = chat.told.commands if chat.told is not None else ()
    fitting = [command for command in told if command.is_allowed and command.name.startswith(fixed)]
    items = [
        sublime.CompletionItem(
            command.name[len(fixed) :],
            annotation=shown_line(command.hint),
            completion=command.name[len(fixed) :] + " ",
            kind=AGENTS,
            details=html.escape(shown_line(command.description), quote=False),
        )
        for command in fitting
    ]
    return sublime.CompletionList(items, sublime.INHIBIT_WORD_COMPLETIONS)


def _fitting_items(
    names: Sequence[str],
    symbols: Sequence[FoundCode],
    asked: TypedWord,
    folder: str,
    is_excluded: Callable[[str], bool],
    path_for: Callable[[str], str],
) -> list[sublime.CompletionItem]:
    """The items that fit. `path_for` gives the path by which the agent has a file of the user's.
    Runs in a thread, because it looks at links on the disk, and at all names."""

    def is_offered(name: str) -> bool:
        return not is_excluded(os.path.join(folder, name))

    best = matching_names(names, asked.fixed, asked.typed, is_offered, MOST)
    items = [_name_item(path, asked.fixed) for path in best]
    letters = in_order(asked.typed)
    named = (symbol for symbol in symbols if symbol.name)
    fitting = [symbol for symbol in named if letters.match(symbol.name.lower())][:MOST]
    excluded = {path for path in {each.path for each in fitting} if is_excluded(path)}
    return items + [
        _symbol_item(replace(symbol, path=path_for(symbol.path)), folder)
        for symbol in fitting
        if symbol.path not in excluded
    ]


def _name_item(name: str, fixed: str) -> sublime.CompletionItem:
    whole = escape_name(name)
    # What stands before the word stays, so it is no part of what is put there.
    rest = whole[len(fixed) :] if whole.startswith(fixed) else escape_name(name[len(fixed) :])
    kind = FOLDER if name.endswith("/") else FILE
    return sublime.CompletionItem(rest, completion=rest, kind=kind)


def _symbol_item(found: FoundCode, folder: str) -> sublime.CompletionItem:
    path = path_in(folder, found.path).replace(os.sep, "/")
    place = f"{escape_name(path)}#L{found.line}"
    name = shown_line(found.name)
    return sublime.CompletionItem(
        name, annotation=place, completion=f"{place} ({name})", kind=SYMBOL
    )
