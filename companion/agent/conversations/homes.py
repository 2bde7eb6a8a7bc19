"""Finds in which home a conversation was begun that does not say: it is of a release before
conversations kept that."""

from __future__ import annotations

import os

from ..agents.cli import AgentCli
from ..credentials import OURS

# The most folders of our home that are looked through.
MAX_FOLDERS = 20_000


def find_home(cli: AgentCli, session: str) -> str:
    """The home with the CLI's files of that session, empty if that cannot be seen. Their names have
    its id, of Gemini CLI's the first group of that. Blocks."""
    begins = session.split("-")[0]
    if not begins:
        return ""
    if cli.has_home:
        # It has never been anywhere else.
        return OURS
    for number, (_folder, folders, names) in enumerate(os.walk(cli.folder)):
        if any(begins in name for name in (*names, *folders)):
            return OURS
        if number >= MAX_FOLDERS:
            break
    return ""
