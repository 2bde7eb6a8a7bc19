"""Settings: layers, copies, callbacks, files."""

from __future__ import annotations

import json
import os

from .engine import EngineTestCase


class SettingsLayers(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.view = self.view_with("")

    def test_a_view_sees_the_preferences_through_its_own_values(self) -> None:
        settings = self.view.settings()
        self.assertEqual(settings.get("tab_size"), 4)
        settings.set("tab_size", 2)
        self.assertEqual((settings.get("tab_size"), settings["tab_size"]), (2, 2))
        settings.erase("tab_size")
        self.assertEqual(settings.get("tab_size"), 4)

    def test_a_default_counts_only_where_the_key_is_missing(self) -> None:
        settings = self.view.settings()
        settings.set("empty", None)
        self.assertEqual((settings.get("gone", 7), settings.get("empty", 7)), (7, None))
        with self.assertRaises(KeyError):
            settings["gone"]

    def test_values_are_copies_as_json_on_the_way_in_and_out(self) -> None:
        settings = self.view.settings()
        value = [1]
        settings["list"] = value
        value.append(2)
        settings.get("list").append(3)
        self.assertEqual(settings.get("list"), [1])
        settings.set("x", (1, (2,)))
        self.assertEqual(settings.get("x"), [1, [2]])
        self.assertRaises(TypeError, settings.set, "x", object())

    def test_callbacks_hear_of_any_key_until_their_tag_is_cleared(self) -> None:
        settings, heard = self.view.settings(), []  # type: ignore[var-annotated]
        settings.add_on_change("tag", lambda: heard.append(1))
        settings.set("a", 1)
        settings.set("a", 1)
        settings.erase("a")
        self.settle()
        self.assertEqual(len(heard), 2)
        settings.clear_on_change("tag")
        settings.set("a", 2)
        self.settle()
        self.assertEqual(len(heard), 2)

    def test_a_view_hears_when_the_preferences_change_until_it_is_closed(self) -> None:
        heard: list[int] = []
        settings = self.view.settings()
        preferences = self.sublime.load_settings("Preferences.sublime-settings")
        settings.add_on_change("tag", lambda: heard.append(1))
        preferences.set("tab_size", 8)
        self.settle()
        self.assertEqual((heard, settings.get("tab_size")), ([1], 8))
        self.view.set_scratch(True)
        self.view.close()
        self.settle()
        heard.clear()
        preferences.set("tab_size", 6)
        self.settle()
        self.assertEqual((heard, settings.get("tab_size")), ([], 6))

    def test_one_name_is_one_object_and_users_values_win(self) -> None:
        self.write_package("Toy", {"Toy.sublime-settings": '{"a": 1, "b": 1, // no\n}'})
        self.write_package("User", {"Toy.sublime-settings": '{"b": 2}'})
        first = self.sublime.load_settings("Toy.sublime-settings")
        self.assertEqual((first.get("a"), first.get("b")), (1, 2))
        first.set("c", 3)
        self.assertEqual(self.sublime.load_settings("Toy.sublime-settings").get("c"), 3)

    def test_saved_settings_hold_what_differs_from_the_packages(self) -> None:
        self.write_package("Toy", {"Toy.sublime-settings": '{"a": 1, "b": 1}'})
        self.sublime.load_settings("Toy.sublime-settings").set("b", 5)
        self.sublime.save_settings("Toy.sublime-settings")
        path = os.path.join(self.sublime.packages_path(), "User", "Toy.sublime-settings")
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file), {"b": 5})

    def test_a_settings_object_reads_like_a_dict(self) -> None:
        settings = self.view.settings()
        settings.update({"x": 1}, y=2)
        self.assertEqual((settings.setdefault("x", 9), "y" in settings), (1, True))
        del settings["y"]
        self.assertEqual(("y" in settings, settings.to_dict()["x"]), (False, 1))
