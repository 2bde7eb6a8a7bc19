"""What the user has set for one window, as far as its CLIs come to know."""

from __future__ import annotations

from dataclasses import dataclass

from .path_maps import NO_MAPS, PathMaps
from .sharing import Sharing


@dataclass(frozen=True)
class WindowSettings:
    """`is_trusted` is told of the window's folders, None tells nothing (docs/protocol.md 4.38);
    `diffs` says whether CLIs may show their edits in the editor; `path_maps` how they know its
    files."""

    is_trusted: bool | None = None
    diffs: bool = True
    sharing: Sharing = Sharing()
    path_maps: PathMaps = NO_MAPS


DEFAULTS = WindowSettings()
