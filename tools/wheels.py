"""The wheels of a library as the package index lists them; downloads none."""

from __future__ import annotations

import fnmatch
import functools
import json
import re
import urllib.request
from typing import Any, Callable, Dict, List, Mapping, Tuple

# What the index lists of a library in a version. Raises OSError and ValueError.
Ask = Callable[[str, str], Mapping[str, Any]]
PATIENCE = 60.0  # seconds


class Missing(Exception):
    """The index has no such wheel, or answered with something else: a sentence."""


def asking(index: str) -> Ask:
    """`index` is an address below which NAME/VERSION/json is a library in a version."""

    @functools.lru_cache(maxsize=None)
    def ask(name: str, version: str) -> Mapping[str, Any]:
        address = f"{index.rstrip('/')}/{name}/{version}/json"
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            return dict(json.load(answer))

    return ask


def resolve(ask: Ask, name: str, version: str, pattern: str) -> Dict[str, str]:
    """Address, version, date and digest of the one wheel whose name fits. Raises Missing."""
    try:
        listed = ask(name, version)
        fitting = [
            file for file in listed["urls"] if fnmatch.fnmatchcase(file["filename"], pattern)
        ]
        usable = [file for file in fitting if not file["yanked"]]
        if not usable:
            raise Missing(f"{name} {version} has no wheel that is called {pattern}.")
        file = min(usable, key=lambda it: _oldest_system(it["filename"]))
        return {
            "url": _checked(file["url"], r"https://\S+[.]whl"),
            "version": version,
            "date": file["upload_time"].replace("T", " ")[:19],
            "sha256": _checked(file["digests"]["sha256"], r"[0-9a-f]{64}"),
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Missing(f"The index does not list {name} {version} as expected: {error!r}") from error


def page(ask: Ask, name: str, version: str) -> str:
    """The address of the library's own page. Raises Missing."""
    try:
        return _checked(ask(name, version)["info"]["package_url"], r"https://\S+")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Missing(f"The index does not list {name} {version} as expected: {error!r}") from error


def _oldest_system(filename: str) -> List[Tuple[int, int]]:
    """Of several wheels, the one that asks for the oldest C library or macOS runs everywhere."""
    found = re.findall(r"(?:manylinux|macosx)_(\d+)_(\d+)_", filename)
    return sorted((int(major), int(minor)) for major, minor in found)


def _checked(text: str, pattern: str) -> str:
    if not re.fullmatch(pattern, text):
        raise ValueError(text)
    return text
