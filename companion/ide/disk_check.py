"""Whether the texts of which CLIs were told are on disk; writes nothing itself.

The CLI writes the file. It may die before, have been interrupted, or have decided otherwise in the
terminal: then what the user typed stands nowhere but in the book.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from functools import partial
from typing import Awaitable, Callable, NamedTuple

from ..base.background import in_thread
from ..base.log import logger
from . import file_content
from .decisions import TOLD, Book, Entry
from .delivery import LIST, PATIENCE
from .editor import EditorError
from .file_content import Stamp

# Seconds after a CLI was told at which its file is looked at: whoever changes the file again, such
# as a formatter, comes after one of them. After the last one, a text that comes back does.
LOOKS = (0.1, 0.25, 0.5, 1.0, 2.0)
# Hours for which a text is held whose file has become something else since: by then the CLI has
# written it, and somebody went on, or it never will. They are counted here: between two readings of
# a clock, somebody may have set it.
SUPERSEDED, HOUR = 24, 60 * 60.0
# Seconds for a disk to tell what a file holds.
READING = 5.0
MARK = "\ufeff"
UNWRITTEN = "Gemini CLI has not written {}; your text is kept. See " + LIST + "."


class DiskCheck:
    """The texts of one window's book that are TOLD.

    `give_back` is given each entry that comes back to the user, which is forgotten once that has
    returned, and tried again where it raised EditorError; `tell` sentences for the user.
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
        # What was seen of a text's file last: one that nobody touched is not read again.
        self._seen: dict[int, Sight] = {}
        self._judged: set[int] = set()
        # When the last hour began of those whose file is something else, by the loop's time.
        self._hour: dict[int, float] = {}
        # Those of them whose file nobody has touched: sure to have been written by nobody.
        self.missing: set[int] = set()
        # Texts that could not be given back yet, and those that are being given back: the editor
        # may be busy for longer than it is to the next look.
        self._overdue: set[int] = set()
        self._returning: set[int] = set()
        self._is_stopped = False

    def stop(self) -> None:
        """Somebody else has the book from now on."""
        self._is_stopped = True

    def watch(self, number: int) -> None:
        """Look some times in the next seconds."""
        loop = asyncio.get_running_loop()
        for seconds in LOOKS:
            loop.call_later(seconds, self._begin, number, seconds == LOOKS[-1])

    def look_soon(self) -> None:
        """At what was written, before the next text is."""
        for number in self._book.of(TOLD):
            self._begin(number)

    async def look(self) -> None:
        """To be called now and then."""
        looks = (self._look_at(it, it in self._overdue) for it in self._book.of(TOLD))
        await asyncio.gather(*looks)
        # Some were told meanwhile, and what was seen of them counts.
        numbers = self._book.of(TOLD)
        for gone in set(self._seen) - set(numbers):
            del self._seen[gone]
        for gone in set(self._hour) - set(numbers):
            del self._hour[gone]
        for known in (self._judged, self.missing, self._overdue):
            known.intersection_update(numbers)

    def _begin(self, number: int, is_last: bool = False) -> None:
        if self._has_text(number) and not self._is_stopped:
            asyncio.ensure_future(self._look_at(number, is_last))

    def _has_text(self, number: int) -> bool:
        """Not where the user has withdrawn it meanwhile: that is to be told as a rejection."""
        return number in self._book and self._book[number].text is not None

    async def _look_at(self, number: int, is_last: bool = False) -> None:
        if number not in self._book:
            # It was forgotten before its turn came.
            return
        entry = self._book[number]
        last = None if is_last else self._seen.get(number)
        sight: Sight | None = None
        try:
            sight = await in_thread(partial(_look, entry, last), READING)
        except asyncio.TimeoutError:
            logger.warning("whether an accepted text was written cannot be seen")
        if self._is_stopped or not self._has_text(number):
            return
        if sight is not None and sight.has_text:
            self._forget(number)
        elif entry.comes_back:
            if is_last and number not in self._returning:
                await self._return(number, entry)
        elif sight is not None:
            self._seen[number] = sight
            self._judge(number, entry, sight.is_other)

    async def _return(self, number: int, entry: Entry) -> None:
        self._overdue.add(number)
        self._returning.add(number)
        try:
            await self._give_back(entry)
        except EditorError as error:
            logger.warning("a text could not be given back yet: %s", error)
        else:
            self._forget(number)
        finally:
            self._returning.discard(number)

    def _judge(self, number: int, entry: Entry, is_other: bool) -> None:
        """A file that does not have the text."""
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
                self._book.keep(number)
                # Without the path: the file may be one that is excluded (docs/settings.md).
                logger.warning("an accepted text was not written")
                self._tell(UNWRITTEN.format(os.path.basename(entry.path)))
                self._on_change()

    def _forget(self, number: int) -> None:
        self._book.forget(number)
        self._on_change()


class Sight(NamedTuple):
    """What a look at a text's file shows: whether it has the text, or is something else than it was
    when the user accepted."""

    stamp: Stamp
    has_text: bool
    is_other: bool


def _look(entry: Entry, last: Sight | None) -> Sight:
    """`last` is that of the last look, which did not see the text."""
    stamp = file_content.stamp(entry.path)
    if last is not None and stamp == last.stamp:
        return last
    present = file_content.read_or_note(entry.path)
    is_other = present.digest not in ("", entry.before) and entry.before is not None
    return Sight(stamp, is_in(entry.text or "", present), is_other)


def is_in(text: str, present: file_content.Original) -> bool:
    """Whether the file has it; a mark at the beginning and line ends are the CLI's affair."""
    text = file_content.unix(text.lstrip(MARK))
    if present.is_cut:
        return present.digest in _digests(text)
    return present.text.lstrip(MARK) == text


def _digests(text: str) -> set[str]:
    """Those of a file with the text, as `file_content` has them."""
    ends = (text, text.replace("\n", "\r\n"))
    datas = [(mark + it).encode("utf-8", "surrogatepass") for it in ends for mark in ("", MARK)]
    return {hashlib.sha256(data).hexdigest() for data in datas}
