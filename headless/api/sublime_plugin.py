"""The module plugins import as `sublime_plugin`: the base classes; the engine finds what derives.

No base class defines a handler: the engine asks a listener what it has, as Sublime does.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import sublime

from headless import running as _running
from headless.commands import command_name as _command_name
from headless.events import TEXT_EVENTS as _TEXT_EVENTS

# What the genuine module has beyond the stubs, and packages use.
_OF_EVENTS = {"all_callbacks": "all_callbacks", "view_event_listeners": "view_listeners"}
_OF_PLUGINS = ("load_module", "reload_plugin", "unload_module", "unload_plugin")


def __getattr__(name: str) -> Any:
    if name in _OF_EVENTS:
        return getattr(_running.current().events, _OF_EVENTS[name])
    if name == "text_change_listener_callbacks":
        return _TEXT_EVENTS
    if name == "check_view_event_listeners":
        editor = _running.current()
        return lambda view: editor.ui(editor.events.check_view, editor.view(view.view_id))
    if name in _OF_PLUGINS:
        editor = _running.current()
        return lambda target: editor.ui(getattr(editor.plugins, name), target)
    raise AttributeError("module 'sublime_plugin' has no attribute %r" % name)


def find_view_event_listener(view: sublime.View, cls: Any) -> Any:
    """The listener of a class that a view has, None where it has none."""
    for listener in _running.current().events.view_listeners.get(view.view_id, ()):
        if type(listener) is cls:
            return listener
    return None


class CommandInputHandler:
    """Asks for one argument; the headless editor never opens it by itself."""

    def name(self) -> str:
        return _command_name(type(self).__name__, "_input_handler")

    def placeholder(self) -> str:
        return ""

    def initial_text(self) -> str:
        return ""

    def initial_selection(self) -> List[Any]:
        return []

    def preview(self, text: Any) -> Any:
        return ""

    def validate(self, text: Any, event: Any = None) -> bool:
        return True

    def cancel(self) -> None:
        pass

    def confirm(self, text: Any, event: Any = None) -> None:
        pass

    def next_input(self, args: Dict[str, Any]) -> Optional[CommandInputHandler]:
        return None

    def want_event(self) -> bool:
        return False


class BackInputHandler(CommandInputHandler):
    """Goes one step back."""

    def name(self) -> str:
        return "_Back"


class TextInputHandler(CommandInputHandler):
    """Asks for a text."""

    def description(self, text: str) -> str:
        return text


class ListInputHandler(CommandInputHandler):
    """Asks for one of a list."""

    def list_items(self) -> Any:
        return []

    def description(self, value: Any, text: str) -> str:
        return text


def _filter_args(command: Any, args: Any) -> Any:
    """Without the event, unless the command wants it."""
    if args and "event" in args and not command.want_event():
        return {key: value for key, value in args.items() if key != "event"}
    return args


def _run(command: Any, edit_token: int, args: Any) -> Any:
    return command.run(**(command.filter_args(args) or {}))


def _run_text(command: Any, edit_token: int, args: Any) -> Any:
    args = command.filter_args(args)
    edit = command.view.begin_edit(edit_token, command.name(), args)
    try:
        return command.run(edit, **(args or {}))
    finally:
        command.view.end_edit(edit)


class Command:
    """The questions the editor asks a command. `run_` is what it calls; the stubs lack it."""

    filter_args = _filter_args
    run_ = _run

    def name(self) -> str:
        return _command_name(type(self).__name__)

    def is_enabled(self) -> bool:
        return True

    def is_visible(self) -> bool:
        return True

    def is_checked(self) -> bool:
        return False

    def description(self) -> Optional[str]:
        return None

    def want_event(self) -> bool:
        return False

    def input(self, args: Dict[str, Any]) -> Optional[CommandInputHandler]:
        return None

    def input_description(self) -> str:
        return ""


class ApplicationCommand(Command):
    """One instance for the editor."""


class WindowCommand(Command):
    """One instance for each window."""

    def __init__(self, window: sublime.Window) -> None:
        self.window = window


class TextCommand(Command):
    """One instance for each view; run gets an Edit."""

    run_ = _run_text

    def __init__(self, view: sublime.View) -> None:
        self.view = view


class EventListener:
    """One instance for the editor."""


class ViewEventListener:
    """One instance for each view it applies to."""

    @classmethod
    def is_applicable(cls, settings: sublime.Settings) -> bool:
        return True

    @classmethod
    def applies_to_primary_view_only(cls) -> bool:
        return True

    def __init__(self, view: sublime.View) -> None:
        self.view = view


class TextChangeListener:
    """One instance for each buffer it applies to."""

    @classmethod
    def is_applicable(cls, buffer: sublime.Buffer) -> bool:
        return True

    def __init__(self) -> None:
        self.buffer: Any = None

    def detach(self) -> None:
        """Stop hearing of changes; callbacks already on their way to the worker still come."""
        if self.buffer is not None:
            self._others().remove(self)
            self.buffer = None

    def attach(self, buffer: sublime.Buffer) -> None:
        if self.buffer is not None:
            raise ValueError("this TextChangeListener is attached already")
        self.buffer = buffer
        self._others().append(self)

    def is_attached(self) -> bool:
        return self.buffer is not None

    def _others(self) -> List[Any]:
        listeners = _running.current().events.text_listeners
        return listeners.setdefault(self.buffer.buffer_id, [])  # type: ignore[no-any-return]
