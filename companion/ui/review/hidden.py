"""The hidden view of a diff that waits without tabs: an output panel that is in no list and is
never shown. It takes the same edits as a tab, with undo (docs/sublime.md 5.15). UI thread only."""

from __future__ import annotations

import sublime

from .. import texts

NAME = "gemini_companion_unopened_{}"

# The ids of the diffs whose hidden views were destroyed here; any other one that is gone was
# destroyed by somebody else. Whoever keeps their texts takes them out.
destroyed: set[str] = set()


def create_view(window: sublime.Window, id: str, text: str) -> sublime.View:
    """Make the hidden view of the diff with the id. Undo does not remove the text."""
    view = window.create_output_panel(NAME.format(id), unlisted=True)
    texts.replace_view_text(view, text)
    if int(sublime.version()) >= 4114:
        view.clear_undo_stack()
    return view


def destroy_view(window: sublime.Window, id: str) -> None:
    """There may be none any more."""
    destroyed.add(id)
    if window.is_valid():
        window.destroy_output_panel(NAME.format(id))
