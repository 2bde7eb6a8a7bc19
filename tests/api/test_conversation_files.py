"""What belongs to a conversation beside its transcript: attachments, edits; uploads that make
no sense. No agent is needed for any of it."""

from __future__ import annotations

import contextlib
import glob
import os
import tempfile
import threading
from datetime import datetime, timezone
from email.parser import HeaderParser
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent import attachments
from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.conversations import conversation
from GeminiCompanion.companion.agent.conversations.transcripts import Transcripts
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.turn_events import TurnEvent
from GeminiCompanion.companion.agent.turn_undo import TurnUndo
from GeminiCompanion.companion.api.files import uploads
from GeminiCompanion.companion.api.handlers import attachment_handlers
from GeminiCompanion.companion.api.server import Server

from ..support import wait_for
from .support import PATIENCE, ApiTest, Reply

ID, TURN = "a" * 32, "turn"
NOW = datetime.now(timezone.utc)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
BOUNDARY = "----of the test"


def form(data: bytes = PNG, name: str = "file", filename: str = "a b.png") -> bytes:
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"; filename="{filename}"'
    return head.encode() + b"\r\nContent-Type: image/png\r\n\r\n" + data + b"\r\n" + END


END = f"--{BOUNDARY}--\r\n".encode()


class ConversationFiles(ApiTest):
    """`conversation` is one with a turn, in the server that all tests share."""

    conversation: Server
    transcripts: Transcripts
    files: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        folder = os.path.join(tempfile.mkdtemp(dir=cls.root), "state")
        os.makedirs(os.path.join(folder, "agent"), mode=0o700)
        os.chmod(folder, 0o700)
        cls.transcripts = Transcripts(os.path.join(folder, "agent", "conversations"))
        transcript = cls.transcripts.file_of(ID)
        transcript.begin_file(cls.workspace, NOW)
        transcript.add_change(session="12345678-session")
        attached = (events.Attachment("b" * 32, "a.png", "image/png", 3),)
        transcript.add_message(TURN, events.Message("hello", (), attached))
        over = events.Complete(events.END_TURN, events.Usage(0, 0, {}))
        transcript.add_event(TurnEvent(1, NOW, ID, TURN, over))
        transcript.write_now()
        cls.files = transcript.folder
        cls.conversation = cls.another_server(folder)

    def ask(self, *arguments: Any, **more: Any) -> Reply:
        return super().ask(*arguments, **{"server": self.conversation, **more})

    def upload(self, body: bytes, type: str = "", id: str = ID) -> Reply:
        media = type or f'multipart/form-data; boundary="{BOUNDARY}"'
        return self.ask("POST", f"/sessions/{id}/attachments", body, {"Content-Type": media})

    def listed(self) -> list[Any]:
        return self.ask("GET", f"/sessions/{ID}/attachments")["attachments"]

    def tearDown(self) -> None:
        for each in self.listed():
            self.ask("DELETE", f"/sessions/{ID}/attachments/{each['attachmentId']}")


