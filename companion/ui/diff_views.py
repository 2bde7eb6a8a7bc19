"""Diffs as pairs of views: open, find, take, close; called on the editor's UI thread only.

The views are the registry: a right view is a diff for as long as it carries the stamp, and whoever
erases the stamp (`take`) has claimed the decision, exactly once (docs/adr/0003).
"""

from __future__ import annotations

import hashlib
import os
import uuid
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Iterator

import sublime

from ..ide.editor import Proposal
from ..ide.file_content import Original
from .layout import make_room, take_room_back

# On the right view: the stamp and the path are public, for key bindings.
STAMP = "gemini_companion_diff"
PATH = "gemini_companion_diff_path"
SESSION = "gemini_companion_diff_session"
# Whose stamp it is: the view's own id, so that a clone's copy counts for nothing, and the id of the
# window whose CLI asked, wherever the tab is dragged to.
OWN = "gemini_companion_diff_view"
WINDOW = "gemini_companion_diff_window"
# Whether the proposal was empty from the start, what the file was like when it was shown, and what
# the CLI proposed: nothing where only a text is known that the user may have edited.
EMPTY = "gemini_companion_diff_empty"
DIGEST = "gemini_companion_diff_digest"
PROPOSED = "gemini_companion_diff_proposed"
# The digest of the text that was kept last: an editor that comes back after a crash, with an older
# session of its own, tells by it which text is newer. And whether that has still to be found out.
KEPT = "gemini_companion_diff_kept"
RESTORED = "gemini_companion_diff_restored"
# Whether it holds the whole proposal, whether it is compared with the left side, and whether its
# CLI is gone.
WHOLE = "gemini_companion_diff_whole"
COMPARED = "gemini_companion_diff_compared"
ORPHANED = "gemini_companion_diff_orphaned"
# On both views of a pair: a name that no other pair has, and the other's id.
PAIR = "gemini_companion_diff_pair"
PARTNER = "gemini_companion_diff_partner"
# All that makes a view one of ours.
MARKS = (
    *(STAMP, PATH, SESSION, OWN, WINDOW, EMPTY, DIGEST, PROPOSED),
    *(KEPT, RESTORED, WHOLE, COMPARED, ORPHANED, PAIR, PARTNER),
)
# On the window: the ids of its right views, so that ten thousand tabs need no search.
DIFFS = "gemini_companion_diffs"
# On the window: the id of the view that had the keyboard before the first diff.
FOCUS_BEFORE = "gemini_companion_focus_before"

# Settings that would change a text on its way into a view.
MEDDLING = ("translate_tabs_to_spaces", "auto_indent")
# Characters of a line from which a view is spared colors and wrapping.
LONG_LINE = 64 * 1024

ACCEPT = '<a href="subl:gemini_companion_accept_diff">Accept</a>'
REJECT = '<a href="subl:gemini_companion_reject_diff">Reject</a>'
RELEASE = '<a href="subl:gemini_companion_release_diff">Release</a>'
GONE = "Gemini CLI is gone; a decision is kept for the next one. "
PART = "Too large to be edited here: only the beginning is shown. Accepted, it is written whole. "

# What a tab is called that was a proposal.
RELEASED = "released proposal"
REJECTED = "rejected, your edits"

# Texts on their way into a view, by the view's id: as an argument of a command they would stay in
# the undo stack and in the session file.
_texts: dict[int, str] = {}
# Edited diffs as they were last kept, by the right view's id: all that is left of one whose window
# is closed, which not every build says before it is done.
_kept: dict[int, Taken] = {}


@dataclass(frozen=True)
class Taken:
    """A claimed diff: its views, whose it was, and the text as the user left it.

    `window` is that of the CLI that asked; the views may be in another by now. `text` is None where
    the view holds only the beginning of the proposal. `proposed` is the digest of what the CLI
    proposed, of no text at all where nobody knows that any more.
    """

    window: sublime.Window
    view: sublime.View
    original: sublime.View
    session_id: str
    path: str
    text: str | None
    proposed: str

    @property
    def is_edited(self) -> bool:
        """Whether the text may be the user's. A count of changes would not outlive a restart."""
        return self.text is not None and _digest(self.text) != self.proposed


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# ----- opening


