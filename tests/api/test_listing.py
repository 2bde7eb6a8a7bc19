"""Conversations by pages, searched, copied, exported and deleted. No agent is needed for it."""

from __future__ import annotations

import gzip
import os
import random
import re
import tempfile
from datetime import datetime, timedelta, timezone
from typing import Any
from unittest import mock
from urllib.parse import quote

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.attachments import Attachments
from GeminiCompanion.companion.agent.conversations import listing
from GeminiCompanion.companion.agent.conversations.transcripts import TranscriptFile, Transcripts
from GeminiCompanion.companion.agent.turn_events import TurnEvent
from GeminiCompanion.companion.agent.turn_undo import TurnUndo
from GeminiCompanion.companion.api import routes
from GeminiCompanion.companion.api.client import Client
from GeminiCompanion.companion.api.server import Server

from .support import ApiTest, Reply

NOW = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)
COUNT = 25


def id_of(number: int) -> str:
    return f"{number:032x}"


class ListingCase(ApiTest):
    """`COUNT` conversations, each of two turns; the one with the highest number was used last."""

    kept: Server
    transcripts: Transcripts

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        folder = os.path.join(tempfile.mkdtemp(dir=cls.root), "state")
        os.makedirs(os.path.join(folder, "agent"), mode=0o700)
        os.chmod(folder, 0o700)
        cls.transcripts = Transcripts(os.path.join(folder, "agent", "conversations"))
        for number in range(COUNT):
            cls.written(number)
        cls.transcripts.write_all()
        cls.kept = cls.another_server(folder)

    @classmethod
    def written(cls, number: int) -> TranscriptFile:
        transcript = cls.transcripts.file_of(id_of(number))
        at = NOW + timedelta(minutes=number)
        transcript.begin_file(cls.workspace, at)
        transcript.add_change(session="12345678-session", model="a-model", title=f"Title {number}")
        for turn in ("first", "second"):
            said = events.Message(f"Question of the {turn} turn, {number}")
            with mock.patch(f"{Transcripts.__module__}.datetime") as clock:
                clock.now.return_value = at
                transcript.add_message(turn, said)
            pieces = ("Die Antwort ist süß und 'z", f"erteilt-{number}'.\n")
            for place, text in enumerate(pieces, 1):
                body = events.Content(text, place < len(pieces))
                transcript.add_event(TurnEvent(place, at, id_of(number), turn, body))
            added = events.MessageAdded("queued", f"More of the {turn} turn, {number}")
            transcript.add_event(TurnEvent(3, at, id_of(number), turn, added))
            over = events.Complete(events.END_TURN, events.Usage(5, 1, {}))
            transcript.add_event(TurnEvent(4, at, id_of(number), turn, over))
        return transcript

    def ask(self, *arguments: Any, **more: Any) -> Reply:
        return super().ask(*arguments, **{"server": self.kept, **more})

    def page(self, query: str) -> tuple[list[int], str]:
        reply = self.ask("GET", "/sessions?" + query)
        self.assertEqual(reply.status, 200, reply)
        numbers = [int(session["sessionId"], 16) for session in reply["sessions"]]
        return numbers, reply.body.get("nextCursor", "")

    def pages(self, query: str, change: Any = lambda: None) -> list[int]:
        """All of them; `change` is called between two."""
        found, cursor = self.page(query)
        while cursor:
            change()
            more, cursor = self.page(f"{query}&cursor={quote(cursor)}")
            found += more
        return found


class Pages(ListingCase):
    def test_who_asks_for_no_page_gets_all_of_them_the_last_used_one_last(self) -> None:
        reply = self.ask("GET", "/sessions")
        numbers = [int(session["sessionId"], 16) for session in reply["sessions"]]
        self.assertEqual(numbers, list(range(COUNT)))
        self.assertNotIn("nextCursor", reply.body)

    def test_pages_have_each_once_the_last_used_one_first(self) -> None:
        newest_first = list(range(COUNT - 1, -1, -1))
        for limit in (1, 7, 24, 25, 26, 100):
            with self.subTest(limit):
                self.assertEqual(self.pages(f"limit={limit}"), newest_first)
        self.assertEqual(len(self.page("limit=7")[0]), 7)
        self.assertEqual(self.page("limit=25")[1], "")

    def test_what_is_no_cursor_is_refused(self) -> None:
        for cursor in ("x", "e30=", quote("[[1,2],[3,4]]"), "A" * 500):
            self.refused(self.ask("GET", f"/sessions?cursor={cursor}"), 400, "VALIDATION_ERROR")
        for query in ("limit=0", "limit=101", "limit=x", "q=", "cursor="):
            self.refused(self.ask("GET", "/sessions?" + query), 400, "VALIDATION_ERROR")

    def test_a_page_costs_the_same_however_many_there_are(self) -> None:
        with mock.patch(
            f"{ListingCase.__module__}.Transcripts.file_of",
            side_effect=AssertionError("read a file"),
        ):
            self.assertEqual(len(self.page("limit=5")[0]), 5)

    def test_one_can_be_asked_for(self) -> None:
        reply = self.ask("GET", "/sessions/" + id_of(3))
        listed = self.ask("GET", "/sessions")["sessions"][3]
        self.assertEqual({name: reply[name] for name in listed}, listed)
        self.refused(self.ask("GET", "/sessions/nobody"), 404, "SESSION_NOT_FOUND")

    def test_the_client_gives_all_of_them_or_those_with_some_words(self) -> None:
        client = Client(self.kept.url, self.kept.token)
        told = [int(session["sessionId"], 16) for session in client.sessions()]
        self.assertEqual(told, list(range(COUNT - 1, -1, -1)))
        with mock.patch.object(listing, "MAX_READ", 1):
            found = [session["title"] for session in client.sessions("zerteilt-2")]
        self.assertEqual(found, [f"Title {number}" for number in (*range(24, 19, -1), 2)])


