"""The settings: what counts, what makes no sense, and when a change counts."""

from __future__ import annotations

import doctest
import ntpath
import os
import re
import unittest
from functools import partial
from typing import Any, Generator
from unittest import mock

import jsonschema
import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ide.sharing import EXCLUDED, SECRETS, Sharing
from GeminiCompanion.companion.ui import engines, settings
from GeminiCompanion.companion.ui.review import comments, open_diffs
from GeminiCompanion.companion.ui.review.record import Comment
from GeminiCompanion.companion.ui.settings import AgentCommand, Settings, parse_settings

from ..fake_cli import FakeCli
from .adapter import AdapterTestCase, saved_state

Steps = Generator[Any, Any, None]


class Parsing(unittest.TestCase):
    def test_without_any_the_defaults_count(self) -> None:
        self.assertEqual(parse_settings({}), (Settings(), ()))

    def test_the_package_ships_the_defaults(self) -> None:
        shipped: Any = sublime.decode_value(
            sublime.load_resource("Packages/GeminiCompanion/GeminiCompanion.sublime-settings")
        )
        self.assertEqual(parse_settings(shipped), (Settings(), ()))
        self.assertEqual(set(shipped), set(settings.KINDS))

    def test_a_projects_value_stands_over_the_users(self) -> None:
        found, problems = parse_settings(
            {"focus_diff": True, "is_trusted": True}, {"is_trusted": False}
        )
        self.assertEqual((found.focus_diff, found.is_trusted, problems), (True, False, ()))

    def test_a_bad_value_costs_itself_only_and_a_sentence_says_what_was_expected(self) -> None:
        user = {"focus_diff": "yes", "cli_command": ["gemini", "--debug"]}
        found, problems = parse_settings(user)
        self.assertEqual(found, Settings(cli_command=("gemini", "--debug")))
        self.assertEqual(
            problems, ('"focus_diff" in the settings has to be true or false, and is "yes".',)
        )

    def test_below_a_projects_bad_value_the_users_counts(self) -> None:
        found, problems = parse_settings({"is_trusted": True}, {"is_trusted": 1})
        self.assertIs(found.is_trusted, True)
        self.assertIn("in the project", problems[0])

    def test_a_command_needs_a_word_and_a_terminal_none(self) -> None:
        bad: Any
        for bad in ([], [""], ["gemini", 1], "gemini", None, {}):
            found, problems = parse_settings({"cli_command": bad})
            self.assertEqual((found.cli_command, len(problems)), (("gemini",), 1))
        self.assertEqual(parse_settings({"terminal_command": []}), (Settings(), ()))

    def test_a_port_is_a_whole_number_in_its_range(self) -> None:
        for bad in (-1, 65536, "8080", 80.5, True, None):
            found, problems = parse_settings({"api_port": bad})
            self.assertEqual(found.api_port, 8080)
            self.assertIn("from 0 to 65535", problems[0])
        self.assertEqual(parse_settings({"api_port": 0})[0].api_port, 0)

    def test_an_agent_has_a_name_and_its_command_unless_it_is_known(self) -> None:
        given = {"claude": {}, "my-agent": {"command": ["my-agent", "acp"]}}
        found, problems = parse_settings({"agents": given})
        self.assertEqual(problems, ())
        mine = AgentCommand("my-agent", ("my-agent", "acp"))
        self.assertEqual(found.agents, (AgentCommand("claude"), mine))
        bad: Any
        for bad in (
            [],
            {"": {}},
            {"My Agent": {}},
            {"../up": {}},
            {"mine": ["mine"]},
            {"mine": {"command": []}},
            {"mine": {"command": [" "]}},
            {"mine": {"command": ["mine", 1]}},
            {"mine": {"comand": ["mine"]}},
        ):
            found, problems = parse_settings({"agents": bad})
            self.assertEqual((found.agents, len(problems)), ((), 1), bad)
        found, problems = parse_settings({}, {"agents": given, "usual_agent": "claude"})
        self.assertEqual((found, len(problems)), (Settings(), 2))

    def test_an_agent_has_variables_and_a_null_takes_one_away(self) -> None:
        given = {"gemini": {"env": {"GOOGLE_GEMINI_BASE_URL": "http://g", "GEMINI_API_KEY": None}}}
        found, problems = parse_settings({"agents": given})
        self.assertEqual(problems, ())
        env = (("GOOGLE_GEMINI_BASE_URL", "http://g"), ("GEMINI_API_KEY", None))
        self.assertEqual(found.agent("gemini"), AgentCommand("gemini", (), env))
        self.assertEqual(found.agent("qwen"), AgentCommand("qwen"))
        found, problems = parse_settings({}, {"agents": given})
        self.assertEqual(found, Settings())
        self.assertEqual(problems, ('"agents" counts for all windows: a project cannot set it.',))

    def test_an_agent_has_arguments_and_a_login_that_the_settings_decide(self) -> None:
        given = {
            "qwen": {"args": ["--debug", ""], "own_login": False},
            "codex": {"own_login": True, "protocol_version": 2},
        }
        found, problems = parse_settings({"agents": given})
        self.assertEqual(problems, ())
        qwen = AgentCommand("qwen", args=("--debug", ""), own_login=False)
        self.assertEqual(
            found.agents, (qwen, AgentCommand("codex", own_login=True, protocol_version=2))
        )

    def test_what_is_wrong_with_an_agent_is_told_and_no_value_of_a_variable(self) -> None:
        bad: Any
        for bad, words in (
            ({"qwen": {}, "My Agent": {}}, 'the name "My Agent"'),
            ({"qwen": {"comand": ["qwen"]}}, '"comand" in "qwen"'),
            ({"qwen": {"command": "qwen"}}, '"qwen" as the command of "qwen"'),
            ({"qwen": {"env": ["A=secret"]}}, '"env" in "qwen" that is no object'),
            ({"qwen": {"env": {"A": "secret", "B": 1}}}, '"B" in the "env" of "qwen"'),
            ({"qwen": {"env": {"B": ["secret"]}}}, '"B" in the "env" of "qwen"'),
            ({"qwen": {"env": {"": "secret"}}}, '"" in the "env" of "qwen"'),
            ({"qwen": {"env": {"A=B": "secret"}}}, '"A=B" in the "env" of "qwen"'),
            ({"qwen": {"env": {"A": "secret\0"}}}, '"A" in the "env" of "qwen"'),
            ({"qwen": {"args": "--key secret"}}, '"args" in "qwen" that are no list of words'),
            ({"qwen": {"args": ["secret", 1]}}, '"args" in "qwen" that are no list of words'),
            ({"qwen": {"args": ["secret\0"]}}, '"args" in "qwen" that are no list of words'),
            (
                {"qwen": {"protocol_version": 3}},
                '3 as "protocol_version" of "qwen", which is 1 or 2',
            ),
            ({"qwen": {"protocol_version": True}}, 'true as "protocol_version" of "qwen"'),
            ({"qwen": {"own_login": "yes"}}, '"yes" as "own_login" of "qwen", which is true'),
            ({"qwen": {"own_login": None}}, 'null as "own_login" of "qwen", which is true'),
            ({"qwen": []}, '[] for "qwen"'),
            ([], "is []."),
        ):
            found, problems = parse_settings({"agents": bad})
            with self.subTest(bad):
                self.assertEqual(found, Settings())
                self.assertIn(words, problems[0])
                self.assertNotIn("secret", problems[0])

    def test_the_usual_agent_comes_first_and_the_known_ones_are_always_there(self) -> None:
        stored = sublime.load_settings(settings.FILE)
        values: Any = (
            (
                "agents",
                {
                    "zed": {"command": ["zed", "acp"], "env": {"A": "1"}},
                    "qwen": {"command": ["/opt/qwen"], "args": ["-d"], "own_login": False},
                },
            ),
            ("usual_agent", "zed"),
            ("cli_command", ["/opt/bin/gemini", "--debug"]),
        )
        for key, value in values:
            self.addCleanup(stored.erase, key)
            stored.set(key, value)
        chosen = {each.id: each for each in engines.chosen_agents()}
        self.assertEqual((chosen["qwen"].args, chosen["qwen"].own_login), (("-d",), False))
        self.assertEqual((chosen["zed"].args, chosen["zed"].own_login), ((), None))
        found = {id: each.command for id, each in chosen.items()}
        self.assertEqual(list(found), ["zed", "gemini", "qwen", "claude", "opencode", "codex"])
        self.assertEqual(found["zed"], ("zed", "acp"))
        variables = {each.id: each.env for each in engines.chosen_agents()}
        self.assertEqual((variables["zed"], variables["qwen"]), ((("A", "1"),), ()))
        self.assertEqual(found["qwen"], ("/opt/qwen",))
        self.assertEqual(found["gemini"], ("/opt/bin/gemini", "--debug"))
        self.assertEqual(found["claude"], ())
        # As an agent it is another program than in a terminal.
        stored.set("cli_command", ["/opt/bin/claude"])
        found = {each.id: each.command for each in engines.chosen_agents()}
        self.assertEqual((found["claude"], found["gemini"]), ((), ()))

    def test_a_terminal_gets_the_program_of_the_agent_with_that_name(self) -> None:
        agents = {"gemini": {"command": ["/opt/gemini", "--experimental-acp"]}, "qwen": {}}
        for command, started in (
            (["gemini", "--debug"], ("/opt/gemini", "--debug")),
            (["/bin/gemini"], ("/bin/gemini",)),
            (["npx", "gemini"], ("npx", "gemini")),
            (["qwen"], ("qwen",)),
        ):
            found, _problems = parse_settings({"agents": agents, "cli_command": command})
            self.assertEqual(found.terminal_cli, started)

    def test_another_interface_is_one_address_and_never_all(self) -> None:
        for good in ("", "172.17.0.1", "fd00::1"):
            found, problems = parse_settings({"extra_bind_address": good})
            self.assertEqual((found.extra_bind_address, problems), (good, ()))
        for bad in (
            "0.0.0.0",
            "::",
            "docker0",
            "172.17.0.1/16",
            "fe80::1%eth0",
            "224.0.0.1",
            1,
            None,
        ):
            found, problems = parse_settings({"extra_bind_address": bad})
            self.assertEqual((found.extra_bind_address, len(problems)), ("", 1), bad)

    def test_another_discovery_folder_has_a_path_from_the_root(self) -> None:
        for good in ("", "~/seen", os.path.abspath("seen")):
            self.assertEqual(parse_settings({"extra_discovery_folder": good})[1], ())
        for bad in ("seen", "./seen", 1, None):
            self.assertEqual(len(parse_settings({"extra_discovery_folder": bad})[1]), 1)

    def test_a_folder_by_two_names_may_be_of_two_systems(self) -> None:
        maps = [
            {"local": "C:\\", "remote": "/mnt/c/"},
            {"local": "\\\\wsl.localhost\\Ubuntu", "remote": "/"},
            {"local": "/work", "remote": "D:/work"},
        ]
        found, problems = parse_settings({"path_maps": maps})
        self.assertEqual(
            [(path_map.local, path_map.remote) for path_map in found.path_maps],
            [(*path_map.values(),) for path_map in maps],
        )
        self.assertEqual(problems, ())
        (home,) = parse_settings({"path_maps": [{"local": "~/p", "remote": "/p"}]})[0].path_maps
        self.assertEqual(home.local, os.path.expanduser("~/p"))

    def test_a_projects_folders_by_two_names_take_the_place_of_the_users(self) -> None:
        user, project = ([{"local": f"/{name}", "remote": "/r"}] for name in "up")
        found, _ = parse_settings({"path_maps": user}, {"path_maps": project})
        self.assertEqual([path_map.local for path_map in found.path_maps], ["/p"])

    def test_half_a_map_and_one_of_part_of_a_path_make_no_sense(self) -> None:
        good = {"local": "/a", "remote": "/b"}
        bad: Any
        for bad in (
            {"local": "/a"},
            {**good, "more": 1},
            {**good, "local": "a"},
            {**good, "remote": "~/b"},
            {**good, "remote": "C:b"},
            {**good, "remote": None},
            {**good, "local": ""},
            ["/a", "/b"],
        ):
            found, problems = parse_settings({"path_maps": [good, bad]})
            self.assertEqual((found.path_maps, len(problems)), ((), 1), bad)
            self.assertIn('"remote": "/mnt/c/"', problems[0])

    def test_a_share_of_windows_is_a_discovery_folder_there(self) -> None:
        with mock.patch.object(os, "path", ntpath):
            for good in ("\\\\wsl.localhost\\Ubuntu\\tmp", "C:\\seen"):
                self.assertEqual(parse_settings({"extra_discovery_folder": good})[1], ())

    def test_a_project_cannot_set_what_counts_for_all_windows(self) -> None:
        found, problems = parse_settings({}, {"api_port": 1, "log_level": "debug"})
        self.assertEqual((found, len(problems)), (Settings(), 2))

    def test_rules_for_agents_are_never_those_of_a_project(self) -> None:
        rules = {"deny": ["edit:*.lock"], "allow": ["command:make test"]}
        found, problems = parse_settings(
            {"agent_rules": rules}, {"agent_rules": {"allow": ["tool:*"]}}
        )
        self.assertEqual(found.agent_rules.allow, ("command:make test",))
        self.assertEqual((found.agent_rules.deny, len(problems)), (("edit:*.lock",), 1))

    def test_rules_that_cannot_be_read_ask_about_each_call_and_the_bad_one_is_named(self) -> None:
        found, (problem,) = parse_settings(
            {"agent_rules": {"allow": ["command:ls"], "deny": ["edits:a"]}}
        )
        self.assertEqual((found.agent_rules.allow, found.agent_rules.ask), ((), ("tool:*",)))
        self.assertIn('"edits:a" does not begin with', problem)
        self.assertIn("you are asked about each call", problem)

    def test_a_project_is_told_of_names_that_are_no_settings_and_of_what_is_no_object(self) -> None:
        self.assertIn("focus_dif", parse_settings({}, {"focus_dif": True})[1][0])
        self.assertIn("an object", parse_settings({}, ["focus_diff"])[1][0])

    def test_a_long_value_is_cut_in_its_sentence(self) -> None:
        (problem,) = parse_settings({"log_level": "x" * 10_000})[1]
        self.assertLess(len(problem), 250)

    def test_the_examples_are_right(self) -> None:
        self.assertEqual(doctest.testmod(settings).failed, 0)