def open_diff(
    window: sublime.Window,
    proposal: Proposal,
    original: Original,
    keyboard: sublime.View | None,
    take_focus: bool,
) -> None:
    """Show the proposal beside the original. A diff of the same session and path makes way for it,
    and so does one whose CLI is gone.

    `keyboard` is the view in which the user types, and goes on to type unless `take_focus`.
    """
    older = [view for view in diffs(window) if _makes_way(view, proposal)]
    if not list(diffs(window)):
        window.settings().set(FOCUS_BEFORE, keyboard.id() if keyboard is not None else 0)
    with ExitStack() as undo:
        right = _open_pair(window, proposal, original, undo)
        # From here on it is whole; whatever failed before has left nothing behind.
        undo.pop_all()
    right.settings().set(STAMP, True)
    window.settings().set(DIFFS, _ids(window) + [right.id()])
    for view in older:
        _make_way(view)
    window.focus_view(right)
    if not take_focus and keyboard is not None and keyboard.is_valid():
        window.focus_view(keyboard)


def _makes_way(view: sublime.View, proposal: Proposal) -> bool:
    session_id = view.settings().get(SESSION)
    gone = session_id not in proposal.live_sessions
    return path_of(view) == proposal.path and (session_id == proposal.session_id or gone)


def _make_way(view: sublime.View) -> None:
    """Close an older diff. What the user typed into it stays, as a new tab."""
    taken = take(view)
    if taken is not None:
        put_away(taken, None, "your edits of an older proposal")


def _hand_over(taken: Taken, name: str) -> None:
    """Make the proposal a tab of the user's own, among his others: nothing of ours may ever take
    it for a part of a diff again. One that he has closed is opened anew."""
    is_closed = not taken.view.is_valid()
    view = _reopen(taken) if is_closed else taken.view
    view.erase_phantoms(STAMP)
    for mark in MARKS:
        view.settings().erase(mark)
    view.set_name(f"{os.path.basename(taken.path)} ({name})")
    view.set_scratch(False)
    if taken.original.is_valid():
        taken.original.close()
    if not is_closed and view.window() == taken.window:
        with _first_group_as_it_is(taken.window) as window:
            window.set_view_index(view, 0, window.num_views_in_group(0))


def _reopen(taken: Taken) -> sublime.View:
    """A new tab for the text; in another window where that of its CLI is gone, too."""
    home = taken.window if taken.window.is_valid() else sublime.active_window()
    with _first_group_as_it_is(home) as window:
        window.focus_group(0)
        return open_text(window, taken.path, taken.text or "")


@contextmanager
def _first_group_as_it_is(window: sublime.Window) -> Iterator[sublime.Window]:
    """What comes into the group meanwhile covers nothing that the user looks at."""
    front = window.active_view_in_group(0)
    yield window
    if front is not None and front.is_valid():
        window.focus_view(front)


def _open_pair(
    window: sublime.Window, proposal: Proposal, original: Original, undo: ExitStack
) -> sublime.View:
    """The right view, with the left one beside it."""
    if not list(diffs(window)):
        undo.callback(take_room_back, window)
    left_group, right_group = make_room(window)
    right = _new_view(window, right_group)
    undo.callback(right.close)
    left = _new_view(window, left_group)
    undo.callback(left.close)
    settings = right.settings()
    settings.set(PATH, proposal.path)
    settings.set(SESSION, proposal.session_id)
    settings.set(EMPTY, not proposal.content)
    settings.set(KEPT, _digest(proposal.content))
    settings.set(PROPOSED, "" if proposal.may_be_edited else settings.get(KEPT))
    settings.set(WHOLE, proposal.is_whole)
    settings.set(PAIR, uuid.uuid4().hex)
    left.settings().set(PAIR, settings.get(PAIR))
    _fill(right, proposal.content, proposal.path)
    _join(window, left, right)
    show_original(right, original)
    return right


def _join(window: sublime.Window, left: sublime.View, right: sublime.View) -> None:
    """Let both know of each other, and dress the right one: ids, phantoms and change marks are
    what does not survive a restart."""
    left.settings().set(PARTNER, right.id())
    settings = right.settings()
    settings.set(PARTNER, left.id())
    settings.set(OWN, right.id())
    settings.set(WINDOW, window.id())
    settings.set("mini_diff", True)
    right.set_read_only(settings.get(WHOLE) is False)
    _dress(right)


