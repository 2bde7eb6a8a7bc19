"""python -m tests.chat.simulator [--seeds 100] [--from N] | --seed N [--trace]"""

from __future__ import annotations

import os
import sys

from ...package_name import name_package
from ...seeds import run_here

name_package(os.getcwd())

if __name__ == "__main__":
    from .world import World

    sys.exit(run_here(__doc__, World))
