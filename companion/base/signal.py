"""What happens to one object, told to others that subscribe to it: on the thread that emits it."""

from __future__ import annotations

from typing import Callable, Generic, TypeVar

T = TypeVar("T")


class Signal:
    """Something that happens, without a value."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], object]] = []

    def subscribe(self, listener: Callable[[], object]) -> Callable[[], None]:
        """The listener is called each time, in the order of the subscriptions. Gives what ends the
        subscription, for a listener that ends before the owner."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def emit(self) -> None:
        for listener in list(self._listeners):
            listener()


class ValueSignal(Generic[T]):
    """Something that happens, with a value that says what."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[T], object]] = []

    def subscribe(self, listener: Callable[[T], object]) -> Callable[[], None]:
        """The listener is called with each value, in the order of the subscriptions. Gives what
        ends the subscription, for a listener that ends before the owner."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def emit(self, value: T) -> None:
        for listener in list(self._listeners):
            listener(value)