class Changing(ListingCase):
    """Conversations are used, begun and deleted while somebody reads the pages."""

    def test_none_is_left_out_and_what_did_not_change_comes_once(self) -> None:
        for seed in range(20):
            with self.subTest(seed=seed):
                self.read_while_they_change(random.Random(seed))

    def read_while_they_change(self, chance: random.Random) -> None:
        index = self.kept.agent.conversations.index
        before = dict(index.summaries)
        used: set[int] = set()
        gone: set[int] = set()
        later = max(entry.last_used for entry in before.values())

        def change() -> None:
            nonlocal later
            for _ in range(chance.randrange(3)):
                number = chance.randrange(COUNT)
                later += timedelta(seconds=1)
                if number not in gone and chance.random() < 0.7:
                    used.add(number)
                    index.put_summary(index.summaries[id_of(number)]._replace(last_used=later))
                elif len(gone) < 5:
                    gone.add(number)
                    index.summaries.pop(id_of(number), None)

        found = self.pages(f"limit={chance.randrange(1, 9)}", change)
        self.assertEqual(set(range(COUNT)) - set(found) - gone, set())
        still = set(range(COUNT)) - used - gone
        self.assertEqual(
            [number for number in found if number in still], sorted(still, reverse=True)
        )
        index.summaries.clear()
        index.summaries.update(before)


class Search(ListingCase):
    def test_words_are_found_in_titles_and_in_what_both_said(self) -> None:
        for words, numbers in {
            "title 17": [17],
            "TURN, 3": [3],
            # In two pieces of an answer.
            "'zerteilt-20'": [20],
            "ist SÜSS": [],
            "ist SÜß und": list(range(COUNT - 1, -1, -1)),
            # Passed into a turn that ran.
            "more of the first turn, 4": [4],
            "nobody said this": [],
            '"text"': [],
            "end_turn": [],
            # The end of one text and the beginning of another.
            "7'.\nQuestion": [],
        }.items():
            with self.subTest(words):
                self.assertEqual(self.pages(f"limit=100&q={quote(words)}"), numbers)

    def test_a_place_where_the_words_were_said_is_shown(self) -> None:
        reply = self.ask("GET", f"/sessions?q={quote('zerteilt-20')}")
        self.assertEqual([session["excerpt"] for session in reply["sessions"]],
                         ["Die Antwort ist süß und 'zerteilt-20'."])  # fmt: skip
        self.assertNotIn("excerpt", self.ask("GET", "/sessions?q=title+20")["sessions"][0])

    def test_pages_of_a_search_go_on_where_the_last_one_ended(self) -> None:
        self.assertEqual(self.pages(f"limit=4&q={quote('first turn')}"),
                         list(range(COUNT - 1, -1, -1)))  # fmt: skip

    def test_one_page_reads_so_much_and_not_more(self) -> None:
        with mock.patch.object(listing, "MAX_READ", 1):
            numbers, cursor = self.page(f"q={quote('turn, 20')}")
            self.assertEqual(numbers, [])
            self.assertTrue(cursor)
            self.assertEqual(self.pages(f"q={quote('turn, 20')}"), [20])

    def test_damaged_lines_hide_only_what_is_in_them(self) -> None:
        path = self.transcripts.file_of(id_of(5)).path
        with open(path, "rb") as file:
            whole = file.read()
        self.addCleanup(self.restore, path, whole)
        self.restore(path, whole.replace(b"first turn, 5", b'first turn", 5').replace(b"{", b"", 1))
        self.assertEqual(self.pages(f"q={quote('second turn, 5')}"), [5])
        self.assertEqual(self.pages(f"q={quote('first turn, 5')}"), [])

    @staticmethod
    def restore(path: str, data: bytes) -> None:
        with open(path, "wb") as file:
            file.write(data)


