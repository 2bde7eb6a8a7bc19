"""An agent of the chat's measurements: it speaks the Agent Client Protocol and answers with as many
pieces as it is asked for.

The message is `COUNT SIZE RATE`: so many pieces of so many characters each, so many in a second, as
fast as it can with a rate of 0. Any other message is answered with one piece.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any, Dict, Iterator

# A piece of a sentence, with a line end after some of them.
WORDS = "and the next word of an answer that goes on and on for as long as somebody wants "
LINE_EVERY = 12


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "method" in message and "id" in message:
            _send_message(
                id=message["id"], result=_make_result(message["method"], message.get("params", {}))
            )


def _make_result(method: str, params: Dict[str, Any]) -> Dict[str, Any]:
    if method == "initialize":
        return {"protocolVersion": 1, "agentCapabilities": {}}
    if method == "session/new":
        return {"sessionId": "the-session-%d" % time.monotonic_ns()}
    if method == "session/prompt":
        _answer_message(
            params["sessionId"], "".join(block.get("text", "") for block in params["prompt"])
        )
        return {"stopReason": "end_turn"}
    return {}


def _answer_message(session: str, message: str) -> None:
    numbers = message.split()
    if len(numbers) != 3 or not all(word.isdigit() for word in numbers):
        _say_text(session, "An answer.")
        return
    count, size, rate = map(int, numbers)
    began = time.monotonic()
    for number, piece in enumerate(_make_pieces(count, size)):
        late = time.monotonic() - began - number / rate if rate else 0.0
        if late < 0:
            time.sleep(-late)
        _say_text(session, piece)


def _make_pieces(count: int, size: int) -> Iterator[str]:
    text = WORDS * (size // len(WORDS) + 2)
    for number in range(count):
        at = number % len(WORDS)
        end = "\n\n" if number % LINE_EVERY == LINE_EVERY - 1 else " "
        yield text[at : at + size - len(end)] + end


def _say_text(session: str, text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    _send_message(method="session/update", params={"sessionId": session, "update": update})


def _send_message(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
