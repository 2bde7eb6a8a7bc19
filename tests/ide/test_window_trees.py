"""What a CLI in a work tree of the window is told of the user's files."""

from __future__ import annotations

import asyncio
import os
import socket
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base.path_maps import PathMap, PathMaps
from GeminiCompanion.companion.ide import client_folders, system_processes, window_trees
from GeminiCompanion.companion.ide.clis import GEMINI_CLI
from GeminiCompanion.companion.ide.context import Cursor, OpenFile
from GeminiCompanion.companion.ide.context_updates import DEBOUNCE
from GeminiCompanion.companion.ide.extension_forms import Moment
from GeminiCompanion.companion.ide.hook_events import HookEvent
from GeminiCompanion.companion.ide.session import Session
from GeminiCompanion.companion.ide.sharing import Sharing
from GeminiCompanion.companion.ide.window_trees import TreeFolders, WindowTrees

from ..support import EventStream, patched, temp_folder
from ..tables import rows, word
from .window import VERSION, Served, WithoutServer

ACTIVE = {"cursor": {"line": 3, "character": 7}, "selectedText": "word"}


class InATree(WithoutServer):
    """The window has the folder `own`, and its work trees `one` and `two`. A file is named by its
    path from the folder that has them."""

    async def begin(self) -> None:
        await super().begin()
        self.temp = os.path.realpath(self.temp)
        for folder in ("own", "one", "two"):
            os.mkdir(self.at(folder))
        self.known = self.trees("one", "two")
        self.workspace.change_folders((self.at("own"),), self.known)

    def at(self, name: str) -> str:
        return os.path.join(self.temp, *name.split("/"))

    def trees(self, *names: str) -> tuple[TreeFolders, ...]:
        return tuple(
            TreeFolders((self.at(name),), PathMaps((PathMap(self.at("own"), self.at(name)),)))
            for name in names
        )

    def session_in(self, folder: str) -> Session:
        session = self.workspace.sessions.open_session(VERSION)
        session.folder = self.at(folder) if folder else ""
        return session

    @word(r"(\S+/\S+) has (\w+)")
    def put(self, name: str, text: str) -> None:
        os.makedirs(os.path.dirname(self.at(name)), exist_ok=True)
        with open(self.at(name), "w") as file:
            file.write(text)


