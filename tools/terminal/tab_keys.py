"""What keys do with tabs: write in one, list its links, go to another one, save, open a file."""

from __future__ import annotations

import os
from typing import Any, List, Optional, Tuple

from headless import clicks
from headless.keyboard import Keyboard
from headless.keys import END_OF_PASTE, PASTED, LineKeys, bound

from . import link_lists, proposals, tabs, text_links
from .line_prompt import LinePrompt
from .messages import Messages
from .shown_editor import ShownEditor


class TabWriting:
    """Whether keys go to the tab that is shown, and what they do there. `save` saves the tab."""

    def __init__(self, editor: Any, shown: ShownEditor) -> None:
        self.is_on = False
        self._editor = editor
        self._shown = shown
        self._keyboard = Keyboard(editor)

    @property
    def begun(self) -> List[str]:
        """The keys that were pressed of a binding of several."""
        return self._keyboard.begun

    def begin(self) -> None:
        self.is_on = self._shown.ask_tab() is not None

    def go_on(self) -> None:
        """Only as long as there is a tab."""
        self.is_on = self.is_on and self._shown.ask_tab() is not None

    def write_key(self, key: str) -> bool:
        """What a key as the terminal sends it does in the tab; False for one that is to save it."""
        view, name = self._shown.ask_tab(), bound(key)
        is_free = not self.begun and (view is None or view.completing is None)
        if view is None or name == "ctrl+c" or (name == "escape" and is_free):
            self.is_on = False
            self._keyboard.forget_begun()
        elif name == "ctrl+s":
            return False
        elif key.startswith(PASTED):
            text = key[len(PASTED) :].replace(END_OF_PASTE, "")
            lines = text.replace("\r\n", "\n").replace("\r", "\n")
            self._editor.ui(self._keyboard.paste, view, lines)
        elif name:
            self._editor.ui(self._keyboard.press, view, name)
        return True

    def type_line(self, line: Optional[str]) -> None:
        """Type a line where the keyboard is, as a person does."""
        window = self._editor.active_window
        view = window.active_view() if window is not None else None
        for character in (line or "") if view is not None else "":
            self._editor.ui(self._editor.type_text, view, character)


class TabLists:
    """Lists of which something is chosen: links, tabs."""

    def __init__(self, editor: Any, shown: ShownEditor, messages: Messages) -> None:
        self._editor = editor
        self._shown = shown
        self._messages = messages
        # The link of a text that was chosen, with its view.
        self._chosen: Optional[Tuple[Any, clicks.Link]] = None

    def list_tabs(self) -> None:
        """On the UI thread: the tabs that are not diffs, to bring one to the front."""
        window, found = self._editor.active_window, tabs.list_views(self._editor)

        def chosen(index: int) -> None:
            if index >= 0:
                view = found[index]
                self._shown.want(view.id)
                self._editor.focus_window(view.window)
                view.window.show(view.sheet)

        if window is not None and found:
            rows = [tabs.tab_row(tab) for tab in found]
            window.ask(rows, "command_palette:input", {"on_select": chosen})
        else:
            self._messages.say("No tab is open.")

    def list_links(self) -> None:
        """On the UI thread: those of the tab that is shown, to follow one."""
        window, view = self._editor.active_window, self._shown.find_tab()
        links = link_lists.links_of(view) if view is not None else []

        def chosen(index: int) -> None:
            if index < 0:
                return
            link = links[index].link
            if link.where == text_links.TEXT:
                self._chosen = view, link
            else:
                # What it asks would be closed with the list.
                work = lambda: clicks.follow(self._editor, link.href, link.on_navigate)  # noqa: E731
                self._editor.queues.ui.post(work)

        if links:
            rows = link_lists.list_rows(links)
            window.ask(rows, "command_palette:input", {"on_select": chosen})
        else:
            self._messages.say("Nothing here has a link.")

    def press_chosen(self) -> None:
        """The list is closed, and the text is in sight again: what is not, nobody decides on."""
        chosen, self._chosen = self._chosen, None
        if chosen is not None:
            view, link = chosen
            if not self._editor.ui(text_links.press_link, self._editor, view, link):
                self._messages.say("%s is not there any more: nothing was done." % link.text)


class TabFiles:
    """Files of tabs: opened and saved."""

    def __init__(
        self, editor: Any, shown: ShownEditor, messages: Messages, prompt: LinePrompt
    ) -> None:
        self._editor = editor
        self._shown = shown
        self._messages = messages
        self._prompt = prompt

    def save_tab(self, next_key: LineKeys) -> None:
        """The tab that is shown, or else the one with the keyboard."""
        window = self._editor.active_window
        view = window.active_view() if window is not None else None
        is_of_package = view is not None and any(
            view.settings.get(key) for key in (proposals.RECORD, proposals.SHEET)
        )
        if view is None or (proposals.shown_only(view) is not None and not is_of_package):
            self._messages.say("No tab that can be saved is in front; g lists them.")
            return
        if view.buffer.file_name or is_of_package:
            # Packages may do something else when this is saved.
            self._editor.ui(self._editor.commands.run_text, view, "save")
        elif not self._save_as(view, next_key):
            return
        if view.buffer.file_name and not view.buffer.is_dirty():
            self._messages.say("Saved: %s" % view.buffer.file_name)

    def open_path(self, next_key: LineKeys) -> None:
        path = self._prompt.ask(next_key, "File to open: ")
        window = self._editor.active_window
        if not path or window is None:
            return
        full = self._full_path(path)
        if os.path.isfile(full):
            self._shown.want(self._editor.ui(self._editor.open_file, window, full).id)
            self._messages.say("Opened %s; Gemini CLI is told." % full)
        else:
            self._messages.say("No such file: %s" % full)

    def _save_as(self, view: Any, next_key: LineKeys) -> bool:
        """Whether it was saved to a file that the user has named."""
        next_key.tell_apart(False)
        typed = self._prompt.ask(next_key, "Save as: ")
        if not typed:
            return False
        path = self._full_path(typed)
        if os.path.lexists(path):
            self._messages.say("%s is there already: nothing is saved." % path)
            return False
        self._editor.ui(self._editor.save, view, path)
        return True

    def _full_path(self, path: str) -> str:
        """A path that was typed is one below the first folder."""
        window = self._editor.active_window
        folder = window.folders[0] if window is not None and window.folders else os.getcwd()
        return os.path.abspath(os.path.join(folder, os.path.expanduser(path)))
