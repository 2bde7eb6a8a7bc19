"""The results of the checks, put together for the user. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..clis import CLAUDE_CODE, Cli
from . import starting
from .checks import CHECKS, Check, Failed, Ok
from .claude_checks import CLAUDE_CHECKS
from .facts import Facts as Facts


@dataclass(frozen=True)
class CheckRow:
    """One check; `result` is None if the CLI does not get that far."""

    check: Check
    result: Ok | Failed | None


@dataclass(frozen=True)
class Examination:
    """One CLI's way in its order, up to the first step that fails. `searched` are the folders in
    which programs are looked for."""

    facts: Facts
    rows: tuple[CheckRow, ...]
    searched: str = ""

    @property
    def failure(self) -> Failed | None:
        return next((row.result for row in self.rows if isinstance(row.result, Failed)), None)

    def find_row(self, id: str) -> CheckRow | None:
        return next((row for row in self.rows if row.check.id == id), None)

    @property
    def subject(self) -> str:
        process, name = self.facts.process, self.facts.name
        if process is None:
            return f"{name}, if you start it in {self.facts.folder}"
        return f"{name}, process {process.pid}, in {self.facts.folder}"

    @property
    def start_line(self) -> str:
        """What to type in a terminal so that the CLI that starts there finds the window."""
        return starting.start_line(self.facts)

    def report_text(self) -> str:
        """Lines for a report; without tokens and texts of files."""
        lines = [self.subject + ":"]
        for row in self.rows:
            if isinstance(row.result, Ok):
                lines.append(f"  ok      {row.check.name}: {row.result.found}")
            elif isinstance(row.result, Failed):
                lines.append(f"  FAILED  {row.check.name}: {row.result.what}")
                lines.append(f"          {row.result.remedy}")
            else:
                lines.append(f"  -       {row.check.name}")
        return "\n".join(lines) + "\n"


def checks_of(cli: Cli) -> tuple[Check, ...]:
    """The steps of that kind of CLI, in its order."""
    return CLAUDE_CHECKS if cli == CLAUDE_CODE else CHECKS


def examine_cli(facts: Facts) -> Examination:
    """Follow the CLI's way up to the first step that fails. A step that does not concern it has no
    row."""
    rows: list[CheckRow] = []
    has_failed = False
    for check in checks_of(facts.cli):
        if check.is_way and facts.is_connected:
            continue
        result = check.judge(facts)
        if result is not None:
            rows.append(CheckRow(check, None if has_failed else result))
            has_failed = has_failed or isinstance(result, Failed)
    return Examination(facts, tuple(rows))


def shorten_home(text: str, home: str) -> str:
    """The text with ~ for the user's home folder, but not for a folder whose name begins like it.

    >>> shorten_home("/home/al/a and /home/alice/b", "/home/al")
    '~/a and /home/alice/b'
    """
    if len(home) < 2:
        return text
    # A dot may end a sentence or be part of a name.
    return re.sub(re.escape(home) + r"(?![\w-]|\.\w)", "~", text)
