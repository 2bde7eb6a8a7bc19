"""Asks the Sublime Text that it runs in what no document says of it. A plugin, for one check.

Copy this file into the folder `Packages/User`, wait a second, and run in the console
(View > Show Console):

    window.run_command("gemini_probe")

After about half a minute a tab has the answers, with the names of the switches of the headless
editor. Take the file away afterwards. The tabs and windows that it opens it closes again.
docs/sublime.md, section 10, tells what only a person can see, and where the answers go.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from functools import partial
from typing import Any, Callable, Dict, Generator, List, Tuple

import sublime
import sublime_plugin

# The html of a phantom that is higher than its line.
HIGH = '<body id="gemini-probe"><div style="padding: 40px">probe</div></body>'
# Milliseconds to wait; and a question's, which returns its answer.
Pauses = Generator[int, None, None]
Answer = Generator[int, None, Any]
TEXT = "one\ntwo\nthree\n"
# Milliseconds: in which an event comes if it comes at all, and between two looks.
LONG, SHORT = 1500, 100
WRITES = 20  # how often a text is written to see when that is told
WRITTEN = "gemini probe "

# What the listeners have heard since the question began: (event, id of the view or window).
_events: List[Tuple[str, int]] = []
# When each change of a text was told, by the text.
_told_at: Dict[str, float] = {}


class GeminiProbeListener(sublime_plugin.EventListener):
    def on_modified(self, view: sublime.View) -> None:
        _events.append(("modified", view.id()))

    def on_selection_modified(self, view: sublime.View) -> None:
        _events.append(("selection", view.id()))

    def on_activated(self, view: sublime.View) -> None:
        _events.append(("activated", view.id()))

    def on_deactivated(self, view: sublime.View) -> None:
        _events.append(("deactivated", view.id()))

    def on_load(self, view: sublime.View) -> None:
        _events.append(("load", view.id()))

    def on_pre_close(self, view: sublime.View) -> None:
        _events.append(("pre_close", view.id()))

    def on_close(self, view: sublime.View) -> None:
        _events.append(("close", view.id()))

    def on_pre_close_window(self, window: sublime.Window) -> None:
        _events.append(("pre_close_window", window.id()))


class GeminiProbeChanges(sublime_plugin.TextChangeListener):
    def on_text_changed(self, changes: List[sublime.TextChange]) -> None:
        for change in changes:
            if change.str.startswith(WRITTEN):
                _told_at.setdefault(change.str, time.perf_counter())


class GeminiProbeReplaceCommand(sublime_plugin.TextCommand):
    def run(self, edit: sublime.Edit, begin: int, end: int, text: str) -> None:
        self.view.replace(edit, sublime.Region(begin, end), text)


class GeminiProbeDisabledCommand(sublime_plugin.WindowCommand):
    def is_enabled(self) -> bool:
        return False

    def run(self) -> None:
        _events.append(("disabled command", 0))


class GeminiProbeCommand(sublime_plugin.WindowCommand):
    """Asks each question of QUESTIONS; writes the answers to `path` where that is given."""

    def run(self, path: str = "") -> None:
        folder = tempfile.mkdtemp(prefix="gemini-probe-")
        switches: Dict[str, Any] = {}
        failed: Dict[str, str] = {}
        answers: Dict[str, Any] = {"build": int(sublime.version()), "platform": sublime.platform()}
        answers.update(switches=switches, failed=failed)
        steps = self._ask_questions(folder, switches, failed)

        def go_on() -> None:
            try:
                pause = next(steps)
            except StopIteration:
                shutil.rmtree(folder, ignore_errors=True)
                self._show_answers(json.dumps(answers, indent=1, sort_keys=True), path)
            else:
                sublime.set_timeout(go_on, pause)

        go_on()

    def _ask_questions(
        self, folder: str, switches: Dict[str, Any], failed: Dict[str, str]
    ) -> Pauses:
        for name, question in QUESTIONS:
            del _events[:]
            scene = Scene(self.window, folder)
            try:
                switches[name] = yield from question(scene)
            except Exception as error:  # a question that fails is told, and the others go on
                failed[name] = repr(error)
            scene.close()
            yield SHORT

    def _show_answers(self, text: str, path: str) -> None:
        view = self.window.new_file()
        view.set_scratch(True)
        view.set_name("answers of Sublime Text")
        view.run_command("append", {"characters": text})
        if path:
            with open(path + ".new", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(path + ".new", path)


class Scene:
    """The views of one question, closed at its end."""

    def __init__(self, window: sublime.Window, folder: str) -> None:
        self.window = window
        self._folder = folder
        self._layout = window.layout()
        self._views: List[sublime.View] = []

    def open_view(self) -> sublime.View:
        view = self.window.new_file()
        view.set_scratch(True)
        view.settings().set("word_wrap", False)
        view.run_command("append", {"characters": TEXT})
        self._views.append(view)
        return view

    def open_file(self, name: str) -> sublime.View:
        path = os.path.join(self._folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(TEXT)
        view = self.window.open_file(path)
        self._views.append(view)
        return view

    def clone_beside(self, view: sublime.View) -> sublime.View:
        """The clone, seen beside the view."""
        cells = [[0, 0, 1, 1], [1, 0, 2, 1]]
        self.window.set_layout({"cols": [0.0, 0.5, 1.0], "rows": [0.0, 1.0], "cells": cells})
        self.window.focus_view(view)
        self.window.run_command("clone_file")
        clone = self.window.active_view() or view
        self.window.set_view_index(clone, 1, 0)
        self._views.append(clone)
        return clone

    def close(self) -> None:
        for view in self._views:
            if view.is_valid() and view.window() is not None:
                view.set_scratch(True)
                view.close()
        self.window.set_layout(self._layout)


def wait_for(condition: Callable[[], bool], milliseconds: int = LONG) -> Answer:
    """Yields pauses until that holds; gives whether it did."""
    end = time.perf_counter() + milliseconds / 1000
    while not condition():
        if time.perf_counter() > end:
            return False
        yield SHORT
    return True


def event_place(event: str, view: sublime.View) -> int:
    """Which of the events that was, -1 where it did not come."""
    return _events.index((event, view.id())) if (event, view.id()) in _events else -1


def row_height(view: sublime.View) -> float:
    """Where the third row is, in the layout of the view."""
    return view.text_to_layout(view.text_point(2, 0))[1]


def ask_text_event_delay(scene: Scene) -> Answer:
    """Milliseconds, the shortest and the longest; None where it is told within the command."""
    view = scene.open_view()
    yield LONG
    delays = []
    for number in range(WRITES):
        text, begun = WRITTEN + str(number), time.perf_counter()
        view.run_command("append", {"characters": text})
        if text not in _told_at:
            yield from wait_for(partial(_told_at.__contains__, text))
            delays.append(1000 * (_told_at[text] - begun))
        yield SHORT
    return [min(delays), max(delays)] if delays else None


def ask_modified_first(scene: Scene) -> Answer:
    view = scene.open_view()
    yield LONG
    del _events[:]
    view.run_command("insert", {"characters": "x"})
    yield LONG
    return event_place("modified", view) < event_place("selection", view)


def ask_replace_selects(scene: Scene) -> Answer:
    view = scene.open_view()
    yield SHORT
    view.sel().clear()
    view.sel().add(sublime.Region(3, 3))
    view.run_command("gemini_probe_replace", {"begin": 3, "end": 3, "text": "xyz"})
    yield SHORT
    return not view.sel()[0].empty()


def ask_phantoms_of_buffer(scene: Scene) -> Answer:
    view = scene.open_view()
    clone = scene.clone_beside(view)
    yield LONG
    before = row_height(clone)
    phantoms = _add_phantom(view)
    yield LONG
    after = row_height(clone)
    phantoms.update([])
    return after > before


def ask_phantom_heights_late(scene: Scene) -> Answer:
    view = scene.open_view()
    yield LONG
    before = row_height(view)
    phantoms = _add_phantom(view)
    at_once = row_height(view)
    yield LONG
    later = row_height(view)
    phantoms.update([])
    return later > before and at_once < later


def ask_phantoms_survive_reload(scene: Scene) -> Answer:
    view = scene.open_file("reverted.txt")
    yield from wait_for(lambda: not view.is_loading())
    yield LONG
    phantoms = _add_phantom(view)
    yield LONG
    before = row_height(view)
    view.run_command("revert")
    yield LONG
    after = row_height(view)
    phantoms.update([])
    return after == before


def _add_phantom(view: sublime.View) -> sublime.PhantomSet:
    phantoms = sublime.PhantomSet(view, "gemini_probe")
    phantoms.update([sublime.Phantom(sublime.Region(0, 0), HIGH, sublime.LAYOUT_BLOCK)])
    return phantoms


def ask_activated_after_load(scene: Scene) -> Answer:
    view = scene.open_file("loaded.txt")
    yield from wait_for(lambda: min(event_place("activated", view), event_place("load", view)) >= 0)
    return event_place("activated", view) > event_place("load", view)


def ask_activated_before_close(scene: Scene) -> Answer:
    other, view = scene.open_view(), scene.open_view()
    yield LONG
    del _events[:]
    view.close()
    yield from wait_for(
        lambda: min(event_place("activated", other), event_place("close", view)) >= 0
    )
    return 0 <= event_place("activated", other) < event_place("close", view)


def ask_deactivate_on_close(scene: Scene) -> Answer:
    scene.open_view()
    view = scene.open_view()
    yield LONG
    del _events[:]
    view.close()
    yield from wait_for(lambda: event_place("close", view) >= 0)
    return (
        event_place("pre_close", view)
        < event_place("deactivated", view)
        < event_place("close", view)
    )


def ask_close_events(scene: Scene) -> Answer:
    opened = yield from _open_window()
    view = opened.new_file()
    view.set_scratch(True)
    yield LONG
    del _events[:]
    opened.run_command("close_window")
    yield LONG
    return event_place("close", view) >= 0


def ask_pre_close_window(scene: Scene) -> Answer:
    opened = yield from _open_window()
    del _events[:]
    opened.run_command("close_window")
    yield LONG
    return ("pre_close_window", opened.id()) in _events


def _open_window() -> Answer:
    known = {window.id() for window in sublime.windows()}
    sublime.run_command("new_window")
    yield from wait_for(lambda: len(sublime.windows()) > len(known))
    yield LONG
    return next(window for window in sublime.windows() if window.id() not in known)


def ask_disabled_commands_skip(scene: Scene) -> Answer:
    del _events[:]
    scene.window.run_command("gemini_probe_disabled")
    yield SHORT
    return ("disabled command", 0) not in _events


def ask_panel_sheet_zero(scene: Scene) -> Answer:
    panel = scene.window.create_output_panel("gemini_probe", True)
    yield SHORT
    sheet = panel.sheet()
    return sheet is not None and sheet.id() == 0


def ask_hidden_panel_window(scene: Scene) -> Answer:
    panel = scene.window.create_output_panel("gemini_probe_hidden", True)
    yield SHORT
    window = panel.window()
    scene.window.destroy_output_panel("gemini_probe_hidden")
    return window is not None and window == scene.window


def ask_hidden_panel_events(scene: Scene) -> Answer:
    panel = scene.window.create_output_panel("gemini_probe_hidden", True)
    yield SHORT
    del _events[:]
    panel.run_command("append", {"characters": "typed"})
    yield SHORT
    is_told = event_place("modified", panel) >= 0
    scene.window.destroy_output_panel("gemini_probe_hidden")
    return is_told


QUESTIONS = [
    ("text_event_delay", ask_text_event_delay),
    ("modified_first", ask_modified_first),
    ("replace_selects", ask_replace_selects),
    ("phantoms_of_buffer", ask_phantoms_of_buffer),
    ("phantom_heights_late", ask_phantom_heights_late),
    ("phantoms_survive_reload", ask_phantoms_survive_reload),
    ("activated_after_load", ask_activated_after_load),
    ("activated_before_close", ask_activated_before_close),
    ("deactivate_on_close", ask_deactivate_on_close),
    ("close_events", ask_close_events),
    ("pre_close_window", ask_pre_close_window),
    ("disabled_commands_skip", ask_disabled_commands_skip),
    ("panel_sheet_zero", ask_panel_sheet_zero),
    ("hidden_panel_window", ask_hidden_panel_window),
    ("hidden_panel_events", ask_hidden_panel_events),
]
