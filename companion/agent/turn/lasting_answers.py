"""What the user's lasting answers cover: each is offered with the words that say it, is kept here,
and covers what these words say. The agent never hears of it, because its own memory goes further
(docs/gemini-cli-acp.md 5.34, 5.35; docs/agents.md 2, 8).
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field, replace
from typing import Any, Iterable, Mapping, Sequence, Tuple

from ..events.tool_call import EDIT, SWITCH_MODE, UNNAMED, Call
from ..sentence import Words, sentence
from ..turn_events import ALWAYS, ALWAYS_SERVER, ALWAYS_TOOL
from .guarded_files import inner_file, inner_folder, root_of

# The kinds of calls that are allowed one by one: what else they do to files is not told.
ONE_BY_ONE = (SWITCH_MODE, "delete", "move")
# The kinds of calls that only read: files, or whatever is in a folder.
SEARCH = "search"
READING = ("read", SEARCH)
# The kind of calls that send something to an address.
FETCH = "fetch"
# The arguments that name files, and those that name the folder of a command.
FILES = (
    "file_path", "filePath", "filepath", "path", "paths", "absolute_path", "notebook_path",
    "source", "destination",
)  # fmt: skip
FOLDERS = ("cwd", "workdir", "directory", "directories", "dir_path", "working_directory")
# The arguments of a command that only say what it is for.
SAYING = ("description", "justification")
# The most characters of a folder in a label.
MOST = 30
THIS_FILE = sentence("Allow edits of this file for this conversation")
THESE_FILES = sentence("Allow edits of these files for this conversation")
ALL_FILES = sentence("Allow edits of all files in {folder} for this conversation")
WORKSPACE = sentence("the workspace")
THIS_TOOL = sentence("Allow the tool for this conversation")
THIS_SERVER = sentence("Allow all tools of the server for this conversation")
THIS_COMMAND = sentence("Allow exactly this command for this conversation")
THIS_CALL = sentence("Allow exactly this call for this conversation")
# One thing that is allowed for good: its kind, then its names.
Scope = Tuple[str, ...]


@dataclass(frozen=True)
class Lasting:
    """An answer for good: what it says, and what it allows."""

    label: Words
    scopes: tuple[Scope, ...]


@dataclass(frozen=True)
class Coverage:
    """`answers` are the lasting ones that a call can get, by their outcomes. `needs` are the things
    that it does: for each, the scopes of which any covers it. Without any it is never covered.
    `files` are the paths that it names."""

    answers: Mapping[str, Lasting] = field(default_factory=dict)
    needs: tuple[frozenset[Scope], ...] = ()
    files: tuple[str, ...] = ()


NOTHING = Coverage()


class Approvals:
    """The user's lasting approvals in one conversation."""

    def __init__(self) -> None:
        self._scopes: set[Scope] = set()

    def covers_all(self, coverage: Coverage) -> bool:
        return bool(coverage.needs) and not any(map(self._scopes.isdisjoint, coverage.needs))

    def remember_answer(self, answer: Lasting) -> None:
        self._scopes.update(answer.scopes)


def files_of(call: Call) -> tuple[str, ...]:
    """The paths of all files that a call names, as it names them, and of the folders that it
    reads."""
    names = (*FILES, *FOLDERS) if call.kind in READING else FILES
    told = (
        *(diff.path for diff in call.diffs),
        *call.locations,
        call.path,
        *_named_texts(call, names),
    )
    return tuple(dict.fromkeys(filter(None, told)))


def coverage_of(call: Call, roots: Sequence[str]) -> Coverage:
    """`roots` are the session's folders, the workspace first. Asks the disk. Which files the user's
    settings exclude is for the caller to see."""
    if call.is_attachment or call.kind in ONE_BY_ONE:
        return NOTHING
    named = (*call.locations, *_named_texts(call, FOLDERS)) if call.is_command else files_of(call)
    places = tuple(absolute_path(call, path, roots[0]) for path in named)
    is_of_folder = call.is_command or call.kind in READING
    look = inner_folder if is_of_folder else inner_file
    files = [look(place, roots) for place in places]
    return replace(_inner_coverage(call, files, roots), files=places) if all(files) else NOTHING


