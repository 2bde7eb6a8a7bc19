"""Checks that the code uses only what every Python from 3.8 to 3.14 has.

    python -m tools.check_pythons [FILE OR FOLDER ...]

What is newer than 3.8 is found by vermin, and by mypy, which reads the types of 3.8. What was
removed or deprecated since stands here: "What's New in Python" 3.9 to 3.14 tells it.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import warnings
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATHS = ("companion", "plugin.py", "headless", "tools/terminal")
OLDEST = (3, 8)
GONE = "%s is deprecated or gone since %s"
# It has no module that could be run.
VERMIN = [sys.executable, "-c", "from vermin.main import main; main()"]
# By the version that deprecated it, or removed it where that came without a warning: modules, or
# what is in them. A name stands for all below it.
NAMES = {
    "3.8": """
        ast.Bytes ast.Ellipsis ast.NameConstant ast.Num ast.Str asyncio.coroutine
        gettext.ldgettext gettext.ldngettext gettext.lgettext gettext.lngettext
        xml.etree.cElementTree
    """,
    "3.9": """
        _dummy_thread aifc.openfp ast.AugLoad ast.AugStore ast.ExtSlice ast.Index ast.Param
        ast.Suite asyncio.Task.all_tasks asyncio.Task.current_task base64.decodestring
        base64.encodestring binhex dummy_threading fractions.gcd parser plistlib.Data
        plistlib.readPlist plistlib.readPlistFromBytes plistlib.writePlist
        plistlib.writePlistToBytes sys.getcheckinterval
        sys.setcheckinterval symbol
    """,
    "3.10": """
        collections.Awaitable collections.Callable collections.Container collections.Coroutine
        collections.Generator collections.Hashable collections.ItemsView collections.Iterable
        collections.Iterator collections.KeysView collections.Mapping collections.MappingView
        collections.MutableMapping collections.MutableSequence collections.MutableSet
        collections.Reversible collections.Sequence collections.Set collections.Sized
        collections.ValuesView distutils formatter importlib.abc.Finder importlib.find_loader
        importlib.util.module_for_loader importlib.util.set_loader importlib.util.set_package
        sqlite3.OptimizedUnicode sqlite3.enable_shared_cache ssl.PROTOCOL_SSLv2
        ssl.PROTOCOL_SSLv23 ssl.PROTOCOL_SSLv3 ssl.PROTOCOL_TLS ssl.PROTOCOL_TLSv1
        ssl.PROTOCOL_TLSv1_1 ssl.PROTOCOL_TLSv1_2 ssl.RAND_pseudo_bytes ssl.match_hostname
        ssl.wrap_socket threading.activeCount threading.currentThread
    """,
    "3.11": """
        aifc asynchat asyncore audioop binascii.a2b_hqx binascii.b2a_hqx binascii.rlecode_hqx
        binascii.rledecode_hqx cgi cgitb chunk configparser.LegacyInterpolation crypt imghdr
        importlib.resources.contents importlib.resources.is_resource
        importlib.resources.open_binary importlib.resources.open_text importlib.resources.path
        importlib.resources.read_binary importlib.resources.read_text inspect.formatargspec
        inspect.getargspec lib2to3 locale.format locale.getdefaultlocale locale.resetlocale
        mailcap msilib nis nntplib ossaudiodev pipes re.TEMPLATE re.template smtpd sndhdr spwd
        sre_compile sre_constants sre_parse sunau telnetlib typing.Text unittest.findTestCases
        unittest.getTestCaseNames unittest.makeSuite urllib.parse.Quoter uu webbrowser.MacOSX
        xdrlib
    """,
    "3.12": """
        asyncio.AbstractChildWatcher asyncio.FastChildWatcher asyncio.MultiLoopChildWatcher
        asyncio.PidfdChildWatcher asyncio.SafeChildWatcher asyncio.ThreadedChildWatcher
        asyncio.get_child_watcher asyncio.get_event_loop asyncio.set_child_watcher
        collections.abc.ByteString configparser.SafeConfigParser
        datetime.datetime.utcfromtimestamp datetime.datetime.utcnow imp
        importlib.abc.ResourceReader importlib.abc.Traversable
        importlib.abc.TraversableResources importlib.machinery.WindowsRegistryFinder
        io.OpenWrapper pkgutil.ImpImporter pkgutil.ImpLoader pkgutil.find_loader
        pkgutil.get_loader pty.master_open pty.slave_open sys.last_traceback sys.last_type
        sys.last_value typing.ByteString
    """,
    "3.13": """
        ctypes.ARRAY ctypes.SetPointerType glob.glob0 glob.glob1
        http.server.CGIHTTPRequestHandler pathlib.PurePath.is_reserved
        sys._clear_type_cache sys._enablelegacywindowsfsencoding tkinter.tix typing.io
        typing.no_type_check_decorator typing.re
    """,
    "3.14": """
        abc.abstractclassmethod abc.abstractproperty abc.abstractstaticmethod argparse.FileType
        asyncio.AbstractEventLoopPolicy asyncio.DefaultEventLoopPolicy
        asyncio.WindowsProactorEventLoopPolicy asyncio.WindowsSelectorEventLoopPolicy
        asyncio.get_event_loop_policy asyncio.iscoroutinefunction asyncio.set_event_loop_policy
        codecs.open logging.warn nturl2path shutil.ExecError urllib.request.FancyURLopener
        urllib.request.URLopener
    """,
}
# Of objects whose type is not to be seen here.
METHODS = {
    "3.9": "decodestring encodestring fromstring getchildren getiterator isAlive tostring",
    "3.10": "getName isDaemon notifyAll setDaemon setName",
    "3.12": "assertAlmostEquals assertDictContainsSubset assertEquals assertItemsEqual"
    " assertNotEquals assertNotRegexpMatches assertRaisesRegexp assertRegexpMatches attach_loop"
    " failUnless find_loader find_module link_to load_module utcfromtimestamp utcnow",
    "3.13": "warn",
}
# Arguments, by the name of what has them no longer.
ARGUMENTS = {
    "3.9": "json.loads:encoding",
    "3.10": """
        asyncio.Condition:loop asyncio.Event:loop asyncio.Lock:loop asyncio.Queue:loop
        asyncio.Semaphore:loop asyncio.as_completed:loop asyncio.create_subprocess_exec:loop
        asyncio.create_subprocess_shell:loop asyncio.gather:loop asyncio.open_connection:loop
        asyncio.open_unix_connection:loop asyncio.shield:loop asyncio.sleep:loop
        asyncio.start_server:loop asyncio.start_unix_server:loop asyncio.wait:loop
        asyncio.wait_for:loop
    """,
    "3.11": "random.shuffle:random",
    "3.12": """
        email.utils.localtime:isdst http.client.HTTPSConnection:cert_file
        http.client.HTTPSConnection:key_file shutil.rmtree:onerror urllib.request.urlopen:cafile
    """,
}


class Finding(NamedTuple):
    """`line` is 1-based."""

    path: str
    line: int
    sentence: str


def main(paths: List[str]) -> int:
    """The exit status; what is wrong is printed."""
    wanted = list(python_files(paths or list(PATHS)))
    findings = [finding for path in wanted for finding in check_file(path)]
    for finding in findings:
        print("%s:%d: %s" % finding)
    target = "-t=%d.%d-" % OLDEST
    # No comment excludes a line: reading them takes a quarter of the time.
    options = ["--quiet", "--violations", "--no-tips", "--no-parse-comments", target]
    command = [*VERMIN, *options, *wanted]
    newer = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if newer.returncode:
        print(newer.stdout.decode())
    return 1 if findings or newer.returncode else 0


def python_files(paths: List[str]) -> Iterator[str]:
    for path in paths:
        full = os.path.join(ROOT, path)
        if os.path.isfile(full):
            yield full
        for folder, _folders, names in sorted(os.walk(full)):
            if os.path.basename(folder) == "tests":
                # They ask newer Pythons, too.
                continue
            yield from (os.path.join(folder, name) for name in sorted(names) if is_python(name))


def is_python(name: str) -> bool:
    return name.endswith(".py")


def check_file(path: str) -> List[Finding]:
    with open(path, "rb") as file:
        source = file.read()
    return check_source(source, os.path.relpath(path, ROOT))


def check_source(source: bytes, path: str, oldest: Tuple[int, int] = OLDEST) -> List[Finding]:
    """What is wrong with a module's source, in the order of its lines."""
    try:
        tree = ast.parse(source, path, feature_version=oldest)
        with warnings.catch_warnings():
            # Of what will not be Python any longer; such as an escape that is none.
            warnings.simplefilter("error")
            compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, Warning) as error:
        return [Finding(path, getattr(error, "lineno", None) or 0, str(error))]
    return sorted({Finding(path, *found) for found in _Module(tree).find_problems(tree)})


