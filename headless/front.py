"""The user's side of the editor, which a project may bring along for a person."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any, Optional

NAME = "headless_front"


class Front:
    """What a person has without one: an editor that runs until they end its input. A project's own
    is an object of a class of this kind, by the name `front` in the package of Python that its
    headless.json names; that package imports what it needs of `headless`, and nothing but the
    standard library beside its own modules."""

    # The folder in the user's cache folder that has the data folders of persons.
    cache_name = "headless-editor"

    def run(self, editor: Any, options: Any) -> int:
        """Be the user's side until they quit; gives the exit status."""
        sys.stdout.write("The editor runs; end the input (Ctrl+D) to quit.\n")
        stream = sys.__stdin__
        while stream is not None and stream.readline():
            pass
        return 0

    def has_texts(self, data: str) -> bool:
        """Whether packages keep texts of the user's in the data folder that are nowhere else. What
        it raises while it reads them means that there may be some."""
        return False


def load(folder: Optional[str]) -> Front:
    """The front of a package of Python in this folder; without one, that for everybody. Raises
    ValueError."""
    if folder is None:
        return Front()
    path = os.path.join(folder, "__init__.py")
    spec = importlib.util.spec_from_file_location(NAME, path, submodule_search_locations=[folder])
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise ValueError("expected a package of Python as front, there is none in %s" % folder)
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)
    front = getattr(module, "front", None)
    if not isinstance(front, Front):
        raise ValueError("expected `front`, a headless.front.Front, in %s" % path)
    return front
