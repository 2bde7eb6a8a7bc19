"""CLIs that see the files at other paths than the editor: in WSL, in a container."""

from __future__ import annotations

import doctest
import json
import ntpath
import os
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base import path_maps
from GeminiCompanion.companion.base.path_maps import NO_MAPS, PathMap, PathMaps
from GeminiCompanion.companion.ide import mcp
from GeminiCompanion.companion.ide.clis import GEMINI_CLI
from GeminiCompanion.companion.ide.decisions import TOLD
from GeminiCompanion.companion.ide.diffs import MAX_PATH
from GeminiCompanion.companion.ide.discovery import Advertisement, discovery_folders
from GeminiCompanion.companion.ide.doctor import lookup
from GeminiCompanion.companion.ide.doctor.facts import WINDOWS, Facts, Window
from GeminiCompanion.companion.ide.events import WindowSettingsChanged
from GeminiCompanion.companion.ide.sharing import Sharing
from GeminiCompanion.companion.ide.surroundings import Machine, find_surroundings
from GeminiCompanion.companion.ide.window_settings import WindowSettings

from ..tables import rows, word
from .window import WithoutServer

UBUNTU = "\\\\wsl.localhost\\Ubuntu"
WSL = PathMaps((PathMap(UBUNTU, "/"), PathMap("C:\\", "/mnt/c/"), PathMap("D:/src", "/src")))
CONTAINER = PathMaps((PathMap("/home/me/p", "/app"), PathMap("/home/me/p/deep", "/deep/")))


class Maps(unittest.TestCase):
    def test_a_path_goes_over_and_comes_back(self) -> None:
        for maps, local, remote in (
            (WSL, "C:\\p\\a b.py", "/mnt/c/p/a b.py"),
            (WSL, "C:\\", "/mnt/c/"),
            (WSL, "D:\\src\\a", "/src/a"),
            (WSL, UBUNTU + "\\home\\me", "/home/me"),
            (CONTAINER, "/home/me/p", "/app"),
            (CONTAINER, "/home/me/p/a\\b", "/app/a\\b"),
        ):
            with self.subTest(local=local):
                self.assertEqual(maps.to_remote(local), remote)
                expected = "D:/src\\a" if local == "D:\\src\\a" else local
                self.assertEqual(maps.to_local(remote), expected)

    def test_the_longest_prefix_counts_on_either_side(self) -> None:
        self.assertEqual(CONTAINER.to_remote("/home/me/p/deep/a"), "/deep/a")
        self.assertEqual(CONTAINER.to_remote("/home/me/p/deeper/a"), "/app/deeper/a")
        self.assertEqual(WSL.to_local("/mnt/c/a"), "C:\\a")
        self.assertEqual(WSL.to_local("/mnt/cd"), UBUNTU + "\\mnt\\cd")

    def test_a_path_that_leads_out_of_a_folder_is_not_in_it(self) -> None:
        for maps, remote, local in (
            (CONTAINER, "/app/../etc/passwd", "/app/../etc/passwd"),
            (CONTAINER, "/app/../../app/a", "/home/me/p/a"),
            (CONTAINER, "/app/deep/../../deep/a", "/home/me/p/deep/a"),
            (CONTAINER, "/app/a..b", "/home/me/p/a..b"),
            (WSL, "/mnt/c/../d/a", UBUNTU + "\\mnt\\d\\a"),
            (PathMaps((PathMap("/mnt/c", "C:\\w"),)), "C:\\w\\..\\a", "C:\\w\\..\\a"),
        ):
            self.assertEqual(maps.to_local(remote), local)

    def test_a_path_that_none_has_stays_as_it_is(self) -> None:
        for path in ("/home/me/project", "/home/me", "/", "C:\\p"):
            self.assertEqual(CONTAINER.to_remote(path), path)
        self.assertEqual(NO_MAPS.to_local("/a"), "/a")

    def test_case_counts_as_it_does_on_that_system(self) -> None:
        self.assertEqual(WSL.to_remote("c:/P/a"), "/mnt/c/P/a")
        self.assertEqual(WSL.to_remote(UBUNTU.upper() + "\\a"), "/a")
        self.assertEqual(CONTAINER.to_remote("/HOME/me/p/a"), "/HOME/me/p/a")

    def test_folders_are_listed_as_the_cli_takes_the_list_apart(self) -> None:
        told = Advertisement(1, 2, "t", ("C:\\a", "E:\\b", UBUNTU + "\\c"), WSL)
        # The one in the middle has no path over there.
        self.assertEqual(told.workspace_path, "/mnt/c/a:/c")
        self.assertEqual(WSL.unmapped_folders(told.folders), ("E:\\b",))
        self.assertEqual(NO_MAPS.unmapped_folders(told.folders), ())
        back = PathMaps((PathMap("/mnt/c", "C:\\"),))
        self.assertEqual(
            Advertisement(1, 2, "t", ("/mnt/c/a", "/mnt/c/b"), back).workspace_path, "C:\\a;C:\\b"
        )

    def test_the_examples_are_right(self) -> None:
        self.assertEqual(doctest.testmod(path_maps).failed, 0)


