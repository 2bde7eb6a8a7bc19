"""One run: everything that happens in it, in the order that one seed decides."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from functools import partial
from random import Random
from typing import Any, Callable, Iterator, Tuple
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base import digest as digest_module
from GeminiCompanion.companion.base import private_files
from GeminiCompanion.companion.base.log import logger
from GeminiCompanion.companion.ide import diffs, system_processes, workspace
from GeminiCompanion.companion.ide.claude import lock_file
from GeminiCompanion.companion.ide.companion import Companion
from GeminiCompanion.companion.ide.events import EditTakenBack
from GeminiCompanion.companion.ide.hooks import open_questions
from GeminiCompanion.companion.ide.questions import UnwrittenTexts
from GeminiCompanion.companion.ide.silence import GRACE
from GeminiCompanion.companion.ui.chat.chat_view import CONVERSATION
from GeminiCompanion.companion.ui.review import hidden, large, open_diffs, pace
from GeminiCompanion.companion.ui.review.record import erase_stamp, is_diff, stored_comments
from GeminiCompanion.companion.ui.sublime_editor import SublimeEditor

from ...virtual_loop import Endless
from ...virtual_parts import VirtualParts
from ..adapter import text_of
from .chat import Chat
from .checks import Ledger, Proposal
from .cli import Cli
from .endpoint import Endpoint
from .hooks import PROCESS
from .lanes import Lane, lanes

# Its right view, what is known of it here, and its record.
Shown = Tuple[sublime.View, Proposal, Any]
# Code points from which a proposal is shown in parts, where a run has such.
LOW = 400
ROWS = 30
OLD = [f"row {number}\n" for number in range(ROWS)]
# Seconds in which all comes to rest.
REST = 12.0
# What can happen, and how often compared with the rest; a run has about the half of these groups.
ACTIONS: tuple[dict[str, int], ...] = (
    {"drop": 5, "hurry": 6},
    {"sheet": 2, "drop_in_sheet": 2, "type_in_sheet": 3, "decide_in_sheet": 1},
    {"type": 3},
    {"accept": 3, "reject": 1, "close": 1},
    {"terminal": 1},
    {"reject_with_note": 2, "comment": 2},
    {"prompt": 3, "edit": 3, "undo": 2, "end": 1},
    {"write": 2, "send": 1, "talk": 3, "stop": 1, "die": 1},
    {"reload": 1},
    {"hold_up": 2},
)
PROPOSE = {"propose": 3}


class _Log(logging.Handler):
    """An error with a traceback is a bug of the package."""

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        super().__init__(logging.ERROR)
        self._failed = failed

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and isinstance(record.exc_info[1], Exception):
            self._failed(record.exc_info[1])


class World:
    def __init__(self, seed: int, trace: bool = False) -> None:
        self.random = Random(seed)
        self.parts = VirtualParts(seed)
        self.ledger = Ledger(self)
        self.trace: list[str] | None = [] if trace else None
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.is_large = self.random.random() < 0.5
        # Nothing of one run reaches the next.
        before = sublime.active_window()
        sublime.run_command("new_window")
        before.run_command("close_window")
        self.window = sublime.active_window()
        self._marks = 0
        self._chat = Chat(self)
        # Of the agents: whether they die by themselves and ask, and the sessions they remember.
        self.is_acting, self.is_asking = True, False
        self.sessions: list[str] = []
        self._numbers = 0
        self._reloading = False
        self._editor: Lane = None  # type: ignore[assignment]
        self._clis: list[Cli] = []
        # The proposal about which the user is asked for a line.
        self._about: Proposal | None = None

    def next(self) -> int:
        """A number for what an agent says."""
        self._numbers += 1
        return self._numbers

    def note(self, text: str, *values: Any) -> None:
        if self.trace is not None:
            line = f"{self.parts.loop.now - 1000:9.4f}  {text.format(*values)}"
            self.trace.append(line.replace(self.folder, ""))

    # ----- the run

    def run(self) -> None:
        shutil.rmtree(os.path.join(sublime.cache_path(), "GeminiCompanion"), True)
        _forget()
        with self._installed():
            try:
                self.parts.loop.run_until_complete(self._main())
            except Endless as error:
                self.ledger.violate(f"no end: {error}")
            finally:
                self._close_all()
        for failure in self.parts.loop.errors:
            self.ledger.violate(f"failed: {failure}")
        shutil.rmtree(self.folder, True)

    @contextmanager
    def _installed(self) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(self.parts.installed())
            failed = partial(self._failed, "a callback")
            log = _Log(partial(self._failed, "a part"))
            stack.callback(logger.removeHandler, log)
            logger.addHandler(log)
            self._editor = stack.enter_context(lanes(self.parts, failed))
            for patch in self._patches():
                stack.enter_context(patch)
            yield

    def _patches(self) -> Iterator[Any]:
        yield mock.patch.object(workspace, "Endpoint", Endpoint)
        # How Claude Code finds the editor is tested elsewhere.
        yield mock.patch.object(lock_file, "lock_folders", list)
        yield from self._chat.patches()
        # The clock of the machine would refuse other presses each time.
        yield mock.patch.object(pace, "MOMENT", 0)
        yield mock.patch.object(sublime, "status_message", self.ledger.say)
        yield mock.patch.object(sublime.Window, "show_quick_panel", self._ask)
        yield mock.patch.object(sublime.Window, "show_input_panel", self._ask_for_line)
        yield mock.patch.object(sublime, "set_clipboard", self.ledger.hooks.copied)
        yield from self._patches_of_hooks()
        if self.is_large:
            yield mock.patch.object(large, "LARGE", LOW)
            yield mock.patch.object(diffs, "LARGE", LOW)
            yield mock.patch.multiple(digest_module, CONTEXT=1)

    def _patches_of_hooks(self) -> Iterator[Any]:
        """The system knows the CLIs' processes; what goes to and fro is seen."""
        gather, post, runs = SublimeEditor.gather_edit, Companion.post, private_files.is_running

        def gathered(editor: SublimeEditor, window_id: int, edit: Any) -> None:
            self.ledger.hooks.listed(edit.path, edit.after.text)
            gather(editor, window_id, edit)

        def posted(companion: Companion, event: Any) -> None:
            if isinstance(event, EditTakenBack):
                self.ledger.hooks.taken_back(event.path)
            post(companion, event)

        def is_running(pid: int) -> bool:
            return runs(pid) if pid < PROCESS else any(self._with(pid))

        def ports_to(pid: int, port: int) -> frozenset[int]:
            return frozenset(cli.extension.peer for cli in self._with(pid))

        yield mock.patch.object(SublimeEditor, "gather_edit", gathered)
        yield mock.patch.object(Companion, "post", posted)
        yield mock.patch.object(private_files, "is_running", is_running)
        yield mock.patch.object(system_processes, "ports_to", ports_to)
        yield mock.patch.object(system_processes, "of_hook", lambda pid: pid)
        yield mock.patch.object(open_questions, "groups_of_commands", lambda pid: frozenset())

    def _with(self, process: int) -> list[Cli]:
        return [cli for cli in self._alive if cli.extension.process == process]

    @property
    def _alive(self) -> list[Cli]:
        return [cli for cli in self._clis if not cli.is_dead]

    def _failed(self, what: str, error: Exception) -> None:
        self.ledger.violate(f"{what} failed: {error!r}")

    async def _main(self) -> None:
        self.press(plugin.plugin_loaded)
        await self._until(lambda: plugin._host.environment_of(self.window))
        self.press(self._chat.open)
        port = plugin._host.environment_of(self.window)["GEMINI_CLI_IDE_SERVER_PORT"]
        for number in range(1, 1 + self.random.choice((1, 2, 3, 3))):
            self._clis.append(Cli(self, number, int(port), self._heard))
            await self._clis[-1].connect()
        actions = self._choose_actions()
        for _ in range(self.random.choice((30, 80))):
            await asyncio.sleep(self.random.choice((0.0, 0.0, 0.002, 0.05, 0.5)))
            action = self.random.choice(actions)
            self.press(partial(getattr(self, "_" + action)))
        self.is_acting = False
        await asyncio.sleep(REST)
        for cli in self._alive:
            await cli.extension.prompt(is_last=True)
        self.press(self._chat.look)
        await self._until(lambda: self._chat.is_open)
        # The user finds them in a list.
        unwritten = plugin._host.running.companion.ask(UnwrittenTexts(self.window.id()))
        await self._until(lambda: unwritten.is_there)
        self._check([entry.text for entry in unwritten.result()])
        if any(map(self.ledger.is_expected_back, self.ledger.unheard(self._undecided()))):
            await asyncio.sleep(GRACE)
        self.ledger.check_away(self._undecided())
        self.press(plugin.plugin_unloaded)
        for cli in self._clis:
            cli.end()
        await asyncio.sleep(REST)

    def _choose_actions(self) -> list[str]:
        """Some runs have much of the same, and little that disturbs it."""
        chosen = [PROPOSE, *(action for action in ACTIONS if self.random.random() < 0.5)]
        return [name for group in chosen for name, count in group.items() for _ in range(count)]

    def press(self, work: Callable[[], Any]) -> None:
        """What the user or the editor does on the UI thread."""
        try:
            self._editor.run(work)
        except Exception as error:
            self._failed("an action", error)

    async def _until(self, condition: Callable[[], Any]) -> None:
        while not condition():
            await asyncio.sleep(0.01)

    def _check(self, unwritten: list[str]) -> None:
        views = self.window.views()
        places = [text_of(view) for view in views if view != self._chat.view]
        found = [view for view, _record in open_diffs.undecided_diffs(self.window)]
        # Some wait without tabs.
        places += [text_of(view) for view in found if view not in views]
        self.ledger.hooks.check(
            places, [comment.text for view in found for comment in stored_comments(view)]
        )
        self.ledger.check(places + self._files() + unwritten, self._undecided(), self._chat)

    def _undecided(self) -> set[tuple[str, str]]:
        """The sessions and paths of the proposals that wait for the user."""
        found = open_diffs.undecided_diffs(self.window)
        return {(record.session_id, record.path) for _view, record in found}

    def _files(self) -> list[str]:
        """The texts of all files for which there was a proposal."""
        found = []
        for path in dict.fromkeys(path for _session, path in self.ledger.proposals):
            with open(path, encoding="utf-8") as file:
                found.append(file.read())
        return found

    def _close_all(self) -> None:
        for view in self.window.views():
            view.set_scratch(True)
            view.settings().erase(CONVERSATION)
            view.close()
        for view, record in list(open_diffs.undecided_diffs(self.window)):
            if record.is_unopened:
                erase_stamp(view)
                hidden.destroy_view(self.window, record.id)
        store = plugin._host.unopened
        for id in list(store.kept) if store is not None else ():
            store.drop(id)

    def _heard(self, cli: Cli, path: str, text: str | None, how: str) -> None:
        """The CLI writes what was accepted, after a while."""
        self.ledger.heard(cli, path, text, how)
        proposal = self.ledger.proposals.get((cli.session, path))
        if text is not None and proposal is not None:
            self.parts.loop.create_task(self._accepted(proposal, text, how))

    async def _accepted(self, proposal: Proposal, text: str, how: str) -> None:
        await asyncio.sleep(self.parts.delay())
        # A text that was accepted in the terminal may be the CLI's own.
        is_modified = how == "notified" or bool(text)
        if not proposal.cli.is_dead:
            await proposal.cli.extension.writes(proposal, text or proposal.text, is_modified)

    # ----- what can happen

    def mark(self) -> str:
        self._marks += 1
        return f"mark {self._marks}."

    def _propose(self) -> None:
        """For a file of its own, or for one for which another CLI has proposed something."""
        cli = self.random.choice(self._alive)
        known = self.ledger.proposals
        paths = list(dict.fromkeys(path for _session, path in known))
        shared = [path for path in paths if (cli.session, path) not in known]
        if shared and self.random.random() < 0.6:
            path = self.random.choice(shared)
            self.ledger.counts["same file"] += 1
        else:
            path = os.path.join(self.folder, f"p{len(paths)}.py")
            _write(path, "".join(OLD))
        new, marks = list(OLD), []
        for at in sorted(self.random.sample(range(0, ROWS, 5), self.random.choice((1, 2, 3)))):
            marks.append(self.mark())
            new[at] = f"{marks[-1]}\n"
        proposal = known[cli.session, path] = Proposal(cli, path, "".join(new), marks)
        self.parts.loop.create_task(self._proposed(proposal))

    async def _proposed(self, proposal: Proposal) -> None:
        self.note("proposes {}", proposal.name)
        cli, found = proposal.cli, None
        await cli.extension.begins(proposal)
        while found is None and not cli.is_dead and not proposal.heard:
            proposal.times_asked += 1
            found = await cli.tool("openDiff", filePath=proposal.path, newContent=proposal.text)
            await asyncio.sleep(0.1)
        proposal.asks = asyncio.ensure_future(cli.extension.asks(proposal))

    def _shown(self) -> Shown | None:
        """A proposal that is under review, with what is known of its changes."""
        known = self.ledger.proposals
        found = [
            diff
            for diff in open_diffs.undecided_diffs(self.window)
            if is_diff(diff[0]) and (diff[1].session_id, diff[1].path) in known
        ]
        if not found or plugin._host.running is None:
            return None
        view, record = self.random.choice(found)
        return view, known[record.session_id, record.path], record

    def _drop(self) -> None:
        self._drop_one(
            self._shown(), lambda id, key: self._command("drop_change", id=id, change=key)
        )

    def _hurry(self) -> None:
        """Changes are dropped, and what is left is accepted, faster than it can be computed."""
        shown = self._shown()
        for _ in range(2):
            self._drop_one(shown, lambda id, key: self._command("drop_change", id=id, change=key))
        self._decide(shown, "accept", "accept_diff")

    def _drop_one(self, shown: Shown | None, press: Callable[[str, str], None]) -> None:
        """Each change is dropped once: the second press would take that back."""
        running = plugin._host.running
        review = (
            running.diffs.reviews.review_of(shown[0]) if shown is not None and running else None
        )
        comparison = review.comparison if review is not None else None
        if shown is None or comparison is None or not comparison.keys:
            return
        _view, proposal, record = shown
        number = self.random.randrange(len(comparison.keys))
        change = comparison.changes[number]
        rows = comparison.new.rows[change.new_start : change.new_end]
        mark = next((row.strip() for row in rows if row.startswith("mark")), "")
        if mark and mark not in [each.mark for each in proposal.presses]:
            self.ledger.press(proposal, "drop", mark)
            press(record.id, comparison.keys[number])

    def _type(self) -> None:
        shown = self._shown()
        if shown is not None and not shown[0].is_read_only():
            view, proposal, _record = shown
            words = f"typed {self.mark()}"
            self.ledger.press(proposal, "type", words)
            proposal.typed.append(words)
            view.run_command("append", {"characters": words + "\n"})

    def _accept(self) -> None:
        self._decide(self._shown(), "accept", "accept_diff")

    def _reject(self) -> None:
        self._decide(self._shown(), "reject", "reject_diff")

    def _decide(self, shown: Shown | None, kind: str, command: str) -> None:
        """At times the CLI has died right before."""
        if shown is not None:
            if self.random.random() < 0.2:
                self._end_cli(shown[1].cli)
            self.ledger.press(shown[1], kind)
            self._command(command, id=shown[2].id)

    def _close(self) -> None:
        shown = self._shown()
        if shown is not None:
            self.ledger.press(shown[1], "close")
            shown[0].close()

    def _terminal(self) -> None:
        shown = self._shown()
        if shown is not None:
            self.ledger.press(shown[1], "terminal")
            self.parts.loop.create_task(self._decided_there(shown[1]))

    async def _decided_there(self, proposal: Proposal) -> None:
        content = await proposal.cli.tool(
            "closeDiff", filePath=proposal.path, suppressNotification=True
        )
        if content:
            found: Any = sublime.decode_value(content[0]["text"])
            if "content" in found or not proposal.heard:
                text = found.get("content", "")
                self._heard(proposal.cli, proposal.path, text, "closeDiff")

    # ----- what the user says to a CLI, and what the CLIs do without asking

    def _reject_with_note(self) -> None:
        """At times while the CLI writes several files, whose tools end at the same time."""
        shown = self._shown()
        if shown is not None and self.random.random() < 0.5:
            shown[1].cli.extension.edit(is_all=True)
        self._ask_about("reject_diff_with_note", shown)

    def _comment(self) -> None:
        self._ask_about("comment_on_diff", self._shown())

    def _ask_about(self, command: str, shown: Shown | None) -> None:
        if shown is not None:
            self._about = shown[1]
            self._command(command, id=shown[2].id)
            self._about = None

    def _ask_for_line(self, caption: str, text: str, give: Callable[[str], None], *_: Any) -> None:
        """The user writes a line after a moment, unless the panel is gone by then."""
        running, proposal = plugin._host.running, self._about
        assert proposal is not None
        words = f"note {self.mark()}"

        def answer() -> None:
            if plugin._host.running is running and proposal is not None:
                self.ledger.press(proposal, "comment" if "Comment" in caption else "reject", words)
                self.ledger.hooks.owe(proposal, words)
                give(words)

        self._editor.post(answer, self.random.choice((0.0, 20.0, 300.0)))

    def _prompt(self) -> None:
        cli = self.random.choice(self._alive)
        self.parts.loop.create_task(cli.extension.prompt())

    def _edit(self) -> None:
        self.random.choice(self._alive).extension.edit()

    def _undo(self) -> None:
        self._command("undo_edits_of_turn")

    def _end(self) -> None:
        """A CLI dies, if there is one that is still to be told something."""
        owed = [cli for cli in self._alive if self.ledger.hooks.is_owed(cli)]
        self._end_cli(self.random.choice(owed or self._alive))

    def _end_cli(self, cli: Cli) -> None:
        """But for the last one."""
        if not cli.is_dead and len(self._alive) > 1:
            self.note("{} dies", cli)
            self.ledger.counts["CLI died"] += 1
            cli.end()

    # ----- in the sheet of all changes

    def _sheet(self) -> None:
        self._command("show_changes", show="tab")

    def _sheets(self) -> list[sublime.View]:
        running = plugin._host.running
        views = self.window.views()
        return [
            view
            for view in views
            if running is not None and running.changes.sheets.sheet_of(view) is not None
        ]

    def _drop_in_sheet(self) -> None:
        for view in self._sheets():
            self._drop_one(self._shown(), partial(self._decide_there, view, "drop_change"))

    def _decide_in_sheet(self) -> None:
        shown = self._shown()
        for view in self._sheets() if shown is not None else []:
            how = self.random.choice(("accept", "reject"))
            self.ledger.press(shown[1], how)
            self._decide_there(view, f"{how}_file", shown[2].id)

    def _decide_there(self, sheet: sublime.View, action: str, id: str, key: str = "") -> None:
        found = {"sheet": str(sheet.buffer_id()), "action": action, "file": id, "change": key}
        self._command("decide_changes", **found)

    def _type_in_sheet(self) -> None:
        """Behind a row that a CLI proposes."""
        for view in self._sheets():
            marks = [
                found_mark for found_mark in re.findall(r"mark \d+\.$", text_of(view), re.MULTILINE)
            ]
            # One that is in its file is no added row any more.
            written = "".join(self._files())
            marks = [each for each in marks if each not in written]
            if marks:
                mark = self.random.choice(marks)
                words = f"typed {self.mark()}"
                # Of one that was accepted it may be a row that another one has replaced since.
                waiting = [
                    proposal for proposal in self.ledger.proposals.values() if not proposal.heard
                ]
                owners = [proposal for proposal in waiting if mark in proposal.text]
                if not owners:
                    # Or it was typed here before.
                    continue
                self.note("typed in the sheet: {} behind {}", words, mark)
                self.ledger.counts["typed in the sheet"] += 1
                owners[0].typed.append(words)
                point = text_of(view).index(mark + "\n") + len(mark)
                view.sel().clear()
                view.sel().add(sublime.Region(point))
                view.run_command("insert", {"characters": " " + words})

    # ----- in the chat

    def _write(self) -> None:
        self._chat.write()

    def _send(self) -> None:
        self._chat.send()

    def _talk(self) -> None:
        self.parts.loop.create_task(self._chat.talk())

    def _stop(self) -> None:
        self._chat.stop()

    def _die(self) -> None:
        self._chat.die()

    # ----- to the editor

    def _command(self, name: str, **arguments: Any) -> None:
        self.window.run_command("gemini_companion_" + name, arguments)

    def _hold_up(self) -> None:
        """The processor is busy: much becomes due at once."""
        self.parts.loop.hold_up(self.random.choice((0.003, 0.03, 0.3)))

    def _reload(self) -> None:
        if not self._reloading and self.random.random() < 0.5:
            self._reloading = True
            self._chat.leave()
            self.ledger.hooks.unloaded()
            self.ledger.unloads.append(self.parts.loop.now)
            self.note("unloaded")
            self.ledger.counts["reload"] += 1
            plugin.plugin_unloaded()
            if self.random.random() < 0.3:
                # As after a restart: of drafts there is what is on disk, and the engine is new.
                _forget()
            self.parts.loop.call_later(self.random.choice((0.0, 0.05, 1.0)), self._load_again)

    def _load_again(self) -> None:
        self.note("loaded")
        self.press(plugin.plugin_loaded)
        self._reloading = False

    def _ask(self, items: Any, select: Callable[[int], None], *_: Any, **more: Any) -> None:
        """The user answers after a moment, or not at all."""
        number = self.random.choice((0, 0, -1, len(items) - 1))
        self.note("asked: {}; answers {}", more.get("placeholder", ""), number)
        self._editor.post(partial(select, number), self.random.choice((0.0, 20.0, 300.0)))


def _forget() -> None:
    """What the package keeps while it is unloaded only."""
    plugin._host.drafts = plugin._host.engines = plugin._host.api = None


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
