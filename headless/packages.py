"""Packages: where they lie, their resources and settings files, and how modules find them."""

from __future__ import annotations

import fnmatch
import importlib.machinery
import json
import os
import re
import sys
import time
import zipfile
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from . import files, project, values

EXTENSION = ".sublime-package"
_DEFAULT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "default")
# Resources and their files: a real editor that loads this checkout as a package would take a file
# of such a name for settings of the package.
_DEFAULT_FILES = {
    "Default": {"Preferences.sublime-settings": "preferences.jsonc"},
    "Color Scheme - Default": {
        "Breakers.sublime-color-scheme": "breakers.jsonc",
        "Mariana.sublime-color-scheme": "mariana.jsonc",
    },
}
_NEVER_RESOURCES = ("__pycache__", "node_modules")
# Nanoseconds after which what is written into a folder or file gets another time of writing.
_TICK = 3_000_000_000


def has(data: str, name: str) -> bool:
    """Whether a package of that name lies in the data folder, zipped or not."""
    zipped = os.path.join(data, "Installed Packages", name + EXTENSION)
    return os.path.isfile(zipped) or os.path.isdir(os.path.join(data, "Packages", name))


class Listings:
    """What folders and archives hold; read anew where they were written since, for it is asked on
    the UI thread all the time."""

    def __init__(self) -> None:
        self._known: Dict[str, Tuple[int, Tuple[Sequence[str], ...]]] = {}

    def of_folder(self, path: str) -> Sequence[Sequence[str]]:
        """The names of files and of the folders that may hold resources; none where it is gone."""
        return self._listed(path, _names) or ((), ())

    def of_archive(self, path: str) -> Sequence[str]:
        """The paths of its files; none where it goes, or is written right now."""
        found = self._listed(path, _archived)
        return found[0] if found else ()

    def _listed(
        self, path: str, read: Callable[[str], Tuple[Sequence[str], ...]]
    ) -> Optional[Tuple[Sequence[str], ...]]:
        try:
            written = os.stat(path).st_mtime_ns
            known = self._known.get(path)
            if known is not None and known[0] == written:
                return known[1]
            found = read(path)
        except (OSError, zipfile.BadZipFile):
            return None
        # What was written just now may be written once more within the same tick of the clock.
        if time.time_ns() - written > _TICK:
            self._known[path] = written, found
        return found


def _names(folder: str) -> Tuple[Sequence[str], ...]:
    with os.scandir(folder) as entries:
        is_folder = {entry.name: _is_folder(entry) for entry in entries}
    # As in Sublime, capitals do not come first.
    names = sorted(is_folder, key=lambda name: (name.lower(), name))
    return (
        [name for name in names if not is_folder[name]],
        # A link to a folder is none of both.
        sorted(
            name
            for name in is_folder
            if is_folder[name]
            and not name.startswith(".")
            and name not in _NEVER_RESOURCES
            and not os.path.islink(os.path.join(folder, name))
        ),
    )


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link to itself


def _archived(path: str) -> Tuple[Sequence[str], ...]:
    with zipfile.ZipFile(path) as archive:
        return ([name for name in archive.namelist() if not name.endswith("/")],)


class Package:
    """One package: a folder, a zip, or a zip with a folder of overrides over it."""

    def __init__(self, name: str, folder: Optional[str], archive: Optional[str] = None) -> None:
        self.name = name
        self.folder = folder
        self.archive = archive
        self.modules: List[str] = []
        self._listings = Listings()

    @property
    def places(self) -> List[str]:
        """Where its modules are looked for, overrides first."""
        return [place for place in (self.folder, self.archive) if place]

    def plugin_names(self) -> List[str]:
        """The root modules, alphabetically."""
        return sorted({name[:-3] for name in self._root_names() if name.endswith(".py")})

    def plugin_stamps(self) -> Dict[str, files.Stamp]:
        """The root modules that are files in its folder, and their state on disk."""
        names = os.listdir(self.folder) if self.folder and os.path.isdir(self.folder) else []
        found = {
            name[:-3]: files.stamp(os.path.join(str(self.folder), name))
            for name in names
            if name.endswith(".py")
        }
        return {name: stamp for name, stamp in found.items() if stamp is not None}

    def _root_names(self) -> List[str]:
        names = os.listdir(self.folder) if self.folder and os.path.isdir(self.folder) else []
        return names + [name for name in self._members() if "/" not in name]

    def _members(self) -> Sequence[str]:
        return self._listings.of_archive(self.archive) if self.archive else ()

    def resources(self) -> List[str]:
        """Paths inside the package, with forward slashes."""
        return list(dict.fromkeys([*self._files(self.folder or os.devnull, ""), *self._members()]))

    def _files(self, folder: str, inside: str) -> Iterator[str]:
        names, folders = self._listings.of_folder(folder)
        for name in names:
            yield inside + name
        for name in folders:
            yield from self._files(os.path.join(folder, name), f"{inside}{name}/")

    def has_root(self, name: str) -> bool:
        return name in self._root_names()

    def read(self, path: str) -> bytes:
        """Raises FileNotFoundError; an override wins over the archive."""
        full = os.path.join(self.folder, *path.split("/")) if self.folder else ""
        if os.path.isfile(full):
            with open(full, "rb") as file:
                return file.read()
        if path in self._members():
            with zipfile.ZipFile(str(self.archive)) as archive:
                return archive.read(path)
        raise FileNotFoundError("resource not found: Packages/%s/%s" % (self.name, path))


