"""What of a sheet can be decided in one press: the files as the user was told of them, and the ways
to accept them if several have made something of the same file. Knows no view."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Sequence

from ...base.change_sheet import FileChanges, Section
from .sheet_files import extent_words, line_counts
from .sources import Source

ACCEPT_ALL, REJECT_ALL = "Accept all", "Reject all"
# The ways to accept variants: one of each file, those that the user has kept, dropped or typed
# something in, and all.
FIRST = "Accept the first variant of each file"
CHOSEN = "Accept the variants that you worked on, and of other files the first"
EVERY = "Accept all variants"
# What is said of the files.
DROPPED = "{} more will be rejected, because you have dropped all their changes."
OTHERS = "{} more must wait: they are for the same files, and would replace these."
VARIANTS = "{} more wait as other variants of these files."
MERGED = (
    "Variants of one file are merged, one after the other. Those that conflict wait, and the"
    " conflicts are marked."
)


@dataclass(frozen=True)
class Counted:
    """A file as the user was told of it; `change_count` is that of its own review, if that is open.
    One `is_chosen` if they have kept, dropped or typed something in it."""

    section: Section
    source: Source
    change_count: int | None
    is_chosen: bool = False

    @property
    def file(self) -> FileChanges:
        return self.section.file

    @property
    def id(self) -> str:
        return self.file.id

    @property
    def is_dropped(self) -> bool:
        """Whether the user has dropped all that is proposed for the file."""
        return self.file.is_dropped


class WayToDecide(NamedTuple):
    """A way to decide on these files. Those with `later` ids are merged with what is accepted of
    the same files before, and wait if they conflict; `notes` say what is not among them."""

    name: str
    accept: bool
    files: Sequence[Counted]
    later: frozenset[str] = frozenset()
    notes: Sequence[str] = ()

    @property
    def meant(self) -> list[Counted]:
        """Those that are decided in this way: of what is accepted, that which was dropped is
        rejected."""
        return [each for each in self.files if not (self.accept and each.is_dropped)]

    @property
    def extent(self) -> str:
        """How much it is."""
        titles = [(each.file.title, each.source) for each in self.meant]
        return f"{extent_words(titles)}, {line_counts([each.file for each in self.meant])}"

    @property
    def details(self) -> str:
        """What happens then."""
        dropped = len(self.files) - len(self.meant)
        found = [*self.notes, *([DROPPED.format(dropped)] if dropped else [])]
        found += [MERGED] if self.later else []
        return " ".join([*found, meaning_of([each.source for each in self.meant], self.accept)])


def meaning_of(sources: Sequence[Source], accept: bool) -> str:
    """What it means to accept what comes from there, or to reject it."""
    said = (source.meanings[0 if accept else 1] for source in sources)
    return " ".join(dict.fromkeys(said))


@dataclass
class _Sorted:
    """What can be accepted together; of variants, those of each file."""

    alone: list[Counted] = field(default_factory=list)
    variants: dict[str, list[Counted]] = field(default_factory=dict)
    # How many wait, because what is accepted does not know their text, or would replace it.
    waiting: int = 0


def ways_to_accept(counted: Sequence[Counted]) -> list[WayToDecide]:
    """The usual way first. Of several proposals for one file only the oldest one can be accepted:
    the next one does not know its text, and would replace it. Variants are merged."""
    found = _sort_files(counted)
    if all(each.is_dropped for each in found.alone) and not found.variants:
        return [WayToDecide(REJECT_ALL, False, found.alone)] if found.alone else []
    groups = list(found.variants.values())
    picked = [[each for each in group if each.is_chosen] or group[:1] for group in groups]
    notes = [OTHERS.format(found.waiting)] if found.waiting else []
    left = sum(map(len, groups)) - sum(map(len, picked))
    if not left:
        return [_way_of(ACCEPT_ALL, counted, found.alone, picked, notes)]
    is_chosen = any(each.is_chosen for group in groups if len(group) > 1 for each in group)
    more = [*notes, VARIANTS.format(left)]
    return [
        _way_of(CHOSEN if is_chosen else FIRST, counted, found.alone, picked, more),
        _way_of(EVERY, counted, found.alone, groups, notes),
    ]


def _way_of(
    name: str,
    counted: Sequence[Counted],
    alone: Sequence[Counted],
    groups: Sequence[Sequence[Counted]],
    notes: Sequence[str],
) -> WayToDecide:
    ids = {each.id for group in (alone, *groups) for each in group}
    later = frozenset(each.id for group in groups for each in group[1:])
    return WayToDecide(name, True, [each for each in counted if each.id in ids], later, notes)


def _sort_files(counted: Sequence[Counted]) -> _Sorted:
    found, titles = _Sorted(), set()
    for each in counted:
        file = each.file
        if each.is_dropped or file.is_made:
            found.alone.append(each)
        elif file.variant is not None and file.variant.of not in titles:
            found.variants.setdefault(file.variant.of, []).append(each)
        elif file.variant is None and file.title not in titles:
            titles.add(file.title)
            found.alone.append(each)
        else:
            found.waiting += 1
    return found
