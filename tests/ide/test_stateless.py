"""MCP 2026-07-28: requests that stand for themselves, streams that are asked for, and who is told
of a decision where there is no session."""

from __future__ import annotations

import base64
import json
from typing import Any
from unittest import mock

from GeminiCompanion.companion.ide import mcp, sessions, subscriptions
from GeminiCompanion.companion.ide.clis import GEMINI_CLI
from GeminiCompanion.companion.ide.stateless import EXTENSION, VERSION, Asker

from ..support import EventStream, StatelessClient, patched, wait_for
from ..tables import rows, word
from .window import PATH, Served, WithoutServer

OPEN = {"name": "openDiff", "arguments": {"filePath": PATH, "newContent": "theirs\n"}}
CLOSE = {"name": "closeDiff", "arguments": {"filePath": PATH}}
META = "io.modelcontextprotocol/"
MISMATCH, MISSING, UNSUPPORTED = -32020, -32021, -32022


def heard(stream: EventStream) -> Any:
    """Method and params of the next notification, without its tag."""
    told = stream.next().message
    params = dict(told["params"])
    params.pop("_meta")
    return told["method"], params


class StatelessTestCase(Served):
    def setUp(self) -> None:
        super().setUp()
        self.serve("/one")

    def stateless(self, name: str = "", path: str = "/mcp") -> StatelessClient:
        (file,) = self.files()
        return StatelessClient(file["port"], file["authToken"], name, path)

    def listening(self, client: StatelessClient, id: Any = "l", **wanted: Any) -> EventStream:
        """Its stream, after the acknowledgement; with a name, after the context, too."""
        stream = client.listen(id, **wanted)
        self.addCleanup(stream.close)
        return stream

    def session_of(self, client: StatelessClient) -> str:
        extensions = client.meta[META + "clientCapabilities"]["extensions"]
        return Asker(extensions[EXTENSION]["client"]).session_id(GEMINI_CLI.id)

    def accept(self, client: StatelessClient, text: str) -> None:
        id = self.session_of(client)
        self.background.call(self.workspace.diffs.decide, id, PATH, text)

    def assert_error(self, answer: Any, status: int, code: int) -> Any:
        told = answer.json()
        self.assertEqual((answer.status, told["error"]["code"], told["id"]), (status, code, 1))
        return told["error"]


