"""The possible decisions on a call of a tool: which outcomes a request offers, and which option of
the agent each of them chooses.

Source: the API's specification; the protocol's kinds of options.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Mapping, Sequence

from .. import turn_events as events
from ..acp.messages import (
    ALLOW_ONCE,
    REJECT_ALWAYS,
    REJECT_ONCE,
    PermissionOption,
    PermissionRequest,
)
from ..events.tool_call import SWITCH_MODE, Call
from ..failure import TOOL_CALL_CHANGED, TOOL_INVALID_OUTCOME, AgentError, not_among
from ..sentence import Words, sentence
from ..turn_events import ALWAYS, ALWAYS_TOOL, CANCEL, MODIFY, ONCE, OUTCOMES
from .lasting_answers import NOTHING, Coverage

# Why a call does not run.
REJECTED = sentence("Rejected by the user.")
# Why an approval does not count.
CHANGED = sentence("The agent has changed what it asks since then. Look at it again, and decide.")
NEEDS_REVISION = sentence(
    "The agent has changed what it asks. Expected the revision of the question that is meant."
)
# The agent never offers this and has no word for it.
EDIT = "Edit"
# What can be decided on a write about which the agent has not asked.
HELD: Mapping[str, PermissionOption] = {
    ONCE: PermissionOption(ONCE, "Allow", ALLOW_ONCE),
    CANCEL: PermissionOption(CANCEL, "Reject", REJECT_ONCE),
}
# What is meant by options that count once, or that reject.
ONE_TIME = {ALLOW_ONCE: ONCE, REJECT_ONCE: CANCEL, REJECT_ALWAYS: CANCEL}
# The agent's options by the outcomes that choose them.
Choices = Mapping[str, PermissionOption]


@dataclass(frozen=True)
class CallDecision:
    """The user's decision on a call that waits. With the outcome MODIFY, `new_text` is written in
    the place of the agent's own text; or those of the call's `edits` that the user wants, each with
    the texts of the whole file. The model gets the `note` when it has done what it does now.
    `revision` is the id of the event by which the user was asked, or empty if that is not known.
    A decision `by_client` is that of a client of the API, who has nothing run in terminals of
    ours."""

    outcome: str
    new_text: str | None = None
    edits: tuple[events.Diff, ...] = ()
    note: str = ""
    revision: str = ""
    by_client: bool = False

    @property
    def has_texts(self) -> bool:
        return self.new_text is not None or bool(self.edits)


def choices_of(
    options: Sequence[PermissionOption], known: Mapping[str, str], call: Call
) -> Choices:
    """The options by their outcomes, in the agent's order. `known` are the outcomes of the options
    that are known to be harmless, by their ids. None is chosen that lasts: what it would change,
    its label alone cannot show. An option is chosen before others of its outcome if it is known, if
    it is no rejection for good, and if it comes first."""
    chosen: dict[str, PermissionOption] = {}
    ranked = sorted(
        options, key=lambda option: (not is_known(option, known), option.kind == REJECT_ALWAYS)
    )
    for option in ranked:
        chosen.setdefault(_outcome_of(option, known, call), option)
    return {
        outcome: option
        for outcome, option in sorted(chosen.items(), key=lambda choice: options.index(choice[1]))
        if outcome
    }


def _outcome_of(option: PermissionOption, known: Mapping[str, str], call: Call) -> str:
    """ "" if it is not offered. A call that asks for another mode is never allowed by an option
    that the agent's row does not have, if there is a row."""
    outcome = ONE_TIME.get(option.kind, "")
    is_other_mode = call.kind == SWITCH_MODE and outcome == ONCE
    return "" if is_other_mode and known and not is_known(option, known) else outcome


def is_known(option: PermissionOption, known: Mapping[str, str]) -> bool:
    """Whether it is known by its id, and still of the kind that it had."""
    outcome = ONE_TIME.get(option.kind)
    return outcome is not None and known.get(option.id) == outcome


@dataclass
class PendingPermission:
    """A call that waits for the answer to a permission request. `is_changeable` says that it is an
    edit that can be written otherwise. `coverage` has the lasting answers that are offered. `event`
    exists once somebody was asked, `timer` if they have a limit; `is_changed` says that another
    question about the call ended without the user's answer, `is_changing` that the agent has told
    something else of it, of which nobody was asked yet. Where not the agent asks, but we about
    a write of its, there is no `request`, and `held` gets why it is not allowed, "" if it is."""

    request: PermissionRequest | None
    call: Call
    choices: Choices
    is_changeable: bool = False
    coverage: Coverage = NOTHING
    event: events.TurnEvent | None = None
    timer: asyncio.TimerHandle | None = None
    held: asyncio.Future[Words] | None = None
    is_changed: bool = False
    is_changing: bool = False

    @property
    def offered_options(self) -> tuple[events.Option, ...]:
        options = [events.Option(outcome, option.name) for outcome, option in self.choices.items()]
        lasting = [
            events.Option(outcome, each.label) for outcome, each in self.coverage.answers.items()
        ]
        # Behind the answer that counts once, without which there are none.
        at = list(self.choices).index(ONCE) + 1 if lasting else 0
        change = [events.Option(MODIFY, EDIT)] if self.is_changeable else []
        return (*options[:at], *lasting, *options[at:], *change)

    @property
    def body(self) -> events.ToolConfirmation:
        call = self.call
        return events.ToolConfirmation(
            call.id,
            call.name,
            call.display_name,
            call.title,
            call.command,
            call.args,
            self.offered_options,
            call.diff,
            call.diffs[1:],
            call.agent_note,
        )

    def check_revision(self, decision: CallDecision) -> None:
        """An approval counts for what the user has seen, a rejection for whatever waits. Raises
        AgentError; the call then continues to wait."""
        if decision.outcome == CANCEL:
            return
        is_other = self.event is None or self.event.id != decision.revision
        if self.is_changing or (decision.revision and is_other):
            raise AgentError(TOOL_CALL_CHANGED, CHANGED)
        if self.is_changed and not decision.revision:
            raise AgentError(TOOL_CALL_CHANGED, NEEDS_REVISION)

    def meant_outcome(self, outcome: str) -> str:
        """The outcome that is meant. Raises AgentError; the call then continues to wait."""
        if outcome not in OUTCOMES:
            raise not_among(OUTCOMES, outcome)
        if outcome == MODIFY:
            if self.call.diff is None:
                told = sentence("Only an edit of a file can be changed.")
                raise AgentError(TOOL_INVALID_OUTCOME, told)
            return MODIFY
        # Tools of servers have two others instead; this is the narrower one.
        for meant in (outcome, ALWAYS_TOOL if outcome == ALWAYS else outcome):
            if meant in self.choices or meant in self.coverage.answers or meant == CANCEL:
                return meant
        known = ", ".join(option.outcome for option in self.offered_options)
        raise AgentError(
            TOOL_INVALID_OUTCOME,
            sentence("Expected one of {expected} for this call.", expected=known),
        )
