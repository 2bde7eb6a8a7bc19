"""What the editor shows at a moment, read from it for the person at the terminal."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from headless import clicks, html_text

from . import hints, link_lists, proposals, tabs
from .messages import Messages
from .proposals import Proposal
from .tabs import Tab


class State(NamedTuple):
    """`waiting` are the paths of the diffs that wait in tabs, by the ids of their views, and
    `without_tabs` counts the others. `active` is the diff with the keyboard, if it is one;
    `question` a quick panel or an input panel; `page` the id of the tab with HTML in front; `view`
    that of the tab with the keyboard, and `tab` what is shown of it, where it is; it may have
    `links`. `escape` is what Escape does to what is shown; `message` what the status bar said last,
    `messages` how often it has said anything, and `status` what stands there; `clipboard` what was
    copied; `folders` are those of all windows, `open_tabs` the names of what `g` lists."""

    waiting: Dict[int, str]
    without_tabs: int
    active: Optional[int]
    proposal: Optional[Proposal]
    question: Optional[Any]
    panel: str
    page: Optional[int]
    view: Optional[int]
    tab: Optional[Tab]
    has_links: bool
    escape: str
    message: str
    messages: int
    status: str
    clipboard: str
    folders: Tuple[str, ...]
    open_tabs: Tuple[str, ...]


class ShownEditor:
    """`current` is the diff that is shown, by the id of its view."""

    def __init__(self, editor: Any, messages: Messages) -> None:
        self.current: Optional[int] = None
        self._editor = editor
        self._messages = messages
        self._active: Optional[int] = None
        # The tab with a file, or to be saved, that the person wants to see.
        self._wanted: Optional[int] = None

    def want(self, view: int) -> None:
        """The person wants to see the tab of this view, whatever it is."""
        self._wanted = view

    def ask_state(self) -> State:
        state: State = self._editor.ui(self._read_state)
        return state

    def find_question(self) -> Optional[Any]:
        """A quick panel or an input panel, that of the window in front before others."""
        windows = [self._editor.active_window, *self._editor.windows]
        found = [
            window.question
            for window in windows
            if window is not None and window.question is not None
        ]
        return found[0] if found else None

    def find_page(self) -> Optional[Any]:
        """The tab with HTML that is before the user."""
        window = self._editor.active_window
        sheet = window.active_sheet() if window is not None else None
        return sheet if sheet is not None and sheet.view is None else None

    def ask_tab(self) -> Optional[Any]:
        """The tab that is shown; not while something that opens another one still runs."""
        return self._editor.ui(self.find_tab)

    def find_tab(self) -> Optional[Any]:
        """On the UI thread: the view before the user, where it is no file."""
        view = self._front_view()
        is_shown = proposals.shown_only(view) is not None or self.is_wanted(view)
        return view if is_shown else None

    def is_wanted(self, view: Any) -> bool:
        return view is not None and view.id == self._wanted

    def close_front(self) -> None:
        """On the UI thread: what stands above the messages, a panel before the tab below it."""
        window, page, view = self._editor.active_window, self.find_page(), self._front_view()
        if self._messages.is_listed:
            self._messages.hide_list()
        elif window is not None and window.active_panel is not None:
            window.hide_panel()
        elif page is not None:
            self._editor.close_sheet(page)
        elif view is not None and view.settings.get(tabs.CHAT):
            # One Escape too many would answer its questions with no.
            self._messages.say("A chat stays open. While you write in it, Ctrl+W closes it.")
        elif proposals.shown_only(view) is not None:
            self._editor.close_view(view)
        else:
            self._wanted = None

    def _front_view(self) -> Optional[Any]:
        window = self._editor.active_window
        return window.active_view() if window is not None else None

    def _read_state(self) -> State:
        """On the UI thread."""
        views = {view.id: view for view in proposals.waiting_views(self._editor)}
        window, view = self._editor.active_window, self._front_view()
        active = view.id if view is not None and view.id in views else None
        on_top = proposals.views_on_top(window) if window is not None else []
        self._follow_front(list(views), active, [id for id in on_top if id in views])
        shown = views.get(self.current) if self.current is not None else None
        name = window.active_panel if window is not None else None
        panel = window.panel_named(name) if name else None
        page = self.find_page()
        tab = tabs.read_tab(view, is_wanted=self.is_wanted(view))
        return State(
            {id: str(each.settings.get(proposals.PATH)) for id, each in views.items()},
            proposals.count_hidden(self._editor),
            active,
            proposals.read_proposal(self._editor, shown) if shown is not None else None,
            self.find_question(),
            panel.view.text.characters if panel is not None else _page_text(page),
            page.id if page is not None and panel is None else None,
            view.id if view is not None else None,
            tab,
            tab is not None and link_lists.has_links(view),
            self._escape_hint(view, panel, page),
            self._editor.status_message,
            self._editor.status_count,
            "  ".join(view.status[key] for key in sorted(view.status)) if view is not None else "",
            self._editor.clipboard,
            tuple(folder for each in self._editor.windows for folder in each.folders),
            tuple(tabs.tab_name(each) for each in tabs.list_views(self._editor)),
        )

    def _escape_hint(self, view: Any, panel: Any, page: Any) -> str:
        """What the key does now; "" where it does nothing."""
        if self._messages.is_listed or panel is not None or page is not None:
            return hints.CLOSES
        if view is not None and view.settings.get(tabs.CHAT):
            return hints.CHAT_CLOSES
        if proposals.shown_only(view) is not None:
            return hints.CLOSES
        return hints.HIDES if self.is_wanted(view) else ""

    def _follow_front(self, waiting: List[int], active: Optional[int], on_top: List[int]) -> None:
        """The diff that was last brought to the front is shown; `on_top` are those that are in
        front in their groups."""
        before = self.current
        if active is not None and active != self._active:
            self.current = active
        elif on_top and self.current not in on_top:
            self.current = on_top[0]
        elif self.current not in waiting:
            self.current = waiting[0] if waiting else None
        self._active = active
        if self.current != before:
            self._wanted = None


def _page_text(page: Optional[Any]) -> str:
    """What a tab with HTML says, and which key follows which of its links."""
    if page is None:
        return ""
    links = clicks.sheet_links(page)
    keys_of_links = ["[%d] %s" % (at, link.text) for at, link in enumerate(links, 1)]
    # First, since a small terminal does not show the end.
    lines = ["  ".join([*keys_of_links, "[Escape] close this"]), *html_text.page(page.contents)]
    return "\n".join(lines)
