"""Handlers of named tokens, and of tickets for browsers that can send no token."""

from __future__ import annotations

from urllib.parse import unquote

from ...agent import wire
from ...base.http_server import outlive_client
from ..operations.tickets import FIELD
from ..operations.tokens import NamedToken
from .handler_types import HandlerAnswer, Inputs, Services


async def list_tokens(services: Services, inputs: Inputs) -> HandlerAnswer:
    """The named tokens with their scopes, never the tokens themselves."""
    await services.tokens.refresh()
    return HandlerAnswer("tokens_told", {"tokens": [_as_json(token) for token in services.tokens]})


async def give_token(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Make a token that may do what its scopes say. It is told here and never again: the server
    keeps only its hash. Nobody can give a scope that their own token lacks."""
    fields = inputs.fields
    outlive_client(inputs.request)
    made, token = await services.tokens.give_token(fields["name"], fields["scopes"], inputs.caller)
    return HandlerAnswer("token_given", {"token": token, **_as_json(made)})


async def renew_token(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Replace a token by a new one with the same name and scopes. The old one stops working, and
    its streams end."""
    outlive_client(inputs.request)
    made, token = await services.tokens.renew_token(
        inputs.fields["name"], inputs.caller, inputs.end
    )
    return HandlerAnswer("token_renewed", {"token": token, **_as_json(made)})


async def withdraw_token(services: Services, inputs: Inputs) -> HandlerAnswer:
    """The token stops working at once, and its streams end."""
    outlive_client(inputs.request)
    await services.tokens.withdraw_token(inputs.fields["name"], inputs.end)
    return HandlerAnswer("token_withdrawn")


async def give_ticket(services: Services, inputs: Inputs) -> HandlerAnswer:
    """A ticket for one GET of one path, such as `/events`, with the rights of this token: for
    EventSource, which can send no token. It works for thirty seconds, once; `url` is the path with
    it."""
    path = inputs.fields["path"]
    given, expires = services.tickets.give_ticket(unquote(path), inputs.caller)
    told = {"ticket": given, "url": f"{path}?{FIELD}={given}"}
    return HandlerAnswer("ticket_given", {**told, "expiresAt": wire.timestamp_of(expires)})


def _as_json(token: NamedToken) -> dict[str, object]:
    return {"name": token.name, "scopes": list(token.scopes), "created": token.created}
