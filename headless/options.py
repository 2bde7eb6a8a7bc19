"""The command line: what was asked for, in one frozen value."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass, fields
from typing import Any, List, Optional, Tuple

from . import packages, project
from .switches import Switches


@dataclass(frozen=True)
class Options:
    """Paths are absolute. `data` None means a temporary folder for a script, and for a person the
    one of their folders.

    `packages` are those given by path; on the command line the default is the one where the editor
    is started, if that folder has a headless.json with its name, and none of that name lies in the
    data folder. `front` and `environment` are what that file names.
    """

    folders: Tuple[str, ...] = ()
    packages: Tuple[str, ...] = ()
    data: Optional[str] = None
    build: int = 4200
    script: Optional[str] = None
    restore: bool = False
    render: Optional[str] = None
    scheme: Optional[str] = None
    worst: Optional[int] = None
    switches: Tuple[Tuple[str, Any], ...] = ()
    arguments: Tuple[str, ...] = ()
    front: Optional[str] = None
    environment: Tuple[Tuple[str, str], ...] = ()


# Runs the tests of the packages.
TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside", "package_tests.py")
_SCHEMES = {"light": "Breakers.sublime-color-scheme", "dark": "Mariana.sublime-color-scheme"}


def parse(arguments: List[str], platform: str = sys.platform) -> Options:
    """Leaves with status 2 and a usage line where the command line makes no sense, or asks for what
    there is not on the platform (as `sys.platform` names it)."""
    rest: List[str] = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, rest = arguments[:at], arguments[at + 1 :]
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.test and given.script:
        parser.error("--test runs a script of its own: expected no --exec beside it")
    if platform == "win32" and not (given.script or given.test):
        parser.error("without --exec it wants keys as the terminals of Linux and macOS send them")
    data = os.path.abspath(given.data) if given.data else None
    try:
        here = project.read(os.getcwd())
    except ValueError as error:
        parser.error(str(error))
    name = here.package
    is_there = name is None or (data is not None and packages.has(data, name))
    loaded = given.package or ([] if is_there else [os.getcwd()])
    packages_given = tuple(os.path.abspath(path) for path in loaded)
    script = os.path.abspath(given.script) if given.script else None
    if given.test:
        if not loaded:
            parser.error("--test: expected a --package, or a headless.json where you stand")
        script, rest = TESTS, [*packages_given, "--", *rest]
    return Options(
        folders=tuple(os.path.abspath(folder) for folder in given.folders),
        packages=packages_given,
        data=data,
        build=given.build,
        script=script,
        restore=given.restore,
        render=os.path.abspath(given.render) if given.render else None,
        scheme=_SCHEMES.get(given.scheme, given.scheme),
        worst=given.worst,
        switches=given.switches,
        arguments=tuple(rest),
        front=here.front,
        environment=tuple(here.environment.items()),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m headless",
        description="A Sublime Text without a screen.",
        epilog="What follows -- becomes the arguments of the script, or chooses tests.",
    )
    parser.add_argument(
        "folders",
        nargs="*",
        metavar="FOLDER",
        type=_folder,
        help="a folder to open, in a window of its own",
    )
    parser.add_argument(
        "--package",
        action="append",
        default=[],
        metavar="PATH",
        help="a package to load: a folder or a .sublime-package (default: the folder where you"
        " stand, if its headless.json names a package that the data folder has not)",
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="the data folder with Packages, Installed Packages and Local (default: one that is"
        " kept for these folders; with --exec a temporary one)",
    )
    parser.add_argument(
        "--build", type=int, default=4200, metavar="N", help="the build to imitate (default: 4200)"
    )
    parser.add_argument(
        "--exec",
        dest="script",
        metavar="SCRIPT",
        help="run a script inside, then leave with its exit status",
    )
    parser.add_argument(
        "--test",
        action="store_true",
        help="run the packages' own tests, those in `tests` or where unittesting.json says; file"
        " names or patterns behind -- choose some",
    )
    parser.add_argument(
        "--restore",
        action="store_true",
        help="with --exec and --data: open again what the data folder's last editor had open",
    )
    parser.add_argument(
        "--render", metavar="FILE.html", help="write what a user would see as one page"
    )
    parser.add_argument(
        "--worst",
        type=int,
        default=os.environ.get("HEADLESS_WORST") or None,
        metavar="SEED",
        help="do what no document forbids, as badly as a real editor may, chosen by the seed"
        " (default: the variable HEADLESS_WORST; without both, the friendly way)",
    )
    parser.add_argument(
        "--switches",
        type=_switches,
        default=(),
        metavar="FILE.json",
        help="behave as a real editor did: what tools/probe_sublime.py wrote",
    )
    parser.add_argument(
        "--scheme",
        metavar="NAME",
        help="the colour scheme: light, dark, or the name of one that a package has",
    )
    return parser


def _folder(path: str) -> str:
    if not os.path.isdir(path):
        raise argparse.ArgumentTypeError("there is no folder %s" % path)
    return path


def _switches(path: str) -> Tuple[Tuple[str, Any], ...]:
    """Of a file with an object `switches`: values by the names of the fields of Switches."""
    names = {each.name for each in fields(Switches)}
    try:
        with open(path, encoding="utf-8") as file:
            given = json.load(file)
    except OSError as error:
        raise argparse.ArgumentTypeError("%s: %s" % (path, error.strerror)) from None
    except ValueError:
        raise argparse.ArgumentTypeError("%s: there is no JSON in it" % path) from None
    switches = given.get("switches") if isinstance(given, dict) else None
    if not isinstance(switches, dict):
        raise argparse.ArgumentTypeError('%s: expected an object "switches"' % path)
    unknown = sorted(set(switches) - names)
    if unknown:
        known = ", ".join(sorted(names))
        raise argparse.ArgumentTypeError("no switch %s; there are %s" % (unknown[0], known))
    # A range of milliseconds is a list there.
    return tuple(
        (name, tuple(value) if isinstance(value, list) else value)
        for name, value in switches.items()
    )
