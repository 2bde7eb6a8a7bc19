"""What in a workspace that nobody trusts would take effect as soon as an agent opens it. Runs
nothing that the workspace names, and waits for the disk and for git."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Iterator, Sequence

from ...base.child_processes import NO_WINDOW
from ...base.regular_file import FileTooLarge, NotRegular, open_regular, read_regular
from ..failure import VALIDATION_ERROR, AgentError
from ..sentence import sentence

# Bytes of a settings file. A longer one is not understood.
MAX_BYTES = 1 << 20
# Seconds for git, which may wait for a file that the settings name.
PATIENCE = 10.0
# The most repositories within one another.
MAX_REPOSITORIES = 100
# Settings of a repository with which git starts a program as soon as it compares files, or which
# are in another file.
PROGRAMS = re.compile(
    r"filter\..*\.(clean|smudge|process)|lfs\.(extension|customtransfer)\..*|include(if\..*)?\.path",
    re.DOTALL,
)
WORK_TREE_TOO = "extensions.worktreeconfig"
GIT = ("git", "--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false")
# The mode of a repository within another one, in its index.
REPOSITORY = b"160000 "
# Files that agents, or git for them, read at once.
READ_AT_ONCE = (
    "AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md", "CONTEXT.md", ".env",
    ".gitignore", ".gitattributes", ".geminiignore", ".qwenignore", ".mcp.json", "opencode.json",
    "opencode.jsonc", "package.json", ".git/config", ".git/index", ".git/HEAD",
    ".gemini/settings.json", ".gemini/.env", ".qwen/settings.json", ".qwen/.env",
    ".claude/settings.json", ".claude/settings.local.json", ".claude/CLAUDE.md",
)  # fmt: skip
MAY_NAME_PROGRAMS = sentence(
    "The settings of git in {path} have {key}, which may name a program that git starts as soon as"
    ' {cli} opens the folder. To trust them, name your folder in "trusted_folders" in the settings'
    " of the editor, or start the server with --trust."
)
HAS_NO_END = sentence(
    "{path} is a device or a pipe and no file, and {cli} may read it as soon as it opens the"
    " folder. Remove it first."
)
NOT_READ = sentence("git did not tell its settings in {path} within {seconds} seconds.")


def check_files(workspace: str, cli: str) -> None:
    """Raises AgentError if the agent would read something without an end."""
    for place in workspace_folders(workspace):
        for name in READ_AT_ONCE:
            path = str(place / name)
            if is_endless(path):
                raise AgentError(VALIDATION_ERROR, HAS_NO_END.with_values(path=path, cli=cli))


def check_git(workspace: str, cli: str) -> None:
    """Raises AgentError if git would start a program that is named in the settings of the
    workspace's repository, or of one in that."""
    try:
        for folder, key in _repository_settings(workspace):
            if PROGRAMS.fullmatch(key):
                told = MAY_NAME_PROGRAMS.with_values(path=folder, key=key, cli=cli)
                raise AgentError(VALIDATION_ERROR, told)
    except subprocess.TimeoutExpired as error:
        told = NOT_READ.with_values(path=workspace, seconds=f"{PATIENCE:g}")
        raise AgentError(VALIDATION_ERROR, told) from error


def first_of(
    workspace: str, folders: Sequence[str], files: Sequence[str], words: Sequence[bytes]
) -> str:
    """The first of these folders, or of these files with one of the words in it, in the workspace
    or above it; "" if there is none. A file that is too large to be read has them."""
    for place in workspace_folders(workspace):
        for path in (str(place / name) for name in folders):
            if os.path.lexists(path):
                return path
        for path in (str(place / name) for name in files):
            if _has_any(path, words):
                return path
    return ""


def workspace_folders(workspace: str) -> Iterator[Path]:
    """The workspace and the folders above it. Those from the user's own home on are theirs."""
    home = Path.home()
    for place in (Path(workspace), *Path(workspace).parents):
        if place == home:
            return
        yield place


def is_endless(path: str) -> bool:
    """Whether it is there and neither a file nor a folder."""
    try:
        open_regular(path).close()
    except NotRegular:
        return not os.path.isdir(path)
    except OSError:
        pass
    return False


def _has_any(path: str, words: Sequence[bytes]) -> bool:
    try:
        data = read_regular(path, MAX_BYTES)
    except FileTooLarge:
        return True
    except OSError:
        # What else cannot be read, the CLI cannot read either.
        return is_endless(path)
    return any(word in data for word in words)


def _repository_settings(workspace: str) -> Iterator[tuple[str, str]]:
    """The keys of the settings of each repository, with its folder. Raises TimeoutExpired."""
    waiting = [workspace]
    for folder in waiting:
        keys = _setting_keys(folder, "--local")
        if WORK_TREE_TOO in keys:
            keys += _setting_keys(folder, "--worktree")
        yield from ((folder, key) for key in keys)
        waiting += _repositories_in(folder)[: MAX_REPOSITORIES - len(waiting)]


def _setting_keys(folder: str, scope: str) -> list[str]:
    """The keys of the settings in this scope, in lower case but for the names in between. No file
    that the settings include is read."""
    told = _git_output(folder, "config", scope, "--no-includes", "--name-only", "--list", "-z")
    return told.decode("utf-8", "replace").split("\0")


def _repositories_in(folder: str) -> list[str]:
    """The folders of repositories that the index of this one names."""
    rows = _git_output(folder, "ls-files", "--stage", "-z").split(b"\0")
    names = (os.fsdecode(row.partition(b"\t")[2]) for row in rows if row.startswith(REPOSITORY))
    found = (os.path.join(folder, name) for name in names)
    return [path for path in found if os.path.lexists(os.path.join(path, ".git"))]


def _git_output(folder: str, *words: str) -> bytes:
    """Nothing where git fails, as it then does for the agent. Raises TimeoutExpired."""
    try:
        return subprocess.run(
            [*GIT, *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            creationflags=NO_WINDOW,
        ).stdout
    except OSError:
        return b""