class Requests(StatelessTestCase):
    def test_discovery_says_what_the_server_can_and_who_it_is(self) -> None:
        for path, name in (("/mcp", "gemini-companion"), ("/tools", "editor")):
            with self.subTest(path):
                told = self.stateless(path=path).call("server/discover")["result"]
                self.assertEqual(told["resultType"], "complete")
                self.assertEqual(told["supportedVersions"], [VERSION, *reversed(mcp.VERSIONS)])
                self.assertIn("tools", told["capabilities"])
                self.assertEqual(told["_meta"][META + "serverInfo"]["name"], name)
                self.assertGreater(told["ttlMs"], 0)
                self.assertEqual(told["cacheScope"], "public")

    def test_only_the_companion_has_the_extension(self) -> None:
        told = self.stateless().call("server/discover")["result"]["capabilities"]
        self.assertEqual(told, {"tools": {"listChanged": True}, "extensions": {EXTENSION: {}}})
        told = self.stateless(path="/tools").call("server/discover")["result"]["capabilities"]
        self.assertEqual(told, {"tools": {}})

    def test_the_list_of_tools_says_how_long_it_may_be_kept(self) -> None:
        for path, scope, count in (("/mcp", "private", 2), ("/tools", "public", 7)):
            with self.subTest(path):
                told = self.stateless(path=path).call("tools/list")["result"]
                self.assertEqual(len(told["tools"]), count)
                self.assertEqual((told["resultType"], told["cacheScope"]), ("complete", scope))
                self.assertGreaterEqual(told["ttlMs"], 0)

    def test_the_list_of_tools_is_empty_where_diffs_are_switched_off(self) -> None:
        self.background.call(self.workspace.diffs.offer_diffs, False)
        told = self.stateless().call("tools/list")["result"]
        self.assertEqual((told["tools"], told["cacheScope"]), ([], "private"))

    def test_no_request_needs_one_before_it_nor_makes_a_session(self) -> None:
        self.stateless("one").call("tools/list")
        self.assertEqual(len(self.workspace.sessions), 0)

    def test_the_id_of_a_session_is_ignored(self) -> None:
        answer = self.stateless().asked("tools/list", Mcp_Session_Id="unknown")
        self.assertEqual(answer.status, 200)
        self.assertNotIn("Mcp-Session-Id", answer.headers)

    def test_what_meta_has_to_say_is_missed(self) -> None:
        for name in ("protocolVersion", "clientCapabilities"):
            with self.subTest(name):
                client = self.stateless()
                del client.meta[META + name]
                self.assert_error(client.asked("tools/list"), 400, -32602)
        with self.subTest("all of it"):
            client = self.stateless()
            client.meta = {}
            self.assert_error(client.asked("tools/list"), 400, -32602)

    def test_what_meta_says_has_its_form(self) -> None:
        for name, value in (
            ("protocolVersion", 20260728),
            ("clientCapabilities", []),
            ("clientInfo", "me"),
            ("clientCapabilities", {"extensions": []}),
            ("clientCapabilities", {"extensions": {EXTENSION: 1}}),
            ("clientCapabilities", {"extensions": {EXTENSION: {}}}),
            ("clientCapabilities", {"extensions": {EXTENSION: {"client": ""}}}),
            ("clientCapabilities", {"extensions": {EXTENSION: {"client": "x" * 201}}}),
        ):
            with self.subTest(name, value=value):
                client = self.stateless()
                client.meta[META + name] = value
                self.assert_error(client.asked("tools/list"), 400, -32602)

    def test_a_client_need_not_say_its_name(self) -> None:
        client = self.stateless()
        del client.meta[META + "clientInfo"]
        self.assertEqual(client.asked("tools/list").status, 200)

    def test_headers_repeat_the_body(self) -> None:
        for headers in (
            {"MCP_Protocol_Version": None},
            {"MCP_Protocol_Version": "2025-11-25"},
            {"MCP_Protocol_Version": "1900-01-01"},
            {"Mcp_Method": None},
            {"Mcp_Method": "TOOLS/CALL"},
            {"Mcp_Method": "tools/list"},
            {"Mcp_Name": None},
            {"Mcp_Name": "closeDiff"},
            {"Mcp_Name": "opendiff"},
            {"Mcp_Name": "=?base64?b3BlbkRpZmY?="},
            {"Mcp_Name": "=?base64?" + base64.b64encode(b"closeDiff").decode() + "?="},
        ):
            with self.subTest(headers=headers):
                self.assert_error(
                    self.stateless("one").asked("tools/call", OPEN, **headers), 400, MISMATCH
                )
        self.assertEqual(self.editor.diffs, {})

    def test_a_header_that_is_there_twice_is_no_repetition(self) -> None:
        client = self.stateless("one")
        message, headers = client.message("tools/call", OPEN)
        body = json.dumps(message).encode()
        head = client.head(**headers, Content_Length=str(len(body)))
        twice = head.replace(b"Mcp-Name:", b"Mcp-Name: closeDiff\r\nMcp-Name:")
        with client.send_raw(twice + body) as connection:
            self.assertTrue(connection.recv(1000).startswith(b"HTTP/1.1 400 "))

    def test_a_name_may_be_encoded(self) -> None:
        name = "=?base64?" + base64.b64encode(b"openDiff").decode() + "?="
        answer = self.stateless("one").asked("tools/call", OPEN, Mcp_Name=name)
        self.assertEqual(answer.status, 200)

    def test_an_unknown_version_is_answered_with_the_known_ones(self) -> None:
        client = self.stateless()
        client.meta[META + "protocolVersion"] = "2099-01-01"
        answer = client.asked("tools/list", MCP_Protocol_Version="2099-01-01")
        error = self.assert_error(answer, 400, UNSUPPORTED)
        supported = [VERSION, *reversed(mcp.VERSIONS)]
        self.assertEqual(error["data"], {"supported": supported, "requested": "2099-01-01"})

    def test_unknown_methods_are_not_found(self) -> None:
        for method in ("initialize", "ping", "logging/setLevel", "resources/list", "x"):
            for path in ("/mcp", "/tools"):
                with self.subTest(method, path=path):
                    self.assert_error(self.stateless(path=path).asked(method), 404, -32601)

    def test_unknown_tools_and_bad_arguments_are_said_as_before(self) -> None:
        answer = self.stateless("one").asked("tools/call", {"name": "rm"})
        self.assert_error(answer, 200, -32602)
        told = self.stateless("one").call("tools/call", {"name": "openDiff", "arguments": {}})
        self.assertTrue(told["result"]["isError"])
        self.assertEqual(told["result"]["resultType"], "complete")

    def test_other_methods_of_http_are_not_allowed(self) -> None:
        for method in ("GET", "DELETE"):
            with self.subTest(method):
                answer = self.stateless().request(method, MCP_Protocol_Version=VERSION)
                self.assertEqual((answer.status, answer.headers["Allow"]), (405, "POST"))

    def test_a_notification_is_taken_and_a_batch_or_an_answer_is_not(self) -> None:
        message, headers = self.stateless().message("notifications/cancelled")
        del message["id"]
        client = self.stateless()
        self.assertEqual(client.post(message, **headers).status, 202)
        self.assertEqual(client.post([message], **headers).status, 400)
        other = {**headers, "MCP-Protocol-Version": "2099-01-01"}
        self.assertEqual(client.post(message, **other).json()["error"]["code"], UNSUPPORTED)
        answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
        self.assertEqual(client.post(answer, **headers).status, 400)

    def test_without_the_extension_no_diff_is_opened(self) -> None:
        for params in (OPEN, CLOSE):
            with self.subTest(params["name"]):
                error = self.assert_error(
                    self.stateless().asked("tools/call", params), 400, MISSING
                )
                wanted: Any = {"extensions": {EXTENSION: {}}}
                self.assertEqual(error["data"], {"requiredCapabilities": wanted})
        self.assertEqual(self.editor.diffs, {})

    def test_the_same_may_talk_to_it_as_in_older_versions(self) -> None:
        for headers, status in (
            ({"Authorization": None}, 401),
            ({"Authorization": "Bearer other"}, 401),
            ({"Origin": "http://localhost"}, 403),
            ({"Host": "evil.example"}, 403),
            ({"Content_Type": "text/plain"}, 415),
        ):
            with self.subTest(headers=headers):
                answer = self.stateless().asked("subscriptions/listen", **headers)
                self.assertEqual(answer.status, status)

    def test_the_tools_of_the_editor_answer(self) -> None:
        params = {"name": "open_files", "arguments": {}}
        told = self.stateless(path="/tools").call("tools/call", params)["result"]
        self.assertEqual(told["content"][0]["text"], "This editor knows nothing of code.")
        self.assertEqual((told["isError"], told["resultType"]), (True, "complete"))
        self.assertEqual(told["_meta"][META + "serverInfo"]["name"], "editor")

    def test_both_kinds_of_clients_are_served_at_the_same_time(self) -> None:
        older = self.client()
        self.assertEqual(self.stateless().asked("tools/list").status, 200)
        self.assertEqual(older.call("ping")["result"], {})
        message, _headers = self.stateless().message("ping")
        self.assert_error(older.post(message), 400, MISMATCH)
        message["params"]["_meta"] = {META + "protocolVersion": "2025-11-25"}
        self.assertEqual(older.post(message).json()["result"], {})


