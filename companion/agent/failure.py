"""The possible failures of the agent, as codes and sentences. Does not know their readers."""

from __future__ import annotations

import json
from typing import Any, Mapping, Sequence

from .sentence import Words, sentence
from .wording.surrogates import clean_surrogates

# The names of the codes for the API's clients.
VALIDATION_ERROR = "VALIDATION_ERROR"
AUTH_NOT_SET = "AUTH_NOT_SET"
AUTH_REQUIRED = "AUTH_REQUIRED"
AUTH_CONFIG_FAILED = "AUTH_CONFIG_FAILED"
OAUTH_INIT_FAILED = "OAUTH_INIT_FAILED"
CLIENT_NOT_INITIALIZED = "CLIENT_NOT_INITIALIZED"
STREAM_ERROR = "STREAM_ERROR"
GEMINI_ERROR = "GEMINI_ERROR"
GEMINI_REFUSED = "GEMINI_REFUSED"
QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
TOOL_CALL_NOT_FOUND = "TOOL_CALL_NOT_FOUND"
TOOL_INVALID_OUTCOME = "TOOL_INVALID_OUTCOME"
NETWORK_ERROR = "NETWORK_ERROR"
INTERNAL_ERROR = "INTERNAL_ERROR"
# Our own, for cases that the specification does not have.
FILE_NOT_FOUND = "FILE_NOT_FOUND"
SESSION_NOT_FOUND = "SESSION_NOT_FOUND"
AGENT_NOT_FOUND = "AGENT_NOT_FOUND"
SESSION_BUSY = "SESSION_BUSY"
SESSION_ELSEWHERE = "SESSION_ELSEWHERE"
ATTACHMENT_NOT_FOUND = "ATTACHMENT_NOT_FOUND"
ELICITATION_NOT_FOUND = "ELICITATION_NOT_FOUND"
QUEUED_NOT_FOUND = "QUEUED_NOT_FOUND"
OPTION_NOT_FOUND = "OPTION_NOT_FOUND"
TOOL_CALL_CHANGED = "TOOL_CALL_CHANGED"
TOOL_SERVERS_DISABLED = "TOOL_SERVERS_DISABLED"
TIMED_OUT = "TIMED_OUT"
NOT_SENT = "NOT_SENT"
ACCESS_DENIED = "ACCESS_DENIED"

# Levels of JSON in JSON that are unpacked: the CLI wraps the API's answer at most twice.
MAX_DEPTH = 4
# Parts of an agent's messages when credentials are wrong, whatever their number says: of Gemini's
# API and its CLI, of OpenAI's API, of Anthropic's, and of Claude Code, which has words of its own
# before a point. What a model answers is no such message.
AUTH_MARKS = (
    "API_KEY_INVALID",
    "API key not valid",
    "UNAUTHENTICATED",
    "default credentials",
    "no longer supported for Gemini Code Assist",
    "API key is missing",
    "Incorrect API key provided",
    "invalid_api_key",
    "invalid x-api-key",
    "authentication_error",
    "Invalid API key ·",
    "Invalid auth token ·",
    "· Please run /login",
)
NETWORK_MARKS = ("terminated", "fetch failed", "ECONN", "ENOTFOUND", "ETIMEDOUT", "socket hang up")
UNREACHABLE = sentence("The model cannot be reached, or the connection broke off.")
QUOTA_MARKS = ("RESOURCE_EXHAUSTED", "quota")


class AgentError(Exception):
    """The agent cannot do what was asked. `code` is one of the constants above. `message` is a
    sentence for the user, or the CLI's own words. `details` are more of it, or empty."""

    def __init__(self, code: str, message: Words, details: str = "") -> None:
        super().__init__(str(message))
        self.code = code
        self.message = message
        self.details = details


class NotInstalled(AgentError):
    """The agent's program was not found by its `words`. `install` is the command that installs it,
    empty where none is known."""

    def __init__(self, message: Words, words: str, install: str = "") -> None:
        super().__init__(CLIENT_NOT_INITIALIZED, message)
        self.words = words
        self.install = install


