"""What the user sends to a CLI: into its prompt where it runs in Terminus, never sent off."""

from __future__ import annotations

import os
import re
import sys
import types
import unittest
from typing import Any, Callable

import sublime
from GeminiCompanion.companion.base import background
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.base.path_maps import PathMap, PathMaps
from GeminiCompanion.companion.ui import queues
from GeminiCompanion.companion.ui.commands import table
from GeminiCompanion.companion.ui.prompt import diagnostics, excerpts, sending, variables
from GeminiCompanion.companion.ui.prompt.references import (
    NoReference,
    file_reference,
    remote_reference,
)
from GeminiCompanion.companion.ui.terminals import cli_terminals

from ..tables import rows, word
from .desk import DeskCase, text
from .reviewing import Steps

# How Gemini CLI 0.61.0 finds references in a prompt, and what it makes of each
# (docs/protocol.md 8.53).
PARSER = re.compile(
    r'(?<!\\)@((?:(?:"(?:[^"]*)")|(?:\\.|[^ \t\n\r,;!?()\[\]{}.]|\.(?!$|[ \t\n\r])))+)'
)


def read_by_the_cli(prompt: str, windows: bool = False) -> list[str]:
    found = PARSER.findall(prompt)
    if windows:
        return [each[1:-1] if each[:1] == each[-1:] == '"' else each for each in found]
    return [re.sub(r"\\(.)", r"\1", each) for each in found]


class References(unittest.TestCase):
    def test_the_cli_reads_each_name_as_it_is(self) -> None:
        characters = [chr(code) for code in range(0x20, 0x7F) if chr(code) != "/"]
        for each in [*characters, "\u00e9", "\u4e16", "\U0001f600", ".", "..."]:
            for name in (f"a{each}b.py", f"{each}b", f"a{each}", f"{each}{each}"):
                for windows in (False, True):
                    if windows and set('<>:"|?*\\') & set(name):
                        continue
                    with self.subTest(name=name, windows=windows):
                        told = f"see {file_reference(f'/w/{name}', ['/w'], None, windows)} and"
                        if windows and name.endswith("."):
                            # No file of Windows is named so.
                            continue
                        self.assertEqual(read_by_the_cli(told, windows), [name])

    def test_lines_stand_behind_the_name_and_count_from_one(self) -> None:
        self.assertEqual(file_reference("/w/a.py", ["/w"], (0, 0), False), "@a.py#L1")
        self.assertEqual(file_reference("/w/a b.py", ["/w"], (9, 19), False), "@a\\ b.py#L10-20")
        self.assertEqual(file_reference("/w/a b.py", ["/w"], (9, 19), True), '@"a b.py"#L10-20')

    def test_a_file_outside_of_the_folders_has_its_whole_path(self) -> None:
        self.assertEqual(file_reference("/other/a.py", ["/w", "/o"], None, False), "@/other/a.py")
        self.assertEqual(file_reference("/o/s/a.py", ["/w", "/o"], None, False), "@s/a.py")

    def test_a_cli_elsewhere_is_told_its_own_path_as_its_system_writes_it(self) -> None:
        wsl = PathMaps((PathMap("C:\\", "/mnt/c/"),))
        windows = PathMaps((PathMap("/mnt/c/", "C:\\"),))
        for path, folder, maps, told in (
            ("C:\\w\\s\\a b.py", "C:\\w", wsl, "@s/a\\ b.py#L1"),
            ("C:\\o\\a.py", "C:\\w", wsl, "@/mnt/c/o/a.py#L1"),
            ("/mnt/c/w/s/a b.py", "/mnt/c/w", windows, '@"s/a b.py"#L1'),
            ("/mnt/c/o/a.py", "/mnt/c/w", windows, "@C:/o/a.py#L1"),
        ):
            self.assertEqual(remote_reference(path, [folder], maps, (0, 0)), told)

    def test_a_name_with_a_line_break_cannot_be_told_and_that_is_said(self) -> None:
        with self.assertRaisesRegex(NoReference, "line break"):
            file_reference("/w/a\nb.py", ["/w"])


