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
from GeminiCompanion.companion.base.log import logger
from GeminiCompanion.companion.ide import diffs, workspace
from GeminiCompanion.companion.ui.chat.chat_view import CONVERSATION
from GeminiCompanion.companion.ui.review import large, open_diffs
from GeminiCompanion.companion.ui.review.record import is_diff

from ...virtual_loop import Endless
from ...virtual_parts import VirtualParts
from ..adapter import text_of
from .chat import Chat
from .checks import Ledger, Proposal
from .cli import Cli, Endpoint
from .lanes import Lane, lanes

# Its right view, what is known of it here, and its record.
Shown = Tuple[sublime.View, Proposal, Any]
# Code points from which a proposal is shown in parts, where a run has such.
LOW = 400
ROWS = 30
OLD = [f"row {number}\n" for number in range(ROWS)]
# Seconds in which all comes to rest.
REST = 12.0
# What can happen, and how often compared with the rest.
ACTIONS = {
    "propose": 3,
    "drop": 5,
    "hurry": 4,
    "sheet": 2,
    "drop_in_sheet": 2,
    "type_in_sheet": 3,
    "decide_in_sheet": 1,
    "type": 3,
    "accept": 3,
    "reject": 1,
    "close": 1,
    "terminal": 1,
    "write": 2,
    "send": 1,
    "talk": 3,
    "stop": 1,
    "die": 1,
    "reload": 1,
    "hold_up": 2,
}


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
        yield from self._chat.patches()
        yield mock.patch.object(sublime, "status_message", self.ledger.say)
        yield mock.patch.object(sublime.Window, "show_quick_panel", self._ask)
        if self.is_large:
            yield mock.patch.object(large, "LARGE", LOW)
            yield mock.patch.object(diffs, "LARGE", LOW)
            yield mock.patch.multiple(digest_module, CONTEXT=1)

    def _failed(self, what: str, error: Exception) -> None:
        self.ledger.violate(f"{what} failed: {error!r}")

    async def _main(self) -> None:
        self.press(plugin.plugin_loaded)
        await self._until(lambda: plugin._host.environment(self.window))
        self.press(self._chat.open)
        port = plugin._host.environment(self.window)["GEMINI_CLI_IDE_SERVER_PORT"]
        for number in range(1, 1 + self.random.choice((1, 2, 3))):
            self._clis.append(Cli(self, number, int(port), self._heard))
            await self._clis[-1].connect()
        actions = [name for name, count in ACTIONS.items() for _ in range(count)]
        for _ in range(self.random.choice((15, 50))):
            await asyncio.sleep(self.random.choice((0.0, 0.0, 0.002, 0.05, 0.5)))
            action = self.random.choice(actions)
            self.press(partial(getattr(self, "_" + action)))
        self.is_acting = False
        await asyncio.sleep(REST)
        self._check()
        self.press(plugin.plugin_unloaded)
        for cli in self._clis:
            cli.end()
        await asyncio.sleep(REST)

    def press(self, work: Callable[[], Any]) -> None:
        """What the user or the editor does on the UI thread."""
        try:
            self._editor.run(work)
        except Exception as error:
            self._failed("an action", error)

    async def _until(self, condition: Callable[[], Any]) -> None:
        while not condition():
            await asyncio.sleep(0.01)

    def _check(self) -> None:
        views = self.window.views()
        places = [text_of(view) for view in views if view != self._chat.view] + self._files()
        found = (record for _view, record in open_diffs.diffs(self.window))
        waiting = {(record.session_id, record.path) for record in found}
        self.ledger.check(places, waiting, self._chat)

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

    def _heard(self, cli: Cli, path: str, text: str | None, how: str) -> None:
        """The CLI writes what was accepted, after a while."""
        self.ledger.heard(cli, path, text, how)
        proposal = self.ledger.proposals.get((cli.session, path))
        if text is not None and proposal is not None:
            content = text or proposal.text
            self.parts.loop.call_later(self.parts.delay(), _write, path, content)

    # ----- what can happen

    def mark(self) -> str:
        self._marks += 1
        return f"mark {self._marks}."

    def _propose(self) -> None:
        """For a file of its own, or for one for which another CLI has proposed something."""
        cli = self.random.choice(self._clis)
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
        found = None
        while found is None:
            found = await proposal.cli.tool(
                "openDiff", filePath=proposal.path, newContent=proposal.text
            )
            await asyncio.sleep(0.1)

    def _shown(self) -> Shown | None:
        """A proposal that is under review, with what is known of its changes."""
        found = [it for it in open_diffs.diffs(self.window) if is_diff(it[0])]
        if not found or plugin._host.running is None:
            return None
        view, record = self.random.choice(found)
        return view, self.ledger.proposals[record.session_id, record.path], record

    def _drop(self) -> None:
        self._drop_one(
            self._shown(), lambda id, key: self._command("drop_change", id=id, change=key)
        )

    def _hurry(self) -> None:
        """Changes are dropped, and what is left is accepted, faster than it can be computed."""
        shown = self._shown()
        for _ in range(2):
            self._drop_one(shown, lambda id, key: self._command("drop_change", id=id, change=key))
        if shown is not None:
            self.ledger.press(shown[1], "accept")
            self._command("accept_diff", id=shown[2].id)

    def _drop_one(self, shown: Shown | None, press: Callable[[str, str], None]) -> None:
        """Each change is dropped once: the second press would take that back."""
        running = plugin._host.running
        review = running.reviews.of(shown[0]) if shown is not None and running else None
        comparison = review.comparison if review is not None else None
        if shown is None or comparison is None or not comparison.keys:
            return
        _view, proposal, record = shown
        number = self.random.randrange(len(comparison.keys))
        change = comparison.changes[number]
        rows = comparison.new.rows[change.new_start : change.new_end]
        mark = next((row.strip() for row in rows if row.startswith("mark")), "")
        if mark and mark not in [it.mark for it in proposal.presses]:
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
        self._decide("accept", "accept_diff")

    def _reject(self) -> None:
        self._decide("reject", "reject_diff")

    def _decide(self, kind: str, command: str) -> None:
        shown = self._shown()
        if shown is not None:
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

    # ----- in the sheet of all changes

    def _sheet(self) -> None:
        self._command("show_changes")

    def _sheets(self) -> list[sublime.View]:
        running = plugin._host.running
        views = self.window.views()
        return [it for it in views if running is not None and running.sheets.of(it) is not None]

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
            marks = [it for it in re.findall(r"mark \d+\.$", text_of(view), re.MULTILINE)]
            # One that is in its file is no added row any more.
            written = "".join(self._files())
            marks = [it for it in marks if it not in written]
            if marks:
                mark = self.random.choice(marks)
                words = f"typed {self.mark()}"
                owners = [it for it in self.ledger.proposals.values() if mark in it.text]
                if not owners:
                    # It was typed here before.
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
