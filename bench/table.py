"""The table that the measurements end in: rows of text, each with its aim where it has one."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import List, Optional, Sequence

# Characters of a reason why something was not measured; of more, the end.
LONGEST = 60


@dataclass(frozen=True)
class Aim:
    """A bound on a measured number; `at_least` says from which side."""

    bound: float
    at_least: bool
    text: str

    def met(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound


@dataclass(frozen=True)
class Row:
    """One line. `measured` None stands for a measurement that could not be taken, and `detail`
    says why; else `value` is the number as text and `detail` its spread."""

    name: str
    measured: Optional[float]
    value: str
    detail: str = ""
    aim: Optional[Aim] = None

    def cells(self) -> List[str]:
        return [
            self.name,
            self.value,
            self.detail,
            self.aim.text if self.aim else "",
            self._aim_word(),
        ]

    def _aim_word(self) -> str:
        if self.aim is None or self.measured is None:
            return ""
        return "met" if self.aim.met(self.measured) else "MISSED"


def format_spread(values: Sequence[float], unit: str, digits: int = 0) -> str:
    """The smallest and the largest of some rounds."""
    return f"{min(values):,.{digits}f} to {max(values):,.{digits}f}{unit}"


def quantile(values: Sequence[float], percent: int) -> float:
    """The value that `percent` in a hundred do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def median_row(
    name: str, values: Sequence[float], unit: str, digits: int = 0, aim: Optional[Aim] = None
) -> Row:
    """The median of some rounds, with its spread."""
    median = statistics.median(values)
    return Row(
        name, median, f"{median:,.{digits}f}{unit}", format_spread(values, unit, digits), aim
    )


def millisecond_row(name: str, seconds: float, detail: str, aim: Optional[Aim] = None) -> Row:
    """`seconds` shown as milliseconds; the aim is in milliseconds too."""
    return Row(name, seconds * 1e3, f"{seconds * 1e3:,.2f} ms", detail, aim)


def missing_row(name: str, why: str) -> Row:
    return Row(name, None, "not measured", why if len(why) <= LONGEST else f"... {why[-LONGEST:]}")


def format_rows(rows: Sequence[Row]) -> str:
    """The rows in columns, under a headline."""
    head = ["measurement", "measured", "spread", "aim", ""]
    lines = [head] + [row.cells() for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    rule = ["-" * width for width in widths]
    return "\n".join(_format_line(line, widths) for line in [head, rule] + lines[1:])


def _format_line(cells: Sequence[str], widths: Sequence[int]) -> str:
    name = cells[0].ljust(widths[0])
    value = cells[1].rjust(widths[1])
    rest = [cell.ljust(width) for cell, width in zip(cells[2:], widths[2:])]
    return "  ".join([name, value] + rest).rstrip()