class Windows(unittest.TestCase):
    """What can be seen of Windows without it: its paths are values."""

    def test_the_file_for_a_cli_in_wsl_stands_in_the_temp_folder_of_that_linux(self) -> None:
        folder = UBUNTU + "\\tmp"
        with mock.patch.object(os, "path", ntpath), mock.patch.object(
            ntpath, "isdir", lambda path: path == folder
        ):
            paths = [
                place.path(Advertisement(1, 2, "t"))
                for place in discovery_folders(folder)
                if place.root == folder
            ]
        self.assertEqual(paths, [folder + "\\gemini\\ide\\gemini-ide-server-1-2.json"])

    def test_what_is_missing_there_is_told_until_nothing_is(self) -> None:
        folders = (UBUNTU + "\\home\\me",)

        def found(extra: str, maps: PathMaps) -> str:
            (only,) = find_surroundings(Machine("win32", {}, {}, folders, extra, maps))
            return only.remedy

        self.assertIn('"path_maps"', found("", NO_MAPS))
        self.assertIn(f"below {UBUNTU} ", found("", WSL))
        self.assertEqual(found(UBUNTU + "\\tmp", WSL), "")

    def test_the_doctor_takes_the_list_of_folders_apart_as_that_cli_does(self) -> None:
        told = Advertisement(1, 2, "t", ("C:\\a", "C:\\b"), WSL)
        window = Window(1, 2, told.remote_folders, separator=WSL.separator)
        facts = Facts(GEMINI_CLI, WINDOWS, window, folder="/mnt/c/b")
        self.assertTrue(lookup.runs_within(facts, told.workspace_path))


