"""The output of a hook, in the CLI's form. Pure. Source: docs/protocol.md 9."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Mapping

from ..extension_forms import ExtensionForm, Moment
from ..hook_events import HookEvent

# The moments at which a CLI accepts text for the model and passes it on.
TAKES_CONTEXT = (Moment.PROMPTED, Moment.TOOL_ENDED)
# Characters of the words of one answer; the CLI itself has no limit.
MAX_CONTEXT = 8000
CUT = "\n[The rest is left out.]"
# The parts of an answer: that the CLI asks the user, and a text for the model.
ASK, CONTEXT = "ask", "context"


@dataclass(frozen=True)
class HookAnswer:
    """If it `asks`, the CLI asks the user before it continues, in every mode; `message` is then
    above its question. `context` is a text for the model. `settle` are called after that, each with
    whether the CLI's connection was still there for the answer."""

    asks: bool = False
    message: str = ""
    context: str = ""
    settle: tuple[Callable[[bool], None], ...] = ()

    def with_more(self, other: HookAnswer) -> HookAnswer:
        """Both answers as one. If the other's text does not fit any more, and somebody is to know
        whether it went out, it is left out as a whole, and they are told so."""
        texts = "\n\n".join(text for text in (self.context, other.context) if text)
        more = other.settle
        if len(texts) > MAX_CONTEXT and self.context and more:
            texts, more = self.context, tuple(partial(_left_out, settle) for settle in more)
        asks, message = self.asks or other.asks, self.message or other.message
        return HookAnswer(asks, message, texts, self.settle + more)


def _left_out(settle: Callable[[bool], None], _went_out: bool) -> None:
    settle(False)


NOTHING = HookAnswer()


def takes_context(event: HookEvent) -> bool:
    """Whether a text for the model would reach it from here. Qwen Code says PROMPTED before each
    request, where a text would be a message of its own, with a prompt at the first alone; and what
    goes along with the result of a tool is lost where that failed."""
    if event.moment is Moment.PROMPTED:
        return bool(event.prompt)
    return event.moment is Moment.TOOL_ENDED and not event.has_failed


def bound_context(text: str) -> str:
    return text if len(text) <= MAX_CONTEXT else text[: MAX_CONTEXT - len(CUT)] + CUT


def allowed_parts(form: ExtensionForm, moment: Moment) -> list[str]:
    """What an answer may have at that moment. The extension's program prints nothing else."""
    asks = moment is Moment.TOOL_BEGINS and form.can_ask
    return [*([ASK] if asks else []), *([CONTEXT] if moment in TAKES_CONTEXT else [])]


def hook_output(event: HookEvent, answer: HookAnswer) -> Mapping[str, Any]:
    """Leaves out what the CLI does not accept at this event."""
    form = event.cli.extension
    may = allowed_parts(form, event.moment) if form is not None else []
    found: dict[str, Any] = {}
    if answer.asks and ASK in may and form is not None and form.decides_permission:
        told = {"permissionDecision": "ask", "permissionDecisionReason": answer.message}
        found["hookSpecificOutput"] = {"hookEventName": event.name, **told}
    elif answer.asks and ASK in may:
        found.update(decision="ask", systemMessage=answer.message)
    if answer.context and CONTEXT in may:
        told = {"hookEventName": event.name, "additionalContext": bound_context(answer.context)}
        found["hookSpecificOutput"] = told
    return found
