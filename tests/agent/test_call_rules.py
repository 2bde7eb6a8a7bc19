"""What the user's rules answer: denied before asked, asked before allowed, and never more than they
say."""

from __future__ import annotations

import doctest
import os
from dataclasses import replace
from typing import Any

from GeminiCompanion.companion.agent.acp.messages import ToolCallUpdate
from GeminiCompanion.companion.agent.events.tool_call import Call, read_call
from GeminiCompanion.companion.agent.turn.call_rules import (
    ALLOW,
    ASK,
    DENY,
    verdict_of,
    verdict_of_write,
)
from GeminiCompanion.companion.agent.turn.lasting_answers import NOTHING, coverage_of
from GeminiCompanion.companion.agent.turn.simple_commands import is_allowed, is_named, may_be
from GeminiCompanion.companion.base import agent_rules
from GeminiCompanion.companion.base.agent_rules import AgentRules, are_rules, problem_of_rule

from .test_lasting_answers import Case, command, of_server


class Rules(Case):
    def decided(self, call: Call, **rules: Any) -> str:
        given = AgentRules(**{name: tuple(listed) for name, listed in rules.items()})
        coverage = coverage_of(call, (self.folder,))
        return verdict_of(call, given, (self.folder,), coverage).decision

    def reading(self, name: str) -> Call:
        path = self.path(name)
        told = ToolCallUpdate("1", "Read", "read", paths=(path,))
        return read_call(told, "Read", {"file_path": path})

    def test_what_is_denied_comes_before_what_is_asked_and_that_before_what_is_allowed(
        self,
    ) -> None:
        one = ["command:make *"]
        self.assertEqual(self.decided(command(), deny=one, ask=one, allow=one), DENY)
        self.assertEqual(self.decided(command(), ask=one, allow=one), ASK)
        self.assertEqual(self.decided(command(), allow=one), ALLOW)
        self.assertEqual(self.decided(command(), allow=["command:ls"]), "")

    def test_the_rule_that_decided_is_named(self) -> None:
        rules = AgentRules(allow=("command:ls", "command:make *", "command:make test"))
        found = verdict_of(command(), rules, (self.folder,), coverage_of(command(), (self.folder,)))
        self.assertEqual(found.rule, "command:make *")

    def test_a_path_is_denied_by_any_of_its_names_and_allowed_by_where_it_leads(self) -> None:
        os.makedirs(self.path("secrets"))
        os.symlink("secrets", self.path("link"))
        for name in ("secrets/a", "SECRETS/a", "link/a", "src/../secrets/a"):
            for rule in ("edit:secrets/", "edit:/secrets/**", f"edit:{self.path('secrets')}/"):
                self.assertEqual(self.decided(self.edit(name), deny=[rule]), DENY, (name, rule))
        self.assertEqual(self.decided(self.edit("link/a"), deny=["edit:link/"]), DENY)
        self.assertEqual(self.decided(self.edit("link/a"), allow=["edit:link/"]), "")
        self.assertEqual(self.decided(self.edit("link/a"), allow=["edit:secrets/"]), ALLOW)
        os.symlink(self.top, self.path("docs"))
        for name in ("docs/a", "src/../../a", "../work2/docs/a"):
            self.assertEqual(self.decided(self.edit(name), allow=["edit:docs/**", "edit:**"]), "")

    def test_of_several_files_one_is_enough_to_deny_and_all_are_needed_to_allow(self) -> None:
        both = self.edit("src/a.py", "a.lock")
        self.assertEqual(self.decided(both, deny=["edit:*.lock"]), DENY)
        self.assertEqual(self.decided(both, allow=["edit:src/"]), "")
        self.assertEqual(self.decided(both, allow=["edit:src/", "edit:*.lock"]), ALLOW)
        moved = self.edit("b.py", places=["a.lock"])
        self.assertEqual(self.decided(moved, ask=["edit:*.lock"]), ASK)

    def test_no_rule_allows_what_is_asked_about_each_time(self) -> None:
        everything = ["edit:**", "command:*", "tool:*", "read:**"]
        for call in (
            self.edit(".git/hooks/pre-push"),
            self.edit("../.bashrc"),
            self.edit(".envrc"),
            self.edit("a\0b"),
            command(cwd=self.top),
            self.reading("../a"),
            of_server(text='{"path": "/etc/passwd"}'),
            read_call(ToolCallUpdate("1", "x", "switch_mode"), "x", {}),
            read_call(ToolCallUpdate("1", "x", "other"), "other", {}),
        ):
            self.assertEqual(self.decided(call, allow=everything), "", call)
            self.assertEqual(self.decided(call, deny=everything), DENY, call)

    def test_reading_and_editing_are_told_apart(self) -> None:
        self.assertEqual(self.decided(self.reading("a.py"), deny=["edit:*.py"]), "")
        self.assertEqual(self.decided(self.edit("a.py"), deny=["read:*.py"]), "")
        self.assertEqual(self.decided(self.reading("a.py"), deny=["read:*.py"]), DENY)
        self.assertEqual(self.decided(self.reading("a.py"), allow=["read:*.py"]), ALLOW)
        # A tool of a server may do both.
        call = of_server(text='{"path": "a.py"}')
        self.assertEqual(self.decided(call, deny=["edit:*.py"]), DENY)
        self.assertEqual(self.decided(call, deny=["read:*.py"]), DENY)

    def searching(self, **args: Any) -> Call:
        return read_call(ToolCallUpdate("1", "Find", "search", raw_input=args), "Grep", args)

    def test_a_folder_in_which_a_tool_searches_is_read(self) -> None:
        for name in ("path", "dir_path", "directory"):
            for folder in ("secrets", "secrets/", "./secrets/in", self.path("secrets")):
                call = self.searching(pattern="x", **{name: folder})
                for rule in ("read:secrets/", "read:/secrets/**", "read:secrets", "read:secrets/*"):
                    self.assertEqual(self.decided(call, deny=[rule]), DENY, (name, folder, rule))
        # The folder in which a command runs is not read by that.
        self.assertEqual(self.decided(command(cwd="secrets"), deny=["read:secrets/"]), "")

    def test_a_search_is_not_allowed_where_it_could_come_upon_what_must_not_be_read(self) -> None:
        call = self.searching(pattern="x", path="src")
        allowed = ["read:src", "tool:Grep"]
        self.assertEqual(self.decided(call, allow=allowed), ALLOW)
        for rule in ("read:src/keys/", "read:*.pem"):
            self.assertEqual(self.decided(call, deny=[rule], allow=allowed), ASK)
            self.assertEqual(self.decided(call, ask=[rule], allow=allowed), ASK)
        outside = self.searching(pattern="x", dir_path="..")
        self.assertEqual(self.decided(outside, allow=["tool:Grep"]), "")
        self.assertEqual(self.decided(self.searching(path="."), allow=["tool:Grep"]), ALLOW)

    def test_what_reads_by_a_pattern_or_tells_no_file_could_come_upon_what_must_not_be_read(
        self,
    ) -> None:
        for path, expected in (
            ("src/a", ALLOW), ("src/*", ASK), ("sr?/key", ASK), ("sr[c]/key", ASK),
            ("{src,x}/key", ASK), ("", ASK),
        ):  # fmt: skip
            told = ToolCallUpdate("1", "Read", "read", raw_input={"path": path})
            call = read_call(told, "Read", {"path": path})
            for rules in ({"deny": ["read:src/key"]}, {"ask": ["read:src/key"]}):
                found = self.decided(call, allow=["read:src", "tool:Read"], **rules)
                self.assertEqual(found, expected, (path, rules))
            self.assertEqual(self.decided(call, allow=["read:src/", "tool:Read"]), ALLOW, path)
            self.assertEqual(self.decided(call, deny=["edit:src/key", "command:x"]), "", path)

    def written(self, *running: Call, **rules: Any) -> str:
        given = AgentRules(**{name: tuple(listed) for name, listed in rules.items()})
        return verdict_of_write(self.path("a"), running, given, (self.folder,)).decision

    def test_a_write_without_a_question_is_that_of_the_tool_that_runs_for_its_file(self) -> None:
        call = replace(self.edit("a"), name="write_file")
        for rule in ("tool:write_file", "tool:WRITE*", "tool:WriteFile", "tool:*"):
            self.assertEqual(self.written(call, deny=[rule]), DENY, rule)
            self.assertEqual(self.written(call, ask=[rule]), ASK, rule)
        for rule in ("tool:replace", "tool:read_file"):
            self.assertEqual(self.written(call, self.reading("a"), deny=[rule]), "", rule)
        other = replace(self.edit("b"), name="replace")
        self.assertEqual(self.written(call, other, deny=["tool:replace"]), "")
        both = replace(self.edit("a"), name="replace")
        self.assertEqual(self.written(call, both, deny=["tool:replace"]), DENY)
        self.assertEqual(self.written(call, deny=["edit:a"]), DENY)

    def test_a_write_of_a_tool_without_a_name_is_asked_about_where_a_tool_is_denied(self) -> None:
        unnamed = replace(self.edit("a"), name="edit")
        elsewhere = replace(self.edit("b"), name="write_file")
        server = replace(of_server(), path=self.path("a"))
        for running in ((), (unnamed,), (elsewhere,), (self.reading("a"),), (server,)):
            with self.subTest(str(running)):
                self.assertEqual(self.written(*running, deny=["tool:write_file"]), ASK)
                self.assertEqual(self.written(*running, ask=["tool:write_file"]), ASK)
                self.assertEqual(self.written(*running, deny=["tool:mcp_sums_*"]), "")
                self.assertEqual(self.written(*running, deny=["edit:a", "tool:x"]), DENY)
                self.assertEqual(self.written(*running, deny=["command:ls", "edit:b"]), "")

    def test_a_command_that_could_be_a_denied_one_is_asked_about_whatever_is_allowed(self) -> None:
        asked = (
            "git -C x push", "git --no-pager push", "{git,push}", "$'git' push", "g$(x)it push",
            "$GIT push", "`echo git` push", "gi? push", "g[i]t push", "g[]i]t p*h",
            "/usr/bin/g* push", "git %X%", "x 'y", "git\u00a0", "git\0", "(git -C x push)", "* *",
            "sh -c 'git -C x push'", "sh -c \"'git' -C x push\"", 'git -C "a;b" push', "git @x",
            "env git -C x push", "ls; git -C x push", "GIT -C x PUSH", "git <x -C y push",
        )  # fmt: skip
        denied = (
            "\\git push", '"git" push', "env git push", "command git push", "FOO=1 git push",
            "sh -c 'git push'", "(git push)", "a; git push", "git  push", "git\tpush",
            "git 'push", "git\u00a0push",
        )  # fmt: skip
        for pattern in ("git push *", "git push*", "git push"):
            rule = [f"command:{pattern}"]
            for line in asked:
                self.assertTrue(may_be(line, pattern), line)
                found = self.decided(command(line), deny=rule, allow=["command:git *"])
                self.assertEqual(found, ASK, line)
                found = self.decided(command(line), ask=rule, allow=["command:git *"])
                self.assertEqual(found, ASK, line)
            for line in denied:
                self.assertEqual(self.decided(command(line), deny=rule), DENY, line)
        for line in ("git pull", "push git", "git-push", "ls *.py", "git log x/pushed", "ls"):
            self.assertFalse(may_be(line, "git push *"), line)
            self.assertEqual(self.decided(command(line), deny=["command:git push *"]), "", line)
        self.assertEqual(self.decided(command("rm x -rf"), deny=["command:rm -rf *"]), ASK)
        # Without a rule about commands, nothing is asked about by one.
        self.assertEqual(self.decided(command("echo $X"), deny=["edit:a", "tool:x"]), "")

    def test_a_pattern_or_another_path_to_what_a_command_must_not_name_is_asked_about(self) -> None:
        for pattern, lines in (
            ("cat *secret*", ("cat s?cret.txt", "cat sec*", "cat se[c]ret", "cat s?cr[!x]t")),
            ("make *deploy*", ("make d?ploy",)),
            ("cat secrets/*", ("cat s*/key", "cat secr?ts/key", "cat ./secrets/key", "cat */key")),
            ("cp secrets/*", ("cp -r ./secrets x", "cp -r secr?ts/ x", "cp .//secrets/./a b")),
            ("cat config/.env", ("cat conf?g/.env", "cat config/./.env", "cat config/x/../.env")),
            ("cat /etc/passwd", ("cat /etc/pass?d", "cat /e*/passwd", "cat //etc//passwd")),
            ("sh ./deploy", ("sh deploy", "sh x/../d?ploy")),
            ("cat secret", (f"cat {'a/' * 60}secret", "cat s?cr[!x]t")),
        ):
            for line in lines:
                allowed = [f"command:{line.split()[0]} *"]
                found = self.decided(command(line), deny=[f"command:{pattern}"], allow=allowed)
                self.assertEqual(found, ASK, (line, pattern))
        for pattern, free in (
            ("git push*", ("git status", "rm x", "git add 'a*b'", "git add src/a*", "ls *.py")),
            ("cat secrets/*", ("cat x/key", "cat x?/key", "cat secret", "cat key")),
            ("cat config/.env", ("cat config/.e", "cat c?nfig/env", "cat .env", "cat config")),
            ("rm -rf /*", ("rm -rf x", "rm -rf ./x/", "rm -rf x/y")),
            ("rm *", ("docker run --rm x",)),
        ):
            for line in free:
                self.assertFalse(may_be(line, pattern), (line, pattern))

    def test_a_denied_command_that_is_glued_to_what_runs_it_is_asked_about(self) -> None:
        for line in (
            'env -S"git push"', "env -S'git push'", "env -Sgit push", 'env -iS"g\'i\'t push"',
            'env "-Sgit push"', 'env --split-string="git push"', "=git push", "env =git push",
            'su -c"git push"', 'GIT_EDITOR="git push" x', 'env x:"git push"',
        ):  # fmt: skip
            for pattern in ("git push*", "git push *", "git push"):
                found = self.decided(command(line), deny=[f"command:{pattern}"])
                self.assertEqual(found, ASK, (line, pattern))
        for line in ("git -S push", "git commit -Spush -m x", "git log --grep=push"):
            self.assertTrue(may_be(line, "git push*"), line)
        for line in ("env -Sgit status", "=git status", 'git log --grep="x y"', "git x=1"):
            self.assertFalse(may_be(line, "git push*"), line)
        self.assertEqual(self.decided(command("git a -S x"), deny=["command:git -S*"]), ASK)

    def test_an_edit_is_one_also_where_an_argument_is_named_command(self) -> None:
        call = replace(self.edit("a.lock"), args={"command": "create"})
        self.assertEqual(self.decided(call, deny=["edit:*.lock"]), DENY)
        self.assertEqual(self.decided(replace(call, kind="other"), deny=["edit:*.lock"]), DENY)
        self.assertEqual(self.decided(replace(call, diffs=()), deny=["edit:*.lock"]), DENY)
        # The folder in which a command runs is not edited.
        self.assertEqual(self.decided(command(cwd=self.path("src")), deny=["edit:src/"]), "")

    def test_a_path_in_the_users_folder_is_denied_in_its_short_form_too(self) -> None:
        for rule in ("read:~/.ssh/", f"read:{os.path.expanduser('~')}/.ssh/"):
            call = replace(self.reading("a"), args={"file_path": "~/.ssh/id"}, path="~/.ssh/id")
            self.assertEqual(self.decided(call, deny=[rule]), DENY, rule)

    def test_a_rule_from_the_workspace_on_counts_where_the_workspace_is_a_link(self) -> None:
        linked = os.path.join(self.top, "linked")
        os.symlink(self.folder, linked)
        rules = AgentRules(deny=("edit:/src/",))
        found = verdict_of(self.edit("src/a.py"), rules, (linked,), NOTHING)
        self.assertEqual(found.decision, DENY)

    def test_a_rule_from_a_folder_on_counts_in_each_folder_of_the_session(self) -> None:
        roots, call = (self.folder, os.path.join(self.top, "lib")), self.edit("../lib/src/a.py")
        for decision, rules in (
            (ALLOW, AgentRules(allow=("edit:/src/",))),
            (DENY, AgentRules(deny=("edit:/src/",), allow=("edit:**",))),
        ):
            found = verdict_of(call, rules, roots, coverage_of(call, roots))
            self.assertEqual(found.decision, decision)
        self.assertEqual(self.decided(call, allow=["edit:/src/", "edit:**"]), "")

    def test_a_tool_is_meant_by_its_name_but_not_for_commands_and_edits(self) -> None:
        self.assertEqual(self.decided(of_server(), allow=["tool:mcp_sums_*"]), ALLOW)
        self.assertEqual(self.decided(of_server(), allow=["tool:mcp_sums"]), "")
        self.assertEqual(self.decided(of_server(), deny=["tool:MCP_*_add"]), DENY)
        self.assertEqual(self.decided(command(), deny=["tool:bash"]), DENY)
        self.assertEqual(self.decided(command(), allow=["tool:Bash"]), "")
        self.assertEqual(self.decided(self.edit("a"), allow=["tool:*"]), "")

    def test_a_command_with_more_than_its_line_is_not_allowed(self) -> None:
        rules = ["command:make test"]
        self.assertEqual(self.decided(command(timeout=5, description="x"), allow=rules), ALLOW)
        self.assertEqual(self.decided(command(cwd=self.path("src")), allow=rules), ALLOW)
        for more in ({"env": {"MAKEFLAGS": "x"}}, {"dangerouslyDisableSandbox": True}):
            self.assertEqual(self.decided(command(**more), allow=rules), "", more)
        self.assertEqual(self.decided(command(text="It wants the network."), allow=rules), "")


