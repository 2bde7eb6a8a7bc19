"""The module plugins import as `sublime`: thin wrappers around ids; all state is in the engine.

Signatures are those of the package sublime-text-stubs. Names that exist there and are not offered
here raise NotImplementedError with the name.
"""

from __future__ import annotations

import enum
import html
import json
import os
import platform as _platform
import re
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from sublime_types import DIP, CommandArgs, Point, Value, Vector

from headless import files as _files
from headless import layout as _layout
from headless import results as _results
from headless import running as _running
from headless import selectors as _selectors
from headless import symbols as _symbols
from headless import values as _values
from headless import windows as _windows
from headless.buffers import moved as _moved
from headless.settings import Settings as _SettingsState
from headless.views import Marks as _Marks
from headless.views import PhantomState as _PhantomState
from headless.views import Popup as _Popup
from headless.views import View as _ViewState


def _editor() -> Any:
    editor = _running.current()
    if not editor.api.open:
        raise RuntimeError("the Sublime Text API is gone: the editor is exiting")
    return editor


def _ui(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return _editor().ui(function, *args, **kwargs)


def _missing(name: str) -> Any:
    raise NotImplementedError("sublime.%s is not offered by the headless editor" % name)


# Constants


class HoverZone(enum.IntEnum):
    TEXT = 1
    GUTTER = 2
    MARGIN = 3


class NewFileFlags(enum.IntFlag):
    NONE = 0
    ENCODED_POSITION = 1
    TRANSIENT = 4
    FORCE_GROUP = 8
    SEMI_TRANSIENT = 16
    ADD_TO_SELECTION = 32
    REPLACE_MRU = 64
    CLEAR_TO_RIGHT = 128
    FORCE_CLONE = 256


class FindFlags(enum.IntFlag):
    NONE = 0
    LITERAL = 1
    IGNORECASE = 2
    WHOLEWORD = 4
    REVERSE = 8
    WRAP = 16


class QuickPanelFlags(enum.IntFlag):
    NONE = 0
    MONOSPACE_FONT = 1
    KEEP_OPEN_ON_FOCUS_LOST = 2
    WANT_EVENT = 4


class PopupFlags(enum.IntFlag):
    NONE = 0
    COOPERATE_WITH_AUTO_COMPLETE = 2
    HIDE_ON_MOUSE_MOVE = 4
    HIDE_ON_MOUSE_MOVE_AWAY = 8
    KEEP_ON_SELECTION_MODIFIED = 16
    HIDE_ON_CHARACTER_EVENT = 32


class RegionFlags(enum.IntFlag):
    NONE = 0
    DRAW_EMPTY = 1
    HIDE_ON_MINIMAP = 2
    DRAW_EMPTY_AS_OVERWRITE = 4
    PERSISTENT = 16
    DRAW_NO_FILL = 32
    HIDDEN = 128
    DRAW_NO_OUTLINE = 256
    DRAW_SOLID_UNDERLINE = 512
    DRAW_STIPPLED_UNDERLINE = 1024
    DRAW_SQUIGGLY_UNDERLINE = 2048
    NO_UNDO = 8192


class QueryOperator(enum.IntEnum):
    EQUAL = 0
    NOT_EQUAL = 1
    REGEX_MATCH = 2
    NOT_REGEX_MATCH = 3
    REGEX_CONTAINS = 4
    NOT_REGEX_CONTAINS = 5


class PointClassification(enum.IntFlag):
    NONE = 0
    WORD_START = 1
    WORD_END = 2
    PUNCTUATION_START = 4
    PUNCTUATION_END = 8
    SUB_WORD_START = 16
    SUB_WORD_END = 32
    LINE_START = 64
    LINE_END = 128
    EMPTY_LINE = 256


class AutoCompleteFlags(enum.IntFlag):
    NONE = 0
    INHIBIT_WORD_COMPLETIONS = 8
    INHIBIT_EXPLICIT_COMPLETIONS = 16
    DYNAMIC_COMPLETIONS = 32
    INHIBIT_REORDER = 128


class CompletionItemFlags(enum.IntFlag):
    NONE = 0
    KEEP_PREFIX = 1


class DialogResult(enum.IntEnum):
    CANCEL = 0
    YES = 1
    NO = 2


class UIElement(enum.IntEnum):
    SIDE_BAR = 1
    MINIMAP = 2
    TABS = 4
    STATUS_BAR = 8
    MENU = 16
    OPEN_FILES = 32


class PhantomLayout(enum.IntEnum):
    INLINE = 0
    BELOW = 1
    BLOCK = 2


class KindId(enum.IntEnum):
    AMBIGUOUS = 0
    KEYWORD = 1
    TYPE = 2
    FUNCTION = 3
    NAMESPACE = 4
    NAVIGATION = 5
    MARKUP = 6
    VARIABLE = 7
    SNIPPET = 8
    COLOR_REDISH = 9
    COLOR_ORANGISH = 10
    COLOR_YELLOWISH = 11
    COLOR_GREENISH = 12
    COLOR_CYANISH = 13
    COLOR_BLUISH = 14
    COLOR_PURPLISH = 15
    COLOR_PINKISH = 16
    COLOR_DARK = 17
    COLOR_LIGHT = 18


class SymbolSource(enum.IntEnum):
    ANY = 0
    INDEX = 1
    OPEN_FILES = 2


class SymbolType(enum.IntEnum):
    ANY = 0
    DEFINITION = 1
    REFERENCE = 2


class CompletionFormat(enum.IntEnum):
    TEXT = 0
    SNIPPET = 1
    COMMAND = 2


HOVER_TEXT = HoverZone.TEXT
HOVER_GUTTER = HoverZone.GUTTER
HOVER_MARGIN = HoverZone.MARGIN
ENCODED_POSITION = NewFileFlags.ENCODED_POSITION
TRANSIENT = NewFileFlags.TRANSIENT
FORCE_GROUP = NewFileFlags.FORCE_GROUP
SEMI_TRANSIENT = NewFileFlags.SEMI_TRANSIENT
ADD_TO_SELECTION = NewFileFlags.ADD_TO_SELECTION
REPLACE_MRU = NewFileFlags.REPLACE_MRU
CLEAR_TO_RIGHT = NewFileFlags.CLEAR_TO_RIGHT
FORCE_CLONE = NewFileFlags.FORCE_CLONE
LITERAL = FindFlags.LITERAL
IGNORECASE = FindFlags.IGNORECASE
WHOLEWORD = FindFlags.WHOLEWORD
REVERSE = FindFlags.REVERSE
WRAP = FindFlags.WRAP
MONOSPACE_FONT = QuickPanelFlags.MONOSPACE_FONT
KEEP_OPEN_ON_FOCUS_LOST = QuickPanelFlags.KEEP_OPEN_ON_FOCUS_LOST
WANT_EVENT = QuickPanelFlags.WANT_EVENT
HTML = 1
COOPERATE_WITH_AUTO_COMPLETE = PopupFlags.COOPERATE_WITH_AUTO_COMPLETE
HIDE_ON_MOUSE_MOVE = PopupFlags.HIDE_ON_MOUSE_MOVE
HIDE_ON_MOUSE_MOVE_AWAY = PopupFlags.HIDE_ON_MOUSE_MOVE_AWAY
KEEP_ON_SELECTION_MODIFIED = PopupFlags.KEEP_ON_SELECTION_MODIFIED
HIDE_ON_CHARACTER_EVENT = PopupFlags.HIDE_ON_CHARACTER_EVENT
DRAW_EMPTY = RegionFlags.DRAW_EMPTY
HIDE_ON_MINIMAP = RegionFlags.HIDE_ON_MINIMAP
DRAW_EMPTY_AS_OVERWRITE = RegionFlags.DRAW_EMPTY_AS_OVERWRITE
PERSISTENT = RegionFlags.PERSISTENT
DRAW_NO_FILL = RegionFlags.DRAW_NO_FILL
DRAW_OUTLINED = DRAW_NO_FILL
DRAW_NO_OUTLINE = RegionFlags.DRAW_NO_OUTLINE
DRAW_SOLID_UNDERLINE = RegionFlags.DRAW_SOLID_UNDERLINE
DRAW_STIPPLED_UNDERLINE = RegionFlags.DRAW_STIPPLED_UNDERLINE
DRAW_SQUIGGLY_UNDERLINE = RegionFlags.DRAW_SQUIGGLY_UNDERLINE
NO_UNDO = RegionFlags.NO_UNDO
HIDDEN = RegionFlags.HIDDEN
OP_EQUAL = QueryOperator.EQUAL
OP_NOT_EQUAL = QueryOperator.NOT_EQUAL
OP_REGEX_MATCH = QueryOperator.REGEX_MATCH
OP_NOT_REGEX_MATCH = QueryOperator.NOT_REGEX_MATCH
OP_REGEX_CONTAINS = QueryOperator.REGEX_CONTAINS
OP_NOT_REGEX_CONTAINS = QueryOperator.NOT_REGEX_CONTAINS
CLASS_WORD_START = PointClassification.WORD_START
CLASS_WORD_END = PointClassification.WORD_END
CLASS_PUNCTUATION_START = PointClassification.PUNCTUATION_START
CLASS_PUNCTUATION_END = PointClassification.PUNCTUATION_END
CLASS_SUB_WORD_START = PointClassification.SUB_WORD_START
CLASS_SUB_WORD_END = PointClassification.SUB_WORD_END
CLASS_LINE_START = PointClassification.LINE_START
CLASS_LINE_END = PointClassification.LINE_END
CLASS_EMPTY_LINE = PointClassification.EMPTY_LINE
INHIBIT_WORD_COMPLETIONS = AutoCompleteFlags.INHIBIT_WORD_COMPLETIONS
INHIBIT_EXPLICIT_COMPLETIONS = AutoCompleteFlags.INHIBIT_EXPLICIT_COMPLETIONS
DYNAMIC_COMPLETIONS = AutoCompleteFlags.DYNAMIC_COMPLETIONS
INHIBIT_REORDER = AutoCompleteFlags.INHIBIT_REORDER
COMPLETION_FLAG_KEEP_PREFIX = CompletionItemFlags.KEEP_PREFIX
DIALOG_CANCEL = DialogResult.CANCEL
DIALOG_YES = DialogResult.YES
DIALOG_NO = DialogResult.NO
LAYOUT_INLINE = PhantomLayout.INLINE
LAYOUT_BELOW = PhantomLayout.BELOW
LAYOUT_BLOCK = PhantomLayout.BLOCK
KIND_ID_AMBIGUOUS = KindId.AMBIGUOUS
KIND_ID_KEYWORD = KindId.KEYWORD
KIND_ID_TYPE = KindId.TYPE
KIND_ID_FUNCTION = KindId.FUNCTION
KIND_ID_NAMESPACE = KindId.NAMESPACE
KIND_ID_NAVIGATION = KindId.NAVIGATION
KIND_ID_MARKUP = KindId.MARKUP
KIND_ID_VARIABLE = KindId.VARIABLE
KIND_ID_SNIPPET = KindId.SNIPPET
KIND_ID_COLOR_REDISH = KindId.COLOR_REDISH
KIND_ID_COLOR_ORANGISH = KindId.COLOR_ORANGISH
KIND_ID_COLOR_YELLOWISH = KindId.COLOR_YELLOWISH
KIND_ID_COLOR_GREENISH = KindId.COLOR_GREENISH
KIND_ID_COLOR_CYANISH = KindId.COLOR_CYANISH
KIND_ID_COLOR_BLUISH = KindId.COLOR_BLUISH
KIND_ID_COLOR_PURPLISH = KindId.COLOR_PURPLISH
KIND_ID_COLOR_PINKISH = KindId.COLOR_PINKISH
KIND_ID_COLOR_DARK = KindId.COLOR_DARK
KIND_ID_COLOR_LIGHT = KindId.COLOR_LIGHT
KIND_AMBIGUOUS = (KindId.AMBIGUOUS, "", "")
KIND_KEYWORD = (KindId.KEYWORD, "", "")
KIND_TYPE = (KindId.TYPE, "", "")
KIND_FUNCTION = (KindId.FUNCTION, "", "")
KIND_NAMESPACE = (KindId.NAMESPACE, "", "")
KIND_NAVIGATION = (KindId.NAVIGATION, "", "")
KIND_MARKUP = (KindId.MARKUP, "", "")
KIND_VARIABLE = (KindId.VARIABLE, "", "")
KIND_SNIPPET = (KindId.SNIPPET, "s", "Snippet")
SYMBOL_SOURCE_ANY = SymbolSource.ANY
SYMBOL_SOURCE_INDEX = SymbolSource.INDEX
SYMBOL_SOURCE_OPEN_FILES = SymbolSource.OPEN_FILES
SYMBOL_TYPE_ANY = SymbolType.ANY
SYMBOL_TYPE_DEFINITION = SymbolType.DEFINITION
SYMBOL_TYPE_REFERENCE = SymbolType.REFERENCE
COMPLETION_FORMAT_TEXT = CompletionFormat.TEXT
COMPLETION_FORMAT_SNIPPET = CompletionFormat.SNIPPET
COMPLETION_FORMAT_COMMAND = CompletionFormat.COMMAND


# The application


def version() -> str:
    return str(_running.current().build)


def platform() -> str:
    return {"win32": "windows", "darwin": "osx"}.get(sys.platform, "linux")


def arch() -> str:
    machine = _platform.machine().lower()
    if machine in ("arm64", "aarch64"):
        return "arm64"
    return "x64" if sys.maxsize > 2**32 else "x32"


def channel() -> str:
    return "stable"


def executable_path() -> str:
    return sys.executable


def executable_hash() -> Tuple[Any, ...]:
    return version(), platform(), "headless"


def packages_path() -> str:
    return str(_running.current().packages.folder())


def installed_packages_path() -> str:
    return str(_running.current().packages.installed_folder())


def cache_path() -> str:
    return os.path.join(_running.current().data, "Cache")


def status_message(msg: str) -> None:
    editor = _editor()
    editor.ui(editor.show_status, editor.active_window, msg)


def error_message(msg: str) -> None:
    _ui(_editor().dialog, msg, None)


def message_dialog(msg: str) -> None:
    _ui(_editor().dialog, msg, None)


def ok_cancel_dialog(msg: str, ok_title: str = "", title: str = "") -> bool:
    return bool(_ui(_editor().dialog, msg, True, False))


def yes_no_cancel_dialog(
    msg: str, yes_title: str = "", no_title: str = "", title: str = ""
) -> DialogResult:
    return DialogResult(_ui(_editor().dialog, msg, DIALOG_YES, DIALOG_NO, DIALOG_CANCEL))


def open_dialog(
    callback: Callable[[Any], None],
    file_types: List[Any] = [],  # noqa: B006 - as in Sublime; never changed
    directory: Optional[str] = None,
    multi_select: bool = False,
    allow_folders: bool = False,
) -> None:
    _answer_later("open file", callback)


def save_dialog(
    callback: Callable[[Optional[str]], None],
    file_types: List[Any] = [],  # noqa: B006 - as in Sublime; never changed
    directory: Optional[str] = None,
    name: Optional[str] = None,
    extension: Optional[str] = None,
) -> None:
    _answer_later("save file", callback)


def select_folder_dialog(
    callback: Callable[[Any], None], directory: Optional[str] = None, multi_select: bool = False
) -> None:
    _answer_later("select folder", callback)


def _answer_later(question: str, callback: Callable[[Any], None]) -> None:
    editor = _editor()
    editor.queues.ui.post(lambda: callback(editor.dialog(question, None)))


def choose_font_dialog(callback: Callable[[Any], None], default: Any = None) -> None:
    _missing("choose_font_dialog")


def run_command(cmd: str, args: CommandArgs = None) -> None:
    _ui(_editor().commands.run_application, cmd, args)


def format_command(cmd: str, args: CommandArgs = None) -> str:
    return cmd if args is None else "%s %s" % (cmd, encode_value(args))


def html_format_command(cmd: str, args: CommandArgs = None) -> str:
    return html.escape(format_command(cmd, args), quote=True)


def command_url(cmd: str, args: CommandArgs = None) -> str:
    return "subl:" + html_format_command(cmd, args)


def get_clipboard_async(callback: Callable[[str], None], size_limit: int = 16777216) -> None:
    text = get_clipboard(size_limit)
    _editor().queues.ui.post(lambda: callback(text))


def get_clipboard(size_limit: int = 16777216) -> str:
    text = str(_editor().clipboard)
    return text if len(text) <= size_limit else ""


def set_clipboard(text: str) -> None:
    _editor().clipboard = text


def log_commands(flag: Optional[bool] = None) -> None:
    commands = _editor().commands
    commands.log = not commands.log if flag is None else flag


def get_log_commands() -> bool:
    return bool(_editor().commands.log)


def log_input(flag: Optional[bool] = None) -> None:
    _missing("log_input")


def get_log_input() -> bool:
    return False


def log_fps(flag: Optional[bool] = None) -> None:
    _missing("log_fps")


def get_log_fps() -> bool:
    return False


def log_result_regex(flag: Optional[bool] = None) -> None:
    _missing("log_result_regex")


def get_log_result_regex() -> bool:
    return False


def log_indexing(flag: Optional[bool] = None) -> None:
    _missing("log_indexing")


def get_log_indexing() -> bool:
    return False


def log_build_systems(flag: Optional[bool] = None) -> None:
    _missing("log_build_systems")


def get_log_build_systems() -> bool:
    return False


def log_control_tree(flag: Optional[bool] = None) -> None:
    _missing("log_control_tree")


def get_log_control_tree() -> bool:
    return False


def ui_info() -> Dict[str, Any]:
    editor = _editor()
    preferences = editor.preferences()
    scheme = editor.schemes.resolved(preferences)
    theme = str(preferences.get("theme", "Default.sublime-theme"))
    return {
        "color_scheme": {
            "value": str(preferences.get("color_scheme", scheme)),
            "resolved_value": scheme,
            "style": "light" if editor.schemes.named(scheme).is_light() else "dark",
            "palette": editor.schemes.named(scheme).palette(),
        },
        "theme": {"value": theme, "resolved_value": theme},
        "system": {"style": "dark"},
    }


def score_selector(scope_name: str, selector: str) -> int:
    return _selectors.score(scope_name, selector)


def load_resource(name: str) -> str:
    """Raises FileNotFoundError."""
    return load_binary_resource(name).decode("utf-8").replace("\r\n", "\n")


def load_binary_resource(name: str) -> bytes:
    """Raises FileNotFoundError."""
    return bytes(_editor().packages.load(name))


def find_resources(pattern: str) -> List[str]:
    return list(_editor().packages.find_resources(pattern))


def encode_value(value: Value, pretty: bool = False, update_text: Optional[str] = None) -> str:
    if update_text is not None:
        _missing("encode_value(update_text=)")
    copy = _values.copy_value(value)
    return json.dumps(copy, indent="\t" if pretty else None, ensure_ascii=False)


def decode_value(data: str) -> Value:
    """Raises ValueError."""
    return _values.parse(data)  # type: ignore[no-any-return]


_VARIABLE = re.compile(r"\\\$|\$(?:(\w+)|\{(\w+)(?::([^}]*)|/[^}]*)?\})")


def expand_variables(value: Value, variables: Dict[str, Any]) -> Value:
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _expanded(match, variables), value)
    if isinstance(value, list):
        return [expand_variables(item, variables) for item in value]
    if isinstance(value, dict):
        return {key: expand_variables(item, variables) for key, item in value.items()}
    return value


