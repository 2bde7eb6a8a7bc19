"""What would be lost with a work tree: what was changed in it and taken over by nobody."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Callable, Collection, Iterator, Sequence

from .file_git import GitPlaces, open_file_git
from .folder_deletion import is_real_folder
from .git import GitFailure, git_or_nothing, run_git
from .ignored import files_below
from .inside import path_in
from .named import Named, shown_name
from .untaken import Untaken
from .whereabouts import DOT_GIT, Whereabouts, find_place, read_text
from .work_tree import WorkTree

# Of the commits that the tree's HEAD was at, so many are asked for.
MAX_MOVES = 20_000
# The most files of what was copied into it that are looked at.
MAX_FILES = 100_000
# What git keeps of a tree while something is in progress there.
IN_PROGRESS = {
    "MERGE_HEAD": "A merge",
    "rebase-merge": "A rebase",
    "rebase-apply": "A rebase",
    "CHERRY_PICK_HEAD": "A cherry-pick",
    "REVERT_HEAD": "A revert",
    "BISECT_LOG": "A bisection",
}
CUT_OFF = "git does not know {} as this work tree any more. All that is in it would be lost."
REPLACED = "There is another repository in {} by now, which stays."
STRANDED = "The repository {} is not there. All that is in {} would be lost."
MISSING = "{} is not there: it was deleted or moved, or its disk is away."
MOVED = "It was moved to {}, which would be removed."
NOT_KNOWN = "It is not known what would be lost: {}"


@dataclass(frozen=True)
class Loss:
    """`changes` are paths that differ from the beginning and were not taken over, `left` those that
    were decided on, and of which something was to stay in the tree. `commits` are
    those in no branch and no tag, and `ignored` the files that git ignores and that were not there,
    or not like that, at the beginning. `stashed` are stash entries that were made from it: these
    stay. `more` are sentences about all else."""

    changes: Named = Named()
    left: Named = Named()
    commits: Named = Named()
    ignored: Named = Named()
    stashed: Named = Named()
    more: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        return self == Loss()

    @property
    def sentences(self) -> tuple[str, ...]:
        """What to ask the user with."""
        told = (
            (
                self.changes,
                "1 changed file was not taken over",
                "{} changed files were not taken over",
            ),
            (
                self.left,
                "1 file was decided on, and not all of it taken over",
                "{} files were decided on, and not all of them taken over",
            ),
            (self.commits, "1 commit is in no branch or tag", "{} commits are in no branch or tag"),
            (self.ignored, "1 thing that git ignores is new", "{} things that git ignores are new"),
            (
                self.stashed,
                "1 stash entry was made from it, and stays in the stash",
                "{} stash entries were made from it, and stay in the stash",
            ),
        )
        return (*(names.say(one, many) for names, one, many in told if names), *self.more)


def what_would_be_lost(
    tree: WorkTree, find_untaken: Callable[[WorkTree], Untaken], scratch: str
) -> Loss:
    """What would be lost with the tree. `find_untaken` gives what was not taken over of
    it; `scratch` is a folder of ours. What cannot be found out is a sentence, too."""
    place = find_place(tree)
    if place.kind is Whereabouts.REMOVED:
        return Loss()
    shown = shown_name(place.path)
    if place.kind is Whereabouts.STRANDED:
        is_there = os.path.lexists(tree.path)
        sentence = STRANDED.format(shown_name(tree.git_folder), shown)
        return Loss(more=(sentence,)) if is_there else Loss()
    loss = _loss_of_history(tree)
    if place.kind is Whereabouts.REPLACED:
        return _with_sentence(loss, REPLACED.format(shown))
    if place.kind is Whereabouts.CUT_OFF:
        return _with_sentence(loss, CUT_OFF.format(shown))
    if place.kind is Whereabouts.MISSING:
        loss = _with_sentence(loss, MISSING.format(shown))
    else:
        loss = _with_files(loss, replace(tree, path=place.path), find_untaken, scratch)
    if place.kind is Whereabouts.MOVED:
        loss = _with_sentence(loss, MOVED.format(shown))
    if place.lock is not None:
        reason = f": {shown_name(place.lock)}" if place.lock else ""
        loss = _with_sentence(loss, f"Somebody has locked it{reason}.")
    return loss


def _with_sentence(loss: Loss, sentence: str) -> Loss:
    return replace(loss, more=(*loss.more, sentence))


def _with_files(
    loss: Loss, tree: WorkTree, find_untaken: Callable[[WorkTree], Untaken], scratch: str
) -> Loss:
    try:
        untaken = find_untaken(tree)
        ignored = _new_ignored(tree, scratch, untaken)
    except (GitFailure, OSError) as error:
        return _with_sentence(loss, NOT_KNOWN.format(error))
    # What an agent writes anew after the question is not what the user has agreed to.
    waiting, left = (Named.of(paths, partial(_mark_of, tree)) for paths in untaken)
    return replace(loss, changes=waiting, left=left, ignored=ignored)


def _mark_of(tree: WorkTree, path: str) -> object:
    """Another one if what is at the path was written since."""
    try:
        status = os.lstat(path_in(tree.path, path))
    except OSError:
        return None
    times = status.st_mtime_ns, status.st_ctime_ns
    return (*times, status.st_mode, status.st_size, status.st_ino)


def _new_ignored(tree: WorkTree, scratch: str, untaken: Untaken) -> Named:
    """Raises GitFailure."""
    places = GitPlaces(tree.path, tree.admin_folder, tree.git_folder)
    words = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    with open_file_git(places, scratch) as git:
        told = os.fsdecode(git.run(*words)).split("\0")
    names = [path for path in told if path and not _is_carried(tree, path)]
    named = {path.rstrip("/") for path in (*tree.carried, *names, *untaken.waiting, *untaken.left)}
    return Named.of([*names, *_changed_copies(tree), *sorted(_hidden(tree, named))])


def _hidden(tree: WorkTree, named: Collection[str]) -> Iterator[str]:
    """What has the name of git's own folder, and of which git lists nothing, without that in what
    is named already."""
    left, count = [""], 0
    while left and count < MAX_FILES:
        folder = left.pop()
        with suppress(OSError), os.scandir(path_in(tree.path, folder)) as entries:
            for entry in entries:
                count += 1
                path = f"{folder}/{entry.name}" if folder else entry.name
                is_folder = is_real_folder(entry.stat(follow_symlinks=False))
                if entry.name.lower() == DOT_GIT:
                    if folder and (is_folder or not _is_pointer(entry.path)):
                        yield path
                elif is_folder and path not in named:
                    left.append(path)


def _is_pointer(path: str) -> bool:
    """Whether it only says where a repository is."""
    with suppress(OSError):
        return read_text(*os.path.split(path)).startswith("gitdir:")
    return False


def _is_carried(tree: WorkTree, path: str) -> bool:
    """Whether it was taken into the tree, or is a folder with nothing else in it."""
    inside = [name for name in tree.carried if name.startswith(path)] if path[-1] == "/" else []
    if not inside:
        return path.rstrip("/") in tree.carried
    found = files_below(os.path.join(tree.path, path))
    names = (os.path.relpath(each, tree.path).replace(os.sep, "/") for each in found)
    beginnings = tuple(name + "/" for name in tree.carried)
    return all(
        name in tree.carried or name.startswith(beginnings) for name in islice(names, MAX_FILES)
    )


def _changed_copies(tree: WorkTree) -> Iterator[str]:
    """A file of each copy that was written after the tree was made. Programs give files old times;
    when the file system noted a change says only that itself. What a link leads to is not lost."""
    for name in tree.carried:
        for path in islice(files_below(os.path.join(tree.path, name)), MAX_FILES):
            with suppress(OSError):
                status = os.lstat(path)
                written = max(status.st_mtime, status.st_ctime)
                if stat.S_ISREG(status.st_mode) and written > tree.created:
                    yield os.path.relpath(path, tree.path).replace(os.sep, "/")
                    break


def _loss_of_history(tree: WorkTree) -> Loss:
    """What git keeps of the tree alone. It is read there, and in no folder that the agent works
    in."""
    admin = tree.admin_folder
    if not os.path.isdir(admin):
        return Loss()
    more = [
        f"{words} is in progress in it."
        for name, words in IN_PROGRESS.items()
        if os.path.lexists(os.path.join(admin, name))
    ]
    if os.path.isdir(os.path.join(admin, "modules")):
        more.append("Its submodules have commits of their own, which nobody has looked at.")
    loss = Loss(more=tuple(dict.fromkeys(more)))
    try:
        visited = _visited_commits(admin)
        commits, stashed = _lost_commits(tree, visited), _stashed(tree, visited)
    except GitFailure as error:
        return _with_sentence(loss, NOT_KNOWN.format(error))
    return replace(loss, commits=commits, stashed=stashed)


def _visited_commits(admin: str) -> list[str]:
    """Where the tree's HEAD was, as far as git knows, and the refs that are the tree's own."""
    words = ("log", "--walk-reflogs", "--format=%H", f"--max-count={MAX_MOVES}", "HEAD")
    told = git_or_nothing(admin, *words) + git_or_nothing(admin, "rev-parse", "--verify", "HEAD")
    patterns = ("refs/worktree", "refs/bisect", "refs/rewritten")
    told += run_git(admin, "for-each-ref", "--format=%(objectname)", *patterns)
    return list(dict.fromkeys(told.decode("ascii", "replace").split()))


def _lost_commits(tree: WorkTree, visited: Sequence[str]) -> Named:
    """Raises GitFailure."""
    if not visited:
        return Named()
    own = git_or_nothing(tree.git_folder, "rev-parse", "--verify", "--quiet", "HEAD")
    known = [f"^{id}" for id in (tree.beginning, own.decode("ascii", "replace").strip()) if id]
    # In this order the refs alone are those to leave out, in each release of git.
    kept = ("--stdin", "--not", "--branches", "--tags", "--remotes")
    words = ("log", "--ignore-missing", "--no-show-signature", "--format=%h %s", "-z", *kept)
    told = "\n".join([*visited, *known, ""]).encode("ascii")
    found = run_git(tree.git_folder, *words, told=told).decode("utf-8", "replace")
    return Named.of(filter(None, found.split("\0")))


def _stashed(tree: WorkTree, visited: Sequence[str]) -> Named:
    """The entries made since the beginning, on a commit that the tree was at."""
    words = ("log", "--walk-reflogs", "--format=%ct %P%n%gs", "-z", "refs/stash")
    told = git_or_nothing(tree.git_folder, *words).decode("utf-8", "replace")
    known, found = {*visited, tree.beginning}, []
    for row in filter(None, told.split("\0")):
        head, _, message = row.partition("\n")
        made, *parents = head.split(" ")
        with suppress(ValueError):
            if int(made) >= int(tree.created) and parents[:1] and parents[0] in known:
                found.append(message)
    return Named.of(found)
