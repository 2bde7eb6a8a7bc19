"""The files of the package that are no code, and what they say of each other."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import unittest
from typing import Any

from GeminiCompanion.headless.commands import command_name
from GeminiCompanion.headless.values import parse

from .command_table import FOLDER, OPENER, Entry, internal, lists, palette, rows

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILT_IN = {"edit_settings"}
PREFIX = "Gemini Companion: "
# More than that nobody reads through.
IN_PALETTE = 45
# No file may name the hosts that packages come from.
REGISTRIES = ("registry." + "npmjs", "files." + "pythonhosted", "deb." + "debian")


def read(name: str) -> str:
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def tracked(test: unittest.TestCase) -> list[str]:
    """The committed files, with forward slashes."""
    if not os.path.exists(os.path.join(ROOT, ".git")):
        test.skipTest("a copy without its history does not say which files are tracked")
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return names.stdout.decode().splitlines()


def commands(value: Any) -> list[dict[str, Any]]:
    """Every entry with a command, of a list or of a menu's tree."""
    found = [value] if isinstance(value, dict) and "command" in value else []
    children = value.get("children", []) if isinstance(value, dict) else value
    return found + [entry for child in children for entry in commands(child)]


def entries(value: Any) -> list[Entry]:
    """The entries with a command of ours, of a list or of a menu's tree."""
    return [
        Entry(entry["caption"], entry["command"], entry.get("args", {}))
        for entry in commands(value)
        if entry["command"] not in BUILT_IN
    ]


def folders(menu: Any) -> dict[str, list[Entry]]:
    """The entries of each folder of a menu, by its caption."""
    children = menu.get("children", []) if isinstance(menu, dict) else menu
    found = {
        child["caption"]: entries(child)
        for child in children
        if "children" in child and "caption" in child
    }
    for child in children:
        found.update(folders(child) if "children" in child else {})
    return found


def known() -> set[str]:
    """The commands that Sublime finds in plugin.py."""
    return {row.entry.command for row in rows()} | {*internal(), OPENER}


def on_diffs() -> set[str]:
    """The commands that are done with a diff, by the names of their classes."""
    body = ast.parse(read("companion/ui/commands/diff_commands.py")).body
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for node in body
        if isinstance(node, ast.ClassDef)
    }
    kinds = {"GeminiCompanionDiffCommand", "GeminiCompanionChangeCommand"}
    return {name for name, its in bases.items() if its & kinds} - kinds


