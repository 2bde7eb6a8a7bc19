"""The file that keeps the summaries of conversations over a restart. It is a cache on a local disk:
all of it can be read from the transcripts again.

The first line is `{"index": VERSION, "of": FOLDER}`, and each further one a summary with the size
and the time of the transcript that it was read from. The last line is `{"sum": N}`, the checksum of
all bytes before it.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from datetime import datetime
from typing import IO, Any, Iterable, Iterator, Mapping, NamedTuple

from ...base import private_files
from ...base.log import logger
from ..events.turn_events import Usage
from .conversation_state import ConversationState
from .transcript_reader import DAMAGED, Summary
from .transcripts import Stat

VERSION = 1
NAME = "conversations"


class Row(NamedTuple):
    summary: Summary
    stat: Stat


class IndexFile:
    """`folder` is for this file alone and is created when it is written; `of` is the folder of the
    transcripts. All methods block."""

    def __init__(self, folder: str, of: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, NAME)
        self._head = _line({"index": VERSION, "of": os.path.realpath(of)})

    def read(self) -> list[Row]:
        """What was written last; nothing if that is missing, damaged, of another version or of
        other transcripts."""
        try:
            with open(self._path, "rb") as file:
                return list(self._rows(file))
        except FileNotFoundError:
            return []
        except (OSError, *DAMAGED) as error:
            logger.info("the list of conversations is made anew: %s", error)
            return []

    def write(self, rows: Iterable[Row]) -> None:
        """Raises OSError, NotPrivate."""
        private_files.make_parents(self._folder)
        private_files.make_folder(self._folder)
        private_files.sweep(self._folder)
        private_files.write_pieces(self._path, self._lines(rows))

    def _lines(self, rows: Iterable[Row]) -> Iterator[bytes]:
        checksum = zlib.crc32(self._head)
        yield self._head
        # One at a time, so that other threads get their turn.
        for row in rows:
            line = _line(_values(row))
            checksum = zlib.crc32(line, checksum)
            yield line
        yield _line({"sum": checksum})

    def _rows(self, file: IO[bytes]) -> Iterator[Row]:
        """Raises one of DAMAGED, perhaps only after the last row."""
        if file.readline() != self._head:
            raise ValueError("it is of another version or folder")
        checksum, last = zlib.crc32(self._head), b""
        for line in file:
            if last:
                yield _row(json.loads(last))
                checksum = zlib.crc32(last, checksum)
            last = line
        if json.loads(last)["sum"] != checksum:
            raise ValueError("it is damaged")


def _values(row: Row) -> list[Any]:
    it, usage = row.summary, row.summary.usage
    by_model = None if usage.by_model is None else dict(usage.by_model)
    return [
        it.id,
        it.workspace,
        it.created.isoformat(),
        it.last_used.isoformat(),
        it.title,
        it.turns,
        [usage.input_tokens, usage.output_tokens, by_model],
        it.state.changes_since(ConversationState()),
        sorted(it.unfinished),
        list(row.stat),
    ]


def _row(values: Any) -> Row:
    """Raises one of DAMAGED."""
    id, workspace, created, last_used, title, turns, usage, changes, unfinished, stat = values
    state = ConversationState.of({name: sys.intern(changes[name]) for name in changes})
    summary = Summary(
        str(id),
        sys.intern(workspace),
        datetime.fromisoformat(created),
        datetime.fromisoformat(last_used),
        str(title),
        int(turns),
        Usage(usage[0], usage[1], _by_model(usage[2])),
        state,
        frozenset(unfinished),
    )
    return Row(summary, (int(stat[0]), int(stat[1])))


def _by_model(told: Mapping[str, Any] | None) -> Mapping[str, tuple[int, int]] | None:
    return told and {sys.intern(name): (told[name][0], told[name][1]) for name in told}


def _line(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"
