"""What did not run, and why, one line each at the end of a run."""

from __future__ import annotations

import collections

import pytest

# Begins such a line; tools/run_tests.py puts those of all parts together.
SKIPPED = "skipped: "


class SkippedTests:
    """A plugin of pytest. `apart` are folders of tests that this system cannot run, and why."""

    def __init__(self, apart: dict[str, str]) -> None:
        self._apart = apart

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        counts: collections.Counter[tuple[str, str]] = collections.Counter()
        for report in terminalreporter.stats.get("skipped", []):
            # The place in it is pytest's own file where a test has skipped itself.
            _place, _line, reason = report.longrepr
            # Before the reason stands which exception brought it.
            counts[report.nodeid.partition("::")[0], reason.partition(": ")[2]] += 1
        for (file, reason), count in sorted(counts.items()):
            terminalreporter.write_line(f"{SKIPPED}{count} of {file}: {reason}")
        for folder, reason in self._apart.items():
            terminalreporter.write_line(f"{SKIPPED}all of {folder}: {reason}")
