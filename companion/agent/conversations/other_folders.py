"""The folders of a session beside its workspace: those that the agent takes, and that are as
trusted as the workspace is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Sequence

from ...base.path_patterns import IGNORE_CASE, comparable_path
from ..acp.messages import AgentCapabilities
from ..agents.cli import AgentCli
from ..failure import AgentError
from ..sentence import Words, sentence

LEFT_OUT = sentence("The agent does not get the folder {path} of the window. {reason}")
NOT_AS_TRUSTED = sentence("It is not trusted, as the workspace is.")


@dataclass(frozen=True)
class OtherFolders:
    """`given` are real paths. `warnings` say which of the folders are not given, and why."""

    given: tuple[str, ...] = ()
    warnings: tuple[Words, ...] = ()


def find_other_folders(
    cli: AgentCli, workspace: str, folders: Sequence[str], capabilities: AgentCapabilities
) -> OtherFolders:
    """The folders, of these (absolute paths), that a session of the workspace gets. One that lies
    in another is left to that, and one that is not there is left out without a word. Blocks."""
    if not capabilities.takes_folders:
        return OtherFolders()
    given: list[str] = []
    warnings: list[Words] = []
    # The outer ones first.
    for each in sorted({os.path.realpath(folder) for folder in folders}, key=len):
        if not os.path.isdir(each) or any(_is_below(each, top) for top in (workspace, *given)):
            continue
        reason = _refusal_of(cli, workspace, each)
        if reason:
            warnings.append(LEFT_OUT.with_values(path=each, reason=reason))
        else:
            given.append(each)
    return OtherFolders(tuple(given), tuple(warnings))


def _refusal_of(cli: AgentCli, workspace: str, folder: str) -> Words:
    """Why the agent does not get the folder, else "": what it has of settings would count as those
    of the workspace do."""
    if cli.trusts_workspace(folder):
        return ""
    if cli.trusts_workspace(workspace):
        return NOT_AS_TRUSTED
    try:
        cli.check_workspace(folder)
    except AgentError as error:
        return error.message
    return ""


def _is_below(path: str, folder: str) -> bool:
    """Whether the path is below the folder, or the folder itself. Both are real paths."""
    inner, outer = (comparable_path(each, IGNORE_CASE).rstrip("/") for each in (path, folder))
    return (inner + "/").startswith(outer + "/")