@rows("""
    its own file stands for the users with cursor and selection
        own/a has x; one/a has x; c works in one & joins; the user looks at own/a
        | c is told of one/a 3:7 word
    also from a folder in the work tree
        own/b/a has x; one/b/a has x; c works in one/b & joins; the user looks at own/b/a
        | c is told of one/b/a 3:7 word
    one that does not work in a work tree is told of the users
        own/a has x; one/a has x; c works in own & joins; d works in nowhere & joins
        | the user looks at own/a | c is told of own/a 3:7 word; d is told of own/a 3:7 word
    each is told of that of its own work tree
        own/a has x; one/a has x; two/a has x; c works in one & joins; d works in two & joins
        | the user looks at own/a | c is told of one/a 3:7 word; d is told of two/a 3:7 word
    where its text is another one nothing is said of places in it
        own/a has x; one/a has y; c works in one & joins; the user looks at own/a
        | c is told of one/a active
    what it does not have it is not told of and nothing else is in front then
        own/a has x; own/b has x; one/b has x; c works in one & joins
        | the user looks at own/b; the user looks at own/a | c is told of one/b
    a file of a work tree is told as it is
        one/a has x; two/a has x; c works in one & joins
        | the user looks at two/a; the user looks at one/a | c is told of one/a 3:7 word, two/a
    its file is told once where the user has both open
        own/a has x; one/a has y; c works in one & joins
        | the user looks at own/a; the user looks at one/a | c is told of one/a 3:7 word
        | the user looks at own/a | c is told of one/a active
    a file outside of the project is told as it is
        else/a has x; c works in one & joins; the user looks at else/a
        | c is told of else/a 3:7 word
    a work tree within the project is not that project again
        own/trees/in/a has x; own/a has x; own/trees/in is a work tree, too
        | c works in own/trees/in & joins; the user looks at own/trees/in/a
        | c is told of own/trees/in/a 3:7 word
        | the user looks at own/a | c is told of own/trees/in/a 3:7 word
    what is excluded is told of neither
        own/a has x; one/a has x; b is excluded; own/b has x; one/b has x
        | c works in one & joins; the user looks at own/a; the user looks at own/b
        | c is told of one/a
    a link that its agent made leads to no file that is held back
        own/a has x; else/.env has x; one/a leads to else/.env
        | c works in one & joins; the user looks at own/a | c is told of nothing
    when its agent has written the file that is found out
        own/a has x; one/a has x; c works in one & joins; the user looks at own/a
        | one/a has longer; the window is looked after | c is told of one/a active
        | one/a has x; the window is looked after | c is told of one/a 3:7 word
    what has not changed is not told again
        own/a has x; one/a has x; c works in one & joins; the user looks at own/a
        | the window is looked after; the window is looked after
        | c was shown -, a
    where the system does not tell the first hook says where it works
        own/a has x; one/a has x; two/a has x; c works in nowhere & joins; the user looks at own/a
        | a hook of c says that it works in one | c is told of one/a 3:7 word
        | a hook of c says that it works in two | c is told of one/a 3:7 word
    a work tree that is there no more is none
        own/a has x; one/a has x; c works in one & joins; the user looks at own/a
        | one is removed | c is told of own/a 3:7 word
    each stream begins with that of its own work tree
        own/a has x; one/a has x; c works in one & joins; the user looks at own/a
        | c returns | c is told of one/a 3:7 word; c was shown -, a, a
""")
class Told(InATree):
    @word(r"a hook of (\w) says that it works in (\S+)")
    async def hook_says(self, name: str, folder: str) -> None:
        event = HookEvent(
            GEMINI_CLI, "BeforeAgent", Moment.PROMPTED, "1", 0, folder=self.at(folder)
        )
        await self.workspace.hooks.answer_event(event, self.by_name[name], lambda: True)
        await self.clock.advance(DEBOUNCE * 2)

    @word(r"(\w) works in (\S+)")
    def works_in(self, name: str, folder: str) -> None:
        self.by_name[name] = self.session_in("" if folder == "nowhere" else folder)

    @word(r"(\w) joins")
    async def joins(self, name: str) -> None:
        self.returns(name)
        await self.clock.advance(0)

    @word(r"the user looks at (\S+)")
    async def looks_at(self, name: str) -> None:
        path = self.at(name)
        number = 1 + sum(map(ord, name))
        self.workspace.context.focus_file(OpenFile(number, path, Cursor(3, 7), "word"))
        self.workspace.updates.schedule_update()
        await self.clock.advance(DEBOUNCE * 2)

    @word("the window is looked after")
    async def is_looked_after(self) -> None:
        await self.workspace.check_for_changes()
        await self.clock.advance(DEBOUNCE * 2)

    @word(r"(\S+) is a work tree, too")
    def is_a_tree(self, name: str) -> None:
        self.known = (*self.known, *self.trees(name))
        self.workspace.change_folders((self.at("own"),), self.known)

    @word("one is removed")
    async def is_removed(self) -> None:
        self.workspace.change_folders((self.at("own"),), self.trees("two"))
        await self.clock.advance(0)

    @word(r"(\w+) is excluded")
    def exclude(self, name: str) -> None:
        self.workspace.context.sharing = Sharing(exclude=(f"/{name}",))

    @word(r"(\S+) leads to (\S+)")
    def leads_to(self, name: str, target: str) -> None:
        os.symlink(self.at(target), self.at(name))

    def told(self, name: str) -> list[str]:
        """What it was told last."""
        last = self.readers[name][-1].received("ide/contextUpdate")[-1]
        return [self.words_of(file) for file in last["workspaceState"]["openFiles"]]

    def words_of(self, file: dict[str, Any]) -> str:
        name = os.path.relpath(file["path"], self.temp).replace(os.sep, "/")
        if {key: file[key] for key in ACTIVE if key in file} == ACTIVE and file["isActive"]:
            return f"{name} 3:7 word"
        return f"{name} active" if file.get("isActive") else name

    seen = {r"(\w) is told of": told}


