"""Says whether a person lacks a CLI or a way to log in, before `make run` sets anything up:
`python -m tools.missing FOLDER`. Runs on any CPython from 3.8, without libraries."""

from __future__ import annotations

import os
import sys
from typing import List, Mapping

from companion.ide.clis import GEMINI_CLI
from companion.ide.doctor import checks, gathering
from companion.ide.doctor.facts import Window


def find_missing(folder: str, environment: Mapping[str, str], home: str) -> List[str]:
    """What the doctor would say, of these two things."""
    window = Window(os.getpid(), 0, (os.path.abspath(folder),))
    scope = gathering.ExaminedScope(GEMINI_CLI, window, (GEMINI_CLI.command,), environment, home)
    facts = gathering.from_files(scope)
    found = [checks.by_id(id).judge(facts) for id in ("installed", "login")]
    return [
        "%s %s" % (finding.what, finding.remedy)
        for finding in found
        if isinstance(finding, checks.Failed)
    ]


if __name__ == "__main__":
    for sentence in find_missing(sys.argv[1], os.environ, os.path.expanduser("~")):
        print(sentence, flush=True)
