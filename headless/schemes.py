"""Colour schemes: `.sublime-color-scheme` and `.tmTheme`, and what they say of a scope."""

from __future__ import annotations

import plistlib
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from . import colours, files, selectors, values
from .colours import Colour

FALLBACK = "Mariana.sublime-color-scheme"
_FONT_STYLES = (
    "bold",
    "italic",
    "glow",
    "underline",
    "stippled_underline",
    "squiggly_underline",
)
# Seconds after which the files behind a scheme are looked at again: it is asked about all the time.
_AGAIN = 0.1
# What a tmTheme calls the globals.
_GLOBALS = {"lineHighlight": "line_highlight", "inactiveSelection": "inactive_selection"}


class Scheme:
    """The colours of one scheme; later rules win over earlier ones that fit as well."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.variables: Dict[str, str] = {}
        self.globals: Dict[str, str] = {}
        self.rules: List[Dict[str, str]] = []
        self._styles: Dict[str, Dict[str, Any]] = {}

    def add(self, content: Dict[str, Any]) -> None:
        """What another package says under the same name goes over what was there."""
        self.variables.update(content.get("variables", {}))
        self.globals.update(content.get("globals", {}))
        self.rules += content.get("rules", [])
        self._styles.clear()

    def colour(self, text: str) -> Optional[Colour]:
        """A colour in the words of the scheme or of minihtml (`var(--greenish)`)."""
        return colours.parse(text, self._variable)

    def _variable(self, name: str) -> Optional[str]:
        if not name.startswith("--"):
            return self.variables.get(name)
        if name[2:] in colours.HUES:
            return self.hue(name[2:]).css()
        if name == "--accent":
            return self.globals.get("accent") or self.hue("bluish").css()
        return self.globals.get(name[2:]) or self.variables.get(name)

    def hue(self, name: str) -> Colour:
        """The scheme's own redish, greenish, and so on."""
        texts = [rule["foreground"] for rule in self.rules if "foreground" in rule]
        own = [self.colour(text) for text in texts + list(self.variables.values())]
        return colours.nearest([each for each in own if each is not None], colours.HUES[name])

    def ground(self) -> Colour:
        return self._global("background") or Colour(0.15, 0.15, 0.15)

    def _global(self, name: str) -> Optional[Colour]:
        return self.colour(self.globals.get(name, ""))

    def is_light(self) -> bool:
        return self.ground().luminance() > 0.5

    def style(self) -> Dict[str, str]:
        """The globals that are colours, as #rrggbb."""
        found = {"background": self.ground().css()}
        for name in self.globals:
            colour = self._global(name)
            if colour is not None:
                found[name] = colour.over(self.ground()).css()
        found.setdefault("foreground", "#000000" if self.is_light() else "#ffffff")
        return found

    def palette(self) -> Dict[str, str]:
        """What themes and pages may use of the scheme, as #rrggbb."""
        style = self.style()
        found = {name: style[name] for name in ("background", "foreground")}
        found["accent"] = style.get("accent", self.hue("bluish").css())
        found.update({name: self.hue(name).css() for name in colours.HUES})
        return found

    def style_of(self, scope: str) -> Dict[str, Any]:
        """`foreground`, where a rule has one `background` (#rrggbb), and flags as `bold`."""
        if scope not in self._styles:
            self._styles[scope] = self._style_of(scope)
        return self._styles[scope]

    def _style_of(self, scope: str) -> Dict[str, Any]:
        found: Dict[str, Any] = {"foreground": self.style()["foreground"]}
        if scope.startswith("region.") and scope[7:] in colours.HUES:
            found["foreground"] = self.hue(scope[7:]).css()
        for name in ("foreground", "background"):
            colour = self.colour(self._best(scope, name) or "")
            if colour is not None:
                found[name] = colour.over(self.ground()).css()
        styles = (self._best(scope, "font_style") or "").split()
        found.update({name: name in styles for name in _FONT_STYLES})
        found.update({"source_line": -1, "source_column": -1, "source_file": ""})
        return found

    def _best(self, scope: str, key: str) -> Optional[str]:
        """The value of the rule that fits best."""
        best, value = 0, None
        for rule in self.rules:
            if key in rule:
                fit = selectors.score(scope, rule.get("scope", ""))
                if fit and fit >= best:
                    best, value = fit, rule[key]
        return value


def read_tm_theme(data: bytes) -> Dict[str, Any]:
    """The content of a .tmTheme in the shape of the newer format; raises ValueError."""
    try:
        theme = plistlib.loads(data)
    except Exception as error:  # plistlib raises whatever its parser does
        raise ValueError("not a property list: %s" % error) from None
    content: Dict[str, Any] = {"globals": {}, "rules": []}
    for entry in theme.get("settings", []):
        settings = entry.get("settings", {})
        if "scope" not in entry:
            content["globals"].update({_GLOBALS.get(key, key): settings[key] for key in settings})
            continue
        rule = {key: settings[key] for key in ("foreground", "background") if key in settings}
        if "fontStyle" in settings:
            rule["font_style"] = settings["fontStyle"]
        content["rules"].append({"scope": entry["scope"], **rule})
    return content


class Schemes:
    """The schemes of an editor's packages, read when they are first asked for."""

    def __init__(self, editor: Any) -> None:
        self.editor = editor
        self._known: Dict[str, Tuple[Any, Scheme]] = {}
        # When the files behind each name were looked at last.
        self._looked: Dict[str, float] = {}

    def of(self, view: Any) -> Scheme:
        return self.named(self.resolved(view.settings))

    def resolved(self, settings: Any) -> str:
        """The name in `color_scheme`; "auto" asks for the one of the system's style, dark here."""
        name = settings.get("color_scheme", FALLBACK)
        if name == "auto":
            name = settings.get("dark_color_scheme", FALLBACK)
        return str(name or FALLBACK)

    def named(self, name: str) -> Scheme:
        """A scheme by file name or resource path; one that is not there is the default one."""
        known, now = self._known.get(name), time.monotonic()
        if known is not None and now - self._looked[name] < _AGAIN:
            return known[1]
        self._looked[name] = now
        state = self._state(name)
        if known is None or known[0] != state:
            known = (state, self._read(name))
            self._known[name] = known
        return known[1]

    def _state(self, name: str) -> Any:
        """What changes when the files behind a name do; files that come need another package."""
        base = name.rsplit("/", 1)[-1]
        packages = self.editor.packages
        found = packages.settings_stamps(base)
        return found, len(packages.by_name), files.stamp(packages.user_folder())

    def _read(self, name: str) -> Scheme:
        base = name.rsplit("/", 1)[-1]
        scheme = Scheme(base)
        packages = self.editor.packages
        found = packages.find_resources(base)
        if name in found:
            # The one that is meant comes first, what others add to it later.
            found = [name] + [path for path in found if path != name]
        for path in found:
            try:
                scheme.add(_content(path, packages.load(path)))
            except ValueError as error:
                sys.stderr.write("Error reading %s: %s\n" % (path, error))
        if found or base == FALLBACK:
            return scheme
        sys.stderr.write("Unable to find the colour scheme %s\n" % name)
        return self.named(FALLBACK)


def _content(path: str, data: bytes) -> Dict[str, Any]:
    if path.endswith((".tmTheme", ".hidden-tmTheme")):
        return read_tm_theme(data)
    content = values.parse(data.decode("utf-8"))
    if not isinstance(content, dict):
        raise ValueError("expected an object, got %s" % type(content).__name__)
    return content
