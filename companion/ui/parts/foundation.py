"""What parts of each subject need: the companion, its stories and messages."""

from __future__ import annotations

import os

from ...ide.companion import Companion, Reach
from ..keyboard import Keyboard
from ..known_trees import KnownTrees
from ..loop_calls import LoopCalls
from ..notices import Notices
from ..stories import Stories
from ..unseen_messages import UnseenMessages
from ..user_messages import UserMessages


class Foundation:
    """One companion, whose state is in the file of that path, and what leads to it and to the
    user. The `trees` outlive it."""

    def __init__(
        self, state_path: str, reach: Reach, unseen: UnseenMessages, trees: KnownTrees
    ) -> None:
        self.trees = trees
        self.companion = Companion(os.getppid(), state_path, reach)
        self.calls = LoopCalls()
        self.keyboard = Keyboard()
        self.messages = UserMessages(unseen)
        self.stories = Stories(self.messages.warn_user)
        self.notices = Notices(self.stories)

    def stop(self) -> None:
        self.calls.stop()
        # This thread does not wait; the next companion does, on its own thread.
        self.companion.stop(join=0)

    def quit(self) -> None:
        """The editor quits and its API no longer works."""
        self.calls.stop()
        self.companion.quit()