def _expanded(match: Any, variables: Dict[str, Any]) -> str:
    name = match.group(1) or match.group(2)
    if name is None:
        return "$"
    if match.group(0).startswith("${" + name + "/"):
        _missing("expand_variables with a substitution")
    return str(variables.get(name, match.group(3) or ""))


def load_settings(base_name: str) -> Settings:
    return Settings(_ui(_editor().settings_file, base_name).id)


def save_settings(base_name: str) -> None:
    _ui(_editor().save_settings, base_name)


def set_timeout(callback: Callable[[], object], delay: int = 0) -> None:
    _editor().queues.ui.post(callback, delay)


def set_timeout_async(callback: Callable[[], object], delay: int = 0) -> None:
    _editor().queues.worker.post(callback, delay)


def active_window() -> Window:
    window = _editor().active_window
    return Window(window.id if window is not None else 0)


def windows() -> List[Window]:
    return [Window(window.id) for window in list(_editor().windows)]


def get_macro() -> List[Any]:
    return _missing("get_macro")  # type: ignore[no-any-return]


def project_history() -> List[str]:
    return []


def folder_history() -> List[str]:
    return [folder for window in list(_editor().windows) for folder in window.folders]


# Windows


class Window:
    """A window, by id; answers for nothing once it is closed."""

    def __init__(self, id: int) -> None:
        self.window_id = id
        self.settings_object: Optional[Settings] = None
        self.template_settings_object: Optional[Settings] = None

    def __hash__(self) -> int:
        return self.window_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Window) and other.window_id == self.window_id

    def __bool__(self) -> bool:
        return self.window_id != 0

    def __repr__(self) -> str:
        return "Window(%d)" % self.window_id

    def _state(self) -> Any:
        return _editor().window(self.window_id) or _NoWindow

    def _do(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run function(window state, ...) on the UI thread; nothing where the window is gone."""
        state = _editor().window(self.window_id)
        return None if state is None else _ui(function, state, *args)

    def id(self) -> int:
        return self.window_id

    def is_valid(self) -> bool:
        return _editor().window(self.window_id) is not None

    def hwnd(self) -> int:
        return _missing("Window.hwnd")  # type: ignore[no-any-return]

    def active_sheet(self) -> Optional[Sheet]:
        return _sheet(self._state().active_sheet())

    def active_view(self) -> Optional[View]:
        return _view(self._state().active_view())

    def new_html_sheet(
        self, name: str, contents: str, flags: NewFileFlags = NewFileFlags.NONE, group: int = -1
    ) -> Sheet:
        return _sheet(self._do(_new_html_sheet, name, contents, group)) or HtmlSheet(0)

    def run_command(self, cmd: str, args: CommandArgs = None) -> None:
        args = _values.copy_value(args)  # type: ignore[assignment]
        self._do(lambda window: _editor().commands.run(window, cmd, args))

    def new_file(self, flags: NewFileFlags = NewFileFlags.NONE, syntax: str = "") -> View:
        return _view(self._do(_editor().new_file, int(flags), syntax)) or View(0)

    def open_file(
        self, fname: str, flags: NewFileFlags = NewFileFlags.NONE, group: int = -1
    ) -> View:
        return _view(self._do(_editor().open_file, fname, int(flags), group)) or View(0)

    def find_open_file(self, fname: str, group: int = -1) -> Optional[View]:
        return _view(self._state().find(fname, group))

    def file_history(self) -> List[str]:
        return list(self._state().file_history)

    def num_groups(self) -> int:
        return len(self._state().groups)

    def active_group(self) -> int:
        return int(self._state().active_group)

    def focus_group(self, idx: int) -> None:
        self._do(_windows.Window.focus_group, idx)

    def focus_sheet(self, sheet: Sheet) -> None:
        self._do(_show_sheet, sheet.sheet_id)

    def focus_view(self, view: View) -> None:
        self._do(_focus_view, view.view_id)

    def select_sheets(self, sheets: List[Sheet]) -> None:
        states = [_editor().sheets.get(sheet.sheet_id) for sheet in sheets]
        self._do(_windows.Window.select_sheets, [state for state in states if state is not None])

    def bring_to_front(self) -> None:
        self._do(_editor().focus_window)

    def get_sheet_index(self, sheet: Sheet) -> Tuple[Any, ...]:
        return tuple(self._state().index_of(_editor().sheets.get(sheet.sheet_id)))

    def get_view_index(self, view: View) -> Tuple[Any, ...]:
        return tuple(self._state().index_of(_editor().view(view.view_id).sheet))

    def set_sheet_index(self, sheet: Sheet, group: int, index: int) -> None:
        self._do(_move_sheet, sheet.sheet_id, group, index)

    def set_view_index(self, view: View, group: int, index: int) -> None:
        self._do(_move_sheet, view.sheet_id(), group, index)

    def move_sheets_to_group(
        self, sheets: List[Sheet], group: int, insertion_idx: int = -1, select: bool = True
    ) -> None:
        for offset, sheet in enumerate(sheets):
            index = insertion_idx + offset if insertion_idx >= 0 else -1
            self._do(_move_sheet, sheet.sheet_id, group, index, select)

    def sheets(self) -> List[Sheet]:
        return _sheets(self._state().sheets())

    def views(self, *, include_transient: bool = False) -> List[View]:
        return [View(view.id) for view in self._state().views(include_transient)]

    def selected_sheets(self) -> List[Sheet]:
        return _sheets(sheet for group in list(self._state().groups) for sheet in group.selected)

    def selected_sheets_in_group(self, group: int) -> List[Sheet]:
        return _sheets(self._group(group).selected)

    def _group(self, index: int) -> Any:
        groups = self._state().groups
        return groups[index] if 0 <= index < len(groups) else _NoGroup

    def active_sheet_in_group(self, group: int) -> Optional[Sheet]:
        return _sheet(self._group(group).active)

    def active_view_in_group(self, group: int) -> Optional[View]:
        active = self._group(group).active
        return _view(active.view) if active is not None else None

    def sheets_in_group(self, group: int) -> List[Sheet]:
        return _sheets(self._group(group).sheets)

    def views_in_group(self, group: int) -> List[View]:
        return [
            View(sheet.view.id)
            for sheet in list(self._group(group).sheets)
            if sheet.view is not None
        ]

    def num_sheets_in_group(self, group: int) -> int:
        return len(self._group(group).sheets)

    def num_views_in_group(self, group: int) -> int:
        return len(self.views_in_group(group))

    def transient_sheet_in_group(self, group: int) -> Optional[Sheet]:
        return _sheet(self._group(group).preview)

    def transient_view_in_group(self, group: int) -> Optional[View]:
        preview = self._group(group).preview
        return _view(preview.view) if preview is not None else None

    def promote_sheet(self, sheet: Sheet) -> None:
        state = _editor().sheets.get(sheet.sheet_id)
        if state is not None:
            self._do(_windows.Window.promote, state)

    def layout(self) -> Dict[str, Any]:
        return _values.copy_value(self._state().layout)  # type: ignore[return-value]

    def get_layout(self) -> Dict[str, Any]:
        return self.layout()

    def set_layout(self, layout: Dict[str, Any]) -> None:
        self._do(_windows.Window.set_layout, layout)

    def create_output_panel(self, name: str, unlisted: bool = False) -> View:
        return _view(self._do(_create_panel, name, unlisted)) or View(0)

    def find_output_panel(self, name: str) -> Optional[View]:
        panel = self._state().panels.get(name)
        return View(panel.view.id) if panel is not None else None

    def destroy_output_panel(self, name: str) -> None:
        self._do(_destroy_panel, name)

    def create_io_panel(
        self, name: str, on_input: Callable[[str], None], unlisted: bool = False
    ) -> Tuple[Any, ...]:
        output, entry = self._do(_create_io_panel, name, on_input, unlisted)
        return View(output.id), View(entry.id)

    def find_io_panel(self, name: str) -> Tuple[Any, ...]:
        panel = self._state().panels.get(name)
        if panel is None or panel.input is None:
            return None, None
        return View(panel.view.id), View(panel.input.id)

    def active_panel(self) -> Optional[str]:
        return self._state().active_panel  # type: ignore[no-any-return]

    def panels(self) -> List[str]:
        listed = [panel for panel in list(self._state().panels.values()) if not panel.unlisted]
        return ["console", "find", "find_in_files", "incremental_find", "replace"] + [
            "output." + panel.name for panel in listed
        ]

    def get_output_panel(self, name: str) -> View:
        return self.create_output_panel(name)

    def show_input_panel(
        self,
        caption: str,
        initial_text: str,
        on_done: Optional[Callable[[str], None]],
        on_change: Optional[Callable[[str], None]],
        on_cancel: Optional[Callable[[], None]],
    ) -> View:
        callbacks = {"on_done": on_done, "on_change": on_change, "on_cancel": on_cancel}
        return _view(self._do(_show_input_panel, caption, initial_text, callbacks)) or View(0)

    def show_quick_panel(
        self,
        items: List[Any],
        on_select: Callable[[int], None],
        flags: QuickPanelFlags = QuickPanelFlags.NONE,
        selected_index: int = -1,
        on_highlight: Optional[Callable[[int], None]] = None,
        placeholder: Optional[str] = None,
    ) -> None:
        callbacks = {"on_select": on_select, "on_highlight": on_highlight}
        self._do(_show_quick_panel, list(items), callbacks, selected_index, placeholder)

    def is_sidebar_visible(self) -> bool:
        return bool(self._state().shows["sidebar"])

    def set_sidebar_visible(self, flag: bool, animate: bool = True) -> None:
        self._state().shows["sidebar"] = flag

    def is_minimap_visible(self) -> bool:
        return bool(self._state().shows["minimap"])

    def set_minimap_visible(self, flag: bool) -> None:
        self._state().shows["minimap"] = flag

    def is_status_bar_visible(self) -> bool:
        return bool(self._state().shows["status_bar"])

    def set_status_bar_visible(self, flag: bool) -> None:
        self._state().shows["status_bar"] = flag

    def get_tabs_visible(self) -> bool:
        return bool(self._state().shows["tabs"])

    def set_tabs_visible(self, flag: bool) -> None:
        self._state().shows["tabs"] = flag

    def is_menu_visible(self) -> bool:
        return bool(self._state().shows["menu"])

    def set_menu_visible(self, flag: bool) -> None:
        self._state().shows["menu"] = flag

    def folders(self) -> List[str]:
        return list(self._state().folders)

    def project_file_name(self) -> Optional[str]:
        return self._state().project_file  # type: ignore[no-any-return]

    def workspace_file_name(self) -> Optional[str]:
        project = self._state().project_file
        return os.path.splitext(project)[0] + ".sublime-workspace" if project else None

    def project_data(self) -> Value:
        state = self._state()
        if state.project_data is not None:
            return _values.copy_value(state.project_data)
        return {"folders": [{"path": path} for path in state.folders]} if state.folders else None

    def set_project_data(self, data: Value) -> None:
        self._do(_set_project_data, _values.copy_value(data))

    def settings(self) -> Settings:
        if self.settings_object is None:
            self.settings_object = Settings(self._state().settings.id)
        return self.settings_object

    def template_settings(self) -> Settings:
        if self.template_settings_object is None:
            self.template_settings_object = Settings(self._state().template_settings.id)
        return self.template_settings_object

    def symbol_locations(
        self,
        sym: str,
        source: SymbolSource = SymbolSource.ANY,
        type: SymbolType = SymbolType.ANY,
        kind_id: KindId = KindId.AMBIGUOUS,
        kind_letter: str = "",
    ) -> List[Any]:
        """By an imitation of the index, `headless/symbols.py`; a kind that is asked for counts for
        nothing, nor does the source."""
        found = []
        for path, text in _symbols.texts(self._state()):
            defined = [
                definition for definition in _symbols.definitions(text) if definition.name == sym
            ]
            used = _symbols.uses(text, sym) if type != SymbolType.DEFINITION else []
            for of, symbols in ((SymbolType.DEFINITION, defined), (SymbolType.REFERENCE, used)):
                if type not in (SymbolType.ANY, of):
                    continue
                for symbol in symbols:
                    row = text.count("\n", 0, symbol.start) + 1
                    column = symbol.start - text.rfind("\n", 0, symbol.start)
                    syntax = _editor().syntaxes.for_file(path).path
                    kind = (KindId(symbol.kind[0]), *symbol.kind[1:])
                    found.append(SymbolLocation(path, sym, row, column, syntax, of, kind))
        return found

    def lookup_symbol_in_index(self, symbol: str) -> List[Any]:
        return _missing("Window.lookup_symbol_in_index")  # type: ignore[no-any-return]

    def lookup_symbol_in_open_files(self, symbol: str) -> List[Any]:
        return _missing("Window.lookup_symbol_in_open_files")  # type: ignore[no-any-return]

    def lookup_references_in_index(self, symbol: str) -> List[Any]:
        return _missing("Window.lookup_references_in_index")  # type: ignore[no-any-return]

    def lookup_references_in_open_files(self, symbol: str) -> List[Any]:
        return _missing("Window.lookup_references_in_open_files")  # type: ignore[no-any-return]

    def extract_variables(self) -> Dict[str, Any]:
        state = self._state()
        found = {
            "packages": packages_path(),
            "platform": {"osx": "OSX", "windows": "Windows"}.get(platform(), "Linux"),
        }
        if state.folders:
            found["folder"] = state.folders[0]
        view = state.active_view()
        _add_names(found, "file", view.file_name if view is not None else None)
        _add_names(found, "project", state.project_file)
        return found

    def status_message(self, msg: str) -> None:
        self._do(lambda window: _editor().show_status(window, msg))


def _add_names(found: Dict[str, Any], prefix: str, path: Optional[str]) -> None:
    if path:
        folder, name = os.path.split(path)
        stem, extension = os.path.splitext(name)
        found.update(
            {
                prefix: path,
                prefix + "_path": folder,
                prefix + "_name": name,
                prefix + "_base_name": stem,
                prefix + "_extension": extension[1:],
            }
        )


class _NoGroup:
    """What a group that does not exist answers."""

    sheets: List[Any] = []
    selected: List[Any] = []
    active = None
    preview = None


class _NoWindow:
    """What a closed window answers."""

    groups: List[Any] = []
    layout: Dict[str, Any] = {}
    folders: List[Any] = []
    panels: Dict[str, Any] = {}
    file_history: List[Any] = []
    shows = {"sidebar": False, "minimap": False, "status_bar": False, "tabs": False, "menu": False}
    active_group = -1
    active_panel = None
    project_file = None
    project_data = None

    class settings:
        id = 0

    template_settings = settings

    @staticmethod
    def active_sheet() -> None:
        return None

    active_view = active_sheet

    @staticmethod
    def find(path: str, group: int = -1) -> None:
        return None

    @staticmethod
    def index_of(sheet: Any) -> Tuple[Any, ...]:
        return -1, -1

    @staticmethod
    def sheets() -> List[Any]:
        return []

    @staticmethod
    def views(previews: bool = False) -> List[Any]:
        return []


def _sheet(state: Any) -> Optional[Sheet]:
    if state is None:
        return None
    return {_windows.IMAGE: ImageSheet, _windows.HTML: HtmlSheet}.get(state.kind, TextSheet)(
        state.id
    )


def _sheets(states: Any) -> List[Any]:
    return [_sheet(state) for state in list(states)]


def _view(state: Any) -> Optional[View]:
    return View(state.id) if state is not None else None


def _new_html_sheet(window: Any, name: str, contents: str, group: int) -> Any:
    target = window.group_at(group)
    sheet = _editor().make_sheet(target, None, _windows.HTML)
    sheet.name, sheet.contents = name, contents
    target.insert(sheet)
    window.show(sheet)
    return sheet


def _show_sheet(window: Any, sheet_id: int) -> None:
    sheet = _editor().sheets.get(sheet_id)
    if sheet is not None and sheet.window is window:
        window.show(sheet)


def _focus_view(window: Any, view_id: int) -> None:
    view = _editor().view(view_id)
    if view.sheet is not None and view.window is window:
        window.show(view.sheet)
        return
    for panel in window.panels.values():
        if view in (panel.view, panel.input):
            window.active_panel = "output." + panel.name
            window.panel_has_focus = True
            _editor().refocus()


def _move_sheet(window: Any, sheet_id: int, group: int, index: int, select: bool = True) -> None:
    sheet = _editor().sheets.get(sheet_id)
    if sheet is not None:
        window.move(sheet, group, index, select)


def _create_panel(window: Any, name: str, unlisted: bool = False) -> Any:
    panel = window.panels.get(name)
    if panel is not None:
        # As in Sublime: the same view with its settings, emptied. Sublime's own `exec` asks again
        # after it has set how places are found.
        view = panel.view
        view.buffer.read_only = False
        view.buffer.change(0, len(view.text), "")
        return view
    view = _editor().make_widget(window, "output:output")
    window.panels[name] = _windows.Panel(name, view, unlisted)
    return view


def _create_io_panel(window: Any, name: str, on_input: Any, unlisted: bool) -> Any:
    view = _create_panel(window, name, unlisted)
    panel = window.panels[name]
    panel.input = _editor().make_widget(window, "output:input")
    panel.on_input = on_input
    return view, panel.input


def _destroy_panel(window: Any, name: str) -> None:
    panel = window.panels.pop(name, None)
    if panel is None:
        return
    if window.active_panel == "output." + name:
        window.hide_panel()
    _editor().forget_view(panel.view)
    _editor().events.forget_view(panel.view)


def _show_input_panel(window: Any, caption: str, text: str, callbacks: Dict[str, Any]) -> Any:
    question = window.ask(None, "input:input", callbacks)
    question.caption = caption
    view = question.view
    view.buffer.change(0, 0, text)
    view.selection = [(0, len(text))]
    _editor().refocus()
    return view


def _show_quick_panel(
    window: Any,
    items: List[Any],
    callbacks: Dict[str, Any],
    selected: int,
    placeholder: Optional[str],
) -> None:
    question = window.ask(items, "goto_anything:input", callbacks)
    question.caption = placeholder or ""
    question.selected_index = selected
    _editor().refocus()
    if items:
        # As in Sublime, the first highlight comes by itself, once the panel stands.
        first = selected if 0 <= selected < len(items) else 0
        _editor().queues.ui.post(lambda: _highlight_first(window, question, first))


def _highlight_first(window: Any, question: Any, index: int) -> None:
    if window.question is question:
        question.highlight(index)


def _set_project_data(window: Any, data: Any) -> None:
    window.project_data = data
    folders = (data or {}).get("folders", [])
    base = os.path.dirname(window.project_file) if window.project_file else os.getcwd()
    window.folders = [os.path.normpath(os.path.join(base, folder["path"])) for folder in folders]
    window.settings.replace({**window.settings.own, **((data or {}).get("settings") or {})})


# Text


class Edit:
    """Lets its holder change one view while a command runs; nothing afterwards."""

    def __init__(self, token: int) -> None:
        self.edit_token = token


class Region:
    """From `a` to `b`, both code points; `b` is the caret."""

    def __init__(self, a: Point, b: Optional[Point] = None, xpos: DIP = -1) -> None:
        self.a = a
        self.b = a if b is None else b
        self.xpos = xpos

    def __iter__(self) -> Iterator[Point]:
        yield self.a
        yield self.b

    def __str__(self) -> str:
        return "(%s, %s)" % (self.a, self.b)

    def __repr__(self) -> str:
        return "Region(%s, %s)" % (self.a, self.b)

    def __len__(self) -> int:
        return self.size()

    def __eq__(self, rhs: object) -> bool:
        return isinstance(rhs, Region) and self.a == rhs.a and self.b == rhs.b

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, rhs: Region) -> bool:
        return (self.begin(), self.end()) < (rhs.begin(), rhs.end())

    def __contains__(self, v: Any) -> bool:
        return self.contains(v)

    def to_tuple(self) -> Tuple[Any, ...]:
        return self.a, self.b

    def empty(self) -> bool:
        return self.a == self.b

    def begin(self) -> Point:
        return min(self.a, self.b)

    def end(self) -> Point:
        return max(self.a, self.b)

    def size(self) -> int:
        return abs(self.a - self.b)

    def contains(self, x: Any) -> bool:
        if isinstance(x, Region):
            return self.contains(x.a) and self.contains(x.b)
        return bool(self.begin() <= x <= self.end())

    def cover(self, region: Region) -> Region:
        low, high = min(self.begin(), region.begin()), max(self.end(), region.end())
        return Region(low, high) if self.a <= self.b else Region(high, low)

    def intersection(self, region: Region) -> Region:
        low, high = max(self.begin(), region.begin()), min(self.end(), region.end())
        return Region(low, high) if low <= high else Region(0)

    def intersects(self, region: Region) -> bool:
        if self == region:
            return True
        return self.begin() < region.end() and region.begin() < self.end()


class HistoricPosition:
    """A place in a text as it was before a change; rows and columns from 0."""

    def __init__(self, pt: Point, row: int, col: int, col_utf16: int, col_utf8: int) -> None:
        self.pt = pt
        self.row = row
        self.col = col
        self.col_utf16 = col_utf16
        self.col_utf8 = col_utf8


class TextChange:
    """One replacement, told to TextChangeListeners."""

    def __init__(
        self, pa: HistoricPosition, pb: HistoricPosition, len_utf16: int, len_utf8: int, s: str
    ) -> None:
        self.a = pa
        self.b = pb
        self.len_utf16 = len_utf16
        self.len_utf8 = len_utf8
        self.str = s


class Selection:
    """The selection of a view, read from the editor on each access."""

    def __init__(self, id: int) -> None:
        self.view_id = id

    def _regions(self) -> List[Tuple[int, int]]:
        state = _editor().view(self.view_id)
        return [] if state.closed else list(state.selection)

    def _put(self, regions: List[Any]) -> None:
        state = _editor().view(self.view_id)
        if not state.closed:
            _editor().select(state, regions)

    def __iter__(self) -> Iterator[Region]:
        for a, b in self._regions():
            yield Region(a, b)

    def __len__(self) -> int:
        return len(self._regions())

    def __getitem__(self, index: int) -> Region:
        regions = self._regions()
        if not -len(regions) <= index < len(regions):
            raise IndexError("selection index out of range")
        return Region(*regions[index])

    def __delitem__(self, index: int) -> None:
        regions = self._regions()
        del regions[index]
        self._put(regions)

    def __eq__(self, rhs: object) -> bool:
        return isinstance(rhs, Selection) and list(self) == list(rhs)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, rhs: Any) -> bool:
        return rhs is not None and list(self) < list(rhs)

    def __bool__(self) -> bool:
        return bool(self._regions())

    def is_valid(self) -> bool:
        return not _editor().view(self.view_id).closed

    def clear(self) -> None:
        self._put([])

    def add(self, x: Any) -> None:
        self._put(self._regions() + [_pair(x)])

    def add_all(self, regions: Any) -> None:
        self._put(self._regions() + [_pair(region) for region in regions])

    def subtract(self, region: Region) -> None:
        left: List[Any] = []
        for a, b in self._regions():
            left.extend(_subtracted(a, b, region))
        self._put(left)

    def contains(self, region: Region) -> bool:
        return any(Region(a, b).contains(region) for a, b in self._regions())

    def has_empty_region(self) -> bool:
        return any(a == b for a, b in self._regions())

    def has_non_empty_region(self) -> bool:
        return any(a != b for a, b in self._regions())

    def has_multiple_non_empty_regions(self) -> bool:
        return sum(a != b for a, b in self._regions()) > 1


def _pair(x: Any) -> Tuple[Any, ...]:
    if isinstance(x, Region):
        return x.a, x.b
    if isinstance(x, int):
        return x, x
    raise TypeError("expected a Region or a point, got %s" % type(x).__name__)


def _subtracted(a: int, b: int, hole: Region) -> List[Any]:
    begin, end = min(a, b), max(a, b)
    if hole.end() <= begin and not (hole.begin() <= begin <= hole.end() and begin == end):
        return [(a, b)]
    if hole.begin() >= end and begin != end:
        return [(a, b)]
    pieces = [(begin, min(end, hole.begin())), (max(begin, hole.end()), end)]
    left = [piece for piece in pieces if piece[0] < piece[1]]
    return left if a <= b else [(high, low) for low, high in left]


# Sheets


class Sheet:
    """A tab, by id."""

    def __init__(self, id: int) -> None:
        self.sheet_id = id

    def __hash__(self) -> int:
        return self.sheet_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sheet) and other.sheet_id == self.sheet_id

    def __repr__(self) -> str:
        return "%s(%d)" % (type(self).__name__, self.sheet_id)

    def _state(self) -> Any:
        return _editor().sheets.get(self.sheet_id)

    def id(self) -> int:
        return self.sheet_id

    def window(self) -> Optional[Window]:
        state = self._state()
        return Window(state.window.id) if state is not None and state.window else None

    def view(self) -> Optional[View]:
        state = self._state()
        return _view(state.view) if state is not None else None

    def file_name(self) -> Optional[str]:
        state = self._state()
        return state.view.file_name if state is not None and state.view is not None else None

    def is_semi_transient(self) -> bool:
        return self._is(_windows.SEMI)

    def is_transient(self) -> bool:
        return self._is(_windows.PREVIEW)

    def _is(self, kind: str) -> bool:
        state = self._state()
        return state is not None and state.state == kind

    def is_selected(self) -> bool:
        state = self._state()
        return state is not None and state.group is not None and state in state.group.selected

    def group(self) -> Optional[int]:
        state = self._state()
        if state is None or state.window is None:
            return None
        return int(state.window.groups.index(state.group))

    def close(self, on_close: Callable[[bool], None] = lambda did_close: None) -> None:
        state = self._state()
        if state is None:
            on_close(False)
            return
        closed = _ui(_close_sheet, state)
        on_close(closed)


def _close_sheet(state: Any) -> bool:
    if state.state == _windows.PREVIEW:
        return False
    return bool(_editor().close_sheet(state))


class TextSheet(Sheet):
    """A tab with a view."""

    def set_name(self, name: str) -> None:
        view = self.view()
        if view is not None:
            view.set_name(name)


class ImageSheet(Sheet):
    """A tab with a picture."""


class HtmlSheet(Sheet):
    """A tab with HTML, read only."""

    def set_name(self, name: str) -> None:
        if self._state() is not None:
            self._state().name = name

    def set_contents(self, contents: str) -> None:
        if self._state() is not None:
            self._state().contents = contents


class ContextStackFrame:
    """One frame of View.context_backtrace, which is not offered."""

    def __init__(
        self, context_name: str, source_file: str, source_location: Tuple[Any, ...]
    ) -> None:
        self.context_name = context_name
        self.source_file = source_file
        self.source_location = source_location


# Views


class View:
    """A view, by id; a closed one is still truthy, has no text, and answers neutrally."""

    def __init__(self, id: int) -> None:
        self.view_id = id
        self.selection = Selection(id)
        self.settings_object: Optional[Settings] = None

    def __len__(self) -> int:
        return self.size()

    def __hash__(self) -> int:
        return self.view_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and other.view_id == self.view_id

    def __bool__(self) -> bool:
        return self.view_id != 0

    def __repr__(self) -> str:
        return "View(%d)" % self.view_id

    def _state(self) -> Any:
        """The view, even where it is closed: name, file and settings stay readable a while."""
        return _editor().view(self.view_id)

    def _open(self) -> Any:
        """The view where it is open, else an empty one."""
        editor = _editor()
        return editor.views.get(self.view_id) or editor.nothing

    def _do(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run function(view state, ...) on the UI thread; nothing where the view is closed."""
        state = self._state()
        return None if state.closed else _ui(function, state, *args)

    def id(self) -> int:
        return self.view_id

    def buffer_id(self) -> int:
        return int(self._open().buffer.id)

    def buffer(self) -> Buffer:
        return Buffer(self.buffer_id())

    def sheet_id(self) -> int:
        sheet = self._open().sheet
        return sheet.id if sheet is not None else 0

    def sheet(self) -> Optional[Sheet]:
        state = self._open()
        if state.sheet is None and state.element and _editor().switches.panel_sheet_zero:
            return TextSheet(0)
        return _sheet(state.sheet)

    def element(self) -> Optional[str]:
        return self._open().element  # type: ignore[no-any-return]

    def is_valid(self) -> bool:
        return self.buffer_id() != 0

    def is_primary(self) -> bool:
        return bool(self._open().is_primary())

    def window(self) -> Optional[Window]:
        state = self._state()
        if state.is_hidden_panel and not state.switches.hidden_panel_window:
            return None
        return Window(state.window.id) if state.window is not None else None

    def clones(self) -> List[View]:
        return [
            View(other.id) for other in list(self._open().buffer.views) if other.id != self.view_id
        ]

    def file_name(self) -> Optional[str]:
        return self._state().file_name  # type: ignore[no-any-return]

    def close(self, on_close: Callable[[bool], None] = lambda did_close: None) -> bool:
        closed = bool(self._do(_editor().close_view))
        on_close(closed)
        return closed

    def retarget(self, new_fname: str) -> None:
        self._do(_editor().retarget, new_fname)

    def name(self) -> str:
        return str(self._state().buffer.name)

    def set_name(self, name: str) -> None:
        self._open().buffer.name = name

    def reset_reference_document(self) -> None:
        self._open().buffer.reference = None

    def set_reference_document(self, reference: str) -> None:
        if not isinstance(reference, str):
            raise TypeError("expected a str as reference, got %s" % type(reference).__name__)
        self._open().buffer.reference = reference

    def is_loading(self) -> bool:
        return bool(self._open().buffer.loading)

    def is_dirty(self) -> bool:
        return bool(self._open().buffer.is_dirty())

    def is_read_only(self) -> bool:
        return bool(self._open().buffer.read_only)

    def set_read_only(self, read_only: bool) -> None:
        _editor().see_read_only(self._open())
        self._open().buffer.read_only = bool(read_only)

    def is_scratch(self) -> bool:
        return bool(self._open().buffer.scratch)

    def set_scratch(self, scratch: bool) -> None:
        self._open().buffer.scratch = bool(scratch)

    def encoding(self) -> str:
        return str(self._open().buffer.encoding)

    def set_encoding(self, encoding_name: str) -> None:
        self._do(_set_encoding, _files.encoding_name(encoding_name))

    def line_endings(self) -> str:
        return str(self._open().buffer.line_endings)

    def set_line_endings(self, line_ending_name: str) -> None:
        self._do(_set_line_endings, _files.line_ending_name(line_ending_name))

    def size(self) -> int:
        return len(self._open().text)

    def begin_edit(self, edit_token: int, cmd: str, args: CommandArgs = None) -> Edit:
        """For `run_` only: outside of a running command a token leads nowhere, as in Sublime."""
        if edit_token not in _editor().commands.tokens or edit_token in self._open().edit_tokens:
            return Edit(edit_token)
        return Edit(self._do(_editor().begin_edit, cmd, _values.copy_value(args)) or edit_token)

    def end_edit(self, edit: Edit) -> None:
        self._do(_editor().end_edit, edit.edit_token)
        edit.edit_token = 0

    def is_in_edit(self) -> bool:
        return bool(self._open().buffer.edits)

    def _holds(self, edit: Edit) -> bool:
        """Whether an edit may change this view; raises ValueError once its command is over."""
        if edit.edit_token == 0:
            raise ValueError(
                "Edit objects may not be used after the TextCommand's run method has returned"
            )
        return edit.edit_token in self._open().edit_tokens

    def insert(self, edit: Edit, pt: Point, text: str) -> int:
        if not self._holds(edit):
            return 0
        return int(self._do(_insert, pt, text))

    def erase(self, edit: Edit, region: Region) -> None:
        self.replace(edit, region, "")

    def replace(self, edit: Edit, region: Region, text: str) -> None:
        if self._holds(edit):
            self._do(_replace, region, text)

    def change_count(self) -> int:
        return int(self._open().buffer.change_count)

    def change_id(self) -> Tuple[Any, ...]:
        return self.buffer_id(), self.change_count(), 0

    def transform_region_from(self, region: Region, change_id: Tuple[Any, ...]) -> Region:
        a, b = region.a, region.b
        for count, change in list(self._open().buffer.history):
            if count > change_id[1]:
                a, b = _moved(a, change), _moved(b, change)
        return Region(a, b)

    def run_command(self, cmd: str, args: CommandArgs = None) -> None:
        self._do(_editor().commands.run_text, cmd, _values.copy_value(args))

    def sel(self) -> Selection:
        return self.selection

    def substr(self, x: Any) -> str:
        text = self._open().text
        if isinstance(x, Region):
            return str(text.slice(x.begin(), x.end()))
        return text.slice(x, x + 1) or "\0"

    def find(self, pattern: str, start_pt: Point, flags: FindFlags = FindFlags.NONE) -> Region:
        spans = [match.span() for match in self._matches(pattern, flags)]
        if flags & FindFlags.REVERSE:
            ahead = [span for span in reversed(spans) if span[1] <= start_pt]
        else:
            ahead = [span for span in spans if span[0] >= start_pt]
        if not ahead and flags & FindFlags.WRAP:
            ahead = spans[-1:] if flags & FindFlags.REVERSE else spans[:1]
        return Region(*ahead[0]) if ahead else Region(-1)

    def find_all(
        self,
        pattern: str,
        flags: FindFlags = FindFlags.NONE,
        fmt: Optional[str] = None,
        extractions: Optional[List[Any]] = None,
        within: Any = None,
    ) -> List[Region]:
        found = []
        for match in self._matches(pattern, flags):
            region = Region(*match.span())
            if within is None or any(part.contains(region) for part in _regions(within)):
                found.append(region)
                if extractions is not None and fmt is not None:
                    extractions.append(_formatted(fmt, match))
        return found

    def _matches(self, pattern: str, flags: int) -> Any:
        if flags & FindFlags.LITERAL:
            pattern = re.escape(pattern)
        if flags & FindFlags.WHOLEWORD:
            pattern = r"\b(?:%s)\b" % pattern
        options = re.MULTILINE | (re.IGNORECASE if flags & FindFlags.IGNORECASE else 0)
        return re.finditer(pattern, self._open().text.characters, options)

    def settings(self) -> Settings:
        if self.settings_object is None:
            self.settings_object = Settings(self._state().settings.id)
        return self.settings_object

    def meta_info(self, key: str, pt: Point) -> Value:
        return _missing("View.meta_info")  # type: ignore[no-any-return]

    def _scopes(self) -> Any:
        return _editor().syntaxes.parsed(self._open())

    def extract_tokens_with_scopes(self, region: Region) -> List[Any]:
        return [
            (Region(begin, end), " ".join(scopes) + " ")
            for begin, end, scopes in self._scopes().spans(self.size())
            if begin < region.end() and end > region.begin()
        ]

    def extract_scope(self, pt: Point) -> Region:
        for begin, end, _scopes in self._scopes().spans(self.size()):
            if begin <= pt < end:
                return Region(begin, end)
        return Region(pt, pt)

    def expand_to_scope(self, pt: Point, selector: str) -> Optional[Region]:
        found = [region for region in self.find_by_selector(selector) if region.contains(pt)]
        return found[0] if found else None

    def scope_name(self, pt: Point) -> str:
        """Of a syntax that no package defines, the scope of the whole text."""
        return " ".join(self._scopes().at(pt)) + " "

    def context_backtrace(self, pt: Point) -> List[Any]:
        return _missing("View.context_backtrace")  # type: ignore[no-any-return]

    def match_selector(self, pt: Point, selector: str) -> bool:
        return self.score_selector(pt, selector) > 0

    def score_selector(self, pt: Point, selector: str) -> int:
        return _selectors.score(self.scope_name(pt), selector)

    def find_by_selector(self, selector: str) -> List[Region]:
        """Stretches that touch each other are one."""
        found: List[Region] = []
        for begin, end, scopes in self._scopes().spans(self.size()):
            if not _selectors.score(" ".join(scopes), selector):
                continue
            if found and found[-1].b == begin:
                found[-1].b = end
            else:
                found.append(Region(begin, end))
        return found

    def style(self) -> Dict[str, Any]:
        return dict(_editor().schemes.of(self._open()).style())

    def style_for_scope(self, scope: str) -> Dict[str, Any]:
        return dict(_editor().schemes.of(self._open()).style_of(scope))

    def indented_region(self, pt: Point) -> Region:
        return _missing("View.indented_region")  # type: ignore[no-any-return]

    def indentation_level(self, pt: Point) -> int:
        begin, end = self._open().text.line(pt)
        line = self._open().text.slice(begin, end)
        tab = int(self._open().settings.get("tab_size", 4))
        indent = line[: len(line) - len(line.lstrip(" \t"))].expandtabs(tab)
        return (len(indent) + tab - 1) // tab

    def has_non_empty_selection_region(self) -> bool:
        return self.selection.has_non_empty_region()

    # Lines and words

    def lines(self, region: Region) -> List[Region]:
        return self._rows(region, widen=True)

    def split_by_newlines(self, region: Region) -> List[Region]:
        return self._rows(region, widen=False)

    def _rows(self, region: Region, widen: bool) -> List[Region]:
        text = self._open().text
        begin, end = text.clamp(region.begin()), text.clamp(region.end())
        found = []
        for row in range(text.rowcol(begin)[0], text.rowcol(end)[0] + 1):
            low, high = text.row_span(row)
            found.append(Region(low, high) if widen else Region(max(low, begin), min(high, end)))
        return found

    def line(self, x: Any) -> Region:
        text = self._open().text
        begin, end = _ends(x)
        low, high = text.line(begin)[0], text.line(end)[1]
        backwards = isinstance(x, Region) and x.a > x.b
        return Region(high, low) if backwards else Region(low, high)

    def full_line(self, x: Any) -> Region:
        line = self.line(x)
        end = min(line.end() + 1, self.size())
        return Region(end, line.begin()) if line.a > line.b else Region(line.begin(), end)

    def word(self, x: Any) -> Region:
        classes = (
            PointClassification.WORD_START
            | PointClassification.WORD_END
            | PointClassification.PUNCTUATION_START
            | PointClassification.PUNCTUATION_END
            | PointClassification.LINE_START
            | PointClassification.LINE_END
        )
        return self.expand_by_class(x, classes)

    def classify(self, pt: Point) -> PointClassification:
        separators = str(self.settings().get("word_separators", _SEPARATORS))
        return _classified(self._open().text, pt, separators)

    def find_by_class(
        self,
        pt: Point,
        forward: bool,
        classes: PointClassification,
        separators: str = "",
        sub_word_separators: str = "",
    ) -> Point:
        text = self._open().text
        separators = separators or str(self.settings().get("word_separators", _SEPARATORS))
        step = 1 if forward else -1
        pt = text.clamp(pt) + step
        while 0 < pt < len(text) and not _classified(text, pt, separators) & classes:
            pt += step
        return int(text.clamp(pt))

    def expand_by_class(
        self,
        x: Any,
        classes: PointClassification,
        separators: str = "",
        sub_word_separators: str = "",
    ) -> Region:
        text = self._open().text
        separators = separators or str(self.settings().get("word_separators", _SEPARATORS))
        begin, end = (text.clamp(point) for point in _ends(x))
        while begin > 0 and not _classified(text, begin, separators) & classes:
            begin -= 1
        if (
            begin == end
            and end < len(text)
            and not text.slice(end, end + 1).isspace()
            and _is_word(text, end, separators)
        ):
            end += 1
        while end < len(text) and not _classified(text, end, separators) & classes:
            end += 1
        return Region(begin, end)

    # Rows and columns

    def rowcol(self, tp: Point) -> Tuple[Any, ...]:
        return tuple(self._open().text.rowcol(tp))

    def rowcol_utf8(self, tp: Point) -> Tuple[Any, ...]:
        return tuple(self._open().text.rowcol_utf8(tp))

    def rowcol_utf16(self, tp: Point) -> Tuple[Any, ...]:
        return tuple(self._open().text.rowcol_utf16(tp))

    def text_point(self, row: int, col: int, *, clamp_column: bool = False) -> Point:
        return int(self._open().text.point(row, col, clamp_column))

    def text_point_utf8(self, row: int, col: int, *, clamp_column: bool = False) -> Point:
        return int(self._open().text.point_in_units(row, col, clamp_column, 8))

    def text_point_utf16(self, row: int, col: int, *, clamp_column: bool = False) -> Point:
        return int(self._open().text.point_in_units(row, col, clamp_column, 16))

    def utf8_code_units(self, tp: Optional[Point] = None) -> int:
        text = self._open().text
        return int(text.utf8_units(0, len(text) if tp is None else text.clamp(tp)))

    def utf16_code_units(self, tp: Optional[Point] = None) -> int:
        text = self._open().text
        return int(text.utf16_units(0, len(text) if tp is None else text.clamp(tp)))

    # Viewport, in device-independent pixels; scrolling is never animated here

    def visible_region(self) -> Region:
        return Region(*self._open().visible())

    def show(
        self,
        location: Any,
        show_surrounds: bool = True,
        keep_to_left: bool = False,
        animate: bool = True,
    ) -> None:
        if isinstance(location, Selection):
            location = location[0] if location else 0
        self._do(_ViewState.scroll_to, location.b if isinstance(location, Region) else location)

    def show_at_center(self, location: Any, animate: bool = True) -> None:
        point = location.b if isinstance(location, Region) else location
        self._do(_ViewState.scroll_to, point, True)

    def viewport_position(self) -> Vector:
        return tuple(self._open().viewport)

    def set_viewport_position(self, xy: Vector, animate: bool = True) -> None:
        self._do(_ViewState.scroll, float(xy[0]), float(xy[1]))

    def viewport_extent(self) -> Vector:
        width, height, _font = self._open().screen()
        return width, height

    def layout_extent(self) -> Vector:
        return self._open().layout_extent()  # type: ignore[no-any-return]

    def text_to_layout(self, tp: Point) -> Vector:
        return self._open().layout().place(self._open().text.clamp(tp))  # type: ignore[no-any-return]

    def text_to_window(self, tp: Point) -> Vector:
        return self.layout_to_window(self.text_to_layout(tp))

    def layout_to_text(self, xy: Vector) -> Point:
        return int(self._open().layout().point(float(xy[0]), float(xy[1])))

    def layout_to_window(self, xy: Vector) -> Vector:
        left, top = self.viewport_position()
        x, y = _layout.origin(self._open())
        return xy[0] - left + x, xy[1] - top + y

    def window_to_layout(self, xy: Vector) -> Vector:
        left, top = self.viewport_position()
        x, y = _layout.origin(self._open())
        return xy[0] + left - x, xy[1] + top - y

    def window_to_text(self, xy: Vector) -> Point:
        return self.layout_to_text(self.window_to_layout(xy))

    def line_height(self) -> DIP:
        return float(_editor().switches.line_height)

    def em_width(self) -> DIP:
        return float(_editor().switches.em_width)

    # Folds

    def is_folded(self, region: Region) -> bool:
        return any(Region(*pair).contains(region) for pair in self._open().folds)

    def folded_regions(self) -> List[Region]:
        return [Region(*pair) for pair in self._open().folds]

    def fold(self, x: Any) -> bool:
        state = self._open()
        fresh = [
            region.to_tuple() for region in _regions(x) if region.to_tuple() not in state.folds
        ]
        state.folds = sorted(state.folds + fresh)
        return bool(fresh)

    def unfold(self, x: Any) -> List[Region]:
        state = self._open()
        gone = [
            pair
            for pair in state.folds
            if any(
                Region(*pair).intersects(region) or region.contains(pair[0])
                for region in _regions(x)
            )
        ]
        state.folds = [pair for pair in state.folds if pair not in gone]
        return [Region(*pair) for pair in gone]

    # Decorations

    def add_regions(
        self,
        key: str,
        regions: List[Region],
        scope: str = "",
        icon: str = "",
        flags: RegionFlags = RegionFlags.NONE,
        annotations: List[str] = [],  # noqa: B006 - as in Sublime; never changed
        annotation_color: str = "",
        on_navigate: Optional[Callable[[str], None]] = None,
        on_close: Optional[Callable[[], None]] = None,
    ) -> None:
        if not isinstance(icon, str):
            raise ValueError("expected a str as icon, got %s" % type(icon).__name__)
        if not isinstance(annotations, list):
            raise ValueError("expected a list of annotations, got %s" % type(annotations).__name__)
        if annotations and len(annotations) != len(regions):
            raise ValueError(
                "expected one annotation for each of %d regions, got %d"
                % (len(regions), len(annotations))
            )
        marks = _Marks(
            [region.to_tuple() for region in regions],
            scope,
            icon,
            int(flags),
            list(annotations),
            annotation_color,
            on_navigate,
            on_close,
        )
        if self.is_valid():
            self._open().marks[key] = marks
            self._open().redraw()

    def get_regions(self, key: str) -> List[Region]:
        marks = self._open().marks.get(key)
        return [Region(a, b) for a, b in marks.regions] if marks is not None else []

    def erase_regions(self, key: str) -> None:
        self._open().marks.pop(key, None)

    def add_phantom(
        self,
        key: str,
        region: Region,
        content: str,
        layout: PhantomLayout,
        on_navigate: Optional[Callable[[str], None]] = None,
    ) -> int:
        state = self._open()
        if state.closed:
            return 0
        state.phantom_count += 1
        state.add_phantom(
            _PhantomState(
                state.phantom_count, key, region.to_tuple(), content, int(layout), on_navigate
            )
        )
        if state.switches.phantom_heights_late:
            _editor().queues.ui.post(state.measure_phantoms)
        return int(state.phantom_count)

    def erase_phantoms(self, key: str) -> None:
        state = self._open()
        state.erase_phantoms([phantom.id for phantom in state.own_phantoms if phantom.key == key])

    def erase_phantom_by_id(self, pid: int) -> None:
        self._open().erase_phantoms([pid])

    def query_phantom(self, pid: int) -> List[Region]:
        return self.query_phantoms([pid])

    def query_phantoms(self, pids: List[int]) -> List[Region]:
        found = [self._open().phantom(pid) for pid in pids]
        return [Region(*phantom.region) if phantom else Region(-1) for phantom in found]

    # Syntax and status

    def assign_syntax(self, syntax: Any) -> None:
        self._do(_editor().assign_syntax, syntax.path if isinstance(syntax, Syntax) else syntax)

    def set_syntax_file(self, syntax_file: str) -> None:
        self.assign_syntax(syntax_file)

    def syntax(self) -> Optional[Syntax]:
        return _syntax(self._open().syntax)

    def symbols(self) -> List[Any]:
        return [(region.region, region.name) for region in self.symbol_regions()]

    def get_symbols(self) -> List[Any]:
        return self.symbols()

    def indexed_symbols(self) -> List[Any]:
        return _missing("View.indexed_symbols")  # type: ignore[no-any-return]

    def indexed_references(self) -> List[Any]:
        return _missing("View.indexed_references")  # type: ignore[no-any-return]

    def symbol_regions(self) -> List[Any]:
        """Where a package's `.tmPreferences` says `showInSymbolList`; without transformations. In
        a syntax that no package defines, what `headless/symbols.py` finds."""
        info, of = self._open().syntax, SymbolType.DEFINITION
        if _editor().syntaxes.grammar(info.path) is None:
            return [
                SymbolRegion(
                    definition.name,
                    Region(definition.start, definition.start + len(definition.name)),
                    info.path,
                    of,
                    (KindId(definition.kind[0]), *definition.kind[1:]),
                )
                for definition in _symbols.definitions(self._open().text.characters)
            ]
        shown, hidden = _editor().syntaxes.symbols()
        return [
            SymbolRegion(self.substr(region), region, info.path, of, KIND_AMBIGUOUS)
            for selector in shown
            for region in self.find_by_selector(selector)
            if not any(self.match_selector(region.a, each) for each in hidden)
        ]

    def indexed_symbol_regions(self, type: SymbolType = SymbolType.ANY) -> List[Any]:
        return _missing("View.indexed_symbol_regions")  # type: ignore[no-any-return]

    def set_status(self, key: str, value: str) -> None:
        if value:
            self._open().status[key] = str(value)
        else:
            self.erase_status(key)

    def get_status(self, key: str) -> str:
        return str(self._open().status.get(key, ""))

    def erase_status(self, key: str) -> None:
        self._open().status.pop(key, None)

    def extract_completions(self, prefix: str, tp: Point = -1) -> List[str]:
        words = re.findall(r"\b%s\w*" % re.escape(prefix), self._open().text.characters)
        return sorted(set(words))

    def find_all_results(self) -> List[Any]:
        return [found[:3] for found in self.find_all_results_with_text()]

    def find_all_results_with_text(self) -> List[Any]:
        """(file, line, column, text), counted from 1, as result_file_regex and its like say."""
        state = self._open()
        names = ("result_file_regex", "result_line_regex", "result_base_dir")
        file_regex, line_regex, base = (str(state.settings.get(name, "")) for name in names)
        return list(_results.found(state.text.characters, file_regex, line_regex, base))

    def command_history(self, index: int, modifying_only: bool = False) -> Tuple[Any, ...]:
        steps = self._open().buffer.undo_steps
        if index > 0:
            steps, index = list(reversed(self._open().buffer.redo_steps)), index - 1
        else:
            index += len(steps) - 1
        if not 0 <= index < len(steps):
            return "", None, 0
        return steps[index].command, _values.copy_value(steps[index].args), steps[index].repeat

    def overwrite_status(self) -> bool:
        return bool(self._open().overwrite)

    def set_overwrite_status(self, value: bool) -> None:
        self._open().overwrite = value

    def show_popup_menu(
        self, items: List[str], on_done: Callable[[int], None], flags: int = 0
    ) -> None:
        _missing("View.show_popup_menu")

    def show_popup(
        self,
        content: str,
        flags: PopupFlags = PopupFlags.NONE,
        location: Point = -1,
        max_width: DIP = 320,
        max_height: DIP = 240,
        on_navigate: Optional[Callable[[str], None]] = None,
        on_hide: Optional[Callable[[], None]] = None,
    ) -> None:
        self.hide_popup()
        self._open().popup = _Popup(content, location, int(flags), on_navigate, on_hide)

    def update_popup(self, content: str) -> None:
        state = self._open()
        if state.popup is not None:
            state.popup = state.popup._replace(content=content)

    def is_popup_visible(self) -> bool:
        return self._open().popup is not None

    def hide_popup(self) -> None:
        self._do(_editor().hide_popup)

    def is_auto_complete_visible(self) -> bool:
        completing = self._open().completing
        return completing is not None and completing.best() is not None

    def preserve_auto_complete_on_focus_lost(self) -> None:
        _missing("View.preserve_auto_complete_on_focus_lost")

    def export_to_html(
        self,
        regions: Any = None,
        minihtml: bool = False,
        enclosing_tags: bool = False,
        font_size: bool = True,
        font_family: bool = True,
    ) -> str:
        return _missing("View.export_to_html")  # type: ignore[no-any-return]

    def clear_undo_stack(self) -> None:
        self._do(lambda state: state.buffer.clear_undo())


_SEPARATORS = "./\\()\"'-:,.;<>~!@#$%^&*|+=[]{}`~?"


def _regions(x: Any) -> List[Region]:
    return [x] if isinstance(x, Region) else list(x)


def _ends(x: Any) -> Tuple[Any, ...]:
    return (x.begin(), x.end()) if isinstance(x, Region) else (x, x)


def _formatted(fmt: str, match: Any) -> str:
    return re.sub(r"[\\$](\d)", lambda part: match.group(int(part.group(1))) or "", fmt)


def _is_word(text: Any, point: int, separators: str) -> bool:
    character = text.slice(point, point + 1) if point >= 0 else ""
    return bool(character) and not character.isspace() and character not in separators


def _is_mark(text: Any, point: int, separators: str) -> bool:
    character = text.slice(point, point + 1) if point >= 0 else ""
    return bool(character) and character in separators


def _classified(text: Any, point: int, separators: str) -> PointClassification:
    """What kind of border a point is."""
    found = PointClassification.NONE
    before, after = (_is_word(text, at, separators) for at in (point - 1, point))
    if after and not before:
        found |= PointClassification.WORD_START
    if before and not after:
        found |= PointClassification.WORD_END
    before, after = (_is_mark(text, at, separators) for at in (point - 1, point))
    if after and not before:
        found |= PointClassification.PUNCTUATION_START
    if before and not after:
        found |= PointClassification.PUNCTUATION_END
    begin, end = text.line(point)
    if point == begin:
        found |= PointClassification.LINE_START
    if point == end:
        found |= PointClassification.LINE_END
    if begin == end:
        found |= PointClassification.EMPTY_LINE
    return found


def _insert(state: Any, pt: int, text: str) -> int:
    if state.settings.get("translate_tabs_to_spaces", False) and "\t" in text:
        text = _without_tabs(state, pt, text)
    return len(text) if _editor().change(state, pt, pt, text) else 0


def _replace(state: Any, region: Region, text: str) -> None:
    begin, before = region.begin(), list(state.selection)
    _editor().change(state, begin, region.end(), text)
    if state.switches.replace_selects and region.empty():
        state.selection = [
            (begin, begin + len(text)) if old == (begin, begin) else new
            for old, new in zip(before, state.selection)
        ]


def _without_tabs(state: Any, pt: int, text: str) -> str:
    size = int(state.settings.get("tab_size", 4))
    lead = state.text.slice(state.text.line(pt)[0], pt)
    lines = (lead + text).split("\n")
    return "\n".join(line.expandtabs(size) for line in lines)[len(lead) :]


def _set_encoding(state: Any, name: str) -> None:
    state.buffer.encoding = name


def _set_line_endings(state: Any, name: str) -> None:
    if state.buffer.line_endings != name:
        state.buffer.line_endings = name
        state.buffer.mark_dirty()


class Buffer:
    """The text that one or more views share, by id."""

    def __init__(self, id: int) -> None:
        self.buffer_id = id

    def __hash__(self) -> int:
        return self.buffer_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Buffer) and other.buffer_id == self.buffer_id

    def __repr__(self) -> str:
        return "Buffer(%d)" % self.buffer_id

    def _state(self) -> Any:
        return _editor().buffers.get(self.buffer_id) or _editor().nothing.buffer

    def id(self) -> int:
        return self.buffer_id

    def file_name(self) -> Optional[str]:
        return self._state().file_name  # type: ignore[no-any-return]

    def views(self) -> List[View]:
        return [View(view.id) for view in list(self._state().views)]

    def primary_view(self) -> View:
        views = self._state().views
        return View(views[0].id if views else 0)


