"""The module below `sublime`: `view_size(id)` is `sublime.View(id).size()`, and so on.

Packages that call it expect ids where `sublime` has objects. A name that nothing in `sublime`
stands for raises NotImplementedError when it is called.
"""

from __future__ import annotations

from typing import Any, Callable, List, Tuple

import sublime
import sublime_plugin

from headless import running as _running
from headless import syntax_tests as _syntax_tests

_CLASSES = {
    "view_": sublime.View,
    "window_": sublime.Window,
    "buffer_": sublime.Buffer,
    "sheet_": sublime.Sheet,
    "settings_": sublime.Settings,
}


def run_syntax_test(path: str) -> Tuple[int, List[str]]:
    return _syntax_tests.run(_running.current(), path)


def incompatible_syntax_patterns(path: str) -> List[Any]:
    return list(_syntax_tests.incompatible(_running.current(), path))


def can_accept_input(name: str, args: Any) -> bool:
    return _accepts_input(None, name)


def window_can_accept_input(window_id: int, name: str, args: Any) -> bool:
    return _accepts_input(_running.current().window(window_id), name)


def view_can_accept_input(view_id: int, name: str, args: Any) -> bool:
    return _accepts_input(_running.current().view(view_id).window, name)


def _accepts_input(window: Any, name: str) -> bool:
    """A built-in command asks for nothing here."""
    commands = _running.current().commands
    kind, target = commands.find(window, name)
    command = commands.instance(kind, name, target) if kind else None
    return command is not None and type(command).input is not sublime_plugin.Command.input


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(name)
    for prefix, cls in _CLASSES.items():
        method = getattr(cls, name[len(prefix) :], None) if name.startswith(prefix) else None
        if method is not None:
            return lambda id, *args: _plain(method(cls(id), *args))
    function = getattr(sublime, name, None)
    if callable(function) and not isinstance(function, type):
        return lambda *args: _plain(function(*args))
    return lambda *args: _missing(name)


def _plain(value: Any) -> Any:
    if isinstance(value, (sublime.View, sublime.Window, sublime.Buffer, sublime.Sheet)):
        return value.id()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _missing(name: str) -> Any:
    raise NotImplementedError("sublime_api.%s is not offered by the headless editor" % name)
