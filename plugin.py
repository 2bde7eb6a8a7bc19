"""All that Sublime Text can call: listeners, commands, load and unload; the work is done below.

The listeners stand here, each handler in its class's own body, because Sublime registers no others
(an inherited handler makes it give up the whole file).
"""

from __future__ import annotations

import os
import sys
from typing import Any

import sublime
import sublime_plugin

# Sublime reloads this file alone; without this a new plugin.py would run on old modules.
for _name in [name for name in sys.modules if name.startswith(f"{__package__}.companion")]:
    del sys.modules[_name]

from .companion.ide.events import StatusAsked  # noqa: E402
from .companion.ide.status import Status  # noqa: E402
from .companion.ui import diff_views, terminal  # noqa: E402
from .companion.ui.api_server import Api  # noqa: E402
from .companion.ui.host import SETTINGS, Host  # noqa: E402
from .companion.ui.kept_decisions import KeptDecisions  # noqa: E402

__all__ = [
    "GeminiCompanionAcceptDiffCommand",
    "GeminiCompanionFillViewCommand",
    "GeminiCompanionForgetEnvironmentCommand",
    "GeminiCompanionListener",
    "GeminiCompanionRejectDiffCommand",
    "GeminiCompanionReleaseDiffCommand",
    "GeminiCompanionRestartCommand",
    "GeminiCompanionRunCliCommand",
    "GeminiCompanionShowKeptCommand",
    "GeminiCompanionShowLogCommand",
    "GeminiCompanionStartApiServerCommand",
    "GeminiCompanionStatusCommand",
    "GeminiCompanionStopApiServerCommand",
    "plugin_loaded",
    "plugin_unloaded",
]

PANEL = "gemini_companion"

# The two globals: what lives between load and unload, and neither knows the other.
_host = Host()
_api = Api(_host.editor)


def plugin_loaded() -> None:
    _host.start()


def plugin_unloaded() -> None:
    _api.unload()
    _host.stop()


class GeminiCompanionListener(sublime_plugin.EventListener):
    def on_exit(self) -> None:
        _host.quit()
        _api.quit()

    def on_new_window(self, window: sublime.Window) -> None:
        _host.look_at_windows()

    def on_load_project(self, window: sublime.Window) -> None:
        _host.look_at_windows()

    def on_post_save_project(self, window: sublime.Window) -> None:
        _host.look_at_windows()

    def on_activated(self, view: sublime.View) -> None:
        _host.activated(view)

    def on_load(self, view: sublime.View) -> None:
        _host.appeared(view)

    def on_post_save(self, view: sublime.View) -> None:
        _host.appeared(view)

    def on_associate_buffer(self, buffer: sublime.Buffer) -> None:
        for view in buffer.views():
            _host.changed(view)

    def on_post_move(self, view: sublime.View) -> None:
        _host.moved(view)

    def on_selection_modified_async(self, view: sublime.View) -> None:
        _host.changed(view)

    def on_modified_async(self, view: sublime.View) -> None:
        _host.edited(view)

    def on_pre_close(self, view: sublime.View) -> None:
        _host.closes(view)

    def on_close(self, view: sublime.View) -> None:
        _host.closed(view)

    def on_window_command(
        self, window: sublime.Window, name: str, args: dict[str, Any] | None
    ) -> tuple[str, dict[str, Any]] | None:
        if name == "terminus_open":
            arguments = _host.terminus_arguments(window, args)
            return None if arguments is None else (name, arguments)
        view = window.active_view()
        return _accept_instead_of_save(view, name) if view is not None else None

    def on_text_command(
        self, view: sublime.View, name: str, args: dict[str, Any] | None
    ) -> tuple[str, dict[str, Any]] | None:
        return _accept_instead_of_save(view, name)


def _accept_instead_of_save(view: sublime.View, name: str) -> tuple[str, dict[str, Any]] | None:
    """A proposal has no file to save to; the user who saves it means that it is good."""
    if name != "save" or not (diff_views.is_diff(view) or diff_views.is_original(view)):
        return None
    window = view.window()
    if window is None or not sublime.load_settings(SETTINGS).get("accept_on_save", True):
        return None
    sublime.set_timeout(lambda: window.run_command("gemini_companion_accept_diff"), 0)
    return ("noop", {})


class GeminiCompanionAcceptDiffCommand(sublime_plugin.WindowCommand):
    """Send the proposal as it stands now to the CLI, which writes the file."""

    def is_enabled(self) -> bool:
        return diff_views.current(self.window) is not None

    def run(self) -> None:
        view = diff_views.current(self.window)
        if view is not None:
            _host.accept(self.window, view)


