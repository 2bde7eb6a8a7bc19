"""What a conversation brings along and leaves behind, with the real Gemini CLI: tool servers,
attachments, mentioned files, commands, and turns that are undone, also after a restart."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import tool_server
from agent_case import HERE
from aiohttp import FormData, web
from api_case import ApiCase, Reply
from model_server import call

PNG, PDF = b"\x89PNG\r\n\x1a\n" + bytes(40), b"%PDF-1.4\n%%EOF"
SECRET = "s3cret of the tool server"


async def over_http(request: web.Request) -> web.Response:
    """The tool server as one that is reached over HTTP."""
    message = await request.json()
    if "id" not in message:
        return web.Response(status=202)
    result = tool_server.answer(message["method"], message.get("params", {}))
    return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": result})


class Conversations(ApiCase):
    real = True
    options = {"trusts_workspaces": True}

    async def http_tools(self) -> str:
        """Its address; it ends with the test."""
        application = web.Application()
        application.router.add_post("/mcp", over_http)
        runner = web.AppRunner(application)
        await runner.setup()
        self.addCleanup(lambda: self.run_soon(runner.cleanup()))
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"

    async def begun(self) -> Reply:
        stdio = {
            "name": "sums",
            "command": sys.executable,
            "args": [os.path.join(HERE, "tool_server.py")],
            "env": [{"name": "TOOL_KEY", "value": SECRET}],
        }
        headers = [{"name": "Authorization", "value": SECRET}]
        http = {"type": "http", "name": "web", "url": await self.http_tools(), "headers": headers}
        body = {"workspacePath": self.workspace, "mcpServers": [stdio, http]}
        return await self.post("/sessions", body)

    async def upload(self, id: str, name: str, data: bytes) -> str:
        form = FormData()
        form.add_field("file", data, filename=name)
        headers = {"Authorization": f"Bearer {self.server.token}"}
        path = f"{self.server.url}/sessions/{id}/attachments"
        async with self.client.post(path, data=form, headers=headers) as response:
            return str((await response.json())["attachmentId"])

    async def said(self, message: str, id: str, **more: Any) -> list[dict[str, Any]]:
        """The events of a turn in which everything is approved."""
        story = []
        async with self.stream({"message": message, "sessionId": id, **more}) as stream:
            async for event in stream:
                story.append(event)
                if event["type"] == "tool_confirmation":
                    decision = {"callId": event["data"]["callId"], "outcome": "proceed_once"}
                    await self.post("/tool-confirmation", decision)
        return story

    def asked(self) -> str:
        return json.dumps(self.model.last_request()["contents"])

    async def test_it_has_tools_attachments_and_files_of_its_own_and_its_turns_are_undone(
        self,
    ) -> None:
        begun = await self.begun()
        id = begun["sessionId"]
        servers = [{"name": "sums", "type": "stdio"}, {"name": "web", "type": "http"}]
        self.assertEqual(begun["mcpServers"], servers)
        await self.sees_commands(id)
        first = await self.uses_all(id)
        await self.is_undone(id, first)
        # Another process, which knows nothing of it.
        self.model.will_play("once more", [self.edit("new.txt", "again")], ["Done."])
        second = (await self.said("once more", id))[0]["data"]["turnId"]
        await self.server.stop()
        type(self).server = await self.another_server(os.path.dirname(self.server.token_file))
        type(self).agent = self.server.agent
        reply = await self.post(f"/sessions/{id}/turns/{second}/undo")
        self.assertEqual([file["state"] for file in reply["files"]], ["undone"])
        self.assertFalse(os.path.exists(self.path("new.txt")))
        self.model.will_play("after that", [call("mcp_sums_add", a=2)], ["Yes."])
        story = await self.said("after that", id)
        results = [event["data"]["result"] for event in story if event["type"] == "tool_result"]
        self.assertEqual(results, ['add {"a": 2}'])
        self.assertIn("new.txt", self.asked())
        for path in ("/sessions", f"/sessions/{id}/messages"):
            self.assertNotIn(SECRET, str((await self.get(path)).body))
        self.assertEqual((await self.get("/sessions"))["sessions"][0]["mcpServers"], servers)

    def edit(self, name: str, content: str) -> dict[str, Any]:
        return call("write_file", file_path=self.path(name), content=content)

    async def sees_commands(self, id: str) -> None:
        found = (await self.get(f"/sessions/{id}/commands"))["commands"]
        allowed = {command["name"]: command["allowed"] for command in found}
        self.assertEqual([allowed[name] for name in ("about", "memory show")], [True, True])
        self.assertEqual([allowed[name] for name in ("init", "extensions install")], [False] * 2)

    async def uses_all(self, id: str) -> str:
        """The turn's id."""
        self.write("note.txt", "what the note says")
        self.write("old.txt", "old\r\n")
        self.model.will_play(
            "look at",
            [call("mcp_sums_add", a=1), call("mcp_web_say", b=1)],
            [self.edit("new.txt", "new"), self.edit("old.txt", "changed")],
            [self.edit("mine.txt", "by the model")],
            ["Seen."],
        )
        attached = [
            await self.upload(id, "a picture.png", PNG),
            await self.upload(id, "a text.pdf", PDF),
        ]
        story = await self.said("look at @note.txt, please", id, attachments=attached)
        results = [event["data"] for event in story if event["type"] == "tool_result"]
        self.assertEqual([result["success"] for result in results], [True] * 5, results)
        sent = self.asked()
        for wanted in ("what the note says", '"image/png"', '"application/pdf"'):
            self.assertIn(wanted, sent)
        told = (await self.get(f"/sessions/{id}/messages"))["messages"][0]
        self.assertEqual(
            [attachment["name"] for attachment in told["attachments"]],
            ["a picture.png", "a text.pdf"],
        )
        self.assertEqual(told["files"], [self.path("note.txt")])
        return str(told["turnId"])

    async def is_undone(self, id: str, turn: str) -> None:
        self.write("mine.txt", "by the user")
        reply = await self.post(f"/sessions/{id}/turns/{turn}/undo")
        states = {os.path.basename(each["path"]): each["state"] for each in reply["files"]}
        self.assertEqual(
            states, {"new.txt": "undone", "old.txt": "undone", "mine.txt": "changed_since"}
        )
        self.assertFalse(os.path.exists(self.path("new.txt")))
        with open(self.path("old.txt"), "rb") as file:
            self.assertEqual(file.read(), b"old\r\n")
        self.assertEqual(self.read("mine.txt"), "by the user")
        self.model.will_play("and then", ["I see."])
        await self.said("and then", id)
        self.assertIn("The user has undone changes of yours", self.asked())
        self.assertIn(self.path("old.txt"), self.asked())