class Fork(ListingCase):
    def fork(self, number: int, **body: str) -> Reply:
        return self.ask("POST", f"/sessions/{id_of(number)}/fork", body)

    def said(self, id: str) -> list[Any]:
        """Without the times, which copies have of the original, and everything else, too."""
        messages: list[Any] = self.ask("GET", f"/sessions/{id}/messages")["messages"]
        for each in messages:
            for event in each["events"]:
                event["data"].pop("sessionId")
        return messages

    def test_it_has_all_that_was_said_until_the_turn_and_goes_its_own_way(self) -> None:
        whole = self.said(id_of(7))
        for turn, count in (("first", 1), ("second", 2)):
            made = self.fork(7, turnId=turn)
            self.assertEqual(made.status, 200, made)
            self.assertEqual(self.said(made["sessionId"]), whole[:count])
            self.assertEqual((made["turns"], made["title"], made["model"], made["workspacePath"]),
                             (count, "Title 7 (2)", "a-model", self.workspace))  # fmt: skip
            self.assertEqual(made["usage"]["inputTokens"], 5 * count)
        self.assertEqual(len(self.said(self.fork(7)["sessionId"])), 2)
        self.ask("DELETE", "/sessions/" + made["sessionId"])
        self.assertEqual(self.said(id_of(7)), whole)

    def test_it_is_on_disk_for_this_user_alone_and_has_no_session_of_the_agent(self) -> None:
        id = self.fork(8)["sessionId"]
        transcript = self.transcripts.file_of(id)
        self.assertEqual(os.stat(transcript.path).st_mode & 0o777, 0o600)
        summary = transcript.reader.read_summary()
        self.assertTrue(summary is not None and summary.state.is_owned)
        self.assertEqual(summary.state.session if summary else "", "")

    def test_images_of_its_messages_come_along_and_edits_stay(self) -> None:
        transcript = self.transcripts.file_of(id_of(50))
        attachments = Attachments(transcript.folder)
        one, other = attachments.add("one.png", PNG), attachments.add("other.png", PNG)
        transcript.begin_file(self.workspace, NOW)
        transcript.add_message("turn", events.Message("look", (), (one,)))
        over = events.Complete(events.END_TURN, events.Usage(0, 0, {}))
        transcript.add_event(TurnEvent(1, NOW, id_of(50), "turn", over))
        self.transcripts.write_all()
        TurnUndo(transcript.folder).note_change("turn", self.path("file.txt"), None, b"new")
        summary = transcript.reader.read_summary()
        if summary is None:
            self.fail("there is no summary")
        self.kept.agent.conversations.index.put_summary(summary)
        id = self.fork(50)["sessionId"]
        found = self.ask("GET", f"/sessions/{id}/attachments")["attachments"]
        self.assertEqual([attachment["attachmentId"] for attachment in found], [one.id])
        self.assertEqual(self.ask("GET", f"/sessions/{id}/attachments/{one.id}").data, PNG)
        self.assertEqual(self.ask("GET", f"/sessions/{id}/turns/turn/files")["files"], [])
        listed = self.ask("GET", f"/sessions/{id_of(50)}/attachments")["attachments"]
        self.assertEqual({attachment["attachmentId"] for attachment in listed}, {one.id, other.id})

    def test_there_has_to_be_such_a_turn_that_is_over(self) -> None:
        self.refused(self.fork(7, turnId="third"), 404, "TURN_NOT_FOUND")
        self.refused(self.ask("POST", "/sessions/nobody/fork", {}), 404, "SESSION_NOT_FOUND")
        known = self.kept.agent.conversations.known_conversation(id_of(7))
        known.reserve()
        self.addCleanup(known.reservation.release)
        self.refused(self.fork(7), 409, "SESSION_BUSY")


