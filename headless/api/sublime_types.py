"""The names Sublime's own sublime_types has at run time."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union

DIP = float
Vector = Tuple[DIP, DIP]
Point = int
Value = Union[bool, str, int, float, List[Any], Dict[str, Any], None]
CommandArgs = Optional[Dict[str, Value]]
Kind = Tuple[Any, str, str]
Event = Dict[str, Any]
CompletionValue = Any
