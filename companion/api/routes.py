"""All routes of the API in one table: path, handler, what it takes, what it answers."""

from __future__ import annotations

from typing import Sequence

from aiohttp import web

from .. import __version__
from ..base import http_server
from .contract import openapi, schemas
from .contract.route import Route
from .contract.schemas import many, record, reference
from .contract.scopes import ADMIN, ANY, CHAT, DECIDE, FILES, OPEN, READ
from .contract.validation import Form
from .files import page_files
from .handlers import (
    agent_handlers,
    attachment_handlers,
    auth_handlers,
    chat_handlers,
    export_handlers,
    file_handlers,
    openai_handlers,
    operation_handlers,
    page_handlers,
    queue_handlers,
    session_handlers,
    token_handlers,
    undo_handlers,
)
from .handlers.handler_types import Handler, HandlerAnswer, Inputs, Services

# Statuses of errors that endpoints with the agent may answer.
AGENT = (400, 401, 403, 404, 409, 429, 500)
DISK = (400, 403, 404, 413, 500)
QUEUE = (400, 403, 404, 409, 500)


async def status(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Tells which versions run, also without a token. Tells nothing of conversations, and starts no
    process."""
    info = services.agent.process_info()
    cli = {"version": info.version, "running": info.is_running, "pid": info.pid}
    return HandlerAnswer("running", {"status": "ok", "version": __version__, "cli": cli})


async def document(services: Services, inputs: Inputs) -> web.StreamResponse:
    headers = {**inputs.headers, "Content-Type": http_server.JSON}
    body = http_server.in_pieces(openapi.encoded(API))
    return await http_server.send(inputs.request, 200, headers, body, may_compress=True)


NOTHING = Form(schemas.NOTHING)
TURN = {
    "events": {
        "operationId": "getChatTurnIdEvents",
        "parameters": {"turnId": "$response.body#/turnId"},
    }
}
API: tuple[Route[Handler], ...] = (
    Route("GET", "/status", OPEN, status, NOTHING, schemas.STATUS,
          "Check that the server answers."),
    Route("GET", "/healthz", OPEN, operation_handlers.healthz, NOTHING, schemas.HEALTH,
          "Check that the server is alive."),
    Route("GET", "/readyz", OPEN, operation_handlers.readyz, NOTHING, schemas.HEALTH,
          "Check that the server takes messages."),
    Route("GET", "/metrics", READ, operation_handlers.metrics, NOTHING, {},
          "Metrics for Prometheus.", (404,), media_type="text/plain"),
    Route("POST", "/auth/config", ADMIN, auth_handlers.configure, Form(schemas.AUTH_CONFIG),
          schemas.DONE,
          "Set the credentials; they are saved.", (400, 404, 409, 500)),
    Route("POST", "/auth/google-login", ADMIN, auth_handlers.google_login,
          Form(schemas.GOOGLE_LOGIN),
          schemas.LOGIN, "Log in with Google; without a code, get the address that gives one.",
          (400, 401, 404, 409, 500)),
    Route("GET", "/auth/status", READ, auth_handlers.status, Form(schemas.THE_AGENT),
          schemas.AUTH_STATUS, "Show the state of the login.", (400, 404)),
    Route("POST", "/auth/logout", ADMIN, auth_handlers.logout, Form(schemas.THE_AGENT),
          schemas.DONE,
          "Log out.", (400, 404, 500), is_urgent=True),
    Route("POST", "/auth/clear", ADMIN, auth_handlers.clear, Form(schemas.THE_AGENT), schemas.DONE,
          "Delete the saved credentials.", (400, 404, 500), is_urgent=True),
    Route("POST", "/chat", CHAT, chat_handlers.chat, Form(schemas.CHAT), schemas.CHAT_DONE,
          "Send a message.", AGENT, streams=True, links=TURN),
    Route("GET", "/chat/{turnId}/events", CHAT, chat_handlers.turn_events, Form(schemas.EVENTS), {},
          "Stream a turn's events, all of them or those after Last-Event-ID.", (400, 404),
          streams=True),
    Route("POST", "/tool-confirmation", DECIDE, chat_handlers.confirm,
          Form(schemas.TOOL_CONFIRMATION),
          schemas.DONE, "Decide on a tool call.", (400, 404, 500), is_urgent=True),
    Route("GET", "/tool-confirmations", READ, chat_handlers.confirmations, NOTHING,
          record({"confirmations": many(reference("StreamingEvent"))}),
          "List the tool calls that wait for a decision.", is_urgent=True),
    Route("POST", "/elicitation", DECIDE, chat_handlers.answer, Form(schemas.ELICITATION_ANSWER),
          schemas.DONE, "Answer a question of an agent.", (400, 404), is_urgent=True),
    Route("GET", "/elicitations", READ, chat_handlers.elicitations, NOTHING,
          record({"elicitations": many(reference("StreamingEvent"))}),
          "List the questions of agents that wait for an answer.", is_urgent=True),
    Route("POST", "/cancel", CHAT, chat_handlers.cancel, Form(schemas.CANCEL),
          record({"message": schemas.STRING, "cancelled": schemas.INTEGER}),
          "End the turn of a conversation, or all turns.", (400, 404), is_urgent=True),
    Route("GET", "/sessions", READ, session_handlers.sessions, Form(schemas.SESSIONS),
          schemas.SESSIONS_TOLD, "List the conversations, or search in them.", (400,),
          compresses=True),
    Route("POST", "/sessions", CHAT, session_handlers.new_session, Form(schemas.NEW_SESSION),
          schemas.SESSION_INFO, "Start a conversation.", AGENT, narrower={"mcpServers": ADMIN}),
    Route("POST", "/sessions/delete", CHAT, session_handlers.remove_many,
          Form(schemas.SESSIONS_REMOVED), schemas.SESSIONS_REMOVED_TOLD,
          "Delete several conversations.", (400,)),
    Route("GET", "/sessions/{sessionId}", READ, session_handlers.session, Form(schemas.THE_SESSION),
          schemas.SESSION_INFO, "Show one conversation.", (400, 404)),
    Route("GET", "/sessions/{sessionId}/export", READ, export_handlers.export, Form(schemas.EXPORT),
          schemas.EXPORTED, "Download a conversation.", (400, 404, 500),
          media_type=schemas.MARKDOWN, compresses=True),
    Route("POST", "/sessions/{sessionId}/fork", CHAT, session_handlers.fork, Form(schemas.FORK),
          schemas.SESSION_INFO, "Copy a conversation, until a turn.", (400, 404, 409, 500)),
    Route("PATCH", "/sessions/{sessionId}", CHAT, session_handlers.change,
          Form(schemas.SESSION_CHANGE),
          schemas.SESSION_INFO, "Change a conversation.", AGENT, narrower={"mode": DECIDE}),
    Route("DELETE", "/sessions/{sessionId}", CHAT, session_handlers.remove,
          Form(schemas.THE_SESSION),
          schemas.DONE, "Delete a conversation.", (400, 404, 409, 500)),
    Route("GET", "/sessions/{sessionId}/commands", CHAT, session_handlers.commands,
          Form(schemas.THE_SESSION), record({"commands": many(reference("SlashCommand"))}),
          "List the slash commands of the agent.", AGENT),
    Route("GET", "/sessions/{sessionId}/queue", READ, queue_handlers.listed,
          Form(schemas.THE_SESSION),
          schemas.QUEUE_TOLD, "List the messages that wait.", (400, 404)),
    Route("POST", "/sessions/{sessionId}/queue", CHAT, queue_handlers.add, Form(schemas.QUEUED),
          schemas.QUEUE_TOLD, "Add a message that waits until nothing else runs.", QUEUE),
    Route("PATCH", "/sessions/{sessionId}/queue/{queueId}", CHAT, queue_handlers.change,
          Form(schemas.QUEUE_CHANGE), schemas.QUEUE_TOLD, "Change or move a message that waits.",
          QUEUE),
    Route("DELETE", "/sessions/{sessionId}/queue/{queueId}", CHAT, queue_handlers.take_back,
          Form(schemas.THE_QUEUED), schemas.QUEUE_TOLD, "Take back a message that waits.", QUEUE),
    Route("POST", "/sessions/{sessionId}/queue/{queueId}/now", CHAT, queue_handlers.send_now,
          Form(schemas.THE_QUEUED), schemas.QUEUE_TOLD, "Send a message that waits, now.", QUEUE),
    Route("GET", "/sessions/{sessionId}/state", READ, session_handlers.state,
          Form(schemas.THE_SESSION),
          schemas.STATE, "Show what the agent has told of a conversation.", (400, 404)),
    Route("POST", "/sessions/{sessionId}/options", DECIDE, session_handlers.choose_option,
          Form(schemas.OPTION_CHOICE), schemas.STATE, "Choose one of the agent's options.", AGENT),
    Route("GET", "/sessions/{sessionId}/attachments", READ, attachment_handlers.listed,
          Form(schemas.THE_SESSION), record({"attachments": many(reference("Attachment"))}),
          "List the attachments of a conversation.", (400, 404, 500)),
    Route("POST", "/sessions/{sessionId}/attachments", CHAT, attachment_handlers.add,
          Form(schemas.THE_SESSION), schemas.ATTACHMENT,
          "Upload an image or a document.", (400, 404, 413, 500), uploads=True),
    Route("GET", "/sessions/{sessionId}/attachments/{attachmentId}", READ,
          attachment_handlers.content,
          Form(schemas.THE_ATTACHMENT), {}, "Download an attachment.", (400, 404, 500),
          media_type=schemas.BYTES),
    Route("DELETE", "/sessions/{sessionId}/attachments/{attachmentId}", CHAT,
          attachment_handlers.remove,
          Form(schemas.THE_ATTACHMENT), schemas.DONE, "Delete an attachment.", (400, 404, 500)),
    Route("GET", "/sessions/{sessionId}/messages", READ, session_handlers.messages,
          Form(schemas.MESSAGES), schemas.MESSAGES_TOLD, "Show the messages of a conversation.",
          (400, 404, 500), compresses=True),
    Route("GET", "/sessions/{sessionId}/turns/{turnId}/files", READ, undo_handlers.files,
          Form(schemas.THE_TURN), schemas.TURN_FILES, "List the files that a turn changed.",
          (400, 404, 500)),
    Route("POST", "/sessions/{sessionId}/turns/{turnId}/undo", FILES, undo_handlers.undo,
          Form(schemas.THE_TURN), schemas.TURN_FILES, "Undo the file changes of a turn.",
          (400, 404, 409, 500)),
    Route("GET", "/sessions/{sessionId}/events", READ, session_handlers.session_events,
          Form(schemas.SESSION_EVENTS), {}, "Stream the events of a conversation as they happen.",
          (400, 404, 500), streams=True),
    Route("GET", "/events", READ, session_handlers.all_events, Form(schemas.ALL_EVENTS), {},
          "Stream the events of all conversations as they happen.", (400, 404), streams=True),
    Route("GET", "/agents", READ, agent_handlers.agents, NOTHING,
          record({"agents": many(reference("AgentInfo"))}),
          "List the CLIs that the server offers."),
    Route("GET", "/models", CHAT, chat_handlers.models, Form(schemas.MODELS), schemas.MODELS_TOLD,
          "List the models, and show the one in use.", AGENT),
    Route("POST", "/model", CHAT, chat_handlers.set_model, Form(schemas.MODEL), schemas.MODELS_TOLD,
          "Choose a model.", AGENT),
    Route("GET", "/list-directory", FILES, file_handlers.list_directory,
          Form(schemas.LIST_DIRECTORY),
          schemas.DIRECTORY, "List the contents of a folder.", DISK),
    Route("POST", "/read-file", FILES, file_handlers.read_file, Form(schemas.READ_FILE),
          schemas.FILE_CONTENT, "Read a text file.", DISK),
    Route("POST", "/write-file", FILES, file_handlers.write_file, Form(schemas.WRITE_FILE),
          schemas.FILE_CONTENT, "Create or replace a file.", DISK),
    Route("POST", "/execute-command", ADMIN, file_handlers.execute_command,
          Form(schemas.EXECUTE_COMMAND),
          schemas.COMMAND_DONE, "Run a command, if the operator allows it.", (400, 403, 404)),
    Route("GET", "/v1/models", CHAT, openai_handlers.models, NOTHING, schemas.OPENAI_MODELS,
          "List the models, for clients of OpenAI's API.", AGENT, is_openai=True),
    Route("GET", "/v1/models/{model}", CHAT, openai_handlers.model, Form(schemas.OPENAI_THE_MODEL),
          schemas.OPENAI_MODEL, "Show one of these models.", AGENT, is_openai=True),
    Route("POST", "/v1/chat/completions", CHAT, openai_handlers.chat_completions,
          Form(schemas.OPENAI_CHAT), schemas.OPENAI_COMPLETION,
          "Send messages, for clients of OpenAI's API.", (*AGENT, 422), is_openai=True),
    Route("POST", "/v1/responses", CHAT, openai_handlers.responses,
          Form(schemas.OPENAI_RESPONSES), schemas.OPENAI_RESPONSE,
          "Send messages, for clients of OpenAI's Responses API.", (*AGENT, 422), is_openai=True),
    Route("GET", "/tokens", ADMIN, token_handlers.tokens, NOTHING,
          record({"tokens": many(reference("Token"))}), "List the named tokens.", is_urgent=True),
    Route("POST", "/tokens", ADMIN, token_handlers.give, Form(schemas.NEW_TOKEN),
          schemas.TOKEN_GIVEN, "Make a named token with scopes.", (400, 409, 500), is_urgent=True),
    Route("POST", "/tokens/{name}/renew", ADMIN, token_handlers.renew, Form(schemas.THE_TOKEN),
          schemas.TOKEN_GIVEN, "Replace a named token by a new one.", (404, 500), is_urgent=True),
    Route("DELETE", "/tokens/{name}", ADMIN, token_handlers.withdraw, Form(schemas.THE_TOKEN),
          schemas.DONE, "Withdraw a named token.", (404, 500), is_urgent=True),
    Route("POST", "/tickets", ANY, token_handlers.ticket, Form(schemas.NEW_TICKET),
          schemas.TICKET, "Get a ticket with which EventSource opens one stream."),
    Route("GET", "/openapi.json", READ, document, NOTHING, {}, "Download this description."),
)  # fmt: skip


def pages(names: Sequence[str]) -> tuple[Route[Handler], ...]:
    """The routes of the web page's files. They are not part of the API."""
    paths = ["/" + name for name in names] + ["/"] * (page_files.INDEX in names)
    return tuple(
        Route("GET", path, OPEN, page_handlers.serve, NOTHING, {}, "The web page.")
        for path in paths
    )
