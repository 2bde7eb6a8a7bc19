"""Each step of a CLI's way made to fail once, on any platform; tests/e2e asks the real CLI."""

from __future__ import annotations

import unittest
from dataclasses import replace
from typing import Any

from GeminiCompanion.companion import __version__
from GeminiCompanion.companion.ide.cli_settings import parse_settings
from GeminiCompanion.companion.ide.clis import GEMINI_CLI, IBM_BOB, LLXPRT, QWEN_CODE
from GeminiCompanion.companion.ide.doctor import checks, logins, lookup, report, starting
from GeminiCompanion.companion.ide.doctor.checks import CHECKS, Failed, Ok
from GeminiCompanion.companion.ide.doctor.facts import (
    DiscoveryFile,
    Facts,
    FoundProgram,
    Window,
)
from GeminiCompanion.companion.ide.hooks.extension import Installed
from GeminiCompanion.companion.ide.surroundings import Surrounding
from GeminiCompanion.companion.ide.system_processes import SystemProcess

PLACE = "/tmp/gemini/ide"
EDITOR, SHELL, CLI = 100, 300, 400
FILE = DiscoveryFile(
    f"{PLACE}/gemini-ide-server-100-5000.json", EDITOR, 5000, 5000, "/work", has_token=True
)
OURS = Window(EDITOR, 5000, ("/work",), (FILE.path,), connected=1, since=1000.0)
ON = parse_settings("/home/ann/.gemini/settings.json", '{"ide": {"enabled": true}}')
PROCESSES = {
    1: SystemProcess(1, 0, "init"),
    EDITOR: SystemProcess(EDITOR, 1, "sublime_text", started=500.0),
    200: SystemProcess(200, EDITOR, "plugin_host"),
    SHELL: SystemProcess(SHELL, 200, "bash"),
    CLI: SystemProcess(CLI, SHELL, "node", "node /usr/bin/gemini", 2000.0, "/work", {}),
}


def facts(**changes: Any) -> Facts:
    """Those of a CLI that connects."""
    good = Facts(
        GEMINI_CLI,
        "linux",
        OURS,
        "/home/ann",
        FoundProgram("/usr/bin/gemini", True, "0.61.0", "/usr/bin/node", "22.1.0"),
        PROCESSES[CLI],
        {},
        "/work",
        ON,
        (),
        PLACE,
        (FILE,),
        {},
        PROCESSES,
        ("an API key",),
        surroundings=(Surrounding("Sublime Text is a snap"),),
        extension=Installed("/home/ann/x"),
    )
    return replace(good, **changes)


class Extension(unittest.TestCase):
    def test_it_is_told_and_never_in_the_way(self) -> None:
        installed, heard = Installed("/x", __version__), replace(OURS, heard={"gemini": 0.0})
        old, writes = (
            FoundProgram("/bin/gemini", version="0.25.3"),
            '"Install CLI Extension" writes',
        )
        rows: tuple[tuple[dict[str, Any], str], ...] = (
            ({"extension": None}, ""),
            ({}, "not installed"),
            ({"extension": Installed("/x", "0.1.0", False)}, "gemini extensions enable"),
            ({"extension": installed}, f"{__version__}, not heard"),
            ({"extension": installed, "window": heard}, f"{__version__}, last heard at"),
            ({"extension": Installed("/x", "0.0.1")}, f"0.0.1 ({writes} {__version__})"),
            ({"window": heard}, "not in /home/ann/x, last heard at"),
            ({"extension": installed, "program": old}, "0.25.3 is too old to load it"),
        )
        for changes, words in rows:
            found = checks.by_id("extension").judge(facts(**changes))
            with self.subTest(words):
                self.assertIn(words, found.found if isinstance(found, Ok) else "")
                self.assertEqual(found is None, not words)


