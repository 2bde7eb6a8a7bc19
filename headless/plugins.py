"""Plugins: root modules imported, their classes registered, loaded and unloaded as Sublime does."""

from __future__ import annotations

import importlib
import sys
import traceback
import zipimport
from typing import Any, Callable, Dict, List, Optional, Type

from .commands import APPLICATION, TEXT, WINDOW
from .events import LISTENER_EVENTS, TEXT_EVENTS, VIEW_LISTENER_EVENTS
from .files import Stamp
from .packages import Package


class Plugins:
    """The loaded root modules of all packages, and which classes each of them brought."""

    def __init__(self, editor: Any) -> None:
        self.editor = editor
        self.ready = False
        self._waiting: List[str] = []
        self._classes: Dict[str, List[Type[Any]]] = {}
        self._wanted: Dict[str, Package] = {}
        # The files of root modules as they were when they were loaded.
        self._seen: Dict[str, Dict[str, Stamp]] = {}

    # Loading

    def start(self) -> None:
        """Import and register every package; `plugin_loaded` waits for `open_api`."""
        sys.meta_path.insert(0, self.editor.packages.finder)
        preferences = self.editor.preferences()
        preferences.add_on_change("plugins", lambda: self.editor.queues.ui.post(self.follow))
        self.follow()

    def follow(self) -> None:
        """Load what came or is ignored no longer, unload what went or is ignored now."""
        ignored = self.editor.preferences().get("ignored_packages", [])
        present = self.editor.packages.ordered()
        wanted = {package.name: package for package in present if package.name not in ignored}
        before, self._wanted = self._wanted, wanted
        for name in [name for name in reversed(list(before)) if name not in wanted]:
            self.unload(before[name])
        for name in [name for name in wanted if name not in before]:
            self.load(wanted[name])

    def are_edited(self) -> bool:
        """Whether a root module of a loaded package was written, came or went."""
        return any(
            package.plugin_stamps() != self._seen.get(name, {})
            for name, package in list(self._wanted.items())
        )

    def reload_edited(self) -> None:
        """Load the root modules that were written or came, unload those that went."""
        for name, package in list(self._wanted.items()):
            before, now = self._seen.get(name, {}), package.plugin_stamps()
            self._seen[name] = now
            for stem in sorted(stem for stem in before if stem not in now):
                self.unload_plugin("%s.%s" % (name, stem))
            for stem in sorted(stem for stem in now if now[stem] != before.get(stem)):
                importlib.invalidate_caches()
                self.reload_plugin("%s.%s" % (name, stem))

    def load(self, package: Package) -> None:
        self._seen[package.name] = package.plugin_stamps()
        # The modules of an archive that was replaced stand elsewhere in it. Forgotten first, it is
        # not read anew on this thread.
        for cache in (sys.path_importer_cache, getattr(zipimport, "_zip_directory_cache", {})):
            for place in [place for place in cache if place.startswith(package.archive or "\0")]:
                del cache[place]
        importlib.invalidate_caches()
        for name in package.plugin_names():
            self._load_module(package, "%s.%s" % (package.name, name))

    def _load_module(self, package: Package, name: str) -> None:
        print("reloading plugin %s" % name)
        try:
            module = importlib.import_module(name)
        except Exception:  # the boundary of plugin code: one plugin never stops the next
            traceback.print_exc()
            sys.modules.pop(name, None)
            return
        package.modules.append(name)
        self._bring(name, module)

    def _bring(self, name: str, module: Any) -> None:
        """Register a module's classes, then let it know that it is loaded."""
        try:
            self._register(module)
        except Exception:  # a handler that is inherited, or a constructor that raises
            traceback.print_exc()
            return
        self.editor.commands.forget_instances()
        if not self.ready:
            self._waiting.append(name)
            return
        self._call(name, "plugin_loaded")
        self._attach_all()
        self._init(name)

    def open_api(self) -> None:
        """The API is ready: plugin_loaded for all, listeners for all views, then on_init."""
        self.ready = self.editor.events.ready = True
        waiting, self._waiting = self._waiting, []
        for name in waiting:
            self._call(name, "plugin_loaded")
        self._attach_all()
        self.editor.queues.ui.post(lambda: self._init(None))

    def _attach_all(self) -> None:
        self.editor.events.check_views()
        for buffer in list(self.editor.buffers.values()):
            self.editor.events.check_buffer(buffer)

    def _init(self, module: Optional[str]) -> None:
        """Later loads reach only the listeners whose class stands in the root module itself."""
        editor = self.editor
        views = [editor.api.View(view.id) for view in editor.all_views() if not view.buffer.loading]

        def wanted(listener: Any) -> bool:
            return module is None or type(listener).__module__ == module

        editor.events.tell(filter(wanted, editor.events.listeners), "on_init", views)
        for listeners in list(editor.events.view_listeners.values()):
            editor.events.tell(filter(wanted, listeners), "on_init")
        self._activate(wanted)

    def _activate(self, wanted: Callable[[Any], bool]) -> None:
        """Tell the fresh listeners which view is active already."""
        events, window = self.editor.events, self.editor.active_window
        view = window.active_view() if window is not None else None
        if view is None:
            return
        listeners = [each for each in events.listeners if wanted(each)]
        own = [each for each in events.view_listeners.get(view.id, ()) if wanted(each)]

        def tell(name: str) -> None:
            events.tell(listeners, name, self.editor.api.View(view.id))
            events.tell(own, name)

        tell("on_activated")
        self.editor.queues.worker.post(lambda: tell("on_activated_async"))

    def _call(self, name: str, function: str) -> None:
        handler = getattr(sys.modules.get(name), function, None)
        if handler is None:
            return
        try:
            handler()
        except Exception:  # the boundary of plugin code
            traceback.print_exc()

    # Registering

    def _register(self, module: Any) -> None:
        names = getattr(module, "__all__", None)
        if names is None:
            names = [name for name in dir(module) if not name.startswith("_")]
        for name in sorted(names):
            candidate = getattr(module, name, None)
            if isinstance(candidate, type):
                self._register_class(module.__name__, candidate)

    def _register_class(self, module: str, cls: Type[Any]) -> None:
        plugin, events = self.editor.api.plugin, self.editor.events
        if cls.__module__ == plugin.__name__:
            return
        for base, kind in (
            (plugin.ApplicationCommand, APPLICATION),
            (plugin.WindowCommand, WINDOW),
            (plugin.TextCommand, TEXT),
        ):
            if issubclass(cls, base):
                self.editor.commands.add(kind, cls)
                self._classes.setdefault(module, []).append(cls)
        if issubclass(cls, plugin.EventListener):
            self._register_listener(module, cls)
        for base, names, known in (
            (plugin.ViewEventListener, VIEW_LISTENER_EVENTS, events.view_classes),
            (plugin.TextChangeListener, TEXT_EVENTS, events.text_classes),
        ):
            if issubclass(cls, base):
                _check_handlers(cls, names)
                known.append(cls)
                self._classes.setdefault(module, []).append(cls)

    def _register_listener(self, module: str, cls: Type[Any]) -> None:
        try:
            listener = cls()
        except AttributeError:
            # The genuine editor loses such a listener without a word.
            return
        _check_handlers(cls, LISTENER_EVENTS)
        self.editor.events.add(listener)
        self._classes.setdefault(module, []).append(cls)

    # Unloading

    def unload_all(self) -> None:
        for package in reversed(self.editor.packages.ordered()):
            self.unload(package)

    def unload(self, package: Package) -> None:
        """plugin_unloaded, then the classes go; submodules stay imported, as in Sublime."""
        for name in reversed(package.modules):
            self._call(name, "plugin_unloaded")
            self._forget(name)
            sys.modules.pop(name, None)
        package.modules = []

    def reload(self, package: Package) -> None:
        """What disabling and enabling a package does, as an upgrade would."""
        self.unload(package)
        self.editor.reload_settings()
        self.load(package)

    def unload_module(self, module: Any) -> None:
        """What `sublime_plugin.unload_module` does: the module stays imported."""
        self._call(module.__name__, "plugin_unloaded")
        self._forget(module.__name__)

    def load_module(self, module: Any) -> None:
        self._bring(module.__name__, module)

    def reload_plugin(self, name: str) -> None:
        """Load a root module ("Package.stem") or, where it is loaded, load it again."""
        package = self.editor.packages.by_name.get(name.split(".")[0])
        if package is None:
            raise ValueError("expected a module of a package that is there, got %r" % name)
        if name in sys.modules:
            self.resave(package, name.split(".", 1)[1])
        else:
            self._load_module(package, name)

    def unload_plugin(self, name: str) -> None:
        module = sys.modules.get(name)
        if module is not None:
            self.unload_module(module)
            del sys.modules[name]
            for package in self._wanted.values():
                package.modules = [each for each in package.modules if each != name]

    def resave(self, package: Package, stem: str) -> None:
        """What saving a root file does: the module runs again in the dictionary it has."""
        name = "%s.%s" % (package.name, stem)
        self._call(name, "plugin_unloaded")
        self._forget(name)
        print("reloading plugin %s" % name)
        try:
            module = importlib.reload(sys.modules[name])
        except Exception:  # the boundary of plugin code
            traceback.print_exc()
            return
        self._bring(name, module)

    def _forget(self, module: str) -> None:
        gone = self._classes.pop(module, [])
        events = self.editor.events
        events.drop(gone)
        for listeners in events.view_listeners.values():
            listeners[:] = [each for each in listeners if type(each) not in gone]
        for texts in list(events.text_listeners.values()):
            for listener in [each for each in texts if type(each) in gone]:
                listener.detach()
        events.view_classes[:] = [cls for cls in events.view_classes if cls not in gone]
        events.text_classes[:] = [cls for cls in events.text_classes if cls not in gone]
        self.editor.commands.remove(gone)


def _check_handlers(cls: Type[Any], names: Any) -> None:
    """A handler must stand in the class itself: an inherited one raises KeyError, as it does
    in the genuine editor, and ends the registration of its whole module."""
    for name in sorted(names):
        if name in dir(cls) and name not in vars(cls):
            raise KeyError(name)