class Paths(unittest.TestCase):
    def test_a_folder_that_a_link_leads_to_is_the_same_work_tree(self) -> None:
        temp = os.path.realpath(temp_folder(self))
        real, link = (os.path.join(temp, name) for name in ("real", "link"))
        os.mkdir(real)
        os.symlink(real, link)
        tree = TreeFolders((link,))
        trees = WindowTrees((tree,))
        for folder in (link, real, os.path.join(real, "deep")):
            self.assertEqual(trees.tree_of(folder), tree)
        for folder in ("", temp, real + "ly"):
            self.assertIsNone(trees.tree_of(folder))

    def test_files_are_compared_again_only_after_one_was_written(self) -> None:
        temp, trees, read = temp_folder(self), WindowTrees(), []
        one, other = (os.path.join(temp, name) for name in ("one", "other"))
        for path in (one, other):
            with open(path, "w") as file:
                file.write("same")
        system_read = window_trees.read_regular

        def watched_read(path: str, limit: int) -> bytes:
            read.append(path)
            return system_read(path, limit)

        with mock.patch.object(window_trees, "read_regular", watched_read):
            for _ in range(3):
                self.assertTrue(trees.has_same_text(one, other))
            self.assertEqual(read, [one, other])
            with open(other, "w") as file:
                file.write("size")
            os.utime(other, (1, 1))
            self.assertFalse(trees.has_same_text(one, other))
        self.assertEqual(read, [one, other] * 2)

    def test_what_is_large_or_not_there_counts_as_another_text(self) -> None:
        temp, trees = temp_folder(self), WindowTrees()
        one, other = (os.path.join(temp, name) for name in ("one", "other"))
        for path in (one, other):
            with open(path, "wb") as file:
                file.truncate(window_trees.MAX_COMPARED + 1)
        self.assertFalse(trees.has_same_text(one, other))
        os.remove(other)
        self.assertFalse(trees.has_same_text(one, other))
        self.assertTrue(trees.has_same_text(other, other))

    def test_the_results_of_few_pairs_are_kept(self) -> None:
        trees = WindowTrees()
        for number in range(window_trees.MAX_KNOWN * 2):
            trees.has_same_text(f"/{number}", "/other")
        self.assertEqual(len(trees._texts._known), window_trees.MAX_KNOWN)


class Connections(Served):
    """With a server: the system tells where the process works that has a connection."""

    def setUp(self) -> None:
        super().setUp()
        self.temp = os.path.realpath(self.temp)
        for name in ("own", "tree"):
            os.mkdir(os.path.join(self.temp, name))
            with open(os.path.join(self.temp, name, "a.py"), "w") as file:
                file.write("x")
        self.own, self.tree = (os.path.join(self.temp, name) for name in ("own", "tree"))
        self.found: list[tuple[int, int]] = []
        patched(self, mock.patch.object(system_processes, "folder_at", self.folder_at))
        self.serve(self.own)
        self.background.call(
            self.workspace.context.focus_file, OpenFile(1, os.path.join(self.own, "a.py"))
        )

    def folder_at(self, peer: int, port: int) -> str:
        self.found.append((peer, port))
        return self.tree

    def know_tree(self) -> None:
        tree = TreeFolders((self.tree,), PathMaps((PathMap(self.own, self.tree),)))
        self.background.call(self.workspace.change_folders, (self.own,), (tree,))

    def next_folder(self, stream: EventStream) -> str:
        """The folder of the file in the next context that comes."""
        (file,) = stream.next().message["params"]["workspaceState"]["openFiles"]
        return os.path.dirname(file["path"])

    def test_a_cli_that_works_in_a_tree_is_told_of_its_files(self) -> None:
        self.know_tree()
        client = self.client()
        with client.stream() as stream:
            folder = self.next_folder(stream)
            # The stream may begin before it is found out.
            if folder == self.own:
                folder = self.next_folder(stream)
            self.assertEqual(folder, self.tree)
        self.assertEqual([port for _, port in self.found], [client.port])

    def test_it_is_found_out_when_the_window_gets_its_first_tree(self) -> None:
        with self.client().stream() as stream:
            self.assertEqual(self.next_folder(stream), self.own)
            self.assertEqual(self.found, [])
            self.know_tree()
            self.assertEqual(self.next_folder(stream), self.tree)