class GeminiCompanionRejectDiffCommand(sublime_plugin.WindowCommand):
    """Tell the CLI that the file stays as it is."""

    def is_enabled(self) -> bool:
        return diff_views.current(self.window) is not None

    def run(self) -> None:
        view = diff_views.current(self.window)
        if view is not None:
            _host.decide(view, accept=False)


class GeminiCompanionReleaseDiffCommand(sublime_plugin.WindowCommand):
    """Give up a diff whose CLI is gone or was interrupted; the text stays as a tab."""

    def is_enabled(self) -> bool:
        return diff_views.current(self.window) is not None

    def run(self) -> None:
        view = diff_views.current(self.window)
        if view is not None:
            _host.release(view)


class GeminiCompanionFillViewCommand(sublime_plugin.TextCommand):
    """Not for users: puts a waiting text into a new view of a diff."""

    def run(self, edit: sublime.Edit) -> None:
        diff_views.fill(self.view, edit)


class GeminiCompanionForgetEnvironmentCommand(sublime_plugin.TextCommand):
    """Not for users: run by Terminus on a terminal that got our variables."""

    def run(self, edit: sublime.Edit) -> None:
        terminal.forget_environment(self.view)


class GeminiCompanionRunCliCommand(sublime_plugin.WindowCommand):
    """Start Gemini CLI in a folder of the window; asks which where there are several."""

    def is_enabled(self) -> bool:
        return _host.is_running

    def run(self) -> None:
        folders = self.window.folders() or [self._fallback()]
        if len(folders) == 1:
            _host.run_cli(self.window, folders[0])
        else:
            self.window.show_quick_panel(
                folders,
                lambda index: _host.run_cli(self.window, folders[index]) if index >= 0 else None,
                placeholder="Run Gemini CLI in which folder?",
            )

    def _fallback(self) -> str:
        view = self.window.active_view()
        path = view.file_name() if view is not None else None
        return os.path.dirname(path) if path else os.path.expanduser("~")


class GeminiCompanionStatusCommand(sublime_plugin.WindowCommand):
    """Show whether a CLI is connected to this window, and what it needs otherwise."""

    def is_enabled(self) -> bool:
        return _host.companion is not None

    def run(self) -> None:
        companion = _host.companion
        if companion is not None and companion.problem:
            _show_panel(self.window, companion.problem + "\n")
        elif companion is not None:
            companion.post(StatusAsked(self._reply))

    def _reply(self, statuses: tuple[Status, ...]) -> None:
        """On the companion's thread."""
        texts = [status.text() for status in statuses if status.window_id == self.window.id()]
        sublime.set_timeout(lambda: _show_panel(self.window, "".join(texts) + _api.text()), 0)


class GeminiCompanionShowKeptCommand(sublime_plugin.WindowCommand):
    """Let the user see, apply or discard what he accepted and no CLI could be told of yet."""

    def is_enabled(self) -> bool:
        return _host.is_running

    def run(self) -> None:
        if _host.companion is not None:
            KeptDecisions(_host.companion, _host.editor, self.window).show()


class GeminiCompanionStartApiServerCommand(sublime_plugin.WindowCommand):
    """Serve Gemini CLI to other programs, in the folders of the window."""

    def is_enabled(self) -> bool:
        return _api.can_start(self.window)

    def run(self) -> None:
        _api.start(self.window)


class GeminiCompanionStopApiServerCommand(sublime_plugin.WindowCommand):
    """End that server and the CLI behind it."""

    def is_enabled(self) -> bool:
        return _api.can_stop

    def run(self) -> None:
        _api.stop()


class GeminiCompanionRestartCommand(sublime_plugin.ApplicationCommand):
    """Stop the server and start it anew; connected CLIs come back by themselves."""

    def run(self) -> None:
        _host.stop()
        _host.start()
        _host.editor.tell("restarted.")


class GeminiCompanionShowLogCommand(sublime_plugin.WindowCommand):
    """Show the last lines of the log."""

    def is_enabled(self) -> bool:
        return _host.log is not None

    def run(self) -> None:
        if _host.log is not None:
            _show_panel(self.window, "\n".join(_host.log.lines()) + "\n")


def _show_panel(window: sublime.Window, text: str) -> None:
    panel = window.create_output_panel(PANEL)
    panel.run_command("append", {"characters": text, "scroll_to_end": True})
    window.run_command("show_panel", {"panel": "output." + PANEL})
