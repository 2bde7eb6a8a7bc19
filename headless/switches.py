"""The behaviours nobody could confirm, or that differ by build: each one a switch."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Optional, Tuple


@dataclass
class Switches:
    """How this editor behaves where the real ones differ; may be changed while it runs."""

    # Closing a window or quitting tells each view's listeners; with hot exit it does not.
    close_events: bool = False
    # on_pre_close_window comes; reported missing since build 4126 (sublime_text#5148).
    pre_close_window: bool = False
    # A view that closes while it has the focus hears on_deactivated between its close events.
    deactivate_on_close: bool = False
    # Typing tells on_modified before on_selection_modified.
    modified_first: bool = True
    # Phantoms go when the whole buffer is reloaded or reverted.
    phantoms_survive_reload: bool = True
    # on_text_changed comes so many milliseconds after its command, from the first number to the
    # second, and tells of all changes until then; None: within it (sublime_text#3299, #6895).
    text_event_delay: Optional[Tuple[float, float]] = None
    # Commands whose is_enabled is false are skipped by run_command too.
    disabled_commands_skip: bool = True
    # Files that change on disk are noticed within this many seconds; 0 only upon focus.
    watch_seconds: float = 1.0
    # A command chosen in the palette tells on_window_command, on_text_command and on_post_*;
    # a real one tells nobody (sublime_text#2234).
    palette_hooks: bool = False
    # The size of every window and of a character's cell, in device-independent pixels.
    window_width: float = 1280.0
    window_height: float = 800.0
    em_width: float = 8.0
    line_height: float = 19.0
    # view.sheet() of a panel answers a text sheet with id 0 (build 4200), not None.
    panel_sheet_zero: bool = True


def for_build(build: int) -> Switches:
    return Switches(pre_close_window=build < 4126, panel_sheet_zero=build <= 4200)


def set_worst(switches: Switches, seed: int) -> None:
    """Choose, by the seed, the worst that a real editor may do where that is not documented."""
    chance = random.Random(seed)
    switches.text_event_delay = chance.choice(((0.0, 0.0), (2.0, 2.0), (2.0, 50.0)))