class Variables(unittest.TestCase):
    def test_an_unknown_one_is_named_with_those_that_there_are(self) -> None:
        with self.assertRaises(variables.UnknownVariable) as caught:
            variables.used_names("$file and $slection", ["file", "selection"])
        self.assertIn("$slection", str(caught.exception))
        self.assertIn("$file, $selection", str(caught.exception))

    def test_dollar_signs_that_name_nothing_stay(self) -> None:
        self.assertEqual(variables.fill_variables("$5, $$file, $", {"file": str}), "$5, $file, $")

    def test_braces_end_a_name_within_a_word(self) -> None:
        self.assertEqual(variables.fill_variables("${file}s", {"file": lambda: "@a"}), "@as")

    def test_what_stands_in_a_value_is_no_variable(self) -> None:
        self.assertEqual(variables.fill_variables("$file", {"file": lambda: "$file"}), "$file")


class Harmless(unittest.TestCase):
    def test_nothing_in_a_text_ends_the_paste_or_is_taken_for_a_key(self) -> None:
        every = "".join(map(chr, range(0x100))) + "\x1b[201~\r\ud800\r\n"
        made = cli_terminals.make_harmless(every)
        self.assertEqual([c for c in made if ord(c) < 0x20 and c not in "\t\n"], [])
        self.assertEqual([c for c in made if 0x7F <= ord(c) < 0xA0], [])
        made.encode("utf-8")
        self.assertIn("\u241b[201~", made)

    def test_an_ordinary_text_stays_as_it_is(self) -> None:
        text = "\tdef f():\n    return '\u00e9\U0001f600'\n"
        self.assertEqual(cli_terminals.make_harmless(text), text)


class SendCase(DeskCase):
    def setUp(self) -> None:
        super().setUp()
        sublime.set_clipboard("before")
        self.pasted: list[dict[str, Any]] = []
        run = sublime.View.run_command

        def record(on: sublime.View, command: str, args: Any = None) -> None:
            if command == "terminus_paste_text":
                self.pasted.append({"view": on.name(), **args})
            else:
                run(on, command, args)

        self.replace(sublime.View, "run_command", record)
        # What only crosses threads is done at once; what waits for something does.
        later = queues.on_ui_thread
        self.replace(background, "start_work", self.done)
        self.replace(queues, "on_ui_thread", lambda work, ms=0: later(work, ms) if ms else work())

    def done(self, work: Callable[[], Any]) -> Answer[Any]:
        answer: Answer[Any] = Answer()
        answer.give(work())
        return answer

    def terminal(self, name: str, **arguments: Any) -> sublime.View:
        """A tab like one of Terminus, behind the text in front."""
        front = self.window.active_view()
        view = self.window.new_file()
        self.dress(view, name, **arguments)
        if front is not None:
            self.window.focus_view(front)
        return view

    def dress(self, view: sublime.View, name: str, **arguments: Any) -> None:
        view.set_name(name)
        view.set_scratch(True)
        view.settings().set("terminus_view", True)
        view.settings().set("terminus_view.args", arguments)

    def select(self, view: sublime.View, *regions: tuple[int, int]) -> None:
        view.sel().clear()
        for begin, end in regions:
            view.sel().add(sublime.Region(begin, end))

    def text(self) -> str:
        """What was pasted, once."""
        self.assertEqual(len(self.pasted), 1, self.pasted)
        self.assertTrue(self.pasted[0]["bracketed"])
        return str(self.pasted[0]["text"])


