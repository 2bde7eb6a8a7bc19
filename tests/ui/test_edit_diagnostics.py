"""New problems of LSP and SublimeLinter in a file that a CLI has written, as its model reads them.

Stand-ins have the names and shapes that the packages have (docs/sublime.md 9.1, 9.2).
"""

from __future__ import annotations

import sys
import types
import unittest
from collections import defaultdict
from concurrent.futures import Future
from typing import Any

import sublime
from GeminiCompanion.companion.ide.hooks import diagnostics_after_edits
from GeminiCompanion.companion.ui.edit_diagnostics import EditDiagnostics
from GeminiCompanion.companion.ui.prompt import diagnostics
from GeminiCompanion.companion.ui.prompt.diagnostics import Diagnostic, new_diagnostics

from .adapter import text_of
from .reviewing import ReviewCase, Steps


class Storage:
    """LSP's, since its release 2.8."""

    def __init__(self) -> None:
        self._diagnostics: dict[str, dict[str | None, list[Any]]] = {}

    def get_diagnostics_for_uri(self, uri: str) -> list[Any]:
        return [problem for found in self._diagnostics.get(uri, {}).values() for problem in found]


class OldStorage(Storage):
    """Before that: without a list for a file that has no problems."""

    def __init__(self) -> None:
        self.found: dict[str, list[Any]] = {}

    def get_diagnostics_for_uri(self, uri: str) -> list[Any]:
        raise AttributeError

    def diagnostics_by_document_uri(self, uri: str) -> list[Any]:
        return self.found.get(uri, [])


class Server:
    """A session of LSP that watches one file."""

    def __init__(self, path: str, storage: Storage) -> None:
        self.uri, self.diagnostics = "file://" + path, storage
        self.config = types.SimpleNamespace(name="pyright")
        self.buffer = types.SimpleNamespace(_diagnostics_version=0)

    def get_session_buffer_for_uri_async(self, uri: str) -> Any:
        return self.buffer if uri == self.uri else None

    def reports(self, *messages: str) -> None:
        """Each on a row of its own, from the first."""
        found = []
        for row, message in enumerate(messages):
            place = {"line": row, "character": 0}
            found.append({"range": {"start": place, "end": place}, "message": message})
        if isinstance(self.diagnostics, OldStorage):
            self.diagnostics.found[self.uri] = found
            self.buffer._diagnostics_version += 1
        else:
            self.diagnostics._diagnostics[self.uri] = {None: found}


class Case(ReviewCase):
    storage = Storage

    def setUp(self) -> None:
        super().setUp()
        # On a busy machine, too, the tools report in time; an editor looks at disks each second.
        self.replace(diagnostics_after_edits, "REPORTED", 60.0)
        self.replace(diagnostics_after_edits, "PATIENCE", 60.0)
        self.looks = 0
        look = EditDiagnostics._look_at_file

        def count(edit_diagnostics: EditDiagnostics, *arguments: Any) -> Any:
            self.looks += 1
            return look(edit_diagnostics, *arguments)

        self.replace(EditDiagnostics, "_look_at_file", count)

    def tearDown(self) -> Steps:
        yield self.cli.hook("SessionEnd").done
        yield from super().tearDown()

    def module(self, name: str, **members: Any) -> Any:
        module = types.ModuleType(name)
        module.__dict__.update(members)
        sys.modules[name] = module
        self.addCleanup(sys.modules.pop, name, None)
        return module

    def watch(self) -> Steps:
        """A file is open that a server watches."""
        self.cli = yield from self.connect()
        self.view = yield from self.open("a.py", "old\n")
        self.path = str(self.view.file_name())
        self.server = Server(self.path, self.storage())
        manager = types.SimpleNamespace(get_sessions=lambda: iter([self.server]))
        windows = types.SimpleNamespace(lookup=lambda _window: manager)
        self.module(diagnostics.LSP, windows=windows)
        self.module(diagnostics.LSP_URLS, filename_to_uri=lambda path: "file://" + path)

    def hook(self, event: str) -> Future[dict[str, Any]]:
        call = {"tool_name": "write_file", "tool_input": {"file_path": self.path}}
        return self.cli.hook(event, **call)

    def begin_edit(self) -> Steps:
        """The CLI asks the user about an edit: it is not one to look at later."""
        asked = {"type": "edit", "filePath": self.path}
        yield self.hook("BeforeTool").done
        asking = self.cli.hook("Notification", notification_type="ToolPermission", details=asked)
        yield asking.done

    def write_anew(self, is_loaded: bool = True) -> Steps:
        """The CLI does, and the editor sees it."""
        yield from self.begin_edit()
        self.write("a.py", "new\n")
        if is_loaded:
            yield lambda: text_of(self.view) == "new\n"

    def until_asked(self) -> Steps:
        """Until the editor was asked twice, and had nothing to say."""
        self.looks = 0
        self.answer = self.hook("AfterTool")
        yield lambda: self.looks > 1 or self.answer.done()
        self.assertFalse(self.answer.done())

    def lines(self) -> list[str]:
        """What the model reads, below the line that names the file."""
        found = self.answer.result().get("hookSpecificOutput", {})
        return str(found.get("additionalContext", "")).splitlines()[1:]


