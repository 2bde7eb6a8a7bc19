"""The beginning of a message's text, by which a CLI tells a command of its own from what is for the
model."""

from __future__ import annotations

# What JavaScript's trim() takes away, which is what the CLI looks behind.
BLANKS = " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
# Nobody sees it, and trim() keeps it: before a "/" it makes a message no command, of any version.
NO_COMMAND = "\u200b"
