"""`headless.json` in the folder of a package: the name that the package has in the editor, the
user's side that it brings along, and variables for its scripts. All may be left out."""

from __future__ import annotations

import os
from typing import Any, Mapping, NamedTuple, Optional

from . import values

FILE = "headless.json"
DATA = "$data"


class Project(NamedTuple):
    """`front` is the folder of a package of Python (`headless.front`). `environment` are variables
    of scripts with a temporary data folder, for which DATA stands at the beginning of a value."""

    package: Optional[str] = None
    front: Optional[str] = None
    environment: Mapping[str, str] = {}


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
    if not _makes_sense(content):
        raise ValueError(
            '%s: expected an object with the texts "package" and "front", and the object'
            ' "environment" with texts, got %r' % (path, content)
        )
    front = content.get("front")
    return Project(
        content.get("package"),
        os.path.join(folder, front) if front else None,
        content.get("environment", {}),
    )


def _makes_sense(content: Any) -> bool:
    if not isinstance(content, dict) or not set(content) <= {*Project._fields}:
        return False
    environment = content.get("environment", {})
    texts = [content.get("package", ""), content.get("front", "")]
    if isinstance(environment, dict):
        texts += environment.values()
    return isinstance(environment, dict) and all(isinstance(text, str) for text in texts)
