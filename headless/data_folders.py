"""The folder in which an editor keeps what it has: a person's stays, a script's goes with it."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence, Tuple

from . import session
from .front import Front
from .options import Options

TEMPORARY = "headless-"
# In the folder, locked as long as the editor runs; the system unlocks that of one that was killed.
LOCK = "lock"
# Seconds after their last use when folders are removed: those that stay unless they have texts that
# are nowhere else; temporary ones once they surely are locked.
LONG, SHORT = 90 * 86400, 60
IN_USE = "Another editor has this project open: what this one has is not kept when it ends."
REFUSED = "What this editor has is not kept when it ends: %s."
NOT_OURS = "%s is no folder of your own, or lies in none"


class NotOurs(Exception):
    """Another user may have the folder, or it is none."""


class DataFolder(NamedTuple):
    """`stays` says whether the next editor has it again. `problem` is a sentence for a person for
    whom it should and does not."""

    path: str
    stays: bool
    problem: str = ""


@contextlib.contextmanager
def taken(options: Options, front: Front, name: str = "") -> Iterator[DataFolder]:
    """The one that the command line names; else, for a person, that of their project. One that goes
    with the editor has `name` in its own, for `remove_named`."""
    if options.data is not None:
        yield DataFolder(options.data, True)
        return
    kept = os.path.join(root(front, os.environ), _name(options.folders))
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


def root(front: Front, environment: Mapping[str, str], platform: str = sys.platform) -> str:
    """Where those lie that stay, by the rules of the platform (as `sys.platform` names it)."""
    home = os.path.expanduser("~")
    if platform == "darwin":
        return os.path.join(home, "Library", "Caches", front.cache_name)
    given = environment.get("XDG_CACHE_HOME", "")
    caches = given if os.path.isabs(given) else os.path.join(home, ".cache")
    return os.path.join(caches, front.cache_name)


def sweep(front: Front) -> None:
    """Remove the temporary folders of editors that were killed, and what nobody used for long."""
    places = ((tempfile.gettempdir(), TEMPORARY, SHORT), (root(front, os.environ), "", LONG))
    for place, prefix, seconds in places:
        for path in glob.glob(os.path.join(glob.escape(place), prefix + "*", LOCK)):
            with contextlib.suppress(OSError):
                _remove(os.path.dirname(path), time.time() - seconds, None if prefix else front)


def _remove(folder: str, last_use: float, front: Optional[Front]) -> None:
    """Where it is ours, was last used before, in seconds since the epoch, and is in nobody's use; a
    person's, which has a front, where no text would be lost. Raises OSError."""
    is_ours = os.lstat(folder).st_uid == os.getuid() and not os.path.islink(folder)
    if is_ours and os.stat(os.path.join(folder, LOCK)).st_mtime < last_use:
        descriptor = _lock(folder)
        if descriptor is not None:
            if front is None or not _has_texts(folder, front):
                shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)


def _has_texts(folder: str, front: Front) -> bool:
    """Whether texts may be nowhere but there: of tabs that were never saved, or those that the
    front knows of. What cannot be read may be one."""
    try:
        return session.has_unsaved_text(folder) or front.has_texts(folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return True


def _name(folders: Sequence[str]) -> str:
    return hashlib.sha256(os.fsencode("\0".join(folders))).hexdigest()[:16]


def _take(folder: str) -> Tuple[Optional[int], str]:
    """What has its lock; or None and a sentence that says why it cannot be had."""
    try:
        # Texts and tokens are in there.
        _make_own(os.path.dirname(folder))
        _make_own(folder)
        return _lock(folder), IN_USE
    except OSError as error:
        return None, REFUSED % error
    except NotOurs:
        return None, REFUSED % (NOT_OURS % folder)


def _make_own(folder: str) -> None:
    """Have a folder that nobody else can enter. Raises OSError, and NotOurs."""
    _make(folder)
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise NotOurs
    if sys.platform != "win32":
        if status.st_uid != os.getuid():
            raise NotOurs
        os.chmod(folder, 0o700)


def _make(folder: str) -> None:
    """With those above it that are missing, each for this user alone. Raises OSError."""
    if not os.path.isdir(folder):
        _make(os.path.dirname(folder))
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)


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