class HoldingBack(unittest.TestCase):
    """Where a value could mean more to be held back, more is held back."""

    def test_a_project_can_hold_back_more_than_the_user_and_never_less(self) -> None:
        found, problems = parse_settings({"exclude": ["*.a"]}, {"exclude": ["*.b", "!*.a"]})
        sharing = Sharing(exclude=found.exclude)
        told = [path for path in ("/x.a", "/x.b", "/x.c") if not sharing.reason_to_hide(path, ())]
        self.assertEqual((told, problems), (["/x.c"], ()))
        found, _ = parse_settings({"only_project_files": True}, {"only_project_files": False})
        self.assertIs(found.only_project_files, True)
        found, _ = parse_settings({}, {"exclude": ["*.b"], "only_project_files": True})
        self.assertEqual(found.exclude, ("*.b", *SECRETS))
        self.assertIs(found.only_project_files, True)

    def test_a_pattern_that_cannot_be_read_holds_everything_back_and_is_named(self) -> None:
        bad: Any
        for bad in (["*.a", "keys/[a-"], ["!"], "*.a", [1], None):
            levels: tuple[tuple[Any, Any], ...] = (
                ({"exclude": bad}, None),
                ({"exclude": ["!*.c"]}, {"exclude": bad}),
            )
            for user, project in levels:
                with self.subTest(user=user, project=project):
                    found, (problem,) = parse_settings(user, project)
                    sharing = Sharing(exclude=found.exclude)
                    self.assertEqual(sharing.reason_to_hide("/x.c", ()), EXCLUDED)
                    self.assertIn("no CLI is told of any file", problem)
        self.assertIn('and "keys/[a-" has a "["', parse_settings({"exclude": ["keys/[a-"]})[1][0])

    def test_a_switch_that_makes_no_sense_is_taken_for_on(self) -> None:
        for user, project in (({"only_project_files": "no"}, {}), ({}, {"only_project_files": 0})):
            found, problems = parse_settings(user, project)
            self.assertEqual((found.only_project_files, len(problems)), (True, 1))


