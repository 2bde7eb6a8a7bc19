"""Takes over files that are no text: whole, in the place of the user's. Where the user has changed
theirs too, they are asked. UI thread only, but for what says otherwise."""

from __future__ import annotations

import os
from itertools import count
from typing import Sequence

import sublime

from ...work_trees.inside import ABSENT, NOTHING, TreeContent, look_at
from ...work_trees.own_files import OwnFileKept, WholeStep, replace_whole
from .. import panels
from .sides import Sides
from .tree_reviews import label_of

WHICH = "You have changed {} too. Which one?"
KEEP, STAYS = "Keep yours", "The other one stays in the {}, and is not shown again."
TAKE, BESIDE, GONE = (
    "Take the one of the {}",
    "Yours stays beside it, with .yours in its name.",
    "You have removed yours.",
)
NO_NAME = "{} cannot be kept beside it: {}."


async def is_theirs_wanted(window: sublime.Window, sides: Sides) -> bool | None:
    """Whether the tree's file is to take the place of the user's; None if they choose nothing."""
    place = label_of(sides.tree)
    items = [
        panels.panel_item(KEEP, STAYS.format(place)),
        panels.panel_item(TAKE.format(place), BESIDE if sides.own.is_file else GONE),
    ]
    question = WHICH.format(os.path.basename(sides.change.path))
    number = await panels.ask_choice(window, items, question)
    return None if number < 0 else number == 1


def take_whole(sides: Sides, whole: TreeContent) -> Sequence[WholeStep] | str:
    """Gives what was done, or a sentence if nothing was. Runs in a thread."""
    try:
        steps = [*_steps_beside(sides), *_whole_steps(sides, whole)]
    except OSError as error:
        return NO_NAME.format(os.path.basename(sides.change.path), error.strerror)
    return replace_all(sides.tree.root, steps) or steps


def replace_all(root: str, steps: Sequence[WholeStep]) -> str:
    """Gives a sentence if it was not done. Runs in a thread."""
    try:
        replace_whole(root, steps)
    except OwnFileKept as error:
        return str(error)
    return ""


def _whole_steps(sides: Sides, whole: TreeContent) -> list[WholeStep]:
    change = sides.change
    if not change.is_renamed:
        return [(change.path, sides.own, whole)]
    return [(change.path, NOTHING, whole), (change.old_path, sides.own, NOTHING)]


def _steps_beside(sides: Sides) -> list[WholeStep]:
    """Keep what only the user has. Raises OSError."""
    if sides.rival is None or not sides.own.is_file:
        return []
    path, root = sides.change.old_path, sides.tree.root
    stem, end = os.path.splitext(path)
    names = (f"{stem}.yours{'' if number == 1 else number}{end}" for number in count(1))
    free = next(name for name in names if look_at(root, name).mode == ABSENT)
    return [(free, NOTHING, sides.own)]
