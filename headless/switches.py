"""The behaviours nobody could confirm, or that differ by build: each one a switch."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple


@dataclass
class Switches:
    """How this editor behaves where the real ones differ; may be changed while it runs. `chance`
    says what happens where several things may."""

    chance: random.Random = field(default_factory=random.Random)

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
    # on_text_changed comes so many milliseconds after its command, from the first number to the
    # second, and tells of all changes until then; None: within it (sublime_text#3299, #6895).
    text_event_delay: Optional[Tuple[float, float]] = None
    # A phantom shows in all views of its buffer; those of the first view stay when that is closed,
    # without reacting, and nobody can erase them (sublime_text#6188; LSP; ColorHelper#187).
    phantoms_of_buffer: bool = False
    # How high a phantom is, is known only in the next turn (sublime_text#5894).
    phantom_heights_late: bool = False
    # A selection that is set outside of a command of the view is not drawn before the view is drawn
    # for another reason (sublime_text#485, #6667; LSP#1306).
    selections_drawn_late: bool = False
    # view.replace of an empty region at a caret selects what it inserts (sublime_text#1165, #4144).
    replace_selects: bool = False
    # set_read_only within on_selection_modified raises, and is in `editor.misuses`: it froze the
    # real one (GitSavvy#1382).
    read_only_event_freezes: bool = False
    # The user writes with an input method: characters run no key binding, and no command of which a
    # package hears (sublime_text#3430).
    input_method: bool = False
    # The packages are there so many milliseconds after the windows, tabs and keys of the last
    # session (docs/sublime.md 1.8, 3.4).
    packages_delay: float = 0.0
    # The next tab hears on_activated before the closed one hears on_close.
    activated_before_close: bool = False
    # A tab whose file is being read hears on_activated after on_load.
    activated_after_load: bool = False
    # An output panel that is not shown has a window, and tells of changes of its text; nobody has
    # confirmed either.
    hidden_panel_window: bool = True
    hidden_panel_events: bool = True
    # view.sheet() of a panel answers a text sheet with id 0 (build 4200), not None.
    panel_sheet_zero: bool = True


def for_build(build: int) -> Switches:
    return Switches(pre_close_window=build < 4126, panel_sheet_zero=build <= 4200)


# What `set_worst` chooses from, one line for each point. The evidence is above and in
# docs/sublime.md.
WORST: Dict[str, Tuple[Any, ...]] = {
    "text_event_delay": (None, (0.0, 0.0), (2.0, 2.0), (2.0, 50.0)),
    "phantoms_of_buffer": (True, True, False),
    "phantom_heights_late": (True, True, False),
    "selections_drawn_late": (True, True, False),
    "replace_selects": (True, True, False),
    "read_only_event_freezes": (True,),
    "input_method": (True, False),
    "packages_delay": (3000.0, 500.0, 0.0),
    "activated_before_close": (True, False),
    "activated_after_load": (True, False),
    "hidden_panel_window": (True, False),
    "hidden_panel_events": (True, False),
    "modified_first": (True, False),
    "deactivate_on_close": (True, False),
}


def set_worst(switches: Switches, seed: int) -> None:
    """Choose, by the seed, among the worst that a real editor may do where that is not
    documented."""
    switches.chance = random.Random(seed)
    for name, values in WORST.items():
        setattr(switches, name, switches.chance.choice(values))
