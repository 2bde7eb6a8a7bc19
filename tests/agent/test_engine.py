"""The engine of an editor: who uses it, and how it ends. No CLI is started here."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from functools import partial
from typing import Callable, Sequence

from GeminiCompanion.companion.agent.agent import Agent, Options
from GeminiCompanion.companion.agent.engine import NAME, STOPPED, Engine, Unavailable, User
from GeminiCompanion.companion.agent.launches import Chosen
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.base import log
from GeminiCompanion.companion.base.private_files import NotPrivate

from ..support import PATIENCE, wait_for

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Guest(User):
    """Uses the engine until `leave`. `agents` are those that it was served with, `problems` what it
    was told at the end."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.agents: list[Agent] = []
        self.problems: list[str] = []
        self.is_cancelled = False
        self._fails = fails
        self._leave: Callable[[], object] | None = None

    async def use_agent(self, agent: Agent) -> None:
        leaving = asyncio.Event()
        self._leave = partial(asyncio.get_running_loop().call_soon_threadsafe, leaving.set)
        self.agents.append(agent)
        if self._fails is not None:
            raise self._fails
        try:
            await leaving.wait()
        except asyncio.CancelledError:
            self.is_cancelled = True
            raise

    def report_end(self, problem: str) -> None:
        self.problems.append(problem)

    def leave(self) -> None:
        """Once it is served."""
        assert self._leave is not None
        self._leave()


class EngineTest(unittest.TestCase):
    def setUp(self) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root, True)
        self.log = log.start_log("debug")
        self.starts = 0

    def options(self) -> Options:
        self.starts += 1
        return Options(Launch(("no such program",)), os.path.join(self.root, "state"))

    def make(self, options: Callable[[], Options] | None = None) -> Engine:
        engine = Engine(options or self.options)
        self.addCleanup(wait_for, lambda: not self.threads())
        self.addCleanup(engine.quit)
        return engine

    def served(self, engine: Engine, count: int = 1) -> list[Guest]:
        guests = [Guest() for _ in range(count)]
        for each in guests:
            engine.add_user(each)
        wait_for(lambda: all(each.agents for each in guests))
        return guests

    def until_served(self, guest: Guest) -> None:
        wait_for(lambda: guest.agents)

    def until_over(self, guest: Guest) -> None:
        wait_for(lambda: guest.problems)

    def test_a_look_at_the_agent_does_not_begin_one(self) -> None:
        engine = self.make()
        seen: list[Agent] = []
        self.assertFalse(engine.look_at_agent(seen.append))
        self.assertEqual(self.starts, 0)
        [guest] = self.served(engine)
        self.assertTrue(engine.look_at_agent(seen.append))
        wait_for(lambda: seen)
        self.assertEqual(seen, guest.agents)
        guest.leave()
        wait_for(lambda: not self.threads())
        self.assertFalse(engine.look_at_agent(seen.append))
        self.assertEqual((len(seen), self.starts), (1, 1))

    def threads(self) -> Sequence[str]:
        return [thread.name for thread in threading.enumerate() if thread.name == NAME]


