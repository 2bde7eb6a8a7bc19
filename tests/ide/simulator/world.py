"""One run: everything that exists, in the order that one seed decides."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any, Iterable, Mapping

from companion.ide import events
from companion.ide.claude.lock_file import Lock
from companion.ide.hooks.words_for_model import RETURN
from companion.ide.questions import WordsForCli
from companion.ide.windows import Windows

from ...virtual_loop import Endless, VirtualLoop
from .checks import Ledger
from .claude import ClaudeCli
from .cli import Cli
from .disk import Disk, File
from .editor import Companion, Diff, Scene
from .faults import Faults
from .hook_checks import MORE
from .network import Network

FOLDERS = ("/home/ann/one", "/home/ann/two", "/home/ann/three")
# Seconds in which everything comes to rest, and those after the last start.
REST, LAST = 90.0, 12.0
DAY = 24 * 60 * 60.0


class World:
    def __init__(self, seed: int, trace: bool = False) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.trace: list[str] | None = [] if trace else None
        self.loop = VirtualLoop(self.disk_delay)
        self.ledger = Ledger(self)
        self.faults = Faults(self)
        self.disk = Disk(self.now_ns, self.faults.before_write)
        self.network = Network(self, self.loop)
        self.scene = Scene(self)
        self.clis: list[Cli] = []
        self.claudes: list[ClaudeCli] = []
        # What leads Claude Code to the editor.
        self.lock: Lock | None = None
        self.environments: Mapping[int, Mapping[str, str]] = {}
        self.companions: list[Companion] = []
        self.process = 0
        self.resumes = self.random.choice((0.0, 0.5, 1.0))
        self.exits = self.random.choice((0.0, 0.05))
        self.gives_up = self.random.choice((0.0, 0.2))
        # How many of the CLIs have the extension.
        self.extended = self.random.choice((0.0, 0.5, 1.0))
        # How many of them speak MCP 2026-07-28. The rest of a seed stays as it is without them.
        self.named = Random(f"{seed} named").choice((0.0, 0.0, 0.5, 1.0))
        # The user's settings about edits that CLIs make without asking.
        self.shows, self.asks = self.random.random() < 0.8, self.random.random() < 0.4
        # How often all waits for a busy processor, and how often a CLI dies as the user decides.
        self.haste = Random(f"{seed} haste")
        self.holds = self.haste.choice((0.0, 0.5))
        # Some have Claude Code, beside the others or alone. The rest of a seed stays as it is.
        self.claude = Random(f"{seed} claude")
        kind = self.claude.choice(("without", "without", "beside", "alone"))
        self.has_claude, self.has_others = kind != "without", kind != "alone"
        self._is_coming_back = False
        self._typed = 0

    # ----- what everybody uses

    @property
    def every_cli(self) -> list[Any]:
        return [*self.clis, *self.claudes]

    def new_process(self) -> int:
        self.process += 1
        return self.process

    def now_ns(self) -> int:
        return int((1.8e9 + self.loop.now + self.loop.ahead) * 1e9)

    def note(self, text: str, *values: Any) -> None:
        if self.trace is not None:
            self.trace.append(f"{self.loop.now - 1000:9.4f}  {text.format(*values)}")

    def count(self, name: str) -> None:
        self.ledger.counts[name] += 1

    def latency(self) -> float:
        if self.faults.happens("network is slow"):
            return self.random.random() * 2
        return 0.0005 + self.random.random() * 0.004

    def delay(self) -> float:
        """What a step inside of the editor takes."""
        return 0.0002 + self.random.random() * 0.004

    def disk_delay(self) -> float:
        if self.faults.happens("disk is slow"):
            return self.random.random()
        return 0.0002 + self.random.random() * 0.002

    def environment_for(self, folder: str) -> Mapping[str, str] | None:
        """The variables of a window that has the folder."""
        for window in self.scene.windows.values():
            if folder in window.folders and window.id in self.environments:
                return self.environments[window.id]
        return None

    def kept_texts(self) -> set[str]:
        """What the user finds under "Show Changes"."""
        companion = self.scene.companion
        if companion is None:
            return set()
        return {text for id in self.scene.windows for _, text in companion.undelivered(id)}

    # ----- the run

    def run(self) -> None:
        try:
            self.loop.run_until_complete(self._main())
        except Endless as error:
            self.ledger.violate("no end", str(error))
        finally:
            self.ledger.check_rest()
            self.loop.end()

    async def _main(self) -> None:
        for folder in FOLDERS[: self.random.choice((1, 1, 2, 3))]:
            self.scene.open_window((folder,))
        self.scene.save_session()
        self.scene.start()
        folders = [window.folders[0] for window in self.scene.windows.values()]
        for number in range(1, self.random.choice((1, 1, 2, 3, 4)) * self.has_others + 1):
            self.clis.append(Cli(self, number, self.random.choice(folders)))
        for number in range(1, self.claude.choice((1, 1, 2)) * self.has_claude + 1):
            self.claudes.append(ClaudeCli(self, 100 + number, self.claude.choice(folders)))
        self.faults.is_active = True
        await self._act(self.random.choice((5, 15, 40)))
        self.faults.is_active = False
        self.note("FAULTS END")
        for cli in self.every_cli:
            cli.is_settling = True
        await self._rest()
        self.ledger.check_missing()
        self.ledger.hooks.check_live()
        some = [cli for cli in self.clis if self.random.random() < 0.5]
        await self._prompt(some)
        self.ledger.hooks.check_told(some)
        await self._open_all()
        self.ledger.check_texts()
        self.ledger.hooks.check_live()
        await self._prompt(self.clis)
        await asyncio.sleep(RETURN + LAST)
        self.ledger.hooks.check_notes()

    async def _act(self, count: int) -> None:
        """Let the user and fate do some things."""
        actions = [getattr(self, "_" + name) for name in ACTIONS for _ in range(ACTIONS[name])]
        # Not everything happens in every run.
        for action in (self._crash_soon, self._reload, self._quit, self._close_window):
            if self.random.random() < 0.5:
                actions = [other for other in actions if other != action]
        for _ in range(count):
            await asyncio.sleep(self.random.choice((0.003, 0.1, 0.4, 1.0, 2.0)))
            if self.haste.random() < self.holds:
                self.count("held up")
                self.loop.hold_up(self.haste.choice((0.003, 0.02, 0.3)))
            await self.random.choice(actions)()

    async def _rest(self) -> None:
        await self._wait_for_editor()
        await asyncio.sleep(REST / 3)
        for diff in self.scene.diffs():
            if self.random.random() < 0.5:
                self.scene.decide(diff, self.random.choice(("accept", "reject")))
        await asyncio.sleep(REST * 2 / 3)

    async def _open_all(self) -> None:
        """The user opens every folder: whatever was kept can be seen now."""
        self.scene.stop_companion()
        while not all(each.is_over for each in self.companions):
            await asyncio.sleep(0.1)
        opened = {folder for window in self.scene.windows.values() for folder in window.folders}
        for folder in (*FOLDERS, MORE):
            if folder not in opened:
                self.scene.open_window((folder,))
        self.scene.start()
        await asyncio.sleep(LAST)

    async def _prompt(self, clis: Iterable[Cli]) -> None:
        """Each of these that lives is prompted once more."""
        for cli in clis:
            if not cli.is_dead and cli.extension is not None:
                await cli.extension.hook("BeforeAgent", prompt="once more")

    # ----- what can happen

    async def _type(self) -> None:
        diffs = self.scene.diffs()
        if diffs and not self.scene.is_gone:
            diff = self.random.choice(diffs)
            self._typed += 1
            text = f"typed {self._typed}\n"
            self.ledger.typed(diff, text)
            self.scene.type(diff, text)

    async def _decide(self) -> None:
        diffs, companion = self.scene.diffs(), self.scene.companion
        # Before the companion has looked at what the editor brought back, a tab may show an older
        # text than the one that was saved.
        is_ready = companion is not None and companion.is_ready
        if diffs and is_ready and not self.scene.is_gone:
            how = self.random.choice(("accept", "accept", "reject", "close"))
            diff = self.random.choice(diffs)
            proposal = self.ledger.origin[diff.text]
            waiter = proposal.cli.waiter(proposal)
            if waiter is not None and self.random.random() < 0.2:
                # The terminal decides at the same moment.
                self.loop.later(0, self.random.random() * 0.005, waiter.hurry.set)
                await asyncio.sleep(self.random.random() * 0.005)
            elif self.haste.random() < self.holds:
                # It dies at the same moment, and all wait for the processor.
                self.loop.later(0, self.haste.random() * 0.005, proposal.cli.die)
                self.loop.later(0, self.haste.random() * 0.003, self.loop.hold_up, 0.02)
                await asyncio.sleep(self.haste.random() * 0.003)
                if not any(diff is each for each in self.scene.diffs()):
                    return
            if how != "close":
                self.say(diff, how == "accept")
            self.scene.decide(diff, how)

    def say(self, diff: Diff, is_accepted: bool | None) -> None:
        """The user has words for the CLI, which go along with what it does next, or stay theirs."""
        companion = self.scene.companion
        if self.ledger.origin[diff.text].by_claude:
            # It has no hooks here that could carry them.
            return
        if companion is None or self.random.random() < 0.1:
            return
        process = self.ledger.origin[diff.text].cli.process
        text = f"note {self.ledger.hooks.next()}"
        words = WordsForCli(diff.window_id, diff.session_id, diff.path, text, is_accepted)

        def take(windows: Windows) -> None:
            if words.find_answer(windows):
                self.note("taken for {}: {!r}", process, text)
                self.ledger.hooks.taken(text, process)

        companion.call("WordsForCli", take)

    async def _take_back(self) -> None:
        """The user undoes an edit that was made without asking."""
        companion, found = (
            self.scene.companion,
            [name for name in sorted(self.disk.files) if "/own" in name],
        )
        if companion is None or self.scene.is_gone or not found:
            return
        if any(self.ledger.hooks.is_busy(cli) for cli in self.clis):
            # What the user writes while a command runs is taken for the command's.
            return
        path = self.random.choice(found)
        gathered = self.ledger.hooks.taken_back(self.disk.text(path))
        if gathered is not None:
            window_id, edit = gathered
            self.note("taken back: {!r}", edit.after.text)
            self.disk.files[path] = File(edit.before.data or b"", self.now_ns())
            taken = (window_id, edit.turn, edit.client, edit.path, True)
            companion.post(events.EditTakenBack(*taken))

    async def _nothing(self) -> None:
        pass

    async def _save_session(self) -> None:
        if not self.scene.is_gone:
            self.scene.save_session()

    async def _cut(self) -> None:
        links = [*self.network.wires, *self.network.sockets]
        if links:
            self.note("a connection is cut")
            self.random.choice(links).cut()

    async def _die(self) -> None:
        self.random.choice(self.every_cli).die()

    async def _new_cli(self) -> None:
        if len(self.clis) < 6 and self.scene.windows:
            window = self.random.choice(list(self.scene.windows.values()))
            self.clis.append(Cli(self, len(self.clis) + 1, self.random.choice(window.folders)))

    async def _enable(self) -> None:
        """Somebody types /ide enable though all is well: the old session lives on."""
        cli = self.random.choice(self.clis) if self.clis else None
        if cli is not None and cli.is_connected:
            self.note("{}: /ide enable", cli)
            self.loop.start(cli.process, cli.enable())

    async def _fill_disk(self) -> None:
        if "disk is full" in self.faults.rates:
            self.faults.is_full = not self.faults.is_full
            self.note("the disk is {}", "full" if self.faults.is_full else "no longer full")
            if self.faults.is_full:
                self.ledger.full.append([self.loop.now, float("inf")])
            else:
                self.ledger.full[-1][1] = self.loop.now + 6

    async def _set_clock(self) -> None:
        """Forth or back, by minutes or years; or right again."""
        if "clock is set" in self.faults.rates:
            seconds = self.random.choice((0, 60, 3 * DAY, 400 * DAY))
            self.loop.ahead = self.random.choice((1.0, -1.0)) * seconds
            self.note("the clock is set ahead by {} s", self.loop.ahead)
            self.count("clock is set")

    async def _crash_soon(self) -> None:
        self.crash()

    async def _reload(self) -> None:
        """The package is upgraded: the companion stops and starts, the editor goes on."""
        if not self.scene.is_gone and self.scene.companion is not None:
            self.note("reload")
            self.count("reload")
            self.scene.stop_companion()
            await asyncio.sleep(self.random.choice((0.0, 0.01, 0.5, 3.0)))
            if not self.scene.is_gone and self.scene.companion is None:
                self.scene.start()

    async def _quit(self) -> None:
        if not self.scene.is_gone and self.scene.companion is not None:
            self.note("quit")
            self.count("quit")
            self.scene.quit()
            await asyncio.sleep(0.2)
            self._kill_companion()
            await self._come_back()

    async def _close_window(self) -> None:
        if len(self.scene.windows) > 1 and not self.scene.is_gone:
            window_id = self.random.choice(list(self.scene.windows))
            with_events = self.random.random() < 0.5
            self.note("window {} closed", window_id)
            self.count("window closed")
            environment = self.environments.get(window_id, {})
            self.ledger.closed.add(environment.get("GEMINI_CLI_IDE_AUTH_TOKEN", ""))
            self.ledger.claude.window_closed()
            self.scene.close_window(window_id, with_events)
            self._look_soon()

    async def _open_window(self) -> None:
        if len(self.scene.windows) < 4 and not self.scene.is_gone:
            window = self.scene.open_window((self.random.choice(FOLDERS),))
            self.note("window {} opened on {}", window.id, window.folders)
            self._look_soon()

    async def _change_folders(self) -> None:
        if self.scene.windows and not self.scene.is_gone:
            window = self.random.choice(list(self.scene.windows.values()))
            own = window.folders[0]
            window.folders = (own,) if len(window.folders) > 1 else (own, MORE)
            self._look_soon()

    def _look_soon(self) -> None:
        seconds = self.random.random()
        if self.has_claude and self.claude.random() < 0.5:
            # Together with what was decided just now.
            seconds = 0.0
        self.loop.later(0, seconds, self.scene.look_at_windows)

    async def _kept(self) -> None:
        """The user looks at what was kept, and applies or discards one of the texts."""
        companion = self.scene.companion
        if companion is None:
            return
        found = [
            (id, *unread)
            for id in self.scene.windows
            for unread in sorted(companion.undelivered(id))
        ]
        if found and not self.scene.is_gone:
            window_id, path, text = self.random.choice(found)
            if self.random.random() < 0.5:
                self.note("kept text applied: {!r}", text)
                self.scene.open_tab(text)
            if companion.withdraw(window_id, path, text):
                self.note("kept text withdrawn: {!r}", text)
                self.count("withdrawn")
                self.ledger.discarded.add(text)
                self.ledger.origin[text].decisions.append((self.loop.now, None))

    def crash(self) -> None:
        """kill -9 of the editor and all that is in it."""
        if self.scene.is_gone or self._is_coming_back:
            return
        self.note("CRASH")
        self.count("crash")
        self.scene.crash()
        self._kill_companion()
        self._is_coming_back = True
        self.loop.start(0, self._come_back())

    def _kill_companion(self) -> None:
        self.ledger.kills.append(self.loop.now)
        self.scene.companion = None
        # Those that were still ending die, too.
        for each in [each for each in self.companions if not each.is_over]:
            self.loop.kill(each.process)
            self.network.process_died(each.process)
        self.environments = {}

    async def _come_back(self) -> None:
        self._is_coming_back = True
        await asyncio.sleep(self.random.choice((0.5, 2.0, 10.0)))
        self.scene.restart()
        self._is_coming_back = False

    async def _wait_for_editor(self) -> None:
        while self._is_coming_back:
            await asyncio.sleep(0.5)
        if self.scene.companion is None:
            self.scene.start()
        self.scene.look_at_windows()


# What can happen, and how often compared with the rest.
ACTIONS = {
    "type": 8,
    "decide": 6,
    "nothing": 4,
    "save_session": 3,
    "kept": 1,
    "take_back": 2,
    "cut": 2,
    "die": 1,
    "new_cli": 1,
    "enable": 1,
    "fill_disk": 1,
    "set_clock": 1,
    "crash_soon": 1,
    "reload": 1,
    "quit": 1,
    "close_window": 1,
    "open_window": 1,
    "change_folders": 1,
}
