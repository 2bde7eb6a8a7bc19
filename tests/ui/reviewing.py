"""What the tests of the review share: a diff whose changes are known, and questions answered."""

from __future__ import annotations

from typing import Any, Callable, Generator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ui.review.review import Review
from GeminiCompanion.companion.ui.running import Running

from .adapter import AdapterTestCase

Steps = Generator[Any, Any, None]
LINES = [f"line {number}\n" for number in range(1, 901)]


def changed(lines: list[str], **rows: str) -> str:
    """The lines, with those of these numbers, from 1, replaced."""
    found = list(lines)
    for name, text in rows.items():
        found[int(name[1:]) - 1] = text
    return "".join(found)


class ReviewCase(AdapterTestCase):
    def running(self) -> Running:
        found = plugin._host.running
        self.assertIsNotNone(found)
        return found  # type: ignore[return-value]

    def review(self, view: sublime.View) -> Review:
        """That of a diff."""
        found = self.running().diffs.reviews.review_of(view)
        self.assertIsNotNone(found)
        return found  # type: ignore[return-value]

    def until_computed(self, view: sublime.View) -> Steps:
        """Until the changes are those of the text as it is, and drawn."""

        def is_computed() -> bool:
            running = plugin._host.running
            review = running.diffs.reviews.review_of(view) if running is not None else None
            if review is None or review.change_count != view.change_count():
                return False
            return review.is_current(view)

        yield is_computed
        yield from self.until_turn()

    def propose(
        self, old: str, new: str, name: str = "file.txt"
    ) -> Generator[Any, Any, sublime.View]:
        """`right = yield from self.propose(...)`: a diff whose changes are known."""
        self.cli = yield from self.connect()
        self.path = self.write(name, old)
        right = yield from self.diff(self.cli, self.path, new)
        yield from self.until_computed(right)
        return right

    def restart_companion(self, then: Callable[[], object] = lambda: None) -> Steps:
        """It ends and begins again, and its CLI comes back after `then`."""
        plugin._host.stop()
        yield lambda: self.cli.stream_ended.is_set()
        plugin._host.start()
        yield lambda: plugin._host.environment_of(self.window)
        then()
        self.cli.resume()
        yield self.cli.connected

    def until_rejected(self, times: int = 1) -> Steps:
        """Until the CLI was told; what it is not told, the CLI of the next test would be."""
        yield lambda: len(self.cli.received("ide/diffRejected")) == times

    def set(self, name: str, value: Any) -> None:
        """For the time of the test."""
        settings = sublime.load_settings("GeminiCompanion.sublime-settings")
        settings.set(name, value)
        self.addCleanup(settings.erase, name)

    def texts(self, view: sublime.View, key: str) -> list[str]:
        return [view.substr(region) for region in view.get_regions(key)]

    def run_command(self, name: str, **arguments: Any) -> None:
        self.window.run_command("gemini_companion_" + name, arguments)

    def replace(self, owner: Any, name: str, new: Any) -> Any:
        """For the time of the test; gives what stands there now."""
        patch = mock.patch.object(owner, name, new)
        self.addCleanup(patch.stop)
        return patch.start()

    def told(self) -> list[str]:
        """The sentences that the status bar shows from now on."""
        found: list[str] = []
        self.replace(sublime, "status_message", found.append)
        return found

    def panels(self) -> list[dict[str, Any]]:
        """The quick panels that open from now on: their `items`, `on_select`, and so on."""
        found: list[dict[str, Any]] = []

        def show(
            _window: sublime.Window, items: Any, on_select: Any, *args: Any, **options: Any
        ) -> None:
            found.append({"items": items, "on_select": on_select, **options})

        self.replace(sublime.Window, "show_quick_panel", show)
        return found

    def inputs(self) -> list[Callable[[str], None]]:
        """What is to be called with the user's words, of each input panel from now on."""
        found: list[Callable[[str], None]] = []

        def show(
            _window: sublime.Window, _caption: str, _text: str, done: Any, *_args: Any
        ) -> None:
            found.append(done)

        self.replace(sublime.Window, "show_input_panel", show)
        return found

    def height(self, view: sublime.View, row: int) -> float:
        """Where the row, from 0, stands, in pixels."""
        return view.text_to_layout(view.text_point(row, 0))[1]
