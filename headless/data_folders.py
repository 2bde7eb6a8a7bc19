"""The folder in which an editor keeps what it has: a person's stays, a script's goes with it."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import shutil
import sys
import tempfile
import time
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence, Tuple

from .options import Options

NAME = "gemini-companion-headless"
TEMPORARY = "headless-"
# In the folder, locked as long as the editor runs; the system unlocks that of one that was killed.
LOCK = "lock"
# Seconds after their last use when folders are removed: those that stay when the package would have
# forgotten its texts; temporary ones once they surely are locked.
LONG, SHORT = 90 * 86400, 60
IN_USE = "Another editor has this project open: what this one has is not kept when it ends."
REFUSED = "What this editor has is not kept when it ends: %s."


class DataFolder(NamedTuple):
    """`stays` says whether the next editor has it again. `problem` is a sentence for a person for
    whom it should and does not."""

    path: str
    stays: bool
    problem: str = ""


@contextlib.contextmanager
def taken(options: Options) -> Iterator[DataFolder]:
    """The one that the command line names; else, for a person, that of their project."""
    if options.data is not None:
        yield DataFolder(options.data, True)
        return
    kept = os.path.join(root(os.environ), _name(options.folders))
    descriptor, problem = _take(kept) if options.script is None else (None, "")
    if descriptor is not None:
        try:
            yield DataFolder(kept, True)
        finally:
            os.close(descriptor)
        return
    folder = tempfile.mkdtemp(prefix=TEMPORARY)
    try:
        with contextlib.suppress(OSError):  # some file systems have no locks; nobody sweeps there
            _lock(folder)
        yield DataFolder(folder, False, problem)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
                _remove(os.path.dirname(path), time.time() - seconds)


def _remove(folder: str, last_use: float) -> None:
    """Where it is ours, was last used before, in seconds since the epoch, and is in nobody's use.
    Raises OSError."""
    is_ours = os.lstat(folder).st_uid == os.getuid() and not os.path.islink(folder)
    if is_ours and os.stat(os.path.join(folder, LOCK)).st_mtime < last_use:
        descriptor = _lock(folder)
        if descriptor is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)


def _name(folders: Sequence[str]) -> str:
    return hashlib.sha256(os.fsencode("\0".join(folders))).hexdigest()[:16]


def _take(folder: str) -> Tuple[Optional[int], str]:
    """What has its lock; or None and a sentence that says why it cannot be had."""
    try:
        os.makedirs(os.path.dirname(os.path.dirname(folder)), exist_ok=True)
        for path in (os.path.dirname(folder), folder):
            # Texts and tokens are in there.
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, 0o700)
        return _lock(folder), IN_USE
    except OSError as error:
        return None, REFUSED % error


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
