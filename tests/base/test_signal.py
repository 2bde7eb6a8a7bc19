"""What happens to one object is told to whoever has subscribed."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.base.signal import Signal, ValueSignal


class Signals(unittest.TestCase):
    def test_each_listener_is_called_in_the_order_of_the_subscriptions(self) -> None:
        calls: list[str] = []
        signal = Signal()
        signal.subscribe(lambda: calls.append("first"))
        signal.subscribe(lambda: calls.append("second"))
        signal.emit()
        self.assertEqual(calls, ["first", "second"])

    def test_without_listeners_nothing_happens(self) -> None:
        Signal().emit()
        ValueSignal[int]().emit(1)

    def test_a_listener_gets_the_value(self) -> None:
        values: list[int] = []
        signal = ValueSignal[int]()
        signal.subscribe(values.append)
        signal.emit(1)
        signal.emit(2)
        self.assertEqual(values, [1, 2])

    def test_one_that_ends_its_subscription_while_it_is_called_leaves_the_others(self) -> None:
        calls: list[str] = []
        signal = Signal()

        def end_at_once() -> None:
            calls.append("once")
            end()

        end = signal.subscribe(end_at_once)
        signal.subscribe(lambda: calls.append("always"))
        signal.emit()
        signal.emit()
        self.assertEqual(calls, ["once", "always", "always"])
