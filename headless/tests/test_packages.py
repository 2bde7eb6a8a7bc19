"""Packages: folders, archives, overrides, resources, menus."""

from __future__ import annotations

import os
import sys
import threading
import zipfile
from typing import Any

from .engine import EngineTestCase, wait_until


class Packages(EngineTestCase):
    def archive(self, name: str, files: dict[str, str]) -> Any:
        path = os.path.join(self.data, "Installed Packages", name + ".sublime-package")
        with zipfile.ZipFile(path, "w") as archive:
            for member, text in files.items():
                archive.writestr(member, text)
        package = self.editor.packages.at(path)
        self.editor.packages.add(package)
        return package

    def test_a_package_in_an_archive_is_imported_and_its_resources_loaded_from_there(self) -> None:
        source = "from .inner.words import WORD\ndef plugin_loaded():\n"
        source += "    text = sublime.load_resource('Packages/Zipped/a/b.txt')\n"
        source += "    LOG.append((WORD, __file__, text))\n"
        files = {"inner/__init__.py": "", "inner/words.py": "WORD = 'zip'\n", "a/b.txt": "resource"}
        package = self.archive("Zipped", {"plugin.py": self.head() + source, **files})
        self.editor.ui(self.editor.plugins.load, package)
        word, path, resource = self.log[0]
        self.assertEqual((word, resource), ("zip", "resource"))
        self.assertFalse(os.path.exists(path))
        self.assertIn("Zipped.sublime-package", path)
        self.assertEqual(self.sublime.find_resources("b.txt"), ["Packages/Zipped/a/b.txt"])

    def test_a_folder_of_the_same_name_overrides_the_archive(self) -> None:
        files = {"text.txt": "archive", "words.py": "WORD = 'archive'\n"}
        self.archive("Over", {**files, "other.txt": "archive"})
        over = {path: text.replace("archive", "override") for path, text in files.items()}
        self.write_package("Over", over)
        self.assertEqual(self.sublime.load_resource("Packages/Over/text.txt"), "override")
        self.assertEqual(self.sublime.load_binary_resource("Packages/Over/other.txt"), b"archive")
        self.assertEqual(__import__("Over.words").words.WORD, "override")

    def test_a_resource_that_is_not_there_is_a_file_not_found(self) -> None:
        for name in ("Packages/Toy/no.txt", "Packages/No/no.txt", "no.txt"):
            with self.assertRaises(FileNotFoundError):
                self.sublime.load_resource(name)

    def test_the_editors_own_settings_are_a_resource_of_default(self) -> None:
        name = "Packages/Default/Preferences.sublime-settings"
        self.assertIn(name, self.sublime.find_resources("Preferences.sublime-settings"))
        self.assertEqual(self.sublime.decode_value(self.sublime.load_resource(name))["tab_size"], 4)
        with self.assertRaises(FileNotFoundError):
            self.sublime.load_resource("Packages/Default/preferences.jsonc")

    def test_packages_come_in_order_with_default_first_and_user_last(self) -> None:
        names = [package.name for package in self.editor.packages.ordered()]
        self.assertEqual(names, ["Default", "Color Scheme - Default", "Toy", "User"])

    def test_palette_menu_and_keys_are_read_with_comments(self) -> None:
        files = {
            "Default.sublime-commands": '[{"caption": "Toy", "command": "toy"}, // one\n]',
            "Main.sublime-menu": '[{"id": "preferences", "children": []}]',
            "Default.sublime-keymap": '[/* {"keys": ["a"]} */]',
        }
        self.write_package("Toy", files)
        packages = self.editor.packages
        self.assertEqual(packages.palette(), [{"caption": "Toy", "command": "toy"}])
        self.assertEqual(packages.menu()[0]["id"], "preferences")
        self.assertEqual(packages.key_bindings(), [])

    def test_a_path_that_is_no_package_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "expected a folder"):
            self.editor.packages.at(self.file("no.zip"))

    def test_edit_settings_opens_defaults_and_the_users_file_side_by_side(self) -> None:
        self.write_package("Toy", {"Toy.sublime-settings": "{}"})
        base = {"base_file": "${packages}/Toy/Toy.sublime-settings"}
        self.window.run_command("edit_settings", {**base, "default": "{\n\t$0\n}\n"})
        self.settle()
        window = self.sublime.active_window()
        left, right = (window.active_view_in_group(group) for group in (0, 1))
        self.assertNotEqual(window, self.window)
        self.assertEqual((self.text(left), left.is_read_only()), ("{}", True))
        users = os.path.join(self.sublime.packages_path(), "User", "Toy.sublime-settings")
        self.assertEqual(right.file_name(), users)
        self.assertEqual(self.text(right), "{\n\t\n}\n")

    def test_saving_a_users_settings_file_changes_the_settings(self) -> None:
        users = os.path.join(self.sublime.packages_path(), "User")
        view = self.window.open_file(os.path.join(users, "Preferences.sublime-settings"))
        view.run_command("append", {"characters": '{"tab_size": 3}'})
        view.run_command("save")
        self.assertEqual(view.settings().get("tab_size"), 3)

    def watch(self) -> None:
        """Let the editor look at the disk every few milliseconds."""
        self.editor.switches.watch_seconds = 0.01
        threading.Thread(target=self.editor.watch_files, daemon=True).start()

    def test_a_settings_file_edited_on_disk_is_read_again(self) -> None:
        settings = self.sublime.load_settings("Toy.sublime-settings")
        settings.add_on_change("tag", lambda: self.log.append(settings.get("a")))
        self.watch()
        for number, name in ((1, "Toy"), (2, "User")):
            self.write_package(name, {"Toy.sublime-settings": f'{{"a": {number}}}'})
            wait_until(lambda n=number: self.log[-1:] == [n])  # type: ignore[misc]
        os.remove(os.path.join(self.data, "Packages", "User", "Toy.sublime-settings"))
        wait_until(lambda: self.log[-1:] == [1])

    def test_settings_in_memory_stay_when_another_file_is_edited(self) -> None:
        ours = self.sublime.load_settings("Toy.sublime-settings")
        ours.set("a", 5)
        other = self.sublime.load_settings("Other.sublime-settings")
        self.write_package("User", {"Other.sublime-settings": '{"b": 1}'})
        self.editor.ui(self.editor.check_packages)
        self.assertEqual((ours.get("a"), other.get("b")), (5, 1))

    def test_resources_and_packages_that_come_while_it_runs_are_found(self) -> None:
        self.write_package("Toy", {"new.txt": "1"})
        self.write_package("Later", {"sub/more.txt": "2", "no.py.txt": ""})
        self.write_package("Toy", {"New2.txt": "", "old.txt": ""})
        found = [
            resource
            for resource in self.sublime.find_resources("*.txt")
            if resource.startswith("Packages/T")
        ]
        names = ("new.txt", "New2.txt", "old.txt")
        self.assertEqual(found, ["Packages/Toy/" + name for name in names])
        self.assertEqual(self.sublime.load_resource("Packages/Toy/new.txt"), "1")
        self.assertIn("Packages/Later/no.py.txt", self.sublime.find_resources(""))
        self.assertEqual(self.sublime.load_resource("Packages/Later/sub/more.txt"), "2")
        self.assertEqual(self.sublime.find_resources("more.txt"), ["Packages/Later/sub/more.txt"])

    def test_a_file_that_comes_into_a_folder_nobody_wrote_to_for_long_is_found(self) -> None:
        self.write_package("Old", {"deep/one.txt": "one"})
        deep = os.path.join(self.data, "Packages", "Old", "deep")
        os.utime(deep, (1, 1))
        found = [self.sublime.find_resources("*.txt") for _twice in range(2)]
        self.assertEqual(found, [["Packages/Old/deep/one.txt"]] * 2)
        for name in ("two.txt", "three.txt"):
            with open(os.path.join(deep, name), "w"):
                pass
            self.assertIn("Packages/Old/deep/" + name, self.sublime.find_resources("*.txt"))
        os.remove(os.path.join(deep, "one.txt"))
        self.assertNotIn("Packages/Old/deep/one.txt", self.sublime.find_resources("*.txt"))

    def test_a_package_that_comes_is_loaded_and_one_that_goes_is_unloaded(self) -> None:
        self.watch()
        source = self.head() + "def plugin_loaded():\n    LOG.append('came')\n"
        source += "def plugin_unloaded():\n    LOG.append('went')\n"
        path = os.path.join(self.data, "Installed Packages", "Later.sublime-package")
        with zipfile.ZipFile(path + ".part", "w") as archive:
            archive.writestr("plugin.py", source)
            archive.writestr("some.txt", "text")
        os.rename(path + ".part", path)
        wait_until(lambda: self.log[-1:] == ["came"])
        self.assertEqual(self.sublime.load_resource("Packages/Later/some.txt"), "text")
        os.remove(path)
        wait_until(lambda: self.log[-1:] == ["went"])
        with self.assertRaises(FileNotFoundError):
            self.sublime.load_resource("Packages/Later/some.txt")

    def test_a_package_is_unloaded_while_it_is_ignored(self) -> None:
        source = "def plugin_loaded():\n    LOG.append('loaded')\n"
        source += "def plugin_unloaded():\n    LOG.append('unloaded')\n"
        self.write_package("Later", {"plugin.py": self.head() + source})
        self.editor.ui(self.editor.check_packages)
        preferences = self.sublime.load_settings("Preferences.sublime-settings")
        preferences.set("ignored_packages", ["Later"])
        self.settle()
        self.assertEqual(self.log, ["loaded", "unloaded"])
        preferences.set("ignored_packages", [])
        self.settle()
        self.assertEqual(self.log, ["loaded", "unloaded", "loaded"])

    def test_a_library_comes_before_a_folder_of_its_name(self) -> None:
        packages = self.editor.packages
        self.write_package("both", {"inside.py": ""})
        packages.refresh()
        self.assertIsNotNone(packages.finder.find_spec("both"))
        os.makedirs(os.path.join(packages.library_folder(), "both"))
        self.assertIsNone(packages.finder.find_spec("both"))

    def test_one_interpreter_is_shared_by_all_packages(self) -> None:
        source = "import os\nos.environ['HEADLESS_RUDE'] = 'yes'\n"
        self.write_package("Rude", {"plugin.py": self.head() + source})
        self.addCleanup(os.environ.pop, "HEADLESS_RUDE", None)
        package = self.editor.packages.at(os.path.join(self.data, "Packages", "Rude"))
        self.editor.packages.add(package)
        self.editor.ui(self.editor.plugins.load, package)
        self.assertEqual(os.environ["HEADLESS_RUDE"], "yes")
        self.assertIn("Rude.plugin", sys.modules)
