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


def text_schema(longest: int, shortest: int = 0, **more: Any) -> dict[str, Any]:
    least = {"minLength": shortest} if shortest else {}
    return {"type": "string", **least, "maxLength": longest, **more}


def optional_schema(schema: Schema) -> dict[str, Any]:
    choices = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    return {**schema, "type": [*types, "null"], **choices}


def object_schema(required: Schema, others: Schema = {}) -> dict[str, Any]:  # noqa: B006 (never changed)
    """An object. Members that are not named are allowed, and ignored."""
    result: dict[str, Any] = {"type": "object", "properties": {**required, **others}}
    return {**result, "required": list(required)} if required else result


def list_schema(items: Schema) -> dict[str, Any]:
    return {"type": "array", "items": items}


def form_schema(required: Schema, others: Schema = {}) -> dict[str, Any]:  # noqa: B006 (never changed)
    return object_schema(required, {name: optional_schema(others[name]) for name in others})


def schema_reference(name: str) -> dict[str, Any]:
    return {"$ref": "#/components/schemas/" + name}


STRING, BOOLEAN, INTEGER = {"type": "string"}, {"type": "boolean"}, {"type": "integer"}
TEXT_OR_NULL = {"type": ["string", "null"]}
TIME = {"type": "string", "format": "date-time"}
ANYTHING = {"type": "object", "additionalProperties": True}
EXECUTION = {"type": "string", "enum": ["pending", "executing", "completed", "failed"]}
NOTHING: Schema = form_schema({})

# No operating system accepts a NUL in a path.
PATH, NAME, ID = (
    text_schema(MAX_PATH, 1, pattern=r"^[^\x00]*$"),
    text_schema(MAX_NAME, 1),
    text_schema(64, 1),
)
# For texts that become arguments of a process, or HTTP headers.
LINE = text_schema(MAX_PATH, pattern=r"^[^\x00\r\n]*$")
# A key becomes an HTTP header; white space around it is ignored. Project and location become
# environment variables of a process. The pattern never takes long, whatever the text.
KEY = text_schema(MAX_KEY, pattern=r"^[\t\n\r ]*([!-~]+( +[!-~]+)*)?[\t\n\r ]*$")
CLOUD_NAME = text_schema(MAX_NAME, pattern=r"^[ -~]*$")
WORKSPACE = {"workspacePath": PATH}
SESSION = {"sessionId": NAME}
# Its id: one of the rows, or that of an agent of which the operator named the command.
AGENT = {"agent": text_schema(64, 1)}
# White space in it can only be a mistake of the client.
URL = text_schema(MAX_PATH, pattern=r"^https?://[!-~]+$")

# Requests.

_SOME_KEY = {"type": "string", "pattern": "[!-~]"}
_SOME_NAME = {"type": "string", "minLength": 1}


def _credentials_schema(kind: str, needed: Schema) -> dict[str, Any]:
    """Credentials of this kind, for an agent that accepts them."""
    agents = [id for id, cli in CLIS.items() if kind in cli.kinds]
    return object_schema(
        {"authType": {"const": kind}, **needed}, {"agent": {"enum": [*agents, None]}}
    )


