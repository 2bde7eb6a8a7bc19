"""The built packages: the same bytes everywhere, what is in them, and what they carry."""

from __future__ import annotations

import ast
import glob
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
import zlib
from contextlib import redirect_stdout
from typing import Any, Iterator
from unittest import mock

import pytest
from GeminiCompanion.tools import check_pythons, closure, libraries, package, setup, vendor
from packaging.requirements import Requirement

from .built import IS_CHECKOUT, NAMES, PLAIN, WHOLE, Built, builds

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# The first argument is the built package; what an editor has of it before the plugin is loaded.
LOAD = """
import importlib, json, sys, types
own = types.ModuleType("GeminiCompanion")
own.__path__ = [sys.argv[1]]
sys.modules["GeminiCompanion"] = own
"""
IMPORT_ALL = (
    LOAD
    + """
before = set(sys.modules), list(sys.path), list(sys.meta_path), list(sys.path_hooks)
for name in json.load(sys.stdin):
    importlib.import_module(name)
new = sorted(name for name in set(sys.modules) - before[0] if "." not in name)
changed = [sys.path, sys.meta_path, sys.path_hooks] != list(before[1:])
own = [name for name in sys.modules if name.startswith("GeminiCompanion.carried")]
outside = [name for name in own if not sys.modules[name].__file__.startswith(sys.argv[1])]
print(json.dumps({"new": new, "changed": changed, "outside": outside}))
"""
)
WHICH = (
    LOAD
    + """
sys.path[:0] = sys.argv[2:]
from GeminiCompanion.companion.ide import mcp, schema_check, transport
from GeminiCompanion.companion.api.contract import validation
from GeminiCompanion.companion.api import server
from GeminiCompanion.companion.api.handlers import event_stream
used = [module.BaseRequest.__module__ for module in (transport, server.web, event_stream.web)]
used += [module.Draft7Validator.__module__ for module in (schema_check, validation)]
print(json.dumps(sorted(set(used))))
"""
)
# The set for the Python that runs this, and for which Python its sources are.
HOST = "3.8" if sys.version_info < vendor.NEW else "3.13"
SET = package.SETS[HOST]
CARRIED = f"GeminiCompanion.carried.{SET}."
OWN = [CARRIED + "aiohttp.web_request", CARRIED + "jsonschema.validators"]
# Of the calls that tools/check_pythons.py looks for, these work up to 3.14 as they stand there: in
# coroutines, with a warning that nobody sees, or on loggers.
TOLERATED = {
    "asyncio.get_event_loop",
    "asyncio.iscoroutinefunction",
    ".warn()",
    "typing.Text",
    "typing.no_type_check_decorator",
}
# The older set alone, which no newer Python reads.
OLD = {"leaving finally"}
# So that no other library than the given ones is there: no site, no environment.
BARE = [sys.executable, "-I", "-S"]


class Reproducible(Built):
    def test_mask_times_folder_zone_and_what_lies_around_change_no_byte(self) -> None:
        for name in NAMES:
            with self.subTest(name):
                self.assertEqual(self.built(name, "one"), self.built(name, "two"))

    def test_entries_are_sorted_and_of_no_time_and_no_machine(self) -> None:
        for name in NAMES:
            with self.subTest(name), zipfile.ZipFile(io.BytesIO(self.built(name))) as archive:
                entries = archive.infolist()
                self.assertEqual(archive.namelist(), sorted(set(archive.namelist())))
                self.assertEqual({entry.date_time for entry in entries}, {(1980, 1, 1, 0, 0, 0)})
                self.assertEqual({entry.external_attr >> 16 for entry in entries}, {0o100644})
                self.assertEqual({entry.create_system for entry in entries}, {3})

    def test_a_package_is_deflated_with_the_same_effort_each_time(self) -> None:
        files = {"one.py": b"x = 1\n" * 1000, "two.py": b"", "three.bin": bytes(range(256)) * 9}
        data = package.zip_files(files)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            self.assertEqual({path: archive.read(path) for path in files}, files)
            kinds = {entry.compress_type for entry in archive.infolist()}
        self.assertEqual(kinds, {zipfile.ZIP_DEFLATED})
        self.assertLess(len(data), 1500)
        deflater = zlib.compressobj(package.LEVEL, zlib.DEFLATED, -15)
        self.assertIn(deflater.compress(files["one.py"]) + deflater.flush(), data)


