"""What the user typed outlives every stop, start and change of windows."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, AsyncIterator, Awaitable, Callable, Mapping
from unittest import mock

from GeminiCompanion.companion.base.folder_lock import FolderInUse, FolderLock
from GeminiCompanion.companion.ide import disk_check, hook_events, state_file
from GeminiCompanion.companion.ide.clis import GEMINI_CLI
from GeminiCompanion.companion.ide.decisions import DECIDED, OPEN, TOLD, Entry
from GeminiCompanion.companion.ide.events import DiffAccepted
from GeminiCompanion.companion.ide.hooks import words_for_model
from GeminiCompanion.companion.ide.questions import SavingBegun, UnwrittenTexts, WordsForCli
from GeminiCompanion.companion.ide.saved_state import SavedSession, SavedWorkspace
from GeminiCompanion.companion.ide.saving import TAKEN_OVER, Saving
from GeminiCompanion.companion.ide.windows import Windows

from ..support import PATIENCE, FakeEditor, InLoop, patched, temp_folder, until

PID = 2**30
WINDOWS = "GeminiCompanion.companion.ide.windows"
SAVING = "GeminiCompanion.companion.ide.saving"
Step = Callable[[Windows], Awaitable[Any]]


def accepted(path: str, text: str = "typed\n", **more: Any) -> Entry:
    return Entry("away", path, DECIDED, 1.0, text=text, decided_at=2.0, **more)


def texts_of(saved: SavedWorkspace) -> list[str | None]:
    return [entry.text for entry in saved.proposals]


def texts(windows: Windows, window_id: int) -> tuple[tuple[str, str], ...]:
    """Path and text of what no CLI could be told of yet."""
    return tuple(unwritten[:2] for unwritten in UnwrittenTexts(window_id).find_answer(windows))


def is_free(lock: FolderLock) -> bool:
    try:
        lock.acquire()
    except FolderInUse:
        return False
    return True


class OutlivingTestCase(InLoop):
    def setUp(self) -> None:
        self.temp = temp_folder(self)
        self.path = os.path.join(self.temp, "cache", "GeminiCompanion", "state.json")
        self.editor = FakeEditor()
        self.environments: Mapping[int, Mapping[str, str]] = {}
        patched(self, mock.patch(SAVING + ".SAVE_DELAY", 0.01))

    def saved(self, folder: str, **more: Any) -> SavedWorkspace:
        kept = SavedWorkspace(
            (folder,), 0, "token-of-" + folder, (), (accepted(folder + "/a"),), time.time()
        )
        return replace(kept, **more)

    def run_with(self, step: Step) -> None:
        """One run of the companion, in which the step is taken once it is ready."""

        def told(environments: Mapping[int, Mapping[str, str]]) -> None:
            self.environments = environments or self.environments

        async def run() -> None:
            ready = asyncio.Event()
            windows = Windows(self.editor, PID, told, self.path or None)
            running = asyncio.ensure_future(windows.run(ready.set))
            await ready.wait()
            await step(windows)
            windows.stop()
            await running

        asyncio.run(asyncio.wait_for(run(), PATIENCE))

    def load(self) -> dict[tuple[str, ...], SavedWorkspace]:
        found, problem = state_file.load_state(self.path)
        self.assertEqual(problem, "")
        return {each.folders: each for each in found}

    def ports(self) -> dict[int, str]:
        return {
            id: environment["GEMINI_CLI_IDE_SERVER_PORT"]
            for id, environment in self.environments.items()
        }


class StopsAndStarts(OutlivingTestCase):
    def test_a_stop_before_the_server_is_there_loses_nothing(self) -> None:
        state_file.save_state(self.path, [self.saved("/a"), self.saved("/b")])

        async def step(windows: Windows) -> None:
            windows.set_windows({1: ("/a",)})

        self.run_with(step)
        for folder in ("/a", "/b"):
            (entry,) = self.load()[(folder,)].proposals
            self.assertEqual((entry.path, entry.text), (folder + "/a", "typed\n"))

    def test_without_a_port_decisions_are_kept_all_the_same(self) -> None:
        state_file.save_state(self.path, [self.saved("/a")])

        async def step(windows: Windows) -> None:
            with mock.patch("socket.create_server", side_effect=OSError(24, "Too many")):
                windows.set_windows({1: ("/a",)})
                await until(lambda: self.editor.told)
            DiffAccepted(1, "session", "/a/b", "mine\n").apply(windows)
            self.assertEqual({text for _, text in texts(windows, 1)}, {"typed\n", "mine\n"})

        with self.assertLogs("GeminiCompanion", "ERROR"):
            self.run_with(step)
        self.assertEqual(texts_of(self.load()[("/a",)]), ["typed\n", "mine\n"])

    def test_windows_with_the_same_folders_keep_their_own_ports(self) -> None:
        async def step(windows: Windows) -> None:
            windows.set_windows({1: ("/a",), 2: ("/a",)})
            await until(lambda: len(self.environments) == 2)

        self.run_with(step)
        before = self.ports()
        for order in ({1: ("/a",), 2: ("/a",)}, {2: ("/a",), 1: ("/a",)}):

            async def again(windows: Windows, order: Any = order) -> None:
                self.environments = {}
                windows.set_windows(order)
                await until(lambda: len(self.environments) == 2)

            self.run_with(again)
            self.assertEqual(self.ports(), before)

    def test_a_new_window_leaves_one_with_the_same_folders_what_is_its_own(self) -> None:
        saved = [self.saved("/a", window_id=id, token=f"token-{id}") for id in (1, 2)]
        state_file.save_state(self.path, saved)

        async def step(windows: Windows) -> None:
            windows.set_windows({3: ("/a",), 2: ("/a",)})
            await until(lambda: len(self.environments) == 2)

        self.run_with(step)
        tokens = {
            id: environment["GEMINI_CLI_IDE_AUTH_TOKEN"]
            for id, environment in self.environments.items()
        }
        self.assertEqual(tokens, {2: "token-2", 3: "token-1"})

    def test_a_cli_that_found_the_earlier_one_could_find_this_one_at_whatever_port(self) -> None:
        """Otherwise Doctor would say that it came before the window."""

        async def step(windows: Windows) -> None:
            windows.set_windows({1: ("/a",), 2: ("/new",)})
            await until(lambda: all(status.port for status in windows.statuses()))
            found.extend(workspace.server.since for workspace in windows)

        found: list[float] = []
        with socket.create_server(("127.0.0.1", 0)) as other:
            state_file.save_state(self.path, [self.saved("/a", port=other.getsockname()[1])])
            self.run_with(step)
        taken_over, new = found
        self.assertEqual(taken_over, 0.0)
        self.assertNotEqual(new, 0.0)

    def test_a_port_that_somebody_else_has_now_costs_the_token(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            state_file.save_state(self.path, [self.saved("/a", port=port)])

            async def step(windows: Windows) -> None:
                windows.set_windows({1: ("/a",)})
                await until(lambda: self.environments)

            self.run_with(step)
        self.assertNotEqual(self.ports()[1], str(port))
        self.assertNotEqual(self.environments[1]["GEMINI_CLI_IDE_AUTH_TOKEN"], "token-of-/a")

    def test_a_state_that_cannot_be_read_is_told(self) -> None:
        state_file.save_state(self.path, [self.saved("/a")])
        with open(self.path, "ab") as file:
            file.write(b"{half a li")

        async def step(windows: Windows) -> None:
            windows.set_windows({1: ("/a",)})
            self.assertEqual(texts(windows, 1), (("/a/a", "typed\n"),))

        with self.assertLogs("GeminiCompanion", "WARNING"):
            self.run_with(step)
        self.assertIn(state_file.UNREAD, self.editor.told[0])

    def test_a_full_disk_is_tried_again_until_it_takes_something(self) -> None:
        real = os.replace

        async def step(windows: Windows) -> None:
            with mock.patch("os.replace", side_effect=OSError(28, "No space")):
                windows.set_windows({1: ("/a",)})
                await until(lambda: any("No space" in sentence for sentence in self.editor.told))
                # From here on nothing changes any more.
                await until(lambda: self.environments)
                await until(lambda: windows.saving._timer is None)
            self.assertFalse(os.path.exists(self.path))
            await until(lambda: os.path.exists(self.path))

        with mock.patch(WINDOWS + ".TICK", 0.02), self.assertLogs("GeminiCompanion", "ERROR"):
            self.run_with(step)
        self.assertIs(os.replace, real)

    def test_a_last_save_that_fails_is_told_at_the_next_start_until_one_succeeds(self) -> None:
        state_file.save_state(self.path, [self.saved("/a")])
        full = mock.patch("os.replace", side_effect=OSError(28, "No space"))

        async def fill(windows: Windows) -> None:
            windows.set_windows({1: ("/a",)})
            await until(lambda: self.environments)
            # From here on, the disk is full.
            full.start()
            DiffAccepted(1, "session", "/a/b", "mine\n").apply(windows)

        async def nothing(windows: Windows) -> None:
            windows.set_windows({1: ("/a",)})
            await until(lambda: windows.saving._writing is not None)

        with self.assertLogs("GeminiCompanion", "ERROR"):
            self.run_with(fill)
        full.stop()
        self.assertIn("No space", self.editor.told[-1])
        self.editor.told.clear()
        with self.assertLogs("GeminiCompanion", "ERROR"):
            self.run_with(nothing)
        self.assertEqual(self.editor.told, [state_file.OUTDATED])
        self.run_with(nothing)
        self.assertEqual(self.editor.told, [state_file.OUTDATED])

    def test_a_disk_that_does_not_answer_holds_up_no_end(self) -> None:
        answers = threading.Event()
        self.addCleanup(answers.set)

        def save(*arguments: Any) -> str:
            answers.wait(PATIENCE)
            return ""

        async def step(windows: Windows) -> None:
            windows.set_windows({1: ("/a",)})
            DiffAccepted(1, "session", "/a/b", "mine\n").apply(windows)

        with mock.patch.object(state_file, "save_state", save), mock.patch(SAVING + ".LAST", 0.05):
            with self.assertLogs("GeminiCompanion", "ERROR"):
                self.run_with(step)
        self.assertIn("does not answer", self.editor.told[-1])

    def test_what_is_on_disk_already_is_not_written_again_at_the_end(self) -> None:
        async def step(windows: Windows) -> None:
            windows.set_windows({1: ("/a",)})
            saving = windows.saving
            await until(lambda: self.environments and saving._writing is not None)
            await until(lambda: saving._writing is None or saving._writing.done())
            await until(lambda: saving._timer is None)
            self.stamp = os.stat(self.path).st_mtime_ns
            if change:
                DiffAccepted(1, "session", "/a/b", "mine\n").apply(windows)

        for change in (False, True):
            with self.subTest(change=change):
                self.run_with(step)
                self.assertEqual(os.stat(self.path).st_mtime_ns != self.stamp, change)


class TwoEditors(OutlivingTestCase):
    """On one folder; another open file of the lock is as good as one of another process."""

    def setUp(self) -> None:
        super().setUp()
        self.other = FakeEditor()
        for name in ("HANDOVER", "RELOAD", "RETRY"):
            patched(self, mock.patch(f"{SAVING}.{name}", 0.02))
        patched(self, mock.patch(WINDOWS + ".TICK", 0.02))

    @asynccontextmanager
    async def running(self, editor: FakeEditor, window_id: int) -> AsyncIterator[Windows]:
        """A companion with one window, whose folder is /a."""
        ready = asyncio.Event()
        windows = Windows(editor, PID, lambda environments: None, self.path)
        running = asyncio.ensure_future(windows.run(ready.set))
        await ready.wait()
        windows.set_windows({window_id: ("/a",)})
        await until(lambda: windows.statuses()[0].port)
        yield windows
        windows.stop()
        await running

    async def test_the_second_serves_without_saving_and_says_so(self) -> None:
        async with self.running(self.editor, 1) as first:
            DiffAccepted(1, "session", "/a/b", "first\n").apply(first)
            await until(lambda: os.path.exists(self.path))
            with self.assertLogs("GeminiCompanion", "ERROR"):
                async with self.running(self.other, 2) as second:
                    self.assertEqual(texts(second, 2), ())
                    (told,) = self.other.told
                    self.assertRegex(told, "uses the state folder .* not saved")
                    self.assertEqual([status.unsaved for status in second.statuses()], [told])
                    self.assertIn("Not saved for a restart", second.statuses()[0].text())
                    DiffAccepted(2, "session", "/a/b", "second\n").apply(second)
            DiffAccepted(1, "session", "/a/c", "first again\n").apply(first)
            self.assertEqual(first.statuses()[0].unsaved, "")
        found = self.load()[("/a",)]
        self.assertEqual(texts_of(found), ["first\n", "first again\n"])

    async def test_the_second_takes_over_what_the_first_left_when_that_has_gone(self) -> None:
        with self.assertLogs("GeminiCompanion", "ERROR"):
            async with AsyncExitStack() as stack:
                first = await stack.enter_async_context(self.running(self.editor, 1))
                later = AsyncExitStack()
                second = await later.enter_async_context(self.running(self.other, 2))
                begun = asyncio.ensure_future(SavingBegun().find_answer(second))
                DiffAccepted(1, "session", "/a/b", "first\n").apply(first)
                DiffAccepted(2, "another", "/a/c", "second\n").apply(second)
                self.assertFalse(begun.done())
        await asyncio.wait_for(begun, PATIENCE)
        self.assertEqual(set(texts(second, 2)), {("/a/b", "first\n"), ("/a/c", "second\n")})
        self.assertEqual((self.other.told[-1], second.statuses()[0].unsaved), (TAKEN_OVER, ""))
        # That another editor has the folder is not true any more.
        self.assertEqual(self.other.withdrawn, ["saving"])
        await later.aclose()
        found, _ = state_file.load_state(self.path)
        kept = {text for each in found for text in texts_of(each)}
        self.assertEqual(kept, {"first\n", "second\n"})

    async def test_one_that_is_about_to_end_is_waited_for(self) -> None:
        state_file.save_state(self.path, [self.saved("/a")])
        lock = FolderLock(os.path.dirname(self.path))
        lock.acquire()
        with mock.patch(SAVING + ".RELOAD", PATIENCE):
            asyncio.get_running_loop().call_later(0.1, lock.release)
            async with self.running(self.editor, 1) as windows:
                self.assertEqual(texts(windows, 1), (("/a/a", "typed\n"),))
        self.assertEqual(self.editor.told, [])

    async def test_one_that_ends_while_it_takes_the_folder_lets_go_of_it(self) -> None:
        tries, goes_on, real = threading.Event(), threading.Event(), FolderLock.acquire
        self.addCleanup(goes_on.set)

        def acquire(lock: FolderLock) -> None:
            tries.set()
            goes_on.wait(PATIENCE)
            real(lock)
            acquired.set()

        acquired = threading.Event()
        saving = Saving(self.path, list, self.editor.show_message)
        with mock.patch.object(FolderLock, "acquire", acquire):
            taking = asyncio.ensure_future(saving.take_over())
            await until(tries.is_set)
            taking.cancel()
            await saving.finish()
            goes_on.set()
            await until(acquired.is_set)
        other = FolderLock(os.path.dirname(self.path))
        self.addCleanup(other.release)
        await until(lambda: is_free(other))

    async def test_a_save_that_begins_after_the_last_one_does_not_replace_it(self) -> None:
        begins, ended, real = threading.Event(), threading.Event(), Saving._write_picture
        self.addCleanup(begins.set)

        def write(saving: Saving, path: str, picture: list[SavedWorkspace]) -> str:
            begins.wait(PATIENCE)
            try:
                return real(saving, path, picture)
            finally:
                ended.set()

        picture = [self.saved("/a")]
        saving = Saving(self.path, lambda: list(picture), self.editor.show_message)
        await saving.begin()
        with mock.patch.object(Saving, "_write_picture", write), mock.patch(
            SAVING + ".SAVE_DELAY", 0
        ):
            saving.save_soon()
            await until(lambda: saving._writing is not None)
            came = SavedSession("came", "2025-06-18", 3)
            picture[:] = [replace(picture[0], sessions=(came,))]
            await saving.finish()
            begins.set()
            await until(ended.is_set)
        self.assertEqual([session.id for session in self.load()[("/a",)].sessions], ["came"])

    async def test_a_try_to_take_over_that_fails_is_not_the_last(self) -> None:
        with self.assertLogs("GeminiCompanion", "ERROR") as said:
            async with self.running(self.editor, 1) as windows:
                with mock.patch.object(windows.saving, "take_over", side_effect=KeyError("fault")):
                    await until(lambda: len(said.records) > 1)
        self.assertIn("could not be taken over", said.output[0])

    async def test_a_disk_that_answers_late_gives_the_folder_back_once_it_has_what_was_last(
        self,
    ) -> None:
        answers, real = threading.Event(), state_file.save_state
        self.addCleanup(answers.set)

        def save(path: str, workspaces: list[SavedWorkspace]) -> str:
            answers.wait(PATIENCE)
            return real(path, workspaces)

        with mock.patch.object(state_file, "save_state", save), mock.patch(SAVING + ".LAST", 0.05):
            with self.assertLogs("GeminiCompanion", "ERROR"):
                async with self.running(self.editor, 1) as first:
                    DiffAccepted(1, "session", "/a/b", "late\n").apply(first)
                async with self.running(self.other, 2) as second:
                    self.assertTrue(second.statuses()[0].unsaved)
                    answers.set()
                    await until(lambda: texts(second, 2))
                    self.assertEqual(texts(second, 2), (("/a/b", "late\n"),))

    async def test_after_a_reload_a_disk_that_still_writes_is_waited_for(self) -> None:
        answers, real = threading.Event(), state_file.save_state
        self.addCleanup(answers.set)

        def save(path: str, workspaces: list[SavedWorkspace]) -> str:
            answers.wait(PATIENCE)
            return real(path, workspaces)

        with mock.patch.object(state_file, "save_state", save), mock.patch(SAVING + ".LAST", 0.05):
            with self.assertLogs("GeminiCompanion", "ERROR"):
                async with self.running(self.editor, 1) as first:
                    before = first.workspaces[1].advertisement
            with mock.patch(SAVING + ".RELOAD", PATIENCE):
                asyncio.get_running_loop().call_later(0.1, answers.set)
                async with self.running(self.other, 1) as second:
                    after = second.workspaces[1].advertisement
        self.assertEqual((after.port, after.token), (before.port, before.token))
        self.assertEqual(self.other.told, [])


class OtherWindows(OutlivingTestCase):
    def test_a_window_that_gets_the_folder_later_has_what_was_kept_there(self) -> None:
        session = SavedSession("away", "2025-06-18", 3)
        told = accepted("/a/b")._replace(state=TOLD, decided_at=time.time())
        entries = (accepted("/a/a"), accepted("/a/told", event_id=3), told)
        state_file.save_state(self.path, [self.saved("/a", sessions=(session,), proposals=entries)])

        async def step(windows: Windows) -> None:
            windows.set_windows({1: ()})
            self.assertEqual(texts(windows, 1), ())
            windows.set_windows({1: ("/b", "/a")})
            kept = {path for path, _ in texts(windows, 1)}
            self.assertEqual(kept, {"/a/a", "/a/told"})

        self.run_with(step)
        states = [entry.state for entry in self.load()[("/b", "/a")].proposals]
        self.assertEqual(states, [DECIDED, DECIDED, TOLD])
        self.assertFalse(self.load()[("/a",)].has_texts)

    def test_a_decision_waits_while_its_path_is_open_in_another_book(self) -> None:
        here = accepted("/a/here")._replace(state=OPEN)
        closed = accepted("/b/closed")._replace(state=OPEN)
        windows = [self.saved("/a", proposals=(here,)), self.saved("/b", proposals=(closed,))]
        state_file.save_state(self.path, windows)

        async def step(windows: Windows) -> None:
            windows.set_windows({1: ("/a",), 2: ("/c",)})
            second = windows.workspaces.get(2)
            asking = second and second.delivery._asking
            paths = ("/a/here", "/b/closed", "/a/other")
            found = [asking and asking(path) for path in paths]
            self.assertEqual(found, [{"away"}, {"away"}, set()])

        self.run_with(step)

    def test_what_was_typed_into_a_diff_comes_back_in_a_window_with_other_folders(self) -> None:
        patched(self, mock.patch.object(disk_check, "CHECKED_AFTER", (0.0,)))
        typed = accepted("/a/b", "typed\n")._replace(state=OPEN, proposed="another")
        state_file.save_state(self.path, [self.saved("/a", proposals=(typed,))])

        async def step(windows: Windows) -> None:
            windows.set_windows({1: ("/b", "/a")})
            await until(lambda: self.editor.returned)

        self.run_with(step)
        self.assertEqual(self.editor.returned, [(1, "/a/b", "typed\n")])
        self.assertFalse(self.load()[("/a",)].has_texts)

    def test_what_was_kept_elsewhere_stays_where_it_is(self) -> None:
        state_file.save_state(self.path, [self.saved("/a")])

        async def step(windows: Windows) -> None:
            windows.set_windows({1: ("/ab", "/a/deeper")})
            self.assertEqual(texts(windows, 1), ())

        self.run_with(step)
        self.assertTrue(self.load()[("/a",)].has_texts)

    def test_a_closed_window_leaves_what_nobody_took_to_the_next_one(self) -> None:
        async def step(windows: Windows) -> None:
            windows.set_windows({1: ("/a",)})
            await until(lambda: self.environments)
            DiffAccepted(1, "session", "/a/b", "mine\n").apply(windows)
            windows.set_windows({})
            await until(lambda: self.load().get(("/a",)) and not windows._tasks)
            windows.set_windows({2: ("/a",)})
            self.assertEqual(texts(windows, 2), (("/a/b", "mine\n"),))

        self.run_with(step)
        self.assertTrue(self.load()[("/a",)].has_texts)


class WordsForAModel(OutlivingTestCase):
    """A note on a rejection, for a CLI with hooks that runs still."""

    def take(self, windows: Windows) -> bool:
        told = {"hook_event_name": "SessionStart", "session_id": "cli"}
        event = hook_events.read_hook(GEMINI_CLI, {"pid": os.getpid(), "input": told})
        workspace = windows.workspaces.get(1)
        assert event is not None and workspace is not None
        workspace.hooks.live.apply_hook(event, "session")
        return WordsForCli(1, "session", "/a/b", "No.", False).find_answer(windows)

    async def begin_and_take(self, windows: Windows) -> None:
        windows.set_windows({1: ("/a",)})
        await until(lambda: self.environments)
        self.assertTrue(self.take(windows))

    def waiting(self, windows: Windows, window_id: int) -> list[str]:
        workspace = windows.workspaces.get(window_id)
        return (
            [word.text for word in workspace.words.saved_words()] if workspace is not None else []
        )

    def test_it_waits_for_the_cli_in_the_same_window_after_a_restart(self) -> None:
        self.run_with(self.begin_and_take)

        async def step(windows: Windows) -> None:
            windows.set_windows({2: ("/other",), 3: ("/a",)})
            self.assertEqual(self.waiting(windows, 3), ["No."])
            for workspace in windows:
                await workspace.words.return_undeliverable()

        self.run_with(step)
        self.assertEqual(self.editor.returned, [])
        self.assertEqual([word.text for word in self.load()[("/a",)].words], ["No."])

    def test_a_window_that_closes_as_the_editor_ends_loses_neither_it_nor_a_decision(self) -> None:
        async def step(windows: Windows) -> None:
            await self.begin_and_take(windows)
            DiffAccepted(1, "session", "/a/b", "mine\n").apply(windows)
            windows.set_windows({})

        self.run_with(step)
        left = self.load().get(("/a",))
        assert left is not None
        self.assertEqual(
            ([word.text for word in left.words], texts_of(left)), (["No."], ["mine\n"])
        )

    def test_another_window_gives_it_back_if_the_cli_is_not_heard_of(self) -> None:
        async def close(windows: Windows) -> None:
            await self.begin_and_take(windows)
            windows.set_windows({2: ("/other",)})
            await until(lambda: self.waiting(windows, 2))
            second = windows.workspaces.get(2)
            assert second is not None
            with mock.patch.object(words_for_model.time, "time", lambda: later):
                await second.words.return_undeliverable()

        later = time.time() + 2 * words_for_model.RETURN
        self.run_with(close)
        self.assertEqual(self.editor.returned, [(2, "/a/b", "No.")])
        self.assertFalse(any(saved.words for saved in self.load().values()))

    def test_nothing_is_taken_that_would_not_outlive_a_stop(self) -> None:
        self.path = ""

        async def step(windows: Windows) -> None:
            windows.set_windows({1: ("/a",)})
            self.assertFalse(self.take(windows))

        self.run_with(step)
