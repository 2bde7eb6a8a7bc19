"""Shows the proposal after an accepted one: at once if it waits already. Otherwise waits a moment
for it, because a CLI proposes it once it has written the file. UI thread only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Callable

import sublime

from .. import queues
from .open_diffs import home_of, tabbed_diffs, undecided_diffs
from .queue import NONE, waiting_diffs

# Milliseconds that a CLI has for its next proposal.
MOMENT = 3000
WAITING = "{} is accepted. Waiting a moment for the next edit ..."


@dataclass(frozen=True, eq=False)
class Wait:
    """`active` is the view of the window that was active when the wait began; `count` is its change
    count."""

    window: sublime.Window
    active: sublime.View | None
    count: int
    takes_keyboard: bool

    @property
    def is_user_elsewhere(self) -> bool:
        """Whether the user has gone to another tab, or typed. In a terminal this is not known,
        because its text changes without them."""
        if self.window.active_view() != self.active or self.active is None:
            return True
        is_terminal = self.active.settings().get("terminus_view")
        return bool(is_terminal) or self.active.change_count() != self.count


class NextEdit:
    """The waiting of one companion. `show` goes to a diff, whether it has tabs or not."""

    def __init__(self, show: Callable[[sublime.View], None], tell: Callable[[str], None]) -> None:
        self._show = show
        self._tell = tell
        self._wait: Wait | None = None

    def show_after(self, window: sublime.Window, name: str, takes_keyboard: bool) -> None:
        """The diff of that name was accepted: show the next waiting one, if need be in another
        window. A proposal that is still to come gets the keyboard if it `takes_keyboard` and the
        user has not begun with something else."""
        if tabbed_diffs(window):
            # It is shown already.
            return
        found = [*(view for view, _record in undecided_diffs(window)), *waiting_diffs()]
        if found:
            self._show(found[0])
            return
        active = window.active_view()
        wait = self._wait = Wait(
            window, active, active.change_count() if active is not None else 0, takes_keyboard
        )
        self._tell(WAITING.format(name))
        queues.on_ui_thread(partial(self._end_wait, wait), MOMENT)

    def note_opened(self, right: sublime.View) -> None:
        """A CLI has proposed the edit."""
        wait = self._wait
        if wait is None or home_of(right) != wait.window:
            return
        self._wait = None
        if wait.takes_keyboard and not wait.is_user_elsewhere:
            self._show(right)

    def note_activated(self, view: sublime.View) -> None:
        """The view has got the keyboard. A list or an input line is left alone, because it would
        close if it lost the keyboard."""
        if view.element() is not None:
            self.stop()

    def stop(self) -> None:
        """Stop waiting, without a message."""
        self._wait = None

    def _end_wait(self, wait: Wait) -> None:
        if self._wait is wait:
            self._wait = None
            self._tell(NONE)
