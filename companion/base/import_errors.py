"""The sentence for a user whose editor lacks a library. Imports none."""

from __future__ import annotations

import os
import sys
import traceback

SENTENCE = (
    'The library "{}" {}. Run "Package Control: Satisfy Libraries" from the command palette (or'
    ' "make install" again, if you used that) and restart Sublime Text, or install the package'
    " that contains its libraries; see docs/install.md."
)


def import_error_sentence(error: Exception) -> str:
    """What to do about the error; empty if it is not caused by a library."""
    if isinstance(error, ImportError):
        name = (error.name or str(error)).partition(".")[0]
    elif isinstance(error, SyntaxError):
        name = _library_at(error.filename or "")
    else:
        name = _importing_library(error)
    if name in ("", __name__.partition(".")[0]):
        return ""
    is_absent = isinstance(error, ModuleNotFoundError) and not _has_no_part(error, name)
    return SENTENCE.format(name, "is missing" if is_absent else "does not fit")


def _has_no_part(error: ImportError, library: str) -> bool:
    """Whether only a module of the library is missing, as in another version of it."""
    return error.name != library and sys.modules.get(library) is not None


def _importing_library(error: Exception) -> str:
    """The top name of the library whose import failed; empty if our own code failed.

    A library for another Python may raise not only ImportError, but any error of its first lines.
    """
    found = ""
    for frame, _line in traceback.walk_tb(error.__traceback__):
        name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if name == __name__.partition(".")[0]:
            found = ""
        elif frame.f_code.co_name == "<module>":
            found = name
    return found


def _library_at(path: str) -> str:
    """The top name of the library that a file belongs to; empty if it belongs to none."""
    folders = [folder for folder in sys.path if folder and path.startswith(folder + os.sep)]
    if not folders:
        return ""
    folder = max(folders, key=len)
    top = path[len(folder) + 1 :].partition(os.sep)[0]
    return "" if __file__.startswith(os.path.join(folder, top)) else top.partition(".")[0]
