"""Proposals that wait without tabs, where a CLI asks for many files at once."""

from __future__ import annotations

import os
import random
import threading
from typing import Any, Generator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.edits import edit_store
from GeminiCompanion.companion.ui.changes import sheet_commands
from GeminiCompanion.companion.ui.review import (
    hidden,
    open_diffs,
    opening,
    proposal_opener,
    unopened_store,
    unopened_texts,
)
from GeminiCompanion.companion.ui.review.record import (
    DiffRecord,
    is_diff,
    seen_changes,
    waiting_record,
)

from .adapter import text_of
from .reviewing import Steps
from .test_show_changes import OLD, SheetCase

MOST = opening.MOST_WITH_TABS
NEW = OLD.replace("line 3\n", "LINE 3\n")


def kept_files() -> list[str]:
    folder = os.path.join(sublime.cache_path(), "GeminiCompanion", "unopened")
    return os.listdir(folder) if os.path.isdir(folder) else []


class UnopenedCase(SheetCase):
    def setUp(self) -> None:
        super().setUp()
        self.asked = self.panels()
        self.sentences = self.told()

    def tearDown(self) -> Generator[Any, Any, None]:
        yield from super().tearDown()
        # Nothing of it is left, once those that look now and then have looked.
        yield lambda: not kept_files()

    def until_told(self, sentence: str) -> Steps:
        yield lambda: any(sentence in each for each in self.sentences)

    def many(self, count: int, new: str = NEW) -> Generator[Any, Any, list[str]]:
        """The ids of so many proposals, for 000.py and so on."""
        self.cli = yield from self.connect()
        self.ids = []
        for number in range(count):
            path = self.write(f"{number:03}.py", OLD)
            right = yield from self.diff(self.cli, path, new)
            self.ids.append(self.id(right))
        yield from self.until_all_compared()
        return self.ids

    def until_all_compared(self) -> Steps:
        reviews = self.running().diffs.reviews
        for id in self.ids:
            yield (
                lambda id=id: (
                    self.right(id) is None
                    or (
                        reviews.with_id(id) is not None
                        and reviews.with_id(id).comparison is not None
                    )
                )
            )

    def right(self, id: str) -> Any:
        return open_diffs.with_id(id)

    def record(self, id: str) -> DiffRecord:
        found = waiting_record(self.right(id))
        self.assertIsNotNone(found)
        return found  # type: ignore[return-value]

    def waiting(self) -> list[str]:
        return [record.id for _, record in open_diffs.undecided_diffs(self.window)]

    def with_tabs(self) -> list[str]:
        found = open_diffs.undecided_diffs(self.window)
        return [record.id for _, record in found if not record.is_unopened]

    def count_heard(self, method: str, count: int) -> Steps:
        yield from self.until_equal(lambda: len(self.cli.received(f"ide/{method}")), count)

    def crash(self) -> Steps:
        """The editor ends, and starts with what it keeps itself: nothing of a hidden view."""
        listed = self.window.settings().get(unopened_texts.UNOPENED)
        hidden_ids = [id for id in self.waiting() if self.record(id).is_unopened]
        plugin.plugin_unloaded()
        for id in hidden_ids:
            self.window.destroy_output_panel(hidden.NAME.format(id))
        yield lambda: self.cli.stream_ended.is_set()
        self.window.settings().set(unopened_texts.UNOPENED, listed)
        folder = os.path.join(sublime.cache_path(), "GeminiCompanion", "unopened")
        plugin._host.unopened = unopened_store.UnopenedStore(folder)
        plugin.plugin_loaded()
        yield lambda: plugin._host.environment_of(self.window)
        self.cli.resume()
        yield self.cli.connected


