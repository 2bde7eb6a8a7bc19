"""The pages, and what their links do."""

from __future__ import annotations

import sublime

from ..extension_setup import ExtensionSetup
from ..found_agents import FoundAgents
from ..pages import doctor, welcome
from ..pages.checkups import Checkups
from ..pages.remedies import Remedies
from ..pages.shared_pages import SharedPages
from .foundation import Foundation


class PageParts:
    def __init__(self, base: Foundation) -> None:
        companion, stories, tell = base.companion, base.stories, base.messages.tell_user
        self._stories = stories
        self.shared_pages = SharedPages(companion, stories)
        agents = FoundAgents(stories)
        self.welcome = Checkups(
            companion,
            stories,
            welcome.NAME,
            lambda found: welcome.welcome_page(found, agents.known_agents()),
        )
        agents.changes.subscribe(self.welcome.examine_visible)
        self.doctor = Checkups(companion, stories, doctor.NAME, doctor.doctor_page)
        self.extension_setup = ExtensionSetup(tell, self.look_again)
        self.remedies = Remedies(companion, tell, self.look_again)
        self.polls = (
            self.welcome.poll_visible,
            self.doctor.poll_visible,
            self.shared_pages.refresh_pages,
        )

    def start(self) -> None:
        self._stories.begin(self.extension_setup.renew_extensions())

    def stop(self) -> None:
        """Close the pages, because nobody updates them any more."""
        self.shared_pages.stop()
        self.welcome.stop()
        self.doctor.stop()

    def look_again(self) -> None:
        """Something has changed that a page may show."""
        self.welcome.examine_visible()
        self.doctor.examine_visible()

    def in_front(self) -> list[tuple[sublime.Window, str]]:
        """The windows in which a page is in front, and the command that opens it."""
        pages = {"gemini_companion_welcome": self.welcome, "gemini_companion_doctor": self.doctor}
        shown = [(window, name) for window in sublime.windows() for name in pages]
        return [(window, name) for window, name in shown if pages[name].is_in_front(window)]
