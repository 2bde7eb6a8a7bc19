"""The store that keeps edits over a restart: those that the user accepted, and those that a CLI
made without asking.

They are saved up to an age; their texts up to a size, of accepted edits apart from others, so that
neither push the others out. Of an edit without texts it is saved why. Files that are excluded are
never saved.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import replace
from typing import Any, Iterable, Mapping

from ..base.file_content import Original, of_bytes
from ..base.log import logger
from ..base.private_files import NotPrivate
from ..base.undo_store import MISSING, StoredEdit, UndoStore
from ..base.write_behind import WriteBehind
from .edit import NOT_KEPT, TOO_LARGE, Edit, EditState

# The most bytes saved of one text, and of all texts of accepted edits or of all others.
MAX_SAVED, MAX_ALL_SAVED = 2 * 1024 * 1024, 16 * 1024 * 1024
# The folder of the edits that were made without asking, in that of the others.
UNASKED = "unasked"
# Seconds for a disk to say what a path stands for.
PATIENCE = 2.0
UNREAD = (
    'Its texts cannot be read at the moment. "Gemini Companion: Restart Companion" tries again.'
)
NOT_SAVED = "Accepted edits cannot be undone after a restart: {}"
NOT_WRITTEN = "{} cannot be written ({}). Fix that; the next edit is saved with all before it."
SAVE_FAILED = (
    'Accepted edits cannot be undone after a restart; "Gemini Companion: Show Log" shows why. The'
    " next edit is saved with all before it."
)
LOAD_FAILED = (
    "Edits from before the restart cannot be undone, and edits from now on cannot be undone after"
    ' the next one; "Gemini Companion: Show Log" shows why. "Gemini Companion: Restart Companion"'
    " tries again."
)
NO_ANSWER = "The edit of {} cannot be undone after a restart: its disk does not answer."
TOO_LARGE_TO_SAVE = "The edit of {} is too large to be undone after a restart; until then it can."

# Does all work on the folder, one piece after the other: a companion that starts loads what the one
# before it saved last.
writer = WriteBehind("accepted edits")


def load_edits(folder: str) -> list[Edit]:
    """The saved edits, oldest first. Damaged ones are put aside, and those that are too old are
    left out; the next `save_edits` removes both. May take some time. Raises OSError if it is not
    known which edits are there; then a `save_edits` would remove all of them."""
    found: list[Edit] = []
    for store in _edit_stores(folder).values():
        # The next `save_edits` tells the user what is wrong with a folder that is none.
        with suppress(NotADirectoryError):
            found += _load_store(store)
    return sorted((edit for edit in found if edit.is_recent), key=lambda edit: edit.at)


def _load_store(store: UndoStore) -> list[Edit]:
    """Raises OSError."""
    found = []
    for stored in store.edits():
        try:
            found.append(_restore_edit(store, stored))
        except (ValueError, KeyError, TypeError, ArithmeticError) as error:
            logger.warning("a saved edit is damaged: %s", type(error).__name__)
            with suppress(OSError):
                store.put_aside(stored)
    return found


def save_edits(folder: str, edits: Iterable[Edit]) -> str:
    """Save these edits, as far as they may be saved and fit; remove all others. Gives a sentence
    for the user if something went wrong. Calls have to come one after the other."""
    try:
        oldest, stores = sorted(edits, key=lambda edit: edit.at), _edit_stores(folder)
        told = [
            _save_store(store, (edit for edit in oldest if bool(edit.turn) is is_unasked))
            for is_unasked, store in stores.items()
        ]
        return next(filter(None, told), "")
    except OSError as error:
        return NOT_SAVED.format(NOT_WRITTEN.format(folder, error.strerror))
    except NotPrivate as error:
        return NOT_SAVED.format(error)


def _edit_stores(folder: str) -> Mapping[bool, UndoStore]:
    """The stores of the folder, by whether their edits were made without asking."""
    folders = {False: folder, True: os.path.join(folder, UNASKED)}
    return {key: UndoStore(each, MAX_SAVED, MAX_ALL_SAVED) for key, each in folders.items()}


def _save_store(store: UndoStore, oldest: Iterable[Edit]) -> str:
    """Gives a sentence for the user about the newest edit that is not saved. Raises OSError,
    NotPrivate."""
    wanted = {edit.id: edit for edit in oldest if edit.is_recent}
    there = {edit.group for edit in store.edits() if _is_kept(edit, wanted)}
    # First, for this makes room.
    store.keep_edits(
        lambda stored: _is_kept(stored, wanted),
        lambda stored: {**stored.details, **_turn_of(wanted[stored.group])},
    )
    problems = [_add_edit(store, edit) for id, edit in wanted.items() if id not in there]
    for stored in reversed(store.without_texts()):
        before, after = _edit_texts(wanted[stored.group])
        if not store.store_again(*(text for text in (after, before) if text is not None)):
            break
    return next(filter(None, reversed(problems)), "")


def _is_kept(stored: StoredEdit, wanted: Mapping[str, Edit]) -> bool:
    edit = wanted.get(stored.group)
    target = str(stored.details.get("target"))
    if edit is None or _is_held_back(edit, stored.path, target):
        return False
    # If the texts were dropped since, a line that says so takes its place.
    return edit.problem in ("", UNREAD) or "problem" in stored.details


def _add_edit(store: UndoStore, edit: Edit) -> str:
    """Gives a sentence if the edit may be saved but is not. Raises OSError, NotPrivate."""
    if edit.problem == UNREAD or _is_held_back(edit, edit.path):
        return ""
    before, after = _edit_texts(edit)
    is_too_large = max(len(before or b""), len(after or b"")) > MAX_SAVED
    target = _link_target(edit.path)
    if not target:
        return NO_ANSWER.format(os.path.basename(edit.path))
    if not _is_held_back(edit, target):
        told = {"target": target, "folders": edit.folders, "client": edit.client, "at": edit.at}
        problem = edit.problem or (TOO_LARGE if is_too_large else "")
        if problem:
            told["problem"], before, after = problem, None, b""
        store.add_edit(edit.id, edit.path, before, after, {**told, **_turn_of(edit)})
    return TOO_LARGE_TO_SAVE.format(os.path.basename(edit.path)) if is_too_large else ""


def _edit_texts(edit: Edit) -> tuple[bytes | None, bytes | None]:
    """The text after the edit is stored as it was accepted: only the CLI knows what bytes it makes
    of that. There is none of a file that was removed."""
    after = None if edit.is_removal else (edit.after or "").encode("utf-8", "surrogatepass")
    return edit.before.data, after


def _turn_of(edit: Edit) -> Mapping[str, Any]:
    if not edit.turn:
        return {}
    return {
        "turn": edit.turn,
        "prompt": edit.prompt,
        "is_seen": edit.state is not EditState.WRITTEN,
    }


def _link_target(path: str) -> str:
    """The file that the path leads to; empty if the disk does not answer in time."""
    found: list[str] = []
    thread = threading.Thread(
        target=lambda: found.append(os.path.realpath(path)), name="GeminiCompanion work"
    )
    thread.daemon = True
    thread.start()
    thread.join(PATIENCE)
    return found[0] if found else ""


def _is_held_back(edit: Edit, *paths: str) -> bool:
    """Whether the user's rules exclude a file with one of these names, or are not known."""
    rules = edit.rules
    return rules is None or any(rules.excludes(path, edit.folders) for path in paths)


