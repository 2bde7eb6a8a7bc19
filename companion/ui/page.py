"""What all sheets of ours look like."""

from __future__ import annotations

STYLE = """<style>
    body { padding: 1rem; }
    .ok { color: var(--greenish); }
    .failed { color: var(--redish); }
    .later, .path { color: color(var(--foreground) alpha(0.6)); }
    .remedy { padding-left: 1.6rem; }
    .payload { font-family: monospace; }
    a { padding: 0 0.3rem; }
</style>"""


def html(content: str) -> str:
    return f'<body id="gemini-companion">{STYLE}{content}</body>'
