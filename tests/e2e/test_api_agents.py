"""Several CLIs, and several processes of one, behind one server."""

from __future__ import annotations

import os
import signal
import unittest
from typing import Any, Sequence

from agent_case import HERE, KEY
from any_model_server import MODEL, TOKENS, AnyModelServer
from api_case import ApiCase, data, said
from GeminiCompanion.companion.agent.agents.qwen_code import QwenCode
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.api.server import Server
from model_server import Gate, call

QWEN = os.path.join(HERE, "node_modules", "@qwen-code", "qwen-code", "cli-entry.js")


@unittest.skipUnless(os.path.exists(QWEN), "Qwen Code is not installed: make setup")
class Qwen(ApiCase):
    """One server with both CLIs, of which Qwen Code is used."""

    openai: AnyModelServer
    folder: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.openai = AnyModelServer()
        cls.openai.__enter__()
        cls.addClassCleanup(cls.openai.__exit__)
        # The program that it brings for this is none before the package's install script has run.
        settings = {"tools": {"useRipgrep": False}}
        command = QwenCode.program.find_command(HERE)
        launch = Launch(command, {"NO_PROXY": "127.0.0.1"}, settings, agent=QwenCode.id)
        cls.options = {"others": (launch,)}
        cls.folder = cls.another_folder()
        super().setUpClass()

    @classmethod
    async def another_server(cls, folder: str = "", *more: Any, **others: Any) -> Server:
        return await super().another_server(folder or cls.folder, *more, **others)

    async def configure(self) -> None:
        key = {
            "authType": "openai",
            "apiKey": "a-key",
            "baseUrl": self.openai.url + "/v1",
            "model": MODEL,
        }
        reply = await self.post("/auth/config", {"agent": "qwen", **key})
        self.assertEqual(reply.status, 200, reply)

    async def talk(
        self, message: str, decide: str = "", files: Sequence[str] = (), **more: Any
    ) -> list[dict[str, Any]]:
        """All events of a message in the conversation; `more` goes into the decision."""
        events = []
        wanted = {"message": message, "sessionId": self.session, "filePaths": list(files)}
        async with self.stream(wanted) as stream:
            async for event in stream:
                events.append(event)
                if decide and event["type"] == "tool_confirmation":
                    call = {"callId": event["data"]["callId"], "outcome": decide, **more}
                    reply = await self.post("/tool-confirmation", call)
                    self.assertEqual(reply.status, 200, reply)
        return events

    async def test_a_whole_conversation(self) -> None:
        await self.configure()
        here = {"workspacePath": self.workspace}
        made = await self.post("/sessions", {"agent": "qwen", **here})
        self.assertEqual((made.status, made["agent"], made["mode"]), (200, "qwen", "default"), made)
        self.session = made["sessionId"]
        await self._text()
        await self._edits()
        await self._cancelled()
        await self._what_it_is_not_asked()
        await self._restarted()

    async def test_a_message_that_waits_is_passed_into_the_turn(self) -> None:
        await self.configure()
        here = {"workspacePath": self.workspace, "agent": "qwen"}
        self.session = (await self.post("/sessions", here))["sessionId"]
        queue, gate = f"/sessions/{self.session}/queue", Gate()
        self.addCleanup(gate.set)
        read = call("read_file", file_path=self.write("a.txt", "apples"))
        self.openai.will_play("look at it", ["Looking. ", gate, read])
        self.openai.will_play("and count them", ["One."])
        async with self.stream({"message": "look at it", "sessionId": self.session}) as stream:
            await stream.until("content")
            id = (await self.post(queue, {"message": "and count them"}))["queueId"]
            told = await self.post(f"{queue}/{id}/now")
            self.assertEqual((told["passing"], len(told["messages"])), (id, 1))
            gate.set()
            events = await stream.rest()
        (added,) = data(events, "message_added")
        self.assertEqual((added["text"], added["queueId"]), ("and count them", id))
        self.assertTrue(said(events).endswith("One."), events)
        self.assertEqual(events[-1]["data"]["success"], True)
        self.assertEqual((await self.get(queue))["messages"], [])
        turns = (await self.get(f"/sessions/{self.session}/messages"))["messages"]
        self.assertEqual([turn["text"] for turn in turns], ["look at it"])
        self.assertEqual(len(data(turns[0]["events"], "message_added")), 1)
        await self.ask("DELETE", f"/sessions/{self.session}")

    async def _text(self) -> None:
        self.write("with space ä%20.txt", "and it is blue")
        self.openai.will_play("the word is plum", ["I see."])
        events = await self.talk("the word is plum", files=["with space ä%20.txt"])
        self.assertIn("and it is blue", "".join(self.openai.told()))
        self.assertEqual(said(events), "I see.")
        last = data(events, "complete")[0]
        self.assertEqual((last["success"], last["usage"]["inputTokens"]), (True, TOKENS[0]))
        self.openai.will_play("by the other door", ["Welcome."])
        message = {"role": "user", "content": "by the other door"}
        told = await self.post("/v1/chat/completions", {"model": "qwen", "messages": [message]})
        self.assertEqual(told["choices"][0]["message"]["content"], "Welcome.")

    async def _edits(self) -> None:
        path = self.path("lines.txt")
        with open(path, "wb") as file:
            file.write(b"one\r\ntwo\r\n")
        edit = {"file_path": path, "old_string": "two", "new_string": "2"}
        read = call("read_file", file_path=path)
        self.openai.will_play("edit it", [read], [call("edit", **edit)], ["Done."])
        events = await self.talk("edit it", "proceed_once")
        asked, results = data(events, "tool_confirmation")[0], data(events, "tool_result")
        self.assertEqual((asked["name"], asked["args"]), ("edit", edit))
        self.assertEqual(asked["diff"]["newText"], "one\n2\n")
        self.assertEqual([result["success"] for result in results], [True, True])
        self.assertIn("one", results[0]["result"])
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"one\r\n2\r\n")
        path = self.path("new.txt")
        write = call("write_file", file_path=path, content="the model's\n")
        self.openai.will_play("write it", [write], ["Well."])
        events = await self.talk("write it", "modify_with_editor", newContent="the user's\n")
        self.assertEqual(self.read("new.txt"), "the user's\n")
        self.assertTrue(data(events, "tool_result")[0]["success"], events)
        self.assertIn("the user changed your text", "".join(self.openai.told()))
        outside = os.path.join(self.another_folder(), "new.txt")
        elsewhere = call("write_file", file_path=outside, content="the model's\n")
        self.openai.will_play("write it elsewhere", [elsewhere], ["Well."])
        await self.talk("write it elsewhere", "modify_with_editor", newContent="the user's\n")
        with open(outside, encoding="utf-8") as written:
            self.assertEqual(written.read(), "the user's\n")
        self.openai.will_play("reject it", [write], ["Never said."])
        events = await self.talk("reject it", "cancel")
        results = data(events, "tool_result")
        self.assertEqual([result["success"] for result in results], [False], events)
        self.assertEqual(self.read("new.txt"), "the user's\n")

    async def _cancelled(self) -> None:
        path = self.path("never.txt")
        write = call("write_file", file_path=path, content="")
        self.openai.will_play("too late", [write], ["No."])
        async with self.stream({"message": "too late", "sessionId": self.session}) as stream:
            await stream.until("tool_confirmation")
            reply = await self.post("/cancel", {"sessionId": self.session})
            self.assertEqual(reply["cancelled"], 1)
            last = (await stream.rest())[-1]
        self.assertEqual(last["data"]["reason"], "cancelled")
        self.assertFalse(os.path.exists(path))

    async def _what_it_is_not_asked(self) -> None:
        """What another CLI can is refused with a sentence."""
        for path, body, words in (
            ("/auth/google-login", {"agent": "qwen"}, "Qwen Code has no login with Google."),
            (
                "/auth/config",
                {"agent": "qwen", "authType": "oauth-personal"},
                "Expected the field agent to be one of gemini.",
            ),
            ("/chat", {"message": "x", "sessionId": self.session, "agent": "gemini"}, "Qwen Code"),
        ):
            reply = await self.post(path, body)
            self.assertEqual((reply.status, reply["code"]), (400, "VALIDATION_ERROR"), reply)
            self.assertIn(words, reply["message"])
        unknown = await self.post("/sessions", {"agent": "nobody"})
        self.assertEqual((unknown.status, unknown["code"]), (404, "AGENT_NOT_FOUND"), unknown)
        privileged = await self.ask("PATCH", f"/sessions/{self.session}", {"mode": "auto-edit"})
        self.assertEqual((privileged.status, privileged["code"]), (400, "VALIDATION_ERROR"))
        self.assertIn("untrusted folder", privileged["message"])
        told = {agent["id"]: agent for agent in (await self.get("/agents"))["agents"]}
        self.assertEqual((told["gemini"]["isDefault"], told["qwen"]["isDefault"]), (True, False))
        self.assertEqual([agent["processes"] for agent in told.values()][0], [])
        # Beside this one, those that are kept for clients of /v1.
        self.assertGreaterEqual(told["qwen"]["processes"][0]["conversations"], 1)

    async def _restarted(self) -> None:
        changed = await self.ask("PATCH", f"/sessions/{self.session}", {"mode": "plan"})
        self.assertEqual((changed.status, changed["mode"]), (200, "plan"), changed)
        await self.server.stop()
        type(self).server = await self.another_server()
        self.openai.will_play("and the word", ["Plum."])
        events = await self.talk("and the word")
        self.assertEqual((said(events), data(events, "thought")), ("Plum.", []))
        self.assertIn("the word is plum", "".join(self.openai.told()))
        known = (await self.get("/sessions"))["sessions"]
        self.assertEqual(
            [(session["agent"], session["mode"]) for session in known], [("qwen", "plan")]
        )


