"""The two views of a diff: the file on the left, the proposal on the right."""

from __future__ import annotations

import uuid
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial

import sublime

from ...base.digest import Digest
from ...base.file_content import Original
from ...base.text_digest import text_digest
from ...ide.editor import Proposal
from .. import settings, texts
from . import comments, head, hidden, large
from .diff_kinds import kind_of
from .layout import make_room
from .open_diffs import is_on_top, partner_view
from .record import (
    DiffRecord,
    Origin,
    OriginalRecord,
    erase_stamp,
    read_record,
    seen_changes,
    set_seen,
    stamp_view,
    stored_comments,
    update_record,
    write_comments,
    write_original,
    write_record,
)


def open_pair(
    window: sublime.Window,
    proposal: Proposal,
    original: Original,
    is_digest: bool,
    undo: ExitStack,
    origin: Origin,
) -> sublime.View:
    """Open both views, and give the right one; it is a diff once it is stamped. `undo` gets
    functions that close them again. With a digest, both texts are only the changed parts."""
    left, right = _open_views(window, undo)
    for view in (left, right) if is_digest else ():
        # The gutter would count the lines of the parts.
        view.settings().set("line_numbers", False)
    texts.fill_view(right, proposal.content, proposal.path)
    record = replace(_new_record(window, proposal, left, right, is_digest), **asdict(origin))
    if left.is_valid():
        write_original(left, OriginalRecord(record.id, right.id()))
    _prepare_view(right, record)
    show_original(right, original, is_digest)
    return right


def open_hidden(
    window: sublime.Window, proposal: Proposal, original: Original, undo: ExitStack, origin: Origin
) -> sublime.View:
    """Do as `open_pair`, but without tabs; both texts are whole."""
    id = uuid.uuid4().hex
    right = hidden.create_view(window, id, proposal.content)
    undo.callback(partial(hidden.destroy_view, window, id))
    record = replace(_new_record(window, proposal, sublime.View(0), right, False), **asdict(origin))
    write_record(right, replace(record, id=id, is_unopened=True))
    show_original(right, original)
    return right


def give_tabs(
    window: sublime.Window, right: sublime.View, original: str, undo: ExitStack
) -> sublime.View:
    """Open both views for a diff that waits without tabs, with the same id and with all that the
    user has done in it; gives the new right view. The hidden one is gone. `undo` as in
    `open_pair`."""
    record = read_record(right)
    if record is None:
        raise LookupError("the view has no diff")
    left, tab = _open_views(window, undo)
    texts.fill_view(tab, texts.text_of(right), record.path)
    comments.save_comments(right)
    write_comments(tab, stored_comments(right))
    set_seen(tab, seen_changes(right))
    if left.is_valid():
        write_original(left, OriginalRecord(record.id, tab.id()))
        texts.name_tab(left, record.path, record.original_state)
        texts.fill_view(left, original, record.path)
        left.set_read_only(True)
    # From here on the tabs are the diff.
    erase_stamp(right)
    undo.pop_all()
    views = replace(record, view_id=tab.id(), original_id=left.id())
    dress_view(tab, replace(views, is_unopened=False))
    stamp_view(tab)
    if record.is_compared:
        tab.set_reference_document(original)
    hidden.destroy_view(window, record.id)
    return tab


def _open_views(window: sublime.Window, undo: ExitStack) -> tuple[sublime.View, sublime.View]:
    """The left one, not valid if there is only one, and the right one."""
    wanted = settings.current_settings(window)
    left_group, right_group = make_room(window, wanted.diff_layout)
    right = _new_view(window, right_group, wanted.diff_word_wrap)
    undo.callback(right.close)
    left = sublime.View(0)
    if left_group != right_group:
        left = _new_view(window, left_group, wanted.diff_word_wrap)
        undo.callback(left.close)
    return left, right