def _dress(right: sublime.View) -> None:
    """Name and buttons that say what the user can do."""
    settings = right.settings()
    orphaned, part = settings.get(ORPHANED) is True, settings.get(WHOLE) is False
    state = "proposed, CLI gone" if orphaned else "proposed"
    right.set_name(f"{os.path.basename(path_of(right))} ({state})")
    buttons = [ACCEPT, REJECT] + ([RELEASE] if orphaned else [])
    notes = (GONE if orphaned else "") + (PART if part else "")
    # Buttons first: a line that is wider than the view is cut off.
    text = " &nbsp; ".join(buttons) + ("<br>" + notes if notes else "")
    right.erase_phantoms(STAMP)
    html = f'<body id="gemini-companion">{text}</body>'
    right.add_phantom(STAMP, sublime.Region(0), html, sublime.LAYOUT_BLOCK)


def set_orphaned(window: sublime.Window, session_id: str, orphaned: bool) -> bool:
    """Show whether the session's diffs wait for a CLI that is there; gives whether that is new."""
    changed = False
    for view in diffs(window):
        settings = view.settings()
        if settings.get(SESSION) == session_id and settings.get(ORPHANED, False) != orphaned:
            settings.set(ORPHANED, orphaned)
            _dress(view)
            changed = True
    return changed


def show_original(view: sublime.View, original: Original) -> None:
    """Fill the left side, and compare the right one with it, from now on."""
    left, path = partner(view), path_of(view)
    if left.is_valid():
        traits = ("on disk" if original.exists else "new file", *original.traits)
        left.set_name(f"{os.path.basename(path)} ({', '.join(traits)})")
        left.set_read_only(False)
        _fill(left, original.text or original.note, path)
        left.set_read_only(True)
    # Where either side is not all there, every line would count as changed.
    compared = view.settings().get(WHOLE) is not False and not original.note
    if compared:
        view.set_reference_document(original.text)
    view.settings().set(COMPARED, compared)
    view.settings().set(DIGEST, original.digest)


def adopt(window: sublime.Window) -> list[tuple[str, str]]:
    """Take up the diffs that the editor restored with the window, tabs with text and settings only;
    gives session and path of each diff there is now. A left side that is alone is closed."""
    if not _ids(window):
        return []
    pairs: dict[str, list[sublime.View]] = {}
    for view in window.views():
        name = view.settings().get(PAIR)
        if isinstance(name, str):
            pairs.setdefault(name, []).append(view)
    found = [view for views in pairs.values() for view in _adopt_pair(window, views)]
    window.settings().set(DIFFS, [view.id() for view in found])
    for view in found:
        view.settings().set(RESTORED, True)
    return [(str(view.settings().get(SESSION)), path_of(view)) for view in found]


def _adopt_pair(window: sublime.Window, views: list[sublime.View]) -> list[sublime.View]:
    rights = [view for view in views if view.settings().get(STAMP) is True]
    lefts = [view for view in views if _is_left(view)]
    for right in rights[:1]:
        if not is_diff(right):
            for left in lefts[:1]:
                _join(window, left, right)
                if right.settings().get(COMPARED) is True:
                    right.set_reference_document(left.substr(sublime.Region(0, left.size())))
            right.settings().set(OWN, right.id())
            right.settings().set(WINDOW, window.id())
    for left in lefts if not rights else lefts[1:]:
        left.close()
    return rights[:1]


def _is_left(view: sublime.View) -> bool:
    """Whether it is nothing but the left side of a pair, which holds nothing of the user's."""
    settings = view.settings()
    return view.is_scratch() and PARTNER in settings and OWN not in settings


# ----- finding


def diffs(window: sublime.Window) -> Iterator[sublime.View]:
    """The right views of the window's undecided diffs, oldest first, wherever they are now."""
    for view_id in _ids(window):
        view = sublime.View(view_id)
        if is_diff(view):
            yield view


def is_diff(view: sublime.View) -> bool:
    settings = view.settings()
    return view.is_valid() and settings.get(STAMP) is True and settings.get(OWN) == view.id()


def is_original(view: sublime.View) -> bool:
    """Whether it is the left side of a diff."""
    return is_diff(partner(view)) and not is_diff(view)


def path_of(view: sublime.View) -> str:
    """The path of a diff, as the CLI sent it."""
    return str(view.settings().get(PATH))


