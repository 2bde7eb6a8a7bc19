"""How a resource of the agent stands in the document: a line of ours with its link or its image,
and its text folded below."""

from __future__ import annotations

import json
import os
from typing import Sequence

from ..agent.turn_events import Resource
from ..base.shown_text import shown_line, spell_hidden
from .amounts import count_text, one_line, shorten_text
from .block import Block
from .excerpt import make_excerpt
from .markdown import fence_text
from .pen import Pen
from .rendered import DIM, LINE, OPEN_FILE, Picture, Rendered
from .text_links import link_to

SIGN = "→"
# The most of one call that are shown.
MOST = 50
# Code points of a name, of a description, and of an address.
MAX_NAME, MAX_DESCRIPTION, MAX_ADDRESS = 100, 200, 200
# The types of images that are drawn, the most bytes of one, and its most pixels: a small file can
# have very many, which the editor would hold in memory. The frames of a GIF can have more pixels
# than its beginning says.
PICTURES = ("image/png", "image/jpeg")
MAX_BYTES, MAX_PIXELS, MAX_SIDE = 4 << 20, 16_000_000, 16_384
NOT_KEPT = "is not shown: it is too large, or not a PNG, JPEG, GIF or WebP"
NOT_SHOWN = "cannot be shown here"
TOO_MANY_PIXELS = "too many pixels to open"


class ResourceBlock(Block):
    """One in an answer. `images` is the folder of the images that were kept."""

    is_compact = True

    def __init__(self, id: str, turn: str, resource: Resource, images: str) -> None:
        super().__init__(id, turn)
        self.is_over = True
        self._resource, self._images = resource, images

    def render_block(self) -> Rendered:
        pen = Pen(self.turn, self.leading)
        write_resources(pen, (self._resource,), self._images, "")
        return pen.rendered_text()


def write_resources(pen: Pen, resources: Sequence[Resource], images: str, indent: str) -> None:
    """Each with a line of its own."""
    for each in resources[:MOST]:
        pen.write(f"{LINE} {indent}{SIGN} ")
        if each.kind == Resource.IMAGE:
            _write_image(pen, each, images)
        else:
            _write_link(pen, each)
    if len(resources) > MOST:
        pen.write(f"{LINE} {indent}… {len(resources) - MOST:,} more\n", DIM)


def _write_link(pen: Pen, resource: Resource) -> None:
    uri = resource.uri
    name = _shown(resource.name or uri or resource.media_type or "a resource", MAX_NAME)
    if uri:
        found = link_to(uri)
        pen.write_link(name, found.action, **json.loads(found.argument))
    else:
        pen.write(name)
    if uri and resource.name and resource.name not in uri:
        pen.write(f"  {_shown(uri, MAX_ADDRESS)}", DIM)
    if resource.description:
        pen.write(f"  {_shown(resource.description, MAX_DESCRIPTION)}", DIM)
    if resource.kind == Resource.OTHER:
        pen.write(f"  {_facts_of(resource)}{NOT_SHOWN}", DIM)
    elif resource.is_long:
        pen.write(f"  {_size_of(resource)}", DIM)
    elif resource.kind == Resource.TEXT:
        pen.write(f"  {count_text(len(resource.text.splitlines()), 'line')}", DIM)
    pen.write("\n")
    if resource.text:
        _write_text(pen, resource)


def _write_text(pen: Pen, resource: Resource) -> None:
    start, excerpt = pen.at, make_excerpt(resource.text, spell_hidden)
    pen.write(fence_text(excerpt.head))
    if resource.is_long:
        pen.write(f"{LINE}   … the rest is left out here\n", DIM)
    elif excerpt.cut:
        pen.write(f"{LINE}   … {excerpt.cut} are left out here\n", DIM)
        pen.write(fence_text(excerpt.tail))
    pen.fold_from(start)


def _write_image(pen: Pen, resource: Resource, images: str) -> None:
    name = _shown(resource.name or "image", MAX_NAME)
    if not resource.image:
        pen.write(f"{name}  {_facts_of(resource)}{NOT_KEPT}\n", DIM)
        return
    path, start = os.path.join(images, resource.file), pen.at
    can_open = _is_within(resource.width, resource.height)
    if can_open:
        pen.write_link(name, OPEN_FILE, path=path)
    else:
        pen.write(name)
    pixels = f"{resource.width:,} × {resource.height:,}, " if resource.width else ""
    pen.write(f"  {pixels}{_size_of(resource)}{'' if can_open else ', ' + TOO_MANY_PIXELS}", DIM)
    if _is_drawn(resource):
        size = resource.width, resource.height, resource.size
        pen.add_picture(Picture(start, pen.at, path, *size))
    pen.write("\n")


def _is_within(width: int, height: int) -> bool:
    """Whether the editor can hold so many pixels."""
    return max(width, height) <= MAX_SIDE and width * height <= MAX_PIXELS


def _is_drawn(resource: Resource) -> bool:
    return (
        resource.media_type in PICTURES
        and 0 < resource.size <= MAX_BYTES
        and min(resource.width, resource.height) > 0
        and _is_within(resource.width, resource.height)
    )


def _facts_of(resource: Resource) -> str:
    """Its type and its size, as far as they are known, and a blank."""
    facts = filter(None, (_shown(resource.media_type, MAX_NAME), _size_of(resource)))
    return "".join([", ".join(facts), " "]).lstrip()


def _size_of(resource: Resource) -> str:
    return count_text(resource.size, "byte") if resource.size else ""


def _shown(text: str, most: int) -> str:
    return shorten_text(shown_line(one_line(text)), most)
