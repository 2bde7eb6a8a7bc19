"""The log's last lines and what goes where."""

from __future__ import annotations

import contextlib
import io
import logging
import unittest

from GeminiCompanion.companion.base import log


class Log(unittest.TestCase):
    """`self.console` is what went to standard error."""

    def setUp(self) -> None:
        logger = log.logger
        for name, value in (("handlers", logger.handlers[:]), ("propagate", logger.propagate)):
            self.addCleanup(setattr, logger, name, value)
        self.addCleanup(logger.setLevel, logger.level)
        self.console = self.redirected()

    def redirected(self) -> io.StringIO:
        """What goes to standard error from now on."""
        stack, stream = contextlib.ExitStack(), io.StringIO()
        self.addCleanup(stack.close)
        stack.enter_context(contextlib.redirect_stderr(stream))
        return stream

    def test_lines_from_the_level_upward_are_kept_with_time_and_level(self) -> None:
        recent = log.start_log("warning")
        log.logger.info("too low")
        log.logger.warning("one %s", "word")
        log.logger.error("worse")
        first, second = recent.lines()
        self.assertRegex(first, r"^\d\d:\d\d:\d\d WARNING one word$")
        self.assertRegex(second, "ERROR worse$")

    def test_each_level_keeps_what_it_says(self) -> None:
        for level, kept in (("debug", 4), ("info", 3), ("warning", 2), ("error", 1)):
            with self.subTest(level=level):
                recent = log.start_log(level)
                for write in (log.logger.debug, log.logger.info, log.logger.warning):
                    write("x")
                log.logger.error("x")
                self.assertEqual(len(recent.lines()), kept)

    def test_an_unknown_level_counts_as_info(self) -> None:
        recent = log.start_log("loud")
        log.logger.debug("x")
        log.logger.info("y")
        self.assertEqual(len(recent.lines()), 1)

    def test_only_warnings_and_worse_reach_the_console(self) -> None:
        log.start_log("debug")
        log.logger.info("quiet")
        log.logger.warning("loud")
        self.assertEqual(self.console.getvalue(), "Gemini Companion: loud\n")

    def test_a_stream_that_took_the_place_of_the_console_may_be_closed(self) -> None:
        log.start_log("info")
        self.console.close()
        log.logger.warning("lost")
        console = self.redirected()
        log.logger.warning("loud")
        self.assertEqual(console.getvalue(), "Gemini Companion: loud\n")

    def test_a_traceback_is_kept(self) -> None:
        recent = log.start_log("info")
        try:
            raise ValueError("the reason")
        except ValueError:
            log.logger.exception("it failed")
        self.assertRegex(recent.lines()[0], "(?s)it failed\nTraceback.*ValueError: the reason")

    def test_only_the_last_lines_are_kept(self) -> None:
        recent = log.start_log("info")
        for number in range(log.MAX_LINES + 5):
            log.logger.info("%d", number)
        lines = recent.lines()
        self.assertEqual(len(lines), log.MAX_LINES)
        self.assertTrue(lines[0].endswith(" 5"), lines[0])

    def test_of_an_entry_without_end_only_the_beginning_is_kept(self) -> None:
        recent = log.start_log("info")
        log.logger.info("x" * 10 * log.MAX_LENGTH)
        self.assertEqual(len(recent.lines()[0]), log.MAX_LENGTH)

    def test_a_second_start_begins_anew_and_says_nothing_twice(self) -> None:
        first = log.start_log("info")
        second = log.start_log("info")
        log.logger.warning("x")
        self.assertEqual((len(first.lines()), len(second.lines())), (0, 1))
        self.assertEqual(self.console.getvalue().count("x"), 1)

    def test_nothing_reaches_the_root_logger_that_other_packages_share(self) -> None:
        log.start_log("info")
        stream = io.StringIO()
        other = logging.StreamHandler(stream)
        logging.getLogger().addHandler(other)
        self.addCleanup(logging.getLogger().removeHandler, other)
        log.logger.error("x")
        self.assertEqual(stream.getvalue(), "")

    def test_the_lines_given_are_a_copy(self) -> None:
        recent = log.start_log("info")
        log.logger.info("x")
        recent.lines().clear()
        self.assertEqual(len(recent.lines()), 1)
