"""What CLIs are told of, and what leaves the editor in no way."""

from __future__ import annotations

import html
import json
import logging
import os
import re
from typing import Any, Generator, Iterable, Sequence
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ide.questions import WindowStatuses
from GeminiCompanion.companion.ide.status import Status
from GeminiCompanion.companion.ui import settings, sharing_settings
from GeminiCompanion.companion.ui.commands import companion_commands
from GeminiCompanion.companion.ui.review import open_diffs

from ..fake_cli import FakeCli
from .adapter import AdapterTestCase, saved_state

Steps = Generator[Any, Any, None]
# Stand in the names and in the texts of files that are held back, and nowhere else.
NAME, TEXT = "zebra", "quagga"


class SharingTestCase(AdapterTestCase):
    def setUp(self) -> None:
        super().setUp()
        before: Any = self.window.project_data()
        self.addCleanup(lambda: plugin._host.running.editor.windows.check_windows())
        self.addCleanup(self.window.set_project_data, before)
        self.addCleanup(sharing_settings.resume_sharing, self.window)

    def set(self, key: str, value: Any) -> None:
        stored = sublime.load_settings(settings.FILE)
        self.addCleanup(stored.set, key, stored.get(key))
        stored.set(key, value)

    def set_project(self, **ours: Any) -> None:
        data: Any = self.window.project_data() or {}
        self.window.set_project_data({**data, "settings": {settings.PROJECT_KEY: ours}})
        plugin.GeminiCompanionListener().on_post_save_project(self.window)

    def paths(self, cli: FakeCli) -> list[str]:
        """Those in the folder of the test, by their names."""
        paths = [entry["path"] for entry in cli.context()]
        return [os.path.basename(path) for path in paths if path.startswith(self.folder)]


class WhatIsExcluded(SharingTestCase):
    """Every byte that leaves is searched for the names and texts of files that are held back."""

    def setUp(self) -> None:
        super().setUp()
        self.records: list[str] = []
        self.handler = logging.Handler()
        self.handler.emit = lambda record: self.records.append(  # type: ignore[method-assign]
            logging.Formatter().format(record)
        )
        logging.getLogger().addHandler(self.handler)
        self.addCleanup(logging.getLogger().removeHandler, self.handler)
        self.set("log_level", "debug")
        self.statuses: Sequence[Status] = ()

    def session(self) -> Steps:
        """A user who looks at, edits, renames and closes such files, while CLIs come and go."""
        shown = yield from self.open("shown.py", "text\n")
        self.cli = yield from self.connect()
        env = yield from self.open(f".env.{NAME}", f"{TEXT}=1\n" * 3)
        yield from self.until_heard(self.cli)
        env.sel().clear()
        env.sel().add(sublime.Region(0, env.size()))
        env.run_command("append", {"characters": TEXT})
        yield from self.until_heard(self.cli)
        link = os.path.join(self.folder, "link.txt")
        os.symlink(str(env.file_name()), link)
        view = self.window.open_file(link)
        yield lambda: not view.is_loading()
        yield from self.until_heard(self.cli)
        # A CLI that connects is told at once what is in front, and so it is after a restart.
        other = yield from self.connect()
        sublime.run_command("gemini_companion_restart_companion")
        yield lambda: other.stream_ended.is_set() and self.cli.stream_ended.is_set()
        yield lambda: plugin._host.environment_of(self.window)
        for cli in (other, self.cli):
            cli.resume()
            yield cli.connected
        yield from self.until_heard(self.cli)
        # From a name that is told to one that is not, and back.
        shown.retarget(self.write(f"{NAME}.pem", TEXT))
        shown.run_command("revert")
        self.window.focus_view(shown)
        yield from self.until_heard(self.cli)
        self.window.focus_view(env)
        env.retarget(os.path.join(self.folder, "renamed.txt"))
        yield from self.until_heard(self.cli)
        env.retarget(os.path.join(self.folder, f"credentials-{NAME}"))
        yield from self.until_heard(self.cli)
        self.window.run_command("gemini_companion_show_shared_context")
        plugin.GeminiCompanionListener().on_post_move(env)
        yield from self.until_heard(other)
        self.statuses = yield from self.answered(WindowStatuses())

    def bytes_that_left(self) -> Iterable[bytes]:
        for cli in self.clis:
            yield from cli.raw
        yield from (line.encode() for line in plugin._host.log.lines())
        yield from (record.encode() for record in self.records)
        yield saved_state().encode()
        yield from (each.text().encode() for each in self.statuses)
        pages = plugin._host.running.pages.shared_pages
        yield from (page.encode() for page in pages._pages._contents.values())

    def found(self, word: str) -> list[bytes]:
        return [data for data in self.bytes_that_left() if word.encode() in data]

    def test_is_in_no_stream_answer_log_file_status_or_sheet(self) -> Steps:
        yield from self.session()
        self.assertTrue(self.found("shown.py"))
        self.assertEqual((self.found(NAME), self.found(TEXT)), ([], []))

    def test_would_be_found_if_it_were_not_excluded(self) -> Steps:
        self.set("exclude", [])
        yield from self.session()
        self.assertTrue(self.found(NAME))
        self.assertTrue(self.found(TEXT))

    def test_is_in_no_line_of_the_log_where_its_diff_cannot_be_shown_again(self) -> Steps:
        cli = yield from self.connect()
        path = self.write(f".env.{NAME}", "old\n")
        right = yield from self.diff(cli, path, "new\n")
        plugin._host.stop()
        yield lambda: cli.stream_ended.is_set()
        # The editor does not bring its tab back, and the file has become something else.
        for view in (right, open_diffs.partner_view(right)):
            view.close()
        os.remove(path)
        os.mkdir(path)
        plugin._host.start()
        log = plugin._host.log.lines
        yield lambda: any("could not be restored" in line for line in log())
        self.assertEqual([line for line in [*self.records, *log()] if NAME in line], [])
        # It is rejected then, and the CLI is told.
        cli.resume()
        yield lambda: cli.received("ide/diffRejected")

    def test_is_reviewed_as_ever_where_the_cli_names_it(self) -> Steps:
        cli = yield from self.connect()
        path = self.write(".env", "old\n")
        right = yield from self.diff(cli, path, "new\n")
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: cli.received("ide/diffAccepted")
        self.assertEqual(cli.received("ide/diffAccepted")[-1]["filePath"], path)
        yield lambda: not right.is_valid()


