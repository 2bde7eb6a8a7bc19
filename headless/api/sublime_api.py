"""The module below `sublime`: `view_size(id)` is `sublime.View(id).size()`, and so on.

Packages that call it expect ids where `sublime` has objects. A name that nothing in `sublime`
stands for raises NotImplementedError when it is called.
"""

from __future__ import annotations

from typing import Any, Callable

import sublime

_CLASSES = {
    "view_": sublime.View,
    "window_": sublime.Window,
    "buffer_": sublime.Buffer,
    "sheet_": sublime.Sheet,
    "settings_": sublime.Settings,
}


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
