"""Events as the API's specification writes them in JSON, in Chinese or English; sends nothing."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, Mapping

from . import events
from .events import Event

CHINESE, ENGLISH = "zh", "en"

# What a tool call's status is called, by language; {} is the tool.
STATUSES: Mapping[str, Mapping[str, str]] = {
    CHINESE: {
        events.PENDING: "等待确认 {}...",
        events.EXECUTING: "正在执行 {}...",
        events.COMPLETED: "{} 执行完成",
        events.FAILED: "{} 执行失败",
    },
    ENGLISH: {
        events.PENDING: "{} waits for a decision...",
        events.EXECUTING: "Running {}...",
        events.COMPLETED: "{} is done",
        events.FAILED: "{} failed",
    },
}
REASONS: Mapping[str, Mapping[str, str]] = {
    CHINESE: {
        events.END_TURN: "对话完成",
        events.CANCELLED: "对话已取消",
        events.MAX_TOKENS: "已达到最大令牌数",
        events.MAX_TURN_REQUESTS: "请求次数过多，或检测到循环",
        events.EMPTY: "模型没有返回内容，可能已被拦截",
    },
    ENGLISH: {
        events.END_TURN: "The turn is complete.",
        events.CANCELLED: "The turn was cancelled.",
        events.MAX_TOKENS: "The most tokens that the model takes are reached.",
        events.MAX_TURN_REQUESTS: "The turn had too many requests, or went in a loop.",
        events.EMPTY: "The model said nothing; its answer may have been blocked.",
    },
}
# What a tool did where it shows nothing itself, by its name; {} is what it did that to.
PHRASES: Mapping[str, Mapping[str, str]] = {
    CHINESE: {
        "read_file": "已读取 {}",
        "read_many_files": "已读取多个文件",
        "list_directory": "已列出 {}",
        "glob": "已查找 {}",
        "grep_search": "已搜索 {}",
        "write_file": "已写入 {}",
        "replace": "已修改 {}",
        "run_shell_command": "已执行 {}，没有输出",
        "web_fetch": "已获取 {}",
        "google_web_search": "已在网上搜索 {}",
        "save_memory": "已记住",
    },
    ENGLISH: {
        "read_file": "Read {}.",
        "read_many_files": "Read several files.",
        "list_directory": "Listed {}.",
        "glob": "Looked for {}.",
        "grep_search": "Searched for {}.",
        "write_file": "Wrote {}.",
        "replace": "Changed {}.",
        "run_shell_command": "Ran {} without output.",
        "web_fetch": "Fetched {}.",
        "google_web_search": "Searched the web for {}.",
        "save_memory": "Remembered it.",
    },
}
# The arguments that say what a tool does something to, the first one that is there.
SUBJECTS = ("file_path", "dir_path", "path", "pattern", "query", "url", "prompt", "command")
DESCRIPTIONS = {CHINESE: "需要确认工具调用: {}", ENGLISH: "The tool call {} wants to be confirmed."}
PROMPTS = {CHINESE: "是否执行工具调用: {}", ENGLISH: "Run the tool {}?"}


def as_seed(event: Event, language: str = CHINESE) -> dict[str, Any]:
    """`{"type", "data", "timestamp"}`; `language` is CHINESE or ENGLISH.

    Beyond the specification every `data` has `sessionId` and `turnId`, a confirmation `args`,
    `options` and `diff`, a result `args`, a completion `reason` and `usage`.
    """
    language = language if language in STATUSES else CHINESE
    data = _DATA[event.body.type](event.body, language)
    return {
        "type": event.body.type,
        "data": {**data, "sessionId": event.session_id, "turnId": event.turn_id},
        "timestamp": timestamp(event.time),
    }


def timestamp(time: datetime) -> str:
    """ISO 8601 in UTC, to the millisecond: 2025-01-20T10:30:00.000Z."""
    text = time.astimezone(timezone.utc).isoformat(timespec="milliseconds")
    return text[: -len("+00:00")] + "Z"


def _content(body: events.Content, language: str) -> dict[str, Any]:
    return {"text": body.text, "isPartial": body.is_partial}


def _message(body: events.Message, language: str) -> dict[str, Any]:
    return {"text": body.text, "files": list(body.files)}


def _thought(body: events.Thought, language: str) -> dict[str, Any]:
    return {"subject": body.subject, "description": body.description}


def _tool_call(body: events.ToolCall, language: str) -> dict[str, Any]:
    return {
        "callId": body.call_id,
        "name": body.name,
        "displayName": body.display_name,
        "description": body.description,
        "args": body.args,
        "requiresConfirmation": body.requires_confirmation,
    }


def _tool_execution(body: events.ToolExecution, language: str) -> dict[str, Any]:
    message = STATUSES[language][body.status].format(body.name)
    return {"callId": body.call_id, "status": body.status, "message": message}


def _tool_confirmation(body: events.ToolConfirmation, language: str) -> dict[str, Any]:
    diff = body.diff
    return {
        "callId": body.call_id,
        "name": body.name,
        "displayName": body.display_name,
        "description": body.description or DESCRIPTIONS[language].format(body.name),
        "prompt": PROMPTS[language].format(body.name),
        "command": body.command,
        "args": body.args,
        "options": [{"outcome": it.outcome, "label": it.label} for it in body.options],
        "diff": None
        if diff is None
        else {"path": diff.path, "oldText": diff.old_text, "newText": diff.new_text},
    }


def _tool_result(body: events.ToolResult, language: str) -> dict[str, Any]:
    return {
        "callId": body.call_id,
        "name": body.name,
        "args": body.args,
        "result": body.result,
        "displayResult": display_result(body, language),
        "success": body.success,
        "error": body.error,
    }


def display_result(body: events.ToolResult, language: str) -> str:
    """What a person wants to see of a result, never empty."""
    if body.display_result:
        return body.display_result
    if not body.success:
        return STATUSES[language][events.FAILED].format(body.name)
    phrase = PHRASES[language].get(body.name) or STATUSES[language][events.COMPLETED]
    subjects = (body.args.get(name) for name in SUBJECTS)
    return phrase.format(next((it for it in subjects if isinstance(it, str) and it), body.name))


def _complete(body: events.Complete, language: str) -> dict[str, Any]:
    return {
        "success": body.success,
        "message": REASONS[language][body.reason],
        "reason": body.reason,
        "usage": usage(body.usage),
    }


def usage(value: events.Usage) -> dict[str, Any]:
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


def _error(body: events.Error, language: str) -> dict[str, Any]:
    return {"message": body.message, "code": body.code, "details": body.details}


_DATA: Mapping[str, Any] = {
    events.Content.type: _content,
    events.Thought.type: _thought,
    events.ToolCall.type: _tool_call,
    events.ToolExecution.type: _tool_execution,
    events.ToolConfirmation.type: _tool_confirmation,
    events.ToolResult.type: _tool_result,
    events.Complete.type: _complete,
    events.Error.type: _error,
    events.Message.type: _message,
}
