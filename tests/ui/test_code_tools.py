"""What the tools of CLIs are told of the code: asked as a CLI does, answered by the editor."""

from __future__ import annotations

import json
import os
import sys
import types
from typing import Any, Callable, Generator, NamedTuple
from unittest import mock

import sublime
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.ide.code_queries import DefinitionsOf, Findings, Spot, SymbolsIn
from GeminiCompanion.companion.ide.editor import EditorError
from GeminiCompanion.companion.ui import stories
from GeminiCompanion.companion.ui.code import code_tools, language_servers
from GeminiCompanion.companion.ui.prompt import diagnostics

from ..waiting import PATIENCE
from .reviewing import ReviewCase, Steps

PYTHON = "def one():\n    return two()\n\ndef two():\n    return '\U0001f600' + two()\n"


class CodeToolsCase(ReviewCase):
    def setUp(self) -> None:
        super().setUp()
        before = self.window.project_data()
        self.addCleanup(self.window.set_project_data, before)
        self.window.set_project_data({"folders": [{"path": self.folder}]})

    def found(self, tool: str, **arguments: Any) -> Generator[Any, Any, Any]:
        """`found = yield from self.found(...)`: the result of the tool; a sentence if it failed."""
        if not self.clis:
            yield from self.connect()
        answer = self.clis[0].editor_tool(tool, **arguments)
        yield answer.done
        result = answer.result()["result"]
        text = result["content"][0]["text"]
        return text if result.get("isError") else json.loads(text)

    def select(self, view: sublime.View, begin: int, end: int) -> None:
        view.sel().clear()
        view.sel().add(sublime.Region(begin, end))

    def insert(self, view: sublime.View, text: str) -> None:
        """At the beginning."""
        self.select(view, 0, 0)
        view.run_command("insert", {"characters": text})

    def places(self, found: Any) -> list[tuple[str, int, int]]:
        rows = [(result["path"], result["line"], result["column"]) for result in found["results"]]
        return [(os.path.basename(path), *rest) for path, *rest in rows]


class Files(CodeToolsCase):
    def test_open_files_tell_what_is_active_and_what_is_unsaved(self) -> Steps:
        a = yield from self.open("a.py", PYTHON)
        b = yield from self.open("b.py", PYTHON)
        self.insert(a, "# new\n")
        told = yield from self.found("open_files")
        mine = [file for file in told["files"] if file["path"].startswith(self.folder)]
        rows = [{"path": b.file_name(), "active": True}, {"path": a.file_name(), "unsaved": True}]
        self.assertEqual(mine, rows)

    def test_the_selection_has_places_from_one_in_characters(self) -> Steps:
        view = yield from self.open("a.py", PYTHON)
        begin = view.find("'", 0).a
        self.select(view, begin, begin + 3)
        told = yield from self.found("selection")
        (only,) = told["selections"]
        self.assertEqual(told["path"], view.file_name())
        self.assertEqual(only["text"], "'\U0001f600'")
        self.assertEqual(only["start"], {"line": 5, "column": 12})
        self.assertEqual(only["end"], {"line": 5, "column": 15})

    def test_a_long_selection_is_cut(self) -> Steps:
        view = yield from self.open("a.py", "x" * 20000)
        self.select(view, 0, 20000)
        told = yield from self.found("selection")
        self.assertEqual(len(told["selections"][0]["text"]), code_tools.MAX_SELECTED)


class Show(CodeToolsCase):
    def test_the_file_opens_at_its_line_and_the_user_types_on(self) -> Steps:
        mine = yield from self.open("a.py", PYTHON)
        self.window.set_layout(
            {"cols": [0, 0.5, 1], "rows": [0, 1], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]}
        )
        one = {"cols": [0, 1], "rows": [0, 1], "cells": [[0, 0, 1, 1]]}
        self.addCleanup(self.window.set_layout, one)
        path = self.write("b.py", PYTHON)
        told = yield from self.found("show", path=path, line=4)
        self.assertIn("sees it", told["note"])
        self.assertEqual(self.window.active_view(), mine)
        view = self.window.find_open_file(path)
        yield lambda: not view.is_loading()
        self.assertEqual(self.window.get_view_index(view)[0], 1)
        self.assertEqual(view.rowcol(view.sel()[0].b), (3, 0))

    def test_it_does_not_cover_what_the_user_types_in(self) -> Steps:
        mine = yield from self.open("a.py", PYTHON)
        path = self.write("b.py", PYTHON)
        told = yield from self.found("show", path=path)
        self.assertIn("behind", told["note"])
        self.assertEqual(self.window.active_view(), mine)
        self.assertIsNotNone(self.window.find_open_file(path))

    def test_the_caret_of_the_user_stays(self) -> Steps:
        mine = yield from self.open("a.py", PYTHON)
        self.select(mine, 2, 2)
        told = yield from self.found("show", path=mine.file_name(), line=4)
        self.assertIn("sees it", told["note"])
        self.assertEqual([(region.a, region.b) for region in mine.sel()], [(2, 2)])


