"""An example of each operation for `openapi.json`: what is sent, and what comes back. A test holds
them against the schemas."""

from __future__ import annotations

import json
from typing import Any, Mapping

SESSION_ID, TURN_ID = "6f0d5c2ab1e94d8f9a3c7e5d1b2f4a60", "c3a19e7d5b604f82"
ATTACHMENT_ID, QUEUE_ID, ELICITATION_ID = "a7c2e94f01b86d35", "4be1a0d96c27f358", "e41c7ab2"
CALL_ID, COMPLETION_ID = "run_shell_command__run_shell_command_1", "chatcmpl-c3a19e7d5b604f82"
TIME = "2026-11-23T10:15:30.000Z"
FOLDER = "/home/ada/project"
IDS = {"sessionId": SESSION_ID, "turnId": TURN_ID}
USAGE = {"inputTokens": 812, "outputTokens": 24, "byModel": {}}
ATTACHMENT = {
    "attachmentId": ATTACHMENT_ID,
    "name": "plan.png",
    "mediaType": "image/png",
    "size": 52190,
}
SESSION = {
    "sessionId": SESSION_ID,
    "agent": "gemini",
    "workspacePath": FOLDER,
    "title": "Mend the typo in README.md.",
    "model": "gemini-2.5-pro",
    "mode": "default",
    "isBusy": False,
    "turns": 1,
    "created": TIME,
    "lastUsed": TIME,
    "usage": USAGE,
    "modes": ["default", "autoEdit", "yolo", "plan"],
    "mcpServers": [],
    "isSaved": True,
}
QUEUE = {
    "messages": [
        {
            "queueId": QUEUE_ID,
            "time": TIME,
            "text": "Then run the tests.",
            "files": [],
            "attachments": [],
        }
    ],
    "isHeld": False,
    "problem": "",
    "passing": "",
}
STATE = {
    "plan": [
        {
            "content": "Read the tests",
            "priority": "high",
            "status": "completed",
            "shown": {"content": "Read the tests"},
        }
    ],
    "context": {"used": 53000, "size": 200000, "cost": {"amount": 0.25, "currency": "USD"}},
    "options": [],
}
FILES = {
    "files": [
        {
            "path": FOLDER + "/README.md",
            "change": "changed",
            "state": "undone",
            "shown": {"path": FOLDER + "/README.md"},
        }
    ]
}
CONTENT = {
    "type": "content",
    "data": {**IDS, "text": "Done.", "isPartial": False},
    "timestamp": TIME,
}
CONFIRMATION = {
    "type": "tool_confirmation",
    "data": {
        **IDS,
        "callId": CALL_ID,
        "name": "run_shell_command",
        "displayName": "Shell",
        "description": "npm test",
        "prompt": "Allow this command?",
        "command": "npm test",
        "args": {"command": "npm test"},
        "options": [
            {"outcome": "proceed_once", "label": "Allow", "shown": {"label": "Allow"}},
            {"outcome": "cancel", "label": "Reject", "shown": {"label": "Reject"}},
        ],
        "diff": None,
        "moreDiffs": [],
        "revision": f"{TURN_ID}.3",
        "shown": {
            "displayName": "Shell",
            "description": "npm test",
            "command": "npm test",
            "asked": "npm test",
        },
    },
    "timestamp": TIME,
}
ELICITATION = {
    "type": "elicitation",
    "data": {
        **IDS,
        "elicitationId": ELICITATION_ID,
        "mode": "url",
        "message": "Log in to go on.",
        "fields": [],
        "url": "https://example.com/login",
        "callId": "",
        "shown": {
            "message": "Log in to go on.",
            "url": "https://example.com/login",
            "host": "example.com",
        },
    },
    "timestamp": TIME,
}
MODELS = {
    "current": "gemini-2.5-pro",
    "models": [{"id": "gemini-2.5-pro", "name": "Gemini 2.5 Pro", "description": ""}],
}
OPENAI_MODEL = {"id": "gemini-2.5-pro", "object": "model", "created": 0, "owned_by": "gemini"}
TOKEN = {"name": "phone", "scopes": ["read", "chat", "decide"], "created": TIME}
GIVEN = {"token": "nq3Zk0V2o1mXw7c8R5tYb9uLpJ6sDfGhEaKiQxWvC4M", **TOKEN}
TICKET = "Jc5tB2hQ8nXw0zRk7mYf3uLpV6sDaGhEiKoQxWvC4M1"

