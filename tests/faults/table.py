"""The faults: what the code would do wrongly, and the change that makes it do so."""

from __future__ import annotations

from typing import NamedTuple

DECISIONS, DELIVERY = "companion/ide/decisions.py", "companion/ide/delivery.py"
SESSION, SESSIONS = "companion/ide/session.py", "companion/ide/sessions.py"
STATE, STATE_FILE = "companion/ide/saved_state.py", "companion/ide/state_file.py"
STATE_LINES = "companion/ide/state_lines.py"
RESTORED, DIFFS = "companion/ide/restored_diffs.py", "companion/ide/diffs.py"
DISK, WINDOWS = "companion/ide/disk_check.py", "companion/ide/windows.py"
TURN, CALLS = "companion/agent/turn/turn.py", "companion/agent/turn/call_tracker.py"
CALL_EVENTS = "companion/agent/turn/call_events.py"
WRITES = "companion/agent/turn/file_writes.py"
EDITED = "companion/agent/turn/edited_file.py"
MARKDOWN, BLOCK = "companion/chat/markdown.py", "companion/chat/block.py"
TRANSCRIPT, TURN_BLOCKS = "companion/chat/transcript.py", "companion/chat/turn_blocks.py"
CALL_BLOCK, WAITING = "companion/chat/call_block.py", "companion/chat/waiting_block.py"
SAID, QUESTION = "companion/chat/said_blocks.py", "companion/chat/question.py"


class Fault(NamedTuple):
    """In the file, `right` stands once and becomes `wrong`. `equal` says why a fault that no test
    notices is none; empty where one has to notice it. `tests` are files of tests/ui, for faults of
    the editor's side."""

    name: str
    file: str
    right: str
    wrong: str
    equal: str = ""
    tests: tuple[str, ...] = ()


