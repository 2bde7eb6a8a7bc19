"""The fields of requests and answers as JSON Schema, with their types and lengths. Requests are
checked by these schemas, and openapi.json contains them.

Optional fields of requests may be null, which counts as missing: several languages write missing
values that way.
"""

from __future__ import annotations

from typing import Any, Mapping

from ...agent import elicitation, session_state
from ...agent.attachments import MEDIA_TYPES
from ...agent.credentials import ANTHROPIC, API_KEY, GOOGLE, OPENAI, OWN, VERTEX
from ...agent.credentials import KINDS as AUTH_TYPES
from ...agent.supported import CLIS
from ...agent.tool_servers import HTTP, STDIO
from ...agent.turn_events import MAX_CHARACTERS, MAX_MESSAGES, OUTCOMES
from ...agent.turn_undo import AS_LEFT, CHANGED, CREATED, NOT_STORED, OTHER, UNDONE
from .scopes import GRANTED

Schema = Mapping[str, Any]

# The most characters of a message, of a path, and of an id or a name.
MAX_MESSAGE, MAX_PATH, MAX_NAME = 2_000_000, 4096, 512
# The most characters of a call's id: the CLI makes some ids from a file's path, and takes others
# from the model's API.
MAX_CALL = 2 * MAX_PATH
# The most characters of a key, of a login code, and of a command.
MAX_KEY, MAX_CODE, MAX_COMMAND = 4096, 2000, 100_000
# The most bytes of a file that is read or written, as UTF-8.
MAX_FILE = 10 << 20
# Media types of bodies that are not JSON: a form with a file in the member UPLOAD_FIELD, and plain
# bytes, which a browser neither shows nor runs.
MULTIPART, BYTES = "multipart/form-data", "application/octet-stream"
UPLOAD_FIELD = "file"
# The most files attached to a message by path, and the most uploads.
MAX_FILES, MAX_ATTACHED = 100, 10
# The most conversations that are deleted at once.
MAX_REMOVED = 1000
# The most tool servers of a conversation, and the most arguments, variables or headers of each.
MAX_SERVERS, MAX_PAIRS = 20, 100
# The most seconds that a command may ask for.
MAX_SECONDS = 3600


def text(longest: int, shortest: int = 0, **more: Any) -> dict[str, Any]:
    least = {"minLength": shortest} if shortest else {}
    return {"type": "string", **least, "maxLength": longest, **more}


def optional(schema: Schema) -> dict[str, Any]:
    choices = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    return {**schema, "type": [*types, "null"], **choices}


def record(required: Schema, others: Schema = {}) -> dict[str, Any]:  # noqa: B006 (never changed)
    """An object. Members that are not named are allowed, and ignored."""
    result: dict[str, Any] = {"type": "object", "properties": {**required, **others}}
    return {**result, "required": list(required)} if required else result


def many(items: Schema) -> dict[str, Any]:
    return {"type": "array", "items": items}


def form(required: Schema, others: Schema = {}) -> dict[str, Any]:  # noqa: B006 (never changed)
    return record(required, {name: optional(others[name]) for name in others})


def reference(name: str) -> dict[str, Any]:
    return {"$ref": "#/components/schemas/" + name}


STRING, BOOLEAN, INTEGER = {"type": "string"}, {"type": "boolean"}, {"type": "integer"}
TEXT_OR_NULL = {"type": ["string", "null"]}
TIME = {"type": "string", "format": "date-time"}
ANYTHING = {"type": "object", "additionalProperties": True}
EXECUTION = {"type": "string", "enum": ["pending", "executing", "completed", "failed"]}
NOTHING: Schema = form({})

# No operating system accepts a NUL in a path.
PATH, NAME, ID = text(MAX_PATH, 1, pattern=r"^[^\x00]*$"), text(MAX_NAME, 1), text(64, 1)
# For texts that become arguments of a process, or HTTP headers.
LINE = text(MAX_PATH, pattern=r"^[^\x00\r\n]*$")
# A key becomes an HTTP header; white space around it is ignored. Project and location become
# environment variables of a process. The pattern never takes long, whatever the text.
KEY = text(MAX_KEY, pattern=r"^[\t\n\r ]*([!-~]+( +[!-~]+)*)?[\t\n\r ]*$")
CLOUD_NAME = text(MAX_NAME, pattern=r"^[ -~]*$")
WORKSPACE = {"workspacePath": PATH}
SESSION = {"sessionId": NAME}
# Its id: one of the rows, or that of an agent of which the operator named the command.
AGENT = {"agent": text(64, 1)}
# White space in it can only be a mistake of the client.
URL = text(MAX_PATH, pattern=r"^https?://[!-~]+$")

