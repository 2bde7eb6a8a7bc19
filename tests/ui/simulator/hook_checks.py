"""What must be true of hooks whatever happens, and the record by which it is seen: each sentence
that is owed to a CLI is told once, to that CLI, and each edit without asking is listed once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Iterable

if TYPE_CHECKING:
    from .checks import Ledger, Proposal
    from .cli import Cli

# How the model reads that an edit of a file was undone.
UNDONE = "undone your edit of {}."


@dataclass
class Note:
    """Words of the user about a proposal, and the CLIs that were told them."""

    words: str
    proposal: Proposal
    told: list[Cli] = field(default_factory=list)


@dataclass
class Edit:
    """One without asking. It `is_told` if all its hooks ran to their ends, and `is_unsure` if the
    package was unloaded meanwhile."""

    text: str
    path: str
    is_told: bool = False
    is_unsure: bool = False
    listed: int = 0


@dataclass
class Undone:
    """How many edits of a file were undone of which its CLI is not told."""

    cli: Cli
    waiting: int = 0


class HookLedger:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._notes: list[Note] = []
        # By text; and by the path of a CLI's own file.
        self._edits: dict[str, Edit] = {}
        self._undone: dict[str, Undone] = {}
        # What came onto the clipboard.
        self._copied: list[str] = []

    def _count(self, what: str) -> None:
        self._ledger.counts[what] += 1

    # ----- what happens

    def owe(self, proposal: Proposal, words: str) -> None:
        """The user has words for the proposal's CLI."""
        self._count("noted")
        self._notes.append(Note(words, proposal))

    def copied(self, text: str) -> None:
        self._ledger.note("copied: {!r}", text)
        self._copied.append(text)

    def is_owed(self, cli: Cli) -> bool:
        """Whether the CLI is still to be told something."""
        return any(note.proposal.cli is cli and not note.told for note in self._notes)

    def made(self, cli: Cli, path: str) -> Edit:
        """A CLI writes a text of its own, without asking."""
        self._count("unasked")
        edit = Edit(f"unasked {len(self._edits)} of {cli}\n", path)
        self._edits[edit.text] = edit
        self._undone.setdefault(path, Undone(cli))
        self._ledger.note("{} writes {!r} without asking", cli, edit.text)
        return edit

    def listed(self, path: str, text: str) -> None:
        """The editor gets an edit that was made without asking."""
        self._ledger.note("listed: {!r}", text)
        self._count("listed")
        edit = self._edits.get(text)
        if edit is not None:
            edit.listed += 1
            if edit.listed > 1 and not edit.is_unsure:
                self._ledger.violate(f"listed twice: {text!r}")
            return
        about = [proposal for proposal in self._ledger.proposals.values() if proposal.path == path]
        if not any(proposal.may_be_listed for proposal in about):
            self._ledger.violate(f"listed, though the user was asked: {text!r} of {path}")

    def taken_back(self, path: str) -> None:
        """The user has undone an edit."""
        self._ledger.note("undone: {}", path)
        self._count("undone")
        self._undone[path].waiting += 1

    def prompted(self, cli: Cli) -> None:
        """Another turn: what the user was asked in the one before counts no more."""
        self._ledger.note("{} is prompted", cli)
        for proposal in self._ledger.proposals.values():
            proposal.may_be_listed |= proposal.cli is cli

    def unloaded(self) -> None:
        for proposal in self._ledger.proposals.values():
            proposal.may_be_listed = True
        for edit in self._edits.values():
            edit.is_unsure = True

    def told(self, cli: Cli, context: str) -> None:
        """A hook's answer has arrived."""
        for note in self._notes:
            if note.words in context:
                self._count("notes told")
                note.told.append(cli)
        for path, undone in self._undone.items():
            if UNDONE.format(path) in context:
                self._count("told of an undone edit")
                if undone.cli is not cli and not undone.cli.is_dead:
                    self._ledger.violate(f"{cli} was told that {path} was undone")
                if not undone.waiting:
                    self._ledger.violate(f"{cli} was told twice that {path} was undone")
                undone.waiting = 0

    # ----- in the end, when each CLI that lives has been prompted

    def check(self, places: Iterable[str], comments: Iterable[str]) -> None:
        """`places` are all texts that the user can see, `comments` those of open diffs."""
        kept = [*places, *comments]
        for note in self._notes:
            others = [cli for cli in note.told if cli is not note.proposal.cli]
            found = len(note.told) + sum(note.words in text for text in kept)
            # A note that came too late is copied with the comments, which may be told by then.
            is_copied = any(note.words in text for text in self._copied)
            if others or not (found == 1 or (is_copied and not found)):
                where = f"told {list(map(str, note.told))}, and in {found - len(note.told)} places"
                self._ledger.violate(f"{note.words!r} about {note.proposal.name}: {where}")
        for edit in self._edits.values():
            if edit.is_told and not edit.is_unsure and not edit.listed:
                self._ledger.violate(f"not listed: {edit.text!r}")
        for path, undone in self._undone.items():
            if undone.waiting:
                self._ledger.violate(f"nobody was told that {path} was undone")
