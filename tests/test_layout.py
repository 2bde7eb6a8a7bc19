"""The rules of the house that a machine can check."""

from __future__ import annotations

import ast
import functools
import os
import re
import subprocess
import sys
import unittest
from collections import Counter
from typing import Iterator

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Who may use whom (docs/architecture.md, "The rooms").
ROOMS = {
    "base": set(),
    "edits": {"base"},
    "work_trees": {"base"},
    "ide": {"base"},
    "agent": {"base"},
    "api": {"base", "agent"},
    "chat": {"base", "agent"},
    "ui": {"base", "edits", "work_trees", "ide", "agent", "api", "chat"},
}  # fmt: skip
# The folders of a room, lowest first: each may use those before it. A module beside them stands as
# high as the highest that it uses, also through others, and at most as high as "".
FOLDERS = {
    "ide": ("hooks", "doctor", "claude", ""),
    "agent": (
        "wording", "acp", "events", "agents", "turn", "display", "conversations", "processes", "",
    ),
    "api": ("contract", "operations", "files", "openai", "handlers", "serving", ""),
    "ui": (
        "terminals", "prompt", "code", "review", "changes", "pages", "chat", "agents",
        "work_trees", "parts", "", "commands",
    ),
}  # fmt: skip
# Imports that go up, each with its reason.
UPWARD = {
    # A text goes into a group that has no diff.
    ("ui/texts", "ui/review/open_diffs"),
    # The engine sees files through the chat's tabs.
    ("ui/engines", "ui/chat/open_tabs"),
}
# The modules of a room that other rooms may import: of `agent` all that stand beside its folders.
FRONTS = {
    "agent": {
        "agent/agent", "agent/asked", "agent/attachments", "agent/auth_method",
        "agent/credentials", "agent/document",
        "agent/edited_file", "agent/elicitation", "agent/engine", "agent/failure",
        "agent/launches", "agent/open_files", "agent/sentence", "agent/session_state",
        "agent/supported", "agent/tool_servers", "agent/turn_events", "agent/turn_undo",
        "agent/wire",
    },
    "ide": {
        "ide/cli_settings", "ide/clis", "ide/code_queries",
        "ide/doctor/checks", "ide/doctor/gathering", "ide/doctor/report", "ide/editor",
        "ide/events", "ide/hooks/extension", "ide/live_words", "ide/questions", "ide/companion",
        "ide/sharing",
    },
}  # fmt: skip
# The folders beside the package whose modules import each other.
OTHERS = ("bench", "headless", "tests", "tools")
# Here alone imports for types do not count. A part of a simulated world holds the world, and the
# world its parts: a protocol of it for their sake would repeat every method of every part.
WORLDS = ("tests/ide/simulator", "tests/chat/simulator", "tests/ui/simulator")
# Where a catch-all may stand: a request, a message in it, a connection, what is done for it
# beside its requests, a UI callback, a call from the editor,
# a thread, one for one piece of work, a question, a story and its end, a look at a window, a turn
# of the agent, the way to it, a user of the engine, a chat, a request to it, the list of one work
# tree.
BOUNDARIES = {
    "base/background": ["start_work.run_work"],
    "base/file_content": ["read_original"],
    "base/loop_thread": ["LoopThread._make_call", "LoopThread._run_loop"],
    "base/write_behind": ["WriteBehind._run_work"],
    "ide/companion": ["Companion._find_answer"],
    "ide/transport": ["Endpoint._handle_request", "MessageAnswers.answer_safely"],
    "ide/windows": ["Windows._check_workspace", "Windows._take_over"],
    "ide/claude/claude_connection": ["ClaudeConnection._answer_request"],
    "ide/claude/claude_endpoint": ["ClaudeEndpoint._handle_request"],
    "ide/claude/safe_tasks": ["run_safely"],
    "ide/claude/waiting_diffs": ["WaitingDiffs._show"],
    "agent/acp/acp_client": ["AcpClient._read_messages"],
    "agent/turn/call_tracker": ["CallTracker.write_file"],
    "agent/turn/file_reads": ["answer_read"],
    "agent/turn/file_writes": ["FileWrites._put_file"],
    "agent/turn/terminals": ["Terminals.take_request"],
    "agent/turn/turn": ["Turn._run"],
    "agent/engine": ["_Run._serve_user"],
    "chat/chat_service": ["_do_call"],
    "chat/chat_work": ["Tasks._attempt_work"],
    "api/serving/dispatch": ["Dispatcher._handle_exchange"],
    "ui/stories": ["Stories._close_story", "Stories._step_story", "run_in_thread"],
    "ui/loop_calls": ["_work_outcome"],
    "ui/chat/open_tabs": ["_work_outcome"],
    "ui/work_trees/tree_lists": ["_list_tree"],
}  # fmt: skip

