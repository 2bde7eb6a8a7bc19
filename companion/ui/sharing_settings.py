"""The user's wishes about what the CLIs of a window are told. UI thread only.

A pause belongs to its window. The window's settings keep it over a restart: a user who has paused
does not expect a restart to share again.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Callable

import sublime

from ..base.path_maps import PathMaps
from ..ide.events import WindowSettings
from ..ide.sharing import Sharing
from . import settings
from .settings import Settings

PAUSED = "gemini_companion_sharing_paused"
IS_PAUSED = "Sharing is paused. The CLIs of this window are told of no file until you resume it."
IS_RESUMED = "Sharing has resumed. The CLIs of this window are told what you look at."


def sharing_rules(window: sublime.Window) -> Sharing:
    """The rules for the window's files."""
    return window_settings(window, settings.current_settings(window)).sharing


def exclusion_rule(window: sublime.Window, is_outside_too: bool = True) -> Callable[[str], bool]:
    """Whether the rules exclude a file or its target, to be called on any thread; `is_outside_too`
    if that is all that they have against it. A pause stops what is sent by itself, and not what the
    user sends."""
    rules, folders = replace(sharing_rules(window), paused=False), window.folders()
    if not is_outside_too:
        rules = replace(rules, only_project_files=False)

    def is_excluded(path: str) -> bool:
        if "\0" in path:
            # No file has such a name, and no disk can be asked about it.
            return True
        # Agents name files by their real paths, also in a folder that is a link.
        both = [*folders, *map(os.path.realpath, folders)]
        return any(rules.reason_to_hide(name, both) for name in (path, os.path.realpath(path)))

    return is_excluded


def path_maps(window: sublime.Window) -> PathMaps:
    """The maps between the editor's paths and those of the window's CLIs."""
    return window_settings(window, settings.current_settings(window)).path_maps


def window_settings(window: sublime.Window, found: Settings) -> WindowSettings:
    """The window's settings for the companion."""
    sharing = Sharing(is_paused(window), found.exclude, found.only_project_files)
    return WindowSettings(
        found.is_trusted,
        found.diffs,
        sharing,
        PathMaps(found.path_maps),
        found.show_unasked_edits,
        found.ask_for_edits,
        found.diagnostics_after_edits,
        found.claude_code,
    )


def is_paused(window: sublime.Window) -> bool:
    return window.settings().get(PAUSED) is True


def pause_sharing(window: sublime.Window) -> None:
    window.settings().set(PAUSED, True)


def resume_sharing(window: sublime.Window) -> None:
    window.settings().erase(PAUSED)
