"""The versions of an agent that tests run, unmodified, and what is to be said of a newer one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..sentence import Words, sentence

# Without what a build or a preview has behind it.
NUMBERS = re.compile(r"\d{1,9}(?:\.\d{1,9}){1,3}")
NEWER = sentence(
    "{program} {version} is newer than {tested}, the newest version that was tested with this: it"
    " may ask and act in other ways."
)


@dataclass(frozen=True)
class KnownVersions:
    """The versions of an agent, as npm counts them. `oldest` is the oldest that is supported, empty
    if the newest is the only one; both are empty for an agent of which only its command is
    known."""

    newest: str = ""
    oldest: str = ""

    def version_warning(self, program: str, version: str) -> Words:
        """What the user should know of the `program`, which says that it has this version; "" if it
        is not newer, or if nobody can tell."""
        known, found = NUMBERS.match(self.newest), NUMBERS.match(version)
        if (
            known is None
            or found is None
            or _version_numbers(found.group()) <= _version_numbers(known.group())
        ):
            return ""
        return NEWER.with_values(program=program, version=found.group(), tested=self.newest)


def _version_numbers(numbers: str) -> tuple[int, ...]:
    """The numbers of a version, so that two versions can be compared.

    >>> _version_numbers("0.101.0") > _version_numbers("0.49.0")
    True
    """
    counted = [int(number) for number in numbers.split(".")]
    return (*counted, *[0] * (4 - len(counted)))