def _restore_edit(store: UndoStore, stored: StoredEdit) -> Edit:
    """The edit with its texts; without them if one is not there or cannot be read now. Raises
    ValueError, KeyError, TypeError or ArithmeticError if something is damaged."""
    details = stored.details
    turn, prompt = details.get("turn", ""), details.get("prompt", "")
    problem = details.get("problem", "")
    client, *folders = texts = [details["client"], *details["folders"]]
    texts += [turn, prompt, problem]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("expected texts")
    found, at = Original("", exists=stored.before != MISSING), float(details["at"])
    state = EditState.WRITTEN if turn and details.get("is_seen") is not True else EditState.KEPT
    edit = Edit(0, stored.path, found, "", client, at, tuple(folders), None, turn, prompt, state)
    edit = replace(edit, id=stored.group)
    return edit.without_texts(problem) if problem else _with_texts(store, stored, edit)


def _with_texts(store: UndoStore, stored: StoredEdit, edit: Edit) -> Edit:
    """Raises ValueError."""
    try:
        old, new = store.text(stored.before), store.text(stored.after)
    except OSError as error:
        logger.warning("a saved edit cannot be read now: %s", error.strerror)
        return edit.without_texts(UNREAD)
    is_removal = new is None and stored.after == MISSING
    if (new is None and not is_removal) or (old is None and stored.before != MISSING):
        logger.info("the texts of a saved edit are not there any more")
        return edit.without_texts(NOT_KEPT)
    before = edit.before if old is None else of_bytes(old)
    after = (new or b"").decode("utf-8", "surrogatepass")
    return replace(edit, before=before, after=after, is_removal=is_removal)