def no_call(call_id: str) -> AgentError:
    told = sentence("No call {call} waits for a decision.", call=call_id)
    return AgentError(TOOL_CALL_NOT_FOUND, told)


def no_elicitation(id: str) -> AgentError:
    told = sentence("No question {question} waits for an answer.", question=id)
    return AgentError(ELICITATION_NOT_FOUND, told)


def no_option(known: Sequence[str], got: str) -> AgentError:
    told = sentence(
        "The agent has no option {got}; it has {known}.", got=got, known=", ".join(known)
    )
    return AgentError(OPTION_NOT_FOUND, told)


def no_queued(id: str) -> AgentError:
    told = sentence("No message {message} waits in this conversation.", message=id)
    return AgentError(QUEUED_NOT_FOUND, told)


def no_session(session_id: str) -> AgentError:
    told = sentence("There is no conversation {session}.", session=session_id)
    return AgentError(SESSION_NOT_FOUND, told)


def later_session(session_id: str) -> AgentError:
    told = sentence(
        "A later release has written the conversation {session}; update this one to use it.",
        session=session_id,
    )
    return AgentError(SESSION_NOT_FOUND, told)


def session_busy() -> AgentError:
    return AgentError(SESSION_BUSY, sentence("The conversation is busy with another message."))


def session_elsewhere() -> AgentError:
    told = sentence(
        "Another server is working on this conversation. Try again when it is done, or name the"
        " conversation in the header Session-Id so that requests reach that server."
    )
    return AgentError(SESSION_ELSEWHERE, told)


def not_among(expected: Sequence[str], got: str) -> AgentError:
    known = ", ".join(expected)
    told = sentence("Expected one of {expected}; got {got}.", expected=known, got=repr(got))
    return AgentError(VALIDATION_ERROR, told)


def from_rpc(error: Mapping[str, Any]) -> AgentError:
    """The meaning of the agent's JSON-RPC error.

    {"code": 400, "message": '{"error": {"status": "INVALID_ARGUMENT", "message": "API key ..."}}'}
    is AUTH_REQUIRED with the innermost sentence.
    """
    number, raw = error.get("code"), str(error.get("message", ""))
    data = error.get("data")
    details = str(data.get("details", "")) if isinstance(data, dict) else ""
    if isinstance(data, str):
        details = data
    if details and raw in ("Internal error", ""):
        raw = details
    code = _error_code(number, raw + details)
    # Only now, because the escapes of JSON in JSON can contain half pairs as well.
    message = UNREACHABLE if code == NETWORK_ERROR else clean_surrogates(innermost_message(raw))
    return AgentError(code, message, clean_surrogates(raw))


def is_network(text: str) -> bool:
    """Whether the CLI's words describe a failed connection."""
    return any(mark in text for mark in NETWORK_MARKS)


def is_refused_login(text: str) -> bool:
    """Whether the CLI's words describe credentials that it has, and that are wrong."""
    return any(mark in text for mark in AUTH_MARKS)


def innermost_message(message: str, depth: int = MAX_DEPTH) -> str:
    """The sentence inside JSON inside JSON; the message itself if there is none."""
    start = message.find("{")
    if start < 0 or not depth:
        return message
    try:
        value = json.loads(message[start:])
    except (ValueError, RecursionError):
        return message
    inner = value.get("error", value)
    text = inner.get("message") if isinstance(inner, dict) else inner
    return innermost_message(text, depth - 1) if isinstance(text, str) and text else message


def _error_code(number: object, text: str) -> str:
    if number in (401, -32000) or is_refused_login(text):
        return AUTH_REQUIRED
    if number == 403:
        return ACCESS_DENIED
    if number == 429 or any(mark in text for mark in QUOTA_MARKS):
        return QUOTA_EXCEEDED
    if is_network(text):
        return NETWORK_ERROR
    return GEMINI_REFUSED if number == 400 else GEMINI_ERROR
