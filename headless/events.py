"""Events on their way to the listeners: who hears them, in which order, on which thread."""

from __future__ import annotations

import time
import traceback
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple, Type

BOTH = (
    "on_load",
    "on_reload",
    "on_revert",
    "on_pre_save",
    "on_post_save",
    "on_post_move",
    "on_modified",
    "on_selection_modified",
    "on_activated",
    "on_deactivated",
)
_SYNC_ONLY = (
    "on_pre_move",
    "on_pre_close",
    "on_close",
    "on_query_context",
    "on_query_completions",
    "on_hover",
    "on_text_command",
    "on_post_text_command",
)
_LISTENER = (
    "on_new",
    "on_clone",
    "on_new_buffer",
    "on_associate_buffer",
    "on_close_buffer",
    "on_new_window",
    "on_new_project",
    "on_load_project",
    "on_post_save_project",
)
_LISTENER_SYNC = (
    "on_init",
    "on_exit",
    "on_pre_close_window",
    "on_pre_save_project",
    "on_pre_close_project",
    "on_window_command",
    "on_post_window_command",
)


def _with_async(names: Iterable[str]) -> Set[str]:
    return {name + suffix for name in names for suffix in ("", "_async")}


VIEW_EVENTS = _with_async(BOTH) | set(_SYNC_ONLY)
LISTENER_EVENTS = VIEW_EVENTS | _with_async(_LISTENER) | set(_LISTENER_SYNC)
VIEW_LISTENER_EVENTS = VIEW_EVENTS | {"on_init"}
TEXT_EVENTS = _with_async(("on_text_changed", "on_revert", "on_reload"))