@rows("""
    the context has the CLIs paths
        c connects; file a_b has the focus; 1 s pass | c was told of /app/a_b
    a file is held back by the editors path
        c connects; /secret of the editor is excluded; file secret has the focus
        | file app has the focus; 1 s pass | c was told of /app/app
        | /app/ of the CLI is excluded; 1 s pass | c was told of /app/app, /app/secret
    the editor has its own path and the CLI gets back what it sent
        c connects | c asks openDiff for /app/a | the editor has /a | /a is accepted
        | c got /app/a accepted | c asks openDiff for /app/x/../b// | the editor has /b
        | /b is rejected | c got /app/a accepted, /app/x/../b// rejected
        | c asks openDiff for /app/x/../b// | the editor has /b | /b is accepted
        | c got /app/a accepted, /app/x/../b// rejected, /app/x/../b// accepted
    two names of one folder are each given back as they came
        c connects; the maps are TEMP=/app TEMP=/also
        | c asks openDiff for /also/a; /a is accepted | c got /also/a accepted
    a diff is closed by the path that opened it though the maps have changed
        c connects; c asks openDiff for /app/a; the maps are TEMP=/elsewhere
        | c asks closeDiff for /app/a | the answer tells theirs: yes; proposals that wait: 0
    a diff of before the first map is closed by the path that opened it
        c connects; the maps are none; c asks openDiff for TEMP/a; the maps are /there=TEMP
        | c asks closeDiff for TEMP/a | the answer tells theirs: yes; proposals that wait: 0
    a corrected map counts for the next proposal of a file
        c connects; the maps are TEMP/wrong=/app; c asks openDiff for /app/a; /wrong/a is
        accepted
        | a moment passes; the maps are TEMP=/app; c asks openDiff for /app/a
        | the editor has /a; told texts: 1
    a path that is long by its detours is refused
        c connects | c asks openDiff for a long way | the answer tells at most: yes
    what the editor refuses is named by the CLIs path
        c connects; the maps are TEMP=/app TEMP=/also; the editor cannot show /a
        | c asks openDiff for /also/a | the answer tells /also/a is a folder.: yes
    a relative path is refused as ever
        c connects | c asks openDiff for work/a | it is an error: yes
    what the CLI sent outlives a restart
        c connects; c asks openDiff for /app//a | saved are //a as /app//a
    a diff of which nobody knows what was sent is told by the maps
        c connects | /a is rejected | c got /app/a rejected
    files and variables are other ones at once
        the folder is open; changes are looked at | the maps are TEMP=/elsewhere
        | the folders at the changes are /elsewhere
""")
class Mapped(WithoutServer):
    """The editor has its files in `self.temp`, the CLI has them in /app. Paths of the editor are
    told below that folder, TEMP."""

    async def begin(self) -> None:
        await super().begin()
        self.map("TEMP=/app")

    def map(self, maps: str, **more: Any) -> None:
        pairs = [pair.replace("TEMP", self.temp).split("=") for pair in maps.split() if "=" in pair]
        settings = WindowSettings(
            path_maps=PathMaps(tuple(PathMap(*pair) for pair in pairs)), **more
        )
        WindowSettingsChanged(1, settings).apply_to(self.workspace)

    @word(r"c asks (openDiff|closeDiff) for (.+)")
    async def call(self, tool: str, path: str) -> None:
        path = "/app" + "/x/.." * MAX_PATH if path == "a long way" else path
        more: dict[str, Any] = {"suppressNotification": True}
        if tool == "openDiff":
            more = {"newContent": "theirs"}
        arguments = {"filePath": path.replace("TEMP", self.temp), **more}
        params = {"name": tool, "arguments": arguments}
        call = mcp.ToolCaller(self.workspace.diffs, self.by_name["c"])
        made = await mcp._TABLE.call_tool(params, call)
        self.answer = json.loads(made)

    @word(r"(/\S+) is (accepted|rejected)")
    def decide(self, path: str, how: str) -> None:
        text = "mine" if how == "accepted" else None
        self.workspace.diffs.decide(self.id_of("c"), self.temp + path, text)
        self.editor.diffs.clear()

    @word("changes are looked at")
    def look_at_changes(self) -> None:
        self.changes: list[str] = []
        name, workspace = "GEMINI_CLI_IDE_WORKSPACE_PATH", self.workspace
        workspace._on_change = lambda: self.changes.append(
            workspace.advertisement.environment()[name]
        )

    def got(self, name: str) -> list[str]:
        (reader,) = self.readers[name]
        return [
            f"{message['params']['filePath']} {message['method'][len('ide/diff') :].lower()}"
            for message in reader.messages
            if "filePath" in message["params"]
        ]

    def files(self, name: str) -> list[str]:
        states = self.readers[name][0].received("ide/contextUpdate")
        return [file["path"] for file in states[-1]["workspaceState"]["openFiles"]]

    words = {
        "file (.+) has the focus": lambda t, name: t.focus(1 + len(name), name),
        "the maps are (.+)": map,
        "/secret of the editor is excluded": lambda t: t.map(
            "TEMP=/app", sharing=Sharing(exclude=(os.path.basename(t.temp) + "/secret",))
        ),
        "/app/ of the CLI is excluded": lambda t: t.map(
            "TEMP=/app", sharing=Sharing(exclude=("/app/",))
        ),
        r"the editor cannot show (\S+)": lambda t, path: setattr(
            t.editor, "refusal", t.temp + path + " is a folder."
        ),
        "the folder is open": lambda t: t.workspace.change_folders((t.temp,)),
    }
    seen = {
        "c was told of": lambda t: t.files("c"),
        "c got": lambda t: t.got("c"),
        "the editor has": lambda t: [path[len(t.temp) :] for _, _, path in t.editor.diffs],
        "the answer tells (.+):": lambda t, words: words in t.answer["content"][0]["text"],
        "it is an error:": lambda t: t.answer["isError"],
        "told texts:": lambda t: len(t.workspace.book.numbers_in(TOLD)),
        "saved are": lambda t: [
            f"{proposal.path[len(t.temp) :]} as {proposal.sent_path}"
            for proposal in t.workspace.saved_workspace(1.0).proposals
        ],
        "the folders at the changes are": lambda t: t.changes,
    }
