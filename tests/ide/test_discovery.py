"""Discovery files: where they are, who may read them, when they go."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import unittest
from dataclasses import replace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base import private_files
from GeminiCompanion.companion.ide import discovery, server_file, system_processes
from GeminiCompanion.companion.ide.clis import QWEN_CODE
from GeminiCompanion.companion.ide.discovery import Advertisement, Publication

from ..support import patched, temp_folder

POSIX = sys.platform != "win32"
ROOT = POSIX and os.geteuid() == 0
# Above what any system gives out, so that no process has it.
DEAD = 2**30
# The pattern by which the CLI knows a discovery file, as its own source spells it.
CLI_PATTERN = r"^gemini-ide-server-(\d+)(-\d+)?\.json$"


def beside(path: str, pid: int, port: int) -> str:
    """The path of the extension's file beside that one."""
    return os.path.join(os.path.dirname(path), server_file.NAME.format(pid=pid, port=port))


def permissions(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


class DiscoveryTestCase(unittest.TestCase):
    """`self.temp` is the temp folder, `self.folder` that of the discovery files, not yet there."""

    def setUp(self) -> None:
        self.temp = temp_folder(self)
        self.folder = os.path.join(self.temp, "gemini", "ide")

    def write(self, name: str, text: str = "{}") -> str:
        os.makedirs(self.folder, exist_ok=True)
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def port(self, listening: bool) -> int:
        """A port that is taken until the test ends, and answers or refuses."""
        taken = socket.socket()
        self.addCleanup(taken.close)
        taken.bind(("127.0.0.1", 0))
        if listening:
            taken.listen(64)
        number: int = taken.getsockname()[1]
        return number


class TheTempFolder(unittest.TestCase):
    def tmpdir(self, **variables: str) -> str:
        with mock.patch.dict(os.environ, variables):
            for name in {"TMPDIR", "TMP", "TEMP"} - set(variables):
                os.environ.pop(name, None)
            return discovery.node_tmpdir()

    @unittest.skipUnless(POSIX, "a rule of Unix")
    def test_tmpdir_comes_before_tmp_and_tmp_before_temp(self) -> None:
        self.assertEqual(self.tmpdir(TMPDIR="/x", TMP="/y", TEMP="/z"), "/x")
        self.assertEqual(self.tmpdir(TMP="/y", TEMP="/z"), "/y")
        self.assertEqual(self.tmpdir(TEMP="/z"), "/z")

    @unittest.skipUnless(POSIX, "a rule of Unix")
    def test_without_variables_it_is_slash_tmp(self) -> None:
        self.assertEqual(self.tmpdir(), "/tmp")

    @unittest.skipUnless(POSIX, "a rule of Unix")
    def test_an_empty_variable_counts_as_none(self) -> None:
        self.assertEqual(self.tmpdir(TMPDIR="", TMP="/y"), "/y")

    @unittest.skipUnless(POSIX, "a rule of Unix")
    def test_one_slash_at_the_end_goes_but_the_root_stays(self) -> None:
        self.assertEqual(self.tmpdir(TMPDIR="/x/"), "/x")
        self.assertEqual(self.tmpdir(TMPDIR="/x//"), "/x/")
        self.assertEqual(self.tmpdir(TMPDIR="/"), "/")

    @unittest.skipUnless(POSIX, "a rule of Unix")
    def test_a_folder_that_does_not_exist_is_not_replaced_by_another(self) -> None:
        self.assertEqual(self.tmpdir(TMPDIR="/no/such/folder"), "/no/such/folder")

    @unittest.skipIf(POSIX, "a rule of Windows")
    def test_on_windows_temp_comes_before_tmp_and_tmpdir_means_nothing(self) -> None:
        self.assertEqual(self.tmpdir(TMPDIR="C:\\x", TMP="C:\\y", TEMP="C:\\z\\"), "C:\\z")
        self.assertEqual(self.tmpdir(TMPDIR="C:\\x", TMP="C:\\y"), "C:\\y")

    def test_windows_without_a_folder_of_the_user_gets_none_that_all_can_read(self) -> None:
        variables = {"TEMP": "own", "TMP": "other"}
        with mock.patch.dict(os.environ, variables), mock.patch.object(os.path, "isdir", bool):
            with mock.patch.object(sys, "platform", "win32"):
                os.environ["LOCALAPPDATA"] = "local"
                self.assertEqual(discovery.temp_folders(), ["own", "other", "local\\Temp"])
                del os.environ["LOCALAPPDATA"]
                self.assertEqual(discovery.temp_folders(), ["own", "other"])


class WhatAFileSays(DiscoveryTestCase):
    def content(self, advertisement: Advertisement) -> Any:
        with open(Publication(advertisement).paths[0], "rb") as file:
            return json.loads(file.read())

    def test_it_names_port_workspace_token_and_editor(self) -> None:
        self.assertEqual(
            self.content(Advertisement(DEAD, 4711, "secret", ("/a",))),
            {
                "port": 4711,
                "workspacePath": "/a",
                "authToken": "secret",
                "ideInfo": {"name": "sublimetext", "displayName": "Sublime Text"},
            },
        )

    def test_several_folders_are_joined_as_in_the_path_variable(self) -> None:
        content = self.content(Advertisement(DEAD, 1, "t", ("/a b", "/ü", "/c")))
        self.assertEqual(content["workspacePath"], os.pathsep.join(["/a b", "/ü", "/c"]))

    def test_without_folders_the_workspace_is_an_empty_string(self) -> None:
        self.assertEqual(self.content(Advertisement(DEAD, 1, "t"))["workspacePath"], "")

    def test_its_name_has_pid_and_port_as_the_cli_expects(self) -> None:
        path = Publication(Advertisement(123, 456, "t")).paths[0]
        self.assertEqual(path, os.path.join(self.folder, "gemini-ide-server-123-456.json"))
        self.assertRegex(os.path.basename(path), CLI_PATTERN)


class WhoMayReadIt(DiscoveryTestCase):
    def open_umask(self) -> None:
        self.addCleanup(os.umask, os.umask(0))

    @unittest.skipUnless(POSIX, "permissions of Unix")
    def test_both_folders_and_the_file_are_the_users_alone(self) -> None:
        self.open_umask()
        path = Publication(Advertisement(DEAD, 1, "t")).paths[0]
        self.assertEqual(permissions(path), 0o600)
        self.assertEqual(permissions(beside(path, DEAD, 1)), 0o600)
        self.assertEqual(permissions(self.folder), 0o700)
        self.assertEqual(permissions(os.path.dirname(self.folder)), 0o700)

    @unittest.skipUnless(POSIX, "permissions of Unix")
    def test_the_file_is_closed_to_others_before_its_first_byte_is_written(self) -> None:
        self.open_umask()
        born: list[tuple[int, int]] = []
        system_open = os.open

        def watched_open(path: Any, flags: int, *mode: int, **more: Any) -> int:
            descriptor = system_open(path, flags, *mode, **more)
            if os.path.dirname(os.fspath(path)) == self.folder:
                status = os.fstat(descriptor)
                born.append((stat.S_IMODE(status.st_mode), status.st_size))
            return descriptor

        with mock.patch.object(os, "open", watched_open):
            Publication(Advertisement(DEAD, 1, "t"))
        self.assertEqual(born, [(0o600, 0)] * 2)

    def test_it_takes_its_name_only_when_it_is_whole(self) -> None:
        seen: list[tuple[str, bytes]] = []
        system_replace = os.replace

        def watched_replace(source: str, target: str) -> None:
            with open(source, "rb") as file:
                seen.append((os.path.basename(source), file.read()))
            self.assertFalse(os.path.exists(target))
            system_replace(source, target)

        advertisement = Advertisement(DEAD, 1, "t", ("/a",))
        with mock.patch.object(os, "replace", watched_replace):
            Publication(advertisement)
        (_name, beside_it), (name, data) = seen
        self.assertNotRegex(name, CLI_PATTERN)
        self.assertNotRegex(name, "gemini-ide-server")
        place = discovery.discovery_folders()[0]
        path = place.path(advertisement)
        self.assertEqual(data, advertisement.encode(place.cli, place.form))
        self.assertEqual(beside_it, server_file.encode_server_file(1, "/a", ""))
        names = [os.path.basename(each) for each in (beside(path, DEAD, 1), path)]
        self.assertEqual(sorted(os.listdir(self.folder)), names)

    @unittest.skipUnless(POSIX, "permissions of Unix")
    def test_a_folder_of_ours_that_others_can_enter_is_closed_to_them(self) -> None:
        os.makedirs(self.folder)
        os.chmod(self.folder, 0o777)
        os.chmod(os.path.dirname(self.folder), 0o755)
        Publication(Advertisement(DEAD, 1, "t"))
        self.assertEqual(permissions(self.folder), 0o700)
        self.assertEqual(permissions(os.path.dirname(self.folder)), 0o700)


class WhereItMayNotBe(DiscoveryTestCase):
    def refused(self, *parts: str) -> None:
        publication = Publication(Advertisement(DEAD, 1, "t"))
        self.assertEqual(publication.paths, ())
        for part in parts:
            self.assertIn(part, publication.problem)

    @unittest.skipUnless(POSIX, "links need rights on Windows")
    def test_a_link_in_place_of_either_folder_is_refused(self) -> None:
        elsewhere = os.path.join(self.temp, "elsewhere")
        os.mkdir(elsewhere)
        os.symlink(elsewhere, os.path.join(self.temp, "gemini"))
        self.refused(os.path.join(self.temp, "gemini"), "should be a folder")
        os.unlink(os.path.join(self.temp, "gemini"))
        os.mkdir(os.path.join(self.temp, "gemini"))
        os.symlink(elsewhere, self.folder)
        self.refused(self.folder, "should be a folder")
        self.assertEqual(os.listdir(elsewhere), [])

    def test_a_file_in_place_of_a_folder_is_refused(self) -> None:
        open(os.path.join(self.temp, "gemini"), "w").close()
        self.refused("should be a folder", "remove it")

    @unittest.skipUnless(ROOT, "only root can give a folder away")
    def test_a_folder_of_another_user_is_refused(self) -> None:
        os.makedirs(self.folder)
        os.chown(self.folder, 12345, -1)
        self.refused(self.folder, "another user", "TMPDIR")
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_temp_folder_that_is_not_there_is_refused_with_the_reason(self) -> None:
        missing = os.path.join(self.temp, "none")
        with mock.patch.dict(os.environ, {"TMPDIR": missing, "TEMP": missing}):
            with mock.patch.object(discovery, "SHARED_TMPDIR", missing):
                self.refused("could not be written", missing)

    def test_what_stands_in_the_files_place_is_not_followed_by_half_a_file(self) -> None:
        path = discovery.discovery_folders()[0].path(Advertisement(DEAD, 1, "t"))
        os.makedirs(path)
        self.refused("could not be written")
        self.assertEqual(os.listdir(self.folder), [os.path.basename(path)])

    @unittest.skipUnless(POSIX, "links need rights on Windows")
    def test_a_link_in_the_files_place_is_replaced_and_not_followed(self) -> None:
        victim = os.path.join(self.temp, "victim")
        open(victim, "w").close()
        os.makedirs(self.folder)
        os.symlink(victim, discovery.discovery_folders()[0].path(Advertisement(DEAD, 1, "t")))
        path = Publication(Advertisement(DEAD, 1, "t")).paths[0]
        self.assertFalse(os.path.islink(path))
        self.assertEqual(os.path.getsize(victim), 0)


class SeveralFolders(DiscoveryTestCase):
    """The CLI may have another environment than the editor."""

    def setUp(self) -> None:
        super().setUp()
        self.shared = os.path.join(self.temp, "shared")
        os.mkdir(self.shared)
        patched(self, mock.patch.object(discovery, "SHARED_TMPDIR", self.shared))

    def test_the_file_stands_in_each_of_them_and_goes_from_each(self) -> None:
        publication = Publication(Advertisement(DEAD, 1, "t"))
        folders = [self.folder, os.path.join(self.shared, "gemini", "ide")]
        self.assertEqual([os.path.dirname(path) for path in publication.paths], folders)
        self.assertEqual([os.path.isfile(path) for path in publication.paths], [True, True])
        publication.remove()
        self.assertEqual([os.listdir(folder) for folder in folders], [[], []])

    def test_one_folder_under_two_names_holds_one_file(self) -> None:
        with mock.patch.object(discovery, "SHARED_TMPDIR", os.path.join(self.temp, ".")):
            self.assertEqual(
                [place.folder for place in discovery.discovery_folders()], [self.folder]
            )

    def test_a_second_folder_that_is_not_there_is_not_made(self) -> None:
        with mock.patch.object(discovery, "SHARED_TMPDIR", os.path.join(self.temp, "none")):
            self.assertEqual(
                [place.folder for place in discovery.discovery_folders()], [self.folder]
            )

    def test_what_is_wrong_with_the_second_folder_does_not_alarm_the_user(self) -> None:
        open(os.path.join(self.shared, "gemini"), "w").close()
        publication = Publication(Advertisement(DEAD, 1, "t"))
        self.assertEqual((len(publication.paths), publication.problem), (1, ""))

    def test_what_is_wrong_with_the_first_is_told_though_the_second_has_the_file(self) -> None:
        open(os.path.join(self.temp, "gemini"), "w").close()
        publication = Publication(Advertisement(DEAD, 1, "t"))
        self.assertEqual(len(publication.paths), 1)
        self.assertIn("should be a folder", publication.problem)

    def test_all_of_them_are_swept(self) -> None:
        port = self.port(listening=False)
        paths = Publication(Advertisement(DEAD, port, "t")).paths
        whole = [*paths, *(beside(path, DEAD, port) for path in paths)]
        self.assertEqual(sorted(discovery.sweep_files(os.getppid())), sorted(whole))


class OtherClis(DiscoveryTestCase):
    """Those whose home folder is there have files of their own."""

    def home(self, name: str) -> str:
        path = os.path.join(self.temp, name)
        os.mkdir(path)
        return path

    def qwen_file(self, pid: Any, port: int, **members: Any) -> str:
        members = {"ppid": pid, "pid": pid, "ideInfo": discovery.IDE_INFO, **members}
        folder = os.path.join(self.temp, ".qwen", "ide")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{port}.lock")
        with open(path, "w") as file:
            json.dump(members, file)
        return path

    def test_nothing_is_made_for_a_cli_that_the_user_does_not_have(self) -> None:
        publication = Publication(Advertisement(DEAD, 4711, "secret", ("/a",)))
        self.assertEqual([os.path.dirname(path) for path in publication.paths], [self.folder])
        self.assertEqual(os.listdir(self.temp), ["gemini"])

    def test_qwen_code_finds_a_file_named_by_the_port_in_its_home_folder(self) -> None:
        path = os.path.join(self.home(".qwen"), "ide", "4711.lock")
        publication = Publication(Advertisement(DEAD, 4711, "secret", ("/a",)))
        self.assertEqual(publication.paths[1:], (path,))
        with open(path) as file:
            content = json.load(file)
        self.assertEqual(content.pop("authToken"), QWEN_CODE.token("secret"))
        self.assertEqual(
            content,
            {
                "port": 4711,
                "workspacePath": "/a",
                "ppid": DEAD,
                "pid": DEAD,
                "ideName": "Sublime Text",
                "ideInfo": {"name": "sublimetext", "displayName": "Sublime Text"},
            },
        )

    @unittest.skipUnless(POSIX, "permissions of Unix")
    def test_its_folder_is_the_users_alone_and_its_home_stays_as_it_is(self) -> None:
        home = self.home(".qwen")
        os.chmod(home, 0o755)
        path = Publication(Advertisement(DEAD, 1, "t")).paths[1]
        self.assertEqual(permissions(path), 0o600)
        self.assertEqual(permissions(os.path.dirname(path)), 0o700)
        self.assertEqual(permissions(home), 0o755)

    def test_the_environment_says_where_its_home_is(self) -> None:
        self.home(".qwen")
        with mock.patch.dict(os.environ, {"QWEN_HOME": self.home("elsewhere")}):
            paths = Publication(Advertisement(DEAD, 1, "t")).paths
        self.assertEqual(paths[1:], (os.path.join(self.temp, "elsewhere", "ide", "1.lock"),))

    def test_llxprt_code_finds_a_file_in_the_temp_folder(self) -> None:
        self.home(".llxprt")
        publication = Publication(Advertisement(7, 8, "t"))
        path = os.path.join(self.temp, "llxprt", "ide", "llxprt-ide-server-7-8.json")
        self.assertEqual(publication.paths[1:], (path,))

    def test_a_cli_that_the_user_has_from_now_on_has_a_file_soon(self) -> None:
        publication = Publication(Advertisement(DEAD, 1, "t"))
        home = self.home(".qwen")
        publication.renew()
        self.assertIn("1.lock", os.listdir(os.path.join(home, "ide")))
        publication.remove()
        self.assertEqual(os.listdir(os.path.join(home, "ide")), [])

    def test_what_is_wrong_with_its_folder_is_told_by_its_name(self) -> None:
        open(os.path.join(self.home(".qwen"), "ide"), "w").close()
        publication = Publication(Advertisement(DEAD, 1, "t"))
        self.assertEqual(len(publication.paths), 1)
        self.assertIn("may not be found by Qwen Code:", publication.problem)

    def test_its_dead_files_are_swept_where_they_are_ours(self) -> None:
        ours = self.qwen_file(DEAD, self.port(listening=False))
        alive = [
            self.qwen_file(DEAD, self.port(listening=True)),
            self.qwen_file(DEAD, 11, ideInfo={"name": "vscode", "displayName": "VS Code"}),
            self.qwen_file("x", 12),
            self.qwen_file(None, 13),
        ]
        with open(os.path.join(os.path.dirname(ours), "14.lock"), "w") as file:
            file.write("[" * 100_000)
        self.assertEqual(discovery.sweep_files(os.getppid()), [ours])
        self.assertTrue(all(map(os.path.exists, alive)))

    def test_a_sandbox_does_not_name_a_process_that_is_another_one_outside(self) -> None:
        path = os.path.join(self.home(".qwen"), "ide", "1.lock")
        with mock.patch.object(discovery, "has_own_processes", return_value=True):
            Publication(Advertisement(5, 1, "t"))
        with open(path) as file:
            self.assertNotIn("ppid", json.load(file))
        discovery.remove_all(5)
        self.assertFalse(os.path.exists(path))

    def test_another_folder_has_the_files_of_all_and_is_swept_too(self) -> None:
        home, extra = self.home(".qwen"), self.home("extra")
        port = self.port(listening=False)
        paths = Publication(Advertisement(DEAD, port, "t"), extra).paths
        name = f"gemini-ide-server-{DEAD}-{port}.json"
        expected = {
            os.path.join(self.folder, name),
            os.path.join(extra, "gemini", "ide", name),
            os.path.join(home, "ide", f"{port}.lock"),
            os.path.join(extra, "ide", f"{port}.lock"),
        }
        self.assertEqual(set(paths), expected)
        expected |= {beside(path, DEAD, port) for path in paths}
        self.assertEqual(set(discovery.sweep_files(os.getppid(), extra)), expected)

    def test_another_folder_that_is_not_there_is_not_made(self) -> None:
        extra = os.path.join(self.temp, "none")
        self.assertEqual(len(Publication(Advertisement(DEAD, 1, "t"), extra).paths), 1)
        self.assertFalse(os.path.exists(extra))

    def test_all_files_of_one_editor_go_together(self) -> None:
        gone = self.qwen_file(5, 1)
        stays = self.qwen_file(55, 2)
        discovery.remove_all(5)
        self.assertEqual([os.path.exists(path) for path in (gone, stays)], [False, True])


class ChangeAndRemoval(DiscoveryTestCase):
    def test_other_folders_are_written_under_the_same_name(self) -> None:
        publication = Publication(Advertisement(DEAD, 1, "t", ("/a",)))
        publication.change_advertisement(Advertisement(DEAD, 1, "t", ("/b",)))
        with open(publication.paths[0]) as file:
            self.assertEqual(json.load(file)["workspacePath"], "/b")
        self.assertEqual(len(os.listdir(self.folder)), 2)

    def test_the_same_folders_are_not_written_again(self) -> None:
        publication = Publication(Advertisement(DEAD, 1, "t", ("/a",)))
        os.unlink(publication.paths[0])
        publication.change_advertisement(Advertisement(DEAD, 1, "t", ("/a",)))
        self.assertFalse(os.path.exists(publication.paths[0]))

    def test_a_file_that_somebody_swept_away_comes_back(self) -> None:
        publication = Publication(Advertisement(DEAD, 1, "t"))
        shutil.rmtree(os.path.dirname(self.folder))
        publication.renew()
        self.assertTrue(os.path.exists(publication.paths[0]))

    def test_the_file_of_the_extension_comes_back_as_well(self) -> None:
        publication = Publication(Advertisement(DEAD, 1, "t"))
        path = beside(publication.paths[0], DEAD, 1)
        os.unlink(path)
        publication.renew()
        self.assertTrue(os.path.exists(path))

    def test_a_file_that_could_not_be_written_is_written_once_that_is_possible(self) -> None:
        obstacle = os.path.join(self.temp, "gemini")
        open(obstacle, "w").close()
        publication = Publication(Advertisement(DEAD, 1, "t"))
        os.unlink(obstacle)
        publication.renew()
        self.assertEqual(publication.problem, "")
        self.assertEqual(len(publication.paths), 1)

    def test_what_was_told_of_a_file_is_withdrawn_once_it_is_not_true_any_more(self) -> None:
        obstacle, told = os.path.join(self.temp, "gemini"), mock.Mock()
        open(obstacle, "w").close()
        of_told = told.tell, told.withdraw
        publication = Publication(Advertisement(DEAD, 1, "t"), "", *of_told)
        problem = publication.problem
        publication.renew()
        self.assertEqual(told.mock_calls, [mock.call.tell(problem)])
        os.unlink(obstacle)
        publication.renew()
        publication.renew()
        publication.remove()
        self.assertEqual(told.mock_calls, [mock.call.tell(problem), mock.call.withdraw()])

    def test_of_a_window_that_is_closed_nothing_is_told_any_more(self) -> None:
        told = mock.Mock()
        open(os.path.join(self.temp, "gemini"), "w").close()
        publication = Publication(Advertisement(DEAD, 1, "t"), "", told.tell, told.withdraw)
        publication.remove()
        self.assertEqual(told.mock_calls, [mock.call.tell(mock.ANY), mock.call.withdraw()])

    def test_where_nothing_is_missing_nothing_is_written(self) -> None:
        publication = Publication(Advertisement(DEAD, 1, "t"))
        with mock.patch.object(os, "replace", side_effect=OSError):
            publication.renew()
        self.assertEqual(publication.problem, "")

    def test_a_removed_file_is_gone_and_may_be_removed_again(self) -> None:
        publication = Publication(Advertisement(DEAD, 1, "t"))
        publication.remove()
        publication.remove()
        self.assertEqual(os.listdir(self.folder), [])

    def test_all_files_of_one_editor_go_together_and_no_others(self) -> None:
        for pid, port in ((5, 1), (5, 2), (55, 1)):
            Publication(Advertisement(pid, port, "t"))
        self.write("gemini-ide-server-5.json")
        self.write("notes-5-1.json")
        discovery.remove_all(5)
        self.assertEqual(
            sorted(os.listdir(self.folder)),
            [
                "gemini-companion-55-1.key",
                *("gemini-ide-server-5.json", "gemini-ide-server-55-1.json", "notes-5-1.json"),
            ],
        )

    def test_to_remove_all_where_there_is_no_folder_is_no_error(self) -> None:
        discovery.remove_all(5)
        self.assertFalse(os.path.exists(self.folder))


class TheSweep(DiscoveryTestCase):
    def name(self, pid: int, port: int) -> str:
        return f"gemini-ide-server-{pid}-{port}.json"

    def test_a_file_goes_whose_editor_is_dead_and_whose_port_refuses(self) -> None:
        path = self.write(self.name(DEAD, self.port(listening=False)))
        self.assertEqual(discovery.sweep_files(os.getppid()), [path])
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_file_stays_whose_port_answers(self) -> None:
        self.write(self.name(DEAD, self.port(listening=True)))
        self.assertEqual(discovery.sweep_files(os.getppid()), [])
        self.assertEqual(len(os.listdir(self.folder)), 1)

    @unittest.skipUnless(POSIX, "on Windows the port alone decides")
    def test_a_file_stays_whose_editor_lives(self) -> None:
        self.write(self.name(os.getpid(), self.port(listening=False)))
        self.assertEqual(discovery.sweep_files(os.getppid()), [])
        self.assertEqual(len(os.listdir(self.folder)), 1)

    def test_on_windows_it_goes_also_where_another_process_has_the_number(self) -> None:
        path = self.write(self.name(os.getpid(), self.port(listening=False)))
        places = discovery.discovery_folders()
        with mock.patch.object(discovery, "discovery_folders", lambda extra: places):
            with mock.patch.object(sys, "platform", "win32"):
                self.assertEqual(discovery.sweep_files(os.getppid()), [path])

    def test_files_that_this_editor_left_behind_go_but_its_live_ones_stay(self) -> None:
        left = self.write(self.name(os.getppid(), self.port(listening=False)))
        self.write(self.name(os.getppid(), self.port(listening=True)))
        self.assertEqual(discovery.sweep_files(os.getppid()), [left])
        self.assertEqual(len(os.listdir(self.folder)), 1)

    def test_numbers_that_are_no_process_and_no_port_count_as_dead(self) -> None:
        self.write(self.name(10**30, 0))
        self.write(self.name(10**30, 70000))
        self.assertEqual(len(discovery.sweep_files(os.getppid())), 2)

    def test_files_of_other_names_stay(self) -> None:
        port = self.port(listening=False)
        names = [
            f"gemini-ide-server-{DEAD}.json",
            f"gemini-ide-server-{DEAD}-{port}.json.bak",
            f"x-gemini-ide-server-{DEAD}-{port}.json",
            f"qwen-{DEAD}-{port}.json",
            ".unfinished",
            f".unfinished-{DEAD}-",
        ]
        for name in names:
            self.write(name)
        self.assertEqual(discovery.sweep_files(os.getppid()), [])
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(names))

    def test_a_half_written_file_goes_when_its_writer_is_dead(self) -> None:
        dead = self.write(f".unfinished-{DEAD}-0123abcd")
        alive = self.write(f".unfinished-{os.getpid()}-0123abcd")
        self.assertEqual(discovery.sweep_files(os.getppid()), [dead])
        self.assertEqual(os.listdir(self.folder), [os.path.basename(alive)])

    @unittest.skipUnless(POSIX, "links need rights on Windows")
    def test_links_and_folders_stay(self) -> None:
        port = self.port(listening=False)
        os.makedirs(os.path.join(self.folder, self.name(DEAD, port)))
        os.symlink("/no/such/file", os.path.join(self.folder, self.name(DEAD + 1, port)))
        self.assertEqual(discovery.sweep_files(os.getppid()), [])
        self.assertEqual(len(os.listdir(self.folder)), 2)

    @unittest.skipUnless(ROOT, "only root can give a file away")
    def test_files_of_another_user_stay(self) -> None:
        os.chown(self.write(self.name(DEAD, self.port(listening=False))), 12345, -1)
        self.assertEqual(discovery.sweep_files(os.getppid()), [])
        self.assertEqual(len(os.listdir(self.folder)), 1)

    def left_by(self, listening: bool, **other: Any) -> list[str]:
        """What a server left that differs from this process in that; gives what of it is swept."""
        port = self.port(listening)
        serving = replace(server_file.this_process(), **other)
        with mock.patch.object(server_file, "this_process", lambda: serving):
            (path,) = Publication(Advertisement(os.getpid(), port, "t")).paths
        left = [path, beside(path, os.getpid(), port)]
        removed = discovery.sweep_files(os.getppid())
        self.assertEqual(
            [os.path.exists(left_path) for left_path in left],
            [left_path not in removed for left_path in left],
        )
        for left_path in left:
            if os.path.exists(left_path):
                os.unlink(left_path)
        return removed

    def test_what_a_dead_editor_left_goes_though_a_stranger_listens_on_its_port(self) -> None:
        self.assertEqual(len(self.left_by(listening=True, pid=DEAD)), 2)
        self.assertEqual(len(self.left_by(listening=False, pid=DEAD)), 2)

    @unittest.skipUnless(sys.platform == "linux", "the system does not tell of such processes")
    def test_what_an_editor_left_goes_though_nobody_has_asked_for_its_end(self) -> None:
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        self.addCleanup(child.communicate)
        started = system_processes.start_of(child.pid)
        alive = {"pid": child.pid, "started": started}
        self.assertEqual(self.left_by(listening=True, **alive), [])
        child.kill()
        # It has ended, and stays in the list of processes.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        self.assertEqual(len(self.left_by(listening=True, **alive)), 2)

    @unittest.skipUnless(system_processes.start_of(1), "the system does not say when one started")
    def test_a_later_process_with_its_number_is_not_the_editor(self) -> None:
        parent = system_processes.start_of(os.getppid())
        alive = {"pid": os.getppid(), "started": parent}
        self.assertEqual(self.left_by(listening=True, **alive), [])
        self.assertEqual(self.left_by(listening=False, **alive), [])
        self.assertEqual(len(self.left_by(listening=True, **{**alive, "started": "1 1"})), 2)

    def test_what_this_process_serves_stays_while_it_listens(self) -> None:
        self.assertEqual(self.left_by(listening=True), [])
        self.assertEqual(len(self.left_by(listening=False)), 2)

    def test_that_of_an_editor_among_other_processes_stays(self) -> None:
        for network in ("net:[2]", ""):
            for listening in (True, False):
                other = {"namespace": "pid:[2]", "network": network, "pid": DEAD}
                if sys.platform == "linux":
                    self.assertEqual(self.left_by(listening, **other), [])

    def test_if_its_network_is_ours_a_port_that_refuses_says_that_it_has_ended(self) -> None:
        other = {"namespace": "pid:[2]", "pid": os.getpid()}
        self.assertEqual(self.left_by(True, **other), [])
        self.assertEqual(len(self.left_by(False, **other)), 2)

    def test_of_another_machine_only_a_number_and_a_port_that_are_free_count(self) -> None:
        self.assertEqual(self.left_by(True, machine="elsewhere", pid=DEAD), [])
        self.assertEqual(self.left_by(False, machine="elsewhere", pid=DEAD), [])
        port = self.port(listening=False)
        serving = replace(server_file.this_process(), machine="elsewhere")
        with mock.patch.object(server_file, "this_process", lambda: serving):
            Publication(Advertisement(DEAD, port, "t"))
        self.assertEqual(len(discovery.sweep_files(os.getppid())), 2)

    def test_a_file_beside_it_that_makes_no_sense_counts_as_none(self) -> None:
        for text in ("", "[]", "{", '{"serving": 1}', '{"serving": {"pid": -1}}', "[" * 100_000):
            port = self.port(listening=True)
            path = self.write(self.name(DEAD, port))
            with open(beside(path, DEAD, port), "w") as file:
                file.write(text)
            self.assertEqual(discovery.sweep_files(os.getppid()), [])

    def test_an_editor_in_a_container_with_our_number_keeps_its_file_when_we_quit(self) -> None:
        serving = replace(server_file.this_process(), namespace="pid:[2]")
        with mock.patch.object(server_file, "this_process", lambda: serving):
            (path,) = Publication(Advertisement(5, 1, "t")).paths
        discovery.remove_all(5)
        self.assertTrue(os.path.exists(path))

    @unittest.skipUnless(POSIX, "on Windows the port alone decides")
    def test_a_process_that_cannot_be_compared_is_taken_for_the_editor(self) -> None:
        with mock.patch.object(system_processes, "start_of", lambda pid: ""):
            serving = replace(server_file.this_process(), pid=os.getppid(), started="")
            self.assertIsNone(server_file.has_ended(serving, lambda: True))
            with mock.patch.object(private_files, "is_running", lambda pid: False):
                self.assertTrue(server_file.has_ended(serving, lambda: True))

    def test_where_there_is_no_folder_there_is_nothing_to_sweep(self) -> None:
        self.assertEqual(discovery.sweep_files(os.getppid()), [])

    @unittest.skipUnless(POSIX, "links need rights on Windows")
    def test_a_folder_that_cannot_be_read_is_no_error(self) -> None:
        os.symlink("gemini", os.path.join(self.temp, "gemini"))
        self.assertEqual(discovery.sweep_files(os.getppid()), [])
