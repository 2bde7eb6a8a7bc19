"""What the links above a composer do: try again, stop, log in, use another agent. UI thread
only."""

from __future__ import annotations

import shlex
from typing import Callable, Sequence

import sublime

from ...agent.auth_method import BY_AGENT, AuthMethod
from .. import panels, settings
from ..terminals import terminus
from . import agent_choice, agent_login, chat_places, sign_in
from .chat_actions import ChatActions
from .chat_view import ChatView
from .drafts import folder_of
from .failure_words import IN_TERMINAL, LOG_IN, OTHER, RETRY, SIGN_IN, STOP

NOT_KNOWN = "The agent of this chat is not known yet."
# What is asked before the command of a project runs.
PROJECT_TERMINAL = "The project names the program that opens a terminal. Run it?"
NO_COMMAND = "the terminal of this system"
ABOUT_RUNNING = 'It is "terminal_command" in the settings of the project.'


class Recovery:
    """`chats` has the chats; `tell` shows a sentence."""

    def __init__(self, chats: ChatActions, tell: Callable[[str], None]) -> None:
        self._chats = chats
        self._tell = tell

    async def apply_action(
        self,
        window: sublime.Window,
        action: str,
        conversation: str,
        turn: str = "",
        way: str = "",
    ) -> None:
        """Do the action for a chat, or for one turn of it; log in by the way with this id. Raises
        Unanswered."""
        view = chat_places.view_of(conversation, window)
        chat = self._chats.tabs.chat_of(view) if view is not None else None
        told = chat.told if chat is not None else None
        if chat is None or told is None:
            self._tell(chat_places.NO_CHAT)
        elif action == RETRY:
            await self._retry_chat(chat, turn)
        elif action == STOP:
            from ...chat.requests import Stop

            await self._chats.ask_service(chat, Stop(conversation))
        elif action == IN_TERMINAL and agent_login.own_login_of(told.agent):
            await self._log_in_in_terminal(window, told.agent, told.agent_name)
        elif action in (LOG_IN, IN_TERMINAL):
            await self.log_in(window, chat)
        elif action == SIGN_IN:
            ways = [each for each in told.sign_ins if each.id == way]
            await self._sign_in(window, told.agent, told.agent_name, ways)
        elif action == OTHER:
            await self._use_another(window, chat)

    async def log_in(self, window: sublime.Window, chat: ChatView | None) -> None:
        """Log in to the agent of the chat; without a chat, to the one that the user chooses. Raises
        Unanswered."""
        if chat is None:
            row = await agent_choice.choose_agent_row(window, self._chats)
            if row is not None:
                await self._log_in_to(window, row.id, row.name)
            return
        told = chat.told
        if told is None or not told.agent:
            self._tell(NOT_KNOWN)
        else:
            await self._log_in_to(window, told.agent, told.agent_name or told.agent)

    async def _log_in_to(self, window: sublime.Window, agent: str, name: str) -> None:
        service = await self._chats.ensure_service()
        if service is None:
            return
        # With the settings as they are now: they may decide it.
        await self._chats.engines.ensure_engine()
        if agent_login.ways_of(agent):
            await agent_login.log_in(window, service, agent, name, self._tell)
            return
        from ...chat.login_requests import SignIns

        told = await service.ask(SignIns(agent))
        ways = sign_in.ways_of(agent, told)
        if ways:
            await self._sign_in(window, agent, name, ways)
        elif await _agrees_to_terminal(window):
            await sign_in.run_login(window, agent, terminal_command(agent), {}, self._tell)

    async def _log_in_in_terminal(self, window: sublime.Window, agent: str, name: str) -> None:
        """Run the command of a known agent that logs its user in. Raises Unanswered."""
        service = await self._chats.ensure_service()
        if service is not None and await _agrees_to_terminal(window):
            command = agent_login.own_login_of(agent)
            await sign_in.log_in_in_terminal(window, service, agent, name, command, {}, self._tell)

    async def _sign_in(
        self, window: sublime.Window, agent: str, name: str, ways: Sequence[AuthMethod]
    ) -> None:
        """Log in by one of the ways that the agent tells. Raises Unanswered."""
        service = await self._chats.ensure_service()
        way = await sign_in.choose_way(window, sign_in.ways_of(agent, ways), name)
        if service is None or way is None:
            return
        if way.kind == BY_AGENT:
            await sign_in.sign_in_by_agent(service, agent, name, way, self._tell)
        elif await sign_in.agrees_to_login(
            window, agent, name, way, self._tell
        ) and await _agrees_to_terminal(window):
            command, env = sign_in.command_for(agent, way), sign_in.env_for(agent, way)
            await sign_in.log_in_in_terminal(window, service, agent, name, command, env, self._tell)

    async def _retry_chat(self, chat: ChatView, turn: str) -> None:
        from ...chat.retry_requests import Reopen, SendAgain

        # With the settings as they are now.
        await self._chats.engines.ensure_engine()
        if turn:
            await self._chats.ask_service(chat, SendAgain(chat.conversation, turn))
        elif _has_other_folder(chat):
            self._chats.leave_chat(chat)
            self._chats.load_transcript(chat)
        else:
            await self._chats.ask_service(chat, Reopen(chat.conversation))

    async def _use_another(self, window: sublime.Window, chat: ChatView) -> None:
        """Open a new chat with what is written and attached in this one, which closes."""
        agent = await agent_choice.choose_agent(window, self._chats)
        if agent is None:
            return
        self._chats.open_new_chat(window, agent, chat.composer.text, chat.above.attached)
        self._chats.drafts.keep_text(chat.conversation, "", folder_of(window))
        for view in chat.views:
            view.close()
        self._chats.drafts.forget(chat.conversation)


async def _agrees_to_terminal(window: sublime.Window) -> bool:
    """Whether a login may use the terminal that the settings name: the user is asked about one that
    the project names, which may be somebody else's. Raises Unanswered."""
    command = settings.current_settings(window).terminal_command
    if terminus.has_terminus() or command == settings.current_settings().terminal_command:
        return True
    words = " ".join(map(shlex.quote, command)) or NO_COMMAND
    items = [
        panels.panel_item(sign_in.RUN, words),
        panels.panel_item(sign_in.RUN_NOT, ABOUT_RUNNING),
    ]
    return await panels.ask_choice(window, items, PROJECT_TERMINAL) == 0


def terminal_command(agent: str) -> tuple[str, ...]:
    """What starts an agent of the settings in a terminal, where it asks for a login."""
    return settings.in_terminal(settings.current_settings().agent(agent).command or (agent,))


def _has_other_folder(chat: ChatView) -> bool:
    """Whether its window has another one now than when the chat, in which nothing was said, was
    opened: one was opened on our advice."""
    told, window = chat.told, chat.views[0].window() if chat.views else None
    if told is None or told.title or not told.workspace or window is None:
        return False
    return told.workspace != folder_of(window)
