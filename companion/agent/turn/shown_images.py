"""The images that an agent has shown in a conversation, on disk beside its transcript."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import Iterable, NamedTuple

from ...base import private_files
from ...base.image_size import GIF, JPEG, PNG, WEBP, image_kind
from ...base.regular_file import read_regular

# The most bytes of one image, and the bytes and the number of all of a conversation.
MAX_BYTES, MAX_ALL, MAX_COUNT = 10 << 20, 64 << 20, 200
# The ends of the files' names, by which editors know what is in them.
SUFFIXES = {PNG: ".png", JPEG: ".jpg", GIF: ".gif", WEBP: ".webp"}


class ShownImage(NamedTuple):
    """`name` is that of its file, in the folder of them. `size` is in bytes; `width` and `height`
    are in pixels, 0 where they are not known."""

    id: str
    name: str
    media_type: str
    size: int
    width: int
    height: int


class ShownImages:
    """The images of one conversation, in a folder inside the conversation's own. All methods block,
    and raise OSError."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.join(folder, "images")

    def add(self, data: bytes) -> ShownImage | None:
        """Keep the image; the same bytes are kept once. None for what is no image, and where it is
        too large or there are too many."""
        kind = image_kind(data)
        if kind is None or len(data) > MAX_BYTES:
            return None
        # With 128 bits, nobody finds another image with the id of this one.
        id = hashlib.sha256(data).hexdigest()[:32]
        name = id + SUFFIXES[kind.media_type]
        sizes = self._sizes()
        if name not in sizes:
            if len(sizes) >= MAX_COUNT or sum(sizes.values()) + len(data) > MAX_ALL:
                return None
            for folder in (os.path.dirname(self.folder), self.folder):
                private_files.make_folder(folder)
            private_files.write_file(os.path.join(self.folder, name), data)
        return ShownImage(id, name, kind.media_type, len(data), kind.width, kind.height)

    def size_of(self, id: str) -> int | None:
        """The image's size in bytes; None if there is none with this id."""
        return next((size for name, size in self._sizes().items() if _id_of(name) == id), None)

    def read_data(self, id: str) -> bytes | None:
        """None if there is none with this id."""
        name = next((name for name in self._sizes() if _id_of(name) == id), "")
        return read_regular(os.path.join(self.folder, name), MAX_BYTES) if name else None

    def copy_to(self, ids: Iterable[str], target: ShownImages) -> None:
        """Copy those of them that are still there to the `target`."""
        for id in ids:
            with suppress(OSError):
                data = self.read_data(id)
                if data is not None:
                    target.add(data)

    def _sizes(self) -> dict[str, int]:
        """The sizes of the files, by their names."""
        try:
            with os.scandir(self.folder) as found:
                return {entry.name: entry.stat().st_size for entry in found if entry.is_file()}
        except FileNotFoundError:
            return {}


def _id_of(name: str) -> str:
    """The id of the image with this name of a file."""
    return os.path.splitext(name)[0]
