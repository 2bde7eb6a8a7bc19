"""Commands: their names, who runs them and when they may; the built-in ones are in builtin."""

from __future__ import annotations

import sys
import traceback
from typing import Any, Callable, Dict, List, Optional, Set, Tuple, Type

from . import builtin
from .values import copy_value

APPLICATION, WINDOW, TEXT = "application", "window", "text"
Native = Callable[..., Any]


def command_name(class_name: str, suffix: str = "_command") -> str:
    """The name a command class gets.

    >>> command_name("ToyOpenDiffCommand")
    'toy_open_diff'
    >>> command_name("ToyMCPStatusCommand")
    'toy_mCPStatus'
    """
    name = class_name[:1].lower()
    for before, letter in zip(class_name, class_name[1:]):
        if letter.isupper() and not before.isupper():
            name += "_" + letter.lower()
        else:
            name += letter
    return name[: -len(suffix)] if name.endswith(suffix) else name


class Commands:
    """Every command there is, found by name; the classes of packages come before built-in ones."""

    def __init__(self, editor: Any) -> None:
        self.editor = editor
        self.classes: Dict[str, List[Type[Any]]] = {APPLICATION: [], WINDOW: [], TEXT: []}
        self._instances: Dict[Tuple[Type[Any], int], Any] = {}
        self._names: Dict[Type[Any], Optional[str]] = {}
        # Those of running commands; `View.begin_edit` takes no others.
        self.tokens: Set[int] = set()
        self.log = False
        # What was asked for and cannot be had: said once each.
        self._lacking: Set[str] = set()

    # Finding

    def add(self, kind: str, cls: Type[Any]) -> None:
        self.classes[kind].append(cls)

    def remove(self, classes: List[Type[Any]]) -> None:
        for known in self.classes.values():
            known[:] = [cls for cls in known if cls not in classes]
        self.forget_instances()

    def forget_instances(self) -> None:
        """All instances are made anew after packages came or went."""
        self._instances.clear()

    def forget_target(self, kind: str, id: int) -> None:
        """A window or view has closed."""
        for cls in self.classes[kind]:
            self._instances.pop((cls, id), None)

    def names(self, kind: str) -> List[str]:
        """The names of the packages' commands of a kind."""
        found = [self._name(cls) for cls in self.classes[kind]]
        return [name for name in found if name is not None]

    def _name(self, cls: Type[Any]) -> Optional[str]:
        if cls not in self._names:
            self._names[cls] = _asked_name(cls)
        return self._names[cls]

    def instance(self, kind: str, name: str, target: Any) -> Optional[Any]:
        """A package's command for a window or view (None for application commands)."""
        for cls in reversed(self.classes[kind]):
            if self._name(cls) == name:
                return self._made(kind, cls, target)
        return None

    def _made(self, kind: str, cls: Type[Any], target: Any) -> Optional[Any]:
        key = (cls, target.id if target is not None else 0)
        if key not in self._instances:
            try:
                self._instances[key] = self._make(kind, cls, target)
            except Exception:  # the boundary of plugin code: reported and skipped
                traceback.print_exc()
                return None
        return self._instances[key]

    def _make(self, kind: str, cls: Type[Any], target: Any) -> Any:
        if kind == APPLICATION:
            return cls()
        api = self.editor.api
        return cls(api.Window(target.id) if kind == WINDOW else api.View(target.id))

    # Asking

    def find(self, window: Any, name: str) -> Tuple[str, Any]:
        """The kind a name has for a window, and the window or view it would run on."""
        view = window.focused_view() if window is not None else None
        for kind, target in ((TEXT, view), (WINDOW, window), (APPLICATION, None)):
            if target is None and kind != APPLICATION:
                continue
            if name in self.names(kind) or name in builtin.COMMANDS[kind]:
                return kind, target
        return "", None

    def is_enabled(self, window: Any, name: str, args: Any = None) -> bool:
        """Whether a menu or the palette would let the user run it here; UI thread only."""
        return self._question(window, name, args, "is_enabled", True)

    def is_visible(self, window: Any, name: str, args: Any = None) -> bool:
        return self._question(window, name, args, "is_visible", True)

    def is_checked(self, window: Any, name: str, args: Any = None) -> bool:
        return self._question(window, name, args, "is_checked", False)

    def description(self, window: Any, name: str, args: Any = None) -> str:
        kind, target = self.find(window, name)
        command = self.instance(kind, name, target) if kind else None
        answer = command.description(**(args or {})) if command is not None else None
        return answer or ""

    def _question(self, window: Any, name: str, args: Any, method: str, default: bool) -> bool:
        kind, target = self.find(window, name)
        if not kind:
            return False
        command = self.instance(kind, name, target)
        return default if command is None else _asked(command, method, args)

    # Running

    def run(self, window: Any, name: str, args: Any = None, hooks: bool = True) -> None:
        """Run any command as if it came from a window: text commands on the focused view.

        Without `hooks` no listener hears of it or rewrites it (on_window_command and its like).
        Raises TypeError for arguments that are no JSON. A name that nobody has is told in the
        console once, and does nothing.
        """
        args = _checked(name, args)
        kind, target = self.find(window, name)
        if kind == TEXT:
            self.run_text(target, name, args, hooks)
        elif kind == WINDOW or window is not None:
            self.run_window(window, name, args, hooks)
        else:
            self.run_application(name, args)

    def choose(self, window: Any, name: str, args: Any = None) -> None:
        """Run a command as the command palette does."""
        self.run(window, name, args, self.editor.switches.palette_hooks)

    def run_application(self, name: str, args: Any = None) -> None:
        args = _checked(name, args)
        self._log(name, args)
        command = self.instance(APPLICATION, name, None)
        if command is not None:
            self._start(command, args, lambda: self._run(command, args))
        elif name in builtin.COMMANDS[APPLICATION]:
            self._native(lambda: builtin.COMMANDS[APPLICATION][name](self.editor, **(args or {})))
        else:
            self._lack('neither a package nor this editor has the command "%s"' % name)

    def run_window(self, window: Any, name: str, args: Any = None, hooks: bool = True) -> None:
        args = _checked(name, args)
        if hooks:
            name, args = self.editor.events.rewrite_window_command(window, name, args)
        self._log(name, args)
        command = self.instance(WINDOW, name, window)
        if command is not None:
            self._start(command, args, lambda: self._run(command, args))
        elif name in builtin.COMMANDS[WINDOW]:
            self._native(lambda: builtin.COMMANDS[WINDOW][name](window, **(args or {})))
        elif self.find(None, name)[0]:
            self.run_application(name, args)
        else:
            self._lack('neither a package nor this editor has the command "%s"' % name)
        if hooks:
            self.editor.events.after_window_command(window, name, args)

    def run_text(self, view: Any, name: str, args: Any = None, hooks: bool = True) -> None:
        args = _checked(name, args)
        if view.closed:
            return
        if hooks:
            name, args = self.editor.events.rewrite_text_command(view, name, args)
        self._log(name, args)
        command = self.instance(TEXT, name, view)
        if command is not None:
            self._start(command, args, lambda: self._edit(view, command, name, args))
        elif name in builtin.COMMANDS[TEXT]:
            self._native_edit(view, name, args)
        else:
            self._lack('neither a package nor this editor has the command "%s"' % name)
            return
        if hooks:
            self.editor.events.after_text_command(view, name, args)

    def _run(self, command: Any, args: Any, token: int = 0) -> None:
        """`run_` gets a token for edits; packages override it."""
        token = token or self.editor.new_id()
        self.tokens.add(token)
        try:
            command.run_(token, args)
        finally:
            self.tokens.discard(token)

    def _edit(self, view: Any, command: Any, name: str, args: Any) -> None:
        token = self.editor.begin_edit(view, name, args)
        try:
            self._run(command, args, token)
        finally:
            self.editor.end_edit(view, token)

    def _native_edit(self, view: Any, name: str, args: Any) -> None:
        native = builtin.COMMANDS[TEXT][name]
        if name in builtin.HISTORY:
            self._native(lambda: native(self.editor, view, **(args or {})))
            return
        token = self.editor.begin_edit(view, name, args)
        try:
            self._native(lambda: native(self.editor, view, **(args or {})))
        finally:
            self.editor.end_edit(view, token)

    def _native(self, run: Callable[[], Any]) -> None:
        """Run a command of the editor's own; what it does not offer is told."""

        def guarded() -> None:
            try:
                run()
            except NotImplementedError as error:
                self._lack("this editor cannot %s" % error)

        _guard(guarded)

    def _lack(self, what: str) -> None:
        """Never in silence: a test of a package would pass or fail for no reason to be seen."""
        if what not in self._lacking:
            self._lacking.add(what)
            sys.stderr.write("Nothing is done: %s\n" % what)

    def _start(self, command: Any, args: Any, run: Callable[[], Any]) -> None:
        if self.editor.switches.disabled_commands_skip and not _asked(command, "is_enabled", args):
            return
        _guard(run)

    def _log(self, name: str, args: Any) -> None:
        if self.log:
            print("command: %s %s" % (name, self.editor.api.encode_value(args) if args else ""))


def _checked(name: str, args: Any) -> Any:
    if not isinstance(name, str):
        raise TypeError("expected a str as command name, got %s" % type(name).__name__)
    if args is not None and not isinstance(args, dict):
        raise TypeError("expected a dict as arguments, got %s" % type(args).__name__)
    return copy_value(args) or None


def _asked(command: Any, method: str, args: Any) -> bool:
    """With the arguments, and where the method takes none, without; only a bool counts."""
    ask = getattr(command, method)
    try:
        try:
            answer = ask(**(args or {}))
        except TypeError:
            answer = ask()
        if not isinstance(answer, bool):
            raise ValueError("%s must return a bool, got %r" % (method, answer))
        return answer
    except Exception:  # the boundary of plugin code
        traceback.print_exc()
        return False


def _guard(run: Callable[[], Any]) -> None:
    try:
        run()
    except Exception:  # the boundary of plugin code: the caller of run_command sees nothing
        traceback.print_exc()


def _asked_name(cls: Type[Any]) -> Optional[str]:
    """A class may name itself; the question needs no finished instance."""
    try:
        return str(cls.name(object.__new__(cls)))
    except Exception:  # the boundary of plugin code: such a command has no name
        traceback.print_exc()
        return None
