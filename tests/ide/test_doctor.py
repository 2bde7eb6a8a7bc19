"""Each step of a CLI's way made to fail once, on any platform; tests/e2e asks the real CLI."""

from __future__ import annotations

import unittest
from dataclasses import replace
from typing import Any

from GeminiCompanion.companion.ide.cli_settings import parsed
from GeminiCompanion.companion.ide.clis import GEMINI_CLI, IBM_BOB, LLXPRT, QWEN_CODE
from GeminiCompanion.companion.ide.doctor import checks, logins, lookup, report
from GeminiCompanion.companion.ide.doctor.checks import CHECKS, Failed, Ok
from GeminiCompanion.companion.ide.doctor.facts import (
    DiscoveryFile,
    Facts,
    Process,
    Program,
    Window,
)
from GeminiCompanion.companion.ide.hooks.extension import Installed
from GeminiCompanion.companion.ide.surroundings import Surrounding

PLACE = "/tmp/gemini/ide"
EDITOR, SHELL, CLI = 100, 300, 400
FILE = DiscoveryFile(
    f"{PLACE}/gemini-ide-server-100-5000.json", EDITOR, 5000, 5000, "/work", has_token=True
)
OURS = Window(EDITOR, 5000, ("/work",), (FILE.path,), connected=1, since=1000.0)
ON = parsed("/home/ann/.gemini/settings.json", '{"ide": {"enabled": true}}')
PROCESSES = {
    1: Process(1, 0, "init"),
    EDITOR: Process(EDITOR, 1, "sublime_text", started=500.0),
    200: Process(200, EDITOR, "plugin_host"),
    SHELL: Process(SHELL, 200, "bash"),
    CLI: Process(CLI, SHELL, "node", "node /usr/bin/gemini", 2000.0, "/work", {}),
}


