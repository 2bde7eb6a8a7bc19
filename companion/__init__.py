"""The package in seven rooms; docs/architecture.md says which may use which.

`base` stands below all others. `edits` knows what has become of edits of files. `ide` is the
companion that a CLI finds from its terminal. `agent` runs CLIs as an engine, `api` serves that over
HTTP, and `chat` makes documents of its conversations. `ui` is Sublime Text's side.
"""

from __future__ import annotations

__version__ = "0.1.0"