class Where(SendCase):
    def test_it_goes_into_the_prompt_of_the_cli_which_gets_the_keyboard(self) -> Steps:
        view = yield from self.open("a.py", "one\ntwo\n")
        terminal = self.terminal("Gemini CLI", cwd=self.folder)
        self.select(view, (0, 7))
        told = self.told()
        self.run_command("send_reference")
        self.assertEqual(self.text(), "@a.py#L1-2 ")
        self.assertEqual(self.window.active_view(), terminal)
        yield lambda: any(cli_terminals.PASTED.format("the reference") in each for each in told)
        self.assertEqual(sublime.get_clipboard(), "before")

    def test_without_a_terminal_it_is_on_the_clipboard_and_that_is_said(self) -> Steps:
        yield from self.open("a.py", "one\n")
        told = self.told()
        self.run_command("send_file")
        # The companion is asked first whether Claude Code takes it.
        yield lambda: sublime.get_clipboard() == f"@{self.folder}/a.py "
        yield lambda: any(cli_terminals.COPIED.format("the file") in each for each in told)
        self.addCleanup(self.window.set_project_data, self.window.project_data())
        maps = [{"local": self.folder, "remote": "/there"}]
        self.window.set_project_data({"settings": {"GeminiCompanion": {"path_maps": maps}}})
        self.run_command("send_file")
        yield lambda: sublime.get_clipboard() == "@/there/a.py "

    def test_of_several_clis_the_user_chooses_one(self) -> Steps:
        yield from self.open("a.py", "one\n")
        self.terminal("\u25c7  Ready (work)", cwd="/work")
        self.terminal("bash", cwd="/")
        self.terminal("shell", cmd=["env", "X=1", "/usr/bin/qwen"], cwd=self.folder)
        panels = self.panels()
        self.run_command("send_file")
        [panel] = panels
        names = [row[0] for row in panel["items"]]
        self.assertEqual(sorted(names[:2]), ["shell", "\u25c7  Ready (work)"])
        self.assertEqual(names[2:], [cli_terminals.CLIPBOARD])
        panel["on_select"](names.index("shell"))
        yield from self.until_turn()
        self.assertEqual(self.pasted[0]["view"], "shell")
        self.assertEqual(self.text(), "@a.py ")

    def test_of_several_clis_the_only_one_in_sight_gets_it(self) -> Steps:
        self.addCleanup(self.window.set_layout, self.window.layout())
        cells = [[0, 0, 1, 1], [1, 0, 2, 1]]
        self.window.set_layout({"cols": [0, 0.5, 1], "rows": [0, 1], "cells": cells})
        self.window.focus_group(1)
        self.terminal("\u25c7  Ready (behind)", cwd="/")
        seen = self.terminal("\u25c7  Ready (seen)", cwd=self.folder)
        self.window.focus_view(seen)
        self.window.focus_group(0)
        yield from self.open("a.py", "one\n")
        panels = self.panels()
        self.run_command("send_file")
        self.assertEqual(panels, [])
        self.assertEqual(self.pasted[0]["view"], "\u25c7  Ready (seen)")

    def test_where_no_terminal_shows_a_cli_nothing_is_pasted_unasked(self) -> Steps:
        yield from self.open("a.py", "one\n")
        self.terminal("bob@host: ~", cmd=["bash"], cwd=self.folder)
        panels = self.panels()
        self.run_command("send_file")
        self.assertEqual(self.pasted, [])
        panels.pop()["on_select"](-1)
        yield from self.until_turn()
        self.assertEqual((self.pasted, sublime.get_clipboard()), ([], "before"))
        self.run_command("send_file")
        panels.pop()["on_select"](1)
        yield lambda: sublime.get_clipboard() == f"@{self.folder}/a.py "
        self.assertEqual(self.pasted, [])
        self.run_command("send_file")
        panels.pop()["on_select"](0)
        yield from self.until_turn()
        self.assertEqual(self.text(), "@a.py ")

    def test_what_else_npx_or_env_starts_is_no_cli(self) -> Steps:
        stored = sublime.load_settings("GeminiCompanion.sublime-settings")
        self.addCleanup(stored.erase, "cli_command")
        yield from self.open("a.py", "one\n")
        for program in ("npx", "env"):
            stored.set("cli_command", [program, "@google/gemini-cli"])
            other = self.terminal(f"{program} vite", cmd=["env", "A=1", program, "vite"])
            ours = self.terminal("shell", cmd=["env", "A=1", program, "@google/gemini-cli"])
            self.assertFalse(cli_terminals.runs_cli(self.window, other))
            self.assertTrue(cli_terminals.runs_cli(self.window, ours))

    def test_a_terminal_that_has_ended_is_none(self) -> Steps:
        yield from self.open("a.py", "one\n")
        self.terminal("Gemini CLI").settings().set("terminus_view.finished", True)
        self.run_command("send_file")
        yield lambda: sublime.get_clipboard() != "before"
        self.assertEqual(self.pasted, [])

    def test_a_terminal_in_a_panel_counts_too(self) -> Steps:
        yield from self.open("a.py", "one\n")
        panel = self.window.create_output_panel("Terminus")
        self.addCleanup(self.window.destroy_output_panel, "Terminus")
        self.dress(panel, "Gemini CLI", cwd=self.folder)
        self.run_command("send_file")
        self.assertEqual(self.text(), "@a.py ")
        self.assertEqual(self.window.active_panel(), "output.Terminus")

    def test_from_a_terminal_the_text_of_another_group_is_meant(self) -> Steps:
        self.addCleanup(self.window.set_layout, self.window.layout())
        cells = [[0, 0, 1, 1], [1, 0, 2, 1]]
        self.window.set_layout({"cols": [0, 0.5, 1], "rows": [0, 1], "cells": cells})
        self.window.focus_group(0)
        yield from self.open("a.py", "one\n")
        self.window.focus_group(1)
        terminal = self.terminal("Gemini CLI", cwd=self.folder)
        self.window.focus_view(terminal)
        self.run_command("send_file")
        self.assertEqual(self.text(), "@a.py ")

    def test_several_lines_go_only_where_a_program_takes_pastes(self) -> Steps:
        view = yield from self.open("a.py", "one\ntwo\n")
        self.terminal("Gemini CLI", cwd=self.folder)
        modes = {"takes": False}

        class Terminal:
            @classmethod
            def from_id(cls, _id: int) -> Any:
                return cls()

            def bracketed_paste_mode_enabled(self) -> bool:
                return modes["takes"]

        module = types.ModuleType(cli_terminals.TERMINUS)
        module.__dict__["Terminal"] = Terminal
        sys.modules[cli_terminals.TERMINUS] = module
        self.addCleanup(sys.modules.pop, cli_terminals.TERMINUS)
        self.select(view, (0, 7))
        told = self.told()
        self.run_command("send_selection")
        self.assertEqual(self.pasted, [])
        self.assertIn("two", sublime.get_clipboard())
        yield lambda: any("does not accept several lines" in each for each in told)
        modes["takes"] = True
        self.window.focus_view(view)
        self.run_command("send_selection")
        self.assertIn("two", self.text())

    def test_a_cli_that_asks_something_is_waited_for(self) -> Steps:
        yield from self.open("a.py", "one\n")
        terminal = self.terminal("\u270b  Action Required (work)      ", cwd=self.folder)
        looks: list[int] = []
        title_of = cli_terminals.title_of
        self.replace(cli_terminals, "title_of", lambda view: looks.append(1) or title_of(view))
        self.run_command("send_file")
        yield lambda: len(looks) > 6
        self.assertEqual(self.pasted, [])
        terminal.set_name("\u25c7  Ready (work)")
        yield lambda: self.pasted
        self.assertEqual(self.text(), "@a.py ")

    def test_one_that_gets_no_answer_takes_no_text_and_that_is_said(self) -> Steps:
        yield from self.open("a.py", "one\n")
        self.terminal("\u270b  Action Required (work)", cwd=self.folder)
        told = self.told()
        self.replace(cli_terminals, "ANSWERED", 1)
        self.run_command("send_file")
        yield lambda: any(cli_terminals.ASKING.format("the file") in each for each in told)
        self.assertEqual((self.pasted, sublime.get_clipboard()), ([], "@a.py "))


