"""What the user wants the CLIs of a window to be told; UI thread only.

A pause belongs to its window. It stands in the window's settings, so that it outlives a restart:
who has paused would not expect that a new start shares again.
"""

from __future__ import annotations

import sublime

from ..ide.path_maps import PathMaps
from ..ide.sharing import Sharing
from ..ide.window_settings import WindowSettings
from . import settings
from .settings import Settings

PAUSED = "gemini_companion_sharing_paused"
IS_PAUSED = "Sharing is paused. The CLIs of this window are told of no file until you resume it."
IS_RESUMED = "Sharing goes on. The CLIs of this window are told what you look at."


def of(window: sublime.Window) -> Sharing:
    """What may be told of the window's files."""
    return window_settings(window, settings.of(window)).sharing


def path_maps(window: sublime.Window) -> PathMaps:
    """How the CLIs of the window know its files."""
    return window_settings(window, settings.of(window)).path_maps


def window_settings(window: sublime.Window, found: Settings) -> WindowSettings:
    """What the core has to know of the window's settings."""
    sharing = Sharing(is_paused(window), found.exclude, found.only_project_files)
    return WindowSettings(found.is_trusted, found.diffs, sharing, PathMaps(found.path_maps))


def is_paused(window: sublime.Window) -> bool:
    return window.settings().get(PAUSED) is True


def pause(window: sublime.Window) -> None:
    window.settings().set(PAUSED, True)


def resume(window: sublime.Window) -> None:
    window.settings().erase(PAUSED)
