"""What the rows of agents say: their homes have the key, and their commands do not see it."""

from __future__ import annotations

import json
import os
import stat
import tempfile
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent.acp import messages
from GeminiCompanion.companion.agent.agents.claude_agent import ClaudeAgent
from GeminiCompanion.companion.agent.agents.cli import AgentCli
from GeminiCompanion.companion.agent.agents.codex import Codex
from GeminiCompanion.companion.agent.agents.gemini_cli import GeminiCli
from GeminiCompanion.companion.agent.agents.opencode import OpenCode
from GeminiCompanion.companion.agent.agents.qwen_code import QwenCode
from GeminiCompanion.companion.agent.credentials import (
    ANTHROPIC,
    API_KEY,
    OPENAI,
    OWN,
    Credentials,
)
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.supported import CLIS

SECRET, URL = "a-secret-key", "http://127.0.0.1:1/v1"


class Rows(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.home = os.path.join(temporary.name, "home")

    def prepared(self, cli: Any, kind: str, trusted: bool = False) -> tuple[Any, dict[str, str]]:
        """The agent with its home, and the environment of its process."""
        made = cli(self.home, trusted)
        credentials = Credentials(kind, SECRET, base_url=URL, model="a-model")
        made.check_credentials(credentials)
        made.prepare_files(credentials, {})
        return made, made.process_environment(credentials, {"MORE": "yes"})

    def test_no_key_is_in_the_environment_of_the_agents_commands(self) -> None:
        for cli, kind in ((ClaudeAgent, ANTHROPIC), (OpenCode, OPENAI), (Codex, OPENAI)):
            with self.subTest(cli.id):
                _, environment = self.prepared(cli, kind)
                self.assertNotIn(SECRET, json.dumps(environment))
                self.assertEqual(environment["MORE"], "yes")

    @unittest.skipIf(os.name == "nt", "Windows has no such modes")
    def test_the_files_of_the_homes_are_for_the_user_alone(self) -> None:
        for cli, kind in ((ClaudeAgent, ANTHROPIC), (OpenCode, OPENAI), (Codex, OPENAI)):
            self.prepared(cli, kind)
        paths = [
            os.path.join(folder, name)
            for folder, folders, names in os.walk(self.home)
            for name in (*folders, *names)
        ]
        self.assertGreater(len(paths), 3)
        for path in (self.home, *paths):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode) & 0o077, 0, path)

    def test_claude_code_gets_its_key_from_a_file_and_its_model_by_name(self) -> None:
        _, environment = self.prepared(ClaudeAgent, ANTHROPIC)
        with open(os.path.join(environment["CLAUDE_CONFIG_DIR"], "settings.json")) as file:
            helper = json.load(file)["apiKeyHelper"]
        with open(helper.partition(" ")[2]) as file:
            self.assertEqual(file.read(), SECRET)
        self.assertEqual(environment["ANTHROPIC_BASE_URL"], URL)
        self.assertEqual(environment["ANTHROPIC_MODEL"], "a-model")

    def test_a_workspaces_own_settings_count_only_where_it_is_trusted(self) -> None:
        for trusted in (False, True):
            claude, _ = self.prepared(ClaudeAgent, ANTHROPIC, trusted)
            _, environment = self.prepared(OpenCode, OPENAI, trusted)
            self.assertEqual(claude.session_meta("/work") == {}, trusted)
            self.assertEqual("OPENCODE_DISABLE_PROJECT_CONFIG" not in environment, trusted)

    def test_in_a_trusted_folder_and_in_folders_below_it_they_count_as_well(self) -> None:
        folder = os.path.join(self.home, "mine")
        below, beside = os.path.join(folder, "a"), os.path.join(self.home, "mine too")
        for each in (below, beside):
            os.makedirs(each)
        claude, _ = self.prepared(ClaudeAgent, ANTHROPIC)
        claude.trusted_folders = (folder,)
        found = [claude.session_meta(place) == {} for place in (folder, below, beside)]
        self.assertEqual(found, [True, True, False])

    def test_why_a_tool_of_claude_code_failed_is_told_without_the_tags_for_its_model(self) -> None:
        claude, _ = self.prepared(ClaudeAgent, ANTHROPIC)
        tagged = "<tool_use_error>No such file.</tool_use_error>"
        for said, shown in (
            (tagged, "No such file."),
            (f"```\n{tagged}\n```", "```\nNo such file.\n```"),
            (f"cat tests.txt: {tagged}", f"cat tests.txt: {tagged}"),
        ):
            told = messages.ToolCallUpdate("1", status="failed", texts=(said,))
            self.assertEqual(claude.read_call(told).text, shown)

    def test_no_workspace_that_would_run_something_is_opened_if_it_is_not_trusted(self) -> None:
        for row, name, text, has_some in (
            (OpenCode, "opencode.json", '{"plugin": ["./own.js"]}', True),
            (OpenCode, "opencode.json", '{"\\u0070lugin": ["./own.js"]}', True),
            (OpenCode, ".opencode/opencode.jsonc", '{"plugins": []}', True),
            (OpenCode, ".opencode/plugin/own.js", "", True),
            (OpenCode, ".opencode/plugins/own.ts", "", True),
            (OpenCode, "opencode.json", '{"model": "own"}', False),
            (OpenCode, ".opencode/agent/own.md", "", False),
            (Codex, ".codex/config.toml", '[mcp_servers.own]\ncommand = "own"\n', True),
            (Codex, ".codex/config.toml", 'model = "own"\n', False),
        ):
            cli, _ = self.prepared(row, OPENAI)
            trusting, _ = self.prepared(row, OPENAI, True)
            for inner in ("", "a/folder/in/it"):
                with self.subTest(name, inner=inner), tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, name)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
                    workspace = os.path.join(folder, inner)
                    self.assertEqual(trusting.session_meta(workspace), {})
                    if not has_some:
                        self.assertEqual(cli.session_meta(workspace), {})
                        continue
                    with self.assertRaisesRegex(AgentError, "as soon as it is opened|run unasked"):
                        cli.session_meta(workspace)

    def test_opencode_asks_before_it_edits_and_runs(self) -> None:
        _, environment = self.prepared(OpenCode, OPENAI)
        with open(environment["OPENCODE_CONFIG"]) as file:
            settings = json.load(file)
        # What comes last counts: all that is not named is asked about, edits and commands too.
        rules = settings["permission"]
        self.assertEqual((next(iter(rules)), rules["*"]), ("*", "ask"))
        self.assertFalse({"edit", "bash", "shell", "webfetch"} & set(rules))
        self.assertEqual(settings["model"], "api/a-model")
        # It would tell its model that images cannot be read.
        told = settings["provider"]["api"]["models"]["a-model"]["modalities"]
        self.assertIn("image", told["input"])
        # The settings in a home's .opencode count more than these.
        self.assertEqual(environment["OPENCODE_TEST_HOME"], self.home)

    def test_opencode_asks_openai_where_no_address_is_named(self) -> None:
        opencode, environment = self.prepared(OpenCode, OPENAI)
        for given, expected in ((URL, URL), ("", "https://api.openai.com/v1")):
            opencode.prepare_files(Credentials(OPENAI, SECRET, base_url=given), {})
            with open(environment["OPENCODE_CONFIG"]) as file:
                options = json.load(file)["provider"]["api"]["options"]
            self.assertEqual(options, {"apiKey": SECRET, "baseURL": expected})

    def test_codex_gets_its_key_where_it_asks_for_a_login(self) -> None:
        codex, environment = self.prepared(Codex, OPENAI)
        request = codex.authentication_request(Credentials(OPENAI, SECRET), ())
        self.assertEqual(
            request.params, {"methodId": "api-key", "_meta": {"api-key": {"apiKey": SECRET}}}
        )
        settings = json.loads(environment["CODEX_CONFIG"])
        self.assertEqual(settings["model_providers"]["api"]["base_url"], URL)
        self.assertEqual(environment["INITIAL_AGENT_MODE"], codex.asking_mode)

    def test_codex_keeps_its_login_while_the_key_is_the_same(self) -> None:
        codex, environment = self.prepared(Codex, OPENAI)
        login = os.path.join(environment["CODEX_HOME"], "auth.json")
        for text, stays in (
            (json.dumps({"auth_mode": "apikey", "OPENAI_API_KEY": SECRET}), True),
            (json.dumps({"auth_mode": "apikey", "OPENAI_API_KEY": "another"}), False),
            ("damaged", False),
            (json.dumps([SECRET]), False),
        ):
            with self.subTest(text):
                with open(login, "w", encoding="utf-8") as file:
                    file.write(text)
                codex.prepare_files(Credentials(OPENAI, SECRET), {})
                self.assertEqual(os.path.exists(login), stays)

    def test_credentials_are_found_where_the_agents_users_have_them(self) -> None:
        variables = {"OPENAI_API_KEY": " k ", "ANTHROPIC_API_KEY": "c", "ANTHROPIC_MODEL": "m"}
        for cli, expected in (
            (ClaudeAgent, Credentials(ANTHROPIC, "c", model="m")),
            (OpenCode, Credentials(OPENAI, "k")),
            (Codex, Credentials(OPENAI, "k")),
        ):
            self.assertEqual(cli.from_environment(variables), expected)
            self.assertIsNone(cli.from_environment({}))

    def test_the_users_variables_for_an_agent_count_below_what_it_needs(self) -> None:
        env = {"HTTPS_PROXY": "http://proxy", "HOME": "/other", "LANG": None, "MORE": "no"}
        for cli, kind in ((ClaudeAgent, ANTHROPIC), (OpenCode, OPENAI), (Codex, OPENAI)):
            made, ours = self.prepared(cli, kind)
            above = dict.fromkeys(made.home_variables(Credentials(kind)), "theirs")
            for credentials in (Credentials(kind, SECRET), Credentials(OWN)):
                asking = {**made.own_variables()}
                with self.subTest(cli.id, kind=credentials.kind):
                    with mock.patch.dict(os.environ, LANG="C", HTTPS_PROXY="", MORE=""):
                        environment = made.process_environment(
                            credentials, {"MORE": "yes"}, {**env, **above, **asking}
                        )
                    self.assertEqual(environment["HTTPS_PROXY"], "http://proxy")
                    self.assertEqual(environment["HOME"], "/other")
                    self.assertNotIn("LANG", environment)
                    self.assertEqual(environment["MORE"], "yes")
                    for name, value in made.own_variables().items():
                        self.assertEqual(environment[name], value)
                    if credentials.kind != OWN:
                        for name in above:
                            self.assertEqual(environment.get(name), ours.get(name), name)

    def test_qwen_code_does_not_start_itself_once_more_for_more_memory(self) -> None:
        made, _ = self.prepared(QwenCode, OPENAI)
        for credentials in (Credentials(OPENAI, SECRET), Credentials(OWN)):
            with self.subTest(credentials.kind):
                environment = made.process_environment(credentials, {}, {})
                self.assertEqual(environment.get("QWEN_CODE_NO_RELAUNCH"), "true")

    def test_a_key_among_the_users_variables_is_not_passed_on_to_the_commands(self) -> None:
        for cli, kind, name in (
            (ClaudeAgent, ANTHROPIC, "ANTHROPIC_API_KEY"),
            (ClaudeAgent, ANTHROPIC, "ANTHROPIC_AUTH_TOKEN"),
            (OpenCode, OPENAI, "OPENAI_API_KEY"),
            (Codex, OPENAI, "OPENAI_API_KEY"),
        ):
            made, _ = self.prepared(cli, kind)
            env = {name: SECRET}
            told = cli.from_environment(env)
            assert told is not None
            self.assertEqual(told.api_key, SECRET)
            self.assertNotIn(SECRET, json.dumps(made.process_environment(told, {}, env)))
            own = made.process_environment(Credentials(OWN), {}, env)
            self.assertEqual({**own, **env}, own)

    def test_an_address_among_the_users_variables_does_not_get_another_key(self) -> None:
        for cli, kind, prefix in (
            (ClaudeAgent, ANTHROPIC, "ANTHROPIC"),
            (OpenCode, OPENAI, "OPENAI"),
            (Codex, OPENAI, "OPENAI"),
            (QwenCode, OPENAI, "OPENAI"),
        ):
            made = cli(self.home, False)
            env = {f"{prefix}_API_KEY": "a-gateways-key", f"{prefix}_BASE_URL": "http://gateway"}
            for credentials, address in (
                (Credentials(kind, SECRET), ""),
                (Credentials(kind, SECRET, base_url=URL), URL),
            ):
                with self.subTest(cli.id, address=address):
                    made.prepare_files(credentials, {})
                    environment = made.process_environment(credentials, {}, env)
                    self.assertNotIn("http://gateway", json.dumps(environment))

    def test_a_login_without_a_key_is_refused(self) -> None:
        for id, kind in (("claude", ANTHROPIC), ("opencode", OPENAI), ("codex", OPENAI)):
            with self.subTest(id), self.assertRaises(AgentError):
                CLIS[id](self.home, False).check_credentials(Credentials(kind))

    def test_with_the_users_own_login_they_run_as_in_a_terminal_and_have_no_key_of_ours(
        self,
    ) -> None:
        own, variables = Credentials(OWN), {"HOME": "/the/users", "ANTHROPIC_BASE_URL": "theirs"}
        for cli, kind in ((ClaudeAgent, ANTHROPIC), (OpenCode, OPENAI), (Codex, OPENAI)):
            with self.subTest(cli.id), mock.patch.dict(os.environ, variables):
                made, ours = self.prepared(cli, kind)
                made.check_credentials(own)
                made.prepare_files(own, {})
                environment = made.process_environment(own, {"MORE": "yes"})
                self.assertEqual({**environment, **variables}, environment)
                self.assertEqual(environment["MORE"], "yes")
                self.assertNotIn(self.home, json.dumps(environment))
                self.assertIn(self.home, json.dumps(ours))
                self.assertIsNone(made.authentication_request(own, ()))
                # What it finds where it starts, and above, is nothing of ours.
                folder = made.process_folder(own)
                self.assertFalse(os.path.join(folder, "").startswith(self.home))
                self.assertEqual(os.listdir(folder), [])

    def test_a_refusal_does_not_name_the_own_login_which_only_the_editor_offers(self) -> None:
        for id, kind in (("claude", OPENAI), ("opencode", ANTHROPIC), ("codex", ANTHROPIC)):
            with self.subTest(id), self.assertRaises(AgentError) as refused:
                CLIS[id](self.home, False).check_credentials(Credentials(kind, SECRET))
            self.assertNotIn(OWN, str(refused.exception.message))

    def test_with_the_users_own_login_they_ask_before_they_write(self) -> None:
        self.assertEqual(ClaudeAgent.asking_mode, "default")
        codex = Codex(self.home, True).process_environment(Credentials(OWN), {})
        self.assertEqual(codex["INITIAL_AGENT_MODE"], Codex.asking_mode)
        for trusted in (False, True):
            opencode = OpenCode(self.home, trusted).process_environment(Credentials(OWN), {})
            # Patterns, so that they come after rules of the same names.
            rules = json.loads(opencode["OPENCODE_PERMISSION"])
            asked = ["edi?", "bas?", "shel?", "webfetc?", "websearc?", "?*_?*"]
            self.assertEqual([name for name in rules if rules[name] == "ask"], asked)
            self.assertEqual("OPENCODE_DISABLE_PROJECT_CONFIG" not in opencode, trusted)

    def own(self, cli: AgentCli, **variables: str) -> dict[str, str]:
        """The environment in the user's home, with these of theirs."""
        cli.prepare_files(Credentials(OWN), {})
        with mock.patch.dict(os.environ, {"HOME": self.home, **variables}, clear=True):
            return cli.process_environment(Credentials(OWN), {})

    def test_gemini_cli_has_rules_of_ours_that_ask_and_trusts_what_is_trusted_here(self) -> None:
        cli, trusting = (GeminiCli(self.home, trusted) for trusted in (False, True))
        kept = Credentials(API_KEY, SECRET)
        cli.prepare_files(kept, {})
        self.assertEqual(self.own(cli)["GEMINI_CLI_TRUST_WORKSPACE"], "false")
        *_, path = cli.own_arguments()
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read().count('decision = "ask_user"'), 2)
        # The search for variables has to get as far as the user's.
        folder = cli.process_folder(Credentials(OWN))
        while folder != os.path.dirname(folder):
            self.assertNotEqual(folder, self.home)
            folder = os.path.dirname(folder)
        self.assertEqual(self.own(trusting)["GEMINI_CLI_TRUST_WORKSPACE"], "true")
        cli.trusted_folders = ("/mine",)
        made = self.own(cli)
        self.assertNotIn("GEMINI_CLI_TRUST_WORKSPACE", made)
        with open(made["GEMINI_CLI_TRUSTED_FOLDERS_PATH"], encoding="utf-8") as file:
            self.assertEqual(json.load(file), {"/mine": "TRUST_FOLDER"})
        for told in ('{"folderTrust": false}', '{"folderTrust": { // no\n "enabled" :false}}'):
            with open(os.path.join(self.home, ".gemini", "settings.json"), "w") as file:
                file.write(told)
            self.assertEqual(self.own(cli)["GEMINI_CLI_TRUST_WORKSPACE"], "false")

    def test_gemini_cli_has_the_variables_of_the_users_file_and_none_of_a_workspaces(self) -> None:
        cli = GeminiCli(os.path.join(self.home, "ours"), False)
        os.makedirs(os.path.join(self.home, ".gemini"))
        names = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "A", "B")
        for name, text, found in (
            (".env", "GEMINI_API_KEY=of the home\n", ("of the home", "", "", None, None)),
            (
                ".gemini/.env",
                "# no\n export GEMINI_API_KEY = \"a b\" # c\nA='1'\nB=2 # d\nGOOGLE_API_KEY=e\n",
                ("a b", "theirs", "", "1", "2"),
            ),
        ):
            with open(os.path.join(self.home, name), "w", encoding="utf-8") as file:
                file.write(text)
            theirs = {} if name == ".env" else {"GOOGLE_API_KEY": "theirs"}
            made = self.own(cli, **theirs)
            self.assertEqual(tuple(map(made.get, names)), found)

    def test_qwen_code_has_settings_of_ours_that_ask_before_those_of_its_user(self) -> None:
        for trusted in (False, True):
            cli = QwenCode(self.home, trusted)
            with open(self.own(cli)["QWEN_CODE_SYSTEM_SETTINGS_PATH"], encoding="utf-8") as file:
                told = json.load(file)
            self.assertEqual(told["security"]["folderTrust"]["enabled"], not trusted)
            self.assertLessEqual(
                {"Edit", "WriteFile", "Bash", "mcp__*"}, {*told["permissions"]["ask"]}
            )

    def test_nothing_is_removed_from_the_users_home_with_a_conversation(self) -> None:
        name = "01234567-0"
        os.makedirs(self.home)
        for cli, path in (
            (
                GeminiCli(os.path.join(self.home, "o"), False),
                f".gemini/tmp/w/chats/session-1-{name[:8]}",
            ),
            (QwenCode(os.path.join(self.home, "o"), False), f".qwen/projects/w/chats/{name}"),
        ):
            self.own(cli)
            own, ours = (os.path.join(home, path) + ".jsonl" for home in (self.home, cli.folder))
            for each in (own, ours):
                os.makedirs(os.path.dirname(each))
                open(each, "w").close()
            cli.session_files.remove_session(name)
            self.assertEqual(list(map(os.path.exists, (own, ours))), [True, False])

    def test_what_a_row_does_not_say_is_what_the_protocol_says(self) -> None:
        for id in ("claude", "opencode", "codex"):
            cli = CLIS[id](self.home, False)
            self.assertFalse(cli.authenticates_first or cli.writes_through_us("/a", "/"))
            for known, method in (
                (messages.AgentCapabilities(), None),
                (messages.AgentCapabilities(load=True), messages.LOAD),
                (messages.AgentCapabilities(load=True, resume=True), messages.RESUME),
            ):
                found = cli.session_files.prepare_resumption("/w", "new", "last", (), known)
                self.assertEqual(found and found.method, method)
                self.assertEqual(found and found.session, method and "last")