class Schema(unittest.TestCase):
    """What LSP-json completes and checks, in sublime-package.json."""

    def setUp(self) -> None:
        self.text = sublime.load_resource(
            "Packages/GeminiCompanion/GeminiCompanion.sublime-settings"
        )
        package: Any = sublime.decode_value(
            sublime.load_resource("Packages/GeminiCompanion/sublime-package.json")
        )
        self.user, self.project = (
            entry["schema"] for entry in package["contributions"]["settings"]
        )

    def test_it_has_every_setting_with_its_default_and_the_comment_of_the_settings_file(
        self,
    ) -> None:
        comments = re.findall(r'((?:\t// [^\n]*\n)+)\t"(\w+)"', self.text)
        defaults: Any = sublime.decode_value(self.text)
        told = {
            name: (each["description"], each["default"])
            for name, each in self.user["properties"].items()
        }
        expected = {
            name: (" ".join(lines.replace("\t// ", "").split("\n")).strip(), defaults[name])
            for lines, name in comments
        }
        self.assertEqual(list(told), list(expected))
        self.assertEqual(told, expected)

    def test_it_takes_the_values_that_the_package_takes(self) -> None:
        words = [*settings.DIFF_LAYOUTS, *settings.LOG_LEVELS, "", "x"]
        values: list[Any] = [True, False, None, 0, 8080, -1, 65536, 1.5, [], [""], ["x", "y"], [1]]
        for name, each in self.user["properties"].items():
            for value in [*values, *words, {}, {"a": 1}]:
                with self.subTest(name=name, value=value):
                    is_good = jsonschema.Draft7Validator(each).is_valid(value)
                    self.assertEqual(is_good, settings.KINDS[name].fits(value))

    def test_a_project_has_all_but_those_that_count_for_all_windows(self) -> None:
        ours = self.project["properties"]["settings"]["properties"][settings.PROJECT_KEY]
        place = self.user["$id"] + "#/properties/"
        expected = {
            name: {"$ref": place + name}
            for name in settings.KINDS
            if not settings.KINDS[name].is_global
        }
        self.assertEqual(ours["properties"], expected)


