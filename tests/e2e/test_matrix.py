"""Each agent, unmodified, in each situation. What is seen is in the table of docs/agents.md, which
has to say it in the same words; whatever an agent does, what is told of files is what is on disk.

    make test-agents            all of them; `make test` has those that are set up anyway
    WRITE_SEEN=1 ...            writes what is seen into the table
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import unittest
from base64 import b64decode
from dataclasses import replace
from typing import Any, Dict, List
from unittest import mock

from agent_case import ROOT
from agent_rows import AGENTS, CLAUDE_IN_2, CODEX_IN_2, DOT, NEWEST_CLAUDE, STEP, Proxy, openai
from agent_rows import Agent as Row
from aiohttp import FormData
from api_case import ApiCase, data, said
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.agent.supported import CLIS
from GeminiCompanion.companion.api.server import Server
from GeminiCompanion.tests.support import until
from hanging_pipe import HangingPipe, needs_pipes
from model_server import Gate, call

DOCUMENT = os.path.join(ROOT, "docs", "agents.md")
ONCE, ALWAYS, MODIFY, NO = "proceed_once", "proceed_always", "modify_with_editor", "cancel"
ALWAYS_FOLDER = "proceed_always_tool"
# Files of a home, by their paths in it.
SKILL = "---\nname: {0}\ndescription: {0}'s {1}\n---\nDo it.\n"
OWN = {
    ".claude/CLAUDE.md": "plum words of Claude Code",
    ".claude/skills/mine/SKILL.md": SKILL.format("mine", "plum words"),
    ".claude/settings.json": json.dumps({"permissions": {"allow": ["Write", "Edit"]}}),
    ".codex/AGENTS.md": "plum words of Codex",
    ".codex/config.toml": 'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n',
    ".gemini/GEMINI.md": "plum words of Gemini CLI",
    ".gemini/settings.json": json.dumps({"tools": {"allowed": ["write_file"]}}),
    ".qwen/QWEN.md": "plum words of Qwen Code",
    ".qwen/settings.json": json.dumps({"tools": {"approvalMode": "yolo"}}),
    ".config/opencode/AGENTS.md": "plum words of opencode",
    ".opencode/opencode.json": json.dumps({"permission": {"edit": "allow", "bash": "allow"}}),
    ".opencode/agent/other.md": SKILL.format("other", "plum words"),
    ".agents/skills/all/SKILL.md": SKILL.format("all", "skill for all"),
}
SETTINGS = ("settings.json", "config.toml", "opencode.json")
# As the table says them.
OUTCOMES = {
    ONCE: "once",
    ALWAYS: "this file always",
    ALWAYS_FOLDER: "all files always",
    NO: "no",
    MODIFY: "changed",
}
Story = List[Dict[str, Any]]


class Cells(ApiCase):
    """All situations of one agent, whose processes they share. Each ends with the words that its
    cell in the table has."""

    row: Row
    folder: str
    proxy: Proxy
    key = None
    real = True

    @classmethod
    def setUpClass(cls) -> None:
        try:
            cls.row.command()
        except AgentError:
            raise unittest.SkipTest(f"{cls.row.name} is not installed: {cls.row.setup}") from None
        cls.model_server = cls.row.server
        cls.proxy = Proxy()
        cls.addClassCleanup(cls.proxy.server_close)
        cls.addClassCleanup(cls.proxy.shutdown)
        cls.folder = cls.another_folder()
        super().setUpClass()

    @classmethod
    def launch(cls, *given: Any, **more: Any) -> Launch:
        return cls.row.launch(cls.model.url, cls.proxy.variables)

    @classmethod
    async def another_server(cls, *given: Any, **more: Any) -> Server:
        """With the same state as before."""
        return await super().another_server(cls.folder)

    def setUp(self) -> None:
        super().setUp()
        self.file = self.path("file.txt")
        self.session = ""

    # What happens.

    async def open(self) -> None:
        made = await self.post("/sessions", {"workspacePath": self.workspace})
        self.assertEqual(made.status, 200, made)
        self.session = made["sessionId"]

    async def talk(
        self, words: str, decide: str = "", instead: tuple[str, str] = ("", ""), **more: Any
    ) -> Story:
        """All events of a message; `more` goes into the decision on each question, and the
        proposed text with another word `instead` of one in it. Whatever was done to files is
        compared with what was told of it."""
        if not self.session:
            await self.open()
        before, story = self.files(), []
        async with self.stream(self.said_here(words)) as stream:
            async for event in stream:
                story.append(event)
                if event["type"] == "tool_confirmation" and decide:
                    if any(instead):
                        more["newContent"] = event["data"]["diff"]["newText"].replace(*instead)
                    await self.decide(event["data"]["callId"], decide, **more)
        await self.assert_true_to_disk(story, before)
        return story

    async def decide(self, call: str, outcome: str, **more: Any) -> None:
        reply = await self.post("/tool-confirmation", {"callId": call, "outcome": outcome, **more})
        self.assertEqual(reply.status, 200, reply)

    def plan(self, words: str, closing: str, text: str | None = None, path: str = "") -> None:
        """What the model does after these words: writes the file where there is a text, and says
        the closing."""
        write = [] if text is None else [[self.row.write(path or self.file, text)]]
        self.model.will_play(self.own(words), *write, [closing])

    def plan_edit(self, words: str, closing: str, old: str, new: str) -> None:
        calls = [[call] for call in self.row.edit(self.file, old, new)]
        self.model.will_play(self.own(words), *calls, [closing])

    async def undo(self, story: Story, expected: dict[str, str]) -> None:
        turn = story[0]["data"]["turnId"]
        undone = await self.post(f"/sessions/{self.session}/turns/{turn}/undo")
        self.assertEqual((undone.status, self.files()), (200, expected), undone)

    def own(self, words: str) -> str:
        """The words as no other test says them: its model may still be asked."""
        return f"{words} ({self._testMethodName})"

    def said_here(self, words: str) -> dict[str, Any]:
        return {"message": self.own(words), "sessionId": self.session}

    def files(self) -> dict[str, str]:
        return {name: self.read(name) for name in os.listdir(self.workspace)}

    # What has to be so whatever the agent does.

    async def assert_true_to_disk(self, story: Story, before: dict[str, str]) -> None:
        """What a turn changed is listed as its files, and nothing else is; edits that nobody was
        asked about are told with the texts that the files hold now."""
        turn, after = story[0]["data"]["turnId"], self.files()
        changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        listed = (await self.get(f"/sessions/{self.session}/turns/{turn}/files"))["files"]
        self.assertEqual({os.path.basename(file["path"]) for file in listed}, changed, story)
        self.assertLessEqual({file["state"] for file in listed}, {"as_left"}, story)
        for result in data(story, "tool_result"):
            for diff in result["unaskedEdits"]:
                self.assertEqual(self.read(os.path.basename(diff["path"])), diff["newText"], story)

    def assert_seen(self, *words: str) -> None:
        """The cell of this test has the words."""
        situation = self._testMethodName[len("test_") :].replace("_", " ")
        seen = "; ".join(word for word in words if word)
        if os.environ.get("WRITE_SEEN"):
            write_cell(situation, self.row.name, seen)
        self.assertEqual(table().get((situation, self.row.name)), seen)

    # The situations.

    async def test_a_turn(self) -> None:
        self.plan("greet me", "Hello to you.")
        story = await self.talk("greet me")
        self.assertEqual(said(story), "Hello to you.")
        self.assertEqual(data(story, "complete")[0]["reason"], "end_turn")
        mode = (await self.get(f"/sessions/{self.session}"))["mode"]
        self.assert_seen(f"answered, in its mode `{mode}`")

    async def test_its_plan_and_usage(self) -> None:
        self.model.will_play(self.own("plan it"), [self.row.plan], ["Planned."])
        story = await self.talk("plan it", ONCE)
        plans = data(story, "plan")
        for each in plans:
            self.assertEqual([entry["content"] for entry in each["entries"]], [STEP])
        usage = data(story, "complete")[0]["usage"]
        counted = (usage["inputTokens"], usage["outputTokens"])
        one, both = self.row.tokens, tuple(2 * count for count in self.row.tokens)
        tokens = {one: "tokens of the last request", both: "tokens of the turn"}
        self.assertIn(counted, tokens, story)
        contexts = data(story, "context_usage")
        self.assert_seen(
            "plan" if plans else f"no plan, its tool `{data(story, 'tool_call')[0]['name']}`",
            tokens[counted],
            "context" if contexts else "",
            "cost" if any(context["cost"] for context in contexts) else "",
        )

    async def test_a_permission_with_a_diff(self) -> None:
        self.plan("write it", "Not written.", "one\n")
        await self.open()
        async with self.stream(self.said_here("write it")) as stream:
            asked = (await stream.until("tool_confirmation"))["data"]
            self.assertEqual(self.files(), {})
            await self.decide(asked["callId"], NO)
            await stream.rest()
        diff = asked["diff"]
        self.assertEqual((diff["path"], diff["oldText"]), (self.file, ""))
        self.assertEqual(diff["newText"], "one\n")
        options = ", ".join(OUTCOMES[option["outcome"]] for option in asked["options"])
        self.assert_seen(f"`{asked['name']}`: {options}")

    async def test_allowed(self) -> None:
        self.plan("write it", "Written.", "one\n")
        story = await self.talk("write it", ONCE)
        self.assertEqual((said(story), self.files()), ("Written.", {"file.txt": "one\n"}))
        self.assertEqual([result["success"] for result in data(story, "tool_result")], [True])
        await self.undo(story, {})
        self.write("file.txt", "one\ntwo\n")
        self.plan_edit("edit it", "Done.", "two", "2")
        story = await self.talk("edit it", ONCE)
        self.assertEqual((said(story), self.files()), ("Done.", {"file.txt": "one\n2\n"}))
        await self.undo(story, {"file.txt": "one\ntwo\n"})
        self.assert_seen("written; can be undone")

    async def test_allowed_always(self) -> None:
        self.plan("write it", "Written.", "one\n")
        await self.talk("write it", ALWAYS)
        other = self.path("other.txt")
        self.plan("write the other", "Written, too.", "two\n", other)
        story = await self.talk("write the other", ALWAYS_FOLDER)
        self.assertEqual(len(data(story, "tool_confirmation")), 1, story)
        third = self.path("third.txt")
        self.plan("write a third", "Written, too.", "three\n", third)
        story = await self.talk("write a third", NO)
        expected = {"file.txt": "one\n", "other.txt": "two\n", "third.txt": "three\n"}
        self.assertEqual((data(story, "tool_confirmation"), self.files()), ([], expected))
        unasked = data(story, "tool_result")[0]["unaskedEdits"]
        shown = ", and shown as unasked" if unasked else ""
        guarded = await self.guarded(expected)
        self.assert_seen(f"the next file is not asked about{shown}; {guarded}")

    async def guarded(self, expected: dict[str, str]) -> str:
        """What comes of files that no lasting answer covers."""
        outside = os.path.join(os.path.dirname(self.workspace), ".bashrc")
        paths = {
            "a `.bashrc` outside": outside,
            "`.git/hooks`": self.path(".git/hooks/post-checkout"),
            "`.envrc`": self.path(".envrc"),
        }
        asked = []
        for name, path in paths.items():
            self.plan(f"write {name}", "Hm.", "touch x\n", path)
            story = await self.talk(f"write {name}", NO)
            self.assertEqual(self.files(), expected)
            self.assertFalse(os.path.exists(path), path)
            questions = data(story, "tool_confirmation")
            outcomes = {option["outcome"] for each in questions for option in each["options"]}
            self.assertLessEqual(outcomes, {ONCE, NO, MODIFY}, path)
            asked += [name] if questions else []
        # One that refuses by itself asks nobody.
        others = [name for name in paths if name not in asked]
        refused = f"; not written without a question: {', '.join(others)}" if others else ""
        return f"asked about: {', '.join(asked)}{refused}"

    async def test_changed(self) -> None:
        self.plan("write it", "Well.", "one\n")
        story = await self.talk("write it", MODIFY, newContent="mine\n")
        self.assertEqual(self.files(), {"file.txt": "mine\n"})
        self.assertEqual([result["success"] for result in data(story, "tool_result")], [True])
        is_told = ["mine" in str(self.model.last_request())]
        self.write("file.txt", "one\ntwo\n")
        self.plan_edit("edit it", "Well.", "two", "2")
        story = await self.talk("edit it", MODIFY, instead=("2", "ours"))
        self.assertEqual(self.files(), {"file.txt": "one\nours\n"})
        self.assertTrue(data(story, "tool_result")[-1]["success"], story)
        is_told.append("ours" in str(self.model.last_request()))
        self.assertEqual(is_told, [True, True])
        self.assert_seen("the user's text is written, and the model told")

    async def test_rejected(self) -> None:
        self.plan("write it", "As you wish.", "one\n")
        story = await self.talk("write it", NO)
        self.assertEqual(self.files(), {})
        (result,) = data(story, "tool_result")
        self.assertEqual((result["success"], result["rejected"]), (False, True))
        last = data(story, "complete")[0]["reason"]
        goes_on = said(story) == "As you wish."
        self.assert_seen("the model goes on" if goes_on else f"the turn ends: `{last}`")

    async def test_cancelled(self) -> None:
        self.plan("write it", "Never said.", "one\n")
        await self.open()
        async with self.stream(self.said_here("write it")) as stream:
            await stream.until("tool_confirmation")
            await self.post("/cancel", {"sessionId": self.session})
            rest = await stream.rest()
        self.assertEqual(data(rest, "complete")[0]["reason"], "cancelled")
        self.assertEqual([result["rejected"] for result in data(rest, "tool_result")], [True])
        self.assertEqual(self.files(), {})
        self.plan("and now", "Here.")
        self.assertEqual(said(await self.talk("and now")), "Here.")
        self.assert_seen("nothing is written; the next message is answered")

    async def test_an_image_in(self) -> None:
        await self.open()
        added = await self.upload()
        self.plan("what is it", "A dot.")
        body = {**self.said_here("what is it"), "attachments": [added]}
        async with self.stream(body) as stream:
            self.assertEqual(said(await stream.rest()), "A dot.")
        self.assertIn(DOT, json.dumps(self.model.last_request()))
        self.assert_seen("reaches the model")

    async def upload(self) -> str:
        """The id of an image that was attached to the conversation."""
        given = FormData()
        given.add_field("file", b64decode(DOT), filename="dot.png")
        path, headers = f"/sessions/{self.session}/attachments", {"Accept-Language": "en"}
        headers["Authorization"] = f"Bearer {self.server.token}"
        url = self.server.url + path
        async with self.client.post(url, data=given, headers=headers) as response:
            added = await response.json()
            self.assertEqual(response.status, 200, added)
            return str(added["attachmentId"])

    async def test_an_image_out(self) -> None:
        path = self.path("dot.png")
        with open(path, "wb") as file:
            file.write(b64decode(DOT))
        self.model.will_play(self.own("look at it"), [self.row.look(path)], ["A dot."])
        story = await self.allow_all("look at it")
        self.assertEqual([result["success"] for result in data(story, "tool_result")], [True])
        shown = data(story, "resource")
        (call,) = data(story, "tool_call")
        self.assertEqual([resource["callId"] for resource in shown], [call["callId"]] * len(shown))
        kinds = [resource["kind"] for resource in shown]
        if kinds == ["image"]:
            path = f"/sessions/{self.session}/attachments/{shown[0]['attachmentId']}"
            async with self.sent("GET", path) as response:
                self.assertEqual(await response.read(), b64decode(DOT))
        elif kinds == ["link"]:
            self.assertEqual(shown[0]["uri"], path)
        words = {(): "told by words alone", ("image",): "shown", ("link",): "a link to its file"}
        self.assert_seen(words[tuple(kinds)])

    async def test_a_subagent(self) -> None:
        self.write("file.txt", "one\n")
        inner = self.own("read the file")
        self.model.will_play(self.own("delegate it"), [self.row.delegate(inner)], ["It is done."])
        self.model.will_play(inner, self.row.edit(self.file, "one", "two")[:1], ["It says one."])
        story = await self.allow_all("delegate it")
        self.assertIn("It is done.", said(story))
        self.assertNotIn("It says one.", said(story))
        task, *others = data(story, "tool_call")
        within = [each["parentCallId"] for each in others if each["parentCallId"]]
        self.assertEqual(within, [task["callId"]] * len(within))
        results = {result["callId"]: result["success"] for result in data(story, "tool_result")}
        self.assertLessEqual({each["callId"] for each in others}, {*results})
        words = "its calls within that of its task" if within else "its task as the call `{}`"
        refused = "" if results[task["callId"]] else ", which it refuses"
        self.assert_seen(words.format(task["name"]) + refused)

    async def test_a_subagent_is_stopped_alone_where_the_agent_can_do_that(self) -> None:
        if not self.row.stops_subagents:
            self.skipTest(f"{self.row.name} stops no subagent alone")
        gate, going_on = Gate(), Gate()
        self.addCleanup(gate.set)
        self.addCleanup(going_on.set)
        inner, words = self.own("look around"), self.own("delegate it")
        self.model.will_play(inner, ["Looking ", gate, "never said."])
        self.model.will_play(
            words, [self.row.delegate(inner)], ["It went on ", going_on, "to its end."]
        )
        await self.open()
        async with self.stream(self.said_here("delegate it")) as stream:
            call = (await stream.until("tool_call"))["data"]
            self.assertTrue(call["canStop"])
            await until(gate.reached.is_set)
            stopped = await self.post(
                f"/sessions/{self.session}/subagents/stop", {"callId": call["callId"]}
            )
            self.assertEqual(stopped.status, 200, stopped)
            ended = (await stream.until("tool_result"))["data"]
            self.assertEqual((ended["callId"], ended["success"]), (call["callId"], False))
            going_on.set()
            story = await stream.rest()
        self.assertIn("to its end.", said(story))
        self.assertEqual(data(story, "complete")[0]["reason"], "end_turn")

    async def allow_all(self, words: str) -> Story:
        """All events of a message, whose questions are allowed once."""
        await self.open()
        story = []
        async with self.stream(self.said_here(words)) as stream:
            async for event in stream:
                story.append(event)
                if event["type"] == "tool_confirmation":
                    await self.decide(event["data"]["callId"], ONCE)
        return story

    @needs_pipes
    async def test_a_command_that_hangs_at_a_pipe_is_ended_with_its_turn(self) -> None:
        pipe = HangingPipe(self.path("pipe"))
        self.addCleanup(pipe.close)
        run = self.row.run(f"cat '{pipe.path}' > '{self.file}'")
        # Some let their model go on while a command runs.
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play(self.own("run it"), [run], ["Meanwhile, ", gate, "never said."])
        await self.open()
        async with self.stream(self.said_here("run it")) as stream:
            asked = await stream.until("tool_confirmation")
            await self.decide(asked["data"]["callId"], ONCE)
            await until(pipe.readers)
            await self.post("/cancel", {"sessionId": self.session})
            rest = await stream.rest()
        self.assertEqual(data(rest, "complete")[0]["reason"], "cancelled")
        if self.row.keeps_commands:
            await self.server.stop()
            type(self).server = await self.another_server()
        await until(lambda: not pipe.readers())

    async def test_a_message_in_the_queue(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play(self.own("the first"), ["One ", gate, "and two."])
        self.plan("the second", "Three.")
        await self.open()
        async with self.stream(self.said_here("the first")) as stream:
            await stream.until("content")
            queued = await self.post(
                f"/sessions/{self.session}/queue", {"message": self.own("the second")}
            )
            self.assertEqual(queued.status, 200, queued)
            gate.set()
            rest = await stream.rest()
        self.assertTrue(data(rest, "complete")[0]["success"])
        await self.until_said("Three.")
        self.assert_seen("sent after the turn")

    async def test_killed(self) -> None:
        self.plan("write it", "Written.", "one\n")
        await self.open()
        async with self.stream(self.said_here("write it")) as stream:
            await stream.until("tool_confirmation")
            await self.kill()
            rest = await stream.rest()
        self.assertEqual(rest[-1]["data"]["code"], "STREAM_ERROR")
        self.assertEqual([result["success"] for result in data(rest, "tool_result")], [False])
        self.assertEqual(self.files(), {})
        self.plan("and now", "Here.")
        self.assertEqual(said(await self.talk("and now")), "Here.")
        self.assert_seen("the turn ends with `STREAM_ERROR`; the next message is answered")

    async def test_resumed(self) -> None:
        self.plan("the word is plum", "I see.")
        self.assertEqual(said(await self.talk("the word is plum")), "I see.")
        await self.server.stop()
        type(self).server = await self.another_server()
        self.plan("which word", "Plum.")
        story = await self.talk("which word")
        self.assertEqual(said(story), "Plum.")
        self.assertIn("the word is plum", str(self.model.last_request()))
        is_told = bool(data(story, "thought"))
        self.assert_seen("is told what was said" if is_told else "remembers by itself")

    async def test_by_a_token_that_only_chats_no_login_and_no_setting_is_changed(
        self,
    ) -> None:
        given = await self.post("/tokens", {"name": self.row.id, "scopes": ["chat"]})
        narrow = {"Authorization": f"Bearer {given['token']}"}
        self.plan("greet me", "Hello to you.")
        await self.talk("greet me")
        kept = self.kept()
        for command in ("/logout", "/config permissionMode=dontAsk"):
            self.model.will_play(command, ["Only said."])
            body = {"message": command, "sessionId": self.session}
            reply = await self.post("/chat", body, headers=narrow)
            if reply.status == 200:
                self.assertEqual(reply["response"], "Only said.")
            else:
                self.assertEqual((reply.status, reply["code"]), (403, "SCOPE_MISSING"), reply)
            said_here = [{"role": "user", "content": command}]
            wanted = {"model": self.row.id, "messages": said_here}
            told = await self.post("/v1/chat/completions", wanted, headers=narrow)
            self.assertEqual(told.status, reply.status, told)
        self.assertEqual(self.kept(), kept)
        asked = await self.get(f"/sessions/{self.session}/commands", headers=narrow)
        allowed = {command["name"] for command in asked["commands"] if command["allowed"]}
        self.assertLessEqual(allowed, set(CLIS[self.row.id].harmless_commands))
        await self.ask("DELETE", f"/tokens/{self.row.id}")

    def kept(self) -> dict[str, str]:
        """What it keeps in its home of the key and of settings, by the files' paths there."""
        home, found = self.agent.backends[self.row.id].cli.folder, {}
        for folder, _folders, names in os.walk(home):
            paths = [os.path.relpath(os.path.join(folder, name), home) for name in names]
            for path in paths:
                is_key = path in CLIS[self.row.id].key_files
                if is_key or os.path.basename(path) in SETTINGS:
                    with open(os.path.join(home, path), encoding="utf-8") as file:
                        found[path] = file.read()
        return found

    async def test_beside_the_model_it_asks_only_for_what_is_known(self) -> None:
        self.plan("greet me", "Hello to you.")
        self.assertEqual(said(await self.talk("greet me")), "Hello to you.")
        allowed = self.row.asks
        others = {host for host in self.proxy.hosts if not allowed or not host.startswith(allowed)}
        self.assertEqual(others, set())

    async def test_the_key_that_was_configured_last_is_used_and_a_cleared_one_is_nowhere(
        self,
    ) -> None:
        await self.open()
        first = self.row.key(self.model.url)
        agent = self.server.agent
        for number in range(2):
            key = f"configured-{number}-{os.urandom(8).hex()}"
            await agent.account.configure_credentials(replace(first, api_key=key))
            self.plan(f"greet me {number}", "Hello to you.")
            self.assertEqual(said(await self.talk(f"greet me {number}")), "Hello to you.")
            self.assertEqual(self.model.keys[-1], key)
        await agent.account.clear_credentials()
        self.assertEqual(self.having(b"configured-"), [])
        await agent.account.configure_credentials(first)

    async def test_the_users_own_files_neither_allow_nor_say_anything(self) -> None:
        """Except skills for all agents, which some read in any home."""
        home = self.another_folder()
        for name, text in OWN.items():
            os.makedirs(os.path.dirname(os.path.join(home, name)), exist_ok=True)
            with open(os.path.join(home, name), "w", encoding="utf-8") as file:
                file.write(text)
        account = self.server.agent.account
        with mock.patch.dict(os.environ, HOME=home):
            await account.configure_credentials(self.row.key(self.model.url))
            self.plan("write it", "Not written.", "one\n")
            story = await self.talk("write it", NO)
        self.assertEqual((len(data(story, "tool_confirmation")), self.files()), (1, {}))
        self.assertNotIn("plum words", str(self.model.last_request()))
        self.assertEqual("skill for all" in str(self.model.last_request()), self.row.sees_skills)
        await account.configure_credentials(self.row.key(self.model.url))

    def having(self, key: bytes) -> list[str]:
        """The files of the server's state that have the key."""
        found = []
        for folder, _folders, names in os.walk(self.folder):
            for path in (os.path.join(folder, name) for name in names):
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        found.extend([path] if key in file.read() else [])
        return found

    async def kill(self) -> None:
        """The agent's process, with what it has started."""
        (process,) = (await self.get("/agents"))["agents"][0]["processes"]
        os.killpg(process["pid"], signal.SIGKILL)
        await self.until_gone(process["pid"])

    async def until_said(self, words: str) -> None:
        while True:
            told = await self.get(f"/sessions/{self.session}/messages")
            if words in str(told.body):
                return
            await asyncio.sleep(0.05)


