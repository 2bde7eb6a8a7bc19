"""The open files of a window as the CLI is told of them."""

from __future__ import annotations

import os
import tempfile
import unittest
from typing import Any

from GeminiCompanion.companion.ide.context import (
    MAX_FILES,
    MISSING,
    OLDER,
    ContextStore,
    Cursor,
    OpenFile,
)
from GeminiCompanion.companion.ide.sharing import EXCLUDED, OUTSIDE, PAUSED, Sharing


class ContextTestCase(unittest.TestCase):
    """`self.now` is the clock, `self.missing` the paths that do not exist."""

    def setUp(self) -> None:
        self.now = 1000
        self.missing: set[str] = set()
        self.store = ContextStore(lambda: self.now, lambda path: path not in self.missing)

    def focus(self, view_id: int, path: str, **more: Any) -> None:
        self.now += 10
        self.store.focus(OpenFile(view_id, path, **more))

    def paths(self) -> list[str]:
        return [entry["path"] for entry in self.store.open_files()]


class Order(ContextTestCase):
    def test_a_window_without_files_has_an_empty_list(self) -> None:
        self.assertEqual(self.store.open_files(), [])

    def test_the_newest_focus_comes_first(self) -> None:
        for view_id, path in ((1, "/a"), (2, "/b"), (3, "/c"), (1, "/a")):
            self.focus(view_id, path)
        self.assertEqual(self.paths(), ["/a", "/c", "/b"])

    def test_at_most_ten_files_are_named_and_they_are_the_newest(self) -> None:
        for number in range(15):
            self.focus(number, f"/{number}")
        self.assertEqual(self.paths(), [f"/{number}" for number in range(14, 4, -1)])

    def test_files_that_do_not_exist_take_no_place_among_the_ten(self) -> None:
        for number in range(15):
            self.focus(number, f"/{number}")
        self.missing = {"/14", "/10"}
        self.assertEqual(len(self.paths()), MAX_FILES)
        self.assertEqual(self.paths()[-1], "/3")

    def test_timestamps_are_the_milliseconds_of_the_last_focus(self) -> None:
        self.focus(1, "/a")
        self.focus(2, "/b")
        stamps = [entry["timestamp"] for entry in self.store.open_files()]
        self.assertEqual(stamps, [1020, 1010])

    def test_the_newest_stamp_is_larger_even_where_the_clock_stands_still_or_goes_back(
        self,
    ) -> None:
        for view_id, clock in ((1, 5000), (2, 5000), (3, 100)):
            self.now = clock
            self.store.focus(OpenFile(view_id, f"/{view_id}"))
        stamps = [entry["timestamp"] for entry in self.store.open_files()]
        self.assertEqual(self.paths(), ["/3", "/2", "/1"])
        self.assertEqual(stamps, [5002, 5001, 5000])

    def test_a_file_that_was_never_looked_at_is_older_than_all_others(self) -> None:
        self.focus(1, "/a")
        self.store.add(OpenFile(2, "/b"))
        self.assertEqual(self.paths(), ["/a", "/b"])
        self.assertEqual(self.store.open_files()[1]["timestamp"], 0)

    def test_a_known_file_that_is_added_again_keeps_its_place(self) -> None:
        self.focus(1, "/a")
        self.focus(2, "/b")
        self.store.add(OpenFile(2, "/b"))
        self.store.add(OpenFile(1, "/a"))
        self.assertEqual(self.paths(), ["/b", "/a"])

    def test_without_a_clock_of_its_own_the_stamp_is_the_time_of_day(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a")
            open(path, "w").close()
            store = ContextStore()
            store.focus(OpenFile(1, path))
            store.add(OpenFile(2, folder))
            (entry,) = store.open_files()
            made = os.stat(path).st_mtime * 1000
            self.assertEqual(entry["path"], path)
            self.assertLess(abs(entry["timestamp"] - made), 60_000)


class TheActiveFile(ContextTestCase):
    def test_only_the_newest_file_is_active_and_has_cursor_and_selection(self) -> None:
        more = {"cursor": Cursor(3, 7), "selected_text": "x"}
        self.focus(1, "/a", **more)
        self.focus(2, "/b", **more)
        self.assertEqual(
            self.store.open_files(),
            [
                {
                    "path": "/b",
                    "timestamp": 1020,
                    "isActive": True,
                    "cursor": {"line": 3, "character": 7},
                    "selectedText": "x",
                },
                {"path": "/a", "timestamp": 1010},
            ],
        )

    def test_what_is_not_known_is_left_out_and_never_null(self) -> None:
        self.focus(1, "/a")
        self.assertEqual(
            self.store.open_files(), [{"path": "/a", "timestamp": 1010, "isActive": True}]
        )

    def test_a_selection_changes_neither_order_nor_time(self) -> None:
        self.focus(1, "/a")
        self.focus(2, "/b")
        self.now += 500
        self.store.select(OpenFile(1, "/a", Cursor(9, 9), "late"))
        self.store.select(OpenFile(2, "/b", Cursor(1, 2), "text"))
        first, second = self.store.open_files()
        self.assertEqual((first["timestamp"], first["selectedText"]), (1020, "text"))
        self.assertEqual(second, {"path": "/a", "timestamp": 1010})

    def test_a_selection_that_ends_leaves_the_entry(self) -> None:
        self.focus(1, "/a", selected_text="x")
        self.store.select(OpenFile(1, "/a", Cursor(1, 1)))
        self.assertNotIn("selectedText", self.store.open_files()[0])

    def test_when_it_closes_no_other_file_becomes_active_by_itself(self) -> None:
        self.focus(1, "/a")
        self.focus(2, "/b")
        self.store.close(2)
        self.assertEqual(self.store.open_files(), [{"path": "/a", "timestamp": 1010}])

    def test_it_stays_active_while_other_files_close(self) -> None:
        self.focus(1, "/a")
        self.focus(2, "/b")
        self.store.close(1)
        self.store.close(77)
        self.assertTrue(self.store.open_files()[0]["isActive"])

    def test_it_is_left_out_while_its_file_is_not_on_disk(self) -> None:
        self.focus(1, "/a")
        self.missing = {"/a"}
        self.assertEqual(self.store.open_files(), [])
        self.missing = set()
        self.assertTrue(self.store.open_files()[0]["isActive"])


class HeldBack(ContextTestCase):
    """`self.links` leads from a path to where it really is."""

    def setUp(self) -> None:
        super().setUp()
        self.links: dict[str, str] = {}
        self.store = ContextStore(
            lambda: self.now,
            lambda path: path not in self.missing,
            lambda path: self.links.get(path, path),
        )

    def test_a_file_that_is_excluded_takes_no_place_and_nothing_else_becomes_active(self) -> None:
        for number in range(11):
            self.focus(number, f"/{number}")
        self.focus(11, "/.env", cursor=Cursor(1, 1), selected_text="secret")
        self.assertEqual(self.paths(), [f"/{number}" for number in range(10, 0, -1)])
        self.assertFalse(any("isActive" in entry for entry in self.store.open_files()))

    def test_a_view_whose_file_gets_an_excluded_name_is_not_told_any_more_and_back(self) -> None:
        self.focus(1, "/a")
        self.store.select(OpenFile(1, "/a.pem", Cursor(1, 1), "secret"))
        self.assertEqual(self.store.open_files(), [])
        self.store.select(OpenFile(1, "/b"))
        self.assertEqual(self.paths(), ["/b"])

    def test_a_link_is_held_back_by_its_own_path_and_by_that_of_its_target(self) -> None:
        self.links = {"/a": "/x/.env", "/.env": "/b", "/c": "/d"}
        for view_id, path in enumerate(self.links):
            self.focus(view_id, path)
        self.assertEqual(self.paths(), ["/c"])

    def test_a_link_that_cannot_be_followed_is_held_back(self) -> None:
        def fail(path: str) -> str:
            raise OSError("too many links")

        self.store = ContextStore(lambda: self.now, lambda path: True, fail)
        self.store.sharing = Sharing(only_project_files=True)
        self.store.folders = ("/",)
        self.focus(1, "/a")
        self.assertEqual(self.store.open_files(), [])
        self.assertEqual(self.store.held_back(), {MISSING: 1})

    def test_only_project_files_are_those_whose_target_is_in_a_folder_too(self) -> None:
        self.store.sharing = Sharing(only_project_files=True)
        self.store.folders = ("/shop", "/link")
        self.links = {"/shop/out": "/home/diary", "/link": "/real", "/link/b": "/real/b"}
        for view_id, path in enumerate(("/shop/a", "/shop/out", "/link/b", "/real/c", "/else")):
            self.focus(view_id, path)
        self.assertEqual(self.paths(), ["/real/c", "/link/b", "/shop/a"])

    def test_paused_none_is_told_and_what_was_is_told_again_afterwards(self) -> None:
        self.focus(1, "/a")
        before = self.store.open_files()
        self.store.sharing = Sharing(paused=True)
        self.assertEqual(self.store.open_files(), [])
        self.store.sharing = Sharing()
        self.assertEqual(self.store.open_files(), before)

    def test_what_is_held_back_is_counted_by_its_reason_each_path_once(self) -> None:
        self.store.sharing = Sharing(only_project_files=True)
        self.store.folders = ("/shop",)
        for number in range(12):
            self.focus(number, f"/shop/{number}")
        for view_id, path in enumerate(("/.env", "/.env", "/shop/a.pem", "/else", "/shop/gone")):
            self.focus(100 + view_id, path)
        self.missing = {"/shop/gone"}
        self.assertEqual(self.store.held_back(), {EXCLUDED: 2, OUTSIDE: 1, MISSING: 1, OLDER: 2})
        self.store.sharing = Sharing(paused=True)
        self.assertEqual(self.store.held_back(), {PAUSED: 16})


class ClosedAndRenamedViews(ContextTestCase):
    def test_the_list_is_empty_after_the_last_file_closed(self) -> None:
        self.focus(1, "/a")
        self.store.close(1)
        self.assertEqual(self.store.open_files(), [])

    def test_late_word_of_a_closed_view_does_not_bring_its_file_back(self) -> None:
        self.focus(1, "/a")
        self.store.close(1)
        self.store.select(OpenFile(1, "/a"))
        self.store.close(1)
        self.assertEqual(self.store.open_files(), [])

    def test_a_selection_may_bring_the_new_path_of_its_view(self) -> None:
        self.focus(1, "/a")
        self.store.select(OpenFile(1, "/saved-as"))
        self.assertEqual(self.paths(), ["/saved-as"])

    def test_two_views_of_one_file_are_one_entry_told_by_the_newer(self) -> None:
        self.focus(1, "/a", cursor=Cursor(1, 1))
        self.focus(2, "/b")
        self.focus(3, "/a", cursor=Cursor(5, 5))
        first, second = self.store.open_files()
        self.assertEqual((first["path"], second["path"]), ("/a", "/b"))
        self.assertEqual(first["cursor"], {"line": 5, "character": 5})

    def test_a_file_stays_while_one_of_its_views_is_open(self) -> None:
        self.focus(1, "/a")
        self.focus(2, "/a")
        self.store.close(2)
        self.assertEqual(self.paths(), ["/a"])

    def test_a_view_that_comes_back_counts_as_new(self) -> None:
        self.focus(1, "/a")
        self.store.close(1)
        self.store.add(OpenFile(1, "/a"))
        self.assertEqual(self.store.open_files(), [{"path": "/a", "timestamp": 0}])
