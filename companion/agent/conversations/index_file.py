"""The file that keeps the summaries of conversations over a restart. It is a cache on a local disk:
all of it can be read from the transcripts again.

The first line is `{"index": VERSION, "of": FOLDER}`. Each further one has the size and the time of
a transcript, its id, a tab, and the summary that was read from it, as JSON. The last line is
`{"sum": N}`, the checksum of all bytes before it.
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
from ..turn_events import Usage
from .conversation_state import ConversationState
from .transcript_reader import DAMAGED, ConversationSummary
from .transcripts import Stat

VERSION = 1
NAME = "conversations"


class IndexRow(NamedTuple):
    """What was read from a transcript that had this size and time: a summary as it is written."""

    stat: Stat
    text: bytes

    @classmethod
    def from_summary(cls, summary: ConversationSummary, stat: Stat) -> IndexRow:
        return cls(stat, _json_line(_summary_values(summary)))

    @property
    def summary(self) -> ConversationSummary:
        """Raises one of DAMAGED."""
        return _parse_summary(json.loads(self.text.decode("utf-8")))


class IndexFile:
    """`folder` is for this file alone and is created when it is written; `of` is the folder of the
    transcripts. All methods block."""

    def __init__(self, folder: str, of: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, NAME)
        self._head = _json_line({"index": VERSION, "of": os.path.realpath(of)})

    def read_rows(self) -> dict[str, IndexRow]:
        """What was written last, by ids; nothing if that is missing, damaged, of another version or
        of other transcripts."""
        try:
            with open(self._path, "rb") as file:
                return dict(self._parse_rows(file))
        except FileNotFoundError:
            return {}
        except (OSError, *DAMAGED) as error:
            logger.info("the list of conversations is made anew: %s", error)
            return {}

    def write_rows(self, rows: Iterable[tuple[str, IndexRow]]) -> None:
        """Raises OSError, NotPrivate."""
        private_files.make_parents(self._folder)
        private_files.make_folder(self._folder)
        private_files.sweep_folder(self._folder)
        private_files.write_pieces(self._path, self._file_lines(rows))

    def _file_lines(self, rows: Iterable[tuple[str, IndexRow]]) -> Iterator[bytes]:
        checksum = zlib.crc32(self._head)
        yield self._head
        for id, row in rows:
            line = b"%d %d %b\t%b" % (*row.stat, os.fsencode(id), row.text)
            checksum = zlib.crc32(line, checksum)
            yield line
        yield _json_line({"sum": checksum})

    def _parse_rows(self, file: IO[bytes]) -> Iterator[tuple[str, IndexRow]]:
        """Raises one of DAMAGED, perhaps only after the last row. Parses as little as possible,
        because a server waits for it."""
        if file.readline() != self._head:
            raise ValueError("it is of another version or folder")
        checksum, last = zlib.crc32(self._head), b""
        for line in file:
            if last:
                before, _, text = last.partition(b"\t")
                size, changed, id = before.split(b" ", 2)
                yield os.fsdecode(id), IndexRow((int(size), int(changed)), text)
                checksum = zlib.crc32(last, checksum)
            last = line
        if json.loads(last)["sum"] != checksum:
            raise ValueError("it is damaged")


def _summary_values(summary: ConversationSummary) -> list[Any]:
    by_model = None if summary.usage.by_model is None else dict(summary.usage.by_model)
    return [
        summary.id,
        summary.workspace,
        summary.created.isoformat(),
        summary.last_used.isoformat(),
        summary.title,
        summary.turns,
        [summary.usage.input_tokens, summary.usage.output_tokens, by_model],
        summary.state.changes_since(ConversationState()),
        sorted(summary.unfinished),
    ]


def _parse_summary(values: Any) -> ConversationSummary:
    """Raises one of DAMAGED."""
    id, workspace, created, last_used, title, turns, usage, changes, unfinished = values
    return ConversationSummary(
        str(id),
        sys.intern(workspace),
        datetime.fromisoformat(created),
        datetime.fromisoformat(last_used),
        str(title),
        int(turns),
        Usage(usage[0], usage[1], _by_model(usage[2])),
        ConversationState.from_changes({name: sys.intern(changes[name]) for name in changes}),
        frozenset(unfinished),
    )


def _by_model(told: Mapping[str, Any] | None) -> Mapping[str, tuple[int, int]] | None:
    return told and {sys.intern(name): (told[name][0], told[name][1]) for name in told}


def _json_line(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"
