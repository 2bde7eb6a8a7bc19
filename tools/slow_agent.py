"""An agent of the Agent Client Protocol that answers each message with numbered words, 30 a second.

python tools/slow_agent.py [WORDS]
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any, Dict

PAUSE = 1 / 30  # seconds between two words


def main(words: int = 900) -> None:
    """Serve on the standard streams until they end."""
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            _send_message({"id": number, "result": {"protocolVersion": 1, "agentCapabilities": {}}})
        elif method == "session/new":
            _send_message({"id": number, "result": {"sessionId": "slow"}})
        elif method == "session/prompt":
            _stream_words(words)
            _send_message({"id": number, "result": {"stopReason": "end_turn"}})
        elif number is not None and method:
            error = {"code": -32601, "message": f"No such method: {method}"}
            _send_message({"id": number, "error": error})


def _stream_words(words: int) -> None:
    for number in range(words):
        text = f"word {number} " if number % 8 else f"\n\nword {number} "
        update = {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": text},
        }
        _send_message(
            {"method": "session/update", "params": {"sessionId": "slow", "update": update}}
        )
        time.sleep(PAUSE)


def _send_message(message: Dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
