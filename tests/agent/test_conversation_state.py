"""What a conversation keeps beside its turns, as it stands in its file."""

from __future__ import annotations

import unittest
from dataclasses import fields, replace
from datetime import datetime, timezone

from GeminiCompanion.companion.agent import tool_servers
from GeminiCompanion.companion.agent.conversations.conversation_state import (
    ConversationState,
    queue_of,
    queue_text,
)
from GeminiCompanion.companion.agent.turn_events import Addition, Attachment, QueuedMessage

SERVERS = tool_servers.read_servers([{"name": "sums", "command": "node", "args": ["sums.js"]}])
# As a file has it.
WRITTEN = {
    "title": "A title",
    "agent": "qwen",
    "model": "a model",
    "mode": "plan",
    "session": "one",
    "loading": "two",
    "owned": "yes",
    "temporary": "yes",
    "servers": '[{"name": "sums", "command": "node", "args": ["sums.js"], "env": []}]',
    "undone": "/a\n/b c",
    "agent_title": "Its title",
    "options": '{"effort": "high", "fast": true}',
    "queue": '[{"id": "1", "text": "Später", "time": "2026-01-02T03:04:05+00:00", "given": ["/a"],'
    ' "files": ["/a", "/b"], "attachments": [{"id": "2", "name": "a.png", "media_type":'
    ' "image/png", "size": 5}], "additions": []}]',
    "in_chat": "yes",
    "warned": "yes",
    "home": "ours",
}
QUEUED = QueuedMessage(
    *("1", "Später", datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc), ("/a",), ("/a", "/b")),
    attachments=(Attachment("2", "a.png", "image/png", 5),),
)
FULL = ConversationState(
    *("A title", "qwen", "a model", "plan", "one", "two", True, True, SERVERS, ("/a", "/b c")),
    agent_title="Its title",
    options=(("effort", "high"), ("fast", True)),
    queue=(QUEUED,),
    in_chat=True,
    is_warned=True,
    home="ours",
)


class State(unittest.TestCase):
    def test_a_file_is_read_and_written_in_the_same_words(self) -> None:
        self.assertEqual(ConversationState.from_changes(WRITTEN), FULL)
        self.assertEqual(FULL.changes_since(ConversationState()), WRITTEN)

    def test_what_the_user_has_not_typed_is_known_after_a_restart(self) -> None:
        more = replace(QUEUED, text="a\n\nb", additions=(Addition("selection", "of b", 1),))
        self.assertEqual(queue_of(queue_text([more, QUEUED])), (more, QUEUED))

    def test_each_field_outlives_the_file(self) -> None:
        for field in fields(ConversationState):
            with self.subTest(field.name):
                one = ConversationState(**{field.name: getattr(FULL, field.name)})
                changes = one.changes_since(ConversationState())
                self.assertEqual(len(changes), 1)
                self.assertEqual(ConversationState.from_changes(changes), one)

    def test_only_what_is_new_is_written_and_what_is_gone_is_written_as_empty(self) -> None:
        later = FULL.with_choices({"mode": ""})
        self.assertEqual(later.changes_since(FULL), {"mode": ""})
        self.assertEqual(ConversationState.from_changes({**WRITTEN, "mode": ""}), later)
        self.assertEqual(FULL.changes_since(FULL), {})

    def test_what_is_damaged_or_of_a_later_release_costs_itself_only(self) -> None:
        told = ConversationState.from_changes(
            {"servers": "[{", "undone": "", "color": "red", "mode": "plan"}
        )
        self.assertEqual(told, ConversationState(mode="plan"))
