"""What is saved over a restart: ports, tokens, sessions and the books of decisions, as values.

With it a CLI that comes back soon enough does not notice an upgrade of the package or a restart of
the editor, and no decision is lost if its CLI does not come back. `state_file` writes and reads it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Callable

from .clis import GEMINI_CLI, CliSession
from .decisions import OPEN, TOLD, Entry


@dataclass(frozen=True)
class SavedSession:
    """`last_id` is the id of its last event. `client` is the name that it gave itself; `cli` is the
    id of its kind. `since` is in seconds since the epoch, 0 if it is not known. `newest_then` is
    the ordinal of the newest session at the time when its stream was lost, 0 if it had a stream.
    """

    id: str
    protocol_version: str
    last_id: int
    client: str = ""
    cli: str = GEMINI_CLI.id
    since: float = 0.0
    newest_then: int = 0


@dataclass(frozen=True)
class SavedWords:
    """Words that wait for a hook of a CLI (`hooks.words_for_model`): of the kind with the id, in
    its own session `session_id`, as that process. They go along with the result for `path`, or with
    the next hook if that is empty, below a `heading` for the model. `about` is the path that they
    are about."""

    cli_id: str
    session_id: str
    pid: int
    text: str
    path: str
    about: str
    heading: str

    @property
    def cli_session(self) -> CliSession:
        return CliSession(self.cli_id, self.session_id)


@dataclass(frozen=True)
class SavedTurn:
    """A turn in which a CLI made edits without asking (`hooks.edit_makers`): of the kind with the
    `cli_id`, in its own session `session_id`, as that process, 0 if this system does not know it.
    """

    id: str
    cli_id: str
    session_id: str
    pid: int

    @property
    def cli_session(self) -> CliSession:
        return CliSession(self.cli_id, self.session_id)


@dataclass(frozen=True)
class SavedSentence:
    """What a model is still to be told of an edit that the user has undone
    (`hooks.unasked_edits`): `turn` is the id of the edit's turn, `client` the name of its CLI."""

    turn: str
    client: str
    text: str


@dataclass(frozen=True)
class SavedWorkspace:
    """A window's endpoint. `folders` decide which window gets it back; if several windows have the
    same folders, the editor's `window_id` does as well. `proposals` are the entries of its book.
    `saved_at` is in seconds since the epoch. An empty `token` was unreadable or too old.

    The sessions are in the order in which they began. The ordinal of each is its place in this
    order, from 1; `newest_then`, and `after_session` of the proposals, use these ordinals."""

    folders: tuple[str, ...]
    port: int
    token: str
    sessions: tuple[SavedSession, ...]
    proposals: tuple[Entry, ...]
    saved_at: float
    window_id: int = 0
    words: tuple[SavedWords, ...] = ()
    turns: tuple[SavedTurn, ...] = ()
    sentences: tuple[SavedSentence, ...] = ()

    @property
    def has_texts(self) -> bool:
        """Whether it contains something that the user typed or decided."""
        return bool(self.words) or any(
            each.state != OPEN or each.text is not None for each in self.proposals
        )

    def split(self, is_wanted: Callable[[Entry], bool]) -> tuple[SavedWorkspace, tuple[Entry, ...]]:
        """The workspace without the wanted entries, and these entries. Open proposals stay with
        their endpoint, where the CLI expects them; what the user typed into them comes back."""
        rest, wanted = [], []
        for entry in self.proposals:
            # The other workspace has other sessions.
            moved = entry._replace(after_session=0)
            if not is_wanted(entry) or (entry.state == OPEN and not entry.is_edited):
                rest.append(entry)
            elif entry.state == OPEN:
                rest.append(entry._replace(text=None))
                wanted.append(moved._replace(state=TOLD, comes_back=True, decided_at=time.time()))
            else:
                wanted.append(moved)
        return replace(self, proposals=tuple(rest)), tuple(wanted)


def is_same(one: list[SavedWorkspace], other: list[SavedWorkspace]) -> bool:
    """Whether the second, once loaded, is as good as the first: the time and the last used id need
    not be exact."""
    return [_lasting_part(each) for each in one] == [_lasting_part(each) for each in other]


def _lasting_part(workspace: SavedWorkspace) -> SavedWorkspace:
    sessions = tuple(replace(session, last_id=0) for session in workspace.sessions)
    return replace(workspace, sessions=sessions, saved_at=0.0)
