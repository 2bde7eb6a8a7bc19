"""The beginning of a message's text, which shows the CLI whether it is a command of its own or
meant for the model."""

from __future__ import annotations

from ...base.shown_text import is_hidden

# The characters that JavaScript's trim() removes; the CLI looks behind them.
BLANKS = " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
# An invisible character that trim() keeps: a message with it before "/" is never a command.
NO_COMMAND = "\u200b"


def after_slash(message: str) -> str:
    """What follows the slash with which the message begins, in one line; "" if it begins otherwise.
    Whatever shows nothing may stand before it: what of that an agent leaves out is for each of its
    versions to say."""
    for at, letter in enumerate(message):
        if not (letter.isspace() or is_hidden(letter)):
            return " ".join(message[at + 1 :].split()) if letter == "/" else ""
    return ""
