"""What an editor asks its companion, one frozen class for each question. Knows no thread.

To add a question: a class here that finds the answer, and an `await companion.ask(...)` where the
editor needs it. `window_id` is the editor's number of a window.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Awaitable, Generic, Mapping, Sequence, TypeVar

from ..base import file_content
from ..base.background import in_thread
from ..base.file_content import PATIENCE, Original, Stamp
from . import discovery
from .clis import Cli
from .context import MAX_FILES as MAX_FILES
from .context import OLDER as OLDER
from .context import SharedContext as SharedContext
from .decisions import UnwrittenText
from .status import ConnectedCli as ConnectedCli
from .status import Status

if TYPE_CHECKING:
    # At run time these two would import what is rarely needed and costs half a megabyte.
    from .doctor import gathering
    from .doctor.claude_facts import ClaudeServing
    from .doctor.report import Examination

    # And these would import aiohttp, which takes too long for any thread of the editor.
    from .windows import Windows
    from .workspace import Workspace

T = TypeVar("T")

# Seconds to examine a machine: its processes are listed, its ports and programs are asked.
EXAMINATION = 20.0
LATE = "The disk does not answer; check in the file whether the edit was undone."


class Question(ABC, Generic[T]):
    """Created on any thread; answered on the companion's loop, in one order with the events."""

    @abstractmethod
    def find_answer(self, windows: Windows) -> T | Awaitable[T]:
        """The answer, or an awaitable for it. A failure goes to the boundary of whoever asked."""


@dataclass(frozen=True)
class WindowStatuses(Question["tuple[Status, ...]"]):
    """The state of every window."""

    def find_answer(self, windows: Windows) -> tuple[Status, ...]:
        found = windows.statuses()
        return tuple(
            replace(each, claude_locks=windows.claude.lock_paths)
            if windows.workspaces[each.window_id].admits_claude
            else each
            for each in found
        )


@dataclass(frozen=True)
class SavingBegun(Question[None]):
    """Answered once this editor has the folder of the saved state; never, if another one has it."""

    def find_answer(self, windows: Windows) -> Awaitable[None]:
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        windows.saving.once_on(lambda: None if begun.done() else begun.set_result(None))
        return begun


@dataclass(frozen=True)
class ConnectedClis(Question["tuple[ConnectedCli, ...]"]):
    """The connected CLIs of all windows."""

    def find_answer(self, windows: Windows) -> tuple[ConnectedCli, ...]:
        return tuple(each for workspace in windows for each in workspace.connected_clis())


@dataclass(frozen=True)
class Examinations(Question["tuple[Examination, ...]"]):
    """The way of each CLI to the window, as `doctor.gathering` finds it; empty if the window is too
    new, or closed. `command` has the words that start the CLI; `environment` and `home` are the
    user's."""

    window_id: int
    cli: Cli
    command: tuple[str, ...]
    environment: Mapping[str, str]
    home: str

    def find_answer(
        self, windows: Windows
    ) -> tuple[Examination, ...] | Awaitable[tuple[Examination, ...]]:
        workspace = windows.workspaces.get(self.window_id)
        if workspace is None:
            return ()
        from .doctor import gathering

        others = (each for each in windows if each is not workspace)
        folders = tuple(folder for each in others for folder in each.advertisement.remote_folders)
        scope = self._examined_scope(workspace, folders, _claude_serving(windows, workspace))
        return in_thread(partial(gathering.examine_clis, scope), EXAMINATION)

    def _examined_scope(
        self, workspace: Workspace, elsewhere: tuple[str, ...], claude: ClaudeServing
    ) -> gathering.ExaminedScope:
        from .doctor.facts import Window
        from .doctor.gathering import ExaminedScope

        status, told = workspace.status(), workspace.advertisement
        publication = workspace.server.publication
        window = Window(
            told.pid,
            status.port,
            told.remote_folders,
            status.discovery_paths,
            status.connected,
            workspace.server.since,
            workspace.problem,
            dict(publication.unwritten) if publication is not None else {},
            frozenset(
                session.stream.peer for session in workspace.sessions if session.stream is not None
            ),
            told.path_maps.separator,
            told.path_maps.unmapped_folders(told.folders),
            dict(workspace.connected_before),
            {id: at for id, (_, at) in workspace.hooks.heard_of.items()},
            frozenset(cli.id for cli in workspace.hooks.outdated),
            claude,
        )
        return ExaminedScope(
            self.cli,
            window,
            self.command,
            self.environment,
            self.home,
            told.token,
            elsewhere,
            told.folders,
            told.path_maps,
            workspace.server.reach.folder,
        )


def _claude_serving(windows: Windows, workspace: Workspace) -> ClaudeServing:
    from .doctor.claude_facts import ClaudeServing

    server = windows.claude
    return ClaudeServing(
        workspace.admits_claude,
        server.port,
        server.lock_paths,
        server.problem,
        len(server.connections_in(workspace)),
        server.plugin.problem,
    )


@dataclass(frozen=True)
class DiscoveryRepair(Question[bool]):
    """The user wants the window's discovery files written again, and the file `dead` of an editor
    that has ended removed; empty for none. The answer says whether that was removed."""

    window_id: int
    dead: str

    def find_answer(self, windows: Windows) -> bool | Awaitable[bool]:
        workspace = windows.workspaces.get(self.window_id)
        if workspace is None:
            return False
        if workspace.server.publication is not None:
            workspace.server.publication.write_again()
        return in_thread(partial(discovery.remove_dead, self.dead))