class Index(CodeToolsCase):
    def test_names_are_found_in_open_files_and_in_those_of_the_project(self) -> Steps:
        view = yield from self.open("a.py", PYTHON)
        self.write("b.py", "import two\ntwo()\n")
        rows: tuple[tuple[str, dict[str, Any], list[Any]], ...] = (
            ("definition", {"name": "two"}, [("a.py", 4, 5)]),
            ("definition", {"line": 2, "column": 13}, [("a.py", 4, 5)]),
            ("references", {"name": "two"},
             [("a.py", 2, 12), ("a.py", 5, 18), ("b.py", 1, 8), ("b.py", 2, 1)]),
            ("symbols", {"query": "TW"}, [("a.py", 4, 5)]),
            ("symbols", {"path": True}, [("a.py", 1, 5), ("a.py", 4, 5)]),
        )  # fmt: skip
        for tool, arguments, places in rows:
            if "line" in arguments or "path" in arguments:
                arguments = {**arguments, "path": view.file_name()}
            with self.subTest(tool, **arguments):
                told = yield from self.found(tool, **arguments)
                self.assertEqual(self.places(told), places)
                self.assertEqual(told["source"], code_tools.INDEX)

    def test_a_place_in_a_file_that_is_not_open_names_a_symbol_too(self) -> Steps:
        self.write("a.py", PYTHON)
        path = self.write("b.py", "x = two()\n")
        told = yield from self.found("definition", path=path, line=1, column=6)
        self.assertEqual(self.places(told), [("a.py", 4, 5)])
        told = yield from self.found("definition", path=path, line=1, column=3)
        self.assertEqual(told, code_tools.NO_WORD)

    def test_the_line_is_that_of_the_editor_where_the_file_is_open(self) -> Steps:
        view = yield from self.open("a.py", PYTHON)
        self.insert(view, "def new(): pass\n")
        told = yield from self.found("symbols", path=view.file_name())
        self.assertEqual(told["results"][0]["text"], "def new(): pass")

    def test_the_editor_has_its_turn_between_rows_and_rows_are_bounded(self) -> Steps:
        view = yield from self.open("a.py", "def one(): pass\n" * 20)
        self.replace(code_tools, "MAX_FOUND", 15)
        for slice, awaits in ((60.0, 0), (-1.0, 15)):
            self.replace(stories, "SLICE", slice)
            story, found = (
                code_tools._run_query(self.window, SymbolsIn(str(view.file_name()))),
                None,
            )
            count = -1
            while found is None:
                try:
                    awaited = story.send(None)
                except StopIteration as end:
                    found = end.value
                else:
                    yield lambda awaited=awaited: awaited.is_there
                    count += 1
            # One await is for language servers.
            self.assertEqual((len(found.rows), count), (15, awaits))

    def test_the_symbols_of_a_file_that_is_not_open_are_not_known(self) -> Steps:
        told = yield from self.found("symbols", path=self.write("a.py", PYTHON))
        self.assertEqual(told, code_tools.NOT_OPEN.format("a.py"))


class Request(NamedTuple):
    """One of LSP's."""

    method: str
    params: Any
    view: sublime.View | None