class Using(EngineTest):
    def test_nothing_runs_before_somebody_uses_it(self) -> None:
        self.make()
        self.assertEqual((self.threads(), self.starts), ([], 0))

    def test_all_users_have_one_agent_on_one_thread(self) -> None:
        guests = self.served(self.make(), 3)
        self.assertEqual(len({id(each.agents[0]) for each in guests}), 1)
        self.assertEqual((self.threads(), self.starts), ([NAME], 1))

    def test_it_lasts_until_the_last_user_has_left(self) -> None:
        one, other = self.served(self.make(), 2)
        one.leave()
        wait_for(lambda: one.problems)
        self.assertEqual((self.threads(), other.problems), ([NAME], []))
        other.leave()
        wait_for(lambda: not self.threads())
        self.assertEqual((one.problems, other.problems), ([""], [""]))

    def test_it_begins_anew_for_the_next_user(self) -> None:
        engine = self.make()
        for count in range(1, 4):
            (guest,) = self.served(engine)
            guest.leave()
            self.until_over(guest)
            # Until its thread ends, it would serve the next one, too.
            wait_for(lambda: not self.threads())
            self.assertEqual(self.starts, count)

    def test_nobody_is_lost_who_comes_while_the_last_one_leaves(self) -> None:
        engine = self.make()
        (before,) = self.served(engine)
        for _ in range(50):
            guest = Guest()
            before.leave()
            engine.add_user(guest)
            self.until_served(guest)
            before = guest
        before.leave()

    def test_users_from_many_threads_are_all_served_and_never_by_two_agents_at_a_time(self) -> None:
        engine, guests = self.make(), [Guest() for _ in range(20)]
        threads = [threading.Thread(target=engine.add_user, args=(each,)) for each in guests]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        wait_for(lambda: all(each.agents for each in guests))
        self.assertEqual((self.threads(), self.starts), ([NAME], 1))

    def test_it_does_without_the_library_of_the_server(self) -> None:
        code = (
            "import sys; import companion.agent.engine, companion.api.editor_server;"
            "print([name for name in ('aiohttp', 'jsonschema') if name in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
        )
        self.assertEqual((done.stdout, done.stderr), ("[]\n", ""))

    def test_its_events_and_errors_are_there_without_what_runs_and_talks_to_agents(self) -> None:
        """The editor imports them when it starts, whether an agent is ever needed or not."""
        code = (
            "import sys; from companion.agent import asked, credentials, elicitation, failure;"
            "from companion.agent import open_files, session_state, turn_events, turn_undo;"
            "inside = ('agents', 'processes', 'turn', 'conversations', 'acp.messages');"
            "print([name for name in inside if 'companion.agent.' + name in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
        )
        self.assertEqual((done.stdout, done.stderr), ("[]\n", ""))

    def test_a_call_is_made_on_its_thread_and_not_at_all_where_none_runs(self) -> None:
        engine, made = self.make(), []
        engine.post_call(lambda: made.append("too early"))
        self.served(engine)
        engine.post_call(lambda: made.append(threading.current_thread().name))
        wait_for(lambda: made)
        self.assertEqual(made, [NAME])


class Offering(EngineTest):
    def test_agents_that_are_named_while_it_runs_are_offered_and_the_first_is_the_usual_one(
        self,
    ) -> None:
        engine = self.make()
        (guest,) = self.served(engine)
        engine.offer_launches([Chosen("mine", ("mine",)).launch, Chosen("gemini").launch])
        backends = guest.agents[0].backends
        wait_for(lambda: backends.usual == "mine")
        self.assertEqual([backend.cli.id for backend in backends], ["gemini", "mine"])

    def test_where_none_runs_there_is_nothing_to_offer(self) -> None:
        self.make().offer_launches([Chosen("mine", ("mine",)).launch])
        self.assertEqual(self.threads(), [])


class Failing(EngineTest):
    def test_a_user_that_fails_is_told_and_the_others_are_left_alone(self) -> None:
        engine = self.make()
        (other,) = self.served(engine)
        for error, told in (
            (Unavailable("It cannot be."), "It cannot be."),
            (ZeroDivisionError("played"), STOPPED),
        ):
            guest = Guest(error)
            engine.add_user(guest)
            self.until_over(guest)
            self.assertEqual((guest.problems, other.problems), ([told], []))
        self.assertIn("ZeroDivisionError: played", "\n".join(self.log.lines()))

    def test_who_waits_for_an_agent_that_cannot_be_is_told_why_and_may_try_again(self) -> None:
        errors: list[Exception] = [
            Unavailable("There is none."),
            NotPrivate("Others can read it."),
            PermissionError(13, "No", "/state"),
            OSError(28, "No space left on device"),
            ZeroDivisionError("played"),
        ]
        expected = [
            "There is none.",
            "Others can read it.",
            "/state cannot be used: No. Fix that and try again.",
            "The folder of the agents cannot be used: No space left on device. Fix that and try"
            " again.",
            STOPPED,
        ]

        def options() -> Options:
            if errors:
                raise errors.pop(0)
            return self.options()

        engine = self.make(options)
        for told in expected:
            guest = Guest()
            engine.add_user(guest)
            self.until_over(guest)
            self.assertEqual((guest.problems, guest.agents), ([told], []))
        self.served(engine)


class Quitting(EngineTest):
    def test_an_editor_that_quits_waits_for_a_moment_only_and_nobody_is_told(self) -> None:
        engine = self.make()
        guests = self.served(engine, 2)
        began = time.monotonic()
        engine.quit()
        self.assertLess(time.monotonic() - began, PATIENCE)
        wait_for(lambda: not self.threads())
        self.assertEqual([each.problems for each in guests], [[], []])
        self.assertTrue(all(each.is_cancelled for each in guests))

    def test_one_that_does_not_run_can_be_quit(self) -> None:
        engine = self.make()
        engine.quit()
        engine.quit()
        self.assertEqual(self.threads(), [])
