"""One editor window's endpoint: its port, token, file, context and sessions. Knows no view.

The loop owns all of it. Every window has its own, apart from all others.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from functools import partial
from typing import Callable, Iterable

from ..base.path_maps import PathMaps
from .accepted_texts import AcceptedTexts
from .clis import Cli
from .connected_clis import CliFinder
from .context import ContextStore
from .context_updates import ContextUpdates
from .decisions import DECIDED, OPEN, TOLD, Book, Entry, UnwrittenText
from .delivery import Delivery
from .diffs import Diffs
from .discovery import Advertisement
from .disk_check import DiskCheck
from .editor import Editor
from .editor_tools import EditorTools
from .hooks.diagnostics_after_edits import DiagnosticsAfterEdits
from .hooks.hook_desk import HookDesk
from .hooks.hook_folders import HookFolders
from .hooks.unasked_edits import UnaskedEdits
from .hooks.words_for_model import WordsForModel
from .mcp import DEFAULT_VERSION
from .reach import LOOPBACK, Reach
from .restored_diffs import RestoredDiffs
from .saved_state import SavedSession, SavedWorkspace
from .session import Session, Stream
from .sessions import Sessions
from .status import ConnectedCli, ConnectedClient, Status
from .transport import Endpoint
from .window_server import WindowServer
from .window_settings import DEFAULTS, WindowSettings
from .window_trees import TreeFolders


class Workspace:
    """What the CLIs of one window share. `folders` are absolute paths.

    Its parts: `sessions`; `context`, the files of the user, and `updates`, which sends it; `book`,
    the proposals and decisions; `diffs`, the tools and what the user does with open diffs;
    `restored_diffs`, those from before a restart; `delivery`, which passes decisions to CLIs. This
    class puts them together. `on_change` is called whenever something has changed that must be
    saved. `asking` is that of `Delivery`. `admits_claude` says whether Claude Code may connect.

    `connected_before` gives, by the id of the kind of CLI, when one last connected
    to the earlier one, in seconds since the epoch.
    """

    # Why there is no server, as a sentence; empty if there is one.
    problem = ""

    def __init__(
        self,
        window_id: int,
        folders: tuple[str, ...],
        editor: Editor,
        settings: WindowSettings = DEFAULTS,
        on_change: Callable[[], None] = lambda: None,
        asking: Callable[[str], set[str]] = lambda path: set(),
        reach: Reach = LOOPBACK,
    ) -> None:
        self.window_id = window_id
        self._editor, self._on_change = editor, on_change
        token = secrets.token_urlsafe(32)
        told = Advertisement(0, 0, token, folders, settings.path_maps)
        self.server = WindowServer(window_id, told, editor, reach, self._make_endpoint, on_change)
        self.connected_before: dict[str, float] = {}
        # The sessions at the end, for the next companion; None while the window is served.
        self._sessions_at_end: tuple[Session, ...] | None = None
        self.context, self.book = ContextStore(), (book := Book())
        self.context.folders, self.context.sharing = folders, settings.sharing
        self.admits_claude = settings.claude_code
        self.sessions = sessions = Sessions(
            self._session_ended,
            self._session_absent,
            lambda number: self.delivery.confirm_delivery(number),
            lambda session, unread: self.delivery.stream_lost(session, unread),
        )
        self.updates = ContextUpdates(
            self.context, sessions, settings.is_trusted, lambda: self.advertisement.port
        )
        self._disk = disk = DiskCheck(
            book, self._give_back, editor.repeat_message, lambda: self.delivery.follow_book()
        )
        self.delivery = Delivery(book, sessions, editor, disk.watch_text, on_change, asking)
        self.accepted = AcceptedTexts(book, sessions, self.delivery.follow_book)
        self.hooks = HookDesk(
            sessions, lambda: self.advertisement.port, partial(_proposing_sessions, self)
        )
        self._clis = CliFinder(window_id, sessions, self.hooks, book)
        self.words = WordsForModel(window_id, editor, self.hooks, on_change)
        self.diffs = Diffs(window_id, editor, book, sessions, self.delivery, disk, on_change)
        self.diffs.offers_diffs = settings.diffs
        self.diffs.decisions.subscribe(lambda decision: self.hooks.live.note_decision(*decision))
        self.context.path_maps = self.diffs.path_maps = self.words.path_maps = settings.path_maps
        self.unasked, self.edit_diagnostics = _hook_listeners(self, editor, settings)
        self.restored_diffs = RestoredDiffs(window_id, editor, book, sessions, self.diffs, disk)

    def restore(self, saved: SavedWorkspace) -> None:
        """Continue as the endpoint from before the restart, for CLIs that still know it: the same
        port if it is available, the same token, the same sessions. Call this before `run`."""
        self.server.adopt_address(saved.port, saved.token)
        self.words.adopt_words(saved.words)
        self.unasked.makers.adopt_turns(saved.turns)
        self.unasked.adopt_sentences(saved.sentences)
        numbers = self.adopt_entries(saved.proposals)
        event_ids = dict(zip(numbers, (entry.event_id for entry in saved.proposals)))
        self.delivery.restore_sessions(saved.sessions, event_ids)
        for session in sorted(saved.sessions, key=lambda each: each.since):
            self.connected_before[session.cli] = session.since

    def adopt_entries(self, entries: Iterable[Entry]) -> list[int]:
        """Take in the entries of another book; gives their numbers."""
        numbers = self.book.adopt_entries(entries)
        for number in numbers:
            if self.book[number].comes_back:
                self._disk.watch_text(number)
        return numbers

    def saved_workspace(self, now: float) -> SavedWorkspace:
        """`now` is in seconds since the epoch."""
        sessions = self._sessions_at_end
        if sessions is None:
            sessions = tuple(self.sessions)
        # The others do not come back as themselves.
        sessions = tuple(each for each in sessions if each.cli.keeps_edits)
        return SavedWorkspace(
            self.advertisement.folders,
            self.server.kept_port,
            self.advertisement.token,
            tuple(_saved_session(session, sessions) for session in sessions),
            tuple(_placed_entry(entry, sessions) for entry in self.book.entries()),
            now,
            self.window_id,
            self.words.saved_words(),
            self.unasked.makers.saved_turns(),
            self.unasked.saved_sentences(),
        )

    @property
    def advertisement(self) -> Advertisement:
        return self.server.advertisement

    @property
    def has_decisions(self) -> bool:
        """Whether there are decisions, or words about them, that are not finished yet."""
        return bool(
            self.book.numbers_in(DECIDED) or self.book.numbers_in(TOLD) or self.words.saved_words()
        )

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to save: it has never served and has taken over nothing."""
        return not self.server.kept_port and not self.has_decisions

    async def run(self, pid: int) -> None:
        """Serve until `close`; `pid` is the editor's process. Raises OSError."""
        await self.server.run(pid)

    def _make_endpoint(self, token: str, tell: Callable[[str], None]) -> Endpoint:
        tools = EditorTools(self.window_id, self._editor.code, self.context)
        parts = self.sessions, self.diffs, self.hooks, tools
        return Endpoint(token, *parts, self._stream_began, self.server.reach.address, tell)

    def close(self, reject: bool = True) -> None:
        """Stop serving. Diffs without a decision are rejected, and what the user typed into them
        comes back. With `reject` False the next companion takes over: then `delivery.hand_on` comes
        last."""
        if not reject:
            self._sessions_at_end = tuple(self.sessions)
        self.updates.stop()
        self.delivery.stop()
        self._disk.stop()
        self.hooks.stop()
        self.diffs.stop()
        if reject:
            self.diffs.reject_all()
        self.server.close(is_handed_over=not reject)

    def change_folders(self, folders: tuple[str, ...], trees: tuple[TreeFolders, ...] = ()) -> None:
        """The window has these folders from now on, and these work trees of them."""
        if self.context.set_folders(folders, trees):
            self.updates.trees_changed()
        if self.server.change_advertisement(folders=folders, trees=self.context.trees.folders):
            self.updates.tell_now()

    def map_paths(self, path_maps: PathMaps) -> None:
        """Use these path maps for the CLIs from now on."""
        self.context.path_maps = self.diffs.path_maps = self.words.path_maps = path_maps
        if self.server.change_advertisement(path_maps=path_maps):
            self.updates.tell_now()
            self._on_change()

    def status(self) -> Status:
        clients = tuple(
            ConnectedClient(each.id, each.cli.name, self.sessions.session_label(each))
            for each in self.sessions
            if each.stream is not None
        )
        labels = {client.session_id: client.label for client in clients}
        away = tuple(each.cli.name for each in self.sessions if self.sessions.is_absent(each))
        return Status(
            self.window_id,
            self.advertisement.port,
            self.advertisement.folders,
            self.server.publication.paths if self.server.publication is not None else (),
            len(clients),
            len(self.book.numbers_in(OPEN)),
            self.unwritten_texts(),
            clients,
            away=away,
            live=tuple(
                replace(
                    cli,
                    name=labels.get(cli.mcp_session, cli.name),
                    is_in_editor=bool(self.book.numbers_in(OPEN, cli.mcp_session)),
                )
                for cli in self.hooks.live.all()
            ),
            outdated=tuple(sorted(cli.name for cli in self.hooks.outdated)),
            clis=self.connected_clis(),
        )

    def connected_clis(self) -> tuple[ConnectedCli, ...]:
        """Its CLIs, as they are listed."""
        return self._clis.find_clis(self.advertisement.folders)

    def unwritten_texts(self) -> tuple[UnwrittenText, ...]:
        """The accepted texts that are not in their files."""
        return self.accepted.unwritten_texts(self._disk.missing)

    async def check_for_changes(self) -> None:
        """Call this from time to time. It checks that the discovery file exists and that accepted
        texts are on disk, and passes on decisions for which a proposal in another window had to
        end."""
        await self._disk.check_files()
        self.unasked.forget_clis(await self.hooks.forget_ended())
        await self.unasked.makers.forget_ended()
        await self.words.return_undeliverable()
        self.delivery.pass_on()
        self.updates.look_again()
        self.server.renew_files()

    async def _give_back(self, entry: Entry) -> None:
        await self._editor.return_text(self.window_id, entry.path, entry.text or "")

    def connect_cli(self, cli: Cli, client: str, folder: str) -> tuple[Session, Stream]:
        """A session for a CLI that has no sessions of its own, with the stream of what it is told.
        `client` is the name and version that it gave itself, `folder` as in `note_folder`."""
        session = self.sessions.open_session(DEFAULT_VERSION, client, cli)
        self.updates.note_folder(session, folder)
        stream = session.attach_stream(None)
        self._stream_began(session)
        return session, stream

    def disconnect_cli(self, session: Session, stream: Stream) -> None:
        """The connection of such a CLI is over. What it was not told, it will not be told."""
        self.sessions.end_session(session.id)
        self.sessions.detach_stream(session, stream)

    def _stream_began(self, session: Session) -> None:
        self.updates.greet_session(session)
        self.diffs.mark_orphaned(session.id, orphaned=False)
        if session.cli.keeps_edits:
            # A CLI that lost its connection comes back as another session (docs/protocol.md 1.11).
            self.sessions.end_absent(session.cli)
        self.delivery.pass_on()
        self._on_change()

    def _session_absent(self, session: Session) -> None:
        self.diffs.mark_orphaned(session.id, orphaned=True)
        self._on_change()
        later = [
            other
            for other in self.sessions
            if other.stream is not None
            and other.cli == session.cli
            and other.ordinal > session.newest_then
            and not other.is_named
        ]
        if later and not session.is_named and self.sessions.is_absent(session):
            # It did not come back to its stream; one of the other sessions may be its CLI.
            self.sessions.end_session(session.id)

    def _session_ended(self, session: Session) -> None:
        # At the end of the companion the next one takes over the session unchanged.
        if self._sessions_at_end is None:
            self._session_absent(session)
            self.delivery.session_ended(session)


