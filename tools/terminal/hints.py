"""What the person at the terminal can do now, in words: the keys, and what stands where nothing
else is shown."""

from __future__ import annotations

from enum import IntEnum
from typing import List, Sequence

REVIEW_KEYS = (
    "[n]ext [p]revious change  [k]eep  [d]rop  [u]ndo  [c]omment  [e]dit first  [space] [b]ack",
    "[a]ccept  [A]ccept, next  [r]eject  [R]eject with note  re[l]ease  ] [ other diffs",
)
SHEET_KEYS = (
    "[n]ext [p]revious change  [k]eep [d]rop it  [a]ccept [r]eject its file  [Ctrl+S] accept all"
)
KEYS = (
    "[w]aiting  [h]istory  [o]pen a file  [g]o to a tab  [Ctrl+S] save  [f]older to add  [t]ype"
    "  [s]tatus  [m]essages  [:] commands  [i]ntroduction  [q]uit"
)
FEW_KEYS = "[t]ype  [:] commands  [q]uit  [?] all keys"
NO_KEYS = "[q]uit  [?] keys"
WRITING_KEYS = (
    "What you type goes to the tab; Alt+Enter is Ctrl+Enter. Escape: back to the commands."
)
LIST_KEYS = "A number, or up, down and Enter; Escape closes the list."
# What Escape does to what stands above the messages.
CLOSES = "[Escape] closes this"
HIDES = "[Escape] hides this tab"
# A chat is no page, and one Escape too many would answer its questions with no.
CHAT_CLOSES = "[t]ype, then Ctrl+W: closes this chat"
LINKS = "[Enter] lists its links"
NO_FOLDER = "The editor has no folder open, and no CLI finds it without one. Press f."


class Bar(IntEnum):
    """Which keys are shown; the next one comes by `?`."""

    FEW = 0
    ALL = 1
    NONE = 2

    def following(self) -> "Bar":
        return Bar((self + 1) % len(Bar))


def key_lines(bar: Bar, is_review: bool, is_sheet: bool = False) -> List[str]:
    """The lines of keys, of any width. In the sheet of all changes they are about what is at its
    caret, also where a review is shown beside it."""
    if bar == Bar.NONE:
        return [NO_KEYS]
    others = KEYS + "  [?] no keys" if bar == Bar.ALL else FEW_KEYS
    deciding = (SHEET_KEYS,) if is_sheet else REVIEW_KEYS if is_review else ()
    return [*deciding, others]


def place_line(folders: Sequence[str], is_first: bool) -> str:
    """Where the editor runs; what was open comes back in one that is not the first on a folder."""
    if not folders:
        return NO_FOLDER
    again = "" if is_first else " again, as it was left"
    return "The editor runs on %s%s." % (", ".join(folders), again)


def home_lines(folders: Sequence[str], open_tabs: Sequence[str]) -> List[str]:
    """What stands where nothing is shown, in lines of any width."""
    if not folders:
        return [NO_FOLDER]
    found = [
        "Nothing waits for you here. The edits of a CLI in another terminal appear as they come:"
        " i says how to start one. A chat with an agent needs none: type :chat and Enter."
    ]
    if open_tabs:
        found.append("Open tabs (g shows one): %s" % ", ".join(open_tabs))
    return found


def fold_keys(keys: str, width: int) -> List[str]:
    """A line of keys, in several where it is wider; words stay together."""
    rows: List[str] = []
    for word in keys.split("  "):
        if rows and len(rows[-1]) + 2 + len(word) <= width:
            rows[-1] += "  " + word
        else:
            rows.append(word)
    return rows
