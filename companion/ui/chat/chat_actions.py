"""What the user does with chats: opens one, sends, stops, follows a link. UI thread only."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence, TypeVar

import sublime

from ...base.answer import Answer
from ...base.signal import ValueSignal
from ...chat.attached import Attached
from ...chat.chat_update import FAILED, ChatUpdate
from ...chat.rendered import OPEN_EDIT, SHOW_OUTPUT, Link
from .. import views
from ..known_trees import KnownTrees
from ..review import open_diffs
from ..stories import Stories
from . import chat_places, link_actions
from .answering import QUESTION_ACTIONS, Answering
from .chat_drawing import ChatDrawing
from .chat_tabs import ChatTabs
from .chat_unasked import ChatUnasked
from .chat_view import CONVERSATION, NAME, ChatView, workspace_of
from .composing import Composing
from .drafts import Drafts, folder_of
from .edit_reviews import Accept, EditReviews
from .link_actions import Followed
from .message_sending import MessageSending
from .replies import Replies
from .service_access import ServiceAccess
from .short_questions import ShortQuestions
from .told_context import ToldContext
from .waiting_questions import WaitingQuestion, WaitingQuestions

if TYPE_CHECKING:
    from ...agent.tool_servers import ToolServer
    from ...chat.chat_service import ChatService
    from ...chat.requests import ChatRequest
    from ..engines import Engines

T = TypeVar("T")
NOTHING = "There is nothing to send: write a message at the end of the chat."
NO_WORDS = "Write a message first: what is attached is sent with it."
ON_ITS_WAY = "Your last message is still on its way; send this one in a moment."


class ChatActions:
    """`access` leads to the service. `edits` and `unasked` hear what agents want to edit, and have
    edited, `notify` gets a sentence for the desktop and its window. `accept` accepts a review.
    `trees` are those that agents have for themselves. `updates_drawn` tells a chat of which an
    update was drawn."""

    def __init__(
        self,
        engines: Engines,
        drafts: Drafts,
        stories: Stories,
        tell: Callable[[str], None],
        warn: Callable[[str], None],
        access: ServiceAccess,
        edits: EditReviews,
        unasked: ChatUnasked,
        context: ToldContext,
        notify: Callable[[sublime.Window, str], None],
        accept: Accept,
        trees: KnownTrees,
    ) -> None:
        self.engines = engines
        self.trees = trees
        self.drafts = drafts
        self.context = context
        self.stories = self._stories = stories
        self._tell = tell
        self.tabs = ChatTabs(
            drafts, self.load_transcript, self.leave_chat, self._follow_link, trees.place_of
        )
        self.questions = WaitingQuestions(self.tabs, stories, notify)
        self.access, self.ensure_service = access, access.ensure_service
        replies = Replies(stories, tell, warn, access.ensure_service, edits, accept)
        self.answering = Answering(self.questions, replies, stories, tell)
        self.short_questions = ShortQuestions(replies, tell)
        self.updates_drawn = ValueSignal[ChatView]()
        self.drawing = ChatDrawing(
            lambda: self.tabs.chats,
            stories.begin,
            self._follow_update,
            (self.leave_chat, self.load_transcript),
        )
        access.updates.subscribe(self.drawing.draw_soon)
        access.failures.subscribe(self._show_failure)
        self.tabs.views_added.subscribe(self.drawing.finish_transcript)
        self.tabs.closings.subscribe(self._close_chat)
        self.composing = Composing(
            self.tabs, self._open_in_service, context.taken_back, drafts, trees, stories, tell
        )
        shown = self.tabs, self._open_in_service, self.composing
        self._sending = MessageSending(*shown, context, drafts, stories)
        self._edits, self._unasked = edits, unasked
        edits.wanted_questions.subscribe(lambda key: self.answering.show_call(*key))
        # The conversations that are open in the service.
        self._opened: set[str] = set()

    def start(self) -> None:
        self.tabs.start()

    def stop(self) -> None:
        """Leave the tabs as they are for the next start."""
        self.tabs.stop()
        self.drafts.save()
        if self.access.service is not None:
            self.access.service.stop()

    def quit(self) -> None:
        """The editor quits and its API no longer works."""
        self.drafts.finish()

    # Tabs

    async def show_question(self, asked: WaitingQuestion, window: sublime.Window) -> None:
        """Bring it into sight, and the review of its edit beside it."""
        self.questions.show_question(asked, window)
        await self._edits.bring_into_sight(asked.chat.conversation, asked.question.id)

    def show_chat(self, window: sublime.Window) -> None:
        """Go to the chat of the window, or open one: that with an unsent text, or a new one."""
        view = self.tabs.in_window(window)
        chat = self.tabs.chat_of(view) if view is not None else None
        if chat is not None:
            self.open_chat(window, chat.conversation)
        else:
            self.open_chat(window, self.drafts.latest_conversation(folder_of(window)) or new_id())

    def open_new_chat(
        self,
        window: sublime.Window,
        agent: str = "",
        words: str = "",
        attached: tuple[Attached, ...] = (),
        workspace: str = "",
    ) -> None:
        """A new chat, beside those that are open, with the agent of this id, or else the usual one;
        the words stand in its composer, with what is attached to them. Without a `workspace` it is
        in the window's folder."""
        conversation = new_id()
        if words or attached:
            self.drafts.keep_text(conversation, words, folder_of(window), attached)
        self.open_chat(window, conversation, agent, workspace)

    def open_chat(
        self, window: sublime.Window, conversation: str, agent: str = "", workspace: str = ""
    ) -> None:
        """Go to the tab of the conversation, wherever it is, or open one. `agent` and `workspace`
        are for a new conversation."""
        view = chat_places.view_of(conversation, window)
        if view is None:
            if agent or workspace:
                self.drafts.keep_start_options(conversation, agent, workspace)
            view = self._open_tab(window, conversation)
        home = view.window() or window
        if home != window:
            home.bring_to_front()
        home.focus_view(view)
        chat = self.tabs.chat_of(view)
        if chat is not None:
            chat.composer.go_to_end(view)

    def _open_tab(self, window: sublime.Window, conversation: str) -> sublime.View:
        window.focus_group(open_diffs.group_without_diff(window))
        view = window.new_file()
        view.set_name(NAME)
        view.settings().set(CONVERSATION, conversation)
        self.tabs.activate_view(view)
        return view

    def load_transcript(self, chat: ChatView) -> None:
        """Have its transcript come, once for each tab."""
        if chat.conversation not in self._opened or chat.told is None:
            chat.show_state()
            self._stories.begin(self._open_in_service(chat))

    async def _open_in_service(self, chat: ChatView) -> ChatService | None:
        """The service, in which the chat is open; None if there is none, or no tab any more."""
        service = await self.ensure_service()
        window = chat.views[0].window() if chat.views else None
        if service is None or window is None:
            return None
        if chat.told is None and chat.conversation in self._opened:
            # Another tab shows it: all of it comes anew for both.
            self.leave_chat(chat)
        if chat.conversation not in self._opened and chat.views:
            self._opened.add(chat.conversation)
            agent, workspace = self.drafts.start_options(chat.conversation)
            folder = workspace or folder_of(window)
            folders = views.window_folders(window)
            tools: Answer[Sequence[ToolServer]] = Answer()
            chat.show_update(service.open_chat(folder, agent, chat.conversation, tools, folders))
            self._stories.begin(self.context.tell_servers(window, tools))
        return service

    def leave_chat(self, chat: ChatView) -> None:
        """It is not shown any more, until `load_transcript`."""
        self._opened.discard(chat.conversation)
        if self.access.service is not None:
            self.access.service.close_chat(chat.conversation)

    def _follow_update(self, chat: ChatView) -> None:
        window = chat.views[0].window()
        if window is not None and chat.told is not None:
            self.context.follow_update(chat.told)
            self._edits.follow_update(window, chat.told)
            self._unasked.follow_update(window, chat.told)
        self.answering.follow_update(chat)
        self.updates_drawn.emit(chat)

    def _close_chat(self, chat: ChatView) -> None:
        self.composing.withdraw_panel(chat)
        self.answering.close_questions(chat)
        self._edits.forget_chat(chat.conversation)
        self.context.forget_conversation(chat.conversation)

    def _show_failure(self, problem: str) -> None:
        """There is no service: say so in the chats of which nothing else is known."""
        for chat in self.tabs.chats:
            if chat.told is None or chat.told.state == FAILED:
                chat.show_update(ChatUpdate(chat.conversation, FAILED, problem))

    # Messages

    def send_message(self, window: sublime.Window, text: str | None) -> None:
        """Send the text, or what is in the composer, to the chat of the window."""
        view = self.tabs.in_window(window)
        if view is None:
            self.show_chat(window)
            view = self.tabs.in_window(window)
        chat = self.tabs.chat_of(view) if view is not None else None
        if chat is None:
            return
        if self._sending.is_under_way(chat.conversation):
            self._tell(ON_ITS_WAY)
            return
        words = chat.composer.text if text is None else text
        attached = chat.above.attached if text is None else ()
        if words.strip() or any(attachment.text.strip() for attachment in attached):
            written = words if text is None else ""
            self._sending.begin_sending(window, chat, words, written, attached)
        else:
            self._tell(NO_WORDS if attached else NOTHING)

    def stop_turn(self, window: sublime.Window) -> None:
        """End the turn that runs in the chat of the window."""
        view = self.tabs.in_window(window)
        chat = self.tabs.chat_of(view) if view is not None else None
        if chat is not None and self.access.service is not None:
            from ...chat.requests import Stop

            story = self.ask_service(chat, Stop(chat.conversation))
            self._stories.begin(story)

    async def ask_service(self, chat: ChatView, request: ChatRequest[T]) -> T | None:
        """The answer to a request about the chat, which is opened before; None if there can be no
        service, which the user is told. Raises Unanswered."""
        service = await self._open_in_service(chat)
        if service is None:
            return None
        answer: Answer[T] = service.ask(request)
        return await answer

    def _follow_link(self, view: sublime.View, chat: ChatView, link: Link) -> None:
        argument = link_actions.argument_of(link)
        if link.action in QUESTION_ACTIONS:
            self.answering.follow_link(view, chat, link.action, argument)
            return
        if link.action == SHOW_OUTPUT and self.answering.show_all(view, chat, argument):
            return
        if link.action == OPEN_EDIT and self.answering.show_edit(view, chat, argument):
            return
        self._stories.begin(self._follow_action(view, chat, link.action, argument), view)

    async def _follow_action(
        self, view: sublime.View, chat: ChatView, action: str, argument: Mapping[str, Any]
    ) -> None:
        window = view.window()
        folder = await workspace_of(chat, window) if window is not None else ""
        service = await self._open_in_service(chat)
        if service is not None:
            others = chat.told.other_folders if chat.told is not None else ()
            folders = (folder, *others)
            followed = Followed(view, chat.conversation, argument, folders, self._tell)
            await link_actions.follow_link(followed, service, action)


def new_id() -> str:
    """An id of a conversation that does not exist yet, as the engine makes them."""
    return secrets.token_hex(16)
