"""Where the editor lives, told by values of every kind of place."""

from __future__ import annotations

import unittest
from typing import Any

from GeminiCompanion.companion.ide.surroundings import (
    FLATPAK_INFO,
    MOUNTS,
    Machine,
    Surrounding,
    find_surroundings,
)

INFO = """[Application]
name=com.sublimehq.SublimeText
runtime=runtime/org.freedesktop.Sdk/x86_64/26.08

[Context]
shared=network;ipc;
filesystems={}
"""
# As the kernel tells of a /tmp that snapd made, and of an ordinary one.
SNAPPED = "1 2 0:39 /tmp/snap-private-tmp/snap.sublime-text/tmp /tmp rw - tmpfs tmpfs rw\n"
ORDINARY = "1 2 0:39 / /tmp rw,nosuid - tmpfs tmpfs rw\n"


class Surroundings(unittest.TestCase):
    def of(self, platform: str = "linux", **values: Any) -> Surrounding:
        (found,) = find_surroundings(Machine(platform, **values))
        return found

    def test_an_ordinary_desktop_has_nothing_special(self) -> None:
        for platform in ("linux", "darwin", "win32"):
            place = Machine(platform, {"HOME": "/home/me"}, {MOUNTS: ORDINARY}, ("/p", "C:\\p"))
            self.assertEqual(find_surroundings(place), ())

    def test_a_flatpak_with_a_tmp_of_its_own_is_told_how_to_share_it(self) -> None:
        found = self.of(files={FLATPAK_INFO: INFO.format("host;")})
        self.assertIn("Flatpak", found.problem)
        self.assertIn(
            "flatpak override --user --filesystem=/tmp com.sublimehq.SublimeText", found.remedy
        )

    def test_the_remedy_names_the_application_as_it_is_called_here(self) -> None:
        info = INFO.format("host;").replace("com.sublimehq.SublimeText", "org.example.Text")
        self.assertIn("/tmp org.example.Text", self.of(files={FLATPAK_INFO: info}).remedy)

    def test_a_flatpak_that_shares_tmp_is_no_problem(self) -> None:
        for granted in ("host;/tmp;", "/tmp:rw;host;", "/tmp"):
            found = self.of(files={FLATPAK_INFO: INFO.format(granted)})
            self.assertEqual((found.problem, found.remedy), ("", ""))

    def test_a_flatpak_that_shares_something_like_tmp_is_one(self) -> None:
        for granted in ("/tmp/x;", "/var/tmp;", ""):
            self.assertTrue(self.of(files={FLATPAK_INFO: INFO.format(granted)}).problem)

    def test_with_a_folder_that_both_sides_see_it_is_no_problem(self) -> None:
        place: dict[str, Any] = {
            "files": {FLATPAK_INFO: INFO.format("host;")},
            "extra_folder": "/home/me/seen",
        }
        self.assertEqual(self.of(**place).problem, "")

    def test_a_classic_snap_is_no_problem(self) -> None:
        found = self.of(environment={"SNAP_NAME": "sublime-text"}, files={MOUNTS: ORDINARY})
        self.assertEqual((found.name, found.problem), ("Sublime Text is a snap", ""))

    def test_a_snap_with_a_tmp_of_its_own_is_one(self) -> None:
        found = self.of(environment={"SNAP_NAME": "sublime-text"}, files={MOUNTS: SNAPPED})
        self.assertIn("/tmp of its own", found.problem)
        self.assertIn("classic", found.remedy)

    def test_a_folder_of_a_linux_within_windows_is_told(self) -> None:
        for folder in ("\\\\wsl$\\Ubuntu\\home\\me", "\\\\WSL.localhost\\Debian\\p"):
            found = self.of("win32", folders=("C:\\p", folder))
            self.assertIn("Windows Subsystem for Linux", found.problem)
            self.assertIn("Sublime Text for Linux", found.remedy)

    def test_an_editor_within_that_linux_is_no_problem(self) -> None:
        self.assertEqual(self.of(environment={"WSL_DISTRO_NAME": "Ubuntu"}).problem, "")
