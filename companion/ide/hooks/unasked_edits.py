"""Edits that a CLI made without asking, noticed at its hooks: a file is read before and after each
tool that may write it, so what is shown is what happened on disk.

The companion's loop owns it. Disks are read in threads, each for PATIENCE at most.
"""

from __future__ import annotations

import asyncio
import ntpath
import os
import posixpath
import time
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain, islice
from typing import Any, Callable, Iterable, Mapping, Sequence, TypeVar

from ...base.background import in_thread
from ...base.file_content import Original, file_stamp, of_bytes, read_original, unix_line_ends
from ...base.log import logger
from ...base.path_maps import is_of_windows
from ..clis import CliSession
from ..context import ContextStore
from ..editor import UnaskedEdit
from ..extension_forms import EDITS, Moment
from ..hook_events import HookEvent
from ..live_clis import LiveCli
from ..saved_state import SavedSentence
from ..session import Session
from . import git_files
from .command_changes import CommandChanges
from .edit_makers import EditMakers
from .git_files import GitTree
from .hook_answers import MAX_CONTEXT, NOTHING, HookAnswer, takes_context

# Seconds for the disk at each hook.
PATIENCE = 2.5
# Files that are compared before and after a tool, and bytes of all of them.
MAX_FILES, MAX_BYTES = 200, 16 * 1024 * 1024
# Bytes kept for all tools that run, and what a file of a work tree counts as.
MAX_HELD, TREE_FILE = 64 * 1024 * 1024, 400
# Sessions of CLIs that are known, tools of all sessions that run at a time, and sentences that wait
# for a CLI.
MAX_SESSIONS, MAX_TOOLS, MAX_SENTENCES = 64, 32, 200
ASKED_FOR = "Sublime Text shows each edit before it is made."
NOT_KNOWN = "The file before the edit is not known."
NOT_READ = Original("", exists=True, note=NOT_KNOWN)
# For the model.
UNDONE = "The user has undone your edit of {}. Do not make it again unless the user asks for it."
CHANGED = "The user has taken back a part of your edit of {}. Read the file before you edit it."

K = TypeVar("K")
T = TypeVar("T")


@dataclass
class _Turn:
    """`asked` are the questions that the user was asked, each a file as `_asked_file` names it and
    the hash of what the edit makes of it, None if the CLI has not told it. `before` are files
    by path as they were before each tool that runs, by what the tool works on; `trees` the work
    trees of git before commands. `paths` are the files that tools were to write, the newest
    last."""

    prompt: str = ""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    is_over: bool = False
    asked: dict[tuple[str, int | None], None] = field(default_factory=dict)
    before: dict[str, dict[str, Original]] = field(default_factory=dict)
    trees: dict[str, GitTree] = field(default_factory=dict)
    paths: dict[str, None] = field(default_factory=dict)

    def is_done_with(self, subject: str) -> bool:
        """Whether nothing is kept for the tool."""
        return subject not in self.before and subject not in self.trees

    def size_of_tool(self, subject: str) -> int:
        """The bytes that are kept for the tool, about."""
        files, tree = self.before.get(subject, {}).values(), self.trees.get(subject)
        found = sum(len(file.text) + len(file.data or b"") for file in files)
        return found + (TREE_FILE * (len(tree.stamps) + len(tree.others)) if tree else 0)

    def forget_tool(self, subject: str) -> None:
        self.before.pop(subject, None)
        self.trees.pop(subject, None)


