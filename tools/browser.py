"""The Chromium that tests and pictures use: the one of `make setup`, else the one in PATH."""

from __future__ import annotations

import ctypes.util
import os
import shutil

from .setup import CHROMIUM

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_browser() -> str:
    """The browser's path; empty where there is none. The variable CHROMIUM names another one.

    The unpacked one draws pages and nothing else: whole browsers take twice its processor time.
    """
    unpacked = CHROMIUM if os.path.exists(CHROMIUM) else ""
    wanted = os.environ.get("CHROMIUM", "")
    return wanted or unpacked or next(filter(None, map(shutil.which, NAMES)), "")


def browser_environment() -> dict[str, str | float | bool] | None:
    """What to start it with, None for what is there already.

    The unpacked one brings libraries; those of the system fit it better, where there are any.
    """
    if find_browser() != CHROMIUM or ctypes.util.find_library("nss3"):
        return None
    libraries = os.path.join(os.path.dirname(CHROMIUM), "al2023", "lib")
    return {**os.environ, "LD_LIBRARY_PATH": libraries}