# Prints what the host says that plugin.py imports, and what it does import.
PLUGIN = """
import sys, types
package = types.ModuleType("GeminiCompanion")
package.__path__ = [sys.argv[1]]
sublime, classes = types.ModuleType("sublime"), types.ModuleType("sublime_plugin")
for name in ("EventListener", "WindowCommand", "TextCommand", "ApplicationCommand"):
    setattr(classes, name, type(name, (), {}))
sys.modules.update(GeminiCompanion=package, sublime=sublime, sublime_plugin=classes)
from GeminiCompanion import plugin
from GeminiCompanion.companion.ui import host
prefix = host.PACKAGE + "."
print(sorted(host.FIRST))
print(sorted(name[len(prefix):] for name in sys.modules if name.startswith(prefix)))
"""


# What starts a process: of a module, and of a loop.
STARTERS = {
    "subprocess": {"Popen", "call", "check_call", "check_output", "getoutput", "run"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "": {"subprocess_exec", "subprocess_shell"},
}

# Where a text may give something the name `it`.
MAY_NAME_IT = re.compile(
    r"\bfor (?:\w+, )*it(?:, \w+)* in\b|\blambda (?:\w+, )*it\b"
    r"|\bit(?:: \S+)? :?= |[(,]\s*it: |\bas it:"
)

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@functools.lru_cache(maxsize=None)
def modules() -> dict[str, ast.Module]:
    """The package's own modules by name, parsed as Python 3.8 reads them."""
    paths = {"plugin": os.path.join(ROOT, "plugin.py")}
    top = os.path.join(ROOT, "companion")
    for folder, _folders, names in os.walk(top):
        place = os.path.relpath(folder, top).replace(os.sep, "/")
        for name in names:
            if name.endswith(".py") and name != "__init__.py":
                paths[f"{place}/{name[:-3]}"] = os.path.join(folder, name)
    trees = {}
    for name, path in paths.items():
        with open(path, encoding="utf-8") as file:
            trees[name] = ast.parse(file.read(), path, feature_version=(3, 8))
    return trees


def python_files(top: str) -> Iterator[str]:
    """The paths of the modules below a folder of the checkout, without what npm has installed."""
    for folder, folders, names in os.walk(os.path.join(ROOT, top)):
        folders[:] = [each for each in folders if each != "node_modules"]
        yield from (os.path.join(folder, name) for name in names if name.endswith(".py"))


def name_of(path: str) -> str:
    """The name of a module beside the package: its path without the extension."""
    return os.path.relpath(path, ROOT).replace(os.sep, "/")[: -len(".py")]


@functools.lru_cache(maxsize=None)
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


def outside(tree: ast.Module) -> Iterator[str]:
    """The first part of every absolute import."""
    for node, _is_for_types in imports(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif not node.level:
            yield (node.module or "").split(".")[0]


def inside(name: str, tree: ast.Module) -> Iterator[str]:
    """Every module of the package that the module imports, types only included."""
    here = [] if name == "plugin" else ["companion", *name.split("/")[:-1]]
    known = modules()
    for node, _is_for_types in imports(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            path = here[: len(here) - node.level + 1] + (node.module or "").split(".")
            place = "/".join(part for part in path[1:] if part)
            if place in known:
                yield place
            else:
                names = (f"{place}/{alias.name}" for alias in node.names)
                yield from (module for module in names if module in known)


@functools.lru_cache(maxsize=None)
def imports(tree: ast.Module) -> list[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Its statements, each with whether it stands below `if TYPE_CHECKING:`."""
    # Statements only: most nodes are parts of expressions.
    found: list[tuple[ast.Import | ast.ImportFrom, bool]] = []
    left: list[tuple[ast.AST, bool]] = [(tree, False)]
    while left:
        node, is_for_types = left.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append((node, is_for_types))
        is_for_types |= getattr(getattr(node, "test", None), "id", "") == "TYPE_CHECKING"
        for field in ("body", "orelse", "finalbody", "handlers"):
            inner = getattr(node, field, [])
            left += [
                (statement, is_for_types)
                for statement in (inner if isinstance(inner, list) else [])
            ]
    return found


def known() -> Iterator[tuple[str, ast.Module]]:
    return iter(modules().items())


def known_beside() -> Iterator[tuple[str, ast.Module]]:
    """The modules of the headless editor and of the tools; their tests not included."""
    for top in ("headless", "tools"):
        for folder, folders, names in os.walk(os.path.join(ROOT, top)):
            folders[:] = [each for each in folders if each not in ("node_modules", "tests")]
            for path in (os.path.join(folder, each) for each in names if each.endswith(".py")):
                with open(path, encoding="utf-8") as file:
                    yield os.path.relpath(path, ROOT), ast.parse(file.read(), path)


def catch_alls(tree: ast.AST, place: str = "") -> Iterator[tuple[str, ast.AST]]:
    """What catches or suppresses every error, each with the name of its function."""
    for node in ast.iter_child_nodes(tree):
        inner = place
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            inner = f"{place}.{node.name}".lstrip(".")
        caught: list[ast.AST] = []
        if isinstance(node, ast.ExceptHandler):
            caught = [node.type] if node.type is not None else [ast.Name("BaseException")]
        elif isinstance(node, ast.Call):
            function = node.func
            name = getattr(function, "attr", getattr(function, "id", ""))
            caught = [*node.args] if name == "suppress" else []
        names = {getattr(part, "id", "") for each in caught for part in ast.walk(each)}
        if names & {"Exception", "BaseException"}:
            yield inner, node
        yield from catch_alls(node, inner)


def is_told(handler: ast.ExceptHandler) -> bool:
    """Whether it logs the traceback, raises, or passes on the error."""
    for node in ast.walk(handler):
        if isinstance(node, ast.Raise) or getattr(node, "id", "") == (handler.name or 0):
            return True
        if isinstance(node, ast.Attribute) and node.attr in ("exception", "print_exc"):
            return True
    return False


@functools.lru_cache(maxsize=None)
def others() -> dict[str, list[tuple[ast.Import | ast.ImportFrom, bool]]]:
    """What the modules of the folders beside the package import, by their paths without the
    extension. Of all that is parsed nothing else is kept: they are many."""
    found = {}
    for top in OTHERS:
        for path in python_files(top):
            with open(path, encoding="utf-8") as file:
                found[name_of(path)] = imports.__wrapped__(ast.parse(file.read(), path))
    return found


def in_world(name: str) -> bool:
    return name.rpartition("/")[0] in WORLDS


def used(name: str, with_types: bool) -> Iterator[str]:
    """Every module of those folders that one of them imports, `with_types` also for types alone.
    Some import what lies beside them by its plain name."""
    here, known = name.split("/")[:-1], others()
    for node, is_for_types in known[name]:
        if is_for_types and not with_types:
            continue
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + 1] if node.level else []
            module = ".".join([*above, *(node.module or "").split(".")]).strip(".")
            names = [module, *(f"{module}.{name}" for name in names)]
        for dotted in names:
            place = dotted.replace(".", "/").replace("GeminiCompanion/", "", 1)
            yield from (
                candidate for candidate in (place, "/".join([*here, place])) if candidate in known
            )


def room_of(name: str) -> str:
    return name.partition("/")[0]


def folder_of(name: str) -> str:
    """The folder within the room, "" for a module that stands in the room itself."""
    return "/".join(name.split("/")[1:-1])


def circle(left: dict[str, set[str]]) -> list[str]:
    """The modules of a circle of imports, if there is one."""
    while True:
        free = [name for name, used in left.items() if not used]
        if not free:
            return sorted(left)
        for name in free:
            del left[name]
        for used in left.values():
            used.difference_update(free)


def beside_the_front(room: str) -> dict[str, set[str]]:
    """The modules of other rooms that import a module of the room beside its front, with these."""
    found = {
        name: {module for module in inside(name, tree) if room_of(module) == room} - FRONTS[room]
        for name, tree in modules().items()
        if room_of(name) != room
    }
    return {name: used for name, used in found.items() if used}


IMPORT_EACH = """
import importlib, sys, types
package = sys.modules["GeminiCompanion"] = types.ModuleType("GeminiCompanion")
package.__path__ = [sys.argv[1]]
for name in sys.argv[2:]:
    try:
        importlib.import_module("GeminiCompanion.companion." + name)
    except ImportError as error:
        print(name, error, file=sys.stderr)
"""


class Layout(unittest.TestCase):
    @classmethod
    def tearDownClass(cls) -> None:
        # Else the collector would look through all trees after each of the other files.
        for function in (modules, nodes, imports, others):
            function.cache_clear()

    def test_the_root_holds_one_python_file(self) -> None:
        files = [name for name in os.listdir(ROOT) if name.endswith(".py")]
        self.assertEqual(files, ["plugin.py"])

    def test_nothing_is_named_it(self) -> None:
        for path in (path for top in ("companion", *OTHERS) for path in python_files(top)):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            # Most files say it nowhere but in sentences, and are not parsed for them.
            if MAY_NAME_IT.search(text):
                names = {getattr(node, "id", "") for node in ast.walk(ast.parse(text, path))}
                self.assertNotIn("it", names, name_of(path))

    def test_every_module_stands_in_a_room(self) -> None:
        self.assertEqual({room_of(name) for name in modules()} - {"plugin"}, set(ROOMS))

    def test_no_two_classes_for_other_modules_have_one_name(self) -> None:
        names = Counter(
            node.name
            for tree in modules().values()
            for node in tree.body
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        )
        self.assertEqual([name for name, count in names.items() if count > 1], [])

    def test_a_room_uses_only_those_it_may(self) -> None:
        for name, tree in modules().items():
            used = {room_of(imported) for imported in inside(name, tree)} - {room_of(name)}
            if name != "plugin":
                self.assertLessEqual(used, ROOMS[room_of(name)], name)

    def test_a_folder_of_a_room_uses_only_those_below_it(self) -> None:
        for room, order in FOLDERS.items():
            own = {
                name: {module for module in inside(name, tree) if room_of(module) == room}
                - {lower for up, lower in UPWARD if up == name}
                for name, tree in modules().items()
                if room_of(name) == room
            }
            ranks = {module: order.index(folder_of(module)) for module in own if folder_of(module)}
            left = {name: used for name, used in own.items() if name not in ranks}
            while left:
                free = [name for name, used in left.items() if not used & set(left)]
                self.assertTrue(free, f"a circle of imports: {sorted(left)}")
                for name in free:
                    ranks[name] = max((ranks[lower] for lower in left.pop(name)), default=-1)
            for name, used in own.items():
                limit = ranks[name] if folder_of(name) else order.index("")
                self.assertEqual([lower for lower in used if ranks[lower] > limit], [], name)

    def test_other_rooms_import_the_front_of_a_room_only_and_all_of_it(self) -> None:
        for room, front in FRONTS.items():
            self.assertEqual(beside_the_front(room), {})
            others = [(name, tree) for name, tree in modules().items() if room_of(name) != room]
            used = {module for name, tree in others for module in inside(name, tree)}
            self.assertLessEqual(front, used)

    def test_beside_the_folders_of_the_agent_stands_its_front(self) -> None:
        beside = {
            module for module in modules() if room_of(module) == "agent" and not folder_of(module)
        }
        self.assertEqual(beside, FRONTS["agent"])

    def test_each_import_that_may_go_up_is_there(self) -> None:
        for name, upward in UPWARD:
            self.assertIn(upward, set(inside(name, modules()[name])), name)

    def test_no_imports_go_in_a_circle(self) -> None:
        self.assertEqual(
            circle({module: set(inside(module, tree)) for module, tree in modules().items()}), []
        )

    def test_nor_do_those_of_tools_tests_benchmarks_and_the_headless_editor(self) -> None:
        found = {name: set(used(name, not in_world(name))) for name in others()}
        self.assertEqual(circle(found), [])

    def test_the_headless_editor_imports_nothing_of_ours(self) -> None:
        ours = {"GeminiCompanion", "bench", "companion", "plugin", "tests", "tools"}
        for name, found in others().items():
            if name.startswith("headless/"):
                # What is above the folder is no part of it.
                depth = name.count("/")
                for node, _is_for_types in found:
                    names = [alias.name for alias in node.names]
                    if isinstance(node, ast.ImportFrom):
                        self.assertLessEqual(node.level, depth, name)
                        names = [] if node.level else [node.module or ""]
                    self.assertEqual(ours & {each.split(".")[0] for each in names}, set(), name)

    def test_nor_does_it_name_anything_of_ours(self) -> None:
        for path in python_files("headless"):
            with open(path, encoding="utf-8") as file:
                self.assertNotRegex(file.read().lower(), "companion|gemini", path)

    def test_where_imports_for_types_do_not_count_they_would_be_a_circle(self) -> None:
        world = {name: set(used(name, True)) for name in others() if in_world(name)}
        for each in world.values():
            each.intersection_update(world)
        self.assertTrue(circle(world), "nothing is left to be excepted")

    def test_only_the_ui_knows_the_editor(self) -> None:
        for name, tree in modules().items():
            if room_of(name) not in ("ui", "plugin"):
                self.assertFalse({"sublime", "sublime_plugin"} & set(outside(tree)), name)

    def test_each_library_has_few_importers(self) -> None:
        importers = {
            library: {name for name, tree in modules().items() if library in outside(tree)}
            for library in ("aiohttp", "jsonschema", "prometheus_client")
        }
        known = (
            "files/uploads handlers/attachment_handlers handlers/chat_handlers"
            " handlers/event_stream handlers/export_handlers handlers/handler_types"
            " handlers/openai_handlers handlers/openai_turns"
            " handlers/operation_handlers handlers/page_handlers handlers/session_handlers"
            " routes server serving/dispatch serving/once"
        )
        api = {f"api/{name}" for name in known.split()}
        others = {"base/connection", "base/http_server"}
        others |= {"ide/answers", "ide/stateless_transport", "ide/transport"}
        others |= {"ide/hooks/extension_transport", "ide/claude/claude_endpoint"}
        self.assertEqual(importers["aiohttp"], api | others)
        checkers = {"ide/schema_check", "api/contract/validation", "api/openai/output_shape"}
        self.assertEqual(importers["jsonschema"], checkers)
        self.assertEqual(importers["prometheus_client"], {"api/operations/metrics"})

    def test_imports_within_the_package_are_relative(self) -> None:
        ours = {"GeminiCompanion", "companion"}
        found = [name for name, tree in modules().items() if ours & {*outside(tree)}]
        self.assertEqual(found, [])

    def test_what_plugin_py_imports_at_once_is_what_the_host_names(self) -> None:
        first, imported = self.said(PLUGIN, ROOT).splitlines()
        self.assertEqual(first, imported)

    def said(self, code: str, *arguments: str) -> str:
        """What the code writes; nothing may stand on stderr."""
        if "python" not in os.path.basename(sys.executable).lower():
            self.skipTest("an editor's host is no interpreter that could be started")
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=240)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_each_core_module_imports_alone(self) -> None:
        """None is in a circle, and each names what it uses of ours by `from`, as two other tests
        say: so what was imported before it makes no difference."""
        core = [name for name in modules() if room_of(name) not in ("ui", "plugin")]
        self.assertEqual(
            self.said(IMPORT_EACH, ROOT, *(module.replace("/", ".") for module in core)), ""
        )

    def test_catch_alls_stand_at_the_named_boundaries_only(self) -> None:
        found = {name: sorted(place for place, _ in catch_alls(tree)) for name, tree in known()}
        self.assertEqual({name: places for name, places in found.items() if places}, BOUNDARIES)

    def test_a_catch_all_logs_the_traceback_or_passes_the_error_on(self) -> None:
        silent = [
            f"{name}: {place}"
            for name, tree in (*known(), *known_beside())
            for place, handler in catch_alls(tree)
            if not (isinstance(handler, ast.ExceptHandler) and is_told(handler))
        ]
        self.assertEqual(silent, [])

    def test_each_process_that_is_started_says_whether_it_has_a_window(self) -> None:
        """Windows opens a console for it where nobody does."""
        found = []
        for name, tree in modules().items():
            for node in nodes(tree):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
                    if node.func.attr in STARTERS.get(owner, STARTERS[""]):
                        found.append(name)
                        with self.subTest(f"{name}, line {node.lineno}"):
                            self.assertIn(
                                "creationflags", [keyword.arg for keyword in node.keywords]
                            )
        self.assertLessEqual({"agent/acp/process", "base/child_processes"}, set(found))

    def test_nothing_leans_on_assert_which_does_nothing_in_the_host(self) -> None:
        for name, tree in modules().items():
            self.assertFalse([n for n in nodes(tree) if isinstance(n, ast.Assert)], name)

    def test_what_puts_the_package_together_knows_bundles_and_not_their_parts(self) -> None:
        used = set(inside("ui/running", modules()["ui/running"]))
        self.assertLessEqual(len(used), 25, sorted(used))

    def test_functions_fit_on_a_screen(self) -> None:
        for name, tree in modules().items():
            for node in nodes(tree):
                if isinstance(node, FUNCTIONS):
                    lines = (node.end_lineno or 0) - node.lineno + 1
                    self.assertLessEqual(lines, 60, f"{name}.{node.name}")

    def test_the_listener_has_every_handler_in_its_own_body(self) -> None:
        tree = modules()["plugin"]
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        bases = [ast.dump(base) for base in classes["GeminiCompanionListener"].bases]
        self.assertEqual(len(bases), 1)
        self.assertIn("EventListener", bases[0])
