"""Colours as colour schemes and minihtml write them, down to `color(var(--a) alpha(0.5))`."""

from __future__ import annotations

import colorsys
import re
from typing import Callable, List, NamedTuple, Optional

_NAMES = {
    "black": "#000000",
    "white": "#ffffff",
    "red": "#ff0000",
    "green": "#008000",
    "blue": "#0000ff",
    "yellow": "#ffff00",
    "orange": "#ffa500",
    "purple": "#800080",
    "pink": "#ffc0cb",
    "gray": "#808080",
    "grey": "#808080",
    "cyan": "#00ffff",
    "transparent": "#00000000",
}
_CALL = re.compile(r"^([a-z-]+)\((.*)\)$", re.DOTALL)
_ADJUSTER = re.compile(r"([a-z-]+)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")
# The hues behind the names --redish, region.bluish and so on, in degrees.
HUES = {
    "redish": 0,
    "orangish": 30,
    "yellowish": 55,
    "greenish": 120,
    "cyanish": 180,
    "bluish": 215,
    "purplish": 275,
    "pinkish": 315,
}


class Colour(NamedTuple):
    """Parts from 0 to 1; `a` 1 is opaque."""

    r: float
    g: float
    b: float
    a: float = 1.0

    def over(self, ground: "Colour") -> "Colour":
        """What is seen of it on an opaque ground."""
        mixed = [c * self.a + g * (1 - self.a) for c, g in zip(self[:3], ground[:3])]
        return Colour(mixed[0], mixed[1], mixed[2])

    def css(self) -> str:
        parts = "".join("%02x" % int(round(part * 255)) for part in self[:3])
        return "#" + parts + ("" if self.a >= 1 else "%02x" % int(round(self.a * 255)))

    def hue(self) -> float:
        """In degrees."""
        return colorsys.rgb_to_hls(*self[:3])[0] * 360

    def saturation(self) -> float:
        return colorsys.rgb_to_hls(*self[:3])[2]

    def luminance(self) -> float:
        return 0.299 * self.r + 0.587 * self.g + 0.114 * self.b


Find = Callable[[str], Optional[str]]


def parse(text: str, find: Find) -> Optional[Colour]:
    """The colour a text means, None where it means none; `find` gives a variable's text."""
    text = text.strip().lower()
    text = _NAMES.get(text, text)
    if text.startswith("#"):
        return _hexadecimal(text[1:])
    match = _CALL.match(text)
    if match is None:
        return None
    name, inside = match.groups()
    if name == "var":
        found = find(inside.strip())
        return (
            parse(found, lambda other: find(other) if other != inside else None) if found else None
        )
    if name in ("rgb", "rgba", "hsl", "hsla"):
        return _numeric(name, inside)
    return _adjusted(inside, find) if name in ("color", "color-mod") else None


def _hexadecimal(digits: str) -> Optional[Colour]:
    if len(digits) in (3, 4):
        digits = "".join(digit * 2 for digit in digits)
    if len(digits) not in (6, 8) or not re.match(r"^[0-9a-f]+$", digits):
        return None
    parts = [int(digits[at : at + 2], 16) / 255 for at in range(0, len(digits), 2)]
    return Colour(*parts)


def _numeric(name: str, inside: str) -> Optional[Colour]:
    parts = [part for part in re.split(r"[\s,/]+", inside.strip()) if part]
    try:
        values = [_number(part) for part in parts]
    except ValueError:
        return None
    if len(values) not in (3, 4):
        return None
    alpha = values[3] if len(values) == 4 else 1.0
    if name.startswith("rgb"):
        whole = [value if part.endswith("%") else value / 255 for value, part in zip(values, parts)]
        return Colour(whole[0], whole[1], whole[2], alpha)
    red, green, blue = colorsys.hls_to_rgb(values[0] / 360 % 1, values[2], values[1])
    return Colour(red, green, blue, alpha)


def _number(part: str) -> float:
    return float(part[:-1]) / 100 if part.endswith("%") else float(part.replace("deg", ""))


def _adjusted(inside: str, find: Find) -> Optional[Colour]:
    base, rest = _first_argument(inside)
    colour = parse(base, find)
    if colour is None:
        return None
    for name, argument in _ADJUSTER.findall(rest):
        colour = _adjust(colour, name, argument.strip(), find)
    return colour


def _first_argument(inside: str) -> List[str]:
    """The colour that `color()` begins with, and the adjusters behind it."""
    depth = 0
    inside = inside.strip()
    for at, character in enumerate(inside):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0 and character == " ":
            return [inside[:at], inside[at:]]
    return [inside, ""]


def _adjust(colour: Colour, name: str, argument: str, find: Find) -> Colour:
    if name in ("alpha", "a"):
        return colour._replace(a=_moved(colour.a, argument))
    if name in ("blend", "blenda"):
        other, amount = _first_argument(argument)
        ground = parse(other, find)
        share = _number(amount.split()[0]) if amount.split() else 0.5
        if ground is None:
            return colour
        return colour._replace(a=share).over(ground)._replace(a=colour.a)
    hue, light, saturation = colorsys.rgb_to_hls(*colour[:3])
    if name in ("lightness", "l"):
        light = _moved(light, argument)
    elif name in ("saturation", "s"):
        saturation = _moved(saturation, argument)
    return Colour(*colorsys.hls_to_rgb(hue, light, saturation), colour.a)


def _moved(value: float, argument: str) -> float:
    """`0.5` sets, `+ 10%` adds, `- 10%` takes away, `* 50%` multiplies."""
    parts = re.match(r"^([+*-]?)\s*([\d.]+%?)$", argument)
    if parts is None:
        return value
    amount = _number(parts.group(2))
    moved = {"+": value + amount, "-": value - amount, "*": value * amount}.get(
        parts.group(1), amount
    )
    return max(0.0, min(1.0, moved))


def nearest(colours: List[Colour], hue: float) -> Colour:
    """The colour of this hue among a scheme's own, else one that every scheme can show."""
    strong = [colour for colour in colours if colour.saturation() > 0.2 and colour.a == 1]

    def distance(colour: Colour) -> float:
        return abs((colour.hue() - hue + 180) % 360 - 180)

    found = min(strong, key=distance, default=None)
    if found is not None and distance(found) < 40:
        return found
    return Colour(*colorsys.hls_to_rgb(hue / 360, 0.6, 0.6))