class UnaskedEdits:
    """A listener of the window's HookDesk. `context` knows the open files. `show` gets each edit.
    `offers_diffs` says whether CLIs can show their edits in the editor. `on_change` is called
    whenever something has changed that must be saved.

    If it `shows`, edits are shown after they were made; if it `asks`, a CLI that is connected and
    can ask does so before each of them."""

    def __init__(
        self,
        context: ContextStore,
        show: Callable[[UnaskedEdit], None],
        offers_diffs: Callable[[], bool],
        on_change: Callable[[], None],
    ) -> None:
        self._context = context
        self._show = show
        self._offers_diffs = offers_diffs
        self._on_change = on_change
        self.makers = EditMakers(on_change)
        self._command_changes = CommandChanges()
        self.shows, self.asks = True, False
        # Oldest first.
        self._turns: OrderedDict[CliSession, _Turn] = OrderedDict()
        self._to_tell: list[SavedSentence] = []
        # Of each tool that runs, the session, the turn's id, and the subject.
        self._running: list[tuple[CliSession, str, str]] = []
        # By path, the digest of the newest text that was shown.
        self._shown: OrderedDict[str, str | None] = OrderedDict()
        # How often files are being read now, and what is shown meanwhile: path, before and after.
        self._readings = 0
        self._moved: list[tuple[str, Original, Original]] = []

    async def answer_hook(self, event: HookEvent, session: Session | None) -> HookAnswer:
        self.makers.confirm_session(event.cli_session)
        turn = self._current_turn(event)
        answer = NOTHING
        if event.moment is Moment.ASKS and event.kind in EDITS:
            _add_newest(turn.asked, (_asked_file(event), _text_hash(event)), None)
        elif event.moment is Moment.TOOL_BEGINS and event.kind is not None:
            _forget_refused(event, turn)
            if self.shows:
                self._remember_files(event, turn, await self._read_before_tool(event, turn))
            answer = self._asking_answer(event, session)
        elif event.moment is Moment.TOOL_ENDED and event.kind is not None:
            # Before anything is waited for: the CLI may ask about its next edit meanwhile.
            is_unasked = event.kind not in EDITS or _was_unasked(event, turn)
            if self.shows:
                await self._compare_files(event, turn, is_unasked)
        elif event.moment is Moment.ENDED:
            self._forget_session(event.cli_session)
        return answer.with_more(self._telling_answer(event))

    def taken_back(self, turn: str, client: str, path: str, is_whole: bool) -> None:
        """The user has undone an edit, or a part of it: its CLI tells the model so, as soon as it
        can."""
        sentence = (UNDONE if is_whole else CHANGED).format(self._context.path_maps.to_remote(path))
        self._keep_sentences([*self._to_tell, SavedSentence(turn, client, sentence)])

    def saved_sentences(self) -> tuple[SavedSentence, ...]:
        """What models are still to be told."""
        return tuple(self._to_tell)

    def adopt_sentences(self, saved: Iterable[SavedSentence]) -> None:
        """Take what was to be told before a restart."""
        self._keep_sentences([*saved, *self._to_tell])

    def forget_clis(self, ended: Iterable[LiveCli]) -> None:
        """Forget the turns of CLIs that were killed, for no hook said so."""
        for each in ended:
            self._forget_session(each.cli_session)

    def _current_turn(self, event: HookEvent) -> _Turn:
        """The turn in which the CLI is. Qwen Code says an empty prompt before each request to the
        model, so that begins none."""
        key = event.cli_session
        turn = self._turns.get(key)
        begins = event.moment is Moment.PROMPTED and (event.prompt or (turn and turn.is_over))
        if turn is None or begins:
            turn = self._turns[key] = _Turn(event.prompt)
        elif event.moment is Moment.PROMPTED:
            turn.asked.clear()
        turn.is_over = event.moment is Moment.ANSWERED
        if len(self._turns) > MAX_SESSIONS:
            self._turns.popitem(last=False)
        return turn

    def _forget_session(self, key: CliSession) -> None:
        """The session has ended: what it was to be told goes to the next one of its CLI."""
        self._turns.pop(key, None)
        self.makers.forget_session(key)

    def _asking_answer(self, event: HookEvent, session: Session | None) -> HookAnswer:
        """A CLI without a connection would ask in its terminal alone, and for ever if nobody reads
        that (docs/protocol.md 9)."""
        is_connected = session is not None and session.stream is not None
        asks = self.asks and event.kind in EDITS and is_connected and self._offers_diffs()
        return HookAnswer(asks=True, message=ASKED_FOR) if asks else NOTHING

    def _telling_answer(self, event: HookEvent) -> HookAnswer:
        """What the user took back, for the model."""
        found = [sentence for sentence in self._to_tell if self._is_for(event, sentence)]
        if not found or not takes_context(event):
            return NOTHING
        sizes = accumulate(len(sentence.text) + 1 for sentence in found)
        # The others go along with the next prompt.
        found = found[: max(1, sum(size <= MAX_CONTEXT for size in sizes))]
        self._keep_sentences([sentence for sentence in self._to_tell if sentence not in found])
        text = "\n".join(dict.fromkeys(sentence.text for sentence in found))
        return HookAnswer(context=text, settle=(partial(self._settle_sentences, found),))

    def _settle_sentences(self, found: list[SavedSentence], went_out: bool) -> None:
        if not went_out:
            self._keep_sentences([*found, *self._to_tell])

    def _keep_sentences(self, to_tell: list[SavedSentence]) -> None:
        if len(to_tell) > MAX_SENTENCES:
            logger.info("no CLI takes what was undone: the oldest of that is not told any more")
        self._to_tell = to_tell[-MAX_SENTENCES:]
        self._on_change()

    def _is_for(self, event: HookEvent, sentence: SavedSentence) -> bool:
        session = self.makers.cli_session_of(sentence.turn)
        its_kind = sentence.client == event.cli.name
        return session == event.cli_session if session is not None else its_kind

    def _remember_files(self, event: HookEvent, turn: _Turn, before: dict[str, Original]) -> None:
        """Keep what was before a tool that runs. Of a tool whose end is never told, as after a
        refused question, that is dropped when many others have run."""
        turn.before.pop(event.subject, None)
        turn.before[event.subject] = before
        newest = event.cli_session, turn.id, event.subject
        kept: list[tuple[CliSession, str, str]] = []
        held = 0
        # The newest first, so that the oldest are dropped.
        for tool in [newest, *(tool for tool in reversed(self._running) if tool != newest)]:
            key, id, subject = tool
            other = self._turns.get(key)
            if other is None or other.id != id or other.is_done_with(subject):
                continue
            held += other.size_of_tool(subject)
            if kept and (len(kept) >= MAX_TOOLS or held > MAX_HELD):
                other.forget_tool(subject)
                logger.info("many tools have not ended: what the oldest changes is not shown")
            else:
                kept.append(tool)
        self._running = kept[::-1]

    async def _read_before_tool(self, event: HookEvent, turn: _Turn) -> dict[str, Original]:
        """The files that the tool may write; empty if the disk does not answer in time."""
        if event.kind in EDITS:
            paths: Sequence[str] = (self._local_path(event),)
            _add_newest(turn.paths, paths[0], None)
        else:
            written = (path for path in reversed(turn.paths) if path not in self._context.paths())
            paths = list(islice(chain(self._context.paths(), written), MAX_FILES))
            paths += await self._dirty_files(event, turn)
        return await self._read_files(paths)

    async def _dirty_files(self, event: HookEvent, turn: _Turn) -> list[str]:
        """The files of the command's work tree that only the disk knows."""
        tree = await self._command_changes.before_command(
            self._context.path_maps.to_local(event.folder)
        )
        turn.trees.pop(event.subject, None)
        if tree is None:
            return []
        turn.trees[event.subject] = tree
        return git_files.dirty_files(tree)

    async def _compare_files(self, event: HookEvent, turn: _Turn, is_unasked: bool) -> None:
        """Show what the tool did."""
        before, tree = turn.before.get(event.subject, {}), turn.trees.pop(event.subject, None)
        if tree is not None:
            folder = self._context.path_maps.to_local(event.folder)
            before = {**await self._command_changes.changed_files(folder, tree), **before}
        if not is_unasked:
            turn.before.pop(event.subject, None)
            return
        paths = before or ([self._local_path(event)] if event.kind in EDITS else [])
        after = await self._read_files(paths)
        turn.before.pop(event.subject, None)
        for path, now in after.items():
            known = before.get(path)
            is_unknown = known is None or not _files_differ(known, now)
            if is_unknown and self._shown.get(path) == now.known_digest:
                # A command that ran meanwhile was compared first.
                continue
            then = _file_before_edit(event, known, now, self._shown.get(path))
            if now.exists and _files_differ(then, now):
                client, at = event.cli.name, time.time()
                # Its session may have ended while the files were read.
                if event.cli_session in self._turns:
                    self.makers.note_edit(turn.id, event)
                self._show(UnaskedEdit(path, then, now, client, turn.id, turn.prompt, at))
                self._move_on(path, then, now)

    def _move_on(self, path: str, before: Original, after: Original) -> None:
        """An edit is shown: for tools that run meanwhile, it was there before them. Several CLIs
        may work at a time, and a command is compared by all files."""
        self._shown[path] = after.known_digest
        if len(self._shown) > MAX_FILES:
            self._shown.popitem(last=False)
        for turn in self._turns.values():
            for files in turn.before.values():
                _replace_original(files, path, before, after)
            for subject in turn.trees:
                # Git would have it as it was before the edit.
                turn.before.setdefault(subject, {}).setdefault(path, after)
        if self._readings:
            self._moved.append((path, before, after))

    async def _read_files(self, paths: Iterable[str]) -> dict[str, Original]:
        """The files; empty if the disk does not answer in time. What is shown meanwhile counts as
        read: it may have been written after the disk was asked."""
        begun = len(self._moved)
        self._readings += 1
        try:
            files = await _read_in_time(paths)
        finally:
            self._readings -= 1
        for moved in self._moved[begun:]:
            _replace_original(files, *moved)
        if not self._readings:
            self._moved = []
        return files

    def _local_path(self, event: HookEvent) -> str:
        """The editor's path of the file that the tool writes; a CLI's model may write a relative
        one."""
        return self._context.path_maps.to_local(_whole_path(event))