def partner(view: sublime.View) -> sublime.View:
    """The other view of the pair; one that is not valid where there is none.

    An id may be another view's after a restart; the pair's name is not.
    """
    name = view.settings().get(PAIR)
    other = _view(view.settings(), PARTNER)
    same = name is not None and other.is_valid() and other.settings().get(PAIR) == name
    return other if same else sublime.View(0)


def find(window: sublime.Window, session_id: str, path: str) -> sublime.View | None:
    """The right view of the diff that the session has open for the path."""
    for view in diffs(window):
        if path_of(view) == path and view.settings().get(SESSION) == session_id:
            return view
    return None


def current(window: sublime.Window) -> sublime.View | None:
    """The right view of the diff that the user means: the one with the keyboard on either side,
    else the one that can be seen. So commands work while a terminal has the keyboard."""
    active = window.active_view()
    meant = [] if active is None else [active, partner(active)]
    for view in meant + [view for view in diffs(window) if _is_on_top(window, view)]:
        if is_diff(view):
            return view
    return None


# ----- deciding


def doubts(view: sublime.View, present: Original) -> list[str]:
    """What speaks against accepting the diff now, a sentence each; `present` is the file as it is.

    The CLI writes what it is given over the file, whatever has become of that meanwhile.
    """
    settings, path = view.settings(), path_of(view)
    found = []
    if present.digest != settings.get(DIGEST):
        found.append("The file has changed on disk since the diff was opened.")
    if any(_is_dirty(window, path) for window in sublime.windows()):
        found.append("The file has unsaved changes in another tab, which will conflict.")
    if view.size() == 0 and not settings.get(EMPTY):
        found.append("You emptied the proposal; Gemini CLI then writes its own text instead.")
    if present.warning:
        found.append(present.warning + " Gemini CLI writes UTF-8 text over it.")
    return found


def _is_dirty(window: sublime.Window, path: str) -> bool:
    view = window.find_open_file(path)
    return view is not None and view.is_dirty()


def take(view: sublime.View) -> Taken | None:
    """Claim the decision on a diff; None where somebody else has, or where there is no diff."""
    taken = read(view)
    view.settings().erase(STAMP)
    _kept.pop(view.id(), None)
    return taken


def keep(view: sublime.View) -> Taken | None:
    """What `read` gives, to be kept, and remembered in case the view vanishes; any thread. None
    where something newer may have been kept before."""
    is_restored = view.settings().get(RESTORED) is True
    diff = read(view)
    if diff is None or diff.text is None:
        return None
    if diff.is_edited:
        _kept[view.id()] = diff
        # Somebody may have claimed it just now.
        if not is_diff(view):
            _kept.pop(view.id(), None)
    if is_restored:
        return None
    view.settings().set(KEPT, _digest(diff.text))
    return diff


def catch_up(view: sublime.View, saved: str | None) -> bool:
    """Where `saved` was kept after what the editor brought back, put it in, as an edit that can be
    undone; gives whether that was so."""
    kept, text = view.settings().get(KEPT), view.substr(sublime.Region(0, view.size()))
    view.settings().erase(RESTORED)
    if saved is None or saved == text or kept is None or kept == _digest(saved):
        return False
    _put(view, saved)
    return True


def vanished() -> list[Taken]:
    """The edited diffs whose tabs are gone without a decision, as far as they were kept; once."""
    gone = [view_id for view_id, diff in list(_kept.items()) if not diff.view.is_valid()]
    return [_kept.pop(view_id) for view_id in gone]


def forget_kept() -> None:
    """Whatever vanishes from now on is somebody else's concern."""
    _kept.clear()


def read(view: sublime.View) -> Taken | None:
    """What `take` gives, without claiming it."""
    if not is_diff(view):
        return None
    settings = view.settings()
    window_id = settings.get(WINDOW)
    window = sublime.Window(window_id if isinstance(window_id, int) else 0)
    whole = settings.get(WHOLE) is not False
    text = view.substr(sublime.Region(0, view.size())) if whole else None
    session_id, proposed = str(settings.get(SESSION)), str(settings.get(PROPOSED))
    return Taken(window, view, partner(view), session_id, path_of(view), text, proposed)


def close(taken: Taken, keyboard: sublime.View | None) -> None:
    """Close both views of a diff that was taken; show the next one, or the window as it was.

    `keyboard` is the view in which the user types; only if it is one of these two, it changes.
    """
    for view in (taken.original, taken.view):
        if view.is_valid():
            view.close()
    _go_on(taken, keyboard)


