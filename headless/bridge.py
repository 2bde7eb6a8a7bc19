"""What the engine needs of the modules plugins import: wrappers for ids, and values."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

API_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "api")


class Api:
    """The modules `sublime` and `sublime_plugin`, seen from the engine."""

    def __init__(self) -> None:
        if API_FOLDER not in sys.path:
            sys.path.insert(0, API_FOLDER)
        self.sublime: Any = importlib.import_module("sublime")
        self.plugin: Any = importlib.import_module("sublime_plugin")
        self.Window, self.View = self.sublime.Window, self.sublime.View
        self.Buffer, self.Settings = self.sublime.Buffer, self.sublime.Settings
        self.Edit = self.sublime.Edit
        self.platform = self.sublime.platform
        self.encode_value = self.sublime.encode_value
        self.decode_value = self.sublime.decode_value
        self.open = True

    def text_change(self, entry: Any) -> Any:
        """A TextChange from (start, end, removed UTF-16 units, removed UTF-8 units, text)."""
        begin, end, utf16, utf8, text = entry
        position = self.sublime.HistoricPosition
        return self.sublime.TextChange(position(*begin), position(*end), utf16, utf8, text)

    def shut_down(self) -> None:
        """From here on every call of the API raises RuntimeError."""
        self.open = False