class Export(ListingCase):
    def export(self, number: int, query: str = "") -> Reply:
        return self.ask("GET", f"/sessions/{id_of(number)}/export{query}")

    def test_json_has_all_that_messages_have(self) -> None:
        reply = self.export(3, "?format=json")
        messages = self.ask("GET", f"/sessions/{id_of(3)}/messages")["messages"]
        self.assertEqual(reply["messages"], messages)
        self.assertEqual(reply["session"]["title"], "Title 3")

    def test_a_document_has_both_sides(self) -> None:
        reply = self.export(3)
        self.assertEqual((reply.status, reply.headers["Content-Type"]),
                         (200, "text/markdown; charset=utf-8"))  # fmt: skip
        self.assertIn('filename="conversation-00000000.md"', reply.headers["Content-Disposition"])
        text = reply.data.decode("utf-8")
        self.assertTrue(text.startswith("# Title 3\n"), text)
        self.assertIn("> Question of the first turn, 3\n", text)
        self.assertIn("\n\n> More of the first turn, 3\n\n", text)
        self.assertEqual(text.count("Die Antwort ist süß und 'zerteilt-3'.\n"), 2)

    def test_the_token_that_only_reads_will_do_and_unknown_ones_are_told(self) -> None:
        self.refused(self.ask("GET", "/sessions/nobody/export"), 404, "SESSION_NOT_FOUND")
        self.refused(self.export(3, "?format=pdf"), 400, "VALIDATION_ERROR")


class Compressing(ListingCase):
    ACCEPTED = {"Accept-Encoding": "gzip"}

    def test_long_lists_and_texts_are_compressed_for_who_accepts_it(self) -> None:
        told = (f"/sessions/{id_of(3)}/messages", f"/sessions/{self.long()}/export")
        for path in ("/sessions", *told, "/openapi.json", "/page.js"):
            with self.subTest(path):
                plain = self.ask("GET", path)
                self.assertNotIn("Content-Encoding", plain.headers)
                reply = self.raw(path)
                self.assertEqual(reply.headers.get("Content-Encoding"), "gzip")
                self.assertIn("Accept-Encoding", reply.headers["Vary"])
                self.assertLess(len(reply.data), len(plain.data))
                texts = gzip.decompress(reply.data), plain.data
                self.assertEqual(*(re.sub(rb'"timestamp":"[^"]*"}$', b"", body) for body in texts))

    def long(self) -> str:
        """The id of a conversation with long texts."""
        transcript = self.written(60)
        for number in range(20):
            transcript.add_message(f"turn {number}", events.Message("A long question. " * 1000))
        self.transcripts.write_all()
        summary = transcript.reader.read_summary()
        if summary is None:
            self.fail("there is no summary")
        self.kept.agent.conversations.index.put_summary(summary)
        return id_of(60)

    def test_what_may_have_a_secret_is_not_nor_are_streams_and_errors(self) -> None:
        self.write("long.txt", "text " * 10_000)
        for method, path, body in (
            ("POST", "/read-file", {"path": "long.txt"}),
            ("GET", "/auth/status", None),
            ("GET", "/sessions?cursor=" + "A" * 500, None),
            ("GET", "/sessions/" + "A" * 500, None),
        ):
            with self.subTest(path):
                reply = self.ask(method, path, body, self.ACCEPTED)
                self.assertNotIn("Content-Encoding", reply.headers)
        compressing = {route.path for route in routes.API if route.compresses}
        self.assertEqual(
            compressing,
            {"/sessions", "/sessions/{sessionId}/messages", "/sessions/{sessionId}/export"},
        )
        self.assertFalse(any(route.streams for route in routes.API if route.compresses))

    def raw(self, path: str) -> Reply:
        """The answer as it came."""
        connection = self.open(self.kept)
        self.addCleanup(connection.close)
        headers = {"Authorization": f"Bearer {self.kept.token}", "Accept-Language": "en"}
        connection.request("GET", path, None, {**headers, **self.ACCEPTED})
        response = connection.getresponse()
        return Reply(response.status, dict(response.getheaders()), response.read())


class Deleting(ListingCase):
    async def reserve(self, session: str) -> None:
        known = self.kept.agent.conversations.known_conversation(session)
        known.reserve()
        self.addCleanup(self.loop.call_soon_threadsafe, known.reservation.release)

    def test_many_go_at_once_and_each_that_stays_says_why(self) -> None:
        self.on_loop(self.reserve(id_of(2)))
        wanted = [id_of(number) for number in (1, 2, 3, 3)] + ["nobody"]
        reply = self.ask("POST", "/sessions/delete", {"sessionIds": wanted})
        self.assertEqual(reply["removed"], [id_of(1), id_of(3)])
        self.assertEqual([(failure["sessionId"], failure["code"]) for failure in reply["failed"]],
                         [(id_of(2), "SESSION_BUSY"), ("nobody", "SESSION_NOT_FOUND")])  # fmt: skip
        self.assertEqual(
            self.pages("limit=100"),
            [index for index in range(COUNT - 1, -1, -1) if index not in (1, 3)],
        )
        self.assertFalse(os.path.exists(self.transcripts.file_of(id_of(1)).path))
        for ids in ([], ["x"] * 1001):
            reply = self.ask("POST", "/sessions/delete", {"sessionIds": ids})
            self.refused(reply, 400, "VALIDATION_ERROR")
