"""CLIs that see the files at other paths than the editor: in WSL, in a container."""

from __future__ import annotations

import doctest
import json
import ntpath
import os
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.ide import mcp, path_maps
from GeminiCompanion.companion.ide.clis import GEMINI_CLI
from GeminiCompanion.companion.ide.decisions import OPEN, TOLD
from GeminiCompanion.companion.ide.diffs import MAX_PATH
from GeminiCompanion.companion.ide.discovery import Advertisement, places
from GeminiCompanion.companion.ide.doctor import lookup
from GeminiCompanion.companion.ide.doctor.facts import WINDOWS, Facts, Window
from GeminiCompanion.companion.ide.events import WindowSettingsChanged
from GeminiCompanion.companion.ide.path_maps import NO_MAPS, PathMap, PathMaps
from GeminiCompanion.companion.ide.session import Session
from GeminiCompanion.companion.ide.sharing import Sharing
from GeminiCompanion.companion.ide.surroundings import Machine, surroundings
from GeminiCompanion.companion.ide.window_settings import WindowSettings

from .window import Reader, WithoutServer

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
        self.assertEqual(WSL.unmapped(told.folders), ("E:\\b",))
        self.assertEqual(NO_MAPS.unmapped(told.folders), ())
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
                it.path(Advertisement(1, 2, "t")) for it in places(folder) if it.root == folder
            ]
        self.assertEqual(paths, [folder + "\\gemini\\ide\\gemini-ide-server-1-2.json"])

    def test_what_is_missing_there_is_told_until_nothing_is(self) -> None:
        folders = (UBUNTU + "\\home\\me",)

        def found(extra: str, maps: PathMaps) -> str:
            (only,) = surroundings(Machine("win32", {}, {}, folders, extra, maps))
            return only.remedy

        self.assertIn('"path_maps"', found("", NO_MAPS))
        self.assertIn(f"below {UBUNTU} ", found("", WSL))
        self.assertEqual(found(UBUNTU + "\\tmp", WSL), "")

    def test_the_doctor_takes_the_list_of_folders_apart_as_that_cli_does(self) -> None:
        told = Advertisement(1, 2, "t", ("C:\\a", "C:\\b"), WSL)
        window = Window(1, 2, told.remote_folders, separator=WSL.separator)
        facts = Facts(GEMINI_CLI, WINDOWS, window, folder="/mnt/c/b")
        self.assertTrue(lookup.holds(facts, told.workspace_path))


