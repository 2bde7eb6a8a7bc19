"""The base of commands that need the companion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import sublime_plugin

from ..host import host

if TYPE_CHECKING:
    from ..running import Running


class GeminiCompanionRunningCommand(sublime_plugin.WindowCommand):
    """Base of commands that need the companion and have no diff of their own."""

    # What the command does, with the arguments that it was given.
    run_with_companion: Callable[..., None]

    def is_enabled(self, **_arguments: Any) -> bool:
        return host.running is not None

    def is_visible(self, **_arguments: Any) -> bool:
        return host.running is None or self.has_subject(host.running)

    def has_subject(self, running: Running) -> bool:
        """Whether there is something to act on. If not, palette, menus and lists do not offer the
        command; a key still runs it, and it says so."""
        return True

    def run(self, **arguments: Any) -> None:
        if host.running is not None:
            host.running.diffs.next_edit.stop()
            self.run_with_companion(host.running, **arguments)
