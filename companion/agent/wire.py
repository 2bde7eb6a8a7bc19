"""Events as JSON in the form of the API's specification, in Chinese or English. Sends nothing."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, Mapping

from ..base.shown_text import spell_hidden
from ..base.web_address import web_address
from . import asked
from . import turn_events as events
from .acp.agent_state import AgentState
from .display import shown
from .elicitation import Field
from .sentence import CHINESE, ENGLISH, Sentence, sentence, translated_text
from .session_state import (
    Commands,
    ConfigOption,
    ConfigOptions,
    ContextUsage,
    OptionChoice,
    Plan,
    SessionTitle,
    SlashCommand,
)
from .turn_events import TurnEvent

# The states of a tool call.
STATUSES: Mapping[str, Sentence] = {
    events.PENDING: sentence("{tool} waits for a decision..."),
    events.EXECUTING: sentence("Running {tool}..."),
    events.COMPLETED: sentence("{tool} is done"),
    events.FAILED: sentence("{tool} failed"),
}
REJECTED = sentence("{tool} was not allowed to run")
REASONS: Mapping[str, Sentence] = {
    events.END_TURN: sentence("The turn is complete."),
    events.CANCELLED: sentence("The turn was cancelled."),
    events.MAX_TOKENS: sentence("The conversation has reached the model's limit of tokens."),
    events.MAX_TURN_REQUESTS: sentence("The turn had too many requests, or went in a loop."),
    events.EMPTY: sentence("The model said nothing; its answer may have been blocked."),
}
# What a tool did if it shows nothing itself, by its name; {subject} is what it did that to.
PHRASES: Mapping[str, Sentence] = {
    "read_file": sentence("Read {subject}."),
    "read_many_files": sentence("Read several files."),
    "list_directory": sentence("Listed {subject}."),
    "glob": sentence("Looked for {subject}."),
    "grep_search": sentence("Searched for {subject}."),
    "write_file": sentence("Wrote {subject}."),
    "replace": sentence("Changed {subject}."),
    "run_shell_command": sentence("Ran {subject} without output."),
    "web_fetch": sentence("Fetched {subject}."),
    "google_web_search": sentence("Searched the web for {subject}."),
    "save_memory": sentence("Remembered it."),
}
# The arguments that name this subject; the first one that exists counts.
SUBJECTS = ("command", "file_path", "dir_path", "path", "pattern", "query", "url", "prompt")
DESCRIPTION = sentence("The tool call {tool} needs a confirmation.")
PROMPT = sentence("Run the tool {tool}?")
# The names of the outcomes, where English labels are not right for the reader.
LABELS: Mapping[str, Sentence] = {
    events.ONCE: sentence("Allow once"),
    events.ALWAYS: sentence("Allow for this conversation"),
    events.ALWAYS_SERVER: sentence("Allow all tools of the server for this conversation"),
    events.ALWAYS_TOOL: sentence("Allow the tool for this conversation"),
    events.MODIFY: sentence("Edit"),
    events.CANCEL: sentence("Reject"),
}


def as_seed(event: TurnEvent, language: str = CHINESE) -> dict[str, Any]:
    """`{"type", "data", "timestamp"}`; `language` is CHINESE or ENGLISH.

    In addition to the specification, every `data` has `sessionId` and `turnId`; a confirmation has
    `args`, `options`, `diff` and the `revision` that a decision names; a result has `args`; a
    completion has `reason` and `usage`. Events that can be rejected have `rejected`. `shown` is
    what a person should see (see the module of that name).
    """
    data = _DATA[event.body.type](event.body, language)
    if isinstance(event.body, events.ToolConfirmation):
        data["revision"] = event.id
    return {
        "type": event.body.type,
        "data": {**data, "sessionId": event.session_id, "turnId": event.turn_id},
        "timestamp": timestamp_of(event.time),
    }


def timestamp_of(time: datetime) -> str:
    """ISO 8601 in UTC, to the millisecond: 2025-01-20T10:30:00.000Z."""
    text = time.astimezone(timezone.utc).isoformat(timespec="milliseconds")
    return text[: -len("+00:00")] + "Z"


def _content_json(body: events.Content, language: str) -> dict[str, Any]:
    return {"text": body.text, "isPartial": body.is_partial}


def _message_json(body: events.Message, language: str) -> dict[str, Any]:
    return {
        "text": body.text,
        "files": list(body.files),
        "attachments": [attachment_json(attachment) for attachment in body.attachments],
    }


def attachment_json(value: events.Attachment) -> dict[str, Any]:
    """`{"attachmentId", "name", "mediaType", "size"}`."""
    return {
        "attachmentId": value.id,
        "name": value.name,
        "mediaType": value.media_type,
        "size": value.size,
    }


def _thought_json(body: events.Thought, language: str) -> dict[str, Any]:
    return {"subject": body.subject, "description": translated_text(body.description, language)}


def _tool_call_json(body: events.ToolCall, language: str) -> dict[str, Any]:
    return {
        "callId": body.call_id,
        "name": body.name,
        "displayName": body.display_name,
        "description": body.description,
        "args": body.args,
        "requiresConfirmation": body.requires_confirmation,
        "parentCallId": body.parent,
        "canStop": body.can_stop,
        "shown": {
            "displayName": shown.display_line(body.display_name, language),
            "description": shown.display_text(body.description, language),
            **shown.args_of(body.args, language),
        },
    }


def _tool_execution_json(body: events.ToolExecution, language: str) -> dict[str, Any]:
    told = REJECTED if body.rejected else STATUSES[body.status]
    return {
        "callId": body.call_id,
        "status": body.status,
        "rejected": body.rejected,
        "rule": body.rule or None,
        "message": _said_of(told, body.name, language),
    }


def _tool_confirmation_json(body: events.ToolConfirmation, language: str) -> dict[str, Any]:
    description = body.description or _said_of(DESCRIPTION, body.name, language)
    return {
        "callId": body.call_id,
        "name": body.name,
        "displayName": body.display_name,
        "description": description,
        "prompt": _said_of(PROMPT, body.name, language),
        "command": body.command,
        "args": body.args,
        "options": [_option_json(option, language) for option in body.options],
        "diff": body.diff and _diff_json(body.diff, language),
        "moreDiffs": [_diff_json(diff, language) for diff in body.more],
        "shown": {
            "displayName": shown.display_line(body.display_name, language),
            "description": shown.display_text(description, language),
            "command": shown.display_text(body.command, language),
            "asked": asked.question_text(body, language),
            **shown.args_of(body.args, language),
        },
    }


def _diff_json(diff: events.Diff, language: str) -> dict[str, Any]:
    return {
        "path": diff.path,
        "oldText": diff.old_text,
        "newText": diff.new_text,
        "shown": shown.shown_diff(diff, language),
    }


def _option_json(option: events.Option, language: str) -> dict[str, Any]:
    is_ours = language == ENGLISH or isinstance(option.label, Sentence)
    label = translated_text(option.label if is_ours else LABELS[option.outcome], language)
    seen = shown.display_line(label, language)
    return {"outcome": option.outcome, "label": label, "shown": {"label": seen}}


def _said_of(told: Sentence, tool: str, language: str) -> str:
    """A sentence about a tool, which a person reads."""
    return translated_text(told.with_values(tool=shown.display_line(tool, language)), language)


def _tool_result_json(body: events.ToolResult, language: str) -> dict[str, Any]:
    display = display_result(body, language)
    error = None if body.error is None else translated_text(body.error, language)
    return {
        "callId": body.call_id,
        "name": body.name,
        "args": body.args,
        "result": body.result,
        "displayResult": display,
        "success": body.success,
        "rejected": body.rejected,
        "error": error,
        "unaskedEdits": [_diff_json(diff, language) for diff in body.unasked],
        "writtenEdits": [_diff_json(diff, language) for diff in body.written],
        "shown": {
            **shown.args_of(body.args, language),
            **shown.changed_texts(displayResult=display, error=error),
        },
    }


def _resource_json(body: events.Resource, language: str) -> dict[str, Any]:
    return {
        "callId": body.call_id,
        "kind": body.kind,
        "uri": body.uri,
        "name": body.name,
        "description": body.description,
        "mediaType": body.media_type,
        "size": body.size,
        "text": body.text,
        "isLong": body.is_long,
        "attachmentId": body.image,
        "width": body.width,
        "height": body.height,
        "shown": {
            "uri": shown.display_line(body.uri, language),
            "name": shown.display_line(body.name, language),
            "description": shown.display_text(body.description, language),
            "text": spell_hidden(body.text),
        },
    }


def display_result(body: events.ToolResult, language: str) -> str:
    """The result as a person wants to see it; never empty."""
    if body.display_result:
        return translated_text(body.display_result, language)
    phrase = PHRASES.get(body.name, STATUSES[events.COMPLETED])
    if not body.success:
        phrase = REJECTED if body.rejected else STATUSES[events.FAILED]
    subjects = (body.args.get(name) for name in SUBJECTS)
    subject = next(
        (subject for subject in subjects if isinstance(subject, str) and subject), body.name
    )
    return translated_text(phrase.with_values(subject=subject, tool=body.name), language)


def _complete_json(body: events.Complete, language: str) -> dict[str, Any]:
    return {
        "success": body.success,
        "message": translated_text(REASONS[body.reason], language),
        "reason": body.reason,
        "usage": usage_json(body.usage),
    }


def usage_json(value: events.Usage) -> dict[str, Any]:
    """`{"inputTokens", "outputTokens", "byModel": {name: {"inputTokens", "outputTokens"}}}`."""
    by_model = {
        name: {"inputTokens": tokens[0], "outputTokens": tokens[1]}
        for name, tokens in (value.by_model or {}).items()
    }
    return {
        "inputTokens": value.input_tokens,
        "outputTokens": value.output_tokens,
        "byModel": by_model,
    }


def _error_json(body: events.Error, language: str) -> dict[str, Any]:
    details = spell_hidden(body.details)
    return {
        "message": translated_text(body.message, language),
        "code": body.code,
        "details": details,
    }


def _plan_json(body: Plan, language: str) -> dict[str, Any]:
    entries = [
        {
            "content": entry.content,
            "priority": entry.priority,
            "status": entry.status,
            "shown": {"content": shown.display_text(entry.content, language)},
        }
        for entry in body.entries
    ]
    return {"entries": entries}


def _context_usage_json(body: ContextUsage, language: str) -> dict[str, Any]:
    cost = body.cost and {"amount": body.cost.amount, "currency": body.cost.currency}
    return {"used": body.used, "size": body.size, "cost": cost}


def _elicitation_json(body: events.Elicitation, language: str) -> dict[str, Any]:
    address = web_address(body.url)
    return {
        "elicitationId": body.id,
        "mode": body.mode,
        "message": body.message,
        "fields": [_field_json(field, language) for field in body.fields],
        "url": body.url,
        "callId": body.call_id,
        "shown": {
            "message": shown.display_text(body.message, language),
            "url": shown.display_line(body.url, language),
            "host": address.host if address else "",
        },
    }


def _field_json(field: Field, language: str) -> dict[str, Any]:
    default = list(field.default) if isinstance(field.default, tuple) else field.default
    return {
        "name": field.name,
        "type": field.kind,
        "title": field.title,
        "description": field.description,
        "required": field.is_required,
        "values": [_choice_json(choice, language) for choice in field.choices],
        "default": default,
        "minimum": field.least,
        "maximum": field.most,
        "format": field.format,
        "shown": {
            "title": shown.display_line(field.title, language),
            "description": shown.display_text(field.description, language),
        },
    }


def _elicitation_answered_json(body: events.ElicitationAnswered, language: str) -> dict[str, Any]:
    return {"elicitationId": body.id, "action": body.action}


def _config_options_json(body: ConfigOptions, language: str) -> dict[str, Any]:
    return {"options": [_config_option_json(option, language) for option in body.options]}


def _config_option_json(option: ConfigOption, language: str) -> dict[str, Any]:
    return {
        "id": option.id,
        "name": option.name,
        "description": option.description,
        "category": option.category,
        "type": option.kind,
        "value": option.current,
        "values": [_choice_json(choice, language) for choice in option.choices],
        "shown": {"name": shown.display_line(option.name, language)},
    }


def _choice_json(choice: OptionChoice, language: str) -> dict[str, Any]:
    return {
        "value": choice.value,
        "name": choice.name,
        "description": choice.description,
        "group": choice.group,
        "shown": {"name": shown.display_line(choice.name, language)},
    }


def _session_title_json(body: SessionTitle, language: str) -> dict[str, Any]:
    return {"title": body.title}


def _commands_json(body: Commands, language: str) -> dict[str, Any]:
    return {"commands": [command_json(command) for command in body.commands]}


def command_json(value: SlashCommand) -> dict[str, Any]:
    """`{"name", "description", "hint", "allowed"}`."""
    return {
        "name": value.name,
        "description": value.description,
        "hint": value.hint,
        "allowed": value.is_allowed,
    }


def queue_json(body: events.Queue, language: str) -> dict[str, Any]:
    messages = [
        {
            "queueId": message.id,
            "time": timestamp_of(message.time),
            "text": message.text,
            "files": list(message.files),
            "attachments": [attachment_json(each) for each in message.attachments],
        }
        for message in body.messages
    ]
    problem = translated_text(body.problem, language)
    return {
        "messages": messages,
        "isHeld": body.is_held,
        "problem": problem,
        "passing": body.passing,
    }


def _message_added_json(body: events.MessageAdded, language: str) -> dict[str, Any]:
    return {"queueId": body.id, "text": body.text}


def state_json(value: AgentState, language: str) -> dict[str, Any]:
    """`{"plan", "context", "options"}`, as the data of their events; null for what the agent has
    not told."""
    return {
        "plan": value.plan and _plan_json(value.plan, language)["entries"],
        "context": value.usage and _context_usage_json(value.usage, language),
        **_config_options_json(value.options, language),
    }


_DATA: Mapping[str, Any] = {
    events.Content.type: _content_json,
    events.Thought.type: _thought_json,
    events.ToolCall.type: _tool_call_json,
    events.ToolExecution.type: _tool_execution_json,
    events.ToolConfirmation.type: _tool_confirmation_json,
    events.ToolResult.type: _tool_result_json,
    events.Resource.type: _resource_json,
    events.Complete.type: _complete_json,
    events.Error.type: _error_json,
    events.Message.type: _message_json,
    Plan.type: _plan_json,
    ContextUsage.type: _context_usage_json,
    events.Elicitation.type: _elicitation_json,
    events.ElicitationAnswered.type: _elicitation_answered_json,
    ConfigOptions.type: _config_options_json,
    SessionTitle.type: _session_title_json,
    Commands.type: _commands_json,
    events.Queue.type: queue_json,
    events.MessageAdded.type: _message_added_json,
}
