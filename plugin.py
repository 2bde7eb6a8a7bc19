"""All that Sublime Text can call: the listener, the commands of the table, load and unload.

The listener is in this file, with each handler in its class's own body, because Sublime registers
no others (docs/sublime.md 3.2). Imports here block Sublime's UI thread; `companion/ui/host.py`
imports the rest on the worker.
"""

from __future__ import annotations

import sys
from typing import Any

import sublime
import sublime_plugin

# Sublime reloads only this file (docs/sublime.md 1.6); without this, a new plugin.py would run with
# old modules. A copy first: the worker may be importing modules of the last load.
_companion = __name__.rpartition(".")[0] + ".companion"
_forgotten = [name for name in list(sys.modules) if name.startswith(_companion)]
for _name in _forgotten:
    sys.modules.pop(_name, None)

from .companion.ui.commands.list_command import GeminiCompanionListCommand  # noqa: E402
from .companion.ui.commands.table import COMMANDS  # noqa: E402
from .companion.ui.host import host  # noqa: E402

# Sublime registers each class that the module has under a name.
globals().update({command.__name__: command for command in COMMANDS})
__all__ = [
    "GeminiCompanionListCommand",
    "GeminiCompanionListener",
    "plugin_loaded",
    "plugin_unloaded",
]
__all__ += [command.__name__ for command in COMMANDS]

_host = host
_host.is_reloaded = bool(_forgotten)


def plugin_loaded() -> None:
    _host.start()


def plugin_unloaded() -> None:
    _host.unload()


class GeminiCompanionListener(sublime_plugin.EventListener):
    """Events go to `_host.running`, which is None before the start and after the stop. One method
    for each event."""

    def on_exit(self) -> None:
        _host.quit()

    def on_new_window(self, window: sublime.Window) -> None:
        if _host.running is not None:
            _host.running.editor.windows.check_windows()

    def on_pre_close_window(self, window: sublime.Window) -> None:
        if _host.running is not None:
            _host.running.handle_window_close(window)

    def on_load_project(self, window: sublime.Window) -> None:
        if _host.running is not None:
            _host.running.editor.windows.check_windows()

    def on_post_save_project(self, window: sublime.Window) -> None:
        if _host.running is not None:
            _host.running.editor.windows.check_windows()

    def on_activated(self, view: sublime.View) -> None:
        if _host.running is not None:
            _host.running.editor.files.report_focus(view)
            _host.running.review.actions.show_both_sides(view)
            _host.running.diffs.scrolling.follow_activated(view)
            _host.running.status.bar.refresh_view(view)
            _host.running.messages.unseen.refresh_view(view)
            _host.running.base.notices.note_activated()
            _host.running.diffs.next_edit.note_activated(view)
            _host.running.changes.sheets.activate_view(view)
            _host.running.chat.actions.tabs.activate_view(view)
            _host.running.chat.actions.composing.texts.add_view(view)

    def on_deactivated(self, view: sublime.View) -> None:
        if _host.running is not None:
            _host.running.base.notices.note_deactivated()

    def on_load(self, view: sublime.View) -> None:
        if _host.running is not None:
            _host.running.editor.files.report_file(view)

    def on_reload(self, view: sublime.View) -> None:
        if _host.running is not None:
            _host.running.editor.edit_diagnostics.note_loaded_view(view)
            _host.running.chat.actions.context.note_loaded_view(view)

    def on_post_save(self, view: sublime.View) -> None:
        if _host.running is not None:
            _host.running.editor.files.report_file(view)

    def on_associate_buffer(self, buffer: sublime.Buffer) -> None:
        if _host.running is not None:
            for view in buffer.views():
                _host.running.editor.files.report_selection(view)

    def on_post_move(self, view: sublime.View) -> None:
        if _host.running is not None:
            _host.running.editor.files.report_move(view)

    def on_clone(self, view: sublime.View) -> None:
        if _host.running is not None:
            _host.running.chat.actions.tabs.decorate_clone(view)

    def on_selection_modified_async(self, view: sublime.View) -> None:
        running = _host.running
        if running is not None:
            running.editor.files.report_selection(view)
            running.diffs.resting.note_caret_moved(view)
            running.chat.actions.tabs.follow_selection(view)

    def on_modified_async(self, view: sublime.View) -> None:
        running = _host.running
        if running is not None:
            running.review.typed_texts.note_modified(view)
            running.diffs.resting.note_modified(view)
            running.diffs.unopened.note_modified(view)
            running.review.conflicts.note_modified(view)
            running.changes.sheets.take_typed_soon(view)

    def on_pre_close(self, view: sublime.View) -> None:
        if _host.running is not None:
            _host.running.handle_close(view)

    def on_close(self, view: sublime.View) -> None:
        if _host.running is not None:
            _host.running.editor.files.report_close(view)

    def on_query_context(
        self, view: sublime.View, key: str, operator: int, operand: Any, match_all: bool
    ) -> bool | None:
        running = _host.running
        return running.key_context(view, key, operator, operand) if running is not None else None

    def on_query_completions(
        self, view: sublime.View, prefix: str, locations: list[int]
    ) -> sublime.CompletionList | None:
        running = _host.running
        if running is None:
            return None
        return running.chat.actions.composing.completing.offer_completions(view, prefix, locations)

    def on_window_command(
        self, window: sublime.Window, name: str, args: dict[str, Any] | None
    ) -> tuple[str, dict[str, Any]] | None:
        running, view = _host.running, window.active_view()
        if running is None:
            return None
        if name == "terminus_open":
            return running.terminus_command(window, args)
        return running.instead_of(name, args, view) if view is not None else None

    def on_text_command(
        self, view: sublime.View, name: str, args: dict[str, Any] | None
    ) -> tuple[str, dict[str, Any]] | None:
        running = _host.running
        return running.instead_of(name, args, view) if running is not None else None

    def on_post_text_command(
        self, view: sublime.View, name: str, args: dict[str, Any] | None
    ) -> None:
        if _host.running is not None:
            _host.running.chat.actions.tabs.follow_click(name, args, view)
