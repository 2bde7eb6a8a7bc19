"""What a front end asks to log in to an agent. `agent` is the agent's id. A chat that failed is
opened again once the user has logged in."""

from __future__ import annotations

from dataclasses import dataclass

from ..agent.agent import Login
from ..agent.auth_method import AuthMethod
from ..agent.credentials import Credentials
from .chats import Chats
from .requests import ChatRequest


@dataclass(frozen=True)
class Configure(ChatRequest[None]):
    """Use these credentials from now on, of one of the agent's kinds. Every conversation of the
    agent gets a new session; refused while one is busy."""

    agent: str
    credentials: Credentials

    async def carry_out(self, chats: Chats) -> None:
        await chats.agent.backends[self.agent].account.configure_credentials(self.credentials)
        chats.retry_all()


@dataclass(frozen=True)
class BeginLogin(ChatRequest["Login | None"]):
    """Begin a login with Google, which has to be configured: gives where the user gets a code; None
    if they are logged in already."""

    agent: str

    async def carry_out(self, chats: Chats) -> Login | None:
        login = await chats.agent.backends[self.agent].account.begin_login()
        if login is None:
            chats.retry_all()
        return login


@dataclass(frozen=True)
class FinishLogin(ChatRequest[None]):
    """Finish that login with the code."""

    agent: str
    code: str

    async def carry_out(self, chats: Chats) -> None:
        await chats.agent.backends[self.agent].account.finish_login(self.code)
        chats.retry_all()


@dataclass(frozen=True)
class SignIns(ChatRequest["tuple[AuthMethod, ...]"]):
    """Asks for the ways to log in that the agent itself tells; none while it does not run."""

    agent: str

    async def carry_out(self, chats: Chats) -> tuple[AuthMethod, ...]:
        return chats.agent.backends[self.agent].sign_ins


@dataclass(frozen=True)
class SignIn(ChatRequest[None]):
    """Have the agent log its user in by this way (its id), which takes as long as they do."""

    agent: str
    method: str

    async def carry_out(self, chats: Chats) -> None:
        await chats.agent.backends[self.agent].sign_in(self.method)
        chats.retry_all()


@dataclass(frozen=True)
class StartAnew(ChatRequest[None]):
    """Start the agent anew when it is needed next: its user logs in to it in a terminal."""

    agent: str

    async def carry_out(self, chats: Chats) -> None:
        await chats.agent.backends[self.agent].forget_process()