# Settings


class Settings:
    """One layer of settings with those below it, by id; reads like a dict."""

    def __init__(self, id: int) -> None:
        self.settings_id = id
        # Keeps a layer alive that only this wrapper refers to.
        self._kept = _SettingsState.by_id.get(id)

    def _state(self) -> Any:
        _editor()
        return self._kept if self._kept is not None else _editor().nothing.settings

    def __getitem__(self, key: str) -> Value:
        if not self.has(key):
            raise KeyError(key)
        return self.get(key)

    def __setitem__(self, key: str, value: Value) -> None:
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        self.erase(key)

    def __contains__(self, key: str) -> bool:
        return self.has(key)

    def __repr__(self) -> str:
        return repr(self.to_dict())

    def to_dict(self) -> Dict[str, Any]:
        return dict(self._state().to_dict())

    def setdefault(self, key: str, value: Value) -> Value:
        if not self.has(key):
            self.set(key, value)
        return self.get(key)

    def update(self, other: Any = (), /, **kwargs: Value) -> None:
        for key, value in {**dict(other), **kwargs}.items():
            self.set(key, value)

    def get(self, key: str, default: Optional[Value] = None) -> Value:
        return self._state().get(key, default)  # type: ignore[no-any-return]

    def has(self, key: str) -> bool:
        return bool(self._state().has(key))

    def set(self, key: str, value: Value) -> None:
        self._state().set(key, value)

    def erase(self, key: str) -> None:
        self._state().erase(key)

    def add_on_change(self, tag: str, callback: Callable[[], None]) -> None:
        self._state().add_on_change(tag, callback)

    def clear_on_change(self, tag: str) -> None:
        self._state().clear_on_change(tag)


