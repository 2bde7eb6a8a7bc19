"""The state of the CLIs in the status bar of each window. UI thread only."""

from __future__ import annotations

import time
from collections import Counter
from typing import Callable, Mapping

import sublime

from ..edits.ledger import EditCounts
from ..ide import live_words
from ..ide.clis import short_label
from ..ide.editor import ConnectedClient, Status
from . import settings
from .agents.agent_row import StateCounts
from .status_texts import set_status, show_status

KEY = "gemini_companion"
# The package's own name, beside what is no CLI's state, and the states of the package.
PACKAGE, OFF, NO_CLI, PAUSED = "Gemini", "off", "no CLI", "paused"
WAITING, SEVERAL = "{} waiting", "{} ×{}"
UNWRITTEN, UNSAVED = "{} edit{} not written", "not saved"
UNSEEN = "{} edit{} to look at"
LOST = "type /ide enable in {}"
SUMMED_UP = "{} (Agents)"


class StatusBar:
    """The text of all windows, and a message when a CLI comes or leaves. Only visible views have
    the text: a view that is activated gets it then, so that ten thousand tabs cost nothing.

    `mention` shows a sentence of less importance. `is_running` says whether the companion runs.
    `is_paused` says whether sharing is paused in a window. `lost` names the CLIs that wait for
    `/ide enable`. `counts` says how many edits of a window, by its id, wait for the user in some
    way. `asked` says what waits for an answer in the chats of a window, or is empty. `agents`
    counts all that the list of all agents has by what they do: several that ask or work are summed
    up, a single one is named.
    """

    def __init__(
        self,
        mention: Callable[[str], None],
        is_running: Callable[[], bool],
        is_paused: Callable[[sublime.Window], bool],
        lost: Callable[[sublime.Window], tuple[str, ...]],
        counts: Callable[[int], EditCounts],
        asked: Callable[[sublime.Window], str],
        agents: Callable[[], StateCounts],
    ) -> None:
        self._mention = mention
        self._is_running = is_running
        self._is_paused = is_paused
        self._lost = lost
        self._counts = counts
        self._asked = asked
        self._agents = agents
        # By window id; None before the first report.
        self._statuses: Mapping[int, Status] | None = None
        # The text of each window, by its id.
        self._shown: dict[int, str] = {}

    def update_statuses(self, statuses: tuple[Status, ...]) -> None:
        """This is the state of all windows now."""
        before, self._statuses = self._statuses or {}, {each.window_id: each for each in statuses}
        for id, status in self._statuses.items():
            window, known = sublime.Window(id), before.get(id)
            if window.is_valid() and settings.current_settings(window).messages:
                self._mention_clis(known.clients if known is not None else (), status.clients)
        self.refresh_texts()

    def _mention_clis(
        self, before: tuple[ConnectedClient, ...], now: tuple[ConnectedClient, ...]
    ) -> None:
        for label in _labels_of_new(before, now):
            self._mention(f"{label} is connected.")
        for label in _labels_of_new(now, before):
            self._mention(f"{label} has left.")

    def refresh_texts(self) -> None:
        """Show the text of each window again if it has changed."""
        counts = self._agents()
        for window in sublime.windows():
            text = self._window_text(window, counts)
            if self._shown.get(window.id(), "") != text:
                self._shown[window.id()] = text
                show_status(window, KEY, text)

    def refresh_view(self, view: sublime.View) -> None:
        """The view has got the keyboard."""
        window = view.window()
        if window is not None:
            set_status(view, KEY, self._shown.get(window.id(), ""))

    def stop(self) -> None:
        """Remove the text everywhere."""
        for window in sublime.windows():
            for view in window.views() if window.id() in self._shown else []:
                view.erase_status(KEY)
        self._shown.clear()

    def _window_text(self, window: sublime.Window, agents: StateCounts) -> str:
        if not settings.current_settings(window).status_bar:
            return ""
        counts, status = self._counts(window.id()), (self._statuses or {}).get(window.id())
        summary = self._summary_words(window, agents, counts.asked)
        name, state = self._window_state(window, counts.asked, bool(summary))
        lost = ", ".join(dict.fromkeys(self._lost(window)))
        more = [LOST.format(lost)] if lost else []
        for words, count in ((UNSEEN, counts.written), (UNWRITTEN, counts.unwritten)):
            if count:
                more.append(words.format(count, "" if count == 1 else "s"))
        if status is not None and status.unsaved:
            more.append(UNSAVED)
        asked = summary or self._asked(window)
        if asked or lost:
            # What comes first is not the state of the CLIs that are named.
            state = "" if state == NO_CLI else state
            # A chat's agent asks under its own name, and edits wait of whomever.
            is_own = name == PACKAGE and not (asked and state in (OFF, PAUSED))
            state = f"{name} {state}" if state and name and not is_own else state
            name = "" if asked else PACKAGE
        return ": ".join(filter(None, (name, ", ".join(filter(None, (asked, state, *more))))))

    def _summary_words(self, window: sublime.Window, agents: StateCounts, waiting: int) -> str:
        """Empty if none asks or works, and if it is one that the window names."""
        is_named = self._asked(window) or self._live_state(window) is not None
        if sum(agents) == 1 and (is_named or (agents.asks and waiting)):
            return ""
        return SUMMED_UP.format(agents.words) if sum(agents) else ""

    def _live_state(self, window: sublime.Window) -> live_words.LiveState | None:
        status = (self._statuses or {}).get(window.id())
        return live_words.most_urgent_state(status.live if status is not None else (), time.time())

    def _window_state(
        self, window: sublime.Window, waiting: int, is_summed: bool
    ) -> tuple[str, str]:
        """Whose state it is, and the state; both may be empty. What CLIs do is left out where it
        `is_summed` up."""
        status = (self._statuses or {}).get(window.id())
        clients = status.clients if status is not None else ()
        kinds = Counter(short_label(client.name) for client in clients)
        live = None if is_summed else self._live_state(window)
        if live is not None and live.activity is live_words.Activity.ASKS:
            return live.names, live.words
        if waiting:
            return ", ".join(kinds) or PACKAGE, WAITING.format(waiting)
        if self._statuses is None and self._is_running():
            return "", ""
        if status is None or not status.port or not self._is_running():
            return PACKAGE, OFF
        if self._is_paused(window):
            return PACKAGE, PAUSED
        if live is not None:
            return live.names, live.words
        if not kinds:
            return PACKAGE, NO_CLI
        names = (SEVERAL.format(*kind) if kind[1] > 1 else kind[0] for kind in kinds.items())
        return ", ".join(names), ""


def _labels_of_new(
    before: tuple[ConnectedClient, ...], now: tuple[ConnectedClient, ...]
) -> list[str]:
    """The labels of those that are not among the earlier ones. One that took the place of another
    with its name is not new: a CLI comes back as another session."""
    known = {client.session_id for client in before}
    kept = {client.session_id for client in now}
    replaced = Counter(client.name for client in before if client.session_id not in kept)
    labels = []
    for client in now:
        if client.session_id in known:
            continue
        if replaced[client.name]:
            replaced[client.name] -= 1
        else:
            labels.append(client.label)
    return labels