@dataclass(frozen=True)
class WindowServed(Question[None]):
    """Answered once the window has its endpoint, or can have none."""

    window_id: int

    def find_answer(self, windows: Windows) -> Awaitable[None] | None:
        workspace = windows.workspaces.get(self.window_id)
        return workspace.server.settle() if workspace is not None else None


@dataclass(frozen=True)
class ContextShared(Question["SharedContext | None"]):
    """The context that the CLIs of the window are sent, and those that work in `folder`; None if
    there is no such window."""

    window_id: int
    folder: str = ""

    def find_answer(self, windows: Windows) -> SharedContext | None:
        workspace = windows.workspaces.get(self.window_id)
        return workspace.updates.shared_context(self.folder) if workspace is not None else None


@dataclass(frozen=True)
class FilesTold(Question["tuple[str, ...]"]):
    """The files of these paths that the CLIs of the window may be told."""

    window_id: int
    paths: Sequence[str]

    def find_answer(self, windows: Windows) -> tuple[str, ...] | Awaitable[tuple[str, ...]]:
        workspace = windows.workspaces.get(self.window_id)
        if workspace is None:
            return ()
        gate = workspace.context.gate()
        return in_thread(
            lambda: tuple(path for path in self.paths if not gate.reason_to_hide(path))
        )


@dataclass(frozen=True)
class UnwrittenTexts(Question["tuple[UnwrittenText, ...]"]):
    """The accepted proposals of the window that no CLI could be told of yet, or that none has
    written."""

    window_id: int

    def find_answer(self, windows: Windows) -> tuple[UnwrittenText, ...]:
        workspace = windows.workspaces.get(self.window_id)
        return workspace.unwritten_texts() if workspace is not None else ()


@dataclass(frozen=True)
class TextWithdrawal(Question[bool]):
    """The user takes back an accepted text: no CLI is told of it any more. The answer says whether
    it still waited."""

    window_id: int
    path: str
    text: str

    def find_answer(self, windows: Windows) -> bool:
        workspace = windows.workspaces.get(self.window_id)
        return workspace is not None and workspace.accepted.withdraw_text(self.path, self.text)


@dataclass(frozen=True)
class WordsForCli(Question[bool]):
    """The user's words for the CLI, about its proposal for the path, on which they decide at the
    same time; `is_accepted` is None where the CLI's terminal knows how. The answer says whether
    they go along with what the CLI does next; otherwise they stay with the user."""

    window_id: int
    session_id: str
    path: str
    text: str
    is_accepted: bool | None

    def find_answer(self, windows: Windows) -> bool:
        workspace = windows.workspaces.get(self.window_id)
        # What is not saved could not be given back after the end.
        if workspace is None or not windows.saving.is_on:
            return False
        return workspace.words.take_words(self.session_id, self.path, self.is_accepted, self.text)


@dataclass(frozen=True)
class WordsOnUnasked(Question[bool]):
    """The user's words for the CLI, about an edit of the path that it made without asking. `turn`
    and `client` are those of the UnaskedEdit; the answer is as to WordsForCli."""

    window_id: int
    turn: str
    client: str
    path: str
    text: str

    def find_answer(self, windows: Windows) -> bool:
        workspace = windows.workspaces.get(self.window_id)
        if workspace is None or not windows.saving.is_on:
            return False
        key = workspace.unasked.makers.cli_session_of(self.turn)
        return workspace.words.take_on_unasked(key, self.client, self.path, self.text)


@dataclass(frozen=True)
class MentionInClaude(Question[bool]):
    """Type references to lines of the file, pairs of first and last row from 0, into the prompt of
    the Claude Code that has connected to the window last. With no rows the whole file is meant.
    False if there is none, or if it would attach nothing (docs/protocol.md 11.115)."""

    window_id: int
    path: str
    rows: tuple[tuple[int, int], ...] = ()

    def find_answer(self, windows: Windows) -> bool:
        workspace = windows.workspaces.get(self.window_id)
        found = windows.claude.connections_in(workspace) if workspace is not None else []
        if workspace is None or not found:
            return False
        return found[-1].mention_lines(workspace.context.path_maps.to_remote(self.path), self.rows)


@dataclass(frozen=True)
class FileStamps(Question["Mapping[str, Stamp]"]):
    """When the files at these paths were written; without files that do not answer soon."""

    paths: Sequence[str]

    def find_answer(self, windows: Windows) -> Awaitable[Mapping[str, Stamp]]:
        return windows.stamps.read_stamps(self.paths)


@dataclass(frozen=True)
class FileUndoing(Question["tuple[str, Original | None]"]):
    """The user undoes an accepted edit; the answer is that of `file_content.put_back`."""

    path: str
    before: Original
    after: str | None

    async def find_answer(self, windows: Windows) -> tuple[str, Original | None]:
        work = partial(file_content.put_back, self.path, self.before, self.after)
        try:
            return await in_thread(work, PATIENCE)
        except asyncio.TimeoutError:
            return LATE, None
