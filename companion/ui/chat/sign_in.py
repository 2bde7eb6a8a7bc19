"""The ways to log in that an agent itself tells: by the agent, or in a terminal. UI thread only."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Callable, Sequence

import sublime

from ...agent.auth_method import BY_AGENT, BY_PROGRAM, AuthMethod
from ...base.shown_text import shown_line
from ...chat.amounts import shorten_text
from .. import panels, settings
from ..terminals import terminus
from .drafts import folder_of

if TYPE_CHECKING:
    from ...chat.chat_service import ChatService

# The most characters of a way's name.
LONGEST = 40
CHOOSE = "{} asks for a login of its own. Choose how:"
BY_ITSELF, BY_HAND = "{}", "{} (in a terminal)"
# While it runs, and afterwards.
WAITS = "{} logs you in; it may open your browser. The chat goes on after that."
LOGGED_IN = "{} is logged in now."
# What is asked before a command runs with words of the agent's.
RUN_LOGIN = "{} is to log you in with this command in a terminal. Run it?"
RUN, RUN_NOT = "Run it", "Do not run it"
ABOUT_WORDS = "The agent itself has added some of its words and variables."
# Characters of a line of it, and lines at most.
WIDTH, MOST_LINES = 80, 12
TOO_LONG = "{} names a command for its login that is too long to be shown, so it is not run."
TRY_AGAIN = 'Log in to {} in the terminal, and press "Try again" after that.'


def label_of(way: AuthMethod) -> str:
    name = shorten_text(shown_line(way.name or way.id), LONGEST)
    return (BY_ITSELF if way.kind == BY_AGENT else BY_HAND).format(name)


def ways_of(agent: str, ways: Sequence[AuthMethod]) -> tuple[AuthMethod, ...]:
    """The ways to log in that are possible here. Where the command begins with a launcher, such as
    npx, its first word is not the agent's program."""
    is_program = len(settings.in_terminal(_command_of(agent))) == 1
    return tuple(way for way in ways if is_program or way.kind != BY_PROGRAM)


async def choose_way(
    window: sublime.Window, ways: Sequence[AuthMethod], name: str
) -> AuthMethod | None:
    """The way that the user chooses of several, or the only one. Raises Unanswered."""
    if len(ways) < 2:
        return ways[0] if ways else None
    items = [panels.panel_item(label_of(way)) for way in ways]
    number = await panels.ask_choice(window, items, CHOOSE.format(name))
    return ways[number] if number >= 0 else None


async def sign_in_by_agent(
    service: ChatService, agent: str, name: str, way: AuthMethod, tell: Callable[[str], None]
) -> None:
    """Have the agent do it. Raises Unanswered."""
    from ...chat.login_requests import SignIn

    tell(WAITS.format(name))
    await service.ask(SignIn(agent, way.id))
    tell(LOGGED_IN.format(name))


async def log_in_in_terminal(
    window: sublime.Window,
    service: ChatService,
    agent: str,
    name: str,
    command: Sequence[str],
    env: dict[str, str],
    tell: Callable[[str], None],
) -> None:
    """Open a terminal with the command, which logs the user in to the agent. Raises Unanswered."""
    from ...chat.login_requests import StartAnew

    # The process that runs may not learn of it.
    await service.ask(StartAnew(agent))
    await run_login(window, agent, command, env, tell)
    tell(TRY_AGAIN.format(name))


def command_for(agent: str, way: AuthMethod) -> tuple[str, ...]:
    """What the user runs in a terminal; never a command that the agent names."""
    command = _command_of(agent)
    base = settings.in_terminal(command)[:1] if way.kind == BY_PROGRAM else command
    return (*base, *way.args)


def env_for(agent: str, way: AuthMethod) -> dict[str, str]:
    """The variables of the way, but for those of which the user has said what they are."""
    own = {name for name, _ in settings.current_settings().agent(agent).env}
    return {name: value for name, value in way.env if name not in own}


async def agrees_to_login(
    window: sublime.Window,
    agent: str,
    name: str,
    way: AuthMethod,
    tell: Callable[[str], None],
) -> bool:
    """Whether the user wants what the way would run, of which they see all. Raises Unanswered."""
    words = [" ".join(map(shlex.quote, command_for(agent, way)))]
    words += [f"{each}={shlex.quote(value)}" for each, value in env_for(agent, way).items()]
    lines = [line for each in words for line in _lines_of(each)]
    # Hidden characters make a line longer when they are spelled out.
    if len(lines) > MOST_LINES or any(len(shown_line(line)) > 2 * WIDTH for line in lines):
        tell(TOO_LONG.format(name))
        return False
    return await panels.ask_choice(window, _answers(lines), RUN_LOGIN.format(name)) == 0


def _answers(lines: list[str]) -> list[sublime.QuickPanelItem]:
    return [sublime.QuickPanelItem(RUN, lines), panels.panel_item(RUN_NOT, ABOUT_WORDS)]


def _lines_of(text: str) -> list[str]:
    return [text[start : start + WIDTH] for start in range(0, len(text), WIDTH)]


def _command_of(agent: str) -> tuple[str, ...]:
    return settings.current_settings().agent(agent).command or (agent,)


async def run_login(
    window: sublime.Window,
    agent: str,
    command: Sequence[str],
    env: dict[str, str],
    tell: Callable[[str], None],
) -> None:
    """Run the command in a terminal, with what the user has set for the agent."""
    own = settings.current_settings().agent(agent).env
    kept = {name: value for name, value in own if value is not None}
    await terminus.run_cli(window, folder_of(window), {**env, **kept}, tell, tuple(command))
