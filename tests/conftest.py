"""Makes the repository importable under the name that Sublime gives the package, and registers the
plugins of all runs."""

from __future__ import annotations

import gc
import importlib.util
import os
import random
import threading
from contextlib import suppress
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis.strategies import none

from tests.leftovers import Leftovers, own_temp_folder
from tests.looks_at import PassedBefore
from tests.loop_checks import are_stacks_wanted, check_without_stacks
from tests.package_name import name_package
from tests.skipped import SkippedTests
from tests.waiting import PATIENCE

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Seconds; `make fuzz` runs FUZZ times as much in a test.
TIME_LIMIT = 1200 * int(os.environ.get("FUZZ", "1"))
# Kept as long as the libraries that the tests run on.
PASSED = os.path.join(ROOT, ".venv", "passed.json")

name_package(ROOT)

from GeminiCompanion.companion.base.login_path import LOGIN_PATH  # noqa: E402
from GeminiCompanion.companion.base.thread_ends import wait_for_end  # noqa: E402

# What is installed for whoever runs the tests is none of a test's.
mock.patch.object(LOGIN_PATH, "ask", return_value="").start()

if not are_stacks_wanted():
    check_without_stacks()

# The same examples each time: what fails here fails everywhere.
settings.register_profile("steady", database=None, deadline=None, derandomize=True)
settings.load_profile("steady")

# The adapter's tests run inside an editor: tests/run.py.
IN_EDITOR = importlib.util.find_spec("sublime") is not None
if not IN_EDITOR:
    collect_ignore_glob = ["ui/*"]

# The collector looks through all that pytest and the libraries hold. What is made in a test is
# looked through in time this way, too, and a test that counts what is left collects by itself.
gc.set_threshold(50_000, 20, 100)

# The real CLI runs in a pseudo-terminal, and Windows has none of this kind.
HAS_TERMINALS = importlib.util.find_spec("fcntl") is not None
if not HAS_TERMINALS:
    collect_ignore = ["e2e"]


def pytest_configure(config: pytest.Config) -> None:
    """A time limit for each test with what it sets up, many times what the slowest takes: one that
    reaches it hangs. The stacks of all threads are shown then, and the run ends. What passed
    before, and looks at nothing that has changed since, is skipped."""
    config.pluginmanager.register(PassedBefore(PASSED, ROOT, bool(os.environ.get("ALL"))))
    config.pluginmanager.register(
        SkippedTests({} if HAS_TERMINALS else {"tests/e2e": "they need Unix terminals"})
    )
    folder = own_temp_folder()
    if IN_EDITOR:
        # The editor's own companion goes on from file to file, with its discovery files.
        os.mkdir(os.path.join(folder, "gemini"))
    config.pluginmanager.register(Leftovers(folder))
    if config.pluginmanager.hasplugin("timeout"):
        config.option.timeout = config.option.timeout or TIME_LIMIT
        # The other way, a signal, does not work in the editor's threads.
        config.option.timeout_method = "thread"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With ORDER, a seed, the files come in a random order: none may need what another leaves."""
    seed = os.environ.get("ORDER")
    if seed:
        paths = sorted({item.path for item in items})
        random.Random(seed).shuffle(paths)
        items.sort(key=lambda item: paths.index(item.path))


@given(none())
def draw_nothing(_: None) -> None:
    """Has Hypothesis make what it makes with its first example."""


def pytest_collection_finish() -> None:
    # In releases for old Pythons it asks who holds its generator of random numbers, which the
    # collector does not tell of what is frozen.
    draw_nothing()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """No port that a test has left for a next start reaches another test. What the tests of a file
    leave is collected with its last one: what runs as it goes would disturb others. Of Python 3.11
    `ast.parse` fails where that parses something, too."""
    close_left_sockets()
    if nextitem is None or nextitem.path != item.path:
        gc.collect()


def close_left_sockets() -> None:
    """Those that nobody took after an end (base/socket_handover)."""
    for keeper in [
        thread for thread in threading.enumerate() if thread.name == "GeminiCompanion sockets"
    ]:
        listeners = vars(keeper)["listeners"]
        with suppress(KeyError):
            while True:
                listeners.popitem()[1].close()
        vars(keeper)["is_empty"].set()
        wait_for_end(keeper, PATIENCE)