@rows("""
    a selection comes as code with the name of its lines
        a.py holds one/two/three and 4-8 is selected | run send_selection
        | the clipboard has @a.py#L2/```python/two/```
    without a selection it is the line of the cursor
        a.py holds one/two/three and 5-5 is selected | run send_selection
        | the clipboard has @a.py#L2/```python/two/``` | run send_reference
        | the clipboard has @a.py#L2
    of several selections each is sent and lone cursors are not
        a.py holds one/two/three/four/five and 0-3,8-8,14-18 is selected | run send_selection
        | the clipboard has @a.py#L1/```python/one/```/@a.py#L4/```python/four/```
        | run send_reference | the clipboard has @a.py#L1 @a.py#L4
    selections of neighbouring lines are one reference
        a.py holds one/two/three and 0-1,2-5,8-9 is selected | run send_reference
        | the clipboard has @a.py#L1-3
    a text without a file is sent and cannot be referred to
        a tab with words is new | run send_selection | the lines below the first are words/```
        | the clipboard is left; run send_reference
        | the user was told: prompt.sending.NO_FILE; the clipboard has before
    of nothing the clipboard is left alone
        a tab with nothing is new | run send_selection
        | the user was told: prompt.sending.NO_SELECTION; the clipboard has before
    one long line is cut too
        a.py holds LONG and 0-100000 is selected | run send_selection
        | the clipboard tells of (83,616 more characters are left out here.): yes
    a file with unsaved changes is said to have them
        a.py is open; two is typed into a.py | run send_file
        | the clipboard has @a.py; the user was told: unsaved changes
    an excluded file is sent only after a question
        .env holds KEY=1 and 0-5 is selected | run send_selection
        | it is asked: prompt.sending.EXCLUDED of .env | the answer is none
        | the clipboard has before | run send_selection; the answer is Do not
        | the clipboard has before | run send_selection; the answer is Send
        | the clipboard tells of .env: yes | the clipboard is left; run send_reference
        | it is asked: prompt.sending.EXCLUDED of .env | the answer is Send
        | the clipboard tells of .env: yes | the clipboard is left; run send_file
        | it is asked: prompt.sending.EXCLUDED of .env | the answer is Send
        | the clipboard tells of .env: yes
    a link to one is one
        harmless.txt is a link to server.key | run send_file
        | it is asked: prompt.sending.EXCLUDED of harmless.txt; the clipboard has before
    open files leave it out and say so
        .env is open; a.py is open | run send_open_files
        | the clipboard tells of /a.py: yes; the clipboard tells of .env: no
        | the user was told: without 1 that are excluded
    a pause asks nothing for the user sends it themselves
        a.py is open; run pause_sharing | run send_file | the clipboard has @a.py; questions: 0
        | run resume_sharing
    words of the users own come with their variables filled in
        a.py holds one and 0-3 is selected | prompted is Explain $reference, it costs $$5
        | the clipboard has Explain @a.py#L1, it costs $5
    an unknown variable sends nothing and is said
        a.py is open | prompted is Explain $slection
        | the user was told: $slection; the clipboard has before
    a prompt without words says what it needs
        a.py is open | run prompt | the user was told: "text"
""")
class What(SendCase):
    """Onto the clipboard, since there is no terminal; the folder of the files is left out."""

    @word(r"(\S+) holds (\S+) and (\S+) is selected")
    def open_selected(self, name: str, words: str, regions: str) -> Steps:
        """Each region as its ends."""
        view = yield from self.open(name, "x" * 100_000 if words == "LONG" else text(words))
        self.by_name[name] = view
        pairs = [each.split("-") for each in regions.split(",")]
        self.select(view, *((int(begin), int(end)) for begin, end in pairs))

    @word(r"a tab with (\S+) is new")
    def new_tab(self, words: str) -> None:
        view = self.window.new_file()
        view.run_command("append", {"characters": "" if words == "nothing" else words})
        view.set_scratch(True)

    @word(r"(\S+) is a link to (\S+)")
    def open_link(self, name: str, target: str) -> Steps:
        os.symlink(self.write(target, "secret\n"), self.at(name))
        view = self.window.open_file(self.at(name))
        yield lambda: not view.is_loading()

    words = {
        "the clipboard is left": lambda t: sublime.set_clipboard("before"),
        "prompted is (.+)": lambda t, words: t.run_command("prompt", text=words),
    }
    seen = {
        "the clipboard has": lambda t: (
            sublime.get_clipboard().replace(t.folder + "/", "").strip().replace("\n", "/")
        ),
        "the lines below the first are": lambda t: "/".join(
            sublime.get_clipboard().splitlines()[1:]
        ),
        r"the clipboard tells of (.+):": lambda t, words: words in sublime.get_clipboard(),
    }

    def test_a_large_selection_is_cut_at_a_line_and_that_is_said_twice(self) -> Steps:
        lines = "".join(f"line {number}\n" for number in range(1, 10_001))
        view = yield from self.open("a.txt", lines)
        self.select(view, (0, view.size()))
        text = self.sent("send_selection")
        self.assertLess(len(text), excerpts.LIMIT + 400)
        self.assertIn("#L1-10000\n", text)
        last = re.findall(r"(?m)^line \d+$", text)[-1]
        self.assertIn(last + "\n", lines)
        missing = len(lines) - len(lines.partition(last)[0]) - len(last)
        self.assertIn(f"({missing:,} more characters are left out here.)", text)
        yield lambda: any(f"{missing:,} more characters" in each for each in self.sentences)

    def test_fences_in_the_code_do_not_end_its_block(self) -> Steps:
        view = yield from self.open("a.md", "```\n````\nx\n")
        self.select(view, (0, view.size()))
        text = self.sent("send_selection")
        self.assertEqual(len(re.findall("(?m)^`{5}", text)), 2)

    def test_open_files_are_those_with_a_tab_each_once(self) -> Steps:
        before = {view.file_name() for view in self.window.views()} - {None}
        yield from self.open("a.py", "one\n")
        yield from self.open("b c.py", "two\n")
        names = read_by_the_cli(self.sent("send_open_files"))
        self.assertEqual(len(names), len(before) + 2)
        self.assertEqual(names[-2:], [f"{self.folder}/a.py", f"{self.folder}/b c.py"])

    def test_build_results_are_the_end_of_what_the_build_said(self) -> Steps:
        panel = self.window.create_output_panel("exec")
        self.addCleanup(self.window.destroy_output_panel, "exec")
        self.assertEqual(self.sent("send_build_results"), "before")
        yield lambda: any(sending.NO_OUTPUT in each for each in self.sentences)
        panel.run_command("append", {"characters": "a.c:1: error\n[Finished]\n"})
        self.assertEqual(self.sent("send_build_results"), "```\na.c:1: error\n[Finished]\n```\n")
        panel.run_command("append", {"characters": "more\n" * 10_000 + "last\n"})
        text = self.sent("send_build_results")
        self.assertTrue(text.endswith("more\nlast\n```\n"))
        self.assertRegex(
            text, r"^\([\d,]+ characters before these are left out here\.\)\n```\nmore\n"
        )

    def test_those_of_the_menu_can_be_filled_in(self) -> None:
        rows = [row for row in table.ROWS if row.list == "prompt"]
        self.assertEqual(len(rows), 5)
        known = sending.Text(self.window, None, ()).variable_values()
        for row in rows:
            with self.subTest(row.caption):
                self.assertTrue(variables.used_names(row.arguments["text"], known))

    def sent(self, name: str) -> str:
        self.run_command(name)
        return sublime.get_clipboard()