ALONE = replace(OURS, connected=0)
ASTRAY: dict[str, Any] = {"discovery_folder": "/other/gemini/ide", "files": ()}
NONE: dict[str, Any] = {"process": None, "program": FoundProgram()}
NO_FILES = replace(OURS, discovery_paths=(), unwritten={"/x": "The disk is full."})
BLOCKED = replace(OURS, unwritten={PLACE: "/tmp/gemini should be a folder and is not."})
SHARED = replace(
    OURS,
    discovery_paths=(
        FILE.path,
        "/shared/gemini/ide/gemini-ide-server-100-5000.json",
        "/q/ide/1.lock",
    ),
)
BROKEN, COMMAS = (
    parse_settings("/s.json", '{"a": 1\n"b": 2}'),
    parse_settings("/s.json", '{"a": 1,}'),
)
UNSET = parse_settings("/home/ann/.gemini/settings.json", None)
SYSTEM = parse_settings("/etc/s.json", '{"ide": {"enabled": false}}')
FLATPAK = Surrounding("Sublime Text is a Flatpak", "It has a /tmp of its own.", "Share it.")
DEAD = DiscoveryFile(f"{PLACE}/x", EDITOR, 4000, 4000, "/work", answers=False)
LIVE = replace(DEAD, answers=True)
EARLY, OLDER = (replace(PROCESSES[CLI], started=at) for at in (900.0, 400.0))
CONTAINER = frozenset(["/.dockerenv"])


def needs_node(version: str) -> FoundProgram:
    return FoundProgram("/usr/bin/gemini", True, "0.61.0", "/usr/bin/node", version)