class Changing(SharingTestCase):
    def test_a_pattern_of_the_project_counts_at_once_and_adds_to_the_users(self) -> Steps:
        yield from self.open("a.sql", "x\n")
        yield from self.open(".env", "x\n")
        cli = yield from self.connect()
        self.assertEqual(self.paths(cli), ["a.sql"])
        self.set_project(exclude=["*.sql"])
        yield from self.until_equal(lambda: self.paths(cli), [])
        self.set_project()
        yield from self.until_equal(lambda: self.paths(cli), ["a.sql"])

    def test_only_project_files_follows_the_folders_of_the_window(self) -> Steps:
        yield from self.open("a.py", "x\n")
        cli = yield from self.connect()
        self.set_project(only_project_files=True)
        yield from self.until_equal(lambda: self.paths(cli), [])
        data: Any = self.window.project_data()
        self.window.set_project_data({**data, "folders": [{"path": self.folder}]})
        plugin._host.running.editor.windows.check_windows()
        yield from self.until_equal(lambda: self.paths(cli), ["a.py"])

    def test_a_pattern_that_cannot_be_read_holds_back_all_and_is_told(self) -> Steps:
        yield from self.open("a.py", "x\n")
        cli = yield from self.connect()
        with mock.patch.object(plugin._host.running.messages, "warn_user") as tell:
            self.set("exclude", ["*.pem", "keys/[a-"])
            yield from self.until_equal(lambda: self.paths(cli), [])
            yield lambda: tell.called
        self.assertIn("keys/[a-", tell.call_args[0][0])

    def test_a_pause_is_told_at_once_and_outlives_a_restart_of_the_companion(self) -> Steps:
        yield from self.open("a.py", "x\n")
        cli = yield from self.connect()
        self.assertEqual(self.paths(cli), ["a.py"])
        self.window.run_command("gemini_companion_pause_sharing")
        yield from self.until_equal(cli.context, [])
        sublime.run_command("gemini_companion_restart_companion")
        yield lambda: cli.stream_ended.is_set()
        yield lambda: plugin._host.environment_of(self.window)
        cli.resume()
        yield cli.connected
        yield from self.open("b.py", "x\n")
        yield from self.until_heard(cli)
        self.assertEqual(cli.context(), [])
        self.window.run_command("gemini_companion_resume_sharing")
        yield from self.until_equal(lambda: self.paths(cli), ["b.py", "a.py"])

    def test_only_what_can_be_done_is_offered(self) -> Steps:
        self.assertFalse(
            companion_commands.GeminiCompanionResumeSharingCommand(self.window).is_enabled()
        )
        self.window.run_command("gemini_companion_pause_sharing")
        self.assertFalse(
            companion_commands.GeminiCompanionPauseSharingCommand(self.window).is_enabled()
        )
        self.window.run_command("gemini_companion_resume_sharing")
        self.assertTrue(
            companion_commands.GeminiCompanionPauseSharingCommand(self.window).is_enabled()
        )
        yield


