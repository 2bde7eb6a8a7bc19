"""Settings in layers: own values over those of parents, with callbacks upon any change."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple
from weakref import WeakSet, WeakValueDictionary

from .values import Value, copy_value

Notify = Callable[[Callable[[], None]], None]
_MISSING = object()


class Settings:
    """One settings object; `parents` are asked in order for keys it does not hold itself.

    Callbacks are handed to `notify`, which runs them on the UI thread.
    """

    _ids = itertools.count(1)
    by_id: "WeakValueDictionary[int, Settings]" = WeakValueDictionary()

    def __init__(self, notify: Notify, *parents: "Settings") -> None:
        self.id = next(self._ids)
        self.own: Dict[str, Value] = {}
        self._notify = notify
        self._parents: Tuple[Settings, ...] = ()
        self._children: "WeakSet[Settings]" = WeakSet()
        self._callbacks: List[Tuple[str, Callable[[], None]]] = []
        self.listener: Optional[Callable[[], None]] = None
        self.set_parents(*parents)
        Settings.by_id[self.id] = self

    def set_parents(self, *parents: "Settings") -> None:
        for parent in self._parents:
            parent._children.discard(self)
        self._parents = parents
        for parent in parents:
            parent._children.add(self)

    def unsubscribe(self) -> None:
        """Hear of no change in the parents any more; their values are found as before."""
        for parent in self._parents:
            parent._children.discard(self)

    def get(self, key: str, default: Any = None) -> Any:
        value = self._find(key)
        return default if value is _MISSING else copy_value(value)

    def has(self, key: str) -> bool:
        return self._find(key) is not _MISSING

    def _find(self, key: str) -> Any:
        if key in self.own:
            return self.own[key]
        for parent in self._parents:
            value = parent._find(key)
            if value is not _MISSING:
                return value
        return _MISSING

    def set(self, key: str, value: Any) -> None:
        """Raises TypeError where value is not JSON."""
        if not isinstance(key, str):
            raise TypeError("expected a str as key, got %s" % type(key).__name__)
        value = copy_value(value)
        before = self._find(key)
        self.own[key] = value
        if before is _MISSING or type(before) is not type(value) or before != value:
            self.changed()

    def erase(self, key: str) -> None:
        if self.own.pop(key, _MISSING) is not _MISSING:
            self.changed()

    def replace(self, values: Dict[str, Any]) -> None:
        """Hold these values and no others."""
        fresh = {key: copy_value(value) for key, value in values.items()}
        if fresh != self.own:
            self.own = fresh
            self.changed()

    def to_dict(self) -> Dict[str, Any]:
        merged: Dict[str, Any] = {}
        for parent in reversed(self._parents):
            merged.update(parent.to_dict())
        merged.update({key: copy_value(value) for key, value in self.own.items()})
        return merged

    def add_on_change(self, tag: str, callback: Callable[[], None]) -> None:
        self._callbacks.append((tag, callback))

    def clear_on_change(self, tag: str) -> None:
        self._callbacks = [entry for entry in self._callbacks if entry[0] != tag]

    def changed(self) -> None:
        """Tell all who listen, here and in the layers above; nobody hears it twice."""
        for settings in list(self._above(set())):
            if settings.listener is not None:
                settings._notify(settings.listener)
            for _tag, callback in list(settings._callbacks):
                settings._notify(callback)

    def _above(self, seen: Set[int]) -> Iterator["Settings"]:
        if self.id not in seen:
            seen.add(self.id)
            yield self
            for child in list(self._children):
                yield from child._above(seen)
