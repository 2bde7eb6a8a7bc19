"""Answers in gzip: who gets them, and what they are."""

from __future__ import annotations

import gzip
import os
import unittest

from GeminiCompanion.companion.base.compressed import LEAST, accepts_gzip, compress_answer

LONG = b"the same again and again " * 10_000


def pieces(data: bytes, size: int = 1 << 16) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


class Compressed(unittest.TestCase):
    def test_only_who_accepts_it_gets_it(self) -> None:
        for accepted in (
            "gzip", "GZip", "deflate, gzip;q=1.0", "br, gzip; q=0.5", "*", "identity, *;q=0.1",
        ):  # fmt: skip
            self.assertTrue(accepts_gzip(accepted), accepted)
        for refused in (
            "", "identity", "br", "gzip;q=0", "gzip; q=0.000", "*;q=0", "*, gzip;q=0", "x-gzipped",
        ):  # fmt: skip
            self.assertFalse(accepts_gzip(refused), refused)

    def test_it_is_the_same_content_in_fewer_bytes(self) -> None:
        for data in (LONG, os.urandom(200_000), b"x" * LEAST):
            headers, body = compress_answer("gzip", {"Vary": "Origin"}, iter(pieces(data)))
            self.assertEqual(headers["Content-Encoding"], "gzip")
            self.assertEqual(headers["Vary"], "Origin, Accept-Encoding")
            self.assertEqual(gzip.decompress(b"".join(body)), data)
        _headers, body = compress_answer("gzip", {}, iter(pieces(LONG)))
        self.assertLess(len(b"".join(body)) * 10, len(LONG))

    def test_short_and_empty_answers_stay_as_they_are_and_name_what_they_depend_on(self) -> None:
        for data in ([], [b"x" * (LEAST - 1)]):
            headers, body = compress_answer("gzip", {}, iter(data))
            self.assertEqual((dict(headers), b"".join(body)),
                             ({"Vary": "Accept-Encoding"}, b"".join(data)))  # fmt: skip

    def test_the_next_piece_is_made_when_the_last_one_was_taken(self) -> None:
        made = []

        def more():  # type: ignore[no-untyped-def]
            for number in range(100):
                made.append(number)
                yield os.urandom(1 << 16)

        _headers, body = compress_answer("gzip", {}, more())
        next(body)
        self.assertLess(len(made), 5)

    def test_its_length_differs_from_one_time_to_the_next(self) -> None:
        lengths = set()
        for _ in range(50):
            _headers, body = compress_answer("gzip", {}, iter(pieces(LONG)))
            lengths.add(len(b"".join(body)))
        self.assertGreater(len(lengths), 5)