class TheSheet(SharingTestCase):
    def contents(self) -> str:
        found = list(plugin._host.running.pages.shared_pages._pages._contents.values())
        return found[-1] if found else ""

    def payload(self) -> Any:
        """The message as the page has it."""
        shown = re.search('<div class="box payload">(.*?)</div>', self.contents())
        text = shown.group(1) if shown else "null"
        return json.loads(html.unescape(text.replace("<br>", "\n")).replace("\xa0", " "))

    def files(self) -> list[str]:
        message = self.payload()
        files = message["params"]["workspaceState"]["openFiles"] if message else []
        return [os.path.basename(file["path"]) for file in files if self.folder in file["path"]]

    def test_shows_the_message_that_the_cli_got_word_for_word(self) -> Steps:
        view = yield from self.open("<a> & b.py", "x <b>\n  y\n")
        cli = yield from self.connect()
        view.sel().clear()
        view.sel().add(sublime.Region(0, view.size()))
        yield from self.until_heard(cli)
        self.window.run_command("gemini_companion_show_shared_context")
        got = cli.received("ide/contextUpdate")[-1]
        expected = {"jsonrpc": "2.0", "method": "ide/contextUpdate", "params": got}
        yield from self.until_equal(self.payload, expected)
        self.assertIn("one CLI is told", self.contents())

    def test_follows_what_the_user_does_and_counts_what_is_held_back(self) -> Steps:
        yield from self.open("a.py", "x\n")
        self.window.run_command("gemini_companion_show_shared_context")
        yield from self.until_equal(self.files, ["a.py"])
        yield from self.open(".env.one", "x\n")
        yield from self.open(".env.two", "x\n")
        yield lambda: "2 files that match a pattern" in self.contents()
        self.assertNotIn(".env", self.contents())
        self.window.run_command("gemini_companion_pause_sharing")
        yield lambda: "gemini_companion_resume_sharing" in self.contents()
        self.assertEqual(self.files(), [])
        self.assertIn("because sharing is paused", self.contents())

    def test_names_the_pattern_that_cannot_be_read(self) -> Steps:
        self.set_project(exclude=["keys/[a-"])
        self.window.run_command("gemini_companion_show_shared_context")
        yield lambda: "keys/[a-" in self.contents()

    def test_is_one_for_each_window_and_gone_with_the_companion(self) -> Steps:
        for _ in range(2):
            self.window.run_command("gemini_companion_show_shared_context")
        sheets = [sheet for sheet in self.window.sheets() if isinstance(sheet, sublime.HtmlSheet)]
        self.assertEqual(len(sheets), 1)
        sublime.run_command("gemini_companion_restart_companion")
        yield lambda: sheets[0].window() is None
        yield lambda: plugin._host.environment_of(self.window)


class WithoutDiffs(SharingTestCase):
    def tools(self, cli: FakeCli) -> list[str]:
        answer = cli.request("tools/list")
        return sorted(tool["name"] for tool in answer.result()["tools"])

    def test_the_tools_are_withdrawn_and_offered_again_at_once_in_the_project_alone(self) -> Steps:
        cli = yield from self.connect()
        self.assertEqual(self.tools(cli), ["closeDiff", "openDiff"])
        for wanted, tools in ((False, []), (True, ["closeDiff", "openDiff"])):
            before = len(cli.received("notifications/tools/list_changed"))
            self.set_project(diffs=wanted)
            yield from self.until_equal(
                lambda: len(cli.received("notifications/tools/list_changed")), before + 1
            )
            self.assertEqual(self.tools(cli), tools)

    def test_a_proposal_of_a_cli_that_knew_the_tools_is_left_to_its_terminal(self) -> Steps:
        cli = yield from self.connect()
        self.set_project(diffs=False)
        yield lambda: cli.received("notifications/tools/list_changed")
        path = self.write("a.py", "old\n")
        answer = cli.call("openDiff", filePath=path, newContent="new\n")
        yield answer.done
        self.assertEqual(answer.result(), {"content": []})
        self.assertEqual(self.tabs(), {})
        answer = cli.call("closeDiff", filePath=path, suppressNotification=True)
        yield answer.done
        self.assertEqual(answer.result(), {"content": [{"type": "text", "text": "{}"}]})

    def test_a_diff_that_is_open_stays_until_the_user_decides(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        right = yield from self.diff(cli, path, "new\n")
        self.set_project(diffs=False)
        yield lambda: cli.received("notifications/tools/list_changed")
        self.assertTrue(right.is_valid())
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: cli.received("ide/diffAccepted")
