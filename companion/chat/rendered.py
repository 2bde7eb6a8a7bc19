"""A text with what a view draws on it, as frozen values. All offsets count code points; ranges end
before their second number.

The lines that are ours begin with a character of `MARKERS`, and no other line of the document does,
so a syntax can tell them apart whatever an answer contains. A message of the user begins with
`MESSAGE`, and so does nothing else: these lines are the document's symbols. All that is between our
lines is Markdown of the agent, or a fenced block.
"""

from __future__ import annotations

from dataclasses import dataclass

# At the beginning of a line: a message of the user, and every other line of ours.
MESSAGE, LINE = "▎", "▏"
MARKERS = MESSAGE + LINE

# The kinds of marks.
HEADING, ADDED, REMOVED, DIM = "heading", "added", "removed", "dim"
ERROR, WARNING, QUESTION, BUTTON = "error", "warning", "question", "button"
MARKS = (HEADING, ADDED, REMOVED, DIM, ERROR, WARNING, QUESTION, BUTTON)

# The actions of links, each with the members of its argument. Every argument also has "turn", the
# turn's id, but for those of what a text names; of ALLOW_ALL_SHOWN and DENY_ALL it is empty.
OPEN_FILE = "open_file"  # path
OPEN_EDIT = "open_edit"  # call, path
SHOW_OUTPUT = "show_output"  # call
DECIDE = "decide"  # call, revision, outcome
ANSWER = "answer"  # elicitation; opens its form or its address
DECLINE = "decline"  # elicitation
# Of all questions for permission that wait, the first of those that were seen alone.
ALLOW_ALL_SHOWN, DENY_ALL = "allow_all_shown", "deny_all"
STOP_SUBAGENT = "stop_subagent"  # call
RETRY = "retry"
LOG_IN = "log_in"
OPEN_CHANGES = "open_changes"
# Of what the text itself names: path, line and column from 1, 0 for none; url.
OPEN_PLACE, OPEN_ADDRESS = "open_place", "open_address"
ACTIONS = (
    OPEN_FILE,
    OPEN_EDIT,
    SHOW_OUTPUT,
    DECIDE,
    ANSWER,
    DECLINE,
    ALLOW_ALL_SHOWN,
    DENY_ALL,
    STOP_SUBAGENT,
    RETRY,
    LOG_IN,
    OPEN_CHANGES,
    OPEN_PLACE,
    OPEN_ADDRESS,
)


@dataclass(frozen=True)
class Mark:
    """`kind` is one of MARKS."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class Fold:
    """Text that is folded at first."""

    start: int
    end: int


@dataclass(frozen=True)
class Link:
    """`action` is one of ACTIONS, `argument` its JSON object as a string."""

    start: int
    end: int
    action: str
    argument: str


@dataclass(frozen=True)
class Picture:
    """An image in the file at the absolute path, to be shown below the line of this range. `width`
    and `height` are in pixels, `size` is in bytes."""

    start: int
    end: int
    path: str
    width: int
    height: int
    size: int


@dataclass(frozen=True)
class Rendered:
    """`text` is empty or ends with a line end."""

    text: str
    marks: tuple[Mark, ...] = ()
    folds: tuple[Fold, ...] = ()
    links: tuple[Link, ...] = ()
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Patch:
    """Replaces the range of the document's text as the patches before have left it. Marks, folds,
    links and pictures of the document lie either in that range, and go with it, or outside of it.
    `block` is the id of the block that changes."""

    block: str
    start: int
    end: int
    rendered: Rendered