class Servers(Case):
    def test_what_a_server_reports_after_the_edit_and_not_before_is_told(self) -> Steps:
        yield from self.watch()
        self.server.reports("old one", "other")
        yield from self.write_anew()
        yield from self.until_asked()
        self.server.reports("first", "old one")
        yield self.answer.done
        self.assertEqual(self.lines(), ["line 1, column 1: error: first"])

    def test_a_file_that_is_well_again_is_waited_for_and_adds_nothing(self) -> Steps:
        yield from self.watch()
        self.server.reports()
        yield from self.write_anew()
        yield from self.until_asked()
        self.server.reports()
        yield self.answer.done
        self.assertEqual(self.answer.result(), {})

    def test_a_report_before_the_text_is_loaded_is_about_the_old_one(self) -> Steps:
        yield from self.watch()
        yield from self.begin_edit()
        self.server.reports("old one")
        self.write("a.py", "new\n")
        yield lambda: text_of(self.view) == "new\n"
        yield from self.until_asked()
        self.server.reports("old one", "new one")
        yield self.answer.done
        self.assertEqual(self.lines(), ["line 2, column 1: error: new one"])

    def test_what_is_not_reported_in_time_does_not_hold_the_cli_up(self) -> Steps:
        yield from self.watch()
        yield from self.write_anew()
        self.replace(diagnostics_after_edits, "REPORTED", 0.0)
        self.answer = self.hook("AfterTool")
        yield self.answer.done
        self.assertEqual(self.answer.result(), {})

    def test_nothing_is_looked_at_that_nobody_watches_or_that_is_not_loaded_again(self) -> Steps:
        yield from self.watch()
        for prepare in (self.close, self.type_into_it, self.keep, self.lose_server):
            with self.subTest(prepare.__name__):
                view = yield from self.open("a.py", "old\n")
                prepare(view)
                self.looks = 0
                yield from self.write_anew(is_loaded=False)
                self.answer = self.hook("AfterTool")
                yield self.answer.done
                self.assertEqual((self.answer.result(), self.looks), ({}, 0))
                view.set_scratch(True)
                view.close()

    def close(self, view: sublime.View) -> None:
        view.close()

    def type_into_it(self, view: sublime.View) -> None:
        view.run_command("append", {"characters": "mine\n"})

    def keep(self, view: sublime.View) -> None:
        view.settings().set("reload_file_on_change", False)

    def lose_server(self, view: sublime.View) -> None:
        self.server.uri = "file:///other"


class OldServers(Servers):
    storage = OldStorage


class Linters(Case):
    def test_a_linter_that_runs_is_waited_for(self) -> Steps:
        yield from self.watch()
        self.server.uri = "file:///other"
        buffer = self.view.buffer_id()
        found: defaultdict[str, Any] = defaultdict(list)
        persist = self.module(
            diagnostics.LINTER,
            file_errors=found,
            assigned_linters={buffer: {"flake8"}},
            active_procs=defaultdict(list),
        )
        yield from self.write_anew()
        yield from self.until_asked()
        persist.active_procs[buffer].append("flake8")
        error = {"line": 4, "start": 0, "error_type": "warning", "code": "E501"}
        found[self.path] = [{**error, "msg": "too long", "linter": "flake8"}]
        self.looks = 0
        yield lambda: self.looks > 1 or self.answer.done()
        self.assertFalse(self.answer.done())
        persist.active_procs[buffer].clear()
        yield self.answer.done
        self.assertEqual(self.lines(), ["line 5, column 1: warning: too long (flake8 E501)"])


class New(unittest.TestCase):
    def test_what_only_moved_is_not_new(self) -> None:
        def at(*places: str) -> list[Diagnostic]:
            return [Diagnostic(int(place[1:]), 0, "error", place[0]) for place in places]

        for before, now, expected in (
            ("", "a1", "a1"),
            ("a1", "a1", ""),
            ("a1", "a5", ""),
            ("a1", "a1 a5", "a5"),
            ("a5", "a1 a5", "a1"),
            ("a1 a2", "a3", ""),
            ("a1", "b1", "b1"),
            ("a1 b2", "b1 a2 c3", "c3"),
        ):
            with self.subTest(f"{before} to {now}"):
                found = new_diagnostics(at(*before.split()), at(*now.split()))
                self.assertEqual(found, at(*expected.split()))