def _read_table(rows: Dict[str, str]) -> Dict[str, str]:
    return {name: version for version, names in rows.items() for name in names.split()}


_NAMES, _METHODS, _ARGUMENTS = _read_table(NAMES), _read_table(METHODS), _read_table(ARGUMENTS)


class _Module:
    """One module: what its names stand for, and what is wrong with each node."""

    def __init__(self, tree: ast.AST) -> None:
        self._names: Dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name if alias.asname else alias.name.split(".")[0]
                    self._names[alias.asname or top] = top
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    self._names[alias.asname or alias.name] = node.module + "." + alias.name

    def find_problems(self, tree: ast.AST) -> Iterator[Tuple[int, str]]:
        for node in ast.walk(tree):
            line = getattr(node, "lineno", 0)
            for name in self._used_names(node):
                version = _find_version(name)
                if version:
                    yield line, GONE % (name, version)
            if isinstance(node, ast.Call):
                yield from ((line, sentence) for sentence in self._check_call(node))
            elif isinstance(node, ast.Try):
                yield from (
                    (jump_line, GONE % ("leaving finally", "3.14"))
                    for jump_line in find_jumps(node)
                )
            elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
                if isinstance(getattr(node.operand, "value", None), bool):
                    yield line, GONE % ("~ of a bool", "3.12")

    def _used_names(self, node: ast.AST) -> List[str]:
        """The dotted names that a node imports or reads."""
        if isinstance(node, ast.Import):
            return [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            return [node.module + "." + alias.name for alias in node.names]
        if isinstance(node, (ast.Attribute, ast.Name)):
            return [self._dotted_name(node)]
        return []

    def _dotted_name(self, node: ast.AST) -> str:
        """ "" for what is no name, or none that was imported."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id, "")
        if isinstance(node, ast.Attribute):
            start = self._dotted_name(node.value)
            return start and start + "." + node.attr
        return ""

    def _check_call(self, node: ast.Call) -> Iterator[str]:
        name = self._dotted_name(node.func)
        given = [keyword.arg for keyword in node.keywords]
        for argument in given:
            version = _ARGUMENTS.get("%s:%s" % (name, argument))
            if version:
                yield GONE % ("%s of %s" % (argument, name), version)
        method = node.func.attr if isinstance(node.func, ast.Attribute) and not name else ""
        if method in _METHODS:
            yield GONE % (".%s()" % method, _METHODS[method])
        if method in ("extract", "extractall") and "tarfile" in self._names.values():
            if "filter" not in given:
                yield GONE % (".%s() of a tar without a filter" % method, "3.14")


def _find_version(name: str) -> str:
    """The version that took this name, or one that it is part of; "" for none."""
    parts = name.split(".")
    starts = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return next((_NAMES[start] for start in starts if start in _NAMES), "")


def find_jumps(node: ast.Try) -> List[int]:
    """The lines of what leaves its `finally`, and with it swallows an exception."""
    found: List[int] = []
    inside: List[Tuple[Any, bool]] = [(statement, False) for statement in node.finalbody]
    while inside:
        statement, in_loop = inside.pop()
        is_jump = isinstance(statement, (ast.Break, ast.Continue)) and not in_loop
        if is_jump or isinstance(statement, ast.Return):
            found.append(statement.lineno)
        elif not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            in_loop = in_loop or isinstance(statement, (ast.For, ast.AsyncFor, ast.While))
            inside += [(child, in_loop) for child in ast.iter_child_nodes(statement)]
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
