"""The open files of a window as the CLI is told of them."""

from __future__ import annotations

import os
import tempfile
import unittest
from typing import Any

from GeminiCompanion.companion.ide.context import ContextStore, Cursor, OpenFile
from GeminiCompanion.companion.ide.sharing import Sharing

from ..tables import rows, word


def entry_words(entry: Any) -> str:
    """Its path and time, `active`, cursor and selection; nothing else may be in it."""
    rest = dict(entry)
    found = [rest.pop("path"), f"at {rest.pop('timestamp')}"]
    found += ["active"] if rest.pop("isActive", False) else []
    cursor = rest.pop("cursor", None)
    found += [f"{cursor['line']}:{cursor['character']}"] if cursor else []
    found += [f'"{rest.pop("selectedText")}"'] if "selectedText" in rest else []
    return " ".join(found + ([repr(rest)] if rest else []))


@rows("""
    a window without files has an empty list
        the clock is 1000 | the entries are nothing
    the newest focus comes first
        1=/a 2=/b 3=/c 1=/a are focused | the files are /a, /c, /b
    at most ten files are named and they are the newest
        fifteen files are focused | the files are /14, /13, /12, /11, /10, /9, /8, /7, /6, /5
    files that do not exist take no place among the ten
        fifteen files are focused | /14 /10 are missing
        | the files are /13, /12, /11, /9, /8, /7, /6, /5, /4, /3
    timestamps are the milliseconds of the last focus and only the newest is active
        1=/a:3:7:x 2=/b:3:7:x are focused | the entries are /b at 1020 active 3:7 "x", /a at 1010
    the newest stamp is larger even where the clock stands still or goes back
        the clock is 4990; 1=/a are focused; the clock is 4990; 2=/b are focused
        | the clock is 90; 3=/c are focused
        | the entries are /c at 5002 active, /b at 5001, /a at 5000
    a file that was never looked at is older than all others
        1=/a are focused; 2=/b are added | the entries are /a at 1010 active, /b at 0
    a known file that is added again keeps its place
        1=/a 2=/b are focused; 2=/b 1=/a are added | the files are /b, /a
    what is not known is left out and never null
        1=/a are focused | the entries are /a at 1010 active
    a selection changes neither order nor time
        1=/a 2=/b are focused; the clock is 5000 | 1=/a:9:9:late 2=/b:1:2:text are selected in
        | the entries are /b at 1020 active 1:2 "text", /a at 1010
    a selection that ends leaves the entry
        1=/a:1:1:x are focused | 1=/a:1:1 are selected in | the entries are /a at 1010 active 1:1
    when it closes no other file becomes active by itself
        1=/a 2=/b are focused | 2 is closed | the entries are /a at 1010
    it stays active while other files close
        1=/a 2=/b are focused | 1 is closed; 77 is closed | the entries are /b at 1020 active
    it is left out while its file is not on disk
        1=/a are focused | /a are missing | the entries are nothing
        | none are missing | the entries are /a at 1010 active
    a file that is excluded takes no place and nothing else becomes active
        fifteen files are focused; 15=/.env:1:1:secret are focused
        | the files are /14, /13, /12, /11, /10, /9, /8, /7, /6, /5; one is active: no
    a view whose file gets an excluded name is not told any more and back
        1=/a are focused | 1=/a.pem:1:1:secret are selected in | the entries are nothing
        | 1=/b are selected in | the files are /b
    a link is held back by its own path and by that of its target
        /a leads to /x/.env; /.env leads to /b; /c leads to /d
        | 1=/a 2=/.env 3=/c are focused | the files are /c
    a link that cannot be followed is held back
        only files of / are told; no link can be followed | 1=/a are focused
        | the entries are nothing; held back are missing 1
    only project files are those whose target is in a folder too
        only files of /shop /link are told; /shop/out leads to /home/diary; /link leads to /real
        | /link/b leads to /real/b; 1=/shop/a 2=/shop/out 3=/link/b 4=/real/c 5=/else are focused
        | the files are /real/c, /link/b, /shop/a
    paused none is told and what was is told again afterwards
        1=/a are focused | it is paused | the entries are nothing
        | it is paused no more | the entries are /a at 1010 active
    what is held back is counted by its reason each path once
        only files of /shop are told; 1=/shop/1 2=/shop/2 3=/shop/3 4=/shop/4 5=/shop/5 are focused
        | 6=/shop/6 7=/shop/7 8=/shop/8 9=/shop/9 10=/shop/a 11=/shop/b 12=/shop/c are focused
        | 13=/.env 14=/.env 15=/shop/a.pem 16=/else 17=/shop/gone are focused
        | /shop/gone are missing | held back are excluded 2, missing 1, older 2, outside 1
        | it is paused | held back are paused 16
    the list is empty after the last file closed
        1=/a are focused | 1 is closed | the entries are nothing
    late word of a closed view does not bring its file back
        1=/a are focused | 1 is closed; 1=/a are selected in; 1 is closed | the entries are nothing
    a selection may bring the new path of its view
        1=/a are focused | 1=/saved-as are selected in | the files are /saved-as
    two views of one file are one entry told by the newer
        1=/a:1:1 2=/b 3=/a:5:5 are focused | the entries are /a at 1030 active 5:5, /b at 1020
    a file stays while one of its views is open
        1=/a 2=/a are focused | 2 is closed | the files are /a
    a view that comes back counts as new
        1=/a are focused; 1 is closed | 1=/a are added | the entries are /a at 0
""")
class Context(unittest.TestCase):
    """`self.now` is the clock, `self.missing` the paths that do not exist, and `self.links` leads
    from a path to where it really is. A view of a row is its id, its path, cursor and selection."""

    def setUp(self) -> None:
        self.now = 1000
        self.missing: set[str] = set()
        self.links: dict[str, str] = {}
        self.store = ContextStore(
            lambda: self.now, lambda path: path not in self.missing, self.follow
        )

    def follow(self, path: str) -> str:
        if "no link" in self.links:
            raise OSError("too many links")
        return self.links.get(path, path)

    @word("(.+) are (focused|added|selected in)")
    def happens(self, views: str, what: str) -> None:
        for each in (
            [f"{number}=/{number}" for number in range(15)] if "fifteen" in views else views.split()
        ):
            view_id, _, file = each.partition("=")
            path, *more = file.split(":")
            self.now += 10 * (what == "focused")
            cursor = Cursor(int(more[0]), int(more[1])) if more else None
            text = more[2] if len(more) > 2 else ""
            opened = OpenFile(int(view_id), path, cursor, text)
            act = {"focused": self.store.focus_file, "added": self.store.add_file}
            act.get(what, self.store.update_selection)(opened)

    @word("only files of (.+) are told")
    def only_of(self, folders: str) -> None:
        self.store.sharing = Sharing(only_project_files=True)
        self.store.folders = tuple(folders.split())

    words = {
        r"the clock is (\d+)": lambda t, now: setattr(t, "now", int(now)),
        "(.+) are missing": lambda t, paths: setattr(t, "missing", set(paths.split())),
        "(.+) leads to (.+)": lambda t, path, target: t.links.update({path: target}),
        "no link can be followed": lambda t: t.links.update({"no link": ""}),
        r"(\d+) is closed": lambda t, view_id: t.store.close_file(int(view_id)),
        "it is paused": lambda t: setattr(t.store, "sharing", Sharing(paused=True)),
        "it is paused no more": lambda t: setattr(t.store, "sharing", Sharing()),
    }
    seen = {
        "the files are": lambda t: [entry["path"] for entry in t.store.open_files()],
        "the entries are": lambda t: list(map(entry_words, t.store.open_files())),
        "one is active:": lambda t: any("isActive" in entry for entry in t.store.open_files()),
        "held back are": lambda t: sorted(
            f"{reason} {count}" for reason, count in t.store.held_back().items()
        ),
    }

    def test_without_a_clock_of_its_own_the_stamp_is_the_time_of_day(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a")
            open(path, "w").close()
            store = ContextStore()
            store.focus_file(OpenFile(1, path))
            store.add_file(OpenFile(2, folder))
            (entry,) = store.open_files()
            made = os.stat(path).st_mtime * 1000
            self.assertEqual(entry["path"], path)
            self.assertLess(abs(entry["timestamp"] - made), 60_000)