# What is so, and the first step that fails: its id, its link, words of it and of its remedy.
FAILING: tuple[tuple[str, dict[str, Any], str, str, str, str], ...] = (
    ("a sandbox that hides the discovery file is told first",
     {"surroundings": (FLATPAK,), "program": FoundProgram()}, "surroundings", "",
     "/tmp of its own", ""),
    ("no CLI", NONE, "installed", checks.INSTALL, "was not found", "Install Node.js 20"),
    ("no CLI where Node.js is", {**NONE, "program": FoundProgram(node="/usr/bin/node")},
     "installed", checks.INSTALL, "was not found", "Run: npm install -g @google/gemini-cli"),
    ("a CLI that the path does not lead to",
     {"program": FoundProgram("/home/ann/.nvm/bin/gemini", False, "0.61.0")}, "installed",
     checks.USE_PROGRAM, "PATH", ""),
    ("a CLI that does not run", {"process": None, "program": FoundProgram(
        "/usr/bin/gemini", True, "0.61.0", failure="its exit status is 127: env: 'node'")},
     "installed", "", "does not run: its exit status is 127: env: 'node'.", "install Node.js 20"),
    ("a CLI that does not run with its Node.js", {"process": None, "program": replace(
        needs_node("22.1.0"), failure="its exit status is 1: no")},
     "installed", "", "does not run: its exit status is 1", "gemini --version in a terminal"),
    ("an old Node.js", {"process": None, "program": needs_node("18.20.1")}, "installed", "",
     "needs Node.js 20", ""),
    ("an old CLI", {"program": FoundProgram("/usr/bin/gemini", True, "0.5.3")}, "installed",
     checks.INSTALL, "too old", ""),
    ("settings that make no sense", {"settings": BROKEN}, "settings", "", "/s.json, line 2", ""),
    ("settings of all users that make no sense", {"overriding": (BROKEN,)}, "settings", "",
     "/s.json, line 2", ""),
    ("settings with commas", {"settings": COMMAS}, "settings", checks.ENABLE, "commas", ""),
    ("no login", {"logins": ()}, "login", checks.LOG_IN, "No way to log in", "2026-06-18"),
    ("no server", {"window": replace(OURS, port=0)}, "served", checks.RESTART, "no server", ""),
    ("why there is no server is said where it is known",
     {"window": replace(OURS, port=0, problem="No server (too many open files).")}, "served",
     checks.RESTART, "too many open files", ""),
    ("no folder", {"window": replace(OURS, folders=())}, "folder", checks.ADD_FOLDER, "no folder",
     ""),
    ("a folder that no variable can hold", {"window": replace(OURS, folders=("/a:b",))}, "folder",
     "", "colon", ""),
    ("a folder that the maps do not know",
     {"window": replace(OURS, folders=(), unmapped=("E:\\a",))}, "folder", "",
     "no path of the CLIs for E:\\a.", ""),
    ("no file", {"window": NO_FILES}, "published", checks.WRITE_AGAIN, "The disk is full.", ""),
    ("a place that cannot be written though another can", {"window": BLOCKED}, "published",
     checks.WRITE_AGAIN, "should be a folder", ""),
    ("another temp folder", ASTRAY, "place", checks.RUN_CLI,
     "The CLI looks into /other/gemini/ide",
     "Start it as TMPDIR=/tmp gemini, or with Run Gemini CLI."),
    # The folder of the settings, which CLIs outside of a sandbox see, comes last.
    ("another temp folder beside one of the settings", {**ASTRAY, "window": SHARED}, "place",
     checks.RUN_CLI, "The CLI looks into /other/gemini/ide", "TMPDIR=/shared gemini,"),
    ("a file that somebody swept away", {"files": ()}, "place", checks.WRITE_AGAIN, "is gone", ""),
    ("a file of another user", {"files": (replace(FILE, is_ours=False),)}, "file",
     checks.WRITE_AGAIN, "cannot be read", ""),
    ("half a file", {"files": (replace(FILE, makes_sense=False),)}, "file", checks.WRITE_AGAIN,
     "cannot be read", ""),
    ("a token of before", {"files": (replace(FILE, has_token=False),)}, "file",
     checks.WRITE_AGAIN, "token", ""),
    ("a dead file in the way", {"files": (DEAD, FILE)}, "file", checks.SWEEP,
     "an editor that has ended", ""),
    ("a file that leads to what is no editor", {"files": (replace(LIVE, is_editor=False), FILE)},
     "file", checks.RUN_CLI, "no editor answers", ""),
    ("another window in the way", {"files": (LIVE, FILE)}, "file", checks.RUN_CLI,
     "another window or editor", ""),
    ("a CLI that was started before the window", {"process": EARLY}, "detected", checks.RUN_CLI,
     "started at", ""),
    ("a CLI that was started before the editor",
     {"process": OLDER, "window": replace(OURS, since=0.0)}, "detected", checks.RUN_CLI,
     "started at", ""),
    ("nothing that tells of an editor", {"files": (replace(FILE, names_editor=False),)},
     "detected", checks.RUN_CLI, "Neither", ""),
    ("not enabled", {"settings": UNSET}, "enabled", checks.ENABLE, "ide.enabled is not set", ""),
    ("disabled for all users", {"overriding": (SYSTEM,)}, "enabled", "", "/etc/s.json sets", ""),
    ("another folder", {"folder": "/elsewhere"}, "same_folder", checks.ADD_FOLDER,
     "The CLI runs in /elsewhere", ""),
    ("a container", {"exists": CONTAINER}, "host", "", "host.docker.internal", ""),
    ("a network of its own", {"has_own_network": True}, "answers", "", "a network of its own", ""),
    ("nothing in the way and not connected", {"window": ALONE}, "connected", "", "not connected",
     ""),
    ("nothing in the way and none runs", {"window": ALONE, "process": None}, "connected",
     checks.RUN_CLI, "none runs", "in a terminal: cd /work && gemini"),
    ("another CLI that is connected does not count for this one", {"is_connected": False},
     "connected", "", "not connected", ""),
)  # fmt: skip
# What is so where no step fails.
FINE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("all is well", {}),
    ("a place of another CLI cannot be written",
     {"window": replace(OURS, unwritten={"/home/ann/.qwen/ide": "The disk is full."})}),
    ("the server was taken over from before",
     {"process": EARLY, "window": replace(OURS, since=0.0)}),
    ("a CLI that was started just before the window, and looks a moment later",
     {"process": replace(PROCESSES[CLI], started=999.5)}),
    ("the terminal tells of the editor",
     {"process": EARLY, "environment": {"TERM_PROGRAM": "sublime"}}),
    ("a container of SSH", {"exists": CONTAINER, "environment": {"SSH_CONNECTION": "1"}}),
    ("a container of an editor", {"exists": CONTAINER, "environment": {"REMOTE_CONTAINERS": "1"}}),
    ("a container that reaches its host", {"exists": CONTAINER, "reaches_host": True}),
    ("a network of its own that reaches its host",
     {"has_own_network": True, "exists": CONTAINER, "reaches_host": True}),
    ("one that is connected all the same", {"process": EARLY, "is_connected": True}),
)  # fmt: skip


