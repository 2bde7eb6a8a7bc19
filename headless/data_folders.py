"""The folder in which an editor keeps what it has: a person's stays, a script's goes with it."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import importlib
import json
import os
import shutil
import sys
import tempfile
import time
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence, Tuple

from . import session
from .options import Options

private_files = importlib.import_module(".base.private_files", __package__)
NAME = "gemini-companion-headless"
TEMPORARY = "headless-"
# In the folder, locked as long as the editor runs; the system unlocks that of one that was killed.
LOCK = "lock"
# What the package has for its restart, texts of the user's among it, and what it could not read of
# that; in the folder.
STATE, UNREAD = os.path.join("Cache", "*", "state.json"), ".unread*"
# Seconds after their last use when folders are removed: those that stay unless they have texts that
# are nowhere else; temporary ones once they surely are locked.
LONG, SHORT = 90 * 86400, 60
IN_USE = "Another editor has this project open: what this one has is not kept when it ends."
REFUSED = "What this editor has is not kept when it ends: %s."
NOT_OURS = "%s is no folder of your own, or lies in none"


class DataFolder(NamedTuple):
    """`stays` says whether the next editor has it again. `problem` is a sentence for a person for
    whom it should and does not."""

    path: str
    stays: bool
    problem: str = ""


@contextlib.contextmanager
def taken(options: Options, name: str = "") -> Iterator[DataFolder]:
    """The one that the command line names; else, for a person, that of their project. One that goes
    with the editor has `name` in its own, for `remove_named`."""
    if options.data is not None:
        yield DataFolder(options.data, True)
        return
    kept = os.path.join(root(os.environ), _name(options.folders))
    descriptor, problem = _take(kept) if options.script is None else (None, "")
    if descriptor is not None:
        try:
            yield DataFolder(kept, True)
        finally:
            with contextlib.suppress(OSError):
                os.utime(descriptor)
            os.close(descriptor)
        return
    folder = tempfile.mkdtemp(prefix=_prefix(name))
    with contextlib.suppress(OSError):  # some file systems have no locks; nobody sweeps there
        _lock(folder)
    yield DataFolder(folder, False, problem)


def remove_named(name: str) -> None:
    """Remove the temporary folder that was taken with this name, once the editor's process is over:
    until then a thread of a package that saves something would make it again."""
    for folder in glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), _prefix(name) + "*")):
        shutil.rmtree(folder, ignore_errors=True)


def _prefix(name: str) -> str:
    return "%s%s-" % (TEMPORARY, name)


def root(environment: Mapping[str, str], platform: str = sys.platform) -> str:
    """Where those lie that stay, by the rules of the platform (as `sys.platform` names it)."""
    home = os.path.expanduser("~")
    if platform == "darwin":
        return os.path.join(home, "Library", "Caches", NAME)
    given = environment.get("XDG_CACHE_HOME", "")
    return os.path.join(given if os.path.isabs(given) else os.path.join(home, ".cache"), NAME)


def sweep() -> None:
    """Remove the temporary folders of editors that were killed, and what nobody used for long."""
    places = ((tempfile.gettempdir(), TEMPORARY, SHORT), (root(os.environ), "", LONG))
    for place, prefix, seconds in places:
        for path in glob.glob(os.path.join(glob.escape(place), prefix + "*", LOCK)):
            with contextlib.suppress(OSError):
                _remove(os.path.dirname(path), time.time() - seconds, is_temporary=bool(prefix))


def _remove(folder: str, last_use: float, is_temporary: bool) -> None:
    """Where it is ours, was last used before, in seconds since the epoch, and is in nobody's use.
    Raises OSError."""
    is_ours = os.lstat(folder).st_uid == os.getuid() and not os.path.islink(folder)
    if is_ours and os.stat(os.path.join(folder, LOCK)).st_mtime < last_use:
        descriptor = _lock(folder)
        if descriptor is not None:
            if is_temporary or not _has_texts(folder):
                shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)


def _has_texts(folder: str) -> bool:
    """Whether texts may be nowhere but there: of tabs that were never saved, or that a CLI has not
    written. What cannot be read may be one."""
    state = os.path.join(glob.escape(folder), STATE)
    try:
        return (
            bool(glob.glob(state + UNREAD))
            or session.has_unsaved_text(folder)
            or any(_has_unwritten_text(path) for path in glob.glob(state))
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return True


def _has_unwritten_text(state: str) -> bool:
    """Raises what reading and parsing raise."""
    with open(state, encoding="utf-8") as file:
        windows = [json.loads(line) for line in file]
    proposals = [it for window in windows for it in window.get("proposals", ())]
    return any(it["text"] is not None for it in proposals)


def _name(folders: Sequence[str]) -> str:
    return hashlib.sha256(os.fsencode("\0".join(folders))).hexdigest()[:16]


def _take(folder: str) -> Tuple[Optional[int], str]:
    """What has its lock; or None and a sentence that says why it cannot be had."""
    try:
        # Texts and tokens are in there.
        private_files.make_parents(os.path.dirname(folder))
        private_files.make_folder(os.path.dirname(folder))
        private_files.make_folder(folder)
        return _lock(folder), IN_USE
    except OSError as error:
        return None, REFUSED % error
    except private_files.NotPrivate:
        return None, REFUSED % (NOT_OURS % folder)


def _lock(folder: str) -> Optional[int]:
    """A descriptor that has the folder's lock until it is closed, at the latest by the end of this
    process; None where another has it. Raises OSError."""
    if sys.platform == "win32":
        # No person, and nobody sweeps.
        return -1
    import fcntl

    descriptor = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    os.utime(descriptor)
    return descriptor
