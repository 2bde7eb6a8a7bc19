"""What the words of an agent's error mean, as agents have been seen to say them."""

from __future__ import annotations

import unittest
from typing import Any

from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent.failure import from_rpc, is_refused_login

INNER = "Internal error: "
# OpenAI's words.
WRONG = "Incorrect API key provided: a-key. You can find your API key at https://example.com/keys."


class Words(unittest.TestCase):
    def code_of(self, message: str, number: int = -32603, **more: Any) -> str:
        return from_rpc({"code": number, "message": message, **more}).code

    def test_a_key_that_is_refused_is_known_by_the_words_of_each_api(self) -> None:
        for said in (
            # Gemini CLI.
            '{"error": {"code": 400, "message": "API key not valid.", "status": "X"}}',
            # Qwen Code, opencode.
            "401 " + WRONG,
            INNER + WRONG,
            '{"error": {"message": "No.", "code": "invalid_api_key"}}',
            # Claude Code in claude-agent-acp 0.49, and Anthropic's API itself.
            INNER + "Invalid API key · Fix external API key",
            INNER + "Invalid auth token · Fix external auth token",
            INNER + "Not logged in · Please run /login",
            'API Error: 401 {"type":"error","error":{"type":"authentication_error",'
            '"message":"invalid x-api-key"}}',
        ):
            with self.subTest(said):
                self.assertEqual(self.code_of(said), failure.AUTH_REQUIRED)
                self.assertEqual(self.code_of(INNER, data={"details": said}), failure.AUTH_REQUIRED)

    def test_its_sentence_is_what_the_model_said(self) -> None:
        self.assertEqual(
            from_rpc({"code": -32603, "message": "401 " + WRONG}).message, "401 " + WRONG
        )

    def test_other_errors_that_speak_of_keys_and_logins_are_none_of_those(self) -> None:
        for said in (
            "The file keys.py names an API key that is not used.",
            "Cannot write src/login.ts: invalid API key type in line 3",
            "The schema of the tool has an incorrect key: api",
            "The server asks for authentication.",
            "Please run the tests again.",
        ):
            with self.subTest(said):
                self.assertFalse(is_refused_login(said))
                self.assertEqual(self.code_of(said), failure.GEMINI_ERROR)

    def test_a_connection_that_fails_is_told_as_such(self) -> None:
        for said in ("exception TypeError: fetch failed sending request", "connect ECONNREFUSED"):
            found = from_rpc({"code": 500, "message": said})
            self.assertEqual(
                (found.code, found.message), (failure.NETWORK_ERROR, failure.UNREACHABLE)
            )
