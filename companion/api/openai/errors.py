"""Errors as OpenAI's API writes them, so that its clients know what to do.

Source: OpenAI's guide on error codes, and the `error` object of its API reference.
"""

from __future__ import annotations

import re
from typing import Any

from ...agent.failure import QUOTA_EXCEEDED
from ..contract.refusal import KINDS, RATE_LIMITED, UNAUTHORIZED, Refusal

# Codes with another name there; all others are ours in small letters.
CODES = {
    UNAUTHORIZED: "invalid_api_key",
    QUOTA_EXCEEDED: "insufficient_quota",
    RATE_LIMITED: "rate_limit_exceeded",
}
TYPES = {QUOTA_EXCEEDED: "insufficient_quota", RATE_LIMITED: "requests"}


def error_answer(refusal: Refusal, language: str) -> dict[str, Any]:
    """The answer of an error. `param` is the field that is wrong, as in "messages[0].role"."""
    usual = "invalid_request_error" if KINDS[refusal.code][0] < 500 else "server_error"
    return {
        "error": {
            **refusal.more,
            "message": refusal.sentence_in(language),
            "type": TYPES.get(refusal.code, usual),
            "param": re.sub(r"\.(\d+)", r"[\1]", refusal.field) or None,
            "code": CODES.get(refusal.code, refusal.code.lower()),
        }
    }
