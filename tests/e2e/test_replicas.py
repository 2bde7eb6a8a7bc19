"""Several servers with one state folder: beside each other, and behind nginx."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Mapping

from agent_case import MODEL, ROOT
from GeminiCompanion.tests.support import wait_for
from model_server import Gate
from test_api_program import KEY, PATIENCE, WithModel

from tests.api.test_proxies import NGINX, free_port

# Conversations behind nginx, and how many of them are in the middle of a turn when a server dies.
CONVERSATIONS, IN_A_TURN = 30, 6


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[str]
    port: int


class Replicas(WithModel):
    def servers(self, count: int, *arguments: str) -> list[Server]:
        """With one state folder; the first one is given the key."""
        made = []
        for _ in range(count):
            process = self.serve("--gemini-url", self.model.url, "--model", MODEL, *arguments)
            made.append(Server(process, self.port))
        self.at(made[0].port, "POST", "/auth/config", KEY)
        return made

    def at(
        self,
        port: int,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The answer, with its status as "http"."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        usual = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept-Language": "en",
        }
        try:
            content = json.dumps(body or {})
            connection.request(method, path, content, {**usual, **(headers or {})})
            response = connection.getresponse()
            return {**json.loads(response.read()), "http": response.status}
        finally:
            connection.close()

    def say(self, port: int, message: str, session: str = "", **more: Any) -> Any:
        named: dict[str, Any] = {"sessionId": session} if session else {"newSession": True}
        headers = {"Session-Id": session} if session else {}
        return self.at(port, "POST", "/chat", {"message": message, **named, **more}, headers)

    def said_to_model(self, words: str) -> str:
        """All that the model heard when it was asked to answer these words."""
        for body in reversed(self.model.main_turns()):
            texts = [part.get("text", "") for each in body["contents"] for part in each["parts"]]
            if words in texts[-1]:
                return "\n".join(texts)
        raise AssertionError(f"the model was not asked for {words}")

    def asked_for(self, words: str) -> int:
        """How often the model was asked to answer these words."""
        return sum(words in prompt for prompt in self.model.prompts())


class BesideEachOther(Replicas):
    def test_each_goes_on_with_what_was_said_at_the_other(self) -> None:
        first, second = (each.port for each in self.servers(2))
        self.model.will_play("my name is Ada", ["Hello Ada."])
        id = self.say(first, "my name is Ada")["sessionId"]
        for number, port in enumerate((second, first, second)):
            self.model.will_play(f"question {number}", [f"answer {number}"])
            reply = self.say(port, f"question {number}", id)
            self.assertEqual((reply["http"], reply["response"]), (200, f"answer {number}"))
            said = self.said_to_model(f"question {number}")
            for known in ("my name is Ada", *(f"answer {each}" for each in range(number))):
                self.assertEqual(said.count(known), 1, said)
        for port in (first, second):
            told = self.at(port, "GET", f"/sessions/{id}/messages")
            self.assertEqual(len(told["messages"]), 4)

    def test_a_turn_that_runs_at_one_is_busy_at_the_other_and_nothing_is_mixed(self) -> None:
        first, second = (each.port for each in self.servers(2))
        id = self.say(first, "hello")["sessionId"]
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("slowly", ["one ", gate, "two"])
        with ThreadPoolExecutor(1) as pool:
            turn = pool.submit(self.say, first, "slowly", id)
            self.assertTrue(gate.reached.wait(PATIENCE))
            for method, path, body in (
                ("POST", "/chat", {"message": "more", "sessionId": id}),
                ("PATCH", f"/sessions/{id}", {"title": "another"}),
                ("DELETE", f"/sessions/{id}", None),
            ):
                reply = self.at(second, method, path, body)
                self.assertEqual((reply["http"], reply["code"]), (409, "SESSION_ELSEWHERE"))
            gate.set()
            self.assertEqual(turn.result(PATIENCE)["response"], "one two")
        wait_for(lambda: self.at(second, "PATCH", f"/sessions/{id}", {"title": "x"})["success"])
        self.assertEqual(self.at(first, "GET", f"/sessions/{id}/messages")["http"], 200)

    def test_what_one_has_deleted_is_gone_at_the_other(self) -> None:
        first, second = (each.port for each in self.servers(2))
        id = self.say(first, "hello")["sessionId"]
        self.assertEqual(self.say(second, "again", id)["http"], 200)
        wait_for(lambda: self.at(first, "DELETE", f"/sessions/{id}")["success"])
        self.assertEqual(self.say(second, "more", id)["code"], "SESSION_NOT_FOUND")

    def test_nobody_but_its_own_server_deletes_a_temporary_conversation(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        (first,) = self.servers(1)
        self.model.will_play("slowly", ["one ", gate, "two"])
        body = {"model": "gemini", "messages": [{"role": "user", "content": "slowly"}]}
        with ThreadPoolExecutor(1) as pool:
            turn = pool.submit(self.at, first.port, "POST", "/v1/chat/completions", body)
            self.assertTrue(gate.reached.wait(PATIENCE))
            self.servers(1)
            gate.set()
            told = turn.result(PATIENCE)["choices"][0]["message"]["content"]
        self.assertEqual(told, "one two")


@unittest.skipUnless(shutil.which("nginx"), "nginx is not in PATH")
class BehindNginx(Replicas):
    def setUp(self) -> None:
        super().setUp()
        self.proxy = free_port()

    def begin(self) -> list[Server]:
        made = self.servers(3, "--proxy", "127.0.0.1", "--allow-host", f"127.0.0.1:{self.proxy}")
        # Its directives take no folder with a space in its name.
        root = tempfile.mkdtemp(prefix="nginx-")
        self.addCleanup(shutil.rmtree, root, True)
        path = os.path.join(root, "nginx.conf")
        with open(os.path.join(ROOT, "deploy", "nginx-replicas.conf"), encoding="utf-8") as file:
            text = file.read()
        for number, server in enumerate(made, 1):
            text = text.replace(f"10.0.0.{number}:8080", f"127.0.0.1:{server.port}")
        text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{self.proxy}")
        text = text.replace("proxy_read_timeout 15s", "proxy_read_timeout 2s")
        lines = [line for line in text.splitlines() if "ssl_" not in line]
        user = "user root;" if os.geteuid() == 0 else ""
        with open(path, "w", encoding="utf-8") as file:
            file.write(NGINX.format(user=user, root=root, server="\n".join(lines)))
        command = ["nginx", "-p", root, "-e", "stderr", "-c", path]
        nginx = subprocess.Popen(command, cwd=root, stderr=subprocess.DEVNULL)
        self.addCleanup(nginx.wait, PATIENCE)
        self.addCleanup(nginx.terminate)
        wait_for(lambda: self._answers(self.proxy))
        return made

    def _answers(self, port: int) -> bool:
        try:
            return bool(self.at(port, "GET", "/healthz")["success"])
        except OSError:
            return False

    def test_of_a_killed_server_each_conversation_goes_on_with_all_that_was_said(self) -> None:
        servers = self.begin()
        with ThreadPoolExecutor(6) as pool:
            replies = list(
                pool.map(
                    lambda number: self.say(self.proxy, f"note {number}."), range(CONVERSATIONS)
                )
            )
            self.assertEqual([reply for reply in replies if reply["http"] != 200], [])
            ids = [reply["sessionId"] for reply in replies]
            busy, gates = range(IN_A_TURN), [Gate() for _ in range(IN_A_TURN)]
            for number in busy:
                self.addCleanup(gates[number].set)
                self.model.will_play(f"slow {number}.", ["half ", gates[number], "whole"])
            slow = [pool.submit(self.broken_off, f"slow {number}.", ids[number]) for number in busy]
            for gate in gates:
                self.assertTrue(gate.reached.wait(PATIENCE))
            counts = [len(self.busy_at(server)) for server in servers]
            # All of them have conversations, and one with a turn is to die.
            victim = max(servers, key=lambda server: counts[servers.index(server)])
            victim.process.send_signal(signal.SIGKILL)
            victim.process.wait()
            for gate in gates:
                gate.set()
            statuses = [each.result(PATIENCE) for each in slow]
            self.assertEqual(statuses.count(200), IN_A_TURN - max(counts))
            # Straight after, through the same address.
            after = list(
                pool.map(lambda number: self.go_on(number, ids[number]), range(CONVERSATIONS))
            )
        self.assertEqual([reply for reply in after if reply["http"] != 200], [])
        for number in range(CONVERSATIONS):
            said = self.said_to_model(f"again {number}.")
            expected = [f"note {number}."] + [f"slow {number}."] * (number in busy)
            for words in expected:
                self.assertEqual(said.count(words), 1, said)
                self.assertEqual(self.asked_for(words), 1, words)

    def broken_off(self, message: str, session: str) -> int:
        """The status of the answer; 0 if there was none."""
        try:
            return int(self.say(self.proxy, message, session)["http"])
        except (OSError, http.client.HTTPException, ValueError):
            return 0

    def busy_at(self, server: Server) -> list[str]:
        """The conversations in a turn there."""
        told = self.at(server.port, "GET", "/sessions")["sessions"]
        return [session["sessionId"] for session in told if session["isBusy"]]

    def go_on(self, number: int, id: str) -> Any:
        return self.say(self.proxy, f"again {number}.", id)

    def test_what_a_frozen_server_holds_is_read_from_another_one(self) -> None:
        servers = self.begin()
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("slowly", ["one ", gate, "two"])
        with ThreadPoolExecutor(1) as pool:
            turn = pool.submit(self.say, self.proxy, "slowly")
            self.assertTrue(gate.reached.wait(PATIENCE))
            ((owner, id),) = ((each, id) for each in servers for id in self.busy_at(each))
            owner.process.send_signal(signal.SIGSTOP)
            try:
                for path in (f"/sessions/{id}", f"/sessions/{id}/messages"):
                    self.assertEqual(self.at(self.proxy, "GET", path)["http"], 200)
            finally:
                owner.process.send_signal(signal.SIGCONT)
            gate.set()
            self.assertEqual(turn.result(PATIENCE)["response"], "one two")

    def test_a_new_conversation_is_where_its_id_leads(self) -> None:
        servers = self.begin()
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("slowly", ["one ", gate, "two"])
        with ThreadPoolExecutor(1) as pool:
            turn = pool.submit(self.say, self.proxy, "slowly")
            self.assertTrue(gate.reached.wait(PATIENCE))
            (id,) = (busy for each in servers for busy in self.busy_at(each))
            body, headers = {"sessionId": id}, {"Session-Id": id}
            told = self.at(self.proxy, "POST", "/cancel", body, headers)
            self.assertEqual((told["http"], told["cancelled"]), (200, 1))
            self.assertEqual(turn.result(PATIENCE)["reason"], "cancelled")