# `anyOf` says which fields go together; the agent checks that, and says what is missing.
AUTH_CONFIG = {
    **form_schema(
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
        _credentials_schema(API_KEY, {"apiKey": _SOME_KEY}),
        _credentials_schema(VERTEX, {"apiKey": _SOME_KEY}),
        _credentials_schema(
            VERTEX, {"googleCloudProject": _SOME_NAME, "googleCloudLocation": _SOME_NAME}
        ),
        _credentials_schema(GOOGLE, {}),
        _credentials_schema(OPENAI, {"apiKey": _SOME_KEY}),
        _credentials_schema(ANTHROPIC, {"apiKey": _SOME_KEY}),
        object_schema({"authType": {"const": OWN}, "agent": STRING}),
    ],
}
GOOGLE_LOGIN = form_schema(
    {}, {"code": text_schema(MAX_CODE, 1), "state": text_schema(MAX_CODE), **AGENT}
)
THE_AGENT = form_schema({}, AGENT)
CHAT = {
    **form_schema(
        {"message": text_schema(MAX_MESSAGE, 1)},
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
EVENTS = form_schema({"turnId": NAME}, _LAST_SEEN)
SESSION_EVENTS = form_schema({"sessionId": NAME}, _LAST_SEEN)
ALL_EVENTS = form_schema({}, _LAST_SEEN)
TOOL_CONFIRMATION = form_schema(
    {"callId": text_schema(MAX_CALL, 1), "outcome": {"type": "string", "enum": list(OUTCOMES)}},
    {**SESSION, "newContent": text_schema(MAX_FILE), "revision": text_schema(MAX_NAME, 1)},
)
_VALUE = {
    "type": ["string", "number", "boolean", "array"],
    "maxLength": MAX_MESSAGE,
    "items": text_schema(MAX_NAME),
    "maxItems": elicitation.MOST_CHOICES,
}
ELICITATION_ANSWER = form_schema(
    {"elicitationId": ID, "action": {"type": "string", "enum": list(elicitation.ACTIONS)}},
    {"content": {"type": "object", "additionalProperties": _VALUE}},
)
CANCEL = form_schema({}, SESSION)
THE_SUBAGENT = form_schema({"sessionId": NAME, "callId": NAME})
# As in ACP's session/new, where empty lists must be written.
_PAIR = object_schema(
    {"name": text_schema(MAX_NAME, 1, pattern=r"^[^\x00-\x20=:]+$"), "value": LINE}
)
_PAIRS = {"type": "array", "items": _PAIR, "maxItems": MAX_PAIRS}
MCP_SERVER = {
    **form_schema(
        {"name": text_schema(64, 1, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")},
        {
            "type": {"type": "string", "enum": [STDIO, HTTP]},
            "command": PATH,
            "args": {"type": "array", "items": LINE, "maxItems": MAX_PAIRS},
            "env": _PAIRS,
            "url": text_schema(MAX_PATH, pattern=r"^https?://[!-~]+$"),
            "headers": _PAIRS,
        },
    ),
    "anyOf": [
        object_schema({"command": {"type": "string"}}, {"type": {"enum": [STDIO, None]}}),
        object_schema({"type": {"const": HTTP}, "url": {"type": "string"}}),
    ],
}
NEW_SESSION = form_schema(
    {},
    {
        **WORKSPACE,
        **AGENT,
        "mcpServers": {"type": "array", "items": MCP_SERVER, "maxItems": MAX_SERVERS},
    },
)
OPENAI_MESSAGE = object_schema(
    {
        "role": {
            "type": "string",
            "enum": ["system", "developer", "user", "assistant", "tool", "function"],
        }
    },
    {
        "content": {
            "type": ["string", "array", "null"],
            "items": object_schema({"type": STRING}, {"text": STRING}),
        }
    },
)
OPENAI_FORMAT = object_schema(
    {"type": {"type": "string", "enum": ["text", "json_object", "json_schema"]}},
    {
        "json_schema": {
            **object_schema(
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
OPENAI_CHAT = form_schema(
    {
        "model": NAME,
        "messages": {"type": "array", "items": OPENAI_MESSAGE, "minItems": 1, "maxItems": 10_000},
    },
    {
        "stream": BOOLEAN,
        "stream_options": object_schema({}, {"include_usage": {"type": ["boolean", "null"]}}),
        "n": INTEGER,
        "stop": {
            "type": ["string", "array"],
            **{"minLength": 1, "maxLength": MAX_NAME, "maxItems": 4},
            "items": text_schema(MAX_NAME, 1),
        },
        "user": text_schema(MAX_NAME),
        "response_format": OPENAI_FORMAT,
        "tools": list_schema(ANYTHING),
        "functions": list_schema(ANYTHING),
    },
)
_RESPONSE_TEXT = object_schema(
    {},
    {
        "format": {
            **object_schema(
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
OPENAI_RESPONSES = form_schema(
    {
        "model": NAME,
        "input": {
            "type": ["string", "array"],
            **{"minLength": 1, "maxLength": MAX_MESSAGE, "minItems": 1, "maxItems": 10_000},
            "items": object_schema(
                {},
                {
                    "type": STRING,
                    "role": STRING,
                    "id": STRING,
                    "content": {
                        "type": ["string", "array"],
                        "items": object_schema({"type": STRING}),
                    },
                },
            ),
        },
    },
    {
        "instructions": text_schema(MAX_MESSAGE),
        "stream": BOOLEAN,
        "previous_response_id": NAME,
        "store": BOOLEAN,
        "text": _RESPONSE_TEXT,
        "user": text_schema(MAX_NAME),
        "background": BOOLEAN,
        "metadata": ANYTHING,
        "tools": list_schema(ANYTHING),
    },
)
OPENAI_RESPONSE = object_schema(
    {
        "id": STRING,
        "object": {"type": "string", "const": "response"},
        "created_at": INTEGER,
        "status": {"type": "string", "enum": ["completed", "incomplete"]},
        "model": STRING,
        "output": list_schema(
            object_schema(
                {
                    "id": STRING,
                    "type": {"type": "string", "const": "message"},
                    "role": STRING,
                    "status": STRING,
                    "content": list_schema(
                        object_schema(
                            {"type": {"type": "string", "const": "output_text"}, "text": STRING}
                        )
                    ),
                }
            )
        ),
        "usage": object_schema(
            {"input_tokens": INTEGER, "output_tokens": INTEGER, "total_tokens": INTEGER}
        ),
    },
    {"rejected_tools": list_schema(STRING), "ignored_parameters": list_schema(STRING)},
)
OPENAI_MODEL = object_schema(
    {"id": STRING, "object": STRING, "created": INTEGER, "owned_by": STRING}
)
OPENAI_THE_MODEL = form_schema({"model": NAME})
OPENAI_MODELS = object_schema(
    {
        "object": {"type": "string", "const": "list"},
        "data": list_schema(OPENAI_MODEL),
    }
)
OPENAI_COMPLETION = object_schema(
    {
        "id": STRING,
        "object": {"type": "string", "const": "chat.completion"},
        "created": INTEGER,
        "model": STRING,
        "choices": list_schema(
            object_schema(
                {
                    "index": INTEGER,
                    "message": object_schema(
                        {"role": STRING, "content": STRING, "refusal": {"type": "null"}}
                    ),
                    "logprobs": {"type": "null"},
                    "finish_reason": STRING,
                }
            )
        ),
        "usage": object_schema(
            {"prompt_tokens": INTEGER, "completion_tokens": INTEGER, "total_tokens": INTEGER}
        ),
    },
    {"rejected_tools": list_schema(STRING), "ignored_parameters": list_schema(STRING)},
)
THE_SESSION = form_schema({"sessionId": NAME})
THE_TURN = form_schema({"sessionId": NAME, "turnId": NAME})
THE_ATTACHMENT = form_schema({"sessionId": NAME, "attachmentId": ID})
PAGE = {"type": "integer", "minimum": 1, "maximum": 100}
# A cursor has two times and two ids.
SESSIONS = form_schema(
    {}, {"limit": PAGE, "cursor": text_schema(MAX_NAME, 1), "q": text_schema(MAX_NAME, 1)}
)
SESSIONS_REMOVED = form_schema(
    {"sessionIds": {"type": "array", "items": NAME, "minItems": 1, "maxItems": MAX_REMOVED}}
)
FORK = form_schema({"sessionId": NAME}, {"turnId": NAME})
MARKDOWN = "text/markdown"
EXPORT = form_schema(
    {"sessionId": NAME},
    {"format": {"type": "string", "enum": ["markdown", "json"], "default": "markdown"}},
)
MESSAGES = form_schema({"sessionId": NAME}, {"before": NAME, "limit": PAGE})
SESSION_CHANGE = form_schema(
    {"sessionId": NAME}, {"title": text_schema(MAX_NAME), "model": NAME, "mode": NAME}
)
THE_QUEUED = form_schema({"sessionId": NAME, "queueId": ID})
QUEUED = form_schema(
    {"sessionId": NAME, "message": text_schema(MAX_CHARACTERS, 1)},
    {
        "filePaths": {"type": "array", "items": PATH, "maxItems": MAX_FILES},
        "attachments": {"type": "array", "items": ID, "maxItems": MAX_ATTACHED},
    },
)
QUEUE_CHANGE = form_schema(
    {"sessionId": NAME, "queueId": ID},
    {
        "message": text_schema(MAX_CHARACTERS, 1),
        "position": {"type": "integer", "minimum": 0, "maximum": MAX_MESSAGES},
    },
)
OPTION_CHOICE = form_schema(
    {"sessionId": NAME, "id": NAME, "value": {"type": ["string", "boolean"], "maxLength": MAX_NAME}}
)
MODELS = form_schema({}, {**WORKSPACE, **SESSION, **AGENT})
MODEL = form_schema({"model": NAME}, {**WORKSPACE, **SESSION, **AGENT})
TOKEN_NAME = text_schema(64, 1, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
NEW_TOKEN = form_schema(
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
THE_TOKEN = form_schema({"name": NAME})
# Without a query: the ticket is one.
NEW_TICKET = form_schema({"path": text_schema(MAX_PATH, 1, pattern=r'^/[!"$->@-~]*$')})
LIST_DIRECTORY = form_schema({}, {"path": PATH})
READ_FILE = form_schema({"path": PATH})
WRITE_FILE = form_schema({"path": PATH, "content": text_schema(MAX_FILE)})
EXECUTE_COMMAND = form_schema(
    {"command": text_schema(MAX_COMMAND, 1)},
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
    **object_schema(
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
DONE = object_schema({"message": STRING})
STATUS = object_schema(
    {
        "status": {"type": "string", "const": "ok"},
        "version": STRING,
        "cli": object_schema(
            {"version": TEXT_OR_NULL, "running": BOOLEAN, "pid": {"type": ["integer", "null"]}}
        ),
    }
)
HEALTH = object_schema({"message": STRING, "status": {"type": "string", "const": "ok"}})
AUTH_STATUS = object_schema(
    {
        "message": STRING,
        "data": object_schema(
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
LOGIN = object_schema(
    {"message": STRING}, {"data": object_schema({"authUrl": STRING}, {"expiresAt": TIME})}
)
TOKENS = object_schema({"inputTokens": INTEGER, "outputTokens": INTEGER})
USAGE = object_schema(
    {
        "inputTokens": INTEGER,
        "outputTokens": INTEGER,
        "byModel": {"type": "object", "additionalProperties": schema_reference("TokenCount")},
    }
)
TOKEN = object_schema({"name": STRING, "scopes": list_schema(STRING), "created": TIME})
TOKEN_GIVEN = object_schema(
    {"token": STRING, "name": STRING, "scopes": list_schema(STRING), "created": TIME}
)
TICKET = object_schema({"ticket": STRING, "url": STRING, "expiresAt": TIME})
TOOL_CALL = object_schema(
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
CHAT_DONE = object_schema(
    {
        "response": STRING,
        "hasToolCalls": BOOLEAN,
        "toolCalls": list_schema(schema_reference("ToolCall")),
        "sessionId": STRING,
        "turnId": STRING,
        "reason": STRING,
        "usage": schema_reference("Usage"),
    },
    {"error": STRING, "warnings": list_schema(STRING)},
)
SESSION_INFO = object_schema(
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
        "usage": schema_reference("Usage"),
        "modes": list_schema(STRING),
        "mcpServers": list_schema(schema_reference("McpServer")),
        "isSaved": BOOLEAN,
    },
    {"excerpt": STRING},
)
SESSIONS_TOLD = object_schema(
    {"sessions": list_schema(schema_reference("SessionInfo"))}, {"nextCursor": STRING}
)
SESSIONS_REMOVED_TOLD = object_schema(
    {
        "removed": list_schema(STRING),
        "failed": list_schema(
            object_schema({"sessionId": STRING, "code": STRING, "message": STRING})
        ),
    }
)
EXPORTED = object_schema(
    {
        "session": schema_reference("SessionInfo"),
        "messages": list_schema(schema_reference("PastTurn")),
    }
)
MCP_SERVER_TOLD = object_schema({"name": STRING, "type": {"type": "string", "enum": [HTTP, STDIO]}})
ATTACHMENT = object_schema(
    {
        "attachmentId": STRING,
        "name": STRING,
        "mediaType": {"type": "string", "enum": list(MEDIA_TYPES)},
        "size": INTEGER,
    }
)
FILE_CHANGE = object_schema(
    {
        "path": STRING,
        "change": {"type": "string", "enum": [CREATED, CHANGED]},
        "state": {"type": "string", "enum": [AS_LEFT, UNDONE, OTHER, NOT_STORED]},
        "shown": object_schema({"path": STRING}),
    }
)
TURN_FILES = object_schema({"files": list_schema(schema_reference("FileChange"))})
SLASH_COMMAND = object_schema(
    {"name": STRING, "description": STRING, "hint": STRING, "allowed": BOOLEAN}
)
PLAN_ENTRY = object_schema(
    {
        "content": STRING,
        "priority": {"type": "string", "enum": list(session_state.PRIORITIES)},
        "status": {"type": "string", "enum": list(session_state.STATUSES)},
        "shown": object_schema({"content": STRING}),
    }
)
CONTEXT = {
    "used": INTEGER,
    "size": INTEGER,
    "cost": {"oneOf": [schema_reference("Cost"), {"type": "null"}]},
}
OPTION_VALUE = object_schema(
    {
        "value": STRING,
        "name": STRING,
        "description": STRING,
        "group": STRING,
        "shown": object_schema({"name": STRING}),
    }
)
_LIMIT = {"type": ["number", "null"]}
FORM_FIELD = object_schema(
    {
        "name": STRING,
        "type": {"type": "string", "enum": list(elicitation.KINDS)},
        "title": STRING,
        "description": STRING,
        "required": BOOLEAN,
        "values": list_schema(schema_reference("OptionValue")),
        "default": {
            "type": ["string", "number", "boolean", "array", "null"],
            "items": STRING,
        },
        "minimum": _LIMIT,
        "maximum": _LIMIT,
        "format": STRING,
        "shown": object_schema({"title": STRING, "description": STRING}),
    }
)
CONFIG_OPTION = object_schema(
    {
        "id": STRING,
        "name": STRING,
        "description": STRING,
        "category": STRING,
        "type": {"type": "string", "enum": [session_state.SELECT, session_state.BOOLEAN]},
        "value": {"type": ["string", "boolean"]},
        "values": list_schema(schema_reference("OptionValue")),
        "shown": object_schema({"name": STRING}),
    }
)
STATE = object_schema(
    {
        "plan": {"oneOf": [list_schema(schema_reference("PlanEntry")), {"type": "null"}]},
        "context": {"oneOf": [schema_reference("ContextUse"), {"type": "null"}]},
        "options": list_schema(schema_reference("ConfigOption")),
    }
)
QUEUE = {
    "messages": list_schema(schema_reference("QueuedMessage")),
    "isHeld": BOOLEAN,
    "problem": STRING,
    "passing": STRING,
}
QUEUE_TOLD = object_schema({"message": STRING, **QUEUE}, {"queueId": STRING})
PAST_TURN = object_schema(
    {
        "turnId": STRING,
        "time": TIME,
        "text": STRING,
        "files": list_schema(STRING),
        "attachments": list_schema(schema_reference("Attachment")),
        "events": list_schema(schema_reference("StreamingEvent")),
    }
)
MESSAGES_TOLD = object_schema(
    {"messages": list_schema(schema_reference("PastTurn")), "hasMore": BOOLEAN}
)
AGENT_INFO = object_schema(
    {
        "id": STRING,
        "name": STRING,
        "isDefault": BOOLEAN,
        "authTypes": list_schema(STRING),
        "hasGoogleLogin": BOOLEAN,
        "isAuthenticated": BOOLEAN,
        "testedVersion": TEXT_OR_NULL,
        "maxProcesses": INTEGER,
        "processes": list_schema(
            object_schema(
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
MODEL_INFO = object_schema({"id": STRING, "name": STRING, "description": STRING})
MODELS_TOLD = object_schema(
    {
        "current": STRING,
        "models": list_schema(schema_reference("ModelInfo")),
    }
)
FILE_CONTENT = object_schema({"path": STRING, "content": STRING})
ITEM = object_schema(
    {"name": STRING, "type": {"type": "string", "enum": ["file", "directory"]}, "path": STRING}
)
DIRECTORY = object_schema(
    {
        "path": STRING,
        "items": list_schema(schema_reference("DirectoryItem")),
        "truncated": BOOLEAN,
    }
)
COMMAND_DONE = object_schema(
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
OPTION = object_schema(
    {
        "outcome": {"type": "string", "enum": list(OUTCOMES)},
        "label": STRING,
        "shown": {**SHOWN, **object_schema({"label": STRING})},
    }
)
DIFF = object_schema(
    {
        "path": STRING,
        "oldText": STRING,
        "newText": STRING,
        "shown": {
            **SHOWN,
            **object_schema({"path": STRING}, {"oldText": STRING, "newText": STRING}),
        },
    }
)
EVENT_DATA: Mapping[str, Schema] = {
    "content": object_schema({**IDS, "text": STRING, "isPartial": BOOLEAN}),
    "thought": object_schema({**IDS, "subject": STRING, "description": STRING}),
    "tool_call": object_schema(
        {
            **IDS,
            "callId": STRING,
            "name": STRING,
            "displayName": STRING,
            "description": STRING,
            "args": ANYTHING,
            "requiresConfirmation": BOOLEAN,
            "parentCallId": STRING,
            "canStop": BOOLEAN,
            "shown": {
                **SHOWN,
                **object_schema({"displayName": STRING, "description": STRING}, {"args": ANYTHING}),
            },
        }
    ),
    "tool_execution": object_schema(
        {
            **IDS,
            "callId": STRING,
            "status": EXECUTION,
            "rejected": BOOLEAN,
            "rule": TEXT_OR_NULL,
            "message": STRING,
        }
    ),
    "tool_result": object_schema(
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
            "unaskedEdits": list_schema(schema_reference("Diff")),
            "writtenEdits": list_schema(schema_reference("Diff")),
            "shown": {
                **SHOWN,
                **object_schema({}, {"args": ANYTHING, "displayResult": STRING, "error": STRING}),
            },
        }
    ),
    "resource": object_schema(
        {
            **IDS,
            "callId": STRING,
            "kind": {"type": "string", "enum": ["link", "text", "image", "other"]},
            "uri": STRING,
            "name": STRING,
            "description": STRING,
            "mediaType": STRING,
            "size": INTEGER,
            "text": STRING,
            "isLong": BOOLEAN,
            "attachmentId": STRING,
            "width": INTEGER,
            "height": INTEGER,
            "shown": {
                **SHOWN,
                **object_schema(
                    {"uri": STRING, "name": STRING, "description": STRING, "text": STRING}
                ),
            },
        }
    ),
    "tool_confirmation": object_schema(
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
            "options": list_schema(schema_reference("Option")),
            "diff": {"oneOf": [schema_reference("Diff"), {"type": "null"}]},
            "moreDiffs": list_schema(schema_reference("Diff")),
            "shown": {
                **SHOWN,
                **object_schema(
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
    "complete": object_schema(
        {
            **IDS,
            "success": BOOLEAN,
            "message": STRING,
            "reason": STRING,
            "usage": schema_reference("Usage"),
        }
    ),
    "error": object_schema({**IDS, "message": STRING, "code": STRING, "details": STRING}),
    "plan": object_schema({**IDS, "entries": list_schema(schema_reference("PlanEntry"))}),
    "context_usage": object_schema({**IDS, **CONTEXT}),
    "elicitation": object_schema(
        {
            **IDS,
            "elicitationId": STRING,
            "mode": {"type": "string", "enum": [elicitation.FORM, elicitation.URL]},
            "message": STRING,
            "fields": list_schema(schema_reference("FormField")),
            "url": STRING,
            "callId": STRING,
            "shown": {**SHOWN, **object_schema({"message": STRING, "url": STRING, "host": STRING})},
        }
    ),
    "elicitation_answered": object_schema(
        {
            **IDS,
            "elicitationId": STRING,
            "action": {"type": "string", "enum": list(elicitation.ACTIONS)},
        }
    ),
    "message_added": object_schema({**IDS, "queueId": STRING, "text": STRING}),
    "config_options": object_schema(
        {**IDS, "options": list_schema(schema_reference("ConfigOption"))}
    ),
    "session_title": object_schema({**IDS, "title": STRING}),
    "commands": object_schema({**IDS, "commands": list_schema(schema_reference("SlashCommand"))}),
    "queue": object_schema({**IDS, **QUEUE}),
    "message": object_schema(
        {
            **IDS,
            "text": STRING,
            "files": list_schema(STRING),
            "attachments": list_schema(schema_reference("Attachment")),
        }
    ),
}
EVENT_WORDS: Mapping[str, str] = {
    "content": "A piece of the answer; `isPartial` is false for the last of a run of pieces.",
    "thought": "A thought of the model; the subjects `Warning` and `Retrying` are ours.",
    "tool_call": "The model calls a tool.",
    "tool_execution": "Where the call of a tool stands.",
    "tool_result": "What came of the call of a tool; the last event about it.",
    "resource": "An image, a link or a text beside the answer, or in the result of a call.",
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


def _event_schemas() -> dict[str, Schema]:
    """The schemas of each event and its data by their names, and one name for any event."""
    found: dict[str, Schema] = {}
    for type, data in EVENT_DATA.items():
        name = event_name(type)
        found[name + "Data"] = data
        found[name] = {
            "description": EVENT_WORDS[type],
            **object_schema(
                {
                    "type": {"type": "string", "const": type},
                    "data": schema_reference(name + "Data"),
                    "timestamp": TIME,
                }
            ),
        }
    names = {type: event_name(type) for type in EVENT_DATA}
    found["StreamingEvent"] = {
        "description": "An event of a stream.",
        "oneOf": [schema_reference(name) for name in names.values()],
        "discriminator": {
            "propertyName": "type",
            "mapping": {type: schema_reference(name)["$ref"] for type, name in names.items()},
        },
    }
    return found


# Schemas that answers refer to by name.
COMPONENTS: Mapping[str, Schema] = {
    "ErrorResponse": ERROR,
    "OpenAiErrorResponse": object_schema(
        {
            "error": object_schema(
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
    "Cost": object_schema({"amount": {"type": "number"}, "currency": STRING}),
    "ContextUse": object_schema(CONTEXT),
    "ConfigOption": CONFIG_OPTION,
    "OptionValue": OPTION_VALUE,
    "FormField": FORM_FIELD,
    "QueuedMessage": object_schema(
        {
            "queueId": STRING,
            "time": TIME,
            "text": STRING,
            "files": list_schema(STRING),
            "attachments": list_schema(schema_reference("Attachment")),
        }
    ),
    "FileChange": FILE_CHANGE,
    "Option": OPTION,
    "Diff": DIFF,
    **_event_schemas(),
}
