"""CLIs in terminals that work in a work tree. UI thread only."""

from __future__ import annotations

from typing import Mapping

from ...base.path_maps import PathMaps
from ...ide.clis import CLIS


def tree_environment(
    environment: Mapping[str, str], folder: str, path_maps: PathMaps
) -> dict[str, str]:
    """The variables that lead a CLI in the folder of a work tree to its window. They name that
    folder alone: Gemini CLI may write into all that they name (docs/protocol.md 5.47)."""
    told = path_maps.separator.join(path_maps.remote_folders((folder,)))
    names = {cli.variables.workspace for cli in CLIS if cli.variables.workspace in environment}
    return {**environment, **dict.fromkeys(names, told)}
