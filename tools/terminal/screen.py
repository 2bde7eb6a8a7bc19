"""What the person at the terminal sees: one picture that is drawn anew, or lines in a pipe."""

from __future__ import annotations

import shutil
import sys
from typing import List, NamedTuple, Optional, Sequence, Tuple, Union

from headless.keys import write

from .sides import cut_text, wrap_text

CLEAR, HOME, REST_OF_LINE, REST = "\x1b[2J", "\x1b[H", "\x1b[K", "\x1b[J"
OTHER_SCREEN, FIRST_SCREEN = "\x1b[?1049h", "\x1b[?1049l"
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
CURSOR = "\x1b[%d;%dH"
# Messages that can be seen at a time.
MESSAGES = 3


class Frame(NamedTuple):
    """All that is shown, line by line: the proposal, a list or a panel over it, what was said so
    far, and the keys. Lines of the proposal fit the width already. `caret` are a line of the panel
    and a column, from 0, where the person writes there."""

    proposal: Sequence[str]
    panel: Sequence[str]
    messages: Sequence[str]
    keys: Sequence[str]
    caret: Optional[Tuple[int, int]] = None


class Screen:
    """A terminal: each frame takes the place of the one before."""

    colour = True

    def __init__(self) -> None:
        self._shown: Optional[Tuple[List[str], str]] = None
        self._size = (0, 0)
        write(OTHER_SCREEN + HIDE_CURSOR)

    @property
    def columns(self) -> int:
        return shutil.get_terminal_size().columns - 1

    def room(self, panel: Sequence[str], keys: Sequence[str]) -> int:
        """The lines that are left for the proposal."""
        rows = shutil.get_terminal_size().lines
        return max(4, rows - MESSAGES - len(keys) - min(len(panel), rows // 2) - 1)

    def panel_room(self, keys: Sequence[str], has_proposal: bool) -> Optional[int]:
        """How many lines of a list or a panel can be seen; None for all."""
        rows = shutil.get_terminal_size().lines
        return rows // 2 if has_proposal else max(4, rows - MESSAGES - len(keys) - 1)

    def draw(self, frame: Frame) -> None:
        size = shutil.get_terminal_size()
        # Without a proposal there is room for all that was said.
        room = self.room(frame.panel, frame.keys) if frame.proposal else 0
        others = room + len(frame.panel) + len(frame.keys) + 1
        top = [*frame.proposal[:room], *[""] * (room - len(frame.proposal))]
        count = max(MESSAGES, size.lines - others)
        recent = [row for line in frame.messages[-count:] for row in wrap_text(line, self.columns)]
        said = _last_messages(recent, count)
        rest = [*frame.panel, *said, *frame.keys]
        lines = top + [cut_text(line, self.columns) for line in rest]
        cursor = HIDE_CURSOR
        if frame.caret is not None:
            line, column = frame.caret
            cursor = CURSOR % (len(top) + line + 1, column + 1) + SHOW_CURSOR
        if (lines, cursor) == self._shown and size == self._size:
            return
        clear = CLEAR if size != self._size else ""
        self._shown, self._size = (lines, cursor), size
        # In raw mode a line feed alone does not return the carriage.
        text = "\r\n".join(line + REST_OF_LINE for line in lines) + REST
        write(clear + HIDE_CURSOR + HOME + text + cursor)

    def asks(self) -> None:
        """A line is asked for in the last row."""
        write("\x1b[%d;1H%s" % (shutil.get_terminal_size().lines, SHOW_CURSOR))

    def asked(self) -> None:
        """It was, or another program had the terminal."""
        self._shown, self._size = None, (0, 0)
        write(HIDE_CURSOR)

    def leave(self) -> None:
        write(SHOW_CURSOR + FIRST_SCREEN)


class Paper:
    """A pipe: each part of a frame is written when it is another one."""

    colour = False

    def __init__(self) -> None:
        self._shown = Frame((), (), (), ())

    @property
    def columns(self) -> int:
        return shutil.get_terminal_size().columns - 1

    def room(self, panel: Sequence[str], keys: Sequence[str]) -> int:
        return shutil.get_terminal_size().lines

    def panel_room(self, keys: Sequence[str], has_proposal: bool) -> Optional[int]:
        return None

    def draw(self, frame: Frame) -> None:
        before, self._shown = self._shown, frame
        lines = list(frame.messages[len(before.messages) :])
        if frame.panel != before.panel:
            lines += frame.panel
        if frame.proposal != before.proposal and frame.proposal:
            lines += ["", *frame.proposal]
        if lines:
            keys = frame.keys if frame.proposal != before.proposal else ()
            write("".join(line.rstrip() + "\n" for line in [*lines, *keys]))

    def asks(self) -> None:
        pass

    def asked(self) -> None:
        pass

    def leave(self) -> None:
        pass


AnyScreen = Union[Screen, Paper]


def open_screen() -> AnyScreen:
    """A terminal where there is one."""
    stream = sys.__stdout__
    return Screen() if stream is not None and stream.isatty() else Paper()


def _last_messages(messages: Sequence[str], count: int) -> List[str]:
    shown = list(messages[-count:])
    return [""] * (1 + count - len(shown)) + shown
