"""The five CLIs of the soak: `python -m bench.soak_clients FOLDER`, with a terminal's variables.

Prints "pair SECONDS" for each openDiff with its closeDiff, and "decision SECONDS" for each decision
that came, by the moment that the editor wrote into the text. Ends with its standard input.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Callable

from tests.fake_cli import FakeCli

# Seconds between what a CLI does.
PAUSE = 0.02
# Seconds for what is sure to come.
PATIENCE = 20.0
TEXT = "def add(a, b): return a + b  # a line of an ordinary file\n" * 200


def connect_cli() -> FakeCli:
    cli = FakeCli(os.environ)
    wait_until(cli.connected)
    return cli


def wait_until(condition: Callable[[], object]) -> None:
    pause = threading.Event()
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        pause.wait(0.001)


def say_seconds(what: str, seconds: float) -> None:
    sys.stdout.write(f"{what} {seconds:.6f}\n")
    sys.stdout.flush()


def pairs(folder: str) -> None:
    cli, path = connect_cli(), os.path.join(folder, "pair.py")
    while True:
        began = time.monotonic()
        cli.call("openDiff", filePath=path, newContent=TEXT).result(PATIENCE)
        cli.call("closeDiff", filePath=path).result(PATIENCE)
        say_seconds("pair", time.monotonic() - began)
        time.sleep(PAUSE)


def decisions(folder: str) -> None:
    cli, path = connect_cli(), os.path.join(folder, "decision.py")
    while True:
        cli.notifications.clear()
        cli.call("openDiff", filePath=path, newContent=TEXT).result(PATIENCE)
        wait_until(lambda: cli.received("ide/diffAccepted") or cli.received("ide/diffRejected"))
        now = time.monotonic()
        for params in cli.received("ide/diffAccepted"):
            with open(path, "w") as file:
                file.write(params["content"])
            stamp = params["content"].rpartition("# ")[2]
            # Without one, the user meant another diff, and this one came before it.
            if stamp.replace(".", "").isdigit():
                say_seconds("decision", now - float(stamp))


def slow(folder: str) -> None:
    """Reads its stream a little at a time."""
    while True:
        cli = connect_cli()
        stream = cli._stream
        if stream is not None and stream.sock is not None:
            stream.sock.settimeout(None)
        time.sleep(5)
        cli.close()


def unsteady(folder: str) -> None:
    """Loses its stream and comes back, with a diff open."""
    cli, path = connect_cli(), os.path.join(folder, "unsteady.py")
    while True:
        cli.call("openDiff", filePath=path, newContent=TEXT).result(PATIENCE)
        for _ in range(5):
            stream = cli._stream
            if stream is not None and stream.sock is not None:
                stream.sock.shutdown(2)
            wait_until(cli.stream_ended.is_set)
            time.sleep(PAUSE)
            cli.notifications.clear()
            cli.resume()
            wait_until(cli.connected)


def vanishing(folder: str) -> None:
    """Leaves a diff behind each time."""
    path = os.path.join(folder, "vanishing.py")
    while True:
        cli = connect_cli()
        cli.call("openDiff", filePath=path, newContent=TEXT).result(PATIENCE)
        cli.close()
        time.sleep(0.5)


def main(folder: str) -> None:
    for kind in (pairs, decisions, slow, unsteady, vanishing):
        threading.Thread(target=kind, args=(folder,), daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