class NoCheckout(unittest.TestCase):
    """What is downloaded as an archive of the sources, and a machine without git."""

    def said(self, root: str = ROOT) -> str:
        with tempfile.TemporaryDirectory() as folder:
            with mock.patch.object(package, "ROOT", root), redirect_stdout(io.StringIO()) as said:
                self.assertEqual(package.main(folder), 1)
                self.assertEqual(os.listdir(folder), [])
        return said.getvalue()

    def test_a_folder_that_is_no_checkout_is_answered_with_a_sentence(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            self.assertIn("this is no checkout of git", self.said(root))
            os.mkdir(os.path.join(root, ".git"))
            self.assertRegex(self.said(root), "not a git repository|git was not found")

    @unittest.skipUnless(IS_CHECKOUT, "only a checkout needs git")
    def test_a_machine_without_git_is_answered_with_a_sentence(self) -> None:
        with mock.patch.dict(os.environ, PATH=""):
            self.assertIn("git was not found", self.said())


class Contents(Built):
    def test_each_message_that_package_control_shows_is_in_it(self) -> None:
        files = self.content(WHOLE)
        for path in json.loads(files["messages.json"]).values():
            self.assertIn(path, files)

    def test_each_is_what_is_committed_but_for_the_modules_that_import_a_carried_library(
        self,
    ) -> None:
        # What is committed and exported, tests/tools/test_review.py looks at.
        committed = package.export_files()
        # Package Control would install what is carried.
        lacking = {"dependencies.json"}
        for name, tops, gone in (
            (WHOLE, {"aiohttp", "jsonschema"}, lacking),
            (PLAIN, {"jsonschema"}, set()),
        ):
            files = self.content(name)
            own = {path for path in files if not path.startswith("carried/")}
            changed = {path for path in own if files[path] != committed.get(path)}
            wanted = {path for path, modules in package.USERS.items() if tops & set(modules)}
            with self.subTest(name):
                self.assertEqual(own, {*committed} - gone)
                self.assertEqual(changed, wanted | {"README.md"})

    def test_the_readme_links_to_nothing_and_names_no_make_target_that_is_not_there(self) -> None:
        text = self.content(WHOLE)["README.md"].decode()
        links = re.findall(r"\]\(([^)]+)\)", text)
        self.assertEqual([link for link in links if "://" not in link and link[0] != "#"], [])
        self.assertIn("## Settings", text)
        targets = re.findall(r"\bmake [a-z-]+(?= [A-Z]+=)|(?<=`)make [^`]*", text)
        # From a checkout.
        self.assertEqual(targets, ["make install"])
        self.assertNotIn("<!--", text)
        self.assertNotRegex(text, r"(?i)\bthe picture\b")

    def test_nothing_carried_is_compiled_or_a_test_or_without_its_license(self) -> None:
        for name, limit in ((WHOLE, None), (PLAIN, closure.WITH_JSONSCHEMA)):
            carried = [path for path in self.content(name) if path.startswith("carried/")]
            strange = [
                path for path in carried if re.search(r"\.(so|pyd|pyc|pyx|c|h)$|/tests?/", path)
            ]
            self.assertEqual(strange, [])
            for host, folder in package.SETS.items():
                start = f"carried/{folder}/licenses/"
                found = {
                    path[len(start) :].split("/")[0] for path in carried if path.startswith(start)
                }
                wanted = {
                    requirement.replace("-", "_").replace("==", "-").lower()
                    for requirement in closure.carried_modules(host)
                    if limit is None or requirement.split("==")[0] in limit
                }
                with self.subTest(name, host=host):
                    self.assertEqual({library.lower() for library in found}, wanted)


class Carried(Built):
    def run_python(self, command: list[str], code: str, *arguments: str, given: str = "") -> Any:
        """What the code printed, which is JSON."""
        done = subprocess.run(
            [*command, "-c", code, *arguments],
            input=given.encode(),
            capture_output=True,
            cwd=builds().folder,
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))
        return json.loads(done.stdout)

    def sources(self, host: str = "", name: str = WHOLE) -> Iterator[tuple[str, bytes]]:
        """Of one set, or of both."""
        start = "carried/" + package.SETS.get(host, "")
        for path, data in self.content(name).items():
            if path.startswith(start) and path.endswith(".py"):
                yield path, data

    def test_each_set_can_be_read_by_its_oldest_python_and_imports_itself_only(self) -> None:
        for host, version in (("3.8", (3, 8)), ("3.13", vendor.NEW)):
            tops = {name for modules in closure.carried_modules(host).values() for name in modules}
            for path, data in self.sources(host):
                with self.subTest(path):
                    tree = ast.parse(data, path, feature_version=version)
                    found: set[str] = set().union(*map(absolute, ast.walk(tree)))
                    self.assertEqual(found & tops, set())

    def test_what_newer_pythons_took_away_is_called_by_none_but_as_tolerated(self) -> None:
        for host, tolerated in (("3.8", TOLERATED | OLD), ("3.13", TOLERATED)):
            found = {
                finding.sentence.split(" is deprecated or gone since ")[0]
                for path, data in self.sources(host)
                for finding in check_pythons.check_source(data, path, vendor.NEW)
            }
            with self.subTest(host):
                self.assertLessEqual(found, tolerated)

    def test_the_server_is_carried_without_the_client_that_comes_with_it(self) -> None:
        for folder in package.SETS.values():
            start = f"carried/{folder}/aiohttp/"
            names = {name[len(start) :] for name in self.content(WHOLE) if name.startswith(start)}
            with self.subTest(folder):
                self.assertEqual(
                    {name for name in names if "client" in name}, {"client_exceptions.py"}
                )
                self.assertLessEqual({"web.py", "web_server.py", "http_parser.py"}, names)

    def test_each_module_is_imported_from_inside_the_zip_and_none_leaks(self) -> None:
        paths = [path for path, _data in self.sources(HOST)]
        modules = [
            "GeminiCompanion." + module_name(path) for path in ["carried/__init__.py", *paths]
        ]
        self.assertGreater(len(modules), 50)
        # As Sublime Text's console would show them.
        bare = [*BARE, "-W", "error"]
        found = self.run_python(bare, IMPORT_ALL, self.path(WHOLE), given=json.dumps(modules))
        tops = {name for names in closure.carried_modules(HOST).values() for name in names}
        self.assertEqual(set(found["new"]) & tops, set())
        self.assertFalse(found["changed"])
        self.assertEqual(found["outside"], [])

    def test_no_library_that_is_installed_or_of_another_version_or_python_is_in_the_way(
        self,
    ) -> None:
        # As a folder, where each module is compiled once, whoever imports it.
        inside = os.path.join(builds().folder, "unpacked")
        with zipfile.ZipFile(self.path(WHOLE)) as archive:
            archive.extractall(inside)
        # None at all, those that this Python has, and others.
        ways = [(BARE, ""), ([sys.executable, "-I"], "")]
        old = "class Draft4Validator: pass\nclass ValidationError(Exception): pass"
        ways += [(BARE, text) for text in (old, "x: int = type | 'no'", "def f(:", "len.no")]
        for command, text in ways:
            folder = tempfile.mkdtemp(dir=builds().folder)
            for name in ("aiohttp", "jsonschema", "attr", "yarl", "typing_extensions"):
                if text:
                    with open(os.path.join(folder, name + ".py"), "w") as file:
                        file.write(text + "\n")
            with self.subTest(command, text=text):
                self.assertEqual(self.run_python(command, WHICH, inside, folder), OWN)

    def test_the_plain_package_has_jsonschema_of_its_own_and_others_aiohttp(self) -> None:
        found = self.run_python([sys.executable, "-I"], WHICH, self.path(PLAIN))
        self.assertEqual(found, [OWN[1], "aiohttp.web_request"])


