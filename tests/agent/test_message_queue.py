"""Messages that wait, and when one of them goes: without a CLI."""

from __future__ import annotations

import asyncio
import unittest
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, AsyncIterator
from unittest import mock

from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.acp.messages import AgentCapabilities, text_block
from GeminiCompanion.companion.agent.conversations import message_queue, steering
from GeminiCompanion.companion.agent.conversations.conversation_state import ConversationState
from GeminiCompanion.companion.agent.conversations.message_queue import MessageQueue
from GeminiCompanion.companion.agent.conversations.outbox import Outbox
from GeminiCompanion.companion.agent.conversations.reservation import Reservation
from GeminiCompanion.companion.agent.conversations.steering import pass_messages
from GeminiCompanion.companion.agent.events.event_log import EventLog
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.turn.turn import Limits

from ..support import PATIENCE, until


class Record:
    def __init__(self) -> None:
        self.state = ConversationState()
        self.transcript = SimpleNamespace(write_now=lambda: None)

    def begin_file(self) -> None:
        pass

    def change_state(self, state: ConversationState) -> None:
        self.state = state


class Queued(unittest.IsolatedAsyncioTestCase):
    """A conversation whose turn runs, of an agent that asks for messages."""

    def setUp(self) -> None:
        self.told: list[Any] = []
        record: Any = Record()
        self.queue = MessageQueue(record, self.told.append)
        self.log = EventLog("conversation", lambda event: self.told.append(event.body))
        self.cancelled = 0
        self.conversation: Any = SimpleNamespace(
            queue=self.queue,
            log=self.log,
            record=record,
            is_busy=True,
            turn=SimpleNamespace(is_over=False),
            cli=SimpleNamespace(asks_for_messages="ask", text_for=self.worded),
            cancel_turn=self.cancel,
            reservation=Reservation(),
            reserve=lambda: None,
            workspace="/work",
            session=SimpleNamespace(agent=None),
            set_attended=lambda is_attended: None,
            prepare=lambda work: work,
        )
        nothing: Any = None
        self.outbox = Outbox(Limits(), nothing, nothing)

    def worded(self, text: str) -> str:
        if text.startswith("/"):
            raise AgentError(failure.VALIDATION_ERROR, "This would run without asking.")
        return "The user: " + text

    def cancel(self) -> None:
        self.cancelled += 1

    def over(self, reason: str) -> None:
        """The turn has ended so."""
        self.outbox._after_turn(self.conversation, events.Complete(reason, events.Usage()))

    def add(self, *texts: str, files: tuple[str, ...] = ()) -> list[str]:
        return [self.queue.add_message(text, files, files, ()).id for text in texts]

    def now(self, id: str) -> None:
        self.outbox.send_next(self.conversation, id)

    async def test_the_agent_gets_what_is_to_be_said_now_once_and_nothing_else(self) -> None:
        one, two = self.add("first", "second")
        self.assertEqual(await pass_messages(self.conversation), [])
        self.now(two)
        self.assertEqual((self.queue.passing, self.cancelled), (two, 0))
        self.assertEqual(await pass_messages(self.conversation), ["The user: second"])
        self.assertEqual(await pass_messages(self.conversation), [])
        self.assertEqual([message.id for message in self.queue.messages], [one])
        added = [each for each in self.told if isinstance(each, events.MessageAdded)]
        self.assertEqual(added, [events.MessageAdded(two, "second")])

    async def test_the_second_time_and_where_there_are_files_the_turn_is_cancelled(self) -> None:
        (one,) = self.add("first")
        self.now(one)
        self.now(one)
        self.assertEqual((self.cancelled, self.queue.is_urgent), (1, True))
        self.setUp()
        self.now(self.add("first", files=("/a",))[0])
        self.assertEqual((self.cancelled, self.queue.passing), (1, ""))
        self.setUp()
        self.conversation.cli.asks_for_messages = ""
        self.now(self.add("first")[0])
        self.assertEqual((self.cancelled, self.queue.passing), (1, ""))

    def steered(self, outcome: Any) -> list[Any]:
        """What the agent is given within the turn, of one that answers so."""
        given: list[Any] = []

        async def steer(blocks: Any) -> bool:
            given.append(blocks)
            answer: bool = await outcome if asyncio.isfuture(outcome) else outcome
            return answer

        self.conversation.cli.asks_for_messages = ""
        client = SimpleNamespace(capabilities=AgentCapabilities(steers=True))
        session = SimpleNamespace(client=client, steer=steer)
        self.conversation.session.agent = SimpleNamespace(session=session)
        return given

    async def test_an_agent_that_is_steered_is_given_the_message_and_it_is_said(self) -> None:
        given = self.steered(True)
        one, two = self.add("first", "second")
        self.now(two)
        self.assertEqual((self.queue.passing, self.cancelled), (two, 0))
        await until(lambda: len(self.queue.messages) == 1)
        self.assertEqual(given, [[text_block("The user: second")]])
        self.assertEqual([message.id for message in self.queue.messages], [one])
        added = [each for each in self.told if isinstance(each, events.MessageAdded)]
        self.assertEqual(added, [events.MessageAdded(two, "second")])
        self.assertEqual((self.queue.sending, self.queue.passing), ("", ""))

    async def test_what_is_being_given_to_an_agent_is_neither_changed_nor_given_twice(self) -> None:
        outcome = asyncio.get_running_loop().create_future()
        given = self.steered(outcome)
        (one,) = self.add("first")
        self.now(one)
        await until(lambda: given)
        for change in (
            lambda: self.now(one),
            lambda: self.queue.change_message(one, "other", ()),
            lambda: self.queue.remove_message(one),
        ):
            with self.assertRaises(AgentError):
                change()
        outcome.set_result(True)
        await until(lambda: not self.queue.messages)
        self.assertEqual((len(given), self.cancelled), (1, 0))

    async def test_a_message_that_the_agent_does_not_take_waits_as_before(self) -> None:
        self.steered(False)
        (one,) = self.add("first")
        self.now(one)
        await until(lambda: not self.queue.passing)
        self.assertEqual([message.id for message in self.queue.messages], [one])
        self.assertEqual((self.queue.sending, self.queue.is_held), ("", False))

    async def test_one_that_is_to_go_while_another_is_being_given_follows_it_once(self) -> None:
        outcome = asyncio.get_running_loop().create_future()
        given = self.steered(outcome)
        one, two = self.add("first", "second")
        self.now(one)
        await until(lambda: given)
        self.now(two)
        self.assertEqual((self.queue.sending, self.queue.passing), (one, one))
        self.queue.change_message(two, "other", ())
        outcome.set_result(True)
        await until(lambda: not self.queue.messages)
        await until(lambda: not self.outbox._sending)
        said = [[text_block("The user: first")], [text_block("The user: other")]]
        self.assertEqual((given, self.cancelled), (said, 0))

    async def test_one_with_files_stops_the_turn_once_another_was_given(self) -> None:
        outcome = asyncio.get_running_loop().create_future()
        given = self.steered(outcome)
        (one,) = self.add("first")
        (two,) = self.add("second", files=("/a",))
        self.now(one)
        await until(lambda: given)
        self.now(two)
        self.assertEqual(self.cancelled, 0)
        outcome.set_result(True)
        await until(lambda: self.cancelled)
        self.assertEqual((self.queue.urgent, len(given)), (two, 1))

    async def test_the_turn_is_stopped_where_an_agent_fails_to_take_what_it_offers(self) -> None:
        refused: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        refused.set_exception(AgentError(failure.VALIDATION_ERROR, "Method not found"))
        silent: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        for answer in (refused, silent):
            self.setUp()
            self.steered(answer)
            one, two = self.add("first", "second")
            with mock.patch.object(steering, "ANSWERING", 0.01):
                self.now(two)
                await until(lambda: self.cancelled)
            self.assertEqual((self.queue.urgent, self.queue.sending), (two, ""))
            self.assertEqual([message.id for message in self.queue.messages], [two, one])

    async def test_what_was_too_late_for_the_turn_stops_it_the_second_time(self) -> None:
        given = self.steered(False)
        (one,) = self.add("first")
        self.now(one)
        await until(lambda: given and not self.queue.passing)
        self.now(one)
        self.assertEqual((self.cancelled, self.queue.urgent, len(given)), (1, one, 1))

    async def test_a_command_that_would_run_unasked_is_not_given_and_stays(self) -> None:
        given = self.steered(True)
        (one,) = self.add("/init")
        self.now(one)
        await until(lambda: self.queue.is_held)
        self.assertEqual((given, self.cancelled), ([], 0))
        self.assertEqual(self.queue.problem, "This would run without asking.")

    async def test_a_message_that_is_given_as_the_turn_ends_is_left_to_that(self) -> None:
        outcome = asyncio.get_running_loop().create_future()
        given = self.steered(outcome)
        (one,) = self.add("first")
        self.now(one)
        await until(lambda: given)
        self.log.add_event(events.Complete(events.CANCELLED, events.Usage()))
        self.over(events.CANCELLED)
        outcome.set_result(True)
        await until(lambda: not self.outbox._sending)
        self.assertEqual([message.id for message in self.queue.messages], [one])
        self.assertTrue(self.queue.is_held)

    async def test_what_is_sent_while_files_are_being_restored_is_held_no_more(self) -> None:
        self.conversation.turn.is_over = True
        (one,) = self.add("first")
        self.queue.hold_back()
        self.now(one)
        self.assertEqual((self.queue.is_held, self.queue.is_urgent), (False, True))

    async def test_what_is_changed_before_the_agent_asks_is_passed_as_it_is_then(self) -> None:
        (one,) = self.add("first")
        self.now(one)
        self.queue.change_message(one, "other", ())
        self.assertEqual(await pass_messages(self.conversation), ["The user: other"])
        self.setUp()
        (one,) = self.add("first")
        self.now(one)
        self.queue.remove_message(one)
        self.assertEqual(await pass_messages(self.conversation), [])

    async def test_a_command_that_would_run_unasked_is_not_passed_and_stays(self) -> None:
        (one,) = self.add("/init")
        self.now(one)
        self.assertEqual(await pass_messages(self.conversation), [])
        self.assertEqual([message.id for message in self.queue.messages], [one])
        self.assertTrue(self.queue.is_held)

    async def test_a_turn_that_is_over_gets_nothing(self) -> None:
        (one,) = self.add("first")
        self.now(one)
        self.log.add_event(events.Complete(events.END_TURN, events.Usage()))
        self.assertEqual(await pass_messages(self.conversation), [])
        self.assertEqual([message.id for message in self.queue.messages], [one])

    async def test_one_that_is_on_its_way_is_neither_changed_nor_overtaken(self) -> None:
        one, two = self.add("first", "second")
        self.queue.start_sending()
        for attempt in (
            lambda: self.queue.remove_message(one),
            lambda: self.queue.change_message(one, "x", ()),
        ):
            with self.assertRaises(AgentError) as caught:
                attempt()
            self.assertEqual(caught.exception.code, failure.SESSION_BUSY)
        self.queue.move_message(two, 0)
        self.assertEqual([message.id for message in self.queue.messages], [one, two])
        self.now(two)
        self.assertEqual((self.cancelled, self.queue.is_urgent), (0, False))

    async def test_where_the_server_ends_nothing_more_is_sent(self) -> None:
        (one,) = self.add("first")
        self.conversation.is_busy = False
        self.outbox.is_closed = True
        self.now(one)
        self.assertEqual(
            ([message.id for message in self.queue.messages], self.queue.is_held), ([one], True)
        )

    async def test_nothing_is_urgent_any_more_once_what_was_to_go_now_is_taken_back(self) -> None:
        self.conversation.cli.asks_for_messages = ""
        one, two = self.add("first", "second")
        self.now(one)
        self.queue.remove_message(one)
        self.over(events.CANCELLED)
        self.assertEqual([message.id for message in self.queue.messages], [two])
        self.assertEqual((self.queue.is_held, self.queue.sending), (True, ""))

    async def test_one_that_is_taken_back_is_not_told_as_passed_in(self) -> None:
        one, _two = self.add("first", "second")
        self.now(one)
        self.queue.remove_message(one)
        self.assertEqual(self.queue.body.passing, "")

    def order(self) -> list[str]:
        return [message.text for message in self.queue.messages]

    async def test_one_is_moved_to_the_place_that_is_said(self) -> None:
        first, _second, third = self.add("first", "second", "third")
        self.queue.move_message(third, 1)
        self.assertEqual(self.order(), ["first", "third", "second"])
        self.queue.move_message(first, 2)
        self.assertEqual(self.order(), ["third", "second", "first"])

    async def test_a_queue_with_more_than_a_server_takes_can_only_become_shorter(self) -> None:
        first, second, third = self.add("first", "second", "third")
        with mock.patch.object(message_queue, "MAX_MESSAGES", 1):
            self.queue.change_message(first, "1", ())
            self.queue.remove_message(second)
            self.queue.move_message(third, 0)
            with self.assertRaises(AgentError):
                self.add("more")
            with self.assertRaises(AgentError):
                self.queue.change_message(first, "longer", ())
        self.assertEqual(self.order(), ["third", "1"])

    async def test_each_problem_that_holds_it_is_told_once(self) -> None:
        self.add("first")
        for problem in ("one", "other", "other"):
            self.queue.hold_back(problem)
        told = [queue.problem for queue in self.told if isinstance(queue, events.Queue)]
        self.assertEqual(told[1:], ["one", "other"])

    async def test_once_the_agent_got_one_the_rest_is_held_no_more(self) -> None:
        refused, second = self.add("/init", "second")
        self.now(refused)
        await pass_messages(self.conversation)
        self.now(second)
        self.assertTrue(self.queue.is_held)
        await pass_messages(self.conversation)
        self.assertEqual((self.order(), self.queue.is_held), (["/init"], False))

    async def test_while_files_are_being_restored_after_a_turn_the_rest_is_not_held(self) -> None:
        self.add("first")
        self.over(events.END_TURN)
        self.assertFalse(self.queue.is_held)

    async def test_where_a_client_leaves_before_its_turn_begins_the_rest_is_held(self) -> None:
        self.add("first")
        self.queue.hold_back()
        beginning = asyncio.Event()

        @asynccontextmanager
        async def connected(conversation: Any) -> AsyncIterator[None]:
            beginning.set()
            await asyncio.Event().wait()
            yield

        nothing: Any = None
        self.outbox = Outbox(Limits(), connected, nothing)
        sending = asyncio.ensure_future(
            self.outbox.send_message(self.conversation, "hi", (), (), True)
        )
        await asyncio.wait_for(beginning.wait(), PATIENCE)
        self.assertFalse(self.queue.is_held)
        sending.cancel()
        await asyncio.wait([sending])
        self.assertTrue(self.queue.is_held)

    async def test_where_a_client_leaves_as_its_turn_begins_the_turn_is_cancelled(self) -> None:
        giving = asyncio.Event()

        @asynccontextmanager
        async def connected(conversation: Any) -> AsyncIterator[None]:
            yield
            giving.set()
            await asyncio.Event().wait()

        async def begin(*given: Any) -> Any:
            self.conversation.turn = SimpleNamespace(cancel=self.cancel)

        nothing: Any = None
        self.conversation.begin_turn = begin
        self.outbox = Outbox(Limits(), connected, nothing)
        sending = asyncio.ensure_future(
            self.outbox.send_message(self.conversation, "hi", (), (), True)
        )
        await asyncio.wait_for(giving.wait(), PATIENCE)
        sending.cancel()
        await asyncio.wait([sending])
        self.assertEqual(self.cancelled, 1)

    async def test_what_is_to_go_now_goes_where_one_that_was_not_sent_yet_is_taken_back_for_it(
        self,
    ) -> None:
        self.conversation.turn.is_over = True
        (one,) = self.add("first")
        taken_back, beginning = asyncio.Event(), asyncio.Event()
        at_work: list[str] = []

        @asynccontextmanager
        async def connected(conversation: Any) -> AsyncIterator[None]:
            beginning.set()
            at_work.append(self.queue.sending)
            await taken_back.wait()
            raise AgentError(failure.SESSION_BUSY, "It was taken back.")
            yield

        nothing: Any = None
        self.conversation.cancel_turn = taken_back.set
        self.outbox = Outbox(Limits(), connected, nothing)
        sending = asyncio.ensure_future(
            self.outbox.send_message(self.conversation, "hi", (), (), True)
        )
        await asyncio.wait_for(beginning.wait(), PATIENCE)
        self.now(one)
        await asyncio.wait([sending])
        self.assertIsInstance(sending.exception(), AgentError)
        await until(lambda: not self.outbox._sending)
        self.assertEqual(at_work, ["", one])

    async def test_one_that_something_unforeseen_keeps_from_being_sent_can_be_taken_back(
        self,
    ) -> None:
        def connected(conversation: Any) -> Any:
            raise ValueError("unforeseen")

        nothing: Any = None
        self.outbox = Outbox(Limits(), connected, nothing)
        (one,) = self.add("first")
        self.conversation.is_busy = False
        self.outbox.go_on(self.conversation)
        (task,) = self.outbox._sending
        await asyncio.wait([task])
        self.assertIsInstance(task.exception(), ValueError)
        self.assertTrue(self.queue.is_held)
        self.queue.remove_message(one)