# Requests.

_SOME_KEY = {"type": "string", "pattern": "[!-~]"}
_SOME_NAME = {"type": "string", "minLength": 1}


def _credentials(kind: str, needed: Schema) -> dict[str, Any]:
    """Credentials of this kind, for an agent that accepts them."""
    agents = [id for id, cli in CLIS.items() if kind in cli.kinds]
    return record({"authType": {"const": kind}, **needed}, {"agent": {"enum": [*agents, None]}})


# `anyOf` says which fields go together; the agent checks that, and says what is missing.
AUTH_CONFIG = {
    **form(
        {"authType": {"type": "string", "enum": list(AUTH_TYPES)}},
        {
            "apiKey": KEY,
            "googleCloudProject": CLOUD_NAME,
            "googleCloudLocation": CLOUD_NAME,
            "baseUrl": URL,
            "model": CLOUD_NAME,
            **AGENT,
        },
    ),
    "anyOf": [
        _credentials(API_KEY, {"apiKey": _SOME_KEY}),
        _credentials(VERTEX, {"apiKey": _SOME_KEY}),
        _credentials(VERTEX, {"googleCloudProject": _SOME_NAME, "googleCloudLocation": _SOME_NAME}),
        _credentials(GOOGLE, {}),
        _credentials(OPENAI, {"apiKey": _SOME_KEY}),
        _credentials(ANTHROPIC, {"apiKey": _SOME_KEY}),
        record({"authType": {"const": OWN}, "agent": STRING}),
    ],
}
GOOGLE_LOGIN = form({}, {"code": text(MAX_CODE, 1), "state": text(MAX_CODE), **AGENT})
THE_AGENT = form({}, AGENT)
CHAT = {
    **form(
        {"message": text(MAX_MESSAGE, 1)},
        {
            "stream": {"type": "boolean", "default": False},
            "filePaths": {"type": "array", "items": PATH, "maxItems": MAX_FILES},
            **WORKSPACE,
            **SESSION,
            "newSession": {"type": "boolean", "default": False},
            "confirm": {"type": "boolean", "default": False},
            **AGENT,
            "attachments": {"type": "array", "items": ID, "maxItems": MAX_ATTACHED},
        },
    ),
    "examples": [{"message": "Say hello.", "stream": True}],
}
# For EventSource, which can send no header at first.
_LAST_SEEN = {"lastEventId": NAME}
EVENTS = form({"turnId": NAME}, _LAST_SEEN)
SESSION_EVENTS = form({"sessionId": NAME}, _LAST_SEEN)
ALL_EVENTS = form({}, _LAST_SEEN)
TOOL_CONFIRMATION = form(
    {"callId": text(MAX_CALL, 1), "outcome": {"type": "string", "enum": list(OUTCOMES)}},
    {**SESSION, "newContent": text(MAX_FILE), "revision": text(MAX_NAME, 1)},
)
_VALUE = {
    "type": ["string", "number", "boolean", "array"],
    "maxLength": MAX_MESSAGE,
    "items": text(MAX_NAME),
    "maxItems": elicitation.MOST_CHOICES,
}
ELICITATION_ANSWER = form(
    {"elicitationId": ID, "action": {"type": "string", "enum": list(elicitation.ACTIONS)}},
    {"content": {"type": "object", "additionalProperties": _VALUE}},
)
CANCEL = form({}, SESSION)
# As in ACP's session/new, where empty lists must be written.
_PAIR = record({"name": text(MAX_NAME, 1, pattern=r"^[^\x00-\x20=:]+$"), "value": LINE})
_PAIRS = {"type": "array", "items": _PAIR, "maxItems": MAX_PAIRS}
MCP_SERVER = {
    **form(
        {"name": text(64, 1, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")},
        {
            "type": {"type": "string", "enum": [STDIO, HTTP]},
            "command": PATH,
            "args": {"type": "array", "items": LINE, "maxItems": MAX_PAIRS},
            "env": _PAIRS,
            "url": text(MAX_PATH, pattern=r"^https?://[!-~]+$"),
            "headers": _PAIRS,
        },
    ),
    "anyOf": [
        record({"command": {"type": "string"}}, {"type": {"enum": [STDIO, None]}}),
        record({"type": {"const": HTTP}, "url": {"type": "string"}}),
    ],
}
NEW_SESSION = form(
    {},
    {
        **WORKSPACE,
        **AGENT,
        "mcpServers": {"type": "array", "items": MCP_SERVER, "maxItems": MAX_SERVERS},
    },
)
OPENAI_MESSAGE = record(
    {
        "role": {
            "type": "string",
            "enum": ["system", "developer", "user", "assistant", "tool", "function"],
        }
    },
    {
        "content": {
            "type": ["string", "array", "null"],
            "items": record({"type": STRING}, {"text": STRING}),
        }
    },
)
OPENAI_FORMAT = record(
    {"type": {"type": "string", "enum": ["text", "json_object", "json_schema"]}},
    {
        "json_schema": {
            **record(
                {"name": NAME},
                {
                    "schema": {"type": ["object", "null"], "additionalProperties": True},
                    "description": {"type": ["string", "null"], "maxLength": MAX_MESSAGE},
                    "strict": {"type": ["boolean", "null"]},
                },
            ),
            "type": ["object", "null"],
        }
    },
)
OPENAI_CHAT = form(
    {
        "model": NAME,
        "messages": {"type": "array", "items": OPENAI_MESSAGE, "minItems": 1, "maxItems": 10_000},
    },
    {
        "stream": BOOLEAN,
        "stream_options": record({}, {"include_usage": {"type": ["boolean", "null"]}}),
        "n": INTEGER,
        "stop": {
            "type": ["string", "array"],
            **{"minLength": 1, "maxLength": MAX_NAME, "maxItems": 4},
            "items": text(MAX_NAME, 1),
        },
        "user": text(MAX_NAME),
        "response_format": OPENAI_FORMAT,
        "tools": many(ANYTHING),
        "functions": many(ANYTHING),
    },
)
_RESPONSE_TEXT = record(
    {},
    {
        "format": {
            **record(
                {"type": {"type": "string", "enum": ["text", "json_object", "json_schema"]}},
                {
                    "name": NAME,
                    "schema": {"type": ["object", "null"], "additionalProperties": True},
                    "description": {"type": ["string", "null"], "maxLength": MAX_MESSAGE},
                    "strict": {"type": ["boolean", "null"]},
                },
            ),
            "type": ["object", "null"],
        }
    },
)
OPENAI_RESPONSES = form(
    {
        "model": NAME,
        "input": {
            "type": ["string", "array"],
            **{"minLength": 1, "maxLength": MAX_MESSAGE, "minItems": 1, "maxItems": 10_000},
            "items": record(
                {},
                {
                    "type": STRING,
                    "role": STRING,
                    "id": STRING,
                    "content": {"type": ["string", "array"], "items": record({"type": STRING})},
                },
            ),
        },
    },
    {
        "instructions": text(MAX_MESSAGE),
        "stream": BOOLEAN,
        "previous_response_id": NAME,
        "store": BOOLEAN,
        "text": _RESPONSE_TEXT,
        "user": text(MAX_NAME),
        "background": BOOLEAN,
        "metadata": ANYTHING,
        "tools": many(ANYTHING),
    },
)
OPENAI_RESPONSE = record(
    {
        "id": STRING,
        "object": {"type": "string", "const": "response"},
        "created_at": INTEGER,
        "status": {"type": "string", "enum": ["completed", "incomplete"]},
        "model": STRING,
        "output": many(
            record(
                {
                    "id": STRING,
                    "type": {"type": "string", "const": "message"},
                    "role": STRING,
                    "status": STRING,
                    "content": many(
                        record({"type": {"type": "string", "const": "output_text"}, "text": STRING})
                    ),
                }
            )
        ),
        "usage": record(
            {"input_tokens": INTEGER, "output_tokens": INTEGER, "total_tokens": INTEGER}
        ),
    },
    {"rejected_tools": many(STRING), "ignored_parameters": many(STRING)},
)
OPENAI_MODEL = record({"id": STRING, "object": STRING, "created": INTEGER, "owned_by": STRING})
OPENAI_THE_MODEL = form({"model": NAME})
OPENAI_MODELS = record(
    {
        "object": {"type": "string", "const": "list"},
        "data": many(OPENAI_MODEL),
    }
)
OPENAI_COMPLETION = record(
    {
        "id": STRING,
        "object": {"type": "string", "const": "chat.completion"},
        "created": INTEGER,
        "model": STRING,
        "choices": many(
            record(
                {
                    "index": INTEGER,
                    "message": record(
                        {"role": STRING, "content": STRING, "refusal": {"type": "null"}}
                    ),
                    "logprobs": {"type": "null"},
                    "finish_reason": STRING,
                }
            )
        ),
        "usage": record(
            {"prompt_tokens": INTEGER, "completion_tokens": INTEGER, "total_tokens": INTEGER}
        ),
    },
    {"rejected_tools": many(STRING), "ignored_parameters": many(STRING)},
)
THE_SESSION = form({"sessionId": NAME})
THE_TURN = form({"sessionId": NAME, "turnId": NAME})
THE_ATTACHMENT = form({"sessionId": NAME, "attachmentId": ID})
PAGE = {"type": "integer", "minimum": 1, "maximum": 100}
# A cursor has two times and two ids.
SESSIONS = form({}, {"limit": PAGE, "cursor": text(MAX_NAME, 1), "q": text(MAX_NAME, 1)})
SESSIONS_REMOVED = form(
    {"sessionIds": {"type": "array", "items": NAME, "minItems": 1, "maxItems": MAX_REMOVED}}
)
FORK = form({"sessionId": NAME}, {"turnId": NAME})
MARKDOWN = "text/markdown"
EXPORT = form(
    {"sessionId": NAME},
    {"format": {"type": "string", "enum": ["markdown", "json"], "default": "markdown"}},
)
MESSAGES = form({"sessionId": NAME}, {"before": NAME, "limit": PAGE})
SESSION_CHANGE = form({"sessionId": NAME}, {"title": text(MAX_NAME), "model": NAME, "mode": NAME})
THE_QUEUED = form({"sessionId": NAME, "queueId": ID})
QUEUED = form(
    {"sessionId": NAME, "message": text(MAX_CHARACTERS, 1)},
    {
        "filePaths": {"type": "array", "items": PATH, "maxItems": MAX_FILES},
        "attachments": {"type": "array", "items": ID, "maxItems": MAX_ATTACHED},
    },
)
QUEUE_CHANGE = form(
    {"sessionId": NAME, "queueId": ID},
    {
        "message": text(MAX_CHARACTERS, 1),
        "position": {"type": "integer", "minimum": 0, "maximum": MAX_MESSAGES},
    },
)
OPTION_CHOICE = form(
    {"sessionId": NAME, "id": NAME, "value": {"type": ["string", "boolean"], "maxLength": MAX_NAME}}
)
MODELS = form({}, {**WORKSPACE, **SESSION, **AGENT})
MODEL = form({"model": NAME}, {**WORKSPACE, **SESSION, **AGENT})
TOKEN_NAME = text(64, 1, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
NEW_TOKEN = form(
    {
        "name": TOKEN_NAME,
        "scopes": {
            "type": "array",
            "items": {"type": "string", "enum": list(GRANTED)},
            "minItems": 1,
            "maxItems": len(GRANTED),
        },
    }
)
THE_TOKEN = form({"name": NAME})
# Without a query: the ticket is one.
NEW_TICKET = form({"path": text(MAX_PATH, 1, pattern=r'^/[!"$->@-~]*$')})
LIST_DIRECTORY = form({}, {"path": PATH})
READ_FILE = form({"path": PATH})
WRITE_FILE = form({"path": PATH, "content": text(MAX_FILE)})
EXECUTE_COMMAND = form(
    {"command": text(MAX_COMMAND, 1)},
    {
        "cwd": PATH,
        "timeout": {"type": "number", "minimum": 0.1, "maximum": MAX_SECONDS},
    },
)

# Answers: the members beside those of `BaseResponse`.

# The members of all answers. A success has no `error`, but a failed turn has one.
ENVELOPE: Mapping[str, Schema] = {"success": BOOLEAN, "message": STRING, "timestamp": TIME}
ERROR = {
    "description": "What went wrong: `code` is for programs, `message` for people.",
    **record(
        {
            "success": {"type": "boolean", "const": False},
            "error": STRING,
            "message": STRING,
            "code": STRING,
            "timestamp": TIME,
        },
        {
            "field": STRING,
            "details": STRING,
            "sessionId": STRING,
            "turnId": STRING,
            "data": ANYTHING,
        },
    ),
}
DONE = record({"message": STRING})
STATUS = record(
    {
        "status": {"type": "string", "const": "ok"},
        "version": STRING,
        "cli": record(
            {"version": TEXT_OR_NULL, "running": BOOLEAN, "pid": {"type": ["integer", "null"]}}
        ),
    }
)
HEALTH = record({"message": STRING, "status": {"type": "string", "const": "ok"}})
AUTH_STATUS = record(
    {
        "message": STRING,
        "data": record(
            {
                "isAuthenticated": BOOLEAN,
                "authType": {"type": ["string", "null"], "enum": [*AUTH_TYPES, None]},
                "hasApiKey": BOOLEAN,
                "hasGoogleCloudConfig": BOOLEAN,
                "account": TEXT_OR_NULL,
                "verified": BOOLEAN,
            }
        ),
    }
)
LOGIN = record({"message": STRING}, {"data": record({"authUrl": STRING}, {"expiresAt": TIME})})
TOKENS = record({"inputTokens": INTEGER, "outputTokens": INTEGER})
USAGE = record(
    {
        "inputTokens": INTEGER,
        "outputTokens": INTEGER,
        "byModel": {"type": "object", "additionalProperties": reference("TokenCount")},
    }
)
TOKEN = record({"name": STRING, "scopes": many(STRING), "created": TIME})
TOKEN_GIVEN = record({"token": STRING, "name": STRING, "scopes": many(STRING), "created": TIME})
TICKET = record({"ticket": STRING, "url": STRING, "expiresAt": TIME})
TOOL_CALL = record(
    {
        "id": STRING,
        "name": STRING,
        "displayName": STRING,
        "description": STRING,
        "args": ANYTHING,
        "status": EXECUTION,
    },
    {
        "result": STRING,
        "displayResult": STRING,
        "success": BOOLEAN,
        "rejected": BOOLEAN,
        "error": TEXT_OR_NULL,
    },
)
CHAT_DONE = record(
    {
        "response": STRING,
        "hasToolCalls": BOOLEAN,
        "toolCalls": many(reference("ToolCall")),
        "sessionId": STRING,
        "turnId": STRING,
        "reason": STRING,
        "usage": reference("Usage"),
    },
    {"error": STRING, "warnings": many(STRING)},
)
SESSION_INFO = record(
    {
        "sessionId": STRING,
        "agent": STRING,
        "workspacePath": STRING,
        "title": STRING,
        "model": STRING,
        "mode": STRING,
        "isBusy": BOOLEAN,
        "turns": INTEGER,
        "created": TIME,
        "lastUsed": TIME,
        "usage": reference("Usage"),
        "modes": many(STRING),
        "mcpServers": many(reference("McpServer")),
        "isSaved": BOOLEAN,
    },
    {"excerpt": STRING},
)
SESSIONS_TOLD = record({"sessions": many(reference("SessionInfo"))}, {"nextCursor": STRING})
SESSIONS_REMOVED_TOLD = record(
    {
        "removed": many(STRING),
        "failed": many(record({"sessionId": STRING, "code": STRING, "message": STRING})),
    }
)
EXPORTED = record({"session": reference("SessionInfo"), "messages": many(reference("PastTurn"))})
MCP_SERVER_TOLD = record({"name": STRING, "type": {"type": "string", "enum": [HTTP, STDIO]}})
ATTACHMENT = record(
    {
        "attachmentId": STRING,
        "name": STRING,
        "mediaType": {"type": "string", "enum": list(MEDIA_TYPES)},
        "size": INTEGER,
    }
)
FILE_CHANGE = record(
    {
        "path": STRING,
        "change": {"type": "string", "enum": [CREATED, CHANGED]},
        "state": {"type": "string", "enum": [AS_LEFT, UNDONE, OTHER, NOT_STORED]},
        "shown": record({"path": STRING}),
    }
)
TURN_FILES = record({"files": many(reference("FileChange"))})
SLASH_COMMAND = record({"name": STRING, "description": STRING, "hint": STRING, "allowed": BOOLEAN})
PLAN_ENTRY = record(
    {
        "content": STRING,
        "priority": {"type": "string", "enum": list(session_state.PRIORITIES)},
        "status": {"type": "string", "enum": list(session_state.STATUSES)},
        "shown": record({"content": STRING}),
    }
)
CONTEXT = {
    "used": INTEGER,
    "size": INTEGER,
    "cost": {"oneOf": [reference("Cost"), {"type": "null"}]},
}
OPTION_VALUE = record(
    {
        "value": STRING,
        "name": STRING,
        "description": STRING,
        "group": STRING,
        "shown": record({"name": STRING}),
    }
)
_LIMIT = {"type": ["number", "null"]}
FORM_FIELD = record(
    {
        "name": STRING,
        "type": {"type": "string", "enum": list(elicitation.KINDS)},
        "title": STRING,
        "description": STRING,
        "required": BOOLEAN,
        "values": many(reference("OptionValue")),
        "default": {
            "type": ["string", "number", "boolean", "array", "null"],
            "items": STRING,
        },
        "minimum": _LIMIT,
        "maximum": _LIMIT,
        "format": STRING,
        "shown": record({"title": STRING, "description": STRING}),
    }
)
CONFIG_OPTION = record(
    {
        "id": STRING,
        "name": STRING,
        "description": STRING,
        "category": STRING,
        "type": {"type": "string", "enum": [session_state.SELECT, session_state.BOOLEAN]},
        "value": {"type": ["string", "boolean"]},
        "values": many(reference("OptionValue")),
        "shown": record({"name": STRING}),
    }
)
STATE = record(
    {
        "plan": {"oneOf": [many(reference("PlanEntry")), {"type": "null"}]},
        "context": {"oneOf": [reference("ContextUse"), {"type": "null"}]},
        "options": many(reference("ConfigOption")),
    }
)
QUEUE = {
    "messages": many(reference("QueuedMessage")),
    "isHeld": BOOLEAN,
    "problem": STRING,
    "passing": STRING,
}
QUEUE_TOLD = record({"message": STRING, **QUEUE}, {"queueId": STRING})
PAST_TURN = record(
    {
        "turnId": STRING,
        "time": TIME,
        "text": STRING,
        "files": many(STRING),
        "attachments": many(reference("Attachment")),
        "events": many(reference("StreamingEvent")),
    }
)
MESSAGES_TOLD = record({"messages": many(reference("PastTurn")), "hasMore": BOOLEAN})
AGENT_INFO = record(
    {
        "id": STRING,
        "name": STRING,
        "isDefault": BOOLEAN,
        "authTypes": many(STRING),
        "hasGoogleLogin": BOOLEAN,
        "isAuthenticated": BOOLEAN,
        "testedVersion": TEXT_OR_NULL,
        "maxProcesses": INTEGER,
        "processes": many(
            record(
                {
                    "pid": INTEGER,
                    "version": STRING,
                    "memoryBytes": INTEGER,
                    "conversations": INTEGER,
                    "warning": TEXT_OR_NULL,
                }
            )
        ),
    }
)
MODEL_INFO = record({"id": STRING, "name": STRING, "description": STRING})
MODELS_TOLD = record(
    {
        "current": STRING,
        "models": many(reference("ModelInfo")),
    }
)
FILE_CONTENT = record({"path": STRING, "content": STRING})
ITEM = record(
    {"name": STRING, "type": {"type": "string", "enum": ["file", "directory"]}, "path": STRING}
)
DIRECTORY = record(
    {
        "path": STRING,
        "items": many(reference("DirectoryItem")),
        "truncated": BOOLEAN,
    }
)
COMMAND_DONE = record(
    {
        "command": STRING,
        "output": STRING,
        "stderr": TEXT_OR_NULL,
        "exitCode": INTEGER,
        "truncated": BOOLEAN,
    }
)

# Events of a stream: the `data` of each type, beside the ids that all events have.

IDS = {"sessionId": STRING, "turnId": STRING}
SHOWN = {
    "description": "What a person is to see: nothing in it is hidden, and what would push something"
    " out of sight is folded, with its count. Long texts are in it where they differ from the raw"
    " ones.",
}
OPTION = record(
    {
        "outcome": {"type": "string", "enum": list(OUTCOMES)},
        "label": STRING,
        "shown": {**SHOWN, **record({"label": STRING})},
    }
)
DIFF = record(
    {
        "path": STRING,
        "oldText": STRING,
        "newText": STRING,
        "shown": {**SHOWN, **record({"path": STRING}, {"oldText": STRING, "newText": STRING})},
    }
)
EVENT_DATA: Mapping[str, Schema] = {
    "content": record({**IDS, "text": STRING, "isPartial": BOOLEAN}),
    "thought": record({**IDS, "subject": STRING, "description": STRING}),
    "tool_call": record(
        {
            **IDS,
            "callId": STRING,
            "name": STRING,
            "displayName": STRING,
            "description": STRING,
            "args": ANYTHING,
            "requiresConfirmation": BOOLEAN,
            "shown": {
                **SHOWN,
                **record({"displayName": STRING, "description": STRING}, {"args": ANYTHING}),
            },
        }
    ),
    "tool_execution": record(
        {
            **IDS,
            "callId": STRING,
            "status": EXECUTION,
            "rejected": BOOLEAN,
            "rule": TEXT_OR_NULL,
            "message": STRING,
        }
    ),
    "tool_result": record(
        {
            **IDS,
            "callId": STRING,
            "name": STRING,
            "args": ANYTHING,
            "result": STRING,
            "displayResult": STRING,
            "success": BOOLEAN,
            "rejected": BOOLEAN,
            "error": TEXT_OR_NULL,
            "unaskedEdits": many(reference("Diff")),
            "shown": {
                **SHOWN,
                **record({}, {"args": ANYTHING, "displayResult": STRING, "error": STRING}),
            },
        }
    ),
    "tool_confirmation": record(
        {
            **IDS,
            "callId": STRING,
            "name": STRING,
            "displayName": STRING,
            "description": STRING,
            "prompt": STRING,
            "command": STRING,
            "args": ANYTHING,
            "revision": STRING,
            "options": many(reference("Option")),
            "diff": {"oneOf": [reference("Diff"), {"type": "null"}]},
            "moreDiffs": many(reference("Diff")),
            "shown": {
                **SHOWN,
                **record(
                    {
                        "displayName": STRING,
                        "description": STRING,
                        "command": STRING,
                        "asked": STRING,
                    },
                    {"args": ANYTHING},
                ),
            },
        }
    ),
    "complete": record(
        {
            **IDS,
            "success": BOOLEAN,
            "message": STRING,
            "reason": STRING,
            "usage": reference("Usage"),
        }
    ),
    "error": record({**IDS, "message": STRING, "code": STRING, "details": STRING}),
    "plan": record({**IDS, "entries": many(reference("PlanEntry"))}),
    "context_usage": record({**IDS, **CONTEXT}),
    "elicitation": record(
        {
            **IDS,
            "elicitationId": STRING,
            "mode": {"type": "string", "enum": [elicitation.FORM, elicitation.URL]},
            "message": STRING,
            "fields": many(reference("FormField")),
            "url": STRING,
            "callId": STRING,
            "shown": {**SHOWN, **record({"message": STRING, "url": STRING, "host": STRING})},
        }
    ),
    "elicitation_answered": record(
        {
            **IDS,
            "elicitationId": STRING,
            "action": {"type": "string", "enum": list(elicitation.ACTIONS)},
        }
    ),
    "message_added": record({**IDS, "queueId": STRING, "text": STRING}),
    "config_options": record({**IDS, "options": many(reference("ConfigOption"))}),
    "session_title": record({**IDS, "title": STRING}),
    "commands": record({**IDS, "commands": many(reference("SlashCommand"))}),
    "queue": record({**IDS, **QUEUE}),
    "message": record(
        {
            **IDS,
            "text": STRING,
            "files": many(STRING),
            "attachments": many(reference("Attachment")),
        }
    ),
}
EVENT_WORDS: Mapping[str, str] = {
    "content": "A piece of the answer; `isPartial` is false for the last of a run of pieces.",
    "thought": "A thought of the model; the subjects `Warning` and `Retrying` are ours.",
    "tool_call": "The model calls a tool.",
    "tool_execution": "Where the call of a tool stands.",
    "tool_result": "What came of the call of a tool; the last event about it.",
    "tool_confirmation": "The call waits for somebody to decide, by POST /tool-confirmation.",
    "complete": "The turn is over; the last event.",
    "error": "The turn broke off; the last event instead of `complete`.",
    "message": "What the user said; only in the streams of conversations.",
    "plan": "What the agent plans to do, the whole plan each time.",
    "context_usage": "How full the model's context is, in tokens, and what the session has cost.",
    "elicitation": "The agent asks the user something, and waits for POST /elicitation.",
    "elicitation_answered": "The question waits no more.",
    "message_added": "A message of the queue was passed into the turn that runs.",
    "config_options": "The agent's options; only in the streams of conversations, without a turn.",
    "session_title": "The conversation's title, by the agent; where `config_options` come, too.",
    "queue": "The messages that wait, all of them; where `config_options` come, too.",
    "commands": "The agent's slash commands; where `config_options` come, too.",
}


def event_name(type: str) -> str:
    return "".join(word.capitalize() for word in type.split("_")) + "Event"


def _events() -> dict[str, Schema]:
    """The schemas of each event and its data by their names, and one name for any event."""
    found: dict[str, Schema] = {}
    for type, data in EVENT_DATA.items():
        name = event_name(type)
        found[name + "Data"] = data
        found[name] = {
            "description": EVENT_WORDS[type],
            **record(
                {
                    "type": {"type": "string", "const": type},
                    "data": reference(name + "Data"),
                    "timestamp": TIME,
                }
            ),
        }
    names = {type: event_name(type) for type in EVENT_DATA}
    found["StreamingEvent"] = {
        "description": "An event of a stream.",
        "oneOf": [reference(name) for name in names.values()],
        "discriminator": {
            "propertyName": "type",
            "mapping": {type: reference(name)["$ref"] for type, name in names.items()},
        },
    }
    return found


# Schemas that answers refer to by name.
COMPONENTS: Mapping[str, Schema] = {
    "ErrorResponse": ERROR,
    "OpenAiErrorResponse": record(
        {
            "error": record(
                {"message": STRING, "type": STRING, "param": TEXT_OR_NULL, "code": STRING},
                {"failed_generation": STRING},
            )
        }
    ),
    "ToolCall": TOOL_CALL,
    "TokenCount": TOKENS,
    "Token": TOKEN,
    "Usage": USAGE,
    "SessionInfo": SESSION_INFO,
    "PastTurn": PAST_TURN,
    "AgentInfo": AGENT_INFO,
    "ModelInfo": MODEL_INFO,
    "DirectoryItem": ITEM,
    "McpServer": MCP_SERVER_TOLD,
    "Attachment": ATTACHMENT,
    "SlashCommand": SLASH_COMMAND,
    "PlanEntry": PLAN_ENTRY,
    "Cost": record({"amount": {"type": "number"}, "currency": STRING}),
    "ContextUse": record(CONTEXT),
    "ConfigOption": CONFIG_OPTION,
    "OptionValue": OPTION_VALUE,
    "FormField": FORM_FIELD,
    "QueuedMessage": record(
        {
            "queueId": STRING,
            "time": TIME,
            "text": STRING,
            "files": many(STRING),
            "attachments": many(reference("Attachment")),
        }
    ),
    "FileChange": FILE_CHANGE,
    "Option": OPTION,
    "Diff": DIFF,
    **_events(),
}
