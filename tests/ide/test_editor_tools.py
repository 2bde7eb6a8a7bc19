"""The tools of the server `editor`: what a model asks, and what it is told of the user's files."""

from __future__ import annotations

import json
import os
from typing import Any

from GeminiCompanion.companion.base.jsonrpc import Request
from GeminiCompanion.companion.base.path_maps import PathMap, PathMaps
from GeminiCompanion.companion.ide import editor_tools
from GeminiCompanion.companion.ide.code_pages import ROWS, count_characters
from GeminiCompanion.companion.ide.code_queries import (
    DefinitionsOf,
    Findings,
    FoundCode,
    ProblemsIn,
    Query,
    ReferencesTo,
    Selected,
    Selection,
    Spot,
    SymbolsIn,
    SymbolsNamed,
)
from GeminiCompanion.companion.ide.context import ContextStore, OpenFile
from GeminiCompanion.companion.ide.editor import CodeKnowledge, EditorError
from GeminiCompanion.companion.ide.editor_tools import EditorTools
from GeminiCompanion.companion.ide.sharing import Sharing

from ..support import InLoop, temp_folder


class Code(CodeKnowledge):
    """`found` is what it finds, `asked` what it was asked, `dirty` the files with unsaved
    changes; with a
    `refusal` it can do nothing."""

    def __init__(self) -> None:
        self.refusal = ""
        self.found: list[FoundCode] = []
        self.asked: list[Query] = []
        self.dirty: frozenset[str] = frozenset()
        self.shown: list[tuple[str, int]] = []

    async def look_up(self, window_id: int, query: Query) -> Findings:
        if self.refusal:
            raise EditorError(self.refusal)
        self.asked.append(query)
        return Findings(tuple(self.found), "the index")

    async def selection(self, window_id: int, view_id: int) -> Selection:
        return Selection("a", (Selected(1, 2, 3, 4, f"text of {view_id}"),))

    async def unsaved_files(self, window_id: int) -> frozenset[str]:
        return self.dirty

    async def show_line(self, window_id: int, path: str, line: int) -> bool:
        self.shown.append((path, line))
        return line == 1


class EditorToolsCase(InLoop):
    def setUp(self) -> None:
        self.folder = temp_folder(self)
        self.code = Code()
        self.context = ContextStore()
        self.context.folders = (self.folder,)
        self.tools = EditorTools(7, self.code, self.context)
        self.a = self.write("a.py", "one\n  two = one  \n")

    def write(self, name: str, text: str) -> str:
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return path

    def look_at(self, view_id: int, path: str) -> None:
        self.context.focus_file(OpenFile(view_id, path))

    async def asked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        body = await editor_tools.handle_message(Request(1, method, params), self.tools)
        answer: dict[str, Any] = json.loads(body or b"{}")
        return answer

    async def call(self, tool: str, **arguments: Any) -> tuple[bool, str]:
        """Whether it is an error, and the text."""
        answer = await self.asked("tools/call", {"name": tool, "arguments": arguments})
        result = answer["result"]
        return result.get("isError", False), result["content"][0]["text"]

    async def told(self, tool: str, **arguments: Any) -> Any:
        is_error, text = await self.call(tool, **arguments)
        self.assertFalse(is_error, text)
        return json.loads(text)

    async def error(self, tool: str, **arguments: Any) -> str:
        is_error, text = await self.call(tool, **arguments)
        self.assertTrue(is_error, text)
        return text


class Server(EditorToolsCase):
    async def test_it_names_itself_and_says_when_to_ask(self) -> None:
        answer = await self.asked("initialize", {"protocolVersion": "2025-11-25"})
        result = answer["result"]
        self.assertEqual(result["protocolVersion"], "2025-11-25")
        self.assertEqual(result["serverInfo"]["name"], "editor")
        self.assertIn("definition", result["instructions"])

    async def test_all_its_tools_but_one_only_read(self) -> None:
        tools = (await self.asked("tools/list", {}))["result"]["tools"]
        writing = [tool["name"] for tool in tools if "annotations" not in tool]
        self.assertEqual(writing, ["show"])
        self.assertEqual(len(tools), 7)

    async def test_diffs_are_none_of_its_tools(self) -> None:
        answer = await self.asked("tools/call", {"name": "openDiff", "arguments": {}})
        self.assertIn("diagnostics, definition", answer["error"]["message"])


