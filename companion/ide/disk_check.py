"""Checks whether the texts that CLIs were told are on disk. Writes nothing itself.

The CLI writes the file. It may end before that, be interrupted, or the user may decide otherwise in
the terminal. Then only the book has what the user typed.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from functools import partial
from typing import Awaitable, Callable, NamedTuple

from ..base import file_content
from ..base.background import in_thread
from ..base.file_content import Stamp
from ..base.log import logger
from .accepted_texts import PATIENCE
from .clis import by_id
from .decisions import TOLD, Book, Entry
from .delivery import LIST
from .editor import EditorError

# Seconds after a CLI was told at which its file is checked. Whoever changes the file again, such as
# a formatter, comes after one of these checks. After the last one, a text that comes back does so.
CHECKED_AFTER = (0.1, 0.25, 0.5, 1.0, 2.0)
# Hours for which a text is kept after its file has become something else. By then the CLI has
# written it and somebody has changed it again, or the CLI never will. The hours are counted here,
# because the clock may be set at any time.
SUPERSEDED, HOUR = 24, 60 * 60.0
# Seconds for a disk to give the content of a file.
READING = 5.0
MARK = "\ufeff"
UNWRITTEN = "{cli} has not written {file}; your text is kept. See " + LIST + "."


class DiskCheck:
    """The texts in the book of one window that are TOLD.

    `give_back` gets each entry that comes back to the user. The entry is forgotten once that has
    returned; if it raised EditorError, it is tried again. `tell` gets sentences for the user.
    """

    def __init__(
        self,
        book: Book,
        give_back: Callable[[Entry], Awaitable[None]],
        tell: Callable[[str], None],
        on_change: Callable[[], None],
    ) -> None:
        self._book = book
        self._give_back = give_back
        self._tell = tell
        self._on_change = on_change
        # The last state of each text's file: an untouched file is not read again.
        self._seen: dict[int, DiskState] = {}
        self._judged: set[int] = set()
        # When the last hour began for a file that is something else, by the loop's time.
        self._hour: dict[int, float] = {}
        # Texts whose file nobody has touched: certainly nobody has written them.
        self.missing: set[int] = set()
        # Texts that could not be given back yet, and texts that are being given back: the editor
        # may be busy until after the next check.
        self._overdue: set[int] = set()
        self._returning: set[int] = set()
        self._is_stopped = False

    def stop(self) -> None:
        """The book belongs to somebody else from now on."""
        self._is_stopped = True

    def watch_text(self, number: int) -> None:
        """Check several times in the next seconds."""
        loop = asyncio.get_running_loop()
        for seconds in CHECKED_AFTER:
            loop.call_later(seconds, self._begin_check, number, seconds == CHECKED_AFTER[-1])

    def check_soon(self) -> None:
        """Check now what was written, before the next text is."""
        for number in self._book.numbers_in(TOLD):
            self._begin_check(number)

    async def check_files(self) -> None:
        """Look at the file of each text that a CLI was told; call it from time to time."""
        checks = (
            self._check_file(number, number in self._overdue)
            for number in self._book.numbers_in(TOLD)
        )
        await asyncio.gather(*checks)
        # Other texts may have been told meanwhile; what was seen of their files counts.
        numbers = self._book.numbers_in(TOLD)
        for gone in set(self._seen) - set(numbers):
            del self._seen[gone]
        for gone in set(self._hour) - set(numbers):
            del self._hour[gone]
        for known in (self._judged, self.missing, self._overdue):
            known.intersection_update(numbers)

    def _begin_check(self, number: int, is_last: bool = False) -> None:
        if self._has_text(number) and not self._is_stopped:
            asyncio.ensure_future(self._check_file(number, is_last))

    def _has_text(self, number: int) -> bool:
        """False also if the user has withdrawn the text meanwhile; its CLI is told a rejection."""
        return number in self._book and self._book[number].text is not None

    async def _check_file(self, number: int, is_last: bool = False) -> None:
        if number not in self._book:
            # It was forgotten before its turn.
            return
        entry = self._book[number]
        last = None if is_last else self._seen.get(number)
        sight: DiskState | None = None
        try:
            sight = await in_thread(partial(_read_state, entry, last), READING)
        except asyncio.TimeoutError:
            logger.warning("it is not known whether an accepted text was written")
        if self._is_stopped or not self._has_text(number):
            return
        if sight is not None and sight.has_text:
            self._forget_text(number)
        elif entry.comes_back:
            if is_last and number not in self._returning:
                await self._return_text(number, entry)
        elif sight is not None:
            self._seen[number] = sight
            self._judge_file(number, entry, sight.is_other)

    async def _return_text(self, number: int, entry: Entry) -> None:
        self._overdue.add(number)
        self._returning.add(number)
        try:
            await self._give_back(entry)
        except EditorError as error:
            logger.warning("a text could not be given back yet: %s", error)
        else:
            self._forget_text(number)
        finally:
            self._returning.discard(number)

    def _judge_file(self, number: int, entry: Entry, is_other: bool) -> None:
        """The file does not have the text."""
        now = asyncio.get_running_loop().time()
        is_superseded = is_other and number not in self.missing
        if is_superseded and now - self._hour.setdefault(number, now) > HOUR:
            self._hour[number] = now
            if self._book.grow_older(number) >= SUPERSEDED:
                self._book.forget(number)
            self._on_change()
        elif abs(time.time() - entry.decided_at) > PATIENCE and number not in self._judged:
            self._judged.add(number)
            if not is_other:
                self.missing.add(number)
                self._book.keep_unwritten(number)
                # Without the path, because the file may be excluded (docs/settings.md).
                logger.warning("an accepted text was not written")
                name = by_id(entry.cli).name
                self._tell(UNWRITTEN.format(cli=name, file=os.path.basename(entry.path)))
                self._on_change()

    def _forget_text(self, number: int) -> None:
        self._book.forget(number)
        self._on_change()


class DiskState(NamedTuple):
    """The state of a text's file: whether it has the text, or else whether it has changed since
    the user accepted."""

    stamp: Stamp
    has_text: bool
    is_other: bool


def _read_state(entry: Entry, last: DiskState | None) -> DiskState:
    """`last` is the result of the last check, which did not find the text."""
    stamp = file_content.file_stamp(entry.path)
    if last is not None and stamp == last.stamp:
        return last
    present = file_content.read_original(entry.path)
    is_other = present.digest not in ("", entry.before) and entry.before is not None
    return DiskState(stamp, is_in(entry.text or "", present), is_other)


def is_in(text: str, present: file_content.Original) -> bool:
    """Whether the file has the text. Its byte order mark and line ends are left to the CLI."""
    text = file_content.unix_line_ends(text.lstrip(MARK))
    if present.is_cut:
        return present.digest in _possible_digests(text)
    return present.text.lstrip(MARK) == text


def _possible_digests(text: str) -> set[str]:
    """The digests of a file with the text, as `file_content` makes them."""
    ends = (text, text.replace("\n", "\r\n"))
    datas = [(mark + end).encode("utf-8", "surrogatepass") for end in ends for mark in ("", MARK)]
    return {hashlib.sha256(data).hexdigest() for data in datas}
