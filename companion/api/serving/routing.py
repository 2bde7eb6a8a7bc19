"""Finds the route of a request by its method and path."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Iterable, Mapping

from ..contract.refusal import METHOD_NOT_ALLOWED, NOT_FOUND, Refusal
from ..contract.route import Route
from ..handlers.handler_types import Handler
from ..operations.metrics import OTHER


class Table:
    """All routes of a server, those of the web page's files included."""

    def __init__(self, routes: Iterable[Route[Handler]]) -> None:
        self._plain: dict[str, dict[str, Route[Handler]]] = {}
        self._patterns: list[tuple[list[str], Route[Handler]]] = []
        for route in routes:
            if "{" in route.path:
                self._patterns.append((route.path.split("/"), route))
            else:
                self._plain.setdefault(route.path, {})[route.method] = route

    def is_open(self, method: str, path: str) -> bool:
        """Whether the route needs no token."""
        known = self._plain.get(path, {}).get(_read_as(method))
        return known is not None and known.is_open

    def find(self, method: str, path: str) -> tuple[Route[Handler], Mapping[str, str]]:
        """The route, and the fields in its path. HEAD counts as GET. Raises Refusal."""
        method = _read_as(method)
        known = self._plain.get(path)
        if known is not None:
            if method not in known:
                raise _wrong_method(known)
            return known[method], {}
        fitting = [
            (route, fields)
            for pattern, route in self._patterns
            for fields in [_matched(pattern, _parts(path, pattern, route))]
            if fields is not None
        ]
        for route, fields in fitting:
            if method == route.method:
                return route, fields
        if fitting:
            raise _wrong_method([route.method for route, _fields in fitting])
        raise Refusal(NOT_FOUND, path=path[:200])

    def name_of(self, method: str, path: str) -> tuple[str, str]:
        """Method and path of the request's route as in the table; OTHER for both if there is
        none."""
        with suppress(Refusal):
            route = self.find(method, path)[0]
            return route.method, route.path
        return OTHER, OTHER

    def allowed(self, path: str) -> str:
        """The methods of a path, for the header Allow."""
        known = list(self._plain.get(path, {}))
        known += [
            route.method
            for pattern, route in self._patterns
            if _matched(pattern, _parts(path, pattern, route)) is not None
        ]
        return ", ".join([*known, "OPTIONS"])


def _read_as(method: str) -> str:
    return "GET" if method == "HEAD" else method


def _wrong_method(known: Any) -> Refusal:
    return Refusal(METHOD_NOT_ALLOWED, allowed=", ".join([*known, "OPTIONS"]))


def _parts(path: str, pattern: list[str], route: Route[Handler]) -> list[str]:
    # The ids of some models have slashes.
    return path.split("/", len(pattern) - 1) if route.is_openai else path.split("/")


def _matched(pattern: list[str], parts: list[str]) -> dict[str, str] | None:
    if len(pattern) != len(parts):
        return None
    pairs = list(zip(pattern, parts))
    if any(known != given for known, given in pairs if not known.startswith("{")):
        return None
    return {known[1:-1]: given for known, given in pairs if known.startswith("{")}
