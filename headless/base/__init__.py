"""The `base` of the package, whose modules are loaded from here under a name of the editor's own.

Once packages run, nothing can be imported from the repository (`host`), and no package shall find
another's modules because of the editor.
"""

from __future__ import annotations

import os

__path__ = [
    os.path.join(
        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
        *("companion", "base"),
    )
]
