"""`headless.json` in the folder of a package: the name that the package has in the editor, and the
user's side that it brings along. Both may be left out."""

from __future__ import annotations

import os
from typing import NamedTuple, Optional

from . import values

FILE = "headless.json"


class Project(NamedTuple):
    """`front` is the folder of a package of Python (`headless.front`)."""

    package: Optional[str] = None
    front: Optional[str] = None


def read(folder: str) -> Project:
    """What stands in the folder's file, with absolute paths. Raises ValueError."""
    path = os.path.join(folder, FILE)
    try:
        with open(path, encoding="utf-8") as file:
            content = values.parse(file.read())
    except FileNotFoundError:
        return Project()
    except OSError as error:
        raise ValueError("%s: %s" % (path, error.strerror)) from None
    except ValueError as error:
        raise ValueError("%s: %s" % (path, error)) from None
    unknown = set(content) - {*Project._fields} if isinstance(content, dict) else {path}
    if unknown or not all(isinstance(value, str) for value in content.values()):
        raise ValueError(
            '%s: expected an object with the texts "package" and "front", got %r' % (path, content)
        )
    front = content.get("front")
    return Project(content.get("package"), os.path.join(folder, front) if front else None)
