"""A user's message in the form of the agent's protocol, with attached files, and what goes before
it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, replace
from typing import Sequence

from ..acp.messages import AgentCapabilities, Block, link_block, resource_block, text_block
from ..agents.cli import AgentCli
from ..attachments import Parts
from ..failure import FILE_NOT_FOUND, VALIDATION_ERROR, AgentError
from ..sentence import sentence
from ..turn_events import Addition, Attachment


@dataclass(frozen=True)
class PromptMessage:
    """The user's message: as they wrote it, and as the parts of a `session/prompt`."""

    text: str
    files: tuple[str, ...]
    parts: tuple[Block, ...]
    attachments: tuple[Attachment, ...] = ()
    additions: tuple[Addition, ...] = ()

    def with_attachments(self, added: Parts) -> PromptMessage:
        """The message with these attachments added."""
        return replace(self, parts=(*self.parts, *added.blocks), attachments=added.attachments)


def prompt_message(text: str, files: Sequence[str], workspace: str, cli: AgentCli) -> PromptMessage:
    """Relative paths start at the workspace. Text and files are in the CLI's form. Inspects the
    files, which may take a while. Raises AgentError."""
    links = [_link_block(path, workspace, cli) for path in files]
    return PromptMessage(text, tuple(files), (text_block(cli.text_for(text)), *links))


def as_resources(texts: Sequence[str], capabilities: AgentCapabilities) -> list[Block]:
    """The texts, one or more, as parts before those of a message; they reach the model
    unchanged."""
    if not capabilities.embedded_context:
        return [text_block(text + "\n\n") for text in texts]
    parts = [
        resource_block(f"file:///conversation-{number}", "text/plain", text=text)
        for number, text in enumerate(texts, 1)
    ]
    # The CLI joins the names of resources with the words that follow.
    return [*parts, text_block("\n\n")]


def _link_block(path: str, workspace: str, cli: AgentCli) -> Block:
    whole = os.path.normpath(os.path.join(workspace, path))
    try:
        mode = os.stat(whole).st_mode
    except (OSError, ValueError):
        told = sentence("There is no file {path}.", path=path)
        raise AgentError(FILE_NOT_FOUND, told) from None
    # The CLI would wait for ever for a pipe's writer, with one of its four threads.
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        told = sentence("{path} is neither a file nor a folder.", path=path)
        raise AgentError(VALIDATION_ERROR, told)
    return link_block(cli.uri_of(whole), os.path.basename(whole))
