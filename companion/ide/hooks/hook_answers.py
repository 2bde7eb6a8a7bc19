"""The output of a hook, in the CLI's form. Pure. Source: docs/protocol.md 9."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from ..extension_forms import Moment
from .hook_events import HookEvent

# The moments at which a CLI accepts text for the model and passes it on.
TAKES_CONTEXT = (Moment.PROMPTED, Moment.TOOL_ENDED)


@dataclass(frozen=True)
class HookAnswer:
    """If it `asks`, the CLI asks the user before it continues, in every mode; `message` is then
    above its question. `context` is a text for the model."""

    asks: bool = False
    message: str = ""
    context: str = ""

    def with_more(self, other: HookAnswer) -> HookAnswer:
        """Both answers as one."""
        texts = "\n\n".join(it for it in (self.context, other.context) if it)
        return HookAnswer(self.asks or other.asks, self.message or other.message, texts)


NOTHING = HookAnswer()


def printed(event: HookEvent, answer: HookAnswer) -> Mapping[str, Any]:
    """Leaves out what the CLI does not accept at this event."""
    form = event.cli.extension
    found: dict[str, Any] = {}
    if answer.asks and event.moment is Moment.TOOL_BEGINS and form is not None and form.can_ask:
        found.update(decision="ask", systemMessage=answer.message)
    if answer.context and event.moment in TAKES_CONTEXT:
        told = {"hookEventName": event.name, "additionalContext": answer.context}
        found["hookSpecificOutput"] = told
    return found