class Questions(EditorToolsCase):
    async def test_each_tool_asks_the_editor_what_it_is_named_for(self) -> None:
        spot = {"path": self.a, "line": 2, "column": 3}
        self.look_at(1, self.a)
        rows: tuple[tuple[str, dict[str, Any], Query], ...] = (
            ("definition", {"name": " one "}, DefinitionsOf("one")),
            ("definition", spot, DefinitionsOf("", Spot(self.a, 2, 3))),
            ("references", {**spot, "line": 2.0}, ReferencesTo("", Spot(self.a, 2, 3))),
            ("references", {"name": "one"}, ReferencesTo("one")),
            ("symbols", {"path": self.a}, SymbolsIn(self.a)),
            ("symbols", {"query": "one"}, SymbolsNamed("one")),
            ("diagnostics", {"path": self.a}, ProblemsIn((self.a,))),
            ("diagnostics", {}, ProblemsIn((self.a,))),
        )
        for tool, arguments, query in rows:
            with self.subTest(tool, **arguments):
                await self.told(tool, **arguments)
                self.assertEqual(self.code.asked[-1], query)

    async def test_what_is_missing_or_wrong_is_told_to_the_model(self) -> None:
        rows: tuple[tuple[str, dict[str, Any], str], ...] = (
            ("definition", {}, "Expected the name"),
            ("definition", {"path": self.a, "line": 1}, "Expected the name"),
            ("definition", {"name": "x" * 501}, "at most 500"),
            ("symbols", {}, "Expected a query"),
            ("symbols", {"path": "a.py"}, "absolute path"),
            ("symbols", {"path": self.a + "\0"}, "absolute path"),
            ("symbols", {"path": self.a + "x"}, "There is no file"),
            ("symbols", {"path": 5}, "expected arguments.path to be of type string; got a number"),
            ("symbols", {"path": self.a, "offset": -1}, "offset"),
            ("show", {"path": self.a, "line": 0}, "line"),
            ("show", {"path": self.a, "more": 1}, "more"),
        )
        for tool, arguments, words in rows:
            with self.subTest(tool, **arguments):
                self.assertIn(words, await self.error(tool, **arguments))

    async def test_what_the_editor_cannot_is_told(self) -> None:
        self.code.refusal = "The window is closed."
        self.assertEqual(await self.error("symbols", query="x"), "The window is closed.")


class Results(EditorToolsCase):
    async def test_a_row_has_its_place_its_name_and_its_line(self) -> None:
        self.code.found = [
            FoundCode(self.a, 2, 3, "two", "variable"),
            FoundCode(self.a, 9, 1, "gone"),
            FoundCode(self.a, 1, 1, "typed", text="  as typed"),
        ]
        told = await self.told("symbols", query="x")
        self.assertEqual(told["source"], "the index")
        place = {"path": self.a, "column": 1}
        self.assertEqual(
            told["results"],
            [
                {**place, "line": 2, "column": 3, "kind": "variable", "name": "two",
                 "text": "two = one"},
                {**place, "line": 9, "name": "gone", "text": ""},
                {**place, "line": 1, "name": "typed", "text": "as typed"},
            ],
        )  # fmt: skip

    async def test_the_columns_of_servers_become_characters(self) -> None:
        path = self.write("b.py", "'\U0001f600' + two\n")
        self.code.found = [FoundCode(path, 1, 8, is_utf16=True), FoundCode(path, 1, 7)]
        told = await self.told("references", name="two")
        self.assertEqual([row["column"] for row in told["results"]], [7, 7])
        self.assertEqual(count_characters("é\U0001f600x", 3), 2)

    async def test_a_page_is_bounded_and_says_whether_there_is_more(self) -> None:
        self.code.found = [FoundCode(self.a, line, 1) for line in range(1, ROWS + 3)]
        first = await self.told("references", name="one")
        self.assertEqual((len(first["results"]), first["more"]), (ROWS, True))
        last = await self.told("references", name="one", offset=ROWS)
        self.assertEqual([row["line"] for row in last["results"]], [ROWS + 1, ROWS + 2])
        self.assertEqual((last["offset"], last["more"]), (ROWS, False))

    async def test_a_long_line_is_cut(self) -> None:
        self.code.found = [FoundCode(self.write("c.js", "x" * 9999), 1, 1)]
        told = await self.told("references", name="x")
        self.assertEqual(len(told["results"][0]["text"]), 200)


