"""Files about which the user is asked each time, whatever they have allowed for good: those outside
of the session's folders, those of version control, and those that start programs.

docs/agents.md 8 says what is left out, and why.
"""

from __future__ import annotations

import os
import unicodedata
from typing import Sequence

from ...base.path_patterns import is_matched

# Folders of version control: hooks and settings that name programs, and the history.
REPOSITORIES = (".git", ".hg", ".svn", ".bzr", ".jj", "git~1")
# Patterns as in the setting `exclude`. A program reads these by itself, when a shell, an editor, an
# agent or an interpreter starts, when a folder is entered or opened, with a commit or a push, and
# runs what they name.
STARTING = (
    # Shells and terminals.
    ".bash*", ".profile", ".zsh*", ".zprofile", ".zlog*", ".ksh*", ".csh*", ".tcsh*", ".login",
    ".logout", ".inputrc", ".tmux.conf", ".screenrc", ".config/fish/", "*profile.ps1",
    ".pam_environment",
    # Sessions of the desktop, services, connections from elsewhere.
    ".xprofile", ".xinitrc", ".xsession*", ".config/autostart/", "*.desktop", ".config/systemd/",
    "LaunchAgents/", "LaunchDaemons/", ".ssh/",
    # Entering a folder.
    ".envrc", ".direnv/", ".autoenv*", "mise.toml", ".mise.toml", ".mise/", ".config/mise/",
    # Hooks of git, and settings that name programs.
    ".gitconfig", ".config/git/", ".gitmodules", ".githooks/", ".husky/", ".overcommit.yml",
    ".pre-commit-config.yaml", "lefthook.yml", ".lefthook/",
    # Editors.
    ".vscode/", "*.code-workspace", ".idea/", ".fleet/", ".zed/", ".cursor/", ".windsurf/",
    "*.sublime-project", "*.sublime-workspace", "*.sublime-settings", "*.sublime-build",
    ".vimrc", ".gvimrc", ".exrc", ".nvimrc", ".nvim.lua", ".vim/", ".config/nvim/", ".emacs",
    ".emacs.d/", ".dir-locals*.el", ".devcontainer/", ".devcontainer.json",
    # Agents: their settings, hooks, commands, tool servers.
    ".claude/", ".claude.json", ".codex/", ".gemini/", ".qwen/", ".opencode/", "opencode.json*",
    ".agents/", ".mcp.json", "mcp.json",
    # What interpreters, debuggers and package managers read before anything else.
    "sitecustomize.py", "usercustomize.py", "*.pth", ".pythonrc*", ".gdbinit", ".lldbinit",
    ".npmrc", ".yarnrc*", ".yarn/", ".pnpmfile.*js", ".cargo/", ".bazelrc",
    # Builds on other machines.
    ".github/workflows/", ".github/actions/", ".gitlab-ci.yml", ".circleci/", "Jenkinsfile",
    ".travis.yml", "azure-pipelines.yml", ".drone.yml", ".woodpecker*",
)  # fmt: skip
# What no path of a file has: it would be shown otherwise than it is, or another one is written.
UNSHOWN = ("Cc", "Cs", "Zl", "Zp")


def inner_file(path: str, roots: Sequence[str]) -> str:
    """The file that an absolute path leads to through all links, if that is in one of the session's
    folders and a lasting answer may cover it; else "". Asks the disk."""
    if not os.path.isabs(path) or not _is_plain(path):
        return ""
    try:
        real = os.path.realpath(path)
        root = root_of(real, roots)
        # Another name of the file may be one of those.
        has_names = os.path.isfile(real) and os.stat(real).st_nlink > 1
    except (OSError, ValueError):
        return ""
    if has_names or not root:
        return ""
    # A link of such a name may be read by it, wherever it leads.
    names = (os.path.abspath(path), real)
    return "" if any(_is_guarded(_part_below(name, root)) for name in names) else real


def inner_folder(path: str, roots: Sequence[str]) -> str:
    """The folder that an absolute path leads to, under the conditions of `inner_file`; it may be
    one of the session's folders itself."""
    try:
        real = os.path.realpath(path) if _is_plain(path) else ""
        if real in map(os.path.realpath, roots):
            return real
    except (OSError, ValueError):
        return ""
    return inner_file(path, roots)


def root_of(file: str, roots: Sequence[str]) -> str:
    """The outermost of the session's folders that the file is in (a real path, as `file` is), else
    "". Asks the disk. Raises OSError, ValueError."""
    found = (root for root in map(os.path.realpath, roots) if _part_below(file, root) != file)
    return min(found, key=len, default="")


def _part_below(path: str, root: str) -> str:
    """The part of it below the root; all of it, if it is elsewhere."""
    start = os.path.join(root, "")
    return path[len(start) :] if path.startswith(start) else path


def _is_plain(path: str) -> bool:
    """U+FFFD stands for what could not be read of a name."""
    return "\ufffd" not in path and not any(unicodedata.category(char) in UNSHOWN for char in path)


def _is_guarded(path: str) -> bool:
    parts = [_seen_name(name) for name in path.replace("\\", "/").split("/")]
    return not {*parts}.isdisjoint(REPOSITORIES) or is_matched("/".join(parts), (), STARTING, True)


def _seen_name(part: str) -> str:
    """A part of a path as the most careless file system knows it: without case, invisible
    characters, a stream's name, and blanks and dots at its end."""
    seen = "".join(char for char in unicodedata.normalize("NFKC", part) if _is_seen(char))
    return seen.casefold().partition(":")[0].rstrip(" .")


def _is_seen(letter: str) -> bool:
    return unicodedata.category(letter) != "Cf"
