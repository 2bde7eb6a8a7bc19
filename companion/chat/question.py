"""What waits for the user's answer, as a front end asks it: permissions of calls, and other
questions of the agent."""

from __future__ import annotations

from dataclasses import dataclass

from ..agent.acp.elicitation import Field
from ..agent.events.turn_events import Diff, Option

PERMISSION, ELICITATION = "permission", "elicitation"


@dataclass(frozen=True)
class Question:
    """`kind` is PERMISSION or ELICITATION.

    A permission's `id` is that of the call. `title` says in one line what it is about, `command` is
    the whole command with invisible characters spelled out, or empty. `options` are the possible
    decisions in our order: once, always, no. `diffs` are all edits that it would make.

    An elicitation's `id` is its own; `title` is the agent's message. `mode`, `fields` and `url` are
    as in `agent/acp/elicitation`.
    """

    kind: str
    turn: str
    id: str
    title: str
    command: str = ""
    options: tuple[Option, ...] = ()
    diffs: tuple[Diff, ...] = ()
    mode: str = ""
    fields: tuple[Field, ...] = ()
    url: str = ""