def module_name(path: str) -> str:
    return re.sub(r"(/__init__)?\.py$", "", path).replace("/", ".")


@pytest.mark.looks_at("tools", "requirements")
class Pinned(unittest.TestCase):
    """Each carried library by the digest of its wheel."""

    def test_each_one_that_is_carried_has_its_digest_and_no_other_has(self) -> None:
        wanted = {
            requirement for host in package.SETS for requirement in closure.carried_modules(host)
        }
        self.assertEqual({line.split(" ")[0] for line in package.pin_requirements(wanted)}, wanted)
        with open(package.PINS, encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("#")]
        self.assertEqual({re.split("[; ]", line)[0] for line in lines}, wanted)

    def test_the_file_is_one_that_pip_reads_with_the_versions_of_each_python(self) -> None:
        with open(package.PINS, encoding="utf-8") as file:
            lines = [line.partition(" --hash=")[0] for line in file if not line.startswith("#")]
        requirements = [Requirement(line) for line in lines]
        for host in package.SETS:
            chosen = {
                requirement.name + str(requirement.specifier)
                for requirement in requirements
                if requirement.marker is None
                or requirement.marker.evaluate({"python_version": host})
            }
            self.assertEqual(chosen, set(closure.carried_modules(host)))

    def test_one_without_a_digest_stops_the_build(self) -> None:
        with self.assertRaisesRegex(libraries.Unavailable, "carried.txt has no digest of a==1"):
            package.pin_requirements(["a==1"])

    def test_wheels_that_are_there_are_taken_without_an_index_where_their_digests_are_right(
        self,
    ) -> None:
        asked = mock.patch.object(libraries, "download_wheels", side_effect=libraries.Unavailable)
        with tempfile.TemporaryDirectory() as folder, asked:
            digests = [wheel(folder, name, "1") for name in ("a", "b")]
            with mock.patch.object(setup, "CARRIED", folder):
                kept = [f"{name}==1 --hash=sha256:{digest}" for name, digest in zip("ab", digests)]
                self.assertLessEqual({"a.py", "b.py"}, {*package._unpack_wheels(kept, HOST)})
                wanted = [kept[0], f"b==1 --hash=sha256:{'0' * 64}"]
                self.assertRaises(libraries.Unavailable, package._unpack_wheels, wanted, HOST)

    def test_a_wheel_of_another_digest_stops_the_build_with_a_sentence(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            digest = wheel(folder, "a", "1")
            offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": folder, "PIP_CONFIG_FILE": os.devnull}
            with mock.patch.dict(os.environ, offline):
                target = os.path.join(folder, "target")
                good = [f"a==1 --hash=sha256:{digest}"]
                libraries.unpack_libraries(good, HOST, package.MACHINE, target)
                self.assertTrue(os.path.isfile(os.path.join(target, "a.py")))
                with self.assertRaises(libraries.Unavailable) as raised:
                    bad = [f"a==1 --hash=sha256:{'0' * 64}"]
                    libraries.unpack_libraries(
                        bad, HOST, package.MACHINE, os.path.join(folder, "none")
                    )
                self.assertFalse(os.path.exists(os.path.join(folder, "none")))
        self.assertRegex(str(raised.exception), f"a==1 .*has the digest {digest}, expected 0{{64}}")


def wheel(folder: str, name: str, version: str) -> str:
    """A wheel of one module; its digest."""
    path = os.path.join(folder, f"{name}-{version}-py3-none-any.whl")
    info = f"{name}-{version}.dist-info/"
    files = {
        f"{name}.py": "",
        info + "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        info + "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[info + "RECORD"] = "".join(f"{each},,\n" for each in (*files, info + "RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for each, text in files.items():
            archive.writestr(each, text)
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def absolute(node: ast.AST) -> set[str]:
    """The top names of what a node imports by name: in a statement or a call."""
    names: list[object] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        names = [node.module]
    elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        names = [node.args[0].value] if called in ("import_module", "__import__") else []
    return {name.split(".")[0] for name in names if isinstance(name, str)}


MODULES = frozenset({"a", "b"})
# Each line as it stands in carried/a/x.py, and what becomes of it.
REWRITTEN = (
    ("import a\n", "from .. import a\n"),
    ("import a as c\n", "from .. import a as c\n"),
    ("import a.b\n", "from ..a import b as _; from .. import a\n"),
    ("import a.b.c\n", "from ..a.b import c as _; from .. import a\n"),
    ("import a.b as c\n", "from ..a import b as c\n"),
    ("import a, os\n", "from .. import a; import os\n"),
    ("import os, a as c, b\n", "import os; from .. import a as c; from .. import b\n"),
    ("from a import b\n", "from ..a import b\n"),
    ("from a import b as c, d\n", "from ..a import b as c, d\n"),
    ("from a.b import c\n", "from ..a.b import c\n"),
    ("from a import *\n", "from ..a import *\n"),
    ("from a import (\n    b,\n    c,\n)\n", "from ..a import (\n    b,\n    c,\n)\n"),
    ("from  a  import b  # from a\n", "from ..a  import b  # from a\n"),
    ("import a; import b\n", "from .. import a; from .. import b\n"),
    ("def f():\n    import a\n", "def f():\n    from .. import a\n"),
    ("if f: from a import b\n", "if f: from ..a import b\n"),
    (
        "try:\n    import a\nexcept ImportError:\n    import b as a\n",
        "try:\n    from .. import a\nexcept ImportError:\n    from .. import b as a\n",
    ),
    ("class C:\n\tfrom a import b\n", "class C:\n\tfrom ..a import b\n"),
    # Neither of these ends a line of Python.
    ('"\u2028\x0c"\n\x0c\nimport a\n', '"\u2028\x0c"\n\x0c\nfrom .. import a\n'),
    ('c = "\u00fc"; import a\n', 'c = "\u00fc"; from .. import a\n'),
    ("from \\\n    a import b\n", "from ..\\\n    a import b\n"),
    ("import os\r\nimport a\r\n", "import os\r\nfrom .. import a\r\n"),
)
KEPT = (
    "import os, sys\n",
    "import ab\n",
    "import os.a\n",
    "from ab import a\n",
    "from os import a\n",
    "from . import a\n",
    "from .a import b\n",
    "from .. import a\n",
    "from ..a import b\n",
    "from __future__ import annotations\n",
    'c = "import a"\n',
    '"""Say:\n\nimport a\nfrom a import b\n"""\n',
    "# import a\n",
    'c = f"{a} import a"\n',
    "a.b(a)\n",
    'importlib.import_module("a.b")\n',
    '__import__("a")\n',
)
IMPOSSIBLE = ("import os, \\\n    a\n", "from\\\n    a import b\n")


class Rewriting(unittest.TestCase):
    def test_each_form_of_an_import_becomes_relative_and_nothing_else_changes(self) -> None:
        rows = [("a/x.py", *row) for row in (*REWRITTEN, *zip(KEPT, KEPT))]
        # The dots lead to the folder of all libraries.
        for path, dots in (("a.py", "."), ("a/__init__.py", ".."), ("a/c/d.py", "...")):
            rows.append((path, "import b\n", f"from {dots} import b\n"))
        for path, before, after in rows:
            with self.subTest(before, path=path):
                self.assertEqual(vendor.make_relative(before, path, MODULES), after)
                compile(after, "x.py", "exec")

    def test_what_cannot_be_rewritten_stops_the_build(self) -> None:
        for text in IMPOSSIBLE:
            self.assertRaises(ValueError, vendor.make_relative, text, "a/x.py", MODULES)
        # It reads itself in an unknown way.
        strange = {"jsonschema/_utils.py": b"import os\n"}
        self.assertRaises(ValueError, vendor.carry_libraries, strange, frozenset({"jsonschema"}))

    def test_only_modules_of_the_table_and_licenses_are_taken(self) -> None:
        files = {
            "a/__init__.py": b"import b\n",
            "a/tests/test_a.py": b"",
            "a/fast.so": b"",
            "a/fast.pyi": b"",
            "c/__init__.py": b"",
            "a-1.dist-info/licenses/LICENSE.txt": b"free",
            "a-1.dist-info/METADATA": b"",
        }
        taken = {"a/__init__.py": b"from .. import b\n"}
        taken["licenses/a-1/licenses/LICENSE.txt"] = b"free"
        self.assertEqual(vendor.carry_libraries(files, MODULES), taken)


class Readme(unittest.TestCase):
    def test_links_to_the_repository_become_words_and_pictures_go(self) -> None:
        text = "A [page](docs/a.md), [b](#b), [c](https://c.example/d).\n\n![D](docs/d.png)\n\nE\n"
        self.assertEqual(
            package.adapt_readme(text),
            "A page, [b](#b), [c](https://c.example/d).\n\nE\n" + package.ELSEWHERE,
        )

    def test_what_is_said_of_a_checkout_goes(self) -> None:
        part = "<!-- checkout -->\n## B\n\n    make b\n\n<!-- end of checkout -->\n"
        self.assertEqual(package.adapt_readme(f"# A\n\n{part}\n## C\n\n{part}"), "# A\n\n## C\n")


class Redirecting(unittest.TestCase):
    FOLDERS = ("carried.old", "carried.new")

    def test_each_python_imports_its_own_set_and_nothing_that_is_installed(self) -> None:
        text = "import os\n\nimport a\nfrom a import b as c\nfrom a.d import e, f\n\nimport b\n"
        self.assertEqual(
            vendor.with_carried(text, ("a",), self.FOLDERS, 1),
            "import os\n\n"
            "import sys\n\n"
            "if sys.version_info < (3, 11):\n"
            "    from ..carried.old import a\n"
            "    from ..carried.old.a import b as c\n"
            "    from ..carried.old.a.d import e, f\n"
            "else:\n"
            "    from ..carried.new import a\n"
            "    from ..carried.new.a import b as c\n"
            "    from ..carried.new.a.d import e, f\n"
            "\nimport b\n",
        )
        deeper = vendor.with_carried("from a import b\n", ("a",), self.FOLDERS, 2)
        self.assertIn("    from ...carried.new.a import b\n", deeper)

    def test_every_module_that_imports_a_carried_library_is_one_that_is_changed(self) -> None:
        carried = [
            names for host in package.SETS for names in closure.carried_modules(host).values()
        ]
        tops = {name for names in carried for name in names}
        found = {}
        for path in glob.glob(os.path.join(ROOT, "companion", "**", "*.py"), recursive=True):
            with open(path, encoding="utf-8") as file:
                nodes = list(ast.walk(ast.parse(file.read())))
            names: set[str] = set().union(*map(absolute, nodes))
            if names & tops:
                found[os.path.relpath(path, ROOT).replace(os.sep, "/")] = tuple(names & tops)
        self.assertEqual(found, package.USERS)

    def test_a_module_that_does_not_import_it_stops_the_build(self) -> None:
        for text in ("import ab\n", "from . import a\n", "def f():\n    import a\n"):
            with self.subTest(text), self.assertRaises(ValueError):
                vendor.with_carried(text, ("a",), self.FOLDERS, 1)
