"""Of which conversations a client may know, where an editor's chat has the same folder. No agent is
needed for it."""

from __future__ import annotations

import os
import tempfile
from datetime import datetime, timezone

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.conversations.transcripts import Transcripts
from GeminiCompanion.companion.agent.turn_events import TurnEvent
from GeminiCompanion.companion.api.operations.visible import Visible
from GeminiCompanion.companion.api.server import Server

from .support import ApiTest

NOW = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)
OURS, CHATS = "a" * 32, "b" * 32


class Hidden(ApiTest):
    """One conversation of the API and one of an editor's chat."""

    folder: str

    def setUp(self) -> None:
        self.folder = os.path.join(tempfile.mkdtemp(dir=self.root), "state")
        os.makedirs(os.path.join(self.folder, "agent"), mode=0o700)
        os.chmod(self.folder, 0o700)
        transcripts = Transcripts(os.path.join(self.folder, "agent", "conversations"))
        for id, in_chat in ((OURS, ""), (CHATS, "yes")):
            transcript = transcripts.file_of(id)
            transcript.begin_file(self.workspace, NOW)
            transcript.add_change(session="12345678-session", owned="yes", in_chat=in_chat)
            transcript.add_message("turn", events.Message("about apples"))
            over = events.Complete(events.END_TURN, events.Usage(0, 0, {}))
            transcript.add_event(TurnEvent(1, NOW, id, "turn", over))
        transcripts.write_all()

    def listed(self, server: Server, query: str = "") -> list[str]:
        reply = self.ask("GET", "/sessions" + query, server=server)
        return sorted(session["sessionId"] for session in reply["sessions"])

    def test_a_chat_is_hidden_unless_the_operator_wants_it_shown(self) -> None:
        for shows_chats, expected in ((False, [OURS]), (True, [OURS, CHATS])):
            server = self.another_server(self.folder, shows_chats=shows_chats)
            for query in ("", "?limit=10", "?q=apples"):
                with self.subTest(f"{shows_chats} {query}"):
                    self.assertEqual(self.listed(server, query), expected)

    def test_a_page_is_full_although_chats_are_hidden(self) -> None:
        server = self.another_server(self.folder)
        reply = self.ask("GET", "/sessions?limit=1", server=server)
        self.assertEqual([session["sessionId"] for session in reply["sessions"]], [OURS])
        self.assertNotIn("nextCursor", reply.body)

    def test_for_a_client_that_knows_its_id_a_hidden_one_does_not_exist(self) -> None:
        server, path = self.another_server(self.folder), f"/sessions/{CHATS}"
        for method, place, body in (
            ("GET", path, None),
            ("GET", path + "/messages", None),
            ("GET", path + "/export", None),
            ("GET", path + "/queue", None),
            ("POST", path + "/fork", {}),
            ("PATCH", path, {"title": "Mine"}),
            ("DELETE", path, None),
            ("POST", "/chat", {"message": "hello", "sessionId": CHATS}),
            ("POST", "/cancel", {"sessionId": CHATS}),
            ("POST", path + "/subagents/stop", {"callId": "x"}),
        ):
            with self.subTest(f"{method} {place}"):
                reply = self.ask(method, place, body, server=server)
                self.refused(reply, 404, "SESSION_NOT_FOUND")
        reply = self.ask("POST", "/sessions/delete", {"sessionIds": [CHATS]}, server=server)
        self.assertEqual(reply["removed"], [])
        shown = self.another_server(self.folder, shows_chats=True)
        self.assertEqual(self.listed(shown), [OURS, CHATS])

    def test_a_hidden_one_stays_hidden_after_it_was_deleted(self) -> None:
        """Its events are kept for clients who come back."""
        server = self.another_server(self.folder)
        visible = Visible(server.agent, False)
        for id, is_visible in ((CHATS, False), (OURS, True)):
            self.on_loop(server.agent.conversations.remove(id))
            self.assertEqual(visible.is_visible(id), is_visible)