FAULTS = (
    # The book of decisions.
    Fault(
        "an edit that brings back the first text is no news",
        DECISIONS,
        "if self._entries[number].text == text:",
        "if self._entries[number].proposed == text_digest(text):",
    ),
    Fault(
        "what was decided before keeps the hours of the text before it",
        DECISIONS,
        "self._put(entry._replace(before=before, hours=0), number)",
        "self._put(entry._replace(before=before), number)",
    ),
    Fault(
        "the file's digest at the decision is not kept",
        DECISIONS,
        "self._put(entry._replace(before=before, hours=0), number)",
        "self._put(entry._replace(hours=0), number)",
    ),
    Fault(
        "an entry that is adopted keeps its place in a queue of before",
        DECISIONS,
        "self._put(entry._replace(event_id=0)) for entry",
        "self._put(entry) for entry",
    ),
    Fault(
        "a text of which a CLI was told is what waits under the path that was sent",
        DECISIONS,
        "            if entry.state != TOLD:\n                return entry.path",
        "            return entry.path",
    ),
    Fault(
        "a rejection of which a CLI was told stays in the book",
        DECISIONS,
        "        if not entry.text:\n            self.forget(number)\n            return []\n",
        "",
    ),
    Fault(
        "a text already told is told again beside the same text of before",
        DECISIONS,
        "            if self._entries[same].text == entry.text:\n                self.forget(same)",
        "            pass",
    ),
    Fault(
        "a text that was told keeps its event",
        DECISIONS,
        "self._put(entry._replace(state=TOLD, event_id=0), number)",
        "self._put(entry._replace(state=TOLD), number)",
    ),
    Fault(
        "the newest texts make way for the oldest",
        DECISIONS,
        "told[: max(len(told) - MAX_TOLD, 0)]",
        "told[MAX_TOLD:]",
    ),
    Fault(
        "those that nobody has written make way first",
        DECISIONS,
        "told.sort(key=lambda each: self._entries[each].before is None)",
        "told.sort(key=lambda each: self._entries[each].before is not None)",
    ),
    Fault(
        "what comes back makes way, too",
        DECISIONS,
        "told = [each for each in self.of(TOLD) if not self._entries[each].comes_back]",
        "told = self.of(TOLD)",
    ),
    Fault(
        "a decision that was not read is not taken back",
        DECISIONS,
        "        if entry is not None and entry.state == TOLD:\n            again",
        "        if entry is None:\n            again",
    ),
    Fault(
        "a rejection that was not read is forgotten",
        DECISIONS,
        "if entry is None and not decision.text:",
        "if entry is None and decision.text:",
    ),
    Fault(
        "a decision that is taken back waits in no queue",
        DECISIONS,
        "entry._replace(state=DECIDED, session_id=session_id, event_id=event_id)",
        "entry._replace(state=DECIDED, session_id=session_id)",
    ),
    Fault(
        "an hour that was seen is not counted",
        DECISIONS,
        "        self._put(entry._replace(hours=entry.hours + 1), number)\n",
        "",
    ),
    Fault(
        "a text that nobody has written may still be taken for superseded",
        DECISIONS,
        "self._put(self._entries[number]._replace(before=None, hours=0), number)",
        "pass",
    ),
    Fault(
        "a text that is handed over never comes back",
        DECISIONS,
        "decided_at=now, comes_back=True), number)",
        "decided_at=now), number)",
    ),
    Fault(
        "an unedited proposal comes back as the user's",
        DECISIONS,
        "if not entry.text or not entry.is_edited:",
        "if not entry.text:",
    ),
    Fault(
        "what the user typed in a closed window is lost",
        DECISIONS,
        "            self.copy_edited(number)\n            self.decide(number, None)",
        "            self.decide(number, None)",
    ),
    Fault(
        "a proposal in a closed window waits on",
        DECISIONS,
        "            self.copy_edited(number)\n            self.decide(number, None)",
        "            self.copy_edited(number)",
    ),
    Fault(
        "a forgotten proposal is found by the path that was sent",
        DECISIONS,
        "            (self._of_sent_path, entry.sent_path or entry.path),\n        ):",
        "        ):",
    ),
    Fault(
        "a notification names the editor's path",
        DECISIONS,
        "path = self.sent_path or self.path\n",
        "path = self.path\n",
    ),
    Fault(
        "the emptied text is told as a rejection",
        DECISIONS,
        "        if self.text is None:\n            return cli.rejected",
        "        if not self.text:\n            return cli.rejected",
    ),
    # Which CLI is told.
    Fault(
        "a decision is passed to a session that is earlier than its proposal",
        DELIVERY,
        "            and session.ordinal > entry.after_session\n",
        "",
    ),
    Fault(
        "a decision is passed to a CLI of another kind",
        DELIVERY,
        '            and entry.cli in ("", session.cli.id)\n',
        "",
    ),
    Fault(
        "a decision is passed to a session without a stream",
        DELIVERY,
        "            if session.stream is not None\n            and not session.is_named\n",
        "            if not session.is_named\n",
    ),
    Fault(
        "an acceptance is passed to all sessions that came after",
        DELIVERY,
        "for session in back if entry.text is None else back[-1:]:",
        "for session in back:",
    ),
    Fault(
        "a rejection is passed to the newest session alone",
        DELIVERY,
        "for session in back if entry.text is None else back[-1:]:",
        "for session in back[-1:]:",
    ),
    Fault(
        "an acceptance is passed to the oldest session",
        DELIVERY,
        "for session in back if entry.text is None else back[-1:]:",
        "for session in back if entry.text is None else back[:1]:",
    ),
    Fault(
        "a decision is passed on while a proposal for its path settles",
        DELIVERY,
        "if is_open or not is_sure or self.is_settling(entry.path):",
        "if is_open or not is_sure:",
    ),
    Fault(
        "a decision is passed on while another proposal for its path is open",
        DELIVERY,
        "if is_open or not is_sure or self.is_settling(entry.path):",
        "if not is_sure or self.is_settling(entry.path):",
    ),
    Fault(
        "one of two decisions on a path is passed on",
        DELIVERY,
        "if is_open or not is_sure or self.is_settling(entry.path):",
        "if is_open or self.is_settling(entry.path):",
    ),
    Fault(
        "proposals in other windows are not looked for",
        DELIVERY,
        "is_open = self._book.of(OPEN, path=entry.path) or elsewhere",
        "is_open = self._book.of(OPEN, path=entry.path)",
    ),
    Fault(
        "what waited for a settled proposal is never passed on",
        DELIVERY,
        "        self._timer = None\n        self._on_known()\n",
        "        self._timer = None\n",
    ),
    Fault(
        "only the first of two settled paths is waited for",
        DELIVERY,
        "        if self._at:\n            self._timer",
        "        if not self._at:\n            self._timer",
    ),
    Fault(
        "a decision of a broken stream is not sent again",
        DELIVERY,
        "                self._book.take_back(event.number, event.value, *where)\n",
        "",
    ),
    Fault(
        "of several unread decisions only the last is taken back",
        DELIVERY,
        "        for event in events:\n            if isinstance",
        "        for event in list(events)[-1:]:\n            if isinstance",
    ),
    Fault(
        "an event id above the last is taken for real",
        DELIVERY,
        "if 0 < event_id <= saved.last_id and event_id not in waiting:",
        "if 0 < event_id and event_id not in waiting:",
    ),
    Fault(
        "of two decisions with one event id the second replaces the first",
        DELIVERY,
        "if 0 < event_id <= saved.last_id and event_id not in waiting:",
        "if 0 < event_id <= saved.last_id:",
    ),
    Fault(
        "a decision without a good event id is not told after a restart",
        DELIVERY,
        "                if number not in waiting.values():\n                    self.send(number)",
        "                pass",
    ),
    Fault(
        "a CLI that asks is given what it is being told",
        DELIVERY,
        "under_way = [number for number in decided if session.is_told_of(number)]",
        "under_way: list[int] = []",
    ),
    Fault(
        "a CLI that asks is given the oldest of its decisions",
        DELIVERY,
        "text = self._book[waiting[-1]].text",
        "text = self._book[waiting[0]].text",
    ),
    Fault(
        "a CLI that asked is told once more",
        DELIVERY,
        "        session.forget(path, but=under_way)\n",
        "",
    ),
    Fault(
        "a newer proposal is decided by an older decision",
        DELIVERY,
        "        for number in self._book.of(DECIDED, session.id, path):\n"
        "            self.told(number)\n",
        "",
    ),
    Fault(
        "what another session asked for is not recalled by a newer proposal",
        DELIVERY,
        "            for decision, number in each.recall(path):",
        "            for decision, number in ():",
    ),
    Fault(
        "a session that has ended leaves its decisions to sessions of before",
        DELIVERY,
        "                self._book.leave_session(number, session.newest_then)",
        "                self._book.leave_session(number, 0)",
    ),
    Fault(
        "the decisions of a session that has ended wait for the next look",
        DELIVERY,
        "        decided = self._book.of(DECIDED, session.id)\n        self.pass_on()\n",
        "        decided = self._book.of(DECIDED, session.id)\n",
    ),
    Fault(
        "nobody hears that a decision waits for a CLI that is away",
        DELIVERY,
        "        if session is None or session.stream is None:\n            self._tell_away",
        "        if session is None:\n            self._tell_away",
    ),
    Fault(
        "a withdrawn text is told as accepted",
        DELIVERY,
        "                session.replace(number, self._book[number].decision)",
        "                pass",
    ),
    Fault(
        "a text that no CLI wrote cannot be discarded",
        DELIVERY,
        "            if entry.state == TOLD and not entry.event_id:\n"
        "                self._book.forget(number)\n                continue\n",
        "            if entry.state == TOLD and not entry.event_id:\n                continue\n",
    ),
    Fault(
        "a text counts as unwritten while its CLI writes it",
        DELIVERY,
        "            return is_due and not entry.comes_back",
        "            return not entry.comes_back",
    ),
    Fault(
        "a text that comes back is listed as well",
        DELIVERY,
        "            return is_due and not entry.comes_back",
        "            return is_due",
    ),
    Fault(
        "a text whose CLI is away counts as unwritten only later",
        DELIVERY,
        "        if session is None or session.stream is None:\n            return True\n",
        "        if session is None:\n            return True\n",
    ),
    Fault(
        "the next companion forgets what was not read at the end",
        DELIVERY,
        "                if event.number in self._book:\n"
        "                    self._book.queue(event.number, session.id, event.id)\n",
        "                if event.number in self._book:\n                    pass\n",
    ),
    # Sessions and their streams.
    Fault(
        "a stream is confirmed that nobody read",
        SESSION,
        "        self._unconfirmed = [it for it in self._unconfirmed if it[1].id > position]\n",
        "        self._unconfirmed = []\n",
    ),
    Fault(
        "a broken stream counts as read",
        SESSION,
        "unread = [] if in_order else self.unconfirmed()",
        "unread: list[Event] = []",
    ),
    Fault(
        "a stream that ended in order counts as unread",
        SESSION,
        "unread = [] if in_order else self.unconfirmed()",
        "unread = self.unconfirmed()",
    ),
    Fault(
        "of unread decisions only those after the first wait again",
        SESSION,
        "            self._delivered = unread[0].id - 1",
        "            self._delivered = unread[0].id",
    ),
    Fault(
        "a request of the client confirms nothing",
        SESSION,
        "        if self.stream is not None:\n            self._unconfirmed.clear()",
        "        pass",
    ),
    Fault(
        "what went out long ago counts as unread",
        SESSION,
        "            if at > now - READ and isinstance(event.value, Decision)",
        "            if isinstance(event.value, Decision)",
    ),
    Fault(
        "an older passing event stays beside the newer one",
        SESSION,
        "it for it in self._events if not (it.passing and type(it.value) is type(value))",
        "it for it in self._events",
    ),
    Fault(
        "passing events of all kinds make way for each other",
        SESSION,
        "it for it in self._events if not (it.passing and type(it.value) is type(value))",
        "it for it in self._events if not it.passing",
    ),
    Fault(
        "a stream may resume after an event that never was",
        SESSION,
        "last_event_id is not None and 0 < last_event_id <= self._last_id",
        "last_event_id is not None and 0 < last_event_id",
    ),
    Fault(
        "a second stream leaves the first one open",
        SESSION,
        "        if self.stream is not None:\n            self.stream.end()\n        is_known",
        "        is_known",
    ),
    Fault(
        "what was delivered is forgotten before the limit",
        SESSION,
        "while len(self._events) > MAX_REPLAY and",
        "while self._events and",
    ),
    Fault(
        "ids go on where the saved ones ended",
        SESSION,
        "self._last_id = saved.last_id + LEAP",
        "self._last_id = saved.last_id",
    ),
    Fault(
        "after a restart what waits counts as delivered",
        SESSION,
        "self._delivered = min([event.id - 1 for event in self._events] + [saved.last_id])",
        "self._delivered = saved.last_id",
    ),
    Fault(
        "a client that is back within a moment makes its session the newest",
        SESSIONS,
        "ordinals = [each.ordinal for each in self if each.opened_at <= before]",
        "ordinals = [each.ordinal for each in self]",
    ),
    Fault(
        "the session that was heard of last makes room",
        SESSIONS,
        "or list(self)\n            self.end(min(",
        "or list(self)\n            self.end(max(",
    ),
    Fault(
        "a session with a stream makes room",
        SESSIONS,
        "idle = [session for session in self if session.stream is None] or list(self)",
        "idle = list(self)",
    ),
    Fault(
        "sleep counts as absence",
        SESSIONS,
        "            session.last_seen = asyncio.get_running_loop().time()\n"
        "            if session.stream is not None:\n                session.stream.wake.set()",
        "            if session.stream is not None:\n                session.stream.wake.set()",
    ),
    # What outlives a restart.
    Fault(
        "proposals keep the order of sessions that are elsewhere",
        STATE,
        "moved = entry._replace(after_session=0)",
        "moved = entry",
    ),
    Fault(
        "an open text moves and stays as well",
        STATE,
        "rest.append(entry._replace(text=None))",
        "rest.append(entry)",
    ),
    Fault(
        "what was typed is not the user's elsewhere",
        STATE,
        "moved._replace(state=TOLD, comes_back=True, decided_at=time.time())",
        "moved._replace(state=TOLD, decided_at=time.time())",
    ),
    Fault(
        "untold decisions go before told ones where the file is full",
        STATE_FILE,
        "for state in (TOLD, DECIDED, OPEN):",
        "for state in (DECIDED, TOLD, OPEN):",
    ),
    Fault(
        "decisions go before the texts of open proposals",
        STATE_FILE,
        "for lighter in (_without_open_texts, _without_decisions):",
        "for lighter in (_without_decisions, _without_open_texts):",
    ),
    Fault(
        "the newest windows make way for the oldest",
        STATE_FILE,
        "key=lambda it: (it.has_texts, it.saved_at), reverse=True)",
        "key=lambda it: (it.has_texts, -it.saved_at), reverse=True)",
    ),
    Fault(
        "a window without texts pushes one with texts out",
        STATE_FILE,
        "key=lambda it: (it.has_texts, it.saved_at), reverse=True)",
        "key=lambda it: it.saved_at, reverse=True)",
    ),
    Fault(
        "an acceptance without its text is a rejection",
        STATE_LINES,
        '        text = members.need("text", _text_or_none)\n',
        '        text = members.get("text", _text_or_none, None)\n',
    ),
    Fault(
        "texts that are too old vanish without a word",
        STATE_FILE,
        "is_all = is_all and not it.has_texts",
        "pass",
    ),
    Fault(
        "a token that is too old is used",
        STATE_FILE,
        'young.append(it if is_known else replace(it, token=""))',
        "young.append(it)",
    ),
    # The editor's diffs after a restart.
    Fault(
        "a diff decided before the restart is rejected as well",
        RESTORED,
        "            if not is_decided:\n                self._diffs.reject(session_id, path)",
        "            self._diffs.reject(session_id, path)",
    ),
    Fault(
        "a diff that nobody knows is closed though its CLI is unknown, too",
        RESTORED,
        "if is_decided or self._sessions.find(session_id) is not None:",
        "if True:",
    ),
    Fault(
        "what was typed into an unknown diff does not outlive the next restart",
        RESTORED,
        "                self._diffs.edited(session_id, path, text)\n\n    async def _catch_up",
        "\n    async def _catch_up",
    ),
    Fault(
        "text typed in a tab that was lost is not kept",
        RESTORED,
        "            if copy is not None:\n                self._disk.watch(copy)",
        "            if copy is not None:\n                self._book.forget(copy)",
    ),
    Fault(
        "what was typed before the crash is not what is open",
        RESTORED,
        "            if text is not None:\n                self._diffs.edited(entry.session_id",
        "            if text is None:\n                self._diffs.edited(entry.session_id",
    ),
    Fault(
        "a diff whose CLI is gone does not say so",
        RESTORED,
        "        if session is None or session.stream is None:\n            self._diffs.mark",
        "        if session is not None and session.stream is None:\n            self._diffs.mark",
    ),
    # The diffs, and the disk.
    Fault(
        "a text that the user typed is lost where the CLI closes the diff",
        DIFFS,
        "            self._book.hand_over(number, closed.text)\n"
        "            self._disk.watch(number)",
        "            self._book.forget(number)",
    ),
    Fault(
        "a tab that is lost loses the typed text",
        DIFFS,
        "            closed = ClosedDiff(entry.text, entry.is_edited)",
        "            closed = ClosedDiff(entry.text, False)",
    ),
    Fault(
        "the proposal of a CLI that is there is closed by another one",
        DIFFS,
        "return others[-1] if others and len(owners) == 1 and self._is_gone(others[-1]) else None",
        "return others[-1] if others and len(owners) == 1 else None",
    ),
    Fault(
        "a text that is on disk is held for the user",
        DISK,
        "        if sight is not None and sight.has_text:\n            self._forget(number)",
        "        if sight is not None and sight.has_text:\n            pass",
    ),
    Fault(
        "a text that could not be given back is forgotten",
        DISK,
        '            logger.warning("a text could not be given back yet: %s", error)\n',
        '            logger.warning("a text could not be given back yet: %s", error)\n'
        "            self._forget(number)\n",
    ),
    # A turn of the agent.
    Fault(
        "a turn that is cancelled again asks the agent to stop once more",
        TURN,
        "        if self.is_over or self._calls.is_cancelled:\n            return\n",
        "        if self.is_over:\n            return\n",
    ),
    Fault(
        "a turn cancelled before its start says its message",
        TURN,
        "            self._end(self._complete(CANCELLED))\n            return\n        # Sent",
        "            self._end(self._complete(CANCELLED))\n        # Sent",
    ),
    Fault(
        "a retry is told while a tool runs",
        TURN,
        "not self.is_over and self._calls.is_idle:",
        "not self.is_over:",
    ),
    Fault(
        "a bug of ours lets the agent work on",
        TURN,
        '            logger.exception("a turn broke off")\n            self._session.cancel()\n',
        '            logger.exception("a turn broke off")\n',
    ),
    Fault(
        "a change of the mode is part of the answer",
        TURN,
        "            if not self._agent.cli.own_mark.fullmatch(said.text):\n",
        "            if said.text:\n",
    ),
    Fault(
        "the tokens of the last answer replace those before it",
        TURN,
        "self.usage = sum_of([self.usage, self._agent.cli.usage(end.meta)])",
        "self.usage = self._agent.cli.usage(end.meta)",
    ),
    Fault(
        "an agent that does not end a cancelled turn works on unseen",
        TURN,
        "            self._session.client.give_up()\n",
        "            pass\n",
    ),
    Fault(
        "a turn that took too long counts as cancelled by the user",
        TURN,
        "self._end(_error(self._error) or self._complete(CANCELLED))",
        "self._end(self._complete(CANCELLED))",
    ),
    Fault(
        "a turn that took too long and ended in time counts as cancelled by the user",
        TURN,
        "body: Body | None = _error(self._error or error)",
        "body: Body | None = _error(error)",
    ),
    Fault(
        "an empty answer is an answer",
        TURN,
        "        if reason == END_TURN and not self._log.has_answer:\n            reason = EMPTY\n",
        "",
    ),
    # Its tool calls.
    Fault(
        "a text of the user's may come with any decision",
        CALLS,
        "if (outcome == MODIFY) != decision.has_texts:",
        "if outcome == MODIFY and not decision.has_texts:",
    ),
    Fault(
        "a decision leaves its call waiting for another one",
        CALLS,
        "        del self._pending[pending.call.id]\n",
        "",
    ),
    Fault(
        "the time for a decision runs on after it was made",
        CALLS,
        "            pending.timer.cancel()\n",
        "            pass\n",
        "what runs out finds nothing that waits: a decided call is asked about no second time",
    ),
    Fault(
        "a call that was rejected ends a second time",
        CALL_EVENTS,
        "                return None\n",
        "                pass\n",
    ),
    Fault(
        "a tool that was ended with its turn counts as done",
        CALLS,
        "success = call.status == COMPLETED and not self.is_cancelled",
        "success = call.status == COMPLETED",
    ),
    Fault(
        "what the agent asks for after the cancellation waits for the user",
        CALLS,
        "        if self.is_cancelled:\n            self._session.decide(request, None)\n"
        "        elif",
        "        if",
    ),
    Fault(
        "a call that is allowed for good is asked about all the same",
        CALLS,
        "        elif self._approvals.covers(call) and",
        "        elif False and",
    ),
    Fault(
        "where nobody can be asked a call waits",
        CALLS,
        "            self._reject(pending, STOPPED if self.is_cancelled else UNATTENDED)\n",
        "",
    ),
    Fault(
        "the agent hears nothing of a call that nobody decided on",
        CALLS,
        "            self._reject(pending, UNANSWERED)\n",
        "            self._calls.fail(pending.call, UNANSWERED, rejected=True)\n",
    ),
    Fault(
        "calls that run at the end of a turn run on",
        CALLS,
        "        for call in self._calls.running:\n            self._calls.fail(call, STOPPED)\n",
        "",
    ),
    # The files that it writes.
    Fault(
        "a cancelled turn writes files",
        WRITES,
        "            if self.is_cancelled:\n                raise NotWritten(CANCELLED)\n",
        "",
    ),
    Fault(
        "a file is overwritten that has changed since the user saw it",
        WRITES,
        "if seen is not None and not _is_as_seen(path, seen, is_changed):",
        "if False:",
    ),
    Fault(
        "the agent writes another text than the user saw",
        WRITES,
        "if plain(content) != plain(seen.diff.new_text):",
        "if False:",
    ),
    Fault(
        "the user's text gets line ends of its own",
        EDITED,
        '    if "\\r\\n" in content:\n        text = text.replace("\\n", "\\r\\n")\n',
        "",
    ),
    Fault(
        "the model does not hear that the user changed its text",
        WRITES,
        "if seen is not None and is_changed else",
        "if False else",
    ),
    Fault(
        "a text of the user's is written over a file in an unknown encoding",
        WRITES,
        "        return not is_changed\n",
        "        return True\n",
    ),
    Fault(
        "a file that could not be written whole is left half",
        EDITED,
        "                _overwrite(path, before)\n",
        "                pass\n",
    ),
    Fault(
        "a new file that could not be written whole stays",
        EDITED,
        "                os.unlink(path)\n",
        "                pass\n",
    ),
    Fault(
        "a longer text of before is seen behind the new one",
        EDITED,
        "        file.truncate()\n",
        "",
    ),
    Fault(
        "what the agent wrote over our write is not seen",
        WRITES,
        "            if found is not None:\n                self._agent.distrust()\n",
        "            found = None\n",
    ),
    Fault(
        "an agent that wrote over our write goes on being trusted",
        WRITES,
        "                self._agent.distrust()\n",
        "                pass\n",
    ),
    Fault(
        "an edit that nobody was asked about is told as one that somebody was",
        WRITES,
        "unasked=diffs if success and asked is None else ()",
        "unasked=()",
    ),
    Fault(
        "the user's text is written over what the agent wrote meanwhile",
        EDITED,
        "    if old and now.count(old) == 1:\n",
        "    if True:\n",
    ),
    Fault(
        "what the agent reports is not looked for on disk",
        WRITES,
        "        others = await self._others(call, diffs) if success else ()\n",
        "        others: tuple[Diff, ...] = ()\n",
    ),
    # The editor's side: single changes, the queue, comments, doubts, accepted edits.
    Fault(
        "the last change is gone on from at the first without a word",
        "companion/ui/review/single_changes.py",
        "            self._say(right, AGAIN if len(comparison.changes) > 1 else ONLY)\n",
        "            pass\n",
        tests=("test_single_changes",),
    ),
    Fault(
        "keep does not count the change as seen",
        "companion/ui/review/single_changes.py",
        "        self._reviews.saw(right, comparison.keys[number])\n",
        "        pass\n",
        tests=("test_single_changes",),
    ),
    Fault(
        "the caret goes on though the user types",
        "companion/ui/review/single_changes.py",
        "if right.change_count() != count and not right.is_read_only():",
        "if False:",
        tests=("test_single_changes",),
    ),
    Fault(
        "keeping goes on though the user does not want it",
        "companion/ui/review/single_changes.py",
        "if window is None or not settings.of(window).keep_goes_on:",
        "if window is None:",
        tests=("test_single_changes",),
    ),
    Fault(
        "a drop of the last change asks nothing",
        "companion/ui/review/single_changes.py",
        "        if len(comparison.changes) == 1:\n            await ask",
        "        if len(comparison.changes) == 0:\n            await ask",
        tests=("test_single_changes",),
    ),
    Fault(
        "the previous diff is the next one",
        "companion/ui/review/queue.py",
        "other = _beside(found, right, step)",
        "other = _beside(found, right, 1)",
        tests=("test_review_queue",),
    ),
    Fault(
        "a diff that was decided meanwhile is gone to",
        "companion/ui/review/queue.py",
        "is_there = number >= 0 and waiting(found[number]) is not None",
        "is_there = number >= 0",
        tests=("test_review_queue",),
    ),
    Fault(
        "the preview of the list stays",
        "companion/ui/review/queue.py",
        "            preview.end(is_back=not is_there)\n",
        "            pass\n",
        tests=("test_review_queue",),
    ),
    Fault(
        "comments are lost with an older proposal",
        "companion/ui/review/opening.py",
        '    words = comments.carry_over(older, right) if older else ""\n',
        '    words = ""\n',
        tests=("test_review_queue",),
    ),
    Fault(
        "the older proposal of a CLI stays beside the newer one",
        "companion/ui/review/opening.py",
        "return record.session_id == proposal.session_id or is_gone",
        "return is_gone",
        tests=("test_diff",),
    ),
    Fault(
        "the keyboard goes to each new proposal",
        "companion/ui/review/opening.py",
        "if not take_focus and keyboard is not None and keyboard.is_valid():",
        "if False:",
        tests=("test_diff",),
    ),
    Fault(
        "what was typed is lost where the proposal makes way",
        "companion/ui/review/opening.py",
        "            ending.put_away(claimed, None, OLDER)\n",
        "            pass\n",
        tests=("test_typed",),
    ),
    Fault(
        "doubts are not asked about",
        "companion/ui/review/accepting.py",
        "        if not found:\n            return True\n",
        "        if True:\n            return True\n",
        tests=("test_diff",),
    ),
    Fault(
        "an emptied proposal may be accepted",
        "companion/ui/review/accepting.py",
        "REJECT if ending.is_emptied(view, record) else decide",
        "decide",
        tests=("test_diff",),
    ),
    Fault(
        "a lost drop is not asked about",
        "companion/ui/review/accepting.py",
        "            found.append(LOST)\n",
        "            pass\n",
        tests=("test_large",),
    ),
    Fault(
        "an edit that was undone stays in the list",
        "companion/ui/review/history.py",
        "            self._edits.remove(edit)\n            self._save()\n",
        "            self._save()\n",
        tests=("test_review_history",),
    ),
    Fault(
        "unsaved changes of a tab are overwritten by undoing",
        "companion/ui/review/history.py",
        "        if texts.unsaved_view(edit.path) is not None:\n",
        "        if False:\n",
        tests=("test_review_history",),
    ),
    Fault(
        "a file that nobody wrote is undone",
        "companion/ui/review/history.py",
        "        elif present is not None and present.digest == edit.before.digest:\n"
        "            self._tell(NOT_WRITTEN)\n",
        "",
        tests=("test_review_history",),
    ),
    # The document of a chat.
    Fault(
        "a line of an answer looks like one of ours",
        MARKDOWN,
        'text = _LIKE_OURS.sub("\\n ", text)',
        "text = str(text)",
    ),
    Fault(
        "only the last piece of a line decides whether it is a fence",
        MARKDOWN,
        "self._line += last[: MAX_LINE - len(self._line)]",
        "self._line = last",
    ),
    Fault(
        "a fence goes on behind its quotation",
        MARKDOWN,
        'if prefix.count(">") < fence.depth or (told and column < fence.item):',
        "if told and column < fence.item:",
    ),
    Fault(
        "each place in the document is found by a look at all blocks",
        BLOCK,
        "start = self._lengths.before(number)",
        "start = sum(self._lengths[it] for it in range(number))",
    ),
    Fault(
        "what waits keeps the id of what waited before",
        BLOCK,
        "self._feet += not self._foot_length",
        "self._feet = 1",
    ),
    Fault(
        "a block that is over keeps what it was made of",
        BLOCK,
        "        if block.is_over:",
        "        if not block:",
    ),
    Fault(
        "an answer is drawn anew with each piece",
        SAID,
        "kept = self._kept\n",
        "kept, news = 0, self._prose.text\n",
    ),
    Fault(
        "what waited in a turn waits after it",
        TURN_BLOCKS,
        "self._waiting.end(self.id)",
        "self._waiting.end('')",
    ),
    Fault(
        "an event that was loaded is added again",
        TRANSCRIPT,
        "if not event.turn_id or event.number <= self._seen.get(event.turn_id, -1):",
        "if not event.turn_id:",
    ),
    Fault(
        "the end of a turn does not tell its model",
        SAID,
        "(self._body.mode, self._body.model)",
        "(self._body.mode,)",
    ),
    Fault(
        "the time that the user took to decide counts as the tool's",
        CALL_BLOCK,
        "if body.status == EXECUTING:",
        "if not body.status:",
    ),
    Fault(
        "a turn counts the files of its last edit alone",
        TURN_BLOCKS,
        "self._changed.update(body.changed)",
        "self._changed = set(body.changed)",
    ),
    Fault(
        "of a command in question a part is shown as if it were all",
        WAITING,
        'excerpt(question.command, str, MAX_COMMAND).write(pen, "sh", question.id)',
        "pen.write(question.command[:MAX_COMMAND])",
    ),
    Fault(
        "the decisions are in the agent's order",
        QUESTION,
        "key=lambda it: places.get(it.outcome, len(ORDER) - 1.5)",
        "key=lambda it: 0",
    ),
)
