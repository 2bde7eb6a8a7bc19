"""Where an address of the web leads, read as browsers read it, which is not as most libraries do.
Pure.

    web_address("https://user@good.example:443/login").host     good.example
    web_address("http://evil.example\\\\@good.example/").host     evil.example
    web_address("http:\\t//bücher.example").host                 xn--bcher-kva.example

What browsers read in a surprising way, and what cannot be known to be read so, is no address here.

Source: the URL standard (url.spec.whatwg.org), 4.4 "URL parsing" and 3.5 "Host parsing".
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Sequence

from .shown_text import is_hidden

# Their usual ports, which an address does not name.
PORTS = {"http": 80, "https": 443}
MAX_LABEL, MAX_HOST = 63, 253

# What browsers remove: at both ends, and anywhere.
_ENDS = "".join(map(chr, range(0x21)))
_REMOVED = re.compile(r"[\t\n\r]")
_PARTS = re.compile(
    r"(?P<scheme>https?):[/\\]{2}(?P<place>[^/\\?#]*)(?P<rest>.*)", re.I | re.DOTALL
)
_PLACE = re.compile(r"(?P<host>\[[0-9a-f:]+\]|[^:\[\]]+)(?::(?P<port>[0-9]{0,5}))?", re.I)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?")
# A host whose last label is a number is an address of a machine, in several notations.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
# Neither in a user's name nor behind the host; a browser would encode or remove them.
_CONTROLS = re.compile("[\\x00-\\x20\\x7f-\\x9f\\ud800-\\udfff]")
# Directions of letters: those that are read from the right, and what a label of them may have.
_FROM_RIGHT, _RIGHT = ("R", "AL", "AN"), {"R", "AL", "NSM"}
# The prefix of a label that stands for letters beyond ASCII.
_ENCODED = "xn--"


@dataclass(frozen=True)
class WebAddress:
    """`host` is what a browser connects to, in ASCII, with its port where that is not the usual
    one. `url` is the address made of its parts anew, so that everybody reads it in the same
    way."""

    host: str
    url: str


def web_address(text: str) -> WebAddress | None:
    """None for what is no address of the web, or not clearly one."""
    parts = _PARTS.fullmatch(_REMOVED.sub("", text.strip(_ENDS)))
    if parts is None:
        return None
    scheme = parts.group("scheme").lower()
    user, at, place = parts.group("place").rpartition("@")
    path, mark, query = _divide_path(parts.group("rest"))
    found = _PLACE.fullmatch(place)
    if found is None or _CONTROLS.search(user + path + query):
        return None
    host = _ascii_host(found.group("host"))
    port = int(found.group("port") or PORTS[scheme])
    if not host or port > 0xFFFF:
        return None
    shown = host if port == PORTS[scheme] else f"{host}:{port}"
    named = user.replace("@", "%40") + at
    below = path.replace("\\", "/") or "/"
    return WebAddress(shown, f"{scheme}://{named}{shown}{below}{mark}{query}")


def _divide_path(rest: str) -> tuple[str, str, str]:
    """The path, and all that follows it behind its mark. Only in a path a backslash is a slash."""
    found = re.search("[?#]", rest)
    at = len(rest) if found is None else found.start()
    return rest[:at], rest[at : at + 1], rest[at + 1 :]


def _ascii_host(name: str) -> str:
    """The host's name in ASCII; empty if it is not clear what it stands for."""
    if name.startswith("["):
        return _bracketed_address(name[1:-1])
    labels = [_ascii_label(label) for label in name.split(".")]
    host = ".".join(labels)
    if not all(labels) or len(host) > MAX_HOST or not _runs_one_way(labels):
        return ""
    if not _NUMBER.fullmatch(labels[-1]):
        return host
    try:
        return str(IPv4Address(host)) if all(label == str(int(label)) for label in labels) else ""
    except (AddressValueError, ValueError):
        # Shorter forms and other bases.
        return ""


def _bracketed_address(name: str) -> str:
    try:
        told = str(IPv6Address(name))
    except (AddressValueError, ValueError):
        return ""
    # Python and browsers write an address of the older kind within it differently.
    return "" if "." in told else f"[{told}]"


def _ascii_label(label: str) -> str:
    """The label in ASCII; empty if it is none."""
    if not label.isascii():
        return _ENCODED + label.encode("punycode").decode("ascii") if _is_plain(label) else ""
    label = label.lower()
    if not _LABEL.fullmatch(label) or len(label) > MAX_LABEL:
        return ""
    if label.startswith(_ENCODED):
        try:
            letters = _decoded_letters(label)
        except UnicodeError:
            return ""
        return label if not letters.isascii() and _ascii_label(letters) == label else ""
    # Reserved for other codes.
    return "" if label[2:4] == "--" else label


def _is_plain(label: str) -> bool:
    """Whether each system writes these letters in the same code: nothing in them is another form of
    something else."""
    return (
        # Browsers leave letters out that nobody sees.
        not any(map(is_hidden, label))
        and label == label.lower() == label.casefold() == unicodedata.normalize("NFKC", label)
        and len(_ENCODED + label.encode("punycode").decode("ascii")) <= MAX_LABEL
        and unicodedata.category(label[0])[0] in "LN"
        and all(unicodedata.category(letter)[0] in "LMN" or letter == "-" for letter in label)
        and not (label.startswith("-") or label.endswith("-") or label[2:4] == "--")
        and (
            not _is_from_right(label)
            or {unicodedata.bidirectional(letter) for letter in label} <= _RIGHT
        )
    )


def _is_from_right(label: str) -> bool:
    return any(unicodedata.bidirectional(letter) in _FROM_RIGHT for letter in label)


def _runs_one_way(labels: Sequence[str]) -> bool:
    """Beside a label that is read from the right, one of digits would be seen in another place."""
    letters = [_decoded_letters(label) for label in labels]
    return not any(map(_is_from_right, letters)) or not any(
        label[0] in "0123456789_" for label in letters
    )


def _decoded_letters(label: str) -> str:
    """What a label in ASCII stands for."""
    is_encoded = label.startswith(_ENCODED)
    return label[len(_ENCODED) :].encode("ascii").decode("punycode") if is_encoded else label
