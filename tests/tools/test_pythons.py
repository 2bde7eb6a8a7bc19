"""The check that no call is one that a Python up to 3.14 has removed or deprecated."""

from __future__ import annotations

import io
import os
import tempfile
import unittest
from contextlib import redirect_stdout

from GeminiCompanion.tools import check_pythons
from GeminiCompanion.tools.check_pythons import check_source

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# A module, and the line and the version of what is found in it.
FOUND = (
    ("import imp\n", 1, "3.12"),
    ("import distutils.util\n", 1, "3.10"),
    ("from distutils import util\n", 1, "3.10"),
    ("import os\nfrom cgi import escape as e\n", 2, "3.11"),
    ("def f():\n    import telnetlib\n", 2, "3.11"),
    ("try:\n    import audioop\nexcept ImportError:\n    pass\n", 2, "3.11"),
    ("import asyncio\nasyncio.get_event_loop()\n", 2, "3.12"),
    ("import asyncio as a\nf = a.get_event_loop\n", 2, "3.12"),
    ("from asyncio import get_event_loop as g\n", 1, "3.12"),
    ("import asyncio\nasyncio.set_child_watcher(None)\n", 2, "3.12"),
    ("import asyncio\nasyncio.iscoroutinefunction(print)\n", 2, "3.14"),
    ("import asyncio\n@asyncio.coroutine\ndef f(): pass\n", 2, "3.8"),
    ("import asyncio\nasyncio.sleep(1, loop=None)\n", 2, "3.10"),
    ("from asyncio import Event\nEvent(loop=None)\n", 2, "3.10"),
    ("from datetime import datetime\ndatetime.utcnow()\n", 2, "3.12"),
    ("import datetime\ndatetime.datetime.utcnow()\n", 2, "3.12"),
    ("import ast\nisinstance(1, ast.Str)\n", 2, "3.8"),
    ("import collections\ncollections.Mapping\n", 2, "3.10"),
    ("import importlib.resources\nimportlib.resources.open_text\n", 2, "3.11"),
    ("from importlib import resources\nresources.read_text\n", 2, "3.11"),
    ("import importlib.abc\nimportlib.abc.Traversable\n", 2, "3.12"),
    ("import pkgutil\npkgutil.find_loader('a')\n", 2, "3.12"),
    ("import sys\nprint(sys.last_value)\n", 2, "3.12"),
    ("import abc\nclass C:\n    @abc.abstractproperty\n    def p(self): pass\n", 3, "3.14"),
    ("import codecs\ncodecs.open('a')\n", 2, "3.14"),
    ("import locale\nlocale.getdefaultlocale()\n", 2, "3.11"),
    ("from typing.io import IO\n", 1, "3.13"),
    ("import urllib.request\nurllib.request.URLopener()\n", 2, "3.14"),
    ("import argparse\nargparse.FileType('r')\n", 2, "3.14"),
    ("def f(path):\n    path.link_to('a')\n", 2, "3.12"),
    ("import shutil\nshutil.rmtree('a', onerror=None)\n", 2, "3.12"),
    ("def f(test):\n    test.assertEquals(1, 1)\n", 2, "3.12"),
    ("def f(thread):\n    thread.setDaemon(True)\n", 2, "3.10"),
    ("def f(log):\n    log.warn('a')\n", 2, "3.13"),
    ("import tarfile\ndef f(tar):\n    tar.extractall('a')\n", 3, "3.14"),
    ("def f():\n    try:\n        pass\n    finally:\n        return 1\n", 5, "3.14"),
    ("for a in b:\n    try:\n        pass\n    finally:\n        break\n", 5, "3.14"),
    ("for a in b:\n    try:\n        pass\n    finally:\n        if a: continue\n", 5, "3.14"),
    ("a = ~True\n", 1, "3.12"),
)
# What Python itself finds wrong: the oldest grammar, or a warning of what will be wrong.
NOT_PYTHON = (
    "a = 1\nb = '\\d'\n",
    "if a is 1: pass\n",
    "match a:\n    case 1: pass\n",
    "try: pass\nexcept* ValueError: pass\n",
    "def f(x: int) -> int: return (\n",
)
FINE = (
    "from __future__ import annotations\ndef f(a: int | None) -> list[int]: ...\n",
    "import asyncio as a\na.get_running_loop()\na.run_coroutine_threadsafe(f(), loop=None)\n",
    "import warnings\nwarnings.warn('a')\n",
    "def get_event_loop(): pass\nget_event_loop()\n",
    "import collections.abc\ncollections.abc.Mapping\n",
    "from .imp import imp\nimport important\n",
    "from . import cgi\ncgi.escape('a')\n",
    "import tarfile\ndef f(tar):\n    tar.extractall('a', filter='data')\n",
    "import zipfile\nzipfile.ZipFile('a').extractall('b')\n",
    "try:\n    pass\nfinally:\n    def f():\n        return 1\n",
    "try:\n    pass\nfinally:\n    for a in b:\n        break\n",
    "a = not True\nb = ~1\nc = r'\\d'\n",
)


class Check(unittest.TestCase):
    def test_what_was_removed_or_deprecated_is_found_with_line_and_version(self) -> None:
        for source, line, version in FOUND:
            with self.subTest(source):
                # What is found in an import is found again where it is used.
                findings = check_source(source.encode(), "a.py")
                self.assertEqual(
                    [(finding.path, finding.line) for finding in findings], [("a.py", line)]
                )
                self.assertTrue(findings[0].sentence.endswith("since " + version), findings)

    def test_what_no_plugin_host_reads_without_complaint_is_found(self) -> None:
        for source in NOT_PYTHON:
            with self.subTest(source):
                self.assertEqual(len(check_source(source.encode(), "a.py")), 1)

    def test_what_all_of_them_have_is_not_found(self) -> None:
        for source in FINE:
            with self.subTest(source):
                self.assertEqual(check_source(source.encode(), "a.py"), [])

    def test_where_nothing_is_found_nothing_is_said(self) -> None:
        # Of the whole product, `make check` says it.
        said = io.StringIO()
        with redirect_stdout(said):
            status = check_pythons.main([os.path.join("companion", "__init__.py")])
        self.assertEqual((status, said.getvalue()), (0, ""))

    def test_what_is_newer_than_the_oldest_host_is_found(self) -> None:
        for source in ("import asyncio\nasyncio.to_thread(print)\n", "import tomllib\n"):
            with self.subTest(source), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "a.py")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(source)
                said = io.StringIO()
                with redirect_stdout(said):
                    status = check_pythons.main([path])
                self.assertEqual(status, 1)
                self.assertIn(source.split("import ")[1].split()[0], said.getvalue())

    def test_the_whole_product_is_looked_at(self) -> None:
        looked = {os.path.relpath(file, ROOT) for file in check_pythons.python_files(["companion"])}
        self.assertIn(os.path.join("companion", "agent", "display", "shown.py"), looked)
        self.assertIn(os.path.join("companion", "ide", "companion.py"), looked)
        self.assertLessEqual({"companion", "plugin.py"}, set(check_pythons.PATHS))
