"""`make install` and `make uninstall`: this package in the Sublime Text of this user.

python -m tools.install [--data FOLDER] [--program FILE] [--hosts "3.8 3.14"]
                        [--link | --plain | --libraries]
python -m tools.install --remove [--data FOLDER] [--program FILE]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from typing import Callable, Dict, List, Set, Tuple

from . import closure, libraries, package, sublime_folders
from .record import Damaged, Record
from .sublime_folders import Machine, Place

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAME = "GeminiCompanion"
ZIPPED = "Installed Packages/%s.sublime-package" % NAME
UNPACKED = "Packages/" + NAME

Fetch = Callable[[List[str], str, Machine, str], None]
Tell = Callable[[str], None]


class Refused(Exception):
    """A sentence for the user; nothing was changed."""


class Incomplete(Exception):
    """Sentences for the user: what was left that keeps the package from running."""


class Installation:
    """One data folder and what we have in it. Making one raises Damaged; methods raise Refused,
    Unavailable, OSError and, with all else put there, Incomplete."""

    def __init__(self, place: Place, tell: Tell) -> None:
        self._place = place
        self._tell = tell
        self._record = Record(place.data)
        self._unfit: List[str] = []

    def link(self, checkout: str, machine: Machine, fetch: Fetch) -> None:
        """The folder of the checkout itself: what is changed there counts at once."""
        self._refuse_strangers()
        with tempfile.TemporaryDirectory() as folder:
            fetched = self._fetch_libraries(machine, fetch, folder, closure.wanted_requirements)
            self._remove_files([ZIPPED])
            self._put_link(UNPACKED, checkout)
            self._put_libraries(fetched)
        self._finish_change()

    def put(self, content: bytes) -> None:
        """The built package, which carries its libraries."""
        self._refuse_strangers()
        self._put_package(content)
        self._put_libraries({host: ([], "") for host in list(self._record.libraries)})
        self._record.save()

    def put_plain(self, content: bytes, machine: Machine, fetch: Fetch) -> None:
        """The built plain package, its libraries beside it."""
        self._refuse_strangers()
        with tempfile.TemporaryDirectory() as folder:
            fetched = self._fetch_libraries(machine, fetch, folder, closure.beside_the_plain)
            self._put_package(content)
            self._put_libraries(fetched)
        self._finish_change()

    def put_libraries(self, machine: Machine, fetch: Fetch) -> None:
        """Put the libraries of a package that came another way."""
        with tempfile.TemporaryDirectory() as folder:
            self._put_libraries(
                self._fetch_libraries(machine, fetch, folder, closure.wanted_requirements)
            )
        self._finish_change()

    def remove(self) -> None:
        """All that was put there and not changed since."""
        paths = self._record.paths()
        if not paths:
            self._tell("Nothing was put there by make install.")
        self._remove_files(paths)
        self._record.libraries = {}
        self._record.save()

    def _finish_change(self) -> None:
        self._record.save()
        if self._unfit:
            way_out = "Take it away first, or take the package that has its own:"
            raise Incomplete("\n".join([*self._unfit, way_out, "    make install"]))

    # The package

    def _refuse_strangers(self) -> None:
        for path in (ZIPPED, UNPACKED):
            if self._is_strange(path):
                raise Refused(
                    "%s is there already, and is not what make install put there.\n"
                    "Take it away first (Package Control: Remove Package, or move it elsewhere), "
                    "then try again." % self._record.full(path)
                )

    def _put_package(self, content: bytes) -> None:
        self._remove_files([path for path in (UNPACKED,) if self._record.is_there(path)])
        self._tell_change(self._record.put({ZIPPED: content}), ZIPPED)

    def _put_link(self, path: str, target: str) -> None:
        if self._record.is_there(path) and os.path.realpath(
            self._record.full(path)
        ) != os.path.realpath(target):
            self._remove_files([path])
        self._tell_change(self._record.link(path, target), "%s -> %s" % (path, target))

    def _tell_change(self, changed: bool, what: str) -> None:
        self._tell(("Put        " if changed else "Unchanged  ") + what)

    # The libraries

    def _fetch_libraries(
        self, machine: Machine, fetch: Fetch, folder: str, wanted: Callable[[str], List[str]]
    ) -> Dict[str, Tuple[List[str], str]]:
        """Everything is here before anything is changed: per host the names and the folder."""
        fetched = {}
        for host in self._place.hosts:
            names = wanted(host)
            if self._has_libraries(host, names):
                self._tell_change(
                    False, "%s: %d libraries" % (sublime_folders.library_folder(host), len(names))
                )
                continue
            self._tell("Fetching   %d libraries for Python %s ..." % (len(names), host))
            target = os.path.join(folder, host)
            fetch(names, host, machine, target)
            fetched[host] = (names, target)
        return fetched

    def _has_libraries(self, host: str, names: List[str]) -> bool:
        paths = self._record.paths(sublime_folders.library_folder(host) + "/")
        return (
            bool(paths)
            and self._record.libraries.get(host) == names
            and all(self._record.is_ours(path) for path in paths)
        )

    def _put_libraries(self, fetched: Dict[str, Tuple[List[str], str]]) -> None:
        for host, (names, source) in fetched.items():
            start = sublime_folders.library_folder(host) + "/"
            before = self._record.paths(start)
            kept, is_whole = self._put_distributions(start, source, names)
            self._remove_files([path for path in before if path not in kept])
            if names and is_whole:
                self._record.libraries[host] = names
            else:
                self._record.libraries.pop(host, None)

    def _put_distributions(
        self, start: str, source: str, names: List[str]
    ) -> Tuple[Set[str], bool]:
        """The paths that are not to be taken away, and whether everything was put there."""
        kept: Set[str] = set()
        left = []
        present = self._present_libraries(start)
        for name, paths in (libraries.read_distributions(source) if source else {}).items():
            kept.update(start + path for path in paths)
            if name in present or any(self._is_strange(start + path) for path in paths):
                self._tell("Left       %s%s: it is there, and not as we put it" % (start, name))
                left.append(name)
                continue
            self._record.put({start + path: _read_content(source, path) for path in paths})
            self._tell("Put        %s%s" % (start, name))
        self._compare_libraries(start, left, present, names)
        return kept, not left

    def _compare_libraries(
        self, start: str, left: List[str], present: Dict[str, str], names: List[str]
    ) -> None:
        """What is there from elsewhere may well be what is needed."""
        wanted = {
            libraries.normal_name(requirement.split("==")[0]): requirement.split("==")[1]
            for requirement in names
        }
        for name in left:
            there = present.get(name, "something else")
            if there != wanted.get(name, there):
                self._unfit.append(
                    "%s%s: %s is there, %s is needed." % (start, name, there, wanted[name])
                )

    def _is_strange(self, path: str) -> bool:
        return self._record.is_there(path) and not self._record.is_ours(path)

    def _present_libraries(self, start: str) -> Dict[str, str]:
        """Libraries in the folder of a host that are not ours, with their versions."""
        folder = self._record.full(start.rstrip("/"))
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return {
            libraries.project_name(name): name[: -len(".dist-info")].partition("-")[2]
            for name in names
            if name.endswith(".dist-info") and not self._record.paths(start + name + "/")
        }

    # Taking away

    def _remove_files(self, paths: List[str]) -> None:
        removed: Dict[str, int] = {}
        for path in paths:
            was_there = self._record.is_there(path)
            if not self._record.remove(path):
                self._tell("Left       %s: it was changed since" % path)
            elif was_there:
                group = "/".join(path.split("/")[:2])
                removed[group] = removed.get(group, 0) + 1
        for group, count in sorted(removed.items()):
            self._tell("Removed    %s%s" % (group, "" if count == 1 else " (%d files)" % count))


def _read_content(folder: str, path: str) -> bytes:
    with open(os.path.join(folder, *path.split("/")), "rb") as file:
        return file.read()


def main(arguments: List[str]) -> int:
    """The exit status; everything is said on standard output."""
    given = _make_parser().parse_args(arguments)
    machine = sublime_folders.this_machine()
    try:
        place = sublime_folders.find_place(machine, given.data, given.program)
        if given.hosts:
            place = Place(place.data, place.program, tuple(given.hosts.split()), place.others)
        _describe_place(place)
        _act_on_place(given, place, machine)
    except (sublime_folders.NotFound, Refused, Incomplete, Damaged) as error:
        print(error)
        return 1
    except libraries.Unavailable as error:
        print(error)
        print("Nothing was changed. The package of a release carries its libraries:")
        print("docs/install.md tells where to put it.")
        return 1
    except package.NoCheckout as error:
        print(
            "%s\nNothing was changed. Take the package of a release: docs/install.md tells" % error
        )
        print("where to put it.")
        return 1
    except subprocess.CalledProcessError as error:
        print("%s\nNothing was put there." % error)
        return 1
    except OSError as error:
        print("%s\nIt can be tried again, or taken back with make uninstall." % error)
        if os.name == "nt":
            print("Close Sublime Text before: it may hold the file open.")
        return 1
    except KeyboardInterrupt:
        print("Stopped. It can be tried again, or taken back with make uninstall.")
        return 130
    return 0


def _act_on_place(given: argparse.Namespace, place: Place, machine: Machine) -> None:
    installation = Installation(place, print)
    if given.remove:
        installation.remove()
    elif given.link:
        installation.link(ROOT, machine, libraries.unpack_libraries)
    elif given.libraries:
        installation.put_libraries(machine, libraries.unpack_libraries)
    else:
        files, unpacked = package.export_files(), package.download_libraries()
        if given.plain:
            content = package.zip_files(package.plain_package(files, unpacked))
            installation.put_plain(content, machine, libraries.unpack_libraries)
        else:
            installation.put(package.zip_files(package.whole_package(files, unpacked)))
    print("Restart Sublime Text, if it runs.")


def _describe_place(place: Place) -> None:
    print("Sublime Text: %s" % (place.program or "its program was not found"))
    print("Plugins run on Python %s" % " and ".join(place.hosts))
    print("Data folder: %s" % place.data)
    for other in place.others:
        print('There is also %s: make install DATA="%s"' % (other, other))


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.install")
    parser.add_argument("--remove", action="store_true", help="take everything away again")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--link", action="store_true", help="link this checkout instead of a copy")
    form.add_argument("--libraries", action="store_true", help="the libraries alone")
    form.add_argument("--plain", action="store_true", help="libraries beside it, compiled ones")
    parser.add_argument("--data", default="", metavar="FOLDER", help="the data folder")
    parser.add_argument("--program", default="", metavar="FILE", help="subl or sublime_text")
    parser.add_argument("--hosts", default="", metavar="VERSIONS", help='such as "3.8 3.14"')
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
