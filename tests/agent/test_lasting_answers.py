"""What an answer for good covers: what its label says, and never more."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from typing import Any, Sequence

from GeminiCompanion.companion.agent.acp.messages import FileDiff, ToolCallUpdate
from GeminiCompanion.companion.agent.events.tool_call import Call, read_call
from GeminiCompanion.companion.agent.turn.guarded_files import STARTING
from GeminiCompanion.companion.agent.turn.lasting_answers import Approvals, coverage_of
from GeminiCompanion.companion.agent.turn_events import ALWAYS, ALWAYS_SERVER, ALWAYS_TOOL
from GeminiCompanion.companion.base.path_patterns import problem_of

IN_FOLDER = "Allow edits of all files in {} for this conversation"


def of_server(tool: str = "add", title: str = "", text: str = "{}") -> Call:
    title = title or f"{tool} (sums MCP Server)"
    return read_call(ToolCallUpdate(f"mcp_sums_{tool}__call_1", title, "other", texts=(text,)))


def command(line: str = "make test", title: str = "", text: str = "", **args: Any) -> Call:
    texts = (text,) if text else ()
    args = {"command": line, **args}
    return read_call(
        ToolCallUpdate("1", title or line, "execute", texts=texts, raw_input=args), "Bash", args
    )


class Case(unittest.TestCase):
    def setUp(self) -> None:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.top = os.path.realpath(made.name)
        self.folder = os.path.join(self.top, "work")
        os.makedirs(self.path("src/deep"))

    def path(self, name: str) -> str:
        return os.path.join(self.folder, *name.split("/"))

    def edit(self, *names: str, places: Sequence[str] = (), **args: Any) -> Call:
        """Of these files, and of other `places` that it names."""
        paths = [self.path(name) for name in names]
        diffs = tuple(FileDiff(path, "", "new\n") for path in paths)
        told = tuple(self.path(place) for place in places)
        return read_call(
            ToolCallUpdate("1", "w", "edit", diffs=diffs, paths=told, raw_input=args), "write", args
        )

    def labels(self, call: Call) -> dict[str, str]:
        coverage = coverage_of(call, (self.folder,))
        return {outcome: str(answer.label) for outcome, answer in coverage.answers.items()}

    def approved(self, call: Call, outcome: str = ALWAYS) -> Approvals:
        approvals = Approvals()
        approvals.remember_answer(coverage_of(call, (self.folder,)).answers[outcome])
        self.assertTrue(self.covers(approvals, call))
        return approvals

    def covers(self, approvals: Approvals, call: Call) -> bool:
        return approvals.covers_all(coverage_of(call, (self.folder,)))

    def assert_asked(self, *calls: Call) -> None:
        """Nothing lasting is offered for these calls, and an approval of all edits in the workspace
        does not cover them."""
        approvals = self.approved(self.edit("a.py"), ALWAYS_TOOL)
        for call in calls:
            with self.subTest(str(call)[:300]):
                self.assertEqual(self.labels(call), {})
                self.assertFalse(self.covers(approvals, call))


class Edits(Case):
    def test_one_file_is_approved_for_any_tool_that_edits_it(self) -> None:
        approvals = self.approved(self.edit("src/a.py"))
        other = read_call(
            ToolCallUpdate("2", kind="edit", diffs=(FileDiff(self.path("src/a.py"), "x", "y"),))
        )
        self.assertTrue(self.covers(approvals, other))
        self.assertFalse(self.covers(approvals, self.edit("src/b.py")))
        self.assertFalse(self.covers(approvals, self.edit("src/a.py/b.py")))

    def test_a_folder_is_approved_with_what_is_below_it_and_nothing_beside_it(self) -> None:
        approvals = self.approved(self.edit("src/a.py"), ALWAYS_TOOL)
        self.assertTrue(self.covers(approvals, self.edit("src/deep/new/b.py")))
        for other in ("a.py", "srcs/a.py", "src", "src/../a.py", "Src/a.py"):
            self.assertFalse(self.covers(approvals, self.edit(other)), other)

    def test_the_labels_say_which_files(self) -> None:
        file = "Allow edits of this file for this conversation"
        for name, folder in {
            "a.py": "the workspace",
            "src/deep/a.py": "src/deep/",
            "src/../a.py": "the workspace",
            "x" * 20 + "/" + "y" * 20 + "/a.py": "…" + "x" * 8 + "/" + "y" * 20 + "/",
        }.items():
            expected = {ALWAYS: file, ALWAYS_TOOL: IN_FOLDER.format(folder)}
            self.assertEqual(self.labels(self.edit(name)), expected)
        files = "Allow edits of these files for this conversation"
        expected = {ALWAYS: files, ALWAYS_TOOL: IN_FOLDER.format("src/")}
        self.assertEqual(self.labels(self.edit("src/a.py", "src/deep/b.py")), expected)

    def test_of_an_edit_of_several_files_each_has_to_be_covered(self) -> None:
        approvals = self.approved(self.edit("src/a.py", "src/b.py"))
        self.assertTrue(self.covers(approvals, self.edit("src/b.py")))
        self.assertFalse(self.covers(approvals, self.edit("src/a.py", "src/c.py")))
        self.assert_asked(
            self.edit("a.py", ".git/hooks/pre-commit"),
            self.edit("a.py", "../.bashrc"),
            self.edit("a.py", file_path=os.path.join(self.top, "other")),
            self.edit("a.py", file_path="b.py"),
        )

    def test_a_move_needs_both_names_and_a_file_without_its_texts_is_asked_about(self) -> None:
        moved = self.edit("new.py", places=["old.py"])
        approvals = self.approved(moved)
        self.assertFalse(self.covers(approvals, self.edit("new.py", places=["other.py"])))
        self.assert_asked(
            self.edit("new.py", places=["../old.py"]),
            self.edit("a.py", places=["a.py", "b.py"]),
            self.edit(places=["a.py"]),
            self.edit(),
        )

    def test_an_edit_that_is_only_a_command_is_a_command(self) -> None:
        args = {"command": "rm -rf src"}
        call = read_call(ToolCallUpdate("1", "w", "edit", raw_input=args), "write", args)
        self.assertEqual(call.command, "rm -rf src")
        self.assertFalse(self.covers(self.approved(self.edit("a.py"), ALWAYS_TOOL), call))
        with_file = self.edit("a.py", command="rm -rf src")
        self.assertFalse(self.covers(self.approved(self.edit("a.py")), with_file))
        self.assertFalse(self.covers(self.approved(with_file), self.edit("a.py")))


class Guarded(Case):
    def test_files_outside_of_the_workspace_are_always_asked_about(self) -> None:
        os.symlink(self.top, self.path("up"))
        os.symlink(os.path.join(self.top, "absent"), self.path("dangling"))
        os.symlink("up", self.path("twice"))
        names = ("../a.py", "src/../../a.py", "up/a.py", "up/new/a.py", "dangling", "twice/work.py")
        self.assert_asked(*map(self.edit, names), self.edit("../work2/a.py"))

    def test_a_search_in_a_folder_outside_of_the_workspace_is_always_asked_about(self) -> None:
        def search(**args: str) -> Call:
            return read_call(ToolCallUpdate("1", "Find", "search", raw_input=args), "Grep", args)

        approvals = self.approved(search(pattern="x", dir_path="src"))
        for inner in (".", self.folder, "src/deep"):
            self.assertTrue(self.covers(approvals, search(path=inner)), inner)
        for outer in ("..", self.top, "src/../..", ".git"):
            for name in ("path", "dir_path", "directory"):
                self.assertFalse(self.covers(approvals, search(**{name: outer})), (name, outer))

    def test_a_link_within_the_workspace_counts_as_the_file_that_it_leads_to(self) -> None:
        os.symlink("src", self.path("link"))
        approvals = self.approved(self.edit("src/a.py"))
        self.assertTrue(self.covers(approvals, self.edit("link/a.py")))
        approvals = self.approved(self.edit("link/a.py"), ALWAYS_TOOL)
        self.assertTrue(self.covers(approvals, self.edit("src/deep/b.py")))

    def test_a_link_that_is_changed_after_the_approval_is_asked_about(self) -> None:
        os.symlink("src", self.path("link"))
        approvals = self.approved(self.edit("link/a.py"), ALWAYS_TOOL)
        os.unlink(self.path("link"))
        os.symlink(self.top, self.path("link"))
        self.assertFalse(self.covers(approvals, self.edit("link/a.py")))

    def test_repositories_and_their_hooks_are_always_asked_about(self) -> None:
        os.makedirs(self.path(".git/hooks"))
        os.symlink(".git/hooks", self.path("links"))
        names = (
            ".git/hooks/post-checkout", ".git/config", ".git", "sub/.git/config", "links/pre-push",
            ".GIT/config", ".Git/hooks/a", "src/../.git/config", ".git./config", ".git /config",
            ".g\u200cit/config", "\uff0egit/config", "git~1/config", ".git::$INDEX/config",
            ".hg/hgrc", ".jj/repo/config", ".svn/x",
        )  # fmt: skip
        self.assert_asked(*map(self.edit, names))

    def test_files_that_start_programs_are_always_asked_about(self) -> None:
        os.symlink("src/plain.txt", self.path(".envrc"))
        open(self.path(".zshrc"), "w").close()
        os.symlink(".zshrc", self.path("harmless.txt"))
        names = (
            ".bashrc", ".BASHRC", "home/.profile", ".zshenv", ".vscode/tasks.json", ".envrc",
            "sub/.envrc", ".husky/pre-commit", ".githooks/pre-push", ".pre-commit-config.yaml",
            ".claude/settings.json", ".codex/config.toml", ".mcp.json", "opencode.jsonc",
            "a.sublime-project", ".idea/workspace.xml", ".github/workflows/ci.yml", "harmless.txt",
            "lib/site.pth", "sitecustomize.py", ".ssh/authorized_keys", ".config/autostart/a",
            "Documents/PowerShell/Microsoft.PowerShell_profile.ps1", ".npmrc", ".bashrc:stream",
        )  # fmt: skip
        self.assert_asked(*map(self.edit, names))

    def test_files_that_only_look_like_them_are_covered(self) -> None:
        names = (
            "src/hooks/use.ts", "git/config", ".gitignore", "bashrc.md", "vscode/tasks.json",
            "docs/profile.md", "Makefile", "package.json", "systemd.py", ".github/README.md",
            "a.git/x", "…", "src/ü.py",
        )  # fmt: skip
        approvals = self.approved(self.edit("a.py"), ALWAYS_TOOL)
        for name in names:
            self.assertTrue(self.covers(approvals, self.edit(name)), name)

    def test_where_the_workspace_itself_is_below_such_a_folder_its_files_are_covered(self) -> None:
        self.folder = os.path.join(self.top, ".claude", "worktrees", "one")
        os.makedirs(self.folder)
        self.approved(self.edit("a.py"), ALWAYS_TOOL)

    def test_a_name_that_cannot_be_a_path_is_always_asked_about(self) -> None:
        relative = FileDiff("src/a.py", "", "x"), FileDiff("~/a.py", "", "x")
        told = [read_call(ToolCallUpdate("1", "w", "edit", diffs=(diff,))) for diff in relative]
        self.assert_asked(
            *map(self.edit, ("a\0.py", "a\n.py", "a\u2028.py", "\ufffd/a.py", "a\x1b.py")), *told
        )

    def test_a_file_with_a_second_name_is_always_asked_about(self) -> None:
        os.makedirs(self.path(".git"))
        open(self.path(".git/config"), "w").close()
        os.link(self.path(".git/config"), self.path("notes.md"))
        self.assert_asked(self.edit("notes.md"))

    def test_the_patterns_of_the_list_can_be_read(self) -> None:
        self.assertEqual([pattern for pattern in STARTING if problem_of(pattern)], [])


class Commands(Case):
    def test_the_same_command_is_approved_and_no_other(self) -> None:
        approvals = self.approved(command(description="Run the tests", timeout=5))
        self.assertEqual(
            self.labels(command()), {ALWAYS: "Allow exactly this command for this conversation"}
        )
        self.assertTrue(self.covers(approvals, command(description="Once more", timeout=5)))
        for line in ("make test; id", "make test\n", "make  test", "make", "make test #"):
            self.assertFalse(self.covers(approvals, command(line, timeout=5)), line)

    def test_all_else_that_the_agent_tells_of_it_counts_too(self) -> None:
        approvals = self.approved(command())
        for more in ({"cwd": self.path("src")}, {"env": {"A": "b"}}, {"sandbox": False}):
            self.assertFalse(self.covers(approvals, command(**more)), more)
        self.assertFalse(self.covers(approvals, command(text="It asks for the network.")))
        self.assertFalse(self.covers(approvals, command(title="Allow the host evil.example")))

    def test_a_command_in_another_folder_is_always_asked_about(self) -> None:
        os.symlink(self.top, self.path("up"))
        self.approved(command(cwd=self.folder))
        self.approved(command(dir_path="src"))
        places = ({"cwd": self.top}, {"workdir": "/"}, {"dir_path": ".."}, {"directory": "~"})
        self.assert_asked(
            *(command(**place) for place in places),
            command(cwd=self.path("up")),
            command(directories=[self.folder, self.top]),
            command(cwd=self.path(".git")),
        )


class Tools(Case):
    def test_a_tool_of_a_server_is_approved_with_other_arguments_too(self) -> None:
        approvals = self.approved(of_server(), ALWAYS_TOOL)
        self.assertTrue(self.covers(approvals, of_server(text='{"a": 1}')))
        self.assertFalse(self.covers(approvals, of_server("say")))
        self.assertFalse(self.covers(approvals, of_server(title="add (other MCP Server)")))

    def test_a_server_is_approved_with_all_its_tools(self) -> None:
        approvals = self.approved(of_server(), ALWAYS_SERVER)
        self.assertTrue(self.covers(approvals, of_server("say")))
        self.assertFalse(self.covers(approvals, of_server(title="add (other MCP Server)")))

    def test_a_title_that_an_argument_wrote_names_no_server(self) -> None:
        approvals = self.approved(of_server(), ALWAYS_SERVER)
        title = "rm (sums MCP Server)"
        for text in ('{"command": "rm (sums MCP Server)"}', "[Payload omitted]"):
            self.assertFalse(self.covers(approvals, of_server("evil", title, text)))

    def test_a_tool_whose_arguments_are_not_told_is_asked_about(self) -> None:
        approvals = self.approved(of_server(), ALWAYS_TOOL)
        self.assertFalse(self.covers(approvals, of_server(text="[Payload omitted]")))

    def test_a_tool_that_names_a_guarded_file_is_asked_about(self) -> None:
        approvals = self.approved(of_server(text='{"path": "src/a.py"}'), ALWAYS_TOOL)
        for path in ("../.bashrc", "/etc/passwd", ".git/config", "~/.bashrc"):
            text = json.dumps({"path": path})
            self.assertFalse(self.covers(approvals, of_server(text=text)), path)
        text = '{"source": "a.py", "destination": ".envrc"}'
        self.assertFalse(self.covers(approvals, of_server(text=text)))

    def test_what_has_no_name_or_an_address_is_approved_only_as_it_was(self) -> None:
        for name, kind in (("other", "other"), ("WebFetch", "fetch")):
            with self.subTest(name):
                first = read_call(
                    ToolCallUpdate("1", "Do", kind), name, {"url": "https://a.example"}
                )
                other = read_call(
                    ToolCallUpdate("2", "Do", kind), name, {"url": "https://b.example"}
                )
                label = "Allow exactly this call for this conversation"
                self.assertEqual(self.labels(first), {ALWAYS: label})
                self.assertFalse(self.covers(self.approved(first), other))

    def test_a_tool_with_a_name_is_approved_for_files_of_the_workspace(self) -> None:
        def reading(path: str) -> Call:
            told = ToolCallUpdate("1", "Read", "read", paths=(path,))
            return read_call(told, "Read", {"file_path": path})

        approvals = self.approved(reading(self.path("a.py")))
        self.assertTrue(self.covers(approvals, reading(self.path("src/b.py"))))
        self.assert_asked(reading("/etc/passwd"), reading(self.path("../a.py")))
        other = read_call(ToolCallUpdate("1", "Grep", "search"), "Grep", {"path": "src"})
        self.assertFalse(self.covers(approvals, other))

    def test_deleting_moving_and_other_modes_are_always_asked_about(self) -> None:
        kinds = ("delete", "move", "switch_mode")
        self.assert_asked(
            *(
                read_call(ToolCallUpdate("1", "x", kind, paths=(self.path("a.py"),)), "tool_x", {})
                for kind in kinds
            )
        )


class TwoFolders(Case):
    """A session with a second folder beside the workspace."""

    def setUp(self) -> None:
        super().setUp()
        self.second = os.path.join(self.top, "lib")
        os.makedirs(os.path.join(self.second, "deep"))
        self.roots = (self.folder, self.second)

    def test_a_file_of_the_second_folder_is_approved_as_one_of_the_workspace(self) -> None:
        approvals = Approvals()
        found = coverage_of(self.edit("../lib/a.py"), self.roots)
        name = os.path.join(self.second, "").replace(os.sep, "/")
        self.assertEqual(
            {outcome: str(answer.label) for outcome, answer in found.answers.items()},
            {
                ALWAYS: "Allow edits of this file for this conversation",
                ALWAYS_TOOL: IN_FOLDER.format(name if len(name) <= 31 else "…" + name[-30:]),
            },
        )
        approvals.remember_answer(found.answers[ALWAYS_TOOL])
        inner = coverage_of(self.edit("../lib/deep/b.py"), self.roots)
        self.assertTrue(approvals.covers_all(inner))
        for other in ("a.py", "../lib/.git/hooks/x", "../lib/.envrc", "../libs/a.py"):
            coverage = coverage_of(self.edit(other), self.roots)
            self.assertFalse(approvals.covers_all(coverage), other)

    def test_files_of_both_folders_are_approved_one_by_one(self) -> None:
        call = self.edit("a.py", "../lib/a.py")
        self.assertEqual([*coverage_of(call, self.roots).answers], [ALWAYS])

    def test_without_the_second_folder_its_files_are_asked_about(self) -> None:
        self.assertEqual(self.labels(self.edit("../lib/a.py")), {})

    def test_a_search_in_the_second_folder_is_approved_like_one_in_the_workspace(self) -> None:
        call = read_call(ToolCallUpdate("1", "Grep", "search"), "Grep", {"path": self.second})
        self.assertEqual([*coverage_of(call, self.roots).answers], [ALWAYS])
        self.assertEqual(self.labels(call), {})


class Many(Case):
    def test_thousands_of_approvals_cover_what_each_of_them_says(self) -> None:
        approvals = Approvals()
        for number in range(5000):
            name = f"src/deep/{number}/{number}.py"
            approvals.remember_answer(
                coverage_of(self.edit(name), (self.folder,)).answers[ALWAYS_TOOL]
            )
        self.assertTrue(self.covers(approvals, self.edit("src/deep/7/x/y.py")))
        for other in ("src/deep/a.py", "src/deep/5000/a.py", "src/deep/77777/a.py"):
            self.assertFalse(self.covers(approvals, self.edit(other)), other)
