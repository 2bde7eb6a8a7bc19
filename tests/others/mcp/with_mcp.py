"""Python's client of MCP, as a user of it writes one: `python with_mcp.py URL TOKEN MODE FILE`.

MODE is the client's own. Prints one JSON value in each line; ends once it has heard of its proposal
for FILE.
"""

import asyncio
import json
import sys
from typing import Any, Dict, List

import httpx2
from mcp import Client
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel


class Accepted(BaseModel):
    filePath: str
    content: str


class Diffs(ClientExtension):
    identifier = "gemini-companion/ide"

    def __init__(self) -> None:
        self.heard: asyncio.Future[Accepted] = asyncio.get_running_loop().create_future()

    def settings(self) -> Dict[str, Any]:
        return {"client": "python"}

    def notifications(self) -> List[NotificationBinding[Any]]:
        return [
            NotificationBinding(
                method="ide/diffAccepted", params_type=Accepted, handler=self.accepted
            )
        ]

    async def accepted(self, params: Accepted) -> None:
        self.heard.set_result(params)


def say(value: Any) -> None:
    print(json.dumps(value), flush=True)


async def main(url: str, token: str, mode: str, file: str) -> None:
    diffs = Diffs()
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, extensions=[diffs]) as client:
            say(client.protocol_version)
            say([tool.name for tool in (await client.list_tools()).tools])
            if mode == "legacy":
                await ask(client, diffs, file)
                return
            async with client.listen(tools_list_changed=True) as stream:
                say(stream.honored.model_dump(by_alias=True, exclude_none=True))
                await ask(client, diffs, file)


async def ask(client: Client, diffs: Diffs, file: str) -> None:
    shown = await client.call_tool("openDiff", {"filePath": file, "newContent": "theirs\n"})
    say([content.model_dump() for content in shown.content])
    told = await diffs.heard
    say(["ide/diffAccepted", told.model_dump()])


asyncio.run(main(*sys.argv[1:]))
