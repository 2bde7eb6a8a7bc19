"""The home that the CLI gets instead of the user's: its folder, settings and environment. Knows no
credentials.

Source: docs/gemini-cli-acp.md 1.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any, Mapping

from ..base import private_files
from .surrogates import clean

# What a program needs of its surroundings. Everything else stays out: the agent's tools can show
# the environment to the model.
INHERITED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
    "TMPDIR", "TMP", "TEMP",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
    "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "SYSTEMROOT", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "WINDIR",
)  # fmt: skip
FIXED = {
    # Without it a second process stands between, which takes signals and passes none on.
    "GEMINI_CLI_NO_RELAUNCH": "true",
    # A login must not open a browser on this machine; it says where to go instead.
    "NO_BROWSER": "true",
    # Where the CLI says that it asks the model once more, as soon as it does.
    **({} if os.name == "nt" else {"GEMINI_DEBUG_LOG_FILE": "/dev/stderr"}),
}
# Attempts of one request; ten, which is the default, would take minutes.
MAX_ATTEMPTS = 3
CREDENTIALS = ("oauth_creds.json", "google_accounts.json")


class CliHome:
    """`folder` is ours alone and is made where it is missing; its parent has to be there."""

    def __init__(self, folder: str, trusted: bool) -> None:
        self.folder = folder
        self.settings_folder = os.path.join(folder, ".gemini")
        self._trusted = trusted

    def prepare(self, more: Mapping[str, Any]) -> None:
        """Write the settings anew, with those in `more` on top. Raises OSError, NotPrivate.

        Anew each time, for the CLI adds the kind of login to them: started with it and without a
        valid login it would wait for a person before it said a word.
        """
        private_files.make_folder(self.folder)
        private_files.make_folder(self.settings_folder)
        settings: dict[str, Any] = {
            # The output of commands reaches the protocol only without a terminal of their own.
            "tools": {"shell": {"enableInteractiveShell": False}},
            "general": {
                "maxAttempts": MAX_ATTEMPTS,
                "enableAutoUpdate": False,
                "enableAutoUpdateNotification": False,
                # It would remove recordings that are still to be loaded.
                "sessionRetention": {"enabled": False},
            },
            "security": {"folderTrust": {"enabled": not self._trusted}},
            "privacy": {"usageStatisticsEnabled": False},
        }
        # Where the CLI's search for variables ends, which would go on in the folders above.
        private_files.write(os.path.join(self.folder, ".env"), b"")
        data = json.dumps(_merged(settings, more), ensure_ascii=False).encode("utf-8")
        private_files.write(os.path.join(self.settings_folder, "settings.json"), data)

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """All that the agent's process sees; `more` wins."""
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        trust = {"GEMINI_CLI_TRUST_WORKSPACE": "true"} if self._trusted else {}
        return {**inherited, **FIXED, **trust, "GEMINI_CLI_HOME": self.folder, **more}

    @property
    def has_google_login(self) -> bool:
        """Whether somebody logged in with Google here; it may have run out."""
        return os.path.isfile(os.path.join(self.settings_folder, CREDENTIALS[0]))

    @property
    def google_account(self) -> str | None:
        """The e-mail address of who logged in."""
        path = os.path.join(self.settings_folder, CREDENTIALS[1])
        try:
            with open(path, encoding="utf-8") as file:
                active = json.load(file)["active"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return clean(active) if isinstance(active, str) else None

    def forget_google_login(self) -> None:
        """Raises OSError."""
        for name in CREDENTIALS:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self.settings_folder, name))


def _merged(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for name, value in more.items():
        known = result.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            value = _merged(known, value)
        result[name] = value
    return result
