"""The libraries that the package runs on: the one table, and what is made of it.

    python -m tools.closure dependencies            writes dependencies.json
    python -m tools.closure repository PAGE URL     writes dist/repository.json, for a release
    python -m tools.closure plain PAGE URL          writes dist/repository-plain.json, with wheels
    python -m tools.closure channel PAGE            writes dist/channel.json, to be proposed

PAGE is the page of our project, URL the built package. The wheels of the plain package are those
that pip chooses from the index that it is set up with. No file of the repository names any address.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from . import wheels

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEPENDENCIES = os.path.join(ROOT, "dependencies.json")
DIST = os.path.join(ROOT, "dist")
REPOSITORY, REPOSITORY_PLAIN, CHANNEL = "repository.json", "repository-plain.json", "channel.json"
# The Pythons of Sublime Text's plugin hosts: of stable builds, and of newer ones.
HOSTS = ("3.8", "3.13", "3.14")
# Builds of Sublime Text by their host. Package Control reports a library that it has not for a host
# as missing at each start: none may be asked for where it is not needed.
BUILDS = (("4107 - 4200", "<4201", "3.8"), (">=4201", ">=4201", "3.14"))
ALL_BUILDS = ">=4107"
# How many addresses each command wants.
ADDRESSES = {"dependencies": 0, "repository": 2, "plain": 2, "channel": 1}
NAME = "GeminiCompanion"
LABELS = ["ai", "gemini", "diff"]
DESCRIPTION = "The companion of Gemini CLI: its context, and its diffs to edit, accept or reject"
# Where the libraries of a library come from.
PACKAGE_CONTROL, CARRIED, CHECKOUT = "package control", "carried", "checkout"


class Library(NamedTuple):
    """One library. `old` is its version for Python 3.8, `new` that for newer hosts; None where a
    host does not need it.

    `source` says how the plain package comes by it: from Package Control, or carried as by the
    other package, which carries all. CHECKOUT: only what runs from a checkout needs it. `modules`
    are the import names of what is carried."""

    name: str
    old: str | None
    new: str | None
    source: str
    modules: Tuple[str, ...]
    why: str


TABLE = (
    Library(
        "aiohappyeyeballs", "2.4.4", "2.7.1", PACKAGE_CONTROL, ("aiohappyeyeballs",), "aiohttp"
    ),
    Library("aiohttp", "3.10.11", "3.14.5", PACKAGE_CONTROL, ("aiohttp",), "the HTTP server"),
    Library("aiosignal", "1.3.1", "1.4.0", PACKAGE_CONTROL, ("aiosignal",), "aiohttp"),
    Library("async-timeout", "5.0.1", None, PACKAGE_CONTROL, ("async_timeout",), "aiohttp"),
    Library("attrs", "25.3.0", "26.1.0", PACKAGE_CONTROL, ("attr", "attrs"), "aiohttp, jsonschema"),
    Library("frozenlist", "1.5.0", "1.8.0", PACKAGE_CONTROL, ("frozenlist",), "aiohttp"),
    Library("idna", "3.15", "3.20", PACKAGE_CONTROL, ("idna",), "yarl"),
    # jsonschema asks for it on 3.8, to read the files that are modules where it is carried.
    Library("importlib_resources", "6.4.5", None, CHECKOUT, (), "jsonschema"),
    # Never from Package Control: the channel's own is of 2018, and other packages rely on that.
    # 4.17.3 is the last that needs nothing compiled.
    Library("jsonschema", "4.17.3", "4.17.3", CARRIED, ("jsonschema",), "tools' arguments"),
    Library("multidict", "6.1.0", "7.2.1", PACKAGE_CONTROL, ("multidict",), "aiohttp"),
    Library("pkgutil_resolve_name", "1.3.10", None, CHECKOUT, (), "jsonschema"),
    Library("propcache", "0.2.0", "0.5.4", PACKAGE_CONTROL, ("propcache",), "yarl, aiohttp"),
    Library(
        "pyrsistent",
        "0.20.0",
        "0.20.0",
        CARRIED,
        ("pyrsistent", "_pyrsistent_version"),
        "jsonschema",
    ),
    Library(
        "typing_extensions",
        "4.13.2",
        "4.16.0",
        PACKAGE_CONTROL,
        ("typing_extensions",),
        "aiohttp, multidict",
    ),
    Library("yarl", "1.15.2", "1.25.1", PACKAGE_CONTROL, ("yarl",), "aiohttp"),
    Library("zipp", "3.20.2", None, CHECKOUT, (), "importlib_resources"),
)
# What jsonschema needs of the others: the plain package carries it with that.
WITH_JSONSCHEMA = ("attrs", "jsonschema", "pyrsistent")


def version_for(library: Library, host: str) -> str | None:
    return library.old if host == "3.8" else library.new


def carried_modules(host: str) -> Dict[str, Tuple[str, ...]]:
    """The modules of all that is carried for a host, by requirements as "name==version"."""
    versions = [(library, version_for(library, host)) for library in TABLE if library.modules]
    return {
        f"{library.name}=={version}": library.modules for library, version in versions if version
    }


def dependencies_text() -> str:
    """The text of dependencies.json: Package Control installs these names and nothing else."""
    content = {"*": {builds: library_names(host) for _, builds, host in BUILDS}}
    return json.dumps(content, indent="\t") + "\n"


def library_names(host: str) -> List[str]:
    """The names of the libraries that Package Control installs for this host."""
    return [
        library.name
        for library in TABLE
        if library.source == PACKAGE_CONTROL and version_for(library, host)
    ]


def wanted_requirements(host: str) -> List[str]:
    """All that a checkout runs on, as "name==version"."""
    versions = [(library.name, version_for(library, host)) for library in TABLE]
    return [f"{name}=={version}" for name, version in versions if version]


def beside_the_plain(host: str) -> List[str]:
    """What Package Control would install for the plain package, as "name==version"."""
    listed = library_names(host)
    return [
        requirement
        for requirement in wanted_requirements(host)
        if requirement.split("==")[0] in listed
    ]


def make_repository(page: str, url: str, version: str, date: str) -> Dict[str, Any]:
    """A repository for Package Control, schema 4.0.0: the package that carries its libraries."""
    release = {
        "url": url,
        "version": version,
        "date": date,
        "sublime_text": ALL_BUILDS,
        "platforms": ["*"],
    }
    return _with_package(page, version, [release], [])


def plain_repository(
    choose: wheels.Choose, page: str, url: str, version: str, date: str
) -> Dict[str, Any]:
    """A repository of the plain package with all its libraries, each wheel by its address and
    digest. Raises wheels.Missing."""
    releases = [
        {
            "url": url,
            "version": version,
            "date": date,
            "sublime_text": builds,
            "platforms": ["*"],
            "libraries": library_names(host),
        }
        for builds, _, host in BUILDS
    ]
    found: Dict[str, Dict[str, wheels.Wheel]] = {}
    uses: Dict[str, List[Tuple[str, str]]] = {}
    for host in HOSTS:
        wanted = {name: str(version_for(_find_library(name), host)) for name in library_names(host)}
        for platform in wheels.PLATFORMS:
            for name, wheel in choose(wanted, host, platform).items():
                found.setdefault(name, {})[wheel.url] = wheel
                uses.setdefault(wheel.url, []).append((host, platform))
    listed = [
        {
            **_describe_library(name, page),
            "releases": [_describe_release(wheel, uses[wheel.url]) for wheel in of.values()],
        }
        for name, of in sorted(found.items())
    ]
    return _with_package(page, version, releases, listed)


def _describe_release(wheel: wheels.Wheel, uses: List[Tuple[str, str]]) -> Dict[str, Any]:
    platforms = sorted({platform for _, platform in uses})
    return {
        "url": wheel.url,
        "version": wheel.version,
        "sha256": wheel.sha256,
        "sublime_text": "*",
        "python_versions": [
            host for host in HOSTS if any(host == used_host for used_host, _ in uses)
        ],
        "platforms": ["*"] if len(platforms) == len(wheels.PLATFORMS) else platforms,
    }


def _find_library(name: str) -> Library:
    return next(library for library in TABLE if library.name == name)


def _describe_library(name: str, page: str) -> Dict[str, Any]:
    return {
        "name": name,
        "author": f"the authors of {name}",
        "description": f"For {NAME}: {_find_library(name).why}",
        "issues": f"{page}/issues",
    }


def _with_package(
    page: str, version: str, releases: List[Dict[str, Any]], libraries: List[Dict[str, Any]]
) -> Dict[str, Any]:
    # No "details": Package Control would ask GitHub about them, and offer nothing where that fails.
    package = {
        "name": NAME,
        "description": DESCRIPTION,
        "homepage": page,
        "readme": f"{page}/raw/{version}/README.md",
        "issues": f"{page}/issues",
        "author": "GeminiCompanion contributors",
        "labels": LABELS,
        "releases": releases,
    }
    return {"schema_version": "4.0.0", "packages": [package], "libraries": libraries}


def make_channel(page: str) -> Dict[str, Any]:
    """What the default channel's own file would need: it looks for newer releases by itself."""
    release = {"sublime_text": ALL_BUILDS, "asset": f"{NAME}.sublime-package"}
    return {"name": NAME, "details": page, "labels": LABELS, "releases": [release]}


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
    date = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    made: Dict[str, Tuple[str, Callable[..., Dict[str, Any]]]] = {
        "repository": (
            REPOSITORY,
            lambda page, url: make_repository(page, url, package_version(), date),
        ),
        "plain": (
            REPOSITORY_PLAIN,
            lambda page, url: plain_repository(
                wheels.choose_wheels, page, url, package_version(), date
            ),
        ),
        "channel": (CHANNEL, make_channel),
    }
    if command == "dependencies":
        write_text(DEPENDENCIES, dependencies_text())
    else:
        name, make = made[command]
        content = make(*addresses)
        write_text(os.path.join(DIST, name), json.dumps(content, indent="\t") + "\n")


def package_version() -> str:
    """The version of the package."""
    with open(os.path.join(ROOT, "companion", "__init__.py"), encoding="utf-8") as file:
        return file.read().partition('__version__ = "')[2].partition('"')[0]


def write_text(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