# Phantoms


class Phantom:
    """HTML at a place in the text; a PhantomSet gives it to a view."""

    def __init__(
        self,
        region: Region,
        content: str,
        layout: PhantomLayout,
        on_navigate: Optional[Callable[[str], None]] = None,
    ) -> None:
        self.region = region
        self.content = content
        self.layout = layout
        self.on_navigate = on_navigate
        self.id: Optional[int] = None

    def __eq__(self, rhs: object) -> bool:
        return isinstance(rhs, Phantom) and self.to_tuple() == rhs.to_tuple()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Phantom(%r, %r)" % (self.region, self.content)

    def to_tuple(self) -> Tuple[Any, ...]:
        return self.region.to_tuple(), self.content, self.layout, self.on_navigate


class PhantomSet:
    """The phantoms of one key in a view; they go when the set does."""

    def __init__(self, view: View, key: str = "") -> None:
        self.view = view
        self.key = key
        self.phantoms: List[Phantom] = []

    def __del__(self) -> None:
        # The set may outlive its editor: then there is nothing left to erase.
        if _running.is_running() and _running.current().api.open:
            for phantom in self.phantoms:
                if phantom.id is not None:
                    self.view.erase_phantom_by_id(phantom.id)

    def update(self, phantoms: Any) -> None:
        """Add and remove what differs; a phantom with another callback is another phantom."""
        fresh = {phantom.to_tuple(): phantom for phantom in phantoms}
        self._follow_edits()
        before = {phantom.to_tuple(): phantom for phantom in self.phantoms}
        for key, phantom in fresh.items():
            if key in before:
                phantom.id = before[key].id
            else:
                phantom.id = self.view.add_phantom(
                    self.key, phantom.region, phantom.content, phantom.layout, phantom.on_navigate
                )
        kept = {phantom.id for phantom in fresh.values()}
        for old in self.phantoms:
            if old.id is not None and old.id not in kept:
                self.view.erase_phantom_by_id(old.id)
        self.phantoms = list(fresh.values())

    def _follow_edits(self) -> None:
        ids = [phantom.id or 0 for phantom in self.phantoms]
        for phantom, region in zip(self.phantoms, self.view.query_phantoms(ids)):
            phantom.region = region