class Way(unittest.TestCase):
    def test_each_step_fails_with_its_words_link_and_remedy(self) -> None:
        for sentence, changes, id, action, words, remedy in FAILING:
            with self.subTest(sentence):
                rows = report.examine_cli(facts(**changes)).rows
                ((at, failed),) = [
                    (at, row.result)
                    for at, row in enumerate(rows)
                    if isinstance(row.result, Failed)
                ]
                self.assertEqual(
                    [row.result for row in rows[at + 1 :]], [None] * len(rows[at + 1 :])
                )
                self.assertEqual((rows[at].check.id, failed.action), (id, action))
                self.assertIn(words, failed.what)
                self.assertTrue(failed.remedy)
                self.assertIn(remedy, failed.remedy)

    def test_nothing_fails_where(self) -> None:
        for sentence, changes in FINE:
            with self.subTest(sentence):
                examination = report.examine_cli(facts(**changes))
                self.assertIsNone(examination.failure)
                self.assertTrue(changes or len(examination.rows) == len(CHECKS))

    def test_of_windows_and_of_other_clis_the_remedy_has_their_names(self) -> None:
        windows = replace(OURS, discovery_paths=("C:\\Temp\\gemini\\ide\\a.json",))
        found = checks.in_its_folder(facts(**ASTRAY, platform="windows", window=windows))
        self.assertIn(" TEMP=C:\\Temp,", getattr(found, "remedy", ""))
        of_home = checks.in_its_folder(facts(cli=QWEN_CODE, **ASTRAY))
        self.assertEqual(getattr(of_home, "remedy", ""), "Start it with Run Qwen Code.")
        folder = facts(window=replace(OURS, folders=("C:\\a",)), platform="windows")
        self.assertIsInstance(checks.folder_open(folder), Ok)

    def test_what_is_to_be_typed_has_all_variables_that_are_needed_and_no_other(self) -> None:
        own = replace(OURS, discovery_paths=("/own/gemini/ide/a.json",))
        none: dict[str, Any] = {"process": None}
        astray = {**none, "window": own, "discovery_folder": "/own/gemini/ide"}
        rows: tuple[tuple[dict[str, Any], str], ...] = (
            (none, "cd /work && gemini"),
            ({**none, "folder": "/my work"}, "cd /my\\ work && gemini"),
            ({**none, "exists": CONTAINER}, "cd /work && REMOTE_CONTAINERS=1 gemini"),
            ({**none, "exists": CONTAINER, "reaches_host": True}, "cd /work && gemini"),
            # Another terminal has not the editor's TMPDIR.
            (astray, "cd /work && TMPDIR=/own gemini"),
            (
                {**astray, "exists": CONTAINER},
                "cd /work && REMOTE_CONTAINERS=1 TMPDIR=/own gemini",
            ),
            ({**astray, "platform": "osx"}, "cd /work && gemini"),
            ({**astray, "cli": QWEN_CODE}, "cd /work && qwen"),
            ({**none, "wrapper": "mine", "names_cli": False}, "cd /work && mine"),
            # Each shell of Windows changes the folder in another way.
            (
                {**none, "platform": "windows", "folder": "D:\\R&D"},
                "gemini, in the folder D:\\R&D",
            ),
        )
        for changes, line in rows:
            with self.subTest(line):
                found = facts(**changes)
                self.assertEqual(starting.start_line(found), line)
                alone = replace(found, window=replace(found.window, connected=0))
                said = checks.check_connection(alone)
                self.assertIn(line, getattr(said, "remedy", ""))
        both = facts(**{**ASTRAY, "exists": CONTAINER})
        for look in (checks.in_its_folder, checks.check_host):
            said = look(both)
            self.assertIn("REMOTE_CONTAINERS=1 TMPDIR=/tmp gemini", getattr(said, "remedy", ""))

    def test_a_cli_that_is_connected_says_to_whom(self) -> None:
        look = checks.by_id("connected").judge
        self.assertEqual(look(facts(is_connected=True)), Ok("to this window"))
        self.assertIn("this system does not tell", getattr(look(facts()), "found", ""))
        started = look(facts(process=None))
        self.assertEqual(started, Ok("one CLI is connected to this window"))

    def test_the_remedy_names_the_same_cli_as_the_link_beside_it(self) -> None:
        for changes, words in (
            ({}, "Run Gemini CLI"),
            ({"cli": QWEN_CODE}, "Run Qwen Code"),
            ({"cli": QWEN_CODE, "is_started": False}, "Open Terminal or Copy Exports"),
        ):
            found = checks.by_id("detected").judge(facts(**changes, files=()))
            self.assertIsInstance(found, Failed)
            self.assertEqual(getattr(found, "remedy", ""), f"Start it with {words}.")

    def test_an_ordinary_desktop_is_not_mentioned(self) -> None:
        self.assertIsNone(report.examine_cli(facts(surroundings=())).find_row("surroundings"))

    def test_one_that_runs_has_the_programs_that_it_needs(self) -> None:
        for program in (
            FoundProgram(),
            FoundProgram("/usr/bin/qwen", True, "0.24.4", "", "18.1.0"),
        ):
            result = checks.check_program(facts(cli=QWEN_CODE, program=program))
            self.assertNotIsInstance(result, Failed)

    def test_a_cli_that_the_editor_before_was_found_by(self) -> None:
        early = replace(PROCESSES[CLI], started=400.0)
        for at, kind, is_fine in (
            (450.0, "gemini", True),
            (350.0, "gemini", False),
            (450.0, "qwen", False),
            # To this editor, then.
            (950.0, "gemini", False),
        ):
            window = replace(OURS, connected_before={kind: at})
            found = report.examine_cli(facts(process=early, window=window)).failure
            with self.subTest(at=at, kind=kind):
                self.assertEqual(found is None, is_fine)

    def test_a_proxy_in_the_way_of_the_one_that_asks_it_for_the_host_of_its_container(self) -> None:
        proxies = {"HTTP_PROXY": "http://ann:secret@proxy:3128"}
        inside: dict[str, Any] = {"cli": LLXPRT, "exists": frozenset(["/.dockerenv"])}
        found = checks.check_proxy(facts(**inside, environment=proxies))
        self.assertEqual(
            found.what if isinstance(found, Failed) else "",
            "The CLI would use the proxy http://proxy:3128 for host.docker.internal.",
        )
        for cli in (GEMINI_CLI, QWEN_CODE, LLXPRT):
            outside = checks.check_proxy(facts(cli=cli, environment=proxies))
            self.assertEqual(outside, Ok("the CLI does not use http://proxy:3128 for this"))
        free = {**proxies, "NO_PROXY": "example.org, host.docker.internal"}
        self.assertIsInstance(checks.check_proxy(facts(**inside, environment=free)), Ok)
        self.assertEqual(checks.check_proxy(facts(**inside)), Ok("none in the way"))

    def test_variables_of_another_window(self) -> None:
        bob = facts(cli=IBM_BOB, environment={"BOB_SHELL_CLI_IDE_SERVER_PORT": "4000"})
        found = checks.check_port(bob)
        self.assertEqual(found.action if isinstance(found, Failed) else "", checks.RUN_CLI)

    def test_variables_lead_past_a_missing_file(self) -> None:
        variables = {
            "TERM_PROGRAM": "sublime",
            **GEMINI_CLI.environment(5000, "/work", "t", EDITOR),
        }
        led = facts(environment=variables, files=(), discovery_folder="/other/gemini/ide")
        self.assertIsNone(report.examine_cli(led).failure)

    def test_the_report_has_no_secret_and_no_home(self) -> None:
        secret = {"GEMINI_CLI_IDE_AUTH_TOKEN": "hush", "GEMINI_API_KEY": "hush"}
        text = report.examine_cli(facts(environment=secret, logins=())).report_text()
        self.assertIn("FAILED  Login", text)
        self.assertIn("-       Detection", text)
        short = report.shorten_home(text, "/home/ann")
        self.assertEqual(
            report.shorten_home("/home/anna, /home/ann-2/b, in /home/ann.", "/home/ann"),
            "/home/anna, /home/ann-2/b, in ~.",
        )
        self.assertNotIn("hush", short + repr(facts(environment=secret)))
        self.assertNotIn("/home/ann", short)


