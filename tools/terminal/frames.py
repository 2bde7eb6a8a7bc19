"""The picture of the editor that the person has before their eyes."""

from __future__ import annotations

import bisect
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from . import hints, questions, tabs
from .messages import Messages
from .panel import Panel
from .reviewing import Reviewing
from .screen import AnyScreen, Frame, Screen
from .shown_editor import State
from .sides import cut_text, make_printable, wrap_text
from .tab_keys import TabWriting
from .tabs import Tab


class Drawn(NamedTuple):
    """What the person has before their eyes, and what keys mean therefore: a diff and a tab, each
    by the id of its view, and a list or an input panel."""

    diff: Optional[int] = None
    question: Optional[Any] = None
    tab: Optional[int] = None


class Frames:
    """Draws frames on a screen. `drawn` is what the last one has."""

    def __init__(
        self, editor: Any, screen: AnyScreen, messages: Messages, writing: TabWriting
    ) -> None:
        self.panel = Panel()
        self.reviewing = Reviewing()
        self.drawn = Drawn()
        self._editor = editor
        self._screen = screen
        self._messages = messages
        self._writing = writing
        self._keys = KeyLines(screen, writing)
        self._tabs = TabPictures()

    def show_other_keys(self) -> None:
        """The next of the choices which keys are shown."""
        self._keys.show_others()

    def draw(self, state: State) -> None:
        panel = self._panel_lines(state)
        lines: Optional[tabs.Lines] = None
        caret: Optional[Tuple[int, int]] = None
        if state.question is None and state.tab is not None and not panel:
            lines = self._tabs.lines_in(self.panel, state.tab, self._screen.columns)
            panel = lines.lines
            # In a sheet, keys are about what is at the caret.
            caret = lines.caret if self._writing.is_on or state.tab.is_sheet else None
        keys_shown = self._keys.lines(state)
        panel = self.panel.shown(
            panel,
            self._screen.panel_room(keys_shown, state.proposal is not None),
            self._line_of_bar(state, caret if self._writing.is_on else None),
            self._keys.moving(state),
            self._messages.is_listed or (state.tab is not None and state.tab.is_at_end),
            self._name_of_panel(state),
        )
        self._tell_seen(state, lines)
        shown = self._review_lines(state, panel, keys_shown)
        is_paper = not isinstance(self._screen, Screen)
        said = self._messages.all if is_paper else self._messages.standing()
        caret = self._caret_in_panel(caret)
        self._screen.draw(Frame(shown, panel, tuple(said), keys_shown, caret))
        tab = state.view if lines is not None else None
        diff = state.proposal.view if state.proposal is not None else None
        self.drawn = Drawn(diff, state.question, tab)

    def _panel_lines(self, state: State) -> List[str]:
        """What stands above the messages, but for a tab."""
        width = self._screen.columns
        if state.question is not None:
            return questions.question_lines(state.question, width)
        listed = self._messages.is_listed
        text = "\n".join(self._messages.all) if listed else state.panel.rstrip()
        if text.strip():
            return wrap_text(text, width)
        if state.tab is None and state.proposal is None and isinstance(self._screen, Screen):
            home = hints.home_lines(state.folders, state.open_tabs)
            return [row for line in home for row in wrap_text(line, width)]
        return []

    def _line_of_bar(self, state: State, caret: Optional[Tuple[int, int]]) -> Optional[int]:
        """The line that has to be in sight."""
        if caret is not None and not self._tabs.is_away:
            return caret[0]
        if state.question is None:
            return None
        return questions.line_of_bar(state.question, self._screen.columns)

    def _caret_in_panel(self, caret: Optional[Tuple[int, int]]) -> Optional[Tuple[int, int]]:
        if caret is None or not self.panel.is_cut:
            return caret
        line, column = caret[0] - self.panel.top, caret[1]
        return (line, column) if 0 <= line < self.panel.height else None

    def _tell_seen(self, state: State, lines: Optional[tabs.Lines]) -> None:
        """Tell the editor which part of a tab is in sight."""
        view, seen = None, tabs.NOWHERE
        if lines is not None and state.tab is not None and state.view is not None:
            count = self.panel.height if self.panel.is_cut else len(lines.lines)
            first = self.panel.top if self.panel.is_cut else 0
            view, seen = state.view, tabs.visible_part(state.tab, lines, first, count)
        self._editor.ui(tabs.tell_seen, self._editor, view, seen)

    def _review_lines(
        self, state: State, panel: Sequence[str], keys_shown: Sequence[str]
    ) -> List[str]:
        if state.proposal is None:
            return []
        room = self._screen.room(panel, keys_shown)
        others = len(state.waiting) - 1 + state.without_tabs
        width, colour = self._screen.columns, self._screen.colour
        return self.reviewing.lines(state.proposal, others, width, room, colour)

    def _name_of_panel(self, state: State) -> str:
        if state.question is not None:
            return ""
        if self._messages.is_listed:
            return "messages"
        # Its first line has its links, which change while it is read.
        return "page %d" % state.page if state.page is not None else ""