class Mapped(WithoutServer):
    """The editor has its files in `self.temp`, the CLI has them in /app."""

    async def begin(self) -> None:
        await super().begin()
        self.map(PathMap(self.temp, "/app"))

    def here(self, rest: str) -> str:
        """The editor's path of what the CLI has below /app."""
        return self.temp + rest.replace("/", os.sep)

    def map(self, *maps: PathMap, **more: Any) -> None:
        settings = WindowSettings(path_maps=PathMaps(maps), **more)
        WindowSettingsChanged(1, settings).apply_to(self.workspace)

    async def call(self, session: Session, tool: str, path: str, **more: Any) -> Any:
        params = {"name": tool, "arguments": {"filePath": path, **more}}
        return json.loads(await mcp._TABLE.call(params, mcp.Call(self.workspace.diffs, session)))

    def told(self, reader: Reader) -> list[list[str]]:
        states = [it["workspaceState"] for it in reader.received("ide/contextUpdate")]
        return [[file["path"] for file in state["openFiles"]] for state in states]

    async def test_the_context_has_the_clis_paths(self) -> None:
        _, reader = self.connect()
        self.focus(1, "a b")
        await self.clock.advance(1)
        self.assertEqual(self.told(reader)[-1], ["/app/a b"])

    async def test_a_file_is_held_back_by_the_editors_path(self) -> None:
        _, reader = self.connect()
        here = os.path.basename(self.temp)
        self.map(PathMap(self.temp, "/app"), sharing=Sharing(exclude=(here + "/secret",)))
        self.focus(1, "secret")
        self.focus(2, "app")
        await self.clock.advance(1)
        self.assertEqual(self.told(reader)[-1], ["/app/app"])
        self.map(PathMap(self.temp, "/app"), sharing=Sharing(exclude=("/app/",)))
        await self.clock.advance(1)
        self.assertEqual(self.told(reader)[-1], ["/app/app", "/app/secret"])

    async def test_the_editor_has_its_own_path_and_the_cli_gets_back_what_it_sent(self) -> None:
        session, reader = self.connect()
        for sent, rest in (("/app/a", "/a"), ("/app/x/../b//", "/b")):
            for text in ("mine\n", None):
                await self.call(session, "openDiff", sent, newContent="theirs\n")
                here = self.here(rest)
                self.assertEqual(self.editor.diffs, {(7, session.id, here): "theirs\n"})
                if text is None:
                    self.workspace.diffs.reject(session.id, here)
                else:
                    self.workspace.diffs.accept(session.id, here, text)
                self.editor.diffs.clear()
                await self.clock.advance(0)
            self.assertEqual(
                reader.received("ide/diffAccepted")[-1], {"filePath": sent, "content": "mine\n"}
            )
            self.assertEqual(reader.received("ide/diffRejected")[-1], {"filePath": sent})

    async def test_two_names_of_one_folder_are_each_given_back_as_they_came(self) -> None:
        session, reader = self.connect()
        self.map(PathMap(self.temp, "/app"), PathMap(self.temp, "/also"))
        await self.call(session, "openDiff", "/also/a", newContent="theirs\n")
        self.workspace.diffs.accept(session.id, self.here("/a"), "mine\n")
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted")[0]["filePath"], "/also/a")

    async def test_a_diff_is_closed_by_the_path_that_opened_it_though_the_maps_have_changed(
        self,
    ) -> None:
        session, _ = self.connect()
        await self.call(session, "openDiff", "/app/a", newContent="theirs\n")
        self.map(PathMap(self.temp, "/elsewhere"))
        closed = await self.call(session, "closeDiff", "/app/a", suppressNotification=True)
        self.assertEqual(json.loads(closed["content"][0]["text"]), {"content": "theirs\n"})
        self.assertEqual(self.workspace.book.of(OPEN), [])

    async def test_a_diff_of_before_the_first_map_is_closed_by_the_path_that_opened_it(
        self,
    ) -> None:
        session, _ = self.connect()
        self.map()
        here = self.here("/a")
        await self.call(session, "openDiff", here, newContent="theirs\n")
        self.map(PathMap("/there", self.temp))
        closed = await self.call(session, "closeDiff", here, suppressNotification=True)
        self.assertEqual(json.loads(closed["content"][0]["text"]), {"content": "theirs\n"})
        self.assertEqual(self.workspace.book.of(OPEN), [])

    async def test_a_corrected_map_counts_for_the_next_proposal_of_a_file(self) -> None:
        session, _ = self.connect()
        self.map(PathMap(self.here("/wrong"), "/app"))
        await self.call(session, "openDiff", "/app/a", newContent="theirs\n")
        self.workspace.diffs.accept(session.id, self.here("/wrong/a"), "theirs\n")
        self.editor.diffs.clear()
        await self.clock.advance(0)
        self.assertEqual(len(self.workspace.book.of(TOLD)), 1)
        self.map(PathMap(self.temp, "/app"))
        await self.call(session, "openDiff", "/app/a", newContent="theirs\n")
        self.assertEqual(list(self.editor.diffs), [(7, session.id, self.here("/a"))])

    async def test_a_path_that_is_long_by_its_detours_is_refused(self) -> None:
        session, _ = self.connect()
        path = "/app" + "/x/.." * MAX_PATH
        answer = await self.call(session, "openDiff", path, newContent="theirs\n")
        self.assertIn(str(MAX_PATH), answer["content"][0]["text"])

    async def test_what_the_editor_refuses_is_named_by_the_clis_path(self) -> None:
        session, _ = self.connect()
        self.map(PathMap(self.temp, "/app"), PathMap(self.temp, "/also"))
        self.editor.refusal = self.here("/a") + " is a folder."
        answer = await self.call(session, "openDiff", "/also/a", newContent="theirs\n")
        self.assertEqual(answer["content"][0]["text"], "/also/a is a folder.")

    async def test_a_relative_path_is_refused_as_ever(self) -> None:
        session, _ = self.connect()
        answer = await self.call(session, "openDiff", "work/a", newContent="theirs\n")
        self.assertIs(answer["isError"], True)

    async def test_what_the_cli_sent_outlives_a_restart(self) -> None:
        session, _ = self.connect()
        await self.call(session, "openDiff", "/app//a", newContent="theirs\n")
        (entry,) = self.workspace.saved(1.0).proposals
        self.assertEqual(entry.sent_path, "/app//a")
        self.assertEqual(entry.path, self.here("//a"))

    async def test_a_diff_of_which_nobody_knows_what_was_sent_is_told_by_the_maps(self) -> None:
        session, reader = self.connect()
        self.workspace.diffs.reject(session.id, self.here("/a"))
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffRejected"), [{"filePath": "/app/a"}])

    async def test_files_and_variables_are_other_ones_at_once(self) -> None:
        self.workspace.change_folders((self.temp,))
        changes: list[str] = []
        name = "GEMINI_CLI_IDE_WORKSPACE_PATH"
        self.workspace._on_change = lambda: changes.append(
            self.workspace.advertisement.environment()[name]
        )
        self.map(PathMap(self.temp, "/elsewhere"))
        self.assertEqual(changes, ["/elsewhere"])