class Processes(ApiCase):
    async def test_one_that_dies_touches_only_its_own_conversations(self) -> None:
        type(self).server = await self.another_server(processes=2, fallback=KEY)
        gates = [Gate(), Gate()]
        here = {"workspacePath": self.workspace}
        ids = [(await self.post("/sessions", here))["sessionId"] for _ in gates]
        for name, gate in zip(("first", "second"), gates):
            self.addCleanup(gate.set)
            self.model.will_play(f"{name} turn", ["Half ", gate, f"of the {name}."])
        processes = (await self.get("/agents"))["agents"][0]["processes"]
        self.assertEqual([process["conversations"] for process in processes], [1, 1])
        async with self.stream({"message": "first turn", "sessionId": ids[0]}) as first:
            async with self.stream({"message": "second turn", "sessionId": ids[1]}) as second:
                await first.until("content")
                await second.until("content")
                os.kill(processes[0]["pid"], signal.SIGKILL)
                self.assertEqual((await first.rest())[-1]["data"]["code"], "STREAM_ERROR")
                gates[1].set()
                rest = await second.rest()
        self.assertEqual(
            (said(rest).strip(), rest[-1]["data"]["success"]), ("of the second.", True)
        )
        self.model.will_play("go on", ["Here."])
        events = await self.story("go on", sessionId=ids[0])
        self.assertEqual((said(events), data(events, "thought")), ("Here.", []))
        self.assertIn("first turn", str(self.model.last_request()["contents"]))
        after = (await self.get("/agents"))["agents"][0]["processes"]
        self.assertEqual([process["conversations"] for process in after], [1, 1])
        self.assertEqual(after[1]["pid"], processes[1]["pid"])
        self.assertEqual((await self.get("/readyz")).status, 200)
