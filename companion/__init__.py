"""The companion that Gemini CLI looks for beside its terminal, told from the bottom up.

`jsonrpc`, `context`, `status`, `editor`, `discovery`, `original` and `log` are plain nouns; `mcp`
and `sessions` speak the Model Context Protocol; `transport` puts it on HTTP; a `workspace` is one
editor window's endpoint, `windows` are all of them, and `service` is the thread on which they run.
The `sublime_*` modules are the only ones that see the editor.
"""

from __future__ import annotations

__version__ = "0.1.0"
