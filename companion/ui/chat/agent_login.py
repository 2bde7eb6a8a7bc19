"""The ways to log in to an agent, and the panels that ask for what each needs. UI thread only."""

from __future__ import annotations

import webbrowser
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Callable

import sublime

from ...agent.credentials import (
    ANTHROPIC,
    API_KEY,
    GOOGLE,
    OPENAI,
    OWN,
    VERTEX,
    Credentials,
    UsedLogin,
)
from .. import panels, settings

if TYPE_CHECKING:
    from ...chat.chat_service import ChatService

# How each field of the credentials is asked for; `{}` is the agent.
KEY, ADDRESS, MODEL = "api_key", "base_url", "model"
PROJECT, LOCATION = "project", "location"
CAPTIONS = {
    KEY: "API key for {}:",
    ADDRESS: "Address of the API; leave it empty for the usual one:",
    MODEL: "Model; leave it empty for the usual one:",
    PROJECT: "Project of Google Cloud:",
    LOCATION: "Location of Google Cloud:",
}


@dataclass(frozen=True)
class Way:
    """`fields` are those of the credentials, in the order in which they are asked for. `details`
    say what it means."""

    kind: str
    label: str
    fields: tuple[str, ...]
    details: str = ""


WAYS = (
    Way(API_KEY, "Key for the Gemini API", (KEY,)),
    Way(GOOGLE, "Log in with Google", ()),
    Way(VERTEX, "Vertex AI, with a project of Google Cloud", (PROJECT, LOCATION)),
    Way(OPENAI, "Key for an API like OpenAI's", (KEY, ADDRESS, MODEL)),
    Way(ANTHROPIC, "Key for Anthropic's API", (KEY, ADDRESS, MODEL)),
)
WITH_OWN = Way(
    OWN,
    "As in your terminal",
    (),
    details='It uses your login, home and settings. To log in there: "{}"',
)
WHICH = "Log in to {}"
# What "own_login" in the settings decides, whatever is chosen here.
OWN_BY_SETTING = (
    '{} uses your own login, because "own_login" under "agents" in your settings says so. Remove it'
    " there to choose another login."
)
NOT_BY_SETTING = "Log in to {}, but not with your own login: your settings rule that out"
CODE = "Code that Google shows in your browser:"
LOGGED_IN = "{} is logged in now."
USES_OWN = "{} uses your own login now, as in your terminal."
IN_BROWSER = "Your browser opens Google's page; it shows a code at the end."
# What to do, beside a link. Of the user's own login, the problem itself says it.
WITH_OTHER = 'Or press "Log in" for a key.'
WITH_KEY = 'Press "Log in": as in your terminal, or with a key.'
IN_TERMINAL = 'Press "Log in in a terminal", log in there, and press "Try again".'
# Whose login an agent has, beside its name and folder; `{}` is what lets it do something unasked.
OF_USER, OF_USER_AND = "with your own login", "{}; {}"
WITH_VARIABLES = 'as in your terminal, and with the key or address in its "env"'
KEPT = {GOOGLE: "with the login that you gave it"}
WITH_KEPT_KEY, OF_ENVIRONMENT = "with the key that you gave it", "with the key of the environment"


def ways_of(agent: str) -> tuple[Way, ...]:
    """The ways to log in to a known agent; an unknown one has its own login."""
    from ...agent.supported import CLIS

    row = CLIS.get(agent)
    if row is None:
        return ()
    own = replace(WITH_OWN, details=WITH_OWN.details.format(row.own_login))
    return (own, *(way for way in WAYS if way.kind in row.kinds))


def own_login_of(agent: str) -> tuple[str, ...]:
    """The command by which the user logs in to a known agent in a terminal; empty for others."""
    from ...agent.supported import CLIS

    row = CLIS.get(agent)
    return () if row is None else tuple(row.own_login.split())


def what_to_do(agent: str, login: UsedLogin) -> str:
    """A sentence for a chat whose agent needs a login."""
    if not ways_of(agent):
        return IN_TERMINAL
    return WITH_OTHER if login.kind == OWN else WITH_KEY


def whose_login(agent: str, login: UsedLogin) -> str:
    """Whose login a known agent has; empty of one that is not known, or if it has none."""
    from ...agent.supported import CLIS

    row = CLIS.get(agent)
    if row is None or not login.kind:
        return ""
    if login.kind == OWN:
        whose = WITH_VARIABLES if login.has_variables else OF_USER
        return OF_USER_AND.format(whose, row.unprevented) if row.unprevented else whose
    return KEPT.get(login.kind, WITH_KEPT_KEY) if login.is_chosen else OF_ENVIRONMENT


async def log_in(
    window: sublime.Window,
    service: ChatService,
    agent: str,
    name: str,
    tell: Callable[[str], None],
) -> None:
    """Ask for what a way to log in needs, and use it. Raises Unanswered."""
    from ...chat.login_requests import Configure

    own_login = settings.current_settings().agent(agent).own_login
    if own_login:
        tell(OWN_BY_SETTING.format(name))
        return
    ways = [way for way in ways_of(agent) if way.kind != OWN or own_login is None]
    which = WHICH if own_login is None else NOT_BY_SETTING
    items = [panels.panel_item(way.label, way.details) for way in ways]
    number = await panels.ask_choice(window, items, which.format(name))
    if not 0 <= number < len(ways):
        return
    values: dict[str, str] = {}
    for field in ways[number].fields:
        value = await panels.ask_line(window, CAPTIONS[field].format(name))
        if value is None:
            return
        values[field] = value.strip()
    kind = ways[number].kind
    await service.ask(Configure(agent, Credentials(kind, **values)))
    if kind != GOOGLE or await _with_google(window, service, agent, tell):
        tell((USES_OWN if kind == OWN else LOGGED_IN).format(name))


async def _with_google(
    window: sublime.Window, service: ChatService, agent: str, tell: Callable[[str], None]
) -> bool:
    """Whether the user has logged in. Raises Unanswered."""
    from ...chat.login_requests import BeginLogin, FinishLogin

    login = await service.ask(BeginLogin(agent))
    if login is None:
        return True
    tell(IN_BROWSER)
    webbrowser.open(login.url)
    code = await panels.ask_line(window, CODE)
    if not code or not code.strip():
        return False
    await service.ask(FinishLogin(agent, code.strip()))
    return True
