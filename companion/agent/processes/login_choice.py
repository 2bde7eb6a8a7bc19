"""Which login of a CLI counts: what somebody chose, what counts where nobody did, or what the
user's settings say in any case."""

from __future__ import annotations

import os

from .. import failure
from ..agents.cli import AgentCli
from ..credentials import OURS, OWN, Credentials, UsedLogin, home_of
from ..failure import AgentError
from ..sentence import sentence
from .runner import Launch

NO_CREDENTIALS = sentence("No credentials are configured for {cli}.")
OWN_BY_SETTING = sentence(
    '{cli} uses its user\'s own login, as "own_login" under "agents" in the settings says.'
)
NOT_BY_SETTING = sentence(
    '{cli} does not use its user\'s own login, as "own_login" under "agents" in the settings says.'
)


class LoginChoice:
    """`stored` is what somebody chose before, None if nobody did: then the launch's fallback counts
    until somebody chooses. `key` is what they chose last beside the user's own login. With
    `is_users` the fallback may be the login of the user of this computer, who has not chosen it.

    With `own_login` it is the user's own login, with False it never is; a choice to the contrary is
    refused then. What was chosen is kept, and counts again without that."""

    def __init__(
        self,
        cli: AgentCli,
        launch: Launch,
        stored: Credentials | None,
        key: Credentials | None = None,
    ) -> None:
        self._cli = cli
        self._launch = launch
        self._fallback = self._find_fallback()
        # None may have been chosen, too.
        self._chosen, self._is_chosen = stored, stored is not None
        self._key = key

    @property
    def used(self) -> Credentials | None:
        """The credentials in use, None if there are none."""
        if self._launch.own_login:
            return Credentials(OWN)
        return self._fallback if self._is_overruled else self.kept

    @property
    def kept(self) -> Credentials | None:
        """What somebody chose, or else the fallback; it may be overruled."""
        return self._chosen if self._is_chosen else self._fallback

    @property
    def is_own(self) -> bool:
        """Whether the user's own login counts."""
        return _is_own(self.used)

    @property
    def is_own_by_setting(self) -> bool:
        """Whether it counts in any case."""
        return bool(self._launch.own_login)

    def for_home(self, home: str) -> Credentials | None:
        """The credentials for what was begun in that home of the CLI, whatever counts for what is
        begun now; None if there are none, or none may be used."""
        used = self.used
        if used is None or home_of(used) == home:
            return used
        if home == OURS:
            is_begun = os.path.isfile(os.path.join(self._cli.folder, self._cli.home_file))
            return self._key or (self._launch.fallback if is_begun else None)
        is_there = self._launch.is_users and self._launch.own_login is not False
        return Credentials(OWN) if is_there and self._cli.own_login else None

    def login_in(self, home: str = "") -> UsedLogin:
        """The login of what is begun now, or of what was begun in that home."""
        used, env = self.used, self._launch.env
        kept = self.for_home(home) if home else used
        if kept is None:
            return UsedLogin() if used is None else self.login_in()
        is_chosen = self.is_own_by_setting or (self._is_chosen and not self._is_overruled)
        names = (*self._cli.key_variables, *self._cli.url_variables)
        has_variables = kept.kind == OWN and any(env.get(name) for name in names)
        return UsedLogin(kept.kind, is_chosen or kept != used, has_variables)

    def is_for_clients(self, home: str = "") -> bool:
        """Whether clients of the API may use it, or what counts in that home. The user's own login,
        if they have not chosen it, is there for themselves, and a client is somebody else."""
        is_theirs = self._launch.is_users and bool(self._cli.own_login)
        kept = self.for_home(home) if home else None
        is_chosen = self.is_own and self.login_in().is_chosen
        return not _is_own(kept or self.used) or is_chosen or not is_theirs

    def get_used(self) -> Credentials:
        """The credentials in use. Raises AgentError, code AUTH_NOT_SET."""
        used = self.used
        if used is None:
            raise self._missing_error()
        return used

    def check_for_clients(self, home: str = "") -> None:
        """Raises AgentError, code AUTH_NOT_SET, if clients of the API may not use it."""
        if not self.is_for_clients(home):
            raise self._missing_error()

    def renew_launch(self, launch: Launch) -> None:
        """Another fallback, and other settings."""
        self._launch = launch
        self._fallback = self._find_fallback()

    def choose(self, credentials: Credentials | None) -> None:
        """Somebody has chosen these, or that there are none."""
        if not _is_own(credentials):
            self._key = credentials
        self._chosen, self._is_chosen = credentials, True

    def learn_key(self, key: Credentials | None) -> None:
        """Somebody has chosen it before, at another server."""
        self._key = key or self._key

    def check_choice(self, credentials: Credentials | None) -> None:
        """Raises AgentError, code VALIDATION_ERROR, if these would not be used, whoever chose
        them."""
        is_own, told = _is_own(credentials), None
        if self._launch.own_login and not is_own:
            told = OWN_BY_SETTING
        elif self._launch.own_login is False and is_own:
            told = NOT_BY_SETTING
        if told is not None:
            raise AgentError(failure.VALIDATION_ERROR, told.with_values(cli=self._cli.name))

    @property
    def _is_overruled(self) -> bool:
        """Whether the user's own login was chosen and is not to be used."""
        return self._launch.own_login is False and _is_own(self.kept)

    def _missing_error(self) -> AgentError:
        return AgentError(failure.AUTH_NOT_SET, NO_CREDENTIALS.with_values(cli=self._cli.name))

    def _find_fallback(self) -> Credentials | None:
        """The credentials where nobody chose any. A key of the environment with which the agent has
        worked in our home goes on to be used: nobody else is to pay from one day to the next."""
        launch = self._launch
        is_kept = launch.fallback is not None and self._cli.has_home
        is_own = launch.is_users and self._cli.own_login and not is_kept
        if launch.own_login is not False and is_own:
            return Credentials(OWN)
        return launch.fallback


def _is_own(credentials: Credentials | None) -> bool:
    return credentials is not None and credentials.kind == OWN
