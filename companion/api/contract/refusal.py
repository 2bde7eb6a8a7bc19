"""Errors that end a request: status, code and text of each. Knows no HTTP library."""

from __future__ import annotations

import re
from typing import Any, Mapping

from ...agent import failure
from ...agent.failure import AgentError
from ...agent.sentence import Sentence, translated_text
from ...base import http_server
from ...base.jsonrpc import TOO_DEEP
from ...base.shown_text import spell_hidden
from .answer_texts import answer_text

# Codes that only the API has, beside those of the agent.
UNAUTHORIZED = "UNAUTHORIZED"
FORBIDDEN = "FORBIDDEN"
READ_ONLY = "READ_ONLY"
SCOPE_MISSING = "SCOPE_MISSING"
TOKEN_NOT_FOUND = "TOKEN_NOT_FOUND"
TOKEN_EXISTS = "TOKEN_EXISTS"
RATE_LIMITED = "RATE_LIMITED"
IDEMPOTENCY_MISMATCH = "IDEMPOTENCY_MISMATCH"
IDEMPOTENCY_LOST = "IDEMPOTENCY_LOST"
NOT_FOUND = "NOT_FOUND"
METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
UNSUPPORTED_MEDIA_TYPE = "UNSUPPORTED_MEDIA_TYPE"
REQUEST_TIMEOUT = "REQUEST_TIMEOUT"
TOO_LARGE = "TOO_LARGE"
TOO_MANY = "TOO_MANY"
TURN_NOT_FOUND = "TURN_NOT_FOUND"
MODEL_NOT_FOUND = "MODEL_NOT_FOUND"
UNSUPPORTED_PARAMETER = "UNSUPPORTED_PARAMETER"
OUTPUT_INVALID = "OUTPUT_INVALID"
TURN_CANCELLED = "TURN_CANCELLED"
PREVIOUS_RESPONSE_NOT_FOUND = "PREVIOUS_RESPONSE_NOT_FOUND"
PATH_REFUSED = "PATH_REFUSED"
FILE_TOO_LARGE = "FILE_TOO_LARGE"
FILE_ERROR = "FILE_ERROR"
COMMANDS_DISABLED = "COMMANDS_DISABLED"
DRAINING = "DRAINING"
NOT_READY = "NOT_READY"

# For each code: the HTTP status, and the member `error` of the answer.
KINDS: Mapping[str, tuple[int, str]] = {
    failure.VALIDATION_ERROR: (400, "Invalid request"),
    failure.TOOL_INVALID_OUTCOME: (400, "Invalid outcome"),
    failure.GEMINI_REFUSED: (400, "Refused by Gemini"),
    UNSUPPORTED_PARAMETER: (400, "Unsupported parameter"),
    PREVIOUS_RESPONSE_NOT_FOUND: (400, "Response not found"),
    UNAUTHORIZED: (401, "Unauthorized"),
    failure.AUTH_NOT_SET: (401, "Authentication not set"),
    failure.AUTH_REQUIRED: (401, "Authentication failed"),
    FORBIDDEN: (403, "Forbidden"),
    READ_ONLY: (403, "Read-only token"),
    SCOPE_MISSING: (403, "Scope missing"),
    PATH_REFUSED: (403, "Path refused"),
    COMMANDS_DISABLED: (403, "Commands disabled"),
    failure.ACCESS_DENIED: (403, "Access denied"),
    failure.TOOL_SERVERS_DISABLED: (403, "Tool servers disabled"),
    NOT_FOUND: (404, "Not found"),
    failure.FILE_NOT_FOUND: (404, "File not found"),
    failure.TOOL_CALL_NOT_FOUND: (404, "Tool call not found"),
    failure.SESSION_NOT_FOUND: (404, "Session not found"),
    failure.AGENT_NOT_FOUND: (404, "Agent not found"),
    failure.ATTACHMENT_NOT_FOUND: (404, "Attachment not found"),
    failure.ELICITATION_NOT_FOUND: (404, "Question not found"),
    failure.OPTION_NOT_FOUND: (404, "Option not found"),
    failure.QUEUED_NOT_FOUND: (404, "Waiting message not found"),
    TOKEN_NOT_FOUND: (404, "Token not found"),
    TURN_NOT_FOUND: (404, "Turn not found"),
    MODEL_NOT_FOUND: (404, "Model not found"),
    METHOD_NOT_ALLOWED: (405, "Method not allowed"),
    REQUEST_TIMEOUT: (408, "Request timeout"),
    failure.TOOL_CALL_CHANGED: (409, "Tool call changed"),
    failure.SESSION_BUSY: (409, "Session busy"),
    failure.NOT_SENT: (409, "Message not sent"),
    TOKEN_EXISTS: (409, "Token exists"),
    IDEMPOTENCY_LOST: (409, "Answer lost"),
    failure.SESSION_ELSEWHERE: (409, "Session elsewhere"),
    TOO_LARGE: (413, "Too large"),
    FILE_TOO_LARGE: (413, "File too large"),
    UNSUPPORTED_MEDIA_TYPE: (415, "Unsupported media type"),
    IDEMPOTENCY_MISMATCH: (422, "Key used before"),
    OUTPUT_INVALID: (422, "Answer of another shape"),
    # No status that clients of OpenAI's API try again by themselves.
    TURN_CANCELLED: (422, "Turn cancelled"),
    failure.QUOTA_EXCEEDED: (429, "Quota exceeded"),
    RATE_LIMITED: (429, "Too many requests"),
    failure.AUTH_CONFIG_FAILED: (500, "Authentication configuration failed"),
    failure.OAUTH_INIT_FAILED: (500, "Login failed"),
    failure.CLIENT_NOT_INITIALIZED: (500, "Agent not available"),
    failure.STREAM_ERROR: (500, "Agent connection lost"),
    failure.GEMINI_ERROR: (500, "Gemini error"),
    failure.NETWORK_ERROR: (500, "Network error"),
    failure.INTERNAL_ERROR: (500, "Internal error"),
    FILE_ERROR: (500, "File operation failed"),
    failure.TIMED_OUT: (500, "Timed out"),
    TOO_MANY: (503, "Too many connections"),
    DRAINING: (503, "Shutting down"),
    NOT_READY: (503, "Not ready"),
}