# Completions, panels, syntaxes


class Html:
    """A text that is HTML."""

    def __init__(self, data: str) -> None:
        self.data = data

    def __repr__(self) -> str:
        return "Html(%r)" % self.data


class CompletionList:
    """Completions that may come later."""

    def __init__(
        self,
        completions: Optional[List[Any]] = None,
        flags: AutoCompleteFlags = AutoCompleteFlags.NONE,
    ) -> None:
        self.target: Any = None
        self.completions = completions
        self.flags = flags

    def _wait(self, callback: Callable[[List[Any]], None]) -> None:
        """Called by the editor: hand the completions over, now or when they come."""
        self.target = callback
        if self.completions is not None:
            callback(self.completions)

    def set_completions(
        self, completions: List[Any], flags: AutoCompleteFlags = AutoCompleteFlags.NONE
    ) -> None:
        self.completions = completions
        self.flags = flags
        if self.target is not None:
            self.target(completions)


class CompletionItem:
    """One completion."""

    def __init__(
        self,
        trigger: str,
        annotation: str = "",
        completion: str = "",
        completion_format: CompletionFormat = CompletionFormat.TEXT,
        kind: Tuple[Any, str, str] = KIND_AMBIGUOUS,
        details: str = "",
        flags: CompletionItemFlags = CompletionItemFlags.NONE,
    ) -> None:
        self.trigger = trigger
        self.annotation = annotation
        self.completion = completion
        self.completion_format = completion_format
        self.kind = kind
        self.details = details
        self.flags = flags

    def __eq__(self, rhs: object) -> bool:
        return isinstance(rhs, CompletionItem) and vars(self) == vars(rhs)

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def snippet_completion(
        cls,
        trigger: str,
        snippet: str,
        annotation: str = "",
        kind: Tuple[Any, str, str] = KIND_SNIPPET,
        details: str = "",
    ) -> CompletionItem:
        return cls(trigger, annotation, snippet, CompletionFormat.SNIPPET, kind, details)

    @classmethod
    def command_completion(
        cls,
        trigger: str,
        command: str,
        args: CommandArgs = None,
        annotation: str = "",
        kind: Tuple[Any, str, str] = KIND_AMBIGUOUS,
        details: str = "",
    ) -> CompletionItem:
        return cls(
            trigger,
            annotation,
            format_command(command, args),
            CompletionFormat.COMMAND,
            kind,
            details,
        )


