"""The files of the web page that the server offers, and their media types."""

from __future__ import annotations

import os

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "page")
INDEX = "index.html"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


def read_page_files() -> dict[str, bytes]:
    """The page's files in the checkout, by paths with "/". Raises OSError."""
    found = {}
    for folder, _, names in os.walk(FOLDER):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.splitext(name)[1] in TYPES:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, FOLDER).replace(os.sep, "/")] = file.read()
    return found