class Opening(UnopenedCase):
    def test_up_to_two_have_tabs_and_the_further_ones_wait_without(self) -> Steps:
        view = yield from self.show()
        for count in (1, 2, 3, 12):
            yield from self.reject_many(view, count)

    def reject_many(self, view: sublime.View, count: int) -> Steps:
        tabs = len(self.window.views())
        yield from self.many(count)
        self.assertEqual(self.waiting(), self.ids)
        self.assertEqual(self.with_tabs(), self.ids[:MOST])
        self.assertEqual(len(self.window.views()), tabs + 2 * min(count, MOST))
        if count > MOST:
            yield from self.until_told(proposal_opener.UNOPENED)
        yield from self.until_in(f"{count} proposal", lambda: text_of(view))
        self.decide(view, "reject_all")
        yield lambda: self.asked
        self.asked.pop()["on_select"](0)
        yield from self.count_heard("diffRejected", count)
        yield lambda: not self.waiting()
        yield lambda: len(self.window.views()) == tabs
        self.cli.close()

    def test_a_hundred_are_accepted_in_one_sheet_and_no_further_tab_opens(self) -> Steps:
        yield from self.many(100)
        tabs = self.window.views()
        view = yield from self.show()
        yield from self.until_in("100 proposals in 100 files", lambda: text_of(view))
        self.decide(view, "accept_all")
        yield lambda: self.asked
        self.asked.pop()["on_select"](0)
        yield from self.count_heard("diffAccepted", 100)
        yield from self.until_equal(lambda: self.waiting(), [])
        yield lambda: all(view not in self.window.views() for view in tabs[-2 * MOST :])
        mine = [view for view in self.window.views() if view.id() not in self.before]
        self.assertEqual([view.name() for view in mine if view.is_dirty()], [])

    def test_each_is_decided_in_the_sheet_in_any_order(self) -> Steps:
        yield from self.many(6)
        view = yield from self.show()
        order = list(self.ids)
        random.Random(7).shuffle(order)
        for number, id in enumerate(order):
            self.decide(view, "accept_file" if number % 2 else "reject_file", id)
            yield from self.until_equal(lambda: sorted(self.waiting()), sorted(order[number + 1 :]))
        yield from self.count_heard("diffAccepted", 3)
        yield from self.count_heard("diffRejected", 3)

    def test_where_no_sheet_is_in_sight_the_next_one_gets_tabs_after_the_last(self) -> Steps:
        yield from self.many(4)
        for at in range(4):
            id = self.with_tabs()[-1]
            self.window.focus_view(self.right(id))
            self.run_command("accept_diff")
            yield lambda id=id: id not in self.waiting()
            left = 3 - at
            yield from self.until_equal(lambda: len(self.waiting()), left)
            if left:
                yield (
                    lambda: (
                        self.with_tabs()
                        and self.window.active_view() == self.right(self.with_tabs()[-1])
                    )
                )
        yield from self.count_heard("diffAccepted", 4)
        yield lambda: self.window.num_groups() == 1

    def test_accept_and_next_goes_to_one_without_tabs_though_a_sheet_is_in_sight(self) -> Steps:
        yield from self.many(3)
        yield from self.show()
        for left in (2, 1):
            self.window.focus_view(self.right(self.with_tabs()[-1]))
            self.run_command("accept_diff_and_next")
            yield from self.until_equal(lambda: len(self.waiting()), left)
            yield lambda: self.with_tabs() and is_diff(self.window.active_view())

    def test_going_to_one_in_the_list_gives_it_tabs_and_leaves_its_id_and_what_was_kept(
        self,
    ) -> Steps:
        yield from self.many(3)
        right, id = self.right(self.ids[2]), self.ids[2]
        key = self.review(right).comparison.keys[0]
        self.running().diffs.reviews.mark_change_seen(right, key)
        self.run_command("show_diffs")
        yield lambda: self.asked
        self.asked.pop()["on_select"](2)
        yield lambda: id in self.with_tabs() and self.window.active_view() == self.right(id)
        yield from self.until_computed(self.right(id))
        self.assertEqual(seen_changes(self.right(id)), {key})
        self.assertEqual(text_of(open_diffs.partner_view(self.right(id))), OLD)
        self.assertEqual(self.waiting(), self.ids)
        self.assertFalse(right.is_valid())

    def test_enter_in_the_sheet_gives_it_tabs_and_goes_to_the_line(self) -> Steps:
        yield from self.many(3)
        view = yield from self.show()
        point = text_of(view).rindex("LINE 3")
        view.sel().clear()
        view.sel().add(sublime.Region(point))
        self.run_command("go_to_change")
        yield lambda: self.ids[2] in self.with_tabs()
        right = self.right(self.ids[2])
        yield lambda: self.window.active_view() == right
        yield lambda: right.substr(right.line(right.sel()[0].b)) == "LINE 3"

    def test_rejecting_with_a_note_from_the_sheet_gives_it_tabs(self) -> Steps:
        words = self.inputs()
        yield from self.many(3)
        view = yield from self.show()
        view.sel().clear()
        view.sel().add(sublime.Region(text_of(view).rindex("LINE 3")))
        self.run_command("reject_diff_with_note")
        yield lambda: words
        self.assertIn(self.ids[2], self.with_tabs())
        words.pop()("not so")
        yield from self.until_equal(self.waiting, self.ids[:2])
        yield from self.count_heard("diffRejected", 1)

    def test_a_highlighted_one_is_shown_as_text_and_gets_no_tabs(self) -> Steps:
        yield from self.many(3)
        self.run_command("show_diffs")
        yield lambda: self.asked
        panel = self.asked.pop()
        panel["on_highlight"](2)
        yield from self.until_in("+LINE 3", lambda: text_of(self.window.active_view()))
        panel["on_select"](-1)
        yield from self.until_turn()
        self.assertEqual(self.with_tabs(), self.ids[:2])

    def test_one_for_the_same_file_takes_the_place_of_an_older_one(self) -> Steps:
        yield from self.many(4)
        for at, has_tabs in ((3, False), (1, True)):
            path = self.record(self.ids[at]).path
            newer = yield from self.diff(self.cli, path, NEW + "newer\n")
            self.assertEqual(self.id(newer) in self.with_tabs(), has_tabs)
            self.assertNotIn(self.ids[at], self.waiting())
            self.assertEqual(len(self.waiting()), 4)

    def test_one_whose_text_is_too_large_takes_tabs(self) -> Steps:
        with mock.patch.object(unopened_texts, "MOST_KEPT", 3 * len(NEW) - 1):
            yield from self.many(5)
        self.assertEqual(self.with_tabs(), [*self.ids[:2], self.ids[4]])

    def test_the_cli_closes_them_all(self) -> Steps:
        yield from self.many(5)
        for id in self.waiting():
            answer = self.cli.call(
                "closeDiff", filePath=self.record(id).path, suppressNotification=True
            )
            yield answer.done
            self.assertIn("LINE 3", str(answer.result()))
        yield from self.until_equal(self.waiting, [])
        yield lambda: not self.tabs()

    def test_of_a_cli_that_is_gone_they_wait(self) -> Steps:
        yield from self.many(3)
        self.cli.close()
        yield lambda: all(self.record(id).is_orphaned for id in self.ids)
        self.run_command("accept_diff", id=self.ids[2])
        yield from self.until_equal(self.waiting, self.ids[:2])


