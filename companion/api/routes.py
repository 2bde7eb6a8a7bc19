"""All routes of the API in one table: path, handler, what it takes, what it answers."""

from __future__ import annotations

from typing import Sequence

from aiohttp import web

from .. import __version__
from ..base import http_server
from .contract import openapi, schemas
from .contract.route import Route
from .contract.schemas import list_schema, object_schema, schema_reference
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


async def get_status(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Tells which versions run, also without a token. Tells nothing of conversations, and starts no
    process."""
    info = services.agent.process_info()
    cli = {"version": info.version, "running": info.is_running, "pid": info.pid}
    return HandlerAnswer("running", {"status": "ok", "version": __version__, "cli": cli})


async def get_document(services: Services, inputs: Inputs) -> web.StreamResponse:
    headers = {**inputs.headers, "Content-Type": http_server.JSON}
    body = http_server.in_pieces(openapi.encoded_document(API))
    return await http_server.send_pieces(inputs.request, 200, headers, body, may_compress=True)


NOTHING = Form(schemas.NOTHING)
TURN = {
    "events": {
        "operationId": "getChatTurnIdEvents",
        "parameters": {"turnId": "$response.body#/turnId"},
    }
}
API: tuple[Route[Handler], ...] = (
    Route("GET", "/status", OPEN, get_status, NOTHING, schemas.STATUS,
          "Check that the server answers."),
    Route("GET", "/healthz", OPEN, operation_handlers.check_health, NOTHING, schemas.HEALTH,
          "Check that the server is alive."),
    Route("GET", "/readyz", OPEN, operation_handlers.check_readiness, NOTHING, schemas.HEALTH,
          "Check that the server takes messages."),
    Route("GET", "/metrics", READ, operation_handlers.get_metrics, NOTHING, {},
          "Metrics for Prometheus.", (404,), media_type="text/plain"),
    Route("POST", "/auth/config", ADMIN, auth_handlers.configure_auth, Form(schemas.AUTH_CONFIG),
          schemas.DONE,
          "Set the credentials; they are saved.", (400, 404, 409, 500)),
    Route("POST", "/auth/google-login", ADMIN, auth_handlers.google_login,
          Form(schemas.GOOGLE_LOGIN),
          schemas.LOGIN, "Log in with Google; without a code, get the address that gives one.",
          (400, 401, 404, 409, 500)),
    Route("GET", "/auth/status", READ, auth_handlers.get_auth_status, Form(schemas.THE_AGENT),
          schemas.AUTH_STATUS, "Show the state of the login.", (400, 404)),
    Route("POST", "/auth/logout", ADMIN, auth_handlers.log_out, Form(schemas.THE_AGENT),
          schemas.DONE,
          "Log out.", (400, 404, 500), is_urgent=True),
    Route("POST", "/auth/clear", ADMIN, auth_handlers.clear_auth, Form(schemas.THE_AGENT),
          schemas.DONE,
          "Delete the saved credentials.", (400, 404, 500), is_urgent=True),
    Route("POST", "/chat", CHAT, chat_handlers.send_message, Form(schemas.CHAT), schemas.CHAT_DONE,
          "Send a message.", AGENT, streams=True, links=TURN),
    Route("GET", "/chat/{turnId}/events", CHAT, chat_handlers.turn_events, Form(schemas.EVENTS), {},
          "Stream a turn's events, all of them or those after Last-Event-ID.", (400, 404),
          streams=True),
    Route("POST", "/tool-confirmation", DECIDE, chat_handlers.confirm_call,
          Form(schemas.TOOL_CONFIRMATION),
          schemas.DONE, "Decide on a tool call.", (400, 404, 500), is_urgent=True),
    Route("GET", "/tool-confirmations", READ, chat_handlers.list_confirmations, NOTHING,
          object_schema({"confirmations": list_schema(schema_reference("StreamingEvent"))}),
          "List the tool calls that wait for a decision.", is_urgent=True),
    Route("POST", "/elicitation", DECIDE, chat_handlers.answer_elicitation,
          Form(schemas.ELICITATION_ANSWER),
          schemas.DONE, "Answer a question of an agent.", (400, 404), is_urgent=True),
    Route("GET", "/elicitations", READ, chat_handlers.list_elicitations, NOTHING,
          object_schema({"elicitations": list_schema(schema_reference("StreamingEvent"))}),
          "List the questions of agents that wait for an answer.", is_urgent=True),
    Route("POST", "/cancel", CHAT, chat_handlers.cancel_turns, Form(schemas.CANCEL),
          object_schema({"message": schemas.STRING, "cancelled": schemas.INTEGER}),
          "End the turn of a conversation, or all turns.", (400, 404), is_urgent=True),
    Route("POST", "/sessions/{sessionId}/subagents/stop", CHAT, chat_handlers.stop_subagent,
          Form(schemas.THE_SUBAGENT), schemas.DONE,
          "Stop one subagent; the turn goes on.", (400, 404), is_urgent=True),
    Route("GET", "/sessions", READ, session_handlers.list_sessions, Form(schemas.SESSIONS),
          schemas.SESSIONS_TOLD, "List the conversations, or search in them.", (400,),
          compresses=True),
    Route("POST", "/sessions", CHAT, session_handlers.new_session, Form(schemas.NEW_SESSION),
          schemas.SESSION_INFO, "Start a conversation.", AGENT, narrower={"mcpServers": ADMIN}),
    Route("POST", "/sessions/delete", CHAT, session_handlers.remove_many,
          Form(schemas.SESSIONS_REMOVED), schemas.SESSIONS_REMOVED_TOLD,
          "Delete several conversations.", (400,)),
    Route("GET", "/sessions/{sessionId}", READ, session_handlers.get_session,
          Form(schemas.THE_SESSION),
          schemas.SESSION_INFO, "Show one conversation.", (400, 404)),
    Route("GET", "/sessions/{sessionId}/export", READ, export_handlers.export_conversation,
          Form(schemas.EXPORT),
          schemas.EXPORTED, "Download a conversation.", (400, 404, 500),
          media_type=schemas.MARKDOWN, compresses=True),
    Route("POST", "/sessions/{sessionId}/fork", CHAT, session_handlers.fork_session,
          Form(schemas.FORK),
          schemas.SESSION_INFO, "Copy a conversation, until a turn.", (400, 404, 409, 500)),
    Route("PATCH", "/sessions/{sessionId}", CHAT, session_handlers.change_session,
          Form(schemas.SESSION_CHANGE),
          schemas.SESSION_INFO, "Change a conversation.", AGENT, narrower={"mode": DECIDE}),
    Route("DELETE", "/sessions/{sessionId}", CHAT, session_handlers.remove_session,
          Form(schemas.THE_SESSION),
          schemas.DONE, "Delete a conversation.", (400, 404, 409, 500)),
    Route("GET", "/sessions/{sessionId}/commands", CHAT, session_handlers.list_commands,
          Form(schemas.THE_SESSION),
          object_schema({"commands": list_schema(schema_reference("SlashCommand"))}),
          "List the slash commands of the agent.", AGENT),
    Route("GET", "/sessions/{sessionId}/queue", READ, queue_handlers.list_queue,
          Form(schemas.THE_SESSION),
          schemas.QUEUE_TOLD, "List the messages that wait.", (400, 404)),
    Route("POST", "/sessions/{sessionId}/queue", CHAT, queue_handlers.add_message,
          Form(schemas.QUEUED),
          schemas.QUEUE_TOLD, "Add a message that waits until nothing else runs.", QUEUE),
    Route("PATCH", "/sessions/{sessionId}/queue/{queueId}", CHAT, queue_handlers.change_message,
          Form(schemas.QUEUE_CHANGE), schemas.QUEUE_TOLD, "Change or move a message that waits.",
          QUEUE),
    Route("DELETE", "/sessions/{sessionId}/queue/{queueId}", CHAT, queue_handlers.take_back,
          Form(schemas.THE_QUEUED), schemas.QUEUE_TOLD, "Take back a message that waits.", QUEUE),
    Route("POST", "/sessions/{sessionId}/queue/{queueId}/now", CHAT, queue_handlers.send_now,
          Form(schemas.THE_QUEUED), schemas.QUEUE_TOLD, "Send a message that waits, now.", QUEUE),
    Route("GET", "/sessions/{sessionId}/state", READ, session_handlers.get_state,
          Form(schemas.THE_SESSION),
          schemas.STATE, "Show what the agent has told of a conversation.", (400, 404)),
    Route("POST", "/sessions/{sessionId}/options", DECIDE, session_handlers.choose_option,
          Form(schemas.OPTION_CHOICE), schemas.STATE, "Choose one of the agent's options.", AGENT),
    Route("GET", "/sessions/{sessionId}/attachments", READ, attachment_handlers.list_attachments,
          Form(schemas.THE_SESSION),
          object_schema({"attachments": list_schema(schema_reference("Attachment"))}),
          "List the attachments of a conversation.", (400, 404, 500)),
    Route("POST", "/sessions/{sessionId}/attachments", CHAT, attachment_handlers.add_attachment,
          Form(schemas.THE_SESSION), schemas.ATTACHMENT,
          "Upload an image or a document.", (400, 404, 413, 500), uploads=True),
    Route("GET", "/sessions/{sessionId}/attachments/{attachmentId}", READ,
          attachment_handlers.get_attachment,
          Form(schemas.THE_ATTACHMENT), {}, "Download an attachment.", (400, 404, 500),
          media_type=schemas.BYTES),
    Route("DELETE", "/sessions/{sessionId}/attachments/{attachmentId}", CHAT,
          attachment_handlers.remove_attachment,
          Form(schemas.THE_ATTACHMENT), schemas.DONE, "Delete an attachment.", (400, 404, 500)),
    Route("GET", "/sessions/{sessionId}/messages", READ, session_handlers.list_messages,
          Form(schemas.MESSAGES), schemas.MESSAGES_TOLD, "Show the messages of a conversation.",
          (400, 404, 500), compresses=True),
    Route("GET", "/sessions/{sessionId}/turns/{turnId}/files", READ,
          undo_handlers.list_changed_files,
          Form(schemas.THE_TURN), schemas.TURN_FILES, "List the files that a turn changed.",
          (400, 404, 500)),
    Route("POST", "/sessions/{sessionId}/turns/{turnId}/undo", FILES, undo_handlers.undo_turn,
          Form(schemas.THE_TURN), schemas.TURN_FILES, "Undo the file changes of a turn.",
          (400, 404, 409, 500)),
    Route("GET", "/sessions/{sessionId}/events", READ, session_handlers.session_events,
          Form(schemas.SESSION_EVENTS), {}, "Stream the events of a conversation as they happen.",
          (400, 404, 500), streams=True),
    Route("GET", "/events", READ, session_handlers.all_events, Form(schemas.ALL_EVENTS), {},
          "Stream the events of all conversations as they happen.", (400, 404), streams=True),
    Route("GET", "/agents", READ, agent_handlers.list_agents, NOTHING,
          object_schema({"agents": list_schema(schema_reference("AgentInfo"))}),
          "List the CLIs that the server offers."),
    Route("GET", "/models", CHAT, chat_handlers.list_models, Form(schemas.MODELS),
          schemas.MODELS_TOLD,
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
    Route("GET", "/v1/models", CHAT, openai_handlers.list_models, NOTHING, schemas.OPENAI_MODELS,
          "List the models, for clients of OpenAI's API.", AGENT, is_openai=True),
    Route("GET", "/v1/models/{model}", CHAT, openai_handlers.get_model,
          Form(schemas.OPENAI_THE_MODEL),
          schemas.OPENAI_MODEL, "Show one of these models.", AGENT, is_openai=True),
    Route("POST", "/v1/chat/completions", CHAT, openai_handlers.chat_completions,
          Form(schemas.OPENAI_CHAT), schemas.OPENAI_COMPLETION,
          "Send messages, for clients of OpenAI's API.", (*AGENT, 422), is_openai=True),
    Route("POST", "/v1/responses", CHAT, openai_handlers.create_response,
          Form(schemas.OPENAI_RESPONSES), schemas.OPENAI_RESPONSE,
          "Send messages, for clients of OpenAI's Responses API.", (*AGENT, 422), is_openai=True),
    Route("GET", "/tokens", ADMIN, token_handlers.list_tokens, NOTHING,
          object_schema({"tokens": list_schema(schema_reference("Token"))}),
          "List the named tokens.", is_urgent=True),
    Route("POST", "/tokens", ADMIN, token_handlers.give_token, Form(schemas.NEW_TOKEN),
          schemas.TOKEN_GIVEN, "Make a named token with scopes.", (400, 409, 500), is_urgent=True),
    Route("POST", "/tokens/{name}/renew", ADMIN, token_handlers.renew_token,
          Form(schemas.THE_TOKEN),
          schemas.TOKEN_GIVEN, "Replace a named token by a new one.", (404, 500), is_urgent=True),
    Route("DELETE", "/tokens/{name}", ADMIN, token_handlers.withdraw_token, Form(schemas.THE_TOKEN),
          schemas.DONE, "Withdraw a named token.", (404, 500), is_urgent=True),
    Route("POST", "/tickets", ANY, token_handlers.give_ticket, Form(schemas.NEW_TICKET),
          schemas.TICKET, "Get a ticket with which EventSource opens one stream."),
    Route("GET", "/openapi.json", READ, get_document, NOTHING, {}, "Download this description."),
)  # fmt: skip


def page_routes(names: Sequence[str]) -> tuple[Route[Handler], ...]:
    """The routes of the web page's files. They are not part of the API."""
    paths = ["/" + name for name in names] + ["/"] * (page_files.INDEX in names)
    return tuple(
        Route("GET", path, OPEN, page_handlers.serve_page_file, NOTHING, {}, "The web page.")
        for path in paths
    )
