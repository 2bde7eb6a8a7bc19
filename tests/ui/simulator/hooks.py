"""A scripted CLI's extension: what its hooks report, and its edits without asking. It does what
docs/protocol.md, part 9, says of the real one."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from GeminiCompanion.companion.ide.clis import GEMINI_CLI

from .endpoint import Endpoint

if TYPE_CHECKING:
    from .checks import Proposal
    from .cli import Cli
    from .world import World

# Above the process ids of any system; and above its ports.
PROCESS, PEER = 10_000_000, 100_000
# Seconds that the program of the extension waits for an answer; at times it is ended at once.
PATIENCE, ENDED = 9.0, 0.0


class Extension:
    """That of one CLI. The CLI writes its files `paths` without a question."""

    def __init__(self, cli: Cli, world: World) -> None:
        self.cli, self._world = cli, world
        self.process, self.peer = PROCESS + cli.number, PEER + cli.number
        self.paths = [
            os.path.join(world.folder, f"{name}{cli.number}.py") for name in ("own", "more")
        ]
        self._writing: set[str] = set()

    async def begin(self) -> None:
        await self._hook("SessionStart", source="startup")

    async def prompt(self, is_last: bool = False) -> None:
        """The user types a prompt. If it `is_last`, the CLI waits for the answer."""
        self._world.ledger.hooks.prompted(self.cli)
        await self._hook("BeforeAgent", is_sure=is_last, prompt="do it")

    def edit(self, is_all: bool = False) -> None:
        """Write a file of its own, or both at a time, and ask nobody."""
        some = self.paths if is_all else self._world.random.choice((self.paths[:1], self.paths))
        for path in some:
            if path not in self._writing:
                self._world.parts.loop.create_task(self._edit(path))

    async def _edit(self, path: str) -> None:
        self._writing.add(path)
        before, told = _text(path), _tool(path)
        await self._hook("BeforeTool", **told)
        if not self.cli.is_dead:
            edit = self._world.ledger.hooks.made(self.cli, path)
            _write(path, edit.text)
            await asyncio.sleep(self._world.parts.delay())
            edit.is_told = await self._ended(told, path, before, edit.text)
        self._writing.discard(path)

    async def begins(self, proposal: Proposal) -> None:
        """A tool that asks."""
        await self._hook("BeforeTool", **_tool(proposal.path))

    async def asks(self, proposal: Proposal) -> None:
        details = {"type": "edit", "filePath": proposal.path, "newContent": proposal.text}
        await self._hook("Notification", notification_type="ToolPermission", details=details)

    async def writes(self, proposal: Proposal, text: str, is_modified: bool) -> None:
        """The user has accepted the text."""
        before = _text(proposal.path)
        _write(proposal.path, text)
        if proposal.asks is not None:
            # The terminal's question comes behind the hook (docs/protocol.md 9.61).
            await asyncio.wait([proposal.asks])
        told = _tool(proposal.path, modified_by_user=is_modified)
        await self._ended(told, proposal.path, before, text)

    async def _ended(self, told: Any, path: str, before: str, text: str) -> bool:
        shown = {"filePath": path, "originalContent": before, "newContent": text}
        response = {"returnDisplay": {**shown, "isNewFile": not before}}
        return await self._hook("AfterTool", **told, tool_response=response)

    async def _hook(self, event: str, is_sure: bool = False, **told: Any) -> bool:
        """Whether the companion has gone through with it. The CLI does not always wait for that."""
        world, cli = self._world, self.cli
        patience = PATIENCE if is_sure else world.random.choice((PATIENCE,) * 5 + (ENDED,))
        await asyncio.sleep(world.parts.delay())
        endpoint = Endpoint.open.get(cli.port)
        if endpoint is None or cli.is_dead:
            return False
        end = world.parts.loop.now + patience

        def is_there() -> bool:
            return not cli.is_dead and world.parts.loop.now < end

        body = {"hook_event_name": event, "session_id": str(cli), "cwd": world.folder, **told}
        body = {"pid": self.process, "version": "sim", "input": body}
        work = endpoint.begin(self._answer(endpoint, body, is_there))
        await asyncio.wait([work], timeout=patience)
        if patience == ENDED and not work.done():
            world.ledger.counts["not waited for"] += 1
            return True
        return work.done() and not work.cancelled()

    async def _answer(self, endpoint: Endpoint, body: Any, is_there: Any) -> None:
        found = await endpoint.hooks.answer_hook(GEMINI_CLI, body, is_there)
        context = found.get("hookSpecificOutput", {}).get("additionalContext", "")
        self._world.ledger.counts["hooks"] += 1
        if is_there():
            self._world.note(
                "{} hears at {}: {!r}", self.cli, body["input"]["hook_event_name"], context
            )
            self._world.ledger.hooks.told(self.cli, context)


def _tool(path: str, **more: Any) -> Any:
    told = {"file_path": path, "content": "...", **more}
    return {"tool_name": "write_file", "tool_input": told}


def _text(path: str) -> str:
    """Empty where there is no file."""
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