class Syntax:
    """A syntax definition; equal by path."""

    def __init__(self, path: str, name: str, hidden: bool, scope: str) -> None:
        self.path = path
        self.name = name
        self.hidden = hidden
        self.scope = scope

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Syntax) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return "Syntax(%r, %r, %r, %r)" % (self.path, self.name, self.hidden, self.scope)


def _syntax(info: Any) -> Syntax:
    return Syntax(info.path, info.name, info.hidden, info.scope)


def _syntaxes_where(suits: Callable[[Any], bool]) -> List[Syntax]:
    return [_syntax(info) for info in _editor().syntaxes.where(suits)]


def list_syntaxes() -> List[Syntax]:
    return [_syntax(info) for info in _editor().syntaxes.all()]


def syntax_from_path(path: str) -> Optional[Syntax]:
    found = _syntaxes_where(lambda info: info.path == path)
    return found[0] if found else None


def find_syntax_by_name(name: str) -> List[Syntax]:
    return _syntaxes_where(lambda info: info.name == name)


def find_syntax_by_scope(scope: str) -> List[Syntax]:
    return _syntaxes_where(lambda info: info.scope == scope)


def find_syntax_for_file(path: str, first_line: str = "") -> Optional[Syntax]:
    return _syntax(_editor().syntaxes.for_file(path, first_line))


