"""Texts that are too large to be shown whole: the views have the parts that differ; if those are
not known, the beginning."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import sublime

from ...base.background import in_thread
from ...base.comparison import Comparison
from ...base.digest import LARGE, Digest, digest_of
from ...base.file_content import CUT, Original
from ...base.large_json import TRUNCATED_TO
from ...ide.editor import Proposal
from .. import texts

PARTS = "only the changed parts"
TOO_LARGE = "The file is too large to be shown whole; only its beginning is."


async def digest_for(proposal: Proposal, original: Original) -> Digest | None:
    """What is shown instead of the two texts, computed on a thread of its own. None if they can be
    shown whole or cannot be compared, or if the differing parts are too large as well."""
    # A proposal that is shown again was edited here, so it must stay editable.
    can_be = proposal.is_whole and not proposal.may_be_edited and not original.note
    if not can_be or max(len(proposal.content), len(original.text)) <= LARGE:
        return None
    return await in_thread(partial(differing_parts, original.text, proposal.content))


def differing_parts(old: str, new: str) -> Digest | None:
    """The digest of two texts; None if they can be shown whole, or if the differing parts are too
    large as well."""
    if max(len(old), len(new)) <= LARGE:
        return None
    found = digest_of(old, new)
    shown = max(found.shown.old.starts[-1], found.shown.new.starts[-1])
    return found if shown <= LARGE else None


def can_be_shown_whole(*texts: str) -> bool:
    return max(map(len, texts)) <= LARGE


def shown_texts(
    proposal: Proposal, original: Original, digest: Digest | None
) -> tuple[Proposal, Original]:
    """The two texts as far as the views show them."""
    if digest is not None:
        content = digest.shown.new.text
        return proposal._replace(content=content, is_whole=False), shown_original(original, digest)
    if len(proposal.content) > LARGE:
        proposal = proposal._replace(content=proposal.content[:TRUNCATED_TO], is_whole=False)
    return proposal, shown_beginning(original)


def shown_original(original: Original, digest: Digest) -> Original:
    text = digest.shown.old.text
    return replace(original, text=text, traits=(*original.traits, PARTS))


def shown_beginning(original: Original) -> Original:
    """The file; of a large one, the beginning."""
    if len(original.text) <= LARGE:
        return original
    traits, text = (*original.traits, CUT), original.text[:TRUNCATED_TO]
    return replace(original, text=text, note=TOO_LARGE, traits=traits)


def show_dropped(right: sublime.View, before: Comparison, after: Comparison) -> None:
    """Change the view from `before` to `after`, which has other changes dropped."""
    parts = [
        (
            sublime.Region(*before.new.region(old.new_start, old.new_end)),
            "".join(after.new.rows[new.new_start : new.new_end]),
        )
        for key, old, new in zip(after.keys, before.changes, after.changes)
        if (key in before.dropped) != (key in after.dropped)
    ]
    right.set_read_only(False)
    texts.replace_parts(right, parts)
    right.set_read_only(True)