def _new_record(
    window: sublime.Window,
    proposal: Proposal,
    left: sublime.View,
    right: sublime.View,
    is_digest: bool,
) -> DiffRecord:
    shown = text_digest(proposal.content)
    return DiffRecord(
        id=uuid.uuid4().hex,
        session_id=proposal.session_id,
        path=proposal.path,
        window_id=window.id(),
        view_id=right.id(),
        original_id=left.id(),
        proposed_digest="" if proposal.may_be_edited else shown,
        saved_digest=shown,
        was_empty=not proposal.content and not proposal.may_be_edited,
        is_whole=proposal.is_whole,
        is_compared=is_digest,
        # A proposal that is shown again may contain marks of a conflict.
        has_conflicts=proposal.may_be_edited,
        client=proposal.client,
        opened_at=float(proposal.opened_at),
    )


def join_views(left: sublime.View, right: sublime.View, record: DiffRecord) -> None:
    """Write the records of both views, and draw the right one."""
    write_original(left, OriginalRecord(record.id, right.id()))
    dress_view(right, record)


def dress_view(right: sublime.View, record: DiffRecord) -> None:
    """Write the record, and draw what does not survive a restart: phantoms and change marks."""
    _prepare_view(right, record)
    head.draw_head(right, record)
    comments.mark_comments(right)


def _prepare_view(right: sublime.View, record: DiffRecord) -> None:
    write_record(right, record)
    right.settings().set("mini_diff", True)
    right.set_read_only(not record.is_whole)


def show_original(right: sublime.View, original: Original, is_digest: bool = False) -> None:
    """Fill the left side, if there is one, and compare the right one with it from now on."""
    original = original if is_digest else large.shown_beginning(original)
    record, left = read_record(right), partner_view(right)
    if record is None:
        return
    state = ", ".join(
        (kind_of(record).left_side if original.exists else "new file", *original.traits)
    )
    if left.is_valid():
        texts.name_tab(left, record.path, state)
        left.set_read_only(False)
        texts.fill_view(left, original.text or original.note, record.path)
        left.set_read_only(True)
    said = ". ".join(words for words in (state, original.note) if words)
    record = update_record(right, record, file_digest=original.digest, original_state=said)
    compare_with(right, record, original, is_digest)


def show_digest(right: sublime.View, digest: Digest, present: Original) -> None:
    """Show the digest in both views; it is one against the present file."""
    right.set_read_only(False)
    comments.replace_text(right, digest.shown.new.text)
    right.set_read_only(True)
    show_original(right, large.shown_original(present, digest), is_digest=True)


def compare_with(
    right: sublime.View, record: DiffRecord, original: Original, is_digest: bool = False
) -> None:
    """Compare the proposal with this text from now on."""
    # If a side is not complete, every line would count as changed.
    compared = (record.is_whole or is_digest) and not original.note
    if compared and not record.is_unopened:
        right.set_reference_document(original.text)
    head.draw_head(right, update_record(right, record, is_compared=compared))


def show_pair(window: sublime.Window, right: sublime.View) -> None:
    """Bring both views to the front of their groups; the right one gets the keyboard."""
    left = partner_view(right)
    if left.is_valid() and not is_on_top(window, left):
        window.focus_view(left)
    window.focus_view(right)


def bring_into_sight(right: sublime.View, keyboard: sublime.View | None) -> None:
    """Bring both views to the front of their groups, if they are not. The user continues to type in
    the view that has the keyboard, unless that would cover one of them again."""
    window, left = right.window(), partner_view(right)
    if window is None or all(is_on_top(window, view) for view in (left, right) if view.is_valid()):
        return
    show_pair(window, right)
    if keyboard is not None and keyboard.is_valid() and keyboard.window() == window:
        sides = [view for view in (left, right) if view.is_valid()]
        groups = [window.get_view_index(view)[0] for view in sides]
        if keyboard in sides or window.get_view_index(keyboard)[0] not in groups:
            window.focus_view(keyboard)


def _new_view(window: sublime.Window, group: int, word_wrap: bool) -> sublime.View:
    window.focus_group(group)
    view = window.new_file()
    view.set_scratch(True)
    view.settings().set("word_wrap", word_wrap)
    return view
