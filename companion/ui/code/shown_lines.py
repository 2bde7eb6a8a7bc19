"""Opens files at a line for the user, who goes on typing where they do. UI thread only."""

from __future__ import annotations

import sublime


def show_line(window: sublime.Window, path: str, line: int, keyboard: sublime.View | None) -> bool:
    """Tells whether the user sees it: not if that would cover `keyboard`, the view they type in."""
    view = window.find_open_file(path)
    if view is not None and view == keyboard:
        # The caret stays where they type.
        view.show_at_center(view.text_point(line - 1, 0))
        return True
    group = _group_for(window, view, keyboard)
    view = window.open_file(f"{path}:{line}", sublime.ENCODED_POSITION, group)
    if keyboard is not None and keyboard.is_valid():
        window.focus_view(keyboard)
    shown = window.get_view_index(view)[0]
    return window.active_view_in_group(shown) == view


def _group_for(
    window: sublime.Window, view: sublime.View | None, keyboard: sublime.View | None
) -> int:
    """The group of the file's tab; else one in which the user does not type, if there is one."""
    if view is not None:
        return int(window.get_view_index(view)[0])
    theirs = window.get_view_index(keyboard)[0] if keyboard is not None else -1
    others = [group for group in range(window.num_groups()) if group != theirs]
    return others[0] if others and theirs >= 0 else window.active_group()
