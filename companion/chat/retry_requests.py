"""What a front end asks to try again what has failed."""

from __future__ import annotations

from dataclasses import dataclass

from ..agent.failure import VALIDATION_ERROR, AgentError
from .attached import message_again
from .chats import Chats
from .requests import NO_TURN, ChatRequest, Send, Sent


@dataclass(frozen=True)
class Reopen(ChatRequest[None]):
    """Open a chat again if that failed."""

    chat: str

    async def carry_out(self, chats: Chats) -> None:
        chats.find_chat(self.chat).retry()


@dataclass(frozen=True)
class SendAgain(ChatRequest[Sent]):
    """Send the message of a turn again, with all that went with it."""

    chat: str
    turn: str

    async def carry_out(self, chats: Chats) -> Sent:
        conversation = await chats.find_chat(self.chat).ready_conversation()
        turns = await conversation.past.read_since(self.turn)
        if not turns or not turns[0].text:
            raise AgentError(VALIDATION_ERROR, NO_TURN)
        said = turns[0]
        return await Send(self.chat, *message_again(said)).carry_out(chats)
