"""Handlers of /auth: credentials and logins for a model's API.

A change of credentials is completed even if the client leaves.
"""

from __future__ import annotations

from ...agent import wire
from ...agent.agent import Account
from ...agent.credentials import OWN, Credentials
from ...agent.failure import AUTH_REQUIRED, VALIDATION_ERROR, AgentError
from ...agent.sentence import sentence
from ...base.http_server import outlive_client
from ..contract.refusal import Refusal
from .handler_types import HandlerAnswer, Inputs, Services

ONLY_BY_USER = sentence(
    "Only the user of this computer can choose their own login for {cli}, in the editor."
)


async def configure_auth(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Set and save the credentials. Without `agent`, they are for the first agent that accepts
    them."""
    fields = inputs.fields
    credentials = Credentials(
        fields["authType"],
        fields.get("apiKey", "").strip(),
        fields.get("googleCloudProject", ""),
        fields.get("googleCloudLocation", ""),
        fields.get("baseUrl", ""),
        fields.get("model", ""),
    )
    backends, agent = services.agent.backends, fields.get("agent")
    backend = backends.backend_for(credentials.kind) if agent is None else backends[agent]
    if credentials.kind == OWN and OWN not in backend.cli.kinds:
        # It would have their home and all their logins.
        raise AgentError(VALIDATION_ERROR, ONLY_BY_USER.with_values(cli=backend.cli.name))
    outlive_client(inputs.request)
    await backend.account.configure_credentials(credentials)
    return HandlerAnswer("auth_configured")


async def google_login(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Log in with Google. Without `code`, the answer has the address that gives one; with it, the
    login is completed. `state` is accepted and ignored, because this flow has none."""
    code = inputs.fields.get("code")
    if code is None:
        login = await _account_of(services, inputs).begin_login()
        if login is None:
            return HandlerAnswer("logged_in")
        expires = wire.timestamp_of(login.expires)
        return HandlerAnswer("login_begun", {"data": {"authUrl": login.url, "expiresAt": expires}})
    outlive_client(inputs.request)
    try:
        await _account_of(services, inputs).finish_login(code)
    except AgentError as error:
        if error.code != AUTH_REQUIRED or not error.details.startswith("https://"):
            raise
        # The client may try another code, for which it needs the address.
        more = {"data": {"authUrl": error.details}}
        raise Refusal(AUTH_REQUIRED, more=more, reason=error.message) from None
    return HandlerAnswer("logged_in")


async def get_auth_status(services: Services, inputs: Inputs) -> HandlerAnswer:
    await _account_of(services, inputs).refresh_credentials()
    known = _account_of(services, inputs).client_status()
    data = {
        "isAuthenticated": known.is_authenticated,
        "authType": known.kind,
        "hasApiKey": known.has_api_key,
        "hasGoogleCloudConfig": known.has_google_cloud_config,
        "account": known.account,
        "verified": known.is_verified,
    }
    return HandlerAnswer("auth_told", {"data": data})


async def log_out(services: Services, inputs: Inputs) -> HandlerAnswer:
    outlive_client(inputs.request)
    await _account_of(services, inputs).logout()
    return HandlerAnswer("logged_out")


async def clear_auth(services: Services, inputs: Inputs) -> HandlerAnswer:
    outlive_client(inputs.request)
    await _account_of(services, inputs).clear_credentials()
    return HandlerAnswer("auth_cleared")


def _account_of(services: Services, inputs: Inputs) -> Account:
    """Raises AgentError."""
    return services.agent.backends[inputs.fields.get("agent")].account