def put_away(taken: Taken, keyboard: sublime.View | None, name: str) -> None:
    """Like `close`, but a proposal that the user edited stays as a tab of his own; `name` says in
    brackets what it is."""
    if not taken.is_edited:
        close(taken, keyboard)
    elif taken.view.is_valid() or sublime.windows():
        _hand_over(taken, name)
        _go_on(taken, keyboard)
    else:
        # It has to wait for a window.
        _kept[taken.view.id()] = taken


def release(taken: Taken, keyboard: sublime.View | None) -> None:
    """The same for one that the user did not edit, too."""
    if taken.text is None or not taken.view.is_valid():
        put_away(taken, keyboard, RELEASED)
        return
    _hand_over(taken, RELEASED)
    _go_on(taken, keyboard)
    if taken.window.is_valid():
        taken.window.focus_view(taken.view)


def _go_on(taken: Taken, keyboard: sublime.View | None) -> None:
    window = taken.window
    if not window.is_valid():
        return
    waiting = list(diffs(window))
    window.settings().set(DIFFS, [view.id() for view in waiting])
    if waiting:
        show(window, waiting[-1])
    else:
        take_room_back(window)
    if keyboard in (taken.original, taken.view):
        keyboard = None if waiting else _view(window.settings(), FOCUS_BEFORE)
    if keyboard is not None and keyboard.is_valid():
        window.focus_view(keyboard)


def show(window: sublime.Window, view: sublime.View) -> None:
    """Bring both views of a diff to the top of their groups; the right one has the keyboard."""
    left = partner(view)
    if left.is_valid() and not _is_on_top(window, left):
        window.focus_view(left)
    window.focus_view(view)


def open_text(window: sublime.Window, path: str, text: str) -> sublime.View:
    """Open a text as a new tab, to be saved wherever the user likes."""
    view = window.new_file()
    view.set_name(os.path.basename(path))
    _fill(view, text, path)
    return view


def put_text(view: sublime.View, text: str) -> bool:
    """Make the text that of the view, as one edit that can be undone; saves nothing. False where
    the view does not take it."""
    settings = view.settings()
    before = {name: settings.get(name) for name in MEDDLING}
    _put(view, text)
    for name, value in before.items():
        if settings.get(name) != value:
            settings.set(name, value)
    return view.substr(sublime.Region(0, view.size())) == text


def fill(view: sublime.View, edit: sublime.Edit) -> None:
    """The body of the command that puts a waiting text into its view."""
    text = _texts.pop(view.id(), None)
    if text is not None:
        view.replace(edit, sublime.Region(0, view.size()), text)


# ----- views


def _view(settings: sublime.Settings, name: str) -> sublime.View:
    id = settings.get(name)
    return sublime.View(id if isinstance(id, int) else 0)


def _ids(window: sublime.Window) -> list[int]:
    ids = window.settings().get(DIFFS)
    return [id for id in ids if isinstance(id, int)] if isinstance(ids, list) else []


def _new_view(window: sublime.Window, group: int) -> sublime.View:
    window.focus_group(group)
    view = window.new_file()
    view.set_scratch(True)
    return view


def _put(view: sublime.View, text: str) -> None:
    for name in MEDDLING:
        view.settings().set(name, False)
    _texts[view.id()] = text
    view.run_command("gemini_companion_fill_view")
    for name in MEDDLING:
        view.settings().erase(name)


def _fill(view: sublime.View, text: str, path: str) -> None:
    settings = view.settings()
    _put(view, text)
    if int(sublime.version()) >= 4114:
        view.clear_undo_stack()
    selection = view.sel()
    selection.clear()
    selection.add(sublime.Region(0))
    if _has_long_line(text):
        settings.set("word_wrap", False)
        return
    syntax = sublime.find_syntax_for_file(path, text[: text.find("\n") + 1])
    if syntax is not None:
        view.assign_syntax(syntax)


def _has_long_line(text: str) -> bool:
    start = 0
    while len(text) - start > LONG_LINE:
        end = text.rfind("\n", start, start + LONG_LINE)
        if end < 0:
            return True
        start = end + 1
    return False


def _is_on_top(window: sublime.Window, view: sublime.View) -> bool:
    group, _ = window.get_view_index(view)
    return group >= 0 and window.active_view_in_group(group) == view
