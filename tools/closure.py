"""The libraries that the package runs on: the one table, and what is made of it.

    python -m tools.closure dependencies                 writes dependencies.json
    python -m tools.closure repository INDEX PAGE URL    writes dist/repository.json, for a release
    python -m tools.closure channel PROJECTS PAGE        writes dist/channel.json, to be proposed

Below INDEX the package index answers NAME/VERSION/json, below PROJECTS it has a page for each
library; PAGE is that of our project, URL the built package. No file of the repository names any.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import Any, Dict, List, NamedTuple, Tuple

from . import wheels

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEPENDENCIES = os.path.join(ROOT, "dependencies.json")
REPOSITORY = os.path.join(ROOT, "dist", "repository.json")
CHANNEL = os.path.join(ROOT, "dist", "channel.json")
# The Pythons of Sublime Text's plugin hosts: of stable builds, and of newer ones.
HOSTS = ("3.8", "3.13", "3.14")
# Builds of Sublime Text by their host. Package Control reports a library that it has not for a host
# as missing at each start: none may be asked for where it is not needed.
BUILDS = (("4107 - 4200", "<4201", "3.8"), (">=4201", ">=4201", "3.14"))
# Package Control's names of platforms, and what the names of wheels for them match.
PLATFORMS = (
    ("windows-x64", "win_amd64"),
    ("osx-x64", "macosx_*_x86_64"),
    ("osx-arm64", "macosx_*_arm64"),
    ("linux-x64", "manylinux*_x86_64"),
    ("linux-arm64", "manylinux*_aarch64"),
)
# The default channel has it under this name from another source, which is too old for us.
IN_CHANNEL = ("jsonschema",)
# How many addresses each command wants.
ADDRESSES = {"dependencies": 0, "repository": 3, "channel": 2}
LABELS = ["ai", "gemini", "diff"]
DESCRIPTION = "The companion of Gemini CLI: its context, and its diffs to edit, accept or reject"


class Library(NamedTuple):
    """One library. `old` is its version for Python 3.8, `new` that for newer hosts; None where a
    host does not need it. `carried` is what the stand-alone package has, pure Python throughout."""

    name: str
    old: str
    new: str | None
    is_compiled: bool
    carried: str | None
    modules: Tuple[str, ...]
    why: str


TABLE = (
    Library("aiohappyeyeballs", "2.4.4", "2.7.1", False, "2.4.4", ("aiohappyeyeballs",), "aiohttp"),
    Library("aiohttp", "3.10.11", "3.14.5", True, "3.10.11", ("aiohttp",), "the HTTP server"),
    Library("aiosignal", "1.3.1", "1.4.0", False, "1.3.1", ("aiosignal",), "aiohttp"),
    Library("async-timeout", "5.0.1", None, False, "5.0.1", ("async_timeout",), "aiohttp"),
    Library("attrs", "25.3.0", "26.1.0", False, "25.3.0", ("attr", "attrs"), "aiohttp, jsonschema"),
    Library("frozenlist", "1.5.0", "1.8.0", True, "1.5.0", ("frozenlist",), "aiohttp"),
    Library("idna", "3.15", "3.20", False, "3.15", ("idna",), "yarl"),
    Library("importlib_resources", "6.4.5", None, False, None, (), "jsonschema"),
    Library("jsonschema", "4.23.0", "4.26.0", False, "4.17.3", ("jsonschema",), "tools' arguments"),
    Library("jsonschema-specifications", "2023.12.1", "2025.9.1", False, None, (), "jsonschema"),
    Library("multidict", "6.1.0", "7.2.1", True, "6.1.0", ("multidict",), "aiohttp"),
    Library("pkgutil_resolve_name", "1.3.10", None, False, None, (), "jsonschema"),
    Library("propcache", "0.2.0", "0.5.4", True, "0.2.0", ("propcache",), "yarl, aiohttp"),
    Library("referencing", "0.35.1", "0.37.0", False, None, (), "jsonschema"),
    Library("rpds-py", "0.20.1", "2026.9.1", True, None, (), "referencing"),
    Library(
        "typing_extensions",
        "4.13.2",
        "4.16.0",
        False,
        "4.13.2",
        ("typing_extensions",),
        "aiohttp, multidict",
    ),
    Library("yarl", "1.15.2", "1.25.1", True, "1.15.2", ("yarl",), "aiohttp"),
    Library("zipp", "3.20.2", None, False, None, (), "importlib_resources"),
)
# jsonschema 4.17 is the last without a compiled part; it needs this one instead.
ONLY_CARRIED = (("pyrsistent", "0.20.0", ("pyrsistent", "_pyrsistent_version")),)


def version_for(library: Library, host: str) -> str | None:
    return library.old if host == "3.8" else library.new


def carried() -> Dict[str, Tuple[str, ...]]:
    """Requirement and import names of what the stand-alone package carries."""
    found = {f"{it.name}=={it.carried}": it.modules for it in TABLE if it.carried}
    found.update({f"{name}=={version}": modules for name, version, modules in ONLY_CARRIED})
    return found


def dependencies() -> str:
    """The text of dependencies.json: Package Control installs these names and nothing else."""
    content = {"*": {builds: names(host) for _, builds, host in BUILDS}}
    return json.dumps(content, indent="\t") + "\n"


def names(host: str) -> List[str]:
    """Of the libraries that this host needs."""
    return [library.name for library in TABLE if version_for(library, host)]


def repository(ask: wheels.Ask, page: str, url: str, version: str, date: str) -> Dict[str, Any]:
    """A repository for Package Control, schema 4.0.0: the package with all its libraries, each
    wheel by its address and digest. Raises wheels.Missing."""
    releases = [
        {
            "url": url,
            "version": version,
            "date": date,
            "sublime_text": builds,
            "platforms": ["*"],
            "libraries": names(host),
        }
        for builds, _, host in BUILDS
    ]
    # No "details": Package Control would ask GitHub about them, and offer nothing where that fails.
    package = {
        "name": "GeminiCompanion",
        "description": DESCRIPTION,
        "homepage": page,
        "readme": f"{page}/raw/{version}/README.md",
        "issues": f"{page}/issues",
        "author": "GeminiCompanion contributors",
        "labels": LABELS,
        "releases": releases,
    }
    return {
        "schema_version": "4.0.0",
        "packages": [package],
        "libraries": [_library(library, ask) for library in TABLE],
    }


def channel(projects: str, page: str) -> Dict[str, Any]:
    """What the default channel's own files would need: it looks for newer releases by itself."""
    releases = [
        {
            "sublime_text": builds,
            "asset": "GeminiCompanion.sublime-package",
            "libraries": names(host),
        }
        for builds, _, host in BUILDS
    ]
    package = {"name": "GeminiCompanion", "details": page, "labels": LABELS, "releases": releases}
    libraries = []
    for library in TABLE:
        if library.name not in IN_CHANNEL:
            base = f"{projects.rstrip('/')}/{library.name}"
            found = [
                {"base": f"{base}/{version}", "asset": asset, **fits}
                for version, asset, fits in _wheels(library)
            ]
            libraries.append({**_described(library, base + "/"), "releases": found})
    return {"packages": [package], "libraries": libraries}