class Lookup(unittest.TestCase):
    def test_the_target_is_above_the_first_shell(self) -> None:
        self.assertEqual(lookup.target_pid(facts()), EDITOR)
        self.assertEqual(lookup.target_pid(facts(process=None)), 0)
        told = {"GEMINI_CLI_IDE_PID": "7"}
        self.assertEqual(lookup.target_pid(facts(environment=told)), 7)

    def test_without_a_shell_it_is_the_topmost(self) -> None:
        bare = {**PROCESSES, CLI: replace(PROCESSES[CLI], parent=200)}
        self.assertEqual(lookup.target_pid(facts(processes=bare, process=bare[CLI])), EDITOR)

    def test_on_windows_it_is_the_third_from_the_root(self) -> None:
        chain = {pid: SystemProcess(pid, pid - 10) for pid in (20, 30, 40, 50)}
        found = lookup.target_pid(facts(platform="windows", processes=chain, process=chain[50]))
        self.assertEqual(found, 40)

    def test_files_come_by_target_then_alive_then_larger_pid(self) -> None:
        dead = replace(FILE, pid=999, path="dead")
        alive = replace(FILE, pid=200, path="alive")
        for files, first in (((dead, alive), "alive"), ((dead, alive, FILE), FILE.path)):
            file = lookup.chosen_file(facts(files=files))
            self.assertEqual(file.path if file else "", first)

    def test_the_port_of_the_environment_decides_between_those_that_fit(self) -> None:
        other = replace(FILE, path="other", points_to=4000)
        chosen = lookup.chosen_file(
            facts(files=(FILE, other), environment={"GEMINI_CLI_IDE_SERVER_PORT": "4000"})
        )
        self.assertEqual(chosen, other)

    def test_a_file_without_port_in_its_name_beats_all_and_is_not_asked_for_folders(self) -> None:
        old = DiscoveryFile("old", EDITOR, 0, 4000, "/elsewhere")
        self.assertEqual(lookup.chosen_file(facts(files=(FILE, old))), old)

    def test_before_0_31_only_the_target_s_file_counts(self) -> None:
        other = replace(FILE, pid=200)
        old = FoundProgram("/usr/bin/gemini", True, "0.30.1")
        self.assertIsNone(lookup.chosen_file(facts(files=(other,), program=old)))

    def test_qwen_takes_the_newest_that_lives(self) -> None:
        def lock(port: int, modified: float, answers: bool = True) -> DiscoveryFile:
            return replace(FILE, port=port, points_to=port, modified=modified, answers=answers)

        files = (lock(1, 10.0), lock(2, 30.0, answers=False), lock(3, 20.0))
        found = lookup.chosen_file(facts(cli=QWEN_CODE, files=files))
        self.assertEqual(found.port if found else 0, 3)
        named = {"QWEN_CODE_IDE_SERVER_PORT": "1"}
        found = lookup.chosen_file(facts(cli=QWEN_CODE, files=files, environment=named))
        self.assertEqual(found.port if found else 0, 1)

    def test_folders_are_compared_as_the_platform_does(self) -> None:
        cases = (
            ("linux", "/a/b", "/a:/c", True),
            ("linux", "/ab", "/a", False),
            ("linux", "/A", "/a", False),
            ("linux", "/x/..y", "/x", True),
            ("linux", "/a", "", False),
            ("linux", "/aA", "/a%41", True),
            ("osx", "/Work/x", "/work", True),
            ("windows", "C:\\Work\\x", "c:\\work;D:\\y", True),
            ("windows", "E:\\x", "c:\\work", False),
        )
        for platform, folder, workspace, expected in cases:
            with self.subTest(folder=folder, workspace=workspace):
                found = lookup.runs_within(facts(platform=platform, folder=folder), workspace)
                self.assertEqual(found, expected)

    def test_links_are_resolved_first(self) -> None:
        linked = facts(folder="/disk/work", real={"/work": "/disk/work"})
        self.assertTrue(lookup.runs_within(linked, "/work"))

    def test_the_temp_folder_is_node_s(self) -> None:
        cases: tuple[tuple[str, dict[str, str], str], ...] = (
            ("linux", {"TMPDIR": "/x/", "TMP": "/y"}, "/x"),
            ("linux", {"TEMP": "/z"}, "/z"),
            ("linux", {}, "/tmp"),
            ("linux", {"TMPDIR": "/"}, "/"),
            ("windows", {"TEMP": "C:\\t\\", "TMP": "C:\\u"}, "C:\\t"),
            ("windows", {"SystemRoot": "C:\\Windows"}, "C:\\Windows\\temp"),
        )
        for platform, environment, expected in cases:
            with self.subTest(environment=environment):
                self.assertEqual(lookup.temp_folder(platform, environment), expected)


