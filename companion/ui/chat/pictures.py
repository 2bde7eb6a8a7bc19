"""The pictures of a chat, below the lines that name them. Each is read in a thread, and drawn in
the first view alone (docs/sublime.md 7.11, 7.13). UI thread only."""

from __future__ import annotations

import base64
from functools import partial
from typing import Callable, Sequence

import sublime

from ...base.answer import Answer
from ...base.background import start_work
from ...base.image_size import image_kind
from ...base.regular_file import read_regular
from ...chat.rendered import Picture
from ...chat.resource_lines import MAX_BYTES, PICTURES
from .. import queues

KEY = "gemini_companion_picture_{}"
# Pixels of the screen that a picture takes at most, and those that it leaves beside it.
MAX_WIDTH, MAX_HEIGHT, BESIDE = 480, 320, 32
HTML = '<body><img src="data:{};base64,{}" width="{}" height="{}"></body>'


class Pictures:
    """`put` makes a call that puts one below the line of a point, which makes the views higher."""

    def __init__(self, put: Callable[[int, Callable[[], object]], None]) -> None:
        self._put = put
        # By the view and the number of a block: what says that its pictures are still wanted.
        self._wanted: dict[tuple[int, int], object] = {}

    def draw_block(
        self, view: sublime.View, number: int, begin: int, pictures: Sequence[Picture]
    ) -> None:
        """Draw those of the block with this number, which begins there, instead of older ones."""
        known = view.id(), number
        if known in self._wanted:
            self.erase_block(view, number)
        if not pictures or not view.is_primary():
            return
        mark = self._wanted[known] = object()
        regions = [
            sublime.Region(begin + picture.start, begin + picture.end) for picture in pictures
        ]
        # They move with the text until the files are read.
        view.add_regions(KEY.format(number), regions, flags=sublime.HIDDEN)
        for place, picture in enumerate(pictures):
            reading = start_work(partial(_read_picture, picture.path))
            show = partial(self._show, view, number, mark, place, picture, reading)
            reading.when_there(partial(queues.on_ui_thread, show))

    def erase_block(self, view: sublime.View, number: int) -> None:
        if self._wanted.pop((view.id(), number), None) is not None and view.is_valid():
            view.erase_phantoms(KEY.format(number))
            view.erase_regions(KEY.format(number))

    def erase_all(self, view: sublime.View) -> None:
        """The view is being closed, or nobody draws in it any more."""
        for _id, number in [known for known in self._wanted if known[0] == view.id()]:
            self.erase_block(view, number)

    def _show(
        self,
        view: sublime.View,
        number: int,
        mark: object,
        place: int,
        picture: Picture,
        reading: Answer[str],
    ) -> None:
        if self._wanted.get((view.id(), number)) is not mark or not view.is_valid():
            return
        try:
            source = reading.result()
        except OSError:
            # Its line has a link, which says why.
            return
        regions = view.get_regions(KEY.format(number))
        if source and place < len(regions):
            content = source.format(*_size_in(view, picture))
            where = sublime.Region(regions[place].a)
            told = KEY.format(number), where, content, sublime.LAYOUT_BELOW
            self._put(where.a, partial(view.add_phantom, *told))


def _read_picture(path: str) -> str:
    """The HTML with places for width and height; empty if there is something else now. Raises
    OSError."""
    data = read_regular(path, MAX_BYTES)
    kind = image_kind(data)
    if kind is None or kind.media_type not in PICTURES:
        return ""
    return HTML.format(kind.media_type, base64.b64encode(data).decode("ascii"), "{}", "{}")


def _size_in(view: sublime.View, picture: Picture) -> tuple[int, int]:
    """Its width and height in the view, in pixels; it is not made larger."""
    room = max(BESIDE, int(view.viewport_extent()[0]) - BESIDE)
    scale = min(1.0, min(MAX_WIDTH, room) / picture.width, MAX_HEIGHT / picture.height)
    return max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
