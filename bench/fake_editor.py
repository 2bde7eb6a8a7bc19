"""An editor that keeps its diffs in a dictionary, so that only the companion is measured."""

from __future__ import annotations

from typing import Dict, Optional, Tuple

from companion.ide.editor import YOURS, ClosedDiff, Editor, Proposal, UnaskedEdit
from companion.ide.status import Status


class FakeEditor(Editor):
    def __init__(self) -> None:
        self._diffs: Dict[Tuple[str, str], str] = {}

    async def open_diff(self, window_id: int, proposal: Proposal) -> None:
        self._diffs[proposal.session_id, proposal.path] = proposal.content

    async def close_diff(
        self, window_id: int, session_id: str, path: str, decided: bool = True
    ) -> Optional[ClosedDiff]:
        text = self._diffs.pop((session_id, path), None)
        return None if text is None else ClosedDiff(text, is_edited=False)

    async def restore_text(
        self, window_id: int, session_id: str, path: str, saved: Optional[str]
    ) -> Optional[str]:
        return self._diffs.get((session_id, path))

    def set_orphaned(self, window_id: int, session_id: str, orphaned: bool) -> None:
        pass

    async def return_text(self, window_id: int, path: str, text: str, remark: str = YOURS) -> None:
        pass

    def show_status(self, statuses: tuple[Status, ...]) -> None:
        pass

    def gather_edit(self, window_id: int, edit: UnaskedEdit) -> None:
        pass

    def show_message(self, sentence: str, about: str = "") -> None:
        print(sentence, flush=True)

    def withdraw_message(self, about: str) -> None:
        pass