class Attaching(ConversationFiles):
    def test_what_was_uploaded_is_listed_given_and_deleted(self) -> None:
        added = self.upload(form())
        self.assertEqual(added.status, 200, added)
        told = {name: added[name] for name in ("attachmentId", "name", "mediaType", "size")}
        self.assertEqual(
            told, {**told, "name": "a b.png", "mediaType": "image/png", "size": len(PNG)}
        )
        self.assertEqual(self.listed(), [told])
        path = f"/sessions/{ID}/attachments/{told['attachmentId']}"
        given = self.ask("GET", path)
        self.assertEqual((given.status, given.data), (200, PNG))
        # No browser shows or runs it.
        self.assertEqual(given.headers["Content-Type"], "application/octet-stream")
        self.assertEqual(self.ask("DELETE", path).status, 200)
        self.assertEqual(self.listed(), [])
        for method in ("GET", "DELETE"):
            self.refused(self.ask(method, path), 404, "ATTACHMENT_NOT_FOUND")

    def test_it_is_for_this_user_alone(self) -> None:
        self.upload(form())
        for folder, _folders, names in os.walk(self.files):
            self.assertEqual(os.stat(folder).st_mode & 0o077, 0)
            for name in names:
                self.assertEqual(os.stat(os.path.join(folder, name)).st_mode & 0o077, 0)

    def test_what_it_holds_counts_and_not_what_is_said_of_it(self) -> None:
        for data, media in (
            (PNG, "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a..", "image/gif"),
            (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
            (b"%PDF-1.7\r\n", "application/pdf"),
        ):
            self.assertEqual(self.upload(form(data))["mediaType"], media)
        for data in (b"<svg/>", b"text", b"RIFF\x00\x00\x00\x00WAVE", b"\x89PN"):
            self.refused(self.upload(form(data)), 400, "VALIDATION_ERROR")
        self.assertEqual(len(self.listed()), 5)

    def test_names_have_no_folders_and_no_letters_that_show_nothing(self) -> None:
        for name, expected in (
            ("../../etc/passwd", "passwd"),
            ("C:\\\\x\\\\pic.png", "pic.png"),
            ("ünï 图.png", "ünï 图.png"),
            ("a%22b.png", 'a"b.png'),
            ("", "attachment"),
            ("..", "attachment"),
            ("x" * 300, "x" * 200),
        ):
            with self.subTest(name):
                self.assertEqual(self.upload(form(filename=name))["name"], expected)

    def test_forms_that_make_no_sense_are_refused_and_leave_nothing(self) -> None:
        for body in (
            b"",
            b"{}",
            END,
            form()[:-8],
            form().replace(b"form-data", b"attachment"),
            form().replace(b"\r\n\r\n", b"\r\n", 1),
            form(name="other"),
            form()[: -len(END)] + form(),
            form(b""),
            b"\x00" * 1000,
        ):
            with self.subTest(body[:40]):
                self.refused(self.upload(body), 400, "VALIDATION_ERROR")
        for media in ("multipart/form-data", f"multipart/form-data; boundary={'x' * 71}"):
            self.refused(self.upload(form(), media), 400, "VALIDATION_ERROR")
        for media in ("application/json", "image/png", "text/plain"):
            self.refused(self.upload(form(), media), 415, "UNSUPPORTED_MEDIA_TYPE")
        self.assertEqual(self.listed(), [])

    def test_other_members_of_the_form_are_passed_over(self) -> None:
        other = form(b"text", "caption").replace(END, b"")
        self.assertEqual(self.upload(other + form()).status, 200)

    def test_a_form_with_many_members_is_refused_before_they_are_parsed(self) -> None:
        other = form(b"text", "caption").replace(END, b"")
        most = other * (uploads.MAX_PARTS - 1) + form()
        self.assertEqual(self.upload(most).status, 200)
        with mock.patch.object(uploads, "_part_as_file", side_effect=AssertionError("parsed")):
            self.refused(self.upload(other + most), 400, "VALIDATION_ERROR")
            self.refused(self.upload(other * 1000 + form()), 400, "VALIDATION_ERROR")

    def test_a_long_head_is_refused_before_it_is_parsed(self) -> None:
        begin = b'--%s\r\nContent-Disposition: form-data; name="' % BOUNDARY.encode()
        for size, is_read in ((uploads.MAX_HEAD, True), (uploads.MAX_HEAD + 1, False)):
            # A quote without its end: each semicolon of the head is looked at anew for each other.
            head = begin + b";" * (size - len(begin) + len(f"--{BOUNDARY}\r\n"))
            body = head + b"\r\n\r\ntext\r\n" + form()
            parsed = mock.patch.object(uploads.email.parser, "HeaderParser", wraps=HeaderParser)
            with self.subTest(size), parsed as parser:
                reply = self.upload(body)
                self.assertEqual(parser.called, is_read)
                if is_read:
                    self.assertEqual(reply.status, 200, reply)
                else:
                    self.refused(reply, 400, "VALIDATION_ERROR")
                    self.assertIn(f"at most {uploads.MAX_HEAD} bytes", reply["message"])

    def test_a_damaged_description_costs_its_attachment_only_which_can_be_deleted(self) -> None:
        damaged, sound = (self.upload(form())["attachmentId"] for _ in range(2))
        for text in ("", "[]", "{", '{"id": 1, "name": 2, "media_type": 3, "size": 4}'):
            path = os.path.join(self.files, "attachments", damaged + ".json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            self.assertEqual([attachment["attachmentId"] for attachment in self.listed()], [sound])
        self.assertEqual(self.upload(form()).status, 200)
        path = f"/sessions/{ID}/attachments/{damaged}"
        self.assertEqual(self.ask("DELETE", path).status, 200)
        self.refused(self.ask("DELETE", path), 404, "ATTACHMENT_NOT_FOUND")
        self.assertEqual(glob.glob(os.path.join(self.files, "attachments", damaged + "*")), [])

    def test_uploads_at_the_same_time_stay_within_the_limits(self) -> None:
        found = attachments.Attachments(os.path.join(tempfile.mkdtemp(dir=self.root), "files"))
        together = threading.Barrier(8)

        def add() -> None:
            together.wait(PATIENCE)
            with contextlib.suppress(AgentError):
                found.add("a.png", PNG)

        with mock.patch.object(attachments, "MAX_COUNT", 2):
            threads = [threading.Thread(target=add) for _ in range(8)]
            for each in threads:
                each.start()
            for each in threads:
                each.join(PATIENCE)
        self.assertEqual(len(found.list_all()), 2)

    def test_a_disk_that_does_not_answer_is_named(self) -> None:
        answers = threading.Event()
        self.addCleanup(answers.set)
        wait = mock.patch.object(
            attachments.Attachments, "list_all", lambda _: answers.wait(PATIENCE)
        )
        with wait, mock.patch.object(attachment_handlers, "SECONDS", 0.01):
            reply = self.ask("GET", f"/sessions/{ID}/attachments")
        self.refused(reply, 500, "FILE_ERROR")
        self.assertIn("the disk did not answer", reply["message"])

    def test_too_large_and_too_many_are_refused(self) -> None:
        large = PNG + bytes(attachments.MAX_BYTES - len(PNG) + 1)
        self.refused(self.upload(form(large)), 413, "FILE_TOO_LARGE")
        self.refused(self.upload(form(large + bytes(uploads.BESIDE))), 413, "TOO_LARGE")
        self.assertEqual(self.upload(form(large[:-1])).status, 200)
        for _ in range(attachments.MAX_COUNT - 1):
            self.upload(form())
        self.refused(self.upload(form()), 400, "VALIDATION_ERROR")
        self.assertEqual(len(self.listed()), attachments.MAX_COUNT)

    def test_conversations_and_attachments_that_there_are_not(self) -> None:
        self.refused(self.upload(form(), id="b" * 32), 404, "SESSION_NOT_FOUND")
        self.refused(self.ask("GET", "/sessions/x/attachments"), 404, "SESSION_NOT_FOUND")
        for id in ("x", "..", "%2e%2e", "c" * 32, "a\\b"):
            path = f"/sessions/{ID}/attachments/{id}"
            self.refused(self.ask("GET", path), 404, "ATTACHMENT_NOT_FOUND")
            self.refused(self.ask("DELETE", path), 404, "ATTACHMENT_NOT_FOUND")
        path = f"/sessions/{ID}/attachments/{'x' * 65}"
        self.refused(self.ask("GET", path), 400, "VALIDATION_ERROR")

    def test_a_message_without_its_conversation_takes_none(self) -> None:
        message = {"message": "hello", "attachments": ["b" * 32]}
        self.refused(self.ask("POST", "/chat", message), 400, "VALIDATION_ERROR")
        begun = {**message, "sessionId": ID, "newSession": True}
        self.refused(self.ask("POST", "/chat", begun), 400, "VALIDATION_ERROR")

    def test_past_messages_tell_their_attachments(self) -> None:
        turn = self.ask("GET", f"/sessions/{ID}/messages")["messages"][0]
        told = {"attachmentId": "b" * 32, "name": "a.png", "mediaType": "image/png", "size": 3}
        self.assertEqual(turn["attachments"], [told])


class ToolServers(ConversationFiles):
    def test_those_that_make_no_sense_are_refused(self) -> None:
        good = {"name": "sums", "command": "/bin/true"}
        for server, field in (
            ({}, "mcpServers.0"),
            ({"name": "sums"}, "mcpServers.0.command"),
            ({"command": "/bin/true"}, "mcpServers.0.name"),
            ({**good, "name": "a b"}, "mcpServers.0.name"),
            ({**good, "name": "x" * 65}, "mcpServers.0.name"),
            ({**good, "type": "sse"}, "mcpServers.0.type"),
            ({**good, "args": "x"}, "mcpServers.0.args"),
            ({**good, "args": ["a\nb"]}, "mcpServers.0.args.0"),
            ({**good, "env": [{"name": "A=", "value": ""}]}, "mcpServers.0.env.0.name"),
            ({**good, "env": [{"name": "A"}]}, "mcpServers.0.env.0.value"),
            ({**good, "env": [good] * 101}, "mcpServers.0.env"),
            ({"name": "web", "type": "http"}, "mcpServers.0.url"),
            ({"name": "web", "type": "http", "url": "file:///x"}, "mcpServers.0.url"),
            ("x", "mcpServers.0"),
        ):
            with self.subTest(server):
                reply = self.ask("POST", "/sessions", {"mcpServers": [server]})
                self.refused(reply, 400, "VALIDATION_ERROR")
                self.assertIn(field, reply["message"])
        many = [{**good, "name": f"sums{number}"} for number in range(21)]
        self.refused(self.ask("POST", "/sessions", {"mcpServers": many}), 400, "VALIDATION_ERROR")
        twice = self.ask("POST", "/sessions", {"mcpServers": [good, good]})
        self.refused(twice, 400, "VALIDATION_ERROR")
        self.assertEqual(len(self.ask("GET", "/sessions")["sessions"]), 1)

    def test_in_a_workspace_that_is_not_trusted_none_is_taken(self) -> None:
        for server in (
            {"name": "sums", "command": "/bin/true", "args": None, "env": []},
            {"type": "stdio", "name": "sums", "command": "/bin/true"},
            {"type": "http", "name": "web", "url": "https://example.com/mcp", "headers": []},
        ):
            reply = self.ask("POST", "/sessions", {"mcpServers": [server]})
            self.refused(reply, 403, "TOOL_SERVERS_DISABLED")
            self.assertIn("--trust", reply["message"])
        self.assertEqual(len(self.ask("GET", "/sessions")["sessions"]), 1)


class Undoing(ConversationFiles):
    def test_a_turn_is_undone_and_what_somebody_changed_is_named(self) -> None:
        made = TurnUndo(self.files)
        mine, theirs = self.write("mine.txt", "after"), self.write("theirs.txt", "after")
        for path in (mine, theirs):
            made.note_change(TURN, path, b"before", b"after")
        self.write("theirs.txt", "meanwhile")
        reply = self.ask("POST", f"/sessions/{ID}/turns/{TURN}/undo", {})
        expected = [
            {"path": path, "change": "changed", "state": state, "shown": {"path": path}}
            for path, state in ((mine, "undone"), (theirs, "changed_since"))
        ]
        self.assertEqual((reply.status, reply["files"]), (200, expected))
        self.assertIn("Some files", reply["message"])
        self.assertEqual(
            (self.read("mine.txt"), self.read("theirs.txt")), (b"before", b"meanwhile")
        )
        told = self.ask("GET", f"/sessions/{ID}/turns/{TURN}/files")
        self.assertEqual(told["files"], expected)

    def test_turns_and_conversations_that_there_are_not(self) -> None:
        for method, what in (("GET", "files"), ("POST", "undo")):
            body: Any = {} if method == "POST" else None
            reply = self.ask(method, f"/sessions/x/turns/{TURN}/{what}", body)
            self.refused(reply, 404, "SESSION_NOT_FOUND")
            for turn in ("none", "..", "%00"):
                reply = self.ask(method, f"/sessions/{ID}/turns/{turn}/{what}", body)
                self.refused(reply, 404, "TURN_NOT_FOUND")
            reply = self.ask(method, f"/sessions/{ID}/turns/{'x' * 513}/{what}", body)
            self.refused(reply, 400, "VALIDATION_ERROR")


class Leaving(ConversationFiles):
    """Clients that leave while the disk has not answered."""

    def left(self, where: Any, work: str, method: str, path: str) -> threading.Event:
        """Ask, and leave while `work` of `where` waits for the disk, until the event is set."""
        begun, answers = threading.Event(), threading.Event()
        real = getattr(where, work)

        def wait(*arguments: Any) -> Any:
            begun.set()
            answers.wait(PATIENCE)
            return real(*arguments)

        patch = mock.patch.object(where, work, wait)
        patch.start()
        self.addCleanup(patch.stop)
        self.addCleanup(answers.set)
        client = self.open(self.conversation)
        headers = {"Authorization": f"Bearer {self.conversation.token}"}
        client.request(method, path, None, headers)
        self.assertTrue(begun.wait(PATIENCE))
        client.close()
        connections = self.conversation._http._server.connections
        wait_for(lambda: all(connection.transport is None for connection in connections))
        return answers


class LeavingAnUndo(Leaving):
    def test_an_undo_comes_to_its_end_and_is_told_to_the_model(self) -> None:
        path = self.write("a.txt", "after")
        TurnUndo(self.files).note_change(TURN, path, b"before", b"after")
        undo = f"/sessions/{ID}/turns/{TURN}/undo"
        answers = self.left(TurnUndo, "undo_turn", "POST", undo)
        self.assertTrue(self.ask("GET", "/sessions")["sessions"][0]["isBusy"])
        answers.set()
        wait_for(lambda: not self.ask("GET", "/sessions")["sessions"][0]["isBusy"])
        self.assertEqual(self.read("a.txt"), b"before")
        known = self.conversation.agent.conversations.known_conversation(ID)
        self.assertEqual(known.record.state.undone, (path,))


class LeavingADeletion(Leaving):
    def test_the_conversation_is_gone_once_the_disk_has_answered(self) -> None:
        answers = self.left(conversation, "delete_conversation_files", "DELETE", f"/sessions/{ID}")
        answers.set()
        wait_for(lambda: not self.ask("GET", "/sessions")["sessions"])
        self.assertEqual(os.listdir(self.transcripts.folder), [])

    def tearDown(self) -> None:
        """There is nothing left."""


class Deleting(ConversationFiles):
    def test_all_of_it_goes_with_the_conversation(self) -> None:
        self.upload(form())
        TurnUndo(self.files).note_change(TURN, self.path("x"), b"before", b"after")
        self.assertEqual(self.ask("DELETE", f"/sessions/{ID}").status, 200)
        self.assertEqual(os.listdir(self.transcripts.folder), [])
        self.refused(self.upload(form()), 404, "SESSION_NOT_FOUND")

    def tearDown(self) -> None:
        """There is nothing left."""
