"""The unsent texts of all conversations, with what is attached to them, kept in a file. On the UI
thread; a writer has the disk.

Sublime keeps the texts of tabs as well, but may bring an older one back after a crash
(docs/sublime.md 5.8), and none of a closed tab.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Callable, Container, Mapping

import sublime

from ...base import private_files
from ...base.answer import Answer
from ...base.log import logger
from ...base.signal import Signal, ValueSignal
from ...base.write_behind import WriteBehind
from ...chat.attached import Attached, from_json
from .. import queues, views

# Milliseconds after a change within which it is given to the writer.
SOON = 400
# What sentences about them are about.
DRAFTS = "drafts"
REFUSED = (
    "What you have written in chats cannot be saved: {}. It stays in its tabs; make room on the"
    " disk before you quit Sublime Text."
)
# The most conversations with an unsent text; those that were typed longest ago go.
MOST = 200


@dataclass(frozen=True)
class Draft:
    """`folder` is that of the window, `at` is in seconds since the epoch. `agent` and `workspace`
    are for the conversation, if that has still to be begun; empty for the usual ones."""

    text: str
    folder: str = ""
    at: float = 0.0
    attached: tuple[Attached, ...] = ()
    agent: str = ""
    workspace: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.text.strip() or self.attached)


class Drafts:
    """Drafts by the ids of conversations. `now` is a clock, for `at`."""

    def __init__(self, path: str, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now
        self._writer = WriteBehind("drafts")
        self._drafts = _read_drafts(path)
        # What the writer has to write; replaced, never changed.
        self._saved: Mapping[str, Draft] = {}
        self._is_due = False
        # They cannot be written, with a sentence; emitted once until they can be again.
        self.refusals = ValueSignal[str]()
        # They can be written again after that.
        self.recoveries = Signal()
        self._is_refused = False

    @classmethod
    def in_cache(cls, folder: str, name: str = "drafts.json") -> Drafts:
        """`folder` is Sublime's."""
        return cls(os.path.join(folder, "GeminiCompanion", "chats", name))

    def text_of(self, conversation: str) -> str | None:
        """None if nothing is known of it."""
        draft = self._drafts.get(conversation)
        return draft.text if draft is not None else None

    def typed_at(self, conversation: str) -> float:
        """When it was typed, in seconds since the epoch; 0 if nothing is known of it."""
        return self._drafts.get(conversation, Draft("")).at

    def attached_to(self, conversation: str) -> tuple[Attached, ...]:
        draft = self._drafts.get(conversation)
        return draft.attached if draft is not None else ()

    def keep_text(
        self, conversation: str, text: str, folder: str, attached: tuple[Attached, ...] = ()
    ) -> None:
        """Keep the text; an empty one, too, which a restored tab has to have."""
        self._update_draft(conversation, text=text, folder=folder, attached=attached)

    def keep_start_options(self, conversation: str, agent: str, workspace: str) -> None:
        """Keep what the conversation is to have when it is begun."""
        self._update_draft(conversation, agent=agent, workspace=workspace)

    def start_options(self, conversation: str) -> tuple[str, str]:
        """Agent and workspace, empty for the usual ones."""
        draft = self._drafts.get(conversation, Draft(""))
        return draft.agent, draft.workspace

    def _update_draft(self, conversation: str, **members: Any) -> None:
        known = self._drafts.pop(conversation, Draft(""))
        self._drafts[conversation] = replace(known, at=self._now(), **members)
        while len(self._drafts) > MOST:
            del self._drafts[next(iter(self._drafts))]
        if not self._is_due:
            self._is_due = True
            queues.on_ui_thread(self._hand_to_writer, SOON)

    def forget(self, conversation: str) -> None:
        if self._drafts.pop(conversation, None) is not None:
            self._hand_to_writer()

    def other_drafts(self, known: Container[str]) -> list[tuple[str, str, str]]:
        """Id, folder and text of those that are not of these conversations."""
        found = [(id, draft.folder, draft.text) for id, draft in self._drafts.items()]
        return [draft for draft in found if draft[0] not in known]

    def latest_conversation(self, folder: str) -> str | None:
        """The conversation of the folder with a text that was typed last; None if there is none."""
        found = [
            id
            for id, draft in self._drafts.items()
            if draft.folder == folder and not draft.is_empty
        ]
        return found[-1] if found else None

    def save(self) -> None:
        """Give all to the writer now."""
        if self._is_due:
            self._hand_to_writer()

    def wait_until_saved(self) -> Answer[None]:
        """Give all to the writer now; answers when it has written that."""
        written: Answer[None] = Answer()
        self.save()
        self._writer.do_soon(partial(written.give, None))
        return written

    def finish(self) -> None:
        """Write all now, and wait for the disk. Needs nothing of the editor."""
        self.save()
        self._writer.finish()

    def _hand_to_writer(self) -> None:
        self._is_due = False
        self._saved = dict(self._drafts)
        self._writer.do_soon(self._write_file)

    def _write_file(self) -> None:
        """On the writer's thread, which may take its time for long texts."""
        texts = {id: asdict(draft) for id, draft in self._saved.items()}
        data = json.dumps(texts).encode("ascii")
        try:
            private_files.make_parents(self._path)
            private_files.write_file(self._path, data)
            if self._is_refused:
                self._is_refused = False
                queues.on_ui_thread(self.recoveries.emit)
        except FileNotFoundError:
            # Somebody removes the folder just now; the next text makes it anew.
            logger.debug("unsent texts are not saved: their folder is being removed")
        except OSError as error:
            logger.error("unsent texts are not saved: %s", error)
            self._report_refusal(REFUSED.format(error.strerror or error))

    def _report_refusal(self, sentence: str) -> None:
        if not self._is_refused:
            self._is_refused = True
            queues.on_ui_thread(lambda: self.refusals.emit(sentence))


def _read_drafts(path: str) -> dict[str, Draft]:
    """Read the drafts, those that were typed longest ago first; damaged ones are left out. The UI
    thread may wait for this disk: Sublime Text keeps its own cache there, and reads it at its
    start."""
    try:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        logger.error("unsent texts cannot be read: %s", error)
        # What is in it may be mended by hand; the next text is written into a new one.
        with suppress(OSError):
            os.replace(path, path + ".damaged")
        return {}
    found = (
        {}
        if not isinstance(stored, Mapping)
        else {id: _parse_draft(value) for id, value in stored.items()}
    )
    return {id: draft for id, draft in found.items() if draft is not None}


def _parse_draft(stored: Any) -> Draft | None:
    if not isinstance(stored, Mapping) or not isinstance(stored.get("text"), str):
        return None
    folder, at = stored.get("folder", ""), stored.get("at", 0.0)
    if not isinstance(folder, str) or not isinstance(at, (int, float)):
        return None
    attached = from_json(stored.get("attached"))
    wanted = [str(stored.get(name) or "") for name in ("agent", "workspace")]
    return Draft(stored["text"], folder, float(at), attached, *wanted)


def folder_of(window: sublime.Window) -> str:
    """The folder whose chats a window has, and in which the agent of a new one works."""
    folders = views.window_folders(window)
    return folders[0] if folders else os.path.expanduser("~")
