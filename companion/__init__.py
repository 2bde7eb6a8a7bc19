"""The package in five rooms; docs/architecture.md says what each module is.

`base` stands below all. `ide` is the companion that Gemini CLI looks for beside its terminal.
`agent` is Gemini CLI as an engine, and `api` serves that over HTTP. `ui` is Sublime Text.
"""

from __future__ import annotations

__version__ = "0.1.0"
