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
    """The path in an address; what is none is a path already. Empty if it is no good address.

    >>> path_of_url("file:///C:/a%20b.py")
    'C:\\\\a b.py'
    """
    if not url.startswith("file://"):
        return url
    try:
        path = unquote(urlsplit(url).path)
    except ValueError:
        return ""
    return path[1:].replace("/", "\\") if DRIVE.match(path) else path


def path_of_raw_url(url: str) -> str:
    """The path in an address that was made without encoding anything, as the CLI does.

    >>> path_of_raw_url("file:///a%20#b.py")
    '/a%20#b.py'
    """
    path = url[len("file://") :] if url.startswith("file://") else url
    path = path[1:] if DRIVE.match(path) else path
    return path.replace("/", "\\") if path[1:2] == ":" else path