class LanguageServers(CodeToolsCase):
    """With a stand-in for the package LSP, whose replies are those of `self.replies`."""

    def setUp(self) -> None:
        super().setUp()
        self.replies: dict[str, Any] = {}
        self.asked: list[tuple[str, Any]] = []
        # A busy machine does not come too late.
        self.replace(language_servers, "PATIENCE", 1000 * PATIENCE)
        self.session = types.SimpleNamespace(
            config=types.SimpleNamespace(name="pyright"),
            has_capability=lambda name: True,
            session_view_for_view_async=lambda view: view,
            send_request_async=self.reply,
        )
        manager = types.SimpleNamespace(get_sessions=lambda: iter([self.session]))
        windows = types.SimpleNamespace(lookup=lambda window: manager)
        urls = {
            "filename_to_uri": lambda path: "file://" + path,
            "parse_uri": lambda uri: tuple(uri.split("://")),
        }
        self.module(diagnostics.LSP, windows=windows)
        self.module(diagnostics.LSP_URLS, **urls)
        self.module(language_servers.PROTOCOL, Request=Request)

    def module(self, name: str, **content: Any) -> None:
        module = types.ModuleType(name)
        vars(module).update(content)
        patch = mock.patch.dict(sys.modules, {name: module})
        patch.start()
        self.addCleanup(patch.stop)

    def reply(
        self, request: Any, on_result: Callable[[Any], None], on_error: Callable[[Any], None]
    ) -> None:
        self.asked.append((request.method, request.params))
        if request.method in self.replies:
            on_result(self.replies[request.method])
        else:
            on_error({"message": "no"})

    def range(self, row: int, column: int) -> Any:
        place = {"line": row, "character": column}
        return {"start": place, "end": place}

    def test_the_server_is_asked_at_the_place_in_utf_16_and_answers_in_characters(self) -> Steps:
        view = yield from self.open("a.py", PYTHON)
        uri = f"file://{view.file_name()}"
        for reply in (
            {"uri": uri, "range": self.range(4, 18)},
            [{"uri": uri, "range": self.range(4, 18)}],
            [{"targetUri": uri, "targetRange": {}, "targetSelectionRange": self.range(4, 18)}],
        ):
            self.replies["textDocument/definition"] = reply
            told = yield from self.found("definition", path=view.file_name(), line=5, column=18)
            self.assertEqual(self.places(told), [("a.py", 5, 18)])
            self.assertIn("pyright", told["source"])
        params = {"textDocument": {"uri": uri}, "position": {"line": 4, "character": 18}}
        self.assertEqual(self.asked[-1], ("textDocument/definition", params))

    def test_symbols_come_with_their_kinds_and_those_within_them(self) -> Steps:
        view = yield from self.open("a.py", PYTHON)
        inner = {"name": "two", "kind": 6, "selectionRange": self.range(3, 4)}
        outer = {"name": "One", "kind": 5, "selectionRange": self.range(0, 4), "children": [inner]}
        self.replies["textDocument/documentSymbol"] = [outer]
        told = yield from self.found("symbols", path=view.file_name())
        found = [(result["kind"], result["name"], result["line"]) for result in told["results"]]
        self.assertEqual(found, [("class", "One", 1), ("method", "two", 4)])

    def test_symbols_of_the_project_are_asked_of_the_server(self) -> Steps:
        path = self.write("b.py", PYTHON)
        place = {"uri": f"file://{path}", "range": self.range(3, 4)}
        self.replies["workspace/symbol"] = [{"name": "two", "kind": 12, "location": place}]
        told = yield from self.found("symbols", query="two")
        self.assertEqual(self.places(told), [("b.py", 4, 5)])
        self.assertEqual(told["results"][0]["text"], "def two():")

    def test_a_definition_by_name_is_that_of_the_whole_name(self) -> Steps:
        path = self.write("b.py", PYTHON)
        place = {"uri": f"file://{path}", "range": self.range(0, 4)}
        one = {"name": "one", "kind": 12, "location": place}
        self.replies["workspace/symbol"] = [one, {**one, "name": "someone"}]
        told = yield from self.found("definition", name="one")
        self.assertEqual([result["name"] for result in told["results"]], ["one"])
        self.assertIn("pyright", told["source"])
        told = yield from self.found("definition", name="two")
        self.assertEqual(self.places(told), [("b.py", 4, 5)])
        self.assertEqual(told["source"], code_tools.INDEX)

    def test_without_a_good_reply_the_index_is_asked(self) -> Steps:
        view = yield from self.open("a.py", PYTHON)
        for reply in (None, [], [{"no": "place"}], 5):
            self.replies["textDocument/definition"] = reply
            told = yield from self.found("definition", path=view.file_name(), line=2, column=12)
            self.assertEqual(
                (self.places(told), told["source"]), ([("a.py", 4, 5)], code_tools.INDEX)
            )
        self.replies.clear()
        told = yield from self.found("references", path=view.file_name(), line=4, column=5)
        self.assertEqual(told["source"], code_tools.INDEX)

    def test_a_package_that_has_changed_counts_as_silent(self) -> Steps:
        view = yield from self.open("a.py", PYTHON)
        self.session.has_capability = None
        told = yield from self.found("definition", path=view.file_name(), line=2, column=12)
        self.assertEqual(told["source"], code_tools.INDEX)

    def test_a_server_that_never_answers_is_not_waited_for(self) -> Steps:
        view = yield from self.open("a.py", PYTHON)
        self.session.send_request_async = lambda *arguments: None
        self.replace(language_servers, "PATIENCE", 1)
        told = yield from self.found("definition", path=view.file_name(), line=2, column=12)
        self.assertEqual(told["source"], code_tools.INDEX + language_servers.LATE)

    def test_a_question_that_is_cut_has_an_answer_all_the_same(self) -> Steps:
        view = yield from self.open("a.py", PYTHON)
        self.session.send_request_async = lambda *arguments: None
        query = DefinitionsOf(spot=Spot(str(view.file_name()), 2, 12))
        answer: Answer[Findings] = Answer()
        story = code_tools._answer_query(self.window, query, answer)
        self.assertFalse(story.send(None).is_there)
        self.assertFalse(answer.is_there)
        story.close()
        self.assertRaisesRegex(EditorError, "closed", answer.result)

    def test_diagnostics_come_with_their_severity_and_in_characters(self) -> Steps:
        view = yield from self.open("a.py", PYTHON)
        error = {"range": self.range(4, 18), "message": "not\ndefined", "severity": 2}
        found = {f"file://{view.file_name()}": [error]}
        read = lambda uri: found.get(uri, [])  # noqa: E731
        self.session.diagnostics = types.SimpleNamespace(get_diagnostics_for_uri=read)
        for arguments in ({}, {"path": view.file_name()}):
            told = yield from self.found("diagnostics", **arguments)
            self.assertEqual(self.places(told), [("a.py", 5, 18)])
            self.assertEqual(told["results"][0]["severity"], "warning")
            self.assertEqual(told["results"][0]["message"], "not defined")


