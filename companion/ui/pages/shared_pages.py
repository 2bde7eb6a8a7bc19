"""Pages that show what the CLIs of a window are told; they follow changes. UI thread only."""

from __future__ import annotations

import json
from html import escape
from typing import Iterable

import sublime

from ...base.answer import Unanswered
from ...base.shown_text import spell_hidden
from ...ide.companion import Companion
from ...ide.questions import MAX_FILES, OLDER, ContextShared, SharedContext
from ...ide.sharing import EXCLUDED, MISSING, OUTSIDE, PAUSED
from .. import settings
from ..stories import Stories
from . import page
from .window_pages import WindowPages

NAME = "Shared Context"
REASONS = {
    PAUSED: "because sharing is paused",
    EXCLUDED: 'that match a pattern of "exclude"',
    OUTSIDE: "outside the folders of the window",
    MISSING: "that are not on disk",
    OLDER: f"beyond the {MAX_FILES} that you looked at last",
}


class SharedPages:
    """Shows the pages, at most one for each window. `refresh_pages` must be called from time to
    time."""

    def __init__(self, companion: Companion, stories: Stories) -> None:
        self._companion = companion
        self._stories = stories
        self._pages = WindowPages(NAME)

    def show_page(self, window: sublime.Window) -> None:
        """Open the window's page, or bring it to the front."""
        self._pages.show_page(window, "")
        self._stories.begin(self._draw_page(window), window)

    def refresh_pages(self) -> None:
        """Show what has changed."""
        for window in self._pages.windows_with_page():
            self._stories.begin(self._draw_page(window), window)

    def stop(self) -> None:
        """Close the pages, because they would become outdated."""
        self._pages.stop()

    async def _draw_page(self, window: sublime.Window) -> None:
        try:
            shared = await self._companion.ask(ContextShared(window.id()))
        except Unanswered:
            # The next check asks again.
            return
        if shared is not None:
            self._pages.put_contents(window, shared_page(shared, settings.read_settings(window)[1]))


def shared_page(shared: SharedContext, problems: Iterable[str]) -> str:
    """The page; `problems` are sentences about invalid settings."""
    parts = [f"<h1>{NAME}</h1>", f'<p class="lead">{_sharing_heading(shared)}</p>']
    parts += [f'<div class="box alarm">{escape(problem)}</div>' for problem in problems]
    parts.append(f'<div class="box payload">{_lines_html(payload_text(shared))}</div>')
    parts.append("<h2>Held back</h2>")
    counts = shared.held_back
    parts += [
        f"<p>{_file_count(counts[key])} {REASONS[key]}.</p>" for key in REASONS if key in counts
    ]
    if not counts:
        parts.append("<p>None of the open files.</p>")
    return page.page_html("".join(parts))


def payload_text(shared: SharedContext) -> str:
    """The message as it is sent, with line breaks and indents for people."""
    method, params = shared.update.notification()
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(message, indent=2, ensure_ascii=False)


def _sharing_heading(shared: SharedContext) -> str:
    link = "resume" if shared.paused else "pause"
    told = f"This is what {_clis_words(shared.connected)} told of this window:"
    return f'{told} <a href="subl:gemini_companion_{link}_sharing">{link.title()} Sharing</a>'


def _clis_words(count: int) -> str:
    if not count:
        return "a CLI would be"
    return "one CLI is" if count == 1 else f"{count} CLIs are"


def _file_count(files: int) -> str:
    return "One file" if files == 1 else f"{files} files"


def _lines_html(text: str) -> str:
    """The lines as HTML: minihtml has no preformatted text. Half surrogate pairs, which UTF-8
    cannot contain, are spelled out."""
    return escape(spell_hidden(text)).replace("  ", "&nbsp;&nbsp;").replace("\n", "<br>")
