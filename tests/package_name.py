"""The name that Sublime Text gives the package."""

from __future__ import annotations

import sys
import types


def name_package(folder: str) -> None:
    """Make the repository in the folder importable under it, unless an editor has done that."""
    if "GeminiCompanion" not in sys.modules:
        package = types.ModuleType("GeminiCompanion")
        package.__path__ = [folder]
        sys.modules["GeminiCompanion"] = package
