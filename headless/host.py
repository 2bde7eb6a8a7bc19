"""The plugin host: one editor's lifetime as a bracket, its main thread being the UI thread."""

from __future__ import annotations

import os
import runpy
import sys
import threading
import traceback
from typing import Any, Callable, Optional, Tuple

from . import data_folders, front, project, running, session
from .bridge import Api
from .console import Console
from .editor import Editor
from .options import Options
from .switches import set_worst

current = running.current

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

QUIT = b"q"  # what the parent writes when the editor is to quit
_STRICT_MS = 100  # with HEADLESS_STRICT=1 a callback above this on the UI thread is reported


def main(options: Options, control: int, name: str) -> int:
    """Run an editor until its script or its user ends it; `control` is the parent's pipe, and the
    parent removes a data folder with `name`."""
    side = front.load(options.front)
    with data_folders.taken(options, side, name) as data:
        if options.script and not data.stays:
            _set_environment(options.environment, data.path)
        editor = build(options, data.path, data.stays)
        editor.status_message = data.problem
        ending = Ending(editor, options, session.Keeper(editor) if data.stays else None)
        _in_thread(lambda: _obey(control, ending), "parent")
        _start(editor, options)
        editor.queues.ui.post(lambda: _open(editor, options, side, ending))
        editor.queues.ui.run()
        return ending.status


def _set_environment(variables: Tuple[Tuple[str, str], ...], data: str) -> None:
    """Before a package is loaded, so that none sees what a person has there."""
    for name, value in variables:
        if value.startswith(project.DATA):
            value = data + value[len(project.DATA) :]
            os.makedirs(value, exist_ok=True)
        os.environ[name] = value


def build(options: Options, data: str, has_session: bool = False) -> Editor:
    """An editor with its windows and packages, not yet started; raises ValueError."""
    editor = Editor(Api(), data, options.build, _limit())
    if options.worst is not None:
        set_worst(editor.switches, options.worst)
    for name, value in options.switches:
        setattr(editor.switches, name, value)
    running.start(editor)
    editor.packages.discover(list(options.packages))
    if options.scheme:
        editor.preferences().set("color_scheme", options.scheme)
    is_wanted = has_session and (options.restore or not options.script)
    restored = session.restore(editor) if is_wanted else False
    for folder in options.folders:
        if not any(folder in window.folders for window in editor.windows):
            editor.new_window([folder])
    if not options.folders and not restored:
        editor.new_window([])
    return editor


def _limit() -> Optional[float]:
    """Seconds a UI callback may take before it is reported, None where nobody asked."""
    if os.environ.get("HEADLESS_STRICT", "") not in ("", "0"):
        return float(os.environ.get("HEADLESS_STRICT_MS", _STRICT_MS)) / 1000
    return None


def _start(editor: Editor, options: Options) -> None:
    sys.stdout, sys.stderr = Console(sys.__stdout__), Console(sys.__stderr__)
    # A checkout is no place plugins import from, wherever the editor was started.
    here = (os.getcwd(), HOME, "")
    sys.path[:] = [path for path in sys.path if path not in here or _is_site(path)]
    # After Python's own modules, before what this Python happens to have installed.
    sites = [at for at, path in enumerate(sys.path) if _is_site(path)]
    sys.path.insert(min(sites, default=len(sys.path)), editor.packages.library_folder())
    sys.path.append(editor.packages.folder())
    editor.queues.start_background()
    _in_thread(editor.watch_files, "file watcher")


def _is_site(path: str) -> bool:
    """Whether libraries were installed there."""
    return path.endswith("-packages")


def _open(editor: Editor, options: Options, side: front.Front, ending: "Ending") -> None:
    delay = 0.0 if options.script else editor.switches.packages_delay
    if delay:
        _begin(editor, options, side, ending)
        editor.queues.ui.post(lambda: _load(editor), delay)
        return
    _load(editor)
    # Behind on_init, which open_api posted for the next turn.
    editor.queues.ui.post(lambda: _begin(editor, options, side, ending))