def table() -> dict[tuple[str, str], str]:
    """What the document says was seen, by situation and agent."""
    with open(DOCUMENT, encoding="utf-8") as file:
        rows = [line for line in file.read().split("\n") if line.startswith("| ")]
    start = next(at for at, row in enumerate(rows) if row.startswith("| situation"))
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[start:]]
    heads = cells[0][1:]
    return {(row[0], head): cell for row in cells[1:] for head, cell in zip(heads, _told(row[1:]))}


def _told(cells: list[str]) -> list[str]:
    """The row's cells; one that only has `"` says the same as the one before it."""
    told: list[str] = []
    for cell in cells:
        told.append(told[-1] if cell == '"' else cell)
    return told


def write_cell(situation: str, name: str, seen: str) -> None:
    with open(DOCUMENT, encoding="utf-8") as file:
        lines = file.read().split("\n")
    head = next(line for line in lines if line.startswith("| situation"))
    at = next(at for at, line in enumerate(lines) if line.startswith(f"| {situation} |"))
    cells = _told([cell.strip() for cell in lines[at].strip("|").split(" | ")])
    heads = [cell.strip() for cell in head.strip("|").split(" | ")]
    cells[heads.index(name)] = seen
    lines[at] = f"| {' | '.join(cells)} |"
    with open(DOCUMENT, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


class WithUnaskingMode(Cells):
    async def test_what_it_writes_in_a_mode_that_does_not_ask_is_shown_as_unasked(self) -> None:
        await self.open()
        mode = self.row.unasking
        changed = await self.ask("PATCH", f"/sessions/{self.session}", {"mode": mode})
        self.assertEqual((changed.status, changed["mode"]), (200, mode), changed)
        self.plan("write it", "Written.", "one\n")
        (result,) = data(await self.talk("write it"), "tool_result")
        told = [(edit["path"], edit["newText"]) for edit in result["unaskedEdits"]]
        self.assertEqual((told, self.files()), ([(self.file, "one\n")], {"file.txt": "one\n"}))


class Plans(WithUnaskingMode):
    """Of Claude Code, whose answers have other ids in each version."""

    async def test_a_plan_is_left_for_the_mode_that_asks_or_not_at_all(self) -> None:
        await self.open()
        for outcome, mode in ((NO, "plan"), (ONCE, self.row.mode)):
            await self.ask("PATCH", f"/sessions/{self.session}", {"mode": "plan"})
            words = f"plan it, {outcome}"
            leave = call("ExitPlanMode", plan="Write it.", planFilePath=self.file)
            self.model.will_play(self.own(words), [leave], ["Planned."])
            (asked,) = data(await self.talk(words, outcome), "tool_confirmation")
            self.assertEqual([option["outcome"] for option in asked["options"]], [ONCE, NO], asked)
            info = await self.get(f"/sessions/{self.session}")
            self.assertEqual(info["mode"], mode)
        self.plan("write it", "Not written.", "one\n")
        story = await self.talk("write it", NO)
        self.assertEqual((len(data(story, "tool_confirmation")), self.files()), (1, {}))

    async def test_a_question_with_choices_is_answered(self) -> None:
        choices = [{"label": name, "description": f"It is {name}."} for name in ("plum", "cherry")]
        question = {
            "question": "Which fruit?", "header": "Fruit", "multiSelect": False, "options": choices,
        }  # fmt: skip
        asks = call("AskUserQuestion", questions=[question])
        self.model.will_play(self.own("ask me"), [asks], ["I see."])
        await self.open()
        async with self.stream(self.said_here("ask me")) as stream:
            asked = (await stream.until("elicitation"))["data"]
            field = asked["fields"][0]
            told = [(value["value"], value["name"]) for value in field["values"]]
            meant = [(name, f"{name} — It is {name}.") for name in ("plum", "cherry")]
            self.assertEqual(told, meant)
            answer = {"action": "accept", "content": {field["name"]: "cherry"}}
            body = {"elicitationId": asked["elicitationId"], **answer}
            reply = await self.post("/elicitation", body)
            self.assertEqual(reply.status, 200, reply)
            self.assertEqual(said(await stream.rest()), "I see.")
        self.assertRegex(str(self.model.last_request()["messages"][-3:]), "Which fruit.*cherry")


class GeminiCli(Cells):
    row = AGENTS["gemini"]


class QwenCode(Cells):
    row = AGENTS["qwen"]


class ClaudeCode(Plans):
    row = AGENTS["claude"]


class NewestClaudeCode(Plans):
    row = NEWEST_CLAUDE


class ClaudeCodeIn2(Plans):
    row = CLAUDE_IN_2


class OpenCode(Cells):
    row = AGENTS["opencode"]

    async def test_plugins_of_a_workspace_that_is_not_trusted_do_not_run(self) -> None:
        mark = os.path.join(self.another_folder() + ".ran")
        plugin = self.path(".opencode/plugin/own.js")
        os.makedirs(os.path.dirname(plugin))
        with open(plugin, "w", encoding="utf-8") as file:
            file.write(f"import fs from 'fs'; fs.writeFileSync({json.dumps(mark)}, '');")
            file.write("export const Own = async () => ({});")
        body = {"message": "hello", "workspacePath": self.workspace, "newSession": True}
        refused = await self.post("/chat", body)
        self.assertEqual((refused.status, refused["code"]), (400, "VALIDATION_ERROR"), refused)
        self.assertIn("has plugins of opencode", refused["message"])
        self.assertFalse(os.path.exists(mark))


class Codex(WithUnaskingMode):
    row = AGENTS["codex"]


class CodexIn2(WithUnaskingMode):
    row = CODEX_IN_2


class CodexWithAnotherModel(ApiCase):
    """A model of which it knows nothing."""

    row = replace(AGENTS["codex"], key=lambda url: openai(url, "plum-1"))
    proxy: Proxy
    key = None
    real = True

    @classmethod
    def setUpClass(cls) -> None:
        try:
            cls.row.command()
        except AgentError:
            raise unittest.SkipTest(f"{cls.row.name} is not installed: {cls.row.setup}") from None
        cls.model_server = cls.row.server
        cls.proxy = Proxy()
        cls.addClassCleanup(cls.proxy.server_close)
        cls.addClassCleanup(cls.proxy.shutdown)
        super().setUpClass()

    @classmethod
    def launch(cls, *given: Any, **more: Any) -> Launch:
        return cls.row.launch(cls.model.url, cls.proxy.variables)

    async def test_a_notice_is_a_warning_and_no_part_of_the_answer(self) -> None:
        self.model.will_play("greet me", ["Hello to you."])
        made = await self.post("/sessions", {"workspacePath": self.workspace})
        body = {"message": "greet me", "sessionId": made["sessionId"]}
        async with self.stream(body) as stream:
            story = await stream.rest()
        (told,) = data(story, "thought")
        self.assertEqual((said(story), told["subject"]), ("Hello to you.", "Warning"))
        self.assertIn("plum-1", told["description"])


# The others have their tests.
del Cells, WithUnaskingMode, Plans