class Events:
    """The listeners of all packages, and the way to tell them.

    Sync handlers run on the UI thread, application-wide ones before those of the view; their
    `_async` twins go to the worker. `longest` is the longest time a handler took, in seconds.
    """

    def __init__(self, editor: Any) -> None:
        self.editor = editor
        self.listeners: List[Any] = []
        # By event: who is told, in this order; packages look into it, and some change it.
        self.all_callbacks: Dict[str, List[Any]] = {name: [] for name in sorted(LISTENER_EVENTS)}
        self.view_classes: List[Type[Any]] = []
        self.text_classes: List[Type[Any]] = []
        self.view_listeners: Dict[int, List[Any]] = {}
        self.text_listeners: Dict[int, List[Any]] = {}
        self._made: Set[Tuple[int, Type[Any]]] = set()
        self.ready = False
        # Whether a handler of on_selection_modified runs now, on the UI thread.
        self.tells_of_selection = False
        self.longest, self.longest_of = 0.0, ""

    # Telling

    def view(self, name: str, view: Any) -> None:
        """Tell listeners, then the view's own ones, then all of them once more on the worker."""
        is_heard = self.editor.switches.hidden_panel_events or not view.is_hidden_panel
        if not (self.ready and is_heard):
            return
        wrapper = self.editor.api.View(view.id)
        outer, self.tells_of_selection = self.tells_of_selection, name == "on_selection_modified"
        try:
            self.tell(self.hearing(name), name, wrapper)
            self.tell(self.view_listeners.get(view.id, ()), name)
        finally:
            self.tells_of_selection = outer
        if name in BOTH:
            self.editor.queues.worker.post(lambda: self._view_async(name + "_async", view.id))

    def _view_async(self, name: str, view_id: int) -> None:
        self.tell(self.hearing(name), name, self.editor.api.View(view_id))
        self.tell(self.view_listeners.get(view_id, ()), name)

    def everyone(self, name: str, *args: Any) -> None:
        """An event of listeners alone: windows, projects, new and cloned views, buffers."""
        if not self.ready:
            return
        self.tell(self.hearing(name), name, *args)
        if name in _LISTENER:
            after = name + "_async"
            self.editor.queues.worker.post(lambda: self.tell(self.hearing(after), after, *args))

    def view_only(self, name: str, view: Any) -> None:
        """on_new and on_clone: of a view, but for listeners alone."""
        self.everyone(name, self.editor.api.View(view.id))

    def text(self, name: str, buffer: Any, *args: Any) -> None:
        """An event of text change listeners."""
        if not self.ready:
            return
        listeners = list(self.text_listeners.get(buffer.id, ()))
        self.tell(listeners, name, *args)
        if listeners:
            self.editor.queues.worker.post(lambda: self.tell(listeners, name + "_async", *args))

    def ask(self, name: str, view: Any, *args: Any) -> List[Any]:
        """All answers to a query, the listeners' before the view's own."""
        wrapper = self.editor.api.View(view.id)
        answers = self.tell(self.hearing(name), name, wrapper, *args)
        return answers + self.tell(self.view_listeners.get(view.id, ()), name, *args)

    def context(self, view: Any, key: str, operator: int, operand: Any, match_all: bool) -> bool:
        """False and None are the same answer: nobody says yes."""
        answers = self.ask("on_query_context", view, key, operator, operand, match_all)
        return any(answers)

    def rewrite_text_command(self, view: Any, name: str, args: Any) -> Tuple[str, Any]:
        """The view's own listeners are asked first; the first answer wins."""
        wrapper = self.editor.api.View(view.id)
        for listener in self.view_listeners.get(view.id, ()):
            answer = self.one(listener, "on_text_command", name, args)
            if answer:
                return _rewritten(answer)
        for listener in list(self.hearing("on_text_command")):
            answer = self.one(listener, "on_text_command", wrapper, name, args)
            if answer:
                return _rewritten(answer)
        return name, args

    def rewrite_window_command(self, window: Any, name: str, args: Any) -> Tuple[str, Any]:
        for listener in list(self.hearing("on_window_command")):
            wrapper = self.editor.api.Window(window.id)
            answer = self.one(listener, "on_window_command", wrapper, name, args)
            if answer:
                return _rewritten(answer)
        return name, args

    def after_text_command(self, view: Any, name: str, args: Any) -> None:
        wrapper = self.editor.api.View(view.id)
        for listener in self.view_listeners.get(view.id, ()):
            self.one(listener, "on_post_text_command", name, args)
        after = "on_post_text_command"
        self.tell(self.hearing(after), after, wrapper, name, args)

    def after_window_command(self, window: Any, name: str, args: Any) -> None:
        wrapper = self.editor.api.Window(window.id)
        after = "on_post_window_command"
        self.tell(self.hearing(after), after, wrapper, name, args)

    def tell(self, listeners: Iterable[Any], name: str, *args: Any) -> List[Any]:
        return [
            self.one(listener, name, *args)
            for listener in list(listeners)
            if hasattr(listener, name)
        ]

    def one(self, listener: Any, name: str, *args: Any) -> Any:
        handler: Optional[Callable[..., Any]] = getattr(listener, name, None)
        if handler is None:
            return None
        start = time.perf_counter()
        try:
            return handler(*args)
        except Exception:  # the boundary of plugin code: one listener never stops the next
            traceback.print_exc()
            return None
        finally:
            self._measure(listener, name, time.perf_counter() - start)

    def _measure(self, listener: Any, name: str, seconds: float) -> None:
        if seconds > self.longest and not name.endswith("_async"):
            self.longest = seconds
            self.longest_of = "%s.%s" % (type(listener).__qualname__, name)

    # Who listens

    def hearing(self, name: str) -> List[Any]:
        """The application-wide listeners of an event."""
        return self.all_callbacks.get(name, [])

    def add(self, listener: Any) -> None:
        self.listeners.append(listener)
        for name in LISTENER_EVENTS:
            if hasattr(listener, name):
                self.all_callbacks[name].append(listener)

    def drop(self, classes: List[Type[Any]]) -> None:
        """Forget the application-wide listeners of these classes."""
        for known in [self.listeners] + list(self.all_callbacks.values()):
            known[:] = [each for each in known if type(each) not in classes]

    def check_view(self, view: Any) -> None:
        """Give a view the listeners that apply to it and take away those that no longer do."""
        if not self.ready or view.closed or view.element is not None:
            return
        have = self.view_listeners.setdefault(view.id, [])
        for cls in list(self.view_classes):
            present = [listener for listener in have if type(listener) is cls]
            wanted = self._applies(cls, view)
            if wanted and not present:
                self._add_view_listener(have, cls, view)
            elif present and not wanted:
                have.remove(present[0])

    def _applies(self, cls: Type[Any], view: Any) -> bool:
        try:
            if cls.applies_to_primary_view_only() and not view.is_primary():
                return False
            return bool(cls.is_applicable(self.editor.api.Settings(view.settings.id)))
        except Exception:  # the boundary of plugin code
            traceback.print_exc()
            return False

    def _add_view_listener(self, have: List[Any], cls: Type[Any], view: Any) -> None:
        if (view.id, cls) in self._made:
            return  # its constructor changes a setting, which leads here again
        self._made.add((view.id, cls))
        try:
            have.append(cls(self.editor.api.View(view.id)))
        except Exception:  # the boundary of plugin code
            traceback.print_exc()
        finally:
            self._made.discard((view.id, cls))

    def check_views(self) -> None:
        for view in self.editor.all_views():
            self.check_view(view)

    def check_buffer(self, buffer: Any) -> None:
        """Attach the text change listeners that apply to a buffer."""
        if not self.ready:
            return
        wrapper = self.editor.api.Buffer(buffer.id)
        have = self.text_listeners.setdefault(buffer.id, [])
        for cls in list(self.text_classes):
            present = [listener for listener in have if type(listener) is cls]
            try:
                wanted = bool(cls.is_applicable(wrapper))
                if wanted and not present:
                    cls().attach(wrapper)
                elif present and not wanted:
                    present[0].detach()
            except Exception:  # the boundary of plugin code
                traceback.print_exc()

    def forget_view(self, view: Any) -> None:
        self.view_listeners.pop(view.id, None)

    def forget_buffer(self, buffer: Any) -> None:
        for listener in list(self.text_listeners.get(buffer.id, ())):
            listener.detach()
        self.text_listeners.pop(buffer.id, None)


def _rewritten(answer: Any) -> Tuple[str, Any]:
    return (answer[0], answer[1]) if isinstance(answer, tuple) else (answer, None)
