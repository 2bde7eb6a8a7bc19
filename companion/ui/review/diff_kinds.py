"""The table of the kinds of diffs, with all that differs between them: the proposal of a CLI's
session, the edit that a chat asks about, a proposal for which nobody waits any more, what an agent
has changed in a work tree, and an edit that is made already. A new kind is a row here, and its
owner (`owners`) in `parts/review_parts`."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Callable, NamedTuple

import sublime

from ...ide.clis import GEMINI_CLI, by_label
from .record import OF_SESSION, DiffRecord, waiting_record

ACCEPT, REJECT, UNDO = "Accept", "Reject", "Undo"
GONE = "{cli} has left; a decision waits for the next one."
# Said of a CLI whose edits do not outlive its connection.
LOST = (
    "{cli} no longer waits for this: decide in its terminal. What you accept here is kept for you."
)
WRITTEN = "{} wrote this at {} without asking. If you close the tab, nothing changes."
OF_TURN = "{} wrote this. If you close the tab, nothing changes."
ASKS_IN_CHAT = "{} has been asking in its chat since {}."
RETURNED = "You rejected this, which {} was told. If you accept it now, it is written here."
CUT_OFF = "{} asked for this, and its turn has ended. If you accept it now, it is written here."
IN_TREE = "Changed in {}. What you accept is written into your own file."
# What has become of the file meanwhile.
FILE_CHANGED = "The file has changed on disk since the diff was opened."
FILE_GONE = "The file has been removed since the diff was opened."
CHANGED_SINCE = "The file has changed since this edit."
GONE_SINCE = "The file has been removed since this edit."
TAB_MERGED = (
    "The unsaved changes of the file's tab are merged into the proposal. If you accept it, the tab"
    " shows what is written; undo there brings them back."
)
SAVED_TOO = "The file has unsaved changes of yours: this shows them as well, and they are saved."


def _session_state(record: DiffRecord) -> str:
    if record.is_orphaned:
        cli = by_label(record.proposer)
        lasts = cli is None or cli.keeps_edits
        return (GONE if lasts else LOST).format(cli=record.proposer)
    if not record.opened_at:
        return f"{record.proposer} is waiting."
    return f"{record.proposer} has been waiting since {opened_at(record)}."


def _chat_state(record: DiffRecord) -> str:
    return ASKS_IN_CHAT.format(record.proposer, opened_at(record))


def _returned_state(record: DiffRecord) -> str:
    return (CUT_OFF if record.chat else RETURNED).format(record.proposer)


def _made_state(record: DiffRecord) -> str:
    said = WRITTEN if record.opened_at else OF_TURN
    return said.format(record.proposer, opened_at(record))


def _tree_state(record: DiffRecord) -> str:
    return IN_TREE.format(record.proposer)


def _of_tree(record: DiffRecord) -> str:
    return f"changed in {record.proposer}"


def _proposed_in_tab(record: DiffRecord) -> str:
    # Only the names of several connected CLIs have a number.
    is_usual = record.proposer == GEMINI_CLI.name
    return "proposed" if is_usual else f"proposed by {record.client}"


def _session_in_tab(record: DiffRecord) -> str:
    return "proposed, CLI gone" if record.is_orphaned else _proposed_in_tab(record)


def _proposed_in_sheet(record: DiffRecord) -> str:
    return f"proposed by {record.proposer}"


def _returned_in_sheet(record: DiffRecord) -> str:
    since = "its turn has ended" if record.chat else "rejected once"
    return f"{_proposed_in_sheet(record)}, {since}"


def _made_by(record: DiffRecord) -> str:
    return f"written by {record.proposer}"


class DiffKind(NamedTuple):
    """What counts for a proposal, unless its row says otherwise."""

    # Who waits for the decision, or what it does, below the first line of the review.
    state_sentence: Callable[[DiffRecord], str]
    # What the name of the tab says of it, and who made the changes, in a sheet.
    tab_state: Callable[[DiffRecord], str] = _proposed_in_tab
    sheet_state: Callable[[DiffRecord], str] = _proposed_in_sheet
    # Whether its file has the edit already: what is decided is done to the file, and nobody waits.
    is_made: bool = False
    # Whether somebody has proposed it: it is among the proposals, and gets tabs in its turn.
    is_proposal: bool = True
    # Whether it can be released: a CLI that was interrupted tells nobody (docs/protocol.md 1.7).
    can_be_released: bool = False
    # Whether whoever proposed it takes an empty text for its own one (docs/protocol.md 1.4).
    has_no_empty_text: bool = False
    # Whether whoever proposed it writes over the file in UTF-8.
    writes_utf_8: bool = True
    # Whether it is written through the file's tab; or whoever writes it brings that along.
    is_written_in_tab: bool = False
    brings_tab_along: bool = False
    # The link that refuses it; what is offered where no change is left, and what that does.
    refusal: str = REJECT
    offer: tuple[str, str] = (
        "Reject the proposal",
        "{} is told that the file stays as it is.",
    )
    # What a sheet says then, and what the left side is.
    all_dropped: str = "You have dropped all changes: Accept all rejects this."
    left_side: str = "on disk"
    # What is said of a file that is another by now, and of one that is gone.
    file_changed: str = FILE_CHANGED
    file_gone: str = FILE_GONE
    # What is said of unsaved changes that it was made of.
    unsaved_shown: str = TAB_MERGED


# The proposal of a CLI's session, which the companion knows.
SESSION = DiffKind(_session_state, _session_in_tab, can_be_released=True, has_no_empty_text=True)
# The edit for which the agent of a chat asks permission. It writes through the file's tab.
CHAT = DiffKind(_chat_state, is_written_in_tab=True, unsaved_shown=SAVED_TOO)
# A proposal for which nobody waits any more: it was rejected, and that was taken back; or the
# editor ended before the chat's turn did. It is written here.
GIVEN_BACK = DiffKind(_returned_state, sheet_state=_returned_in_sheet, writes_utf_8=False)
# What an agent has changed in a work tree of its own, merged with the user's file. It is written
# here, and what is refused stays in the tree.
TREE = DiffKind(
    _tree_state,
    tab_state=_of_tree,
    sheet_state=_of_tree,
    is_proposal=False,
    writes_utf_8=False,
    brings_tab_along=True,
    offer=("Leave it in the work tree", "Your file stays as it is."),
    all_dropped="You have dropped all changes: Accept leaves them in the work tree.",
)
# An edit that is made already: refusing it undoes it, and closing it decides nothing.
MADE = DiffKind(
    _made_state,
    tab_state=_made_by,
    sheet_state=_made_by,
    is_made=True,
    is_proposal=False,
    refusal=UNDO,
    offer=("Undo the edit", "The file becomes what it was before."),
    all_dropped="You have dropped all changes: Accept undoes the edit.",
    left_side="before the edit",
    file_changed=CHANGED_SINCE,
    file_gone=GONE_SINCE,
)


def kind_of(record: DiffRecord) -> DiffKind:
    """Raises LookupError if the diff is of no kind that is known here."""
    if record.edit_id:
        return MADE
    if record.tree:
        return TREE
    if record.is_returned:
        return GIVEN_BACK
    if record.chat:
        return CHAT
    # That of the file's tab may be known of each.
    if replace(record.origin, unsaved_digest="") == OF_SESSION:
        return SESSION
    raise LookupError(f"no kind of diff has the origin {record.origin}")


def is_made(view: sublime.View) -> bool:
    """Whether the view reviews an edit that is made already."""
    record = waiting_record(view)
    return record is not None and kind_of(record).is_made


def opened_at(record: DiffRecord) -> str:
    """When it was asked for, or made."""
    return time.strftime("%H:%M", time.localtime(record.opened_at))