class GenuineServer(CodeToolsCase):
    """With the package LSP itself, and whatever language server it runs for Python."""

    def setUp(self) -> None:
        if diagnostics.LSP not in sys.modules:
            self.skipTest("needs the package LSP with a language server for Python")
        super().setUp()

    def is_served(self, view: sublime.View) -> bool:
        manager = sys.modules[diagnostics.LSP].windows.lookup(self.window)
        sessions = list(manager.get_sessions()) if manager is not None else []
        return any(session.session_view_for_view_async(view) is not None for session in sessions)

    def test_it_tells_which_of_two_symbols_of_one_name_is_meant(self) -> Steps:
        b = yield from self.open("b.py", "def two():\n    pass\n")
        a = yield from self.open("a.py", "import b\n\n\ndef two():\n    b.two()\n\n\ntwo()\n")
        yield lambda: self.is_served(a)
        place = {"path": a.file_name(), "line": 5, "column": 8}
        # A server may be at work for a while when it starts.
        for _ in range(10):
            told = yield from self.found("definition", **place)
            if language_servers.LATE not in told["source"]:
                break
        self.assertEqual(self.places(told), [("b.py", 1, 5)])
        self.assertIn("the language server", told["source"])
        told = yield from self.found("references", path=b.file_name(), line=1, column=5)
        self.assertIn(("a.py", 5, 7), self.places(told))
        self.assertNotIn(("a.py", 8, 1), self.places(told))
        told = yield from self.found("symbols", path=a.file_name())
        self.assertIn(
            "function", [result["kind"] for result in told["results"] if result["name"] == "two"]
        )
