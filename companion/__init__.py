"""The package in five rooms; docs/architecture.md says what each module is.

`base` stands below all others. `ide` is the companion that a CLI finds from its terminal. `agent`
runs Gemini CLI as an engine, and `api` serves that over HTTP. `ui` is Sublime Text's side.
"""

from __future__ import annotations

__version__ = "0.1.0"
