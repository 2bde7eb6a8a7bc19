"""The pictures of a chat, below the lines that name them. They are read in a thread, one after
the other, and drawn in the first view alone (docs/sublime.md 7.11, 7.13). UI thread only."""

from __future__ import annotations

import base64
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import Callable, Iterator, Sequence

import sublime

from ...base.answer import Answer
from ...base.image_size import image_kind
from ...base.regular_file import read_regular
from ...chat.rendered import Picture
from ...chat.resource_lines import MAX_BYTES, PICTURES
from .. import queues
from ..file_reading import in_time

KEY = "gemini_companion_picture_{}"
# Of one phantom: the number of its block, and its place there.
PHANTOM = KEY + "_{}"
# The most of one view: pictures, and their pixels and bytes, which the editor holds in memory.
MAX_COUNT, MAX_ALL_PIXELS, MAX_ALL_BYTES = 50, 64_000_000, 16 << 20
# Pixels of the screen that a picture takes at most, and those that it leaves beside it.
MAX_WIDTH, MAX_HEIGHT, BESIDE = 480, 320, 32
HTML = '<body><img src="data:{};base64,{}" width="{}" height="{}"></body>'


@dataclass
class _Block:
    """The pictures of a block, and the places of those that are drawn, or will be once they are
    read."""

    pictures: Sequence[Picture]
    chosen: set[int] = field(default_factory=set)


class _Room:
    """What is left of the room for the pictures of a view; each file takes some once."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._pixels, self._bytes = MAX_ALL_PIXELS, MAX_ALL_BYTES

    def take(self, picture: Picture) -> bool:
        """Whether there was room for it."""
        pixels = picture.width * picture.height
        is_there = picture.path in self._paths or len(self._paths) >= MAX_COUNT
        if is_there or pixels > self._pixels or picture.size > self._bytes:
            return False
        self._paths.add(picture.path)
        self._pixels -= pixels
        self._bytes -= picture.size
        return True


class Pictures:
    """`put` makes a call that puts one below the line of a point, which makes the views higher."""

    def __init__(self, put: Callable[[int, Callable[[], object]], None]) -> None:
        self._put = put
        # By the view and the number of a block.
        self._blocks: dict[tuple[int, int], _Block] = {}
        # The views whose pictures are to be chosen anew.
        self._changed: set[int] = set()
        # The view, the number of the block, the block and the place of those that are to be read.
        self._unread: deque[tuple[sublime.View, int, _Block, int]] = deque()
        self._is_reading = False

    def draw_block(
        self, view: sublime.View, number: int, begin: int, pictures: Sequence[Picture]
    ) -> None:
        """Draw those of the block with this number, which begins there, instead of older ones, as
        far as there is room: the last ones of the view."""
        self.erase_block(view, number)
        if not pictures or not view.is_primary():
            return
        self._blocks[view.id(), number] = _Block(pictures)
        regions = [
            sublime.Region(begin + picture.start, begin + picture.end) for picture in pictures
        ]
        # They move with the text until the files are read.
        view.add_regions(KEY.format(number), regions, flags=sublime.HIDDEN)
        if view.id() not in self._changed:
            self._changed.add(view.id())
            queues.on_ui_thread(partial(self._choose_pictures, view))

    def erase_block(self, view: sublime.View, number: int) -> None:
        block = self._blocks.pop((view.id(), number), None)
        if block is not None and view.is_valid():
            for place in block.chosen:
                view.erase_phantoms(PHANTOM.format(number, place))
            view.erase_regions(KEY.format(number))

    def erase_all(self, view: sublime.View) -> None:
        """The view is being closed, or nobody draws in it any more."""
        for number in self._numbers_in(view):
            self.erase_block(view, number)

    def _numbers_in(self, view: sublime.View) -> list[int]:
        return [number for view_id, number in self._blocks if view_id == view.id()]

    def _choose_pictures(self, view: sublime.View) -> None:
        """Draw the pictures for which there is room, from the end of the view on. The others are
        forgotten, so that many cost nothing."""
        self._changed.discard(view.id())
        if not view.is_valid():
            return
        room = _Room()
        for _begin, number in sorted(self._block_begins(view), reverse=True):
            block = self._blocks[view.id(), number]
            places = reversed(range(len(block.pictures)))
            chosen = [place for place in places if room.take(block.pictures[place])]
            for place in block.chosen.difference(chosen):
                view.erase_phantoms(PHANTOM.format(number, place))
            new = [place for place in chosen if place not in block.chosen]
            block.chosen = set(chosen)
            self._unread.extend((view, number, block, place) for place in new)
            if not chosen:
                self.erase_block(view, number)
        self._read_next()

    def _block_begins(self, view: sublime.View) -> Iterator[tuple[int, int]]:
        """Where the first picture of each block is named, and the block's number."""
        for number in self._numbers_in(view):
            regions = view.get_regions(KEY.format(number))
            yield regions[0].a if regions else 0, number

    def _read_next(self) -> None:
        while self._unread and not self._is_reading:
            view, number, block, place = self._unread.popleft()
            if self._is_wanted(view, number, block, place):
                self._is_reading = True
                picture = block.pictures[place]
                read = partial(_read_picture, picture, *_size_in(view, picture))
                # The next one is read also if this disk never answers.
                reading = in_time(read, "")
                show = partial(self._show, view, number, block, place, reading)
                reading.when_there(partial(queues.on_ui_thread, show))

    def _is_wanted(self, view: sublime.View, number: int, block: _Block, place: int) -> bool:
        is_there = view.is_valid() and self._blocks.get((view.id(), number)) is block
        return is_there and place in block.chosen

    def _show(
        self, view: sublime.View, number: int, block: _Block, place: int, reading: Answer[str]
    ) -> None:
        self._is_reading = False
        self._read_next()
        if not self._is_wanted(view, number, block, place):
            return
        try:
            content = reading.result()
        except OSError:
            # Its line has a link, which says why.
            return
        regions = view.get_regions(KEY.format(number))
        if content and place < len(regions):
            where = sublime.Region(regions[place].a)
            drawn = PHANTOM.format(number, place), where, content, sublime.LAYOUT_BELOW
            self._put(where.a, partial(view.add_phantom, *drawn))


def _read_picture(picture: Picture, width: int, height: int) -> str:
    """The HTML, of some megabytes, that shows it in this size; empty if the file has something else
    now, or another number of pixels, which may be very many. Raises OSError."""
    data = read_regular(picture.path, MAX_BYTES)
    kind = image_kind(data)
    if kind is None or kind.media_type not in PICTURES:
        return ""
    if (kind.width, kind.height) != (picture.width, picture.height):
        return ""
    return HTML.format(kind.media_type, base64.b64encode(data).decode("ascii"), width, height)


def _size_in(view: sublime.View, picture: Picture) -> tuple[int, int]:
    """Its width and height in the view, in pixels; it is not made larger."""
    room = max(BESIDE, int(view.viewport_extent()[0]) - BESIDE)
    scale = min(1.0, min(MAX_WIDTH, room) / picture.width, MAX_HEIGHT / picture.height)
    return max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
