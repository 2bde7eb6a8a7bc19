"""The user's settings for one window, as far as they concern its CLIs."""

from __future__ import annotations

from dataclasses import dataclass

from ..base.path_maps import NO_MAPS, PathMaps
from .sharing import Sharing


@dataclass(frozen=True)
class WindowSettings:
    """`is_trusted` is sent about the window's folders; None sends nothing (docs/protocol.md 4.38).
    `diffs` says whether CLIs may show their edits in the editor. `path_maps` give the paths by
    which CLIs know the window's files. If it `shows_unasked`, edits that a CLI made without asking
    are shown; if it `asks_for_edits`, CLIs are made to ask, as far as they can. With
    `diagnostics_after_edits` their models are told of new problems in files that they wrote. With
    `claude_code`, Claude Code may connect."""

    is_trusted: bool | None = None
    diffs: bool = True
    sharing: Sharing = Sharing()
    path_maps: PathMaps = NO_MAPS
    shows_unasked: bool = True
    asks_for_edits: bool = False
    diagnostics_after_edits: bool = True
    claude_code: bool = True


DEFAULTS = WindowSettings()
