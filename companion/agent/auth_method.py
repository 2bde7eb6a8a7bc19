"""The ways to log in that an agent itself tells, as its user can go them."""

from __future__ import annotations

from dataclasses import dataclass

# Who does a login. The last one is a convention of agents from before there was the second.
BY_AGENT, IN_TERMINAL, BY_PROGRAM = "agent", "terminal", "terminal-auth"


@dataclass(frozen=True)
class AuthMethod:
    """A way to log in, with a name for people. `kind` says who does it: BY_AGENT, after
    `authenticate` with this id; IN_TERMINAL, the agent's own command with more `args` and `env`;
    BY_PROGRAM, the agent's program with these `args` alone. Others are of later versions."""

    id: str
    name: str = ""
    kind: str = BY_AGENT
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
