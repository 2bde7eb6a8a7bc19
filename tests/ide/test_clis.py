"""The table of CLIs: what another row must have, and what its values give."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.ide.clis import (
    CLAUDE_CODE,
    CLIS,
    GEMINI_CLI,
    LLXPRT,
    QWEN_CODE,
    by_command,
    program_name,
)


class Table(unittest.TestCase):
    def test_no_two_clis_share_a_name_a_command_or_a_variable(self) -> None:
        for values in (
            [cli.id for cli in CLIS],
            [cli.name for cli in CLIS],
            [cli.command for cli in CLIS],
            [name for cli in CLIS for name in cli.environment(1, "/p", "t", 2)],
        ):
            self.assertEqual(len(values), len(set(values)))

    def test_a_discovery_file_is_told_apart_by_its_port(self) -> None:
        for cli in CLIS:
            if cli.discovery is not None:
                self.assertIn("{port}", cli.discovery.name)

    def test_each_cli_has_a_token_of_its_own_for_an_endpoint(self) -> None:
        tokens = [cli.token("secret") for cli in CLIS]
        self.assertEqual(len(tokens), len(set(tokens)))
        self.assertEqual("secret", GEMINI_CLI.token("secret"))
        self.assertNotEqual(QWEN_CODE.token("secret"), QWEN_CODE.token("other"))


class Environment(unittest.TestCase):
    def test_gemini_cli_is_led_by_port_folders_token_and_process(self) -> None:
        self.assertEqual(
            {
                "GEMINI_CLI_IDE_SERVER_PORT": "4711",
                "GEMINI_CLI_IDE_WORKSPACE_PATH": "/p",
                "GEMINI_CLI_IDE_AUTH_TOKEN": "secret",
                "GEMINI_CLI_IDE_PID": "12",
            },
            GEMINI_CLI.environment(4711, "/p", "secret", 12),
        )

    def test_a_cli_without_variable_for_the_token_is_not_given_it(self) -> None:
        self.assertEqual(
            {"QWEN_CODE_IDE_SERVER_PORT": "4711", "QWEN_CODE_IDE_WORKSPACE_PATH": "/p"},
            QWEN_CODE.environment(4711, "/p", "secret", 12),
        )


class Command(unittest.TestCase):
    def test_a_cli_is_known_behind_the_program_that_starts_it(self) -> None:
        for line, cli in (
            ("gemini -m x", GEMINI_CLI),
            ("C:\\npm\\Gemini.CMD", GEMINI_CLI),
            ("npx --yes @google/gemini-cli@preview", GEMINI_CLI),
            ("npx --package=@google/gemini-cli gemini", GEMINI_CLI),
            ("node /lib/node_modules/@qwen-code/qwen-code/cli-entry.js", QWEN_CODE),
            ("env A=1 /opt/llxprt", LLXPRT),
            ("docker run -v /home/ann/.gemini:/home/node/.gemini image gemini", GEMINI_CLI),
            ("qwen --model gemini", QWEN_CODE),
            ("claude --ide", CLAUDE_CODE),
            ("npx @anthropic-ai/claude-code", CLAUDE_CODE),
        ):
            with self.subTest(line):
                self.assertEqual(by_command(line.split()), cli)

    def test_of_another_program_nobody_knows_what_it_starts(self) -> None:
        for line in ("my-gemini.sh --debug", "npx @google/gemini-cli-core", "/opt/gemini-0.61.0"):
            with self.subTest(line):
                self.assertIsNone(by_command(line.split()))

    def test_only_the_ending_of_a_program_is_left_out_of_its_name(self) -> None:
        for word in ("gemini-0.61.0", ".gemini", "/opt/gemini-0.61.0.sh"):
            self.assertIn(program_name(word), ("gemini-0.61.0", ".gemini"))


class Homes(unittest.TestCase):
    def test_a_home_is_below_the_users(self) -> None:
        self.assertEqual(["/home/me/.gemini"], GEMINI_CLI.possible_homes({}, "/home/me"))

    def test_the_environment_says_where_a_home_is(self) -> None:
        environ = {"GEMINI_CLI_HOME": "/elsewhere", "QWEN_HOME": "/q"}
        self.assertEqual(["/elsewhere/.gemini"], GEMINI_CLI.possible_homes(environ, "/home/me"))
        self.assertEqual(["/q"], QWEN_CODE.possible_homes(environ, "/home/me"))

    def test_places_without_their_variable_do_not_count(self) -> None:
        homes = LLXPRT.possible_homes({"XDG_CONFIG_HOME": "", "APPDATA": "C:/R"}, "/home/me")
        self.assertIn("C:/R/llxprt-code/Config", homes)
        self.assertNotIn("/llxprt-code", homes)
        self.assertEqual([], [path for path in homes if not path.startswith(("/home/me/", "C:"))])
