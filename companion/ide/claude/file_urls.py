"""The addresses of files, `file://...`, on whichever system they are. Pure."""

from __future__ import annotations

import re
from pathlib import PurePosixPath, PureWindowsPath
from urllib.parse import unquote, urlsplit

DRIVE = re.compile("/[A-Za-z]:")


def file_url(path: str) -> str:
    """The address of a file with an absolute path.

    >>> file_url("/a b.py")
    'file:///a%20b.py'
    """
    is_windows = path[1:2] == ":" or path.startswith("\\\\")
    return (PureWindowsPath(path) if is_windows else PurePosixPath(path)).as_uri()


def path_of_url(url: str) -> str:
    """The path in an address; what is none is a path already.

    >>> path_of_url("file:///C:/a%20b.py")
    'C:\\\\a b.py'
    """
    if not url.startswith("file://"):
        return url
    path = unquote(urlsplit(url).path)
    return path[1:].replace("/", "\\") if DRIVE.match(path) else path