class Diagnostics(SendCase):
    """Stand-ins have the names and shapes that the packages have (docs/sublime.md 9.1, 9.2)."""

    def module(self, name: str, **members: Any) -> None:
        module = types.ModuleType(name)
        module.__dict__.update(members)
        sys.modules[name] = module
        self.addCleanup(sys.modules.pop, name, None)

    def lsp(self, reader: str, *found: dict[str, Any]) -> None:
        uris: list[str] = []

        def read(uri: str) -> list[dict[str, Any]]:
            uris.append(uri)
            return list(found)

        storage = types.SimpleNamespace(**{reader: read})
        session = types.SimpleNamespace(diagnostics=storage)
        manager = types.SimpleNamespace(get_sessions=lambda: iter([session]))
        windows = types.SimpleNamespace(lookup=lambda _window: manager)
        self.module(diagnostics.LSP, windows=windows)
        self.module(diagnostics.LSP_URLS, filename_to_uri=lambda path: "file://" + path)
        self.uris = uris

    def linter(self, path: str, *found: dict[str, Any]) -> None:
        self.module(diagnostics.LINTER, file_errors={path: list(found)})

    def found(self, row: int, message: str, **more: Any) -> dict[str, Any]:
        place = {"line": row, "character": 4}
        return {"range": {"start": place, "end": place}, "message": message, **more}

    def test_those_of_servers_and_linters_come_in_the_order_of_the_lines(self) -> Steps:
        view = yield from self.open("a.py", "one\ntwo\nthree\n")
        for reader in ("get_diagnostics_for_uri", "diagnostics_by_document_uri"):
            self.lsp(
                reader,
                self.found(2, "is not\n  defined", severity=1, source="Pyright", code="undefined"),
                self.found(0, "unused", severity=2),
            )
            error = {"line": 1, "start": 0, "error_type": "warning", "code": "E501"}
            self.linter(str(view.file_name()), {**error, "msg": "too long", "linter": "flake8"})
            self.window.focus_view(view)
            self.run_command("send_diagnostics")
            self.assertEqual(
                sublime.get_clipboard().splitlines(),
                [
                    f"@{self.folder}/a.py:",
                    "line 1, column 5: warning: unused",
                    "line 2, column 1: warning: too long (flake8 E501)",
                    "line 3, column 5: error: is not defined (Pyright undefined)",
                ],
            )
            self.assertEqual(self.uris, [f"file://{view.file_name()}"])

    def test_a_selection_asks_for_those_of_its_lines(self) -> Steps:
        view = yield from self.open("a.py", "one\ntwo\nthree\n")
        self.lsp("get_diagnostics_for_uri", self.found(0, "here"), self.found(2, "there"))
        self.select(view, (8, 10))
        self.run_command("send_diagnostics")
        self.assertIn("there", sublime.get_clipboard())
        self.assertNotIn("here\n", sublime.get_clipboard().replace("there", ""))
        self.select(view, (4, 6))
        told = self.told()
        self.run_command("send_diagnostics")
        yield lambda: any("nothing wrong in the selected lines" in each for each in told)

    def test_without_either_package_that_is_said(self) -> Steps:
        yield from self.open("a.py", "one\n")
        told = self.told()
        self.run_command("send_diagnostics")
        yield lambda: any(sending.NO_SOURCES in each for each in told)
        self.assertEqual(sublime.get_clipboard(), "before")

    def test_a_package_that_has_changed_counts_as_silent(self) -> Steps:
        view = yield from self.open("a.py", "one\n")
        self.module(diagnostics.LSP, windows=None)
        self.module(diagnostics.LSP_URLS)
        error = {"line": 0, "start": 0, "error_type": "error", "code": "", "msg": "bad"}
        self.linter(str(view.file_name()), {**error, "linter": "x"})
        self.run_command("send_diagnostics")
        self.assertIn("error: bad (x)", sublime.get_clipboard())

    def test_more_than_fit_are_cut_and_that_is_said(self) -> Steps:
        yield from self.open("a.py", "one\n")
        self.lsp(
            "get_diagnostics_for_uri", *(self.found(0, f"m{n} " + "x" * 90) for n in range(1000))
        )
        self.run_command("send_diagnostics")
        text = sublime.get_clipboard()
        self.assertLess(len(text), excerpts.LIMIT + 400)
        self.assertRegex(text, r"\(\d+ more diagnostics are left out here\.\)\n$")
        told = self.told()
        self.run_command("send_diagnostics")
        yield lambda: any("more diagnostics that did not fit" in each for each in told)
