"""The companion that a CLI finds: discovery, sessions, MCP, context, one endpoint per window.

The editor starts it by `companion`, tells it `events`, asks it `questions`, and is asked by it
through `editor`. What else the editor may import of it, tests/test_layout.py names.
"""
