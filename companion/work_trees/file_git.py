"""Runs git on the files of a work tree with a git folder of our own, which borrows the objects of
the repository, and of its settings only those that name no program. So no filter, hook or monitor
of the repository can run, also if its settings change meanwhile; filters of the user's own settings
do."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Iterator, Mapping

from ..base.private_files import is_running
from ..base.regular_file import open_regular, read_regular
from .git import ALWAYS, READING, GitFailure, Watch, run_git, start_git, watch_for_pipes
from .waiting import PipeSearch, pipes_of_files

# The beginning of the name of such a folder, in a folder of ours; the process id follows.
NAME = ".gemini-companion-git-"
ABANDONED = re.compile(re.escape(NAME) + r"(\d+)-.*")
# Bytes of a file beside the objects that is taken along, and of the index.
MAX_FILE, MAX_INDEX = 8 << 20, 1 << 30
# The most parts of a split index.
MAX_PARTS = 8
# Settings of the repository that name no program and say what a file's content is, or how it is
# kept.
TAKEN = re.compile(
    r"core\.(filemode|symlinks|ignorecase|precomposeunicode|autocrlf|eol|longpaths|checkstat"
    r"|trustctime|bigfilethreshold|sharedrepository|sparsecheckout|sparsecheckoutcone"
    r"|compression|loosecompression)|extensions\.objectformat"
    r"|index\.sparse"
)
# Settings of a filter, which only the user's own may have.
OF_A_FILTER = re.compile(r"filter\..+\.(clean|smudge|process|required)", re.DOTALL)
# Settings of the repository that name a file with names.
TAKEN_FILES = ("core.excludesfile", "core.attributesfile")
SETTINGS = (
    *ALWAYS,
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "core.safecrlf=false",
    "core.bare=false",
    # Files are written side by side: 100,000 took 13 to 17 s in place of 28 to 86 s.
    "checkout.workers=4",
)


@dataclass(frozen=True)
class GitPlaces:
    """Where a work tree and the folders of its repository are: `root` has its files, `git_folder`
    its HEAD and index, and `common_folder` the objects; for the first work tree both are the
    same."""

    root: str
    git_folder: str
    common_folder: str


def find_places(folder: str) -> GitPlaces:
    """Those of the work tree that the folder belongs to. Raises GitFailure, also for a folder that
    belongs to none."""
    words = ("rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    told = os.fsdecode(run_git(folder, *words)).split("\n")[:-1]
    if len(told) != 3:
        raise GitFailure(f"git told no work tree for {folder}.")
    root, git_folder, common = told
    # The last one may be relative to the folder.
    common = os.path.join(folder, common)
    return GitPlaces(*(os.path.realpath(path) for path in (root, git_folder, common)))


@dataclass(frozen=True)
class FileGit:
    """git with a git folder of our own. `index` is the path of the index that it uses."""

    places: GitPlaces
    folder: str
    index: str
    objects: str

    def run(
        self,
        *words: str,
        told: bytes = b"",
        seconds: float | None = None,
        watch: Watch = Watch(),  # noqa: B008
        variables: Mapping[str, str] | None = None,
    ) -> bytes:
        """The output of a command at the root of the work tree. None knows a ref: a commit is
        named by its id. Raises GitFailure, also where it waits for a pipe in the work tree, and
        what the watch raises."""
        places = {
            "GIT_DIR": self.folder,
            "GIT_WORK_TREE": self.places.root,
            "GIT_INDEX_FILE": self.index,
            "GIT_OBJECT_DIRECTORY": self.objects,
        }
        given = {**places, **(variables or {})}
        root = self.places.root
        # git follows it from our folder.
        borrowed = os.path.join(self.places.common_folder, "objects", "info", "alternates")
        search = PipeSearch(root, partial(pipes_of_files, root, [borrowed]))
        watch = watch_for_pipes(search, watch)
        return start_git(root, words, SETTINGS, given, told, seconds, watch)


@contextmanager
def open_file_git(
    places: GitPlaces, scratch: str, index: str = "", keeps_objects: bool = False
) -> Iterator[FileGit]:
    """git for the files of a work tree, with the index at that path, or a copy of the work tree's
    own. New objects go to the repository if it `keeps_objects`, and are else gone afterwards.
    `scratch` is a folder of ours for files of the moment. Raises GitFailure."""
    _sweep(scratch)
    try:
        folder = tempfile.mkdtemp(prefix=f"{NAME}{os.getpid()}-", dir=scratch)
    except OSError as error:
        raise GitFailure(f"There can be no folder for git in {scratch}: {error}.") from error
    try:
        common = os.path.join(places.common_folder, "objects")
        objects = common if keeps_objects else os.path.join(folder, "objects")
        made = FileGit(places, folder, index or os.path.join(folder, "index"), objects)
        try:
            _fill(made, common)
            if not index:
                _copy_index(places.git_folder, folder)
        except OSError as error:
            where = error.filename or scratch
            reason = error.strerror or str(error)
            raise GitFailure(f"git cannot look at {places.root}: {where}: {reason}.") from error
        yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill(git: FileGit, objects: str) -> None:
    """Make what git takes for its folder. Raises OSError, GitFailure."""
    for name in ("objects/info", "refs", "info"):
        os.makedirs(os.path.join(git.folder, name))
    _write(git.folder, "HEAD", b"ref: refs/heads/none\n")
    if "\n" in objects:
        raise GitFailure(f"The path of {objects!r} has a line end, which git cannot take.")
    named = objects.replace(os.sep, "/")
    _write(git.folder, "objects/info/alternates", os.fsencode(named) + b"\n")
    _write(git.folder, "config", _settings_file(_taken_settings(git.places)))
    own, shared = git.places.git_folder, git.places.common_folder
    for place, name in (
        (shared, "info/exclude"),
        (shared, "info/attributes"),
        (own, "info/sparse-checkout"),
        (shared, "shallow"),
    ):
        with suppress(FileNotFoundError):
            _write(git.folder, name, read_regular(os.path.join(place, name), MAX_FILE))


def _write(folder: str, name: str, data: bytes) -> None:
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def repository_settings(root: str) -> list[tuple[str, str]]:
    """The settings that the repository itself has, with those in files that it includes; keys in
    lower case but for the names in them. Raises GitFailure."""
    found = _listed_settings(root, "--local")
    if any(key == "extensions.worktreeconfig" and value == "true" for key, value in found):
        # The file need not be there.
        with suppress(GitFailure):
            found += _listed_settings(root, "--worktree")
    return found


def _listed_settings(root: str, scope: str) -> list[tuple[str, str]]:
    told = run_git(root, "config", scope, "--includes", "--list", "-z", seconds=READING)
    rows = told.decode("utf-8", "surrogateescape").split("\0")
    # One without a value is true.
    return [(key, value if line else "true") for key, line, value in map(_parted, rows) if key]


def _parted(row: str) -> tuple[str, str, str]:
    return row.partition("\n")


def _taken_settings(places: GitPlaces) -> list[tuple[str, str]]:
    """The last one of a key counts."""
    users: list[tuple[str, str]] = []
    with suppress(GitFailure):
        # git reads them anyway, but for those that the user has for some folders only.
        users = _listed_settings(places.root, "--global")
    found = repository_settings(places.root)
    taken = [(key, value) for key, value in users if OF_A_FILTER.fullmatch(key)]
    taken += [(key, value) for key, value in [*users, *found] if TAKEN.fullmatch(key)]
    for key, value in [*users, *found]:
        path = os.path.expanduser(value)
        if key in TAKEN_FILES and os.path.isabs(path) and _is_regular(path):
            taken.append((key, path))
    if not any(key == "lfs.storage" for key, _ in users):
        # Where the most used filter keeps the contents that it takes out of the files.
        taken.append(("lfs.storage", os.path.join(places.common_folder, "lfs")))
    # It loads nothing, also if a file of the repository names a server: what is not there yet stays
    # what git has in its place.
    taken += [("lfs.url", "file:///nowhere"), ("lfs.skipdownloaderrors", "true")]
    return taken


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _settings_file(settings: list[tuple[str, str]]) -> bytes:
    """The text of a file of settings. Values are quoted; a key has a section, maybe a name, and its
    own word."""
    version = 1 if any(key.startswith("extensions.") for key, _ in settings) else 0
    lines = [f"[core]\n\trepositoryformatversion = {version}\n"]
    for key, value in settings:
        section, _, rest = key.partition(".")
        name, _, word = rest.rpartition(".")
        head = f'{section} "{_escaped(name)}"' if name else section
        lines.append(f'[{head}]\n\t{word} = "{_escaped(value, True)}"\n')
    return "".join(lines).encode("utf-8", "surrogateescape")


def _escaped(text: str, is_value: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return text.replace("\n", "\\n") if is_value else text


def _copy_index(git_folder: str, folder: str) -> None:
    """Copy the index with its parts. Its time says which files git has to compare again. Raises
    OSError."""
    with suppress(FileNotFoundError):
        _copy_file(os.path.join(git_folder, "index"), os.path.join(folder, "index"))
    names = [name for name in os.listdir(git_folder) if name.startswith("sharedindex.")]
    for name in sorted(names)[:MAX_PARTS]:
        with suppress(FileNotFoundError):
            _copy_file(os.path.join(git_folder, name), os.path.join(folder, name))


def _copy_file(source: str, target: str) -> None:
    with open_regular(source) as file, open(target, "wb") as copy:
        status = os.fstat(file.fileno())
        if status.st_size > MAX_INDEX:
            raise OSError(f"{source} has more than {MAX_INDEX >> 20} MiB")
        shutil.copyfileobj(file, copy)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _sweep(scratch: str) -> None:
    """Remove such folders of processes that have died."""
    with suppress(OSError):
        for name in os.listdir(scratch):
            match = ABANDONED.fullmatch(name)
            if match and not is_running(int(match.group(1))):
                shutil.rmtree(os.path.join(scratch, name), ignore_errors=True)