class Typing(UnopenedCase):
    def three(self) -> Generator[Any, Any, sublime.View]:
        """The sheet of three proposals; the last one has no tabs."""
        yield from self.many(3, NEW.replace("line 20", "first"))
        view = yield from self.show()
        return view

    def type_in_last(self, view: sublime.View, words: str) -> Steps:
        at = text_of(view).rindex("LINE 3") + len("LINE 3")
        view.sel().clear()
        view.sel().add(sublime.Region(at))
        view.run_command("insert", {"characters": words})
        yield from self.until_in("LINE 3" + words, lambda: text_of(self.right(self.ids[2])))
        yield from self.until_drawn(view)

    def test_what_is_typed_in_the_sheet_is_accepted(self) -> Steps:
        view = yield from self.three()
        yield from self.type_in_last(view, " typed")
        self.decide(view, "accept_file", self.ids[2])
        yield from self.count_heard("diffAccepted", 1)
        self.assertIn("LINE 3 typed\n", self.cli.received("ide/diffAccepted")[0]["content"])
        self.assertEqual(self.with_tabs(), self.ids[:2])

    def test_what_is_typed_stays_as_a_tab_where_it_is_rejected(self) -> Steps:
        view = yield from self.three()
        yield from self.type_in_last(view, " typed")
        self.decide(view, "reject_file", self.ids[2])
        yield from self.count_heard("diffRejected", 1)
        yield lambda: "LINE 3 typed\n" in self.tabs().get("002.py (rejected, your edits)", "")
        yield lambda: self.window.active_view() == view

    def test_what_is_typed_is_undone_and_redone(self) -> Steps:
        view = yield from self.three()
        yield from self.type_in_last(view, " typed")
        view.run_command("undo")
        yield lambda: "typed" not in text_of(self.right(self.ids[2]))
        view.run_command("redo")
        yield from self.until_in("LINE 3 typed", lambda: text_of(self.right(self.ids[2])))

    def test_a_change_is_kept_and_dropped(self) -> Steps:
        view = yield from self.three()
        id = self.ids[2]
        keys = self.review(self.right(id)).comparison.keys
        self.decide(view, "keep_change", id, keys[0])
        yield from self.until_equal(lambda: seen_changes(self.right(id)), {keys[0]})
        yield from self.until_drawn(view)
        self.decide(view, "drop_change", id, keys[1])
        yield from self.until_equal(lambda: text_of(self.right(id)), NEW)
        view.run_command("undo")
        yield from self.until_in("first", lambda: text_of(self.right(id)))

    def test_one_of_which_all_is_dropped_leaves_no_tab(self) -> Steps:
        view = yield from self.three()
        self.decide(view, "drop_file", self.ids[2])
        yield from self.until_equal(lambda: text_of(self.right(self.ids[2])), OLD)
        self.decide(view, "reject_file", self.ids[2])
        yield from self.count_heard("diffRejected", 1)
        yield from self.until_equal(self.waiting, self.ids[:2])
        self.assertNotIn("002.py (rejected, your edits)", self.tabs())

    def test_what_is_typed_comes_along_into_the_tabs_and_undo_says_that_it_cannot(self) -> Steps:
        view = yield from self.three()
        yield from self.type_in_last(view, " typed")
        self.run_command("show_diffs")
        yield lambda: self.asked
        self.asked.pop()["on_select"](2)
        yield lambda: self.ids[2] in self.with_tabs()
        yield from self.until_computed(self.right(self.ids[2]))
        self.assertIn("LINE 3 typed\n", text_of(self.right(self.ids[2])))
        self.window.focus_view(view)
        yield from self.until_drawn(view)
        view.run_command("undo")
        yield from self.until_told(sheet_commands.LOST.format("undone", "002.py"))
        self.assertIn("LINE 3 typed\n", text_of(self.right(self.ids[2])))

    def test_without_events_of_hidden_views_what_is_typed_is_followed_all_the_same(self) -> Steps:
        self.play(hidden_panel_events=False, hidden_panel_window=False)
        view = yield from self.three()
        yield from self.type_in_last(view, " typed")
        yield from self.until_in(
            "LINE 3 typed", lambda: self.running().diffs.unopened._store.kept[self.ids[2]].text
        )
        self.decide(view, "accept_file", self.ids[2])
        yield from self.count_heard("diffAccepted", 1)
        self.assertIn("LINE 3 typed\n", self.cli.received("ide/diffAccepted")[0]["content"])


