"""What the user chose of the agent's options: told to the agent, kept, and told to its next
sessions again."""

from __future__ import annotations

from typing import Mapping

from .. import failure
from ..acp.acp_client import AcpSession
from ..acp.agent_state import AgentState
from ..acp.messages import Models
from ..failure import CLIENT_NOT_INITIALIZED, GEMINI_ERROR, VALIDATION_ERROR, AgentError
from ..sentence import Sentence, Words, sentence
from ..session_state import MODE, MODEL, SELECT, ConfigOption, StateUpdate
from .conversation_record import ConversationRecord

# Seconds for a choice, which is immediate.
CHOOSING = 10.0
NOT_AGAIN = {
    MODEL: sentence("The model {name} is no longer used, because the agent refused it: {reason}"),
    MODE: sentence("The mode {name} is no longer used, because the agent refused it: {reason}"),
}
NOT_ASKING = sentence(
    "{cli} is not used: it did not take its mode {mode}, in which it asks before it writes."
)
NO_LONGER = sentence("The choice {name} is no longer used, because the agent refused it: {reason}")


class Choices:
    """`record` keeps them, `state` is what the agent has told of its session."""

    def __init__(self, record: ConversationRecord, state: AgentState) -> None:
        self._record = record
        self._state = state
        # Choices that the agent refused in a new session, as sentences.
        self._refused: tuple[Words, ...] = ()

    @property
    def models(self) -> Models:
        told = self._state.models
        return Models(told.available, told.current or self._record.state.model)

    @property
    def mode(self) -> str:
        """The true one, or the one that the next session will have."""
        return self._state.mode or self._record.state.mode

    def take_update(self, update: StateUpdate, in_turn: bool) -> bool:
        """The agent tells something of the session; whether it is new."""
        is_new = self._state.take_update(update)
        chosen = self._record.state.mode
        # Between turns it may still tell the mode that a new session has had at first.
        if in_turn and chosen and self._state.mode not in ("", chosen):
            # What the agent chose by itself is no choice for later sessions.
            self._record.change_state(self._record.state.with_choices({MODE: ""}))
        return is_new

    def take_refusals(self) -> tuple[Words, ...]:
        """What the user should know of them; each refusal once."""
        refused, self._refused = self._refused, ()
        return refused

    async def choose_options(self, session: AcpSession, wanted: Mapping[str, str]) -> None:
        """Use a "model", a "mode" or both from now on. Raises AgentError; VALIDATION_ERROR if the
        agent does not offer one of them."""
        options = self._state.options
        found = {
            what: _checked_option(options.of_category(what), value)
            for what, value in wanted.items()
        }
        for what, option in found.items():
            await self._set_option(session, option, wanted[what])
            # Each at once: the agent may refuse the next one.
            self._record.change_state(self._record.state.with_choices({what: wanted[what]}))

    async def choose_option(self, session: AcpSession, id: str, value: str | bool) -> None:
        """Use another value of one of the options from now on. Raises AgentError; OPTION_NOT_FOUND,
        or VALIDATION_ERROR if the agent does not offer the value."""
        options = self._state.options
        option = options.by_id(id)
        if option is None:
            raise failure.no_option([each.id for each in options.options], id)
        await self._set_option(session, _checked_option(option, value), value)
        state, category = self._record.state, option.category
        is_main = category in (MODEL, MODE) and option is options.of_category(category)
        if is_main and isinstance(value, str):
            self._record.change_state(state.with_choices({category: value}))
        else:
            self._record.change_state(state.choosing_option(id, value))

    async def choose_again(self, session: AcpSession, asking_mode: str) -> None:
        """Apply the user's choices to a new session, and the CLI's `asking_mode` if there is no
        choice of another mode. A choice that the agent now refuses, such as a mode in a folder that
        is no longer trusted, is dropped. Raises AgentError if the agent has ended, or if it would
        not ask."""
        state = self._record.state
        for what, name in {MODEL: state.model, MODE: state.mode}.items():
            option = self._state.options.of_category(what) or _unknown_option(what)
            if name and not await self._set_again(session, option, name, NOT_AGAIN[what]):
                self._record.change_state(self._record.state.with_choices({what: ""}))
        for id, value in state.options:
            known = self._state.options.by_id(id)
            # One that depends on the model may be gone.
            if known is None or await self._set_again(session, known, value, NO_LONGER):
                continue
            self._record.change_state(self._record.state.choosing_option(id, None))
        # Last: another model may come with another mode.
        if asking_mode and self._record.state.mode in ("", asking_mode):
            await self._begin_asking(session, asking_mode)

    async def _begin_asking(self, session: AcpSession, asking_mode: str) -> None:
        """Raises AgentError if the agent does not take this mode."""
        if self._state.mode == asking_mode:
            return
        not_asking = NOT_ASKING.with_values(cli=session.client.name, mode=asking_mode)
        option = self._state.options.of_category(MODE) or _unknown_option(MODE)
        try:
            await self._set_option(session, option, asking_mode)
        except AgentError as error:
            if not session.client.is_running:
                raise
            raise AgentError(CLIENT_NOT_INITIALIZED, not_asking, str(error.message)) from error
        if self._state.mode not in ("", asking_mode):
            raise AgentError(CLIENT_NOT_INITIALIZED, not_asking, self._state.mode)

    async def _set_option(
        self, session: AcpSession, option: ConfigOption, value: str | bool
    ) -> None:
        try:
            told = await session.set_option(option, value, CHOOSING)
        except AgentError as error:
            if error.code != GEMINI_ERROR:
                raise
            # It offers modes that it refuses in a folder that is not trusted.
            raise AgentError(VALIDATION_ERROR, error.message, error.details) from error
        self._state.note_chosen_value(option, value, told)

    async def _set_again(
        self, session: AcpSession, option: ConfigOption, value: str | bool, refused: Sentence
    ) -> bool:
        """Whether the agent accepts it; if not, the user is told. Raises AgentError if the agent
        has ended."""
        try:
            told = await session.set_option(option, value, CHOOSING)
        except AgentError as error:
            if not session.client.is_running:
                raise
            name = value if isinstance(value, str) else option.name
            self._refused += (refused.with_values(name=name, reason=error.message),)
            return False
        self._state.note_chosen_value(option, value, told)
        return True


def _unknown_option(category: str) -> ConfigOption:
    """An option that the agent does not tell."""
    return ConfigOption(category, category, "", category, SELECT, "", is_made=True)


def _checked_option(option: ConfigOption | None, value: str | bool) -> ConfigOption:
    """Raises AgentError if the value cannot be chosen."""
    values = () if option is None else option.values
    if option is None or not any(known == value and type(known) is type(value) for known in values):
        raise failure.not_among([str(known) for known in values], str(value))
    return option
