"""The edits of a chat's turn as a sheet shows them. UI thread only."""

from __future__ import annotations

from .unasked_edit_source import UnaskedEditSource


class TurnEditSource(UnaskedEditSource):
    """They are written already, too."""

    names = ("edit of a turn", "edits of a turn")