async def _read_in_time(paths: Iterable[str]) -> dict[str, Original]:
    try:
        return await in_thread(partial(_read_all, list(paths), MAX_BYTES), PATIENCE)
    except asyncio.TimeoutError:
        return {}


def _read_all(paths: Iterable[str], room: int) -> dict[str, Original]:
    """The files, as many as have at most `room` bytes together."""
    found = {}
    for path in paths:
        size = (file_stamp(path) or (0, 0))[1]
        if size <= room:
            room -= size
            found[path] = read_original(path)
    return found


def _file_before_edit(
    event: HookEvent, known: Original | None, now: Original, shown: str | None
) -> Original:
    """The file before the edit; `shown` is the digest of the newest text that was shown. A hook
    that the CLI no longer waited for may have read the file after the edit. What is known from a
    tool whose end was not heard is older than what was shown since."""
    told = _claimed_original(event, now)
    goes_on = not told.note and told.known_digest == shown
    if known is not None and _files_differ(known, now) and not goes_on:
        return known
    return told if known is None or not told.note else known


def _claimed_original(event: HookEvent, now: Original) -> Original:
    """The file before the edit as the CLI tells it: only where the disk now has what the CLI says
    that it wrote, and where that text has all that the file has."""
    told = _told_texts(event)
    if told is None or now.note or set(now.traits) - {"no final line end"}:
        return NOT_READ
    before, after = told
    if unix_line_ends(after) != now.text:
        return NOT_READ
    if before is None:
        return Original("", exists=False)
    return of_bytes(before.encode("utf-8", "surrogatepass"))


