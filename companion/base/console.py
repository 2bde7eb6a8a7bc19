"""What Windows has to be told so that no console window flashes up for a moment."""

from __future__ import annotations

import subprocess

# As `creationflags` of a process that shows nothing; 0, which says nothing, elsewhere.
NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)