# Statuses after which no client of OpenAI's API sends a request again by itself. Some libraries do
# that after every other status, whatever the answer's headers say.
FINAL = (400, 401, 403, 404)


# Seconds after which a server that is full or not ready is worth another attempt.
RETRY_AFTER = 5
# The place of the error in the message of a JSON parser.
PLACE = re.compile(r"line (\d+) column (\d+)")


class Refusal(Exception):
    """`code` is a key of KINDS. `key` names a text, the code's own if it is empty; `values` fill it
    in. `more` are further members of the answer. `retry_after` is the number of seconds after which
    a new attempt may succeed, 0 if that is unknown."""

    def __init__(
        self, code: str, key: str = "", more: Mapping[str, Any] | None = None, **values: object
    ) -> None:
        super().__init__(code)
        self.code = code
        self.status, self.title = KINDS[code]
        self.retry_after = RETRY_AFTER if self.status == 503 else 0
        self.more = dict(more or {})
        self._key = key or code
        self._values = values

    def make_final(self) -> None:
        """Let no library send the request again by itself: tools have run for it."""
        if self.status not in FINAL:
            self.status = FINAL[0]

    @property
    def field(self) -> str:
        """The field that is wrong, as in "messages.0.role"; empty if it is none."""
        return str(self._values.get("field", ""))

    def sentence_in(self, language: str) -> str:
        reason = self._values.get("reason")
        # The CLI's words follow an introduction in the client's language.
        if isinstance(reason, Sentence):
            return translated_text(reason, language)
        return answer_text(self._key, language, **self._values)


def of_agent(error: AgentError) -> Refusal:
    """An agent's error as an answer; the agent's `details` go into it."""
    more = {"details": spell_hidden(error.details)} if error.details else {}
    return Refusal(error.code, more=more, reason=error.message)


def no_json(why: str) -> Refusal:
    """A body that is not JSON. `why` is the parser's sentence, which is in English."""
    found = PLACE.search(why)
    if found:
        line, column = found.groups()
        return Refusal(failure.VALIDATION_ERROR, "body_no_json_at", line=line, column=column)
    key = {TOO_DEEP: "body_deep"}.get(why, "body_no_utf8" if "UTF-8" in why else "body_no_json")
    return Refusal(failure.VALIDATION_ERROR, key)


NOT_HTTP = Refusal(failure.VALIDATION_ERROR, "no_http")


def of_server(refused: http_server.Refused, max_body: int) -> Refusal:
    """The HTTP server's refusal as an answer. `max_body` is the limit of a body in bytes."""
    reason = refused.reason
    if reason == http_server.LARGE_BODY:
        return Refusal(TOO_LARGE, limit=max_body)
    if reason == http_server.LATE_BODY:
        return Refusal(REQUEST_TIMEOUT, seconds=f"{http_server.BODY_TIME:g}")
    code, key = {
        http_server.BAD_HOST: (FORBIDDEN, "host_refused"),
        http_server.BAD_ORIGIN: (FORBIDDEN, "origin_refused"),
        http_server.BAD_TOKEN: (UNAUTHORIZED, ""),
        http_server.BAD_ENCODING: (UNSUPPORTED_MEDIA_TYPE, ""),
        http_server.BAD_BODY: (failure.VALIDATION_ERROR, "no_http"),
        http_server.MANY_VALUES: (TOO_LARGE, "many_values"),
        http_server.CHUNKS: (TOO_LARGE, "small_chunks"),
        http_server.CROWDED: (TOO_MANY, ""),
        http_server.OWN_CROWDED: (TOO_MANY, "own_connections"),
        http_server.BUSY: (TOO_MANY, "busy"),
    }[reason]
    return Refusal(code, key)