class QuickPanelItem:
    """A row of a quick panel."""

    def __init__(
        self,
        trigger: str,
        details: Any = "",
        annotation: str = "",
        kind: Tuple[Any, str, str] = KIND_AMBIGUOUS,
    ) -> None:
        self.trigger = trigger
        self.details = details
        self.annotation = annotation
        self.kind = kind


class ListInputItem:
    """A row of a ListInputHandler."""

    def __init__(
        self,
        text: str,
        value: Value,
        details: Any = "",
        annotation: str = "",
        kind: Tuple[Any, str, str] = KIND_AMBIGUOUS,
    ) -> None:
        self.text = text
        self.value = value
        self.details = details
        self.annotation = annotation
        self.kind = kind


class SymbolRegion:
    """A symbol in a view."""

    def __init__(
        self, name: str, region: Region, syntax: str, type: SymbolType, kind: Tuple[Any, str, str]
    ) -> None:
        self.name = name
        self.region = region
        self.syntax = syntax
        self.type = type
        self.kind = kind


class SymbolLocation:
    """A symbol in a file."""

    def __init__(
        self,
        path: str,
        display_name: str,
        row: int,
        col: int,
        syntax: str,
        type: SymbolType,
        kind: Tuple[Any, str, str],
    ) -> None:
        self.path = path
        self.display_name = display_name
        self.row = row
        self.col = col
        self.syntax = syntax
        self.type = type
        self.kind = kind

    def path_encoded_position(self) -> str:
        return "%s:%d:%d" % (self.path, self.row, self.col)