class Streams(StatelessTestCase):
    def test_what_is_honoured_is_said_first_and_everything_has_the_subscription(self) -> None:
        client = self.stateless()
        for id in ("l", 7):
            with self.subTest(id=id), client.listen(
                id, toolsListChanged=True, promptsListChanged=True
            ) as stream:
                self.assertEqual(stream.honored, {"toolsListChanged": True})
                self.assertEqual(stream.headers["X-Accel-Buffering"], "no")
                self.switch_diffs()
                told = stream.next().message
                self.assertEqual(told["method"], "notifications/tools/list_changed")
                self.assertEqual(told["params"]["_meta"], {META + "subscriptionId": id})

    def switch_diffs(self) -> None:
        diffs = self.workspace.diffs
        self.background.call(diffs.offer_diffs, not diffs.offers_diffs)

    def test_nobody_is_told_what_they_did_not_ask_for(self) -> None:
        silent = self.listening(self.stateless(), promptsListChanged=True)
        named = self.listening(self.stateless("one"), "n")
        other = self.listening(self.stateless(), "o", toolsListChanged=True)
        self.assertEqual(heard(named)[0], "ide/contextUpdate")
        self.switch_diffs()
        self.assertEqual(heard(other)[0], "notifications/tools/list_changed")
        self.background.stop()
        for stream in (silent, named):
            self.assertEqual(stream.next().message["result"]["resultType"], "complete")
            self.assertTrue(stream.ended())

    def test_no_event_has_an_id_for_a_stream_that_resumes(self) -> None:
        stream = self.listening(self.stateless("one"))
        event = stream.next()
        self.assertEqual(set(event.fields), {"event", "data"})

    def test_the_end_of_the_server_is_the_result_of_the_request(self) -> None:
        stream = self.listening(self.stateless(), "l")
        self.background.stop()
        told = stream.next().message
        self.assertEqual(told["id"], "l")
        self.assertEqual(told["result"]["_meta"][META + "subscriptionId"], "l")
        self.assertTrue(stream.ended())

    def test_the_editor_has_nothing_to_tell_and_says_so_at_once(self) -> None:
        stream = self.listening(self.stateless("one", "/tools"), "l", toolsListChanged=True)
        self.assertEqual(stream.honored, {})
        self.assertEqual(stream.next().message["result"]["resultType"], "complete")
        self.assertTrue(stream.ended())
        self.assertEqual(len(self.workspace.sessions), 0)

    def test_a_client_that_takes_no_stream_or_names_no_filter_is_refused(self) -> None:
        params: Any = {"notifications": {}}
        answer = self.stateless().asked("subscriptions/listen", params, Accept="application/json")
        self.assertEqual(answer.status, 406)
        answer = self.stateless().asked("subscriptions/listen")
        self.assert_error(answer, 400, -32602)

    def test_the_id_of_a_stream_is_short(self) -> None:
        message, headers = self.stateless().message(
            "subscriptions/listen", {"notifications": {}}, "x" * 1001
        )
        answer = self.stateless().post(message, **headers)
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (400, -32602))
        with self.stateless().listen("x" * 1000) as stream:
            self.assertEqual(stream.honored, {})

    def test_a_session_that_ends_ends_its_stream_in_order_and_keeps_its_diff(self) -> None:
        client = self.stateless("one")
        stream = self.listening(client)
        self.assertEqual(heard(stream)[0], "ide/contextUpdate")
        client.call("tools/call", OPEN)
        self.background.call(self.workspace.sessions.end_session, self.session_of(client))
        self.assertEqual(stream.next().message["result"]["resultType"], "complete")
        self.assertTrue(stream.ended())
        self.accept(client, "mine\n")
        again = self.listening(client)
        told = {heard(again)[0], heard(again)[0]}
        self.assertEqual(told, {"ide/contextUpdate", "ide/diffAccepted"})

    def test_there_are_only_so_many_streams(self) -> None:
        patched(self, mock.patch.object(subscriptions, "MAX_SUBSCRIPTIONS", 2))
        first = self.listening(self.stateless())
        self.listening(self.stateless())
        params: Any = {"notifications": {}}
        self.assertEqual(self.stateless().asked("subscriptions/listen", params).status, 503)
        first.close()
        wait_for(lambda: len(self.workspace.sessions.subscriptions) == 1)
        self.listening(self.stateless())

    def test_there_are_only_so_many_names_and_those_that_listen_stay(self) -> None:
        patched(self, mock.patch.object(sessions, "MAX_NAMED", 2))
        self.listening(self.stateless("one"))
        for name in ("two", "three", "four"):
            self.assertEqual(self.stateless(name).asked("tools/call", CLOSE).status, 200)
        self.assertEqual(len(self.workspace.sessions), 2)
        ids = [session.id for session in self.workspace.sessions]
        self.assertEqual(ids, [self.session_of(self.stateless(name)) for name in ("one", "four")])
        self.listening(self.stateless("four"))
        self.assertEqual(self.stateless("five").asked("tools/call", CLOSE).status, 503)

    def test_the_newest_stream_carries_the_decisions_and_an_older_one_takes_over(self) -> None:
        client = self.stateless("one")
        older = self.listening(client, "older", toolsListChanged=True)
        self.assertEqual(heard(older)[0], "ide/contextUpdate")
        newer = self.listening(client, "newer")
        self.assertEqual(heard(newer)[0], "ide/contextUpdate")
        client.call("tools/call", OPEN)
        self.accept(client, "mine\n")
        self.assertEqual(heard(newer)[0], "ide/diffAccepted")
        # It asks on, so it has read that.
        client.call("tools/call", CLOSE)
        self.switch_diffs()
        self.assertEqual(heard(older)[0], "notifications/tools/list_changed")
        self.switch_diffs()
        self.assertEqual(heard(older)[0], "notifications/tools/list_changed")
        newer.close()
        self.assertEqual(heard(older)[0], "ide/contextUpdate")
        client.call("tools/call", OPEN)
        self.background.call(self.workspace.diffs.reject, self.session_of(client), PATH)
        self.assertEqual(heard(older), ("ide/diffRejected", {"filePath": PATH}))


