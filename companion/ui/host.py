"""The package inside the plugin host, from load to unload. UI thread only.

Imports of plugin.py block Sublime's UI thread, so this module imports next to nothing. The rest is
imported on the worker and then started. At a reload or an upgrade of the package Sublime calls
`unload`, loads plugin.py anew and calls `start`; what is kept over that is in docs/architecture.md.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Mapping, MutableMapping

import sublime

from . import queues

if TYPE_CHECKING:
    from ..base.log import RecentLines
    from ..ide.companion import Companion
    from .api_server import Api
    from .chat.drafts import Drafts
    from .engines import Engines
    from .known_trees import KnownTrees
    from .review.unopened_store import UnopenedStore
    from .running import Running
    from .unseen_messages import UnseenMessages


NOT_RUNNING = 'It is not running. "Gemini Companion: Restart Companion" starts it.'
# Not from __package__: for a zip, some importers of Python 3.8 set that only afterwards.
PACKAGE = __name__.rsplit(".", 2)[0]
# The package's modules that plugin.py imports, on the UI thread.
FIRST = (
    "ui",
    "ui.commands",
    "ui.commands.agent_commands",
    "ui.commands.changes_commands",
    "ui.commands.chat_commands",
    "ui.commands.cli_commands",
    "ui.commands.companion_commands",
    "ui.commands.conversation_commands",
    "ui.commands.diff_commands",
    "ui.commands.list_command",
    "ui.commands.page_commands",
    "ui.commands.prompt_commands",
    "ui.commands.question_commands",
    "ui.commands.running_command",
    "ui.commands.table",
    "ui.commands.work_tree_commands",
    "ui.host",
    "ui.queues",
)


def forget_modules(modules: MutableMapping[str, ModuleType]) -> None:
    """Have all other modules imported again."""
    first = {f"{PACKAGE}.{name}" for name in FIRST}
    for name in list(modules):
        if name.startswith(PACKAGE + ".") and name not in first:
            modules.pop(name, None)


class Host:
    """`running` is None before `start` has finished and after `stop`; both can be called again and
    again. `api` is the API's server and `engines` has the engine, which both continue when the
    companion is restarted, and so do the `drafts`, whose file may be older than they are, the
    `messages` that the user has not seen, the `unopened` proposals and the work `trees`."""

    def __init__(self) -> None:
        self.running: Running | None = None
        self.api: Api | None = None
        self.engines: Engines | None = None
        self.drafts: Drafts | None = None
        self.messages: UnseenMessages | None = None
        self.unopened: UnopenedStore | None = None
        self.trees: KnownTrees | None = None
        # Whether there were modules of an earlier load, which may still be importing others.
        self.is_reloaded = False
        self._wanted = False

    def start(self) -> None:
        """Begin to serve as soon as the modules are imported."""
        self._wanted = True
        if self.api is not None:
            self._begin_serving()
        else:
            queues.on_worker(self._import_modules)

    def _import_modules(self) -> None:
        """Runs on the worker. An import of the load before has ended there by now; what it imported
        while plugin.py forgot its modules belongs to the old load."""
        if self.is_reloaded:
            self.is_reloaded = False
            forget_modules(sys.modules)
        from . import api_server, running, settings  # noqa: F401

        if self.unopened is None:
            from .review.unopened_store import UnopenedStore

            folder = os.path.join(sublime.cache_path(), "GeminiCompanion", "unopened")
            self.unopened = UnopenedStore(folder)
            self.unopened.refusals.subscribe(self.warn_user)
        # Parses their patterns once, which would take milliseconds on the UI thread.
        settings.current_settings()
        queues.on_ui_thread(self._begin_serving)

    def _begin_serving(self) -> None:
        """The modules are imported."""
        if not self._wanted or self.unopened is None:
            return
        from .api_server import Api
        from .chat.drafts import DRAFTS, Drafts
        from .engines import Engines
        from .known_trees import KnownTrees
        from .running import Running
        from .unseen_messages import UnseenMessages

        trees = self.trees = self.trees or KnownTrees.in_cache(sublime.cache_path())
        messages = self.messages = self.messages or UnseenMessages()
        if self.api is None or self.engines is None:
            self.engines = Engines(trees)
            self.api = Api(self.tell_user, self.warn_user, self.engines)
        if self.drafts is None:
            self.drafts = Drafts.in_cache(sublime.cache_path())
            self.drafts.refusals.subscribe(partial(self.warn_user, about=DRAFTS))
            # Queued once more, as what is told is: it must not come before that.
            withdraw = partial(messages.withdraw_messages, DRAFTS)
            self.drafts.recoveries.subscribe(partial(queues.on_ui_thread, withdraw))
        if self.running is None:
            self.running = Running(self.engines, self.drafts, messages, self.unopened, trees)
            self.running.start()

    def stop(self) -> None:
        self._wanted = False
        running, self.running = self.running, None
        if running is not None:
            running.stop()

    def unload(self) -> None:
        """The package is unloaded."""
        if self.api is not None:
            self.api.unload()
        self.stop()
        if self.unopened is not None:
            # The next load reads what is written.
            self.unopened.finish()

    def quit(self) -> None:
        """The editor quits and its API no longer works."""
        self._wanted = False
        running, self.running = self.running, None
        if running is not None:
            running.quit()
        if self.engines is not None:
            self.engines.quit()
        if self.unopened is not None:
            self.unopened.finish()

    @property
    def is_running(self) -> bool:
        return self.running is not None and self.running.companion.is_running

    @property
    def companion(self) -> Companion | None:
        return self.running.companion if self.running is not None else None

    @property
    def log(self) -> RecentLines | None:
        return self.running.log if self.running is not None else None

    def environment_of(self, window: sublime.Window) -> Mapping[str, str]:
        """The variables that lead a CLI in a terminal to the window; empty while there are none."""
        return self.running.environment_of(window) if self.running is not None else {}

    def tell_user(self, sentence: str) -> None:
        """Show for a moment what comes of something that the user has just done."""
        if self.running is not None:
            self.running.messages.tell_user(sentence)
        else:
            sublime.status_message("Gemini Companion: " + sentence)

    def warn_user(self, sentence: str, about: str = "") -> None:
        """Show the sentence until the user has seen it, or what it is `about` is withdrawn."""
        if self.running is not None:
            self.running.messages.warn_user(sentence, about)
        else:
            self.tell_user(sentence)
            if self.messages is not None:
                # The next companion shows it: a disk may refuse unsent texts right after a stop.
                self.messages.add_message(sentence, about)


host = Host()
