"""The conversation that a front end wants to follow: found, or begun."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Sequence

from ..agent.agent import Agent, Conversation, folder_of
from ..agent.failure import CLIENT_NOT_INITIALIZED, VALIDATION_ERROR, AgentError
from ..agent.sentence import sentence
from ..agent.tool_servers import ToolServer
from ..base import private_files
from ..base.answer import Answer
from ..base.background import in_thread
from .chat_update import STARTING, ChatUpdate
from .problems import DAMAGED, FOLDER_GONE

KEYS_INSIDE = sentence(
    "The agent would work in {workspace}. That contains the agents' keys, and a model may read"
    " everything in it. Open the folder of your project, and try again."
)


@dataclass(frozen=True)
class WantedChat:
    """What a front end wants to be open. `agent` and `workspace` are for a conversation that does
    not exist yet; an empty `agent` is the usual one. `tools` gives servers of ours, which its
    agent may use; None for none. `folders` are those of its window (absolute paths)."""

    id: str
    agent: str
    workspace: str
    tools: Answer[Sequence[ToolServer]] | None = None
    folders: tuple[str, ...] = ()

    @property
    def first_update(self) -> ChatUpdate:
        return ChatUpdate(self.id, STARTING, agent=self.agent, workspace=self.workspace)


async def find_conversation(agent: Agent, wanted: WantedChat) -> Conversation:
    """The one that is wanted, or a new one that gets its id. Raises AgentError."""
    id, known = wanted.id, agent.conversations
    await agent.refresh_conversation(id)
    if id not in known:
        folder = await folder_for(agent, wanted.workspace)
        cli = agent.backends[wanted.agent or None].cli
        made = known.new_conversation(folder, cli, id)
        if made.id != id:
            # There is a file of this name, and nobody can read it.
            place, name = os.path.split(made.record.transcript.path)
            path = os.path.join(place, name.replace(made.id, id))
            raise AgentError(VALIDATION_ERROR, DAMAGED.format(path))
        return made
    found = known.known_conversation(id)
    await found.mark_owned()
    return found


async def folder_for(agent: Agent, workspace: str) -> str:
    """The folder of a new conversation in the workspace. Raises AgentError."""
    await _check_there(workspace)
    await _check_apart(agent, workspace)
    return folder_of(workspace)


async def folders_beside(agent: Agent, workspace: str, folders: Sequence[str]) -> tuple[str, ...]:
    """The folders of a window that belong to a conversation in the workspace: all of a window that
    has the workspace, but those that have the agents' keys in them."""

    def find() -> tuple[str, ...]:
        real = dict.fromkeys(map(os.path.realpath, folders))
        return tuple(each for each in real if workspace in real and not _has_keys(agent, each))

    return await in_thread(find) if folders else ()


async def check_folder(conversation: Conversation) -> None:
    """Raises AgentError if its agent would work in a folder that is not there any more."""
    if conversation.workspace:
        await _check_there(conversation.workspace)


async def _check_there(folder: str) -> None:
    """Raises AgentError."""
    if not await in_thread(lambda: os.path.isdir(folder)):
        raise AgentError(CLIENT_NOT_INITIALIZED, FOLDER_GONE.format(folder))


async def _check_apart(agent: Agent, workspace: str) -> None:
    """Raises AgentError if the model could read the credentials: without asking, it reads all that
    is in its workspace."""
    if await in_thread(lambda: _has_keys(agent, workspace)):
        raise AgentError(VALIDATION_ERROR, KEYS_INSIDE.with_values(workspace=workspace))


def _has_keys(agent: Agent, folder: str) -> bool:
    """Whether the folder has the agents' keys in it, or is among them. Blocks."""
    is_within, state = private_files.is_within, agent.state
    return is_within(state, folder) or is_within(folder, state)