def _library(library: Library, ask: wheels.Ask) -> Dict[str, Any]:
    releases = [
        {**wheels.resolve(ask, library.name, version, asset), "sublime_text": "*", **fits}
        for version, asset, fits in _wheels(library)
    ]
    return {
        **_described(library, wheels.page(ask, library.name, library.old)),
        "releases": releases,
    }


def _described(library: Library, page: str) -> Dict[str, Any]:
    return {
        "name": library.name,
        "author": f"the authors of {library.name}",
        "description": f"For GeminiCompanion: {library.why}",
        "issues": page,
    }


def _wheels(library: Library) -> List[Tuple[str, str, Dict[str, List[str]]]]:
    """Version, pattern of the name, and for which Pythons and platforms; each wheel once."""
    hosts: Dict[str, List[str]] = {}
    for host in HOSTS:
        version = version_for(library, host)
        if version is not None:
            hosts.setdefault(version, []).append(host)
    stem = library.name.replace("-", "_")
    if not library.is_compiled:
        asset = f"{stem}-*-py3-none-any.whl"
        return [(it, asset, _fits(hosts[it], "*")) for it in hosts]
    return [
        (it, f"{stem}-*-{tag(host)}-{tag(host)}-{wheel}.whl", _fits([host], platform))
        for it in hosts
        for host in hosts[it]
        for platform, wheel in PLATFORMS
    ]


def tag(host: str) -> str:
    return "cp" + host.replace(".", "")


def _fits(hosts: List[str], platform: str) -> Dict[str, List[str]]:
    return {"python_versions": hosts, "platforms": [platform]}


def main(*arguments: str) -> int:
    """The exit status."""
    addresses = arguments[1:]
    if len(arguments) < 1 or ADDRESSES.get(arguments[0]) != len(addresses):
        print(__doc__, file=sys.stderr)
        return 2
    for address in addresses:
        if not re.match(r"https://[^/\s]+/\S*$", address):
            print("An address has to begin with https://, got %r." % address, file=sys.stderr)
            return 2
    try:
        _write_one(arguments[0], *addresses)
    except wheels.Missing as error:
        print("%s\nNothing was written." % error, file=sys.stderr)
        return 1
    return 0


def _write_one(command: str, *addresses: str) -> None:
    if command == "dependencies":
        write(DEPENDENCIES, dependencies())
    elif command == "channel":
        write(CHANNEL, json.dumps(channel(*addresses), indent="\t") + "\n")
    else:
        index, page, url = addresses
        date = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        content = repository(wheels.asking(index), page, url, version(), date)
        write(REPOSITORY, json.dumps(content, indent="\t") + "\n")


def version() -> str:
    """Of the package."""
    with open(os.path.join(ROOT, "companion", "__init__.py"), encoding="utf-8") as file:
        return file.read().partition('__version__ = "')[2].partition('"')[0]


def write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