class Changing(AdapterTestCase):
    def set(self, key: str, value: Any) -> None:
        stored = sublime.load_settings(settings.FILE)
        before = stored.get(key)
        if before is None:
            # A test before has erased it.
            self.addCleanup(stored.erase, key)
        else:
            self.addCleanup(stored.set, key, before)
        stored.set(key, value)

    def set_project(self, ours: Any) -> None:
        before: Any = self.window.project_data()
        self.addCleanup(self.window.set_project_data, before)
        self.window.set_project_data({**(before or {}), "settings": {settings.PROJECT_KEY: ours}})

    def test_a_bad_value_is_told_once_for_each_change_and_stands_in_the_log(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        with mock.patch.object(plugin._host.running.messages, "warn_user") as tell:
            self.set("focus_diff", 7)
            yield lambda: tell.called
            plugin._host.running.editor.windows.check_windows()
            plugin._host.running.editor.windows.check_windows()
        self.assertEqual(tell.call_count, 1)
        self.assertIn('"focus_diff"', tell.call_args[0][0])
        told = tell.call_args[0][0]
        self.assertTrue(any(told in line for line in plugin._host.log.lines()))

    def test_what_is_looked_at_each_second_lets_other_work_come_between(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        order: list[str] = []
        polls = [partial(order.append, "poll")] * 2
        with mock.patch.object(plugin._host.running.editor.windows, "_polls", polls):
            sublime.set_timeout(partial(order.append, "key"), 0)
            plugin._host.running.editor.windows.check_windows()
        yield lambda: len(order) > 2
        self.assertEqual(order, ["key", "poll", "poll"])

    def test_of_several_bad_values_one_is_told_and_the_log_has_all(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        # Those of a test before may be known until the next look.
        yield lambda: not plugin._host.running.editor.windows._problems
        with mock.patch.object(plugin._host.running.messages, "warn_user") as tell:
            self.set_project({"diffs": 1, "focus_diff": 2, "is_trusted": 3})
            plugin._host.running.editor.windows.check_windows()
            yield lambda: tell.called
        self.assertEqual(tell.call_count, 1)
        self.assertIn("The log has 2 more.", tell.call_args[0][0])
        last = "\n".join(plugin._host.log.lines()[-3:])
        for name in ("diffs", "focus_diff", "is_trusted"):
            self.assertIn(f'"{name}" in the project has to be', last)

    def test_a_projects_settings_count_in_its_window_only(self) -> Steps:
        self.set_project({"focus_diff": True})
        self.window.run_command("new_window")
        yield lambda: len(sublime.windows()) > 1
        other = next(window for window in sublime.windows() if window.id() != self.window.id())
        self.assertIs(settings.current_settings(self.window).focus_diff, True)
        self.assertIs(settings.current_settings(other).focus_diff, False)
        other.run_command("close_window")
        yield lambda: len(sublime.windows()) == 1

    def test_a_projects_trust_is_told_at_once_to_the_clis_of_its_window(self) -> Steps:
        yield from self.open("a.py", "a\n")
        cli = yield from self.connect()

        def trusted() -> Any:
            return cli.received("ide/contextUpdate")[-1]["workspaceState"].get("isTrusted")

        self.assertIsNone(trusted())
        self.set_project({"is_trusted": False})
        plugin.GeminiCompanionListener().on_post_save_project(self.window)
        yield lambda: trusted() is False
        self.set_project({})
        yield lambda: trusted() is None

    def set_maps(self, remote: str) -> None:
        """What CLIs of the window call the test's folder."""
        self.set_project({"path_maps": [{"local": self.folder, "remote": remote}]})
        plugin.GeminiCompanionListener().on_post_save_project(self.window)

    def until_told(self, cli: FakeCli, names: list[str]) -> Steps:
        yield from self.until_equal(lambda: [file["path"] for file in cli.context()], names)

    def test_a_cli_elsewhere_has_its_own_paths_from_proposal_to_decision(self) -> Steps:
        yield from self.open(".env", "SECRET\n")
        view = yield from self.open("a.py", "old\n")
        path = view.file_name() or ""
        cli = yield from self.connect()
        self.set_maps("/there")
        yield from self.until_told(cli, ["/there/a.py"])
        yield cli.call("openDiff", filePath="/there/a.py", newContent="new\n").done
        right = open_diffs.find_diff(self.window, cli.headers["Mcp-Session-Id"], path)
        self.assertIsNotNone(right)
        comments.add_comment(right, Comment(0, 0, "why?"))
        self.assertEqual(comments.comment_words(right, None), "@/there/a.py#L1: why?")
        self.set_maps("/elsewhere")
        yield from self.until_told(cli, ["/elsewhere/a.py"])
        yield lambda: "/there/a.py" in saved_state()
        plugin.plugin_unloaded()
        yield lambda: cli.stream_ended.is_set()
        plugin.plugin_loaded()
        yield lambda: plugin._host.environment_of(self.window)
        cli.resume()
        yield from self.until_connected(1)
        open_diffs.find_diff(self.window, cli.headers["Mcp-Session-Id"], path).close()
        yield lambda: ("ide/diffRejected", {"filePath": "/there/a.py"}) in cli.notifications

    def told_folders(self, window: sublime.Window) -> str | None:
        return plugin._host.environment_of(window).get("GEMINI_CLI_IDE_WORKSPACE_PATH")

    def test_each_window_has_its_own_maps(self) -> Steps:
        self.window.run_command("new_window")
        yield lambda: len(sublime.windows()) > 1
        other = next(window for window in sublime.windows() if window.id() != self.window.id())
        for window in (self.window, other):
            self.addCleanup(window.set_project_data, window.project_data())
            maps = [{"local": self.folder, "remote": f"/window{window.id()}"}]
            ours = {settings.PROJECT_KEY: {"path_maps": maps}}
            window.set_project_data({"folders": [{"path": self.folder}], "settings": ours})
            plugin.GeminiCompanionListener().on_post_save_project(window)
        for window in (self.window, other):
            yield from self.until_equal(partial(self.told_folders, window), f"/window{window.id()}")
        other.run_command("close_window")
        yield lambda: len(sublime.windows()) == 1

    def test_a_map_that_makes_no_sense_costs_that_setting_only_and_is_told(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        with mock.patch.object(plugin._host.running.messages, "warn_user") as tell:
            self.set_project({"focus_diff": True, "path_maps": [{"local": "a", "remote": "/b"}]})
            plugin._host.running.editor.windows.check_windows()
            yield lambda: tell.called
        self.assertIn(
            '"path_maps" in the project has to be a list of folders', tell.call_args[0][0]
        )
        self.assertEqual(settings.current_settings(self.window).path_maps, ())
        self.assertIs(settings.current_settings(self.window).focus_diff, True)

    def test_in_a_project_that_does_not_want_it_saving_a_proposal_accepts_nothing(self) -> Steps:
        self.set_project({"accept_on_save": False})
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "new\n")
        self.assertIsNone(plugin.GeminiCompanionListener().on_text_command(right, "save", None))