class Commands(unittest.TestCase):
    """For which messages an agent has a command that may reach further than a conversation."""

    def reaches(self, message: str, *rows: type[AgentCli]) -> list[str]:
        return [row("/home", False).command_in(message) for row in rows]

    def test_whatever_stands_behind_a_slash_is_one_unless_it_is_known(self) -> None:
        rows = ClaudeAgent, OpenCode, Codex, AgentCli
        for message, command in (
            ("/logout", "logout"),
            ("/config permissionMode=dontAsk", "config permissionMode=dontAsk"),
            ("/ logout\nnow", "logout now"),
            ("/compact and more", "compact and more"),
            (" \t\ufeff\u200b\x85/new", "new"),
        ):
            self.assertEqual(self.reaches(message, *rows), [command] * len(rows))

    def test_a_text_and_what_is_known_to_be_harmless_are_none(self) -> None:
        for message in ("hello", "see /etc/hosts", "/", " ", "", "\u200b"):
            self.assertEqual(self.reaches(message, AgentCli), [""])
        self.assertEqual(self.reaches("/compact", ClaudeAgent, Codex), ["", ""])
        self.assertEqual(self.reaches(" /status ", Codex), [""])

    def test_two_agents_get_no_others_than_harmless_ones(self) -> None:
        for row in (GeminiCli, QwenCode):
            made = row("/home", False)
            for message in ("/logout", " /model x", "/chat delete a"):
                self.assertEqual(made.command_in(message), "")
                self.assertEqual(made.text_for(message), "\u200b" + message.strip())
