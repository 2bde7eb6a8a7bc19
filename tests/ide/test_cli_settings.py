from __future__ import annotations

import os
import stat
import sys
import tempfile
import unittest
from unittest import mock

from GeminiCompanion.companion.ide.cli_settings import (
    CannotChange,
    apply_change,
    enabling_change,
    path_of,
    read_settings,
)
from GeminiCompanion.companion.ide.clis import CLIS, GEMINI_CLI, LLXPRT, QWEN_CODE

ENABLED = ("ide", "enabled")


class CliSettings(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = os.path.realpath(folder.name)
        self.path = path_of(GEMINI_CLI, {}, self.home)

    def write(self, text: str | bytes) -> None:
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)

    def content(self, path: str = "") -> bytes:
        with open(path or self.path, "rb") as file:
            return file.read()

    def enable(self) -> str:
        return apply_change(enabling_change(GEMINI_CLI, self.path))

    def assertRefused(self, words: str) -> None:
        before = self.content()
        with self.assertRaises(CannotChange) as caught:
            self.enable()
        self.assertIn(words, str(caught.exception))
        self.assertEqual(self.content(), before)
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["settings.json"])

    def test_every_cli_has_its_file(self) -> None:
        homes = {"XDG_CONFIG_HOME": "/x", "GEMINI_CLI_HOME": "/g"}
        paths = [path_of(cli, {}, "/h") for cli in CLIS]
        self.assertEqual(paths[:2], ["/h/.gemini/settings.json", "/h/.qwen/settings.json"])
        self.assertEqual(path_of(GEMINI_CLI, homes, "/h"), "/g/.gemini/settings.json")
        self.assertEqual(path_of(QWEN_CODE, {"QWEN_HOME": "/q"}, "/h"), "/q/settings.json")
        self.assertEqual(path_of(LLXPRT, homes, "/h"), "/x/llxprt-code/settings.json")

    def test_a_missing_file_is_made_for_this_user_only(self) -> None:
        change = enabling_change(GEMINI_CLI, self.path)
        self.assertEqual(change.lines, ('"ide.enabled": true', '"ide.hasSeenNudge": true'))
        self.assertEqual(apply_change(change), "")
        text = '{\n  "ide": {\n    "enabled": true,\n    "hasSeenNudge": true\n  }\n}\n'
        self.assertEqual(self.content().decode(), text)
        if sys.platform != "win32":
            self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)

    def test_other_clis_have_other_names(self) -> None:
        path = path_of(LLXPRT, {}, self.home)
        apply_change(enabling_change(LLXPRT, path))
        found = read_settings(path).values
        self.assertEqual(found, {"ui": {"ideMode": True}, "hasSeenIdeIntegrationNudge": True})

    def test_comments_line_ends_and_form_stay(self) -> None:
        before = b'{\r\n\t// dark\r\n\t"ui": {"theme": "x"}, /* y */\r\n\t"ide": {} // off\r\n}'
        after = (
            b'{\r\n\t// dark\r\n\t"ui": {"theme": "x"}, /* y */\r\n\t"ide": {\r\n'
            b'\t\t"enabled": true,\r\n\t\t"hasSeenNudge": true\r\n\t} // off\r\n}'
        )
        self.write(before)
        self.enable()
        self.assertEqual(self.content(), after)

    def test_what_the_cli_stops_at_goes_and_is_said(self) -> None:
        self.write('\ufeff{"a": [1,], // one\n}')
        self.assertEqual(read_settings(self.path).unread, 3)
        change = enabling_change(GEMINI_CLI, self.path)
        self.assertEqual(len(change.lines), 4)
        apply_change(change)
        found = read_settings(self.path)
        self.assertEqual((found.unread, found.value(ENABLED)), (0, True))
        self.assertIn(b"// one", self.content())

    def test_the_file_of_before_stands_beside_it_and_is_never_replaced(self) -> None:
        self.write('{"a": 1}')
        first = self.enable()
        self.write('{"a": 2}')
        second = self.enable()
        self.assertEqual(self.content(first), b'{"a": 1}')
        self.assertEqual(self.content(second), b'{"a": 2}')
        self.assertEqual(os.path.dirname(first), os.path.dirname(self.path))

    @unittest.skipIf(sys.platform == "win32", "Windows has no modes")
    def test_the_mode_stays(self) -> None:
        self.write("{}")
        os.chmod(self.path, 0o640)
        backup = self.enable()
        modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (self.path, backup)]
        self.assertEqual(modes, [0o640, 0o640])

    @unittest.skipIf(sys.platform == "win32", "links need rights there")
    def test_links_stay_links(self) -> None:
        real = os.path.join(self.home, "dotfiles.json")
        with open(real, "w", encoding="utf-8") as file:
            file.write("{}")
        os.mkdir(os.path.dirname(self.path))
        os.symlink(os.path.join("..", "dotfiles.json"), self.path)
        self.enable()
        self.assertTrue(os.path.islink(self.path))
        self.assertIs(read_settings(real).value(ENABLED), True)

    @unittest.skipIf(sys.platform == "win32", "links need rights there")
    def test_a_link_that_leads_nowhere_leads_to_the_new_file(self) -> None:
        os.mkdir(os.path.dirname(self.path))
        os.symlink(os.path.join(self.home, "new", "settings.json"), self.path)
        self.assertEqual(self.enable(), "")
        self.assertTrue(os.path.islink(self.path))
        self.assertIs(read_settings(self.path).value(ENABLED), True)

    def test_a_broken_file_is_not_touched_and_its_line_is_told(self) -> None:
        self.write('{\n  "a": 1\n  "b": 2\n}')
        self.assertRefused(f"{self.path}, line 3: expected")
        self.assertIn("line 3", read_settings(self.path).problem)

    def test_what_is_no_object_is_not_touched(self) -> None:
        for text, words in (("[]", "line 1"), ('{\n"ide": null}', 'line 2: "ide" has to be')):
            with self.subTest(text):
                self.write(text)
                self.assertRefused(words)

    def test_an_empty_file_is_filled_and_known_as_broken_before(self) -> None:
        self.write("")
        self.assertIn("empty", read_settings(self.path).problem)
        self.enable()
        self.assertIs(read_settings(self.path).value(ENABLED), True)

    def test_other_encodings_are_not_touched(self) -> None:
        self.write('{\n"a": "\xfc"}'.encode("latin-1"))
        self.assertRefused("line 2: expected UTF-8")
        self.assertIn("UTF-8", read_settings(self.path).problem)

    def test_a_read_only_file_is_not_touched(self) -> None:
        self.write("{}")
        os.chmod(self.path, 0o444)
        self.addCleanup(os.chmod, self.path, 0o644)
        self.assertRefused("is read-only")

    def test_a_folder_in_its_place_is_told(self) -> None:
        os.makedirs(self.path)
        self.assertIn("should be a file", read_settings(self.path).problem)
        with self.assertRaises(CannotChange):
            self.enable()

    def test_a_file_that_changes_before_the_answer_is_not_written(self) -> None:
        self.write("{}")
        change = enabling_change(GEMINI_CLI, self.path)
        self.write('{"a": 1}')
        with self.assertRaises(CannotChange) as caught:
            apply_change(change)
        self.assertIn("has changed meanwhile", str(caught.exception))
        self.assertEqual(self.content(), b'{"a": 1}')

    def test_a_disk_that_fails_leaves_the_file_and_nothing_half_written(self) -> None:
        self.write("{}")
        change = enabling_change(GEMINI_CLI, self.path)
        failing = mock.patch("os.fsync", side_effect=OSError(28, "No space left on device"))
        with failing, self.assertRaises(CannotChange) as caught:
            apply_change(change)
        self.assertIn("No space left on device", str(caught.exception))
        self.assertEqual(self.content(), b"{}")
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["settings.json"])

    def test_enabling_twice_changes_nothing(self) -> None:
        self.write("{}")
        self.enable()
        change = enabling_change(GEMINI_CLI, self.path)
        self.assertEqual((change.lines, change.after), ((), change.before))
