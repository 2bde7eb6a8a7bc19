"""The `base` of the package, whose modules are loaded from here under a name of the front's own.

Once packages run, nothing can be imported from the checkout (`headless.host`), and no package shall
find another's modules because of the editor.
"""

from __future__ import annotations

import os

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *3 * [os.pardir]))
__path__ = [os.path.join(ROOT, "companion", "base")]