# What is sent in the body, by method and path.
REQUESTS: Mapping[str, Mapping[str, Any]] = {
    "POST /auth/config": {"authType": "gemini-api-key", "apiKey": "your key"},
    "POST /auth/google-login": {"code": "4/0Abc"},
    "POST /auth/logout": {},
    "POST /auth/clear": {},
    "POST /chat": {"message": "Mend the typo in README.md.", "stream": True},
    "POST /tool-confirmation": {
        "callId": CALL_ID,
        "outcome": "proceed_once",
        "revision": f"{TURN_ID}.3",
        "sessionId": SESSION_ID,
    },
    "POST /elicitation": {"elicitationId": ELICITATION_ID, "action": "accept"},
    "POST /cancel": {"sessionId": SESSION_ID},
    "POST /sessions/{sessionId}/subagents/stop": {"callId": CALL_ID},
    "POST /sessions": {"workspacePath": FOLDER},
    "POST /sessions/delete": {"sessionIds": [SESSION_ID]},
    "POST /sessions/{sessionId}/fork": {"turnId": TURN_ID},
    "PATCH /sessions/{sessionId}": {"title": "The typo"},
    "POST /sessions/{sessionId}/queue": {"message": "Then run the tests."},
    "PATCH /sessions/{sessionId}/queue/{queueId}": {"position": 0},
    "POST /sessions/{sessionId}/queue/{queueId}/now": {},
    "POST /sessions/{sessionId}/options": {"id": "model", "value": "gemini-2.5-pro"},
    "POST /sessions/{sessionId}/turns/{turnId}/undo": {},
    "POST /model": {"model": "gemini-2.5-pro"},
    "POST /read-file": {"path": "README.md"},
    "POST /write-file": {"path": "notes.txt", "content": "one\ntwo\n"},
    "POST /execute-command": {"command": "ls", "timeout": 10},
    "POST /v1/chat/completions": {
        "model": "gemini",
        "messages": [{"role": "user", "content": "Hello!"}],
    },
    "POST /v1/responses": {"model": "gemini", "input": "Hello!"},
    "POST /tokens": {"name": "phone", "scopes": ["read", "chat", "decide"]},
    "POST /tokens/{name}/renew": {},
    "POST /tickets": {"path": "/events"},
}
# What comes back, without the members that all answers have.
_ANSWERS: Mapping[str, Mapping[str, Any]] = {
    "GET /status": {
        "status": "ok",
        "version": "0.1.0",
        "cli": {"version": "0.61.0", "running": True, "pid": 4711},
    },
    "GET /healthz": {"status": "ok"},
    "GET /readyz": {"status": "ok"},
    "POST /auth/config": {},
    "POST /auth/google-login": {},
    "GET /auth/status": {
        "data": {
            "isAuthenticated": True,
            "authType": "gemini-api-key",
            "hasApiKey": True,
            "hasGoogleCloudConfig": False,
            "account": None,
            "verified": True,
        }
    },
    "POST /auth/logout": {},
    "POST /auth/clear": {},
    "POST /chat": {
        "response": "Done.",
        "hasToolCalls": False,
        "toolCalls": [],
        "warnings": [],
        **IDS,
        "reason": "end_turn",
        "usage": USAGE,
    },
    "POST /tool-confirmation": {},
    "GET /tool-confirmations": {"confirmations": [CONFIRMATION]},
    "POST /elicitation": {},
    "GET /elicitations": {"elicitations": [ELICITATION]},
    "POST /cancel": {"cancelled": 1},
    "POST /sessions/{sessionId}/subagents/stop": {},
    "GET /sessions": {"sessions": [SESSION]},
    "POST /sessions": SESSION,
    "POST /sessions/delete": {"removed": [SESSION_ID], "failed": []},
    "GET /sessions/{sessionId}": SESSION,
    "GET /sessions/{sessionId}/export": {"session": SESSION, "messages": []},
    "POST /sessions/{sessionId}/fork": SESSION,
    "PATCH /sessions/{sessionId}": {**SESSION, "title": "The typo"},
    "DELETE /sessions/{sessionId}": {},
    "GET /sessions/{sessionId}/commands": {
        "commands": [
            {"name": "memory show", "description": "Show the memory", "hint": "", "allowed": True}
        ]
    },
    "GET /sessions/{sessionId}/queue": QUEUE,
    "POST /sessions/{sessionId}/queue": {**QUEUE, "queueId": QUEUE_ID},
    "PATCH /sessions/{sessionId}/queue/{queueId}": QUEUE,
    "DELETE /sessions/{sessionId}/queue/{queueId}": {**QUEUE, "messages": []},
    "POST /sessions/{sessionId}/queue/{queueId}/now": {**QUEUE, "messages": []},
    "GET /sessions/{sessionId}/state": STATE,
    "POST /sessions/{sessionId}/options": STATE,
    "GET /sessions/{sessionId}/attachments": {"attachments": [ATTACHMENT]},
    "POST /sessions/{sessionId}/attachments": ATTACHMENT,
    "DELETE /sessions/{sessionId}/attachments/{attachmentId}": {},
    "GET /sessions/{sessionId}/messages": {
        "messages": [
            {
                "turnId": TURN_ID,
                "time": TIME,
                "text": "Mend the typo in README.md.",
                "files": [],
                "attachments": [],
                "events": [CONTENT],
            }
        ],
        "hasMore": False,
    },
    "GET /sessions/{sessionId}/turns/{turnId}/files": FILES,
    "POST /sessions/{sessionId}/turns/{turnId}/undo": FILES,
    "GET /agents": {
        "agents": [
            {
                "id": "gemini",
                "name": "Gemini CLI",
                "isDefault": True,
                "authTypes": ["gemini-api-key", "vertex-ai", "oauth-personal"],
                "hasGoogleLogin": True,
                "isAuthenticated": True,
                "testedVersion": "0.61.0",
                "maxProcesses": 1,
                "processes": [
                    {
                        "pid": 4711,
                        "version": "0.61.0",
                        "memoryBytes": 304087040,
                        "conversations": 1,
                        "warning": None,
                    }
                ],
            }
        ]
    },
    "GET /models": MODELS,
    "POST /model": MODELS,
    "GET /list-directory": {
        "path": FOLDER,
        "items": [{"name": "README.md", "type": "file", "path": FOLDER + "/README.md"}],
        "truncated": False,
    },
    "POST /read-file": {"path": FOLDER + "/README.md", "content": "# Project\n"},
    "POST /write-file": {"path": FOLDER + "/notes.txt", "content": "one\ntwo\n"},
    "POST /execute-command": {
        "command": "ls",
        "output": "README.md\n",
        "stderr": None,
        "exitCode": 0,
        "truncated": False,
    },
    "GET /tokens": {"tokens": [TOKEN]},
    "POST /tokens": GIVEN,
    "POST /tokens/{name}/renew": GIVEN,
    "DELETE /tokens/{name}": {},
    "POST /tickets": {"ticket": TICKET, "url": f"/events?ticket={TICKET}", "expiresAt": TIME},
}
# What comes back.
ANSWERS = {
    operation: {"success": True, "message": "It went well.", **told, "timestamp": TIME}
    for operation, told in _ANSWERS.items()
}
# The same for clients of OpenAI's API.
OPENAI_ANSWERS: Mapping[str, Mapping[str, Any]] = {
    "GET /v1/models": {"object": "list", "data": [OPENAI_MODEL]},
    "GET /v1/models/{model}": OPENAI_MODEL,
    "POST /v1/chat/completions": {
        "id": COMPLETION_ID,
        "object": "chat.completion",
        "created": 1795428930,
        "model": "gemini",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello!", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 812, "completion_tokens": 24, "total_tokens": 836},
    },
    "POST /v1/responses": {
        "id": "resp_c3a19e7d5b604f82",
        "object": "response",
        "created_at": 1795428930,
        "status": "completed",
        "model": "gemini",
        "output": [
            {
                "id": "msg_c3a19e7d5b604f82",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Hello!", "annotations": []}],
            }
        ],
        "usage": {"input_tokens": 812, "output_tokens": 24, "total_tokens": 836},
    },
}
# What comes back where it is no JSON.
TEXTS: Mapping[str, str] = {
    "GET /metrics": 'gemini_cli_running{agent="gemini"} 1.0\n',
    "GET /sessions/{sessionId}/export": "# Mend the typo in README.md.\n",
    "GET /sessions/{sessionId}/attachments/{attachmentId}": "%PDF-1.4",
}
# Of fields in paths and queries, by their names.
PARAMETERS: Mapping[str, Any] = {
    "sessionId": SESSION_ID,
    "turnId": TURN_ID,
    "attachmentId": ATTACHMENT_ID,
    "queueId": QUEUE_ID,
    "lastEventId": f"{TURN_ID}.3",
    "before": TURN_ID,
    "limit": 20,
    "cursor": "eyJ0IjoxfQ",
    "q": "typo",
    "format": "markdown",
    "agent": "gemini",
    "workspacePath": FOLDER,
    "path": "src",
    "model": "gemini-2.5-pro",
    "name": "phone",
}
ERROR = {
    "success": False,
    "error": "Invalid request",
    "message": "The field message is missing.",
    "code": "VALIDATION_ERROR",
    "field": "message",
    "timestamp": TIME,
}
OPENAI_ERROR = {
    "error": {
        "message": "There is no model gpt-5.",
        "type": "invalid_request_error",
        "param": "model",
        "code": "model_not_found",
    }
}
# A stream, as the two forms of it have one event.
EVENT = {"id": f"{TURN_ID}.4", "data": json.dumps(CONTENT)}
LINE = json.dumps(CONTENT)