def facts(**changes: Any) -> Facts:
    """Those of a CLI that connects."""
    good = Facts(
        GEMINI_CLI,
        "linux",
        OURS,
        "/home/ann",
        Program("/usr/bin/gemini", True, "0.61.0", "/usr/bin/node", "22.1.0"),
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
        installed, heard = Installed("/x", "0.1.0"), replace(OURS, heard={"gemini": 0.0})
        rows: tuple[tuple[dict[str, Any], str], ...] = (
            ({"extension": None}, ""),
            ({}, "not installed"),
            ({"extension": Installed("/x", "0.1.0", False)}, "gemini extensions enable"),
            ({"extension": installed}, "0.1.0, not heard"),
            ({"extension": installed, "window": heard}, "last heard at"),
        )
        for changes, words in rows:
            found = checks.by_id("extension").look(facts(**changes))
            with self.subTest(words):
                self.assertIn(words, found.found if isinstance(found, Ok) else "")
                self.assertEqual(found is None, not words)


class Way(unittest.TestCase):
    def failure(self, **changes: Any) -> tuple[str, Failed]:
        """The first step that fails, and what it says."""
        rows = report.examine(facts(**changes)).rows
        found = [row for row in rows if isinstance(row.result, Failed)]
        self.assertEqual(len(found), 1)
        self.assertIsInstance(found[0].result, Failed)
        at = rows.index(found[0])
        self.assertEqual([row.result for row in rows[at + 1 :]], [None] * (len(rows) - at - 1))
        result = found[0].result
        return found[0].check.id, result if isinstance(result, Failed) else Failed("", "")

    def assertFails(self, id: str, action: str, words: str, **changes: Any) -> None:
        found, failed = self.failure(**changes)
        self.assertEqual((found, failed.action), (id, action))
        self.assertIn(words, failed.what)
        self.assertTrue(failed.remedy)

    def test_the_remedy_names_the_same_cli_as_the_link_beside_it(self) -> None:
        for changes, words in (
            ({}, "Run Gemini CLI"),
            ({"cli": QWEN_CODE}, "Run Qwen Code"),
            ({"cli": QWEN_CODE, "is_started": False}, "Open Terminal or Copy Exports"),
        ):
            found = checks.by_id("detected").look(facts(**changes, files=()))
            self.assertIsInstance(found, Failed)
            self.assertEqual(getattr(found, "remedy", ""), f"Start it with {words}.")

    def test_a_sandbox_that_hides_the_discovery_file_is_told_first(self) -> None:
        flatpak = Surrounding("Sublime Text is a Flatpak", "It has a /tmp of its own.", "Share it.")
        self.assertFails(
            "surroundings", "", "/tmp of its own", surroundings=(flatpak,), program=Program()
        )

    def test_an_ordinary_desktop_is_not_mentioned(self) -> None:
        self.assertIsNone(report.examine(facts(surroundings=())).row("surroundings"))

    def test_nothing_fails_where_all_is_well(self) -> None:
        examination = report.examine(facts())
        self.assertIsNone(examination.failure)
        self.assertEqual(len(examination.rows), len(CHECKS))

    def test_no_cli(self) -> None:
        none: dict[str, Any] = {"process": None, "program": Program()}
        self.assertFails("installed", checks.INSTALL, "was not found", **none)
        with_node = Program(node="/usr/bin/node")
        self.assertEqual(
            self.failure(process=None, program=with_node)[1].remedy,
            "Run: npm install -g @google/gemini-cli",
        )
        self.assertIn("Install Node.js 20", self.failure(**none)[1].remedy)

    def test_a_cli_that_the_path_does_not_lead_to(self) -> None:
        program = Program("/home/ann/.nvm/bin/gemini", False, "0.61.0")
        self.assertFails("installed", checks.USE_PROGRAM, "PATH", program=program)

    def test_old_programs(self) -> None:
        node = Program("/usr/bin/gemini", True, "0.61.0", "/usr/bin/node", "18.20.1")
        self.assertFails("installed", "", "needs Node.js 20", process=None, program=node)
        old = Program("/usr/bin/gemini", True, "0.5.3")
        self.assertFails("installed", checks.INSTALL, "too old", program=old)

    def test_one_that_runs_has_the_programs_that_it_needs(self) -> None:
        for program in (Program(), Program("/usr/bin/qwen", True, "0.24.4", "", "18.1.0")):
            result = checks.installed(facts(cli=QWEN_CODE, program=program))
            self.assertNotIsInstance(result, Failed)

    def test_settings_that_make_no_sense(self) -> None:
        broken = parsed("/s.json", '{"a": 1\n"b": 2}')
        self.assertFails("settings", "", "/s.json, line 2", settings=broken)
        self.assertFails("settings", "", "/s.json, line 2", overriding=(broken,))
        commas = parsed("/s.json", '{"a": 1,}')
        self.assertFails("settings", checks.ENABLE, "commas", settings=commas)

    def test_no_login(self) -> None:
        self.assertFails("login", checks.LOG_IN, "No way to log in", logins=())
        self.assertIn("2026-06-18", self.failure(logins=())[1].remedy)

    def test_no_server_no_folder_no_file(self) -> None:
        self.assertFails("served", checks.RESTART, "no server", window=replace(OURS, port=0))
        self.assertFails("folder", checks.ADD_FOLDER, "no folder", window=replace(OURS, folders=()))
        nothing = replace(OURS, discovery_paths=(), unwritten={"/x": "The disk is full."})
        self.assertFails("published", checks.WRITE_AGAIN, "The disk is full.", window=nothing)

    def test_a_folder_that_no_variable_can_hold(self) -> None:
        self.assertFails("folder", "", "colon", window=replace(OURS, folders=("/a:b",)))
        unknown = replace(OURS, folders=(), unmapped=("E:\\a",))
        self.assertFails("folder", "", "no path of the CLIs for E:\\a.", window=unknown)
        self.assertIsInstance(
            checks.folder_open(facts(window=replace(OURS, folders=("C:\\a",)), platform="windows")),
            checks.Ok,
        )

    def test_another_temp_folder(self) -> None:
        self.assertFails(
            "place",
            checks.RUN_CLI,
            "The CLI looks into /other/gemini/ide",
            discovery_folder="/other/gemini/ide",
            files=(),
        )
        astray: dict[str, Any] = {"discovery_folder": "/other/gemini/ide", "files": ()}
        self.assertEqual(
            self.failure(**astray)[1].remedy, "Start it with TMPDIR=/tmp, or with Run Gemini CLI."
        )
        windows = replace(OURS, discovery_paths=("C:\\Temp\\gemini\\ide\\a.json",))
        found = checks.in_its_folder(facts(**astray, platform="windows", window=windows))
        self.assertIn(" TEMP=C:\\Temp,", found.remedy if isinstance(found, Failed) else "")
        # The folder of the settings, which CLIs outside of a sandbox see, comes last.
        paths = (FILE.path, "/shared/gemini/ide/gemini-ide-server-100-5000.json", "/q/ide/1.lock")
        shared = replace(OURS, discovery_paths=paths)
        self.assertIn("TMPDIR=/shared,", self.failure(**astray, window=shared)[1].remedy)
        of_home = checks.in_its_folder(facts(cli=QWEN_CODE, **astray))
        self.assertEqual(
            of_home.remedy if isinstance(of_home, Failed) else "", "Start it with Run Qwen Code."
        )

    def test_a_place_that_cannot_be_written_though_another_can(self) -> None:
        blocked = replace(OURS, unwritten={PLACE: "/tmp/gemini should be a folder and is not."})
        self.assertFails("published", checks.WRITE_AGAIN, "should be a folder", window=blocked)
        elsewhere = replace(OURS, unwritten={"/home/ann/.qwen/ide": "The disk is full."})
        self.assertIsNone(report.examine(facts(window=elsewhere)).failure)

    def test_why_there_is_no_server_is_said_where_it_is_known(self) -> None:
        ended = replace(OURS, port=0, problem="No server could be started (too many open files).")
        self.assertFails("served", checks.RESTART, "too many open files", window=ended)

    def test_a_file_that_somebody_swept_away(self) -> None:
        self.assertFails("place", checks.WRITE_AGAIN, "is gone", files=())

    def test_a_file_of_another_user_or_half_of_one(self) -> None:
        for file in (replace(FILE, is_ours=False), replace(FILE, makes_sense=False)):
            self.assertFails("file", checks.WRITE_AGAIN, "cannot be read", files=(file,))

    def test_a_token_of_before(self) -> None:
        self.assertFails(
            "file", checks.WRITE_AGAIN, "token", files=(replace(FILE, has_token=False),)
        )

    def test_a_dead_file_in_the_way(self) -> None:
        dead = DiscoveryFile(f"{PLACE}/x", EDITOR, 4000, 4000, "/work", answers=False)
        self.assertFails("file", checks.SWEEP, "an editor that has ended", files=(dead, FILE))

    def test_a_file_that_leads_to_what_is_no_editor(self) -> None:
        astray = DiscoveryFile(f"{PLACE}/x", EDITOR, 4000, 4000, "/work", is_editor=False)
        self.assertFails("file", checks.RUN_CLI, "no editor answers", files=(astray, FILE))

    def test_another_window_in_the_way(self) -> None:
        other = DiscoveryFile(f"{PLACE}/x", EDITOR, 4000, 4000, "/work")
        self.assertFails("file", checks.RUN_CLI, "another window or editor", files=(other, FILE))

    def test_a_cli_that_was_started_before_the_editor(self) -> None:
        early = replace(PROCESSES[CLI], started=900.0)
        self.assertFails("detected", checks.RUN_CLI, "started at", process=early)
        since_the_start = replace(OURS, since=0.0)
        self.assertIsNone(report.examine(facts(process=early, window=since_the_start)).failure)
        older = replace(early, started=400.0)
        self.assertFails(
            "detected", checks.RUN_CLI, "started at", process=older, window=since_the_start
        )
        known = {"TERM_PROGRAM": "sublime"}
        self.assertIsNone(report.examine(facts(process=early, environment=known)).failure)

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
            found = report.examine(facts(process=early, window=window)).failure
            with self.subTest(at=at, kind=kind):
                self.assertEqual(found is None, is_fine)

    def test_nothing_that_tells_of_an_editor(self) -> None:
        nameless = replace(FILE, names_editor=False)
        self.assertFails("detected", checks.RUN_CLI, "Neither", files=(nameless,))

    def test_not_enabled(self) -> None:
        none = parsed("/home/ann/.gemini/settings.json", None)
        self.assertFails("enabled", checks.ENABLE, "ide.enabled is not set", settings=none)
        system = parsed("/etc/s.json", '{"ide": {"enabled": false}}')
        self.assertFails("enabled", "", "/etc/s.json sets", overriding=(system,))

    def test_another_folder(self) -> None:
        self.assertFails(
            "same_folder", checks.ADD_FOLDER, "The CLI runs in /elsewhere", folder="/elsewhere"
        )

    def test_a_container(self) -> None:
        marks = frozenset(["/.dockerenv"])
        self.assertFails("host", "", "host.docker.internal", exists=marks)
        for variable in ("SSH_CONNECTION", "REMOTE_CONTAINERS"):
            free = facts(exists=marks, environment={variable: "1"})
            self.assertIsNone(report.examine(free).failure)
        self.assertIsNone(report.examine(facts(exists=marks, reaches_host=True)).failure)

    def test_a_proxy_in_the_way_of_the_one_that_asks_it_for_the_host_of_its_container(self) -> None:
        proxies = {"HTTP_PROXY": "http://ann:secret@proxy:3128"}
        inside: dict[str, Any] = {"cli": LLXPRT, "exists": frozenset(["/.dockerenv"])}
        found = checks.proxy(facts(**inside, environment=proxies))
        self.assertEqual(
            found.what if isinstance(found, Failed) else "",
            "The CLI would use the proxy http://proxy:3128 for host.docker.internal.",
        )
        for cli in (GEMINI_CLI, QWEN_CODE, LLXPRT):
            outside = checks.proxy(facts(cli=cli, environment=proxies))
            self.assertEqual(outside, Ok("the CLI does not use http://proxy:3128 for this"))
        free = {**proxies, "NO_PROXY": "example.org, host.docker.internal"}
        self.assertIsInstance(checks.proxy(facts(**inside, environment=free)), Ok)
        self.assertEqual(checks.proxy(facts(**inside)), Ok("none in the way"))

    def test_a_network_of_its_own(self) -> None:
        self.assertFails("answers", "", "a network of its own", has_own_network=True)
        marks = frozenset(["/.dockerenv"])
        reached = facts(has_own_network=True, exists=marks, reaches_host=True)
        self.assertIsNone(report.examine(reached).failure)

    def test_variables_of_another_window(self) -> None:
        bob = facts(cli=IBM_BOB, environment={"BOB_SHELL_CLI_IDE_SERVER_PORT": "4000"})
        found = checks.answers(bob)
        self.assertEqual(found.action if isinstance(found, Failed) else "", checks.RUN_CLI)

    def test_nothing_in_the_way_and_not_connected(self) -> None:
        alone = replace(OURS, connected=0)
        self.assertFails("connected", "", "not connected", window=alone)
        self.assertFails("connected", checks.RUN_CLI, "none runs", window=alone, process=None)

    def test_another_cli_that_is_connected_does_not_count_for_this_one(self) -> None:
        self.assertFails("connected", "", "not connected", is_connected=False)
        check = checks.by_id("connected")
        self.assertEqual(check.look(facts(is_connected=True)), Ok("to this window"))
        unknown = check.look(facts())
        self.assertIn("this system does not tell", unknown.found if isinstance(unknown, Ok) else "")
        started = check.look(facts(process=None))
        self.assertEqual(started, Ok("one CLI is connected to this window"))

    def test_one_that_is_connected_is_not_told_why_it_could_not_connect(self) -> None:
        early = replace(PROCESSES[CLI], started=900.0)
        self.assertIsNotNone(report.examine(facts(process=early)).failure)
        self.assertIsNone(report.examine(facts(process=early, is_connected=True)).failure)

    def test_variables_lead_past_a_missing_file(self) -> None:
        variables = {
            "TERM_PROGRAM": "sublime",
            **GEMINI_CLI.environment(5000, "/work", "t", EDITOR),
        }
        led = facts(environment=variables, files=(), discovery_folder="/other/gemini/ide")
        self.assertIsNone(report.examine(led).failure)

    def test_the_report_has_no_secret_and_no_home(self) -> None:
        secret = {"GEMINI_CLI_IDE_AUTH_TOKEN": "hush", "GEMINI_API_KEY": "hush"}
        text = report.examine(facts(environment=secret, logins=())).text()
        self.assertIn("FAILED  Login", text)
        self.assertIn("-       Detection", text)
        short = report.shortened(text, "/home/ann")
        self.assertEqual(
            report.shortened("/home/anna, /home/ann-2/b, in /home/ann.", "/home/ann"),
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
        chain = {pid: Process(pid, pid - 10) for pid in (20, 30, 40, 50)}
        found = lookup.target_pid(facts(platform="windows", processes=chain, process=chain[50]))
        self.assertEqual(found, 40)

    def test_files_come_by_target_then_alive_then_larger_pid(self) -> None:
        dead = replace(FILE, pid=999, path="dead")
        alive = replace(FILE, pid=200, path="alive")
        for files, first in (((dead, alive), "alive"), ((dead, alive, FILE), FILE.path)):
            file = lookup.chosen(facts(files=files))
            self.assertEqual(file.path if file else "", first)

    def test_the_port_of_the_environment_decides_between_those_that_fit(self) -> None:
        other = replace(FILE, path="other", points_to=4000)
        chosen = lookup.chosen(
            facts(files=(FILE, other), environment={"GEMINI_CLI_IDE_SERVER_PORT": "4000"})
        )
        self.assertEqual(chosen, other)

    def test_a_file_without_port_in_its_name_beats_all_and_is_not_asked_for_folders(self) -> None:
        old = DiscoveryFile("old", EDITOR, 0, 4000, "/elsewhere")
        self.assertEqual(lookup.chosen(facts(files=(FILE, old))), old)

    def test_before_0_31_only_the_target_s_file_counts(self) -> None:
        other = replace(FILE, pid=200)
        old = Program("/usr/bin/gemini", True, "0.30.1")
        self.assertIsNone(lookup.chosen(facts(files=(other,), program=old)))

    def test_qwen_takes_the_newest_that_lives(self) -> None:
        def lock(port: int, modified: float, answers: bool = True) -> DiscoveryFile:
            return replace(FILE, port=port, points_to=port, modified=modified, answers=answers)

        files = (lock(1, 10.0), lock(2, 30.0, answers=False), lock(3, 20.0))
        found = lookup.chosen(facts(cli=QWEN_CODE, files=files))
        self.assertEqual(found.port if found else 0, 3)
        named = {"QWEN_CODE_IDE_SERVER_PORT": "1"}
        found = lookup.chosen(facts(cli=QWEN_CODE, files=files, environment=named))
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
                found = lookup.holds(facts(platform=platform, folder=folder), workspace)
                self.assertEqual(found, expected)

    def test_links_are_resolved_first(self) -> None:
        linked = facts(folder="/disk/work", real={"/work": "/disk/work"})
        self.assertTrue(lookup.holds(linked, "/work"))

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
                found = "".join(logins.found(*given)[:1])
                self.assertTrue(found.startswith(expected) and bool(found) == bool(expected), found)
                self.assertNotIn("hush", found)