class Askers(StatelessTestCase):
    def test_who_asked_is_told_of_the_decision(self) -> None:
        one, two = self.stateless("one"), self.stateless("two")
        streams = {client: self.listening(client) for client in (one, two)}
        for stream in streams.values():
            self.assertEqual(heard(stream)[0], "ide/contextUpdate")
        for client in (one, two):
            told = client.call("tools/call", OPEN)["result"]
            self.assertEqual(told["content"], [])
        self.assertEqual(len(self.editor.diffs), 2)
        self.accept(two, "of two\n")
        self.accept(one, "of one\n")
        for client, text in ((one, "of one\n"), (two, "of two\n")):
            accepted = ("ide/diffAccepted", {"filePath": PATH, "content": text})
            self.assertEqual(heard(streams[client]), accepted)

    def test_a_diff_may_be_opened_before_anybody_listens(self) -> None:
        client = self.stateless("one")
        client.call("tools/call", OPEN)
        self.accept(client, "mine\n")
        stream = self.listening(client)
        told = {heard(stream)[0], heard(stream)[0]}
        self.assertEqual(told, {"ide/contextUpdate", "ide/diffAccepted"})

    def test_closing_gives_the_text_to_who_opened_it_and_to_nobody_else(self) -> None:
        one, two = self.stateless("one"), self.stateless("two")
        one.call("tools/call", OPEN)
        told = two.call("tools/call", CLOSE)["result"]
        self.assertEqual(json.loads(told["content"][0]["text"]), {})
        told = one.call("tools/call", CLOSE)["result"]
        self.assertEqual(json.loads(told["content"][0]["text"]), {"content": "theirs\n"})

    def test_the_same_name_with_the_token_of_another_cli_is_another_client(self) -> None:
        self.assertNotEqual(Asker("one").session_id(GEMINI_CLI.id), Asker("one").session_id("qwen"))

    def test_its_session_is_none_for_clients_of_older_versions(self) -> None:
        client = self.stateless("one")
        client.call("tools/call", OPEN)
        older = self.client()
        older.headers["Mcp-Session-Id"] = self.session_of(client)
        answer = older.request("GET")
        self.assertEqual(answer.status, 404)


