"""What the user has set for one window, as far as its CLIs come to know."""

from __future__ import annotations

from dataclasses import dataclass

from .sharing import Sharing


@dataclass(frozen=True)
class WindowSettings:
    """`is_trusted` is told of the window's folders, None tells nothing (docs/protocol.md 4.38);
    `diffs` says whether CLIs may show their edits in the editor."""

    is_trusted: bool | None = None
    diffs: bool = True
    sharing: Sharing = Sharing()


DEFAULTS = WindowSettings()
