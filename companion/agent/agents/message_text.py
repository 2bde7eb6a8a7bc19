"""The beginning of a message's text, which shows the CLI whether it is a command of its own or
meant for the model."""

from __future__ import annotations

# The characters that JavaScript's trim() removes; the CLI looks behind them.
BLANKS = " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
# An invisible character that trim() keeps: a message with it before "/" is never a command.
NO_COMMAND = "\u200b"
