"""Runs git for what it keeps in its own folder: commits, refs, work trees, settings. No program
that a repository names is started. What compares or writes the files of a work tree is in
`file_git`."""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import IO, Callable, Mapping

from ..base.child_processes import NO_WINDOW, end_tree, users_variables
from ..base.login_path import LOGIN_PATH
from ..base.shown_text import shown_line
from .waiting import PipeSearch, pipes_of_repository

# Bytes of what git writes; more is refused. Bytes of its errors that are kept: the last ones.
MAX_OUTPUT, MAX_ERRORS = 256 << 20, 16 << 10
# Characters of what git said in a sentence for the user.
MAX_SAID = 400
# Seconds for a command that reads only git's own folder: it waits for nothing but the disk.
READING = 60.0
# Seconds between looks at whether the work is still wanted.
PAUSE = 0.2
CHUNK = 1 << 16
# What git says besides, as how far it is, and how it begins a line that says why it failed.
PASSED_OVER = re.compile(r": +\d+% \(\d+/\d+\)|^(hint|warning): ")
SERIOUS = re.compile(r"(fatal|error): ")
# Variables of git that the user sets for all repositories. The others lead git to one of them.
OF_THE_USER = re.compile(
    r"GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|(KEY|VALUE)_\d+)|EXEC_PATH|TRACE2?_.*|LFS_.*)"
)
VARIABLES = {
    # No question, and no network: to fetch, git would run programs that the repository names.
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_PROGRESS_DELAY": "0",
    # Its words in English, and the user's encoding for what it starts.
    "LANGUAGE": "en",
}
# Settings with which git starts nothing, whatever is in those of the repository.
ALWAYS = (
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
IN_A_REPOSITORY = (
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.alternateRefsCommand=true",
    "credential.helper=",
    "diff.external=",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "gpg.ssh.defaultKeyCommand=false",
    "log.showSignature=false",
    # A file that git would open for nothing that is asked here.
    "log.mailmap=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "protocol.allow=never",
)
# The hooks of the commands below, for a git that takes hooks from its settings, too.
EVENTS = ("post-checkout", "reference-transaction", "post-index-change")
HOOK_KEY = re.compile(r"hook\.(.+)\.[^.]+", re.DOTALL)
# What runs no filter and compares no file, so that the settings above are enough.
COMMANDS = frozenset(
    {
        "cat-file", "check-ref-format", "config", "diff-tree", "for-each-ref", "ls-tree", "log",
        "merge-base", "rev-list", "rev-parse", "show-ref", "symbolic-ref", "update-ref", "version",
        "worktree",
    }
)  # fmt: skip
# The options of these with which git shows files as programs of the repository make them, or starts
# an editor.
STARTING = re.compile(
    r"-[puce]|-[SG].*|--(cc|patch.*|textconv|filters|ext-diff|show-signature|edit)", re.DOTALL
)
# Those of them that change refs, which hooks are told of.
CHANGING = frozenset({"update-ref", "symbolic-ref", "worktree"})


class GitFailure(Exception):
    """The text is a sentence for the user."""


class GitStuck(GitFailure):
    """git did not end; it would not the next time either."""


@dataclass(frozen=True)
class Watch:
    """What a caller hears while git runs. Each may raise, which ends git and goes on to the caller.
    `hear_error` gets each line that git writes to stderr, and "" from time to time; `take_output`
    gets the output in its place, which is then not kept."""

    hear_error: Callable[[str], None] = lambda line: None
    take_output: Callable[[bytes], None] | None = None


def watch_for_pipes(search: PipeSearch, watch: Watch) -> Watch:
    """What hears git in the place of this watch, and ends it where it waits for a pipe. Raises
    GitStuck."""

    def hear(line: str) -> None:
        watch.hear_error(line)
        reason = search.reason()
        if reason:
            raise GitStuck(reason)

    return replace(watch, hear_error=hear)


def run_git(
    folder: str,
    *words: str,
    told: bytes = b"",
    seconds: float | None = READING,
    watch: Watch = Watch(),  # noqa: B008
) -> bytes:
    """The output of a command in the repository that the folder belongs to; `words` begin with one
    of COMMANDS, and `told` is its input. Raises GitFailure, also where it waits for a pipe in the
    place of a file of the repository, and what the watch raises."""
    if words[0] not in COMMANDS or any(STARTING.fullmatch(word) for word in words):
        raise ValueError(f"git {' '.join(words)} may start a program of the repository")
    settings = [*ALWAYS, *IN_A_REPOSITORY]
    if words[0] in CHANGING:
        settings += _without_hooks(folder)
    watch = _watch_repository(folder, watch)
    return start_git(folder, words, settings, told=told, seconds=seconds, watch=watch)


def _watch_repository(folder: str, watch: Watch = Watch()) -> Watch:  # noqa: B008
    return watch_for_pipes(PipeSearch(folder, partial(pipes_of_repository, folder)), watch)


def git_or_nothing(folder: str, *words: str) -> bytes:
    """The output of such a command, nothing if git refuses. Raises GitFailure without git, and
    GitStuck."""
    find_git()
    try:
        return run_git(folder, *words)
    except GitStuck:
        raise
    except GitFailure:
        return b""


def _without_hooks(folder: str) -> list[str]:
    """The settings against hooks that other settings name."""
    words, watch = ("config", "--name-only", "--list", "-z"), _watch_repository(folder)
    keys = start_git(folder, words, ALWAYS, seconds=READING, watch=watch)
    found = (HOOK_KEY.fullmatch(key) for key in keys.decode("utf-8", "surrogateescape").split("\0"))
    names = dict.fromkeys([*EVENTS, *(match.group(1) for match in found if match)])
    if any("=" in name for name in names):
        # In one word with its value the name would end there.
        raise GitFailure('The settings of git name a hook with "=" in its name; rename it.')
    return [f"hook.{name}.enabled=false" for name in names]


def find_git() -> str:
    """The path of the program. Raises GitFailure if there is none."""
    name = "git.exe" if sys.platform == "win32" else "git"
    path = _environment({}).get("PATH", "")
    # Never from the current folder, where some systems look first.
    for folder in filter(os.path.isabs, path.split(os.pathsep)):
        program = os.path.join(folder, name)
        if os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    raise GitFailure("git is not installed, or not in PATH. A work tree needs it; install git.")


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The user's variables without those of git that lead it to a repository. The PATH is that of
    their login shell, if only that has git, or the filter that most have."""
    known = users_variables()
    kept = {
        name: value
        for name, value in known.items()
        if not name.startswith("GIT_") or OF_THE_USER.fullmatch(name)
    }
    return {**kept, **LOGIN_PATH.changes_for("git", "git-lfs"), **VARIABLES, **variables}


def start_git(
    folder: str,
    words: tuple[str, ...],
    settings: tuple[str, ...] | list[str],
    variables: Mapping[str, str] | None = None,
    told: bytes = b"",
    seconds: float | None = None,
    watch: Watch = Watch(),  # noqa: B008
) -> bytes:
    """The output of a command with these settings. The callers of `run_git` and `file_git` know
    which commands these are enough for. Raises GitFailure, and what the watch raises."""
    given = [part for setting in settings for part in ("-c", setting)]
    command = [find_git(), "--no-pager", *given, *words]
    with tempfile.TemporaryFile() as source:
        source.write(told)
        source.seek(0)
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=_environment(variables or {}),
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                creationflags=NO_WINDOW,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise GitFailure(f"git cannot be started in {folder}: {error}.") from error
        with process:
            run = _Run(process, watch, words[0])
            with ExitStack() as failing:
                failing.callback(_end, process)
                run.follow(None if seconds is None else time.monotonic() + seconds)
                failing.pop_all()
        if process.returncode:
            raise GitFailure(_told_failure(words[0], run.errors, process.returncode))
        return b"".join(run.pieces)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it with what it has started."""
    end_tree(process.pid)
    process.kill()


@dataclass
class _Run:
    """One process, and what it has written so far."""

    process: subprocess.Popen[bytes]
    watch: Watch
    word: str
    pieces: list[bytes] = field(default_factory=list)
    errors: bytes = b""
    _count: int = 0
    _line: bytes = b""

    def follow(self, end: float | None) -> None:
        """Until both streams end, or `end`, a time of the monotonic clock. Raises GitFailure."""
        heard: queue.Queue[tuple[bool, bytes]] = queue.Queue(64)
        for is_error, stream in ((False, self.process.stdout), (True, self.process.stderr)):
            threading.Thread(target=_read, args=(stream, is_error, heard), daemon=True).start()
        left = 2
        while left:
            if end is not None and time.monotonic() > end:
                raise GitStuck(f"git {self.word} did not end in time, and was stopped.")
            try:
                is_error, piece = heard.get(timeout=PAUSE)
            except queue.Empty:
                self.watch.hear_error("")
                continue
            left -= not piece
            (self._take_error if is_error else self._take_output)(piece)

    def _take_output(self, piece: bytes) -> None:
        if self.watch.take_output is not None:
            self.watch.take_output(piece)
            return
        self._count += len(piece)
        if self._count > MAX_OUTPUT:
            raise GitFailure(f"git {self.word} told more than {MAX_OUTPUT >> 20} MiB.")
        self.pieces.append(piece)

    def _take_error(self, piece: bytes) -> None:
        self.errors = (self.errors + piece)[-MAX_ERRORS:]
        *lines, self._line = re.split(rb"[\r\n]", self._line + piece)
        self._line = self._line[-MAX_ERRORS:]
        for line in filter(None, lines):
            self.watch.hear_error(line.decode("utf-8", "replace"))


def _read(stream: IO[bytes], is_error: bool, heard: queue.Queue[tuple[bool, bytes]]) -> None:
    """Pass on all pieces, and an empty one at the end. Nobody may listen any more."""
    piece = b"-"
    while piece:
        try:
            piece = os.read(stream.fileno(), CHUNK)
        except (OSError, ValueError):
            piece = b""
        while True:
            try:
                heard.put((is_error, piece), timeout=60.0)
                break
            except queue.Full:
                if stream.closed:
                    return


def _told_failure(word: str, errors: bytes, status: int) -> str:
    lines = [line.strip() for line in re.split(r"[\r\n]+", errors.decode("utf-8", "replace"))]
    said = [line for line in lines if line and not PASSED_OVER.search(line)]
    # What is to be done may stand after the first one that is serious.
    first = next((number for number, line in enumerate(said) if SERIOUS.match(line)), 0)
    # What a stranger has named may be in it.
    text = (
        shown_line(" ".join(SERIOUS.sub("", line) for line in said[first:])[:MAX_SAID]).rstrip(".")
        or f"status {status}"
    )
    return f"git {word} failed: {text}."
