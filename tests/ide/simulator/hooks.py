"""A scripted CLI that has the extension: what its hooks report, and its edits without asking. It
does what docs/protocol.md, part 9, says of the real one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Mapping

from companion.ide.editor import EditWatch, NewDiagnostics
from companion.ide.extension_forms import GEMINI_EXTENSION

from .disk import File
from .hook_checks import limit
from .network import Broken

if TYPE_CHECKING:
    from .cli import Cli
    from .editor import Port
    from .world import World


class Extension:
    """That of one CLI. If it `is_auto`, the CLI writes its own file `path` without a question."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        self.world = cli.world
        self.path: str = f"{cli.folder}/own{cli.number}"
        self.is_auto = cli.world.random.random() < 0.5
        # Whether a tool of the CLI's is at work on its file.
        self.is_busy = False
        self._transcript = f"/transcripts/{cli.number}"
        self._begun = 0

    # ----- what it reports

    async def hook(self, event: str, process: int = 0, **told: Any) -> Mapping[str, Any]:
        """What the program prints: nothing where no answer comes in time."""
        environment = self.world.environment_for(self.cli.folder)
        if environment is None:
            return {}
        session_id = f"session {self._begun} of {self.cli}"
        told = {
            **{"hook_event_name": event, "session_id": session_id, "cwd": self.cli.folder},
            **{"transcript_path": self._transcript, **told},
        }
        port = int(environment["GEMINI_CLI_IDE_SERVER_PORT"])
        answer = self.world.network.hook(
            *(process or self.cli.process, port, environment["GEMINI_CLI_IDE_AUTH_TOKEN"]),
            {"pid": self.cli.process, "version": "sim", "input": told},
        )
        try:
            found: Mapping[str, Any] = await asyncio.wait_for(answer, limit(event))
        except (Broken, asyncio.TimeoutError):
            found = {}
        self.world.faults.point("a hook was answered", self.cli)
        return found

    async def begin(self) -> None:
        self._begun += 1
        await self.hook("SessionStart", source="startup" if self._begun == 1 else "clear")

    async def end(self) -> None:
        await self.hook("SessionEnd", reason="exit")

    async def late(self) -> None:
        """The last hook of a CLI that was killed is a process of its own, and arrives."""
        begins = {"tool_name": "run_shell_command", "tool_input": {"command": "late"}}
        await self.hook("BeforeTool", self.world.new_process(), **begins)

    async def asks(self, path: str, text: str) -> None:
        details = {"type": "edit", "filePath": path, "newContent": text}
        await self.hook("Notification", notification_type="ToolPermission", details=details)

    def refused(self) -> None:
        """The user has refused in the terminal; only the recording has it."""
        files = self.world.disk.files
        before = files[self._transcript].data if self._transcript in files else b""
        files[self._transcript] = File(before + GEMINI_EXTENSION.refused, self.world.now_ns())

    # ----- a turn

    async def turn(self) -> None:
        """A rejection ends it without a hook."""
        random = self.world.random
        await self.hook("BeforeAgent", prompt="do it")
        for _ in range(random.choice((1, 1, 2, 3))):
            await asyncio.sleep(random.choice((0.01, 0.5)))
            try:
                if not await self._tool():
                    return
            finally:
                self.is_busy = False
        await self.hook("AfterAgent", prompt="do it", prompt_response="done")
        if random.random() < 0.1:
            await self.hook("SessionEnd", reason="clear")
            await self.begin()

    async def _tool(self) -> bool:
        random = self.world.random
        if random.random() < 0.3:
            await self._command()
            return True
        path = self.path if self.is_auto else self.cli.folder + random.choice(("/a", "/b"))
        self.is_busy = path == self.path
        told = {"tool_name": "write_file", "tool_input": {"file_path": path, "content": "..."}}
        answer = await self.hook("BeforeTool", **told)
        if self.is_auto and answer.get("decision") != "ask":
            await self._write(told)
            return True
        if self.cli.client is None:
            return False
        before = self.world.disk.text(path)
        proposal = await self.cli.edit(path)
        if proposal.written is None:
            return False
        # Also of a text that the user typed and then accepted in the terminal.
        is_modified = not proposal.in_terminal or proposal.written != proposal.text
        told["tool_input"] = {**told["tool_input"], "modified_by_user": is_modified}  # type: ignore[dict-item]
        await self._ended(told, path, before, proposal.written)
        return True

    async def _write(self, told: Mapping[str, Any]) -> None:
        """An edit without asking."""
        disk, before = self.world.disk, self.world.disk.text(self.path)
        text = self.world.ledger.hooks.made(self, before)
        disk.write_as_cli(self.path, text)
        self.world.faults.point("an edit was written", self.cli)
        await asyncio.sleep(self.world.latency())
        await self._ended(told, self.path, before, text)

    async def _ended(self, told: Mapping[str, Any], path: str, before: str, text: str) -> None:
        shown = {
            **{"filePath": path, "originalContent": before, "newContent": text},
            "isNewFile": not before,
        }
        await self.hook("AfterTool", **told, tool_response={"returnDisplay": shown})

    async def _command(self) -> None:
        """One that changes a file that is open in the editor."""
        world, self.is_busy = self.world, True
        number = world.ledger.hooks.next()
        told = {"tool_name": "run_shell_command", "tool_input": {"command": f"command {number}"}}
        await self.hook("BeforeTool", **told)
        text = world.ledger.hooks.made(self, world.disk.text(self.path), f"command {number}")
        world.disk.write_as_cli(self.path, text)
        await self.hook("AfterTool", **told, tool_response={"returnDisplay": ""})


class Watch(EditWatch):
    """The tools of the editor report at some time or other."""

    def __init__(self, world: World, port: Port) -> None:
        self._world = world
        self._port = port

    async def watch_edit(self, window_id: int, path: str) -> bool:
        return await self._port.on_ui_thread(lambda: self._world.random.random() < 0.3)

    async def new_diagnostics(self, window_id: int, path: str, is_last: bool) -> NewDiagnostics:
        is_final = await self._port.on_ui_thread(lambda: self._world.random.random() < 0.1)
        return NewDiagnostics(is_final or is_last, ("1:1 a problem",))