class Systems(unittest.TestCase):
    @unittest.skipUnless(os.path.isdir("/proc/self"), "this system does not tell of sockets")
    def test_the_folder_of_the_process_with_a_connection_is_known(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port)) as stream:
                peer = stream.getsockname()[1]
                self.assertEqual(system_processes.folder_at(peer, port), os.getcwd())
                self.assertEqual(system_processes.folder_at(peer, port + 1), "")
                # The server's end is not the client's.
                self.assertEqual(system_processes.folder_at(0, port), "")
                with mock.patch.object(system_processes, "_folder_of", lambda pid: None):
                    self.assertEqual(system_processes.folder_at(peer, port), "")

    def test_processes_that_have_it_in_several_folders_tell_nothing(self) -> None:
        with mock.patch.object(
            system_processes, "_processes_at", lambda peer, port: [1, 2]
        ), mock.patch.object(system_processes, "_folder_of", lambda pid: f"/{pid}"):
            self.assertEqual(system_processes.folder_at(1, 2), "")

    def test_macos_tells_the_process_by_the_ends_of_its_connections(self) -> None:
        asked: list[tuple[str, ...]] = []

        def output(*words: str) -> str:
            asked.append(words)
            if "cwd" in words:
                return f"p{words[5]}\nfcwd\nn/trees/one\n"
            return (
                "p11\nf9\nn127.0.0.1:80->127.0.0.1:5000\np12\nf7\nn127.0.0.1:5000->127.0.0.1:80\n"
            )

        with mock.patch.object(os.path, "isdir", lambda path: False), mock.patch.object(
            os, "readlink", mock.Mock(side_effect=FileNotFoundError)
        ), mock.patch.object(system_processes.sys, "platform", "darwin"), mock.patch.object(
            system_processes, "output_of_program", output
        ):
            self.assertEqual(system_processes.folder_at(5000, 80), "/trees/one")
        self.assertEqual([words[5] for words in asked if "cwd" in words], ["12"])

    def test_windows_tells_nothing(self) -> None:
        with mock.patch.object(os.path, "isdir", lambda path: False), mock.patch.object(
            system_processes.sys, "platform", "win32"
        ):
            self.assertEqual(system_processes.folder_at(5000, 80), "")


class Looks(unittest.IsolatedAsyncioTestCase):
    """Where the system is slow, or the client is another one by then."""

    async def look(self, folder: str, ends: bool = False) -> Session:
        session = Session("id", VERSION)
        session.attach_stream(None).peer = 5
        found: list[None] = []
        looks = client_folders.ClientFolders(lambda: 80, lambda: found.append(None))

        async def in_thread(work: Any, seconds: float) -> str:
            if folder == "late":
                raise asyncio.TimeoutError
            if ends:
                session.attach_stream(None).peer = 6
            return folder

        with mock.patch.object(client_folders, "in_thread", in_thread):
            looks.look_for(session)
            await asyncio.gather(*looks._looks)
        self.assertEqual(len(found), 1 if session.folder else 0)
        return session

    async def test_what_comes_in_time_counts(self) -> None:
        self.assertEqual((await self.look("/one")).folder, "/one")

    async def test_a_system_that_is_slow_or_does_not_tell_leaves_it_unknown(self) -> None:
        for folder in ("late", ""):
            self.assertEqual((await self.look(folder)).folder, "")

    async def test_what_is_found_of_an_earlier_connection_does_not_count(self) -> None:
        self.assertEqual((await self.look("/one", ends=True)).folder, "")


if __name__ == "__main__":
    unittest.main()