def _load(editor: Editor) -> None:
    editor.plugins.start()
    editor.plugins.open_api()


def _begin(editor: Editor, options: Options, side: front.Front, ending: "Ending") -> None:
    if options.script:
        _in_thread(lambda: _script(editor, options, ending), "script")
        return
    _in_thread(lambda: data_folders.sweep(side), "sweep")
    _in_thread(lambda: _interact(editor, options, side, ending), "script")
    if ending.keeper is not None:
        _in_thread(ending.keeper.run, "session")


def _in_thread(work: Callable[[], object], name: str) -> None:
    threading.Thread(target=work, name=name, daemon=True).start()


def _script(editor: Editor, options: Options, ending: "Ending") -> None:
    """Run the script in this thread, then unload the packages and leave with its status."""
    script = str(options.script)
    sys.argv = [script] + list(options.arguments)
    sys.path.insert(0, os.path.dirname(script))
    status = run_guarded(lambda: runpy.run_path(script, run_name="__main__"))
    if options.render:
        status = run_guarded(lambda: _render(editor, str(options.render))) or status
    ending.unload(status)


def run_guarded(run: Callable[[], Any]) -> int:
    """The exit status of a piece of Python: that of SystemExit, 1 where it raised."""
    try:
        run()
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        sys.stderr.write("%s\n" % error.code)
        return 1
    except BaseException:  # the boundary of the script: its traceback is its report
        traceback.print_exc()
        return 1
    return 0


def _render(editor: Editor, path: str) -> None:
    from .render import render

    page = editor.ui(render, editor)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


def _interact(editor: Editor, options: Options, side: front.Front, ending: "Ending") -> None:
    status = 1
    try:
        status = side.run(editor, options)
    except Exception:  # the boundary of the front end: the editor quits in order
        traceback.print_exc()
    if options.render:
        status = run_guarded(lambda: _render(editor, str(options.render))) or status
    ending.quit(status)


class Ending:
    """The one way out: whoever comes first decides how the editor ends. `keeper` is that of its
    session, None where that ends with it."""

    def __init__(
        self, editor: Editor, options: Options, keeper: Optional[session.Keeper] = None
    ) -> None:
        self.editor = editor
        self.options = options
        self.keeper = keeper
        self.status = 0
        self._first = threading.Lock()
        editor.leave = lambda: self.quit(0)

    def unload(self, status: int) -> None:
        """The packages are told (plugin_unloaded), then the host ends."""
        self._end(status, self._unload)

    def quit(self, status: int) -> None:
        """As Sublime quits: hot exit, no plugin_unloaded, on_exit once the API is gone."""
        self._end(status, self._quit)

    def asked(self) -> None:
        """The parent wants an end: a signal or Ctrl+C."""
        if self.options.script:
            self.unload(130)
        else:
            self.quit(0)

    def _end(self, status: int, how: Callable[[], None]) -> None:
        if not self._first.acquire(blocking=False):
            return
        self.status = status
        self.editor.queues.ui.post(lambda: self._leave(how))

    def _leave(self, how: Callable[[], None]) -> None:
        try:
            how()
        finally:
            self.editor.queues.stop()

    def _unload(self) -> None:
        self.editor.stop_watching()
        self.editor.plugins.unload_all()

    def _quit(self) -> None:
        if self.keeper is not None:
            self.keeper.finish()
        self.editor.quit()


def _obey(control: int, ending: Ending) -> None:
    """Quit when the parent says so; vanish with it when it is killed."""
    while True:
        try:
            word = os.read(control, 1)
        except OSError:
            word = b""
        if not word:
            os._exit(1)
        if word == QUIT:
            ending.asked()


def leave(status: int) -> None:
    """End the process as the editor's hosts end: no atexit handlers, threads just vanish."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            pass  # nobody reads it any more
    os._exit(status)
