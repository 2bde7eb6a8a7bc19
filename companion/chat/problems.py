"""What a chat tells of failures: a sentence that says what to do next, where it was written for
programs that use the API."""

from __future__ import annotations

import re

from ..agent.failure import (
    ATTACHMENT_NOT_FOUND,
    CLIENT_NOT_INITIALIZED,
    FILE_NOT_FOUND,
    NOT_SENT,
    SESSION_BUSY,
    SESSION_ELSEWHERE,
    STREAM_ERROR,
    VALIDATION_ERROR,
    AgentError,
)
from ..base.shown_text import shown_line
from .amounts import shorten_text

BROKEN = 'That failed; "Gemini Companion: Show Log" shows more.'
DELETED = "This conversation was deleted elsewhere. The next message begins a new one."
DAMAGED = (
    "The file of this conversation cannot be read, and is left as it is: {}. Begin a new chat, or"
    " bring the file back and try again."
)
FOLDER_GONE = (
    "The folder of this chat is not there any more: {}. Bring it back and try again, or begin a new"
    " chat in another folder."
)
STOPPED = "The agent was stopped before it had started. The next message starts it again."
NOT_SENT_YET = "The message was stopped before it was sent. It is still at the end of the chat."
ELSEWHERE = "Another editor or server is working on this conversation. Try again when that is done."
SENTENCES = {
    SESSION_ELSEWHERE: ELSEWHERE,
    NOT_SENT: NOT_SENT_YET,
}
# What is wrong with a message, and not with its chat.
OF_MESSAGES = (VALIDATION_ERROR, FILE_NOT_FOUND, ATTACHMENT_NOT_FOUND, SESSION_BUSY)
# Failures of which the agent's own last words say more.
WITH_WORDS = (CLIENT_NOT_INITIALIZED, STREAM_ERROR)
MAX_WORDS = 200
# What Gemini CLI and Qwen Code say of modes in which they do not ask, in a folder that is not
# trusted; and what there is to do.
UNTRUSTED = "untrusted folder"
TRUST = '{} Name the folder in the setting "trusted_folders"; it counts when the agent starts next.'
SAYS_WHY = re.compile(r"error|cannot|not found", re.IGNORECASE)


def problem_sentence(error: AgentError) -> str:
    """The sentence for the user of a chat."""
    if error.code in SENTENCES:
        return SENTENCES[error.code]
    if UNTRUSTED in str(error):
        return TRUST.format(error)
    words = _telling_line(error.details) if error.code in WITH_WORDS else ""
    return f'{error} It wrote: "{words}"' if words else str(error)


def _telling_line(details: str) -> str:
    """The line that says most of what an agent wrote before its end: the first one about an error,
    else the last one."""
    lines = [line.strip() for line in details.splitlines() if line.strip()]
    found = [line for line in lines if SAYS_WHY.search(line)] or lines[-1:]
    return shorten_text(shown_line(found[0]), MAX_WORDS) if found else ""