def _told_texts(event: HookEvent) -> tuple[str | None, str] | None:
    """The file before the edit, None for a new one, and after it, as the CLI tells them."""
    response, told = _hook_response(event), event.arguments or {}
    shown = response.get("returnDisplay")
    if isinstance(shown, dict):
        before, after = shown.get("originalContent"), shown.get("newContent")
        if shown.get("isNewFile") is True and isinstance(before, str):
            before = None
    else:
        # Claude Code, whose texts have unix line ends.
        before, after = response.get("originalFile", False), response.get("content")
        if after is None and isinstance(before, str):
            after = _replaced_text(before, told)
    if isinstance(after, str) and (before is None or isinstance(before, str)):
        return before, after
    return None


def _replaced_text(before: str, told: Mapping[str, Any]) -> str | None:
    """What the tool's input makes of the text; None if it does not say."""
    old, new = told.get("old_string"), told.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        return None
    return before.replace(old, new, -1 if told.get("replace_all") is True else 1)


def _replace_original(
    files: dict[str, Original], path: str, before: Original, after: Original
) -> None:
    if path in files and not _files_differ(files[path], before):
        files[path] = after


def _files_differ(before: Original, after: Original) -> bool:
    return (before.exists, before.known_digest) != (after.exists, after.known_digest)


def _hook_response(event: HookEvent) -> Mapping[str, Any]:
    return event.response if isinstance(event.response, dict) else {}


def _was_unasked(event: HookEvent, turn: _Turn) -> bool:
    """Whether the edit was made, and the user was not asked. `modified_by_user` is there whenever
    a diff of it was open in the editor, so only with it the text may be another than the question
    was about (docs/protocol.md 9.65)."""
    was_asked = _settle_question(event, turn)
    was_asked = was_asked or (event.arguments or {}).get("modified_by_user") is True
    # The same of Claude Code.
    was_asked = was_asked or _hook_response(event).get("userModified") is True
    return not was_asked and not event.has_failed


def _settle_question(event: HookEvent, turn: _Turn) -> bool:
    """Whether the user was asked about this text. A hook that the CLI no longer waited for may come
    after the question about the next edit of the file."""
    name, text = _asked_file(event), _text_hash(event)
    for question in turn.asked:
        if question[0] == name and (text == question[1] or None in (text, question[1])):
            del turn.asked[question]
            return True
    return False


def _forget_refused(event: HookEvent, turn: _Turn) -> None:
    """What was asked about an earlier edit of the file, and has no text by which it is known, was
    refused: no hook says so, and the turn may go on. A CLI that a hook can make ask does so after
    that hook."""
    form = event.cli.extension
    if form is not None and form.can_ask and event.kind in EDITS:
        turn.asked.pop((_asked_file(event), None), None)


def _text_hash(event: HookEvent) -> int | None:
    return None if event.new_text is None else hash(event.new_text)


def _asked_file(event: HookEvent) -> str:
    """What the file is called for its question: its path, or only its name where a CLI may write
    the path in two ways, and asks about one edit at a time."""
    form = event.cli.extension
    if form is not None and form.asks_by_path:
        return _whole_path(event)
    return event.subject.replace("\\", "/").rpartition("/")[2]


def _whole_path(event: HookEvent) -> str:
    """The CLI's path of the file that its tool writes."""
    paths = ntpath if is_of_windows(event.folder or os.sep) else posixpath
    whole: str = paths.normpath(paths.join(event.folder, event.subject))
    return whole


def _add_newest(known: dict[K, T], key: K, value: T) -> None:
    """Add it as the newest. Of very many the oldest is forgotten."""
    known.pop(key, None)
    known[key] = value
    if len(known) > MAX_FILES:
        del known[next(iter(known))]
        logger.info("a CLI writes many files in one turn: not all are looked at")