class Files(EditorToolsCase):
    async def test_the_open_files_come_newest_first_with_what_is_unsaved(self) -> None:
        b = self.write("b.py", "")
        self.look_at(1, b)
        self.look_at(2, self.a)
        self.code.dirty = frozenset([b])
        told = await self.told("open_files")
        rows = [{"path": self.a, "active": True}, {"path": b, "unsaved": True}]
        self.assertEqual(told, {"files": rows, "offset": 0, "more": False})

    async def test_the_selection_is_that_of_the_file_looked_at_last(self) -> None:
        self.assertIsNone((await self.told("selection"))["path"])
        self.look_at(5, self.a)
        told = await self.told("selection")
        (only,) = told["selections"]
        self.assertEqual((told["path"], only["text"]), (self.a, "text of 5"))
        self.assertEqual((only["start"], only["end"]["line"]), ({"line": 1, "column": 2}, 3))

    async def test_show_says_whether_the_user_sees_it(self) -> None:
        for line, words in ((1, "sees it"), (4, "behind")):
            told = await self.told("show", path=self.a, line=line)
            self.assertIn(words, told["note"])
        self.assertEqual(self.code.shown, [(self.a, 1), (self.a, 4)])

    async def test_paths_are_those_of_the_clis(self) -> None:
        self.context.path_maps = PathMaps((PathMap(self.folder, "/app"),))
        self.code.found = [FoundCode(self.a, 1, 1)]
        told = await self.told("symbols", path="/app/a.py")
        self.assertEqual(told["results"][0]["path"], "/app/a.py")
        self.assertEqual(self.code.asked, [SymbolsIn(self.a)])


class WhatIsShared(EditorToolsCase):
    def setUp(self) -> None:
        super().setUp()
        self.key = self.write(".env", "KEY=secret\n")

    async def test_an_excluded_file_is_neither_listed_nor_quoted_nor_opened(self) -> None:
        self.look_at(1, self.key)
        self.code.found = [FoundCode(self.key, 1, 1, "KEY"), FoundCode(self.a, 1, 1)]
        for tool in ("definition", "references"):
            told = await self.told(tool, name="KEY")
            self.assertEqual([row["path"] for row in told["results"]], [self.a])
        told = await self.told("diagnostics")
        self.assertEqual([row["path"] for row in told["results"]], [self.a])
        self.assertEqual((await self.told("open_files"))["files"], [])
        self.assertIsNone((await self.told("selection"))["path"])
        for tool in ("symbols", "diagnostics", "show"):
            self.assertIn("does not share", await self.error(tool, path=self.key))
        spot = {"path": self.key, "line": 1, "column": 1}
        self.assertIn("does not share", await self.error("definition", **spot))
        self.assertEqual(self.code.shown, [])

    async def test_a_link_to_an_excluded_file_is_one(self) -> None:
        link = os.path.join(self.folder, "innocent.txt")
        os.symlink(self.key, link)
        self.assertIn("does not share", await self.error("symbols", path=link))

    async def test_only_files_of_the_project_are_told_where_the_user_wants_that(self) -> None:
        self.context.folders = (os.path.join(self.folder, "project"),)
        self.context.sharing = Sharing(only_project_files=True)
        self.code.found = [FoundCode(self.a, 1, 1)]
        self.assertEqual((await self.told("symbols", query="x"))["results"], [])
        self.assertIn("does not share", await self.error("show", path=self.a))

    async def test_a_pause_holds_everything_back(self) -> None:
        self.look_at(1, self.a)
        self.context.sharing = Sharing(paused=True)
        for tool, arguments in (
            ("diagnostics", {}),
            ("definition", {"name": "one"}),
            ("references", {"name": "one"}),
            ("symbols", {"path": self.a}),
            ("open_files", {}),
            ("selection", {}),
            ("show", {"path": self.a}),
        ):
            with self.subTest(tool):
                self.assertIn("has paused", await self.error(tool, **arguments))
        self.assertEqual((self.code.asked, self.code.shown), ([], []))