class Logins(unittest.TestCase):
    def test_each_way_is_found_and_no_secret_is_told(self) -> None:
        key = {"GEMINI_API_KEY": "hush"}
        cases: tuple[tuple[Any, str], ...] = (
            ((key, {}, None, False), "an API key (GEMINI_API_KEY in the environment)"),
            (({}, {"/h/.env": "export GEMINI_API_KEY='hush'"}, None, False), "an API key (GEMINI"),
            (({}, {"/h/.env": "# GEMINI_API_KEY=hush"}, None, False), ""),
            (({}, {"/h/.env": "GEMINI_API_KEY="}, None, False), ""),
            (({}, {}, "gemini-api-key", False), "an API key, as the CLI keeps it"),
            (({}, {}, "vertex-ai", False), "Vertex AI"),
            (({"GOOGLE_GENAI_USE_VERTEXAI": "true"}, {}, None, False), "Vertex AI (GOOGLE"),
            (({}, {}, "oauth-personal", False), "login with Google"),
            (({}, {}, None, True), "login with Google"),
            (({}, {}, None, False), ""),
        )
        for given, expected in cases:
            with self.subTest(given):
                found = "".join(logins.ways_to_log_in(*given)[:1])
                self.assertTrue(found.startswith(expected) and bool(found) == bool(expected), found)
                self.assertNotIn("hush", found)
