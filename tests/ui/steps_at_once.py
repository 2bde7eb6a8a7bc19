"""Stories without the editor's queue: each step runs as soon as its answer is there."""

from __future__ import annotations

from functools import partial
from typing import Any

from GeminiCompanion.companion.ui.stories import Stories, Story


class StepsAtOnce(Stories):
    """For tests that give each answer themselves, on one thread."""

    def __init__(self) -> None:
        super().__init__(print)
        self.stories: set[Story] = set()

    def begin(self, story: Story, *ends_with: Any) -> None:
        self.stories.add(story)
        self._go(story)

    def stop(self) -> None:
        while self.stories:
            self.stories.pop().close()

    def _go(self, story: Story) -> None:
        if story not in self.stories:
            return
        try:
            awaited = story.send(None)
        except StopIteration:
            self.stories.discard(story)
        else:
            awaited.when_there(partial(self._go, story))