class Commands(Case):
    def test_one_simple_command_is_allowed_as_its_words_are(self) -> None:
        for line in ("make test", "make   test", "make 'test'", ' make "test" '):
            self.assertTrue(is_allowed(line, "make test"), line)
        for line in ("git log", "git log -p a*", "git log 'a b'"):
            self.assertTrue(is_allowed(line, "git log *"), line)
        for line in ("git logs", "git", "'git log' -p", "'git log'", "Git log", "git 'log x'"):
            self.assertFalse(is_allowed(line, "git log *"), line)

    def test_nothing_more_comes_in_behind_before_or_within_it(self) -> None:
        for line in (
            "make test; id", "make test && id", "make test & id", "make test | sh", "make test\nid",
            "make test\r\nid", "make test > /etc/x", "make test < x", "make $(id)", "make `id`",
            "make ${x}", "make $x", "make <(id)", "(make test)", "{ make test; }", "! make test",
            "PATH=. make test", "A+=b make test", "make %COMSPEC%", "make ^& id", "make t\\\nest",
            "make 'a;b'", 'make "', "make\u00a0test", "make test\u2028id", "make test\0", "",
            "make test\x1b[2K", "make @(id)", "make test \u200b", "make\ttest",
        ):  # fmt: skip
            for pattern in ("make *", "make test", "*"):
                self.assertFalse(is_allowed(line, pattern), (line, pattern))

    def test_what_is_denied_is_found_in_every_part_of_a_line(self) -> None:
        for line in (
            "git push", "git push origin", "ls; git push", "ls&&git push -f", "ls | git  push",
            "true\ngit push", "$(git push)", "echo `git push`", "sudo git push", "A=b git push",
            "/usr/bin/git push", "'git' push", 'g"i"t push', "g\\it push", "(git push)",
            "bash -c 'ls; git push'", 'sh -c "git push"', "git \\\npush", "git${IFS}push",
            "GIT PUSH", "if true; then git push; fi", "git push > x", "xargs git push <x",
            "git 'push", "sh -c \"'git' push\"", "git pu\\\nsh", "git pu^sh", "! git push",
            "!git push", "git push 2>x", "git pu`` sh; git push", "git pu$()sh", "git pu``sh",
        ):  # fmt: skip
            self.assertTrue(is_named(line, "git push *"), line)
            self.assertTrue(is_named(line, "git push*"), line)
        for line in ("git pull", "git-push", "mygit push", "git pushed", "ls", "git\npull"):
            self.assertFalse(is_named(line, "git push *"), line)

    def test_quotes_and_blanks_of_a_rule_that_denies_mean_what_they_mean_in_a_line(self) -> None:
        for pattern in ("git commit -m 'a b'", 'git  commit -m "a b"', "git commit -m a\\ b *"):
            for line in ('git commit -m "a b"', "git commit -m 'a b'", "ls; git commit -m 'a b'"):
                self.assertTrue(is_named(line, pattern), (line, pattern))
                self.assertTrue(may_be(line, pattern), (line, pattern))
            self.assertFalse(is_named("git commit -m 'a c'", pattern), pattern)
        self.assertTrue(is_named("C:\\tools\\x.exe", "C:\\tools\\x.exe"))

    def test_a_long_line_is_looked_through_at_once(self) -> None:
        # Looked through again from each word, it would take minutes.
        line = "a " * 100_000
        self.assertFalse(is_named(line, "git push *"))
        self.assertTrue(is_named(line + "; git push", "git push *"))
        for long in (line, "git " * 50_000, "[" * 100_000, "g*" * 50_000, "*a" * 50_000):
            self.assertFalse(may_be(long, "git push x"))
        for long in ("a/" * 50_000, "/" * 100_000, "a=" * 50_000, "-a" * 50_000, "a'b'" * 25_000):
            self.assertFalse(may_be(long, "git push x"))
        self.assertFalse(may_be(f"{'a/' * 40}{'b' * 100_000}[", "git push x"))
        self.assertFalse(is_named("ab " * 50_000, "a*b*a*b*c"))
        self.assertFalse(is_allowed("ab " * 50_000, "a*b*a*b*c"))


class Written(Case):
    def test_a_rule_that_cannot_be_read_is_told_what_is_wrong_with_it(self) -> None:
        self.assertEqual(doctest.testmod(agent_rules).failed, 0)
        for bad in ("", "edit", "edit:", "edit:a//b", "edit:!a", "command: x", "write:a", 1, None):
            self.assertTrue(problem_of_rule(bad), bad)
            self.assertFalse(are_rules({"deny": [bad]}), bad)
        for good in ("edit:**/.env", "read:/a/", "command:git push*", "tool:mcp__db__*"):
            self.assertEqual(problem_of_rule(good), "")
        self.assertFalse(are_rules({"denied": []}))
        self.assertFalse(are_rules({"deny": "edit:a"}))
        self.assertTrue(are_rules({}))