class Keeping(UnopenedCase):
    def until_kept(self, id: str, part: str) -> Steps:
        store = self.running().diffs.unopened._store
        yield lambda: id in store.kept and part in store.kept[id].text

    def test_they_are_there_again_after_the_editor_ended_with_what_was_typed_and_kept(
        self,
    ) -> Steps:
        yield from self.many(4, NEW.replace("line 20", "first"))
        view = yield from self.show()
        right, id = self.right(self.ids[3]), self.ids[3]
        key = self.review(right).comparison.keys[1]
        self.decide(view, "keep_change", id, key)
        yield lambda: seen_changes(right) == {key}
        at = text_of(view).rindex("LINE 3") + len("LINE 3")
        view.sel().clear()
        view.sel().add(sublime.Region(at))
        view.run_command("insert", {"characters": " typed"})
        yield from self.until_kept(id, "LINE 3 typed")
        yield lambda: self.running().diffs.unopened._store.kept[id].seen == (key,)
        yield from self.crash()
        yield from self.until_equal(lambda: sorted(self.waiting()), sorted(self.ids))
        yield lambda: not any(self.record(each).is_restored for each in self.ids)
        yield from self.until_all_compared()
        self.assertEqual(sorted(self.with_tabs()), sorted(self.ids[:2]))
        self.assertIn("LINE 3 typed\n", text_of(self.right(id)))
        self.assertEqual(seen_changes(self.right(id)), {key})
        self.run_command("accept_diff", id=id)
        yield from self.count_heard("diffAccepted", 1)
        self.assertIn("LINE 3 typed\n", self.cli.received("ide/diffAccepted")[0]["content"])

    def test_an_older_one_does_not_come_back_where_the_editor_ended_before_it_was_removed(
        self,
    ) -> Steps:
        yield from self.many(3)
        store, older = self.running().diffs.unopened._store, self.ids[2]
        with mock.patch.object(store, "drop"):
            path = self.record(older).path
            newer = yield from self.diff(self.cli, path, NEW + "newer\n")
            self.ids[2] = self.id(newer)
            yield from self.until_kept(self.ids[2], "newer")
            yield from self.crash()
        self.assertIn(older, store.kept)
        yield from self.until_equal(lambda: sorted(self.waiting()), sorted(self.ids))
        yield lambda: f"{older}.proposal" not in kept_files()
        self.run_command("accept_diff", id=self.ids[2])
        yield from self.count_heard("diffAccepted", 1)
        self.assertIn("newer\n", self.cli.received("ide/diffAccepted")[0]["content"])

    def test_an_accepted_one_is_kept_until_the_edit_is_and_does_not_come_back(self) -> Steps:
        yield from self.many(3)
        id, may_save = self.ids[2], threading.Event()
        self.addCleanup(may_save.set)
        save_edits = edit_store.save_edits

        def save_late(folder: str, edits: Any) -> str:
            may_save.wait(60)
            return save_edits(folder, edits)

        self.replace(edit_store, "save_edits", save_late)
        self.run_command("accept_diff", id=id)
        yield from self.count_heard("diffAccepted", 1)
        unopened = self.running().diffs.unopened
        yield lambda: id not in unopened._views
        unopened.look_at_all()
        unopened._store.finish()
        self.assertIn(f"{id}.proposal", kept_files())
        self.assertEqual(unopened.adopt_kept(self.window), [])
        self.assertNotIn(id, self.waiting())
        may_save.set()
        yield lambda: f"{id}.proposal" not in kept_files()
        saved = edit_store.load_edits(self.running().review.history._folder)
        self.assertIn(NEW, [edit.after for edit in saved])

    def test_they_are_the_same_views_after_a_reload_of_the_package(self) -> Steps:
        yield from self.many(3)
        before = self.right(self.ids[2])
        plugin.plugin_unloaded()
        yield lambda: self.cli.stream_ended.is_set()
        plugin.plugin_loaded()
        yield lambda: plugin._host.environment_of(self.window)
        self.cli.resume()
        yield self.cli.connected
        yield lambda: sorted(self.waiting()) == sorted(self.ids)
        self.assertEqual(self.right(self.ids[2]), before)
        yield lambda: not self.record(self.ids[2]).is_restored
        self.run_command("reject_diff", id=self.ids[2])
        yield from self.count_heard("diffRejected", 1)

    def test_a_look_that_was_due_when_the_package_was_unloaded_brings_nothing_back(self) -> Steps:
        yield from self.many(3)
        unopened = self.running().diffs.unopened
        yield from self.crash()
        before = self.right(self.ids[2])
        self.window.settings().set(
            open_diffs.DIFFS, [self.right(id).id() for id in self.ids[:2] if self.right(id)]
        )
        unopened.look_at_all()
        self.assertNotIn(self.ids[2], self.waiting())
        yield from self.until_equal(lambda: self.right(self.ids[2]), before)

    def test_one_that_another_package_destroys_is_there_again(self) -> Steps:
        yield from self.many(3)
        id = self.ids[2]
        self.window.destroy_output_panel(hidden.NAME.format(id))
        yield lambda: id in self.waiting()
        yield from self.until_all_compared()
        self.assertEqual(text_of(self.right(id)), NEW)
        self.run_command("accept_diff", id=id)
        yield from self.count_heard("diffAccepted", 1)

    def test_they_are_listed_again_where_a_project_replaces_the_windows_settings(self) -> Steps:
        yield from self.many(4)
        views = [self.right(id) for id in self.ids]
        self.window.settings().set(open_diffs.DIFFS, [view.id() for view in views[:MOST]])
        self.window.settings().erase(unopened_texts.UNOPENED)
        yield from self.until_equal(lambda: sorted(self.waiting()), sorted(self.ids))
        yield from self.until_all_compared()
        yield lambda: self.window.settings().get(unopened_texts.UNOPENED)

    def test_what_was_typed_in_the_last_moment_comes_back_where_the_window_closes(self) -> Steps:
        here = self.window
        here.run_command("new_window")
        yield lambda: len(sublime.windows()) > 1
        other = self.window = next(
            window for window in sublime.windows() if window.id() != here.id()
        )
        self.play(pre_close_window=True)
        yield from self.many(3)
        self.right(self.ids[2]).run_command("append", {"characters": "penned\n"})
        other.run_command("close_window")
        self.window = here
        yield from self.until_in("penned", lambda: "".join(self.tabs().values()))
        yield lambda: not kept_files()

    def test_a_damaged_file_is_put_aside_and_the_others_are_there(self) -> Steps:
        folder = os.path.join(self.folder, "unopened")
        store = unopened_store.UnopenedStore(folder)
        yield from self.many(3)
        record = self.record(self.ids[2])
        store.keep(unopened_store.KeptProposal(record, "text \udc80\r\n", ("key",)))
        store.finish()
        with open(os.path.join(folder, "damaged.proposal"), "wb") as file:
            file.write(b'{"record": 1}\ntext')
        again = unopened_store.UnopenedStore(folder)
        self.assertEqual(again.kept, store.kept)
        self.assertEqual(
            set(os.listdir(folder)), {f"{record.id}.proposal", "damaged.proposal.damaged"}
        )
        again.drop(record.id)
        again.finish()
        self.assertEqual(os.listdir(folder), ["damaged.proposal.damaged"])

    def test_what_cannot_be_written_is_said_once(self) -> Steps:
        path = self.write("folder", "a file")
        store = unopened_store.UnopenedStore(path)
        said: list[str] = []
        store.refusals.subscribe(said.append)
        yield from self.many(3)
        for text in ("one", "two"):
            store.keep(unopened_store.KeptProposal(self.record(self.ids[2]), text))
            store.finish()
        yield from self.until_equal(lambda: len(said), 1)