class Resources(unittest.TestCase):
    def test_the_table_has_each_class_of_a_command(self) -> None:
        names = [name for name in os.listdir(FOLDER) if name.endswith(".py")]
        body = [node for name in names for node in ast.parse(read(os.path.join(FOLDER, name))).body]
        found = [node for node in body if isinstance(node, ast.ClassDef)]
        bases = {base.id for node in found for base in node.bases if isinstance(base, ast.Name)}
        made = {node.name for node in found if node.name not in bases}
        ours = {command_name(name) for name in made if name.startswith("GeminiCompanion")}
        self.assertEqual(known(), ours)

    def test_the_palette_has_what_the_table_says(self) -> None:
        found = entries(parse(read("Default.sublime-commands")))
        wanted = [entry._replace(caption=PREFIX + entry.caption) for entry in palette()]
        self.assertEqual(found, wanted)

    def test_the_palette_is_short(self) -> None:
        self.assertLessEqual(len(parse(read("Default.sublime-commands"))), IN_PALETTE)

    def test_the_caption_of_a_list_has_the_words_of_its_commands_in_their_order(self) -> None:
        """So the palette finds it by the name of each."""
        captions = lists()
        for entry, name in rows():
            if name:
                with self.subTest(entry.caption):
                    words = iter(re.findall(r"\w+", captions[name]))
                    self.assertTrue(all(word in words for word in entry.caption.split()))

    def test_the_menu_has_each_command_of_the_table_once_and_each_list_as_a_folder(self) -> None:
        menu = parse(read("Main.sublime-menu"))
        self.assertEqual(
            sorted(entries(menu), key=str), sorted((row.entry for row in rows()), key=str)
        )
        found = folders(menu)
        for name, caption in lists().items():
            with self.subTest(name):
                self.assertEqual(found[caption], [row.entry for row in rows() if row.list == name])

    def test_settings_and_key_bindings_open_through_palette_and_menu(self) -> None:
        both = ["GeminiCompanion.sublime-settings", "Default.sublime-keymap"]
        for name, more in (
            ("Default.sublime-commands", []),
            ("Main.sublime-menu", ["Context.sublime-menu"]),
        ):
            opened = [
                entry["args"]["base_file"].rpartition("/")[2]
                for entry in commands(parse(read(name)))
                if entry["command"] == "edit_settings"
            ]
            self.assertEqual(opened, both + more)

    def test_the_right_mouse_button_has_no_entries_but_suggestions_of_commands_that_exist(
        self,
    ) -> None:
        text = read("Context.sublime-menu")
        self.assertEqual(parse(text), [])
        suggested = commands(parse(re.sub(r"(?m)^(\s*)// (?={)", r"\1", text)))
        self.assertGreaterEqual(len(suggested), 2)
        for entry in suggested:
            self.assertIn(entry["command"], known())

    def test_keys_are_bound_in_chats_alone_and_suggested_for_every_command_on_a_diff(self) -> None:
        text = read("Default.sublime-keymap")
        # One that Sublime answers without the package, which would be asked at each key.
        first = {"key": "setting.gemini_companion_is_chat"}
        self.assertTrue(all(entry["context"][0] == first for entry in parse(text)))
        found = {entry["context"][1]["key"] for entry in parse(text)}
        ours = ("in_chat", "in_transcript", "said_before")
        self.assertEqual(found, {f"gemini_companion_{name}" for name in ours})
        # Nobody types one of these into a message.
        keys = {binding["keys"][0] for binding in parse(text)}
        self.assertEqual(keys - {"ctrl+enter", "f8", "up", "down", "<character>"}, set())
        entries = parse(re.sub(r"(?m)^(\s*)// (?=[{}\t])", r"\1", text))
        self.assertEqual(len({str(entry["keys"]) for entry in entries}), len(entries))
        self.assertLessEqual({entry["command"] for entry in entries}, known())
        waits = [{"key": "gemini_companion_diff_waits"}]
        limited = {entry["command"] for entry in entries if entry.get("context") == waits}
        self.assertEqual(limited, {command_name(name) for name in on_diffs()})

    def test_command_and_enter_send_on_a_mac_as_control_and_enter_do_everywhere(self) -> None:
        (ours,) = parse(read("Default (OSX).sublime-keymap"))
        others = {binding["keys"][0]: binding for binding in parse(read("Default.sublime-keymap"))}
        self.assertEqual(ours, {**others["ctrl+enter"], "keys": ["super+enter"]})

    def test_the_table_of_keys_has_each_suggestion_and_no_other(self) -> None:
        text = read("Default.sublime-keymap")
        found = parse(re.sub(r"(?m)^(\s*)// (?=[{}\t])", r"\1", text))[len(parse(text)) :]
        captions = {row.entry.command: row.entry.caption for row in reversed(rows())}
        suggested = {
            (binding["keys"][1].title(), captions[binding["command"]]) for binding in found
        }
        told = re.findall(r"`([^`|]+)` \| \*([^*|]+)\* ", read("docs/commands.md"))
        self.assertEqual({(key.title(), name) for key, name in told}, suggested)

    def test_every_setting_is_explained_where_it_stands(self) -> None:
        text = read("GeminiCompanion.sublime-settings")
        for key in parse(text):
            with self.subTest(key):
                self.assertRegex(text, rf'//[^\n]*\n\t"{key}"')

    def test_the_python_version_is_the_one_that_every_host_maps(self) -> None:
        self.assertEqual(read(".python-version").strip(), "3.8")

    def test_a_linked_checkout_gives_the_editor_the_resources_of_its_root_only(self) -> None:
        # Sublime merges such files from every folder of a package, those of the tools, too.
        merged = re.compile(r"\.(sublime|hidden)-\w+$|\.tm[A-Z]\w+$")
        for name in tracked(self):
            if "/" in name:
                with self.subTest(name):
                    self.assertNotRegex(name, merged)

    def test_no_tracked_file_names_a_registry_or_a_path_of_this_machine(self) -> None:
        for name in tracked(self):
            path = os.path.join(ROOT, name)
            if os.path.isfile(path) and not name.endswith(".png"):
                text = read(name)
                for word in (*REGISTRIES, ROOT + "/"):
                    self.assertNotIn(word, text, name)