class _Default(Package):
    """What the editor itself brings along; a folder of that name in Packages goes over it."""

    def _members(self) -> List[str]:
        return list(_DEFAULT_FILES[self.name])

    def read(self, path: str) -> bytes:
        over = os.path.join(self.folder or "", *path.split("/"))
        if path not in self._members() or (self.folder and os.path.isfile(over)):
            return super().read(path)
        with open(os.path.join(_DEFAULT, _DEFAULT_FILES[self.name][path]), "rb") as file:
            return file.read()


class Finder:
    """Imports packages under their names, wherever they lie; first on sys.meta_path."""

    def __init__(self, packages: "Packages") -> None:
        self._packages = packages

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        package = self._packages.by_name.get(name)
        if package is None or (not package.archive and self._packages.has_library(name)):
            # As in Sublime, a library comes before a folder of its name, an archive before both.
            return None
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = package.places
        return spec


class Packages:
    """All packages of one editor; Default comes first and User last."""

    def __init__(self, editor: Any, data: str) -> None:
        self.editor = editor
        self.data = data
        # Replaced, never changed: any thread may look for a resource.
        self.by_name: Dict[str, Package] = {}
        self.finder = Finder(self)
        self._given: Set[str] = set()
        self._listed: Any = None

    # Places

    def folder(self) -> str:
        return os.path.join(self.data, "Packages")

    def installed_folder(self) -> str:
        return os.path.join(self.data, "Installed Packages")

    def user_folder(self) -> str:
        return os.path.join(self.folder(), "User")

    def library_folder(self) -> str:
        """Where Package Control puts libraries for plugins on this Python."""
        return os.path.join(self.data, "Lib", "python%d%d" % sys.version_info[:2])

    def has_library(self, name: str) -> bool:
        path = os.path.join(self.library_folder(), name)
        return os.path.isdir(path) or os.path.isfile(path + ".py")

    def expand(self, path: str) -> str:
        """Replace ${packages} and ${platform} in a path; packages given by path are followed."""
        path = path.replace("${platform}", self._platform()).replace("$platform", self._platform())
        if not path.startswith("${packages}/"):
            return path
        parts = path.split("/", 2)
        package = self.by_name.get(parts[1]) if len(parts) == 3 else None
        if package is not None and package.folder:
            return os.path.join(package.folder, *parts[2].split("/"))
        return os.path.join(self.folder(), *parts[1:])

    def _platform(self) -> str:
        return {"osx": "OSX", "windows": "Windows"}.get(self.editor.api.platform(), "Linux")

    # Finding

    def discover(self, given: List[str]) -> None:
        """Know the packages of the data folder and those given by path.

        Raises ValueError for one that was given; a broken one in the data folder is reported.
        """
        for folder in (self.user_folder(), self.installed_folder(), self.library_folder()):
            os.makedirs(folder, exist_ok=True)
        for name in _DEFAULT_FILES:
            over = os.path.join(self.folder(), name)
            self.add(_Default(name, over if os.path.isdir(over) else None))
            self._given.add(name)
        for path in given:
            package = self.at(path)
            self._given.add(package.name)
            self.add(package)
        self.refresh()

    def _listing(self) -> Tuple[List[str], List[str]]:
        return sorted(os.listdir(self.installed_folder())), sorted(os.listdir(self.folder()))

    def differ(self) -> bool:
        """Whether packages came into the data folder or went since `refresh`."""
        return bool(self._listing() != self._listed)

    def refresh(self) -> None:
        """Know the packages of the data folder as it is now; those given by path stay."""
        listed = self._listing()
        if listed == self._listed:
            return
        self._listed = listed
        found = {name: self.by_name[name] for name in self._given}
        for name in listed[0]:
            if name.endswith(EXTENSION) and name[: -len(EXTENSION)] not in found:
                self._find_archive(name, found)
        for name in listed[1]:
            folder = os.path.join(self.folder(), name)
            if name not in found and os.path.isdir(folder):
                found[name] = self._known(Package(name, folder))
        self.by_name = found

    def _find_archive(self, name: str, found: Dict[str, Package]) -> None:
        try:
            package = self.at(os.path.join(self.installed_folder(), name))
        except ValueError as error:
            sys.stderr.write("Error loading a package: %s\n" % error)
            return
        found[package.name] = self._known(package)

    def _known(self, package: Package) -> Package:
        """The package as it is known already, which knows its modules."""
        known = self.by_name.get(package.name)
        if known is None:
            return package
        known.folder, known.archive = package.folder, package.archive
        return known

    def at(self, path: str) -> Package:
        """The package at a path; raises ValueError that says what was expected."""
        path = os.path.abspath(path)
        if os.path.isdir(path):
            return Package(project.read(path).package or os.path.basename(path), path)
        if path.endswith(EXTENSION) and zipfile.is_zipfile(path):
            name = os.path.basename(path)[: -len(EXTENSION)]
            over = os.path.join(self.folder(), name)
            return Package(name, over if os.path.isdir(over) else None, path)
        raise ValueError("expected a folder or a %s file as package, got %s" % (EXTENSION, path))

    def add(self, package: Package) -> None:
        """Know a package from now on; one from elsewhere stays whatever the data folder holds."""
        if not any(place.startswith(os.path.join(self.data, "")) for place in package.places):
            self._given.add(package.name)
        self.by_name = {**self.by_name, package.name: package}

    def ordered(self) -> List[Package]:
        known = self.by_name
        names = sorted(name for name in known if name not in ("Default", "User"))
        return [known[name] for name in ["Default"] + names + ["User"] if name in known]

    # Resources

    def find_resources(self, pattern: str) -> List[str]:
        """Those whose file names match; without a pattern, as in Sublime, all."""
        self.refresh()
        matches = re.compile(fnmatch.translate(pattern or "*")).match
        return [
            "Packages/%s/%s" % (package.name, path)
            for package in self.ordered()
            for path in package.resources()
            if matches(path.rsplit("/", 1)[-1])
        ]

    def load(self, name: str) -> bytes:
        """The bytes of `Packages/<package>/<path>`; raises FileNotFoundError."""
        self.refresh()
        parts = name.split("/", 2)
        package = self.by_name.get(parts[1]) if len(parts) == 3 else None
        if package is None or parts[0] != "Packages":
            raise FileNotFoundError("resource not found: %s" % name)
        return package.read(parts[2])

    def state_of(self, name: str) -> Any:
        """What changes when the file behind a resource does."""
        parts = name.split("/", 2)
        package = self.by_name.get(parts[1]) if len(parts) == 3 else None
        if package is None:
            return None
        over = os.path.join(package.folder, *parts[2].split("/")) if package.folder else ""
        return files.stamp(over) or files.stamp(package.archive or "")

    def parsed(self, filename: str) -> List[Tuple[str, Any]]:
        """Every package's root file of that name as (package, JSON); bad ones are reported."""
        found = []
        for package in self.ordered():
            if not package.has_root(filename):
                continue
            try:
                found.append((package.name, values.parse(package.read(filename).decode("utf-8"))))
            except ValueError as error:
                sys.stderr.write(
                    "Error parsing Packages/%s/%s: %s\n" % (package.name, filename, error)
                )
        return found

    def merged_settings(self, name: str) -> Dict[str, Any]:
        """Packages in order, then those for this platform, then User's own."""
        stem, extension = os.path.splitext(name)
        platform = "%s (%s)%s" % (stem, self._platform(), extension)
        layers = self.parsed(name)
        ordered = (
            [layer for layer in layers if layer[0] != "User"]
            + self.parsed(platform)
            + [layer for layer in layers if layer[0] == "User"]
        )
        merged: Dict[str, Any] = {}
        for _package, content in ordered:
            if isinstance(content, dict):
                merged.update(content)
        return merged

    def settings_stamps(self, name: str) -> List[Tuple[str, files.Stamp]]:
        """The files that `merged_settings` would look at, and their state on disk."""
        stem, extension = os.path.splitext(name)
        names = (name, "%s (%s)%s" % (stem, self._platform(), extension))
        paths = [
            os.path.join(package.folder, each)
            for package in self.ordered()
            if package.folder
            for each in names
        ]
        paths += [package.archive for package in self.ordered() if package.archive]
        stamps = [(path, files.stamp(path)) for path in paths]
        return [(path, stamp) for path, stamp in stamps if stamp is not None]

    def save_settings(self, name: str, own: Dict[str, Any]) -> None:
        """Write User/<name>: what differs from the packages' defaults. Raises OSError."""
        defaults: Dict[str, Any] = {}
        for package, content in self.parsed(name):
            if package != "User" and isinstance(content, dict):
                defaults.update(content)
        kept = {
            key: value
            for key, value in own.items()
            if key not in defaults or defaults[key] != value
        }
        os.makedirs(self.user_folder(), exist_ok=True)
        with open(os.path.join(self.user_folder(), name), "w", encoding="utf-8") as file:
            file.write(json.dumps(kept, indent="\t", ensure_ascii=False) + "\n")

    def palette(self) -> List[Dict[str, Any]]:
        """The entries of the command palette: caption, command, args."""
        return [
            entry for _name, entries in self.parsed("Default.sublime-commands") for entry in entries
        ]

    def menu(self, name: str = "Main") -> List[Dict[str, Any]]:
        """The entries of a menu, packages after each other, not merged by id."""
        return [
            entry for _name, entries in self.parsed(name + ".sublime-menu") for entry in entries
        ]

    def key_bindings(self) -> List[Dict[str, Any]]:
        names = ("Default.sublime-keymap", "Default (%s).sublime-keymap" % self._platform())
        return [
            entry
            for filename in names
            for _name, entries in self.parsed(filename)
            for entry in entries
        ]
