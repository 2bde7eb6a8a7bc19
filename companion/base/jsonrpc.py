"""JSON-RPC 2.0 messages, from bytes to frozen values and back. Knows no method and no transport.

Source: the JSON-RPC 2.0 specification; MCP narrows it (an id is never null).
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii
from typing import Any, Mapping, NamedTuple, Union

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

# The most digits of an integer that is read: more than the largest double has, and few enough for
# Python's quadratic conversion to stay cheap (CPython limits it only from 3.11 on).
MAX_INTEGER_DIGITS = 320

TOO_DEEP = "Expected JSON that is nested less deeply."

Id = Union[str, int]


class RpcError(Exception):
    """A JSON-RPC error and its wire form.

    `code` is one of the constants above or of the protocol on top. `message` is a sentence that
    says what was expected and what came. `id` is that of the request, if it could be read. `data`
    is further information for programs.
    """

    def __init__(self, code: int, message: str, id: Id | None = None, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id
        self.data = data

    def encode(self) -> bytes:
        error = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return encode_json({"jsonrpc": "2.0", "id": self.id, "error": error})


class Request(NamedTuple):
    """A call that needs an answer. `params` is always an object (MCP has no positional ones)."""

    id: Id
    method: str
    params: Mapping[str, Any]


class Notification(NamedTuple):
    """A call that needs no answer."""

    method: str
    params: Mapping[str, Any]


class Response(NamedTuple):
    """An answer to a request of ours. It had exactly one of `result` and `error`."""

    id: Id | None
    result: Any = None
    error: Mapping[str, Any] | None = None


Message = Union[Request, Notification, Response]

# Made once, because `json.dumps` makes a new one for every call with options.
_encoder = json.JSONEncoder(separators=(",", ":"))


def encode_json(value: object) -> bytes:
    """JSON in UTF-8. Only ASCII is written: so even a lone surrogate from an editor's buffer
    reaches the other side unchanged; raw UTF-8 could not contain it."""
    return _encoder.encode(value).encode("ascii")


def quote_json(text: str) -> str:
    """The text as JSON in ASCII, as `encode_json` writes it, in a fifth of the time."""
    return encode_basestring_ascii(text)


def encode_result(id: Id, result: bytes) -> bytes:
    """The answer to a request. `result` is already JSON, because some results never change."""
    name = quote_json(id) if isinstance(id, str) else str(id)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (name.encode("ascii"), result)


def messages_in(value: Any) -> Message | list[Message | RpcError]:
    """The message or the batch in a JSON value.

    In a batch each bad member is replaced by the RpcError that answers it. Raises RpcError
    (INVALID_REQUEST) for a value that is neither.
    """
    if not isinstance(value, list):
        return message_in(value)
    if not value:
        raise RpcError(INVALID_REQUEST, "Expected at least one message in the batch; it is empty.")
    return [_message_or_error(member) for member in value]


def load_json(body: bytes) -> Any:
    """The value of JSON in UTF-8, with valid Unicode texts only. Raises RpcError (PARSE_ERROR)."""
    try:
        text = body.decode("utf-8")
        if text.startswith("\ufeff"):
            raise ValueError("it begins with a BOM, which JSON has not")
        value = _decode_json(text)
        # An escape can stand for half a surrogate pair, which is not valid Unicode text.
        if "\\u" in text and ("\\ud" in text or "\\uD" in text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise RpcError(
            PARSE_ERROR, f"Expected valid Unicode text in UTF-8; {error.reason}."
        ) from error
    except RecursionError:
        raise RpcError(PARSE_ERROR, TOO_DEEP) from None
    except ValueError as error:
        raise RpcError(PARSE_ERROR, f"Expected JSON; {error}.") from error
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _bounded_int(digits: str) -> int:
    if len(digits) > MAX_INTEGER_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits, more than {MAX_INTEGER_DIGITS}")
    return int(digits)


# Made once, because json.loads makes a new one for each call with parameters.
_decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_bounded_int)


def _decode_json(text: str) -> Any:
    """Raises ValueError."""
    if text.startswith("{") and text.endswith("}"):
        # Without blanks around it, which json would find with regular expressions.
        value, end = _decoder.raw_decode(text)
        if end == len(text):
            return value
    return _decoder.decode(text)


def _message_or_error(value: Any) -> Message | RpcError:
    try:
        return message_in(value)
    except RpcError as error:
        return error


def message_in(value: Any) -> Message:
    """The message in a JSON value. Raises RpcError."""
    if not isinstance(value, dict):
        raise RpcError(
            INVALID_REQUEST, f"Expected a JSON-RPC message object; got {kind_of_value(value)}."
        )
    id = _message_id(value)
    if value.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'Expected the member "jsonrpc" to be "2.0".', id)
    if "method" not in value:
        return _response_in(value, id)
    return _call_in(value, id)


def _call_in(value: dict[str, Any], id: Id | None) -> Message:
    method, params = value["method"], value.get("params", {})
    if not isinstance(method, str):
        raise RpcError(
            INVALID_REQUEST, f'Expected "method" to be a string; got {kind_of_value(method)}.', id
        )
    if not isinstance(params, dict):
        raise RpcError(
            INVALID_REQUEST, f'Expected "params" to be an object; got {kind_of_value(params)}.', id
        )
    if "id" not in value:
        return Notification(method, params)
    if id is None:
        raise RpcError(INVALID_REQUEST, 'Expected "id" to be a string or a number; got null.')
    return Request(id, method, params)


def _response_in(value: dict[str, Any], id: Id | None) -> Response:
    if ("result" in value) == ("error" in value):
        raise RpcError(
            INVALID_REQUEST, 'Expected one of "method", "result" and "error" in the message.', id
        )
    if "error" in value and not isinstance(value["error"], dict):
        raise RpcError(
            INVALID_REQUEST,
            'Expected "error" to be an object; got {}.'.format(kind_of_value(value["error"])),
            id,
        )
    return Response(id, value.get("result"), value.get("error"))


def _message_id(value: dict[str, Any]) -> Id | None:
    id = value.get("id")
    # In Python a bool is an int, in JSON it is not; a float id cannot be echoed exactly.
    if id is None or isinstance(id, str) or (isinstance(id, int) and not isinstance(id, bool)):
        return id
    raise RpcError(
        INVALID_REQUEST, f'Expected "id" to be a string or an integer; got {kind_of_value(id)}.'
    )


def kind_of_value(value: object) -> str:
    """The JSON name of a value's type, for a sentence: "an object", "null"."""
    if value is None:
        return "null"
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    return names.get(type(value), "a number")
