"""PYTHONHASHSEED=0 python -O -m headless --exec tests/ui/simulator/run.py --
[--seeds 100] [--from N] | --seed N [--trace]"""

from __future__ import annotations

import os
import sys
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def main() -> int:
    """The status of the process. What the package has begun ends first, for it has the folder of
    the saved state."""
    sys.path.insert(0, ROOT)
    from GeminiCompanion import plugin

    from headless import running
    from tests import seeds
    from tests.waiting import PATIENCE, wait_for

    options = seeds.parsed(__doc__)
    if os.environ.get("PYTHONHASHSEED") != "0":
        sys.exit("Set PYTHONHASHSEED=0: the order of a set of strings is part of a seed.")
    editor = running.current()
    wait_for(lambda: editor.ui(lambda: plugin._host.is_running))
    editor.ui(plugin.plugin_unloaded)
    for thread in threading.enumerate():
        if thread.name == "GeminiCompanion":
            thread.join(PATIENCE)

    def run() -> int:
        from tests.ui.simulator.world import World

        return seeds.run(options, World)

    return int(editor.ui(run))


if __name__ == "__main__":
    sys.exit(main())
