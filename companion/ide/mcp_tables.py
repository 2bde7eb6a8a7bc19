"""The Model Context Protocol's methods and tools as tables, whatever they do. Knows no HTTP.

The work of a row gets the `caller` that its server hands along: of type C here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from typing import (
    TYPE_CHECKING,
    Any,
    Awaitable,
    Callable,
    Generic,
    Iterable,
    Mapping,
    Sequence,
    TypeVar,
)

from ..base.jsonrpc import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Id,
    Message,
    Notification,
    Request,
    RpcError,
    encode_json,
    encode_result,
    kind_of_value,
)
from ..base.large_json import TruncatedString
from ..base.log import logger
from .editor import EditorError

if TYPE_CHECKING:
    from .schema_check import ValidationError
elif find_spec("jsonschema") is None and find_spec(f"{__name__.rsplit('.', 3)[0]}.carried") is None:
    # jsonschema is imported when it is first needed. The start reports both that it is missing and
    # that the package does not carry it.
    raise ModuleNotFoundError("No module named 'jsonschema'", name="jsonschema")

C = TypeVar("C")
# Gives the result of a request as JSON, made from its params; raises RpcError.
Method = Callable[[Mapping[str, Any], C], Awaitable[bytes]]

EMPTY = encode_json({})


@dataclass(frozen=True)
class Tool(Generic[C]):
    """One row of `tools/list`, with the function that runs it: `run(caller, arguments)` gives the
    result as JSON, or raises EditorError. If it is `read_only`, the listing says so."""

    name: str
    description: str
    schema: Mapping[str, Any]
    run: Callable[[C, Mapping[str, Any]], Awaitable[bytes]]
    read_only: bool = False

    def listing(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.schema,
            **({"annotations": {"readOnlyHint": True}} if self.read_only else {}),
        }


def text_content(text: str) -> list[dict[str, Any]]:
    """The content of a result that is one text."""
    return [{"type": "text", "text": text}]


def tool_error(sentence: str) -> bytes:
    return encode_json({"content": text_content(sentence), "isError": True})


def absolute_path(name: str, sent: str, path: str) -> str:
    """`path`, the editor's, if it is that of a file; `sent` is what the client sent as `name`.
    Raises EditorError."""
    if isinstance(sent, TruncatedString):
        raise EditorError(f"Expected {name} to be a path; got {len(sent)} characters and more.")
    if "\0" in sent or not os.path.isabs(path):
        raise EditorError(f"Expected {name} to be the absolute path of a file; got {sent!r}.")
    return path


def object_of(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    """The schema of a tool's arguments."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


class ToolTable(Generic[C]):
    """The tools of one server. If `errors_are_results` says so of the caller, bad arguments are an
    error of the tool, which the model reads, and not of the protocol."""

    def __init__(
        self,
        tools: Sequence[Tool[C]],
        errors_are_results: Callable[[C], bool] = lambda caller: True,
    ) -> None:
        self._tools = {tool.name: (tool, Arguments(tool.schema)) for tool in tools}
        self._errors_are_results = errors_are_results
        self.listing = encode_json({"tools": [tool.listing() for tool in tools]})

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._tools

    def unknown_tool(self, name: object) -> RpcError:
        sentence = "Expected one of the tools {}; got {!r}.".format(", ".join(self._tools), name)
        return RpcError(INVALID_PARAMS, sentence)

    async def call_tool(self, params: Mapping[str, Any], caller: C) -> bytes:
        """The result of `tools/call`. Raises RpcError."""
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str) or name not in self._tools:
            raise self.unknown_tool(name)
        tool, expected = self._tools[name]
        problem = expected.problem(arguments)
        if problem is not None:
            sentence = f"{tool.name}: {_describe_problem(problem)}."
            if self._errors_are_results(caller):
                return tool_error(sentence)
            raise RpcError(INVALID_PARAMS, sentence)
        try:
            return await tool.run(caller, arguments)
        except EditorError as error:
            return tool_error(str(error))


# The types of JSON Schema as the JSON parser returns them; jsonschema checks all others.
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str, TruncatedString),
    "boolean": (bool,),
    "integer": (int,),
}
# The keywords of a property that `Arguments` checks, or that need no check.
_KEYWORDS = {"type", "minLength", "minimum", "description"}


class Arguments:
    """Checks the arguments of one tool against its schema. jsonschema is by far the slowest part of
    a call and needs a tenth of the package's memory, so it gets only what fails a plain check."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._required = frozenset(schema["required"])
        self._properties = {
            name: (_TYPES[rules["type"]], rules.get("minLength", 0), rules.get("minimum"))
            for name, rules in schema["properties"].items()
            if _KEYWORDS.issuperset(rules) and rules["type"] in _TYPES
        }

    def problem(self, arguments: Any) -> ValidationError | None:
        if self._are_plainly_good(arguments):
            return None
        from . import schema_check

        return schema_check.find_problem(self._schema, arguments)

    def _are_plainly_good(self, arguments: Any) -> bool:
        if type(arguments) is not dict or not self._required.issubset(arguments):
            return False
        for name, value in arguments.items():
            types, shortest, least = self._properties.get(name, ((), 0, None))
            if type(value) not in types or (shortest and len(value) < shortest):
                return False
            if least is not None and value < least:
                return False
        return True


def _describe_problem(problem: ValidationError) -> str:
    where = ".".join(["arguments"] + [str(part) for part in problem.absolute_path])
    if str(problem.validator) == "type":
        # The library's sentence would contain the value, which may be the text of a file.
        expected = problem.validator_value
        return f"expected {where} to be of type {expected}; got {kind_of_value(problem.instance)}"
    return f"{where}: {problem.message}"


async def answer_message(
    message: Message, methods: Mapping[str, Method[C]], caller: C
) -> bytes | None:
    """The bytes that answer the message, or None if it needs no answer."""
    if isinstance(message, Request):
        try:
            method = methods.get(message.method)
            if method is None:
                raise unknown_method(message.method, methods)
            return encode_result(message.id, await method(message.params, caller))
        except RpcError as error:
            return RpcError(error.code, error.message, message.id).encode()
    if isinstance(message, Notification):
        logger.debug("%s", message.method)
    return None


def unknown_method(name: str, methods: Iterable[str], id: Id | None = None) -> RpcError:
    sentence = "Expected one of the methods {}; got {!r}.".format(", ".join(methods), name)
    return RpcError(METHOD_NOT_FOUND, sentence, id)


async def answer_ping(params: Mapping[str, Any], caller: object) -> bytes:
    return EMPTY
