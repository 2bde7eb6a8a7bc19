"""Finds the route of a request by its method and path."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterable, Iterator, Mapping

from ..contract.refusal import METHOD_NOT_ALLOWED, NOT_FOUND, Refusal
from ..contract.route import Route
from ..handlers.handler_types import Handler
from ..operations.metrics import OTHER


@dataclass(frozen=True)
class RouteMatch:
    """The route that a request asks for, None if there is none, and the fields in its path."""

    route: Route[Handler] | None = None
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether the route needs no token."""
        return self.route is not None and self.route.is_open

    @property
    def name(self) -> tuple[str, str]:
        """Method and path of the route as in the table; OTHER for both if there is none."""
        return (OTHER, OTHER) if self.route is None else (self.route.method, self.route.path)


class Table:
    """All routes of a server, those of the web page's files included."""

    def __init__(self, routes: Iterable[Route[Handler]]) -> None:
        self._plain: dict[str, list[Route[Handler]]] = {}
        self._patterns: list[tuple[list[str], Route[Handler]]] = []
        for route in routes:
            if "{" in route.path:
                self._patterns.append((route.path.split("/"), route))
            else:
                self._plain.setdefault(route.path, []).append(route)

    def match_request(self, method: str, path: str) -> RouteMatch:
        """HEAD counts as GET."""
        method = "GET" if method == "HEAD" else method
        for route, fields in self._fitting_routes(path):
            if route.method == method:
                return RouteMatch(route, fields)
        return RouteMatch()

    def allowed_methods(self, path: str) -> str:
        """The methods of a path, for the header Allow; empty if there is no such path."""
        methods = [route.method for route, _fields in self._fitting_routes(path)]
        return ", ".join([*methods, "OPTIONS"]) if methods else ""

    def route_refusal(self, path: str) -> Refusal:
        """Why a request for this path has no route."""
        allowed = self.allowed_methods(path)
        if allowed:
            return Refusal(METHOD_NOT_ALLOWED, allowed=allowed)
        return Refusal(NOT_FOUND, path=path[:200])

    def _fitting_routes(self, path: str) -> Iterator[tuple[Route[Handler], Mapping[str, str]]]:
        """The routes of this path, for whichever method, each with the fields in the path."""
        if path in self._plain:
            for route in self._plain[path]:
                yield route, {}
            return
        for pattern, route in self._patterns:
            fields = _matched_fields(pattern, _path_parts(path, pattern, route))
            if fields is not None:
                yield route, fields


def _path_parts(path: str, pattern: list[str], route: Route[Handler]) -> list[str]:
    # The ids of some models have slashes.
    return path.split("/", len(pattern) - 1) if route.is_openai else path.split("/")


def _matched_fields(pattern: list[str], parts: list[str]) -> dict[str, str] | None:
    if len(pattern) != len(parts):
        return None
    pairs = list(zip(pattern, parts))
    if any(known != given for known, given in pairs if not known.startswith("{")):
        return None
    return {known[1:-1]: given for known, given in pairs if known.startswith("{")}
