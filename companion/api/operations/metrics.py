"""Metrics for Prometheus, by its own library, if that is installed."""

from __future__ import annotations

from datetime import datetime
from typing import Callable, Iterator

from ...agent import turn_events as events
from ...agent.agent import Agent

try:
    import prometheus_client
    from prometheus_client import core

    IS_THERE = True
except ImportError:
    IS_THERE = False

# Upper bounds of the histogram in seconds: a turn may take as little as a request, or an hour.
SECONDS = (0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
# The label of paths that are not routes, so that clients cannot create labels.
OTHER = "other"


class _Present:
    """Metrics whose values are read when Prometheus asks, in the form that the library wants."""

    def __init__(self, collect: Callable[[], Iterator[core.Metric]]) -> None:
        self.collect = collect


class Metrics:
    """Create it only if IS_THERE. `open_streams` gives the number of open streams."""

    def __init__(self, agent: Agent, open_streams: Callable[[], int]) -> None:
        self._agent = agent
        self._open_streams = open_streams
        # When each running turn began, by its id.
        self._begun: dict[str, datetime] = {}
        self._registry = prometheus_client.CollectorRegistry()
        prometheus_client.ProcessCollector(registry=self._registry)
        self._registry.register(_Present(self._present_gauges))
        self._requests = prometheus_client.Counter(
            "gemini_api_requests",
            "Requests by method, route and status.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._turns = prometheus_client.Counter(
            "gemini_api_turns",
            "Turns that are over, by their reason or the code of their error.",
            ["outcome"],
            registry=self._registry,
        )
        self._seconds = prometheus_client.Histogram(
            "gemini_api_turn_seconds",
            "How long turns took.",
            buckets=SECONDS,
            registry=self._registry,
        )
        self._tokens = prometheus_client.Counter(
            "gemini_api_tokens",
            "Tokens of turns that came to their end.",
            ["direction"],
            registry=self._registry,
        )

    async def follow_turns(self) -> None:
        """Count the turns of all conversations, until cancelled."""
        while True:
            # The feed ends if it cannot remember an event that is too large; then a new one is
            # started.
            coming = self._agent.feed.follow_events(None, None)
            try:
                async for event in coming:
                    self._count_event(event)
            finally:
                await coming.aclose()

    def count_answer(self, method: str, route: str, status: int) -> None:
        """Count an answered request. `route` is the path as in the table of routes."""
        self._requests.labels(method, route, str(status)).inc()

    def metrics_text(self) -> bytes:
        return prometheus_client.generate_latest(self._registry)

    @property
    def content_type(self) -> str:
        return prometheus_client.CONTENT_TYPE_LATEST

    def _count_event(self, event: events.TurnEvent) -> None:
        body = event.body
        if isinstance(body, events.Message):
            self._begun[event.turn_id] = event.time
        elif isinstance(body, events.Complete):
            self._count_turn(event, body.reason)
            self._tokens.labels("input").inc(body.usage.input_tokens)
            self._tokens.labels("output").inc(body.usage.output_tokens)
        elif isinstance(body, events.Error):
            self._count_turn(event, body.code)

    def _count_turn(self, event: events.TurnEvent, outcome: str) -> None:
        self._turns.labels(outcome).inc()
        begun = self._begun.pop(event.turn_id, event.time)
        self._seconds.observe((event.time - begun).total_seconds())

    def _present_gauges(self) -> Iterator[core.Metric]:
        agent = self._agent
        gauges = {
            "gemini_api_open_streams": ("Streams that are open.", self._open_streams()),
            "gemini_api_waiting_decisions": (
                "Calls of tools that wait for somebody to decide.",
                len(agent.turns.confirmations),
            ),
        }
        for name, (words, value) in gauges.items():
            yield core.GaugeMetricFamily(name, words, value)
        labels = ["agent"]
        running = core.GaugeMetricFamily("gemini_cli_running", "Processes that run.", labels=labels)
        memory = core.GaugeMetricFamily("gemini_cli_memory_bytes", "Their memory.", labels=labels)
        starts = core.CounterMetricFamily("gemini_cli_starts", "Their starts.", labels=labels)
        for each in agent.backends.agent_infos():
            running.add_metric([each.id], len(each.processes))
            memory.add_metric([each.id], sum(process.memory for process in each.processes))
            starts.add_metric([each.id], each.starts)
        yield from (running, memory, starts)
