"""Makes the repository importable under the name that Sublime gives the package."""

from __future__ import annotations

import importlib.util
import os
import sys
import types

from hypothesis import settings

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

if "GeminiCompanion" not in sys.modules:
    package = types.ModuleType("GeminiCompanion")
    package.__path__ = [ROOT]
    sys.modules["GeminiCompanion"] = package

# The same examples each time: what fails here fails everywhere.
settings.register_profile("steady", database=None, deadline=None, derandomize=True)
settings.load_profile("steady")

# The adapter's tests run inside an editor: tests/run.py.
if importlib.util.find_spec("sublime") is None:
    collect_ignore_glob = ["ui/*"]

# The real CLI runs in a pseudo-terminal, and Windows has none of this kind.
if importlib.util.find_spec("fcntl") is None:
    collect_ignore = ["e2e"]
