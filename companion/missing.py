"""The sentence for a user whose editor lacks a library; imports none."""

from __future__ import annotations

SENTENCE = (
    'The library "{}" {}. Run "Package Control: Satisfy Libraries" from the command palette and'
    " restart Sublime Text, or take the stand-alone package, which needs no libraries:"
    " docs/install.md tells how."
)


def sentence(error: ImportError) -> str:
    """What to do about it; empty for a module of our own, which is no library."""
    name = (error.name or str(error)).partition(".")[0]
    if name == __name__.partition(".")[0]:
        return ""
    is_absent = isinstance(error, ModuleNotFoundError)
    return SENTENCE.format(name, "is missing" if is_absent else "does not fit")