def _inner_coverage(call: Call, files: Sequence[str], roots: Sequence[str]) -> Coverage:
    """What lasting answers to a call cover that names only these files."""
    if call.is_command:
        return _exact_coverage(call, THIS_COMMAND)
    if call.kind == EDIT:
        is_told = bool(call.diffs) and _is_told_whole(call)
        return _edit_coverage(files, roots) if is_told else NOTHING
    if call.is_of_server:
        return _of_server(call) if call.has_args else NOTHING
    if call.name in UNNAMED or call.kind == FETCH:
        return _exact_coverage(call, THIS_CALL)
    return _coverage_of({ALWAYS: Lasting(THIS_TOOL, (("tool", call.name),))})


def _edit_coverage(files: Sequence[str], roots: Sequence[str]) -> Coverage:
    """One answer for the files, one for all in the folder that has them, if one of the session's
    folders has them all."""
    tops = {root_of(file, roots) for file in files}
    label = THIS_FILE if len(set(files)) == 1 else THESE_FILES
    answers = {ALWAYS: Lasting(label, tuple(("file", file) for file in files))}
    if len(tops) == 1:
        folder = os.path.commonpath([os.path.dirname(file) for file in files])
        name = _folder_name(folder, os.path.realpath(roots[0]))
        answers[ALWAYS_TOOL] = Lasting(ALL_FILES.with_values(folder=name), (("folder", folder),))
    needs = (
        frozenset([("file", file), *_enclosing_folders(file, root_of(file, roots))])
        for file in files
    )
    return Coverage(answers, tuple(needs))


def _folder_name(folder: str, workspace: str) -> Words:
    """The folder as it is seen from the workspace; whole if it is not in that."""
    if folder == workspace:
        return WORKSPACE
    is_inner = folder.startswith(os.path.join(workspace, ""))
    name = os.path.relpath(folder, workspace) if is_inner else folder
    return _shortened_folder(name.replace(os.sep, "/")) + "/"


def _enclosing_folders(file: str, root: str) -> Iterable[Scope]:
    """The folders that have the file, up to this one."""
    while len(file) > len(root):
        file = os.path.dirname(file)
        yield "folder", file


def _is_told_whole(call: Call) -> bool:
    """Whether the agent tells what it writes into each of the files. A file that is moved is named
    by its old name, and its edit by the new one."""
    return len({diff.path for diff in call.diffs}) >= len(set(call.locations))


def _of_server(call: Call) -> Coverage:
    # Two tools may have the same name, as far as the call's id shows it; their titles differ.
    tool = ("tool", call.name, call.title)
    answers = {ALWAYS_TOOL: Lasting(THIS_TOOL, (tool,))}
    if call.server:
        answers[ALWAYS_SERVER] = Lasting(THIS_SERVER, (("server", call.server),))
    return _coverage_of(answers)


def _exact_coverage(call: Call, label: Words) -> Coverage:
    """Covers the very same call again, and no other. Its title counts, unless it has the command
    once more."""
    args = {name: value for name, value in call.args.items() if name not in SAYING}
    title = "" if call.is_command and call.title.startswith(call.shell_line) else call.title
    text = "" if call.text in map(call.args.get, SAYING) else call.text
    told = [call.kind, call.name, call.shell_line, title, text, args, files_of(call)]
    data = json.dumps(told, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
    return _coverage_of({ALWAYS: Lasting(label, (("call", hashlib.sha256(data).hexdigest()),))})


def _coverage_of(answers: Mapping[str, Lasting]) -> Coverage:
    """Each of the answers covers all of the call."""
    return Coverage(
        answers, (frozenset(scope for each in answers.values() for scope in each.scopes),)
    )


def _named_texts(call: Call, names: Sequence[str]) -> Iterable[str]:
    """The texts of these arguments, of which one may be a list."""
    for name in names:
        value: Any = call.args.get(name)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str):
                yield each


def absolute_path(call: Call, path: str, workspace: str) -> str:
    """Arguments may name a file as seen from the workspace; what is edited is named in full."""
    is_relative = call.kind != EDIT and not path.startswith("~")
    return os.path.join(workspace, path) if is_relative else path


def _shortened_folder(folder: str) -> str:
    return folder if len(folder) <= MOST else "…" + folder[1 - MOST :]
