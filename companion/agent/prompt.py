"""A user's message as the agent's protocol wants it, with attached files; refuses what the CLI
would take for a command of its own.

Source: docs/gemini-cli-acp.md 3. The CLI offers a message that begins with "/" or "$" to its
commands first, which run without asking.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, replace
from typing import Callable, Sequence

from .acp_messages import Block, link_block, text_block
from .attachments import Parts
from .events import Attachment
from .failure import FILE_NOT_FOUND, VALIDATION_ERROR, AgentError
from .sentence import sentence

# Commands that only tell something.
HARMLESS = ("help", "about", "memory show", "memory list")
# Those that change something, or read past the protocol.
COMMANDS = ("help", "about", "memory", "init", "restore", "extensions")
# What JavaScript's trim() takes away, which is what the CLI looks behind.
BLANKS = " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
# Nobody sees it, and trim() keeps it: before a "/" it makes a message no command, of any version.
NO_COMMAND = "\u200b"


@dataclass(frozen=True)
class Message:
    """What the user says: as they wrote it, and as the parts of a `session/prompt`."""

    text: str
    files: tuple[str, ...]
    parts: tuple[Block, ...]
    attachments: tuple[Attachment, ...] = ()

    def attaching(self, added: Parts) -> Message:
        """The same with these attachments."""
        return replace(self, parts=(*self.parts, *added.blocks), attachments=added.attachments)


def message(
    text: str, files: Sequence[str], workspace: str, worded: Callable[[str], str]
) -> Message:
    """Relative paths begin at the workspace; `worded` is how the CLI wants the text. Looks at the
    files, which may take a while. Raises AgentError."""
    links = [_link(path, workspace) for path in files]
    return Message(text, tuple(files), (text_block(worded(text)), *links))


def text_for(message: str) -> str:
    """The message in such words that Gemini CLI hands them to the model. Raises AgentError."""
    inner = message.strip(BLANKS)
    if not inner:
        raise AgentError(VALIDATION_ERROR, sentence("The message is empty."))
    if inner[0] not in "/$":
        return message
    words = re.split(r"\s+", inner[1:].strip(BLANKS))
    if any(" ".join(words) == known for known in HARMLESS):
        return inner
    if words[0].lower() in COMMANDS:
        raise AgentError(
            VALIDATION_ERROR,
            sentence(
                "{command} is a command of the Gemini CLI that would run without asking.",
                command=inner[0] + words[0],
            ),
        )
    return NO_COMMAND + inner


def _link(path: str, workspace: str) -> Block:
    whole = os.path.normpath(os.path.join(workspace, path))
    try:
        mode = os.stat(whole).st_mode
    except (OSError, ValueError):
        told = sentence("There is no file {path}.", path=path)
        raise AgentError(FILE_NOT_FOUND, told) from None
    # The CLI would wait for a pipe's writer, for ever and with one of its four threads.
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        told = sentence("{path} is neither a file nor a folder.", path=path)
        raise AgentError(VALIDATION_ERROR, told)
    # Not as a URI should be: the CLI cuts off seven letters and takes the rest as a path.
    return link_block("file://" + whole, os.path.basename(whole))