def _placed_entry(entry: Entry, sessions: tuple[Session, ...]) -> Entry:
    """The entry with the ordinal that its `after_session` has among the saved sessions."""
    return entry._replace(after_session=_place_among(entry.after_session, sessions))


def _saved_session(session: Session, sessions: tuple[Session, ...]) -> SavedSession:
    newest = 0 if session.stream is not None else _place_among(session.newest_then, sessions)
    return replace(session.saved_session(), newest_then=newest)


def _place_among(ordinal: int, sessions: tuple[Session, ...]) -> int:
    return sum(session.ordinal <= ordinal for session in sessions)


def _proposing_sessions(workspace: Workspace, path: str) -> set[str]:
    """The ids of the sessions whose proposals for the CLI's path wait for the user."""
    book = workspace.book
    numbers = book.numbers_in(OPEN, path=workspace.diffs.local_path(path))
    return {book[number].session_id for number in numbers}


def _hook_listeners(
    workspace: Workspace, editor: Editor, settings: WindowSettings
) -> tuple[UnaskedEdits, DiagnosticsAfterEdits]:
    gather, context = partial(editor.gather_edit, workspace.window_id), workspace.context
    edits = UnaskedEdits(
        context, gather, lambda: workspace.diffs.offers_diffs, workspace._on_change
    )
    edits.shows, edits.asks = settings.shows_unasked, settings.asks_for_edits
    found = DiagnosticsAfterEdits(workspace.window_id, editor.edit_watch, context)
    found.is_on = settings.diagnostics_after_edits
    # The one that may wait comes last.
    workspace.hooks.listeners += [HookFolders(workspace.updates.note_folder), edits, found]
    return edits, found
