"""The buffer of a chat as something to write into: carets, scroll positions and the user's undo do
not notice. Knows no conversation. UI thread only."""

from __future__ import annotations

from typing import Callable, Sequence

import sublime
import sublime_plugin

from .. import texts
from .following import Bottoms, Following


class Changes(sublime_plugin.TextChangeListener):
    """Hears of each change of one buffer. It is attached by hand, so Sublime makes none itself."""

    @classmethod
    def is_applicable(cls, buffer: sublime.Buffer) -> bool:
        return False

    def __init__(self, tell: Callable[[Sequence[sublime.TextChange]], None]) -> None:
        super().__init__()
        self._tell = tell

    def on_text_changed(self, changes: Sequence[sublime.TextChange]) -> None:
        self._tell(changes)


class Surface:
    """`changed` is called with each change that others make, until `close`; with ours only if the
    editor tells late of them."""

    def __init__(
        self, buffer: sublime.Buffer, changed: Callable[[Sequence[sublime.TextChange]], None]
    ) -> None:
        self._buffer = buffer
        self._tell = changed
        self._is_writing = False
        self._bottoms = Bottoms()
        self._changes = Changes(self._report_changes)
        self._changes.attach(buffer)

    def close(self) -> None:
        if self._changes.is_attached():
            self._changes.detach()

    @property
    def views(self) -> list[sublime.View]:
        """The tab and its clones."""
        return [view for view in self._buffer.views() if view.is_valid()]

    @property
    def text(self) -> str:
        return texts.text_of(self.views[0])

    @property
    def size(self) -> int:
        return self.views[0].size()

    @property
    def change_count(self) -> int:
        """It names a state of the text."""
        return self.views[0].change_count()

    def text_between(self, start: int, end: int) -> str:
        return self.views[0].substr(sublime.Region(start, end))

    def replace(
        self,
        start: int,
        end: int,
        text: str,
        composer: int,
        beside: Callable[[], object] = lambda: None,
    ) -> None:
        """Put the text in the place of the range, and do what is `beside` it, such as folds.
        `composer` is where the composer begins: who has that in sight goes on seeing the end. Does
        nothing once all views are closed."""
        views = self.views
        if not views:
            return
        self.keep_ends_in_sight()
        followings = [Following(view, composer) for view in views]
        if start < end or text:
            carets = [[(region.a, region.b) for region in view.sel()] for view in views]
            self._write_range(start, end, text)
            for view, before in zip(views, carets):
                _keep_carets(view, before, start, end, len(text))
        beside()
        for following in followings:
            following.restore(start, end - start, len(text))
        self.keep_ends_in_sight()

    def keep_ends_in_sight(self) -> None:
        """The end stays in sight in views that have become smaller, or show more above it."""
        self._bottoms.keep_in_sight(self.views)

    def _write_range(self, start: int, end: int, text: str) -> None:
        view = self.views[0]
        self._is_writing = True
        try:
            texts.pending.put_parts(view, [(sublime.Region(start, end), text)])
        finally:
            self._is_writing = False
        # Undo is ours (docs/adr/0028), and what an agent writes would fill the session file.
        if int(sublime.version()) >= 4114:
            view.clear_undo_stack()

    def _report_changes(self, changes: Sequence[sublime.TextChange]) -> None:
        if not self._is_writing and self.views:
            self._tell(changes)


def _keep_carets(
    view: sublime.View, before: Sequence[tuple[int, int]], start: int, end: int, size: int
) -> None:
    """The selections as they were, around a range that has become `size` characters long."""

    def moved_point(point: int) -> int:
        if point >= end:
            return point + size - (end - start)
        return min(point, start + size)

    wanted = [(moved_point(a), moved_point(b)) for a, b in before]
    if [(region.a, region.b) for region in view.sel()] != wanted:
        texts.select_ranges(view, wanted)
