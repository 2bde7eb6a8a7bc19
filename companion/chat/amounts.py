"""Numbers, times and paths as the chat shows them."""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta

from ..base.shown_text import shown_line


def duration_text(span: timedelta) -> str:
    """0.4 s, 12 s, 3 min 5 s, 2 h 10 min."""
    seconds = max(span.total_seconds(), 0.0)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def age_text(span: timedelta) -> str:
    """just now, 5 min ago, 3 h ago, 1 day ago, 12 days ago."""
    minutes = max(int(span.total_seconds()), 0) // 60
    if minutes < 60:
        return f"{minutes} min ago" if minutes else "just now"
    hours = minutes // 60
    return f"{hours} h ago" if hours < 24 else f"{count_text(hours // 24, 'day')} ago"


def clock_text(time: datetime) -> str:
    """The time of day where the user is."""
    return time.astimezone().strftime("%H:%M")


def count_text(count: int, one: str) -> str:
    """1 line, 1,234 lines."""
    return f"{count:,} {one}" if count == 1 else f"{count:,} {one}s"


def name_beside(said: str, name: str) -> str:
    """The name of something beside what is said already; empty if it says the same: "Default
    (recommended)" beside "Default"."""
    same = [re.sub(r"\(.*?\)", "", each).strip().casefold() for each in (said, name)]
    return "" if same[0] == same[1] else name


def path_in(folder: str, path: str) -> str:
    """The path as seen from the folder, if it is below it."""
    inside = folder and path.startswith(os.path.join(folder, ""))
    return path[len(os.path.join(folder, "")) :] if inside else path


def one_line(text: str) -> str:
    """The text with single spaces between the words."""
    return " ".join(text.split())


def short_path(folder: str, path: str, most: int) -> str:
    """The path as seen from the folder, as a person may see it; of a long one the end, which names
    the file."""
    text = shown_line(path_in(folder, path))
    return text if len(text) <= most else "…" + text[1 - most :]


def shorten_text(text: str, most: int) -> str:
    """The text, cut to so many code points."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