class TabPictures:
    """Tabs in lines, made anew only where the tab is another one: it can be long. It `is_away` if
    what is shown is not where the caret is, since something else was to be seen."""

    def __init__(self) -> None:
        self.is_away = False
        self._made: Optional[Tuple[Tab, int, tabs.Lines]] = None

    def lines_in(self, panel: Panel, tab: Tab, width: int) -> tabs.Lines:
        """The lines. The panel goes to those that a package has scrolled to, and keeps in sight
        what stands there while text is changed above."""
        before, drawn = self._made, tab._replace(seen=None)
        if before is not None and before[:2] == (drawn, width):
            return before[2]
        found = tabs.tab_lines(tab, width)
        self._made = (drawn, width, found)
        if before is None or before[0].title != tab.title:
            self.is_away = False
            return found
        self.is_away = self.is_away and _is_at_rest(before[0], tab)
        if before[0].scrolled != tab.scrolled and before[0].text == tab.text:
            # Where the text was changed as well, it only keeps in sight what was there.
            self.is_away = True
            panel.go_to(found.rows[tab.top])
        elif self.is_away and panel.is_cut and tab.seen is not None:
            row = max(0, bisect.bisect_right(before[2].rows, panel.top) - 1)
            panel.top += found.rows[tab.seen] - before[2].rows[row]
        return found


def _is_at_rest(before: Tab, tab: Tab) -> bool:
    """Whether the caret is where it was, whatever a package has changed above or below it."""
    if before.caret is None or tab.caret is None:
        return before.caret == tab.caret
    behind = len(before.text) - before.caret == len(tab.text) - tab.caret
    is_same_place = before.caret == tab.caret or behind
    return is_same_place and _begun_row(before) == _begun_row(tab)


def _begun_row(tab: Tab) -> str:
    """What stands before the caret in its row: there the person writes."""
    return tab.text[: tab.caret].rpartition("\n")[2]


class KeyLines:
    """The lines that say what keys do now."""

    def __init__(self, screen: AnyScreen, writing: TabWriting) -> None:
        self._screen = screen
        self._writing = writing
        self._bar = hints.Bar.FEW if isinstance(screen, Screen) else hints.Bar.ALL

    def show_others(self) -> None:
        self._bar = self._bar.following()

    def lines(self, state: State) -> List[str]:
        if state.question is not None:
            found = [hints.LIST_KEYS]
        elif self._writing.is_on and state.tab is not None:
            found = [*self._offered_words(state.tab), hints.WRITING_KEYS]
        else:
            found = self._command_keys(state)
        if not isinstance(self._screen, Screen):
            return found
        width = self._screen.columns
        status = [cut_text(state.status, width)] if state.status and state.question is None else []
        rows = [row for line in found for row in hints.fold_keys(line, width)]
        return status + [row for line in rows for row in wrap_text(line, width)]

    def moving(self, state: State) -> str:
        """The keys that move what is shown above the messages; whoever writes there would write
        them."""
        if self._writing.is_on and state.question is None:
            return ""
        is_beside = state.question is not None or state.proposal is not None
        return "[up] [down]" if is_beside else "[up] [down] [space] [b]ack"

    def _command_keys(self, state: State) -> List[str]:
        here = "  ".join(filter(None, (state.escape, hints.LINKS if state.has_links else "")))
        is_sheet = state.tab is not None and state.tab.is_sheet
        keys = hints.key_lines(self._bar, state.proposal is not None, is_sheet)
        return [*([here] if here else []), *keys]

    def _offered_words(self, tab: Tab) -> List[str]:
        """What completes the word at the caret, and the keys that were pressed of several."""
        found = ["Tab: " + "  ".join(map(make_printable, tab.offers))] if tab.offers else []
        begun = self._writing.begun
        return [*found, "%s, and then?" % " ".join(begun)] if begun else found
