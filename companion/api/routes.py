"""All routes of the API in one table: path, handler, what it takes, what it answers."""

from __future__ import annotations

from typing import Sequence

from aiohttp import web

from .. import __version__
from ..base import http_server
from .contract import openapi, schemas
from .contract.route import Route
from .contract.schemas import many, record, reference
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
    undo_handlers,
)
from .handlers.handler_types import Answer, Handler, Inputs, Services

# Statuses of errors that endpoints with the agent may answer.
AGENT = (400, 401, 403, 404, 409, 429, 500)
DISK = (400, 403, 404, 413, 500)
QUEUE = (400, 403, 404, 409, 500)


async def status(services: Services, inputs: Inputs) -> Answer:
    """Tells which versions run, also without a token. Tells nothing of conversations, and starts no
    process."""
    info = services.agent.info()
    cli = {"version": info.version, "running": info.is_running, "pid": info.pid}
    return Answer("running", {"status": "ok", "version": __version__, "cli": cli})


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
    Route("GET", "/status", status, NOTHING, schemas.STATUS,
          "Check that the server answers.", is_open=True),
    Route("GET", "/healthz", operation_handlers.healthz, NOTHING, schemas.HEALTH,
          "Check that the server is alive.", is_open=True),
    Route("GET", "/readyz", operation_handlers.readyz, NOTHING, schemas.HEALTH,
          "Check that the server takes messages.", is_open=True),
    Route("GET", "/metrics", operation_handlers.metrics, NOTHING, {},
          "Metrics for Prometheus.", (404,), media_type="text/plain", only_reads=True),
    Route("POST", "/auth/config", auth_handlers.configure, Form(schemas.AUTH_CONFIG), schemas.DONE,
          "Set the credentials; they are saved.", (400, 404, 409, 500)),
    Route("POST", "/auth/google-login", auth_handlers.google_login, Form(schemas.GOOGLE_LOGIN),
          schemas.LOGIN, "Log in with Google; without a code, get the address that gives one.",
          (400, 401, 404, 409, 500)),
    Route("GET", "/auth/status", auth_handlers.status, Form(schemas.THE_AGENT),
          schemas.AUTH_STATUS, "Show the state of the login.", (400, 404), only_reads=True),
    Route("POST", "/auth/logout", auth_handlers.logout, Form(schemas.THE_AGENT), schemas.DONE,
          "Log out.", (400, 404, 500)),
    Route("POST", "/auth/clear", auth_handlers.clear, Form(schemas.THE_AGENT), schemas.DONE,
          "Delete the saved credentials.", (400, 404, 500)),
    Route("POST", "/chat", chat_handlers.chat, Form(schemas.CHAT), schemas.CHAT_DONE,
          "Send a message.", AGENT, streams=True, links=TURN),
    Route("GET", "/chat/{turnId}/events", chat_handlers.turn_events, Form(schemas.EVENTS), {},
          "Stream a turn's events, all of them or those after Last-Event-ID.", (400, 404),
          streams=True),
    Route("POST", "/tool-confirmation", chat_handlers.confirm, Form(schemas.TOOL_CONFIRMATION),
          schemas.DONE, "Decide on a tool call.", (400, 404, 500)),
    Route("GET", "/tool-confirmations", chat_handlers.confirmations, NOTHING,
          record({"confirmations": many(reference("StreamingEvent"))}),
          "List the tool calls that wait for a decision.", only_reads=True),
    Route("POST", "/elicitation", chat_handlers.answer, Form(schemas.ELICITATION_ANSWER),
          schemas.DONE, "Answer a question of an agent.", (400, 404)),
    Route("GET", "/elicitations", chat_handlers.elicitations, NOTHING,
          record({"elicitations": many(reference("StreamingEvent"))}),
          "List the questions of agents that wait for an answer.", only_reads=True),
    Route("POST", "/cancel", chat_handlers.cancel, Form(schemas.CANCEL),
          record({"message": schemas.STRING, "cancelled": schemas.INTEGER}),
          "End the turn of a conversation, or all turns.", (400, 404)),
    Route("GET", "/sessions", session_handlers.sessions, Form(schemas.SESSIONS),
          schemas.SESSIONS_TOLD, "List the conversations, or search in them.", (400,),
          only_reads=True, compresses=True),
    Route("POST", "/sessions", session_handlers.new_session, Form(schemas.NEW_SESSION),
          schemas.SESSION_INFO, "Start a conversation.", AGENT),
    Route("POST", "/sessions/delete", session_handlers.remove_many,
          Form(schemas.SESSIONS_REMOVED), schemas.SESSIONS_REMOVED_TOLD,
          "Delete several conversations.", (400,)),
    Route("GET", "/sessions/{sessionId}", session_handlers.session, Form(schemas.THE_SESSION),
          schemas.SESSION_INFO, "Show one conversation.", (400, 404), only_reads=True),
    Route("GET", "/sessions/{sessionId}/export", export_handlers.export, Form(schemas.EXPORT),
          schemas.EXPORTED, "Download a conversation.", (400, 404, 500),
          media_type=schemas.MARKDOWN, only_reads=True, compresses=True),
    Route("POST", "/sessions/{sessionId}/fork", session_handlers.fork, Form(schemas.FORK),
          schemas.SESSION_INFO, "Copy a conversation, until a turn.", (400, 404, 409, 500)),
    Route("PATCH", "/sessions/{sessionId}", session_handlers.change, Form(schemas.SESSION_CHANGE),
          schemas.SESSION_INFO, "Change a conversation.", AGENT),
    Route("DELETE", "/sessions/{sessionId}", session_handlers.remove, Form(schemas.THE_SESSION),
          schemas.DONE, "Delete a conversation.", (400, 404, 409, 500)),
    Route("GET", "/sessions/{sessionId}/commands", session_handlers.commands,
          Form(schemas.THE_SESSION), record({"commands": many(reference("SlashCommand"))}),
          "List the slash commands of the agent.", AGENT),
    Route("GET", "/sessions/{sessionId}/queue", queue_handlers.listed, Form(schemas.THE_SESSION),
          schemas.QUEUE_TOLD, "List the messages that wait.", (400, 404), only_reads=True),
    Route("POST", "/sessions/{sessionId}/queue", queue_handlers.add, Form(schemas.QUEUED),
          schemas.QUEUE_TOLD, "Add a message that waits until nothing else runs.", QUEUE),
    Route("PATCH", "/sessions/{sessionId}/queue/{queueId}", queue_handlers.change,
          Form(schemas.QUEUE_CHANGE), schemas.QUEUE_TOLD, "Change or move a message that waits.",
          QUEUE),
    Route("DELETE", "/sessions/{sessionId}/queue/{queueId}", queue_handlers.take_back,
          Form(schemas.THE_QUEUED), schemas.QUEUE_TOLD, "Take back a message that waits.", QUEUE),
    Route("POST", "/sessions/{sessionId}/queue/{queueId}/now", queue_handlers.send_now,
          Form(schemas.THE_QUEUED), schemas.QUEUE_TOLD, "Send a message that waits, now.", QUEUE),
    Route("GET", "/sessions/{sessionId}/state", session_handlers.state, Form(schemas.THE_SESSION),
          schemas.STATE, "Show what the agent has told of a conversation.", (400, 404),
          only_reads=True),
    Route("POST", "/sessions/{sessionId}/options", session_handlers.choose_option,
          Form(schemas.OPTION_CHOICE), schemas.STATE, "Choose one of the agent's options.", AGENT),
    Route("GET", "/sessions/{sessionId}/attachments", attachment_handlers.listed,
          Form(schemas.THE_SESSION), record({"attachments": many(reference("Attachment"))}),
          "List the attachments of a conversation.", (400, 404, 500), only_reads=True),
    Route("POST", "/sessions/{sessionId}/attachments", attachment_handlers.add,
          Form(schemas.THE_SESSION), schemas.ATTACHMENT,
          "Upload an image or a document.", (400, 404, 413, 500), uploads=True),
    Route("GET", "/sessions/{sessionId}/attachments/{attachmentId}", attachment_handlers.content,
          Form(schemas.THE_ATTACHMENT), {}, "Download an attachment.", (400, 404, 500),
          media_type=schemas.BYTES, only_reads=True),
    Route("DELETE", "/sessions/{sessionId}/attachments/{attachmentId}", attachment_handlers.remove,
          Form(schemas.THE_ATTACHMENT), schemas.DONE, "Delete an attachment.", (400, 404, 500)),
    Route("GET", "/sessions/{sessionId}/messages", session_handlers.messages,
          Form(schemas.MESSAGES), schemas.MESSAGES_TOLD, "Show the messages of a conversation.",
          (400, 404, 500), only_reads=True, compresses=True),
    Route("GET", "/sessions/{sessionId}/turns/{turnId}/files", undo_handlers.files,
          Form(schemas.THE_TURN), schemas.TURN_FILES, "List the files that a turn changed.",
          (400, 404, 500), only_reads=True),
    Route("POST", "/sessions/{sessionId}/turns/{turnId}/undo", undo_handlers.undo,
          Form(schemas.THE_TURN), schemas.TURN_FILES, "Undo the file changes of a turn.",
          (400, 404, 409, 500)),
    Route("GET", "/sessions/{sessionId}/events", session_handlers.session_events,
          Form(schemas.THE_SESSION), {}, "Stream the events of a conversation as they happen.",
          (400, 404, 500), streams=True, only_reads=True),
    Route("GET", "/events", session_handlers.all_events, NOTHING, {},
          "Stream the events of all conversations as they happen.", (404,), streams=True,
          only_reads=True),
    Route("GET", "/agents", agent_handlers.agents, NOTHING,
          record({"agents": many(reference("AgentInfo"))}), "List the CLIs that the server offers.",
          only_reads=True),
    Route("GET", "/models", chat_handlers.models, Form(schemas.MODELS), schemas.MODELS_TOLD,
          "List the models, and show the one in use.", AGENT),
    Route("POST", "/model", chat_handlers.set_model, Form(schemas.MODEL), schemas.MODELS_TOLD,
          "Choose a model.", AGENT),
    Route("GET", "/list-directory", file_handlers.list_directory, Form(schemas.LIST_DIRECTORY),
          schemas.DIRECTORY, "List the contents of a folder.", DISK),
    Route("POST", "/read-file", file_handlers.read_file, Form(schemas.READ_FILE),
          schemas.FILE_CONTENT, "Read a text file.", DISK),
    Route("POST", "/write-file", file_handlers.write_file, Form(schemas.WRITE_FILE),
          schemas.FILE_CONTENT, "Create or replace a file.", DISK),
    Route("POST", "/execute-command", file_handlers.execute_command, Form(schemas.EXECUTE_COMMAND),
          schemas.COMMAND_DONE, "Run a command, if the operator allows it.", (400, 403, 404)),
    Route("GET", "/v1/models", openai_handlers.models, NOTHING, schemas.OPENAI_MODELS,
          "List the models, for clients of OpenAI's API.", AGENT, is_openai=True),
    Route("GET", "/v1/models/{model}", openai_handlers.model, Form(schemas.OPENAI_THE_MODEL),
          schemas.OPENAI_MODEL, "Show one of these models.", AGENT, is_openai=True),
    Route("POST", "/v1/chat/completions", openai_handlers.chat_completions,
          Form(schemas.OPENAI_CHAT), schemas.OPENAI_COMPLETION,
          "Send messages, for clients of OpenAI's API.", (*AGENT, 422), is_openai=True),
    Route("GET", "/openapi.json", document, NOTHING, {}, "Download this description.",
          only_reads=True),
)  # fmt: skip


def pages(names: Sequence[str]) -> tuple[Route[Handler], ...]:
    """The routes of the web page's files. They are not part of the API."""
    paths = ["/" + name for name in names] + ["/"] * (page_files.INDEX in names)
    return tuple(
        Route("GET", path, page_handlers.serve, NOTHING, {}, "The web page.", is_open=True)
        for path in paths
    )