@rows("""
    a decision waits for the one that asked, however long it is away
        one listens; one proposes mine | one leaves; GRACE + 10 s pass; one is accepted as ours
        | e connects; c listens; 10 s pass | e heard nothing; c heard nothing
        | one listens | one heard accepted ours
    and over a restart
        one listens; one proposes mine; one leaves; GRACE + 10 s pass; one is accepted as ours
        | the companion restarts | e connects; 10 s pass; one listens
        | a moment passes | e heard nothing; one heard accepted ours
    the decision of a CLI with sessions does not go to one with a name
        e connects; e proposes mine; e is lost; e is accepted as ours
        | one listens; 10 s pass | one heard nothing
    whoever proposes for the file of one that is away has it rejected, and the one is told
        one listens; one proposes mine; one leaves; 10 s pass | two listens; two proposes other
        | the diffs are mine of one, other of two | one listens | one heard rejected
    a diff of one that is away is closed by nobody else
        one listens; one proposes mine; one leaves; 10 s pass
        | two listens; two closes its diff and gets no text
        | e connects; e closes its diff and gets no text | the diffs are mine of one
    a stream that ends in order was read, and nothing is told again after a restart
        one listens; one proposes mine; one is accepted as ours; a moment passes
        | the companion reloads | one listens | one heard accepted ours
    a stream that breaks off before its decision can have been read tells it again
        one listens; one proposes mine; one is accepted as ours; a moment passes
        | one leaves; one listens | one heard accepted ours and accepted ours
""")
class Names(WithoutServer):
    @word(r"(one|two|c) listens")
    def listens(self, name: str) -> None:
        session = self.workspace.sessions.named_session(
            Asker(name).session_id(GEMINI_CLI.id), VERSION, "", self.cli
        )
        self.by_name[name] = session
        self.readers.setdefault(name, []).append(self.read(session))

    @word("the companion reloads")
    async def reload(self) -> None:
        """Its streams end in order."""
        self.workspace.close(reject=False)
        for name, session in self.by_name.items():
            stream = session.stream
            self.workspace.sessions.end_session(session.id)
            await self.clock.advance(0)
            self.assertTrue(self.readers[name][-1].ended)
            self.workspace.sessions.detach_stream(session, stream)
        self.workspace.delivery.hand_on()
        self.begin_anew()

    async def begin(self) -> None:
        await super().begin()
        self.cli = GEMINI_CLI
